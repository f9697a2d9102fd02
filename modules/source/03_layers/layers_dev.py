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
#     terms: []
#     title: Layers
# ---

# %% [markdown]
# # 03. Layers
#
# A network is a long formula with thousands of numbers in it that nobody has chosen yet. Before
# they can be learned, somebody must say where they live, how to find them all, what they are on
# the first day, and how to keep them overnight. This chapter answers these four.
#
# **You need** 01 (Tensor); 02 (Activations) says why layers need bends between them. **You
# write** the dense layer, two ways to start it, the walk that finds every parameter, dropout,
# and saving.

# %%
#| default_exp core.layers
#| export
import math

import numpy as np

from tinytorch.core.tensor import Tensor, Variable

# %% [markdown]
# ## Weigh and add
#
# A dense layer asks every input about every output: each output is a weighted sum of all the
# inputs, plus a number of its own, the *bias*. For a batch of rows that is one matrix product:
# $y = xW + b$, where column $j$ of $W$ holds the weights of output $j$.
#
# Predict both shapes, and what would happen if `b` had the shape (3, 1).

# %%
x = Tensor([[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]])  # three examples of two numbers
W = Tensor([[1.0, 0.0, 3.0, -1.0], [0.0, 1.0, 4.0, 2.0]])  # from two numbers to four
b = Tensor([10.0, 20.0, 30.0, 40.0])
print((x @ W).shape, (x @ W + b).shape)

# %% [markdown]
# A bias of shape (3, 1) would also have been added without a word, one number per *example*
# instead of one per output; with another batch size it would crash. So the bias has shape
# (out,), and lines up at the right.
#
# **Task.** Write `linear`. Some layers go without a bias; then it is `None`.

# %% exercise="linear"
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

    Source: torch.nn.functional.linear, which keeps its weights the other way round, as (out,
    in).
    """
    ### BEGIN SOLUTION
    out = x @ weights
    return out if bias is None else out + bias
    ### END SOLUTION

# %% checks="linear"
check("linear")

# %% [markdown]
# ## The first day
#
# What should the weights be before anything was learned? All equal will not do: then all
# outputs of a layer are equal too, and whatever changes one changes the others. So they are
# drawn at random. How far from 0?
#
# Predict what twenty layers of 100 numbers do to a signal of spread 1 when the weights have a
# standard deviation of 0.01, and of 0.2.

# %%
def spreads(std, bend, layers=20, width=100):
    """The standard deviation of a signal after each of `layers` random layers with `bend`
    behind them."""
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
    print(f"std {std}: after 1, 2, 10 and 20 layers {found[0]:.2g}, {found[1]:.2g}, "
          f"{found[9]:.2g}, {found[19]:.2g}")

# %% [markdown]
# Each layer multiplies the spread by the same factor, and twenty layers by its twentieth power.
# One output is a sum of `fan_in` products, and variances of independent terms add:
#
# $$\mathrm{var}(y) = \text{fan\_in} \cdot \mathrm{var}(w) \cdot \mathrm{var}(x).$$
#
# The spread stays when $\mathrm{var}(w) = 1 / \text{fan\_in}$. Here that is a standard
# deviation of $1/\sqrt{100} = 0.1$:

# %%
print(" ".join(f"{s:.2f}" for s in spreads(0.1, as_is)))

# %% [markdown]
# Slopes travel backward through the same weights, and each is a sum over the layer's `fan_out`
# outputs; they ask for $1 / \text{fan\_out}$. Glorot and Bengio took the middle:
#
# $$\mathrm{var}(w) = 2 / (\text{fan\_in} + \text{fan\_out}).$$
#
# It is called Xavier, by Glorot's first name, and often drawn evenly between $-a$ and $a$,
# which has the variance $a^2 / 3$.
#
# First, where chance comes from: one generator of this module, never NumPy's global one, which
# any library may draw from.

# %%
#| exporti
class RandomState:
    """Where layers draw from when nobody hands them a generator. The seed differs in every run
    until `manual_seed`."""

    rng = np.random.default_rng()


def generator(rng=None):
    """The NumPy Generator to draw from: `rng` itself, a new one for a whole number, the
    module's own for None."""
    return RandomState.rng if rng is None else np.random.default_rng(rng)

