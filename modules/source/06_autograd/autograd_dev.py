# %% [markdown]
# # 06. Autograd
#
# A network with 337 parameters separates two half-moons of points. The derivatives of its loss
# were worked out on paper and written down in NumPy, so with another activation function, or
# another loss, they would be wrong.

# %% tags=["payoff"]
from tinytorch.pictures.autograd import forward, plot_decision, train_by_hand, two_moons

points, labels = two_moons()
by_hand = train_by_hand(points, labels)
plot_decision(points, labels, lambda x: forward(by_hand, x)[-1]);
# caption: The derivatives behind this picture were worked out by hand, for this network only.
# alt: Two interleaved half-moons of points, and a curved boundary that separates all of them.

# %% [markdown]
# **Automatic differentiation**, *autograd* for short, computes the exact derivatives of a
# program by applying the chain rule to each of its operations. This chapter is lesson 01 again,
# for arrays: a graph of operations, a rule for each operation, and one *backward pass*, which
# computes all derivatives of a loss in about twice the time of the loss. At the end, your
# autograd trains a network like the one in the picture, and nothing in its code refers to that
# network. The layers and losses of lessons 04 and 05 learn without a changed line.
#
# **You need** 01, which did this for single numbers, 02 (Tensor) and 05 (losses); for the last
# section also 03 (activations) and 04 (layers). **You build** the rules of the operations, the
# backward pass, and `no_grad`.

# %%
#| default_exp core.autograd
#| export
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
import numpy as np

from tinytorch.core.tensor import Tensor, Variable, apply, operand
from tinytorch.support import derivatives
from tinytorch.support.svg import draw_graph

# %% [markdown] page="Graphs and rules"
# ## Recording operations
#
# The last line of `apply` in lesson 02 calls `record(out, op, inputs, arrays, options)`. If an
# input requires a gradient, `record` sets `out.requires_grad = True` and gives `out` a
# `creator` with these fields:
#
# - `op`, `options`: the operation and its options;
# - `inputs`: the Tensors, numbers or arrays that it was called with;
# - `arrays`: the arrays that the inputs held at that moment;
# - `created`: a counter, larger for a later operation.
#
# A result that is not floating-point has no derivative, so it is not recorded. Predict which
# results have a creator:

# %% tags=["answer"]
x, y = Variable(5.0), Variable(3.0)  # a Variable is a Tensor with requires_grad=True
for name, out in [("x * 2", x * 2), ("x > y", x > y), ("a * 2", Tensor(5.0) * 2)]:
    print(name, "is not recorded" if out.creator is None else f"has creator {out.creator}")

# %% [markdown]
# ## The computation graph
#
# Following creators from a result back to where the computation started gives the *computation
# graph*:

# %%
z = x * y + x
draw_graph(z, x=x, y=y)
# alt: A graph: x = 5 and y = 3 lead to mul = 15; mul and x lead to add = 20. No gradient yet.

# %% [markdown]
# The blue boxes are leaves. A **leaf** of the graph is a tensor that was not computed by an
# operation, such as the weights of a network. The gradients are still missing (`grad None`).
# The *backward pass* will go through the graph from the last box up to the leaves. Here we
# follow only the first input of each creator:

# %%
while z.creator is not None:
    print(z.creator, "of", [float(array) for array in z.creator.arrays], "gave", float(z))
    z = z.creator.inputs[0]

# %% [markdown]
# ## Vector-Jacobian products
#
# Lesson 01 stored the local derivative of each operation with respect to each of its inputs, a
# single number. On tensors, an input or output consists of many numbers. The **Jacobian** of a
# function is the matrix of the partial derivatives of every output number with respect to every
# input number. For `exp` of a million numbers it has $10^{12}$ entries, nearly all of them 0.
#
# We never build it. The *upstream gradient* `g` is the gradient of the loss with respect to the
# output of an operation. The **vector-Jacobian product** (VJP) $g^T J$ is the gradient of the
# loss with respect to the input of the operation. ($g$ is a column, so $g^T$ is a row.) For
# `exp`, each output depends on one input only, and the derivative of `exp` is `exp` itself,
# that is `out`. So the VJP is `g * out`, elementwise: a million multiplications.
#
# So each operation gets a small function for each of its inputs, the *rule* of this input,
# which computes the VJP. A table holds the rules of all operations:

# %%
#| export
table = derivatives.Rules()


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

