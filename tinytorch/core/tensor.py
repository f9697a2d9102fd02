# From modules/source/01_tensor/tensor_dev.py by `tito export`; edit that file, not this one.
# checksum: fb8a06b4265faa85
"""Tensor: A grid of numbers that adds, broadcasts, reshapes and multiplies."""

import itertools
import math
import threading

import numpy as np

from tinytorch.support.arrays import copy_of, explained, fresh
from tinytorch.support.forward import (
    clip_forward,
    concatenate_forward,
    max_forward,
    min_forward,
    pad_forward,
    power,
    relu_forward,
    reshape_forward,
    sigmoid_forward,
    stack_forward,
    sum_forward,
    take_forward,
)
from tinytorch.support.shapes import as_tuple, axes_of, flattened, margins, squeezed

__all__ = [
    "as_array", "Tensor", "Variable", "as_text", "strides_of", "apply", "reflected", "broadcast_shape", "exp", "log",
    "sqrt", "sin", "cos", "tanh", "maximum", "minimum", "where", "relu", "sigmoid", "clip", "reduce_sum", "reduce_max",
    "reduce_min", "argmax", "argmin", "count_along", "mean", "var", "std", "infer_shape", "reshape", "flatten",
    "unsqueeze", "squeeze", "broadcast_to", "transpose", "swapaxes", "matmul_by_broadcasting", "matmul_shape",
    "matmul", "plain_index", "take", "put", "concatenate", "stack", "pad",
]


def as_array(data, requires_grad=False):
    """The array that a Tensor keeps for `data`.

    data           a number, nested lists of numbers, or an ndarray
    requires_grad  whether slopes with respect to these numbers will be wanted
    returns        a new ndarray; `data` is never shared

    | given                         | dtype                 | with requires_grad           |
    | an ndarray                    | its own               | float32 unless it is a float |
    |                               |                       | dtype already                |
    | a bare int or float           | float32               | float32                      |
    | a bare NumPy number, not bool | float32               | float32                      |
    | lists with a fraction         | float32               | float32                      |
    | lists of ints; bools anywhere | NumPy's (int64, bool) | float32                      |

    >>> as_array([1, 0.5])
    array([1. , 0.5], dtype=float32)

    Source: the same rule as torch.tensor, except for a bare int.
    """
    array = copy_of(data)
    by_hand = not isinstance(data, np.ndarray)
    kind = array.dtype.kind
    if by_hand and (kind == "f" or array.ndim == 0 and kind != "b"):
        array = array.astype(np.float32)
    if requires_grad and kind != "f":
        array = array.astype(np.float32)
    return array


class Operators:
    """Arithmetic and comparisons, with tensors, arrays and Python numbers on either side."""

    __slots__ = ()
    # makes `array + tensor` call Tensor.__radd__ instead of looping over the array
    __array_ufunc__ = None
    __hash__ = object.__hash__  # by identity, because `==` compares place by place

    def __add__(self, other): return apply(np.add, self, other)
    def __radd__(self, other): return reflected(np.add, self, other)
    def __sub__(self, other): return apply(np.subtract, self, other)
    def __rsub__(self, other): return reflected(np.subtract, self, other)
    def __mul__(self, other): return apply(np.multiply, self, other)
    def __rmul__(self, other): return reflected(np.multiply, self, other)
    def __truediv__(self, other): return apply(np.divide, self, other)
    def __rtruediv__(self, other): return reflected(np.divide, self, other)
    def __pow__(self, other): return apply(power, self, other)
    def __rpow__(self, other): return reflected(power, self, other)
    def __matmul__(self, other): return apply(np.matmul, self, other)
    def __rmatmul__(self, other): return reflected(np.matmul, self, other)
    def __neg__(self): return apply(np.negative, self)
    def __abs__(self): return apply(np.absolute, self)

    def __eq__(self, other):
        return NotImplemented if other is None else apply(np.equal, self, other)
    def __ne__(self, other):
        return NotImplemented if other is None else apply(np.not_equal, self, other)
    def __lt__(self, other): return apply(np.less, self, other)
    def __le__(self, other): return apply(np.less_equal, self, other)
    def __gt__(self, other): return apply(np.greater, self, other)
    def __ge__(self, other): return apply(np.greater_equal, self, other)