# %%
#| export
def manual_seed(seed):
    """Start the layers' generator anew, so that the same program draws the same numbers again.

    seed     a whole number >= 0

    Everything drawn after this depends on `seed` and on the order of drawing, and on nothing
    else.
    """
    RandomState.rng = np.random.default_rng(seed)

# %% [markdown]
# **Task.** Write `xavier_uniform`.

# %% exercise="xavier"
#| export
def xavier_uniform(fan_in, fan_out, rng=None, shape=None):
    """Weights drawn evenly between -a and a, with the variance 2 / (fan_in + fan_out): for
    tanh, sigmoid or no bend.

    fan_in   how many inputs each output weighs
    fan_out  how many outputs each input goes to
    rng      a NumPy Generator, a seed, or None for this module's own generator (see
             `generator`)
    shape    of the result; (fan_in, fan_out) if None
    returns  float32 ndarray

    >>> bool(np.abs(xavier_uniform(4, 2)).max() <= 1)
    True

    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward neural
    networks (2010), (16).
    """
    ### BEGIN SOLUTION
    a = math.sqrt(6 / (fan_in + fan_out))
    shape = (fan_in, fan_out) if shape is None else shape
    return generator(rng).uniform(-a, a, shape).astype(np.float32)
    ### END SOLUTION

# %% checks="xavier"
check("xavier")

# %% [markdown]
# Now the bends. `tanh` leaves small numbers nearly alone. `relu` sets half of them to 0, and
# with them goes half of the mean square. Predict what Xavier's weights do to twenty layers with
# relu, in powers of two.

# %%
print(f"tanh {spreads(0.1, Tensor.tanh)[-1]:.3f}   relu {spreads(0.1, Tensor.relu)[-1]:.5f}   "
      f"{2**-10:.5f}")

# %% [markdown]
# What relu halves, the weights can double: $\mathrm{var}(w) = 2 / \text{fan\_in}$. He and
# colleagues found it for networks of thirty layers that would not start to learn otherwise;
# PyTorch calls it Kaiming, again by a first name.
#
# **Task.** Write `he_normal`, with the bell curve this time.

# %% exercise="he"
#| export
def he_normal(fan_in, fan_out, rng=None, shape=None):
    """Weights drawn from the normal distribution with the variance 2 / fan_in: for relu and its
    kin.

    fan_in   how many inputs each output weighs
    fan_out  how many outputs each input goes to; only the shape depends on it
    rng      a NumPy Generator, a seed, or None for this module's own generator (see
             `generator`)
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

# %% checks="he"
check("he")

# %% [markdown]
# All of it in one picture. Predict the six lines, and look at the one that seems not to mind.

# %%
import matplotlib.pyplot as plt

xavier, he = math.sqrt(2 / (100 + 100)), math.sqrt(2 / 100)
figure, axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True)
for axis, bend, right, name in [(axes[0], Tensor.tanh, xavier, "Xavier"),
                                (axes[1], Tensor.relu, he, "He")]:
    for std, label in [(3 * right, "3 times as large"), (right, name), (right / 3, "a third")]:
        axis.semilogy(range(1, 21), spreads(std, bend), label=label)
    axis.set(xlabel=f"layers with {bend.__name__}", xticks=(1, 5, 10, 15, 20))
    axis.set_ylabel("spread of the signal")
    axis.legend(loc="lower left")
# alt: Spread of the signal over 20 layers, on a logarithmic scale, with tanh and with relu. The
# recommended start stays level; a third of it dies out to 1e-10; three times as much explodes
# with relu.

# %% [markdown]
# Too large weights cannot make tanh explode: its ends, -1 and 1, hold the spread. Something
# else goes wrong. Send two signals through that differ by 1 % of their spread, and ask by how
# much the results differ. Predict it for Xavier's weights, and for three times as much.

# %%
def apart(std, layers=20):
    """How far two signals are apart after `layers` layers with tanh, in units of their spread;
    at first 0.01."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 100))
    near = Tensor(np.stack([x, x + 0.01 * rng.normal(size=x.shape)]).astype("float32"))
    for _ in range(layers):
        near = linear(near, Tensor(rng.normal(0, std, (100, 100)).astype("float32"))).tanh()
    return float((near[1] - near[0]).std() / near.std())


print(f"Xavier {apart(xavier):.3f}   3 times as large {apart(3 * xavier):.3f}")

