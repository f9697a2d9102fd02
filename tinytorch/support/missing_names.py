"""What to write here for PyTorch's and NumPy's names: those of functions, methods and arguments."""

import functools
import inspect
from types import FunctionType

__all__ = ["ARGUMENTS", "TENSOR", "NumPyNames", "missing_name", "numpy_names", "texts_by_name"]

TENSOR = {  # what to write here, with {name} for the name without a last _: methods of torch.Tensor
    "write x + y": "add",
    "write x - y": "sub subtract",
    "write x * y": "mul multiply",
    "write x / y": "div divide true_divide",
    "write x @ y": "matmul mm bmm mv dot",
    "write -x": "neg negative",
    "write x.abs()": "absolute",
    "write x == y": "eq equal",
    "write x != y": "ne not_equal",
    "write x < y": "lt less",
    "write x <= y": "le less_equal",
    "write x > y": "gt greater",
    "write x >= y": "ge greater_equal",
    "write x ** y": "power float_power",
    "write x ** 2": "square",
    "write x ** -0.5": "rsqrt",
    "write 1 / x": "reciprocal",
    "write (1 + x).log()": "log1p",
    "write x.exp() - 1": "expm1",
    "write (x * x).sum().maximum(1e-24).sqrt(), whose gradient at 0 is 0": "norm",
    "write x.clip(low, high)": "clamp",
    "write x.max(axis=...)": "amax",
    "write x.min(axis=...)": "amin",
    "write x.data.{name}()": "any all",
    "write np.sort(x.data), or x[x.argsort()] with a gradient": "sort",
    "write x[x.argsort(descending=True)[:k]]; top_k in tinytorch.generate is for logits": "topk",
    "write np.argwhere(x.data)": "nonzero argwhere",
    "write np.{name}(x.data)": "isnan isinf isfinite unique round sign floor ceil",
    "write np.{name}(x.data); causal_mask in tinytorch.core.attention masks scores": "tril triu",
    "write where(mask, value, x)": "masked_fill",
    "write x[mask]": "masked_select",
    "write x[indices]": "index_select",
    "write x[np.arange(len(x)), labels]": "gather",
    "write slices, x[a:b]": "split chunk narrow",
    "write x[::-1]": "flip",
    "write x.expand(...), or np.tile(x.data, ...)": "repeat tile",
    "write x.flatten()": "ravel",
    "write x.view(y.shape)": "view_as reshape_as",
    "write x.expand(y.shape)": "expand_as",
    "write {name}(x, axis=...), from tinytorch.nn": "softmax log_softmax",
    "write sample(p.log()), or sample(logits), from tinytorch.generate": "multinomial",
    "write x.creator": "grad_fn",
    "write x.creator is None": "is_leaf",
    "write x.numel()": "nelement",
    "write x.to(dtype), with a NumPy dtype": "type astype half",
    "there is one device, the CPU: write x alone": "cuda cpu device is_cuda pin_memory",
    "NumPy copies where it must: write x alone": "contiguous is_contiguous",
    "write x.data += y, or -=, *=, /=": "add_ sub_ mul_ div_",
    "write x.data[...] = 0, or another value": "zero_ fill_ copy_",
    "write x.data[...] = np.clip(x.data, low, high)": "clamp_ clip_",
    "write x.data[...] = rng.normal(0, std, x.shape)": "normal_",
    "write x.data[...] = rng.uniform(low, high, x.shape)": "uniform_",
    "write x = x.{name}(...)": "relu_ sigmoid_ tanh_ exp_ sqrt_ squeeze_ unsqueeze_ detach_",
}
ARGUMENTS = {  # of a function, in PyTorch: its name here
    "dim": "axis",
    "keepdim": "keepdims",
    "dim0": "axis1",
    "dim1": "axis2",
    "start_dim": "start_axis",
    "end_dim": "end_axis",
    "unbiased": "correction",
}


def texts_by_name(table):
    """name -> what to write instead, from a table like TENSOR.

    >>> texts_by_name({"write abs(x)": "abs", "write np.{name}(x.data)": "sign round"})["sign"]
    'write np.sign(x.data)'
    """
    return {
        name: text.replace("{name}", name.rstrip("_"))
        for text, names in table.items()
        for name in names.split()
    }


def missing_name(owner, name, text=""):
    """The AttributeError for a name that `owner` does not have, with a text that says what to do.

    >>> missing_name("module 'm'", "abs", "write abs(x)")
    AttributeError("module 'm' has no attribute 'abs': write abs(x)")
    """
    message = f"{owner} has no attribute {name!r}" + (f": {text}" if text else "")
    return AttributeError(message, name=None, obj=None)  # so that Python adds no guess


def numpy_names(function):
    """Decorate a function of `axis` and the like: its TypeErrors say what `dim` is called here.

    >>> @numpy_names
    ... def softmax(x, axis=-1): ...
    >>> softmax("x", dim=1)
    Traceback (most recent call last):
    TypeError: softmax has no dim=: write axis=1
    """

    @functools.wraps(function)
    def checked(*args, **options):
        try:
            return function(*args, **options)
        except TypeError:
            if error := wrong_argument(function, options):
                raise error from None
            raise

    return checked


def wrong_argument(function, options):
    """The TypeError for options under PyTorch's names or from a NumPy function; None without such.

    function  the function that was called
    options   its keyword arguments: {name: value}
    """
    own, name = arguments_of(function), function.__name__
    if name == "__init__":
        name = function.__qualname__.split(".")[-2]
    wrong = [key for key in options if ARGUMENTS.get(key) in own]
    if wrong:
        right = ", ".join(f"{ARGUMENTS[key]}={options[key]!r}" for key in wrong)
        return TypeError(f"{name} has no {', '.join(f'{key}=' for key in wrong)}: write {right}")
    if "out" in options and own[0] == "self":  # np.sum(x) calls x.sum(axis=None, out=None)
        return TypeError(f"np.{name} takes arrays, and x is a Tensor: write x.{name}(...)")
    return None


def arguments_of(function):
    """The names of all arguments of a function, without * and **."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


class NumPyNames:
    """A base class that decorates the methods of its subclasses with `numpy_names`, those that have
    such an argument.

    >>> class Softmax(NumPyNames):
    ...     def __init__(self, axis): ...
    >>> Softmax(dim=1)
    Traceback (most recent call last):
    TypeError: Softmax has no dim=: write axis=1
    """

    __slots__ = ()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        members = {}
        for base in reversed(cls.__mro__):
            members.update(vars(base))
        for name, method in members.items():
            if isinstance(method, FunctionType) and not hasattr(method, "__wrapped__"):
                if method.__code__.co_flags & inspect.CO_VARKEYWORDS:
                    continue  # with **others, it calls `wrong_argument` itself
                if not set(ARGUMENTS.values()).isdisjoint(arguments_of(method)):
                    setattr(cls, name, numpy_names(method))
