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
#     title: Tensor
# ---

# %% [markdown]
# # 01. Tensor
#
# A photograph, a sentence, the weights of a language model: a computer holds each of them as a
# row of numbers and a note of how to read that row. The pair is a *tensor*. This chapter asks
# what must be true of a tensor before a network can be built on it.
#
# **You need** Python and a little NumPy. **You write** thirteen small functions: how numbers come
# in, how they lie in memory, how shapes meet, and the one door that every operation goes through.

# %%
#| default_exp core.tensor
#| export
import itertools
import math
import threading

import numpy as np

# %% [markdown]
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
# digits, far more than noisy data has, and each step of training moves half the bytes.
# Watch the price, and the prize:

# %%
wide = np.random.default_rng(0).normal(size=200_000)
narrow = wide.astype(np.float32)
print(f"memory: {wide.nbytes:,} and {narrow.nbytes:,} bytes")
print(f"largest error: {np.abs(wide - narrow).max():.1e}")

# %% [markdown]
# A list may also hold something that is no grid at all: rows of different lengths, or words.
# `copy_of` makes the array and refuses the rest, in words that name the trouble.

# %%
#| exporti
def copy_of(data):
    """A new array with the numbers in `data`, of NumPy's choice of dtype.

    data     a number, nested lists of numbers, or an array
    returns  an ndarray that shares no memory with `data`

    Raises ValueError when rows differ in length, TypeError when `data` holds anything but numbers.
    """
    try:
        array = np.array(data)
    except ValueError:
        raise ValueError(f"a tensor is a full grid, but here rows of length {row_lengths(data)} meet") from None
    if array.dtype.kind not in "biuf":  # bool, int, unsigned int, float
        raise TypeError(f"a tensor holds real numbers, not {data!r:.60}")
    return array


def row_lengths(rows):
    """The lengths that differ in a ragged nested list, as "2 and 1"; a bare number has length "none"."""
    lengths = [len(row) if isinstance(row, (list, tuple)) or getattr(row, "ndim", 0) else "none" for row in rows]
    if len(set(lengths)) == 1 and "none" not in lengths:
        return row_lengths([part for row in rows for part in row])
    return " and ".join(str(n) for n in dict.fromkeys(lengths))

# %% [markdown]
# **Task.** Write `as_array`: choose the dtype. Numbers that come as an array were chosen with care,
# so they stay as they are. Everything written by hand, `0.5` or `[1, 0.5]`, becomes `float32`.
# Whole numbers in a list stay whole: they count things, or point at them.
# One more rule: a slope needs fractions, so `requires_grad` makes anything else `float32`.
#
# <details><summary>Hint 1</summary>Start from <code>copy_of(data)</code>. What does its dtype tell you,
# and what can only <code>data</code> itself tell you?</details>
# <details><summary>Hint 2</summary><code>array.dtype.kind</code> is one letter: "f" for fractions, "i" and
# "u" for whole numbers, "b" for True and False. How many axes has a bare number?</details>
# <details><summary>Hint 3</summary>Two questions, one after the other. Was it written by hand, and is it
# a fraction or a bare number that is not a bool? Is a gradient wanted, and is it no fraction yet?</details>
# <details><summary>Hint 4</summary><code>by_hand = not isinstance(data, np.ndarray)</code>; then two
# <code>if</code>s that both do <code>array = array.astype(np.float32)</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "tensor-array", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def as_array(data, requires_grad=False):
    """The array that a Tensor keeps for `data`.

    data           a number, nested lists of numbers, or an ndarray
    requires_grad  whether slopes with respect to these numbers will be wanted
    returns        a new ndarray; `data` is never shared

    | given                         | dtype                  | with requires_grad |
    | an ndarray                    | its own                | float32 unless it is a float dtype already |
    | a bare int or float           | float32                | float32            |
    | a bare NumPy number, not bool | float32                | float32            |
    | lists with a fraction         | float32                | float32            |
    | lists of ints; bools anywhere | NumPy's (int64, bool)  | float32            |

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

# %% tags=["learner-side"]
def kept_after_writing(mine, number, requires_grad=False):
    """as_array(mine, requires_grad), read after `number` was written over all of `mine`."""
    kept = as_array(mine, requires_grad)
    mine[...] = number
    return kept

# %% nbgrader={"grade": true, "grade_id": "check-array", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_numbers_written_by_hand_choose_their_dtype():
    cases = [(3, "float32"), (-0.5, "float32"), ([1, 0.5], "float32"), ([[0.5], [2.0]], "float32"),
             (np.float64(2.5), "float32"),
             ([2, 4, 8], "int64"), ([[1, 2, 3]], "int64"), (True, "bool"), ([True, False, True], "bool")]
    for data, wanted in cases:
        array = as_array(data)
        assert array is not None, f"as_array({data!r}) returned None: is `return` missing?"
        assert array.dtype.name == wanted, f"as_array({data!r}) should be {wanted}, yours is {array.dtype}"
        assert np.array_equal(array, np.array(data)), f"as_array({data!r}) changed the numbers: {array}"


def test_arrays_keep_their_dtype():
    for dtype in ("float64", "float32", "float16", "int64", "uint8", "bool"):
        for shape in ((2, 3), (4,), ()):
            found = as_array(np.ones(shape, dtype)).dtype.name
            assert found == dtype, f"a NumPy array of {dtype}, shape {shape}, should stay {dtype}, yours became {found}"
    found = as_array([[1, 0.5]]).dtype.name
    assert found == "float32", f"only arrays do: the list [[1, 0.5]] should be float32, yours is {found}"


def test_wanting_a_gradient_makes_whole_numbers_fractions():
    for data, wanted in [([2, 4, 8], "float32"), (3, "float32"), ([True, False], "float32"), ([0.5], "float32"),
                         (np.ones((2, 3), "uint8"), "float32"), (np.ones((2, 3), "float64"), "float64"),
                         (np.ones((2, 3), "float16"), "float16")]:
        given = f"np.ones((2, 3), '{data.dtype}')" if isinstance(data, np.ndarray) else repr(data)
        array = as_array(data, requires_grad=True)
        assert array.dtype.name == wanted, (
            f"as_array({given}, requires_grad=True) should be {wanted}, yours is {array.dtype}")
        assert np.array_equal(array, data), f"as_array({given}, requires_grad=True) changed the numbers: {array}"


def test_the_array_is_a_copy():
    for dtype in ("float32", "float64", "int64"):
        kept = kept_after_writing(np.array([[1, 2, 3]], dtype), 50)
        assert np.array_equal(kept, [[1, 2, 3]]), (
            f"writing 50 into my {dtype} array of 1, 2, 3 changed yours: {kept}. Copy it, do not share it.")


def test_what_is_no_grid_of_numbers_is_refused():
    for data, words in [("seven", "a tensor holds real numbers"), ([["a", "b"]], "a tensor holds real numbers"),
                        ([1, None], "a tensor holds real numbers"), ([[1, 2], [3]], "rows of length 2 and 1 meet")]:
        try:
            array = as_array(data)
        except (ValueError, TypeError) as error:
            assert words in str(error), (
                f"as_array({data!r}) should be refused in the words of copy_of, \"{words}\"; yours: {error}")
        else:
            assert False, f"{data!r} is no grid of numbers, and copy_of refuses it; yours gives {array!r}"


test_numbers_written_by_hand_choose_their_dtype()
test_arrays_keep_their_dtype()
test_wanting_a_gradient_makes_whole_numbers_fractions()
test_the_array_is_a_copy()
test_what_is_no_grid_of_numbers_is_refused()

# %% nbgrader={"grade": true, "grade_id": "check-array-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_as_array_keeps_its_contract_for_other_data():
    for data, usual in [(-7, "float32"), (2**40, "float32"), ([0, -0.125], "float32"),
                        ([[[1e-30, 3e20]], [[-2, 5]]], "float32"), (np.float16(0.5), "float32"),
                        (np.int64(-9), "float32"), (np.bool_(True), "bool"), (False, "bool"),
                        ([[True], [False]], "bool"), ([[[0], [-3]]], "int64"), ([[2**40, -1]], "int64"),
                        (np.zeros((0, 3), "int16"), "int16"), (np.array(-4, "int32"), "int32"),
                        (np.array(0.1), "float64"), (np.array([[[2]], [[65000]]], "uint16"), "uint16")]:
        chosen = isinstance(data, np.ndarray) and data.dtype.kind == "f"
        for wants, wanted in [(False, usual), (True, usual if chosen else "float32")]:
            array = as_array(data, requires_grad=wants)
            given = f"as_array({data!r}, requires_grad={wants})"
            assert array.dtype.name == wanted, f"{given} should be {wanted}, got {array.dtype}"
            assert np.array_equal(array, np.array(data).astype(wanted)), f"{given} changed the numbers: {array!r}"
    for dtype in ("float16", "float64", "uint8", "bool"):
        for wants in (False, True):
            kept = kept_after_writing(np.array([[0, 1], [1, 0]], dtype), 1, wants)
            assert np.array_equal(kept, [[0, 1], [1, 0]]), (
                f"as_array of [[0, 1], [1, 0]] in {dtype}, requires_grad={wants}, shares memory: it became {kept}")
    for data in ([[[1, 2], [3]], [[4, 5], [6]]], ["1", 2], {"a": 1}, [0.5, [1]], None):
        try:
            array = as_array(data)
        except (ValueError, TypeError):
            continue
        assert False, f"as_array({data!r}) should be refused, got {array!r}"


test_as_array_keeps_its_contract_for_other_data()
### END HIDDEN TESTS

# %% [markdown]
# ## The class
#
# A tensor is the array and three notes beside it. `grad` and `creator` stay `None` until the
# autograd lesson; `creator` will say how a result was made. Before the class itself come its
# methods, in groups. Skim them: each only passes on to a function of a later section, so
# none of them works yet. First, what Python calls when it meets an operator:

# %%
#| exporti
class Operators:
    """Arithmetic and comparisons, with tensors, arrays and Python numbers on either side."""

    __slots__ = ()
    __array_ufunc__ = None  # makes `array + tensor` call Tensor.__radd__ instead of looping over the array
    __hash__ = object.__hash__  # by identity, because `==` compares place by place

    def __add__(self, other): return apply(np.add, self, other)
    def __radd__(self, other): return reflected(np.add, self, other)
    def __sub__(self, other): return apply(np.subtract, self, other)
    def __rsub__(self, other): return reflected(np.subtract, self, other)
    def __mul__(self, other): return apply(np.multiply, self, other)
    def __rmul__(self, other): return reflected(np.multiply, self, other)
    def __truediv__(self, other): return apply(np.divide, self, other)
    def __rtruediv__(self, other): return reflected(np.divide, self, other)
    def __pow__(self, other): return apply(raise_to, self, other)
    def __rpow__(self, other): return reflected(raise_to, self, other)
    def __matmul__(self, other): return apply(np.matmul, self, other)
    def __rmatmul__(self, other): return reflected(np.matmul, self, other)
    def __neg__(self): return apply(np.negative, self)
    def __abs__(self): return apply(np.absolute, self)

    def __eq__(self, other): return NotImplemented if other is None else apply(np.equal, self, other)
    def __ne__(self, other): return NotImplemented if other is None else apply(np.not_equal, self, other)
    def __lt__(self, other): return apply(np.less, self, other)
    def __le__(self, other): return apply(np.less_equal, self, other)
    def __gt__(self, other): return apply(np.greater, self, other)
    def __ge__(self, other): return apply(np.greater_equal, self, other)

# %% [markdown]
# Then the mathematics that works place by place, and the methods that make many numbers few:

# %%
#| exporti
class Mathematics:
    """Functions of each number, and of many numbers. Each method is the function of the same name."""

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
    def var(self, axis=None, keepdims=False, correction=0): return var(self, axis, keepdims, correction)
    def std(self, axis=None, keepdims=False, correction=0): return std(self, axis, keepdims, correction)
    def argmax(self, axis=None, keepdims=False): return argmax(self, axis, keepdims)
    def argmin(self, axis=None, keepdims=False): return argmin(self, axis, keepdims)

# %% [markdown]
# And those that keep every number and change how the grid is read:

# %%
#| exporti
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
# Now `Tensor`. `__slots__` names the only attributes it may have: smaller, faster, and a misspelt
# `x.gard = 0` is an error instead of a silent new attribute.

# %%
#| export
class Tensor(Operators, Mathematics, Shapes):
    """A grid of numbers that knows how to compute.

    data           a number, nested lists, an ndarray or a Tensor; copied (see `as_array` for the dtype)
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
            raise ValueError(f"item() needs exactly one number, shape {self.shape} holds {self.size}: pick one, x[i]")
        return self.data.item()

    def numpy(self):
        """A copy of the numbers, yours to change. (`.data` is the live array.)"""
        return self.data.copy()

    def detach(self):
        """The same memory in a tensor that remembers nothing of how it was made."""
        return wrap(self.data)

    def backward(self, gradient=None, retain_graph=False):
        """Find the slope of this number with respect to everything it was made from: the autograd lesson."""
        try:
            from tinytorch.core.autograd import backward
        except ModuleNotFoundError:
            raise ImportError("backward() is built in the autograd lesson; then `tito export autograd`") from None
        return backward(self, gradient, retain_graph)

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("a tensor of shape () is one number and has no length")
        return len(self.data)

    def __float__(self):
        return float(self.item())

    def __bool__(self):
        if self.size != 1:
            raise ValueError(f"shape {self.shape} holds {self.size} truth values, not one: ask x.data.any() or .all()")
        return bool(self.data.item())

    def __array__(self, dtype=None, copy=None):
        return np.array(self.data, dtype=dtype, copy=copy)

    def __repr__(self):
        return as_text(self)

    def __format__(self, spec):
        return format(self.item(), spec) if spec else repr(self)

