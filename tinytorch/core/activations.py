# From modules/source/03_activations/activations_dev.py by `tito export`; edit that file, not this one.
# checksum: 7e9d22cf4832b4f4
"""Activations: Nonlinear functions between layers, and logits turned into probabilities."""

import math

import numpy as np

from tinytorch.core.tensor import Tensor, where
from tinytorch.support.missing_names import NumPyNames, numpy_names

__all__ = [
    "collapse_linear", "relu", "xor_weights", "numerical_derivative", "sigmoid", "tanh", "gelu", "softmax",
    "log_softmax", "Activation", "ReLU", "Softmax", "Sigmoid", "Tanh", "GELU", "LogSoftmax",
]


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
    w = w1 @ w2
    b = b1 @ w2 + b2
    return w, b


def relu(x):
    """max(0, x), elementwise.

    x        Tensor of any shape and dtype; infinities are allowed, nan stays nan
    returns  a new Tensor of the same shape and dtype, computed with Tensor operations. Its
             derivative at 0 is 0, as in PyTorch

    >>> relu(Tensor([-2.0, 0.0, 3.0]))
    Tensor([0., 0., 3.])

    Source: Nair, Hinton, Rectified linear units improve restricted Boltzmann machines (2010).
    """
    return where(x <= 0, 0, x)


def xor_weights():
    """Weights with which `relu(x @ w1 + b1) @ w2 + b2` is 1 when exactly one of two inputs is
    1, else 0.

    returns  (w1, b1, w2, b2), Tensors of shapes (2, 2), (2,), (2, 1) and (1,)

    >>> [t.shape for t in xor_weights()]
    [(2, 2), (2,), (2, 1), (1,)]

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 6.1.
    """
    w1, b1 = Tensor([[1.0, 1.0], [1.0, 1.0]]), Tensor([0.0, -1.0])
    w2, b2 = Tensor([[1.0], [-2.0]]), Tensor([0.0])
    return w1, b1, w2, b2


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
    m = relu(x)
    numerator = (x - m).exp()
    return numerator / (numerator + (-m).exp())


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
    return 2 * sigmoid(2 * x) - 1


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
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
    return 0.5 * x * (1 + inner.tanh())


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
    powers = (x - x.max(axis, keepdims=True)).exp()
    return powers / powers.sum(axis, keepdims=True)


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
    shifted = x - x.max(axis, keepdims=True)
    return shifted - shifted.exp().sum(axis, keepdims=True).log()


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


class ReLU(Activation):
    """`relu` as a module: ReLU()(x) equals relu(x), also in its derivative.

    >>> ReLU()(Tensor([-2.0, 3.0]))
    Tensor([0., 3.])

    Source: torch.nn.ReLU.
    """

    def forward(self, x):
        return x.relu()


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
        self.axis = axis

    def forward(self, x):
        return softmax(x, self.axis)


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
