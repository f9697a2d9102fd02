# From modules/source/03_layers/layers_dev.py by `tito export`; edit that file, not this one.
# checksum: fb41f717741dfec2
"""Layers: Numbers to be learned, kept where they can be found, set well and saved."""

import math

import numpy as np

from tinytorch.core.tensor import Tensor, Variable

__all__ = [
    "linear", "manual_seed", "xavier_uniform", "he_normal", "Module", "Layer", "parts_of", "walk", "named_parameters",
    "Dense", "Linear", "Sequential", "name_of", "Flatten", "set_training", "Dropout", "summary", "state_of",
    "state_problems", "load_state",
]


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
    out = x @ weights
    return out if bias is None else out + bias


class RandomState:
    """Where layers draw from when nobody hands them a generator. The seed differs in every run
    until `manual_seed`."""

    rng = np.random.default_rng()


def generator(rng=None):
    """The NumPy Generator to draw from: `rng` itself, a new one for a whole number, the
    module's own for None."""
    return RandomState.rng if rng is None else np.random.default_rng(rng)


def manual_seed(seed):
    """Start the layers' generator anew, so that the same program draws the same numbers again.

    seed     a whole number >= 0

    Everything drawn after this depends on `seed` and on the order of drawing, and on nothing
    else.
    """
    RandomState.rng = np.random.default_rng(seed)


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
    a = math.sqrt(6 / (fan_in + fan_out))
    shape = (fan_in, fan_out) if shape is None else shape
    return generator(rng).uniform(-a, a, shape).astype(np.float32)


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
    shape = (fan_in, fan_out) if shape is None else shape
    return generator(rng).normal(0, math.sqrt(2 / fan_in), shape).astype(np.float32)


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


def parts_of(thing):
    """What is directly inside `thing`, in order.

    thing    anything
    returns  list of (name, part) with names of type str: the attributes of a Module, the items
             of a dict, the places of a list or tuple; an empty list for anything else

    >>> parts_of(["a", 5])
    [('0', 'a'), ('1', 5)]

    Source: The Python Language Reference, section 3.2, "Class instances".
    """
    if isinstance(thing, Module):
        thing = vars(thing)
    if isinstance(thing, (list, tuple)):
        thing = dict(enumerate(thing))
    return ([(str(name), part) for name, part in thing.items()]
            if isinstance(thing, dict) else [])


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
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return []
    seen.add(id(thing))
    found = [(path, thing)] if isinstance(thing, (Module, Tensor)) else []
    for name, part in parts_of(thing):
        found += walk(part, f"{path}.{name}" if path else name, seen)
    return found


def named_parameters(module):
    """The tensors to be learned: those that want a gradient and are no result of an operation.

    module   a Module, or a list, tuple or dict
    returns  list of (name, Tensor), as `walk` found them

    >>> named_parameters([Variable(1), Tensor(2)])
    [('0', Tensor(1., requires_grad=True))]

    Source: torch.nn.Module.named_parameters.
    """
    return [(path, part) for path, part in walk(module)
            if isinstance(part, Tensor) and part.requires_grad and part.creator is None]


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
        self.weights = Variable(init(in_features, out_features, rng))
        self.bias = Variable(np.zeros(out_features, np.float32)) if bias else None

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
        for layer in self.layers:
            x = layer(x)
        return x

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
    for _, part in walk(module):
        if isinstance(part, Module):
            part.training = mode


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
        if not self.training:
            return x
        keep = self.rng.random(x.shape) >= self.p
        return x * keep / (1 - self.p)

    def __repr__(self):
        return f"Dropout({self.p})"


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


def state_of(module):
    """A copy of the numbers in a module: all its tensors that are no result of an operation.

    module   a Module
    returns  dict of {name: ndarray}, named and ordered as in `walk`; no array is shared with
             the module

    >>> state_of(Dense(1, 3, bias=False))["weights"].shape
    (1, 3)

    Source: torch.nn.Module.state_dict.
    """
    return {path: part.numpy() for path, part in walk(module) if isinstance(part, Tensor)
            and part.creator is None}


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
    mine = state_of(module)
    problems = [f"{name} of shape {mine[name].shape} is missing"
                for name in mine if name not in state]
    problems += [f"{name} of shape {np.shape(state[name])} is unknown here"
                 for name in state if name not in mine]
    return problems + [
        f"{name} has shape {np.shape(state[name])} where {mine[name].shape} is needed"
        for name in mine if name in state and np.shape(state[name]) != mine[name].shape]


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
    mine = [(path, part) for path, part in walk(module) if isinstance(part, Tensor)
            and part.creator is None]
    new = {path: np.array(state[path]).astype(part.dtype, casting="same_kind")
           for path, part in mine}
    for path, part in mine:
        part.data[...] = new[path]
