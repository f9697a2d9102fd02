# %% [markdown]
# # 02. Activations
#
# A *layer* computes $xW + b$: it multiplies its input by a matrix of *weights* and adds a
# *bias*. A *network* is several layers in a row. *Training* changes weights and biases a
# little, step by step, along derivatives of the errors (lessons 05 to 08).
#
# Can a network separate the squares from the circles below? A single layer cannot, and neither
# can a hundred layers in a row, unless something nonlinear stands between them. The network in
# the picture has two layers, and between them a function that you write in this chapter.
# Nothing is trained here: the first layer is random, and *least squares*, the method that fits
# a line to points, finds the second.

# %% tags=["payoff"]
#| default_exp core.activations
#| export
import math

import numpy as np

from tinytorch.core.tensor import Tensor, where
from tinytorch.support.missing_names import NumPyNames, numpy_names

# %% tags=["payoff"]
from tinytorch.pictures.activations import draw_decision_boundary

corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], "float32")
answers = np.array([0, 1, 1, 0], "float32")
random = np.random.default_rng(0)
weights, bias = random.normal(size=(2, 16)), random.normal(size=16)


def hidden_layer(x):
    return (Tensor(x) @ weights + bias).relu().data


best = np.linalg.lstsq(hidden_layer(corners), answers, rcond=None)[0]
draw_decision_boundary(lambda x: hidden_layer(x) @ best, corners, answers,
                       "a network with ReLU");
# alt: The points (0, 0) and (1, 1) are circles, (0, 1) and (1, 0) squares. Two bent lines
# enclose a band that holds both squares and no circle.

# %% [markdown]
# The black lines are the network's decision boundary. A **decision boundary** is the set of
# inputs at which a *classifier*, a function that chooses one of several answers, changes from
# one answer to another. To bend it, a network needs a nonlinear function between its layers.
#
# **You need** 01 (Tensor). **You write** `relu`, `sigmoid`, `tanh`, `gelu`, `softmax` and
# `log_softmax`, the module classes `ReLU` and `Softmax`, and by hand the weights of a network
# that separates the four points.

# %% [markdown]
# ## Affine maps
#
# An **affine map** is a function of the form $xW + b$: a matrix product plus a constant row.
# It is what a layer without a nonlinear function computes. Two in a row compute
# $(xW_1 + b_1)W_2 + b_2$. Multiply that out on paper.
#
# Predict: $x$ has 4 numbers, the first layer has 2 outputs, the second has 3. A single layer
# with weights $W$ and bias $b$ computes the same. What are the shapes of $W$ and $b$?

# %% [markdown]
# **Task.** Write `collapse_linear`: the one layer that equals two.

# %% exercise="collapse-linear"
#| export
def collapse_linear(w1, b1, w2, b2):
    """The weights and the bias of one affine map that equals two in a row.

    w1, b1   Tensors of shapes (inputs, hidden) and (hidden,): the first map, x @ w1 + b1
    w2, b2   Tensors of shapes (hidden, outputs) and (outputs,): the second map, applied to the
             first one's result
    returns  (w, b), Tensors of shapes (inputs, outputs) and (outputs,), computed with Tensor
             operations, so that they are recorded

    >>> collapse_linear(Tensor([[2.0]]), Tensor([1.0]), Tensor([[3.0]]), Tensor([5.0]))
    (Tensor([[6.]]), Tensor([8.]))

    Source: Strang, Introduction to Linear Algebra, section 8.1, "linear transformation".
    """
    ### BEGIN SOLUTION
    w = w1 @ w2
    b = b1 @ w2 + b2
    return w, b
    ### END SOLUTION

# %% checks="collapse-linear"
check("collapse-linear")

# %% [markdown]
# The shapes are (4, 3) and (3,). Applied again and again, `collapse_linear` turns any number of
# layers into one. Here are twenty layers of width 8, and the single layer that equals them:

# %%
random = np.random.default_rng(0)
layers = [(Tensor(random.normal(size=(8, 8)) / 3), Tensor(random.normal(size=8)))
          for _ in range(20)]
x = Tensor(random.normal(size=(5, 8)))
deep, (w, b) = x, layers[0]
for layer in layers:
    deep = deep @ layer[0] + layer[1]