# %% [markdown]
# Neighbours become strangers: what the network says of one picture tells nothing of the next,
# and slopes, which measure just that, explode.

# %% [markdown]
# ## Where the numbers live
#
# Training needs every number of a network that may be learned: to change it, to save it, to
# count it. Nobody should have to list them by hand, because the one that is forgotten never
# learns, and nothing complains. So a network is an object, its numbers are `Variable`s among
# its attributes, and finding them is a walk.
#
# `Module` is the class of all layers and networks. Its methods call functions that you write
# below; a subclass adds attributes and `forward`.

# %%
#| export
class Module:
    """A layer, or a network of layers: something with parameters that makes tensors from
    tensors.

    A subclass keeps Variables, tensors and other modules as attributes, also in lists, tuples
    and dicts, and writes `forward`. It is called like a function: `net(x)`.

    .training   True at first; dropout and its kin behave differently in training
    """

    training = True  # on the class, so that no subclass needs to call super().__init__()

    def forward(self, *inputs):
        raise NotImplementedError(f"{type(self).__name__} has no method forward; "
                                  "it says what the layer computes")

    def __call__(self, *inputs, **options):
        return self.forward(*inputs, **options)

    def modules(self):
        """This module and all modules inside it, a list."""
        return [part for _, part in walk(self) if isinstance(part, Module)]

    def named_parameters(self):
        """The tensors to be learned, as a list of (name, tensor); a name is a path, such as
        "hidden.bias"."""
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
        """A copy of all that the module has learned: {name: ndarray}. `numpy.savez(file,
        **state)` keeps it."""
        return state_of(self)

    def load_state_dict(self, state):
        """Take over what `state_dict` gave, all of it or nothing. ValueError tells every name
        that does not fit."""
        problems = state_problems(self, state)
        if problems:
            raise ValueError("this state does not fit, nothing was loaded: "
                             f"{'; '.join(problems)}")
        load_state(self, state)

    def __repr__(self):
        return f"{type(self).__name__}({sum(p.size for p in self.parameters()):,} parameters)"


Layer = Module

# %% [markdown]
# Modules hold modules: a transformer keeps its blocks in a list, its heads in another, and
# somebody will use a dict. The walk needs one small thing that knows what is directly inside
# what.
#
# **Task.** Write `parts_of`. What an attribute is called is its name; what stands in a list has
# its place for a name.

# %% exercise="parts"
#| export
def parts_of(thing):
    """What is directly inside `thing`, in order.

    thing    anything
    returns  list of (name, part) with names of type str: the attributes of a Module, the items
             of a dict, the places of a list or tuple; an empty list for anything else

    >>> parts_of(["a", 5])
    [('0', 'a'), ('1', 5)]

    Source: The Python Language Reference, section 3.2, "Class instances".
    """
    ### BEGIN SOLUTION
    if isinstance(thing, Module):
        thing = vars(thing)
    if isinstance(thing, (list, tuple)):
        thing = dict(enumerate(thing))
    return ([(str(name), part) for name, part in thing.items()]
            if isinstance(thing, dict) else [])
    ### END SOLUTION

# %% checks="parts"
check("parts")

# %% [markdown]
# A part may have parts, so the walk calls itself. Two traps lie on the way. One tensor can be
# met twice: language models use the same table to read words and to write them. An optimizer
# that gets it twice takes two steps with it. And a module may point back to the one that holds
# it: a walk that follows every arrow never ends.
#
# **Task.** Write `walk`. The cure for both traps is the same.

