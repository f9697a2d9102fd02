# %% [markdown]
# # 01. Backpropagation
#
# In lesson 00, each training step computed the loss 50 times, twice for each of 25 parameters,
# while the 734,336 parameters of the GPT in lesson 15 would need it 1,468,672 times.
# **Backpropagation** computes the derivatives with respect to all parameters in one pass
# through the computation. The picture shows a network of 105 parameters after 100 such steps.
# At the end, your own code trains it.

# %% tags=["payoff"]
#| default_exp core.backprop
#| export
import itertools
import math
import random

from tinytorch.core.descent import numerical_gradient
from tinytorch.support.scalars import Scalar, as_float, real_power, unknown_derivatives
from tinytorch.support.svg import graph_of_values

# %% tags=["payoff"]
from tinytorch.pictures.backprop import draw_boundary, make_rings, train_in_numpy

points, targets = make_rings()
trained = train_in_numpy(points, targets, [8, 8, 1], learning_rate=0.01, steps=100)
draw_boundary(trained, points, targets, "105 parameters, 100 steps");
# caption: Backpropagation found this curve in 100 steps.
# alt: 10 round points near the origin inside a closed curve that the network drew around them,
# and 16 square points on a ring outside it.

# %% [markdown]
# Nearly every neural network is trained with backpropagation. You write it in plain Python,
# because then every step of it can be read, and train the network of lesson 00 with it first.
#
# **You need** 00 (Gradient descent): derivatives, gradients and training. **You build** numbers
# that record how they were computed, the backward pass, a training step, and networks of any
# size.

# %% [markdown] page="Recording a computation"
# ## The computation graph
#
# Our first example has four inputs and one result, $L$:

# %%
def expression(a, b, c, d):
    return ((a * b) + c) * (a + d)


point = [2.0, -3.0, 10.0, 5.0]
print("L =", expression(*point))

# %% [markdown]
# Predict from the formula: which input changes $L$ the most when it grows a little? Which
# inputs make $L$ smaller? `numerical_gradient` of lesson 00 answers with central differences:

# %% tags=["answer", "explained"]
for name, partial in zip("abcd", numerical_gradient(lambda p: expression(*p), point)):
    print(f"dL/d{name} = {partial:9.5f}")

# %% [markdown]
# When $c$ grows by 0.001, $L$ grows by about 0.007, while `a` changes $L$ the most, and only
# `a` makes it smaller.
#
# While central differences evaluate the function twice per input, there is a faster way, which
# uses the structure of the function. Give each intermediate result a name:
#
# $$e = a\,b \qquad f = e + c \qquad g = a + d \qquad L = f\,g$$
#
# A **computation graph** has a node for each number in a calculation, and an edge from each
# input of an operation to its result.

# %%
from tinytorch.pictures.backprop import draw

inputs = dict(zip("abcd", point))
steps = {"e": ("a", "*", "b"), "f": ("e", "+", "c"), "g": ("a", "+", "d"), "L": ("f", "*", "g")}
places = {"c": (0, 0), "b": (1, 0), "a": (2, 0), "d": (3, 0),
          "e": (1.3, 1), "f": (0.6, 2), "g": (2.5, 2), "L": (1.5, 3)}
draw(inputs, steps, places)
# alt: The computation graph of L, from the inputs at the top to L = 28 at the bottom. a has two
# edges, to e and to g. Each of the eight boxes has its value, and an empty place for its grad.

# %% [markdown]
# Evaluating the function fills in the values from top to bottom. The gradients are filled in
# from bottom to top. Each `grad` is the derivative of $L$ with respect to that node, written
# $\partial L / \partial f$ for the node `f`:
#
# - `L`: when $L$ grows by 1, $L$ grows by 1. Its gradient is 1.
# - `f`: $L = f\,g$, so $\partial L / \partial f = g = 7$.
# - `e`: $f$ changes as much as $e$ does, $\partial f / \partial e = 1$. So
#   $\partial L / \partial e = 7 \cdot 1$.
#
# The last step used the chain rule. The **chain rule** says that derivatives along a path
# multiply: $\partial L / \partial e = \partial L / \partial f \cdot \partial f / \partial e$ if
# $L$ depends on $f$ and $f$ depends on $e$.
#
# There are two paths from `a` to $L$. Predict: are their contributions added or multiplied?
#
# **Task.** Compute all eight numbers with pencil and paper. The checks compare them with
# central differences.

# %% Gradients by hand exercise="by-hand"
#| exporti
def gradients_by_hand():
    """The gradient at every node of L = ((a*b) + c) * (a + d), at a=2, b=-3, c=10, d=5.

    returns  dict with the keys L, f, g, e, c, d, b, a (e = a*b, f = e + c, g = a + d), and for
             each the derivative of L with respect to it, a number

    >>> gradients_by_hand()["L"]
    1
    """
    ### BEGIN SOLUTION
    return {"L": 1, "f": 7, "g": 4, "e": 7, "c": 7, "d": 4, "b": 14, "a": -17}
    ### END SOLUTION

# %% checks="by-hand"
check("by-hand")

# %% [markdown]
# Here are your numbers in the graph. Each edge shows the factor by which it multiplies.