# %% [markdown]
# Addition first. If `out = a + b` and an element of `a` grows by $\varepsilon$, the same
# element of `out` grows by $\varepsilon$, and the loss by $g \varepsilon$. So the rule of `+`
# returns `g`, for both inputs, while for `a * b` the element of `out` grows by $b \varepsilon$.
#
# Predict for the four rules of `a - b` and `a / b`: which contain a minus? Which can use `out`?
#
# **Task.** Write the rules of the five operations. (`@table.written_by` calls the function.)

# %% The rules of arithmetic exercise="arithmetic"
#| export
@table.written_by
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
    ### BEGIN SOLUTION
    derivative(np.add, lambda g, out, a, b: g, lambda g, out, a, b: g)
    derivative(np.subtract, lambda g, out, a, b: g, lambda g, out, a, b: -g)
    derivative(np.multiply, lambda g, out, a, b: g * b, lambda g, out, a, b: g * a)
    derivative(np.divide, lambda g, out, a, b: g / b, lambda g, out, a, b: -g * out / b)
    derivative(np.negative, lambda g, out, a: -g)
    ### END SOLUTION

# %% checks="arithmetic"
check("arithmetic")

# %%
z = x / y  # at x = 5, y = 3
g = np.float32(1)
for name, rule in zip("xy", table.rules_of(z, g)):
    print(f"dz/d{name} =", rule(g, z.data, x.data, y.data))

# %% [markdown]
# ## Topological order
#
# For a graph of several operations, the order matters. In `h = x * x; z = h * h + h`, the
# result `h` is used three times: twice in `h * h`, and once in the sum. The gradient of `h` is
# the sum over all three uses, and may be passed on to `x` only after all three have been added.
# So the backward pass handles `h` after everything that was computed *from* it.
#
# The order is the *topological order* of lesson 01: `z` first, and every result before the
# results that it was computed from. The function for tensors is given: it collects the results,
# each once, and sorts them so that the newest comes first. Leaves have no rule and are left
# out.

# %%
#| export
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

# %% [markdown] page="The backward pass and its test"
# ## Propagating gradients
#
# During the backward pass a dictionary `gradients` holds, for each tensor, the sum of the
# contributions that have arrived for it so far. `accumulate` adds one more, but not with
# `gradients[x] += g`. To see why, predict what the code prints for the gradients of `a` and `b`
# in `a + b`:

# %% tags=["answer"]
g = np.array([1.0])  # the rule of a + b returns the very same array for both inputs
for_a, for_b = g, g
for_a += 5.0  # a contribution to a from elsewhere
print("a:", for_a, " b:", for_b)

# %% [markdown]
# `+=` writes into the array, and because an array returned by a rule may be in use elsewhere,
# `accumulate` uses `gradients[x] + g`, a new array, from the second contribution on.
#
# `propagate` does one step of the backward pass. It takes one result, `node`, and its complete
# gradient `g`, calls the rules of its operation, and accumulates what they return. Many inputs
# need no gradient (a batch of images, a constant 0.1), and their rules are not called. The
# first layer of a network does not need the gradient of its input, so that matrix product is
# not computed.
#
# `match_input` is given. It changes a gradient to the dtype and shape of the input:

# %%
#| exporti
def match_input(g, data, op=None):
    """The gradient `g` in the shape and dtype of `data`. Errors name the operation `op`."""
    if getattr(g, "shape", None) != data.shape:
        derivatives.check_gradient(g, data.shape, op)  # an error that names what does not fit
        g = unbroadcast(g, data.shape)  # written in the section on broadcasting
    if g.dtype is data.dtype:
        return g
    derivatives.check_float(data.dtype)
    return g.astype(data.dtype)

# %% [markdown]
# **Task.** Write `accumulate` and the loop of `propagate`. There `made` is the creator of
# `node`, and `table.rules_of(node, g)` returns the rules of its operation, one for each input.
# (`x * x` has two inputs, both the same tensor, and two rules.)

# %% Propagating gradients exercise="propagate"
#| export
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
    ### BEGIN SOLUTION
    if x in gradients:
        gradients[x] = gradients[x] + g
    else:
        gradients[x] = g
    ### END SOLUTION


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
    ### BEGIN SOLUTION
    for x, rule in zip(made.inputs, table.rules_of(node, g)):
        if isinstance(x, Tensor) and x.requires_grad and rule is not None:
            part = rule(g, node.data, *made.arrays, **made.options)
            accumulate(gradients, x, match_input(part, x.data, made.op))
    ### END SOLUTION

