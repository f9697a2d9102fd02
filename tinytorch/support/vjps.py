"""Vector-Jacobian products that the autograd lesson uses and does not teach: corner cases of
powers, and the bookkeeping of shapes.

A rule takes the gradient `g` of a result `out`, then what the operation was called with, and
returns the gradient for one input.
"""

import math

import numpy as np

from tinytorch.support.forward import (
    cast_forward,
    clone_forward,
    concatenate_forward,
    cumsum_forward,
    pad_forward,
    power,
    prod_forward,
    stack_forward,
)
from tinytorch.support.shapes import axes_of


def register_others(derivative):
    """Enter the rules that the autograd lesson does not teach into its table.

    derivative  the function (op, *rules, together=None) that registers the rules of one operation
    """
    derivative(concatenate_forward, together=concatenate_rule)
    derivative(stack_forward, together=stack_rule)
    derivative(pad_forward, pad_rule)
    derivative(cumsum_forward, cumsum_rule)
    derivative(prod_forward, prod_rule)
    derivative(clone_forward, lambda g, out, x: g)
    derivative(cast_forward, lambda g, out, x, like: g, None)  # the engine casts `g` back


def base_rule(g, out, base, exponent):
    """The gradient for the base of power(base, exponent); 0 for an exponent of 0, also at 0.

    >>> base_rule(1.0, 9.0, 3.0, 2)
    6.0
    """
    if type(exponent) is int and exponent == 2:
        return g * (2 * base)
    # with exponent 0: times 0, to the power 0
    return g * exponent * power(base, exponent - (exponent != 0))


def exponent_rule(g, out, base, exponent):
    """The gradient for the exponent of power(base, exponent); 0 where the base is 0 and the power
    stays finite, though the logarithm does not."""
    zero = np.equal(base, 0) & np.greater_equal(exponent, 0)
    return np.where(zero, 0, g * out * np.log(np.where(zero, 1, base), dtype=out.dtype))


def concatenate_rule(g, out, *arrays, axis):
    """The gradients for all arrays that were concatenated: `g`, split where they met."""
    return np.split(g, np.cumsum([array.shape[axis] for array in arrays[:-1]]), axis)


def stack_rule(g, out, *arrays, axis):
    """The gradients for all arrays that were stacked."""
    return list(np.moveaxis(g, axis, 0))


def pad_rule(g, out, x, width, value):
    """The gradient for an array that was padded: `g` without the padding."""
    return g[tuple([slice(before, before + n) for (before, _), n in zip(width, x.shape)])]


def cumsum_rule(g, out, x, axis):
    """The gradient for an array of which the cumulative sum was taken: each element is part of its
    own sum and of all later ones, so its gradient is the sum of theirs."""
    axis, g = (0, g.ravel()) if axis is None else (axis, g)
    return np.flip(np.cumsum(np.flip(g, axis), axis), axis).reshape(x.shape)


def prod_rule(g, out, x, axis, keepdims):
    """The gradient for an array whose elements were multiplied along `axis`: for each element the
    product of all others, times `g`. Nothing is divided, so that zeros are no special case.

    >>> prod_rule(np.array(1.0), None, np.array([2.0, 0.0, 5.0]), None, False)
    array([ 0., 10.,  0.])
    """
    axes = axes_of(axis, x.ndim)
    last = tuple(range(-len(axes), 0))
    moved = np.moveaxis(x, axes, last)
    rows = moved.reshape(*moved.shape[: x.ndim - len(axes)], math.prod(x.shape[a] for a in axes))
    first = np.ones_like(rows[..., :1])
    before = np.cumprod(np.concatenate([first, rows[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([first, rows[..., :0:-1]], -1), -1)[..., ::-1]
    others = np.moveaxis((before * after).reshape(moved.shape), last, axes)
    return others * (g if keepdims else np.expand_dims(g, axes))


def can_repeat(index):
    """Whether an index, a tuple as `copy_index` makes it, can pick one element twice.

    >>> can_repeat(([0, 2],)), can_repeat((slice(1, 3), 0)), can_repeat((np.array([True, False]),))
    (True, False, False)
    """
    return any(np.ndim(part) > 0 and np.asarray(part).dtype != bool for part in index)


def as_matrices(g, a, b):
    """Gradient and operands of a @ b as stacks of matrices: (..., i, j), (..., i, k), (..., k, j).

    Where `b` is one matrix (a layer's weights), all rows of `a` become rows of one tall matrix: one
    product instead of many.

    >>> g, a, b = as_matrices(np.zeros((5, 2, 4)), np.zeros((5, 2, 3)), np.zeros((3, 4)))
    >>> g.shape, a.shape, b.shape
    ((10, 4), (10, 3), (3, 4))
    """
    if b.ndim > 2:
        return (g, a, b) if a.ndim > 1 else (g[..., None, :], a[None], b)
    k, j = b.shape if b.ndim == 2 else (b.size, 1)
    rows = math.prod(a.shape[:-1])
    return g.reshape(rows, j), a.reshape(rows, k), b.reshape(k, j)


def matmul_rules(matmul_vjp):
    """The rules of np.matmul for operands of every rank, from one for stacks of matrices.

    matmul_vjp  function (n, g, a, b) -> gradient for input `n`, as the lesson describes it
    returns     two rules
    """

    def rule(n):
        def of_input(g, out, a, b):
            gradient, shape = matmul_vjp(n, *as_matrices(g, a, b)), (a, b)[n].shape
            # no reshape that changes nothing: it makes a view, which a leaf would have to copy
            return gradient if b.ndim > 2 or gradient.shape == shape else gradient.reshape(shape)

        return of_input

    return rule(0), rule(1)