# %% tags=["answer"]
draw(inputs, steps, places, gradients_by_hand())
# caption: A gradient is a sum over paths; each path contributes the product of its factors.
# alt: The same graph with gradients: L 1, f 7, g 4, e 7, c 7, d 4, b 14 and a -17. The edges
# have the factors 7 and 4 into L, 1 into f and g, 2 from b and -3 from a into e.

# %% [markdown]
# Check one box: `b` has $14 = 7 \cdot 2$, the gradient of `e` times the factor on the edge.
# `a` receives two products, and they are added: $7 \cdot (-3) + 4 \cdot 1 = -17$.
#
# ## Recording operations
#
# To pass a gradient on from a node you needed three things: the node's inputs, the factor for
# each input, and the gradient of the node itself. So we define a number that stores them, a
# `Value`. `data` is the number, and `grad` will be the derivative of the final result with
# respect to it. `_prev` holds the inputs, and `_local_gradients` the factors, one per input.
#
# Python calls the methods with two underscores when a `Value` meets an operator. They turn a
# plain number into a `Value` first. It is enough to skim them: the functions that they call
# (`add`, `multiply`, ...) come later in this lesson. (`Scalar`, from
# `tinytorch/support/scalars.py`, compares Values by their numbers and prints them.)

# %%
#| exporti
next_creation = itertools.count().__next__  # returns 0, then 1, then 2, ...


def as_value(x):
    return x if isinstance(x, Value) else Value(x)

# %%
#| export
class Value(Scalar):
    """A number that records how it was computed.

    .data        float, the number
    .grad        float: after `L.backward()`, the derivative of L with respect to this number
    ._prev ._op  the inputs and the operation; () and "" for a number that was not computed
    .label       a name for pictures

    >>> Value(3)
    Value(data=3.0, grad=0.0)
    """

    __slots__ = ("data", "grad", "_prev", "_op", "_local_gradients", "_created", "label")

    def __init__(self, data, _children=(), _op="", label="", gradients=unknown_derivatives):
        self.data = data if type(data) is float else as_float(data)
        self.grad, self.label = 0.0, label
        self._prev, self._op = _children, _op
        self._local_gradients = gradients if self._prev else ()
        self._created = next_creation()

    def __add__(self, other): return add(self, as_value(other))
    def __radd__(self, other): return add(as_value(other), self)
    def __sub__(self, other): return subtract(self, as_value(other))
    def __rsub__(self, other): return subtract(as_value(other), self)
    def __mul__(self, other): return multiply(self, as_value(other))
    def __rmul__(self, other): return multiply(as_value(other), self)
    def __truediv__(self, other): return divide(self, as_value(other))
    def __rtruediv__(self, other): return divide(as_value(other), self)
    def __pow__(self, n):
        return power_of_values(self, n) if isinstance(n, Value) else power(self, n)
    def __rpow__(self, other): return power_of_values(as_value(other), self)
    def __neg__(self): return negate(self)
    def tanh(self): return tanh(self)
    def exp(self): return exp(self)
    def log(self): return log(self)
    def sin(self): return sin(self)
    def relu(self): return relu(self)
    def sigmoid(self): return sigmoid(self)

    def backward(self):
        """For each leaf, a Value that was not computed: add d(this)/d(leaf) to `leaf.grad`."""
        backward(self)

# %% [markdown]
# Every operation creates its result with `record`, which takes the name of the operation, the
# result, the inputs, and one factor per input, its local gradient. A **local gradient** is the
# derivative of a node with respect to one of its inputs. It depends on one operation only, so
# it can be recorded together with the result.

# %%
#| export
def record(op, data, inputs, local_gradients):
    """A Value that records that `data` was computed from `inputs` by `op`.

    op               str: the name of the operation, for pictures
    data             float: the result
    inputs           tuple of Values
    local_gradients  tuple of floats: the derivative of the result with respect to each input

    >>> x = Value(3.0)
    >>> record("double", 6.0, (x,), (2.0,))._prev
    (Value(data=3.0, grad=0.0),)
    """
    return Value(data, inputs, op, "", local_gradients)

# %% [markdown]
# The first operation, addition, is given. In $s = a + b$, when $a$ grows by 0.001, $s$ grows by
# 0.001, whatever $a$ and $b$ are. Because the same holds for $b$, both local gradients are 1:

# %%
#| export
def add(a, b):
    """a + b, recorded."""
    return record("+", a.data + b.data, (a, b), (1.0, 1.0))

# %% [markdown]
# Predict: in $p = a\,b$ with $a = 2$ and $b = -3$, by how much does $p$ change when $a$ grows
# by 0.001?
#
# **Task.** Write `multiply` for two Values: one line.

# %% Recording a product exercise="multiply"
#| export
def multiply(a, b):
    """a * b, recorded.

    a, b     Values
    returns  a Value that records "*", the inputs (a, b), and the local gradient for each, as
             plain floats

    >>> multiply(Value(2.0), Value(-5.0))._local_gradients
    (-5.0, 2.0)

    Source: the product rule, Spivak, Calculus (2008), chapter 10.
    """
    ### BEGIN SOLUTION
    return record("*", a.data * b.data, (a, b), (b.data, a.data))
    ### END SOLUTION

# %% checks="multiply"
check("multiply")

