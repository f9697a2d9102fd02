"""A fully connected layer as shapes, and a bias of the wrong shape; lesson 04, whose `linear`
computes the outputs.
"""

import numpy as np
from figure import Figure, Panel, choice, hint

from tinytorch.core.layers import linear
from tinytorch.core.tensor import Tensor

X = [[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]]  # the lesson's
W = [[1.0, 0.0, 3.0, -1.0], [0.0, 1.0, 4.0, 2.0]]
BIASES = {"4": [10.0, 20.0, 30.0, 40.0], "3 1": [[100.0], [200.0], [300.0]]}
CELL, ROW, TOP, GAP = 44, 34, 24, 20  # pixels
SHOWN = 1, 2  # the lesson's picture


def figures():
    states = {f"{bias} {batch}": numbers(bias, batch) for bias in BIASES for batch in (3, 2)}
    steps = [
        told(states["4 3"], *SHOWN),
        f"A bias of shape (3, 1) and 3 examples: {told(states['3 1 3'], *SHOWN)}",
        f"The same bias and 2 examples: {states['3 1 2']['error']}",
    ]
    controls = hint("Choose an output y.")
    controls += choice(
        "bias of shape", "dense-bias", {"4": "(4,): one per output", "3 1": "(3, 1)"}, "4"
    ) + choice("examples in the batch", "dense-batch", {"3": "3", "2": "2"}, "3")
    return [
        Figure(
            "dense",
            "A fully connected layer as shapes",
            "Each output takes a row of x, a column of W and its own bias; a bias of shape (3, 1) "
            "gives each example a number instead, and with 3 examples there is no error.",
            panels(states["4 3"]),
            steps,
            controls,
            states,
            {name: panels(state) for name, state in states.items()},
            lesson="layers",
            section="Fully connected layers",
            after="With three examples the column is broadcast too",
        )
    ]


def numbers(bias, batch):
    """One setting, for JSON: x, W, b and the outputs y, or the error instead of them."""
    x, b = X[:batch], BIASES[bias]
    state = {"x": x, "W": W, "b": np.ravel(b).tolist(), "column": bias == "3 1"}
    try:
        return state | {"y": linear(Tensor(x), Tensor(W), Tensor(b)).data.tolist(), "error": ""}
    except ValueError as error:
        return state | {"y": [[None] * 4 for _ in x], "error": f"ValueError: {error}."}


def written(value):
    """All digits: the numbers are short."""
    return f"{value:g}"


def told(state, i, j):
    products = " + ".join(f"{written(x)} * {written(row[j])}" for x, row in zip(state["x"][i], W))
    at = i if state["column"] else j
    wrong = " This bias belongs to the example, not to the output." if state["column"] else ""
    return (
        f"y[{i}, {j}] = {products} + {written(state['b'][at])} = {written(state['y'][i][j])}: "
        f"row {i} of x, column {j} of W, bias {at}.{wrong}"
    )


def panels(state):
    rows, column = len(state["x"]), state["column"]
    left, below = 2 + 2 * CELL + GAP, TOP + 2 * ROW + GAP + 4
    end = below + rows * ROW
    bias = (left + 4 * CELL + 16, below) if column else (left, end + GAP + 6)
    height = below + 3 * ROW + 4 if column else end + GAP + ROW + 12
    drawing = Panel(
        "x at the left, W above, the outputs y in the corner between them",
        state["error"] or told(state, *SHOWN),
        358,
        height,
        touched=True,
    )
    drawing.text(2, below - 8, f"x {np.shape(state['x'])}", anchor="start", bold=True)
    drawing.text(left, 16, f"W {np.shape(W)}", anchor="start", bold=True)
    shape = "no y" if state["error"] else f"y {np.shape(state['y'])}"
    drawing.text(left, below - 8, shape, anchor="start", bold=True)
    kind = "wrong" if column else "value"
    for key, grid, x, y in [("x", state["x"], 2, below), ("W", W, left, TOP)]:
        drawing.grid(x, y, grid, key, "value", CELL, ROW)
    outputs = "muted" if state["error"] else kind
    y = [["" if one is None else written(one) for one in row] for row in state["y"]]
    drawing.grid(left, below, y, "y", outputs, CELL, ROW)
    for n, value in enumerate(state["b"]):
        x, y = bias[0] + n * CELL * (not column), bias[1] + n * ROW * column
        drawing.cell(x, y, written(value), kind, CELL, ROW, key=f"b {n}")
    if column:
        drawing.text(bias[0], below - 8, "b (3, 1)", anchor="start", bold=True)
    else:
        drawing.text(left - 8, bias[1] + 22, "b (4,)", anchor="end", bold=True)
    if not state["error"]:
        drawing.mark(marked(state, *SHOWN))
    return [drawing]


def marked(state, i, j):
    """The keys of an output and of what it is computed from."""
    bias = f"b {i if state['column'] else j}"
    return [f"x {i} 0", f"x {i} 1", f"W 0 {j}", f"W 1 {j}", bias, f"y {i} {j}"]
