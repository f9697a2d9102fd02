# %% [markdown]
# # 02. Tensor
#
# The picture below shows ten handwritten digits. Above each one is the answer of a neural
# network, which had not seen these images before. For all 359 images it needs about seven
# million multiplications: one number at a time, as in lesson 01, that would be slow, so we now
# compute with whole arrays. Each image of 8 by 8 pixels is a row of 64 numbers, and the network
# is three lines of code. You do not have to understand them yet, because the chapter explains
# shapes, axes and the operator `@`.

# %% tags=["payoff"]
#| default_exp core.tensor
#| export
"""Tensor: arrays with shapes, strides and dtypes, which can record how they were computed.

What is here, in the order in which to read it:

    Tensor           .data is a NumPy array; .grad, .requires_grad and .creator are for autograd
    apply            every operation: run a NumPy function, wrap the result, record it
    broadcast_shape  which shapes fit together; matmul_shape says it for matrix products
    var, transpose   functions that are written with operations

The operators and most methods only call `apply`, as in apply(np.matmul, x, y) for `x @ y`; they
are in support/tensor_methods.py. Gradients are computed in core/autograd.py.

>>> images, W = Tensor([[0.0, 1.0], [1.0, 1.0]]), Variable([[1.0, -2.0], [3.0, 0.5]])
>>> scores = maximum(images @ W + 1, 0)
>>> scores
Tensor([[4. , 1.5],
        [5. , 0. ]], requires_grad=True)
>>> scores.shape, scores.creator.op is np.maximum
((2, 2), True)
"""
import math  # noqa: F401

import numpy as np

from tinytorch.support.arrays import (
    as_array, as_result, as_tuple, axes_of, count_along, explain_error, infer_shape,
    permutation, refuse_exchange)
from tinytorch.support.forward import HALF, concatenate_forward, reshape_forward, stack_forward
from tinytorch.support.missing_names import numpy_names
from tinytorch.support.tensor_methods import TensorMethods, operand, record, recording

# %% tags=["payoff"]
import matplotlib.pyplot as plt

from tinytorch.pictures.tensor import draw_digits, load_network

images, labels, (W1, b1, W2, b2) = load_network()
hidden = np.maximum(images @ W1 + b1, 0)  # shapes (359, 64) @ (64, 256) + (256,)
scores = hidden @ W2 + b2                 # (359, 256) @ (256, 10) + (10,): one per digit
answers = scores.argmax(axis=1)           # (359,): the digit with the highest score
print(f"{(answers == labels).mean():.1%} of {len(labels)} new digits are right")
draw_digits(images[10:20], answers[10:20], labels[10:20])
plt.show()
# caption: Two matrix products, two additions and a maximum read nine of these ten digits.
# alt: Ten handwritten digits of 8 by 8 pixels. The answers above nine of them are right; a 9
# is taken for a 7, which is marked in red.

# %% [markdown]
# The images, the *weights* (`W1`, `b1`, `W2` and `b2`) and the results are all arrays of
# numbers. In this chapter you build an array library on top of NumPy, the class `Tensor`, which
# at the end runs the network of the picture. In later lessons the same class also computes
# *gradients*, as the Values of lesson 01 do.
#
# **You need** Python and a little NumPy. **You build** the rules of strides and broadcasting,
# `apply`, the function that runs every operation, the variance, the transpose, and a matrix
# product.
#
# `tito test` copies the cells that begin with `#| export` or `#| exporti` into your library,
# `tinytorch/core/tensor.py`. (`exporti` marks names for internal use.) Everything imported from
# `tinytorch.support` is given.

# %% [markdown] page="Arrays in memory"
# ## Shape, axis and rank
#
# The network of the picture computes with arrays of several shapes. A **tensor** is an array of
# numbers of one type, arranged along any number of axes. An **axis** is one direction of an
# array, and it has a length. The axes are numbered 0, 1, 2, ..., although you can also count
# them from the last one: -1, -2, ... The **shape** of a tensor is the tuple of the lengths of
# its axes. The **rank** of a tensor is the number of its axes.
#
# Predict the rank and the shape of one number, one column of `W1`, one image of 8 by 8 pixels,
# and all 359 images.

# %% tags=["answer"]
for name, array in [("one number", np.array(0.5)), ("one column of W1", W1[:, 0]),
                    ("one image", images[0].reshape(8, 8)),
                    ("all images", images.reshape(359, 8, 8))]:
    print(f"{name:18}  rank {array.ndim}  shape {array.shape}")