# %% checks="propagate"
check("propagate")

# %% [markdown]
# ## The backward pass
#
# The backward pass starts with the gradient of the output, which the caller gives (1 for a
# loss), and calls `propagate` for each result in topological order. At the end the dictionary
# holds only the gradients of leaves. This function is the heart of every deep-learning library,
# and it is short.
#
# A node keeps all arrays that went into its operation. To free this memory early, `grad`
# replaces the creator of each node by the constant `FREED` once the node has been propagated. A
# second pass through a freed graph raises an error, while `retain_graph=True` frees nothing.
#
# **Task.** Write `grad`, named like `torch.autograd.grad`.

# %%
#| exporti
from tinytorch.support.derivatives import FREED

# %% The backward pass exercise="backward"
#| export
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
    ### BEGIN SOLUTION
    nodes, gradients = topological_order(output)[::-1], {output: gradient}
    while nodes:
        node = nodes.pop()  # so that the list does not keep it in memory
        if node in gradients:
            propagate(node, gradients.pop(node), gradients)
        if not retain_graph:
            node.creator = FREED
    return gradients
    ### END SOLUTION

# %% checks="backward"
check("backward")

# %% [markdown]
# Predict both derivatives of $z = xy + x$ at $x = 5, y = 3$. (A freed graph cannot be drawn,
# hence `retain_graph=True`.)

# %% tags=["answer"]
x, y = Variable(5.0), Variable(3.0)
z = x * y + x
gradients = grad(z, np.float32(1), retain_graph=True)
x.grad, y.grad = gradients[x], gradients[y]
draw_graph(z, x=x, y=y)
# alt: The graph from above after the backward pass: x has gradient 4, y has gradient 5.

# %% [markdown]
# ## Gradient check
#
# A wrong rule raises no error; the network just trains badly, perhaps for weeks. A **gradient
# check** compares the gradient of the backward pass with a *finite difference*: it changes one
# input a little and measures how the output changes. How little? The next picture shows two
# errors for $e^x$ at 1: of the one-sided difference $(f(x + h) - f(x)) / h$ and of the central
# difference of lesson 00, $(f(x + h) - f(x - h)) / (2h)$. Predict the best step $h$ for each.
# (The step becomes smaller to the right.)

# %% tags=["answer", "explained"]
from tinytorch.pictures.drawing import panel

h = 10.0 ** -np.arange(1, 13)
forward_difference = (np.exp(1 + h) - np.e) / h
both_sides = (np.exp(1 + h) - np.exp(1 - h)) / (2 * h)
figure, axes = panel("error of the derivative of exp at 1", "step h", xscale="log",
                     yscale="log")
axes.plot(h, abs(forward_difference - np.e), "C3")
axes.plot(h, abs(both_sides - np.e), "C0")
axes.text(3e-4, 3e-3, "one-sided", color="C3")
axes.text(6e-2, 1e-9, "central", color="C0")
axes.invert_xaxis();
# caption: There is a best h: above it the formula is too rough, below it rounding takes over.
# alt: Both errors fall as h shrinks and then rise. The error of the one-sided difference falls
# to 1e-8, near h = 1e-8, and the error of the central difference to 1e-10, near h = 1e-5.

# %% [markdown]
# Small steps are bad because the difference of two nearly equal numbers loses digits (as in the
# variance of lesson 02), and large steps because the function curves. With $h = 10^{-5}$ in
# float64 about ten digits of a central difference are right; in float32 only about two would
# be.
#
# The check is given. It takes the central difference for one element at a time. If the result
# has several elements, they are multiplied by random weights and summed: with weights of 1 a
# rule that returns gradients in the wrong order would pass.

# %%
#| export
def central_difference(f, arrays, n, at, step=1e-5):
    """The partial derivative of f(*arrays) with respect to the element arrays[n][at]."""
    middle = arrays[n][at]
    arrays[n][at] = middle + step
    up = f(*arrays)
    arrays[n][at] = middle - step
    down = f(*arrays)
    arrays[n][at] = middle
    return float((up - down) / (2 * step))

# %%
#| export
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

