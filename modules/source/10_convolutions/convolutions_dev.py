# %% [markdown]
# # 10. Convolutions
#
# How can a network find a pattern wherever it is in an image? Below is a picture of a house
# with four feature maps. A **feature map** is an image that shows, for each place of the input,
# how well the pixels around it match a small pattern. Positive numbers are blue, negative ones
# are red. The last map is the mean of the 9 pixels around each place.

# %% tags=["payoff"]
#| default_exp core.convolutions
#| export
import math

import numpy as np

from tinytorch.core.autograd import derivative
from tinytorch.core.layers import Module, xavier_uniform
from tinytorch.core.losses import as_float_tensor
from tinytorch.core.tensor import Tensor, Variable, apply
from tinytorch.support.arrays import keep_freed_memory
from tinytorch.support.convolution import (
    conv_tiled_forward, conv_tiled_input_gradient, conv_tiled_weight_gradient, crop_padding,
    flatten_maps, kernel_positions, pad_images, pair, prefer_2x2, shape_error)
from tinytorch.support.derivatives import masked
from tinytorch.support.forward import sum_forward
from tinytorch.support.modules import cast_to

# %% tags=["payoff"]
from tinytorch.pictures.convolutions import cross_correlate, draw_maps, house, strokes

kernels = {"horizontal edges": [[-1, -2, -1], [0, 0, 0], [1, 2, 1]],
           "vertical edges": [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]],
           "outlines": [[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]],
           "blur": np.full((3, 3), 1 / 9)}
feature_maps = [cross_correlate(house(), kernel) for kernel in kernels.values()]
figure = draw_maps([house(), *feature_maps], ["house", *kernels])
# caption: The same nine weights at every place find a pattern wherever it is.
# alt: A drawn house under a sun, and four feature maps of it. The first shows level edges such
# as the horizon, the second upright edges such as the walls, the third thin outlines, all three
# in red and blue; the last is the blurred house in grey.

# %% [markdown]
# A **convolution** computes a weighted sum of the pixels in a small window of an image, with
# the same weights at every position of the window. The four maps come from four sets of nine
# weights, which were chosen by hand. A *convolutional network* learns such weights. At the end
# of this chapter, one with 244 parameters learns to recognize strokes in the left half of an
# image, and then also recognizes them in the right half, where it has never seen one, while a
# fully connected network with 9,540 parameters cannot.
#
# **You need** 02 (Tensor), 04 (Layers), 05 (Losses) and 06 (Autograd). **You build** the
# convolution as loops, and again as a matrix product that is thousands of times as fast. Then
# you write its gradients, the layer `Conv2d` and pooling, and compute receptive fields and
# FLOPs.

# %% [markdown] page="What a convolution computes"
# ## Kernel, stride and padding
#
# We begin in one dimension, with a row of numbers. A **kernel** is a small array of weights
# that is multiplied with each window of the input. A *window* is the part of the input under
# the kernel. Below, the kernel `[-1, 0, 1]` is placed at four positions of a row of numbers. At
# each position, the sum of the three products is one number of the output.
#
# The **stride** is the number of pixels by which the kernel moves from one position to the
# next. **Padding** is a border of zeros that is added around the input.

# %%
from tinytorch.pictures.convolutions import (draw_col2im, draw_im2col, draw_max_pool,
                                             draw_product, draw_receptive_field, draw_sliding)

draw_sliding([0, 0, 0, 5, 5, 5, 5], kernel=[-1, 0, 1], stride=2, padding=1)
# alt: Seven numbers with one zero of padding at each end. A kernel of three weights is drawn at
# four positions, two pixels apart, with its outputs 0, 5, 0 and -5.

# %% [markdown]
# The output is not 0 where the input changes, because this kernel detects edges. The -5 comes
# from the padding, where the input changes from 5 to 0.
#
# Predict the number of outputs for the same 7 numbers with stride 1 and no padding. Then
# predict it for 8 numbers with stride 2 and no padding. What happens to the last of them?
#
# **Task.** Write `output_size`, which computes the number of positions of a kernel along one
# axis. Here `kernel_size` is one number; in the functions for images it is a pair.

# %% The size of the output exercise="output-size"
#| export
def output_size(length, kernel_size, stride=1, padding=0):
    """The number of positions of a kernel along one axis.

    length       numbers in the input
    kernel_size  numbers in the kernel
    stride       distance from one position to the next, in numbers
    padding      zeros added at each end of the input
    returns      an int, 1 or more; a window that would reach beyond the end does not count

    Raises ValueError, with all four numbers in its message, if the kernel is longer than the
    padded input.

    >>> output_size(7, kernel_size=3, stride=2, padding=1)
    4

    Source: Dumoulin and Visin, A guide to convolution arithmetic (2016), relationship 6.
    """
    ### BEGIN SOLUTION
    size = (length + 2 * padding - kernel_size) // stride + 1
    if size < 1:
        raise ValueError(f"a kernel of {kernel_size} does not fit into {length} numbers: "
                         f"({length} + 2 * {padding} - {kernel_size}) // {stride} + 1 = {size}")
    return size
    ### END SOLUTION

# %% checks="output-size"
check("output-size")

# %% tags=["answer", "explained"]
print("7 numbers, stride 1:", output_size(7, 3), "  8 numbers, stride 2:", output_size(8, 3, 2))

# %% [markdown]
# With stride 2, the last of 8 numbers is in no window.
#
# An image has two axes, rows first, then columns. Kernel sizes, strides and paddings are
# therefore pairs `(down, across)`; an int such as 3 means (3, 3). `output_shape` applies
# `output_size` to both axes:

# %%
#| exporti
def output_shape(shape, kernel_size, stride=(1, 1), padding=(0, 0)):
    """(rows, columns) of the output, for images of `shape` (..., height, width)."""
    return tuple([output_size(*numbers)
                  for numbers in zip(shape[-2:], kernel_size, stride, padding)])

# %% [markdown]
# ## Cross-correlation
#
# In two dimensions a window is a small rectangle. Each of its pixels is multiplied by the
# weight that lies on it:

# %%
edges = [[0, 0, 5, 5], [0, 0, 5, 5], [0, 0, 5, 5], [5, 5, 5, 5]]
draw_product(edges, kernels["vertical edges"], at=(1, 0))
# alt: An input of 4 by 4 pixels with a window of 3 by 3 marked, a kernel of 3 by 3, and a
# feature map of 2 by 2. The nine products of the window and the kernel add up to 15.

# %% [markdown]
# In mathematics, a convolution turns the kernel by 180 degrees before it multiplies. A
# **cross-correlation** slides the kernel over the image without turning it and computes the
# weighted sum at each position. Deep-learning libraries compute the cross-correlation and call
# it convolution, and so do we. For learned weights it makes no difference, because training can
# learn the turned kernel just as well.

