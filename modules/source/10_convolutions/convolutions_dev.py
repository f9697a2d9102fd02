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
#     title: Convolutions
# ---

# %% [markdown]
# # 10. Convolutions
#
# A dense layer asks every pixel about every output, and forgets which pixels were neighbours. But a
# cat is a cat in any corner. A convolution learns *one* small pattern and looks for it everywhere:
# far fewer numbers to learn, and what was learned in one place is known in all.
#
# **You need** 01 (Tensor), 03 (Layers), 04 (Losses) and 06 (Autograd). **You write** the convolution
# as loops, then as a matrix product thousands of times as fast, its way back, the layer `Conv2d`,
# pooling, and two sums that say what a stack of layers sees and costs.

# %%
#| default_exp core.convolutions
#| export
import math

import numpy as np

from tinytorch.core.autograd import derivative
from tinytorch.core.layers import Module, xavier_uniform
from tinytorch.core.losses import fractions
from tinytorch.core.tensor import Tensor, Variable, apply

# %% [markdown]
# ## A window that slides
#
# Lay a small grid of weights, the *kernel*, on a corner of the picture. Multiply each weight by the
# pixel under it and add up: one number of the result. Move the kernel by `stride` pixels, and again.
#
# Below is a picture of 7 pixels and a kernel of 3. Predict how many numbers come out, and where they
# are not 0. What would the kernel `[1, 1, 1]` find?

# %%
row, kernel = np.array([0, 0, 0, 5, 5, 5, 5]), np.array([-1, 0, 1])
print([int(row[start:start + 3] @ kernel) for start in range(7 - 3 + 1)])

# %% [markdown]
# Where the picture changes, the kernel notices. The result is shorter, because a window must lie
# inside. To keep the size, or to give the rim as much attention as the middle, people put a margin
# of zeros around the picture, the *padding*: so many on each side.
#
# **Task.** Write `output_size`. Count with your finger first: 7 pixels, a kernel of 3, stride 2; then
# 8 pixels. What happens to the last pixel of the 8?
#
# <details><summary>Hint 1</summary>A margin on both sides makes the row longer. By how much?</details>
# <details><summary>Hint 2</summary>The first window starts at 0. At which pixel can the last one
# start, at most? How many steps of <code>stride</code> fit between the two?</details>
# <details><summary>Hint 3</summary>Steps, rounded down, and one more for the first window. No window at
# all: say so, with the numbers put into the formula.</details>
# <details><summary>Hint 4</summary><code>(length + 2 * padding - kernel) // stride + 1</code>, and a
# <code>ValueError</code> if that is below 1.</details>

# %% nbgrader={"grade": false, "grade_id": "convolutions-size", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def output_size(length, kernel, stride=1, padding=0):
    """How many places a kernel of `kernel` numbers has on a row of `length` numbers.

    length   numbers in the row
    kernel   numbers in the kernel
    stride   how far the kernel moves from place to place, in numbers
    padding  how many zeros are put at each end of the row
    returns  an int, 1 or more

    Raises ValueError, with length, kernel and the formula filled in, when the kernel has no place at all.

    >>> output_size(7, kernel=3, stride=2, padding=1)
    4

    Source: Dumoulin and Visin, A guide to convolution arithmetic for deep learning (2016), relationship 6.
    """
    ### BEGIN SOLUTION
    size = (length + 2 * padding - kernel) // stride + 1
    if size < 1:
        raise ValueError(f"a kernel of {kernel} has no place on {length} numbers: "
                         f"({length} + 2 * {padding} - {kernel}) // {stride} + 1 = {size}")
    return size
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-size", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_sizes_counted_by_hand():
    for length, kernel, stride, padding, wanted in [(7, 3, 1, 0, 5), (7, 3, 2, 0, 3), (8, 3, 2, 0, 3), (5, 5, 1, 0, 1),
                                                    (5, 3, 1, 1, 5), (7, 3, 2, 1, 4), (4, 1, 3, 0, 2), (2, 5, 1, 2, 2)]:
        found = output_size(length, kernel, stride, padding)
        assert found == wanted, (
            f"{length} numbers, kernel {kernel}, stride {stride}, padding {padding}: {wanted} places, yours {found}. "
            "The first window starts at 0, a window that hangs over the end does not count, and padding is on both "
            "sides")
    assert output_size(9, 4) == 6, (
        f"without a word, stride is 1 and padding 0: 9 - 4 + 1 = 6, yours {output_size(9, 4)}")


def test_sizes_against_trying_every_place():
    for length in range(1, 9):
        for kernel in range(1, 7):
            for stride in range(1, 5):
                for padding in range(3):
                    wanted = len(range(0, length + 2 * padding - kernel + 1, stride))
                    if wanted:
                        found = output_size(length, kernel, stride, padding)
                        assert found == wanted, (
                            f"length {length}, kernel {kernel}, stride {stride}, padding {padding}: {wanted} windows "
                            f"lie inside, yours says {found}")


def test_a_kernel_without_a_place_is_refused():
    for length, kernel, stride, padding in [(4, 5, 1, 0), (4, 5, 3, 0), (2, 7, 2, 2), (3, 9, 1, 1)]:
        try:
            found = output_size(length, kernel, stride, padding)
        except ValueError as error:
            for number in (length, kernel, padding, stride):
                assert str(number) in str(error), f"the error should show the formula with its numbers, yours: {error}"
        else:
            assert False, (
                f"a kernel of {kernel} on {length} numbers with a margin of {padding}: yours says {found} places")
    assert output_size(5, 5) == 1, f"a kernel of 5 has one place on 5 numbers, yours says {output_size(5, 5)}"


test_sizes_counted_by_hand()
test_sizes_against_trying_every_place()
test_a_kernel_without_a_place_is_refused()

# %% [markdown]
# Pictures have two such sizes: rows come first, then columns, as in every shape here. Kernels,
# strides and paddings are pairs in the same order; who writes 3 means (3, 3). The small helpers are
# given. `places` goes through a kernel row by row, `padded` puts a margin around, `cropped` takes it off.

# %%
#| exporti
def pair(n, least=1):
    """(n, n) for a whole number, a pair as it is, down first. ValueError for all else, and below `least`."""
    both = tuple(n) if isinstance(n, (tuple, list)) else (n, n)
    if len(both) != 2 or any(not isinstance(k, (int, np.integer)) or k < least for k in both):
        raise ValueError(f"a whole number from {least} on is needed, or a pair (down, across) of them, not {n!r}")
    return int(both[0]), int(both[1])


def out_size(shape, kernel, stride=(1, 1), padding=(0, 0)):
    """(rows, columns) of the result, for images of `shape` (..., height, width)."""
    return tuple([output_size(*numbers) for numbers in zip(shape[-2:], kernel, stride, padding)])


def places(kernel):
    """Every (i, j) in a kernel of shape (down, across), row by row."""
    return [(i, j) for i in range(kernel[0]) for j in range(kernel[1])]


def padded(x, padding, value=0):
    """Images (..., height, width) with `padding` rows and columns of `value` on each side; `x` itself for (0, 0)."""
    (down, across), (height, width) = padding, x.shape[-2:]
    if down == across == 0:
        return x
    out = np.full((*x.shape[:-2], height + 2 * down, width + 2 * across), value, x.dtype)
    out[..., down:down + height, across:across + width] = x
    return out


def cropped(x, padding):
    """What is left of `x` when the margin that `padded` made is taken off. It shares memory with `x`."""
    (down, across), (height, width) = padding, x.shape[-2:]
    return x[..., down:height - down, across:width - across]

# %% [markdown]
# ## First as loops
#
# Real pictures come in batches, and have *channels*: red, green and blue, or, deeper in a network,
# one for each pattern that was looked for. A shape is (batch, channels, height, width). A kernel
# reaches through all channels at once, and a layer has many kernels, each with a bias of its own:
#
# $$y_{nopq} = b_o + \sum_{c,i,j} w_{ocij}\; x_{n,\,c,\,p s + i,\,q t + j}$$
#
# for strides $s$ down and $t$ across. Predict, for 32 images of (3, 28, 28) and 8 kernels of
# (3, 5, 5): how many numbers come out, and how many products are added up in each?
#
# **Task.** Write `conv2d_loops`, as slowly and as plainly as you like: it is there to be understood,
# and to check what comes later.
#
# <details><summary>Hint 1</summary>How many of the seven letters in the formula stand on its left? So
# many loops are needed. The others, NumPy can add up.</details>
# <details><summary>Hint 2</summary>With n, o, p, q fixed: which part of <code>x[n]</code> lies under the
# kernel? All channels, some rows, some columns.</details>
# <details><summary>Hint 3</summary>Rows <code>p * down</code> to <code>p * down + kernel rows</code>, where
# <code>down</code> is the first of the strides.</details>
# <details><summary>Hint 4</summary><code>(window * weights[o]).sum() + bias[o]</code>, written to
# <code>out[n, o, p, q]</code>; <code>np.ndindex(*shape)</code> runs through all four.</details>

# %% nbgrader={"grade": false, "grade_id": "convolutions-loops", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def conv2d_loops(x, weights, bias, stride=(1, 1)):
    """The convolution from its definition, one number of the result at a time. For tiny inputs.

    x        ndarray of shape (batch, channels, height, width); a margin, if any, is already there
    weights  ndarray of shape (out channels, channels, kernel height, kernel width)
    bias     ndarray of shape (out channels,)
    stride   (down, across)
    returns  ndarray of shape (batch, out channels, *out_size(...)), of the dtype of `x`

    >>> conv2d_loops(np.array([[[[1, 2, 3], [4, 5, 6]]]]), np.array([[[[1, 10]]]]), np.array([100]))
    array([[[[121, 132],
             [154, 165]]]])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 9.1, (9.6), as "cross-correlation".
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

# %% nbgrader={"grade": true, "grade_id": "check-loops", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_a_small_convolution_by_hand():
    x = np.array([[[[1, 2, 0, 4], [5, 6, 7, 8], [9, 1, 2, 3]]]], "float32")
    weights, bias = np.array([[[[1, 0], [-2, 3]]]], "float32"), np.array([100], "float32")
    out = conv2d_loops(x, weights, bias)
    wanted = [[[[1 - 10 + 18 + 100, 2 - 12 + 21 + 100, 0 - 14 + 24 + 100],
                [5 - 18 + 3 + 100, 6 - 2 + 6 + 100, 7 - 4 + 9 + 100]]]]
    assert out.shape == (1, 1, 2, 3), f"3 by 4 pixels under a kernel of 2 by 2 give 2 by 3 numbers, yours {out.shape}"
    assert np.allclose(out, wanted), (
        f"the picture {x[0, 0].tolist()} under [[1, 0], [-2, 3]], bias 100, gives {wanted}, yours {out.tolist()}. The "
        "kernel is laid on as it stands, not turned around, and the bias is added once")


def test_all_channels_are_added_up_for_each_kernel():
    random = np.random.default_rng(0)
    x, weights = random.normal(size=(2, 3, 5, 7)).astype("float32"), random.normal(size=(4, 3, 2, 4)).astype("float32")
    bias = np.array([10, -20, 0.5, 3], "float32")
    for stride in [(1, 1), (1, 3), (2, 1), (3, 2)]:
        windows = np.lib.stride_tricks.sliding_window_view(x, (2, 4), axis=(2, 3))[:, :, ::stride[0], ::stride[1]]
        wanted = np.einsum("ncpqij,ocij->nopq", windows, weights) + bias[:, None, None]
        out = conv2d_loops(x, weights, bias, stride)
        assert out.shape == wanted.shape, f"stride {stride}: the shape should be {wanted.shape}, yours {out.shape}"
        assert np.allclose(out, wanted, rtol=1e-4, atol=1e-4), (
            f"x (2, 3, 5, 7), weights (4, 3, 2, 4), stride {stride}: off by up to {abs(out - wanted).max():.3g}. "
            "Every kernel goes through all 3 channels; the first stride is for rows, the second for columns")
        assert out.dtype.name == "float32", f"float32 went in, {out.dtype} came out"


test_a_small_convolution_by_hand()
test_all_channels_are_added_up_for_each_kernel()

# %% [markdown]
# How slow is plain? Predict the time for 32 images of 28 by 28 and 8 kernels of 5 by 5. Only one image
# is timed here, not 32.

# %%
import time


def seconds(function, *inputs, times=5):
    """The least time in seconds that a call took."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        function(*inputs)
        found.append(time.perf_counter() - start)
    return min(found)


rng = np.random.default_rng(0)
images = rng.normal(size=(32, 1, 28, 28)).astype("float32")
kernels, no_bias = rng.normal(size=(8, 1, 5, 5)).astype("float32"), np.zeros(8, "float32")
slow = 32 * seconds(conv2d_loops, images[:1], kernels, no_bias, times=1)
print(f"32 images by loops: {slow * 1000:.0f} ms")

