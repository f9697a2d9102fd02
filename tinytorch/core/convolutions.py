# From modules/source/10_convolutions/convolutions_dev.py by `tito export`; edit that file, not this one.
# checksum: 5261a219f857ba66
"""Convolutions: One small pattern, looked for everywhere in a picture."""

import math

import numpy as np

from tinytorch.core.autograd import derivative
from tinytorch.core.layers import Module, xavier_uniform
from tinytorch.core.losses import as_float_tensor
from tinytorch.core.tensor import Tensor, Variable, apply
from tinytorch.support.allocator import keep_freed_memory
from tinytorch.support.strips import strips_forward, strips_to_input, strips_to_weights
from tinytorch.support.windows import cropped, flat, misfit, padded, pair, places

__all__ = [
    "output_size", "conv2d_loops", "seen", "im2col", "columns_forward", "col2im", "columns_to_weights",
    "columns_to_input", "conv2d", "Conv2d", "max_pool2d_forward", "max_pool2d_rule", "avg_pool2d_rule", "pool2d",
    "max_pool2d", "avg_pool2d", "MaxPool2d", "AvgPool2d", "receptive_field", "conv2d_cost",
]


keep_freed_memory()  # before, a small network spent half of its time asking for memory again


def output_size(length, kernel, stride=1, padding=0):
    """How many places a kernel of `kernel` numbers has on a row of `length` numbers.

    length   numbers in the row
    kernel   numbers in the kernel
    stride   how far the kernel moves from place to place, in numbers
    padding  how many zeros are put at each end of the row
    returns  an int, 1 or more

    Raises ValueError, with length, kernel and the formula filled in, when the kernel has no
    place at all.

    >>> output_size(7, kernel=3, stride=2, padding=1)
    4

    Source: Dumoulin and Visin, A guide to convolution arithmetic for deep learning (2016),
    relationship 6.
    """
    size = (length + 2 * padding - kernel) // stride + 1
    if size < 1:
        raise ValueError(f"a kernel of {kernel} has no place on {length} numbers: "
                         f"({length} + 2 * {padding} - {kernel}) // {stride} + 1 = {size}")
    return size


def out_size(shape, kernel, stride=(1, 1), padding=(0, 0)):
    """(rows, columns) of the result, for images of `shape` (..., height, width)."""
    return tuple([output_size(*numbers)
                  for numbers in zip(shape[-2:], kernel, stride, padding)])


def conv2d_loops(x, weights, bias, stride=(1, 1)):
    """The convolution from its definition, one number of the result at a time. For tiny inputs.

    x        ndarray of shape (batch, channels, height, width); a margin, if any, is already
             there
    weights  ndarray of shape (out channels, channels, kernel height, kernel width)
    bias     ndarray of shape (out channels,)
    stride   (down, across)
    returns  ndarray of shape (batch, out channels, *out_size(...)), of the dtype of `x`

    >>> conv2d_loops(np.array([[[[1, 2, 3], [4, 5, 6]]]]), np.array([[[[1, 10]]]]),
    ...              np.array([100]))
    array([[[[121, 132],
             [154, 165]]]])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 9.1, (9.6), as
    "cross-correlation".
    """
    rows, columns = weights.shape[2:]
    out = np.zeros((len(x), len(weights), *out_size(x.shape, (rows, columns), stride)), x.dtype)
    for n, o, p, q in np.ndindex(*out.shape):
        top, left = p * stride[0], q * stride[1]
        window = x[n, :, top:top + rows, left:left + columns]
        out[n, o, p, q] = (window * weights[o]).sum() + bias[o]
    return out


def seen(x, i, j, size, stride):
    """What place (i, j) of a kernel sees of `x`, in all the windows.

    x        ndarray of shape (..., height, width); a margin, if any, is already there
    i, j     row and column in the kernel
    size     (rows, columns) of windows
    stride   (down, across), from one window to the next
    returns  ndarray of shape (..., *size) that shares memory with `x`

    >>> seen(np.arange(24).reshape(4, 6), 1, 2, size=(2, 2), stride=(2, 3))
    array([[ 8, 11],
           [20, 23]])

    Source: NumPy user guide, "Slicing and striding".
    """
    down, across = stride
    return x[..., i:i + down * (size[0] - 1) + 1:down, j:j + across * (size[1] - 1) + 1:across]


