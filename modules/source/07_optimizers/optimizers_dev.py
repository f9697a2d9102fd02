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
#     - training
#     - convolutions
#     - transformers
#     hours: 5
#     prerequisites:
#     - tensor
#     - layers
#     - autograd
#     summary: From a slope to a step, for a million weights at once
#     title: Optimizers
# ---

# %% [markdown]
# # 07. Optimizers
#
# Autograd says for each weight which way is down. It does not say how far. Too short a step and training takes a
# year; too long a step and it explodes. This chapter turns slopes into steps, in the ways that trained nearly every
# network you have heard of, and each of them fits on a line or two.
#
# **You need** 01 (Tensor), 03 (layers), 06 (autograd). **You write** SGD with momentum, Adam and AdamW, parameter
# groups, clipping, schedules, and a state that can be saved and resumed to the last bit.

# %%
#| default_exp core.optimizers
#| export
import copy
import math

import numpy as np

from tinytorch.core.layers import Module
from tinytorch.core.tensor import Tensor

# %% [markdown]
# ## Downhill
#
# Here is a landscape small enough to draw: a valley in two weights, flat along the first and thirty times as steep
# along the second. Real losses are like that, in a million directions.

# %%
def valley(w):
    """How high it is at w = (w0, w1)."""
    return 0.5 * (w[0] ** 2 + 30 * w[1] ** 2)


def slope_of_valley(w):
    """Its slope there, worked out by hand."""
    return np.array([w[0], 30 * w[1]])

# %% [markdown]
# A slope points uphill, so a step goes against it, and how far is the *learning rate*, `lr`: the weight moves by
# `lr` times its slope.
#
# The weights are changed *in place*. Others hold the same array, layers above all; a new array would be an improvement
# that nobody sees. The slopes stay as they are: somebody may want to print or to clip them.
#
# **Task.** Write `descend`.
#
# <details><summary>Hint 1</summary>Which way does a positive slope send the weight?</details>
# <details><summary>Hint 2</summary><code>w = w - ...</code> gives the name <code>w</code> to a new array. Which
# operator writes into the old one?</details>

# %% nbgrader={"grade": false, "grade_id": "optimizers-descend", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def descend(w, g, lr):
    """One step against the slope, in place.

    w        ndarray: the weights; changed
    g        ndarray of the same shape and dtype: the slope of the loss with respect to each weight; not changed
    lr       how far to go for a slope of 1, per step
    returns  None

    >>> w = np.array([1.0, 5.0])
    >>> descend(w, np.array([2.0, -20.0]), lr=0.1)
    >>> w
    array([0.8, 7. ])

    Source: Cauchy, Méthode générale pour la résolution des systèmes d'équations simultanées (1847).
    """
    ### BEGIN SOLUTION
    w -= lr * g
    ### END SOLUTION

# %% [markdown]
# Many functions of this lesson write into arrays, so the checks call them on copies, through this:

# %% tags=["learner-side"]
def tried(function, *inputs, **options):
    """What `function` returned, and the arrays among its inputs as it left them. It gets copies that nobody else has."""
    given = [np.array(x) if isinstance(x, np.ndarray) else x for x in inputs]
    result = function(*given, **options)
    result = np.array(result) if isinstance(result, np.ndarray) else result
    return result, [x for x in given if isinstance(x, np.ndarray)]

# %% nbgrader={"grade": true, "grade_id": "check-descend", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_a_step_goes_against_the_slope():
    w, g = np.array([[1, -2, 3000], [0.5, 0, -4]], "float32"), np.array([[2, -20, 1e5], [0, 3, -0.25]], "float32")
    for lr in (0.1, 0.004, 2.0):
        result, (after, _) = tried(descend, w, g, lr)
        wanted = np.array([[float(w[i, j]) - lr * float(g[i, j]) for j in range(3)] for i in range(2)])
        assert not np.array_equal(after, w), (
            "the array of weights still holds the old numbers: `w = w - ...` makes a new array that nobody sees. "
            "Write into the old one, `w -= ...`")
        assert np.allclose(after, wanted, rtol=1e-5, atol=1e-6), (
            f"w = {w}, slope {g}, lr {lr}: each weight moves by lr times its slope, downhill, to {wanted}; "
            f"yours are at {after}")
        assert result is None, f"descend writes into w and returns nothing, yours returned {result}"


def test_the_slope_is_left_alone():
    g = np.array([[2, -20, 1e5]], "float32")
    _, (w, after) = tried(descend, np.array([[1, -2, 3]], "float32"), g, 0.1)
    assert np.array_equal(after, g), f"the slope was {g}, and your step left {after}: do not write into g"
    assert np.allclose(w, [[0.8, 0, -9997]]), f"the weights should go to [0.8, 0, -9997], yours went to {w}"


def test_weights_of_any_shape_and_dtype_can_step():
    for shape in [(), (1,), (0, 3), (2, 1, 5)]:
        for dtype in ("float32", "float64"):
            w, g = np.full(shape, 3, dtype), np.full(shape, 0.5, dtype)
            _, (after, _) = tried(descend, w, g, 0.5)
            assert after.dtype.name == dtype and after.shape == shape and np.all(after == 2.75), (
                f"{dtype} of shape {shape}: 3 - 0.5 * 0.5 is 2.75, yours is {after.dtype} {after}")


test_a_step_goes_against_the_slope()
test_the_slope_is_left_alone()
test_weights_of_any_shape_and_dtype_can_step()

# %% nbgrader={"grade": true, "grade_id": "check-descend-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_many_steps_on_other_weights():
    random = np.random.default_rng(70)
    w, g = random.normal(size=(3, 1, 4)), random.normal(size=(3, 1, 4)) * 10.0 ** random.integers(-6, 6, (3, 1, 4))
    now, right = w, w.copy()
    for lr in (0.3, 0.05, 1.0, 0.0):
        result, (now, after) = tried(descend, now, g, lr=lr)
        right = right - np.multiply(g, lr)
        assert np.allclose(now, right, rtol=1e-12, atol=1e-12), f"lr {lr}: {right} expected, got {now}"
        assert result is None and np.array_equal(after, g), f"lr {lr}: the slope became {after}, returned {result}"


test_many_steps_on_other_weights()
### END HIDDEN TESTS

# %% [markdown]
# Predict where (10, 1) gets in 50 steps at each of these rates, along the valley and across it. Where is the border
# between "faster" and "nowhere"? (Across, one step multiplies by 1 - 30 lr.)

# %%
for lr in (0.01, 0.03, 0.065, 0.067, 0.07):
    w = np.array([10.0, 1.0])
    for _ in range(50):
        descend(w, slope_of_valley(w), lr)
    print(f"lr {lr:5}: {w[0]:8.4f} along, {w[1]:10.4g} across, height {valley(w):.4g}")

# %% [markdown]
# The steepest direction sets the speed limit, here 2 / 30, and at that limit the flat direction crawls. What follows
# are the two classic ways out: remember where you were going, and give every weight a rate of its own.

# %% [markdown]
# ## Momentum
#
# Let the weights roll. Across the valley the slope changes its sign with each step, along it the slope always says
# the same. Add the slopes up and the first cancel, the second grow:
#
# $$v \leftarrow \mu v + g, \qquad w \leftarrow w - \text{lr} \cdot v.$$
#
# With $\mu = 0.9$ and a slope that stays, predict how large $v$ gets. (What must it be to stay as it is?)

# %%
velocity = 0.0
for step in range(1, 51):
    velocity = 0.9 * velocity + 1.0
    if step in (1, 2, 10, 50):
        print(f"after {step} steps {velocity:.3f}")

# %% [markdown]
# Ten times the slope. So momentum is a larger rate for what keeps its direction, and that is why `lr` must not hide
# inside $v$: when a schedule lowers it, ten steps' worth of the old rate would still be rolling.
#
# Nesterov's variant looks ahead: $v$ will push the weights again in the next step anyway, so go as if it had been
# updated once more, by $g + \mu v$ with the new $v$.
#
# **Task.** Write `push`.
#
# <details><summary>Hint 1</summary>The velocity must outlive the call, and the array you are given is where it is
# kept. What does that say about <code>=</code>?</details>
# <details><summary>Hint 2</summary>Two lines in place: shrink it, add the slope. The whole slope: this is a sum,
# not an average.</details>
# <details><summary>Hint 3</summary>Then the direction: the velocity as it is now, or for Nesterov
# <code>g + momentum * velocity</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "optimizers-push", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def push(velocity, g, momentum, nesterov=False):
    """Let the slope push what is already moving, and say which way to go.

    velocity  ndarray, zeros before the first step; updated in place
    g         ndarray of the same shape and dtype: the slope; not changed
    momentum  the share of its velocity that a weight keeps in each step, from 0 to below 1
    nesterov  look one push ahead
    returns   ndarray to be multiplied by the learning rate; it may be `velocity` itself

    >>> velocity = np.array([10.0, 0.0])
    >>> push(velocity, np.array([1.0, 2.0]), momentum=0.5)
    array([6., 2.])

    Source: Polyak (1964); Sutskever et al., On the importance of initialization and momentum (2013), in the form of
    torch.optim.SGD.
    """
    ### BEGIN SOLUTION
    velocity *= momentum
    velocity += g
    return g + momentum * velocity if nesterov else velocity
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-push", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_slopes_add_up_in_the_velocity():
    v = np.array([[0.0, 0.0, 0.0]])
    right = [0.0, 0.0, 0.0]
    for step, g in enumerate([[1.0, -200.0, 0.5], [3.0, 10.0, -0.25], [-2.0, 0.0, 4.0]], 1):
        direction, (v, _) = tried(push, v, np.array([g]), 0.7)
        right = [0.7 * old + slope for old, slope in zip(right, g)]
        assert np.allclose(v, [right], rtol=1e-12), (
            f"step {step}, momentum 0.7, slopes {g}: the velocity is 0.7 times the old one plus the whole slope, "
            f"{right}; the array you were given holds {v}")
        assert np.allclose(direction, [right], rtol=1e-12), (
            f"step {step}: without Nesterov the direction is the new velocity {right}, yours is {direction}")


def test_nesterov_looks_one_push_ahead():
    v, g = np.array([10.0, -3.0, 0.0]), np.array([1.0, 5.0, -0.5])
    direction, (after, _) = tried(push, v, g, 0.8, nesterov=True)
    assert np.allclose(after, [9.0, 2.6, -0.5]), (
        f"Nesterov's velocity is the same as without, [9, 2.6, -0.5]; yours is {after}")
    assert np.allclose(direction, [8.2, 7.08, -0.9]), (
        f"the direction is g + 0.8 times the NEW velocity, [8.2, 7.08, -0.9]; yours is {direction}")


def test_a_push_leaves_the_slope_alone():
    g = np.array([[2, -20, 7]], "float32")
    for nesterov in (False, True):
        direction, (v, after) = tried(push, np.array([[1, -2, 3]], "float32"), g, 0.9, nesterov)
        assert np.array_equal(after, g), (
            f"nesterov={nesterov}: the slope was {g}, and you left {after}: do not write into g")
        assert np.allclose(v, [[2.9, -21.8, 9.7]]), f"the velocity should be [2.9, -21.8, 9.7], yours is {v}"
        for name, x in [("direction", direction), ("velocity", v)]:
            assert x.dtype.name == "float32" and x.shape == (1, 3), f"the {name} became {x.dtype} of shape {x.shape}"


def test_without_momentum_a_push_is_the_slope():
    g = np.array([2.0, -20.0])
    for nesterov in (False, True):
        direction, _ = tried(push, np.array([5.0, 5.0]), g, 0.0, nesterov)
        assert np.array_equal(direction, g), f"with momentum 0 nothing rolls on: {g} expected, yours is {direction}"


test_slopes_add_up_in_the_velocity()
test_nesterov_looks_one_push_ahead()
test_a_push_leaves_the_slope_alone()
test_without_momentum_a_push_is_the_slope()

# %% nbgrader={"grade": true, "grade_id": "check-push-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_pushes_of_other_momenta_and_shapes():
    random = np.random.default_rng(71)
    for momentum, shape in [(0.95, (4,)), (0.3, (2, 1, 3)), (0.99, ())]:
        for nesterov in (False, True):
            v, slopes = np.zeros(shape), []
            for _ in range(6):
                slopes.append(np.asarray(random.normal(size=shape) * 10.0 ** random.integers(-3, 4)))
                direction, (v, _) = tried(push, v, slopes[-1], momentum=momentum, nesterov=nesterov)
                right = sum(momentum ** age * g for age, g in enumerate(reversed(slopes)))
                assert np.allclose(v, right, rtol=1e-9), f"momentum {momentum}: velocity {right} expected, got {v}"
                right = slopes[-1] + momentum * right if nesterov else right
                assert np.allclose(direction, right, rtol=1e-9), (
                    f"momentum {momentum}, nesterov {nesterov}: direction {right} expected, got {direction}")


test_pushes_of_other_momenta_and_shapes()
### END HIDDEN TESTS

# %% [markdown]
# ## A rate for every weight
#
# The other way out: if some slopes are thirty times as large as others, divide each by its usual size. *Adam* keeps
# two running averages per weight, of the slope and of its square:
#
# $$m \leftarrow \beta_1 m + (1 - \beta_1)\, g, \qquad v \leftarrow \beta_2 v + (1 - \beta_2)\, g^2.$$
#
# The root of $v$ is the usual size of a slope, $m$ its usual value. Predict $m / \sqrt{v}$ for a weight whose slope is
# always 0.001, for one whose slope is always 1000, and for one whose slope changes its sign each time.
#
# **Task.** Write `update_averages`.
#
# <details><summary>Hint 1</summary>Both live in the arrays you are given, like the velocity did.</details>
# <details><summary>Hint 2</summary>Four lines in place, two for each. Averages this time: what weight does the new
# slope have, so that the weights add up to 1?</details>

