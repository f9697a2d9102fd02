"""float64 data in a network of float32: cast where it enters, with one warning.

NumPy's arrays of Python floats are float64. Without a cast they would make every activation of a
float32 network float64, at half the speed and twice the memory, and nobody would notice. PyTorch
refuses them.
"""

import numpy as np

from tinytorch.core.tensor import apply
from tinytorch.support.users import warn_user

__all__ = ["cast_to"]

MESSAGE = (
    "{name} got float64 data, and its weights are float32: the data are cast to float32 (said "
    "once). Cast them yourself, x.astype(np.float32), or make the network float64: "
    "net.to(np.float64)"
)


class Cast:
    """The operation that makes float32 of float64, with its derivative, in the form that the
    engine knows from Functions."""

    def forward(self, x):
        return x.astype(np.float32)

    def vjp(self, g, out, x):
        return (g.astype(x.dtype),)


CAST = Cast()
said = []  # the name of the layer that was warned about, once there is one


def cast_to(x, weights, name="a layer"):
    """What a layer computes with for its input `x`: float64 becomes float32 like the weights.

    x        a Tensor, an array or nested lists
    weights  a Tensor
    name     of the layer, for the warning, which is given once in a process and names the line of
             the user's program
    returns  `x` itself, but for float64 data and float32 weights a float32 Tensor. It is recorded,
             so a gradient arrives at `x` as float64

    >>> from tinytorch import Tensor
    >>> x = np.zeros(3, "float32")
    >>> cast_to(x, Tensor([1.0])) is x
    True
    """
    try:
        if x.data.dtype is weights.data.dtype:  # nearly always, so this comes first
            return x
    except AttributeError:
        pass  # x is no Tensor
    if getattr(x, "dtype", None) != np.float64 or weights.dtype != np.float32:
        return x
    if not said:
        said.append(name)
        warn_user(MESSAGE.format(name=name))
    return apply(CAST.forward, x)