for layer in layers[1:]:
    w, b = collapse_linear(w, b, *layer)
difference = abs(deep - (x @ w + b)).max()
print(f"{20 * 72} parameters in 20 layers, {w.size + b.size} in one; "
      f"largest difference {difference:.0e}")

# %% [markdown]
# ## XOR is not linearly separable
#
# The four points of the first picture are *exclusive or*, XOR: the answer is 1 when exactly one
# of the two inputs is 1. Least squares finds the best affine map $xw + b$ for it. Predict its
# four outputs before you run.

# %% tags=["answer", "explained"]
columns = np.column_stack([corners, np.ones(4)])  # the last column is for the bias
best = np.linalg.lstsq(columns, answers, rcond=None)[0]
print("weights and bias", best.round(6) + 0)
print("outputs", (columns @ best).round(6))

# %% [markdown]
# One half for every input.
#
# Perhaps least squares asks the wrong thing, and some straight line still has both ones on one
# side and both zeros on the other? Choose a hundred thousand lines at random and count how many
# of the four points each one classifies correctly.

# %%
lines = np.random.default_rng(1).normal(size=(3, 100_000))
right = ((columns @ lines > 0) == (answers[:, None] > 0)).sum(axis=0)  # one count per line
for count in range(5):
    print(f"{count} of 4 right: {(right == count).sum():6,} lines")

# %% [markdown]
# No line classifies all four, and none ever can. For every affine $f$ with one output,
# $f(0,0) + f(1,1) = f(0,1) + f(1,0)$, because both sides equal $w_1 + w_2 + 2b$. XOR asks for
# two low numbers on the left and two high ones on the right. More layers do not help: two
# affine maps are one.

# %% [markdown]
# ## ReLU
#
# So a network needs something that is not affine. A **nonlinearity** is any function that is
# not an affine map. An **activation function** is a nonlinearity that a network applies
# elementwise to the outputs of a layer. **ReLU**, the *rectified linear unit*, is the most
# common activation function and the simplest: it keeps positive inputs and replaces all others
# by 0, $\mathrm{relu}(x) = \max(0, x)$.

# %%
from tinytorch.pictures.drawing import panel

line = np.linspace(-3, 3, 7)
figure, axes = panel("ReLU is two straight pieces with a kink at 0", "input x", "relu(x)")
axes.plot(line, Tensor(line).relu().data, "o-")
axes.annotate("derivative 0", (-2.4, 0.3))
axes.annotate("derivative 1", (0.0, 1.9))
axes.annotate("kink", (0.3, -0.05));
# alt: A curve that is 0 up to the input 0, labelled "derivative 0", and from there rises along
# the diagonal, labelled "derivative 1". Where the pieces meet stands "kink".

# %% [markdown]
# Lesson 01 has `x.relu()` ready made. In this chapter you write such functions yourself, out of
# smaller operations, to see what each part is for. Several spellings come to mind. Predict what
# each prints for the infinities and for `nan`:

# %% tags=["answer", "explained"]
x = Tensor([-math.inf, -2.0, 0.0, 3.0, math.inf, math.nan])
with np.errstate(invalid="ignore"):
    for spelling in ("x * (x > 0)", "(x + abs(x)) / 2", "x.maximum(0)", "x.clip(0)",
                     "where(x > 0, x, 0)"):
        print(f"{spelling:18}", eval(spelling).data)

# %% [markdown]
# The first two make `nan` out of an infinity: $\infty \cdot 0$ and $\infty - \infty$ are not
# defined. The last one makes 0 out of `nan`, and so hides that something went wrong before.

# %% [markdown]
# `maximum` and `clip` are right here, but they differ in something that no output shows.
# Training needs the *derivative* of every operation: how much the output changes when the input
# changes a little. Left of the kink it is 0, right of it 1. *At* the kink it does not exist,
# and each operation has a convention. In this library, as in PyTorch, at $x = 0$:
#
# | spelling | derivative used at 0 | why |
# | --- | --- | --- |
# | `x.maximum(0)` | 1/2 | equal numbers share the derivative |
# | `x.clip(0)` | 1 | the limits count as inside |
# | `where(condition, a, b)` | that of `a` or of `b` | only the chosen branch counts |
# | `torch.relu(x)`, `x.relu()` | 0 | a unit that outputs 0 counts as switched off |