# %% [markdown]
# A tensor of rank 0 is called a *scalar*, of rank 1 a *vector*, of rank 2 a *matrix*. Because
# some texts use the word *dimension* for an axis and others for its length, we say axis and
# length.
#
# ## Row-major order and strides
#
# Memory is one long row of numbers. How can it hold a matrix? In **row-major order**, the rows
# are stored one after another: as you go through memory, the last index changes fastest. The
# **stride** of an axis is the distance in memory between two elements that are neighbours along
# this axis. The element at index (i, j) is at position `i * strides[0] + j * strides[1]`:

# %%
from tinytorch.pictures.tensor import draw_strides

x = np.array([[10, 11, 12], [20, 21, 22]])
draw_strides(x, (1, 2))  # alt: Six memory cells, 10 11 12 20 21 22, and below them the array
# of shape (2, 3) with strides (3, 1). For x[1, 2], arrows go 1 times 3 and 2 times 1 positions
# along memory, to position 5, which holds 22.

# %% [markdown]
# The next row begins 3 positions further, because a row has 3 elements; the next column is 1
# position further. Predict the strides of shape (2, 3, 4).
#
# **Task.** Write `strides_of` for any rank. (This is for practice: NumPy computes strides
# itself.)

# %% The strides of an array exercise="strides"
#| export
def strides_of(shape):
    """The strides of an array in row-major order, counted in elements.

    shape    tuple of axis lengths
    returns  tuple of Python ints, one per axis; () for shape ()

    >>> strides_of((2, 3))
    (3, 1)

    Source: Van der Walt, Colbert, Varoquaux, The NumPy array (2011), section "The structure of
    a NumPy array: a view on memory".
    """
    ### BEGIN SOLUTION
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))
    ### END SOLUTION

# %% checks="strides"
check("strides")

# %% tags=["answer"]
print("strides of (2, 3, 4):", strides_of((2, 3, 4)))
draw_strides(x, (1, 1), strides=strides_of(x.shape))  # alt: x[1, 1], found by your strides.

# %% [markdown]
# ## Views and copies
#
# With strides, two arrays can share the same memory. NumPy transposes a matrix without moving
# any number: it exchanges the two lengths of the shape and the two strides, while the memory
# does not change:

# %%
draw_strides(x.T, (2, 1), "x.T")
# caption: Transposing moves no number: only the shape and the strides change.
# alt: The same six memory cells in the same order. The array x.T has shape (3, 2) and strides
# (1, 3). For x.T[2, 1], arrows go 2 times 1 and 1 times 3 positions along memory and end at
# position 5 again, which holds 22.

# %% [markdown]
# **View and copy** differ in their memory: a view shares the memory of another array, a copy
# has its own. Making a view is quick, but writing into it also changes the original.
#
# An array is **contiguous** when its elements are in memory in row-major order, without gaps.
# `x` is contiguous, `x.T` is not. Predict which of `x[:, 1:]`, `x.reshape(3, 2)` and
# `x.T.reshape(6)` share the memory of `x`.

# %% tags=["answer", "explained"]
for name, result in [("x[:, 1:]", x[:, 1:]), ("x.reshape(3, 2)", x.reshape(3, 2)),
                     ("x.T.reshape(6)", x.T.reshape(6))]:
    print(f"{name:16} view: {np.shares_memory(result, x)!s:6} "
          f"contiguous: {result.flags.c_contiguous}")

# %% [markdown]
# The slice is a view with gaps. For `x.T.reshape(6)`, however, NumPy has to copy, because no
# single stride visits the memory of `x` in the order 10, 20, 11, 21, 12, 22.
#
# ## Broadcasting
#
# In the network above, `images @ W1` has shape (359, 256) and `b1` has shape (256,). Their sum
# adds the same 256 numbers, a *bias*, to every row. **Broadcasting** is the rule that lets
# arrays of different shapes take part in one operation. The shapes are aligned at their right
# ends. A missing length counts as 1. An axis of length 1 is repeated to fit the other array,
# without copying: its stride becomes 0, so that every index leads to the same element.

# %%
from tinytorch.pictures.tensor import draw_broadcasting

draw_broadcasting([[1, 2, 3], [4, 5, 6]], [10, 20, 30])
# alt: The shapes (2, 3) and (3,), one below the other and aligned at their right ends; the
# missing length is a dashed 1. The row 10 20 30 is repeated for the second row of the matrix,
# and the sum is 11 22 33, 14 25 36.

