"""Two classes of points in a plane, a small network that NumPy trains on them, and the picture of
its decision boundary.

Lesson 05 opens with that picture, before any of its code is written; at its end the learner's own
network, started from the same parameters, draws it again.
"""

import math
import random

from tinytorch.support.drawing import COLOURS, FILLS, panel

__all__ = ["draw_boundary", "make_rings", "train_in_numpy"]


def make_rings(inner=10, outer=16, generator=None):
    """Points of class 1 near the origin, and points of class -1 on a ring around them.

    inner, outer  how many points of each class
    generator     a random.Random; without one, one with the seed 0
    returns       (points, targets): a list of lists [x1, x2] and a list of 1.0 and -1.0
    """
    draw = (generator or random.Random(0)).uniform
    points, targets = [], []
    for i in range(inner + outer):
        inside = i < inner
        angle = 2 * math.pi * (i / inner if inside else i / outer) + draw(-0.2, 0.2)
        radius = draw(0.1, 0.5) if inside else draw(0.85, 1.15)
        points.append([radius * math.cos(angle), radius * math.sin(angle)])
        targets.append(1.0 if inside else -1.0)
    return points, targets


def train_in_numpy(points, targets, sizes, learning_rate, steps, seed=0):
    """Train a network of tanh layers by gradient descent on the sum of squared errors.

    points    list of lists of as many numbers, the inputs
    targets   list of numbers between -1 and 1
    sizes     list: the number of neurons of each layer; the last one has 1
    seed      of the random.Random that draws each neuron's weights and then its bias from -1 to 1
    returns   function from an array (n, inputs) to the n outputs of the trained network
    """
    import numpy as np

    draw = random.Random(seed).uniform
    x, t = np.array(points), np.array(targets)[:, None]
    layers = []
    for nin, nout in zip([x.shape[1], *sizes], sizes):
        neurons = np.array([[draw(-1, 1) for _ in range(nin + 1)] for _ in range(nout)])
        layers.append([neurons[:, :-1].T.copy(), neurons[:, -1].copy()])

    def forward(x):
        outputs = [np.asarray(x)]
        for weights, bias in layers:
            outputs.append(np.tanh(outputs[-1] @ weights + bias))
        return outputs

    for _ in range(steps):
        outputs = forward(x)
        g = 2 * (outputs[-1] - t)
        for layer, a, out in reversed(list(zip(layers, outputs, outputs[1:]))):
            g = g * (1 - out**2)
            into_weights, into_bias, g = a.T @ g, g.sum(axis=0), g @ layer[0].T
            layer[0] -= learning_rate * into_weights
            layer[1] -= learning_rate * into_bias
    return lambda x: forward(x)[-1][:, 0]


def draw_boundary(model, points, targets, title="", resolution=61):
    """Shade the plane by the sign of a model's output, and draw the examples on it.

    model       function from an array (n, 2) to n outputs
    points      list of lists [x1, x2]
    targets     list of as many numbers, positive for one class and negative for the other
    resolution  how many outputs are computed along each axis
    returns     a matplotlib figure; the line is where the output is 0, the decision boundary
    """
    import numpy as np

    grid = np.linspace(-1.4, 1.4, resolution)
    across, up = np.meshgrid(grid, grid)
    outputs = np.asarray(model(np.column_stack([across.ravel(), up.ravel()])), "float64")
    outputs = outputs.reshape(across.shape)
    figure, axes = panel(title, "first input", "second input", width=4.2, height=4.2)
    fills = [FILLS["muted"][0], FILLS["value"][0]]
    axes.contourf(across, up, outputs > 0, levels=[-0.5, 0.5, 1.5], colors=fills)
    if outputs.min() < 0 < outputs.max():
        axes.contour(across, up, outputs, levels=[0.0], colors=[COLOURS["text"][0]])
    for sign, kind, marker in ((1, "value", "o"), (-1, "muted", "s")):
        chosen = np.array([p for p, t in zip(points, targets) if t * sign > 0])
        axes.scatter(*chosen.T, c=COLOURS[kind][0], marker=marker, s=36)
    axes.set_aspect("equal")
    return figure
