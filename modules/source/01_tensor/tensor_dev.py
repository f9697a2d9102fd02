# %% [markdown]
# # 01. Tensor
#
# The picture below shows ten handwritten digits, and above each one what a neural network says
# it is. The network had never seen these images before. An image of 8 by 8 pixels comes in as a
# row of 64 numbers; all that the network computes with it stands in three lines of the code:
# two matrix products, two additions, a maximum with 0, and the index of the largest score.

# %% tags=["payoff"]
#| default_exp core.tensor
#| export
import itertools
import math
import threading

import numpy as np

from tinytorch.lazy import autograd_lesson
from tinytorch.support.arrays import (
    as_array, as_index_array, as_tuple, axes_of, explain_error, flattened_shape, pad_pairs,
    squeezed_shape, write_in_place)
from tinytorch.support.forward import (
    clip_forward, concatenate_forward, max_forward, min_forward, name_of, pad_forward, power,
    relu_forward, reshape_forward, sigmoid_forward, stack_forward, sum_forward, take_forward)
from tinytorch.support.missing_names import numpy_names
from tinytorch.support.tensor_methods import TensorMethods

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
# alt: Ten handwritten digits of 8 by 8 pixels. The answers above nine of them are right; a 9
# is taken for a 7, which is marked in red.

# %% [markdown]
# Images, *weights* (the numbers `W1`, `b1`, `W2`, `b2`) and results are all arrays. An array
# library stores them and computes with all their elements at once; every network is written in
# its operations. In this chapter you build one, the class `Tensor`, on top of NumPy. At the
# end it runs the network above. In later lessons, the same class will also compute *gradients*,
# with which a network learns its weights from examples.
#
# **You need** Python and a little NumPy. **You write** thirteen short functions: strides,
# broadcasting, the constructor, the function through which every operation goes, reductions,
# reshaping, matrix products, indexing.
#
# `tito export` copies the cells that begin with `#| export` or `#| exporti` into your library,
# `tinytorch/core/tensor.py`. What is imported from `tinytorch.support` is given.

# %% [markdown]
# ## Shape, axis and rank
#
# A **tensor** is an array of numbers of one type, arranged along any number of axes. An
# **axis** is one direction of an array, with a length; axes are numbered from 0, and from the
# end with -1. The **shape** of a tensor is the tuple of the lengths of its axes. The **rank**
# of a tensor is the number of its axes.
#
# Predict rank and shape of: one number, one column of `W1`, one image of 8 by 8 pixels, all 359
# images.

# %% tags=["answer"]
for name, array in [("one number", np.array(0.5)), ("one column of W1", W1[:, 0]),
                    ("one image", images[0].reshape(8, 8)),
                    ("all images", images.reshape(359, 8, 8))]:
    print(f"{name:18}  rank {array.ndim}  shape {array.shape}")

# %% [markdown]
# A tensor of rank 0 is called a *scalar*, of rank 1 a *vector*, of rank 2 a *matrix*. The word
# *dimension* means an axis in some texts and its length in others; we say axis and length.
#
# ## Row-major order and strides
#
# Memory is one long row of numbers. How can it hold a matrix? In **row-major order**, the rows
# of an array stand one after the other in memory, so the last index changes fastest. The
# **stride** of an axis is the distance in memory between two elements that are neighbours along
# this axis. With the strides, the position of the element at index (i, j) is
# `i * strides[0] + j * strides[1]`:

# %%
from tinytorch.pictures.tensor import draw_strides

x = np.array([[10, 11, 12], [20, 21, 22]])
draw_strides(x, (1, 2))  # alt: Six memory cells, 10 11 12 20 21 22, and below them the array
# of shape (2, 3) with strides (3, 1). For x[1, 2], arrows go 1 times 3 and 2 times 1 positions
# along memory, to position 5, which holds 22.

# %% [markdown]
# The next row begins 3 positions further, because a row has 3 elements; the next column is 1
# position further. Predict the strides of shape (2, 3, 4) before you write.
#
# **Task.** Write `strides_of`, for any rank, to understand strides. NumPy computes its own.