# %% [markdown]
# ## Channels
#
# Most images have several channels. A **channel** is one of the two-dimensional arrays that
# make up an image: for example red, green or blue in a photo, or one feature map inside a
# network. A batch of images has the shape (batch, channels, height, width). A kernel has
# weights for all input channels. A layer has one kernel and one bias $b_o$ for each output
# channel $o$:
#
# $$y_{nopq} = b_o + \sum_{c,i,j} w_{ocij}\; x_{n,\,c,\,p s + i,\,q t + j}$$
#
# Here $n$ is the number of the image, and $p$ and $q$ are the row and the column in the output.
# $c$, $i$ and $j$ run over the channels, rows and columns of the kernel; $s$ and $t$ are the
# strides.

# %% [markdown]
# Take 32 images of shape (3, 28, 28) and 8 kernels of shape (3, 5, 5). Predict how many numbers
# the output has, and how many products are added up for each of them.
#
# **Task.** Write the body of `conv2d_loops` as plainly as you can. It may be slow, because it
# only explains the operation and later tests the fast version.

# %% Convolution as loops exercise="loops"
#| export
def conv2d_loops(x, weights, bias, stride=(1, 1)):
    """The convolution by its definition, one output number at a time. Only for small inputs.

    x        ndarray of shape (batch, channels, height, width), already padded
    weights  ndarray of shape (out channels, channels, kernel height, kernel width)
    bias     ndarray of shape (out channels,)
    stride   (down, across)
    returns  ndarray of shape (batch, out channels, *output_shape(...)), of the dtype of `x`

    >>> conv2d_loops(np.array([[[[1, 2, 3], [4, 5, 6]]]]), np.array([[[[1, 10]]]]),
    ...              np.array([100]))
    array([[[[121, 132],
             [154, 165]]]])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 9.1, (9.6).
    """
    kernel_size = weights.shape[2:]
    rows, columns = kernel_size
    out = np.zeros((len(x), len(weights), *output_shape(x.shape, kernel_size, stride)), x.dtype)
    ### BEGIN SOLUTION
    for n, o, p, q in np.ndindex(*out.shape):
        top, left = p * stride[0], q * stride[1]
        window = x[n, :, top:top + rows, left:left + columns]
        out[n, o, p, q] = (window * weights[o]).sum() + bias[o]
    ### END SOLUTION
    return out

# %% checks="loops"
check("loops")

# %% tags=["answer"]
print("output (32, 8, 24, 24):", f"{32 * 8 * 24 * 24:,} numbers of {3 * 5 * 5} products each")

# %% [markdown]
# `conv2d_loops` can already compute the feature maps of the first picture. Below, two kernels
# are applied to the house, and to the house shifted left by 6 pixels. Predict the new maps.

# %% tags=["answer", "explained"]
weights = np.array([kernels["horizontal edges"], kernels["vertical edges"]], "float32")[:, None]
houses = np.stack([house(), np.roll(house(), -6, axis=1)])[:, None]
maps = conv2d_loops(houses, weights, np.zeros(2, "float32"))
figure = draw_maps([houses[0, 0], *maps[0], houses[1, 0], *maps[1]],
                   ["house", *list(kernels)[:2], "shifted house", "shifted map", "shifted map"])
# alt: Above, the house with its maps of horizontal and vertical edges. Below, the house shifted
# to the left; its two maps are the maps above, shifted by as much.

# %% [markdown]
# The maps are shifted by the same 6 pixels.
#
# The loops are slow. Predict the time for 32 images of 28 by 28 pixels and 8 kernels of 5 by 5.

# %% tags=["answer"]
from timeit import repeat


def seconds(function, *inputs, times=5):
    """The shortest time of several calls, in seconds."""
    return min(repeat(lambda: function(*inputs), number=1, repeat=times))


rng = np.random.default_rng(0)
images = rng.normal(size=(32, 1, 28, 28)).astype("float32")
weights, no_bias = rng.normal(size=(8, 1, 5, 5)).astype("float32"), np.zeros(8, "float32")
slow = 32 * seconds(conv2d_loops, images[:1], weights, no_bias, times=1)
print(f"32 images with loops: {slow * 1000:.0f} ms")

# %% [markdown]
# ## Patches: the pixels that one weight multiplies
#
# To remove the loops over windows, exchange the order: for each *weight*, collect the pixels
# that it multiplies in all windows. For example, weight (0, 0) multiplies the upper left pixel
# of each window. In an image with the pixels 0 to 15, a kernel of 3 by 3 has four windows, and
# their upper left pixels are 0, 1, 4 and 5. The table has one row for each of the nine weights,
# with the pixels that it multiplies:

# %%
pixels = np.arange(16).reshape(4, 4)
draw_im2col(pixels, kernel_size=(3, 3), weight=(0, 0))
# alt: Pixels 0 to 15 as 4 by 4; 0, 1, 4 and 5 are marked. Beside them a table with a row for
# each of nine weights and a column for each of four windows; row 0 is marked and holds 0 1 4 5.

# %% [markdown]
# The pixels of one weight form a grid with the shape of the output; its neighbouring pixels are
# `stride` pixels apart in the image. NumPy can select this grid without a loop and without a
# copy, by a *strided slice*: `x[start:stop:step]` on both axes. Predict the slice for weight
# (1, 2) of a kernel of 3 by 3 on an image of 6 by 8 pixels with stride 2.
#
# **Task.** Write `patches`. All functions that follow use it.

# %% exercise="patches"
#| export
def patches(x, i, j, size, stride):
    """The pixels that weight (i, j) of a kernel multiplies, one for each window.

    x        ndarray of shape (..., height, width), already padded
    i, j     row and column of the weight in the kernel
    size     (rows, columns) of windows
    stride   (down, across), from one window to the next
    returns  a view of `x`, an ndarray of shape (..., *size)

    >>> patches(np.arange(24).reshape(4, 6), 1, 2, size=(2, 2), stride=(2, 3))
    array([[ 8, 11],
           [20, 23]])

    Source: NumPy user guide, "Slicing and striding".
    """
    ### BEGIN SOLUTION
    down, across = stride
    return x[..., i:i + down * (size[0] - 1) + 1:down, j:j + across * (size[1] - 1) + 1:across]
    ### END SOLUTION

# %% checks="patches"
check("patches")

# %% tags=["answer"]
image = np.arange(48).reshape(6, 8)
print(patches(image, 1, 2, size=(2, 3), stride=(2, 2)), "x[1:4:2, 2:7:2]")

