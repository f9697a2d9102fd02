# %% [markdown]
# # 04. Layers
#
# How do you build a network of many layers, and which numbers should it start with? The picture
# shows that the second question matters. It compares three untrained networks of twenty layers
# with tanh, which get the same inputs and differ only in the standard deviation (std) of their
# random weights. Each blue shape is a histogram of the outputs of one layer: the wider it is at
# a value, the more outputs have that value.

# %% tags=["payoff"]
#| default_exp core.layers
#| export
import math

import numpy as np

from tinytorch.core.tensor import Tensor, Variable
from tinytorch.support.checkpoints import check_state_dict
from tinytorch.support.layer_watch import summary  # noqa: F401
from tinytorch.support.modules import ModuleMethods, cast_to, check_layer, clear_gradients

# %% tags=["payoff"]
from tinytorch.pictures.drawing import plot_stds
from tinytorch.pictures.layers import draw_histograms

draw_histograms(stds=(0.03, 0.1, 0.3))
# caption: Only the second network still carries information about its input after twenty
# layers.
# alt: Three rows of twenty histograms. With std 0.03 the outputs are almost 0 from the fourth
# layer on. With 0.1 they stay distributed around 0. With 0.3 most are near -1 and 1 in every
# layer.

# %% [markdown]
# In the first network all outputs become almost 0, while in the third most are close to −1 or
# 1, whatever the input is. Only in the second network do the last outputs still carry usable
# information about the input, so only this one can be trained well.
#
# A **parameter** is a number, or an array of numbers, that training changes. In this chapter
# you choose the initial values of the parameters, you build networks from layers, and you
# write what every deep-learning library needs: code that finds all parameters of a network,
# saves them and loads them.
#
# **You need** 02 (Tensor); 03 (Activations) explains why there are activation functions between
# layers. **You build** `linear`, initializations, `Dense`, `Sequential`, `named_parameters`,
# `state_dict`, `load_state_dict` and `Dropout`.

# %% [markdown] page="A layer and its first weights"
# ## Fully connected layers
#
# We begin with the kind of layer that the networks in the picture consist of. A **fully
# connected layer**, also called a dense or linear layer, computes each output as a weighted sum
# of all inputs plus a constant. A **weight** is the number that multiplies one input in the sum
# for one output. A **bias** is the constant that a layer adds to one output. For a batch of
# examples, one per row, all sums together are a matrix product:
#
# $$y = xW + b$$
#
# Column $j$ of $W$ holds the weights of output $j$. The picture shows one output in blue, and
# all the numbers that it is computed from.

# %%
from tinytorch.pictures.layers import draw_fully_connected

x = Tensor([[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]])  # three examples of two numbers
W = Tensor([[1.0, 0.0, 3.0, -1.0], [0.0, 1.0, 4.0, 2.0]])  # two inputs, four outputs
b = Tensor([10.0, 20.0, 30.0, 40.0])
draw_fully_connected(x, W, b, example=1, output=2)
# alt: x of shape (3, 2) at the left, W of shape (2, 4) above, y of shape (3, 4) between them, b
# of shape (4,) below. Counted from 0, row 1 of x, column 2 of W and element 2 of b are blue: 0
# times 3 plus -1 times 4 plus 30 gives y[1, 2] = 26.

# %% [markdown]
# The bias has shape (4,), so broadcasting adds it to every row. Predict: what happens with a
# bias of shape (3, 1), for this batch of three examples and for a batch of two?

# %% tags=["answer", "explained"]
column = Tensor([[100.0], [200.0], [300.0]])
print(x @ W + column)
try:
    x[:2] @ W + column
except ValueError as error:
    print(error)

# %% [markdown]
# With three examples the column is broadcast too, but it adds one number per *example* instead
# of one per output. No error tells you. With two examples the shapes do not fit.
#
# **Task.** Write `linear`. Some layers have no bias; then `bias` is `None`.

# %% The linear function exercise="linear"
#| export
def linear(x, weights, bias=None):
    """The outputs of a fully connected layer, x @ weights + bias.

    x        Tensor of shape (..., in): any number of axes before the last
    weights  Tensor of shape (in, out)
    bias     Tensor of shape (out,), or None
    returns  Tensor of shape (..., out). Use Tensor operations, not .data: then the result
             requires a gradient when an input does

    Raises ValueError that names both shapes when the last length of `x` is not `in`.

    >>> linear(Tensor([[1, 2]]), Tensor([[1, 0, 3], [0, 1, 4]]), Tensor([10, 20, 30]))
    Tensor([[11, 22, 41]])

    Source: torch.nn.functional.linear, whose weight has shape (out, in) instead.
    """
    ### BEGIN SOLUTION
    out = x @ weights
    return out if bias is None else out + bias
    ### END SOLUTION

# %% checks="linear"
check("linear")

# %%
print(linear(x, W, b))

# %% [markdown]
# ## Initialization
#
# Before a layer can compute anything, its weights need values. **Initialization** is the choice
# of the values that the parameters have before training. Giving all weights the same value is a
# bad choice, because then all outputs of a layer are equal:

# %%
print(linear(x, Tensor(np.full((2, 4), 0.5, "float32"))))

# %% [markdown]
# If two outputs are equal, training changes their weights in the same way, so they stay equal,
# and a hundred outputs do the work of one. **Symmetry breaking** means giving the weights
# different initial values, so that the outputs of a layer differ and can learn different
# things. Random values do this.
#
# ## Exploding and vanishing activations
#
# How large should the random weights be? The **fan-in** of a layer is the number of inputs that
# each of its outputs sums over. So one output is a sum of products $wx$, and the fan-in is the
# number of these products. We choose the weights with mean 0, independently of the inputs and
# of each other. Then each product has mean 0, so its variance is the mean of $(wx)^2$. Because
# $w$ and $x$ are independent, this is the mean of $w^2$, which is $\mathrm{var}(w)$, times
# $\overline{x^2}$, the mean of $x^2$ (the *mean square* of the inputs). The products are
# uncorrelated, so the variance of their sum is the sum of their variances:
#
# $$\mathrm{var}(y) = \text{fan-in} \cdot \mathrm{var}(w) \cdot \overline{x^2}$$
#
# If the inputs have mean 0, their mean square is their variance. Then the standard deviation of
# the outputs is $\sqrt{\text{fan-in}} \cdot \mathrm{std}(w)$ times the standard deviation of
# the inputs.