# %% [markdown]
# ## What one weight sees
#
# Turn the loops inside out. Not: which pixels does this window see? But: which pixels does *this
# weight* see, over all the windows? Weight (0, 0) sees the corner of each window: every `stride`-th
# pixel from the corner on. Weight (0, 1) sees the same, one column further. Each sees a picture of
# exactly the result's size, and NumPy has it without a loop, and without a copy: it is a slice.
#
# Predict for a kernel of 3 by 3 on a picture of 6 by 8 with stride 2: the slice for weight (1, 2).
#
# **Task.** Write `seen`. Everything that follows is built from it.
#
# <details><summary>Hint 1</summary>In the first row of windows, which row of the picture lies under
# kernel row i? And in the second row of windows?</details>
# <details><summary>Hint 2</summary><code>start:stop:step</code>. The start is i, the step is the stride.
# Where must it stop, so that exactly <code>size[0]</code> rows are taken, and not one more?</details>
# <details><summary>Hint 3</summary>The last row is <code>i + stride[0] * (size[0] - 1)</code>; a slice
# stops behind it.</details>

# %% nbgrader={"grade": false, "grade_id": "convolutions-seen", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% tags=["learner-side"]
def written_through(x, i, j, size, stride, number):
    """A copy of `x` after `number` was written over what `seen` returned for it."""
    x = x.copy()
    seen(x, i, j, size, stride)[...] = number
    return x

# %% nbgrader={"grade": true, "grade_id": "check-seen", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_each_window_gives_its_pixel():
    x = np.arange(2 * 3 * 7 * 9).reshape(2, 3, 7, 9)
    for kernel, stride in [((1, 1), (1, 1)), ((3, 2), (1, 1)), ((3, 2), (2, 3)), ((2, 5), (3, 1)), ((7, 9), (2, 2))]:
        size = (7 - kernel[0]) // stride[0] + 1, (9 - kernel[1]) // stride[1] + 1
        for i in range(kernel[0]):
            for j in range(kernel[1]):
                wanted = np.array([[x[:, :, p * stride[0] + i, q * stride[1] + j] for q in range(size[1])]
                                   for p in range(size[0])]).transpose(2, 3, 0, 1)
                found = seen(x, i, j, size, stride)
                assert found.shape == wanted.shape, (
                    f"x (2, 3, 7, 9), place ({i}, {j}), stride {stride}, windows {size}: the shape should be "
                    f"{wanted.shape}, yours is {found.shape}. A slice stops behind its last row, and windows that are "
                    "not there see nothing")
                assert np.array_equal(found, wanted), (
                    f"x (2, 3, 7, 9), place ({i}, {j}), stride {stride}, windows {size}: window (p, q) sees row p * "
                    f"{stride[0]} + {i} and column q * {stride[1]} + {j}; yours of image 0, channel 0 is {found[0, 0]}")


def test_axes_in_front_are_kept():
    for shape in [(5, 6), (4, 5, 6), (2, 1, 3, 5, 6)]:
        x = np.arange(math.prod(shape)).reshape(shape)
        found = seen(x, 1, 0, (2, 4), (2, 1))
        assert np.array_equal(found, x[..., [1, 3], :][..., [0, 1, 2, 3]]), (
            f"x {shape}, place (1, 0), stride (2, 1): rows 1 and 3, columns 0 to 3 of every picture; yours has shape "
            f"{found.shape}")


def test_what_is_seen_can_be_written():
    x = np.zeros((2, 5, 6), "float32")
    found = written_through(x, 1, 2, (2, 2), (2, 3), 7)
    wanted = np.zeros((2, 5, 6))
    for row, column in [(1, 2), (1, 5), (3, 2), (3, 5)]:
        wanted[:, row, column] = 7
    assert np.array_equal(found, wanted), (
        f"I wrote 7 into seen(x, 1, 2, (2, 2), (2, 3)), and x became {found[0]}: a slice shares memory with x, a copy "
        "does not")


test_each_window_gives_its_pixel()
test_axes_in_front_are_kept()
test_what_is_seen_can_be_written()

# %% nbgrader={"grade": true, "grade_id": "check-seen-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_pictures_are_seen():
    for shape, i, j, size, stride in [((11,) * 2, 4, 0, (2, 11), (6, 1)), ((3, 0, 8, 5), 2, 3, (3, 1), (2, 4)),
                                      ((1, 1, 9, 12), 0, 5, (9, 2), (1, 6)), ((2, 4, 4), 3, 3, (1, 1), (5, 5))]:
        x = np.random.default_rng(3).normal(size=shape)
        rows, columns = [i + stride[0] * p for p in range(size[0])], [j + stride[1] * q for q in range(size[1])]
        right = x[..., rows, :][..., columns]
        found = seen(stride=stride, size=size, j=j, i=i, x=x)
        assert found.shape == right.shape and np.array_equal(found, right), (
            f"{shape}, place ({i}, {j}), windows {size}, stride {stride}: rows {rows}, columns {columns} expected, "
            f"got {found}")
        after = written_through(x, i, j, size, stride, -2.5)
        assert (after == -2.5).sum() == right.size, (
            f"{shape}: {right.size} numbers should be written, {(after == -2.5).sum()} are")


test_other_pictures_are_seen()
### END HIDDEN TESTS

# %% [markdown]
# ## Then as a matrix product
#
# Processors are best at one thing: multiplying matrices. A convolution becomes one when every window
# is written out as a column, one row for each weight. A row is then what one weight sees: you have
# that already. With $K$ = channels times kernel height times kernel width, and $P$ windows:
#
# $$\underbrace{y}_{(out,\;P)} = \underbrace{W}_{(out,\;K)}\ \underbrace{\text{columns}}_{(K,\;P)}$$
#
# for each image. The name is `im2col`. Predict how many times each pixel is copied for a kernel of
# 5 by 5, and how large the columns of 32 images of 28 by 28 are.
#
# **Task.** Write `im2col`. Rows run in the order of the weights: channel by channel, in each of them
# row by row of the kernel. Columns run row by row of the result.
#
# <details><summary>Hint 1</summary>Make room for all of it first, with an axis for everything: image,
# channel, place down, place across, rows and columns of the result.</details>
# <details><summary>Hint 2</summary>Now <code>columns[:, :, i, j]</code> is what weight (i, j) sees, in all
# images and channels at once. Which order do the six axes have, so that the last step is one
# reshape?</details>
# <details><summary>Hint 3</summary><code>size = out_size(x.shape, kernel, stride, padding)</code>, then
# <code>x = padded(x, padding)</code>, <code>np.empty((n, c, *kernel, *size), x.dtype)</code>, and a loop over
# <code>places(kernel)</code>.</details>
# <details><summary>Hint 4</summary>At the end <code>columns.reshape(n, c * kernel[0] * kernel[1], size[0] *
# size[1])</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "convolutions-im2col", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def im2col(x, kernel, stride=(1, 1), padding=(0, 0)):
    """Every window of every image, written out as a column.

    x        ndarray of shape (batch, channels, height, width)
    kernel, stride, padding   pairs (down, across)
    returns  a new ndarray of shape (batch, channels * kernel height * kernel width, windows), of the dtype of `x`;
             zeros where a window hangs over the margin

    >>> im2col(np.array([[[[1, 2, 3], [4, 5, 6]]]]), kernel=(2, 2))
    array([[[1, 2],
            [2, 3],
            [4, 5],
            [5, 6]]])

    Source: Chellapilla, Puri, Simard, High performance convolutional neural networks (2006); PyTorch's unfold.
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

# %% nbgrader={"grade": true, "grade_id": "check-im2col", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_a_column_is_a_window_with_all_its_channels():
    x = np.arange(24).reshape(1, 2, 3, 4)
    found = im2col(x, (2, 2))
    assert found.shape == (1, 8, 6), (
        f"x (1, 2, 3, 4), kernel (2, 2): 2 * 2 * 2 weights and 2 * 3 windows, shape (1, 8, 6), yours {found.shape}")
    for window, wanted in [(0, [0, 1, 4, 5, 12, 13, 16, 17]), (1, [1, 2, 5, 6, 13, 14, 17, 18]),
                           (3, [4, 5, 8, 9, 16, 17, 20, 21])]:
        assert found[0, :, window].tolist() == wanted, (
            f"x = 0 ... 23 as (1, 2, 3, 4): window {window} holds {wanted}, first all of channel 0, then channel 1; "
            f"your column {window} is {found[0, :, window].tolist()}. A reshape keeps the order of the numbers, so the "
            "axes must stand in the right order before it")


def test_columns_for_any_stride_and_padding():
    random = np.random.default_rng(5)
    x = random.normal(size=(2, 3, 5, 8)).astype("float32")
    for kernel, stride, padding in [((3, 2), (1, 1), (0, 0)), ((2, 3), (2, 3), (0, 0)), ((3, 4), (1, 2), (2, 1)),
                                    ((5, 1), (3, 1), (0, 3)), ((1, 1), (1, 1), (1, 0))]:
        wide = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[:, :, ::stride[0], ::stride[1]]
        wanted = windows.transpose(0, 1, 4, 5, 2, 3).reshape(2, 3 * kernel[0] * kernel[1], -1)
        found = im2col(x, kernel, stride, padding)
        case = f"x (2, 3, 5, 8), kernel {kernel}, stride {stride}, padding {padding}"
        assert found.shape == wanted.shape, f"{case}: the shape should be {wanted.shape}, yours is {found.shape}"
        assert np.array_equal(found, wanted), (
            f"{case}: {(found != wanted).mean():.0%} of the numbers are not where they should be. Each pair is (down, "
            "across), the margin is of zeros and comes first")
        assert found.dtype.name == "float32", f"{case}: float32 went in, {found.dtype} came out"
    assert im2col(x[:0], (2, 2)).shape == (0, 12, 28), "no images: no columns, shape (0, 12, 28)"


test_a_column_is_a_window_with_all_its_channels()
test_columns_for_any_stride_and_padding()

# %% nbgrader={"grade": true, "grade_id": "check-im2col-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_im2col_of_other_images():
    random = np.random.default_rng(7)
    for shape, kernel, stride, padding, dtype in [((3, 1, 4, 9), (4, 3), (1, 2), (1, 2), "float64"),
                                                  ((1, 5, 6, 2), (1, 2), (4, 1), (0, 1), "float32"),
                                                  ((2, 4, 3, 3), (3, 3), (2, 2), (2, 0), "int64"),
                                                  ((4, 2, 1, 7), (1, 7), (1, 1), (0, 0), "float16")]:
        x = (random.normal(size=shape) * 50).astype(dtype)
        before = x.copy()
        found = im2col(padding=padding, stride=stride, kernel=kernel, x=x)
        wide = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
        rows = (wide.shape[2] - kernel[0]) // stride[0] + 1
        columns = (wide.shape[3] - kernel[1]) // stride[1] + 1
        right = np.stack([wide[:, :, p * stride[0]:p * stride[0] + kernel[0],
                               q * stride[1]:q * stride[1] + kernel[1]].reshape(shape[0], -1)
                          for p in range(rows) for q in range(columns)], axis=-1)
        assert found.shape == right.shape and np.array_equal(found, right) and found.dtype.name == dtype, (
            f"{dtype} {shape}, kernel {kernel}, stride {stride}, padding {padding}: {right} expected, got {found}")
        assert np.array_equal(x, before), "the images were changed"


test_im2col_of_other_images()
### END HIDDEN TESTS

# %%
columns = im2col(images, (5, 5))
print(f"{images.nbytes / 1e6:.1f} MB of images became {columns.nbytes / 1e6:.1f} MB of columns")

# %% [markdown]
# Now the product. NumPy's `@` does it for a whole batch: `(out, K) @ (batch, K, P)` is
# `(batch, out, P)`, image by image, and the columns of one image still fit into the processor's fast
# memory.
#
# **Task.** Write `columns_forward`.
#
# <details><summary>Hint 1</summary>The weights are a matrix already, if you look at them so: one row for
# each kernel. Which reshape says that?</details>
# <details><summary>Hint 2</summary>The product has shape (batch, out, P). There is one bias for each row of
# it. Which axis is missing so that it broadcasts?</details>
# <details><summary>Hint 3</summary><code>weights.reshape(len(weights), -1) @ im2col(...)</code>, plus
# <code>bias[:, None]</code>, and the last axis taken apart into rows and columns by
# <code>out_size</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "convolutions-forward", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def columns_forward(x, weights, bias, stride, padding):
    """The convolution as a matrix product of kernels and columns.

    x        ndarray of shape (batch, channels, height, width)
    weights  ndarray of shape (out channels, channels, kernel height, kernel width)
    bias     ndarray of shape (out channels,)
    stride, padding   pairs (down, across)
    returns  ndarray of shape (batch, out channels, *out_size(...)); no input is changed

    >>> columns_forward(np.ones((1, 1, 2, 3)), np.array([[[[1.0, 10.0]]]]), np.array([100.0]), (1, 1), (0, 1))
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