# %% [markdown]
# $p$ changes by $-0.003$: the local gradient for one factor is the other factor.
#
# Four more operations are given. Compare the second local gradient of `divide` with the
# derivative of $1/b$, which is $-1/b^2$. The hyperbolic tangent, `tanh`, has one input; its
# derivative can be written with its own result $t$ as $1 - t^2$. (The comma in `(x,)` matters:
# `(x)` is just `x`, and not a tuple.)

# %%
#| export
def negate(x):
    """-x, recorded."""
    return record("neg", -x.data, (x,), (-1.0,))


def subtract(a, b):
    """a - b, recorded."""
    return record("-", a.data - b.data, (a, b), (1.0, -1.0))


def divide(a, b):
    """a / b, recorded. ZeroDivisionError where b holds 0."""
    quotient = a.data / b.data
    return record("/", quotient, (a, b), (1.0 / b.data, -quotient / b.data))


def tanh(x):
    """The hyperbolic tangent of x, recorded; between -1 and 1 for every x."""
    t = math.tanh(x.data)
    return record("tanh", t, (x,), (1.0 - t * t,))

# %% [markdown]
# `expression` contains only `+` and `*`, so it now works with Values, unchanged. The local
# gradients are the factors on the edges of the picture:

# %%
a, b, c, d = [Value(number) for number in point]
L = expression(a, b, c, d)
f, g = L._prev
for node in (L, f, g):
    print(f"{node.data:g} by {node._op!r}, local gradients {node._local_gradients}")

# %% [markdown] page="Backpropagation"
# ## The chain rule
#
# Each `Value` now stores its inputs and its local gradients. Next we use them. An **upstream
# gradient** is the derivative of the final result with respect to a node. Suppose that it is
# known for `out`: it is `out.grad`. By the chain rule, each input of `out` receives the product
# of its local gradient and this upstream gradient. One input can receive several products: in
# the example, `a` received $-21$ over one path and $4$ over the other. What must happen with
# the two?
#
# Predict what the inputs receive for `out = add(a, b)` with `out.grad = 7`, and for
# `out = add(a, a)`.
#
# **Task.** Write `propagate`, one step of backpropagation. It is the only place in this lesson
# where the chain rule is applied. It has few lines, and its idea is the hardest of the lesson,
# so work out the second prediction on paper before you write the function.

# %% The chain rule at one node exercise="propagate"
#| export
def propagate(node):
    """Increase the `grad` of each input of `node` by its local gradient times `node.grad`.

    node     a Value whose own `grad` is final, with any number of inputs; it is not changed
    returns  None

    >>> x, y = Value(3.0), Value(5.0)
    >>> out = record("f", 1.0, (x, y), (2.0, -4.0))
    >>> out.grad = 10.0
    >>> propagate(out)
    >>> x.grad, y.grad
    (20.0, -40.0)

    Source: Rumelhart, Hinton, Williams, Nature 323 (1986), pages 533-536.
    """
    ### BEGIN SOLUTION
    g = node.grad
    # The loop below, written out for two inputs: most nodes have two, and this is faster.
    if len(node._prev) == 2:
        (x, y), (local_x, local_y) = node._prev, node._local_gradients
        x.grad += local_x * g
        y.grad += local_y * g
    else:
        for x, local in zip(node._prev, node._local_gradients):
            x.grad += local * g
    ### END SOLUTION

# %% checks="propagate"
check("propagate")

# %% [markdown]
# In `add(a, b)`, both inputs receive 7, while in `add(a, a)` the one input receives 14. Now
# take two steps backward through the example: first from $L$, then from its input $g$.

# %%
L.grad = 1.0
propagate(L)
propagate(g)
print(f"f.grad {f.grad:g}, g.grad {g.grad:g}, d.grad {d.grad:g}, a.grad {a.grad:g} so far")

# %% [markdown]
# ## Topological order
#
# `propagate` needs a node whose gradient is *complete*: every result that was computed from the
# node must have been propagated before. In the next graph, `s` is used twice: by `r` directly,
# and by `t`, which is far away from `r`.

# %%
draw({"s": 2.0, "3": 3.0, "5": 5.0},
     {"t": ("s", "*", "3"), "u": ("t", "*", "5"), "r": ("s", "+", "u")},
     {"s": (0, 0), "3": (1.4, 0), "t": (1, 1), "5": (2.3, 1), "u": (1.8, 2), "r": (0.6, 3)})
# alt: A computation graph with two paths from s = 2 to r = 32: one edge from s directly to r,
# and a longer path over t = s * 3 and u = t * 5. The gradients are empty.

# %% [markdown]
# Suppose we go from `r` to its inputs, then to theirs, and so on, level by level. Predict: in
# which order do we meet s, t, u, 3 and 5? Which node is propagated too early?

# %% tags=["answer", "explained"]
s = Value(2.0, label="s")
t = s * 3
u = t * 5
r = s + u
t.label, u.label, r.label = "t", "u", "r"
level = [r]
while level:
    print("level", [node.label or node.data for node in level])
    level = [x for node in level for x in node._prev]
print("created as number", {node.label: node._created - s._created for node in (s, t, u, r)})

