"""Softmax: logits, their exponentials, probabilities; lesson 03, whose `softmax` it is. Logits are
float32, so that a large one overflows.
"""

import numpy as np
from figure import Figure, Panel, choice, number, slider

from tinytorch.core.activations import softmax
from tinytorch.core.tensor import Tensor

LOGITS = [1.0, 2.0, 4.0]
SHIFTS = {"none": "nothing", "max": "subtract the largest logit"}
# Pixels; logits may be negative, so their bars begin further right, and 8 is as long as their room.
LEFT, ROOM, ZERO, UPWARD, LEAST, TOP, ROW = 64, 216, 160, 120, 8, 26, 28


def figures():
    states = [(0, 1, "none"), (0, 2, "none"), (0, 0.5, "none"), (88, 1, "none"), (88, 1, "max")]
    controls = (
        slider("multiply the logits by", "multiply", 0.5, 2, 0.1, 1)
        + slider("then add", "add", -5, 100, 1, 0)
        + choice("before exp", "softmax-shift", SHIFTS, "none")
    )
    return [
        Figure(
            "softmax",
            "Softmax, from logits to probabilities",
            "Adding one number to all logits does not change the probabilities, so the largest "
            "may be subtracted before exp; multiplying changes them.",
            panels(*numbers(0, 1, "none")),
            [told(*numbers(*state)) for state in states],
            controls,
            {
                "logits": LOGITS,
                "map": {"left": LEFT, "room": ROOM, "zero": ZERO, "up": UPWARD, "least": LEAST},
            },
            lesson="activations",
            section="Softmax",
            replaces="draw_softmax([89.0, 90.0, 92.0], shift=True)",
        )
    ]


def numbers(add, multiply, shift):
    """(largest, logits, powers, probabilities): what is subtracted, or None, and three rows."""
    logits = (np.array(LOGITS) * multiply + add).astype(np.float32)
    largest = float(logits.max()) if shift == "max" else None
    x = Tensor(logits - logits.max() if shift == "max" else logits)
    with np.errstate(over="ignore", invalid="ignore"):
        powers = x.exp()
        shares = softmax(x) if shift == "max" else powers / powers.sum()
    return largest, *(row.data.tolist() for row in (x, powers, shares))


def written(value):
    """A number of at most six characters, or so: exp(8) is 2981."""
    return f"{value:.0f}" if 1000 <= value < 1e6 else number(value)


def listed(row):
    return ", ".join(map(written, row))


def told(largest, logits, powers, shares):
    """What happens, in words."""
    shown = f"Logits {listed(logits)}"
    if largest is not None:
        shown += f", after subtracting {number(largest)}"
    with np.errstate(over="ignore"):
        total = float(np.sum(powers, dtype=np.float32))
    shown += f": exp gives {listed(powers)}; divided by their sum, {written(total)}: "
    shown += f"{listed(shares)}."
    if np.isinf(total):
        shown += " In float32, exp is inf above 88.72, and inf / inf is nan."
    return shown


def panels(largest, logits, powers, shares):
    del largest
    rows = {"logit": logits, "power": powers, "share": shares}
    titles = {"logit": "logits", "power": "exp(logit)", "share": "probabilities"}
    return [bars(kind, titles[kind], rows[kind]) for kind in rows]


def bars(kind, title, values):
    panel = Panel(f"The {title} of three classes", listed(values), 358, TOP + 3 * ROW + 4)
    panel.text(2, 16, title, anchor="start", bold=True)
    panel.key(f"title {kind}")
    start = ZERO if kind == "logit" else LEFT
    for n, value in enumerate(values):
        y = TOP + n * ROW
        panel.text(2, y + 17, f"class {n}", "muted", "start")
        x, width = extent(kind, value, values)
        panel.cell(x, y, width=width, height=ROW - 4)
        panel.key(f"{kind} {n}")
        panel.text(290, y + 17, written(value), anchor="start")
        panel.key(f"{kind} {n} text")
    panel.line((start, TOP - 3), (start, TOP + 3 * ROW - 1), kind="text")
    return panel


def extent(kind, value, values):
    """(x, width) of a bar. A bar that is not finite is full."""
    if kind == "logit":
        width = abs(value) * UPWARD / max(LEAST, *map(abs, values))
        return ZERO - width * (value < 0), width
    if not np.isfinite(value):
        return LEFT, ROOM
    return LEFT, ROOM * value / (max(values) if kind == "power" else 1)
