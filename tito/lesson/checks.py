"""The code of checks, and the names that it sees: what `tito test`, `check()`
and the judge have in common.

A check sees the imports and helpers of the setup section, the names that the lesson exports, those
of the learner-side sections, and its own section. Nothing is imported that it does not name:
drawing, say, takes long to load.
"""

import ast
import functools
import linecache
import re


@functools.cache  # a section holds several checks
def functions_of(source: str, file: str, line: int = 1):
    """Code that defines what a section defines, without running the tests
    that its last lines may call.
    """
    return _compiled(source, file, line, lambda node: not _calls_test(node))


@functools.cache
def helpers_of(source: str, file: str, line: int = 1):
    """Code of the setup section without its imports."""
    return _compiled(source, file, line, lambda node: not isinstance(node, IMPORTS))


IMPORTS = (ast.Import, ast.ImportFrom)


def _compiled(source, file, line, keep):
    tree = ast.parse("\n" * (line - 1) + source, file)
    tree.body = [node for node in tree.body if keep(node)]
    return compile(tree, file, "exec")


def _calls_test(node):
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id.startswith("test_")
    )


def imported(imports: dict[str, list[str]], *sources: str) -> dict:
    """What those import statements bind, {statement: names}, that these sources use."""
    words = words_in("\n".join(sources))
    space = {"__name__": "check"}
    for statement, names in imports.items():
        if words & set(names):
            exec(statement, space)
    return space


@functools.cache  # the same for each submission
def words_in(source: str) -> frozenset[str]:
    """The words of a section: what it may name."""
    return frozenset(re.findall(r"\w+", source))


def remember_lines(source: str, file: str, line: int):
    """Let tracebacks show the section's own lines."""
    lines = ("\n" * (line - 1) + source).splitlines(True)
    linecache.cache[file] = (0, None, lines, file)
