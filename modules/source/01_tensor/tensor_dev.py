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
#     difficulty: 2
#     enables:
#     - activations
#     - layers
#     - losses
#     - autograd
#     hours: 4
#     prerequisites: []
#     summary: A grid of numbers that adds, broadcasts, reshapes and multiplies
#     terms: []
#     title: Tensor
# ---

# %% [markdown]
# # 01. Tensor
#
# A photograph, a sentence, the weights of a language model: a computer holds each of them as a
# row of numbers and a note of how to read that row. The pair is a *tensor*. This chapter asks
# what must be true of a tensor before a network can be built on it.
#
# **You need** Python and a little NumPy. **You write** thirteen small functions: how numbers
# come in, how they lie in memory, how shapes meet, and the one door that every operation goes
# through.

# %%
#| default_exp core.tensor
#| export
import itertools
import math
import threading

import numpy as np

from tinytorch.support.arrays import copy_of, explained, fresh
from tinytorch.support.forward import (
    clip_forward, concatenate_forward, max_forward, min_forward, pad_forward, power,
    relu_forward, reshape_forward, sigmoid_forward, stack_forward, sum_forward, take_forward)
from tinytorch.support.shapes import as_tuple, axes_of, flattened, margins, squeezed

# %% [markdown]
# `tinytorch.support` holds plain NumPy and Python that this chapter uses and does not teach.
#
# ## Which numbers?
#
# NumPy already stores grids of numbers, so a tensor keeps a NumPy array inside and adds what
# learning needs. First question: numbers of which kind?
#
# Predict before you run: what does each line print, and which takes the least memory a number?

# %%
for data in (3, 0.5, [1, 2], [1, 0.5], [True, False]):
    array = np.array(data)
    print(f"{str(data):15} {str(array.dtype):8} {array.itemsize} bytes a number")

# %% [markdown]
# NumPy gives every fraction 8 bytes: `float64`. Networks do with half. `float32` keeps seven
# digits, far more than noisy data has, and each step of training moves half the bytes. Watch
# the price, and the prize:

# %%
wide = np.random.default_rng(0).normal(size=200_000)
narrow = wide.astype(np.float32)
print(f"memory: {wide.nbytes:,} and {narrow.nbytes:,} bytes")
print(f"largest error: {np.abs(wide - narrow).max():.1e}")

# %% [markdown]
# A list may also hold something that is no grid at all: rows of different lengths, or words.
# `copy_of(data)` is given: it makes a new array, of NumPy's choice of dtype, and refuses the
# rest in words that name the trouble.
#
# **Task.** Write `as_array`: choose the dtype. Numbers that come as an array were chosen with
# care, so they stay as they are. Everything written by hand, `0.5` or `[1, 0.5]`, becomes
# `float32`. Whole numbers in a list stay whole: they count things, or point at them. One more
# rule: a slope needs fractions, so `requires_grad` makes anything else `float32`.

# %% exercise="array"
#| export
def as_array(data, requires_grad=False):
    """The array that a Tensor keeps for `data`.

    data           a number, nested lists of numbers, or an ndarray
    requires_grad  whether slopes with respect to these numbers will be wanted
    returns        a new ndarray; `data` is never shared

    | given                         | dtype                 | with requires_grad           |
    | an ndarray                    | its own               | float32 unless it is a float |
    |                               |                       | dtype already                |
    | a bare int or float           | float32               | float32                      |
    | a bare NumPy number, not bool | float32               | float32                      |
    | lists with a fraction         | float32               | float32                      |
    | lists of ints; bools anywhere | NumPy's (int64, bool) | float32                      |

    >>> as_array([1, 0.5])
    array([1. , 0.5], dtype=float32)

    Source: the same rule as torch.tensor, except for a bare int.
    """
    ### BEGIN SOLUTION
    array = copy_of(data)
    by_hand = not isinstance(data, np.ndarray)
    kind = array.dtype.kind
    if by_hand and (kind == "f" or array.ndim == 0 and kind != "b"):
        array = array.astype(np.float32)
    if requires_grad and kind != "f":
        array = array.astype(np.float32)
    return array
    ### END SOLUTION

# %% checks="array"
check("array")

# %% [markdown]
# ## The class
#
# A tensor is the array and three notes beside it. `grad` and `creator` stay `None` until the
# autograd lesson; `creator` will say how a result was made. Before the class itself come its
# methods, in groups. Skim them: each only passes on to a function of a later section, so none
# of them works yet. First, what Python calls when it meets an operator:

# %%
#| exporti
class Operators:
    """Arithmetic and comparisons, with tensors, arrays and Python numbers on either side."""

    __slots__ = ()
    # makes `array + tensor` call Tensor.__radd__ instead of looping over the array
    __array_ufunc__ = None
    __hash__ = object.__hash__  # by identity, because `==` compares place by place

    def __add__(self, other): return apply(np.add, self, other)
    def __radd__(self, other): return reflected(np.add, self, other)
    def __sub__(self, other): return apply(np.subtract, self, other)
    def __rsub__(self, other): return reflected(np.subtract, self, other)
    def __mul__(self, other): return apply(np.multiply, self, other)
    def __rmul__(self, other): return reflected(np.multiply, self, other)
    def __truediv__(self, other): return apply(np.divide, self, other)
    def __rtruediv__(self, other): return reflected(np.divide, self, other)
    def __pow__(self, other): return apply(power, self, other)
    def __rpow__(self, other): return reflected(power, self, other)
    def __matmul__(self, other): return apply(np.matmul, self, other)
    def __rmatmul__(self, other): return reflected(np.matmul, self, other)
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
# Then the mathematics that works place by place, the methods that make many numbers few, and
# those that keep every number and change how the grid is read:

# %%
#| exporti
class Mathematics:
    """Functions of each number, and of many numbers: each is the function of that name."""

    __slots__ = ()

    def exp(self): return exp(self)
    def log(self): return log(self)
    def sqrt(self): return sqrt(self)
    def sin(self): return sin(self)
    def cos(self): return cos(self)
    def tanh(self): return tanh(self)
    def sigmoid(self): return sigmoid(self)
    def relu(self): return relu(self)
    def maximum(self, other): return maximum(self, other)
    def minimum(self, other): return minimum(self, other)
    def clip(self, low=None, high=None): return clip(self, low, high)
    def where(self, condition, other): return where(condition, self, other)

    def sum(self, axis=None, keepdims=False): return reduce_sum(self, axis, keepdims)
    def max(self, axis=None, keepdims=False): return reduce_max(self, axis, keepdims)
    def min(self, axis=None, keepdims=False): return reduce_min(self, axis, keepdims)
    def mean(self, axis=None, keepdims=False): return mean(self, axis, keepdims)
    def var(self, axis=None, keepdims=False, correction=0):
        return var(self, axis, keepdims, correction)
    def std(self, axis=None, keepdims=False, correction=0):
        return std(self, axis, keepdims, correction)
    def argmax(self, axis=None, keepdims=False): return argmax(self, axis, keepdims)
    def argmin(self, axis=None, keepdims=False): return argmin(self, axis, keepdims)


class Shapes:
    """The same numbers in another grid, or some of them."""

    __slots__ = ()

    def reshape(self, *shape): return reshape(self, *shape)
    def flatten(self, start_axis=0, end_axis=-1): return flatten(self, start_axis, end_axis)
    def squeeze(self, axis=None): return squeeze(self, axis)
    def unsqueeze(self, axis): return unsqueeze(self, axis)
    def transpose(self, *axes): return transpose(self, *axes)
    def swapaxes(self, axis1, axis2): return swapaxes(self, axis1, axis2)
    def broadcast_to(self, *shape): return broadcast_to(self, *shape)
    def pad(self, width, value=0): return pad(self, width, value)

    @property
    def T(self):
        """The axes in reverse order: rows become columns."""
        return transpose(self)

    def __getitem__(self, index): return take(self, index)
    def __setitem__(self, index, value): put(self, index, value)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

# %% [markdown]
# Now `Tensor`. `__slots__` names the only attributes it may have: smaller, faster, and a
# misspelt `x.gard = 0` is an error instead of a silent new attribute.

# %%
#| export
class Tensor(Operators, Mathematics, Shapes):
    """A grid of numbers that knows how to compute.

    data           a number, nested lists, an ndarray or a Tensor; copied (see `as_array` for
                   the dtype)
    requires_grad  note how results are made from this tensor, so that slopes can be found later

    .data     the live ndarray           .grad     an ndarray of the same shape, or None
    .creator  how it was made, or None   .shape .ndim .size .dtype .T

    >>> Tensor([[1, 0.5], [2, 4]]).shape
    (2, 2)
    """

    __slots__ = ("data", "grad", "requires_grad", "creator", "__weakref__")

    def __init__(self, data, requires_grad=False):
        self.data = as_array(data.data if isinstance(data, Tensor) else data, requires_grad)
        self.grad = None
        self.requires_grad = bool(requires_grad)
        self.creator = None

    shape = property(lambda self: self.data.shape, doc="Numbers along each axis, as a tuple.")
    ndim = property(lambda self: self.data.ndim, doc="How many axes.")
    size = property(lambda self: self.data.size, doc="How many numbers.")
    dtype = property(lambda self: self.data.dtype, doc="The NumPy dtype of the numbers.")

    def item(self):
        """The one number in this tensor, as a Python number."""
        if self.size != 1:
            raise ValueError("item() needs exactly one number, "
                             f"shape {self.shape} holds {self.size}: pick one, x[i]")
        return self.data.item()

    def numpy(self):
        """A copy of the numbers, yours to change. (`.data` is the live array.)"""
        return self.data.copy()

    def detach(self):
        """The same memory in a tensor that remembers nothing of how it was made."""
        return wrap(self.data)

    def backward(self, gradient=None, retain_graph=False):
        """Find the slope of this number with respect to everything it was made from."""
        try:
            from tinytorch.core.autograd import backward
        except ModuleNotFoundError:
            raise ImportError("backward() is built in the autograd lesson; "
                              "then `tito export autograd`") from None
        return backward(self, gradient, retain_graph)

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("a tensor of shape () is one number and has no length")
        return len(self.data)

    def __float__(self):
        return float(self.item())

    def __bool__(self):
        if self.size != 1:
            raise ValueError(f"shape {self.shape} holds {self.size} truth values, not one: "
                             "ask x.data.any() or .all()")
        return bool(self.data.item())

    def __array__(self, dtype=None, copy=None):
        return np.array(self.data, dtype=dtype, copy=copy)

    def __repr__(self):
        return as_text(self)

    def __format__(self, spec):
        return format(self.item(), spec) if spec else repr(self)

