# ---
# jupyter:
#   jupytext:
#     notebook_metadata_filter: tinytorch,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   tinytorch:
#     difficulty: 4
#     enables: [optimizers, convolutions, attention]
#     hours: 7
#     prerequisites: [tensor, losses, backprop]
#     summary: The slopes of a loss for a million weights, in one walk back
#     terms: []
#     title: Autograd
# ---

# %% [markdown]
# # 06. Autograd
#
# A small network has a hundred thousand weights and one loss. Learning asks each weight: which
# way, and how much? Nudging them one by one would run the network a hundred thousand times.
# This chapter gets all the answers from one walk backward, at about twice the price of a run.
#
# **You need** 01 (Tensor), 04 (losses) and 05, which went this way by single numbers. **You
# write** the table of slopes, the walk, `no_grad`, `Function` and a check by nudging.

# %%
#| default_exp core.autograd
#| export
import contextlib
import copy
import math
import operator

import numpy as np

from tinytorch.core.losses import cross_entropy_forward
from tinytorch.core.tensor import (Tensor, Variable, apply, axes_of, clip_forward,
                                   concatenate_forward, max_forward, min_forward, operand,
                                   pad_forward, power, recording, relu_forward,
                                   reshape_forward, run, sigmoid_forward, stack_forward,
                                   sum_forward, take_forward)
from tinytorch.support import validation
from tinytorch.support.graphs import Graph, graph_of
from tinytorch.support.memory import HOLDERS, collect_less_often, count_holders, held, is_ours
from tinytorch.support.rules import FREED, Rules, parts_of

# %% [markdown]
# ## What the notes say
#
# Since lesson 01 every result that a slope could be wanted of carries a note of how it was
# made. Read one backward. What stands on each line is all we shall ever need:

# %%
x, y = Variable(5.0), Variable(3.0)
z = x * y + x
while z.creator is not None:
    print(z.creator.op.__name__, "of", [float(array) for array in z.creator.arrays],
          "gave", float(z))
    z = z.creator.inputs[0]

# %% [markdown]
# Lesson 05 stored a slope with every number and called that the chain rule. On tensors it
# reads: somebody hands us `g`, the slope of the loss with respect to each number of a *result*;
# we owe the slope with respect to each number of the *inputs*. How to get from the one to the
# other depends on the operation and on nothing else. So it goes into a table: for each
# operation one small function per input, a *rule*.

# %%
#| export
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

# %% [markdown]
# The rules of this lesson are yours. `@rules_for(...)` above a function says "call this when a
# rule of one of these is first wanted", so that the package can be imported before you begin.
#
# Addition first. If `out = a + b` and one place of `a` grows by a little, the same place of
# `out` grows by as much, and the loss by `g` times that. So the rule of `+` hands `g` on, to
# both. For `a * b`, a little more of `a` gives `b` times as much more of the result.
#
# Predict for `a - b` and `a / b`: where does the sign turn, and what grows when `b` shrinks?
#
# **Task.** Write the rules of the five operations.

# %% exercise="arithmetic"
#| export
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
    ### BEGIN SOLUTION
    derivative(np.add, lambda g, out, a, b: g, lambda g, out, a, b: g)
    derivative(np.subtract, lambda g, out, a, b: g, lambda g, out, a, b: -g)
    derivative(np.multiply, lambda g, out, a, b: g * b, lambda g, out, a, b: g * a)
    derivative(np.divide, lambda g, out, a, b: g / b, lambda g, out, a, b: -g * out / b)
    derivative(np.negative, lambda g, out, a: -g)
    ### END SOLUTION

# %% checks="arithmetic"
check("arithmetic")

# %% [markdown]
# ## Curves
#
# For a function of one number the slope is its derivative, at the place where it was evaluated.
# Often the result already knows it: $e^x$ is its own derivative, and that of $\tanh x$ is
# $1 - \tanh^2 x$. A rule is given `out`, so nothing need be computed twice.
#
# Predict: which of the seven can do with `out` alone, and which need `a`?
#
# **Task.** Write the rules of `exp log sqrt sin cos tanh sigmoid`.

