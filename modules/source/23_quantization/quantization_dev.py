# %% [markdown]
# # 23. Quantization
#
# A weight is usually stored as a float32, in 32 bits. How many of these bits does a network
# need? In the picture, a small GPT that was trained on two novels continues a sentence, always
# with the same random draws, with fewer and fewer bits. A hatched word is in neither novel.

# %% tags=["payoff"]
from tinytorch.pictures.quantization import (
    bits_saved, draw_byte, draw_errors, draw_grid, draw_sensitivity, draw_straight_through,
    draw_texts, draw_tradeoff, draw_triangle, milliseconds, rounded_texts)

texts = rounded_texts("Mr. Knightley", [32, 8, 4, 2], tokens=22)
draw_texts({f"{bits} bits": text for bits, text in texts.items()})
# alt: Four texts that begin with "Mr. Knightley", each word in a box. With 32 and 8 bits no
# word is hatched, with 4 bits one of eleven, with 2 bits two of three.

# %% [markdown]
# With 8 bits the text is as good as with 32, at a quarter of the bytes. With 4 bits words
# break, although later the same model writes words with 4.4 bits per weight, scales included.
#
# **Quantization** stores numbers as small integers that share a scale, so that a model fits
# into a phone or one GPU. You will measure its cost in quality and in time, and what it saves.
#
# **You need** 10 (Convolutions), 15 (Transformers) and 19 (Profiling). **You build** rounding
# with one scale or many, packing into bytes, a quantized layer and model, GPTQ, zero points,
# integer matrix products, and training with rounded weights.

# %%
#| default_exp core.quantization
#| export
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

# %% [markdown] page="Numbers with few bits"
# ## The scale
#
# With $b$ bits we can write $2^b$ integers. Signed integers of 8 bits go from -128 to 127. We
# use -127 to 127: in a symmetric range, $-w$ is always rounded to the opposite of $w$. In
# general, the largest integer is $2^{b-1} - 1$: 127 for 8 bits, 7 for 4 bits, 1 for 2 bits.
#
# The **scale** is the distance between two numbers that neighbouring integers stand for. The
# number with the largest absolute value should become the largest integer, so the scale is this
# absolute value divided by the largest integer. The picture shows a column of weights of the
# GPT, and the numbers that 4 bits can represent: the scale is 0.22 / 7 = 0.031.

# %%
from tinytorch.data.gpt_files import load_small_gpt

model, tokenizer = load_small_gpt()
column = model.blocks[1].attention.qkv.weights.data[:, 20]
figure = draw_grid(column, np.abs(column).max() / 7, 7)
# alt: A histogram of 64 weights, most of them between -0.1 and 0.1. Below, 15 equally spaced
# marks, numbered -7 to 7. The mark of -7 lies at the weight furthest from 0, which is -0.22.

# %% [markdown]
# **Task.** Write `symmetric_scale`. For zeros, use 1: we could not divide by a scale of 0.

# %% The scale exercise="scale"
#| export
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
    ### BEGIN SOLUTION
    largest = np.abs(x).max(axis, keepdims=axis is not None)
    scale = largest / (2 ** (bits - 1) - 1)
    return np.where(largest > 0, scale, 1).astype(np.float32)
    ### END SOLUTION

# %% checks="scale"
check("scale")

# %%
for bits in (8, 4, 3, 2):
    q = np.rint(column / symmetric_scale(column, bits))
    print(f"{bits} bits: {len(np.unique(q)):2} different integers for the {len(q)} weights")

# %% [markdown]
# ## Quantize and dequantize
#
# To *quantize* a number, divide it by the scale and round to the nearest integer. To
# *dequantize* it, multiply the integer by the scale. The difference between the result and the
# original number is the **rounding error**, at most half of the scale.
#
# Numbers that are too large must be clipped: int8 has no 300, and a conversion without clipping
# would return 44. The argument `zero_point` is an integer that is added after rounding. It is 0
# for now; a later section uses it, together with unsigned integers.
#
# **Task.** Write `quantize` and `dequantize`.

# %% Rounding to integers exercise="quantize"
#| export
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
    ### BEGIN SOLUTION
    largest = 2 ** (bits - 1) - 1
    low, high = (-largest, largest) if signed else (0, 2**bits - 1)
    q = np.clip(np.rint(x / scale) + zero_point, low, high)
    return q.astype(np.int8 if signed else np.uint8)
    ### END SOLUTION


def dequantize(q, scale, zero_point=0):
    """The numbers that integers stand for: (q - zero_point) * scale.

    q        array of integers of any dtype; the difference may be outside of its range
    scale    float, or array that broadcasts with `q`
    returns  float32 array

    >>> dequantize(np.array([0, 3, 255], np.uint8), 0.5, zero_point=3)
    array([ -1.5,   0. , 126. ], dtype=float32)
    """
    ### BEGIN SOLUTION
    return (np.float32(q) - np.float32(zero_point)) * np.float32(scale)
    ### END SOLUTION

# %% checks="quantize"
check("quantize")

# %% [markdown]
# Now you can round the GPT yourself. We measure *bits per character* on held-out text, as in
# lesson 15: how many bits the model needs for one character of text that it has not seen. Lower
# is better. (Do not confuse it with the bits per *weight*, which we choose.) Predict: how many
# bits per character does the model lose with 8, 4 and 2 bits per weight?

