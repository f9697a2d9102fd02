"""Build a lesson's module in the package from its exported cells.

The text of the cells is unchanged, except that imports move to the top, solution markers and
directives are removed, and docstrings are shortened. Each line of the module has a reference to
its line in the lesson, so that errors can be reported with lines of the lesson.
"""

import ast
import functools
import hashlib
import itertools
import os
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tito import files
from tito.errors import WorkError
from tito.lesson import cells
from tito.lesson.checks import IMPORTS
from tito.lesson.course import Entry
from tito.lesson.docstrings import DROPPED, shorten
from tito.lesson.lesson_format import MARK, Exercise, Lesson
from tito.lesson.outcome import UNWRITTEN, LeftOut, clean
from tito.lesson.statements import imports_elsewhere

LONGEST = 120  # characters in an import line before it is folded
INDENTATION = {  # what Python says: what it means
    "outside function": "indent it as the lines of its function",
    "unindent does not match": "indent it as a line above it",
    "use of tabs": "write spaces only",
}
LONGEST_LINE = 200  # characters of a learner's line that is shown
CHECKSUM = re.compile(r"# checksum: (\w+)\n")
DEFINED = re.compile(r"^(?:async )?(?:def|class) (\w+)", re.M)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
SETTERS = {"setattr", "__setattr__", "__setitem__", "setdefault", "update", "exec"}
# A line that begins a top-level statement.
TOP = re.compile(r"(?![\s#)\]}]|$|(?:else|elif|except|finally)\b)")
NAMED = re.compile(r"^(?:async )?(?:def|class) +(\w+)|^(\w+)(?: *:[^=\n]+)? *=(?!=)", re.M)
IMPORTED = re.compile(r"^(?:from +[\w.]+ +)?import +([\w., ]*\w)", re.M)
MOST_DAMAGE = 10  # statements of a cell that Python cannot read; then the cell is left out

Place = tuple[cells.Cell, int]  # a cell, and the line in it, from 0
Row = tuple[str, Place | None]  # a line of a module, and where it came from
Import = tuple[ast.Import | ast.ImportFrom, Place]
# What Python cannot read in a cell: the error, and the same for the learner.
Damage = tuple[WorkError, LeftOut]


@dataclass
class ExportedModule:
    """The text of a package module.

    origin[n] is (cell, line in it) for its line n + 1, or None
    lesson    as the course has it
    source    the cells that it was built from
    problems  the errors in what Python cannot read, which is left out
    left_out  the same, for the learner
    notes     sentences on exercises that are there twice
    """

    text: str
    origin: list[Place | None]
    lesson: Lesson
    source: cells.Source
    problems: list[WorkError]
    left_out: list[LeftOut]
    notes: list[str]

    def place(self, line: int) -> str:
        """A line of the module in its lesson: "cell 3, line 12: its text", or ""."""
        place = self.origin[line - 1] if 0 < line <= len(self.origin) else None
        return place_of(*place) if place else ""

    def whole(self) -> "ExportedModule":
        """The same. Raises TitoError, with the lesson's own line, if a cell was left out."""
        if self.problems:
            raise self.problems[0]
        return self


def place_of(cell: cells.Cell, line: int) -> str:
    """A line of a cell, from 0: "cell 3, line 12: its text"."""
    text = cell.source.split("\n")[line].strip()[:LONGEST_LINE]
    return f"cell {cell.number}, line {cell.line + line}: {text}"