# %% exercise="strides"
#| export
def strides_of(shape):
    """The strides of an array in row-major order, counted in elements.

    shape    tuple of axis lengths
    returns  tuple of as many Python ints; () for shape ()

    >>> strides_of((2, 3))
    (3, 1)

    Source: Van der Walt, Colbert, Varoquaux, The NumPy array (2011), section "Strides".
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
# To transpose a matrix, NumPy moves no number. It exchanges the two lengths of the shape and
# the two strides; the memory stays as it is:

# %%
draw_strides(x.T, (2, 1), "x.T")  # alt: The same six memory cells in the same order. The
# array x.T has shape (3, 2) and strides (1, 3). For x.T[2, 1], arrows go 2 times 1 and 1 times
# 3 positions along memory and end at position 5 again, which holds 22.

# %% [markdown]
# **View and copy** are the two kinds of array that can be made from another array: a view
# shares its memory, a copy has memory of its own. A view costs no time, whatever its size. But
# whoever writes into a view changes the original, too.
#
# An array is **contiguous** when its elements lie in memory in row-major order, without gaps.
# `x` is, `x.T` is not. Predict: which of these three share the memory of `x`?

# %% tags=["answer", "explained"]
for name, result in [("x[:, 1:]", x[:, 1:]), ("x.reshape(3, 2)", x.reshape(3, 2)),
                     ("x.T.reshape(6)", x.T.reshape(6))]:
    print(f"{name:16} view: {np.shares_memory(result, x)!s:6} "
          f"contiguous: {result.flags.c_contiguous}")

# %% [markdown]
# The slice is a view with gaps. `x.T.reshape(6)` is 10, 20, 11, 21, 12, 22. No single stride
# leads through the memory of `x` in this order, so NumPy copies.
#
# ## Broadcasting
#
# In the network above, `images @ W1` has shape (359, 256) and `b1` has shape (256,). The sum
# adds the same 256 numbers, a *bias*, to every row. **Broadcasting** is the rule by which
# arrays of different shapes take part in one operation: their shapes are aligned at the right
# ends, a missing length counts as 1, and an axis of length 1 is repeated to fit the other
# array. Nothing is copied: an axis that is repeated gets stride 0.

# %%
from tinytorch.pictures.tensor import draw_broadcasting

draw_broadcasting([[1, 2, 3], [4, 5, 6]], [10, 20, 30])
# alt: The shapes (2, 3) and (3,) stand one below the other, aligned at their right ends; the
# missing length is a dashed 1. The row 10 20 30 is repeated for the second row of the matrix,
# and the sum is 11 22 33, 14 25 36.

# %% [markdown]
# On each axis the lengths must be equal, or one of them must be 1.
#
# Predict the shape of `guesses - targets` for shapes (3, 1) and (3,). Somebody wanted three
# differences, all of them 0:

# %% tags=["answer", "explained"]
targets = np.array([0.5, 2.0, 4.0])
guesses = targets.reshape(3, 1)
unwanted = [(i, j) for i in range(3) for j in range(3) if i != j]
draw_broadcasting(guesses, targets, "-", unwanted)
# alt: (3, 1) minus (3,) has shape (3, 3): the column is repeated to the right, the row
# downward. Only the three zeros on the diagonal were wanted; the other six numbers are hatched.

# %% [markdown]
# The result has nine numbers. No library can catch this bug, because these shapes do broadcast:
# compare the shape of a result with the one you expect.
#
# **Task.** Write `broadcast_shape`, for any number of shapes. Its error is what users of your
# library will read when shapes do *not* broadcast.

# %% exercise="broadcast"
#| export
def broadcast_shape(*shapes):
    """The shape of a result whose inputs have these shapes.

    shapes   one or more tuples, of any ranks
    returns  the common shape, a tuple

    Raises ValueError, with all the shapes in its text, when on one axis two lengths differ and
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

# %% [markdown]
# ## The Tensor class
#
# `Tensor` holds a NumPy array in `.data` and adds what learning needs. It inherits its methods
# from five given classes, which you need not read now. Nearly every method calls `apply`,
# which you write in the next section, with a NumPy function and the inputs. First, the
# operators:

# %%
#| exporti
class Operators:
    """Arithmetic and comparisons, with tensors, arrays and Python numbers on either side."""

    __slots__ = ()
    __hash__ = object.__hash__  # by identity, because `==` compares elementwise
    def _apply(self, op, *others, **options): return apply(op, self, *others, **options)

    def __add__(self, other): return apply(np.add, self, other)
    def __radd__(self, other): return reflected(np.add, self, other)
    def __iadd__(self, other): return updated(np.add, self, other, "+=")
    def __sub__(self, other): return apply(np.subtract, self, other)
    def __rsub__(self, other): return reflected(np.subtract, self, other)
    def __isub__(self, other): return updated(np.subtract, self, other, "-=")
    def __mul__(self, other): return apply(np.multiply, self, other)
    def __rmul__(self, other): return reflected(np.multiply, self, other)
    def __imul__(self, other): return updated(np.multiply, self, other, "*=")
    def __truediv__(self, other): return apply(np.divide, self, other)
    def __rtruediv__(self, other): return reflected(np.divide, self, other)
    def __itruediv__(self, other): return updated(np.divide, self, other, "/=")
    def __pow__(self, other): return apply(power, self, other)
    def __rpow__(self, other): return reflected(power, self, other)
    def __ipow__(self, other): return updated(power, self, other, "**=")
    def __matmul__(self, other): return apply(np.matmul, self, other)
    def __rmatmul__(self, other): return reflected(np.matmul, self, other)
    def __imatmul__(self, other): return updated(np.matmul, self, other, "@=")
    def __neg__(self): return apply(np.negative, self)
    def __abs__(self): return apply(np.absolute, self)

    def __eq__(self, other):
        return NotImplemented if other is None else apply(np.equal, self, other)
    def __ne__(self, other):
        return NotImplemented if other is None else apply(np.not_equal, self, other)
    def __lt__(self, other): return apply(np.less, self, other)
    def __le__(self, other): return apply(np.less_equal, self, other)
    def __gt__(self, other): return apply(np.greater, self, other)
    def __ge__(self, other): return apply(np.greater_equal, self, other)

# %% [markdown]
# Next the functions of each element, and the reductions, which make one number of many:

# %%
#| exporti
class Mathematics:
    """Elementwise functions, and reductions along an axis: an int, a tuple, or None for all."""

    __slots__ = ()

    def exp(self): return apply(np.exp, self)
    def log(self): return apply(np.log, self)
    def sqrt(self): return apply(np.sqrt, self)
    def sin(self): return apply(np.sin, self)
    def cos(self): return apply(np.cos, self)
    def tanh(self): return apply(np.tanh, self)
    def sigmoid(self): return apply(sigmoid_forward, self)
    def relu(self): return apply(relu_forward, self)
    def maximum(self, other): return maximum(self, other)
    def minimum(self, other): return minimum(self, other)
    def clip(self, low=None, high=None): return apply(clip_forward, self, low=low, high=high)
    def where(self, condition, other): return where(condition, self, other)

    def sum(self, axis=None, keepdims=False):
        return apply(sum_forward, self, axis=axis, keepdims=keepdims)
    def max(self, axis=None, keepdims=False):
        return apply(max_forward, self, axis=axis, keepdims=keepdims)
    def min(self, axis=None, keepdims=False):
        return apply(min_forward, self, axis=axis, keepdims=keepdims)
    def mean(self, axis=None, keepdims=False):
        return self.sum(axis, keepdims) / count_along(self, axis)
    def var(self, axis=None, keepdims=False, correction=0):
        return var(self, axis, keepdims, correction)
    def std(self, axis=None, keepdims=False, correction=0):
        return var(self, axis, keepdims, correction).sqrt()

# %% [markdown]
# And the methods that change the shape, or select some of the elements:

# %%
#| exporti
class Shapes:
    """The same elements in another shape, or some of them."""

    __slots__ = ()

    def reshape(self, *shape): return reshape(self, *shape)
    def flatten(self, start_axis=0, end_axis=-1):
        return reshape(self, flattened_shape(self.shape, start_axis, end_axis))
    def squeeze(self, axis=None): return reshape(self, squeezed_shape(self.shape, axis))
    def unsqueeze(self, axis): return unsqueeze(self, axis)
    def transpose(self, *axes): return transpose(self, *axes)
    def swapaxes(self, axis1, axis2): return swapaxes(self, axis1, axis2)
    def broadcast_to(self, *shape): return broadcast_to(self, *shape)
    def pad(self, width, value=0):
        return apply(pad_forward, self, width=pad_pairs(width, self.shape), value=value)

    T = property(lambda self: transpose(self), doc="The axes reversed: rows become columns.")

    def __getitem__(self, index): return apply(take_forward, self, index=copy_index(index))
    def __setitem__(self, index, value): put(self, index, value)

# %% [markdown]
# Now the class itself. `__slots__` names the only attributes that a tensor may have: it takes
# less memory, and a misspelt `x.gard = 0` is an error instead of a silent new attribute.
#
# **Task.** Write the body of `Tensor.__init__`. It sets the four attributes described in the
# docstring. `as_array(data, requires_grad)` is given: it makes a new array of a number, lists
# or an array, chooses the dtype, and refuses anything else with a clear error. Of a Tensor,
# give it the array inside.

# %% exercise="init"
#| export
class Tensor(Operators, Mathematics, Shapes, TensorMethods):
    """An array of numbers that can record how it was computed.

    data           a number, nested lists, an ndarray or a Tensor; always copied
    requires_grad  record operations on this tensor, so that `backward()` can compute its
                   gradient

    .data           the ndarray
    .grad           None; later the gradient, an ndarray
    .requires_grad  as given, False or True
    .creator        None; of results, how they were computed

    A Tensor made from a Tensor takes its numbers only. Dtypes: see `as_array`.

    >>> Tensor([[1, 0.5], [2, 4]]).shape
    (2, 2)

    Source: torch.Tensor; PyTorch calls the creator `grad_fn`.
    """

    __slots__ = ("data", "grad", "requires_grad", "creator", "__weakref__")

    def __init__(self, data, requires_grad=False):
        ### BEGIN SOLUTION
        if isinstance(data, Tensor):
            data = data.data
        self.data = as_array(data, requires_grad)
        self.grad = None
        self.requires_grad = requires_grad
        self.creator = None
        ### END SOLUTION

    shape = property(lambda self: self.data.shape, doc="The length of each axis, a tuple.")
    ndim = property(lambda self: self.data.ndim, doc="The rank: how many axes.")
    size = property(lambda self: self.data.size, doc="How many elements.")
    dtype = property(lambda self: self.data.dtype, doc="The NumPy dtype of the elements.")

    def detach(self):
        """A tensor on the same memory, without the record of how it was computed."""
        return wrap(self.data)

    def backward(self, gradient=None, retain_graph=False):
        """Compute the gradient of this scalar for every tensor it was computed from."""
        return autograd_lesson().backward(self, gradient, retain_graph)

# %% checks="init"
check("init")

# %%
x = Tensor([[1, 0.5], [2, 4]])
print(x, "shape", x.shape, "rank", x.ndim, "dtype", x.dtype)

# %% [markdown]
# `Variable` is a tensor whose gradient is wanted: a weight, say. `wrap` makes the tensors that
# hold results: it neither copies nor checks, to save time. Both are given.

# %%
#| export
def Variable(data, requires_grad=True):
    """A Tensor whose gradient is wanted."""
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
# Every operation on tensors needs the same four steps: take the arrays out of the inputs, run
# a NumPy function on them, put the result into a new tensor, and record how it was computed. If
# one function, `apply`, does this for all operations, it is written and tested once. Each step
# has a given helper. The first is `operand`, which says what may take part in an operation:

# %%
#| exporti
NUMBERS, FLOAT32, ndarray = (float, int, bool), np.dtype(np.float32), np.ndarray


def operand(x):
    """What NumPy is to compute with for `x`: an ndarray or a Python number; else TypeError."""
    if isinstance(x, Tensor):
        return x.data
    if type(x) in NUMBERS or isinstance(x, ndarray):
        return x
    if isinstance(x, np.generic):
        return x.item()  # np.sqrt(64) counts as a Python number, which takes the tensor's dtype
    if isinstance(x, (list, tuple)):
        return as_array(x)
    raise TypeError(f"cannot compute with {x!r:.60}: a Tensor, an array or a number is needed")