# %% [markdown]
# On each axis the lengths must be equal, or one of them must be 1.
#
# Suppose that you have three targets and three guesses, and that every guess is right. You
# expect three differences, each 0. Predict the shape of `guesses - targets` when their shapes
# are (3, 1) and (3,):

# %% tags=["answer", "explained"]
targets = np.array([0.5, 2.0, 4.0])
guesses = targets.reshape(3, 1)
unwanted = [(i, j) for i in range(3) for j in range(3) if i != j]
draw_broadcasting(guesses, targets, "-", unwanted)
# alt: (3, 1) minus (3,) has shape (3, 3): the column is repeated to the right, the row
# downward. Only the three zeros on the diagonal were wanted; the other six numbers are hatched.

# %% [markdown]
# The result has nine numbers. Because these shapes do broadcast, no library can catch this bug,
# and it happens to people who have used NumPy for years. Compare the shape of a result with the
# one you expect.
#
# **Task.** Write `broadcast_shape` for any number of shapes. When shapes do *not* broadcast, it
# raises an error, and users of your library will read the message of this error.

# %% The broadcast shape exercise="broadcast"
#| export
def broadcast_shape(*shapes):
    """The shape of a result whose inputs have these shapes.

    shapes   one or more tuples, of any ranks
    returns  the common shape, a tuple

    Raises ValueError, with all the shapes in its text, when two lengths on one axis differ and
    neither is 1.

    >>> broadcast_shape((2, 1, 4), (3, 1))
    (2, 3, 4)

    Source: NumPy user guide, "Broadcasting".
    """
    ### BEGIN SOLUTION
    rank = max(len(shape) for shape in shapes)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    common = [set(lengths) - {1} or {1} for lengths in zip(*padded)]
    if any(len(lengths) > 1 for lengths in common):
        raise ValueError(f"shapes {' and '.join(map(str, shapes))} do not broadcast: "
                         "aligned at the right, lengths must be equal or 1")
    return tuple(lengths.pop() for lengths in common)
    ### END SOLUTION

# %% checks="broadcast"
check("broadcast")

# %%
for a, b in [((359, 256), (256,)), ((3, 1), (3,)), ((2, 3), (2,))]:
    try:
        print(a, "and", b, "give", broadcast_shape(a, b))
    except ValueError as error:
        print(error)

# %% [markdown] page="A class for tensors"
# ## The Tensor class
#
# Now we begin our own array library. A `Tensor` holds a NumPy array in `.data`. The class is
# given. It inherits its operators and most of its methods from `TensorMethods`; the methods
# below call functions of this chapter. The attributes `requires_grad`, `grad`
# and `creator` are for gradients: you can ignore them until lesson 06.

# %%
#| export
class Tensor(TensorMethods):
    """An array of numbers that can record how it was computed.

    data           a number, nested lists, an ndarray or a Tensor; always copied
    requires_grad  record operations on this tensor, so that `backward()` can compute its
                   gradient

    .data           the ndarray
    .grad           None; later the gradient, an ndarray
    .requires_grad  as given, False or True
    .creator        None; for the result of an operation, a record of how it was computed

    `Tensor(other)` copies only the numbers of `other`. The section "Dtypes" says which dtype
    the numbers get.

    >>> Tensor([[1, 0.5], [2, 4]]).shape
    (2, 2)

    Source: torch.Tensor; PyTorch calls the creator `grad_fn`.
    """

    __slots__ = ()  # no other attributes: a misspelt x.dtaa = 0 is an error

    def __init__(self, data, requires_grad=False):
        self.data = as_array(data.data if isinstance(data, Tensor) else data, requires_grad)
        self.requires_grad = requires_grad
        self.grad = self.creator = None

    def mean(self, axis=None, keepdims=False):
        if self.dtype == HALF:  # float16: a sum is easily above 65504, its largest number
            return self.float().mean(axis, keepdims).to(HALF)
        return self.sum(axis, keepdims) / count_along(self, axis)

    def var(self, axis=None, *, keepdims=False, correction=0):
        if self.dtype == HALF:
            return self.float().var(axis, keepdims=keepdims, correction=correction).to(HALF)
        return var(self, axis, keepdims, correction)

    def reshape(self, *shape):
        """The same elements, in row-major order, in another shape; one length may be -1."""
        return apply(reshape_forward, self, shape=infer_shape(as_tuple(shape), self.size))

    def transpose(self, *axes):
        refuse_exchange(axes, self.shape)  # transpose(0, 1), which PyTorch reads as swapaxes
        return transpose(self, *axes)

    T = property(lambda self: transpose(self), doc="The axes reversed: rows become columns.")