# %%
print(numerical_gradient_check(lambda x, y: (x * y) / (x + y), [x, y]))
# a wrong rule, without the factor 2 (no operation of Tensor uses np.square)
derivative(np.square, lambda g, out, x: g * x)
try:
    numerical_gradient_check(lambda x: apply(np.square, x), Variable(3.0))
except AssertionError as error:
    print(error)

# %% [markdown]
# ## Leaves and their gradients
#
# A training loop does not read a dictionary: it reads the gradient from the tensor. `backward`
# adds a gradient to the `.grad` of each leaf. Intermediate results get no `.grad`: their
# gradient stays `None`.
#
# The backward pass starts with the gradient of the output with respect to itself. For a scalar
# that is 1, while for a result of several elements there is no single derivative: the caller
# must say how much each element counts. If we assumed ones, a forgotten `mean()` would go
# unnoticed. The given function `seed_gradient` returns this first gradient, or raises an error.

# %%
#| export
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

# %% [markdown]
# `Tensor.backward` of lesson 02 calls the following function. If you call it for two losses,
# `.grad` holds the sum of both gradients. Each leaf gets an array of its own, because the one
# that a rule returned may be in use elsewhere.

# %%
#| export
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
        x.grad = np.array(g) if x.grad is None else np.asarray(x.grad + g)

# %% [markdown]
# The option **retain_graph** of `backward` keeps the graph after the pass, so that another pass
# can go through it. Without it, a second pass is refused:

# %%
x = Variable(3.0)
z = x * x
backward(z, retain_graph=True)
backward(z)
print("two passes, both added:", x.grad)
try:
    backward(z)
except RuntimeError as error:
    print(error)

# %% [markdown] page="A rule for each operation"
# ## Gradients of broadcast operands
#
# Adding a bias of shape (4,) to a batch of shape (3, 4) *broadcasts* the bias: every row uses
# the same four numbers, so each of them contributes to three elements of the result. The rule
# of `+` returns a gradient of shape (3, 4), but the bias needs one of shape (4,).
#
# Predict: is the gradient of the bias the sum over the rows, or their mean? The code below
# takes as loss the sum of `g` times the output, and changes the first of the four biases by 1:

# %% tags=["answer", "explained"]
from tinytorch.pictures.autograd import draw_bias_gradient

batch, bias, changed = np.zeros((3, 4)), np.array([0.5, -1, 2, 0]), np.array([1.5, -1, 2, 0])
g = np.arange(12.0).reshape(3, 4)
print("the loss changes by", (g * (batch + changed)).sum() - (g * (batch + bias)).sum())
draw_bias_gradient(bias, g)
# caption: What broadcasting copies in the forward pass, the backward pass adds up.
# alt: A bias of 4 numbers is copied to 3 rows; below, the columns of g are summed to 4 numbers.

# %% [markdown]
# By the *multivariable chain rule*, the contributions of all copies are summed. The same holds
# for an axis of length 1: for shape (3, 1), each row of `g` is summed, and the axis stays.
#
# **Task.** Write `unbroadcast`. It takes most people several tries: draw the two shapes first,
# aligned at the right. (`sum_forward(g, axis)` is `g.sum(axis)`, exact for very many rows.)

# %%
#| exporti
from tinytorch.support.forward import sum_forward

# %% Summing over broadcast axes exercise="unbroadcast"
#| export
def unbroadcast(g, shape):
    """Sum the gradient `g` of a broadcast array over the broadcast axes.

    g        ndarray
    shape    tuple: the shape that the array had before it was broadcast to g.shape
    returns  ndarray of shape `shape`: for each element the sum over all of its copies

    >>> unbroadcast(np.array([[1, 2], [10, 20], [100, 200]]), (2,))
    array([111, 222])

    Source: the adjoint of copying is summing; Maclaurin, Duvenaud, Johnson, Autograd (2015).
    """
    ### BEGIN SOLUTION
    extra = g.ndim - len(shape)
    ones = [extra + i for i, n in enumerate(shape) if n == 1]
    return sum_forward(g, axis=(*range(extra), *ones)).reshape(shape)
    ### END SOLUTION

# %% checks="unbroadcast"
check("unbroadcast")

