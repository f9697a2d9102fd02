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
#     - layers
#     - losses
#     - autograd
#     hours: 3
#     prerequisites:
#     - tensor
#     summary: The bends between layers, and scores turned into probabilities
#     title: Activations
# ---

# %% [markdown]
# # 02. Activations
#
# A layer of a network multiplies by weights and adds a bias. Put ten such layers in a row: what can
# they do that one cannot? Nothing at all, and the first section proves it. This chapter asks what must
# stand between layers, and what makes a good choice.
#
# **You need** 01 (Tensor). **You write** nine functions of one to three lines, among them `relu`,
# `gelu` and `softmax`, and the weights of a network that answers a question no straight line can.

# %%
#| default_exp core.activations
#| export
import math

import numpy as np

from tinytorch.core.tensor import Tensor

# %% [markdown]
# ## Two maps are one
#
# A linear layer turns a row $x$ into $xW + b$. Two in a row give $(xW_1 + b_1)W_2 + b_2$. Multiply
# out on paper. Predict: if $x$ has 4 numbers, the first layer makes 2 of them and the second makes 3,
# which shapes have the single $W$ and $b$ that do the same?

# %% [markdown]
# **Task.** Write `two_in_one`, the one layer that equals two.
#
# <details><summary>Hint 1</summary>Open the bracket. Which terms contain $x$, and which do not?</details>
# <details><summary>Hint 2</summary>Through which matrix must the first bias still go?</details>
# <details><summary>Hint 3</summary>The order matters: $x$ meets $W_1$ first, so which of the two matrices
# stands on the left?</details>

# %% nbgrader={"grade": false, "grade_id": "activations-two-in-one", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def two_in_one(w1, b1, w2, b2):
    """The weights and bias of one linear layer that does what two in a row do.

    w1, b1   Tensors of shapes (inputs, hidden) and (hidden,): the first layer, x @ w1 + b1
    w2, b2   Tensors of shapes (hidden, outputs) and (outputs,): the second, which gets the first's result
    returns  w, b of shapes (inputs, outputs) and (outputs,)

    >>> two_in_one(Tensor([[2.0]]), Tensor([1.0]), Tensor([[3.0]]), Tensor([5.0]))
    (Tensor([[6.]]), Tensor([8.]))

    Source: Strang, Introduction to Linear Algebra, section 8.1, "linear transformation".
    """
    ### BEGIN SOLUTION
    return w1 @ w2, b1 @ w2 + b2
    ### END SOLUTION

# %% tags=["learner-side"]
def replayed(out, x, numbers):
    """`out` computed again by its notes, with the array `numbers` in place of the Tensor `x`."""
    if out is x:
        return numbers
    if not isinstance(out, Tensor):
        return out
    if out.creator is None:
        return out.data
    made = out.creator
    return made.op(*[replayed(one, x, numbers) for one in made.inputs], **made.options)

# %% nbgrader={"grade": true, "grade_id": "check-two-in-one", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def test_one_layer_does_what_two_do():
    random = np.random.default_rng(3)
    for inputs, hidden, outputs in [(4, 2, 3), (1, 5, 2), (3, 4, 1)]:
        w1, b1, w2, b2 = [random.normal(size=shape) for shape in ((inputs, hidden), hidden, (hidden, outputs), outputs)]
        x = random.normal(size=(6, inputs))
        sizes = f"for {inputs} inputs, {hidden} hidden and {outputs} outputs"
        try:
            w, b = two_in_one(Tensor(w1), Tensor(b1), Tensor(w2), Tensor(b2))
        except ValueError as error:
            assert False, f"{sizes}: {error}. x meets w1 first, and b1 still has to go through w2."
        assert w.shape == (inputs, outputs) and b.shape == (outputs,), (
            f"{sizes}: w has shape {(inputs, outputs)} and b {(outputs,)}, yours {w.shape} and {b.shape}")
        assert np.allclose(w.data, w1 @ w2, rtol=1e-9), f"{sizes}: w should be\n{w1 @ w2}, yours is\n{w.data}"
        two = (x @ w1 + b1) @ w2 + b2
        assert np.allclose(x @ w.data + b.data, two, rtol=1e-9), (
            f"{sizes}: w is right, b is not. It should be {b1 @ w2 + b2}, yours is {b.data}: both biases count, "
            "and b1 goes through the second layer.")


def test_two_in_one_keeps_dtype_notes_and_inputs():
    numbers = [[[1.0, 2.0, 4.0], [0.5, -1.0, 3.0]], [3.0, -2.0, 1.0], [[2.0], [5.0], [-1.0]], [7.0]]
    for wanting, name, reached in [(0, "w1", [True, False]), (1, "b1", [False, True]), (2, "w2", [True, True]),
                                   (3, "b2", [False, True])]:
        given = [Tensor(part, requires_grad=place == wanting) for place, part in enumerate(numbers)]
        w, b = two_in_one(*given)
        assert np.array_equal(w.data, [[8], [-7]]) and np.array_equal(b.data, [2]), (
            f"w should be [[8], [-7]] and b [2], yours {w.data} and {b.data}")
        assert w.dtype.name == "float32" and b.dtype.name == "float32", (
            f"float32 went in, {w.dtype} and {b.dtype} came out")
        wants = [w.requires_grad, b.requires_grad]
        assert wants == reached, (
            f"{name} wants a gradient, so [w, b] should want {reached}, yours {wants}: compute with tensors, not .data")
        for part, after in zip(numbers, given):
            assert np.array_equal(after.data, part), f"{part} went in and was changed to {after.data}"


test_one_layer_does_what_two_do()
test_two_in_one_keeps_dtype_notes_and_inputs()

# %% nbgrader={"grade": true, "grade_id": "check-two-in-one-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_two_in_one_for_other_layers():
    random = np.random.default_rng(21)
    for inputs, hidden, outputs, dtype in [(7, 3, 2, "float64"), (1, 1, 1, "float64"), (2, 9, 5, "float32"),
                                           (5, 1, 4, "float64")]:
        numbers = [(random.normal(size=shape) * 20).astype(dtype)
                   for shape in ((inputs, hidden), hidden, (hidden, outputs), outputs)]
        w1, b1, w2, b2 = numbers
        mine = [Tensor(part) for part in numbers]
        w, b = two_in_one(w1=mine[0], b1=mine[1], w2=mine[2], b2=mine[3])
        given = f"{inputs} inputs, {hidden} hidden, {outputs} outputs in {dtype}"
        tolerance = 1e-4 if dtype == "float32" else 1e-9
        for name, out, wanted in [("w", w, w1 @ w2), ("b", b, b1 @ w2 + b2)]:
            assert out.shape == wanted.shape and out.dtype.name == dtype, (
                f"{given}: {name} should be {dtype} of shape {wanted.shape}, got {out.dtype} of {out.shape}")
            assert np.allclose(out.data, wanted, rtol=tolerance, atol=tolerance * 100), (
                f"{given}: {name} should be {wanted}, got {out.data}")
        for name, before, after in zip(("w1", "b1", "w2", "b2"), numbers, mine):
            assert np.array_equal(after.data, before), f"{given}: {name} was changed"
    numbers = [np.array([[2.0, -1.0]]), np.array([0.5, 4.0]), np.array([[3.0], [-2.0]]), np.array([10.0])]
    for place, other, wanted in [(0, [[5.0, 1.0]], [[13], [3.5]]), (1, [1.0, -1.0], [[8], [15]]),
                                 (2, [[1.0], [2.0]], [[0], [18.5]]), (3, [-3.0], [[8], [-9.5]])]:
        mine = [Tensor(part, requires_grad=n == place) for n, part in enumerate(numbers)]
        found = [replayed(out, mine[place], np.array(other)) for out in two_in_one(*mine)]
        assert np.array_equal(np.ravel(found[0]), wanted[0]) and np.array_equal(found[1], wanted[1]), (
            f"noted steps with {other} as input {place} should give {wanted}, got {found}")


test_two_in_one_for_other_layers()
### END HIDDEN TESTS

# %% [markdown]
# Nothing stops you from using it again and again. Twenty layers, 8 numbers wide, and the one layer
# that they are:

# %%
random = np.random.default_rng(0)
layers = [(Tensor(random.normal(size=(8, 8)) / 3), Tensor(random.normal(size=8))) for _ in range(20)]
x = Tensor(random.normal(size=(5, 8)))
deep, (w, b) = x, layers[0]
for each in layers:
    deep = deep @ each[0] + each[1]
for each in layers[1:]:
    w, b = two_in_one(w, b, *each)
difference = abs(deep - (x @ w + b)).max()
print(f"{20 * 72} numbers in 20 layers, {w.size + b.size} in one; largest difference {difference:.0e}")

# %% [markdown]
# ## A question no line answers
#
# *Exclusive or*, XOR: one of the two, but not both. Four points in the plane, two answers. Ask least
# squares for the best $xw + b$. Predict its answers at the four corners before you run.

# %%
corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], "float32")
answers = np.array([0, 1, 1, 0], "float32")
columns = np.column_stack([corners, np.ones(4)])  # the last column carries the bias
best = np.linalg.lstsq(columns, answers, rcond=None)[0]
print("weights and bias", best.round(6) + 0)
print("answers", (columns @ best).round(6))

# %% [markdown]
# It shrugs: one half, everywhere. Perhaps a half is the wrong thing to aim at, and some line still has
# the ones on one side and the zeros on the other? Draw a hundred thousand lines at random and count
# how many corners each gets right.

