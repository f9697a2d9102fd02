"""Pairs (down, across) for kernels, strides and paddings, and margins around images."""

import numpy as np

__all__ = ["cropped", "flat", "misfit", "padded", "pair", "places"]


def pair(n, least=1):
    """(n, n) for an int, a pair (down, across) as it is.

    n        an int, or a tuple or list of two
    least    the smallest int that is allowed
    returns  tuple of two Python ints

    Raises ValueError for everything else, and for what is below `least`.

    >>> pair(3), pair([0, 2], least=0)
    ((3, 3), (0, 2))
    """
    both = tuple(n) if isinstance(n, (tuple, list)) else (n, n)
    if len(both) != 2 or any(not isinstance(k, (int, np.integer)) or k < least for k in both):
        raise ValueError(
            f"a whole number from {least} on is needed, or a pair (down, across) of them, not {n!r}"
        )
    return int(both[0]), int(both[1])


def places(kernel):
    """Every (row, column) in a kernel of shape (down, across), row by row.

    >>> places((1, 2))
    [(0, 0), (0, 1)]
    """
    return [(i, j) for i in range(kernel[0]) for j in range(kernel[1])]


def padded(x, padding, value=0):
    """Images with a margin.

    x        ndarray of shape (..., height, width)
    padding  (down, across): rows added above and below, columns added left and right
    value    what the margin holds
    returns  a new ndarray of shape (..., height + 2 * down, width + 2 * across), of the dtype of
             `x`; `x` itself when the padding is (0, 0)

    >>> padded(np.array([[1, 2]]), (0, 1))
    array([[0, 1, 2, 0]])
    """
    (down, across), (height, width) = padding, x.shape[-2:]
    if down == across == 0:
        return x
    out = np.full((*x.shape[:-2], height + 2 * down, width + 2 * across), value, x.dtype)
    out[..., down : down + height, across : across + width] = x
    return out


def cropped(x, padding):
    """Images without the margin that `padded` made around them, as a view of `x`.

    >>> cropped(np.array([[0, 1, 2, 0]]), (0, 1))
    array([[1, 2]])
    """
    (down, across), (height, width) = padding, x.shape[-2:]
    return x[..., down : height - down, across : width - across]


def flat(maps):
    """Maps of shape (batch, channels, rows, columns) as (batch, channels, rows * columns).

    >>> flat(np.zeros((2, 3, 4, 5))).shape
    (2, 3, 20)
    """
    return maps.reshape(*maps.shape[:2], maps.shape[2] * maps.shape[3])


def misfit(images, weights, why):
    """The error to raise when images do not go together with weights, or with a kernel.

    images   shape of the images
    weights  text that names the shape of the weights or of the kernel
    why      what does not fit, as text or as an error
    returns  a ValueError, not raised

    >>> str(misfit((3, 3), "a kernel of shape (2, 2)", "images need four axes"))[:42]
    'images of shape (3, 3) do not go with a ke'
    """
    return ValueError(
        f"images of shape {tuple(images)} do not go with {weights}: {why}. "
        "Images are (batch, channels, height, width); the result has (size + 2 * "
        "padding - kernel) // stride + 1 rows, and columns likewise"
    )
