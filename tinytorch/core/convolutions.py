# From modules/source/10_convolutions/convolutions_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 746683a458f162b8
"""Convolutions: A small kernel, applied at every position of an image."""

import math

import numpy as np

from tinytorch.core.autograd import derivative
from tinytorch.core.layers import Module, xavier_uniform
from tinytorch.core.losses import as_float_tensor
from tinytorch.core.tensor import Tensor, Variable, apply
from tinytorch.support.arrays import keep_freed_memory
from tinytorch.support.convolution import (
    conv_tiled_forward,
    conv_tiled_input_gradient,
    conv_tiled_weight_gradient,
    crop_padding,
    flatten_maps,
    kernel_positions,
    pad_images,
    pair,
    prefer_2x2,
    shape_error,
)
from tinytorch.support.derivatives import masked
from tinytorch.support.forward import sum_forward
from tinytorch.support.modules import cast_to

__all__ = [
    "output_size", "conv2d_loops", "patches", "im2col", "im2col_forward", "bias_gradient", "im2col_weight_gradient",
    "col2im", "im2col_input_gradient", "conv2d", "Conv2d", "max_pool2d_forward", "max_pool2d_gradient",
    "avg_pool2d_gradient", "pool2d", "max_pool2d", "avg_pool2d", "MaxPool2d", "AvgPool2d", "receptive_field",
    "conv2d_flops",
]


def output_size(length, kernel_size, stride=1, padding=0):
    """The number of positions of a kernel along one axis.

    returns      an int, 1 or more

    Raises ValueError, with all four numbers in its message, if the kernel is longer than the
    padded input.

    >>> output_size(7, kernel_size=3, stride=2, padding=1)
    4
    """
    size = (length + 2 * padding - kernel_size) // stride + 1
    if size < 1:
        raise ValueError(f"a kernel of {kernel_size} does not fit into {length} numbers: "
                         f"({length} + 2 * {padding} - {kernel_size}) // {stride} + 1 = {size}")
    return size


def output_shape(shape, kernel_size, stride=(1, 1), padding=(0, 0)):
    """(rows, columns) of the output, for images of `shape` (..., height, width)."""
    return tuple([output_size(*numbers)
                  for numbers in zip(shape[-2:], kernel_size, stride, padding)])


def conv2d_loops(x, weights, bias, stride=(1, 1)):
    """The convolution by its definition, one output number at a time. Only for small inputs.

    x        ndarray of shape (batch, channels, height, width), already padded
    weights  ndarray of shape (out channels, channels, kernel height, kernel width)
    bias     ndarray of shape (out channels,)
    returns  ndarray of shape (batch, out channels, *output_shape(...)), of the dtype of `x`
    """
    kernel_size = weights.shape[2:]
    rows, columns = kernel_size
    out = np.zeros((len(x), len(weights), *output_shape(x.shape, kernel_size, stride)), x.dtype)
    for n, o, p, q in np.ndindex(*out.shape):
        top, left = p * stride[0], q * stride[1]
        window = x[n, :, top:top + rows, left:left + columns]
        out[n, o, p, q] = (window * weights[o]).sum() + bias[o]
    return out


def patches(x, i, j, size, stride):
    """The pixels that weight (i, j) of a kernel multiplies, one for each window.

    x        ndarray of shape (..., height, width), already padded
    returns  a view of `x`, an ndarray of shape (..., *size)
    """
    down, across = stride
    return x[..., i:i + down * (size[0] - 1) + 1:down, j:j + across * (size[1] - 1) + 1:across]


def im2col(x, kernel_size, stride=(1, 1), padding=(0, 0)):
    """Copy every window of every image into a column.

    x        ndarray of shape (batch, channels, height, width)
    returns  a new ndarray of shape (batch, channels * kernel height * kernel width, windows),
             of the dtype of `x`
    """
    n, c = x.shape[:2]
    size = output_shape(x.shape, kernel_size, stride, padding)
    x = pad_images(x, padding)
    columns = np.empty((n, c, *kernel_size, *size), x.dtype)
    for i, j in kernel_positions(kernel_size):
        columns[:, :, i, j] = patches(x, i, j, size, stride)
    return columns.reshape(n, c * kernel_size[0] * kernel_size[1], size[0] * size[1])


