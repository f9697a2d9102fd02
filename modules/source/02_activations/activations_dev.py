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
#     terms: []
#     title: Activations
# ---

# %% [markdown]
# # 02. Activations
#
# A layer of a network multiplies by weights and adds a bias. Put ten such layers in a row: what
# can they do that one cannot? Nothing at all, and the first section proves it. This chapter
# asks what must stand between layers, and what makes a good choice.
#
# **You need** 01 (Tensor). **You write** nine functions of one to three lines, among them
# `relu`, `gelu` and `softmax`, and the weights of a network that answers a question no straight
# line can.

# %%
#| default_exp core.activations
#| export
import math

import numpy as np

from tinytorch.core.tensor import Tensor

# %% [markdown]
# ## Two maps are one
#
# A linear layer turns a row $x$ into $xW + b$. Two in a row give $(xW_1 + b_1)W_2 + b_2$.
# Multiply out on paper. Predict: if $x$ has 4 numbers, the first layer makes 2 of them and the
# second makes 3, which shapes have the single $W$ and $b$ that do the same?

# %% [markdown]
# **Task.** Write `two_in_one`, the one layer that equals two.

# %% exercise="two-in-one"
#| export
def two_in_one(w1, b1, w2, b2):
    """The weights and bias of one linear layer that does what two in a row do.

    w1, b1   Tensors of shapes (inputs, hidden) and (hidden,): the first layer, x @ w1 + b1
    w2, b2   Tensors of shapes (hidden, outputs) and (outputs,): the second, which gets the
             first's result
    returns  w, b of shapes (inputs, outputs) and (outputs,)

    >>> two_in_one(Tensor([[2.0]]), Tensor([1.0]), Tensor([[3.0]]), Tensor([5.0]))
    (Tensor([[6.]]), Tensor([8.]))

    Source: Strang, Introduction to Linear Algebra, section 8.1, "linear transformation".
    """
    ### BEGIN SOLUTION
    return w1 @ w2, b1 @ w2 + b2
    ### END SOLUTION

# %% checks="two-in-one"
check("two-in-one")

# %% [markdown]
# Nothing stops you from using it again and again. Twenty layers, 8 numbers wide, and the one
# layer that they are:

# %%
random = np.random.default_rng(0)
layers = [(Tensor(random.normal(size=(8, 8)) / 3), Tensor(random.normal(size=8)))
          for _ in range(20)]
x = Tensor(random.normal(size=(5, 8)))
deep, (w, b) = x, layers[0]
for each in layers:
    deep = deep @ each[0] + each[1]
for each in layers[1:]:
    w, b = two_in_one(w, b, *each)
difference = abs(deep - (x @ w + b)).max()
print(f"{20 * 72} numbers in 20 layers, {w.size + b.size} in one; "
      f"largest difference {difference:.0e}")

# %% [markdown]
# ## A question no line answers
#
# *Exclusive or*, XOR: one of the two, but not both. Four points in the plane, two answers. Ask
# least squares for the best $xw + b$. Predict its answers at the four corners before you run.

# %%
corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], "float32")
answers = np.array([0, 1, 1, 0], "float32")
columns = np.column_stack([corners, np.ones(4)])  # the last column carries the bias
best = np.linalg.lstsq(columns, answers, rcond=None)[0]
print("weights and bias", best.round(6) + 0)
print("answers", (columns @ best).round(6))

# %% [markdown]
# It shrugs: one half, everywhere. Perhaps a half is the wrong thing to aim at, and some line
# still has the ones on one side and the zeros on the other? Draw a hundred thousand lines at
# random and count how many corners each gets right.

# %%
lines = np.random.default_rng(1).normal(size=(3, 100_000))
right = ((columns @ lines > 0) == (answers[:, None] > 0)).sum(axis=0)  # one count per line
for count in range(5):
    print(f"{count} of 4 right: {(right == count).sum():6,} lines")

