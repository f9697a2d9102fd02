# %% [markdown]
# # 03. Activations
#
# A *layer* computes $xW + b$: it multiplies its input by a matrix of *weights* and adds a
# *bias*. A *network* is several layers in a row. *Training* changes the weights and biases in
# many small steps, so that the error becomes smaller (lessons 01 and 06 to 08).
#
# Can a network separate the squares from the circles below? A single layer cannot, and neither
# can a hundred layers in a row, unless there is a nonlinear function between them. The network
# in the picture has two layers, and between them a function that you write in this chapter.

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
# caption: With ReLU between its layers, a network separates what no straight line can.
# alt: The points (0, 0) and (1, 1) are circles, (0, 1) and (1, 0) squares. Two bent lines
# enclose a band that holds both squares and no circle.

# %% [markdown]
# The network was not trained: its first layer is random, and its second layer was computed by
# *least squares*, the method that fits a line to points. The black lines are its decision
# boundary. A *classifier* is a function that chooses one of several answers. A **decision
# boundary** is the set of inputs at which a classifier changes from one answer to another.
# Unless there is a nonlinear function between its layers, a network cannot have a bent
# boundary.
#
# **You need** 02 (Tensor). **You write** `relu`, `sigmoid`, `tanh`, `gelu`, `softmax` and
# `log_softmax`, and the module classes `ReLU` and `Softmax`. You also choose, by hand, the
# weights of a network that separates the four points of the picture.

# %% [markdown]
# ## Affine maps
#
# What can a network compute without a nonlinear function? An **affine map** is a function of
# the form $xW + b$: a matrix product plus a constant row. A layer without a nonlinear function
# computes an affine map. Two layers in a row compute $(xW_1 + b_1)W_2 + b_2$. Multiply this out
# on paper.
#
# Predict: $x$ has 4 numbers, the first layer has 2 outputs, and the second has 3. A single
# layer with weights $W$ and bias $b$ can compute the same function as the two layers in a row.
# What are the shapes of $W$ and $b$?

# %% [markdown]
# In all exercises of this chapter, compute with Tensor operations and not with `x.data`,
# because a Tensor can then *record* how it was computed: the operation and its inputs. Lesson
# 06 computes derivatives from these records, and so do some checks of this chapter.
#
# **Task.** Write `collapse_linear`, which computes the single layer that equals two layers.

