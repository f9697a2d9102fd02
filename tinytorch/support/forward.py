"""Forward functions: what NumPy does, in the form in which the engine calls it.

The engine runs op(*arrays, **options) and records op, arrays and options for the backward pass. So
each operation needs one function with positional inputs and keyword options. NumPy
has most of them (np.add, np.exp, ...); these are the others.
"""

import math

import numpy as np

from tinytorch.support.arrays import axes_of

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
    "root_forward",
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
    "root": "sqrt",
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


def root_forward(x):
    """The square root, for a standard deviation or a norm: its gradient at 0 is 0, where that of
    np.sqrt is infinite."""
    return np.sqrt(x)


HALF = np.dtype(np.float16)  # its largest number is 65504, so it is added up as float32


def sum_forward(x, axis=None, keepdims=False):
    """The sum of an ndarray along `axis`: an int, a tuple, or None for all. It is as exact
    along the first axis as along the last."""
    if x.dtype is HALF:
        return sum_forward(x.astype(FLOAT32), axis, keepdims).astype(HALF)
    if axis is not None and x.size > MANY and rows_of(x, axis) > MANY and x.dtype.kind == "f":
        return sum_in_blocks(x, axes_of(axis, x.ndim), keepdims)
    return np.add.reduce(x, axis=axis, keepdims=keepdims)


# NumPy adds pairwise along the axis whose numbers are neighbours in memory, and row by row along
# the others: 500,000 rows of 0.1 in float32 gave 50177. So more than MANY rows are added in blocks
# of BLOCK rows, then the sums of the blocks in the same way. First, short rows are joined to rows
# of about WIDTH numbers, since NumPy adds a few long rows faster than many short ones.
MANY, BLOCK, WIDTH = 1000, 16, 1024


def rows_of(x, axis):
    """How many rows NumPy would add one after the other for a sum along `axis`, an int or a tuple:
    axes at the end of memory do not count. 0 if there is no such axis.

    >>> x = np.zeros((10, 2, 5))
    >>> rows_of(x, 0), rows_of(x, (0, 1)), rows_of(x, (0, -1)), rows_of(x, 2)
    (10, 20, 10, 1)
    """
    axes = [axis] if type(axis) is int else [*axis]
    rows, last = 1, x.ndim - 1
    while x.flags.c_contiguous and (last in axes or last - x.ndim in axes):
        last -= 1
    try:
        for a in axes:
            if a % x.ndim <= last:
                rows *= x.shape[a]
    except (IndexError, TypeError):
        return 0
    return rows


def sum_in_blocks(x, axes, keepdims):
    """The sum of an ndarray along `axes`, a tuple of ints from 0 up.

    >>> sum_in_blocks(np.full((500_000, 2), 0.1, "float32"), (0,), False).round(1)
    array([50000., 50000.], dtype=float32)
    """
    order = sorted(range(x.ndim), key=lambda a: -abs(x.strides[a]))  # as they lie in memory
    out, summed, end = x.transpose(order), [a in axes for a in order], x.ndim
    while end:  # neighbouring axes that are summed count as one; the last ones first
        start = end - 1
        while start and summed[start] and summed[start - 1]:
            start -= 1
        if summed[start]:
            before, rows, after = out.shape[:start], out.shape[start:end], out.shape[end:]
            out = sum_rows(out.reshape(math.prod(before), math.prod(rows), math.prod(after)))
            out = out.reshape(*before, *[1] * len(rows), *after)
        end = start
    out = out.transpose(np.argsort(order))
    return out if keepdims else np.squeeze(out, axes)


