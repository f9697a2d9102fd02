"""What the lessons use of a tensor and do not teach: its operators and most of its methods, and the
record of how a result was computed. For PyTorch's other names an error says what to write.
"""

import sys
import threading
from operator import attrgetter

import numpy as np

from tinytorch.lazy import later_lesson
from tinytorch.support.arrays import (
    as_array,
    as_index_array,
    as_tuple,
    axes_of,
    changes,
    clock,
    flattened_shape,
    pad_pairs,
    squeezed_shape,
    write_in_place,
)
from tinytorch.support.forward import (
    HALF,
    argsort_forward,
    cast_forward,
    clip_forward,
    clone_forward,
    cumsum_forward,
    max_forward,
    min_forward,
    name_of,
    pad_forward,
    power,
    prod_forward,
    relu_forward,
    root_forward,
    sigmoid_forward,
    sum_forward,
    take_forward,
)
from tinytorch.support.missing_names import (
    TENSOR,
    NumPyNames,
    only_values,
    texts_by_name,
    wrong_argument,
)

__all__ = ["TensorMethods", "operand", "record", "recording"]

REFLECTED = {  # array + x is np.add(array, x): what of `x` computes it
    np.add: "__radd__",
    np.subtract: "__rsub__",
    np.multiply: "__rmul__",
    np.divide: "__rtruediv__",
    np.power: "__rpow__",
    np.matmul: "__rmatmul__",
    np.floor_divide: "__rfloordiv__",
    np.remainder: "__rmod__",
    np.bitwise_and: "__rand__",
    np.bitwise_or: "__ror__",
    np.bitwise_xor: "__rxor__",
    np.equal: "__eq__",
    np.not_equal: "__ne__",
    np.less: "__gt__",
    np.less_equal: "__ge__",
    np.greater: "__lt__",
    np.greater_equal: "__le__",
}

INSTEAD = texts_by_name(TENSOR)


NUMBERS, ndarray = (float, int, bool), np.ndarray

# the computation graph


class Recording(threading.local):
    """Whether operations are recorded, in this thread. `no_grad` switches it off."""

    on = True


recording = Recording()


class Creator:
    """A node of the computation graph: a result was op(*arrays, **options).

    inputs   what `apply` was given
    arrays   what was inside the inputs then
    created  a number that grows, so that `backward()` can go from the newest to the oldest
    """

    __slots__ = ("op", "inputs", "arrays", "options", "created")

    def __repr__(self):
        return name_of(self.op)


def record(out, op, inputs, arrays, options):
    """Give the result `out` a creator if an input requires a gradient; returns `out`.

    Results without a derivative (integers, True and False) are not recorded, and nothing is while
    `recording.on` is false.
    """
    for x in inputs:
        if isinstance(x, TensorMethods) and x.requires_grad:
            if recording.on and out.data.dtype.kind == "f":
                out.requires_grad = True
                out.creator = made = Creator()
                made.op, made.inputs, made.arrays = op, inputs, arrays
                made.options, made.created = options or EMPTY, clock()
            break
    return out


EMPTY = {}  # one for all operations without options; it stays empty


def operand(x):
    """What NumPy is to compute with for `x`: an ndarray or a Python number.

    x  a Tensor (its array), an array, a number, or lists of numbers; else TypeError
    """
    if isinstance(x, TensorMethods):
        return x.data
    if type(x) in NUMBERS:
        return x
    if isinstance(x, ndarray) and x.ndim:
        return x
    if isinstance(x, (np.generic, ndarray)):
        return x.item()  # np.sqrt(64) counts as a Python number, which takes the tensor's dtype
    if isinstance(x, (list, tuple)):
        return as_array(x)
    if isinstance(x, int):
        return int(x)  # the size of a tensor
    raise TypeError(f"cannot compute with {x!r:.60}: a Tensor, an array or a number is needed")


# the methods


class Size(int):
    """The number of elements of a tensor, an int; x.size() and x.size(0) are what they are in
    PyTorch, the shape and one of its lengths."""

    def __new__(cls, array):
        size = super().__new__(cls, array.size)
        size.shape = array.shape
        return size

    def __call__(self, axis=None):
        return self.shape if axis is None else self.shape[axis]

    def __reduce__(self):
        return int, (int(self),)


