# From modules/source/06_autograd/autograd_dev.py by `tito export`; edit that file, not this one.
# checksum: 2753d166c229dfd1
"""Autograd: Reverse-mode automatic differentiation for tensors."""

import contextlib
import copy

import numpy as np

from tinytorch.core.losses import cross_entropy_forward
from tinytorch.core.tensor import Tensor, Variable, apply, axes_of, operand, recording
from tinytorch.support import derivatives
from tinytorch.support.arrays import is_exclusive, sum_in_place
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
from tinytorch.support.graph_drawing import draw_graph

__all__ = [
    "table", "deferred_rules", "derivative", "arithmetic_rules", "topological_order", "accumulate", "propagate",
    "grad", "central_difference", "numerical_gradient_check", "seed_gradient", "backward", "unbroadcast",
    "elementwise_rules", "expand_reduced", "shape_rules", "index_rule", "matmul_vjp", "no_grad", "Function",
]


table = derivatives.Rules()
deferred_rules = table.deferred_rules


def derivative(op, *rules, together=None):
    """Register the vector-Jacobian products of `op` in the table.

    op        a function of arrays, as `apply` takes it
    rules     for each input a function rule(g, out, *arrays, **options) that returns the
              gradient for this input, or None instead if the input has no derivative. g is the
              gradient of the result `out`; arrays and options are what `op` was called with
    together  instead of `rules`: one function of the same arguments that returns a list with a
              gradient (or None) for each input

    A rule changes no array that it is given (others use them), and returns float32 if its
    inputs are float32. It does not sum over the copies of a broadcast input: that comes later.

    >>> derivative(np.arctan, lambda g, out, a: g / (1 + a * a))
    """
    table[op] = rules if together is None else together


@deferred_rules(np.add, np.subtract, np.multiply, np.divide, np.negative)
def arithmetic_rules():
    """Register the rules of np.add, np.subtract, np.multiply, np.divide and np.negative.

    Each rule takes g, out and the inputs, changes none of them, and returns an array.

    >>> arithmetic_rules()
    >>> for_a, for_b = table[np.subtract]
    >>> g, out, a, b = map(np.float32, (10, 2, 5, 3))
    >>> for_b(g, out, a, b)
    np.float32(-10.0)

    Source: Baydin et al., Automatic differentiation in machine learning (2018), table 3.
    """
    derivative(np.add, lambda g, out, a, b: g, lambda g, out, a, b: g)
    derivative(np.subtract, lambda g, out, a, b: g, lambda g, out, a, b: -g)
    derivative(np.multiply, lambda g, out, a, b: g * b, lambda g, out, a, b: g * a)
    derivative(np.divide, lambda g, out, a, b: g / b, lambda g, out, a, b: -g * out / b)
    derivative(np.negative, lambda g, out, a: -g)


def topological_order(root):
    """All results that `root` was computed from, each once: `root` first, and every result
    before the results that it was computed from.

    >>> x = Variable(2.0)
    >>> y = x * x
    >>> [float(t) for t in topological_order(y + y * y)]
    [20.0, 16.0, 4.0]
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

    gradients  dict from Tensor to ndarray: gradients[x] becomes the sum of all contributions
    x, g       a Tensor, and an ndarray or NumPy number of its shape

    Never writes into `g`, nor into an array that was given as `g` before.

    >>> gradients, x = {}, Variable(0.0)
    >>> for g in (1.0, 20.0, 300.0):
    ...     accumulate(gradients, x, np.float32(g))
    >>> float(gradients[x])
    321.0

    Source: the multivariable chain rule: the derivatives along all paths are added.
    """
    if x in gradients:
        gradients[x] = sum_in_place(gradients.pop(x), g)  # gradients[x] + g, often faster
    else:
        gradients[x] = g


