"""Activation functions that lesson 03 gives, the base class of the modules, and numerical
derivatives. Everything is computed with Tensor operations, so that it is recorded.
"""

import math

import numpy as np

from tinytorch.core.tensor import Tensor
from tinytorch.support.missing_names import NumPyNames


def sigmoid(x):
    """1 / (1 + exp(-x)), elementwise: between 0 and 1.

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for integers. No operation overflows, and
             small results keep their digits

    >>> sigmoid(Tensor([-1000.0, 0.0, 1000.0]))
    Tensor([0. , 0.5, 1. ])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 3.10.
    """
    m = x.relu()  # exp(x) / (exp(x) + exp(0)), with the larger exponent subtracted from both
    numerator = (x - m).exp()
    return numerator / (numerator + (-m).exp())


def tanh(x):
    """The hyperbolic tangent, elementwise: between -1 and 1.

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for integers. No operation overflows

    >>> tanh(Tensor([-1000.0, 0.0, 1000.0]))
    Tensor([-1.,  0.,  1.])

    Source: LeCun, Bottou, Orr, Mueller, Efficient BackProp (1998), section 4.4.
    """
    return 2 * sigmoid(2 * x) - 1


def gelu(x):
    """The Gaussian error linear unit, tanh approximation, elementwise:
    0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for integers

    >>> gelu(Tensor([-1000.0, 0.0, 1000.0]))  # -0. is a negative number, rounded to zero
    Tensor([  -0.,    0., 1000.])

    Source: Hendrycks, Gimpel, Gaussian error linear units (2016), section 2. In PyTorch:
    torch.nn.functional.gelu(x, approximate="tanh").
    """
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))  # faster than a power
    return 0.5 * x * (1 + inner.tanh())


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


class Activation(NumPyNames):
    """An activation function as an object. A subclass defines `forward(x)`; its attributes are its
    settings."""

    def __call__(self, x):
        return self.forward(x)

    def parameters(self):
        """The Tensors that training changes: none."""
        return []

    def __repr__(self):
        settings = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__}({settings})"