# %%
lines = np.random.default_rng(1).normal(size=(3, 100_000))
right = ((columns @ lines > 0) == (answers[:, None] > 0)).sum(axis=0)  # one count per line
for count in range(5):
    print(f"{count} of 4 right: {(right == count).sum():6,} lines")

# %% [markdown]
# Never four. For every linear $f$, $f(0,0) + f(1,1) = f(0,1) + f(1,0)$: both sides add up to the same
# $w_1 + w_2 + 2b$. XOR wants both numbers on the left low and both on the right high. More layers do
# not help, since two are one. Something must bend.

# %% [markdown]
# ## The simplest bend
#
# Keep what is positive, replace the rest by zero: $\mathrm{relu}(x) = \max(0, x)$, the *rectified linear
# unit*. Lesson 01 has it ready made, `x.relu()`. From here on you write such functions yourself, out
# of smaller operations, and see what each piece is for.
#
# Two spellings come to mind. Predict what each makes of the infinities:

# %%
x = Tensor([-math.inf, -2.0, 0.0, 3.0, math.inf])
with np.errstate(invalid="ignore"):
    print(x * (x > 0))
    print((x + abs(x)) / 2)

# %% [markdown]
# Zero times infinity is `nan`, and so is infinity minus infinity.
#
# The functions of this chapter must also keep their notes. The checks look at that with the tool below: it
# repeats the noted steps with other numbers for `x`, and what comes out must be what your function
# makes of those numbers. You need not follow it now.

# %% [markdown]
# **Task.** Write `relu` for every tensor, infinities and all.
#
# <details><summary>Hint 1</summary>Read the formula aloud. Which method of Tensor takes the larger of two
# numbers, place by place?</details>
# <details><summary>Hint 2</summary><code>x.max()</code> takes the largest of all; that is not it. The other
# number may be a plain 0.</details>

# %% nbgrader={"grade": false, "grade_id": "activations-relu", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def relu(x):
    """Each number of `x` where it is positive, 0 elsewhere.

    x        Tensor of any shape; infinities are numbers like others, nan stays nan
    returns  a new Tensor of the same shape and dtype

    >>> relu(Tensor([-2.0, 0.0, 3.0]))
    Tensor([0., 0., 3.])

    Source: Nair, Hinton, Rectified linear units improve restricted Boltzmann machines (2010).
    """
    ### BEGIN SOLUTION
    return x.maximum(0)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-relu", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_relu_keeps_the_positive_and_zeroes_the_rest():
    for numbers in ([-2.0, 0.0, 3.0], [[-0.25, 7.0, -1e-6], [1e-6, -30.0, 0.5]], [[[4.5]], [[-4.5]]], -1.5, 2.5):
        given, wanted = np.array(numbers), np.array([n if n > 0 else 0.0 for n in np.ravel(numbers)])
        out = relu(Tensor(given))
        assert out.shape == given.shape, f"relu works place by place: shape {given.shape} stays, yours is {out.shape}"
        assert np.array_equal(np.ravel(out.data), wanted), f"relu of {numbers} should be {wanted}, yours is {out.data}"


def test_relu_of_infinities_is_no_nan():
    found = relu(Tensor([-math.inf, -1e30, 1e30, math.inf])).data
    wanted = np.array([0, 0, 1e30, math.inf], "float32")
    assert np.array_equal(found, wanted), (
        f"relu of [-inf, -1e30, 1e30, inf] should be {wanted}, yours is {found}: inf * 0 and inf - inf are nan")
    lost = relu(Tensor([math.nan, 1.0])).data
    assert np.isnan(lost[0]), f"relu of nan should stay nan, yours hides it as {lost[0]}: a mistake should stay visible"


def test_relu_keeps_the_dtype_and_leaves_its_input_alone():
    for dtype in ("float32", "float64", "int64"):
        mine = Tensor(np.array([[-3, 2, -1]], dtype))
        out = relu(mine)
        assert out.dtype.name == dtype, f"relu of {dtype} should be {dtype}, yours is {out.dtype}"
        assert np.array_equal(out.data, [[0, 2, 0]]), f"relu of [-3, 2, -1] should be [0, 2, 0], yours is {out}"
        assert np.array_equal(mine.data, [[-3, 2, -1]]), (
            f"relu changed its input [-3, 2, -1] to {mine.data}: make a new tensor, do not write into x")


def test_relu_is_noted():
    x = Tensor([-2.0, 3.0, 0.5], requires_grad=True)
    out = relu(x)
    assert out.requires_grad, "x wants a gradient and relu lost it: compute with x, not with x.data"
    again = replayed(out, x, np.array([-4.0, 5.0, 0.25], "float32"))
    assert np.array_equal(again, [0, 5, 0.25]), (
        f"for [-4, 5, 0.25] your noted steps give {again}, not [0, 5, 0.25]: some step used x.data")


test_relu_keeps_the_positive_and_zeroes_the_rest()
test_relu_of_infinities_is_no_nan()
test_relu_keeps_the_dtype_and_leaves_its_input_alone()
test_relu_is_noted()

# %% nbgrader={"grade": true, "grade_id": "check-relu-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_relu_of_other_numbers():
    random = np.random.default_rng(22)
    for shape, dtype in [((2, 3, 4), "float64"), ((5, 1), "float32"), ((0, 3), "float32"), ((), "float64"),
                         ((7,), "float16"), ((4, 2), "int32"), ((1, 1, 6), "int8")]:
        given = np.array(random.normal(size=shape) * 40, dtype)
        wanted = np.where(given > 0, given, np.zeros((), dtype))
        mine = Tensor(given)
        out = relu(mine)
        assert out.shape == shape and out.dtype.name == dtype, (
            f"relu of {dtype} of shape {shape} should keep both, got {out.dtype} of {out.shape}")
        assert np.array_equal(out.data, wanted), f"relu of {given} should be {wanted}, got {out.data}"
        assert np.array_equal(mine.data, given), f"relu changed its input {given} to {mine.data}"
    given = np.array([[math.inf, -1e-300, math.nan], [1e-300, -math.inf, -1e300]])
    found = relu(Tensor(given)).data
    assert np.array_equal(found, [[math.inf, 0, math.nan], [1e-300, 0, 0]], equal_nan=True), (
        f"relu of {given} keeps what is positive, and nan; got {found}")
    x = Tensor([[-2.0], [3.0], [-0.5]], requires_grad=True)
    again = replayed(relu(x), x, np.array([[-7.0], [0.125], [-1e5]], "float32"))
    assert np.array_equal(again, [[0], [0.125], [0]]), f"noted steps for -7, 0.125, -1e5 give {again}"


test_relu_of_other_numbers()
### END HIDDEN TESTS

# %% [markdown]
# ## XOR, by hand
#
# Two layers again, with your bend between them: `relu(x @ w1 + b1) @ w2 + b2`. Two hidden units are
# enough. Before you calculate: as $x_1 + x_2$ goes 0, 1, 2, the answer should go 0, 1, 0. Draw that, and
# draw a relu next to it.
#
# **Task.** Choose the weights in `xor_weights`. There are many right answers.
#
# <details><summary>Hint 1</summary>Let both hidden units look at $x_1 + x_2$. Which column of <code>w1</code>
# does that?</details>
# <details><summary>Hint 2</summary>The first unit may simply pass the sum on: 0, 1, 2. What must be taken
# away at 2, and at 2 only?</details>
# <details><summary>Hint 3</summary>Which bias makes the second unit 0 at sums of 0 and 1, and 1 at 2? How much
# of it must you take away?</details>
# <details><summary>Hint 4</summary>$\mathrm{relu}(s) - 2\,\mathrm{relu}(s - 1)$ with $s = x_1 + x_2$. A layer's
# weights have one row per input and one column per unit.</details>

# %% nbgrader={"grade": false, "grade_id": "activations-xor", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def xor_weights():
    """Weights with which `relu(x @ w1 + b1) @ w2 + b2` is 1 when exactly one of two inputs is 1, else 0.

    returns  w1, b1, w2, b2: Tensors of shapes (2, 2), (2,), (2, 1) and (1,)

    >>> [t.shape for t in xor_weights()]
    [(2, 2), (2,), (2, 1), (1,)]

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 6.1.
    """
    ### BEGIN SOLUTION
    w1, b1 = Tensor([[1.0, 1.0], [1.0, 1.0]]), Tensor([0.0, -1.0])
    w2, b2 = Tensor([[1.0], [-2.0]]), Tensor([0.0])
    return w1, b1, w2, b2
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-xor", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def test_two_hidden_units_answer_xor():
    w1, b1, w2, b2 = xor_weights()
    shapes = [w1.shape, b1.shape, w2.shape, b2.shape]
    assert shapes == [(2, 2), (2,), (2, 1), (1,)], (
        f"the shapes should be (2, 2), (2,), (2, 1), (1,), yours are {shapes}")
    w1, b1, w2, b2 = [np.asarray(t, "float64") for t in (w1, b1, w2, b2)]
    for corner, wanted in [((0, 0), 0), ((0, 1), 1), ((1, 0), 1), ((1, 1), 0)]:
        sums = corner @ w1 + b1
        hidden = np.where(sums > 0, sums, 0)
        found = (hidden @ w2 + b2)[0]
        assert abs(found - wanted) < 1e-5, (
            f"XOR of {corner} is {wanted}, yours is {found:g}: its hidden units are {hidden} after relu")


test_two_hidden_units_answer_xor()

