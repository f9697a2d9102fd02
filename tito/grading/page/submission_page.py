"""The page of a submission: its exercises with their checks, and its code."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tito.grading.gradebook.changes import used_comments
from tito.grading.gradebook.feedback import WORDS
from tito.grading.gradebook.grade import ClassMember, Grade, GradedAnswer
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.history import Change
from tito.grading.page import lexer
from tito.grading.page.class_list import Filter
from tito.grading.result import CheckResult, ExerciseCell
from tito.safe_text import visible

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
    """An exercise's code beside its checks; checks: what their lines show.

    cells  [(a cell, its lines; [] if they are not saved)]
    """

    name: str
    cells: list[tuple[ExerciseCell, "Lines"]]
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
    lines = lines_of(view)
    parts: dict[str, ExercisePart] = {}
    last: dict[str, str] = {}  # {exercise: the message of its last check}
    for check in view.grade.result.checks:
        name = check.exercise
        line = _check_line(view, check)
        # A message that several checks in a row have is shown once.
        line["again"] = bool(line["message"]) and line["message"] == last.get(name)
        last[name] = line["message"] or last.get(name, "")
        if name not in parts:
            cells = view.grade.result.cells.get(name, ())
            shown = [(cell, lines[cell.first - 1 : cell.last]) for cell in cells]
            parts[name] = ExercisePart(name, shown)
        parts[name].checks.append(line)
    groups: dict[str, list[ExercisePart]] = {"wrong": [], "blank": [], "right": []}
    for part in parts.values():
        blank = all(check["word"] in BLANK for check in part.checks)
        groups["blank" if blank else "wrong" if part.wrong else "right"].append(part)
    return groups


def answers_of(view: SubmissionView) -> list[tuple[GradedAnswer, ExercisePart]]:
    """The answers, each as a part whose one check a person judges."""
    parts = []
    for one in view.grade.answers:
        line = {"id": one.question, "name": "answer", "max_points": one.max_points, "passed": False}
        parts.append((one, ExercisePart(one.question, [], [line])))
    return parts


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
Lines = list[tuple[int, Pieces]]  # [(number, pieces)], ready to be shown


def lines_of(view: SubmissionView) -> Lines:
    """The numbered lines of a submission's code, with escapes for invisible characters. The
    template escapes markup. Who the learner is is hidden in comments and strings, but not in names
    of functions. Code that was not highlighted is treated like a comment.
    """
    if not view.code:
        return []
    lines: list[Pieces] = [[]]
    for short, word in lexer.words_of(visible(view.code, LETTERS, LINES)):
        text = view.shown.hide(word) if short in ("c", "s", lexer.UNKNOWN) else word
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