# %% [markdown]
# **Task.** Write `relu` with `where`. Choose the condition such that 0 takes the constant
# branch and `nan` stays `nan`.

# %% exercise="relu"
#| export
def relu(x):
    """max(0, x), elementwise.

    x        Tensor of any shape and dtype; infinities are allowed, nan stays nan
    returns  a new Tensor of the same shape and dtype, computed with Tensor operations, so that
             it is recorded; its derivative at 0 is 0, as in PyTorch

    >>> relu(Tensor([-2.0, 0.0, 3.0]))
    Tensor([0., 0., 3.])

    Source: Nair, Hinton, Rectified linear units improve restricted Boltzmann machines (2010).
    """
    ### BEGIN SOLUTION
    return where(x <= 0, 0, x)
    ### END SOLUTION

# %% checks="relu"
check("relu")

# %% [markdown]
# ## A hidden layer computes XOR
#
# Two layers again, with `relu` between them: `relu(x @ w1 + b1) @ w2 + b2`. The first is called
# the *hidden layer*, and each of its outputs is a *hidden unit*. Two hidden units are enough.
# Before you calculate: when $x_1 + x_2$ is 0, 1, 2, the output should be 0, 1, 0. Draw those
# three points, and the graph of a ReLU beside them.
#
# **Task.** Choose the weights in `xor_weights`. There are many right answers.