# %% [markdown]
# `s` appears in the second level, before `t` has contributed to its gradient, and once more at
# the end: if we go level by level, we meet a node once for each path that leads to it.
#
# A **topological order** of a graph is a list of its nodes in which every node comes after the
# nodes that it has to wait for. Here we list the result first, and every node before its own
# inputs. Each Value has a number, `_created`, which counts the Values in the order of their
# creation. The last line of the cell prints these numbers. A result is always created after its
# inputs, so descending `_created` is a topological order.
#
# **Task.** Write `topological_order` in two parts. First collect all nodes, each once; keep the
# nodes seen in a set. (`==` compares Values as objects: two Values that both hold 3 are two
# nodes.) Do not use recursion: Python stops at a depth of about 1,000 calls, and a loss can be
# 10,000 operations deep. Then sort the nodes by `_created`.

# %% exercise="topological-order"
#| export
def topological_order(root):
    """All Values that `root` was computed from, in an order for backpropagation.

    root     a Value
    returns  list of Values, each once: `root` first, and every node before its own inputs

    Works without recursion. Looks at the inputs of each node only once, even if many paths lead
    to the node.

    >>> x = Value(3.0)
    >>> [node.data for node in topological_order((x + 1) * x)]
    [12.0, 4.0, 1.0, 3.0]

    Source: Knuth, The Art of Computer Programming, volume 1, section 2.2.3.
    """
    ### BEGIN SOLUTION
    seen, stack = set(), [root]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(node._prev)
    return sorted(seen, key=lambda node: node._created, reverse=True)
    ### END SOLUTION

# %% checks="topological-order"
check("topological-order")

# %%
print([node.label or node.data for node in topological_order(r)])

# %% [markdown]
# ## The backward pass
#
# `propagate` and `topological_order` are the two parts of the backward pass. The **forward
# pass** computes the values of a graph, from the inputs to the result. The **backward pass**
# computes the gradients, from the result to the inputs. It has three steps:
#
# 1. List the nodes in topological order.
# 2. Set the gradient of the result: the derivative of $L$ with respect to $L$.
# 3. Propagate from each node in the list.
#
# **Gradient accumulation** means that contributions to the same gradient are added, never
# overwritten: over all paths in a graph, and also over several backward passes. A *leaf*, a
# Value that was not computed, keeps its gradient after a pass, so that the next pass adds to
# it. Intermediate results, such as $f$, must start each pass from 0.
#
# Predict: we compute `z = 4 * (3 * x)`, and make two backward passes from `z`. What is `x.grad`
# then, if intermediate results are *not* reset?

# %% tags=["answer", "explained"]
x = Value(5.0)
inner = 3 * x
z = 4 * inner
for number in ("first", "second"):
    z.grad += 1.0
    for node in topological_order(z):
        propagate(node)
    print(f"{number} pass: z.grad {z.grad:g}, inner.grad {inner.grad:g}, x.grad {x.grad:g}")

# %% [markdown]
# Each pass should add 12, so the right answer is 24. In the second pass, however, `z` already
# held 1, so its gradient became 2. Because `inner` held 4 and received 8 more, 12 in all, `x`
# received $3 \cdot 12 = 36$ on top of its 12.
#
# **Task.** Write `backward`.

# %% The backward pass exercise="backward"
#| export
def backward(root):
    """Increase the `grad` of every leaf by the derivative of `root` with respect to it.

    root     a Value
    returns  None. Afterwards the `grad` of an intermediate result is the derivative of `root`
             with respect to it; the `grad` of a leaf is the sum over all backward passes so
             far. A root that is a leaf itself accumulates 1 per pass

    >>> x = Value(3.0)
    >>> backward(x * x)
    >>> x.grad
    6.0

    Source: Linnainmaa, Taylor expansion of the accumulated rounding error (1976).
    """
    ### BEGIN SOLUTION
    nodes = topological_order(root)
    for node in nodes:
        if node._prev:
            node.grad = 0.0
    root.grad += 1.0
    for node in nodes:
        propagate(node)
    ### END SOLUTION

# %% checks="backward"
check("backward")

# %% [markdown]
# **Backpropagation** is the algorithm that you have just written: it computes the derivatives
# of one result with respect to all inputs in a single backward pass, by the chain rule. In the
# next cell it agrees with the central differences, which need eight evaluations. Then
# `draw_graph` draws the graph that your Values have recorded.

# %%
a, b, c, d = [Value(number) for number in point]
L = expression(a, b, c, d)
L.backward()
print([value.grad for value in (a, b, c, d)])
print(numerical_gradient(lambda p: expression(*p), point))

# %%
#| export
def draw_graph(root):
    """A Graph of how `root` was computed: a box per Value, an arrow per input.

    The boxes hold the data and the gradient, the arrows the local gradients.

    >>> print(draw_graph(Value(2.0, label="a")))
    a  data 2  grad 0
    """
    return graph_of_values(topological_order(root))

# %%
for value, name in zip((a, b, c, d, L), "abcdL"):
    value.label = name
draw_graph(L)
# alt: The graph of L, drawn from the Values: four rounded boxes for the inputs, two sums and a
# product, and L at the bottom, each with data and grad; on the arrows the local gradients.

# %% [markdown] page="Training and checking"
# ## Training
#
# The network of lesson 00 has 25 parameters. Now each of them is a Value, so the loss is a
# Value too, and one backward pass computes its gradient. Everything else in gradient descent
# stays the same: each parameter becomes itself minus the learning rate times its derivative.
#
# Predict: the derivative with respect to a parameter is 5. Does the parameter grow or shrink?
#
# **Task.** Write `train_step`: the forward pass, the backward pass, the update. Parameters are
# leaves, and leaves accumulate. What must happen to their gradients before the backward pass?

