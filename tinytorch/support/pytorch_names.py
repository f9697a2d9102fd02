"""Methods of a tensor that the lessons use and do not teach, most of them under PyTorch's names;
and for PyTorch's names that do not exist here an error that says what to write.
"""

import numpy as np

from tinytorch.support.forward import (
    argsort_forward,
    cast_forward,
    clone_forward,
    cumsum_forward,
    prod_forward,
)
from tinytorch.support.numpy_names import NumPyNames
from tinytorch.support.shapes import as_tuple

__all__ = ["PyTorchNames"]

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

INSTEAD = {  # what to write here: the names that PyTorch or NumPy have for it
    "x + y": "add",
    "x - y": "sub subtract",
    "x * y": "mul multiply",
    "x / y": "div divide true_divide",
    "x @ y": "matmul mm bmm mv dot",
    "-x": "neg negative",
    "x.abs()": "absolute",
    "x == y": "eq equal",
    "x != y": "ne not_equal",
    "x < y": "lt less",
    "x <= y": "le less_equal",
    "x > y": "gt greater",
    "x >= y": "ge greater_equal",
    "x ** y": "power float_power",
    "x ** 2": "square",
    "x ** -0.5": "rsqrt",
    "1 / x": "reciprocal",
    "(1 + x).log()": "log1p",
    "x.exp() - 1": "expm1",
    "(x * x).sum().sqrt()": "norm",
    "x.clip(low, high)": "clamp",
    "x.max(axis=...)": "amax",
    "x.min(axis=...)": "amin",
    "x.data.any()": "any",
    "x.data.all()": "all",
    "np.sort(x.data), or x[x.argsort()] with a gradient": "sort",
    "x[x.argsort(descending=True)[:k]]": "topk",
    "np.argwhere(x.data)": "nonzero argwhere",
    "np.unique(x.data)": "unique",
    "np.isnan(x.data)": "isnan",
    "np.isfinite(x.data)": "isfinite",
    "np.round(x.data)": "round",
    "np.sign(x.data)": "sign",
    "where(mask, value, x)": "masked_fill",
    "x[mask]": "masked_select",
    "x[indices]": "index_select",
    "x[np.arange(len(x)), labels]": "gather",
    "slices, x[a:b]": "split chunk narrow",
    "x[::-1]": "flip",
    "x.expand(...), or np.tile(x.data, ...)": "repeat tile",
    "x.flatten()": "ravel",
    "x.view(y.shape)": "view_as reshape_as",
    "x.expand(y.shape)": "expand_as",
    "softmax(x, axis=...) from tinytorch.nn": "softmax",
    "log_softmax(x, axis=...) from tinytorch.nn": "log_softmax",
    "x.creator": "grad_fn",
    "x.creator is None": "is_leaf",
    "x.numel()": "nelement",
    "x.to(dtype), with a NumPy dtype": "type astype half",
    "x alone, since there is one device, the CPU": "cuda cpu device is_cuda pin_memory",
    "x alone, since NumPy copies where it must": "contiguous is_contiguous",
    "x.data += y": "add_",
    "x.data -= y": "sub_",
    "x.data *= y": "mul_",
    "x.data /= y": "div_",
    "x.data[...] = 0": "zero_",
    "x.data[...] = value": "fill_ copy_",
    "x.data[...] = np.clip(x.data, low, high)": "clamp_ clip_",
    "x.data[...] = rng.normal(0, std, x.shape)": "normal_",
    "x.data[...] = rng.uniform(low, high, x.shape)": "uniform_",
    "x = x.relu()": "relu_",
    "x = x.sigmoid()": "sigmoid_",
    "x = x.tanh()": "tanh_",
    "x = x.unsqueeze(axis)": "unsqueeze_",
    "x = x.squeeze()": "squeeze_",
    "x = x.detach()": "detach_",
}
WRITE = {name: text for text, names in INSTEAD.items() for name in names.split()}


class Missing:
    """An attribute that does not exist here: who asks for it is told what to write.

    As a descriptor it costs nothing where it is not asked for, unlike `__getattr__`.
    """

    def __init__(self, text):
        self.text = text

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, x, owner=None):
        # without `name` and `obj`, Python adds no guess of its own
        text = f"a {owner.__name__} has no {self.name}: write {self.text}"
        raise AttributeError(text, name=None, obj=None)


class PyTorchNames(NumPyNames):
    """The base of Tensor that adds the methods below.

    A subclass has the methods of Tensor, `data`, and `_apply(op, *others, **options)`, which
    records and computes op(self, *others, **options).
    """

    __slots__ = ()
    locals().update({name: Missing(text) for name, text in WRITE.items()})

    def __dir__(self):
        return sorted(set(super().__dir__()) - WRITE.keys())

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
        on_the_left = isinstance(inputs[0], PyTorchNames) or not isinstance(x, PyTorchNames)
        if ufunc in REFLECTED and method == "__call__" and not (options or on_the_left):
            return getattr(x, REFLECTED[ufunc])(inputs[0])
        if options.get("out"):
            raise TypeError("an array cannot be changed in place by a Tensor: use x.data there")
        if method != "__call__":
            name = {"logical_or": "any", "logical_and": "all"}.get(name, f"{name}.{method}")
        here = WRITE.get(name)
        if not here and hasattr(type(self), name):
            here = f"x.{name}({'y' * (ufunc.nin - 1)})"
        raise TypeError(
            f"np.{name} takes arrays, and x is a Tensor: write "
            + (here or f"np.{name}(x.data), which records no gradient")
        )
