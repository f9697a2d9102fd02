# From modules/source/01_tensor/tensor_dev.py by `tito export`; edit that file, not this one.
# checksum: 983f7f20efe2c519
"""Tensor: Arrays with shapes, strides, broadcasting, matrix products and dtypes."""

import itertools
import math
import threading

import numpy as np

from tinytorch.lazy import autograd_lesson
from tinytorch.support.arrays import (
    as_array,
    as_index_array,
    as_tuple,
    axes_of,
    explain_error,
    flattened_shape,
    pad_pairs,
    squeezed_shape,
    write_in_place,
)
from tinytorch.support.forward import (
    clip_forward,
    concatenate_forward,
    max_forward,
    min_forward,
    name_of,
    pad_forward,
    power,
    relu_forward,
    reshape_forward,
    sigmoid_forward,
    stack_forward,
    sum_forward,
    take_forward,
)
from tinytorch.support.missing_names import numpy_names
from tinytorch.support.tensor_methods import TensorMethods

__all__ = [
    "strides_of", "broadcast_shape", "Tensor", "Variable", "apply", "reflected", "maximum", "minimum", "where",
    "result_dtype", "count_along", "var", "infer_shape", "reshape", "unsqueeze", "broadcast_to", "transpose",
    "swapaxes", "matmul_by_broadcasting", "matmul_shape", "copy_index", "concatenate", "stack",
]


def strides_of(shape):
    """The strides of an array in row-major order, counted in elements.

    shape    tuple of axis lengths
    returns  tuple of as many Python ints; () for shape ()

    >>> strides_of((2, 3))
    (3, 1)

    Source: Van der Walt, Colbert, Varoquaux, The NumPy array (2011), section "Strides".
    """
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


def broadcast_shape(*shapes):
    """The shape of a result whose inputs have these shapes.

    shapes   one or more tuples, of any ranks
    returns  the common shape, a tuple

    Raises ValueError, with all the shapes in its text, when on one axis two lengths differ and
    neither is 1.

    >>> broadcast_shape((2, 1, 4), (3, 1))
    (2, 3, 4)

    Source: NumPy user guide, "Broadcasting".
    """
    rank = max(len(shape) for shape in shapes)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    common = [set(lengths) - {1} or {1} for lengths in zip(*padded)]
    if any(len(lengths) > 1 for lengths in common):
        raise ValueError(f"shapes {' and '.join(map(str, shapes))} do not broadcast: "
                         "aligned at the right, lengths must be equal or 1")
    return tuple(lengths.pop() for lengths in common)


class Operators:
    """Arithmetic and comparisons, with tensors, arrays and Python numbers on either side."""

    __slots__ = ()
    __hash__ = object.__hash__  # by identity, because `==` compares elementwise
    def _apply(self, op, *others, **options): return apply(op, self, *others, **options)

    def __add__(self, other): return apply(np.add, self, other)
    def __radd__(self, other): return reflected(np.add, self, other)
    def __iadd__(self, other): return updated(np.add, self, other, "+=")
    def __sub__(self, other): return apply(np.subtract, self, other)
    def __rsub__(self, other): return reflected(np.subtract, self, other)
    def __isub__(self, other): return updated(np.subtract, self, other, "-=")
    def __mul__(self, other): return apply(np.multiply, self, other)
    def __rmul__(self, other): return reflected(np.multiply, self, other)
    def __imul__(self, other): return updated(np.multiply, self, other, "*=")
    def __truediv__(self, other): return apply(np.divide, self, other)
    def __rtruediv__(self, other): return reflected(np.divide, self, other)
    def __itruediv__(self, other): return updated(np.divide, self, other, "/=")
    def __pow__(self, other): return apply(power, self, other)
    def __rpow__(self, other): return reflected(power, self, other)
    def __ipow__(self, other): return updated(power, self, other, "**=")
    def __matmul__(self, other): return apply(np.matmul, self, other)
    def __rmatmul__(self, other): return reflected(np.matmul, self, other)
    def __imatmul__(self, other): return updated(np.matmul, self, other, "@=")
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
    """Elementwise functions, and reductions along an axis: an int, a tuple, or None for all."""

    __slots__ = ()

    def exp(self): return apply(np.exp, self)
    def log(self): return apply(np.log, self)
    def sqrt(self): return apply(np.sqrt, self)
    def sin(self): return apply(np.sin, self)
    def cos(self): return apply(np.cos, self)
    def tanh(self): return apply(np.tanh, self)
    def sigmoid(self): return apply(sigmoid_forward, self)
    def relu(self): return apply(relu_forward, self)
    def maximum(self, other): return maximum(self, other)
    def minimum(self, other): return minimum(self, other)
    def clip(self, low=None, high=None): return apply(clip_forward, self, low=low, high=high)
    def where(self, condition, other): return where(condition, self, other)

    def sum(self, axis=None, keepdims=False):
        return apply(sum_forward, self, axis=axis, keepdims=keepdims)
    def max(self, axis=None, keepdims=False):
        return apply(max_forward, self, axis=axis, keepdims=keepdims)
    def min(self, axis=None, keepdims=False):
        return apply(min_forward, self, axis=axis, keepdims=keepdims)
    def mean(self, axis=None, keepdims=False):
        return self.sum(axis, keepdims) / count_along(self, axis)
    def var(self, axis=None, keepdims=False, correction=0):
        return var(self, axis, keepdims, correction)
    def std(self, axis=None, keepdims=False, correction=0):
        return var(self, axis, keepdims, correction).sqrt()


