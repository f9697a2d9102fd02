"""Arrays and shapes: what a Tensor takes, arithmetic on axes and shapes, and what Python and the C
library do about the memory of arrays.
"""

import itertools
import math
import weakref

import numpy as np

FLOAT32 = np.dtype(np.float32)

# arrays


def as_array(data, requires_grad=False):
    """The array that a Tensor keeps for `data`: always a new one.

    data           a number, nested lists of numbers, or an ndarray
    requires_grad  whether gradients with respect to these numbers will be computed
    returns        a new ndarray; `data` is never shared

    | given                         | dtype                 | with requires_grad           |
    | an ndarray                    | its own               | float32 unless it is a float |
    |                               |                       | dtype already                |
    | a bare int or float           | float32               | float32                      |
    | a bare NumPy number, not bool | float32               | float32                      |
    | lists with a float            | float32               | float32                      |
    | lists of ints; bools anywhere | NumPy's (int, bool)   | float32                      |

    Raises ValueError when rows differ in length, TypeError when `data` holds anything but
    real numbers.

    >>> as_array([1, 0.5])
    array([1. , 0.5], dtype=float32)

    Source: the same rule as torch.tensor, except for a bare int.
    """
    if not isinstance(requires_grad, (bool, np.bool_)):
        raise TypeError(
            f"requires_grad is {requires_grad!r:.60}, neither True nor False\n"
            "Tensor(data) takes the numbers themselves; for a shape write zeros(2, 3)"
        )
    array = copy_of(data)
    is_float = array.dtype.kind == "f"
    if not isinstance(data, np.ndarray) and (is_float or array.ndim == 0 and array.dtype != bool):
        return array.astype(np.float32)
    return array if is_float or not requires_grad else array.astype(np.float32)