# %% One training step exercise="train-step"
#| export
def train_step(loss, parameters, learning_rate):
    """One step of gradient descent, with the gradient from one backward pass.

    loss           function without arguments that computes the loss from the parameters and
                   returns it as a Value; call it once
    parameters     list of Values, the leaves to train: their `data` is changed. Gradients that
                   they had before the step do not matter
    learning_rate  float, at least 0
    returns        float, the loss before the step

    >>> x = Value(8.0)
    >>> train_step(lambda: x * x, [x], 0.25)
    64.0
    >>> x.data
    4.0

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 4.3.
    """
    ### BEGIN SOLUTION
    result = loss()
    for p in parameters:
        p.grad = 0.0
    result.backward()
    for p in parameters:
        p.data -= learning_rate * p.grad
    return result.data
    ### END SOLUTION

# %% checks="train-step"
check("train-step")

# %% [markdown]
# A parameter with derivative 5 shrinks. Now train the network of lesson 00, from the same
# start, on the same points:

# %% tags=["payoff"]
def weighted_sum(parameters, inputs):
    """The output of a linear model, as in lesson 00: the weights come first, then the bias."""
    return sum((w * x for w, x in zip(parameters, inputs)), parameters[-1])


def network(parameters, inputs):
    """The output of the network of lesson 00, with 25 Values as parameters."""
    hidden = [weighted_sum(parameters[i : i + 3], inputs).tanh() for i in range(0, 18, 3)]
    return weighted_sum(parameters[18:], hidden).tanh()


def network_loss():
    """The mean squared error of the network on the 26 points."""
    errors = [network(parameters, point) - target for point, target in zip(points, targets)]
    return sum(error * error for error in errors) / len(errors)


draw_number = random.Random(0).uniform
parameters = [Value(draw_number(-1, 1)) for _ in range(25)]
losses = [train_step(network_loss, parameters, learning_rate=0.5) for _ in range(100)]
print(f"loss {losses[0]:.2f} -> {network_loss().data:.2f}")
print("100 steps: 100 forward and 100 backward passes here, 5,000 forward passes in lesson 00")

# %% tags=["payoff"]
draw_boundary(lambda grid: [network(parameters, x).data for x in grid.tolist()], points,
              targets, "trained by your code");
# alt: The decision boundary of the network from lesson 00: a closed curve around the 10 round
# points, with the 16 square points outside.

# %% [markdown]
# Lesson 00 printed the same two losses: the gradients are the same, computed in another way.
#
# Is it also faster? A Value does more work than a plain number, because it records. Central
# differences, however, compute the loss 50 times per step for 25 parameters, and 482 times for
# 241. Predict for each of these sizes: which of the two ways is faster?

# %% tags=["answer"]
from tinytorch.pictures.backprop import seconds_per_gradient

for size in (6, 60):
    count, central, backward_pass = seconds_per_gradient(size, Value, numerical_gradient)
    print(f"{count} parameters: {1000 * central:.1f} ms by central differences, "
          f"{1000 * backward_pass:.1f} ms by backpropagation")

# %% [markdown]
# ## Gradient check
#
# A wrong local gradient raises no error: the network learns badly, or not at all. A *gradient
# check* compares the gradient of backpropagation with central differences.
#
# **Task.** Write `gradient_check`. A difference of 0.001 is large for a derivative of 1 and
# small for one of 1,000,000; the docstring says how the tolerance takes that into account.
# `numerical_gradient` calls its function with a list of floats and needs a float in return, so
# wrap `f`.

# %% exercise="gradient-check"
#| export
def gradient_check(f, *numbers, tolerance=1e-5):
    """Compare the gradient by `backward` with the one by `numerical_gradient`.

    f          function that takes one Value for each of `numbers`, and returns a Value
    numbers    floats: the point at which to compare
    tolerance  float: the two derivatives of an input may differ by at most
               tolerance * max(1, |central difference|)
    returns    True. Where the two differ by more, or one is nan, raises AssertionError with the
               index of the input and both derivatives in its message

    >>> gradient_check(lambda x, y: x * y + y, 2.0, 0.5)
    True

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 11.5.
    """
    ### BEGIN SOLUTION
    values = [Value(number) for number in numbers]
    f(*values).backward()
    expected = numerical_gradient(lambda moved: float(f(*map(Value, moved))), list(numbers))
    for i, (value, right) in enumerate(zip(values, expected)):
        if not abs(value.grad - right) <= tolerance * max(1.0, abs(right)):
            raise AssertionError(f"input {i} = {numbers[i]}: backward gives {value.grad:.6g}, "
                                 f"a central difference gives {right:.6g}")
    return True
    ### END SOLUTION

# %% checks="gradient-check"
check("gradient-check")

# %% [markdown]
# ## Powers and functions
#
# For powers, Python needs some care: `(-2.0) ** 0.5` would be a complex number, and `10.0 **
# 1000` an error. `real_power(x, n)` computes $x^n$ as a float. It returns infinity where the
# power overflows, and raises ValueError where the power is no real number. The case $n = 0$ is
# already written: $x^0$ is a constant, and at $x = 0$ the formula of the derivative would
# multiply 0 by infinity.
#
# **Task.** Write the rest of `power`, with `real_power` in place of `**`.

