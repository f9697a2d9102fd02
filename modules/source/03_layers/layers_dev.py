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
#     difficulty: 2
#     enables:
#     - losses
#     - autograd
#     hours: 4
#     prerequisites:
#     - tensor
#     - activations
#     summary: Numbers to be learned, kept where they can be found, set well and saved
#     title: Layers
# ---

# %% [markdown]
# # 03. Layers
#
# A network is a long formula with thousands of numbers in it that nobody has chosen yet. Before they
# can be learned, somebody must say where they live, how to find them all, what they are on the first
# day, and how to keep them overnight. This chapter answers these four.
#
# **You need** 01 (Tensor); 02 (Activations) says why layers need bends between them. **You write**
# the dense layer, two ways to start it, the walk that finds every parameter, dropout, and saving.

# %%
#| default_exp core.layers
#| export
import math

import numpy as np

from tinytorch.core.tensor import Tensor, Variable

# %% [markdown]
# ## Weigh and add
#
# A dense layer asks every input about every output: each output is a weighted sum of all the inputs,
# plus a number of its own, the *bias*. For a batch of rows that is one matrix product: $y = xW + b$,
# where column $j$ of $W$ holds the weights of output $j$.
#
# Predict both shapes, and what would happen if `b` had the shape (3, 1).

# %%
x = Tensor([[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]])  # three examples of two numbers
W = Tensor([[1.0, 0.0, 3.0, -1.0], [0.0, 1.0, 4.0, 2.0]])  # from two numbers to four
b = Tensor([10.0, 20.0, 30.0, 40.0])
print((x @ W).shape, (x @ W + b).shape)

# %% [markdown]
# A bias of shape (3, 1) would also have been added without a word, one number per *example* instead
# of one per output; with another batch size it would crash. So the bias has shape (out,), and lines
# up at the right.
#
# **Task.** Write `linear`. Some layers go without a bias; then it is `None`.
#
# <details><summary>Hint 1</summary>What does <code>@</code> do with an input of three axes, or of
# one?</details>
# <details><summary>Hint 2</summary>A bias that is there may be zero. Which question tells "no bias"
# from "a bias of zero"?</details>
# <details><summary>Hint 3</summary>Not <code>if bias:</code>. Ask whether it <em>is</em>
# <code>None</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "layers-linear", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def linear(x, weights, bias=None):
    """x @ weights + bias: every output is a weighted sum of all inputs.

    x        Tensor of shape (..., in): any axes in front, or none
    weights  Tensor of shape (in, out)
    bias     Tensor of shape (out,), or None
    returns  Tensor of shape (..., out)

    Raises ValueError with both shapes in it when the last length of `x` is not `in`.

    >>> linear(Tensor([[1, 2]]), Tensor([[1, 0, 3], [0, 1, 4]]), Tensor([10, 20, 30]))
    Tensor([[11, 22, 41]])

    Source: torch.nn.functional.linear, which keeps its weights the other way round, as (out, in).
    """
    ### BEGIN SOLUTION
    out = x @ weights
    return out if bias is None else out + bias
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-linear", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_each_output_weighs_all_inputs():
    x = np.array([[1, 2, -3], [0.5, 4, 10], [-2, 0, 7], [100, -50, 3], [0, 1, 0]], "float32")
    weights = np.array([[2, -1, 0.5, 3], [1, 5, -2, 0.25], [-4, 0, 1, 6]], "float32")
    bias = np.array([10, -20, 0.5, 3], "float32")
    for given, added in [(Tensor(bias), bias), (None, [0, 0, 0, 0])]:
        wanted = np.array([[sum(float(row[i]) * float(weights[i, j]) for i in range(3)) + float(added[j])
                            for j in range(4)] for row in x])
        out = linear(Tensor(x), Tensor(weights), given)
        assert out.shape == (5, 4), f"5 rows of 3, weights (3, 4): the result has shape (5, 4), yours {out.shape}"
        assert np.allclose(out.data, wanted, rtol=1e-5, atol=1e-5), (
            f"with bias {given} the result should be\n{wanted}, yours is\n{out.data}")
        assert out.dtype.name == "float32", f"float32 went in, {out.dtype} came out"
    out = linear(Tensor(x.astype("float64")), Tensor(weights.astype("float64")), Tensor(bias.astype("float64")))
    assert out.dtype.name == "float64", f"float64 went in, {out.dtype} came out"


def test_axes_in_front_stay():
    weights = np.array([[2, -1], [1, 5], [-4, 0.5]], "float32")
    bias = np.array([0.25, -3], "float32")
    for shape in [(3,), (1, 3), (0, 3), (2, 5, 3), (4, 1, 2, 3)]:
        x = (np.arange(np.prod(shape), dtype="float32") - 4).reshape(shape)
        out = linear(Tensor(x), Tensor(weights), Tensor(bias))
        wanted = np.tensordot(x, weights, 1) + bias
        assert out.shape == wanted.shape, f"{shape} through (3, 2) has shape {wanted.shape}, yours {out.shape}"
        assert np.allclose(out.data, wanted), f"{shape} through (3, 2) should be {wanted}, yours is {out.data}"


def test_a_bias_of_zero_is_a_bias():
    out = linear(Tensor([[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]]), Tensor([[1.0], [4.0]]), Variable([0.0]))
    assert out.requires_grad, (
        "one output with a bias of 0: the bias was left out, so it can never learn. "
        "`if bias:` asks for its value; ask `bias is None`")
    assert np.allclose(out.data, [[9], [23], [4]]), f"it should be [[9], [23], [4]], yours is {out.data}"


def test_the_note_of_how_it_was_made_is_kept():
    x, weights, bias = [[1.0, 2.0]], [[1.0, 4.0, 0.0], [2.0, 1.0, 3.0]], [0.5, 0.0, 1.0]
    for learns in ("x", "weights", "bias"):
        out = linear(*[Tensor(data, requires_grad=name == learns)
                       for name, data in [("x", x), ("weights", weights), ("bias", bias)]])
        assert out.requires_grad is True, (
            f"{learns} wants a gradient, so the result must too: compute with tensors, not .data")
        assert np.array_equal(np.asarray(out), [[5.5, 6.0, 7.0]]), f"x W + b should be [[5.5, 6, 7]], yours {out}"


def test_a_wrong_width_is_refused():
    weights = Tensor(np.ones((3, 4), "float32"))
    for shape in [(5, 1), (5, 2), (5, 4), (2, 3, 1), (1,), (3, 5)]:
        try:
            out = linear(Tensor(np.ones(shape, "float32")), weights, Tensor(np.ones(4, "float32")))
        except ValueError as error:
            assert str(shape) in str(error) and "(3, 4)" in str(error), (
                f"the error should name {shape} and (3, 4), yours: {error}")
        else:
            assert False, (
                f"weights (3, 4) take rows of 3 numbers; you accepted {shape} and made {out.shape} of it, with some "
                "weights used wrongly or never")


test_each_output_weighs_all_inputs()
test_axes_in_front_stay()
test_a_bias_of_zero_is_a_bias()
test_the_note_of_how_it_was_made_is_kept()
test_a_wrong_width_is_refused()

# %% nbgrader={"grade": true, "grade_id": "check-linear-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_linear_on_other_ranks_widths_and_magnitudes():
    random = np.random.default_rng(21)
    for shape, width, dtype in [((7, 1), 4, "float32"), ((1,), 1, "float64"), ((3, 2, 1, 5), 1, "float32"),
                                ((2, 0, 4), 3, "float64"), ((2, 1, 3, 1, 2), 6, "float64")]:
        size = 10.0 ** random.integers(-5, 6, shape[-1])
        x, weights = random.normal(size=shape) * size, random.normal(size=(shape[-1], width)) / size[:, None]
        x, weights, bias = x.astype(dtype), weights.astype(dtype), random.normal(size=width).astype(dtype)
        wanted = np.einsum("...i,ij->...j", x, weights)
        for added in (None, bias):
            inputs = {"weights": Tensor(weights), "x": Tensor(x), "bias": None if added is None else Tensor(added)}
            out, right = linear(**inputs), wanted if added is None else wanted + added
            assert out.shape == right.shape and out.dtype.name == dtype, (
                f"{dtype} {shape} by {weights.shape}: {dtype} {right.shape} expected, got {out.dtype} {out.shape}")
            assert np.allclose(out.data, right, rtol=1e-5, atol=1e-5), (
                f"{shape} by {weights.shape}, bias {added}: {right} expected, got {out.data}")
            assert np.array_equal(inputs["x"].data, x) and np.array_equal(inputs["weights"].data, weights), (
                f"{shape} by {weights.shape}: an input was changed")
    for shape, widths in [((5, 3), (1, 4)), ((6,), (2, 1)), ((2, 4, 2), (4, 2)), ((0, 2), (3, 2))]:
        try:
            out = linear(Tensor(np.ones(shape, "float32")), Tensor(np.ones(widths, "float32")))
        except ValueError as error:
            assert str(shape) in str(error) and str(widths) in str(error), f"{shape} by {widths}: the error is {error}"
        else:
            assert False, f"{shape} by {widths}: ValueError expected, got shape {out.shape}"


test_linear_on_other_ranks_widths_and_magnitudes()
### END HIDDEN TESTS

# %% [markdown]
# ## The first day
#
# What should the weights be before anything was learned? All equal will not do: then all outputs of a
# layer are equal too, and whatever changes one changes the others. So they are drawn at random. How
# far from 0?
#
# Predict what twenty layers of 100 numbers do to a signal of spread 1 when the weights have a
# standard deviation of 0.01, and of 0.2.

# %%
def spreads(std, bend, layers=20, width=100):
    """The standard deviation of a signal after each of `layers` random layers with `bend` behind them."""
    rng = np.random.default_rng(0)
    x, found = Tensor(rng.normal(size=(100, width)).astype("float32")), []
    for _ in range(layers):
        x = bend(linear(x, Tensor(rng.normal(0, std, (width, width)).astype("float32"))))
        found.append(float(x.std()))
    return found


def as_is(x):
    return x


for std in (0.01, 0.2):
    found = spreads(std, as_is)
    print(f"std {std}: after 1, 2, 10 and 20 layers {found[0]:.2g}, {found[1]:.2g}, {found[9]:.2g}, {found[19]:.2g}")

# %% [markdown]
# Each layer multiplies the spread by the same factor, and twenty layers by its twentieth power. One
# output is a sum of `fan_in` products, and variances of independent terms add:
#
# $$\mathrm{var}(y) = \text{fan\_in} \cdot \mathrm{var}(w) \cdot \mathrm{var}(x).$$
#
# The spread stays when $\mathrm{var}(w) = 1 / \text{fan\_in}$. Here that is a standard deviation of
# $1/\sqrt{100} = 0.1$:

# %%
print(" ".join(f"{s:.2f}" for s in spreads(0.1, as_is)))

# %% [markdown]
# Slopes travel backward through the same weights, and each is a sum over the layer's `fan_out`
# outputs; they ask for $1 / \text{fan\_out}$. Glorot and Bengio took the middle:
#
# $$\mathrm{var}(w) = 2 / (\text{fan\_in} + \text{fan\_out}).$$
#
# It is called Xavier, by Glorot's first name, and often drawn evenly between $-a$ and $a$, which has
# the variance $a^2 / 3$.
#
# First, where chance comes from: one generator of this module, never NumPy's global one, which any
# library may draw from.

# %%
#| exporti
class Chance:
    """Where layers draw from when nobody hands them a generator. The seed differs in every run until `manual_seed`."""

    rng = np.random.default_rng()


def generator(rng=None):
    """The NumPy Generator to draw from: `rng` itself, a new one for a whole number, the module's own for None."""
    return Chance.rng if rng is None else np.random.default_rng(rng)

# %%
#| export
def manual_seed(seed):
    """Start the layers' generator anew, so that the same program draws the same numbers again.

    seed     a whole number >= 0

    Everything drawn after this depends on `seed` and on the order of drawing, and on nothing else.
    """
    Chance.rng = np.random.default_rng(seed)

# %% [markdown]
# **Task.** Write `xavier_uniform`.
#
# <details><summary>Hint 1</summary>You know the variance that is wanted, and the variance of even
# numbers between -a and a. What is a?</details>
# <details><summary>Hint 2</summary>a² / 3 = 2 / (fan_in + fan_out). A variance is a square: where
# does the root go?</details>
# <details><summary>Hint 3</summary><code>generator(rng).uniform(-a, a, shape)</code> draws float64.
# Which dtype do weights have, and which shape when none is given?</details>