# %% [markdown] page="Convolution as a matrix product"
# ## im2col: convolution as a matrix product
#
# Of all operations, NumPy computes matrix products most efficiently. **im2col** ("image to
# columns") copies each window of an image into one column of a matrix, so that a convolution
# becomes a matrix product. The table below is the same as before. Each of its columns contains
# one window:

# %%
draw_im2col(pixels, kernel_size=(3, 3), window=1)
# alt: Pixels 0 to 15 as 4 by 4, the window of 3 by 3 from pixel 1 to pixel 11 marked. In the
# table of columns, column 1 is marked and holds 1 2 3 5 6 7 9 10 11.

# %% [markdown]
# Let $K$ = channels · kernel height · kernel width, and let $P$ be the number of windows. Then
# each image needs one product:
#
# $$\underbrace{y}_{(out,\;P)} =
# \underbrace{W}_{(out,\;K)}\ \underbrace{\text{columns}}_{(K,\;P)}$$
#
# Predict how often each pixel is copied for a kernel of 5 by 5, and the size in MB of the
# columns of 32 images of 28 by 28 pixels.
#
# **Task.** Write `im2col`. For one channel and one weight, `patches` returns the numbers of one
# row of this matrix. Two helpers are given: `pad_images(x, padding)` adds zeros, and
# `kernel_positions(kernel_size)` lists every (i, j). Axes are easy to mix up here, so fill in
# the matrix by hand first, for an image of 3 by 3 and a kernel of 2 by 2.

# %% The matrix of patches exercise="im2col"
#| export
def im2col(x, kernel_size, stride=(1, 1), padding=(0, 0)):
    """Copy every window of every image into a column.

    x        ndarray of shape (batch, channels, height, width)
    kernel_size, stride, padding   pairs (down, across)
    returns  a new ndarray of shape (batch, channels * kernel height * kernel width, windows),
             of the dtype of `x`; windows over the edge hold the zeros of the padding.
             The rows of the matrix have the order of the weights; for 2 channels and a kernel
             of (1, 2): channel 0 (0, 0), channel 0 (0, 1), channel 1 (0, 0), channel 1 (0, 1).
             Its columns have the order of the outputs: from left to right, then downwards.

    >>> im2col(np.array([[[[1, 2, 3], [4, 5, 6]]]]), kernel_size=(2, 2))
    array([[[1, 2],
            [2, 3],
            [4, 5],
            [5, 6]]])

    Source: torch.nn.functional.unfold; Chellapilla, Puri, Simard (2006), see `im2col_forward`.
    """
    ### BEGIN SOLUTION
    n, c = x.shape[:2]
    size = output_shape(x.shape, kernel_size, stride, padding)
    x = pad_images(x, padding)
    columns = np.empty((n, c, *kernel_size, *size), x.dtype)
    for i, j in kernel_positions(kernel_size):
        columns[:, :, i, j] = patches(x, i, j, size, stride)
    return columns.reshape(n, c * kernel_size[0] * kernel_size[1], size[0] * size[1])
    ### END SOLUTION

# %% checks="im2col"
check("im2col")

# %% tags=["answer", "explained"]
columns = im2col(images, (5, 5))
print(f"{images.nbytes / 1e6:.1f} MB of images give {columns.nbytes / 1e6:.1f} MB of columns")

# %% [markdown]
# Pixels in the middle are copied 25 times, pixels near the edge less often.
#
# Next comes the product. NumPy's `@` treats the first axis of the columns as a batch:
# `(out, K) @ (batch, K, P)` has the shape `(batch, out, P)`.
#
# **Task.** Write `im2col_forward`.

# %% Convolution as a matrix product exercise="forward"
#| export
def im2col_forward(x, weights, bias, stride, padding):
    """The convolution as a matrix product of the weights and the columns of `x`.

    x        ndarray of shape (batch, channels, height, width); batch may be 0
    weights  ndarray of shape (out channels, channels, kernel height, kernel width)
    bias     ndarray of shape (out channels,)
    stride, padding   pairs (down, across)
    returns  ndarray of shape (batch, out channels, *output_shape(...)), of the dtype of the
             inputs, which are not changed

    >>> im2col_forward(np.ones((1, 1, 2, 3)), np.array([[[[1.0, 10.0]]]]), np.array([100.0]),
    ...                (1, 1), (0, 1))
    array([[[[110., 111., 111., 101.],
             [110., 111., 111., 101.]]]])

    Source: Chellapilla, Puri, Simard, High performance convolutional neural networks (2006).
    """
    ### BEGIN SOLUTION
    kernel_size = weights.shape[2:]
    out = weights.reshape(len(weights), -1) @ im2col(x, kernel_size, stride, padding)
    out += bias[:, None]
    size = output_shape(x.shape, kernel_size, stride, padding)
    return out.reshape(len(x), len(weights), *size)
    ### END SOLUTION

# %% checks="forward"
check("forward")

# %% tags=["answer"]
fast = seconds(im2col_forward, images, weights, no_bias, (1, 1), (0, 0))
print(f"32 images as a matrix product: {fast * 1000:.2f} ms, {slow / fast:.0f} times as fast")

# %% [markdown]
# ## The gradients of bias and weights
#
# The operation needs a rule (a vector-Jacobian product) for each input. As in lesson 06, it is
# called as `rule(g, out, *inputs, **options)`, where $g$ is the upstream gradient.
#
# We start with the bias. Because the bias $b_o$ is added to every output number of channel $o$,
# in all images and at all positions, its gradient is a sum. Over which axes of $g$?
#
# **Task.** Write `bias_gradient`.

# %% The gradient of the bias exercise="bias-gradient"
#| export
def bias_gradient(g, out, x, weights, bias, stride, padding):
    """The gradient of the bias of a convolution.

    g        ndarray of shape (batch, out channels, rows, columns): the upstream gradient
    out      the output of the convolution
    x, weights, bias, stride, padding   the arguments of the convolution
    returns  ndarray of shape (out channels,)

    >>> bias_gradient(np.ones((5, 2, 3, 4)), None, None, None, None, (1, 1), (0, 0))
    array([60., 60.])

    Source: the multivariable chain rule; lesson 06, gradients of broadcast operands.
    """
    ### BEGIN SOLUTION
    return sum_forward(g, axis=(0, 2, 3))
    ### END SOLUTION

# %% checks="bias-gradient"
check("bias-gradient")

# %% [markdown]
# For each image, the output is $W \cdot \text{columns}$. By the rule for matrix products in
# lesson 06, the gradient of $W$ is $g \cdot \text{columns}^\top$. All images use the same
# weights, so the gradients of all images are added up.
#
# We do not keep the columns from the forward pass, because for images of 28 by 28 pixels and
# kernels of 5 by 5 they are 18 times as large as the images. We compute them again, which takes
# less than a tenth of a training step.
#
# **Task.** Write `im2col_weight_gradient`. `flatten_maps(g)` is given: it reshapes (batch, out,
# rows, columns) to (batch, out, P).