def copy_of(data):
    """A new array with the numbers in `data`, of NumPy's choice of dtype.

    data     a number, nested lists of numbers, or an array
    returns  an ndarray that shares no memory with `data`

    Raises ValueError when rows differ in length, TypeError when `data` holds anything but
    real numbers.

    >>> copy_of([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    try:
        array = np.array(data)
    except ValueError:
        raise ValueError(
            f"a tensor is a full grid, its rows have one length; here are {row_lengths(data)}"
        ) from None
    if array.dtype.kind not in "biuf":  # bool, int, unsigned int, float
        raise TypeError(f"a tensor holds real numbers, not {data!r:.60}")
    return array


def as_result(out, arrays):
    """What NumPy computed from `arrays` as an ndarray that is float64 only if one of `arrays` is.

    out      ndarray, or the NumPy number that NumPy returns for rank 0
    arrays   what it was computed from: ndarrays and Python numbers
    returns  ndarray: of its dtype if that is no floating-point dtype, or if one of `arrays` has it;
             else float32. Arrays of floats of rank 0 count only if there are no others

    >>> as_result(np.array([1, 2]) * 0.5, (np.array([1, 2]), 0.5)).dtype
    dtype('float32')

    Source: PyTorch, "Tensor Attributes", type promotion with the default dtype.
    """
    out = np.asarray(out)
    if out.dtype is FLOAT32 or out.dtype.kind != "f":
        return out
    floats = [a for a in arrays if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    deciding = [a for a in floats if a.ndim] or floats
    if any(a.dtype == out.dtype for a in deciding):
        return out
    return out.astype(deciding[0].dtype if len(deciding) == 1 else FLOAT32)


def as_index_array(part):
    """A new array of the positions or truth values in a list, an array or a Tensor.

    An empty list becomes an array of integers: it gathers nothing.

    >>> as_index_array([2, 0]), as_index_array([]).dtype.kind
    (array([2, 0]), 'i')
    """
    array = np.array(part)
    return array if array.size or array.dtype.kind != "f" else array.astype(int)


def row_lengths(rows):
    """The lengths that differ in a ragged nested list, as text.

    >>> row_lengths([[1, 2], [3]]), row_lengths([1, [2, 3]])
    ('rows of length 2 and 1', 'a number and a row of length 2')
    """
    lengths = [
        len(row) if isinstance(row, (list, tuple)) or getattr(row, "ndim", 0) else None
        for row in rows
    ]
    if len(set(lengths)) == 1 and None not in lengths:
        return row_lengths([part for row in rows for part in row])
    different = [n for n in dict.fromkeys(lengths) if n is not None]
    if None in lengths:
        return f"a number and a row of length {different[0]}"
    return f"rows of length {' and '.join(map(str, different))}"


def write_in_place(x, result, sign, recording):
    """Write `result` into the array of the tensor `x`, a leaf that requires a gradient, for
    `x += ...`; returns `x`. The array stays the same object, of the same dtype.

    sign       the operator, such as "+="
    recording  whether operations are recorded: then a RuntimeError

    ValueError when the result has another shape.
    """
    if recording:
        raise RuntimeError(
            f"w {sign} ... would replace w by the result of an operation, whose .grad stays None\n"
            f"write `with no_grad(): w {sign} ...`, or change the array inside: w.data {sign} ..."
        )
    if result.shape != x.data.shape:
        raise ValueError(
            f"w {sign} ... keeps the shape of w, {x.data.shape}, and the result has shape "
            f"{result.shape}\nfor a new tensor of that shape write w = w {sign[:-1]} ..."
        )
    x.data[...] = result
    changes.mark(x.data)
    return x


def explain_error(error, op, arrays, options, common_shape):
    """The error to raise when NumPy refused op(*arrays, **options): one that names the shapes.

    error         the IndexError, ValueError or TypeError that NumPy raised; or a RecursionError,
                  because NumPy calls a Tensor among `arrays` again
    op            the function that was called
    arrays        tuple of what it was called with: ndarrays and numbers
    options       dictionary of its keyword arguments
    common_shape  a function of the shapes that raises a ValueError which says the rule they
                  break; asked when `op` is a ufunc or np.where
    returns       an exception of the same kind, not raised

    >>> shape = {"shape": (2, 2)}
    >>> print(explain_error(ValueError("bad"), np.reshape, (np.ones(3),), shape, None))
    reshape of shape (3,): bad
    """
    if isinstance(arrays, (tuple, list)) and any(hasattr(a, "requires_grad") for a in arrays):
        return TypeError(
            "`run` got a Tensor; send each input through `operand`, and never assign a Tensor to "
            "x.data: write x.data = y.data"
        )
    if isinstance(error, RecursionError):
        return error
    if not isinstance(arrays, (tuple, list)) or not isinstance(options, dict):
        return TypeError(
            "run(op, arrays, options) takes one tuple of arrays and one dictionary, "
            "without * and **"
        )
    shapes = [np.shape(a) for a in arrays]
    if isinstance(error, np.exceptions.AxisError):
        n = len(shapes[0])
        return np.exceptions.AxisError(
            f"there is no axis {options.get('axis')} in shape {shapes[0]}: "
            + (f"its axes are 0 to {n - 1}, or -{n} to -1" if n else "it has no axes")
        )
    if isinstance(error, ValueError) and (isinstance(op, np.ufunc) or op is np.where):
        try:
            common_shape(*shapes)
        except ValueError as clearer:
            return clearer
    if op in (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert):
        wrong = next((a.dtype for a in arrays if getattr(a, "dtype", None) not in (None, bool)), "")
        cure = "comparisons need brackets: (x > 0) & (x < 1)"
        if op is np.bitwise_xor:
            cure = "a power is x ** 2"
        return TypeError(f"& | ^ and ~ are for integers, True and False, not {wrong}\n{cure}")
    kind = next(k for k in (IndexError, ValueError, TypeError) if isinstance(error, k))
    name = op.__name__.removesuffix("_forward")
    return kind(f"{name} of shape{'s' * (len(shapes) > 1)} {', '.join(map(str, shapes))}: {error}")


# axes and shapes


def as_tuple(numbers):
    """(2, 3) from the arguments of f(2, 3) and from those of f((2, 3)) or f([2, 3]).

    >>> as_tuple((2, 3)), as_tuple(([2, 3],))
    ((2, 3), (2, 3))
    """
    if len(numbers) == 1 and isinstance(numbers[0], (tuple, list)):
        return tuple(numbers[0])
    return numbers


def infer_shape(shape, size):
    """`shape` with its -1 replaced by the length that fits `size` elements.

    shape    tuple of lengths >= 0; at most one may be -1
    size     how many elements there are
    returns  tuple of lengths whose product is `size`

    Raises ValueError, with the shape and the size in its text, if no length fits, if several
    would fit (two -1, or (0, -1) for 0 elements), or if a length is below -1.

    >>> infer_shape((-1, 5), 30)
    (6, 5)

    Source: the rule of numpy.reshape.
    """
    known = math.prod(n for n in shape if n != -1)
    full = shape
    if shape.count(-1) == 1 and known != 0:
        full = tuple(size // known if n == -1 else n for n in shape)
    if min(full, default=0) < 0 or math.prod(full) != size:
        raise ValueError(
            f"{size} elements do not fit shape {shape}: "
            f"the lengths must multiply to {size}, one of them may be -1"
        )
    return full


def permutation(axes, shape):
    """`axes` of transpose(x, *axes), several numbers or one tuple, as one tuple counted from 0.

    >>> permutation((-1, 0, 1), (4, 5, 6)), permutation(((1, 0),), (4, 5))
    ((2, 0, 1), (1, 0))

    Raises ValueError unless each axis of `shape` is named once.
    """
    order = tuple(a + len(shape) if a < 0 else a for a in as_tuple(axes))
    if sorted(order) != list(range(len(shape))):
        raise ValueError(f"axes {axes} do not name each axis of shape {shape} once")
    return order


def refuse_exchange(axes, shape):
    """Raise a ValueError that names `swapaxes` if `axes` are two ints that mean an exchange in
    PyTorch: of more than two axes, or of a matrix, (0, 1) or (-2, -1), which would change nothing.
    """
    ndim = len(shape)
    if len(axes) == 2 and not any(isinstance(a, (tuple, list)) for a in axes):
        if ndim > 2 or ndim == 2 and [a % 2 for a in axes if -2 <= a < 2] == [0, 1]:
            pair = ", ".join(map(str, axes))
            raise ValueError(
                f"transpose({pair}) of shape {shape} does not exchange two axes\n"
                f"write x.swapaxes({pair}); transpose takes all axes in their new order"
            )


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


def count_along(x, axis=None):
    """How many elements of `x` go into each element of a reduction along `axis`.

    x        Tensor
    axis     an int, a tuple of ints (negative ones count from the end), or None for all
    returns  a Python int

    Raises np.exceptions.AxisError, an IndexError, for an axis that does not exist.

    >>> count_along(np.ones((2, 3)), axis=0), count_along(np.ones((0, 4)), 1)
    (2, 4)
    """
    return math.prod(x.shape[a] for a in axes_of(axis, x.ndim))


def flattened_shape(shape, start_axis=0, end_axis=-1):
    """`shape` with the axes from start_axis to end_axis, both included, joined into one.

    A shape without axes becomes (1,). Raises ValueError when start_axis comes after end_axis.

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