# %%
from tinytorch.core.transformers import held_out_bits, text_batch
from tinytorch.data.texts import load_text

test_ids = tokenizer.encode(load_text("test"))[:4000]
characters = np.array([len(tokenizer.token(id)) for id in range(tokenizer.vocab_size)])
exact = held_out_bits(model, test_ids, characters)


def loss_in_bits(changed):
    """The bits per character that a changed model needs more than the original one."""
    return held_out_bits(changed, test_ids, characters) - exact


def rounded(w, bits, axis=None):
    scale = symmetric_scale(w, bits, axis)
    return dequantize(quantize(w, scale, bits=bits), scale)


def rounded_gpt(bits):
    small = copy.deepcopy(model)
    for p in small.parameters():
        if p.ndim == 2:
            p.data = rounded(p.data, bits)
    return small

# %% tags=["answer", "explained"]
print(f"float32: {exact:.3f} bits per character")
for bits in (8, 6, 5, 4, 3, 2):
    print(f"{bits} bits per weight: {loss_in_bits(rounded_gpt(bits)):7.4f} lost")
guess = np.log2(tokenizer.vocab_size) / characters[test_ids].mean()
print(f"equal probabilities: {guess - exact:.4f} lost")

# %% [markdown]
# While eight bits cost almost nothing, from 6 to 3 bits each bit less makes the loss four or
# five times as large. With 2 bits, the model is nearly as bad as equal probabilities.
#
# ## Outliers
#
# One large number can spoil the scale of all others. The **signal-to-noise ratio** compares
# numbers with their rounding errors: ten times the logarithm (base 10) of the ratio of mean
# squares, in *decibels* (dB). One more bit doubles the integers, halves the rounding error and
# adds $20 \log_{10} 2 = 6.02$ dB. Predict: do uniform and normal numbers have the same ratio?

# %% tags=["answer", "explained"]
def decibels(x, approximation):
    return 10 * np.log10((x**2).mean() / ((x - approximation) ** 2).mean())


rng = np.random.default_rng(0)
samples = {"uniform": rng.uniform(-1, 1, 100_000), "normal": rng.normal(size=100_000)}
for name, x in samples.items():
    ratios = [f"{decibels(x, rounded(x, bits)):5.1f} dB" for bits in (8, 6, 4, 2)]
    print(f"{name:8}{'  '.join(ratios)}   largest / rms {np.abs(x).max() / x.std():.1f}")

# %% [markdown]
# Uniform numbers win at each number of bits. From 4 to 2 bits both lose more than twice 6 dB,
# because 7 integers on each side become 1. An **outlier** is a number that is much larger than
# the others. The largest of 100,000 normal numbers is more than four times their root mean
# square (rms). It determines the scale, and the other numbers share few integers around 0. So
# it helps to let fewer numbers share a scale: an outlier then harms only its own group.
#
# A matrix of a layer has the shape (inputs, outputs). *Per-channel quantization* uses one scale
# for each output, that is, for each column. A **group** is a block of consecutive weights of
# one column with its own scale. With groups of 32, a column of 64 weights has two scales.
#
# Scales also take space. We store them as float16, with 16 bits each: 4 bits per weight and one
# scale for 32 weights are $4 + 16/32 = 4.5$ bits per weight. Quantize with the scale that is
# *stored*: what is divided by one scale must not be multiplied by another.
#
# **Task.** Write `group_scales` with `symmetric_scale`.

# %% One scale for each group exercise="groups"
#| export
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
    ### BEGIN SOLUTION
    group = len(w) if group is None else group
    scales = [symmetric_scale(w[i : i + group], bits, axis=0) for i in range(0, len(w), group)]
    return np.maximum(np.concatenate(scales), SMALLEST).astype(np.float16)
    ### END SOLUTION


def per_row(scale, group, k):
    """The scale of each row: float32 (k, n), from group_scales(w, bits, group) of k rows."""
    return np.float32(np.repeat(scale, group or k, axis=0)[:k])

# %% checks="groups"
check("groups")

# %% [markdown]
# ## Two numbers in a byte
#
# So far, nothing was saved: the rounded weights are still float32. NumPy has no integers of 4
# bits, so we put two into one byte. A *nibble* is half a byte. Negative numbers are written in
# **two's complement**: with 4 bits, $-3$ is written as $16 - 3 = 13$.

# %%
draw_byte([5, -3])
# alt: A byte of eight bits. The right half, 0101, is the number 5. The left half, 1101, is 13
# and stands for -3. The byte has the value 13 * 16 + 5 = 213.

# %% [markdown]
# **Task.** Write `pack4` and `unpack4`. The operators `&`, `|`, `<<` and `>>` work on arrays;
# `q & 15` keeps the last four bits. (For other numbers of bits, a value may begin in one byte
# and end in the next; the given functions `pack` and `unpack` also do this.)

# %% Two numbers in a byte exercise="pack4"
#| export
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
    ### BEGIN SOLUTION
    nibbles = np.append(q, [0] * (len(q) % 2)).astype(np.uint8) & 15
    return nibbles[0::2] | nibbles[1::2] << 4
    ### END SOLUTION