# %% [markdown]
# What did the bend do? Look at the corners as the second layer sees them: in hidden coordinates, where a
# straight line is all it has. Without the bend, the same weights are one map again.

# %%
w1, b1, w2, b2 = xor_weights()
hidden = relu(Tensor(corners) @ w1 + b1)
w, b = two_in_one(w1, b1, w2, b2)
for corner, unit, bent, straight in zip(corners, hidden, hidden @ w2 + b2, Tensor(corners) @ w + b):
    print(corner, "hidden", unit.data, f"answer {float(bent):g}, without relu {float(straight):g}")

# %% alt="Left: the four inputs of exclusive or at the corners of a square, two colours at opposite corners. Right: the same four in the plane of the two hidden units, where one dashed line parts the colours."
import matplotlib.pyplot as plt

figure, (before, after) = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
for axes, places, name in ((before, corners, "x"), (after, hidden.data, "hidden unit ")):
    axes.scatter(places[:, 0], places[:, 1], c=answers, s=120, cmap="coolwarm", edgecolors="black")
    axes.set(xlabel=f"{name}1", ylabel=f"{name}2")
    axes.margins(0.3)
first = np.array(after.get_xlim())
after.plot(first, (0.5 - b2.data - w2.data[0] * first) / w2.data[1], "k--")  # where the answer is one half
before.set_title("no line separates the colours")
after.set_title("one line does");

# %% [markdown]
# ## Slopes by nudging
#
# You chose nine numbers by hand. Real networks have millions, and find them by following slopes: how much
# does the result change per unit of change in the input? Where a bend is flat, nothing passes, and
# nothing is learned. So a bend is judged by its slopes.
#
# Until the autograd lesson, measure: nudge the input a little up, a little down, and compare. Predict
# which nudge gives the best slope of $x^3$ at 2, and what goes wrong at both ends:

# %%
for nudge in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
    found = []
    for dtype in ("float32", "float64"):
        up, down = [Tensor(np.array([2 + n], dtype)) for n in (nudge, -nudge)]
        found.append(float(up**3 - down**3) / (2 * nudge))
    print(f"nudge {nudge:.0e}: float32 {found[0]:9.6f}, float64 {found[1]:.10f}")

# %% [markdown]
# **Task.** Write `slope`, for any function that works place by place. A nudge to one side only would be
# off by an amount proportional to the nudge; to both sides, by its square.
#
# <details><summary>Hint 1</summary>The table above prints the number you want, for one place. Which dtype
# should you trust?</details>
# <details><summary>Hint 2</summary>How far apart are the two nudged inputs?</details>
# <details><summary>Hint 3</summary><code>np.asarray(x, "float64")</code> takes a Tensor, an array or a number;
# make a new Tensor of it. Nothing of <code>x</code> itself is changed then.</details>
# <details><summary>Hint 4</summary>The difference of <code>f(x + nudge)</code> and <code>f(x - nudge)</code>,
# divided by <code>2 * nudge</code>. Mind the brackets.</details>

# %% nbgrader={"grade": false, "grade_id": "activations-slope", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def slope(f, x, nudge=1e-4):
    """The slope of `f` at each number of `x`, measured with a nudge to both sides.

    f        function from a Tensor to a Tensor of the same shape, each number by itself
    x        Tensor, array or number; computed with in float64
    nudge    how far to go to each side, in the unit of x
    returns  Tensor of the shape of x, float64

    >>> slope(abs, Tensor([-2.0, 0.0, 3.0]))
    Tensor([-1.,  0.,  1.], dtype=float64)

    Source: Press et al., Numerical Recipes (2007), section 5.7, "symmetrized" difference.
    """
    ### BEGIN SOLUTION
    x = Tensor(np.asarray(x, "float64"))
    return (f(x + nudge) - f(x - nudge)) / (2 * nudge)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-slope", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_slopes_of_known_functions():
    x = np.array([[-1.5, 0.25, 2.0], [0.5, -0.75, 3.0]])
    cases = [("x * x * x", lambda t: t * t * t, 3 * x**2), ("5 * x - 7", lambda t: 5 * t - 7, 5 + 0 * x),
             ("exp", lambda t: t.exp(), np.exp(x)), ("sin", lambda t: t.sin(), np.cos(x))]
    for name, f, wanted in cases:
        out = slope(f, Tensor(x))
        assert out.shape == (2, 3), f"one slope for each number: shape (2, 3), yours is {out.shape}"
        assert np.allclose(out.data, wanted, rtol=0, atol=1e-6), (
            f"the slope of {name} at\n{x} is\n{wanted}, yours is\n{out.data}\n(nudge to both sides, divide by the "
            "distance between the two)")


def test_slopes_are_measured_in_float64():
    for given in (Tensor([2.0, 0.5]), np.array([2.0, 0.5], "float32"), [2.0, 0.5],
                  Tensor([2.0, 0.5], requires_grad=True)):
        out = slope(lambda t: t.sin(), given)
        wrong = abs(np.asarray(out) - np.cos([2.0, 0.5])).max()
        assert wrong < 1e-7, f"the slope of sin is off by {wrong:.0e}: in float32 the nudge drowns in rounding"
        assert out.dtype.name == "float64", f"slopes are measured in float64, yours are {out.dtype}"
    single = slope(lambda t: t * t, 3)
    assert single.shape == () and abs(float(single) - 6) < 1e-7, (
        f"the slope of x * x at 3 is 6, yours is {single}: make a Tensor of a float64 array, then nudge the Tensor")


def test_the_nudge_can_be_chosen():
    usual = float(slope(lambda t: t * t * t, 2.0)) - 12
    assert abs(usual - 1e-8) < 1e-9, (
        "with the usual nudge of 1e-4 to both sides, the slope of x * x * x at 2 is measured as 12 + 1e-8, "
        f"yours as 12 + {usual:.0e}")
    for nudge in (0.5, 0.25):
        found = float(slope(lambda t: t * t * t, 2.0, nudge))
        assert abs(found - (12 + nudge**2)) < 1e-9, (
            f"with a nudge of {nudge} to both sides, the slope of x * x * x at 2 is measured as {12 + nudge**2}, "
            f"yours as {found}")


def test_slope_leaves_its_input_alone():
    mine = np.array([2.0, 0.5])
    x = Tensor(mine)
    slope(lambda t: t * t, mine)
    slope(lambda t: t * t, x)
    assert np.array_equal(mine, [2.0, 0.5]) and np.array_equal(x.data, [2.0, 0.5]), (
        f"slope changed its input [2, 0.5] to {mine} or {x.data}")
    assert np.array_equal(slope(lambda t: t * t, x).data.round(6), [4, 1]), "the slope of x * x at [2, 0.5] is [4, 1]"


test_slopes_of_known_functions()
test_slopes_are_measured_in_float64()
test_the_nudge_can_be_chosen()
test_slope_leaves_its_input_alone()

# %% nbgrader={"grade": true, "grade_id": "check-slope-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_slopes_of_other_functions():
    x = np.array([[[-2.0, 0.3], [1.7, -0.6]]])
    for name, f, wanted in [("cos", lambda t: t.cos(), -np.sin(x)), ("tanh", lambda t: t.tanh(), 1 - np.tanh(x)**2),
                            ("x**4 - 2x", lambda t: t**4 - 2 * t, 4 * x**3 - 2), ("7", lambda t: 0 * t + 7, 0 * x),
                            ("1 / x", lambda t: 1 / t, -1 / x**2), ("abs", abs, np.sign(x))]:
        for given in (Tensor(x), x, Tensor(x, requires_grad=True)):
            out = slope(f, given)
            assert out.shape == x.shape and out.dtype.name == "float64", (
                f"slope of {name} should be float64 of shape {x.shape}, got {out.dtype} of {out.shape}")
            assert np.allclose(out.data, wanted, rtol=0, atol=1e-5), (
                f"slope of {name} at {x} is {wanted}, got {out.data}")
    for nudge in (2.0, 1e-3):
        found = np.asarray(slope(x=Tensor([-1, 0, 3]), f=lambda t: t**3 + t * t, nudge=nudge))
        wanted = np.array([1, 0, 33]) + nudge**2
        assert np.allclose(found, wanted, rtol=0, atol=1e-9), (
            f"slope of x**3 + x*x at -1, 0, 3 with nudge {nudge} is {wanted}, got {found}")
    found = np.asarray(slope(lambda t: t * t, np.array([1000.0, -4e3], "float32")))
    assert np.allclose(found, [2000, -8000], rtol=1e-8), f"slope of x*x at 1000, -4000 is 2000, -8000, got {found}"
    for shape in [(), (0,), (3, 0), (1, 1, 1)]:
        out = slope(lambda t: 3 * t, np.ones(shape))
        assert out.shape == shape and np.allclose(out.data, np.full(shape, 3)), f"slope of 3x in shape {shape} is 3, got {out.data}"


test_slopes_of_other_functions()
### END HIDDEN TESTS

# %% [markdown]
# ## A soft switch
#
# The oldest bend answers "how likely?": $\mathrm{sigmoid}(x) = 1 / (1 + e^{-x})$ squeezes any number to
# between 0 and 1. As written it has a fault. Predict what the two lines print; float32 ends near
# $3 \cdot 10^{38}$.

# %%
with np.errstate(over="ignore"):
    print((-Tensor([-3.0, -90.0, -1000.0])).exp())
    print(1 / (1 + (-Tensor([-3.0, -90.0, -1000.0])).exp()))

