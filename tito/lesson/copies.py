"""An exercise that is more than once in a learner's file, because its cell was copied: which one
counts, and what is said about it.
"""

import re

from tito.lesson import cells
from tito.lesson.lesson_format import Exercise, Lesson, stub

DEFINED = re.compile(r"^(?:async )?(?:def|class) (\w+)", re.M)


def without_stubs(source: cells.Source, lesson: Lesson) -> list[cells.Cell]:
    """The exported cells, without those that would replace a written exercise by its stub."""
    stubs = {copy for copy, _, _ in _copied_stubs(source, lesson)}
    return [cell for cell in source.exported if cell not in stubs]


def notes_on(source: cells.Source, lesson: Lesson) -> list[str]:
    """A sentence for each exercise that is defined more than once."""
    notes = [
        f"{exercise.id} is in {_place(copy)} as released, and written in {_place(written)}, "
        "which counts."
        for copy, written, exercise in _copied_stubs(source, lesson)
    ]
    kept = without_stubs(source, lesson)
    for exercise in lesson.exercises:
        for name in _names(exercise):
            places = [cell for cell in kept for _ in _definitions(name, cell)]
            usual = [cell for cell in lesson.source.exported for _ in _definitions(name, cell)]
            if len(places) > max(1, len(usual)):
                where = ", ".join(_place(cell, name) for cell in dict.fromkeys(places))
                count = {2: "twice"}.get(len(places), f"{len(places)} times")
                notes.append(f"{name} is defined {count}, in {where}: the last that runs counts.")
    return notes


def _copied_stubs(
    source: cells.Source, lesson: Lesson
) -> list[tuple[cells.Cell, cells.Cell, Exercise]]:
    """(its cell, the cell in which it is written, the exercise) of each stub of an exercise that is
    also written.
    """
    found = []
    for exercise in lesson.exercises:
        line, names = stub(lesson.name, exercise.name), set(_names(exercise))
        holders = [c for c in source.exported if names and names <= set(DEFINED.findall(c.source))]
        written = [cell for cell in holders if line not in cell.source]
        if written and len(holders) > len(written):
            found += [(c, written[-1], exercise) for c in holders if line in c.source]
    return found


def _names(exercise: Exercise) -> list[str]:
    return DEFINED.findall(exercise.stub)


def _definitions(name: str, cell: cells.Cell) -> list[str]:
    return [found for found in DEFINED.findall(cell.source) if found == name]


def _place(cell: cells.Cell, name: str = "") -> str:
    lines = cell.source.split("\n")
    rows = [
        n for n, row in enumerate(lines) if re.match(rf"(?:async )?(?:def|class) {name}\b", row)
    ]
    return f"cell {cell.number}" + (f" (line {cell.line + rows[0]})" if name and rows else "")