# %% exercise="walk"
#| export
def walk(thing, path="", seen=None):
    """Every Module and every Tensor in `thing`, itself included, however deep.

    thing    a Module, or a list, tuple or dict
    path     the path of `thing`: names joined by dots; "" at the start
    seen     a set with the id of everything met before; None at the start
    returns  list of (path, Module or Tensor) in the order of `parts_of`, parts behind what
             holds them; each thing once, under the first path that leads to it

    >>> walk({"a": [Tensor(1), Tensor(2)]})
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
    for name, part in parts_of(thing):
        found += walk(part, f"{path}.{name}" if path else name, seen)
    return found
    ### END SOLUTION

# %% checks="walk"
check("walk")

# %% [markdown]
# Not every tensor in a module is to be learned. Some are measured, such as a running mean; they
# must be saved, but no optimizer may touch them. Some are results that a layer keeps for a look
# later: they want a gradient, because what they were made from does. Predict which two
# attributes of a Tensor tell the three kinds apart.

# %%
learned = Variable([2.0, 3.0])
for name, tensor in [("learned", learned), ("measured", Tensor([0.5, 0.25])),
                     ("result", learned * 2)]:
    print(f"{name:9} requires_grad {tensor.requires_grad!s:6} has a creator: "
          f"{tensor.creator is not None}")

# %% [markdown]
# The third kind is an old trap: `self.bias = Variable(numbers).reshape(1, -1)` looks like a
# parameter, but it is a result, and its gradient goes to a tensor that nobody holds.
#
# **Task.** Write `named_parameters`.

# %% exercise="parameters"
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

# %% checks="parameters"
check("parameters")

# %% [markdown]
# ## The dense layer
#
# All the parts are there: `linear`, a way to draw, and an object that keeps. Predict how many
# numbers a layer from a photograph of 28 by 28 to 128 outputs has to learn.
#
# **Task.** Write the missing lines of `Dense`: its two parameters, under the names `weights`
# and `bias`. The bias starts at 0; the weights already differ.

# %% exercise="dense"
#| export
class Dense(Module):
    """A layer in which every output is a weighted sum of all inputs, plus a bias.

    in_features   how many numbers each example has
    out_features  how many it shall have
    bias          whether a number is added to each output
    init          draws the first weights, as init(in_features, out_features, rng):
                  xavier_uniform, he_normal, ...
    rng           a NumPy Generator, a seed, or None for this module's own generator

    .weights      Variable of shape (in_features, out_features)
    .bias         Variable of shape (out_features,), zeros at first; or None

    >>> Dense(3, 4)(Tensor([[1, 2, 3], [4, 5, 6]])).shape
    (2, 4)

    Source: torch.nn.Linear, but for the transposed weights and the way they start.
    """

    def __init__(self, in_features, out_features, bias=True, init=xavier_uniform, rng=None):
        if in_features < 1 or out_features < 1:
            raise ValueError("Dense needs 1 number or more on both sides, "
                             f"not {in_features} and {out_features}")
        self.in_features, self.out_features = in_features, out_features
        ### BEGIN SOLUTION
        self.weights = Variable(init(in_features, out_features, rng))
        self.bias = Variable(np.zeros(out_features, np.float32)) if bias else None
        ### END SOLUTION

    def forward(self, x):
        if np.shape(x)[-1:] != (self.in_features,):
            raise ValueError(f"{self} takes inputs of shape (..., {self.in_features}), "
                             f"not {np.shape(x)}: does the layer before give another width, "
                             "or is a Flatten() missing?")
        return linear(x, self.weights, self.bias)

    def __repr__(self):
        return (f"Dense({self.in_features}, "
                f"{self.out_features}{', bias=False' if self.bias is None else ''})")


Linear = Dense

# %% checks="dense"
check("dense")

# %%
manual_seed(0)
photograph = Dense(28 * 28, 128, init=he_normal)
print(photograph, sum(p.size for p in photograph.parameters()))

# %% [markdown]
# ## One after the other
#
# Most networks are rows of layers: what one gives, the next takes. `Sequential` keeps its
# layers under the names "0", "1", ... so that the first layer's weights are called "0.weights".
# A bend has nothing to learn, so any function may be a member.
#
# **Task.** Write `forward` of `Sequential`.

# %% exercise="sequential"
#| export
class Sequential(Module):
    """Layers one after the other: Sequential(f, g)(x) is g(f(x)). With no layers, it gives back
    x.

    layers   Modules, or functions of one tensor

    .layers  the members as a list; net[0] and net[-1] are members, net[:2] is a new Sequential
             of the same members, len(net) counts them and `for layer in net` walks them

    >>> Sequential(Tensor.exp, Tensor.sum)(Tensor([0.0, 0.0]))
    Tensor(2.)

    Source: torch.nn.Sequential.
    """

    def __init__(self, *layers):
        for place, layer in enumerate(layers):
            if not callable(layer):
                raise TypeError("Sequential takes layers and functions, one by one, "
                                f"not {layer!r:.60}: Sequential(*layers) opens a list")
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

# %% checks="sequential"
check("sequential")

# %% [markdown]
# Pictures come as grids, and a dense layer takes rows. `Flatten` joins all axes but the first,
# which counts the examples.

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
# A network of many numbers can learn its examples by heart. *Dropout* makes that hard: in
# training, each number that passes is set to 0 with probability $p$, so that no output can rely
# on one particular input. In use, nothing is dropped.
#
# So a layer must know which of the two it is doing, deep inside whatever holds it. Predict what
# `net.training = False` does to a dropout layer in a list in a block in `net`.
#
# **Task.** Write `set_training`.

# %% exercise="training"
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

# %% checks="training"
check("training")

# %% [markdown]
# Now the dropping. If a fifth of the inputs goes to 0, the sums in the next layer shrink, and
# in use, with nothing dropped, that layer meets larger sums than it ever saw. Predict by which
# factor:

# %%
rng = np.random.default_rng(1)
ones, weights = (Tensor(np.ones((2000, 100), "float32")),
                 Tensor(rng.uniform(0, 1, (100, 1)).astype("float32")))
kept = rng.random((2000, 100)) >= 0.2
print(f"in use {float(linear(ones, weights).mean()):.1f}, "
      f"in training {float(linear(ones * kept, weights).mean()):.1f}")

# %% [markdown]
# The usual cure is to enlarge what survives, in training, so that the mean stays and use costs
# nothing.
#
# **Task.** Write `forward` of `Dropout`. The layer has a generator of its own, so that its
# masks do not change when a layer elsewhere draws its weights.

# %% exercise="dropout"
#| export
class Dropout(Module):
    """In training: each number becomes 0 with probability p, and the others are divided by 1 -
    p. In use: nothing.

    p        from 0 up to, but not including, 1
    rng      a NumPy Generator or a seed; None for a generator of the layer's own, split off
             from the module's

    forward takes a Tensor of fractions and returns one of the same shape and dtype; every call
    draws anew.

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

