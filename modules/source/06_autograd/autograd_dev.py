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
#     enables:
#     - optimizers
#     - convolutions
#     - attention
#     hours: 7
#     prerequisites:
#     - tensor
#     - losses
#     - backprop
#     summary: The slopes of a loss for a million weights, in one walk back
#     title: Autograd
# ---

# %% [markdown]
# # 06. Autograd
#
# A small network has a hundred thousand weights and one loss. Learning asks each weight: which way, and how
# much? Nudging them one by one would run the network a hundred thousand times. This chapter gets all
# the answers from one walk backward, at about twice the price of the run itself.
#
# **You need** 01 (Tensor), 04 (losses) and 05, where one number at a time went this way. **You write** the table of
# slopes, the walk, and what people build on: `no_grad`, `Function`, a check by nudging.

# %%
#| default_exp core.autograd
#| export
import contextlib
import copy
import functools
import gc
import html
import inspect
import math
import operator
import shutil
import sys
from pathlib import Path

import numpy as np

from tinytorch.core.tensor import (Tensor, Variable, apply, axes_of, clip_forward, concatenate_forward, max_forward,
                                   min_forward, operand, pad_forward, raise_to, recording, relu_forward,
                                   reshape_forward, run, sigmoid_forward, stack_forward, sum_forward, take_forward)

# %% [markdown]
# ## What the notes say
#
# Since lesson 01 every result that a slope could be wanted of carries a note of how it was made. Read one
# backward. What stands on each line is all we shall ever need:

# %%
x, y = Variable(5.0), Variable(3.0)
z = x * y + x
while z.creator is not None:
    print(z.creator.op.__name__, "of", [float(array) for array in z.creator.arrays], "gave", float(z))
    z = z.creator.inputs[0]

# %% [markdown]
# Lesson 05 stored a slope with every number and called that the chain rule. On tensors it reads: somebody
# hands us `g`, the slope of the loss with respect to each number of a *result*; we owe the slope with
# respect to each number of the *inputs*. How to get from the one to the other depends on the operation and on
# nothing else. So it goes into a table: for each operation one small function per input, a *rule*.

# %%
#| export
class Rules(dict):
    """operation -> its rules. What is not there yet is looked for, once, by `__missing__`."""

    def __missing__(self, op):
        if op in waiting:
            waiting[op]()  # writes the rules of a whole group into the table
            if op in self:
                waiting.pop(op, None)
                return self[op]
        if op is None:
            raise RuntimeError("this note was already freed: a tensor hands on first, then its creator becomes FREED")
        if hasattr(op, "__self__") and hasattr(op.__self__, "slopes_of_all"):  # the forward method of a Function
            return op.__self__.slopes_of_all  # not kept: each use of a Function is an operation of its own
        name = getattr(op, "__name__", op)
        raise NotImplementedError(f"no slope is known for {name}: tell it with derivative({name}, ...), "
                                  "one rule for each input")


table = Rules()
waiting = {}  # operation -> the function that will write its rules, for those of this lesson


def derivative(op, *rules, together=None):
    """Say how a gradient goes through `op`.

    op        a function of arrays, as `apply` takes it
    rules     one for each input: rule(g, out, *arrays, **options) is the gradient for that input, where g is the
              gradient of the result `out`, and the rest is what `op` was called with. Shapes that were
              broadcast need no care. None for an input that has no slope, such as a mask.
    together  instead of `rules`: one function of the same arguments that returns a sequence with a gradient
              (or None) for each input. For operations with any number of inputs, or with shared work.

    A rule is called only when its input wants a gradient, and must change none of the arrays it is given.

    >>> derivative(np.arctan, lambda g, out, a: g / (1 + a * a))
    """
    table[op] = rules if together is None else together

# %% [markdown]
# The rules of this lesson are yours, and a package must be importable before you have written them. Hence
# one more small piece: `@rules_for(...)` above a function says "call this when a slope of one of these
# operations is first wanted".

# %%
#| export
def rules_for(*ops):
    """Mark the function below as the one that calls `derivative` for each of `ops`. It is called when first needed."""

    def remember(write):
        for op in ops:
            table.pop(op, None)
            waiting[op] = write
        return write

    return remember

# %% [markdown]
# Addition first. If `out = a + b` and one place of `a` grows by a little, the same place of `out` grows by as
# much, and the loss by `g` times that. So the rule of `+` hands `g` on, to both. For `a * b`, a little
# more of `a` gives `b` times as much more of the result.
#
# Predict for `a - b` and `a / b`: for which input does the sign turn, and what grows when `b` shrinks?
#
# **Task.** Write the rules of the five operations.
#
# <details><summary>Hint 1</summary>For each input: hold the other one still. How much does the result grow when this
# one grows by a little?</details>
# <details><summary>Hint 2</summary>Every rule has a factor <code>g</code>. What would a network learn if one
# of them forgot it?</details>
# <details><summary>Hint 3</summary>The slope of <code>a / b</code> with respect to <code>b</code> is
# <code>-a / b²</code>. You are given <code>out</code>: is there a shorter way to say it?</details>
# <details><summary>Hint 4</summary><code>derivative(np.multiply, lambda g, out, a, b: g * b,
# lambda g, out, a, b: g * a)</code></details>

# %% nbgrader={"grade": false, "grade_id": "autograd-arithmetic", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
@rules_for(np.add, np.subtract, np.multiply, np.divide, np.negative)
def arithmetic_rules():
    """Tell `derivative` the rules of np.add, np.subtract, np.multiply, np.divide and np.negative.

    Each rule takes g, out and the inputs, and returns an array; none of the arrays may be changed.

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

# %% [markdown]
# The checks try one rule at a time, with this:

# %% tags=["learner-side"]
def rule(name, n, g, *arrays, **options):
    """What the rule of operation `name` gives for input `n`: the gradient, when `g` arrives at the result."""
    op = next((op for op in [*waiting, *table] if op.__name__.removesuffix("_forward") == name), None)
    assert op is not None, f"nobody knows where the rules of {name} are: is it still named in @rules_for above them?"
    rules, out = table[op], run(op, arrays, options)
    if callable(rules):
        return rules(g, out, *arrays, **options)[n]
    assert len(rules) == len(arrays), f"{name} has rules for {len(rules)} of {len(arrays)} inputs: one for each is needed"
    return rules[n](g, out, *arrays, **options)

# %% nbgrader={"grade": true, "grade_id": "check-arithmetic", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def test_arithmetic_hands_on_what_was_worked_out_by_hand():
    a, b = np.array([[6.0, -2.0, 0.5]], "float32"), np.array([[2.0, 4.0, -8.0]], "float32")
    g = np.array([[1.0, 10.0, -3.0]], "float32")
    for name, n, wanted in [("add", 0, [[1, 10, -3]]), ("add", 1, [[1, 10, -3]]),
                            ("subtract", 0, [[1, 10, -3]]), ("subtract", 1, [[-1, -10, 3]]),
                            ("multiply", 0, [[2, 40, 24]]), ("multiply", 1, [[6, -20, -1.5]]),
                            ("divide", 0, [[0.5, 2.5, 0.375]]), ("divide", 1, [[-1.5, 1.25, 0.0234375]])]:
        found = rule(name, n, g, a, b)
        assert np.shape(found) == (1, 3) and np.allclose(found, wanted, rtol=1e-6, atol=0), (
            f"{name}: for input {n} of a = {a}, b = {b}, when g = {g} arrives, {wanted} is due, yours gives {found}. "
            "Hold the other input still, and multiply by g")
        assert np.asarray(found).dtype.name == "float32", f"{name} makes {np.asarray(found).dtype} of float32"
    found = rule("negative", 0, g, a)
    assert np.array_equal(found, -g), f"-a falls when a grows: for g = {g}, {-g} is due, yours gives {found}"


def test_arithmetic_rules_agree_with_a_nudge():
    a, b, g = [np.random.default_rng(7).uniform(0.5, 2.0, (3, 2, 5))[n] for n in range(3)]
    a[0] *= -1
    for name, f in [("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply), ("divide", np.divide)]:
        for n in (0, 1):
            up, down = [a, b], [a, b]
            up[n], down[n] = up[n] + 1e-6, down[n] - 1e-6
            wanted = g * (f(*up) - f(*down)) / 2e-6
            found = rule(name, n, g, a, b)
            assert np.allclose(found, wanted, rtol=1e-6, atol=0), (
                f"{name}: nudging input {n} moves the loss by {wanted}, your rule says {found}")


def test_arithmetic_changes_nothing_it_is_given():
    for name in ("add", "subtract", "multiply", "divide"):
        for n in (0, 1):
            g, a, b = np.array([3.0, -4.0]), np.array([2.0, 5.0]), np.array([-8.0, 0.5])
            rule(name, n, g, a, b)
            assert np.array_equal(g, [3, -4]) and np.array_equal(a, [2, 5]) and np.array_equal(b, [-8, 0.5]), (
                f"{name}: your rule for input {n} wrote into its arguments: g, a, b are now {g}, {a}, {b}")


test_arithmetic_hands_on_what_was_worked_out_by_hand()
test_arithmetic_rules_agree_with_a_nudge()
test_arithmetic_changes_nothing_it_is_given()

# %% nbgrader={"grade": true, "grade_id": "check-arithmetic-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_arithmetic_at_other_shapes_and_sizes():
    rng = np.random.default_rng(21)
    for shape, dtype, large in [((), "float64", 1e3), ((0, 3), "float32", 1.0), ((4, 1, 2), "float32", 1e-3),
                                ((1,), "float64", 1e9), ((2, 2, 2, 2), "float64", 1.0)]:
        g, a, b = [np.array(large * rng.choice([-1, 1], shape) * rng.uniform(0.5, 3.0, shape), dtype) for _ in range(3)]
        for name, n, wanted in [("add", 0, g), ("add", 1, g), ("subtract", 0, g), ("subtract", 1, 0 - g),
                                ("multiply", 0, b * g), ("multiply", 1, a * g), ("divide", 0, g * (1 / b)),
                                ("divide", 1, -(g / b) * (a / b)), ("negative", 0, 0 - g)]:
            found = np.asarray(rule(name, n, g, *(a, b)[: 1 if name == "negative" else 2]))
            assert found.shape == shape and np.allclose(found, wanted, rtol=1e-5, atol=0), (
                f"{name}, input {n}, a = {a}, b = {b}, g = {g}: {wanted} is due, found {found}")
            assert found.dtype.name == dtype, f"{name} of {dtype} should stay {dtype}, found {found.dtype}"


test_arithmetic_at_other_shapes_and_sizes()
### END HIDDEN TESTS

# %% [markdown]
# ## Curves
#
# For a function of one number the slope is its derivative, at the place where it was evaluated. Often the
# result already knows it: $e^x$ is its own derivative, and that of $\tanh x$ is $1 - \tanh^2 x$. A rule is given
# `out`, so nothing need be computed twice.
#
# Predict: which of the seven can do with `out` alone, and which need `a`?
#
# **Task.** Write the rules of `exp log sqrt sin cos tanh sigmoid`.
#
# <details><summary>Hint 1</summary>Write the seven derivatives on paper, as in school. Where does
# <code>out</code> occur in them?</details>
# <details><summary>Hint 2</summary>$\sqrt{a}$ has the slope $1 / (2\sqrt{a})$. Cosine falls
# where sine is positive.</details>
# <details><summary>Hint 3</summary>With $s = 1 / (1 + e^{-a})$, the slope is $s (1 - s)$.</details>

# %% nbgrader={"grade": false, "grade_id": "autograd-curves", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
@rules_for(np.exp, np.log, np.sqrt, np.sin, np.cos, np.tanh, sigmoid_forward)
def curve_rules():
    """Tell `derivative` the rules of np.exp, np.log, np.sqrt, np.sin, np.cos, np.tanh and sigmoid_forward.

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

# %% nbgrader={"grade": true, "grade_id": "check-curves", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_curves_agree_with_a_nudge():
    a = np.random.default_rng(3).uniform(0.3, 2.5, (2, 3))
    g = np.array([[1.0, -2.0, 0.5], [7.0, 3.0, -0.25]])
    sigmoid = lambda x: 1 / (1 + np.exp(-x))
    for name, f in [("exp", np.exp), ("log", np.log), ("sqrt", np.sqrt), ("sin", np.sin), ("cos", np.cos),
                    ("tanh", np.tanh), ("sigmoid", sigmoid)]:
        wanted = g * (f(a + 1e-6) - f(a - 1e-6)) / 2e-6
        found = rule(name, 0, g, a)
        assert np.shape(found) == (2, 3) and np.allclose(found, wanted, rtol=1e-6, atol=1e-9), (
            f"{name}: nudging the input moves the loss by {wanted}, your rule says {found}, for a = {a} and g = {g}")
        assert np.array_equal(g, [[1, -2, 0.5], [7, 3, -0.25]]), f"your rule of {name} wrote into g: {g}"


def test_curves_stay_narrow_and_finite():
    a, g = np.array([-100.0, 0.5, 100.0], "float32"), np.array([2.0, 2.0, -3.0], "float32")
    for name, middle in [("sin", 1.7551651), ("cos", -0.9588511), ("tanh", 1.5728954), ("sigmoid", 0.4700074)]:
        found = np.asarray(rule(name, 0, g, a))
        assert found.dtype.name == "float32", f"your rule of {name} makes {found.dtype} of float32"
        assert np.isfinite(found).all(), f"{name}: at -100, 0.5, 100 your rule gives {found}: use out, which is finite"
        assert abs(found[1] - middle) < 1e-5, f"{name}: at 0.5, when 2 arrives, {middle} is due, yours is {found[1]}"


test_curves_agree_with_a_nudge()
test_curves_stay_narrow_and_finite()

# %% nbgrader={"grade": true, "grade_id": "check-curves-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_curves_at_other_places():
    places = np.array([[-4.0, -1.5, -0.2], [0.0, 0.7, 3.0]])
    for dtype, narrow in [("float64", 1e-9), ("float32", 1e-4)]:
        for name, slope in [("exp", np.exp), ("sin", lambda a: np.sin(a + np.pi / 2)),
                            ("cos", lambda a: np.cos(a + np.pi / 2)),
                            ("tanh", lambda a: 1 / np.cosh(a) ** 2), ("sigmoid", lambda a: 0.25 / np.cosh(a / 2) ** 2),
                            ("log", lambda a: a**-1.0), ("sqrt", lambda a: 0.5 * a**-0.5)]:
            for at in (places, places[:, :1], places[0, 2], places[:0]):
                at = np.array(np.abs(at) ** 5 + 1e-3 if name in ("log", "sqrt") else at, dtype)
                g = np.array(np.linspace(-3, 50, at.size).reshape(at.shape), dtype)
                found, wanted = np.asarray(rule(name, 0, g, at)), g * slope(at.astype("float64"))
                assert found.shape == at.shape and np.allclose(found, wanted, rtol=narrow, atol=narrow / 10), (
                    f"{name} at {at}, g = {g}: {wanted} is due, found {found}")
                assert found.dtype.name == dtype, f"{name} of {dtype} should stay {dtype}, found {found.dtype}"


test_curves_at_other_places()
### END HIDDEN TESTS

# %% [markdown]
# Powers are given, for the sake of three corners. $x^0$ is flat, also at 0, where
# $0 \cdot 0^{-1}$ would be `nan`. A changing exponent needs $\log x$, and at 0 that is infinite while the power is 0
# and stays 0. And a square should cost a multiplication, not a logarithm.

# %%
#| exporti
def power_to_base(g, out, base, exponent):
    if type(exponent) is int and exponent == 2:
        return g * (2 * base)
    return g * exponent * raise_to(base, exponent - (exponent != 0))  # with exponent 0: times 0, to the power 0


def power_to_exponent(g, out, base, exponent):
    flat = np.equal(base, 0) & np.greater_equal(exponent, 0)
    return np.where(flat, 0, g * out * np.log(np.where(flat, 1, base), dtype=out.dtype))


derivative(raise_to, power_to_base, power_to_exponent)

