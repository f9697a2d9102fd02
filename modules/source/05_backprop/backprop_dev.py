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
#     enables:
#     - autograd
#     hours: 5
#     prerequisites: []
#     summary: A number that remembers how it was made, and 41 of them that learn
#     title: Backprop
# ---

# %% [markdown]
# # 05. Backprop
#
# A network with 41 numbers inside gives a wrong answer. Which of the 41 should grow, which should
# shrink, and how much does each one matter? This chapter answers all 41 questions in one walk, with
# plain Python numbers: no tensor, no NumPy, nothing hidden.
#
# **You need** Python and the slope of a curve. **You write** a number that remembers how it was made, the
# walk that asks it, and the network that learns from the answer.

# %%
#| default_exp core.backprop
#| export
import html
import itertools
import math
import random
from operator import attrgetter

# %% [markdown]
# ## Nudging
#
# Here is a machine with four dials and one number on its display. The *slope* of a dial says how many
# units the display moves per unit of turning, for a tiny turn. That is what we want for every dial.
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
# A single nudge looks to one side only, and where the curve bends it errs by about the size of the nudge.
# Nudging both ways and taking the difference makes the bends on both sides cancel.
#
# **Task.** Write `slopes_by_nudging`. It knows nothing about `f`, which makes it slow and hard to fool:
# the perfect judge of everything faster that we build.
#
# <details><summary>Hint 1</summary>One dial at a time: all others stay exactly where they
# were. What do you need two copies of?</details>
# <details><summary>Hint 2</summary>How far apart are the two places where you measure? That is what the difference
# of the two results is divided by.</details>
# <details><summary>Hint 3</summary><code>up, down = list(numbers), list(numbers)</code>, then change one
# entry of each and call <code>f(*up)</code> and <code>f(*down)</code>.</details>
# <details><summary>Hint 4</summary><code>(f(*up) - f(*down)) / (2 * step)</code>, appended once per
# number.</details>

# %% nbgrader={"grade": false, "grade_id": "backprop-nudge", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def slopes_by_nudging(f, *numbers, step=1e-5):
    """The slope of f(*numbers) along each of the numbers, measured.

    f        a function of as many numbers, returning one number
    numbers  where to measure
    step     how far each number is moved, up and down
    returns  list of floats, one per number: units of f per unit of that number

    >>> [round(slope, 6) for slope in slopes_by_nudging(lambda x, y: x * y, 2.0, 7.0)]
    [7.0, 2.0]

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 11.5, "centered difference".
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

# %% nbgrader={"grade": true, "grade_id": "check-nudge", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_nudging_finds_the_slope_of_each_number():
    found = slopes_by_nudging(lambda x, y, z: x * y - 4 * z, 3.0, -5.0, 2.0)
    wanted = [-5.0, 3.0, -4.0]
    assert len(found) == 3, f"three numbers have three slopes, yours are {found}"
    assert max(map(abs, found)) > 0, f"x*y - 4*z moves with all three, not {found}: up and down are the same list?"
    for name, mine, right in zip("xyz", found, wanted):
        assert abs(mine - right) < 1e-6, (
            f"x*y - 4*z at x=3, y=-5, z=2 has slope {right} along {name}, yours is {mine:.6g}: "
            "divide by the distance between the two places, and move one number at a time")


def test_nudging_looks_both_ways():
    (found,) = slopes_by_nudging(lambda x: x**2, 3.0, step=0.5)
    assert abs(found - 6.0) < 1e-9, (
        f"with step 0.5, (3.5**2 - 2.5**2) / 1 is exactly 6, yours is {found}: go up and down, "
        "a nudge to one side sees the bend")
    (found,) = slopes_by_nudging(lambda x: x**3, 2.0, step=0.25)
    assert abs(found - 12.0625) < 1e-9, (
        f"with step 0.25, (2.25**3 - 1.75**3) / 0.5 is 12.0625, yours is {found}: use step wherever you move or divide")


def test_nudging_uses_a_small_step_unless_told():
    (found,) = slopes_by_nudging(math.exp, 2.0)
    assert abs(found - math.exp(2.0)) < 1e-7, f"exp has slope {math.exp(2.0):.9f} at 2, yours is {found:.9f}"


test_nudging_finds_the_slope_of_each_number()
test_nudging_looks_both_ways()
test_nudging_uses_a_small_step_unless_told()

# %% nbgrader={"grade": true, "grade_id": "check-nudge-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_nudging_serves_any_function_at_any_place():
    def f(a, b, c, d):
        return a**3 * b - c * d * d + 7

    a, b, c, d = -2.0, 1.5, 40.0, -0.25
    for step in (0.125, 2.0):
        found = slopes_by_nudging(f, a, b, c, d, step=step)
        # Both ways, the slope of a cube is 3 a² plus step².
        wanted = [(3 * a * a + step * step) * b, a**3, -d * d, -2 * c * d]
        assert len(found) == 4 and all(abs(f - w) < 1e-9 for f, w in zip(found, wanted)), (
            f"a³b - cd² + 7 at {a}, {b}, {c}, {d}, step {step}: {wanted} is due, found {found}")
    found = slopes_by_nudging(lambda *numbers: sum(i * x * x for i, x in enumerate(numbers)), *[0.5] * 9)
    assert len(found) == 9 and all(abs(f - i) < 1e-6 for i, f in enumerate(found)), (
        f"sum of i x²: slopes i, found {found}")
    assert len(slopes_by_nudging(lambda: 3.0)) == 0, "a function of no numbers has no slopes"


test_nudging_serves_any_function_at_any_place()
### END HIDDEN TESTS

# %%
print(slopes_by_nudging(machine, *dials))

# %% [markdown]
# ## By hand, once
#
# Nudging calls the machine twice per dial. Forty-one dials, 82 calls; a language model has a billion.
# There is a better way, and it is best done by hand once. Give every step of the machine a name:
#
# $$e = a\,b \qquad f = e + c \qquad g = a + d \qquad L = f\,g$$
#
# At $a=2,\ b=-3,\ c=10,\ d=5$: $e=-6$, $f=4$, $g=7$, $L=28$.

# %% [markdown]
# Now go backward. $L$ moves with itself: slope 1. $L = f\,g$, so turning $f$ by a little moves $L$ by
# $g$ times as much. $e$ moves $f$ one for one, and $f$ moves $L$ with slope 7, so $e$ moves $L$ with
# slope $1 \cdot 7$: along a path, slopes multiply. That is the *chain rule*.
#
# `a` reaches $L$ on two paths, through $e$ and through $g$. Predict: do the two slopes add, or multiply?

# %% [markdown]
# **Task.** Fill in `traced` with pencil and paper: eight numbers, the slope of $L$ along each. The checks
# compare them with nudging.
#
# <details><summary>Hint 1</summary>Go from the end: L, then f and g, then e, c and d, then b
# and a. Each needs only what you found before.</details>
# <details><summary>Hint 2</summary>A sum hands the slope of its result to both parts unchanged.
# A product hands it on times the <em>other</em> factor.</details>
# <details><summary>Hint 3</summary>Turning a turns e and g. L feels both, one after the other, so what
# arrives over the two paths adds up.</details>
# <details><summary>Hint 4</summary>Over e: the slope of e times b. Over g: the slope of g times 1. One of the
# two is negative.</details>

# %% nbgrader={"grade": false, "grade_id": "backprop-traced", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| exporti
def traced():
    """Slopes of L = ((a*b) + c) * (a + d) at a=2, b=-3, c=10, d=5, worked out by hand.

    returns  dict with the keys L, f, g, e, c, d, b, a (e = a*b, f = e + c, g = a + d) and one number each:
             units of L per unit of that number

    >>> traced()["L"]
    1

    Source: pencil and paper.
    """
    ### BEGIN SOLUTION
    return {"L": 1, "f": 7, "g": 4, "e": 7, "c": 7, "d": 4, "b": 14, "a": -17}
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-traced", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def test_the_inner_numbers_were_traced():
    found = traced()
    missing = [name for name in ("L", "f", "g", "e", "c", "d", "b", "a") if name not in found]
    assert not missing, f"eight slopes are asked for, yours lack the keys {missing}"
    e, f, g = -6.0, 4.0, 7.0
    nudged = {"L": lambda h: f * g + h, "f": lambda h: (f + h) * g, "g": lambda h: f * (g + h),
              "e": lambda h: (e + h + 10) * g}
    for name, moved in nudged.items():
        right = round((moved(0.5) - moved(-0.5)) / 1, 6)
        why = "L moves with itself: 1" if name == "L" else (
            "in a product, one factor is felt as strongly as the other is large")
        assert float(found[name]) == right, (
            f"turning {name} by 0.5 both ways moves L by {right} in all, your slope is {found[name]}: {why}")


def test_the_dials_were_traced():
    found = traced()
    missing = [name for name in "dcba" if name not in found]
    assert not missing, f"every dial has a slope, yours lack the keys {missing}"
    whys = {"a": ": a reaches L through e and through g, and what arrives over both paths adds up",
            "b": ": b moves e, and e moves L, so times the slope of e: a path multiplies"}

    def display(a, b, c, d):
        return (a * b + c) * (a + d)

    at = {"a": 2.0, "b": -3.0, "c": 10.0, "d": 5.0}
    for name in "dcba":
        up, down = dict(at), dict(at)
        up[name] += 0.5
        down[name] -= 0.5
        right = display(**up) - display(**down)
        assert float(found[name]) == right, (
            f"nudging {name} both ways gives the slope {right}, yours is {found[name]}{whys.get(name, '')}")


test_the_inner_numbers_were_traced()
test_the_dials_were_traced()

# %% [markdown]
# ## A number that remembers
#
# Look at what you did: for each result you needed the numbers it was made from, and the slope along each
# of them. Nothing else. So let every number remember exactly that. First, what Python calls when such
# numbers meet an operator; the functions behind it come later in the chapter, most of them yours.

# %%
#| exporti
class Operators:
    """Arithmetic with Values and Python numbers on either side. A plain number becomes a Value of its own."""

    __slots__ = ()
    __array_ufunc__ = None  # makes `np.float64(2) * value` call Value.__rmul__

    def __add__(self, other): return add(self, other if isinstance(other, Value) else Value(other))
    def __radd__(self, other): return add(Value(other), self)
    def __sub__(self, other): return subtract(self, other if isinstance(other, Value) else Value(other))
    def __rsub__(self, other): return subtract(Value(other), self)
    def __mul__(self, other): return multiply(self, other if isinstance(other, Value) else Value(other))
    def __rmul__(self, other): return multiply(Value(other), self)
    def __truediv__(self, other): return divide(self, other if isinstance(other, Value) else Value(other))
    def __rtruediv__(self, other): return divide(Value(other), self)
    def __pow__(self, other): return power_of_values(self, other) if isinstance(other, Value) else power(self, other)
    def __rpow__(self, other): return power_of_values(Value(other), self)
    def __neg__(self): return negate(self)

    def __lt__(self, other): return self.data < float(other)
    def __le__(self, other): return self.data <= float(other)
    def __gt__(self, other): return self.data > float(other)
    def __ge__(self, other): return self.data >= float(other)

# %% [markdown]
# `<` compares the numbers, so `max(values)` works. `==` does not: it asks whether two Values are the
# same object, because two Values that both hold 3 are still two places in a calculation.
#
# Now the class. `data` is the number; `grad` will be the slope of the final result along it; `_prev` are
# its inputs and `_slopes` its own slope along each. `_age` counts up: the younger, the larger.

# %%
#| export
class Value(Operators):
    """One number that remembers how it was made.

    data       the number
    _children  the Values it was made from; `_op` says how, as text

    .data .grad  two floats: the number, and the slope of the result that `backward` started from
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
        self._slopes = unknown_slopes if self._prev else ()
        self._age = next_age()
        self.label = label

    def tanh(self): return tanh(self)
    def exp(self): return exp(self)
    def log(self): return log(self)
    def sin(self): return sin(self)
    def relu(self): return relu(self)
    def sigmoid(self): return sigmoid(self)

    def backward(self):
        """Find the slope of this number along every Value it was made from, and add it to their `grad`."""
        backward(self)

    @property
    def _backward(self):
        """Call it to hand `grad` on to the inputs. Assign a function of no arguments to say what it should do."""
        return lambda: pull(self)

    @_backward.setter
    def _backward(self, function):
        self._slopes = slopes_from(function, self)

    def __float__(self):
        return float(self.data)

    def __repr__(self):
        return f"Value(data={self.data}, grad={self.grad})"

    def __format__(self, spec):
        return format(self.data, spec) if spec else repr(self)

# %% [markdown]
# Beside it, `as_float` refuses what is no single number; a Value inside a Value would lose its past.
# `unknown_slopes` and `slopes_from` are for operations from outside, and wait until we need them.

# %%
#| exporti
next_age = itertools.count().__next__


def as_float(data):
    """`data` as a float. TypeError unless it is one plain number."""
    if isinstance(data, Value) or not hasattr(data, "__float__"):
        raise TypeError(f"a Value holds one plain number, not {data!r:.60}")
    return float(data)

# %% [markdown]
# And the door that every operation comes through. It takes the name, the result, the inputs, and **one
# slope per input**: how many units the result moves per unit of that input. It skips the checks of the
# constructor, since a network makes thousands of these per step.