# %% exercise="xor"
#| export
def xor_weights():
    """Weights with which `relu(x @ w1 + b1) @ w2 + b2` is 1 when exactly one of two inputs is
    1, else 0.

    returns  (w1, b1, w2, b2), Tensors of shapes (2, 2), (2,), (2, 1) and (1,)

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

# %%
w1, b1, w2, b2 = xor_weights()
draw_decision_boundary(lambda x: relu(Tensor(x) @ w1 + b1) @ w2 + b2, corners, answers,
                       "your network, seen from its inputs");
# alt: The four points of XOR again; the decision boundary leaves both squares on one side and
# both circles on the other.

# %% [markdown]
# How does it do that, although its last layer is affine and can only draw a straight line? The
# last layer does not see the inputs. It sees the two hidden units. Plot the four points in
# those coordinates:

# %%
hidden = relu(Tensor(corners) @ w1 + b1)
draw_decision_boundary(lambda x: Tensor(x) @ w2 + b2, hidden.data, answers,
                       "the same, seen from the hidden layer",
                       ("hidden unit 1", "hidden unit 2"));
# alt: The four points in the plane of the two hidden units, where one straight line has the
# squares on one side and the circles on the other.

# %% [markdown]
# There one straight line is enough: `relu` moved the points. (With many choices of weights,
# both squares even fall on one point.) Without `relu`, the same weights are a single affine map
# again, and wrong:

# %%
w, b = collapse_linear(w1, b1, w2, b2)
for corner, output, affine in zip(corners, relu(Tensor(corners) @ w1 + b1) @ w2 + b2,
                                  Tensor(corners) @ w + b):
    print(corner, f"with relu {float(output):g}, without {float(affine):g}")

# %% [markdown]
# ## Numerical derivatives
#
# You chose nine parameters by hand. Real networks have millions, and training finds them from
# derivatives. Where the derivative of an activation function is 0, nothing is learned; so we
# compare activation functions by their derivatives, too.
#
# Lesson 06 computes derivatives exactly. Until then we estimate them with the central
# difference of lesson 00, $(f(x+h) - f(x-h)) / (2h)$. Predict which $h$ estimates the
# derivative of $x^3$ at 2 best (it is 12), and what goes wrong at both ends of the table:

# %% tags=["answer", "explained"]
for h in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
    estimates = []
    for dtype in ("float32", "float64"):
        up, down = [Tensor(np.array([2 + step], dtype)) for step in (h, -h)]
        estimates.append(float(up**3 - down**3) / (2 * h))
    print(f"h = {h:.0e}: float32 {estimates[0]:9.6f}, float64 {estimates[1]:.10f}")

# %% [markdown]
# A large $h$ measures a chord instead of the tangent: the error is $h^2$ here. A small $h$
# subtracts two nearly equal numbers, of which only the last, rounded digits differ. `float32`
# has about 7 digits, so its errors begin at larger $h$. The function below is given: it takes
# the central differences of an elementwise function at all elements of a tensor at once, in
# `float64`.

# %%
#| export
def numerical_derivative(f, x, h=1e-4):
    """The derivative of `f` at each element of `x`, estimated by a central difference.

    f        an elementwise function from a Tensor to a Tensor
    x        Tensor, array or number; not changed
    h        distance to each side, in the unit of x
    returns  Tensor of the shape of x, float64: (f(x + h) - f(x - h)) / (2h)

    At a kink it averages the derivatives of both sides.

    >>> numerical_derivative(abs, Tensor([-2.0, 0.0, 3.0]))
    Tensor([-1.,  0.,  1.], dtype=float64)

    Source: Press et al., Numerical Recipes (2007), section 5.7, "symmetrized" difference.
    """
    x = Tensor(np.asarray(x, "float64"))  # a number alone would become float32
    return (f(x + h) - f(x - h)) / (2 * h)

# %%
for place in (-1.0, 0.0, 1.0):
    print(f"relu at {place:4}: {float(numerical_derivative(relu, place)):.1f}")

# %% [markdown]
# At 0 the central difference gives 0.5, the mean of both sides. It cannot know the convention.
# The derivative of your `relu` at 0, as lesson 06 will compute it from the recorded operations,
# is 0. (The check of `relu` already looked at that.)

# %% [markdown]
# ## Sigmoid
#
# An old activation function, $\mathrm{sigmoid}(x) = 1 / (1 + e^{-x})$, maps every number
# into the interval from 0 to 1, so its result can be read as a probability. Computed as written
# it has a fault. Predict what the two lines print; the largest `float32` number is about
# $3 \cdot 10^{38}$.

# %% tags=["answer"]
with np.errstate(over="ignore"):
    print((-Tensor([-3.0, -90.0, -1000.0])).exp())
    print(1 / (1 + (-Tensor([-3.0, -90.0, -1000.0])).exp()))

# %% [markdown]
# **Overflow** means that a result is larger than the largest number of its dtype and becomes
# `inf`. In the second line the `inf` is divided away, and the result looks innocent. But it is
# still among the recorded numbers, and lesson 06 computes derivatives from those: infinity
# times zero is `nan`. **Numerical stability** means that rounding and overflow do not spoil the
# result of a computation for any input that can occur.
#
# To make sigmoid stable, write it as $\frac{e^x}{e^x + e^0}$ and multiply numerator and
# denominator by $e^{-m}$. The value stays the same. Choose $m$ so that no exponent is above 0.

# %% [markdown]
# **Task.** Write `sigmoid` that way, from `exp` and `relu`, without calling `x.sigmoid()`.

# %% exercise="sigmoid"
#| export
def sigmoid(x):
    """1 / (1 + exp(-x)), elementwise: between 0 and 1.

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for integers. Computed with Tensor
             operations, so that it is recorded. None of them overflows, and together they have
             the right derivative everywhere: 0.25 at 0

    Correct at +-1000, and small results keep their digits: sigmoid(-20) is 2.06e-9, not 0.

    >>> sigmoid(Tensor([-1000.0, 0.0, 1000.0]))
    Tensor([0. , 0.5, 1. ])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 3.10.
    """
    ### BEGIN SOLUTION
    m = relu(x)
    numerator = (x - m).exp()
    return numerator / (numerator + (-m).exp())
    ### END SOLUTION

# %% checks="sigmoid"
check("sigmoid")

# %% [markdown]
# ## Saturation and vanishing gradients
#
# The derivative of sigmoid is largest at 0, where it is 1/4. Predict its derivative at 10, and
# the derivative of ten sigmoids in a row, if each had its input at that best place. (The
# derivatives of functions in a row are multiplied: that is the chain rule.)

# %% tags=["answer"]
for place in (0.5, 2, 5, 10):
    print(f"derivative at {place:3}: "
          f"sigmoid {float(numerical_derivative(sigmoid, place)):.7f}, "
          f"relu {float(numerical_derivative(relu, place)):.1f}")
print(f"ten sigmoids in a row: {float(numerical_derivative(sigmoid, 0)) ** 10:.1e}")

# %% [markdown]
# **Saturation** means that an activation function is nearly flat at its input, so that its
# derivative is close to 0. At 10, sigmoid is saturated: its output changes twenty thousand
# times less than its input.
#
# A **vanishing gradient** is a derivative that has become tiny because it is a product of many
# factors below 1, one for each layer. The first layers of a deep network with sigmoids
# therefore hardly learn. This, more than speed, is why ReLU replaced sigmoid: for positive
# inputs its derivative is 1.

# %% [markdown]
# ## Tanh
#
# Sigmoid has a second flaw: its outputs are all positive. The *hyperbolic tangent*,
# $\tanh(x) = \frac{e^x - e^{-x}}{e^x + e^{-x}}$, has the same shape but runs from -1 to 1, with
# its centre at 0.

# %%
print("sigmoid", sigmoid(Tensor([-4.0, -2.0, 0.0, 2.0, 4.0])))
print("tanh   ", Tensor([-2.0, -1.0, 0.0, 1.0, 2.0]).tanh())

# %% [markdown]
# Predict from the two rows: by which factors must sigmoid be stretched along each axis, and how
# far moved, to become tanh?
#
# **Task.** Write `tanh` with your `sigmoid`, again without the ready-made `x.tanh()`.

# %% exercise="tanh"
#| export
def tanh(x):
    """The hyperbolic tangent, elementwise: between -1 and 1.

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for integers. Computed with Tensor
             operations, so that it is recorded, none of which overflows

    Correct at +-1000.

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
# Lesson 01's `x.relu()`, `x.sigmoid()` and `x.tanh()` compute the same in one operation each.
# Are yours as good? Predict what several operations cost instead of one:

# %% tags=["answer", "explained"]
import time

many = Tensor(np.random.default_rng(2).normal(size=200_000).astype("float32"))


def seconds(compute):
    """The best time of five."""
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
# The numbers agree to about seven decimal places. The ready-made operations are several times
# faster: they pass over the array once, not once per operation. The next function uses `tanh`.

# %% [markdown]
# ## Dead units
#
# ReLU has a flaw of its own: its derivative is 0 for all negative inputs. In the layer below,
# each unit has a lower bias than the one before; one oversized training step can cause that.
# Predict for how many of 1000 examples the last unit, with bias -8, is active.

# %% tags=["answer"]
random = np.random.default_rng(4)
examples = Tensor(random.normal(size=(1000, 8)))
inputs = (examples @ Tensor(random.normal(size=(8, 6)) / math.sqrt(8))
          + Tensor([0.5, 0.0, -0.5, -1.0, -2.0, -8.0]))
active = (relu(inputs).data > 0).mean(axis=0)
mean_derivative = numerical_derivative(relu, inputs).mean(axis=0)
for unit in range(6):
    print(f"unit {unit}: active for {active[unit]:6.1%} of 1000 examples, "
          f"mean derivative {mean_derivative[unit]:.3f}")

# %% [markdown]
# A **dead unit** is a ReLU whose input is negative for every example, so that its derivative is
# always 0 and training never changes its weights again. Training cannot repair it. An
# activation function that approaches 0 gradually on the left keeps a small derivative for
# inputs a little below 0, so fewer units die. (At -8, the bias of the last unit, it is 0 too.)

# %% [markdown]
# ## GELU
#
# The *Gaussian error linear unit* multiplies $x$ by the probability that a standard normal
# number is below $x$. That needs the *error function* (`math.erf`). The first GPT models used
# an approximation with tanh, and so do we:
#
# $$\mathrm{gelu}(x) = \frac{x}{2}\left(1 +
# \tanh\left(\sqrt{2/\pi}\,(x + 0.044715\,x^3)\right)\right)$$
#
# Predict before you run: how far apart are the exact and the approximate gelu at most? And is
# gelu ever below 0?

# %% tags=["answer"]
places = np.linspace(-5, 5, 1001)
exact = [x / 2 * (1 + math.erf(x / math.sqrt(2))) for x in places]
approximate = [x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
               for x in places]
print(f"largest difference {np.abs(np.subtract(exact, approximate)).max():.6f}, "
      f"minimum {min(approximate):.4f}")

