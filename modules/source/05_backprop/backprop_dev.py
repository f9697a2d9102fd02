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
#     difficulty: 3
#     enables: [autograd]
#     hours: 5
#     prerequisites: []
#     summary: A number that remembers how it was made, and 41 of them that learn
#     terms: []
#     title: Backprop
# ---

# %% [markdown]
# # 05. Backprop
#
# A network with 41 numbers inside gives a wrong answer. Which of the 41 should grow, which
# should shrink, and how much does each one matter? This chapter answers all 41 questions in one
# walk, with plain Python numbers: no tensor, no NumPy, nothing hidden.
#
# **You need** Python and the slope of a curve. **You write** a number that remembers how it was
# made, the walk that asks it, and the network that learns from the answer.

# %%
#| default_exp core.backprop
#| export
import itertools
import math
import random
from operator import attrgetter

from tinytorch.support.graphs import Graph as Drawing
from tinytorch.support.handmade import derivatives_from, unknown_derivatives

# %% [markdown]
# ## Nudging
#
# Here is a machine with four dials and one number on its display. The *slope* of a dial says
# how many units the display moves per unit of turning, for a tiny turn. That is what we want
# for every dial.
#
# Predict from the formula: which dial moves the display most, and does any move it down?

# %%
def machine(a, b, c, d):
    return ((a * b) + c) * (a + d)


dials = (2.0, -3.0, 10.0, 5.0)
before = machine(*dials)
for i, name in enumerate("abcd"):
    turned = list(dials)
    turned[i] += 0.001
    print(f"{name} up by 0.001: display {before:.4f} -> {machine(*turned):.4f}")

# %% [markdown]
# A single nudge looks to one side only, and where the curve bends it errs by about the size of
# the nudge. Nudging both ways and taking the difference makes the bends on both sides cancel.
#
# **Task.** Write `slopes_by_nudging`. It knows nothing about `f`, which makes it slow and hard
# to fool: the perfect judge of everything faster that we build.

# %% exercise="nudge"
#| export
def slopes_by_nudging(f, *numbers, step=1e-5):
    """The slope of f(*numbers) along each of the numbers, measured.

    f        a function of as many numbers, returning one number
    numbers  where to measure
    step     how far each number is moved, up and down
    returns  list of floats, one per number: units of f per unit of that number

    >>> [round(slope, 6) for slope in slopes_by_nudging(lambda x, y: x * y, 2.0, 7.0)]
    [7.0, 2.0]

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 11.5, "centered
    difference".
    """
    ### BEGIN SOLUTION
    slopes = []
    for i in range(len(numbers)):
        up, down = list(numbers), list(numbers)
        up[i] += step
        down[i] -= step
        slopes.append((f(*up) - f(*down)) / (2 * step))
    return slopes
    ### END SOLUTION

# %% checks="nudge"
check("nudge")

# %%
print(slopes_by_nudging(machine, *dials))

# %% [markdown]
# ## By hand, once
#
# Nudging calls the machine twice per dial. Forty-one dials, 82 calls; a language model has a
# billion. There is a better way, and it is best done by hand once. Give every step of the
# machine a name:
#
# $$e = a\,b \qquad f = e + c \qquad g = a + d \qquad L = f\,g$$
#
# At $a=2,\ b=-3,\ c=10,\ d=5$: $e=-6$, $f=4$, $g=7$, $L=28$.
#
# Now go backward. $L$ moves with itself: slope 1. $L = f\,g$, so turning $f$ by a little moves
# $L$ by $g$ times as much. $e$ moves $f$ one for one, and $f$ moves $L$ with slope 7, so $e$
# moves $L$ with slope $1 \cdot 7$: along a path, slopes multiply. That is the *chain rule*.
#
# `a` reaches $L$ on two paths, through $e$ and through $g$. Predict: do the two slopes add, or
# multiply?
#
# **Task.** Fill in `traced` with pencil and paper: eight numbers, the slope of $L$ along each.
# The checks compare them with nudging.

# %% exercise="traced"
#| exporti
def traced():
    """Slopes of L = ((a*b) + c) * (a + d) at a=2, b=-3, c=10, d=5, worked out by hand.

    returns  dict with the keys L, f, g, e, c, d, b, a (e = a*b, f = e + c, g = a + d) and one
             number each: units of L per unit of that number

    >>> traced()["L"]
    1

    Source: pencil and paper.
    """
    ### BEGIN SOLUTION
    return {"L": 1, "f": 7, "g": 4, "e": 7, "c": 7, "d": 4, "b": 14, "a": -17}
    ### END SOLUTION

# %% checks="traced"
check("traced")

# %% [markdown]
# ## A number that remembers
#
# Look at what you did: for each result you needed the numbers it was made from, and the slope
# along each of them. Nothing else. So let every number remember exactly that. First, what
# Python calls when such numbers meet an operator; the functions behind it come later in the
# chapter, most of them yours.