# %% [markdown]
# ## Elementwise functions
#
# The Jacobian of an elementwise function is diagonal, so its VJP is `g` times the derivative of
# the function, elementwise. Often the result already contains it: $e^x$ is its own derivative,
# and the derivative of $\tanh x$ is $1 - \tanh^2 x$. A rule gets `out`, so nothing need be
# computed twice. Predict which of the rules of `exp log sqrt sin cos tanh sigmoid` can be
# written with `out` alone, and which need `a`.
#
# `relu`, `abs` and `maximum` have kinks, where the derivatives from the left and from the right
# differ. A **subgradient** at a kink is any number from the derivative on its left to that on
# its right. Autograd returns one of them: for `relu` at 0 it returns 0, as PyTorch does.
# `maximum(a, b)` copies one of its inputs, so the gradient goes to that one. Now let `a` equal
# `b`: if both grow by $\varepsilon$, so does the result. Predict the sum of the two gradients.
#
# **Task.** Write the rules of these seven operations, of `relu` and of `maximum`. `masked(g,
# mask)` is given: `g` where the mask is true, and 0 elsewhere.

# %%
#| exporti
from tinytorch.support.derivatives import masked
from tinytorch.support.forward import relu_forward, sigmoid_forward

# %% The rules of elementwise functions exercise="elementwise"
#| export
@table.written_by
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
    ### BEGIN SOLUTION
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
    ### END SOLUTION

# %% checks="elementwise"
check("elementwise")

# %% [markdown]
# `exp sqrt tanh sigmoid` need only `out`; `log sin cos` need `a`. The two gradients of
# `maximum` always add up to `g`. The other elementwise rules are given. (The rules of powers
# have corner cases: the formula for $x^0$, $0 \cdot x^{-1}$, gives `nan` at $x = 0$.)

# %%
#| exporti
from tinytorch.support.forward import clip_forward, power

derivative(power, derivatives.base_rule, derivatives.exponent_rule)
derivative(np.absolute, lambda g, out, a: g * np.sign(a))
derivative(np.minimum, lambda g, out, a, b: masked(g, a < b) + masked(g / 2, a == b),
           lambda g, out, a, b: masked(g, b < a) + masked(g / 2, a == b))
derivative(clip_forward, lambda g, out, a, low, high: masked(g, out == a))
derivative(np.where, None, lambda g, out, c, a, b: np.where(c, g, 0),
           lambda g, out, c, a, b: np.where(c, 0, g))

# %% [markdown] question="where-nan" points=4
# **Question.** This function is the square root of positive numbers, and 0 for all others:
#
# ```python
# from tinytorch.core.tensor import where
# x = Variable([4.0, 0.0])
# y = where(x > 0, x.sqrt(), 0.0)
# backward(y, [1.0, 1.0])
# ```
#
# The values are right, [2, 0], but `x.grad` contains a `nan`.
#
# 1. Which rule returns the `nan`? Which `g` and which `out` does it get there?
# 2. `where` did not choose the square root of 0. Why does the backward pass go through it?
# 3. A friend writes `y = (x + 1e-8).sqrt()` instead. Measure the gradients. What could go wrong
#    in training?
# 4. Change the function so that its values stay the same and its gradients are 0.25 and 0.
#
# **Your answer:**
#
# ### BEGIN SOLUTION
# The rule of `sqrt` returns it. It gets g = 0, because `where` did not choose this element, and
# out = 0. So g / (2 * out) is 0 / 0, which is `nan`. The rule of `where` is right.
#
# Python computes both arguments before it calls `where`, so both operations are in the graph,
# and both inputs of `where` get a gradient. The gradient 0 means "has no influence". But the
# derivative of the square root at 0 is infinite, and 0 times infinity is not 0.
#
# With the friend's function the gradients are 0.25 and 5000. Nothing is `nan`, but the second
# element gets a step that is 20,000 times as large as the step of the first. One such element
# can ruin all weights in one step.
#
# The square root must never see the 0. Replace the 0 before, by any positive number:
#
# ```python
# safe = where(x > 0, x, 1.0)
# y = where(x > 0, safe.sqrt(), 0.0)
# ```
#
# At x = 0 the rule of `sqrt` now computes 0 / 2 = 0, and the gradients are 0.25 and 0. `safe =
# x.maximum(1e-12)` gives the same.
#
# - 1 point: the rule of `sqrt`, with g = 0 and out = 0, so 0 / 0
# - 1 point: both arguments are computed and recorded before `where` chooses
# - 1 point: 0.25 and 5000, and a very large step
# - 1 point: a function that changes what `sqrt` gets, with the measured gradients 0.25 and 0
# - -1 point: sets a `nan` in the gradient to 0 afterwards, as the only change
# ### END SOLUTION