# %% [markdown]
# `run` calls the NumPy function. When NumPy refuses, the error names the shapes, with the help
# of your `broadcast_shape`. (`matmul_shape` and `result_dtype` come later in this chapter.) The
# third helper, `wrap`, you know.

# %%
#| exporti
def run(op, arrays, options):
    """op(*arrays, **options) as an ndarray; `result_dtype` decides on other floats."""
    try:
        out = op(*arrays, **options)
    except (ValueError, IndexError, TypeError) as error:
        common_shape = matmul_shape if op is np.matmul else broadcast_shape
        raise explain_error(error, op, arrays, options, common_shape) from None
    if type(out) is not ndarray:
        out = np.asarray(out)  # NumPy returns a bare number for rank 0
    if out.dtype is not FLOAT32 and out.dtype.kind == "f":
        out = out.astype(result_dtype(out.dtype, arrays), copy=False)
    return out

# %% [markdown]
# The last step is for learning. `backward()`, in the autograd lesson, will go back from a
# result to all that it was computed from. So a result keeps a `Creator`: the operation, its
# options, its inputs (which get gradients), and the arrays that were inside them (with which
# derivatives are computed). Results and creators together are called the *computation graph*.
# It is recorded only when some input requires a gradient, and never for results without a
# derivative: integers, and True or False.

# %%
#| exporti
class Recording(threading.local):
    """Whether operations are recorded, in this thread. `no_grad` switches it off."""

    on = True


recording = Recording()
next_creation = itertools.count().__next__


class Creator:
    """A node of the computation graph: a result was op(*arrays, **options).

    inputs   what `apply` was given
    arrays   what was inside the inputs then
    created  a number that grows, so that `backward()` can go from the newest to the oldest
    """

    __slots__ = ("op", "inputs", "arrays", "options", "created")

    def __init__(self, op, inputs, arrays, options):
        self.op, self.inputs = op, inputs
        self.arrays, self.options = arrays, options
        self.created = next_creation()

    def __repr__(self):
        return name_of(self.op)


def any_requires_grad(inputs):
    """Whether one of `inputs` is a Tensor that requires a gradient."""
    for x in inputs:
        if isinstance(x, Tensor) and x.requires_grad:
            return True
    return False

# %% [markdown]
# **Task.** Write `apply`, in the four steps above. `np.subtract` needs arrays and numbers, so
# each input goes through `operand` first. When `recording.on` is true, an input requires a
# gradient, and the result's dtype is a float (`dtype.kind == "f"`), the result gets
# `requires_grad = True` and a `Creator`.

# %% exercise="apply"
#| export
def apply(op, *inputs, **options):
    """Run `op` on the arrays inside `inputs`. Every operation on a Tensor comes through here.

    op       a function of arrays that returns an array: np.add, np.exp, ...
    inputs   Tensors, arrays, numbers or lists; TypeError, from `operand`, for anything else
    options  keyword arguments of `op`, such as axis=0
    returns  a new Tensor around what `run` returns, not a copy of it; its creator records `op`,
             the inputs as given, their arrays, and the options

    >>> apply(np.add, Tensor([1.0, 2.0]), 0.5)
    Tensor([1.5, 2.5])

    Source: Baydin et al., Automatic differentiation in machine learning (2018), section 4.
    """
    ### BEGIN SOLUTION
    arrays = ()
    for x in inputs:
        arrays += (operand(x),)
    data = run(op, arrays, options)
    out = wrap(data)
    if recording.on and any_requires_grad(inputs) and data.dtype.kind == "f":
        out.requires_grad = True
        out.creator = Creator(op, inputs, arrays, options)
    return out
    ### END SOLUTION

# %% checks="apply"
check("apply")

# %% [markdown]
# The operators work now. Creators lead from a result back to what it was computed from; this
# loop follows the first input of each:

# %%
w = Variable([0.5, -1.0, 2.0])
y = (w * [1.0, 2.0, 4.0] + 10.0).sum()
print(y)
while y.creator:
    print(f"{y.data} = {y.creator} of {y.creator.arrays[0]}")
    y = y.creator.inputs[0]

# %% [markdown]
# ## Reflected operators
#
# `x - 5` calls `x.__sub__(5)`. For `5 - x`, Python first asks the number 5, which does not know
# tensors, and then the *reflected* method of the tensor, `x.__rsub__(5)`. There, `self` stands
# on the right of the operator. For `+`, nobody would notice a mix-up. Predict for which of
# `- * / ** @` somebody would.
#
# **Task.** Write `reflected`, which all reflected methods call.

# %% exercise="reflected"
#| export
def reflected(op, x, other):
    """Compute `other op x`, for a Tensor that stands on the right of the operator.

    op       np.subtract, np.divide, ...
    x        the Tensor
    other    what stands on the left: a number, an array or a list
    returns  a Tensor, recorded like every result of `apply`

    >>> reflected(np.subtract, Tensor([1, 2, 3]), 5)
    Tensor([4, 3, 2])

    Source: The Python Language Reference, section 3.3.8, "Emulating numeric types".
    """
    ### BEGIN SOLUTION
    return apply(op, other, x)
    ### END SOLUTION

# %% checks="reflected"
check("reflected")

