"""Checks of what users hand to the autograd engine: rules, Functions, functions to be checked.

What is wrong raises an error that gives the values and says what to do. Nothing here imports the
engine: whatever has `requires_grad` is taken for a Tensor.
"""

import functools
import inspect

import numpy as np


def name_of(op):
    """The name of an operation, or of the Function that it is the forward method of.

    >>> name_of(np.add)
    'add'
    """
    if hasattr(op, "__self__"):
        return type(op.__self__).__name__
    return getattr(op, "__name__", "an operation").removesuffix("_forward")


def check_gradient(g, shape, op):
    """Refuse what a rule of `op` gave, unless it is an array that `shape` can be broadcast to.

    g      what the rule returned
    shape  tuple: the shape of the input that it is for
    """
    if not hasattr(g, "shape"):
        raise TypeError(
            f"the rule of {name_of(op)} gave {g!r:.60}, a {type(g).__name__}: "
            "one array for its input is needed"
        )
    lengths = zip(shape[::-1], g.shape[::-1])
    if len(g.shape) < len(shape) or any(n != 1 and n != m for n, m in lengths):
        raise ValueError(
            f"the rule of {name_of(op)} gave a gradient of shape {g.shape} for an input "
            f"of shape {shape}: it should give back the shape of the input"
        )


def check_float(dtype):
    """Refuse a gradient for a tensor of any dtype but floating-point numbers."""
    if dtype.kind != "f":
        raise TypeError(
            f"a tensor of {dtype} wants a gradient, and slopes are fractions: make it "
            "with Tensor(data, requires_grad=True) or Variable(data), which turn whole "
            "numbers into float32"
        )


def check_rules(rules, made):
    """Refuse rules that are not as many as the inputs of what was made by them.

    made  what has `op` and `inputs`
    """
    if len(rules) != len(made.inputs):
        raise ValueError(
            f"{name_of(made.op)} has {len(made.inputs)} inputs, "
            f"and rules for {len(rules)}: give derivative() one for each input, "
            "None where there is no slope"
        )


def check_parts(found, count, op):
    """Refuse what a rule for all inputs of `op` returned, unless it is a row of `count`."""
    if type(found) not in (tuple, list) or len(found) != count:
        raise ValueError(
            f"the rule of {op.__name__} should return a tuple of {count} gradients, one "
            f"for each input, not {type(found).__name__} of {np.size(found)} numbers"
        )


def check_methods(cls):
    """Refuse a Function whose methods take no self, and have what its forward returns checked.

    cls  the class; its own `forward`, where it has one, is replaced by `checked_forward` of it
    """
    for name in ("forward", "backward"):
        if isinstance(vars(cls).get(name), (staticmethod, classmethod)):
            raise TypeError(
                f"{cls.__name__}.{name}: methods of a Function take self, not ctx. Leave "
                "@staticmethod out, and say self.save_for_backward(...) and "
                "self.saved_tensors"
            )
    if "forward" in vars(cls):
        cls.forward = checked_forward(cls.forward)


def checked_forward(forward):
    """A forward method that raises TypeError when it returns anything but one array."""

    @functools.wraps(forward)
    def checked(self, *arrays, **options):
        out = forward(self, *arrays, **options)
        if out is None or isinstance(out, (tuple, list)):
            said = (
                "None: is `return` missing?"
                if out is None
                else f"a {type(out).__name__}: one operation, one result"
            )
            raise TypeError(
                f"{type(self).__name__}.forward should return one array, and returned {said}"
            )
        return out

    return checked


def checked_gradients(found, arrays, name, unwrap=np.asarray):
    """What the backward method of the Function `name` returned, as a tuple that fits its inputs.

    found    an array, or a tuple or list with one for each input; None for an input that has no
             derivative
    arrays   the inputs
    unwrap   makes an array or a number of each gradient
    returns  tuple of ndarrays or None, each of the shape of its input

    >>> checked_gradients(2.0, [np.float64(3)], "Double")
    (array(2.),)
    """
    if found is None:
        raise ValueError(
            f"{name}.backward returned None: is `return` missing? "
            "(For one input without a slope: (None,).)"
        )
    found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
    if len(found) != len(arrays):
        raise ValueError(
            f"{name}.backward should return {len(arrays)} gradients, "
            f"one for each input, not {len(found)}"
        )
    found = tuple([part if part is None else np.asarray(unwrap(part)) for part in found])
    for n, (part, array) in enumerate(zip(found, arrays)):
        if part is not None and part.shape != np.shape(array):
            raise ValueError(
                f"{name}.backward returned a gradient of shape {part.shape} for "
                f"input {n}, which has shape {np.shape(array)}"
            )
    return found


def check_arguments(f, inputs):
    """Refuse inputs that `f` cannot be called with."""
    try:
        inspect.signature(f).bind(*inputs)
    except TypeError as error:
        raise TypeError(
            f"f does not take the {len(inputs)} inputs given, one argument for each entry "
            f"of the list ({error}). A single input stands alone: Tensor([1.0, 2.0])"
        ) from None
    except ValueError:
        pass  # some functions written in C do not say what they take


def check_result(out):
    """Refuse a result of the checked function that is no Tensor of float64."""
    if not hasattr(out, "requires_grad"):
        raise TypeError(
            f"f returned a {type(out).__name__} and no Tensor: float() and .data cut off the notes"
        )
    if out.dtype != np.float64:
        raise ValueError(
            f"the result is {out.dtype} though the inputs are float64: "
            "too few digits to compare slopes"
        )