# %% nbgrader={"grade": true, "grade_id": "check-forward", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_the_product_agrees_with_the_definition():
    random = np.random.default_rng(11)
    for kernel, stride, padding in [((2, 4), (1, 1), (0, 0)), ((2, 4), (2, 1), (0, 0)), ((3, 1), (1, 3), (1, 2)),
                                    ((5, 7), (1, 1), (0, 0)), ((1, 1), (2, 2), (0, 1)), ((3, 3), (1, 1), (1, 1))]:
        x, weights = random.normal(size=(2, 3, 5, 7)), random.normal(size=(4, 3, *kernel))
        bias = np.array([10.0, -20.0, 0.5, 3.0])
        wide = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[:, :, ::stride[0], ::stride[1]]
        wanted = np.einsum("ncpqij,ocij->nopq", windows, weights) + bias[:, None, None]
        kept = x.copy(), weights.copy(), bias.copy()
        out = columns_forward(x, weights, bias, stride, padding)
        case = f"x (2, 3, 5, 7), weights {weights.shape}, stride {stride}, padding {padding}"
        assert out.shape == wanted.shape, (
            f"{case}: the shape should be {wanted.shape}, yours is {out.shape}. Is the margin there in the forward "
            "pass too?")
        assert np.allclose(out, wanted, rtol=1e-9, atol=1e-9), f"{case}: off by up to {abs(out - wanted).max():.3g}"
        assert all(np.array_equal(a, b) for a, b in zip((x, weights, bias), kept)), f"{case}: an input was changed"


def test_the_bias_is_added_once_to_each_map():
    x, weights, bias = np.ones((2, 1, 3, 4)), np.zeros((3, 1, 2, 2)), np.array([1.0, -2.0, 5.0])
    out = columns_forward(x, weights, bias, (1, 1), (0, 0))
    for o, wanted in enumerate(bias):
        assert np.array_equal(out[:, o], np.full((2, 2, 3), wanted)), (
            f"with weights of 0 map {o} is its bias, {wanted}, everywhere; yours is {out[:, o].ravel()}")


def test_the_convolution_of_narrow_numbers_stays_narrow():
    for dtype in ("float32", "float64"):
        x, weights, bias = np.ones((1, 2, 4, 4), dtype), np.ones((3, 2, 2, 2), dtype), np.ones(3, dtype)
        out = columns_forward(x, weights, bias, (1, 1), (1, 1))
        assert out.dtype.name == dtype, f"{dtype} went in, {out.dtype} came out"
        assert out.shape == (1, 3, 5, 5) and out[0, 2, 1, 1] == 9, f"8 ones and a bias of 1 are 9, yours {out[0, 2]}"


def test_no_images_give_no_maps():
    x, weights, bias = np.ones((0, 2, 4, 6), "float32"), np.ones((3, 2, 3, 3), "float32"), np.ones(3, "float32")
    out = columns_forward(x, weights, bias, (1, 2), (0, 1))
    assert out.shape == (0, 3, 2, 3), (
        f"no images (0, 2, 4, 6): an empty result of shape (0, 3, 2, 3), yours {out.shape}")


test_the_product_agrees_with_the_definition()
test_the_bias_is_added_once_to_each_map()
test_the_convolution_of_narrow_numbers_stays_narrow()
test_no_images_give_no_maps()

# %%
fast = seconds(columns_forward, images, kernels, no_bias, (1, 1), (0, 0))
print(f"32 images as a matrix product: {fast * 1000:.2f} ms, {slow / fast:.0f} times as fast as the loops")

# %% [markdown]
# ## The way back
#
# `im2col` copies each pixel into up to 25 columns. On the way back, the slopes for all those copies
# belong to one pixel again. Predict what it receives: one of them, their mean, their sum?
#
# Take a row of 3 pixels and a kernel of 2: two windows. If each of the four places in the columns has
# slope 1, what is the slope for the pixel in the middle?
#
# **Task.** Write `col2im`, which undoes the *copying* of `im2col`. It is `im2col` read from below.
#
# <details><summary>Hint 1</summary>Copying forward is adding backward. Start from a picture of zeros, with
# its margin. What does weight (i, j) add to, and what?</details>
# <details><summary>Hint 2</summary>Give the columns their six axes back by one reshape. The rest is the
# same loop, with the two sides of the <code>=</code> exchanged, and no <code>=</code>.</details>
# <details><summary>Hint 3</summary><code>spot = seen(x, i, j, size, stride)</code>, and then <code>spot +=
# columns[:, :, i, j]</code>: it is a view, so this writes into x.</details>
# <details><summary>Hint 4</summary>The picture begins as <code>np.zeros</code> of height + 2 * padding[0] and
# width + 2 * padding[1]. Nobody asked for the slopes of the margin: <code>cropped</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "convolutions-col2im", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "check-col2im", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_what_overlaps_is_added_up():
    found = col2im(np.ones((1, 2, 2)), (1, 1, 1, 3), (1, 2))
    assert np.array_equal(np.ravel(found), [1, 2, 1]), (
        "3 pixels, kernel 2, all slopes 1: the middle pixel is in two windows, so [1, 2, 1]; yours "
        f"{np.ravel(found)}. Add, do not assign")
    found = col2im(np.ones((1, 9, 9)), (1, 1, 5, 5), (3, 3))
    wanted = np.outer([1, 2, 3, 2, 1], [1, 2, 3, 2, 1])
    assert np.array_equal(found[0, 0], wanted), (
        "5 by 5 pixels under 3 by 3: the pixel in the middle is in 9 windows, a corner in "
        f"one:\n{wanted}\nyours\n{found[0, 0]}")