# %% [markdown]
# ## Choices
#
# `maximum(a, b)` copies, place by place, one of its inputs; so the slope goes to the one that was copied and the other
# gets 0. Predict: what should happen where `a` equals `b`? Nudge `a` up and the result grows; nudge `a`
# down and nothing happens. So the slope of `a` is something between 0 and 1, and likewise
# for `b`; but nudge both, and the result moves exactly as they do.
#
# **Task.** Write the rules of `maximum minimum absolute relu clip where`. Equal inputs of `maximum` and `minimum` share
# `g` evenly; `relu` and `absolute` have slope 0 at 0; `clip` has slope 1 at its limits.
#
# <details><summary>Hint 1</summary><code>np.where</code> chooses between numbers. Which condition says that
# <code>a</code> was copied?</details>
# <details><summary>Hint 2</summary>Three cases for <code>maximum</code>: more, less, equal. Two
# <code>np.where</code>, one inside the other.</details>
# <details><summary>Hint 3</summary><code>np.sign</code> is -1, 0 or 1. And for <code>clip</code>: where was nothing
# cut off? Compare <code>out</code> with <code>a</code>.</details>
# <details><summary>Hint 4</summary><code>np.where(a == b, g / 2, np.where(a &gt; b, g, 0))</code>. The condition of
# <code>np.where</code> has no slope: its rule is <code>None</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "autograd-choices", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
@rules_for(np.maximum, np.minimum, np.absolute, relu_forward, clip_forward, np.where)
def choice_rules():
    """Tell `derivative` the rules of np.maximum, np.minimum, np.absolute, relu_forward, clip_forward and np.where.

    Called as np.maximum(a, b), np.minimum(a, b), np.absolute(a), relu_forward(a), clip_forward(a, low=..., high=...)
    and np.where(condition, a, b). `low` and `high` reach the rule by name, and may be None.

    Where a equals b, each gets half of g from np.maximum and np.minimum. At 0, np.absolute and relu_forward
    have slope 0. At `low` and `high`, clip_forward has slope 1. The condition of np.where has no rule: None.
    nan equals nothing and is larger than nothing: where it is, np.maximum, np.minimum and clip_forward give 0.

    >>> choice_rules()
    >>> table[np.maximum][0](np.float32([8, 8, 8]), None, np.float32([1, 2, 3]), np.float32([2, 2, 2]))
    array([0., 4., 8.], dtype=float32)

    Source: torch.maximum and numpy.maximum; PyTorch shares ties in the same way.
    """
    ### BEGIN SOLUTION
    def chosen(g, wins, ties):
        return np.where(ties, g / 2, np.where(wins, g, 0))
    derivative(np.maximum, lambda g, out, a, b: chosen(g, a > b, a == b), lambda g, out, a, b: chosen(g, b > a, a == b))
    derivative(np.minimum, lambda g, out, a, b: chosen(g, a < b, a == b), lambda g, out, a, b: chosen(g, b < a, a == b))
    derivative(np.absolute, lambda g, out, a: g * np.sign(a))
    derivative(relu_forward, lambda g, out, a: g * (out > 0))
    derivative(clip_forward, lambda g, out, a, low, high: g * (out == a))
    derivative(np.where, None, lambda g, out, c, a, b: np.where(c, g, 0), lambda g, out, c, a, b: np.where(c, 0, g))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-choices", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_the_larger_and_the_smaller_get_the_gradient():
    a, b = np.array([[1.0, 5.0, -2.0]], "float32"), np.array([[4.0, 3.0, -7.0]], "float32")
    g = np.array([[10.0, 20.0, -30.0]], "float32")
    for name, n, wanted in [("maximum", 0, [[0, 20, -30]]), ("maximum", 1, [[10, 0, 0]]),
                            ("minimum", 0, [[10, 0, 0]]), ("minimum", 1, [[0, 20, -30]])]:
        found = np.asarray(rule(name, n, g, a, b))
        assert np.array_equal(found, wanted), (
            f"{name} of {a} and {b}, when {g} arrives: {wanted} is due to input {n}, yours gives {found}")
        assert found.dtype.name == "float32", f"your rule of {name} makes {found.dtype} of float32"


def test_equals_share_the_gradient():
    a, b, g = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0]), np.array([10.0, -6.0, 8.0])
    for name, both in [("maximum", ([5, -3, 8], [5, -3, 0])), ("minimum", ([5, -3, 0], [5, -3, 8]))]:
        found = [rule(name, n, g, a, b) for n in (0, 1)]
        assert np.allclose(found[0] + found[1], g, rtol=1e-12, atol=0), (
            f"{name} of {a} and {b}: where a equals b the two together should get g = {g}, "
            f"yours get {found[0]} and {found[1]}")
        assert np.array_equal(found, both), f"{name}: equal inputs share evenly, {both}, yours: {found}"


def test_absolute_and_relu_have_their_kink_at_0():
    a, g = np.array([-3.0, -0.5, 0.0, 0.25, 4.0], "float32"), np.array([1.0, 2.0, 3.0, -4.0, 5.0], "float32")
    for name, wanted in [("absolute", [-1, -2, 0, -4, 5]), ("relu", [0, 0, 0, -4, 5])]:
        found = np.asarray(rule(name, 0, g, a))
        assert np.array_equal(found, wanted), f"{name} of {a}, when {g} arrives: {wanted} is due, yours gives {found}"
        assert found.dtype.name == "float32", f"your rule of {name} makes {found.dtype} of float32"


def test_clip_is_flat_outside_only():
    a, g = np.array([-3.0, -1.0, 0.5, 2.0, 4.0], "float32"), np.array([1.0, 2.0, 3.0, -4.0, 5.0], "float32")
    for low, high, wanted in [(-1, 2, [0, 2, 3, -4, 0]), (None, 2, [1, 2, 3, -4, 0]), (-1, None, [0, 2, 3, -4, 5])]:
        found = np.asarray(rule("clip", 0, g, a, low=low, high=high))
        assert np.array_equal(found, wanted), (
            f"clip of {a} to {low}...{high}, when {g} arrives: {wanted} is due, yours gives {found}")
        assert found.dtype.name == "float32", f"your rule of clip makes {found.dtype} of float32"


def test_where_sends_the_gradient_where_the_number_came_from():
    c, g = np.array([True, False, True]), np.array([1.0, -2.0, 3.0], "float32")
    a, b = np.array([5.0, 6.0, 7.0], "float32"), np.array([6.0, 6.0, 6.0], "float32")
    for n, wanted in [(1, [1, 0, 3]), (2, [0, -2, 0])]:
        found = np.asarray(rule("where", n, g, c, a, b))
        assert np.array_equal(found, wanted), (
            f"where({c}, a, b), when {g} arrives: {wanted} is due to {'_ab'[n]}, yours gives {found}")
        assert found.dtype.name == "float32", f"your rule of where makes {found.dtype} of float32"


test_the_larger_and_the_smaller_get_the_gradient()
test_equals_share_the_gradient()
test_absolute_and_relu_have_their_kink_at_0()
test_clip_is_flat_outside_only()
test_where_sends_the_gradient_where_the_number_came_from()

# %% nbgrader={"grade": true, "grade_id": "check-choices-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_choices_among_other_numbers():
    a, b = np.array([[0.0, -1.0, 7.0], [2.5, -3.0, 1e9]]), np.array([[-0.0, -2.0, 7.0], [np.inf, -3.0, -1e9]])
    g = np.array([[4.0, 8.0, -2.0], [6.0, 10.0, 12.0]])
    mask = np.array([[True, True, False], [False, True, False]])
    for name, n, arrays, wanted in [
            ("maximum", 0, (a, b), [[2, 8, -1], [0, 5, 12]]), ("maximum", 1, (a, b), [[2, 0, -1], [6, 5, 0]]),
            ("minimum", 0, (a, b), [[2, 0, -1], [6, 5, 0]]), ("minimum", 1, (a, b), [[2, 8, -1], [0, 5, 12]]),
            ("absolute", 0, (a,), [[0, -8, -2], [6, -10, 12]]), ("relu", 0, (a,), [[0, 0, -2], [6, 0, 12]]),
            ("where", 1, (mask, a, b), [[4, 8, 0], [0, 10, 0]]), ("where", 2, (mask, a, b), [[0, 0, -2], [6, 0, 12]])]:
        found = rule(name, n, g, *arrays)
        assert np.array_equal(found, wanted), f"{name}, input {n} of {arrays}, g = {g}: {wanted} is due, found {found}"
    for low, high, wanted in [(0, 7, [[4, 0, -2], [6, 0, 0]]), (-3.0, None, g), (None, -1.0, [[0, 8, 0], [0, 10, 0]])]:
        found = rule("clip", 0, g, a, low=low, high=high)
        assert np.array_equal(found, wanted), f"clip of {a} to {low}...{high}, g = {g}: {wanted} is due, found {found}"
    a, b, g = np.array([np.nan, 1.0, np.nan, 3.0]), np.array([1.0, np.nan, np.nan, 2.0]), np.array([5.0, 6.0, 7.0, 8.0])
    for name, n, last in [("maximum", 0, 8), ("maximum", 1, 0), ("minimum", 0, 0), ("minimum", 1, 8)]:
        found = rule(name, n, g, a, b)
        assert np.array_equal(found, [0, 0, 0, last]), f"{name}, {n} of {a}, {b}: [0, 0, 0, {last}], found {found}"
    found = rule("clip", 0, g, a, low=-1, high=4)
    assert np.array_equal(found, [0, 6, 0, 8]), f"clip of {a} to -1...4, g = {g}: [0, 6, 0, 8] is due, found {found}"


test_choices_among_other_numbers()
### END HIDDEN TESTS

# %% [markdown]
# ## Undoing a broadcast
#
# Add a bias of shape (4,) to a batch of shape (3, 4) and every row uses the same four numbers. Nudge one of them
# and three places of the result move. Each place reports its own slope, so the slope of the bias has
# to come from all three. A rule hands back shape (3, 4); the bias wants (4,).
#
# Predict: is it their sum or their mean? Nudge and see.

# %%
batch, bias = np.zeros((3, 4)), np.zeros(4)
g = np.arange(12.0).reshape(3, 4)
moved = bias.copy()
moved[0] += 1
print("the loss moves by", (g * (batch + moved)).sum() - (g * (batch + bias)).sum(), "where g is", g[:, 0])

# %% [markdown]
# **Task.** Write `unbroadcast`. A length of 1 that was stretched was used many times, too.
#
# <details><summary>Hint 1</summary>Line the two shapes up at the right, as in lesson 01. Which axes were
# not there before? Which were there, with length 1?</details>
# <details><summary>Hint 2</summary>How many axes were put in front? They are the first so many of
# <code>g</code>.</details>
# <details><summary>Hint 3</summary>Sum the first kind away. Sum the second kind with
# <code>keepdims=True</code>, or give the result its shape at the end.</details>
# <details><summary>Hint 4</summary><code>extra = g.ndim - len(shape)</code>; the axes to sum are
# <code>range(extra)</code> and each <code>extra + i</code> with <code>shape[i] == 1</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "autograd-unbroadcast", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def unbroadcast(g, shape):
    """The gradient for an array of `shape`, from the gradient `g` for what broadcasting made of it.

    g        ndarray
    shape    a tuple that broadcasts to g.shape
    returns  ndarray of shape `shape`: each place has the sum of all places that it was copied to

    >>> unbroadcast(np.array([[1, 2], [10, 20], [100, 200]]), (2,))
    array([111, 222])

    Source: the adjoint of copying is summing; autograd tutorial by Maclaurin, Duvenaud, Johnson (2015).
    """
    ### BEGIN SOLUTION
    extra = g.ndim - len(shape)
    ones = [extra + i for i, n in enumerate(shape) if n == 1]
    return g.sum(axis=(*range(extra), *ones)).reshape(shape)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-unbroadcast", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def test_rows_that_share_a_bias_add_up():
    g = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], "float32")
    found = unbroadcast(g, (4,))
    assert found.shape == (4,), f"a bias of shape (4,) needs a gradient of shape (4,), yours has {found.shape}"
    assert np.array_equal(found, [15, 18, 21, 24]), (
        f"three rows used the bias: their slopes sum to [15, 18, 21, 24], yours is {found}. (A mean belongs to the loss)")
    assert found.dtype.name == "float32", f"float32 should stay float32, yours is {found.dtype}"


def test_a_length_of_1_was_stretched_too():
    g = np.arange(1.0, 13.0, dtype="float32").reshape(3, 4)
    for shape, wanted in [((3, 1), [[10], [26], [42]]), ((1, 4), [[15, 18, 21, 24]]), ((1, 1), [[78]]), ((1,), [78]),
                          ((), 78)]:
        try:
            found = unbroadcast(g, shape)
        except ValueError as error:
            assert False, f"from (3, 4) back to {shape}: {error}. Axes of length 1 were broadcast too: sum them"
        assert np.shape(found) == shape, (
            f"the gradient of shape {shape} should have that shape, yours has {np.shape(found)}: "
            "axes of length 1 were broadcast too")
        assert np.array_equal(found, wanted), f"from (3, 4) back to {shape} the sum is {wanted}, yours is {found}"


def test_unbroadcast_undoes_every_broadcast():
    for shape, big in [((2, 1, 4), (5, 2, 3, 4)), ((3, 1), (2, 3, 4)), ((4,), (2, 3, 4)), ((1, 3, 1), (2, 3, 4)),
                       ((2, 3, 4), (2, 3, 4)), ((3, 1), (3, 0)), ((1, 5), (0, 5)), ((0,), (3, 0)),
                       ((3,), (3, 3)), ((3, 1), (3, 3)), ((2, 1, 2), (2, 2, 2)), ((2, 2), (2, 2, 2))]:
        g = np.random.default_rng(1).normal(size=big)
        wanted = np.zeros(shape)
        place = np.broadcast_to(np.arange(wanted.size).reshape(shape), big)
        for at in np.ndindex(big):
            wanted.ravel()[place[at]] += g[at]
        found = unbroadcast(g, shape)
        assert found.shape == shape, f"from {big} back to {shape}, your result has shape {found.shape}"
        assert np.allclose(found, wanted, rtol=1e-12, atol=1e-12), (
            f"from {big} back to {shape}: {wanted} is due, yours is {found}. Which places was each copied to? "
            "(Shapes line up at the right, whatever their lengths)")


test_rows_that_share_a_bias_add_up()
test_a_length_of_1_was_stretched_too()
test_unbroadcast_undoes_every_broadcast()

# %% nbgrader={"grade": true, "grade_id": "check-unbroadcast-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_broadcasts_are_undone():
    rng = np.random.default_rng(22)
    for shape, big, dtype in [((), (), "float64"), ((), (2, 1, 3), "float32"), ((1, 1, 1), (4, 1, 5), "float64"),
                              ((1,), (1,), "float32"), ((1, 2, 1, 2), (3, 2, 2, 2), "float64"),
                              ((2, 1), (2, 2, 1), "float64"), ((5,), (0, 5), "float32"), ((1, 0), (4, 0), "float64"),
                              ((6, 1), (6, 7), "int64"), ((1, 4, 1, 1, 3), (2, 4, 3, 1, 3), "float64")]:
        g, size = np.array(100 * rng.normal(size=big), dtype), math.prod(shape)
        places = np.broadcast_to(np.arange(size).reshape(shape), big)
        wanted = np.bincount(places.ravel(), g.ravel(), size).reshape(shape)
        found = unbroadcast(g=g, shape=shape)
        assert np.shape(found) == shape and np.allclose(found, wanted, rtol=1e-4, atol=1e-4), (
            f"from {big} back to {shape}: {wanted} is due, found {found}, when {g} arrives")


test_other_broadcasts_are_undone()
### END HIDDEN TESTS

# %%
#| exporti
def fit(g, data, op=None):
    """The gradient `g`, in the shape and dtype of `data`: what came from float64 neighbours goes back as float32.

    op   what `g` went through, to be named in errors
    """
    try:
        if g.shape != data.shape:
            lengths = zip(data.shape[::-1], g.shape[::-1])
            if g.ndim < data.ndim or any([n != 1 and n != m for n, m in lengths]):
                raise ValueError(f"the rule of {name_of(op)} gave a gradient of shape {g.shape} for an input of shape "
                                 f"{data.shape}: it should give back the shape of the input")
            g = unbroadcast(g, data.shape)
        if g.dtype is data.dtype:
            return g
    except AttributeError:
        if isinstance(g, (np.ndarray, np.generic)):
            raise
        raise TypeError(f"the rule of {name_of(op)} gave {g!r:.60}, a {type(g).__name__}: one array for its input "
                        "is needed") from None
    if data.dtype.kind != "f":
        raise TypeError(f"a tensor of {data.dtype} wants a gradient, and slopes are fractions: make it with "
                        "Tensor(data, requires_grad=True) or Variable(data), which turn whole numbers into float32")
    return g.astype(data.dtype)


def name_of(op):
    """The name of an operation, or of the Function that it is the forward method of."""
    if hasattr(op, "__self__"):
        return type(op.__self__).__name__
    return getattr(op, "__name__", "an operation").removesuffix("_forward")

