"""Tracing: a function runs on Traced arrays, and each step it computes becomes a Node of a program.

The engine is the learner's, unchanged. While a function is traced, every forward operation passes
`traced_run` and every gradient rule `traced_rules`. Both try to go inside, down to NumPy's own
operations. What cannot be traced inside, such as a write into a part of an array, becomes one step.
"""

import contextlib
import itertools
import linecache
import operator
import os
import sys
import weakref
from dataclasses import dataclass

import numpy as np

from tinytorch.support import arrays as array_support
from tinytorch.support import forward
from tinytorch.support.forward import name_of, sum_forward
from tinytorch.support.warning_location import PACKAGE

NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep

# programs


class Node:
    """One step of a program: op(*inputs, **options).

    op       a function of arrays, such as np.add; None for an argument of the program
    inputs   what it is called with: Nodes, arrays, numbers, indices
    options  dict of constants: its keyword arguments
    example  what the step computed while it was recorded: an ndarray, or a list of them

    .shape .dtype  of the example
    .created       an int; a Node that was created later has a larger one
    .line          the line of the traced function that it comes from, as text; or ""
    """

    number = itertools.count().__next__

    def __init__(self, op, inputs=(), options={}, example=None):
        self.op, self.inputs, self.options, self.example = op, tuple(inputs), options, example
        self.created, self.line = Node.number(), ""

    shape = property(lambda self: getattr(self.example, "shape", None))
    dtype = property(lambda self: getattr(self.example, "dtype", None))

    @property
    def name(self):
        """The name of the operation, as PyTorch has it."""
        return operation_name(self.op)

    def __repr__(self):
        return f"<{self.name if self.op else 'argument'} {self.created}>"


REDUCTIONS = {
    np.add.reduce: "sum",
    np.maximum.reduce: "max",
    np.minimum.reduce: "min",
    np.multiply.reduce: "prod",
    np.logical_and.reduce: "all",
    np.logical_or.reduce: "any",
}


def operation_name(op):
    """The name of an operation, also of the methods of universal functions.

    >>> operation_name(np.multiply), operation_name(np.add.reduce), operation_name(np.add.outer)
    ('mul', 'sum', 'add.outer')
    """
    if op in REDUCTIONS:
        return REDUCTIONS[op]
    owner = getattr(op, "__self__", None)
    return f"{name_of(owner)}.{op.__name__}" if isinstance(owner, np.ufunc) else name_of(op)


def step(op, *inputs, **options):
    """A new Node for op(*inputs, **options). Its example is computed from its inputs' examples.

    >>> step(np.add, step(np.exp, np.zeros(2)), 1).example
    array([2., 2.])
    """
    with np.errstate(all="ignore"):
        example = op(*[x.example if isinstance(x, Node) else x for x in inputs], **options)
    if isinstance(example, tuple):
        example = list(example)
    return Node(op, inputs, options, example if isinstance(example, list) else np.asarray(example))


def only_nodes(parts):
    """Those of some inputs or outputs that are Nodes, each once, in order.

    >>> a = Node(None, example=np.zeros(2))
    >>> only_nodes([a, 2.0, a]) == [a]
    True
    """
    return list(dict.fromkeys(part for part in parts if isinstance(part, Node)))


def key_of(x):
    """Something that can be a key of a dict, equal for equal constants. A Node is equal only to
    itself.

    >>> key_of(1) == key_of(1.0), key_of({"axis": 0}) == key_of({"axis": 0})
    (False, True)
    """
    if isinstance(x, np.ndarray):
        return x.dtype.str, x.shape, x.tobytes()
    if isinstance(x, dict):
        return tuple((name, key_of(value)) for name, value in x.items())
    if isinstance(x, (tuple, list)):
        return type(x), tuple(map(key_of, x))
    if isinstance(x, slice):
        return "slice", x.start, x.stop, x.step
    if isinstance(x, Node) or callable(x):
        return x
    return type(x), repr(x)


# arrays whose numbers are not known


