"""Arithmetic on axes and shapes, which are ints and tuples of ints: no array is touched here."""

import math

import numpy as np

__all__ = ["as_tuple", "axes_of", "flattened_shape", "pad_pairs", "squeezed_shape"]


def as_tuple(numbers):
    """(2, 3) from the arguments of f(2, 3) and from those of f((2, 3)) or f([2, 3]).

    >>> as_tuple((2, 3)), as_tuple(([2, 3],))
    ((2, 3), (2, 3))
    """
    if len(numbers) == 1 and isinstance(numbers[0], (tuple, list)):
        return tuple(numbers[0])
    return numbers


def axes_of(axis, ndim):
    """The axes that `axis` names, as numbers from 0 to ndim - 1.

    axis     None for all axes, an int, or a tuple of ints; negative ones count from the end
    ndim     how many axes there are
    returns  tuple of ints, in the order given

    Raises np.exceptions.AxisError, an IndexError and a ValueError, for an axis that is not there.

    >>> axes_of((-1, 0), 3)
    (2, 0)
    """
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    for a in axes:
        if not -ndim <= a < ndim:
            raise np.exceptions.AxisError(f"there is no axis {a} in {ndim} axes")
    return tuple([a % ndim for a in axes])


def flattened_shape(shape, start_axis=0, end_axis=-1):
    """`shape` with the axes from start_axis to end_axis, both included, joined into one.

    A shape without axes becomes (1,). Raises ValueError when the axes stand the wrong way round.

    >>> flattened_shape((2, 3, 4), 1)
    (2, 12)
    """
    if not shape:
        return (1,)
    start, end = axes_of((start_axis, end_axis), len(shape))
    if start > end:
        raise ValueError(
            "flatten goes from an axis to a later one, "
            f"not from {start_axis} to {end_axis} in shape {shape}"
        )
    return (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :])


def squeezed_shape(shape, axis=None):
    """`shape` without its axes of length 1: all of them, or those that `axis` names.

    Raises ValueError when a named axis is longer.

    >>> squeezed_shape((1, 2, 1)), squeezed_shape((1, 2, 1), 0)
    ((2,), (2, 1))
    """
    gone = [a for a in axes_of(axis, len(shape)) if axis is not None or shape[a] == 1]
    if any(shape[a] != 1 for a in gone):
        raise ValueError(f"only axes of length 1 can be squeezed, not axis {axis} of shape {shape}")
    return tuple([n for a, n in enumerate(shape) if a not in gone])


def pad_pairs(width, shape):
    """One (before, after) for each axis of `shape`, as numpy.pad reads `width`.

    width    an int for all sides, (before, after) for all axes, or one (before, after) per axis;
             in numbers
    returns  tuple of pairs of ints

    Raises ValueError when `width` fits neither way, or is negative.

    >>> pad_pairs((1, 2), (5, 5))
    ((1, 2), (1, 2))
    """
    try:
        pairs = np.broadcast_to(width, (len(shape), 2)).tolist()
    except ValueError:
        raise ValueError(
            f"width {width} does not give a (before, after) to each axis of shape {shape}"
        ) from None
    if any(n < 0 for pair in pairs for n in pair):
        raise ValueError(f"padding cannot be negative: {pairs}")
    return tuple([(before, after) for before, after in pairs])
