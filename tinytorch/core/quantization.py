# From modules/source/23_quantization/quantization_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 40dbd06619847dbd
"""Quantization: Fewer bits for each weight, and what is really gained."""

import copy

import numpy as np

from tinytorch import nn
from tinytorch.core.autograd import derivative
from tinytorch.core.convolutions import Conv2d, conv2d
from tinytorch.core.embeddings import Embedding, embedding
from tinytorch.core.layers import Dense, Linear, Module, linear, traverse
from tinytorch.core.losses import as_float_tensor
from tinytorch.core.optimizers import Adam
from tinytorch.core.tensor import Tensor, apply
from tinytorch.core.training import evaluation_mode, train_step
from tinytorch.support.arrays import pack_bits, unpack_bits
from tinytorch.support.modules import recording

__all__ = [
    "symmetric_scale", "quantize", "dequantize", "SMALLEST", "group_scales", "per_row", "pack4", "unpack4", "pack",
    "unpack", "QuantizedMatrix", "QuantizedLinear", "QuantizedEmbedding", "QuantizedConv2d", "QUANTIZED",
    "quantizable", "recorded_inputs", "quantize_model", "size_of", "sensitivity", "inverse_factor", "gptq",
    "affine_range", "Observer", "int_matmul", "fake_quantize_forward", "fake_quantize_rule", "fake_quantize",
    "FakeQuantizedLinear", "train_quantized",
]


def symmetric_scale(x, bits=8, axis=None):
    """The scale with which the largest absolute value becomes the largest signed integer.

    axis     None: one scale for the whole array, of shape ()
    returns  float32 array
    """
    largest = np.abs(x).max(axis, keepdims=axis is not None)
    scale = largest / (2 ** (bits - 1) - 1)
    return np.where(largest > 0, scale, 1).astype(np.float32)


def quantize(x, scale, zero_point=0, bits=8, signed=True):
    """Integers for numbers: round(x / scale) + zero_point, clipped.

    returns     int8 or uint8 array of the shape of `x`

    >>> quantize(np.array([0.6, -0.9, 1.25, 300.0]), 0.5)
    array([  1,  -2,   2, 127], dtype=int8)
    """
    largest = 2 ** (bits - 1) - 1
    low, high = (-largest, largest) if signed else (0, 2**bits - 1)
    q = np.clip(np.rint(x / scale) + zero_point, low, high)
    return q.astype(np.int8 if signed else np.uint8)


def dequantize(q, scale, zero_point=0):
    """The numbers that integers stand for: (q - zero_point) * scale.

    returns  float32 array

    >>> dequantize(np.array([0, 3, 255], np.uint8), 0.5, zero_point=3)
    array([ -1.5,   0. , 126. ], dtype=float32)
    """
    return (np.float32(q) - np.float32(zero_point)) * np.float32(scale)


SMALLEST = 2.0**-24  # the smallest positive float16: a smaller scale would become 0


def group_scales(w, bits, group=None):
    """The scales of a matrix: one for each group of rows in each column.

    returns  float16 array (number of groups, n): the `symmetric_scale` of each group, at least
             SMALLEST
    """
    group = len(w) if group is None else group
    scales = [symmetric_scale(w[i : i + group], bits, axis=0) for i in range(0, len(w), group)]
    return np.maximum(np.concatenate(scales), SMALLEST).astype(np.float16)


def per_row(scale, group, k):
    """The scale of each row: float32 (k, n), from group_scales(w, bits, group) of k rows."""
    return np.float32(np.repeat(scale, group or k, axis=0)[:k])


def pack4(q):
    """Two numbers of 4 bits in each byte.

    returns  uint8 array (ceil(n / 2),)

    A number outside of -8 ... 7 raises a ValueError that contains it.

    >>> pack4(np.array([5, -3, 7], np.int8))
    array([213,   7], dtype=uint8)
    """
    outside = q[(q < -8) | (q > 7)]
    if outside.size:
        raise ValueError(f"{outside[0]} does not fit into 4 bits, which hold -8 to 7")
    nibbles = np.append(q, [0] * (len(q) % 2)).astype(np.uint8) & 15
    return nibbles[0::2] | nibbles[1::2] << 4


def unpack4(p, n):
    """The first n numbers in packed bytes: the inverse of `pack4`.

    returns  int8 array (n,)

    >>> unpack4(np.array([213, 7], np.uint8), 3)
    array([ 5, -3,  7], dtype=int8)
    """
    nibbles = np.stack([p & 15, p >> 4], axis=1).ravel()[:n].astype(np.int8)
    return np.where(nibbles > 7, nibbles - 16, nibbles)


def pack(q, bits):
    """int8 (n,) as uint8 (ceil(n * bits / 8),): the lowest `bits` bits of each, in order."""
    return pack4(q) if bits == 4 else pack_bits(q, bits)


def unpack(p, n, bits):
    """The n numbers in `p`, an int8 array (n,): the inverse of `pack`."""
    return unpack4(p, n) if bits == 4 else unpack_bits(p, n, bits)