# %% [markdown]
# The outputs of a layer, after the activation function, are called its *activations*. The next
# function passes random inputs through twenty random layers of 100 numbers each, and measures
# the standard deviation of the activations of each layer. It uses `linear`.

# %%
def activation_stds(std, activation, layers=20, width=100):
    """The standard deviation of the activations after each of `layers` random layers.

    std         the standard deviation of the weights
    activation  the function after each layer: Tensor -> Tensor
    """
    rng = np.random.default_rng(0)
    x, stds = Tensor(rng.normal(size=(100, width)).astype("float32")), []
    for _ in range(layers):
        x = linear(x, Tensor(rng.normal(0, std, (width, width)).astype("float32")))
        x = activation(x)
        stds.append(float(x.std()))
    return stds


def identity(x):
    return x

# %% [markdown]
# Predict: the inputs have standard deviation 1, the layers have 100 inputs and outputs, and
# there is no activation function. What is the standard deviation after twenty layers if the
# weights have standard deviation 0.01? And if they have 0.2? In the picture, a line is blue if
# it ends near where it began, and red otherwise.

# %% tags=["answer", "explained"]
curves = {std: activation_stds(std, identity) for std in (0.01, 0.05, 0.1, 0.2)}
plot_stds(curves, "linear layers, by the std of the weights")
# caption: Each layer repeats the error of the scale, so a small error becomes huge.
# alt: Standard deviation of a signal over 20 linear layers, on a logarithmic axis. Weights with
# standard deviation 0.1 give a level line. With 0.2 the line rises to 940,000, with 0.05 it
# falls to about a millionth, with 0.01 to 9e-21.

# %% [markdown]
# Weights with std 0.01 multiply the standard deviation by $\sqrt{100} \cdot 0.01 = 0.1$ in each
# layer, and by $0.1^{20} = 10^{-20}$ in twenty layers.
#
# **Exploding and vanishing activations** are outputs of layers that grow or shrink by a
# constant factor per layer, until they carry no usable information. The factor is 1 when
# $\mathrm{var}(w) = 1 / \text{fan-in}$. For 100 inputs that is a standard deviation of
# $1/\sqrt{100} = 0.1$, the level line of the picture.

# %% [markdown]
# ## Xavier initialization
#
# Training also computes derivatives, from the last layer back to the first (you write this in
# lesson 01). The derivative with respect to one input of a layer is a sum with one term for
# each output that uses this input. The number of these outputs is the *fan-out*. By the
# argument of the previous section, the variance of the derivatives stays the same from layer to
# layer when $\mathrm{var}(w) = 1 / \text{fan-out}$. The outputs need $1 / \text{fan-in}$
# instead. Unless fan-in and fan-out are equal, no variance meets both conditions. Xavier Glorot
# and Yoshua Bengio proposed a compromise, now called *Xavier* or *Glorot initialization*:
#
# $$\mathrm{var}(w) = \frac{2}{\text{fan-in} + \text{fan-out}}$$
#
# Often the weights are drawn from the uniform distribution between $-a$ and $a$. Its variance
# is $a^2 / 3$.

# %% [markdown]
# In this course, layers draw their random numbers from the NumPy Generator that
# `generator(rng)` returns. You can give it a Generator, or a seed for a new one. For `None` it
# returns one generator that all layers share. `manual_seed` restarts the shared generator, so
# that a program can be repeated exactly. We do not use NumPy's global generator, however,
# because any other library may draw from it.

# %%
#| export
class RandomState:
    """Holds the generator that all layers share, with a new seed in every run."""

    rng = np.random.default_rng()


def generator(rng=None):
    """The NumPy Generator to draw from: `rng` itself if it is a Generator, a new Generator if
    `rng` is a seed (an int >= 0), the shared Generator if `rng` is None."""
    return RandomState.rng if rng is None else np.random.default_rng(rng)


def manual_seed(seed):
    """Restart the shared generator with this seed, an int >= 0, as torch.manual_seed does."""
    RandomState.rng = np.random.default_rng(seed)

# %%
for _ in range(2):
    manual_seed(7)
    print(generator().uniform(-1, 1, 4), generator().uniform(-1, 1, 1))

# %% [markdown]
# **Task.** Write `xavier_uniform`.

# %% Xavier initialization exercise="xavier"
#| export
def xavier_uniform(fan_in, fan_out, rng=None, shape=None):
    """Weights from the uniform distribution between -a and a with variance
    2 / (fan_in + fan_out): for layers with tanh, sigmoid or no activation function.

    fan_in   int: how many inputs each output sums over
    fan_out  int: how many outputs use each input
    rng      a NumPy Generator, a seed, or None for the shared generator: see `generator`
    shape    shape of the result; (fan_in, fan_out) if None
    returns  float32 ndarray

    >>> bool(np.abs(xavier_uniform(4, 2)).max() <= 1)
    True

    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward neural
    networks (2010), equation 16; torch.nn.init.xavier_uniform_.
    """
    ### BEGIN SOLUTION
    a = math.sqrt(6 / (fan_in + fan_out))
    shape = (fan_in, fan_out) if shape is None else shape
    return generator(rng).uniform(-a, a, shape).astype(np.float32)
    ### END SOLUTION

# %% checks="xavier"
check("xavier")