# memory


class Changes:
    """When arrays were changed in place, by what tells so: x[...] = ..., `w -= ...`, the step of an
    optimizer. What changes x.data directly does not tell.

    last  the time of the last change. Times are numbers from `clock`, as those of operations

    >>> x, before = np.zeros(3), clock()
    >>> changes.mark(x[:1])
    >>> changes.since(before, x), changes.since(clock(), x)
    (True, False)
    """

    def __init__(self):
        self.last, self.times = -1, {}  # {id of the array that owns the memory: (time, weakref)}

    def mark(self, array):
        """The memory of `array` was changed in place."""
        owner = owner_of(array)
        self.last, key = clock(), id(owner)
        known = self.times.get(key)
        forget = known[1] if known else weakref.ref(owner, lambda _: self.times.pop(key, None))
        self.times[key] = self.last, forget

    def since(self, time, array):
        """Whether `array`, an ndarray or anything else, was changed after `time`."""
        known = self.times.get(id(owner_of(array))) if isinstance(array, np.ndarray) else None
        return known is not None and known[0] > time


def owner_of(array):
    """The array whose memory `array`, perhaps a view, shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


clock, changes = itertools.count().__next__, Changes()


def keep_freed_memory():
    """Let glibc reuse freed blocks of up to 31 MiB, for the rest of the process.

    On Linux, glibc returns a large block to the system when it is freed; for the next block, the
    system has to provide each page of 4 kB again. A small network spent a third of its time on
    that. glibc adapts its threshold: it keeps blocks that are not larger than the largest block
    freed so far. So this function allocates such a block and frees it; its pages are never touched,
    so it takes no memory. From 32 MiB on, glibc does not adapt. Other C libraries are not affected.
    """
    np.empty(31 << 20, np.uint8)


# bits


def pack_bits(q, bits):
    """The lowest `bits` bits of each number of an int8 array (n,), one after the other in a uint8
    array of ceil(n * bits / 8) bytes. The first number begins at the lowest bit of the first byte.

    >>> pack_bits(np.array([3, -1, 2], np.int8), 3)  # 011, 111, 010
    array([187,   0], dtype=uint8)
    """
    if bits == 8:
        return q.view(np.uint8).copy()
    planes = np.unpackbits(q.view(np.uint8)[:, None], axis=1, bitorder="little")
    return np.packbits(planes[:, :bits], bitorder="little")


def unpack_bits(p, n, bits):
    """The n signed numbers that `pack_bits` has packed, an int8 array (n,).

    >>> unpack_bits(np.array([187, 0], np.uint8), 3, 3)
    array([ 3, -1,  2], dtype=int8)
    """
    if bits == 8:
        return p[:n].copy().view(np.int8)
    planes = np.unpackbits(p, count=n * bits, bitorder="little").reshape(n, bits)
    signs = np.repeat(planes[:, -1:], 8 - bits, axis=1)  # two's complement: the sign repeats
    whole = np.concatenate([planes, signs], axis=1)
    return np.packbits(whole, axis=1, bitorder="little").ravel().view(np.int8)
