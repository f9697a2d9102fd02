"""Small changes of a program: another operator, a constant, a comparison, a dropped statement,
swapped arguments, a missing transpose, axis or copy. One place changes, the rest keeps its text.
"""

import ast
from collections.abc import Iterator
from itertools import accumulate

Node = ast.stmt | ast.expr | ast.keyword | ast.arg  # those that have a place in the text
SWAPPED: dict[type[ast.AST], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.Pow: "*",
    ast.FloorDiv: "/",
    ast.Mod: "*",
    ast.MatMult: "*",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.And: "or",
    ast.Or: "and",
    ast.BitAnd: "|",
    ast.BitOr: "&",
}
NOT_COMMUTATIVE: dict[type[ast.AST], str] = {
    ast.Sub: "-",
    ast.Div: "/",
    ast.MatMult: "@",
    ast.Pow: "**",
}
PASSED_OVER = {  # x.T -> x, x.copy() -> x
    "T",
    "copy",
    "astype",
    "transpose",
    "swapaxes",
    "sum",
    "mean",
    "max",
    "reshape",
    "exp",
    "log",
    "sqrt",
}
SCOPES = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda


# (first byte of a place in the cell, first byte after it, new text of the place)
Change = tuple[int, int, str]


class CellText:
    """The text of a cell by its bytes: the columns of an AST node count bytes."""

    def __init__(self, source: str) -> None:
        self.raw = source.encode()
        lengths = (len(line) + 1 for line in self.raw.split(b"\n"))
        self.starts = list(accumulate(lengths, initial=0))

    def span(self, node: Node) -> tuple[int, int]:
        """The first byte of a node, and the first one after it."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def between(self, left: Node, right: Node) -> tuple[int, int]:
        """The place between two nodes, where an operator is."""
        return self.span(left)[1], self.span(right)[0]

    def of(self, node: Node) -> str:
        start, end = self.span(node)
        return self.raw[start:end].decode()

    def replaced(self, start: int, end: int, text: str) -> str:
        return (self.raw[:start] + text.encode() + self.raw[end:]).decode()


def changes(node: Node, text: CellText) -> Iterator[Change]:
    """The ways to change one node."""
    start, end = text.span(node)
    for replacement in replacements(node, text):
        yield (start, end, replacement) if isinstance(replacement, str) else replacement


def replacements(node: Node, text: CellText) -> Iterator[str | Change]:
    """The ways to change one node: new texts of the whole node, or Changes of a part of it."""
    match node:
        case ast.BinOp():
            yield from change_operator(node, text)
        case ast.Compare():
            yield from change_comparison(node, text)
        case ast.BoolOp():
            operator = f" {SWAPPED[type(node.op)]} "
            yield operator.join(f"({text.of(value)})" for value in node.values)
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield f"({text.of(node.operand)})"
        case ast.Constant():
            yield from change_constant(node.value)
        case ast.Call():
            yield from change_call(node, text)
        case ast.Attribute(attr="T"):
            yield f"({text.of(node.value)})"
        case ast.Return(value=None | ast.Constant(value=None)):
            pass  # it returns None already
        case ast.Return():
            yield "return None"
        case ast.AugAssign():
            yield "pass"
            yield f"{text.of(node.target)} = {text.of(node.value)}"
        case ast.Assign(targets=[ast.Name(), *_]):
            pass  # without it, the name would not exist
        case ast.Expr() | ast.Raise() | ast.Delete() | ast.Assign() | ast.Break() | ast.Continue():
            yield "pass"
        case ast.If() | ast.IfExp() | ast.While():
            yield *text.span(node.test), f"(not ({text.of(node.test)}))"


def change_operator(node: ast.BinOp, text: CellText) -> Iterator[str]:
    """Another operator, swapped operands, and one operand alone."""
    if type(node.op) not in SWAPPED:
        return
    left, right = text.of(node.left), text.of(node.right)
    yield f"({left}) {SWAPPED[type(node.op)]} ({right})"
    if symbol := NOT_COMMUTATIVE.get(type(node.op)):
        yield f"(({right}) {symbol} ({left}))"
    yield f"({left})"
    yield f"({right})"


def change_comparison(node: ast.Compare, text: CellText) -> Iterator[str | Change]:
    """Another comparison."""
    operator = SWAPPED.get(type(node.ops[0]))
    if not operator:
        return
    left, right = node.left, node.comparators[0]
    start, end = text.between(left, right)
    if set(b"()").isdisjoint(text.raw[start:end]):
        yield start, end, f" {operator} "
    else:  # there is a bracket, which must stay
        yield f"({text.of(left)}) {operator} ({text.of(right)})"


def change_constant(value: object) -> Iterator[str]:
    """The other truth value, or numbers near this one."""
    if isinstance(value, bool):
        yield str(not value)
    elif isinstance(value, int | float):
        yield repr(value + 1)
        yield repr(value - 1) if value >= 1 else f"({value - 1!r})"
        if value not in (0, 1):
            yield repr(value * 2)


def change_call(node: ast.Call, text: CellText) -> Iterator[str | Change]:
    """Swapped arguments, a missing keyword, and a missing method."""
    if len(node.args) >= 2 and not any(isinstance(a, ast.Starred) for a in node.args[:2]):
        first, second = node.args[:2]
        start, end = text.span(first)[0], text.span(second)[1]
        yield start, end, f"{text.of(second)}, {text.of(first)}"
    for keyword in node.keywords:
        others: list[Node] = [
            *node.args,
            *(other for other in node.keywords if other is not keyword),
        ]
        yield f"{text.of(node.func)}({', '.join(map(text.of, others))})"
    if isinstance(node.func, ast.Attribute) and node.func.attr in PASSED_OVER:
        yield f"({text.of(node.func.value)})"


# {name that a function gives a value: (whether it is an option, the first line and column)}
Names = dict[str, tuple[bool, int, int]]


def variables(function: ast.FunctionDef) -> Names:
    inner = {part for n in ast.walk(function) if isinstance(n, SCOPES) for part in ast.walk(n)}
    plain, options, names = function.args.args, {*function.args.kwonlyargs}, Names()
    options |= {*plain[len(plain) - len(function.args.defaults) :]}
    for n in ast.walk(function):
        if isinstance(n, ast.arg) or isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load):
            name = n.arg if isinstance(n, ast.arg) else n.id
            place = n in options, n.lineno, n.col_offset
            if name not in ("self", "_") and n not in inner:
                names[name] = min(place, names.get(name, place))
    return names


def more_changes(node: ast.AST, names: Names, text: CellText) -> Iterator[Change]:
    """Two more mistakes: a call that is left out, f(x) -> x; and the neighbour of a name among the
    function's variables that have a value there, or among its options.
    """
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        if not isinstance(node.args[0], ast.Starred | ast.GeneratorExp | ast.Constant):
            yield (*text.span(node), f"({text.of(node.args[0])})")
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        is_option, known = names[node.id][0], sorted(names, key=names.__getitem__)
        known = [n for n in known if names[n] < (is_option, node.lineno) or n == node.id]
        known = [n for n in known if names[n][0] == is_option]
        at = known.index(node.id)
        for name in (*known[max(0, at - 1) : at], *known[at + 1 : at + 2]):
            yield (*text.span(node), name)
