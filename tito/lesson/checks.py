"""The sections of a checks.py, and the names that a check sees: for `tito test`, `check()` and the
judge alike.

A check sees the imports and helpers of the setup sections, the names that the lesson exports, those
of the learner-side sections, and its own section. Only those imports run whose names it uses:
importing a module for drawing, for example, takes long.
"""

import ast
import functools
import linecache
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from tito.lesson import cells

SETUP, LEARNER_SIDE, POLISH, HIDDEN = "setup", "learner-side", "polish", "hidden"
TEST = re.compile(r"^def (test_\w+)\(", re.M)
IMPORTS = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Section:
    """The code of a section, as it was read.

    file  the name of its file in tracebacks
    line  of its first line there
    """

    source: str
    file: str
    line: int

    def remember(self) -> None:
        remember_lines(self.source, self.file, self.line)

    @property
    def functions(self) -> CodeType:
        return functions_of(self.source, self.file, self.line)

    @property
    def helpers(self) -> CodeType:
        return helpers_of(self.source, self.file, self.line)


@dataclass(frozen=True)
class CheckFunction:
    """One check: its id, and the function of its section that it is."""

    id: str
    function: str
    section: Section


@dataclass(frozen=True)
class CheckSuite:
    """Checks, and the sections that they share.

    names  what the lesson under test should define
    """

    checks: tuple[CheckFunction, ...]
    setup: tuple[Section, ...] = ()
    learner_side: tuple[Section, ...] = ()
    names: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "CheckSuite":
        """The suite that `dataclasses.asdict` made `value` of."""
        checks = (
            CheckFunction(check["id"], check["function"], Section(**check["section"]))
            for check in value["checks"]
        )
        setup, learner_side = (
            tuple(Section(**section) for section in value[key]) for key in ("setup", "learner_side")
        )
        return cls(tuple(checks), setup, learner_side, tuple(value["names"]))


def suite_of(sections: Iterable[cells.Cell], file: str, names: Iterable[str] = ()) -> CheckSuite:
    """The checks of a checks.py, given its cells."""
    checks: list[CheckFunction] = []
    setup: list[Section] = []
    learner_side: list[Section] = []
    for cell in sections:
        section = Section(cell.source, file, cell.line)
        if cell.title == SETUP:
            setup.append(section)
        elif cell.title == LEARNER_SIDE:
            learner_side.append(section)
        elif cell.title:
            checks += (
                CheckFunction(check_id(cell.title, function), function, section)
                for function in TEST.findall(cell.source)
            )
    return CheckSuite(tuple(checks), tuple(setup), tuple(learner_side), tuple(names))


def check_id(title: str, function: str) -> str:
    """The id of a check, from its section's title ("strides", "strides hidden") and its function:
    "check-strides.test_...", "check-strides-hidden.test_...". It never changes once released.
    """
    return f"check-{'-'.join(title.split())}.{function}"


@functools.cache  # a section holds several checks
def functions_of(source: str, file: str, line: int = 1) -> CodeType:
    """Code that defines what a section defines, without calls of tests at its end."""
    return _compiled(source, file, line, lambda node: not _calls_test(node))


@functools.cache
def helpers_of(source: str, file: str, line: int = 1) -> CodeType:
    """Code of a setup section without its imports."""
    return _compiled(source, file, line, lambda node: not isinstance(node, IMPORTS))


def _compiled(source: str, file: str, line: int, keep: Callable[[ast.stmt], bool]) -> CodeType:
    tree = ast.parse("\n" * (line - 1) + source, file)
    tree.body = [node for node in tree.body if keep(node)]
    return compile(tree, file, "exec")


def _calls_test(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id.startswith("test_")
    )


@functools.cache
def imports_in(*sources: str) -> dict[str, list[str]]:
    """The import statements of some sections, {statement: the names it binds}."""
    return {
        ast.unparse(node): [(alias.asname or alias.name).split(".")[0] for alias in node.names]
        for source in sources
        for node in cells.tree_of(source).body
        if isinstance(node, IMPORTS)
    }


def imported(imports: dict[str, list[str]], *sources: str) -> dict[str, Any]:
    """What those import statements bind, {statement: names}, that these sources use."""
    words = words_in("\n".join(sources))
    space: dict[str, Any] = {"__name__": "check"}
    for statement, names in imports.items():
        if words & set(names):
            exec(statement, space)
    return space


@functools.cache  # the same for each submission
def words_in(source: str) -> frozenset[str]:
    """The words of a section, which include all names that it uses."""
    return frozenset(re.findall(r"\w+", source))


def needed_sections(section: Section, suite: CheckSuite) -> list[Section]:
    """The learner-side sections that define a name which `section` uses: itself, or through one of
    them or a helper of the setup sections.

    Other sections may need exercises that come later in the chapter.
    """
    waiting: list[tuple[Names, Names, Section | None]] = [
        (defines, uses, None) for s in suite.setup for defines, uses in _statements(s.source)
    ]
    waiting += [(*_names_of(s.source), s) for s in suite.learner_side]
    names = _names_of(section.source)[1]
    needed: list[Section | None] = []
    while definition := next((entry for entry in waiting if entry[0] & names), None):
        waiting.remove(definition)
        names |= definition[1]
        needed.append(definition[2])
    return [s for s in suite.learner_side if s in needed]


Names = frozenset[str]


@functools.cache
def _names_of(source: str) -> tuple[Names, Names]:
    """The names that a section defines, and those that it uses."""
    statements = _statements(source)
    empty: Names = frozenset()
    return empty.union(*(d for d, _ in statements)), empty.union(*(u for _, u in statements))


@functools.cache
def _statements(source: str) -> list[tuple[Names, Names]]:
    """The names that each statement of a section defines, and those that it uses."""
    return [(_defined_by(node), _used_by(node)) for node in cells.tree_of(source).body]


def _used_by(node: ast.stmt) -> Names:
    return frozenset(leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name))


def _defined_by(node: ast.stmt) -> Names:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return frozenset([node.name])
    if not isinstance(node, (ast.Assign, ast.AnnAssign)):
        return frozenset()
    names = [leaf for leaf in ast.walk(node) if isinstance(leaf, ast.Name)]
    return frozenset(leaf.id for leaf in names if isinstance(leaf.ctx, ast.Store))


def remember_lines(source: str, file: str, line: int) -> None:
    """Make tracebacks show the lines of the section."""
    lines = ("\n" * (line - 1) + source).splitlines(True)
    linecache.cache[file] = (0, None, lines, file)
