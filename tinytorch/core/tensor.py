# From modules/source/02_tensor/tensor_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 96c936181644febe
"""Tensor: arrays with shapes, strides and dtypes, which can record how they were computed.

What is here, in the order in which to read it:

    Tensor           .data is a NumPy array; .grad, .requires_grad and .creator are for autograd
    apply            every operation: run a NumPy function, wrap the result, record it
    broadcast_shape  which shapes fit together; matmul_shape says it for matrix products
    var, transpose   functions that are written with operations

The operators and most methods only call `apply`, as in apply(np.matmul, x, y) for `x @ y`; they
are in support/tensor_methods.py. Gradients are computed in core/autograd.py.

>>> images, W = Tensor([[0.0, 1.0], [1.0, 1.0]]), Variable([[1.0, -2.0], [3.0, 0.5]])
>>> scores = maximum(images @ W + 1, 0)
>>> scores
Tensor([[4. , 1.5],
        [5. , 0. ]], requires_grad=True)
>>> scores.shape, scores.creator.op is np.maximum
((2, 2), True)
"""

import math

import numpy as np

from tinytorch.support.arrays import (
    as_array,
    as_result,
    as_tuple,
    axes_of,
    count_along,
    explain_error,
    infer_shape,
    permutation,
    refuse_exchange,
)
from tinytorch.support.forward import HALF, concatenate_forward, reshape_forward, stack_forward
from tinytorch.support.missing_names import numpy_names
from tinytorch.support.tensor_methods import TensorMethods, operand, record, recording

__all__ = [
    "strides_of", "broadcast_shape", "Tensor", "Variable", "apply", "maximum", "minimum", "where", "var", "transpose",
    "matmul_by_broadcasting", "matmul_shape", "concatenate", "stack",
]


def strides_of(shape):
    """The strides of an array in row-major order, counted in elements.

    returns  tuple of Python ints, one per axis

    >>> strides_of((2, 3))
    (3, 1)
    """
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


def broadcast_shape(*shapes):
    """The shape of a result whose inputs have these shapes.

    returns  the common shape, a tuple

    Raises ValueError, with all the shapes in its text, when two lengths on one axis differ and
    neither is 1.

    >>> broadcast_shape((2, 1, 4), (3, 1))
    (2, 3, 4)
    """
    rank = max(len(shape) for shape in shapes)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    common = [set(lengths) - {1} or {1} for lengths in zip(*padded)]
    if any(len(lengths) > 1 for lengths in common):
        raise ValueError(f"shapes {' and '.join(map(str, shapes))} do not broadcast: "
                         "aligned at the right, lengths must be equal or 1")
    return tuple(lengths.pop() for lengths in common)


class Tensor(TensorMethods):
    """An array of numbers that can record how it was computed.

    >>> Tensor([[1, 0.5], [2, 4]]).shape
    (2, 2)
    """

    __slots__ = ()  # no other attributes: a misspelt x.dtaa = 0 is an error

    def __init__(self, data, requires_grad=False):
        self.data = as_array(data.data if isinstance(data, Tensor) else data, requires_grad)
        self.requires_grad = requires_grad
        self.grad = self.creator = None

    def mean(self, axis=None, keepdims=False):
        if self.dtype == HALF:  # float16: a sum is easily above 65504, its largest number
            return self.float().mean(axis, keepdims).to(HALF)
        return self.sum(axis, keepdims) / count_along(self, axis)

    def var(self, axis=None, *, keepdims=False, correction=0):
        if self.dtype == HALF:
            return self.float().var(axis, keepdims=keepdims, correction=correction).to(HALF)
        return var(self, axis, keepdims, correction)

    def reshape(self, *shape):
        """The same elements, in row-major order, in another shape; one length may be -1."""
        return apply(reshape_forward, self, shape=infer_shape(as_tuple(shape), self.size))

    def transpose(self, *axes):
        refuse_exchange(axes, self.shape)  # transpose(0, 1), which PyTorch reads as swapaxes
        return transpose(self, *axes)

    T = property(lambda self: transpose(self), doc="The axes reversed: rows become columns.")


def Variable(data, requires_grad=True):
    """A Tensor that records operations, so that its gradient can be computed."""
    return Tensor(data, requires_grad)


def wrap(array):
    """A Tensor around `array` itself: no copy, no checks. For results only."""
    out = object.__new__(Tensor)
    out.data, out.requires_grad = array, False
    out.grad = out.creator = None
    return out


ndarray, FLOAT32 = np.ndarray, np.dtype(np.float32)