# %% [markdown]
# The constructor copies and checks, which is right for what people hand in. Results are made a
# million times over and need neither, so there is a second, private way in.
# And `Variable` is for numbers to be learned: a tensor that asks for slopes.

# %%
#| export
def Variable(data, requires_grad=True):
    """A Tensor whose gradient is wanted.

    >>> Variable([1, 2]).dtype.name
    'float32'
    """
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
#
# <details><summary>Hint 1</summary>What stands before the first bracket in a Tensor's text, and how
# far must the second row move to the right?</details>
# <details><summary>Hint 2</summary>Three dtypes are usual: float32, int64 and bool. What do you add
# for any other?</details>
# <details><summary>Hint 3</summary>Make the text of the numbers, append what is unusual, and put
# <code>Tensor(</code> and <code>)</code> around it at the end.</details>
# <details><summary>Hint 4</summary><code>text = np.array2string(x.data, separator=", ",
# prefix="Tensor(")</code>, then <code>text += f", dtype={x.dtype}"</code> when
# <code>x.dtype.name</code> is not one of the three.</details>

# %% nbgrader={"grade": false, "grade_id": "tensor-text", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "check-text", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_a_tensor_prints_its_numbers():
    for data, wanted in [([0.5, -2.0], "Tensor([ 0.5, -2. ])"), ([1, 2, 3], "Tensor([1, 2, 3])"),
                         (0.5, "Tensor(0.5)"), ([], "Tensor([])"),
                         ([True, False], "Tensor([ True, False])")]:
        found = as_text(Tensor(data))
        assert found is not None, f"as_text of Tensor({data}) returned None: is `return` missing?"
        assert found == wanted, f"Tensor({data}) should print {wanted}, yours prints {found}"


def test_rows_stand_under_each_other():
    found = as_text(Tensor([[1, 20, 300], [4, 5, 6]]))
    wanted = "Tensor([[  1,  20, 300],\n        [  4,   5,   6]])"
    assert found == wanted, f"the second row belongs under the first:\n{wanted}\nYours prints\n{found}"


def test_what_is_unusual_is_named():
    for x, wanted in [(Tensor(np.array([0.5])), "Tensor([0.5], dtype=float64)"),
                      (Tensor(np.array([7], "uint8")), "Tensor([7], dtype=uint8)"),
                      (Tensor([0.5], requires_grad=True), "Tensor([0.5], requires_grad=True)"),
                      (Tensor(np.array([0.5]), requires_grad=True),
                       "Tensor([0.5], dtype=float64, requires_grad=True)")]:
        assert as_text(x) == wanted, f"a reader needs to see {wanted}, yours prints {as_text(x)}"


test_a_tensor_prints_its_numbers()
test_rows_stand_under_each_other()
test_what_is_unusual_is_named()

# %% nbgrader={"grade": true, "grade_id": "check-text-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_tensors_print_alike():
    for x, wanted in [(Tensor(7), "Tensor(7.)"),
                      (Tensor(np.array(-3)), "Tensor(-3)"),
                      (Tensor([[True, False], [False, True]]), "Tensor([[ True, False],\n        [False,  True]])"),
                      (Tensor([[-1.5, 20.0], [3.25, 4.0]]), "Tensor([[-1.5 , 20.  ],\n        [ 3.25,  4.  ]])"),
                      (Tensor(np.array([[1], [-10], [3]], "int16")),
                       "Tensor([[  1],\n        [-10],\n        [  3]], dtype=int16)"),
                      (Tensor(np.array([[0.5, 2.0]], "float16"), True),
                       "Tensor([[0.5, 2. ]], dtype=float16, requires_grad=True)"),
                      (Tensor([[4], [5]], True), "Tensor([[4.],\n        [5.]], requires_grad=True)")]:
        found = as_text(x)
        assert found == wanted, f"as_text should give {wanted!r}, got {found!r}"


test_other_tensors_print_alike()
### END HIDDEN TESTS

# %% [markdown]
# `prefix` is never printed: only its length counts. The rows below the first move right by as much, to
# make room for what you put in front.

# %% [markdown]
# ## A row with a note
#
# Memory is one long row. To find `x[1, 2]` in it, the computer keeps one step per axis, the
# *strides*: how far to walk along the row when that index grows by one. For shape (2, 3) they are
# (3, 1), so `x[1, 2]` lies at place $1 \cdot 3 + 2 \cdot 1 = 5$.
#
# Predict the strides of shape (2, 3, 4) before you write.

# %% [markdown]
# **Task.** Write `strides_of`, counting in numbers, with the last index moving fastest.
#
# <details><summary>Hint 1</summary>How far apart are two neighbours along the last axis? And two
# neighbours along the axis before it?</details>
# <details><summary>Hint 2</summary>One step along an axis jumps over a whole block. Which axes make up
# that block?</details>
# <details><summary>Hint 3</summary>Walk the shape from its end, with a product that grows.
# Is an axis's own length part of its own stride?</details>
# <details><summary>Hint 4</summary><code>math.prod</code> of a slice of <code>shape</code>, one for each
# axis <code>i</code>: where must the slice begin? <code>math.prod(())</code> is 1.</details>

# %% nbgrader={"grade": false, "grade_id": "tensor-strides", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "check-strides", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def test_strides_count_numbers_for_every_rank():
    for shape, wanted in [((5,), (1,)), ((2, 3), (3, 1)), ((2, 3, 4), (12, 4, 1)), ((7, 1, 2, 3), (6, 6, 3, 1)),
                          ((), ())]:
        found = strides_of(shape)
        assert isinstance(found, tuple), f"the strides of {shape} should be the tuple {wanted}, yours are {found!r}"
        assert all(isinstance(step, int) for step in found), (
            f"shape {shape} has strides {wanted}, each an int; yours are {found!r} (np.prod of nothing is 1.0)")
        assert found == wanted, (
            f"shape {shape} has strides {wanted}, yours are {found}: multiply the lengths of all later axes")


def test_strides_lead_to_every_number():
    array = np.arange(30).reshape(5, 2, 3)
    row, steps = array.ravel(), strides_of((5, 2, 3))
    assert [isinstance(step, int) for step in steps] == [True] * 3, f"three strides, each an int; yours are {steps!r}"
    for index in np.ndindex(5, 2, 3):
        place = sum(i * step for i, step in zip(index, steps))
        assert place < 30 and row[place] == array[index], (
            f"x[{index}] is at {array[index]} in memory, your strides {steps} lead to {place}")


test_strides_count_numbers_for_every_rank()
test_strides_lead_to_every_number()

# %% nbgrader={"grade": true, "grade_id": "check-strides-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_strides_of_other_shapes():
    for shape in [(9,), (1,), (4, 6), (6, 4), (1, 5), (5, 1), (11, 7, 2), (3, 1, 4, 1, 5), (2, 2, 2, 2, 2, 2),
                  (1000, 1, 900)]:
        found, wanted = strides_of(shape), np.zeros(shape, "int8").strides  # one byte a number: bytes count numbers
        assert isinstance(found, tuple) and all(isinstance(step, int) for step in found), (
            f"strides of {shape} should be a tuple of ints, got {found!r}")
        assert found == wanted, f"strides of {shape} should be {wanted}, got {found}"
    found = strides_of(shape=(8, 10**6, 10**7))
    assert found == (10**13, 10**7, 1), f"strides of (8, 10**6, 10**7) should be (10**13, 10**7, 1), got {found}"


test_strides_of_other_shapes()
### END HIDDEN TESTS

# %% [markdown]
# Your strides draw where each number of a grid lies in memory. Reverse shape *and* strides, and
# the same row reads as the transposed grid: no number moves. That is why transposing a
# gigabyte takes no time.

# %%
def places(shape, strides):
    """For each place in the grid, its place in memory."""
    return Tensor(np.array([sum(i * s for i, s in zip(index, strides)) for index in np.ndindex(shape)]).reshape(shape))


print(places((3, 4), strides_of((3, 4))))
print(places((4, 3), strides_of((3, 4))[::-1]))

# %% [markdown]
# ## One door
#
# Every operation on tensors does the same chores: take the arrays out, run a NumPy function, put
# the result into a new tensor, and note how it was made. If all operations go through one door,
# the chores are written once. The door is `apply`, and four small given pieces stand beside it.
#
# The first says what may take part besides tensors, and refuses the rest. A NumPy number such as
# `np.sqrt(64)` counts as a Python number, which takes on the tensor's dtype; as it is, it would make
# NumPy compute in `float64`.

# %%
#| exporti
def operand(x):
    """What NumPy is to compute with for `x`: a plain number or an ndarray. TypeError for anything else."""
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
# The second runs the NumPy function. Two habits of NumPy need care: a result of one number comes
# back as no array at all, and whole numbers divide into `float64`. Rule: `float64` comes out only
# if an array of it went in.

# %%
#| exporti
FLOAT32 = np.dtype(np.float32)


def run(op, arrays, options):
    """op(*arrays, **options) as an ndarray, never wider than float32 unless an input was."""
    try:
        out = op(*arrays, **options)
    except (ValueError, IndexError, TypeError) as error:
        raise explained(error, op, arrays, options) from None
    if type(out) is not np.ndarray:
        out = np.asarray(out)
    if out.dtype is not FLOAT32 and out.dtype.kind == "f":
        if out.dtype not in [a.dtype for a in arrays if isinstance(a, np.ndarray)]:
            out = out.astype(FLOAT32)
    return out

# %% [markdown]
# The third is the note itself: this records how a result was made. It is written only when slopes
# are wanted, and never for results that have none, such as True and False. `recording` can be
# switched off, separately in each thread; `order` counts up, so younger results have larger numbers.

# %%
#| exporti
class Recording(threading.local):
    """Whether notes are taken in this thread."""

    on = True


recording = Recording()
counter = itertools.count()


class Creator:
    """How a result was made: op(*arrays, **options), where `arrays` are the numbers inside `inputs`."""

    __slots__ = ("op", "inputs", "arrays", "options", "order")

    def __init__(self, op, inputs, arrays, options):
        self.op, self.inputs, self.arrays, self.options = op, inputs, arrays, options
        self.order = next(counter)


def note(out, op, inputs, arrays, options):
    """Write into `out` how it was made, if any of `inputs` wants a gradient."""
    for x in inputs:
        if isinstance(x, Tensor) and x.requires_grad:
            if recording.on and out.data.dtype.kind == "f":
                out.requires_grad = True
                out.creator = Creator(op, inputs, arrays, options)
            return

# %% [markdown]
# The fourth turns NumPy's complaints into ours, with shapes in them. It calls two functions that
# you write later in this chapter.

# %%
#| exporti
def explained(error, op, arrays, options):
    """The error to raise when `op` refused: one that says which shapes met, and which rule they break."""
    if not isinstance(arrays, (tuple, list)) or not isinstance(options, dict):
        return TypeError("run(op, arrays, options) takes one tuple of arrays and one dictionary, without * and **")
    shapes = [np.shape(a) for a in arrays]
    if isinstance(error, np.exceptions.AxisError):
        n = len(shapes[0])
        return np.exceptions.AxisError(f"there is no axis {options.get('axis')} in shape {shapes[0]}: "
                                       + (f"its axes are 0 to {n - 1}, or -{n} to -1" if n else "it has no axes"))
    if isinstance(error, ValueError) and (isinstance(op, np.ufunc) or op is np.where):
        try:
            (matmul_shape if op is np.matmul else broadcast_shape)(*shapes)
        except ValueError as clearer:
            return clearer
    kind = next(k for k in (IndexError, ValueError, TypeError) if isinstance(error, k))
    name = op.__name__.removesuffix("_forward")
    return kind(f"{name} refused shape{'s' * (len(shapes) > 1)} {', '.join(map(str, shapes))}: {error}")

# %% [markdown]
# **Task.** Write `apply`, the door. What it gets may be tensors, arrays and numbers in any mix;
# what NumPy gets must be arrays and numbers; what the caller gets is one new tensor.
#
# <details><summary>Hint 1</summary>Say the four chores aloud in order. Which given piece does
# each?</details>
# <details><summary>Hint 2</summary><code>operand</code> takes one input. How do you get a tuple with
# one array per input, in the same order?</details>
# <details><summary>Hint 3</summary><code>run</code> wants the function, the tuple and the options as a
# dictionary. What turns its array into a tensor without copying?</details>
# <details><summary>Hint 4</summary>Last, <code>note(out, op, inputs, arrays, options)</code>. Which of
# the two, the tensors or the arrays, comes first there?</details>