# %%
x = Tensor([[1, 0.5], [2, 4]])
print(x, "shape", x.shape, "rank", x.ndim, "dtype", x.dtype)

# %% [markdown]
# A `Variable` is a tensor with `requires_grad=True`, such as a weight. `wrap` makes the tensor
# around a result, and to save time it neither copies nor checks the array.

# %%
#| export
def Variable(data, requires_grad=True):
    """A Tensor that records operations, so that its gradient can be computed."""
    return Tensor(data, requires_grad)

# %%
#| exporti
def wrap(array):
    """A Tensor around `array` itself: no copy, no checks. For results only."""
    out = object.__new__(Tensor)
    out.data, out.requires_grad = array, False
    out.grad = out.creator = None
    return out

# %% [markdown]
# ## One function for every operation
#
# Every operation on tensors takes three steps: take the arrays out of the inputs, run a NumPy
# function on them, and put a tensor around the result. You write these steps once, in `apply`,
# and all operators and methods call it: `x - y` is `apply(np.subtract, x, y)`.
#
# Each step has a given function. `operand(x)` does the first: it returns the array inside a
# Tensor. It returns arrays and numbers unchanged, turns lists into arrays, and raises TypeError
# for anything else. `run` does the second step: it calls the NumPy function. If NumPy raises an
# error, `run` replaces it by one that names the shapes, such as the error of `broadcast_shape`.
# (For `@` it is the error of `matmul_shape`, which is given.) `wrap` does the last step.

# %%
#| exporti
ndarray, FLOAT32 = np.ndarray, np.dtype(np.float32)


def run(op, arrays, options):
    """The result of op(*arrays, **options), an ndarray."""
    if type(arrays) is not tuple and hasattr(arrays, "__next__"):
        raise TypeError("run got a generator, which can be read only once: make a tuple of it, "
                        "tuple(...)")
    try:
        out = op(*arrays, **options) if options else op(*arrays)
    except (ValueError, IndexError, TypeError, RecursionError) as error:
        common_shape = matmul_shape if op is np.matmul else broadcast_shape
        raise explain_error(error, op, arrays, options, common_shape) from None
    if type(out) is not ndarray:
        out = np.asarray(out)  # for rank 0, NumPy returns a number
    return out if out.dtype is FLOAT32 else as_result(out, arrays)

# %% [markdown]
# **Task.** Write `apply`. Replace the `raise` line by lines that set `arrays` (a tuple) and
# `out` (a Tensor). Keep the given last line, which lesson 06 explains.

# %% Applying an operation exercise="apply"
#| export
def apply(op, *inputs, **options):
    """Run `op` on the arrays inside `inputs`. Every operation on a Tensor comes through here.

    op       a function of arrays that returns an array: np.add, np.exp, ...
    inputs   Tensors, arrays, numbers or lists; TypeError, from `operand`, for anything else
    options  keyword arguments of `op`, such as axis=0
    returns  a new Tensor around the array that `run(op, arrays, options)` returns, not around
             a copy

    >>> apply(np.add, Tensor([1.0, 2.0]), 0.5)
    Tensor([1.5, 2.5])

    Source: Baydin et al., Automatic differentiation in machine learning (2018), section 5.
    """
    ### BEGIN SOLUTION
    arrays = ()
    for x in inputs:
        arrays += (operand(x),)
    out = wrap(run(op, arrays, options))
    ### END SOLUTION
    return record(out, op, inputs, arrays, options)


Tensor._apply = staticmethod(apply)  # the operators and methods of TensorMethods call it

# %% checks="apply"
check("apply")

# %% [markdown]
# All operators work now. For `x - 5`, Python calls `x.__sub__(5)`. For `5 - x`, however, it
# first asks the number 5, and because a number does not know tensors, it then calls the
# *reflected* method of the tensor, `x.__rsub__(5)`, which runs `apply(np.subtract, 5, x)`. For
# `+` the order does not matter. Predict for which of `- * / ** @` it does.

