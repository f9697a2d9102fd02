# From modules/source/21_compilation/compilation_dev.py by `tito export`; edit that file, not this one.
# checksum: 3f6eab2b3d3f9ca2
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
from tinytorch.core.acceleration import plan
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
    "groups", "view_strides", "layout_of", "arena", "Loops", "run_python", "compile_c", "outline", "c_function",
]


def needed(outputs):
    """All Nodes that some outputs are computed from, the outputs included.

    outputs  list of Nodes and constants; constants need nothing
    returns  list of Nodes, each once, sorted by `created`; arguments are Nodes, too

    >>> a = Node(None, example=np.ones(2))
    >>> b, c = step(np.exp, a), step(np.log, a)
    >>> needed([c, 1.0]) == [a, c]
    True

    Source: Cytron et al., Efficiently computing static single assignment form (1991).
    """
    found, stack = set(), [*outputs]
    while stack:
        node = stack.pop()
        if isinstance(node, Node) and node not in found:
            found.add(node)
            stack.extend(node.inputs)
    return sorted(found, key=lambda node: node.created)


class Program(ProgramMethods):
    """What computes outputs from arguments.

    arguments  list of Nodes without `op`
    outputs    list of Nodes; a constant is possible, too

    .nodes  the steps, each after its inputs; dead code is not among them
    """

    def __init__(self, arguments, outputs):
        self.arguments, self.outputs = list(arguments), list(outputs)
        self.nodes = [node for node in needed(self.outputs) if node.op is not None]


def evaluate(program, *arrays):
    """Run a program, step by step.

    arrays   an ndarray for each argument; not changed
    returns  list with the value of each output

    >>> a = Node(None, example=np.ones(2))
    >>> evaluate(Program([a], [step(np.add, a, 0.5), 3.0]), np.array([1.0, 2.0]))
    [array([1.5, 2.5]), 3.0]

    Source: Abelson, Sussman, Structure and Interpretation of Computer Programs, chapter 4.
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
        """NumPy calls this instead of computing ufunc(*inputs).

        ufunc    a universal function of NumPy, such as np.add
        method   "__call__"; or the name of the method of `ufunc` that was called: "reduce"
        inputs   Traced arrays, arrays and numbers
        out      None; or a tuple with the one array into which the result is to be written
        returns  the result, a new Traced array. With `out`, that array: its `.node` becomes
                 the Node of the result, cast to its dtype by `.astype(dtype)`. No other array
                 changes

        NotTraceable, with the word "view", if the array in `out` is a view, and with the words
        "not traced" if it is not Traced.

        >>> a = Traced(Node(None, example=np.ones(2)))
        >>> b = np.exp(a) * 2
        >>> b.node.name, b.node.inputs[0].name, b.node.inputs[1]
        ('mul', 'exp', 2)

        Source: NumPy Enhancement Proposal 13, A mechanism for overriding ufuncs (2017).
        """
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

    f        gets a Tensor for each array of floats, and an ndarray for each array of ints;
             returns a Tensor, or a list of Tensors and arrays
    arrays   examples of its arguments, ndarrays: their shapes and dtypes count, and of arrays
             of ints the numbers, by which they are recognized
    weights  list of Tensors that f uses: more arguments of the program, after `arrays`
    returns  Program; NotTraceable, a TypeError that names the line, where a step depends on a
             number
    """
    return Program(*recorded(f, arrays, weights, Traced))


