# ---
# jupyter:
#   jupytext:
#     notebook_metadata_filter: tinytorch,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   tinytorch:
#     difficulty: 4
#     enables:
#     - normalization
#     hours: 7
#     prerequisites:
#     - tensor
#     - layers
#     - losses
#     - autograd
#     summary: One small pattern, looked for everywhere in a picture
#     terms: []
#     title: Convolutions
# ---

# %% [markdown]
# # 10. Convolutions
#
# A dense layer asks every pixel about every output, and forgets which pixels were neighbours.
# But a cat is a cat in any corner. A convolution learns *one* small pattern and looks for it
# everywhere: far fewer numbers to learn, and what was learned in one place is known in all.
#
# **You need** 01 (Tensor), 03 (Layers), 04 (Losses) and 06 (Autograd). **You write** the
# convolution as loops, then as a matrix product thousands of times as fast, its way back, the
# layer `Conv2d`, pooling, and two sums that say what a stack of layers sees and costs.

# %%
#| default_exp core.convolutions
#| export
import math

import numpy as np

from tinytorch.core.autograd import derivative
from tinytorch.core.layers import Module, xavier_uniform
from tinytorch.core.losses import as_float_tensor
from tinytorch.core.tensor import Tensor, Variable, apply
from tinytorch.support.allocator import keep_freed_memory
from tinytorch.support.strips import strips_forward, strips_to_input, strips_to_weights
from tinytorch.support.windows import cropped, flat, misfit, padded, pair, places

keep_freed_memory()  # before, a small network spent half of its time asking for memory again

# %% [markdown]
# ## A window that slides
#
# Lay a small grid of weights, the *kernel*, on a corner of the picture. Multiply each weight by
# the pixel under it and add up: one number of the result. Move the kernel by `stride` pixels,
# and again.
#
# Below is a picture of 7 pixels and a kernel of 3. Predict how many numbers come out, and where
# they are not 0. What would the kernel `[1, 1, 1]` find?

# %%
row, kernel = np.array([0, 0, 0, 5, 5, 5, 5]), np.array([-1, 0, 1])
print([int(row[start:start + 3] @ kernel) for start in range(7 - 3 + 1)])

# %% [markdown]
# Where the picture changes, the kernel notices. The result is shorter, because a window must
# lie inside. To keep the size, or to give the rim as much attention as the middle, people put a
# margin of zeros around the picture, the *padding*: so many on each side.
#
# **Task.** Write `output_size`. Count with your finger first: 7 pixels, a kernel of 3, stride
# 2; then 8 pixels. What happens to the last pixel of the 8?

# %% exercise="size"
#| export
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
    ### BEGIN SOLUTION
    size = (length + 2 * padding - kernel) // stride + 1
    if size < 1:
        raise ValueError(f"a kernel of {kernel} has no place on {length} numbers: "
                         f"({length} + 2 * {padding} - {kernel}) // {stride} + 1 = {size}")
    return size
    ### END SOLUTION

# %% checks="size"
check("size")

# %% [markdown]
# Pictures have two such sizes: rows come first, then columns, as in every shape here. Kernels,
# strides and paddings are pairs in the same order; who writes 3 means (3, 3). Small helpers are
# given: `pair(3)` is (3, 3); `places(kernel)` lists every (i, j) in a kernel, row by row;
# `padded(x, padding, value=0)` puts a margin around images, `cropped(x, padding)` takes it off,
# without a copy.

# %%
#| exporti
def out_size(shape, kernel, stride=(1, 1), padding=(0, 0)):
    """(rows, columns) of the result, for images of `shape` (..., height, width)."""
    return tuple([output_size(*numbers)
                  for numbers in zip(shape[-2:], kernel, stride, padding)])

# %% [markdown]
# ## First as loops
#
# Real pictures come in batches, and have *channels*: red, green and blue, or, deeper in a
# network, one for each pattern that was looked for. A shape is (batch, channels, height,
# width). A kernel reaches through all channels at once, and a layer has many kernels, each with
# a bias of its own:
#
# $$y_{nopq} = b_o + \sum_{c,i,j} w_{ocij}\; x_{n,\,c,\,p s + i,\,q t + j}$$
#
# for strides $s$ down and $t$ across. Predict, for 32 images of (3, 28, 28) and 8 kernels of
# (3, 5, 5): how many numbers come out, and how many products are added up in each?
#
# **Task.** Write `conv2d_loops`, as slowly and as plainly as you like: it is there to be
# understood, and to check what comes later.