# %% nbgrader={"grade": false, "grade_id": "tensor-apply", "locked": false, "schema_version": 3, "solution": true, "task": false}
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
    note(out, op, inputs, arrays, options)
    return out
    ### END SOLUTION

# %% tags=["learner-side"]
def read_after_writing(out, x, number):
    """The numbers in the Tensor `out`, read after `number` was written over all those in the Tensor `x`."""
    x.data[...] = number
    return out.data

# %% nbgrader={"grade": true, "grade_id": "check-apply", "locked": true, "points": 12, "schema_version": 3, "solution": false, "task": false}
def test_apply_computes_with_the_arrays_inside():
    a, b = np.array([[1, 2, 3], [4, 5, 9]], "float32"), np.array([[2, 0, 7], [1, 3, 5]], "float32")
    for inputs, plain in [((Tensor(a), Tensor(b)), (a, b)), ((Tensor(a), b), (a, b)), ((a, Tensor(b)), (a, b)),
                          ((Tensor(a), 2.5), (a, 2.5)), ((3, Tensor(b)), (3, b))]:
        out = apply(np.subtract, *inputs)
        assert out is not None, "apply returned None: is `return` missing?"
        assert isinstance(out, Tensor), f"apply should return a Tensor: use wrap. Yours returns\n{out!r}"
        wanted = np.subtract(*plain)
        assert out.shape == wanted.shape and np.array_equal(out.data, wanted), (
            f"subtract of {plain} gives {wanted}, yours {out}")
    assert np.array_equal(a[1], [4, 5, 9]), f"apply changed its input to {a}"


def test_apply_passes_the_options_on():
    x = Tensor(np.arange(24, dtype="float32").reshape(2, 3, 4))
    try:
        out = apply(np.swapaxes, x, axis1=0, axis2=2)
    except TypeError as error:
        assert False, f"apply(np.swapaxes, x, axis1=0, axis2=2) should hand both options on to run, yours: {error}"
    assert out.shape == (4, 3, 2), f"swapaxes of (2, 3, 4) with axis1=0, axis2=2 has shape (4, 3, 2), yours {out.shape}"
    total = apply(np.sum, Tensor([[1.5, 2.0, 4.0]]), axis=1)
    assert np.array_equal(total.data, [7.5]), f"1.5 + 2 + 4 along axis 1 is [7.5], yours is {total}"


def test_apply_copies_no_numbers():
    x = Tensor([[1, 2, 3], [4, 5, 9]])
    found = read_after_writing(apply(np.transpose, x), x, 7)
    assert np.array_equal(found, np.full((3, 2), 7)), (
        "np.transpose moves no number, so its result should share memory with x; yours is a copy: operand hands over "
        f"the array itself, wrap puts a Tensor around it. After x became all 7, yours holds {found}")


def test_apply_refuses_what_is_no_number():
    for inputs in [(Tensor([0.5]), "2"), (None, Tensor([0.5]))]:
        try:
            out = apply(np.add, *inputs)
        except TypeError as error:
            assert "cannot compute with" in str(error), (
                f"operand refuses {inputs} with \"cannot compute with ...\": give every input to it. Yours: {error}")
        else:
            assert False, f"one of {inputs} is nothing to compute with, yours gives {out!r}"


def test_apply_never_widens_to_float64():
    whole = Tensor([1, 2, 3])
    for out in (apply(np.divide, whole, Tensor([2, 4, 8])), apply(np.exp, whole),
                apply(np.multiply, whole, Tensor([0.5, 1.0, 2.0])),
                apply(np.add, Tensor([0.5]), np.sqrt(64)), apply(np.multiply, 0.1, whole)):
        assert out.dtype.name == "float32", (
            f"no float64 went in, so float32 should come out, not {out.dtype}: pass it through run")
    wide = apply(np.add, Tensor(np.array([0.5])), 1)
    assert wide.dtype.name == "float64", f"a float64 array went in, so float64 should come out, not {wide.dtype}"


def test_apply_notes_how_a_result_was_made():
    x, y = Tensor([[0.5, 2.0, 3.0]], requires_grad=True), Tensor([[4.0], [7.0]])
    out = apply(np.multiply, y, x)
    assert out.requires_grad, (
        "an input wants a gradient, so the result must too: is note called, and in the order "
        "(out, op, inputs, arrays, options)?")
    made = out.creator
    wants = [t.requires_grad for t in made.inputs]
    assert wants == [False, True], (
        f"creator.inputs should be the two tensors as given, their requires_grad [False, True], not {wants}")
    kinds = [isinstance(a, np.ndarray) for a in made.arrays]
    assert kinds == [True, True], f"creator.arrays should hold the arrays inside the inputs, yours holds {made.arrays}"
    assert np.array_equal(made.arrays[0], [[4], [7]]), (
        f"the first array should be that of the first input, yours is {made.arrays[0]}")
    total = apply(np.sum, out, axis=1)
    assert total.creator.options == {"axis": 1}, (
        f"the note should keep the options {{'axis': 1}}, yours keeps {total.creator.options}")
    assert total.creator.order > made.order, "a later result should have a larger order"
    silent = apply(np.multiply, y, 2.0)
    assert silent.creator is None and not silent.requires_grad, (
        f"no input wants a gradient, so no note: yours is {silent.creator}")


test_apply_computes_with_the_arrays_inside()
test_apply_passes_the_options_on()
test_apply_copies_no_numbers()
test_apply_refuses_what_is_no_number()
test_apply_never_widens_to_float64()
test_apply_notes_how_a_result_was_made()

# %% nbgrader={"grade": true, "grade_id": "check-apply-hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_apply_runs_any_function_on_other_inputs():
    wide, small = np.array([[-2.5, 1e6], [3e-5, 8.0]]), np.array([[0.5], [4.0]], "float16")
    cube, flags = np.arange(12, dtype="float32").reshape(2, 3, 2), np.array([True, False])
    for name, op, plain, tensors, options, dtype in [
            ("maximum", np.maximum, (wide, -1), [0], {}, "float64"),
            ("where", np.where, (flags, wide.astype("float32"), 0.0), [0, 1], {}, "float32"),
            ("sum along (0, 2)", np.sum, (cube,), [0], {"axis": (0, 2), "keepdims": True}, "float32"),
            ("sum of all", np.sum, (np.array([3, -8]),), [0], {}, "int64"),
            ("multiply float16", np.multiply, (small, 3), [0], {}, "float16"),
            ("greater", np.greater, (small, np.array([1, 2])), [1], {}, "bool"),
            ("sqrt of ints", np.sqrt, (np.array([4, 25]),), [0], {}, "float32"),
            ("negative of nothing", np.negative, (np.zeros((0, 3), "float32"),), [0], {}, "float32"),
            ("a function of four", lambda a, b, c, d, scale: (a - b) * c / d * scale,
             (2.0, wide, wide, np.array([4.0, 5.0], "float32")), [1, 3], {"scale": 3}, "float64")]:
        wanted = np.asarray(op(*plain, **options)).astype(dtype)
        out = apply(op, *[Tensor(part) if place in tensors else part for place, part in enumerate(plain)], **options)
        assert isinstance(out, Tensor), f"{name}: apply should return a Tensor, got {out!r}"
        assert out.shape == wanted.shape and out.dtype.name == dtype, (
            f"{name}: should be {dtype} of shape {wanted.shape}, got {out.dtype} of {out.shape}")
        assert np.array_equal(out.data, wanted), f"{name}: should be {wanted}, got {out.data}"
    assert np.array_equal(wide, [[-2.5, 1e6], [3e-5, 8.0]]), f"apply changed its input to {wide}"


def test_a_note_is_enough_to_repeat_an_operation():
    x = Tensor([[2.0, -1.0, 0.5]], requires_grad=True)
    out = apply(np.where, np.array([[True], [False]]), x, 4.0)
    total = apply(np.sum, out, axis=0, keepdims=True)
    power = apply(np.power, 2.0, total)
    for name, made, kinds, options, wanted in [
            ("where(array, x, 4)", out.creator, [False, True, False], {}, [[2, -1, 0.5], [4, 4, 4]]),
            ("sum(y, axis=0, keepdims=True)", total.creator, [True], {"axis": 0, "keepdims": True}, [[6, 3, 4.5]]),
            ("power(2, z)", power.creator, [False, True], {}, [[64, 8, 2**4.5]])]:
        found = [isinstance(part, Tensor) for part in made.inputs]
        assert found == kinds, f"{name}: the note's inputs should be Tensors at {kinds}, got {found}"
        assert made.options == options, f"{name}: the note's options should be {options}, got {made.options}"
        again = np.asarray(made.op(*made.arrays, **made.options))
        assert np.allclose(again, wanted, rtol=1e-6), f"{name}: repeated from its note gives {again}, not {wanted}"
    orders = [power.creator.inputs[1].creator.order, total.creator.inputs[0].creator.order]
    wanted = [total.creator.order, out.creator.order]
    assert orders == wanted and power.creator.order > wanted[0] > wanted[1], (
        f"the notes should hold the tensors themselves, made as numbers {wanted}, got {orders}")
    flags = apply(np.less, x, 1.0)
    assert flags.creator is None and not flags.requires_grad, "True and False have no slope, so less(x, 1) has no note"


test_apply_runs_any_function_on_other_inputs()
test_a_note_is_enough_to_repeat_an_operation()
### END HIDDEN TESTS

# %% [markdown]
# The operators live. Only `**` has a function of its own: NumPy takes the long way through logarithms even
# for $x^3$, many times slower than `x * x * x`, and refuses $2^{-1}$ for whole numbers.

# %%
#| exporti
def raise_to(base, exponent):
    """base ** exponent for arrays and numbers, place by place."""
    if type(exponent) is int and 2 <= exponent <= 4:
        square = base * base
        return square if exponent == 2 else square * base if exponent == 3 else square * square
    if type(exponent) is int and exponent < 0:
        exponent = float(exponent)
    return np.power(base, exponent)

# %%
x = Tensor([1, 2, 4])
print(x + x, x / 8, x**-1, -x, x > 1.5, sep="\n")

# %% [markdown]
# ## Who goes first?
#
# `x - 5` asks the tensor to subtract. `5 - x` asks the number 5, which has never heard of tensors, so
# Python turns to the tensor's reflected method: `x.__rsub__(5)`. There `self` stands on the *right*.
# For `+` nobody would notice a mix-up. Predict which of `- * / ** @` would.

# %% [markdown]
# **Task.** Write `reflected`, which all reflected methods call.
#
# <details><summary>Hint 1</summary>In <code>5 - x</code>, which of the two is the tensor, and which
# one does NumPy need first?</details>
# <details><summary>Hint 2</summary>The door takes its inputs in the order in which they
# are written.</details>

# %% nbgrader={"grade": false, "grade_id": "tensor-reflected", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "check-reflected", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_a_number_on_the_left_stays_on_the_left():
    x = Tensor([1.0, 2.0, 4.0])
    for name, out, wanted in [("5 - x", 5 - x, [4, 3, 1]), ("8 / x", 8 / x, [8, 4, 2]), ("3 ** x", 3**x, [3, 9, 81]),
                              ("5 + x", 5 + x, [6, 7, 9]), ("5 * x", 5 * x, [5, 10, 20])]:
        assert isinstance(out, Tensor), f"{name} should be a Tensor, yours is {out!r}"
        assert np.array_equal(out.data, wanted), (
            f"{name} should be {wanted} for x = [1, 2, 4], yours is {out.data}: what stands left goes first")
        assert out.dtype.name == "float32", f"{name} should stay float32, yours is {out.dtype}"


def test_an_array_on_the_left_gives_a_tensor():
    left = np.array([[8, 6, 4]], "float32")
    out = left - Tensor([[1.0], [2.0]])
    assert isinstance(out, Tensor), f"an array minus a Tensor should be a Tensor, yours is {out!r}"
    assert np.array_equal(np.asarray(out), [[7, 5, 3], [6, 4, 2]]), (
        f"[[8, 6, 4]] - [[1], [2]] is [[7, 5, 3], [6, 4, 2]], yours {out}")
    out = np.array([[1, 2, 3]]) @ Tensor([[1, 4], [0, 5], [2, 6]])
    assert out.shape == (1, 2), f"(1, 3) @ (3, 2) has shape (1, 2), yours {out.shape}"
    assert np.array_equal(np.asarray(out), [[7, 32]]), f"[1, 2, 3] @ [[1, 4], [0, 5], [2, 6]] is [7, 32], yours {out}"


def test_reflected_results_are_noted():
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    out = reflected(np.divide, x, 8.0)
    assert out.requires_grad, "x wants a gradient, so 8 / x must be noted: go through apply"
    wants = [isinstance(part, Tensor) for part in out.creator.inputs]
    assert wants == [False, True], "the note on 8 / x should list the inputs as 8, then x"


