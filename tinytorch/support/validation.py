"""Checks of what users hand to the autograd engine: rules, Functions, functions to be checked.

Wrong input raises an error that gives the values and says what to do. Nothing here imports the
engine: whatever has `requires_grad` is taken for a Tensor.
"""

import functools
import inspect

import numpy as np

from tinytorch.support.descriptions import described
from tinytorch.support.forward import name_of


def check_gradient(g, shape, op):
    """Refuse what a rule of `op` returned, unless it is an array to whose shape `shape`, the shape
    of the input, broadcasts."""
    if not hasattr(g, "shape"):
        raise TypeError(
            f"the rule of {name_of(op)} returned {g!r:.60}, a {type(g).__name__}: "
            "it should return one array, the gradient for its input"
        )
    lengths = zip(shape[::-1], g.shape[::-1])
    if len(g.shape) < len(shape) or any(n != 1 and n != m for n, m in lengths):
        raise ValueError(
            f"the rule of {name_of(op)} returned a gradient of shape {g.shape} for an input "
            f"of shape {shape}: the gradient should have the shape of the input"
        )


def check_float(dtype):
    """Refuse a gradient for a tensor of any dtype but floating-point numbers."""
    if dtype.kind != "f":
        raise TypeError(
            f"a tensor of {dtype} requires a gradient, but gradients are floating-point numbers: "
            "make it with Tensor(data, requires_grad=True) or Variable(data), which turn "
            "integers into float32"
        )


def check_recorded(tensor):
    """Refuse a tensor that the backward pass cannot start from."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "backward() starts from a result of tensors that require a gradient, and this one was "
            "not recorded. Was it made inside no_grad(), from .data, of integers, or from tensors "
            "without requires_grad=True?"
        )
    check_float(tensor.dtype)


def check_rules(rules, made):
    """Refuse rules, or the gradients from one rule for all inputs, unless there is one for each
    input of the operation `made.op`."""
    if type(rules) not in (tuple, list) or len(rules) != len(made.inputs):
        count = len(made.inputs)
        raise ValueError(
            f"{name_of(made.op)} has {count} inputs, and needs a tuple of {count} rules, or of "
            f"{count} gradients from one rule for all inputs, not {described(rules)}: one for "
            "each input, None where there is no derivative"
        )


def check_methods(cls):
    """Refuse a Function whose methods take no self, and check in each call what forward returns.

    cls  the class; its own `forward`, where it has one, is replaced by `checked_forward` of it
    """
    for name in ("forward", "backward"):
        if isinstance(vars(cls).get(name), (staticmethod, classmethod)):
            raise TypeError(
                f"{cls.__name__}.{name}: methods of a Function take self, not ctx. Leave "
                "@staticmethod out, and write self.save_for_backward(...) and self.saved_tensors"
            )
    if "forward" in vars(cls):
        cls.forward = checked_forward(cls.forward)


def checked_forward(forward):
    """A forward method that raises TypeError when it returns anything but one array."""

    @functools.wraps(forward)
    def checked(self, *arrays, **options):
        out = forward(self, *arrays, **options)
        if out is None or isinstance(out, (tuple, list)):
            cure = "is `return` missing?" if out is None else "one operation has one result"
            raise TypeError(
                f"{type(self).__name__}.forward should return one array, and returned a "
                f"{type(out).__name__}: {cure}"
            )
        return out

    return checked


def checked_gradients(gradients, arrays, name, unwrap=np.asarray):
    """What the backward method of the Function `name` returned, as a tuple that fits its inputs.

    gradients  an array, or a tuple or list with one for each input; None for an input that has no
               derivative
    arrays     the inputs
    unwrap     makes an array or a number of each gradient
    returns    tuple of ndarrays or None, each of the shape of its input

    >>> checked_gradients(2.0, [np.float64(3)], "Double")
    (array(2.),)
    """
    if gradients is None:
        raise ValueError(
            f"{name}.backward returned None: is `return` missing? "
            "(For one input without a derivative: (None,).)"
        )
    gradients = tuple(gradients) if isinstance(gradients, (tuple, list)) else (gradients,)
    if len(gradients) != len(arrays):
        raise ValueError(
            f"{name}.backward should return {len(arrays)} gradients, one for each input, "
            f"not {len(gradients)}"
        )
    gradients = tuple([part if part is None else np.asarray(unwrap(part)) for part in gradients])
    for n, (part, array) in enumerate(zip(gradients, arrays)):
        if part is not None and part.shape != np.shape(array):
            raise ValueError(
                f"{name}.backward returned a gradient of shape {part.shape} for "
                f"input {n}, which has shape {np.shape(array)}"
            )
    return gradients


def check_arguments(f, inputs):
    """Refuse inputs that `f` cannot be called with."""
    try:
        inspect.signature(f).bind(*inputs)
    except TypeError as error:
        raise TypeError(
            f"f does not take the {len(inputs)} inputs given, one argument for each entry "
            f"of the list ({error}). A single input needs no list: Tensor([1.0, 2.0])"
        ) from None
    except ValueError:
        pass  # some functions written in C do not say what they take


def check_result(out):
    """Refuse a result of the checked function that is no Tensor of float64."""
    if not hasattr(out, "requires_grad"):
        raise TypeError(
            f"f returned a {type(out).__name__} and no Tensor: float() and .data leave the "
            "computation graph"
        )
    if out.dtype != np.float64:
        raise ValueError(
            f"the result is {out.dtype} though the inputs are float64: too few digits to compare "
            "gradients. Make a network float64 first, net.to(np.float64)"
        )


def random_weights(shape):
    """Weights for the sum of a result of that shape: random, of both signs and far from 0, so that
    no two elements can be confused; 1 for a single element, where nothing can."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape)
    return np.ones(shape) if np.size(weights) == 1 else weights


def mismatch(n, at, backward, difference, arrived=True):
    """The error of a gradient check for the element `at` of input `n`, which may have received no
    gradient at all (`arrived`).

    >>> print(mismatch(0, (1, 2), 0.5, 1.0000000000007))
    input 0 at (1, 2): backward gives 0.5, a central difference gives 1.0
    """
    backward, difference = (float(f"{number:.8g}") for number in (backward, difference))
    cause = "" if arrived else " (no gradient arrived at all)"
    return AssertionError(
        f"input {n} at {at}: backward gives {backward}{cause}, "
        f"a central difference gives {difference}"
    )