# %% The power rule exercise="power"
#| export
def power(x, n):
    """x ** n, recorded.

    x        a Value
    n        a plain number: whole or not, positive, negative or zero
    returns  a Value that records "**2" (or whatever n is), the inputs (x,), and the local
             gradient. Infinite where it overflows; ValueError where x ** n is no real number

    >>> power(Value(3.0), 2)
    Value(data=9.0, grad=0.0)
    >>> power(Value(2.0), 3)._local_gradients
    (12.0,)

    Source: the power rule, Spivak, Calculus (2008), chapter 10.
    """
    if n == 0:
        return record(f"**{n}", 1.0, (x,), (0.0,))
    ### BEGIN SOLUTION
    derivative = n * real_power(x.data, n - 1)
    return record(f"**{n}", real_power(x.data, n), (x,), (derivative,))
    ### END SOLUTION

# %% checks="power"
check("power")

# %% [markdown]
# The other functions are given: a power with a Value as exponent, the exponential function, the
# logarithm, the sine, and two more *activation functions*. Networks use them in the same way as
# `tanh`; lesson 03 is about them.
#
# - The *rectified linear unit*, `relu`, keeps positive numbers and replaces the others by 0. At
#   0 its curve has a corner, and no derivative. By convention we use 0 there, as PyTorch does.
# - The `sigmoid`, $1 / (1 + e^{-x})$, has the derivative $s\,(1 - s)$, written with its result
#   $s$. At $x = -1000$, $e^{-x}$ overflows. The code therefore uses the equal form $e^x / (1 +
#   e^x)$ for negative $x$.

# %%
#| export
def power_of_values(x, y):
    """x ** y for two Values, recorded. ValueError where x is negative."""
    if x.data < 0:
        raise ValueError(f"{x.data} ** Value({y.data}): a negative base needs a plain number "
                         "as exponent")
    result = real_power(x.data, y.data)
    to_x = y.data * real_power(x.data, y.data - 1) if y.data else 0.0
    to_y = result * math.log(x.data) if x.data > 0 else 0.0
    return record("**", result, (x, y), (to_x, to_y))


def exp(x):
    """e to the power of x, recorded; infinite for x above 709."""
    try:
        result = math.exp(x.data)
    except OverflowError:
        result = math.inf
    return record("exp", result, (x,), (result,))


def log(x):
    """The natural logarithm of x, recorded. ValueError unless x is above 0."""
    if x.data <= 0:
        raise ValueError(f"log needs a number above 0, not {x.data}")
    return record("log", math.log(x.data), (x,), (1.0 / x.data,))


def sin(x):
    """The sine of x in radians, recorded."""
    return record("sin", math.sin(x.data), (x,), (math.cos(x.data),))


def relu(x):
    """x where it is positive, else 0; recorded. The local gradient at 0 is 0."""
    return record("relu", max(0.0, x.data), (x,), (1.0 if x.data > 0 else 0.0,))


def sigmoid(x):
    """1 / (1 + exp(-x)), recorded; between 0 and 1 for every x, exact for small results."""
    e = math.exp(-abs(x.data))  # at most 1
    s = (1.0 if x.data >= 0 else e) / (1.0 + e)
    return record("sigmoid", s, (x,), (s * (1.0 - s),))

# %% [markdown]
# The gradient check accepts all of them. Predict: what does it say about `relu` at 0, where the
# central difference sees both sides of the corner?

# %% tags=["answer"]
print(gradient_check(lambda x, y: (x / y).sin() - 2**x * y.log() + x**y / -y.exp(), 1.5, 0.4))
print(gradient_check(lambda x: x.tanh() + x.relu() * x.sigmoid() - x**3, 0.7))
try:
    gradient_check(lambda x: x.relu(), 0.0)
except AssertionError as error:
    print("relu:", error)

# %% [markdown] page="A network of values"
# ## Neurons
#
# Because the slices `parameters[i : i + 3]` in the section "Training" were easy to get wrong,
# each part of a network should hold its own parameters. The smallest part is a neuron. A
# **neuron** computes a weighted sum of its inputs, adds a number called its *bias*, and applies
# an activation function: $\tanh(w_1 x_1 + w_2 x_2 + \dots + b)$.
#
# First a base class for everything that has parameters, and a random-number generator for their
# initial values.

# %%
#| export
class Module:
    """A part of a network that may have parameters."""

    def parameters(self):
        """The Values to train, as a list."""
        return []

    def zero_grad(self):
        """Set the grad of every parameter to 0."""
        for p in self.parameters():
            p.grad = 0.0

# %%
#| exporti
shared_generator = random.Random(5)  # for initial weights, when no other generator is given

# %% [markdown]
# **Task.** Write what a `Neuron` computes when it is called. Its inputs may be Values or plain
# numbers. (The lengths are compared first, because with three weights and two inputs `zip`
# would ignore the third weight.)