# %% exercise="curves"
#| export
@rules_for(np.exp, np.log, np.sqrt, np.sin, np.cos, np.tanh, sigmoid_forward)
def curve_rules():
    """Tell `derivative` the rules of np.exp, np.log, np.sqrt, np.sin, np.cos, np.tanh and
    sigmoid_forward.

    >>> curve_rules()
    >>> table[np.exp][0](np.float32(2), np.float32(5), np.float32(1.609))
    np.float32(10.0)

    Source: Baydin et al., Automatic differentiation in machine learning (2018), table 3.
    """
    ### BEGIN SOLUTION
    derivative(np.exp, lambda g, out, a: g * out)
    derivative(np.log, lambda g, out, a: g / a)
    derivative(np.sqrt, lambda g, out, a: g / (2 * out))
    derivative(np.sin, lambda g, out, a: g * np.cos(a))
    derivative(np.cos, lambda g, out, a: -g * np.sin(a))
    derivative(np.tanh, lambda g, out, a: g * (1 - out * out))
    derivative(sigmoid_forward, lambda g, out, a: g * out * (1 - out))
    ### END SOLUTION

# %% checks="curves"
check("curves")

# %% [markdown]
# Powers are given, for the sake of three corners. $x^0$ is flat, also at 0, where
# $0 \cdot 0^{-1}$ would be `nan`. A changing exponent needs $\log x$, and at 0 that is infinite
# while the power is 0 and stays 0. And a square should cost a multiplication, not a logarithm.

# %%
#| exporti
def power_to_base(g, out, base, exponent):
    if type(exponent) is int and exponent == 2:
        return g * (2 * base)
    # with exponent 0: times 0, to the power 0
    return g * exponent * power(base, exponent - (exponent != 0))


def power_to_exponent(g, out, base, exponent):
    flat = np.equal(base, 0) & np.greater_equal(exponent, 0)
    return np.where(flat, 0, g * out * np.log(np.where(flat, 1, base), dtype=out.dtype))


derivative(power, power_to_base, power_to_exponent)

# %% [markdown]
# ## Choices
#
# `maximum(a, b)` copies, place by place, one of its inputs; so the slope goes to the one that
# was copied and the other gets 0. Predict: what should happen where `a` equals `b`? Nudge `a`
# up and the result grows; nudge `a` down and nothing happens. So the slope of `a` is something
# between 0 and 1, and likewise for `b`; but nudge both, and the result moves as they do.
#
# **Task.** Write the rules of `maximum minimum absolute relu clip where`. What equal inputs
# receive, and which slope counts at 0 and at the limits of `clip`, stands in the docstring.

# %% exercise="choices"
#| export
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
    ### BEGIN SOLUTION
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
    ### END SOLUTION

# %% checks="choices"
check("choices")

# %% [markdown]
# ## Undoing a broadcast
#
# Add a bias of shape (4,) to a batch of shape (3, 4) and every row uses the same four numbers.
# Nudge one of them and three places of the result move, each with its own slope. A rule hands
# back shape (3, 4), and the slope of the bias, of shape (4,), has to come from all three.
#
# Predict: is it their sum or their mean? Nudge and see.

# %%
batch, bias = np.zeros((3, 4)), np.zeros(4)
g = np.arange(12.0).reshape(3, 4)
moved = bias.copy()
moved[0] += 1
print("the loss moves by", (g * (batch + moved)).sum() - (g * (batch + bias)).sum(),
      "where g is", g[:, 0])

# %% [markdown]
# **Task.** Write `unbroadcast`. A length of 1 that was stretched was used many times, too.

# %% exercise="unbroadcast"
#| export
def unbroadcast(g, shape):
    """The gradient for an array of `shape`, from the gradient `g` for what it was broadcast to.

    g        ndarray
    shape    a tuple that broadcasts to g.shape
    returns  ndarray of shape `shape`: each place has the sum over all of its copies

    >>> unbroadcast(np.array([[1, 2], [10, 20], [100, 200]]), (2,))
    array([111, 222])

    Source: copying has summing as its adjoint; Maclaurin, Duvenaud, Johnson, autograd (2015).
    """
    ### BEGIN SOLUTION
    extra = g.ndim - len(shape)
    ones = [extra + i for i, n in enumerate(shape) if n == 1]
    return g.sum(axis=(*range(extra), *ones)).reshape(shape)
    ### END SOLUTION

