"""What lesson 11 draws: normalized batches, projected gradients, and a residual block."""

import numpy as np

from tinytorch.support.svg import WIDTH, Drawing, short

# What the chapter's last experiment gives, with the reference solution: losses, means of 5 steps.
STEPS = list(range(3, 101, 5))
LOSSES = {
    "20 layers": [2.3] * 18 + [2.29] * 2,
    "batch norm": [2.73, 2.23, 1.87, 1.75, 1.6, 1.31, 1.14, 1.06, 0.94, 0.91]
    + [0.83, 0.94, 0.67, 0.82, 0.64, 0.71, 0.54, 0.57, 0.53, 0.53],
    "residual": [2.05, 0.95, 0.49, 0.39, 0.25, 0.16, 0.25, 0.15, 0.13, 0.09]
    + [0.1, 0.1, 0.06, 0.05, 0.05, 0.06, 0.04, 0.04, 0.03, 0.02],
}


def draw_axes(x, axes, chosen=0):
    """A batch before and after normalization over one axis, twice: for each of `axes` one row of
    two tables, with one group of numbers that share a mean marked in each.

    x        list of lists, one example a row
    axes     list of axes, 0 or 1
    chosen   which column (axis 0) or row (axis 1) is marked
    returns  a Drawing

    >>> draw_axes([[1, 3], [5, 3]], [1]).description
    'over axis 1: [1, 3] has mean 2 and standard deviation 1, and becomes [-1, 1]'
    """
    x, cell = np.asarray(x, float), (38, 32)
    rows, columns = x.shape
    high, texts = rows * cell[1] + 84, []
    drawing = Drawing("A batch normalized over one axis", height=high * len(axes))
    right = WIDTH - 8 - columns * cell[0]
    for number, axis in enumerate(axes):
        y = number * high + 36
        mean, std = x.mean(axis, keepdims=True), x.std(axis, keepdims=True)
        after = (x - mean) / np.where(std == 0, 1, std)

        def kind(i, j, axis=axis):
            return "value" if (j, i)[axis] == chosen else "muted"

        drawing.text(
            8, y - 12, f"axis {axis}: {('a column', 'a row')[axis]}", "text", "start", True
        )
        drawing.text(right, y - 12, "normalized", anchor="start", bold=True)
        drawing.cells(8, y, x, kind, *cell)
        drawing.cells(right, y, after.round(1), kind, *cell)
        middle = y + rows * cell[1] / 2
        drawing.arrow((8 + columns * cell[0] + 5, middle), (right - 5, middle))
        m, s = (short(float(np.take(part.ravel(), chosen).round(2))) for part in (mean, std))
        drawing.text(8, y + rows * cell[1] + 22, f"marked: mean {m}, std {s}", "value", "start")
        drawing.text(right, y + rows * cell[1] + 22, "mean 0, std 1", "value", "start")
        before, then = (np.take(part, chosen, 1 - axis).tolist() for part in (x, after.round(1)))
        texts.append(
            f"over axis {axis}: [{', '.join(map(short, before))}] has mean {m} and standard "
            f"deviation {s}, and becomes [{', '.join(map(short, then))}]"
        )
    drawing.description = "; ".join(texts)
    return drawing


def draw_projection(x, g):
    """The gradient of layer norm for three numbers, seen along the direction (1, 1, 1).

    x        three numbers; the normalized x̂ lies on a circle
    g        the upstream gradient, three numbers
    returns  a Drawing: x̂, g as far as it lies in the plane of the circle, and the rest of g
             without its part along x̂: the tangent
    """
    x, g = np.asarray(x, float), np.asarray(g, float)
    across, up = np.array([1, -1, 0]) / 2**0.5, np.array([-1, -1, 2]) / 6**0.5
    point = np.array([x @ across, x @ up])
    point /= np.sqrt(point @ point)  # on a circle of radius 1 in the picture
    arrow = np.array([g @ across, g @ up])
    tangent = arrow - (arrow @ point) * point
    drawing = Drawing(
        "The gradient of layer normalization",
        "Without its mean, the upstream gradient lies in the plane of the circle of all x̂; "
        "without its part along x̂ it is tangent to the circle",
        height=276,
    )
    middle, radius = np.array([WIDTH / 2 - 60, 152]), 84

    def place(vector):
        return tuple((middle + radius * vector * [1, -1]).round(1).tolist())

    turns = np.linspace(0, 2 * np.pi, 90)
    drawing.line(*[place(np.array([np.cos(t), np.sin(t)])) for t in turns])
    drawing.line(place(np.zeros(2)), place(point), kind="value")
    drawing.dot(*place(np.zeros(2)), "muted", 3)
    scale = 1.3 / np.sqrt(arrow @ arrow)
    drawing.arrow(place(point), place(point + scale * arrow), "muted")
    drawing.line(place(point + scale * arrow), place(point + scale * tangent), dashed=True)
    drawing.arrow(place(point), place(point + scale * tangent), "gradient")
    drawing.dot(*place(point), "value", 5)

    for at, text, kind, (dx, dy), anchor in [
        (point, "x̂", "value", (-10, -4), "end"),
        (point + scale * arrow, "h without its mean", "muted", (22, 5), "start"),
        (point + scale * tangent, "gradient of x", "gradient", (8, -4), "start"),
    ]:
        px, py = place(at)
        drawing.text(px + dx, py + dy, text, kind, anchor, True)
    drawing.text(8, 22, "the circle: all x̂ of three numbers", anchor="start")
    drawing.text(8, 264, "seen along the direction (1, 1, 1)", "muted", "start")
    return drawing


def draw_residual(norm="LayerNorm"):
    """A residual block: the input goes around its layers, and is added to their output."""
    drawing = Drawing(
        "A residual block",
        f"x goes through {norm}, Dense and ReLU, and also around them; both are added",
        height=196,
    )
    x, wide, high = 60, 104, 34
    drawing.text(x + wide / 2, 22, "x")
    drawing.arrow((x + wide / 2, 28), (x + wide / 2, 42))
    for number, name in enumerate([norm, "Dense, ReLU"]):
        y = 44 + number * 52
        drawing.cell(x, y, name, "muted", wide, high)
        drawing.arrow((x + wide / 2, y + high), (x + wide / 2, y + high + 16))
    drawing.cell(x + wide / 2 - 14, 148, "+", "value", 28, 28)
    drawing.line((x + wide / 2, 34), (270, 34), (270, 162), kind="value", width=2.5)
    drawing.arrow((270, 162), (x + wide / 2 + 16, 162), "value")
    drawing.text(262, 92, "unchanged", "value", "end", True)
    drawing.arrow((x + wide / 2, 176), (x + wide / 2, 192))
    return drawing