def build(source: cells.Source, declared: Lesson, relative: str, package: str) -> ExportedModule:
    """The package module of a lesson.

    source    the cells to export (cells.Source), a learner's perhaps
    declared  the course's lesson, for its title and summary
    relative  what the first line names as its origin
    package   the name of the package, so that its imports are a separate group

    The first text that begins a cell is the docstring. Raises TitoError if no cell is exported.
    """
    if not source.exported:
        raise WorkError(
            f"{source.path} has no cell that begins with `#| export`.",
            f"`tito reset {declared.name}` brings the starting version back.",
        )
    imports, names = list[Import](), list[str]()
    about, body, damage = list[Row](), list[Row](), list[Damage]()
    for cell in _without_stubs(source, declared):
        tree, unread, found = _read(source, cell)
        damage += found
        about = about or _take_docstring(cell, tree, unread)
        own_imports, others, lines = _split(cell, tree.body, unread)
        imports += own_imports
        if "export" in cell.directives:
            names += [name for node in others for name in defined(node) if name[0] != "_"]
        if lines:
            body += [("", None), ("", None)] * bool(body) + lines
    imports += imports_elsewhere(source, [node for node, _ in imports], [row for row, _ in body])
    about = about or [(f'"""{declared.title}: {declared.summary.rstrip(".")}."""', None)]
    lines = about + _head(imports, names, package) + body
    text = "\n".join(line for line, _ in lines) + "\n"
    return ExportedModule(
        f"{_first_line(relative)}\n# checksum: {_checksum(text)}\n{text}",
        [None, None, *(place for _, place in lines)],
        declared,
        source,
        [problem for problem, _ in damage],
        [left_out for _, left_out in damage],
        _notes_on_copies(source, declared),
    )


# An exercise that is more than once in a learner's file, because its cell was copied: which one
# counts, and what is said about it.


def _without_stubs(source: cells.Source, lesson: Lesson) -> list[cells.Cell]:
    """The exported cells, without those that would replace a written exercise by its stub."""
    stubs = {copy for copy, _, _ in _copied_stubs(source, lesson)}
    return [cell for cell in source.exported if cell not in stubs]


def _notes_on_copies(source: cells.Source, lesson: Lesson) -> list[str]:
    """A sentence for each exercise that is defined more than once, or inside itself."""
    notes = [
        f"{exercise.id} is in {_place(copy)} as released, and written in {_place(written)}, "
        "which counts."
        for copy, written, exercise in _copied_stubs(source, lesson)
    ]
    kept = _without_stubs(source, lesson)
    for exercise in lesson.exercises:
        for name in _names_of(exercise):
            places = [cell for cell in kept for _ in _definitions(name, cell)]
            usual = [cell for cell in lesson.source.exported for _ in _definitions(name, cell)]
            if len(places) > max(1, len(usual)):
                where = ", ".join(_place(cell, name) for cell in dict.fromkeys(places))
                count = {2: "twice"}.get(len(places), f"{len(places)} times")
                notes.append(f"{name} is defined {count}, in {where}: the last that runs counts.")
            if any(_is_inside_itself(name, cell) for cell in places):
                notes.append(
                    f"There is a `def {name}` inside `{name}`, which is never called: keep one of "
                    "the two lines."
                )
    return notes


def _is_inside_itself(name: str, cell: cells.Cell) -> bool:
    """Whether a function contains another one of the same name, and never uses it."""
    if not re.search(rf"^[ \t]+def {name}\b", cell.source, re.M):
        return False
    tree = cells.tree_or_none(cell.source)
    outer = [n for n in tree.body if isinstance(n, ast.FunctionDef)] if tree else []
    for function in (function for function in outer if function.name == name):
        below = [node for node in ast.walk(function) if node is not function]
        if any(isinstance(n, ast.FunctionDef) and n.name == name for n in below):
            return not any(isinstance(n, ast.Name) and n.id == name for n in below)
    return False


def _copied_stubs(
    source: cells.Source, lesson: Lesson
) -> list[tuple[cells.Cell, cells.Cell, Exercise]]:
    """(its cell, the cell in which it is written, the exercise) of each stub of an exercise that is
    also written.
    """
    found = []
    for exercise in lesson.exercises:
        names = set(_names_of(exercise))
        holders = [c for c in source.exported if names and names <= set(DEFINED.findall(c.source))]
        stubs = [c for c in holders if exercise.id in UNWRITTEN.findall(c.source)]
        written = [cell for cell in holders if cell not in stubs]
        if written:
            found += [(cell, written[-1], exercise) for cell in stubs]
    return found