class Shapes:
    """The same elements in another shape, or some of them."""

    __slots__ = ()

    def reshape(self, *shape): return reshape(self, *shape)
    def flatten(self, start_axis=0, end_axis=-1):
        return reshape(self, flattened_shape(self.shape, start_axis, end_axis))
    def squeeze(self, axis=None): return reshape(self, squeezed_shape(self.shape, axis))
    def unsqueeze(self, axis): return unsqueeze(self, axis)
    def transpose(self, *axes): return transpose(self, *axes)
    def swapaxes(self, axis1, axis2): return swapaxes(self, axis1, axis2)
    def broadcast_to(self, *shape): return broadcast_to(self, *shape)
    def pad(self, width, value=0):
        return apply(pad_forward, self, width=pad_pairs(width, self.shape), value=value)

    T = property(lambda self: transpose(self), doc="The axes reversed: rows become columns.")

    def __getitem__(self, index): return apply(take_forward, self, index=copy_index(index))
    def __setitem__(self, index, value): put(self, index, value)


class Tensor(Operators, Mathematics, Shapes, TensorMethods):
    """An array of numbers that can record how it was computed.

    data           a number, nested lists, an ndarray or a Tensor; always copied
    requires_grad  record operations on this tensor, so that `backward()` can compute its
                   gradient

    .data           the ndarray
    .grad           None; later the gradient, an ndarray
    .requires_grad  as given, False or True
    .creator        None; of results, how they were computed

    A Tensor made from a Tensor takes its numbers only. Dtypes: see `as_array`.

    >>> Tensor([[1, 0.5], [2, 4]]).shape
    (2, 2)

    Source: torch.Tensor; PyTorch calls the creator `grad_fn`.
    """

    __slots__ = ("data", "grad", "requires_grad", "creator", "__weakref__")

    def __init__(self, data, requires_grad=False):
        if isinstance(data, Tensor):
            data = data.data
        self.data = as_array(data, requires_grad)
        self.grad = None
        self.requires_grad = requires_grad
        self.creator = None

    shape = property(lambda self: self.data.shape, doc="The length of each axis, a tuple.")
    ndim = property(lambda self: self.data.ndim, doc="The rank: how many axes.")
    size = property(lambda self: self.data.size, doc="How many elements.")
    dtype = property(lambda self: self.data.dtype, doc="The NumPy dtype of the elements.")

    def detach(self):
        """A tensor on the same memory, without the record of how it was computed."""
        return wrap(self.data)

    def backward(self, gradient=None, retain_graph=False):
        """Compute the gradient of this scalar for every tensor it was computed from."""
        return autograd_lesson().backward(self, gradient, retain_graph)


def Variable(data, requires_grad=True):
    """A Tensor whose gradient is wanted."""
    return Tensor(data, requires_grad)


def wrap(array):
    """A Tensor around `array` itself: no copy, no checks. For results only."""
    out = object.__new__(Tensor)
    out.data, out.requires_grad = array, False
    out.grad = out.creator = None
    return out


NUMBERS, FLOAT32, ndarray = (float, int, bool), np.dtype(np.float32), np.ndarray