# %% [markdown]
# ## In which order?
#
# A number may be used twice. In `h = x * x; z = h * h + h` three arrows arrive at `h`, and only when all of them
# have, may `h` hand on their sum. Nobody may go before all its users have gone.
#
# Predict: you meet the notes by following inputs from `z`. Is the order in which you meet them good enough?
# And what goes wrong with a function that calls itself for each input, on a loss 100,000 operations deep?
#
# A result is younger than its inputs, always, and `creator.order` counts births. So the oldest come last.
#
# **Task.** Write `oldest_first`: every tensor with a note, each once. The walk will take them from the end.
#
# <details><summary>Hint 1</summary>A list of tensors still to look at, and a set of those found. Where
# does the first list start?</details>
# <details><summary>Hint 2</summary>Inputs can be plain numbers and arrays, and tensors without a creator. None of
# these belongs in the result.</details>
# <details><summary>Hint 3</summary><code>while todo: x = todo.pop()</code>. If <code>x</code> is new and has a note,
# remember it and look at its inputs later.</details>
# <details><summary>Hint 4</summary>At the end, <code>sorted(found, key=...)</code> by
# <code>x.creator.order</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "autograd-order", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def oldest_first(tensor):
    """Every tensor with a creator that went into `tensor`, itself included, the oldest first.

    tensor   Tensor
    returns  list of Tensors, each once; empty when `tensor` has no creator

    Must not call itself: a loss can be 100,000 operations deep, Python calls no more than 1,000.

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
    return sorted(found, key=operator.attrgetter("creator.order"))
    ### END SOLUTION

# %% tags=["learner-side"]
def added_again_and_again(x, step, times):
    """x + step + step + ..."""
    for _ in range(times):
        x = x + step
    return x


def count_of_results(tensor):
    """How many tensors `oldest_first` lists."""
    return len(oldest_first(tensor))

# %% nbgrader={"grade": true, "grade_id": "check-order", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def test_every_result_comes_once_and_oldest_first():
    x = Variable([2.0, 3.0])
    a = x * 2.0
    b = a + 1.0
    c = b * a
    d = np.array([5.0, 7.0], "float32") - a
    z = d * c + b
    try:
        found = [t.creator.order for t in oldest_first(z)]
    except (ValueError, TypeError) as error:
        assert False, (f"{error}. Do you look for tensors in a list? `in` on a list compares with ==, which tensors "
                       "do place by place; use a set")
    wanted = sorted(t.creator.order for t in (a, b, c, d, z)) + [z.creator.order - 1]
    assert len(found) == len(set(found)), f"somebody is there twice, the orders of yours are {found}: keep a set"
    assert len(found) == 6, f"six results went into z, a, b, c, d, d * c and z itself; you found {len(found)}"
    assert found == sorted(wanted), f"the oldest should come first, the orders of yours are {found}"


def test_inputs_without_a_note_are_left_out():
    x = Variable([1.0, 2.0])
    found = oldest_first(Tensor([3.0, 4.0]) * x + 5.0)
    assert len(found) == 2, f"3 and 4, x and 5.0 were given, not made: two results have notes, you found {len(found)}"
    assert len(oldest_first(x)) == 0, "a tensor that was not made from others has no results before it"


def test_ten_thousand_operations_and_many_paths():
    x = y = Variable(1.0)
    try:
        found = count_of_results(added_again_and_again(x, 0.5, 10_000))
    except RecursionError:
        assert False, "a graph 10,000 operations deep is too deep for a function that calls itself: keep your own list"
    assert found == 10_000, f"10,000 results have notes, you found {found}"
    for _ in range(20):
        y = y + y
    assert count_of_results(y) == 20, "y = y + y twenty times makes 20 results on a million paths: visit each once"


test_every_result_comes_once_and_oldest_first()
test_inputs_without_a_note_are_left_out()
test_ten_thousand_operations_and_many_paths()

# %% [markdown]
# ## Adding up
#
# During the walk a dictionary holds, for each tensor, the gradient received so far. What arrives second is
# added to what came first; `=` instead of `+=` is the most frequent mistake in home-made engines. The second most
# frequent is hidden here. Predict what `a` and `b` receive:

# %%
g = np.array([1.0])  # the rule of a + b hands the very same array to both
for_a, for_b = g, g
for_a += 5.0  # something else arrives for a
print("a:", for_a, " b:", for_b)

# %% [markdown]
# An array that came from a rule may be held by others, or be a read-only view. An array that *we* made, as a sum
# of two, belongs to us, and the third, the fourth, the thousandth arrival can go into it in place.
#
# **Task.** Write `accumulate`. `mine` is the set of tensors whose array was made here.
#
# <details><summary>Hint 1</summary>Three cases: the first arrival, the second, and all later ones. How do you tell
# them apart by <code>gradients</code> and <code>mine</code>?</details>
# <details><summary>Hint 2</summary>Does the first arrival need a copy? Who would write into it?</details>
# <details><summary>Hint 3</summary><code>old + g</code> is a new array, <code>old += g</code> writes into the old one.
# Which of the two makes it ours?</details>
# <details><summary>Hint 4</summary>For shape () NumPy makes of <code>old + g</code> a scalar, which nobody can write
# into: <code>+=</code> then gives the <em>name</em> on its left a new number. Let that name be
# <code>gradients[x]</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "autograd-accumulate", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def accumulate(gradients, mine, x, g):
    """Add `g` to what `x` has received so far.

    gradients  dict from Tensor to ndarray; gradients[x] afterwards is the sum of all arrivals
    mine       set of the tensors whose array in `gradients` was made here, by adding; only those may be written into
    x          Tensor
    g          ndarray of the shape of `x`, or a NumPy scalar for shape (); others may hold it: never written into

    The first arrival is stored as it is, the second makes a new array, all others go into that one.

    >>> x, gradients, mine = Variable([0.0]), {}, set()
    >>> for g in (np.array([1.0]), np.array([20.0]), np.array([300.0])):
    ...     accumulate(gradients, mine, x, g)
    >>> gradients[x]
    array([321.])

    Source: the multivariate chain rule: Griewank and Walther, Evaluating Derivatives (2008), section 3.2.
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

# %% tags=["learner-side"]
def added_up(arrivals, both=True, kind=None):
    """The sum of the arrivals as `accumulate` makes it, the arrivals afterwards, and what a second tensor got.

    Every arrival but the last goes to both tensors; with both=False all go to one. They arrive as arrays, or as what
    `kind` says: "scalar" for NumPy scalars, "view" for read-only views.
    """
    if kind:
        arrivals = [g[()] if kind == "scalar" else np.broadcast_to(g, g.shape) for g in arrivals]
    x, y = [Variable(np.zeros(np.shape(arrivals[0]))) for _ in range(2)]
    gradients, mine = {}, set()
    for g in arrivals[:-1]:
        accumulate(gradients, mine, x, g)
        if both:
            accumulate(gradients, mine, y, g)
    accumulate(gradients, mine, x, arrivals[-1])
    return np.array(gradients[x]), [np.array(g) for g in arrivals], np.array(gradients[y]) if y in gradients else None


def sums_before(arrivals):
    """For each arrival, the array that held the sum before it, as it reads after it; None where there was none."""
    x, gradients, mine, found = Variable(np.zeros(2)), {}, set(), []
    for g in arrivals:
        before = gradients.get(x)
        accumulate(gradients, mine, x, g)
        found.append(None if before is None else np.array(before))
    return found

# %% nbgrader={"grade": true, "grade_id": "check-accumulate", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def test_all_arrivals_are_added_up():
    arrivals = [np.array([1.0, -2.0]), np.array([10.0, 20.0]), np.array([100.0, 0.5]), np.array([1000.0, 0.25])]
    for n, wanted in [(1, [1, -2]), (2, [11, 18]), (3, [111, 18.5]), (4, [1111, 18.75])]:
        total = added_up([g.copy() for g in arrivals[:n]], both=False)[0]
        assert np.array_equal(total, wanted), (
            f"{n} arrivals, {[g.tolist() for g in arrivals[:n]]}, make {wanted}, yours make {total}: add, do not replace")


def test_single_numbers_add_up_too():
    for name, kind in [("scalars", "scalar"), ("arrays of shape ()", None)]:
        for n, wanted in [(1, 1), (2, 21), (3, 321), (4, 4321)]:
            try:
                total = added_up([np.array(k, "float32") for k in (1, 20, 300, 4000)[:n]], False, kind)[0]
            except TypeError as error:
                assert False, f"for shape () the sum is a NumPy scalar, which cannot be written into: {error}"
            assert float(total) == wanted, (
                f"{n} of the {name} 1, 20, 300, 4000 make {wanted}, yours {float(total)}: for shape () the sum is a "
                "NumPy scalar, and += on a name of your own does not reach the dictionary. Assign to gradients[x]")


def test_what_arrives_is_not_written_into():
    arrivals = [np.array([1.0, -2.0]), np.array([10.0, 20.0]), np.array([100.0, 0.5])]
    total, after, other = added_up([g.copy() for g in arrivals])
    for n in range(3):
        assert np.array_equal(after[n], arrivals[n]), (
            f"arrival {n} was {arrivals[n]} and is now {after[n]}: the rule of a + b hands one array to both, and "
            "writing into it changes the other's gradient too. Make a new array for the first sum")
    assert np.array_equal(total, [111, 18.5]), f"three arrivals make [111, 18.5], yours make {total}"


def test_two_tensors_never_share_a_sum():
    for n, wanted in [(2, [1, -2]), (3, [11, 18]), (4, [111, 18.5])]:
        arrivals = [np.array([1.0, -2.0]), np.array([10.0, 20.0]), np.array([100.0, 0.5]), np.array([7.0, 7.0])]
        other = added_up(arrivals[:n])[2]
        assert np.array_equal(other, wanted), (
            f"b received {wanted}; then something arrived for a alone, and b's changed to {other}: they share an array")


def test_read_only_arrivals_are_fine():
    try:
        total = added_up([np.array([3.0, 3.0]) for _ in range(3)], kind="view")[0]
    except ValueError as error:
        assert False, f"a rule may hand over a read-only view: {error}. Do not write into what arrives"
    assert np.array_equal(total, [9, 9]), f"three times [3, 3] makes [9, 9], yours makes {total}"


def test_later_arrivals_go_in_place():
    arrivals = [np.array([1.0, 2.0]), np.array([10.0, 20.0]), np.array([100.0, 0.5]), np.array([7.0, 7.0])]
    found = [None if before is None else before.tolist() for before in sums_before(arrivals)]
    assert found[1] == [1, 2], (
        f"[1, 2] came first, and reads {found[1]} after the second arrival: that needs a new array, the first one "
        "is not yours to write into")
    assert found[2:] == [[111, 22.5], [118, 29.5]], (
        "from the third on the sum is yours and can be added to in place: the array that held [11, 22] and then "
        f"[111, 22.5] should read [111, 22.5] and [118, 29.5] next, yours reads {found[2:]}")


test_all_arrivals_are_added_up()
test_single_numbers_add_up_too()
test_what_arrives_is_not_written_into()
test_two_tensors_never_share_a_sum()
test_read_only_arrivals_are_fine()
test_later_arrivals_go_in_place()

# %% nbgrader={"grade": true, "grade_id": "check-accumulate-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_arrivals_of_other_shapes_add_up():
    rng = np.random.default_rng(23)
    for shape, dtype, kind in [((2, 1, 3), "float32", None), ((0,), "float64", None), ((), "float64", "scalar"),
                               ((), "float32", "view"), ((4,), "float32", "view"), ((3, 2), "float64", "view")]:
        for n in (1, 2, 3, 9):
            arrivals = [np.array(rng.integers(-9, 9, shape), dtype) for _ in range(n)]
            total, after, other = added_up([g.copy() for g in arrivals], True, kind)
            assert total.dtype.name == dtype and np.array_equal(total, np.sum(arrivals, axis=0)), (
                f"{n} arrivals ({kind}) {arrivals} make {np.sum(arrivals, axis=0)}, found {total}")
            assert np.array_equal(after, arrivals), f"{n} arrivals ({kind}) were {arrivals}, and are now {after}"
            assert (other is None) if n == 1 else np.array_equal(other, np.sum(arrivals[:-1], axis=0)), (
                f"all but the last of {arrivals} ({kind}) went to a second tensor, which holds {other}")


test_arrivals_of_other_shapes_add_up()
### END HIDDEN TESTS

# %% [markdown]
# ## One step
#
# One tensor's turn: it has its whole gradient `g`, and gives each of its inputs the due share. Most inputs of a
# network want nothing: a batch of pictures, a constant 0.1. Their rules are not even called; for the first layer this
# saves a third of the work.
#
# Some operations, such as `concatenate`, have one rule for all inputs together. `parts_of` makes a row
# of rules of what it returned, so that your loop need not know.

# %%
#| exporti
def parts_of(found, made):
    """One rule per input, with nothing left to compute, from the gradients that a rule for all inputs returned."""
    if type(found) not in (tuple, list) or len(found) != len(made.inputs):
        raise ValueError(f"the rule of {made.op.__name__} should return a tuple of {len(made.inputs)} gradients, one for "
                         f"each input, not {type(found).__name__} of {np.size(found)} numbers")
    return [part if part is None else lambda *_, part=part, **__: part for part in found]

# %% [markdown]
# **Task.** Write the loop of `hand_on`. Predict: what are `node.creator.inputs` and `rules` for `x * x`?
#
# <details><summary>Hint 1</summary>Which rule belongs to which input? Walk both together.</details>
# <details><summary>Hint 2</summary>Who gets nothing: no Tensor, a Tensor that does not want a gradient, and an input
# whose rule is <code>None</code>.</details>
# <details><summary>Hint 3</summary>A rule takes <code>g, out, *arrays, **options</code>. All but <code>g</code> stand in
# <code>node</code> and <code>made</code>.</details>
# <details><summary>Hint 4</summary>What the rule returns may still be broadcast: <code>fit(found, x.data, made.op)</code>.
# Then <code>accumulate</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "autograd-hand-on", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def hand_on(node, g, gradients, mine):
    """Give the inputs of `node` the gradients that are due to them.

    node             a Tensor with a creator
    g                ndarray: the whole gradient of `node`
    gradients, mine  as in `accumulate`, which takes what is due

    Rules are called only for inputs that are Tensors and want a gradient. What they return is brought into
    the shape and dtype of the input by `fit`.

    >>> x, gradients = Variable(3.0), {}
    >>> hand_on(x * 5.0, np.float32(2), gradients, set())
    >>> float(gradients[x])
    10.0

    Source: the chain rule.
    """
    made = node.creator
    rules = table[made.op]
    if callable(rules):  # one for all inputs together: call it now, and let each input have its part
        rules = parts_of(rules(g, node.data, *made.arrays, **made.options), made)
    elif len(rules) != len(made.inputs):
        raise ValueError(f"{name_of(made.op)} has {len(made.inputs)} inputs, and rules for {len(rules)}: give derivative() "
                         "one for each input, None where there is no slope")
    ### BEGIN SOLUTION
    for x, rule in zip(made.inputs, rules):
        if isinstance(x, Tensor) and x.requires_grad and rule is not None:
            found = rule(g, node.data, *made.arrays, **made.options)
            accumulate(gradients, mine, x, fit(found, x.data, made.op))
    ### END SOLUTION

# %% tags=["learner-side"]
def received(node, g):
    """What each input of `node` has received after one `hand_on`; None for nothing."""
    gradients = {}
    hand_on(node, g, gradients, set())
    return [gradients.get(x) if isinstance(x, Tensor) else None for x in node.creator.inputs]


def scaled(x, factor):
    return x * factor


calls = []
derivative(scaled, lambda g, out, x, factor: calls.append("x") or g * factor,
           lambda g, out, x, factor: calls.append("factor") or g * x)


def rules_called(x, factor):
    """Which rules were called for an operation of these two inputs."""
    calls.clear()  # what is called can be counted nowhere else than here
    hand_on(apply(scaled, x, factor), np.ones(2, "float32"), {}, set())
    return list(calls)


def chosen_by(mask, a, b):
    """np.where of Tensors, its condition too, or of numbers."""
    return apply(np.where, mask, a, b)

# %% nbgrader={"grade": true, "grade_id": "check-hand-on", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_each_input_gets_its_share():
    a, b = Variable([[2.0, 3.0, 5.0]]), Variable([[7.0, -1.0, 4.0]])
    found = received(a / b, np.array([[7.0, 2.0, 16.0]], "float32"))
    for name, part, wanted in [("a", found[0], [[1, -2, 4]]), ("b", found[1], [[-2 / 7, -6, -5]])]:
        assert part is not None, f"{name} of a / b wants a gradient and received nothing"
        assert np.allclose(part, wanted, rtol=1e-6, atol=0), f"{name} of a / b should receive {wanted}, yours gets {part}"


def test_the_same_tensor_on_both_sides_receives_both():
    x = Variable([3.0, -4.0])
    found = received(x * x, np.array([1.0, 10.0], "float32"))[0]
    assert np.array_equal(found, [6, -80]), f"x * x has slope 2x: [6, -80] is due when [1, 10] arrives, yours: {found}"


def test_broadcasting_and_dtype_are_undone():
    a, b = Variable(np.ones((2, 3), "float32")), Variable(np.array([[2.0], [5.0]]))
    assert (a * b).dtype.name == "float64", "float32 times float64 is float64"
    found = received(a * b, np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]]))
    assert found[1].shape == (2, 1), f"b has shape (2, 1), its gradient {found[1].shape}: fit what the rule returns"
    assert np.array_equal(found[1], [[7], [56]]), f"b used in three columns gets [[7], [56]], yours {found[1]}"
    assert found[0].dtype.name == "float32", f"a is float32, so its gradient is too, not {found[0].dtype}: fit it"


def test_options_reach_the_rules():
    x = Variable([-3.0, 0.5, 4.0])
    try:
        found = received(x.clip(-1, 1), np.array([1.0, 2.0, 3.0], "float32"))[0]
    except TypeError as error:
        assert False, f"the rule of clip needs low and high, which are among the creator's options: {error}"
    assert np.array_equal(found, [0, 2, 0]), f"clip(-1, 1) of [-3, 0.5, 4] lets only 2 through, yours gives {found}"


