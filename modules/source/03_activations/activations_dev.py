# %% [markdown]
# # 03. Activations
#
# A *layer* computes $xW + b$: it multiplies its input by a matrix of *weights* and adds a
# *bias*. A *network* is several layers in a row. Can a network separate the squares from the
# circles below? A single layer cannot, and neither can a hundred layers in a row, unless there
# is a nonlinear function between them. The network in the picture has two layers, and between
# them a function that you write in this chapter.

# %% tags=["payoff"]
#| default_exp core.activations
#| export
import numpy as np

from tinytorch.core.tensor import Tensor, where
from tinytorch.support.missing_names import numpy_names
from tinytorch.support.modules import Activation
from tinytorch.support.tensor_functions import (  # noqa: F401
    gelu, numerical_derivative, sigmoid, tanh)

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
# *least squares*, the method that fits a line to points. The two bent lines are its decision
# boundary. A *classifier* is a function that chooses one of several answers. A **decision
# boundary** is the set of inputs at which a classifier changes from one answer to another.
#
# **You need** 02 (Tensor). **You build** a function that turns two layers into one, `relu`, the
# weights of a network that separates the four points of the picture, and `softmax`.

# %% [markdown] page="Why a network needs a nonlinearity"
# ## Affine maps
#
# An **affine map** is a function of the form $xW + b$: a matrix product plus a constant row.
# Two layers in a row compute $(xW_1 + b_1)W_2 + b_2$. Multiply this out on paper.
#
# Predict: $x$ has 4 numbers, the first layer has 2 outputs, and the second has 3. A single
# layer with weights $W$ and bias $b$ can compute the same function. What are the shapes of $W$
# and $b$?

# %% [markdown]
# In all exercises of this chapter, compute with Tensor operations and not with `x.data`. The
# result then *records* how it was computed, from which lesson 06, and some checks of this
# chapter, compute derivatives.
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
# The output is one half for every input. Could other weights, with a larger squared error,
# classify all four points? They could not, because the points are not *linearly separable*: no
# straight line has the squares on one side and the circles on the other. For every affine $f$
# with one output, $f(0,0) + f(1,1) = f(0,1) + f(1,0)$, because both sides equal $w_1 + w_2 +
# 2b$. But XOR needs two low numbers on the left side of this equation and two high numbers on
# the right. More layers cannot change this, because two affine maps in a row are one affine
# map.
#
# ## ReLU
#
# A **nonlinearity** is any function that is not an affine map. An **activation function** is a
# nonlinearity that a network applies elementwise to the outputs of a layer. **ReLU**, the
# *rectified linear unit*, is the simplest and most common activation function. It keeps
# positive inputs and replaces all others by 0: $\mathrm{relu}(x) = \max(0, x)$.

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
# Training needs the *derivative* of every operation. The derivative of ReLU is 0 left of the
# kink and 1 right of it. *At* the kink it does not exist, so a library has to choose a number
# there. PyTorch chooses 0, and so do we. The choice depends on how you write the function:
# `x.maximum(0)` gives 1/2 at 0, because the two numbers are equal and each gets half, and
# `x.clip(0)` gives 1. Let a comparison decide instead: `where(condition, a, b)` has the
# derivative of the branch that it takes, and for `x * condition` the derivative is `condition`.
#
# **Task.** Write `relu` in either way, so that its derivative at 0 is 0. (Tensor also has the
# method `x.relu()`, one operation instead of two. Here you write the function yourself.)

