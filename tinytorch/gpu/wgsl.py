"""From a kernel in Python to WGSL, the language of WebGPU: all but the four methods of `Translator`
that the lesson on kernels writes.

Each expression becomes a pair (text, type), where the type is "f32", "i32" or "bool"; each
statement becomes a list of lines. A name gets a `_` at its end, because some are words of WGSL. The
shapes of arrays and all other numbers from outside are constants of the program.
"""

import ast
import inspect
import math
import textwrap

import numpy as np

from tinytorch.gpu.simulator import shared, three

TYPES = {"f": "f32", "i": "i32", "u": "u32", "b": "i32"}  # of NumPy's kinds of numbers
OPERATORS = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"},
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="},
    **{ast.And: "&&", ast.Or: "||", ast.USub: "-", ast.Not: "!"},
    **{ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"},
}
OF_FLOATS = {"exp", "log", "sqrt", "sin", "cos", "tanh", "floor", "ceil"}
OF_NUMBERS = {"max": 2, "min": 2, "abs": 1}  # and how many arguments they take
# WGSL rounds quotients toward zero, Python rounds them down.
DIVISION = {
    "floor_div": "fn floor_div(a: i32, b: i32) -> i32 {\n"
    "    return a / b - select(0, 1, a % b != 0 && (a < 0) != (b < 0));\n}",
    "floor_mod": "fn floor_mod(a: i32, b: i32) -> i32 {\n    return (a % b + b) % b;\n}",
}


class CompileError(Exception):
    """A kernel uses something of Python that has no counterpart in WGSL."""