# %% [markdown]
# Never four. For every linear $f$, $f(0,0) + f(1,1) = f(0,1) + f(1,0)$: both sides add up to
# the same $w_1 + w_2 + 2b$. XOR wants both numbers on the left low and both on the right high.
# More layers do not help, since two are one. Something must bend.

# %% [markdown]
# ## The simplest bend
#
# Keep what is positive, replace the rest by zero: $\mathrm{relu}(x) = \max(0, x)$, the
# *rectified linear unit*. Lesson 01 has it ready made, `x.relu()`. From here on you write such
# functions yourself, out of smaller operations, and see what each piece is for.
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
# The functions of this chapter must also keep their notes. The checks look at that with the
# tool below: it repeats the noted steps with other numbers for `x`, and what comes out must be
# what your function makes of those numbers. You need not follow it now.

# %% [markdown]
# **Task.** Write `relu` for every tensor, infinities and all.

# %% exercise="relu"
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

# %% checks="relu"
check("relu")

# %% [markdown]
# ## XOR, by hand
#
# Two layers again, with your bend between them: `relu(x @ w1 + b1) @ w2 + b2`. Two hidden units
# are enough. Before you calculate: as $x_1 + x_2$ goes 0, 1, 2, the answer should go 0, 1, 0.
# Draw that, and draw a relu next to it.
#
# **Task.** Choose the weights in `xor_weights`. There are many right answers.