class Mathematics:
    """Functions of each number, and of many numbers: each is the function of that name."""

    __slots__ = ()

    def exp(self): return exp(self)
    def log(self): return log(self)
    def sqrt(self): return sqrt(self)
    def sin(self): return sin(self)
    def cos(self): return cos(self)
    def tanh(self): return tanh(self)
    def sigmoid(self): return sigmoid(self)
    def relu(self): return relu(self)
    def maximum(self, other): return maximum(self, other)
    def minimum(self, other): return minimum(self, other)
    def clip(self, low=None, high=None): return clip(self, low, high)
    def where(self, condition, other): return where(condition, self, other)

    def sum(self, axis=None, keepdims=False): return reduce_sum(self, axis, keepdims)
    def max(self, axis=None, keepdims=False): return reduce_max(self, axis, keepdims)
    def min(self, axis=None, keepdims=False): return reduce_min(self, axis, keepdims)
    def mean(self, axis=None, keepdims=False): return mean(self, axis, keepdims)
    def var(self, axis=None, keepdims=False, correction=0):
        return var(self, axis, keepdims, correction)
    def std(self, axis=None, keepdims=False, correction=0):
        return std(self, axis, keepdims, correction)
    def argmax(self, axis=None, keepdims=False): return argmax(self, axis, keepdims)
    def argmin(self, axis=None, keepdims=False): return argmin(self, axis, keepdims)


class Shapes:
    """The same numbers in another grid, or some of them."""

    __slots__ = ()

    def reshape(self, *shape): return reshape(self, *shape)
    def flatten(self, start_axis=0, end_axis=-1): return flatten(self, start_axis, end_axis)
    def squeeze(self, axis=None): return squeeze(self, axis)
    def unsqueeze(self, axis): return unsqueeze(self, axis)
    def transpose(self, *axes): return transpose(self, *axes)
    def swapaxes(self, axis1, axis2): return swapaxes(self, axis1, axis2)
    def broadcast_to(self, *shape): return broadcast_to(self, *shape)
    def pad(self, width, value=0): return pad(self, width, value)

    @property
    def T(self):
        """The axes in reverse order: rows become columns."""
        return transpose(self)

    def __getitem__(self, index): return take(self, index)
    def __setitem__(self, index, value): put(self, index, value)

    def __iter__(self):
        return (self[i] for i in range(len(self)))


class Tensor(Operators, Mathematics, Shapes):
    """A grid of numbers that knows how to compute.

    data           a number, nested lists, an ndarray or a Tensor; copied (see `as_array` for
                   the dtype)
    requires_grad  note how results are made from this tensor, so that slopes can be found later

    .data     the live ndarray           .grad     an ndarray of the same shape, or None
    .creator  how it was made, or None   .shape .ndim .size .dtype .T

    >>> Tensor([[1, 0.5], [2, 4]]).shape
    (2, 2)
    """

    __slots__ = ("data", "grad", "requires_grad", "creator", "__weakref__")

    def __init__(self, data, requires_grad=False):
        self.data = as_array(data.data if isinstance(data, Tensor) else data, requires_grad)
        self.grad = None
        self.requires_grad = bool(requires_grad)
        self.creator = None

    shape = property(lambda self: self.data.shape, doc="Numbers along each axis, as a tuple.")
    ndim = property(lambda self: self.data.ndim, doc="How many axes.")
    size = property(lambda self: self.data.size, doc="How many numbers.")
    dtype = property(lambda self: self.data.dtype, doc="The NumPy dtype of the numbers.")

    def item(self):
        """The one number in this tensor, as a Python number."""
        if self.size != 1:
            raise ValueError("item() needs exactly one number, "
                             f"shape {self.shape} holds {self.size}: pick one, x[i]")
        return self.data.item()

    def numpy(self):
        """A copy of the numbers, yours to change. (`.data` is the live array.)"""
        return self.data.copy()

    def detach(self):
        """The same memory in a tensor that remembers nothing of how it was made."""
        return wrap(self.data)

    def backward(self, gradient=None, retain_graph=False):
        """Find the slope of this number with respect to everything it was made from."""
        try:
            from tinytorch.core.autograd import backward
        except ModuleNotFoundError:
            raise ImportError("backward() is built in the autograd lesson; "
                              "then `tito export autograd`") from None
        return backward(self, gradient, retain_graph)

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("a tensor of shape () is one number and has no length")
        return len(self.data)

    def __float__(self):
        return float(self.item())

    def __bool__(self):
        if self.size != 1:
            raise ValueError(f"shape {self.shape} holds {self.size} truth values, not one: "
                             "ask x.data.any() or .all()")
        return bool(self.data.item())

    def __array__(self, dtype=None, copy=None):
        return np.array(self.data, dtype=dtype, copy=copy)

    def __repr__(self):
        return as_text(self)

    def __format__(self, spec):
        return format(self.item(), spec) if spec else repr(self)