# %% nbgrader={"grade": false, "grade_id": "optimizers-averages", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def update_averages(m, v, g, beta1, beta2):
    """Take a new slope into the running averages of Adam, in place.

    m        ndarray: average of the slopes, zeros before the first step; updated
    v        ndarray: average of their squares, zeros before the first step; updated
    g        ndarray of the same shape and dtype: the slope; not changed
    beta1    how much of m is kept in each step, from 0 to below 1
    beta2    how much of v is kept
    returns  None

    >>> m, v = np.array([1.0]), np.array([10.0])
    >>> update_averages(m, v, np.array([3.0]), beta1=0.5, beta2=0.75)
    >>> m, v
    (array([2.]), array([9.75]))

    Source: Kingma and Ba, Adam: a method for stochastic optimization (2015), algorithm 1.
    """
    ### BEGIN SOLUTION
    m *= beta1
    m += (1 - beta1) * g
    v *= beta2
    v += (1 - beta2) * g * g
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-averages", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_averages_of_known_slopes():
    m, v, right_m, right_v = np.zeros((1, 3)), np.zeros((1, 3)), np.zeros(3), np.zeros(3)
    for step, g in enumerate([[1.0, -200.0, 0.5], [3.0, 10.0, -0.25], [-2.0, 0.0, 4.0]], 1):
        result, (m, v, *_) = tried(update_averages, m, v, np.array([g]), 0.8, 0.95)
        right_m = np.array([0.8 * old + 0.2 * x for old, x in zip(right_m, g)])
        right_v = np.array([0.95 * old + 0.05 * x ** 2 for old, x in zip(right_v, g)])
        for name, found, right in [("m", m, right_m), ("v", v, right_v)]:
            assert np.allclose(found, right, rtol=1e-9), (
                f"step {step}, betas 0.8 and 0.95, slopes {g}: {name} should be {right}, the array you were given "
                f"holds {found}. Old times beta, plus new times (1 - beta); v takes the square of g")
        assert result is None, f"update_averages writes into m and v and returns nothing, yours returned {result}"


def test_averages_leave_the_slope_alone():
    g = np.array([[2, -20, 7]], "float32")
    _, (m, v, after, *_) = tried(update_averages, np.ones((1, 3), "float32"), np.ones((1, 3), "float32"), g, 0.9, 0.999)
    assert np.array_equal(after, g), f"the slope was {g}, and you left {after}: do not write into g"
    assert m.dtype.name == v.dtype.name == "float32", f"float32 averages became {m.dtype} and {v.dtype}"
    assert np.allclose(m, [[1.1, -1.1, 1.6]]) and np.allclose(v, [[1.003, 1.399, 1.048]]), (
        f"averages of 1 meet {g} and become m [1.1, -1.1, 1.6], v [1.003, 1.399, 1.048]; yours {m}, {v}")


def test_averages_of_a_slope_that_stays_are_that_slope():
    m, v, g = np.array([5.0, 0.25]), np.array([25.0, 0.0625]), np.array([5.0, -0.25])
    _, (m, v, *_) = tried(update_averages, m, v, g, 0.9, 0.999)
    assert np.allclose(m, [5, 0.2]) and np.allclose(v, [25, 0.0625]), (
        f"averages 5 and 25 meet slope 5 and stay; 0.25 meets -0.25 and becomes 0.2; yours are m {m}, v {v}")


test_averages_of_known_slopes()
test_averages_leave_the_slope_alone()
test_averages_of_a_slope_that_stays_are_that_slope()

# %% nbgrader={"grade": true, "grade_id": "check-averages-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_averages_of_other_slopes():
    random = np.random.default_rng(72)
    for beta1, beta2, shape in [(0.9, 0.999, (5,)), (0.0, 0.5, (2, 1, 3)), (0.99, 0.3, ())]:
        m, v, slopes = np.zeros(shape), np.zeros(shape), []
        for _ in range(7):
            slopes.append(np.asarray(random.normal(size=shape) * 10.0 ** random.integers(-3, 4)))
            _, (m, v, *_) = tried(update_averages, m, v, slopes[-1], beta1, beta2)
        right_m = sum((1 - beta1) * beta1 ** age * g for age, g in enumerate(reversed(slopes)))
        right_v = sum((1 - beta2) * beta2 ** age * g ** 2 for age, g in enumerate(reversed(slopes)))
        assert np.allclose(m, right_m, rtol=1e-9), f"betas {beta1}, {beta2}: m {right_m} expected, got {m}"
        assert np.allclose(v, right_v, rtol=1e-9), f"betas {beta1}, {beta2}: v {right_v} expected, got {v}"


test_averages_of_other_slopes()
### END HIDDEN TESTS

# %% [markdown]
# Both averages start at 0, and in the beginning they are mostly made of that 0. Print what is kept of a slope of 5
# after the first steps, and predict the third column: the share of the average that is not the 0 of the start.

# %%
m, v = np.zeros(1), np.zeros(1)
for step in range(1, 4):
    update_averages(m, v, np.array([5.0]), 0.9, 0.999)
    print(f"step {step}: m {m[0]:.3f}  root of v {v[0] ** 0.5:.3f}   1 - 0.9**{step} = {1 - 0.9**step:.3f}")

# %% [markdown]
# After $t$ steps the weights of all slopes so far add up to $1 - \beta^t$. Dividing by it gives the average of what
# was really seen. It is a correction for use; the averages themselves stay as they are, or the next step would
# correct what was corrected.
#
# The direction is $\hat m / (\sqrt{\hat v} + \epsilon)$. The small $\epsilon$ keeps a slope of 0 from becoming 0 / 0.
#
# **Task.** Write `adam_direction`.
#
# <details><summary>Hint 1</summary>Which names may appear on the left of an <code>=</code>, and which must not be
# written into?</details>
# <details><summary>Hint 2</summary><code>step</code> is 1 in the first step. What is 1 - beta in the first step, and
# what in the hundredth?</details>
# <details><summary>Hint 3</summary>Correct both, then the root, then add eps: the order matters when slopes are as
# small as eps.</details>

# %% nbgrader={"grade": false, "grade_id": "optimizers-direction", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def adam_direction(m, v, step, betas, eps):
    """Where Adam goes: the average slope over its usual size, both corrected for their start at 0.

    m        ndarray: running average of the slopes; not changed
    v        ndarray: running average of their squares; not changed
    step     how many slopes went into them, 1 or more
    betas    (beta1, beta2), the shares that m and v keep in each step
    eps      added to the root of the corrected v, in the unit of a slope
    returns  a new ndarray, to be multiplied by the learning rate

    >>> adam_direction(np.array([0.5]), np.array([0.4]), 1, (0.9, 0.999), 0.0)
    array([0.25])

    Source: Kingma and Ba (2015), algorithm 1.
    """
    ### BEGIN SOLUTION
    beta1, beta2 = betas
    corrected_m = m / (1 - beta1 ** step)
    corrected_v = v / (1 - beta2 ** step)
    return corrected_m / (np.sqrt(corrected_v) + eps)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-direction", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_the_first_direction_is_the_sign():
    g = np.array([[3.0, -0.001, 2e4]])
    found, _ = tried(adam_direction, 0.2 * g, 0.1 * g * g, 1, (0.8, 0.9), 0.0)
    assert np.allclose(found, [[1, -1, 1]]), (
        f"after one slope, {g}, m is 0.2 g and v is 0.1 g²; corrected they are g and g², so the direction is 1, -1, 1; "
        f"yours is {found}")


def test_the_correction_fades_with_the_steps():
    m, v = np.array([2.0, -0.03]), np.array([5.0, 0.25])
    for step in (1, 2, 3, 10, 5000):
        found, _ = tried(adam_direction, m, v, step, (0.9, 0.99), 1e-3)
        by_1, by_2 = 1 - math.exp(step * math.log(0.9)), 1 - math.exp(step * math.log(0.99))
        wanted = [a / by_1 / (math.sqrt(b / by_2) + 1e-3) for a, b in zip([2.0, -0.03], [5.0, 0.25])]
        assert np.allclose(found, wanted, rtol=1e-9), (
            f"step {step}: m is divided by 1 - 0.9**{step} = {by_1:.5f} and v by 1 - 0.99**{step} = {by_2:.5f}, "
            f"which gives {wanted}; yours is {found}")


def test_the_averages_are_only_read():
    m, v = np.array([2.0, -0.03]), np.array([5.0, 0.25])
    found, (m_after, v_after) = tried(adam_direction, m, v, 2, (0.9, 0.99), 1e-3)
    assert np.array_equal(m_after, m) and np.array_equal(v_after, v), (
        f"m was {m}, v {v}; you left {m_after} and {v_after}: from the second step on the correction would be "
        "corrected again. Keep the averages and their corrected copies apart")
    assert np.allclose(found, [0.664044, -0.044535], rtol=1e-4), f"[0.66404, -0.04454] expected, yours is {found}"


def test_eps_is_added_to_the_corrected_root():
    found, _ = tried(adam_direction, np.array([1e-9, 0.0]), np.array([1e-19, 0.0]), 1, (0.9, 0.999), 1e-8)
    assert np.allclose(found, [0.5, 0.0], rtol=1e-6, atol=0), (
        f"one slope of 1e-8 and eps 1e-8: 1e-8 / (1e-8 + 1e-8) is 0.5, and a slope of 0 gives 0; yours is {found}. "
        "Correct v first, then the root, then add eps")


def test_the_direction_keeps_its_dtype():
    for dtype in ("float32", "float64"):
        found, _ = tried(adam_direction, np.ones((2, 1), dtype), np.ones((2, 1), dtype), 3, (0.9, 0.999), 1e-8)
        assert found.dtype.name == dtype and found.shape == (2, 1), f"{dtype} (2, 1) became {found.dtype} {found.shape}"
        assert np.allclose(found, 0.2020093, rtol=1e-4), f"averages of 1 in step 3 give 0.20201, yours {found}"


test_the_first_direction_is_the_sign()
test_the_correction_fades_with_the_steps()
test_the_averages_are_only_read()
test_eps_is_added_to_the_corrected_root()
test_the_direction_keeps_its_dtype()

# %% nbgrader={"grade": true, "grade_id": "check-direction-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_directions_of_other_averages():
    random = np.random.default_rng(73)
    for betas, step, eps in [((0.5, 0.7), 4, 0.3), ((0.0, 0.999), 1, 1e-8), ((0.95, 0.0), 40, 2.0)]:
        for shape in [(3,), (2, 1, 4), ()]:
            m, v = np.asarray(random.normal(size=shape)), np.asarray(random.uniform(0.1, 9, shape))
            found, (m_after, v_after, *_) = tried(adam_direction, m, v, step, betas, eps)
            right = (m / (1 - betas[0] ** step)) / ((v / (1 - betas[1] ** step)) ** 0.5 + eps)
            assert np.allclose(found, right, rtol=1e-10), f"betas {betas}, step {step}, eps {eps}: {right}, got {found}"
            assert np.array_equal(m, m_after) and np.array_equal(v, v_after), f"betas {betas}: the averages were changed"


test_directions_of_other_averages()
### END HIDDEN TESTS

# %% [markdown]
# ## Forgetting on purpose
#
# Weights that no slope holds should not stay large for no reason: small weights make smoother networks. The old way
# adds a little of each weight to its slope, as if the loss contained $\frac{\lambda}{2} w^2$. Given:

# %%
#| exporti
def with_decay(g, w, weight_decay):
    """The slope of the loss plus weight_decay / 2 * w²; `g` itself if that is 0."""
    return g + weight_decay * w if weight_decay else g

# %% [markdown]
# For SGD that is the same as shrinking each weight by the factor 1 - lr λ in each step. For Adam it is not. Two
# weights at 1 meet slopes that are nothing but noise, one a hundred times as loud. Predict what is left of each:

# %%
rng = np.random.default_rng(0)
w, m, v = np.ones(2), np.zeros(2), np.zeros(2)
for step in range(1, 1001):
    g = with_decay(rng.normal(size=2) * [0.1, 10.0], w, 0.3)
    update_averages(m, v, g, 0.9, 0.999)
    descend(w, adam_direction(m, v, step, (0.9, 0.999), 1e-8), 0.001)
print(f"quiet {w[0]:.2f}, loud {w[1]:.2f}")