# %%
#| exporti
class Operators:
    """Arithmetic with Values and plain numbers, each of which becomes a Value of its own."""

    __slots__ = ()
    __array_ufunc__ = None  # makes `np.float64(2) * value` call Value.__rmul__

    def __add__(self, other):
        return add(self, other if isinstance(other, Value) else Value(other))
    def __radd__(self, other): return add(Value(other), self)
    def __sub__(self, other):
        return subtract(self, other if isinstance(other, Value) else Value(other))
    def __rsub__(self, other): return subtract(Value(other), self)
    def __mul__(self, other):
        return multiply(self, other if isinstance(other, Value) else Value(other))
    def __rmul__(self, other): return multiply(Value(other), self)
    def __truediv__(self, other):
        return divide(self, other if isinstance(other, Value) else Value(other))
    def __rtruediv__(self, other): return divide(Value(other), self)
    def __pow__(self, other):
        return power_of_values(self, other) if isinstance(other, Value) else power(self, other)
    def __rpow__(self, other): return power_of_values(Value(other), self)
    def __neg__(self): return negate(self)

    def __lt__(self, other): return self.data < float(other)
    def __le__(self, other): return self.data <= float(other)
    def __gt__(self, other): return self.data > float(other)
    def __ge__(self, other): return self.data >= float(other)

# %% [markdown]
# `<` compares the numbers, so `max(values)` works. `==` does not: it asks whether two Values
# are the same object, because two Values that both hold 3 are still two places in a
# calculation.
#
# Now the class. `data` is the number; `grad` will be the slope of the final result along it;
# `_prev` are its inputs and `_slopes` its own slope along each. `_age` counts up: the younger,
# the larger.

# %%
#| export
class Value(Operators):
    """One number that remembers how it was made.

    data       the number
    _children  the Values it was made from; `_op` says how, as text

    .data .grad  two floats: the number, and the slope of what `backward` started from
    ._prev ._op  the inputs and the operation, () and "" for a number that was not computed
    ._backward() hands `grad` on to the inputs       .label  a name for pictures

    >>> Value(3)
    Value(data=3.0, grad=0.0)
    """

    __slots__ = ("data", "grad", "_prev", "_op", "_slopes", "_age", "label")

    def __init__(self, data, _children=(), _op="", label=""):
        self.data = data if type(data) is float else as_float(data)
        self.grad = 0.0
        self._prev = tuple(_children) if _children else ()
        self._op = _op
        self._slopes = unknown_derivatives if self._prev else ()
        self._age = next_age()
        self.label = label

    def tanh(self): return tanh(self)
    def exp(self): return exp(self)
    def log(self): return log(self)
    def sin(self): return sin(self)
    def relu(self): return relu(self)
    def sigmoid(self): return sigmoid(self)

    def backward(self):
        """Add the slope of this number along each Value it was made from to that `grad`."""
        backward(self)

    @property
    def _backward(self):
        """Call it to hand `grad` on to the inputs; assign a function to change how."""
        return lambda: pull(self)

    @_backward.setter
    def _backward(self, function):
        self._slopes = derivatives_from(function, self)

    def __float__(self):
        return float(self.data)

    def __repr__(self):
        return f"Value(data={self.data}, grad={self.grad})"

    def __format__(self, spec):
        return format(self.data, spec) if spec else repr(self)

# %% [markdown]
# Beside it, `as_float` refuses what is no single number; a Value inside a Value would lose its
# past. (`unknown_derivatives` and `derivatives_from` are for operations that somebody adds from
# outside, with inputs for the constructor and a handmade `_backward`.)

# %%
#| exporti
next_age = itertools.count().__next__


def as_float(data):
    """`data` as a float. TypeError unless it is one plain number."""
    if isinstance(data, Value) or not hasattr(data, "__float__"):
        raise TypeError(f"a Value holds one plain number, not {data!r:.60}")
    return float(data)

# %% [markdown]
# And the door that every operation comes through. It takes the name, the result, the inputs,
# and **one slope per input**: how many units the result moves per unit of that input. It skips
# the checks of the constructor, since a network makes thousands of these per step.

# %%
#| export
def record(op, data, inputs, slopes):
    """A Value that remembers: `data` came from `inputs` by `op`, and moves with each of them by
    its slope.

    op      text for pictures           data    float, the result
    inputs  tuple of Values             slopes  tuple of as many floats

    >>> x = Value(3.0)
    >>> record("double", 6.0, (x,), (2.0,))._prev
    (Value(data=3.0, grad=0.0),)
    """
    out = object.__new__(Value)  # without running the constructor
    out.data = data
    out.grad = 0.0
    out._prev = inputs
    out._op = op
    out._slopes = slopes
    out._age = next_age()
    out.label = ""
    return out