# %% exercise="loops"
#| export
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
    ### BEGIN SOLUTION
    for n, o, p, q in np.ndindex(*out.shape):
        top, left = p * stride[0], q * stride[1]
        window = x[n, :, top:top + rows, left:left + columns]
        out[n, o, p, q] = (window * weights[o]).sum() + bias[o]
    ### END SOLUTION
    return out

# %% checks="loops"
check("loops")

# %% [markdown]
# How slow is plain? Predict the time for 32 images of 28 by 28 and 8 kernels of 5 by 5. Only
# one image is timed here, not 32.

# %%
from timeit import repeat


def seconds(function, *inputs, times=5):
    """The least time in seconds that a call took."""
    return min(repeat(lambda: function(*inputs), number=1, repeat=times))


rng = np.random.default_rng(0)
images = rng.normal(size=(32, 1, 28, 28)).astype("float32")
kernels, no_bias = rng.normal(size=(8, 1, 5, 5)).astype("float32"), np.zeros(8, "float32")
slow = 32 * seconds(conv2d_loops, images[:1], kernels, no_bias, times=1)
print(f"32 images by loops: {slow * 1000:.0f} ms")

# %% [markdown]
# ## What one weight sees
#
# Turn the loops inside out. Not: which pixels does this window see? But: which pixels does
# *this weight* see, over all the windows? Weight (0, 0) sees the corner of each window: every
# `stride`-th pixel from the corner on. Weight (0, 1) sees the same, one column further. Each
# sees a picture of exactly the result's size, and NumPy has it without a loop, and without a
# copy: it is a slice.
#
# Predict for a kernel of 3 by 3 on a picture of 6 by 8 with stride 2: the slice for weight (1,
# 2).
#
# **Task.** Write `seen`. Everything that follows is built from it.

# %% exercise="seen"
#| export
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
    ### BEGIN SOLUTION
    down, across = stride
    return x[..., i:i + down * (size[0] - 1) + 1:down, j:j + across * (size[1] - 1) + 1:across]
    ### END SOLUTION

# %% checks="seen"
check("seen")

# %% [markdown]
# ## Then as a matrix product
#
# Processors are best at one thing: multiplying matrices. A convolution becomes one when every
# window is written out as a column, one row for each weight. A row is then what one weight
# sees: you have that already. With $K$ = channels times kernel height times kernel width, and
# $P$ windows:
#
# $$\underbrace{y}_{(out,\;P)} =
# \underbrace{W}_{(out,\;K)}\ \underbrace{\text{columns}}_{(K,\;P)}$$
#
# for each image. The name is `im2col`. Predict how many times each pixel is copied for a kernel
# of 5 by 5, and how large the columns of 32 images of 28 by 28 are.
#
# **Task.** Write `im2col`. Rows run in the order of the weights: channel by channel, in each of
# them row by row of the kernel. Columns run row by row of the result.

# %% exercise="im2col"
#| export
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
    ### BEGIN SOLUTION
    n, c = x.shape[:2]
    size = out_size(x.shape, kernel, stride, padding)
    x = padded(x, padding)
    columns = np.empty((n, c, *kernel, *size), x.dtype)
    for i, j in places(kernel):
        columns[:, :, i, j] = seen(x, i, j, size, stride)
    return columns.reshape(n, c * kernel[0] * kernel[1], size[0] * size[1])
    ### END SOLUTION

# %% checks="im2col"
check("im2col")

# %%
columns = im2col(images, (5, 5))
print(f"{images.nbytes / 1e6:.1f} MB of images became {columns.nbytes / 1e6:.1f} MB of columns")

# %% [markdown]
# Now the product. NumPy's `@` does it for a whole batch: `(out, K) @ (batch, K, P)` is
# `(batch, out, P)`, image by image, and the columns of one image still fit into the processor's
# fast memory.
#
# **Task.** Write `columns_forward`.

# %% exercise="forward"
#| export
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
    ### BEGIN SOLUTION
    kernel = weights.shape[2:]
    out = weights.reshape(len(weights), -1) @ im2col(x, kernel, stride, padding)
    out += bias[:, None]
    return out.reshape(len(x), len(weights), *out_size(x.shape, kernel, stride, padding))
    ### END SOLUTION