def im2col_forward(x, weights, bias, stride, padding):
    """The convolution as a matrix product of the weights and the columns of `x`.

    x        ndarray of shape (batch, channels, height, width)
    weights  ndarray of shape (out channels, channels, kernel height, kernel width)
    bias     ndarray of shape (out channels,)
    returns  ndarray of shape (batch, out channels, *output_shape(...)), of the dtype of the
             inputs, which are not changed
    """
    kernel_size = weights.shape[2:]
    out = weights.reshape(len(weights), -1) @ im2col(x, kernel_size, stride, padding)
    out += bias[:, None]
    size = output_shape(x.shape, kernel_size, stride, padding)
    return out.reshape(len(x), len(weights), *size)


def bias_gradient(g, out, x, weights, bias, stride, padding):
    """The gradient of the bias of a convolution.

    g        ndarray of shape (batch, out channels, rows, columns): the upstream gradient
    returns  ndarray of shape (out channels,)

    >>> bias_gradient(np.ones((5, 2, 3, 4)), None, None, None, None, (1, 1), (0, 0))
    array([60., 60.])
    """
    return sum_forward(g, axis=(0, 2, 3))


def im2col_weight_gradient(g, out, x, weights, bias, stride, padding):
    """The gradient of the weights of a convolution.

    g        ndarray of shape (batch, out channels, rows, columns): the upstream gradient
    returns  ndarray of the shape of `weights`, of the dtype of `g`
    """
    columns = im2col(x, weights.shape[2:], stride, padding)
    return (flatten_maps(g) @ columns.swapaxes(1, 2)).sum(axis=0).reshape(weights.shape)


def col2im(columns, shape, kernel_size, stride=(1, 1), padding=(0, 0)):
    """For each pixel, the sum over all places that `im2col` copied it to.

    columns  ndarray of the shape that im2col returns for images of `shape`
    returns  ndarray of shape `shape`, of the dtype of `columns`

    >>> col2im(np.array([[[1.0, 10.0], [2.0, 20.0]]]), (1, 1, 1, 3), kernel_size=(1, 2))
    array([[[[ 1., 12., 20.]]]])
    """
    n, c, height, width = shape
    size = output_shape(shape, kernel_size, stride, padding)
    columns = columns.reshape(n, c, *kernel_size, *size)
    x = np.zeros((n, c, height + 2 * padding[0], width + 2 * padding[1]), columns.dtype)
    for i, j in kernel_positions(kernel_size):
        view = patches(x, i, j, size, stride)
        view += columns[:, :, i, j]
    return crop_padding(x, padding)


def im2col_input_gradient(g, out, x, weights, bias, stride, padding):
    """The gradient of the images that a convolution was applied to.

    g        ndarray of shape (batch, out channels, rows, columns): the upstream gradient
    returns  ndarray of the shape of `x`, of the dtype of `g`
    """
    columns = weights.reshape(len(weights), -1).T @ flatten_maps(g)
    return col2im(columns, x.shape, weights.shape[2:], stride, padding)


MANY_CHANNELS = 8


def conv2d_forward(x, weights, bias, stride, padding, saved=None):
    if x.shape[1] < MANY_CHANNELS:
        return im2col_forward(x, weights, bias, stride, padding)
    return conv_tiled_forward(x, weights, bias, stride, padding, saved)


def input_gradient(g, out, x, weights, bias, stride, padding, saved=None):
    method = conv_tiled_input_gradient if x.shape[1] >= MANY_CHANNELS else im2col_input_gradient
    return method(g, out, x, weights, bias, stride, padding)


def weight_gradient(g, out, x, weights, bias, stride, padding, saved=None):
    if x.shape[1] < MANY_CHANNELS:
        return im2col_weight_gradient(g, out, x, weights, bias, stride, padding)
    return conv_tiled_weight_gradient(g, out, x, weights, bias, stride, padding, saved)


derivative(conv2d_forward, input_gradient, weight_gradient,
           lambda *arrays, saved=None, **options: bias_gradient(*arrays, **options))


