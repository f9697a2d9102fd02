"""A drawing of broadcasting: two shapes aligned at their right ends, and the elements that are
repeated."""

import numpy as np

from tinytorch.support.drawing import WIDTH, Drawing

__all__ = ["draw_broadcasting"]

CELL, ROW = 44, 32  # pixels


def draw_broadcasting(a, b, operator="+", wrong=()):
    """Two operands, their shapes, and the result that broadcasting makes of them.

    a, b      ndarrays or nested lists of rank 0, 1 or 2
    operator  "+", "-" or "*"
    wrong     pairs (i, j): elements of the result that nobody wanted
    returns   a Drawing; when the shapes do not broadcast, of the shapes alone

    >>> draw_broadcasting(np.ones((2, 3)), np.ones(2)).description
    'the shapes (2, 3) and (2,) do not broadcast'
    """
    a, b = np.asarray(a), np.asarray(b)
    rank = max(a.ndim, b.ndim)
    padded = [(1,) * (rank - x.ndim) + x.shape for x in (a, b)]
    fits = [m == n or 1 in (m, n) for m, n in zip(*padded)]
    if all(fits):
        result = {"+": np.add, "-": np.subtract, "*": np.multiply}[operator](a, b)
        description = f"shapes {a.shape} and {b.shape} broadcast to {result.shape}"
        rows = 1 if rank < 2 else result.shape[-2]
        height = 3 * ROW + 2 * rows * ROW + 96
    else:
        description = f"the shapes {a.shape} and {b.shape} do not broadcast"
        height = 2 * ROW + 66
    drawing = Drawing(f"{a.shape} {operator} {b.shape}", description, height=height)
    right, y = 250, 12
    for x, shape in zip((a, b), padded):
        drawing.text(right - rank * CELL - 12, y + 21, x.shape, anchor="end")
        for axis, n in enumerate(shape):
            kind = "value" if fits[axis] else "wrong"
            left = right - (rank - axis) * CELL
            drawing.cell(left, y, n, kind, CELL, ROW, dashed=axis < rank - x.ndim)
        y += ROW + 4
    if not all(fits):
        drawing.text(WIDTH / 2, y + 30, "the lengths differ, and neither is 1: ValueError", "wrong")
        return drawing
    drawing.text(right - rank * CELL - 12, y + 29, f"result {result.shape}", anchor="end")
    drawing.line((right - rank * CELL, y + 2), (right, y + 2), kind="text")
    for axis, n in enumerate(result.shape):
        drawing.cell(right - (rank - axis) * CELL, y + 8, n, "value", CELL, ROW)

    y += ROW + 36
    wide = np.broadcast_to(result, (rows, result.shape[-1])) if rank < 2 else result
    columns = wide.shape[1]
    gap = 34
    x = (WIDTH - 2 * columns * CELL - gap) / 2
    for part, shape in zip((a, b), padded):
        rows_kept, columns_kept = (1, *shape)[-2:]
        drawing.cells(
            x,
            y,
            np.broadcast_to(part, wide.shape),
            lambda i, j, m=rows_kept, n=columns_kept: "value" if i < m and j < n else "muted",
            CELL,
            ROW,
            lambda i, j, m=rows_kept, n=columns_kept: i >= m or j >= n,
        )
        x += columns * CELL + gap
    sign = {"-": "−"}.get(operator, operator)  # a minus sign is as wide as a plus
    drawing.text(WIDTH / 2, y + rows * ROW / 2 + 5, sign, bold=True)
    y += rows * ROW + 24
    left = (WIDTH - columns * CELL) / 2
    drawing.text(left - 16, y + rows * ROW / 2 + 5, "=", bold=True)
    drawing.cells(left, y, wide, lambda i, j: "wrong" if (i, j) in wrong else "value", CELL, ROW)
    return drawing