def im2col(x, kernel, stride=(1, 1), padding=(0, 0)):
    """Every window of every image, written out as a column.

    x        ndarray of shape (batch, channels, height, width)
    kernel, stride, padding   pairs (down, across)
    returns  a new ndarray of shape (batch, channels * kernel height * kernel width, windows),
             of the dtype of `x`; zeros where a window hangs over the margin

    >>> im2col(np.array([[[[1, 2, 3], [4, 5, 6]]]]), kernel=(2, 2))
    array([[[1, 2],
            [2, 3],
            [4, 5],
            [5, 6]]])

    Source: Chellapilla, Puri, Simard, High performance convolutional neural networks (2006);
    PyTorch's unfold.
    """
    n, c = x.shape[:2]
    size = out_size(x.shape, kernel, stride, padding)
    x = padded(x, padding)
    columns = np.empty((n, c, *kernel, *size), x.dtype)
    for i, j in places(kernel):
        columns[:, :, i, j] = seen(x, i, j, size, stride)
    return columns.reshape(n, c * kernel[0] * kernel[1], size[0] * size[1])


def columns_forward(x, weights, bias, stride, padding):
    """The convolution as a matrix product of kernels and columns.

    x        ndarray of shape (batch, channels, height, width)
    weights  ndarray of shape (out channels, channels, kernel height, kernel width)
    bias     ndarray of shape (out channels,)
    stride, padding   pairs (down, across)
    returns  ndarray of shape (batch, out channels, *out_size(...)); no input is changed

    >>> columns_forward(np.ones((1, 1, 2, 3)), np.array([[[[1.0, 10.0]]]]), np.array([100.0]),
    ...                 (1, 1), (0, 1))
    array([[[[110., 111., 111., 101.],
             [110., 111., 111., 101.]]]])

    Source: Chellapilla, Puri, Simard, High performance convolutional neural networks (2006).
    """
    kernel = weights.shape[2:]
    out = weights.reshape(len(weights), -1) @ im2col(x, kernel, stride, padding)
    out += bias[:, None]
    return out.reshape(len(x), len(weights), *out_size(x.shape, kernel, stride, padding))


def col2im(columns, shape, kernel, stride=(1, 1), padding=(0, 0)):
    """For each pixel, the sum over all the places that `im2col` copied it to.

    columns  ndarray of the shape that im2col gives for images of `shape`
    shape    (batch, channels, height, width) of the images, without a margin
    kernel, stride, padding   pairs (down, across)
    returns  ndarray of shape `shape`, of the dtype of `columns`; 0 where no window reached

    >>> col2im(np.array([[[1.0, 10.0], [2.0, 20.0]]]), (1, 1, 1, 3), kernel=(1, 2))
    array([[[[ 1., 12., 20.]]]])

    Source: torch.nn.functional.fold.
    """
    n, c, height, width = shape
    size = out_size(shape, kernel, stride, padding)
    columns = columns.reshape(n, c, *kernel, *size)
    x = np.zeros((n, c, height + 2 * padding[0], width + 2 * padding[1]), columns.dtype)
    for i, j in places(kernel):
        spot = seen(x, i, j, size, stride)
        spot += columns[:, :, i, j]
    return cropped(x, padding)


def columns_to_weights(g, out, x, weights, bias, stride, padding):
    """The gradient for the weights of a convolution.

    g        ndarray: the gradient of the result, of its shape (batch, out channels, rows,
             columns)
    out      the result
    x, weights, bias, stride, padding   what columns_forward was called with
    returns  ndarray of the shape of `weights`

    >>> x, weights, g = np.array([[[[1.0, 2.0, 3.0]]]]), np.zeros((1, 1, 1, 2)), np.array(
    ...     [[[[1.0, 10.0]]]])
    >>> columns_to_weights(g, None, x, weights, None, (1, 1), (0, 0))
    array([[[[21., 32.]]]])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 9.5, (9.11).
    """
    columns = im2col(x, weights.shape[2:], stride, padding)
    return (flat(g) @ columns.swapaxes(1, 2)).sum(axis=0).reshape(weights.shape)