# %% Two affine maps in one exercise="collapse-linear"
#| export
def collapse_linear(w1, b1, w2, b2):
    """The weights and the bias of one affine map that equals two affine maps in a row.

    w1, b1   Tensors of shapes (inputs, hidden) and (hidden,): the first map, x @ w1 + b1
    w2, b2   Tensors of shapes (hidden, outputs) and (outputs,): the second map, applied to the
             first one's result
    returns  (w, b), Tensors of shapes (inputs, outputs) and (outputs,), computed with Tensor
             operations

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

# %% tags=["answer"]
w, b = collapse_linear(*(Tensor(np.ones(shape)) for shape in ((4, 2), 2, (2, 3), 3)))
print("W", w.shape, " b", b.shape)

# %% [markdown]
# Applied repeatedly, `collapse_linear` turns any number of layers into one. Here are twenty
# layers of width 8, and the single layer that equals them:

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
# The four points of the first picture represent *exclusive or*, XOR: the answer is 1 when
# exactly one of the two inputs is 1. Least squares finds the affine map $xw + b$ with the
# smallest squared error. Predict its four outputs before you run.

# %% tags=["answer", "explained"]
columns = np.column_stack([corners, np.ones(4)])  # the last column is for the bias
best = np.linalg.lstsq(columns, answers, rcond=None)[0]
print("weights and bias", best.round(6) + 0)
print("outputs", (columns @ best).round(6))

# %% [markdown]
# The output is one half for every input.
#
# Perhaps other weights classify all four points correctly, although their squared error is
# larger. Points are called *linearly separable* if a straight line has all points with one
# answer on one side, and all others on the other side. The code below chooses a hundred
# thousand lines at random and counts how many of the four points each one classifies correctly.

# %%
lines = np.random.default_rng(1).normal(size=(3, 100_000))
right = ((columns @ lines > 0) == (answers[:, None] > 0)).sum(axis=0)  # one count per line
for count in range(5):
    print(f"{count} of 4 right: {(right == count).sum():6,} lines")

# %% [markdown]
# No line classifies all four points correctly, and no line ever can. For every affine $f$ with
# one output, $f(0,0) + f(1,1) = f(0,1) + f(1,0)$, because both sides equal $w_1 + w_2 + 2b$.
# But XOR needs two low numbers on the left side of this equation and two high numbers on the
# right. More layers do not help, because two affine maps in a row are one affine map.

# %% [markdown]
# ## ReLU
#
# So a network also needs functions that are not affine. A **nonlinearity** is any function that
# is not an affine map. An **activation function** is a nonlinearity that a network applies
# elementwise to the outputs of a layer. **ReLU**, the *rectified linear unit*, is the simplest
# and most common activation function. It keeps positive inputs and replaces all others by 0:
# $\mathrm{relu}(x) = \max(0, x)$.

# %%
from tinytorch.pictures.drawing import panel

line = np.linspace(-3, 3, 7)
figure, axes = panel("ReLU is two straight pieces with a kink at 0", "input x", "relu(x)")
axes.plot(line, Tensor(line).relu().data, "o-")
axes.annotate("derivative 0", (-2.4, 0.3))
axes.annotate("derivative 1", (0.0, 1.9))
axes.annotate("kink", (0.3, -0.05));
# alt: A curve that is 0 up to the input 0, labelled "derivative 0", and from there rises along
# the diagonal, labelled "derivative 1". The point where they meet is labelled "kink".

# %% [markdown]
# Tensor already has the method `x.relu()`. In this chapter you write such functions yourself
# from simpler operations. There are several ways to write ReLU. Predict what each prints for
# the infinities and for `nan`:

# %% tags=["answer", "explained"]
x = Tensor([-math.inf, -2.0, 0.0, 3.0, math.inf, math.nan])
with np.errstate(invalid="ignore"):
    for spelling in ("x * (x > 0)", "(x + abs(x)) / 2", "x.maximum(0)", "x.clip(0)",
                     "where(x > 0, x, 0)"):
        print(f"{spelling:18}", eval(spelling).data)

# %% [markdown]
# The first two return `nan` for minus infinity, because $-\infty \cdot 0$ and
# $-\infty + \infty$ are not defined. The last one returns 0 for `nan`, which hides that an
# earlier computation went wrong.

# %% [markdown]
# `maximum` and `clip` are both right here, but their derivatives differ. Training needs the
# *derivative* of every operation: how much the output changes when the input changes a little.
# The derivative of ReLU is 0 left of the kink and 1 right of it. *At* the kink it does not
# exist, so each operation uses a convention. The table shows the conventions of this library at
# $x = 0$; PyTorch uses the same ones:
#
# | spelling | derivative used at 0 | why |
# | --- | --- | --- |
# | `x.maximum(0)` | 1/2 | the two numbers are equal, and each gets half |
# | `x.clip(0)` | 1 | a number equal to the limit is treated as not clipped |
# | `where(condition, a, b)` | the derivative of `a` or of `b` | only the chosen branch counts |
# | `torch.relu(x)`, `x.relu()` | 0 | 0 is treated like a negative number |

# %% [markdown]
# **Task.** Write `relu` with `where`. Choose the condition so that `where` takes the constant
# 0, and not `x`, at the input 0: both are 0, but only the constant has the derivative 0. For
# `nan` it should take `x`, so that `nan` stays `nan`.

# %% ReLU exercise="relu"
#| export
def relu(x):
    """max(0, x), elementwise.

    x        Tensor of any shape and dtype; infinities are allowed, nan stays nan
    returns  a new Tensor of the same shape and dtype, computed with Tensor operations. Its
             derivative at 0 is 0, as in PyTorch

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
# We use two layers again, now with `relu` between them: `relu(x @ w1 + b1) @ w2 + b2`. The
# first layer is called the *hidden layer*, and each of its outputs is a *hidden unit*. Two
# hidden units are enough, because XOR depends only on the sum $s = x_1 + x_2$: the output
# should be 0 if $s$ is 0, 1 if $s$ is 1, and 0 if $s$ is 2. Before you choose weights, draw
# these three outputs over $s$, and next to them the graph of a ReLU.
#
# **Task.** Choose the weights in `xor_weights`. There are many right answers.