# %% [markdown]
# Adam divides by the usual size of a slope, and with it by what was added: the loud weight hardly decays. *AdamW*
# takes the decay out of the slope again and shrinks the weight itself, before the step:
#
# $$w \leftarrow (1 - \text{lr} \cdot \lambda)\, w, \qquad
# w \leftarrow w - \text{lr} \cdot \hat m / (\sqrt{\hat v} + \epsilon).$$
#
# **Task.** Write `adamw_update`, one whole step.
#
# <details><summary>Hint 1</summary>You have written all the parts. Which three of your functions, in which
# order?</details>
# <details><summary>Hint 2</summary>The decay belongs to the weight as it was, so it comes first, in place: by which
# factor?</details>
# <details><summary>Hint 3</summary><code>w *= 1 - lr * weight_decay</code>, then <code>update_averages</code>, then
# <code>descend</code> along <code>adam_direction</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "optimizers-adamw", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def adamw_update(w, g, m, v, step, lr, betas, eps, weight_decay):
    """One step of AdamW, in place.

    w             ndarray: the weights; changed
    g             ndarray: their slopes; not changed, and without decay in them
    m, v          ndarrays: the running averages; updated. Like w and g in shape and dtype
    step          the number of this step, 1 for the first
    lr            learning rate, per step
    betas, eps    as in `adam_direction`
    weight_decay  the share of a weight that goes in each step, in units of lr; it goes before the step
    returns       None

    >>> w, m, v = np.array([1.0]), np.zeros(1), np.zeros(1)
    >>> adamw_update(w, np.array([2.0]), m, v, 1, lr=0.5, betas=(0.9, 0.999), eps=0.0, weight_decay=0.5)
    >>> w.round(6), m.round(6)
    (array([0.25]), array([0.2]))

    Source: Loshchilov and Hutter, Decoupled weight decay regularization (2019), in the form of torch.optim.AdamW.
    """
    ### BEGIN SOLUTION
    w *= 1 - lr * weight_decay
    update_averages(m, v, g, *betas)
    descend(w, adam_direction(m, v, step, betas, eps), lr)
    ### END SOLUTION

# %% tags=["learner-side"]
def steps_of_adamw(w, slopes, rates, betas, eps, weight_decay):
    """The weights after each step, the averages after the last, and the slopes as they were left."""
    w, slopes = np.array(w), [np.array(g) for g in slopes]
    m, v, path = np.zeros_like(w), np.zeros_like(w), []
    for step, (g, lr) in enumerate(zip(slopes, rates), 1):
        adamw_update(w, g, m, v, step, lr, betas, eps, weight_decay)
        path.append(w.copy())
    return path, m, v, slopes

# %% nbgrader={"grade": true, "grade_id": "check-adamw", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
def adamw_by_hand(start, slopes, rates, betas, eps, weight_decay):
    """The weight after each step, for one number, in Python's own numbers, from the paper."""
    w, path = start, []
    for t, lr in enumerate(rates, 1):
        m = sum((1 - betas[0]) * betas[0] ** (t - i) * g for i, g in enumerate(slopes[:t], 1)) / (1 - betas[0] ** t)
        v = sum((1 - betas[1]) * betas[1] ** (t - i) * g * g for i, g in enumerate(slopes[:t], 1)) / (1 - betas[1] ** t)
        w = w - lr * weight_decay * w - lr * m / (math.sqrt(v) + eps)
        path.append(w)
    return path


def test_adamw_takes_the_steps_of_the_paper():
    slopes = [[1.0, -0.002], [-2.0, 0.001], [0.5, -0.004], [3.0, 0.0], [-1.0, 0.003]]
    for decay in (0.0, 0.3):
        rates = [0.1, 0.1, 0.05, 0.1, 0.02]
        path, *_ = steps_of_adamw(np.array([1.0, -2.0]), [np.array(g) for g in slopes], rates, (0.9, 0.99), 1e-3, decay)
        wanted = np.array([adamw_by_hand(start, [g[n] for g in slopes], rates, (0.9, 0.99), 1e-3, decay)
                           for n, start in enumerate([1.0, -2.0])]).T
        for t in range(5):
            assert np.allclose(path[t], wanted[t], rtol=1e-9, atol=0), (
                f"weight decay {decay}, after step {t + 1}: {wanted[t]} expected, yours {path[t]} "
                f"(the steps before were right)")


def test_decay_comes_before_the_step():
    path, *_ = steps_of_adamw(np.array([1.0]), [np.array([1.0])], [0.5], (0.9, 0.999), 0.0, 0.5)
    assert np.allclose(path[0], 0.25), (
        f"w 1, lr 0.5, decay 0.5: the old weight shrinks to 0.75, then the step of 0.5 gives 0.25; yours is {path[0]}. "
        "(0.375 comes from shrinking after the step, 0.5 from leaving the decay out)")


def test_loud_weights_decay_like_quiet_ones():
    path, m, v, _ = steps_of_adamw(np.array([2.0, 2.0]), [np.array([0.0, 1e-4])] * 3, [0.1] * 3, (0.5, 0.5), 1e6, 0.2)
    assert np.allclose(path[-1], 2 * 0.98 ** 3, rtol=1e-6), (
        f"with an eps that stops all else, each step leaves 1 - 0.1 * 0.2 of both weights: {2 * 0.98 ** 3:.4f}; yours "
        f"{path[-1]}. The decay goes to the weight, not into the slope")
    assert np.allclose(m, [0, 0.875e-4]) and np.allclose(v, [0, 0.875e-8], atol=1e-15), (
        f"the averages are those of the slopes alone, [0, 0.875e-4] and [0, 0.875e-8]; yours {m} and {v}: the decay "
        "must not get into them")


def test_adamw_changes_what_it_should_and_no_more():
    slopes = [np.array([[3, -1e-3]], "float32"), np.array([[-1, 4e3]], "float32")]
    path, m, v, after = steps_of_adamw(np.array([[5, -7]], "float32"), slopes, [0.1, 0.2], (0.9, 0.999), 1e-8, 0.01)
    assert all(np.array_equal(a, b) for a, b in zip(after, slopes)), f"slopes {slopes} were left as {after}"
    for name, x in [("weights", path[-1]), ("m", m), ("v", v)]:
        assert x.dtype.name == "float32" and x.shape == (1, 2), f"{name} became {x.dtype} of shape {x.shape}"
    assert not np.array_equal(m, np.zeros((1, 2))) and not np.array_equal(path[0], path[1]), (
        f"w, m and v are to be changed in place; they are {path[-1]}, {m}, {v}")


test_adamw_takes_the_steps_of_the_paper()
test_decay_comes_before_the_step()
test_loud_weights_decay_like_quiet_ones()
test_adamw_changes_what_it_should_and_no_more()

# %% nbgrader={"grade": true, "grade_id": "check-adamw-hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_longer_runs_of_adamw():
    random = np.random.default_rng(74)
    for betas, eps, decay, shape in [((0.9, 0.999), 1e-8, 0.01, (3,)), ((0.5, 0.9), 0.1, 2.0, (2, 1, 2)),
                                     ((0, 0), 0.5, 0, ())]:
        start = np.asarray(random.normal(size=shape))
        slopes = [np.asarray(random.normal(size=shape) * 10.0 ** random.integers(-3, 3)) for _ in range(12)]
        rates = random.uniform(0.001, 0.2, 12).tolist()
        path, *_ = steps_of_adamw(start, slopes, rates, betas, eps, decay)
        right = start.astype(float)
        m, v = 0 * right, 0 * right
        for t, (g, lr) in enumerate(zip(slopes, rates), 1):
            m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g ** 2
            step = m / (1 - betas[0] ** t) / (np.sqrt(v / (1 - betas[1] ** t)) + eps)
            right = right - lr * decay * right - lr * step
            assert np.allclose(path[t - 1], right, rtol=1e-9, atol=1e-12), (
                f"betas {betas}, eps {eps}, decay {decay}, step {t}: {right} expected, got {path[t - 1]}")


test_longer_runs_of_adamw()
### END HIDDEN TESTS

# %%
rng = np.random.default_rng(0)
w, m, v = np.ones(2), np.zeros(2), np.zeros(2)
for step in range(1, 1001):
    adamw_update(w, rng.normal(size=2) * [0.1, 10.0], m, v, step, 0.001, (0.9, 0.999), 1e-8, 0.3)
print(f"quiet {w[0]:.2f}, loud {w[1]:.2f}; without noise (1 - 0.001 * 0.3) ** 1000 = {(1 - 3e-4) ** 1000:.2f}")

# %% [markdown]
# ## Three ways down
#
# All that was written so far, in one picture: forty steps from (-10, 2). Before you run it, draw the three paths
# in your mind. Which one overshoots along the valley? Which one leaves at 45 degrees, and why?

# %% alt="Four panels. Paths to the middle of a long valley: plain descent zigzags, momentum swings, Adam bends in one curve. Below, the height of each against the step, on a logarithmic scale."
import matplotlib.pyplot as plt


def path_of(step_at, steps=40):
    """The places on the way: step_at(w, g, t) changes w."""
    w, places = np.array([-10.0, 2.0]), []
    for t in range(1, steps + 1):
        places.append(w.copy())
        step_at(w, slope_of_valley(w), t)
    return np.array(places)


velocity, m, v = np.zeros(2), np.zeros(2), np.zeros(2)
paths = {
    "SGD, lr 0.06": path_of(lambda w, g, t: descend(w, g, 0.06)),
    "momentum 0.7, lr 0.03": path_of(lambda w, g, t: descend(w, push(velocity, g, 0.7), 0.03)),
    "Adam, lr 0.5": path_of(lambda w, g, t: adamw_update(w, g, m, v, t, 0.5, (0.9, 0.999), 1e-8, 0.0)),
}

figure, axes = plt.subplots(4, 1, figsize=(7, 8), height_ratios=(1, 1, 1, 0.9), layout="constrained")
x, y = np.meshgrid(np.linspace(-11, 6, 171), np.linspace(-2.4, 2.4, 97))
for axis, color, (name, places) in zip(axes, ("tab:orange", "tab:green", "tab:blue"), paths.items()):
    axis.contour(x, y, valley((x, y)), levels=[0.5, 2, 5, 10, 20, 40, 70], colors="lightgray", linewidths=0.8)
    axis.plot(*places.T, ".-", color=color, linewidth=1, label=name)
    axis.plot(0, 0, "k+", markersize=10)
    axis.legend(loc="upper right")
    axes[-1].semilogy([valley(w) for w in places], color=color, label=name)
axes[-1].set(xlabel="step", ylabel="height")
axes[-1].legend()

# %% [markdown]
# SGD jumps from wall to wall and creeps along. Momentum, at half the rate, swings less and gets ten thousand times
# lower. Adam's first step is as long along as across, whatever the slopes: only their signs count. It rolls past the
# lowest point, since its average, too, remembers where it was going. Predict which of the three paths change when the
# valley is 3,000 times as steep across as along, with the same rates, and try it.

# %% [markdown]
# ## Whose numbers?
#
# From arrays to networks. An optimizer is told which tensors to improve, and not all need be treated alike: biases are
# often spared the decay, the first layers get a smaller rate. So it takes tensors, or *groups* of them, each a dict
# with options of its own; what a group does not say is the same for all.
#
# Two traps. A generator can be walked once, and an optimizer walks its parameters in every step. And a list that is
# empty by mistake would train nothing, without a word.
#
# **Task.** Write `groups_of`.
#
# <details><summary>Hint 1</summary>What must be done with <code>params</code> before anybody may look at its first
# entry?</details>
# <details><summary>Hint 2</summary>Plain tensors are one group that says nothing about options. When they are made
# into that, only one case is left.</details>
# <details><summary>Hint 3</summary>In <code>{**a, **b}</code> the later one wins. Which of the defaults and the
# group's own comes first? And <code>group["params"]</code> may be a generator too.</details>

# %% nbgrader={"grade": false, "grade_id": "optimizers-groups", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def groups_of(params, defaults):
    """The parameters as a list of groups, each a dict that says everything about it.

    params    Tensors, or dicts with "params" (Tensors) and options; a list, a generator, ...
    defaults  {option: value} for what a group does not say itself; not changed
    returns   list of new dicts with "params", a list, and every option

    Raises ValueError when there are no parameters at all.

    >>> groups_of([{"params": "ab", "lr": 0.5}, {"params": "c"}], {"lr": 0.1})
    [{'lr': 0.5, 'params': ['a', 'b']}, {'lr': 0.1, 'params': ['c']}]

    Source: torch.optim, "Per-parameter options".
    """
    ### BEGIN SOLUTION
    params = list(params)
    if not params:
        raise ValueError("an optimizer needs parameters, and was given none: is it net.parameters(), with brackets, of "
                         "a network that has some, or a generator that was already walked?")
    groups = params if isinstance(params[0], dict) else [{"params": params}]
    return [{**defaults, **group, "params": list(group["params"])} for group in groups]
    ### END SOLUTION

# %% tags=["learner-side"]
def groups_of_generators(defaults):
    """(options, how many tensors on the first walk, on the second) of each group that was given as a generator."""
    plain = groups_of((Tensor([float(n)]) for n in range(3)), defaults)
    dicts = groups_of(({"params": (Tensor([0.0]) for _ in range(n)), "lr": n} for n in (1, 2)), defaults)
    return [({name: x for name, x in group.items() if name != "params"}, *[len([*group["params"]]) for _ in range(2)])
            for group in [*plain, *dicts]]

# %% nbgrader={"grade": true, "grade_id": "check-groups", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_plain_tensors_are_one_group():
    a, b = Tensor([1.0]), Tensor([2.0, 3.0])
    for given in ([a, b], (a, b)):
        groups = groups_of(given, {"lr": 0.1, "momentum": 0.9})
        assert len(groups) == 1, f"two tensors are one group, yours are {len(groups)}"
        found = {name: x for name, x in groups[0].items() if name != "params"}
        assert found == {"lr": 0.1, "momentum": 0.9}, f"the group has the defaults lr 0.1, momentum 0.9; yours {found}"
        found = [np.asarray(p).tolist() for p in groups[0]["params"]]
        assert found == [[1], [2, 3]], f"its params are the two tensors, in order; yours hold {found}"