def columns_to_input(g, out, x, weights, bias, stride, padding):
    """The gradient for the images that went into a convolution.

    g        ndarray: the gradient of the result, of its shape (batch, out channels, rows,
             columns)
    out      the result
    x, weights, bias, stride, padding   what columns_forward was called with
    returns  ndarray of the shape of `x`

    >>> x, weights, g = np.zeros((1, 1, 1, 3)), np.array([[[[1.0, 2.0]]]]), np.array(
    ...     [[[[1.0, 10.0]]]])
    >>> columns_to_input(g, None, x, weights, None, (1, 1), (0, 0))
    array([[[[ 1., 12., 20.]]]])

    Source: Dumoulin and Visin, A guide to convolution arithmetic for deep learning (2016),
    chapter 4.
    """
    columns = weights.reshape(len(weights), -1).T @ flat(g)
    return col2im(columns, x.shape, weights.shape[2:], stride, padding)


MANY = 8  # channels, from which on runs of neighbours are long enough for strips


def conv2d_forward(x, weights, bias, stride, padding):
    way = strips_forward if x.shape[1] >= MANY else columns_forward
    return way(x, weights, bias, stride, padding)


def to_input(g, out, x, weights, bias, stride, padding):
    way = strips_to_input if x.shape[1] >= MANY else columns_to_input
    return way(g, out, x, weights, bias, stride, padding)


def to_weights(g, out, x, weights, bias, stride, padding):
    way = strips_to_weights if x.shape[1] >= MANY else columns_to_weights
    return way(g, out, x, weights, bias, stride, padding)


def to_bias(g, out, x, weights, bias, stride, padding):
    return g.sum(axis=(0, 2, 3))


derivative(conv2d_forward, to_input, to_weights, to_bias)


def conv2d(x, weights, bias=None, stride=1, padding=0):
    """Lay each kernel on every place of every image, and add up the products.

    x        Tensor, array or lists of shape (batch, channels, height, width); whole numbers
             become float32
    weights  Tensor of shape (out channels, channels, kernel height, kernel width)
    bias     Tensor of shape (out channels,), or None
    stride, padding   ints, or pairs (down, across)
    returns  Tensor of shape (batch, out channels, rows, columns), see `output_size`

    Raises ValueError, by `misfit`, with both shapes and the formula, when x or weights have not
    four axes, when their channels differ, and when a kernel has no place on the images.

    >>> conv2d(Tensor([[[[1, 2, 3]]]]), Tensor([[[[1, 10]]]]), padding=(0, 1))
    Tensor([[[[10., 21., 32.,  3.]]]])

    Source: torch.nn.functional.conv2d.
    """
    x, weights = as_float_tensor(x), as_float_tensor(weights)
    stride, padding = pair(stride), pair(padding, least=0)
    if bias is not None and np.shape(bias) != weights.shape[:1]:
        raise ValueError(f"weights of shape {weights.shape} need a bias of shape "
                         f"{weights.shape[:1]}, not {np.shape(bias)}")
    if x.ndim != 4 or weights.ndim != 4:
        raise misfit(x.shape, f"weights of shape {weights.shape}", "both need four axes")
    if x.shape[1] != weights.shape[1]:
        raise misfit(x.shape, f"weights of shape {weights.shape}",
                     f"the images have {x.shape[1]} channels, "
                     f"the kernels take {weights.shape[1]}")
    try:
        out_size(x.shape, weights.shape[2:], stride, padding)
    except ValueError as error:
        raise misfit(x.shape, f"weights of shape {weights.shape}", error) from None
    bias = np.zeros(len(weights), weights.dtype) if bias is None else bias
    return apply(conv2d_forward, x, weights, bias, stride=stride, padding=padding)