# %% [markdown]
# ## Addition
#
# For $s = a + b$, predict: if $a$ grows by 0.001 and $b$ stays, by how much does $s$ grow? Does
# the answer depend on $a$ or $b$?
#
# **Task.** Write `add` for two Values. One line is enough.

# %% exercise="add"
#| export
def add(a, b):
    """a + b, remembered.

    a, b     Values
    returns  a Value made by "+" from (a, b), with the slope along each

    >>> add(Value(2.0), Value(-5.0)).data
    -3.0

    Source: Baydin et al., Automatic differentiation in machine learning (2018), section 3.2.
    """
    ### BEGIN SOLUTION
    return record("+", a.data + b.data, (a, b), (1.0, 1.0))
    ### END SOLUTION

# %% checks="add"
check("add")

# %% [markdown]
# ## Handing back
#
# Suppose the walk has reached `out`, and `out.grad` is complete: the slope of $L$ along `out`.
# What should each input of `out` get? Predict for `out = add(a, b)` with `out.grad = 7`, and
# for `out = add(a, a)`.
#
# You did both by hand: $c$ got $1 \cdot 7$; and $a$, which was used twice, got a sum.
#
# **Task.** Write `pull`. It is the chain rule, and the only place in this chapter where it
# stands.

# %% exercise="pull"
#| export
def pull(node):
    """Hand the gradient of `node` on: add (slope along the input) * (gradient of node) to the
    `grad` of each input.

    node     a Value whose own `grad` is complete; its inputs are changed, itself is not
    returns  None

    >>> x, y = Value(3.0), Value(5.0)
    >>> out = record("f", 1.0, (x, y), (2.0, -4.0))
    >>> out.grad = 10.0
    >>> pull(out)
    >>> x.grad, y.grad
    (20.0, -40.0)

    Source: Rumelhart, Hinton, Williams, Learning representations by back-propagating errors
    (1986).
    """
    ### BEGIN SOLUTION
    g = node.grad
    # the loop below in two lines: two inputs are so common that the walk gains a quarter
    if len(node._prev) == 2:
        (x, y), (slope_x, slope_y) = node._prev, node._slopes
        x.grad += slope_x * g
        y.grad += slope_y * g
    else:
        for x, slope in zip(node._prev, node._slopes):
            x.grad += slope * g
    ### END SOLUTION

# %% checks="pull"
check("pull")

# %% [markdown]
# ## The other operators
#
# Each is one line and one question: how does the result move with each input while the other
# stays? Negation is given. Its slope does not depend on `x` either.

# %%
#| export
def negate(x):
    """-x, remembered.

    >>> negate(Value(3.0)).data
    -3.0
    """
    return record("neg", -x.data, (x,), (-1.0,))

# %% [markdown]
# Note the comma in `(x,)`. Without it Python sees brackets around `x`, not a tuple with one
# entry.
#
# Predict: in $p = a\,b$ with $a = 2$ and $b = -3$, by how much does $p$ grow when $a$ grows by
# 0.001?
#
# **Task.** Write `multiply`.

# %% exercise="multiply"
#| export
def multiply(a, b):
    """a * b, remembered.

    a, b     Values
    returns  a Value made by "*" from (a, b), with the slope along each

    >>> multiply(Value(2.0), Value(-5.0))._slopes
    (-5.0, 2.0)

    Source: the product rule, Spivak, Calculus (2008), chapter 10.
    """
    ### BEGIN SOLUTION
    return record("*", a.data * b.data, (a, b), (b.data, a.data))
    ### END SOLUTION

# %% checks="multiply"
check("multiply")

# %% [markdown]
# **Task.** Write `subtract`. Python hands the left number in first, whichever side the Value
# stood on: `5 - x` arrives as `subtract(Value(5), x)`.

# %% exercise="subtract"
#| export
def subtract(a, b):
    """a - b, remembered.

    a, b     Values
    returns  a Value made by "-" from (a, b), with the slope along each

    >>> subtract(Value(2.0), Value(5.0)).data
    -3.0

    Source: Baydin et al., Automatic differentiation in machine learning (2018), section 3.2.
    """
    ### BEGIN SOLUTION
    return record("-", a.data - b.data, (a, b), (1.0, -1.0))
    ### END SOLUTION

# %% checks="subtract"
check("subtract")

# %% [markdown]
# **Task.** Write `divide`. Predict first for $q = a/b$ at $a = 6$, $b = 2$: $q$ is 3. Which is
# felt more, a nudge of $a$ or a nudge of $b$, and which way does each go?