# %% checks="forward"
check("forward")

# %%
fast = seconds(columns_forward, images, kernels, no_bias, (1, 1), (0, 0))
print(f"32 images as a matrix product: {fast * 1000:.2f} ms, {slow / fast:.0f} times as fast "
      "as the loops")

# %% [markdown]
# ## The way back
#
# `im2col` copies each pixel into up to 25 columns. On the way back, the slopes for all those
# copies belong to one pixel again. Predict what it receives: one of them, their mean, their
# sum?
#
# Take a row of 3 pixels and a kernel of 2: two windows. If each of the four places in the
# columns has slope 1, what is the slope for the pixel in the middle?
#
# **Task.** Write `col2im`, which undoes the *copying* of `im2col`. It is `im2col` read from
# below.

# %% exercise="col2im"
#| export
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
    ### BEGIN SOLUTION
    columns = columns.reshape(n, c, *kernel, *size)
    x = np.zeros((n, c, height + 2 * padding[0], width + 2 * padding[1]), columns.dtype)
    for i, j in places(kernel):
        spot = seen(x, i, j, size, stride)
        spot += columns[:, :, i, j]
    return cropped(x, padding)
    ### END SOLUTION

# %% checks="col2im"
check("col2im")

# %% [markdown]
# The convolution is $y = W \cdot \text{columns} + b$ for each image, and lesson 06 knows how a
# slope $g$ goes back through a matrix product: $g \cdot \text{columns}^\top$ for $W$,
# $W^\top g$ for the columns. The kernels are the same for all images, so their slopes are added
# up over the batch.
#
# One choice is left: keep the columns from the forward pass, or make them again? They are 25
# times as large as the images. To make them again takes a tenth of the whole step, so that is
# what we do.
#
# **Task.** Write both rules, as `derivative` wants them: $g$, the result, the inputs, and the
# options by name. First `columns_to_weights`. `flat(g)` is given: maps of shape (batch, out,
# rows, columns) as (batch, out, windows).

# %% exercise="to-weights"
#| export
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
    ### BEGIN SOLUTION
    columns = im2col(x, weights.shape[2:], stride, padding)
    return (flat(g) @ columns.swapaxes(1, 2)).sum(axis=0).reshape(weights.shape)
    ### END SOLUTION

# %% checks="to-weights"
check("to-weights")

# %% [markdown]
# **Task.** Now `columns_to_input`: the slopes for the columns, and then for the pixels they
# came from.

# %% exercise="to-input"
#| export
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
    ### BEGIN SOLUTION
    columns = weights.reshape(len(weights), -1).T @ flat(g)
    return col2im(columns, x.shape, weights.shape[2:], stride, padding)
    ### END SOLUTION

# %% checks="to-input"
check("to-input")

# %% [markdown]
# ## Fewer copies
#
# With one channel, a slice of `im2col` is copied in runs of 24 pixels that lie side by side in
# memory. Deeper in a network there are many channels and small pictures: runs of 8, each with
# its own overhead, and `col2im` adds in runs of 8. There, another layout is better: channels
# *last*, and copied only across. What 5 pixels of one row hold, in all their channels, is one
# run: a *strip*.
#
# A window is then a strip from each of 5 rows that lie below each other. Rows need no copy:
# kernel row $i$ sees the slice of strips that starts at row $i$, and the result is a sum of 5
# matrix products. Each pixel is copied 5 times, not 25.
#
# The code is given, in `tinytorch/support/strips.py`: three functions that do what yours do,
# number for number. The number of channels chooses between the two ways. A rule is called only
# when its input wants a gradient: for the first layer, whose input is the picture itself,
# nobody works out what the pixels should have been.
#
# Predict which way is faster, there and back together: for 1 channel of 28 by 28, 8 channels of
# 12 by 12, 16 channels of 8 by 8.

# %%
#| exporti
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