# %% checks="unbroadcast"
check("unbroadcast")

# %%
#| exporti
def fit(g, data, op=None):
    """The gradient `g` in the shape and dtype of `data`; errors say that `op` is its origin."""
    if getattr(g, "shape", None) != data.shape:
        validation.check_gradient(g, data.shape, op)  # an error that names what does not fit
        g = unbroadcast(g, data.shape)
    if g.dtype is data.dtype:
        return g
    validation.check_float(data.dtype)
    return g.astype(data.dtype)

# %% [markdown]
# ## In which order?
#
# In `h = x * x; z = h * h + h` three arrows arrive at `h`, and only when all of them have, may
# `h` hand on their sum. Nobody may go before all its users have gone.
#
# Predict: you meet the notes by following inputs from `z`. Is the order in which you meet them
# good enough? And what goes wrong with a function that calls itself for each input, on a loss
# 100,000 operations deep?
#
# A result is younger than its inputs, and `creator.created` counts births.
#
# **Task.** Write `oldest_first`. The walk will take what it lists from the end.

# %% exercise="order"
#| export
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
    ### BEGIN SOLUTION
    found, todo = set(), [tensor]
    while todo:
        x = todo.pop()
        if isinstance(x, Tensor) and x.creator is not None and x not in found:
            found.add(x)
            todo.extend(x.creator.inputs)
    return sorted(found, key=operator.attrgetter("creator.created"))
    ### END SOLUTION

# %% checks="order"
check("order")

# %% [markdown]
# ## Adding up
#
# During the walk a dictionary holds, for each tensor, the gradient received so far. What
# arrives second is added to what came first; `=` instead of `+=` is the most frequent mistake
# in home-made engines. The next is hidden here. Predict what `a` and `b` receive:

# %%
g = np.array([1.0])  # the rule of a + b hands the very same array to both
for_a, for_b = g, g
for_a += 5.0  # something else arrives for a
print("a:", for_a, " b:", for_b)

# %% [markdown]
# An array that came from a rule may be held by others, or be a read-only view. An array that
# *we* made, as a sum of two, is ours, and the third, the thousandth arrival can go into it.
#
# **Task.** Write `accumulate`. `mine` is the set of tensors whose array was made here.

# %% exercise="accumulate"
#| export
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
    ### BEGIN SOLUTION
    if x not in gradients:
        gradients[x] = g
    elif x in mine:
        gradients[x] += g
    else:
        gradients[x] = gradients[x] + g
        mine.add(x)
    ### END SOLUTION

# %% checks="accumulate"
check("accumulate")

# %% [markdown]
# ## One step
#
# One tensor's turn: it has its whole gradient `g`, and gives each of its inputs the due share.
# Most inputs of a network want nothing: a batch of pictures, a constant 0.1. Their rules are
# not even called; for the first layer this saves a third of the work.
#
# **Task.** Write the loop of `hand_on`. Predict: what are `made.inputs` and `rules` of `x * x`?

# %% exercise="hand-on"
#| export
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
    ### BEGIN SOLUTION
    for x, rule in zip(made.inputs, rules):
        if isinstance(x, Tensor) and x.requires_grad and rule is not None:
            found = rule(g, node.data, *made.arrays, **made.options)
            accumulate(gradients, mine, x, fit(found, x.data, made.op))
    ### END SOLUTION

# %% checks="hand-on"
check("hand-on")

# %% [markdown]
# ## Where the walk starts
#
# The slope of the loss with respect to itself is 1: that is the first gradient. For a result of
# several numbers there is no such thing as *the* slope; somebody must say how much each number
# matters. To take ones silently would hide a forgotten `mean()` for weeks.
#
# **Task.** Write the rest of `first_gradient`. An error says what was given, and what to do.

