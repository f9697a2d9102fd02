"""Methods of a tensor that the lessons use and do not teach: what Python and NumPy ask of it, and
methods under PyTorch's names. For PyTorch's other names an error says what to write.
"""

import numpy as np

from tinytorch.support.arrays import as_tuple
from tinytorch.support.forward import (
    argsort_forward,
    cast_forward,
    clone_forward,
    cumsum_forward,
    prod_forward,
)
from tinytorch.support.missing_names import TENSOR, NumPyNames, missing_name, texts_by_name

__all__ = ["TensorMethods"]

REFLECTED = {  # array + x is np.add(array, x): what of `x` computes it
    np.add: "__radd__",
    np.subtract: "__rsub__",
    np.multiply: "__rmul__",
    np.divide: "__rtruediv__",
    np.power: "__rpow__",
    np.matmul: "__rmatmul__",
    np.equal: "__eq__",
    np.not_equal: "__ne__",
    np.less: "__gt__",
    np.less_equal: "__ge__",
    np.greater: "__lt__",
    np.greater_equal: "__le__",
}

INSTEAD = texts_by_name(TENSOR)


class TensorMethods(NumPyNames):
    """The base of Tensor that adds the methods below.

    A subclass has the methods of Tensor, `data`, and `_apply(op, *others, **options)`, which
    records and computes op(self, *others, **options).
    """

    __slots__ = ()

    def __getattr__(self, name):
        """Python calls this for a name that it does not find."""
        if name in INSTEAD:
            raise missing_name(f"{type(self).__name__!r} object", name, INSTEAD[name])
        return object.__getattribute__(self, name)  # raises Python's own error

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

    def __bool__(self):
        if self.data.size != 1:
            raise ValueError(
                f"shape {self.data.shape} holds {self.data.size} truth values, not one: "
                "ask x.data.any() or .all()"
            )
        return bool(self.data.item())

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
        return self.transpose(*axes)

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
        return self._apply(clone_forward)

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

    def to(self, target):
        """`x` itself for "cpu", the one device; for a NumPy dtype the numbers cast to it.

        >>> from tinytorch import Tensor
        >>> Tensor([1, 2]).to("cpu").to(np.float32)
        Tensor([1., 2.])
        """
        if target == "cpu":
            return self
        if isinstance(target, str) and target.split(":")[0] in ("cuda", "mps", "xpu", "meta"):
            raise ValueError(f"there is no {target!r}: the one device is 'cpu'. Leave .to(...) out")
        return self._cast(target)

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
        return self._apply(np.argmax, axis=axis, keepdims=keepdims)

    def argmin(self, axis=None, keepdims=False):
        """The positions of the smallest elements along `axis`; None: in the flattened tensor."""
        return self._apply(np.argmin, axis=axis, keepdims=keepdims)

    def argsort(self, axis=-1, descending=False):
        """The positions of the elements in sorted order along `axis`; equal ones keep their order.

        >>> from tinytorch import Tensor
        >>> Tensor([3.0, 1.0, 2.0]).argsort()
        Tensor([1, 2, 0])
        """
        return self._apply(argsort_forward, axis=axis, descending=descending)

    def cumsum(self, axis=None):
        """The sums of all elements up to each one along `axis`; None: of the flattened tensor.

        >>> from tinytorch import Tensor
        >>> Tensor([1.0, 2.0, 4.0]).cumsum(0)
        Tensor([1., 3., 7.])
        """
        return self._apply(cumsum_forward, axis=axis)

    def prod(self, axis=None, keepdims=False):
        """The product along `axis`: an int, a tuple, or None for all.

        >>> from tinytorch import Tensor
        >>> Tensor([1.0, 2.0, 4.0]).prod()
        Tensor(8.)
        """
        return self._apply(prod_forward, axis=axis, keepdims=keepdims)

    def _cast(self, dtype):
        dtype = np.dtype(dtype)
        if dtype == self.data.dtype:
            return self
        # an array of this dtype as second input: an operation returns a dtype of its inputs
        return self._apply(cast_forward, np.zeros((), dtype))

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
