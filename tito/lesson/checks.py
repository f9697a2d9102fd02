"""The sections of a checks.py, and the names that a check sees: for `tito test`, `check()` and the
judge alike.

A check sees the names that the lesson exports, its own section, and the statements of the setup and
learner-side sections that it needs. Only these run: others may need exercises that come later in
the chapter, importing a module for drawing takes long, and what only hidden checks need is secret.
"""

import ast
import copy
import functools
import itertools
import linecache
import re
import symtable
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from tito.errors import UsageError
from tito.lesson import cells

SETUP, LEARNER_SIDE, POLISH, HIDDEN = "setup", "learner-side", "polish", "hidden"
TEST = re.compile(r"^def (test_\w+)\(", re.M)
IMPORTS = (ast.Import, ast.ImportFrom)
MODULE = "checking"  # what the checks of several lessons use
FILE = f"{MODULE}.py"
IMPORT = f"from {MODULE} import"
WITHOUT = re.compile(r"^# without the laws?: (.+)$", re.M)
COMMENT = f"# The functions of {FILE} are at the end of this file."


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
    kept = [s for s in statements_of(source) if not _calls_test(s.node)]
    return _code_of(source, file, line, frozenset(kept))


@functools.cache
def _code_of(source: str, file: str, line: int, needed: "Statements") -> CodeType:
    tree = ast.parse("\n" * (line - 1) + source, file)
    body, tree.body = tree.body, []
    for node, parts in zip(body, _by_node(source)):
        if kept := [part for part in parts if part in needed]:
            if isinstance(node, IMPORTS):
                node.names = [part.node.names[0] for part in kept]
            tree.body.append(node)
    return compile(tree, file, "exec")


def _calls_test(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id.startswith("test_")
    )


@dataclass(frozen=True)
class Statement:
    """A statement at the top level of a section; of an import, one for each name.

    number       of its node in the section
    first, last  its lines, from 1, with decorators
    defines      the names that it binds
    uses         the names that it, or a function in it, looks up outside
    """

    node: Any
    number: int
    first: int
    last: int
    defines: frozenset[str]
    uses: frozenset[str]


Statements = frozenset[Statement]


@functools.cache  # the same for each submission
def statements_of(source: str) -> tuple[Statement, ...]:
    """The statements of a section."""
    lines = source.split("\n")
    statements: list[Statement] = []
    for number, node in enumerate(cells.tree_of(source).body):
        first = min(n.lineno for n in (node, *getattr(node, "decorator_list", ())))
        last = node.end_lineno or node.lineno
        if isinstance(node, IMPORTS):
            for alias in node.names:
                one = copy.copy(node)
                one.names = [alias]
                bound = (alias.asname or alias.name).split(".")[0]
                names = frozenset([bound])
                statements.append(Statement(one, number, first, last, names, frozenset()))
            continue
        table = symtable.symtable("\n".join(lines[first - 1 : last]), "checks", "exec")
        symbols = table.get_symbols()
        defines = frozenset(s.get_name() for s in symbols if s.is_assigned() or s.is_imported())
        uses = frozenset(globals_in(table))
        statements.append(Statement(node, number, first, last, defines, uses))
    return tuple(statements)


def _by_node(source: str) -> list[list[Statement]]:
    """The statements of a section; in one list those that are one import."""
    groups = itertools.groupby(statements_of(source), lambda s: s.number)
    return [list(group) for _, group in groups]


def globals_in(table: symtable.SymbolTable) -> Iterator[str]:
    """The global names that a scope, or one within it, looks up."""
    for symbol in table.get_symbols():
        if symbol.is_global() if table.get_type() != "module" else symbol.is_referenced():
            yield symbol.get_name()
    for inner in table.get_children():
        yield from globals_in(inner)


def laws_without(source: str) -> list[str]:
    """The laws of laws.py that the checks of a section are without: `# without the law: layout`."""
    return [law.strip() for text in WITHOUT.findall(source) for law in text.split(",")]


