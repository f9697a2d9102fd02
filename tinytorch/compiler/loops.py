"""Loops: what writes a program as text in C or Python, and the C compiler.

The compilation lesson decides which steps share their loops and where their results are stored.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from tinytorch.support.forward import sum_forward
from tinytorch.support.tracing import Node, only_nodes, operation_name

# text of programs


def kind_of(x):
    """The dtype and shape of a Node or an array, such as float32[4,8]."""
    return "list" if x.shape is None else f"{x.dtype}[{','.join(map(str, x.shape))}]"


def letters(n):
    """The name of the array number n of a program.

    >>> letters(0), letters(25), letters(26)
    ('a', 'z', 'aa')
    """
    return ("" if n < 26 else letters(n // 26 - 1)) + chr(97 + n % 26)


class ProgramMethods:
    """How a program is printed: a line for each step, and what it returns."""

    def __repr__(self):
        nodes = [*self.arguments, *self.nodes]
        names = {node: letters(n) for n, node in enumerate(nodes)}

        def text(x):
            if isinstance(x, Node):
                return names.get(x, repr(x))
            if isinstance(x, np.ndarray):
                return f"{x.item():.6g}" if x.size == 1 else kind_of(x)
            if isinstance(x, tuple):
                return f"({', '.join(map(text, x))}{',' * (len(x) == 1)})"
            if isinstance(x, slice):
                return ":".join("" if n is None else str(n) for n in (x.start, x.stop))
            return f"{x:.6g}" if isinstance(x, float) else f"{x}"

        lines = ["program " + ", ".join(f"{text(a)}: {kind_of(a)}" for a in self.arguments)]
        for node in self.nodes:
            options = [f"{key}={text(value)}" for key, value in node.options.items()]
            call = f"{node.name}({', '.join([*map(text, node.inputs), *options])})"
            lines.append(f"    {text(node)} = {call}".ljust(56) + f"  {kind_of(node)}")
        return "\n".join([*lines, "    return " + ", ".join(map(text, self.outputs))])


def function_of(source, objects):
    """The function `program` that a source text defines, which uses these objects."""
    scope = dict(objects)
    exec(source, scope)
    return scope["program"]


def written(x, objects):
    """How a constant or an operation is written in a source text. All but plain numbers gets a
    name, under which it is put into the dict `objects`.

    >>> written(2.5, {}), written((0, 1), {})
    ('2.5', '(0, 1)')
    """
    simple = (bool, int, str, type(None))
    if type(x) in simple or type(x) is float and math.isfinite(x):
        return repr(x)
    if type(x) is tuple and all(type(part) in simple for part in x):
        return repr(x)
    name = operation_name(x) if callable(x) else "constant"
    name = name if name.isidentifier() else "op"
    for n in itertools.count():
        numbered = f"{name}_{n}" if n else name
        if objects.setdefault(numbered, x) is x or callable(x) and objects[numbered] == x:
            return numbered


# loops

INFIX = {
    np.add: "{} + {}",
    np.subtract: "{} - {}",
    np.multiply: "{} * {}",
    np.divide: "{} / {}",
    np.negative: "-{}",
    np.greater: "{} > {}",
    np.less: "{} < {}",
    np.equal: "{} == {}",
    np.not_equal: "{} != {}",
    np.less_equal: "{} <= {}",
    np.greater_equal: "{} >= {}",
    np.square: "{0} * {0}",
}


@dataclass(frozen=True)
class Language:
    """How loops and operations are written.

    loop, end, indent  a loop's first line, with {} for variable and length; its last lines; its
                       indentation
    formulas           {operation: text with {} for its inputs}
    """

    name: str
    loop: str
    end: tuple
    indent: str
    formulas: dict
    infinity: str
    number: str
    local: str
    stop: str


C = Language(
    "C",
    "for (int {0} = 0; {0} < {1}; {0}++) {{",
    ("}",),
    "    ",
    INFIX
    | {
        np.exp: "exp_({})",
        np.log: "logf({})",
        np.sqrt: "sqrtf({})",
        np.tanh: "tanh_({})",
        np.sin: "sinf({})",
        np.cos: "cosf({})",
        np.absolute: "fabsf({})",
        np.maximum: "({0} > {1} ? {0} : {1})",
        np.minimum: "({0} < {1} ? {0} : {1})",
        np.where: "({} ? {} : {})",
    },
    "INFINITY",
    "{}f",
    "float ",
    ";",
)
PYTHON = Language(
    "Python",
    "for {0} in range({1}):",
    (),
    "    ",
    INFIX
    | {
        np.exp: "exp({})",
        np.log: "log({})",
        np.sqrt: "sqrt({})",
        np.tanh: "tanh({})",
        np.sin: "sin({})",
        np.cos: "cos({})",
        np.absolute: "abs({})",
        np.maximum: "max({}, {})",
        np.minimum: "min({}, {})",
        np.where: "({1} if {0} else {2})",
    },
    "inf",
    "{}",
    "",
    "",
)


# exp and tanh in plain arithmetic, which `cc -O3` computes for many numbers at a time; the C
# library's expf is called for one number. Not -ffast-math: it breaks inf and nan
OWN_H = """\
#include <math.h>
#include <string.h>
static inline float exp_(float x) {
    float y = x > 88.7f ? 88.7f : x;
    y = y < -87.3f ? -87.3f : y;
    float n = rintf(y * 1.44269504f), r = y - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.0f + r * (1.0f + r * (0.5f + r * (0.166666657f + r * (0.0416669339f
              + r * (0.00833345205f + r * 0.00138888897f)))));
    int half = (int)n / 2, rest = (int)n - half, a = (half + 127) << 23, b = (rest + 127) << 23;
    float s, t;
    memcpy(&s, &a, 4);
    memcpy(&t, &b, 4);
    p = p * s * t;
    p = x > 88.73f ? INFINITY : p;
    return x < -87.3f ? 0.0f : p;
}
static inline float tanh_(float x) { return 1.0f - 2.0f / (exp_(2.0f * x) + 1.0f); }
"""

# what the loops in Python call; on NumPy's numbers, so that 1 / 0 is infinite, as in C
PYTHON_SCOPE = {"inf": math.inf, "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh}
PYTHON_SCOPE |= {"sin": np.sin, "cos": np.cos}


# which steps can share loops

# {reduction: the first value of its totals}
START = {np.add.reduce: 0.0, sum_forward: 0.0, np.maximum.reduce: -math.inf}
VIEWS = {np.reshape, np.swapaxes, np.transpose, np.broadcast_to}


def is_elementwise(node):
    """Whether each element of the result needs one element of each input."""
    return node.op is np.where or isinstance(node.op, np.ufunc) and node.op.signature is None


def loop_shape(node):
    """The shape over which a step loops; None if it is neither elementwise nor in START."""
    if is_elementwise(node):
        return node.shape
    return node.inputs[0].shape if node.op in START else None


def joins(x, node):
    """Whether `node` can be computed in the loops of its input `x`."""
    return is_elementwise(x) and loop_shape(x) == loop_shape(node)


def waits(x, node):
    """Whether the loops of `node` can begin only when the loops of its input `x` have ended. A
    view has no loops."""
    return not joins(x, node) and x.op not in VIEWS


def same_array(x, node):
    """Whether `x` is a Node, of the shape and dtype of `node`."""
    return isinstance(x, Node) and x.shape == node.shape and x.dtype == node.dtype


# where results are


class Layout:
    """Where the results of a program are, and in which order its groups run.

    groups, levels, strides  what the lesson's functions of these names return or are; `strides`
                             is `view_strides`

    .order     list of the groups, each after those that it needs
    .array     {Node: the Node whose memory it uses}: itself, or of a view the Node behind it
    .strides   {Node: its strides in that memory}
    .returned  {Node: the number of the output into which its result is written}
    .stored    list of the other Nodes whose results must be kept in memory, because another group
               reads them, or a view of them
    """

    def __init__(self, program, groups, levels, strides):
        self.program = program
        lists = {id(group): group for group in groups.values()}.values()
        self.order = sorted(
            (sorted(group, key=lambda node: node.created) for group in lists),
            key=lambda g: (levels[g[0]], g[0].op not in VIEWS, g[0].created),
        )
        self.array, self.strides = {}, {}
        for node in [*program.arguments, *program.nodes]:
            if node.shape is None:
                raise NotImplementedError(f"there are no loops for the step {node.name}")
            x = node.inputs[0] if node.inputs else None
            seen = strides(node, self.strides[x]) if isinstance(x, Node) else None
            self.array[node] = node if seen is None else self.array[x]
            self.strides[node] = row_major(node.shape) if seen is None else tuple(seen)
        self.returned, outputs = {}, only_nodes(program.outputs)
        for n, x in enumerate(program.outputs):
            if x in outputs and x.op and self.array[x] is x and not is_fill(x):
                self.returned.setdefault(x, n)
        read = [
            x
            for node in program.nodes
            for x in only_nodes(node.inputs)
            if groups.get(x) is not groups[node]
        ]
        arrays = dict.fromkeys(self.array[x] for x in [*read, *outputs])
        self.stored = [x for x in arrays if x.op and x not in self.returned and not is_fill(x)]


def row_major(shape):
    """The strides of a new array, counted in elements.

    >>> row_major((2, 3))
    (3, 1)
    """
    return tuple([math.prod(shape[a + 1 :]) for a in range(len(shape))])


class LoopMethods:
    """What writes the text of loops, but for the loops of a group, which the lesson writes.

    .stored  the set of the Nodes whose results are needed in other loops, or returned
    """

    def __init__(self, layout, offsets, size, language):
        self.program, self.language, self.size = layout.program, language, size
        self.order, self.array, self.strides = layout.order, layout.array, layout.strides
        self.memory = {a: (f"a{n}", 0) for n, a in enumerate(self.program.arguments)}
        self.memory |= {x: ("m", offset // 4) for x, offset in offsets.items()}
        self.memory |= {x: (f"o{n}", 0) for x, n in layout.returned.items()}
        self.stored = {*layout.stored, *layout.returned}
        self.names = {}

    def index(self, strides, names=None):
        """The place of an element: the sum of its indices times these strides, as text."""
        names = names or [f"i{a}" for a in range(len(strides))]
        terms = [i if s == 1 else f"{i} * {s}" for i, s in zip(names, strides) if s]
        return " + ".join(terms) or "0"

    def element(self, node, index):
        """An element of the array in which the results of `node` are stored, as text."""
        name, offset = self.memory[self.array[node]]
        if offset:
            index = f"{offset}" if index == "0" else f"{offset} + {index}"
        return f"{name}[{index}]"

    def local(self, node):
        """The variable of a step, inside of its loops."""
        return f"v{self.names.setdefault(node, len(self.names))}"

    def number(self, x):
        if np.size(x) != 1:
            raise NotImplementedError("there are no loops that read an array of constants")
        x = float(np.asarray(x).item())
        if math.isinf(x):
            return ("-" if x < 0 else "") + self.language.infinity
        return self.language.number.format(x) if x >= 0 else f"({self.language.number.format(x)})"

    def read(self, x, shape, group=()):
        """The element of `x` in loops over `shape`, as text: a number, the variable of a step of
        this group, or an element of memory, by the strides of `x` and the rules of broadcasting."""
        if isinstance(x, Node) and is_fill(x):
            x = x.inputs[0]
        if not isinstance(x, Node):
            return self.number(x)
        if x in group:
            return self.local(x)
        strides = [s * (n > 1) for s, n in zip(self.strides[x], x.shape)]
        names = [f"i{a}" for a in range(len(shape) - len(strides), len(shape))]
        return self.element(x, self.index(strides, names))

    def formula(self, op, *values):
        """The result of an elementwise operation, as text."""
        text = self.language.formulas[op].format(*values)
        return text if text.endswith(")") and text[0] not in "-" else f"({text})"

    def assign(self, target, value):
        """The line `target = value`."""
        value = value[1:-1] if value[0] == "(" and closes(value) else value
        return f"{target} = {value}{self.language.stop}"

    def define(self, node, value):
        """The line that gives the variable of a step its value."""
        return self.language.local + self.assign(self.local(node), value)

    def store(self, node):
        """The line that writes the variable of a step into memory."""
        return self.assign(self.element(node, self.index(self.strides[node])), self.local(node))

    def loops(self, shape, lines, axes=None):
        """`lines` inside a loop for each axis, or for each of `axes`, the first one outermost."""
        for a in reversed(range(len(shape)) if axes is None else axes):
            head = self.language.loop.format(f"i{a}", shape[a])
            lines = [head, *(self.language.indent + line for line in lines), *self.language.end]
        return lines

    def kept_axes(self, node):
        """The axes that a reduction keeps."""
        shape, axes = node.inputs[0].shape, node.options.get("axis", 0)
        axes = range(len(shape)) if axes is None else axes if isinstance(axes, tuple) else (axes,)
        return [a for a in range(len(shape)) if a not in {a % len(shape) for a in axes}]

    def total(self, node):
        """The element into which a reduction reduces the element at i0, i1, ..., as text."""
        kept = self.kept_axes(node)
        strides = row_major([node.inputs[0].shape[a] for a in kept])
        return self.element(node, self.index(strides, [f"i{a}" for a in kept]))

    def lines_of(self, group):
        """The lines for a group: its loops, a matrix product, a copy, or nothing for a view."""
        node = group[0]
        if self.array[node] is not node or is_fill(node):
            return []
        if node.op in (np.matmul, np.dot):
            return self.matmul(node)
        if node.op in (np.reshape, np.broadcast_to):
            shape = node.inputs[0].shape if node.op is np.reshape else node.shape
            place = self.element(node, self.index(row_major(shape)))
            return self.loops(shape, [self.assign(place, self.read(node.inputs[0], shape))])
        for member in group:
            if member.op not in self.language.formulas and member.op not in START:
                raise NotImplementedError(f"there are no loops for the step {member.name}")
        return self.nest(group)

    def matmul(self, node):
        """out[i, j] += a[i, k] * b[k, j], with k outside of j: rows of b and out are walked along
        memory."""
        a, b = node.inputs
        if len(a.shape) != 2 or len(b.shape) != 2:
            raise NotImplementedError("there are loops only for products of two matrices")
        (n, m), k = node.shape, a.shape[1]
        out = self.element(node, self.index((m, 1)))
        left = self.element(a, self.index(self.strides[a], ["i0", "i2"]))
        right = self.element(b, self.index(self.strides[b], ["i2", "i1"]))
        body = self.assign(out, f"{out} + {left} * {right}")
        zeros = self.loops((n, m), [self.assign(out, self.number(0.0))])
        return zeros + self.loops((n, m, k), [body], (0, 2, 1))

    def source(self):
        """The text of a function `program` of the arrays a0, a1, ..., which are read, and o0, o1,
        ..., which are written; all are flat."""
        lines = [line for group in self.order for line in self.lines_of(group)]
        for n, x in enumerate(self.program.outputs):
            if not isinstance(x, Node) or self.memory.get(self.array[x]) != (f"o{n}", 0):
                shape = np.shape(x.example if isinstance(x, Node) else x)
                place = f"o{n}[{self.index(row_major(shape))}]"
                lines += self.loops(shape, [self.assign(place, self.read(x, shape))])
        names = [f"a{n}" for n in range(len(self.program.arguments))]
        names += [f"o{n}" for n in range(len(self.program.outputs))]
        if self.language is PYTHON:
            head = f"def program({', '.join([*names, 'm'])}):"
            return "\n    ".join([head, *(lines or ["pass"])]) + "\n"
        head = f"void program({', '.join(f'float *restrict {name}' for name in names)}) {{"
        block = [f"static float m[{self.size // 4}];"] if self.size else []
        body = [self.language.indent + line for line in lines]
        return "\n".join([OWN_H, *block, head, *body, "}"]) + "\n"


def closes(text):
    """Whether the bracket at the start of a text closes at its end."""
    depth = 0
    for n, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return n == len(text) - 1
    return False


def is_fill(node):
    """Whether a step puts one constant into all places of an array."""
    return (
        node.op is np.broadcast_to
        and not isinstance(node.inputs[0], Node)
        and np.size(node.inputs[0]) == 1
    )


def shapes_of(parts):
    """The shapes of Nodes, arrays and numbers."""
    return [np.shape(x.example if isinstance(x, Node) else x) for x in parts]


def interpreted(program, loops, arrays):
    """What the loops in Python compute: a list of float32 arrays."""
    scope, shapes = dict(PYTHON_SCOPE), shapes_of(program.outputs)
    exec(loops.source(), scope)
    given = [list(np.ravel(x).astype("float64")) for x in arrays]
    out = [[math.nan] * math.prod(shape) for shape in shapes]  # as new memory, not set
    with np.errstate(all="ignore"):
        scope["program"](*given, *out, [math.nan] * (loops.size // 4))
    return [np.reshape(x, shape).astype("float32") for x, shape in zip(out, shapes)]