class NotTraceable(TypeError):
    """The function needs something that is known only when the program runs."""


def user_line():
    """The line of the traced function that runs now, as text; "" if there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        path, code = frame.f_code.co_filename, frame.f_code
        inside = os.path.abspath(path).startswith((PACKAGE, NUMPY)) or path.startswith("<frozen")
        if not inside and not code.co_name.startswith("__array_"):
            line = linecache.getline(path, frame.f_lineno).strip()
            return f"line {frame.f_lineno} of {code.co_name}" + (f": {line}" if line else "")
        frame = frame.f_back
    return ""


def not_traceable(why):
    """The error that says why, and where."""
    where = user_line()
    return NotTraceable(f"{why}\n{where}" if where else why)


def refuse(self, *_, **__):
    raise not_traceable(
        "a number of a traced array is needed while the program is recorded. Its steps cannot "
        "depend on numbers, as in `if x.sum() > 0`, float(x) or x.item()"
    )


class Bits:
    """The bits of a Traced array, as `derivatives.masked` multiplies them by True or False."""

    def __init__(self, x):
        self.x = x

    def __mul__(self, mask):
        return Bits(self.x.record(np.where, mask, self.x, np.zeros((), self.x.dtype)))

    def view(self, dtype):
        return self.x


class TracedMethods(np.lib.mixins.NDArrayOperatorsMixin):
    """What an array has, for a Traced one. NumPy calls `__array_ufunc__`, which the lesson writes,
    for its operators and elementwise functions."""

    __hash__ = object.__hash__
    __array__ = __bool__ = __float__ = __int__ = __index__ = __complex__ = item = tolist = refuse

    def __init__(self, node, base=None):
        self.node, self.base, self.views = node, base, []
        if base is not None:
            base.views.append(weakref.ref(self))

    shape = property(lambda self: self.node.shape)
    dtype = property(lambda self: self.node.dtype)
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: self.node.example.size)
    flags = property(lambda self: self.node.example.flags)
    itemsize = property(lambda self: self.dtype.itemsize)
    T = property(lambda self: self.transpose())

    @property
    def is_view(self):
        """Whether it shares its memory with another array: it is a view, or there is one of it."""
        return self.base is not None or any(view() is not None for view in self.views)

    def record(self, op, *inputs, **options):
        """Record a step. Returns its result, which is Traced, or a list of such results."""
        if any(isinstance(y, TracedMethods) for x in inputs if type(x) in LISTS for y in x):
            raise not_traceable(f"{name_of(op)} gets a list of traced arrays")
        node = step(op, *map(node_of, inputs), **options)
        node.line = user_line()
        if node.example is None or node.dtype == object:
            raise not_traceable(f"{name_of(op)} writes into an array")
        return self.results(node, self if op in VIEWS else None)

    def results(self, node, base=None):
        if not isinstance(node.example, list):
            return type(self)(node, base)
        parts = [
            None if part is None else Node(operator.getitem, (node, n), {}, part)
            for n, part in enumerate(node.example)
        ]
        return [part and type(self)(part) for part in parts]

    def __array_function__(self, function, types, inputs, options):
        """NumPy calls this instead of function(*inputs), such as np.where."""
        if function in METHODS and inputs[0] is self:
            return getattr(self, METHODS[function])(*inputs[1:], **options)
        return self.record(function, *inputs, **options)

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index):
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(part, (TracedMethods, list)) for part in parts):
            raise not_traceable("the shape of x[mask] depends on numbers")
        return self.record(operator.getitem, self, index)

    def __setitem__(self, index, value):
        if index is not Ellipsis or self.is_view:
            raise not_traceable("a step writes into a part of an array")
        value = self.record(np.broadcast_to, value, shape=self.shape)
        self.node = value.astype(self.dtype).node

    def view(self, dtype):
        return Bits(self)

    def reshape(self, *shape):
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        return self.record(np.reshape, self, shape=self.node.example.reshape(shape).shape)

    def ravel(self):
        return self.reshape(-1)

    def squeeze(self, axis=None):
        return self.reshape(np.squeeze(self.node.example, axis).shape)

    def transpose(self, *order, axes=None):
        order = axes or (order[0] if order and not isinstance(order[0], int) else order)
        order = order or range(self.ndim)[::-1]
        return self.record(np.transpose, self, axes=tuple(int(a) % self.ndim for a in order))

    def swapaxes(self, axis1, axis2):
        axis1, axis2 = sorted((axis1 % self.ndim, axis2 % self.ndim))
        return self.record(np.swapaxes, self, axis1=axis1, axis2=axis2)

    def sum(self, axis=None, keepdims=False):
        return sum_forward(self, axis, keepdims)

    def max(self, axis=None, keepdims=False):
        return self.record(np.maximum.reduce, self, axis=axis, keepdims=keepdims)

    def min(self, axis=None, keepdims=False):
        return self.record(np.minimum.reduce, self, axis=axis, keepdims=keepdims)

    def mean(self, axis=None, keepdims=False):
        total = self.sum(axis, keepdims)
        return total / (self.size // total.size)

    def all(self, axis=None, keepdims=False):
        return self.record(np.logical_and.reduce, self, axis=axis, keepdims=keepdims)

    def any(self, axis=None, keepdims=False):
        return self.record(np.logical_or.reduce, self, axis=axis, keepdims=keepdims)

    def astype(self, dtype, copy=True):
        if self.dtype == dtype:
            return self.copy()
        if np.dtype(dtype) == bool:
            return self != 0
        return self.record(cast, self, np.dtype(dtype))

    def copy(self):
        return type(self)(self.node)


LISTS, ARRAYS = (list, tuple), (TracedMethods, np.ndarray, np.generic)
VIEWS = {np.reshape, np.swapaxes, np.transpose, np.broadcast_to, operator.getitem}
METHODS = {
    np.reshape: "reshape",
    np.ravel: "ravel",
    np.squeeze: "squeeze",
    np.transpose: "transpose",
    np.swapaxes: "swapaxes",
    np.sum: "sum",
    np.max: "max",
    np.min: "min",
    np.mean: "mean",
    np.copy: "copy",
}


def cast(x, dtype):
    """The numbers of an array in another dtype."""
    return np.asarray(x).astype(dtype)


# the engine while a function is traced


class Tracer:
    """What replaces parts of the engine while a function is traced.

    kind      the class Traced
    integers  the arguments of the program that are arrays of ints or of True and False
    """

    def __init__(self, kind, integers):
        from tinytorch.core import autograd, tensor  # late: lessons of the course

        self.kind, self.integers, self.autograd, self.engine = kind, integers, autograd, tensor
        self.run, self.operand, self.copy_of = tensor.run, tensor.operand, array_support.copy_of
        self.in_blocks = forward.sum_in_blocks
        self.decomposed = {autograd.table[sum_forward][0]: self.sum_rule}

    def sum_rule(self, g, out, x, axis, keepdims):
        """The rule of `sum_forward`, without an array that is written into."""
        if axis is not None and not keepdims:
            g = self.autograd.expand_reduced(g, x.shape, axis, keepdims)
        return self.kind(step(np.broadcast_to, node_of(g), shape=x.shape))

    def traced(self, x):
        """A Traced array for an argument of ints; other things as they are."""
        node = node_of(x)
        return self.kind(node) if isinstance(node, Node) and node is not x else x

    def traced_run(self, op, arrays, options):
        arrays = [x if isinstance(x, TracedMethods) else self.traced(x) for x in arrays]
        known = [x for x in arrays if isinstance(x, TracedMethods)]
        if not known and not known_in(options):
            return self.run(op, arrays, options)
        out = self.inside(op, arrays, options)
        dtype = array_support.as_result(example_of(out), [*map(example_of, arrays)]).dtype
        return out.astype(dtype) if isinstance(out, TracedMethods) else np.asarray(out, dtype)

    def traced_rules(self, node, g):
        made = node.creator
        rules = self.autograd.table[made.op]
        if type(rules) is not tuple:
            parts = self.inside(rules, (g, node.data, *made.arrays), made.options)
            return [part if part is None else lambda *_, part=part, **__: part for part in parts]
        return [
            rule and (lambda *arrays, rule=rule, **options: self.inside(rule, arrays, options))
            for rule in rules
        ]

    def inside(self, op, arrays, options):
        """op(*arrays, **options), on Traced arrays: the steps inside it, or one step."""
        if not known_in(options):  # else `op` could compute with these numbers, unseen
            try:
                out = self.decomposed.get(op, op)(*arrays, **options)
                parts = out if type(out) in LISTS else [out]
                if all(isinstance(x, ARRAYS) or x is None for x in parts):
                    return list(out) if type(out) in LISTS else out
            except (NotTraceable, TypeError, AttributeError, ValueError):
                saved = options.get("saved", {})
                if not all(isinstance(x, TracedMethods) for x in saved.values()):
                    saved.clear()
        return self.as_one_step(op, arrays, options)

    def as_one_step(self, op, arrays, options):
        """Record `op` as one step.

        Arguments of the program that are in the options become inputs. What `op` stores in an
        option `saved` becomes a result of the step; what an earlier step has stored there, an
        input.
        """
        saved, inputs = options.get("saved"), [node_of(x) for x in arrays]
        whole = OneStep(op, len(inputs), list(saved or ()), saved is not None)
        constants = {k: lift(v, inputs) for k, v in options.items() if k != "saved"}
        inputs += [node_of(saved[name]) for name in whole.given]
        node = step(whole, *inputs, **constants)
        node.line = user_line()
        if node.example is None or node.dtype == object:
            raise not_traceable(f"{name_of(op)} writes into an array")
        results = self.kind(node).results(node)
        if not whole.stores:
            return results
        saved.update(zip(whole.stored, results[1:]))
        return results[0]


class OneStep:
    """An operation of the engine, as one step of a program.

    op       the operation
    n        how many arrays it gets
    given    the names in its option `saved` that other steps have stored; these are inputs, too
    saves    whether it has the option `saved`
    """

    def __init__(self, op, n, given, saves):
        self.op, self.n, self.given, self.saves = op, n, given, saves
        self.stores, self.stored = saves and not given, []
        self.__name__ = name_of(op)

    def __call__(self, *inputs, **constants):
        options = {name: lower(value, inputs) for name, value in constants.items()}
        if self.saves:
            kept = inputs[len(inputs) - len(self.given) :] if self.given else ()
            options["saved"] = saved = dict(zip(self.given, kept))
        out = self.op(*inputs[: self.n], **options)
        if self.stores:
            self.stored = list(saved)
            return [out, *saved.values()]
        return list(out) if type(out) in LISTS else out


@dataclass(frozen=True)
class Place:
    """The number of an input, in the options of a step."""

    number: int

    def __repr__(self):
        return f"#{self.number}"


def lift(value, inputs):
    """`value`, with a Place instead of each known array, which is added to `inputs`."""
    if isinstance(value, tuple):
        return tuple([lift(part, inputs) for part in value])
    node = node_of(value)
    if not isinstance(node, Node):
        return value
    inputs.append(node)
    return Place(len(inputs) - 1)


def lower(value, inputs):
    """The inverse of `lift`."""
    if isinstance(value, tuple):
        return tuple([lower(part, inputs) for part in value])
    return inputs[value.number] if isinstance(value, Place) else value


def known_in(options):
    """Whether arrays of the program are in the options of an operation."""
    known = []
    lift(tuple([value for name, value in options.items() if name != "saved"]), known)
    return bool(known)


def example_of(x):
    return x.node.example if isinstance(x, TracedMethods) else x


active = []  # the Tracer that is at work


def node_of(x):
    """The Node of a Traced array; other things as they are.

    The engine copies and checks token ids and labels, so these are not Traced while a function is
    traced. They are recognized by their numbers.
    """
    if isinstance(x, TracedMethods):
        return x.node
    if active and isinstance(x, np.ndarray) and x.dtype.kind in "iub":
        for a in active[-1].integers:
            numbers = a.example
            if (numbers.dtype.kind == "b") != (x.dtype.kind == "b"):
                continue
            if numbers.size == x.size and np.array_equal(numbers.ravel(), x.ravel()):
                return a if a.shape == x.shape else step(np.reshape, a, shape=x.shape)
    return x


@contextlib.contextmanager
def tracing(tracer, weights):
    """While the block runs, the engine records. `weights` is a dict {Tensor: Node}. Afterwards all
    is as before."""
    before = {w: (w.data, w.grad) for w in weights}
    engine, table = tracer.engine, tracer.autograd.table

    def operand(x):
        x = x.data if hasattr(x, "creator") else x
        return x.copy() if isinstance(x, TracedMethods) else tracer.operand(x)

    def copy_of(x):
        return x.copy() if isinstance(x, TracedMethods) else tracer.copy_of(x)

    def in_blocks(x, axes, keepdims):
        if isinstance(x, TracedMethods):
            return x.record(sum_forward, x, axis=axes, keepdims=keepdims)
        return tracer.in_blocks(x, axes, keepdims)

    inputs = {w: tracer.kind(node) for w, node in weights.items()}
    active.append(tracer)
    try:
        engine.run, engine.operand, array_support.copy_of = tracer.traced_run, operand, copy_of
        forward.sum_in_blocks, table.rules_of = in_blocks, tracer.traced_rules
        for w, x in inputs.items():
            w.data = x
        yield
        if any(w.data is not x or x.node is not weights[w] for w, x in inputs.items()):
            raise NotTraceable(
                "the function changes a weight or a buffer of the model, as BatchNorm does in "
                "training: a program only returns results"
            )
    finally:
        engine.run, engine.operand = tracer.run, tracer.operand
        array_support.copy_of, forward.sum_in_blocks = tracer.copy_of, tracer.in_blocks
        del table.rules_of
        active.pop()
        for w, (array, g) in before.items():
            w.data, w.grad = array, g


def recorded(f, arrays, weights, kind):
    """Call f, with a Tensor for each array of floats and an array for each of other numbers.

    kind     the class Traced
    returns  (the arguments of a program, Nodes for the arrays and then for the weights; its
             outputs, a list)
    """
    arguments = [Node(None, example=np.asarray(x)) for x in arrays]
    captured = {w: Node(None, example=w.data) for w in weights}
    tracer = Tracer(kind, [a for a in arguments if a.dtype.kind != "f"])
    given = [tracer.engine.wrap(kind(a)) if a.dtype.kind == "f" else a.example for a in arguments]
    with tracing(tracer, captured):
        out = f(*given)
        results = out if type(out) in LISTS else [out]
        results = [x.data if hasattr(x, "creator") else x for x in results]
        outputs = [node_of(x) for x in results]
    for x in outputs:
        if not isinstance(x, (Node, np.ndarray, np.generic, int, float)):
            raise NotTraceable(f"the function should return Tensors, not {x!r:.60}")
    return [*arguments, *captured.values()], outputs


def value_and_gradients(f, weights):
    """A function with the arguments of f that returns [f(...), its gradient for each weight].

    f        returns a Tensor
    weights  list of Tensors
    """

    def both(*inputs):
        from tinytorch.core import autograd  # late: a lesson of the course

        loss = f(*inputs)
        if not hasattr(loss, "creator"):
            raise NotTraceable(f"the function should return a Tensor, not {loss!r:.60}")
        gradients = autograd.grad(loss, np.ones(loss.shape, loss.dtype)) if weights else {}
        zeros = {w: np.zeros(w.shape, w.dtype) for w in weights if w not in gradients}
        return [loss, *[gradients[w] if w in gradients else zeros[w] for w in weights]]

    return both