# %%
#| exporti
new = object.__new__  # makes a Value without running its constructor

# %%
#| export
def record(op, data, inputs, slopes):
    """A Value that remembers: `data` came from `inputs` by `op`, and moves with each of them by its slope.

    op      text for pictures           data    float, the result
    inputs  tuple of Values             slopes  tuple of as many floats

    >>> x = Value(3.0)
    >>> record("double", 6.0, (x,), (2.0,))._prev
    (Value(data=3.0, grad=0.0),)
    """
    out = new(Value)
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
# For $s = a + b$, predict: if $a$ grows by 0.001 and $b$ stays, by how much does $s$ grow? Does the
# answer depend on $a$ or $b$?
#
# **Task.** Write `add` for two Values. One line is enough.
#
# <details><summary>Hint 1</summary>Four things go through the door. Two of them you can read off
# the formula, the other two describe where the result came from.</details>
# <details><summary>Hint 2</summary>The numbers are in <code>a.data</code> and <code>b.data</code>. The inputs are
# the Values themselves, not their numbers: the walk has to get back to them.</details>
# <details><summary>Hint 3</summary><code>return record("+", ..., (a, b), (..., ...))</code></details>

# %% nbgrader={"grade": false, "grade_id": "backprop-add", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% [markdown]
# The checks read inputs and slopes through these two, which say in words what is wrong.

# %% tags=["learner-side"]
def inputs_of(out):
    """The numbers that `out` was made from, or what is wrong with its inputs."""
    if not isinstance(out, Value):
        return f"{out!r:.60}, which is no Value: return what record returns"
    if not isinstance(out._prev, (tuple, list)):
        return "no tuple: (x) is just x, write (x,)"
    return [float(x.data) if isinstance(x, Value) else f"{x}, no Value" for x in out._prev]


def slopes_of(out):
    """The slopes of `out` along its inputs, or what is wrong with them."""
    if not isinstance(out, Value) or not isinstance(out._slopes, (tuple, list)):
        return "no tuple: (x) is just x, write (x,), and a slope needs its comma too"
    if any(isinstance(slope, Value) for slope in out._slopes):
        return "Values, but slopes are plain floats: `b.data`, not `b`"
    return list(map(float, out._slopes))

# %% nbgrader={"grade": true, "grade_id": "check-add", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_a_sum_of_values_is_a_value():
    a, b = Value(2.5), Value(-7.0)
    out = add(a, b)
    assert isinstance(out, Value), f"add(a, b) should be a Value, yours is {out!r:.60}: return what record returns"
    for name, out, right in [("a + b", a + b, -4.5), ("a + 3", a + 3, 5.5), ("3 + a", 3 + a, 5.5),
                             ("a + a", a + a, 5.0), ("sum([a, b, a])", sum([a, b, a]), -2.0)]:
        assert isinstance(out, Value), f"{name} should be a Value, yours is {out!r:.60}: return what record returns"
        assert float(out.data) == right, f"{name} with a=2.5, b=-7 should be {right}, yours is {out.data}"
    assert (float(a.data), float(b.data)) == (2.5, -7.0), f"adding changed a or b: they are {a.data} and {b.data} now"


def test_a_sum_remembers_what_it_was_made_from():
    out = Value(2.5) + Value(-7.0)
    assert out._op == "+", f"the operation should be noted as '+', yours is {out._op!r}"
    found = inputs_of(out)
    assert found == [2.5, -7.0], (
        f"_prev should be the two Values 2.5 and -7.0 in a tuple, yours holds {found}: hand on (a, b) themselves")


def test_a_sum_moves_with_each_part_one_for_one():
    for a, b in [(2.5, -7.0), (0.0, 40.0)]:
        found = slopes_of(Value(a) + Value(b))
        assert found == [1.0, 1.0], (
            f"{a} + {b} grows by 0.001 when either part does, so its slopes are [1.0, 1.0], yours are {found}")


test_a_sum_of_values_is_a_value()
test_a_sum_remembers_what_it_was_made_from()
test_a_sum_moves_with_each_part_one_for_one()

# %% [markdown]
# ## Handing back
#
# Suppose the walk has reached `out`, and `out.grad` is complete: the slope of $L$ along `out`. What
# should each input of `out` get? Predict for `out = add(a, b)` with `out.grad = 7`, and for
# `out = add(a, a)`.
#
# You did both by hand: $c$ got $1 \cdot 7$; and $a$, which was used twice, got a sum.

# %% [markdown]
# **Task.** Write `pull`. It is the chain rule, and the only place in this chapter where it stands.
#
# <details><summary>Hint 1</summary>Which two numbers does the chain rule multiply here, and where is each
# of them kept?</details>
# <details><summary>Hint 2</summary>The input may have been handed something already, by another user of it.
# What must happen with that?</details>
# <details><summary>Hint 3</summary><code>zip(node._prev, node._slopes)</code> goes through the inputs
# and their slopes together, however many there are.</details>
# <details><summary>Hint 4</summary><code>x.grad += slope * node.grad</code></details>

# %% nbgrader={"grade": false, "grade_id": "backprop-pull", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def pull(node):
    """Hand the gradient of `node` on: add (slope along the input) * (gradient of node) to the `grad` of each input.

    node     a Value whose own `grad` is complete; its inputs are changed, itself is not
    returns  None

    >>> x, y = Value(3.0), Value(5.0)
    >>> out = record("f", 1.0, (x, y), (2.0, -4.0))
    >>> out.grad = 10.0
    >>> pull(out)
    >>> x.grad, y.grad
    (20.0, -40.0)

    Source: Rumelhart, Hinton, Williams, Learning representations by back-propagating errors (1986).
    """
    ### BEGIN SOLUTION
    g = node.grad
    if len(node._prev) == 2:  # the loop below in two lines: two inputs are so common that the walk gains a quarter
        (x, y), (slope_x, slope_y) = node._prev, node._slopes
        x.grad += slope_x * g
        y.grad += slope_y * g
    else:
        for x, slope in zip(node._prev, node._slopes):
            x.grad += slope * g
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-pull", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def test_what_arrives_is_multiplied_and_handed_on():
    a, b = Value(2.0), Value(9.0)
    out = record("f", 1.0, (a, b), (3.0, -0.5))
    out.grad = 7.0
    pull(out)
    found = [float(a.grad), float(b.grad)]
    assert found == [21.0, -3.5], (
        f"out.grad is 7 and the slopes are 3 and -0.5, so 21 and -3.5 should arrive, yours: {found}: "
        "multiply each slope by the gradient of the node")
    assert float(out.grad) == 7.0, f"pull changed the gradient of the node itself to {out.grad}"


def test_what_other_users_handed_back_is_kept():
    a, b = Value(2.0), Value(9.0)
    out = record("f", 1.0, (a, b), (3.0, -0.5))
    a.grad, b.grad, out.grad = 100.0, 40.0, 2.0
    pull(out)
    found = [float(a.grad), float(b.grad)]
    assert found == [106.0, 39.0], (
        f"a already held 100 and b 40, and 6 and -1 arrive: that makes [106, 39], yours is {found}: "
        "another user of the number had handed that back, so add, do not replace")


def test_an_input_that_stands_twice_is_handed_both_shares():
    a = Value(4.0)
    out = record("f", 1.0, (a, a), (3.0, 5.0))
    out.grad = -2.0
    pull(out)
    assert float(a.grad) == -16.0, (
        f"a is the first and the second input, with slopes 3 and 5, and -2 arrives: -6 + -10 = -16, yours is {a.grad}")


def test_any_number_of_inputs_is_served():
    for slopes in [(), (3.0,), (2.0, -1.0, 0.5), (1.0, 2.0, 3.0, 4.0)]:
        parts = [Value(1.0) for _ in slopes]
        for part in parts:
            part.grad = 10.0
        out = record("f", 1.0, tuple(parts), slopes)
        out.grad = 4.0
        pull(out)
        found, right = [float(part.grad) for part in parts], [10.0 + 4.0 * slope for slope in slopes]
        assert found == right, (
            f"{len(slopes)} inputs with slopes {slopes}, each holding 10, and 4 arrives: they should hold {right}, "
            f"yours hold {found}")


def test_only_one_step_is_made():
    a = Value(2.0)
    inner = record("f", 1.0, (a,), (3.0,))
    out = record("f", 1.0, (inner, inner), (5.0, 1.0))
    out.grad = 7.0
    pull(out)
    assert [float(inner.grad), float(a.grad)] == [42.0, 0.0], (
        f"inner, used twice, should get 42, and a, from which inner was made, nothing yet; yours get {inner.grad} and "
        f"{a.grad}: pull hands on one step only; the walk does the rest")


def test_every_value_has_its_own_backward():
    a, b = Value(2.0), Value(9.0)
    out = record("f", 1.0, (a, b), (3.0, -0.5))
    out.grad = 2.0
    out._backward()
    out._backward()
    found = [float(a.grad), float(b.grad)]
    assert found == [12.0, -2.0], f"out._backward() calls pull; twice, it should add up to [12, -2], yours is {found}"


test_what_arrives_is_multiplied_and_handed_on()
test_what_other_users_handed_back_is_kept()
test_an_input_that_stands_twice_is_handed_both_shares()
test_any_number_of_inputs_is_served()
test_only_one_step_is_made()
test_every_value_has_its_own_backward()

# %% nbgrader={"grade": true, "grade_id": "check-pull-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_shares_of_any_size_reach_inputs_in_any_order():
    for slopes, g in [((2.0, -1.0, 0.5, 4.0, -3.0), 8.0), ((1e150, 0.0, -1e-150, 2.0, 1e3), -1e100),
                      ((7.0, 6.0, 5.0, 4.0, 3.0), 0.0)]:
        a, b, c = held = Value(1.0), Value(-2.0), Value(0.0)
        a.grad, b.grad, c.grad = 1.0, 0.0, -5.0
        out = record("f", 1.0, (a, b, a, c, a), slopes)
        out.grad = g
        pull(out)
        p, q, r, s, t = slopes
        for x, wanted in zip(held, [1.0 + g * (p + r + t), g * q, -5.0 + g * s]):
            assert abs(float(x.grad) - wanted) <= 1e-12 * abs(wanted), (
                f"inputs (a, b, a, c, a), slopes {slopes}, {g} arrives: {wanted} is due, found {x.grad}")
    a, b = Value(3.0), Value(3.0)
    for out, arrives in [(record("f", 1.0, (b, a), (2.0, 5.0)), -1.0), (record("g", 1.0, (b, b, b), (1.0,) * 3), 10.0)]:
        out.grad = arrives
        pull(out)
    assert [float(a.grad), float(b.grad)] == [-5.0, 28.0], f"two users: [-5, 28] is due, found {[a.grad, b.grad]}"


test_shares_of_any_size_reach_inputs_in_any_order()
### END HIDDEN TESTS

# %% [markdown]
# ## The other operators
#
# Each is one line and one question: how does the result move with each input while the other stays?
# Negation is given. Its slope does not depend on `x` either.

# %%
#| export
def negate(x):
    """-x, remembered.

    >>> negate(Value(3.0)).data
    -3.0
    """
    return record("neg", -x.data, (x,), (-1.0,))

# %% [markdown]
# Note the comma in `(x,)`. Without it Python sees brackets around `x`, not a tuple with one entry.
#
# Predict: in $p = a\,b$ with $a = 2$ and $b = -3$, by how much does $p$ grow when $a$ grows by 0.001?
#
# **Task.** Write `multiply`.
#
# <details><summary>Hint 1</summary>In the tracing by hand, L = f g: f was felt as strongly as g was
# large.</details>
# <details><summary>Hint 2</summary>Slopes are plain floats. The order of the slopes is the order of the
# inputs.</details>
# <details><summary>Hint 3</summary>Inputs <code>(a, b)</code>; slopes <code>(b.data, ...)</code></details>

# %% nbgrader={"grade": false, "grade_id": "backprop-multiply", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "check-multiply", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_a_product_of_values_is_a_value():
    a, b = Value(2.5), Value(-7.0)
    for name, out, right in [("a * b", a * b, -17.5), ("a * 3", a * 3, 7.5), ("3 * a", 3 * a, 7.5),
                             ("a * a", a * a, 6.25)]:
        assert isinstance(out, Value), f"{name} should be a Value, yours is {out!r:.60}: return what record returns"
        assert float(out.data) == right, f"{name} with a=2.5, b=-7 should be {right}, yours is {out.data}"


def test_a_product_remembers_what_it_was_made_from():
    out = Value(2.5) * Value(-7.0)
    assert out._op == "*", f"the operation should be noted as '*', yours is {out._op!r}"
    found = inputs_of(out)
    assert found == [2.5, -7.0], f"2.5 * -7.0 should remember 2.5 and -7.0, yours remembers {found}"


def test_each_factor_is_felt_as_strongly_as_the_other_is_large():
    for a, b in [(2.5, -7.0), (0.0, 40.0), (-0.125, 3.0)]:
        found = slopes_of(Value(a) * Value(b))
        assert found == [b, a], (
            f"{a} * {b}: along the first factor the slope is the second, {b}, and the other way round, "
            f"so [{b}, {a}], yours are {found}")