def test_nobody_works_for_an_input_that_wants_nothing():
    wants, plain = Variable([1.0, 2.0]), Tensor([3.0, 4.0])
    for x, factor, wanted in [(wants, wants, ["x", "factor"]), (wants, plain, ["x"]), (plain, wants, ["factor"]),
                              (wants, 2.0, ["x"])]:
        try:
            found = rules_called(x, factor)
        except AttributeError as error:
            assert False, f"an input may be a plain number, which has no requires_grad: {error}"
        assert found == wanted, f"rules should be called for {wanted} only, yours calls {found}"
    mask, a = Variable([1.0, 0.0]), Variable([1.0, 2.0])
    try:
        found = received(chosen_by(mask, 3.0, a), np.array([5.0, 7.0], "float32"))
    except TypeError as error:
        assert False, f"the condition of where has None for a rule, so it gets nothing: {error}"
    assert found[0] is None and np.array_equal(found[2], [0, 7]), f"where gives its last input [0, 7], yours {found[2]}"


test_each_input_gets_its_share()
test_the_same_tensor_on_both_sides_receives_both()
test_broadcasting_and_dtype_are_undone()
test_options_reach_the_rules()
test_nobody_works_for_an_input_that_wants_nothing()

# %% nbgrader={"grade": true, "grade_id": "check-hand-on-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_operations_of_several_inputs_hand_on():
    a, b, plain = Variable(np.zeros((2, 2))), Variable(np.zeros((1, 2), "float32")), Tensor(np.zeros((3, 2)))
    g = np.arange(1.0, 17.0).reshape(8, 2) / 4

    def joined(*arrays):
        return np.concatenate(arrays)

    derivative(joined, *[lambda g, out, *arrays, first=first, end=end: g[first:end]
                         for first, end in [(0, 2), (2, 3), (3, 6), (6, 8)]])
    found = received(apply(joined, a, b, plain, a), g)
    for n, wanted in [(0, g[:2] + g[6:]), (1, g[2:3]), (3, g[:2] + g[6:])]:
        assert np.array_equal(found[n], wanted), f"[a, b, plain, a] joined: {n} should get {wanted}, found {found[n]}"
    assert found[2] is None, f"a tensor that wants no gradient got {found[2]}"
    assert found[1].dtype.name == "float32", f"b is float32, its gradient {found[1].dtype}"
    a, b = Variable(np.full((3, 1, 2), 2.0)), Variable(np.full((4, 1), -5.0))
    g = np.arange(24.0).reshape(3, 4, 2) - 7
    for name, out, wanted in [
            ("a * b", a * b, [-5 * g.sum(1, keepdims=True), 2 * g.sum((0, 2)).reshape(4, 1)]),
            ("where(mask, a, b)", chosen_by(np.arange(8).reshape(4, 2) % 3 == 0, a, b),
             [None, (g * (np.arange(8).reshape(4, 2) % 3 == 0)).sum(1, keepdims=True),
              (g * (np.arange(8).reshape(4, 2) % 3 != 0)).sum((0, 2)).reshape(4, 1)])]:
        for n, (mine, right) in enumerate(zip(received(out, g), wanted)):
            assert (mine is None) if right is None else np.array_equal(mine, right), (
                f"{name} of shapes (3, 1, 2) and (4, 1), when {g} arrives: input {n} should get {right}, found {mine}")


test_operations_of_several_inputs_hand_on()
### END HIDDEN TESTS

# %% [markdown]
# ## Where the walk starts
#
# The slope of the loss with respect to itself is 1: that is the first gradient. For a result of several numbers there is
# no such thing as *the* slope; somebody must say how much each number matters. To take ones
# silently would hide a forgotten `mean()` for weeks.
#
# **Task.** Write the rest of `first_gradient`. An error, too, is a small lesson: what was given, what to do.
#
# <details><summary>Hint 1</summary>Without a gradient: for which sizes is there no doubt? For the others,
# what could the caller do? Say it in the error.</details>
# <details><summary>Hint 2</summary>The walk hands this array on, and a leaf may keep it. Whose array must it
# not be? And of which dtype?</details>
# <details><summary>Hint 3</summary><code>operand(gradient)</code> gives the numbers inside a Tensor, an array, a number or
# a list; <code>np.array(..., tensor.dtype)</code> makes a copy.</details>

# %% nbgrader={"grade": false, "grade_id": "autograd-start", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def first_gradient(tensor, gradient=None):
    """The gradient that the walk starts with.

    tensor    Tensor that wants a gradient
    gradient  a Tensor, array, number or list of the same shape as `tensor`; None, if `tensor` holds one number, means 1
    returns   a new ndarray of the shape and dtype of `tensor`, shared with nobody

    Raises RuntimeError, naming the shape, when `tensor` has not one number and no gradient is given; ValueError,
    naming both shapes, when the gradient has another shape.

    >>> first_gradient(Variable([[2.0, 3.0]]), [[1, 10]])
    array([[ 1., 10.]], dtype=float32)

    Source: torch.Tensor.backward has the same rule.
    """
    if not tensor.requires_grad:
        raise RuntimeError("backward() starts from a result of tensors that want a gradient; this one has no note. "
                           "Was it made inside no_grad(), from .data, of whole numbers, or from tensors without "
                           "requires_grad=True?")
    if tensor.data.dtype.kind != "f":
        raise TypeError(f"a tensor of {tensor.data.dtype} wants a gradient, and slopes are fractions: make it with "
                        "Tensor(data, requires_grad=True) or Variable(data), which turn whole numbers into float32")
    ### BEGIN SOLUTION
    if gradient is None:
        if tensor.size != 1:
            raise RuntimeError(f"backward() needs one number to start from, this tensor has shape {tensor.shape}: "
                               "call .sum() or .mean() on it first, or give a gradient of that shape")
        return np.array(1, tensor.dtype, ndmin=tensor.ndim)  # shape (), (1,), (1, 1), ...
    gradient = np.array(operand(gradient), tensor.dtype)
    if gradient.shape != tensor.shape:
        raise ValueError(f"the gradient has shape {gradient.shape}, and the tensor {tensor.shape}: give one slope for "
                         "each number")
    return gradient
    ### END SOLUTION

# %% tags=["learner-side"]
def given_after_writing(tensor, gradient, number):
    """The numbers of `gradient`, read after `number` was written over all of the gradient that the walk starts with."""
    first_gradient(tensor, gradient)[...] = number
    return np.array(operand(gradient))

# %% nbgrader={"grade": true, "grade_id": "check-start", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_one_number_starts_from_1():
    for data, dtype in [(np.float32(3.0), "float32"), (np.array([[3.0]]), "float64"), (np.array([2.0], "float32"), "float32")]:
        x = Variable(np.array(data))
        found = first_gradient(x)
        assert np.shape(found) == np.shape(data), f"shape {np.shape(data)} starts from that shape, yours {np.shape(found)}"
        assert np.array_equal(found, np.ones_like(data)), f"the slope of a number by itself is 1, yours starts from {found}"
        assert np.asarray(found).dtype.name == dtype, f"{dtype} should start from {dtype}, yours {np.asarray(found).dtype}"


def test_several_numbers_need_a_gradient():
    for shape in [(2,), (3, 4), (1, 2), (0,)]:
        try:
            found = first_gradient(Variable(np.ones(shape, "float32")))
        except NotImplementedError:
            raise
        except RuntimeError as error:
            assert str(shape) in str(error), f"the error should name the shape {shape}, yours: {error}"
        else:
            assert False, (f"a tensor of shape {shape} needs an explicit gradient, yours starts from {found}: "
                           "a forgotten mean() would go unnoticed")


def test_a_given_gradient_is_copied_and_converted():
    mine = np.array([[1.0, -2.0, 0.5]])
    x = Variable(np.zeros((1, 3), "float32"))
    for given in (mine, Tensor(mine), mine.tolist()):
        found = first_gradient(x, given)
        assert np.array_equal(found, mine), f"the walk should start from {mine}, yours from {found}"
        assert found.dtype.name == "float32", f"the tensor is float32, so the gradient is too, not {found.dtype}"
    wide = Variable(np.zeros((1, 3)))
    for given in (mine.copy(), Tensor(mine)):
        after = given_after_writing(wide, given, 50)
        assert np.array_equal(after, mine), (
            f"writing into your array changed the one I gave: copy it. I gave {mine}, and it reads {after}")
    assert float(first_gradient(Variable(2.0), 3.0)) == 3.0, "a plain number may be the gradient of a plain number"


def test_a_gradient_of_another_shape_is_refused():
    for shape, other in [((2, 3), (3,)), ((2, 3), (3, 2)), ((3,), (1, 3)), ((2,), ()), ((), (1,)), ((4,), (1,))]:
        try:
            found = first_gradient(Variable(np.ones(shape, "float32")), np.ones(other, "float32"))
        except ValueError as error:
            assert str(shape) in str(error) and str(other) in str(error), (
                f"the error should name {shape} and {other}, yours: {error}")
        else:
            assert False, f"a gradient of shape {other} does not fit a tensor of shape {shape}, yours gives {found}"


test_one_number_starts_from_1()
test_several_numbers_need_a_gradient()
test_a_given_gradient_is_copied_and_converted()
test_a_gradient_of_another_shape_is_refused()

# %% nbgrader={"grade": true, "grade_id": "check-start-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_walks_start_from_other_gradients():
    for shape, dtype, given, wanted in [
            ((1, 1, 1), "float64", None, [[[1]]]), ((), "float32", -2, -2), ((1,), "float32", Tensor([0.25]), [0.25]),
            ((), "float64", np.array(0.5, "float32"), 0.5), ((2,), "float64", np.array([7, -7]), [7, -7]),
            ((3, 1), "float32", [[1], [2], [3]], [[1], [2], [3]]),
            ((2, 1, 2), "float64", [[[1.5, 2]], [[-3, 4]]], [[[1.5, 2]], [[-3, 4]]]),
            ((0, 2), "float32", np.zeros((0, 2)), np.zeros((0, 2)))]:
        x = Variable(np.full(shape, 9, dtype))
        found = np.asarray(first_gradient(x) if given is None else first_gradient(tensor=x, gradient=given))
        assert found.shape == shape and np.array_equal(found, wanted) and found.dtype.name == dtype, (
            f"a {dtype} tensor of shape {shape}, gradient {given}: {wanted} is due, found {found!r}")
    narrow, kept = Variable(np.zeros(2, "float32")), np.array([1.0, 2.0], "float32")
    for given in (kept.copy(), Tensor(kept)):
        assert np.array_equal(given_after_writing(narrow, given, 50), kept), "the gradient should be a copy"
    for shape, other in [((2, 0, 3), None), ((5, 1), None), ((2, 1), (2,)), ((1, 2, 3), (2, 3)), ((2, 3), (2, 1)),
                         ((), (1, 1)), ((0,), (1,)), ((3,), (4,)), ((1,), ()), ((2, 6), (3, 4))]:
        try:
            found = first_gradient(Variable(np.ones(shape)), other if other is None else np.ones(other))
        except (RuntimeError if other is None else ValueError) as error:
            found = str(error)
            assert str(shape) in found and str(other or shape) in found, f"{shape} and {other} should be named: {found}"
        else:
            assert False, f"a tensor of shape {shape} and a gradient of shape {other} should be refused, found {found}"


test_walks_start_from_other_gradients()
### END HIDDEN TESTS

# %% [markdown]
# ## The walk
#
# Three given pieces, then the walk itself. A note holds on to all arrays that went into a result, so it is taken
# away as soon as it has served, and memory shrinks while we walk. What is put in its place tells whoever
# comes a second time:

# %%
#| exporti
class Freed:
    """Stands in `creator` where a note has been used up."""

    __slots__ = ()
    order, op = -1, None

    @property
    def inputs(self):
        raise RuntimeError("a gradient has been taken through this graph before, and its notes were freed on the way. "
                           "Compute the result again; or, to walk twice, say backward(retain_graph=True) the first time")


FREED = Freed()

# %% [markdown]
# Then the door that `Tensor.backward` opens. It starts your walk and hands the gradients to the *leaves*, the
# tensors that were given and not made. They keep them in `.grad`, added to what is there: two losses, two calls, one
# sum. Results in between keep nothing. A leaf must own its gradient; a copy sees to that, except when
# the array is nobody else's anyway, which Python can tell by counting.

# %%
#| export
def backward(tensor, gradient=None, retain_graph=False):
    """Add to `.grad` of every leaf that went into `tensor` the slope of `tensor` with respect to it.

    tensor        Tensor; for more than one number, `gradient` of the same shape says how much each matters
    retain_graph  keep the notes, so that this graph can be walked again

    A leaf is a Tensor that wants a gradient and has no creator. `.grad` is an ndarray of its shape and dtype,
    shared with nobody.

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


def is_ours(g):
    """Whether nobody but the caller, in one variable, holds the array `g` or its memory."""
    return type(g) is np.ndarray and g.base is None and sys.getrefcount(g) <= HOLDERS


def count_holders():
    g = np.empty(0)
    return held(g)


def held(g):
    return sys.getrefcount(g)


HOLDERS = count_holders()  # how many Python counts for an array that one variable of the caller holds

# %% [markdown]
# And a word to Python. It frees what nobody holds at once; besides, it searches all objects for groups that
# hold only each other, again and again while they become more. A graph has no such groups, but 400,000 objects: the
# search cost a third of building one. So it shall search less often.

# %%
#| exporti
gc.set_threshold(max(gc.get_threshold()[0], 20_000), 20, 1000)

# %% [markdown]
# **Task.** Write the walk, from the end of `oldest_first` to its beginning.
#
# <details><summary>Hint 1</summary>Who has a gradient before anybody has handed on anything?</details>
# <details><summary>Hint 2</summary>When its turn comes, a tensor's gradient is complete: take it out of the dictionary
# and call <code>hand_on</code>. Only then may its note go.</details>
# <details><summary>Hint 3</summary>A loop over <code>reversed(nodes)</code> will do. For memory alone, and no check asks for
# it: <code>nodes.pop()</code> and <code>mine.discard(node)</code> let each tensor go as soon as it has served.</details>
# <details><summary>Hint 4</summary>In the end the dictionary has the leaves, and only them. Before the loop:
# <code>nodes, gradients, mine = oldest_first(tensor), {tensor: gradient}, set()</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "autograd-walk", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def gradients_of(tensor, gradient, retain_graph=False):
    """Walk from `tensor` back to everything it was made from.

    tensor        Tensor
    gradient      ndarray of its shape: the gradient of `tensor` itself
    retain_graph  False: the creator of each tensor becomes FREED as soon as it has handed on
    returns       dict from each leaf to its gradient, an ndarray; no `.grad` is touched

    Each tensor with a creator hands on once, the youngest first, when its gradient is complete. One that
    received nothing has nothing to hand on.

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

# %% tags=["learner-side"]
def after_writing(results, gradient, leaf, number):
    """Walk from each of the results with the same `gradient`, write `number` over leaf.grad, and return `gradient`."""
    for result in results:
        backward(result, gradient)
    leaf.grad[...] = number
    return gradient

# %% nbgrader={"grade": true, "grade_id": "check-walk", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
def test_three_slopes_worked_out_by_hand():
    x, y = Variable(5.0), Variable(3.0)
    backward(x * x + 2 * x * y + y * y * y)
    assert x.grad is not None and y.grad is not None and (float(x.grad), float(y.grad)) == (16, 37), (
        f"x² + 2xy + y³ at 5, 3 has slopes 2x + 2y = 16 and 2x + 3y² = 37, yours are {x.grad} and {y.grad}")
    a = Variable(7.0)
    backward(a)
    assert a.grad is not None and float(a.grad) == 1, f"the slope of a number by itself is 1, yours is {a.grad}"


def test_shared_results_hand_on_once_with_the_whole_sum():
    x = Variable([1.0, -2.0])
    b = x + x
    c = b + b
    backward(c * c, [1.0, 10.0])
    assert np.array_equal(x.grad, [32, -640]), (
        f"(4x)² has slopes 32x = [32, -640] here, yours are {x.grad}: a tensor hands on once, when its gradient is complete")
    x = Variable(2.0)
    y = 3.0 * x
    q = y * 5.0
    backward(q + 2.0 * y * 1.0)
    assert float(x.grad) == 21, f"5·3x + 2·3x has slope 21, yours is {x.grad}: wait for every path into y"


def test_gradients_add_up_over_calls():
    x = Variable([3.0, 4.0])
    backward(x * 2.0, [1.0, 10.0])
    backward(x * x, [1.0, 1.0])
    assert np.array_equal(x.grad, [8, 28]), f"[2, 20] and then [6, 8] make [8, 28], yours are {x.grad}"


def test_results_and_bystanders_keep_no_gradient():
    x, plain = Variable([3.0, 4.0]), Tensor([2.0, 5.0])
    h = x * plain
    out = h * h
    backward(out, [1.0, 1.0])
    assert np.array_equal(x.grad, [24, 200]), f"(x·[2, 5])² has slopes [24, 200], yours are {x.grad}"
    for name, t in [("plain", plain), ("the result in between", h), ("the last result", out)]:
        assert t.grad is None, f"{name} is no leaf that wants a gradient, yet its grad is {t.grad}"


