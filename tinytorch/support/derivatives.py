"""The table of derivatives, rules that the autograd lesson does not teach, and checks of what users
give to the engine: rules, Functions, functions whose gradients are checked.

A rule takes the gradient `g` of a result `out`, then what the operation was called with, and
returns the gradient for one input. Nothing here imports the engine: whatever has `requires_grad` is
taken for a Tensor.
"""

import contextlib
import functools
import inspect
import math

import numpy as np

from tinytorch.support.arguments import described
from tinytorch.support.arrays import axes_of, changes
from tinytorch.support.forward import (
    cast_forward,
    clone_forward,
    concatenate_forward,
    cumsum_forward,
    name_of,
    pad_forward,
    power,
    prod_forward,
    root_forward,
    stack_forward,
)

# the table

FREED_GRAPH = (
    "backward() has already freed this graph; call it with retain_graph=True to go through it "
    "twice or to draw it, or compute the result again"
)


class Rules(dict):
    """operation -> its rules.

    errors  dict from the name of a function that failed to write its rules to what it raised
    """

    def __init__(self):
        super().__init__()
        self.errors = {}

    def written_by(self, write):
        """Call the function below, which writes rules into the table, at once. Its error, because
        it is an exercise that is not written yet, is raised when a rule is missing.

        >>> table = Rules()
        >>> @table.written_by
        ... def write():
        ...     table[abs] = "the rules of abs"
        >>> table[abs]
        'the rules of abs'
        """
        self.errors.pop(write.__name__, None)
        try:
            write()
        except Exception as error:
            self.errors[write.__name__] = error
        return write

    def __missing__(self, op):
        # The forward method of a Function has its rule beside it, which is not kept: each use of
        # a Function is a separate operation.
        if hasattr(op, "__self__") and hasattr(op.__self__, "vjp"):
            return op.__self__.vjp
        for error in self.errors.values():
            raise error
        name = getattr(op, "__name__", op)
        raise NotImplementedError(
            f"no derivative is known for {name}: give it with derivative({name}, ...), "
            "one rule for each input"
        )

    def rules_of(self, node, g):
        """The rules of the operation that computed `node`, one for each of its inputs.

        node  has `creator` and `data`
        g     its gradient: where one rule serves all inputs, it is called with `g` now
        """
        made = node.creator
        if made.created < changes.last:
            hide_changed_arrays(made)
        rules = self[made.op]
        if type(rules) is tuple and len(rules) == len(made.inputs):
            return rules
        if type(rules) is not tuple:
            rules = rules(g, node.data, *made.arrays, **made.options)
            check_rules(rules, made)
            # computed already: the rule for each input only returns its part
            return [part if part is None else lambda *_, part=part, **__: part for part in rules]
        check_rules(rules, made)
        return rules


class Freed:
    """The creator of a result whose graph was freed. Reading how it was computed is an error."""

    __slots__ = ()

    @property
    def op(self):
        raise RuntimeError(FREED_GRAPH)

    inputs = arrays = options = created = op


FREED = Freed()


def hide_changed_arrays(made):
    """Replace the arrays in a Creator that were changed in place after the operation: a rule that
    reads their numbers raises RuntimeError. Their shapes may be read."""
    function = getattr(made.op, "__self__", None)  # of a Function, which keeps arrays itself
    for owner, name in ((made, "arrays"), (function, "saved_tensors")):
        arrays = getattr(owner, name, ())
        if any(changes.since(made.created, a) for a in arrays):
            hidden = [Changed(a, made.op) if changes.since(made.created, a) else a for a in arrays]
            setattr(owner, name, tuple(hidden))


class Changed(np.lib.mixins.NDArrayOperatorsMixin):
    """Stands for an array whose numbers are no longer those that the operation `op` used."""

    def __init__(self, array, op):
        self.shape, self.ndim, self.size = array.shape, array.ndim, array.size
        self.dtype, self.itemsize, self.op = array.dtype, array.itemsize, op

    def reshape(self, *shape):
        zeros = np.broadcast_to(np.zeros((), self.dtype), self.shape)
        return Changed(zeros.reshape(*shape), self.op)

    def __len__(self):
        return self.shape[0]

    def refuse(self, *args, **options):
        raise RuntimeError(
            f"{name_of(self.op)} needs its input of shape {self.shape} for the gradient, and it "
            "was changed in place: by the step of an optimizer, `w -= ...`, or x[...] = ...\n"
            "call backward() before the change, or compute the result again after it"
        )

    __array_ufunc__ = __array_function__ = __array__ = __getitem__ = __getattr__ = refuse


# vector-Jacobian products