def unpack4(p, n):
    """The first n numbers in packed bytes: the inverse of `pack4`.

    p        uint8 array
    n        int, at most 2 * len(p)
    returns  int8 array (n,)

    >>> unpack4(np.array([213, 7], np.uint8), 3)
    array([ 5, -3,  7], dtype=int8)
    """
    ### BEGIN SOLUTION
    nibbles = np.stack([p & 15, p >> 4], axis=1).ravel()[:n].astype(np.int8)
    return np.where(nibbles > 7, nibbles - 16, nibbles)
    ### END SOLUTION


def pack(q, bits):
    """int8 (n,) as uint8 (ceil(n * bits / 8),): the lowest `bits` bits of each, in order."""
    return pack4(q) if bits == 4 else pack_bits(q, bits)


def unpack(p, n, bits):
    """The n numbers in `p`, an int8 array (n,): the inverse of `pack`."""
    return unpack4(p, n) if bits == 4 else unpack_bits(p, n, bits)

# %% checks="pack4"
check("pack4")

# %% [markdown] page="Quantized layers and models"
# ## A quantized layer
#
# A quantized matrix consists of the packed integers and their scales. Both are *buffers*
# (lesson 04): `self.register_buffer("scale", array)` makes `self.scale` a Tensor that is saved
# with the model and never learned. `dequantize` computes float32 weights each time the matrix
# is used. If it kept the unpacked integers, 4 bits would take 12.
#
# **Task.** Write the two methods of `QuantizedMatrix`. The argument `inputs` is for a better
# way of rounding, `gptq`, which you write later. Add this line after computing the scales and
# before rounding: `if inputs is not None: w = gptq(w, inputs, bits, group)`.

# %% A quantized matrix exercise="matrix"
#| export
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
        ### BEGIN SOLUTION
        scale = group_scales(w, bits, group)
        if inputs is not None:
            w = gptq(w, inputs, bits, group)
        q = quantize(w, per_row(scale, group, len(w)), bits=bits)
        self.register_buffer("packed", pack(q.ravel(), bits))
        self.register_buffer("scale", scale)
        ### END SOLUTION

    def dequantize(self):
        """The rounded matrix, a float32 array (k, n), computed from .packed and .scale."""
        k, n = self.shape
        ### BEGIN SOLUTION
        q = unpack(self.packed.data, k * n, self.bits).reshape(k, n)
        return dequantize(q, per_row(self.scale.data, self.group, k))
        ### END SOLUTION

# %% checks="matrix"
check("matrix")

# %% [markdown]
# Predict for the matrix of the GPT whose column we saw: which step gains more at 4 bits, from
# one scale to one per column, or from there to groups of 32?

# %% tags=["answer", "explained"]
w = model.blocks[1].attention.qkv.weights.data
print(f"float32       {w.nbytes:,} bytes\none scale     {decibels(w, rounded(w, 4)):.1f} dB")
for name, group in (("columns", None), ("groups of 32", 32)):
    matrix = QuantizedMatrix(w, 4, group)
    size = matrix.packed.data.nbytes + matrix.scale.data.nbytes
    print(f"{name:14}{decibels(w, matrix.dequantize()):.1f} dB, {size:,} bytes")

# %% [markdown]
# The step to columns gains more.
#
# A quantized layer uses the matrix. Biases are few, so they stay float32. The classes for
# embeddings and convolutions are given: a table is transposed, kernels become columns.
#
# **Task.** Write `from_float` and `forward` of `QuantizedLinear`. `cls()` creates an object of
# the class; `linear(x, weights, bias)` computes the outputs of a Dense layer, as in lesson 04.

# %% A quantized layer exercise="layer"
#| export
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
        ### BEGIN SOLUTION
        layer = cls()
        layer.matrix = QuantizedMatrix(dense.weights.data, bits, group, inputs)
        layer.bias = None if dense.bias is None else Tensor(dense.bias)
        return layer
        ### END SOLUTION

    weights = property(lambda self: Tensor(self.matrix.dequantize()))

    def forward(self, x):
        """x: Tensor (..., in). Returns a Tensor (..., out)."""
        ### BEGIN SOLUTION
        return linear(as_float_tensor(x), self.weights, self.bias)
        ### END SOLUTION


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

# %% checks="layer"
check("layer")

# %% [markdown]
# ## A quantized model
#
# To quantize a model, we replace its layers in a copy. Layers can be attributes, items of lists
# or parts of a Sequential. Wherever they are, `copy.deepcopy(model, replaced)` puts new objects
# in place of old ones, which the dictionary `replaced = {id(old): new, ...}` names.
#
# **Task.** Write `quantize_model`. `quantizable` finds the layers, and `recorded_inputs` runs a
# model and returns the inputs of its Dense layers, for `gptq`.

# %% A quantized model exercise="quantize-model"
#| export
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
    ### BEGIN SOLUTION
    inputs = {} if calibration is None else recorded_inputs(model, calibration)
    replaced = {}
    for path, layer in quantizable(model).items():
        if path not in skip:
            new = QUANTIZED[type(layer)].from_float(layer, bits, group, inputs.get(path))
            replaced[id(layer)] = new
    return copy.deepcopy(model, replaced)
    ### END SOLUTION

# %% checks="quantize-model"
check("quantize-model")