class QuantizedMatrix(Module):
    """A matrix that is stored as packed integers and float16 scales."""

    def __init__(self, w, bits, group=None, inputs=None):
        self.shape, self.bits, self.group = w.shape, bits, group
        scale = group_scales(w, bits, group)
        if inputs is not None:
            w = gptq(w, inputs, bits, group)
        q = quantize(w, per_row(scale, group, len(w)), bits=bits)
        self.register_buffer("packed", pack(q.ravel(), bits))
        self.register_buffer("scale", scale)

    def dequantize(self):
        """The rounded matrix, a float32 array (k, n), computed from .packed and .scale."""
        k, n = self.shape
        q = unpack(self.packed.data, k * n, self.bits).reshape(k, n)
        return dequantize(q, per_row(self.scale.data, self.group, k))


class QuantizedLinear(Module):
    """A fully connected layer with a quantized matrix, for use only: it does not learn."""

    @classmethod
    def from_float(cls, dense, bits=8, group=None, inputs=None):
        """A QuantizedLinear in place of `dense`, a Dense, which is not changed.

        >>> QuantizedLinear.from_float(Dense(64, 10), bits=4)(np.ones((5, 64), "float32")).shape
        (5, 10)
        """
        layer = cls()
        layer.matrix = QuantizedMatrix(dense.weights.data, bits, group, inputs)
        layer.bias = None if dense.bias is None else Tensor(dense.bias)
        return layer

    weights = property(lambda self: Tensor(self.matrix.dequantize()))

    def forward(self, x):
        """x: Tensor (..., in). Returns a Tensor (..., out)."""
        return linear(as_float_tensor(x), self.weights, self.bias)


class QuantizedEmbedding(Module):
    """An Embedding with a quantized table; its groups are parts of a row."""

    @classmethod
    def from_float(cls, table, bits=8, group=None, inputs=None):
        layer = cls()
        layer.matrix = QuantizedMatrix(table.weight.data.T, bits, group)
        return layer

    weight = property(lambda self: Tensor(self.matrix.dequantize().T))

    def forward(self, ids):
        return embedding(ids, self.weight)


class QuantizedConv2d(Module):
    """A Conv2d with quantized kernels; each kernel is a column of its matrix."""

    @classmethod
    def from_float(cls, conv, bits=8, group=None, inputs=None):
        layer, kernels = cls(), conv.weights.data
        layer.shape, layer.stride, layer.padding = kernels.shape, conv.stride, conv.padding
        layer.matrix = QuantizedMatrix(kernels.reshape(len(kernels), -1).T, bits, group)
        layer.bias = None if conv.bias is None else Tensor(conv.bias)
        return layer

    weights = property(lambda self: Tensor(self.matrix.dequantize().T.reshape(self.shape)))

    def forward(self, x):
        return conv2d(as_float_tensor(x), self.weights, self.bias, self.stride, self.padding)


QUANTIZED = {Dense: QuantizedLinear, Linear: QuantizedLinear, Embedding: QuantizedEmbedding,
             Conv2d: QuantizedConv2d, nn.Conv2d: QuantizedConv2d}


def quantizable(model):
    """{path: layer} of the layers of `model` that have a quantized form: see QUANTIZED."""
    return {path: part for path, part in traverse(model) if type(part) in QUANTIZED}


def recorded_inputs(model, x):
    """{path: array (m, in)}: the inputs of each Dense layer while model(x) is computed."""
    layers = quantizable(model).items()
    dense = {path: layer for path, layer in layers if isinstance(layer, Dense)}
    with evaluation_mode(model), recording(dense) as seen:
        model(x)
    return {path: np.concatenate(arrays) for path, arrays in seen.items()}


def quantize_model(model, bits, calibration=None, skip=(), group=None):
    """A copy of a model in which every layer of `quantizable(model)` is quantized."""
    inputs = {} if calibration is None else recorded_inputs(model, calibration)
    replaced = {}
    for path, layer in quantizable(model).items():
        if path not in skip:
            new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
            replaced[id(layer)] = new
    return copy.deepcopy(model, replaced)


def size_of(model):
    """The bytes of all arrays that a model stores.

    returns  int
    """
    return sum(part.data.nbytes for _, part in traverse(model) if isinstance(part, Tensor))


def sensitivity(model, bits, score, group=None):
    """How much a score changes when one layer alone is quantized.

    >>> sensitivity({"first": Dense(2, 2), "second": Dense(8, 2)}, 8, size_of)
    {'first': -8, 'second': -44}
    """
    before, paths = score(model), list(quantizable(model))
    changes = {}
    for path in paths:
        others = [other for other in paths if other != path]
        changes[path] = score(quantize_model(model, bits, skip=others, group=group)) - before
    return changes


def inverse_factor(x, damping=0.01):
    """The upper triangular U with U.T @ U = (H + c I)^-1, where H = x.T @ x.

    returns  float64 array (k, k), with a positive diagonal
    """
    x = np.asarray(x, np.float64)
    h = x.T @ x
    h += damping * np.diag(h).mean() * np.eye(len(h))
    return np.linalg.cholesky(np.linalg.inv(h)).T