def operand(x):
    """What NumPy is to compute with for `x`: an ndarray or a Python number; else TypeError."""
    if isinstance(x, Tensor):
        return x.data
    if type(x) in NUMBERS or isinstance(x, ndarray):
        return x
    if isinstance(x, np.generic):
        return x.item()  # np.sqrt(64) counts as a Python number, which takes the tensor's dtype
    if isinstance(x, (list, tuple)):
        return as_array(x)
    raise TypeError(f"cannot compute with {x!r:.60}: a Tensor, an array or a number is needed")


def run(op, arrays, options):
    """op(*arrays, **options) as an ndarray; `result_dtype` decides on other floats."""
    try:
        out = op(*arrays, **options)
    except (ValueError, IndexError, TypeError) as error:
        common_shape = matmul_shape if op is np.matmul else broadcast_shape
        raise explain_error(error, op, arrays, options, common_shape) from None
    if type(out) is not ndarray:
        out = np.asarray(out)  # NumPy returns a bare number for rank 0
    if out.dtype is not FLOAT32 and out.dtype.kind == "f":
        out = out.astype(result_dtype(out.dtype, arrays), copy=False)
    return out


class Recording(threading.local):
    """Whether operations are recorded, in this thread. `no_grad` switches it off."""

    on = True


recording = Recording()
next_creation = itertools.count().__next__


class Creator:
    """A node of the computation graph: a result was op(*arrays, **options).

    inputs   what `apply` was given
    arrays   what was inside the inputs then
    created  a number that grows, so that `backward()` can go from the newest to the oldest
    """

    __slots__ = ("op", "inputs", "arrays", "options", "created")

    def __init__(self, op, inputs, arrays, options):
        self.op, self.inputs = op, inputs
        self.arrays, self.options = arrays, options
        self.created = next_creation()

    def __repr__(self):
        return name_of(self.op)


def any_requires_grad(inputs):
    """Whether one of `inputs` is a Tensor that requires a gradient."""
    for x in inputs:
        if isinstance(x, Tensor) and x.requires_grad:
            return True
    return False


def apply(op, *inputs, **options):
    """Run `op` on the arrays inside `inputs`. Every operation on a Tensor comes through here.

    op       a function of arrays that returns an array: np.add, np.exp, ...
    inputs   Tensors, arrays, numbers or lists; TypeError, from `operand`, for anything else
    options  keyword arguments of `op`, such as axis=0
    returns  a new Tensor around what `run` returns, not a copy of it; its creator records `op`,
             the inputs as given, their arrays, and the options

    >>> apply(np.add, Tensor([1.0, 2.0]), 0.5)
    Tensor([1.5, 2.5])

    Source: Baydin et al., Automatic differentiation in machine learning (2018), section 4.
    """
    arrays = ()
    for x in inputs:
        arrays += (operand(x),)
    data = run(op, arrays, options)
    out = wrap(data)
    if recording.on and any_requires_grad(inputs) and data.dtype.kind == "f":
        out.requires_grad = True
        out.creator = Creator(op, inputs, arrays, options)
    return out


def reflected(op, x, other):
    """Compute `other op x`, for a Tensor that stands on the right of the operator.

    op       np.subtract, np.divide, ...
    x        the Tensor
    other    what stands on the left: a number, an array or a list
    returns  a Tensor, recorded like every result of `apply`

    >>> reflected(np.subtract, Tensor([1, 2, 3]), 5)
    Tensor([4, 3, 2])

    Source: The Python Language Reference, section 3.3.8, "Emulating numeric types".
    """
    return apply(op, other, x)


def updated(op, x, other, sign):
    """x += other, x *= other, ...: a new tensor; what is to be learned is changed in place."""
    if x.requires_grad and x.creator is None:
        return write_in_place(x, run(op, (x.data, operand(other)), {}), sign, recording.on)
    return apply(op, x, other)


def maximum(a, b):
    """The larger of two numbers, elementwise; shapes broadcast."""
    return apply(np.maximum, a, b)


def minimum(a, b):
    """The smaller of two numbers, elementwise; shapes broadcast."""
    return apply(np.minimum, a, b)


