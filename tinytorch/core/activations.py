# From modules/source/02_activations/activations_dev.py by `tito export`; edit that file, not this one.
# checksum: 04e444a41a0b822f
"""Activations: The bends between layers, and scores turned into probabilities."""

import math

import numpy as np

from tinytorch.core.tensor import Tensor

__all__ = [
    "two_in_one", "relu", "xor_weights", "slope", "sigmoid", "tanh", "gelu", "softmax", "log_softmax", "Activation",
    "ReLU", "Sigmoid", "Tanh", "GELU", "Softmax", "LogSoftmax",
]


def two_in_one(w1, b1, w2, b2):
    """The weights and bias of one linear layer that does what two in a row do.

    w1, b1   Tensors of shapes (inputs, hidden) and (hidden,): the first layer, x @ w1 + b1
    w2, b2   Tensors of shapes (hidden, outputs) and (outputs,): the second, which gets the
             first's result
    returns  w, b of shapes (inputs, outputs) and (outputs,)

    >>> two_in_one(Tensor([[2.0]]), Tensor([1.0]), Tensor([[3.0]]), Tensor([5.0]))
    (Tensor([[6.]]), Tensor([8.]))

    Source: Strang, Introduction to Linear Algebra, section 8.1, "linear transformation".
    """
    return w1 @ w2, b1 @ w2 + b2


def relu(x):
    """Each number of `x` where it is positive, 0 elsewhere.

    x        Tensor of any shape; infinities are numbers like others, nan stays nan
    returns  a new Tensor of the same shape and dtype

    >>> relu(Tensor([-2.0, 0.0, 3.0]))
    Tensor([0., 0., 3.])

    Source: Nair, Hinton, Rectified linear units improve restricted Boltzmann machines (2010).
    """
    return x.maximum(0)


def xor_weights():
    """Weights with which `relu(x @ w1 + b1) @ w2 + b2` is 1 when exactly one of two inputs is
    1, else 0.

    returns  w1, b1, w2, b2: Tensors of shapes (2, 2), (2,), (2, 1) and (1,)

    >>> [t.shape for t in xor_weights()]
    [(2, 2), (2,), (2, 1), (1,)]

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 6.1.
    """
    w1, b1 = Tensor([[1.0, 1.0], [1.0, 1.0]]), Tensor([0.0, -1.0])
    w2, b2 = Tensor([[1.0], [-2.0]]), Tensor([0.0])
    return w1, b1, w2, b2


def slope(f, x, nudge=1e-4):
    """The slope of `f` at each number of `x`, measured with a nudge to both sides.

    f        function from a Tensor to a Tensor of the same shape, each number by itself
    x        Tensor, array or number; computed with in float64
    nudge    how far to go to each side, in the unit of x
    returns  Tensor of the shape of x, float64

    >>> slope(abs, Tensor([-2.0, 0.0, 3.0]))
    Tensor([-1.,  0.,  1.], dtype=float64)

    Source: Press et al., Numerical Recipes (2007), section 5.7, "symmetrized" difference.
    """
    x = Tensor(np.asarray(x, "float64"))
    return (f(x + nudge) - f(x - nudge)) / (2 * nudge)


def sigmoid(x):
    """1 / (1 + exp(-x)): each number of `x` squeezed to between 0 and 1.

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for whole numbers

    Correct at +-1000, with no infinity on the way, and small results keep their digits:
    sigmoid(-20) is 2.06e-9, not 0.

    >>> sigmoid(Tensor([-1000.0, 0.0, 1000.0]))
    Tensor([0. , 0.5, 1. ])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 3.10.
    """
    m = relu(x)
    up = (x - m).exp()
    return up / (up + (-m).exp())


def tanh(x):
    """The hyperbolic tangent: each number of `x` squeezed to between -1 and 1.

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for whole numbers

    Correct at +-1000, with no infinity on the way.

    >>> tanh(Tensor([-1000.0, 0.0, 1000.0]))
    Tensor([-1.,  0.,  1.])

    Source: LeCun, Bottou, Orr, Mueller, Efficient BackProp (1998), section 4.4.
    """
    return 2 * sigmoid(2 * x) - 1


def gelu(x):
    """The Gaussian error linear unit, tanh form: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715
    x^3))).

    x        Tensor of any shape, finite numbers
    returns  a new Tensor of the same shape; float32 for whole numbers

    >>> gelu(Tensor([-1000.0, 0.0, 1000.0]))
    Tensor([  -0.,    0., 1000.])

    Source: Hendrycks, Gimpel, Gaussian error linear units (2016), section 2. PyTorch:
    approximate="tanh".
    """
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
    return 0.5 * x * (1 + inner.tanh())


def softmax(x, axis=-1):
    """Turn scores into probabilities along `axis`.

    x        Tensor of scores, shape (..., classes, ...); -inf stands for "impossible"
    axis     where the classes are; an int, or a tuple of ints when a slice spans several axes
    returns  a new Tensor of the same shape; each slice along `axis` is >= 0 and sums to 1

    Correct at +-1000, for each slice by itself. A slice of nothing but -inf has no answer: nan.

    >>> softmax(Tensor([[1000.0, 1000.0], [0.0, -1000.0]]))
    Tensor([[0.5, 0.5],
            [1. , 0. ]])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 4.1.
    """
    powers = (x - x.max(axis, keepdims=True)).exp()
    return powers / powers.sum(axis, keepdims=True)


def log_softmax(x, axis=-1):
    """The natural logarithm of `softmax(x, axis)`, without taking the logarithm of a rounded
    probability.

    x        Tensor of scores, shape (..., classes, ...); -inf stands for "impossible"
    axis     where the classes are; an int, or a tuple of ints when a slice spans several axes
    returns  a new Tensor of the same shape, all numbers <= 0

    >>> log_softmax(Tensor([0.0, -1000.0]))
    Tensor([    0., -1000.])

    Source: Blanchard, Higham, Higham, Accurately computing the log-sum-exp and softmax
    functions (2021).
    """
    shifted = x - x.max(axis, keepdims=True)
    return shifted - shifted.exp().sum(axis, keepdims=True).log()


class Activation:
    """A function of a Tensor as an object. A subclass has `forward(x)`; its attributes are its
    settings."""

    def __call__(self, x):
        return self.forward(x)

    def parameters(self):
        """The Tensors that training changes: none."""
        return []

    def __repr__(self):
        settings = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__}({settings})"


class ReLU(Activation):
    """max(0, x), place by place.

    >>> ReLU()(Tensor([-2.0, 3.0]))
    Tensor([0., 3.])
    """

    def forward(self, x): return relu(x)


class Sigmoid(Activation):
    """1 / (1 + exp(-x)), place by place: between 0 and 1."""

    def forward(self, x): return sigmoid(x)


class Tanh(Activation):
    """The hyperbolic tangent, place by place: between -1 and 1."""

    def forward(self, x): return tanh(x)


class GELU(Activation):
    """x times the probability (by the tanh form) that a standard normal number is below x,
    place by place."""

    def forward(self, x): return gelu(x)


class Softmax(Activation):
    """Scores along `axis` turned into probabilities.

    >>> Softmax(axis=0)
    Softmax(axis=0)
    """

    def __init__(self, axis=-1):
        self.axis = axis

    def forward(self, x): return softmax(x, self.axis)


class LogSoftmax(Activation):
    """The logarithms of the probabilities that `Softmax` gives."""

    def __init__(self, axis=-1):
        self.axis = axis

    def forward(self, x): return log_softmax(x, self.axis)