# %% The gradient of the weights exercise="weight-gradient"
#| export
def im2col_weight_gradient(g, out, x, weights, bias, stride, padding):
    """The gradient of the weights of a convolution.

    g        ndarray of shape (batch, out channels, rows, columns): the upstream gradient
    out      the output of the convolution
    x, weights, bias, stride, padding   the arguments of the convolution
    returns  ndarray of the shape of `weights`, of the dtype of `g`; no input is changed

    >>> x, weights, g = np.array([[[[1.0, 2.0, 3.0]]]]), np.zeros((1, 1, 1, 2)), np.array(
    ...     [[[[1.0, 10.0]]]])
    >>> im2col_weight_gradient(g, None, x, weights, None, (1, 1), (0, 0))
    array([[[[21., 32.]]]])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 9.5, (9.11).
    """
    ### BEGIN SOLUTION
    columns = im2col(x, weights.shape[2:], stride, padding)
    return (flatten_maps(g) @ columns.swapaxes(1, 2)).sum(axis=0).reshape(weights.shape)
    ### END SOLUTION

# %% checks="weight-gradient"
check("weight-gradient")

# %% [markdown]
# ## The gradient of the input: col2im
#
# By the same rule, the gradient of the columns is $W^\top g$. But the input is the image, and
# `im2col` copied each of its pixels into several columns. Predict the gradient of a pixel: is
# it one of the gradients of its copies, their mean, or their sum?
#
# Take a row of 3 pixels and a kernel of 2: there are two windows. If all four numbers in the
# columns have gradient 1, what is the gradient of the middle pixel?

# %% tags=["answer", "explained"]
draw_col2im((4, 4), kernel_size=(3, 3), pixel=(1, 1))
# alt: A table of columns full of ones, with the four places marked to which pixel (1, 1) was
# copied. The gradient of the 4 by 4 pixels is 1 2 2 1, 2 4 4 2, 2 4 4 2, 1 2 2 1.

# %% [markdown]
# By the multivariable chain rule, the gradient of a pixel is the sum of the gradients of its
# copies: 2 for the middle pixel of three, and 4 for pixel (1, 1) in the drawing. This operation
# is called *col2im*.
#
# **Task.** Write `col2im`. It has the structure of `im2col`, but in the loop it adds the
# columns to the patches of an image. `crop_padding(x, padding)` is given: it returns a view of
# `x` without its padding.

# %% Adding patches to an image exercise="col2im"
#| export
def col2im(columns, shape, kernel_size, stride=(1, 1), padding=(0, 0)):
    """For each pixel, the sum over all places that `im2col` copied it to.

    columns  ndarray of the shape that im2col returns for images of `shape`; not changed
    shape    (batch, channels, height, width) of the images, without padding; batch may be 0
    kernel_size, stride, padding   pairs (down, across)
    returns  ndarray of shape `shape`, of the dtype of `columns`; 0 for a pixel in no window

    >>> col2im(np.array([[[1.0, 10.0], [2.0, 20.0]]]), (1, 1, 1, 3), kernel_size=(1, 2))
    array([[[[ 1., 12., 20.]]]])

    Source: torch.nn.functional.fold.
    """
    n, c, height, width = shape
    size = output_shape(shape, kernel_size, stride, padding)
    ### BEGIN SOLUTION
    columns = columns.reshape(n, c, *kernel_size, *size)
    x = np.zeros((n, c, height + 2 * padding[0], width + 2 * padding[1]), columns.dtype)
    for i, j in kernel_positions(kernel_size):
        view = patches(x, i, j, size, stride)
        view += columns[:, :, i, j]
    return crop_padding(x, padding)
    ### END SOLUTION

# %% checks="col2im"
check("col2im")

# %% [markdown]
# **Task.** Write `im2col_input_gradient`: the gradient of the columns, then of the pixels.

# %% The gradient of the input exercise="input-gradient"
#| export
def im2col_input_gradient(g, out, x, weights, bias, stride, padding):
    """The gradient of the images that a convolution was applied to.

    g        ndarray of shape (batch, out channels, rows, columns): the upstream gradient
    out      the output of the convolution
    x, weights, bias, stride, padding   the arguments of the convolution
    returns  ndarray of the shape of `x`, of the dtype of `g`; no input is changed

    >>> x, weights, g = np.zeros((1, 1, 1, 3)), np.array([[[[1.0, 2.0]]]]), np.array(
    ...     [[[[1.0, 10.0]]]])
    >>> im2col_input_gradient(g, None, x, weights, None, (1, 1), (0, 0))
    array([[[[ 1., 12., 20.]]]])

    Source: Dumoulin and Visin, A guide to convolution arithmetic (2016), chapter 4.
    """
    ### BEGIN SOLUTION
    columns = weights.reshape(len(weights), -1).T @ flatten_maps(g)
    return col2im(columns, x.shape, weights.shape[2:], stride, padding)
    ### END SOLUTION

# %% checks="input-gradient"
check("input-gradient")

# %% [markdown]
# Now `derivative` registers the forward function with its rules. For 8 input channels or more,
# the functions below choose a faster method (see the appendix). It stores arrays of the forward
# pass in `saved`, and uses them again for the gradient of the weights.

# %%
#| exporti
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

# %% [markdown] page="Layers for images"
# ## The conv2d function
#
# Users call the function `conv2d`. It takes tensors, accepts ints for pairs, and checks its
# inputs. Three mistakes are common: the images have no batch axis, images and kernels have
# different numbers of channels, or a kernel is larger than the padded image. In these cases
# NumPy's errors would be about matrices that the user has never seen. The given lines of
# `conv2d` refuse the three mistakes with an error that contains both shapes and the formula.
#
# **Task.** Write the rest of `conv2d`: replace a missing bias, and call
# `apply(conv2d_forward, ...)`. Pass the three arrays by position, and the options
# `stride`, `padding` and `saved={}` (a new dictionary in each call) by name.

