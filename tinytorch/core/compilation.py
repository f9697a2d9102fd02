# From modules/source/21_compilation/compilation_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 736ed9a39c0676bb
"""Compilation: A training step recorded as a program, simplified, and written as loops in C."""

import numpy as np

from tinytorch.compiler.compiled import CompiledMethods
from tinytorch.compiler.loops import (
    C,
    Layout,
    LoopMethods,
    PYTHON,
    ProgramMethods,
    START,
    VIEWS,
    function_of,
    interpreted,
    is_elementwise,
    joins,
    loop_shape,
    same_array,
    waits,
    written,
)
from tinytorch.compiler.machine_code import in_c, machine_code, outlined
from tinytorch.core.tensor import Tensor, apply, strides_of
from tinytorch.support.tracing import (
    Node,
    NotTraceable,
    TracedMethods,
    key_of,
    only_nodes,
    recorded,
    step,
    value_and_gradients,
)

__all__ = [
    "needed", "Program", "evaluate", "Traced", "trace", "straight", "rewrite", "fold", "simplify", "share",
    "optimized", "same", "signature", "Compiled", "straight_function", "BACKENDS", "compile", "bytes_moved", "levels",
    "groups", "view_strides", "plan", "layout_of", "arena", "Loops", "run_python", "compile_c", "outline",
    "c_function",
]


def needed(outputs):
    """All Nodes that some outputs are computed from, the outputs included.

    returns  list of Nodes, each once, sorted by `created`
    """
    found, stack = set(), [*outputs]
    while stack:
        node = stack.pop()
        if isinstance(node, Node) and node not in found:
            found.add(node)
            stack.extend(node.inputs)
    return sorted(found, key=lambda node: node.created)


class Program(ProgramMethods):
    """What computes outputs from arguments."""

    def __init__(self, arguments, outputs):
        self.arguments, self.outputs = list(arguments), list(outputs)
        self.nodes = [node for node in needed(self.outputs) if node.op is not None]


def evaluate(program, *arrays):
    """Run a program, step by step.

    returns  list with the value of each output
    """
    values = dict(zip(program.arguments, arrays))

    def value(x):
        return values[x] if isinstance(x, Node) else x
    for node in program.nodes:
        values[node] = node.op(*map(value, node.inputs), **node.options)
    return [value(x) for x in program.outputs]