# %% [markdown]
# ## Reductions
#
# Each element contributes to a sum with derivative 1, so its gradient is the gradient of the
# sum that it went into. The numbers are easy, but the shape is not. Summing shape (2, 3, 4)
# along axis 1 gives (2, 4). To broadcast such a gradient to (2, 3, 4), the reduced axis must
# first return, with length 1.
#
# Predict what `np.broadcast_to(g, (2, 3, 4))` does with a `g` of shape (2, 4). And what does
# `np.broadcast_to(g, (3, 3))` do if `g`, of shape (3,), holds one number for each row? Which of
# the two is worse?

# %% tags=["answer", "explained"]
for g, shape in [(np.zeros((2, 4)), (2, 3, 4)), (np.arange(3), (3, 3))]:
    try:
        print(np.broadcast_to(g, shape))
    except ValueError as error:
        print(error)

# %% [markdown]
# The second is worse: it raises no error, and each column gets the gradient of a row.
#
# The rules of reductions are given. The largest element of a row receives the whole gradient of
# that row's maximum. If several elements are equally large, they share it.

# %%
#| export
from tinytorch.core.tensor import axes_of
from tinytorch.support.forward import max_forward, min_forward


def expand_reduced(g, shape, axis=None, keepdims=False):
    """Expand the axes that a reduction removed, to length 1, so that `g` broadcasts to `shape`.

    >>> expand_reduced(np.zeros((2, 4)), (2, 3, 4), axis=1).shape
    (2, 1, 4)
    """
    if keepdims:
        return g
    axes = axes_of(axis, len(shape))
    return g.reshape([1 if a in axes else n for a, n in enumerate(shape)])

# %%
#| exporti
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

# %% [markdown]
# ## Reshape, transpose, broadcast
#
# Reshaping and transposing move elements and change none. Their rules move the gradient back.
#
# Predict: axes (1, 2, 0) take shape (2, 3, 4) to (3, 4, 2). Do the same axes take it back?
#
# **Task.** Write the rules of `reshape_forward(x, shape=...)`, `np.transpose(x, axes=...)` and
# `np.broadcast_to(x, shape=...)`.

# %%
#| exporti
from tinytorch.support.forward import reshape_forward

# %% The rules of changes of shape exercise="shapes"
#| export
@table.written_by
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
    ### BEGIN SOLUTION
    derivative(reshape_forward, lambda g, out, x, shape: g.reshape(x.shape))
    derivative(np.transpose, lambda g, out, x, axes: np.transpose(g, np.argsort(axes)))
    derivative(np.broadcast_to, lambda g, out, x, shape: g)
    ### END SOLUTION

# %% checks="shapes"
check("shapes")

# %% [markdown]
# ## Indexing and joining
#
# Indexing also moves elements, but it can leave some out or repeat them. `x[[2, 0, 2]]` copies
# some elements, one of them twice. An element that was not picked has gradient 0; one that was
# picked twice receives two contributions. Predict what NumPy prints:

# %% tags=["answer", "explained"]
full = np.zeros(4)
full[[2, 0, 2]] += np.array([1.0, 10.0, 100.0])
print(full)

# %% [markdown]
# The 1 is lost: NumPy adds to each element once. `np.add.at(full, index, g)` adds each element
# of `g`, however often `index` picks the same place.
#
# **Task.** Write the rule of `take_forward(x, index=...)`, which computes `x[index]`.

# %% The rule of indexing exercise="index"
#| export
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
    ### BEGIN SOLUTION
    full = np.zeros(x.shape, g.dtype)
    np.add.at(full, index, g)
    return full
    ### END SOLUTION

# %% [markdown]
# For many numbers `np.add.at` is slow, so a given function replaces it there: it assigns where
# no place can repeat (slices and masks), and adds up with `np.bincount` elsewhere. The rules of
# `concatenate`, `pad` and a few more operations are also given.

# %%
#| exporti
from tinytorch.support.forward import take_forward

derivative(take_forward, lambda g, out, x, index: (
    index_rule(g, out, x, index) if g.size < 100 else derivatives.fast_index_rule(g, x, index)))
derivatives.register_others(derivative)

# %% checks="index"
check("index")