def test_a_group_overrules_the_defaults():
    defaults = {"lr": 0.1, "decay": 0.0}
    given = [{"params": [Tensor([1.0])], "lr": 0.5}, {"params": [Tensor([2.0]), Tensor([3.0])], "decay": 0.3},
             {"params": [Tensor([4.0])]}]
    groups = groups_of(given, defaults)
    found = [(group["lr"], group["decay"], len(group["params"])) for group in groups]
    assert found == [(0.5, 0.0, 1), (0.1, 0.3, 2), (0.1, 0.0, 1)], (
        f"lr, decay and number of tensors should be (0.5, 0, 1), (0.1, 0.3, 2), (0.1, 0, 1); yours {found}: what a "
        "group says counts more than the defaults, and what it does not say is the default")
    assert defaults == {"lr": 0.1, "decay": 0.0} and list(given[2]) == ["params"], (
        f"the defaults and the dicts that were given should stay as they are: they became {defaults}, {given[2]}")


def test_generators_last_longer_than_one_walk():
    found = groups_of_generators({"lr": 7})
    wanted = [({"lr": 7}, 3, 3), ({"lr": 1}, 1, 1), ({"lr": 2}, 2, 2)]
    assert found == wanted, (
        f"options, and how many tensors a first and a second walk find, should be {wanted}; yours {found}: a generator "
        "is empty after one walk, so from the second step on nothing would learn. Make lists")


def test_no_parameters_are_refused():
    for given in ([], ()):
        try:
            groups = groups_of(given, {"lr": 0.1})
        except ValueError as error:
            assert "parameters" in str(error), f"the error should say that parameters are missing, yours: {error}"
        except IndexError as error:
            assert False, f"an empty list should be refused in words, with ValueError; yours ends with: {error}"
        else:
            assert False, f"there is nothing to learn in {given}, and no error said so: you made {groups}"


test_plain_tensors_are_one_group()
test_a_group_overrules_the_defaults()
test_generators_last_longer_than_one_walk()
test_no_parameters_are_refused()

# %% nbgrader={"grade": true, "grade_id": "check-groups-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_groups_and_options():
    defaults = {"lr": 0.1, "betas": (0.5, 0.6), "word": None}
    given = [{"word": "x", "params": (Tensor([0.0]), Tensor([1.0]))}, {"params": [], "betas": (0.1, 0.2), "more": 5}]
    groups = groups_of(params=given, defaults=defaults)
    found = [[np.asarray(p).tolist() for p in group["params"]] for group in groups]
    assert found == [[[0], [1]], []], f"the tensors [[0], [1]] and none expected, got {found}"
    found = [{name: x for name, x in group.items() if name != "params"} for group in groups]
    right = [{"lr": 0.1, "betas": (0.5, 0.6), "word": "x"}, {"lr": 0.1, "betas": (0.1, 0.2), "word": None, "more": 5}]
    assert found == right, f"{right} expected, got {found}"
    assert defaults == {"lr": 0.1, "betas": (0.5, 0.6), "word": None} and len(given[0]) == 2, "the input was changed"


test_other_groups_and_options()
### END HIDDEN TESTS

# %% [markdown]
# ## End to end
#
# A small transformer keeps its weights in some thirty arrays, most of them tiny. Adam is a dozen NumPy calls per
# array, and a call takes about a microsecond before it computes anything. Predict how much faster one long array is
# stepped than thirty short ones with as many numbers.

# %%
import time
import timeit

shapes = [(64,), (64, 3), (8, 8, 2), (64,), (5,)] * 6
small = [[np.ones(shape, "float32") for _ in range(4)] for shape in shapes]
long = [np.concatenate([arrays[n].ravel() for arrays in small]) for n in range(4)]


def adam_on(w, g, m, v):
    adamw_update(w, g, m, v, 7, 0.001, (0.9, 0.999), 1e-8, 0.01)


apart = min(timeit.repeat(lambda: [adam_on(*arrays) for arrays in small], time.process_time, number=20, repeat=5)) / 20
joined = min(timeit.repeat(lambda: adam_on(*long), time.process_time, number=20, repeat=5)) / 20
print(f"{len(shapes)} arrays, {long[0].size} numbers: one by one {apart * 1e6:.0f} us, end to end {joined * 1e6:.0f} us")

# %% [markdown]
# So small parameters are copied end to end, stepped together and copied back, two cheap copies instead of hundreds of
# calls. Large ones are stepped where they lie. The averages live end to end all the time, and yet each parameter must
# find its own part, for instance to be saved. A part of an array that shares its memory is a *view*.
#
# **Task.** Write `views_of`.
#
# <details><summary>Hint 1</summary>How many numbers does a shape hold, and where does the next one
# start?</details>
# <details><summary>Hint 2</summary>A slice is a view, and <code>reshape</code> of a slice like this one too. What
# would <code>np.array</code> around it make?</details>
# <details><summary>Hint 3</summary>Keep <code>start</code>; for each shape take <code>flat[start:start + size]</code>
# with <code>size = math.prod(shape)</code>, reshape it, go on.</details>

# %% nbgrader={"grade": false, "grade_id": "optimizers-views", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def views_of(flat, shapes):
    """Arrays of the given shapes that lie end to end in `flat`.

    flat     ndarray with one axis
    shapes   list of tuples; they hold as many numbers together as `flat` does
    returns  list of ndarrays that share their memory with `flat`: what is written into one is seen in the other

    >>> flat = np.arange(5)
    >>> pair, number = views_of(flat, [(2, 2), ()])
    >>> pair[0, 1] = 70
    >>> flat
    array([ 0, 70,  2,  3,  4])

    Source: numpy.org, "Copies and views".
    """
    ### BEGIN SOLUTION
    views, start = [], 0
    for shape in shapes:
        size = math.prod(shape)
        views.append(flat[start:start + size].reshape(shape))
        start += size
    return views
    ### END SOLUTION

# %% tags=["learner-side"]
def views_written_into(flat, shapes):
    """What the views show; what `flat` holds when each view was filled with -1, -2, ...; the views when flat is 0."""
    flat = np.array(flat)
    views = views_of(flat, shapes)
    shown = [np.array(view) for view in views]
    for n, view in enumerate(views, 1):
        view[...] = -n
    filled = flat.copy()
    flat[...] = 0
    return shown, filled, [np.array(view) for view in views]

# %% nbgrader={"grade": true, "grade_id": "check-views", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_views_have_their_shapes_and_numbers():
    for dtype in ("float32", "float64"):
        flat, shapes = np.arange(14, dtype=dtype) * 10, [(2, 3), (), (1, 4), (0, 5), (3,)]
        shown, _, _ = views_written_into(flat, shapes)
        assert [x.shape for x in shown] == shapes, f"the shapes should be {shapes}, yours {[x.shape for x in shown]}"
        wanted = [[[0, 10, 20], [30, 40, 50]], 60, [[70, 80, 90, 100]], np.zeros((0, 5)), [110, 120, 130]]
        for shape, x, right in zip(shapes, shown, wanted):
            assert np.array_equal(x, right), f"the view of shape {shape} should show {right}, yours shows {x}"
            assert x.dtype.name == dtype, f"{dtype} became {x.dtype}"


def test_views_share_their_memory():
    _, filled, emptied = views_written_into(np.arange(9.0), [(2, 2), (3,), (), (1, 1)])
    assert np.array_equal(filled, [-1] * 4 + [-2] * 3 + [-3, -4]), (
        f"-1 was written into the first view, -2 into the second, and so on: flat should be 4 times -1, 3 times -2, -3, "
        f"-4; yours is {filled}. Take slices, not copies")
    for x in emptied:
        assert np.array_equal(x, np.zeros(x.shape)), f"flat was set to 0, and a view still shows {x}: no copies"


def test_no_shapes_no_views():
    shown, _, _ = views_written_into(np.zeros(0), [])
    assert len(shown) == 0, f"no shapes, no views; yours {shown}"
    shown, _, _ = views_written_into(np.array([5.0]), [(1, 1, 1)])
    assert len(shown) == 1 and np.array_equal(shown[0], [[[5]]]), f"one shape, one view, [[[5]]]; yours {shown}"


test_views_have_their_shapes_and_numbers()
test_views_share_their_memory()
test_no_shapes_no_views()

# %% nbgrader={"grade": true, "grade_id": "check-views-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_views_of_other_shapes():
    random = np.random.default_rng(75)
    for shapes in [[(3, 1, 2), (7,), (2, 5)], [(), ()], [(0,), (4, 1), (0, 2), (2,)], [(11,)]]:
        sizes = [int(np.prod(shape)) for shape in shapes]
        flat = random.normal(size=sum(sizes))
        shown, filled, _ = views_written_into(flat, shapes)
        ends = np.cumsum(sizes)
        for shape, x, end, size in zip(shapes, shown, ends, sizes):
            assert np.array_equal(x, flat[end - size:end].reshape(shape)), f"{shapes}: {shape} shows {x}"
        right = np.concatenate([np.full(size, -n) for n, size in enumerate(sizes, 1)])
        assert np.array_equal(filled, right), f"{shapes}: written into, flat should be {right}, it is {filled}"


test_views_of_other_shapes()
### END HIDDEN TESTS

# %% [markdown]
# The rest of that bookkeeping is given. A `Bundle` is what is stepped at once: one large array, or many small ones of
# the same dtype that have taken as many steps.

# %%
#| exporti
class Bundle:
    """Parameters that step together, with one array of weights, one of slopes and one for each thing to remember.

    params   Tensors of one dtype; a single one stays where it is, several are copied end to end
    states   what is kept for each: {"step": n, name: ndarray, ...}, with equal steps; the arrays become views of ours

    .step    how many steps were taken
    .state   {name: ndarray}
    """

    def __init__(self, params, states, names):
        self.params, self.states, self.step, self.state = params, states, states[0]["step"], {}
        self.shapes = [p.shape for p in params]
        for name in names:
            self.state[name] = states[0][name]
            if len(params) > 1:
                self.state[name] = np.concatenate([state[name].ravel() for state in states])
                for state, view in zip(states, views_of(self.state[name], self.shapes)):
                    state[name] = view
        if len(params) > 1:
            self.w, self.g = [np.empty(sum(p.size for p in params), params[0].dtype) for _ in range(2)]
            self.views = views_of(self.w, self.shapes)

    def collect(self):
        """The weights, which may be written into, and their slopes, which may not."""
        for p, shape in zip(self.params, self.shapes):
            if not p.grad.shape == p.data.shape == shape:
                raise ValueError(f"a parameter had shape {shape} when it was first stepped; now it is {p.data.shape} and "
                                 f"its gradient {p.grad.shape}: make a new optimizer for new shapes")
        if len(self.params) == 1:
            return self.params[0].data, self.params[0].grad
        np.concatenate([p.data.ravel() for p in self.params], out=self.w)
        np.concatenate([p.grad.ravel() for p in self.params], out=self.g)
        return self.w, self.g

    def give_back(self):
        """Write the weights back into their tensors, where they were copied, and note how many steps were taken."""
        if len(self.params) > 1:
            for p, view in zip(self.params, self.views):
                p.data[...] = view
        for state in self.states:
            state["step"] = self.step


def bundles_of(params, states, names, small):
    """The parameters as a list of Bundles: those of fewer than `small` numbers together, each of the others alone."""
    together = {}
    for p in params:
        alone = None if p.size < small else id(p)
        together.setdefault((p.dtype, states[p]["step"], alone), []).append(p)
    return [Bundle(part, [states[p] for p in part], names) for part in together.values()]


def blocks(size, *arrays):
    """Tuples of the parts of arrays that belong together, of at most `size` numbers; whole, if in another order.

    A formula leaves an array behind for each of its operations. Small ones come from memory that Python already has;
    those of a megabyte may be fetched from the system and given back every time: that made Adam four times as slow.
    """
    if not all(array.flags.c_contiguous for array in arrays):
        return [arrays]
    flat = [array.reshape(-1) for array in arrays]
    return [tuple(array[start:start + size] for array in flat) for start in range(0, flat[0].size, size)]

# %% [markdown]
# ## One step for all
#
# What optimizers share is below: groups, and for each parameter a *state* with the number of its steps and what is
# remembered of its slopes. What differs is `keeps`, the names of what to remember, and `improve`, the formula.

# %%
#| exporti
BELOW = {"lr": math.inf, "eps": math.inf, "weight_decay": math.inf, "momentum": 1, "beta": 1}


def checked_option(name, value):
    """An option as plain Python numbers. ValueError or TypeError with its value when it cannot be meant."""
    if name == "betas":
        if np.shape(value) != (2,):
            raise TypeError(f"betas is {value!r:.60}: it should be two numbers")
        return tuple(checked_option("beta", beta) for beta in value)
    if name not in BELOW:
        return value
    if not isinstance(value, (int, float, np.number)):
        raise TypeError(f"{name} is {value!r:.60}: it should be a number")
    if not 0 <= value < BELOW[name]:
        raise ValueError(f"{name} is {value}: it should be 0 or more, and less than {BELOW[name]}")
    return float(value)


def checked_groups(groups, known):
    """The groups, with options as plain numbers, when every parameter can be learned and every option is known."""
    seen = set()
    for group in groups:
        for name in group:
            if name not in known and name not in ("params", "initial_lr"):
                raise ValueError(f"there is no option {name!r} here: there are {', '.join(known)}")
            group[name] = checked_option(name, group[name])
        if group.get("nesterov") and not group["momentum"]:
            raise ValueError(f"nesterov looks along the velocity, and with momentum {group['momentum']} there is none")
        for p in group["params"]:
            if not isinstance(p, Tensor):
                raise TypeError(f"{p!r:.60} is no Tensor: give net.parameters(), or dicts with \"params\" and options")
            if p.creator is not None:
                raise ValueError(f"a tensor of shape {p.shape} is the result of an operation, and would be computed "
                                 "anew: optimize what it is made of (and put a single parameter into a list)")
            if id(p) in seen:
                raise ValueError(f"a parameter of shape {p.shape} is given twice, and would take two steps at a time")
            seen.add(id(p))
    return groups