# %% Weights that compute XOR exercise="xor"
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
# The last layer is affine, so its boundary is a straight line. It can separate the points all
# the same, because its inputs are not the points but the two hidden units. Here are the four
# points in the coordinates of the hidden units:

# %%
hidden = relu(Tensor(corners) @ w1 + b1)
draw_decision_boundary(lambda x: Tensor(x) @ w2 + b2, hidden.data, answers,
                       "the same, seen from the hidden layer",
                       ("hidden unit 1", "hidden unit 2"));
# caption: In the plane of the hidden units, one straight line is enough.
# alt: The four points in the plane of the two hidden units, where one straight line has the
# squares on one side and the circles on the other.

# %% [markdown]
# There a straight line is enough, because `relu` has moved the points. (With many choices of
# weights, both squares even move to the same point.) Without `relu`, the same weights are a
# single affine map, and give wrong answers:

# %%
w, b = collapse_linear(w1, b1, w2, b2)
for corner, output, affine in zip(corners, relu(Tensor(corners) @ w1 + b1) @ w2 + b2,
                                  Tensor(corners) @ w + b):
    print(corner, f"with relu {float(output):g}, without {float(affine):g}")

# %% [markdown]
# ## Numerical derivatives
#
# You chose nine parameters by hand, while real networks have millions, which training finds
# from derivatives. Because training does not change the weights before an activation function
# whose derivative is 0, we also compare the derivatives of activation functions.
#
# Lesson 06 computes derivatives exactly. Until then we estimate them with the central
# difference of lesson 00, $(f(x+h) - f(x-h)) / (2h)$. The derivative of $x^3$ at 2 is 12. The
# next cell estimates it for seven values of $h$, from 0.1 to $10^{-7}$, in `float32` and in
# `float64`. Predict for each dtype which $h$ gives the best estimate, and what goes wrong with
# the largest and with the smallest $h$:

# %% tags=["answer", "explained"]
for h in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7):
    estimates = []
    for dtype in ("float32", "float64"):
        up, down = [Tensor(np.array([2 + step], dtype)) for step in (h, -h)]
        estimates.append(float(up**3 - down**3) / (2 * h))
    print(f"h = {h:.0e}: float32 {estimates[0]:9.6f}, float64 {estimates[1]:.10f}")

# %% [markdown]
# With a large $h$, the line through the two points differs from the tangent. For $x^3$ the
# error is exactly $h^2$. With a small $h$, two nearly equal numbers are subtracted, and only
# their last, rounded digits differ. `float32` has about 7 digits, so these errors begin at a
# larger $h$ than in `float64`: the best $h$ of the table is $10^{-2}$ in `float32` and
# $10^{-5}$ in `float64`.
#
# The function below is given. It computes the central differences of an elementwise function at
# all elements of a tensor at once, in `float64`.