# %% [markdown]
# **Task.** Write `gelu` for tensors. Language models call it millions of times, so use
# the ready-made `tanh` method, and `x * x * x` for the cube: it is faster than a power.

# %% exercise="gelu"
#| export
def gelu(x):
    """The Gaussian error linear unit, tanh approximation, elementwise:
    0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for integers. Computed with Tensor
             operations, so that it is recorded

    >>> gelu(Tensor([-1000.0, 0.0, 1000.0]))
    Tensor([  -0.,    0., 1000.])

    Source: Hendrycks, Gimpel, Gaussian error linear units (2016), section 2. In PyTorch:
    torch.nn.functional.gelu(x, approximate="tanh").
    """
    ### BEGIN SOLUTION
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
    return 0.5 * x * (1 + inner.tanh())
    ### END SOLUTION

# %% checks="gelu"
check("gelu")

# %% [markdown]
# Here are all four activation functions, and below them their derivatives, from your own
# functions. Predict first: which derivatives rise above 1, which fall below 0, and which come
# close to 0 on *both* sides?

# %% tags=["answer"]
line = Tensor(np.linspace(-5, 5, 401))
curves = {relu: ("C0", "-"), sigmoid: ("C1", "--"), tanh: ("black", "-."), gelu: ("C3", ":")}
figure, axes = panel("activation functions", "x", "value", xlim=(-5, 5), ylim=(-1.3, 3.4))
for f, (colour, style) in curves.items():
    axes.plot(line.data, f(line).data, style, color=colour)
for name, place in (("relu, gelu", (0.2, 2.6)), ("sigmoid", (-4.8, 0.2)),
                    ("tanh", (-4.8, -0.85)), ("gelu", (-1.9, -0.45))):
    axes.text(*place, name)
# alt: relu and gelu leave the picture at the upper right; sigmoid rises from 0 to 1 and tanh
# from -1 to 1, both flat at both ends. gelu dips a little below 0 left of 0.

# %%
figure, axes = panel("their derivatives", "x", "derivative", xlim=(-5, 5))
for f, (colour, style) in curves.items():
    axes.plot(line.data, numerical_derivative(f, line).data, style, color=colour)
for name, place in (("relu", (3.6, 0.89)), ("sigmoid", (2.3, 0.12)),
                    ("tanh", (-2.2, 0.6)), ("gelu", (2.2, 1.1))):
    axes.text(*place, name)
# alt: The derivative of sigmoid is at most 0.25, that of tanh at most 1; both are near 0 on
# both sides. That of relu jumps from 0 to 1 at 0. That of gelu falls below 0, rises above 1.

# %% [markdown]
# ## Softmax
#
# A network that chooses one of ten digits ends with ten numbers. **Logits** are the scores of
# the classes before they are turned into probabilities: any real numbers, larger for a more
# likely class. Probabilities must be positive and sum to 1. **Softmax** turns
# logits into probabilities: it takes $e$ to the power of each and divides by the sum,
# $p_i = e^{z_i} / \sum_j e^{z_j}$. Unlike the functions above it is not elementwise: every
# probability depends on all logits.

# %%
from tinytorch.pictures.activations import draw_softmax, draw_temperatures

draw_softmax([1.0, 2.0, 4.0])
# alt: Three rows of three bars. Logits 1, 2, 4; their exponentials 2.72, 7.39, 54.6; their
# probabilities 0.042, 0.114, 0.844.

# %% [markdown]
# Predict: which of these rows have the same probabilities?

# %% tags=["answer", "explained"]
for logits in ([1.0, 2.0, 4.0], [2.0, 3.0, 5.0], [2.0, 4.0, 8.0], [0.5, 1.0, 2.0]):
    powers = np.exp(logits)
    print(logits, (powers / powers.sum()).round(3))

# %% [markdown]
# Adding one number to all logits changes nothing; multiplying them does, as the section on
# temperature shows.
#
# The exponential of a large logit overflows, in `float32` from 88.73 on:

# %%
draw_softmax([89.0, 90.0, 92.0])
# alt: Logits 89, 90, 92. All three exponentials are inf and all three probabilities nan; both
# rows are hatched.