# %%
#| export
class Optimizer:
    """Tensors that are improved together. A subclass says what to keep for each, and how to improve.

    params    Tensors, or dicts of {"params": Tensors, option: value}; see `groups_of`
    defaults  the options of groups that do not give their own

    .param_groups  the groups, as dicts; options may be changed between steps
    .state         {Tensor: {"step": n, name: ndarray}}
    """

    small = 0  # parameters of fewer numbers than this are stepped end to end
    block = math.inf  # those of more are stepped in parts

    def __init__(self, params, **defaults):
        if isinstance(params, (Tensor, Module)):
            raise TypeError(f"an optimizer takes a list of tensors, not a {type(params).__name__}: net.parameters(), "
                            "or [w]")
        self.param_groups = checked_groups(groups_of(params, defaults), defaults)
        self.state, self.bundles = {}, {}

    def keeps(self, group):
        """The names of the arrays to keep for each parameter of a group; they start as zeros."""
        return ()

    def improve(self, w, g, state, step, group):
        """One step, in place: weights, their slopes, {name: array}, the number of the step, the options."""
        raise NotImplementedError(f"{type(self).__name__} needs a method improve(self, w, g, state, step, group)")

    def update(self, w, g, state, step, group):
        """`improve`, in blocks."""
        if w.size <= self.block:
            return self.improve(w, g, state, step, group)
        for w, g, *kept in blocks(self.block, w, g, *state.values()):
            self.improve(w, g, dict(zip(state, kept)), step, group)

    def bundles_for(self, place, ready):
        """The Bundles of `ready`, parameters of group number `place`: those of last time if the parameters are the same."""
        names = self.keeps(self.param_groups[place])
        key = [names, *map(id, ready)]
        known, found = self.bundles.get(place, (None, None))
        if known != key:
            for p in ready:
                state = self.state.setdefault(p, {"step": 0})
                for name in names:
                    if name not in state:
                        state[name] = np.zeros_like(p.data)
            found = bundles_of(ready, self.state, names, self.small)
            self.bundles[place] = key, found
        return found

    def step(self):
        """Improve every parameter that has a gradient."""
        take_step(self)

    def zero_grad(self):
        """Forget all gradients: `backward` adds to them."""
        for group in self.param_groups:
            for p in group["params"]:
                p.grad = None

    def state_dict(self):
        """A copy of all that the next steps depend on, in plain arrays and numbers."""
        return saved_state(self)

    def load_state_dict(self, state):
        """Go on from what `state_dict` gave, with as many parameters in the same order: all of it or nothing."""
        self.param_groups, self.state = loaded_state(self, state)
        self.bundles = {}

    def __repr__(self):
        options = [", ".join(f"{name}={x}" for name, x in group.items() if name != "params")
                   for group in self.param_groups]
        return f"{type(self).__name__}({'; '.join(options)})"

# %% [markdown]
# With that, the optimizers themselves are what you wrote above:

# %%
#| export
class SGD(Optimizer):
    """Steps against the slope, with momentum if asked.

    params        Tensors or groups
    lr            learning rate, per step
    momentum      share of the velocity that is kept in each step, from 0 to below 1
    weight_decay  adds weight_decay times the weight to its slope
    nesterov      look one push ahead

    Source: torch.optim.SGD, without its `dampening`.
    """

    def __init__(self, params, lr=0.001, momentum=0.0, *, weight_decay=0.0, nesterov=False):
        super().__init__(params, lr=lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov)

    def keeps(self, group):
        return ("momentum_buffer",) if group["momentum"] else ()

    def improve(self, w, g, state, step, group):
        g = with_decay(g, w, group["weight_decay"])
        if group["momentum"]:
            g = push(state["momentum_buffer"], g, group["momentum"], group["nesterov"])
        descend(w, g, group["lr"])


class Adam(Optimizer):
    """Steps along the average slope over its usual size.

    params        Tensors or groups
    lr            learning rate, per step; about how far each weight moves in a step
    betas         shares of the two averages that are kept in each step
    eps           added to the usual size of a slope
    weight_decay  adds weight_decay times the weight to its slope; see AdamW

    Source: Kingma and Ba (2015); torch.optim.Adam.
    """

    small, block = 16_384, 65_536

    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def keeps(self, group):
        return ("exp_avg", "exp_avg_sq")

    def improve(self, w, g, state, step, group):
        m, v = state["exp_avg"], state["exp_avg_sq"]
        update_averages(m, v, with_decay(g, w, group["weight_decay"]), *group["betas"])
        descend(w, adam_direction(m, v, step, group["betas"], group["eps"]), group["lr"])


class AdamW(Adam):
    """Adam, with a decay that shrinks the weights themselves: by lr times weight_decay in each step.

    The arguments are those of Adam. Source: Loshchilov and Hutter (2019); torch.optim.AdamW.
    """

    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(params, lr, betas, eps, weight_decay)

    def improve(self, w, g, state, step, group):
        adamw_update(w, g, state["exp_avg"], state["exp_avg_sq"], step, group["lr"], group["betas"], group["eps"],
                     group["weight_decay"])

# %% [markdown]
# What is left is the loop. In one step of training some parameters may not have taken part: a branch that was not
# used, a layer that is frozen. `backward` leaves their `.grad` at None, and they rest: no step, no decay, no count.
# Each parameter counts its own steps; predict what Adam's correction would do to one that joins at step 1000 and
# counted from the start.
#
# **Task.** Write `take_step`: for each group, the parameters that are ready; for each of their bundles one update.
#
# <details><summary>Hint 1</summary>How does one walk a list and know the place of each entry? And which question tells
# "no gradient" from "a gradient of zeros"?</details>
# <details><summary>Hint 2</summary><code>optimizer.bundles_for(place, ready)</code> gives bundles. Each one has
# <code>collect</code>, <code>step</code>, <code>state</code> and <code>give_back</code>; what must happen between
# collecting and giving back?</details>
# <details><summary>Hint 3</summary>The first step has the number 1. Count before you update.</details>
# <details><summary>Hint 4</summary>For each bundle: <code>w, g = bundle.collect()</code>; add 1 to its step;
# <code>optimizer.update(w, g, bundle.state, bundle.step, group)</code>; <code>bundle.give_back()</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "optimizers-step", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def take_step(optimizer):
    """Improve every parameter that has a gradient; the others rest.

    optimizer  an Optimizer; its tensors, their state and their counts are changed
    returns    None

    >>> w, resting = Tensor([1.0, 2.0]), Tensor([5.0])
    >>> w.grad = np.array([10.0, -10.0], "float32")
    >>> take_step(SGD([w, resting], lr=0.1))
    >>> w, resting
    (Tensor([0., 3.]), Tensor([5.]))

    Source: torch.optim.Optimizer.step.
    """
    ### BEGIN SOLUTION
    for place, group in enumerate(optimizer.param_groups):
        ready = [p for p in group["params"] if p.grad is not None]
        for bundle in optimizer.bundles_for(place, ready):
            w, g = bundle.collect()
            bundle.step += 1
            optimizer.update(w, g, bundle.state, bundle.step, group)
            bundle.give_back()
    ### END SOLUTION

# %% tags=["learner-side"]
def trained(kind, starts, slopes, options=None, groups=None, rates=None, dtype="float64"):
    """Tensors that `kind` has stepped, and the counts of their steps: (the numbers after each step, counts).

    starts   an array for each tensor
    slopes   for each step a list with the slope of each tensor, or None where it has none
    groups   for each group its tensors, by number, and its options; None for one group of all
    rates    the learning rate of all groups in each step
    """
    tensors = [Tensor(np.array(start, dtype), requires_grad=True) for start in starts]
    params = tensors if groups is None else [{**own, "params": [tensors[n] for n in which]} for which, own in groups]
    optimizer, path = kind(params, **(options or {})), []
    for t, parts in enumerate(slopes):
        for tensor, g in zip(tensors, parts):
            tensor.grad = None if g is None else np.array(g, dtype)
        if rates:
            for group in optimizer.param_groups:
                group["lr"] = rates[t]
        optimizer.step()
        path.append([np.array(tensor.data) for tensor in tensors])
    return path, [optimizer.state.get(tensor, {"step": 0})["step"] for tensor in tensors]


def same_array_after(kind, size):
    """Whether a tensor of `size` numbers still has its array after a step, and whether that and the gradient changed."""
    tensor = Tensor(np.ones(size, "float32"), requires_grad=True)
    before, tensor.grad = tensor.data, np.full(size, 2.0, "float32")
    kind([tensor, Tensor([1.0], requires_grad=True)], lr=0.1).step()
    return [tensor.data is before, not np.array_equal(before, np.ones(size)),
            not np.array_equal(tensor.grad, np.full(size, 2.0))]

# %% nbgrader={"grade": true, "grade_id": "check-step", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
def test_every_parameter_steps():
    starts = [[[1.0, 2.0, -3.0], [0.5, 0.0, 4.0]], [10.0], 7.0]
    slopes = [[[[10.0, -20.0, 5.0], [0.0, 1.0, 2.0]], [3.0], -1.0], [[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]], [-30.0], 40.0]]
    path, counts = trained(SGD, starts, slopes, {"lr": 0.1})
    now = [np.array(start) for start in starts]
    for t, parts in enumerate(slopes, 1):
        now = [w - 0.1 * np.array(g) for w, g in zip(now, parts)]
        for n, (found, right) in enumerate(zip(path[t - 1], now)):
            assert np.allclose(found, right), (
                f"SGD, lr 0.1, step {t}: tensor {n} should be at {right}, yours is at {found}")
    assert counts == [2, 2, 2], f"each took 2 steps, your counts are {counts}"


def test_no_gradient_no_step():
    for kind in (SGD, AdamW):
        try:
            slopes = [[[1.0], None, [1.0]], [None, None, [1.0]]]
            path, counts = trained(kind, [[1.0], [2.0, 3.0], [4.0]], slopes, {"lr": 0.5})
        except (AttributeError, TypeError, ValueError) as error:
            assert False, (
                f"a parameter that did not take part has the gradient None and is skipped; yours ends with: {error}")
        assert np.array_equal(path[1][1], [2, 3]), f"a tensor without gradient rests at [2, 3], yours went to {path[1][1]}"
        assert np.array_equal(path[1][0], path[0][0]), (
            f"a tensor without gradient in step 2 rests, not even its decay goes on; yours went from {path[0][0]} to "
            f"{path[1][0]}")
        assert counts == [1, 0, 2], f"the tensors took 1, 0 and 2 steps, your counts are {counts}: each has its own"


def test_a_gradient_of_zeros_is_a_gradient():
    path, counts = trained(SGD, [[1.0]], [[[2.0]], [[0.0]]], {"lr": 0.1, "momentum": 0.5})
    assert np.allclose([path[0][0], path[1][0]], [[0.8], [0.7]]), (
        f"slopes 2, then 0, momentum 0.5: 1 goes to 0.8, then rolls on to 0.7; yours {path[0][0]}, {path[1][0]}. "
        "Ask whether the gradient is None, not whether it is zero")


def test_the_first_step_of_adam_is_number_one():
    for starts in ([[1.0, -2.0]], [[1.0, -2.0], [[5.0]]]):
        slopes = [[[300.0, -0.004], [[-7.0]]][:len(starts)]]
        path, counts = trained(Adam, starts, slopes, {"lr": 0.1, "eps": 1e-12})
        assert np.allclose(path[0][0], [0.9, -1.9], rtol=1e-6), (
            f"Adam's first step is lr times the sign of the slope, to [0.9, -1.9]; yours to {path[0][0]}. "
            "1 - beta**0 is 0: which number has the first step?")


def test_groups_keep_their_options():
    groups = [([0, 2], {"lr": 0.1}), ([1], {"lr": 1.0, "weight_decay": 0.5})]
    path, counts = trained(SGD, [[1.0], [2.0], [3.0]], [[[1.0], [1.0], [1.0]]] * 2, groups=groups)
    assert np.allclose(np.ravel(path[1]), [0.8, -1.0, 2.8]), (
        f"two steps with slope 1: lr 0.1 takes 1 to 0.8 and 3 to 2.8; lr 1 with decay 0.5 takes 2 to 0, then to -1. "
        f"Yours: {np.ravel(path[1])}. Every group is stepped, with its own options")


def test_small_and_large_parameters_step_alike():
    random = np.random.default_rng(5)
    shapes = [(3, 4), (130, 129), (2,), (1, 3, 2), ()]
    starts, *slopes = [[random.normal(size=s) for s in shapes] for _ in range(4)]
    slopes[1][2] = None
    path, counts = trained(AdamW, starts, slopes, {"lr": 0.1, "weight_decay": 0.3})
    for n, start in enumerate(starts):
        w, m, v, t = np.array(start), 0.0, 0.0, 0
        for parts in slopes:
            g = parts[n]
            if g is not None:
                t, m, v = t + 1, 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
                w = w * 0.97 - 0.1 * (m / (1 - 0.9 ** t)) / (np.sqrt(v / (1 - 0.999 ** t)) + 1e-8)
        assert np.allclose(path[2][n], w, rtol=1e-8, atol=1e-10), (
            f"AdamW, 3 steps: the tensor of shape {shapes[n]} is off by up to {np.abs(path[2][n] - w).max():.3g}. Did "
            "every bundle collect, count, update and give back?")
    for kind in (SGD, Adam):
        for size in (3, 20_000):
            found = same_array_after(kind, size)
            assert found == [True, True, False], (
                f"{kind.__name__}, {size} numbers: same array as before, its numbers changed, the gradient changed should "
                f"be [True, True, False]; yours {found}: weights are changed in place, gradients not at all")


