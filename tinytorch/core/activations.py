# From modules/source/03_activations/activations_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 3a70ce04137aeaed
"""Activations: Nonlinear functions between layers, and logits turned into probabilities."""

import numpy as np

from tinytorch.core.tensor import Tensor, where
from tinytorch.support.missing_names import numpy_names
from tinytorch.support.modules import Activation
from tinytorch.support.tensor_functions import gelu, numerical_derivative, sigmoid, tanh

__all__ = [
    "collapse_linear", "relu", "xor_weights", "softmax", "log_softmax", "ReLU", "Sigmoid", "Tanh", "GELU", "Softmax",
    "LogSoftmax",
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
    """
    w = w1 @ w2
    b = b1 @ w2 + b2
    return w, b


def relu(x):
    """max(0, x), elementwise.

    x        Tensor of any shape and dtype, finite numbers
    returns  a new Tensor of the same shape and dtype, computed with Tensor operations

    >>> relu(Tensor([-2.0, 0.0, 3.0]))
    Tensor([0., 0., 3.])
    """
    return where(x <= 0, 0, x)


def xor_weights():
    """Weights with which `relu(x @ w1 + b1) @ w2 + b2` is 1 when exactly one of two inputs is
    1, else 0.

    returns  (w1, b1, w2, b2), Tensors of shapes (2, 2), (2,), (2, 1) and (1,)

    >>> [t.shape for t in xor_weights()]
    [(2, 2), (2,), (2, 1), (1,)]
    """
    w1, b1 = Tensor([[1.0, 1.0], [1.0, 1.0]]), Tensor([0.0, -1.0])
    w2, b2 = Tensor([[1.0], [-2.0]]), Tensor([0.0])
    return w1, b1, w2, b2


@numpy_names
def softmax(x, axis=-1):
    """Turn logits into probabilities along `axis`.

    x        Tensor of logits, shape (..., classes, ...)
    returns  a new Tensor of the same shape, computed with Tensor operations
    """
    powers = (x - x.max(axis, keepdims=True)).exp()
    return powers / powers.sum(axis, keepdims=True)


@numpy_names
def log_softmax(x, axis=-1):
    """The natural logarithm of `softmax(x, axis)`, computed from the logits, not from rounded
    probabilities. `x` and `x - 10000` give the same result.

    >>> log_softmax(Tensor([0.0, -1000.0]))
    Tensor([    0., -1000.])
    """
    shifted = x - x.max(axis, keepdims=True)
    return shifted - shifted.exp().sum(axis, keepdims=True).log()


class ReLU(Activation):
    """`relu` as a module: ReLU()(x) equals relu(x), also in its derivative."""

    def forward(self, x): return x.relu()


class Sigmoid(Activation):
    """`sigmoid` as a module: elementwise, between 0 and 1."""

    def forward(self, x): return sigmoid(x)


class Tanh(Activation):
    """`tanh` as a module: elementwise, between -1 and 1."""

    def forward(self, x): return tanh(x)


class GELU(Activation):
    """`gelu` as a module: elementwise, smooth."""

    def forward(self, x): return gelu(x)


class Softmax(Activation):
    """`softmax` along a fixed axis as a module: Softmax(axis)(x) is softmax(x, axis)."""

    def __init__(self, axis=-1):
        self.axis = axis

    def forward(self, x): return softmax(x, self.axis)


class LogSoftmax(Activation):
    """`log_softmax` along a fixed axis as a module: the logarithms of `Softmax`."""

    def __init__(self, axis=-1):
        self.axis = axis

    def forward(self, x): return log_softmax(x, self.axis)
