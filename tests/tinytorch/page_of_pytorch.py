"""A page of PyTorch: a network with a list of layers, a buffer and functional calls; training with
clipping and a schedule; weights and checkpoints in files. test_from_pytorch.py runs it with
PyTorch, and with this library after the changes that the book's page "From PyTorch" lists.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = "cpu"


class Network(nn.Module):
    def __init__(self, sizes, classes, p=0.0):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(n, m) for n, m in zip(sizes, sizes[1:])])
        self.heads = nn.ModuleDict({"label": nn.Linear(sizes[-1], classes)})
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("mean", torch.zeros(sizes[0]))
        self.p = p

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.mean = 0.9 * self.mean + 0.1 * x.mean(dim=0)
        x = x - self.mean
        for layer in self.layers:
            x = F.dropout(F.relu(layer(x)), self.p, self.training)
        return self.heads["label"](x) * self.scale.abs()


def make_data(count=120):
    """Points in four dimensions, and the quarter of the plane in which the first two lie."""
    steps = torch.arange(4.0 * count).view(count, 4)
    x = (steps**2 / 7).sin() + (steps * 0.3).cos()
    x = (x - x.mean(dim=0, keepdim=True)) / x.std(dim=0, keepdim=True)
    y = 2 * (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    return x.to(device), y.to(device)


def train(model, x, y, epochs=15):
    """The mean loss of each epoch."""
    loader = DataLoader(TensorDataset(x, y), batch_size=32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)
    criterion = nn.CrossEntropyLoss()
    losses = []
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for inputs, labels in loader:
            optimizer.zero_grad()
            logits = model(inputs)
            loss = criterion(logits, labels)
            loss = loss + 1e-3 * F.l1_loss(model.scale, torch.ones(1))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item() * inputs.size(0)
        schedule.step()
        losses.append(total / x.size(0))
    return losses


@torch.no_grad()
def evaluate(model, x, y):
    """The share of right answers, and the mean probability of the right class."""
    model.eval()
    p = F.softmax(model(x), dim=1)
    right = (p.argmax(dim=1) == y).float().mean()
    sure = (p * F.one_hot(y, 4).float()).sum(dim=-1).mean()
    return right.item(), sure.item()


def main(folder):
    """Train, save, load into a new network: the results before and after must agree."""
    torch.manual_seed(0)
    x, y = make_data()
    model = Network([4, 32, 16], 4).to(device)
    assert sum(p.numel() for p in model.parameters()) == 757
    losses = train(model, x, y)
    before = evaluate(model, x, y)
    torch.save(model.state_dict(), f"{folder}/weights.pt")
    torch.save({"model": model.state_dict(), "losses": losses}, f"{folder}/checkpoint.pt")

    new = Network([4, 32, 16], 4)
    assert torch.cat([new.mean, new.scale - 1]).abs().tolist() == [0.0] * 5
    new.load_state_dict(torch.load(f"{folder}/weights.pt"))
    assert torch.load(f"{folder}/checkpoint.pt")["losses"] == losses
    return losses, before, evaluate(new, x, y)