test_every_parameter_steps()
test_no_gradient_no_step()
test_a_gradient_of_zeros_is_a_gradient()
test_the_first_step_of_adam_is_number_one()
test_groups_keep_their_options()
test_small_and_large_parameters_step_alike()

# %% nbgrader={"grade": true, "grade_id": "check-step-hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_steps_of_many_parameters_with_changing_rates():
    random = np.random.default_rng(76)
    shapes = [(2, 3), (5,), (), (1, 4), (200, 90)]
    starts = [random.normal(size=s) for s in shapes]
    slopes = [[None if random.random() < 0.3 else random.normal(size=s) for s in shapes] for _ in range(8)]
    rates = [0.1, 0.1, 0.05, 0.2, 0.01, 0.3, 0.1, 0.02]
    groups = [([3, 0], {"momentum": 0.5}), ([2], {}),
              ([4, 1], {"weight_decay": 0.1, "momentum": 0.8, "nesterov": True})]
    path, counts = trained(SGD, starts, slopes, groups=groups, rates=rates)
    for which, own in groups:
        for n in which:
            w, u = np.array(starts[n]), 0.0
            for t, parts in enumerate(slopes):
                if parts[n] is not None:
                    g = parts[n] + own.get("weight_decay", 0) * w
                    u = own.get("momentum", 0) * u + g
                    w = w - rates[t] * (g + own["momentum"] * u if "nesterov" in own else u)
                assert np.allclose(path[t][n], w, rtol=1e-9, atol=1e-12), (
                    f"SGD, group {own}, step {t + 1}, shape {shapes[n]}: {w} expected, got {path[t][n]}")
    right = [sum(parts[n] is not None for parts in slopes) for n in range(5)]
    assert counts == right, f"counts {right} expected, got {counts}"
    path, counts = trained(Adam, starts, slopes, {"weight_decay": 0.2}, rates=rates)
    for n in range(5):
        w, m, v, k = np.array(starts[n]), 0.0, 0.0, 0
        for t, parts in enumerate(slopes):
            if parts[n] is not None:
                g, k = parts[n] + 0.2 * w, k + 1
                m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
                w = w - rates[t] * (m / (1 - 0.9 ** k)) / (np.sqrt(v / (1 - 0.999 ** k)) + 1e-8)
            assert np.allclose(path[t][n], w, rtol=1e-7, atol=1e-10), (
                f"Adam, step {t + 1}, shape {shapes[n]}: {w} expected, got {path[t][n]}")
    assert counts == right, f"counts {right} expected, got {counts}"


test_steps_of_many_parameters_with_changing_rates()
### END HIDDEN TESTS

# %% [markdown]
# Now the whole of it, on a network: two moons, each of 200 points, one hidden layer. Predict which of the three needs
# the fewest steps, and then change the learning rates until you were right.

# %% alt="Cross-entropy against step, on a logarithmic scale, for SGD, momentum and AdamW from the same start. All fall fast at first; AdamW goes on falling and ends lowest."
from tinytorch.core.layers import Dense, Sequential, he_normal, manual_seed
from tinytorch.core.losses import cross_entropy

rng = np.random.default_rng(0)
angle, moon = rng.uniform(0, np.pi, 400), rng.integers(0, 2, 400)
points = np.stack([np.cos(angle) + moon, np.sin(angle) * (1 - 2 * moon) + 0.5 * moon], 1) + rng.normal(0, 0.1, (400, 2))
points = points.astype("float32")


def curve(make, steps=150):
    """The loss before each step, of one and the same network at the start."""
    manual_seed(1)
    net, losses = Sequential(Dense(2, 16, init=he_normal), Tensor.relu, Dense(16, 2)), []
    optimizer = make(net.parameters())
    for _ in range(steps):
        loss = cross_entropy(net(Tensor(points)), moon)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    return losses


curves = {"SGD, lr 0.3": curve(lambda p: SGD(p, 0.3)), "momentum 0.9, lr 0.3": curve(lambda p: SGD(p, 0.3, 0.9)),
          "AdamW, lr 0.03": curve(lambda p: AdamW(p, 0.03))}
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
for name, losses in curves.items():
    axis.semilogy(losses, label=f"{name}: {losses[-1]:.4f}")
axis.set(xlabel="step", ylabel="cross-entropy")
axis.legend()

# %% [markdown]
# ## Overnight
#
# A run that is stopped and resumed should end exactly where one would that was never stopped. The weights alone will
# not do: Adam without its averages takes first steps again. What has to be kept is all that the next step depends on.
#
# A file knows no tensors, so a tensor is named by its place: the parameters of all groups counted from 0.
#
# **Task.** Write `saved_state`.
#
# <details><summary>Hint 1</summary>How do you number the tensors of all groups in one row? A dict from tensor to
# number, as in <code>{p: n for n, p in enumerate(...)}</code>, answers both questions below.</details>
# <details><summary>Hint 2</summary>Training goes on and writes into the arrays. Which function copies a dict with all
# that is in it? It was imported at the top.</details>
# <details><summary>Hint 3</summary>A group is saved as it is, except that <code>"params"</code> are the
# numbers.</details>

# %% nbgrader={"grade": false, "grade_id": "optimizers-save", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def saved_state(optimizer):
    """A copy of all that the next steps of an optimizer depend on, in plain arrays and numbers.

    optimizer  an Optimizer
    returns    {"state": {number: {"step": n, name: ndarray, ...}}, "param_groups": [{"params": [number], option: value}]}
               where the parameters are numbered from 0 through all groups; those that never stepped have no state

    No array is shared with the optimizer.

    >>> w = Tensor([1.0])
    >>> saved_state(SGD([w], lr=0.5))["param_groups"]
    [{'lr': 0.5, 'momentum': 0.0, 'weight_decay': 0.0, 'nesterov': False, 'params': [0]}]

    Source: torch.optim.Optimizer.state_dict.
    """
    ### BEGIN SOLUTION
    params = [p for group in optimizer.param_groups for p in group["params"]]
    number = {p: n for n, p in enumerate(params)}
    state = {number[p]: copy.deepcopy(kept) for p, kept in optimizer.state.items()}
    groups = [{**group, "params": [number[p] for p in group["params"]]} for group in optimizer.param_groups]
    return {"state": state, "param_groups": groups}
    ### END SOLUTION

# %% [markdown]
# Loading is given; it refuses what does not fit before it changes anything.

# %%
#| exporti
def loaded_state(optimizer, saved):
    """The groups and the state of an optimizer that goes on from what `saved_state` gave; ValueError if it does not fit."""
    groups, mine, state = [], optimizer.param_groups, {}
    sizes = [len(group["params"]) for group in mine], [len(group["params"]) for group in saved["param_groups"]]
    if sizes[0] != sizes[1]:
        raise ValueError(f"this optimizer has groups of {sizes[0]} parameters, the state is for groups of {sizes[1]}")
    for group, new in zip(mine, saved["param_groups"]):
        if lost := (group.keys() ^ new.keys()) - {"initial_lr"}:
            raise ValueError(f"{type(optimizer).__name__} and the state have different options: {', '.join(sorted(lost))}")
        groups.append({name: checked_option(name, x) for name, x in new.items()} | {"params": group["params"]})
        for p, number in zip(group["params"], new["params"]):
            if kept := saved["state"].get(number):
                fit = {name: np.array(x, p.dtype) for name, x in kept.items() if name != "step"}
                for name, array in fit.items():
                    if array.shape != p.shape:
                        raise ValueError(f"{name} of parameter {number} has shape {array.shape}, the parameter {p.shape}")
                if missing := set(optimizer.keeps(groups[-1])) - set(fit):
                    raise ValueError(f"the state of parameter {number} lacks {', '.join(sorted(missing))}")
                state[p] = {"step": int(kept["step"]), **fit}
    return groups, state

# %% tags=["learner-side"]
def state_after(kind, options, shapes, steps):
    """What is saved after some steps of two groups, the second with lr 0.02; in step 3 and 7 ... tensor 0 rests, and so on."""
    tensors = [Tensor(np.full(s, n + 1.0), requires_grad=True) for n, s in enumerate(shapes)]
    optimizer = kind([{"params": tensors[:1]}, {"params": tensors[1:], "lr": 0.02}], **options)
    for t in range(steps):
        for n, tensor in enumerate(tensors):
            tensor.grad = None if (t + n) % 4 == 3 else np.full(tensor.shape, t - n + 0.5)
        optimizer.step()
    return saved_state(optimizer)


def resumed(kind, options, shapes, steps, stop, changed=None):
    """Numbers of tensors after `steps` steps in one go, and with a stop: saved after `stop`, loaded by a new optimizer.

    changed  learning rate of group 0 from the first step on, if not None
    Also the state that was saved, as it was then, and as it is after all is over.
    """
    slopes = [[np.random.default_rng([t, n]).normal(size=s) for n, s in enumerate(shapes)] for t in range(steps)]
    results = []
    for interrupted in (False, True):
        tensors = [Tensor(np.full(s, n + 1.0), requires_grad=True) for n, s in enumerate(shapes)]

        def make():
            return kind([{"params": tensors[:1]}, {"params": tensors[1:], "lr": 0.02}], **options)

        optimizer = make()
        if changed is not None:
            optimizer.param_groups[0]["lr"] = changed
        for t, parts in enumerate(slopes):
            if interrupted and t == stop:
                state = saved_state(optimizer)
                then = copy.deepcopy(state)
                optimizer.step()  # goes on a little: what was saved must not notice
                for tensor, numbers in zip(tensors, before):
                    tensor.data[...] = numbers
                optimizer = make()
                optimizer.load_state_dict(state)
            for n, (tensor, g) in enumerate(zip(tensors, parts)):
                tensor.grad = None if (t + n) % 4 == 3 else g
            optimizer.step()
            before = [tensor.data.copy() for tensor in tensors]
        results.append(before)
    return *results, then, state

# %% nbgrader={"grade": true, "grade_id": "check-save", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def test_the_state_says_all_in_plain_numbers():
    state = state_after(AdamW, {"lr": 0.1, "weight_decay": 0.3}, [(2, 3), (), (4,)], 3)
    assert sorted(state) == ["param_groups", "state"], f"the keys are param_groups and state, yours {sorted(state)}"
    found = [[n if type(n) is int else type(n).__name__ for n in group["params"]] for group in state["param_groups"]]
    assert found == [[0], [1, 2]], (
        f"the tensors of the two groups are numbered [0] and [1, 2], through all groups; yours {found}")
    found = [(group["lr"], group["weight_decay"], group["betas"]) for group in state["param_groups"]]
    assert found == [(0.1, 0.3, (0.9, 0.999)), (0.02, 0.3, (0.9, 0.999))], f"each group keeps its options, yours {found}"
    assert sorted(state["state"]) == [0, 1, 2], f"each of 3 tensors has a state, yours: {sorted(state['state'])}"
    found = [state["state"][n]["step"] for n in range(3)]
    assert found == [3, 2, 2], f"they took 3, 2 and 2 steps, the state says {found}"
    for n, shape in enumerate([(2, 3), (), (4,)]):
        for name in ("exp_avg", "exp_avg_sq"):
            x = state["state"][n][name]
            assert isinstance(x, np.ndarray) and x.shape == shape, (
                f"{name} of tensor {n} is an ndarray of shape {shape}; yours: {x!r:.60}")


def test_a_resumed_run_ends_where_the_other_does():
    for kind, options in [(SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}), (Adam, {"lr": 0.1}),
                          (AdamW, {"lr": 0.1, "betas": (0.7, 0.9)})]:
        one, two, *_ = resumed(kind, options, [(2, 3), (), (150, 120), (5,)], 9, 5, changed=0.05)
        for n, (a, b) in enumerate(zip(one, two)):
            assert np.all(a != n + 1), f"{kind.__name__}: 9 steps should move every number of tensor {n}"
            assert np.array_equal(a, b), (
                f"{kind.__name__}, stopped after 5 of 9 steps and resumed: tensor {n} should end at {a.ravel()[:3]} as "
                f"without a stop, and ends at {b.ravel()[:3]}: something that the steps depend on was not kept, or was "
                "kept alive instead of copied")


def test_a_saved_state_does_not_change():
    *_, then, now = resumed(Adam, {"lr": 0.1}, [(2, 3), (3,)], 6, 2)
    for n in (0, 1):
        for name in ("exp_avg", "exp_avg_sq", "step"):
            a, b = np.asarray(then["state"][n][name]), np.asarray(now["state"][n][name])
            assert a.size and np.all(a != 0), f"{name} of tensor {n}, after two steps, should hold no zeros; yours is {a}"
            assert np.array_equal(a, b), (
                f"{name} of tensor {n} was saved as {a}, and when training had gone on the saved state said {b}: copy the "
                "arrays")


test_the_state_says_all_in_plain_numbers()
test_a_resumed_run_ends_where_the_other_does()
test_a_saved_state_does_not_change()