# %% exercise="divide"
#| export
def divide(a, b):
    """a / b, remembered.

    a, b     Values; ZeroDivisionError when b holds 0
    returns  a Value made by "/" from (a, b), with the slope along each

    >>> divide(Value(1.0), Value(4.0))._slopes
    (0.25, -0.0625)

    Source: the quotient rule, Spivak, Calculus (2008), chapter 10.
    """
    ### BEGIN SOLUTION
    quotient = a.data / b.data
    return record("/", quotient, (a, b), (1.0 / b.data, -quotient / b.data))
    ### END SOLUTION

# %% checks="divide"
check("divide")

# %% [markdown]
# For powers, Python needs some care: `(-2.0) ** 0.5` would become a complex number, and
# `10.0 ** 1000` an error in the middle of training. `raised` takes that care.

# %%
#| exporti
def raised(x, n):
    """x ** n for floats; infinite where it is too large or x is 0 and n < 0. ValueError if it
    is no real number."""
    try:
        return math.pow(x, n)
    except OverflowError:
        return -math.inf if x < 0 and n % 2 == 1 else math.inf
    except ValueError:
        if x == 0:
            return math.inf
        raise ValueError(f"{x} ** {n} is no real number: a negative base needs a whole "
                         "exponent") from None

# %% [markdown]
# **Task.** Write `power` for a Value and a plain number `n`, with `raised` in place of `**`.
# The slope of $x^n$ is $n\,x^{n-1}$: one power less. Predict it for $n = 0$ at $x = 0$ from the
# meaning of a slope, before you trust the formula.

# %% exercise="power"
#| export
def power(x, n):
    """x ** n, remembered.

    x        a Value
    n        a plain number: whole, negative, zero, fractional
    returns  a Value made by "**2" (or whatever n is) from (x,), with the slope along x.
             Infinite where it is too large; ValueError where x ** n is no real number

    >>> power(Value(3.0), 2)
    Value(data=9.0, grad=0.0)
    >>> power(Value(2.0), 3)._slopes
    (12.0,)

    Source: the power rule, Spivak, Calculus (2008), chapter 10.
    """
    ### BEGIN SOLUTION
    slope = n * raised(x.data, n - 1) if n else 0.0
    return record(f"**{n}", raised(x.data, n), (x,), (slope,))
    ### END SOLUTION

# %% checks="power"
check("power")

# %% [markdown]
# Two Values can meet at `**` as well. Along the exponent, $x^y$ moves with slope $x^y \log x$.

# %%
#| exporti
def power_of_values(x, y):
    """x ** y for two Values. ValueError for a negative base, whose power would not be defined
    beside y."""
    if x.data < 0:
        raise ValueError(f"{x.data} ** Value({y.data}): a negative base needs a plain number "
                         "as exponent")
    result = raised(x.data, y.data)
    along_x = y.data * raised(x.data, y.data - 1) if y.data else 0.0
    along_y = result * math.log(x.data) if x.data > 0 else 0.0
    return record("**", result, (x, y), (along_x, along_y))

# %%
x = Value(3.0)
for out in (x**2 - 1, 1 / x, 2**x, -x, x**0.5):
    print(f"{out._op:5} {out.data:8.4f}  slopes {out._slopes}")

# %% [markdown]
# ## Who goes first?
#
# Handing back needs a node whose own gradient is complete. So before a node hands on, *all* its
# users must have handed back to it. Here `s` has two users, one near the end and one far from
# it.
#
# The constants 3 and 5 are nodes as well. Predict: walking from `r` to its inputs, then to
# theirs, in which order would you meet s, t, u, r, 3 and 5, and who would hand on too early?

# %%
s = Value(2.0)      # used by r directly...
t = s * 3           # ...and by t, whose share arrives much later
u = t * 5
r = s + u
for node, name in zip((s, t, u, r), "stur"):
    node.label = name
print("ages:", {node.label: node._age for node in (s, t, u, r)})

# %% [markdown]
# The ages hold the answer. A result is always younger than its inputs. So if the youngest goes
# first, every user of a number comes before the number itself.
#
# **Task.** Write `order`: first find every node, each once, without recursion (Python stops at
# a depth of about 1,000, and a loss can be 10,000 operations deep); then sort.

# %%
#| exporti
age = attrgetter("_age")  # age(node) is node._age

# %% exercise="order"
#| export
def order(root):
    """Everything that `root` was made from, in the order in which gradients can be handed back.

    root     a Value
    returns  list of Values, each once: `root` first, and every node before its own inputs

    No recursion, and no path is walked twice.

    >>> x = Value(3.0)
    >>> [node.data for node in order((x + 1) * x)]
    [12.0, 4.0, 1.0, 3.0]

    Source: Knuth, The Art of Computer Programming, volume 1, section 2.2.3, "topological
    sorting".
    """
    ### BEGIN SOLUTION
    found, nodes = {root}, [root]
    for node in nodes:  # the list grows while we walk it
        for x in node._prev:
            if x not in found:
                found.add(x)
                nodes.append(x)
    nodes.sort(key=age, reverse=True)
    return nodes
    ### END SOLUTION