test_a_product_of_values_is_a_value()
test_a_product_remembers_what_it_was_made_from()
test_each_factor_is_felt_as_strongly_as_the_other_is_large()

# %% nbgrader={"grade": true, "grade_id": "check-multiply-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_products_of_other_numbers():
    for a, b in [(1e200, -3e-200), (-0.1, 0.7), (13.0, 0.0), (-4.0, -6.25), (0.0, 0.0)]:
        x, y = Value(a), Value(b)
        out = multiply(x, y)
        assert [float(out.data), slopes_of(out), out._op] == [a * b, [b, a], "*"], (
            f"{a} * {b}: {a * b}, slopes {[b, a]}, '*', found {out.data}, {slopes_of(out)}, {out._op!r}")
        x.data, y.data = 50.0, 60.0
        assert inputs_of(out) == [50.0, 60.0], f"the inputs should be the two Values themselves, found {inputs_of(out)}"
    x = Value(-1.5)
    assert slopes_of(x * x) == [-1.5, -1.5] and inputs_of(x * x) == [-1.5, -1.5], "x * x has x as an input twice"
    for n in (-8, 0, 0.5):
        assert [float((x * n).data), float((n * x).data)] == [-1.5 * n] * 2, f"-1.5 * {n} is {-1.5 * n} both ways"


test_products_of_other_numbers()
### END HIDDEN TESTS

# %% [markdown]
# **Task.** Write `subtract`. Python hands the left number in first, whichever side the Value stood on:
# `5 - x` arrives as `subtract(Value(5), x)`.
#
# <details><summary>Hint 1</summary>If b grows by 0.001, what does a - b do?</details>
# <details><summary>Hint 2</summary>Like <code>add</code>, with two signs changed.</details>

# %% nbgrader={"grade": false, "grade_id": "backprop-subtract", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "check-subtract", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def test_what_stands_left_is_what_is_subtracted_from():
    a, b = Value(2.5), Value(-7.0)
    for name, out, right in [("a - b", a - b, 9.5), ("a - 3", a - 3, -0.5), ("3 - a", 3 - a, 0.5)]:
        assert isinstance(out, Value), f"{name} should be a Value, yours is {out!r:.60}: return what record returns"
        assert float(out.data) == right, f"{name} with a=2.5, b=-7 should be {right}, yours is {out.data}"
    found = [(a - b)._op, inputs_of(a - b)]
    assert found == ["-", [2.5, -7.0]], f"2.5 - -7.0 should remember '-', 2.5 and -7.0, yours remembers {found}"


def test_a_difference_falls_when_its_second_part_grows():
    for a, b in [(2.5, -7.0), (0.0, 40.0)]:
        found = slopes_of(Value(a) - Value(b))
        assert found == [1.0, -1.0], (
            f"{a} - {b} grows with the first number and falls as the second grows: slopes [1.0, -1.0], yours {found}")


test_what_stands_left_is_what_is_subtracted_from()
test_a_difference_falls_when_its_second_part_grows()

# %% [markdown]
# **Task.** Write `divide`. Predict first for $q = a/b$ at $a = 6$, $b = 2$: $q$ is 3. Which is felt
# more, a nudge of $a$ or a nudge of $b$, and which way does each go?
#
# <details><summary>Hint 1</summary>a / b is a times 1/b. Along a, you know the slope of a product
# already.</details>
# <details><summary>Hint 2</summary>The slope of 1/b along b is -1/b². And a is a factor in front of it.</details>
# <details><summary>Hint 3</summary>-a/b² is also minus the result divided by b.</details>
# <details><summary>Hint 4</summary>Slopes <code>(1 / b.data, -a.data / b.data**2)</code></details>

# %% nbgrader={"grade": false, "grade_id": "backprop-divide", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "check-divide", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_a_quotient_of_values_is_a_value():
    a, b = Value(2.5), Value(-8.0)
    for name, out, right in [("a / b", a / b, -0.3125), ("a / 2", a / 2, 1.25), ("2 / b", 2 / b, -0.25)]:
        assert isinstance(out, Value), f"{name} should be a Value, yours is {out!r:.60}: return what record returns"
        assert float(out.data) == right, f"{name} with a=2.5, b=-8 should be {right}, yours is {out.data}"
    found = [(a / b)._op, inputs_of(a / b)]
    assert found == ["/", [2.5, -8.0]], f"2.5 / -8.0 should remember '/', 2.5 and -8.0, yours remembers {found}"


def test_a_quotient_falls_when_its_divisor_grows():
    for a, b, right in [(6.0, 2.0, [0.5, -1.5]), (2.5, -8.0, [-0.125, -0.0390625]), (-3.0, 0.25, [4.0, 48.0]),
                        (0.0, 5.0, [0.2, 0.0])]:
        found = slopes_of(Value(a) / Value(b))
        assert len(found) == 2 and all(abs(f - r) < 1e-12 for f, r in zip(found, right)), (
            f"{a} / {b} has slopes 1/b and -a/b², that is {right}, yours are {found}")


def test_dividing_by_zero_is_refused():
    try:
        out = Value(3.0) / Value(0.0)
    except ZeroDivisionError:
        out = None
    assert out is None, f"3 / 0 should raise ZeroDivisionError, as Python does, yours is {out}"
    assert float((Value(0.0) / Value(4.0)).data) == 0.0, "0 / 4 is 0"


test_a_quotient_of_values_is_a_value()
test_a_quotient_falls_when_its_divisor_grows()
test_dividing_by_zero_is_refused()

# %% nbgrader={"grade": true, "grade_id": "check-divide-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_quotients_of_other_numbers():
    for a, b in [(-7.0, 3.0), (1e-100, 1e-3), (2e100, -5e50), (0.3, 0.3), (-11.0, -0.125), (0.0, -2.0)]:
        found = slopes_of(divide(Value(a), Value(b)))
        quotient = float(divide(Value(a), Value(b)).data)
        assert abs(quotient - a / b) <= 1e-12 * abs(a / b), f"{a} / {b} is {a / b}, found {quotient}"
        wanted = [1 / b, -(a / b) * (1 / b)]
        assert len(found) == 2 and all(abs(f - w) <= 1e-12 * abs(w) for f, w in zip(found, wanted)), (
            f"{a} / {b} has slopes {wanted}, found {found}")
    x = Value(0.75)
    for n in (3, -0.5, 12):
        assert abs(float((x / n).data) - 0.75 / n) < 1e-12, f"Value(0.75) / {n} is {0.75 / n}, found {(x / n).data}"
        assert abs(float((n / x).data) - n / 0.75) < 1e-12, f"{n} / Value(0.75) is {n / 0.75}, found {(n / x).data}"
    for name, broken in [("Value / 0", lambda: x / 0), ("5 / Value(0)", lambda: 5 / Value(0)),
                         ("0 / 0", lambda: Value(0) / Value(0))]:
        try:
            out = broken()
        except ZeroDivisionError:
            out = None
        assert out is None, f"{name} should raise ZeroDivisionError, found {out}"


test_quotients_of_other_numbers()
### END HIDDEN TESTS

# %% [markdown]
# For powers, Python needs some care: `(-2.0) ** 0.5` would become a complex number, and `10.0 ** 1000`
# an error in the middle of training. `raised` gives infinity for what is too large, as `exp` will, and
# refuses what is no real number.

# %%
#| exporti
def raised(x, n):
    """x ** n for floats; infinite where it is too large or x is 0 and n < 0. ValueError if it is no real number."""
    try:
        return math.pow(x, n)
    except OverflowError:
        return -math.inf if x < 0 and n % 2 == 1 else math.inf
    except ValueError:
        if x == 0:
            return math.inf
        raise ValueError(f"{x} ** {n} is no real number: a negative base needs a whole exponent") from None

# %% [markdown]
# **Task.** Write `power` for a Value and a plain number `n`, with `raised` in place of `**`. The slope of
# $x^n$ is $n\,x^{n-1}$: one power less. Predict it for $n = 0$ at $x = 0$ from the meaning of a slope, before
# you trust the formula.
#
# <details><summary>Hint 1</summary>How many inputs does the result have? The exponent is a plain
# number.</details>
# <details><summary>Hint 2</summary>x ** 0 is 1 everywhere. How fast does that move? What does the
# formula try to compute at x = 0?</details>
# <details><summary>Hint 3</summary><code>slope = n * raised(x.data, n - 1) if n else 0.0</code></details>

# %% nbgrader={"grade": false, "grade_id": "backprop-power", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def power(x, n):
    """x ** n, remembered.

    x        a Value
    n        a plain number: whole, negative, zero, fractional
    returns  a Value made by "**2" (or whatever n is) from (x,), with the slope along x. Infinite where it is too
             large; ValueError where x ** n is no real number

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

# %% nbgrader={"grade": true, "grade_id": "check-power", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_powers_have_the_right_value():
    for x, n, right in [(3.0, 2, 9.0), (-2.0, 3, -8.0), (4.0, 0.5, 2.0), (4.0, -1.5, 0.125), (7.0, 0, 1.0),
                        (5.0, 1, 5.0)]:
        out = Value(x) ** n
        assert isinstance(out, Value), f"{x} ** {n} should be a Value, yours is {out!r:.60}"
        assert abs(float(out.data) - right) < 1e-12, f"{x} ** {n} should be {right}, yours is {out.data}"


def test_a_power_has_one_input():
    out = Value(-2.0) ** 3
    found = inputs_of(out)
    assert found == [-2.0], f"only x is an input, the exponent is a plain number: _prev should hold -2.0, not {found}"
    assert out._op == "**3", f"the operation should be noted as '**3', yours is {out._op!r}"


def test_the_slope_of_a_power_has_one_power_less():
    for x, n, right in [(3.0, 2, 6.0), (-2.0, 3, 12.0), (4.0, 0.5, 0.25), (4.0, -1.5, -0.046875), (2.0, -1, -0.25),
                        (5.0, 1, 1.0), (1.5, 4, 13.5)]:
        found = slopes_of(Value(x) ** n)
        assert len(found) == 1 and abs(found[0] - right) < 1e-12, (
            f"{x} ** {n} has slope {n} * {x} ** ({n} - 1) = {right}, yours is {found}")


def test_powers_of_zero_have_slopes_too():
    for x, n, right in [(0.0, 0, 0.0), (0.0, 1, 1.0), (0.0, 2, 0.0), (0.0, 3, 0.0), (6.0, 0, 0.0), (0.0, 0.0, 0.0)]:
        found = slopes_of(Value(x) ** n)
        assert found == [right], (
            f"x ** {n} at x = {x} moves with slope {right}, yours is {found}; what is x ** 0 everywhere?")


def test_powers_where_python_needs_care():
    for x, n, right, steep in [(10.0, 1000, math.inf, math.inf), (-10.0, 1001, -math.inf, math.inf),
                               (0.0, 0.5, 0.0, math.inf), (0.0, -1, math.inf, -math.inf)]:
        try:
            out = Value(x) ** n
            found = [float(out.data), slopes_of(out)]
        except (OverflowError, ZeroDivisionError) as error:
            found = repr(error)
        assert found == [right, [steep]], (
            f"{x} ** {n} is {right} and moves with slope {steep}, yours gives {found}: use raised in place of **, "
            "for the value and for the slope")
    try:
        out = Value(-2.0) ** 0.5
    except ValueError:
        out = None
    except TypeError as error:
        out = repr(error)
    assert out is None, f"(-2) ** 0.5 is no real number: raised says so with a ValueError, yours gives {out}"


test_powers_have_the_right_value()
test_a_power_has_one_input()
test_the_slope_of_a_power_has_one_power_less()
test_powers_of_zero_have_slopes_too()
test_powers_where_python_needs_care()

# %% nbgrader={"grade": true, "grade_id": "check-power-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_powers_of_other_numbers():
    for x, n, right, slope in [(2.0, 10, 1024.0, 5120.0), (-1.5, 2, 2.25, -3.0), (-2.0, -3, -0.125, -0.1875),
                               (0.25, -0.5, 2.0, -4.0), (9.0, 1.5, 27.0, 4.5), (-3.0, 0, 1.0, 0.0),
                               (-4.0, 1, -4.0, 1.0), (0.0, 7, 0.0, 0.0), (0.0, 1.5, 0.0, 0.0),
                               (16.0, 0.25, 2.0, 0.03125)]:
        out = power(Value(x), n)
        found = [float(out.data), *slopes_of(out)]
        assert len(found) == 2 and abs(found[0] - right) < 1e-9 and abs(found[1] - slope) < 1e-9, (
            f"{x} ** {n} is {right} with slope {slope}, found {found}")
        assert [out._op, inputs_of(out)] == [f"**{n}", [x]], f"made by '**{n}' of {x}: {out._op!r}, {inputs_of(out)}"
    for x, n, right, slope in [(-10.0, 1000, math.inf, -math.inf), (-1e200, 3, -math.inf, math.inf),
                               (1e-200, -2, math.inf, -math.inf)]:
        out = power(x=Value(x), n=n)
        assert [float(out.data), slopes_of(out)] == [right, [slope]], f"{x} ** {n} is too large: {right}, slope {slope}"
    for x, n in [(-8.0, 1 / 3), (-0.5, -1.5)]:
        try:
            out = power(Value(x), n)
        except ValueError:
            out = None
        assert out is None, f"{x} ** {n} is no real number: ValueError, found {out}"


test_other_powers_of_other_numbers()
### END HIDDEN TESTS

# %% [markdown]
# Two Values can meet at `**` as well. Along the exponent, $x^y$ moves with slope $x^y \log x$.

# %%
#| exporti
def power_of_values(x, y):
    """x ** y for two Values. ValueError for a negative base, whose power would not be defined beside y."""
    if x.data < 0:
        raise ValueError(f"{x.data} ** Value({y.data}): a negative base needs a plain number as exponent")
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
# Handing back needs a node whose own gradient is complete. So before a node hands on, *all* its users
# must have handed back to it. Here `s` has two users, one near the end and one far from it.
#
# The constants 3 and 5 are nodes as well. Predict: walking from `r` to its inputs, then to theirs, in which
# order would you meet s, t, u, r, 3 and 5, and who would hand on too early?

# %%
s = Value(2.0)      # used by r directly...
t = s * 3           # ...and by t, whose share arrives much later
u = t * 5
r = s + u
for node, name in zip((s, t, u, r), "stur"):
    node.label = name
print("ages:", {node.label: node._age for node in (s, t, u, r)})

# %% [markdown]
# The ages hold the answer. A result is always younger than its inputs. So if the youngest goes first,
# every user of a number comes before the number itself.
#
# **Task.** Write `order`: first find every node, each once, without recursion (Python stops at a depth of
# about 1,000, and a loss can be 10,000 operations deep); then sort.
#
# <details><summary>Hint 1</summary>Keep a list of nodes found so far, starting with the root. What can you do for each
# node in it that makes the list grow?</details>
# <details><summary>Hint 2</summary>A node is reached once per user, and so is everything behind it. What do you ask
# before you append, and which container answers that question fast?</details>
# <details><summary>Hint 3</summary>A <code>for</code> loop over a list also visits what is appended to it
# meanwhile. <code>found = {root}</code> beside it.</details>
# <details><summary>Hint 4</summary><code>return sorted(nodes, key=age, reverse=True)</code>; <code>age</code>
# is given.</details>

# %%
#| exporti
age = attrgetter("_age")  # age(node) is node._age

# %% nbgrader={"grade": false, "grade_id": "backprop-order", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def order(root):
    """Everything that `root` was made from, in the order in which gradients can be handed back.

    root     a Value
    returns  list of Values, each once: `root` first, and every node before its own inputs

    No recursion, and no path is walked twice.

    >>> x = Value(3.0)
    >>> [node.data for node in order((x + 1) * x)]
    [12.0, 4.0, 1.0, 3.0]

    Source: Knuth, The Art of Computer Programming, volume 1, section 2.2.3, "topological sorting".
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

