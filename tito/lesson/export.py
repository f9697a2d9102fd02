"""Build a lesson's module in the package from its exported cells.

The text of the cells is unchanged, except that imports move to the top and solution markers and
directives are removed. Each line of the module has a reference to its line in the lesson, so that
errors can be reported with lines of the lesson.
"""

import ast
import functools
import hashlib
import itertools
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tito import files
from tito.errors import WorkError
from tito.lesson import cells
from tito.lesson.checks import IMPORTS
from tito.lesson.course import Entry
from tito.lesson.lesson_format import MARK, Exercise, Lesson, stub

LONGEST = 120  # characters in an import line before it is folded
CHECKSUM = re.compile(r"# checksum: (\w+)\n")
DEFINED = re.compile(r"^(?:async )?(?:def|class) (\w+)", re.M)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
SETTERS = {"setattr", "__setattr__", "__setitem__", "setdefault", "update", "exec"}
SKIPPED = "# From the course's own {source} by `tito skip`"


Place = tuple[cells.Cell, int]  # a cell, and the line in it, from 0
Row = tuple[str, Place | None]  # a line of a module, and where it came from
Import = tuple[ast.Import | ast.ImportFrom, Place]


@dataclass
class ExportedModule:
    """The text of a package module; `origin[n]` is (cell, line in it) for its line n + 1, or None;
    `lesson`, as the course has it.
    """

    text: str
    origin: list[Place | None]
    lesson: Lesson


def build(source: cells.Source, declared: Lesson, relative: str, package: str) -> ExportedModule:
    """The package module of a lesson.

    source    the cells to export (cells.Source), a learner's perhaps
    declared  the course's lesson, for its title and summary
    relative  what the first line names as its origin
    package   the name of the package, so that its imports are a separate group

    Raises TitoError, with the lesson's own line, when a cell is not valid Python.
    """
    if not source.exported:
        raise WorkError(
            f"{source.path} has no cell that begins with `#| export`.",
            f"`tito reset {declared.name}` brings the starting version back.",
        )
    imports: list[Import] = []
    names: list[str] = []
    body: list[Row] = []
    for cell in source.exported:
        own_imports, others, lines = _split(source, cell)
        imports += own_imports
        if "export" in cell.directives:
            names += [name for node in others for name in defined(node) if name[0] != "_"]
        if lines:
            body += [("", None), ("", None)] * bool(body) + lines
    head: list[Row] = [(f'"""{declared.title}: {declared.summary.rstrip(".")}."""', None)]
    head += [("", None), *_import_rows(imports, package)]
    head += [(row, None) for row in _all_rows(list(dict.fromkeys(names)))]
    rows = head + body
    text = "\n".join(line for line, _ in rows) + "\n"
    first = relative
    if not relative.startswith("#"):
        first = f"# From {relative} by `tito export`; edit that file, not this one."
    return ExportedModule(
        f"{first}\n# checksum: {_checksum(text)}\n{text}",
        [None, None, *(place for _, place in rows)],
        declared,
    )


def _split(
    source: cells.Source, cell: cells.Cell
) -> tuple[list[Import], list[ast.stmt], list[Row]]:
    """Imports, other statements, and lines without imports, directives and solution markers."""
    body = _parse(source, cell).body
    # An import that shares a line with another statement, as in `import a; a.b()`, stays there.
    crowded: set[ast.stmt] = set()
    for statement, following in itertools.pairwise(body):  # in the order of their lines
        if (statement.end_lineno or 0) >= following.lineno:
            crowded |= {statement, following}
    imports: list[Import] = []
    others: list[ast.stmt] = []
    left_out = set(cell.directive_lines)
    for node in body:
        if isinstance(node, IMPORTS) and node not in crowded:
            imports.append((node, (cell, node.lineno - 1)))
            left_out |= set(range(node.lineno - 1, node.end_lineno or 0))
        else:
            others.append(node)
    lines: list[Row] = [
        (text, (cell, n))
        for n, text in enumerate(cell.source.split("\n"))
        if n not in left_out and not MARK.match(text)
    ]
    while lines and not lines[0][0].strip():
        lines.pop(0)
    while lines and not lines[-1][0].strip():
        lines.pop()
    return imports, others, lines