# %% [markdown]
# ## He initialization
#
# Next we add an activation function. `relu` sets half of the numbers to 0, so the inputs of the
# next layer no longer have mean 0. That does not matter, because the formula for
# $\mathrm{var}(y)$ uses only their mean square, but relu halves it.
#
# Predict: the inputs have standard deviation 1, and the weights have the standard deviation of
# Xavier initialization, 0.1 for 100 inputs and outputs. Which power of two is nearest to the
# standard deviation after twenty layers with relu?

# %% tags=["answer", "explained"]
print(f"{activation_stds(0.1, Tensor.relu)[-1]:.5f}, and 2**-10 is {2**-10:.5f}")

# %% [markdown]
# Halved twenty times, the mean square is about $2^{-20}$, and its root about $2^{-10}$. The
# standard deviation should be about 0.8 times this root, because the mean of the activations is
# not 0. It also varies with the random weights: here it is even a little above $2^{-10}$.
#
# To compensate, He initialization doubles the variance of the weights:
#
# $$\mathrm{var}(w) = \frac{2}{\text{fan-in}}$$
#
# Kaiming He and his colleagues used it to train networks of thirty layers that did not learn
# otherwise. It is also called *Kaiming initialization*.
#
# **Task.** Write `he_normal`, this time with the normal distribution.

# %% He initialization exercise="he"
#| export
def he_normal(fan_in, fan_out, rng=None, shape=None):
    """Weights from the normal distribution with mean 0 and variance 2 / fan_in: for layers with
    relu and similar functions.

    fan_in   int: how many inputs each output sums over
    fan_out  int: how many outputs use each input; it changes the shape only
    rng      a NumPy Generator, a seed, or None for the shared generator: see `generator`
    shape    shape of the result; (fan_in, fan_out) if None
    returns  float32 ndarray

    >>> he_normal(27, 8, shape=(8, 3, 3, 3)).shape  # a convolution (lesson 10): 27 = 3 * 3 * 3
    (8, 3, 3, 3)

    Source: He, Zhang, Ren, Sun, Delving deep into rectifiers (2015), equation 10;
    torch.nn.init.kaiming_normal_.
    """
    ### BEGIN SOLUTION
    shape = (fan_in, fan_out) if shape is None else shape
    return generator(rng).normal(0, math.sqrt(2 / fan_in), shape).astype(np.float32)
    ### END SOLUTION

# %% checks="he"
check("he")

# %%
he = math.sqrt(2 / 100)
curves = {"3 × He": 3 * he, "He": he, "He / 3": he / 3}
plot_stds({label: activation_stds(std, Tensor.relu) for label, std in curves.items()},
          "layers with relu")
# caption: He initialization keeps a signal at the same size through layers with relu.
# alt: Standard deviation of a signal over 20 layers with relu, on a logarithmic axis. He
# initialization gives a level line near 1; three times its weights explode to 4e9, a third
# vanishes to 3e-10.

# %% [markdown]
# Predict the same three lines for tanh and Xavier initialization. Which lines have a different
# shape than in the picture of layers with relu?

# %% tags=["answer", "explained"]
xavier = math.sqrt(2 / (100 + 100))
curves = {"3 × Xavier": 3 * xavier, "Xavier": xavier, "Xavier / 3": xavier / 3}
plot_stds({label: activation_stds(std, Tensor.tanh) for label, std in curves.items()},
          "layers with tanh")
# alt: Standard deviation of a signal over 20 layers with tanh, on a logarithmic axis. The line
# of three times Xavier's weights is blue and level near 0.8. Xavier's falls more and more
# slowly, to 0.15. A third of Xavier's weights vanish to 2e-10.

# %% [markdown]
# The outputs of tanh cannot explode, because they lie between −1 and 1. Xavier's line falls
# more and more slowly: tanh makes every number a little smaller, but it hardly changes small
# numbers.
#
# A level line is not enough. The line of 3 × Xavier is level because the outputs saturate, as
# in the third row of the first picture. The next cell measures the damage (you may skip it). It
# takes two inputs that differ by 1 % of their standard deviation, and passes both through the
# network. How many standard deviations apart are the outputs after twenty layers?

# %%
from tinytorch.pictures.layers import relative_distance

for label, std in curves.items():
    print(f"{label:11} {relative_distance(std):.3f}")

# %% [markdown]
# Unrelated outputs would be $\sqrt{2} = 1.41$ standard deviations apart, because the variance
# of their difference is twice their own. With weights three times too large, the outputs for
# two nearly equal inputs are 1.07 apart, almost as far as unrelated ones, so that the output
# for one input says little about the output for a similar input.

# %% [markdown] page="Layers as objects"
# ## Modules
#
# This is the middle of the lesson, and a good place for a break. From here on you build
# networks.
#
# A **module** is an object that holds parameters and computes tensors from tensors: a layer, a
# network, or a part of a network. It can hold other modules. `Module` is the base class of all
# of them, as in PyTorch. A subclass stores its parameters as attributes in `__init__` and
# computes its output in `forward`.
#
# Read `forward` and `__call__` now. The other methods can wait, because they call functions
# that you write later in this chapter. `ModuleMethods` is given: it prints modules readably,
# and adds other methods that PyTorch's modules have.