def Variable(data, requires_grad=True):
    """A Tensor whose gradient is wanted."""
    return Tensor(data, requires_grad)


def wrap(array):
    """A Tensor around `array` itself: no copy, no checks. For results only."""
    out = Tensor.__new__(Tensor)
    out.data = array
    out.grad = None
    out.requires_grad = False
    out.creator = None
    return out


def as_text(x):
    """What Python prints for the Tensor `x`.

    Rows stand under each other. A dtype other than float32, int64 or bool is named after the
    numbers, then `requires_grad=True` if a gradient is wanted.

    >>> Tensor([[1, 20], [300, 4]])
    Tensor([[  1,  20],
            [300,   4]])
    >>> Tensor(np.array([0.5]), requires_grad=True)
    Tensor([0.5], dtype=float64, requires_grad=True)

    Source: numpy.array2string does the numbers.
    """
    text = np.array2string(x.data, separator=", ", prefix="Tensor(")
    if x.dtype.name not in ("float32", "int64", "bool"):
        text += f", dtype={x.dtype}"
    if x.requires_grad:
        text += ", requires_grad=True"
    return f"Tensor({text})"


def strides_of(shape):
    """The steps through memory, in numbers, when an index along each axis grows by one.

    shape    tuple of axis lengths; the last index moves fastest
    returns  tuple of as many ints

    >>> strides_of((2, 3))
    (3, 1)

    Source: Van der Walt, Colbert, Varoquaux, The NumPy array (2011), section "Strides".
    """
    return tuple(math.prod(shape[axis + 1:]) for axis in range(len(shape)))


def operand(x):
    """What NumPy is to compute with for `x`: a number or an ndarray; else TypeError."""
    if isinstance(x, Tensor):
        return x.data
    if type(x) in (float, int, bool) or isinstance(x, np.ndarray):
        return x
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, (list, tuple)):
        return as_array(x)
    raise TypeError(f"cannot compute with {x!r:.60}: a Tensor, an array or a number is needed")


FLOAT32 = np.dtype(np.float32)


def run(op, arrays, options):
    """op(*arrays, **options) as an ndarray, never wider than float32 unless an input was."""
    try:
        out = op(*arrays, **options)
    except (ValueError, IndexError, TypeError) as error:
        common_shape = matmul_shape if op is np.matmul else broadcast_shape
        raise explained(error, op, arrays, options, common_shape) from None
    if type(out) is not np.ndarray:
        out = np.asarray(out)
    if out.dtype is not FLOAT32 and out.dtype.kind == "f":
        if out.dtype not in [a.dtype for a in arrays if isinstance(a, np.ndarray)]:
            out = out.astype(FLOAT32)
    return out


class Recording(threading.local):
    """Whether notes are taken in this thread."""

    on = True


recording = Recording()
counter = itertools.count()


class Creator:
    """How a result was made: op(*arrays, **options), `arrays` being those inside `inputs`."""

    __slots__ = ("op", "inputs", "arrays", "options", "created")

    def __init__(self, op, inputs, arrays, options):
        self.op, self.inputs, self.arrays, self.options = op, inputs, arrays, options
        self.created = next(counter)


def record(out, op, inputs, arrays, options):
    """Write into `out` how it was made, if any of `inputs` wants a gradient."""
    for x in inputs:
        if isinstance(x, Tensor) and x.requires_grad:
            if recording.on and out.data.dtype.kind == "f":
                out.requires_grad = True
                out.creator = Creator(op, inputs, arrays, options)
            return


def apply(op, *inputs, **options):
    """Run `op` on the arrays inside `inputs`. Every operation on a Tensor comes through here.

    op       a function of arrays that returns an array: np.add, np.exp, ...
    inputs   Tensors, arrays or numbers
    options  plain keyword arguments of `op`, such as axis=0
    returns  a new Tensor; how it was made is noted when an input wants a gradient

    >>> apply(np.add, Tensor([1, 2, 3]), 0.5)
    Tensor([1.5, 2.5, 3.5])

    Source: Baydin et al., Automatic differentiation in machine learning (2018), section 4.
    """
    arrays = tuple(map(operand, inputs))
    out = wrap(run(op, arrays, options))
    record(out, op, inputs, arrays, options)
    return out