def _parse(source: cells.Source, cell: cells.Cell) -> ast.Module:
    try:
        return cells.tree_of(cell.source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", 1) or 1
        what = getattr(error, "msg", str(error) or "too deeply nested")
        text = (getattr(error, "text", "") or "").rstrip().expandtabs(1)
        problem = WorkError(
            f"{source.place(cell, line - 1)}: syntax error: {what}"
            + (f": {text.strip()[:80]}" if text else "."),
            "Python cannot read the lesson until you correct this.",
        )
        if text:  # as Python shows it: a terminal has room for the line and a mark under it
            offset = (getattr(error, "offset", 1) or 1) - 1 - len(text) + len(text.lstrip())
            problem.excerpt = f"{text.strip()}\n{' ' * offset}^"
        raise problem from None


def defined(node: ast.stmt) -> list[str]:
    """The names that a top-level statement defines: functions, classes, assigned names."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [
        leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)
    ]


@functools.cache
def asked_names(exercise: Exercise) -> list[str]:
    """The names that an exercise defines."""
    return [
        name
        for node in cells.tree_of(exercise.cell.source).body
        if not isinstance(node, ast.Assign) or isinstance(node.targets[0], ast.Name)
        for name in defined(node)
    ]


def definitions(module: ExportedModule) -> dict[str, list[cells.Cell]]:
    """{name: the cells that define or change it, in the order of the module}: the last counts."""
    by_line = sorted((line, name) for name, line in bindings(cells.tree_of(module.text)))
    definers: dict[str, dict[cells.Cell, None]] = {}
    for line, name in by_line:
        if place := module.origin[line - 1]:
            known = definers.setdefault(name, {})
            known.pop(place[0], None)
            known[place[0]] = None
    return {name: list(known) for name, known in definers.items()}


def bindings(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """(name, line) where a name of the module gets a value, or its value is changed: also in a
    branch, as `f.__code__ = ...`, by `global`, or spelled out, as in `globals()["f"] = ...`.
    """
    pending: list[tuple[ast.AST, bool]] = [(tree, True)]  # whether names in it are the module's
    while pending:
        node, is_outside = pending.pop()
        names: list[str] = []
        if isinstance(node, ast.Global):
            names = node.names
        elif isinstance(node, ast.Call) and _last_word(node.func) in SETTERS:
            names = [keyword.arg for keyword in node.keywords if keyword.arg]
            names += [word for part in node.args for word in _spelled(part)]
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            names = [*_spelled(node.slice), *_first_word(node) * is_outside]
        elif is_outside and isinstance(node, ast.alias):
            names = [node.asname or node.name.partition(".")[0]]
        elif is_outside and isinstance(getattr(node, "ctx", None), ast.Store):
            names = _first_word(node)
        elif is_outside and (name := getattr(node, "name", None) or getattr(node, "rest", None)):
            names = [name]  # of def, class, except, case
        yield from ((name, node.lineno) for name in names)  # type: ignore[attr-defined]
        inside = is_outside and not isinstance(node, SCOPES)
        inner = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.comprehension):  # its variables are its own
            inner.remove(node.target)
        pending += [(one, inside) for one in inner]


def _last_word(node: ast.expr) -> str:
    """`update` of `globals().update`."""
    return getattr(node, "attr", "") or getattr(node, "id", "")


def _first_word(node: ast.AST) -> list[str]:
    """`f` of `f.memory[0]`."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return [node.id] if isinstance(node, ast.Name) else []


def _spelled(node: ast.AST) -> list[str]:
    """The words of a string."""
    text = node.value if isinstance(node, ast.Constant) else ""
    return re.findall(r"\w+", text) if isinstance(text, str) else []


@functools.cache  # `tito watch` asks at each save
def exported_names(lesson: Lesson) -> list[str]:
    """Every top-level name that a lesson's exported cells define, also private names."""
    return [
        name
        for cell in lesson.source.exported
        for node in cells.tree_of(cell.source).body
        for name in defined(node)
    ]


def _import_rows(imports: list[Import], package: str) -> list[Row]:
    """Import lines, once each and in three groups: Python's own, installed, the package's.

    Each with the place of the first that asks for it.
    """
    plain: dict[str, tuple[str, str, Place]] = {}
    named: dict[tuple[str, bool], set[str]] = {}
    places: dict[tuple[str, bool], Place] = {}
    for node, place in imports:
        if isinstance(node, ast.Import):
            for alias in node.names:
                plain.setdefault(ast.unparse(alias), (alias.name, ast.unparse(alias), place))
        else:
            module = "." * node.level + (node.module or "")
            for alias in node.names:  # `*` is imported alone, and never folded
                key = module, alias.name == "*"
                named.setdefault(key, set()).add(ast.unparse(alias))
                places.setdefault(key, place)
    lines = [
        (_group(module, package), 0, module, f"import {text}", place)
        for module, text, place in plain.values()
    ]
    for (module, is_star), texts in named.items():
        line = f"from {module} import {', '.join(sorted(texts))}"
        if len(line) > LONGEST and not is_star:
            folded = "".join(f"    {text},\n" for text in sorted(texts))
            line = f"from {module} import (\n{folded})"
        lines.append((_group(module, package), 1, module, line, places[module, is_star]))
    out: list[Row] = []
    last = None
    for kind, _, _, line, place in sorted(lines, key=lambda row: row[:4]):
        if last not in (None, kind):
            out.append(("", None))
        rows = line.split("\n")
        out += [(row, place) for row in rows]
        last = kind
    return out + [("", None)] * bool(out)


def _group(module: str, package: str) -> int:
    top = module.split(".")[0]
    if module == "__future__":
        return 0
    if top in sys.stdlib_module_names:
        return 1
    return 3 if top in ("", package) else 2


def _all_rows(names: list[str]) -> list[str]:
    """The lines of `__all__`, and two empty ones; none without names."""
    if not names:
        return [""]
    quoted = [f'"{name}"' for name in names]
    line = f"__all__ = [{', '.join(quoted)}]"
    if len(line) <= LONGEST:
        return [line, "", ""]
    rows = [""]
    for name in quoted:
        if len(rows[-1]) + len(name) + 6 > LONGEST:
            rows.append("")
        rows[-1] += f"{name}, "
    return ["__all__ = [", *(f"    {row.rstrip()}" for row in rows), "]", "", ""]


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def current(entry: Entry, source: cells.Source) -> ExportedModule:
    """What the package's module of this lesson should be: an ExportedModule built from `source`."""
    return _current(source, entry.declared, entry.relative(source.path), entry.root.package)


_current = functools.lru_cache(maxsize=64)(build)  # as the sources of lower lessons in `cells`


def is_skipped(entry: Entry) -> bool:
    """Whether the package holds the course's module of this lesson, from `tito skip`."""
    try:
        with entry.module_path.open(encoding="utf-8") as file:
            return file.readline().startswith(SKIPPED.split("{")[0])
    except (OSError, UnicodeDecodeError):
        return False


def export_to_package(entry: Entry, module: ExportedModule) -> tuple[bool, list[str]]:
    """Write a learner's module into the package, and report a skip that it ends or code that it
    replaces.

    Returns (changed, sentences without a full stop).
    """
    sentences = []
    if is_skipped(entry):
        sentences.append(
            f"The skip of {entry.name} is over: the package holds your own code again; "
            f"`tito skip {entry.name}` brings the course's back"
        )
        if missing := unwritten(module):
            sentences.append(
                f"{len(missing)} of its {len(module.lesson.exercises)} exercises are still to be "
                "written, and whatever needs one of them fails"
            )
    changed, backup = write_module(entry, module)
    if backup:
        sentences.append(
            f"{entry.relative(entry.module_path)} held code that is not in your lesson now "
            f"(from before a reset, or written there by hand); a copy is in {backup}"
        )
    return changed, sentences


def write_module(
    entry: Entry, module: ExportedModule, command: str = "export"
) -> tuple[bool, Path | None]:
    """Write a built module into the package. Returns (changed, backup folder or None).

    A module that was edited by hand is saved first; its checksum line is wrong. A module with an
    exercise that the lesson no longer has is also saved: if an editor emptied the lesson, the
    module is the last copy.
    """
    path = entry.module_path
    try:
        old = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        old = None
    except (OSError, UnicodeDecodeError):
        old = ""  # unreadable: replaced, and saved first
    if old == module.text:
        return False, None
    before = path.stat().st_mtime if path.exists() else 0
    backup = None
    by_hand = old is not None and not _is_ours(old)
    skipped = bool(old) and (old or "").startswith(SKIPPED.split("{")[0])
    lost = set() if skipped or not old else _written(old, module.lesson)
    if by_hand or lost - _written(module.text, module.lesson):
        backup = files.replace(entry.root, command, {path: module.text}, step=by_hand)
    else:
        files.write(path, module.text)
    # Python takes compiled code for fresh when second and size agree; two exports within one
    # second, `+` changed to `-`, would run the old code.
    if int(path.stat().st_mtime) <= int(before):
        os.utime(path, (before + 1, before + 1))
    return True, backup


def _is_ours(text: str) -> bool:
    """Whether `text` is exactly as an export wrote it."""
    head = text.split("\n", 2)
    match = CHECKSUM.match("\n".join(head[1:2]) + "\n")
    return match is not None and len(head) == 3 and match[1] == _checksum(head[2])


def _written(text: str, declared: Lesson) -> set[str]:
    """Ids of the exercises that a module's text holds, written."""
    names = set(DEFINED.findall(text))
    return {
        exercise.id
        for exercise in declared.exercises
        if stub(declared.name, exercise.name) not in text
        and names.issuperset(DEFINED.findall(exercise.cell.source))
    }


def unwritten(module: ExportedModule) -> list[str]:
    """Ids of the exercises that a module does not hold, written, in their order."""
    written = _written(module.text, module.lesson)
    return [exercise.id for exercise in module.lesson.exercises if exercise.id not in written]