# %% nbgrader={"grade": false, "grade_id": "layers-xavier", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def xavier_uniform(fan_in, fan_out, rng=None, shape=None):
    """Weights drawn evenly between -a and a, with the variance 2 / (fan_in + fan_out): for tanh, sigmoid or no bend.

    fan_in   how many inputs each output weighs
    fan_out  how many outputs each input goes to
    rng      a NumPy Generator, a seed, or None for this module's own generator (see `generator`)
    shape    of the result; (fan_in, fan_out) if None
    returns  float32 ndarray

    >>> bool(np.abs(xavier_uniform(4, 2)).max() <= 1)
    True

    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward neural networks (2010), (16).
    """
    ### BEGIN SOLUTION
    a = math.sqrt(6 / (fan_in + fan_out))
    shape = (fan_in, fan_out) if shape is None else shape
    return generator(rng).uniform(-a, a, shape).astype(np.float32)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-xavier", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_xavier_has_its_variance():
    for fan_in, fan_out in [(300, 200), (40, 1000), (1200, 50)]:
        w = np.asarray(xavier_uniform(fan_in, fan_out, rng=7))
        assert w.shape == (fan_in, fan_out), f"weights are ({fan_in}, {fan_out}), in times out; yours {w.shape}"
        wanted, found = 2 / (fan_in + fan_out), float(np.var(w, dtype="float64"))
        assert abs(found / wanted - 1) < 0.03, (
            f"fan_in {fan_in}, fan_out {fan_out}: the variance should be 2 / {fan_in + fan_out} = {wanted:.5f}, "
            f"yours is {found:.5f}, {found / wanted:.3g} times as much. Even numbers in -a ... a have the variance a "
            "* a / 3")
        assert abs(w.mean()) < 0.03 * math.sqrt(wanted), (
            f"as many below 0 as above: the mean should be 0, not {w.mean()}")


def test_xavier_draws_evenly_up_to_its_limit():
    a = math.sqrt(6 / 500)
    size = np.abs(np.asarray(xavier_uniform(300, 200, rng=11)))
    assert 0.999 * a < size.max() <= a * 1.000001, (
        f"a is sqrt(6 / 500) = {a:.4f}; your largest weight is {size.max():.4f}")
    for part in (0.25, 0.5, 0.75):
        found = float((size < part * a).mean())
        assert abs(found - part) < 0.01, f"{part:.0%} of the weights should be within {part} a of 0, yours: {found:.1%}"


def test_xavier_is_repeatable():
    first, again, other = [np.asarray(xavier_uniform(30, 20, rng=seed)) for seed in (5, 5, 6)]
    assert np.array_equal(first, again), "the same seed twice should draw the same weights: draw from generator(rng)"
    assert not np.array_equal(first, other), "seeds 5 and 6 drew the same weights: draw from generator(rng)"
    manual_seed(3)
    first, second = np.asarray(xavier_uniform(30, 20)), np.asarray(xavier_uniform(30, 20))
    manual_seed(3)
    again = np.asarray(xavier_uniform(30, 20))
    assert np.array_equal(first, again), "after manual_seed(3) the same weights should come: draw from generator(rng)"
    assert not np.array_equal(first, second), "two layers in a row got the same weights: do not seed inside"


def test_xavier_gives_float32_of_any_shape():
    w = np.asarray(xavier_uniform(27, 72, rng=1, shape=(8, 3, 3, 3)))
    assert w.shape == (8, 3, 3, 3), f"shape=(8, 3, 3, 3) was asked for, yours is {w.shape}"
    for w in (w, np.asarray(xavier_uniform(3, 4))):
        assert w.dtype.name == "float32", f"weights are float32, yours are {w.dtype}"
    assert np.abs(w).max() <= math.sqrt(6 / 7), (
        f"fan_in 3, fan_out 4: a is {math.sqrt(6 / 7):.3f}, yours go to {np.abs(w).max():.3f}")


test_xavier_has_its_variance()
test_xavier_draws_evenly_up_to_its_limit()
test_xavier_is_repeatable()
test_xavier_gives_float32_of_any_shape()

# %% nbgrader={"grade": true, "grade_id": "check-xavier-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_xavier_for_other_fans_shapes_and_generators():
    for fan_in, fan_out, shape in [(90, 7, (400, 90)), (3, 5000, None), (2500, 1, (50, 7, 60)), (11, 11, (20000,))]:
        w = np.asarray(xavier_uniform(rng=13, shape=shape, fan_out=fan_out, fan_in=fan_in))
        case = f"fan_in {fan_in}, fan_out {fan_out}, shape {shape}"
        right = shape or (fan_in, fan_out)
        assert w.shape == right and w.dtype.name == "float32", f"{case}: got {w.dtype} {w.shape}"
        found = float(np.var(w, dtype="float64")) * (fan_in + fan_out) / 2
        assert abs(found - 1) < 0.04, f"{case}: the variance is {found:.3f} times as large as it should be"
        a = math.sqrt(6 / (fan_in + fan_out))
        assert 0.99 * a < np.abs(w).max() <= a * 1.000001, f"{case}: a is {a:.5f}, got up to {np.abs(w).max():.5f}"
    rng = generator(17)
    first, second = [np.asarray(xavier_uniform(6, 5, rng)) for _ in range(2)]
    again = np.asarray(xavier_uniform(6, 5, generator(17)))
    assert np.array_equal(first, again), "two generators of the same seed drew different weights"
    assert not np.array_equal(first, second), "one generator drew the same weights twice"


test_xavier_for_other_fans_shapes_and_generators()
### END HIDDEN TESTS

# %% [markdown]
# Now the bends. `tanh` leaves small numbers nearly alone. `relu` sets half of them to 0, and with
# them goes half of the mean square. Predict what Xavier's weights do to twenty layers with relu, in
# powers of two.

# %%
print(f"tanh {spreads(0.1, Tensor.tanh)[-1]:.3f}   relu {spreads(0.1, Tensor.relu)[-1]:.5f}   {2**-10:.5f}")

# %% [markdown]
# What relu halves, the weights can double: $\mathrm{var}(w) = 2 / \text{fan\_in}$. He and colleagues
# found it for networks of thirty layers that would not start to learn otherwise; PyTorch calls it
# Kaiming, again by a first name.
#
# **Task.** Write `he_normal`, with the bell curve this time.
#
# <details><summary>Hint 1</summary>NumPy's <code>normal(0, ...)</code> asks for a standard deviation.
# What is it when the variance is 2 / fan_in?</details>
# <details><summary>Hint 2</summary>Which of the two fans counts how many products are added up in one
# output?</details>
# <details><summary>Hint 3</summary>As before, with one line changed:
# <code>generator(rng).normal(0, std, shape)</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "layers-he", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def he_normal(fan_in, fan_out, rng=None, shape=None):
    """Weights drawn from the normal distribution with the variance 2 / fan_in: for relu and its kin.

    fan_in   how many inputs each output weighs
    fan_out  how many outputs each input goes to; only the shape depends on it
    rng      a NumPy Generator, a seed, or None for this module's own generator (see `generator`)
    shape    of the result; (fan_in, fan_out) if None
    returns  float32 ndarray

    >>> he_normal(27, 8, shape=(8, 3, 3, 3)).shape
    (8, 3, 3, 3)

    Source: He, Zhang, Ren, Sun, Delving deep into rectifiers (2015), (10).
    """
    ### BEGIN SOLUTION
    shape = (fan_in, fan_out) if shape is None else shape
    return generator(rng).normal(0, math.sqrt(2 / fan_in), shape).astype(np.float32)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-he", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_he_has_its_variance():
    for fan_in, fan_out in [(300, 200), (40, 1000), (1200, 50)]:
        w = np.asarray(he_normal(fan_in, fan_out, rng=7))
        assert w.shape == (fan_in, fan_out), f"weights are ({fan_in}, {fan_out}), in times out; yours {w.shape}"
        wanted, found = 2 / fan_in, float(np.var(w, dtype="float64"))
        assert abs(found / wanted - 1) < 0.04, (
            f"fan_in {fan_in}, fan_out {fan_out}: the variance should be 2 / {fan_in} = {wanted:.5f}, yours is "
            f"{found:.5f}, {found / wanted:.3g} times as much. NumPy wants its root, the standard deviation")
        assert abs(w.mean()) < 0.03 * math.sqrt(wanted), (
            f"as many below 0 as above: the mean should be 0, not {w.mean()}")


def test_he_draws_from_the_bell_curve():
    w = np.asarray(he_normal(300, 200, rng=11)) / math.sqrt(2 / 300)
    for limit, wanted in [(0.5, 0.3829), (1, 0.6827), (2, 0.9545)]:
        found = float((np.abs(w) < limit).mean())
        assert abs(found - wanted) < 0.01, (
            f"{wanted:.1%} of the weights should be within {limit} standard deviations of 0, yours: {found:.1%}")


def test_he_is_repeatable():
    first, again, other = [np.asarray(he_normal(30, 20, rng=seed)) for seed in (5, 5, 6)]
    assert np.array_equal(first, again), "the same seed twice should draw the same weights: draw from generator(rng)"
    assert not np.array_equal(first, other), "seeds 5 and 6 drew the same weights: draw from generator(rng)"
    manual_seed(3)
    first, second = np.asarray(he_normal(30, 20)), np.asarray(he_normal(30, 20))
    manual_seed(3)
    again = np.asarray(he_normal(30, 20))
    assert np.array_equal(first, again), "after manual_seed(3) the same weights should come: draw from generator(rng)"
    assert not np.array_equal(first, second), "two layers in a row got the same weights: do not seed inside"


def test_he_gives_float32_of_any_shape():
    w = np.asarray(he_normal(270, 72, rng=1, shape=(80, 30, 3, 3)))
    assert w.shape == (80, 30, 3, 3), f"shape=(80, 30, 3, 3) was asked for, yours is {w.shape}"
    assert abs(w.var() * 270 / 2 - 1) < 0.04, f"the shape does not change the variance, 2 / 270; yours is {w.var():.5f}"
    for w in (w, np.asarray(he_normal(3, 4))):
        assert w.dtype.name == "float32", f"weights are float32, yours are {w.dtype}"


test_he_has_its_variance()
test_he_draws_from_the_bell_curve()
test_he_is_repeatable()
test_he_gives_float32_of_any_shape()

# %% nbgrader={"grade": true, "grade_id": "check-he-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_he_for_other_fans_shapes_and_generators():
    for fan_in, fan_out, shape in [(90, 7, (400, 90)), (3, 8000, None), (2500, 1, (50, 7, 60)), (11, 30, (20000,))]:
        w = np.asarray(he_normal(rng=13, shape=shape, fan_out=fan_out, fan_in=fan_in))
        case = f"fan_in {fan_in}, fan_out {fan_out}, shape {shape}"
        right = shape or (fan_in, fan_out)
        assert w.shape == right and w.dtype.name == "float32", f"{case}: got {w.dtype} {w.shape}"
        found = float(np.var(w, dtype="float64")) * fan_in / 2
        assert abs(found - 1) < 0.05, f"{case}: the variance is {found:.3f} times as large as it should be"
        beyond = float((np.abs(w) > 2 * math.sqrt(2 / fan_in)).mean())
        assert abs(beyond - 0.0455) < 0.01, f"{case}: 4.55% expected beyond two standard deviations, got {beyond:.2%}"
    few, many = [np.asarray(he_normal(50, fan_out, rng=1, shape=(30, 4))) for fan_out in (3, 900)]
    assert np.array_equal(few, many), "shape and seed given: fan_out 3 and 900 drew different weights"
    rng = generator(17)
    first, second = [np.asarray(he_normal(6, 5, rng)) for _ in range(2)]
    again = np.asarray(he_normal(6, 5, generator(17)))
    assert np.array_equal(first, again), "two generators of the same seed drew different weights"
    assert not np.array_equal(first, second), "one generator drew the same weights twice"


test_he_for_other_fans_shapes_and_generators()
### END HIDDEN TESTS

# %% [markdown]
# All of it in one picture. Predict the six lines, and look at the one that seems not to mind.

# %% alt="Spread of the signal over 20 layers, on a logarithmic scale, with tanh and with relu. The recommended start stays level; a third of it dies out to 1e-10; three times as much explodes with relu."
import matplotlib.pyplot as plt