# %% [markdown]
# The checks need graphs with very many nodes, and nodes that count what is asked of them. A clock would
# blame a slow machine; a count does not.

# %% tags=["learner-side"]
class Watched(Value):  # counts can be had nowhere else than here, beside the code that is counted
    """A Value that counts how often inputs and slopes are read, and how often two nodes are compared."""

    __slots__ = ()
    counts = {"inputs": 0, "slopes": 0, "compared": 0}

    @property
    def _prev(self):
        self.counts["inputs"] += 1
        return Value._prev.__get__(self)

    @property
    def _slopes(self):
        self.counts["slopes"] += 1
        return Value._slopes.__get__(self)

    def __eq__(self, other):
        self.counts["compared"] += 1
        return id(self) == id(other)

    __hash__ = object.__hash__


def watched(node):
    """The same node, from now on counting."""
    node.__class__ = Watched
    return node


def counted(walk):
    """What `walk()` returns, and the counts of what it asked the watched nodes meanwhile."""
    Watched.counts.update(inputs=0, slopes=0, compared=0)
    return walk(), dict(Watched.counts)

# %% tags=["learner-side"]
def chain(operations, uses=1):
    """A Value at the end of so many operations in a row, each with the one before as its input, `uses` times."""
    node = record("", 0.0, (), ())
    for i in range(operations):
        node = record("f", i + 1.0, (node,) * uses, (1.0,) * uses)
    return node


def watched_order(operations, uses=1):
    """How many nodes `order` lists for such a chain, and what it asked them."""
    nodes = [record("", 0.0, (), ())]
    for i in range(operations):
        nodes.append(record("f", i + 1.0, nodes[-1:] * uses, [1.0] * uses))
    for node in nodes:
        watched(node)
    found, counts = counted(lambda: order(nodes[-1]))
    return len(found), counts


def nodes_in_chain(operations, uses=1):
    """How many nodes `order` lists for such a chain."""
    return len(order(chain(operations, uses)))


def added_again_and_again(x, times):
    """x + x + x + ..."""
    y = x
    for _ in range(times):
        y = y + x
    return y

# %% nbgrader={"grade": true, "grade_id": "check-order", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_every_node_comes_once():
    x, unused = record("", 2.0, (), ()), record("", 99.0, (), ())
    y = record("f", 3.0, (x, x), (1.0, 1.0))
    z = record("f", 4.0, (y, x), (1.0, 1.0))
    beside = record("f", 98.0, (y, unused), (1.0, 1.0))
    root = record("f", 5.0, (z, y), (1.0, 1.0))
    found = [float(node.data) for node in order(root)]
    assert sorted(found) == [2.0, 3.0, 4.0, 5.0], (
        f"5 was made from 4 and 3, and those from 2; your order lists {found}: each once, and nothing else "
        f"({beside.data} was made from some of them, 5 was not made from it)")


def test_users_come_before_what_they_use():
    s = record("", 2.0, (), ())
    t = record("f", 3.0, (s,), (1.0,))
    u = record("f", 4.0, (t,), (1.0,))
    v = record("f", 5.0, (u, s), (1.0, 1.0))
    for inputs in [(s, v), (v, s), (t, v, s), (u, v), (t, s, v)]:
        root = record("f", 6.0, inputs, (1.0,) * len(inputs))
        found = [float(node.data) for node in order(root)]
        assert found == [6.0, 5.0, 4.0, 3.0, 2.0], (
            f"2 is used by 3, 3 by 4, 4 by 5, some of them also by 6; only 6, 5, 4, 3, 2 has every user before "
            f"what it uses, yours is {found}")


def test_inputs_older_and_younger_than_other_users():
    a, b = record("", 60.0, (), ()), record("", -5.0, (), ())
    c = record("f", 8.0, (a, b), (1.0, 1.0))
    late = record("", 90.0, (), ())
    d = record("f", 0.5, (late, c), (1.0, 1.0))
    e = record("f", -7.0, (c, a), (1.0, 1.0))
    nodes = order(record("f", 4.0, (d, e), (1.0, 1.0)))
    place = {float(node.data): i for i, node in enumerate(nodes)}
    assert len(place) == 7, f"seven nodes belong to this graph, yours lists {sorted(place)}"
    for user, used in [(4, 0.5), (4, -7), (0.5, 90), (0.5, 8), (-7, 8), (-7, 60), (8, 60), (8, -5)]:
        assert place[user] < place[used], f"{user} uses {used}, so it must come first; your order is {list(place)}"


def test_a_deep_graph_needs_no_recursion():
    found, counts = watched_order(300)
    assert counts["compared"] < 10 * found, (
        f"for {found} nodes, yours compared nodes {counts['compared']:,} times: looking in a list takes longer each "
        "time: ask a set")
    try:
        found = nodes_in_chain(10_000)
    except RecursionError:
        found = "a RecursionError"
    assert found == 10_001, (
        f"a chain of 10,000 operations has 10,001 nodes, yours gives {found}: walk with a list, not with calls")


def test_no_path_is_walked_twice():
    for operations in (1, 2, 3, 5, 15):
        found, counts = watched_order(operations, uses=3)
        assert found == operations + 1, (
            f"{operations} operations in a row, each using the one before three times, have {operations + 1} nodes, "
            f"yours lists {found}: append a node only if it was not found before")
        assert counts["inputs"] <= 6 * found, (
            f"{found} nodes were asked {counts['inputs']:,} times for their inputs: each of the "
            f"{3**operations:,} paths was walked; ask whether a node was found before, before you go on from it")


test_every_node_comes_once()
test_users_come_before_what_they_use()
test_inputs_older_and_younger_than_other_users()
test_a_deep_graph_needs_no_recursion()
test_no_path_is_walked_twice()

# %% nbgrader={"grade": true, "grade_id": "check-order-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_graphs_of_forty_nodes_are_put_in_order():
    for seed in range(4):
        draw, nodes, inputs = random.Random(seed), [], []
        for i in range(40):
            chosen = draw.choices(range(i), k=draw.randint(0, 4)) if i else []
            inputs.append(chosen)
            nodes.append(record("f" if chosen else "", float(i), tuple(nodes[c] for c in chosen), (1.0,) * len(chosen)))
        for root in (39, 38, 25, 0):
            below = {root}
            for i in range(root, -1, -1):
                below |= set(inputs[i]) if i in below else set()
            found = [int(float(node.data)) for node in order(nodes[root])]
            assert sorted(found) == sorted(below), f"seed {seed}, root {root}: made from {sorted(below)}, found {found}"
            assert found[0] == root, f"seed {seed}: the root, {root}, comes first, found {found}"
            place = {name: at for at, name in enumerate(found)}
            early = [(user, used) for user in found for used in inputs[user] if place[user] > place[used]]
            assert not early, f"seed {seed}, root {root}: these users come after what they use: {early}, found {found}"


test_graphs_of_forty_nodes_are_put_in_order()
### END HIDDEN TESTS

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
# Order and handing back make the whole algorithm, with two beginnings. The walk needs a first gradient:
# what is the slope of $L$ along $L$ itself? And a second walk needs a clean start, which takes a moment
# of thought.

# %% [markdown]
# Numbers that were not computed, the *leaves*, collect over many walks: one per example, say. Whoever
# collects there decides when to start again from 0. But an inner node, such as $f$, is only a stop on
# the way. What it still holds from the last walk would be handed on a second time.
#
# Predict: `z = 4 * (3 * x)`, walked twice. What does `x.grad` hold if inner nodes are never reset, and `z`
# itself starts each walk from what it held, plus 1?

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
#
# <details><summary>Hint 1</summary>Three steps: a clean start for the inner nodes, a first
# gradient for the root, then the walk.</details>
# <details><summary>Hint 2</summary>How can you tell an inner node from a leaf?</details>
# <details><summary>Hint 3</summary>The root may be a leaf itself. Then it collects, like any
# other.</details>
# <details><summary>Hint 4</summary><code>nodes = order(root)</code>; two loops over it, with
# <code>root.grad += 1.0</code> between them. The first: <code>if node._prev: node.grad = 0.0</code></details>