test_a_number_on_the_left_stays_on_the_left()
test_an_array_on_the_left_gives_a_tensor()
test_reflected_results_are_noted()

# %% nbgrader={"grade": true, "grade_id": "check-reflected-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_operands_on_the_left_stay_there():
    column = np.array([[2.0], [0.5], [8.0]], "float32")
    x = Tensor(column)
    minus, over, power = lambda a, b: a - b, lambda a, b: a / b, lambda a, b: a**b
    for left, dtype in [(-2.5, "float32"), (7, "float32"), (np.array([[1, 6, 9, 2]], "float32"), "float32"),
                        (np.array([3.0, 5.0]), "float64"), ([4, 0.25], "float32")]:
        for sign, op in [("-", minus), ("/", over), ("**", power)]:
            if sign == "**" and np.min(left) < 0:
                continue
            out, wanted = op(left, x), op(np.asarray(left), column)
            assert out.shape == wanted.shape and out.dtype.name == dtype, (
                f"{left} {sign} x should be {dtype} of shape {wanted.shape}, got {out.dtype} of {out.shape}")
            assert np.allclose(out.data, wanted, rtol=1e-5), f"{left} {sign} x should be {wanted}, got {out.data}"
    stack = np.arange(24, dtype="float32").reshape(4, 2, 3)
    out = stack @ x
    assert np.array_equal(np.asarray(out), stack @ column), (
        f"(4, 2, 3) @ (3, 1) should be {stack @ column}, got {out}")
    out = reflected(op=np.arctan2, x=Tensor([1.0, 2.0], requires_grad=True), other=-3.0)
    assert np.allclose(out.data, [math.atan2(-3, 1), math.atan2(-3, 2)], rtol=1e-6), (
        f"arctan2 of -3 and [1, 2] should be [-1.249, -0.983], got {out.data}")
    assert out.creator.arrays[0] == -3, f"the note should hold -3 first, got {out.creator.arrays}"


test_other_operands_on_the_left_stay_there()
### END HIDDEN TESTS

# %% [markdown]
# `*` would not have noticed, like `+`. The other four would: `-`, `/` and `**` give other numbers, and for
# `@` even the shapes may no longer fit.

# %% [markdown]
# ## When shapes differ
#
# Adding a bias to each row of a batch should not need a loop. Broadcasting lines two shapes up at
# their right ends; missing lengths count as 1; a length of 1 stretches to meet the other.
#
# Predict the two results. One of them is an accident that has cost many people an afternoon:

# %%
scores, targets = Tensor([[0.5], [2.0], [4.0]]), Tensor([0.5, 2.0, 4.0])
print(Tensor([[1, 2, 3], [4, 5, 6]]) + Tensor([10, 20, 30]))
print(scores - targets)

# %% [markdown]
# The second should have been three zeros: (3, 1) and (3,) make (3, 3), without a word.
# Knowing the resulting shape beforehand is the cure.
#
# **Task.** Write `broadcast_shape` for any number of shapes. A bad pair raises the `ValueError` that
# your readers will see from now on for every operator, so the shapes belong in it.
#
# <details><summary>Hint 1</summary>Two shapes of different rank: what would you write in front of the
# shorter one?</details>
# <details><summary>Hint 2</summary>With shapes of equal rank, look at one axis at a time. Which lengths
# may meet there? And what of 0 and 1?</details>
# <details><summary>Hint 3</summary>Collect the lengths of one axis in a set and drop 1. How many may
# be left?</details>
# <details><summary>Hint 4</summary><code>(1,) * (rank - len(s)) + tuple(s)</code> pads;
# <code>zip(*padded)</code> walks the axes; the set minus <code>{1}</code> has no element (the length
# is 1), one (that is it), or more (an error).</details>

# %% nbgrader={"grade": false, "grade_id": "tensor-broadcast", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def broadcast_shape(*shapes):
    """The shape of a result whose inputs have these shapes.

    shapes   one or more tuples, of any ranks
    returns  the common shape, a tuple

    Raises ValueError with all the shapes in it when two lengths on one axis differ and neither is 1.

    >>> broadcast_shape((2, 1, 4), (3, 1))
    (2, 3, 4)

    Source: NumPy user guide, "Broadcasting".
    """
    ### BEGIN SOLUTION
    rank = max(len(s) for s in shapes)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    common = [set(lengths) - {1} or {1} for lengths in zip(*padded)]
    if any(len(lengths) > 1 for lengths in common):
        raise ValueError(f"shapes {' and '.join(map(str, shapes))} do not broadcast: counted from the right, "
                         "lengths must be equal or 1")
    return tuple(lengths.pop() for lengths in common)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-broadcast", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_shapes_are_lined_up_at_the_right():
    for shapes, wanted in [([(2, 3), (3,)], (2, 3)), ([(3,), (2, 3)], (2, 3)), ([(5, 2, 3), (2, 3)], (5, 2, 3)),
                           ([(4, 3), ()], (4, 3)), ([(7,)], (7,)), ([(), ()], ())]:
        try:
            found = broadcast_shape(*shapes)
        except ValueError as error:
            found = f"an error ({error})"
        assert isinstance(found, (tuple, str)), f"{shapes} should meet in the tuple {wanted}, yours is {found!r}"
        cause = ": line up the right ends" if len({len(s) for s in shapes}) > 1 else ", though all are of one rank"
        assert found == wanted, f"{shapes} should meet in {wanted}, yours is {found}{cause}"


def test_a_length_of_one_stretches():
    for shapes, wanted in [([(3, 1), (3,)], (3, 3)), ([(2, 1, 4), (3, 1)], (2, 3, 4)), ([(1, 1), (5, 1)], (5, 1)),
                           ([(0, 3), (1, 3)], (0, 3)), ([(1,), (0,)], (0,)),
                           ([(2, 1, 1), (3, 1), (4,)], (2, 3, 4))]:
        try:
            found = broadcast_shape(*shapes)
        except ValueError as error:
            found = f"an error ({error})"
        assert isinstance(found, (tuple, str)), f"{shapes} should meet in the tuple {wanted}, yours is {found!r}"
        assert found == wanted, (
            f"{shapes} should meet in {wanted}, yours is {found}: 1 gives way to any other length, also to 0")


def test_shapes_that_cannot_meet_are_refused():
    for shapes in [((2, 3), (2,)), ((4, 3), (3, 4)), ((3,), (0,)), ((5, 2, 3), (5, 1, 4)), ((2, 1), (3,), (4,))]:
        try:
            found = broadcast_shape(*shapes)
        except ValueError as error:
            missing = [str(s) for s in shapes if str(s) not in str(error)]
            assert not missing, f"the error should name every shape, {', '.join(missing)} is missing in: {error}"
        else:
            assert False, (
                f"{shapes} cannot meet, yours gives {found}: lengths that differ are fine only when one of them is 1")
    found = broadcast_shape((2, 3), (3,))
    assert found == (2, 3), f"(2, 3) and (3,) do meet, in (2, 3), yours gives {found}"


def test_operators_explain_shapes_that_cannot_meet():
    try:
        out = Tensor([[1, 2, 3], [4, 5, 6]]) + Tensor([1, 2])
    except ValueError as error:
        assert "(2, 3)" in str(error) and "(2,)" in str(error), (
            f"the error of + should name (2, 3) and (2,), yours: {error}")
        assert "NumPy" not in str(error) and "operands" not in str(error), (
            f"that is NumPy's message, not yours: {error}")
    else:
        assert False, f"(2, 3) + (2,) should raise ValueError, yours gives {out}"


test_shapes_are_lined_up_at_the_right()
test_a_length_of_one_stretches()
test_shapes_that_cannot_meet_are_refused()
test_operators_explain_shapes_that_cannot_meet()

# %% nbgrader={"grade": true, "grade_id": "check-broadcast-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_shapes_meet_as_in_numpy():
    random = np.random.default_rng(11)
    for _ in range(40):
        common = random.integers(0, 5, size=random.integers(0, 6)).tolist()
        shapes = [tuple([1 if random.random() < 0.4 else n for n in common][random.integers(0, len(common) + 1):])
                  for _ in range(random.integers(1, 5))]
        found, wanted = broadcast_shape(*shapes), np.broadcast_shapes(*shapes)
        assert isinstance(found, tuple) and found == wanted, f"{shapes} should meet in {wanted}, got {found!r}"
    for shapes in [((4,), (5,)), ((2,), (0,)), ((6, 1, 3), (2, 1, 4)), ((1,), (2,), (3,)), ((2, 2), (3, 2), (1,)),
                   ((3, 1, 2), (4, 1, 2)), ((7, 5), (5, 7, 1, 4, 5))]:
        try:
            found = broadcast_shape(*shapes)
        except ValueError as error:
            missing = [s for s in shapes if str(s) not in str(error)]
            assert not missing, f"the error for {shapes} should name {missing}, got: {error}"
        else:
            assert False, f"{shapes} cannot meet, got {found}"


test_other_shapes_meet_as_in_numpy()
### END HIDDEN TESTS

# %% [markdown]
# ## Place by place
#
# With the door in place, a new operation is one line. These are given; each works on a Tensor, an
# array or a number, and is a method of Tensor too.

# %%
#| export
def exp(x):
    """e to the power of each number.

    >>> exp(Tensor([0.0]))
    Tensor([1.])
    """
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
    """The larger of two numbers, place by place; shapes broadcast.

    >>> maximum(Tensor([-2, 3]), 0)
    Tensor([0, 3])
    """
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

# %% [markdown]
# Three have forward functions of their own. `sigmoid` shows why: `exp(1000)` is infinite and
# `exp(-1000)` is 0, so both its exponents are held at 0 or below.

# %%
#| exporti
def relu_forward(x):
    return np.maximum(x, 0)


def sigmoid_forward(x):
    return np.exp(np.minimum(x, 0)) / (1 + np.exp(-1.0 * np.abs(x)))  # neither exp is ever above 1


def clip_forward(x, low, high):
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)

# %%
#| export
def relu(x):
    """Zero where x is negative, x elsewhere."""
    return apply(relu_forward, x)


def sigmoid(x):
    """1 / (1 + exp(-x)), between 0 and 1 and correct at +-1000.

    >>> sigmoid(Tensor([-1000.0, 0.0, 1000.0]))
    Tensor([0. , 0.5, 1. ])
    """
    return apply(sigmoid_forward, x)


def clip(x, low=None, high=None):
    """x held between two numbers; None leaves a side open.

    >>> clip(Tensor([-5, 0, 5]), low=-1)
    Tensor([-1,  0,  5])
    """
    return apply(clip_forward, x, low=low, high=high)

# %%
line = Tensor(np.linspace(-6, 6, 7))
for row in (relu(line), sigmoid(line), tanh(line)):
    print(" ".join(f"{v:6.3f}" for v in row.data))

# %% [markdown]
# ## Many numbers, one number
#
# `sum` adds along the axes you name and removes them: shape (2, 3, 4) summed along axis 1 leaves
# (2, 4), or (2, 1, 4) with `keepdims`, which still broadcasts against what was summed. The first
# reductions are given; a small function turns every way to name axes into one.

# %%
#| exporti
def sum_forward(x, axis=None, keepdims=False):
    return np.add.reduce(x, axis=axis, keepdims=keepdims)


def max_forward(x, axis=None, keepdims=False):
    return np.maximum.reduce(x, axis=axis, keepdims=keepdims)


def min_forward(x, axis=None, keepdims=False):
    return np.minimum.reduce(x, axis=axis, keepdims=keepdims)


