# From modules/source/04_layers/layers_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 9acaf32fb81f0faa
"""Layers: Fully connected layers, initialization, modules, dropout, saving and loading."""

import math

import numpy as np

from tinytorch.core.tensor import Tensor, Variable
from tinytorch.support.checkpoints import check_state_dict
from tinytorch.support.layer_watch import summary
from tinytorch.support.modules import ModuleMethods, cast_to, check_layer, clear_gradients

__all__ = [
    "linear", "RandomState", "generator", "manual_seed", "xavier_uniform", "he_normal", "Module", "Layer", "Dense",
    "fan_in_uniform", "Linear", "Sequential", "Flatten", "named_children", "traverse", "named_parameters",
    "state_dict", "incompatible_keys", "load_state_dict", "set_training", "Dropout",
]


def linear(x, weights, bias=None):
    """The outputs of a fully connected layer, x @ weights + bias.

    x        Tensor of shape (..., in): any number of axes before the last
    weights  Tensor of shape (in, out)
    bias     Tensor of shape (out,), or None
    returns  Tensor of shape (..., out)

    Raises ValueError that names both shapes when the last length of `x` is not `in`.

    >>> linear(Tensor([[1, 2]]), Tensor([[1, 0, 3], [0, 1, 4]]), Tensor([10, 20, 30]))
    Tensor([[11, 22, 41]])
    """
    out = x @ weights
    return out if bias is None else out + bias


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


def xavier_uniform(fan_in, fan_out, rng=None, shape=None):
    """Weights from the uniform distribution between -a and a with variance
    2 / (fan_in + fan_out): for layers with tanh, sigmoid or no activation function.

    shape    shape of the result
    returns  float32 ndarray

    >>> bool(np.abs(xavier_uniform(4, 2)).max() <= 1)
    True
    """
    a = math.sqrt(6 / (fan_in + fan_out))
    shape = (fan_in, fan_out) if shape is None else shape
    return generator(rng).uniform(-a, a, shape).astype(np.float32)


def he_normal(fan_in, fan_out, rng=None, shape=None):
    """Weights from the normal distribution with mean 0 and variance 2 / fan_in: for layers with
    relu and similar functions.

    shape    shape of the result
    returns  float32 ndarray

    >>> he_normal(27, 8, shape=(8, 3, 3, 3)).shape  # a convolution (lesson 10): 27 = 3 * 3 * 3
    (8, 3, 3, 3)
    """
    shape = (fan_in, fan_out) if shape is None else shape
    return generator(rng).normal(0, math.sqrt(2 / fan_in), shape).astype(np.float32)


class Module(ModuleMethods):
    """The base class of layers and networks."""

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


class Dense(Module):
    """A fully connected layer: each output is a weighted sum of all inputs, plus a bias.

    .weights      Variable of shape (in_features, out_features), as `init` returns it
    .bias         float32 Variable of shape (out_features,), zeros at first

    >>> Dense(3, 4)(Tensor([[1, 2, 3], [4, 5, 6]])).shape
    (2, 4)
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
        self.weights = Variable(init(in_features, out_features, rng))
        self.bias = Variable(np.zeros(out_features, np.float32)) if bias else None

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


class Sequential(Module):
    """Layers in order: Sequential(f, g)(x) is g(f(x)), and Sequential()(x) is x.

    >>> Sequential(Tensor.exp, Tensor.sum)(Tensor([0.0, 0.0]))
    Tensor(2.)
    """

    def __init__(self, *layers):
        for index, layer in enumerate(layers):
            setattr(self, str(index), check_layer(layer))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

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


def named_children(thing):
    """The objects that `thing` holds directly, in order.

    returns  list of (name, child), each name a str

    >>> named_children(["a", 5])
    [('0', 'a'), ('1', 5)]
    """
    if isinstance(thing, Module):
        thing = vars(thing)
    if isinstance(thing, (list, tuple)):
        thing = dict(enumerate(thing))
    if not isinstance(thing, dict):
        return []
    return [(str(name), child) for name, child in thing.items()]


def traverse(thing, path="", seen=None):
    """Every Module and every Tensor in `thing`, itself included, at any depth.

    returns  list of (path, Module or Tensor)

    >>> traverse({"a": [Tensor(1), Tensor(2)]})
    [('a.0', Tensor(1.)), ('a.1', Tensor(2.))]
    """
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return []
    seen.add(id(thing))
    found = [(path, thing)] if isinstance(thing, (Module, Tensor)) else []
    for name, child in named_children(thing):
        found += traverse(child, f"{path}.{name}" if path else name, seen)
    return found


def named_parameters(module):
    """The parameters: the tensors that require a gradient and are not the result of an
    operation (their `creator` is None).

    returns  list of (name, Tensor), with the paths and in the order of `traverse`

    >>> named_parameters([Variable(1), Tensor(2)])
    [('0', Tensor(1., requires_grad=True))]
    """
    return [(path, part) for path, part in traverse(module)
            if isinstance(part, Tensor) and part.requires_grad and part.creator is None]


def state_dict(module):
    """A copy of all parameters and buffers: of every Tensor of `module` whose creator is None.

    returns  dict of {name

    >>> state_dict(Dense(1, 3, bias=False))["weights"].shape
    (1, 3)
    """
    return {path: part.numpy() for path, part in traverse(module)
            if isinstance(part, Tensor) and part.creator is None}


def incompatible_keys(module, state):
    """Why `state` does not fit `module`: one message for each key with a problem.

    returns  list of str, empty when all keys fit

    >>> incompatible_keys(Dense(1, 3, bias=False), {"weights": [[1, 2, 3]]})
    []
    """
    own = state_dict(module)
    missing = [f"missing key {name}, shape {own[name].shape}"
               for name in own if name not in state]
    unexpected = [f"unexpected key {name}, shape {np.shape(state[name])}"
                  for name in state if name not in own]
    different = [f"{name} has shape {np.shape(state[name])}, the module needs {own[name].shape}"
                 for name in own if name in state and np.shape(state[name]) != own[name].shape]
    return missing + unexpected + different


def load_state_dict(module, state):
    """Copy the arrays of `state` into the arrays of the tensors in `module`.

    Raises ValueError with the messages of `incompatible_keys` if there are any, and TypeError
    if floating-point numbers would have to become integers.
    """
    check_state_dict(state)
    problems = incompatible_keys(module, state)
    if problems:
        raise ValueError(f"nothing was loaded: {'; '.join(problems)}")
    own = [(path, part) for path, part in traverse(module)
           if isinstance(part, Tensor) and part.creator is None]
    new = {path: np.array(state[path]).astype(part.dtype, casting="same_kind")
           for path, part in own}
    for path, part in own:
        part.data[...] = new[path]


def set_training(module, mode):
    """Set the attribute `training` of `module` and of all its submodules to `mode`."""
    for _, part in traverse(module):
        if isinstance(part, Module):
            part.training = mode


class Dropout(Module):
    """In training mode: set each element to 0 with probability p, independently, and divide
    the others by 1 - p. In evaluation mode: return the input.
    """

    def __init__(self, p=0.5, *, rng=None):
        if not 0 <= p < 1:
            raise ValueError("p is the probability of dropping an element, at least 0 and "
                             f"less than 1, not {p}")
        self.p = p
        self.rng = generator().spawn(1)[0] if rng is None else generator(rng)

    def forward(self, x):
        if not self.training:
            return x
        keep = self.rng.random(x.shape) >= self.p
        return x * keep / (1 - self.p)

    def __repr__(self):
        return f"Dropout({self.p})"