# %%
#| export
class Module(ModuleMethods):
    """The base class of layers and networks.

    A subclass stores Variables, Tensors and other modules as attributes, also in lists, tuples
    and dicts, and defines `forward`. A module is called like a function: `net(x)`.

    .training   True in training mode, the initial mode; False in evaluation mode
    """

    training = True  # a class attribute, so subclasses need not call super().__init__()

    def forward(self, *inputs):
        raise NotImplementedError(f"{type(self).__name__} has no method forward, "
                                  "which computes the output of a module from its inputs")

    def __call__(self, *inputs, **options):
        return self.forward(*inputs, **options)

    def modules(self):
        """This module and all its submodules, a list."""
        return [part for _, part in traverse(self) if isinstance(part, Module)]

    def named_parameters(self):
        """The parameters, a list of (name, Tensor); names are paths such as "hidden.bias"."""
        return named_parameters(self)

    def parameters(self):
        """The parameters, a list of Tensors."""
        return [tensor for _, tensor in named_parameters(self)]

    def zero_grad(self, set_to_none=True):
        """Set the gradients of all parameters to None; to zeros if set_to_none is False."""
        clear_gradients(self.parameters(), set_to_none)

    def train(self, mode=True):
        """Put this module and its submodules into training mode. Returns the module."""
        set_training(self, mode)
        return self

    def eval(self):
        """Put this module and its submodules into evaluation mode. Returns the module."""
        return self.train(False)

    def state_dict(self):
        """A copy of all parameters and buffers: {name: ndarray}. `tinytorch.save(state, path)`
        saves it."""
        return state_dict(self)

    def load_state_dict(self, state):
        """Copy the arrays of `state`, as `state_dict` returns it, into this module. If a key
        does not fit, nothing is loaded, and a ValueError lists every such key."""
        load_state_dict(self, state)


Layer = Module

# %% [markdown]
# ## The Dense layer
#
# `linear` computes the outputs, an initialization chooses the initial weights, and a module
# stores them. Together they are the fully connected layer, `Dense`. Its parameters are
# `Variable`s, tensors with `requires_grad=True`. The bias starts at 0; symmetry is already
# broken by the weights.
#
# Predict: a layer has 28 × 28 pixels as inputs and 128 outputs. How many numbers do its
# parameters contain?
#
# **Task.** Write the missing lines of `Dense.__init__`: the parameters `weights` and `bias`.

# %% The Dense layer exercise="dense"
#| export
class Dense(Module):
    """A fully connected layer: each output is a weighted sum of all inputs, plus a bias.

    in_features   int: how many numbers each example has
    out_features  int: how many outputs each example gets
    bias          whether the layer has a bias
    init          the initialization of the weights: xavier_uniform, he_normal, or another
                  function, called as init(in_features, out_features, rng)
    rng           a NumPy Generator, a seed, or None for the shared generator; passed to `init`
                  as it is

    Integers as input become float32, like the weights. So does float64; the first time, a
    warning says so.

    .weights      Variable of shape (in_features, out_features), as `init` returns it
    .bias         float32 Variable of shape (out_features,), zeros at first; None if bias=False

    >>> Dense(3, 4)(Tensor([[1, 2, 3], [4, 5, 6]])).shape
    (2, 4)

    Source: torch.nn.Linear, whose weight is transposed. PyTorch draws weights and biases from
    the uniform distribution between -1 / sqrt(in_features) and 1 / sqrt(in_features).
    """

    def __init__(self, in_features, out_features, bias=True, *, init=xavier_uniform, rng=None):
        sizes = in_features, out_features
        if not all(isinstance(size, (int, np.integer)) for size in sizes):
            raise TypeError(f"{type(self).__name__}(in_features, out_features) needs two whole "
                            f"numbers, not {in_features!r} and {out_features!r}\nwrite "
                            f"{type(self).__name__}(2, 3); divide sizes with //, not /")
        if min(sizes) < 1:
            raise ValueError(f"{type(self).__name__} needs at least 1 input and 1 output, "
                             f"not {in_features} and {out_features}")
        self.in_features, self.out_features = sizes
        ### BEGIN SOLUTION
        self.weights = Variable(init(in_features, out_features, rng))
        self.bias = Variable(np.zeros(out_features, np.float32)) if bias else None
        ### END SOLUTION

    weight = property(lambda self: self.weights, doc="PyTorch's name for the weights.")

    def forward(self, x):
        shape = x.shape if isinstance(x, Tensor) else np.shape(x)
        if shape[-1:] != (self.in_features,):
            raise ValueError(f"{self} takes inputs of shape (..., {self.in_features}), not "
                             f"{shape}: does the layer before it have a different number of "
                             "outputs, or is Flatten() missing?")
        return linear(cast_to(x, self.weights, self), self.weights, self.bias)

    def __repr__(self):
        return (f"{type(self).__name__}({self.in_features}, "
                f"{self.out_features}{', bias=False' if self.bias is None else ''})")


def fan_in_uniform(fan_in, fan_out, rng=None, shape=None):
    """PyTorch's initial weights of linear and convolutional layers: uniform between -a and a,
    with a = 1 / sqrt(fan_in). Arguments and result as of `xavier_uniform`."""
    shape = (fan_in, fan_out) if shape is None else shape
    return generator(rng).uniform(-1, 1, shape).astype(np.float32) / np.float32(fan_in**0.5)


class Linear(Dense):
    """PyTorch's name for Dense, with PyTorch's initial values: weights and bias come from
    `fan_in_uniform`."""

    def __init__(self, in_features, out_features, bias=True, *, init=fan_in_uniform, rng=None):
        rng = generator(rng)
        super().__init__(in_features, out_features, bias, init=init, rng=rng)
        if bias:
            self.bias.data[...] = fan_in_uniform(in_features, 1, rng, (out_features,))

# %% checks="dense"
check("dense")

# %% tags=["answer"]
manual_seed(0)
layer = Dense(28 * 28, 128, init=he_normal)
print(layer, layer.weights.size + layer.bias.size)

# %% [markdown]
# ## Sequential networks
#
# In most networks each layer takes the output of the layer before it. `Sequential` is a module
# that holds such layers and calls them in order. An activation function has no parameters, so
# it does not have to be a module: any function of one tensor can be a layer. The layers are
# attributes with the names "0", "1", ..., so the weights of the first one are called
# "0.weights".
#
# **Task.** Write `Sequential.forward`.