# %% exercise="start"
#| export
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
    ### BEGIN SOLUTION
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
    ### END SOLUTION

# %% checks="start"
check("start")

# %% [markdown]
# ## The walk
#
# A note holds on to all arrays that went into a result, so it is taken away as soon as it has
# served, and memory shrinks while we walk. `FREED`, which is put in its place, tells whoever
# comes a second time to say `retain_graph=True` the first time.
#
# The door that `Tensor.backward` opens is given. It starts your walk and hands the gradients to
# the *leaves*, the tensors that were given and not made. They keep them in `.grad`, added to
# what is there: two losses, two calls, one sum. Results in between keep nothing. A leaf must
# own its gradient; a copy sees to that, unless `is_ours` finds that nobody else holds it.

# %%
#| export
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

# %% [markdown]
# **Task.** Write the walk, from the end of `oldest_first` to its beginning.

# %% exercise="walk"
#| export
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
    ### BEGIN SOLUTION
    nodes, gradients, mine = oldest_first(tensor), {tensor: gradient}, set()
    while nodes:
        node = nodes.pop()
        if node in gradients:
            hand_on(node, gradients.pop(node), gradients, mine)
            mine.discard(node)
        if not retain_graph:
            node.creator = FREED
    return gradients
    ### END SOLUTION

# %% checks="walk"
check("walk")

# %% [markdown]
# The notes have become slopes. Predict both, for $\sin(xy / (x + y))$ at 5 and 3, then nudge:

# %%
def f(x, y):
    return np.sin(x * y / (x + y))


x, y = Variable(5.0), Variable(3.0)
backward(((x * y) / (x + y)).sin())
print("by the walk:", x.grad, y.grad)
print("by nudging: ", (f(5 + 1e-6, 3) - f(5, 3)) / 1e-6, (f(5, 3 + 1e-6) - f(5, 3)) / 1e-6)

# %% [markdown]
# ## Rules for sums
#
# A sum lets every number in with slope 1. So each place of `x` receives the gradient of the sum
# that it went into. The numbers are easy; the shape is not. Summing (2, 3, 4) along axis 1 left
# (2, 4), and to stretch that over (2, 3, 4) the axis must come back, as a 1.
#
# Predict what `np.broadcast_to` says to, or makes of, a gradient of shape (3,) that came from
# the rows of a (3, 3) matrix. Which of the two is worse?
#
# **Task.** Write `put_back`.

# %% exercise="put-back"
#| export
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
    ### BEGIN SOLUTION
    if keepdims:
        return g
    axes = axes_of(axis, len(shape))
    return g.reshape([1 if a in axes else n for a, n in enumerate(shape)])
    ### END SOLUTION

# %% [markdown]
# With it, the rules. The largest number of a row gets the whole gradient; equals share it.

# %%
#| exporti
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

# %% checks="put-back"
check("put-back")

# %% [markdown]
# ## Rules for shapes
#
# Reshaping and transposing move numbers and change none. Their rules move the gradient back.
#
# Predict: axes (1, 2, 0) take shape (2, 3, 4) to (3, 4, 2). Do the same axes take it back?
#
# **Task.** Write the rules of `reshape_forward(x, shape=...)`, `np.transpose(x, axes=...)` and
# `np.broadcast_to(x, shape=...)`.

# %% exercise="shapes"
#| export
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
    ### BEGIN SOLUTION
    derivative(reshape_forward, lambda g, out, x, shape: g.reshape(x.shape))
    derivative(np.transpose, lambda g, out, x, axes: np.transpose(g, np.argsort(axes)))
    derivative(np.broadcast_to, lambda g, out, x, shape: g)
    ### END SOLUTION

# %% checks="shapes"
check("shapes")

# %% [markdown]
# ## Rules for picking and joining
#
# Picking `x[[2, 0, 2]]` copies some places, one of them twice; what was not picked has slope 0,
# and what was picked twice receives twice. Predict what NumPy makes of this:

# %%
full = np.zeros(4)
full[[2, 0, 2]] += np.array([1.0, 10.0, 100.0])
print(full)

# %% [markdown]
# 1 is lost: NumPy adds for each place once. `np.bincount(places, weights, how_many)` adds up
# weights by place. It is needed only where lists or arrays of whole numbers may repeat one.

# %%
#| exporti
def may_repeat(index):
    """Whether an index, a tuple as `copy_index` makes it, can name one place twice."""
    return any(np.ndim(part) > 0 and np.asarray(part).dtype != bool for part in index)

# %% [markdown]
# **Task.** Write the rule of `take_forward(x, index=...)`.

# %% exercise="index"
#| export
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
    ### BEGIN SOLUTION
    if may_repeat(index):
        places = np.arange(x.size).reshape(x.shape)[index]
        return np.bincount(places.ravel(), np.ravel(g), x.size).reshape(x.shape)
    full = np.zeros(x.shape, g.dtype)
    full[index] = g
    return full
    ### END SOLUTION

# %% [markdown]
# Joining is undone by taking apart, and a margin by cutting it off.

# %%
#| exporti
derivative(take_forward, lambda g, out, x, index: index_rule(g, out, x, index))
derivative(concatenate_forward, together=lambda g, out, *arrays, axis: (
    np.split(g, np.cumsum([array.shape[axis] for array in arrays[:-1]]), axis)))
derivative(stack_forward, together=lambda g, out, *arrays, axis: list(np.moveaxis(g, axis, 0)))
derivative(pad_forward, lambda g, out, x, width, value: (
    g[tuple([slice(before, before + n) for (before, _), n in zip(width, x.shape)])]))

# %% checks="index"
check("index")

# %% [markdown]
# ## The rule of the product
#
# For $C = AB$ with shapes (i, k), (k, j), (i, j), the gradient $G$ has shape (i, j). What can
# be built of $G$ and $B$ that has the shape of $A$? Predict: only one product of theirs, one of
# them transposed, fits. That is how most people remember the rule. The reason: nudge $a_{ik}$,
# and $c_{ij}$ moves by $b_{kj}$, for every $j$.
#
# Stacks of matrices go through the same rule. The given piece makes matrices of everything,
# also of a 1-D row or column; and where the right side is one matrix, a layer's weights, it
# lets all rows of a batch stand in one tall matrix.

# %%
#| exporti
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

# %% [markdown]
# **Task.** Write `matmul_slope`.

# %% exercise="matmul"
#| export
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
    ### BEGIN SOLUTION
    if n == 0:
        return g @ b.swapaxes(-1, -2)
    return a.swapaxes(-1, -2) @ g
    ### END SOLUTION

# %% checks="matmul"
check("matmul")

# %% [markdown]
# ## No notes, please
#
# Measuring how good a network is, or changing its weights, needs results and no slopes; notes
# would cost time and memory for nothing. `recording.on` of lesson 01 says whether they are
# taken in this thread. It must be what it was before when the block ends, whatever happened.
#
# Predict three traps: a block inside a block, an exception in the middle, and a second thread.
#
# **Task.** Write the body of `no_grad`. `contextlib.contextmanager` makes a `with` block and a
# decorator of a function with a `yield`: what stands before it happens on the way in.

# %% exercise="no-grad"
#| export
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
    ### BEGIN SOLUTION
    before = recording.on
    recording.on = False
    try:
        yield
    finally:
        recording.on = before
    ### END SOLUTION

# %% checks="no-grad"
check("no-grad")

# %% [markdown]
# For one tensor rather than a stretch of code there is `detach`, since lesson 01: the same
# numbers, as if they had been given. No slope passes it. Predict the slope of
# $x \cdot \mathrm{detach}(x)$ at 3, and of $x \cdot x$.

# %%
x = Variable(3.0)
backward(x * x.detach())
print(x.grad)

# %% [markdown]
# ## An operation of your own
#
# Sometimes a rule should keep something that was computed on the way forward. Then a class, a
# `Function`, reads better than a line in the table. You say `forward` and `backward`.
#
# The saved arrays live in the object, and there lies a trap. Predict: if the *same* object
# computes `f(x)` and then `f(f(x))`, what has it saved when the walk comes to the inner one?
#
# **Task.** Write `Function.__call__`.