# %% [markdown]
# For `*` nobody would, either. The others give other numbers, or, for `@`, often an error.
#
# One more trap. `w -= 0.1 * w.grad` looks like a change of `w`, but gives the name `w` to a
# *result*, whose `.grad` is None, and the next training step fails. So `+= -= *= /= **= @=`
# refuse a tensor that was made with `requires_grad=True` while operations are recorded. Inside
# `with no_grad():` (lesson 06) they write into its array, as `w.data -= 0.1 * w.grad` does.

# %%
#| exporti
def updated(op, x, other, sign):
    """x += other, x *= other, ...: a new tensor; what is to be learned is changed in place."""
    if x.requires_grad and x.creator is None:
        return write_in_place(x, run(op, (x.data, operand(other)), {}), sign, recording.on)
    return apply(op, x, other)

# %% [markdown]
# ## Elementwise operations
#
# An **elementwise operation** computes each element of its result from the elements at the same
# index of its inputs. All arithmetic is of this kind, and so are `exp`, `relu` and the other
# methods in the class `Mathematics`. Three have more than one input, and are functions as well:

# %%
#| export
def maximum(a, b):
    """The larger of two numbers, elementwise; shapes broadcast."""
    return apply(np.maximum, a, b)


def minimum(a, b):
    """The smaller of two numbers, elementwise; shapes broadcast."""
    return apply(np.minimum, a, b)


def where(condition, a, b):
    """From `a` where `condition` is true, from `b` elsewhere; shapes broadcast.

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
# A **dtype** is the type of number that all elements of an array have: how many bytes one
# takes, and whether it is an integer, a floating-point number, or a bool. NumPy computes with
# `float64`, 8 bytes. `float32` is enough for networks: 4 bytes and seven decimal digits, far
# more than their data has, in half of the memory. The difference in numbers:

# %%
wide = np.random.default_rng(0).normal(size=200_000)
narrow = wide.astype(np.float32)
print(f"memory: {wide.nbytes:,} and {narrow.nbytes:,} bytes")
print(f"largest error: {np.abs(wide - narrow).max():.1e}")

# %% [markdown]
# So `as_array` makes `float32` of Python floats and of lists with a float in them. An ndarray
# keeps its dtype: somebody chose it. Lists of integers count something or are indices, so
# `Tensor([3])` is `int64` (in a browser `int32`); but `Tensor(3)`, mostly a constant in a
# formula, is `float32`. With `requires_grad=True` integers become `float32`, for derivatives.
#
# Results need a rule, too. Predict which of these NumPy results are `float64`, though no
# `float64` array went in:

# %% tags=["answer", "explained"]
single, whole = np.ones(3, "float32"), np.array([1, 2, 3])
for name, result in [("single * 2.5", single * 2.5), ("single * whole", single * whole),
                     ("whole / whole", whole / whole), ("np.exp(whole)", np.exp(whole))]:
    print(f"{name:16} {result.dtype}")

# %% [markdown]
# Three of four. From then on all that is computed from them has twice the size. The rule of
# this library: a result is `float64` only if an array that went in was `float64`.
#
# **Task.** Write `result_dtype`. `run` calls it when NumPy returns floats that are not float32.

# %% exercise="dtype"
#| export
def result_dtype(dtype, arrays):
    """The dtype that the result of an operation gets.

    dtype    the np.dtype that NumPy chose
    arrays   what went in: ndarrays and Python numbers
    returns  `dtype` itself if it is no floating-point dtype, or if one of the ndarrays has it;
             else float32, as an np.dtype

    >>> result_dtype(np.dtype("float64"), (np.array([1, 2]), 0.5))
    dtype('float32')

    Source: PyTorch, "Tensor Attributes", type promotion with the default dtype.
    """
    ### BEGIN SOLUTION
    given = [array.dtype for array in arrays if isinstance(array, np.ndarray)]
    if dtype.kind == "f" and dtype not in given:
        return FLOAT32
    return dtype
    ### END SOLUTION

# %% checks="dtype"
check("dtype")

# %%
whole = Tensor([1, 2, 4])
for result in (whole * 2, whole / 2, whole**-1, whole.exp(), whole > 1):
    print(f"{result!s:48} {result.dtype}")

# %% [markdown]
# ## Reductions
#
# A **reduction** combines all elements along one or more axes into one: a sum, a mean, a
# maximum. The axes that it names disappear. The sum of shape (2, 3, 4) along axis 1 has shape
# (2, 4). With `keepdims=True` it has shape (2, 1, 4), which still broadcasts against the
# original; that is how each row is divided by its own sum.
#
# A mean is a sum divided by a count. Predict the count for shape (2, 3, 4) along axis 1, along
# (0, 2), with `axis=None`, and with `axis=()`, which names no axis at all.
#
# **Task.** Write `count_along`, which `mean` divides by. `axes_of(axis, ndim)` is given: it
# turns every way to name axes into a tuple of ints from 0 to ndim - 1, and refuses axes that
# do not exist.

# %% exercise="count"
#| export
def count_along(x, axis=None):
    """How many elements of `x` go into each element of a reduction along `axis`.

    x        Tensor
    axis     an int, a tuple of ints (negative ones count from the end), or None for all
    returns  a Python int

    Raises np.exceptions.AxisError, an IndexError, for an axis that does not exist.

    >>> count_along(Tensor([[1, 2, 3], [4, 5, 6]]), axis=0)
    2

    Source: the definition of the arithmetic mean.
    """
    ### BEGIN SOLUTION
    count = 1
    for a in axes_of(axis, x.ndim):
        count *= x.shape[a]
    return count
    ### END SOLUTION

# %% checks="count"
check("count")

# %% tags=["answer", "explained"]
x = Tensor(np.ones((2, 3, 4)))
print([count_along(x, axis) for axis in (1, (0, 2), None, ())])
rows = Tensor([[1, 1, 2], [3, 0, 1]])
print(rows / rows.sum(axis=1, keepdims=True))

# %% [markdown]
# With `axis=()` each element is its own mean: the count is 1, the product of no lengths.
#
# ## Variance
#
# The variance is the mean of the squared distances from the mean. There is a famous shortcut:
# the mean of the squares minus the square of the mean. Predict what it gives for 8000, 8008 and
# 8016 in float32; the true answer is 42.667.

# %% tags=["answer"]
x = Tensor([8000.0, 8008.0, 8016.0])
print((x * x).mean() - x.mean() * x.mean())

# %% [markdown]
# The squares have eight digits, and float32 keeps seven. Subtracting two large, nearly equal
# numbers leaves mostly rounding errors: *catastrophic cancellation*.
#
# **Task.** Write `var` from the distances themselves. `correction=1` divides by one less than
# the count: the usual estimate when the mean was computed from the same sample.

# %% exercise="var"
#| export
def var(x, axis=None, keepdims=False, correction=0):
    """The variance along `axis`: the mean squared distance from the mean.

    x           Tensor
    axis        an int, a tuple, or None for all
    keepdims    keep the reduced axes, with length 1
    correction  is subtracted from the count that is divided by
    returns     Tensor, recorded like every result; float32 for integers

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