# %% checks="dropout"
check("dropout")

# %% [markdown]
# ## A look at the whole
#
# Before training for a day, look at what was built: which shapes pass through, and where the
# numbers are. `summary` sends a batch of zeros through and prints a row per layer.

# %%
#| exporti
class Text(str):
    """Text that a notebook shows as it is, without quotes."""

    __repr__ = str.__str__


def summary_rows(layer, x, path, counted):
    """The rows (path and layer, shape of the result, parameters not counted before) below
    `layer`, and its result."""
    if isinstance(layer, Sequential) and type(layer).forward is Sequential.forward:
        rows = []
        for place, member in enumerate(layer):
            more, x = summary_rows(member, x, f"{path}{place}.", counted)
            rows += more
        return rows, x
    x = layer(x)
    new = [p for _, p in named_parameters(layer) if id(p) not in counted]
    counted |= {id(p) for p in new}
    return ([(f"{path.rstrip('.')} {name_of(layer)}".strip(), str(x.shape),
              f"{sum(p.size for p in new):,}")], x)

# %%
#| export
def summary(model, input_shape, dtype=np.float32):
    """A table of the layers of `model`: the shape of each result and how many numbers each
    layer has to learn.

    input_shape  the shape of a whole batch, such as (32, 784)
    dtype        of the zeros that are sent through; np.int64 for models that read words
    returns      text, shown as a table by print and by notebooks

    A Sequential is opened, any other module is one row. A shared parameter is counted where it
    is met first. Dropout is off meanwhile; afterwards every `training` is as it was.
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
net = Sequential(Flatten(), Dense(28 * 28, 128, init=he_normal), Tensor.relu, Dropout(0.2),
                 Dense(128, 10))
print(net, summary(net, (32, 28, 28)), sep="\n")

# %% [markdown]
# ## Overnight
#
# What a network has learned is its tensors under their names. To keep them means to copy them:
# training changes the live arrays, and a "saved" state that changes with them saves nothing.
# Measured numbers, such as a running mean, belong to it as well; results do not.
#
# **Task.** Write `state_of`.

# %% exercise="state"
#| export
def state_of(module):
    """A copy of the numbers in a module: all its tensors that are no result of an operation.

    module   a Module
    returns  dict of {name: ndarray}, named and ordered as in `walk`; no array is shared with
             the module

    >>> state_of(Dense(1, 3, bias=False))["weights"].shape
    (1, 3)

    Source: torch.nn.Module.state_dict.
    """
    ### BEGIN SOLUTION
    return {path: part.numpy() for path, part in walk(module) if isinstance(part, Tensor)
            and part.creator is None}
    ### END SOLUTION

# %% checks="state"
check("state")

# %% [markdown]
# The way back is where work gets lost: a state that fits half of a network, loaded without a
# word. A shape of (1,) would even broadcast over a whole row. So first look at everything, and
# complain about everything at once.
#
# **Task.** Write `state_problems`. A list of complaints; an empty one means that all is well.

# %% exercise="problems"
#| export
def state_problems(module, state):
    """Why `state` does not fit `module`, in words.

    module   a Module
    state    dict of {name: array, Tensor or nested lists}
    returns  list of str, one per name: for every name that `state` lacks, that it has too much,
             or whose shape differs. Each tells the name and the shape, or both shapes. Empty
             when all fits.

    Changes nothing.

    >>> state_problems(Dense(1, 3, bias=False), {"weights": [[1, 2, 3]]})
    []
    >>> len(state_problems(Dense(1, 3), {"weights": [1, 2, 3], "wieghts": 5}))
    3

    Source: torch.nn.Module.load_state_dict with strict=True.
    """
    ### BEGIN SOLUTION
    mine = state_of(module)
    problems = [f"{name} of shape {mine[name].shape} is missing"
                for name in mine if name not in state]
    problems += [f"{name} of shape {np.shape(state[name])} is unknown here"
                 for name in state if name not in mine]
    return problems + [
        f"{name} has shape {np.shape(state[name])} where {mine[name].shape} is needed"
        for name in mine if name in state and np.shape(state[name]) != mine[name].shape]
    ### END SOLUTION

# %% checks="problems"
check("problems")

# %% [markdown]
# Now the writing. Others hold the module's tensors: an optimizer, a layer that shares them. If
# loading put new tensors, or new arrays, in their place, the optimizer would go on improving
# the old ones, which nobody uses. So the numbers go *into* the arrays that are there.
#
# Predict what `a[...] = b` does, and what `a = b` does, for two arrays.
#
# **Task.** Write `load_state`. All names and shapes fit, that was asked before. A dtype may
# not: then `astype` should refuse, and before the first number is written.

# %% exercise="load"
#| export
def load_state(module, state):
    """Write the numbers of `state` into the arrays that the tensors of `module` have.

    module   a Module
    state    dict of {name: array, Tensor or nested lists}, with all the names and shapes of
             state_of(module)
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
    mine = [(path, part) for path, part in walk(module) if isinstance(part, Tensor)
            and part.creator is None]
    new = {path: np.array(state[path]).astype(part.dtype, casting="same_kind")
           for path, part in mine}
    for path, part in mine:
        part.data[...] = new[path]
    ### END SOLUTION