# %% exercise="function"
#| export
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
        ### BEGIN SOLUTION
        call = copy.copy(self)
        return apply(call.forward, *inputs, **options)
        ### END SOLUTION

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

# %% checks="function"
check("function")

# %% [markdown]
# ## Who checks the rules?
#
# A wrong rule raises no error; the network just learns badly, for weeks. But there is a witness
# who knows nothing of rules: nudge one number up and down, look at the loss. The size of the
# nudge $h$ is a bargain. Predict which is best for $e^x$ at 1, and why small ones are *worse*:

# %%
for h in (1e-1, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11):
    one_side = (math.exp(1 + h) - math.exp(1)) / h
    both = (math.exp(1 + h) - math.exp(1 - h)) / (2 * h)
    print(f"{h = :.0e}  error {abs(one_side - math.e):.0e}, both ways {abs(both - math.e):.0e}")

# %% [markdown]
# The difference of two nearly equal numbers loses its digits: lesson 01 met that in the
# variance. Nudging both ways cancels the curve's bend, and $h = 10^{-5}$ in float64 leaves
# about ten good digits. In float32 it leaves two.
#
# **Task.** Write `slope_by_nudging`, for one number among many.

# %% exercise="nudge"
#| export
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
    ### BEGIN SOLUTION
    middle = arrays[n][at]
    arrays[n][at] = middle + step
    up = f(*arrays)
    arrays[n][at] = middle - step
    down = f(*arrays)
    arrays[n][at] = middle
    return float((up - down) / (2 * step))
    ### END SOLUTION

# %% checks="nudge"
check("nudge")

# %% [markdown]
# The check around it is given. A result of many numbers is weighed with a random gradient
# first: with ones, a rule that mixes up places would often pass.

# %%
#| export
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

# %%
def wrong_square(x):
    return x * x


derivative(wrong_square, lambda g, out, x: g * x)
x = Variable([[1.0, 0.0], [3.0, 4.0]])
print(numerical_gradient_check(lambda x: x.exp() / x.exp().sum(axis=1, keepdims=True), x))
try:
    numerical_gradient_check(lambda x: apply(wrong_square, x), x)
except AssertionError as error:
    print(error)

# %% [markdown]
# ## A picture of the notes
#
# The notes can be drawn, before a walk frees them: a box per tensor, an arrow per input.

# %%
#| export
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

# %%
x, w = Variable([[1.0, 2.0]]), Variable([[3.0], [-1.0]])
draw_graph(((x @ w).tanh() * x).sum(), x=x, w=w)
# alt: A graph, from boxes x and w over matmul, tanh and multiply to sum; x has two arrows.

# %% [markdown]
# ## What a graph weighs
#
# A network that is run is light; one that will learn keeps every layer's results, for the
# rules, until the walk comes by. Predict, for 20 operations on a tensor of 400 kB: how much
# memory inside `no_grad`, with notes, after the walk, and after one with `retain_graph=True`?

# %%
from tinytorch.support.memory import kilobytes_held


def chain(walked=False, retain_graph=False):
    x = result = Variable(np.ones(100_000, "float32"))
    for _ in range(20):
        result = result.sin()
    result = result.sum()
    if walked:
        backward(result, retain_graph=retain_graph)
    return x, result


print("no notes:          ", kilobytes_held(no_grad()(chain)), "kB")
print("with notes:        ", kilobytes_held(chain), "kB")
print("after the walk:    ", kilobytes_held(lambda: chain(True)), "kB")
print("with retain_graph: ", kilobytes_held(lambda: chain(True, retain_graph=True)), "kB")