# %% The Sequential network exercise="sequential"
#| export
class Sequential(Module):
    """Layers in order: Sequential(f, g)(x) is g(f(x)), and Sequential()(x) is x.

    layers   Modules, or functions of one Tensor

    .layers  the layers as a list. net[0] and net[-1] are layers, net[:2] is a new Sequential
             with the same layers, len(net) counts them, `for layer in net` iterates over them

    >>> Sequential(Tensor.exp, Tensor.sum)(Tensor([0.0, 0.0]))
    Tensor(2.)

    Source: torch.nn.Sequential.
    """

    def __init__(self, *layers):
        for index, layer in enumerate(layers):
            setattr(self, str(index), check_layer(layer))

    def forward(self, x):
        ### BEGIN SOLUTION
        for layer in self.layers:
            x = layer(x)
        return x
        ### END SOLUTION

    @property
    def layers(self):
        """The layers, a list."""
        return [layer for name, layer in vars(self).items() if name.isdigit()]

    def __iter__(self):
        return iter(self.layers)

    def __getitem__(self, index):
        chosen = self.layers[index]
        return Sequential(*chosen) if isinstance(index, slice) else chosen

    def __setitem__(self, index, layer):
        setattr(self, str(range(len(self))[index]), check_layer(layer))

    def __len__(self):
        return len(self.layers)

# %% checks="sequential"
check("sequential")

# %% [markdown]
# A picture is a grid, and a dense layer takes a row. `Flatten` joins all axes except the first,
# the batch axis. With it, a whole network runs:

# %%
#| export
class Flatten(Module):
    """Join the axes from `start_axis` on into one.

    >>> Flatten()(Tensor(np.ones((5, 2, 3)))).shape
    (5, 6)
    """

    def __init__(self, start_axis=1):
        self.start_axis = start_axis

    def forward(self, x):
        return x.flatten(self.start_axis)

    def __repr__(self):
        return f"Flatten({self.start_axis})"

# %%
net = Sequential(Flatten(), Dense(28 * 28, 128, init=he_normal), Tensor.relu, Dense(128, 10))
pictures = np.random.default_rng(0).normal(size=(32, 28, 28)).astype("float32")
print(net, net(Tensor(pictures)).shape, sep="\n")

# %% [markdown]
# ## Finding all submodules
#
# An *optimizer* is the part of a program that changes the parameters in training (lesson 07).
# It needs a list of all parameters of a network. Because a list written by hand is dangerous (a
# parameter that you forget is never trained, and no error tells you), the network finds them
# itself.
#
# A **submodule** is a module that another module holds, directly or inside another submodule.
# Networks keep them in attributes, and also in lists, tuples and dicts. The picture shows a
# module with two outputs, its submodules and its tensors. The *name* of each is its path from
# the top:

# %%
from tinytorch.pictures.layers import draw_module_tree


class TwoHeads(Module):
    """One body and two heads: a network with two outputs."""

    def __init__(self):
        self.body = Sequential(Dense(8, 5), Tensor.tanh)
        self.heads = [Dense(5, 3), Dense(5, 1, bias=False)]
        self.mean = Tensor(np.zeros(8, "float32"))  # measured, not trained
        self.tied = self.heads[0].weights

    def forward(self, x):
        return [head(self.body(x - self.mean)) for head in self.heads]


draw_module_tree(TwoHeads())
# alt: A tree. TwoHeads holds body, a Sequential with a Dense layer; heads, a list of two Dense
# layers; the tensor mean; and tied. The parameters are blue boxes with names such as
# body.0.weights and heads.1.weights. The box of mean is grey. The box of tied is dashed and
# labelled "= heads.0.weights", because it is that tensor again.

# %% [markdown]
# To traverse the tree, we ask each object for its children, the objects that it holds directly.
#
# `vars(obj)` is the dict of the attributes of an object.
#
# **Task.** Write `named_children`. The name of a child is the name of its attribute, its key in
# a dict, or its index in a list or tuple. Every name is a string.

# %% Direct submodules exercise="children"
#| export
def named_children(thing):
    """The objects that `thing` holds directly, in order.

    thing    anything
    returns  list of (name, child), each name a str: the attributes of a Module, the items of a
             dict, the elements of a list or tuple, named by their index; an empty list for
             anything else, Tensors and arrays included

    >>> named_children(["a", 5])
    [('0', 'a'), ('1', 5)]

    Source: The Python Language Reference, section 3.2, "Class instances".
    """
    ### BEGIN SOLUTION
    if isinstance(thing, Module):
        thing = vars(thing)
    if isinstance(thing, (list, tuple)):
        thing = dict(enumerate(thing))
    if not isinstance(thing, dict):
        return []
    return [(str(name), child) for name, child in thing.items()]
    ### END SOLUTION

# %% checks="children"
check("children")

# %% [markdown]
# A child can have children, so the traversal is recursive: a *depth-first search*. Two cases
# need care:
#
# - A module can hold the same tensor twice, like `tied` of `TwoHeads`. Many language models use
#   one tensor, with a row of weights for each word, in their first layer and again in their
#   last. If an optimizer got this tensor twice, it would update it twice per step.
# - A submodule can hold a reference to the module that holds it. A traversal that follows both
#   references never ends.
#
# So each object is listed only once.
#
# **Task.** Write `traverse`. `seen` holds the `id` of every object found so far. This is the
# hardest function of the lesson, because it calls itself. Draw a small network first, and
# number its objects in the order in which they should be listed.