# %%
for channels, size in [(1, 28), (8, 12), (16, 8)]:
    x = rng.normal(size=(4, channels, size, size)).astype("float32")
    w, b = rng.normal(size=(8, channels, 5, 5)).astype("float32"), np.zeros(8, "float32")
    g = rng.normal(size=(4, 8, size - 4, size - 4)).astype("float32")
    spent = []
    for ways in [(columns_forward, columns_to_weights, columns_to_input),
                 (strips_forward, strips_to_weights, strips_to_input)]:
        note = (x, w, b, (1, 1), (0, 0))
        spent.append(seconds(ways[0], *note)
                     + sum(seconds(rule, g, None, *note) for rule in ways[1:]))
    print(f"{channels:2} channels: columns {spent[0] * 1000:5.2f} ms, "
          f"strips {spent[1] * 1000:5.2f} ms")

# %% [markdown]
# ## The door
#
# `conv2d` is what people call, with tensors, ints for pairs, and mistakes. Two are common: the
# channels of the picture and of the kernels differ, and the kernel is larger than the picture.
# NumPy would complain about matrices that nobody has ever seen. `misfit(images, weights, why)`
# is given: it makes the error with both shapes and the formula.
#
# **Task.** Write the rest of `conv2d`: three things to refuse, one thing to fill in, and the
# call.

# %% exercise="conv2d"
#| export
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
    ### BEGIN SOLUTION
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
    ### END SOLUTION

# %% checks="conv2d"
check("conv2d")

# %% [markdown]
# ## The layer
#
# A layer is a function with its numbers. How large should they be on the first day? Lesson 03
# counted for each output how many inputs it weighs, `fan_in`, and for each input to how many
# outputs it goes, `fan_out`. Predict both for `Conv2d(3, 8, 5)` before you look into a hint.
#
# **Task.** Write the rest of `Conv2d.__init__`: two attributes.

# %% exercise="layer"
#| export
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
        ### BEGIN SOLUTION
        shape = (out_channels, in_channels, *self.kernel_size)
        self.weights = Variable(init(in_channels * area, out_channels * area, rng, shape))
        self.bias = Variable(np.zeros(out_channels, np.float32)) if bias else None
        ### END SOLUTION

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

# %% checks="layer"
check("layer")

# %% [markdown]
# ## Pooling
#
# Where exactly the pattern was found matters less and less as one goes deeper. Pooling keeps
# one number of each window and throws the rest away: the largest ("is it anywhere here?") or
# the mean ("how much of it is here?"). No weights, and each channel by itself. Windows of 2 by
# 2 with stride 2 leave a quarter of the numbers.
#
# A margin must never win a maximum. Predict what a margin of zeros would do to a picture whose
# numbers are all negative. So here the margin is of $-\infty$.
#
# **Task.** Write `max_pool2d_forward`. You have everything; no window needs to be written out.

# %% exercise="max"
#| export
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
    ### BEGIN SOLUTION
    size = out_size(x.shape, kernel, stride, padding)
    x = padded(x, padding, -np.inf)
    out = seen(x, 0, 0, size, stride).copy(order="K")
    for i, j in places(kernel):
        np.maximum(out, seen(x, i, j, size, stride), out=out)
    return out
    ### END SOLUTION

# %% checks="max"
check("max")

# %% [markdown]
# And back? Only the largest number of a window moved the result, so it alone gets the slope.
# Behind a relu many windows hold nothing but zeros. Predict what happens to the sum of all
# slopes if all four zeros of such a window get the slope.
#
# The rule is PyTorch's: of several equal numbers the first one gets it all, row by row of the
# window. And windows may overlap: a number that is the largest in three windows gets three
# slopes.
#
# **Task.** Write `max_pool2d_rule`.

# %% exercise="max-rule"
#| export
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
    ### BEGIN SOLUTION
    size, x = out.shape[2:], padded(x, padding, -np.inf)
    slopes, free = np.zeros_like(x), np.ones(out.shape, bool)
    for i, j in places(kernel):
        here = free & (seen(x, i, j, size, stride) == out)
        spot = seen(slopes, i, j, size, stride)
        spot += here * g
        free &= ~here
    return cropped(slopes, padding)
    ### END SOLUTION

# %%
#| exporti
derivative(max_pool2d_forward, max_pool2d_rule)

# %% checks="max-rule"
check("max-rule")

# %% [markdown]
# The mean is easier: every place of the window has the same share in it. Its forward function
# is given; here the margin counts as zeros, as in PyTorch. Predict what one number of a picture
# gets when windows of 2 by 2 move by 1 and all slopes are 1.

