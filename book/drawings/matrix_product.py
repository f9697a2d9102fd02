"""A matrix product, one element at a time; lesson 02, whose Tensor computes it."""

import numpy as np
from figure import Figure, Panel, hint, number, slider

from tinytorch.core.tensor import Tensor

A, B = [[1, 2, 3], [4, 5, 6]], [[1, 0], [0, 1], [2, -1]]  # the lesson's
CELL, ROW, TOP, GAP, SIZE = 44, 36, 24, 22, 96  # pixels; a length


def figures():
    c = (Tensor(A) @ Tensor(B)).data
    steps = [told(i, j, value) for (i, j), value in np.ndenumerate(c)]
    return [
        Figure(
            "matrix_product",
            "A matrix product, one element at a time",
            "Each element of the product needs one row of a and one column of b; to multiply all "
            "pairs first, by broadcasting, takes an array of i * k * j numbers.",
            [panel(c)],
            [*steps, price(SIZE)],
            hint("Choose an element of c.")
            + slider("larger matrices, rows and columns:", "size", 2, SIZE, 1, SIZE),
            {"a": A, "b": B},
            lesson="tensor",
            section="Matrix products",
            replaces="draw_matmul([[1, 2, 3], [4, 5, 6]], [[1, 0], [0, 1], [2, -1]], 0, 0)",
        )
    ]


def told(i, j, value):
    products = " + ".join(f"{a} * {row[j]}" for a, row in zip(A[i], B))
    return f"c[{i}, {j}] is row {i} of a times column {j} of b: {products} = {number(value)}."


def price(size):
    """What the array of products costs, for two square matrices of float32."""
    return (
        f"For matrices of {size} by {size}, the array of products has {size**3:,} numbers, "
        f"{4 * size**3:,} bytes; the result has {size * size:,} numbers."
    )


def panel(c):
    left, below = 2 + len(B) * CELL + GAP, TOP + len(B) * ROW + GAP
    drawing = Panel(
        "a at the left, b above, their product c in the corner",
        f"a is {A}, b is {B}, c is {c.tolist()}; {told(0, 0, c[0, 0])}",
        left + 2 * CELL + 70,
        below + 2 * ROW + 32,
        touched=True,
    )
    drawing.text(2, below - 8, f"a {np.shape(A)}", anchor="start", bold=True)
    drawing.text(left, 16, f"b {np.shape(B)}", anchor="start", bold=True)
    drawing.text(left + 2 * CELL + 8, below + 22, f"c {c.shape}", anchor="start", bold=True)
    for key, rows, x, y in [("a", A, 2, below), ("b", B, left, TOP), ("c", c, left, below)]:
        drawing.grid(x, y, rows, key, "value", CELL, ROW)
    drawing.text(2, below + 2 * ROW + 22, told(0, 0, c[0, 0]).split(": ")[1][:-1], anchor="start")
    drawing.key("sum")
    drawing.mark([f"a 0 {k}" for k in range(3)] + [f"b {k} 0" for k in range(3)] + ["c 0 0"])
    return drawing