# %%
#| export
def numerical_derivative(f, x, h=1e-4):
    """The derivative of `f` at each element of `x`, estimated by a central difference.

    f        an elementwise function from a Tensor to a Tensor
    x        Tensor, array or number; not changed
    h        how far to move x to each side
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
# At 0 the central difference is 0.5, the mean of the derivatives on both sides, and not the 0
# of the convention. In lesson 06, however, you compute the derivative of your `relu` from the
# recorded operations, and it is 0 at $x = 0$, as the check of `relu` has tested.

# %% [markdown]
# ## Sigmoid
#
# ReLU is one activation function. We compare it with others. An old activation function is
# $\mathrm{sigmoid}(x) = 1 / (1 + e^{-x})$. It maps every number into the interval from 0 to 1,
# so its result can be used as a probability. But computing this formula directly causes a
# problem. Predict what the two lines print. The largest `float32` number is about $3 \cdot
# 10^{38}$, and $e^{90}$ is about $10^{39}$.

# %% tags=["answer", "explained"]
with np.errstate(over="ignore"):
    print((-Tensor([-3.0, -90.0, -1000.0])).exp())
    print(1 / (1 + (-Tensor([-3.0, -90.0, -1000.0])).exp()))

# %% [markdown]
# The exponentials of 90 and 1000 become `inf`. Because 1 divided by `inf` is 0, the second line
# looks right.
#
# **Overflow** means that a result is larger than the largest number of its dtype and becomes
# `inf`. Even where the result then looks right, its derivative is wrong, because lesson 06
# computes derivatives from the recorded intermediate results. Where $u = 1 + e^{-x}$ is `inf`,
# the derivative of $1 / u$ is 0, the derivative of `exp` is `inf`, and their product is `nan`.
# **Numerical stability** means that rounding and overflow do not spoil the result of a
# computation for any input that can occur.
#
# To make sigmoid stable, write it as $\frac{e^x}{e^x + e^0}$ and multiply numerator and
# denominator by $e^{-m}$, which does not change the value. Choose $m$ so that no exponent is
# above 0.

# %% [markdown]
# **Task.** Write `sigmoid` in this form, with `exp` and `relu`, and without `x.sigmoid()`.

# %% exercise="sigmoid"
#| export
def sigmoid(x):
    """1 / (1 + exp(-x)), elementwise: between 0 and 1.

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for integers. Computed with Tensor
             operations, none of which overflows. The derivative computed from them is right
             everywhere; at 0 it is 0.25

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
# Sigmoid has a disadvantage that shows in deep networks. The derivative of sigmoid is largest
# at 0, where it is 1/4. Predict its derivative at 10. Then predict the derivative of ten
# sigmoids in a row, if each has the largest possible derivative. (By the chain rule, the
# derivatives of functions in a row are multiplied.)

# %% tags=["answer", "explained"]
for place in (0.5, 2, 5, 10):
    print(f"derivative at {place:3}: "
          f"sigmoid {float(numerical_derivative(sigmoid, place)):.7f}, "
          f"relu {float(numerical_derivative(relu, place)):.1f}")
print(f"ten sigmoids in a row: {float(numerical_derivative(sigmoid, 0)) ** 10:.1e}")

# %% [markdown]
# At 10, the output of sigmoid changes twenty thousand times less than its input.
#
# **Saturation** means that an activation function is nearly flat at its input, so that its
# derivative is close to 0.
#
# A **vanishing gradient** is a derivative that has become tiny because it is a product of many
# factors below 1. The derivative for a weight has one such factor for each sigmoid between this
# weight and the loss, so the first layers of a deep network with sigmoids hardly learn. The
# main reason why ReLU replaced sigmoid is that its derivative is 1 for positive inputs,
# although its speed is another.

# %% [markdown]
# ## Tanh
#
# Sigmoid has a second disadvantage: its outputs are all positive. The *hyperbolic tangent*,
# $\tanh(x) = \frac{e^x - e^{-x}}{e^x + e^{-x}}$, has the same shape but goes from -1 to 1, with
# its centre at 0.

# %%
print("sigmoid", sigmoid(Tensor([-4.0, -2.0, 0.0, 2.0, 4.0])))
print("tanh   ", Tensor([-2.0, -1.0, 0.0, 1.0, 2.0]).tanh())

# %% [markdown]
# Compare the two rows, and also their inputs in the code, which differ. Predict: by which
# factor must sigmoid be stretched or compressed along each axis, and how far must it be moved,
# to become tanh?
#
# **Task.** Write `tanh` with your `sigmoid`, and without `x.tanh()`.