# %% [markdown]
# ## Matrix products
#
# For $C = AB$ with shapes (i, k), (k, j), (i, j), the gradient $G$ of $C$ has shape (i, j).
# Predict: which product of $G$ and $B$, one of them transposed, has the shape of $A$? Only one
# fits, and that is how most people remember the rule. The reason: when $a_{ik}$ grows by
# $\varepsilon$, $c_{ij}$ grows by $b_{kj} \varepsilon$, for every $j$. Hence $\partial L /
# \partial a_{ik} = \sum_j g_{ij} b_{kj}$.
#
# **Task.** Write `matmul_vjp`, for stacks of matrices.

# %% The rule of the matrix product exercise="matmul"
#| export
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
    ### BEGIN SOLUTION
    if n == 0:
        return g @ b.swapaxes(-1, -2)
    return a.swapaxes(-1, -2) @ g
    ### END SOLUTION

# %% [markdown]
# `matmul_rules` is given. It turns 1-D operands into matrices, and where the right operand is
# one matrix (a layer's weights), it puts all rows of a batch into one tall matrix.

# %%
#| exporti
derivative(np.matmul, *derivatives.matmul_rules(lambda *arrays: matmul_vjp(*arrays)))

# %% checks="matmul"
check("matmul")

# %% [markdown] page="Training with autograd"
# ## Switching recording off
#
# Evaluating a network, or updating its weights, needs results and no gradients. `recording.on`
# of lesson 02 says whether operations of this thread are recorded. When a `no_grad` block ends,
# also by an exception, `recording.on` must have the value that it had before the block.
#
# Predict what should happen in three cases: a block inside another block, an exception inside
# the block, a second thread that computes at the same time.
#
# **Task.** Write the body of `no_grad`. `contextlib.contextmanager` turns a function with a
# `yield` into a `with` block and a decorator: the code before `yield` runs at the start.

# %%
#| export
import contextlib

from tinytorch.core.tensor import recording

# %% Switching recording off exercise="no-grad"
#| export
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
# A second thread goes on recording, because each thread has its own `recording.on`.
#
# To **detach** a tensor means to take its values out of the graph: `x.detach()` of lesson 02 is
# a tensor with the same memory and no creator, through which no gradient flows. Predict the
# gradient of $x \cdot \mathrm{detach}(x)$ at 3, and that of $x \cdot x$.

# %% tags=["answer"]
for f in (lambda x: x * x.detach(), lambda x: x * x):
    x = Variable(3.0)
    backward(f(x))
    print(x.grad)

# %% [markdown]
# ## Fused operations
#
# Lesson 05 made cross-entropy one operation, although it could be composed of five, each with a
# rule and an array to keep. Fused into one operation, they have one short rule. The loss of a
# row is $\log \sum_j e^{z_j} - \sum_j t_j z_j$ with target $t$; its derivative with respect to
# $z_j$ is the predicted minus the target probability, $\mathrm{softmax}(z)_j - t_j$. (Label
# smoothing spreads a part of the target evenly over all classes.)

# %%
#| exporti
from tinytorch.core.losses import cross_entropy_forward


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

# %%
from tinytorch.core.losses import binary_cross_entropy_with_logits, cross_entropy

scores = Variable(np.random.default_rng(0).normal(size=(4, 3)))
print(numerical_gradient_check(
    lambda z: cross_entropy(z, [2, 0, 1, 0], label_smoothing=0.1), scores))
backward(cross_entropy(scores, [2, 0, 1, 0]))
print((4 * scores.grad).round(3))  # the loss is a mean over 4 rows

# %% [markdown]
# Each row sums to 0: adding a constant to all scores of a row does not change the loss.
#
# ## Training a network
#
# Now your autograd trains a network like the one in the first picture, of layers that were
# written before there were any gradients. Each step computes the loss and its gradient, and
# moves every weight a little against it. Predict the accuracy before training.

# %% tags=["answer"]
from tinytorch.core.activations import Tanh
from tinytorch.core.layers import Dense, Sequential, manual_seed

manual_seed(0)
network = Sequential(Dense(2, 16), Tanh(), Dense(16, 16), Tanh(), Dense(16, 1))


@no_grad()
def logits(x):
    return network(Tensor(x)).data


accuracy = lambda: np.mean((logits(points) > 0) == labels)
print(f"before: {accuracy():.1%} of the points are classified correctly")
for step in range(400):
    loss = binary_cross_entropy_with_logits(network(Tensor(points)), Tensor(labels))
    backward(loss)
    for parameter in network.parameters():
        parameter.data -= 1.0 * parameter.grad
        parameter.grad = None
