"""The course's own solution of an exercise, and its answer to a question, which is shown once the
learner has written one.

They are in the course that the workspace was made from or, in a release that was made with its
solutions, beside the pristine lesson.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from tito.errors import UsageError, WorkError
from tito.learn import notebook_sync, progress
from tito.learn.verdict import short
from tito.lesson import cells
from tito.lesson.course import PRISTINE, Entry
from tito.lesson.lesson_format import ANSWER, MARK, SOLUTIONS, Exercise, Question, asked

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
    reference = root.reference.whole
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
