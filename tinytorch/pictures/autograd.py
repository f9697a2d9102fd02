"""What lesson 06 draws and measures: a network trained on two half-moons, the gradient of a
broadcast bias, and the memory that a computation needs.
"""

import tracemalloc

import numpy as np

from tinytorch.pictures.drawing import panel
from tinytorch.support.svg import COLOURS, WIDTH, Drawing, short

# Two half-moons. The derivatives in `train_by_hand` were worked out on paper for this one network;
# the lesson writes the program that finds them for every network.

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


# The gradient of a broadcast bias: its numbers are copied forward, the gradients of the copies are
# summed backward

CELL, HIGH, LEFT = 44, 30, 150  # pixels: a cell, and where the table begins


def draw_bias_gradient(bias, g):
    """The gradient of a bias that was added to each row of a batch.

    bias     array of shape (features,)
    g        array of shape (batch, features): the gradient of the sum, batch + bias
    returns  a Drawing
    """
    bias, g = np.asarray(bias), np.asarray(g)
    rows, features = g.shape
    total = g.sum(axis=0)
    drawing = Drawing(
        "The gradient of a broadcast bias",
        f"Forward, {rows} copies of the bias {bias.tolist()} are added, one to each row. Backward, "
        f"the gradients of the copies, {g.tolist()}, are summed to {total.tolist()}.",
        WIDTH,
        2 * (rows + 2) * HIGH + 110,
    )
    y = 30
    drawing.text(8, 18, f"forward: each row uses the same {features} numbers", anchor="start")
    heading(drawing, y, "bias", bias.shape)
    drawing.cells(LEFT, y, [bias], "value", CELL, HIGH)
    y += HIGH
    arrows(drawing, y, y + 22, "value", features)
    y += 26
    heading(drawing, y, "broadcast", g.shape)
    drawing.cells(LEFT, y, [bias] * rows, "value", CELL, HIGH, dashed=True)
    y += rows * HIGH + 44
    drawing.text(8, y - 12, "backward: the copies' gradients are summed", anchor="start")
    heading(drawing, y, "g", g.shape)
    drawing.cells(LEFT, y, g, "gradient", CELL, HIGH)
    y += rows * HIGH
    arrows(drawing, y, y + 22, "gradient", features)
    y += 26
    heading(drawing, y, "bias.grad", bias.shape)
    drawing.cells(LEFT, y, [total], "gradient", CELL, HIGH)
    column = " + ".join(short(number) for number in g[:, 0])
    drawing.text(LEFT + 4, y + HIGH + 18, f"{column} = {short(total[0])}", "gradient", "start")
    return drawing


def heading(drawing, y, name, shape):
    """The name of a table and its shape, at the left of its first row."""
    drawing.text(8, y + HIGH / 2 + 4.5, f"{name} {tuple(shape)}", anchor="start")


def arrows(drawing, top, bottom, kind, count):
    """An arrow downward in each of the columns."""
    for n in range(count):
        x = LEFT + (n + 0.5) * CELL
        drawing.arrow((x, top + 2), (x, bottom), kind)


# Memory


def kilobytes_held(make):
    """The memory in use while the result of make() is held, in units of 1000 bytes, rounded down.

    >>> kilobytes_held(lambda: np.zeros(100_000, "float32")) in (400, 401)
    True
    """
    tracemalloc.start()
    try:
        result = make()
        used = tracemalloc.get_traced_memory()[0]
        del result
    finally:
        tracemalloc.stop()
    return used // 1000


def kilobytes_at_peak(make):
    """The largest memory in use at any time while make() runs, in units of 1000 bytes, rounded
    down.

    >>> kilobytes_at_peak(lambda: np.zeros(100_000, "float32").sum()) in range(400, 405)
    True
    """
    tracemalloc.start()
    try:
        make()
        _, largest = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return largest // 1000