def axes_of(axis, ndim):
    """The axes named by None (all), an int or a tuple, as a tuple of numbers from 0 to ndim - 1."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    for a in axes:
        if not -ndim <= a < ndim:
            raise np.exceptions.AxisError(f"there is no axis {a} in {ndim} axes")
    return tuple([a % ndim for a in axes])

# %%
#| export
def reduce_sum(x, axis=None, keepdims=False):
    """The sum along `axis`: an int, a tuple, or None for all.

    >>> reduce_sum(Tensor([[1, 2, 3], [4, 5, 6]]), axis=1)
    Tensor([ 6, 15])
    """
    return apply(sum_forward, x, axis=axis, keepdims=keepdims)


def reduce_max(x, axis=None, keepdims=False):
    """The largest number along `axis`: an int, a tuple, or None for all. ValueError when there is none."""
    return apply(max_forward, x, axis=axis, keepdims=keepdims)


def reduce_min(x, axis=None, keepdims=False):
    """The smallest number along `axis`: an int, a tuple, or None for all. ValueError when there is none."""
    return apply(min_forward, x, axis=axis, keepdims=keepdims)


def argmax(x, axis=None, keepdims=False):
    """Where the largest number along `axis` is; the first of equals. With None, a place in the flat row."""
    return apply(np.argmax, x, axis=axis, keepdims=keepdims)


def argmin(x, axis=None, keepdims=False):
    """Where the smallest number along `axis` is; the first of equals. With None, a place in the flat row."""
    return apply(np.argmin, x, axis=axis, keepdims=keepdims)

# %% [markdown]
# A mean is a sum divided by a count, and the count is where it goes wrong: it is not always the
# number of numbers in the tensor. Predict it for shape (2, 3, 4) along axis 1, along (0, 2), with axis=None,
# and with axis=(), which names no axis at all.

# %%
#| export
def mean(x, axis=None, keepdims=False):
    """The arithmetic mean along `axis`: an int, a tuple, or None for all. Whole numbers give float32.

    >>> mean(Tensor([[1, 2], [3, 8]]), axis=0)
    Tensor([2., 5.])
    """
    return reduce_sum(x, axis, keepdims) / count_along(x, axis)

# %% [markdown]
# **Task.** Write `count_along`. `axes_of` gives you the axes as plain numbers.
#
# <details><summary>Hint 1</summary>How many numbers are added up to make <em>one</em> number of the
# result?</details>
# <details><summary>Hint 2</summary>Two axes go away together. Do their lengths add or multiply?</details>
# <details><summary>Hint 3</summary><code>math.prod</code> of some entries of the shape. Which?</details>

# %% nbgrader={"grade": false, "grade_id": "tensor-count", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "check-count", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
def test_the_count_is_of_the_axes_that_go():
    x = Tensor(np.ones((2, 3, 5), "float32"))
    for axis, wanted in [(0, 2), (1, 3), (2, 5), (-1, 5), (-2, 3), ((0, 2), 10), ((-1, 1), 15), ((1,), 3), (None, 30),
                         ((), 1)]:
        found = count_along(x, axis)
        assert found == wanted, (
            f"along axis {axis} of shape (2, 3, 5), {wanted} numbers go into each result, you count {found}")
        assert isinstance(found, int), f"along axis {axis} the count is right, but should be an int, not {found!r}"
    assert count_along(Tensor(4.0)) == 1, f"a single number is a mean of 1 number, you count {count_along(Tensor(4.0))}"
    assert count_along(Tensor(np.ones((0, 4))), 1) == 4, (
        "rows of 4 numbers have 4 numbers each, also when there is no row")


def test_means_divide_by_your_count():
    array = np.array([[[1, 2, 6]], [[3, 10, -4]]], "float32")
    for axis, keepdims in [(None, False), (0, False), (1, True), (-1, True), ((0, 2), False)]:
        out = Tensor(array).mean(axis, keepdims)
        wanted = array.mean(axis, keepdims=keepdims)
        assert out.shape == wanted.shape, (
            f"mean along {axis}, keepdims={keepdims} has shape {wanted.shape}, yours {out.shape}")
        assert np.allclose(out.data, wanted, rtol=1e-6, atol=0), (
            f"mean along {axis} should be {wanted}, yours is {out.data}")
    whole = Tensor([1, 2]).mean()
    assert whole.dtype.name == "float32" and float(whole) == 1.5, (
        f"the mean of 1 and 2 is 1.5 in float32, yours is {whole}")


test_the_count_is_of_the_axes_that_go()
test_means_divide_by_your_count()

# %% nbgrader={"grade": true, "grade_id": "check-count-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_counts_and_means_of_other_shapes():
    array = np.random.default_rng(12).normal(size=(4, 1, 6, 2)) * 100
    x = Tensor(array)
    for axis, wanted in [(0, 4), (-4, 4), (1, 1), (-2, 6), ((3, 0), 8), ((-1, -2, 1), 12), ((0, 1, 2, 3), 48),
                         (None, 48), ((-3,), 1), ((), 1)]:
        found = count_along(x, axis=axis)
        assert isinstance(found, int) and found == wanted, (
            f"count_along axis {axis} of shape (4, 1, 6, 2) should be the int {wanted}, got {found!r}")
        for keepdims in (False, True):
            out, wanted_mean = mean(x, axis, keepdims), array.mean(axis, keepdims=keepdims)
            assert out.shape == wanted_mean.shape and np.allclose(out.data, wanted_mean, rtol=1e-9), (
                f"mean along {axis}, keepdims={keepdims}, should be {wanted_mean}, got {out.data}")
    for shape, axis, wanted in [((3, 0, 2), None, 0), ((3, 0, 2), 1, 0), ((3, 0, 2), (0, -1), 6), ((), (), 1),
                                ((5,), -1, 5)]:
        found = count_along(Tensor(np.zeros(shape)), axis)
        assert found == wanted, f"count_along axis {axis} of shape {shape} should be {wanted}, got {found!r}"


test_counts_and_means_of_other_shapes()
### END HIDDEN TESTS

# %% [markdown]
# For shape (2, 3, 4): 3 along axis 1, 8 along (0, 2), all 24 with `axis=None`. With `axis=()` each number is
# its own mean: 1, the product of no lengths.

# %% [markdown]
# ## How far from the mean?
#
# The variance is the mean of the squared distances from the mean. There is a famous shortcut, the
# mean of the squares minus the square of the mean. Predict what it makes of 8000,
# 8008 and 8016 in float32; the true answer is 42.667.

# %%
x = Tensor([8000.0, 8008.0, 8016.0])
print((x * x).mean() - x.mean() * x.mean())

# %% [markdown]
# Two large numbers, nearly equal, were subtracted: their seven digits cancelled.
#
# **Task.** Write `var` from the distances themselves. `correction=1` divides by one less than the
# count: the usual estimate when the mean, too, comes from the sample.
#
# <details><summary>Hint 1</summary>Each number needs the mean of its own row. Which shape must the mean
# have to be subtracted from every number?</details>
# <details><summary>Hint 2</summary>Is <code>keepdims</code> for the mean inside the same question as
# <code>keepdims</code> for the result?</details>
# <details><summary>Hint 3</summary>You have distances. Square, sum along the axis, and divide: by
# what, with a correction?</details>
# <details><summary>Hint 4</summary><code>d = x - mean(x, axis, keepdims=True)</code>, then a
# <code>reduce_sum</code> of <code>d * d</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "tensor-var", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

    Source: Chan, Golub, LeVeque, Algorithms for computing the sample variance (1983), "two-pass".
    """
    ### BEGIN SOLUTION
    d = x - mean(x, axis, keepdims=True)
    return reduce_sum(d * d, axis, keepdims) / (count_along(x, axis) - correction)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-var", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_the_variance_is_taken_along_the_axis():
    array = np.array([[[1, 2, 6], [0, 4, 5]], [[3, 10, -4], [7, 7, 1]], [[2, 8, 8], [9, 1, 0]],
                      [[5, 5, 3], [1, 6, -2]]], "float32")
    for axis in (None, 0, 1, 2, -1, (0, 2), (-1, 1)):
        for keepdims in (False, True):
            wanted = np.var(array, axis, keepdims=keepdims)
            try:
                out = var(Tensor(array), axis, keepdims)
            except ValueError as error:
                assert False, (
                    f"var along {axis}, keepdims={keepdims}: {error}. Inside, each row needs its own mean, in an axis "
                    "of length 1.")
            assert out.shape == wanted.shape, (
                f"var along {axis}, keepdims={keepdims} has shape {wanted.shape}, yours {out.shape}")
            assert np.allclose(out.data, wanted, rtol=1e-5, atol=0), (
                f"var along {axis} should be {wanted}, yours is {out.data}")


def test_the_correction_makes_the_divisor_smaller():
    x = Tensor([[1.0, 2.0, 6.0, 7.0], [0.0, 4.0, 5.0, -3.0]])
    for correction, wanted in [(0, [6.5, 10.25]), (1, [26 / 3, 41 / 3]), (2, [13.0, 20.5])]:
        found = var(x, 1, correction=correction).data
        assert found.shape == (2,), f"var of shape (2, 4) along axis 1 has shape (2,), yours {found.shape}"
        assert np.allclose(found, wanted, rtol=1e-5, atol=0), (
            f"with correction={correction} var should be {wanted}, yours is {found}")


def test_large_numbers_do_not_cancel():
    x = Tensor([[8000.0, 8008.0, 8016.0], [3.0, 3.5, 4.5]])
    found = var(x, axis=1).data
    assert found.shape == (2,), f"var of shape (2, 3) along axis 1 has shape (2,), yours {found.shape}"
    assert abs(found[1] * 18 / 7 - 1) < 1e-4, (
        f"var of 3, 3.5, 4.5 should be 0.3889, yours is {found[1]:.4g}: how many numbers does one row have?")
    assert abs(found[0] * 3 / 128 - 1) < 1e-4, (
        f"var of 8000, 8008, 8016 should be 42.667, yours is {found[0]:.4g}: subtract the mean before squaring")


def test_the_variance_of_whole_numbers_is_noted_and_narrow():
    out = var(Tensor([1, 2, 6]))
    assert out.dtype.name == "float32" and abs(float(out) - 14 / 3) < 1e-5, (
        f"var of 1, 2, 6 is 4.6667 in float32, yours {out!r} in {out.dtype}")
    x = Tensor([1.0, 2.0, 6.0], requires_grad=True)
    assert var(x).requires_grad, "x wants a gradient and var lost it: compute with tensors, not with x.data"
    assert np.array_equal(x.data, [1, 2, 6]), f"var changed its input to {x.data}"


test_the_variance_is_taken_along_the_axis()
test_the_correction_makes_the_divisor_smaller()
test_large_numbers_do_not_cancel()
test_the_variance_of_whole_numbers_is_noted_and_narrow()

# %% nbgrader={"grade": true, "grade_id": "check-var-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_the_variance_of_other_numbers():
    array = np.random.default_rng(13).normal(size=(3, 1, 4, 2)) * [1, 1e3] + [0, 5e4]
    x = Tensor(array)
    for axis, count in [(None, 24), (0, 3), (-2, 4), (1, 1), ((0, -1), 6), ((1, 2, 3), 8), ((-2,), 4)]:
        for keepdims in (False, True):
            for correction in range(min(count, 4)):
                wanted = np.var(array, axis, keepdims=keepdims, ddof=correction)
                out = var(x, correction=correction, keepdims=keepdims, axis=axis)
                given = f"var along {axis}, keepdims={keepdims}, correction={correction}"
                assert out.shape == wanted.shape and out.dtype.name == "float64", (
                    f"{given} should be float64 of shape {wanted.shape}, got {out.dtype} of {out.shape}")
                assert np.allclose(out.data, wanted, rtol=1e-9, atol=1e-12), (
                    f"{given} should be {wanted}, got {out.data}")
    assert np.array_equal(x.data, array), "var changed its input"
    found = var(Tensor([[20000.0, 20004.0, 20012.0, 20008.0]]), 1, True, 1)
    assert found.shape == (1, 1) and abs(float(found) * 3 / 80 - 1) < 1e-3, (
        f"var of 20000, 20004, 20012, 20008 with correction 1 is 26.667, got {found.data}")
    found = var(Tensor(np.array([[1, 5], [3, 9]])), 0, False, 1)
    assert found.dtype.name == "float32" and np.array_equal(found.data, [2, 8]), (
        f"var of whole numbers [[1, 5], [3, 9]] along 0 with correction 1 is [2, 8] in float32, got {found.data}")
    assert var(Tensor([[1.0, 4.0]], requires_grad=True), 1, correction=1).requires_grad, "var lost the gradient"


test_the_variance_of_other_numbers()
### END HIDDEN TESTS

# %%
#| export
def std(x, axis=None, keepdims=False, correction=0):
    """The standard deviation along `axis`: the square root of `var`, in the unit of `x`."""
    return sqrt(var(x, axis, keepdims, correction))