# %% tags=["answer", "explained"]
x, square = Tensor([1.0, 2.0, 4.0]), Tensor([[1, 2], [3, 4]])
for sign, out, exchanged in [("-", 5 - x, x - 5), ("*", 5 * x, x * 5), ("/", 8 / x, x / 8),
                             ("**", 3**x, x**3),
                             ("@", [[0, 1], [1, 0]] @ square, square @ [[0, 1], [1, 0]])]:
    print(f"{sign:2}", out.tolist(), "and", exchanged.tolist())

# %% [markdown]
# Only `+` and `*` give the same result in both orders.
#
# ## Elementwise operations
#
# An **elementwise operation** computes each element of its result from the elements at the same
# index of its inputs. All arithmetic operators except `@` are elementwise, and so are the
# methods `exp log sqrt sin cos tanh sigmoid relu clip`. Three elementwise operations with
# several inputs are also functions:

# %%
#| export
def maximum(a, b):
    """The larger of two numbers, elementwise; shapes broadcast."""
    return apply(np.maximum, a, b)


def minimum(a, b):
    """The smaller of two numbers, elementwise; shapes broadcast."""
    return apply(np.minimum, a, b)


def where(condition, a, b):
    """Elements of `a` where `condition` is true, and of `b` elsewhere; shapes broadcast.

    >>> where([True, False], Tensor([1, 2]), 0)
    Tensor([1, 0])
    """
    return apply(np.where, condition, a, b)

# %%
x = Tensor([-1.0, 0.0, 2.0])
print(x.relu(), maximum(x, 0.5), 2.0**x, x > 0, sep="\n")

# %% [markdown]
# ## Dtypes
#
# A **dtype** is the type of all elements of an array: integers, floating-point numbers or
# bools. It also says how many bytes an element takes. While NumPy computes with `float64`, 8
# bytes, for networks `float32` is enough: 4 bytes and seven decimal digits. A `Tensor` of
# Python floats is therefore `float32`. An ndarray keeps its dtype, because you chose it, and a
# list of integers becomes `int64` (in a browser `int32`).
#
# NumPy returns `float64` for integers divided by integers, so everything computed from such a
# result would take twice the memory. In this library a result is `float64` only if an input
# array is `float64`. Otherwise `as_result` in `run` turns such a result into `float32`:

# %%
whole = Tensor([1, 2, 4])
for result in (whole * 2, whole / 2, whole.exp(), whole > 1):
    print(f"{result!s:44} {result.dtype}")

# %% [markdown]
# ## Reductions
#
# A **reduction** combines all elements along one or more axes into one: a sum, a mean, a
# maximum. The reduced axes disappear. The sum of shape (2, 3, 4) along axis 1 has shape (2, 4).
# With `keepdims=True` it has shape (2, 1, 4), which still broadcasts against the original. Use
# it to divide each row by its sum.
#
# A mean is a sum divided by a count, the number of elements that go into each result. The given
# function `count_along(x, axis)` computes it. Predict the count for shape (2, 3, 4) along axis
# 1, along (0, 2), with `axis=None`, and with `axis=()`, which names no axis.

# %% tags=["answer", "explained"]
x = Tensor(np.ones((2, 3, 4)))
print([count_along(x, axis) for axis in (1, (0, 2), None, ())])
rows = Tensor([[1, 1, 2], [3, 0, 1]])
print(rows / rows.sum(axis=1, keepdims=True))

# %% [markdown]
# The count is the product of the lengths of the reduced axes. With `axis=()` each element is
# its own mean, and the count is 1, the product of no lengths.
#
# ## Variance
#
# The best-known formula of one reduction fails. The *variance* is the mean of the squared
# distances from the mean. A famous shortcut computes the mean of the squares minus the square
# of the mean. Predict what it gives for 8000, 8008 and 8016 in float32. The true answer is
# 42.667.

# %% tags=["answer", "explained"]
x = Tensor([8000.0, 8008.0, 8016.0])
print((x * x).mean() - x.mean() * x.mean())

# %% [markdown]
# The squares have eight digits, while float32 keeps seven. The difference of two large, nearly
# equal numbers consists mostly of their rounding errors. This is *catastrophic cancellation*.
#
# `var` has an argument `correction`. With `correction=1` it divides the sum of the squared
# distances by n - 1 instead of n. The reason: the mean was computed from the same numbers, so
# they are a little too close to it. Dividing by n - 1 corrects that on average.
#
# **Task.** Write `var` with the distances from the mean. `count_along(x, axis)` is n.