xavier, he = math.sqrt(2 / (100 + 100)), math.sqrt(2 / 100)
figure, axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True)
for axis, bend, right, name in [(axes[0], Tensor.tanh, xavier, "Xavier"), (axes[1], Tensor.relu, he, "He")]:
    for std, label in [(3 * right, "3 times as large"), (right, name), (right / 3, "a third")]:
        axis.semilogy(range(1, 21), spreads(std, bend), label=label)
    axis.set(xlabel=f"layers with {bend.__name__}", xticks=(1, 5, 10, 15, 20))
    axis.set_ylabel("spread of the signal")
    axis.legend(loc="lower left")

# %% [markdown]
# Too large weights cannot make tanh explode: its ends, -1 and 1, hold the spread. Something else goes
# wrong. Send two signals through that differ by 1 % of their spread, and ask by how much the results
# differ. Predict it for Xavier's weights, and for three times as much.

# %%
def apart(std, layers=20):
    """How far two signals are apart after `layers` layers with tanh, in units of their spread; at first 0.01."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 100))
    near = Tensor(np.stack([x, x + 0.01 * rng.normal(size=x.shape)]).astype("float32"))
    for _ in range(layers):
        near = linear(near, Tensor(rng.normal(0, std, (100, 100)).astype("float32"))).tanh()
    return float((near[1] - near[0]).std() / near.std())


print(f"Xavier {apart(xavier):.3f}   3 times as large {apart(3 * xavier):.3f}")

# %% [markdown]
# Neighbours become strangers: what the network says of one picture tells nothing of the next, and
# slopes, which measure just that, explode.

# %% [markdown]
# ## Where the numbers live
#
# Training needs every number of a network that may be learned: to change it, to save it, to count it.
# Nobody should have to list them by hand, because the one that is forgotten never learns, and nothing
# complains. So a network is an object, its numbers are `Variable`s among its attributes, and finding
# them is a walk.
#
# `Module` is the class of all layers and networks. Its methods call functions that you write below; a
# subclass adds attributes and `forward`.

# %%
#| export
class Module:
    """A layer, or a network of layers: something with parameters that makes tensors from tensors.

    A subclass keeps Variables, tensors and other modules as attributes, also in lists, tuples and dicts, and writes
    `forward`. It is called like a function: `net(x)`.

    .training   True at first; dropout and its kin behave differently in training
    """

    training = True  # on the class, so that no subclass needs to call super().__init__()

    def forward(self, *inputs):
        raise NotImplementedError(f"{type(self).__name__} has no method forward; it says what the layer computes")

    def __call__(self, *inputs, **options):
        return self.forward(*inputs, **options)

    def modules(self):
        """This module and all modules inside it, a list."""
        return [part for _, part in walk(self) if isinstance(part, Module)]

    def named_parameters(self):
        """The tensors to be learned, as a list of (name, tensor); a name is a path, such as "hidden.bias"."""
        return named_parameters(self)

    def parameters(self):
        """The tensors to be learned, as a list."""
        return [tensor for _, tensor in named_parameters(self)]

    def zero_grad(self):
        """Forget the gradients of all parameters."""
        for tensor in self.parameters():
            tensor.grad = None

    def train(self, mode=True):
        """Set `training` here and in every module inside. Returns the module."""
        set_training(self, mode)
        return self

    def eval(self):
        """The opposite of `train`."""
        return self.train(False)

    def state_dict(self):
        """A copy of all that the module has learned: {name: ndarray}. `numpy.savez(file, **state)` keeps it."""
        return state_of(self)

    def load_state_dict(self, state):
        """Take over what `state_dict` gave, all of it or nothing. ValueError tells every name that does not fit."""
        problems = state_problems(self, state)
        if problems:
            raise ValueError(f"this state does not fit, nothing was loaded: {'; '.join(problems)}")
        load_state(self, state)

    def __repr__(self):
        return f"{type(self).__name__}({sum(p.size for p in self.parameters()):,} parameters)"


Layer = Module

# %% [markdown]
# Modules hold modules: a transformer keeps its blocks in a list, its heads in another, and somebody
# will use a dict. The walk needs one small thing that knows what is directly inside what.
#
# **Task.** Write `parts_of`. What an attribute is called is its name; what stands in a list has its
# place for a name.
#
# <details><summary>Hint 1</summary>Where does Python keep the attributes of an object? Try
# <code>vars(Module())</code>, then set an attribute and try again.</details>
# <details><summary>Hint 2</summary>Three kinds of things have parts: modules, dicts, and the two
# kinds of rows. All else, tensors and numbers and words, has none.</details>
# <details><summary>Hint 3</summary><code>vars(thing).items()</code>, <code>thing.items()</code> and
# <code>enumerate(thing)</code> look alike. Names are words, also for places:
# <code>str(name)</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "layers-parts", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def parts_of(thing):
    """What is directly inside `thing`, in order.

    thing    anything
    returns  list of (name, part) with names of type str: the attributes of a Module, the items of a dict, the places
             of a list or tuple; an empty list for anything else

    >>> parts_of(["a", 5])
    [('0', 'a'), ('1', 5)]

    Source: The Python Language Reference, section 3.2, "Class instances".
    """
    ### BEGIN SOLUTION
    if isinstance(thing, Module):
        thing = vars(thing)
    if isinstance(thing, (list, tuple)):
        thing = dict(enumerate(thing))
    return [(str(name), part) for name, part in thing.items()] if isinstance(thing, dict) else []
    ### END SOLUTION

# %% tags=["learner-side"]
class Bare(Module):
    """A module with one parameter, of shape (rows, 2)."""

    def __init__(self, rows):
        self.rows = rows
        self.weights = Variable(np.full((rows, 2), 10.0 + rows, "float32"))


class Estate(Module):
    """Parameters in all kinds of places, one of them in two, and tensors that are none."""

    def __init__(self):
        self.title, self.count, self.table = "estate", 3, np.ones((2, 3))
        self.scale = Variable([2.0, 3.0, 5.0])
        self.blocks = [Bare(1), {"left": Bare(2), 7: (Bare(3), Variable([7.0]))}]
        self.running = Tensor([0.5, 0.25])
        self.again = self.scale
        self.made = self.scale * 2
        self.deep = {"bed": [[Bare(4)]]}


class Ring(Module):
    """A module that holds a module that holds it."""

    def __init__(self):
        self.inner = Bare(5)
        self.inner.outer = self

# %% nbgrader={"grade": true, "grade_id": "check-parts", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_a_module_has_its_attributes():
    found = [name for name, _ in parts_of(Bare(1))]
    assert found == ["rows", "weights"], f"Bare has the attributes rows and weights, you found {found}"
    parts = dict(parts_of(Bare(3)))
    assert parts["rows"] == 3 and np.array_equal(np.asarray(parts["weights"]), np.full((3, 2), 13)), (
        f"each name comes with its part: 3 and a (3, 2) tensor of 13; you found {parts}")


def test_rows_and_dicts_have_parts():
    for thing, wanted in [(["a", 5], [("0", "a"), ("1", 5)]), (("x", None, 2.5), [("0", "x"), ("1", None), ("2", 2.5)]),
                          ({"left": 1, 7: "b"}, [("left", 1), ("7", "b")]), ([[4], [5]], [("0", [4]), ("1", [5])])]:
        found = [(name, part) for name, part in parts_of(thing)]
        kind = "list" if isinstance(thing, list) else "tuple" if isinstance(thing, tuple) else "dict"
        assert found == wanted, (
            f"the {kind} {thing} has the parts {wanted}, you found {found}: layers kept in a {kind} would be missed "
            "or misnamed")


def test_all_else_has_no_parts():
    for thing in (Tensor([1.0, 2.0]), 5, None, "word", np.ones((2, 2)), 2.5, [], (), {}):
        try:
            found = len(parts_of(thing))
        except (TypeError, AttributeError) as error:
            assert False, f"parts_of({thing!r}) should be an empty list, yours raises {error}"
        assert found == 0, f"parts_of({thing!r}) should be an empty list, yours has {found} parts"
    assert len(parts_of([5, 6, 7])) == 3, "a list with three things in it has three parts"


test_a_module_has_its_attributes()
test_rows_and_dicts_have_parts()
test_all_else_has_no_parts()

# %% [markdown]
# A part may have parts, so the walk calls itself. Two traps lie on the way. One tensor can be met
# twice: language models use the same table to read words and to write them. An optimizer that gets it
# twice takes two steps with it. And a module may point back to the one that holds it: a walk that
# follows every arrow never ends.
#
# **Task.** Write `walk`. The cure for both traps is the same.
#
# <details><summary>Hint 1</summary>What must the walk remember, and what does it do when it meets a
# thing again? Two tensors with equal numbers are not the same thing: <code>id(thing)</code> tells
# things apart.</details>
# <details><summary>Hint 2</summary>One set serves the whole walk. Who makes it, and how do the inner
# calls get it?</details>
# <details><summary>Hint 3</summary>A name inside <code>"blocks"</code> is <code>"blocks.0"</code>.
# And inside the module itself, whose path is empty?</details>
# <details><summary>Hint 4</summary>Met before: return <code>[]</code>. Otherwise note it; start a
# list with <code>(path, thing)</code> if it is a Module or a Tensor; for each of
# <code>parts_of(thing)</code> add <code>walk(part, f"{path}.{name}" if path else name,
# seen)</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "layers-walk", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def walk(thing, path="", seen=None):
    """Every Module and every Tensor in `thing`, itself included, however deep.

    thing    a Module, or a list, tuple or dict
    path     the path of `thing`: names joined by dots; "" at the start
    seen     a set with the id of everything met before; None at the start
    returns  list of (path, Module or Tensor) in the order of `parts_of`, parts behind what holds them; each thing once,
             under the first path that leads to it

    >>> walk({"a": [Tensor(1), Tensor(2)]})
    [('a.0', Tensor(1.)), ('a.1', Tensor(2.))]

    Source: depth-first search, Cormen et al., Introduction to Algorithms (4th edition), section 20.3.
    """
    ### BEGIN SOLUTION
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return []
    seen.add(id(thing))
    found = [(path, thing)] if isinstance(thing, (Module, Tensor)) else []
    for name, part in parts_of(thing):
        found += walk(part, f"{path}.{name}" if path else name, seen)
    return found
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-walk", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_the_walk_finds_everything_under_its_path():
    wanted = ["", "scale", "blocks.0", "blocks.0.weights", "blocks.1.left", "blocks.1.left.weights", "blocks.1.7.0",
              "blocks.1.7.0.weights", "blocks.1.7.1", "running", "made", "deep.bed.0.0", "deep.bed.0.0.weights"]
    found = [path for path, _ in walk(Estate())]
    for path in wanted:
        assert path in found, f"the walk should find {path!r}, yours finds {found}"
    for path in found:
        assert path in wanted, (
            f"the walk should not list {path!r}: only modules and tensors, each once, under the first path that "
            "leads there")
    assert found == wanted, f"parts come behind what holds them, in the order of parts_of: {wanted}, yours {found}"


def test_each_path_leads_to_its_thing():
    found = dict(walk(Estate()))
    for path, wanted in [("scale", [2, 3, 5]), ("blocks.1.7.1", [7]), ("running", [0.5, 0.25]), ("made", [4, 6, 10]),
                         ("blocks.1.left.weights", [[12, 12], [12, 12]]), ("deep.bed.0.0.weights", [[14, 14]] * 4)]:
        assert path in found, f"the walk should find {path!r}, yours finds {list(found)}"
        assert np.array_equal(np.asarray(found[path]), wanted), f"{path} is {wanted}, yours leads to {found[path]}"


def test_the_walk_ends_when_things_hold_each_other():
    try:
        found = [path for path, _ in walk(Ring())]
    except RecursionError:
        assert False, "ring.inner.outer is ring again, and your walk goes round for ever: stop at what was met before"
    assert found == ["", "inner", "inner.weights"], (
        f"the ring holds '', 'inner' and 'inner.weights', each once; yours finds {found[:9]}")


def test_every_walk_starts_afresh():
    net = Estate()
    first, second = len(walk(net)), len(walk(net))
    assert second == first, f"the first walk found {first} things, the second {second}: begin with a new set each time"
    equal = len(walk([Tensor([1.0]), Tensor([1.0])]))
    assert equal == 2, f"two tensors with equal numbers are two things, your walk found {equal}: compare by id"
    found = len(walk([[Tensor([2.0]), Tensor([3.0])], Tensor([4.0])]))
    assert found == 3, f"two tensors in a list, and one beside it, are three things, your walk found {found}"


test_the_walk_finds_everything_under_its_path()
test_each_path_leads_to_its_thing()
test_the_walk_ends_when_things_hold_each_other()
test_every_walk_starts_afresh()

# %% nbgrader={"grade": true, "grade_id": "check-walk-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_the_walk_through_other_nestings():
    shared, twin, inner = Tensor([1.0, 2.0]), Tensor([1.0, 2.0]), Bare(2)
    inner.rest = ({"first": shared, "second": None}, [Variable([[3.0]])], "word")
    thing = {"z": [(), [[twin]], {"deep": (shared, {"er": inner})}], 12: shared, "a": ({"x": 2.5}, inner, True)}
    for start, before in [("", ""), ("net", "net."), ("net.part", "net.part.")]:
        found = [(path, np.asarray(part).tolist()) for path, part in walk(thing, start) if isinstance(part, Tensor)]
        right = [(before + path, numbers) for path, numbers in
                 [("z.1.0.0", [1, 2]), ("z.2.deep.0", [1, 2]), ("z.2.deep.1.er.weights", [[12, 12], [12, 12]]),
                  ("z.2.deep.1.er.rest.1.0", [[3]])]]
        assert found == right, f"from path {start!r}: the tensors {right} expected, got {found}"
        modules = [path for path, part in walk(thing, path=start) if isinstance(part, Module)]
        assert modules == [before + "z.2.deep.1.er"], f"from path {start!r}: one module expected, got {modules}"
    one, other = Bare(1), Bare(3)
    one.friend, other.friend = other, one
    found = [path for path, _ in walk((other, [one]))]
    right = ["0", "0.weights", "0.friend", "0.friend.weights"]
    assert found == right, f"two modules that hold each other: {right} expected, got {found}"
    found = [path for path, _ in walk([Tensor(0.0) for _ in range(12)])]
    assert found == [str(place) for place in range(12)], f"a list of 12 tensors: got {found}"


test_the_walk_through_other_nestings()
### END HIDDEN TESTS

# %% [markdown]
# Not every tensor in a module is to be learned. Some are measured, such as a running mean; they must
# be saved, but no optimizer may touch them. Some are results that a layer keeps for a look later:
# they want a gradient, because what they were made from does. Predict which two attributes of a
# Tensor tell the three kinds apart.

# %%
learned = Variable([2.0, 3.0])
for name, tensor in [("learned", learned), ("measured", Tensor([0.5, 0.25])), ("result", learned * 2)]:
    print(f"{name:9} requires_grad {tensor.requires_grad!s:6} has a creator: {tensor.creator is not None}")

# %% [markdown]
# The third kind is an old trap: `self.bias = Variable(numbers).reshape(1, -1)` looks like a
# parameter, but it is a result, and its gradient goes to a tensor that nobody holds.
#
# **Task.** Write `named_parameters`.
#
# <details><summary>Hint 1</summary>The walk has found everything. What has to be left out?</details>
# <details><summary>Hint 2</summary>Three questions for each: a Tensor? wants a gradient? was made by
# nobody?</details>

# %% nbgrader={"grade": false, "grade_id": "layers-parameters", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def named_parameters(module):
    """The tensors to be learned: those that want a gradient and are no result of an operation.

    module   a Module, or a list, tuple or dict
    returns  list of (name, Tensor), as `walk` found them

    >>> named_parameters([Variable(1), Tensor(2)])
    [('0', Tensor(1., requires_grad=True))]

    Source: torch.nn.Module.named_parameters.
    """
    ### BEGIN SOLUTION
    return [(path, part) for path, part in walk(module)
            if isinstance(part, Tensor) and part.requires_grad and part.creator is None]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-parameters", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_parameters_are_what_is_to_be_learned():
    found = [name for name, _ in named_parameters(Estate())]
    wanted = ["scale", "blocks.0.weights", "blocks.1.left.weights", "blocks.1.7.0.weights", "blocks.1.7.1",
              "deep.bed.0.0.weights"]
    assert "running" not in found, "'running' does not want a gradient: it is measured, not learned"
    assert "made" not in found, (
        "'made' is a result of an operation (it has a creator): its gradient goes to what it was made from")
    assert found == wanted, f"the parameters of Estate are {wanted}, yours are {found}"


def test_a_parameter_in_two_places_is_listed_once():
    scales = [name for name, tensor in named_parameters(Estate()) if tensor.shape == (3,)]
    assert scales == ["scale"], f"'scale' and 'again' are one tensor, listed once, as 'scale'; you list {scales}"
    assert len(Estate().parameters()) == 6, f"Estate has 6 parameters, yours {len(Estate().parameters())}"


def test_the_parameters_are_the_tensors_themselves():
    net = Bare(2)
    pairs = named_parameters(net)
    assert [name for name, _ in pairs] == ["weights"], f"Bare has one parameter, weights; yours {pairs}"
    pairs[0][1].grad = np.full((2, 2), 3.0, "float32")
    found = net.weights.grad
    assert found is not None, (
        "a gradient given to the listed parameter did not arrive in the module: list the tensor, no copy")
    net.zero_grad()
    assert net.weights.grad is None, (
        f"zero_grad should set the gradients of all parameters to None, yours is {net.weights.grad}")


def test_frozen_parameters_are_left_out():
    net = Estate()
    net.scale.requires_grad = False
    found = [name for name, _ in net.named_parameters()]
    assert "scale" not in found and len(found) == 5, (
        f"scale no longer wants a gradient: 5 parameters are left, yours {found}")


test_parameters_are_what_is_to_be_learned()
test_a_parameter_in_two_places_is_listed_once()
test_the_parameters_are_the_tensors_themselves()
test_frozen_parameters_are_left_out()

# %% nbgrader={"grade": true, "grade_id": "check-parameters-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_parameters_of_other_networks():
    kept, frozen, thawed = Variable([[1.0], [2.0]]), Variable([3.0]), Tensor([4.0, 5.0])
    frozen.requires_grad, thawed.requires_grad = False, True
    net = Bare(4)
    net.more = [kept * 2, {"f": frozen, "t": thawed, "k": [kept]}, Tensor([6.0]), Variable(np.zeros((0, 3), "float32"))]
    for thing, before in [(net, ""), ({"net": net, "again": kept}, "net."), ([5, (net, thawed)], "1.0.")]:
        found = [name for name, _ in named_parameters(thing)]
        right = [before + name for name in ("weights", "more.1.t", "more.1.k.0", "more.3")]
        assert found == right, f"{right} expected, got {found}"
    for place, (_, tensor) in enumerate(named_parameters(net)):
        tensor.grad = np.full(tensor.shape, place, "float32")
    found = [None if tensor.grad is None else tensor.grad.tolist() for tensor in (thawed, kept, frozen)]
    assert found == [[1, 1], [[2], [2]], None], f"gradients 1, 2 and None expected in the net's tensors, got {found}"


test_parameters_of_other_networks()
### END HIDDEN TESTS

# %% [markdown]
# ## The dense layer
#
# All the parts are there: `linear`, a way to draw, and an object that keeps. Predict how many numbers
# a layer from a photograph of 28 by 28 to 128 outputs has to learn.
#
# **Task.** Write the missing lines of `Dense`: its two parameters, under the names `weights` and
# `bias`. The bias starts at 0; the weights already differ.
#
# <details><summary>Hint 1</summary>Which function of lesson 01 makes a tensor that wants to be
# learned?</details>
# <details><summary>Hint 2</summary><code>init</code> is a function such as
# <code>xavier_uniform</code>. What does it want to know, in which order?</details>
# <details><summary>Hint 3</summary>A bias has one number per output. Float32 zeros:
# <code>np.zeros(..., np.float32)</code>; and without bias, <code>None</code>.</details>
# <details><summary>Hint 4</summary><code>self.weights = Variable(init(in_features, out_features,
# rng))</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "layers-dense", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
class Dense(Module):
    """A layer in which every output is a weighted sum of all inputs, plus a bias.

    in_features   how many numbers each example has
    out_features  how many it shall have
    bias          whether a number is added to each output
    init          draws the first weights, as init(in_features, out_features, rng): xavier_uniform, he_normal, ...
    rng           a NumPy Generator, a seed, or None for this module's own generator

    .weights      Variable of shape (in_features, out_features)
    .bias         Variable of shape (out_features,), zeros at first; or None

    >>> Dense(3, 4)(Tensor([[1, 2, 3], [4, 5, 6]])).shape
    (2, 4)

    Source: torch.nn.Linear, but for the transposed weights and the way they start.
    """

    def __init__(self, in_features, out_features, bias=True, init=xavier_uniform, rng=None):
        if in_features < 1 or out_features < 1:
            raise ValueError(f"Dense needs 1 number or more on both sides, not {in_features} and {out_features}")
        self.in_features, self.out_features = in_features, out_features
        ### BEGIN SOLUTION
        self.weights = Variable(init(in_features, out_features, rng))
        self.bias = Variable(np.zeros(out_features, np.float32)) if bias else None
        ### END SOLUTION

    def forward(self, x):
        if np.shape(x)[-1:] != (self.in_features,):
            raise ValueError(f"{self} takes inputs of shape (..., {self.in_features}), not {np.shape(x)}: "
                             "does the layer before give another width, or is a Flatten() missing?")
        return linear(x, self.weights, self.bias)

    def __repr__(self):
        return f"Dense({self.in_features}, {self.out_features}{', bias=False' if self.bias is None else ''})"


Linear = Dense

# %% nbgrader={"grade": true, "grade_id": "check-dense", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
def test_a_dense_layer_has_two_parameters():
    layer = Dense(3, 5)
    for name, wanted in [("weights", (3, 5)), ("bias", (5,))]:
        found = getattr(layer, name).shape
        assert found == wanted, f"Dense(3, 5) has {name} of shape {wanted}, yours {found}"
        assert getattr(layer, name).dtype.name == "float32", (
            f"{name} should be float32, not {getattr(layer, name).dtype}")
    assert np.array_equal(np.asarray(layer.bias), np.zeros(5)), f"the bias starts at 0, yours at {layer.bias}"


def test_the_parameters_are_found_by_name():
    found = [name for name, _ in Dense(3, 5).named_parameters()]
    for name in ("weights", "bias"):
        assert name in found, (
            f"{name} is not among the parameters, so it would never learn: store a Variable itself, not the result "
            f"of an operation on one, nor a plain Tensor. Yours are {found}")
    assert found == ["weights", "bias"], f"the parameters are weights, then bias, and no other; yours {found}"


def test_a_layer_may_go_without_bias():
    layer = Dense(3, 5, bias=False)
    found = [name for name, _ in layer.named_parameters()]
    assert found == ["weights"], f"with bias=False the only parameter is weights, yours are {found}"
    assert layer.bias is None, f"with bias=False, bias is None, yours is {layer.bias}"
    x = np.array([[1, 2, 3], [0.5, -1, 4]], "float32")
    out = layer(Tensor(x))
    assert np.allclose(out.data, x @ np.asarray(layer.weights)), (
        f"without bias the result is x @ weights, yours is {out.data}")


def test_the_weights_come_from_init():
    asked = []

    def counted(fan_in, fan_out, rng):
        asked.append((fan_in, fan_out, rng))
        return np.arange(fan_in * fan_out, dtype="float32").reshape(fan_in, fan_out)

    layer = Dense(4, 3, init=counted, rng=9)
    assert asked == [(4, 3, 9)], f"Dense(4, 3, init=f, rng=9) should call f(4, 3, 9) once; your calls: {asked}"
    assert np.array_equal(np.asarray(layer.weights), np.arange(12).reshape(4, 3)), (
        f"init gave 0 to 11 in shape (4, 3), your weights are {layer.weights}")
    for init in (xavier_uniform, he_normal):
        found, wanted = np.asarray(Dense(30, 20, init=init, rng=2).weights), np.asarray(init(30, 20, 2))
        assert np.array_equal(found, wanted), f"with rng=2 the weights are what {init.__name__}(30, 20, 2) draws"
    assert np.array_equal(np.asarray(Dense(30, 20, rng=2).weights), np.asarray(xavier_uniform(30, 20, 2))), (
        "unless told otherwise, weights are drawn by xavier_uniform: use the argument init")


def test_chance_can_be_repeated():
    manual_seed(4)
    first, second = np.asarray(Dense(6, 5).weights), np.asarray(Dense(6, 5).weights)
    manual_seed(4)
    again = np.asarray(Dense(6, 5).weights)
    assert np.array_equal(first, again), "after manual_seed(4) the same layer should come again: pass rng on"
    assert not np.array_equal(first, second), "two layers in a row got the same weights: pass rng on, do not seed"


def test_it_computes_what_linear_does():
    layer = Dense(3, 2, rng=1)
    layer.bias.detach()[:] = [10.0, -20.0]
    for shape in [(4, 3), (3,), (5, 1, 3), (0, 3)]:
        x = np.arange(math.prod(shape), dtype="float32").reshape(shape) - 3
        out = layer(Tensor(x))
        wanted = x @ np.asarray(layer.weights) + [10, -20]
        assert out.shape == wanted.shape, f"{shape} through Dense(3, 2) has shape {wanted.shape}, yours {out.shape}"
        assert np.allclose(out.data, wanted, rtol=1e-5, atol=1e-5), f"{shape} should give {wanted}, yours is {out.data}"
        assert out.dtype.name == "float32" and out.requires_grad, (
            f"the result should be float32 and want a gradient: yours is {out.dtype}, {out.requires_grad}")


def test_a_wrong_width_is_told_with_both_shapes():
    layer = Dense(3, 2)
    for shape in [(5, 2), (3, 4), (2, 3, 1), (2,), ()]:
        try:
            out = layer(Tensor(np.ones(shape, "float32")))
        except ValueError as error:
            assert str(shape) in str(error) and "(..., 3)" in str(error), (
                f"the error should name {shape} and (..., 3), yours: {error}")
        else:
            assert False, f"Dense(3, 2) takes rows of 3 numbers, yours made {out.shape} of {shape}"


test_a_dense_layer_has_two_parameters()
test_the_parameters_are_found_by_name()
test_a_layer_may_go_without_bias()
test_the_weights_come_from_init()
test_chance_can_be_repeated()
test_it_computes_what_linear_does()
test_a_wrong_width_is_told_with_both_shapes()

# %% nbgrader={"grade": true, "grade_id": "check-dense-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_dense_layers_of_other_widths():
    def draw(fan_in, fan_out, rng):
        return (np.arange(fan_in * fan_out, dtype="float32") - rng).reshape(fan_in, fan_out)

    for ins, outs, bias in [(1, 1, True), (1, 6, False), (9, 1, True), (4, 7, False), (2, 11, True)]:
        layer = Dense(out_features=outs, in_features=ins, rng=3, init=draw, bias=bias)
        found, right = [name for name, _ in layer.named_parameters()], ["weights", "bias"] if bias else ["weights"]
        assert found == right, f"Dense({ins}, {outs}, bias={bias}): the parameters {right} expected, got {found}"
        weights = draw(ins, outs, 3)
        assert np.array_equal(np.asarray(layer.weights), weights), (
            f"Dense({ins}, {outs}): the weights of init {weights} expected, got {layer.weights}")
        if bias:
            assert np.array_equal(np.asarray(layer.bias), np.zeros(outs)), f"a bias of {outs} zeros, got {layer.bias}"
            layer.bias.detach()[:] = np.arange(outs, dtype="float32") * 100
        for shape in [(ins,), (2, 1, 3, ins)]:
            x = (np.arange(math.prod(shape), dtype="float32") - 2).reshape(shape)
            out = layer(Tensor(x))
            right = np.einsum("...i,ij->...j", x, weights) + np.arange(outs) * 100 * bias
            assert out.shape == right.shape and np.allclose(out.data, right, rtol=1e-5), (
                f"Dense({ins}, {outs}, bias={bias}) of {x}: {right} expected, got {out}")
    rng = generator(8)
    first, second = [np.asarray(Dense(5, 4, rng=rng).weights) for _ in range(2)]
    assert not np.array_equal(first, second), "two layers from one generator have the same weights"


test_dense_layers_of_other_widths()
### END HIDDEN TESTS

# %%
manual_seed(0)
photograph = Dense(28 * 28, 128, init=he_normal)
print(photograph, sum(p.size for p in photograph.parameters()))

# %% [markdown]
# ## One after the other
#
# Most networks are rows of layers: what one gives, the next takes. `Sequential` keeps its layers
# under the names "0", "1", ... so that the first layer's weights are called "0.weights". A bend has
# nothing to learn, so any function may be a member.
#
# **Task.** Write `forward` of `Sequential`.
#
# <details><summary>Hint 1</summary>What does the second layer get: the input of the network, or
# something else?</details>
# <details><summary>Hint 2</summary><code>self.layers</code> is the list of the members. Functions
# have no method <code>forward</code>; how are both kinds called?</details>

# %% nbgrader={"grade": false, "grade_id": "layers-sequential", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
class Sequential(Module):
    """Layers one after the other: Sequential(f, g)(x) is g(f(x)). With no layers, it gives back x.

    layers   Modules, or functions of one tensor

    .layers  the members as a list; net[0] and net[-1] are members, net[:2] is a new Sequential of the same members,
             len(net) counts them and `for layer in net` walks them

    >>> Sequential(Tensor.exp, Tensor.sum)(Tensor([0.0, 0.0]))
    Tensor(2.)

    Source: torch.nn.Sequential.
    """

    def __init__(self, *layers):
        for place, layer in enumerate(layers):
            if not callable(layer):
                raise TypeError(f"Sequential takes layers and functions, one by one, not {layer!r:.60}: "
                                "Sequential(*layers) opens a list")
            setattr(self, str(place), layer)

    def forward(self, x):
        ### BEGIN SOLUTION
        for layer in self.layers:
            x = layer(x)
        return x
        ### END SOLUTION

    @property
    def layers(self):
        """The members, a list."""
        return [part for name, part in vars(self).items() if name.isdigit()]

    def __iter__(self):
        return iter(self.layers)

    def __getitem__(self, place):
        found = self.layers[place]
        return Sequential(*found) if isinstance(place, slice) else found

    def __len__(self):
        return len(self.layers)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(map(name_of, self.layers))})"


def name_of(layer):
    """What to call a member of a network: a layer's own text, a function's name."""
    return repr(layer) if isinstance(layer, Module) else getattr(layer, "__name__", repr(layer))

# %% nbgrader={"grade": true, "grade_id": "check-sequential", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_each_layer_takes_what_the_one_before_gave():
    net = Sequential(lambda x: x + 3, lambda x: x * x, lambda x: x - 1)
    out = net(Tensor([[1.0, 2.0, -5.0]]))
    assert np.array_equal(out.data, [[15, 24, 3]]), (
        f"add 3, square, take 1 away: [1, 2, -5] becomes [15, 24, 3], yours is {out.data}. "
        "Each takes what the one before gave, in order")
    assert np.array_equal(Sequential(lambda x: x * 2)(Tensor([5.0])).data, [10]), "one member is a network too"
    assert np.array_equal(Sequential()(Tensor([5.0])).data, [5]), "a network of no layers gives back what it got"


def test_layers_and_functions_mix():
    first, last = Dense(3, 4, rng=1), Dense(4, 2, rng=2)
    x = np.array([[1, -2, 0.5], [3, 1, -1]], "float32")
    net = Sequential(first, Tensor.relu, last)
    try:
        out = net(Tensor(x))
    except AttributeError as error:
        assert False, f"functions have no method forward ({error}): call the member itself, layer(x)"
    wanted = np.maximum(x @ np.asarray(first.weights), 0) @ np.asarray(last.weights)
    assert np.allclose(out.data, wanted, rtol=1e-5), f"Dense, relu, Dense should give {wanted}, yours is {out.data}"
    assert out.requires_grad and out.dtype.name == "float32", (
        "the result should be float32 and keep the note of how it was made")


def test_names_are_places():
    net = Sequential(Dense(3, 4), Tensor.tanh, Sequential(Dense(4, 5, bias=False), Dense(5, 2)))
    found = [name for name, _ in net.named_parameters()]
    wanted = ["0.weights", "0.bias", "2.0.weights", "2.1.weights", "2.1.bias"]
    assert found == wanted, f"the parameters are {wanted}, yours are {found}"
    assert net(Tensor(np.ones((6, 3), "float32"))).shape == (6, 2), "6 rows of 3 should become 6 rows of 2"


def test_a_layer_used_twice_has_one_set_of_parameters():
    shared = Dense(3, 3, rng=5)
    net = Sequential(shared, Tensor.tanh, shared)
    x, w = np.array([[1, 2, -1]], "float32"), np.asarray(shared.weights)
    assert np.allclose(net(Tensor(x)).data, np.tanh(x @ w) @ w, rtol=1e-5), "the shared layer should be used twice"
    assert len(net.parameters()) == 2, (
        f"its weights and bias are counted once: 2 parameters, yours {len(net.parameters())}")


def test_members_can_be_counted_and_picked():
    net = Sequential(Dense(2, 3), Tensor.relu, Dense(3, 7), Tensor.tanh)
    assert len(net) == 4 and len(net[1:]) == 3, (
        f"there are 4 members, and 3 in [1:]; yours {len(net)} and {len(net[1:])}")
    x = Tensor([[1.0, 2.0]])
    assert np.allclose(net[:3](x).tanh().data, net(x).data), "the first three, then tanh, should do what the whole does"
    assert net[-2].out_features == 7, f"net[-2] is Dense(3, 7), yours {net[-2]}"


test_each_layer_takes_what_the_one_before_gave()
test_layers_and_functions_mix()
test_names_are_places()
test_a_layer_used_twice_has_one_set_of_parameters()
test_members_can_be_counted_and_picked()

# %% nbgrader={"grade": true, "grade_id": "check-sequential-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_longer_networks_call_each_member_once():
    called = []

    def member(number):
        def layer(x):
            called.append(number)
            return x * number + 1

        return layer

    for numbers in [(-3,), (3, -1), (2, 5, -3, 0.5, 7), (2, -1) * 6]:
        called.clear()
        x = right = np.array([[[1.0], [-2.0], [0.25]]])
        for number in numbers:
            right = right * number + 1
        out = Sequential(*[member(number) for number in numbers])(Tensor(x))
        assert called == list(numbers), f"members {numbers}: called were {called}"
        assert out.shape == (1, 3, 1) and np.allclose(out.data, right), f"{numbers}: {right} expected, got {out.data}"
    shrinking = Sequential(Sequential(), Sequential(Tensor.exp, Sequential(Tensor.sum)), member(4))
    out = shrinking(Variable([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    assert out.shape == () and out.requires_grad and abs(float(out) - 25) < 1e-5, (
        f"nested, exp, sum, times 4 plus 1 of six zeros: 25 expected, got {out}")


test_longer_networks_call_each_member_once()
### END HIDDEN TESTS

# %% [markdown]
# Pictures come as grids, and a dense layer takes rows. `Flatten` joins all axes but the first, which
# counts the examples.

# %%
#| export
class Flatten(Module):
    """The axes from `start_axis` on joined into one.

    >>> Flatten()(Tensor(np.ones((5, 2, 3)))).shape
    (5, 6)
    """

    def __init__(self, start_axis=1):
        self.start_axis = start_axis

    def forward(self, x):
        return x.flatten(self.start_axis)

    def __repr__(self):
        return f"Flatten({self.start_axis})"

# %% [markdown]
# ## Two modes
#
# A network of many numbers can learn its examples by heart. *Dropout* makes that hard: in training,
# each number that passes is set to 0 with probability $p$, so that no output can rely on one
# particular input. In use, nothing is dropped.
#
# So a layer must know which of the two it is doing, deep inside whatever holds it. Predict what
# `net.training = False` does to a dropout layer in a list in a block in `net`.
#
# **Task.** Write `set_training`.
#
# <details><summary>Hint 1</summary>Which function of yours finds everything inside, however
# deep?</details>
# <details><summary>Hint 2</summary>The walk finds tensors too, and a tensor refuses the
# attribute.</details>

# %% nbgrader={"grade": false, "grade_id": "layers-training", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def set_training(module, mode):
    """Set the attribute `training` of every module in `module`, itself included, to `mode`.

    module   a Module
    mode     True in training, False in use
    returns  None

    >>> net = Sequential(Sequential(Flatten()))
    >>> set_training(net, False)
    >>> net[0][0].training
    False

    Source: torch.nn.Module.train.
    """
    ### BEGIN SOLUTION
    for _, part in walk(module):
        if isinstance(part, Module):
            part.training = mode
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-training", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_every_module_inside_is_told():
    net = Estate()
    for mode in (False, True):
        set_training(net, mode)
        assert net.training == mode, f"set_training(net, {mode}) leaves net.training at {net.training}"
        for place, part in [("blocks.0", net.blocks[0]), ("blocks.1.left", net.blocks[1]["left"]),
                            ("blocks.1.7.0", net.blocks[1][7][0]), ("deep.bed.0.0", net.deep["bed"][0][0])]:
            assert part.training == mode, (
                f"set_training(net, {mode}) leaves {place} at {part.training}: go to every module inside, however deep")


def test_train_and_eval_give_back_the_module():
    net = Sequential(Bare(2))
    assert net.training == True and net[0].training == True, "a new module is in training"  # noqa: E712
    modes = [net.eval()[0].training, net.train()[0].training, net.train(False)[0].training]
    assert modes == [False, True, False], (
        f"after eval(), train() and train(False) training is False, True, False; yours {modes}")


def test_other_networks_stay_as_they_are():
    net, other = Sequential(Bare(2)), Sequential(Bare(3))
    set_training(net, False)
    assert net[0].training == False, f"the module inside should be at False, it is at {net[0].training}"  # noqa: E712
    found = [other.training, other[0].training, Bare(1).training]
    assert found == [True, True, True], (
        f"one network was set to False, and the training of others, old and new, became {found}: set it on the "
        "objects, not on the class")


test_every_module_inside_is_told()
test_train_and_eval_give_back_the_module()
test_other_networks_stay_as_they_are()

# %% nbgrader={"grade": true, "grade_id": "check-training-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_the_mode_reaches_other_nestings():
    shared, holder = Bare(1), Bare(6)
    holder.held = {"a": ([shared, {"b": (Bare(2), [Estate()])}], shared), 5: Ring(), "word": ["x", None, 1.5]}
    for mode in (False, True, False):
        result = set_training(holder, mode)
        assert result is None, f"set_training should return None, got {result}"
        found = [part.training for part in holder.modules()]
        assert found == [mode] * 10, f"mode {mode} expected in 10 modules, got {found}"
    assert shared.training is False, "the shared module was not told"
    ring = Ring()
    set_training(module=ring, mode=False)
    found = [ring.training, ring.inner.training, Ring().training]
    assert found == [False, False, True], f"a ring in use, another new: [False, False, True] expected, got {found}"


test_the_mode_reaches_other_nestings()
### END HIDDEN TESTS

# %% [markdown]
# Now the dropping. If a fifth of the inputs goes to 0, the sums in the next layer shrink, and in use,
# with nothing dropped, that layer meets larger sums than it ever saw. Predict by which factor:

# %%
rng = np.random.default_rng(1)
ones, weights = Tensor(np.ones((2000, 100), "float32")), Tensor(rng.uniform(0, 1, (100, 1)).astype("float32"))
kept = rng.random((2000, 100)) >= 0.2
print(f"in use {float(linear(ones, weights).mean()):.1f}, in training {float(linear(ones * kept, weights).mean()):.1f}")

# %% [markdown]
# The usual cure is to enlarge what survives, in training, so that the mean stays and use costs
# nothing.
#
# **Task.** Write `forward` of `Dropout`. The layer has a generator of its own, so that its masks do
# not change when a layer elsewhere draws its weights.
#
# <details><summary>Hint 1</summary>In which mode is there nothing to do?</details>
# <details><summary>Hint 2</summary><code>self.rng.random(x.shape)</code> gives a number between 0 and
# 1 for each place. Which comparison is true with probability 1 - p?</details>
# <details><summary>Hint 3</summary>Without dropping, the mean is 1; with it, 1 - p. What does each
# survivor have to be divided by?</details>
# <details><summary>Hint 4</summary>True counts as 1 and False as 0: <code>x * keep</code>, an
# operation on a tensor, keeps the note of how it was made, and the dtype.</details>

# %% nbgrader={"grade": false, "grade_id": "layers-dropout", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
class Dropout(Module):
    """In training: each number becomes 0 with probability p, and the others are divided by 1 - p. In use: nothing.

    p        from 0 up to, but not including, 1
    rng      a NumPy Generator or a seed; None for a generator of the layer's own, split off from the module's

    forward takes a Tensor of fractions and returns one of the same shape and dtype; every call draws anew.

    >>> layer = Dropout(0.75, rng=0)
    >>> layer(Tensor([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]))
    Tensor([[ 0.,  0.,  0.,  0., 20., 24.]])
    >>> layer.eval()(Tensor([1.0, 2.0]))
    Tensor([1., 2.])

    Source: Srivastava et al., Dropout (2014), section 10; their p is our 1 - p.
    """

    def __init__(self, p=0.5, rng=None):
        if not 0 <= p < 1:
            raise ValueError(f"p is the share that is dropped, from 0 to below 1, not {p}")
        self.p = p
        self.rng = generator().spawn(1)[0] if rng is None else generator(rng)

    def forward(self, x):
        ### BEGIN SOLUTION
        if not self.training:
            return x
        keep = self.rng.random(x.shape) >= self.p
        return x * keep / (1 - self.p)
        ### END SOLUTION

    def __repr__(self):
        return f"Dropout({self.p})"

# %% nbgrader={"grade": true, "grade_id": "check-dropout", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
def test_the_right_share_is_dropped():
    for p in (0.2, 0.7, 0.95):
        out = np.asarray(Dropout(p, rng=3)(Tensor(np.ones((300, 200), "float32"))))
        assert out.shape == (300, 200), f"the shape stays (300, 200), yours is {out.shape}"
        found = float((out == 0).mean())
        assert abs(found - p) < 0.01, (
            f"p={p} drops {p:.0%} of the numbers, yours drops {found:.1%}: p is what goes, not what stays")


def test_survivors_are_enlarged_so_that_the_mean_stays():
    x = np.linspace(-3, 8, 60000, dtype="float32").reshape(300, 200)
    for p in (0.2, 0.7, 0.999):
        out = np.asarray(Dropout(p, rng=4)(Tensor(x)))
        kept = out != 0
        assert kept.any(), f"with p={p} and 60,000 numbers some survive, yours are all 0"
        factor = float((out[kept] / x[kept]).mean())
        assert np.allclose(out[kept], x[kept] / (1 - p), rtol=1e-5), (
            f"with p={p} survivors are divided by 1 - p, so multiplied by {1 / (1 - p):.4g}; yours by {factor:.4g}")
    mean = float(np.asarray(Dropout(0.2, rng=4)(Tensor(x))).mean())
    assert abs(mean - 2.5) < 0.05, f"the mean, 2.5, should stay with p=0.2; yours is {mean:.3f}"


def test_every_place_is_drawn_for_itself():
    for shape in [(40, 60), (60, 40), (8, 10, 30)]:
        out = np.asarray(Dropout(0.4, rng=5)(Tensor(np.ones(shape, "float32"))))
        for axis in range(len(shape)):
            alike = float((np.take(out, 0, axis) == np.take(out, 1, axis)).mean())
            assert alike < 0.8, (
                f"shape {shape}: the first and the second slice along axis {axis} have {alike:.0%} of their zeros in "
                "the same places, about half is chance: draw a number for each place, random(x.shape)")


def test_every_call_draws_anew():
    layer, x = Dropout(0.4, rng=6), Tensor(np.ones((30, 50), "float32"))
    first, second = np.asarray(layer(x)), np.asarray(layer(x))
    assert not np.array_equal(first, second), (
        "two calls dropped the very same numbers: draw in forward, and do not seed there")
    again = np.asarray(Dropout(0.4, rng=6)(x))
    assert np.array_equal(first, again), (
        "two layers made with rng=6 should begin with the same mask: draw from self.rng")


def test_chance_has_an_order_of_its_own():
    x, masks = Tensor(np.ones((30, 50), "float32")), []
    for drawn_between in (0, 3):
        manual_seed(8)
        layer, other = Dropout(0.4), Dropout(0.4)
        xavier_uniform(5, 4, shape=(drawn_between, 4))
        masks.append(np.asarray(layer(x)))
    assert np.array_equal(*masks), (
        "drawing weights elsewhere changed the mask: draw from self.rng, not from generator()")
    assert not np.array_equal(masks[0], np.asarray(other(x))), "two dropout layers should have masks of their own"


def test_in_use_nothing_is_dropped():
    layer = Dropout(0.8, rng=7)
    x = np.array([[1, -2, 0.5], [3, 7, -100]] * 20, "float32")
    resting = layer.eval()(Variable(x))
    assert np.array_equal(resting.data, x), (
        f"after eval() the layer gives back what it got; yours gives\n{resting.data[:4]}")
    assert resting.requires_grad, "also in use the note of how x was made is kept: give back x itself"
    assert (np.asarray(layer.train()(Tensor(x))) == 0).any(), "after train() the layer should drop again"


def test_dropout_keeps_dtype_shape_and_the_note():
    for dtype in ("float32", "float64"):
        for shape in [(4, 5), (7,), (), (0, 3), (1, 1, 6)]:
            x = Variable(np.full(shape, 3, dtype))
            out = Dropout(0.3, rng=8)(x)
            assert out.shape == shape and out.dtype.name == dtype, (
                f"{dtype} of shape {shape} went in, {out.dtype} of shape {out.shape} came out")
            assert out.requires_grad, "x wants a gradient, so the result must too: multiply tensors, do not use x.data"
            assert np.array_equal(x.data, np.full(shape, 3)), f"the input, all 3, was changed to {x}: make a new tensor"
            numbers = np.asarray(out.data, "float64")
            assert np.allclose(numbers * (numbers - 3 / 0.7), np.zeros(shape), atol=1e-4), (
                f"3 should become 0 or 3 / 0.7, yours: {out}")


def test_the_ends_of_p():
    x = Tensor([[1.0, -2.0, 3.0]] * 50)
    out = Dropout(0)(x)
    assert np.array_equal(out.data, x.data), f"p=0 drops nothing and changes nothing, yours gives {out.data[:2]}"
    for p in (1, -0.1, 1.5, float("nan")):
        try:
            Dropout(p)
        except ValueError as error:
            assert str(p) in str(error), f"the error should name {p}, yours: {error}"
        else:
            assert False, f"p={p} should be refused: nothing would be left, or less than nothing"


test_the_right_share_is_dropped()
test_survivors_are_enlarged_so_that_the_mean_stays()
test_every_place_is_drawn_for_itself()
test_every_call_draws_anew()
test_chance_has_an_order_of_its_own()
test_in_use_nothing_is_dropped()
test_dropout_keeps_dtype_shape_and_the_note()
test_the_ends_of_p()

# %% nbgrader={"grade": true, "grade_id": "check-dropout-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_dropout_of_other_shares_shapes_and_magnitudes():
    random = np.random.default_rng(31)
    for p, shape, dtype in [(0.5, (20000,), "float64"), (0.4, (50, 2, 30, 20), "float32"),
                            (0.35, (3, 90, 100), "float32"), (0.9, (20000, 1), "float64")]:
        x = (random.choice([-1.0, 1.0], shape) * 10.0 ** random.uniform(-12, 12, shape)).astype(dtype)
        given, layer = Variable(x), Dropout(p=p, rng=generator(3))
        out = layer(given)
        numbers, case = out.data, f"p {p}, {dtype} {shape}"
        assert numbers.shape == shape and numbers.dtype.name == dtype and out.requires_grad, f"{case}: got {out!r:.200}"
        kept = numbers != 0
        assert abs(kept.mean() - (1 - p)) < 0.02, f"{case}: {kept.mean():.1%} survived"
        assert np.allclose(numbers[kept], x[kept] / (1 - p), rtol=1e-5, atol=0), (
            f"{case}: survivors should be x / (1 - p)")
        for axis in [axis for axis, length in enumerate(shape) if 1 < length < 1000]:
            alike = float((np.take(kept, 0, axis) == np.take(kept, 1, axis)).mean())
            assert abs(alike - p * p - (1 - p) ** 2) < 0.2, f"{case}: slices along axis {axis} are {alike:.0%} alike"
        assert np.array_equal(given.data, x), f"{case}: the input was changed"
        again = Dropout(p, generator(3))(given)
        assert np.array_equal(again.data, numbers), f"{case}: equal generators drew different masks"
        assert not np.array_equal(layer(given).data, numbers), f"{case}: the second call drew the same mask"
        net = Bare(1)
        net.inner = {"drop": [layer]}
        net.eval()
        assert np.array_equal(layer(given).data, x), f"{case}: in use, inside another module, numbers were changed"
        net.train()
        assert not np.array_equal(layer(given).data, x), f"{case}: in training again, nothing was dropped"


test_dropout_of_other_shares_shapes_and_magnitudes()
### END HIDDEN TESTS

# %% [markdown]
# ## A look at the whole
#
# Before training for a day, look at what was built: which shapes pass through, and where the numbers
# are. `summary` sends a batch of zeros through and prints a row per layer.

# %%
#| exporti
class Text(str):
    """Text that a notebook shows as it is, without quotes."""

    __repr__ = str.__str__


def summary_rows(layer, x, path, counted):
    """The rows (path and layer, shape of the result, parameters not counted before) below `layer`, and its result."""
    if isinstance(layer, Sequential) and type(layer).forward is Sequential.forward:
        rows = []
        for place, member in enumerate(layer):
            more, x = summary_rows(member, x, f"{path}{place}.", counted)
            rows += more
        return rows, x
    x = layer(x)
    new = [p for _, p in named_parameters(layer) if id(p) not in counted]
    counted |= {id(p) for p in new}
    return [(f"{path.rstrip('.')} {name_of(layer)}".strip(), str(x.shape), f"{sum(p.size for p in new):,}")], x

# %%
#| export
def summary(model, input_shape, dtype=np.float32):
    """A table of the layers of `model`: the shape of each result and how many numbers each layer has to learn.

    input_shape  the shape of a whole batch, such as (32, 784)
    dtype        of the zeros that are sent through; np.int64 for models that read words
    returns      text, shown as a table by print and by notebooks

    A Sequential is opened, any other module is one row. A shared parameter is counted where it is met first.
    Dropout is off meanwhile; afterwards every `training` is as it was.
    """
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        rows, _ = summary_rows(model, Tensor(np.zeros(input_shape, dtype)), "", set())
    finally:
        for module, mode in modes:
            module.training = mode
    rows = [("layer", "result", "parameters"), ("input", str(tuple(input_shape)), ""), *rows,
            ("total", "", f"{sum(p.size for p in model.parameters()):,}")]
    wide = [max(len(row[column]) for row in rows) for column in range(3)]
    return Text("\n".join(f"{a:{wide[0]}}  {b:{wide[1]}}  {c:>{wide[2]}}" for a, b, c in rows))

# %%
net = Sequential(Flatten(), Dense(28 * 28, 128, init=he_normal), Tensor.relu, Dropout(0.2), Dense(128, 10))
print(net, summary(net, (32, 28, 28)), sep="\n")

# %% [markdown]
# ## Overnight
#
# What a network has learned is its tensors under their names. To keep them means to copy them:
# training changes the live arrays, and a "saved" state that changes with them saves nothing. Measured
# numbers, such as a running mean, belong to it as well; results do not.
#
# **Task.** Write `state_of`.
#
# <details><summary>Hint 1</summary>This is nearly <code>named_parameters</code>. Which of its
# questions goes?</details>
# <details><summary>Hint 2</summary><code>tensor.data</code> is the live array. Which method of Tensor
# gives one of your own?</details>

# %% nbgrader={"grade": false, "grade_id": "layers-state", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def state_of(module):
    """A copy of the numbers in a module: all its tensors that are no result of an operation.

    module   a Module
    returns  dict of {name: ndarray}, named and ordered as in `walk`; no array is shared with the module

    >>> state_of(Dense(1, 3, bias=False))["weights"].shape
    (1, 3)

    Source: torch.nn.Module.state_dict.
    """
    ### BEGIN SOLUTION
    return {path: part.numpy() for path, part in walk(module) if isinstance(part, Tensor) and part.creator is None}
    ### END SOLUTION

# %% tags=["learner-side"]
def state_before_and_after(net):
    """The state of `net`, looked at after every tensor of `net` was overwritten with 99, and its state then."""
    state = state_of(net)
    for part in (part for _, part in walk(net) if isinstance(part, Tensor)):
        part.detach()[...] = 99
    return state, state_of(net)


def net_after_change_of(state, net):
    """The state of `net` when it has loaded `state`, whose arrays were overwritten with 99 afterwards."""
    state = {name: np.array(array) for name, array in state.items()}
    load_state(net, state)
    for array in state.values():
        array[...] = 99
    return state_of(net)


def held_from_before(net, state):
    """What parameters held since before the loading show afterwards, and what views of their memory show."""
    held = [tensor for _, tensor in named_parameters(net)]
    views = [tensor.detach() for tensor in held]
    load_state(net, state)
    return [tensor.numpy() for tensor in held], [view.numpy() for view in views]


class Measured(Module):
    """A layer with a running mean, a count and a frozen scale."""

    def __init__(self):
        self.dense = Dense(2, 3)
        self.mean = Tensor([0.5, 0.25, 4.0])
        self.count = Tensor([7, 8])
        self.one = Variable(1.5)
        self.tied = self.dense.weights

# %% nbgrader={"grade": true, "grade_id": "check-state", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_the_state_has_every_number_under_its_name():
    net = Measured()
    state = state_of(net)
    wanted = {"dense.weights": net.dense.weights, "dense.bias": net.dense.bias, "mean": net.mean, "count": net.count,
              "one": net.one}
    for name, tensor in wanted.items():
        assert name in state, (
            f"{name} is missing in the state, measured tensors belong to it too: you have {list(state)}")
        assert np.array_equal(np.asarray(state[name]), np.asarray(tensor)), (
            f"{name} is {tensor}, your state says {state[name]}")
    assert list(state) == list(wanted), (
        f"the names are {list(wanted)}, each tensor once, under its first name; yours are {list(state)}")


def test_the_state_is_made_of_arrays():
    state = state_of(Measured())
    for name, dtype in [("dense.weights", "float32"), ("mean", "float32"), ("count", "int64"), ("one", "float32")]:
        assert isinstance(state[name], np.ndarray), (
            f"{name} should be an ndarray, ready for numpy.savez; yours is {state[name]!r:.60}")
        assert state[name].dtype.name == dtype, f"{name} is {dtype}, your state has {state[name].dtype}"
    assert state["one"].shape == (), f"one has shape (), your state has {state['one'].shape}"


def test_results_are_no_state():
    found = list(state_of(Estate()))
    wanted = ["scale", "blocks.0.weights", "blocks.1.left.weights", "blocks.1.7.0.weights", "blocks.1.7.1", "running",
              "deep.bed.0.0.weights"]
    assert "made" not in found, "'made' is a result of an operation; it can be computed again and need not be kept"
    assert found == wanted, f"the state of Estate has {wanted}, yours {found}"


def test_the_state_is_a_copy():
    kept, now = state_before_and_after(Measured())
    for name, wanted in [("mean", [0.5, 0.25, 4]), ("count", [7, 8]), ("one", 1.5), ("dense.bias", [0, 0, 0])]:
        assert np.array_equal(np.asarray(kept[name]), wanted), (
            f"{name} was saved as {wanted}; then the network changed, and the saved state with it: {kept[name]}. "
            "Copy the arrays")
        assert (np.asarray(now[name]) == 99).all(), (
            f"a new state should show {name} as it is now, 99, and shows {now[name]}")


test_the_state_has_every_number_under_its_name()
test_the_state_is_made_of_arrays()
test_results_are_no_state()
test_the_state_is_a_copy()

# %% nbgrader={"grade": true, "grade_id": "check-state-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_the_state_of_other_modules():
    frozen, net = Variable([[0.5]]), Bare(3)
    frozen.requires_grad = False
    net.rest = {"counts": (Tensor(np.array([1, 2], "int64")), Tensor(np.ones((2, 0)))), 4: [frozen, net.weights * 2],
                "held": {"again": net.weights, "wide": Variable(np.array([1e300, -1e-300]))}, "word": "x"}
    right = {"weights": np.full((3, 2), 13, "float32"), "rest.counts.0": np.array([1, 2], "int64"),
             "rest.counts.1": np.ones((2, 0)), "rest.4.0": np.array([[0.5]], "float32"),
             "rest.held.wide": np.array([1e300, -1e-300])}
    kept, now = state_before_and_after(net)
    assert list(kept) == list(right) == list(now), f"the names {list(right)} expected, got {list(kept)} and {list(now)}"
    for name, array in right.items():
        for found, wanted in [(kept[name], array), (now[name], np.full_like(array, 99))]:
            assert isinstance(found, np.ndarray) and found.dtype == array.dtype and np.array_equal(found, wanted), (
                f"{name}: {wanted!r} expected, got {found!r}")


test_the_state_of_other_modules()
### END HIDDEN TESTS

# %% [markdown]
# The way back is where work gets lost: a state that fits half of a network, loaded without a word. A
# shape of (1,) would even broadcast over a whole row. So first look at everything, and complain about
# everything at once.
#
# **Task.** Write `state_problems`. A list of complaints; an empty one means that all is well.
#
# <details><summary>Hint 1</summary>Three things can be wrong. Two are about names: which two? The
# third can only be asked where the name is in both.</details>
# <details><summary>Hint 2</summary><code>state_of(module)</code> has the names and shapes that are
# wanted. <code>np.shape</code> takes arrays, tensors and lists.</details>
# <details><summary>Hint 3</summary>Three lists added up, such as <code>[f"{name} is missing, shape
# {array.shape}" for name, array in mine.items() if name not in state]</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "layers-problems", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def state_problems(module, state):
    """Why `state` does not fit `module`, in words.

    module   a Module
    state    dict of {name: array, Tensor or nested lists}
    returns  list of str, one per name: for every name that `state` lacks, that it has too much, or whose
             shape differs. Each tells the name and the shape, or both shapes. Empty when all fits.

    Changes nothing.

    >>> state_problems(Dense(1, 3, bias=False), {"weights": [[1, 2, 3]]})
    []
    >>> len(state_problems(Dense(1, 3), {"weights": [1, 2, 3], "wieghts": 5}))
    3

    Source: torch.nn.Module.load_state_dict with strict=True.
    """
    ### BEGIN SOLUTION
    mine = state_of(module)
    problems = [f"{name} of shape {mine[name].shape} is missing" for name in mine if name not in state]
    problems += [f"{name} of shape {np.shape(state[name])} is unknown here" for name in state if name not in mine]
    return problems + [f"{name} has shape {np.shape(state[name])} where {mine[name].shape} is needed"
                       for name in mine if name in state and np.shape(state[name]) != mine[name].shape]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-problems", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_a_state_that_fits_has_no_problems():
    net = Measured()
    for kind, state in [("arrays", state_of(net)), ("tensors", {name: Tensor(a) for name, a in state_of(net).items()}),
                        ("lists", {name: a.tolist() for name, a in state_of(net).items()})]:
        found = list(state_problems(net, state))
        assert found == [], f"the module's own state, as {kind}, should fit; you complain {found}"
    found = list(state_problems(Dense(2, 3), {"bias": np.ones(3), "weights": np.ones((2, 3))}))
    assert found == [], f"the order of the names does not matter; you complain {found}"
    found = list(state_problems(Dense(2, 3), {"bias": np.ones(3)}))
    assert len(found) == 1, f"without its weights a state has one problem, yours: {found}"


def test_names_that_are_missing_or_unknown_are_told():
    state = state_of(Measured())
    state["hidden.bias"] = np.ones((4, 5))
    del state["dense.weights"], state["count"]
    found = list(state_problems(Measured(), state))
    for name, shape, what in [("dense.weights", "(2, 3)", "missing"), ("count", "(2,)", "missing"),
                              ("hidden.bias", "(4, 5)", "too much")]:
        about = [text for text in found if name in text]
        assert len(about) == 1, f"{name} is {what} in the state, one complaint should name it; yours: {found}"
        assert shape in about[0], f"the complaint about {name} should tell its shape {shape}, yours: {about[0]}"
    assert len(found) == 3, f"three names are wrong, so three complaints, all at once; yours: {found}"


def test_wrong_shapes_are_told():
    for name, shape, wanted in [("dense.bias", (1,), "(3,)"), ("dense.bias", (), "(3,)"),
                                ("dense.weights", (3, 2), "(2, 3)"),
                                ("dense.weights", (6,), "(2, 3)"), ("one", (1,), "()"), ("mean", (1, 3), "(3,)")]:
        for make in (np.ones, lambda shape: Tensor(np.ones(shape))):
            found = list(state_problems(Measured(), {**state_of(Measured()), name: make(shape)}))
            assert len(found) == 1, (
                f"{name} of shape {shape} instead of {wanted} is one problem, you tell {found}: the same shape is "
                "needed, one that broadcasts or has as many numbers is wrong")
            assert name in found[0] and str(shape) in found[0] and wanted in found[0], (
                f"the complaint should tell {name}, {shape} and {wanted}, yours: {found[0]}")


def test_nothing_is_loaded_when_anything_is_wrong():
    net = Measured()
    before = state_of(net)
    for spoil in ("dense.bias", "extra", None):
        state = {name: a + 1 for name, a in before.items()}
        if spoil is None:
            state.pop("mean")
        else:
            state[spoil] = np.ones((5, 2))
        try:
            net.load_state_dict(state)
        except ValueError as error:
            assert (spoil or "mean") in str(error), f"the error should name {spoil or 'mean'}, it is: {error}"
        else:
            assert False, f"{spoil or 'mean'} does not fit, load_state_dict should raise ValueError"
        for name, array in state_of(net).items():
            assert np.array_equal(array, before[name]), (
                f"{spoil or 'mean'} did not fit, and {name} was changed all the same")


test_a_state_that_fits_has_no_problems()
test_names_that_are_missing_or_unknown_are_told()
test_wrong_shapes_are_told()
test_nothing_is_loaded_when_anything_is_wrong()

# %% nbgrader={"grade": true, "grade_id": "check-problems-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_states_that_do_not_fit():
    net = Estate()
    whole = state_of(net)
    state = {name: array for name, array in whole.items() if name != "running"} | {
        "scale": 2.0, "blocks.1.7.1": [[7.0]], "rate": 0.1, "table": Tensor([[1.0, 2.0, 3.0]]),
        "deep.bed.0.0.weights": np.ones((2, 4))}
    wrong = {"running": ["(2,)"], "scale": ["()", "(3,)"], "blocks.1.7.1": ["(1, 1)", "(1,)"], "rate": ["()"],
             "table": ["(1, 3)"], "deep.bed.0.0.weights": ["(2, 4)", "(4, 2)"]}
    missing = {name: [str(array.shape)] for name, array in whole.items()}
    for given, names in [(state, wrong), ({}, missing)]:
        found = list(state_problems(net, given))
        assert len(found) == len(names), f"complaints about {list(names)} expected, got {found}"
        for name, shapes in names.items():
            about = [text for text in found if name in text]
            assert len(about) == 1 and all(shape in about[0] for shape in shapes), (
                f"one complaint with {name} and {shapes} expected, got {found}")
    for name, array in state_of(net).items():
        assert np.array_equal(array, whole[name]), f"{name} was changed by asking"
    found = list(state_problems(Sequential(Tensor.tanh), {}))
    assert found == [], f"no tensors and an empty state: nothing to complain, got {found}"


test_other_states_that_do_not_fit()
### END HIDDEN TESTS

# %% [markdown]
# Now the writing. Others hold the module's tensors: an optimizer, a layer that shares them. If
# loading put new tensors, or new arrays, in their place, the optimizer would go on improving the old
# ones, which nobody uses. So the numbers go *into* the arrays that are there.
#
# Predict what `a[...] = b` does, and what `a = b` does, for two arrays.
#
# **Task.** Write `load_state`. All names and shapes fit, that was asked before. A dtype may not: then
# `astype` should refuse, and before the first number is written.
#
# <details><summary>Hint 1</summary>Which walk gives the tensors themselves under the names of the
# state? You wrote its condition for <code>state_of</code>.</details>
# <details><summary>Hint 2</summary>Two rounds: first all new arrays, then the writing. What could go
# wrong with one round, half way, or when the state holds the module's own live arrays, two of them
# swapped?</details>
# <details><summary>Hint 3</summary><code>np.array(state[name])</code> is a copy, of a tensor too, and
# <code>.astype(dtype, casting="same_kind")</code> refuses to make whole numbers of
# fractions.</details>
# <details><summary>Hint 4</summary>The second round: <code>part.data[...] =
# new[path]</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "layers-load", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def load_state(module, state):
    """Write the numbers of `state` into the arrays that the tensors of `module` have.

    module   a Module
    state    dict of {name: array, Tensor or nested lists}, with all the names and shapes of state_of(module)
    returns  None

    Tensors and arrays stay the same objects, with their dtypes; nothing is shared with `state`.
    TypeError, and no change at all, when fractions would have to become whole numbers.

    >>> net = Dense(1, 3)
    >>> load_state(net, {"weights": [[1, 2, 3]], "bias": Tensor([0.5, 0, 0])})
    >>> net.weights
    Tensor([[1., 2., 3.]], requires_grad=True)

    Source: torch.nn.Module.load_state_dict; numpy.can_cast explains "same_kind".
    """
    ### BEGIN SOLUTION
    mine = [(path, part) for path, part in walk(module) if isinstance(part, Tensor) and part.creator is None]
    new = {path: np.array(state[path]).astype(part.dtype, casting="same_kind") for path, part in mine}
    for path, part in mine:
        part.data[...] = new[path]
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-load", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def test_the_numbers_arrive_under_their_names():
    wanted = {"dense.weights": [[1, -2, 3.5], [4, 0, 7]], "dense.bias": [10, 20, -5], "mean": [1, 2, 3],
              "count": [5, 6], "one": -4}
    for make in (np.array, Tensor, list, lambda data: np.array(data, "float64")):
        state = {name: data if make is list else make(data) for name, data in wanted.items()}
        state["count"] = [5, 6]
        net = Measured()
        load_state(net, state)
        for name, array in state_of(net).items():
            assert np.array_equal(array, wanted[name]), (
                f"{name} should be {wanted[name]} after loading, yours is {array}")
            dtype = "int64" if name == "count" else "float32"
            assert array.dtype.name == dtype, f"{name} is {dtype} and stays so, yours became {array.dtype}"
    x = np.array([[2, 1]], "float32")
    out = net.dense(Tensor(x))
    assert np.allclose(out.data, [[16, 16, 9]]), f"with the loaded numbers [2, 1] gives [16, 16, 9], yours {out.data}"


def test_what_others_hold_is_what_changes():
    net = Sequential(Dense(2, 3, rng=1), Dense(3, 1, rng=2))
    state = {name: array + 5 for name, array in state_of(net).items()}
    held, views = held_from_before(net, state)
    for found, name in zip(held, state):
        assert np.array_equal(found, state[name]), (
            f"whoever held {name} before the loading, an optimizer perhaps, still has the old numbers: write into "
            "the tensor, do not replace it")
    for found, name in zip(views, state):
        assert np.array_equal(found, state[name]), (
            f"{name} got a new array: write into the old one, part.data[...] = new")
    assert len(net.parameters()) == 4, f"there are 4 parameters before and after, you have {len(net.parameters())}"


def test_nothing_is_shared_with_the_state():
    state = {"weights": np.array([[1, 2, 3]], "float32"), "bias": np.array([4, 5, 6], "float32")}
    found = net_after_change_of(state, Dense(1, 3))
    for name, array in state.items():
        assert np.array_equal(found[name], array), (
            f"{name} was loaded, then the state's own array was changed, and the network with it: {found[name]}. "
            "Copy the numbers")


def test_arrays_may_be_swapped():
    first, second = Dense(1, 3, rng=1), Dense(1, 3, rng=2)
    a, b = np.asarray(first.weights).copy(), np.asarray(second.weights).copy()
    assert a.shape == b.shape == (1, 3) and not np.array_equal(a, b), f"rng=1 and rng=2 should differ, both give {a}"
    net = Sequential(first, second)
    load_state(net, {"0.weights": second.weights, "0.bias": first.bias,
                     "1.weights": first.weights, "1.bias": second.bias})
    assert np.array_equal(np.asarray(first.weights), b), (
        f"0.weights should be {b}, what 1.weights was; yours {first.weights}")
    assert np.array_equal(np.asarray(second.weights), a), (
        f"1.weights should be {a}, what 0.weights was; yours are {second.weights}: copy everything before the first "
        "writing")


def test_fractions_do_not_become_whole_numbers():
    net = Measured()
    before = state_of(net)
    state = {name: array + 1 for name, array in before.items()}
    state["count"] = np.array([1.5, 2.5])
    try:
        load_state(net, state)
    except TypeError:
        for name, array in state_of(net).items():
            assert np.array_equal(array, before[name]), (
                f"count was refused, and {name} was changed all the same: look first, then write")
    else:
        assert False, f"count holds whole numbers; [1.5, 2.5] became {net.count}. It should be refused with TypeError"


def test_a_network_comes_back_from_its_state():
    net, other = Estate(), Estate()
    other.load_state_dict({name: array * 3 for name, array in net.state_dict().items()})
    for (name, found), (_, array) in zip(other.named_parameters(), net.named_parameters()):
        assert np.array_equal(np.asarray(found), 3 * np.asarray(array)), (
            f"{name} should be three times {array}, yours is {found}")
    assert np.array_equal(np.asarray(other.again), [6, 9, 15]), (
        f"'again' is 'scale', now [6, 9, 15]; yours {other.again}")
    assert np.array_equal(np.asarray(other.made), [4, 6, 10]), (
        f"'made' is no state and stays [4, 6, 10], yours {other.made}")


test_the_numbers_arrive_under_their_names()
test_what_others_hold_is_what_changes()
test_nothing_is_shared_with_the_state()
test_arrays_may_be_swapped()
test_fractions_do_not_become_whole_numbers()
test_a_network_comes_back_from_its_state()

# %% nbgrader={"grade": true, "grade_id": "check-load-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_states_are_loaded_in_place():
    net = Estate()
    right = {name: array * -2 + 0.5 for name, array in state_of(net).items()} | {"running": np.array([3, 0], "float32")}
    forms = [Tensor, np.ndarray.tolist, lambda array: array.astype("float64")]
    state = {name: forms[place % 3](array) for place, (name, array) in enumerate(reversed(list(right.items())))}
    state["running"] = np.array([3, 0], "uint8")
    held, views = held_from_before(net, state)
    learned = [name for name in right if name != "running"]
    for name, tensor, view in zip(learned, held, views):
        assert np.array_equal(tensor, right[name]) and np.array_equal(view, right[name]), (
            f"{name}: {right[name]} expected in the old tensor and its array, got {tensor} and {view}")
    for name, array in state_of(net).items():
        assert np.array_equal(array, right[name]) and array.dtype.name == "float32", (
            f"{name}: {right[name]} expected, got {array!r}")
    net = Measured()
    net.late = Tensor(np.array([[1], [2]], "int64"))
    before = state_of(net)
    for name, fractions in [("late", [[0.5], [1.5]]), ("late", np.array([[0.5], [1.5]], "float32")),
                            ("count", Tensor([1.5, 2.5]))]:
        try:
            load_state(net, {other: array + 1 for other, array in before.items()} | {name: fractions})
        except TypeError:
            for other, array in state_of(net).items():
                assert np.array_equal(array, before[other]), f"{name} was refused, and {other} was changed: {array}"
        else:
            assert False, f"{name}, whole numbers, from {fractions}: TypeError expected"


test_other_states_are_loaded_in_place()
### END HIDDEN TESTS

# %% [markdown]
# ## A network set by hand
#
# Everything at once: a network of two layers, with weights that nobody learned. Exclusive or is true
# when exactly one of two inputs is 1, and no single layer can do it. Work out on paper what the two
# relus give for (1, 1), then run.

# %%
xor = Sequential(Dense(2, 2), Tensor.relu, Dense(2, 1))
xor.load_state_dict({"0.weights": [[1, 1], [1, 1]], "0.bias": [0, -1], "2.weights": [[1], [-2]], "2.bias": [0]})
for pair in ([0, 0], [0, 1], [1, 0], [1, 1]):
    print(pair, int(xor(Tensor(pair)).item()))

# %% [markdown]
# Nine numbers, chosen by thought. To find 101,770 of them nobody can think; for that, the next
# lessons measure how wrong a network is, and in which direction each of its numbers should move.

# %%
try:
    xor.load_state_dict({"0.weights": [[1, 1]], "0.bias": [0, -1], "weights": [[1], [-2]], "2.bias": [0]})
except ValueError as error:
    print(error)
print(summary(xor, (4, 2)))

# %% [markdown]
# ## Look back
#
# 1. Start all weights of a network of two dense layers with the same number. Which of the weights
#    would ever become different from each other, and why is a bias of 0 no such trouble?
# 2. With relu, does it matter whether He's variance is 2 / fan_in or 2 / fan_out? Measure a signal,
#    with `spreads` changed to layers whose widths alternate between 50 and 200.
# 3. Dropout is switched off for a `summary`, and for use. Send one input a hundred times through a
#    network that stays in training. What does the spread of the answers tell?