class TensorMethods(NumPyNames):
    """The base of Tensor.

    The subclass has `_apply(op, *inputs, **options)`, a static method that computes
    op(*inputs, **options) and records it, and the methods `mean`, `var`, `reshape`, `transpose` and
    `T`.
    """

    __slots__ = ("data", "grad", "requires_grad", "creator", "__weakref__")
    _instead = INSTEAD

    shape = property(attrgetter("data.shape"), doc="The length of each axis, a tuple.")
    ndim = property(attrgetter("data.ndim"), doc="The rank: how many axes.")
    size = property(lambda self: Size(self.data), doc="How many elements.")
    dtype = property(attrgetter("data.dtype"), doc="The NumPy dtype of the elements.")

    # operators, with tensors, arrays and Python numbers on either side

    __hash__ = object.__hash__  # by identity, because `==` compares elementwise

    # fmt: off
    def __add__(self, other): return self._apply(np.add, self, other)
    def __radd__(self, other): return self._apply(np.add, other, self)
    def __iadd__(self, other): return self._update(np.add, other, "+=")
    def __sub__(self, other): return self._apply(np.subtract, self, other)
    def __rsub__(self, other): return self._apply(np.subtract, other, self)
    def __isub__(self, other): return self._update(np.subtract, other, "-=")
    def __mul__(self, other): return self._apply(np.multiply, self, other)
    def __rmul__(self, other): return self._apply(np.multiply, other, self)
    def __imul__(self, other): return self._update(np.multiply, other, "*=")
    def __truediv__(self, other): return self._apply(np.divide, self, other)
    def __rtruediv__(self, other): return self._apply(np.divide, other, self)
    def __itruediv__(self, other): return self._update(np.divide, other, "/=")
    def __pow__(self, other): return self._apply(power, self, other)
    def __rpow__(self, other): return self._apply(power, other, self)
    def __ipow__(self, other): return self._update(power, other, "**=")
    def __matmul__(self, other): return self._apply(np.matmul, self, other)
    def __rmatmul__(self, other): return self._apply(np.matmul, other, self)
    def __imatmul__(self, other): return self._update(np.matmul, other, "@=")
    def __floordiv__(self, other): return self._apply(np.floor_divide, self, other)
    def __ifloordiv__(self, other): return self._update(np.floor_divide, other, "//=")
    def __rfloordiv__(self, other): return self._apply(np.floor_divide, other, self)
    def __mod__(self, other): return self._apply(np.remainder, self, other)
    def __imod__(self, other): return self._update(np.remainder, other, "%=")
    def __rmod__(self, other): return self._apply(np.remainder, other, self)
    def __and__(self, other): return self._apply(np.bitwise_and, self, other)
    def __rand__(self, other): return self._apply(np.bitwise_and, other, self)
    def __or__(self, other): return self._apply(np.bitwise_or, self, other)
    def __ror__(self, other): return self._apply(np.bitwise_or, other, self)
    def __xor__(self, other): return self._apply(np.bitwise_xor, self, other)
    def __rxor__(self, other): return self._apply(np.bitwise_xor, other, self)
    def __invert__(self): return self._apply(np.invert, self)
    def __neg__(self): return self._apply(np.negative, self)
    def __abs__(self): return self._apply(np.absolute, self)

    def __eq__(self, other):
        return NotImplemented if other is None else self._apply(np.equal, self, other)

    def __ne__(self, other):
        return NotImplemented if other is None else self._apply(np.not_equal, self, other)

    def __lt__(self, other): return self._apply(np.less, self, other)
    def __le__(self, other): return self._apply(np.less_equal, self, other)
    def __gt__(self, other): return self._apply(np.greater, self, other)
    def __ge__(self, other): return self._apply(np.greater_equal, self, other)
    # fmt: on

    def _update(self, op, other, sign):
        """x += other, x *= other, ...: a new tensor; a tensor made with requires_grad=True is
        changed in place."""
        if self.requires_grad and self.creator is None:
            result = self._apply(op, self.detach(), operand(other)).data
            return write_in_place(self, result, sign, recording.on)
        return self._apply(op, self, other)

    # elementwise functions, and reductions along an axis: an int, a tuple, or None for all

    # fmt: off
    def exp(self): return self._apply(np.exp, self)
    def log(self): return self._apply(np.log, self)
    def sqrt(self): return self._apply(np.sqrt, self)
    def sin(self): return self._apply(np.sin, self)
    def cos(self): return self._apply(np.cos, self)
    def tanh(self): return self._apply(np.tanh, self)
    def sigmoid(self): return self._apply(sigmoid_forward, self)
    def relu(self): return self._apply(relu_forward, self)
    def maximum(self, other): return self._apply(np.maximum, self, other)
    def minimum(self, other): return self._apply(np.minimum, self, other)
    def where(self, condition, other): return self._apply(np.where, condition, self, other)
    # fmt: on

    def clip(self, low=None, high=None):
        return self._apply(clip_forward, self, low=low, high=high)

    def sum(self, axis=None, keepdims=False, **others):
        if others:  # no wrapper looks at them: `sum` is in every small example
            raise wrong_argument(TensorMethods.sum, "sum", (), others) or TypeError(
                f"sum() got an unexpected keyword argument {next(iter(others))!r}"
            )
        return self._apply(sum_forward, self, axis=axis, keepdims=keepdims)

    def max(self, *position, axis=None, keepdims=None):
        axis = only_values("max", position, axis, keepdims)
        return self._apply(max_forward, self, axis=axis, keepdims=bool(keepdims))

    def min(self, *position, axis=None, keepdims=None):
        axis = only_values("min", position, axis, keepdims)
        return self._apply(min_forward, self, axis=axis, keepdims=bool(keepdims))

    def std(self, axis=None, *, keepdims=False, correction=0):
        if self.data.dtype is HALF:
            return self.float().std(axis, keepdims=keepdims, correction=correction).to(HALF)
        return self._apply(root_forward, self.var(axis, keepdims=keepdims, correction=correction))

    # the elements in another shape, or some of them

    def flatten(self, start_axis=0, end_axis=-1):
        return self.reshape(flattened_shape(self.shape, start_axis, end_axis))

    def squeeze(self, axis=None):
        return self.reshape(squeezed_shape(self.shape, axis))

    def unsqueeze(self, axis):
        """A new axis of length 1, which is axis `axis` of the result."""
        (new,) = axes_of(axis, self.ndim + 1)
        return self.reshape(*self.shape[:new], 1, *self.shape[new:])

    def swapaxes(self, axis1, axis2):
        """Two axes exchanged, the commonest case of `transpose`."""
        order = list(range(self.ndim))
        a, b = axes_of((axis1, axis2), self.ndim)
        order[a], order[b] = b, a
        return self._apply(np.transpose, self, axes=tuple(order))

    def broadcast_to(self, *shape):
        """The tensor broadcast to `shape`: a view with strides of 0, which can only be read."""
        shape = as_tuple(shape)
        own = (1,) * (len(shape) - self.ndim) + self.shape
        if len(own) != len(shape) or any(n not in (1, m) for n, m in zip(own, shape)):
            raise ValueError(
                f"shape {self.shape} does not broadcast to {shape}: only lengths of 1 can be "
                "repeated"
            )
        return self._apply(np.broadcast_to, self, shape=shape)

    def pad(self, width, value=0):
        return self._apply(pad_forward, self, width=pad_pairs(width, self.shape), value=value)

    def __getitem__(self, index):
        return self._apply(take_forward, self, index=copy_index(index))

    def __setitem__(self, index, value):
        needed = self.requires_grad or isinstance(value, TensorMethods) and value.requires_grad
        if self.creator is not None or (needed and recording.on):
            raise RuntimeError(
                "writing into this tensor would change numbers that the computation graph needs; "
                "make a new tensor with where(), or write into x.detach()"
            )
        self.data[copy_index(index)] = operand(value)
        changes.mark(self.data)

    # gradients

    def detach(self):
        """A tensor on the same memory, without the record of how it was computed."""
        out = object.__new__(type(self))
        out.data, out.requires_grad = self.data, False
        out.grad = out.creator = None
        return out

    def backward(self, gradient=None, retain_graph=False, create_graph=False):
        """Compute the gradient of this scalar for every tensor it was computed from.

        create_graph   only False: gradients are arrays. hvp and hessian of tinytorch.func compute
                       second derivatives
        """
        if create_graph:
            raise ValueError(
                "backward(create_graph=True) would record the gradient, and x.grad is an array\n"
                "for second derivatives write hvp or hessian, from tinytorch.func"
            )
        lesson = sys.modules.get("tinytorch.core.autograd") or later_lesson("autograd", "backward")
        return lesson.backward(self, gradient, retain_graph)

    # what Python and NumPy ask for, and PyTorch's names

    def __getattr__(self, name):
        """Python calls this for a name that it does not find."""
        if name == "cpu":  # as in x.cpu().numpy()
            return lambda: self
        return super().__getattr__(name)

    def item(self):
        """The one number in this tensor, as a Python number."""
        if self.data.size != 1:
            raise ValueError(
                "item() needs exactly one number, "
                f"shape {self.data.shape} holds {self.data.size}: select one, x[i]"
            )
        return self.data.item()

    def numpy(self):
        """A copy of the numbers. (`.data` is the array itself, not a copy.)"""
        return self.data.copy()

    def __len__(self):
        if self.data.ndim == 0:
            raise TypeError("a tensor of shape () is one number and has no length")
        return len(self.data)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __index__(self):
        """What list[x], range(x) and np.zeros(x) use: one integer."""
        if self.data.size != 1 or self.dtype.kind not in "iu":
            raise TypeError(
                f"an index or a length is one integer, not a tensor of {self.dtype} and shape "
                f"{self.shape}: write int(x), or x.tolist()"
            )
        return self.data.item()

    def __bool__(self):
        if self.data.size != 1:
            raise ValueError(
                f"shape {self.data.shape} holds {self.data.size} truth values, not one: "
                "ask x.data.any() or .all()"
            )
        return bool(self.data.item())

    def __deepcopy__(self, memo):
        if self.creator is not None:
            raise RuntimeError(
                f"the result of {self.creator!r}, of shape {self.shape}, cannot be copied with its "
                "graph: only leaves can\ncopy x.detach(), or x.clone() to record the copy"
            )
        out = self.detach()
        out.data, out.requires_grad = self.data.copy(), self.requires_grad
        out.grad = None if self.grad is None else self.grad.copy()
        return out

    def __array__(self, dtype=None, copy=None):
        return np.array(self.data, dtype=dtype, copy=copy)

    def __repr__(self):
        """The numbers, a dtype other than float32, int and bool, and `requires_grad=True`."""
        text = np.array2string(self.data, separator=", ", prefix="Tensor(")
        if self.data.dtype not in (np.dtype(np.float32), np.dtype(int), np.dtype(bool)):
            text += f", dtype={self.data.dtype}"
        return f"Tensor({text}{', requires_grad=True' if self.requires_grad else ''})"

    def __format__(self, spec):
        return format(self.item(), spec) if spec else repr(self)

    def view(self, *shape):
        """The elements in another shape: `reshape`."""
        return self.reshape(*shape)

    def permute(self, *axes):
        """The axes in another order: `transpose` with all axes."""
        return self.transpose(as_tuple(axes))

    def t(self):
        """A matrix with rows and columns exchanged; fewer axes stay as they are."""
        if self.ndim > 2:
            raise ValueError(f"t() is for matrices, shape {self.shape} has {self.ndim} axes: x.T")
        return self.T

    def expand(self, *shape):
        """Axes of length 1 repeated, as `broadcast_to` does; -1 leaves a length as it is."""
        shape = as_tuple(shape)
        own = (1,) * (len(shape) - self.ndim) + self.shape
        return self.broadcast_to(tuple(n if m == -1 else m for n, m in zip(own, shape)))

    def abs(self):
        """The absolute value, elementwise; its derivative at 0 is 0."""
        return abs(self)

    def pow(self, exponent):
        """x ** exponent."""
        return self**exponent

    def clone(self):
        """A copy that is recorded: gradients pass through it. (`x.detach()` shares memory.)"""
        return self._apply(clone_forward, self)

    def numel(self):
        """How many elements: `x.size`."""
        return self.data.size

    def dim(self):
        """How many axes: `x.ndim`."""
        return self.data.ndim

    def tolist(self):
        """The numbers as nested Python lists; of shape (), one Python number."""
        return self.data.tolist()

    def float(self):
        """The numbers as float32. A cast from floats to floats is recorded, here and in `double`
        and `to`; where the dtype does not change, the result is `x` itself."""
        return self._cast(np.float32)

    def double(self):
        """The numbers as float64."""
        return self._cast(np.float64)

    def long(self):
        """The numbers as int64, cut towards 0: nothing is recorded."""
        return self._cast(np.int64)

    def int(self):
        """The numbers as int32, cut towards 0: nothing is recorded."""
        return self._cast(np.int32)

    def bool(self):
        """False where a number is 0, True elsewhere: nothing is recorded."""
        return self._cast(np.bool_)

    def to(self, *where, device=None, dtype=None):
        """`x` itself for "cpu", the one device; for a NumPy dtype the numbers cast to it.

        >>> from tinytorch import Tensor
        >>> Tensor([1, 2]).to("cpu").to(np.float32)
        Tensor([1., 2.])
        """
        out = self
        for target in (*where, device, dtype):
            if isinstance(target, str) and target.split(":")[0] in ("cuda", "mps", "xpu", "meta"):
                raise ValueError(
                    f"there is no {target!r}: the one device is 'cpu'. Leave .to(...) out"
                )
            if target is not None and not (isinstance(target, str) and target == "cpu"):
                out = out._cast(target.dtype if isinstance(target, TensorMethods) else target)
        return out

    def requires_grad_(self, requires_grad=True):
        """Set `requires_grad` of this tensor, which must not be a result. Returns the tensor."""
        if self.creator is not None:
            raise RuntimeError(
                "requires_grad of a result follows from its inputs: only tensors that you made "
                "can be changed; x.detach() gives such a one"
            )
        if requires_grad and self.dtype.kind != "f":
            raise RuntimeError(
                f"gradients need floating-point numbers, not {self.dtype}: x.float()"
            )
        self.requires_grad = requires_grad
        return self

    def argmax(self, axis=None, keepdims=False):
        """The positions of the largest elements along `axis`; None: in the flattened tensor."""
        return self._apply(np.argmax, self, axis=axis, keepdims=keepdims)

    def argmin(self, axis=None, keepdims=False):
        """The positions of the smallest elements along `axis`; None: in the flattened tensor."""
        return self._apply(np.argmin, self, axis=axis, keepdims=keepdims)

    def argsort(self, axis=-1, descending=False):
        """The positions of the elements in sorted order along `axis`; equal ones keep their order.

        >>> from tinytorch import Tensor
        >>> Tensor([3.0, 1.0, 2.0]).argsort()
        Tensor([1, 2, 0])
        """
        return self._apply(argsort_forward, self, axis=axis, descending=descending)

    def cumsum(self, axis=None):
        """The sums of all elements up to each one along `axis`; None: of the flattened tensor.

        >>> from tinytorch import Tensor
        >>> Tensor([1.0, 2.0, 4.0]).cumsum(0)
        Tensor([1., 3., 7.])
        """
        return self._apply(cumsum_forward, self, axis=axis)

    def prod(self, axis=None, keepdims=False):
        """The product along `axis`: an int, a tuple, or None for all.

        >>> from tinytorch import Tensor
        >>> Tensor([1.0, 2.0, 4.0]).prod()
        Tensor(8.)
        """
        return self._apply(prod_forward, self, axis=axis, keepdims=keepdims)

    def _cast(self, dtype):
        dtype = np.dtype(dtype)
        if dtype == self.data.dtype:
            return self
        # an array of this dtype as second input: an operation returns a dtype of its inputs
        return self._apply(cast_forward, self, np.zeros(1, dtype))

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        """NumPy calls this for np.exp(x), and for `array + x`, which must be computed by `x`."""
        name, x = ufunc.__name__, inputs[-1]
        on_the_left = isinstance(inputs[0], TensorMethods) or not isinstance(x, TensorMethods)
        if ufunc in REFLECTED and method == "__call__" and not (options or on_the_left):
            return getattr(x, REFLECTED[ufunc])(inputs[0])
        if options.get("out"):
            raise TypeError("an array cannot be changed in place by a Tensor: use x.data there")
        if method != "__call__":
            name = {"logical_or": "any", "logical_and": "all"}.get(name, f"{name}.{method}")
        text = INSTEAD.get(name, f"write np.{name}(x.data), which records no gradient")
        if hasattr(type(self), name):
            text = f"write x.{name}({'y' * (ufunc.nin - 1)})"
        raise TypeError(f"np.{name} takes arrays, and x is a Tensor: {text}")


def copy_index(index):
    """The index in x[...] as a tuple that later changes cannot reach.

    index    int, slice, None, Ellipsis, a list or array of ints, a mask, a Tensor of ints or
             bools, or a tuple of these
    returns  tuple with one part for each: a new array for each Tensor, array or list; the others as
             they were

    >>> copy_index((0, [True, False]))
    (0, array([ True, False]))
    """
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(
        [
            as_index_array(part) if isinstance(part, (TensorMethods, ndarray, list)) else part
            for part in parts
        ]
    )
