"""Two half-moons of points, a network trained on them by hand, and the picture of its decision.

The derivatives in `train_by_hand` were worked out on paper for this one network. The autograd
lesson writes the program that finds them for every network.
"""

import numpy as np

from tinytorch.support.drawing import COLOURS, panel

SIZES = (2, 16, 16, 1)  # units per layer: 337 weights and biases


def two_moons(count=200, noise=0.12, seed=1):
    """Points on two half circles that reach into each other.

    count    how many points, half of them on each moon
    noise    standard deviation of what is added to both coordinates
    returns  float32 arrays: points of shape (count, 2), and labels of shape (count, 1), 1 for the
             upper moon and 0 for the lower

    >>> points, labels = two_moons(6)
    >>> points.shape, labels.ravel().tolist()
    ((6, 2), [1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    """
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, np.pi, count)
    upper = np.arange(count) < count // 2
    points = np.where(
        upper, [np.cos(angle), np.sin(angle)], [1 - np.cos(angle), 0.5 - np.sin(angle)]
    ).T
    points = points + rng.normal(0, noise, (count, 2))
    return points.astype(np.float32), upper[:, None].astype(np.float32)


def forward(weights, points):
    """The activations of every layer, the points first, the logits last.

    weights  list of arrays W1, b1, W2, b2, W3, b3, W of shape (inputs, outputs)
    points   array of shape (count, 2)
    """
    layers = [points]
    for n in range(0, len(weights), 2):
        z = layers[-1] @ weights[n] + weights[n + 1]
        layers.append(np.tanh(z) if n + 2 < len(weights) else z)
    return layers


def gradients_by_hand(weights, points, labels):
    """The gradients of the mean binary cross-entropy of `forward`, one for each of the weights."""
    layers = forward(weights, points)
    g = (1 / (1 + np.exp(-layers[-1])) - labels) / len(points)  # for the logits
    gradients = []
    for n in range(len(weights) - 2, -1, -2):
        below = layers[n // 2]
        gradients = [below.T @ g, g.sum(axis=0), *gradients]
        g = g @ weights[n].T * (1 - below**2)  # through the tanh below
    return gradients


def train_by_hand(points, labels, steps=400, learning_rate=1.0, seed=0):
    """Weights after so many steps of gradient descent on all points.

    returns  list of float32 arrays, as `forward` takes it
    """
    rng = np.random.default_rng(seed)
    weights = []
    for inputs, outputs in zip(SIZES, SIZES[1:]):
        weights.append(rng.normal(0, inputs**-0.5, (inputs, outputs)).astype(np.float32))
        weights.append(np.zeros(outputs, np.float32))
    for _ in range(steps):
        for weight, g in zip(weights, gradients_by_hand(weights, points, labels)):
            weight -= learning_rate * g
    return weights


def plot_decision(points, labels, logits, title=""):
    """Plot the points, and the regions in which a network answers one moon or the other.

    logits   function from an array of points (count, 2) to logits, positive for the upper moon
    returns  (figure, axes) of matplotlib
    """
    from matplotlib.colors import to_rgba

    across, up = np.meshgrid(np.linspace(-1.6, 2.6, 121), np.linspace(-1.2, 1.7, 85))
    grid = np.stack([across.ravel(), up.ravel()], axis=1).astype(np.float32)
    z = np.clip(np.reshape(logits(grid), across.shape), -50, 50)
    figure, axes = panel(title, "first coordinate", "second coordinate")
    lower, upper = COLOURS["gradient"][0], COLOURS["value"][0]
    shades = [
        to_rgba(lower, 0.35),
        to_rgba(lower, 0.15),
        to_rgba(upper, 0.15),
        to_rgba(upper, 0.35),
    ]
    axes.contourf(across, up, 1 / (1 + np.exp(-z)), [0, 0.1, 0.5, 0.9, 1], colors=shades)
    axes.contour(across, up, z, [0.0], colors="black", linewidths=1.5)
    for side, colour, mark in ((1, upper, "o"), (0, lower, "s")):
        axes.scatter(*points[labels[:, 0] == side].T, s=16, color=colour, marker=mark)
    return figure, axes


def untrained_network(seed=0):
    """The network of `SIZES` with tanh between its layers, and its parameters in one vector.

    returns  (Sequential, Tensor of shape (337,)); the vector is a copy, in the order of
             `parameters()`
    """
    from tinytorch.core.activations import Tanh  # late: lessons of the course
    from tinytorch.core.layers import Dense, Sequential
    from tinytorch.core.tensor import Tensor

    rng = np.random.default_rng(seed)
    first, second, third = [Dense(*pair, rng=rng) for pair in zip(SIZES, SIZES[1:])]
    network = Sequential(first, Tanh(), second, Tanh(), third)
    return network, Tensor(np.concatenate([w.data.ravel() for w in network.parameters()]))