# %% A neuron exercise="neuron"
#| export
class Neuron(Module):
    """tanh(w[0]*x[0] + w[1]*x[1] + ... + b), or the sum without tanh.

    nin        int: number of inputs
    nonlin     bool: whether tanh is applied
    generator  a random.Random for the nin weights `w` and the bias `b`, each between -1 and 1

    Called with a list of nin numbers or Values, it returns a Value. With any other number of
    inputs it raises ValueError, whose message holds the number of weights and the number of
    inputs.

    >>> neuron = Neuron(3)
    >>> len(neuron.parameters())
    4

    Source: Rosenblatt, The perceptron (1958), with tanh in place of a step.
    """

    def __init__(self, nin, nonlin=True, generator=None):
        draw = (generator or shared_generator).uniform
        self.w = [Value(draw(-1, 1)) for _ in range(nin)]
        self.b = Value(draw(-1, 1))
        self.nonlin = nonlin

    def __call__(self, x):
        if len(x) != len(self.w):
            raise ValueError(f"this neuron has {len(self.w)} weights and was called with "
                             f"{len(x)} inputs")
        ### BEGIN SOLUTION
        total = sum((w * v for w, v in zip(self.w, x)), self.b)
        return total.tanh() if self.nonlin else total
        ### END SOLUTION

    def parameters(self):
        return [*self.w, self.b]

# %% checks="neuron"
check("neuron")

# %% [markdown]
# ## The multi-layer perceptron
#
# Neurons side by side form a layer, and layers in a row form a network. A *layer* is a list of
# neurons with the same inputs. A layer of one neuron returns a single Value instead of a list,
# so that the output of a network can be used like a number.

# %%
#| export
class Layer(Module):
    """`nout` neurons with `nin` inputs each.

    Called with a list, it returns a list of Values, or one Value if nout is 1.

    >>> len(Layer(3, 2).parameters())
    8
    """

    def __init__(self, nin, nout, nonlin=True, generator=None):
        self.neurons = [Neuron(nin, nonlin, generator) for _ in range(nout)]

    def __call__(self, x):
        out = [neuron(x) for neuron in self.neurons]
        return out[0] if len(out) == 1 else out

    def parameters(self):
        return [p for neuron in self.neurons for p in neuron.parameters()]

# %% [markdown]
# An **MLP**, a *multi-layer perceptron*, is a network of layers in which the outputs of each
# layer are the inputs of the next. `MLP(3, [4, 4, 1])` has three inputs and layers of 4, 4 and
# 1 neurons: it has 16 + 20 + 5 = 41 parameters.
#
# **Task.** Create the layers. Each has as many inputs as the layer before it has neurons.

# %% A multi-layer perceptron exercise="mlp"
#| export
class MLP(Module):
    """Layers in `self.layers`, the outputs of each being the inputs of the next.

    nin            int: number of inputs
    nouts          list with the number of neurons of each layer; it is not changed
    linear_output  bool: whether the last layer is without tanh; by default every layer has
                   tanh, so that outputs lie between -1 and 1
    generator      a random.Random for all weights; with None, each neuron uses
                   shared_generator

    >>> len(MLP(3, [4, 4, 1]).parameters())
    41

    Source: Rumelhart, Hinton, Williams, Nature 323 (1986), pages 533-536.
    """

    def __init__(self, nin, nouts, linear_output=False, generator=None):
        ### BEGIN SOLUTION
        sizes = [nin, *nouts]
        self.layers = []
        for i in range(len(nouts)):
            last = i == len(nouts) - 1
            self.layers.append(Layer(sizes[i], sizes[i + 1],
                                     not (last and linear_output), generator))
        ### END SOLUTION

    def __call__(self, x):
        for layer in self.layers:
            x = layer([x] if isinstance(x, Value) else x)
        return x

    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]

# %% checks="mlp"
check("mlp")

# %% [markdown]
# Now train the network of the first picture, with two layers of 8 neurons and one output:

# %% tags=["payoff"]
net = MLP(2, [8, 8, 1], generator=random.Random(0))


def sum_of_squares():
    """The sum of the squared errors of `net` on the 26 points."""
    return sum((net(x) - target) ** 2 for x, target in zip(points, targets))


losses = [train_step(sum_of_squares, net.parameters(), 0.01) for _ in range(100)]
correct = sum((net(x) > 0) == (target > 0) for x, target in zip(points, targets))
print(f"{len(net.parameters())} parameters, loss {losses[0]:.1f} -> {losses[-1]:.2f}, "
      f"{correct} of {len(points)} points classified correctly")

# %% tags=["payoff"]
draw_boundary(lambda grid: [net(x).data for x in grid.tolist()], points, targets,
              "trained by your code");
# caption: Your own backpropagation also finds such a curve.
# alt: The picture from the beginning of the chapter, now from the network that you trained: a
# closed curve around the 10 round points, the 16 square points outside.

# %% [markdown]
# Your network found the boundary of the first picture, because the NumPy program that drew it
# started from the same parameters.
#
# ## Forward and reverse mode (optional)
#
# This section shows why training propagates backward. The factors along a path can be
# multiplied from either end. **Forward mode** computes the derivatives of all results with
# respect to one input in one pass. **Reverse mode** computes the derivatives of one result with
# respect to all inputs in one pass. Backpropagation is reverse mode.
#
# Predict: a loss has 25 parameters. How many passes does each mode need for all derivatives?

# %%
#| exporti
def forward_order(roots):
    """The Values in `roots` and everything they were computed from, inputs before results."""
    joined = record("", 0.0, tuple(roots), (0.0,) * len(roots))  # a result of all roots
    return topological_order(joined)[:0:-1]  # reversed, without `joined`, which comes first