def test_a_walk_frees_the_notes():
    x = Variable([3.0, 4.0])
    h = x * x
    out = h * 2.0
    backward(out, [1.0, 1.0])
    for name, result in [("the same result", out), ("a result in between", h), ("something made of a freed one", h + 1.0)]:
        try:
            backward(result, [1.0, 1.0])
        except NotImplementedError:
            raise
        except RuntimeError as error:
            assert "retain_graph" in str(error), f"the error should name retain_graph, yours: {error}"
        else:
            assert False, f"a second walk, from {name}, should raise: free each note after its turn, creator = FREED"
    assert np.array_equal(x.grad, [12, 16]), f"a refused walk should add nothing to [12, 16], yours is {x.grad}"


def test_retain_graph_keeps_them():
    x = Variable([3.0, 4.0])
    out = x * x
    for wanted in ([6, 8], [12, 16], [18, 24]):
        try:
            backward(out, [1.0, 1.0], retain_graph=True)
        except NotImplementedError:
            raise
        except RuntimeError:
            assert False, "with retain_graph=True the notes should stay, yours are freed"
        assert np.array_equal(x.grad, wanted), (
            f"walking again adds [6, 8] again: {wanted}, yours is {x.grad}. Start from nothing in each walk")


def test_leaves_own_their_gradients():
    a, b, c = Variable([1.0, 2.0]), Variable([3.0, 4.0]), Variable([5.0, 6.0])
    given = after_writing([a + b, c], np.array([1.0, 10.0], "float32"), a, 500)
    for name, found in [("b's", b.grad), ("c's", c.grad), ("mine", given)]:
        assert np.array_equal(found, [1, 10]), f"I wrote 500 into a.grad, and {name} became {found}: one array?"



def test_the_deep_and_the_wide():
    x = Variable([1.0, 2.0])
    backward(added_again_and_again(x, x, 10_000), [1.0, 2.0])
    assert np.array_equal(x.grad, [10_001, 20_002]), f"x + 10,000 x has slope 10,001, yours gives {x.grad}"
    x = y = Variable(1.0)
    for _ in range(60):
        y = y + y
    backward(y)
    assert float(x.grad) == 2.0**60, f"doubled 60 times, the slope is 2**60 = {2.0**60:.3g}, yours is {x.grad}"


def test_gradients_keep_shape_and_dtype():
    for dtype in ("float32", "float64"):
        x, w, b = Variable(np.ones((2, 3), dtype)), Variable(np.full((2, 1), 2.0, dtype)), Variable(np.ones((), dtype))
        backward(x * w + b, np.arange(6.0).reshape(2, 3))
        for name, leaf, wanted in [("x", x, [[0, 2, 4], [6, 8, 10]]), ("w", w, [[3], [12]]), ("b", b, 15)]:
            assert isinstance(leaf.grad, np.ndarray) and leaf.grad.shape == leaf.shape, (
                f"{name} has shape {leaf.shape}, its grad should be an array of that shape, not {leaf.grad!r}")
            assert leaf.grad.dtype.name == dtype, f"{name} is {dtype}, its grad {leaf.grad.dtype}"
            assert np.array_equal(leaf.grad, wanted), f"the gradient of {name} is {wanted}, yours {leaf.grad}"


def test_a_result_that_received_nothing_hands_on_nothing():
    x, a = Variable([1.0, 0.0]), Variable([3.0, 4.0])
    mask = x * 2.0
    try:
        backward(chosen_by(mask, a, 7.0), [1.0, 10.0])
    except (KeyError, TypeError, AttributeError) as error:
        assert False, f"the condition of where receives no gradient, so it has nothing to hand on: {error!r}"
    assert np.array_equal(a.grad, [1, 0]), f"where took the first number only: [1, 0], yours is {a.grad}"
    assert x.grad is None, f"a mask has no slope, so x has no gradient, yours is {x.grad}"


test_three_slopes_worked_out_by_hand()
test_shared_results_hand_on_once_with_the_whole_sum()
test_gradients_add_up_over_calls()
test_results_and_bystanders_keep_no_gradient()
test_a_walk_frees_the_notes()
test_retain_graph_keeps_them()
test_leaves_own_their_gradients()
test_the_deep_and_the_wide()
test_gradients_keep_shape_and_dtype()
test_a_result_that_received_nothing_hands_on_nothing()

# %% nbgrader={"grade": true, "grade_id": "check-walk-hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_a_large_graph_agrees_with_nudging():
    def f(x, w, b):
        for _ in range(3):
            h = x * w - b
            x = h * 0.5 + h / (x * x + 2.0)
            w = 1.0 / (h * h + 1.0) + w
        return x * w + h

    rng = np.random.default_rng(24)
    for shapes in [((3, 2), (2,), (3, 1)), ((), (4,), (2, 1, 1)), ((1,), (1, 1), ())]:
        arrays = [rng.normal(size=shape) for shape in shapes]
        leaves = [Variable(array) for array in arrays]
        out = f(*leaves)
        g = rng.normal(size=out.shape)
        backward(out, g)
        for n, leaf in enumerate(leaves):
            way = rng.normal(size=leaf.shape)
            up, down = [[array + h * way if k == n else array for k, array in enumerate(arrays)] for h in (1e-5, -1e-5)]
            wanted = (g * (f(*up) - f(*down))).sum() / 2e-5
            found = (leaf.grad * way).sum()
            assert leaf.grad.shape == shapes[n] and abs(found - wanted) < 1e-6 * max(1, abs(wanted)), (
                f"shapes {shapes}, input {n}: along a random direction {wanted} is due, found {found}")


def test_two_results_share_a_part_of_the_graph():
    x, y, other = Variable([[2.0, -1.0]]), Variable([[3.0, 5.0]]), Variable([9.0])
    h = x * y
    p, q = h * 3.0, h * x
    for result, g, keep, wanted in [(p, [[1.0, 10.0]], True, [[9, 150], [6, -30]]),
                                    (q, [[1.0, 1.0]], False, [[21, 140], [10, -29]])]:
        backward(result, g, retain_graph=keep)
        for name, leaf, right in [("x", x, wanted[0]), ("y", y, wanted[1])]:
            assert np.array_equal(leaf.grad, [right]), (
                f"3xy with [1, 10], then x²y with [1, 1]: {right} is due to {name}, found {leaf.grad}")
    assert h.grad is None and p.grad is None and other.grad is None, "only leaves of the graph have gradients"
    for name, result in [("3xy, whose xy", p), ("xy, which", h)]:
        try:
            backward(result, [[1.0, 1.0]])
        except RuntimeError as error:
            assert "retain_graph" in str(error), f"the error should name retain_graph: {error}"
        else:
            assert False, f"{name} was freed by the walk from x²y, should raise RuntimeError"
    assert np.array_equal(x.grad, [[21, 140]]), f"a refused walk adds nothing to [21, 140], found {x.grad}"


test_a_large_graph_agrees_with_nudging()
test_two_results_share_a_part_of_the_graph()
### END HIDDEN TESTS

# %% [markdown]
# Forty lines, and the notes that lesson 01 took have become slopes. Predict both, for $\sin(xy / (x + y))$ at
# 5 and 3, then nudge:

# %%
def f(x, y):
    return ((x * y) / (x + y)).sin()


x, y = Variable(np.array(5.0)), Variable(np.array(3.0))
backward(f(x, y))
print("by the walk: ", x.grad, y.grad)
print("by nudging:  ", float(f(x.data + 1e-6, y) - f(x, y)) / 1e-6, float(f(x, y.data + 1e-6) - f(x, y)) / 1e-6)

# %% [markdown]
# ## Rules for sums
#
# A sum lets every number in with slope 1. So each place of `x` receives the gradient of the sum that it went into.
# The numbers are easy; the shape is not. Summing (2, 3, 4) along axis 1 left (2, 4), and to stretch
# that over (2, 3, 4) the axis must come back, as a 1.
#
# Predict what NumPy says to, or makes of, a gradient of shape (3,) for rows of a (3, 3) matrix. Which of the two is worse?

# %%
sums_of_rows = np.array([1.0, 10.0, 100.0])
print(np.broadcast_to(sums_of_rows, (3, 3)))

# %% [markdown]
# **Task.** Write `put_back`.
#
# <details><summary>Hint 1</summary>What had <code>keepdims=True</code> done to the shape of <code>g</code>? When it was
# given, is there anything to do?</details>
# <details><summary>Hint 2</summary><code>axes_of(axis, rank)</code> turns None, -1 and tuples into plain
# numbers.</details>
# <details><summary>Hint 3</summary>Go through the axes of <code>shape</code>: 1 for each that was reduced, its own
# length for the others. Then reshape.</details>

# %% nbgrader={"grade": false, "grade_id": "autograd-put-back", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def put_back(g, shape, axis=None, keepdims=False):
    """`g` with the axes that a reduction took away, each of length 1, so that it broadcasts to `shape`.

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
# With it, the rules. The largest number of a row gets the whole gradient, and equals share it evenly.

# %%
#| exporti
def sum_rule(g, out, x, axis, keepdims):
    full = np.empty(x.shape, g.dtype)
    full[...] = g if axis is None else put_back(g, x.shape, axis, keepdims)  # one number needs no axes
    return full


def extreme_rule(g, out, x, axis, keepdims):
    first = np.equal(x, put_back(out, x.shape, axis, keepdims))
    ties = np.add.reduce(first, axis=axis, keepdims=True, dtype=g.dtype)
    with np.errstate(divide="ignore", invalid="ignore"):  # nan equals nothing: no ties, and nan for all, without noise
        return first * (put_back(g, x.shape, axis, keepdims) / ties)


derivative(sum_forward, sum_rule)
derivative(max_forward, extreme_rule)
derivative(min_forward, extreme_rule)

# %% nbgrader={"grade": true, "grade_id": "check-put-back", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_reduced_axes_come_back_as_1():
    for axis, before, wanted in [(1, (2, 4), (2, 1, 4)), (-1, (2, 3), (2, 3, 1)), (0, (3, 4), (1, 3, 4)),
                                 ((0, -1), (3,), (1, 3, 1)), (None, (), (1, 1, 1)), ((), (2, 3, 4), (2, 3, 4))]:
        g = np.arange(np.prod(before)).reshape(before)
        found = put_back(g, (2, 3, 4), axis)
        assert np.shape(found) == wanted, (
            f"(2, 3, 4) reduced along {axis} is {before}, and put back {wanted}; yours is {np.shape(found)}")
        assert np.array_equal(np.ravel(found), np.ravel(g)), f"the numbers should stay {g}, yours are {found}"


def test_kept_axes_need_nothing():
    for axis, shape in [(1, (2, 1, 4)), ((0, -1), (1, 3, 1)), (None, (1, 1, 1))]:
        try:
            found = put_back(np.ones(shape), (2, 3, 4), axis, True)
        except ValueError as error:
            assert False, f"keepdims kept the axes, shape {shape} is complete: {error}"
        assert found.shape == shape, f"keepdims kept the axes: {shape} should stay, yours is {found.shape}"
    found = put_back(np.ones((2, 4)), (2, 3, 4), 1, False)
    assert found.shape == (2, 1, 4), f"without keepdims, axis 1 of (2, 4) comes back as (2, 1, 4), yours is {found.shape}"


def test_sums_and_means_give_each_place_its_own_gradient():
    array = np.random.default_rng(2).normal(size=(3, 3, 3))
    for axis, keepdims in [(None, False), (0, False), (1, False), (-1, False), (1, True), ((0, 2), False), ((-1, 0), True)]:
        x = Variable(array)
        out = x.sum(axis, keepdims)
        g = np.random.default_rng(4).normal(size=out.shape)
        backward(out, g)
        wanted = np.array([(np.where(np.arange(27).reshape(3, 3, 3) == k, 1.0, 0).sum(axis, keepdims=keepdims) * g).sum()
                           for k in range(27)]).reshape(3, 3, 3)
        assert np.allclose(x.grad, wanted, rtol=1e-12, atol=0), (
            f"sum along {axis}, keepdims={keepdims}: the gradient should be\n{wanted}\nyours is\n{x.grad}")
    x = Variable(np.ones((2, 5), "float32"))
    backward(x.mean(axis=1), [10.0, 20.0])
    assert np.allclose(x.grad, [[2] * 5, [4] * 5], rtol=1e-6), f"means of 5: [[2...], [4...]], yours {x.grad}"


def test_the_largest_get_it_and_equals_share():
    for axis, wanted in [(1, [[0, 10, 0], [50, 0, 50]]), (-1, [[0, 10, 0], [50, 0, 50]])]:
        x = Variable([[1.0, 7.0, 3.0], [4.0, 2.0, 4.0]])
        backward(x.max(axis), [10.0, 100.0])
        assert np.allclose(x.grad, wanted), f"max along {axis} of {x.data} gives back {wanted}, yours {x.grad}"
    x = Variable([[1.0, 7.0, 3.0], [4.0, 1.0, 4.0]])
    backward(x.min(), 8.0)
    assert np.allclose(x.grad, [[4, 0, 0], [0, 4, 0]]), f"the smallest, 1, is there twice and shares 8; yours {x.grad}"


test_reduced_axes_come_back_as_1()
test_kept_axes_need_nothing()
test_sums_and_means_give_each_place_its_own_gradient()
test_the_largest_get_it_and_equals_share()

# %% nbgrader={"grade": true, "grade_id": "check-put-back-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_axes_are_put_back():
    for shape, axis in [((4, 1, 2, 3, 1), (1, -2)), ((4, 1, 2, 3, 1), -5), ((3, 3, 3), (-1, 0)), ((3, 3, 3), -2),
                        ((5,), 0), ((5,), (0,)), ((), None), ((), ()), ((2, 0, 3), 1), ((0, 3), -1), ((1, 1), (0, 1)),
                        ((2, 3), None), ((2, 3, 4, 5), (3, 1)), ((2, 3, 4, 5), (-4, 2))]:
        reduced, wanted = np.zeros(shape).sum(axis), np.zeros(shape).sum(axis, keepdims=True).shape
        g = np.arange(float(reduced.size)).reshape(reduced.shape)
        found = put_back(g=g, shape=shape, axis=axis, keepdims=False)
        assert np.shape(found) == wanted and np.array_equal(np.ravel(found), np.ravel(g)), (
            f"{shape} reduced along {axis}, put back: shape {wanted}, numbers {g}, found {found}")
        found = put_back(g.reshape(wanted), shape, axis, keepdims=True)
        assert np.shape(found) == wanted and np.array_equal(np.ravel(found), np.ravel(g)), (
            f"{shape} reduced along {axis} with keepdims stays {wanted}, found {found}")


test_other_axes_are_put_back()
### END HIDDEN TESTS

# %% [markdown]
# ## Rules for shapes
#
# Reshaping and transposing move numbers and change none. Their rules move the gradient back.
#
# Predict: axes (1, 2, 0) take shape (2, 3, 4) to (3, 4, 2). Which axes take it back? Try (1, 2, 0) once more on paper.
#
# **Task.** Write the rules of `reshape_forward(x, shape=...)`, `np.transpose(x, axes=...)` and
# `np.broadcast_to(x, shape=...)`.
#
# <details><summary>Hint 1</summary>Which shape must a gradient for <code>x</code> have?</details>
# <details><summary>Hint 2</summary>Axis <code>axes[i]</code> of <code>x</code> became axis <code>i</code>. To undo
# it, where must axis <code>i</code> go?</details>
# <details><summary>Hint 3</summary>The inverse of a permutation is <code>np.argsort</code> of it.</details>
# <details><summary>Hint 4</summary>Who sums what was stretched, anyway, after every rule? Then there is nothing to
# do for <code>broadcast_to</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "autograd-shapes", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
@rules_for(reshape_forward, np.transpose, np.broadcast_to)
def shape_rules():
    """Tell `derivative` the rules of reshape_forward, np.transpose and np.broadcast_to.

    Called as reshape_forward(x, shape=...), np.transpose(x, axes=...), with every axis named once by a number from 0,
    and np.broadcast_to(x, shape=...). The options reach the rules by name.

    >>> shape_rules()
    >>> table[np.transpose][0](np.zeros((3, 4, 2)), None, np.zeros((2, 3, 4)), axes=(1, 2, 0)).shape
    (2, 3, 4)

    Source: a permutation and its inverse, e.g. numpy.argsort, "Notes".
    """
    ### BEGIN SOLUTION
    derivative(reshape_forward, lambda g, out, x, shape: g.reshape(x.shape))
    derivative(np.transpose, lambda g, out, x, axes: np.transpose(g, np.argsort(axes)))
    derivative(np.broadcast_to, lambda g, out, x, shape: g)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-shapes", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_transposing_is_undone_not_repeated():
    for shape, axes in [((2, 2, 2), (1, 2, 0)), ((2, 3, 4), (1, 2, 0)), ((2, 3, 4), (2, 0, 1)), ((2, 3, 4), (0, 2, 1)),
                        ((2, 3), (1, 0)), ((5, 2, 3, 4), (3, 0, 1, 2)), ((3,), (0,))]:
        x = Variable(np.zeros(shape))
        places = np.arange(float(np.prod(shape))).reshape(shape)
        try:
            backward(x.transpose(*axes), places.transpose(axes))
        except (ValueError, TypeError) as error:
            assert False, f"axes {axes} of shape {shape}: {error}. Undo the permutation, with argsort(axes)"
        assert np.array_equal(x.grad, places), (
            f"axes {axes} of shape {shape}: each slope should come back to its place,\n{places}\nyours are\n{x.grad}\n"
            "Undo the permutation, with argsort(axes)")


def test_reshaping_keeps_every_slope_in_its_place():
    g = np.array([[0.5, 1, 2], [3, 5, 8]], "float32")
    for shape in [(6,), (3, 2), (1, 6, 1), (2, 3)]:
        x = Variable(np.zeros((2, 3), "float32"))
        backward(x.reshape(shape), g.reshape(shape))
        assert x.grad.shape == (2, 3) and np.array_equal(x.grad, g), f"through {shape} and back: {g}, yours {x.grad}"
    x = Variable(np.zeros((2, 3, 4)))
    for view, at in [(x.flatten(1), 11), (x.unsqueeze(1), 11), (x.unsqueeze(2).squeeze(2), 11)]:
        x.grad, g = None, np.zeros(view.shape)
        g.ravel()[at] = 7
        backward(view, g)
        assert float(x.grad[0, 2, 3]) == 7 and float(x.grad.sum()) == 7, f"shape {view.shape}: 7 belongs to x[0, 2, 3]: {x.grad}"


def test_what_was_stretched_is_summed():
    x = Variable([[1.0], [2.0]])
    backward(x.broadcast_to(3, 2, 4), np.arange(24.0).reshape(3, 2, 4))
    assert x.grad.shape == (2, 1), f"x has shape (2, 1), its gradient {x.grad.shape}"
    assert np.array_equal(x.grad, [[114], [162]]), f"each number was copied to 12 places: [[114], [162]], yours {x.grad}"


test_transposing_is_undone_not_repeated()
test_reshaping_keeps_every_slope_in_its_place()
test_what_was_stretched_is_summed()

# %% nbgrader={"grade": true, "grade_id": "check-shapes-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_shapes_are_undone():
    rng = np.random.default_rng(25)
    for shape in [(3, 2, 4, 5), (2, 1, 3, 2, 2), (1, 1), (0, 3, 2), (4, 4, 4), ()]:
        for dtype in ("float32", "float64"):
            axes, order = tuple(rng.permutation(len(shape)).tolist()), np.arange(math.prod(shape)).reshape(shape)
            flat = rng.permutation(order.size).astype(dtype)
            for name, move in [(f"transpose{axes}", lambda x: x.transpose(*axes)),
                               ("reshape to a column", lambda x: x.reshape(order.size, 1)),
                               (f"transpose{axes} and reshape", lambda x: x.transpose(*axes).reshape(order.size))]:
                x = Variable(np.zeros(shape, dtype))
                g = flat.reshape(move(order).shape)
                wanted = np.zeros(order.size, dtype)
                wanted[np.ravel(move(order))] = np.ravel(g)
                backward(move(x), g)
                assert x.grad.dtype.name == dtype and np.array_equal(x.grad, wanted.reshape(shape)), (
                    f"{name} of shape {shape} {dtype}, {g} arrives: {wanted.reshape(shape)} is due, found {x.grad}")
    for small, big in [((), (2, 3)), ((1, 3, 1), (2, 4, 3, 5)), ((2, 3), (2, 3)), ((1,), (0,)), ((4, 1), (4, 4))]:
        x, g = Variable(np.zeros(small)), rng.normal(size=big)
        places = np.broadcast_to(np.arange(x.size).reshape(small), big)
        wanted = np.bincount(places.ravel(), g.ravel(), x.size).reshape(small)
        backward(x.broadcast_to(big), g)
        assert x.grad.shape == small and np.allclose(x.grad, wanted), (
            f"{small} stretched to {big}, {g} arrives: {wanted} is due, found {x.grad}")


test_other_shapes_are_undone()
### END HIDDEN TESTS

# %% [markdown]
# ## Rules for picking and joining
#
# Picking `x[[2, 0, 2]]` copies some places, one of them twice; what was not picked has slope 0, and what was
# picked twice receives twice. Predict what NumPy makes of this:

# %%
full = np.zeros(4)
full[[2, 0, 2]] += np.array([1.0, 10.0, 100.0])
print(full)

# %% [markdown]
# 1 is lost: NumPy adds for each place once. `np.add.at` would do it, slowly. There is a counting function that
# adds up weights by place, in one run: `np.bincount(places, weights, how_many)`. It is needed only where a place can
# come twice, and only lists and arrays of whole numbers can do that.

# %%
#| exporti
def may_repeat(index):
    """Whether an index, a tuple as `plain_index` makes it, can name one place twice."""
    return any(np.ndim(part) > 0 and np.asarray(part).dtype != bool for part in index)

# %% [markdown]
# **Task.** Write the rule of `take_forward(x, index=...)`.
#
# <details><summary>Hint 1</summary>Without repetition: begin with zeros. Which shape, and which dtype?</details>
# <details><summary>Hint 2</summary>With repetition: number the places of <code>x</code> from 0, in its own shape. What does
# picking from <em>those</em> tell you?</details>
# <details><summary>Hint 3</summary><code>places = np.arange(x.size).reshape(x.shape)[index]</code>. bincount wants one
# flat row of places and one of weights.</details>
# <details><summary>Hint 4</summary><code>np.bincount(places.ravel(), np.ravel(g), x.size)</code>, and then the shape of
# <code>x</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "autograd-index", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def index_rule(g, out, x, index):
    """The gradient for `x`, when `g` arrives at x[index].

    g        ndarray of the shape of x[index]
    out      x[index]
    x        ndarray
    index    tuple of ints, slices, None, Ellipsis, lists, arrays of ints, masks
    returns  ndarray of the shape of `x`: at each place the sum of all of `g` that was picked there, 0 elsewhere

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