class Traced(TracedMethods):
    """Takes the place of an array. `.node` is the Node of its numbers, `.is_view` whether it
    shares its memory with another Traced array."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        """NumPy calls this instead of computing ufunc(*inputs)."""
        op = ufunc if method == "__call__" else getattr(ufunc, method)
        result = self.record(op, *inputs, **options)
        if out is None:
            return result
        (target,) = out
        if not isinstance(target, Traced):
            raise NotTraceable("a result is to be written into an array that is not traced")
        if target.is_view:
            raise NotTraceable("a result is to be written into a view")
        target.node = result.astype(target.dtype).node
        return target


def trace(f, *arrays, weights=()):
    """The program of a function of Tensors.

    arrays   examples of its arguments, ndarrays: their shapes and dtypes count, and of arrays
             of ints the numbers, by which they are recognized
    returns  Program; NotTraceable, a TypeError that names the line, where a step depends on a
             number
    """
    return Program(*recorded(f, arrays, weights, Traced))


def straight(program):
    """The text of a Python function `program`, with one line for each step."""
    names = {a: f"a{n}" for n, a in enumerate(program.arguments)}
    names |= {node: f"t{n}" for n, node in enumerate(program.nodes)}
    objects, lines = {}, []

    def text(x):  # how a Node, an operation or a constant is written
        return names[x] if isinstance(x, Node) else written(x, objects)
    last = {x: node for node in program.nodes for x in only_nodes(node.inputs)}
    for x in [*program.arguments, *only_nodes(program.outputs)]:
        last.pop(x, None)
    for node in program.nodes:
        inputs = [*map(text, node.inputs)]
        inputs += [f"{option}={text(value)}" for option, value in node.options.items()]
        lines.append(f"{names[node]} = {text(node.op)}({', '.join(inputs)})")
        dead = [names[x] for x in only_nodes(node.inputs) if last.get(x) is node]
        if dead:
            lines.append(f"del {', '.join(dead)}")
    lines.append(f"return [{', '.join(map(text, program.outputs))}]")
    head = f"def program({', '.join(map(text, program.arguments))}):"
    return "\n    ".join([head, *lines]), objects


def rewrite(program, rule):
    """A new program, in which rule(node) takes the place of each step."""
    new = {}

    def replaced(x):
        return new.get(x, x) if isinstance(x, Node) else x
    for node in program.nodes:
        inputs = [replaced(x) for x in node.inputs]
        new[node] = rule(Node(node.op, inputs, node.options, node.example))
    return Program(program.arguments, [replaced(x) for x in program.outputs])


def fold(node):
    """A rule for `rewrite`: the value of a step (its example) if none of its inputs is a Node
    and it is not np.broadcast_to; else the step.

    >>> fold(step(np.add, 2.0, 3.0))
    array(5.)
    """
    if node.op is np.broadcast_to or only_nodes(node.inputs):
        return node
    return node.example


def simplify(node):
    """A rule for `rewrite`: x for a step that returns its input `x` unchanged, else the step."""
    x = node.inputs[0]
    if node.op is np.reshape and same_array(x, node):
        return x
    if node.op is np.swapaxes and isinstance(x, Node):
        if x.op is np.swapaxes and x.options == node.options:
            return x.inputs[0]
    neutral = {np.add: 0, np.multiply: 1}.get(node.op)
    for a, b in (node.inputs, node.inputs[::-1]) if neutral is not None else ():
        if same_array(a, node) and not isinstance(b, Node) and np.all(b == neutral):
            return a
    return node


def share(program):
    """A new program in which, of equal steps, only the first is computed."""
    known = {}

    def rule(node):
        return known.setdefault((node.op, key_of(node.inputs), key_of(node.options)), node)
    return rewrite(program, rule)


def optimized(program):
    """The program after all passes."""
    return share(rewrite(rewrite(program, fold), simplify))


def same(a, b):
    """Whether two programs do the same: their steps have, in order, the same names, the same
    options and the same inputs, and their outputs are the same.
    """
    def described(program):
        number = {x: n for n, x in enumerate([*program.arguments, *program.nodes])}

        def part(x):
            return ("node", number[x]) if isinstance(x, Node) else key_of(x)
        steps = [(node.name, [part(x) for x in node.inputs], key_of(node.options))
                 for node in program.nodes]
        return steps, [part(x) for x in program.outputs]
    return described(a) == described(b)


def signature(x):
    """What must be equal for a program to be used again.

    returns  of a Tensor or array its shape and dtype

    >>> signature(np.zeros(2)) == signature(np.ones(2)), signature(1) == signature(True)
    (True, False)
    """
    x = x.data if isinstance(x, Tensor) else x
    return (x.shape, x.dtype.str) if isinstance(x, np.ndarray) else (type(x), x)


class Compiled(CompiledMethods):
    """A function that is traced when it is called with a new signature, and then runs as a
    program; made by `compile`.
    """

    functions = globals()  # `build` calls trace, same and optimized

    def __call__(self, *arguments):
        """The result of f(*arguments), a Tensor. If there is a model, `backward` gives its
        weights their gradients.
        """
        arguments = self.without_tensors(arguments)  # their arrays instead
        key = self.state(), *map(signature, arguments)
        if key not in self.programs:
            self.programs[key] = self.build(arguments)
        arrays = [x for x in arguments if isinstance(x, np.ndarray)]
        arrays += [w.data for w in self.others]
        return apply(self.programs[key], *self.weights, arrays=arrays, saved={})


def straight_function(program):
    """The program as a Python function."""
    return function_of(*straight(program))


BACKENDS = {"numpy": straight_function}


def compile(f, model=None, backend="numpy"):
    """A compiled version of a function."""
    if backend not in BACKENDS:
        raise ValueError(f"backend is {backend!r}; there are {' and '.join(BACKENDS)}")
    return Compiled(f, model, BACKENDS[backend])


def bytes_moved(program, groups):
    """The bytes that the loops of all groups read and write.

    returns  int
    """
    total = 0
    for group in {id(group): group for group in groups.values()}.values():
        if group[0].op not in VIEWS:
            inside = set(group)
            others = [node for node in program.nodes if node not in inside]
            read = only_nodes(x for node in group for x in node.inputs)
            wanted = [*program.outputs, *(x for node in others for x in node.inputs)]
            total += sum(x.example.nbytes for x in read if x not in inside)
            total += sum(x.example.nbytes for x in only_nodes(wanted) if x in inside)
    return total


def levels(program):
    """The level of each step."""
    level = {}
    for node in program.nodes:
        steps = [x for x in only_nodes(node.inputs) if x in level]
        level[node] = max((level[x] + waits(x, node) for x in steps), default=0)
    return level


def groups(program):
    """The group of each step."""
    level, group = levels(program), {}
    for node in program.nodes:
        group[node] = [node]
        for x in only_nodes(node.inputs):
            if joins(x, node) and level[x] == level[node] and group[x] is not group[node]:
                group[x].extend(group[node])
                for member in group[node]:
                    group[member] = group[x]
    return group


def view_strides(node, strides):
    """How a step reads the memory of its input, if it needs no copy."""
    x = node.inputs[0]
    if node.op is np.transpose:
        return tuple([strides[a] for a in node.options["axes"]])
    if node.op is np.swapaxes:
        a, b = node.options["axis1"], node.options["axis2"]
        swapped = [*strides]
        swapped[a], swapped[b] = strides[b], strides[a]
        return tuple(swapped)
    if node.op is np.broadcast_to:
        kept = [s if n > 1 else 0 for s, n in zip(strides, x.shape)]
        return (0,) * (len(node.shape) - len(kept)) + tuple(kept)
    if node.op is np.reshape and strides == strides_of(x.shape):
        return strides_of(node.shape)
    return None


def plan(arrays):
    """A place for each array in one block of memory.

    >>> plan([(10, 0, 1), (20, 1, 2), (10, 2, 3)])
    ([20, 0, 20], 30)
    """
    offsets, placed = [0] * len(arrays), []
    for i in sorted(range(len(arrays)), key=lambda i: -arrays[i][0]):
        size, first, last = arrays[i]
        taken = [(offsets[j], offsets[j] + arrays[j][0]) for j in placed
                 if arrays[j][1] <= last and first <= arrays[j][2]]
        for start, end in sorted(taken):
            if offsets[i] + size > start:
                offsets[i] = max(offsets[i], end)
        placed.append(i)
    total = max((o + size for o, (size, *_) in zip(offsets, arrays)), default=0)
    return offsets, total


def layout_of(program):
    """The Layout of a program."""
    return Layout(program, groups(program), levels(program), view_strides)


def arena(program):
    """A place for each result of a program that must be stored, in one block of memory."""
    layout = layout_of(program)
    time = {node: t for t, group in enumerate(layout.order) for node in group}
    last = {}
    for node in program.nodes:
        for x in only_nodes(node.inputs):
            array = layout.array[x]
            last[array] = max(last.get(array, 0), time[node])
    for x in only_nodes(program.outputs):
        last[layout.array[x]] = len(layout.order)
    offsets, size = plan([(4 * x.example.size, time[x], last[x]) for x in layout.stored])
    return dict(zip(layout.stored, offsets)), size


class Loops(LoopMethods):
    """The text of a program as loops: Loops(program, C or PYTHON).source()."""

    def __init__(self, program, language):
        super().__init__(layout_of(program), *arena(program), language)

    def nest(self, group):
        """The lines that compute a group of elementwise steps and reductions.

        returns  list of lines
        """
        shape, start, body = loop_shape(group[0]), [], []
        for node in group:
            values = [self.read(x, shape, group) for x in node.inputs]
            if node.op in START:
                total = self.total(node)
                begin = self.assign(total, self.number(START[node.op]))
                start += self.loops(node.inputs[0].shape, [begin], self.kept_axes(node))
                combine = np.maximum if node.op == np.maximum.reduce else np.add
                body.append(self.assign(total, self.formula(combine, total, *values)))
            else:
                body.append(self.define(node, self.formula(node.op, *values)))
                if node in self.stored:
                    body.append(self.store(node))
        return start + self.loops(shape, body)


def run_python(program, *arrays):
    """Run a program as loops in Python: slow. Returns a list of float32 ndarrays."""
    return interpreted(program, Loops(program, PYTHON), arrays)


def compile_c(program):
    """The program as machine code: a function of float32 arrays that returns a list of new
    ones. Its attribute `source` is the text in C. OSError, with the names cc, gcc and clang, if
    no C compiler is installed; NotImplementedError if there are no loops for a step."""
    if any(a.dtype != np.float32 for a in program.arguments):
        raise NotImplementedError("the arguments of loops are float32")
    return machine_code(program, Loops(program, C).source())


def outline(program, build=compile_c):
    """A program in which each group of two or more steps is one step, a kernel made by
    build(program of the group); groups with equal text share it. The rest stays as it is."""
    def text(part):
        return Loops(part, C).source()
    outputs = outlined(layout_of(program), Program, text, build)
    return Program(program.arguments, outputs)


def c_function(program):
    """The program with loops in C: all of it, or only its groups where BLAS is faster."""
    return in_c(program, straight_function, compile_c, outline)


BACKENDS["c"] = c_function