# %% [markdown]
# ## The same row, another grid
#
# Six numbers read as (6,), (2, 3), (3, 2) or (1, 6, 1): `reshape` only rewrites the note. One length
# may be left to the computer, written -1. Predict `x.reshape(2, -1, 2)` for 12 numbers.
#
# **Task.** Write `infer_shape`, which fills in the -1 and refuses what cannot be.
#
# <details><summary>Hint 1</summary>What do all lengths of a shape multiply to?</details>
# <details><summary>Hint 2</summary>If the known lengths multiply to 4 and there are 12 numbers, what is
# missing? And with 13, or when the known lengths multiply to 0?</details>
# <details><summary>Hint 3</summary>Fill in first, then check once at the end: is every length
# settled, and is the product the size?</details>
# <details><summary>Hint 4</summary><code>known = math.prod(n for n in shape if n != -1)</code>. Replace
# only a single -1 (<code>shape.count(-1)</code>) and only when <code>known</code> is not 0; then compare
# <code>math.prod(shape)</code> with <code>size</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "tensor-infer-shape", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def infer_shape(shape, size):
    """`shape` with its -1 replaced by the length that makes room for `size` numbers.

    shape    tuple of lengths >= 0; at most one may be -1
    size     how many numbers there are
    returns  tuple of lengths whose product is `size`

    Raises ValueError with the shape and the size in it when there is no such tuple, or no single one.

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
        raise ValueError(f"{size} numbers do not fill shape {shape}: the lengths must multiply to {size}, one of "
                         "them may be -1")
    return full
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-infer-shape", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_minus_one_is_filled_in():
    for shape, size, wanted in [((-1,), 6, (6,)), ((2, -1, 2), 12, (2, 3, 2)), ((-1, 5), 15, (3, 5)),
                                ((4, -1), 0, (4, 0)), ((1, -1, 1), 7, (1, 7, 1))]:
        try:
            found = infer_shape(shape, size)
        except ValueError as error:
            found = f"an error ({error})"
        assert found == wanted, f"{size} numbers in shape {shape} make {wanted}, yours is {found}"


def test_a_full_shape_stays():
    for shape, size in [((2, 3), 6), ((), 1), ((0, 4), 0), ((7,), 7)]:
        try:
            found = infer_shape(shape, size)
        except ValueError as error:
            found = f"an error ({error})"
        assert found == shape, f"shape {shape} fits {size} numbers as it is, yours is {found}"
    found = infer_shape((3, -1), 6)
    assert found == (3, 2), f"only a full shape does: (3, -1) with 6 numbers is (3, 2), yours is {found}"


def test_shapes_that_do_not_fit_are_refused():
    for shape, size, why in [((2, 3), 7, "2 * 3 is 6, not 7"), ((2, 4), 7, "2 * 4 is 8, not 7"),
                             ((4, -1), 13, "4 does not divide 13"),
                             ((-1, -1), 4, "only one length may be left open"),
                             ((-1, -1), 1, "only one length may be left open"),
                             ((0, -1), 0, "for 0 rows any length would do"),
                             ((0, -1), 6, "0 rows hold no numbers, whatever their length"),
                             ((-2, 3), 6, "no length is -2"), ((-2, -3), 6, "no length is -2"),
                             ((), 2, "a shape without axes holds one number")]:
        try:
            found = infer_shape(shape, size)
        except ValueError as error:
            named = str(shape) in str(error) and str(size) in str(error)
            assert named, f"the error should name the shape {shape} and the size {size}, yours: {error}"
        else:
            assert False, f"infer_shape({shape}, {size}) should be refused, because {why}; yours gives {found}"
    found = infer_shape((-1, 3), 6)
    assert found == (2, 3), f"(-1, 3) fits 6 numbers as (2, 3), yours gives {found}"


test_minus_one_is_filled_in()
test_a_full_shape_stays()
test_shapes_that_do_not_fit_are_refused()

# %% nbgrader={"grade": true, "grade_id": "check-infer-shape-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_shapes_are_filled_in_or_refused():
    random = np.random.default_rng(14)
    refused = [((5, -1, 0), 0), ((-1, 2, -1), 8), ((-3, -1), 6), ((-1, -2, 3), 6), ((1, 1, 1), 2), ((), 0),
               ((10**6, -1), 10**6 + 1)]
    for _ in range(40):
        shape = tuple(random.integers(1, 6, size=random.integers(1, 5)).tolist())
        size, place = math.prod(shape), random.integers(0, len(shape))
        left_open = shape[:place] + (-1,) + shape[place + 1:]
        for given in (shape, left_open):
            found = infer_shape(shape=given, size=size)
            assert isinstance(found, tuple) and found == shape, (
                f"{size} numbers in shape {given} make {shape}, got {found!r}")
        refused += [(shape, size + 1), (shape, size * 2)]
        if size > shape[place]:
            refused.append((left_open, size + 1))
    for shape, size, wanted in [((-1, 7), 0, (0, 7)), ((0, 5), 0, (0, 5)), ((3, 10**6, -1), 6 * 10**6, (3, 10**6, 2)),
                                ((1, 1, -1), 1, (1, 1, 1))]:
        found = infer_shape(shape, size)
        assert found == wanted, f"{size} numbers in shape {shape} make {wanted}, got {found}"
    for shape, size in refused:
        try:
            found = infer_shape(shape, size)
        except ValueError as error:
            named = str(shape) in str(error) and str(size) in str(error)
            assert named, f"the error should name {shape} and {size}, got: {error}"
        else:
            assert False, f"infer_shape({shape}, {size}) should be refused, got {found}"


test_other_shapes_are_filled_in_or_refused()
### END HIDDEN TESTS

# %% [markdown]
# With it, the functions that only rewrite the note. Their results share memory with the input, as in
# NumPy and PyTorch. A shape may be given as a tuple or as several numbers.

# %%
#| exporti
def reshape_forward(x, shape):
    return x.reshape(shape)


def as_tuple(numbers):
    """(2, 3) from either f(2, 3) or f((2, 3)), where `numbers` are the arguments of f."""
    return tuple(numbers[0]) if len(numbers) == 1 and isinstance(numbers[0], (tuple, list)) else numbers

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
    """The axes from start_axis to end_axis, both included, joined into one: all of them, if not told otherwise.

    >>> flatten(Tensor(np.ones((2, 3, 4))), 1).shape
    (2, 12)
    """
    if x.ndim == 0:
        return reshape(x, 1)
    start, end = axes_of((start_axis, end_axis), x.ndim)
    if start > end:
        raise ValueError(f"flatten goes from an axis to a later one, not from {start_axis} to {end_axis} in shape "
                         f"{x.shape}")
    return reshape(x, *x.shape[:start], math.prod(x.shape[start:end + 1]), *x.shape[end + 1:])


def unsqueeze(x, axis):
    """A new axis of length 1 at place `axis` of the result.

    >>> unsqueeze(Tensor([1, 2, 3]), -1).shape
    (3, 1)
    """
    (place,) = axes_of(axis, x.ndim + 1)
    return reshape(x, *x.shape[:place], 1, *x.shape[place:])


def squeeze(x, axis=None):
    """Without the axes of length 1: all such, or those named. ValueError when a named one is longer.

    >>> squeeze(Tensor([[[1], [2]]])).shape
    (2,)
    """
    gone = [a for a in axes_of(axis, x.ndim) if axis is not None or x.shape[a] == 1]
    if any(x.shape[a] != 1 for a in gone):
        raise ValueError(f"only axes of length 1 can be squeezed away, not axis {axis} of shape {x.shape}")
    return reshape(x, *[n for a, n in enumerate(x.shape) if a not in gone])


def broadcast_to(x, *shape):
    """`x` stretched to `shape`; its memory is shared, and can only be read.

    >>> broadcast_to(Tensor([1, 2]), 3, 2).shape
    (3, 2)
    """
    shape = as_tuple(shape)
    if broadcast_shape(x.shape, shape) != shape:
        raise ValueError(f"shape {x.shape} does not stretch to {shape}: only lengths of 1 do")
    return apply(np.broadcast_to, x, shape=shape)

# %% [markdown]
# ## Axes in another order
#
# An image arrives as (height, width, channels) and a layer wants (channels, height, width). Reshaping
# gives the right *shape* and the wrong picture. Predict which of these rows hold one colour:

# %%
picture = Tensor([[[1, 20, 300], [2, 21, 301]]])  # (height 1, width 2, channels 3)
print(picture.reshape(3, 1, 2))

# %% [markdown]
# **Task.** Write `transpose`: the axes in the order given, or reversed when none is given.
#
# <details><summary>Hint 1</summary>NumPy's <code>np.transpose</code> moves the axes, and refuses those
# that are missing or there twice. What has to be settled before it is called?</details>
# <details><summary>Hint 2</summary><code>as_tuple</code> and <code>axes_of</code> settle two things. Which?
# When there are no axes, which tuple means "reversed"?</details>
# <details><summary>Hint 3</summary><code>tuple(range(x.ndim))</code> is the order as it is: turn it round.
# Either way one call of <code>apply</code> with <code>np.transpose</code> remains; which option does it
# take?</details>

# %% nbgrader={"grade": false, "grade_id": "tensor-transpose", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def transpose(x, *axes):
    """The axes of `x` in another order: axis i of the result is axis axes[i] of `x`.

    x        Tensor
    axes     each axis once, as several ints or one tuple, negative ones from the end; none: reversed
    returns  Tensor that shares memory with `x`; its note names the axes by numbers from 0, as undoing needs

    Raises ValueError, with the shape in it, when an axis is missing or there twice.

    >>> transpose(Tensor(np.ones((2, 3, 4))), 2, 0, 1).shape
    (4, 2, 3)

    Source: numpy.transpose; PyTorch calls it permute.
    """
    ### BEGIN SOLUTION
    axes = axes_of(as_tuple(axes), x.ndim) if axes else tuple(range(x.ndim))[::-1]
    return apply(np.transpose, x, axes=axes)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-transpose", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
def test_axes_go_where_they_are_sent():
    array = np.arange(24, dtype="float32").reshape(2, 3, 4)
    x = Tensor(array)
    for axes in [(2, 0, 1), (1, 2, 0), (0, 2, 1), (-1, 0, 1), (0, 1, 2)]:
        out, wanted = transpose(x, *axes), np.transpose(array, axes)
        assert out.shape == wanted.shape, f"(2, 3, 4) with axes {axes} has shape {wanted.shape}, yours {out.shape}"
        assert np.array_equal(out.data, wanted), (
            f"axes {axes}: the shape is right, the numbers are not: move axes, do not reshape")
        assert np.array_equal(transpose(x, axes).data, wanted), f"one tuple {axes} should do the same as several ints"
    assert np.array_equal(x.data, array), "transpose changed its input"


def test_without_axes_the_order_is_reversed():
    for shape in [(2, 3), (2, 3, 4), (5,), ()]:
        array = np.arange(math.prod(shape), dtype="float32").reshape(shape)
        out = transpose(Tensor(array))
        assert out.shape == shape[::-1], f"shape {shape} reversed is {shape[::-1]}, yours is {out.shape}"
        assert np.array_equal(out.data, array.T), f"the transpose of\n{array}\nis\n{array.T}\nyours is\n{out.data}"


def test_each_axis_is_named_once():
    for axes in [(0, 0, 1), (0, 1), (1,), (0, 1, 2, 0), (2, 1, -1)]:
        try:
            out = transpose(Tensor(np.ones((2, 3, 4), "float32")), *axes)
        except ValueError as error:
            assert "(2, 3, 4)" in str(error), f"the error should name the shape (2, 3, 4), yours: {error}"
        else:
            assert False, f"axes {axes} do not name each of three axes once, yours gives shape {out.shape}"


def test_no_number_moves():
    for axes in [(), (2, 0, 1), (0, 1, 2)]:
        x = Tensor(np.ones((2, 3, 4), "float32"))
        out = transpose(x, *axes)
        found = read_after_writing(out, x, 7)
        assert np.array_equal(found, np.full(np.ones((2, 3, 4)).transpose(*axes).shape, 7)), (
            f"transpose(x{''.join(f', {a}' for a in axes)}) should share memory with x, yours is a copy: "
            f"after x became all 7, yours holds {found}")


def test_a_transpose_is_noted():
    x = Tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    for out in (transpose(x), transpose(x, 1, 0)):
        assert out.requires_grad, "x wants a gradient and its transpose lost it: go through apply"
    options = transpose(Tensor(np.ones((2, 3, 4)), requires_grad=True), -1, 0, 1).creator.options
    assert options == {"axes": (2, 0, 1)}, (
        f"the note should say axes (2, 0, 1) for -1, 0, 1, so that it can be undone; yours says {options}")


test_axes_go_where_they_are_sent()
test_without_axes_the_order_is_reversed()
test_each_axis_is_named_once()
test_no_number_moves()
test_a_transpose_is_noted()

# %% nbgrader={"grade": true, "grade_id": "check-transpose-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_four_axes_go_where_they_are_sent():
    array = np.random.default_rng(15).normal(size=(2, 1, 3, 5)).astype("float32")
    x = Tensor(array, requires_grad=True)
    for axes in itertools.permutations(range(4)):
        mixed = [a - 4 if a % 2 else a for a in axes]
        wanted = np.transpose(array, axes)
        for given in (axes, (axes,), mixed, (tuple(mixed),)):
            out = transpose(x, *given)
            assert out.shape == wanted.shape and np.array_equal(out.data, wanted), (
                f"(2, 1, 3, 5) with axes {given} has shape {wanted.shape}, got shape {out.shape} or other numbers")
            noted = tuple(out.creator.options["axes"])
            assert noted == axes, f"the note for axes {given} should say {axes}, got {noted}"
    out = transpose(x)
    noted = tuple(out.creator.options["axes"])
    assert np.array_equal(out.data, array.T) and noted == (3, 2, 1, 0), (
        f"without axes, four are reversed and noted as (3, 2, 1, 0), got shape {out.shape} and {noted}")
    for shape, axes in [((4,), (-1,)), ((0, 4), ()), ((0, 4), (1, 0)), ((3, 1, 2), (2, 0, 1))]:
        plain = np.ones(shape)
        x = Tensor(plain)
        out, wanted = transpose(x, *axes), np.transpose(plain, axes or None)
        assert out.shape == wanted.shape, f"shape {shape} with axes {axes} has shape {wanted.shape}, got {out.shape}"
        found = read_after_writing(out, x, -2.5)
        assert np.array_equal(found, np.full(wanted.shape, -2.5)), f"transpose of {shape} with axes {axes} is a copy"
    for axes in [(0, 1, 2, 2), (0, 1, 2), (3,), (-1, 3, 0, 1), (0, 1, 2, 3, 0)]:
        try:
            out = transpose(Tensor(array), *axes)
        except ValueError as error:
            assert "(2, 1, 3, 5)" in str(error), f"the error for axes {axes} should name (2, 1, 3, 5): {error}"
        else:
            assert False, f"axes {axes} of shape (2, 1, 3, 5) should be refused, got shape {out.shape}"


test_four_axes_go_where_they_are_sent()
### END HIDDEN TESTS

# %%
print(picture.transpose(2, 0, 1))

# %% [markdown]
# Each row is one colour now. Exchanging two axes, the commonest case, has a name of its own.

# %%
#| export
def swapaxes(x, axis1, axis2):
    """Two axes exchanged, the others in place.

    >>> swapaxes(Tensor(np.ones((2, 3, 4))), 0, -1).shape
    (4, 3, 2)
    """
    order = list(range(x.ndim))
    a, b = axes_of((axis1, axis2), x.ndim)
    order[a], order[b] = b, a
    return transpose(x, order)

# %% [markdown]
# ## Matrix products
#
# A layer of a network weighs all its inputs for each output: $c_{ij} = \sum_k a_{ik} b_{kj}$.
# That is a product and a sum, and you have both. Line up three axes, i, k and j, multiply
# by broadcasting, and sum k away. Predict which axis `a` of shape (i, k) is missing, and which `b`.
#
# **Task.** Write `matmul_by_broadcasting`, for two matrices, without a loop and without `@`.
#
# <details><summary>Hint 1</summary>Which shape has the table of all products
# $a_{ik} b_{kj}$?</details>
# <details><summary>Hint 2</summary><code>unsqueeze</code> adds an axis of length 1. Where does
# <code>a</code> need one so that its axes read (i, k, 1)?</details>
# <details><summary>Hint 3</summary>(i, k, 1) times (1, k, j) makes (i, k, j). Which axis goes?</details>

# %% nbgrader={"grade": false, "grade_id": "tensor-matmul-by-broadcasting", "locked": false, "schema_version": 3, "solution": true, "task": false}
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

# %% nbgrader={"grade": true, "grade_id": "check-matmul-by-broadcasting", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_rows_meet_columns():
    a = np.array([[1, 2, 3], [0, -1, 4]], "float32")
    b = np.array([[2, 0, 1, 5], [1, 3, -2, 0], [4, 1, 0, 7]], "float32")
    try:
        out = matmul_by_broadcasting(Tensor(a), Tensor(b))
    except ValueError as error:
        assert False, f"(2, 3) times (3, 4): {error}. Does k, which both have, stand on the same axis in both?"
    wanted = [[sum(a[i, k] * b[k, j] for k in range(3)) for j in range(4)] for i in range(2)]
    assert out.shape == (2, 4), f"(2, 3) times (3, 4) has shape (2, 4), yours {out.shape}"
    assert np.array_equal(out.data, wanted), f"the product should be {wanted}, yours is\n{out.data}"


def test_thin_and_empty_matrices_multiply():
    for i, k, j in [(1, 5, 2), (4, 1, 3), (3, 2, 1), (0, 2, 3), (2, 0, 3)]:
        a = np.arange(i * k, dtype="float32").reshape(i, k) - 2
        b = np.arange(k * j, dtype="float32").reshape(k, j) + 1
        out = matmul_by_broadcasting(Tensor(a), Tensor(b))
        assert out.shape == (i, j), f"({i}, {k}) times ({k}, {j}) has shape ({i}, {j}), yours {out.shape}"
        assert np.array_equal(out.data, a @ b), f"({i}, {k}) times ({k}, {j}) should be {a @ b}, yours is {out.data}"


def test_the_product_is_noted():
    for wants in (True, False):
        a, b = Tensor([[1.0, 2.0, 3.0]], wants), Tensor([[1.0], [0.5], [4.0]], not wants)
        out = matmul_by_broadcasting(a, b)
        assert out.requires_grad, (
            f"{'ab'[not wants]} wants a gradient and the product lost it: compute with tensors, not with .data")
        made = out.creator.op.__name__
        assert made != "matmul", "the product was made by NumPy's matmul, which is `@`: do it by `*` and a sum"


test_rows_meet_columns()
test_thin_and_empty_matrices_multiply()
test_the_product_is_noted()

# %% nbgrader={"grade": true, "grade_id": "check-matmul-by-broadcasting-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_matrices_multiply():
    random = np.random.default_rng(16)
    for i, k, j in [(7, 5, 6), (1, 1, 1), (1, 8, 1), (9, 1, 9), (4, 4, 4), (3, 2, 0), (0, 0, 0), (2, 30, 3)]:
        for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-5), ("int64", 0)):
            a, b = [(random.normal(size=shape) * 30).astype(dtype) for shape in ((i, k), (k, j))]
            given, wanted = f"({i}, {k}) times ({k}, {j}) in {dtype}", a @ b
            out = matmul_by_broadcasting(a=Tensor(a), b=Tensor(b))
            assert out.shape == (i, j) and out.dtype.name == dtype, (
                f"{given} should have shape {(i, j)}, got {out.dtype} of shape {out.shape}")
            assert np.allclose(out.data, wanted, rtol=tolerance, atol=tolerance * 3000), (
                f"{given} should be {wanted}, got {out.data}")
    out = matmul_by_broadcasting(Tensor([[1.0], [2.0]], True), Tensor([[3.0, 5.0]], True))
    made = out.creator.op.__name__
    assert made != "matmul" and np.array_equal(out.data, [[3, 5], [6, 10]]), (
        f"[[1], [2]] times [[3, 5]] is [[3, 5], [6, 10]] by * and a sum, got {out.data} by {made}")


test_other_matrices_multiply()
### END HIDDEN TESTS

# %% [markdown]
# Right, and dear: the table of products has $i \cdot k \cdot j$ numbers. NumPy's `matmul`, to which `@` goes,
# never builds it. Predict the ratio of times for two matrices of 96 by 96.

# %%
import time

a, b = [Tensor(m) for m in np.random.default_rng(1).normal(size=(2, 96, 96)).astype("float32")]


def seconds(multiply):
    """The best of five."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        multiply(a, b)
        times.append(time.perf_counter() - start)
    return min(times)