# %% nbgrader={"grade": false, "grade_id": "backprop-backward", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def backward(root):
    """Add to the `grad` of every leaf below `root` the slope of `root` along it, in one walk.

    root     a Value
    returns  None; afterwards an inner node holds its slope in this walk, a leaf the sum over all walks so far

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

# %% nbgrader={"grade": true, "grade_id": "check-backward", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
def test_the_walk_finds_what_you_traced_by_hand():
    a, b, c, d = Value(2.0), Value(-3.0), Value(10.0), Value(5.0)
    e = a * b
    f = e + c
    g = a + d
    L = f * g
    L.backward()
    found = {"L": L.grad, "f": f.grad, "g": g.grad, "e": e.grad, "c": c.grad, "d": d.grad, "b": b.grad, "a": a.grad}
    for name, right in {"L": 1, "f": 7, "g": 4, "e": 7, "c": 7, "d": 4, "b": 14, "a": -17}.items():
        why = "L moves with itself one for one: begin with 1" if name == "L" else "compare with your tracing by hand"
        assert isinstance(found[name], (float, int)), (
            f"{name}.grad should be a plain number, yours is {found[name]!r:.60}: gradients and slopes are floats, not "
            "Values")
        assert float(found[name]) == right, f"the slope of L along {name} is {right}, yours is {found[name]}: {why}"


def test_a_gradient_from_above_is_multiplied_in():
    a, b = Value(2.0), Value(-3.0)
    ((a + b) * 3).backward()
    found = [float(a.grad), float(b.grad)]
    assert found == [3.0, 3.0], f"(a + b) * 3 moves by 3 per unit of a or b, yours are {found}"


def test_shared_numbers_are_complete_before_they_hand_on():
    a = Value(1.0)
    b = a + a
    (b + b).backward()
    assert float(a.grad) == 4.0, (
        f"b = a + a, c = b + b: c is 4 a, slope 4, yours is {a.grad}: b handed on too early or too often")
    for far_first in (True, False):
        x = Value(2.0)
        y = 3 * x
        q, s = 5 * y, (2 * y) * 1
        (q + s if far_first else s + q).backward()
        assert float(x.grad) == 21.0, (
            f"y = 3x, q = 5y, s = 2y*1: q + s is 21 x, slope 21, yours is {x.grad}: y must wait for both its users")


def test_leaves_collect_and_inner_nodes_start_anew():
    x = Value(5.0)
    inner = 3 * x
    z = 4 * inner
    z.backward()
    assert float(x.grad) == 12.0, f"z = 4*(3*x) has slope 12, yours is {x.grad}"
    z.backward()
    assert float(inner.grad) == 4.0, (
        f"after a second walk, z still moves by 4 per unit of 3*x, yours holds {inner.grad}: reset inner nodes")
    assert float(z.grad) == 1.0, f"z moves with itself one for one in every walk, its grad is {z.grad}"
    assert float(x.grad) == 24.0, f"two walks hand 12 + 12 = 24 to the leaf x, yours holds {x.grad}: leaves collect"
    x.grad = 0.0
    z.backward()
    assert float(x.grad) == 12.0, (
        f"x was set to 0, so the third walk should give 12, yours is {x.grad}: "
        "gradients of inner nodes must start at 0")
    (x * 7).backward()
    assert float(x.grad) == 19.0, f"another result, 7*x, adds 7 to the 12 that x holds, yours is {x.grad}"


def test_a_leaf_moves_with_itself():
    x = Value(5.0)
    x.backward()
    first = float(x.grad)
    x.backward()
    assert [first, float(x.grad)] == [1.0, 2.0], (
        f"a leaf walked from itself collects 1 each time: 1, then 2; yours: {first}, then {x.grad}")


def test_the_walk_agrees_with_nudging():
    def f(x, y, z):
        for _ in range(4):
            x, y, z = y * z + x, x * 0.5 + z, x * y + 1
        return x * z + y * y

    at = (0.5, -0.75, 0.25)
    values = [Value(number) for number in at]
    f(*values).backward()
    for i, value in enumerate(values):
        up, down = list(at), list(at)
        up[i] += 1e-5
        down[i] -= 1e-5
        right = (f(*up) - f(*down)) / 2e-5
        assert abs(float(value.grad) - right) < 1e-6 * max(1, abs(right)), (
            f"nudging input {i} gives the slope {right:.6f}, the walk {value.grad:.6f}")


def test_ten_thousand_operations_deep_and_sixty_doublings():
    x = Value(0.5)
    added_again_and_again(x, 10_000).backward()
    assert float(x.grad) == 10_001.0, f"x added to itself 10,000 times has slope 10,001, yours is {x.grad}"
    x.grad, y = 0.0, x
    for _ in range(60):
        y = y + y
    y.backward()
    assert float(x.grad) == 2.0**60, f"y = y + y, 60 times, has slope 2**60, yours is {x.grad}"


test_the_walk_finds_what_you_traced_by_hand()
test_a_gradient_from_above_is_multiplied_in()
test_shared_numbers_are_complete_before_they_hand_on()
test_leaves_collect_and_inner_nodes_start_anew()
test_a_leaf_moves_with_itself()
test_the_walk_agrees_with_nudging()
test_ten_thousand_operations_deep_and_sixty_doublings()

# %% nbgrader={"grade": true, "grade_id": "check-backward-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_walks_from_several_results_of_one_large_graph():
    for seed in range(3):
        draw, nodes, inputs, slopes = random.Random(seed), [], [], []
        for i in range(30):
            inputs.append(draw.choices(range(i), k=draw.randint(2, 3)) if i > 3 else [])
            slopes.append([draw.choice([-2.0, -1.0, 1.0, 3.0]) for _ in inputs[i]])
            nodes.append(record("f" if i > 3 else "", 1.0, tuple(nodes[c] for c in inputs[i]), tuple(slopes[i])))
        nodes[0].grad, leaves = 100.0, [100.0, 0.0, 0.0, 0.0]
        for root in (29, 17, 29, 2):
            share = [0.0] * 30  # the slope of the root along each node, worked out again
            share[root] = 1.0
            for i in range(root, -1, -1):
                for c, slope in zip(inputs[i], slopes[i]):
                    share[c] += slope * share[i]
            nodes[root].backward()
            leaves = [held + arrived for held, arrived in zip(leaves, share)]
            found = [float(node.grad) for node in nodes[:4]]
            assert found == leaves, f"seed {seed}, root {root}: the leaves should hold {leaves}, found {found}"
            grads = [float(node.grad) for node in nodes]
            wrong = {i: grads[i] for i in range(4, root + 1) if share[i] and grads[i] != share[i]}
            assert not wrong, f"seed {seed}, root {root}: inner nodes should hold {share}, these do not: {wrong}"


test_walks_from_several_results_of_one_large_graph()
### END HIDDEN TESTS

# %% [markdown]
# The machine again, with its dials as Values. Nothing in `machine` changed: it multiplies and adds
# whatever it is given.

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
added_again_and_again(Value(0.5), 10_000).backward()
print(f"{1000 * (time.perf_counter() - start):.0f} ms")

# %% [markdown]
# One thing the class has promised is still missing. Somebody may add an operation from outside, without our
# `record`: inputs handed to the constructor, and a handmade `_backward`. Its slopes are found by asking it.

# %%
#| exporti
class UnknownSlopes:
    """Stands in for slopes that nobody stated."""

    def __iter__(self):
        raise RuntimeError("this Value has inputs but no slopes: make it with record(op, data, inputs, slopes), "
                           "or assign its _backward")


unknown_slopes = UnknownSlopes()


def slopes_from(function, out):
    """The slopes that `function`, a handmade _backward of `out`, applies: give `out` 1 and see what arrives."""
    nodes = {out, *out._prev}
    before = [(node, node.grad) for node in nodes]
    for node in nodes:
        node.grad = 0.0
    out.grad = 1.0
    function()
    arrived = {node: node.grad for node in out._prev}
    for node, grad in before:
        node.grad = grad
    return tuple(arrived.pop(node, 0.0) for node in out._prev)  # a node that stands twice gets it once

# %% [markdown]
# ## A picture
#
# A graph wants to be seen. `Drawing` takes boxes and arrows and knows nothing of Values: it writes them
# in the DOT language, for Graphviz where that is installed, and otherwise lays them out itself, in
# columns. A plain script prints text only; `tito notebook backprop` opens the chapter with its pictures.

# %%
#| export
class Drawing:
    """A picture of a graph: boxes and the arrows between them.

    boxes   dict: any key -> list of lines of text; a box comes before those that lead to it
    arrows  list of (key of start, key of end, text)

    .source  the graph in the DOT language      str(drawing)  one line of text per box
    """

    def __init__(self, boxes, arrows):
        self.boxes, self.arrows = boxes, arrows

    def __str__(self):
        return "\n".join("  ".join(line for line in lines if line) for lines in self.boxes.values())

    @property
    def source(self):
        name = {key: f"n{i}" for i, key in enumerate(self.boxes)}
        lines = [f'  {name[key]} [label="{dot_text(text)}"];' for key, text in self.boxes.items()]
        lines += [f'  {name[start]} -> {name[end]} [label="{dot_text([text])}"];' for start, end, text in self.arrows]
        return "\n".join(["digraph {", "  rankdir=LR;", "  node [shape=box];", *lines, "}"])

    def render(self, path=None):
        """The picture as SVG text, by Graphviz if the graphviz package and `dot` are there; also written to `path`."""
        svg = svg_by_graphviz(self.source) or svg_by_columns(self.boxes, self.arrows)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(svg)
        return svg

    def _repr_svg_(self):
        return self.render()

# %%
#| exporti
def dot_text(lines):
    """Lines of text as they stand between quotes in the DOT language."""
    return "\\n".join(str(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines if line)


def svg_by_graphviz(source):
    """SVG text made by Graphviz, or None where it is not installed."""
    try:
        import graphviz

        return graphviz.Source(source).pipe(format="svg").decode()
    except (ImportError, OSError, RuntimeError):
        return None


def columns_of(boxes, arrows):
    """Lists of keys, left to right: a box stands left of every box that it leads to, and no further than needed."""
    column, into, out_of = dict.fromkeys(boxes, 0), {}, {}
    for start, end, _ in arrows:
        into.setdefault(end, []).append(start)
        out_of.setdefault(start, []).append(end)
    for end in boxes:
        for start in into.get(end, ()):
            column[start] = max(column[start], column[end] + 1)
    columns = [[] for _ in range(max(column.values()) + 1)]
    for key, n in column.items():
        columns[n].append(key)
    height = {}  # of each box from the middle line; near the boxes it leads to, so that few arrows cross
    for keys in columns:
        keys.sort(key=lambda key: sum(height[end] for end in out_of.get(key, ())) / len(out_of.get(key, "-")))
        height.update({key: i - (len(keys) - 1) / 2 for i, key in enumerate(keys)})
    return columns[::-1]

# %%
#| exporti
WIDE, HIGH, ACROSS, DOWN = 110, 50, 170, 70  # a box, and from one box to the next, in pixels


def svg_text(x, y, text, style=""):
    return f'<text x="{x}" y="{y}" {style}>{html.escape(str(text))}</text>'


def svg_by_columns(boxes, arrows):
    """SVG text made without any help: one column per step, boxes centred."""
    columns = columns_of(boxes, arrows)
    tallest = max(map(len, columns))
    place = {key: (20 + ACROSS * n, 20 + DOWN * (i + (tallest - len(column)) / 2))
             for n, column in enumerate(columns) for i, key in enumerate(column)}
    parts = []
    for start, end, text in arrows:
        (x1, y1), (x2, y2) = place[start], place[end]
        x1, y1, y2 = x1 + WIDE, y1 + HIGH / 2, y2 + HIGH / 2
        parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="gray" marker-end="url(#tip)"/>')
        parts.append(svg_text((x1 + x2) / 2, (y1 + y2) / 2 - 4, text, 'fill="gray" text-anchor="middle"'))
    for key, lines in boxes.items():
        x, y = place[key]
        parts.append(f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" fill="white" stroke="black"/>')
        parts += [svg_text(x + 6, y + 15 * (n + 1), line) for n, line in enumerate(lines)]
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{ACROSS * len(columns)}" height="{DOWN * tallest + 20}" '
            'font-family="monospace" font-size="11" style="background: white">')
    tip = ('<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="8" refY="4" orient="auto">'
           '<path d="M0,0 L8,4 L0,8" fill="none" stroke="gray"/></marker></defs>')
    return "\n".join([head, tip, *parts, "</svg>"])

# %%
#| export
def draw_graph(root):
    """A Drawing of everything `root` was made from: a box per Value, an arrow per input with its slope.

    >>> print(draw_graph(Value(2.0, label="a")))
    a  data 2  grad 0
    """
    nodes = order(root)
    boxes, arrows = {}, []
    for node in nodes:
        boxes[node] = [f"{node.label} {node._op}".strip(), f"data {node.data:.5g}", f"grad {node.grad:.5g}"]
        slopes = itertools.repeat("?") if node._slopes is unknown_slopes else [f"{s:.4g}" for s in node._slopes]
        arrows += [(x, node, slope) for x, slope in zip(node._prev, slopes)]
    return Drawing(boxes, arrows)

# %% [markdown]
# Your machine. On each arrow stands the slope that `record` was given; in each box, the gradient that
# `pull` made of them. Check one by eye: the gradient at the start of an arrow is a product. For which
# box is it a sum of two?

# %% alt="The graph of L: boxes for a, b, c, d and what is made of them, with value and gradient in each, and on every arrow the slope that was recorded."
for value, name in zip((a, b, c, d, L), "abcdL"):
    value.label = name
picture = draw_graph(L)
print(picture)
picture

# %% [markdown]
# ## Functions that bend
#
# A network needs something between its sums that is no straight line. To the engine, a function is one
# more operation: a result, an input, a slope. Three are given. Why is the slope of `exp` so cheap?

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
    """Compare the walk with nudging. AssertionError with the input and both slopes where they disagree, else True.

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
            raise AssertionError(f"input {i} = {numbers[i]}: the walk gives the slope {value.grad:.6g}, "
                                 f"nudging {right:.6g}")
    return True

# %%
print(check_slopes(lambda x, y: ((x * y) / (x + y)).sin() + 2**x - y.log(), 1.5, 0.4))

# %% [markdown]
# The hyperbolic tangent squeezes every number into -1 to 1. In terms of its own result $t$, its slope is
# $1 - t^2$.
#
# Predict its slope at 0, and at 20.
#
# **Task.** Write `tanh`. It must survive $\pm 1000$; the schoolbook formula with $e^{2x}$ does not.
#
# <details><summary>Hint 1</summary>Which of Python's own modules has had this function all along, stable for every
# number?</details>
# <details><summary>Hint 2</summary>The slope needs the result, not the input. Compute it once and use it
# twice.</details>
# <details><summary>Hint 3</summary>One input, one slope: <code>(x,)</code> and
# <code>(1 - t * t,)</code></details>

# %% nbgrader={"grade": false, "grade_id": "backprop-tanh", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "check-tanh", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_tanh_has_the_right_value():
    for x in (0.0, 0.5, -1.25, 3.0):
        out = Value(x).tanh()
        assert abs(float(out.data) - math.tanh(x)) < 1e-12, f"tanh({x}) is {math.tanh(x)}, yours is {out.data}"
    found = inputs_of(out)
    assert out._op == "tanh" and found == [3.0], (
        f"tanh(3) should remember 'tanh' and [3.0], yours remembers {out._op!r} and {found}")