# %% [markdown]
# After the walk only `x` and its gradient are left. This is why a loop that collects `loss`
# before any walk, instead of `float(loss)`, fills the memory of any machine.
#
# ## One operation or seven?
#
# Lesson 04 made cross-entropy one operation, although it could be built of a maximum, a
# difference, an exponential, a sum, a logarithm... Each of these would have a rule of its own,
# and an array to keep. All of them together have a rule of one line. The loss of a row is
# $\log \sum_j e^{z_j} - \sum_j t_j z_j$, with $t$ the target; its slope along $z_j$ is the
# probability that the network gave, minus the one it should have given,
# $\mathrm{softmax}(z)_j - t_j$. Smoothing gives a share of the target evenly to all classes.

# %%
#| exporti
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

# %%
from tinytorch.core.losses import binary_cross_entropy_with_logits, cross_entropy

scores = Variable(np.random.default_rng(0).normal(size=(4, 3)))
print(numerical_gradient_check(
    lambda z: cross_entropy(z, [2, 0, 1, 0], label_smoothing=0.1), scores))
backward(cross_entropy(scores, [2, 0, 1, 0]))
print((4 * scores.grad).round(3))

# %% [markdown]
# Rows sum to 0: what the true class gains, the others lose.
#
# ## Two moons
#
# Everything together. Two half-moons reach into each other, so no straight line parts them. The
# network is made of parts from lessons 02 to 04, written before there was a slope in sight. One
# step of learning: run, measure, walk back, and move every weight a little against its slope.
#
# Predict the share of points on the right side before learning, and the shape of the boundary.

# %%
from tinytorch.core.activations import Tanh
from tinytorch.core.layers import Dense, Sequential, manual_seed

rng = np.random.default_rng(1)
angle = rng.uniform(0, np.pi, 200)
upper = np.arange(200) < 100
points = np.where(upper, [np.cos(angle), np.sin(angle)],
                  [1 - np.cos(angle), 0.5 - np.sin(angle)]).T
points = Tensor((points + rng.normal(0, 0.12, (200, 2))).astype("float32"))
moon = Tensor(upper[:, None].astype("float32"))

manual_seed(0)
network = Sequential(Dense(2, 16), Tanh(), Dense(16, 16), Tanh(), Dense(16, 1))


@no_grad()
def share_right():
    return float(np.mean((network(points).data > 0) == upper[:, None]))


print(f"before: {share_right():.1%} of the points on the right side")
losses = []
for step in range(150):
    loss = binary_cross_entropy_with_logits(network(points), moon)
    backward(loss)
    for parameter in network.parameters():
        parameter.data -= 1.0 * parameter.grad
        parameter.grad = None
    losses.append(float(loss))
print(f"after:  {share_right():.1%}, the loss fell from {losses[0]:.3f} to {losses[-1]:.3f}")

# %%
import matplotlib.pyplot as plt

across, up = np.meshgrid(np.linspace(-1.6, 2.6, 90), np.linspace(-1.2, 1.7, 70))
with no_grad():
    grid = network(Tensor(np.stack([across, up], -1).astype("float32"))).sigmoid().data[..., 0]
figure, axes = plt.subplots(figsize=(6, 3.6))
axes.contourf(across, up, grid, levels=[0, 0.25, 0.5, 0.75, 1], cmap="RdBu", alpha=0.6)
axes.scatter(*points.data.T, c=upper, cmap="RdBu", edgecolors="black", s=14)
axes.set(xlabel="across", ylabel="up", title="probability of the upper moon");
# alt: Two half-moons of points, and between them a curved band where the network is undecided.

# %% [markdown]
# After `tito export autograd`, `loss.backward()` is the same call as `backward(loss)` here.
#
# ## Look back
#
# 1. Forgetting `parameter.grad = None` above does not break the program. What does it do
#    instead? Measure the loss after 150 steps, and explain why adding up is right all the same.
# 2. Count the multiplications in a matrix product of shapes (64, 784) and (784, 256) and in its
#    two rules. How much does one step backward cost, in steps forward? Which of the two
#    products is spared in the first layer, and by which line of yours?
# 3. `x = x * 1.0001 + 0.1`, 50,000 times: how long do running and walking take per operation on
#    your machine, and how much of that is arithmetic? (`np.multiply` of the same array tells.)
#    What follows for the size of the arrays in a network?