class Translator(ast.NodeVisitor):
    """Translates one kernel, for arguments of given shapes and dtypes.

    A subclass defines

    promote(parts)         (texts, type) of a list of (text, type): all of one type
    address(index, shape)  the place of an element in memory, as a text
    compare(node)          (text, type) of an `ast.Compare`, such as 0 <= i < n
    select(node)           (text, type) of an `ast.IfExp`, such as a[i] if i < n else 0.0
    """

    def __init__(self, kernel, arguments):
        self.kernel = kernel
        self.function, self.first_line = parse(kernel)
        outside = inspect.getclosurevars(kernel)
        self.constants = {**outside.builtins, **outside.globals, **outside.nonlocals}
        self.arrays, self.tiles, self.locals, self.lists = {}, {}, {}, {}
        parameters = list(inspect.signature(kernel).parameters.values())
        self.block, self.thread = (p.name for p in parameters[:2])
        given = iter(arguments)
        for p in parameters[2:]:
            if isinstance(p.default, shared):
                self.tiles[p.name] = p.default.shape, TYPES[np.dtype(p.default.dtype).kind]
                continue
            x = next(given, p.default)
            if hasattr(x, "shape") and hasattr(x, "dtype"):
                self.arrays[p.name] = tuple(x.shape), TYPES[np.dtype(x.dtype).kind]
            else:
                self.constants[p.name] = x
        self.memories = {**self.arrays, **self.tiles}
        self.written = {
            n.value.id
            for n in ast.walk(self.function)
            if isinstance(n, ast.Subscript)
            and isinstance(n.ctx, ast.Store)
            and isinstance(n.value, ast.Name)
        }

    def error(self, node, what):
        """A CompileError for a part of the kernel."""
        line = self.first_line + node.lineno - 1
        return CompileError(f"{what} (line {line} of {self.kernel.__name__})")

    def translate(self, node):
        """(text, type) of an expression."""
        return self.visit(node)

    def sign(self, op, node):
        """How WGSL writes an operator."""
        if type(op) not in OPERATORS:
            raise self.error(node, f"{type(op).__name__} has no counterpart in WGSL")
        return OPERATORS[type(op)]

    def generic_visit(self, node):
        raise self.error(node, f"{type(node).__name__} has no counterpart in WGSL")

    # expressions

    def visit_Constant(self, node):
        return self.constant(node.value, node)

    def constant(self, value, node):
        if isinstance(value, bool):
            return str(value).lower(), "bool"
        if isinstance(value, (int, np.integer)):
            return str(int(value)), "i32"
        if isinstance(value, (float, np.floating)) and math.isfinite(value):
            return f"f32({float(value)!r})", "f32"
        cause = ": begin with a number such as -1e30" if isinstance(value, float) else ""
        raise self.error(node, f"{value!r:.40} has no counterpart in WGSL{cause}")

    def visit_Name(self, node):
        if node.id in self.locals:
            return node.id + "_", self.locals[node.id]
        if node.id in self.constants:
            return self.constant(self.constants[node.id], node)
        if node.id in self.memories or node.id in self.lists:
            raise self.error(node, f"write single elements of {node.id}, such as {node.id}[0]")
        raise self.error(node, f"{node.id} has no value yet")

    def visit_Attribute(self, node):
        name, of = node.attr, getattr(node.value, "id", None)
        if of in (self.block, self.thread) and name in ("x", "y", "z"):
            return f"i32({'block' if of == self.block else 'thread'}.{name})", "i32"
        if of == "math" and isinstance(getattr(math, name, None), float):
            return self.constant(getattr(math, name), node)
        raise self.error(node, f"{ast.unparse(node)} has no counterpart in WGSL")

    def visit_Subscript(self, node):
        of = getattr(node.value, "id", None)
        index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            shape, _ = self.memories[node.value.value.id]
            return str(shape[ast.literal_eval(node.slice)]), "i32"
        if of in self.lists:
            return f"{of}_[{self.address(index, (self.lists[of],))}]", "f32"
        if of not in self.memories:
            raise self.error(node, f"{ast.unparse(node.value)} is not an array")
        shape, kind = self.memories[of]
        if len(index) != len(shape):
            what = f"{of} has {len(shape)} axes, and {len(index)} indices are given"
            raise self.error(node, what)
        return f"{of}_[{self.address(index, shape)}]", kind

    def visit_BinOp(self, node):
        parts = [self.translate(node.left), self.translate(node.right)]
        if isinstance(node.op, (ast.Div, ast.Pow)):
            parts = [(floats(*part), "f32") for part in parts]
        (a, b), kind = self.promote(parts)
        if isinstance(node.op, ast.Pow):
            return f"pow({a}, {b})", kind
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            return self.divide(a, b, kind, isinstance(node.op, ast.Mod))
        return f"({a} {self.sign(node.op, node)} {b})", kind

    def divide(self, a, b, kind, remainder):
        if kind == "i32":
            return f"{'floor_mod' if remainder else 'floor_div'}({a}, {b})", kind
        return f"({a} - {b} * floor({a} / {b}))" if remainder else f"floor({a} / {b})", kind

    def visit_UnaryOp(self, node):
        text, kind = self.translate(node.operand)
        return f"{self.sign(node.op, node)}({text})", kind

    def visit_Compare(self, node):
        return self.compare(node)

    def visit_IfExp(self, node):
        return self.select(node)

    def visit_BoolOp(self, node):
        return f"({f' {self.sign(node.op, node)} '.join(map(self.condition, node.values))})", "bool"

    def condition(self, node):
        """The text of an expression that is true or false."""
        text, kind = self.translate(node)
        if kind != "bool":
            raise self.error(node, f"write a comparison, such as {ast.unparse(node)} != 0")
        return text

    def visit_Call(self, node):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) != "math":
            raise self.error(node, f"{ast.unparse(node.func)}() has no counterpart in WGSL")
        parts = [self.translate(a) for a in node.args]
        if name in ("int", "float"):
            kind = {"int": "i32", "float": "f32"}[name]
            return f"{kind}({parts[0][0]})", kind
        if name in OF_FLOATS:
            return f"{name}({floats(*parts[0])})", "f32"
        if OF_NUMBERS.get(name) != len(parts):
            known = f": it takes {OF_NUMBERS[name]} arguments here" if name in OF_NUMBERS else ""
            raise self.error(node, f"{name}() has no counterpart in WGSL{known}")
        texts, kind = self.promote(parts)
        return f"{name}({', '.join(texts)})", kind

    # statements

    def body(self, statements):
        return ["    " + line for s in statements for line in self.visit(s)]

    def store(self, target, text, kind):
        """The lines of an assignment. A new name becomes a local variable of this type."""
        if isinstance(target, ast.Name):
            known = self.locals.setdefault(target.id, kind)
            if known == "i32" and kind == "f32":
                what = (
                    f"{target.id} was an int and becomes a float: begin with a float, such as 0.0"
                )
                raise self.error(target, what)
            place = target.id + "_"
        else:
            place, known = self.translate(target)
        return [f"{place} = {text if known == kind else f'{known}({text})'};"]

    def visit_Assign(self, node):
        target, value = node.targets[0], node.value
        if isinstance(value, ast.BinOp) and isinstance(value.left, ast.List):
            text, _ = self.translate(value.right)
            if not text.isdecimal() or ast.unparse(value.left) not in ("[0.0]", "[0]"):
                raise self.error(node, "a list is written [0.0] * n, where n is a constant")
            self.lists[target.id] = int(text)
            return [f"{target.id}_ = array<f32, {text}>();"]
        if not isinstance(target, ast.Tuple):
            return self.store(target, *self.translate(value))
        if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
            raise self.error(node, "assign one after the other")
        names = {t.id for t in target.elts if isinstance(t, ast.Name)}
        later = [n for v in value.elts[1:] for n in ast.walk(v) if isinstance(n, ast.Name)]
        if names & {n.id for n in later}:
            raise self.error(node, "assign one after the other: the right side uses the left side")
        pairs = [(t, *self.translate(v)) for t, v in zip(target.elts, value.elts)]
        return [line for pair in pairs for line in self.store(*pair)]

    def visit_AugAssign(self, node):
        load = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        return self.store(node.target, *self.translate(load))

    def visit_If(self, node):
        lines = [f"if {self.condition(node.test)} {{", *self.body(node.body), "}"]
        return lines + (["else {", *self.body(node.orelse), "}"] if node.orelse else [])

    def visit_For(self, node):
        if not isinstance(node.iter, ast.Call) or ast.unparse(node.iter.func) != "range":
            raise self.error(node, "a loop on a GPU is `for ... in range(...)` or `while`")
        name, bounds = node.target.id + "_", [self.translate(a)[0] for a in node.iter.args]
        start, stop, step = ["0", *bounds, "1"] if len(bounds) == 1 else [*bounds, "1"][:3]
        self.locals[node.target.id] = "i32"
        sign = ">" if step.startswith("-") else "<"
        head = f"for ({name} = {start}; {name} {sign} {stop}; {name} += {step}) {{"
        return [head, *self.body(node.body), "}"]

    def visit_While(self, node):
        return [f"while {self.condition(node.test)} {{", *self.body(node.body), "}"]

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Yield):
            return ["workgroupBarrier();"]
        if isinstance(node.value, ast.Constant):
            return []  # a docstring
        raise self.error(node, f"{ast.unparse(node)} has no effect on a GPU")

    def visit_Return(self, node):
        return ["return;"]

    def visit_Break(self, node):
        return ["break;"]

    def visit_Continue(self, node):
        return ["continue;"]

    def visit_Pass(self, node):
        return []

    # the program

    def program(self, block):
        """The whole program as text, for blocks of this shape."""
        lines = self.body(self.function.body)
        head = []
        for n, (name, (_, kind)) in enumerate(self.arrays.items()):
            access = "read_write" if name in self.written else "read"
            head.append(f"@group(0) @binding({n}) var<storage, {access}> {name}_: array<{kind}>;")
        for name, (shape, kind) in self.tiles.items():
            head.append(f"var<workgroup> {name}_: array<{kind}, {math.prod(shape)}>;")
        text = "\n".join(lines)
        head += [code for name, code in DIVISION.items() if name + "(" in text]
        head += [
            f"@compute @workgroup_size{three(block)}",
            "fn main(@builtin(workgroup_id) block: vec3<u32>,",
            "        @builtin(local_invocation_id) thread: vec3<u32>) {",
        ]
        head += [f"    _ = {name}_[0];" for name in self.arrays if f"{name}_[" not in text]
        head += [f"    var {name}_: {kind};" for name, kind in self.locals.items()]
        head += [f"    var {name}_: array<f32, {n}>;" for name, n in self.lists.items()]
        return "\n".join([*head, *lines, "}"]) + "\n"


def floats(text, kind):
    """A text as an f32."""
    return text if kind == "f32" else f"f32({text})"


def parse(kernel):
    """A kernel as a tree, and the number of its first line."""
    try:
        lines, first = inspect.getsourcelines(kernel)
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except (OSError, SyntaxError, TypeError):
        tree, first = None, 0
    if not isinstance(tree, ast.FunctionDef):
        name = getattr(kernel, "__name__", kernel)
        raise CompileError(
            f"define {name} by `def` in a file or a notebook (line {first} of {name})"
        )
    return tree, max(first, 1)
