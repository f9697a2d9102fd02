"""1986: a hidden layer. Two layers separate classes that no straight line can separate.

A point belongs to class 1 when exactly one of its two coordinates is large: exclusive or (XOR).
Minsky and Papert showed in 1969 that a perceptron can never learn it. In 1986, however,
Rumelhart, Hinton and Williams showed how backpropagation computes the gradients of a hidden
layer, which then learns the features that its units should compute.
"""

# /// milestone
# title = "A hidden layer learns exclusive or"
# needs = ["tensor", "activations", "layers", "losses", "autograd", "optimizers"]
# seconds = 60
# alt = """Points around the corners of a square, opposite corners in one colour. \
#     One straight line cannot separate the colours; the curved decision boundary of a network \
#     with a hidden layer does, and its loss falls to almost 0."""
# [goal]
# "test accuracy" = 0.97
# ///

from pathlib import Path

import numpy as np

from tinytorch.core.activations import Tanh
from tinytorch.core.autograd import no_grad
from tinytorch.core.layers import Dense, Sequential, manual_seed
from tinytorch.core.losses import binary_cross_entropy_with_logits
from tinytorch.core.optimizers import SGD
from tinytorch.core.tensor import Tensor


def corners(count, rng):
    """Points around the corners of a square, and their class: 1 near two opposite corners, 0
    near the others.
    """
    bits = rng.integers(0, 2, (count, 2))
    points = 2.0 * bits - 1 + rng.normal(0, 0.3, (count, 2))
    return Tensor(points.astype("float32")), (bits[:, :1] != bits[:, 1:]).astype("float32")


@no_grad()
def accuracy(model, points, targets):
    return float(np.mean((model(points).data > 0) == targets))


def train(model, points, targets, steps, name):
    """Train on the whole training set in each step; returns the losses."""
    optimizer, losses = SGD(model.parameters(), lr=0.3, momentum=0.9), []
    for step in range(steps):
        optimizer.zero_grad()
        loss = binary_cross_entropy_with_logits(model(points), targets)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
        if (step + 1) % 50 == 0:
            print(f"{name}, step {step + 1}: loss {losses[-1]:.4f}", flush=True)
    return losses


def run(seed=0):
    """Train one layer, then two layers; returns the test accuracies, and a figure."""
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(seed)
    manual_seed(seed)
    (points, targets), (test_points, test_targets) = corners(400, rng), corners(1000, rng)
    models = {
        "one layer": Sequential(Dense(2, 1)),
        "a hidden layer": Sequential(Dense(2, 8), Tanh(), Dense(8, 1)),
    }
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6))
    x, y = np.meshgrid(*[np.linspace(-2.2, 2.2, 120)] * 2)
    grid = Tensor(np.stack([x, y], -1).astype("float32"))
    measured = {}
    for axis, (name, model) in zip(axes, models.items()):
        axes[2].plot(train(model, points, targets, 200, name), label=name)
        measured[name] = accuracy(model, test_points, test_targets)
        with no_grad():
            axis.contourf(
                x,
                y,
                model(grid).data[..., 0],
                levels=[-99, 0, 99],
                cmap="coolwarm",
                alpha=0.4,
            )
        axis.scatter(*test_points.data.T, c=test_targets[:, 0], cmap="coolwarm", s=6)
        axis.set(title=f"{name}: {measured[name]:.1%} right", aspect="equal")
    axes[2].axhline(np.log(2), color="grey", linestyle=":", label="chance level")
    axes[2].set(xlabel="step", ylabel="loss (nats)", title="training loss")
    axes[2].legend()
    figure.tight_layout()
    return {
        "test accuracy": measured["a hidden layer"],
        "test accuracy of one layer": measured["one layer"],
    }, figure


if __name__ == "__main__":
    measured, figure = run()
    print(measured)
    figure.savefig(Path(__file__).with_suffix(".png"))