def _names_of(exercise: Exercise) -> list[str]:
    return DEFINED.findall(exercise.stub)


def _definitions(name: str, cell: cells.Cell) -> list[str]:
    return [found for found in DEFINED.findall(cell.source) if found == name]


def _place(cell: cells.Cell, name: str = "") -> str:
    lines = cell.source.split("\n")
    rows = [
        n for n, row in enumerate(lines) if re.match(rf"(?:async )?(?:def|class) {name}\b", row)
    ]
    return f"cell {cell.number}" + (f" (line {cell.line + rows[0]})" if name and rows else "")


# The lines of the module.


def _first_line(relative: str) -> str:
    if relative.startswith("#"):
        return relative
    return f"# From {relative} by `tito export`, docstrings shortened; edit that file."


def _take_docstring(cell: cells.Cell, tree: ast.Module, unread: dict[int, str]) -> list[Row]:
    """The lines of the text with which a cell begins, if any; they are DROPPED in the cell."""
    if ast.get_docstring(tree) is None:
        return []
    node, lines = tree.body.pop(0), cell.source.split("\n")
    rows = range(node.lineno - 1, node.end_lineno or 0)
    unread |= dict.fromkeys(rows, DROPPED)
    return [(lines[n], (cell, n)) for n in rows]


def _head(imports: list[Import], names: list[str], package: str) -> list[Row]:
    """The lines of a module between its docstring and the cells: imports, `__all__`."""
    head: list[Row] = [("", None), *_import_rows(imports, package)]
    head += [(row, None) for row in _all_rows(list(dict.fromkeys(names)))]
    return head


def _split(
    cell: cells.Cell, body: list[ast.stmt], unread: dict[int, str]
) -> tuple[list[Import], list[ast.stmt], list[Row]]:
    """Imports, other statements, and lines without imports, directives and solution markers.

    body    its statements
    unread  {line that Python cannot read: what the module has instead}
    """
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
    texts = cell.source.split("\n")
    new = unread | shorten(body, texts)
    lines: list[Row] = [
        (new.get(n, text), (cell, n))
        for n, text in enumerate(texts)
        if n not in left_out and not MARK.match(text) and new.get(n, text) != DROPPED
    ]
    while lines and not lines[0][0].strip():
        lines.pop(0)
    while lines and not lines[-1][0].strip():
        lines.pop()
    return imports, others, lines


def _read(
    source: cells.Source, cell: cells.Cell
) -> tuple[ast.Module, dict[int, str], list[Damage]]:
    """The tree of a cell without the statements that Python cannot read; {their lines: DROPPED, or
    a comment that says why}; and what is wrong with them.
    """
    lines, unread, damage = cell.source.split("\n"), dict[int, str](), list[Damage]()
    while len(unread) < len(lines):
        text = "\n".join("" if n in unread else line for n, line in enumerate(lines))
        try:
            tree = cells.tree_of(text)
            # Each import alone: one of `__future__` must come first.
            parts: list[list[ast.stmt]]
            parts = [[node] for node in tree.body if isinstance(node, IMPORTS)]
            parts.append([node for node in tree.body if not isinstance(node, IMPORTS)])
            with cells.PARSING, warnings.catch_warnings(action="ignore"):
                for part in parts:
                    compile(ast.Module(part, []), "cell", "exec", dont_inherit=True)
            return tree, unread, damage
        except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError) as error:
            if isinstance(error, SystemError):  # so Python 3.11 says that memory ran out
                error = MemoryError()
            line = (getattr(error, "lineno", None) or 0) - 1
            rows = _statement_at(lines, line)
            if line < 0 or unread.keys() >= rows or len(damage) >= MOST_DAMAGE:
                rows = set(range(len(lines)))
            damage.append(_damage(source, cell, error, rows))
            unread |= dict.fromkeys(rows, DROPPED)
            unread[min(rows)] = f"# {damage[-1][1].words}"
    return ast.Module([], []), unread, damage