# %% The conv2d operation exercise="conv2d"
#| export
def conv2d(x, weights, bias=None, stride=1, padding=0):
    """Convolution: apply each kernel at every position of every image.

    x        Tensor, array or lists of shape (batch, channels, height, width); integers become
             float32
    weights  Tensor of shape (out channels, channels, kernel height, kernel width)
    bias     Tensor of shape (out channels,), or None for no bias
    stride, padding   ints, or pairs (down, across)
    returns  Tensor of shape (batch, out channels, rows, columns), see `output_size`, of the
             dtype of x and weights

    Raises the ValueError that `shape_error` returns, with both shapes and the formula, when x
    or weights do not have four axes, when their channels differ, and when a kernel is larger
    than the padded images.

    >>> conv2d(Tensor([[[[1, 2, 3]]]]), Tensor([[[[1, 10]]]]), padding=(0, 1))
    Tensor([[[[10., 21., 32.,  3.]]]])

    Source: torch.nn.functional.conv2d.
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
    ### BEGIN SOLUTION
    bias = np.zeros(len(weights), weights.dtype) if bias is None else bias
    return apply(conv2d_forward, x, weights, bias, stride=stride, padding=padding, saved={})
    ### END SOLUTION

# %% checks="conv2d"
check("conv2d")

# %% [markdown]
# ## Weight sharing: the Conv2d layer
#
# The layer stores the weights that the function `conv2d` needs. **Weight sharing** means that a
# layer uses the same weights at every position of its input. A layer computes 8 feature maps of
# 24 by 24 from one image of 28 by 28 pixels. Predict its number of parameters if it is a
# convolution with kernels of 5 by 5. And if it is a fully connected layer?

# %% tags=["answer"]
print(f"convolution: {8 * 5 * 5 + 8:,}   fully connected: {28**2 * 8 * 24**2 + 8 * 24**2:,}")

# %% [markdown]
# The scale of the initial weights depends on `fan_in`, the number of inputs that one output
# depends on, and `fan_out`, the number of outputs that one input contributes to (lesson 04). In
# a convolution, one output depends on all pixels of one window. Ignoring stride and edges, a
# pixel is in as many windows as the kernel has positions. For `Conv2d(3, 8, 5)`, predict both
# numbers before you write the code.
#
# **Task.** Write the rest of `Conv2d.__init__`: two attributes.

# %% The Conv2d layer exercise="layer"
#| export
class Conv2d(Module):
    """A convolutional layer.

    in_channels   channels of its input
    out_channels  channels of its output: one for each kernel
    kernel_size, stride, padding   ints, or pairs (down, across)
    bias          whether the layer has a bias, one number for each output channel
    init          returns the initial weights, called as init(fan_in, fan_out, rng, shape):
                  xavier_uniform, he_normal, ...
    rng           a NumPy Generator, a seed, or None for the generator of lesson 04

    .weights      Variable of shape (out_channels, in_channels, kernel height, kernel width);
                  also named .weight
    .bias         Variable of shape (out_channels,), float32 zeros at first; or None

    >>> Conv2d(3, 8, (5, 3), padding=(2, 1))(Tensor(np.ones((10, 3, 6, 7), "float32"))).shape
    (10, 8, 6, 7)

    Source: torch.nn.Conv2d; its initial values, and nn.Conv2d's here: `fan_in_uniform`.
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
        ### BEGIN SOLUTION
        shape = (out_channels, in_channels, *self.kernel_size)
        self.weights = Variable(init(in_channels * area, out_channels * area, rng, shape))
        self.bias = Variable(np.zeros(out_channels, np.float32)) if bias else None
        ### END SOLUTION

    weight = property(lambda self: self.weights, doc="PyTorch's name for the weights.")

    def forward(self, x):
        x = cast_to(x, self.weights, self)
        return conv2d(x, self.weights, self.bias, self.stride, self.padding)

    def __repr__(self):
        options = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        options += f", stride={self.stride}" * (self.stride != (1, 1))
        options += f", padding={self.padding}" * (self.padding != (0, 0))
        return f"Conv2d({options}{', bias=False' if self.bias is None else ''})"

# %% checks="layer"
check("layer")

# %% tags=["answer"]
print(f"Conv2d(3, 8, 5): fan_in {3 * 5 * 5}, fan_out {8 * 5 * 5}")

# %% [markdown]
# ## Max pooling
#
# Convolutional networks have a second kind of layer, which makes feature maps smaller.
# **Pooling** replaces each window of a feature map by one number: its maximum (does the pattern
# occur here at all?) or its mean (how much of it is here?). There are no weights, and each
# channel is pooled separately. Windows of 2 by 2 with stride 2 keep a quarter of the numbers.

# %%
draw_max_pool([[1, 3, 2, 0], [4, 2, 1, 1], [0, 0, 5, 6], [2, 1, 7, 3]], kernel_size=(2, 2),
              g=[[10, 20], [30, 40]])
# alt: A 4 by 4 input in four windows; their maxima are 4, 2, 2 and 7. Below, the upstream
# gradient 10, 20, 30, 40; each number goes to the place of the maximum, all others get 0.

# %% [markdown]
# Zeros as padding would be wrong for max pooling: if all inputs are negative, a zero of the
# padding would be the maximum. So here the padding is $-\infty$; a number such as -1e9 is not
# enough, because an input may be smaller.
#
# **Task.** Write `max_pool2d_forward`. `pad_images(x, padding, value)` pads with any value.
# After that you only need `patches`; do not make an array that holds all windows.

# %% Max pooling exercise="max-pool"
#| export
def max_pool2d_forward(x, kernel_size, stride, padding):
    """The maximum of each window, for each channel separately.

    x        ndarray of floats, of shape (batch, channels, height, width); not changed
    kernel_size, stride, padding   pairs (down, across); the padding is -inf
    returns  a new ndarray of shape (batch, channels, *output_shape(...)), of the dtype of `x`;
             nan for a window with a nan in it

    >>> max_pool2d_forward(np.array([[[[1.0, 5.0, 2.0], [-7.0, 0.0, 3.0]]]]),
    ...                    (2, 2), (1, 1), (0, 0))
    array([[[[5., 5.]]]])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 9.3.
    """
    ### BEGIN SOLUTION
    size = output_shape(x.shape, kernel_size, stride, padding)
    x = pad_images(x, padding, -np.inf)
    out = patches(x, 0, 0, size, stride).copy(order="K")
    for i, j in kernel_positions(kernel_size):
        np.maximum(out, patches(x, i, j, size, stride), out=out)
    return out
    ### END SOLUTION

# %% checks="max-pool"
check("max-pool")

# %% [markdown]
# Only the maximum of a window influences the output, so only the maximum receives the gradient.
# There can be several equal maxima: after a ReLU, many windows contain only zeros. If all four
# zeros of such a window received the gradient, their sum would be four times too large.
# Therefore, as in PyTorch, the *first* of several equal maxima, row by row, receives the whole
# gradient. When windows overlap, however, a number can be the maximum of several windows, and
# then receives the sum of their gradients.
#
# **Task.** Write `max_pool2d_gradient`.

