"""Computation graphs of expressions on single numbers.

`draw` draws one by hand: a box per number, with its value, and below it its gradient or an empty
place for it; on the edges the local gradients. `graph_of_values` makes the Graph of Values that
recorded how they were computed.
"""

import itertools

from tinytorch.support.drawing import Drawing, short
from tinytorch.support.graphs import Graph
from tinytorch.support.handmade import unknown_derivatives

__all__ = ["draw", "evaluate", "graph_of_values"]

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
        else:  # the input that stands further left enters on the left
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
    """What stands in a box: the name, and the operation that computes it."""
    return f"{name} = {' '.join(steps[name])}" if name in steps else name


def graph_of_values(nodes):
    """The Graph of how a Value was computed: a box per Value, an arrow per input.

    nodes    Values, anything with `data grad label _op _prev _local_gradients`; every input of one
             of them is among them, too
    returns  a Graph with label, operation, data and grad in each box, and on each arrow the local
             gradient ("?" where it is unknown)
    """
    graph = Graph()
    for node in nodes:
        kind = "operation" if node._prev else "leaf"
        title = f"{node.label} {node._op}".strip()
        graph.box(node, title, f"data {node.data:.5g}", f"grad {node.grad:.5g}", kind=kind)
        unknown = node._local_gradients is unknown_derivatives
        local_gradients = itertools.repeat("?") if unknown else node._local_gradients
        for x, local in zip(node._prev, local_gradients):
            graph.arrow(x, node, local if unknown else f"{local:.4g}")
    return graph