# %% [markdown]
# ## The size of a model
#
# A count of the bits per weight leaves out scales, biases and norms. The honest number is the
# sum of the bytes of all stored arrays. Our GPT uses one table of embeddings twice.
#
# **Task.** Write `size_of`. `traverse(model)` from lesson 04 yields (path, object) for each
# Module and each Tensor in a model, and for an object that occurs twice only once.

# %% The size of a model exercise="size"
#| export
def size_of(model):
    """The bytes of all arrays that a model stores.

    model    a Module
    returns  int: the bytes of all its Tensors, parameters and buffers, by their dtypes. A
             Tensor that the model contains twice counts once

    >>> layer = Dense(64, 10)
    >>> size_of(layer), size_of(QuantizedLinear.from_float(layer, bits=4, group=32))
    (2600, 400)
    """
    ### BEGIN SOLUTION
    return sum(part.data.nbytes for _, part in traverse(model) if isinstance(part, Tensor))
    ### END SOLUTION

# %% checks="size"
check("size")

# %% [markdown]
# The layer in the example has 640 weights (320 bytes), 20 scales (40 bytes) and 10 biases (40
# bytes), which is 4.9 bits for each of its 650 numbers. These are the *real bits per weight*:
# eight times the size in bytes, divided by the number of parameters.

# %%
parameters = sum(p.size for p in model.parameters())


def result(small, name):
    real, lost = 8 * size_of(small) / parameters, loss_in_bits(small)
    print(f"{name:24}{size_of(small):8,} bytes {real:6.2f} real bits {lost:7.4f} lost")
    return real, lost


curves = {"columns": [], "groups of 32": []}
for bits in (8, 6, 5, 4, 3, 2):
    for name, group in (("columns", None), ("groups of 32", 32)):
        small = quantize_model(model, bits, group=group)
        curves[name].append(result(small, f"{bits} bits, {name}"))

# %% [markdown]
# With 8 bits and 27 % of the bytes, nothing is lost. Each bit less makes the loss several times
# as large. With 2 bits, finer scales lose even more than one scale (2.28), and more than equal
# probabilities: on average the right token gets less probability than by a guess.
#
# ## Sensitivity
#
# Does every matrix need the same number of bits? The **sensitivity** of a layer is the loss in
# quality when only this layer is quantized. It takes one measurement per layer.
#
# **Task.** Write `sensitivity`.

# %% The sensitivity of each layer exercise="sensitivity"
#| export
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
    ### BEGIN SOLUTION
    before, paths = score(model), list(quantizable(model))
    changes = {}
    for path in paths:
        others = [other for other in paths if other != path]
        changes[path] = score(quantize_model(model, bits, skip=others, group=group)) - before
    return changes
    ### END SOLUTION

# %% checks="sensitivity"
check("sensitivity")

# %% [markdown]
# Because the result will decide how many bits each layer gets, measure it on *training* text:
# text that decides something must not judge the result. Predict which matrix is the most
# sensitive at 3 bits: one in the first or the last block, the embeddings, or the positions?

# %% tags=["answer", "explained"]
train_ids = tokenizer.encode(load_text("train")[:400_000])
losses = sensitivity(model, 3, lambda m: held_out_bits(m, train_ids[:4000], characters))
figure = draw_sensitivity(losses)
# alt: Ten bars. The table of embeddings loses 0.38 bits per character, the four matrices of
# block 0 lose 0.02 to 0.07, the positions 0.03, and the four of block 1 almost none.

# %% [markdown]
# The table of embeddings loses five times as much as any other matrix. The four matrices of
# block 1 cost almost nothing, although they contain 36 % of all weights.
#
# So why give all the same number of bits? **Mixed precision** gives sensitive layers more bits
# than others: here $b + 1$ bits for the tables, $b$ for block 0, and only $b - 2$ for block 1.
# (The positions, 3 % of the weights, are treated like the other table. In lesson 20, the term
# had another meaning.) `mixed` calls `quantize_model` once for each number of bits: a layer
# that is already quantized is not in `quantizable(small)` any more.

# %%
def mixed(b, calibration=None):
    small = model
    for bits, names in ((b + 1, ("embedding", "positions")), (b, "blocks.0"), (b - 2, "")):
        others = [path for path in quantizable(small) if not path.startswith(names)]
        small = quantize_model(small, bits, calibration, skip=others, group=32)
    return small


curves["mixed precision"] = [result(mixed(b), f"{b + 1}, {b} and {b - 2} bits")
                             for b in (6, 5, 4)]