# %% The hyperbolic tangent exercise="tanh"
#| export
def tanh(x):
    """The hyperbolic tangent, elementwise: between -1 and 1.

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for integers. Computed with Tensor
             operations, none of which overflows. The derivative computed from them is right
             everywhere; at 0 it is 1

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
# The methods `x.relu()`, `x.sigmoid()` and `x.tanh()` of Tensor compute the same functions in
# one operation each. Your functions need several operations. Predict how many times longer they
# take:

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
# The results agree to about six decimal places. The methods are faster because they go through
# the array once, and your functions once for each of their operations. In `gelu` below, you use
# the method `tanh`.

# %% [markdown]
# ## Dead units
#
# ReLU also has a disadvantage: its derivative is 0 for all negative inputs. In the layer below,
# each unit has a lower bias than the unit before it; the last bias is -8. (A single training
# step that is too large can make a bias so low.) A unit is *active* if its output is above 0.
# Predict for how many of 1000 examples the last unit is active.

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
# A **dead unit** is a ReLU whose input is negative for every example. Its derivative is always
# 0, so training never changes its weights again and cannot repair it. Some activation functions
# approach 0 gradually on the left. Their derivative is not 0 for inputs a little below 0, so a
# unit with such inputs can recover. A unit with inputs near -8, such as the last one, cannot:
# there the derivative of these functions is also nearly 0.

# %% [markdown]
# ## GELU
#
# There is also a smooth relative of ReLU, which BERT and the first GPT models use. The
# *Gaussian error linear unit* approaches 0 gradually on the left. It multiplies $x$ by the
# probability that a standard normal number (a random number from the bell curve with mean 0 and
# standard deviation 1) is below $x$. Computing this exactly needs the *error function*
# (`math.erf`). The first GPT models used an approximation with tanh, and so do we:
#
# $$\mathrm{gelu}(x) = \frac{x}{2}\left(1 +
# \tanh\left(\sqrt{2/\pi}\,(x + 0.044715\,x^3)\right)\right)$$
#
# Predict before you run: what is the largest difference between the exact and the approximate
# gelu? And is gelu ever below 0?

# %% tags=["answer"]
places = np.linspace(-5, 5, 1001)
exact = [x / 2 * (1 + math.erf(x / math.sqrt(2))) for x in places]
approximate = [x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
               for x in places]
print(f"largest difference {np.abs(np.subtract(exact, approximate)).max():.6f}, "
      f"minimum {min(approximate):.4f}")

# %% [markdown]
# **Task.** Write `gelu` for tensors. Language models call it millions of times, so use the
# method `tanh`, and write the cube as `x * x * x`, which is faster than a power.

# %% GELU exercise="gelu"
#| export
def gelu(x):
    """The Gaussian error linear unit, tanh approximation, elementwise:
    0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for integers. Computed with Tensor
             operations

    >>> gelu(Tensor([-1000.0, 0.0, 1000.0]))  # -0. is a negative number, rounded to zero
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
# Here are all four activation functions, computed with your code:

# %%
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

# %% [markdown]
# The next picture shows their derivatives. Predict: which of them rise above 1, which fall
# below 0, and which come close to 0 on *both* sides?

# %% tags=["answer"]
figure, axes = panel("their derivatives", "x", "derivative", xlim=(-5, 5))
for f, (colour, style) in curves.items():
    axes.plot(line.data, numerical_derivative(f, line).data, style, color=colour)
for name, place in (("relu", (3.6, 0.89)), ("sigmoid", (2.3, 0.12)),
                    ("tanh", (-2.2, 0.6)), ("gelu", (2.2, 1.1))):
    axes.text(*place, name)
# caption: Where the derivative is near 0, the weights before it hardly learn.
# alt: Sigmoid's derivative is at most 0.25, tanh's is at most 1; both are near 0 on both
# sides. Relu's derivative jumps from 0 to 1 at 0. Gelu's falls below 0 and rises above 1.