def test_col2im_is_im2col_read_backward():
    random = np.random.default_rng(13)
    for shape, kernel, stride, padding in [((2, 3, 5, 8), (3, 2), (1, 1), (0, 0)),
                                           ((2, 3, 5, 8), (2, 3), (2, 3), (0, 0)),
                                           ((1, 2, 4, 6), (3, 4), (1, 2), (2, 1)),
                                           ((2, 1, 7, 3), (2, 1), (3, 2), (0, 1))]:
        places_of = np.arange(1, 1 + np.prod(shape)).reshape(shape)
        wide = np.pad(places_of, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[:, :, ::stride[0], ::stride[1]]
        came_from = windows.transpose(0, 1, 4, 5, 2, 3).reshape(shape[0], shape[1] * kernel[0] * kernel[1], -1)
        columns = random.normal(size=came_from.shape)
        kept = columns.copy()
        wanted = np.bincount(came_from.ravel(), columns.ravel(), 1 + np.prod(shape))[1:].reshape(shape)
        found = col2im(columns, shape, kernel, stride, padding)
        case = f"images {shape}, kernel {kernel}, stride {stride}, padding {padding}"
        assert found.shape == shape, f"{case}: the result has the shape of the images, yours {found.shape}"
        assert np.allclose(found, wanted, rtol=1e-9, atol=1e-9), (
            f"{case}: off by up to {abs(found - wanted).max():.3g}. Each place of the columns goes back to the pixel "
            "it was copied from; what came from the margin goes nowhere")
        assert np.array_equal(columns, kept), f"{case}: the columns were changed"


def test_pixels_that_no_window_reached_get_nothing():
    found = col2im(np.ones((1, 1, 6), "float32"), (1, 1, 3, 5), (1, 1), (2, 2))
    wanted = np.zeros((3, 5))
    wanted[::2, ::2] = 1
    assert np.array_equal(found[0, 0], wanted), (
        f"kernel 1, stride 2: every second pixel is seen,\n{wanted}\nyours\n{found[0, 0]}")
    assert found.dtype.name == "float32", f"float32 columns give float32 slopes, yours are {found.dtype}"


def test_no_columns_at_all():
    found = col2im(np.ones((0, 8, 6)), (0, 2, 3, 4), (2, 2))
    assert found.shape == (0, 2, 3, 4), f"an empty batch comes back as (0, 2, 3, 4), yours {found.shape}"


test_what_overlaps_is_added_up()
test_col2im_is_im2col_read_backward()
test_pixels_that_no_window_reached_get_nothing()
test_no_columns_at_all()

# %% nbgrader={"grade": true, "grade_id": "check-col2im-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_col2im_for_other_images():
    random = np.random.default_rng(17)
    for shape, kernel, stride, padding in [((3, 2, 6, 5), (4, 5), (1, 1), (1, 3)),
                                           ((1, 4, 9, 7), (2, 2), (4, 3), (0, 0)),
                                           ((2, 1, 1, 6), (1, 6), (1, 1), (0, 2)),
                                           ((2, 3, 4, 4), (3, 3), (2, 1), (2, 2))]:
        rows = (shape[2] + 2 * padding[0] - kernel[0]) // stride[0] + 1
        across = (shape[3] + 2 * padding[1] - kernel[1]) // stride[1] + 1
        columns = random.normal(size=(shape[0], shape[1] * kernel[0] * kernel[1], rows * across)).astype("float32")
        right = np.zeros((*shape[:2], shape[2] + 2 * padding[0], shape[3] + 2 * padding[1]))
        for w in range(rows * across):
            p, q = w // across * stride[0], w % across * stride[1]
            right[:, :, p:p + kernel[0], q:q + kernel[1]] += columns[:, :, w].reshape(*shape[:2], *kernel)
        right = right[:, :, padding[0]:padding[0] + shape[2], padding[1]:padding[1] + shape[3]]
        found = col2im(padding=padding, stride=stride, kernel=kernel, shape=shape, columns=columns)
        assert found.shape == shape and found.dtype.name == "float32", f"{shape}: got {found.dtype} {found.shape}"
        assert np.allclose(found, right, rtol=1e-5, atol=1e-5), (
            f"{shape}, kernel {kernel}, stride {stride}, padding {padding}: {right} expected, got {found}")


test_col2im_for_other_images()
### END HIDDEN TESTS

# %% [markdown]
# The convolution is $y = W \cdot \text{columns} + b$ for each image, and lesson 06 knows how a slope $g$
# goes back through a matrix product: $g \cdot \text{columns}^\top$ for $W$, $W^\top g$ for the columns.
# The kernels are the same for all images, so their slopes are added up over the batch.
#
# One choice is left: keep the columns from the forward pass, or make them again? They are 25 times as
# large as the images. To make them again takes a tenth of the whole step, so that is what we do.
#
# **Task.** Write both rules, as `derivative` wants them: $g$, the result, the inputs, and the options
# by name. First `columns_to_weights`.
#
# <details><summary>Hint 1</summary><code>flat(g)</code>, given below, has shape (batch, out, P); the columns
# (batch, K, P). Which of them must be turned, so that the product is (batch, out, K)?</details>
# <details><summary>Hint 2</summary><code>swapaxes(1, 2)</code>. Then the sum over the images, and the shape of
# the weights.</details>
# <details><summary>Hint 3</summary><code>(flat(g) @ im2col(x, weights.shape[2:], stride, padding).swapaxes(1,
# 2)).sum(axis=0)</code></details>

# %%
#| exporti
def flat(g):
    """Maps of shape (batch, out, rows, columns) as (batch, out, windows)."""
    return g.reshape(*g.shape[:2], g.shape[2] * g.shape[3])

# %% nbgrader={"grade": false, "grade_id": "convolutions-to-weights", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def columns_to_weights(g, out, x, weights, bias, stride, padding):
    """The gradient for the weights of a convolution.

    g        ndarray: the gradient of the result, of its shape (batch, out channels, rows, columns)
    out      the result
    x, weights, bias, stride, padding   what columns_forward was called with
    returns  ndarray of the shape of `weights`

    >>> x, weights, g = np.array([[[[1.0, 2.0, 3.0]]]]), np.zeros((1, 1, 1, 2)), np.array([[[[1.0, 10.0]]]])
    >>> columns_to_weights(g, None, x, weights, None, (1, 1), (0, 0))
    array([[[[21., 32.]]]])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 9.5, (9.11).
    """
    ### BEGIN SOLUTION
    columns = im2col(x, weights.shape[2:], stride, padding)
    return (flat(g) @ columns.swapaxes(1, 2)).sum(axis=0).reshape(weights.shape)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-to-weights", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def test_slopes_of_the_weights_by_their_definition():
    random = np.random.default_rng(19)
    for kernel, stride, padding in [((2, 4), (1, 1), (0, 0)), ((2, 3), (2, 1), (0, 0)), ((3, 1), (1, 3), (1, 2)),
                                    ((1, 1), (2, 2), (0, 1))]:
        x, weights = random.normal(size=(2, 3, 5, 7)), random.normal(size=(4, 3, *kernel))
        wide = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[:, :, ::stride[0], ::stride[1]]
        g = random.normal(size=(2, 4, *windows.shape[2:4]))
        kept = g.copy(), x.copy()
        wanted = np.einsum("ncpqij,nopq->ocij", windows, g)
        found = columns_to_weights(g, g * 0 + 7, x, weights, np.zeros(4), stride, padding)
        case = f"x (2, 3, 5, 7), weights {weights.shape}, stride {stride}, padding {padding}"
        assert found.shape == weights.shape, f"{case}: the slopes have the shape of the weights, yours {found.shape}"
        assert np.allclose(found, wanted, rtol=1e-9, atol=1e-9), (
            f"{case}: off by up to {abs(found - wanted).max():.3g}. Each weight gets the sum over all images and "
            "windows of g times the pixel under it")
        assert np.array_equal(g, kept[0]) and np.array_equal(x, kept[1]), f"{case}: an input was changed"


def test_slopes_of_the_weights_stay_narrow():
    x, weights, g = np.ones((3, 1, 4, 5), "float32"), np.ones((2, 1, 2, 2), "float32"), np.ones((3, 2, 3, 4), "float32")
    found = columns_to_weights(g, None, x, weights, None, (1, 1), (0, 0))
    assert found.dtype.name == "float32", f"all is float32, the slopes came out as {found.dtype}"
    assert np.array_equal(found, np.full((2, 1, 2, 2), 36)), (
        f"3 images of 12 windows, all numbers 1: each weight has slope 36, yours {found.ravel()}: sum over the batch, "
        "no mean")


test_slopes_of_the_weights_by_their_definition()
test_slopes_of_the_weights_stay_narrow()

# %% [markdown]
# **Task.** Now `columns_to_input`: the slopes for the columns, and then for the pixels they came from.
#
# <details><summary>Hint 1</summary>The matrix of weights is (out, K). Turned, it takes (batch, out, P) to
# (batch, K, P).</details>
# <details><summary>Hint 2</summary>Which function of yours makes pictures of columns? Its <code>shape</code> is
# that of <code>x</code>, before any margin.</details>
# <details><summary>Hint 3</summary><code>weights.reshape(len(weights), -1).T @ flat(g)</code></details>

# %% nbgrader={"grade": false, "grade_id": "convolutions-to-input", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def columns_to_input(g, out, x, weights, bias, stride, padding):
    """The gradient for the images that went into a convolution.

    g        ndarray: the gradient of the result, of its shape (batch, out channels, rows, columns)
    out      the result
    x, weights, bias, stride, padding   what columns_forward was called with
    returns  ndarray of the shape of `x`

    >>> x, weights, g = np.zeros((1, 1, 1, 3)), np.array([[[[1.0, 2.0]]]]), np.array([[[[1.0, 10.0]]]])
    >>> columns_to_input(g, None, x, weights, None, (1, 1), (0, 0))
    array([[[[ 1., 12., 20.]]]])

    Source: Dumoulin and Visin, A guide to convolution arithmetic for deep learning (2016), chapter 4.
    """
    ### BEGIN SOLUTION
    columns = weights.reshape(len(weights), -1).T @ flat(g)
    return col2im(columns, x.shape, weights.shape[2:], stride, padding)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-to-input", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def test_slopes_of_the_pixels_by_their_definition():
    random = np.random.default_rng(23)
    for kernel, stride, padding in [((2, 4), (1, 1), (0, 0)), ((2, 3), (2, 1), (0, 0)), ((3, 1), (1, 3), (1, 2)),
                                    ((1, 1), (2, 2), (0, 1))]:
        x, weights = random.normal(size=(2, 3, 5, 7)), random.normal(size=(4, 3, *kernel))
        rows, across = [(n + 2 * p - k) // s + 1 for n, p, k, s in zip((5, 7), padding, kernel, stride)]
        g = random.normal(size=(2, 4, rows, across))
        kept = g.copy(), weights.copy()
        wanted = np.zeros((2, 3, 5 + 2 * padding[0], 7 + 2 * padding[1]))
        for p in range(rows):
            for q in range(across):
                a, b = p * stride[0], q * stride[1]
                wanted[:, :, a:a + kernel[0], b:b + kernel[1]] += np.tensordot(g[:, :, p, q], weights, 1)
        wanted = wanted[:, :, padding[0]:padding[0] + 5, padding[1]:padding[1] + 7]
        found = columns_to_input(g, g * 0 + 7, x, weights, np.zeros(4), stride, padding)
        case = f"x (2, 3, 5, 7), weights {weights.shape}, stride {stride}, padding {padding}"
        assert found.shape == x.shape, (
            f"{case}: the slopes have the shape of x, yours {found.shape}: is the margin cropped?")
        assert np.allclose(found, wanted, rtol=1e-9, atol=1e-9), (
            f"{case}: off by up to {abs(found - wanted).max():.3g}. A pixel gets, from each window that holds it, the "
            "weight that lay on it times g, summed over all kernels")
        assert np.array_equal(g, kept[0]) and np.array_equal(weights, kept[1]), f"{case}: an input was changed"


def test_slopes_of_the_pixels_stay_narrow():
    x, weights, g = np.ones((3, 2, 4, 5), "float32"), np.ones((6, 2, 1, 1), "float32"), np.ones((3, 6, 4, 5), "float32")
    found = columns_to_input(g, None, x, weights, None, (1, 1), (0, 0))
    assert found.dtype.name == "float32", f"all is float32, the slopes came out as {found.dtype}"
    assert np.array_equal(found, np.full((3, 2, 4, 5), 6)), "6 kernels of one weight 1: each pixel has slope 6"


test_slopes_of_the_pixels_by_their_definition()
test_slopes_of_the_pixels_stay_narrow()

# %% [markdown]
# ## Fewer copies
#
# With one channel, a slice of `im2col` is copied in runs of 24 pixels that lie side by side in memory.
# Deeper in a network there are many channels and small pictures: runs of 8, each with its own
# overhead, and `col2im` adds in runs of 8. There, another layout is better: channels *last*, and
# copied only across. What 5 pixels of one row hold, in all their channels, is one run: a *strip*.
#
# A window is then a strip from each of 5 rows that lie below each other. Rows need no copy: kernel row
# $i$ sees the slice of strips that starts at row $i$, and the result is a sum of 5 matrix products.
# Each pixel is copied 5 times, not 25.
#
# The code is given. It does what yours does, number for number; read it with your own beside it.

# %%
#| exporti
def rows_first(x):
    """Images (batch, channels, height, width) as (height, batch, width, channels), in that order in memory too."""
    return np.ascontiguousarray(x.transpose(2, 0, 3, 1))


def rows_last(x):
    """The reverse of `rows_first`, without a copy."""
    return x.transpose(1, 3, 0, 2)


def strips(x, across, stride):
    """What `across` neighbours in a row hold: shape (height, batch, windows in a row, across * channels)."""
    x = rows_first(x)
    height, n, width, c = x.shape
    down, image, step, _ = x.strides
    # The neighbours of a pixel lie behind it in memory, so each strip is a run; strips overlap until the copy.
    shape = height, n, output_size(width, across, stride), across * c
    return np.lib.stride_tricks.as_strided(x, shape, (down, image, step * stride, x.itemsize), writeable=False).copy()


def below(rows, i, count, stride):
    """Every `stride`-th of `rows`, `count` of them, from row i on: what kernel row i sees."""
    return rows[i:i + stride * (count - 1) + 1:stride]


def by_rows(weights):
    """Weights of shape (out, channels, down, across) as (down, across * channels, out)."""
    o, c, down, across = weights.shape
    return weights.transpose(2, 3, 1, 0).reshape(down, across * c, o)

# %%
#| exporti
def strips_forward(x, weights, bias, stride, padding):
    """The same as columns_forward."""
    size, kernels = out_size(x.shape, weights.shape[2:], stride, padding), by_rows(weights)
    row_strips = strips(padded(x, padding), weights.shape[3], stride[1])
    out = np.empty((size[0] * len(x) * size[1], len(weights)), np.result_type(x, weights))
    out[...] = bias
    for i, kernel in enumerate(kernels):
        out += below(row_strips, i, size[0], stride[0]).reshape(len(out), len(kernel)) @ kernel
    return rows_last(out.reshape(size[0], len(x), size[1], len(weights)))


def strips_to_weights(g, out, x, weights, bias, stride, padding):
    """The same as columns_to_weights."""
    o, c, down, across = weights.shape
    row_strips, rows = strips(padded(x, padding), across, stride[1]), g.shape[2]
    g = rows_first(g).reshape(-1, o)
    slopes = [below(row_strips, i, rows, stride[0]).reshape(len(g), across * c).T @ g for i in range(down)]
    return np.stack(slopes).reshape(down, across, c, o).transpose(3, 2, 0, 1)


def strips_to_input(g, out, x, weights, bias, stride, padding):
    """The same as columns_to_input."""
    n, c, height, width = x.shape
    height, width, kernels = height + 2 * padding[0], width + 2 * padding[1], by_rows(weights)
    _, o, rows, windows = g.shape
    g = rows_first(g).reshape(-1, o)
    row_strips = np.zeros((height, n, windows, kernels.shape[1]), g.dtype)
    for i, kernel in enumerate(kernels):
        spot = below(row_strips, i, rows, stride[0])
        spot += (g @ kernel.T).reshape(spot.shape)
    x = np.zeros((height, n, width * c), g.dtype)
    for q in range(windows):
        start = q * stride[1] * c
        x[:, :, start:start + kernels.shape[1]] += row_strips[:, :, q]
    return cropped(rows_last(x.reshape(height, n, width, c)), padding)

# %% [markdown]
# Forward function and rules stand side by side, and the number of channels chooses between the two
# ways. A rule is called only when its input wants a gradient: for the first layer, whose input is the
# picture itself, nobody works out what the pixels should have been.

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

# %% [markdown]
# Predict for 1, 8 and 32 channels which of the two is faster, there and back together.

# %%
for channels in (1, 8, 32):
    x = rng.normal(size=(32, channels, 12, 12)).astype("float32")
    w, b = rng.normal(size=(16, channels, 5, 5)).astype("float32"), np.zeros(16, "float32")
    g = rng.normal(size=(32, 16, 8, 8)).astype("float32")
    spent = []
    for ways in [(columns_forward, columns_to_weights, columns_to_input),
                 (strips_forward, strips_to_weights, strips_to_input)]:
        note = (x, w, b, (1, 1), (0, 0))
        spent.append(seconds(ways[0], *note) + sum(seconds(rule, g, None, *note) for rule in ways[1:]))
    print(f"{channels:2} channels: columns {spent[0] * 1000:5.2f} ms, strips {spent[1] * 1000:5.2f} ms")

# %% [markdown]
# One more thing costs time and cannot be seen in any formula: memory. On Linux, what a large array
# held goes back to the system when it is freed, and each page of the next array, 4 kB, must be asked
# for again. A small network spent half of its time on that. One line cures it: the allocator keeps
# what is smaller than the largest block it has seen freed.

# %%
#| exporti
np.empty(31 << 20, np.uint8)  # never touched, freed at once; from 32 MB on, glibc would learn nothing from it

# %% [markdown]
# ## The door
#
# `conv2d` is what people call, with tensors, ints for pairs, and mistakes. Two are common: the
# channels of the picture and of the kernels differ, and the kernel is larger than the picture. NumPy
# would complain about matrices that nobody has ever seen. `misfit` is given: it makes the error with
# both shapes and the formula.

# %%
#| exporti
def misfit(images, weights, why):
    """The error to raise when images and weights, or a kernel, of these shapes do not go together."""
    return ValueError(f"images of shape {tuple(images)} do not go with {weights}: {why}. Images are (batch, channels, "
                      "height, width); the result has (size + 2 * padding - kernel) // stride + 1 rows, and columns "
                      "likewise")

# %% [markdown]
# **Task.** Write the rest of `conv2d`: three things to refuse, one thing to fill in, and the call.
#
# <details><summary>Hint 1</summary>Four axes, both times. Which axis of the images must equal which axis of the
# weights? And who raises when a kernel has no place?</details>
# <details><summary>Hint 2</summary>The error of <code>output_size</code> tells of numbers only. Catch it, and
# <code>raise misfit(x.shape, ..., error) from None</code>.</details>
# <details><summary>Hint 3</summary>No bias is a bias of zeros, one for each kernel, in the dtype of the weights:
# a plain array, which learns nothing.</details>
# <details><summary>Hint 4</summary><code>apply(conv2d_forward, x, weights, bias, stride=stride,
# padding=padding)</code></details>

# %% nbgrader={"grade": false, "grade_id": "convolutions-conv2d", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def conv2d(x, weights, bias=None, stride=1, padding=0):
    """Lay each kernel on every place of every image, and add up the products.

    x        Tensor, array or lists of shape (batch, channels, height, width); whole numbers become float32
    weights  Tensor of shape (out channels, channels, kernel height, kernel width)
    bias     Tensor of shape (out channels,), or None
    stride, padding   ints, or pairs (down, across)
    returns  Tensor of shape (batch, out channels, rows, columns), see `output_size`

    Raises ValueError, by `misfit`, with both shapes and the formula, when x or weights have not four axes, when their
    channels differ, and when a kernel has no place on the images.

    >>> conv2d(Tensor([[[[1, 2, 3]]]]), Tensor([[[[1, 10]]]]), padding=(0, 1))
    Tensor([[[[10., 21., 32.,  3.]]]])

    Source: torch.nn.functional.conv2d.
    """
    x, weights = fractions(x), fractions(weights)
    stride, padding = pair(stride), pair(padding, least=0)
    if bias is not None and np.shape(bias) != weights.shape[:1]:
        raise ValueError(f"weights of shape {weights.shape} need a bias of shape {weights.shape[:1]}, "
                         f"not {np.shape(bias)}")
    ### BEGIN SOLUTION
    if x.ndim != 4 or weights.ndim != 4:
        raise misfit(x.shape, f"weights of shape {weights.shape}", "both need four axes")
    if x.shape[1] != weights.shape[1]:
        raise misfit(x.shape, f"weights of shape {weights.shape}",
                     f"the images have {x.shape[1]} channels, the kernels take {weights.shape[1]}")
    try:
        out_size(x.shape, weights.shape[2:], stride, padding)
    except ValueError as error:
        raise misfit(x.shape, f"weights of shape {weights.shape}", error) from None
    bias = np.zeros(len(weights), weights.dtype) if bias is None else bias
    return apply(conv2d_forward, x, weights, bias, stride=stride, padding=padding)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-conv2d", "locked": true, "points": 7, "schema_version": 3, "solution": false, "task": false}
def test_conv2d_by_its_definition():
    random = np.random.default_rng(29)
    for channels, kernel, stride, padding in [(3, (2, 4), 1, 0), (3, 3, 2, (1, 2)), (9, (3, 2), (2, 1), 1),
                                              (12, 1, (1, 3), (0, 2))]:
        pairs = [(n, n) if isinstance(n, int) else n for n in (kernel, stride, padding)]
        x, weights = random.normal(size=(2, channels, 5, 7)), random.normal(size=(4, channels, *pairs[0]))
        bias = np.array([10.0, -20.0, 0.5, 3.0])
        wide = np.pad(x, ((0, 0), (0, 0), (pairs[2][0],) * 2, (pairs[2][1],) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(wide, pairs[0], axis=(2, 3))
        windows = windows[:, :, ::pairs[1][0], ::pairs[1][1]]
        products = np.einsum("ncpqij,ocij->nopq", windows, weights)
        for given, wanted in [(Tensor(bias), products + bias[:, None, None]), (None, products)]:
            out = conv2d(Tensor(x), Tensor(weights), given, stride, padding)
            case = f"x {x.shape}, weights {weights.shape}, stride {stride}, padding {padding}"
            case += ", no bias" if given is None else f", bias {bias}"
            assert out.shape == wanted.shape, f"{case}: the shape should be {wanted.shape}, yours is {out.shape}"
            assert np.allclose(out.data, wanted, rtol=1e-9, atol=1e-9), (
                f"{case}: off by up to {abs(out.data - wanted).max():.3g}")


def test_conv2d_can_be_walked_back():
    random = np.random.default_rng(31)
    for channels, stride, padding in [(2, (1, 1), (0, 0)), (2, (2, 1), (1, 2)), (8, (1, 2), (0, 1)),
                                      (9, (2, 3), (2, 0))]:
        arrays = [random.normal(size=shape) for shape in [(2, channels, 5, 6), (3, channels, 2, 3), (3,)]]
        leaves = [Variable(array) for array in arrays]
        out = conv2d(*leaves, stride, padding)
        case = f"{channels} channels, stride {stride}, padding {padding}"
        assert out.requires_grad, (
            f"{case}: the inputs want gradients and the result lost them: call apply, with tensors")
        g = random.normal(size=out.shape)
        out.backward(g)
        for name, leaf, n in zip(("x", "weights", "bias"), leaves, range(3)):
            nudge = random.normal(size=arrays[n].shape)
            ends = [conv2d(*[Tensor(a + step * nudge if m == n else a) for m, a in enumerate(arrays)], stride, padding)
                    for step in (-1e-3, 1e-3)]
            wanted = ((np.asarray(ends[1]) - np.asarray(ends[0])) * g).sum() / 2e-3  # exact: all is linear
            found = (leaf.grad * nudge).sum()
            assert leaf.grad.shape == arrays[n].shape, f"{case}: the gradient of {name} has shape {leaf.grad.shape}"
            assert abs(found - wanted) < 1e-7, (
                f"{case}: nudging {name} moves the sum by {wanted:.6f}, your slopes say {found:.6f}")


def test_no_bias_is_no_leaf():
    x, weights = Variable(np.ones((1, 1, 3, 3))), Variable(np.full((2, 1, 2, 2), 3.0))
    out = conv2d(x, weights)
    assert np.array_equal(out.data, np.full((1, 2, 2, 2), 12)), (
        f"4 ones times 3 are 12 without a bias, yours {out.data.ravel()}")
    out.backward(np.ones((1, 2, 2, 2)))
    assert np.array_equal(weights.grad, np.full((2, 1, 2, 2), 4)), (
        f"each weight has slope 4, yours {weights.grad.ravel()}")


def test_a_single_zero_bias_learns():
    bias = Variable([0.0])
    out = conv2d(Tensor(np.ones((1, 1, 3, 3), "float32")), Tensor(np.ones((1, 1, 2, 2), "float32")), bias)
    assert out.requires_grad, (
        "one kernel with a bias of 0: it was left out and can never learn. Ask `bias is None`, not `if bias`")


def test_images_that_do_not_fit_are_refused():
    for images, kernels, padding in [((2, 3, 8, 9), (4, 5, 3, 2), 0), ((2, 3, 8, 9), (4, 1, 3, 2), 0),
                                     ((8, 9), (4, 1, 3, 2), 0),
                                     ((5, 3, 9), (4, 3, 3, 2), 0), ((2, 3, 8, 9), (3, 3, 2), 0),
                                     ((2, 3, 4, 9), (4, 3, 7, 2), 1),
                                     ((2, 3, 8, 2), (4, 3, 3, 6), (4, 1))]:
        try:
            out = conv2d(Tensor(np.ones(images, "float32")), Tensor(np.ones(kernels, "float32")), padding=padding)
        except ValueError as error:
            assert str(images) in str(error) and str(kernels) in str(error), (
                f"the error should name both shapes, {images} and {kernels}, yours: {error}")
            assert "// stride + 1" in str(error), (
                f"the error should show the formula of the size: use misfit; yours: {error}")
        else:
            assert False, (
                f"images {images} with weights {kernels}, padding {padding}: should be refused, yours is {out.shape}")


def test_images_come_in_any_form():
    weights = Tensor(np.ones((1, 2, 2, 2), "float32"))
    for name, x in [("a uint8 array", np.full((1, 2, 2, 3), 200, "uint8")), ("lists", [[[[200] * 3] * 2] * 2]),
                    ("an int64 Tensor", Tensor(np.full((1, 2, 2, 3), 200)))]:
        out = conv2d(x, weights)
        assert np.array_equal(out.data, np.full((1, 1, 1, 2), 1600)), (
            f"8 pixels of 200 as {name} make 1600, yours {out.data}")
        assert out.dtype.name == "float32", f"pixels as {name} become float32, yours {out.dtype}"


def test_conv2d_keeps_its_dtype():
    for channels in (2, 9):
        for dtype in ("float32", "float64"):
            leaves = [Variable(np.ones(shape, dtype)) for shape in [(2, channels, 4, 5), (3, channels, 2, 2), (3,)]]
            out = conv2d(*leaves)
            assert out.dtype.name == dtype, f"{channels} channels, {dtype}: the result is {out.dtype}"
            out.backward(np.ones(out.shape))
            assert [leaf.grad.dtype.name for leaf in leaves] == [dtype] * 3, (
                f"{channels} channels: gradients of {dtype} expected")
    out = conv2d(Tensor(np.ones((1, 1, 3, 3), "float32")), Tensor(np.ones((1, 1, 2, 2), "float32")))
    assert out.dtype.name == "float32", (
        f"no bias must not widen float32 to {out.dtype}: make it in the dtype of the weights")


test_conv2d_by_its_definition()
test_conv2d_can_be_walked_back()
test_no_bias_is_no_leaf()
test_a_single_zero_bias_learns()
test_images_that_do_not_fit_are_refused()
test_images_come_in_any_form()
test_conv2d_keeps_its_dtype()

# %% nbgrader={"grade": true, "grade_id": "check-conv2d-hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_convolutions():
    random = np.random.default_rng(37)
    for shape, out_channels, kernel, stride, padding in [((1, 1, 6, 9), 5, (6, 9), 2, 0),
                                                         ((3, 8, 4, 7), 1, (1, 3), (3, 2), (2, 0)),
                                                         ((2, 16, 7, 5), 3, (5, 2), (1, 4), (1, 3)),
                                                         ((2, 7, 3, 3), 2, (2, 2), 1, 2)]:
        x, bias = random.normal(size=shape), random.normal(size=out_channels)
        weights = random.normal(size=(out_channels, shape[1], *kernel))
        strides, margin = [(n, n) if isinstance(n, int) else n for n in (stride, padding)]
        wide = np.pad(x, ((0, 0), (0, 0), (margin[0],) * 2, (margin[1],) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[:, :, ::strides[0], ::strides[1]]
        right = np.einsum("ncpqij,ocij->nopq", windows, weights) + bias[:, None, None]
        leaves = [Variable(array) for array in (x, weights, bias)]
        out = conv2d(padding=padding, stride=stride, bias=leaves[2], weights=leaves[1], x=leaves[0])
        case = f"x {shape}, weights {weights.shape}, stride {stride}, padding {padding}"
        assert out.shape == right.shape and np.allclose(out.data, right, rtol=1e-9, atol=1e-9), (
            f"{case}: {right} expected, got {out}")
        g = random.normal(size=right.shape)
        out.backward(g)
        to_bias, to_weights = g.sum(axis=(0, 2, 3)), np.einsum("ncpqij,nopq->ocij", windows, g)
        to_x = np.zeros(wide.shape)
        for p, q in np.ndindex(*right.shape[2:]):
            a, b = p * strides[0], q * strides[1]
            to_x[:, :, a:a + kernel[0], b:b + kernel[1]] += np.tensordot(g[:, :, p, q], weights, 1)
        to_x = to_x[:, :, margin[0]:margin[0] + shape[2], margin[1]:margin[1] + shape[3]]
        for name, leaf, wanted in zip(("x", "weights", "bias"), leaves, (to_x, to_weights, to_bias)):
            assert leaf.grad.shape == wanted.shape and np.allclose(leaf.grad, wanted, rtol=1e-9, atol=1e-9), (
                f"{case}: the gradient of {name} should be {wanted}, got {leaf.grad}")


def test_other_misfits():
    for images, kernels, stride, padding in [((2, 4, 5, 6), (3, 2, 2, 2), 1, 0), ((1, 1, 2, 9), (1, 1, 5, 1), 2, 1),
                                             ((5,), (1, 1, 1, 1), 1, 0),
                                             ((1, 1, 1, 3, 3), (1, 1, 2, 2), 1, 0),
                                             ((2, 9, 3, 3), (4, 9, 1, 8), 1, (5, 2))]:
        try:
            out = conv2d(np.ones(images, "float32"), Tensor(np.ones(kernels, "float32")), None, stride, padding)
        except ValueError as error:
            assert str(images) in str(error) and str(kernels) in str(error) and "// stride + 1" in str(error), (
                f"{images} with {kernels}: both shapes and the formula expected, the error is {error}")
        else:
            assert False, (
                f"{images} with {kernels}, stride {stride}, padding {padding}: ValueError expected, got {out.shape}")


test_other_convolutions()
test_other_misfits()
### END HIDDEN TESTS

# %%
try:
    conv2d(Tensor(images), Tensor(rng.normal(size=(8, 3, 5, 5)).astype("float32")))
except ValueError as error:
    print(error)

# %% [markdown]
# ## The layer
#
# A layer is a function with its numbers. How large should they be on the first day? Lesson 03 counted
# for each output how many inputs it weighs, `fan_in`, and for each input to how many outputs it goes,
# `fan_out`. Predict both for `Conv2d(3, 8, 5)` before you look into a hint.
#
# **Task.** Write the rest of `Conv2d.__init__`: two attributes.
#
# <details><summary>Hint 1</summary>One number of the result weighs all the pixels of one window, through all
# channels. How many?</details>
# <details><summary>Hint 2</summary>One pixel lies in as many windows as the kernel has places (the stride left
# aside), and each window goes to every output channel.</details>
# <details><summary>Hint 3</summary><code>init(fan_in, fan_out, rng, shape)</code>: the shape of the weights is that
# of <code>conv2d</code>. The bias as in <code>Dense</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "convolutions-layer", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
class Conv2d(Module):
    """A layer that lays `out_channels` kernels on every place of its images.

    in_channels   of the images that come in
    out_channels  of those that go out: one for each kernel
    kernel_size, stride, padding   ints, or pairs (down, across)
    bias          whether a number is added to each output channel
    init          draws the first weights, as init(fan_in, fan_out, rng, shape): xavier_uniform, he_normal, ...
    rng           a NumPy Generator, a seed, or None for the generator of lesson 03

    .weights      Variable of shape (out_channels, in_channels, kernel height, kernel width); also named .weight
    .bias         Variable of shape (out_channels,), zeros at first; or None

    >>> Conv2d(3, 8, kernel_size=(5, 3), padding=(2, 1))(Tensor(np.ones((10, 3, 6, 7)))).shape
    (10, 8, 6, 7)

    Source: torch.nn.Conv2d, but for the way its weights start.
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, bias=True, init=xavier_uniform,
                 rng=None):
        if in_channels < 1 or out_channels < 1:
            raise ValueError(f"Conv2d needs 1 channel or more on both sides, not {in_channels} and {out_channels}")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.padding = pair(kernel_size), pair(stride), pair(padding, least=0)
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

# %% nbgrader={"grade": true, "grade_id": "check-layer", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_a_convolution_has_two_parameters():
    layer = Conv2d(3, 5, (2, 4))
    found = [(name, tuple(tensor.shape), tensor.dtype.name) for name, tensor in layer.named_parameters()]
    wanted = [("weights", (5, 3, 2, 4), "float32"), ("bias", (5,), "float32")]
    assert found == wanted, (
        f"Conv2d(3, 5, (2, 4)) learns {wanted}, yours {found}: are both Variables, in this order of axes?")
    assert np.array_equal(np.asarray(layer.bias), np.zeros(5)), f"the bias starts at 0, yours at {layer.bias}"
    alone = Conv2d(3, 5, (2, 4), bias=False)
    assert alone.bias is None and len(alone.parameters()) == 1, f"bias=False: the bias is None, yours {alone.bias}"


def test_first_weights_have_the_variance_of_their_fans():
    for into, out, kernel in [(3, 64, (5, 7)), (40, 2, (3, 5)), (16, 24, (4, 4))]:
        w = np.asarray(Conv2d(into, out, kernel, rng=3).weights)
        area = kernel[0] * kernel[1]
        wanted, found = 2 / (into * area + out * area), float(np.var(w, dtype="float64"))
        assert abs(found / wanted - 1) < 0.08, (
            f"Conv2d({into}, {out}, {kernel}): fan_in is {into} * {area}, fan_out {out} * {area}, so Xavier's "
            f"variance is {wanted:.6f}; yours is {found:.6f}, {found / wanted:.2f} times as much. Count the places of "
            "the kernel, too")


def test_init_and_rng_are_used():
    told = []

    def init(fan_in, fan_out, rng, shape):
        told.append((fan_in, fan_out, rng, shape))
        return np.full(shape, 0.5, "float32")

    layer = Conv2d(3, 5, (2, 4), init=init, rng=7)
    assert told == [(24, 40, 7, (5, 3, 2, 4))], (
        f"Conv2d(3, 5, (2, 4), rng=7) should call init(24, 40, 7, (5, 3, 2, 4)), yours calls with {told}: 3 * 2 * 4 "
        "numbers go into each output, each input goes to 5 * 2 * 4")
    assert np.array_equal(np.asarray(layer.weights), np.full((5, 3, 2, 4), 0.5)), (
        "the weights should be what init returned")
    first, again, other = [np.asarray(Conv2d(2, 3, 3, rng=seed).weights) for seed in (5, 5, 6)]
    assert np.array_equal(first, again) and not np.array_equal(first, other), (
        "the seed decides the weights: hand rng to init")


def test_the_layer_computes_with_its_numbers():
    layer = Conv2d(1, 2, (2, 1), stride=(1, 2), padding=(0, 1))
    layer.load_state_dict({"weights": [[[[1], [-2]]], [[[0], [3]]]], "bias": [10, -20]})
    out = layer(Tensor([[[[1, 2, 3, 4], [5, 7, 9, 6]]]]))
    wanted = [[[[10, -2, 2]], [[-20, 1, -2]]]]
    assert np.array_equal(out.data, wanted), (
        f"columns 0, 2 and 4 of 0 1 2 3 4 0 / 0 5 7 9 6 0 under [1, -2] and [0, 3], bias 10 and -20, give {wanted}, "
        f"yours {out.data.tolist()}")
    out.sum().backward()
    assert layer.weights.grad is not None and layer.bias.grad is not None, (
        "weights and bias want gradients and got none")


test_a_convolution_has_two_parameters()
test_first_weights_have_the_variance_of_their_fans()
test_init_and_rng_are_used()
test_the_layer_computes_with_its_numbers()

# %% nbgrader={"grade": true, "grade_id": "check-layer-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_layers():
    random = np.random.default_rng(41)
    for into, out, kernel, stride, padding, bias in [(1, 1, 1, 1, 0, True), (9, 4, (1, 3), 2, (0, 1), True),
                                                     (2, 6, (3, 2), (1, 2), 1, False)]:
        layer = Conv2d(in_channels=into, out_channels=out, kernel_size=kernel, stride=stride, padding=padding,
                       bias=bias, rng=11)
        kernel, stride, padding = [(n, n) if isinstance(n, int) else n for n in (kernel, stride, padding)]
        w, b = np.asarray(layer.weights), np.zeros(out) if layer.bias is None else np.arange(out) - 1.5
        if bias:
            layer.bias = Variable(b.astype("float32"))
        a = math.sqrt(6 / ((into + out) * kernel[0] * kernel[1]))
        assert w.shape == (out, into, *kernel) and np.abs(w).max() <= a * 1.000001, f"Xavier's limit is {a}, got {w}"
        x = random.normal(size=(2, into, 4, 5)).astype("float32")
        wide = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[:, :, ::stride[0], ::stride[1]]
        right = np.einsum("ncpqij,ocij->nopq", windows, w) + b[:, None, None]
        found = layer(Tensor(x))
        assert found.shape == right.shape and found.requires_grad, (
            f"{right.shape} with a gradient expected, got {found}")
        assert np.allclose(found.data, right, rtol=1e-5, atol=1e-5), (
            f"Conv2d({into}, {out}, {kernel}, {stride}, {padding}): {right} expected, got {found}")
    for sizes in [(0, 3), (3, 0)]:
        try:
            layer = Conv2d(*sizes, 3)
        except ValueError:
            continue
        assert False, f"Conv2d{sizes}: ValueError expected"


test_other_layers()
### END HIDDEN TESTS

# %% [markdown]
# ## Pooling
#
# Where exactly the pattern was found matters less and less as one goes deeper. Pooling keeps one
# number of each window and throws the rest away: the largest ("is it anywhere here?") or the mean
# ("how much of it is here?"). No weights, and each channel by itself. Windows of 2 by 2 with stride 2
# leave a quarter of the numbers.
#
# A margin must never win a maximum. Predict what a margin of zeros would do to a picture whose
# numbers are all negative. So here the margin is of $-\infty$.
#
# **Task.** Write `max_pool2d_forward`. You have everything; no window needs to be written out.
#
# <details><summary>Hint 1</summary>The maximum over a window is the maximum over the places of the kernel, of what
# each place sees.</details>
# <details><summary>Hint 2</summary><code>np.maximum</code> takes two arrays. Start with what place (0, 0) sees, and
# go through the <code>places</code>.</details>
# <details><summary>Hint 3</summary>What <code>seen</code> gives is part of x. Before you write into it, with
# <code>out=</code>, make a copy; <code>copy(order="K")</code> keeps the layout in memory.</details>

# %% nbgrader={"grade": false, "grade_id": "convolutions-max", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def max_pool2d_forward(x, kernel, stride, padding):
    """The largest number in each window, in each channel by itself.

    x        ndarray of fractions, of shape (batch, channels, height, width); not changed
    kernel, stride, padding   pairs (down, across); the margin is of -inf
    returns  a new ndarray of shape (batch, channels, *out_size(...)), of the dtype of `x`

    >>> max_pool2d_forward(np.array([[[[1.0, 5.0, 2.0], [-7.0, 0.0, 3.0]]]]), (2, 2), (1, 1), (0, 0))
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

# %% tags=["learner-side"]
def pooled_after_writing(x, kernel, number):
    """max_pool2d_forward(x, ...), read after `number` was written over `x`."""
    x = x.copy()
    found = max_pool2d_forward(x, kernel, (1, 1), (0, 0))
    x[...] = number
    return found

# %% nbgrader={"grade": true, "grade_id": "check-max", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_the_largest_of_each_window():
    random = np.random.default_rng(43)
    for kernel, stride, padding in [((2, 2), (2, 2), (0, 0)), ((2, 3), (1, 2), (0, 0)), ((3, 2), (2, 1), (1, 1)),
                                    ((4, 1), (3, 3), (2, 0)), ((1, 1), (2, 1), (0, 0))]:
        x = random.normal(size=(2, 3, 6, 9)).astype("float32") - 5
        kept = x.copy()
        wide = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2), constant_values=-1e30)
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[:, :, ::stride[0], ::stride[1]]
        wanted = windows.max(axis=(4, 5))
        found = max_pool2d_forward(x, kernel, stride, padding)
        case = f"x (2, 3, 6, 9) of numbers around -5, kernel {kernel}, stride {stride}, padding {padding}"
        assert found.shape == wanted.shape, f"{case}: the shape should be {wanted.shape}, yours is {found.shape}"
        assert np.array_equal(found, wanted), (
            f"{case}: {(found != wanted).mean():.0%} of the numbers are no maximum of their window; your largest is "
            f"{found.max():.3g}. Does a 0 of the margin win?")
        assert found.dtype.name == "float32", f"{case}: float32 went in, {found.dtype} came out"
        assert np.array_equal(x, kept), f"{case}: x was changed; copy before you write"


def test_the_result_is_a_new_array():
    x = np.arange(12.0).reshape(1, 1, 3, 4)
    for kernel, wanted in [((1, 1), x), ((2, 1), x[:, :, 1:])]:
        found = pooled_after_writing(x, kernel, -100.0)
        assert np.array_equal(found, wanted), (
            f"kernel {kernel}: I wrote -100 into x afterwards, and the result became {found.ravel()}")


def test_nan_is_not_hidden():
    x = np.array([[[[1.0, np.nan, 2.0, 3.0]]]])
    found = max_pool2d_forward(x, (1, 2), (1, 2), (0, 0))
    assert np.isnan(found[0, 0, 0, 0]) and found[0, 0, 0, 1] == 3, (
        f"the largest of 1 and nan is nan, as NumPy has it; yours {found}")


test_the_largest_of_each_window()
test_the_result_is_a_new_array()
test_nan_is_not_hidden()

# %% [markdown]
# And back? Only the largest number of a window moved the result, so it alone gets the slope. Behind a
# relu many windows hold nothing but zeros. Predict what happens to the sum of all slopes if all four
# zeros of such a window get the slope.
#
# The rule is PyTorch's: of several equal numbers the first one gets it all, row by row of the window.
# And windows may overlap: a number that is the largest in three windows gets three slopes.
#
# **Task.** Write `max_pool2d_rule`.
#
# <details><summary>Hint 1</summary>Again one round for each place of the kernel. At place (i, j): in which windows
# is what it sees equal to <code>out</code>, the maximum?</details>
# <details><summary>Hint 2</summary>Keep a mask of windows that have not given their slope away: all true at first.
# A window gives it away once.</details>
# <details><summary>Hint 3</summary>As in <code>col2im</code>: zeros with a margin, <code>spot = seen(...)</code>, add,
# and crop at the end. The pictures to compare with have a margin too, of -inf.</details>
# <details><summary>Hint 4</summary><code>here = free & (seen(x, i, j, size, stride) == out)</code>, then <code>spot +=
# here * g</code>, then <code>free &= ~here</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "convolutions-max-rule", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def max_pool2d_rule(g, out, x, kernel, stride, padding):
    """The gradient for the images that went into max_pool2d_forward.

    g        ndarray: the gradient of the result, of its shape; not changed
    out      the result
    x, kernel, stride, padding   what max_pool2d_forward was called with
    returns  ndarray of the shape and dtype of `x`: each window gives its slope to its largest number, to the first one,
             row by row, of several; what several windows give to one number is added up

    >>> x = np.array([[[[5.0, 5.0, 2.0]]]])
    >>> max_pool2d_rule(np.array([[[[1.0, 10.0]]]]), np.array([[[[5.0, 5.0]]]]), x, (1, 2), (1, 1), (0, 0))
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

# %% nbgrader={"grade": true, "grade_id": "check-max-rule", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_the_largest_gets_the_slope():
    x = np.zeros((1, 1, 4, 4))
    x[0, 0, 1::2, 1::2] = [[1, 2], [3, 4]]
    g, out = np.array([[[[10.0, 20.0], [30.0, 40.0]]]]), np.array([[[[1.0, 2.0], [3.0, 4.0]]]])
    found = max_pool2d_rule(g, out, x, (2, 2), (2, 2), (0, 0))
    wanted = np.zeros((4, 4))
    wanted[1::2, 1::2] = [[10, 20], [30, 40]]
    assert np.array_equal(found[0, 0], wanted), (
        "the largest number stands in the lower right corner of each of four windows, and gets the slope of its own "
        f"window:\n{wanted}\nyours\n{found[0, 0]}")


def test_of_equals_only_the_first_gets_it():
    for window, wanted in [([[0, 0], [0, 0]], [[7, 0], [0, 0]]), ([[1, 3], [3, 3]], [[0, 7], [0, 0]]),
                           ([[1, 2], [3, 3]], [[0, 0], [7, 0]]), ([[0, 1], [1, 0]], [[0, 7], [0, 0]])]:
        x = np.array(window, "float32").reshape(1, 1, 2, 2)
        found = max_pool2d_rule(np.full((1, 1, 1, 1), 7, "float32"), x.max().reshape(1, 1, 1, 1), x, (2, 2), (2, 2),
                                (0, 0))
        assert found.sum() == 7, (
            f"window {window}, slope 7: what arrives adds up to 7, yours to {found.sum()}: {found[0, 0].tolist()}")
        assert found[0, 0].tolist() == wanted, (
            f"window {window}, slope 7: the first of the largest, row by row, gets it, {wanted}; yours "
            f"{found[0, 0].tolist()}")


def test_overlapping_windows_add_up():
    x = np.array([[[[1.0, 9.0, 2.0, 3.0]]]])
    found = max_pool2d_rule(np.array([[[[1.0, 10.0, 100.0]]]]), np.array([[[[9.0, 9.0, 3.0]]]]), x, (1, 2), (1, 1),
                            (0, 0))
    assert found.ravel().tolist() == [0, 11, 0, 100], (
        "1 9 2 3 in windows of two: 9 is the largest of two windows, slopes 1 and 10; [0, 11, 0, 100], yours "
        f"{found.ravel()}")


def test_slopes_of_pooling_window_by_window():
    random = np.random.default_rng(47)
    for kernel, stride, padding in [((2, 2), (2, 2), (0, 0)), ((2, 3), (1, 2), (0, 0)), ((3, 2), (2, 1), (1, 1)),
                                    ((4, 1), (3, 3), (2, 0))]:
        x = random.integers(-5, 0, (2, 3, 6, 9)).astype("float32")
        wide = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2), constant_values=-1e30)
        windows = np.lib.stride_tricks.sliding_window_view(wide, kernel, axis=(2, 3))[:, :, ::stride[0], ::stride[1]]
        out = windows.max(axis=(4, 5))
        first = windows.reshape(*out.shape, -1).argmax(axis=-1)
        g = random.normal(size=out.shape).astype("float32")
        wanted = np.zeros(wide.shape)
        for n, c, p, q in np.ndindex(*out.shape):
            i, j = divmod(int(first[n, c, p, q]), kernel[1])
            wanted[n, c, p * stride[0] + i, q * stride[1] + j] += g[n, c, p, q]
        wanted = wanted[:, :, padding[0]:padding[0] + 6, padding[1]:padding[1] + 9]
        kept = g.copy(), out.copy(), x.copy()
        found = max_pool2d_rule(g, out, x, kernel, stride, padding)
        case = f"x (2, 3, 6, 9) of -5 ... -1, kernel {kernel}, stride {stride}, padding {padding}"
        assert found.shape == x.shape, f"{case}: the slopes have the shape of x, yours {found.shape}"
        assert np.allclose(found, wanted, rtol=1e-5, atol=1e-5), f"{case}: off by up to {abs(found - wanted).max():.3g}"
        assert found.dtype.name == "float32", f"{case}: float32 slopes expected, yours are {found.dtype}"
        assert all(np.array_equal(a, b) for a, b in zip((g, out, x), kept)), f"{case}: an input was changed"


def test_pooling_is_known_to_the_walk():
    x = Variable(np.array([[[[1.0, 5.0, 2.0, 8.0]]]], "float32"))
    apply(max_pool2d_forward, x, kernel=(1, 2), stride=(1, 2), padding=(0, 0)).backward(np.array([[[[3.0, -2.0]]]]))
    assert np.array_equal(x.grad, [[[[0, 3, 0, -2]]]]), f"1 5 | 2 8 with slopes 3 and -2: 0 3 0 -2, yours {x.grad}"


test_the_largest_gets_the_slope()
test_of_equals_only_the_first_gets_it()
test_overlapping_windows_add_up()
test_slopes_of_pooling_window_by_window()
test_pooling_is_known_to_the_walk()

# %% nbgrader={"grade": true, "grade_id": "check-max-rule-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_slopes_of_other_pools():
    random = np.random.default_rng(53)
    for shape, kernel, stride, padding in [((1, 2, 5, 7), (3, 3), (1, 1), (1, 0)),
                                           ((3, 1, 8, 4), (2, 4), (3, 1), (1, 2)),
                                           ((2, 2, 3, 3), (1, 1), (2, 2), (0, 0))]:
        x = random.integers(0, 3, shape).astype("float64") - 7
        filled = np.full((*shape[:2], shape[2] + 2 * padding[0], shape[3] + 2 * padding[1]), -np.inf)
        filled[:, :, padding[0]:padding[0] + shape[2], padding[1]:padding[1] + shape[3]] = x
        rows, across = [(n - k) // s + 1 for n, k, s in zip(filled.shape[2:], kernel, stride)]
        out, wanted = np.zeros((*shape[:2], rows, across)), np.zeros(filled.shape)
        g = random.normal(size=out.shape)
        for n, c, p, q in np.ndindex(*out.shape):
            a, b = p * stride[0], q * stride[1]
            window = filled[n, c, a:a + kernel[0], b:b + kernel[1]]
            out[n, c, p, q] = window.max()
            i, j = np.argwhere(window == window.max())[0]
            wanted[n, c, a + i, b + j] += g[n, c, p, q]
        wanted = wanted[:, :, padding[0]:padding[0] + shape[2], padding[1]:padding[1] + shape[3]]
        case = f"x {shape}, kernel {kernel}, stride {stride}, padding {padding}"
        found = max_pool2d_forward(x, kernel, stride, padding)
        assert np.array_equal(found, out), f"{case}: the maxima are {out}, got {found}"
        leaf = Variable(x)
        apply(max_pool2d_forward, leaf, kernel=kernel, stride=stride, padding=padding).backward(g)
        assert leaf.grad.shape == shape and np.allclose(leaf.grad, wanted, rtol=1e-9, atol=1e-9), (
            f"{case}: {wanted} expected, got {leaf.grad}")


test_slopes_of_other_pools()
### END HIDDEN TESTS

# %% [markdown]
# The mean is easier: every place of the window has the same share in it. Its forward function is
# given; here the margin counts as zeros, as in PyTorch. Predict what one number of a picture gets when
# windows of 2 by 2 move by 1 and all slopes are 1.

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
#
# <details><summary>Hint 1</summary>If one number of a window of 6 grows by 1, by how much does the mean
# grow?</details>
# <details><summary>Hint 2</summary>The rule of the maximum, without its mask.</details>
# <details><summary>Hint 3</summary>The zeros to add to have the margin, too: <code>np.zeros_like(padded(x,
# padding))</code>. And <code>cropped</code> at the end.</details>

# %% nbgrader={"grade": false, "grade_id": "convolutions-avg-rule", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def avg_pool2d_rule(g, out, x, kernel, stride, padding):
    """The gradient for the images that went into avg_pool2d_forward.

    g        ndarray: the gradient of the result, of its shape; not changed
    out      the result
    x, kernel, stride, padding   what avg_pool2d_forward was called with
    returns  ndarray of the shape and dtype of `x`: each number gets its share from every window that holds it

    >>> avg_pool2d_rule(np.array([[[[4.0, 20.0]]]]), None, np.zeros((1, 1, 1, 3)), (1, 2), (1, 1), (0, 0))
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

# %% nbgrader={"grade": true, "grade_id": "check-avg-rule", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def test_every_number_of_a_window_gets_its_share():
    random = np.random.default_rng(59)
    for kernel, stride, padding in [((2, 2), (2, 2), (0, 0)), ((2, 3), (1, 2), (0, 0)), ((3, 2), (2, 1), (1, 1)),
                                    ((4, 1), (3, 3), (2, 0)), ((2, 2), (4, 5), (0, 0))]:
        x = random.normal(size=(2, 3, 6, 9)).astype("float32")
        rows, across = [(n + 2 * p - k) // s + 1 for n, p, k, s in zip((6, 9), padding, kernel, stride)]
        g = random.normal(size=(2, 3, rows, across)).astype("float32")
        wanted = np.zeros((2, 3, 6 + 2 * padding[0], 9 + 2 * padding[1]))
        for p, q in np.ndindex(rows, across):
            a, b = p * stride[0], q * stride[1]
            wanted[:, :, a:a + kernel[0], b:b + kernel[1]] += g[:, :, p:p + 1, q:q + 1] / (kernel[0] * kernel[1])
        wanted = wanted[:, :, padding[0]:padding[0] + 6, padding[1]:padding[1] + 9]
        kept = g.copy()
        found = avg_pool2d_rule(g, None, x, kernel, stride, padding)
        case = f"x (2, 3, 6, 9), kernel {kernel}, stride {stride}, padding {padding}"
        assert found.shape == x.shape, f"{case}: the slopes have the shape of x, yours {found.shape}"
        assert np.allclose(found, wanted, rtol=1e-5, atol=1e-5), (
            f"{case}: off by up to {abs(found - wanted).max():.3g}. Each of the {kernel[0] * kernel[1]} numbers of a "
            "window gets that part of its slope, and adds up what it gets from several")
        assert found.dtype.name == "float32", f"{case}: float32 slopes expected, yours are {found.dtype}"
        assert np.array_equal(g, kept), f"{case}: g was changed"


def test_averaging_is_known_to_the_walk():
    x = Variable(np.array([[[[1.0, 5.0, 2.0, 8.0]]]], "float32"))
    out = apply(avg_pool2d_forward, x, kernel=(1, 2), stride=(1, 2), padding=(0, 0))
    out.backward(np.array([[[[3.0, -2.0]]]]))
    assert np.array_equal(x.grad, [[[[1.5, 1.5, -1, -1]]]]), (
        f"two means with slopes 3 and -2: 1.5 1.5 -1 -1, yours {x.grad}")


test_every_number_of_a_window_gets_its_share()
test_averaging_is_known_to_the_walk()

# %% [markdown]
# Doors and layers are given; they are those of `conv2d` once more. Without a stride, windows lie side
# by side. As in PyTorch, a margin may be half a window at most, so that no window lies outside.

# %%
#| export
def pool2d(op, x, kernel_size, stride, padding):
    """`op`, one of the forward functions above, on images in any form, with ints or pairs."""
    x, kernel = fractions(x), pair(kernel_size)
    stride, padding = kernel if stride is None else pair(stride), pair(padding, least=0)
    if x.ndim != 4:
        raise misfit(x.shape, f"a kernel of shape {kernel}", "images need four axes")
    if any(2 * p > k for p, k in zip(padding, kernel)):
        raise ValueError(f"the padding {padding} is more than half of the kernel {kernel}: a window would see no "
                         "picture")
    try:
        out_size(x.shape, kernel, stride, padding)
    except ValueError as error:
        raise misfit(x.shape, f"a kernel of shape {kernel}", error) from None
    return apply(op, x, kernel=kernel, stride=stride, padding=padding)


def max_pool2d(x, kernel_size, stride=None, padding=0):
    """The largest number in each window, in each channel by itself.

    x            Tensor of shape (batch, channels, height, width)
    kernel_size, stride, padding   ints, or pairs (down, across); the stride is the kernel size if None

    >>> max_pool2d(Tensor([[[[1, 5, 2, 8]]]]), (1, 2))
    Tensor([[[[5., 8.]]]])
    """
    return pool2d(max_pool2d_forward, x, kernel_size, stride, padding)


def avg_pool2d(x, kernel_size, stride=None, padding=0):
    """The mean of each window, in each channel by itself; a margin counts as zeros. Called like max_pool2d.

    >>> avg_pool2d(Tensor([[[[1, 5, 2, 8]]]]), (1, 2))
    Tensor([[[[3., 5.]]]])
    """
    return pool2d(avg_pool2d_forward, x, kernel_size, stride, padding)


class MaxPool2d(Module):
    """`max_pool2d` with its options chosen beforehand.

    >>> MaxPool2d(2)
    MaxPool2d(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0))
    """

    pool = staticmethod(max_pool2d)

    def __init__(self, kernel_size, stride=None, padding=0):
        self.kernel_size, self.padding = pair(kernel_size), pair(padding, least=0)
        self.stride = self.kernel_size if stride is None else pair(stride)

    def forward(self, x):
        return self.pool(x, self.kernel_size, self.stride, self.padding)

    def __repr__(self):
        return f"{type(self).__name__}(kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding})"


class AvgPool2d(MaxPool2d):
    """`avg_pool2d` with its options chosen beforehand."""

    pool = staticmethod(avg_pool2d)

# %% [markdown]
# ## A picture, looked at
#
# Enough numbers. Here is a small picture, drawn by hand, and four kernels that nobody learned.
# Predict which of the maps shows the roof but not the walls.

# %% alt="A drawn house under a moon, and what four kernels make of it: level edges, upright edges, corners and dots, a blur. Below, each pooled to 12 by 12."
import matplotlib.pyplot as plt


def house(size=48):
    """A picture of a house and a sun, (size, size), numbers from 0 to 1."""
    y, x = np.mgrid[:size, :size] / size
    picture = 0.15 + 0.25 * (y > 0.85)
    picture = np.where((abs(x - 0.4) < 0.22) & (y > 0.5) & (y < 0.85), 0.6, picture)  # walls
    picture = np.where((y > 0.25) & (y < 0.5) & (abs(x - 0.4) < 1.1 * (y - 0.25)), 0.9, picture)  # roof
    picture = np.where((abs(x - 0.4) < 0.06) & (y > 0.62) & (y < 0.85), 0.1, picture)  # door
    return np.where((x - 0.82) ** 2 + (y - 0.2) ** 2 < 0.012, 1.0, picture).astype("float32")


named = {"up and down": [[-1, -2, -1], [0, 0, 0], [1, 2, 1]], "left and right": [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]],
         "corners, dots": [[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]], "blur": np.full((3, 3), 1 / 9)}
picture = Tensor(house()[None, None])
maps = conv2d(picture, Tensor(np.array(list(named.values()), "float32")[:, None]), padding=1)
pooled = max_pool2d(abs(maps), 4)
figure, axes = plt.subplots(2, 5, figsize=(10, 4.2))
axes[0, 0].imshow(picture.data[0, 0], cmap="gray")
axes[0, 0].set_title("picture")
axes[1, 0].axis("off")
for axis, below_it, name, one, small in zip(axes[0, 1:], axes[1, 1:], named, maps.data[0], pooled.data[0]):
    reach = abs(one).max()
    axis.imshow(one, cmap="RdBu", vmin=-reach, vmax=reach)
    axis.set_title(name)
    below_it.imshow(small, cmap="gray")
    below_it.set_xlabel("pooled, 12 by 12")
for axis in axes.flat:
    axis.set(xticks=[], yticks=[])
figure.tight_layout()

# %% [markdown]
# Blue and red are the two directions of a change. The kernel for "up and down" is blind to walls, the
# one for "left and right" to the horizon, and a slope shows in both. In a network nobody writes such
# kernels; they are learned.

# %% [markdown]
# ## How much does one number see?
#
# A number behind one layer of 3 by 3 sees 3 pixels across. Behind a second one it sees 3 numbers of
# the first, that is 5 pixels. Its *receptive field* says how large a thing it can possibly know of.
# Predict it for five layers of 3, and for three layers of 3 each followed by a pool of 2.
#
# **Task.** Write `receptive_field` for a stack of layers, given as pairs (kernel, stride).
#
# <details><summary>Hint 1</summary>Going deeper, keep two numbers: how many pixels one number sees, and how many
# pixels lie between two neighbours.</details>
# <details><summary>Hint 2</summary>A kernel of k sees k neighbours. The first one sees what it saw, each further
# one adds the distance between neighbours.</details>
# <details><summary>Hint 3</summary><code>field += (kernel - 1) * distance</code>, and then <code>distance *=
# stride</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "convolutions-field", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def receptive_field(layers):
    """How far, along one axis, a number behind a stack of layers sees: the pixels from the first to the last of them.

    layers   list of (kernel, stride), both along that axis, from the picture on: convolutions and pools alike
    returns  an int; 1 for no layers

    >>> receptive_field([(5, 1), (2, 2), (3, 1)])
    10

    Source: Araujo, Norris, Sim, Computing receptive fields of convolutional neural networks (Distill, 2019), (2).
    """
    ### BEGIN SOLUTION
    field, distance = 1, 1
    for kernel, stride in layers:
        field += (kernel - 1) * distance
        distance *= stride
    return field
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-field", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def test_fields_against_walking_back():
    for layers in [[], [(3, 1)], [(3, 1)] * 5, [(5, 1), (2, 2), (3, 1)], [(3, 1), (2, 2)] * 3, [(2, 3), (4, 2), (3, 1)],
                   [(1, 2), (3, 1)], [(7, 2), (3, 2), (1, 1), (3, 1)], [(2, 2)] * 4]:
        first, last = 0, 0  # the numbers of each layer that one number behind it is made of
        for kernel, stride in reversed(layers):
            first, last = first * stride, last * stride + kernel - 1
        wanted = last - first + 1
        found = receptive_field(list(layers))
        assert found == wanted, (
            f"layers {layers}, as (kernel, stride): one number sees {wanted} pixels, yours says {found}. The steps of "
            "a layer are as far apart as the strides of the layers before it, multiplied, make them")


def test_fields_against_slopes():
    for layers in [[(3, 1), (2, 2), (3, 1)], [(3, 2), (4, 3)], [(5, 2), (2, 1)]]:
        x = Variable(np.ones((1, 1, 1, 40)))
        y = x
        for kernel, stride in layers:
            y = conv2d(y, np.ones((1, 1, 1, kernel)), stride=(1, stride))
        g = np.zeros(y.shape)
        g[..., 1] = 1
        y.backward(g)
        wanted = int((x.grad != 0).sum())
        found = receptive_field(layers)
        assert found == wanted, (
            f"layers {layers}: {wanted} pixels have a slope with respect to one result, yours says {found}")


test_fields_against_walking_back()
test_fields_against_slopes()

# %% alt="How much of its input one number sees: 3 by 3 places through one layer, 7 by 7 through three, 18 by 18 when two poolings stand between."
lone = np.zeros((1, 1, 41, 41), "float32")
figure, axes = plt.subplots(1, 3, figsize=(9, 3))
stacks = {"3": [(3, 1)], "3, 3, 3": [(3, 1)] * 3, "3, pool 2, 3, pool 2, 3": [(3, 1), (2, 2)] * 2 + [(3, 1)]}
for axis, (title, stack) in zip(axes, stacks.items()):
    x = y = Variable(lone)
    for k, s in stack:
        y = conv2d(y, np.full((1, 1, k, k), 1 / k**2, "float32"), stride=s)
    g = np.zeros(y.shape, "float32")
    g[0, 0, y.shape[2] // 2, y.shape[3] // 2] = 1
    y.backward(g)
    axis.imshow(x.grad[0, 0], cmap="Blues")
    axis.set_title(title)
    axis.set(xticks=[], yticks=[], xlabel=f"sees {receptive_field(stack)} by {receptive_field(stack)}")

# %% [markdown]
# The slopes themselves draw it: blue is what the one number in the middle of the last map depends on.
# All kernels here are flat, and yet the middle counts more than the rim: more ways lead to it.

# %% [markdown]
# ## What it costs
#
# A convolution is multiplications and additions, in pairs, and their number needs no computer.
# Predict for the first layer of this chapter (32 images of 28 by 28, 8 kernels of 5 by 5), and for the
# second layer of a small network: 32 images of (8, 12, 12), 16 kernels of 5 by 5. Which one costs more?
#
# **Task.** Write `conv2d_cost`.
#
# <details><summary>Hint 1</summary>How many numbers come out, over all images and kernels?</details>
# <details><summary>Hint 2</summary>For each of them: how many weights does its kernel have?</details>
# <details><summary>Hint 3</summary><code>math.prod(weights[1:])</code> per result; <code>out_size</code> wants pairs:
# <code>pair(stride)</code>, <code>pair(padding, least=0)</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "convolutions-cost", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "check-cost", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def test_costs_counted_by_hand():
    for images, weights, stride, padding, wanted in [
            ((1, 1, 1, 3), (1, 1, 1, 2), 1, 0, 4), ((32, 8, 12, 12), (16, 8, 5, 5), 1, 0, 6_553_600),
            ((2, 3, 5, 8), (4, 3, 2, 3), 1, 0, 2 * 4 * 4 * 6 * 18),
            ((2, 3, 5, 8), (4, 3, 2, 3), (3, 2), 0, 2 * 4 * 2 * 3 * 18),
            ((2, 3, 5, 8), (4, 3, 2, 3), 2, (0, 1), 2 * 4 * 2 * 4 * 18),
            ((7, 2, 4, 4), (3, 2, 1, 1), 1, (1, 0), 7 * 3 * 6 * 4 * 2)]:
        found = conv2d_cost(images, weights, stride, padding)
        assert found == wanted, (
            f"images {images}, weights {weights}, stride {stride}, padding {padding}: {wanted} multiply-adds, yours "
            f"{found}. Each number that comes out takes as many as its kernel has weights")


def test_costs_against_counting_products():
    for images, weights, stride, padding in [((2, 3, 5, 8), (4, 3, 2, 3), (1, 2), (2, 1)),
                                             ((3, 1, 6, 4), (2, 1, 5, 3), 3, 1)]:
        ones = conv2d(Tensor(np.ones(images)), Tensor(np.ones(weights)), stride=stride, padding=padding)
        wanted = ones.size * weights[1] * weights[2] * weights[3]
        found = conv2d_cost(images, weights, stride, padding)
        assert found == wanted, (
            f"images {images}, weights {weights}, stride {stride}, padding {padding}: {wanted}, yours {found}")


test_costs_counted_by_hand()
test_costs_against_counting_products()

# %% [markdown]
# Counted is not measured. Each dot below is one convolution, and the line is what the fastest one makes
# of each second. Predict which dots lie far above the line: few channels or many, small kernels or
# large?

# %% alt="Milliseconds measured against multiply-adds counted, both on logarithmic scales, for kernels of three sizes; the line of the fastest lies below all of them."
figure, axis = plt.subplots(figsize=(6, 4))
best, dots = 0, []
for k, mark in [(1, "o"), (3, "s"), (5, "^")]:
    for channels in (1, 4, 16, 64):
        x = rng.normal(size=(8, channels, 20, 20)).astype("float32")
        w, b = rng.normal(size=(16, channels, k, k)).astype("float32"), np.zeros(16, "float32")
        cost, spent = conv2d_cost(x.shape, w.shape), seconds(conv2d_forward, x, w, b, (1, 1), (0, 0), times=9)
        best = max(best, cost / spent)
        dots.append((cost, spent))
        label = f"{k} by {k}" if channels == 64 else None
        axis.loglog(cost, spent * 1000, mark, color="C0", alpha=channels**0.25 / 3, label=label)
ends = np.array([min(dots)[0], max(dots)[0]])
axis.loglog(ends, ends / best * 1000, "k-", linewidth=1, label=f"{best / 1e9:.0f} billion a second")
axis.set(xlabel="multiply-adds, counted", ylabel="milliseconds, measured")
axis.legend()

# %% [markdown]
# Cheap ones are far from the line: what they spend is spent on copying pixels, not on multiplying
# them. A kernel of 1 by 1 needs one product per weight and pixel, and still pays for the copy.

# %% [markdown]
# ## Known in all places
#
# The promise was: learned in one place, known in all. Here are pictures of 16 by 16 with a short stroke
# in one of four directions, and noise. In training all strokes stand in the *left* half. Then both
# networks are asked about strokes in the right half. Predict both, in percent; guessing gets 25.

# %%
from tinytorch.core.layers import Flatten, Linear, Sequential, manual_seed
from tinytorch.core.losses import cross_entropy

strokes = np.zeros((4, 5, 5), "float32")
strokes[0, 2, :] = strokes[1, :, 2] = 1
strokes[2], strokes[3] = np.eye(5), np.eye(5)[::-1]


def drawn(count, first, last, seed):
    """`count` pictures with a stroke whose left end is from column `first` to `last`, and the strokes' directions."""
    chance = np.random.default_rng(seed)
    x, labels = chance.normal(0, 0.2, (count, 1, 16, 16)).astype("float32"), chance.integers(0, 4, count)
    for one, label in zip(x[:, 0], labels):
        top, left = chance.integers(0, 12), chance.integers(first, last + 1)
        one[top:top + 5, left:left + 5] += strokes[label]
    return x, labels


def trained(net, x, labels, rounds, rate):
    """`net` after `rounds` steps of plain gradient descent over batches of 50."""
    for step in range(rounds):
        batch = slice(50 * step % len(x), 50 * step % len(x) + 50)
        net.zero_grad()
        cross_entropy(net(Tensor(x[batch])), labels[batch]).backward()
        for p in net.parameters():
            p.data -= rate * p.grad
    return net


def right_share(net, x, labels):
    return float((np.asarray(net(Tensor(x))).argmax(axis=1) == labels).mean())


manual_seed(2)
left_half, left_labels = drawn(4000, 0, 3, seed=0)
nets = {"dense": Sequential(Flatten(), Linear(256, 64), Tensor.relu, Linear(64, 4)),
        "convolution": Sequential(Conv2d(1, 8, 5), Tensor.relu, MaxPool2d(12), Flatten(), Linear(8, 4))}
for name, net in nets.items():
    trained(net, left_half, left_labels, rounds=800, rate=0.2)
    shares = [right_share(net, *drawn(500, first, last, seed=1)) for first, last in [(0, 3), (8, 11)]]
    print(f"{name:12} {sum(p.size for p in net.parameters()):6,} numbers: left {shares[0]:.0%}, right {shares[1]:.0%}")

# %% [markdown]
# The dense network never saw a stroke on the right, and what it learned on the left is of no use
# there. And what did the other one learn? Eight kernels, and what they make of one picture.

# %% alt="Eight learned kernels of 5 by 5, several with a bright line: slanting, level or upright. Below, one noisy picture with a stroke, and what each kernel makes of it."
conv = nets["convolution"][0]
one, _ = drawn(1, 9, 9, seed=3)
found = np.asarray(conv(Tensor(one)).relu())[0]
figure, axes = plt.subplots(2, 9, figsize=(10, 2.6))
axes[0, 0].axis("off")
axes[1, 0].imshow(one[0, 0], cmap="gray")
for axis, below_it, w, one_map in zip(axes[0, 1:], axes[1, 1:], conv.weights.data[:, 0], found):
    axis.imshow(w, cmap="RdBu", vmin=-abs(w).max(), vmax=abs(w).max())
    below_it.imshow(one_map, cmap="gray", vmin=0, vmax=found.max())
for axis in axes.flat:
    axis.set(xticks=[], yticks=[])
figure.tight_layout()

# %% [markdown]
# ## Look back
#
# 1. Two layers of 3 by 3 see as much as one of 5 by 5. Count weights and multiply-adds of both, for 16
#    channels in and out, and measure. What else does the pair have that the single one has not?
# 2. The convolutional network of the last section cannot say *where* the stroke is. Which layer forgot
#    it? Change one number so that it can tell left from right, and train it on that.
# 3. `col2im` reaches a pixel in the middle 25 times, one in the corner once. Send ones back through
#    `conv2d` with and without padding and look at the slopes. Which pixels does a network without padding
#    nearly ignore, layer after layer?