def conv2d(x, weights, bias=None, stride=1, padding=0):
    """Convolution: apply each kernel at every position of every image.

    x        Tensor, array or lists of shape (batch, channels, height, width)
    weights  Tensor of shape (out channels, channels, kernel height, kernel width)
    bias     Tensor of shape (out channels,), or None for no bias
    returns  Tensor of shape (batch, out channels, rows, columns), see `output_size`, of the
             dtype of x and weights

    Raises the ValueError that `shape_error` returns, with both shapes and the formula, when x
    or weights do not have four axes, when their channels differ, and when a kernel is larger
    than the padded images.

    >>> conv2d(Tensor([[[[1, 2, 3]]]]), Tensor([[[[1, 10]]]]), padding=(0, 1))
    Tensor([[[[10., 21., 32.,  3.]]]])
    """
    x, weights = as_float_tensor(x), as_float_tensor(weights)
    stride, padding = pair(stride), pair(padding, least=0)
    if bias is not None and np.shape(bias) != weights.shape[:1]:
        raise ValueError(f"weights of shape {weights.shape} need a bias of shape "
                         f"{weights.shape[:1]}, not {np.shape(bias)}")
    both = x.shape, weights.shape
    if x.ndim != 4 or weights.ndim != 4:
        raise shape_error(*both, "both need four axes (for one image, use image[None])")
    if x.shape[1] != weights.shape[1]:
        raise shape_error(*both, f"the images have {x.shape[1]} channels, "
                                 f"the kernels {weights.shape[1]}")
    try:
        output_shape(x.shape, weights.shape[2:], stride, padding)
    except ValueError as error:
        raise shape_error(*both, error) from None
    bias = np.zeros(len(weights), weights.dtype) if bias is None else bias
    return apply(conv2d_forward, x, weights, bias, stride=stride, padding=padding, saved={})