# %% [markdown]
# ## Softmax
#
# The next function is for the output of a network, not for its hidden units. A network that
# recognizes digits ends with ten numbers, one for each possible answer; an answer is called a
# *class*. **Logits** are the scores of the classes before they are turned into probabilities:
# any real numbers, larger for a more likely class. Probabilities must be positive and sum to 1.
# **Softmax** turns logits into probabilities: it computes $e$ to the power of each logit and
# divides by the sum, $p_i = e^{z_i} / \sum_j e^{z_j}$. Unlike the activation functions, softmax
# is not elementwise: every probability depends on all logits.

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
# Adding the same number to all logits does not change the probabilities, while multiplying all
# logits by a number does: the section on temperature returns to this.
#
# The exponential of a large logit overflows. In `float32` this happens for every logit above
# 88.73.

# %%
draw_softmax([89.0, 90.0, 92.0])
# alt: Logits 89, 90, 92. All three exponentials are inf and all three probabilities nan; both
# rows are hatched.

# %% [markdown]
# So subtract a constant before `exp`, as in sigmoid. Which constant do you need, if no exponent
# may be above 0 and at least one must be 0? In a batch, each row gets its own probabilities, so
# each row needs its own constant. (If you subtracted 1000 from logits near 0, because another
# row has logits near 1000, all their exponentials would be 0.)
#
# **Task.** Write `softmax` along any axis. The line `@numpy_names` is given. It only improves
# an error: if you write `softmax(x, dim=1)`, as in PyTorch, the error tells you to write
# `axis`.

# %% exercise="softmax"
#| export
@numpy_names
def softmax(x, axis=-1):
    """Turn logits into probabilities along `axis`.

    x        Tensor of logits, shape (..., classes, ...); -inf means "impossible"
    axis     the axis of the classes: an int, or a tuple of ints if the classes are on several
             axes
    returns  a new Tensor of the same shape, computed with Tensor operations. Its numbers are
             >= 0 and sum to 1 along `axis`

    Correct for logits of +-1000, also if the rows of a batch have logits of very different
    size. If all logits of a row are -inf, the result is nan.

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
# caption: Subtracting the largest logit changes no probability and avoids the overflow.
# alt: Logits 89, 90, 92; minus the largest -3, -2, 0; their exponentials 0.0498, 0.135, 1;
# the probabilities 0.042, 0.114, 0.844, as for the logits 1, 2, 4.

# %% [markdown]
# ## Temperature
#
# Multiplying the logits changed the probabilities. The **temperature** $T$ is a positive number
# by which all logits are divided before softmax: $\mathrm{softmax}(z / T)$. Language models use
# it when they choose the next word. Predict the probabilities for the logits 1, 2, 4 when $T$
# is 100, and when it is 0.001.

# %% tags=["answer", "explained"]
logits = Tensor([1.0, 2.0, 4.0])
for temperature in (100.0, 10.0, 1.0, 0.1, 0.001):
    print(f"T = {temperature:7}: {softmax(logits / temperature).data.round(3)}")

# %% [markdown]
# A high temperature gives nearly equal probabilities, while a low temperature gives nearly all
# probability to the largest logit. This explains the name: softmax is a soft version of
# *argmax*, which returns the position of the largest number. In the last row, dividing by 0.001
# makes the largest logit 4000. Its exponential would overflow, but your `softmax` subtracts the
# largest logit first.

# %%
draw_temperatures([1.0, 2.0, 4.0], [2.0, 1.0, 0.5])
# alt: Probabilities of three classes. Temperature 2: 0.14, 0.231, 0.629. Temperature 1: 0.042,
# 0.114, 0.844. Temperature 0.5: 0.00243, 0.0179, 0.98.

# %% [markdown]
# ## Log-softmax
#
# How wrong was a prediction? Lesson 05 measures this by the logarithm of the probability that
# the network gave to the correct class. For the logits 0 and -1000, the logarithms of the two
# probabilities are 0 and -1000, correct to hundreds of digits. `float32` can store both
# numbers. Predict what the code prints instead:

# %% tags=["answer", "explained"]
with np.errstate(divide="ignore"):
    print(softmax(Tensor([0.0, -1000.0])).log())

# %% [markdown]
# The probability was rounded to 0 (*underflow*), so its logarithm is infinite, and an infinite
# loss has no useful derivative.
#
# The logarithm of $e^{z_i} / \sum_j e^{z_j}$ can be simplified. Do this on paper: which `exp`
# and which `log` cancel?
#
# **Task.** Write `log_softmax`. It must be as stable as `softmax`.

# %% Log-softmax exercise="log-softmax"
#| export
@numpy_names
def log_softmax(x, axis=-1):
    """The natural logarithm of `softmax(x, axis)`, computed from the logits, not from rounded
    probabilities.

    x        Tensor of logits, shape (..., classes, ...); -inf means "impossible"
    axis     the axis of the classes: an int, or a tuple of ints if the classes are on several
             axes
    returns  a new Tensor of the same shape, all elements <= 0, computed with Tensor operations

    Logits near 10,000 lose no digits: `x` and `x` minus its largest logit give the same result.

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
# In the next chapter, a network collects the *parameters* of its layers, the tensors that
# training changes. To do so it calls the method `parameters` of each layer. Although an
# activation function has no parameters, it still needs this method, so each one also gets a
# small class. Its objects are called *modules*, as in PyTorch, and can be called like
# functions. The base class is given. Its `__repr__` shows the attributes of the object, for
# example `Softmax(axis=0)`.

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
# **Task.** Write the classes `ReLU`, which has no settings, and `Softmax`, which has one.
# `ReLU` can call your `relu` or the method `x.relu()`, which computes the same numbers several
# times faster.

