"""Broadcasting: two shapes aligned at their right ends, and what is repeated; lesson 02. A reader
can type two shapes.
"""

import numpy as np
from figure import Figure, Panel, choice, field_of, hint, number

from tinytorch.core.tensor import Tensor, broadcast_shape

BOX, CELL, ROW, LABEL, RANK = 44, 44, 34, 106, 4  # pixels; at most so many axes
GUESSES, TARGETS = [[0.5], [2.0], [4.0]], [0.5, 2.0, 4.0]
EXAMPLES = {
    "sum": ([[1, 2, 3], [4, 5, 6]], "+", [10, 20, 30]),
    "differences": (GUESSES, "-", TARGETS),
    "refused": ([[1, 2, 3], [4, 5, 6]], "+", [10, 20]),
}
WORDS = {
    "sum": "(2, 3) + (3,)",
    "differences": "guesses (3, 1) − targets (3,)",
    "refused": "(2, 3) + (2,)",
    "own": "my own shapes",
}


def figures():
    a, sign, b = EXAMPLES["sum"]
    guesses, _, targets = EXAMPLES["differences"]
    square = broadcast_shape(np.shape(guesses), np.shape(targets))
    steps = [
        f"The shapes {np.shape(a)} and {np.shape(b)} are aligned at their right ends. A missing "
        "length counts as 1.",
        f"On each axis the lengths are equal, or one of them is 1 and is repeated: the result has "
        f"the shape {broadcast_shape(np.shape(a), np.shape(b))}.",
        f"A column of shape {np.shape(guesses)} minus a row of shape {np.shape(targets)} has the "
        f"shape {square}: {np.prod(square)} differences, of which {len(targets)} were wanted.",
        f"Refused: {refusal(EXAMPLES['refused'])}.",
    ]
    state = {
        name: {"a": flat(a), "b": flat(b), "sign": sign} for name, (a, sign, b) in EXAMPLES.items()
    }
    touch = hint("Choose a number of the result, to see where it comes from.")
    own = field_of("shape of a", "a", "(2, 3)") + field_of("shape of b", "b", "(3,)")
    return [
        Figure(
            "broadcasting",
            "Broadcasting two shapes",
            "Shapes are aligned at the right; a length of 1 is repeated to fit the other array, "
            "and any other pair of different lengths is an error.",
            panels(a, sign, b),
            steps,
            touch + choice("Example", "broadcasting-example", WORDS, "sum") + own,
            state,
            lesson="tensor",
            section="Broadcasting",
            replaces="draw_broadcasting([[1, 2, 3], [4, 5, 6]], [10, 20, 30])",
        )
    ]


def flat(x):
    return {"shape": list(np.shape(x)), "data": np.ravel(x).tolist()}


def refusal(example):
    a, _, b = example
    try:
        broadcast_shape(np.shape(a), np.shape(b))
    except ValueError as error:
        return str(error)
    raise AssertionError("these shapes should not broadcast")


def panels(a, sign, b):
    """The shapes, both operands and the result, of two operands of rank 1 or 2 that broadcast."""
    a, b = np.array(a), np.array(b)
    result = (Tensor(a) + Tensor(b)).data
    return [
        shapes({"a": a.shape, "b": b.shape, "result": result.shape}),
        operand("a", a, result.shape),
        operand("b", b, result.shape),
        operand(f"a {sign} b", result, result.shape, "result", touched=True),
    ]


def shapes(named):
    panel = Panel(
        "The shapes, one below the other",
        "; ".join(f"{name} has the shape {shape}" for name, shape in named.items()),
        LABEL + RANK * BOX + 6,
        3 * ROW + 30,
    )
    most = max(len(shape) for shape in named.values())
    for row, (name, shape) in enumerate(named.items()):
        y = 4 + row * (ROW + 6) + (8 if name == "result" else 0)
        panel.text(LABEL - 4, y + 22, f"{name} {shape}", anchor="end")
        panel.key(f"shape {name}")
        padded = (1,) * (most - len(shape)) + shape
        for axis, length in enumerate(padded):
            x = LABEL + (RANK - most + axis) * BOX
            missing = axis < most - len(shape)
            key = f"length {name} {axis}"
            panel.cell(x, y, length, width=BOX, height=ROW, dashed=missing, key=key)
    return panel


def operand(title, x, shape, key="", touched=False):
    """An operand stretched to the result's shape: what is repeated is dashed."""
    key = key or title
    wide = np.broadcast_to(x, shape if len(shape) == 2 else (1, *shape))
    rows, columns = (1, 1, *x.shape)[-2:]
    listed = "; ".join(" ".join(number(float(one)) for one in row) for row in wide)
    size = wide.shape[1] * CELL + 4, wide.shape[0] * ROW + 26
    panel = Panel(title, listed, *size, touched)
    panel.text(2, 16, title, anchor="start", bold=True)
    for (i, j), value in np.ndenumerate(wide):
        ghost = i >= rows or j >= columns
        panel.cell(
            2 + j * CELL,
            24 + i * ROW,
            number(float(value)),
            "muted" if ghost else "value",
            CELL,
            ROW,
            ghost,
            f"{key} {i} {j}",
        )
    return panel