def test_tanh_survives_large_numbers():
    for x, right in [(400.0, 1.0), (-400.0, -1.0), (1000.0, 1.0), (-1000.0, -1.0)]:
        try:
            out = Value(x).tanh()
            found, slopes = float(out.data), slopes_of(out)
        except OverflowError:
            found, slopes = "an OverflowError", None
        assert found == right, f"tanh({x}) is {right}, yours gives {found}: exp(800) is too large"
        assert slopes == [0.0], f"tanh is flat at {x}: slope 0, yours is {slopes}: use the result t, not x"


def test_tanh_moves_with_one_minus_its_square():
    for x, right in [(0.0, 1.0), (0.5, 0.7864477329659274), (-1.25, 0.28041486618043265), (2.0, 0.07065082485316443)]:
        found = slopes_of(Value(x).tanh())
        assert len(found) == 1 and abs(found[0] - right) < 1e-12, (
            f"tanh at {x} has slope 1 - t*t = {right:.6f}, where t = tanh({x}) is the result; yours is {found}: "
            "use the result t, not x")


test_tanh_has_the_right_value()
test_tanh_survives_large_numbers()
test_tanh_moves_with_one_minus_its_square()

# %% nbgrader={"grade": true, "grade_id": "check-tanh-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_tanh_of_other_numbers():
    for x in (-0.01, 0.2, 1.0, -2.5, 7.5, -19.0, 355.0, -710.0, 1e300):
        small = math.exp(-2 * abs(x))
        right, slope = math.copysign((1 - small) / (1 + small), x), 4 * small / (1 + small) ** 2
        out = tanh(Value(x))
        assert abs(float(out.data) - right) < 1e-12, f"tanh({x}) is {right}, found {out.data}"
        found = [out._op, inputs_of(out)]
        assert found == ["tanh", [x]], f"made by 'tanh' from {x}, found {found}"
        found = slopes_of(out)
        assert len(found) == 1 and abs(found[0] - slope) < 1e-12, f"tanh at {x} has slope {slope}, found {found}"


test_tanh_of_other_numbers()
### END HIDDEN TESTS

# %% [markdown]
# `relu` keeps what is positive and makes 0 of the rest. At 0 itself it has a corner and no slope; by
# custom one writes 0 there. What would nudging both ways say at that place?
#
# **Task.** Write `relu`.
#
# <details><summary>Hint 1</summary>Two cases. In one of them the result moves with x one for one, in the
# other not at all.</details>
# <details><summary>Hint 2</summary><code>max(0.0, x.data)</code>, and a slope that is
# <code>1.0 if ... else 0.0</code></details>

# %% nbgrader={"grade": false, "grade_id": "backprop-relu", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "check-relu", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def test_relu_keeps_what_is_positive():
    for x, right in [(2.5, 2.5), (-3.0, 0.0), (0.0, 0.0), (0.125, 0.125), (1000.0, 1000.0), (-1000.0, 0.0)]:
        out = Value(x).relu()
        assert float(out.data) == right, f"relu({x}) is {right}, yours is {out.data}"
        found = inputs_of(out)
        assert out._op == "relu" and found == [x], (
            f"relu({x}) should remember 'relu' and [{x}], yours remembers {out._op!r} and {found}")


def test_relu_lets_through_what_it_keeps():
    for x, right in [(2.5, 1.0), (-3.0, 0.0), (0.125, 1.0), (0.0, 0.0), (-0.125, 0.0)]:
        found = slopes_of(Value(x).relu())
        assert found == [right], f"relu at {x} has slope {right} (at 0, by custom, 0), yours is {found}"


test_relu_keeps_what_is_positive()
test_relu_lets_through_what_it_keeps()

# %% nbgrader={"grade": true, "grade_id": "check-relu-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_relu_of_other_numbers():
    for x, right, slope in [(1e-300, 1e-300, 1.0), (-1e-300, 0.0, 0.0), (-0.0, 0.0, 0.0), (1e300, 1e300, 1.0),
                            (-77.5, 0.0, 0.0), (math.pi, math.pi, 1.0)]:
        out = relu(Value(x))
        assert [float(out.data), slopes_of(out)] == [right, [slope]], (
            f"relu({x}) is {right} with slope {slope}, found {out.data}, {slopes_of(out)}")
        found = [out._op, inputs_of(out)]
        assert found == ["relu", [x]], f"made by 'relu' from {x}, found {found}"


test_relu_of_other_numbers()
### END HIDDEN TESTS

# %% [markdown]
# The sigmoid, $\sigma(x) = 1 / (1 + e^{-x})$, makes a probability of any number. In terms of its result
# $s$, its slope is $s\,(1 - s)$. Predict what the formula does at $x = -1000$, and multiply it above and
# below by $e^x$.
#
# **Task.** Write `sigmoid` so that no number is too large for it.
#
# <details><summary>Hint 1</summary>Which of the two forms has a large exponent for positive x, and which for
# negative x?</details>
# <details><summary>Hint 2</summary><code>math.exp(-abs(x.data))</code> is never too large. Both forms can
# be written with it.</details>
# <details><summary>Hint 3</summary>For x >= 0: <code>1 / (1 + e)</code>. For x below 0:
# <code>e / (1 + e)</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "backprop-sigmoid", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "check-sigmoid", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_sigmoid_has_the_right_value():
    for x, right in [(0.0, 0.5), (0.5, 0.6224593312018546), (1.5, 0.8175744761936437), (-0.75, 0.320821300824607),
                     (-30.0, 9.357622968839299e-14)]:
        out = Value(x).sigmoid()
        why = "1 - (almost 1) loses digits: compute the small part itself" if x == -30 else "1 / (1 + exp(-x))"
        assert abs(float(out.data) / right - 1) < 1e-9, f"sigmoid({x}) is {right}, yours is {out.data}: {why}"
        found = inputs_of(out)
        assert out._op == "sigmoid" and found == [x], (
            f"sigmoid({x}) should remember 'sigmoid' and [{x}], yours remembers {out._op!r} and {found}")


def test_sigmoid_survives_large_numbers():
    for x, right in [(1000.0, 1.0), (-1000.0, 0.0), (710.0, 1.0)]:
        try:
            out = Value(x).sigmoid()
            found, slopes = float(out.data), slopes_of(out)
        except OverflowError:
            found, slopes = "an OverflowError", None
        assert found == right, f"sigmoid({x}) is {right}, yours gives {found}: exp(1000) is too large"
        assert slopes == [0.0], f"sigmoid is flat at {x}: slope 0, yours is {slopes}: use the result s, not x"


def test_sigmoid_moves_with_its_share_times_the_rest():
    for x, right in [(0.0, 0.25), (1.5, 0.14914645207033286), (-0.75, 0.21789499376181404)]:
        found = slopes_of(Value(x).sigmoid())
        assert len(found) == 1 and abs(found[0] - right) < 1e-12, (
            f"sigmoid at {x} has slope s * (1 - s) = {right:.6f}, where s is the result; yours is {found}")


test_sigmoid_has_the_right_value()
test_sigmoid_survives_large_numbers()
test_sigmoid_moves_with_its_share_times_the_rest()

# %% nbgrader={"grade": true, "grade_id": "check-sigmoid-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_sigmoid_of_other_numbers():
    from decimal import Decimal

    for x in (-0.001, 0.3, 2.0, -2.0, -5.5, 12.0, -50.0, 40.0, -600.0, 709.5, 1e300):
        e = Decimal(-min(x, 800.0)).exp()
        right, slope = float(1 / (1 + e)), float(e / (1 + e) ** 2)
        out = sigmoid(Value(x))
        assert abs(float(out.data) - right) <= 1e-9 * right, f"sigmoid({x}) is {right}, found {out.data}"
        found = [out._op, inputs_of(out)]
        assert found == ["sigmoid", [x]], f"made by 'sigmoid' from {x}, found {found}"
        found = slopes_of(out)
        assert len(found) == 1 and abs(found[0] - slope) < 1e-12, f"sigmoid at {x} has slope {slope}, found {found}"


test_sigmoid_of_other_numbers()
### END HIDDEN TESTS

# %% [markdown]
# ## Two directions
#
# The slopes on the arrows can be multiplied from either end. `backward` starts at the result and learns,
# in one walk, how *one* result moves with *every* input. Starting at an input instead, oldest first, one
# learns how *every* result moves with *one* input. The first is called reverse mode, the second forward
# mode.
#
# Predict: for 41 parameters and one loss, how many walks does each of them need?

# %%
#| exporti
def oldest_first(roots):
    """Everything that the Values in `roots` were made from, and they themselves: inputs before those that use them."""
    together = record("", 0.0, tuple(roots), (0.0,) * len(roots))
    return order(together)[:0:-1]  # from the last to the second

# %% [markdown]
# **Task.** Write `forward_slopes`, and watch how little differs from `pull`.
#
# <details><summary>Hint 1</summary>How fast does the leaf itself move, when the leaf moves by one unit? And all
# other leaves?</details>
# <details><summary>Hint 2</summary>A result moves by what its inputs move, each times its slope. Are the inputs
# known by the time you need them?</details>
# <details><summary>Hint 3</summary>A dictionary from node to how fast it moves. Walk
# <code>oldest_first(roots)</code> and leave the entry of the leaf alone.</details>
# <details><summary>Hint 4</summary><code>moved[node] = sum(slope * moved[x] for x, slope in
# zip(node._prev, node._slopes))</code></details>

# %% nbgrader={"grade": false, "grade_id": "backprop-forward", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def forward_slopes(roots, leaf):
    """The slopes of several results along one number, in one walk from the oldest number to the youngest.

    roots    list of Values
    leaf     a Value that they may have been made from
    returns  list of floats, one per root: units of the root per unit of `leaf`. No `grad` is touched.

    >>> x = Value(3.0)
    >>> forward_slopes([x * x, 5 * x], x)
    [6.0, 5.0]

    Source: Wengert, A simple automatic derivative evaluation program (1964).
    """
    ### BEGIN SOLUTION
    moved = {leaf: 1.0}
    for node in oldest_first(roots):
        if node is not leaf:
            moved[node] = sum((slope * moved[x] for x, slope in zip(node._prev, node._slopes)), 0.0)
    return [moved[root] for root in roots]
    ### END SOLUTION

# %% tags=["learner-side"]
def watched_forward(results):
    """The slopes of so many results of a chain of 40, and how often slopes were read to find them."""
    nodes = [record("", 0.0, (), ())]
    for i in range(40):
        nodes.append(record("f", i + 1.0, (nodes[-1],), (1.0,)))
    roots = [record("f", 0.0, (nodes[-1],), (k + 2.0,)) for k in range(results)]
    for node in (*nodes, *roots):
        watched(node)
    found, counts = counted(lambda: forward_slopes(roots, nodes[0]))
    return list(map(float, found)), counts["slopes"]

# %% nbgrader={"grade": true, "grade_id": "check-forward", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_one_walk_forward_finds_one_dial():
    at = {"a": 2.0, "b": -3.0, "c": 10.0, "d": 5.0}
    a, b, c, d = parts = [Value(number) for number in at.values()]
    L = ((a * b) + c) * (a + d)
    for name, part, right in zip(at, parts, [-17.0, 14.0, 7.0, 4.0]):
        found = [float(slope) for slope in forward_slopes([L], part)]
        why = ": is the leaf's 1 overwritten by a sum over no inputs?" if found == [0.0] else ""
        assert found == [right], f"L moves by {right} per unit of {name}, your walk says {found}{why}"


def test_every_result_is_found_in_one_walk():
    x, y = Value(3.0), Value(-2.0)
    square = x * x
    roots = [square * y, x + y, y * y, square, x]
    for name, leaf, right in [("x", x, [-12.0, 1.0, 0.0, 6.0, 1.0]), ("y", y, [9.0, 1.0, -4.0, 0.0, 0.0])]:
        found = [float(slope) for slope in forward_slopes(roots, leaf)]
        assert found == right, f"x*x*y, x+y, y*y, x*x and x move with {name} by {right}, yours: {found}"
    assert [float(x.grad), float(y.grad)] == [0.0, 0.0], f"the walk forward should leave grad alone: {[x.grad, y.grad]}"
    _, for_one = watched_forward(1)
    found, for_twenty = watched_forward(20)
    assert found == [k + 2.0 for k in range(20)], f"twenty results with slopes 2, 3, ... 21, yours: {found}"
    assert for_twenty < 4 * for_one, (
        f"40 nodes in a row lead to one result: slopes are read {for_one} times; to twenty: {for_twenty} times. "
        "Each root had a walk of its own: walk oldest_first(roots) once, and read off all roots at the end")


def test_inner_numbers_and_strangers():
    x = Value(3.0)
    square = x * x
    out = square * square + x
    found = [float(slope) for slope in forward_slopes([out], square)]
    assert found == [18.0], (
        f"s*s + x with s = 9 moves by 18 per unit of s, yours: {found}: the leaf moves by 1, whatever made it")
    found = [float(slope) for slope in forward_slopes([out], Value(7.0))]
    assert found == [0.0], f"a number that took no part moves nothing: 0, yours: {found}"