def used_by(statements: Iterable[Statement]) -> frozenset[str]:
    """The names that some statements use."""
    return frozenset(name for statement in statements for name in statement.uses)


@functools.cache  # several checks use the same names
def needed_statements(names: frozenset[str], sources: tuple[str, ...]) -> Statements:
    """The statements of shared sections that code which uses these names needs: those that define
    one of them, those that they need in turn, and those that define nothing and are about
    something needed, such as `CASES["two"] = 2`.
    """
    waiting = [statement for source in sources for statement in statements_of(source)]
    own = {name for s in waiting if not isinstance(s.node, IMPORTS) for name in s.defines}
    subjects = {s: s.defines or s.uses & own or s.uses for s in waiting}
    needed: set[Statement] = set()
    while more := {s for s in waiting if s not in needed and subjects[s] & names}:
        needed |= more
        names |= used_by(more)
    return frozenset(needed)


def needed_by(section: Section, suite: CheckSuite) -> Statements:
    """The statements of a suite's setup and learner-side sections that a section needs."""
    sources = tuple(shared.source for shared in (*suite.setup, *suite.learner_side))
    return needed_statements(used_by(statements_of(section.source)), sources)


@functools.lru_cache(maxsize=256)  # a section holds several checks
def called_names(section: Section, suite: CheckSuite) -> frozenset[str]:
    """The names that a section, and what it needs, only calls, or gives to a helper of the checks
    to call: no `creator.op is relu`.
    """
    needed = needed_by(section, suite)
    leaves = [leaf for s in (*statements_of(section.source), *needed) for leaf in ast.walk(s.node)]
    calls = [leaf for leaf in leaves if isinstance(leaf, ast.Call)]
    helpers = {name for s in needed if not isinstance(s.node, IMPORTS) for name in s.defines}
    called = {id(call.func) for call in calls}
    called |= {id(x) for c in calls if getattr(c.func, "id", "") in helpers for x in c.args}
    names = [leaf for leaf in leaves if isinstance(leaf, ast.Name)]
    others = {leaf.id for leaf in names if id(leaf) not in called}
    return frozenset({leaf.id for leaf in names} - others)


def needed_by_visible(sections: Iterable[cells.Cell]) -> Statements:
    """The statements of the setup and learner-side sections of a checks.py that the checks which
    learners have need.
    """
    shared: list[str] = []
    names: set[str] = set()
    for cell in sections:
        if cell.title in (SETUP, LEARNER_SIDE):
            shared.append(cell.source)
        elif cell.title and HIDDEN not in cell.title.split():
            names |= used_by(statements_of(cell.source))
    return needed_statements(frozenset(names), tuple(shared))


def shared_code(sections: Iterable[Section], needed: Statements) -> Iterator[CodeType]:
    """The code of the needed statements of some sections."""
    for section in sections:
        if not needed.isdisjoint(statements_of(section.source)):
            yield _code_of(section.source, section.file, section.line, needed)


def without_others(source: str, needed: Statements) -> str:
    """A section without the statements that are not needed and the comments above them; "" if no
    statement is needed.
    """
    rows = source.split("\n")
    kept: list[str] = []
    end = 0
    for parts in _by_node(source):
        first, last = max(parts[0].first - 1, end), parts[0].last
        lines = rows[first:last]
        if chosen := [part for part in parts if part in needed]:
            if len(chosen) < len(parts):
                node = copy.copy(parts[0].node)
                node.names = [part.node.names[0] for part in chosen]
                lines = [ast.unparse(node)]
            kept += rows[end:first] + lines
        end = last
    return "\n".join(kept + rows[end:] * bool(chosen)).strip("\n") if kept else ""


def remember_lines(source: str, file: str, line: int) -> None:
    """Make tracebacks show the lines of the section."""
    lines = ("\n" * (line - 1) + source).splitlines(True)
    linecache.cache[file] = (0, None, lines, file)


