"""Parts of networks under PyTorch's names that no lesson builds: containers of modules, which
compute nothing, and dropout as a function.
"""

from tinytorch.core.layers import Dropout, Module
from tinytorch.core.tensor import Variable
from tinytorch.support.modules import is_module


def Parameter(data, requires_grad=True):
    """A tensor to be learned: what a module keeps as an attribute and `parameters()` finds.

    >>> Parameter([1.0, 2.0])
    Tensor([1., 2.], requires_grad=True)
    """
    return Variable(data, requires_grad)


def check_module(part):
    """Refuse what is no module."""
    if not is_module(part):
        raise TypeError(
            f"a {type(part).__name__} is no module: {part!r:.60}. A class must be called, "
            "as in ReLU(), and tensors to be learned are Parameters of a module"
        )
    return part


class ModuleList(Module):
    """A list of modules; their parameters are found as "0.weights", "1.weights", ...

    modules  an iterable of modules, or None for none

    A plain Python list as an attribute does as well in this library; PyTorch needs this one.

    >>> from tinytorch.core.layers import Linear
    >>> layers = ModuleList([Linear(2, 3), Linear(3, 1)])
    >>> layers.append(Linear(1, 1))
    >>> len(layers), [name for name, _ in layers.named_parameters()][:2]
    (3, ['0.weights', '0.bias'])
    """

    def __init__(self, modules=None):
        self.extend(() if modules is None else modules)

    def append(self, module):
        """Add a module at the end."""
        setattr(self, str(len(self)), check_module(module))

    def extend(self, modules):
        """Add several modules at the end."""
        if not hasattr(modules, "__iter__"):
            raise TypeError(
                f"a {type(self).__name__} takes one list of modules, not {modules!r:.60}: "
                f"{type(self).__name__}([Linear(2, 3), Linear(3, 1)])"
            )
        for module in modules:
            self.append(module)

    def __add__(self, other):
        return ModuleList([*self, *other])

    def members(self):
        """The modules, as a list."""
        return [part for name, part in vars(self).items() if name.isdigit()]

    def __iter__(self):
        return iter(self.members())

    def __len__(self):
        return len(self.members())

    def __getitem__(self, place):
        selected = self.members()[place]
        return ModuleList(selected) if isinstance(place, slice) else selected

    def __setitem__(self, place, module):
        setattr(self, str(range(len(self))[place]), check_module(module))


class ModuleDict(Module):
    """A dictionary of modules; their parameters are found as "name.weights".

    modules  a dict from names to modules, or None

    >>> from tinytorch.core.layers import Linear
    >>> heads = ModuleDict({"digit": Linear(4, 10), "parity": Linear(4, 2)})
    >>> list(heads), heads["parity"].weights.shape
    (['digit', 'parity'], (4, 2))
    """

    def __init__(self, modules=None):
        for name, module in (modules or {}).items():
            self[name] = module

    def __getitem__(self, name):
        if name not in self:
            raise KeyError(f"no module {name!r}; there are {', '.join(self) or 'none'}")
        return vars(self)[name]

    def __setitem__(self, name, module):
        if hasattr(type(self), name):
            raise KeyError(f"a module cannot be called {name!r}: ModuleDict has that attribute")
        vars(self)[name] = check_module(module)

    def __contains__(self, name):
        return is_module(vars(self).get(name))

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return len(self.keys())

    def keys(self):
        """The names, as a list, in the order in which they were added."""
        return [name for name, _ in self.items()]

    def values(self):
        """The modules, as a list."""
        return [module for _, module in self.items()]

    def items(self):
        """(name, module) of each, as a list."""
        return [(name, part) for name, part in vars(self).items() if is_module(part)]


def dropout(x, p=0.5, training=True, *, rng=None):
    """Set each element to 0 with probability `p`, and divide the others by 1 - p.

    x         Tensor of floating-point numbers
    p         the probability, from 0 up to, but not including, 1
    training  False: return `x`. A network passes its own: dropout(x, 0.5, self.training)
    rng       a NumPy Generator or a seed; None for one derived from what `manual_seed` seeds
    returns   Tensor of the same shape and dtype, recorded

    >>> from tinytorch import Tensor
    >>> dropout(Tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 0.75, rng=0)
    Tensor([ 0.,  0.,  0.,  0., 20., 24.])

    Source: torch.nn.functional.dropout.
    """
    return Dropout(p, rng=rng).train(training)(x)
