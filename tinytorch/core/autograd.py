# From modules/source/06_autograd/autograd_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 8dc6248680ef52a8
"""Autograd: reverse-mode automatic differentiation of what tensors compute.

What is here, in the order in which to read it:

    derivative         adds an operation to the table, with one rule for each input
    arithmetic_rules   the rules of + - * /; other rules are further down: sum_rule, matmul_vjp
    topological_order  the results that a loss was computed from, each before its inputs
    propagate          one step: from the gradient of a result to the gradients of its inputs
    grad               the backward pass: propagate through all results in that order
    backward           the method of Tensor: calls grad, and stores the gradients in .grad
    no_grad, Function  compute without recording; an operation with your own rule

The graph is recorded by `apply` in core/tensor.py; rules that no lesson teaches are in
support/derivatives.py.

>>> x = Variable([1.0, 2.0, 3.0])
>>> loss = (x * x).sum()
>>> loss.backward()
>>> x.grad
array([2., 4., 6.], dtype=float32)
"""

import contextlib
import copy

import numpy as np

from tinytorch.core.losses import cross_entropy_forward
from tinytorch.core.tensor import Tensor, Variable, apply, axes_of, operand, recording
from tinytorch.support import derivatives
from tinytorch.support.derivatives import FREED, FunctionMethods, masked
from tinytorch.support.forward import (
    clip_forward,
    max_forward,
    min_forward,
    power,
    relu_forward,
    reshape_forward,
    sigmoid_forward,
    sum_forward,
    take_forward,
)
from tinytorch.support.svg import draw_graph

__all__ = [
    "table", "derivative", "arithmetic_rules", "topological_order", "accumulate", "propagate", "grad",
    "central_difference", "numerical_gradient_check", "seed_gradient", "backward", "unbroadcast", "elementwise_rules",
    "expand_reduced", "shape_rules", "index_rule", "matmul_vjp", "no_grad", "Function",
]


table = derivatives.Rules()


def derivative(op, *rules, together=None):
    """Register the vector-Jacobian products of `op` in the table."""
    table[op] = rules if together is None else together


@table.written_by
def arithmetic_rules():
    """Register the rules of np.add, np.subtract, np.multiply, np.divide and np.negative."""
    derivative(np.add, lambda g, out, a, b: g, lambda g, out, a, b: g)
    derivative(np.subtract, lambda g, out, a, b: g, lambda g, out, a, b: -g)
    derivative(np.multiply, lambda g, out, a, b: g * b, lambda g, out, a, b: g * a)
    derivative(np.divide, lambda g, out, a, b: g / b, lambda g, out, a, b: -g * out / b)
    derivative(np.negative, lambda g, out, a: -g)


def topological_order(root):
    """All results that `root` was computed from, each once: `root` first, and every result
    before the results that it was computed from.
    """
    created, stack = {}, [root]
    while stack:
        x = stack.pop()
        creator = x.creator if isinstance(x, Tensor) else None
        if creator is not None and x not in created:
            created[x] = creator.created
            stack.extend(creator.inputs)
    return sorted(created, key=created.get, reverse=True)


def match_input(g, data, op=None):
    """The gradient `g` in the shape and dtype of `data`. Errors name the operation `op`."""
    if getattr(g, "shape", None) != data.shape:
        derivatives.check_gradient(g, data.shape, op)  # an error that names what does not fit
        g = unbroadcast(g, data.shape)  # written in the section on broadcasting
    if g.dtype is data.dtype:
        return g
    derivatives.check_float(data.dtype)
    return g.astype(data.dtype)


def accumulate(gradients, x, g):
    """Add `g` to the gradient of `x`.

    x, g       a Tensor, and an ndarray or NumPy number of its shape
    """
    if x in gradients:
        gradients[x] = gradients[x] + g
    else:
        gradients[x] = g


def propagate(node, g, gradients):
    """Add this node's contribution to the gradients of its inputs: one step of backpropagation."""
    made = node.creator
    for x, rule in zip(made.inputs, table.rules_of(node, g)):
        if isinstance(x, Tensor) and x.requires_grad and rule is not None:
            part = rule(g, node.data, *made.arrays, **made.options)
            accumulate(gradients, x, match_input(part, x.data, made.op))


def grad(output, gradient, retain_graph=False):
    """The gradients of all leaves that `output` was computed from: the backward pass.

    gradient      ndarray or NumPy number of its shape and dtype: the gradient of `output`
    returns       dict from each leaf to its gradient, an ndarray
    """
    nodes, gradients = topological_order(output)[::-1], {output: gradient}
    while nodes:
        node = nodes.pop()  # so that the list does not keep it in memory
        if node in gradients:
            propagate(node, gradients.pop(node), gradients)
        if not retain_graph:
            node.creator = FREED
    return gradients