def register_others(derivative):
    """Enter the rules that the autograd lesson does not teach into its table.

    derivative  the function (op, *rules, together=None) that registers the rules of one operation
    """
    derivative(concatenate_forward, together=concatenate_rule)
    derivative(stack_forward, together=stack_rule)
    derivative(pad_forward, pad_rule)
    derivative(cumsum_forward, cumsum_rule)
    derivative(prod_forward, prod_rule)
    derivative(clone_forward, lambda g, out, x: g)
    derivative(
        np.remainder, lambda g, out, x, y: g, lambda g, out, x, y: -g * np.floor_divide(x, y)
    )
    derivative(root_forward, lambda g, out, x: masked(g / (2 * out + (out == 0)), out != 0))
    derivative(cast_forward, lambda g, out, x, like: g.astype(x.dtype), None)


INTEGERS = {2: np.dtype("i2"), 4: np.dtype("i4"), 8: np.dtype("i8")}  # of as many bytes


def masked(g, mask):
    """`g` where `mask` is true, or is a number other than 0; 0 elsewhere. That is g * mask, but
    also where `g` is inf or nan, which times 0 are nan.

    returns  ndarray or NumPy number of the dtype of `g`: a new one

    The bits of a number are multiplied, as an integer. On 147,456 numbers np.where takes 10 times
    as long.

    >>> masked(np.float32([np.inf, 2]), np.array([False, True]))
    array([0., 2.], dtype=float32)
    """
    if g.itemsize not in INTEGERS:  # longdouble
        return np.where(mask, g, 0)
    return (g.view(INTEGERS[g.itemsize]) * mask.astype(bool, copy=False)).view(g.dtype)


def base_rule(g, out, base, exponent):
    """The gradient for the base of power(base, exponent); 0 for an exponent of 0, also at 0.

    >>> base_rule(1.0, 9.0, 3.0, 2)
    6.0
    """
    if type(exponent) is int and exponent == 2:
        return g * (2 * base)
    # with exponent 0: times 0, to the power 0
    return g * exponent * power(base, exponent - (exponent != 0))


def exponent_rule(g, out, base, exponent):
    """The gradient for the exponent of power(base, exponent); 0 where the base is 0 and the power
    stays finite, though the logarithm does not."""
    zero = np.equal(base, 0) & np.greater_equal(exponent, 0)
    return np.where(zero, 0, g * out * np.log(np.where(zero, 1, base), dtype=out.dtype))


def concatenate_rule(g, out, *arrays, axis):
    """The gradients for all arrays that were concatenated: `g`, split where they met."""
    return np.split(g, np.cumsum([array.shape[axis] for array in arrays[:-1]]), axis)


def stack_rule(g, out, *arrays, axis):
    """The gradients for all arrays that were stacked."""
    return list(np.moveaxis(g, axis, 0))


def pad_rule(g, out, x, width, value):
    """The gradient for an array that was padded: `g` without the padding."""
    return g[tuple([slice(before, before + n) for (before, _), n in zip(width, x.shape)])]


def cumsum_rule(g, out, x, axis):
    """The gradient for an array of which the cumulative sum was taken: each element is part of its
    own sum and of all later ones, so its gradient is the sum of theirs."""
    axis, g = (0, g.ravel()) if axis is None else (axis, g)
    return np.flip(np.cumsum(np.flip(g, axis), axis), axis).reshape(x.shape)