def reflected(op, x, other):
    """Compute `other op x`, for a Tensor that stands on the right of the operator.

    op       np.subtract, np.divide, ...
    x        the Tensor
    other    what stands on the left: a number, an array or a list
    returns  a Tensor

    >>> reflected(np.subtract, Tensor([1, 2, 3]), 5)
    Tensor([4, 3, 2])

    Source: The Python Language Reference, section 3.3.8, "Emulating numeric types".
    """
    return apply(op, other, x)


def broadcast_shape(*shapes):
    """The shape of a result whose inputs have these shapes.

    shapes   one or more tuples, of any ranks
    returns  the common shape, a tuple

    Raises ValueError with all the shapes in it when two lengths on one axis differ and neither
    is 1.

    >>> broadcast_shape((2, 1, 4), (3, 1))
    (2, 3, 4)

    Source: NumPy user guide, "Broadcasting".
    """
    rank = max(len(s) for s in shapes)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    common = [set(lengths) - {1} or {1} for lengths in zip(*padded)]
    if any(len(lengths) > 1 for lengths in common):
        raise ValueError(f"shapes {' and '.join(map(str, shapes))} do not broadcast: "
                         "counted from the right, lengths must be equal or 1")
    return tuple(lengths.pop() for lengths in common)


def exp(x):
    """e to the power of each number."""
    return apply(np.exp, x)


def log(x):
    """The natural logarithm of each number; -inf for 0, nan below."""
    return apply(np.log, x)


def sqrt(x):
    """The square root of each number; nan below 0."""
    return apply(np.sqrt, x)


def sin(x):
    """The sine of each number, an angle in radians."""
    return apply(np.sin, x)


def cos(x):
    """The cosine of each number, an angle in radians."""
    return apply(np.cos, x)


def tanh(x):
    """The hyperbolic tangent: squeezes each number to between -1 and 1."""
    return apply(np.tanh, x)


def maximum(a, b):
    """The larger of two numbers, place by place; shapes broadcast."""
    return apply(np.maximum, a, b)


def minimum(a, b):
    """The smaller of two numbers, place by place; shapes broadcast."""
    return apply(np.minimum, a, b)


def where(condition, a, b):
    """From `a` where `condition` is true, from `b` elsewhere; shapes broadcast.

    >>> where([True, False], Tensor([1, 2]), 0)
    Tensor([1, 0])
    """
    return apply(np.where, condition, a, b)


def relu(x):
    """Zero where x is negative, x elsewhere."""
    return apply(relu_forward, x)


def sigmoid(x):
    """1 / (1 + exp(-x)), between 0 and 1 and correct at +-1000."""
    return apply(sigmoid_forward, x)


def clip(x, low=None, high=None):
    """x held between two numbers; None leaves a side open."""
    return apply(clip_forward, x, low=low, high=high)


def reduce_sum(x, axis=None, keepdims=False):
    """The sum along `axis`: an int, a tuple, or None for all."""
    return apply(sum_forward, x, axis=axis, keepdims=keepdims)


def reduce_max(x, axis=None, keepdims=False):
    """The largest number along `axis`. ValueError when there is none."""
    return apply(max_forward, x, axis=axis, keepdims=keepdims)


def reduce_min(x, axis=None, keepdims=False):
    """The smallest number along `axis`. ValueError when there is none."""
    return apply(min_forward, x, axis=axis, keepdims=keepdims)


def argmax(x, axis=None, keepdims=False):
    """Where the largest number along `axis` is, the first of equals; None: in the flat row."""
    return apply(np.argmax, x, axis=axis, keepdims=keepdims)


def argmin(x, axis=None, keepdims=False):
    """Where the smallest number along `axis` is, the first of equals; None: in the flat row."""
    return apply(np.argmin, x, axis=axis, keepdims=keepdims)


def count_along(x, axis=None):
    """How many numbers of `x` go into each number of a reduction along `axis`.

    x        Tensor
    axis     an int, a tuple of ints (negative ones count from the end), or None for all
    returns  an int

    >>> count_along(Tensor([[1, 2, 3], [4, 5, 6]]), axis=0)
    2

    Source: the definition of the arithmetic mean.
    """
    return math.prod(x.shape[a] for a in axes_of(axis, x.ndim))