# %% ReLU exercise="relu"
#| export
def relu(x):
    """max(0, x), elementwise.

    x        Tensor of any shape and dtype, finite numbers
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
# these three outputs over $s$, and next to them the graph of a ReLU. In 1969 the book
# *Perceptrons* showed that one layer cannot compute XOR, and networks that learned it became
# known only in 1986, so take your time.
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
# The last layer is affine, so its boundary is a straight line, but its inputs are not the
# points: they are the two hidden units. Here are the four points in the coordinates of the
# hidden units:

# %%
hidden = relu(Tensor(corners) @ w1 + b1)
draw_decision_boundary(lambda x: Tensor(x) @ w2 + b2, hidden.data, answers,
                       "the same, seen from the hidden layer",
                       ("hidden unit 1", "hidden unit 2"));
# caption: In the plane of the hidden units, one straight line is enough.
# alt: The four points in the plane of the two hidden units, where one straight line has the
# squares on one side and the circles on the other.

# %% [markdown]
# There a straight line is enough, because `relu` has moved the points. Without `relu`, the same
# weights are a single affine map, and give wrong answers:

# %%
w, b = collapse_linear(w1, b1, w2, b2)
for corner, output, affine in zip(corners, relu(Tensor(corners) @ w1 + b1) @ w2 + b2,
                                  Tensor(corners) @ w + b):
    print(corner, f"with relu {float(output):g}, without {float(affine):g}")

# %% [markdown] page="Smooth functions and probabilities"
# ## Sigmoid, tanh and GELU
#
# Three more activation functions are given, in `tinytorch/support/tensor_functions.py`:
#
# - $\mathrm{sigmoid}(x) = 1 / (1 + e^{-x})$ maps every number into the interval from 0 to 1, so
#   its result can be used as a probability.
# - $\tanh(x) = 2\,\mathrm{sigmoid}(2x) - 1$, the *hyperbolic tangent*, has the same shape but
#   goes from -1 to 1.
# - GELU, the *Gaussian error linear unit*, is a smooth relative of ReLU, which BERT and the
#   first GPT models use: $x$ times the probability that a standard normal number (a random
#   number from the bell curve with mean 0 and standard deviation 1) is below $x$.

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
# ## Saturation and vanishing gradients
#
# You chose nine parameters by hand, while real networks have millions, which training finds
# from derivatives. Lesson 06 computes them exactly. Until then the given function
# `numerical_derivative` estimates them with the central difference of lesson 00, $(f(x+h) -
# f(x-h)) / (2h)$. Predict what it gives for `relu` at -1, at 0 and at 1.

# %% tags=["answer", "explained"]
for place in (-1.0, 0.0, 1.0):
    print(f"relu at {place:4}: {float(numerical_derivative(relu, place)):.1f}")

# %% [markdown]
# At 0 the central difference is the mean of the derivatives on both sides, and not the 0 that
# your recorded operations give.
#
# The next picture shows the derivatives of all four functions. Predict: which of them rise
# above 1, which fall below 0, and which come close to 0 on *both* sides?

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
# The derivative of sigmoid is largest at 0, where it is 1/4. Predict its derivative at 10, and
# the derivative of ten sigmoids in a row if each has the largest possible derivative. (By the
# chain rule, the derivatives of functions in a row are multiplied.)

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
# derivative is close to 0. A **vanishing gradient** is a derivative that has become tiny
# because it is a product of many factors below 1. The derivative for a weight has one such
# factor for each sigmoid between this weight and the loss, so the first layers of a deep
# network with sigmoids hardly learn. ReLU replaced sigmoid mainly because its derivative is 1
# for positive inputs.

# %% [markdown]
# ## Softmax
#
# The next function is for the output of a network. A network that recognizes digits ends with
# ten numbers, one for each possible answer; an answer is called a *class*. **Logits** are the
# scores of the classes before they are turned into probabilities: any real numbers, larger for
# a more likely class. Probabilities must be positive and sum to 1. **Softmax** turns logits
# into probabilities: it computes $e$ to the power of each logit and divides by the sum, $p_i =
# e^{z_i} / \sum_j e^{z_j}$. Unlike the activation functions, softmax is not elementwise: every
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
# Adding the same number to all logits does not change the probabilities, while multiplying all
# logits by a number does: the section on temperature returns to this.
#
# **Overflow** means that a result is larger than the largest number of its dtype and becomes
# `inf`. In `float32` this happens to the exponential of every logit above 88.73:

# %%
draw_softmax([89.0, 90.0, 92.0])
# alt: Logits 89, 90, 92. All three exponentials are inf and all three probabilities nan; both
# rows are hatched.

# %% [markdown]
# **Numerical stability** means that rounding and overflow do not spoil the result of a
# computation for any input that can occur. To make softmax stable, subtract a constant from all
# logits before `exp`. Which constant do you need, if no exponent may be above 0 and at least
# one must be 0? In a batch, each row gets its own probabilities, so each row needs its own
# constant. (If you subtracted 1000 from logits near 0, because another row has logits near
# 1000, all their exponentials would be 0.)
#
# **Task.** Write `softmax` along any axis. The given line `@numpy_names` only improves an
# error: for `softmax(x, dim=1)`, as in PyTorch, it tells you to write `axis`.

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
# *argmax*, which returns the position of the largest number.

# %%
draw_temperatures([1.0, 2.0, 4.0], [2.0, 1.0, 0.5])
# alt: Probabilities of three classes. Temperature 2: 0.14, 0.231, 0.629. Temperature 1: 0.042,
# 0.114, 0.844. Temperature 0.5: 0.00243, 0.0179, 0.98.

# %% [markdown]
# ## Log-softmax
#
# How wrong was a prediction? Lesson 05 measures this by the logarithm of the probability that
# the network gave to the correct class. For the logits 0 and -1000, the logarithms of the two
# probabilities are 0 and -1000, correct to hundreds of digits. Predict what the code prints
# instead:

# %% tags=["answer", "explained"]
with np.errstate(divide="ignore"):
    print(softmax(Tensor([0.0, -1000.0])).log())

# %% [markdown]
# The probability was rounded to 0 (*underflow*), so its logarithm is infinite. The given
# function computes the logarithm from the logits instead: $\log(e^{z_i} / \sum_j e^{z_j}) = z_i
# - \log \sum_j e^{z_j}$, after the largest logit was subtracted.

# %%
#| export
@numpy_names
def log_softmax(x, axis=-1):
    """The natural logarithm of `softmax(x, axis)`, computed from the logits, not from rounded
    probabilities. `x` and `x - 10000` give the same result.

    >>> log_softmax(Tensor([0.0, -1000.0]))
    Tensor([    0., -1000.])
    """
    shifted = x - x.max(axis, keepdims=True)
    return shifted - shifted.exp().sum(axis, keepdims=True).log()

# %% [markdown]
# ## Activation modules
#
# In the next chapter, a network collects the *parameters* of its layers, the tensors that
# training changes, by calling the method `parameters` of each layer. So that an activation
# function can be one of the layers, each also gets a small class, a *module* as in PyTorch. The
# base class `Activation` has an empty list of parameters, and calls `forward`:

# %%
#| export
class ReLU(Activation):
    """`relu` as a module: ReLU()(x) equals relu(x), also in its derivative."""

    def forward(self, x): return x.relu()


class Sigmoid(Activation):
    """`sigmoid` as a module: elementwise, between 0 and 1."""

    def forward(self, x): return sigmoid(x)


class Tanh(Activation):
    """`tanh` as a module: elementwise, between -1 and 1."""

    def forward(self, x): return tanh(x)


class GELU(Activation):
    """`gelu` as a module: elementwise, smooth."""

    def forward(self, x): return gelu(x)


class Softmax(Activation):
    """`softmax` along a fixed axis as a module: Softmax(axis)(x) is softmax(x, axis).

    >>> Softmax(axis=0)(Tensor([[1.0, 5.0], [1.0, 5.0]]))
    Tensor([[0.5, 0.5],
            [0.5, 0.5]])
    """

    def __init__(self, axis=-1):
        self.axis = axis

    def forward(self, x): return softmax(x, self.axis)


class LogSoftmax(Activation):
    """`log_softmax` along a fixed axis as a module: the logarithms of `Softmax`."""

    def __init__(self, axis=-1):
        self.axis = axis

    def forward(self, x): return log_softmax(x, self.axis)

# %% [markdown]
# ## Look back
#
# 1. A **dead unit** is a ReLU whose input is negative for every example. In the layer below,
#    each unit has a lower bias than the unit before it; the last bias is -8. (A single training
#    step that is too large can make a bias so low.) Why can training not repair the last unit?
#    Would GELU help it?

# %% tags=["answer", "explained"]
random = np.random.default_rng(4)
examples = Tensor(random.normal(size=(1000, 8)))
inputs = (examples @ Tensor(random.normal(size=(8, 6)) / 8**0.5)
          + Tensor([0.5, 0.0, -0.5, -1.0, -2.0, -8.0]))
for f in (relu, gelu):
    means = abs(numerical_derivative(f, inputs)).mean(axis=0)
    print(f"{f.__name__}: mean size of the derivative of each unit", means.data.round(3))

# %% [markdown]
# The derivative of the last unit is 0 for every example, so training never changes its weights
# again. GELU helps a unit with inputs a little below 0, where its derivative is not 0. Near -8
# it is also nearly 0.
#
# 2. `softmax(x, axis=-1)` and `softmax(x, axis=0)` of a square matrix have the same shape, and
#    both look like probabilities. How would you notice the wrong axis in a finished program?

# %% tags=["answer", "explained"]
scores = Tensor([[1.0, 2.0], [5.0, 0.0]])
print(softmax(scores).sum(axis=-1), softmax(scores, axis=0).sum(axis=-1))

# %% [markdown]
# Along the axis of the classes the probabilities must sum to 1. And the probabilities of one
# example must not change when the other examples of the batch change.
#
# 3. Could one hidden unit with another activation function compute XOR? Try $\sin(s)$ and
#    $s^2$, where $s$ is a weighted sum of the inputs. If one such unit is enough, why do most
#    networks use ReLU? (Compare the derivatives for large $s$.)

# %% tags=["answer", "explained"]
print(np.sin(np.pi / 2 * corners.sum(axis=1)).round(6) + 0, (corners @ [1, -1]) ** 2)

# %% [markdown]
# Both are XOR. But for large $s$ the derivative of $\sin$ changes its sign again and again, and
# that of $s^2$ grows without limit, so that gradient descent takes steps in wrong directions or
# far too large ones. The derivative of ReLU is 0 or 1.
#
# **In PyTorch**: `torch.nn.functional.relu`, `sigmoid`, `tanh`, `gelu(approximate="tanh")`,
# `softmax(x, dim=-1)` and `log_softmax(x, dim=-1)`; the modules are `torch.nn.ReLU` and so on.
# `axis` is called `dim` there: `torch.softmax` has no default for it, and the functions and
# modules of `torch.nn` guess an axis and warn.