class Conv2d(Module):
    """A layer that lays `out_channels` kernels on every place of its images.

    in_channels   of the images that come in
    out_channels  of those that go out: one for each kernel
    kernel_size, stride, padding   ints, or pairs (down, across)
    bias          whether a number is added to each output channel
    init          draws the first weights, as init(fan_in, fan_out, rng, shape): xavier_uniform,
                  he_normal, ...
    rng           a NumPy Generator, a seed, or None for the generator of lesson 03

    .weights      Variable of shape (out_channels, in_channels, kernel height, kernel width);
                  also named .weight
    .bias         Variable of shape (out_channels,), zeros at first; or None

    >>> Conv2d(3, 8, kernel_size=(5, 3), padding=(2, 1))(Tensor(np.ones((10, 3, 6, 7)))).shape
    (10, 8, 6, 7)

    Source: torch.nn.Conv2d, but for the way its weights start.
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, bias=True,
                 init=xavier_uniform, rng=None):
        if in_channels < 1 or out_channels < 1:
            raise ValueError("Conv2d needs 1 channel or more on both sides, "
                             f"not {in_channels} and {out_channels}")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.padding = (pair(kernel_size), pair(stride),
                                                       pair(padding, least=0))
        area = math.prod(self.kernel_size)
        shape = (out_channels, in_channels, *self.kernel_size)
        self.weights = Variable(init(in_channels * area, out_channels * area, rng, shape))
        self.bias = Variable(np.zeros(out_channels, np.float32)) if bias else None

    @property
    def weight(self):
        """PyTorch's name for the weights."""
        return self.weights

    def forward(self, x):
        return conv2d(x, self.weights, self.bias, self.stride, self.padding)

    def __repr__(self):
        options = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        options += f", stride={self.stride}" * (self.stride != (1, 1))
        options += f", padding={self.padding}" * (self.padding != (0, 0))
        return f"Conv2d({options}{', bias=False' if self.bias is None else ''})"


def max_pool2d_forward(x, kernel, stride, padding):
    """The largest number in each window, in each channel by itself.

    x        ndarray of fractions, of shape (batch, channels, height, width); not changed
    kernel, stride, padding   pairs (down, across); the margin is of -inf
    returns  a new ndarray of shape (batch, channels, *out_size(...)), of the dtype of `x`

    >>> max_pool2d_forward(np.array([[[[1.0, 5.0, 2.0], [-7.0, 0.0, 3.0]]]]),
    ...                    (2, 2), (1, 1), (0, 0))
    array([[[[5., 5.]]]])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 9.3.
    """
    size = out_size(x.shape, kernel, stride, padding)
    x = padded(x, padding, -np.inf)
    out = seen(x, 0, 0, size, stride).copy(order="K")
    for i, j in places(kernel):
        np.maximum(out, seen(x, i, j, size, stride), out=out)
    return out


def max_pool2d_rule(g, out, x, kernel, stride, padding):
    """The gradient for the images that went into max_pool2d_forward.

    g        ndarray: the gradient of the result, of its shape; not changed
    out      the result
    x, kernel, stride, padding   what max_pool2d_forward was called with
    returns  ndarray of the shape and dtype of `x`: each window gives its slope to its largest
             number, to the first one, row by row, of several; what several windows give to one
             number is added up

    >>> x = np.array([[[[5.0, 5.0, 2.0]]]])
    >>> max_pool2d_rule(np.array([[[[1.0, 10.0]]]]), np.array([[[[5.0, 5.0]]]]), x,
    ...                 (1, 2), (1, 1), (0, 0))
    array([[[[ 1., 10.,  0.]]]])

    Source: torch.nn.functional.max_pool2d shares nothing among equals either.
    """
    size, x = out.shape[2:], padded(x, padding, -np.inf)
    slopes, free = np.zeros_like(x), np.ones(out.shape, bool)
    for i, j in places(kernel):
        here = free & (seen(x, i, j, size, stride) == out)
        spot = seen(slopes, i, j, size, stride)
        spot += here * g
        free &= ~here
    return cropped(slopes, padding)


derivative(max_pool2d_forward, max_pool2d_rule)


def avg_pool2d_forward(x, kernel, stride, padding):
    """The mean of each window, in each channel by itself; a margin counts as zeros."""
    size, x = out_size(x.shape, kernel, stride, padding), padded(x, padding)
    out = seen(x, 0, 0, size, stride).copy(order="K")
    for i, j in places(kernel)[1:]:
        out += seen(x, i, j, size, stride)
    out /= math.prod(kernel)
    return out