# %% Variance exercise="var"
#| export
def var(x, axis=None, keepdims=False, correction=0):
    """The variance along `axis`: the mean squared distance from the mean.

    x           Tensor
    axis        an int, a tuple, or None for all
    keepdims    keep the reduced axes, with length 1
    correction  number to subtract from the count before dividing by it
    returns     Tensor, computed by operations on tensors, not on x.data; float32 for integers

    >>> var(Tensor([[1, 3, 5], [2, 2, 8]]), axis=1, correction=1)
    Tensor([ 4., 12.])

    Source: Chan, Golub, LeVeque, Algorithms for computing the sample variance (1983),
    "two-pass".
    """
    ### BEGIN SOLUTION
    distances = x - x.mean(axis, keepdims=True)
    squares = distances * distances
    return squares.sum(axis, keepdims) / (count_along(x, axis) - correction)
    ### END SOLUTION

# %% checks="var"
check("var")

# %% [markdown] page="Shapes and products"
# ## Reshaping
#
# `reshape` keeps the elements in row-major order and changes the shape and the strides. The
# result is a view if possible. One length may be given as -1, and `reshape` computes it. Three
# more methods compute a shape and call `reshape`: `unsqueeze` adds an axis of length 1,
# `squeeze` removes such axes, and `flatten` joins axes. Predict the shape of `x.reshape(2, -1,
# 2)` for 12 elements.

# %% tags=["answer"]
x = Tensor(range(12))
print(x.reshape(2, -1, 2).shape, x.unsqueeze(0).shape, x.unsqueeze(-1).shape)

# %% [markdown]
# ## Permuting axes
#
# Reshaping never changes the order of the elements, but sometimes it must change. A photograph
# is often stored as (height, width, channels): red, green and blue of each pixel, while
# networks use (channels, height, width). `reshape` gives the right *shape* but mixes the
# channels, because the elements keep their order in memory. `transpose` moves the axes:

# %%
from tinytorch.pictures.tensor import draw_channels

picture = Tensor([[[1, 20, 300], [2, 21, 301]]])  # height 1, width 2, 3 channels
draw_channels(picture.data)
# caption: Reshape keeps the order in memory and mixes the channels; transpose does not.
# alt: A picture of shape (1, 2, 3): two pixels, 1 20 300 and 2 21 301, one colour per channel.
# Its reshape to (3, 1, 2) has the rows 1 20, 300 2 and 21 301, with mixed colours; its
# transpose by (2, 0, 1) has the rows 1 2, 20 21 and 300 301, each of one colour.

# %% [markdown]
# **Task.** Write the rest of `transpose`. The given lines check the axes: afterwards `axes` is
# a tuple with each axis once, counted from 0, or () if none was given.

# %% Permuting axes exercise="transpose"
#| export
def transpose(x, *axes):
    """The axes of `x` in another order: axis i of the result is axis axes[i] of `x`.

    x        Tensor
    axes     each axis once, as several ints or one tuple; negative ones count from the end;
             without axes, the order is reversed
    returns  Tensor that shares memory with `x`: the result of apply(np.transpose, x, axes=...)
             with a tuple of axes, which lesson 06 uses

    Raises ValueError, with the shape of `x` in its text, unless each axis is named once.

    >>> transpose(Tensor(np.ones((2, 3, 4))), 2, 0, 1).shape
    (4, 2, 3)

    Source: numpy.transpose; PyTorch calls it permute.
    """
    if axes:
        axes = permutation(axes, x.shape)
    ### BEGIN SOLUTION
    order = axes or tuple(reversed(range(x.ndim)))
    return apply(np.transpose, x, axes=order)
    ### END SOLUTION

# %% checks="transpose"
check("transpose")

# %%
print(picture.transpose(2, 0, 1))

# %% [markdown]
# `x.swapaxes(a, b)` exchanges two axes; PyTorch's `x.transpose(a, b)` is `x.swapaxes(a, b)`
# here.
#
# ## Matrix products
#
# In the network above, each number in `hidden` depends on all 64 pixels of an image, through a
# *matrix product*, $c_{ij} = \sum_k a_{ik} b_{kj}$: multiply row i of `a` by column j of `b`,
# element by element, and add up the products. The **inner dimension** of a matrix product is
# the number of these products. The rows of the left matrix and the columns of the right one
# must both have this length.

# %%
from tinytorch.pictures.tensor import draw_matmul