print(f"table: {96**3 * 4:,} bytes, {seconds(matmul_by_broadcasting) / seconds(lambda a, b: a @ b):.0f} times slower")

# %% [markdown]
# Networks multiply stacks of matrices: `(batch, heads, tokens, size) @ (batch, heads, size, tokens)`.
# The rule for `@` at any rank: the last two axes are matrices, the axes before them broadcast, and a
# tensor with one axis joins as a row on the left or a column on the right, and that axis goes.
#
# Predict: (5, 1, 2, 3) @ (4, 3, 7), and (3,) @ (4, 3, 7).
#
# **Task.** Write `matmul_shape`. Its error is what `@` will tell whoever gets the order wrong.
#
# <details><summary>Hint 1</summary>Which length of the left shape must equal which length of the
# right one? Where is the latter when the right shape has one axis?</details>
# <details><summary>Hint 2</summary>You have a function for the axes in front. What is
# <code>(3,)[:-2]</code>?</details>
# <details><summary>Hint 3</summary>Three tuples, added up: the common batch, the rows of the left,
# the columns of the right. Two of them may be empty.</details>
# <details><summary>Hint 4</summary>Rows: <code>a[-2:-1]</code>, empty for one axis. Columns:
# <code>b[-1:]</code>, but only when <code>b</code> has more than one axis. The inner length of
# <code>b</code> is <code>b[-2:][0]</code>.</details>

# %% nbgrader={"grade": false, "grade_id": "tensor-matmul-shape", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def matmul_shape(a, b):
    """The shape of `x @ y` for tensors of shapes `a` and `b`.

    a, b     tuples: (k,) or (..., i, k), and (k,) or (..., k, j)
    returns  batch + (i, j), without i when `a` has one axis and without j when `b` has one

    Raises ValueError with both shapes in it: for no axis, for inner lengths that differ, for batches
    that do not broadcast.

    >>> matmul_shape((5, 1, 2, 3), (4, 3, 7))
    (5, 4, 2, 7)

    Source: Python Enhancement Proposal 465, "Semantics".
    """
    ### BEGIN SOLUTION
    if not a or not b or a[-1] != b[-2:][0]:
        raise ValueError(f"cannot multiply shape {a} by {b}: the last length of the left must equal "
                         "the last but one of the right (the only one, if it has one axis)")
    try:
        batch = broadcast_shape(a[:-2], b[:-2])
    except ValueError as error:
        raise ValueError(f"cannot multiply shape {a} by {b}: {error}") from None
    return batch + a[-2:-1] + (b[-1:] if len(b) > 1 else ())
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "check-matmul-shape", "locked": true, "points": 4, "schema_version": 3, "solution": false, "task": false}
def test_matrices_and_stacks_of_them():
    for a, b, wanted in [((2, 3), (3, 4), (2, 4)),
                         ((5, 1, 2, 3), (4, 3, 7), (5, 4, 2, 7)),
                         ((6, 2, 3), (3, 4), (6, 2, 4)),
                         ((2, 3), (6, 3, 4), (6, 2, 4)),
                         ((0, 3), (3, 2), (0, 2)),
                         ((2, 0), (0, 3), (2, 3)),
                         ((8, 5, 4, 2), (8, 5, 2, 3), (8, 5, 4, 3))]:
        try:
            found = matmul_shape(a, b)
        except ValueError as error:
            found = f"an error ({error})"
        assert isinstance(found, (tuple, str)), f"{a} @ {b} has as its shape the tuple {wanted}, yours is {found!r}"
        assert found == wanted, f"{a} @ {b} has shape {wanted}, yours is {found}"


def test_one_axis_joins_and_goes():
    for a, b, wanted in [((3,), (3,), ()), ((3,), (3, 4), (4,)), ((2, 3), (3,), (2,)), ((3,), (4, 3, 7), (4, 7)),
                         ((6, 2, 3), (3,), (6, 2))]:
        try:
            found = matmul_shape(a, b)
        except ValueError as error:
            found = f"an error ({error})"
        assert isinstance(found, (tuple, str)), f"{a} @ {b} has as its shape the tuple {wanted}, yours is {found!r}"
        assert found == wanted, (
            f"{a} @ {b} has shape {wanted}, yours is {found}: an axis that joined for the product goes again")


def test_shapes_that_do_not_multiply_are_refused():
    for a, b in [((2, 3), (2, 3)), ((3,), (4,)), ((2, 3), (4,)), ((4,), (3, 4)), ((5, 2, 3), (4, 3, 7)), ((), (3,)),
                 ((2, 3), ()), ((4, 1), (3, 2))]:
        try:
            found = matmul_shape(a, b)
        except ValueError as error:
            assert str(a) in str(error) and str(b) in str(error), f"the error should name {a} and {b}, yours: {error}"
        else:
            assert False, f"{a} @ {b} has no result, yours has shape {found}"
    found = matmul_shape((2, 3), (3, 4))
    assert found == (2, 4), f"(2, 3) @ (3, 4) has shape (2, 4), yours {found}"


def test_matmul_tells_both_shapes():
    try:
        out = Tensor(np.ones((2, 3), "float32")) @ Tensor(np.ones((2, 5), "float32"))
    except ValueError as error:
        assert "(2, 3)" in str(error) and "(2, 5)" in str(error), (
            f"the error of @ should name (2, 3) and (2, 5), yours: {error}")
    else:
        assert False, f"(2, 3) @ (2, 5) should raise ValueError, yours has shape {out.shape}"


test_matrices_and_stacks_of_them()
test_one_axis_joins_and_goes()
test_shapes_that_do_not_multiply_are_refused()
test_matmul_tells_both_shapes()

# %% nbgrader={"grade": true, "grade_id": "check-matmul-shape-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_shapes_multiply_as_in_numpy():
    random = np.random.default_rng(17)
    for _ in range(60):
        common = random.integers(1, 4, size=random.integers(0, 4)).tolist()
        i, k, j = random.integers(0, 5, size=3).tolist()
        front, behind = [[1 if random.random() < 0.3 else n for n in common][random.integers(0, len(common) + 1):]
                         for _ in "ab"]
        a = (k,) if random.random() < 0.2 else (*front, i, k)
        b = (k,) if random.random() < 0.2 else (*behind, k, j)
        found, wanted = matmul_shape(a, b), np.matmul(np.zeros(a), np.zeros(b)).shape
        assert isinstance(found, tuple) and found == wanted, f"{a} @ {b} has shape {wanted}, got {found!r}"
    for a, b in [((2, 3), (4, 2)), ((3,), (4, 3)), ((6, 2, 3), (3, 3, 3, 3)), ((7, 2, 3), (2, 3, 4)), ((), ()),
                 ((0,), (1,)), ((2, 0), (1, 2)), ((5, 1), (5,)), ((4, 3), ()), ((2, 1, 4, 4), (3, 3, 4, 4))]:
        try:
            found = matmul_shape(a, b)
        except ValueError as error:
            assert str(a) in str(error) and str(b) in str(error), f"the error should name {a} and {b}: {error}"
        else:
            assert False, f"{a} @ {b} should be refused, got shape {found}"