# %% [markdown]
# The constructor copies and checks, which is right for what people hand in. Results are made a
# million times over and need neither, so there is a second, private way in. And `Variable` is
# for numbers to be learned: a tensor that asks for slopes.

# %%
#| export
def Variable(data, requires_grad=True):
    """A Tensor whose gradient is wanted."""
    return Tensor(data, requires_grad)

# %%
#| exporti
def wrap(array):
    """A Tensor around `array` itself: no copy, no checks. For results only."""
    out = Tensor.__new__(Tensor)
    out.data = array
    out.grad = None
    out.requires_grad = False
    out.creator = None
    return out

# %% [markdown]
# Ask Python to show a tensor and you get an error: `__repr__` passes on to `as_text`, which is
# yours. What should a reader of a long session see at one glance? The numbers; the rows under
# each other; and anything unusual, because the unusual explains surprises.

# %%
table = np.array([[1, 20, 300], [4, 5, 6]])
print("start" + np.array2string(table, separator=", "))
print("start" + np.array2string(table, separator=", ", prefix="start"))

# %% [markdown]
# **Task.** Write `as_text`. Predict first: what is `prefix` for in the line above?

# %% exercise="text"
#| export
def as_text(x):
    """What Python prints for the Tensor `x`.

    Rows stand under each other. A dtype other than float32, int64 or bool is named after the
    numbers, then `requires_grad=True` if a gradient is wanted.

    >>> Tensor([[1, 20], [300, 4]])
    Tensor([[  1,  20],
            [300,   4]])
    >>> Tensor(np.array([0.5]), requires_grad=True)
    Tensor([0.5], dtype=float64, requires_grad=True)

    Source: numpy.array2string does the numbers.
    """
    ### BEGIN SOLUTION
    text = np.array2string(x.data, separator=", ", prefix="Tensor(")
    if x.dtype.name not in ("float32", "int64", "bool"):
        text += f", dtype={x.dtype}"
    if x.requires_grad:
        text += ", requires_grad=True"
    return f"Tensor({text})"
    ### END SOLUTION

# %% checks="text"
check("text")

# %% [markdown]
# `prefix` is never printed: only its length counts. The rows below the first move right by as
# much, to make room for what you put in front.
#
# ## A row with a note
#
# Memory is one long row. To find `x[1, 2]` in it, the computer keeps one step per axis, the
# *strides*: how far to walk along the row when that index grows by one. For shape (2, 3) they
# are (3, 1), so `x[1, 2]` lies at place $1 \cdot 3 + 2 \cdot 1 = 5$.
#
# Predict the strides of shape (2, 3, 4) before you write.
#
# **Task.** Write `strides_of`, counting in numbers, with the last index moving fastest.

# %% exercise="strides"
#| export
def strides_of(shape):
    """The steps through memory, in numbers, when an index along each axis grows by one.

    shape    tuple of axis lengths; the last index moves fastest
    returns  tuple of as many ints

    >>> strides_of((2, 3))
    (3, 1)

    Source: Van der Walt, Colbert, Varoquaux, The NumPy array (2011), section "Strides".
    """
    ### BEGIN SOLUTION
    return tuple(math.prod(shape[axis + 1:]) for axis in range(len(shape)))
    ### END SOLUTION

# %% checks="strides"
check("strides")

# %% [markdown]
# Your strides draw where each number of a grid lies in memory. Reverse shape *and* strides, and
# the same row reads as the transposed grid: no number moves. That is why transposing a gigabyte
# takes no time.

# %%
def places(shape, strides):
    """For each place in the grid, its place in memory."""
    return Tensor(np.array([sum(i * s for i, s in zip(index, strides))
                            for index in np.ndindex(shape)]).reshape(shape))


print(places((3, 4), strides_of((3, 4))))
print(places((4, 3), strides_of((3, 4))[::-1]))

# %% [markdown]
# ## One door
#
# Every operation on tensors does the same chores: take the arrays out, run a NumPy function,
# put the result into a new tensor, and note how it was made. If all operations go through one
# door, the chores are written once. The door is `apply`, and three small given pieces stand
# beside it.
#
# The first says what may take part besides tensors, and refuses the rest. A NumPy number such
# as `np.sqrt(64)` counts as a Python number, which takes on the tensor's dtype; as it is, it
# would make NumPy compute in `float64`.

# %%
#| exporti
def operand(x):
    """What NumPy is to compute with for `x`: a number or an ndarray; else TypeError."""
    if isinstance(x, Tensor):
        return x.data
    if type(x) in (float, int, bool) or isinstance(x, np.ndarray):
        return x
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, (list, tuple)):
        return as_array(x)
    raise TypeError(f"cannot compute with {x!r:.60}: a Tensor, an array or a number is needed")

# %% [markdown]
# The second runs the NumPy function. Two habits of NumPy need care: a result of one number
# comes back as no array at all, and whole numbers divide into `float64`. Rule: `float64` comes
# out only if an array of it went in. NumPy's complaints become ours, with the shapes in them,
# by two functions that you write later in this chapter.

