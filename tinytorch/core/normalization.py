# From modules/source/11_normalization/normalization_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: c886e16af1541950
"""Normalization: Why a deep stack of layers trains at all."""

import numpy as np

from tinytorch.core.autograd import derivative, no_grad
from tinytorch.core.layers import Dense, Module
from tinytorch.core.losses import as_float_tensor
from tinytorch.core.tensor import Tensor, Variable, apply
from tinytorch.support.arguments import as_shape, channel_axes, checked_rank, joined_axes, running_arrays
from tinytorch.support.forward import sum_forward
from tinytorch.support.modules import cast_to, count_batch

__all__ = [
    "spread", "normalized", "layer_norm_forward", "layer_norm_rule", "layer_norm", "LayerNorm", "running",
    "batch_norm", "BatchNorm", "BatchNorm1d", "BatchNorm2d", "rms_norm_forward", "rms_norm_rule", "rms_norm",
    "RMSNorm", "folded", "Residual",
]


def spread(model, x):
    """The standard deviation of the output of each layer of a network.

    x        the input, a Tensor of shape (B, ...)
    returns  list of floats, one for each layer in order: the standard deviation of all numbers
             in its output

    >>> spread([lambda x: x * 3, lambda x: x - 5], Tensor([[-1.0, 1.0]]))
    [3.0, 3.0]
    """
    stds = []
    with no_grad():
        for layer in model:
            x = layer(x)
            stds.append(float(x.data.std()))
    return stds


def normalized(x, axes, eps=1e-5):
    """Numbers with mean 0 and variance 1 along some axes.

    x        Tensor of floating-point numbers, of any shape
    returns  Tensor of the shape of x: (x - mean) / sqrt(variance + eps)
    """
    centered = x - x.mean(axes, keepdims=True)
    return centered / (x.var(axes, keepdims=True) + eps).sqrt()


def layer_norm_forward(x, weight, bias, eps, saved):
    """Layer normalization over the last axis: x̂ * weight + bias; x̂ is x, normalized.

    x        ndarray of shape (..., D)
    weight   ndarray of shape (D,)
    bias     ndarray of shape (D,)
    saved    a dict, in which the function stores two arrays for the rule:
             "normalized": x̂, (x - mean) / sqrt(variance + eps), of the shape of x
             "scale": 1 / sqrt(variance + eps), of shape (..., 1)
    returns  a new ndarray of the shape and dtype of x
    """
    n = x.shape[-1]
    centered = x - sum_forward(x, -1, True) / n  # faster than x.mean on short rows
    variance = sum_forward(centered * centered, -1, True) / n
    saved["scale"] = 1 / np.sqrt(variance + eps)
    saved["normalized"] = centered * saved["scale"]
    return saved["normalized"] * weight + bias


def layer_norm_rule(g, out, x, weight, bias, eps, saved):
    """The gradients of the three inputs of layer_norm_forward.

    g        ndarray of shape (..., D): the upstream gradient
    """
    normal = saved["normalized"]
    h = g * weight
    along = (h * normal).mean(-1, keepdims=True)
    dx = saved["scale"] * (h - h.mean(-1, keepdims=True) - normal * along)
    rows = tuple(range(g.ndim - 1))
    return [dx, sum_forward(g * normal, rows), sum_forward(g, rows)]


