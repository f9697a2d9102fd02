# From modules/source/06_autograd/autograd_dev.py by `tito export`; edit that file, not this one.
# checksum: d2aedfc19660eb5f
"""Autograd: The slopes of a loss for a million weights, in one walk back."""

import contextlib
import copy
import math
import operator

import numpy as np

from tinytorch.core.losses import cross_entropy_forward
from tinytorch.core.tensor import (
    Tensor,
    Variable,
    apply,
    axes_of,
    clip_forward,
    concatenate_forward,
    max_forward,
    min_forward,
    operand,
    pad_forward,
    power,
    recording,
    relu_forward,
    reshape_forward,
    run,
    sigmoid_forward,
    stack_forward,
    sum_forward,
    take_forward,
)
from tinytorch.support import validation
from tinytorch.support.graphs import Graph, graph_of
from tinytorch.support.memory import HOLDERS, collect_less_often, count_holders, held, is_ours
from tinytorch.support.rules import FREED, Rules, parts_of

__all__ = [
    "table", "waiting", "rules_for", "derivative", "arithmetic_rules", "curve_rules", "choice_rules", "unbroadcast",
    "oldest_first", "accumulate", "hand_on", "first_gradient", "backward", "gradients_of", "put_back", "shape_rules",
    "index_rule", "matmul_slope", "no_grad", "Function", "slope_by_nudging", "numerical_gradient_check", "draw_graph",
]


table = Rules()
waiting, rules_for = table.waiting, table.rules_for


def derivative(op, *rules, together=None):
    """Say how a gradient goes through `op`.

    op        a function of arrays, as `apply` takes it
    rules     one for each input: rule(g, out, *arrays, **options) is the gradient for that
              input, where g is the gradient of the result `out`, and the rest is what `op` was
              called with; broadcasting needs no care. None for an input that has no slope.
    together  instead of `rules`, for any number of inputs or shared work: one function of the
              same arguments that returns a list with a gradient (or None) for each input

    A rule is called only when its input wants a gradient, and must change none of the arrays.

    >>> derivative(np.arctan, lambda g, out, a: g / (1 + a * a))
    """
    table[op] = rules if together is None else together


@rules_for(np.add, np.subtract, np.multiply, np.divide, np.negative)
def arithmetic_rules():
    """Tell `derivative` the rules of np.add, np.subtract, np.multiply, np.divide, np.negative.

    Each rule takes g, out and the inputs, changes none of them, and returns an array.

    >>> arithmetic_rules()
    >>> to_a, to_b = table[np.subtract]
    >>> to_b(np.float32(10), np.float32(2), np.float32(5), np.float32(3))
    np.float32(-10.0)

    Source: Baydin et al., Automatic differentiation in machine learning (2018), table 3.
    """
    derivative(np.add, lambda g, out, a, b: g, lambda g, out, a, b: g)
    derivative(np.subtract, lambda g, out, a, b: g, lambda g, out, a, b: -g)
    derivative(np.multiply, lambda g, out, a, b: g * b, lambda g, out, a, b: g * a)
    derivative(np.divide, lambda g, out, a, b: g / b, lambda g, out, a, b: -g * out / b)
    derivative(np.negative, lambda g, out, a: -g)


