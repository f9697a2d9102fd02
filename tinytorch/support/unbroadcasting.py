"""The drawing of the gradient of a broadcast bias: forward its numbers are copied, backward the
gradients of the copies are summed."""

import numpy as np

from tinytorch.support.drawing import WIDTH, Drawing, short

CELL, HIGH, LEFT = 44, 30, 150  # pixels: a cell, and where the table begins


def draw_bias_gradient(bias, g):
    """The gradient of a bias that was added to each row of a batch.

    bias     array of shape (features,)
    g        array of shape (batch, features): the gradient of the sum, batch + bias
    returns  a Drawing
    """
    bias, g = np.asarray(bias), np.asarray(g)
    rows, features = g.shape
    total = g.sum(axis=0)
    drawing = Drawing(
        "The gradient of a broadcast bias",
        f"Forward, {rows} copies of the bias {bias.tolist()} are added, one to each row. Backward, "
        f"the gradients of the copies, {g.tolist()}, are summed to {total.tolist()}.",
        WIDTH,
        2 * (rows + 2) * HIGH + 110,
    )
    y = 30
    drawing.text(8, 18, f"forward: each row uses the same {features} numbers", anchor="start")
    heading(drawing, y, "bias", bias.shape)
    drawing.cells(LEFT, y, [bias], "value", CELL, HIGH)
    y += HIGH
    arrows(drawing, y, y + 22, "value", features)
    y += 26
    heading(drawing, y, "broadcast", g.shape)
    drawing.cells(LEFT, y, [bias] * rows, "value", CELL, HIGH, dashed=True)
    y += rows * HIGH + 44
    drawing.text(8, y - 12, "backward: the copies' gradients are summed", anchor="start")
    heading(drawing, y, "g", g.shape)
    drawing.cells(LEFT, y, g, "gradient", CELL, HIGH)
    y += rows * HIGH
    arrows(drawing, y, y + 22, "gradient", features)
    y += 26
    heading(drawing, y, "bias.grad", bias.shape)
    drawing.cells(LEFT, y, [total], "gradient", CELL, HIGH)
    column = " + ".join(short(number) for number in g[:, 0])
    drawing.text(LEFT + 4, y + HIGH + 18, f"{column} = {short(total[0])}", "gradient", "start")
    return drawing


def heading(drawing, y, name, shape):
    """The name of a table and its shape, at the left of its first row."""
    drawing.text(8, y + HIGH / 2 + 4.5, f"{name} {tuple(shape)}", anchor="start")


def arrows(drawing, top, bottom, kind, count):
    """An arrow downward in each of the columns."""
    for n in range(count):
        x = LEFT + (n + 0.5) * CELL
        drawing.arrow((x, top + 2), (x, bottom), kind)
