"""The convolution by strips: the same numbers as with im2col, faster when there are many channels.

im2col copies each pixel once for each weight of the kernel, in contiguous runs as long as a row of
the output. With many channels and small images these runs are short. Here the channels are the last
axis in memory, and `across` neighbouring pixels of one row, with all their channels, are one
contiguous run: a strip. A window consists of one strip from each of its rows. Rows need no copy:
kernel row i multiplies the slice of strips that starts at row i, and the output is a sum of one
matrix product per kernel row.

In all functions:

x        ndarray of shape (batch, channels, height, width)
weights  ndarray of shape (out channels, channels, kernel height, kernel width)
bias     ndarray of shape (out channels,)
stride, padding   pairs (down, across), in pixels
g        the upstream gradient, of the shape of the output (batch, out channels, rows, columns)
"""

import numpy as np

from tinytorch.support.windows import crop_padding, pad_images

__all__ = ["strips_forward", "strips_input_gradient", "strips_weight_gradient"]


def strips_forward(x, weights, bias, stride, padding, saved=None):
    """The convolution of `x` with `weights`, plus `bias`: of shape (batch, out channels, rows,
    columns), a view of memory in the order (rows, batch, columns, out channels).

    saved  a dict, in which the strips are kept for the gradient of the weights; or None

    >>> x, weights = np.array([[[[1.0, 2.0, 3.0]]]]), np.array([[[[1.0, 10.0]]]])
    >>> strips_forward(x, weights, np.array([100.0]), (1, 1), (0, 0))
    array([[[[121., 132.]]]])
    """
    down, across = weights.shape[2:]
    row_strips, kernels = strips(pad_images(x, padding), across, stride[1]), weights_by_row(weights)
    if saved is not None:
        saved["strips"] = row_strips
    height, n, windows, _ = row_strips.shape
    rows = (height - down) // stride[0] + 1
    out = np.empty((rows * n * windows, len(weights)), np.result_type(x, weights))
    out[...] = bias
    for i, kernel in enumerate(kernels):
        out += rows_from(row_strips, i, rows, stride[0]).reshape(len(out), len(kernel)) @ kernel
    return rows_last(out.reshape(rows, n, windows, len(weights)))


def strips_weight_gradient(g, out, x, weights, bias, stride, padding, saved=None):
    """The gradient of the weights, of their shape. `out` and `bias` are not used.

    saved  the dict that strips_forward was given; None, or an empty one: the strips are made again
    """
    o, c, down, across = weights.shape
    row_strips = saved["strips"] if saved else strips(pad_images(x, padding), across, stride[1])
    rows = g.shape[2]
    g = rows_first(g).reshape(-1, o)
    gradients = [
        rows_from(row_strips, i, rows, stride[0]).reshape(len(g), across * c).T @ g
        for i in range(down)
    ]
    return np.stack(gradients).reshape(down, across, c, o).transpose(3, 2, 0, 1)


def strips_input_gradient(g, out, x, weights, bias, stride, padding):
    """The gradient of the images, of their shape. `out` and `bias` are not used."""
    n, c, height, width = x.shape
    height, width = height + 2 * padding[0], width + 2 * padding[1]
    kernels = weights_by_row(weights)
    _, o, rows, windows = g.shape
    g = rows_first(g).reshape(-1, o)
    row_strips = np.zeros((height, n, windows, kernels.shape[1]), g.dtype)
    for i, kernel in enumerate(kernels):
        view = rows_from(row_strips, i, rows, stride[0])
        view += (g @ kernel.T).reshape(view.shape)
    images = np.zeros((height, n, width * c), g.dtype)
    for q in range(windows):
        start = q * stride[1] * c
        images[:, :, start : start + kernels.shape[1]] += row_strips[:, :, q]
    return crop_padding(rows_last(images.reshape(height, n, width, c)), padding)


def rows_first(x):
    """Images (batch, channels, height, width) as (height, batch, width, channels), contiguous."""
    return np.ascontiguousarray(x.transpose(2, 0, 3, 1))


def rows_last(x):
    """The reverse of `rows_first`, without a copy."""
    return x.transpose(1, 3, 0, 2)


def strips(x, across, stride):
    """The strips of all images: `across` neighbouring pixels, starting at every `stride`-th one.

    x        ndarray of shape (batch, channels, height, width)
    returns  a new ndarray of shape (height, batch, windows in a row, across * channels)
    """
    x = rows_first(x)
    height, n, width, c = x.shape
    down, image, step, _ = x.strides
    # The right neighbours of a pixel follow it in memory, so each strip is contiguous. Until the
    # copy, strips overlap.
    shape = height, n, (width - across) // stride + 1, across * c
    return np.lib.stride_tricks.as_strided(
        x, shape, (down, image, step * stride, x.itemsize), writeable=False
    ).copy()


def rows_from(rows, i, count, stride):
    """Every `stride`-th of `rows`, `count` of them, from row i: what kernel row i multiplies."""
    return rows[i : i + stride * (count - 1) + 1 : stride]


def weights_by_row(weights):
    """Weights of shape (out, channels, down, across) as (down, across * channels, out)."""
    o, c, down, across = weights.shape
    return weights.transpose(2, 3, 1, 0).reshape(down, across * c, o)