@rules_for(np.exp, np.log, np.sqrt, np.sin, np.cos, np.tanh, sigmoid_forward)
def curve_rules():
    """Tell `derivative` the rules of np.exp, np.log, np.sqrt, np.sin, np.cos, np.tanh and
    sigmoid_forward.

    >>> curve_rules()
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


def power_to_base(g, out, base, exponent):
    if type(exponent) is int and exponent == 2:
        return g * (2 * base)
    # with exponent 0: times 0, to the power 0
    return g * exponent * power(base, exponent - (exponent != 0))


def power_to_exponent(g, out, base, exponent):
    flat = np.equal(base, 0) & np.greater_equal(exponent, 0)
    return np.where(flat, 0, g * out * np.log(np.where(flat, 1, base), dtype=out.dtype))


derivative(power, power_to_base, power_to_exponent)


@rules_for(np.maximum, np.minimum, np.absolute, relu_forward, clip_forward, np.where)
def choice_rules():
    """Tell `derivative` the rules of np.maximum, np.minimum, np.absolute, relu_forward,
    clip_forward and np.where.

    Called as np.maximum(a, b), np.minimum(a, b), np.absolute(a), relu_forward(a),
    clip_forward(a, low=..., high=...) and np.where(condition, a, b). `low` and `high` reach the
    rule by name, and may be None.

    Where a equals b, each gets half of g from np.maximum and np.minimum. At 0, np.absolute and
    relu_forward have slope 0. At `low` and `high`, clip_forward has slope 1. The condition of
    np.where has no rule: None. nan equals nothing and is larger than nothing: where it is,
    np.maximum, np.minimum and clip_forward give 0.

    >>> choice_rules()
    >>> table[np.maximum][0](np.float32([8, 8, 8]), None,
    ...                      np.float32([1, 2, 3]), np.float32([2, 2, 2]))
    array([0., 4., 8.], dtype=float32)

    Source: torch.maximum and numpy.maximum; PyTorch shares ties in the same way.
    """
    def chosen(g, wins, ties):
        return np.where(ties, g / 2, np.where(wins, g, 0))
    derivative(np.maximum, lambda g, out, a, b: chosen(g, a > b, a == b),
               lambda g, out, a, b: chosen(g, b > a, a == b))
    derivative(np.minimum, lambda g, out, a, b: chosen(g, a < b, a == b),
               lambda g, out, a, b: chosen(g, b < a, a == b))
    derivative(np.absolute, lambda g, out, a: g * np.sign(a))
    derivative(relu_forward, lambda g, out, a: g * (out > 0))
    derivative(clip_forward, lambda g, out, a, low, high: g * (out == a))
    derivative(np.where, None, lambda g, out, c, a, b: np.where(c, g, 0),
               lambda g, out, c, a, b: np.where(c, 0, g))


def unbroadcast(g, shape):
    """The gradient for an array of `shape`, from the gradient `g` for what it was broadcast to.

    g        ndarray
    shape    a tuple that broadcasts to g.shape
    returns  ndarray of shape `shape`: each place has the sum over all of its copies

    >>> unbroadcast(np.array([[1, 2], [10, 20], [100, 200]]), (2,))
    array([111, 222])

    Source: copying has summing as its adjoint; Maclaurin, Duvenaud, Johnson, autograd (2015).
    """
    extra = g.ndim - len(shape)
    ones = [extra + i for i, n in enumerate(shape) if n == 1]
    return g.sum(axis=(*range(extra), *ones)).reshape(shape)


def fit(g, data, op=None):
    """The gradient `g` in the shape and dtype of `data`; errors say that `op` is its origin."""
    if getattr(g, "shape", None) != data.shape:
        validation.check_gradient(g, data.shape, op)  # an error that names what does not fit
        g = unbroadcast(g, data.shape)
    if g.dtype is data.dtype:
        return g
    validation.check_float(data.dtype)
    return g.astype(data.dtype)


def oldest_first(tensor):
    """Every tensor with a creator that went into `tensor`, itself included, the oldest first.

    tensor   Tensor
    returns  list of Tensors, each once; empty when `tensor` has no creator

    Must not call itself: a loss can be 100,000 operations deep, and Python stops at 1,000.

    >>> x = Variable(2.0)
    >>> y = x * x
    >>> [float(t) for t in oldest_first(y + y * y)]
    [4.0, 16.0, 20.0]

    Source: Wengert, A simple automatic derivative evaluation program (1964).
    """
    found, todo = set(), [tensor]
    while todo:
        x = todo.pop()
        if isinstance(x, Tensor) and x.creator is not None and x not in found:
            found.add(x)
            todo.extend(x.creator.inputs)
    return sorted(found, key=operator.attrgetter("creator.created"))


def accumulate(gradients, mine, x, g):
    """Add `g` to what `x` has received so far.

    gradients  dict from Tensor to ndarray; gradients[x] afterwards is the sum of all arrivals
    mine       set of the tensors whose array in `gradients` was made here, by adding; only
               those may be written into
    x          Tensor
    g          ndarray of the shape of `x`, or a NumPy scalar for shape (); others may hold it:
               never written into

    The first arrival is stored as it is, the second makes a new array, all others go into it.

    >>> x, gradients, mine = Variable([0.0]), {}, set()
    >>> for g in (np.array([1.0]), np.array([20.0]), np.array([300.0])):
    ...     accumulate(gradients, mine, x, g)
    >>> gradients[x]
    array([321.])

    Source: the chain rule: Griewank and Walther, Evaluating Derivatives (2008), section 3.2.
    """
    if x not in gradients:
        gradients[x] = g
    elif x in mine:
        gradients[x] += g
    else:
        gradients[x] = gradients[x] + g
        mine.add(x)


def hand_on(node, g, gradients, mine):
    """Give the inputs of `node` the gradients that are due to them.

    node             a Tensor with a creator
    g                ndarray: the whole gradient of `node`
    gradients, mine  as in `accumulate`, which takes what is due

    Rules are called only for inputs that are Tensors and want a gradient. What they return is
    brought into the shape and dtype of the input by `fit`.

    >>> x, gradients = Variable(3.0), {}
    >>> hand_on(x * 5.0, np.float32(2), gradients, set())
    >>> float(gradients[x])
    10.0

    Source: the chain rule.
    """
    made = node.creator
    rules = table[made.op]
    if callable(rules):  # one for all inputs together: call it now, and let each have its part
        rules = parts_of(rules(g, node.data, *made.arrays, **made.options), made)
    validation.check_rules(rules, made)
    for x, rule in zip(made.inputs, rules):
        if isinstance(x, Tensor) and x.requires_grad and rule is not None:
            found = rule(g, node.data, *made.arrays, **made.options)
            accumulate(gradients, mine, x, fit(found, x.data, made.op))


def first_gradient(tensor, gradient=None):
    """The gradient that the walk starts with.

    tensor    Tensor that wants a gradient
    gradient  a Tensor, array, number or list of the same shape as `tensor`; None, if `tensor`
              holds one number, means 1
    returns   a new ndarray of the shape and dtype of `tensor`, shared with nobody

    Raises RuntimeError, naming the shape, when `tensor` has not one number and no gradient is
    given; ValueError, naming both shapes, when the gradient has another shape.

    >>> first_gradient(Variable([[2.0, 3.0]]), [[1, 10]])
    array([[ 1., 10.]], dtype=float32)

    Source: torch.Tensor.backward has the same rule.
    """
    if not tensor.requires_grad:
        raise RuntimeError("backward() starts from a result of tensors that want a gradient; "
                           "this one has no note. Was it made inside no_grad(), from .data, "
                           "of whole numbers, or from tensors without requires_grad=True?")
    validation.check_float(tensor.dtype)
    if gradient is None:
        if tensor.size != 1:
            raise RuntimeError("backward() needs one number to start from, "
                               f"this tensor has shape {tensor.shape}: "
                               "call .sum() or .mean() on it first, or give a gradient of that "
                               "shape")
        return np.array(1, tensor.dtype, ndmin=tensor.ndim)  # shape (), (1,), (1, 1), ...
    gradient = np.array(operand(gradient), tensor.dtype)
    if gradient.shape != tensor.shape:
        raise ValueError(f"the gradient has shape {gradient.shape}, "
                         f"and the tensor {tensor.shape}: give one slope for each number")
    return gradient


def backward(tensor, gradient=None, retain_graph=False):
    """Add to `.grad` of every leaf that went into `tensor` the slope of `tensor` along it.

    tensor        Tensor; `gradient` of the same shape says how much each number matters
    retain_graph  keep the notes, so that this graph can be walked again

    `.grad` is an ndarray of the shape and dtype of its leaf, shared with nobody.

    >>> x = Variable([1.0, 2.0, 4.0])
    >>> backward((x * x).sum())
    >>> x.grad
    array([2., 4., 8.], dtype=float32)
    """
    gradients = gradients_of(tensor, first_gradient(tensor, gradient), retain_graph)
    while gradients:
        x, g = gradients.popitem()
        if not is_ours(g):
            g = np.array(g)
        x.grad = g if x.grad is None else np.add(x.grad, g, out=g)


# a graph is many objects and no garbage: let Python look for some less often
collect_less_often()


def gradients_of(tensor, gradient, retain_graph=False):
    """Walk from `tensor` back to everything it was made from.

    tensor        Tensor
    gradient      ndarray of its shape: the gradient of `tensor` itself
    retain_graph  False: the creator of each tensor becomes FREED as soon as it has handed on
    returns       dict from each leaf to its gradient, an ndarray; no `.grad` is touched

    Each tensor with a creator hands on once, the youngest first, when its gradient is complete.
    One that received nothing has nothing to hand on.

    >>> x, y = Variable(5.0), Variable(3.0)
    >>> found = gradients_of(x**2 + 2 * x * y + y**3, np.float32(1))
    >>> float(found[x]), float(found[y])
    (16.0, 37.0)

    Source: Linnainmaa (1970); Griewank and Walther, Evaluating Derivatives (2008), section 3.2.
    """
    nodes, gradients, mine = oldest_first(tensor), {tensor: gradient}, set()
    while nodes:
        node = nodes.pop()
        if node in gradients:
            hand_on(node, gradients.pop(node), gradients, mine)
            mine.discard(node)
        if not retain_graph:
            node.creator = FREED
    return gradients


def put_back(g, shape, axis=None, keepdims=False):
    """`g` with the axes that a reduction took away, of length 1: it broadcasts to `shape`.

    g         ndarray, of the shape that reducing `shape` along `axis` gives
    shape     tuple: the shape of what was reduced
    axis      an int, a tuple of ints (negative ones count from the end), or None for all
    keepdims  whether the reduction kept its axes, so that nothing is missing
    returns   ndarray of the same numbers and as many axes as `shape`

    >>> put_back(np.zeros((2, 4)), (2, 3, 4), axis=1).shape
    (2, 1, 4)

    Source: numpy.expand_dims.
    """
    if keepdims:
        return g
    axes = axes_of(axis, len(shape))
    return g.reshape([1 if a in axes else n for a, n in enumerate(shape)])


def sum_rule(g, out, x, axis, keepdims):
    full = np.empty(x.shape, g.dtype)
    # one number needs no axes
    full[...] = g if axis is None else put_back(g, x.shape, axis, keepdims)
    return full


def extreme_rule(g, out, x, axis, keepdims):
    first = np.equal(x, put_back(out, x.shape, axis, keepdims))
    ties = np.add.reduce(first, axis=axis, keepdims=True, dtype=g.dtype)
    # nan equals nothing: no ties, and nan for all, without noise
    with np.errstate(divide="ignore", invalid="ignore"):
        return first * (put_back(g, x.shape, axis, keepdims) / ties)


derivative(sum_forward, sum_rule)
derivative(max_forward, extreme_rule)
derivative(min_forward, extreme_rule)


@rules_for(reshape_forward, np.transpose, np.broadcast_to)
def shape_rules():
    """Tell `derivative` the rules of reshape_forward, np.transpose and np.broadcast_to.

    Called as reshape_forward(x, shape=...), np.transpose(x, axes=...), with every axis named
    once by a number from 0, and np.broadcast_to(x, shape=...). Options reach rules by name.

    >>> shape_rules()
    >>> table[np.transpose][0](np.zeros((3, 4, 2)), None, np.zeros((2, 3, 4)),
    ...                        axes=(1, 2, 0)).shape
    (2, 3, 4)

    Source: a permutation and its inverse, e.g. numpy.argsort, "Notes".
    """
    derivative(reshape_forward, lambda g, out, x, shape: g.reshape(x.shape))
    derivative(np.transpose, lambda g, out, x, axes: np.transpose(g, np.argsort(axes)))
    derivative(np.broadcast_to, lambda g, out, x, shape: g)


def may_repeat(index):
    """Whether an index, a tuple as `copy_index` makes it, can name one place twice."""
    return any(np.ndim(part) > 0 and np.asarray(part).dtype != bool for part in index)


def index_rule(g, out, x, index):
    """The gradient for `x`, when `g` arrives at x[index].

    g        ndarray of the shape of x[index]
    out      x[index]
    x        ndarray
    index    tuple of ints, slices, None, Ellipsis, lists, arrays of ints, masks
    returns  ndarray of the shape of `x`: at each place the sum of all `g` picked there, or 0

    >>> index_rule(np.array([1.0, 10.0, 100.0]), None, np.zeros(4), ([2, 0, 2],))
    array([ 10.,   0., 101.,   0.])

    Source: numpy.bincount, "weights".
    """
    if may_repeat(index):
        places = np.arange(x.size).reshape(x.shape)[index]
        return np.bincount(places.ravel(), np.ravel(g), x.size).reshape(x.shape)
    full = np.zeros(x.shape, g.dtype)
    full[index] = g
    return full


derivative(take_forward, lambda g, out, x, index: index_rule(g, out, x, index))
derivative(concatenate_forward, together=lambda g, out, *arrays, axis: (
    np.split(g, np.cumsum([array.shape[axis] for array in arrays[:-1]]), axis)))
derivative(stack_forward, together=lambda g, out, *arrays, axis: list(np.moveaxis(g, axis, 0)))
derivative(pad_forward, lambda g, out, x, width, value: (
    g[tuple([slice(before, before + n) for (before, _), n in zip(width, x.shape)])]))


def as_matrices(g, a, b):
    """The arrays as stacks of matrices of shapes (..., i, j), (..., i, k) and (..., k, j)."""
    if b.ndim > 2:
        return (g, a, b) if a.ndim > 1 else (g[..., None, :], a[None], b)
    k, j = b.shape if b.ndim == 2 else (b.size, 1)
    rows = math.prod(a.shape[:-1])
    return g.reshape(rows, j), a.reshape(rows, k), b.reshape(k, j)


def matmul_rule(n):
    def rule(g, out, a, b):
        found, shape = matmul_slope(n, *as_matrices(g, a, b)), (a, b)[n].shape
        # no reshape that changes nothing: it makes a view, which a leaf would have to copy
        return found if b.ndim > 2 or found.shape == shape else found.reshape(shape)
    return rule


derivative(np.matmul, matmul_rule(0), matmul_rule(1))


def matmul_slope(n, g, a, b):
    """The gradient for input `n` of a @ b, for stacks of matrices.

    n        0 for the gradient of `a`, 1 for that of `b`
    g        ndarray of shape (..., i, j)
    a        ndarray of shape (..., i, k)
    b        ndarray of shape (..., k, j)
    returns  ndarray of shape (..., i, k) or (..., k, j); broadcast stacks are summed later

    >>> matmul_slope(0, np.array([[1.0, 10.0]]), np.zeros((1, 3)),
    ...              np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    array([[21., 43., 65.]])

    Source: Petersen and Pedersen, The Matrix Cookbook (2012), section 2.5.
    """
    if n == 0:
        return g @ b.swapaxes(-1, -2)
    return a.swapaxes(-1, -2) @ g


@contextlib.contextmanager
def no_grad():
    """Take no notes in this thread: `with no_grad():`, or `@no_grad()` above a function.

    Afterwards `recording.on` is what it was before, also after an exception, and inside another
    no_grad().

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


class Function:
    """An operation with its own rule. Subclasses define

    forward(self, *arrays)   arrays in, one array out; self.save_for_backward(...) keeps arrays
                             for later
    backward(self, grad)     from the gradient of the result, that of the input; several inputs:
                             a tuple, in which None stands for "has no slope".
                             self.saved_tensors is the tuple of what was kept

    and are used as Square()(x), where Square() may take settings, or as Square.apply(x). An
    object can be used many times, also on its own result: each use works on a fresh copy of it,
    which holds what that use saved.

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

    saved_tensors = ()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        validation.check_methods(cls)

    def __call__(self, *inputs, **options):
        call = copy.copy(self)
        return apply(call.forward, *inputs, **options)

    @classmethod
    def apply(cls, *inputs, **options):
        return cls()(*inputs, **options)

    def save_for_backward(self, *arrays):
        self.saved_tensors = arrays

    def forward(self, *arrays):
        raise TypeError(f"{type(self).__name__} needs a method forward(self, *arrays)")

    def backward(self, grad):
        raise TypeError(f"{type(self).__name__} needs a method backward(self, grad)")

    def slopes_of_all(self, g, out, *arrays, **options):
        """The rule for all inputs together, as `derivative` would have it."""
        return validation.checked_gradients(self.backward(g), arrays,
                                            type(self).__name__, operand)


def slope_by_nudging(f, arrays, n, at, step=1e-5):
    """The slope of f(*arrays) with respect to the one number arrays[n][at], from two nudges.

    f        a function of arrays that returns one number
    arrays   list of float64 ndarrays; nudged in place, and afterwards exactly as they were
    n, at    which array, and which place in it, a tuple of ints
    step     how far to nudge, up and down
    returns  a number: by how much f grows for each unit that the number grows

    >>> round(slope_by_nudging(lambda x: (x**3).sum(), [np.array([1.0, 2.0])], 0, (1,)), 6)
    12.0

    Source: central differences: Griewank and Walther, Evaluating Derivatives (2008), section 1.
    """
    middle = arrays[n][at]
    arrays[n][at] = middle + step
    up = f(*arrays)
    arrays[n][at] = middle - step
    down = f(*arrays)
    arrays[n][at] = middle
    return float((up - down) / (2 * step))


def numerical_gradient_check(f, inputs, tolerance=1e-5, step=1e-5):
    """Compare the gradients of f(*inputs) with nudges of every number of every input.

    f          a function of Tensors that returns a Tensor, the same each time, of any shape
    inputs     Tensors or arrays of fractions, or a single one; copied as float64
    tolerance  the largest error allowed, relative to slopes above 1 and absolute below
    returns    True

    Raises AssertionError, naming the input, the place and both numbers, where they differ.

    >>> numerical_gradient_check(lambda x, y: (x * y).sin(),
    ...                          [Variable([1.0, 2.0]), Variable([[3.0], [0.5]])])
    True
    """
    inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    arrays = [np.array(operand(x), np.float64) for x in inputs]
    leaves = [Variable(array) for array in arrays]
    validation.check_arguments(f, leaves)
    out = f(*leaves)
    validation.check_result(out)
    rng = np.random.default_rng(0)
    weights = np.asarray(rng.uniform(0.5, 1.5, out.shape) * rng.choice([-1.0, 1.0], out.shape))
    if out.size == 1:  # nothing to mix up: the slopes themselves
        weights = np.ones(out.shape)
    found = gradients_of(out, weights) if out.requires_grad else {}

    def weighed(*arrays):
        with no_grad():
            return np.sum(f(*map(Tensor, arrays)).data * weights)

    for n, leaf in enumerate(leaves):
        slopes = found.get(leaf, np.zeros(leaf.shape))
        for at in np.ndindex(leaf.shape):
            wanted = slope_by_nudging(weighed, arrays, n, at, step)
            if not abs(slopes[at] - wanted) <= tolerance * max(1, abs(wanted)):
                note = "" if leaf in found else " (no gradient arrived at all)"
                raise AssertionError(f"input {n} at {at}: the rules say {slopes[at]:.8g}"
                                     f"{note}, a nudge says {wanted:.8g}")
    return True


def draw_graph(tensor, /, **names):
    """Draw how `tensor` was made, from its notes.

    names    tensors to be shown by name, as in draw_graph(loss, x=x, w=w)
    returns  a Graph: `.source` in the DOT language, `.render()` to a file; a notebook shows it

    >>> x = Variable([1.0, 2.0])
    >>> print(draw_graph((2.0 * x).sum(), x=x))
    2
    x (2,)
    multiply (2,)
    sum = 6
    """
    if tensor.creator is FREED:
        raise RuntimeError("backward() has freed the notes of this result: "
                           "draw before backward(), or say backward(retain_graph=True)")
    return graph_of(oldest_first(tensor) or [tensor], names)


def cross_entropy_rule(g, out, logits, labels, smoothing):
    slope = np.exp(logits - np.maximum.reduce(logits, axis=-1, keepdims=True), order="C")
    slope /= np.add.reduce(slope, axis=-1, keepdims=True)  # softmax
    if smoothing:
        slope -= smoothing / logits.shape[-1]
    rows = slope.reshape(-1, logits.shape[-1])  # the same memory
    rows[np.arange(len(rows)), np.ravel(labels)] -= 1 - smoothing
    slope *= np.asarray(g)[..., None]
    return slope


derivative(cross_entropy_forward, cross_entropy_rule)