# %% The gradient of max pooling exercise="max-pool-gradient"
#| export
def max_pool2d_gradient(g, out, x, kernel_size, stride, padding):
    """The gradient of the input of max_pool2d_forward.

    g        ndarray: the upstream gradient, of the shape of `out`; not changed
    out      the output
    x, kernel_size, stride, padding   the arguments of max_pool2d_forward
    returns  ndarray of the shape and dtype of `x`. Each window passes its gradient to its
             maximum; if there are several, to the first one, row by row. A number that is the
             maximum of several windows receives the sum

    >>> x = np.array([[[[5.0, 5.0, 2.0]]]])
    >>> max_pool2d_gradient(np.array([[[[1.0, 10.0]]]]), np.array([[[[5.0, 5.0]]]]), x,
    ...                     (1, 2), (1, 1), (0, 0))
    array([[[[ 1., 10.,  0.]]]])

    Source: torch.nn.functional.max_pool2d, which also chooses the first of equal maxima. """
    ### BEGIN SOLUTION
    size, x = out.shape[2:], pad_images(x, padding, np.nan)  # nan is equal to nothing
    gradient, free = np.zeros_like(x), np.ones(out.shape, bool)
    for i, j in kernel_positions(kernel_size):
        first = free & (patches(x, i, j, size, stride) == out)
        view = patches(gradient, i, j, size, stride)
        view += masked(g, first)
        free &= ~first
    return crop_padding(gradient, padding)
    ### END SOLUTION

# %%
#| exporti
derivative(max_pool2d_forward, prefer_2x2(max_pool2d_gradient))  # 2 by 2: faster, same numbers

# %% checks="max-pool-gradient"
check("max-pool-gradient")

# %% [markdown]
# ## Average pooling
#
# *Average pooling* is simpler, because every number of a window has the same influence. Its
# forward function is given. As in PyTorch, its padding counts as zeros.

# %%
#| exporti
def avg_pool2d_forward(x, kernel_size, stride, padding):
    """The mean of each window, for each channel separately; the padding counts as zeros."""
    size, x = output_shape(x.shape, kernel_size, stride, padding), pad_images(x, padding)
    out = patches(x, 0, 0, size, stride).copy(order="K")
    for i, j in kernel_positions(kernel_size)[1:]:
        out += patches(x, i, j, size, stride)
    out /= math.prod(kernel_size)
    return out

# %% [markdown]
# **Task.** Write `avg_pool2d_gradient`.

# %% The gradient of average pooling exercise="avg-pool-gradient"
#| export
def avg_pool2d_gradient(g, out, x, kernel_size, stride, padding):
    """The gradient of the input of avg_pool2d_forward.

    g        ndarray: the upstream gradient, of the shape of the output; not changed
    out      the output; not needed
    x, kernel_size, stride, padding   the arguments of avg_pool2d_forward
    returns  ndarray of the shape and dtype of `x`: every number receives its part of the
             gradient of each window that contains it

    >>> avg_pool2d_gradient(np.array([[[[4.0, 20.0]]]]), None, np.zeros((1, 1, 1, 3)),
    ...                     (1, 2), (1, 1), (0, 0))
    array([[[[ 2., 12., 10.]]]])

    Source: torch.nn.functional.avg_pool2d, with count_include_pad.
    """
    ### BEGIN SOLUTION
    gradient = np.zeros_like(pad_images(x, padding))
    for i, j in kernel_positions(kernel_size):
        view = patches(gradient, i, j, g.shape[2:], stride)
        view += g / math.prod(kernel_size)
    return crop_padding(gradient, padding)
    ### END SOLUTION

# %%
#| exporti
derivative(avg_pool2d_forward, avg_pool2d_gradient)

# %% checks="avg-pool-gradient"
check("avg-pool-gradient")

# %% [markdown]
# Predict the gradients of an image of 4 by 4 pixels for windows of 2 by 2, stride 1 and
# upstream gradients of 1.

# %% tags=["answer", "explained"]
print(avg_pool2d_gradient(np.ones((1, 1, 3, 3)), None, np.zeros((1, 1, 4, 4)), (2, 2), (1, 1),
                          (0, 0))[0, 0])

# %% [markdown]
# A pixel in the middle is in four windows and receives a quarter from each, in all 1.
#
# The functions and layers for users are given. If no stride is given, it is the size of the
# kernel, so that windows do not overlap. As in PyTorch, the padding is at most half of the
# kernel, so that every window contains a pixel.

# %%
#| export
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
    kernel_size, stride, padding   ints, or pairs (down, across); a stride of None means the
                                   kernel size

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

# %% [markdown]
# Here are the four feature maps of the house again, now with `conv2d`. The code takes their
# absolute values, so they are grey, and pooling reduces them from 48 by 48 to 12 by 12. Bright
# bars at the border are artefacts of the padding. Predict whether the edges of the house are
# still visible.

# %% tags=["answer"]
weights = Tensor(np.array(list(kernels.values()), "float32")[:, None])
maps = conv2d(Tensor(house()[None, None]), weights, padding=1)
pooled = max_pool2d(abs(maps), 4)
figure = draw_maps([house(), *pooled.data[0]], ["house", *kernels])
# alt: The house, and its four feature maps with 12 by 12 large pixels: level edges, upright
# edges, outlines and the blurred house, all in grey. Bright bars lie along the border.

# %% [markdown] page="What a network sees, and what it costs"
# ## Receptive field
#
# How much of an image can a number deep in a network depend on? The **receptive field** of a
# number in a network is the region of the input that it depends on. Below, layer 1 has a kernel
# of 3 and stride 2, layer 2 a kernel of 3 and stride 1:

# %%
draw_receptive_field([(3, 2), (3, 1)], number=0)
# alt: Nine pixels, four numbers of layer 1 and two of layer 2. Lines lead from one number of
# layer 2 to three of layer 1, two pixels apart, and from these to seven pixels.

# %% [markdown]
# The distance between two neighbouring numbers of a layer, in pixels, is the product of all
# strides up to this layer. A kernel of $k$ in the next layer covers $k$ neighbouring numbers of
# this layer. The first number sees this layer's field; each of the other $k - 1$ extends it by
# that distance.
#
# Write a layer as a pair (kernel_size, stride). Predict the size of the receptive field for
# five layers (3, 1). And for three layers (3, 1), each followed by pooling (2, 2)?
#
# **Task.** Write `receptive_field` for a list of such pairs.

# %% The receptive field exercise="receptive-field"
#| export
def receptive_field(layers):
    """The size of the receptive field of one number after a stack of layers, along one axis.

    layers   list of (kernel_size, stride), both along that axis, the first layer first; a layer
             is a convolution or pooling
    returns  an int: the number of pixels from the first to the last; 1 for no layers

    >>> receptive_field([(5, 1), (2, 2), (3, 1)])
    10

    Source: Araujo, Norris, Sim, Computing receptive fields (Distill, 2019), (2).
    """
    ### BEGIN SOLUTION
    field, distance = 1, 1
    for kernel_size, stride in layers:
        field += (kernel_size - 1) * distance
        distance *= stride
    return field
    ### END SOLUTION