# %% [markdown]
# The infinity is divided away, and the result looks innocent. But infinity stands in the notes, and when
# slopes are computed from those, infinity times zero gives `nan`.
#
# A cure that will serve you three times: a fraction stays the same when above and below are
# multiplied by one number. Start from $\frac{e^x}{e^x + e^0}$, multiply by $e^{-m}$, and choose $m$ so
# that no power is ever above 0.

# %% [markdown]
# **Task.** Write `sigmoid` that way, from `exp` and what you had for `relu`, without calling `x.sigmoid()`.
#
# <details><summary>Hint 1</summary>After multiplying, the exponents are $x - m$ and $0 - m$. Which $m$ makes the
# larger of them exactly 0?</details>
# <details><summary>Hint 2</summary>That $m$ is the larger of $x$ and 0, place by place. You wrote a function
# for it.</details>
# <details><summary>Hint 3</summary><code>up = (x - m).exp()</code> stands above; what stands below it has two
# terms. Brackets.</details>

# %% nbgrader={"grade": false, "grade_id": "activations-sigmoid", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def sigmoid(x):
    """1 / (1 + exp(-x)): each number of `x` squeezed to between 0 and 1.

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for whole numbers

    Correct at +-1000, with no infinity on the way, and small results keep their digits: sigmoid(-20) is
    2.06e-9, not 0.

    >>> sigmoid(Tensor([-1000.0, 0.0, 1000.0]))
    Tensor([0. , 0.5, 1. ])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 3.10.
    """
    ### BEGIN SOLUTION
    m = relu(x)
    up = (x - m).exp()
    return up / (up + (-m).exp())
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-sigmoid", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
def test_sigmoid_squeezes_to_between_0_and_1():
    for dtype, tolerance in (("float64", 1e-14), ("float32", 1e-6)):
        given = np.array([[-3.0, 0.0, 0.5], [2.0, -0.125, 7.0]], dtype)
        wanted = np.array([[1 / (1 + math.exp(-v)) for v in row] for row in given.tolist()])
        out = sigmoid(Tensor(given))
        assert out.shape == (2, 3), f"sigmoid works place by place: shape (2, 3) stays, yours is {out.shape}"
        assert np.allclose(out.data, wanted, rtol=tolerance, atol=0), (
            f"sigmoid of {given.tolist()} should be\n{wanted}, yours is\n{out.data}\n"
            "(sigmoid(0) is 0.5; Python divides before it adds)")
        assert out.dtype.name == dtype, f"sigmoid of {dtype} should stay {dtype}, yours is {out.dtype}"
    whole = sigmoid(Tensor([[-1, 2, 0]]))
    assert np.allclose(whole.data, [[0.26894142, 0.88079708, 0.5]], rtol=1e-6, atol=0), (
        f"sigmoid of whole numbers -1, 2, 0 is 0.2689, 0.8808, 0.5, yours is {whole.data}")
    assert whole.dtype.name == "float32", f"sigmoid of whole numbers is float32, yours is {whole.dtype}"


def test_sigmoid_has_no_infinity_on_the_way():
    for dtype in ("float32", "float64"):
        x = Tensor(np.array([-1000.0, 1000.0, -750.0, 750.0], dtype), requires_grad=True)
        out = sigmoid(x)
        assert np.array_equal(out.data, [0, 1, 0, 1]), (
            f"sigmoid of [-1000, 1000, -750, 750] should be [0, 1, 0, 1], yours is {out.data}")
        steps = [out]
        for step in steps:  # grows while it is walked: each result leads to what it was made from
            assert np.isfinite(np.asarray(step)).all(), (
                f"a step on the way to sigmoid([-1000, 1000, -750, 750]) is {np.asarray(step)}: exp overflowed there, "
                "and slopes will be nan. Take only powers of numbers that are not above 0.")
            steps += [one for one in getattr(step.creator, "inputs", ()) if isinstance(one, Tensor)]


def test_small_results_of_sigmoid_keep_their_digits():
    for dtype, tolerance in (("float32", 1e-5), ("float64", 1e-13)):
        given = np.array([-20.0, -50.0, -80.0], dtype)
        found, wanted = sigmoid(Tensor(given)).data, [math.exp(v) / (1 + math.exp(v)) for v in given.tolist()]
        assert np.allclose(found, wanted, rtol=tolerance, atol=0), (
            f"sigmoid of [-20, -50, -80] in {dtype} should be {wanted}, yours is {found}: their digits were lost "
            "when a tiny number was added to a large one, or taken from it")


def test_sigmoid_is_noted_and_leaves_its_input_alone():
    x = Tensor([-2.0, 0.5, 3.0], requires_grad=True)
    out = sigmoid(x)
    assert out.requires_grad, "x wants a gradient and sigmoid lost it: compute with x, not with x.data"
    numbers = np.array([-2.5, 0.75, 2.0], "float32")
    again, wanted = replayed(out, x, numbers), 1 / (1 + np.exp(-numbers))
    assert np.allclose(again, wanted, rtol=1e-6, atol=0), (
        f"for {numbers} your noted steps give {again}, not {wanted}: some step used x.data")
    zero = Tensor([0.0, 0.0], requires_grad=True)
    again, wanted = replayed(sigmoid(zero), zero, np.array([-0.5, 0.5], "float32")), [0.3775407, 0.6224593]
    assert np.allclose(again, wanted, rtol=1e-6, atol=0), (
        f"the steps noted at x = 0 lead to {again} for -0.5 and 0.5, not to {wanted}: they have a corner at 0, "
        "where the slope should be 0.25. Do not decide by the sign of x, or take abs(x).")
    assert np.array_equal(x.data, [-2.0, 0.5, 3.0]), f"sigmoid changed its input [-2, 0.5, 3] to {x.data}"


test_sigmoid_squeezes_to_between_0_and_1()
test_sigmoid_has_no_infinity_on_the_way()
test_small_results_of_sigmoid_keep_their_digits()
test_sigmoid_is_noted_and_leaves_its_input_alone()

# %% nbgrader={"grade": true, "grade_id": "check-sigmoid-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_sigmoid_of_other_numbers():
    grid = np.linspace(-36, 36, 145).reshape(5, 1, 29)
    for dtype, tolerance in (("float64", 1e-13), ("float32", 1e-5)):
        for given in (grid, grid[0, 0, 3], grid[:0], np.array([[1000.0, -1000.0], [0.25, -300.0]])):
            numbers = np.array(given, dtype)
            mine = Tensor(numbers)
            wanted = [math.exp(v) / (1 + math.exp(v)) if v < 700 else 1.0 for v in numbers.ravel().tolist()]
            wanted = np.array(wanted, dtype)
            out = sigmoid(mine)
            assert out.shape == given.shape and out.dtype.name == dtype, (
                f"sigmoid of {dtype} of shape {given.shape} should keep both, got {out.dtype} of {out.shape}")
            assert np.allclose(out.data.ravel(), wanted, rtol=tolerance, atol=0), (
                f"sigmoid of {given} in {dtype} should be {wanted}, got {out.data}")
            assert np.array_equal(mine.data, numbers), f"sigmoid changed its input {given}"
    whole = sigmoid(Tensor([[1000], [-3], [-1000]]))
    assert whole.dtype.name == "float32" and np.allclose(whole.data, [[1], [0.04742587], [0]], rtol=1e-5, atol=0), (
        f"sigmoid of whole numbers 1000, -3, -1000 is 1, 0.0474, 0 in float32, got {whole.data}")
    x = Tensor([[-1.0, 0.0], [4.0, -30.0]], requires_grad=True)
    again = replayed(sigmoid(x), x, np.array([[-4.0, 0.0], [1.0, -20.0]], "float32"))
    assert np.allclose(again, [[0.01798621, 0.5], [0.7310586, 2.0611537e-9]], rtol=1e-5, atol=0), (
        f"noted steps for [[-4, 0], [1, -20]] give {again}")


test_sigmoid_of_other_numbers()
### END HIDDEN TESTS

# %% [markdown]
# Now hold `slope` to it. At its best place, sigmoid lets a quarter of a change through. Predict the slope
# at 10, and what is left of a change after ten sigmoids in a row, each at its best place:

# %%
for place in (0, 2, 5, 10):
    print(f"slope at {place:2}: sigmoid {float(slope(sigmoid, place)):.7f}, relu {float(slope(relu, place)):.1f}")
print(f"ten in a row: {float(slope(sigmoid, 0)) ** 10:.1e}")

# %% [markdown]
# Far from 0, sigmoid is *saturated*: a unit at 10 moves twenty thousand times less than its input. In a deep
# network of sigmoids the first layers hear almost nothing of the error at the end. That, more than
# speed, is why relu took over: its slope is 1 for every positive number. (At 0 it has a corner, and a
# nudge to both sides sees half of each.)

# %% [markdown]
# ## Centred at zero
#
# Sigmoid has a second flaw: its outputs are all positive, so the next layer's inputs all push the same way.
# $\tanh(x) = \frac{e^x - e^{-x}}{e^x + e^{-x}}$ has the same form and runs from -1 to 1. Predict
# where the two curves must be stretched, and by how much, to lie on each other.

# %%
print("sigmoid", sigmoid(Tensor([-4.0, -2.0, 0.0, 2.0, 4.0])))
print("tanh   ", Tensor([-2.0, -1.0, 0.0, 1.0, 2.0]).tanh())

