"""A module as a function of its parameters."""

import copy

import numpy as np

__all__ = ["functional_call"]


def functional_call(module, parameters, *inputs):
    """module(*inputs), computed with other parameters; the module itself is not changed.

    parameters  a Tensor of shape (n,), with all parameters of the module one after the other, in
                the order of `module.parameters()`; or {name: Tensor}, the parameters to replace
    returns     what the module returns, recorded as a function of `parameters`

    ValueError when the numbers do not fit the module.

    >>> from tinytorch.core.layers import Dense
    >>> from tinytorch.core.tensor import Tensor
    >>> functional_call(Dense(2, 1), Tensor([10.0, 1.0, 5.0]), Tensor([[3.0, 4.0]]))
    Tensor([[39.]])

    Source: torch.func.functional_call, which takes {name: Tensor} only.
    """
    named = dict(module.named_parameters())
    if not isinstance(parameters, dict):
        parameters = cut(parameters, named)
    replaced = {}
    for name, value in parameters.items():
        if name not in named or named[name].shape != value.shape:
            own = {key: part.shape for key, part in named.items()}
            raise ValueError(
                f"the parameter {name} of shape {value.shape} does not fit the module\n"
                f"its parameters are {own}"
            )
        replaced[id(named[name])] = value
    return copy.deepcopy(module, replaced)(*inputs)  # a copy that holds the other parameters


def cut(vector, named):
    """The pieces of `vector`, in the shapes of the tensors `named`: {name: Tensor}."""
    size = sum(part.size for part in named.values())
    if vector.shape != (size,):
        raise ValueError(
            f"the module has {size} parameters, and the vector shape {vector.shape}\n"
            f"it needs shape ({size},)"
        )
    ends = np.cumsum([part.size for part in named.values()]).tolist()
    return {
        name: vector[end - part.size : end].reshape(*part.shape)
        for (name, part), end in zip(named.items(), ends)
    }