# %% nbgrader={"grade": true, "grade_id": "check-index", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def test_what_was_picked_twice_receives_twice():
    x = Variable([1.0, 2.0, 3.0, 4.0])
    backward(x[[2, 0, 2]], [1.0, 10.0, 100.0])
    assert np.array_equal(x.grad, [10, 0, 101, 0]), (
        f"x[[2, 0, 2]], when [1, 10, 100] arrives, gives x [10, 0, 101, 0], yours {x.grad}: "
        "NumPy's full[index] = g keeps only the last of several")
    assert x.grad.dtype.name == "float32", f"float32 should stay float32, yours is {x.grad.dtype}"
    x = Variable(np.zeros((3, 2)))
    backward(x[[1, 1, 0], [0, 0, 1]], [1.0, 10.0, 100.0])
    assert np.array_equal(x.grad, [[0, 100], [11, 0], [0, 0]]), f"place (1, 0) was picked twice, yours:\n{x.grad}"


def test_every_index_sends_slopes_where_they_came_from():
    array = np.zeros((2, 3, 4))
    for index in [1, -1, slice(None, None, -1), (1, 2), (0, slice(1, 3), -1), (Ellipsis, 0), None, ([1, 0, 1],),
                  (slice(None), [2, 0]), (slice(None), np.array([[0, 2], [2, 2]]), slice(1, 3)), (1, 2, 3), (),
                  np.arange(24).reshape(2, 3, 4) % 5 == 2, (1, np.array([True, False, True])), ([],)]:
        x = Variable(array)
        out = x[index]
        g = np.random.default_rng(5).normal(size=out.shape)
        wanted = np.zeros((2, 3, 4))
        for place, part in zip(np.ravel(np.arange(24).reshape(2, 3, 4)[index]), np.ravel(g)):
            wanted.ravel()[place] += part
        try:
            backward(out, g)
        except (ValueError, IndexError) as error:
            assert False, f"x[{index}] of shape (2, 3, 4): {error}"
        assert x.grad.shape == (2, 3, 4), f"x has shape (2, 3, 4), its gradient {x.grad.shape}"
        assert np.allclose(x.grad, wanted, rtol=1e-12, atol=0), (
            f"x[{index}] should give back\n{wanted}\nyours gives\n{x.grad}")


def test_a_fraction_stays_a_fraction():
    x = np.array([1, 2, 3])
    for index in [(1,), ([1],)]:
        found = index_rule(np.full(np.shape(x[index]), 0.5), np.asarray(x[index]), x, index)
        assert np.array_equal(found, [0, 0.5, 0]), (
            f"0.5 for x[1] should stay 0.5, yours gives {found}: make zeros of the dtype of g, not of whole numbers")
    found = index_rule(np.array([1.0, 10.0, 100.0]), None, np.zeros((2, 3)), ([1, 0, 1], [2, 1, 2]))
    assert np.shape(found) == (2, 3) and np.array_equal(found, [[0, 10, 0], [0, 0, 101]]), (
        f"places (1, 2), (0, 1) and (1, 2) of shape (2, 3) receive [[0, 10, 0], [0, 0, 101]], yours\n{found}")
    narrow = index_rule(np.array([0.5, 2.0], "float32"), None, np.zeros(3, "float32"), (slice(1, None),))
    assert narrow.dtype.name == "float32", f"float32 should stay float32, yours is {narrow.dtype}"


test_what_was_picked_twice_receives_twice()
test_every_index_sends_slopes_where_they_came_from()
test_a_fraction_stays_a_fraction()

# %% nbgrader={"grade": true, "grade_id": "check-index-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_indices_send_slopes_back():
    rng = np.random.default_rng(26)
    array = np.zeros((4, 3, 2))
    for index in [([-1, 3, 3, 0],), ([-1, 3],), (np.array([[0, -4], [2, 2]]),), (Ellipsis, [1, 1, 1]),
                  (2, Ellipsis, [0, 0]), (slice(None), None, [2, 0, 2], 0), (np.array([3, 1], "uint8"), slice(2, 0, -1)),
                  (None, -1, None), ([0, 1, 1], [2, 2, 2], [1, 0, 0]), (np.array([True, False, True, True]), [0, 0, 1]),
                  (slice(1, 1),), (array[:, :, 0] == 0,), (array != 0,), (3, 2, 1), (slice(None, None, 3), 2, -1),
                  (np.zeros((0, 2), int), 1)]:
        places = np.arange(24).reshape(4, 3, 2)[index]
        g = np.array(rng.normal(size=np.shape(places)))
        wanted = np.array([g[places == n].sum() for n in range(24)]).reshape(4, 3, 2)
        found = index_rule(g=g, out=np.array(array[index]), x=array, index=index)
        assert np.shape(found) == (4, 3, 2) and np.allclose(found, wanted, rtol=1e-12, atol=1e-12), (
            f"x[{index}] of shape (4, 3, 2), when {g} arrives: {wanted} is due, found {found}")
    x = Variable(np.array(2.0))
    backward(x[None, ...] * 1.0, [5.0])
    assert x.grad.shape == () and float(x.grad) == 5, f"x[None, ...] of shape (): 5 is due, found {x.grad}"
    x = Variable(np.zeros(3))
    backward(x[np.arange(999) % 2], np.full(999, 0.5))
    assert np.array_equal(x.grad, [250, 249.5, 0]), f"places 0 and 1, 999 times: [250, 249.5, 0], found {x.grad}"


test_other_indices_send_slopes_back()
### END HIDDEN TESTS

# %% [markdown]
# ## The rule of the product
#
# For $C = AB$ with shapes (i, k), (k, j), (i, j), the gradient $G$ has shape (i, j). What can be built of $G$ and $B$ that
# has the shape of $A$? Predict: only one product of theirs, one of them transposed, fits. That is how most people remember
# the rule. The reason: nudge $a_{ik}$, and $c_{ij}$ moves by $b_{kj}$, for every $j$.
#
# Stacks of matrices go through the same rule, the last two axes at a time. The given piece
# makes matrices of everything, also of a 1-D row or column; and where the right side is
# one matrix, a layer's weights, it lets all rows of a batch stand in one tall matrix.

# %%
#| exporti
def as_matrices(g, a, b):
    """`g`, `a` and `b` of a product, as stacks of matrices of shapes (..., i, j), (..., i, k) and (..., k, j)."""
    if b.ndim > 2:
        return (g, a, b) if a.ndim > 1 else (g[..., None, :], a[None], b)
    k, j = b.shape if b.ndim == 2 else (b.size, 1)
    rows = math.prod(a.shape[:-1])
    return g.reshape(rows, j), a.reshape(rows, k), b.reshape(k, j)


def matmul_rule(n):
    def rule(g, out, a, b):
        found, shape = matmul_slope(n, *as_matrices(g, a, b)), (a, b)[n].shape
        # A reshape that changes nothing would still be a view, and a view is copied before a leaf may keep it.
        return found if b.ndim > 2 or found.shape == shape else found.reshape(shape)
    return rule


derivative(np.matmul, matmul_rule(0), matmul_rule(1))

# %% [markdown]
# **Task.** Write `matmul_slope`.
#
# <details><summary>Hint 1</summary>For <code>a</code>, shape (i, k): in (i, j) and (k, j), which letter has to go, and which
# of the two must be turned for that?</details>
# <details><summary>Hint 2</summary><code>.T</code> reverses <em>all</em> axes. How do you exchange only the last
# two of a stack?</details>
# <details><summary>Hint 3</summary><code>b.swapaxes(-1, -2)</code> has shape (..., j, k).</details>

# %% nbgrader={"grade": false, "grade_id": "autograd-matmul", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def matmul_slope(n, g, a, b):
    """The gradient for input `n` of a @ b, for stacks of matrices.

    n        0 for the gradient of `a`, 1 for that of `b`
    g        ndarray of shape (..., i, j)
    a        ndarray of shape (..., i, k)
    b        ndarray of shape (..., k, j)
    returns  ndarray of shape (..., i, k) or (..., k, j); stacks that were broadcast are summed later

    >>> matmul_slope(0, np.array([[1.0, 10.0]]), np.zeros((1, 3)), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    array([[21., 43., 65.]])

    Source: Petersen and Pedersen, The Matrix Cookbook (2012), section 2.5.
    """
    ### BEGIN SOLUTION
    if n == 0:
        return g @ b.swapaxes(-1, -2)
    return a.swapaxes(-1, -2) @ g
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-matmul", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def test_each_weight_is_blamed_for_what_it_did():
    x, w = Variable([[1.0, 2.0, 3.0], [-1.0, 0.0, 5.0]]), Variable([[1.0, 4.0], [0.5, -2.0], [3.0, 1.0]])
    try:
        backward(x @ w, [[1.0, 10.0], [100.0, -1.0]])
    except ValueError as error:
        assert False, f"(2, 3) @ (3, 2), when (2, 2) arrives: {error}. Which of the shapes must be turned?"
    for name, leaf, wanted in [("x", x, [[41, -19.5, 13], [96, 52, 299]]), ("w", w, [[-99, 11], [2, 20], [503, 25]])]:
        assert np.array_equal(leaf.grad, wanted), f"the gradient of {name} is\n{np.array(wanted)}\nyours is\n{leaf.grad}"
        assert leaf.grad.dtype.name == "float32", f"float32 should stay float32, yours is {leaf.grad.dtype}"