def sum_rows(x):
    """The sum of an ndarray of three axes along the middle one."""
    rows, width = x.shape[1:]
    if width == 1:  # the rows are neighbours in memory
        return np.add.reduce(x[..., 0], axis=1)
    while rows > BLOCK:
        joined = max(1, min(WIDTH // width, rows // BLOCK))
        whole = rows - rows % (BLOCK * joined)
        blocks = x[:, :whole].reshape(len(x), -1, BLOCK, joined * width)
        sums = np.add.reduce(blocks, axis=2).reshape(len(x), -1, width)
        if whole < rows:
            sums = np.concatenate([sums, sum_rows(x[:, whole:])[:, None]], axis=1)
        x, rows = sums, sums.shape[1]
    return np.add.reduce(x, axis=1)


def max_forward(x, axis=None, keepdims=False):
    """The maximum of an ndarray along `axis`: an int, a tuple, or None for all."""
    return np.maximum.reduce(x, axis=axis, keepdims=keepdims)


def min_forward(x, axis=None, keepdims=False):
    """The minimum of an ndarray along `axis`: an int, a tuple, or None for all."""
    return np.minimum.reduce(x, axis=axis, keepdims=keepdims)


def prod_forward(x, axis=None, keepdims=False):
    """The product of an ndarray along `axis`: an int, a tuple, or None for all."""
    if x.dtype is HALF:
        return prod_forward(x.astype(FLOAT32), axis, keepdims).astype(HALF)
    return np.multiply.reduce(x, axis=axis, keepdims=keepdims)


def cumsum_forward(x, axis=None):
    """The sums of all elements of an ndarray up to each one; axis None: of the flattened array."""
    if x.dtype is HALF:
        return np.cumsum(x, axis, dtype=FLOAT32).astype(HALF)
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


# Attention of long texts, in blocks of queries: the lesson's functions, on a part of the queries at
# a time. The weights of a block stay in the processor's cache, and no others are in memory.

MOST_WEIGHTS = 2**18  # numbers in the weights of a block, and of texts that need no blocks


def query_blocks(qkv, heads, causal, most=MOST_WEIGHTS):
    """(queries, keys) as slices of positions: a block of queries, and what its queries see.

    >>> list(query_blocks(np.zeros((1, 12, 3)), 1, True, 96))
    [(slice(0, 8, None), slice(0, 8, None)), (slice(8, 12, None), slice(0, 12, None))]
    """
    batch, tokens, _ = qkv.shape
    size = max(8, most // (batch * heads * tokens))
    for start in range(0, tokens, size):
        end = min(start + size, tokens)
        yield slice(start, end), slice(0, end if causal else tokens)


def attention_blocks(head_views, weights_forward, softmax_rule):
    """The functions `attention_forward` and `attention_rule` of the lesson, in blocks, of its other
    functions. Nothing is saved: the rule computes the weights of each block again.

    returns  (forward(qkv, heads, causal), rule(g, out, qkv, heads, causal))
    """

    def attention_blocks_forward(qkv, heads, causal):
        q, k, v = head_views(qkv, heads)
        out = np.empty((*qkv.shape[:2], heads, q.shape[-1]), qkv.dtype)
        for at, seen in query_blocks(qkv, heads, causal):
            weights = weights_forward(q[:, :, at], k[:, :, seen], causal)
            out[:, at] = (weights @ v[:, :, seen]).swapaxes(1, 2)
        return out.reshape(*qkv.shape[:2], -1)

    def rule(g, out, qkv, heads, causal):
        q, k, v = head_views(qkv, heads)
        g = g.reshape(*g.shape[:2], heads, -1).swapaxes(1, 2)  # (B, heads, T, d)
        gradient, scale = np.zeros_like(qkv), 1 / math.sqrt(q.shape[-1])
        dq, dk, dv = head_views(gradient, heads)  # writing into these views fills `gradient`
        for at, seen in query_blocks(qkv, heads, causal):
            weights = weights_forward(q[:, :, at], k[:, :, seen], causal)
            dv[:, :, seen] += weights.swapaxes(-1, -2) @ g[:, :, at]
            scores = softmax_rule(g[:, :, at] @ v[:, :, seen].swapaxes(-1, -2), weights)
            dq[:, :, at] = scores @ k[:, :, seen] * scale
            dk[:, :, seen] += scores.swapaxes(-1, -2) @ q[:, :, at] * scale
        return gradient

    return attention_blocks_forward, rule