# %% [markdown] page="Better rounding"
# ## Rounding for the output
#
# Rounding each weight to its nearest integer makes the error of the *weights* as small as
# possible. But only the error of the layer's *output* matters. Take two weights of 0.4, a scale
# of 1, and two inputs that are always equal. The output is $0.8\,x$. Rounding to the nearest
# integer gives 0 and 0: the errors add up, and the output is 0. It is better to round the
# second weight *up*, to 1. Then the output is $x$.
#
# **GPTQ** rounds the rows of a matrix one after the other. After each row, it changes the rows
# that are not rounded yet, so that they compensate for the error. In the example, rounding the
# first weight to 0 moves the second from 0.4 to 0.8, which is rounded to 1.
#
# How should the other rows move? Let $X$ be a matrix of typical inputs, one in each row. All
# columns of the weights get the same inputs, so we look at one column $w$. When $w$ changes by
# $d$, the squared error of the outputs is $|X d|^2 = d^T H d$ with $H = X^T X$. Rounding weight
# $i$ fixes the number $d_i$, rounded minus original. The changes of later weights are free, and
# the error is smallest where its derivative by each of them is 0. This derivative is an entry
# of $2 H d$. In the example $H$ is a multiple of $\begin{pmatrix} 1 & 1 \\ 1 & 1
# \end{pmatrix}$, so $d_1 + d_2 = 0$: the first weight loses 0.4, and the second one gains 0.4.
#
# In general, all entries of $H d$ except number $i$ are 0, so $d$ is a multiple of column $i$
# of $H^{-1}$. The weights before $i$ are fixed, so this $H$ has only the rows and columns from
# $i$ on, and each step needs the inverse of a smaller $H$. But one upper triangular matrix $U$,
# with $U^T U = H^{-1}$ for the whole $H$, contains the solutions for all steps. For $j > i$,
#
# $$d_j = \frac{U_{ij}}{U_{ii}}\; d_i$$
#
# Reason: the part of $U$ from row and column $i$ on is the same factor for the smaller $H$, and
# the first row of $U^T U$ of this part is $U_{ii}$ times its first row.
#
# NumPy computes a **Cholesky factor**: `np.linalg.cholesky(A)` is the *lower* triangular $L$
# with $L L^T = A$. If an input is always 0, or two are always equal, $H$ has no inverse.
# **Damping** adds 1 % of the diagonal's mean to the diagonal, and so to each eigenvalue.
#
# **Task.** Write `inverse_factor`.

# %% The factor of the inverse Hessian exercise="inverse-factor"
#| export
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
    ### BEGIN SOLUTION
    x = np.asarray(x, np.float64)
    h = x.T @ x
    h += damping * np.diag(h).mean() * np.eye(len(h))
    return np.linalg.cholesky(np.linalg.inv(h)).T
    ### END SOLUTION

# %% checks="inverse-factor"
check("inverse-factor")

# %% [markdown]
# **Task.** Write `gptq`. Do two rows on paper first. All columns have the same $U$, so a whole
# row is rounded at once. For each row $i$: round it, keep the rounded row, and let $e =
# (\text{row} - \text{rounded row}) / U_{ii}$. This is $-d_i / U_{ii}$, so *subtract* $U_{ij}\,
# e$ from each later row $j$. The scales are computed once, from the original matrix.

# %% GPTQ exercise="gptq"
#| export
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
    ### BEGIN SOLUTION
    scale = per_row(group_scales(w, bits, group), group, len(w))
    u, rest = inverse_factor(x, damping), np.array(w, np.float64)
    out = np.zeros(rest.shape, np.float32)
    for i in range(len(rest)):
        out[i] = dequantize(quantize(rest[i], scale[i], bits=bits), scale[i])
        error = (rest[i] - out[i]) / u[i, i]
        rest[i + 1 :] -= np.outer(u[i, i + 1 :], error)
    return out
    ### END SOLUTION

# %% checks="gptq"
check("gptq")

# %% [markdown]
# **Calibration** means running the model on some data to measure what its layers receive. (In
# lesson 05 the word had another meaning.) We use training text for it, and measure on other
# text. Predict for the eight matrices in the blocks at 3 bits: does GPTQ make the error of the
# *weights* larger or smaller than rounding to the nearest does? And the error of the outputs?

# %% tags=["answer", "explained"]
calibration, _ = text_batch(train_ids, 64, model.context, np.random.default_rng(0))
inputs = recorded_inputs(model, calibration)
fresh = recorded_inputs(model, test_ids[:3200].reshape(50, 64))  # of other text
ratios = {}
for path, x in fresh.items():
    w = quantizable(model)[path].weights.data
    plain, moved = QuantizedMatrix(w, 3).dequantize() - w, gptq(w, inputs[path], 3) - w
    ratios[path] = [(moved**2).sum() / (plain**2).sum(),
                    ((x @ moved) ** 2).sum() / ((x @ plain) ** 2).sum()]
    if path.endswith("mlp.2"):
        rms = np.sqrt((x**2).mean(axis=0))
        print(f"{path}: median rms of inputs {np.median(rms):.3f}, largest {rms.max():.3f}")
figure = draw_errors(ratios)
# alt: For each of eight matrices, the errors with GPTQ divided by the errors of plain rounding,
# on a logarithmic axis: 1.4 to 14 for the weights, 0.3 to 0.8 for the outputs.

# %% [markdown]
# In all eight matrices the error of the weights *grows*, typically to twice its size, and the
# error of the outputs *falls*, to between 30 and 80 %. A matrix can be further away from the
# original and still compute nearly the same. In `blocks.1.mlp.2` the weights' error is 14 times
# as large: half of its inputs are nearly 0, so their weights can move far at little cost.

# %%
best, least = mixed(5, calibration), mixed(4, calibration)
curves["mixed precision, GPTQ"] = [
    result(small, f"GPTQ, {b + 1}, {b} and {b - 2} bits")
    for b, small in ((6, mixed(6, calibration)), (5, best), (4, least))]