# %% checks="order"
check("order")

# %% [markdown]
# First level by level, then yours. How often does `s` come in the first, and before whom?

# %%
def names(nodes):
    return [node.label or f"{node.data:g}" for node in nodes]


level = [r]
while level:
    print("level", names(level))
    level = [x for node in level for x in node._prev]
print("by age", names(order(r)))

# %% [markdown]
# ## Backward
#
# Order and handing back make the whole algorithm, with two beginnings. The walk needs a first
# gradient: what is the slope of $L$ along $L$ itself? And a second walk needs a clean start,
# which takes a moment of thought.
#
# Numbers that were not computed, the *leaves*, collect over many walks: one per example, say.
# Whoever collects there decides when to start again from 0. But an inner node, such as $f$, is
# only a stop on the way. What it still holds from the last walk would be handed on a second
# time.
#
# Predict: `z = 4 * (3 * x)`, walked twice. What does `x.grad` hold if inner nodes are never
# reset, and `z` itself starts each walk from what it held, plus 1?

# %%
x = Value(5.0)
inner = 3 * x
z = 4 * inner
for walk in ("first", "second"):
    z.grad += 1.0
    for node in order(z):
        pull(node)
    print(f"{walk:6} walk: z.grad {z.grad:g}, inner.grad {inner.grad:g}, x.grad {x.grad:g}")

# %% [markdown]
# Two clean walks would have left 12 + 12 = 24 in `x.grad`.
#
# **Task.** Write `backward`.

# %% exercise="backward"
#| export
def backward(root):
    """Add to the `grad` of every leaf below `root` the slope of `root` along it, in one walk.

    root     a Value
    returns  None; afterwards an inner node holds its slope in this walk, a leaf the sum over
             all walks so far

    >>> x = Value(3.0)
    >>> backward(x * x)
    >>> x.grad
    6.0

    Source: Linnainmaa, Taylor expansion of the accumulated rounding error (1976).
    """
    ### BEGIN SOLUTION
    nodes = order(root)
    for node in nodes:
        if node._prev:
            node.grad = 0.0
    root.grad += 1.0
    for node in nodes:
        pull(node)
    ### END SOLUTION

# %% checks="backward"
check("backward")

# %% [markdown]
# The machine again, with its dials as Values. Nothing in `machine` changed: it multiplies and
# adds whatever it is given.

# %%
a, b, c, d = [Value(number) for number in dials]
L = machine(a, b, c, d)
L.backward()
print([value.grad for value in (a, b, c, d)])
print(slopes_by_nudging(machine, *dials))

# %% [markdown]
# Predict: how many milliseconds for 10,000 operations, forward and back?

# %%
import time

start = time.perf_counter()
x = y = Value(0.5)
for _ in range(10_000):
    y = y + x
y.backward()
print(f"slope {x.grad:g} after {1000 * (time.perf_counter() - start):.0f} ms")

# %% [markdown]
# ## A picture
#
# A graph wants to be seen. A `Drawing` holds boxes and arrows and knows nothing of Values. A
# plain script prints its text; `tito notebook backprop` opens the chapter with its pictures.

# %%
#| export
def draw_graph(root):
    """A Drawing of how `root` was made: a box per Value, an arrow with its slope per input.

    >>> print(draw_graph(Value(2.0, label="a")))
    a  data 2  grad 0
    """
    drawing = Drawing()
    for node in order(root):
        drawing.box(node, f"{node.label} {node._op}".strip(), f"data {node.data:.5g}",
                    f"grad {node.grad:.5g}")
        slopes = itertools.repeat("?") if node._slopes is unknown_derivatives else node._slopes
        for x, slope in zip(node._prev, slopes):
            drawing.arrow(x, node, slope if slope == "?" else f"{slope:.4g}")
    return drawing

# %% [markdown]
# Your machine. On each arrow stands the slope that `record` was given; in each box, the
# gradient that `pull` made of them. Check one by eye: the gradient at the start of an arrow is
# a product. For which box is it a sum of two?

# %%
for value, name in zip((a, b, c, d, L), "abcdL"):
    value.label = name
picture = draw_graph(L)
print(picture)
picture
# alt: The graph of L: boxes for a, b, c, d and what is made of them, with value and gradient in
# each, and on every arrow the slope that was recorded.

# %% [markdown]
# ## Functions that bend
#
# A network needs something between its sums that is no straight line. To the engine, a function
# is one more operation: a result, an input, a slope. Three are given. Why is the slope of `exp`
# so cheap?

# %%
#| export
def exp(x):
    """e to the power of x, remembered; infinite for x above 709.

    >>> exp(Value(0.0))
    Value(data=1.0, grad=0.0)
    """
    try:
        result = math.exp(x.data)
    except OverflowError:
        result = math.inf
    return record("exp", result, (x,), (result,))


