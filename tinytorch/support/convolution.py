"""What convolution and pooling use and the lesson does not teach: kernel sizes and padding, a tiled
convolution that is faster with many channels, and the gradient of 2x2 max pooling.
"""

import numpy as np

from tinytorch.support.derivatives import INTEGERS

# kernel sizes and padding


def pair(n, least=1):
    """(n, n) for an int; a pair (down, across) unchanged.

    n        an int, or a tuple or list of two
    least    the smallest int that is allowed
    returns  tuple of two Python ints

    Raises ValueError for everything else, and for an int below `least`.

    >>> pair(3), pair([0, 2], least=0)
    ((3, 3), (0, 2))
    """
    both = tuple(n) if isinstance(n, (tuple, list)) else (n, n)
    if len(both) != 2 or any(not isinstance(k, (int, np.integer)) or k < least for k in both):
        raise ValueError(
            f"expected an int of at least {least}, or a pair (down, across) of them, got {n!r}"
        )
    return int(both[0]), int(both[1])


def kernel_positions(kernel_size):
    """Every (row, column) in a kernel of size (height, width), row by row.

    >>> kernel_positions((1, 2))
    [(0, 0), (0, 1)]
    """
    return [(i, j) for i in range(kernel_size[0]) for j in range(kernel_size[1])]


def pad_images(x, padding, value=0):
    """Images with `padding` added on all four sides.

    x        ndarray of shape (..., height, width)
    padding  (down, across): rows added above and below, columns added left and right
    value    what the padding is filled with
    returns  a new ndarray of shape (..., height + 2 * down, width + 2 * across), of the dtype of
             `x`; `x` itself when the padding is (0, 0)

    >>> pad_images(np.array([[1, 2]]), (0, 1))
    array([[0, 1, 2, 0]])
    """
    (down, across), (height, width) = padding, x.shape[-2:]
    if down == across == 0:
        return x
    out = np.full((*x.shape[:-2], height + 2 * down, width + 2 * across), value, x.dtype)
    out[..., down : down + height, across : across + width] = x
    return out


def crop_padding(x, padding):
    """Images without the padding that `pad_images` added, as a view of `x`.

    >>> crop_padding(np.array([[0, 1, 2, 0]]), (0, 1))
    array([[1, 2]])
    """
    (down, across), (height, width) = padding, x.shape[-2:]
    return x[..., down : height - down, across : width - across]


def flatten_maps(maps):
    """Feature maps of shape (batch, channels, rows, columns) as (batch, channels, rows * columns).

    >>> flatten_maps(np.zeros((2, 3, 4, 5))).shape
    (2, 3, 20)
    """
    return maps.reshape(*maps.shape[:2], maps.shape[2] * maps.shape[3])


def shape_error(images, weights, reason):
    """The error to raise when images do not fit the weights or the kernel.

    images   shape of the images, or the images
    weights  shape of the weights, or the weights; or text that names a kernel and its shape
    reason   what does not fit, as text or as an error
    returns  a ValueError, not raised

    >>> str(shape_error((3, 3), (8, 3, 2, 2), "images need four axes"))[:56]
    'images of shape (3, 3) do not fit weights of shape (8, 3'
    """
    images = tuple(getattr(images, "shape", images))
    cure = "images are (batch, channels, height, width)"
    if len(images) == 3:
        cure += ": x[None] makes a batch of one picture, x[:, None] gives gray pictures a channel"
    if not isinstance(weights, str):
        weights = f"weights of shape {tuple(getattr(weights, 'shape', weights))}"
    return ValueError(
        f"images of shape {images} do not fit {weights}: {reason}\n{cure}; the output has "
        "(size + 2 * padding - kernel) // stride + 1 rows, and columns likewise"
    )


