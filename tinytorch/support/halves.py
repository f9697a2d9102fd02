"""The gradient of 2x2 max pooling with stride 2, which most networks use, by halves.

The maximum of a window is that of two maxima, of its upper and of its lower row. So the gradient
goes back in two steps, and each of them chooses between two numbers: a comparison and two
multiplications of whole arrays, instead of a search through four positions.
"""

import numpy as np

__all__ = ["by_halves", "halves_gradient"]


def by_halves(rule):
    """A rule of max pooling that calls `halves_gradient` where it can, and else `rule`."""

    def chosen(g, out, x, kernel_size, stride, padding):
        fits = kernel_size == stride == (2, 2) and padding == (0, 0)
        method = halves_gradient if fits else rule
        return method(g, out, x, kernel_size, stride, padding)

    return chosen


def halves_gradient(g, out, x, kernel_size=(2, 2), stride=(2, 2), padding=(0, 0)):
    """The gradient of max pooling with windows of 2 by 2, stride 2 and no padding.

    g        ndarray: the upstream gradient, of the shape of `out`
    out      the output of the pooling
    x        ndarray of shape (batch, channels, height, width); a last row or column that is in no
             window gets 0
    returns  ndarray of the shape and dtype of `x`; of equal numbers in a window, the first one, row
             by row, gets the gradient

    >>> x = np.array([[[[1.0, 5.0, 2.0], [5.0, 0.0, 3.0]]]])
    >>> halves_gradient(np.array([[[[10.0]]]]), np.array([[[[5.0]]]]), x)
    array([[[[ 0., 10.,  0.],
             [ 0.,  0.,  0.]]]])

    Source: the chain rule, for max(max(a, b), max(c, d)).
    """
    height, width = 2 * out.shape[2], 2 * out.shape[3]
    whole = x.shape[2:] == (height, width)
    gradient = np.empty_like(x) if whole else np.zeros_like(x)
    inside = x[:, :, :height, :width]
    left, right = inside[..., ::2], inside[..., 1::2]
    rows = np.maximum(left, right)  # the maximum of each row of a window
    of_rows = np.empty_like(rows)
    choose(g, rows[:, :, ::2], out, of_rows[:, :, ::2], of_rows[:, :, 1::2])
    inside = gradient[:, :, :height, :width]
    choose(of_rows, left, rows, inside[..., ::2], inside[..., 1::2])
    return gradient


def choose(g, first, largest, to_first, to_second):
    """Write `g` into `to_first` where `first` is the largest, else into `to_second`."""
    won = first == largest
    np.multiply(g, won, out=to_first)
    np.multiply(g, ~won, out=to_second)