# %% [markdown]
# ## Reshaping
#
# Six elements can have shape (6,), (2, 3), (3, 2) or (1, 6, 1). `reshape` keeps the elements in
# row-major order and changes shape and strides; where it can, the result is a view. One length
# may be given as -1, and is then computed. Predict the shape of `x.reshape(2, -1, 2)` for 12
# elements.
#
# **Task.** Write `infer_shape`, which replaces the -1 and refuses what does not fit.

# %% exercise="infer-shape"
#| export
def infer_shape(shape, size):
    """`shape` with its -1 replaced by the length that fits `size` elements.

    shape    tuple of lengths >= 0; at most one may be -1
    size     how many elements there are
    returns  tuple of lengths whose product is `size`

    Raises ValueError, with the shape and the size in its text, when there is no such tuple, or
    more than one, and for lengths below -1.

    >>> infer_shape((-1, 5), 30)
    (6, 5)

    Source: the rule of numpy.reshape.
    """
    ### BEGIN SOLUTION
    known = math.prod(n for n in shape if n != -1)
    full = shape
    if shape.count(-1) == 1 and known != 0:
        full = tuple(size // known if n == -1 else n for n in shape)
    if min(full, default=0) < 0 or math.prod(full) != size:
        raise ValueError(f"{size} elements do not fit shape {shape}: "
                         f"the lengths must multiply to {size}, one of them may be -1")
    return full
    ### END SOLUTION

# %% checks="infer-shape"
check("infer-shape")

# %%
#| export
def reshape(x, *shape):
    """The same elements, in row-major order, in another shape; one length may be -1.

    >>> reshape(Tensor([1, 2, 3, 4, 5, 6]), 2, -1)
    Tensor([[1, 2, 3],
            [4, 5, 6]])
    """
    return apply(reshape_forward, x, shape=infer_shape(as_tuple(shape), x.size))


def unsqueeze(x, axis):
    """A new axis of length 1, which is axis `axis` of the result.

    >>> unsqueeze(Tensor([1, 2, 3]), -1).shape
    (3, 1)
    """
    (new,) = axes_of(axis, x.ndim + 1)
    return reshape(x, *x.shape[:new], 1, *x.shape[new:])


def broadcast_to(x, *shape):
    """`x` broadcast to `shape`: a view with strides of 0, which can only be read."""
    shape = as_tuple(shape)
    if broadcast_shape(x.shape, shape) != shape:
        raise ValueError(f"shape {x.shape} does not broadcast to {shape}: "
                         "only lengths of 1 can be repeated")
    return apply(np.broadcast_to, x, shape=shape)

# %% [markdown]
# Of 12 elements, `x.reshape(2, -1, 2)` has shape (2, 3, 2). `as_tuple`, given, lets users also
# write `x.reshape((2, -1, 2))`. `squeeze` removes axes of length 1, and `flatten` joins axes;
# both only compute a shape.
#
# ## Permuting axes
#
# A photograph is often stored as (height, width, channels): red, green and blue of each pixel.
# Networks use (channels, height, width). Reshaping gives the right *shape* but mixes the
# channels, because the elements keep their order in memory:

# %%
from tinytorch.pictures.tensor import draw_channels

picture = Tensor([[[1, 20, 300], [2, 21, 301]]])  # height 1, width 2, 3 channels
draw_channels(picture.data)
# alt: A picture of shape (1, 2, 3): two pixels, 1 20 300 and 2 21 301, with a colour for each
# channel. Its reshape to (3, 1, 2) has the rows 1 20, 300 2 and 21 301, with mixed colours; its
# transpose by (2, 0, 1) has the rows 1 2, 20 21 and 300 301, each of one colour.

# %% [markdown]
# **Task.** Write `transpose`: the axes in the order given, or reversed when none is given. The
# work is to settle the order, and to refuse one that is wrong (the error of `axes_of` does not
# name the shape); `np.transpose` does the rest.

# %% exercise="transpose"
#| export
def transpose(x, *axes):
    """The axes of `x` in another order: axis i of the result is axis axes[i] of `x`.

    x        Tensor
    axes     each axis once, as several ints or one tuple; negative ones count from the end;
             none: reversed
    returns  Tensor that shares memory with `x`, by np.transpose; its creator's options are
             {"axes": a tuple of ints from 0}, from which the order can be undone

    Raises ValueError, with the shape of `x` in its text, unless each axis is named once.

    >>> transpose(Tensor(np.ones((2, 3, 4))), 2, 0, 1).shape
    (4, 2, 3)

    Source: numpy.transpose; PyTorch calls it permute.
    """
    ### BEGIN SOLUTION
    order = as_tuple(axes) if axes else tuple(reversed(range(x.ndim)))
    order = tuple(a + x.ndim if a < 0 else a for a in order)
    if sorted(order) != list(range(x.ndim)):
        raise ValueError(f"axes {axes} do not name each axis of shape {x.shape} once")
    return apply(np.transpose, x, axes=order)
    ### END SOLUTION

# %% checks="transpose"
check("transpose")

# %%
print(picture.transpose(2, 0, 1))

# %%
#| export
def swapaxes(x, axis1, axis2):
    """`x` with two axes exchanged, the commonest case of `transpose`."""
    order = list(range(x.ndim))
    a, b = axes_of((axis1, axis2), x.ndim)
    order[a], order[b] = b, a
    return apply(np.transpose, x, axes=tuple(order))  # a permutation

# %% [markdown]
# ## Matrix products
#
# In the network above, each number in `hidden` depends on all 64 of an image, by a *matrix
# product*, $c_{ij} = \sum_k a_{ik} b_{kj}$: multiply row i of `a` by column j of `b`, element
# by element, and add up. The **inner dimension** of a matrix product is the length that both
# matrices must have in common: that of a row of the left one and of a column of the right one.

# %%
from tinytorch.pictures.tensor import draw_matmul

draw_matmul([[1, 2, 3], [4, 5, 6]], [[1, 0], [0, 1], [2, -1]], 0, 0)
# alt: The matrix a of shape (2, 3) stands at the left, b of shape (3, 2) above, the product of
# shape (2, 2) in the corner between them. The first row of a and the first column of b are
# marked; element (0, 0) is 1 times 1 plus 2 times 0 plus 3 times 2, which is 7.

# %% [markdown]
# You have all that this needs: give `a` and `b` the three axes i, k and j, multiply them by
# broadcasting, and sum over k. Predict which axis `a` of shape (i, k) lacks, and which `b`.
#
# **Task.** Write `matmul_by_broadcasting`, for two matrices, without a loop and without `@`.

# %% exercise="matmul-by-broadcasting"
#| export
def matmul_by_broadcasting(a, b):
    """The matrix product, from a broadcast product and a sum.

    a        Tensor of shape (i, k)
    b        Tensor of shape (k, j)
    returns  Tensor of shape (i, j), recorded through * and a sum

    >>> matmul_by_broadcasting(Tensor([[1, 2, 3]]), Tensor([[1], [10], [100]]))
    Tensor([[321]])

    Source: Strang, Introduction to Linear Algebra, section 2.4.
    """
    ### BEGIN SOLUTION
    products = unsqueeze(a, 2) * unsqueeze(b, 0)  # (i, k, j)
    return products.sum(axis=1)
    ### END SOLUTION

# %% checks="matmul-by-broadcasting"
check("matmul-by-broadcasting")

# %% [markdown]
# `a` lacks the last axis, j, and `b` the first, i. The method is right, and expensive: the
# array of products has $i \cdot k \cdot j$ elements. NumPy's `matmul`, which `@` calls, never
# builds it. Predict the ratio of times for shapes (96, 96).

# %% tags=["answer"]
from timeit import repeat

a, b = [Tensor(m) for m in np.random.default_rng(1).normal(size=(2, 96, 96)).astype("float32")]
slow = min(repeat(lambda: matmul_by_broadcasting(a, b), number=1))
fast = min(repeat(lambda: a @ b, number=1))
print(f"array of products: {96**3 * 4:,} bytes, {slow / fast:.0f} times slower")

# %% [markdown]
# ## Batches of matrices
#
# Networks multiply many matrices at once: in `(10, 2, 3) @ (10, 3, 4)`, ten pairs of matrices,
# only the last two axes are matrices. A **batch dimension** is an axis along which an operation
# is repeated, for each index separately. Here these are the axes in front of the matrices, and
# they broadcast. A tensor of rank 1 takes part as a row on the left or as a column on the
# right: it gets an axis of length 1, which is removed again from the result.
#
# Predict the shapes of (5, 1, 2, 3) @ (4, 3, 7) and of (3,) @ (4, 3, 7).
#
# **Task.** Write `matmul_shape`. Its error is what `@` will say to those who get the order
# wrong.

# %% exercise="matmul-shape"
#| export
def matmul_shape(a, b):
    """The shape of `x @ y` for tensors of shapes `a` and `b`.

    a, b     tuples: (k,) or (..., i, k), and (k,) or (..., k, j)
    returns  tuple: batch + (i, j), without i when `a` has rank 1, without j when `b` has rank 1

    Raises ValueError, with both shapes in its text: for rank 0, for inner dimensions that
    differ, for batch dimensions that do not broadcast.

    >>> matmul_shape((10, 2, 3), (10, 3, 4))
    (10, 2, 4)

    Source: Python Enhancement Proposal 465, "Semantics".
    """
    ### BEGIN SOLUTION
    if not a or not b or a[-1] != b[-2:][0]:
        raise ValueError(
            f"cannot multiply shape {a} by {b}: the inner dimensions must be equal, the last "
            "length of the left and the last but one of the right (its only one, at rank 1)")
    try:
        batch = broadcast_shape(a[:-2], b[:-2])
    except ValueError as error:
        raise ValueError(f"cannot multiply shape {a} by {b}: batch {error}") from None
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    return batch + rows + columns
    ### END SOLUTION

# %% checks="matmul-shape"
check("matmul-shape")

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
# like: `x[[2, 0, 2]]`. Masks and gathering copy. A Tensor should serve as mask or indices, too.
#
# Reading, `y = x[picked]`, goes through `apply`, and the index becomes part of the computation
# graph, as an option. If `picked[:] = 1` is run before `backward()`, the graph is wrong. So
# `copy_index`, which you write, has to copy it. Writing, `x[0] = 5`, would overwrite numbers
# that the graph still needs, so it is refused for tensors that require a gradient:

# %%
#| exporti
def put(x, index, value):
    """x[index] = value, in place; RuntimeError when a gradient is wanted."""
    needed = x.requires_grad or isinstance(value, Tensor) and value.requires_grad
    if x.creator is not None or (needed and recording.on):
        raise RuntimeError(
            "writing into this tensor would change numbers that the computation graph needs; "
            "make a new tensor with where(), or write into x.detach()")
    x.data[copy_index(index)] = operand(value)

# %% [markdown]
# **Task.** Write `copy_index`. `as_index_array(part)` is given: it makes a new array of the
# indices or truth values in a Tensor, an array or a list. Predict first: what does Python pass
# to `__getitem__` for `x[0, mask]`?

# %% exercise="index"
#| export
def copy_index(index):
    """What stands between the brackets of x[...], as a tuple that nobody can change later.

    index    int, slice, None, Ellipsis, a list or array of ints, a mask, a Tensor of ints or
             bools, or a tuple of these
    returns  tuple with one part for each: a new array, by as_index_array, for each Tensor,
             array or list; all else as it was

    >>> copy_index((0, Tensor([True, False])))
    (0, array([ True, False]))

    Source: NumPy user guide, "Indexing on ndarrays".
    """
    ### BEGIN SOLUTION
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(as_index_array(part) if isinstance(part, (Tensor, np.ndarray, list)) else part
                 for part in parts)
    ### END SOLUTION

# %% checks="index"
check("index")

# %%
x = Tensor([5.0, -1.0, 7.0, -2.0])  # of x[0, mask], Python passes one tuple, (0, mask)
print(x[1:3], x[x > 0], x[[2, 0, 2]], sep="\n")

# %% [markdown]
# ## Joining tensors
#
# Two functions make one tensor of several. Each of the joined tensors is an input of `apply`,
# so each can get a gradient of its own.

# %%
#| export
@numpy_names
def concatenate(tensors, axis=0):
    """Tensors one after the other along an axis they have; all other lengths must agree."""
    return apply(concatenate_forward, *tensors, axis=axis)


@numpy_names
def stack(tensors, axis=0):
    """Tensors of one shape side by side along a new axis.

    >>> stack([Tensor([1, 2]), Tensor([3, 4])], axis=1)
    Tensor([[1, 3],
            [2, 4]])
    """
    return apply(stack_forward, *tensors, axis=axis)

# %% [markdown]
# ## The network, on your own tensors
#
# Back to the digits: here is the same network, written with your class.

# %% tags=["payoff"]
weights = [Variable(part) for part in (W1, b1, W2, b2)]
hidden = (Tensor(images) @ weights[0] + weights[1]).relu()
scores = hidden @ weights[2] + weights[3]
answers = scores.data.argmax(axis=1)
print(f"{(answers == labels).mean():.1%} of {len(labels)} new digits are right")
draw_digits(images[10:20], answers[10:20], labels[10:20]);  # alt: The ten digits again, with
# the answers of your own tensors: nine are right, the 9 that is taken for a 7 is marked in red.

# %% [markdown]
# The weights are Variables, so a graph was recorded. Predict how many operations it holds.

# %% tags=["answer", "explained"]
node = scores
while node.creator:
    print(f"{node.creator!r:6} gives {node.shape}")
    node = node.creator.inputs[0]

# %% [markdown]
# Five operations. The network has 19,210 weights. In which direction would each of them have to
# change for fewer mistakes? Lesson 06 follows this graph backward and computes it.
#
# ## Look back
#
# 1. `x.T.reshape(-1)` and `x.reshape(-1)` give different orders. Only one of them can be a view
#    of `x`. Which, and what do the strides say about it? Check with `np.shares_memory`.
# 2. Time `x + 1` for tensors of 1, 100, 10,000 and 1,000,000 elements. Up to which size do you
#    mostly pay for `apply`, not for the addition? What follows for small networks?
# 3. `guesses - targets` of shapes (3, 1) and (3,) was an accident that broadcasting allowed.
#    Which rule would have refused it, and which useful line of this chapter, too?
#
# In PyTorch: `torch.tensor`, `x.stride()` (in elements, as yours; NumPy counts bytes),
# `x.is_contiguous()`, `torch.broadcast_shapes`, `torch.result_type`, `x.permute` for
# `transpose`, `torch.index_select` for `x[[2, 0, 2]]`, `x.grad_fn` for `creator`. Its `var` has
# `correction=1` by default, yours and NumPy's 0.
