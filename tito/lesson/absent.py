"""Why an exported module lacks a name that the course's has: looked for in the learner's file, and
said in the same words by `tito test` and `tito grade`.
"""

import difflib
import functools
import re
from collections.abc import Iterable, Iterator, Mapping

from tito.lesson import cells
from tito.lesson.export import ExportedModule, exported_names
from tito.lesson.lesson_format import Lesson
from tito.lesson.outcome import LACKS, LeftOut, clean
from tito.lesson.statements import bound_by

# As `cells.comment_magics` writes it.
ASSIGNED = re.compile(r"^# *(\w+) *= *(?:%[A-Za-z]|![^=\s]).*", re.M)
DEFINES = r"^(?:(?:(?:async )?def|class) +{0}\b|{0} *(?::[^=\n]+)?=(?!=))"


def absent_names(module: ExportedModule) -> dict[str, str]:
    """{name that the module lacks: why}, of those that the course's lesson defines and of those in
    what Python cannot read.
    """
    why = left_out_names(module.left_out)
    bound = _bound(module.text)
    for cell in module.source.exported:
        for match in ASSIGNED.finditer(cell.source):
            why[match[1]] = (
                f"cell {cell.number}, line {_line(cell, match)}, `{match[0][2:].strip()}`, is a "
                "command of notebooks and left out."
            )
    for name in exported_names(module.lesson):
        if name not in bound and name not in why:
            why[name] = clean(_reason(name, module.source, module.lesson, bound))
    return {name: words for name, words in why.items() if name not in bound}


def with_reason(message: str, name: str, absent: Mapping[str, str]) -> str:
    """The message of an error that says that a name is missing, and why it is."""
    if name not in absent:
        return message
    if message.startswith(LACKS.partition("{")[0]):
        return LACKS.format(name, absent[name])
    return f"{message.partition('. Did you mean ')[0]}: {absent[name]}"


def left_out_names(left_out: Iterable[LeftOut]) -> dict[str, str]:
    """{name that is missing because its statement is left out: why}."""
    return {name: one.words[:1].lower() + one.words[1:] for one in left_out for name in one.names}


@functools.lru_cache(maxsize=64)
def _bound(text: str) -> set[str]:
    return {name for node in cells.tree_of(text).body for name in bound_by(node)}


def _reason(name: str, source: cells.Source, lesson: Lesson, bound: set[str]) -> str:
    """Why a name is not in the module, as far as the file tells."""
    for found in (_elsewhere(name, source), _inside(name, source), _commented(name, source)):
        if words := next(found, ""):
            return words
    exercise = next(
        (e for e in lesson.exercises if re.search(DEFINES.format(name), e.cell.source, re.M)), None
    )
    cell = source.cell(exercise.name) if exercise else None
    if not cell or not exercise:
        return f"no cell does. Undo that in your editor, or begin anew: `tito reset {lesson.name}`."
    if cell.kind != "code":
        return f"its cell, cell {cell.number}, is no code cell."
    if magic := cells.magic_of(cell.source):
        return f"its cell, cell {cell.number}, begins with `{magic}`, so it is not Python."
    own = [name for name in _names(cell) if name not in _names(exercise.cell)]
    if close := difflib.get_close_matches(name, own, 1, 0.5) or own[:1]:
        return f"its cell, cell {cell.number}, defines {close[0]}. Was it renamed?"
    if "export" not in cell.directives and "exporti" not in cell.directives:
        return f"its cell, cell {cell.number}, lacks the line `#| export`."
    return f"its cell, cell {cell.number}, does not."


def _names(cell: cells.Cell) -> list[str]:
    found = re.findall(DEFINES.format(r"(\w+)"), cell.source, re.M)
    return [name for pair in found for name in pair if name]


def _elsewhere(name: str, source: cells.Source) -> Iterator[str]:
    """It is in a cell that is not exported."""
    for cell in source.cells:
        if cell in source.exported:
            continue
        if match := re.search(DEFINES.format(name), cell.source, re.M):
            place = f"cell {cell.number}, line {_line(cell, match)}"
            if cell.kind != "code":
                yield f"{place} does, but that is no code cell."
            yield f"{place} does, but that cell does not begin with `#| export`."


def _inside(name: str, source: cells.Source) -> Iterator[str]:
    """It is indented, so that it belongs to another definition."""
    for cell in source.exported:
        pattern = rf"^[ \t]+(?:(?:async )?def|class) +{name}\b"
        for match in re.finditer(pattern, cell.source, re.M):
            lines = cell.source[: match.start()].split("\n")
            heads = [h for row in lines if (h := re.match(r"(?:def|class) +(\w+)", row))]
            if heads:
                yield (
                    f"cell {cell.number}, line {_line(cell, match)} does, but inside of "
                    f"{heads[-1][1]}. Indent it less."
                )


def _commented(name: str, source: cells.Source) -> Iterator[str]:
    """It is commented out."""
    for cell in source.cells:
        match = re.search(rf"^\s*#[# ]*(?:def|class) +{name}\b", cell.source, re.M)
        if match and cell.kind == "code" and not cells.magic_of(cell.source):
            yield f"it is commented out in cell {cell.number}, line {_line(cell, match)}."


def _line(cell: cells.Cell, match: "re.Match[str]") -> int:
    start = match.start() + len(match[0]) - len(match[0].lstrip("\n"))
    return cell.line + cell.source[:start].count("\n")