# %% [markdown]
# So subtract a constant before `exp`, as in sigmoid. Which one, if no exponent may be above 0
# and at least one must be 0? Remember that each row of a batch is a separate distribution:
# logits near 1000 in one row must not disturb the row below.
#
# **Task.** Write `softmax` along any axis. The line above it, `@numpy_names`, is given and does
# not change it: to those who write `softmax(x, dim=1)`, as in PyTorch, its error names `axis`.

# %% exercise="softmax"
#| export
@numpy_names
def softmax(x, axis=-1):
    """Turn logits into probabilities along `axis`.

    x        Tensor of logits, shape (..., classes, ...); -inf means "impossible"
    axis     the axis of the classes: an int, or a tuple of ints when one distribution spans
             several axes
    returns  a new Tensor of the same shape; each distribution along `axis` is >= 0 and
             sums to 1.
             Computed with Tensor operations, so that it is recorded

    Correct at +-1000, for each distribution by itself. One that is all -inf gives nan.

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

# %%
draw_softmax([89.0, 90.0, 92.0], shift=True)
# alt: Logits 89, 90, 92; minus the largest -3, -2, 0; their exponentials 0.0498, 0.135, 1;
# the probabilities 0.042, 0.114, 0.844, as for the logits 1, 2, 4.

# %% [markdown]
# ## Temperature
#
# The **temperature** $T$ is a positive number by which all logits are divided before softmax,
# $\mathrm{softmax}(z / T)$. Language models use it when they choose the next word. Predict for
# the logits 1, 2, 4: what happens to the probabilities when $T$ is very large, and when it is
# close to 0?

# %% tags=["answer", "explained"]
logits = Tensor([1.0, 2.0, 4.0])
for temperature in (100.0, 10.0, 1.0, 0.1, 0.001):
    print(f"T = {temperature:7}: {softmax(logits / temperature).data.round(3)}")

# %% [markdown]
# A high temperature approaches equal probabilities; a low one gives nearly all probability to
# the largest logit. Hence the name: softmax is a soft version of *argmax*. In the last row the
# temperature 0.001 makes the largest logit 4000, whose exponential would overflow; your
# `softmax` subtracts it first.

# %%
draw_temperatures([1.0, 2.0, 4.0], [2.0, 1.0, 0.5])
# alt: Probabilities of three classes. Temperature 2: 0.14, 0.231, 0.629. Temperature 1: 0.042,
# 0.114, 0.844. Temperature 0.5: 0.00243, 0.0179, 0.98.

# %% [markdown]
# ## Log-softmax
#
# How wrong was a prediction? Lesson 04 measures it by the logarithm of the probability that the
# network gave to the correct class. Predict the two logarithms below. The true second one is
# -1000, an easy number for `float32`.

# %% tags=["answer"]
with np.errstate(divide="ignore"):
    print(softmax(Tensor([0.0, -1000.0])).log())

# %% [markdown]
# The probability was rounded to 0 before the logarithm (*underflow*), and an infinite loss has
# no useful derivative. Yet the logarithm of $e^{z_i} / \sum_j e^{z_j}$ is simple. Work it out
# on paper: which `exp` and which `log` cancel?
#
# **Task.** Write `log_softmax`, as stable as `softmax`.

# %% exercise="log-softmax"
#| export
@numpy_names
def log_softmax(x, axis=-1):
    """The natural logarithm of `softmax(x, axis)`, computed from the logits, not from rounded
    probabilities.

    x        Tensor of logits, shape (..., classes, ...); -inf means "impossible"
    axis     the axis of the classes: an int, or a tuple of ints when one distribution spans
             several axes
    returns  a new Tensor of the same shape, all elements <= 0. Computed with Tensor
             operations, so that it is recorded

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
# ## Activation modules
#
# The next chapter puts layers in a row, and asks each for its *parameters*, the tensors that
# training changes. An activation function has none, but it must be able to say so. Therefore
# each gets a small class, a *module*, as in PyTorch: an object that is called like a function.
# The base class is given. Its `__repr__` prints the attributes of the object as settings.

# %%
#| export
class Activation(NumPyNames):
    """An activation function as an object. A subclass defines `forward(x)`; its attributes are
    its settings."""

    def __call__(self, x):
        return self.forward(x)

    def parameters(self):
        """The Tensors that training changes: none."""
        return []

    def __repr__(self):
        settings = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__}({settings})"

