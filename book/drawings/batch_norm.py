"""Which numbers share a mean: batch norm and layer norm, in training and in evaluation; lesson 11,
whose `normalized` and `batch_norm` compute the numbers.
"""

import math

import numpy as np
from figure import Figure, Panel, button, choice, hint, number, together

from tinytorch.core.normalization import batch_norm, normalized
from tinytorch.core.tensor import Tensor

SHAPES = {"table": (3, 4), "images": (3, 2, 2, 2)}
BATCHES = {
    "table": np.array([[1.0, 5, 2, 8], [3, 5, 6, 2], [8, 2, 1, 5]]),  # the lesson's
    "images": np.random.default_rng(3).integers(0, 10, SHAPES["images"]).astype(float),
}
METHODS = {"batch": "batch norm", "layer": "layer norm"}
EPS, SEEN = 1e-5, 50  # SEEN batches before, of whole numbers from 0 to 9
WIDE, HIGH, GAP, TOP, RIGHT = 38, 34, 8, 48, 194  # pixels; `RIGHT`: of the second table


def figures():
    counter = (
        f'<span class="counter">{button("−", "less", aria_label="chosen number minus 1")}'
        '<span data-value="chosen">x[0, 0] = 1</span>'
        f"{button('+', 'more', aria_label='chosen number plus 1')}</span>"
    )
    touch = hint("Choose a number of x, and change it.") + together(counter)

    def choices(name, training):
        over = {
            key: f"{text}, over axis {axis}" for axis, (key, text) in enumerate(METHODS.items())
        }
        method = choice("normalization", f"{name}-method", METHODS if training else over, "batch")
        if not training:
            return method + touch
        shapes = {"table": "(B, C)", "images": "(B, C, H, W)"}
        modes = {"training": "training", "evaluation": "evaluation"}
        return (
            method
            + choice("shape of x", f"{name}-shape", shapes, "table")
            + choice("mode", f"{name}-mode", modes, "training")
            + touch
        )

    def state(shapes, column="channel"):
        return {
            shape: {
                "lengths": SHAPES[shape],
                "column": column,
                "x": BATCHES[shape].ravel().tolist(),
                "running": dict(zip(("mean", "var"), map(np.ndarray.tolist, running(shape)))),
            }
            for shape in shapes
        }

    return [
        Figure(
            "normalization_axes",
            "The numbers that share a mean",
            "Over axis 0 a number is compared with the other examples; over axis 1 with the other "
            "numbers of its example.",
            [panel("table", 0, "batch", "training", "feature")],
            [
                told("table", BATCHES["table"], 0, method, "training", "feature")
                for method in METHODS
            ],
            choices("normalization_axes", False),
            state(["table"], "feature"),
            lesson="normalization",
            section="Normalization",
            replaces="draw_axes([[1",
        ),
        Figure(
            "batch_norm",
            "Batch norm and layer norm, in training and in evaluation",
            "Only batch norm in training makes the result of an example depend on the other "
            "examples of the batch.",
            [panel("table", 0, "batch", "training")],
            [
                told(shape, BATCHES[shape], 0, *setting)
                for shape in SHAPES
                for setting in [
                    ("batch", "training"),
                    ("batch", "evaluation"),
                    ("layer", "training"),
                ]
            ],
            choices("batch_norm", True),
            state(SHAPES),
            {shape: [panel(shape, 0, "batch", "training")] for shape in SHAPES},
            lesson="normalization",
            section="Training mode and evaluation mode",
            after="In training the outputs differ.",
        ),
    ]


def running(shape):
    """The running mean and variance after SEEN batches in training, rounded."""
    rng, (_, channels, *_) = np.random.default_rng(0), SHAPES[shape]
    mean, var = np.zeros(channels), np.ones(channels)
    for _ in range(SEEN):
        batch_norm(Tensor(rng.integers(0, 10, SHAPES[shape]) * 1.0), mean, var, training=True)
    return mean.round(2), var.round(2)


def group(shape, at, method, mode):
    """The places (flat indices) of the numbers whose mean and variance normalize that `at`; only
    itself where the running statistics do."""
    if (method, mode) == ("batch", "evaluation"):
        return [at]
    axis = 1 if method == "batch" else 0
    same = np.indices(SHAPES[shape])[axis].ravel()
    return np.flatnonzero(same == same[at]).tolist()


def computed(shape, x, method, mode):
    """x, normalized by the lesson's functions."""
    if method == "layer":
        return normalized(Tensor(x), tuple(range(1, x.ndim)), EPS).data
    return batch_norm(Tensor(x), *running(shape), training=mode == "training", eps=EPS).data


def told(shape, x, at, method, mode, column="channel"):
    index = np.unravel_index(at, x.shape)
    name = f"x[{', '.join(map(str, index))}]"
    value, result = x.ravel()[at], computed(shape, x, method, mode).ravel()[at]
    own = group(shape, at, method, mode)
    if len(own) == 1:
        mean, var = (one[index[1]] for one in running(shape))
        text = f"{name} is normalized with the running statistics of channel {index[1]}"
    else:
        mean, var = x.ravel()[own].mean(), x.ravel()[own].var()
        of = f"{column} {index[1]}" if method == "batch" else f"example {index[0]}"
        text = f"{name} is normalized with the {len(own)} numbers of {of}"
    std = math.sqrt(var + EPS)
    if not math.isclose((value - mean) / std, result, abs_tol=1e-9):
        raise ValueError(
            f"{text}: {(value - mean) / std}, and the lesson's function gives {result}"
        )
    text += f": mean {number(mean)}, standard deviation {number(std)}. Normalized: "
    text += f"({number(value)} - {number(mean)}) / {number(std)} = {number(result)}."
    if method == "layer" and mode == "evaluation":
        text += " Layer norm is the same in both modes."
    return text


def corner(shape, at):
    """The (x, y) of the cell in its table."""
    n, c, *pixel = map(int, np.unravel_index(at, SHAPES[shape]))
    if not pixel:
        return c * WIDE, n * HIGH
    h, w = pixel
    return c * (2 * WIDE + GAP) + w * WIDE, n * (2 * HIGH + GAP) + h * HIGH


def panel(shape, chosen, method, mode, column="channel"):
    """x and x normalized, with the numbers in blue that share a mean with the chosen one."""
    x = BATCHES[shape]
    own, y = group(shape, chosen, method, mode), computed(shape, x, method, mode).ravel()
    rows = SHAPES[shape][0] * (2 * HIGH + GAP if shape == "images" else HIGH)
    title = f"A batch of shape {SHAPES[shape]}, and the same, normalized"
    table = Panel(
        title, told(shape, x, chosen, method, mode, column), 358, TOP + rows + 4, touched=True
    )
    rows_of = "rows of 2 x 2 pixels" if shape == "images" else "rows"
    table.text(2, 16, f"{rows_of}: examples; columns: {column}s", "muted", "start")
    table.text(2, 40, "x", anchor="start", bold=True)
    table.text(RIGHT, 40, "normalized", anchor="start", bold=True)
    for at, value in enumerate(x.ravel()):
        left, top = corner(shape, at)
        kind = "value" if at in own else "muted"
        for key, start, text in [("x", 2, number(value)), ("y", RIGHT, f"{y[at]:.2f}")]:
            table.cell(start + left, TOP + top, text, kind, WIDE, HIGH, key=f"{key} {at}")
    table.mark([f"x {chosen}", f"y {chosen}"])
    return table
