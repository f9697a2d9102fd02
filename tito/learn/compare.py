"""The course's own solution of an exercise next to the learner's, once that is right, and its
answer to a question, once the learner has written one.

They are in the course that the workspace was made from or, in a release that was made with its
solutions, beside the pristine lesson.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from tito.errors import UsageError, WorkError
from tito.learn import notebook_sync, progress, workspace
from tito.learn.runner import CheckSelection, test_checks
from tito.learn.verdict import given_up_note, short
from tito.lesson import cells
from tito.lesson.course import PRISTINE, Entry
from tito.lesson.lesson_format import (
    ANSWER,
    GIVEN_UP,
    MARK,
    SOLUTIONS,
    Exercise,
    Question,
    asked,
)

RELEASE = Path(".tito", "release.json")


@dataclass
class Comparison:
    """Two solutions of an exercise, without docstrings and marks; or two answers to a question.

    place  where the learner's is
    notes  sentences about what was overwritten, and where its copy is
    """

    exercise: str
    place: str
    yours: str
    solution: str
    notes: list[str] = field(default_factory=list)


def compare(entry: Entry, exercise: Exercise, give_up: bool = False) -> Comparison:
    """The learner's code of an exercise beside the solution.

    give_up  even if the exercise does not pass its checks: it is marked in the learner's file,
             and earns no points until it is reset

    Raises TitoError when the course does not hold or show solutions, and, without `give_up`, while
    the exercise does not pass its checks.
    """
    code = solution_of(entry, exercise)
    record = progress.record_of(entry)
    source = notebook_sync.read(entry, record)
    cell = source.cell(exercise.name)
    notes: list[str] = []
    is_given_up = exercise.id in entry.declared.given_up(source)
    if not is_given_up:
        try:
            notes = _passed(entry, exercise, source)
        except WorkError:
            if not (give_up and cell):
                raise
            workspace.change_exercise(entry, exercise, "compare --give-up", with_mark)
            is_given_up = True
    assert cell
    if is_given_up:
        notes.append(given_up_note(exercise.id))
    place = short(source.place(cell), entry)
    return Comparison(exercise.id, place, plain(cell.source), plain(code), notes)


def compare_answer(entry: Entry, question: Question) -> Comparison:
    """The learner's answer to a question beside the course's. Raises TitoError when the course does
    not hold or show its answer, and while the learner has written none.
    """
    source = notebook_sync.read(entry, progress.record_of(entry))
    id, model = f"{entry.name}-{question.name}", solution_of(entry, question)
    cell, answer = source.cell(question.name), entry.declared.answers(source)[question.name]
    place = short(source.place(cell) if cell else str(source.path), entry)
    if not answer:
        raise WorkError(
            f"{id} is not answered yet; the course's answer is shown when yours is written.",
            f"Write it in {place}, below the line {ANSWER}",
        )
    return Comparison(id, place, answer, model)


def solution_of(entry: Entry, task: Exercise | Question) -> str:
    """The course's code of an exercise, or its answer to a question. Raises TitoError if the course
    does not have or show it.
    """
    root = entry.root
    if root.is_course:
        raise UsageError(
            f"{root.path} is the course itself: its lessons contain the solutions.",
            "Run it in a workspace: tito init ../my-tinytorch",
        )
    beside = root.path / PRISTINE / entry.folder / SOLUTIONS
    if beside.exists():
        cell = next((c for c in cells.read(beside).cells if c.title == task.name), None)
        return cell.source if cell and cell.source else _missing(entry, "This release")
    if (root.path / RELEASE).exists():  # made for a class; the course installed here is not
        _missing(entry, "This release")
    reference = root.reference
    lesson = next((other.declared for other in reference.lessons if other.name == entry.name), None)
    tasks: list[Exercise | Question] = [*lesson.exercises, *lesson.questions] if lesson else []
    theirs = next((one for one in tasks if one.name == task.name), None)
    if not theirs or not any(map(MARK.match, theirs.cell.source.split("\n"))):
        _missing(entry, f"The course at {reference.path}")
    if not reference.compare:
        raise UsageError(
            f"{reference.name} does not show its solutions (compare = false in its tito.toml).",
            f"`tito hint {task.id}` helps further."
            if isinstance(task, Exercise)
            else "A person grades your answer and can tell you more.",
        )
    if asked(theirs) != asked(task):
        raise UsageError(
            f"The course at {reference.path} has another {entry.name}-{task.name} than this "
            "workspace.",
            f"`tito update {reference.path}` brings its edition under your work.",
        )
    return theirs.sample if isinstance(theirs, Question) else theirs.cell.source


def _missing(entry: Entry, what: str) -> NoReturn:
    raise UsageError(
        f"{what} does not hold the solutions of {entry.name}.",
        "An instructor can include them: `tito release --with-solutions`.",
    )


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


def with_mark(code: str) -> str:
    """The code of an exercise with the line that says that it is given up."""
    lines = code.split("\n")
    at = next((n for n, line in enumerate(lines) if not line.startswith("#|")), 0)
    return "\n".join([*lines[:at], GIVEN_UP, *lines[at:]])


def _not_right(exercise: Exercise, how: str) -> WorkError:
    return WorkError(
        f"{exercise.id} {how}; the solution is shown when it is right.",
        f"`tito test {exercise.id}` says what is wrong, `tito hint {exercise.id}` helps; "
        f"`tito compare {exercise.id} --give-up` shows it, for 0 points.",
    )


def plain(code: str) -> str:
    """Code without docstrings, directives and solution markers."""
    lines = code.split("\n")
    out = {n for n, line in enumerate(lines) if MARK.match(line) or line.startswith("#|")}
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