def test_forward_agrees_with_backward():
    x, y = Value(0.7), Value(-0.4)
    p = x * y + x
    q = p * p + 3 * y
    out = q * p + q
    out.backward()
    for name, part in [("x", x), ("y", y), ("p", p), ("q", q)]:
        (found,) = forward_slopes([out], part)
        assert abs(float(found) - float(part.grad)) < 1e-12, (
            f"along {name}, backward finds {part.grad:.6f}, your walk forward {float(found):.6f}")


test_one_walk_forward_finds_one_dial()
test_every_result_is_found_in_one_walk()
test_inner_numbers_and_strangers()
test_forward_agrees_with_backward()

# %% nbgrader={"grade": true, "grade_id": "check-forward-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_many_results_of_one_large_graph():
    for seed in range(3):
        draw, nodes, inputs, slopes = random.Random(seed), [], [], []
        for i in range(30):
            inputs.append(draw.choices(range(i), k=draw.randint(2, 3)) if i > 2 else [])
            slopes.append([draw.choice([-2.0, -1.0, 1.0, 3.0]) for _ in inputs[i]])
            nodes.append(record("f" if i > 2 else "", 1.0, tuple(nodes[c] for c in inputs[i]), tuple(slopes[i])))
        nodes[1].grad = nodes[20].grad = 8.0
        for leaf in (0, 2, 11):
            moved = [0.0] * 30
            for i in range(30):
                moved[i] = 1.0 if i == leaf else sum(slope * moved[c] for c, slope in zip(inputs[i], slopes[i]))
            roots = [29, 5, 17, 29, 1, leaf]
            found = forward_slopes(roots=[nodes[r] for r in roots], leaf=nodes[leaf])
            found, wanted = [float(slope) for slope in found], [moved[r] for r in roots]
            assert found == wanted, f"seed {seed}, leaf {leaf}, roots {roots}: {wanted} is due, found {found}"
        grads = [float(nodes[i].grad) for i in (0, 1, 20, 29)]
        assert grads == [0.0, 8.0, 8.0, 0.0], f"no grad is touched: [0, 8, 8, 0], found {grads}"


test_many_results_of_one_large_graph()
### END HIDDEN TESTS

# %% [markdown]
# Now count, for real: in a walk, each node is asked for its slopes once, and watched nodes count that. What
# differs is the number of walks. First 41 numbers and one result, then one number and 41 results.

# %%
def count(inputs, outputs):
    """Count how often slopes are read until all slopes of all outputs are known, in both directions."""
    for node in oldest_first(outputs):
        watched(node)
    forward, ahead = counted(lambda: [forward_slopes(outputs, x) for x in inputs])
    _, back = counted(lambda: [out.backward() for out in outputs])
    for i, x in enumerate(inputs):  # x.grad has collected over all outputs
        assert abs(sum(forward[i]) - x.grad) < 1e-9
    print(f"{len(inputs):2} -> {len(outputs):2}: forward {len(inputs):2} walks, {ahead['slopes']:6,} reads; "
          f"backward {len(outputs):2} walks, {back['slopes']:6,} reads")


many = [Value(i / 10) for i in range(41)]
count(many, [sum(x * x.sin() for x in many)])
trunk = one = Value(0.5)
for _ in range(40):
    trunk = (trunk * 1.1).sin()
count([one], [trunk * k for k in range(41)])

# %% [markdown]
# Training has millions of inputs and one loss. That is the whole reason why it goes backward.
#
# ## A neuron
#
# $\tanh(w_1 x_1 + w_2 x_2 + \dots + b)$: a weight for each input, a bias, a bend. First what everything
# with parameters shares, and a generator of our own, so that a seed fixes the weights and nobody else's
# random numbers change.

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
# **Task.** Write what a `Neuron` does when it is called. Inputs may be Values or plain numbers. Predict
# what `zip` does with three weights and two inputs, and what would become of the third weight.
#
# <details><summary>Hint 1</summary>Before anything else, compare two lengths. What would you want to read if you
# had got them wrong?</details>
# <details><summary>Hint 2</summary>A sum of products, and one more number that belongs to no input.</details>
# <details><summary>Hint 3</summary>Python's <code>sum(things, start)</code> begins with
# <code>start</code>.</details>
# <details><summary>Hint 4</summary><code>total = sum((w * v for w, v in zip(self.w, x)), self.b)</code>, then
# <code>total.tanh()</code> if the neuron bends.</details>

# %% nbgrader={"grade": false, "grade_id": "backprop-neuron", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
class Neuron(Module):
    """tanh(w[0]*x[0] + w[1]*x[1] + ... + b), or without the tanh.

    nin        how many inputs          nonlin  whether it bends: tanh around the sum
    generator  a random.Random for the nin weights `w` and the bias `b`, each between -1 and 1

    Called with a list of nin numbers or Values it returns a Value; with any other number of inputs it
    raises ValueError with both numbers in it.

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
            raise ValueError(f"this neuron has {len(self.w)} weights and was called with {len(x)} inputs")
        total = sum((w * v for w, v in zip(self.w, x)), self.b)
        return total.tanh() if self.nonlin else total
        ### END SOLUTION

    def parameters(self):
        return [*self.w, self.b]

# %% tags=["learner-side"]
def answered(neuron, x):
    """What the neuron answers to the list `x`, and `x` afterwards."""
    return neuron(x), x

# %% nbgrader={"grade": true, "grade_id": "check-neuron", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_a_neuron_weighs_adds_and_bends():
    x = [0.5, -1.5, 2.0]
    for nonlin in (True, False):
        neuron = Neuron(3, nonlin=nonlin)
        w, b = [float(p.data) for p in neuron.w], float(neuron.b.data)
        total = w[0] * x[0] + w[1] * x[1] + w[2] * x[2] + b
        right = math.tanh(total) if nonlin else total
        out, after = answered(neuron, x)
        assert isinstance(out, Value), f"a neuron should return a Value, yours returns {out!r:.60}"
        assert abs(float(out.data) - right) < 1e-12, (
            f"with nonlin={nonlin}, w={w}, b={b} and x={x} the output is {right}, yours is {out.data}")
        assert after == [0.5, -1.5, 2.0], f"the neuron changed its inputs to {after}"


def test_all_weights_and_the_bias_get_a_gradient():
    neuron = Neuron(2, nonlin=False)
    (neuron([3.0, -4.0]) * 2).backward()
    found = [float(p.grad) for p in neuron.parameters()]
    assert found == [6.0, -8.0, 2.0], (
        f"2 * (w0*3 + w1*-4 + b) has slopes [6, -8, 2] along w0, w1 and b, yours are {found}: compute with Values, not "
        "with their data")


def test_inputs_that_are_values_get_a_gradient():
    neuron = Neuron(2)
    x = [Value(0.5), Value(-0.25)]
    out = neuron(x)
    out.backward()
    for i in (0, 1):
        right = float(neuron.w[i].data) * (1 - float(out.data) ** 2)
        assert abs(float(x[i].grad) - right) < 1e-12, f"input {i} should get {right}, yours gets {x[i].grad}"


def test_a_wrong_number_of_inputs_is_refused():
    for weights, inputs in [(3, 2), (3, 4), (1, 0), (2, 5)]:
        try:
            out = Neuron(weights)([0.5] * inputs)
        except ValueError as error:
            said = str(error)
            assert str(weights) in said and str(inputs) in said, (
                f"the error should name {weights} weights and {inputs} inputs, yours says: {said}")
        except Exception as error:
            assert False, (
                f"a neuron with {weights} weights and {inputs} inputs should raise ValueError, yours raised "
                f"{error!r:.90}")
        else:
            assert False, (
                f"a neuron with {weights} weights took {inputs} inputs and said {out}: zip stops silently at the "
                "shorter")


test_a_neuron_weighs_adds_and_bends()
test_all_weights_and_the_bias_get_a_gradient()
test_inputs_that_are_values_get_a_gradient()
test_a_wrong_number_of_inputs_is_refused()

# %% nbgrader={"grade": true, "grade_id": "check-neuron-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_neurons_with_other_weights_and_inputs():
    numbers = [0.3, -0.8, 0.05, 1.2, -0.4]
    for nin in (1, 2, 5):
        for nonlin in (True, False):
            neuron, shared = Neuron(nin, nonlin=nonlin), Value(-0.6)
            for w, number in zip(neuron.w, numbers):
                w.data = number
            neuron.b.data = 0.7
            x = [shared, 2, shared, 0.0, -1.5][:nin]
            plain = [-0.6, 2.0, -0.6, 0.0, -1.5][:nin]
            total = math.fsum([w * v for w, v in zip(numbers, plain)] + [0.7])
            right, bend = (math.tanh(total), 1 / math.cosh(total) ** 2) if nonlin else (total, 1.0)
            out = neuron(x)
            assert isinstance(out, Value) and abs(float(out.data) - right) < 1e-12, (
                f"weights {numbers[:nin]}, bias 0.7, inputs {plain}, nonlin={nonlin}: {right}, found {out!r:.60}")
            out.backward()
            found = [float(p.grad) for p in (*neuron.w, neuron.b, shared)]
            wanted = [bend * v for v in (*plain, 1.0, sum(numbers[:nin:2][:2]))]
            assert all(abs(f - w) < 1e-12 for f, w in zip(found, wanted)), (
                f"{nin} weights, the bias and the shared input should get {wanted}, found {found}")
    for weights, inputs in [(12, 34), (47, 5), (2, 0)]:
        try:
            out = Neuron(weights, nonlin=False)([Value(0.5)] * inputs)
        except ValueError as error:
            out = str(error)
            assert str(weights) in out and str(inputs) in out, f"the error should name {weights} and {inputs}: {out}"
        else:
            assert False, f"{weights} weights and {inputs} inputs should raise ValueError, found {out!r:.60}"


test_neurons_with_other_weights_and_inputs()
### END HIDDEN TESTS

# %% [markdown]
# A layer is several neurons that look at the same inputs. With one neuron it returns that Value itself,
# so that a network's answer can be used as a number.

# %%
#| export
class Layer(Module):
    """`nout` neurons with `nin` inputs each. Called with a list it returns a list of Values, or one Value if nout is 1.

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
# `MLP(3, [4, 4, 1])`, a *multi-layer perceptron*, has three inputs and layers of 4, 4 and 1 neurons.
# Predict by counting: how many parameters?
#
# **Task.** Build the layers. Each takes as many inputs as the one before has neurons.
#
# <details><summary>Hint 1</summary>Write down the four numbers 3, 4, 4, 1. Which pairs of them describe the
# three layers?</details>
# <details><summary>Hint 2</summary><code>sizes = [nin, *nouts]</code>; a layer goes from
# <code>sizes[i]</code> to <code>sizes[i + 1]</code>.</details>
# <details><summary>Hint 3</summary>All layers bend, except the last when <code>linear_output</code> is asked for.
# Hand the generator on to every layer.</details>
# <details><summary>Hint 4</summary><code>Layer(sizes[i], sizes[i + 1], nonlin, generator)</code>, with
# <code>nonlin = not (last and linear_output)</code></details>

# %% nbgrader={"grade": false, "grade_id": "backprop-mlp", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
class MLP(Module):
    """Layers one after the other, as `self.layers`: each feeds the next.

    nin            how many inputs
    nouts          list with the number of neurons of each layer
    linear_output  the last layer does not bend; by default all bend, so answers lie between -1 and 1
    generator      a random.Random for all weights

    >>> len(MLP(3, [4, 4, 1]).parameters())
    41

    Source: Rumelhart, Hinton, Williams, Learning representations by back-propagating errors (1986).
    """

    def __init__(self, nin, nouts, linear_output=False, generator=None):
        ### BEGIN SOLUTION
        sizes = [nin, *nouts]
        self.layers = []
        for i in range(len(nouts)):
            last = i == len(nouts) - 1
            self.layers.append(Layer(sizes[i], sizes[i + 1], not (last and linear_output), generator))
        ### END SOLUTION

    def __call__(self, x):
        for layer in self.layers:
            x = layer([x] if isinstance(x, Value) else x)
        return x

    def parameters(self):
        return [p for layer in self.layers for p in layer.parameters()]

# %% tags=["learner-side"]
def seeded_network(nin, nouts, seed):
    """An MLP whose weights come from a generator with this seed, for the checks."""
    return MLP(nin, nouts, generator=random.Random(seed))

# %% nbgrader={"grade": true, "grade_id": "check-mlp", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_a_network_has_the_right_number_of_parameters():
    for nin, nouts, right in [(3, [4, 4, 1], 41), (2, [5], 15), (5, [2, 3], 21), (2, [1, 1], 5), (1, [7, 2, 6, 3], 69)]:
        found = len(MLP(nin, nouts).parameters())
        assert found == right, (
            f"MLP({nin}, {nouts}) has {right} parameters, yours has {found}: a layer has (inputs + 1) per neuron")


