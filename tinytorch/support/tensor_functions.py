"""Functions that return tensors and that no lesson builds. The first make a tensor from a shape, a
range or a random number generator. The others are given in lesson 03: activation functions and the
numerical derivative; they compute with Tensor operations, so that everything is recorded.

Functions that make tensors have PyTorch's names. Every one takes `dtype`, a NumPy dtype that is
float32 where PyTorch's default is, and `requires_grad`.
"""

import math

import numpy as np

from tinytorch.core.tensor import Tensor, concatenate
from tinytorch.support.arrays import as_tuple
from tinytorch.support.missing_names import numpy_names


def tensor(data, *, dtype=None, requires_grad=False):
    """A new tensor that holds a copy of `data`; see `Tensor` for the dtype where none is given.

    >>> tensor([1, 2], dtype=np.float32)
    Tensor([1., 2.])
    """
    if dtype is None:
        return Tensor(data, requires_grad)
    return Tensor(np.array(Tensor(data).data, dtype), requires_grad)


def zeros(*shape, dtype=np.float32, requires_grad=False):
    """A tensor of zeros: zeros(2, 3) or zeros((2, 3)).

    >>> zeros(2, 3)
    Tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    return Tensor(np.zeros(as_tuple(shape), dtype), requires_grad)


def ones(*shape, dtype=np.float32, requires_grad=False):
    """A tensor of ones: ones(2, 3) or ones((2, 3)).

    >>> ones(2)
    Tensor([1., 1.])
    """
    return Tensor(np.ones(as_tuple(shape), dtype), requires_grad)


def full(shape, fill_value, *, dtype=None, requires_grad=False):
    """A tensor of that shape with the same number everywhere.

    shape       tuple
    fill_value  a number; without `dtype` it decides the dtype, as in `Tensor([fill_value])`

    >>> full((2,), 7)
    Tensor([7, 7])
    """
    dtype = Tensor([fill_value]).dtype if dtype is None else dtype
    return Tensor(np.full(as_tuple((shape,)), fill_value, dtype), requires_grad)


def arange(start, end=None, step=1, *, dtype=None, requires_grad=False):
    """The numbers start, start + step, ... before `end`: whole numbers if all three are.

    >>> arange(3), arange(0.0, 1.0, 0.5)
    (Tensor([0, 1, 2]), Tensor([0. , 0.5]))
    """
    start, end = (0, start) if end is None else (start, end)
    array = np.arange(start, end, step)
    if dtype is None and array.dtype.kind == "f":
        dtype = np.float32
    return Tensor(array.astype(array.dtype if dtype is None else dtype), requires_grad)


def linspace(start, end, steps, *, dtype=np.float32, requires_grad=False):
    """`steps` numbers at equal distances from `start` to `end`, both included.

    >>> linspace(0, 1, 3)
    Tensor([0. , 0.5, 1. ])
    """
    return Tensor(np.linspace(start, end, steps).astype(dtype), requires_grad)


def eye(n, m=None, *, dtype=np.float32, requires_grad=False):
    """The identity matrix of shape (n, n), or (n, m): 1 on the diagonal, 0 elsewhere.

    >>> eye(2)
    Tensor([[1., 0.],
            [0., 1.]])
    """
    return Tensor(np.eye(n, m, dtype=dtype), requires_grad)


def randn(*shape, rng=None, dtype=np.float32, requires_grad=False):
    """Standard normal random numbers; `manual_seed` makes them the same in every run.

    shape  randn(2, 3) or randn((2, 3))
    rng    a NumPy Generator, a seed, or None for the generator that layers draw from

    >>> randn(2, 3).shape
    (2, 3)
    """
    drawn = random_generator(rng).standard_normal(as_tuple(shape))
    return Tensor(np.asarray(drawn, dtype), requires_grad)


def rand(*shape, rng=None, dtype=np.float32, requires_grad=False):
    """Uniform random numbers from 0 to below 1; arguments as in `randn`.

    >>> bool((rand(100).data < 1).all())
    True
    """
    dtype = np.dtype(dtype).type
    drawn = np.asarray(random_generator(rng).random(as_tuple(shape)), dtype)
    # rounding to float32 may give 1, which is not below 1
    below = np.nextafter(np.ones((), drawn.dtype), np.zeros((), drawn.dtype))
    return Tensor(np.minimum(drawn, below), requires_grad)


def random_generator(rng):
    """`rng`, or without one the generator of the layers lesson, which has the seed."""
    from tinytorch.core.layers import generator  # late: lesson 02 needs no random numbers

    return generator(rng)


@numpy_names
def cat(tensors, axis=0):
    """PyTorch's name for `concatenate`: join tensors along an axis that they have.

    >>> cat([ones(2), zeros(1)])
    Tensor([1., 1., 0.])
    """
    return concatenate(tensors, axis)


# given in lesson 03


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