def log(x):
    """The natural logarithm of x > 0, remembered. ValueError otherwise.

    >>> log(Value(4.0))._slopes
    (0.25,)
    """
    if x.data <= 0:
        raise ValueError(f"log needs a number above 0, not {x.data}")
    return record("log", math.log(x.data), (x,), (1.0 / x.data,))


def sin(x):
    """The sine of x in radians, remembered.

    >>> sin(Value(0.0))._slopes
    (1.0,)
    """
    return record("sin", math.sin(x.data), (x,), (math.cos(x.data),))

# %% [markdown]
# And the judge in a form for everyday use: it nudges any function of Values and compares.

# %%
#| export
def check_slopes(f, *numbers, tolerance=1e-5):
    """Compare the walk with nudging. AssertionError with the input and both slopes where they
    disagree, else True.

    f          a function of as many Values, returning a Value
    tolerance  the largest difference allowed, relative to slopes above 1

    >>> check_slopes(lambda x, y: x * y + y.sin(), 2.0, 0.5)
    True
    """
    values = [Value(number) for number in numbers]
    f(*values).backward()
    nudged = slopes_by_nudging(lambda *moved: float(f(*map(Value, moved))), *numbers)
    for i, (value, right) in enumerate(zip(values, nudged)):
        if not abs(value.grad - right) <= tolerance * max(1.0, abs(right)):
            raise AssertionError(f"input {i} = {numbers[i]}: "
                                 f"the walk gives the slope {value.grad:.6g}, "
                                 f"nudging {right:.6g}")
    return True

# %%
print(check_slopes(lambda x, y: ((x * y) / (x + y)).sin() + 2**x - y.log(), 1.5, 0.4))

# %% [markdown]
# The hyperbolic tangent squeezes every number into -1 to 1. In terms of its own result $t$, its
# slope is $1 - t^2$.
#
# Predict its slope at 0, and at 20.
#
# **Task.** Write `tanh`. It must survive $\pm 1000$; the schoolbook formula with $e^{2x}$ does
# not.

# %% exercise="tanh"
#| export
def tanh(x):
    """The hyperbolic tangent of x, remembered; between -1 and 1 for every x.

    x        a Value
    returns  a Value made by "tanh" from (x,), with its slope

    >>> tanh(Value(1000.0)).data
    1.0

    Source: LeCun et al., Efficient BackProp (1998), section 4.4.
    """
    ### BEGIN SOLUTION
    t = math.tanh(x.data)
    return record("tanh", t, (x,), (1.0 - t * t,))
    ### END SOLUTION

# %% checks="tanh"
check("tanh")

# %% [markdown]
# `relu` keeps what is positive and makes 0 of the rest. At 0 itself it has a corner and no
# slope; by custom one writes 0 there. What would nudging both ways say at that place?
#
# **Task.** Write `relu`.

# %% exercise="relu"
#| export
def relu(x):
    """x where it is positive, else 0; remembered.

    x        a Value
    returns  a Value made by "relu" from (x,), with its slope: 0 at x = 0

    >>> relu(Value(-3.0)).data
    0.0

    Source: Glorot, Bordes, Bengio, Deep sparse rectifier neural networks (2011).
    """
    ### BEGIN SOLUTION
    return record("relu", max(0.0, x.data), (x,), (1.0 if x.data > 0 else 0.0,))
    ### END SOLUTION

# %% checks="relu"
check("relu")

# %% [markdown]
# The sigmoid, $\sigma(x) = 1 / (1 + e^{-x})$, makes a probability of any number. In terms of
# its result $s$, its slope is $s\,(1 - s)$. Predict what the formula does at $x = -1000$, and
# multiply it above and below by $e^x$.
#
# **Task.** Write `sigmoid` so that no number is too large for it.

# %% exercise="sigmoid"
#| export
def sigmoid(x):
    """1 / (1 + exp(-x)), remembered; between 0 and 1 for every x, and precise where it is tiny.

    x        a Value
    returns  a Value made by "sigmoid" from (x,), with its slope

    >>> sigmoid(Value(-1000.0)).data
    0.0

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 3.10.
    """
    ### BEGIN SOLUTION
    e = math.exp(-abs(x.data))  # at most 1
    s = (1.0 if x.data >= 0 else e) / (1.0 + e)
    return record("sigmoid", s, (x,), (s * (1.0 - s),))
    ### END SOLUTION

# %% checks="sigmoid"
check("sigmoid")

# %% [markdown]
# ## Two directions
#
# The slopes on the arrows can be multiplied from either end. `backward` starts at the result
# and learns, in one walk, how *one* result moves with *every* input. Starting at an input
# instead, oldest first, one learns how *every* result moves with *one* input. The first is
# called reverse mode, the second forward mode.
#
# Predict: for 41 parameters and one loss, how many walks does each of them need?