# %%
#| exporti
FLOAT32 = np.dtype(np.float32)


def run(op, arrays, options):
    """op(*arrays, **options) as an ndarray, never wider than float32 unless an input was."""
    try:
        out = op(*arrays, **options)
    except (ValueError, IndexError, TypeError) as error:
        common_shape = matmul_shape if op is np.matmul else broadcast_shape
        raise explained(error, op, arrays, options, common_shape) from None
    if type(out) is not np.ndarray:
        out = np.asarray(out)
    if out.dtype is not FLOAT32 and out.dtype.kind == "f":
        if out.dtype not in [a.dtype for a in arrays if isinstance(a, np.ndarray)]:
            out = out.astype(FLOAT32)
    return out

# %% [markdown]
# The third is the note itself: this records how a result was made. It is written only when
# slopes are wanted, and never for results that have none, such as True and False. `recording`
# can be switched off, separately in each thread; `order` counts up, so younger results have
# larger numbers.

# %%
#| exporti
class Recording(threading.local):
    """Whether notes are taken in this thread."""

    on = True


recording = Recording()
counter = itertools.count()


class Creator:
    """How a result was made: op(*arrays, **options), `arrays` being those inside `inputs`."""

    __slots__ = ("op", "inputs", "arrays", "options", "created")

    def __init__(self, op, inputs, arrays, options):
        self.op, self.inputs, self.arrays, self.options = op, inputs, arrays, options
        self.created = next(counter)


def record(out, op, inputs, arrays, options):
    """Write into `out` how it was made, if any of `inputs` wants a gradient."""
    for x in inputs:
        if isinstance(x, Tensor) and x.requires_grad:
            if recording.on and out.data.dtype.kind == "f":
                out.requires_grad = True
                out.creator = Creator(op, inputs, arrays, options)
            return

# %% [markdown]
# **Task.** Write `apply`, the door. What it gets may be tensors, arrays and numbers in any mix;
# what NumPy gets must be arrays and numbers; what the caller gets is one new tensor.

# %% exercise="apply"
#| export
def apply(op, *inputs, **options):
    """Run `op` on the arrays inside `inputs`. Every operation on a Tensor comes through here.

    op       a function of arrays that returns an array: np.add, np.exp, ...
    inputs   Tensors, arrays or numbers
    options  plain keyword arguments of `op`, such as axis=0
    returns  a new Tensor; how it was made is noted when an input wants a gradient

    >>> apply(np.add, Tensor([1, 2, 3]), 0.5)
    Tensor([1.5, 2.5, 3.5])

    Source: Baydin et al., Automatic differentiation in machine learning (2018), section 4.
    """
    ### BEGIN SOLUTION
    arrays = tuple(map(operand, inputs))
    out = wrap(run(op, arrays, options))
    record(out, op, inputs, arrays, options)
    return out
    ### END SOLUTION

# %% checks="apply"
check("apply")

# %% [markdown]
# The operators live. Only `**` needs more than NumPy's function: `power` knows $2^{-1}$ for
# whole numbers, and computes $x^3$ as `x * x * x`, many times faster.

# %%
x = Tensor([1, 2, 4])
print(x + x, x / 8, x**-1, -x, x > 1.5, sep="\n")

# %% [markdown]
# ## Who goes first?
#
# `x - 5` asks the tensor to subtract. `5 - x` asks the number 5, which has never heard of
# tensors, so Python turns to the tensor's reflected method: `x.__rsub__(5)`. There `self`
# stands on the *right*. For `+` nobody would notice a mix-up. Predict which of `- * / ** @`
# would.
#
# **Task.** Write `reflected`, which all reflected methods call.

