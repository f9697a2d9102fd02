"""The parts of the page of a submission.

A part is a function in PARTS: given a SubmissionView it returns a Part, or None where it has
nothing to show. Its template is rendered with `view`, `part` and the values of the Part.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

from tito.grading.gradebook.changes import used_comments
from tito.grading.gradebook.feedback import WORDS
from tito.grading.gradebook.grade import ClassMember, Grade
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.history import Change
from tito.grading.page import class_list, lexer
from tito.grading.page.class_list import Filter
from tito.grading.result import CheckResult
from tito.grading.safe_text import visible

MARK = re.compile(r"# ?%%")  # how a cell begins
EXERCISE = re.compile(r"\bexercise=\"([^\"]*)\"")
PLACES = {class_list.TO_JUDGE: "answers"}  # {a reason to review: the id of a Part}
WITH_KEY = 9  # comments that have a key
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

    @property
    def learner(self) -> ClassMember:
        return self.shown.learner

    @property
    def handle(self) -> str:
        return self.shown.handle

    @property
    def name(self) -> str:
        return self.shown.name

    def hide(self, text: str) -> str:
        return self.shown.hide(text)


class Part(NamedTuple):
    """A section of a submission's page. title: its heading; id: of the section, for links."""

    id: str
    title: str
    template: str
    values: dict[str, Any]


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
        used_comments(book, lesson, others),
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


def exercises(view: SubmissionView) -> Part | None:
    """The code of each exercise next to its checks, the main part of the page."""
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
    values = {"all": list(parts.values()), "kept": view.code is not None}
    return Part("exercises", "Code and checks", "exercises.html", values)


def _check_line(view: SubmissionView, check: CheckResult) -> dict[str, Any]:
    return {
        "id": check.id,
        "name": check.name,
        "word": WORDS.get(check.status, check.status),
        "passed": check.passed,
        "points": view.grade.check_points(check),
        "max_points": check.max_points,
        "hidden": check.hidden,
        "message": "" if check.passed else view.hide(check.message),
        "cause": check.caused_by,
        "override": view.grade.check_overrides.get(check.id),
    }


def answers(view: SubmissionView) -> Part | None:
    """The answers to the lesson's questions, with the way to where they are judged."""
    all_answers = view.grade.answers
    return (
        Part("answers", "Answers", "answers_of.html", {"all": all_answers}) if all_answers else None
    )


def points(view: SubmissionView) -> Part:
    """The points set by hand, and the form to set points."""
    result = view.grade.result
    overrides = [(None, view.grade.override)] if view.grade.override else []
    overrides += view.grade.check_overrides.items()  # type: ignore[arg-type]
    choices = [("", f"the lesson, of {view.grade.max_points}")]
    choices += [(check.id, f"{check.name}, of {check.max_points}") for check in result.checks]
    return Part("points", "Points", "points.html", {"overrides": overrides, "choices": choices})


def comments(view: SubmissionView) -> Part:
    """The comments for the learner, and comments for other learners, to use again."""
    written = {comment.text for comment in view.grade.comments}
    used = [pair for pair in view.used_comments if pair[0] not in written]
    return Part("comments", "Comments", "comments.html", {"used": used[:WITH_KEY]})


def history(view: SubmissionView) -> Part:
    """Who changed what, when and why."""
    lines = [(change, view.hide(in_words(change))) for change in reversed(view.history)]
    return Part("history", "History", "history.html", {"lines": lines})


PARTS: list[Callable[[SubmissionView], Part | None]] = [
    exercises,
    answers,
    points,
    comments,
    history,
]


def parts_of(view: SubmissionView) -> list[Part]:
    return [part for make in PARTS if (part := make(view))]


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
    for number, line in lines_of(view.code, view.hide):
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