def where(condition, a, b):
    """From `a` where `condition` is true, from `b` elsewhere; shapes broadcast.

    >>> where([True, False], Tensor([1, 2]), 0)
    Tensor([1, 0])
    """
    return apply(np.where, condition, a, b)


def result_dtype(dtype, arrays):
    """The dtype that the result of an operation gets.

    dtype    the np.dtype that NumPy chose
    arrays   what went in: ndarrays and Python numbers
    returns  `dtype` itself if it is no floating-point dtype, or if one of the ndarrays has it;
             else float32, as an np.dtype

    >>> result_dtype(np.dtype("float64"), (np.array([1, 2]), 0.5))
    dtype('float32')

    Source: PyTorch, "Tensor Attributes", type promotion with the default dtype.
    """
    given = [array.dtype for array in arrays if isinstance(array, np.ndarray)]
    if dtype.kind == "f" and dtype not in given:
        return FLOAT32
    return dtype


def count_along(x, axis=None):
    """How many elements of `x` go into each element of a reduction along `axis`.

    x        Tensor
    axis     an int, a tuple of ints (negative ones count from the end), or None for all
    returns  a Python int

    Raises np.exceptions.AxisError, an IndexError, for an axis that does not exist.

    >>> count_along(Tensor([[1, 2, 3], [4, 5, 6]]), axis=0)
    2

    Source: the definition of the arithmetic mean.
    """
    count = 1
    for a in axes_of(axis, x.ndim):
        count *= x.shape[a]
    return count


def var(x, axis=None, keepdims=False, correction=0):
    """The variance along `axis`: the mean squared distance from the mean.

    x           Tensor
    axis        an int, a tuple, or None for all
    keepdims    keep the reduced axes, with length 1
    correction  is subtracted from the count that is divided by
    returns     Tensor, recorded like every result; float32 for integers

    >>> var(Tensor([[1, 3, 5], [2, 2, 8]]), axis=1, correction=1)
    Tensor([ 4., 12.])

    Source: Chan, Golub, LeVeque, Algorithms for computing the sample variance (1983),
    "two-pass".
    """
    distances = x - x.mean(axis, keepdims=True)
    squares = distances * distances
    return squares.sum(axis, keepdims) / (count_along(x, axis) - correction)