# %% All submodules exercise="traverse"
#| export
def traverse(thing, path="", seen=None):
    """Every Module and every Tensor in `thing`, itself included, at any depth.

    thing    a Module, or a list, tuple or dict
    path     the path of `thing`: names joined by dots, "" at the top
    seen     a set with the id of every object found so far; None at the top
    returns  list of (path, Module or Tensor). A module comes before its children, and they are
             in the order of `named_children`. Each object is listed once, with the first path
             that leads to it

    >>> traverse({"a": [Tensor(1), Tensor(2)]})
    [('a.0', Tensor(1.)), ('a.1', Tensor(2.))]

    Source: depth-first search, Cormen et al., Introduction to Algorithms (4th edition), section
    20.3.
    """
    ### BEGIN SOLUTION
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return []
    seen.add(id(thing))
    found = [(path, thing)] if isinstance(thing, (Module, Tensor)) else []
    for name, child in named_children(thing):
        found += traverse(child, f"{path}.{name}" if path else name, seen)
    return found
    ### END SOLUTION

# %% checks="traverse"
check("traverse")

# %%
for path, part in traverse(TwoHeads()):
    print(f"{path!r:18} {type(part).__name__}")

# %% [markdown] page="Saving and loading"
# ## Named parameters
#
# Not every tensor in a module is a parameter. A **buffer** is a tensor of a module that is
# saved with it but not trained, such as a measured mean. A module can also store a result of
# its last computation, for example to plot it later. Two attributes of a tensor help to tell
# them apart, though not always: `requires_grad` (is a gradient wanted?) and `creator` (the
# operation that computed it, or None). Predict both for a parameter, for a buffer, and for a
# result computed from each of them.

# %% tags=["answer", "explained"]
parameter, buffer = Variable([2.0, 3.0]), Tensor([0.5, 0.25])
for name, tensor in [("parameter", parameter), ("parameter * 2", parameter * 2),
                     ("buffer", buffer), ("buffer * 2", buffer * 2)]:
    print(f"{name:13} requires_grad {tensor.requires_grad!s:5}  has a creator: "
          f"{tensor.creator is not None}")

# %% [markdown]
# Only a parameter requires a gradient and has no creator. But a buffer and `buffer * 2` look
# the same, because an operation without gradients is not recorded.
#
# Do not store a result that was computed from buffers in the module: it would be saved as one
# more buffer, and a new network, which does not have it, could not load the saved numbers.
# Store `result.numpy()` instead, because an array is neither a parameter nor a buffer.
#
# For a buffer that never changes, `self.mean = Tensor(...)` is enough, as in `TwoHeads`. If
# `forward` assigns new values, register the buffer in `__init__`:
# `self.register_buffer("mean", array)`. Then it stays a buffer, even when an array or a result
# computed from parameters is assigned to it.
#
# Beware of `self.bias = Variable(numbers).reshape(1, -1)`. It looks like a parameter, but the
# parameter is the Variable. Because the module holds only the result of `reshape`, no optimizer
# ever finds the Variable, and the bias is never trained.
#
# **Task.** Write `named_parameters`.

# %% Named parameters exercise="parameters"
#| export
def named_parameters(module):
    """The parameters: the tensors that require a gradient and are not the result of an
    operation (their `creator` is None).

    module   a Module, or a list, tuple or dict
    returns  list of (name, Tensor), with the paths and in the order of `traverse`

    >>> named_parameters([Variable(1), Tensor(2)])
    [('0', Tensor(1., requires_grad=True))]

    Source: torch.nn.Module.named_parameters, which also lists those with requires_grad=False.
    """
    ### BEGIN SOLUTION
    return [(path, part) for path, part in traverse(module)
            if isinstance(part, Tensor) and part.requires_grad and part.creator is None]
    ### END SOLUTION

# %% checks="parameters"
check("parameters")

# %% [markdown]
# These are the parameters of `net`, the network for pictures. It found them itself, without a
# list written by hand:

# %%
for name, tensor in net.named_parameters():
    print(f"{name:10} {tensor.shape!s:11} {tensor.size:7,}")
print(net)

# %% [markdown]
# ## The state dict
#
# Everything that a network has learned is in its parameters and buffers. A **state dict** is a
# dictionary from the name of each parameter and buffer of a module to a copy of its array. It
# must be a copy, because training goes on changing the module's own arrays.
#
# **Task.** Write `state_dict`.

# %% The state dict exercise="state"
#| export
def state_dict(module):
    """A copy of all parameters and buffers: of every Tensor of `module` whose creator is None.

    module   a Module
    returns  dict of {name: ndarray}. The names are the paths of `traverse`, in its order. Each
             array has the dtype of its tensor and shares no memory with the module

    >>> state_dict(Dense(1, 3, bias=False))["weights"].shape
    (1, 3)

    Source: torch.nn.Module.state_dict, which does not copy.
    """
    ### BEGIN SOLUTION
    return {path: part.numpy() for path, part in traverse(module)
            if isinstance(part, Tensor) and part.creator is None}
    ### END SOLUTION

# %% checks="state"
check("state")

# %% [markdown]
# **Serialization** means turning the data of a program into bytes that can be stored or sent,
# and read back later. NumPy serializes a dict of arrays in one line, so you can save a network
# in a file. (`tinytorch.save(state, path)` and `tinytorch.load(path)` also work for dicts in
# dicts, and an interrupted `save` does not leave half a file.)

# %%
import io

file = io.BytesIO()  # or a path, such as "net.npz"
np.savez(file, **net.state_dict())
file.seek(0)
print({name: array.shape for name, array in np.load(file).items()})

# %% [markdown]
# ## Loading a state dict
#
# Loading can lose your work without an error: if only half of a state fits and the other half
# is ignored, half of the network stays untrained. An array of shape (1,) would even be
# broadcast over a whole bias. We therefore compare all names and shapes first, and report all
# problems together.
#
# **Task.** Write `incompatible_keys`. You choose the wording of each message, but it must
# contain the name and the shapes.