def _statement_at(lines: list[str], line: int) -> set[int]:
    """The numbers of the lines of the top-level statement around a line, as far as can be seen."""
    line = min(line, len(lines) - 1)
    first = next((n for n in range(line, 0, -1) if TOP.match(lines[n])), 0)
    last = next((n for n in range(line + 1, len(lines)) if TOP.match(lines[n])), len(lines))
    while first and lines[first - 1].startswith("@"):
        first -= 1
    while last > line + 1 and not lines[last - 1].partition("#")[0].strip():
        last -= 1  # empty lines and comments that follow
    return set(range(first, last))


def _damage(source: cells.Source, cell: cells.Cell, error: Exception, rows: set[int]) -> Damage:
    lines = cell.source.split("\n")
    line = min(max(getattr(error, "lineno", None) or 1, 1), len(lines)) - 1
    what = getattr(error, "msg", None) or str(error) or "too deeply nested"
    if lines[line].lstrip().startswith("```"):
        what = "a line of Markdown, which begins or ends code in a chat; delete it"
    if why := next((why for said, why in INDENTATION.items() if said in what), ""):
        what = f"{what}: {why}"
    text = " ".join((getattr(error, "text", None) or lines[line]).split())[:80]
    problem = WorkError(
        f"{source.place(cell, line)}: syntax error: {what}" + (f": {text}" if text else "."),
        "This is left out until you correct it.",
    )
    if getattr(error, "text", None):  # as Python shows it, with a mark under the place
        shown = (getattr(error, "text", "") or "").rstrip().expandtabs(1)
        offset = (getattr(error, "offset", 1) or 1) - 1 - len(shown) + len(shown.lstrip())
        problem.excerpt = f"{shown.strip()}\n{' ' * offset}^"
    first, last, at = cell.line + min(rows), cell.line + max(rows), f"line {cell.line + line}"
    where = f"Cell {cell.number}, lines {first} to {last} are left out: {at}"
    if len(rows) == len(lines):
        where = f"Cell {cell.number} is left out: {at}"
    elif first == last:
        where = f"Cell {cell.number}, {at} is left out"
    words = f"{where}: {text}: {type(error).__name__}: {what}"
    cut = "\n".join(lines[row] for row in sorted(rows))
    names = [name for match in NAMED.finditer(cut) for name in match.groups() if name]
    names += [name.split()[-1] for row in IMPORTED.findall(cut) for name in row.split(",")]
    return problem, LeftOut(clean(words), tuple(names), "syntax error")


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
        if (tree := cells.tree_or_none(cell.source))
        for node in tree.body
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


def export_to_package(entry: Entry, module: ExportedModule) -> tuple[bool, list[str]]:
    """Write a learner's module into the package, and report code that it replaces.

    Returns (changed, sentences without a full stop).
    """
    sentences = []
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
    lost = _written(old, module.lesson) if old else set()
    if by_hand or lost - _written(module.text, module.lesson) - _in_file(module):
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
    names, unread = set(DEFINED.findall(text)), UNWRITTEN.findall(text)
    return {
        exercise.id
        for exercise in declared.exercises
        if exercise.id not in unread and names.issuperset(DEFINED.findall(exercise.cell.source))
    }


def _in_file(module: ExportedModule) -> set[str]:
    """Ids of the exercises that the learner's file has, though the module does not: a part is left
    out, or what it defines was renamed.
    """
    names = {name for one in module.left_out for name in one.names}
    own = {cell.exercise for cell in module.source.cells if DEFINED.search(cell.source)}
    return {
        exercise.id
        for exercise in module.lesson.exercises
        if names & set(DEFINED.findall(exercise.cell.source))
        or exercise.name in own
        and not module.lesson.is_unwritten(exercise, module.source)
    }
