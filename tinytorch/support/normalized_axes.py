"""Which axes a normalization works on: the last ones for layer norm, all but the channels for
batch norm; and errors for inputs that do not fit.
"""

import math

import numpy as np

__all__ = ["as_shape", "channel_axes", "checked_rank", "joined_axes", "running_arrays"]


def as_shape(normalized_shape):
    """The lengths of the last axes as a tuple of ints; one int is one axis.

    >>> as_shape(8), as_shape([4, 8])
    ((8,), (4, 8))
    """
    sizes = np.atleast_1d(np.asarray(normalized_shape))
    if sizes.ndim != 1 or not sizes.size or sizes.dtype.kind not in "iu" or sizes.min() < 1:
        raise ValueError(
            f"normalized_shape is {normalized_shape!r:.60}\n"
            "it should be the lengths of the last axes, 1 or more each: 64, or (8, 64)"
        )
    return tuple(sizes.tolist())


def joined_axes(x, normalized_shape, weight=None, bias=None):
    """The inputs of a layer norm with the normalized axes joined into one.

    x        Tensor of shape (..., *normalized_shape)
    weight, bias   Tensors or arrays of shape `normalized_shape`; None: an array of ones, of zeros
    returns  x of shape (..., D), weight and bias of shape (D,), where D is the product of
             `normalized_shape`; each is the same object if it has that shape already

    >>> x, weight, bias = joined_axes(np.zeros((5, 2, 3)), (2, 3))
    >>> x.shape, weight.tolist(), bias.tolist()
    ((5, 6), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    """
    wanted = getattr(weight, "shape", None)
    if wanted == normalized_shape == x.shape[-1:] and wanted == getattr(bias, "shape", None):
        return x, weight, bias  # nearly always, and five times for each token that a GPT writes
    shape = as_shape(normalized_shape)
    if x.shape[x.ndim - len(shape) :] != shape or x.ndim < len(shape):
        raise ValueError(
            f"normalized_shape {shape} needs inputs of shape "
            f"(..., {', '.join(map(str, shape))}), not {x.shape}"
        )
    for name, part in (("weight", weight), ("bias", bias)):
        if part is not None and np.shape(part) != shape:
            raise ValueError(f"the {name} should have the shape {shape}, not {np.shape(part)}")
    size = math.prod(shape)
    weight = np.ones(size, x.dtype) if weight is None else weight
    bias = np.zeros(size, x.dtype) if bias is None else bias
    if len(shape) > 1:
        x = x.reshape(*x.shape[: x.ndim - len(shape)], size)
        weight, bias = weight.reshape(size), bias.reshape(size)
    return x, weight, bias


def channel_axes(ndim):
    """The axes of a batch over which batch norm takes the mean, all but axis 1, and the shape that
    aligns one number per channel with it.

    ndim     the rank of the batch: 2 for (B, C), 4 for (B, C, H, W)

    >>> channel_axes(2), channel_axes(4)
    (((0,), (1, -1)), ((0, 2, 3), (1, -1, 1, 1)))
    """
    if ndim < 2:
        raise ValueError(f"batch norm needs inputs of shape (B, C) or (B, C, H, W), of rank {ndim}")
    return (0, *range(2, ndim)), (1, -1, *[1] * (ndim - 2))


def checked_rank(x, ranks, norm):
    """`x`, if its rank is one of `ranks`, and axis 1 has norm.num_features channels; else
    ValueError that names the layer `norm`."""
    shape = np.shape(x)
    if len(shape) not in ranks or shape[1] != norm.num_features:
        names = {2: "(B, {})", 3: "(B, {}, L)", 4: "(B, {}, H, W)"}
        names = " or ".join(names[rank].format(norm.num_features) for rank in ranks)
        raise ValueError(f"{norm} takes inputs of shape {names}, not {shape}")
    return x


def running_arrays(running_mean, running_var, shape, training):
    """The arrays inside the running statistics of a batch norm, which can be changed in place.

    running_mean, running_var   arrays or Tensors of shape (C,), or None for none, which is allowed
                                in training only: then new arrays
    shape                       of the input, (B, C, ...)

    >>> mean = np.zeros(3)
    >>> running_arrays(mean, np.ones(3), (5, 3), training=False)[0] is mean
    True
    """
    if running_mean is None or running_var is None:
        if not training:
            raise ValueError(
                "without running_mean and running_var there is nothing to normalize with in "
                "evaluation mode; use training=True"
            )
        return np.zeros(shape[1], np.float32), np.ones(shape[1], np.float32)
    arrays = [x if isinstance(x, np.ndarray) else x.data for x in (running_mean, running_var)]
    for name, array in zip(("running_mean", "running_var"), arrays):
        if array.shape != (shape[1],):
            raise ValueError(
                f"an input of shape {shape} has {shape[1]} channels, and {name} has the shape "
                f"{array.shape}: it should be ({shape[1]},)"
            )
    return arrays