# %%
#| exporti
def avg_pool2d_forward(x, kernel, stride, padding):
    """The mean of each window, in each channel by itself; a margin counts as zeros."""
    size, x = out_size(x.shape, kernel, stride, padding), padded(x, padding)
    out = seen(x, 0, 0, size, stride).copy(order="K")
    for i, j in places(kernel)[1:]:
        out += seen(x, i, j, size, stride)
    out /= math.prod(kernel)
    return out

# %% [markdown]
# **Task.** Write `avg_pool2d_rule`.

# %% exercise="avg-rule"
#| export
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
    ### BEGIN SOLUTION
    slopes = np.zeros_like(padded(x, padding))
    for i, j in places(kernel):
        spot = seen(slopes, i, j, g.shape[2:], stride)
        spot += g / math.prod(kernel)
    return cropped(slopes, padding)
    ### END SOLUTION

# %%
#| exporti
derivative(avg_pool2d_forward, avg_pool2d_rule)

# %% checks="avg-rule"
check("avg-rule")

# %% [markdown]
# Doors and layers are given; they are those of `conv2d` once more. Without a stride, windows
# lie side by side. As in PyTorch, a margin may be half a window at most, so that no window lies
# outside.

# %%
#| export
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

# %% [markdown]
# ## A picture, looked at
#
# Enough numbers. Here is a small picture, drawn by hand, and four kernels that nobody learned:
# above what they make of it, below that pooled to 12 by 12. Predict which of the maps shows the
# roof but not the walls.

# %%
from tinytorch.support.pictures import draw_maps, house, strokes

named = {"up and down": [[-1, -2, -1], [0, 0, 0], [1, 2, 1]],
         "left and right": [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]],
         "corners, dots": [[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]],
         "blur": np.full((3, 3), 1 / 9)}
picture = Tensor(house()[None, None])
maps = conv2d(picture, Tensor(np.array(list(named.values()), "float32")[:, None]), padding=1)
pooled = max_pool2d(abs(maps), 4)
figure = draw_maps([[picture.data[0, 0], *maps.data[0]], [None, *pooled.data[0]]],
                   ["picture", *named])
# alt: A drawn house under a moon, and what four kernels make of it: level edges, upright edges,
# corners and dots, a blur. Below, each pooled to 12 by 12.

# %% [markdown]
# Blue and red are the two directions of a change. The kernel for "up and down" is blind to
# walls, the one for "left and right" to the horizon, and a slope shows in both. In a network
# nobody writes such kernels; they are learned.
#
# ## How much does one number see?
#
# A number behind one layer of 3 by 3 sees 3 pixels across. Behind a second one it sees 3
# numbers of the first, that is 5 pixels. Its *receptive field* says how large a thing it can
# possibly know of. Predict it for five layers of 3, and for three layers of 3 each followed by
# a pool of 2.
#
# **Task.** Write `receptive_field` for a stack of layers, given as pairs (kernel, stride).

# %% exercise="field"
#| export
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
    ### BEGIN SOLUTION
    field, distance = 1, 1
    for kernel, stride in layers:
        field += (kernel - 1) * distance
        distance *= stride
    return field
    ### END SOLUTION

# %% checks="field"
check("field")

# %%
stacks = {"3": [(3, 1)], "3, 3, 3": [(3, 1)] * 3,
          "3, pool 2, 3, pool 2, 3": [(3, 1), (2, 2)] * 2 + [(3, 1)]}
seen_by_one = []
for stack in stacks.values():
    x = y = Variable(np.zeros((1, 1, 41, 41), "float32"))
    for k, s in stack:
        y = conv2d(y, np.full((1, 1, k, k), 1 / k**2, "float32"), stride=s)
    middle = y.shape[2] // 2
    y[0, 0, middle, middle].backward()
    seen_by_one.append(x.grad[0, 0])
figure = draw_maps([seen_by_one], [f"{title}: sees {receptive_field(stack)} across"
                                   for title, stack in stacks.items()])
# alt: How much of its input one number sees: 3 by 3 places through one layer, 7 by 7 through
# three, 18 by 18 when two poolings stand between.