draw_matmul([[1, 2, 3], [4, 5, 6]], [[1, 0], [0, 1], [2, -1]], 0, 0)
# alt: The matrix a of shape (2, 3) is at the left, b of shape (3, 2) above, the product of
# shape (2, 2) in the corner between them. The first row of a and the first column of b are
# marked; element (0, 0) is 1 times 1 plus 2 times 0 plus 3 times 2, which is 7.

# %% [markdown]
# Broadcasting can compute a matrix product: give `a` and `b` the three axes i, k and j,
# multiply them, and sum over k. Predict which of the three axes `a` lacks, and which one `b`
# lacks.
#
# **Task.** Write `matmul_by_broadcasting` for two matrices, without a loop and without `@`.
# `x.unsqueeze(n)` (section Reshaping) gives `x` an axis of length 1 at place n.

# %% A matrix product by broadcasting exercise="matmul-by-broadcasting"
#| export
def matmul_by_broadcasting(a, b):
    """The matrix product, from a broadcast product and a sum.

    a        Tensor of shape (i, k)
    b        Tensor of shape (k, j)
    returns  Tensor of shape (i, j), computed by * and a sum of tensors

    >>> matmul_by_broadcasting(Tensor([[1, 2, 3]]), Tensor([[1], [10], [100]]))
    Tensor([[321]])

    Source: Strang, Introduction to Linear Algebra, section 2.4.
    """
    ### BEGIN SOLUTION
    products = a.unsqueeze(2) * b.unsqueeze(0)  # (i, k, j)
    return products.sum(axis=1)
    ### END SOLUTION

# %% checks="matmul-by-broadcasting"
check("matmul-by-broadcasting")

# %% [markdown]
# `a` lacks the last axis, j, and `b` the first, i. (Most people need a drawing to see this
# the first few times.) The result is right, but expensive: the array of products has
# $i \cdot k \cdot j$ elements. NumPy's `matmul`, which `@` calls, never builds this array.
# Predict how many times faster `@` is for shapes (96, 96).

# %% tags=["answer"]
from timeit import repeat

a, b = [Tensor(m) for m in np.random.default_rng(1).normal(size=(2, 96, 96)).astype("float32")]
slow = min(repeat(lambda: matmul_by_broadcasting(a, b), number=1))
fast = min(repeat(lambda: a @ b, number=1))
print(f"array of products: {96**3 * 4:,} bytes, {slow / fast:.0f} times slower")

# %% [markdown]
# ## Batches of matrices
#
# In `(10, 2, 3) @ (10, 3, 4)` there are ten pairs of matrices: the last two axes hold a matrix,
# the first axis counts them. A **batch dimension** is an axis along which an operation is
# repeated, for each index separately. For `@`, every axis in front of the last two is a batch
# dimension. The batch dimensions of both tensors broadcast.
#
# A tensor of rank 1 on the left counts as a matrix with one row, and on the right as a matrix
# with one column. The result does not have this added axis of length 1: (3,) @ (3, 4) has shape
# (4,).
#
# The function below is given. When shapes do not fit, users of `@` see its errors. Predict the
# shapes of (5, 1, 2, 3) @ (4, 3, 7) and of (3,) @ (4, 3, 7).

# %%
#| export
def matmul_shape(a, b):
    """The shape of `x @ y` for tensors of shapes `a` and `b`, tuples. Raises ValueError, with
    both shapes in its text, if they do not fit.

    >>> matmul_shape((10, 2, 3), (10, 3, 4))
    (10, 2, 4)
    """
    if not a or not b or a[-1] != b[-2:][0]:
        raise ValueError(
            f"cannot multiply shape {a} by {b}: the last length of the left shape must equal "
            "the second to last length of the right one, or its only length")
    try:
        batch = broadcast_shape(a[:-2], b[:-2])
    except ValueError as error:
        raise ValueError(f"cannot multiply shape {a} by {b}: batch {error}") from None
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    return batch + rows + columns

# %% tags=["answer"]
print(matmul_shape((5, 1, 2, 3), (4, 3, 7)), matmul_shape((3,), (4, 3, 7)))
try:
    Tensor(images) @ W1.T
except ValueError as error:
    print(error)

