"""A fully connected layer as shapes: which numbers one output is computed from."""

import numpy as np

from tinytorch.support.drawing import Drawing, short

__all__ = ["draw_fully_connected"]


def draw_fully_connected(x, weights, bias, example=0, output=0):
    """x @ weights + bias as cells, with all that one output depends on in colour.

    x        array or Tensor of shape (examples, in): its rows stand beside those of the result
    weights  of shape (in, out): its columns stand above those of the result
    bias     of shape (out,): one number below each column
    example, output   the row and the column of the output in colour
    returns  a Drawing
    """
    x, weights, bias = np.asarray(x), np.asarray(weights), np.asarray(bias)
    result = x @ weights + bias
    examples, ins = x.shape
    wide, high = 42, 32
    left, top = ins * wide + 56, ins * high + 62  # where the result begins
    products = " + ".join(
        f"{in_brackets(a)}·{in_brackets(b)}" for a, b in zip(x[example], weights[:, output])
    )
    total = f"{products} + {in_brackets(bias[output])} = {short(result[example, output])}"
    drawing = Drawing(
        "A fully connected layer: y = x W + b",
        f"Output {output} of example {example} is computed from row {example} of x, column "
        f"{output} of W and one element of b: {total}",
        height=top + (examples + 1) * high + 96,
    )

    def label(x, y, text, shape):
        drawing.text(x, y, f"{text} {shape}", anchor="start", bold=True)

    label(left, 22, "W", weights.shape)
    drawing.cells(left, 30, weights, lambda i, j: of_one(j == output), wide, high)
    label(8, top - 8, "x", x.shape)
    drawing.cells(8, top, x, lambda i, j: of_one(i == example), wide, high)
    label(left, top - 8, "y", result.shape)
    drawing.cells(left, top, result, lambda i, j: of_one((i, j) == (example, output)), wide, high)
    below = top + examples * high
    label(left, below + 24, "b", bias.shape)
    drawing.text(left - 10, below + 54, "added to", anchor="end")
    drawing.text(left - 10, below + 70, "each row", anchor="end")
    drawing.cells(left, below + 32, [bias], lambda i, j: of_one(j == output), wide, high)
    drawing.text(8, drawing.height - 10, f"y[{example}, {output}] = {total}", anchor="start")
    return drawing


def of_one(used):
    """The colour of a cell that the output in colour depends on, or does not."""
    return "value" if used else "muted"


def in_brackets(number):
    """A number as it stands in a sum: negative ones in brackets."""
    return short(number) if number >= 0 else f"({short(number)})"