# %% nbgrader={"grade": true, "grade_id": "check-save-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_states_of_other_optimizers():
    for kind, options, names in [(SGD, {"lr": 0.3}, ["step"]),
                                 (SGD, {"lr": 0.3, "momentum": 0.2}, ["momentum_buffer", "step"]),
                                 (Adam, {"lr": 0.3, "weight_decay": 0.1}, ["exp_avg", "exp_avg_sq", "step"])]:
        one, two, then, now = resumed(kind, options, [(1, 2), (4, 3), (2,), ()], 12, 7)
        assert all(np.array_equal(a, b) for a, b in zip(one, two)), f"{kind.__name__} {options}: it ends elsewhere"
        for n in range(4):
            before, after = then["state"][n], now["state"][n]
            assert sorted(after) == names, f"{kind.__name__} keeps {names}, the state has {sorted(after)}"
            assert all(np.array_equal(before[name], after[name]) for name in names), "the state changed"
        found = [sorted(set(group) - {"params"}) for group in now["param_groups"]]
        right = ["lr", "momentum", "nesterov", "weight_decay"] if kind is SGD else ["betas", "eps", "lr", "weight_decay"]
        assert found == [right, right], f"{kind.__name__}: the options {right} expected, got {found}"
        found = [group["params"] for group in now["param_groups"]]
        assert found == [[0], [1, 2, 3]], f"the numbers [0] and [1, 2, 3] expected, got {found}"


test_states_of_other_optimizers()
### END HIDDEN TESTS

# %% [markdown]
# ## A step that is not too long
#
# One odd batch can have slopes a thousand times as large as usual, and one step along them undoes a day. *Clipping*
# shortens it: all gradients together are one long vector; if its length is more than `max_norm`, it gets that length
# and keeps its direction.
#
# Predict: two parameters have the gradients (3, 4) and (6, 8), and `max_norm` is 5. What becomes of the first?
#
# **Task.** Write `clip_grad_norm_`. It is called between `backward` and `step`; the line at the end of its name is
# PyTorch's way to say "in place".
#
# <details><summary>Hint 1</summary>The length of many arrays is the root of what sum? Which of them may be left
# out?</details>
# <details><summary>Hint 2</summary>One factor for all of them, or the direction changes. When is it less than
# 1?</details>
# <details><summary>Hint 3</summary><code>np.linalg.norm(g)</code> is the length of one array, of any shape; the length
# of the lengths is the length of all. Divide <code>max_norm</code> by the length plus 1e-6, as PyTorch
# does.</details>

# %% nbgrader={"grade": false, "grade_id": "optimizers-clip", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def clip_grad_norm_(parameters, max_norm):
    """Shorten all gradients by one factor, so that together they are no longer than `max_norm`.

    parameters  Tensors: a list, a generator, ...; those without a gradient have no part in it
    max_norm    the largest length that is left as it is, in the unit of a slope; longer ones get, to one part in a
                million, this length
    returns     the length before, a float

    The arrays in `.grad` are changed in place. For no gradients at all the length is 0.

    >>> a, b = Tensor([0.0]), Tensor([0.0])
    >>> a.grad, b.grad = np.array([30.0]), np.array([-40.0])
    >>> clip_grad_norm_([a, b], max_norm=5.0)
    50.0
    >>> a.grad.round(4), b.grad.round(4)
    (array([3.]), array([-4.]))

    Source: Pascanu, Mikolov, Bengio, On the difficulty of training recurrent neural networks (2013); the 1e-6 added to
    the length is from torch.nn.utils.clip_grad_norm_.
    """
    ### BEGIN SOLUTION
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = math.hypot(*[float(np.linalg.norm(g)) for g in gradients])
    factor = max_norm / (norm + 1e-6)
    if factor < 1:
        for g in gradients:
            g *= factor
    return norm
    ### END SOLUTION

# %% tags=["learner-side"]
def clipped(gradients, max_norm, generator=False):
    """(length, gradients afterwards, whether they are the same arrays as before) for tensors with these gradients."""
    tensors = []
    for g in gradients:
        tensors.append(Tensor(np.zeros(np.shape(g)), requires_grad=True))
        tensors[-1].grad = None if g is None else np.array(g)
    before = [tensor.grad for tensor in tensors]
    norm = clip_grad_norm_((tensor for tensor in tensors) if generator else tensors, max_norm)
    after = [None if tensor.grad is None else np.array(tensor.grad) for tensor in tensors]
    return norm, after, [tensor.grad is g for tensor, g in zip(tensors, before)]

# %% nbgrader={"grade": true, "grade_id": "check-clip", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_all_gradients_are_shortened_by_one_factor():
    norm, found, same = clipped([np.array([3.0, 4.0]), np.array([6.0, 8.0])], 5.0)
    assert abs(float(norm) - 125 ** 0.5) < 1e-9, f"(3, 4) and (6, 8) are together 125 ** 0.5 = 11.18 long, yours {norm}"
    assert np.allclose(found[0], [1.34164, 1.78885], atol=1e-4), (
        f"one factor, 5 / 11.18, makes (3, 4) to (1.3416, 1.7889); yours is {found[0]}. Do not clip each by its own "
        "length")
    assert np.allclose(found[1], [2.68328, 3.57771], atol=1e-4), f"(6, 8) becomes (2.6833, 3.5777); yours is {found[1]}"
    assert same == [True, True], "the gradients should be changed in place: others may hold the arrays"


def test_short_gradients_stay_as_they_are():
    for max_norm in (11.2, 12.0, 1e9):
        norm, found, _ = clipped([np.array([3.0, 4.0]), np.array([[6.0], [8.0]])], max_norm)
        assert np.array_equal(found[0], [3, 4]) and np.array_equal(found[1], [[6], [8]]), (
            f"a length of 11.18 is allowed, {max_norm} is the limit: nothing changes; yours became {found}")
        assert abs(float(norm) - 125 ** 0.5) < 1e-9, f"the length 11.18 is returned also then; yours {norm}"


def test_arrays_of_any_shape_count():
    random = np.random.default_rng(6)
    gradients = [random.normal(size=s) * f for s, f in [((2, 3, 4), 100.0), ((), 7.0), ((5, 1), 0.001), ((0, 2), 1.0)]]
    right = math.sqrt(sum(float(x) ** 2 for g in gradients for x in g.ravel()))
    for max_norm in (0.5, 40.0):
        norm, found, _ = clipped(gradients, max_norm)
        assert abs(float(norm) / right - 1) < 1e-9, f"the length is {right}, yours {norm}"
        for g, x in zip(gradients, found):
            assert np.allclose(x, g * max_norm / right, rtol=2e-5), (
                f"limit {max_norm}, length {right:.4f}: {g} should become {g * max_norm / right}, yours {x}")


def test_tensors_without_gradient_have_no_part():
    try:
        norm, found, _ = clipped([None, np.array([3.0, 4.0]), None], 1.0, generator=True)
    except (AttributeError, TypeError) as error:
        assert False, f"parameters without a gradient are left out; yours ends with: {error}"
    assert abs(float(norm) - 5) < 1e-9 and np.allclose(found[1], [0.6, 0.8], atol=1e-5), (
        f"given as a generator, None, (3, 4), None and limit 1: length 5, and (0.6, 0.8) is left; yours {norm}, "
        f"{found[1]}. A generator can be walked only once")
    norm, _, _ = clipped([None, None], 1.0)
    assert float(norm) == 0, f"no gradients, no length: 0, yours {norm}"


def test_clipping_keeps_dtypes():
    norm, found, _ = clipped([np.array([30, 40], "float32"), np.zeros(3, "float32")], 5.0)
    assert [x.dtype.name for x in found] == ["float32"] * 2, f"float32 gradients became {[x.dtype.name for x in found]}"
    assert type(norm) is float, f"the length is a plain float, yours is a {type(norm).__name__}"
    norm, found, _ = clipped([np.zeros(3)], 5.0)
    assert norm == 0 and np.array_equal(found[0], [0, 0, 0]), f"a length of 0 is no problem: yours {norm}, {found[0]}"


test_all_gradients_are_shortened_by_one_factor()
test_short_gradients_stay_as_they_are()
test_arrays_of_any_shape_count()
test_tensors_without_gradient_have_no_part()
test_clipping_keeps_dtypes()

# %% nbgrader={"grade": true, "grade_id": "check-clip-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_clipping_of_other_gradients():
    random = np.random.default_rng(77)
    for shapes, max_norm in [([(3,), None, (2, 1, 2)], 0.01), ([(), (4, 4)], 3.0), ([None, (7,)], 50.0),
                             ([(2,), (2,)], 2.5)]:
        for generator in (False, True):
            gradients = [None if s is None else np.asarray(random.normal(size=s) * 4) for s in shapes]
            right = math.sqrt(sum(float((g * g).sum()) for g in gradients if g is not None))
            norm, found, same = clipped(gradients, max_norm, generator)
            assert abs(norm - right) < 1e-9 * right, f"{shapes}: length {right} expected, got {norm}"
            factor = min(1.0, max_norm / (right + 1e-6))
            for g, x in zip(gradients, found):
                assert x is None if g is None else np.allclose(x, g * factor, rtol=1e-9), f"{g} times {factor}, got {x}"
            assert same == [True] * len(shapes), f"{shapes}: not in place"


test_clipping_of_other_gradients()
### END HIDDEN TESTS

# %% [markdown]
# ## Rates that change
#
# Long steps first, while everything is wrong; short ones at the end, to settle. A *schedule* sets the rate of every
# group before each step or each epoch, from the rate it had at the start (`base`) and the number of times it was told
# to go on. What they share is given.

# %%
#| exporti
class LRScheduler:
    """Sets the learning rates of an optimizer: at once, and again in every `step()`. One schedule for one optimizer.

    .last_epoch  how often `step()` was called
    .base_lrs    the rate of each group before any schedule touched it

    A subclass writes rate(self, base, epoch): the rate in that epoch (or step, whatever is counted), 0 being the first.
    """

    def __init__(self, optimizer):
        self.optimizer, self.last_epoch = optimizer, 0
        self.base_lrs = [group.setdefault("initial_lr", group["lr"]) for group in optimizer.param_groups]
        self.set_rates()

    def rate(self, base, epoch):
        raise NotImplementedError(f"{type(self).__name__} needs a method rate(self, base, epoch)")

    def set_rates(self):
        for group, base in zip(self.optimizer.param_groups, self.base_lrs):
            group["lr"] = float(self.rate(base, self.last_epoch))

    def step(self):
        """Go on to the next epoch."""
        self.last_epoch += 1
        self.set_rates()

    def get_last_lr(self):
        """The rate of each group as it is now."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self):
        """Where the schedule is, in plain numbers."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state):
        """Go on from there."""
        if len(state["base_lrs"]) != len(self.base_lrs):
            raise ValueError(f"the state is for {len(state['base_lrs'])} groups, the optimizer has {len(self.base_lrs)}")
        self.last_epoch, self.base_lrs = int(state["last_epoch"]), [float(base) for base in state["base_lrs"]]
        self.set_rates()

# %% [markdown]
# The oldest schedule goes down a stair: the rate stays for `step_size` epochs, then it is multiplied by `gamma`.
#
# **Task.** Write `rate` of `StepLR`.
#
# <details><summary>Hint 1</summary>How many stairs have been taken when the epochs 0 to 29 are the first stair, 30 to
# 59 the second? Which operator of Python counts that?</details>
# <details><summary>Hint 2</summary>Two stairs: gamma times gamma.</details>