# %% Activation modules exercise="modules"
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

    axis   the axis of the classes, by default the last; stored in the only attribute, `axis`

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
# The other four classes work in the same way. They are given.

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
    """`log_softmax` along a fixed axis as a module: the logarithms of `Softmax`."""

    def __init__(self, axis=-1):
        self.axis = axis

    def forward(self, x): return log_softmax(x, self.axis)

# %% [markdown]
# As a first use, we pass 200 inputs through thirty layers of 64 units with random weights. Each
# layer is followed by an activation function. The table shows how much the 200 outputs differ,
# relative to their size. Predict which of the four activation functions gives nearly the same
# output for every input.

# %% tags=["answer", "explained"]
random = np.random.default_rng(7)
layers = [Tensor(random.normal(size=(64, 64)) / 8) for _ in range(30)]
inputs = Tensor(random.normal(size=(200, 64)))
for activation in (ReLU(), Sigmoid(), Tanh(), GELU()):
    x = inputs
    for w in layers:
        x = activation(x @ w)
    size, deviation = float(abs(x).mean()), float(x.std(axis=0).mean())
    print(f"{str(activation):10} mean size {size:.1e}, "
          f"standard deviation over the inputs / mean size {deviation / size:.1e}")

# %% [markdown]
# After thirty sigmoids the outputs for all inputs are the same: each layer divides their
# differences by about four, until only rounding errors are left. With the other three
# functions, the outputs themselves become smaller (with GELU a billion times), but relative to
# their size they still differ. Other weights give other results. Which weights suit which
# activation function? The next chapter begins with this question.

# %% [markdown]
# ## Look back
#
# 1. Your `tanh` and `x.tanh()` differ in the last digits. Print both for 1e-4 and 1e-6 in
#    `float32`. Which operation of yours loses the digits, and why does `sigmoid` lose none at
#    -20?
# 2. `softmax(x, axis=-1)` and `softmax(x, axis=0)` of a square matrix have the same shape, and
#    both look like probabilities. How would you notice the wrong axis in a finished program?
# 3. Could one hidden unit with another activation function compute XOR? Try $\sin(s)$ and
#    $s^2$, where $s$ is the weighted sum. If one such unit is enough, why do most networks use
#    ReLU? (Compare the derivatives for large $s$.)
#
# **In PyTorch**: `torch.nn.functional.relu`, `sigmoid`, `tanh`, `gelu(approximate="tanh")`,
# `softmax(x, dim=-1)` and `log_softmax(x, dim=-1)`; the modules are `torch.nn.ReLU` and so on.
# `axis` is called `dim` there: `torch.softmax` has no default for it, and the functions and
# modules of `torch.nn` guess an axis and warn. In PyTorch too, the derivative of `relu` at 0 is
# 0.