# %% exercise="reflected"
#| export
def reflected(op, x, other):
    """Compute `other op x`, for a Tensor that stands on the right of the operator.

    op       np.subtract, np.divide, ...
    x        the Tensor
    other    what stands on the left: a number, an array or a list
    returns  a Tensor

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
# `*` would not have noticed, like `+`. The other four would: `-`, `/` and `**` give other
# numbers, and for `@` even the shapes may no longer fit.
#
# ## When shapes differ
#
# Adding a bias to each row of a batch should not need a loop. Broadcasting lines two shapes up
# at their right ends; missing lengths count as 1; a length of 1 stretches to meet the other.
#
# Predict the two results. One of them is an accident that has cost many people an afternoon:

# %%
scores, targets = Tensor([[0.5], [2.0], [4.0]]), Tensor([0.5, 2.0, 4.0])
print(Tensor([[1, 2, 3], [4, 5, 6]]) + Tensor([10, 20, 30]))
print(scores - targets)

# %% [markdown]
# The second should have been three zeros: (3, 1) and (3,) make (3, 3), without a word. Knowing
# the resulting shape beforehand is the cure.
#
# **Task.** Write `broadcast_shape` for any number of shapes. A bad pair raises the `ValueError`
# that your readers will see from now on for every operator, so the shapes belong in it.

# %% exercise="broadcast"
#| export
def broadcast_shape(*shapes):
    """The shape of a result whose inputs have these shapes.

    shapes   one or more tuples, of any ranks
    returns  the common shape, a tuple

    Raises ValueError with all the shapes in it when two lengths on one axis differ and neither
    is 1.

    >>> broadcast_shape((2, 1, 4), (3, 1))
    (2, 3, 4)

    Source: NumPy user guide, "Broadcasting".
    """
    ### BEGIN SOLUTION
    rank = max(len(s) for s in shapes)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    common = [set(lengths) - {1} or {1} for lengths in zip(*padded)]
    if any(len(lengths) > 1 for lengths in common):
        raise ValueError(f"shapes {' and '.join(map(str, shapes))} do not broadcast: "
                         "counted from the right, lengths must be equal or 1")
    return tuple(lengths.pop() for lengths in common)
    ### END SOLUTION

# %% checks="broadcast"
check("broadcast")

# %% [markdown]
# ## Place by place
#
# With the door in place, a new operation is one line. These are given; each works on a Tensor,
# an array or a number, and is a method of Tensor too. Forward functions that NumPy lacks come
# from `tinytorch/support/forward.py`. That of `sigmoid` holds both its exponents at 0 or below,
# because `exp(1000)` is infinite.

# %%
#| export
def exp(x):
    """e to the power of each number."""
    return apply(np.exp, x)


def log(x):
    """The natural logarithm of each number; -inf for 0, nan below."""
    return apply(np.log, x)


def sqrt(x):
    """The square root of each number; nan below 0."""
    return apply(np.sqrt, x)


def sin(x):
    """The sine of each number, an angle in radians."""
    return apply(np.sin, x)


def cos(x):
    """The cosine of each number, an angle in radians."""
    return apply(np.cos, x)


def tanh(x):
    """The hyperbolic tangent: squeezes each number to between -1 and 1."""
    return apply(np.tanh, x)


def maximum(a, b):
    """The larger of two numbers, place by place; shapes broadcast."""
    return apply(np.maximum, a, b)


def minimum(a, b):
    """The smaller of two numbers, place by place; shapes broadcast."""
    return apply(np.minimum, a, b)


def where(condition, a, b):
    """From `a` where `condition` is true, from `b` elsewhere; shapes broadcast.

    >>> where([True, False], Tensor([1, 2]), 0)
    Tensor([1, 0])
    """
    return apply(np.where, condition, a, b)


def relu(x):
    """Zero where x is negative, x elsewhere."""
    return apply(relu_forward, x)


def sigmoid(x):
    """1 / (1 + exp(-x)), between 0 and 1 and correct at +-1000."""
    return apply(sigmoid_forward, x)


def clip(x, low=None, high=None):
    """x held between two numbers; None leaves a side open."""
    return apply(clip_forward, x, low=low, high=high)

# %% [markdown]
# ## Many numbers, one number
#
# `sum` adds along the axes you name and removes them: shape (2, 3, 4) summed along axis 1
# leaves (2, 4), or (2, 1, 4) with `keepdims`, which still broadcasts against what was summed.
# The first reductions are given.

# %%
#| export
def reduce_sum(x, axis=None, keepdims=False):
    """The sum along `axis`: an int, a tuple, or None for all."""
    return apply(sum_forward, x, axis=axis, keepdims=keepdims)


def reduce_max(x, axis=None, keepdims=False):
    """The largest number along `axis`. ValueError when there is none."""
    return apply(max_forward, x, axis=axis, keepdims=keepdims)


def reduce_min(x, axis=None, keepdims=False):
    """The smallest number along `axis`. ValueError when there is none."""
    return apply(min_forward, x, axis=axis, keepdims=keepdims)


def argmax(x, axis=None, keepdims=False):
    """Where the largest number along `axis` is, the first of equals; None: in the flat row."""
    return apply(np.argmax, x, axis=axis, keepdims=keepdims)


def argmin(x, axis=None, keepdims=False):
    """Where the smallest number along `axis` is, the first of equals; None: in the flat row."""
    return apply(np.argmin, x, axis=axis, keepdims=keepdims)

# %% [markdown]
# A mean is a sum divided by a count, and the count is where it goes wrong: it is not always the
# number of numbers in the tensor. Predict it for shape (2, 3, 4) along axis 1, along (0, 2),
# with axis=None, and with axis=(), which names no axis at all.
#
# **Task.** Write `count_along`. `axes_of(axis, ndim)` turns every way to name axes into a tuple
# of numbers from 0 to ndim - 1.

# %% exercise="count"
#| export
def count_along(x, axis=None):
    """How many numbers of `x` go into each number of a reduction along `axis`.

    x        Tensor
    axis     an int, a tuple of ints (negative ones count from the end), or None for all
    returns  an int

    >>> count_along(Tensor([[1, 2, 3], [4, 5, 6]]), axis=0)
    2

    Source: the definition of the arithmetic mean.
    """
    ### BEGIN SOLUTION
    return math.prod(x.shape[a] for a in axes_of(axis, x.ndim))
    ### END SOLUTION

# %%
#| export
def mean(x, axis=None, keepdims=False):
    """The arithmetic mean along `axis`: an int, a tuple, or None for all; always fractions."""
    return reduce_sum(x, axis, keepdims) / count_along(x, axis)

# %% checks="count"
check("count")

# %% [markdown]
# For shape (2, 3, 4): 3 along axis 1, 8 along (0, 2), all 24 with `axis=None`. With `axis=()`
# each number is its own mean: 1, the product of no lengths.
#
# ## How far from the mean?
#
# The variance is the mean of the squared distances from the mean. There is a famous shortcut,
# the mean of the squares minus the square of the mean. Predict what it makes of 8000, 8008 and
# 8016 in float32; the true answer is 42.667.

# %%
x = Tensor([8000.0, 8008.0, 8016.0])
print((x * x).mean() - x.mean() * x.mean())

# %% [markdown]
# Two large numbers, nearly equal, were subtracted: their seven digits cancelled.
#
# **Task.** Write `var` from the distances themselves. `correction=1` divides by one less than
# the count: the usual estimate when the mean, too, comes from the sample.

# %% exercise="var"
#| export
def var(x, axis=None, keepdims=False, correction=0):
    """The variance along `axis`: the mean squared distance from the mean.

    x           Tensor
    axis        an int, a tuple, or None for all
    keepdims    keep the axes that go away, with length 1
    correction  is subtracted from the count that is divided by
    returns     Tensor, float32 for whole numbers

    >>> var(Tensor([[1, 3, 5], [2, 2, 8]]), axis=1, correction=1)
    Tensor([ 4., 12.])

    Source: Chan, Golub, LeVeque, Algorithms for computing the sample variance (1983),
    "two-pass".
    """
    ### BEGIN SOLUTION
    d = x - mean(x, axis, keepdims=True)
    return reduce_sum(d * d, axis, keepdims) / (count_along(x, axis) - correction)
    ### END SOLUTION

# %% checks="var"
check("var")

# %%
#| export
def std(x, axis=None, keepdims=False, correction=0):
    """The standard deviation along `axis`: the square root of `var`, in the unit of `x`."""
    return sqrt(var(x, axis, keepdims, correction))

# %% [markdown]
# ## The same row, another grid
#
# Six numbers read as (6,), (2, 3), (3, 2) or (1, 6, 1): `reshape` only rewrites the note. One
# length may be left to the computer, written -1. Predict `x.reshape(2, -1, 2)` for 12 numbers.
#
# **Task.** Write `infer_shape`, which fills in the -1 and refuses what cannot be.

# %% exercise="infer-shape"
#| export
def infer_shape(shape, size):
    """`shape` with its -1 replaced by the length that makes room for `size` numbers.

    shape    tuple of lengths >= 0; at most one may be -1
    size     how many numbers there are
    returns  tuple of lengths whose product is `size`

    Raises ValueError with the shape and the size in it when there is no such tuple, or no
    single one.

    >>> infer_shape((2, -1, 2), 12)
    (2, 3, 2)

    Source: the rule of numpy.reshape.
    """
    ### BEGIN SOLUTION
    known = math.prod(n for n in shape if n != -1)
    full = shape
    if shape.count(-1) == 1 and known != 0:
        full = tuple(size // known if n == -1 else n for n in shape)
    if min(full, default=0) < 0 or math.prod(full) != size:
        raise ValueError(f"{size} numbers do not fill shape {shape}: "
                         f"the lengths must multiply to {size}, one of them may be -1")
    return full
    ### END SOLUTION

# %% checks="infer-shape"
check("infer-shape")

# %% [markdown]
# With it, the functions that only rewrite the note. Their results share memory with the input,
# as in NumPy and PyTorch. `as_tuple` lets a shape be a tuple or several numbers.

# %%
#| export
def reshape(x, *shape):
    """The same numbers, in the same order, in another shape; one length may be -1.

    >>> reshape(Tensor([1, 2, 3, 4, 5, 6]), 2, -1)
    Tensor([[1, 2, 3],
            [4, 5, 6]])
    """
    return apply(reshape_forward, x, shape=infer_shape(as_tuple(shape), x.size))


def flatten(x, start_axis=0, end_axis=-1):
    """The axes from start_axis to end_axis, both included, joined into one.

    >>> flatten(Tensor(np.ones((2, 3, 4))), 1).shape
    (2, 12)
    """
    return reshape(x, flattened(x.shape, start_axis, end_axis))


def unsqueeze(x, axis):
    """A new axis of length 1 at place `axis` of the result.

    >>> unsqueeze(Tensor([1, 2, 3]), -1).shape
    (3, 1)
    """
    (place,) = axes_of(axis, x.ndim + 1)
    return reshape(x, *x.shape[:place], 1, *x.shape[place:])


def squeeze(x, axis=None):
    """Without the axes of length 1: all such, or those named.

    >>> squeeze(Tensor([[[1], [2]]])).shape
    (2,)
    """
    return reshape(x, squeezed(x.shape, axis))


def broadcast_to(x, *shape):
    """`x` stretched to `shape`; its memory is shared, and can only be read."""
    shape = as_tuple(shape)
    if broadcast_shape(x.shape, shape) != shape:
        raise ValueError(f"shape {x.shape} does not stretch to {shape}: only lengths of 1 do")
    return apply(np.broadcast_to, x, shape=shape)

# %% [markdown]
# ## Axes in another order
#
# An image arrives as (height, width, channels) and a layer wants (channels, height, width).
# Reshaping gives the right *shape* and the wrong picture. Predict which of these rows hold one
# colour:

# %%
picture = Tensor([[[1, 20, 300], [2, 21, 301]]])  # (height 1, width 2, channels 3)
print(picture.reshape(3, 1, 2))

# %% [markdown]
# **Task.** Write `transpose`: the axes in the order given, or reversed when none is given.

# %% exercise="transpose"
#| export
def transpose(x, *axes):
    """The axes of `x` in another order: axis i of the result is axis axes[i] of `x`.

    x        Tensor
    axes     each axis once, as several ints or one tuple, negative ones from the end; none:
             reversed
    returns  Tensor that shares memory with `x`; its note names the axes by numbers from 0, as
             undoing needs

    Raises ValueError, with the shape in it, when an axis is missing or there twice.

    >>> transpose(Tensor(np.ones((2, 3, 4))), 2, 0, 1).shape
    (4, 2, 3)

    Source: numpy.transpose; PyTorch calls it permute.
    """
    ### BEGIN SOLUTION
    axes = axes_of(as_tuple(axes), x.ndim) if axes else tuple(range(x.ndim))[::-1]
    return apply(np.transpose, x, axes=axes)
    ### END SOLUTION

# %% checks="transpose"
check("transpose")

# %%
print(picture.transpose(2, 0, 1))

# %% [markdown]
# Each row is one colour now. Exchanging two axes, the commonest case, has a name of its own.

# %%
#| export
def swapaxes(x, axis1, axis2):
    """Two axes exchanged, the others in place."""
    order = list(range(x.ndim))
    a, b = axes_of((axis1, axis2), x.ndim)
    order[a], order[b] = b, a
    return transpose(x, order)

# %% [markdown]
# ## Matrix products
#
# A layer of a network weighs all its inputs for each output: $c_{ij} = \sum_k a_{ik} b_{kj}$.
# That is a product and a sum, and you have both. Line up three axes, i, k and j, multiply by
# broadcasting, and sum k away. Predict which axis `a` of shape (i, k) is missing, and which
# `b`.
#
# **Task.** Write `matmul_by_broadcasting`, for two matrices, without a loop and without `@`.

# %% exercise="matmul-by-broadcasting"
#| export
def matmul_by_broadcasting(a, b):
    """The matrix product, from a broadcast product and a sum.

    a        Tensor of shape (i, k)
    b        Tensor of shape (k, j)
    returns  Tensor of shape (i, j)

    >>> matmul_by_broadcasting(Tensor([[1, 2, 3]]), Tensor([[1], [10], [100]]))
    Tensor([[321]])

    Source: Strang, Introduction to Linear Algebra, section 2.4.
    """
    ### BEGIN SOLUTION
    products = unsqueeze(a, 2) * unsqueeze(b, 0)  # (i, k, j)
    return reduce_sum(products, axis=1)
    ### END SOLUTION

# %% checks="matmul-by-broadcasting"
check("matmul-by-broadcasting")

# %% [markdown]
# Right, and dear: the table of products has $i \cdot k \cdot j$ numbers. NumPy's `matmul`, to
# which `@` goes, never builds it. Predict the ratio of times for two matrices of 96 by 96.

# %%
from timeit import repeat

a, b = [Tensor(m) for m in np.random.default_rng(1).normal(size=(2, 96, 96)).astype("float32")]
slow = min(repeat(lambda: matmul_by_broadcasting(a, b), number=1))
fast = min(repeat(lambda: a @ b, number=1))
print(f"table: {96**3 * 4:,} bytes, {slow / fast:.0f} times slower")

# %% [markdown]
# Networks multiply stacks of matrices: `(batch, heads, tokens, size) @ (batch, heads, size,
# tokens)`. The rule for `@` at any rank: the last two axes are matrices, the axes before them
# broadcast, and a tensor with one axis joins as a row on the left or a column on the right, and
# that axis goes.
#
# Predict: (5, 1, 2, 3) @ (4, 3, 7), and (3,) @ (4, 3, 7).
#
# **Task.** Write `matmul_shape`. Its error is what `@` will tell whoever gets the order wrong.

# %% exercise="matmul-shape"
#| export
def matmul_shape(a, b):
    """The shape of `x @ y` for tensors of shapes `a` and `b`.

    a, b     tuples: (k,) or (..., i, k), and (k,) or (..., k, j)
    returns  batch + (i, j), without i when `a` has one axis and without j when `b` has one

    Raises ValueError with both shapes in it: for no axis, for inner lengths that differ, for
    batches that do not broadcast.

    >>> matmul_shape((5, 1, 2, 3), (4, 3, 7))
    (5, 4, 2, 7)

    Source: Python Enhancement Proposal 465, "Semantics".
    """
    ### BEGIN SOLUTION
    if not a or not b or a[-1] != b[-2:][0]:
        raise ValueError(
            f"cannot multiply shape {a} by {b}: the last length of the left must equal "
            "the last but one of the right (the only one, if it has one axis)")
    try:
        batch = broadcast_shape(a[:-2], b[:-2])
    except ValueError as error:
        raise ValueError(f"cannot multiply shape {a} by {b}: {error}") from None
    return batch + a[-2:-1] + (b[-1:] if len(b) > 1 else ())
    ### END SOLUTION

# %% checks="matmul-shape"
check("matmul-shape")

# %% [markdown]
# (5, 1, 2, 3) @ (4, 3, 7) makes (5, 4, 2, 7): twenty products of matrices. (3,) @ (4, 3, 7)
# makes (4, 7): one row meets four matrices, and its own axis is gone.

# %%
#| export
def matmul(a, b):
    """The matrix product a @ b for every rank; `matmul_shape` is its rule."""
    return apply(np.matmul, a, b)

# %% [markdown]
# ## Picking
#
# Square brackets mean four things in NumPy: a place, a stretch, a list of places, and a mask
# that says yes or no to each. A tensor should be able to stand in for the last two: `x[x > 0]`,
# or `x[scores.argmax(axis=1)]`.
#
# NumPy would take it. But the index goes into the note, and a note must stay true: `picked`
# below may be used again, for the next batch, before anybody reads what was noted.

# %%
picked = np.array([2, 0])
noted = (slice(None), picked)
picked[:] = 1
print(noted)

# %% [markdown]
# A list of places can change as well. `fresh(part)` is given: a new array of the places or
# truth values in a Tensor, an array or a list.
#
# **Task.** Write `plain_index`, which makes an index fit for a note. Predict first: when you
# write `x[0, mask]`, what does Python hand over as the index?

# %% exercise="index"
#| export
def plain_index(index):
    """What stands between the brackets of x[...], as a tuple that nobody can change later.

    index    int, slice, None, Ellipsis, a list or array of ints, a mask, a Tensor of ints or
             bools, or a tuple of these
    returns  tuple with one part for each: a new array in place of each Tensor, array or list,
             all else as it was

    >>> plain_index((0, Tensor([True, False])))
    (0, array([ True, False]))

    Source: NumPy user guide, "Indexing on ndarrays".
    """
    ### BEGIN SOLUTION
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(fresh(part) if isinstance(part, (Tensor, np.ndarray, list)) else part
                 for part in parts)
    ### END SOLUTION

# %% [markdown]
# Reading goes through the door. Writing, `x[0] = 5`, does not: it destroys the numbers that a
# note may still need, so it is refused for tensors whose slopes are wanted.

# %%
#| export
def take(x, index):
    """x[index]; with ints, slices, None and Ellipsis alone it shares the memory of `x`.

    >>> x = Tensor([5, 6, 7])
    >>> take(x, x > 5)
    Tensor([6, 7])
    """
    return apply(take_forward, x, index=plain_index(index))


def put(x, index, value):
    """x[index] = value, in place; RuntimeError when a gradient is wanted."""
    wanted = x.requires_grad or isinstance(value, Tensor) and value.requires_grad
    if x.creator is not None or (wanted and recording.on):
        raise RuntimeError(
            "writing into this tensor would spoil the note of how a result was made; "
            "build a new one with where(), or write into x.detach()")
    x.data[plain_index(index)] = operand(value)

# %% checks="index"
check("index")

# %% [markdown]
# ## Joining
#
# Several tensors made one, and one with a margin. The inputs go through the door one by one, so
# that each can have a slope of its own.

# %%
#| export
def concatenate(tensors, axis=0):
    """Tensors one after the other along an axis they have; all other lengths must agree."""
    return apply(concatenate_forward, *tensors, axis=axis)


def stack(tensors, axis=0):
    """Tensors of one shape side by side along a new axis.

    >>> stack([Tensor([1, 2]), Tensor([3, 4])], axis=1)
    Tensor([[1, 3],
            [2, 4]])
    """
    return apply(stack_forward, *tensors, axis=axis)


def pad(x, width, value=0):
    """`x` with a margin of `value`; `width` is numpy.pad's: an int, a pair, a pair per axis.

    >>> pad(Tensor([1, 2]), (1, 2))
    Tensor([0, 1, 2, 0, 0])
    """
    return apply(pad_forward, x, width=margins(width, x.shape), value=value)

# %% [markdown]
# ## A picture
#
# Everything at once. A grid of coordinates from two rows of numbers, a distance for each place
# by broadcasting, a mask, and one character per place. What will appear?

# %%
across, down = (Tensor(np.linspace(-1.5, 1.5, 37)),
                Tensor(np.linspace(-1.2, 1.2, 13)).unsqueeze(1))
distance = (across**2 + down**2).sqrt()
waves = where(distance > 1.2, -1.0, (12 * distance).cos())
ink = ((waves + 1) * 2.49).clip(0, 4)  # 0 to 4
for row in ink:
    print("".join(" .:+#"[int(v)] for v in row.data))

# %% [markdown]
# ## Look back
#
# 1. `x.T.reshape(-1)` and `x.reshape(-1)` give different rows. Only one of them can share
#    memory with `x`. Which, and what do the strides say about it? Check with
#    `np.shares_memory`.
# 2. Time `x + 1` for tensors of 1, 100, 10,000 and 1,000,000 numbers. Up to which size do you
#    mostly pay for the door, not for the sum? What follows for a library that is to train
#    networks?
# 3. `(scores - targets)` of shapes (3, 1) and (3,) was an accident that broadcasting allowed.
#    Which rule would have caught it, and which useful line of this chapter would that rule have
#    forbidden?