# %% [markdown]
# ## Indexing: slices, masks and gathering
#
# **Slicing** selects a regular part of an axis, `x[2:10:2]`, and returns a view. A **mask** is
# an array of True and False that selects the elements where it is true: `x[x > 0]`. To
# **gather** is to select elements by an array of indices, in any order and as often as you
# like: `x[[2, 0, 2]]`. Masks and gathering copy, because their elements can lie anywhere in
# memory. A Tensor can also be a mask or an array of indices. Indexing is given. Predict what
# these four select:

# %% tags=["answer"]
x = Tensor([5.0, -1.0, 7.0, -2.0])
print(x[1:3], x[x > 0], x[[2, 0, 2]], x[::-1][0], sep="\n")

# %% [markdown]
# ## Joining tensors
#
# `concatenate` joins tensors along an axis that they have, `stack` along a new one. Both are
# given:

# %%
#| export
@numpy_names
def concatenate(tensors, axis=0):
    """Join tensors along one of their axes; the other lengths must be equal."""
    return apply(concatenate_forward, *tensors, axis=axis)


@numpy_names
def stack(tensors, axis=0):
    """Join tensors of one shape along a new axis.

    >>> stack([Tensor([1, 2]), Tensor([3, 4])]).shape
    (2, 2)
    """
    return apply(stack_forward, *tensors, axis=axis)

# %% [markdown]
# ## The network, on your own tensors
#
# This is the network of the first picture, written with your class:

# %% tags=["payoff"]
weights = [Tensor(part) for part in (W1, b1, W2, b2)]
hidden = (Tensor(images) @ weights[0] + weights[1]).relu()
scores = hidden @ weights[2] + weights[3]
answers = scores.data.argmax(axis=1)
print(f"{(answers == labels).mean():.1%} of {len(labels)} new digits are right")
draw_digits(images[10:20], answers[10:20], labels[10:20]);  # alt: The ten digits again, with
# the answers of your tensors: nine are right, the 9 that is taken for a 7 is marked in red.

# %% [markdown]
# The network has 19,210 weights, and its five operations all went through your `apply`. In
# which direction would each weight have to change for fewer mistakes? Lesson 06 computes that,
# by going back through the same operations.
#
# ## Look back
#
# 1. `x.T.reshape(-1)` and `x.reshape(-1)` give different orders. Only one of them can be a view
#    of `x`. Which, and how do you see it in the strides?

# %% tags=["answer", "explained"]
x = np.array([[10, 11, 12], [20, 21, 22]])
for name, flat in (("x.T.reshape(-1)", x.T.reshape(-1)), ("x.reshape(-1)", x.reshape(-1))):
    print(f"{name:16} {flat} view: {np.shares_memory(flat, x)}")

# %% [markdown]
# A vector has one stride. `x.reshape(-1)` visits the memory of `x` in steps of 1. For
# `x.T.reshape(-1)` the steps would be 3, -2, 3, -2, 3, so NumPy copies.
#
# 2. Time `x + 1`, and for the addition alone `x.data + 1`, for tensors of 1, 100, 10,000 and
#    1,000,000 elements. Up to which size does the rest of `apply` take longer than the
#    addition? What follows for small networks?

# %% tags=["answer", "explained"]
for size in (1, 100, 10_000, 1_000_000):
    x = Tensor(np.ones(size, "float32"))
    whole = min(repeat(lambda: x + 1, number=20))
    alone = min(repeat(lambda: x.data + 1, number=20))
    print(f"{size:9,} elements: x + 1 takes {whole / alone:.1f} times as long as the addition")

# %% [markdown]
# Where the factor is above 2, the rest of `apply` takes longer than the addition. The rest
# takes the same time for any size, so a small network spends most of its time on it. Give such
# a network many examples at once.
#
# 3. `guesses - targets` of shapes (3, 1) and (3,) was an accident that broadcasting allowed.
#    Invent a stricter rule that does not allow it. Which useful line of this chapter would your
#    rule not allow either?

# %% tags=["answer", "explained"]
rows = Tensor([[1, 1, 2], [3, 0, 1]])
print(rows.shape, "divided by", rows.sum(axis=1, keepdims=True).shape)

# %% [markdown]
# For example: a missing axis is repeated, an axis of length 1 is not. This rule also refuses to
# divide each row by its sum.
#
# In PyTorch: `torch.tensor`, `x.stride()` (in elements, as yours; NumPy counts bytes),
# `x.is_contiguous()`, `torch.broadcast_shapes`, `x.permute` for `transpose`,
# `torch.index_select` for `x[[2, 0, 2]]`. Its `var` has `correction=1` by default; yours has 0,
# as NumPy's.