# %% [markdown]
# The slopes themselves draw it: bright is what the one number in the middle of the last map
# depends on. All kernels here are flat, and yet the middle counts more than the rim: more ways
# lead to it.
#
# ## What it costs
#
# A convolution is multiplications and additions, in pairs, and their number needs no computer.
# Predict for the first layer of this chapter (32 images of 28 by 28, 8 kernels of 5 by 5), and
# for the second layer of a small network: 32 images of (8, 12, 12), 16 kernels of 5 by 5. Which
# one costs more?
#
# **Task.** Write `conv2d_cost`.

# %% exercise="cost"
#| export
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
    ### BEGIN SOLUTION
    size = out_size(images, weights[2:], pair(stride), pair(padding, least=0))
    return images[0] * weights[0] * math.prod(size) * math.prod(weights[1:])
    ### END SOLUTION

# %% checks="cost"
check("cost")

# %% [markdown]
# Counted is not measured. Predict which of these convolutions come near to what the processor
# can do, and which stay far below: few channels or many, small kernels or large?

# %%
for k in (1, 3, 5):
    for channels in (1, 8, 16):
        x = rng.normal(size=(4, channels, 12, 12)).astype("float32")
        w, b = rng.normal(size=(8, channels, k, k)).astype("float32"), np.zeros(8, "float32")
        cost = conv2d_cost(x.shape, w.shape)
        spent = seconds(conv2d_forward, x, w, b, (1, 1), (0, 0))
        print(f"{k} by {k}, {channels:2} channels: {cost:7,} multiply-adds, "
              f"{cost / spent / 1e9:4.1f} billion a second")

# %% [markdown]
# Cheap ones stay far below: what they spend is spent on copying pixels, not on multiplying
# them. A kernel of 1 by 1 needs one product per weight and pixel, and still pays for the copy.
#
# ## Known in all places
#
# The promise was: learned in one place, known in all. Here are noisy pictures of 12 by 12 with
# a short stroke in one of four directions, in training always in the *left* half. Then both
# networks are asked about strokes in the right half. Predict, in percent; guessing gets 25.

# %%
from tinytorch.core.layers import Flatten, Linear, Sequential, manual_seed
from tinytorch.core.losses import cross_entropy

manual_seed(1)
x, labels = strokes(960, 0, 1, seed=0)
nets = {"dense": Sequential(Flatten(), Linear(144, 64), Tensor.relu, Linear(64, 4)),
        "convolution": Sequential(Conv2d(1, 8, 5), Tensor.relu, MaxPool2d(8), Flatten(),
                                  Linear(8, 4))}
for name, net in nets.items():
    for step in range(100):
        batch = slice(32 * step % 960, 32 * step % 960 + 32)
        net.zero_grad()
        cross_entropy(net(Tensor(x[batch])), labels[batch]).backward()
        for p in net.parameters():
            p.data -= 0.6 * p.grad
    print(f"{name} network, {sum(p.size for p in net.parameters()):,} numbers:")
    for half, first in [("left", 0), ("right", 6)]:
        unseen, answers = strokes(500, first, first + 1, seed=1)
        right = np.asarray(net(Tensor(unseen))).argmax(axis=1) == answers
        print(f"  strokes in the {half} half: {right.mean():.0%}")

# %% [markdown]
# The dense network never saw a stroke on the right, and what it learned on the left is of no
# use there. And what did the other one learn? Eight kernels, and what they make of one picture.

# %%
conv = nets["convolution"][0]
one, _ = strokes(1, 7, 7, seed=3)
found = np.asarray(conv(Tensor(one)).relu())[0]
figure = draw_maps([[one[0, 0].clip(0), *conv.weights.data[:, 0]], [None, *found]], shared=True)
# alt: One noisy picture with a level stroke, and eight learned kernels of 5 by 5, several with
# a blue line: upright, level or slanting. Below, what each kernel makes of the picture.

# %% [markdown]
# ## Look back
#
# 1. Two layers of 3 by 3 see as much as one of 5 by 5. Count weights and multiply-adds of both,
#    for 16 channels in and out, and measure. What else does the pair have that the single one
#    has not?
# 2. The convolutional network of the last section cannot say *where* the stroke is. Which layer
#    forgot it? Change one number so that it can tell left from right, and train it on that.
# 3. `col2im` reaches a pixel in the middle 25 times, one in the corner once. Send ones back
#    through `conv2d` with and without padding and look at the slopes. Which pixels does a
#    network without padding nearly ignore, layer after layer?