# %% nbgrader={"grade": false, "grade_id": "optimizers-stairs", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
class StepLR(LRScheduler):
    """A stair: every `step_size` epochs the rate is multiplied by `gamma`.

    optimizer  an Optimizer
    step_size  how many epochs each stair is long
    gamma      the height of a stair over that of the one before

    >>> schedule = StepLR(SGD([Tensor([1.0])], lr=8.0), step_size=2, gamma=0.5)
    >>> [schedule.rate(8.0, epoch) for epoch in range(5)]
    [8.0, 8.0, 4.0, 4.0, 2.0]

    Source: torch.optim.lr_scheduler.StepLR.
    """

    def __init__(self, optimizer, step_size, gamma=0.1):
        if step_size < 1:
            raise ValueError(f"step_size is {step_size}: a stair is 1 epoch long or more")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer)

    def rate(self, base, epoch):
        ### BEGIN SOLUTION
        return base * self.gamma ** (epoch // self.step_size)
        ### END SOLUTION

# %% tags=["learner-side"]
def rates_of(kind, bases, epochs, *arguments, **options):
    """The rates of all groups in each epoch, as the optimizer has them; and when the schedule is resumed half way."""
    def make():
        optimizer = SGD([{"params": [Tensor([1.0])], "lr": base} for base in bases])
        return optimizer, kind(optimizer, *arguments, **options)

    optimizer, schedule = make()
    found, state = [], None
    for epoch in range(epochs):
        if epoch == epochs // 2:
            state = schedule.state_dict()
        found.append([group["lr"] for group in optimizer.param_groups])
        schedule.step()
    optimizer, schedule = make()
    schedule.load_state_dict(state)
    resumed = []
    for _ in range(epochs // 2, epochs):
        resumed.append([group["lr"] for group in optimizer.param_groups])
        schedule.step()
    return found, resumed

# %% nbgrader={"grade": true, "grade_id": "check-stairs", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def test_the_stair_has_its_length_and_height():
    found, _ = rates_of(StepLR, [0.8], 11, 4, 0.5)
    wanted = [0.8] * 4 + [0.4] * 4 + [0.2] * 3
    assert np.allclose(np.ravel(found), wanted), (
        f"from 0.8, times 0.5 every 4 epochs: {wanted}; yours {np.ravel(found)}")
    found, _ = rates_of(StepLR, [3.0], 5, 1)
    assert np.allclose(np.ravel(found), [3, 0.3, 0.03, 0.003, 0.0003], rtol=1e-9), (
        f"from 3, times 0.1 every epoch: 3, 0.3, 0.03, ...; yours {np.ravel(found)}")


def test_every_group_takes_the_stair_from_its_own_rate():
    found, resumed = rates_of(StepLR, [0.8, 5.0], 7, step_size=3, gamma=0.1)
    wanted = np.array([[0.8, 5.0]] * 3 + [[0.08, 0.5]] * 3 + [[0.008, 0.05]])
    assert np.allclose(found, wanted, rtol=1e-9), f"groups at 0.8 and 5, stairs of 3: {wanted}; yours {found}"
    assert np.allclose(resumed, wanted[3:], rtol=1e-9), f"resumed in epoch 3: {wanted[3:]}; yours {resumed}"


test_the_stair_has_its_length_and_height()
test_every_group_takes_the_stair_from_its_own_rate()

# %% [markdown]
# A gentler way down is half a wave of the cosine, from `base` at epoch 0 to `eta_min` at epoch `T_max`: slow, then
# fast, then slow. PyTorch lets the wave go on after that, up again, for those who start anew on purpose.
#
# **Task.** Write `rate` of `CosineAnnealingLR`.
#
# <details><summary>Hint 1</summary>The cosine of 0 is 1, that of π is -1. What must be done to it to get 1 and
# 0?</details>
# <details><summary>Hint 2</summary>That is a share between 0 and 1. The rate is <code>eta_min</code> plus this share
# of what is between <code>eta_min</code> and <code>base</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "optimizers-cosine", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
class CosineAnnealingLR(LRScheduler):
    """Half a wave down: from the base rate in epoch 0 to `eta_min` in epoch `T_max`. Afterwards the wave goes on, up.

    optimizer  an Optimizer
    T_max      how many epochs the way down takes
    eta_min    the lowest rate

    >>> schedule = CosineAnnealingLR(SGD([Tensor([1.0])], lr=8.0), T_max=4)
    >>> [round(schedule.rate(8.0, epoch), 2) for epoch in (0, 1, 2, 3, 4, 6)]
    [8.0, 6.83, 4.0, 1.17, 0.0, 4.0]

    Source: Loshchilov and Hutter, SGDR (2017), (5); torch.optim.lr_scheduler.CosineAnnealingLR.
    """

    def __init__(self, optimizer, T_max, eta_min=0.0):
        if T_max < 1:
            raise ValueError(f"T_max is {T_max}: the way down takes 1 epoch or more")
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer)

    def rate(self, base, epoch):
        ### BEGIN SOLUTION
        share = (1 + math.cos(math.pi * epoch / self.T_max)) / 2
        return self.eta_min + (base - self.eta_min) * share
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-cosine", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_the_wave_at_known_places():
    found, _ = rates_of(CosineAnnealingLR, [0.9], 13, 12, 0.1)
    wanted = {0: 0.9, 4: 0.7, 6: 0.5, 8: 0.3, 12: 0.1}
    for epoch, rate in wanted.items():
        assert abs(found[epoch][0] - rate) < 1e-12, (
            f"from 0.9 down to 0.1 in 12 epochs: epoch {epoch} has the rate {rate} (the cosine of {epoch * 15} degrees "
            f"is {math.cos(math.pi * epoch / 12):.2f}); yours is {found[epoch][0]}")


def test_the_lowest_rate_is_the_same_for_all_groups():
    found, resumed = rates_of(CosineAnnealingLR, [0.9, 4.1], 6, T_max=5, eta_min=0.1)
    assert np.allclose(found[0], [0.9, 4.1]) and np.allclose(found[5], [0.1, 0.1]), (
        f"groups at 0.9 and 4.1, eta_min 0.1: epoch 0 [0.9, 4.1], epoch 5 [0.1, 0.1]; yours {found[0]} and {found[5]}")
    assert resumed == found[3:], f"resumed in epoch 3: {found[3:]} expected; yours {resumed}"


def test_the_wave_goes_on():
    found, _ = rates_of(CosineAnnealingLR, [1.0], 13, 4)
    assert np.allclose(np.ravel(found)[4:9], np.ravel(found)[4::-1]) and abs(found[12][0]) < 1e-12, (
        f"after epoch 4 the wave goes up as it came down, and it is at 0 again in epoch 12; yours {np.ravel(found)}")


test_the_wave_at_known_places()
test_the_lowest_rate_is_the_same_for_all_groups()
test_the_wave_goes_on()

# %% [markdown]
# At the very beginning, too, long steps are wrong: Adam's averages rest on a few slopes. So the rate is often warmed
# up: it grows evenly for some steps, and then comes down. `LinearLR` does the one, and `SequentialLR` joins schedules;
# every part counts its own epochs from 0. All of PyTorch's names and arguments, given:

# %%
#| export
class LinearLR(LRScheduler):
    """The base rate times a factor that goes evenly from `start_factor` to `end_factor` in `total_iters` epochs.

    Source: torch.optim.lr_scheduler.LinearLR.
    """

    def __init__(self, optimizer, start_factor=1 / 3, end_factor=1.0, total_iters=5):
        if not 0 < start_factor <= 1 or not 0 <= end_factor <= 1:
            raise ValueError(f"the factors go from above 0, and from 0, to 1, not {start_factor} and {end_factor}")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer)

    def rate(self, base, epoch):
        if epoch >= self.total_iters:
            return base * self.end_factor
        return base * (self.start_factor + (self.end_factor - self.start_factor) * epoch / self.total_iters)


class LambdaLR(LRScheduler):
    """The base rate times lr_lambda(epoch). Source: torch.optim.lr_scheduler.LambdaLR."""

    def __init__(self, optimizer, lr_lambda):
        self.lr_lambda = lr_lambda
        super().__init__(optimizer)

    def rate(self, base, epoch):
        return base * self.lr_lambda(epoch)


class SequentialLR(LRScheduler):
    """One schedule after the other; number n + 1 begins at milestones[n]. Only this one is stepped, not its parts.

    Source: torch.optim.lr_scheduler.SequentialLR.
    """

    def __init__(self, optimizer, schedulers, milestones):
        if len(schedulers) != len(milestones) + 1 or list(milestones) != sorted(milestones):
            raise ValueError(f"{len(schedulers)} schedules need {len(schedulers) - 1} growing milestones, not {milestones}")
        self.schedulers, self.milestones = list(schedulers), list(milestones)
        super().__init__(optimizer)

    def set_rates(self):
        place = sum(self.last_epoch >= milestone for milestone in self.milestones)
        part = self.schedulers[place]
        part.last_epoch = self.last_epoch - [0, *self.milestones][place]
        part.set_rates()

# %% [markdown]
# Warm-up and half a cosine became the usual schedule of transformers, and two mistakes come with it. A cosine that has
# counted since the start of the warm-up is no longer at its top when its turn comes. And a training that goes on after
# the planned end finds the rate rising.
#
# **Task.** Write `warmup_cosine`, the factor for one step.
#
# <details><summary>Hint 1</summary>Even steps from just above 0 to 1: with a warm-up of 3 they are 1/4, 2/4, 3/4, and
# then the top.</details>
# <details><summary>Hint 2</summary>Behind the warm-up: which share of the way down is done? It counts from the end of
# the warm-up, and is never more than 1.</details>
# <details><summary>Hint 3</summary><code>share = min(1, (step - warmup) / (total - warmup))</code>, then as in
# <code>CosineAnnealingLR</code>, from 1 to <code>lowest</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "optimizers-warmup", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def warmup_cosine(step, warmup, total, lowest=0.0):
    """The share of the full rate in one step: evenly up, half a cosine down, then level. For `LambdaLR`.

    step     0 for the first
    warmup   how many steps the way up takes; (step + 1) / (warmup + 1) in each of them, so 1 is first in step `warmup`
    total    the step in which `lowest` is reached, more than `warmup`; all later steps have it too
    lowest   the share at the end
    returns  a float between 0 and 1

    >>> [round(warmup_cosine(step, 3, 7, 0.2), 2) for step in range(9)]
    [0.25, 0.5, 0.75, 1.0, 0.88, 0.6, 0.32, 0.2, 0.2]

    Source: Loshchilov and Hutter (2017), (5), behind the warm-up of Goyal et al. (2017), section 2.2.
    """
    ### BEGIN SOLUTION
    if step < warmup:
        return (step + 1) / (warmup + 1)
    share = min(1.0, (step - warmup) / (total - warmup))
    return lowest + (1 - lowest) * (1 + math.cos(math.pi * share)) / 2
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-warmup", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_the_way_up_is_even():
    for warmup in (4, 10):
        found = [float(warmup_cosine(step, warmup, 110)) for step in range(warmup)]
        wanted = [(step + 1) / (warmup + 1) for step in range(warmup)]
        assert np.allclose(found, wanted), f"a warm-up of {warmup} steps: {wanted}; yours {found}"


def test_the_top_is_at_the_end_of_the_warmup():
    for warmup, total in [(10, 110), (3, 7), (0, 5)]:
        found = float(warmup_cosine(warmup, warmup, total))
        assert found == 1, (
            f"warm-up {warmup}, total {total}: step {warmup} has the full rate, 1, yours {found:.6f}. The cosine counts "
            "from the end of the warm-up")
        assert abs(float(warmup_cosine(total, warmup, total))) < 1e-9, f"warm-up {warmup}: step {total} of {total} has 0"


def test_the_way_down_is_half_a_cosine():
    for step, wanted in [(60, 0.8), (80, 0.6), (100, 0.4), (140, 0.2)]:
        found = float(warmup_cosine(step, 20, 140, 0.2))
        assert abs(found - wanted) < 1e-9, (
            f"warm-up 20, total 140, lowest 0.2: step {step} has {wanted}, yours {found}")
    found = [float(warmup_cosine(step, 5, 12)) for step in range(5, 13)]
    assert found == sorted(found, reverse=True) and abs(found[-1]) < 1e-9, f"from 1 down to 0, yours {found}"


def test_behind_the_end_it_stays_low():
    for step in (100, 101, 150, 200, 100_000):
        for lowest in (0.0, 0.3):
            found = float(warmup_cosine(step, 0, 100, lowest))
            assert abs(found - lowest) < 1e-9, (
                f"total 100, lowest {lowest}: step {step} is behind the end and has {lowest}, yours {found:.6f}. The rate "
                "must not rise again")


test_the_way_up_is_even()
test_the_top_is_at_the_end_of_the_warmup()
test_the_way_down_is_half_a_cosine()
test_behind_the_end_it_stays_low()

# %% nbgrader={"grade": true, "grade_id": "check-warmup-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_warmups():
    for warmup, total, lowest in [(1, 2, 0.0), (7, 30, 0.05), (0, 1, 0.5), (100, 101, 1.0)]:
        for step in range(total + 20):
            if step < warmup:
                right = (step + 1) / (warmup + 1)
            else:
                degrees = 180 * min(step - warmup, total - warmup) / (total - warmup)
                right = lowest + (1 - lowest) * np.cos(np.deg2rad(degrees) / 2) ** 2
            found = float(warmup_cosine(total=total, step=step, lowest=lowest, warmup=warmup))
            assert abs(found - right) < 1e-9, f"step {step}, warm-up {warmup}, total {total}: {right} expected, got {found}"


test_other_warmups()
### END HIDDEN TESTS

# %% alt="Learning rate against epoch for four schedules: stairs, half a cosine, a line up and then a cosine, and a warm-up with a cosine down to a floor."
def rates_in(make, epochs=120):
    """The rate in each epoch of a schedule for an optimizer that starts with 1."""
    optimizer = SGD([Tensor([1.0])], lr=1.0)
    schedule, found = make(optimizer), []
    for _ in range(epochs):
        found += schedule.get_last_lr()
        schedule.step()
    return found


figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
for name, make in {
    "StepLR(30, 0.3)": lambda o: StepLR(o, 30, 0.3),
    "CosineAnnealingLR(100)": lambda o: CosineAnnealingLR(o, 100),
    "LinearLR, then CosineAnnealingLR": lambda o: SequentialLR(
        o, [LinearLR(o, 0.1, total_iters=20), CosineAnnealingLR(o, 80)], [20]),
    "LambdaLR, warmup_cosine": lambda o: LambdaLR(o, lambda step: warmup_cosine(step, 10, 100, 0.1)),
}.items():
    axis.plot(rates_in(make), label=name)
axis.set(xlabel="epoch", ylabel="learning rate")
axis.legend(fontsize="small")

# %% [markdown]
# ## Look back
#
# 1. The slopes of a batch are noisy. Add `rng.normal(size=2) * 3` to every slope of the valley: how far from the lowest
#    point do SGD, momentum and Adam still wander after 1,000 steps? And with `warmup_cosine`? What becomes smaller?
# 2. Notes hold arrays, and `step` writes into them. Let y = w * x with w = 2; call `y.backward(retain_graph=True)`,
#    set all gradients to None, take a step, and call `y.backward()` again. Which slope does x get, and which should it
#    have? What does that say about a layer that updates its weights before it has handed its gradient on?
# 3. You know the best rate only up to a factor of 10. Train the moons with a tenth, with all and with ten times the
#    rates above: which optimizer would you trust?
