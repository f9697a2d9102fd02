# From modules/source/23_quantization/quantization_dev.py by `tito export`; edit that file, not this one.
# checksum: a62d04ecfa77f9b2
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

    x        array of floats
    bits     2 or more; the largest integer is 2^(bits - 1) - 1
    axis     None: one scale for the whole array, of shape (). An int: the maximum is taken
             along this axis, which is kept with length 1, so that the scales broadcast with `x`
    returns  float32 array; 1 where all numbers are 0

    >>> symmetric_scale(np.array([[0.5, -14.0], [-1.0, 3.5]]), bits=4, axis=1)
    array([[2. ],
           [0.5]], dtype=float32)

    Source: Krishnamoorthi, Quantizing deep convolutional networks (2018), section 2.2.
    """
    largest = np.abs(x).max(axis, keepdims=axis is not None)
    scale = largest / (2 ** (bits - 1) - 1)
    return np.where(largest > 0, scale, 1).astype(np.float32)


def quantize(x, scale, zero_point=0, bits=8, signed=True):
    """Integers for numbers: round(x / scale) + zero_point, clipped.

    x           array of floats
    scale       float, or array that broadcasts with `x`
    zero_point  int: the integer that stands for 0
    bits        2 to 8
    signed      True: int8 from -(2^(bits - 1) - 1) to 2^(bits - 1) - 1; False: uint8 from 0 to
                2^bits - 1
    returns     int8 or uint8 array of the shape of `x`. Halves are rounded to the even integer,
                before zero_point is added

    >>> quantize(np.array([0.6, -0.9, 1.25, 300.0]), 0.5)
    array([  1,  -2,   2, 127], dtype=int8)

    Source: Jacob et al., Quantization and training of neural networks (2018), section 2.1;
    torch.quantize_per_tensor.
    """
    largest = 2 ** (bits - 1) - 1
    low, high = (-largest, largest) if signed else (0, 2**bits - 1)
    q = np.clip(np.rint(x / scale) + zero_point, low, high)
    return q.astype(np.int8 if signed else np.uint8)


def dequantize(q, scale, zero_point=0):
    """The numbers that integers stand for: (q - zero_point) * scale.

    q        array of integers of any dtype; the difference may be outside of its range
    scale    float, or array that broadcasts with `q`
    returns  float32 array

    >>> dequantize(np.array([0, 3, 255], np.uint8), 0.5, zero_point=3)
    array([ -1.5,   0. , 126. ], dtype=float32)
    """
    return (np.float32(q) - np.float32(zero_point)) * np.float32(scale)


SMALLEST = 2.0**-24  # the smallest positive float16: a smaller scale would become 0


def group_scales(w, bits, group=None):
    """The scales of a matrix: one for each group of rows in each column.

    w        array (k, n)
    bits     2 to 8
    group    int >= 1: rows that share a scale in each column. The last group has fewer rows if
             `group` does not divide k. None: all rows, one scale per column
    returns  float16 array (number of groups, n): the `symmetric_scale` of each group, at least
             SMALLEST

    >>> w = np.array([[1.0, 70.0], [7.0, 7.0], [-14.0, 0.0]])
    >>> group_scales(w, bits=4, group=2)
    array([[ 1., 10.],
           [ 2.,  1.]], dtype=float16)

    Source: Dettmers et al., LLM.int8() (2022), section 2; Frantar et al. (2023), section 5.
    """
    group = len(w) if group is None else group
    scales = [symmetric_scale(w[i : i + group], bits, axis=0) for i in range(0, len(w), group)]
    return np.maximum(np.concatenate(scales), SMALLEST).astype(np.float16)


def per_row(scale, group, k):
    """The scale of each row: float32 (k, n), from group_scales(w, bits, group) of k rows."""
    return np.float32(np.repeat(scale, group or k, axis=0)[:k])


def pack4(q):
    """Two numbers of 4 bits in each byte.

    q        int8 array (n,), each from -8 to 7
    returns  uint8 array (ceil(n / 2),). Byte i contains q[2 i] in its lower four bits (those
             that count 1, 2, 4 and 8) and q[2 i + 1] in its upper four; after an odd number of
             values the last upper four bits are 0

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

    p        uint8 array
    n        int, at most 2 * len(p)
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
    """A matrix that is stored as packed integers and float16 scales.

    w        float array (k, n); not changed
    bits     2 to 8
    group    as in `group_scales`
    inputs   None: round to the nearest. An array (m, k): choose the integers by `gptq`

    .packed  buffer, a uint8 Tensor: the integers row by row, as `pack` returns them
    .scale   buffer, a float16 Tensor: group_scales(w, bits, group)

    >>> QuantizedMatrix(np.array([[7.0, 1.2], [3.3, -2.0]]), bits=4).dequantize().round(2)
    array([[ 7.  ,  1.14],
           [ 3.  , -2.  ]], dtype=float32)
    """

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
    """A fully connected layer with a quantized matrix, for use only: it does not learn.

    .matrix   QuantizedMatrix (in, out)
    .bias     a Tensor (out,) that requires no gradient, or None
    .weights  the rounded weights, a new float32 Tensor each time
    """

    @classmethod
    def from_float(cls, dense, bits=8, group=None, inputs=None):
        """A QuantizedLinear in place of `dense`, a Dense, which is not changed.

        bits, group, inputs   as in `QuantizedMatrix`
        returns               QuantizedLinear; it shares no memory with `dense`

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
    """A copy of a model in which every layer of `quantizable(model)` is quantized.

    model        a Module; not changed
    bits         2 to 8
    calibration  None, or an input of the model: then Dense layers are quantized by `gptq`, with
                 the inputs that recorded_inputs(model, calibration) returns for their paths
    skip         the paths of layers that stay as they are, as in quantizable(model)
    group        as in `group_scales`
    returns      a new Module. QUANTIZED[type(layer)].from_float(layer, bits, group, inputs) is
                 in place of each layer; inputs are None without calibration, and for layers of
                 other types. A layer that the model contains twice is one layer in the copy

    >>> from tinytorch.core.layers import Sequential
    >>> net = Sequential(Dense(64, 32), Dense(32, 10))
    >>> [type(layer).__name__ for layer in quantize_model(net, 8, skip=["1"])]
    ['QuantizedLinear', 'Dense']

    Source: torch.ao.quantization.quantize_dynamic.
    """
    inputs = {} if calibration is None else recorded_inputs(model, calibration)
    replaced = {}
    for path, layer in quantizable(model).items():
        if path not in skip:
            new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
            replaced[id(layer)] = new
    return copy.deepcopy(model, replaced)


def size_of(model):
    """The bytes of all arrays that a model stores.

    model    a Module
    returns  int: the bytes of all its Tensors, parameters and buffers, by their dtypes. A
             Tensor that the model contains twice counts once

    >>> layer = Dense(64, 10)
    >>> size_of(layer), size_of(QuantizedLinear.from_float(layer, bits=4, group=32))
    (2600, 400)
    """
    return sum(part.data.nbytes for _, part in traverse(model) if isinstance(part, Tensor))


def sensitivity(model, bits, score, group=None):
    """How much a score changes when one layer alone is quantized.

    model    a Module, or a list or dict of Modules; not changed
    bits     2 to 8
    score    a function of a model that returns a float
    group    as in `group_scales`
    returns  {path: float} for each layer of quantizable(model), in its order: the score of a
             copy in which only this layer is quantized, minus the score of `model`

    >>> sensitivity({"first": Dense(2, 2), "second": Dense(8, 2)}, 8, size_of)
    {'first': -8, 'second': -44}

    Source: Krishnamoorthi (2018), section 3; Dong et al., HAWQ (2019), section 1.
    """
    before, paths = score(model), list(quantizable(model))
    changes = {}
    for path in paths:
        others = [other for other in paths if other != path]
        changes[path] = score(quantize_model(model, bits, skip=others, group=group)) - before
    return changes


def inverse_factor(x, damping=0.01):
    """The upper triangular U with U.T @ U = (H + c I)^-1, where H = x.T @ x.

    x        array (m, k): m inputs of a layer
    damping  c is `damping` times the mean of the diagonal of H
    returns  float64 array (k, k), with a positive diagonal; computed in float64

    >>> inverse_factor(np.array([[2.0, 0.0], [0.0, 4.0]]), damping=0)
    array([[0.5 , 0.  ],
           [0.  , 0.25]])

    Source: Frantar et al., GPTQ (2023), section 4, "Step 3: Cholesky Reformulation".
    """
    x = np.asarray(x, np.float64)
    h = x.T @ x
    h += damping * np.diag(h).mean() * np.eye(len(h))
    return np.linalg.cholesky(np.linalg.inv(h)).T


def gptq(w, x, bits=4, group=None, damping=0.01):
    """Round a matrix so that the outputs x @ w change little.

    w        array (k, n): the weights of a layer with k inputs; not changed
    x        array (m, k): inputs of this layer
    bits     2 to 8
    group    as in `group_scales`; the scales are those of `w` itself
    damping  as in `inverse_factor`
    returns  float32 array (k, n): in each row, integers as from `quantize` times the scales

    Rounds the rows in order. The error of each row changes all rows after it, as described
    above. The rows that wait for their turn are float64.

    >>> gptq(np.array([[0.4], [0.4], [7.0]]), np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    array([[0.],
           [1.],
           [7.]], dtype=float32)

    Source: Frantar et al., GPTQ (2023), algorithm 1, without its blocks.
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

    low, high  floats, low <= high. A range without 0 is extended to 0
    bits       2 to 8: the range is divided into 2^bits - 1 steps
    returns    (scale, zero_point): a float, and an int from 0 to 2^bits - 1, the integer
               nearest to -low / scale; (1.0, 0) for a range with low = high = 0

    >>> affine_range(-1.0, 4.0, bits=4)
    (0.3333333333333333, 3)

    Source: Jacob et al. (2018), sections 2.1 and 3.
    """
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    scale = (high - low) / (2**bits - 1) or 1.0
    return scale, round(-low / scale)


class Observer:
    """Remembers the range of the arrays that it is shown.

    percentile   from 50 to 100: an array's range goes from its (100 - percentile)th to its
                 `percentile`th percentile; 100 means from its smallest to its largest number

    .low, .high  the smallest beginning and the largest end of all these ranges

    >>> observer = Observer()
    >>> observer.observe([0.0, 5.0])
    >>> observer.observe([-1.0, 4.0])
    >>> observer.low, observer.high
    (-1.0, 5.0)

    Source: torch.ao.quantization.MinMaxObserver; Krishnamoorthi (2018), section 2.5.
    """

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

    a        int8 array (n, k), with any values from -128 to 127
    b        int8 array (k, m)
    returns  int32 array (n, m), exact

    Multiplies blocks of the inner axis as float32 matrices, never as int32 or float64, and adds
    the results as int32. No sum in a block exceeds 2^24, whatever the values.

    >>> int_matmul(np.full((1, 1041), 127, np.int8), np.full((1041, 1), 127, np.int8))
    array([[16790289]], dtype=int32)

    Source: Higham, Accuracy and stability of numerical algorithms (2002), section 2.1.
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

    x           float array
    scale       float, or array that broadcasts with `x`
    zero_point, low, high   ints
    returns     array of the shape and dtype of `x`

    >>> fake_quantize_forward(np.array([0.6, -0.9, 300.0]), 0.5, 0, -127, 127)
    array([ 0.5, -1. , 63.5])
    """
    q = np.clip(np.rint(x / scale) + zero_point, low, high)
    return ((q - zero_point) * scale).astype(x.dtype)


def fake_quantize_rule(g, out, x, scale, zero_point, low, high):
    """The gradient of x by the straight-through estimator.

    g        array: the upstream gradient; not changed
    returns  array like `g`: `g` where round(x / scale) + zero_point is from `low` to `high`,
             both included, and 0 where it was clipped

    >>> fake_quantize_rule(np.array([5.0, 5.0]), None, np.array([3.6, 3.8]), 0.5, 0, -7, 7)
    array([5., 0.])

    Source: Bengio, Léonard, Courville, Estimating or propagating gradients (2013), section 4.
    """
    q = np.rint(x / scale) + zero_point
    return g * ((q >= low) & (q <= high))


derivative(fake_quantize_forward, fake_quantize_rule)


def fake_quantize(x, scale, zero_point, low, high):
    """`fake_quantize_forward` of a Tensor, recorded; torch.fake_quantize_per_tensor_affine."""
    return apply(fake_quantize_forward, as_float_tensor(x), scale=scale, zero_point=zero_point,
                 low=low, high=high)


class FakeQuantizedLinear(Module):
    """A Dense layer that computes with its weights rounded, and learns them unrounded.

    dense        a Dense, whose parameters this layer uses; they are not copied
    bits, group  as in `group_scales`
    """

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

    model        a Module; not changed
    bits, group  as in `group_scales`
    loss         a function of (outputs, targets) that returns a Tensor of shape ()
    batches      iterable of (inputs, targets): each is used for one step of Adam
    lr           the learning rate, per step
    returns      quantize_model(trained, bits, group=group), where `trained` is a copy of the
                 model that was trained with a FakeQuantizedLinear in place of each Dense layer
                 of quantizable(model), also of a Linear, which is a Dense

    Source: Jacob et al. (2018), section 3.
    """
    model = copy.deepcopy(model)
    replaced = {id(layer): FakeQuantizedLinear(layer, bits, group)
                for layer in quantizable(model).values() if isinstance(layer, Dense)}
    model = copy.deepcopy(model, replaced)
    optimizer = Adam(model.parameters(), lr=lr)
    for inputs, targets in batches:
        train_step(model, loss, optimizer, inputs, targets)
    return quantize_model(model, bits, group=group)