def prod_rule(g, out, x, axis, keepdims):
    """The gradient for an array whose elements were multiplied along `axis`: for each element the
    product of all others, times `g`. Nothing is divided, so that zeros are no special case.

    >>> prod_rule(np.array(1.0), None, np.array([2.0, 0.0, 5.0]), None, False)
    array([ 0., 10.,  0.])
    """
    axes = axes_of(axis, x.ndim)
    last = tuple(range(-len(axes), 0))
    moved = np.moveaxis(x, axes, last)
    rows = moved.reshape(*moved.shape[: x.ndim - len(axes)], math.prod(x.shape[a] for a in axes))
    first = np.ones_like(rows[..., :1])
    before = np.cumprod(np.concatenate([first, rows[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([first, rows[..., :0:-1]], -1), -1)[..., ::-1]
    others = np.moveaxis((before * after).reshape(moved.shape), last, axes)
    return others * (g if keepdims else np.expand_dims(g, axes))


def can_repeat(index):
    """Whether an index, a tuple as `copy_index` makes it, can pick one element twice.

    >>> can_repeat(([0, 2],)), can_repeat((slice(1, 3), 0)), can_repeat((np.array([True, False]),))
    (True, False, False)
    """
    return any(np.ndim(part) > 0 and np.asarray(part).dtype != bool for part in index)


def fast_index_rule(g, x, index):
    """The gradient for `x`, given the gradient `g` of x[index], for many numbers.

    >>> fast_index_rule(np.array([1.0, 10.0, 100.0]), np.zeros(4), ([2, 0, 2],))
    array([ 10.,   0., 101.,   0.])
    """
    if can_repeat(index):
        positions = np.arange(x.size).reshape(x.shape)[index]
        return np.bincount(positions.ravel(), np.ravel(g), x.size).reshape(x.shape)
    full = np.zeros(x.shape, g.dtype)
    full[index] = g
    return full


def as_matrices(g, a, b):
    """Gradient and operands of a @ b as stacks of matrices: (..., i, j), (..., i, k), (..., k, j).

    Where `b` is one matrix (a layer's weights), all rows of `a` become rows of one tall matrix: one
    product instead of many.

    >>> g, a, b = as_matrices(np.zeros((5, 2, 4)), np.zeros((5, 2, 3)), np.zeros((3, 4)))
    >>> g.shape, a.shape, b.shape
    ((10, 4), (10, 3), (3, 4))
    """
    if b.ndim > 2:
        return (g, a, b) if a.ndim > 1 else (g[..., None, :], a[None], b)
    k, j = b.shape if b.ndim == 2 else (b.size, 1)
    rows = math.prod(a.shape[:-1])
    return g.reshape(rows, j), a.reshape(rows, k), b.reshape(k, j)


def matmul_rules(matmul_vjp):
    """The rules of np.matmul for operands of every rank, from one for stacks of matrices.

    matmul_vjp  function (n, g, a, b) -> gradient for input `n`, as the lesson describes it
    returns     two rules
    """

    def rule(n):
        def of_input(g, out, a, b):
            (g, *pair), shape = as_matrices(g, a, b), (a, b)[n].shape
            if b.ndim < 3 and g.shape[1 - n] == 1:  # NumPy's @ uses no BLAS for 1 row or 1 column
                gradient = np.dot(pair[0].T, g) if n else np.dot(g, pair[1].T)
            else:
                gradient = matmul_vjp(n, g, *pair)
            # no reshape that changes nothing: it makes a view, which a leaf would have to copy
            return gradient if b.ndim > 2 or gradient.shape == shape else gradient.reshape(shape)

        return of_input

    return rule(0), rule(1)


# custom functions


class FunctionMethods:
    """The base of `Function`, which adds how an object of it is called.

    saved_tensors  tuple of what save_for_backward(...) was given
    vjp            the rule for all inputs together, as `derivative` takes it
    """

    saved_tensors = ()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        check_methods(cls)

    def save_for_backward(self, *arrays):
        self.saved_tensors = arrays

    def forward(self, *arrays):
        raise TypeError(f"{type(self).__name__} needs a method forward(self, *arrays)")

    def backward(self, grad):
        raise TypeError(f"{type(self).__name__} needs a method backward(self, grad)")

    def vjp(self, g, out, *arrays, **options):
        return checked_gradients(self.backward(g), arrays, type(self).__name__, numbers_of)


def numbers_of(gradient):
    """The array inside a Tensor; anything else as it is."""
    return gradient.data if hasattr(gradient, "requires_grad") else gradient


# switching recording off


def also_for_generators(manager):
    """Let `manager`, made by contextlib.contextmanager, also decorate generator functions: each of
    their steps runs inside of it, and what happens between the steps outside.

    >>> @also_for_generators
    ... @contextlib.contextmanager
    ... def shouting():
    ...     heard.append("in")
    ...     yield
    ...     heard.append("out")
    >>> @shouting()
    ... def count():
    ...     yield from (1, 2)
    >>> heard = []
    >>> for n in count():
    ...     heard.append(n)
    >>> heard
    ['in', 'out', 1, 'in', 'out', 2, 'in', 'out']
    """

    class Manager(contextlib.ContextDecorator):
        def __enter__(self):
            self.entered = manager()
            return self.entered.__enter__()

        def __exit__(self, *error):
            return self.entered.__exit__(*error)

        def _recreate_cm(self):
            return Manager()

        def __call__(self, function):
            if inspect.isgeneratorfunction(function):
                return in_steps(function, Manager)
            return super().__call__(function)

    return functools.wraps(manager)(lambda: Manager())


def in_steps(function, manager):
    """A generator function whose generator runs inside of manager() at each step."""

    @functools.wraps(function)
    def inside(*args, **options):
        generator = function(*args, **options)
        step, value = generator.send, None
        while True:
            with manager():
                try:
                    result = step(value)
                except StopIteration as end:
                    return end.value
            try:
                step, value = generator.send, (yield result)
            except BaseException as error:  # also GeneratorExit: close() raises it here
                step, value = generator.throw, error

    return inside


# checks


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


def not_recorded(tensor):
    """The error for a tensor that the backward pass cannot start from."""
    if tensor.requires_grad:
        check_float(tensor.data.dtype)
    return RuntimeError(
        "backward() starts from a result of tensors that require a gradient, and this one was "
        "not recorded. Was it made inside no_grad(), from .data, of integers, or from tensors "
        "without requires_grad=True?"
    )


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
    unwrap     function that returns the array or number inside a gradient
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