figure = draw_tradeoff(curves)
# alt: Bits per character lost, logarithmic, from 0.001 on, against real bits per weight.
# Columns and groups form nearly one line. Mixed precision is more than half a bit per weight to
# the left of it. GPTQ is lower still, except at the right end.
for name in ("mixed precision", "mixed precision, GPTQ"):
    saved = bits_saved(curves[name][1:], curves["columns"][1:])
    print(f"{name}: {saved} bits fewer than columns need for the same loss")

# %% [markdown]
# All four curves count every byte. Groups gain nothing over columns: their scales need bytes.
# Mixed precision saves more than half a bit per weight, and GPTQ some more. With 5.4 real bits
# the model has a sixth of its bytes and loses about 0.01 bits per character. With 4.4 real bits
# it writes better words than with 4 bits and one scale:

# %% tags=["payoff"]
print("4 bits, one scale:", rounded_texts("Mr. Knightley", [4])[4])
print("4.4 real bits:    ", rounded_texts("Mr. Knightley", [32], model=least)[32])

# %% [markdown]
# `tito milestone run integers` quantizes your own GPT, with five times as many weights.
#
# ## Zero points
#
# So far only weights were quantized. To compute with integers, the inputs of a layer must also
# be integers: we need this for a network that reads digits. After relu, no input is negative,
# and a symmetric range wastes half of the integers, that is, one bit. **Affine quantization**
# maps a range from `low` to `high` to the unsigned integers 0 to $2^b - 1$. The **zero point**
# is the integer that stands for 0. It is an integer so that 0 is represented exactly: zeros are
# frequent, in padding and after relu, and small errors in them would add up.
#
# **Task.** Write `affine_range`. First extend the range so that it includes 0.

# %% Scale and zero point exercise="affine"
#| export
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
    ### BEGIN SOLUTION
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    scale = (high - low) / (2**bits - 1) or 1.0
    return scale, round(-low / scale)
    ### END SOLUTION

# %% checks="affine"
check("affine")

# %% [markdown]
# ## Observers
#
# The range of a layer's inputs is not known in advance. An **observer** watches the numbers
# during calibration and remembers their range. The smallest and the largest number give the
# safest range, but one outlier can make it large. A *percentile* leaves out the most extreme
# numbers: they are clipped, and others are rounded more finely.
#
# **Task.** Write the methods of `Observer`. `np.percentile(x, [1, 99])` returns the 1st and the
# 99th percentile; the 0th and the 100th are the smallest and the largest number.

# %% An observer of ranges exercise="observer"
#| export
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
        ### BEGIN SOLUTION
        low, high = np.percentile(np.asarray(x), [100 - self.percentile, self.percentile])
        self.low, self.high = min(self.low, float(low)), max(self.high, float(high))
        ### END SOLUTION

    def range(self, bits=8):
        """affine_range(low, high, bits). ValueError when no array was observed yet."""
        if self.low > self.high:
            raise ValueError("no numbers were observed yet: call observe(x) first")
        ### BEGIN SOLUTION
        return affine_range(self.low, self.high, bits)
        ### END SOLUTION

# %% checks="observer"
check("observer")

# %% [markdown]
# The inputs of two layers, both behind a GELU, have outliers of different size. We observe them
# on training text, and measure on other text how much of the layers' *outputs* survives.
# Predict: does it help to clip the outliers, with 8 bits and with 4 bits?

# %% tags=["answer", "explained"]
def output_decibels(path, bits, percentile):
    weights, observer = quantizable(model)[path].weights.data, Observer(percentile)
    observer.observe(inputs[path])
    scale, zero = observer.range(bits)
    q = quantize(fresh[path], scale, zero, bits, signed=False)
    return decibels(fresh[path] @ weights, dequantize(q, scale, zero) @ weights)


for path in ("blocks.0.mlp.2", "blocks.1.mlp.2"):
    x = inputs[path]
    print(f"{path}: largest / rms {np.abs(x).max() / np.sqrt((x**2).mean()):.0f}")
    for bits in (8, 4):
        row = [f"{p} %: {output_decibels(path, bits, p):4.1f} dB" for p in (100, 99.9, 99)]
        print(f"  {bits} bits, percentile", "   ".join(row))

# %% [markdown]
# With 8 bits, clipping harms both layers. With 4 bits, clipping one number in a thousand at
# each end helps the first layer, but not the second one. There the outliers are larger, and
# much of the output is in them. An outlier is not noise: measure outputs before you clip.

# %% [markdown] page="Integer arithmetic and training"
# ## Integer products
#
# A product of int8 matrices must be summed in a larger type: -128 times -128 is 16,384.
# (Weights go from -127 to 127, but the shifted inputs below can be -128.) NumPy multiplies
# integers in plain loops. Only floats go to the *BLAS*, an optimized library.
#
# But float32 can also compute exactly. It represents every integer up to $2^{24}$, which is
# 16,777,216. A sum of products is exact as long as no partial sum exceeds this. The sum of
# 1,041 products of 127 and 127 is 16,790,289, an odd number that float32 does not have. So
# multiply blocks of the inner axis that are short enough, and add the blocks as int32.
#
# **Task.** Write `int_matmul`. How many products of -128 and -128 fit into $2^{24}$?