# %%
#| exporti
def oldest_first(roots):
    """The Values in `roots` and all that they were made from, inputs before their users."""
    together = record("", 0.0, tuple(roots), (0.0,) * len(roots))
    return order(together)[:0:-1]  # from the last to the second

# %% [markdown]
# **Task.** Write `forward_slopes`, and watch how little differs from `pull`.

# %% exercise="forward"
#| export
def forward_slopes(roots, leaf):
    """The slopes of several results along one number, in one walk from the oldest number to the
    youngest.

    roots    list of Values
    leaf     a Value that they may have been made from
    returns  list of floats, one per root: units of the root per unit of `leaf`. No `grad` is
             touched.

    >>> x = Value(3.0)
    >>> forward_slopes([x * x, 5 * x], x)
    [6.0, 5.0]

    Source: Wengert, A simple automatic derivative evaluation program (1964).
    """
    ### BEGIN SOLUTION
    moved = {leaf: 1.0}
    for node in oldest_first(roots):
        if node is not leaf:
            moved[node] = sum((slope * moved[x] for x, slope in zip(node._prev, node._slopes)),
                              0.0)
    return [moved[root] for root in roots]
    ### END SOLUTION

# %% checks="forward"
check("forward")

# %% [markdown]
# Count the multiplications: in a walk of either kind, each arrow costs one. What differs is the
# number of walks. First 41 numbers and one result, then one number and 41 results.

# %%
def arrows(nodes):
    return sum(len(node._prev) for node in nodes)


def compare(inputs, outputs):
    """Find all slopes of all outputs in both directions, and print what each costs."""
    forward = [forward_slopes(outputs, x) for x in inputs]
    for out in outputs:
        out.backward()
    for slopes, x in zip(forward, inputs):  # x.grad has collected over all outputs
        assert abs(sum(slopes) - x.grad) < 1e-9
    ahead = len(inputs) * arrows(oldest_first(outputs))
    back = sum(arrows(order(out)) for out in outputs)
    print(f"{len(inputs):2} -> {len(outputs):2}: "
          f"forward {len(inputs):2} walks, {ahead:6,} multiplications; "
          f"backward {len(outputs):2} walks, {back:6,}")


many = [Value(i / 10) for i in range(41)]
compare(many, [sum(x * x.sin() for x in many)])
trunk = one = Value(0.5)
for _ in range(40):
    trunk = (trunk * 1.1).sin()
compare([one], [trunk * k for k in range(41)])

# %% [markdown]
# Training has millions of inputs and one loss. That is the whole reason why it goes backward.
#
# ## A neuron
#
# $\tanh(w_1 x_1 + w_2 x_2 + \dots + b)$: a weight for each input, a bias, a bend. First what
# everything with parameters shares, and a generator of our own, so that a seed fixes the
# weights and nobody else's random numbers change.

# %%
#| export
class Module:
    """Something with parameters."""

    def parameters(self):
        """The Values to learn, as a list."""
        return []

    def zero_grad(self):
        """Set the grad of every parameter to 0."""
        for p in self.parameters():
            p.grad = 0.0

# %%
#| exporti
shared_generator = random.Random(5)  # for weights, when no other is given

# %% [markdown]
# **Task.** Write what a `Neuron` does when it is called. Inputs may be Values or plain numbers.
# Predict what `zip` does with three weights and two inputs, and what would become of the third
# weight.

# %% exercise="neuron"
#| export
class Neuron(Module):
    """tanh(w[0]*x[0] + w[1]*x[1] + ... + b), or without the tanh.

    nin        how many inputs          nonlin  whether it bends: tanh around the sum
    generator  a random.Random for the nin weights `w` and the bias `b`, each between -1 and 1

    Called with a list of nin numbers or Values it returns a Value; with any other number of
    inputs it raises ValueError with both numbers in it.

    >>> neuron = Neuron(3)
    >>> len(neuron.parameters())
    4

    Source: Rosenblatt, The perceptron (1958), with a smooth bend.
    """

    def __init__(self, nin, nonlin=True, generator=None):
        draw = (generator or shared_generator).uniform
        self.w = [Value(draw(-1, 1)) for _ in range(nin)]
        self.b = Value(draw(-1, 1))
        self.nonlin = nonlin

    def __call__(self, x):
        ### BEGIN SOLUTION
        if len(x) != len(self.w):
            raise ValueError(f"this neuron has {len(self.w)} weights and was called with "
                             f"{len(x)} inputs")
        total = sum((w * v for w, v in zip(self.w, x)), self.b)
        return total.tanh() if self.nonlin else total
        ### END SOLUTION

    def parameters(self):
        return [*self.w, self.b]

# %% checks="neuron"
check("neuron")

# %% [markdown]
# A layer is several neurons that look at the same inputs. With one neuron it returns that Value
# itself, so that a network's answer can be used as a number.

