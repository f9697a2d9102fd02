"""What lesson 00 draws: a line that turns toward points, and a network that learns to separate two
groups of points.

The lesson is plain Python and can be done on its page of the book, where there is no NumPy. So only
what draws the picture of the opening imports it, when it is called.
"""

import math
import random

from tinytorch.pictures.drawing import panel, shade_above
from tinytorch.support.svg import COLOURS

REACH = 1.4  # the coordinates that a picture of the network shows: from -REACH to REACH


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


def ring_examples():
    """The 26 examples of the network: a list of ([x1, x2], target).

    The target is 1.0 for the 10 points near the origin and -1.0 for the 16 points around them.
    """
    return list(zip(*make_rings()))


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

    figure, axes = panel(title, "first input", "second input", width=4.2, height=4.2)
    grid = np.linspace(-1.4, 1.4, resolution)
    shade_above(axes, model, grid, grid, level=0)
    for sign, kind, marker in ((1, "value", "o"), (-1, "muted", "s")):
        chosen = np.array([p for p, t in zip(points, targets) if t * sign > 0])
        axes.scatter(*chosen.T, c=COLOURS[kind][0], marker=marker, s=36)
    axes.set_aspect("equal")
    return figure


def draw_goal():
    """The decision boundary of a network that NumPy trained on the ring examples.

    returns  a matplotlib figure
    """
    points, targets = make_rings()
    trained = train_in_numpy(points, targets, [6, 1], learning_rate=0.5 / 26, steps=100)
    return draw_boundary(trained, points, targets, "25 parameters, 100 steps")


def draw_slope(loss, at, low=-0.5, high=3.0):
    """Draw a loss of one parameter, and its tangent at one place.

    loss       function of a float, returning a float
    at         float: where the tangent touches
    low, high  floats: the parameters that the picture shows
    returns    a matplotlib figure
    """
    figure, axes = panel("", "weight", "loss")
    across = evenly(low, high, 101)
    heights = [loss(weight) for weight in across]
    axes.plot(across, heights, "C0")
    slope = (loss(at + 1e-5) - loss(at - 1e-5)) / 2e-5
    ends = [at - 0.3, at + 0.5]
    axes.plot(ends, [loss(at) + slope * (end - at) for end in ends], "C1")
    axes.plot([at], [loss(at)], "C1o")
    axes.text(at + 0.1, loss(at), f"slope {slope:.1f}", color="C1", va="bottom")
    axes.set_ylim(0, 1.1 * max(heights))
    return figure


def evenly(low, high, count):
    """`count` floats from `low` to `high` with equal distances.

    >>> evenly(0.0, 1.0, 5)
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    return [low + (high - low) * i / (count - 1) for i in range(count)]


def draw_line(predict, history, examples):
    """Draw examples with one input, and the line of a model after some steps of its training.

    predict   function of (parameters, inputs), returning a float
    history   list of lists of parameters: before training, and after each step
    examples  list of ([x], target)
    returns   a matplotlib figure; with a history of several, up to six lines from pale to dark
    """
    figure, axes = panel("", "input", "target")
    xs, targets = [x for (x,), _ in examples], [target for _, target in examples]
    axes.plot(xs, targets, "o", color=COLOURS["muted"][0])
    ends = [0.0, max(xs) + 0.2]
    steps = shown_steps(len(history) - 1, 6)
    for step in steps:
        heights = [predict(history[step], [x]) for x in ends]
        opacity = 0.25 + 0.75 * step / steps[-1] if steps[-1] else 1.0
        axes.plot(ends, heights, "C0", alpha=opacity)
        if len(history) > 1 and step in (0, steps[-1]):
            axes.text(ends[1], heights[1], f" step {step}", color="C0", va="center")
    return figure


def shown_steps(last, count):
    """At most `count` steps from 0 to `last`, with growing distances: most happens early.

    >>> shown_steps(100, 6), shown_steps(2, 6), shown_steps(0, 6)
    ([0, 3, 6, 16, 40, 100], [0, 1, 2], [0])
    """
    if last < count:
        return list(range(last + 1))
    return [0, *(round(last ** (i / (count - 1))) for i in range(1, count))]


def follow(loss, gradient_of, parameters, learning_rate, steps):
    """Gradient descent with a given function for the gradient.

    loss         function of a list of floats, returning a float
    gradient_of  function of (loss, parameters), returning a list of floats
    parameters   list of floats: where to start; it is not changed
    returns      list of steps + 1 lists of parameters: the start, then those after each step
    """
    history = [[float(number) for number in parameters]]
    for _ in range(steps):
        gradient = gradient_of(loss, list(history[-1]))
        history.append([p - learning_rate * d for p, d in zip(history[-1], gradient)])
    return history


def draw_learning(network, history, examples, steps=(0, 20, 50, 100)):
    """Draw the decision boundary of a network after some steps of its training.

    network   function of (parameters, [x1, x2]), returning a float; the boundary is where it is 0
    history   list of lists of parameters: before training, and after each step
    examples  list of ([x1, x2], target), positive for one group and negative for the other
    steps     the four steps to draw, in the order of the panels
    returns   a matplotlib figure with two rows of two panels
    """
    figure, first = panel(width=5.0, height=5.2)
    first.remove()
    grid = evenly(-REACH, REACH, 41)
    for axes, step in zip(figure.subplots(2, 2).flat, steps):
        parameters = history[step]

        def outputs(points):
            return [network(parameters, [float(x), float(y)]) for x, y in points]

        shade_above(axes, outputs, grid, grid, level=0)
        for inputs, target in examples:
            kind, marker = ("value", "o") if target > 0 else ("muted", "s")
            axes.plot(*inputs, marker, color=COLOURS[kind][0], markersize=4)
        axes.set(title=f"step {step}", aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    return figure