def test_products_of_every_rank_agree_with_a_nudge():
    rng = np.random.default_rng(6)
    for left, right in [((2, 3), (3, 4)), ((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (5, 3, 4)),
                        ((5, 2, 3), (3,)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)),
                        ((6, 1, 2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((3, 3, 3), (3, 3, 3)), ((0, 3), (3, 2))]:
        arrays = [rng.normal(size=left), rng.normal(size=right)]
        g = rng.normal(size=np.matmul(*arrays).shape)
        leaves = [Variable(array) for array in arrays]
        try:
            backward(leaves[0] @ leaves[1], g)
        except ValueError as error:
            assert False, f"{left} @ {right}, when {g.shape} arrives: {error}"
        for n in (0, 1):
            at = rng.normal(size=arrays[n].shape)  # nudge all at once, in a random direction
            up, down = list(arrays), list(arrays)
            up[n], down[n] = arrays[n] + 1e-4 * at, arrays[n] - 1e-4 * at
            wanted = (g * (np.matmul(*up) - np.matmul(*down))).sum() / 2e-4
            found = leaves[n].grad
            assert found is not None and found.shape == arrays[n].shape, f"{left} @ {right}: input {n} has gradient {found}"
            assert np.allclose((found * at).sum(), wanted, rtol=1e-7, atol=1e-9), (
                f"{left} @ {right}: along a random direction input {n} moves the loss by {wanted}, "
                f"your gradient says {(found * at).sum()}")


def test_stacks_of_matrices_exchange_two_axes_only():
    rng = np.random.default_rng(8)
    g, a, b = rng.normal(size=(6, 5, 2, 4)), rng.normal(size=(6, 5, 2, 3)), rng.normal(size=(6, 5, 3, 4))
    for n, wanted in [(0, np.einsum("xyij,xykj->xyik", g, b)), (1, np.einsum("xyik,xyij->xykj", a, g))]:
        try:
            found = matmul_slope(n, g, a, b)
        except ValueError as error:
            assert False, f"for input {n} of stacks (6, 5, 2, 3) @ (6, 5, 3, 4): {error}. .T turns all axes around"
        assert found.shape == wanted.shape, f"input {n} has shape {wanted.shape}, your gradient {found.shape}"
        assert np.allclose(found, wanted, rtol=1e-12, atol=1e-12), f"the gradient for input {n} of a stack is wrong"


test_each_weight_is_blamed_for_what_it_did()
test_products_of_every_rank_agree_with_a_nudge()
test_stacks_of_matrices_exchange_two_axes_only()

# %% nbgrader={"grade": true, "grade_id": "check-matmul-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_products_of_thin_and_high_stacks():
    rng = np.random.default_rng(27)
    for stack in [(), (3,), (2, 1, 3), (2, 2)]:
        for i, k, j in [(1, 1, 1), (1, 4, 1), (4, 1, 3), (2, 2, 2), (3, 0, 2), (0, 2, 3), (2, 3, 0)]:
            for dtype in ("float64", "float32"):
                g, a, b = [rng.normal(size=(*stack, *shape)).astype(dtype) for shape in [(i, j), (i, k), (k, j)]]
                for n, right in [(0, (g[..., :, None, :] * b[..., None, :, :]).sum(-1)),
                                 (1, (a[..., :, :, None] * g[..., :, None, :]).sum(-3))]:
                    found = matmul_slope(n, g=g, a=a, b=b)
                    assert found.shape == right.shape and np.allclose(found, right, rtol=1e-4, atol=1e-5), (
                        f"input {n} of {a.shape} @ {b.shape}, {dtype}: {right} is due, found {found}")
                    assert found.dtype.name == dtype, f"{dtype} should stay {dtype}, found {found.dtype}"
    for left, right in [((4,), (2, 5, 4, 3)), ((2, 1, 3, 4), (4,)), ((3, 1, 1, 2), (5, 2, 6)), ((1, 4), (4, 1))]:
        a, b = Variable(rng.normal(size=left)), Variable(rng.normal(size=right))
        g = rng.normal(size=np.matmul(a.data, b.data).shape)
        backward(a @ b, g)
        for n, leaf in enumerate((a, b)):  # the product is linear in each side, so a step of any size tells the slope
            step = rng.normal(size=leaf.shape)
            moved = np.matmul(a.data, step) if n else np.matmul(step, b.data)
            found, wanted = (leaf.grad * step).sum(), (g * moved).sum()
            assert leaf.grad.shape == leaf.shape and abs(found - wanted) < 1e-9, (
                f"{left} @ {right}: a step of input {n} moves the loss by {wanted}, the gradient says {found}")


test_products_of_thin_and_high_stacks()
### END HIDDEN TESTS

# %% [markdown]
# ## No notes, please
#
# Measuring how good a network is, or changing its weights, needs results and no slopes. Notes would
# cost time and hold memory for nothing. `recording.on` of lesson 01 says whether they are taken in this thread. It must
# be what it was before when the block ends, whatever happened inside.
#
# Predict three traps: a block inside a block, an exception in the middle, and a second thread.
#
# **Task.** Write the body of `no_grad`. Above it, `contextlib.contextmanager` makes of one function with
# a `yield` both a `with` block and a decorator: what stands before the `yield` happens on the way in.
#
# <details><summary>Hint 1</summary>What has to be remembered on the way in?</details>
# <details><summary>Hint 2</summary>Inside another <code>no_grad()</code>, what must <code>recording.on</code> be
# afterwards?</details>
# <details><summary>Hint 3</summary>An exception appears at the <code>yield</code>. Which Python statement runs something
# whatever happens?</details>

# %% nbgrader={"grade": false, "grade_id": "autograd-no-grad", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
@contextlib.contextmanager
def no_grad():
    """Take no notes in this thread: as a block, `with no_grad():`, or above a function, `@no_grad()`.

    Afterwards `recording.on` is what it was before, also after an exception, and inside another no_grad().

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

# %% tags=["learner-side"]
import threading


def noted_around(inner=None):
    """Whether notes are taken before, inside and after no_grad(), and in what happens inside, if anything.

    inner  "again": another no_grad(), looked at after it; "thread": another thread; "raise": an exception, "raised"
           stands for it where it came out
    """
    x, found = Variable(3.0), []

    def look():
        found.append((x * x).requires_grad)

    look()
    try:
        with no_grad():
            look()
            if inner == "again":
                with no_grad():
                    pass
                look()
            elif inner == "thread":
                thread = threading.Thread(target=look)
                thread.start()
                thread.join()
            elif inner == "raise":
                raise ValueError("on purpose")
    except ValueError:
        found.append("raised")
    look()
    recording.on = True
    return found


def squared_quietly(x, times):
    """x * x so many times from a function that is decorated with no_grad(), and once more without."""
    quiet = no_grad()(lambda x: x * x)
    return [*[quiet(x) for _ in range(times)], x * x]

# %% nbgrader={"grade": true, "grade_id": "check-no-grad", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_no_notes_are_taken_inside():
    found = noted_around()
    assert found[1] is False, "inside no_grad() x * x still requires a gradient: set recording.on, not a name of your own"
    assert found == [True, False, True], f"before, inside and after, x * x should want a gradient: yes, no, yes; yours {found}"


def test_a_block_inside_a_block_restores_what_was():
    found = noted_around("again")
    assert found == [True, False, False, True], (
        f"before, inside, after an inner no_grad(), and after both: yes, no, no, yes; yours {found}. "
        "Put back what was before, not True")


def test_an_exception_does_not_leave_it_off():
    found = noted_around("raise")
    assert found[-1] is True, "after an exception inside, no notes are taken any more: use try and finally"
    assert "raised" in found, (
        "an exception inside no_grad() disappeared, and a failed block looks as if it had worked. It must come out "
        "again: finally without except")
    assert found == [True, False, "raised", True], f"before, inside, raised, after: yes, no, raised, yes; yours {found}"


def test_other_threads_go_on():
    found = noted_around("thread")
    assert found[2:3] == [True], "no_grad() here switched off the notes of another thread: use recording.on"
    assert found == [True, False, True, True], (
        f"before, inside, in another thread meanwhile, after: yes, no, yes, yes; yours {found}")


def test_no_grad_decorates_a_function():
    x = Variable([2.0, 3.0])
    *quiet, loud = squared_quietly(x, 2)
    for out in quiet:
        assert np.array_equal(out.data, [4, 9]), f"the function should return its result, [4, 9], yours {out.data}"
        assert not out.requires_grad, "inside a function decorated with @no_grad() no notes are taken, yours takes some"
    assert loud.requires_grad, "after the decorated function notes should be taken again"


test_no_notes_are_taken_inside()
test_a_block_inside_a_block_restores_what_was()
test_an_exception_does_not_leave_it_off()
test_other_threads_go_on()
test_no_grad_decorates_a_function()

# %% [markdown]
# For one tensor rather than a stretch of code there is `detach`, since lesson 01: the same numbers, as if they had been
# given. No slope passes it. Predict the slope of $x \cdot \mathrm{detach}(x)$ at 3, and of $x \cdot x$.

# %%
x = Variable(3.0)
backward(x * x.detach())
print(x.grad)

# %% [markdown]
# ## An operation of your own
#
# Sometimes a rule should keep something that was computed on the way forward, and a class reads better than a line in the
# table. `Function` is that class: you say `forward` and `backward`, it says the rest.

# %%
#| exporti
def checked_forward(forward):
    """A forward method that says so when it returns anything but one array."""

    @functools.wraps(forward)
    def checked(self, *arrays, **options):
        out = forward(self, *arrays, **options)
        if out is None or isinstance(out, (tuple, list)):
            said = "None: is `return` missing?" if out is None else f"a {type(out).__name__}: one operation, one result"
            raise TypeError(f"{type(self).__name__}.forward should return one array, and returned {said}")
        return out

    return checked


def checked_slopes(found, arrays, name):
    """What a backward method returned, as a tuple of arrays that fit `arrays`, or an error that says what does not."""
    if found is None:
        raise ValueError(f"{name}.backward returned None: is `return` missing? (For one input without a slope: (None,).)")
    found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
    if len(found) != len(arrays):
        raise ValueError(f"{name}.backward should return {len(arrays)} gradients, one for each input, not {len(found)}")
    found = tuple([part if part is None else np.asarray(operand(part)) for part in found])
    for n, (part, array) in enumerate(zip(found, arrays)):
        if part is not None and part.shape != np.shape(array):
            raise ValueError(f"{name}.backward returned a gradient of shape {part.shape} for input {n}, which has "
                             f"shape {np.shape(array)}")
    return found

# %% [markdown]
# The saved arrays live in the object, and there lies a trap. Predict: if the *same* object computes `f(x)` and then
# `f(f(x))`, what has it saved when the walk comes to the inner one?
#
# **Task.** Write `Function.__call__`.
#
# <details><summary>Hint 1</summary>Which door does every operation go through? And what, of a Function, is a function of
# arrays?</details>
# <details><summary>Hint 2</summary><code>copy.copy(self)</code> is a new object with the same
# settings.</details>
# <details><summary>Hint 3</summary>A method remembers its object: <code>call.forward</code> may be handed to
# <code>apply</code> like any function, and the note will hold both.</details>

# %% nbgrader={"grade": false, "grade_id": "autograd-function", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
class Function:
    """An operation with its own rule. Subclasses define

    forward(self, *arrays)   arrays in, one array out; self.save_for_backward(...) keeps arrays for later
    backward(self, grad)     from the gradient of the result, that of the input; several inputs: a tuple, in which
                             None stands for "has no slope". self.saved_tensors is the tuple of what was kept

    and are used as Square()(x), where Square() may take settings, or as Square.apply(x). An object can be used many
    times, also on its own result: each use works on a fresh copy of it, which holds what that use saved.

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
        for name in ("forward", "backward"):
            if isinstance(vars(cls).get(name), (staticmethod, classmethod)):
                raise TypeError(f"{cls.__name__}.{name}: methods of a Function take self, not ctx. Leave @staticmethod "
                                "out, and say self.save_for_backward(...) and self.saved_tensors")
        if "forward" in vars(cls):
            cls.forward = checked_forward(cls.forward)

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
        return checked_slopes(self.backward(g), arrays, type(self).__name__)

# %% tags=["learner-side"]
class Cube(Function):
    """x to the power 3."""

    def forward(self, x):
        self.save_for_backward(x)
        return x * x * x

    def backward(self, grad):
        (x,) = self.saved_tensors
        return 3 * x * x * grad


class Scaled(Function):
    """k * x, with k set once."""

    def __init__(self, k):
        self.k = k

    def forward(self, x):
        return self.k * x

    def backward(self, grad):
        return self.k * grad


class Product(Function):
    """a * b + shift, for inputs of one shape."""

    def forward(self, a, b, shift=0):
        self.save_for_backward(a, b)
        return a * b + shift

    def backward(self, grad):
        a, b = self.saved_tensors
        return grad * b, grad * a


class Pretended(Function):
    """x * x, with a slope that is not the true one: 100."""

    def forward(self, x):
        return x * x

    def backward(self, grad):
        return 100 * grad


class Wrong(Product):
    """Returns the gradients that it is told to."""

    def __init__(self, found):
        self.found = found

    def backward(self, grad):
        return self.found

# %% nbgrader={"grade": true, "grade_id": "check-function", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_a_function_computes_and_has_a_slope():
    x = Variable([2.0, -3.0])
    for out in (Cube()(x), Cube.apply(x)):
        x.grad = None
        assert isinstance(out, Tensor) and np.array_equal(out.data, [8, -27]), f"2³ and (-3)³ are 8 and -27, yours: {out}"
        assert out.requires_grad, "x wants a gradient, so its cube must too: go through apply"
        backward(out, [1.0, 10.0])
        assert np.array_equal(x.grad, [12, 270]), f"the slope of x³ is 3x²: [12, 270] is due, yours {x.grad}"
        assert x.grad.dtype.name == "float32", f"float32 should stay float32, yours is {x.grad.dtype}"
    x.grad = None
    backward(Pretended()(x), [1.0, 10.0])
    assert np.array_equal(x.grad, [100, 1000]), (
        f"this backward says 100 for every slope: [100, 1000] is due, yours {x.grad}. The walk must call the backward of "
        "the class, and forward must be given arrays, not Tensors: let apply call it")


def test_one_object_serves_many_times():
    x, y, cube = Variable(2.0), Variable(5.0), Cube()
    backward(cube(cube(x)) + cube(y))
    assert float(x.grad) == 9 * 2**8, (
        f"(x³)³ = x⁹ has slope 9·2⁸ = {9 * 2**8}, yours is {x.grad}: the inner use must not lose what it saved to the outer")
    assert float(y.grad) == 75, f"y³ has slope 75 at 5, yours is {y.grad}: each use needs an object of its own"


def test_settings_stay():
    x, triple = Variable([1.0, 2.0]), Scaled(3.0)
    try:
        out = triple(triple(x))
    except TypeError as error:
        assert False, f"Scaled(3.0) has a setting, which a new object would lack: {error}. Copy the object"
    assert np.array_equal(out.data, [9, 18]), f"3 · 3 · [1, 2] is [9, 18], yours {out.data}"
    backward(out, [1.0, 10.0])
    assert np.array_equal(x.grad, [9, 90]), f"9x has slope 9: [9, 90] is due, yours {x.grad}"


def test_several_inputs_each_get_their_own():
    a, b = Variable([2.0, 3.0]), Variable([5.0, -7.0])
    out = Product()(a, b, shift=100)
    assert np.array_equal(out.data, [110, 79]), f"a * b + 100 is [110, 79], yours {out.data}: pass the options on"
    backward(out, [1.0, 10.0])
    assert np.array_equal(a.grad, [5, -70]), f"the gradient of a is g * b = [5, -70], yours {a.grad}"
    assert np.array_equal(b.grad, [2, 30]), f"the gradient of b is g * a = [2, 30], yours {b.grad}"
    a.grad = None
    backward(Product.apply(a, Tensor([1.0, 4.0])), [1.0, 10.0])
    assert np.array_equal(a.grad, [1, 40]), f"the gradient of a is [1, 40], yours {a.grad}"


def test_wrong_gradients_are_named():
    for returned, words in [(np.ones(2), "2 gradients"), ((np.ones(2), np.ones(3)), "(3,)"), ((np.ones(2),) * 3, "not 3")]:
        try:
            backward(Wrong(returned)(Variable([1.0, 2.0]), Variable([3.0, 4.0])), [1.0, 1.0])
        except ValueError as error:
            assert words in str(error) and "Wrong" in str(error), f"the error should say Wrong and {words}, yours: {error}"
        else:
            assert False, f"a backward that returns {returned} for two inputs of shape (2,) should raise ValueError"


test_a_function_computes_and_has_a_slope()
test_one_object_serves_many_times()
test_settings_stay()
test_several_inputs_each_get_their_own()
test_wrong_gradients_are_named()

# %% nbgrader={"grade": true, "grade_id": "check-function-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_functions_inside_functions():
    a, b, product, half = Variable([2.0, 3.0]), Variable([-1.0, 4.0]), Product(), Scaled(0.5)
    out = product(half(product(a, b, shift=1)), product(b, half(a)), shift=-3)
    assert np.array_equal(out.data, [-2.5, 36]), f"(ab + 1) / 2 · ab / 2 - 3 is [-2.5, 36], found {out.data}"
    backward(out, [8.0, 1.0])
    for name, leaf, wanted in [("a", a, [6, 25]), ("b", b, [-12, 18.75])]:  # (2ab + 1) / 4 times the other
        assert np.array_equal(leaf.grad, wanted), f"the gradient of {name} is {wanted}, found {leaf.grad}"
    for shape in [(), (1, 1), (0, 2), (2, 1, 3)]:
        x = Variable(np.full(shape, -2.0))
        out = Cube.apply(Scaled(3.0)(Cube()(x)))
        backward(out, np.full(shape, 0.5))
        assert np.array_equal(out.data, np.full(shape, -13824.0)), f"(3x³)³ at -2 is -13824, found {out.data}"
        assert x.grad.shape == shape and np.array_equal(x.grad, np.full(shape, 0.5 * 243 * 256)), (
            f"27x⁹ has slope 243x⁸, shape {shape}, 0.5 arrives: {0.5 * 243 * 256} is due, found {x.grad}")
    a, b = Variable([2.0, 3.0]), Variable([5.0, 7.0])
    backward(Wrong((None, np.array([10.0, 20.0])))(a, b), [1.0, 1.0])
    assert a.grad is None and np.array_equal(b.grad, [10, 20]), f"None, [10, 20] is due, found {a.grad}, {b.grad}"
    plain, given = Cube()(Tensor([1.0, 2.0])), Product()(np.array([2.0, 2.0]), b, shift=1.0)
    assert np.array_equal(plain.data, [1, 8]) and not plain.requires_grad, "nobody wants a gradient of this cube"
    b.grad = None
    backward(given, [1.0, 10.0])
    assert np.array_equal(b.grad, [2, 20]), f"an array times b, when [1, 10] arrives: [2, 20] is due, found {b.grad}"


test_functions_inside_functions()
### END HIDDEN TESTS

# %% [markdown]
# ## Who checks the rules?
#
# A wrong rule raises no error; the network just learns badly, for weeks. But there is a witness who knows nothing of
# rules: nudge one number up and down, look at the loss. Slow, and good for a test.
#
# The size of the nudge $h$ is a bargain. Predict which is best for $e^x$ at 1, and why small ones are *worse*:

# %%
for h in (1e-1, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11):
    one_side = (math.exp(1 + h) - math.exp(1)) / h
    both = (math.exp(1 + h) - math.exp(1 - h)) / (2 * h)
    print(f"h = {h:.0e}   error, one side {abs(one_side - math.e):.0e}   both sides {abs(both - math.e):.0e}")

# %% [markdown]
# The difference of two nearly equal numbers loses its digits: lesson 01 met that in the variance. Nudging both ways
# cancels the curve's bend, and $h = 10^{-5}$ in float64 leaves about ten good digits. In float32 it leaves two.
#
# **Task.** Write `slope_by_nudging`, for one number among many.
#
# <details><summary>Hint 1</summary>Write into <code>arrays[n][at]</code>. What has to be remembered first, and done
# last?</details>
# <details><summary>Hint 2</summary>Up and down are how far apart?</details>
# <details><summary>Hint 3</summary>Call <code>f(*arrays)</code> twice: once at <code>middle + step</code>, once at
# <code>middle - step</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "autograd-nudge", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% tags=["learner-side"]
def nudged(f, arrays, places, step=1e-5):
    """The slopes of f(*arrays) that slope_by_nudging finds at each of the places (n, at), and the arrays afterwards."""
    return [slope_by_nudging(f, arrays, n, at, step) for n, at in places], arrays

# %% nbgrader={"grade": true, "grade_id": "check-nudge", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_the_slope_is_found_at_each_place():
    f = lambda a, b: float((a**3).sum() + 7 * (b[0] * a[1]).sum())
    for n, at, wanted in [(0, (0, 2), 0.75), (0, (1, 0), 26.0), (0, (1, 1), 21.75), (1, (0, 0), 14.0), (1, (1, 2), 0.0)]:
        arrays = [np.array([[1.0, -2.0, 0.5], [2.0, 0.5, -1.0]]), np.array([[2.0, 3.0, 1.0], [9.0, 9.0, 9.0]])]
        found = float(slope_by_nudging(f, arrays, n, at))
        assert abs(found - wanted) < 1e-6, f"the slope for array {n} at {at} is {wanted}, yours {found:.6f}"


def test_the_bend_of_the_curve_cancels():
    for step in (1e-5, 1e-3):
        found = float(slope_by_nudging(lambda x: float(np.exp(3 * x).sum()), [np.array([1.0, 0.5])], 0, (0,), step))
        wanted = 3 * np.exp(3.0) * (1 + 1.5 * step**2)
        assert abs(found / wanted - 1) < 1e-7, (
            f"with step {step} two nudges, up and down, give {wanted:.6f} for exp(3x) at 1, yours {found:.6f}: "
            "nudge both ways, and divide by the distance")


def test_every_number_is_put_back():
    seen, arrays = [], [np.array([0.1, 0.7]), np.array([[0.3]])]
    f = lambda a, b: seen.append((a.copy(), b.copy())) or float(a.sum())
    _, after = nudged(f, arrays, [(0, (1,))], 0.125)
    moved = sorted(float(a[1]) for a, b in seen)
    assert moved[0] == 0.7 - 0.125 and moved[-1] == 0.7 + 0.125, (
        f"0.7 should be nudged to 0.575 and 0.825, yours went to {moved}")
    assert all(a[0] == 0.1 and b[0, 0] == 0.3 for a, b in seen), "nudge one number, and leave the others where they are"
    assert after[0][1] == 0.7, f"0.7 should be 0.7 again afterwards, exactly, yours is {float(after[0][1])!r}"
    numbers = np.random.default_rng(9).normal(size=200)
    _, (after,) = nudged(lambda a: float(a.sum()), [numbers.copy()], [(0, (n,)) for n in range(200)])
    moved = int((after != numbers).sum())
    assert moved == 0, (
        f"of 200 numbers, {moved} are not exactly as they were after the nudges: adding and subtracting a step rounds. "
        "Remember the number itself, and put it back")


test_the_slope_is_found_at_each_place()
test_the_bend_of_the_curve_cancels()
test_every_number_is_put_back()

# %% [markdown]
# The check around it is given. A result of many numbers is weighed with a random gradient first: with ones,
# a rule that mixes up places would often pass. Only copies of the inputs are touched.

# %%
#| export
def numerical_gradient_check(f, inputs, tolerance=1e-5, step=1e-5):
    """Compare the gradients of f(*inputs) with nudges of every number of every input.

    f          a function of Tensors that returns a Tensor, of any shape, and the same one each time
    inputs     Tensors or arrays of fractions, or a single one; the check computes with float64 copies of them
    tolerance  the largest error allowed, relative to slopes above 1 and absolute below
    returns    True

    Raises AssertionError, naming the input, the place and both numbers, where they differ.

    >>> numerical_gradient_check(lambda x, y: (x * y).sin(), [Variable([1.0, 2.0]), Variable([[3.0], [0.5]])])
    True
    """
    inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    arrays = [np.array(operand(x), np.float64) for x in inputs]
    leaves = [Variable(array) for array in arrays]
    try:
        inspect.signature(f).bind(*leaves)
    except TypeError as error:
        raise TypeError(f"f does not take the {len(leaves)} inputs given, one argument for each entry of the list "
                        f"({error}). A single input stands alone: Tensor([1.0, 2.0])") from None
    except ValueError:
        pass  # some functions written in C do not say what they take
    out = f(*leaves)
    if not isinstance(out, Tensor):
        raise TypeError(f"f returned a {type(out).__name__} and no Tensor: float() and .data cut off the notes")
    if out.dtype != np.float64:
        raise ValueError(f"the result is {out.dtype} though the inputs are float64: too few digits to compare slopes")
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
                raise AssertionError(f"input {n} at {at}: the rules say {slopes[at]:.8g}{note}, a nudge says {wanted:.8g}")
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
# The notes can be drawn. Nothing here is yours to write; read `draw_graph` as one more walk. It makes text in the DOT
# language and, where the program `dot` is missing, a plain picture of its own.

# %%
#| exporti
def label_of(x, names):
    """What stands in the box of an input or a result: its name or operation, and its shape or number."""
    if isinstance(x, Tensor):
        made = x.creator.op.__name__.removesuffix("_forward") if x.creator is not None and x.creator.op else ""
        kind = next((name for name, tensor in names.items() if tensor is x), made or ("leaf" if x.requires_grad else "given"))
        return f"{kind} {x.shape}" if x.ndim else f"{kind} = {x.item():.4g}"
    return f"{x:.4g}" if isinstance(x, (int, float)) else f"given {np.shape(x)}"


def boxes_and_arrows(tensor, names):
    """([(label, level, kind)], [(from, to)]) with inputs on smaller levels than what is made of them."""
    boxes, arrows, place = [], [], {}

    def box(x, level):
        kind = "made" if getattr(x, "creator", None) is not None else "leaf" if getattr(x, "requires_grad", False) else "given"
        boxes.append((label_of(x, names), level, kind))
        return len(boxes) - 1

    for node in oldest_first(tensor) or [tensor]:
        sources = []
        for x in node.creator.inputs if node.creator is not None else ():
            if not isinstance(x, Tensor):
                sources.append(box(x, 0))
                continue
            if x not in place:
                place[x] = box(x, 0)
            sources.append(place[x])
        place[node] = box(node, 1 + max((boxes[s][1] for s in sources), default=-1))
        arrows += [(s, place[node]) for s in sources]
    for name, x in names.items():
        if not isinstance(x, Tensor) or x not in place:
            raise ValueError(f"{name} is no tensor of this graph: name what the result was made from, as in x=x")
    return boxes, arrows

# %%
#| export
class Graph:
    """A drawing of how a result was made: `.source` in the DOT language, `.svg()`, `.render()`; a picture in notebooks."""

    def __init__(self, boxes, arrows):
        self.boxes, self.arrows = boxes, arrows

    @property
    def source(self):
        """The graph in the DOT language of Graphviz."""
        looks = {"made": "box", "leaf": "ellipse", "given": "plaintext"}
        lines = [f'  n{n} [label="{label.replace(chr(34), chr(39))}", shape={looks[kind]}];'
                 for n, (label, _, kind) in enumerate(self.boxes)]
        return "\n".join(["digraph {", *lines, *[f"  n{a} -> n{b};" for a, b in self.arrows], "}"])

    def svg(self):
        """The picture, as text: by Graphviz where it is installed, else level by level."""
        return self._graphviz("svg").decode() if self._graphviz else self.plain_svg()

    def render(self, filename="graph", format="svg"):
        """Write the picture to `filename` with the ending `format`, and return the path."""
        path = Path(f"{filename}.{format}")
        if format != "svg" and not self._graphviz:
            raise RuntimeError(f"{format} pictures need Graphviz: its program `dot` and the Python package `graphviz`; "
                               "svg works without")
        path.write_bytes(self._graphviz(format) if self._graphviz else self.plain_svg().encode())
        return path

    @property
    def _graphviz(self):
        try:
            import graphviz
        except ImportError:
            return None
        return shutil.which("dot") and (lambda format: graphviz.Source(self.source).pipe(format=format))

    def plain_svg(self):
        """The picture without Graphviz: one row per level, inputs above, straight arrows."""
        rows, at = {}, {}
        for n, (label, level, _) in enumerate(self.boxes):
            x = rows.get(level, 10)
            at[n] = x, 10 + 60 * level, 16 + 7 * len(label)
            rows[level] = x + at[n][2] + 20
        width, height = max(rows.values(), default=10), 60 * len(rows)
        parts = ['<defs><marker id="tip" orient="auto" markerWidth="8" markerHeight="8" refX="7" refY="3">'
                 '<path d="M0,0 L7,3 L0,6"/></marker></defs>']
        for a, b in self.arrows:
            (x1, y1, w1), (x2, y2, w2) = at[a], at[b]
            parts.append(f'<line x1="{x1 + w1 / 2}" y1="{y1 + 26}" x2="{x2 + w2 / 2}" y2="{y2}" stroke="black" '
                         'marker-end="url(#tip)"/>')
        for n, (label, _, kind) in enumerate(self.boxes):
            x, y, w = at[n]
            look = {"made": 'fill="white" stroke="black"', "leaf": 'fill="#cde" stroke="black" rx="13"', "given": 'fill="none"'}
            parts.append(f'<rect x="{x}" y="{y}" width="{w}" height="26" {look[kind]}/><text x="{x + w / 2}" y="{y + 17}" '
                         f'text-anchor="middle" font-family="monospace" font-size="11">{html.escape(label)}</text>')
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">{"".join(parts)}</svg>'

    def _repr_svg_(self):
        return self.svg()


def draw_graph(tensor, /, **names):
    """Draw how `tensor` was made, from its notes.

    names    tensors to be shown by name, as in draw_graph(loss, x=x, w=w)
    returns  a Graph

    >>> x = Variable([1.0, 2.0])
    >>> print(draw_graph((2.0 * x).sum(), x=x).source)
    digraph {
      n0 [label="2", shape=plaintext];
      n1 [label="x (2,)", shape=ellipse];
      n2 [label="multiply (2,)", shape=box];
      n3 [label="sum = 6", shape=box];
      n0 -> n2;
      n1 -> n2;
      n2 -> n3;
    }
    """
    if tensor.creator is FREED:
        raise RuntimeError("backward() has freed the notes of this result: draw before backward(), or say "
                           "backward(retain_graph=True)")
    return Graph(*boxes_and_arrows(tensor, names))

# %% alt="The graph of an expression, from the boxes x and w over the matrix product, tanh and times to the sum; x has two arrows."
x, w = Variable([[1.0, 2.0]]), Variable([[3.0], [-1.0]])
draw_graph(((x @ w).tanh() * x).sum(), x=x, w=w)

# %% [markdown]
# ## What a graph weighs
#
# Notes hold arrays: all that the rules may need. A network that is run is light, one that will learn
# keeps every layer's results until the walk comes by. Predict, for 20 operations on a tensor of 400 kB: how much
# memory inside `no_grad`, with notes, after the walk, and after a walk with `retain_graph=True`?

# %%
import tracemalloc


def chain(x):
    for _ in range(20):
        x = x.sin()
    return x.sum()


def kilobytes(make):
    """The memory that stays in use while the result of make() is held."""
    tracemalloc.start()
    kept = make()
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return used // 1000


def walked(retain_graph):
    x = Variable(np.ones(100_000, "float32"))
    result = chain(x)
    backward(result, retain_graph=retain_graph)
    return x, result


print("no notes:          ", kilobytes(lambda: no_grad()(chain)(Variable(np.ones(100_000, "float32")))), "kB")
print("with notes:        ", kilobytes(lambda: chain(Variable(np.ones(100_000, "float32")))), "kB")
print("after the walk:    ", kilobytes(lambda: walked(False)), "kB")
print("with retain_graph: ", kilobytes(lambda: walked(True)), "kB")

# %% [markdown]
# After the walk only `x` and its gradient are left. This is why a loop that collects `losses.append(loss)` before any
# walk, instead of `losses.append(float(loss))`, fills the memory of any machine.

# %% [markdown]
# ## One operation or seven?
#
# Lesson 04 made cross-entropy one operation, `cross_entropy_forward`, although it could be built of a maximum, a
# difference, an exponential, a sum, a logarithm... Each of these would have a rule of its own, and an array to keep. But all
# of them together have a rule of one line. The loss of a row is
# $\log \sum_j e^{z_j} - \sum_j t_j z_j$, with $t$ the target; its slope with respect to $z_j$ is the probability that the
# network gave, minus the one it should have given:
#
# $$\mathrm{softmax}(z)_j - t_j$$
#
# Smoothing changes the target only: a share of it goes evenly to all classes.

# %%
#| exporti
from tinytorch.core.losses import cross_entropy_forward


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
from tinytorch.core.losses import cross_entropy

scores = Variable(np.random.default_rng(0).normal(size=(4, 3)))
print(numerical_gradient_check(lambda z: cross_entropy(z, [2, 0, 1, 0], label_smoothing=0.1), scores))
backward(cross_entropy(scores, [2, 0, 1, 0]))
print((4 * scores.grad).round(3))

# %% [markdown]
# Rows sum to 0: what the true class gains, the others lose.
#
# ## Two moons
#
# Everything together. Two half-moons reach into each other, so no straight line parts them. The network is
# made of parts from lessons 02 to 04, written before there was a slope in sight; none of their lines changes. One
# step of learning: run, measure, walk back, and move every weight a little against its slope.
#
# Predict the share of points on the right side before learning, and what shape the boundary will take.

# %%
from tinytorch.core.activations import Tanh
from tinytorch.core.layers import Dense, Sequential, manual_seed
from tinytorch.core.losses import binary_cross_entropy_with_logits

rng = np.random.default_rng(1)
angle = rng.uniform(0, np.pi, 200)
upper = np.arange(200) < 100
points = np.where(upper, [np.cos(angle), np.sin(angle)], [1 - np.cos(angle), 0.5 - np.sin(angle)]).T
points = Tensor((points + rng.normal(0, 0.12, (200, 2))).astype("float32"))
moon = Tensor(upper[:, None].astype("float32"))

manual_seed(0)
network = Sequential(Dense(2, 16), Tanh(), Dense(16, 16), Tanh(), Dense(16, 1))


@no_grad()
def share_right():
    return float(np.mean((network(points).data > 0) == upper[:, None]))

# %%
print(f"before: {share_right():.1%} of the points on the right side")
losses = []
for step in range(300):
    loss = binary_cross_entropy_with_logits(network(points), moon)
    backward(loss)
    for parameter in network.parameters():
        parameter.data -= 0.5 * parameter.grad
        parameter.grad = None
    losses.append(float(loss))
print(f"after:  {share_right():.1%}, the loss fell from {losses[0]:.3f} to {losses[-1]:.3f}")

# %% alt="Left: two half-moons of points, and between them a curved band where the network is undecided. Right: the loss against the step; it falls from 0.6, rests near 0.2, and falls again."
import matplotlib.pyplot as plt

across, up = np.meshgrid(np.linspace(-1.6, 2.6, 90), np.linspace(-1.2, 1.7, 70))
with no_grad():
    grid = network(Tensor(np.stack([across, up], -1).astype("float32"))).sigmoid().data[..., 0]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
left.contourf(across, up, grid, levels=[0, 0.25, 0.5, 0.75, 1], cmap="RdBu", alpha=0.6)
left.scatter(*points.data.T, c=upper, cmap="RdBu", edgecolors="black", s=14)
left.set(xlabel="first coordinate", ylabel="second coordinate", title="probability of the upper moon")
right.plot(losses)
right.set(xlabel="step", ylabel="loss (nats)", title="learning")
figure.tight_layout()

# %% [markdown]
# Here `backward(loss)` was the one you wrote above. After `tito export autograd`, `loss.backward()` is the same call,
# for every tensor of the package.
#
# ## Look back
#
# 1. Forgetting `parameter.grad = None` above does not break the program. What does it do instead? Measure the loss
#    after 300 steps, and explain why adding up was the right choice for `backward` all the same.
# 2. Count the multiplications in a matrix product of shapes (64, 784) and (784, 256) and in its two rules. How much does one
#    step backward cost, in steps forward? Which of the two products is spared in the first layer, and by which line of yours?
# 3. `x = x * 1.0001 + 0.1`, 50,000 times: how long do running and walking take per operation on your machine, and
#    how much of that is arithmetic? (`np.multiply` of the same array tells.) What follows for the size of the arrays in a
#    network?