# %% [markdown]
# **Task.** Write `tanh` with your `sigmoid`, again without the ready-made `x.tanh()`.
#
# <details><summary>Hint 1</summary>Multiply both halves of the fraction by $e^{-x}$ and compare the lower one
# with the lower half of sigmoid. What became of $x$?</details>
# <details><summary>Hint 2</summary>In the two printed rows, how do you get from 0.5 to 0, and from 0.98
# to 0.96?</details>
# <details><summary>Hint 3</summary>The range of length 1 becomes one of length 2, then moves down by how
# much?</details>

# %% nbgrader={"grade": false, "grade_id": "activations-tanh", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def tanh(x):
    """The hyperbolic tangent: each number of `x` squeezed to between -1 and 1.

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for whole numbers

    Correct at +-1000, with no infinity on the way.

    >>> tanh(Tensor([-1000.0, 0.0, 1000.0]))
    Tensor([-1.,  0.,  1.])

    Source: LeCun, Bottou, Orr, Mueller, Efficient BackProp (1998), section 4.4.
    """
    ### BEGIN SOLUTION
    return 2 * sigmoid(2 * x) - 1
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-tanh", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def test_tanh_squeezes_to_between_minus_1_and_1():
    for dtype, tolerance in (("float64", 1e-14), ("float32", 5e-7)):
        given = np.array([[-3.0, 0.0, 0.5], [2.0, -0.125, 1.5]], dtype)
        wanted = np.array([[math.tanh(v) for v in row] for row in given.tolist()])
        out = tanh(Tensor(given))
        assert out.shape == (2, 3), f"tanh works place by place: shape (2, 3) stays, yours is {out.shape}"
        assert np.allclose(out.data, wanted, rtol=0, atol=tolerance), (
            f"tanh of {given.tolist()} should be\n{wanted}, yours is\n{out.data}\n"
            "(stretch both ways: what goes into sigmoid, and what comes out)")
        assert out.dtype.name == dtype, f"tanh of {dtype} should stay {dtype}, yours is {out.dtype}"
    whole = tanh(Tensor([[-1, 2, 0]]))
    assert np.allclose(whole.data, [[-0.7615942, 0.9640276, 0]], rtol=0, atol=5e-7), (
        f"tanh of whole numbers -1, 2, 0 is -0.7616, 0.9640, 0, yours is {whole.data}")
    assert whole.dtype.name == "float32", f"tanh of whole numbers is float32, yours is {whole.dtype}"


def test_tanh_has_no_infinity_on_the_way():
    for dtype in ("float32", "float64"):
        x = Tensor(np.array([-1000.0, 1000.0, 400.0, -400.0], dtype), requires_grad=True)
        out = tanh(x)
        assert np.array_equal(out.data, [-1, 1, 1, -1]), (
            f"tanh of [-1000, 1000, 400, -400] should be [-1, 1, 1, -1], yours is {out.data}: exp(2 * 400) is too "
            "large")
        steps = [out]
        for step in steps:  # grows while it is walked: each result leads to what it was made from
            assert np.isfinite(np.asarray(step)).all(), (
                f"a step on the way to tanh([-1000, 1000, 400, -400]) is {np.asarray(step)}: exp overflowed there, and "
                "slopes will be nan")
            steps += [one for one in getattr(step.creator, "inputs", ()) if isinstance(one, Tensor)]


def test_tanh_is_noted_and_leaves_its_input_alone():
    x = Tensor([-2.0, 0.5, 3.0], requires_grad=True)
    out = tanh(x)
    assert out.requires_grad, "x wants a gradient and tanh lost it: compute with x, not with x.data"
    numbers = np.array([-2.5, 0.75, 2.0], "float32")
    again = replayed(out, x, numbers)
    assert np.allclose(again, np.tanh(numbers), rtol=0, atol=5e-7), (
        f"for {numbers} your noted steps give {again}, not {np.tanh(numbers)}: some step used x.data")
    assert np.array_equal(x.data, [-2.0, 0.5, 3.0]), f"tanh changed its input [-2, 0.5, 3] to {x.data}"


test_tanh_squeezes_to_between_minus_1_and_1()
test_tanh_has_no_infinity_on_the_way()
test_tanh_is_noted_and_leaves_its_input_alone()

# %% nbgrader={"grade": true, "grade_id": "check-tanh-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_tanh_of_other_numbers():
    grid = np.linspace(-20, 20, 81).reshape(3, 27, 1)
    for dtype, tolerance in (("float64", 1e-14), ("float32", 5e-7)):
        for given in (grid, grid[0, 0, 0], grid[:0], np.array([[1000.0, -0.75], [-1000.0, 0.75]])):
            numbers = np.array(given, dtype)
            mine = Tensor(numbers)
            wanted = [math.tanh(v) for v in numbers.ravel().tolist()]
            out = tanh(mine)
            assert out.shape == given.shape and out.dtype.name == dtype, (
                f"tanh of {dtype} of shape {given.shape} should keep both, got {out.dtype} of {out.shape}")
            assert np.allclose(out.data.ravel(), wanted, rtol=0, atol=tolerance), (
                f"tanh of {given} in {dtype} should be {wanted}, got {out.data}")
            assert np.array_equal(mine.data, numbers), f"tanh changed its input {given}"
    whole = tanh(Tensor([[1000], [1], [-1000]]))
    assert whole.dtype.name == "float32" and np.allclose(whole.data, [[1], [0.7615942], [-1]], rtol=0, atol=5e-7), (
        f"tanh of whole numbers 1000, 1, -1000 is 1, 0.7616, -1 in float32, got {whole.data}")
    x = Tensor([[-1.0, 0.0], [4.0, -30.0]], requires_grad=True)
    numbers = np.array([[-0.25, 0.0], [1.0, -2.0]], "float32")
    again = replayed(tanh(x), x, numbers)
    assert np.allclose(again, np.tanh(numbers), rtol=0, atol=5e-7), f"noted steps for {numbers} give {again}"


test_tanh_of_other_numbers()
### END HIDDEN TESTS

# %% [markdown]
# Lesson 01's operations `x.relu()`, `x.sigmoid()` and `x.tanh()` compute the same in one step each. Are yours
# as good? Predict what the number of steps costs:

# %%
import time

many = Tensor(np.random.default_rng(2).normal(size=200_000).astype("float32"))


