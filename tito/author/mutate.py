"""Small wrong versions of a solution, made systematically: what a check
worth its points should notice.

Each mutation changes one place inside one solution: an operator, a constant, a comparison, a
dropped statement, swapped arguments, a missing transpose, axis or copy. The rest of the cell keeps
its text.
"""

import ast
from dataclasses import dataclass

from tito.lesson import cells
from tito.lesson.lesson_format import MARK

SWAPPED = {
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
PASSED_OVER = {
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
}  # x.T -> x, x.copy() -> x


@dataclass
class Mutation:
    """One wrong version: `was` on line `line` of the lesson became `now`; `text`
    is the whole lesson with it.
    """

    exercise: str
    line: int
    was: str
    now: str
    text: str

    @property
    def change(self):
        return f"`{self.was}` -> `{self.now}`"


def mutations(lesson):
    """Every Mutation of every solution of a lesson, in the order of the file."""
    mutants = []
    for exercise in lesson.exercises:
        cell = exercise.cell
        lines = cell.source.split("\n")
        marks = [n for n, line in enumerate(lines, 1) if MARK.match(line)]
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line.encode()) + 1)
        raw = cell.source.encode()

        def place(line, column, starts=starts):
            return starts[line - 1] + column

        seen = set()
        for node in ast.walk(cells.tree_of(cell.source)):
            if not (
                hasattr(node, "lineno") and marks[0] < node.lineno and node.end_lineno < marks[-1]
            ):
                continue
            start, end = (
                place(node.lineno, node.col_offset),
                place(node.end_lineno, node.end_col_offset),
            )
            for first, last, now in changes(node, raw, place):
                first, last = (start, end) if first is None else (first, last)
                changed = (raw[:first] + now.encode() + raw[last:]).decode()
                if changed in seen or not _differs(cell.source, changed):
                    continue
                seen.add(changed)
                was = " ".join(raw[first:last].decode().split())
                mutants.append(
                    Mutation(
                        exercise.id,
                        cell.line + node.lineno - 1,
                        was,
                        " ".join(now.split()),
                        lesson.source.replaced(cell, changed),
                    )
                )
    return mutants


def _differs(before, after):
    """Whether the changed text is Python, and another program."""
    try:
        return ast.dump(cells.tree_of(after)) != ast.dump(cells.tree_of(before))
    except SyntaxError:
        return False


def changes(node, raw, place):
    """The ways to change one node: (first byte, last byte, new text), the
    bytes None for the whole node.
    """

    def text(part):
        return raw[
            place(part.lineno, part.col_offset) : place(part.end_lineno, part.end_col_offset)
        ].decode()

    def between(left, right, now):
        """Replace what stands between two operands, an operator."""
        return (
            place(left.end_lineno, left.end_col_offset),
            place(right.lineno, right.col_offset),
            f" {now} ",
        )

    if isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
        yield None, None, f"({text(node.left)}) {SWAPPED[type(node.op)]} ({text(node.right)})"
        if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow)):
            yield None, None, f"(({text(node.right)}) {_symbol(node.op)} ({text(node.left)}))"
        yield None, None, f"({text(node.left)})"
        yield None, None, f"({text(node.right)})"
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        yield (
            between(node.left, node.comparators[0], SWAPPED[type(node.ops[0])])
            if _bare(node, raw, place)
            else (
                None,
                None,
                f"({text(node.left)}) {SWAPPED[type(node.ops[0])]} ({text(node.comparators[0])})",
            )
        )
    elif isinstance(node, ast.BoolOp):
        yield (
            None,
            None,
            f" {SWAPPED[type(node.op)]} ".join(f"({text(value)})" for value in node.values),
        )
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield None, None, f"({text(node.operand)})"
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield None, None, str(not node.value)
        elif isinstance(node.value, (int, float)):
            yield None, None, repr(node.value + 1)
            yield None, None, repr(node.value - 1) if node.value >= 1 else f"({node.value - 1!r})"
            if node.value not in (0, 1):
                yield None, None, repr(node.value * 2)
    elif isinstance(node, ast.Call):
        if len(node.args) >= 2 and not any(isinstance(a, ast.Starred) for a in node.args[:2]):
            first, second = node.args[:2]
            yield (
                place(first.lineno, first.col_offset),
                place(second.end_lineno, second.end_col_offset),
                f"{text(second)}, {text(first)}",
            )
        for keyword in node.keywords:
            rest = [text(a) for a in node.args] + [
                text(k) for k in node.keywords if k is not keyword
            ]
            yield None, None, f"{text(node.func)}({', '.join(rest)})"
        if isinstance(node.func, ast.Attribute) and node.func.attr in PASSED_OVER:
            yield None, None, f"({text(node.func.value)})"
    elif isinstance(node, ast.Attribute) and node.attr == "T":
        yield None, None, f"({text(node.value)})"
    elif (
        isinstance(node, ast.Return)
        and node.value
        and not (isinstance(node.value, ast.Constant) and node.value.value is None)
    ):
        yield None, None, "return None"
    elif isinstance(node, ast.AugAssign):
        yield None, None, "pass"
        yield None, None, f"{text(node.target)} = {text(node.value)}"
    elif isinstance(node, (ast.Expr, ast.Raise, ast.Delete)):
        yield None, None, "pass"
    elif isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name):
        yield None, None, "pass"
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        test = node.test
        yield (
            place(test.lineno, test.col_offset),
            place(test.end_lineno, test.end_col_offset),
            f"(not ({text(test)}))",
        )
    elif isinstance(node, (ast.Break, ast.Continue)):
        yield None, None, "pass"


def _bare(node, raw, place):
    """Whether nothing but the operator stands between the two sides of a
    comparison: no bracket that must stay.
    """
    left, right = node.left, node.comparators[0]
    middle = raw[
        place(left.end_lineno, left.end_col_offset) : place(right.lineno, right.col_offset)
    ]
    return b"(" not in middle and b")" not in middle


def _symbol(operator):
    return {ast.Sub: "-", ast.Div: "/", ast.MatMult: "@", ast.Pow: "**"}[type(operator)]