class Conv2d(Module):
    """A convolutional layer.

    init          returns the initial weights, called as init(fan_in, fan_out, rng, shape):
                  xavier_uniform, he_normal, ...

    .weights      Variable of shape (out_channels, in_channels, kernel height, kernel width)
    .bias         Variable of shape (out_channels,), float32 zeros at first

    >>> Conv2d(3, 8, (5, 3), padding=(2, 1))(Tensor(np.ones((10, 3, 6, 7), "float32"))).shape
    (10, 8, 6, 7)
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, *,
                 bias=True, init=xavier_uniform, rng=None):
        if in_channels < 1 or out_channels < 1:
            raise ValueError("Conv2d needs at least 1 input channel and 1 output channel, "
                             f"not {in_channels} and {out_channels}")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.padding = (pair(kernel_size), pair(stride),
                                                       pair(padding, least=0))
        area = math.prod(self.kernel_size)
        shape = (out_channels, in_channels, *self.kernel_size)
        self.weights = Variable(init(in_channels * area, out_channels * area, rng, shape))
        self.bias = Variable(np.zeros(out_channels, np.float32)) if bias else None

    weight = property(lambda self: self.weights, doc="PyTorch's name for the weights.")

    def forward(self, x):
        x = cast_to(x, self.weights, self)
        return conv2d(x, self.weights, self.bias, self.stride, self.padding)

    def __repr__(self):
        options = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        options += f", stride={self.stride}" * (self.stride != (1, 1))
        options += f", padding={self.padding}" * (self.padding != (0, 0))
        return f"Conv2d({options}{', bias=False' if self.bias is None else ''})"


def max_pool2d_forward(x, kernel_size, stride, padding):
    """The maximum of each window, for each channel separately.

    x        ndarray of floats, of shape (batch, channels, height, width)
    returns  a new ndarray of shape (batch, channels, *output_shape(...)), of the dtype of `x`
    """
    size = output_shape(x.shape, kernel_size, stride, padding)
    x = pad_images(x, padding, -np.inf)
    out = patches(x, 0, 0, size, stride).copy(order="K")
    for i, j in kernel_positions(kernel_size):
        np.maximum(out, patches(x, i, j, size, stride), out=out)
    return out


def max_pool2d_gradient(g, out, x, kernel_size, stride, padding):
    """The gradient of the input of max_pool2d_forward.

    g        ndarray: the upstream gradient, of the shape of `out`
    returns  ndarray of the shape and dtype of `x`
    """
    size, x = out.shape[2:], pad_images(x, padding, np.nan)  # nan is equal to nothing
    gradient, free = np.zeros_like(x), np.ones(out.shape, bool)
    for i, j in kernel_positions(kernel_size):
        first = free & (patches(x, i, j, size, stride) == out)
        view = patches(gradient, i, j, size, stride)
        view += masked(g, first)
        free &= ~first
    return crop_padding(gradient, padding)


derivative(max_pool2d_forward, prefer_2x2(max_pool2d_gradient))  # 2 by 2: faster, same numbers


def avg_pool2d_forward(x, kernel_size, stride, padding):
    """The mean of each window, for each channel separately; the padding counts as zeros."""
    size, x = output_shape(x.shape, kernel_size, stride, padding), pad_images(x, padding)
    out = patches(x, 0, 0, size, stride).copy(order="K")
    for i, j in kernel_positions(kernel_size)[1:]:
        out += patches(x, i, j, size, stride)
    out /= math.prod(kernel_size)
    return out


def avg_pool2d_gradient(g, out, x, kernel_size, stride, padding):
    """The gradient of the input of avg_pool2d_forward.

    g        ndarray: the upstream gradient, of the shape of the output
    returns  ndarray of the shape and dtype of `x`: every number receives its part of the
             gradient of each window that contains it
    """
    gradient = np.zeros_like(pad_images(x, padding))
    for i, j in kernel_positions(kernel_size):
        view = patches(gradient, i, j, g.shape[2:], stride)
        view += g / math.prod(kernel_size)
    return crop_padding(gradient, padding)


derivative(avg_pool2d_forward, avg_pool2d_gradient)


def pool2d(op, x, kernel_size, stride, padding):
    """Apply `op`, one of the two forward functions, to images; takes ints or pairs."""
    x, kernel_size = as_float_tensor(x), pair(kernel_size)
    stride, padding = kernel_size if stride is None else pair(stride), pair(padding, least=0)
    name = f"a kernel of shape {kernel_size}"
    if x.ndim != 4:
        raise shape_error(x.shape, name, "images need four axes (for one image, image[None])")
    if any(2 * p > k for p, k in zip(padding, kernel_size)):
        raise ValueError(f"the padding {padding} is more than half of the kernel "
                         f"{kernel_size}: a window would contain no pixel")
    try:
        output_shape(x.shape, kernel_size, stride, padding)
    except ValueError as error:
        raise shape_error(x.shape, name, error) from None
    return apply(op, x, kernel_size=kernel_size, stride=stride, padding=padding)


def max_pool2d(x, kernel_size, stride=None, padding=0):
    """The maximum of each window, for each channel separately.

    x            Tensor of shape (batch, channels, height, width)

    >>> max_pool2d(Tensor([[[[1, 5, 2, 8]]]]), (1, 2))
    Tensor([[[[5., 8.]]]])
    """
    return pool2d(max_pool2d_forward, x, kernel_size, stride, padding)


def avg_pool2d(x, kernel_size, stride=None, padding=0):
    """The mean of each window; the padding counts as zeros. Called like max_pool2d."""
    return pool2d(avg_pool2d_forward, x, kernel_size, stride, padding)


class MaxPool2d(Module):
    """`max_pool2d` as a layer."""

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
    """`avg_pool2d` as a layer."""

    pool = staticmethod(avg_pool2d)


def receptive_field(layers):
    """The size of the receptive field of one number after a stack of layers, along one axis.

    returns  an int

    >>> receptive_field([(5, 1), (2, 2), (3, 1)])
    10
    """
    field, distance = 1, 1
    for kernel_size, stride in layers:
        field += (kernel_size - 1) * distance
        distance *= stride
    return field


def conv2d_flops(images, weights, stride=1, padding=0):
    """The floating-point operations of the forward pass of a convolution, without the bias.

    images   shape (batch, channels, height, width)
    weights  shape (out channels, channels, kernel height, kernel width)
    returns  an int, in FLOPs: 2 for each product of a weight and a pixel (or padding), one
             multiplication and one addition

    >>> conv2d_flops((32, 1, 28, 28), (8, 1, 5, 5))
    7372800
    """
    size = output_shape(images, weights[2:], pair(stride), pair(padding, least=0))
    return 2 * images[0] * weights[0] * math.prod(size) * math.prod(weights[1:])


keep_freed_memory()
