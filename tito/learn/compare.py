"""The course's own solution of an exercise next to the learner's, once that is right."""

import ast
from collections.abc import Iterator

from tito.errors import WorkError
from tito.learn import notebook_sync, progress
from tito.learn.runner import CheckSelection, test_checks
from tito.learn.solutions import Comparison, solution_of
from tito.learn.verdict import short
from tito.lesson import cells
from tito.lesson.course import Entry
from tito.lesson.lesson_format import MARK, Exercise


def compare(entry: Entry, exercise: Exercise) -> Comparison:
    """The learner's code of an exercise beside the solution.

    Raises TitoError when the course does not hold or show solutions, and while the exercise does
    not pass its checks.
    """
    code = solution_of(entry, exercise)
    source = notebook_sync.read(entry, progress.record_of(entry))
    notes = _passed(entry, exercise, source)
    cell = source.cell(exercise.name)
    assert cell
    place = short(source.place(cell), entry)
    return Comparison(exercise.id, place, plain(cell.source), plain(code), notes)


def _passed(entry: Entry, exercise: Exercise, source: cells.Source) -> list[str]:
    """The notes of a run in which the exercise passed. Raises WorkError where it does not pass."""
    if not source.cell(exercise.name) or entry.declared.is_unwritten(exercise, source):
        raise _not_right(exercise, "is not written yet")
    result = test_checks(entry, CheckSelection([exercise.id]))
    if not result.checks_run:
        raise WorkError(result.reason, result.remedy)
    if any(check.costs_points for check in result.checks if check.exercise == exercise.id):
        raise _not_right(exercise, "does not pass its checks")
    return result.notes


def _not_right(exercise: Exercise, how: str) -> WorkError:
    return WorkError(
        f"{exercise.id} {how}; the solution is shown when it is right.",
        f"`tito test {exercise.id}` says what is wrong, `tito hint {exercise.id}` helps; "
        f"`tito skip {exercise.id}` takes the course's code, for 0 points.",
    )


def plain(code: str) -> str:
    """Code without docstrings, directives and solution markers."""
    lines = code.split("\n")
    out = {n for n, line in enumerate(lines) if MARK.match(line) or cells.DIRECTIVE.match(line)}
    tree = cells.tree_or_none(code)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and len(node.body) > 1:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                out |= set(range(first.lineno - 1, first.end_lineno or 0))
    rows = [line for n, line in enumerate(lines) if n not in out]
    return "\n".join(_without_gaps(rows)).strip("\n")


def _without_gaps(rows: list[str]) -> Iterator[str]:
    """Lines without an empty one below the line that begins a block."""
    for number, row in enumerate(rows):
        above = rows[number - 1].rstrip() if number else ""
        if row.strip() or not above.endswith(":"):
            yield row