# %% [markdown]
# **Task.** Write the classes `ReLU`, which has no settings, and `Softmax`, which has one. For
# `ReLU` you may call your `relu`, or the ready-made `x.relu()`: the same numbers, as you saw,
# but several times faster.

# %% exercise="modules"
#| export
class ReLU(Activation):
    """`relu` as a module: ReLU()(x) equals relu(x), also in its derivative.

    >>> ReLU()(Tensor([-2.0, 3.0]))
    Tensor([0., 3.])

    Source: torch.nn.ReLU.
    """

    def forward(self, x):
        ### BEGIN SOLUTION
        return x.relu()
        ### END SOLUTION


class Softmax(Activation):
    """`softmax` along a fixed axis as a module: Softmax(axis)(x) is softmax(x, axis).

    axis   kept as the attribute `axis`, its only one; by default the last axis

    >>> Softmax(axis=0)
    Softmax(axis=0)
    >>> Softmax(axis=0)(Tensor([[1.0, 5.0], [1.0, 5.0]]))
    Tensor([[0.5, 0.5],
            [0.5, 0.5]])

    Source: torch.nn.Softmax, which calls the axis `dim`.
    """

    def __init__(self, axis=-1):
        ### BEGIN SOLUTION
        self.axis = axis
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        return softmax(x, self.axis)
        ### END SOLUTION

# %% checks="modules"
check("modules")

# %% [markdown]
# The other four are the same again, and given.

# %%
#| export
class Sigmoid(Activation):
    """`sigmoid` as a module: elementwise, between 0 and 1."""

    def forward(self, x): return sigmoid(x)


class Tanh(Activation):
    """`tanh` as a module: elementwise, between -1 and 1."""

    def forward(self, x): return tanh(x)


class GELU(Activation):
    """`gelu` as a module: elementwise, smooth."""

    def forward(self, x): return gelu(x)


class LogSoftmax(Activation):
    """`log_softmax` along a fixed axis as a module: the logarithms of what `Softmax` gives."""

    def __init__(self, axis=-1):
        self.axis = axis

    def forward(self, x): return log_softmax(x, self.axis)

# %% [markdown]
# As a first use, 200 inputs pass through thirty layers of 64 units with random weights, each
# followed by an activation function. The table shows how much the 200 outputs differ, relative
# to their size. Predict: after which of the four are they nearly the same for every input?

# %% tags=["answer", "explained"]
random = np.random.default_rng(7)
layers = [Tensor(random.normal(size=(64, 64)) / 8) for _ in range(30)]
inputs = Tensor(random.normal(size=(200, 64)))
for activation in (ReLU(), Sigmoid(), Tanh(), GELU()):
    x = inputs
    for w in layers:
        x = activation(x @ w)
    size, spread = float(abs(x).mean()), float(x.std(axis=0).mean())
    print(f"{str(activation):10} mean size {size:.1e}, "
          f"standard deviation over the inputs {spread / size:.1e} of it")

# %% [markdown]
# After thirty sigmoids all inputs look the same: each layer divides their differences by about
# four, down to the rounding error. ReLU and GELU let them shrink too; tanh keeps a tenth. With
# other weights the result is another one. Which weights suit which activation function is where
# the next chapter begins.

# %% [markdown]
# ## Look back
#
# 1. Your `tanh` and `x.tanh()` differ in the last digits. Print both for 1e-4 and 1e-6 in
#    `float32`. Which operation of yours loses the digits, and why does `sigmoid` lose none at
#    -20?
# 2. `softmax(x, axis=-1)` and `softmax(x, axis=0)` of a square matrix have the same shape, and
#    both look like probabilities. How would you notice in a finished program that the axis is
#    wrong?
# 3. Could one hidden unit with another activation function compute XOR? Try $\sin(s)$ and $s^2$
#    of the weighted sum $s$. What, then, are the advantages of ReLU?
#
# **In PyTorch**: `torch.nn.functional.relu`, `sigmoid`, `tanh`, `gelu(approximate="tanh")`,
# `softmax(x, dim=-1)` and `log_softmax(x, dim=-1)`; the modules are `torch.nn.ReLU` and so on.
# `axis` is called `dim` there and has no default. The derivative of its `relu` at 0 is 0.