# %% exercise="xor"
#| export
def xor_weights():
    """Weights with which `relu(x @ w1 + b1) @ w2 + b2` is 1 when exactly one of two inputs is
    1, else 0.

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

# %% checks="xor"
check("xor")

# %% [markdown]
# What did the bend do? Look at the corners as the second layer sees them: in hidden
# coordinates, where a straight line is all it has. Without the bend, the same weights are one
# map again.

# %%
w1, b1, w2, b2 = xor_weights()
hidden = relu(Tensor(corners) @ w1 + b1)
w, b = two_in_one(w1, b1, w2, b2)
for corner, unit, bent, straight in zip(corners, hidden, hidden @ w2 + b2,
                                        Tensor(corners) @ w + b):
    print(corner, "hidden", unit.data,
          f"answer {float(bent):g}, without relu {float(straight):g}")

# %%
import matplotlib.pyplot as plt

figure, (before, after) = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
for axes, places, name in ((before, corners, "x"), (after, hidden.data, "hidden unit ")):
    axes.scatter(places[:, 0], places[:, 1], c=answers, s=120, cmap="coolwarm",
                 edgecolors="black")
    axes.set(xlabel=f"{name}1", ylabel=f"{name}2")
    axes.margins(0.3)
first = np.array(after.get_xlim())
# where the answer is one half
after.plot(first, (0.5 - b2.data - w2.data[0] * first) / w2.data[1], "k--")
before.set_title("no line separates the colours")
after.set_title("one line does");
# alt: Left: the four inputs of exclusive or at the corners of a square, two colours at opposite
# corners. Right: the same four in the plane of the two hidden units, where one dashed line
# parts the colours.

# %% [markdown]
# ## Slopes by nudging
#
# You chose nine numbers by hand. Real networks have millions, and find them by following
# slopes: how much does the result change per unit of change in the input? Where a bend is flat,
# nothing passes, and nothing is learned. So a bend is judged by its slopes.
#
# Until the autograd lesson, measure: nudge the input a little up, a little down, and compare.
# Predict which nudge gives the best slope of $x^3$ at 2, and what goes wrong at both ends:

# %%
for nudge in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
    found = []
    for dtype in ("float32", "float64"):
        up, down = [Tensor(np.array([2 + n], dtype)) for n in (nudge, -nudge)]
        found.append(float(up**3 - down**3) / (2 * nudge))
    print(f"nudge {nudge:.0e}: float32 {found[0]:9.6f}, float64 {found[1]:.10f}")

# %% [markdown]
# **Task.** Write `slope`, for any function that works place by place. A nudge to one side only
# would be off by an amount proportional to the nudge; to both sides, by its square.

# %% exercise="slope"
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

# %% checks="slope"
check("slope")

# %% [markdown]
# ## A soft switch
#
# The oldest bend answers "how likely?": $\mathrm{sigmoid}(x) = 1 / (1 + e^{-x})$ squeezes any
# number to between 0 and 1. As written it has a fault. Predict what the two lines print;
# float32 ends near $3 \cdot 10^{38}$.

# %%
with np.errstate(over="ignore"):
    print((-Tensor([-3.0, -90.0, -1000.0])).exp())
    print(1 / (1 + (-Tensor([-3.0, -90.0, -1000.0])).exp()))

# %% [markdown]
# The infinity is divided away, and the result looks innocent. But infinity stands in the notes,
# and when slopes are computed from those, infinity times zero gives `nan`.
#
# A cure that will serve you three times: a fraction stays the same when above and below are
# multiplied by one number. Start from $\frac{e^x}{e^x + e^0}$, multiply by $e^{-m}$, and choose
# $m$ so that no power is ever above 0.

# %% [markdown]
# **Task.** Write `sigmoid` that way, from `exp` and what you had for `relu`, without calling
# `x.sigmoid()`.

# %% exercise="sigmoid"
#| export
def sigmoid(x):
    """1 / (1 + exp(-x)): each number of `x` squeezed to between 0 and 1.

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for whole numbers

    Correct at +-1000, with no infinity on the way, and small results keep their digits:
    sigmoid(-20) is 2.06e-9, not 0.

    >>> sigmoid(Tensor([-1000.0, 0.0, 1000.0]))
    Tensor([0. , 0.5, 1. ])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 3.10.
    """
    ### BEGIN SOLUTION
    m = relu(x)
    up = (x - m).exp()
    return up / (up + (-m).exp())
    ### END SOLUTION

# %% checks="sigmoid"
check("sigmoid")

# %% [markdown]
# Now hold `slope` to it. At its best place, sigmoid lets a quarter of a change through. Predict
# the slope at 10, and what is left of a change after ten sigmoids in a row, each at its best
# place:

# %%
for place in (0, 2, 5, 10):
    print(f"slope at {place:2}: sigmoid {float(slope(sigmoid, place)):.7f}, "
          f"relu {float(slope(relu, place)):.1f}")
print(f"ten in a row: {float(slope(sigmoid, 0)) ** 10:.1e}")

# %% [markdown]
# Far from 0, sigmoid is *saturated*: a unit at 10 moves twenty thousand times less than its
# input. In a deep network of sigmoids the first layers hear almost nothing of the error at the
# end. That, more than speed, is why relu took over: its slope is 1 for every positive number.
# (At 0 it has a corner, and a nudge to both sides sees half of each.)

# %% [markdown]
# ## Centred at zero
#
# Sigmoid has a second flaw: its outputs are all positive, so the next layer's inputs all push
# the same way. $\tanh(x) = \frac{e^x - e^{-x}}{e^x + e^{-x}}$ has the same form and runs from
# -1 to 1. Predict where the two curves must be stretched, and by how much, to lie on each
# other.

# %%
print("sigmoid", sigmoid(Tensor([-4.0, -2.0, 0.0, 2.0, 4.0])))
print("tanh   ", Tensor([-2.0, -1.0, 0.0, 1.0, 2.0]).tanh())

# %% [markdown]
# **Task.** Write `tanh` with your `sigmoid`, again without the ready-made `x.tanh()`.

# %% exercise="tanh"
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

# %% checks="tanh"
check("tanh")

# %% [markdown]
# Lesson 01's operations `x.relu()`, `x.sigmoid()` and `x.tanh()` compute the same in one step
# each. Are yours as good? Predict what the number of steps costs:

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
# The numbers agree to about seven decimal places. The price of a step depends on what happens
# inside: one that picks between two cases place by place can be dearer than several that only
# calculate. For `tanh` the ready-made step wins clearly, so it is what the next bend will use.

# %% [markdown]
# ## Units that never wake
#
# Relu has a flaw too: slope 0 on the whole left. One unit out of six gets a badly negative bias
# below; a single oversized training step can do that. Predict the last row, and how training
# could repair it.

# %%
random = np.random.default_rng(4)
rows = Tensor(random.normal(size=(1000, 8)))
sums = (rows @ Tensor(random.normal(size=(8, 6)) / math.sqrt(8))
        + Tensor([0.5, 0.0, -0.5, -1.0, -2.0, -8.0]))
awake, passed = relu(sums).data > 0, slope(relu, sums).mean(axis=0)
for unit in range(6):
    print(f"unit {unit}: awake for {awake[:, unit].mean():6.1%} of 1000 inputs, "
          f"mean slope {passed[unit]:.3f}")

# %% [markdown]
# A unit that is asleep for every input has slope 0 for every input: no step ever moves its
# weights again. It is *dead*. Hence bends that fall off gently on the left.

# %% [markdown]
# ## A smooth bend
#
# GELU multiplies $x$ by the probability that a standard normal number lies below $x$. That
# needs the error function; the original GPT models took a near relative, and it is the one we
# build:
#
# $$\mathrm{gelu}(x) = \frac{x}{2}\left(1 +
# \tanh\left(\sqrt{2/\pi}\,(x + 0.044715\,x^3)\right)\right)$$
#
# Predict before you run: how far apart are the two, at worst? And is gelu ever below 0?

# %%
exact = [x / 2 * (1 + math.erf(x / math.sqrt(2))) for x in np.linspace(-5, 5, 1001)]
near = [x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        for x in np.linspace(-5, 5, 1001)]
print(f"largest difference {np.abs(np.subtract(exact, near)).max():.6f}, "
      f"lowest point {min(near):.4f}")

# %% [markdown]
# **Task.** Write `gelu` for tensors. A network of lesson 15 calls it millions of times, so take
# the ready-made `tanh` method, and `x * x * x` for the cube.

# %% exercise="gelu"
#| export
def gelu(x):
    """The Gaussian error linear unit, tanh form: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715
    x^3))).

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for whole numbers

    >>> gelu(Tensor([-1000.0, 0.0, 1000.0]))
    Tensor([  -0.,    0., 1000.])

    Source: Hendrycks, Gimpel, Gaussian error linear units (2016), section 2. PyTorch:
    approximate="tanh".
    """
    ### BEGIN SOLUTION
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
    return 0.5 * x * (1 + inner.tanh())
    ### END SOLUTION

# %% checks="gelu"
check("gelu")

# %% [markdown]
# All four bends and their slopes, from your own functions. Predict which slopes go above 1, and
# which below 0.

# %%
line = Tensor(np.linspace(-5, 5, 401))
figure, (values, slopes) = plt.subplots(1, 2, figsize=(9, 3.5), sharex=True,
                                        layout="constrained")
for bend in (relu, sigmoid, tanh, gelu):
    values.plot(line.data, bend(line).data, label=bend.__name__)
    slopes.plot(line.data, slope(bend, line).data, label=bend.__name__)
values.set(xlabel="x", ylabel="value", ylim=(-1.2, 2.2))
slopes.set(xlabel="x", ylabel="slope (by nudging)")
slopes.legend();
# alt: Left: relu, sigmoid, tanh and gelu from -5 to 5. Right: their slopes. Sigmoid's is at
# most 0.25, tanh's 1, relu's jumps from 0 to 1, gelu's goes below 0 and above 1.

# %% [markdown]
# ## Scores become probabilities
#
# A network that chooses among ten digits ends with ten scores. To speak of probability they
# must be positive and add up to 1: take $e$ to the power of each and divide by the sum. That is
# *softmax*, and unlike a bend it looks at many numbers at once. Sigmoid was the softmax of the
# two scores $x$ and 0.
#
# Predict: which of these rows give the same probabilities?

# %%
for scores in ([1.0, 2.0, 4.0], [2.0, 3.0, 5.0], [2.0, 4.0, 8.0]):
    powers = np.exp(scores)
    print(scores, (powers / powers.sum()).round(4))

# %% [markdown]
# Adding one number to all scores changes nothing; doubling them does. So the cure from sigmoid
# works here: take something away before `exp`. Which number, if no power may be above 0 and at
# least one must be 0? And each row of a batch is a question of its own: one with scores near
# 1000 must not disturb its neighbour.
#
# **Task.** Write `softmax` along any axis.

# %% exercise="softmax"
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

# %% checks="softmax"
check("softmax")

# %% [markdown]
# ## Logarithms of probabilities
#
# How wrong was a prediction? The next lessons measure it by the logarithm of the probability
# given to the right answer. Predict the two logarithms below. The true second one is -1000, a
# number float32 holds without effort.

# %%
with np.errstate(divide="ignore"):
    print(softmax(Tensor([0.0, -1000.0])).log())

# %% [markdown]
# The probability was rounded to 0 on the way, and a learner that is told "infinitely wrong"
# gets no direction to improve in. Yet the logarithm of $e^{x_i} / \sum_j e^{x_j}$ is simple.
# Work it out on paper before you go on: which `exp` and which `log` undo each other?
#
# **Task.** Write `log_softmax`, safe from overflow like its sister.

# %% exercise="log-softmax"
#| export
def log_softmax(x, axis=-1):
    """The natural logarithm of `softmax(x, axis)`, without taking the logarithm of a rounded
    probability.

    x        Tensor of scores, shape (..., classes, ...); -inf stands for "impossible"
    axis     where the classes are; an int, or a tuple of ints when a slice spans several axes
    returns  a new Tensor of the same shape, all numbers <= 0

    >>> log_softmax(Tensor([0.0, -1000.0]))
    Tensor([    0., -1000.])

    Source: Blanchard, Higham, Higham, Accurately computing the log-sum-exp and softmax
    functions (2021).
    """
    ### BEGIN SOLUTION
    shifted = x - x.max(axis, keepdims=True)
    return shifted - shifted.exp().sum(axis, keepdims=True).log()
    ### END SOLUTION

# %% checks="log-softmax"
check("log-softmax")

# %% [markdown]
# ## Objects that stand between layers
#
# The next chapter strings layers up, and asks each for its parameters, the numbers to be
# learned. A bend has none, but must be able to say so. These classes are given; each only calls
# your function of the same name. They follow PyTorch, which says `dim` where we say `axis`.

# %%
#| export
class Activation:
    """A function of a Tensor as an object. A subclass has `forward(x)`; its attributes are its
    settings."""

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
    """x times the probability (by the tanh form) that a standard normal number is below x,
    place by place."""

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
# A first taste: 200 inputs go through thirty random layers of 64 units, each followed by a
# bend. Predict after which bend the 200 results still differ from each other.

# %%
random = np.random.default_rng(7)
weights = [Tensor(random.normal(size=(64, 64)) / 8) for _ in range(30)]
inputs = Tensor(random.normal(size=(200, 64)))
for bend in (ReLU(), Sigmoid(), Tanh(), GELU()):
    x = inputs
    for w in weights:
        x = bend(x @ w)
    print(f"{str(bend):10} mean {float(x.mean()):9.1e}, "
          f"spread over the inputs {float(x.std(axis=0).mean()):.1e}")

# %% [markdown]
# After thirty sigmoids all inputs look the same: each layer divided their differences by about
# four, down to the rounding error. Relu and gelu let them shrink too, tanh keeps a tenth. Other
# weights change the picture, and which weights suit which bend is where the next chapter
# begins.

# %% [markdown]
# ## Look back
#
# 1. Your `tanh` and `x.tanh()` differ in the last digits. Print both for 1e-4 and 1e-6 in
#    float32. Which step of yours loses the digits, and why does `sigmoid` not suffer at -20?
# 2. `softmax(x, axis=-1)` and `softmax(x, axis=0)` of a square table have the same shape, and
#    both look like probabilities. How would you notice in a finished program that the axis is
#    wrong?
# 3. Could one hidden unit with another bend answer XOR? Try the sine, or $s^2$, of the sum.
#    What, then, is so good about relu?