def straight(program):
    """The text of a Python function `program`, with one line for each step.

    returns  (text, {name: object}): the operations and constants that the text uses, by name

    The lines are `t0 = add(a0, a1)`, with options `t0 = sum(a0, axis=1)`; `del t0` or `del t0,
    t1` right after the last step that reads these results, unless they are outputs; and at the
    end `return [t5, t3]`.

    >>> a = Node(None, example=np.ones(2))
    >>> text, objects = straight(Program([a], [step(np.exp, step(np.add, a, 1))]))
    >>> print(text)
    def program(a0):
        t0 = add(a0, 1)
        t1 = exp(t0)
        del t0
        return [t1]
    >>> objects == {"add": np.add, "exp": np.exp}
    True

    Source: Aho, Lam, Sethi, Ullman, Compilers, section 8.4 (next use and liveness).
    """
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
    """A new program, in which rule(node) takes the place of each step.

    program  Program; neither it nor its Nodes are changed
    rule     a function of a step, a new Node whose inputs have been replaced already; returns
             what takes its place: this Node, another one, or a constant. It is called once for
             each step, in order
    returns  Program with the same arguments, and the outputs replaced, too

    >>> a = Node(None, example=np.ones(2))
    >>> program = Program([a], [step(np.exp, step(np.log, a))])
    >>> rewrite(program, lambda node: a if node.op is np.log else node)
    program a: float64[2]
        b = exp(a)                                            float64[2]
        return b

    Source: Lattner, Adve, LLVM (2004), passes.
    """
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
    """A rule for `rewrite`: x for a step that returns its input `x` unchanged, else the step.

    These are np.multiply by a constant that is 1 everywhere, np.add of one that is 0
    everywhere, on either side; np.reshape; and np.swapaxes of np.swapaxes with equal options.
    Only if `x` is a Node with the shape and dtype of the step.

    >>> a = Node(None, example=np.ones(2))
    >>> simplify(step(np.multiply, a, 1)) is a, simplify(step(np.add, a, 1)) is a
    (True, False)

    Source: Aho, Lam, Sethi, Ullman, Compilers, section 8.5.4 (algebraic identities).
    """
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
    """A new program in which, of equal steps, only the first is computed.

    >>> a = Node(None, example=np.ones(2))
    >>> program = Program([a], [step(np.multiply, step(np.exp, a), step(np.exp, a))])
    >>> share(program)
    program a: float64[2]
        b = exp(a)                                            float64[2]
        c = mul(b, b)                                         float64[2]
        return c

    Source: Cocke, Global common subexpression elimination (1970).
    """
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

    Inputs and outputs are the same if they are the same argument or step of their program,
    counted from 0, or equal constants by `key_of`. Examples do not count.

    >>> def program(number):
    ...     a = Node(None, example=np.random.default_rng().normal(size=2))
    ...     return Program([a], [step(np.add, a, number)])
    >>> same(program(1.5), program(1.5)), same(program(1.5), program(2.5))
    (True, False)
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

    x        a Tensor, an ndarray, or another argument that can be a key of a dict
    returns  of a Tensor or array its shape and dtype; of anything else its type and value.
             Something that can be a key of a dict

    >>> signature(np.zeros(2)) == signature(np.ones(2)), signature(1) == signature(True)
    (True, False)
    """
    x = x.data if isinstance(x, Tensor) else x
    return (x.shape, x.dtype.str) if isinstance(x, np.ndarray) else (type(x), x)


class Compiled(CompiledMethods):
    """A function that is traced when it is called with a new signature, and then runs as a
    program; made by `compile`.

    .programs                  {key: operation}
    .weights, .others          lists of Tensors: of the model; others, without gradients
    state(), build(arguments)  the state of the model, a key; a new operation
    """

    functions = globals()  # `build` calls trace, same and optimized

    def __call__(self, *arguments):
        """The result of f(*arguments), a Tensor. If there is a model, `backward` gives its
        weights their gradients.

        A new program is built only if `self.programs` has none for these arguments. Its key
        consists of `self.state()` and the signatures of the arguments.
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
    """A compiled version of a function.

    f        a function of Tensors, arrays of ints and constants that returns a Tensor
    model    the Module whose weights f uses: they are arguments of the programs, and get
             gradients if f returns one number, a loss. Without it, all Tensors that f uses are
             constants; if f is a Module itself, its weights are arguments without gradients
    backend  "numpy", or "c": loops in C where possible (a warning without a C compiler)
    returns  Compiled: called like f; NotTraceable if the steps of f depend on numbers
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend is {backend!r}; there are {' and '.join(BACKENDS)}")
    return Compiled(f, model, BACKENDS[backend])


def bytes_moved(program, groups):
    """The bytes that the loops of all groups read and write.

    groups   {Node: list of the Nodes of its group}, for each step; the Nodes of a group have
             the same list
    returns  int. A group reads each array that comes from outside of it once, and writes each
             result that another group needs or that is an output. An array has
             `node.example.nbytes` bytes. Constants cost nothing, nor does a group whose first
             step is in VIEWS

    >>> a = Node(None, example=np.ones(4, "float32"))
    >>> program = Program([a], [step(np.exp, step(np.multiply, a, a))])
    >>> bytes_moved(program, {node: [node] for node in program.nodes})
    64
    >>> bytes_moved(program, dict.fromkeys(program.nodes, program.nodes))
    32

    Source: Williams, Waterman, Patterson, Roofline (2009).
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
    """The level of each step.

    returns  {Node: int}. A step has the smallest level that is at least the level of each step
             among its inputs, plus 1 where it waits for that input; 0 without such inputs.
             Arguments have no level

    >>> a = Node(None, example=np.ones((2, 3)))
    >>> total = step(np.add.reduce, step(np.exp, a), axis=1)
    >>> list(levels(Program([a], [step(np.log, total)])).values())
    [0, 0, 1]
    """
    level = {}
    for node in program.nodes:
        steps = [x for x in only_nodes(node.inputs) if x in level]
        level[node] = max((level[x] + waits(x, node) for x in steps), default=0)
    return level