print(f"after:  {accuracy():.1%}, loss {float(loss):.4f}")

# %% tags=["payoff"]
plot_decision(points, labels, logits);
# alt: The two half-moons again, separated by a curved boundary as in the first picture.

# %% [markdown]
# No line of this program knows a derivative of the network. (After `tito export autograd`,
# `loss.backward()` is the same call as `backward(loss)` here.) The step changes
# `parameter.data`. `parameter -= ...`, however, would bind the name to a new tensor, the result
# of an operation: the network would not use it, and its `.grad` would stay None.

# %% [markdown]
# ## Custom functions (optional)
#
# Some operations should keep something that was computed in the forward pass. (Lesson 17 uses
# such a class.) A **custom function** is a class with a `forward` method that computes the
# result and a `backward` method that returns the VJP.
#
# Saved arrays live in the object. Predict: if the *same* object computes `f(x)` and then
# `f(f(x))`, what has it saved when the backward pass reaches the inner one?
#
# **Task (optional).** Write `Function.__call__`. Copy the object, and pass the method `forward`
# of the copy to `apply`. Such a *bound method* refers to its object, so the table finds
# `backward`.

# %%
#| exporti
import copy

from tinytorch.support.derivatives import FunctionMethods

# %% Custom functions exercise="function"
#| export
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
        ### BEGIN SOLUTION
        call = copy.copy(self)
        return apply(call.forward, *inputs, **options)
        ### END SOLUTION

    @classmethod
    def apply(cls, *inputs, **options):
        return cls()(*inputs, **options)

# %% checks="function"
check("function")

# %% [markdown]
# ## Look back
#
# 1. Without `parameter.grad = None` in "Training a network", the program still runs. What does
#    each step then use? Why is accumulating in `.grad` right all the same?

# %% tags=["answer", "explained"]
x = Variable(3.0)
for step in range(3):
    backward(x * x)
    print("step", step + 1, "uses", x.grad)

# %% [markdown]
# Each step uses the sum of the gradients of all steps so far. Accumulating is right because a
# leaf can be used in several losses, whose gradients add up. Only the training loop knows when
# a new sum begins.
#
# 2. Count the multiplications in a matrix product of shapes (64, 784) and (784, 256) and in its
#    two VJPs. How much does the backward pass cost, compared with the forward pass? Which of
#    the two products does the first layer of a network not need?

# %% tags=["answer", "explained"]
for name, (i, k, j) in {"A @ B": (64, 784, 256), "G @ B.T": (64, 256, 784),
                        "A.T @ G": (784, 64, 256)}.items():
    print(f"{name:8} {i * k * j:,} multiplications")

# %% [markdown]
# The backward pass costs twice as much as the forward pass. The first layer does not need
# `G @ B.T`, the gradient of its input: in `propagate`, `x.requires_grad` is False.
#
# 3. A network in use needs little memory; one that trains keeps every layer's output for the
#    rules until the backward pass. For 20 operations on a tensor of 400 kB: how much memory is
#    held inside `no_grad`, with a graph, after `backward`, and with `retain_graph=True`?

# %% tags=["answer", "explained"]
from tinytorch.pictures.autograd import kilobytes_held


def chain(then=lambda result: None, **options):
    x = result = Variable(np.ones(100_000, "float32"))
    for _ in range(20):
        result = result.sin()
    result = result.sum()
    then(result, **options)
    return x, result


with no_grad():
    print("no_grad:         ", kilobytes_held(chain), "kB")
print("with a graph:    ", kilobytes_held(chain), "kB")
print("after backward:  ", kilobytes_held(lambda: chain(backward)), "kB")
print("graph retained:  ", kilobytes_held(lambda: chain(backward, retain_graph=True)), "kB")

# %% [markdown]
# After the pass only `x` and its gradient are left. Without a backward pass, a loop that
# appends each `loss` to a list keeps all graphs, and fills the memory of any machine: append
# `float(loss)` instead.
#
# PyTorch has the same parts: `loss.backward()`, `torch.autograd.grad` (it takes the inputs and
# returns a tuple), `torch.no_grad`, `Tensor.detach`, `torch.autograd.Function` (static methods,
# `ctx`), `torch.autograd.gradcheck`. A creator is `grad_fn` there, and `w.grad.zero_()` works.