def gptq(w, x, bits=4, group=None, damping=0.01):
    """Round a matrix so that the outputs x @ w change little.

    returns  float32 array (k, n): in each row, integers as from `quantize` times the scales
    """
    scale = per_row(group_scales(w, bits, group), group, len(w))
    u, rest = inverse_factor(x, damping), np.array(w, np.float64)
    out = np.zeros(rest.shape, np.float32)
    for i in range(len(rest)):
        out[i] = dequantize(quantize(rest[i], scale[i], bits=bits), scale[i])
        error = (rest[i] - out[i]) / u[i, i]
        rest[i + 1 :] -= np.outer(u[i, i + 1 :], error)
    return out


def affine_range(low, high, bits=8):
    """The scale and the zero point for numbers from `low` to `high`, as unsigned integers.

    >>> affine_range(-1.0, 4.0, bits=4)
    (0.3333333333333333, 3)
    """
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    scale = (high - low) / (2**bits - 1) or 1.0
    return scale, round(-low / scale)


class Observer:
    """Remembers the range of the arrays that it is shown."""

    def __init__(self, percentile=100.0):
        self.percentile, self.low, self.high = percentile, np.inf, -np.inf

    def observe(self, x):
        """Extend the range by an array, a Tensor or nested lists of numbers."""
        low, high = np.percentile(np.asarray(x), [100 - self.percentile, self.percentile])
        self.low, self.high = min(self.low, float(low)), max(self.high, float(high))

    def range(self, bits=8):
        """affine_range(low, high, bits). ValueError when no array was observed yet."""
        if self.low > self.high:
            raise ValueError("no numbers were observed yet: call observe(x) first")
        return affine_range(self.low, self.high, bits)


def int_matmul(a, b):
    """The exact product of two integer matrices, computed by float32 products.

    returns  int32 array (n, m), exact

    >>> int_matmul(np.full((1, 1041), 127, np.int8), np.full((1041, 1), 127, np.int8))
    array([[16790289]], dtype=int32)
    """
    terms = 2**24 // 128**2
    out = np.zeros((len(a), b.shape[1]), np.int32)
    for i in range(0, len(b), terms):
        block = np.float32(a[:, i : i + terms]) @ np.float32(b[i : i + terms])
        out += block.astype(np.int32)
    return out


def fake_quantize_forward(x, scale, zero_point, low, high):
    """Round to the grid: q = round(x / scale) + zero_point, clipped to low ... high, then
    (q - zero_point) * scale.

    returns     array of the shape and dtype of `x`

    >>> fake_quantize_forward(np.array([0.6, -0.9, 300.0]), 0.5, 0, -127, 127)
    array([ 0.5, -1. , 63.5])
    """
    q = np.clip(np.rint(x / scale) + zero_point, low, high)
    return ((q - zero_point) * scale).astype(x.dtype)


def fake_quantize_rule(g, out, x, scale, zero_point, low, high):
    """The gradient of x by the straight-through estimator.

    >>> fake_quantize_rule(np.array([5.0, 5.0]), None, np.array([3.6, 3.8]), 0.5, 0, -7, 7)
    array([5., 0.])
    """
    q = np.rint(x / scale) + zero_point
    return g * ((q >= low) & (q <= high))


derivative(fake_quantize_forward, fake_quantize_rule)


def fake_quantize(x, scale, zero_point, low, high):
    """`fake_quantize_forward` of a Tensor, recorded; torch.fake_quantize_per_tensor_affine."""
    return apply(fake_quantize_forward, as_float_tensor(x), scale=scale, zero_point=zero_point,
                 low=low, high=high)


class FakeQuantizedLinear(Module):
    """A Dense layer that computes with its weights rounded, and learns them unrounded."""

    def __init__(self, dense, bits, group=None):
        self.weights, self.bias, self.bits, self.group = dense.weights, dense.bias, bits, group

    def forward(self, x):
        w, largest = self.weights, 2 ** (self.bits - 1) - 1
        scale = per_row(group_scales(w.data, self.bits, self.group), self.group, len(w.data))
        rounded = fake_quantize(w, scale, 0, -largest, largest)
        return linear(as_float_tensor(x), rounded, self.bias)


QUANTIZED[FakeQuantizedLinear] = QuantizedLinear


def train_quantized(model, bits, loss, batches, lr=1e-3, group=None):
    """Quantization-aware training of the Dense layers of a model.

    loss         a function of (outputs, targets) that returns a Tensor of shape ()
    """
    model = copy.deepcopy(model)
    replaced = {id(layer): FakeQuantizedLinear(layer, bits, group)
                for layer in quantizable(model).values() if isinstance(layer, Dense)}
    model = copy.deepcopy(model, replaced)
    optimizer = Adam(model.parameters(), lr=lr)
    for inputs, targets in batches:
        train_step(model, loss, optimizer, inputs, targets)
    return quantize_model(model, bits, group=group)
