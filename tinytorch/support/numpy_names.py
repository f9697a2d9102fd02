"""For those who call an argument `dim`, as PyTorch does: an error that says it is `axis` here.

What is NumPy's has NumPy's names in this library. Python's own error names only the argument that
is wrong, "got an unexpected keyword argument 'dim'".
"""

import functools
import inspect

__all__ = ["NumPyNames", "numpy_names"]

NAMES = {  # of an argument in PyTorch: its name here
    "dim": "axis",
    "keepdim": "keepdims",
    "dim0": "axis1",
    "dim1": "axis2",
    "start_dim": "start_axis",
    "end_dim": "end_axis",
    "unbiased": "correction",
}
HERE = frozenset(NAMES.values())


def numpy_names(function):
    """Decorate a function of `axis` and the like: its TypeErrors say what `dim` is called here.

    >>> @numpy_names
    ... def softmax(x, axis=-1): ...
    >>> softmax("x", dim=1)
    Traceback (most recent call last):
    TypeError: softmax has no dim=: the name here is axis=. Write softmax(x, axis=1)
    """

    @functools.wraps(function)
    def checked(*args, **options):
        try:
            return function(*args, **options)
        except TypeError:
            if error := misnamed(function, options):
                raise error from None
            raise

    return checked


def misnamed(function, options):
    """The TypeError for options under PyTorch's names or from a NumPy function; None without such.

    function  the function that was called
    options   its keyword arguments: {name: value}
    """
    own = inspect.signature(function).parameters
    first, name = next(iter(own)), function.__name__
    theirs = [key for key in options if NAMES.get(key) in own]
    if theirs:
        if "unbiased" in options:
            options["unbiased"] = int(options["unbiased"])
        here = ", ".join(f"{NAMES.get(key, key)}={value!r}" for key, value in options.items())
        if name == "__init__":
            name = function.__qualname__.split(".")[-2]
            call = f"{name}({here})"
        else:
            call = f"x.{name}({here})" if first == "self" else f"{name}({first}, {here})"
        return TypeError(
            f"{name} has no {' and '.join(f'{key}=' for key in theirs)}: the name here is "
            f"{' and '.join(f'{NAMES[key]}=' for key in theirs)}. Write {call}"
        )
    if "out" in options and first == "self":  # np.sum(x) calls x.sum(axis=None, out=None)
        return TypeError(f"np.{name} takes arrays, and x is a Tensor: write x.{name}(...)")
    return None


class NumPyNames:
    """A base class that decorates the methods of its subclasses with `numpy_names`, those that have
    such an argument.

    >>> class Softmax(NumPyNames):
    ...     def __init__(self, axis): ...
    >>> Softmax(dim=1)
    Traceback (most recent call last):
    TypeError: Softmax has no dim=: the name here is axis=. Write Softmax(axis=1)
    """

    __slots__ = ()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        found = {}
        for one in reversed(cls.__mro__):
            found |= vars(one)
        for name, method in found.items():
            if inspect.isfunction(method) and not hasattr(method, "__wrapped__"):
                code = method.__code__  # inspect.signature takes a hundred times as long
                arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
                if not HERE.isdisjoint(arguments):
                    setattr(cls, name, numpy_names(method))
