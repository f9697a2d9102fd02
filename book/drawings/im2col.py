"""im2col, read both ways: a window is a column of the table, the pixels that one weight sees are a
row; backward, what the copies of a pixel get is added up. Lesson 10, whose functions fill the
table.
"""

import numpy as np
from figure import Figure, Panel, choice, hint, number

from tinytorch.core.convolutions import col2im, im2col, im2col_forward, output_size

SIDE, KERNEL = 4, np.eye(3, dtype=int)
CELL, TOP, LEFT, ROW = 34, 24, 46, 30  # pixels


def figures():
    states = {
        (stride, padding): numbers(stride, padding) for stride in (1, 2) for padding in (0, 1)
    }
    first = states[1, 0]
    columns = np.array(first["columns"])
    steps = [
        first["formula"],
        f"Column 0 holds the window at the upper left, pixels {listed(columns[:, 0])}. The product "
        f"with the kernel is the output {number(first['outputs'][0])}.",
        f"Row 0 holds the pixels that weight (0, 0) multiplies in all windows: "
        f"{listed(columns[0])}. They are a slice, and need no loop over windows.",
        "Backward, every copy gets a gradient. If each of them is 1, the pixels get the sums: "
        + ", ".join(" ".join(map(number, row)) for row in first["counts"])
        + ".",
    ]
    controls = (
        hint("Choose an output for its window, a weight for its row, a pixel for its copies.")
        + choice("stride", "im2col-stride", {"1": "1", "2": "2"}, "1")
        + choice("padding", "im2col-padding", {"0": "0", "1": "1"}, "0")
        + choice(
            "direction",
            "im2col-direction",
            {"forward": "forward: pixels are copied", "backward": "backward: gradients are added"},
            "forward",
        )
    )
    return [
        Figure(
            "im2col",
            "im2col, read by column and by row",
            "A column of the table is a window, a row the pixels of one weight; backward, a pixel "
            "gets the sum over its copies.",
            panels(first),
            steps,
            controls,
            {f"{stride} {padding}": one for (stride, padding), one in states.items()},
            {f"{stride} {padding}": panels(one) for (stride, padding), one in states.items()},
            lesson="convolutions",
            section="The gradient of the input: col2im",
            after="the gradient of a pixel is the sum of the gradients",
        )
    ]


def listed(pixels):
    return " ".join(map(str, pixels))


def numbers(stride, padding):
    """What the lesson's functions make of the picture: for JSON.

    columns  (9, windows) the pixel that stands in each place; -1 for a zero of the padding
    outputs  the product of each column with the kernel
    counts   (4, 4): the gradient of each pixel when each place of the table has 1
    """
    pair, padded = (stride, stride), (padding, padding)
    pixels = np.arange(SIDE * SIDE).reshape(1, 1, SIDE, SIDE)
    columns = im2col(pixels + 1, KERNEL.shape, pair, padded)[0] - 1
    kernel = KERNEL.reshape(1, 1, 3, 3)
    outputs = im2col_forward(pixels, kernel, np.zeros(1, int), pair, padded)
    ones = np.ones((1, *columns.shape))
    counts = col2im(ones, pixels.shape, KERNEL.shape, pair, padded)[0, 0]
    size = output_size(SIDE, 3, stride, padding)
    formula = (
        f"Positions down and across: ({SIDE} + 2 * {padding} - 3) // {stride} + 1 = {size}. "
        f"{size * size} window{'s' * (size > 1)} of 9 pixels: {columns.size} numbers from "
        f"{pixels.size}."
    )
    return {
        "stride": stride,
        "padding": padding,
        "size": size,
        "formula": formula,
        "columns": columns.tolist(),
        "outputs": outputs.ravel().tolist(),
        "counts": counts.tolist(),
    }


def panels(state):
    """The picture, the kernel, the output and the table; the first window is chosen."""
    padding, size = state["padding"], state["size"]
    across = SIDE + 2 * padding
    picture = titled("picture", "pixels 0 to 15", across, across)
    if padding:
        picture.cell(2, TOP, "", "muted", across * CELL, across * CELL, dashed=True)
    corner = 2 + padding * CELL, TOP + padding * CELL
    picture.grid(*corner, np.arange(SIDE * SIDE).reshape(SIDE, SIDE), "pixel", "value", CELL, CELL)
    picture.parts.append(
        f'<rect class="frame" data-key="window" x="2" y="{TOP}" width="{3 * CELL}" '
        f'height="{3 * CELL}" rx="3"/>'
    )
    kernel = titled("kernel", "the weights: 1 on the diagonal, 0 elsewhere", 3, 3)
    for (i, j), weight in np.ndenumerate(KERNEL):
        place = 2 + j * CELL, TOP + i * CELL
        kernel.cell(*place, "", "value" if weight else "muted", CELL, CELL)
        kernel.key(f"weight {i} {j}")
        if weight:
            kernel.text(place[0] + CELL / 2, place[1] + CELL / 2 + 4.5, weight)
    output = titled("output", listed(map(number, state["outputs"])), size, size)
    rows = np.reshape(state["outputs"], (size, size))
    output.grid(2, TOP, rows, "output", "value", CELL, CELL)
    return [picture, kernel, output, table(state)]


def titled(title, description, columns, rows):
    panel = Panel(title, description, columns * CELL + 4, rows * CELL + TOP + 2, touched=True)
    panel.text(2, 16, title, anchor="start", bold=True)
    return panel


def table(state):
    columns = np.array(state["columns"])
    windows = columns.shape[1]
    wide = CELL if windows <= 4 else 19
    panel = Panel(
        "columns",
        "; ".join(f"row {k}: {listed(row)}" for k, row in enumerate(columns)),
        max(LEFT + windows * wide + 2, 140),
        TOP + 20 + 9 * ROW + 2,
    )
    panel.text(2, 16, f"columns {columns.shape}", anchor="start", bold=True)
    top = TOP + 20
    for key, width, high in [("row", windows * wide, ROW), ("column", wide, 9 * ROW)]:
        panel.parts.append(
            f'<rect class="band" data-key="{key}" x="{LEFT}" y="{top}" width="{width}" '
            f'height="{high}"/>'
        )
    panel.parts.append(
        f'<rect class="outline" x="{LEFT}" y="{top}" width="{windows * wide}" height="{9 * ROW}"/>'
    )
    for n in range(0, windows, 1 if windows <= 4 else 4):
        panel.text(LEFT + (n + 0.5) * wide, TOP + 13, n, "muted")
    for k in range(9):
        panel.text(LEFT - 6, top + k * ROW + 20, f"{k // 3}, {k % 3}", "muted", "end")
        for n in range(windows):
            if columns[k, n] >= 0:
                panel.text(LEFT + (n + 0.5) * wide, top + k * ROW + 20, columns[k, n])
                panel.key(f"copy {k} {n}")
    return panel
