"""Vector-Jacobian products that the autograd lesson uses and does not teach: corner cases of
powers, and the bookkeeping of shapes.

A rule takes the gradient `g` of a result `out`, then what the operation was called with, and
returns the gradient for one input.
"""

import math

import numpy as np

from tinytorch.support.forward import power


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