def groups(program):
    """The group of each step.

    returns  {Node: list of the Nodes of its group}. A step and its input are in one group if
             the step joins the input and both have the same level; groups that share a step
             are one. All Nodes of a group have the same list, an object

    >>> a = Node(None, example=np.ones((2, 3)))
    >>> b = step(np.exp, a)
    >>> c = step(np.divide, b, step(np.add.reduce, b, axis=1, keepdims=True))
    >>> [len(group) for group in groups(Program([a], [c])).values()]
    [2, 2, 1]

    Source: Chen et al., TVM (2018), section 3 (operator fusion).
    """
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
    """How a step reads the memory of its input, if it needs no copy.

    node     a step whose first input is a Node `x`; its options are `axes` (np.transpose),
             `axis1` and `axis2` (np.swapaxes), or `shape` (np.broadcast_to and np.reshape)
    strides  of `x`, a tuple, counted in elements
    returns  the strides of the result, a tuple, if the step is a view of `x`; None if it is
             not. np.reshape is a view if `x` lies in memory in row-major order: if its strides
             are strides_of(x.shape)

    >>> x = Node(None, example=np.ones((2, 3)))
    >>> view_strides(step(np.swapaxes, x, axis1=0, axis2=1), (3, 1))
    (1, 3)
    >>> view_strides(step(np.broadcast_to, x, shape=(4, 2, 3)), (3, 1))
    (0, 3, 1)

    Source: Van der Walt, Colbert, Varoquaux, The NumPy array (2011).
    """
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


def layout_of(program):
    """The Layout of a program.

    .order   list of the groups (lists of Nodes), each after the groups that it needs
    .array   {Node: the Node whose memory it uses}: itself, or of a view the Node behind it
    .stored  list of the Nodes whose results must be kept in memory, because another group reads
             them. Arguments, and results that are written into an output, are not in it
    """
    return Layout(program, groups(program), levels(program), view_strides)


def arena(program):
    """A place for each result of a program that must be stored, in one block of memory.

    returns  ({Node: offset in bytes}, the bytes of the block), for each Node in
             layout_of(program).stored. An array has 4 bytes for each element, and is alive from
             the number of its group in `layout.order` to the number of the last group that
             reads it or a view of it; to len(layout.order) if it, or a view of it, is an output

    >>> a = Node(None, example=np.ones((2, 2), "float32"))
    >>> b = step(np.matmul, a, a)
    >>> offsets, size = arena(Program([a], [step(np.matmul, b, b)]))
    >>> list(offsets.values()), size
    ([0], 16)
    """
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

        group    list of Nodes, each after those that it needs
        returns  list of lines: for each reduction the loops that set its totals to
                 START[node.op]; then, in one nest of loops over the common `loop_shape`, in
                 order: for an elementwise step a line that defines its variable, and, if the
                 step is in `self.stored`, a line that stores it; for a reduction the line that
                 combines its total with the element, by np.maximum for np.maximum.reduce and
                 by np.add for others

        >>> a = Node(None, example=np.ones((2, 3), "float32"))
        >>> total = step(np.add.reduce, step(np.exp, a), axis=1)
        >>> print(Loops(Program([a], [total]), PYTHON).source())
        def program(a0, o0, m):
            for i0 in range(2):
                o0[i0] = 0.0
            for i0 in range(2):
                for i1 in range(3):
                    v0 = exp(a0[i0 * 3 + i1])
                    o0[i0] = o0[i0] + v0
        <BLANKLINE>

        Source: Chen et al., TVM (2018), section 4.
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