def propagate(node, g, gradients):
    """Add this node's contribution to the gradients of its inputs: one step of backpropagation.

    node       a Tensor with a creator
    g          ndarray: the complete gradient of `node`
    gradients  as in `accumulate`, which adds each contribution

    Call a rule only if it is not None and its input `x` is a Tensor that requires a gradient.
    Call it with the arrays that the creator recorded, because `x.data` may have been replaced
    since. Accumulate `match_input(result, x.data, node.creator.op)`, where `result` is what the
    rule returned. (`match_input` uses only the shape and dtype of `x.data`.)

    >>> x, gradients = Variable(3.0), {}
    >>> propagate(x * 5.0, np.float32(2), gradients)
    >>> float(gradients[x])
    10.0

    Source: Rumelhart, Hinton, Williams, Learning representations by back-propagating errors
    (1986).
    """
    made = node.creator
    for x, rule in zip(made.inputs, table.rules_of(node, g)):
        if isinstance(x, Tensor) and x.requires_grad and rule is not None:
            part = rule(g, node.data, *made.arrays, **made.options)
            accumulate(gradients, x, match_input(part, x.data, made.op))


def grad(output, gradient, retain_graph=False):
    """The gradients of all leaves that `output` was computed from: the backward pass.

    output        Tensor
    gradient      ndarray or NumPy number of its shape and dtype: the gradient of `output`
    retain_graph  False: set the creator of each result to FREED right after its turn
    returns       dict from each leaf to its gradient, an ndarray; no `.grad` is changed

    Each result has one turn, after all results that were computed from it. If all rules through
    which a gradient could reach a result are None, it has no gradient: it is not propagated,
    only freed.

    >>> x, y = Variable(2.0), Variable(7.0)
    >>> gradients = grad(x * y, np.float32(1))
    >>> float(gradients[x]), float(gradients[y])
    (7.0, 2.0)

    Source: Linnainmaa (1970); Griewank and Walther, Evaluating Derivatives (2008), section 3.2.
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

    f          a function of Tensors that returns a Tensor of any shape; when called again with
               the same inputs, it returns the same
    inputs     Tensors or float arrays, or a single one; copied as float64
    tolerance  the error may be at most tolerance * max(1, |derivative|)
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
    """Add the gradient of `tensor` to the `.grad` of every leaf that it was computed from.

    tensor        Tensor; `gradient` of the same shape says how much each element counts
    retain_graph  keep the graph, so that backward() can go through it again

    >>> x = Variable([1.0, 2.0, 4.0])
    >>> backward(x * x, [1.0, 1.0, 1.0])
    >>> x.grad
    array([2., 4., 8.], dtype=float32)
    """
    gradients = grad(tensor, seed_gradient(tensor, gradient), retain_graph)
    while gradients:
        x, g = gradients.popitem()
        if not is_exclusive(g):
            g = np.array(g)
        x.grad = g if x.grad is None else np.add(x.grad, g, out=g)


def unbroadcast(g, shape):
    """Sum the gradient `g` of a broadcast array over the broadcast axes.

    g        ndarray
    shape    tuple: the shape that the array had before it was broadcast to g.shape
    returns  ndarray of shape `shape`: for each element the sum over all of its copies

    >>> unbroadcast(np.array([[1, 2], [10, 20], [100, 200]]), (2,))
    array([111, 222])

    Source: the adjoint of copying is summing; Maclaurin, Duvenaud, Johnson, Autograd (2015).
    """
    extra = g.ndim - len(shape)
    ones = [extra + i for i, n in enumerate(shape) if n == 1]
    return sum_forward(g, axis=(*range(extra), *ones)).reshape(shape)


@deferred_rules(np.exp, np.log, np.sqrt, np.sin, np.cos, np.tanh, sigmoid_forward,
                relu_forward, np.maximum)
def elementwise_rules():
    """Register the rules of np.exp, np.log, np.sqrt, np.sin, np.cos, np.tanh, sigmoid_forward,
    relu_forward and np.maximum.

    At 0, relu_forward has derivative 0. Where a is exactly equal to b, np.maximum gives half of
    g to each.

    >>> elementwise_rules()
    >>> table[np.exp][0](np.float32(2), np.float32(5), np.float32(1.609))
    np.float32(10.0)

    Source: Baydin et al., Automatic differentiation in machine learning (2018), table 3.
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