# %% Missing and unexpected keys exercise="keys"
#| export
def incompatible_keys(module, state):
    """Why `state` does not fit `module`: one message for each key with a problem.

    module   a Module
    state    dict of {name: array, Tensor or nested lists}
    returns  list of str, empty when all keys fit. There is one message for each of:
             a missing key, with its name and the shape in the module;
             an unexpected key, with its name and the shape in `state`;
             a different shape, with the name and both shapes.

    Changes nothing. Shapes must be equal: (1,) does not fit (3,), and (6,) does not fit (2, 3).

    >>> incompatible_keys(Dense(1, 3, bias=False), {"weights": [[1, 2, 3]]})
    []
    >>> len(incompatible_keys(Dense(1, 3), {"weights": [1, 2, 3], "wieghts": 5}))
    3

    Source: torch.nn.Module.load_state_dict with strict=True.
    """
    ### BEGIN SOLUTION
    own = state_dict(module)
    missing = [f"missing key {name}, shape {own[name].shape}"
               for name in own if name not in state]
    unexpected = [f"unexpected key {name}, shape {np.shape(state[name])}"
                  for name in state if name not in own]
    different = [f"{name} has shape {np.shape(state[name])}, the module needs {own[name].shape}"
                 for name in own if name in state and np.shape(state[name]) != own[name].shape]
    return missing + unexpected + different
    ### END SOLUTION

# %% checks="keys"
check("keys")

# %% [markdown]
# Next comes the copying. Other objects may hold the same tensors as the module: an optimizer,
# or a second layer that shares its weights. Because the optimizer would continue to train the
# old tensor or array if loading replaced it, we write the numbers *into* the existing arrays.
#
# Predict: what do `a[...] = b` and `a = b` do, for two arrays?

# %% tags=["answer", "explained"]
a, b = np.zeros(3), np.ones(3)
held = a  # as an optimizer holds it
a[...] = b
print(held, a is held, a is b)
a = b
print(held, a is held, a is b)

# %% [markdown]
# `a[...] = b` writes into the existing array, which `held` shares. `a = b` only makes `a`
# another name of the array `b`.
#
# **Task.** Write `load_state_dict`. The given lines compare the keys. The dtype can also be
# wrong. Convert with `astype(dtype, casting="same_kind")`: it raises TypeError where plain
# `astype` would turn 0.5 into 0. Convert everything before you write anything, so that an error
# leaves the module unchanged.

# %% Loading a state dict exercise="load"
#| export
def load_state_dict(module, state):
    """Copy the arrays of `state` into the arrays of the tensors in `module`.

    module   a Module
    state    dict of {name: array, Tensor or nested lists}; it may hold the module's own
             tensors, even swapped, as in {"a": net.b, "b": net.a}
    returns  None

    Tensors and their arrays stay the same objects and keep their dtypes; nothing is shared with
    `state`. Raises ValueError with the messages of `incompatible_keys` if there are any, and
    TypeError if floating-point numbers would have to become integers. After an error, nothing
    in the module has changed.

    >>> net = Dense(1, 3)
    >>> load_state_dict(net, {"weights": [[1, 2, 3]], "bias": Tensor([0.5, 0, 0])})
    >>> net.weights
    Tensor([[1., 2., 3.]], requires_grad=True)

    Source: torch.nn.Module.load_state_dict; numpy.can_cast explains "same_kind".
    """
    check_state_dict(state)
    problems = incompatible_keys(module, state)
    if problems:
        raise ValueError(f"nothing was loaded: {'; '.join(problems)}")
    ### BEGIN SOLUTION
    own = [(path, part) for path, part in traverse(module)
           if isinstance(part, Tensor) and part.creator is None]
    new = {path: np.array(state[path]).astype(part.dtype, casting="same_kind")
           for path, part in own}
    for path, part in own:
        part.data[...] = new[path]
    ### END SOLUTION

# %% checks="load"
check("load")

# %%
try:
    Dense(2, 3).load_state_dict({"weights": np.ones((3, 2)), "bais": np.ones(3)})
except ValueError as error:
    print(error)

# %% [markdown] page="Training mode and dropout"
# ## Training and evaluation mode
#
# Some layers compute one thing while the network is being trained and another when it is used.
# **Training and evaluation mode** are the two states of a module for these two purposes. Its
# attribute `training` is True in training mode and False in evaluation mode.
#
# Predict: does `net.training = False` change the mode of a layer in a module in `net`?
#
# **Task.** Write `set_training`, which `net.train()` and `net.eval()` call.

# %% Training and evaluation mode exercise="training"
#| export
def set_training(module, mode):
    """Set the attribute `training` of `module` and of all its submodules to `mode`.

    module   a Module
    mode     True for training mode, False for evaluation mode
    returns  None

    >>> net = Sequential(Sequential(Flatten()))
    >>> set_training(net, False)
    >>> net[0][0].training
    False

    Source: torch.nn.Module.train.
    """
    ### BEGIN SOLUTION
    for _, part in traverse(module):
        if isinstance(part, Module):
            part.training = mode
    ### END SOLUTION

# %% checks="training"
check("training")

# %% tags=["answer"]
outer = Sequential(Sequential(Flatten()))
outer.training = False
print("after outer.training = False, the inner layer has training =", outer[0][0].training)
outer.eval()
print("after outer.eval(),           the inner layer has training =", outer[0][0].training)

# %% [markdown]
# ## Dropout
#
# A network with many parameters can memorize its examples instead of learning what they have in
# common (lesson 08). **Dropout** is a layer that sets each of its inputs to 0 with probability
# $p$ during training, so that no output can rely on one particular input. In evaluation mode it
# returns its inputs unchanged.
#
# If a fifth of the inputs are dropped in training, the sums in the next layer become smaller.
# Predict the mean of these sums in training, divided by their mean in evaluation mode:

# %% tags=["answer", "explained"]
rng = np.random.default_rng(1)
ones = Tensor(np.ones((2000, 100), "float32"))
weights = Tensor(rng.uniform(0, 1, (100, 1)).astype("float32"))
kept = rng.random((2000, 100)) >= 0.2
print(f"evaluation {float(linear(ones, weights).mean()):.1f}, "
      f"training {float(linear(ones * kept, weights).mean()):.1f}")

# %% [markdown]
# In training the mean is 0.8 times the mean in evaluation mode.
#
# The next layer would adapt to the smaller sums, and then get larger ones in evaluation mode.
# To make the mean the same in both modes, the inputs that are not dropped in training are
# divided by $1 - p$.
#
# **Task.** Write `Dropout.forward`. Draw the random numbers from `self.rng`, a generator that
# only this layer uses, so that the elements that it drops do not depend on the other layers.
# (`__init__`, which is given, makes this generator from the shared one with `spawn`, so
# `manual_seed` also determines which elements are dropped.)

# %% exercise="dropout"
#| export
class Dropout(Module):
    """In training mode: set each element to 0 with probability p, independently, and divide
    the others by 1 - p. In evaluation mode: return the input.

    p        the probability, from 0 up to, but not including, 1
    rng      a NumPy Generator or a seed; None for a new generator, derived from the shared one,
             that only this layer uses

    forward takes a Tensor of floating-point numbers and returns a Tensor of the same shape and
    dtype; its input is not changed. Every call draws a new mask, which says what to drop, from
    `self.rng`.

    >>> layer = Dropout(0.75, rng=0)
    >>> layer(Tensor([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]))
    Tensor([[ 0.,  0.,  0.,  0., 20., 24.]])
    >>> layer.eval()(Tensor([1.0, 2.0]))
    Tensor([1., 2.])

    Source: Srivastava et al., Dropout (2014), section 10; their p is our 1 - p.
    """

    def __init__(self, p=0.5, *, rng=None):
        if not 0 <= p < 1:
            raise ValueError("p is the probability of dropping an element, at least 0 and "
                             f"less than 1, not {p}")
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

# %% checks="dropout"
check("dropout")

# %%
layer = Dropout(0.5, rng=3)
for mode in (True, True, False):
    print("training  " if mode else "evaluation", layer.train(mode)(Tensor([1.0] * 10)))

# %% [markdown]
# `summary`, imported at the top of the chapter, passes a batch of zeros through a network in
# evaluation mode and returns a table with one row per layer. Look at it before every long
# training run:

# %%
net = Sequential(Flatten(), Dense(28 * 28, 128, init=he_normal), Tensor.relu, Dropout(0.2),
                 Dense(128, 10))
print(summary(net, input_shape=(32, 28, 28)))

# %% [markdown]
# ## XOR with weights set by hand
#
# Finally, we put everything together in a network of two layers whose weights we choose
# ourselves. The *exclusive or* (XOR) of two inputs is 1 when exactly one of them is 1, and no
# single layer can compute it. The picture shows all nine parameters: a weight at each arrow, a
# bias in each box.

# %%
from tinytorch.pictures.layers import draw_small_network

W1, b1, W2, b2 = [[1, 1], [1, 1]], [0, -1], [[1], [-2]], [0]
draw_small_network([(W1, b1), (W2, b2)], [["a", "b"], ["relu 1", "relu 2"], ["output"]])
# alt: Two inputs a and b, two relus, one output. All weights from the inputs are 1. Relu 1 has
# bias 0, relu 2 has bias -1. The output has bias 0 and the weights 1 and -2.

# %% [markdown]
# Predict what the two relus and the output are for (1, 1):

# %% tags=["answer", "explained"]
xor = Sequential(Dense(2, 2), Tensor.relu, Dense(2, 1))
xor.load_state_dict({"0.weights": W1, "0.bias": b1, "2.weights": W2, "2.bias": b2})
for pair in ([0, 0], [0, 1], [1, 0], [1, 1]):
    print(pair, "relus", xor[:2](Tensor(pair)).numpy(), "output", int(xor(Tensor(pair)).item()))

# %% [markdown]
# Relu 1 counts the inputs that are 1, while relu 2 is 1 only when both inputs are 1. Then its
# weight −2 reduces the count from 2 to 0.

# %% [markdown]
# You can choose nine numbers by thinking, but not the 101,770 of the network for pictures. For
# those, the next lessons measure how wrong a network is (05) and compute how each parameter
# should change (06).

# %% [markdown]
# ## Look back
#
# 1. Initialize all weights of two dense layers with the same number. Which weights can ever
#    become different from each other? Why is a bias of 0 no problem?
# 2. Does it matter for relu whether the variance is 2 / fan-in or 2 / fan-out? Change
#    `activation_stds` so that the widths alternate between 50 and 200, and measure.
# 3. Pass one input a hundred times through a network with dropout in training mode. Compute the
#    standard deviation of the outputs. For which inputs do you expect it to be large?
#
# The PyTorch names are `torch.nn.Linear` (its `weight` has shape (out, in)),
# `torch.nn.Sequential`, `torch.nn.Dropout`, `torch.nn.init.xavier_uniform_` and
# `torch.nn.init.kaiming_normal_`. `torch.nn.Module` finds `torch.nn.Parameter`s and submodules
# in attributes only; for a list or dict of them it has `torch.nn.ModuleList` and
# `torch.nn.ModuleDict`. A tensor becomes a buffer only through `register_buffer`, or as a
# `torch.nn.Buffer`.

# %% [markdown] tags=["answer"]
# 1. All hidden units stay copies of each other: only the weights of different inputs, and those
#    of different outputs, become different. A bias of 0 is no problem, because the weights of
#    two units differ from the start.
# 2. Hardly: with fan-out, the standard deviation doubles from 200 to 50 inputs and halves again
#    from 50 to 200, and does not grow with the depth.
# 3. It is large where the answer depends on which units are left, for example near the decision
#    boundary. Gal and Ghahramani (2016) use it as a measure of uncertainty.