# Tiled convolution: the same numbers as with im2col, faster when there are many channels.
#
# im2col copies each pixel once for each weight of the kernel, in contiguous runs as long as a row
# of the output. With many channels and small images these runs are short. Here the channels are the
# last axis in memory, and `across` neighbouring pixels of one row, with all their channels, are one
# contiguous run: a strip. A window consists of one strip from each of its rows. Rows need no copy:
# kernel row i multiplies the slice of strips that starts at row i, and the output is a sum of one
# matrix product per kernel row.
#
# In all functions:
#
# x        ndarray of shape (batch, channels, height, width)
# weights  ndarray of shape (out channels, channels, kernel height, kernel width)
# bias     ndarray of shape (out channels,)
# stride, padding   pairs (down, across), in pixels
# g        the upstream gradient, of the shape of the output (batch, out channels, rows, columns)


def conv_tiled_forward(x, weights, bias, stride, padding, saved=None):
    """The convolution of `x` with `weights`, plus `bias`: of shape (batch, out channels, rows,
    columns), a view of memory in the order (rows, batch, columns, out channels).

    saved  a dict, in which the strips are kept for the gradient of the weights; or None

    >>> x, weights = np.array([[[[1.0, 2.0, 3.0]]]]), np.array([[[[1.0, 10.0]]]])
    >>> conv_tiled_forward(x, weights, np.array([100.0]), (1, 1), (0, 0))
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


def conv_tiled_weight_gradient(g, out, x, weights, bias, stride, padding, saved=None):
    """The gradient of the weights, of their shape. `out` and `bias` are not used.

    saved  the dict that conv_tiled_forward was given; where it is None or empty, the strips are
           made again
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


def conv_tiled_input_gradient(g, out, x, weights, bias, stride, padding):
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


def windows_of(x, kernel_size, stride, padding, value=0):
    """All windows of images, a view of shape (batch, channels, rows, columns, *kernel_size). The
    padding is filled with `value`.

    >>> windows_of(np.array([[[[1, 2, 3]]]]), (1, 2), (1, 1), (0, 0)).tolist()
    [[[[[[1, 2]], [[2, 3]]]]]]
    """
    x = pad_images(x, padding, value)
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel_size, (2, 3))
    return windows[:, :, :: stride[0], :: stride[1]]


# The gradient of 2x2 max pooling with stride 2, which most networks use. The maximum of a window is
# that of two maxima, of its upper and of its lower row. So the gradient is propagated in two steps,
# and each of them chooses between two numbers: a comparison and two multiplications of whole
# arrays, instead of a search through four positions.


def prefer_2x2(rule):
    """A rule of max pooling that calls `max_pool_2x2_gradient` where it can, and else `rule`. Where
    a window holds nan, the last nan gets its gradient, as in PyTorch."""

    def faster(g, out, x, kernel_size, stride, padding):
        window = kernel_size, stride, padding
        fits = kernel_size == stride == (2, 2) and padding == (0, 0)
        method = max_pool_2x2_gradient if fits else rule
        if not np.isnan(out.max(initial=-np.inf)):
            return method(g, out, x, *window)
        none = np.isnan(out)
        number = np.arange(1, x.size + 1, dtype=float).reshape(x.shape) * np.isnan(x)
        last = windows_of(number, *window).max((-2, -1))
        to_nan = rule(np.where(none, g, 0), last, number, *window)
        return method(np.where(none, 0, g), out, x, *window) + to_nan.astype(x.dtype)

    return faster


def max_pool_2x2_gradient(g, out, x, kernel_size=(2, 2), stride=(2, 2), padding=(0, 0)):
    """The gradient of max pooling with windows of 2 by 2, stride 2 and no padding.

    g        ndarray: the upstream gradient, of the shape of `out`
    out      the output of the pooling
    x        ndarray of shape (batch, channels, height, width); a last row or column that is in no
             window gets 0
    returns  ndarray of the shape and dtype of `x`; of equal numbers in a window, the first one, row
             by row, gets the gradient

    >>> x = np.array([[[[1.0, 5.0, 2.0], [5.0, 0.0, 3.0]]]])
    >>> max_pool_2x2_gradient(np.array([[[[10.0]]]]), np.array([[[[5.0]]]]), x)
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
    won, kind = first == largest, INTEGERS[g.itemsize]  # as integers: inf * 0 is 0, see `masked`
    np.multiply(g.view(kind), won, out=to_first.view(kind))
    np.multiply(g.view(kind), ~won, out=to_second.view(kind))