# The functions that the checks of several lessons use: `modules/source/checking.py` of a course. A
# section setup or learner-side says which it needs: `from checking import expect, refused`. When
# the file is read, these functions, and what they use in turn, are put into a section of the same
# title at its end, and a comment replaces the import. So the file is complete wherever it goes (a
# workspace, a release, a notebook, the judge), its other lines keep their numbers, and a shared
# function is treated as one that the lesson defines itself.


def read_checks(path: Path) -> cells.Source:
    """The cells of a lesson's checks.py, with the shared functions that it imports.

    Raises TitoError when it is missing or damaged, or imports what the course does not have.
    """
    source = cells.read(path)
    if IMPORT not in source.text:
        return source
    shared = path.parents[1] / FILE
    if not shared.is_file():
        raise UsageError(
            f"{path} imports from {MODULE}, and there is no {shared}.",
            "Write these functions there, or into the section.",
        )
    return _completed(source, shared, shared.read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=64)  # a test reads every lower lesson again
def _completed(source: cells.Source, shared: Path, shared_text: str) -> cells.Source:
    lines = source.text.split("\n")
    imported: dict[str, dict[str, int]] = {}  # {section's title: {name: line}}
    for cell in source.cells:
        if cell.kind != "code" or IMPORT not in cell.source:
            continue
        for node in cells.tree_of(cell.source).body:
            if not isinstance(node, ast.ImportFrom) or node.module != MODULE:
                continue
            first = cell.line + node.lineno - 1
            more = (node.end_lineno or node.lineno) - node.lineno  # lines of the import
            if cell.title not in (SETUP, LEARNER_SIDE):
                raise UsageError(
                    f"{source.path}:{first}: the section {cell.title!r} imports from {MODULE}.",
                    f"Import it in a section {SETUP} or {LEARNER_SIDE}.",
                )
            for alias in node.names:
                imported.setdefault(cell.title, {})[alias.name] = first
            lines[first - 1 : first + more] = [COMMENT, *[""] * more]
    text = "\n".join(lines).rstrip("\n")
    for title, names in imported.items():
        excerpt = _excerpt(source.path, shared, shared_text, names)
        text += f"\n\n\n# %% {title}\n# From {FILE}:\n{excerpt}"
    return cells.parse(source.path, text + "\n")


def _excerpt(path: Path, shared: Path, text: str, names: dict[str, int]) -> str:
    """The part of the shared module's text that defines `names` ({name: line of its import}), and
    what those definitions use.
    """
    lines, definitions = text.split("\n"), _definitions(text)
    if missing := names.keys() - definitions.keys():
        name = min(missing)
        raise UsageError(
            f"{path}:{names[name]}: {shared} does not define {name}.",
            f"It defines {', '.join(sorted(definitions))}.",
        )
    needed: set[ast.stmt] = set()
    open_names = [*names]
    while open_names:
        definition = definitions.get(open_names.pop())
        if definition and definition not in needed:
            needed.add(definition)
            open_names += [leaf.id for leaf in ast.walk(definition) if isinstance(leaf, ast.Name)]
    imports: list[str] = []
    others: list[str] = []
    for definition in sorted(needed, key=lambda node: node.lineno):
        part = "\n".join(lines[definition.lineno - 1 : definition.end_lineno])
        (imports if isinstance(definition, IMPORTS) else others).append(part)
    return "\n\n\n".join(["\n".join(imports), *others]).lstrip("\n")


@functools.lru_cache(maxsize=2)  # all lessons of a course share one
def _definitions(text: str) -> dict[str, ast.stmt]:
    """{name: the top-level statement of `text` that binds it}"""
    return {name: node for node in cells.tree_of(text).body for name in _bound(node)}


def _bound(node: ast.stmt) -> list[str]:
    """The names that a top-level statement binds."""
    if isinstance(node, IMPORTS):
        return [(alias.asname or alias.name).split(".")[0] for alias in node.names]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [node.name] if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
