"""A toy data set on which a small network overfits, and pictures of it."""

import numpy as np

from tinytorch.support.drawing import COLOURS, panel

CLASSES = ("circle", "square", "triangle")  # the markers of the three classes
LOOKS = tuple(zip((COLOURS[kind][0] for kind in ("value", "gradient", "muted")), "os^"))


def noisy_spirals(count, seed, noise=0.5):
    """Points around the three arms of a spiral, which overlap.

    count    number of points
    seed     of the random numbers
    noise    standard deviation of the distance from the arm; neighbouring arms are about 1.5 apart
    returns  (points, labels): float32 of shape (count, 2), and ints 0, 1 or 2 of shape (count,)

    >>> points, labels = noisy_spirals(6, seed=0)
    >>> points.shape, labels.shape
    ((6, 2), (6,))
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count)
    radius = 3 * np.sqrt(rng.uniform(0.02, 1, count))
    angle = 1.3 * radius + 2 * np.pi / 3 * labels
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    return (points + rng.normal(0, noise, (count, 2))).astype("float32"), labels


def example_history(epochs=60):
    """Train a network on 60 points of `noisy_spirals` for so many epochs.

    returns  dict {"loss", "validation loss": list of floats, one per epoch}, on the training set
             and on 300 other points
    """
    from tinytorch.core.activations import Tanh  # late: lessons of the course
    from tinytorch.core.autograd import no_grad
    from tinytorch.core.layers import Dense, Sequential, manual_seed
    from tinytorch.core.losses import cross_entropy
    from tinytorch.core.optimizers import Adam
    from tinytorch.core.tensor import Tensor

    sets = [noisy_spirals(60, seed=1), noisy_spirals(300, seed=2)]
    (x, y), _ = sets = [(Tensor(points), Tensor(labels)) for points, labels in sets]
    manual_seed(0)
    model = Sequential(Dense(2, 64), Tanh(), Dense(64, 64), Tanh(), Dense(64, 3))
    optimizer = Adam(model.parameters(), lr=0.02)
    history = {"loss": [], "validation loss": []}
    for _ in range(epochs):
        for at in (0, 30):
            optimizer.zero_grad()
            cross_entropy(model(x[at : at + 30]), y[at : at + 30]).backward()
            optimizer.step()
        with no_grad():
            for name, (inputs, targets) in zip(history, sets):
                history[name].append(float(cross_entropy(model(inputs), targets)))
    return history


def plot_points(points, labels, title=""):
    """The points, with one colour and one marker per class; returns a matplotlib figure."""
    figure, axes = panel(title, width=5.0, height=4.4, aspect="equal")
    for number, (colour, marker) in enumerate(LOOKS):
        axes.scatter(*points[labels == number].T, c=colour, marker=marker, s=22)
    axes.set(xticks=[], yticks=[])
    return figure


def plot_regions(predict, points, labels, title="", other=None):
    """The regions of the classes, as a model sees them, and points on them.

    predict  function: array of shape (n, 2) -> scores of shape (n, 3)
    points   array of shape (count, 2)
    labels   ints of shape (count,)
    other    None, or the `predict` of another model: hatched is where it predicts another class
    returns  a matplotlib figure
    """
    figure = plot_points(points, labels, title)
    (axes,) = figure.axes
    side = np.linspace(-4.4, 4.4, 90)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2).astype("float32")
    regions = predict(grid).argmax(1).reshape(90, 90)
    axes.contourf(
        side,
        side,
        regions,
        levels=[-0.5, 0.5, 1.5, 2.5],
        colors=[colour for colour, _ in LOOKS],
        alpha=0.25,
        zorder=0,
    )
    if other is not None:
        differs = (regions != other(grid).argmax(1).reshape(90, 90)).astype(float)
        axes.contourf(
            side, side, differs, levels=[0.5, 1.5], colors="none", hatches=["////"], zorder=0
        )
        axes.contour(side, side, differs, levels=[0.5], colors="black", linewidths=0.8)
    axes.set(xlim=(-4.4, 4.4), ylim=(-4.4, 4.4))
    return figure