# %% [markdown]
# **Task.** Write `forward_mode_derivatives`. Go through `forward_order(roots)`. The
# derivative of `leaf` is 1; the derivative of another node is the sum, over its inputs, of
# local gradient times derivative of the input.

# %% exercise="forward-mode"
#| export
def forward_mode_derivatives(roots, leaf):
    """The derivatives of several results with respect to one number, in one pass.

    roots    list of Values, the results
    leaf     a Value from which they may have been computed: an input or an intermediate result
    returns  list of floats, one per root: its derivative with respect to `leaf`; 0 where it
             does not depend on `leaf`. No `grad` is changed. However many roots there are, the
             local gradients of each node are read once

    >>> x = Value(3.0)
    >>> forward_mode_derivatives([x * x, 5 * x], x)
    [6.0, 5.0]

    Source: Wengert, A simple automatic derivative evaluation program (1964).
    """
    ### BEGIN SOLUTION
    derivatives = {leaf: 1.0}
    for node in forward_order(roots):
        if node is not leaf:
            terms = zip(node._prev, node._local_gradients)
            derivatives[node] = sum((local * derivatives[x] for x, local in terms), 0.0)
    return [derivatives[root] for root in roots]
    ### END SOLUTION

# %% checks="forward-mode"
check("forward-mode")

# %% [markdown]
# In a pass of either mode, each edge costs one multiplication, so the modes differ only in the
# number of passes. The next cell counts the multiplications, first for 25 inputs and one
# result, then for one input and 25 results. Which mode needs fewer in each case?

# %% tags=["answer", "explained"]
def compare(inputs, outputs):
    """Print the cost of all derivatives of all outputs, in both modes."""
    forward = len(inputs) * sum(len(node._prev) for node in forward_order(outputs))
    reverse = sum(len(node._prev) for out in outputs for node in topological_order(out))
    print(f"inputs: {len(inputs)}, results: {len(outputs)}, multiplications: "
          f"{forward:,} in forward mode, {reverse:,} in reverse mode")


many = [Value(i / 10) for i in range(25)]
compare(many, [sum(x * x.sin() for x in many)])
shared = one = Value(0.5)
for _ in range(25):
    shared = (shared * 1.1).sin()
compare([one], [shared * k for k in range(25)])

# %% [markdown]
# For 25 parameters and one loss, forward mode needs 25 passes, reverse mode one. Training has
# millions of parameters and one loss, so it uses reverse mode.
#
# ## Explain it
#
# Explain to a friend who has not read this lesson, without code:
#
# 1. Why does `propagate` add to a gradient and never overwrite it? Give the smallest
#    computation in which the difference shows.
# 2. Why does the backward pass begin with 1, and what would change if it began with 2?
# 3. Why must a node wait until all results computed from it have been propagated, and why does
#    descending `_created` guarantee that?
# 4. `c.grad` is 7. Say in one sentence what this number tells you about $L$. For which changes
#    of $c$ is it true?

# %% [markdown] tags=["answer"]
# 1. A value that is used twice has an effect on the result in two ways, and both count. In `a +
#    a` the gradient of `a` is 2; overwriting would give 1.
# 2. The derivative of a result with respect to itself is 1. With 2, every gradient would be
#    twice as large: the gradient of $2L$.
# 3. A node passes its gradient on, so the gradient must be complete by then. A result is always
#    created after its inputs, so in descending order every user of a node comes before it.
# 4. When $c$ grows by a small amount, $L$ grows by about 7 times that amount. It is true only
#    for small changes.

# %% [markdown]
# ## Look back
#
# 1. `gradient_check` of `relu` at 0 raises an error. Is one of the two derivatives wrong? What
#    could a gradient check do at corners?
# 2. Train `Neuron(1, nonlin=False)` with input 1.0, target 2.0 and learning rate 0.02, once as
#    it is and once with a `train_step` that never sets the gradients to 0. Plot both losses. In
#    the second run, which sum does each gradient hold? Which motion in physics looks like this
#    curve?
# 3. Multiply 60 Values of 0.5 and call `backward()`. Then apply `tanh` 60 times, starting from
#    2. Which gradient reaches the first Value? What does it mean for a network of 60 layers?
# 4. In PyTorch, `x = torch.tensor(2.0, requires_grad=True)` is a leaf, `y.grad_fn` the recorded
#    operation, `y.backward()` accumulates into `x.grad`, and `torch.autograd.gradcheck` is
#    `gradient_check`. Gradients of intermediate results are not kept there, unless you call
#    `y.retain_grad()`. Why not?

# %% [markdown] tags=["answer"]
# 1. Neither is wrong: `relu` has no derivative at 0. Backward gives 0, and the central
#    difference averages the slopes of both sides, 0.5; a check could skip points so close to a
#    corner.
# 2. Each gradient holds the sum of all gradients so far, which works like a velocity. So the
#    loss does not settle: it swings, like a weight on a spring without friction.
# 3. The product gives 0.5 to the power of 59, about 2e-18, and the 60 `tanh` give 0.0003. The
#    first of 60 layers hardly learns when each layer makes the gradient smaller.
# 4. They are needed only while the backward pass is there. Keeping them would take as much
#    memory as all results of the forward pass.