@deferred_rules(reshape_forward, np.transpose, np.broadcast_to)
def shape_rules():
    """Register the rules of reshape_forward, np.transpose and np.broadcast_to.

    The operations are called as reshape_forward(x, shape=...), np.transpose(x, axes=...), with
    each axis once and counted from 0, and np.broadcast_to(x, shape=...). Their rules get
    `shape` and `axes` by name.

    >>> shape_rules()
    >>> table[np.transpose][0](np.zeros((3, 4, 2)), None, np.zeros((2, 3, 4)),
    ...                        axes=(1, 2, 0)).shape
    (2, 3, 4)

    Source: a permutation and its inverse, numpy.transpose, "Notes".
    """
    derivative(reshape_forward, lambda g, out, x, shape: g.reshape(x.shape))
    derivative(np.transpose, lambda g, out, x, axes: np.transpose(g, np.argsort(axes)))
    derivative(np.broadcast_to, lambda g, out, x, shape: g)


def index_rule(g, out, x, index):
    """The gradient for `x`, given the gradient `g` of x[index].

    g        ndarray of the shape of x[index]
    out      x[index]
    x        ndarray
    index    tuple of ints, slices, None, Ellipsis, lists, arrays of ints, masks
    returns  ndarray of the shape of `x` and the dtype of `g`: for each element the sum of the
             `g` of its copies, 0 where it has none

    >>> index_rule(np.array([1.0, 10.0, 100.0]), None, np.zeros(4), ([2, 0, 2],))
    array([ 10.,   0., 101.,   0.])

    Source: numpy.ufunc.at.
    """
    full = np.zeros(x.shape, g.dtype)
    np.add.at(full, index, g)
    return full


derivative(take_forward, lambda g, out, x, index: (
    index_rule(g, out, x, index) if g.size < 100 else derivatives.fast_index_rule(g, x, index)))
derivatives.register_others(derivative)


def matmul_vjp(n, g, a, b):
    """The gradient for input `n` of a @ b, for stacks of matrices.

    n        0 for the gradient of `a`, 1 for that of `b`
    g        ndarray of shape (..., i, j)
    a        ndarray of shape (..., i, k)
    b        ndarray of shape (..., k, j)
    returns  ndarray of shape (..., i, k) or (..., k, j); broadcast stacks are summed later

    >>> matmul_vjp(0, np.array([[1.0, 10.0]]), np.zeros((1, 3)),
    ...            np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    array([[21., 43., 65.]])

    Source: Petersen and Pedersen, The Matrix Cookbook (2012), section 2.5.
    """
    if n == 0:
        return g @ b.swapaxes(-1, -2)
    return a.swapaxes(-1, -2) @ g


derivative(np.matmul, *derivatives.matmul_rules(lambda *arrays: matmul_vjp(*arrays)))


@derivatives.also_for_generators
@contextlib.contextmanager
def no_grad():
    """Record no operations of this thread: `with no_grad():`, or `@no_grad()` on a function.

    Afterwards `recording.on` is what it was before: also inside another no_grad(), and after an
    exception of any kind (also SystemExit and KeyboardInterrupt), which passes through.

    >>> x = Variable(3.0)
    >>> with no_grad():
    ...     y = x * x
    >>> y.requires_grad
    False

    Source: torch.no_grad; Python library reference, contextlib.contextmanager.
    """
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

    Use a subclass as Square()(x), where Square() may take settings, or as Square.apply(x). An
    object can be used many times, also on its own result: each call copies the object, with its
    settings, and saves its arrays in the copy.

    >>> class Square(Function):
    ...     def forward(self, x):
    ...         self.save_for_backward(x)
    ...         return x * x
    ...     def backward(self, grad):
    ...         (x,) = self.saved_tensors
    ...         return 2 * x * grad
    >>> x, square = Variable(3.0), Square()
    >>> backward(square(square(x)))
    >>> x.grad
    array(108., dtype=float32)

    Source: torch.autograd.Function; the object is what PyTorch calls ctx.
    """

    def __call__(self, *inputs, **options):
        call = copy.copy(self)
        return apply(call.forward, *inputs, **options)

    @classmethod
    def apply(cls, *inputs, **options):
        return cls()(*inputs, **options)