test_other_shapes_multiply_as_in_numpy()
### END HIDDEN TESTS

# %% [markdown]
# (5, 1, 2, 3) @ (4, 3, 7) makes (5, 4, 2, 7): twenty products of matrices. (3,) @ (4, 3, 7) makes (4, 7): one row
# meets four matrices, and its own axis is gone.

# %%
#| export
def matmul(a, b):
    """The matrix product a @ b for every rank; `matmul_shape` is its rule.

    >>> matmul(Tensor([1, 2, 3]), Tensor([4, 5, 6]))
    Tensor(32)
    """
    return apply(np.matmul, a, b)

# %% [markdown]
# ## Picking
#
# Square brackets mean four things in NumPy: a place, a stretch, a list of places, and a mask that says
# yes or no to each. A tensor should be able to stand in for the last two: `x[x > 0]`, or
# `x[scores.argmax(axis=1)]`.
#
# NumPy would take it. But the index goes into the note, and a note must stay true: `picked`
# below may be used again, for the next batch, before anybody reads what was noted.

# %%
picked = np.array([2, 0])
noted = (slice(None), picked)
picked[:] = 1
print(noted)

# %% [markdown]
# A list of places can change as well. One small piece makes a new array of any of these:

# %%
#| exporti
def fresh(part):
    """A new array of the places or truth values in a Tensor, an array or a list."""
    array = np.array(part)
    return array if array.size or array.dtype.kind != "f" else array.astype(int)  # [] names places too, none of them

# %% [markdown]
# **Task.** Write `plain_index`, which makes an index fit for a note. Predict first: when you write
# `x[0, mask]`, what does Python hand over as the index?
#
# <details><summary>Hint 1</summary>An index is one thing, or a tuple of things. Can you make the first
# case look like the second?</details>
# <details><summary>Hint 2</summary>Go through the tuple. Which three kinds of parts can somebody change
# later, and which piece makes a new array of any of them?</details>
# <details><summary>Hint 3</summary><code>(index,)</code> is a tuple with one part. Then a tuple of
# <code>fresh(part)</code> or <code>part</code>: <code>isinstance</code> takes several kinds at once.</details>

# %% nbgrader={"grade": false, "grade_id": "tensor-index", "locked": false, "schema_version": 3, "solution": true, "task": false}
#| export
def plain_index(index):
    """What stands between the brackets of x[...], as a tuple that nobody can change later.

    index    int, slice, None, Ellipsis, a list or array of ints, a mask, a Tensor of ints or bools,
             or a tuple of these
    returns  tuple with one part for each: a new array in place of each Tensor, array or list, all else as it was

    >>> plain_index((0, Tensor([True, False])))
    (0, array([ True, False]))

    Source: NumPy user guide, "Indexing on ndarrays".
    """
    ### BEGIN SOLUTION
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(fresh(part) if isinstance(part, (Tensor, np.ndarray, list)) else part for part in parts)
    ### END SOLUTION

# %% [markdown]
# Reading goes through the door. Writing, `x[0] = 5`, does not: it destroys the numbers that a note may
# still need, so it is refused for tensors whose slopes are wanted.

# %%
#| exporti
def take_forward(x, index):
    return x[index]

# %%
#| export
def take(x, index):
    """x[index]. It shares memory with `x` when the index has only ints, slices, None and Ellipsis.

    >>> x = Tensor([5, 6, 7])
    >>> take(x, x > 5)
    Tensor([6, 7])
    """
    return apply(take_forward, x, index=plain_index(index))


def put(x, index, value):
    """x[index] = value, in place. RuntimeError when a gradient through `x` or `value` is wanted."""
    wanted = x.requires_grad or isinstance(value, Tensor) and value.requires_grad
    if x.creator is not None or (wanted and recording.on):
        raise RuntimeError("writing into this tensor would spoil the note of how a result was made; "
                           "build a new one with where(), or write into x.detach()")
    x.data[plain_index(index)] = operand(value)

# %% tags=["learner-side"]
def index_after_writing(part, number):
    """The second part of plain_index((0, part)), as a list, read after `number` was written into `part`."""
    found = plain_index((0, part))[1]
    numbers = part.data if isinstance(part, Tensor) else part
    while isinstance(numbers[0], list):
        numbers = numbers[0]
    numbers[0] = number
    return np.asarray(found).tolist()

# %% nbgrader={"grade": true, "grade_id": "check-index", "locked": true, "points": 3, "schema_version": 3, "solution": false, "task": false}
def test_every_kind_of_index_picks_what_numpy_picks():
    array = np.arange(24, dtype="float32").reshape(2, 3, 4)
    x = Tensor(array)
    for index in [1, -1, slice(None, None, -1), (1, 2), (0, slice(1, 3), -1), (Ellipsis, 0), (slice(None), None, 2),
                  None, (), (1, 2, 3),
                  [1, 0, 1], [], [[1], [0]], (slice(None), [2, 0]), (0, [True, False, True]),
                  np.array([0, 1, 1]), array > 7, (1, array[1, :, 0] > 12)]:
        out, wanted = x[index], array[index]
        assert out.shape == wanted.shape, f"x[{index}] of shape (2, 3, 4) has shape {wanted.shape}, yours {out.shape}"
        assert np.array_equal(out.data, wanted), f"x[{index}] should be {wanted}, yours is {out.data}"


def test_tensors_can_be_indices():
    array = np.array([[5, -1, 7], [-2, 8, -3]], "float32")
    x = Tensor(array)
    for name, index, wanted in [("x[x > 0]", Tensor(array > 0), [5, 7, 8]),
                                ("x[Tensor([1, 0, 1])]", Tensor([1, 0, 1]), array[[1, 0, 1]]),
                                ("x[[0, 1], Tensor([2, 0])]", ([0, 1], Tensor([2, 0])), [7, -2]),
                                ("x[Tensor([True, False]), 1]", (Tensor([True, False]), 1), [-1])]:
        parts = plain_index(index)
        assert isinstance(parts, tuple), (
            f"{name}: plain_index should return a tuple, also for one part; yours returns\n{parts!r}")
        left = [n for n, part in enumerate(parts) if isinstance(part, Tensor)]
        assert not left, f"{name}: part {left} of your index is still a Tensor; look inside tuples too"
        out = x[index]
        assert np.array_equal(out.data, wanted), f"{name} should be {wanted}, yours is {out.data}"


def test_an_index_in_a_note_stays_true():
    for name, part, wanted in [("array", np.array([1, 0, 1]), [1, 0, 1]), ("tensor", Tensor([2, 0]), [2, 0]),
                               ("list", [1, 0], [1, 0]), ("list of lists", [[1, 2], [0, 2]], [[1, 2], [0, 2]])]:
        found = index_after_writing(part, 5)
        assert found == wanted, (
            f"I wrote 5 into my {name} {wanted}, and your index became {found}. Copy arrays, tensors and lists.")


test_every_kind_of_index_picks_what_numpy_picks()
test_tensors_can_be_indices()
test_an_index_in_a_note_stays_true()

# %% nbgrader={"grade": true, "grade_id": "check-index-hidden", "locked": true, "points": 1, "schema_version": 3, "solution": false, "task": false}
### BEGIN HIDDEN TESTS
def test_other_indices_pick_what_numpy_picks_and_stay_true():
    array = np.random.default_rng(18).normal(size=(3, 4, 2)).round(2)
    x, places, flags = Tensor(array), np.array([[2, 0], [1, 1]]), np.array([True, False, True, True])
    cases = [(index, index) for index in [
        -3, (2, -1, 0), (slice(0, 3, 2), -1), (Ellipsis, slice(None, None, -1)), (None, 1, Ellipsis, None),
        ([0, 2], [1, 3]), ([[0], [2]], [1, 3]), places, (places, slice(1, 3)), array < 0, (slice(None), flags),
        (0, flags, 1), [True, False, True]]]
    cases += [(Tensor([2, 0, 2]), [2, 0, 2]), (Tensor(array < 0), array < 0), (Tensor(np.array(1)), 1),
              ((Ellipsis, Tensor([1, 0])), (Ellipsis, [1, 0])), ((2, Tensor(flags)), (2, flags)),
              ((Tensor([0, 1]), slice(1, 3), Tensor([1, 1])), ([0, 1], slice(1, 3), [1, 1]))]
    for index, same in cases:
        parts = same if isinstance(same, tuple) else (same,)
        wanted = array[same]
        out, plain = x[index], plain_index(index)
        assert out.shape == wanted.shape and np.array_equal(out.data, wanted), (
            f"x[{index}] should be {wanted}, got {out.data}")
        assert isinstance(plain, tuple) and len(plain) == len(parts), (
            f"plain_index({index}) should be a tuple of {len(parts)}, got {plain!r}")
        left = [n for n, part in enumerate(plain) if isinstance(part, (Tensor, list))]
        assert not left, f"plain_index({index}): parts {left} are no arrays"
    for index, wanted in [(-2, (-2,)), ((1, None), (1, None)), ((), ())]:
        found = plain_index(index)
        assert found == wanted, f"plain_index({index}) should be {wanted}, got {found}"
    for part, wanted in [(np.array([[2, 0], [1, 3]]), [[2, 0], [1, 3]]), (Tensor([[2, 0], [1, 3]]), [[2, 0], [1, 3]]),
                         (Tensor([False, True]), [False, True]), (np.array([False, True]), [False, True]),
                         ([False, True], [False, True]), ([[[2]], [[0]]], [[[2]], [[0]]])]:
        found = index_after_writing(part, 1)
        assert found == wanted, f"an index of {wanted} changed with what it was made from: {found}"


test_other_indices_pick_what_numpy_picks_and_stay_true()
### END HIDDEN TESTS

# %% [markdown]
# ## Joining
#
# Several tensors made one, and one with a margin. The inputs go through the door one by one, so that
# each can have a slope of its own.

# %%
#| exporti
def concatenate_forward(*arrays, axis):
    return np.concatenate(arrays, axis)


def stack_forward(*arrays, axis):
    return np.stack(arrays, axis)


def pad_forward(x, width, value):
    """`x` in the middle of a larger array; `width` has one (before, after) per axis."""
    out = np.full([before + n + after for n, (before, after) in zip(x.shape, width)], value, x.dtype)
    out[tuple([slice(before, before + n) for n, (before, _) in zip(x.shape, width)])] = x
    return out

# %%
#| export
def concatenate(tensors, axis=0):
    """Tensors one after the other along an axis they have; all other lengths must agree.

    >>> concatenate([Tensor([1, 2]), Tensor([3])])
    Tensor([1, 2, 3])
    """
    return apply(concatenate_forward, *tensors, axis=axis)


def stack(tensors, axis=0):
    """Tensors of one shape side by side along a new axis.

    >>> stack([Tensor([1, 2]), Tensor([3, 4])], axis=1)
    Tensor([[1, 3],
            [2, 4]])
    """
    return apply(stack_forward, *tensors, axis=axis)


def pad(x, width, value=0):
    """`x` with a margin of `value`; `width` counts numbers, as for numpy.pad.

    width    one int for all sides, (before, after) for all axes, or one (before, after) per axis

    >>> pad(Tensor([1, 2]), (1, 2))
    Tensor([0, 1, 2, 0, 0])
    """
    try:
        width = np.broadcast_to(width, (x.ndim, 2)).tolist()
    except ValueError:
        raise ValueError(f"width {width} does not give a (before, after) to each axis of shape {x.shape}") from None
    if any(n < 0 for side in width for n in side):
        raise ValueError(f"a margin cannot be negative: {width}")
    return apply(pad_forward, x, width=tuple(map(tuple, width)), value=value)

# %% [markdown]
# ## A picture
#
# Everything at once. A grid of coordinates from two rows of numbers, a distance for each place by
# broadcasting, a mask, and one character per place. What will appear?

# %%
across, down = Tensor(np.linspace(-1.5, 1.5, 37)), Tensor(np.linspace(-1.2, 1.2, 13)).unsqueeze(1)
distance = (across**2 + down**2).sqrt()
waves = where(distance > 1.2, -1.0, (12 * distance).cos())
ink = ((waves + 1) * 2.49).clip(0, 4)  # 0 to 4
for row in ink:
    print("".join(" .:+#"[int(v)] for v in row.data))

# %% [markdown]
# ## Look back
#
# 1. `x.T.reshape(-1)` and `x.reshape(-1)` give different rows. Only one of them can share memory
#    with `x`. Which, and what do the strides say about it? Check with `np.shares_memory`.
# 2. Time `x + 1` for tensors of 1, 100, 10,000 and 1,000,000 numbers. Up to which size do you mostly pay
#    for the door, not for the sum? What follows for a library that is to train networks?
# 3. `(scores - targets)` of shapes (3, 1) and (3,) was an accident that broadcasting allowed. Which rule
#    would have caught it, and which useful line of this chapter would that rule have forbidden?