# %%
#| export
class Layer(Module):
    """`nout` neurons with `nin` inputs each. Called with a list it returns a list of Values, or
    one Value if nout is 1.

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
# `MLP(3, [4, 4, 1])`, a *multi-layer perceptron*, has three inputs and layers of 4, 4 and 1
# neurons. Predict by counting: how many parameters?
#
# **Task.** Build the layers. Each takes as many inputs as the one before has neurons.

# %% exercise="mlp"
#| export
class MLP(Module):
    """Layers one after the other, as `self.layers`: each feeds the next.

    nin            how many inputs
    nouts          list with the number of neurons of each layer
    linear_output  the last layer does not bend; by default all bend, so answers lie between -1
                   and 1
    generator      a random.Random for all weights

    >>> len(MLP(3, [4, 4, 1]).parameters())
    41

    Source: Rumelhart, Hinton, Williams, Learning representations by back-propagating errors
    (1986).
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
# ## Learning
#
# Four rows of three numbers, and for each the answer we want. The network's error is the sum of
# squared differences, one number, the *loss*. And you can find its slope along all 41
# parameters.
#
# Predict: a parameter with slope 5. Should it grow or shrink, if the loss is to fall?
#
# **Task.** Write `train_step`. The three words to remember: forget, walk, move.

# %% exercise="train"
#| export
def train_step(model, inputs, targets, learning_rate):
    """Move every parameter once, against its slope of the loss, which is the sum of (answer -
    target)**2.

    model          a Module that answers a list of numbers with one Value
    inputs         list of such lists           targets  list of as many numbers
    learning_rate  units of parameter per unit of slope
    returns        float, the loss before the step

    >>> model = MLP(1, [1], linear_output=True)
    >>> train_step(model, [[2.0]], [1.0], 0.1) > train_step(model, [[2.0]], [1.0], 0.1)
    True

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 8.3.1.
    """
    ### BEGIN SOLUTION
    loss = sum((model(x) - target) ** 2 for x, target in zip(inputs, targets))
    model.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.data -= learning_rate * p.grad
    return loss.data
    ### END SOLUTION

# %% checks="train"
check("train")

# %% [markdown]
# The whole chapter in a few lines: 41 numbers that start at random, and a walk that tells each
# of them, every time, which way to go.

# %%
rows = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
targets = [1.0, -1.0, -1.0, 1.0]
net = MLP(3, [4, 4, 1], generator=random.Random(0))
print("before", [round(net(row).data, 3) for row in rows])
losses = [train_step(net, rows, targets, learning_rate=0.1) for _ in range(100)]
print("after ", [round(net(row).data, 3) for row in rows], "wanted", targets)
print(f"{len(net.parameters())} parameters, loss {losses[0]:.3f} -> {losses[-1]:.4f}")

# %% [markdown]
# All that with a learning rate of 0.1. Predict the four curves before you look: which rate is
# too slow, which is too wild, and which wins?

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6, 3.5))
for rate in (0.01, 0.1, 0.5, 1.0):
    net = MLP(3, [4, 4, 1], generator=random.Random(0))
    axes.plot([train_step(net, rows, targets, rate) for _ in range(100)],
              label=f"learning rate {rate}")
axes.set(xlabel="step", ylabel="loss", yscale="log", title="41 parameters, four rows")
axes.legend();
# alt: Loss against step, on a logarithmic scale, for four learning rates. 0.01 and 0.1 fall
# slowly, 0.5 falls to 1e-4, 1.0 stays at 8.

# %% [markdown]
# ## Explain it
#
# To somebody who has not read this chapter, without code:
#
# 1. Why does `pull` add, and never replace? Give the smallest calculation in which the
#    difference shows.
# 2. Why does the walk begin with 1, and what would change if it began with 2?
# 3. Why must `a` wait for all its users before it hands on, and why does "youngest first"
#    guarantee it?
# 4. `c.grad` is 7. Say in one sentence what that promises, and for which moves of $c$ it holds.
#
# ## Look back
#
# 1. `check_slopes(lambda x: x.relu(), 0.0)` raises. Which of the two is wrong, the walk or the
#    nudging? What could a judge do at corners?
# 2. Run the four rows from `random.Random(0)` with learning rate 0.1, but without `zero_grad`:
#    the loss falls faster. Then do the same with `Neuron(1, nonlin=False)` and one row, and
#    plot the loss. What does a parameter remember now, and what in physics swings like that?
# 3. Draw one loss of `MLP(3, [4, 4, 1])` and count its boxes. How many of them are numbers that
#    you never wrote, and how would tensors change that count?
# 4. Multiply 60 numbers of 0.5 in a chain and walk back; then 60 tanh in a chain, starting
#    from 2. What reaches the beginning? What does it mean for networks of 60 layers?
