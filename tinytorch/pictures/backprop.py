"""What lesson 01 draws: computation graphs of numbers, and the decision boundary of a network.

The lesson opens with that boundary before any of its code is written; at its end the learner's
network, started from the same parameters, draws it again, as in lesson 00. It also measures the
time of a gradient.
"""

import math
import random
import time

from tinytorch.pictures.descent import draw_boundary, make_rings, train_in_numpy  # noqa: F401
from tinytorch.support.svg import Drawing, short

# The time of a gradient


def seconds_per_gradient(hidden, Value, numerical_gradient):
    """How long the gradient of a network takes by central differences, and by backpropagation.

    hidden              int: how many linear models, each followed by tanh, get the point
    Value               the class whose operations are recorded
    numerical_gradient  function of (f, numbers), returning the gradient of f
    returns             (parameters, seconds by central differences, seconds by backpropagation)
    """
    points, targets = make_rings()
    draw = random.Random(0).uniform
    numbers = [draw(-1, 1) for _ in range(4 * hidden + 1)]

    def loss(parameters, tanh):
        total = 0.0
        for (x, y), target in zip(points, targets):
            output = parameters[-1]
            for i in range(0, 4 * hidden, 4):
                a, b, c, weight = parameters[i : i + 4]
                output = output + tanh(a * x + b * y + c) * weight
            error = tanh(output) - target
            total = total + error * error
        return total

    began = time.perf_counter()
    numerical_gradient(lambda moved: loss(moved, math.tanh), numbers)
    between = time.perf_counter()
    loss([Value(number) for number in numbers], Value.tanh).backward()
    return len(numbers), between - began, time.perf_counter() - between


# Computation graphs

OPERATIONS = {  # sign: the result, and its derivative with respect to each of the two inputs
    "+": lambda x, y: (x + y, (1.0, 1.0)),
    "*": lambda x, y: (x * y, (y, x)),
}
WIDE, VALUE, GRADIENT = 76, 40, 26  # pixels: a box's width, the heights of its two parts
ACROSS, DOWN = 88, 116  # pixels: from one column, and from one row, to the next
MARGIN = 8


def evaluate(inputs, steps):
    """The values of an expression, and its local gradients.

    inputs   {name: number}
    steps    {name: (left, sign, right)}, each after those that it uses; the sign is "+" or "*"
    returns  ({name: value}, {(input, result, which): local gradient}), which 0 for the left input
             of an operation and 1 for the right one

    >>> evaluate({"x": 3.0}, {"y": ("x", "*", "x")})[0]
    {'x': 3.0, 'y': 9.0}
    """
    values, edges = dict(inputs), {}
    for name, (left, sign, right) in steps.items():
        values[name], local = OPERATIONS[sign](values[left], values[right])
        edges[left, name, 0], edges[right, name, 1] = local
    return values, edges


def draw(inputs, steps, places, gradients=None):
    """Draw the computation graph of an expression, from its inputs at the top to its result.

    inputs     {name: number}
    steps      {name: (left, sign, right)}, each after those that it uses; the sign is "+" or "*"
    places     {name: (column, row)}, counted from 0; a column may be fractional
    gradients  {name: number}; None leaves their places empty and the edges without numbers
    returns    a Drawing
    """
    values, edges = evaluate(inputs, steps)
    rows = max(row for _, row in places.values()) + 1
    drawing = Drawing(
        "A computation graph",
        "; ".join(f"{words(name, steps)}: value {short(v)}" for name, v in values.items()),
        height=MARGIN * 2 + DOWN * (rows - 1) + VALUE + GRADIENT,
    )
    wide = ACROSS * max(column for column, _ in places.values()) + WIDE
    indent = (drawing.width - wide) / 2
    corner = {n: (indent + ACROSS * c, MARGIN + DOWN * r) for n, (c, r) in places.items()}
    for (start, end, which), local in edges.items():
        left, _, right = steps[end]
        if left == right:
            side = 2 * which - 1
        else:  # the input that is further left enters on the left
            other = left if which else right
            side = 1 if corner[start] > corner[other] else -1
        bend = 16 * side if left == right else 0
        x1, y1 = corner[start][0] + WIDE / 2, corner[start][1] + VALUE + GRADIENT
        x2, y2 = corner[end][0] + WIDE * (3 + side) / 6, corner[end][1]
        drawing.arrow((x1, y1), (x2, y2 - 1), bend=bend)
        if gradients is not None:
            x, y = x1 + 0.7 * (x2 - x1) + bend + 8 * side, y1 + 0.7 * (y2 - y1)
            text = f"\N{MULTIPLICATION SIGN}{short(local)}"
            drawing.text(x, y + 4, text, "gradient", "start" if side > 0 else "end")
    for name, (x, y) in corner.items():
        drawing.cell(x, y, width=WIDE, height=VALUE)
        drawing.text(x + WIDE / 2, y + 16, words(name, steps), bold=True)
        drawing.text(x + WIDE / 2, y + 33, short(values[name]), "value")
        if gradients is None:
            drawing.cell(x, y + VALUE, "grad ?", "gradient", WIDE, GRADIENT, dashed=True)
        else:
            text = f"grad {short(gradients[name])}"
            drawing.cell(x, y + VALUE, text, "gradient", WIDE, GRADIENT)
    return drawing


def words(name, steps):
    """The text of a box: the name, and the operation that computes it."""
    return f"{name} = {' '.join(steps[name])}" if name in steps else name
