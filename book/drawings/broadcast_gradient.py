"""The gradient of an operand that was broadcast; lesson 06, whose `unbroadcast` sums it."""

import numpy as np
from figure import Figure, Panel, choice, hint, number

from tinytorch.core.autograd import central_difference, unbroadcast
from tinytorch.core.tensor import Tensor, Variable

G = np.arange(12.0).reshape(3, 4)
BIAS = [0.5, -1.0, 2.0, 0.0]
SHAPES = {"4": (4,), "3 1": (3, 1), "1 4": (1, 4)}
CELL, ROW, TOP, GAP = 44, 34, 24, 16  # pixels


def figures():
    sums = {name: numbers(shape) for name, shape in SHAPES.items()}
    steps = [told(state) for state in sums.values()]
    steps.append(
        f"{told_one(sums['4'], 0)} The mean, {number(sums['4']['means'][0])}, would be wrong."
    )
    controls = hint("Choose a number of the last row or column, the gradient of the bias.")
    controls += choice(
        "shape of the bias",
        "broadcast_gradient-shape",
        {name: str(shape) for name, shape in SHAPES.items()},
        "4",
    ) + choice("over the copies", "broadcast_gradient-how", {"sum": "sum", "mean": "mean"}, "sum")
    return [
        Figure(
            "broadcast_gradient",
            "The gradient of a broadcast bias",
            "Each number of the bias was used several times, so its gradient is the sum over its "
            "copies, in the shape that the bias has.",
            panels(sums["4"]),
            steps,
            controls,
            sums,
            {name: panels(state) for name, state in sums.items()},
            lesson="autograd",
            section="Gradients of broadcast operands",
            after="the contributions of all copies are summed",
            replaces="draw_bias_gradient(bias, g)",
        )
    ]


def numbers(shape):
    """For JSON: the gradient of a bias of this shape, what the mean would give, and the finite
    differences of the loss (G * (zeros + bias)).sum(); each as a flat list.

    copies  for each number of the bias, the places (i, j) of its copies
    """
    size = int(np.prod(shape))
    bias = np.array(BIAS[:size]).reshape(shape)

    def loss(bias):
        return (Tensor(G) * (Tensor(np.zeros(G.shape)) + bias)).sum()

    differences = [float(central_difference(loss, [bias], 0, at)) for at in np.ndindex(shape)]
    wide = np.broadcast_to(np.arange(size).reshape(shape), G.shape)
    copies = [np.argwhere(wide == n).tolist() for n in range(size)]
    sums = unbroadcast(G, shape)
    x = Variable(bias)
    loss(x).backward()
    if not np.array_equal(x.grad.data, sums):
        raise ValueError(f"backward gives {x.grad.data}, and unbroadcast {sums}")
    return {
        "shape": list(shape),
        "bias": bias.ravel().tolist(),
        "sums": sums.ravel().tolist(),
        "means": (sums.ravel() / [len(places) for places in copies]).tolist(),
        "differences": [round(one, 6) for one in differences],
        "copies": copies,
    }


def listed(row):
    return ", ".join(map(number, row))


def told(state):
    shape = tuple(state["shape"])
    axis = "1, the columns, and keeps it with length 1" if shape == (3, 1) else "0, the rows"
    axis += ", and keeps it with length 1" if shape == (1, 4) else ""
    return (
        f"A bias of shape {shape}: its gradient sums g over axis {axis}: {listed(state['sums'])}."
    )


def told_one(state, n):
    parts = " + ".join(number(G[i, j]) for i, j in state["copies"][n])
    return (
        f"Bias {n}: {parts} = {number(state['sums'][n])}; the finite difference is "
        f"{number(state['differences'][n])}."
    )


def panels(state):
    """Forward, the bias and its copies; backward, g and the gradient of the bias."""
    column = state["shape"] == [3, 1]
    forward = titled("forward: the bias is copied", column, listed(state["bias"]))
    wide = np.empty(G.shape)
    for value, places in zip(state["bias"], state["copies"]):
        for i, j in places:
            wide[i, j] = value
    own, copied = ((2, TOP), (2 + CELL + GAP, TOP)) if column else ((2, TOP), (2, TOP + ROW + GAP))
    for (i, j), value in np.ndenumerate(wide):
        place = copied[0] + j * CELL, copied[1] + i * ROW
        forward.cell(*place, number(value), "muted", CELL, ROW, True, f"copy {i} {j}")
    strip(forward, own, column, "bias", state["bias"], "value")
    backward = titled("backward: g is summed", column, listed(state["sums"]), touched=True)
    for (i, j), value in np.ndenumerate(G):
        place = 2 + j * CELL, TOP + i * ROW
        backward.cell(*place, number(value), "gradient", CELL, ROW, key=f"g {i} {j}")
    end = (2 + 4 * CELL + GAP, TOP) if column else (2, TOP + 3 * ROW + GAP)
    strip(backward, end, column, "grad", state["sums"], "gradient")
    for one in (forward, backward):
        keys = [f"{part} {i} {j}" for part in ("copy", "g") for i, j in state["copies"][0]]
        one.mark([*keys, "bias 0", "grad 0"])
    return [forward, backward]


def titled(title, column, described, touched=False):
    wide, high = (5 * CELL + GAP, 3 * ROW) if column else (4 * CELL, 4 * ROW + GAP)
    panel = Panel(title, described, max(wide, 206) + 4, TOP + high + 4, touched)
    panel.text(2, 16, title, anchor="start", bold=True)
    return panel


def strip(panel, corner, column, key, values, kind):
    for n, value in enumerate(values):
        x, y = corner[0] + n * CELL * (not column), corner[1] + n * ROW * column
        panel.cell(x, y, number(value), kind, CELL, ROW, key=f"{key} {n}")