# %% checks="load"
check("load")

# %% [markdown]
# ## A network set by hand
#
# Everything at once: a network of two layers, with weights that nobody learned. Exclusive or is
# true when exactly one of two inputs is 1, and no single layer can do it. Work out on paper
# what the two relus give for (1, 1), then run.

# %%
xor = Sequential(Dense(2, 2), Tensor.relu, Dense(2, 1))
xor.load_state_dict({"0.weights": [[1, 1], [1, 1]], "0.bias": [0, -1], "2.weights": [[1], [-2]],
                     "2.bias": [0]})
for pair in ([0, 0], [0, 1], [1, 0], [1, 1]):
    print(pair, int(xor(Tensor(pair)).item()))

# %% [markdown]
# Nine numbers, chosen by thought. To find 101,770 of them nobody can think; for that, the next
# lessons measure how wrong a network is, and in which direction each of its numbers should
# move.

# %%
try:
    xor.load_state_dict({"0.weights": [[1, 1]], "0.bias": [0, -1], "weights": [[1], [-2]],
                         "2.bias": [0]})
except ValueError as error:
    print(error)
print(summary(xor, (4, 2)))

# %% [markdown]
# ## Look back
#
# 1. Start all weights of a network of two dense layers with the same number. Which of the
#    weights would ever become different from each other, and why is a bias of 0 no such
#    trouble?
# 2. With relu, does it matter whether He's variance is 2 / fan_in or 2 / fan_out? Measure a
#    signal, with `spreads` changed to layers whose widths alternate between 50 and 200.
# 3. Dropout is switched off for a `summary`, and for use. Send one input a hundred times
#    through a network that stays in training. What does the spread of the answers tell?
