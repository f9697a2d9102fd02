"""Kernel sizes, strides and paddings as pairs (down, across), and padding around images."""

import numpy as np

__all__ = [
    "crop_padding",
    "flatten_maps",
    "kernel_positions",
    "pad_images",
    "pair",
    "shape_error",
]


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
