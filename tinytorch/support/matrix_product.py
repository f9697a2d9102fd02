"""A drawing of a matrix product: one element of the result, and the row and column it comes
from."""

import numpy as np

from tinytorch.support.drawing import WIDTH, Drawing, short

__all__ = ["draw_matmul"]

CELL, ROW = 40, 34  # pixels


def draw_matmul(a, b, i, j):
    """The product of two matrices, `b` above the result and `a` to its left.

    a        ndarray or lists of shape (m, k)
    b        ndarray or lists of shape (k, n)
    i, j     the element of the result whose row of `a` and column of `b` are marked
    returns  a Drawing

    >>> draw_matmul([[1, 2]], [[3], [4]], 0, 0).description
    'element [0, 0] is 1·3 + 2·4 = 11'
    """
    a, b = np.asarray(a), np.asarray(b)
    product = a @ b
    (m, k), n = a.shape, b.shape[1]
    terms = " + ".join(f"{short(p)}·{short(q)}" for p, q in zip(a[i], b[:, j]))
    drawing = Drawing(
        f"a matrix product of shapes {a.shape} and {b.shape}",
        f"element [{i}, {j}] is {terms} = {short(product[i, j])}",
        height=32 + (k + m) * ROW + 70,
    )
    gap = 14
    left = (WIDTH - (k + n) * CELL - gap) / 2
    right, top = left + k * CELL + gap, 32
    below = top + k * ROW + gap

    def mark(chosen):
        return lambda row, column: "value" if chosen(row, column) else "muted"

    drawing.text(right + n * CELL / 2, top - 10, f"b: {b.shape}")
    drawing.cells(right, top, b, mark(lambda row, column: column == j), CELL, ROW)
    drawing.text(left + k * CELL / 2, below - 10, f"a: {a.shape}")
    drawing.cells(left, below, a, mark(lambda row, column: row == i), CELL, ROW)
    drawing.cells(right, below, product, mark(lambda *place: place == (i, j)), CELL, ROW)
    drawing.text(right + n * CELL / 2, below + m * ROW + 18, f"a @ b: {product.shape}")
    drawing.text(WIDTH / 2, below + m * ROW + 42, drawing.description, bold=True)
    return drawing