def avg_pool2d_rule(g, out, x, kernel, stride, padding):
    """The gradient for the images that went into avg_pool2d_forward.

    g        ndarray: the gradient of the result, of its shape; not changed
    out      the result
    x, kernel, stride, padding   what avg_pool2d_forward was called with
    returns  ndarray of the shape and dtype of `x`: each number gets its share from every window
             that holds it

    >>> avg_pool2d_rule(np.array([[[[4.0, 20.0]]]]), None, np.zeros((1, 1, 1, 3)),
    ...                 (1, 2), (1, 1), (0, 0))
    array([[[[ 2., 12., 10.]]]])

    Source: torch.nn.functional.avg_pool2d, with count_include_pad.
    """
    slopes = np.zeros_like(padded(x, padding))
    for i, j in places(kernel):
        spot = seen(slopes, i, j, g.shape[2:], stride)
        spot += g / math.prod(kernel)
    return cropped(slopes, padding)


derivative(avg_pool2d_forward, avg_pool2d_rule)


def pool2d(op, x, kernel_size, stride, padding):
    """`op`, one of the forward functions above, on images in any form, with ints or pairs."""
    x, kernel = as_float_tensor(x), pair(kernel_size)
    stride, padding = kernel if stride is None else pair(stride), pair(padding, least=0)
    if x.ndim != 4:
        raise misfit(x.shape, f"a kernel of shape {kernel}", "images need four axes")
    if any(2 * p > k for p, k in zip(padding, kernel)):
        raise ValueError(f"the padding {padding} is more than half of the kernel {kernel}: "
                         "a window would see no picture")
    try:
        out_size(x.shape, kernel, stride, padding)
    except ValueError as error:
        raise misfit(x.shape, f"a kernel of shape {kernel}", error) from None
    return apply(op, x, kernel=kernel, stride=stride, padding=padding)


def max_pool2d(x, kernel_size, stride=None, padding=0):
    """The largest number in each window, in each channel by itself.

    x            Tensor of shape (batch, channels, height, width)
    kernel_size, stride, padding   ints, or pairs (down, across); stride None: the kernel size

    >>> max_pool2d(Tensor([[[[1, 5, 2, 8]]]]), (1, 2))
    Tensor([[[[5., 8.]]]])
    """
    return pool2d(max_pool2d_forward, x, kernel_size, stride, padding)


def avg_pool2d(x, kernel_size, stride=None, padding=0):
    """The mean of each window; a margin counts as zeros. Called like max_pool2d."""
    return pool2d(avg_pool2d_forward, x, kernel_size, stride, padding)


class MaxPool2d(Module):
    """`max_pool2d` with its options chosen beforehand."""

    pool = staticmethod(max_pool2d)

    def __init__(self, kernel_size, stride=None, padding=0):
        self.kernel_size, self.padding = pair(kernel_size), pair(padding, least=0)
        self.stride = self.kernel_size if stride is None else pair(stride)

    def forward(self, x):
        return self.pool(x, self.kernel_size, self.stride, self.padding)

    def __repr__(self):
        return (f"{type(self).__name__}(kernel_size={self.kernel_size}, stride={self.stride}, "
                f"padding={self.padding})")


class AvgPool2d(MaxPool2d):
    """`avg_pool2d` with its options chosen beforehand."""

    pool = staticmethod(avg_pool2d)


def receptive_field(layers):
    """How far, along one axis, a number behind a stack of layers sees: the pixels from the
    first to the last of them.

    layers   list of (kernel, stride), both along that axis, from the picture on: convolutions
             and pools alike
    returns  an int; 1 for no layers

    >>> receptive_field([(5, 1), (2, 2), (3, 1)])
    10

    Source: Araujo, Norris, Sim, Computing receptive fields of convolutional neural networks
    (Distill, 2019), (2).
    """
    field, distance = 1, 1
    for kernel, stride in layers:
        field += (kernel - 1) * distance
        distance *= stride
    return field


def conv2d_cost(images, weights, stride=1, padding=0):
    """How many multiply-adds a convolution takes forward, biases left aside.

    images   shape (batch, channels, height, width)
    weights  shape (out channels, channels, kernel height, kernel width)
    stride, padding   ints, or pairs (down, across)
    returns  an int, in multiply-adds: one multiplication and one addition

    >>> conv2d_cost((32, 1, 28, 28), (8, 1, 5, 5))
    3686400

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 9.2, counts an example.
    """
    size = out_size(images, weights[2:], pair(stride), pair(padding, least=0))
    return images[0] * weights[0] * math.prod(size) * math.prod(weights[1:])
