"""A task that needs a look into the past: twelve random letters, and then the same twelve again.
The first twelve cannot be predicted, the others can."""

import numpy as np

__all__ = ["HALF", "LETTERS", "accuracy", "repeated", "train"]

LETTERS = "abcdefghij"
HALF = 12  # letters before they are repeated


def repeated(rng, batch):
    """Random sequences that are repeated once.

    rng      a NumPy Generator
    batch    int: how many
    returns  ids of shape (batch, 23), from 0 to 9, and the ids that follow each, of the same shape

    >>> x, y = repeated(np.random.default_rng(0), 2)
    >>> x.shape, bool((x[:, :11] == y[:, 11:22]).all()), bool((x[:, 1:] == y[:, :-1]).all())
    ((2, 23), True, True)
    """
    half = rng.integers(0, len(LETTERS), (batch, HALF))
    ids = np.concatenate([half, half], axis=1)
    return ids[:, :-1], ids[:, 1:]


def train(model, optimizer, steps, seed=0):
    """Train on random sequences, on the loss of the repeated letters alone.

    model      called with ids (32, 23), returns logits (32, 23, 10)
    optimizer  of its parameters
    returns    list of float: the loss of each step, in nats per letter
    """
    from tinytorch.core.losses import cross_entropy

    rng, losses = np.random.default_rng(seed), []
    for _ in range(steps):
        x, y = repeated(rng, 32)
        logits = model(x)[:, HALF - 1 :].reshape(-1, len(LETTERS))
        loss = cross_entropy(logits, y[:, HALF - 1 :].ravel())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def accuracy(model, seed=1, batch=500):
    """The share of repeated letters that the model predicts right, on new sequences."""
    x, y = repeated(np.random.default_rng(seed), batch)
    predicted = model(x).data.argmax(-1)
    return float((predicted == y)[:, HALF - 1 :].mean())