def test_each_layer_feeds_the_next():
    net = MLP(3, [4, 2])
    x = [0.5, -1.0, 0.25]
    for layer in net.layers:
        x = [math.tanh(sum(float(w.data) * v for w, v in zip(neuron.w, x)) + float(neuron.b.data))
             for neuron in layer.neurons]
    found = [float(out.data) for out in net([0.5, -1.0, 0.25])]
    assert len(found) == 2 and all(abs(f - r) < 1e-12 for f, r in zip(found, x)), (
        f"the outputs, layer by layer and each with its tanh, are {x}, yours are {found}")
    one = MLP(2, [1, 1])([0.5, -0.5])
    assert isinstance(one, Value), f"one output is a bare Value, yours is {one!r:.60}"


def test_only_the_last_layer_may_be_straight():
    for linear, right in [(False, [True, True, True]), (True, [True, True, False])]:
        layers = MLP(2, [3, 4, 2], linear_output=linear).layers
        found = [[bool(neuron.nonlin) for neuron in layer.neurons] for layer in layers]
        wanted = [[bends] * n for bends, n in zip(right, [3, 4, 2])]
        assert found == wanted, (
            f"with linear_output={linear}, nonlin of the neurons should be {wanted}, yours are {found}")


def test_the_generator_decides_all_weights():
    def weights(seed):
        return [float(p.data) for p in seeded_network(2, [3, 2], seed).parameters()]

    assert weights(8) == weights(8), (
        "two networks from generators with the same seed should be equal: hand it to each layer")
    assert weights(8) != weights(9), "networks from different seeds should differ"
    assert len(set(weights(8))) == 17, f"the 17 numbers should all be drawn: {weights(8)}"


def test_two_networks_without_a_generator_differ():
    one, two = [[float(p.data) for p in MLP(2, [3, 1]).parameters()] for _ in range(2)]
    assert one != two, (
        f"two networks made without a generator both begin with {one[:2]}: a fixed seed for everybody makes every "
        "network the same; hand the None on, and the neurons draw from shared_generator")


test_a_network_has_the_right_number_of_parameters()
test_each_layer_feeds_the_next()
test_only_the_last_layer_may_be_straight()
test_the_generator_decides_all_weights()
test_two_networks_without_a_generator_differ()

# %% nbgrader={"grade": true, "grade_id": "check-mlp-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_networks_of_other_sizes():
    for nin, nouts, linear in [(1, [1], False), (4, [1, 3, 2], True), (2, [6], True), (3, [2, 1, 1, 5], False)]:
        net = MLP(nin, nouts, linear_output=linear)
        shape = [[len(neuron.w) for neuron in layer.neurons] for layer in net.layers]
        wanted = [[before] * n for before, n in zip([nin, *nouts], nouts)]
        assert shape == wanted, f"MLP({nin}, {nouts}): inputs of the neurons, layer by layer, {wanted}, found {shape}"
        for i, p in enumerate(net.parameters()):
            p.data = 3 * math.sin(i + 1)
        row = given = [0.5 - i for i in range(nin)]
        for n, layer in enumerate(net.layers):
            row = [sum(float(w.data) * v for w, v in zip(neuron.w, row)) + float(neuron.b.data)
                   for neuron in layer.neurons]
            row = row if linear and n == len(nouts) - 1 else [math.tanh(v) for v in row]
        out = net(given)
        found = [float(out.data)] if isinstance(out, Value) else [float(one.data) for one in out]
        assert len(found) == len(row) and all(abs(f - r) < 1e-9 for f, r in zip(found, row)), (
            f"MLP({nin}, {nouts}, linear_output={linear}) of {given}: {row} is due, found {found}")
    one, again, other = [[float(p.data) for p in seeded_network(4, [1, 5, 2], seed).parameters()] for seed in (3, 3, 4)]
    assert one == again and not set(one) & set(other) and len(set(one)) == 27, "the generator decides all 27 numbers"


test_networks_of_other_sizes()
### END HIDDEN TESTS

# %% [markdown]
# ## Learning
#
# Four rows of three numbers, and for each the answer we want. The network's error is the sum of squared
# differences, one number, the *loss*. And you can find its slope along all 41 parameters.
#
# Predict: a parameter with slope 5. Should it grow or shrink, if the loss is to fall?

# %% [markdown]
# **Task.** Write `train_step`. The three words to remember: forget, walk, move.
#
# <details><summary>Hint 1</summary>The loss has to be a Value. What do the answers of the model
# have to be while you compute it?</details>
# <details><summary>Hint 2</summary>Parameters are leaves, and leaves collect. When must they be
# set to 0?</details>
# <details><summary>Hint 3</summary>Against the slope, times the learning rate. Change
# <code>p.data</code>: <code>p</code> itself must stay the same Value.</details>
# <details><summary>Hint 4</summary><code>loss = sum((model(x) - t) ** 2 for x, t in zip(inputs, targets))</code>,
# <code>model.zero_grad()</code>, <code>loss.backward()</code>, <code>p.data -= learning_rate * p.grad</code></details>

# %% nbgrader={"grade": false, "grade_id": "backprop-train", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def train_step(model, inputs, targets, learning_rate):
    """Move every parameter once, against its slope of the loss, which is the sum of (answer - target)**2.

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

# %% tags=["learner-side"]
def stepped(model, inputs, targets, rate):
    """What `train_step` returns for these four, and the inputs and targets afterwards."""
    return train_step(model, inputs, targets, rate), inputs, targets

# %% nbgrader={"grade": true, "grade_id": "check-train", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def test_three_steps_of_a_straight_neuron():
    neuron = Neuron(2, nonlin=False)
    numbers = [float(p.data) for p in neuron.parameters()]
    inputs, targets, rate = [[1.0, -2.0], [0.5, 3.0], [-1.5, 0.25]], [2.0, -1.0, 0.5], 0.03
    for step in (1, 2, 3):
        errors = [numbers[0] * x[0] + numbers[1] * x[1] + numbers[2] - t for x, t in zip(inputs, targets)]
        try:
            loss, *data = stepped(neuron, inputs, targets, rate)
        except AttributeError as error:
            assert False, f"your step stops with: {error}. Is the loss a Value, made of answers and not of their data?"
        assert isinstance(loss, (float, int)), (
            f"yours returns {loss!r:.60}: return the number, `loss.data`; a Value keeps the whole graph alive")
        right = sum(error**2 for error in errors)
        assert abs(loss - right) < 1e-9, (
            f"in step {step} the squared errors add up to {right} before the step, you return {loss}")
        slopes = [2 * sum(error * factor for error, factor in zip(errors, factors))
                  for factors in ([x[0] for x in inputs], [x[1] for x in inputs], [1.0] * 3)]
        still, uphill = numbers, [number + rate * slope for number, slope in zip(numbers, slopes)]
        numbers = [number - rate * slope for number, slope in zip(numbers, slopes)]
        found = [float(p.data) for p in neuron.parameters()]
        assert found != still, (
            f"after step {step} the parameters should be {numbers}, yours are still {found}: "
            "your parameters did not move: is `p.data` changed, are the grads still there?")
        assert not all(abs(f - r) < 1e-9 for f, r in zip(found, uphill)), (
            f"after step {step} the parameters should be {numbers}, yours are {found}: they moved up the slope")
        assert all(abs(f - r) < 1e-9 for f, r in zip(found, numbers)), (
            f"after step {step} with learning rate {rate} the parameters should be {numbers}, yours are {found}: "
            "parameter minus rate times slope" + (", and slopes of earlier steps forgotten" if step > 1 else ""))
        assert data == [[[1.0, -2.0], [0.5, 3.0], [-1.5, 0.25]], [2.0, -1.0, 0.5]], (
            f"your step changed the inputs and targets to {data}")


def test_gradients_left_from_elsewhere_do_not_count():
    neuron = Neuron(1, nonlin=False)
    w, b = float(neuron.w[0].data), float(neuron.b.data)
    (neuron([40.0]) * 10).backward()
    train_step(neuron, [[2.0]], [1.0], 0.05)
    error = 2.0 * w + b - 1.0
    found, right = [float(neuron.w[0].data), float(neuron.b.data)], [w - 0.05 * 4 * error, b - 0.05 * 2 * error]
    assert all(abs(f - r) < 1e-9 for f, r in zip(found, right)), (
        f"gradients were left over from another use of the neuron; the step should give {right}, yours gives {found}: "
        "set them to 0 before you walk")


def test_the_network_learns_the_four_rows():
    rows, wanted = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]], [1.0, -1.0, -1.0, 1.0]
    net = seeded_network(3, [4, 4, 1], seed=11)
    first = float(train_step(net, rows, wanted, 0.1))
    for _ in range(120):
        loss = float(train_step(net, rows, wanted, 0.1))
    assert loss < 0.01, f"from a loss of {first:.3f}, 120 steps should lead below 0.01, yours lead to {loss:.4f}"
    for row, t in zip(rows, wanted):
        answer = float(net(row).data)
        assert abs(answer - t) < 0.1, f"for {row} the network should say {t}, yours says {answer:.3f}"


test_three_steps_of_a_straight_neuron()
test_gradients_left_from_elsewhere_do_not_count()
test_the_network_learns_the_four_rows()

# %% nbgrader={"grade": true, "grade_id": "check-train-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_steps_of_other_networks_on_other_rows():
    rows, wanted = [[0.5, -1.0], [1.5, 2.0], [-0.25, 0.75], [2.0, 0.0], [0.0, 0.0]], [1.0, -0.5, 0.25, 3.0, 0.0]
    for nouts, count, rate in [([3, 1], 5, 0.07), ([1], 1, 0.5), ([2, 2, 1], 4, 0.0)]:
        net = MLP(2, nouts, linear_output=True)
        sizes = [[len(neuron.w) for neuron in layer.neurons] for layer in net.layers]

        def loss(numbers):
            total = 0.0
            for row, target in zip(rows[:count], wanted):
                rest = iter(numbers)
                for n, layer in enumerate(sizes):
                    row = [sum([next(rest) * v for v in row[:size]]) + next(rest) for size in layer]
                    row = row if n == len(sizes) - 1 else [math.tanh(v) for v in row]
                total += (row[0] - target) ** 2
            return total

        for _ in range(2):
            numbers = [float(p.data) for p in net.parameters()]
            found = float(train_step(net, rows[:count], wanted[:count], rate))
            assert abs(found - loss(numbers)) < 1e-9, f"layers {nouts}: the loss is {loss(numbers)}, found {found}"
            for i, p in enumerate(net.parameters()):
                up, down = list(numbers), list(numbers)
                up[i] += 1e-5
                down[i] -= 1e-5
                right = numbers[i] - rate * (loss(up) - loss(down)) / 2e-5
                assert abs(float(p.data) - right) < 1e-6, (
                    f"layers {nouts}, rate {rate}: parameter {i}, {numbers[i]}, should become {right}, found {p.data}")


test_steps_of_other_networks_on_other_rows()
### END HIDDEN TESTS

# %% [markdown]
# The whole chapter in a few lines: 41 numbers that start at random, and a walk that tells each of them,
# every time, which way to go.

# %%
rows = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
targets = [1.0, -1.0, -1.0, 1.0]
net = MLP(3, [4, 4, 1], generator=random.Random(0))
print("before", [round(net(row).data, 3) for row in rows])
losses = [train_step(net, rows, targets, learning_rate=0.1) for _ in range(100)]
print("after ", [round(net(row).data, 3) for row in rows], "wanted", targets)
print(f"{len(net.parameters())} parameters, loss {losses[0]:.3f} -> {losses[-1]:.4f}")

# %% [markdown]
# All that with a learning rate of 0.1. Predict the four curves before you look: which rate is too slow,
# which is too wild, and which wins?

# %% alt="Loss against step, on a logarithmic scale, for four learning rates. 0.01 and 0.1 fall slowly, 0.5 falls to 1e-4, 1.0 stays at 8."
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6, 3.5))
for rate in (0.01, 0.1, 0.5, 1.0):
    net = MLP(3, [4, 4, 1], generator=random.Random(0))
    axes.plot([train_step(net, rows, targets, rate) for _ in range(100)], label=f"learning rate {rate}")
axes.set(xlabel="step", ylabel="loss", yscale="log", title="41 parameters, four rows")
axes.legend();

# %% [markdown]
# ## Explain it
#
# To somebody who has not read this chapter, without code:
#
# 1. Why does `pull` add, and never replace? Give the smallest calculation in which the difference shows.
# 2. Why does the walk begin with 1, and what would change if it began with 2?
# 3. Why must `a` wait for all its users before it hands on, and why does "youngest first" guarantee it?
# 4. `c.grad` is 7. Say in one sentence what that promises, and for which moves of $c$ it holds.

# %% [markdown]
# ## Look back
#
# 1. `check_slopes(lambda x: x.relu(), 0.0)` raises. Which of the two is wrong, the walk or the nudging? What
#    could a judge do at corners?
# 2. Run the four rows from `random.Random(0)` with learning rate 0.1, but without `zero_grad`: the loss falls
#    faster. Then do the same with `Neuron(1, nonlin=False)` and one row, and plot the loss. What does a parameter
#    remember now, and what in physics swings like that?
# 3. Draw one loss of `MLP(3, [4, 4, 1])` and count its boxes. How many of them are numbers that you never
#    wrote, and how would tensors change that count?
# 4. Multiply 60 numbers of 0.5 in a chain and walk back; then 60 tanh in a chain, starting from 2. What reaches the
#    beginning? What does it mean for networks of 60 layers?