def central_difference(f, arrays, n, at, step=1e-5):
    """The partial derivative of f(*arrays) with respect to the element arrays[n][at]."""
    middle = arrays[n][at]
    arrays[n][at] = middle + step
    up = f(*arrays)
    arrays[n][at] = middle - step
    down = f(*arrays)
    arrays[n][at] = middle
    return float((up - down) / (2 * step))


def numerical_gradient_check(f, inputs, tolerance=1e-5, step=1e-5):
    """Compare the gradients of f(*inputs) with central differences, for every input element.

    f          a function of Tensors that returns a Tensor of any shape
    returns    True; raises AssertionError, with the element and both numbers, if they differ

    >>> numerical_gradient_check(lambda x, y: x * y + x, [Variable(3.0), Variable(5.0)])
    True
    """
    inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    arrays = [np.array(operand(x), np.float64) for x in inputs]
    leaves = [Variable(array) for array in arrays]
    derivatives.check_arguments(f, leaves)
    out = f(*leaves)
    derivatives.check_result(out)
    weights = derivatives.random_weights(out.shape)
    gradients = grad(out, weights) if out.requires_grad else {}

    def weighted_sum(*arrays):
        return np.sum(f(*map(Tensor, arrays)).data * weights)

    for n, leaf in enumerate(leaves):
        g = gradients.get(leaf, np.zeros(leaf.shape))
        for at in np.ndindex(leaf.shape):
            difference = central_difference(weighted_sum, arrays, n, at, step)
            if not abs(g[at] - difference) <= tolerance * max(1, abs(difference)):
                raise derivatives.mismatch(n, at, g[at], difference, leaf in gradients)
    return True


def seed_gradient(tensor, gradient=None):
    """The gradient that the backward pass starts with, a new ndarray of the shape and dtype of
    `tensor`: `gradient`, or 1 if it is None and `tensor` holds exactly one number.

    >>> seed_gradient(Variable([[2.0, 3.0]]), [[1, 10]])
    array([[ 1., 10.]], dtype=float32)
    """
    if not tensor.requires_grad or tensor.data.dtype.kind != "f":
        raise derivatives.not_recorded(tensor)
    data = tensor.data
    if gradient is None:
        if data.size != 1:
            raise RuntimeError(f"backward() needs one number, this tensor has shape "
                               f"{data.shape}: call .sum() or .mean() on it first, or give "
                               "a gradient of that shape")
        return np.array(1, data.dtype, ndmin=data.ndim)  # shape (), (1,), (1, 1), ...
    gradient = np.array(operand(gradient), data.dtype)
    if gradient.shape != data.shape:
        raise ValueError(f"the gradient has shape {gradient.shape}, "
                         f"and the tensor {data.shape}: give one number for each element")
    return gradient


def backward(tensor, gradient=None, retain_graph=False):
    """Add the gradient of `tensor` to the `.grad` of every leaf that it was computed from."""
    gradients = grad(tensor, seed_gradient(tensor, gradient), retain_graph)
    while gradients:
        x, g = gradients.popitem()
        x.grad = np.array(g) if x.grad is None else np.asarray(x.grad + g)


def unbroadcast(g, shape):
    """Sum the gradient `g` of a broadcast array over the broadcast axes.

    shape    tuple: the shape that the array had before it was broadcast to g.shape
    returns  ndarray of shape `shape`: for each element the sum over all of its copies

    >>> unbroadcast(np.array([[1, 2], [10, 20], [100, 200]]), (2,))
    array([111, 222])
    """
    extra = g.ndim - len(shape)
    ones = [extra + i for i, n in enumerate(shape) if n == 1]
    return sum_forward(g, axis=(*range(extra), *ones)).reshape(shape)


@table.written_by
def elementwise_rules():
    """Register the rules of np.exp, np.log, np.sqrt, np.sin, np.cos, np.tanh, sigmoid_forward,
    relu_forward and np.maximum.
    """
    derivative(np.exp, lambda g, out, a: g * out)
    derivative(np.log, lambda g, out, a: g / a)
    derivative(np.sqrt, lambda g, out, a: g / (2 * out))
    derivative(np.sin, lambda g, out, a: g * np.cos(a))
    derivative(np.cos, lambda g, out, a: -g * np.sin(a))
    derivative(np.tanh, lambda g, out, a: g * (1 - out * out))
    derivative(sigmoid_forward, lambda g, out, a: g * out * (1 - out))
    derivative(relu_forward, lambda g, out, a: masked(g, out))
    derivative(np.maximum, lambda g, out, a, b: masked(g, a > b) + masked(g / 2, a == b),
               lambda g, out, a, b: masked(g, b > a) + masked(g / 2, a == b))


derivative(power, derivatives.base_rule, derivatives.exponent_rule)
derivative(np.absolute, lambda g, out, a: g * np.sign(a))
derivative(np.minimum, lambda g, out, a, b: masked(g, a < b) + masked(g / 2, a == b),
           lambda g, out, a, b: masked(g, b < a) + masked(g / 2, a == b))