def seconds(compute):
    """The best of five."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        compute(many)
        times.append(time.perf_counter() - start)
    return min(times)


for mine, ready in ((relu, Tensor.relu), (sigmoid, Tensor.sigmoid), (tanh, Tensor.tanh)):
    print(f"{mine.__name__:8} largest difference {abs(mine(many) - ready(many)).max():.0e}, "
          f"{seconds(mine) / seconds(ready):.1f} times as long")

# %% [markdown]
# The numbers agree to about seven decimal places. The price of a step depends on what happens inside: one
# that picks between two cases place by place can be dearer than several that only calculate. For `tanh`
# the ready-made step wins clearly, so it is what the next bend will use.

# %% [markdown]
# ## Units that never wake
#
# Relu has a flaw too: slope 0 on the whole left. One unit out of six gets a badly negative bias
# below; a single oversized training step can do that. Predict the last row, and how training could repair it.

# %%
random = np.random.default_rng(4)
rows = Tensor(random.normal(size=(1000, 8)))
sums = rows @ Tensor(random.normal(size=(8, 6)) / math.sqrt(8)) + Tensor([0.5, 0.0, -0.5, -1.0, -2.0, -8.0])
awake, passed = relu(sums).data > 0, slope(relu, sums).mean(axis=0)
for unit in range(6):
    print(f"unit {unit}: awake for {awake[:, unit].mean():6.1%} of 1000 inputs, mean slope {passed[unit]:.3f}")

# %% [markdown]
# A unit that is asleep for every input has slope 0 for every input: no step ever moves its weights again. It
# is *dead*. Hence bends that fall off gently on the left.

# %% [markdown]
# ## A smooth bend
#
# GELU multiplies $x$ by the probability that a standard normal number lies below $x$. That needs the error function;
# the original GPT models took a near relative, and it is the one we build:
#
# $$\mathrm{gelu}(x) = \frac{x}{2}\left(1 + \tanh\left(\sqrt{2/\pi}\,(x + 0.044715\,x^3)\right)\right)$$
#
# Predict before you run: how far apart are the two, at worst? And is gelu ever below 0?

# %%
exact = [x / 2 * (1 + math.erf(x / math.sqrt(2))) for x in np.linspace(-5, 5, 1001)]
near = [x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) for x in np.linspace(-5, 5, 1001)]
print(f"largest difference {np.abs(np.subtract(exact, near)).max():.6f}, lowest point {min(near):.4f}")

# %% [markdown]
# **Task.** Write `gelu` for tensors. A network of lesson 15 calls it millions of times, so take the
# ready-made `tanh` method, and `x * x * x` for the cube.
#
# <details><summary>Hint 1</summary>Write the inner bracket first and give it a name.</details>
# <details><summary>Hint 2</summary><code>math.sqrt(2 / math.pi)</code> multiplies all of the inner bracket,
# the cube included. Where do the brackets go?</details>
# <details><summary>Hint 3</summary><code>0.5 * x * (1 + ....tanh())</code></details>

# %% nbgrader={"grade": false, "grade_id": "activations-gelu", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def gelu(x):
    """The Gaussian error linear unit, tanh form: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for whole numbers

    >>> gelu(Tensor([-1000.0, 0.0, 1000.0]))
    Tensor([  -0.,    0., 1000.])

    Source: Hendrycks, Gimpel, Gaussian error linear units (2016), section 2. PyTorch: approximate="tanh".
    """
    ### BEGIN SOLUTION
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
    return 0.5 * x * (1 + inner.tanh())
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-gelu", "locked": true, "points": 6, "schema_version": 3, "solution": false, "task": false}
def test_gelu_is_the_tanh_form():
    found = gelu(Tensor(np.array([1.0, -1.0, 2.5]))).data
    wanted = [0.8411919906082768, -0.1588080093917232, 2.484915733910001]  # from the formula, with 40 digits
    near = {"0.841345: that is the exact form, with erf": 0.8413447,
            "0.845796: that is x * sigmoid(1.702 x)": 0.8457958}
    for told, value in near.items():
        assert abs(found[0] - value) > 1e-6, f"gelu(1) should be 0.841192, yours is {told}"
    assert np.allclose(found, wanted, rtol=1e-12, atol=0), (
        f"gelu of [1, -1, 2.5] should be {wanted}, yours is {found}: compare constants and brackets with the formula")


def test_gelu_works_place_by_place_in_every_dtype():
    for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-6)):
        given = np.array([[-3.0, 0.0, 0.5], [2.0, -0.125, 7.0]], dtype)
        wanted = np.array([[v / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))) for v in row]
                           for row in given.tolist()])
        out = gelu(Tensor(given))
        assert out.shape == (2, 3), f"gelu works place by place: shape (2, 3) stays, yours is {out.shape}"
        assert np.allclose(out.data, wanted, rtol=0, atol=tolerance), (
            f"gelu of {given.tolist()} should be\n{wanted}, yours is\n{out.data}")
        assert out.dtype.name == dtype, f"gelu of {dtype} should stay {dtype}, yours is {out.dtype}"
    whole = gelu(Tensor([[-1, 2, 0]]))
    assert np.allclose(whole.data, [[-0.158808, 1.954598, 0]], rtol=0, atol=1e-6), (
        f"gelu of whole numbers -1, 2, 0 is -0.1588, 1.9546, 0, yours is {whole.data}")
    far = gelu(Tensor([-1000.0, 1000.0, -50.0])).data
    assert np.array_equal(far, [0, 1000, 0]), f"gelu of [-1000, 1000, -50] should be [0, 1000, 0], yours is {far}"


def test_gelu_is_noted_and_leaves_its_input_alone():
    x = Tensor([-2.0, 0.5, 1.25], requires_grad=True)
    out = gelu(x)
    assert out.requires_grad, "x wants a gradient and gelu lost it: compute with x, not with x.data"
    numbers = np.array([-2.5, 0.75, 1.5], "float32")
    again, wanted = replayed(out, x, numbers), [-0.0150843, 0.5799606, 1.3995716]
    assert np.allclose(again, wanted, rtol=0, atol=1e-6), (
        f"for {numbers} your noted steps give {again}, not {wanted}: some step used x.data")
    assert np.array_equal(x.data, [-2.0, 0.5, 1.25]), f"gelu changed its input [-2, 0.5, 1.25] to {x.data}"


test_gelu_is_the_tanh_form()
test_gelu_works_place_by_place_in_every_dtype()
test_gelu_is_noted_and_leaves_its_input_alone()

# %% nbgrader={"grade": true, "grade_id": "check-gelu-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_gelu_of_other_numbers():
    grid = np.linspace(-6, 6, 73)[:72].reshape(4, 3, 6)
    root = math.sqrt(2 / math.pi)
    for dtype, tolerance in (("float64", 1e-12), ("float32", 2e-6)):
        for given in (grid, grid[1, 1, 1], grid[:, :0], np.array([[300.0], [-40.0], [0.75], [-0.75]])):
            numbers = np.array(given, dtype)
            mine = Tensor(numbers)
            wanted = [v / 2 * (1 + math.tanh(root * (v + 0.044715 * v**3))) for v in numbers.ravel().tolist()]
            out = gelu(mine)
            assert out.shape == given.shape and out.dtype.name == dtype, (
                f"gelu of {dtype} of shape {given.shape} should keep both, got {out.dtype} of {out.shape}")
            assert np.allclose(out.data.ravel(), wanted, rtol=0, atol=tolerance), (
                f"gelu of {given} in {dtype} should be {wanted}, got {out.data}")
            assert np.array_equal(mine.data, numbers), f"gelu changed its input {given}"
    whole = gelu(Tensor([[-2], [1], [30]]))
    wanted = [[-0.04540231], [0.841192], [30]]
    assert whole.dtype.name == "float32" and np.allclose(whole.data, wanted, rtol=0, atol=2e-6), (
        f"gelu of whole numbers -2, 1, 30 is -0.0454, 0.8412, 30 in float32, got {whole.data}")
    x = Tensor([[-1.0, 0.0], [4.0, -3.0]], requires_grad=True)
    again = replayed(gelu(x), x, np.array([[2.0, 1.0], [-1.0, 30.0]], "float32"))
    assert np.allclose(again, [[1.9545977, 0.841192], [-0.158808, 30]], rtol=0, atol=2e-6), (
        f"noted steps for [[2, 1], [-1, 30]] give {again}")


test_gelu_of_other_numbers()
### END HIDDEN TESTS

# %% [markdown]
# All four bends and their slopes, from your own functions. Predict which slopes go above 1, and which below 0.

# %% alt="Left: relu, sigmoid, tanh and gelu from -5 to 5. Right: their slopes. Sigmoid's is at most 0.25, tanh's 1, relu's jumps from 0 to 1, gelu's goes below 0 and above 1."
line = Tensor(np.linspace(-5, 5, 401))
figure, (values, slopes) = plt.subplots(1, 2, figsize=(9, 3.5), sharex=True, layout="constrained")
for bend in (relu, sigmoid, tanh, gelu):
    values.plot(line.data, bend(line).data, label=bend.__name__)
    slopes.plot(line.data, slope(bend, line).data, label=bend.__name__)
values.set(xlabel="x", ylabel="value", ylim=(-1.2, 2.2))
slopes.set(xlabel="x", ylabel="slope (by nudging)")
slopes.legend();

# %% [markdown]
# ## Scores become probabilities
#
# A network that chooses among ten digits ends with ten scores. To speak of probability they must be
# positive and add up to 1: take $e$ to the power of each and divide by the sum. That is *softmax*, and
# unlike a bend it looks at many numbers at once. Sigmoid was the softmax of the two scores $x$ and 0.
#
# Predict: which of these rows give the same probabilities?

# %%
for scores in ([1.0, 2.0, 4.0], [2.0, 3.0, 5.0], [2.0, 4.0, 8.0]):
    powers = np.exp(scores)
    print(scores, (powers / powers.sum()).round(4))

# %% [markdown]
# Adding one number to all scores changes nothing; doubling them does. So the cure from sigmoid works here: take
# something away before `exp`. Which number, if no power may be above 0 and at least one must be 0?
# And each row of a batch is a question of its own: one with scores near 1000 must not disturb its neighbour.
#
# **Task.** Write `softmax` along any axis.
#
# <details><summary>Hint 1</summary>Which score of each slice has the largest power? Take that one away
# from every score of its slice.</details>
# <details><summary>Hint 2</summary><code>x.max(axis)</code> has one axis fewer than <code>x</code>. What keeps it
# in line for the subtraction?</details>
# <details><summary>Hint 3</summary>The same goes for the sum. Let the axis be what the caller says, in both
# places.</details>
# <details><summary>Hint 4</summary><code>powers = (x - x.max(axis, keepdims=True)).exp()</code></details>

# %% nbgrader={"grade": false, "grade_id": "activations-softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def softmax(x, axis=-1):
    """Turn scores into probabilities along `axis`.

    x        Tensor of scores, shape (..., classes, ...); -inf stands for "impossible"
    axis     where the classes are; an int, or a tuple of ints when a slice spans several axes
    returns  a new Tensor of the same shape; each slice along `axis` is >= 0 and sums to 1

    Correct at +-1000, for each slice by itself. A slice of nothing but -inf has no answer: nan.

    >>> softmax(Tensor([[1000.0, 1000.0], [0.0, -1000.0]]))
    Tensor([[0.5, 0.5],
            [1. , 0. ]])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 4.1.
    """
    ### BEGIN SOLUTION
    powers = (x - x.max(axis, keepdims=True)).exp()
    return powers / powers.sum(axis, keepdims=True)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-softmax", "locked": true, "points": 10, "schema_version": 3, "solution": false, "task": false}
def test_softmax_gives_probabilities_along_any_axis():
    given = np.random.default_rng(5).normal(size=(2, 3, 4)) * 3
    for axis in (-1, 0, 1, 2, -2, (0, 2)):
        powers = np.exp(given)
        wanted = powers / powers.sum(axis=axis, keepdims=True)
        try:
            out = softmax(Tensor(given), axis)
        except ValueError as error:
            assert False, f"softmax of shape (2, 3, 4) along axis {axis}: {error}. Keep the axes of maximum and sum."
        assert out.shape == (2, 3, 4), f"softmax keeps the shape (2, 3, 4), yours is {out.shape}"
        sums = out.data.sum(axis=axis)
        assert np.allclose(sums, 1, rtol=1e-12), (
            f"along axis {axis} probabilities should add up to 1, yours add up to {sums.ravel()[:4]}")
        assert np.allclose(out.data, wanted, rtol=1e-12, atol=0), (
            f"softmax along axis {axis} should be\n{wanted}, yours is\n{out.data}")
    found = softmax(Tensor(given)).data.sum(axis=-1)
    assert np.allclose(found, 1, rtol=1e-12), f"without being told, softmax takes the last axis; sums there are {found}"


def test_softmax_of_hand_made_scores():
    for scores, wanted in [([0.0, math.log(3.0)], [0.25, 0.75]), ([[7.0]], [[1.0]]), ([[2.0], [5.0]], [[1.0], [1.0]]),
                           ([1, 1, 1, 1], [0.25] * 4), ([0.0, -math.inf, 0.0], [0.5, 0.0, 0.5])]:
        out = softmax(Tensor(scores))
        assert out.shape == np.shape(wanted), f"softmax of {scores} has shape {np.shape(wanted)}, yours is {out.shape}"
        assert np.allclose(out.data, wanted, rtol=1e-6, atol=0), f"softmax of {scores} is {wanted}, yours is {out.data}"
        assert out.dtype.name == "float32", f"softmax of {scores} should be float32, yours is {out.dtype}"


def test_softmax_survives_huge_scores():
    for scores, wanted in [([1000.0, 1000.0], [0.5, 0.5]), ([-1000.0, -1000.0], [0.5, 0.5]),
                           ([-1000.0, 0.0, 1000.0], [0.0, 0.0, 1.0]),
                           ([-10000.0, -10001.0], [0.7310586, 0.2689414])]:
        found = softmax(Tensor(scores)).data
        assert not np.isnan(found).any(), (
            f"softmax of {scores} should be {wanted}, yours is {found}: every power became 0 or infinite. "
            "Take away the largest score first, also when it is negative.")
        assert np.allclose(found, wanted, rtol=1e-6, atol=0), f"softmax of {scores} is {wanted}, yours is {found}"


def test_each_slice_of_softmax_has_its_own_largest_score():
    x = Tensor([[0.0, 0.0, -1.0], [1000.0, 1000.0, 999.0], [-1000.0, -1000.0, -1001.0]])
    row = np.array([0.4223188, 0.4223188, 0.1553624])  # 1, 1 and 1/e, over their sum
    found = softmax(x).data
    assert np.allclose(found, [row] * 3, rtol=1e-6, atol=0), (
        f"rows [0, 0, -1], [1000, 1000, 999] and [-1000, -1000, -1001] all give {row}, yours give\n{found}\n"
        "(take the largest score of each row, not of the whole batch)")
    found = softmax(x.T, axis=0).data
    assert np.allclose(found, np.array([row] * 3).T, rtol=1e-6, atol=0), (
        f"the same scores as columns, with axis=0, should give {row} in each column, yours give\n{found}")


def test_softmax_is_noted_and_leaves_its_input_alone():
    x = Tensor([[-2.0, 0.5, 3.0], [1.0, 4.0, 2.0]], requires_grad=True)
    out = softmax(x, axis=0)
    assert out.requires_grad, "x wants a gradient and softmax lost it: compute with x, not with x.data"
    numbers = np.array([[-1.0, 0.25, 2.0], [1.5, 5.0, 2.5]], "float32")
    wanted = np.exp(numbers) / np.exp(numbers).sum(axis=0)
    again = replayed(out, x, numbers)
    assert np.allclose(again, wanted, rtol=1e-5, atol=0), (
        f"for {numbers.tolist()} your noted steps give\n{again}, not\n{wanted}: some step used .data")
    assert np.array_equal(x.data, [[-2.0, 0.5, 3.0], [1.0, 4.0, 2.0]]), f"softmax changed its input to {x.data}"


test_softmax_gives_probabilities_along_any_axis()
test_softmax_of_hand_made_scores()
test_softmax_survives_huge_scores()
test_each_slice_of_softmax_has_its_own_largest_score()
test_softmax_is_noted_and_leaves_its_input_alone()

# %% nbgrader={"grade": true, "grade_id": "check-softmax-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_softmax_of_other_scores():
    given = np.random.default_rng(25).normal(size=(3, 2, 1, 5)) * 20
    for axis in (0, 1, 2, 3, -3, (1, 3), (-1, 0), (0, 1, 2, 3)):
        for shift in (0, 1000, -1000):
            powers = np.exp(given - given.max(axis, keepdims=True))
            mine = Tensor(given + shift)
            out, wanted = softmax(mine, axis=axis), powers / powers.sum(axis, keepdims=True)
            assert out.shape == given.shape and out.dtype.name == "float64", (
                f"softmax along {axis} should be float64 of shape (3, 2, 1, 5), got {out.dtype} of {out.shape}")
            assert np.allclose(out.data, wanted, rtol=1e-9, atol=0), (
                f"softmax along {axis} of scores near {shift} should be {wanted}, got {out.data}")
            assert np.array_equal(mine.data, given + shift), f"softmax along {axis} changed its input"
    far = np.array([1000.0, -1000.0, 0.0]).reshape(3, 1, 1, 1)  # a different one for each slice along (1, 2, 3)
    powers = np.exp(given)
    found, wanted = softmax(Tensor(given + far), (1, 2, 3)).data, powers / powers.sum((1, 2, 3), keepdims=True)
    assert np.allclose(found, wanted, rtol=1e-9, atol=0), f"slices near 1000, -1000 and 0 give {wanted}, got {found}"
    inf = math.inf
    rows = [[-inf, -inf, -inf], [-inf, 3.0, -inf], [1000.0, -inf, 1000.0], [-1000.0, -999.0, -inf]]
    found = softmax(Tensor(rows)).data
    assert np.isnan(found[0]).all(), f"softmax of three -inf has no answer but nan, got {found[0]}"
    wanted = [[0, 1, 0], [0.5, 0, 0.5], [0.26894142, 0.7310586, 0]]
    assert np.allclose(found[1:], wanted, rtol=1e-5, atol=0), (
        f"softmax of {rows[1:]} should be {wanted}, got {found[1:]}")
    found = softmax(Tensor([[0, 3], [1000, -1000]]), 0)
    assert found.dtype.name == "float32" and np.array_equal(found.data, [[0, 1], [1, 0]]), (
        f"softmax of whole numbers [[0, 3], [1000, -1000]] along 0 is [[0, 1], [1, 0]], got {found.data}")
    found = softmax(Tensor(np.zeros((0, 4), "float32")))
    assert found.shape == (0, 4), f"softmax of no rows of 4 has shape (0, 4), got {found.shape}"
    x = Tensor(given, requires_grad=True)
    again = replayed(softmax(x, (1, -1)), x, given / 10)
    wanted = np.exp(given / 10) / np.exp(given / 10).sum((1, -1), keepdims=True)
    assert np.allclose(again, wanted, rtol=1e-9), f"noted steps along (1, -1) should give {wanted}, got {again}"


test_softmax_of_other_scores()
### END HIDDEN TESTS

# %% [markdown]
# ## Logarithms of probabilities
#
# How wrong was a prediction? The next lessons measure it by the logarithm of the probability given to the right
# answer. Predict the two logarithms below. The true second one is -1000, a number float32 holds without effort.

# %%
with np.errstate(divide="ignore"):
    print(softmax(Tensor([0.0, -1000.0])).log())

# %% [markdown]
# The probability was rounded to 0 on the way, and a learner that is told "infinitely wrong" gets no direction
# to improve in. Yet the logarithm of $e^{x_i} / \sum_j e^{x_j}$ is simple. Work it out on
# paper before you go on: which `exp` and which `log` undo each other?
#
# **Task.** Write `log_softmax`, safe from overflow like its sister.
#
# <details><summary>Hint 1</summary>The logarithm of a fraction is a difference. What is left of the upper
# half?</details>
# <details><summary>Hint 2</summary>The lower half keeps its <code>exp</code>, sum and <code>log</code>. Which shift
# makes it safe, and does the shift belong to the upper half too?</details>
# <details><summary>Hint 3</summary>Shift first and give the result a name; then both halves use it.</details>
# <details><summary>Hint 4</summary><code>shifted.exp().sum(axis, keepdims=True).log()</code> is the lower half.
# It is never below 0. Why?</details>

# %% nbgrader={"grade": false, "grade_id": "activations-log-softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def log_softmax(x, axis=-1):
    """The natural logarithm of `softmax(x, axis)`, without taking the logarithm of a rounded probability.

    x        Tensor of scores, shape (..., classes, ...); -inf stands for "impossible"
    axis     where the classes are; an int, or a tuple of ints when a slice spans several axes
    returns  a new Tensor of the same shape, all numbers <= 0

    >>> log_softmax(Tensor([0.0, -1000.0]))
    Tensor([    0., -1000.])

    Source: Blanchard, Higham, Higham, Accurately computing the log-sum-exp and softmax functions (2021).
    """
    ### BEGIN SOLUTION
    shifted = x - x.max(axis, keepdims=True)
    return shifted - shifted.exp().sum(axis, keepdims=True).log()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-log-softmax", "locked": true, "points": 8, "schema_version": 3, "solution": false, "task": false}
def test_log_softmax_is_the_logarithm_of_softmax_along_any_axis():
    given = np.random.default_rng(6).normal(size=(2, 3, 4)) * 3
    for axis in (-1, 0, 1, 2, -2, (0, 2)):
        wanted = given - np.log(np.exp(given).sum(axis=axis, keepdims=True))
        try:
            out = log_softmax(Tensor(given), axis)
        except ValueError as error:
            assert False, (
                f"log_softmax of shape (2, 3, 4) along axis {axis}: {error}. Keep the axes of maximum and sum.")
        assert out.shape == (2, 3, 4), f"log_softmax keeps the shape (2, 3, 4), yours is {out.shape}"
        assert np.allclose(out.data, wanted, rtol=1e-11, atol=1e-14), (
            f"log_softmax along axis {axis} should be\n{wanted}, yours is\n{out.data}")
    found = np.exp(log_softmax(Tensor(given)).data).sum(axis=-1)
    assert np.allclose(found, 1, rtol=1e-12), (
        f"without being told, log_softmax takes the last axis; exp of the results adds up to {found} there")


def test_log_softmax_of_hand_made_scores():
    for scores, wanted in [([0.0, math.log(3.0)], [math.log(0.25), math.log(0.75)]), ([[7.0]], [[0.0]]),
                           ([1, 1, 1, 1], [-math.log(4)] * 4),
                           ([0.0, -math.inf, 0.0], [-math.log(2), -math.inf, -math.log(2)])]:
        out = log_softmax(Tensor(scores))
        assert out.shape == np.shape(wanted), (
            f"log_softmax of {scores} has shape {np.shape(wanted)}, yours is {out.shape}")
        assert np.allclose(out.data, wanted, rtol=1e-6, atol=0), (
            f"log_softmax of {scores} is {wanted}, yours is {out.data}")
        assert out.dtype.name == "float32", f"log_softmax of {scores} should be float32, yours is {out.dtype}"


def test_log_softmax_keeps_the_digits_of_tiny_probabilities():
    third = -math.log(3)
    scores = [[0.0, -1000.0, -2000.0], [1000.0, 1000.0, 1000.0], [-1000.0, -1000.0, -1000.0], [-90.0, 60.0, -110.0]]
    wanted = [[0, -1000, -2000], [third] * 3, [third] * 3, [-150, 0, -170]]
    for axis, given, right in ((1, scores, np.array(wanted)), (0, np.transpose(scores), np.transpose(wanted))):
        found = log_softmax(Tensor(np.array(given, "float32")), axis).data
        assert np.isfinite(found).all(), (
            f"log_softmax along axis {axis} should be\n{right}, yours is\n{found}: a probability was rounded to 0 "
            "before its logarithm, or exp overflowed. Shift by each slice's largest score, and take the logarithm of "
            "the sum only.")
        assert np.allclose(found, right, rtol=1e-6, atol=1e-4), (
            f"log_softmax along axis {axis} should be\n{right}, yours is\n{found}")


def test_log_softmax_is_noted_and_leaves_its_input_alone():
    x = Tensor([[-2.0, 0.5, 3.0], [1.0, 4.0, 2.0]], requires_grad=True)
    out = log_softmax(x, axis=0)
    assert out.requires_grad, "x wants a gradient and log_softmax lost it: compute with x, not with x.data"
    numbers = np.array([[-1.0, 0.25, 2.0], [1.5, 5.0, 2.5]], "float32")
    wanted = numbers - np.log(np.exp(numbers).sum(axis=0))
    again = replayed(out, x, numbers)
    assert np.allclose(again, wanted, rtol=1e-5, atol=1e-6), (
        f"for {numbers.tolist()} your noted steps give\n{again}, not\n{wanted}: some step used .data")
    assert np.array_equal(x.data, [[-2.0, 0.5, 3.0], [1.0, 4.0, 2.0]]), f"log_softmax changed its input to {x.data}"


test_log_softmax_is_the_logarithm_of_softmax_along_any_axis()
test_log_softmax_of_hand_made_scores()
test_log_softmax_keeps_the_digits_of_tiny_probabilities()
test_log_softmax_is_noted_and_leaves_its_input_alone()

# %% nbgrader={"grade": true, "grade_id": "check-log-softmax-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_log_softmax_of_other_scores():
    given = np.random.default_rng(26).normal(size=(3, 2, 1, 5)) * 20
    for axis in (0, 1, 2, 3, -3, (1, 3), (-1, 0), (0, 1, 2, 3)):
        for shift in (0, 1000, -1000):
            shifted = given - given.max(axis, keepdims=True)
            mine = Tensor(given + shift)
            out, wanted = log_softmax(mine, axis=axis), shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))
            assert out.shape == given.shape and out.dtype.name == "float64", (
                f"log_softmax along {axis} should be float64 of shape (3, 2, 1, 5), got {out.dtype} of {out.shape}")
            assert np.allclose(out.data, wanted, rtol=1e-9, atol=1e-11), (
                f"log_softmax along {axis} of scores near {shift} should be {wanted}, got {out.data}")
            assert np.array_equal(mine.data, given + shift), f"log_softmax along {axis} changed its input"
    far = np.array([1000.0, -1000.0, 0.0]).reshape(3, 1, 1, 1)  # a different one for each slice along (1, 2, 3)
    found = log_softmax(Tensor(given + far), (1, 2, 3)).data
    wanted = given - np.log(np.exp(given).sum((1, 2, 3), keepdims=True))
    assert np.allclose(found, wanted, rtol=1e-9), f"slices near 1000, -1000 and 0 give {wanted}, got {found}"
    inf = math.inf
    rows = [[-inf, 3.0, -inf], [1000.0, -inf, 1000.0], [-5000.0, -4000.0, -inf]]
    found = log_softmax(Tensor(rows)).data
    wanted = [[-inf, 0, -inf], [-math.log(2), -inf, -math.log(2)], [-1000, 0, -inf]]
    assert np.allclose(found, wanted, rtol=1e-6, atol=1e-4), f"log_softmax of {rows} should be {wanted}, got {found}"
    found = log_softmax(Tensor([[0, 300], [200, -100]]), 0)
    assert found.dtype.name == "float32" and np.allclose(found.data, [[-200, 0], [0, -400]], rtol=1e-6, atol=1e-6), (
        f"log_softmax of whole numbers [[0, 300], [200, -100]] along 0 is [[-200, 0], [0, -400]], got {found.data}")
    found = log_softmax(Tensor(np.zeros((0, 4), "float32")))
    assert found.shape == (0, 4), f"log_softmax of no rows of 4 has shape (0, 4), got {found.shape}"
    x = Tensor(given, requires_grad=True)
    again = replayed(log_softmax(x, (1, -1)), x, given / 10)
    wanted = given / 10 - np.log(np.exp(given / 10).sum((1, -1), keepdims=True))
    assert np.allclose(again, wanted, rtol=1e-9), f"noted steps along (1, -1) should give {wanted}, got {again}"


test_log_softmax_of_other_scores()
### END HIDDEN TESTS

# %% [markdown]
# ## Objects that stand between layers
#
# The next chapter strings layers up, and asks each for its parameters, the numbers to be learned. A bend has
# none, but must be able to say so. These classes are given; each only calls your function of the same name.
# They follow PyTorch, which says `dim` where we say `axis`.

# %%
#| export
class Activation:
    """A function of a Tensor as an object. A subclass has `forward(x)`; its attributes are its settings."""

    def __call__(self, x):
        return self.forward(x)

    def parameters(self):
        """The Tensors that training changes: none."""
        return []

    def __repr__(self):
        settings = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__}({settings})"


class ReLU(Activation):
    """max(0, x), place by place.

    >>> ReLU()(Tensor([-2.0, 3.0]))
    Tensor([0., 3.])
    """

    def forward(self, x): return relu(x)


class Sigmoid(Activation):
    """1 / (1 + exp(-x)), place by place: between 0 and 1."""

    def forward(self, x): return sigmoid(x)


class Tanh(Activation):
    """The hyperbolic tangent, place by place: between -1 and 1."""

    def forward(self, x): return tanh(x)


class GELU(Activation):
    """x times the probability (by the tanh form) that a standard normal number is below x, place by place."""

    def forward(self, x): return gelu(x)

# %%
#| export
class Softmax(Activation):
    """Scores along `axis` turned into probabilities.

    >>> Softmax(axis=0)
    Softmax(axis=0)
    """

    def __init__(self, axis=-1):
        self.axis = axis

    def forward(self, x): return softmax(x, self.axis)


class LogSoftmax(Activation):
    """The logarithms of the probabilities that `Softmax` gives."""

    def __init__(self, axis=-1):
        self.axis = axis

    def forward(self, x): return log_softmax(x, self.axis)

# %% [markdown]
# A first taste: 200 inputs go through thirty random layers of 64 units, each followed by a bend. Predict
# after which bend the 200 results still differ from each other.

# %%
random = np.random.default_rng(7)
weights = [Tensor(random.normal(size=(64, 64)) / 8) for _ in range(30)]
inputs = Tensor(random.normal(size=(200, 64)))
for bend in (ReLU(), Sigmoid(), Tanh(), GELU()):
    x = inputs
    for w in weights:
        x = bend(x @ w)
    print(f"{str(bend):10} mean {float(x.mean()):9.1e}, spread over the inputs {float(x.std(axis=0).mean()):.1e}")

# %% [markdown]
# After thirty sigmoids all inputs look the same: each layer divided their differences by about four, down to
# the rounding error. Relu and gelu let them shrink too, tanh keeps a tenth. Other weights change the
# picture, and which weights suit which bend is where the next chapter begins.

# %% [markdown]
# ## Look back
#
# 1. Your `tanh` and `x.tanh()` differ in the last digits. Print both for 1e-4 and 1e-6 in float32. Which
#    step of yours loses the digits, and why does `sigmoid` not suffer at -20?
# 2. `softmax(x, axis=-1)` and `softmax(x, axis=0)` of a square table have the same shape, and both look like
#    probabilities. How would you notice in a finished program that the axis is wrong?
# 3. Could one hidden unit with another bend answer XOR? Try the sine, or $s^2$, of the sum. What, then,
#    is so good about relu?
