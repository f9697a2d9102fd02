"""The statements of an exported module, compiled one by one, so that one that stops does not stop
the others. `tito test` and the jail run a lesson in this way; a plain `import` stops, as usual.
"""

import __future__

import ast
import builtins
import symtable
import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from types import CodeType

from tito.lesson import cells
from tito.lesson.checks import IMPORTS, globals_in

SECONDS = 2.0  # a statement may take, so that an import in each check stays short
MOST_ENDS = 4  # statements that may end the process in which they are imported, and are left out
# Its code, its line in the module, the names that it binds, and whether it is an import, which may
# take longer.
Statement = tuple[CodeType, int, list[str], bool]


def statements_of(text: str, file: str) -> list[Statement]:
    """The top-level statements of a module; `file` is what tracebacks call it.

    An import of several names counts as one for each name, since each may be missing alone.

    Raises SyntaxError, ValueError or RecursionError, as `compile` does.
    """
    statements: list[Statement] = []
    flags = 0
    for node in _divided(cells.tree_of(text).body):
        with cells.PARSING:
            code = compile(ast.Module([node], []), file, "exec", flags, dont_inherit=True)
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            flags |= getattr(__future__, node.names[0].name).compiler_flag
        is_import = isinstance(node, IMPORTS)
        statements.append((code, node.lineno, bound_by(node), is_import))
    return statements


def _divided(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for number, node in enumerate(body):
        if isinstance(node, IMPORTS):
            for alias in node.names:
                one = copy(node)
                one.names = [alias]
                yield ast.copy_location(one, alias)
        elif not (number and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            yield node  # a text further down would replace the module's docstring


def bound_by(node: ast.stmt) -> list[str]:
    """The names that a top-level statement binds."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, IMPORTS):
        return [(alias.asname or alias.name).split(".")[0] for alias in node.names]
    names = []
    for leaf in ast.walk(node):
        if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store):
            names.append(leaf.id)
        elif isinstance(leaf, (ast.FunctionDef, ast.ClassDef)):
            names.append(leaf.name)
    return names


def imports_elsewhere(
    source: cells.Source, imports: Sequence[ast.stmt], lines: Sequence[str]
) -> Iterator[tuple[ast.Import | ast.ImportFrom, tuple[cells.Cell, int]]]:
    """Imports in cells that are not exported, of names that the exported code uses and lacks: an
    editor that sorts the imports of a script moves them there. Each with its cell and line.

    imports  of the exported cells
    lines    of the exported cells without these
    """
    with cells.PARSING, warnings.catch_warnings(action="ignore"):
        table = symtable.symtable("\n".join(lines), "cell", "exec")
    names = {name for node in imports for name in bound_by(node)} | vars(builtins).keys()
    names |= {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}
    lacking = {*globals_in(table)} - names
    for cell in source.cells if lacking else ():
        if cell.kind == "code" and "import" in cell.source and cell not in source.exported:
            tree = cells.tree_or_none(cell.source)
            for node in _divided(tree.body if tree else []):
                if isinstance(node, IMPORTS) and lacking.intersection(bound_by(node)):
                    lacking.difference_update(bound_by(node))
                    yield node, (cell, node.lineno - 1)