# %% An integer matrix product exercise="int-matmul"
#| export
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
    ### BEGIN SOLUTION
    terms = 2**24 // 128**2
    out = np.zeros((len(a), b.shape[1]), np.int32)
    for i in range(0, len(b), terms):
        block = np.float32(a[:, i : i + terms]) @ np.float32(b[i : i + terms])
        out += block.astype(np.int32)
    return out
    ### END SOLUTION

# %% checks="int-matmul"
check("int-matmul")

# %% [markdown]
# A whole network can compute with integers. With $x \approx s\,(q - z)$ and
# $w \approx t\,p$, a layer's sum is
#
# $$\sum x w \approx s\,t \left( \sum q\,p - z \sum p \right)$$
#
# Both sums contain integers only. Our `int_matmul` takes int8, so 128 is subtracted from $q$
# and from $z$. We train a small network on digits and run it with integers.

# %%
from tinytorch.core.activations import ReLU
from tinytorch.core.layers import Sequential, he_normal
from tinytorch.core.losses import cross_entropy
from tinytorch.data.image_sets import flat_digits

(images, labels), (test_images, test_labels) = flat_digits("train"), flat_digits("test")


def batches(epochs, seed=0):
    order = np.random.default_rng(seed)
    for _ in range(epochs):
        for rows in np.array_split(order.permutation(len(images)), 23):
            yield Tensor(images[rows]), labels[rows]


def trained(net, epochs, lr):
    optimizer = Adam(net.parameters(), lr=lr)
    for x, y in batches(epochs):
        train_step(net, cross_entropy, optimizer, x, y)
    return net


net = Sequential(Dense(64, 64, init=he_normal, rng=0), ReLU(), Dense(64, 10, rng=1))
trained(net, 20, lr=3e-3)


def integer_layer(layer, x, observer):
    """The outputs of a Dense layer for an array x, with 8-bit integers."""
    scale, zero = observer.range()
    q = (quantize(x, scale, zero, signed=False).astype(np.int16) - 128).astype(np.int8)
    weight_scale = symmetric_scale(layer.weights.data, axis=0)
    p = quantize(layer.weights.data, weight_scale)
    sums = int_matmul(q, p) - (zero - 128) * p.sum(axis=0, dtype=np.int32)
    return sums * (scale * weight_scale) + layer.bias.data


first, second = Observer(), Observer()
first.observe(images)
second.observe(net[:2](Tensor(images)))
hidden = np.maximum(integer_layer(net[0], test_images, first), 0)
integers = integer_layer(net[2], hidden, second).argmax(axis=1)


def right(model):  # how many of the 359 test images a model reads correctly
    return int((model(Tensor(test_images)).data.argmax(axis=1) == test_labels).sum())


print(f"float32: {right(net)} of 359 right, integers: {(integers == test_labels).sum()}")

# %% [markdown]
# ## What is gained
#
# The bytes are a quarter or less. What about the time? Here are four ways to multiply by a
# matrix of 512 by 512, in CPU time: as Dense; as `QuantizedLinear` with 8 and with 4 bits,
# which unpacks and dequantizes its matrix each time; and `int_matmul` alone, of inputs and
# weights that are already int8. Predict the ratios for a batch of 1 and of 512.

# %% tags=["answer", "explained"]
dense = Dense(512, 512, rng=0)
eight, four = (QuantizedLinear.from_float(dense, bits) for bits in (8, 4))
q = quantize(dense.weights.data, symmetric_scale(dense.weights.data, axis=0))
for batch in (1, 8, 64, 512):
    x = Tensor(np.float32(rng.normal(size=(batch, 512))))
    x8 = quantize(x.data, symmetric_scale(x.data))
    times = milliseconds([lambda: dense(x), lambda: eight(x), lambda: four(x),
                          lambda: int_matmul(x8, q)])
    ratios = [round(time / times[0], 1) for time in times[1:]]
    print(f"batch {batch:3}: {times[0]:.3f} ms; 8 bits, 4 bits, int_matmul: {ratios} times")

# %% [markdown]
# A QuantizedLinear is slower at every batch size: it writes a float32 matrix before each
# product. A large batch shares this cost. `int_matmul` also converts its matrices, and is
# hardly ever faster. **In NumPy, quantization saves bytes and costs time.** The GPT shows it:

# %%
versions = {"float32": model, "8 bits": quantize_model(model, 8), "mixed, GPTQ": best}
window = test_ids[None, :64]
times = milliseconds([lambda version=version: version(window) for version in versions.values()])
figure = draw_triangle({name: (size_of(version) / 1000, exact + loss_in_bits(version), time)
                        for (name, version), time in zip(versions.items(), times)})
# alt: Bars for float32, 8 bits, and mixed precision with GPTQ. Size: 548, 146 and 92 kB. Bits
# per character: nearly equal. Milliseconds for a window of 64 tokens: float32 is the shortest.

# %% [markdown]
# On other hardware it can save time: a GPU that writes text waits for the weights from memory,
# and 4-bit weights arrive sooner. Measure on the machine that the claim is about.
#
# ## Training with rounded weights
#
# With 2 bits, only three weights are left: $-s$, 0 and $s$. So far we have rounded networks
# after training (*post-training quantization*), and with 2 bits the GPT failed. In
# **quantization-aware training**, the network computes with rounded weights already during
# training, so that it learns weights that work when they are rounded. **Fake quantization** is
# rounding and dequantizing in one step, so that the result is still a float.
#
# The derivative of rounding is 0 almost everywhere, so nothing would be learned. With the
# **straight-through estimator**, the gradient passes rounding as if it were the identity. Where
# a number was *clipped*, its gradient is 0.

