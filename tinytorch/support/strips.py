"""The convolution by strips: for many channels faster than by columns, and the same numbers.

im2col copies each pixel once for each place of the kernel, in runs as long as a row of the result.
With many channels and small images these runs are short. Here channels come last in memory, and
what `across` neighbours of one row hold in all their channels is one run: a strip. A window is one
strip from each of the rows below each other, and rows need no copy: kernel row i sees the slice of
strips that starts at row i, and the result is a sum of one matrix product for each kernel row.

Everywhere here:

x        ndarray of shape (batch, channels, height, width)
weights  ndarray of shape (out channels, channels, kernel height, kernel width)
bias     ndarray of shape (out channels,)
stride, padding   pairs (down, across), in pixels
g        the gradient of the result, of its shape (batch, out channels, rows, columns)
"""

import numpy as np

from tinytorch.support.windows import cropped, padded

__all__ = ["strips_forward", "strips_to_input", "strips_to_weights"]


def strips_forward(x, weights, bias, stride, padding):
    """The convolution of `x` with `weights`, plus `bias`: of shape (batch, out channels, rows,
    columns), a view of memory in the order (rows, batch, columns, out channels).

    >>> x, weights = np.array([[[[1.0, 2.0, 3.0]]]]), np.array([[[[1.0, 10.0]]]])
    >>> strips_forward(x, weights, np.array([100.0]), (1, 1), (0, 0))
    array([[[[121., 132.]]]])
    """
    down, across = weights.shape[2:]
    row_strips, kernels = strips(padded(x, padding), across, stride[1]), by_rows(weights)
    height, n, windows, _ = row_strips.shape
    rows = (height - down) // stride[0] + 1
    out = np.empty((rows * n * windows, len(weights)), np.result_type(x, weights))
    out[...] = bias
    for i, kernel in enumerate(kernels):
        out += below(row_strips, i, rows, stride[0]).reshape(len(out), len(kernel)) @ kernel
    return rows_last(out.reshape(rows, n, windows, len(weights)))


def strips_to_weights(g, out, x, weights, bias, stride, padding):
    """The gradient for the weights: of their shape. `out` and `bias` are not looked at."""
    o, c, down, across = weights.shape
    row_strips, rows = strips(padded(x, padding), across, stride[1]), g.shape[2]
    g = rows_first(g).reshape(-1, o)
    gradients = [
        below(row_strips, i, rows, stride[0]).reshape(len(g), across * c).T @ g for i in range(down)
    ]
    return np.stack(gradients).reshape(down, across, c, o).transpose(3, 2, 0, 1)


def strips_to_input(g, out, x, weights, bias, stride, padding):
    """The gradient for the images: of their shape. `out` and `bias` are not looked at."""
    n, c, height, width = x.shape
    height, width, kernels = height + 2 * padding[0], width + 2 * padding[1], by_rows(weights)
    _, o, rows, windows = g.shape
    g = rows_first(g).reshape(-1, o)
    row_strips = np.zeros((height, n, windows, kernels.shape[1]), g.dtype)
    for i, kernel in enumerate(kernels):
        view = below(row_strips, i, rows, stride[0])
        view += (g @ kernel.T).reshape(view.shape)
    images = np.zeros((height, n, width * c), g.dtype)
    for q in range(windows):
        start = q * stride[1] * c
        images[:, :, start : start + kernels.shape[1]] += row_strips[:, :, q]
    return cropped(rows_last(images.reshape(height, n, width, c)), padding)


def rows_first(x):
    """Images (batch, channels, height, width) as (height, batch, width, channels), in that order in
    memory too."""
    return np.ascontiguousarray(x.transpose(2, 0, 3, 1))


def rows_last(x):
    """The reverse of `rows_first`, without a copy."""
    return x.transpose(1, 3, 0, 2)


def strips(x, across, stride):
    """What `across` neighbours in a row hold, from every `stride`-th pixel on.

    x        ndarray of shape (batch, channels, height, width)
    returns  a new ndarray of shape (height, batch, windows in a row, across * channels)
    """
    x = rows_first(x)
    height, n, width, c = x.shape
    down, image, step, _ = x.strides
    # The neighbours of a pixel lie behind it in memory, so each strip is a run; strips overlap
    # until the copy.
    shape = height, n, (width - across) // stride + 1, across * c
    return np.lib.stride_tricks.as_strided(
        x, shape, (down, image, step * stride, x.itemsize), writeable=False
    ).copy()


def below(rows, i, count, stride):
    """Every `stride`-th of `rows`, `count` of them, from row i on: what kernel row i sees."""
    return rows[i : i + stride * (count - 1) + 1 : stride]


def by_rows(weights):
    """Weights of shape (out, channels, down, across) as (down, across * channels, out)."""
    o, c, down, across = weights.shape
    return weights.transpose(2, 3, 1, 0).reshape(down, across * c, o)
