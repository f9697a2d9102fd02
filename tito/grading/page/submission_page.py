"""The page of a submission: its exercises with their checks, and its code."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tito.grading.gradebook.changes import used_comments
from tito.grading.gradebook.feedback import WORDS
from tito.grading.gradebook.grade import ClassMember, Grade
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.history import Change
from tito.grading.page import lexer
from tito.grading.page.class_list import Filter
from tito.grading.result import CheckResult
from tito.safe_text import visible

MARK = re.compile(r"# ?%%")  # how a cell begins
EXERCISE = re.compile(r"\bexercise=\"([^\"]*)\"")
WITH_KEY = 9  # comments that have a key
BLANK = (WORDS["unwritten"], WORDS["not run"])
LETTERS, LINES = 400_000, 20_000  # of code that are shown


@dataclass
class ShownLearner:
    """The name of a learner on a page.

    handle   the learner in addresses
    name     theirs, or a pseudonym
    hide     a function of text from their side: in anonymous mode it hides who they are
    """

    learner: ClassMember
    handle: str
    name: str
    hide: Callable[[str], str]


@dataclass
class SubmissionView:
    """Everything that the page of one submission shows.

    seen     `Gradebook.last_change` before the rest was read; forms contain it, so that a
             grader cannot overwrite changes that the page did not show
    used_comments  [(text, for how many)]: comments on this lesson, the most used first
    typed    {field: text} of a form that was refused, to show it again
    others   changes that another grader made meanwhile
    """

    grade: Grade
    shown: ShownLearner
    seen: int
    code: str | None
    history: list[Change]
    used_comments: list[tuple[str, int]]
    filter: Filter
    typed: dict[str, str] = field(default_factory=dict)
    others: list[Change] = field(default_factory=list)
    problem: str = ""


def view_of(
    book: Gradebook, shown: ShownLearner, lesson: str, chosen: Filter, others: Collection[str]
) -> SubmissionView | None:
    """The view of a submission, or None where the learner has no grade in that lesson.

    others  ids of the learners whose comments this grader may see
    """
    student = shown.learner.student
    seen = book.last_change(student, lesson)
    grades = list(book.grades(student, lesson))
    if not grades:
        return None
    sha256 = grades[0].result.sha256
    return SubmissionView(
        grades[0],
        shown,
        seen,
        book.code(sha256) if sha256 else None,
        list(book.history(student, lesson)),
        used_comments(book, lesson, others)[:WITH_KEY],
        chosen,
    )


@dataclass
class ExercisePart:
    """An exercise's code beside its checks; checks: what their lines show."""

    name: str
    cell: "CodeCell | None"
    checks: list[dict[str, Any]] = field(default_factory=list)

    @property
    def wrong(self) -> bool:
        return not all(check["passed"] for check in self.checks)

    @property
    def points(self) -> Decimal:
        return sum((check["points"] for check in self.checks), Decimal(0))

    @property
    def max_points(self) -> int:
        return sum(check["max_points"] for check in self.checks)


def exercises_of(view: SubmissionView) -> dict[str, list[ExercisePart]]:
    """The exercises: "wrong", "blank" (nothing is written, or no check ran) and "right"."""
    cells = {cell.exercise: cell for cell in cells_of(view) if cell.exercise}
    lesson = f"{view.grade.lesson}-"  # how an exercise's id begins; its cell has the rest
    parts: dict[str, ExercisePart] = {}
    last: dict[str, str] = {}  # {exercise: the message of its last check}
    for check in view.grade.result.checks:
        name = check.exercise
        cell = cells.get(name) or cells.get(name.removeprefix(lesson))
        line = _check_line(view, check)
        # A message that several checks in a row have is shown once.
        line["again"] = bool(line["message"]) and line["message"] == last.get(name)
        last[name] = line["message"] or last.get(name, "")
        parts.setdefault(name, ExercisePart(name, cell)).checks.append(line)
    groups: dict[str, list[ExercisePart]] = {"wrong": [], "blank": [], "right": []}
    for part in parts.values():
        blank = all(check["word"] in BLANK for check in part.checks)
        groups["blank" if blank else "wrong" if part.wrong else "right"].append(part)
    return groups


def _check_line(view: SubmissionView, check: CheckResult) -> dict[str, Any]:
    return {
        "id": check.id,
        "name": check.name,
        "word": WORDS.get(check.status, check.status),
        "passed": check.passed,
        "points": view.grade.check_points(check),
        "max_points": check.max_points,
        "hidden": check.hidden,
        "message": "" if check.passed else view.shown.hide(check.message),
        "cause": check.caused_by,
        "override": view.grade.check_overrides.get(check.id),
    }


def in_words(change: Change) -> str:
    """An entry of the history in a sentence, without who and when."""
    words = change.words()
    return f"{change.kind} {change.move}".strip() + f": {words}" * bool(words)


# The code.

Pieces = list[tuple[str, str]]  # [(class, text)]


@dataclass
class CodeCell:
    """A cell of a lesson file. lines: [(number, pieces)], ready to be shown."""

    exercise: str
    lines: list[tuple[int, Pieces]]


def cells_of(view: SubmissionView) -> list[CodeCell]:
    """The code of a submission, cell by cell."""
    if not view.code:
        return []
    cells: list[CodeCell] = []
    for number, line in lines_of(view.code, view.shown.hide):
        text = "".join(part for _, part in line)
        if MARK.match(text) or not cells:
            name = EXERCISE.search(text) if MARK.match(text) else None
            cells.append(CodeCell(name[1] if name else "", []))
        cells[-1].lines.append((number, line))
    for cell in cells:
        while len(cell.lines) > 1 and not "".join(part for _, part in cell.lines[-1][1]).strip():
            cell.lines.pop()
    return cells


def lines_of(code: str, hide: Callable[[str], str] = str) -> list[tuple[int, Pieces]]:
    """The numbered lines of Python code, with escapes for invisible characters. The template
    escapes markup.

    hide  as in ShownLearner, applied to comments and strings, but not to names of functions. Code
          that was not highlighted is treated like a comment.
    """
    lines: list[Pieces] = [[]]
    for short, word in lexer.words_of(visible(code, LETTERS, LINES)):
        text = hide(word) if short in ("c", "s", lexer.UNKNOWN) else word
        short = short.strip(lexer.UNKNOWN)
        for number, part in enumerate(text.split("\n")):
            if number:
                lines.append([])
            line = lines[-1]
            if part and line and line[-1][0] == short:
                line[-1] = (short, line[-1][1] + part)
            elif part:
                line.append((short, part))
    return list(enumerate(lines, 1))