# %%
figure = draw_straight_through(0.5, 1)
# alt: A staircase with steps at -0.5, 0 and 0.5, for inputs from -1.25 to 1.25. A dashed line
# is the identity, with derivative 1, from -0.75 to 0.75, and flat outside.

# %% [markdown]
# An operation needs a forward function and a rule (lesson 06). `derivative` registers the rule,
# and `apply` records a call. A rule gets the upstream gradient, the result, and the arguments.
#
# **Task.** Write `fake_quantize_forward` and `fake_quantize_rule`.

# %% Rounding in training exercise="fake-quantize"
#| export
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
    ### BEGIN SOLUTION
    q = np.clip(np.rint(x / scale) + zero_point, low, high)
    return ((q - zero_point) * scale).astype(x.dtype)
    ### END SOLUTION


def fake_quantize_rule(g, out, x, scale, zero_point, low, high):
    """The gradient of x by the straight-through estimator.

    g        array: the upstream gradient; not changed
    returns  array like `g`: `g` where round(x / scale) + zero_point is from `low` to `high`,
             both included, and 0 where it was clipped

    >>> fake_quantize_rule(np.array([5.0, 5.0]), None, np.array([3.6, 3.8]), 0.5, 0, -7, 7)
    array([5., 0.])

    Source: Bengio, Léonard, Courville, Estimating or propagating gradients (2013), section 4.
    """
    ### BEGIN SOLUTION
    q = np.rint(x / scale) + zero_point
    return g * ((q >= low) & (q <= high))
    ### END SOLUTION


derivative(fake_quantize_forward, fake_quantize_rule)


def fake_quantize(x, scale, zero_point, low, high):
    """`fake_quantize_forward` of a Tensor, recorded; torch.fake_quantize_per_tensor_affine."""
    return apply(fake_quantize_forward, as_float_tensor(x), scale=scale, zero_point=zero_point,
                 low=low, high=high)

# %% checks="fake-quantize"
check("fake-quantize")

# %% [markdown]
# A `FakeQuantizedLinear` is a Dense layer that multiplies by its rounded weights. Its own
# weights stay float32, and the optimizer changes these: many small steps add up until a weight
# is rounded to the next integer. `quantize_model` turns the layer into a `QuantizedLinear`.
#
# **Task.** Write `train_quantized`. First copy the model: the parameters of the original must
# not change. `train_step` of lesson 08 makes one step.

# %% A layer that trains rounded exercise="train-quantized"
#| export
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
    ### BEGIN SOLUTION
    model = copy.deepcopy(model)
    replaced = {id(layer): FakeQuantizedLinear(layer, bits, group)
                for layer in quantizable(model).values() if isinstance(layer, Dense)}
    model = copy.deepcopy(model, replaced)
    optimizer = Adam(model.parameters(), lr=lr)
    for inputs, targets in batches:
        train_step(model, loss, optimizer, inputs, targets)
    return quantize_model(model, bits, group=group)
    ### END SOLUTION

# %% checks="train-quantized"
check("train-quantized")

# %% [markdown]
# Do the rounded weights help, or just ten more epochs? For comparison, a copy is trained for as
# long without rounding, and then rounded. Differences of a few of the 359 images mean nothing.
# Predict: which numbers of bits need the training?

# %% tags=["answer", "explained"]
longer = trained(copy.deepcopy(net), 10, lr=1e-3)
for bits in (8, 4, 3, 2):
    small = quantize_model(net, bits)
    learned = train_quantized(net, bits, cross_entropy, batches(10))
    print(f"{bits} bits ({8 * size_of(small) / 4810:.1f} real bits per weight): {right(small)} "
          f"right; trained longer: {right(quantize_model(longer, bits))}; trained with rounded "
          f"weights: {right(learned)}")

# %% [markdown]
# Down to 4 bits nothing is lost that 359 images could show. At 3 bits, training with rounded
# weights makes up for nearly all of a small loss. At 2 bits, rounding loses more than a quarter
# of the images. Longer training alone hardly helps; with rounded weights it recovers most.
#
# ## Look back
#
# 1. Which need data, and which need labels: scales for groups, mixed precision, GPTQ, training?
#    Which would you try first on a model that takes a month to train?
# 2. In `gptq`, first round the rows with the largest diagonal of $H$. Which matrices gain?
# 3. Which distribution of bits over the layers do you find that lies below the lowest of the
#    four curves? Choose it with training text, and measure it once on the test text.
#
# PyTorch 2.13 has `torch.quantize_per_tensor`, and the observers and `quantize_dynamic` of
# `torch.ao.quantization`; their successor is `quantize_` of *torchao*. The straight-through
# estimator is in `torch.fake_quantize_per_tensor_affine`, GPTQ in *torchao* and *GPTQModel*.
# The format `q4_0` of *llama.cpp* has 4.5 real bits, as our groups of 32.

# %% [markdown] tags=["answer"]
# 1. Scales for groups need neither. GPTQ needs the inputs of the layers, but no labels. Mixed
#    precision and training need labels, which a text contains. Try what needs no training.