def mean(x, axis=None, keepdims=False):
    """The arithmetic mean along `axis`: an int, a tuple, or None for all; always fractions."""
    return reduce_sum(x, axis, keepdims) / count_along(x, axis)


def var(x, axis=None, keepdims=False, correction=0):
    """The variance along `axis`: the mean squared distance from the mean.

    x           Tensor
    axis        an int, a tuple, or None for all
    keepdims    keep the axes that go away, with length 1
    correction  is subtracted from the count that is divided by
    returns     Tensor, float32 for whole numbers

    >>> var(Tensor([[1, 3, 5], [2, 2, 8]]), axis=1, correction=1)
    Tensor([ 4., 12.])

    Source: Chan, Golub, LeVeque, Algorithms for computing the sample variance (1983),
    "two-pass".
    """
    d = x - mean(x, axis, keepdims=True)
    return reduce_sum(d * d, axis, keepdims) / (count_along(x, axis) - correction)


def std(x, axis=None, keepdims=False, correction=0):
    """The standard deviation along `axis`: the square root of `var`, in the unit of `x`."""
    return sqrt(var(x, axis, keepdims, correction))


def infer_shape(shape, size):
    """`shape` with its -1 replaced by the length that makes room for `size` numbers.

    shape    tuple of lengths >= 0; at most one may be -1
    size     how many numbers there are
    returns  tuple of lengths whose product is `size`

    Raises ValueError with the shape and the size in it when there is no such tuple, or no
    single one.

    >>> infer_shape((2, -1, 2), 12)
    (2, 3, 2)

    Source: the rule of numpy.reshape.
    """
    known = math.prod(n for n in shape if n != -1)
    full = shape
    if shape.count(-1) == 1 and known != 0:
        full = tuple(size // known if n == -1 else n for n in shape)
    if min(full, default=0) < 0 or math.prod(full) != size:
        raise ValueError(f"{size} numbers do not fill shape {shape}: "
                         f"the lengths must multiply to {size}, one of them may be -1")
    return full


def reshape(x, *shape):
    """The same numbers, in the same order, in another shape; one length may be -1.

    >>> reshape(Tensor([1, 2, 3, 4, 5, 6]), 2, -1)
    Tensor([[1, 2, 3],
            [4, 5, 6]])
    """
    return apply(reshape_forward, x, shape=infer_shape(as_tuple(shape), x.size))


def flatten(x, start_axis=0, end_axis=-1):
    """The axes from start_axis to end_axis, both included, joined into one.

    >>> flatten(Tensor(np.ones((2, 3, 4))), 1).shape
    (2, 12)
    """
    return reshape(x, flattened(x.shape, start_axis, end_axis))


def unsqueeze(x, axis):
    """A new axis of length 1 at place `axis` of the result.

    >>> unsqueeze(Tensor([1, 2, 3]), -1).shape
    (3, 1)
    """
    (place,) = axes_of(axis, x.ndim + 1)
    return reshape(x, *x.shape[:place], 1, *x.shape[place:])


def squeeze(x, axis=None):
    """Without the axes of length 1: all such, or those named.

    >>> squeeze(Tensor([[[1], [2]]])).shape
    (2,)
    """
    return reshape(x, squeezed(x.shape, axis))


def broadcast_to(x, *shape):
    """`x` stretched to `shape`; its memory is shared, and can only be read."""
    shape = as_tuple(shape)
    if broadcast_shape(x.shape, shape) != shape:
        raise ValueError(f"shape {x.shape} does not stretch to {shape}: only lengths of 1 do")
    return apply(np.broadcast_to, x, shape=shape)


def transpose(x, *axes):
    """The axes of `x` in another order: axis i of the result is axis axes[i] of `x`.

    x        Tensor
    axes     each axis once, as several ints or one tuple, negative ones from the end; none:
             reversed
    returns  Tensor that shares memory with `x`; its note names the axes by numbers from 0, as
             undoing needs

    Raises ValueError, with the shape in it, when an axis is missing or there twice.

    >>> transpose(Tensor(np.ones((2, 3, 4))), 2, 0, 1).shape
    (4, 2, 3)

    Source: numpy.transpose; PyTorch calls it permute.
    """
    axes = axes_of(as_tuple(axes), x.ndim) if axes else tuple(range(x.ndim))[::-1]
    return apply(np.transpose, x, axes=axes)


def swapaxes(x, axis1, axis2):
    """Two axes exchanged, the others in place."""
    order = list(range(x.ndim))
    a, b = axes_of((axis1, axis2), x.ndim)
    order[a], order[b] = b, a
    return transpose(x, order)


def matmul_by_broadcasting(a, b):
    """The matrix product, from a broadcast product and a sum.

    a        Tensor of shape (i, k)
    b        Tensor of shape (k, j)
    returns  Tensor of shape (i, j)

    >>> matmul_by_broadcasting(Tensor([[1, 2, 3]]), Tensor([[1], [10], [100]]))
    Tensor([[321]])

    Source: Strang, Introduction to Linear Algebra, section 2.4.
    """
    products = unsqueeze(a, 2) * unsqueeze(b, 0)  # (i, k, j)
    return reduce_sum(products, axis=1)


def matmul_shape(a, b):
    """The shape of `x @ y` for tensors of shapes `a` and `b`.

    a, b     tuples: (k,) or (..., i, k), and (k,) or (..., k, j)
    returns  batch + (i, j), without i when `a` has one axis and without j when `b` has one

    Raises ValueError with both shapes in it: for no axis, for inner lengths that differ, for
    batches that do not broadcast.

    >>> matmul_shape((5, 1, 2, 3), (4, 3, 7))
    (5, 4, 2, 7)

    Source: Python Enhancement Proposal 465, "Semantics".
    """
    if not a or not b or a[-1] != b[-2:][0]:
        raise ValueError(
            f"cannot multiply shape {a} by {b}: the last length of the left must equal "
            "the last but one of the right (the only one, if it has one axis)")
    try:
        batch = broadcast_shape(a[:-2], b[:-2])
    except ValueError as error:
        raise ValueError(f"cannot multiply shape {a} by {b}: {error}") from None
    return batch + a[-2:-1] + (b[-1:] if len(b) > 1 else ())


def matmul(a, b):
    """The matrix product a @ b for every rank; `matmul_shape` is its rule."""
    return apply(np.matmul, a, b)


def plain_index(index):
    """What stands between the brackets of x[...], as a tuple that nobody can change later.

    index    int, slice, None, Ellipsis, a list or array of ints, a mask, a Tensor of ints or
             bools, or a tuple of these
    returns  tuple with one part for each: a new array in place of each Tensor, array or list,
             all else as it was

    >>> plain_index((0, Tensor([True, False])))
    (0, array([ True, False]))

    Source: NumPy user guide, "Indexing on ndarrays".
    """
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(fresh(part) if isinstance(part, (Tensor, np.ndarray, list)) else part
                 for part in parts)


def take(x, index):
    """x[index]; with ints, slices, None and Ellipsis alone it shares the memory of `x`.

    >>> x = Tensor([5, 6, 7])
    >>> take(x, x > 5)
    Tensor([6, 7])
    """
    return apply(take_forward, x, index=plain_index(index))


def put(x, index, value):
    """x[index] = value, in place; RuntimeError when a gradient is wanted."""
    wanted = x.requires_grad or isinstance(value, Tensor) and value.requires_grad
    if x.creator is not None or (wanted and recording.on):
        raise RuntimeError(
            "writing into this tensor would spoil the note of how a result was made; "
            "build a new one with where(), or write into x.detach()")
    x.data[plain_index(index)] = operand(value)


def concatenate(tensors, axis=0):
    """Tensors one after the other along an axis they have; all other lengths must agree."""
    return apply(concatenate_forward, *tensors, axis=axis)


def stack(tensors, axis=0):
    """Tensors of one shape side by side along a new axis.

    >>> stack([Tensor([1, 2]), Tensor([3, 4])], axis=1)
    Tensor([[1, 3],
            [2, 4]])
    """
    return apply(stack_forward, *tensors, axis=axis)


def pad(x, width, value=0):
    """`x` with a margin of `value`; `width` is numpy.pad's: an int, a pair, a pair per axis.

    >>> pad(Tensor([1, 2]), (1, 2))
    Tensor([0, 1, 2, 0, 0])
    """
    return apply(pad_forward, x, width=margins(width, x.shape), value=value)
