"""Forward functions: what NumPy does, in the form in which the engine calls it.

The engine runs op(*arrays, **options) and records op, arrays and options for the backward pass. So
each operation needs one function with positional inputs and keyword options. NumPy
has most of them (np.add, np.exp, ...); these are the others.
"""

import numpy as np

__all__ = [
    "argsort_forward",
    "cast_forward",
    "clip_forward",
    "clone_forward",
    "concatenate_forward",
    "cumsum_forward",
    "max_forward",
    "min_forward",
    "name_of",
    "pad_forward",
    "power",
    "prod_forward",
    "relu_forward",
    "reshape_forward",
    "sigmoid_forward",
    "stack_forward",
    "sum_forward",
    "take_forward",
]


NAMES = {  # what NumPy calls otherwise than PyTorch does
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "negative": "neg",
    "absolute": "abs",
    "power": "pow",
    "take": "getitem",
}


def name_of(op):
    """The name of an operation, as in PyTorch; or the name of the Function whose forward method it
    is.

    >>> name_of(np.add), name_of(np.multiply), name_of(relu_forward)
    ('add', 'mul', 'relu')
    """
    if hasattr(op, "__self__"):
        return type(op.__self__).__name__
    name = getattr(op, "__name__", "an operation").removesuffix("_forward")
    return NAMES.get(name, name)


def power(base, exponent):
    """base ** exponent, elementwise.

    base, exponent   ndarrays or numbers whose shapes broadcast
    returns          ndarray or number

    NumPy takes the long way through logarithms even for x**3, many times slower than x * x * x,
    and refuses 2**-1 for integers. This does neither.

    >>> power(np.array([2, 4]), -1)
    array([0.5 , 0.25])
    """
    if type(exponent) is int and 2 <= exponent <= 4:
        square = base * base
        return square if exponent == 2 else square * base if exponent == 3 else square * square
    if type(exponent) is int and exponent < 0:
        exponent = float(exponent)
    return np.power(base, exponent)


# NumPy converts a Python number in each call, which takes as long as a small operation
FLOAT32, ZERO = np.dtype(np.float32), np.zeros((), np.float32)


def relu_forward(x):
    """The larger of x and 0, elementwise."""
    return np.maximum(x, ZERO if x.dtype is FLOAT32 else 0)


def sigmoid_forward(x):
    """1 / (1 + exp(-x)), elementwise, between 0 and 1.

    >>> sigmoid_forward(np.array([-1000.0, 0.0, 1000.0]))
    array([0. , 0.5, 1. ])
    """
    # exp(min(x, 0)) / (1 + exp(-|x|)): neither exponent is above 0, so neither exp overflows
    return np.exp(np.minimum(x, 0)) / (1 + np.exp(-1.0 * np.abs(x)))


def clip_forward(x, low, high):
    """`x` held between `low` and `high`, elementwise; None leaves a side open."""
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def sum_forward(x, axis=None, keepdims=False):
    """The sum of an ndarray along `axis`: an int, a tuple, or None for all."""
    return np.add.reduce(x, axis=axis, keepdims=keepdims)


def max_forward(x, axis=None, keepdims=False):
    """The maximum of an ndarray along `axis`: an int, a tuple, or None for all."""
    return np.maximum.reduce(x, axis=axis, keepdims=keepdims)


def min_forward(x, axis=None, keepdims=False):
    """The minimum of an ndarray along `axis`: an int, a tuple, or None for all."""
    return np.minimum.reduce(x, axis=axis, keepdims=keepdims)


def prod_forward(x, axis=None, keepdims=False):
    """The product of an ndarray along `axis`: an int, a tuple, or None for all."""
    return np.multiply.reduce(x, axis=axis, keepdims=keepdims)


def cumsum_forward(x, axis=None):
    """The sums of all elements of an ndarray up to each one; axis None: of the flattened array."""
    return np.cumsum(x, axis)


def argsort_forward(x, axis=-1, descending=False):
    """The positions of the elements in sorted order along `axis`; equal ones keep their order."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    backward = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - backward, axis)


def clone_forward(x):
    """A copy of the ndarray `x`."""
    return x.copy()


def cast_forward(x, like):
    """A copy of the ndarray `x` with the dtype of the ndarray `like`."""
    return x.astype(like.dtype)


def reshape_forward(x, shape):
    """The ndarray `x` in another shape; its memory is shared where that is possible."""
    return x.reshape(shape)


def take_forward(x, index):
    """x[index] of an ndarray, for every index that NumPy knows."""
    return x[index]


def concatenate_forward(*arrays, axis):
    """Arrays one after the other along an axis they have."""
    return np.concatenate(arrays, axis)


def stack_forward(*arrays, axis):
    """Arrays of one shape side by side along a new axis."""
    return np.stack(arrays, axis)


def pad_forward(x, width, value):
    """`x` in the middle of a larger array that is filled with `value`.

    x        ndarray
    width    one (before, after) for each axis, in numbers
    returns  a new ndarray of the dtype of `x`

    >>> pad_forward(np.array([1, 2]), ((1, 2),), 0)
    array([0, 1, 2, 0, 0])
    """
    sides = list(zip(x.shape, width))
    out = np.full([before + n + after for n, (before, after) in sides], value, x.dtype)
    out[tuple([slice(before, before + n) for n, (before, _) in sides])] = x
    return out