derivative(layer_norm_forward, together=layer_norm_rule)


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Normalize each example separately, over its last axes.

    x                 Tensor of shape (..., *normalized_shape)
    weight, bias      Tensors of shape `normalized_shape`
    returns           Tensor of the shape of x

    Raises ValueError, with the shapes in its message, when they do not fit.
    """
    x = as_float_tensor(x)
    rows, weight, bias = joined_axes(x, normalized_shape, weight, bias)
    out = apply(layer_norm_forward, rows, weight, bias, eps=eps, saved={})
    return out if rows is x else out.reshape(x.shape)


class LayerNorm(Module):
    """Layer normalization as a layer, with a learned weight and bias.

    .weight   Variable of shape `normalized_shape`, float32 ones at first
    .bias     Variable of shape `normalized_shape`, float32 zeros at first

    >>> LayerNorm(2)(Tensor([[100.0, 700.0]]))
    Tensor([[-1.,  1.]], requires_grad=True)
    """

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True):
        self.normalized_shape, self.eps = as_shape(normalized_shape), eps
        self.weight = self.bias = None
        if elementwise_affine:
            self.weight = Variable(np.ones(self.normalized_shape, np.float32))
        if elementwise_affine and bias:
            self.bias = Variable(np.zeros(self.normalized_shape, np.float32))

    def forward(self, x):
        if self.weight is not None:
            x = cast_to(x, self.weight, self)
        return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def __repr__(self):
        return f"LayerNorm({self.normalized_shape})"


def running(old, new, momentum):
    """An exponential moving average: `old`, moved towards `new` by the fraction `momentum`.

    new       ndarray or number of the same shape: the latest value

    >>> running(0.0, 10.0, momentum=0.1)
    1.0
    """
    return (1 - momentum) * old + momentum * new


def batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False,
               momentum=0.1, eps=1e-5):
    """Normalize each channel over the examples of a batch.

    x             Tensor of shape (B, C) or (B, C, H, W)
    running_mean  array, or Tensor that requires no gradient, of shape (C,)
    weight, bias  Tensors of shape (C,), or None
    returns       Tensor of the shape of x

    In training, raises ValueError, with x.shape in its message, if there is only one number per
    channel, because n - 1 is then 0.
    """
    x = as_float_tensor(x)
    axes, shape = channel_axes(x.ndim)  # (0,) and (1, -1); for images (0, 2, 3), (1, -1, 1, 1)
    mean, var = running_arrays(running_mean, running_var, x.shape, training)
    if training and x.size // x.shape[1] < 2:
        raise ValueError(f"training needs 2 or more numbers per channel, not {x.shape}")
    if training:
        out = normalized(x, axes, eps)
        numbers = x.detach()  # Tensors add up exactly, NumPy's mean of many rows does not
        mean[...] = running(mean, numbers.mean(axes).data, momentum)
        var[...] = running(var, numbers.var(axes, correction=1).data, momentum)
    else:
        out = (x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps)
    if weight is not None:
        out = out * weight.reshape(shape)
    return out if bias is None else out + bias.reshape(shape)


class BatchNorm(Module):
    """Batch normalization as a layer; the base class of BatchNorm1d and BatchNorm2d.

    .weight        Variable of shape (C,), float32 ones at first
    .bias          Variable of shape (C,), float32 zeros at first
    .running_mean  buffer of shape (C,), float32 zeros at first
    .running_var   buffer of shape (C,), float32 ones at first
    """

    ranks = ()  # the ranks of its inputs

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True,
                 track_running_stats=True):
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        zeros, ones = np.zeros(num_features, np.float32), np.ones(num_features, np.float32)
        self.weight = self.bias = None
        if momentum is None:
            self.register_buffer("num_batches_tracked", np.zeros((), np.int64))
        if affine:
            self.weight, self.bias = Variable(ones), Variable(zeros)
        self.register_buffer("running_mean", zeros if track_running_stats else None)
        self.register_buffer("running_var", ones if track_running_stats else None)

    def forward(self, x):
        x = checked_rank(x, self.ranks, self)
        count_batch(self)  # with momentum=None: sets self.momentum to 1 / the number of batches
        if self.weight is not None:
            x = cast_to(x, self.weight, self)
        training = self.training or self.running_mean is None
        return batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
                          training, self.momentum, self.eps)

    def __repr__(self):
        return f"{type(self).__name__}({self.num_features})"


class BatchNorm1d(BatchNorm):
    """Batch normalization of inputs of shape (B, C) or (B, C, L)."""

    ranks = (2, 3)


class BatchNorm2d(BatchNorm):
    """Batch normalization of images, of shape (B, C, H, W)."""

    ranks = (4,)


def rms_norm_forward(x, weight, eps, saved):
    """Root-mean-square normalization over the last axis: x / sqrt(mean of x² + eps) * weight.

    x        ndarray of shape (..., D)
    weight   ndarray of shape (D,)
    returns  a new ndarray of the shape and dtype of x

    >>> rms_norm_forward(np.array([[3.0, -3.0]]), np.array([1.0, 10.0]), 0, {})
    array([[  1., -10.]])
    """
    saved["scale"] = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    saved["normalized"] = x * saved["scale"]
    return saved["normalized"] * weight


def rms_norm_rule(g, out, x, weight, eps, saved):
    """The gradients of x and weight, a list; the arguments are as in layer_norm_rule."""
    normal = saved["normalized"]
    h = g * weight
    dx = saved["scale"] * (h - normal * (h * normal).mean(-1, keepdims=True))
    return [dx, sum_forward(g * normal, tuple(range(g.ndim - 1)))]


derivative(rms_norm_forward, together=rms_norm_rule)


def rms_norm(x, normalized_shape, weight=None, eps=None):
    """Divide each example by the root of its mean square, over its last axes.

    returns  Tensor of the shape of x

    >>> rms_norm(Tensor([[3.0, -3.0]]), 2)
    Tensor([[ 1., -1.]])
    """
    eps = float(np.finfo(np.float32).eps) if eps is None else eps
    x = as_float_tensor(x)
    rows, weight, _ = joined_axes(x, normalized_shape, weight)
    out = apply(rms_norm_forward, rows, weight, eps=eps, saved={})
    return out if rows is x else out.reshape(x.shape)


class RMSNorm(Module):
    """`rms_norm` as a layer, with a learned weight.

    .weight   Variable of shape `normalized_shape`, float32 ones at first
    """

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        self.normalized_shape, self.eps = as_shape(normalized_shape), eps
        ones = np.ones(self.normalized_shape, np.float32)
        self.weight = Variable(ones) if elementwise_affine else None

    def forward(self, x):
        if self.weight is not None:
            x = cast_to(x, self.weight, self)
        return rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def __repr__(self):
        return f"RMSNorm({self.normalized_shape})"


def folded(layer, norm):
    """The weights and bias of one layer that computes the same as `layer` and then `norm`.

    layer    a Dense, with weights of shape (in, out), or a Conv2d, with weights of shape (out,
             channels, height, width)
    returns  (weights, bias): new ndarrays, the weights of the shape of `layer.weights`, the
             bias of shape (out,)
    """
    factor = 1 / np.sqrt(norm.running_var.data + norm.eps)
    if norm.weight is not None:
        factor = factor * norm.weight.data
    bias = 0 if layer.bias is None else layer.bias.data
    bias = (bias - norm.running_mean.data) * factor
    if norm.bias is not None:
        bias = bias + norm.bias.data
    weights = layer.weights.data
    shape = (-1, 1, 1, 1) if weights.ndim == 4 else (-1,)
    return weights * factor.reshape(shape), bias


class Residual(Module):
    """A residual connection: Residual(inner)(x) is x + inner(x).

    Raises ValueError, with both shapes in its message, when inner(x) does not have the shape of
    x.

    >>> Residual(lambda x: x * 10)(Tensor([1.0, 2.0]))
    Tensor([11., 22.])
    """

    def __init__(self, inner):
        self.inner = inner

    def forward(self, x):
        change = self.inner(x)
        if change.shape != x.shape:
            raise ValueError(f"a residual connection adds the input, of shape {x.shape}, to "
                             f"the output of its layer, of shape {change.shape}")
        return x + change