derivative(clip_forward, lambda g, out, a, low, high: masked(g, out == a))
derivative(np.where, None, lambda g, out, c, a, b: np.where(c, g, 0),
           lambda g, out, c, a, b: np.where(c, 0, g))


def expand_reduced(g, shape, axis=None, keepdims=False):
    """Expand the axes that a reduction removed, to length 1, so that `g` broadcasts to `shape`.

    >>> expand_reduced(np.zeros((2, 4)), (2, 3, 4), axis=1).shape
    (2, 1, 4)
    """
    if keepdims:
        return g
    axes = axes_of(axis, len(shape))
    return g.reshape([1 if a in axes else n for a, n in enumerate(shape)])


def sum_rule(g, out, x, axis, keepdims):
    full = np.empty(x.shape, g.dtype)
    # one number needs no axes
    full[...] = g if axis is None else expand_reduced(g, x.shape, axis, keepdims)
    return full


def extreme_rule(g, out, x, axis, keepdims):
    first = np.equal(x, expand_reduced(out, x.shape, axis, keepdims))
    ties = np.add.reduce(first, axis=axis, keepdims=True, dtype=g.dtype)
    # nan equals nothing: no ties, and nan for all, without a warning
    with np.errstate(divide="ignore", invalid="ignore"):
        return first * (expand_reduced(g, x.shape, axis, keepdims) / ties)


derivative(sum_forward, sum_rule)
derivative(max_forward, extreme_rule)
derivative(min_forward, extreme_rule)


@table.written_by
def shape_rules():
    """Register the rules of reshape_forward, np.transpose and np.broadcast_to."""
    derivative(reshape_forward, lambda g, out, x, shape: g.reshape(x.shape))
    derivative(np.transpose, lambda g, out, x, axes: np.transpose(g, np.argsort(axes)))
    derivative(np.broadcast_to, lambda g, out, x, shape: g)


def index_rule(g, out, x, index):
    """The gradient for `x`, given the gradient `g` of x[index].

    g        ndarray of the shape of x[index]
    returns  ndarray of the shape of `x` and the dtype of `g`: for each element the sum of the
             `g` of its copies, 0 where it has none

    >>> index_rule(np.array([1.0, 10.0, 100.0]), None, np.zeros(4), ([2, 0, 2],))
    array([ 10.,   0., 101.,   0.])
    """
    full = np.zeros(x.shape, g.dtype)
    np.add.at(full, index, g)
    return full


derivative(take_forward, lambda g, out, x, index: (
    index_rule(g, out, x, index) if g.size < 100 else derivatives.fast_index_rule(g, x, index)))
derivatives.register_others(derivative)


def matmul_vjp(n, g, a, b):
    """The gradient for input `n` of a @ b, for stacks of matrices.

    g        ndarray of shape (..., i, j)
    a        ndarray of shape (..., i, k)
    b        ndarray of shape (..., k, j)
    returns  ndarray of shape (..., i, k) or (..., k, j)
    """
    if n == 0:
        return g @ b.swapaxes(-1, -2)
    return a.swapaxes(-1, -2) @ g


derivative(np.matmul, *derivatives.matmul_rules(lambda *arrays: matmul_vjp(*arrays)))


@derivatives.also_for_generators
@contextlib.contextmanager
def no_grad():
    """Record no operations of this thread: `with no_grad():`, or `@no_grad()` on a function."""
    before = recording.on
    recording.on = False
    try:
        yield
    finally:
        recording.on = before


def cross_entropy_rule(g, out, logits, labels, smoothing):
    d = np.exp(logits - np.maximum.reduce(logits, axis=-1, keepdims=True), order="C")
    d /= np.add.reduce(d, axis=-1, keepdims=True)  # softmax
    if smoothing:
        d -= smoothing / logits.shape[-1]
    rows = d.reshape(-1, logits.shape[-1])  # the same memory
    rows[np.arange(len(rows)), np.ravel(labels)] -= 1 - smoothing
    d *= np.asarray(g)[..., None]
    return d


derivative(cross_entropy_forward, cross_entropy_rule)


class Function(FunctionMethods):
    """An operation with its own rule. Subclasses define two methods:

    forward(self, *arrays)   takes arrays, returns one; self.save_for_backward(...) keeps arrays
    backward(self, grad)     takes the gradient of the result, and returns the gradient of the
                             input; for several inputs a tuple, with None where there is no
                             derivative. self.saved_tensors is the tuple of the saved arrays
    """

    def __call__(self, *inputs, **options):
        call = copy.copy(self)
        return apply(call.forward, *inputs, **options)

    @classmethod
    def apply(cls, *inputs, **options):
        return cls()(*inputs, **options)