def infer_shape(shape, size):
    """`shape` with its -1 replaced by the length that fits `size` elements.

    shape    tuple of lengths >= 0; at most one may be -1
    size     how many elements there are
    returns  tuple of lengths whose product is `size`

    Raises ValueError, with the shape and the size in its text, when there is no such tuple, or
    more than one, and for lengths below -1.

    >>> infer_shape((-1, 5), 30)
    (6, 5)

    Source: the rule of numpy.reshape.
    """
    known = math.prod(n for n in shape if n != -1)
    full = shape
    if shape.count(-1) == 1 and known != 0:
        full = tuple(size // known if n == -1 else n for n in shape)
    if min(full, default=0) < 0 or math.prod(full) != size:
        raise ValueError(f"{size} elements do not fit shape {shape}: "
                         f"the lengths must multiply to {size}, one of them may be -1")
    return full


def reshape(x, *shape):
    """The same elements, in row-major order, in another shape; one length may be -1.

    >>> reshape(Tensor([1, 2, 3, 4, 5, 6]), 2, -1)
    Tensor([[1, 2, 3],
            [4, 5, 6]])
    """
    return apply(reshape_forward, x, shape=infer_shape(as_tuple(shape), x.size))


def unsqueeze(x, axis):
    """A new axis of length 1, which is axis `axis` of the result.

    >>> unsqueeze(Tensor([1, 2, 3]), -1).shape
    (3, 1)
    """
    (new,) = axes_of(axis, x.ndim + 1)
    return reshape(x, *x.shape[:new], 1, *x.shape[new:])


def broadcast_to(x, *shape):
    """`x` broadcast to `shape`: a view with strides of 0, which can only be read."""
    shape = as_tuple(shape)
    if broadcast_shape(x.shape, shape) != shape:
        raise ValueError(f"shape {x.shape} does not broadcast to {shape}: "
                         "only lengths of 1 can be repeated")
    return apply(np.broadcast_to, x, shape=shape)


def transpose(x, *axes):
    """The axes of `x` in another order: axis i of the result is axis axes[i] of `x`.

    x        Tensor
    axes     each axis once, as several ints or one tuple; negative ones count from the end;
             none: reversed
    returns  Tensor that shares memory with `x`, by np.transpose; its creator's options are
             {"axes": a tuple of ints from 0}, from which the order can be undone

    Raises ValueError, with the shape of `x` in its text, unless each axis is named once.

    >>> transpose(Tensor(np.ones((2, 3, 4))), 2, 0, 1).shape
    (4, 2, 3)

    Source: numpy.transpose; PyTorch calls it permute.
    """
    order = as_tuple(axes) if axes else tuple(reversed(range(x.ndim)))
    order = tuple(a + x.ndim if a < 0 else a for a in order)
    if sorted(order) != list(range(x.ndim)):
        raise ValueError(f"axes {axes} do not name each axis of shape {x.shape} once")
    return apply(np.transpose, x, axes=order)


def swapaxes(x, axis1, axis2):
    """`x` with two axes exchanged, the commonest case of `transpose`."""
    order = list(range(x.ndim))
    a, b = axes_of((axis1, axis2), x.ndim)
    order[a], order[b] = b, a
    return apply(np.transpose, x, axes=tuple(order))  # a permutation


def matmul_by_broadcasting(a, b):
    """The matrix product, from a broadcast product and a sum.

    a        Tensor of shape (i, k)
    b        Tensor of shape (k, j)
    returns  Tensor of shape (i, j), recorded through * and a sum

    >>> matmul_by_broadcasting(Tensor([[1, 2, 3]]), Tensor([[1], [10], [100]]))
    Tensor([[321]])

    Source: Strang, Introduction to Linear Algebra, section 2.4.
    """
    products = unsqueeze(a, 2) * unsqueeze(b, 0)  # (i, k, j)
    return products.sum(axis=1)


def matmul_shape(a, b):
    """The shape of `x @ y` for tensors of shapes `a` and `b`.

    a, b     tuples: (k,) or (..., i, k), and (k,) or (..., k, j)
    returns  tuple: batch + (i, j), without i when `a` has rank 1, without j when `b` has rank 1

    Raises ValueError, with both shapes in its text: for rank 0, for inner dimensions that
    differ, for batch dimensions that do not broadcast.

    >>> matmul_shape((10, 2, 3), (10, 3, 4))
    (10, 2, 4)

    Source: Python Enhancement Proposal 465, "Semantics".
    """
    if not a or not b or a[-1] != b[-2:][0]:
        raise ValueError(
            f"cannot multiply shape {a} by {b}: the inner dimensions must be equal, the last "
            "length of the left and the last but one of the right (its only one, at rank 1)")
    try:
        batch = broadcast_shape(a[:-2], b[:-2])
    except ValueError as error:
        raise ValueError(f"cannot multiply shape {a} by {b}: batch {error}") from None
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    return batch + rows + columns


def put(x, index, value):
    """x[index] = value, in place; RuntimeError when a gradient is wanted."""
    needed = x.requires_grad or isinstance(value, Tensor) and value.requires_grad
    if x.creator is not None or (needed and recording.on):
        raise RuntimeError(
            "writing into this tensor would change numbers that the computation graph needs; "
            "make a new tensor with where(), or write into x.detach()")
    x.data[copy_index(index)] = operand(value)


def copy_index(index):
    """What stands between the brackets of x[...], as a tuple that nobody can change later.

    index    int, slice, None, Ellipsis, a list or array of ints, a mask, a Tensor of ints or
             bools, or a tuple of these
    returns  tuple with one part for each: a new array, by as_index_array, for each Tensor,
             array or list; all else as it was

    >>> copy_index((0, Tensor([True, False])))
    (0, array([ True, False]))

    Source: NumPy user guide, "Indexing on ndarrays".
    """
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(as_index_array(part) if isinstance(part, (Tensor, np.ndarray, list)) else part
                 for part in parts)


@numpy_names
def concatenate(tensors, axis=0):
    """Tensors one after the other along an axis they have; all other lengths must agree."""
    return apply(concatenate_forward, *tensors, axis=axis)


@numpy_names
def stack(tensors, axis=0):
    """Tensors of one shape side by side along a new axis.

    >>> stack([Tensor([1, 2]), Tensor([3, 4])], axis=1)
    Tensor([[1, 3],
            [2, 4]])
    """
    return apply(stack_forward, *tensors, axis=axis)