# %% checks="receptive-field"
check("receptive-field")

# %% tags=["answer"]
print("3, 3, 3, 3, 3:", receptive_field([(3, 1)] * 5), " 3, pool 2, three times:",
      receptive_field([(3, 1), (2, 2)] * 3))

# %% [markdown]
# Backpropagation shows the receptive field directly: the gradient of one output number is
# nonzero at the pixels on which this number depends, and 0 at all others. In the next picture,
# all weights of a kernel are equal (average pooling is such a kernel). Predict whether all
# pixels of the receptive field have the same gradient.

# %% tags=["answer", "explained"]
stacks = {"one layer": [(3, 1)], "three layers": [(3, 1)] * 3,
          "with pooling": [(3, 1), (2, 2)] * 2 + [(3, 1)]}
fields, titles = [], []
for name, stack in stacks.items():
    x = y = Variable(np.zeros((1, 1, 41, 41), "float32"))
    for k, s in stack:
        y = conv2d(y, np.full((1, 1, k, k), 1 / k**2, "float32"), stride=s)
    middle = y.shape[2] // 2
    y[0, 0, middle, middle].backward()
    fields.append(x.grad[0, 0])
    titles.append(f"{name}: {receptive_field(stack)}")
figure = draw_maps(fields, titles)
# caption: Depth and pooling enlarge the part of the image that one number depends on.
# alt: Three black images with a bright square: 3 pixels across for one layer, 7 for three
# layers, 18 with pooling between them. The large squares are brightest in the middle.

# %% [markdown]
# The pixels in the middle have the largest gradient, because more paths lead through them.
#
# ## FLOPs
#
# The last question about a single layer is how much work it does. **FLOPs** are floating-point
# operations, the additions and multiplications that a computation needs; one multiply-add
# counts as two. Predict which layer needs more FLOPs: 8 kernels of 5 by 5 on 32 images of shape
# (1, 28, 28), or 16 kernels of 5 by 5 on 32 images of shape (8, 12, 12).
#
# **Task.** Write `conv2d_flops`. As in `conv2d`, `pair` converts stride and padding.

# %% The FLOPs of a convolution exercise="flops"
#| export
def conv2d_flops(images, weights, stride=1, padding=0):
    """The floating-point operations of the forward pass of a convolution, without the bias.

    images   shape (batch, channels, height, width)
    weights  shape (out channels, channels, kernel height, kernel width)
    stride, padding   ints, or pairs (down, across)
    returns  an int, in FLOPs: 2 for each product of a weight and a pixel (or padding), one
             multiplication and one addition

    >>> conv2d_flops((32, 1, 28, 28), (8, 1, 5, 5))
    7372800

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 9.2, has an example.
    """
    ### BEGIN SOLUTION
    size = output_shape(images, weights[2:], pair(stride), pair(padding, least=0))
    return 2 * images[0] * weights[0] * math.prod(size) * math.prod(weights[1:])
    ### END SOLUTION

# %% checks="flops"
check("flops")

# %% tags=["answer"]
for x_shape, w_shape in [((32, 1, 28, 28), (8, 1, 5, 5)), ((32, 8, 12, 12), (16, 8, 5, 5))]:
    print(x_shape, f"{conv2d_flops(x_shape, w_shape):,} FLOPs")

# %% [markdown]
# FLOPs are not the same as time. The code measures how many billion FLOPs per second (GFLOP/s)
# a large matrix product reaches, and some convolutions. Predict which convolutions come close
# to the matrix product: those with few channels or many, with small kernels or large?

# %% tags=["answer", "explained"]
matrix = rng.normal(size=(512, 512)).astype("float32")
print(f"matrix product: {2 * 512**3 / seconds(np.matmul, matrix, matrix) / 1e9:.1f} GFLOP/s")
for k in (1, 3, 5):
    for channels in (1, 8, 16):
        x = rng.normal(size=(4, channels, 12, 12)).astype("float32")
        w, b = rng.normal(size=(8, channels, k, k)).astype("float32"), np.zeros(8, "float32")
        flops = conv2d_flops(x.shape, w.shape)
        spent = seconds(conv2d_forward, x, w, b, (1, 1), (0, 0))
        print(f"{k} by {k}, {channels:2} channels: {flops:9,} FLOPs, "
              f"{spent * 1e6:4.0f} microseconds, {flops / spent / 1e9:4.1f} GFLOP/s")

# %% [markdown]
# The times differ far less than the FLOPs. Because part of the work of Python and NumPy does
# not depend on the size of the arrays, each call has a fixed cost, and convolutions with few
# channels and small kernels are slow per operation.
#
# ## Translation equivariance
#
# We return to the question at the beginning: finding a pattern wherever it is. **Translation
# equivariance** means that shifting the input shifts the output by the same amount.
# Convolutions with stride 1 use the same weights at all positions, so they have this property,
# except near the edges, as you saw with the shifted house. A pattern that is learned at one
# position is therefore detected at all others.
#
# Now we can do the experiment from the beginning of the chapter. Noisy images of 12 by 12
# pixels show a stroke of 5 pixels in one of four directions. In training, its left end is in
# column 0 or 1:

# %%
x, labels = strokes(960, first=0, last=1, seed=0)
eight = x[np.argsort(labels, kind="stable")[60::120], 0]  # two of each direction
figure = draw_maps([*np.maximum(eight, 0)], columns=4)
# alt: Eight noisy images of 12 by 12 pixels. Each shows one bright stroke in its left half: two
# each are level, upright, falling and rising.

# %% [markdown]
# A fully connected and a convolutional network are trained on such images. Both are tested with
# strokes in the left half and in the right half. Predict the four accuracies; 25 % is guessing.

# %% tags=["answer", "explained", "payoff"]
from tinytorch.core.layers import Dense, Flatten, Sequential, manual_seed
from tinytorch.core.losses import cross_entropy

manual_seed(1)
nets = {"fully connected": Sequential(Flatten(), Dense(144, 64), Tensor.relu, Dense(64, 4)),
        "convolutional": Sequential(Conv2d(1, 8, 5), Tensor.relu, MaxPool2d(8), Flatten(),
                                    Dense(8, 4))}