def run(op, arrays, options):
    """The result of op(*arrays, **options), an ndarray."""
    if type(arrays) is not tuple and hasattr(arrays, "__next__"):
        raise TypeError("run got a generator, which can be read only once: make a tuple of it, "
                        "tuple(...)")
    try:
        out = op(*arrays, **options) if options else op(*arrays)
    except (ValueError, IndexError, TypeError, RecursionError) as error:
        common_shape = matmul_shape if op is np.matmul else broadcast_shape
        raise explain_error(error, op, arrays, options, common_shape) from None
    if type(out) is not ndarray:
        out = np.asarray(out)  # for rank 0, NumPy returns a number
    return out if out.dtype is FLOAT32 else as_result(out, arrays)


def apply(op, *inputs, **options):
    """Run `op` on the arrays inside `inputs`. Every operation on a Tensor comes through here.

    inputs   Tensors, arrays, numbers or lists; TypeError, from `operand`, for anything else
    returns  a new Tensor around the array that `run(op, arrays, options)` returns, not around
             a copy

    >>> apply(np.add, Tensor([1.0, 2.0]), 0.5)
    Tensor([1.5, 2.5])
    """
    arrays = ()
    for x in inputs:
        arrays += (operand(x),)
    out = wrap(run(op, arrays, options))
    return record(out, op, inputs, arrays, options)


Tensor._apply = staticmethod(apply)  # the operators and methods of TensorMethods call it


def maximum(a, b):
    """The larger of two numbers, elementwise; shapes broadcast."""
    return apply(np.maximum, a, b)


def minimum(a, b):
    """The smaller of two numbers, elementwise; shapes broadcast."""
    return apply(np.minimum, a, b)


def where(condition, a, b):
    """Elements of `a` where `condition` is true, and of `b` elsewhere; shapes broadcast.

    >>> where([True, False], Tensor([1, 2]), 0)
    Tensor([1, 0])
    """
    return apply(np.where, condition, a, b)


def var(x, axis=None, keepdims=False, correction=0):
    """The variance along `axis`: the mean squared distance from the mean.

    returns     Tensor, computed by operations on tensors, not on x.data

    >>> var(Tensor([[1, 3, 5], [2, 2, 8]]), axis=1, correction=1)
    Tensor([ 4., 12.])
    """
    distances = x - x.mean(axis, keepdims=True)
    squares = distances * distances
    return squares.sum(axis, keepdims) / (count_along(x, axis) - correction)


def transpose(x, *axes):
    """The axes of `x` in another order: axis i of the result is axis axes[i] of `x`.

    returns  Tensor that shares memory with `x`: the result of apply(np.transpose, x, axes=...)
             with a tuple of axes, which lesson 06 uses

    Raises ValueError, with the shape of `x` in its text, unless each axis is named once.

    >>> transpose(Tensor(np.ones((2, 3, 4))), 2, 0, 1).shape
    (4, 2, 3)
    """
    if axes:
        axes = permutation(axes, x.shape)
    order = axes or tuple(reversed(range(x.ndim)))
    return apply(np.transpose, x, axes=order)


def matmul_by_broadcasting(a, b):
    """The matrix product, from a broadcast product and a sum.

    a        Tensor of shape (i, k)
    b        Tensor of shape (k, j)
    returns  Tensor of shape (i, j), computed by * and a sum of tensors

    >>> matmul_by_broadcasting(Tensor([[1, 2, 3]]), Tensor([[1], [10], [100]]))
    Tensor([[321]])
    """
    products = a.unsqueeze(2) * b.unsqueeze(0)  # (i, k, j)
    return products.sum(axis=1)


def matmul_shape(a, b):
    """The shape of `x @ y` for tensors of shapes `a` and `b`, tuples. Raises ValueError, with
    both shapes in its text, if they do not fit.

    >>> matmul_shape((10, 2, 3), (10, 3, 4))
    (10, 2, 4)
    """
    if not a or not b or a[-1] != b[-2:][0]:
        raise ValueError(
            f"cannot multiply shape {a} by {b}: the last length of the left shape must equal "
            "the second to last length of the right one, or its only length")
    try:
        batch = broadcast_shape(a[:-2], b[:-2])
    except ValueError as error:
        raise ValueError(f"cannot multiply shape {a} by {b}: batch {error}") from None
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    return batch + rows + columns


@numpy_names
def concatenate(tensors, axis=0):
    """Join tensors along one of their axes; the other lengths must be equal."""
    return apply(concatenate_forward, *tensors, axis=axis)


@numpy_names
def stack(tensors, axis=0):
    """Join tensors of one shape along a new axis.

    >>> stack([Tensor([1, 2]), Tensor([3, 4])]).shape
    (2, 2)
    """
    return apply(stack_forward, *tensors, axis=axis)