for name, net in nets.items():
    for step in range(100):
        batch = slice(32 * step % 960, 32 * step % 960 + 32)
        net.zero_grad()
        cross_entropy(net(Tensor(x[batch])), labels[batch]).backward()
        for p in net.parameters():
            p.data -= 0.6 * p.grad
    print(f"{name}, {sum(p.size for p in net.parameters()):,} parameters:")
    for half, first in [("left", 0), ("right", 6)]:
        test, answers = strokes(500, first, first + 1, seed=1)
        correct = np.asarray(net(Tensor(test))).argmax(axis=1) == answers
        print(f"  strokes in the {half} half: {correct.mean():.0%}")

# %% [markdown]
# The fully connected network has separate weights for the right half, and in training these
# weights only got noise, while the convolutional network applies its eight kernels everywhere.
# Max pooling over the whole map then keeps *whether* a stroke was found and discards *where*.
# Its few errors are rising strokes in the lower right corner, because their kernels look for
# the stroke in their upper left, and at the right edge no window can begin that far right. With
# two more columns of noise at the right, the network makes no errors. Several of its kernels
# look like a stroke: blue (positive) along a line, red (negative) beside it.

# %%
conv = nets["convolutional"][0]
figure = draw_maps([*conv.weights.data[:, 0]], columns=4)
# alt: Eight learned kernels of 5 by 5 in red and blue. Several show a blue line: level, upright
# or slanting, with red beside it.

# %% [markdown] question="mixed-pixels" points=4
# **Question.** The function `mixed` puts the 144 pixels of each image into another order. The
# order is random, but it is the same for all images:
#
# ```python
# order = np.random.default_rng(0).permutation(144)
# def mixed(x):
#     return x.reshape(len(x), 144)[:, order].reshape(x.shape)
# ```
#
# Mix the images for training and for testing. First predict how the accuracy of each network
# changes for strokes in the left half. Then repeat the section's experiment with mixed images.
#
# 1. Give your prediction, and the accuracies of both networks without and with mixing.
# 2. Explain the result of each network.
# 3. No pixel is lost by mixing. What does a convolution assume about images that is false for
#    mixed images? Name other data for which this assumption is false.
#
# **Your answer:**
#
# ### BEGIN SOLUTION
# Strokes in the left half: the fully connected network has 98 % without and 99 % with mixing.
# The convolutional network falls from 100 % to 45 %. (With other seeds and other orders: 97 to
# 99 %, and 42 to 48 %.)
#
# The fully connected network has separate weights for each pixel. If the rows of its first
# matrix are put into the same order as the pixels, it computes the same. Its initial weights
# are random, so no order is easier to learn than another one.
#
# A kernel sees windows of 5 by 5 pixels. Before mixing, all five pixels of a stroke are in one
# window, in the same arrangement at every position. After mixing, they are far apart, so no
# window contains the stroke. And a stroke that begins one pixel lower is a completely different
# arrangement, so sharing weights between positions does not help.
#
# A convolution assumes that pixels that are near each other belong together (*locality*), and
# that a pattern has the same meaning at every position. This is false for the columns of a
# table, such as age, height and income. Their order is arbitrary.
#
# - 1 point: a prediction and the measured accuracies: fully connected about the same, at least
#   95 %; convolutional 100 % and then below 60 %
# - 1 point: each pixel has its own weights in the fully connected network, so the order does
#   not matter
# - 1 point: after mixing, no window contains the stroke; or the same weights meet another
#   arrangement at each position
# - 1 point: locality or the same meaning at every position, and an example such as a table
# - -1 point: says that mixing destroys information
# ### END SOLUTION

# %% [markdown]
# ## Appendix: tiled convolution and freed memory
#
# `im2col` copies pixels that are adjacent in memory, one row of the output at a time. In the
# first layer, with images of 28 by 28 and kernels of 5 by 5, such a row has 24 pixels. Later
# layers have many channels and smaller images: for images of 12 by 12, the row has only 8
# pixels. Each row has its own overhead, so copying becomes slow.
#
# *Tiled convolution* uses another memory layout: channels *last*. In this layout, the 5 pixels
# of one row of a window, with all their channels, are adjacent: a *strip*. Only strips are
# copied. Each pixel is in 5 strips of its row, so it is copied 5 times instead of 25 times. One
# matrix product for each of the 5 rows of the kernel, added up, gives the output. The code is
# in `tinytorch/support/convolution.py`. Predict which method has the faster forward pass for 1,
# 8 and 16 channels.

# %% tags=["answer", "explained"]
for channels, size in [(1, 28), (8, 12), (16, 8)]:
    x = rng.normal(size=(4, channels, size, size)).astype("float32")
    w, b = rng.normal(size=(8, channels, 5, 5)).astype("float32"), np.zeros(8, "float32")
    spent = [1000 * seconds(method, x, w, b, (1, 1), (0, 0), times=20)
             for method in (im2col_forward, conv_tiled_forward)]
    print(f"{channels:2} channels: im2col {spent[0]:.3f} ms, tiled {spent[1]:.3f} ms")

# %% [markdown]
# Tiling is faster for about 8 channels or more, so `MANY_CHANNELS` is 8.
#
# Memory can be another cost. On Linux, the C library returns the memory of large arrays to the
# system, and requests it again, page by page. The call below tells the C library to keep the
# memory. In a small network this saved a third of the time.

# %%
#| exporti
keep_freed_memory()

# %% [markdown]
# ## Look back
#
# 1. Two layers with kernels of 3 by 3 have the same receptive field as one layer with 5 by 5.
#    For 16 channels in and out, count the weights and FLOPs of both and measure their time.
#    What else can the two layers have that the single one cannot?
# 2. The convolutional network of the experiment cannot say *where* a stroke is. Which layer
#    discarded that? Change it and the next layer, and train the network to distinguish left
#    from right.
# 3. For a kernel of 5 by 5, `col2im` adds 25 numbers for a pixel in the middle and one for a
#    corner. Propagate a gradient of ones back through `conv2d`, with and without padding. How
#    do the gradients of the image differ?
# 4. In PyTorch: `torch.nn.Conv2d`, `MaxPool2d`, `AvgPool2d`; `im2col` and `col2im` are
#    `torch.nn.functional.unfold` and `fold`; the gradients `torch.nn.grad.conv2d_weight` and
#    `conv2d_input`. PyTorch's `dilation=d` puts the weights of a kernel d pixels apart; your
#    functions do not have it. Which of your lines would it change?

# %% [markdown] tags=["answer"]
# 1. Two layers: 2 · 16 · 16 · 9 = 4,608 weights. One layer: 16 · 16 · 25 = 6,400. The FLOPs for
#    a pixel have the same ratio. The two can have an activation function between them.
# 3. A pixel gets the sum of the weights that have multiplied it: all 25 in the middle, one in a
#    corner. With a padding of 2, nine weights have multiplied the pixel in a corner.
