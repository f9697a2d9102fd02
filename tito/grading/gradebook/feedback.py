"""A feedback page for each learner, with the results of the checks, the points and the reasons; and
a table of all learners for the instructor.

A learner sees only the name of a hidden check and whether it passed. The pages depend only on the
gradebook: the same grades give the same bytes, and an unchanged page is not written again. The file
name of a page contains a secret, so that learners cannot guess the address of another page.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from tito.errors import UsageError
from tito.grading.gradebook import html_pages
from tito.grading.gradebook.grade import ClassMember, Grade, Override
from tito.grading.gradebook.late import shown
from tito.grading.result import NOT_HANDED_IN, VERDICTS, CheckResult
from tito.html import render

# Statuses in words for learners.
WORDS = {
    "passed": "passed",
    "failed": "failed",
    "error": "failed with an error",
    "unwritten": "not written yet",
    "timeout": "took too long",
    "memory": "needed too much memory",
    "crashed": "crashed",
    "tampered": "sent an unexpected answer",
    "not run": "did not run",
}
REFERENCE = (
    "Checked with the course's earlier lessons instead of yours, so that a mistake in yours costs "
    "no points here."
)


@dataclass(frozen=True)
class FeedbackPage:
    """One learner's page.

    points, max_points  of all graded lessons; max_points 0: no lesson is graded
    """

    learner: ClassMember
    path: Path
    points: Decimal
    max_points: int


def write(
    folder: Path, learners: Iterable[tuple[ClassMember, list[Grade]]], course: str
) -> tuple[list[FeedbackPage], list[Path]]:
    """Write a page per learner into `folder`/learners, and `folder`/index.html, the instructor's
    table.

    learners  as `Gradebook.by_learner` gives them
    course    its name
    Returns (the pages, the paths that were written because they changed).
    """
    if folder.is_file():
        raise UsageError(f"{folder} is a file.", "Name a folder.")
    pages, rows, written = [], [], []
    for learner, grades in learners:
        name = f"learners/{html_pages.file_name(learner.student)}-{learner.page}.html"
        written += html_pages.write(folder, {name: page(learner, grades, course)})
        points = sum((grade.points for grade in grades), Decimal(0))
        most = sum(grade.max_points for grade in grades)
        pages.append(FeedbackPage(learner, folder / name, points, most))
        lessons = {
            grade.number: (grade.title, shown(grade.points), grade.result.verdict)
            for grade in grades
        }
        rows.append((learner, name, lessons, _total(grades)))
    written += html_pages.write(folder, {"index.html": index(rows, course)})
    return pages, written


def page(learner: ClassMember, grades: list[Grade], course: str) -> str:
    """The page of one learner as HTML. `grades`: theirs, in the order of the course."""
    grades = [
        replace(grade, row=grade.row._replace(value=grade.result.for_learner())) for grade in grades
    ]
    named = {grade.lesson: f"{grade.number:02} {grade.lesson}" for grade in grades}
    return render(
        "gradebook/feedback.html",
        learner=learner,
        course=course,
        verdicts=VERDICTS,
        reference=REFERENCE,
        not_handed_in=NOT_HANDED_IN,
        total=_total(grades),
        lessons=[(grade, arithmetic(grade), exercises(grade, named)) for grade in grades],
    )


def index(rows: list[Any], course: str) -> str:
    """The instructor's table as HTML: the points of each learner in each lesson.

    rows   [(learner, path of the page, {lesson number: (title, points, verdict)}, total)]
    """
    titles = {
        number: title for _, _, lessons, _ in rows for number, (title, _, _) in lessons.items()
    }
    return render(
        "gradebook/feedback_index.html", course=course, titles=sorted(titles.items()), rows=rows
    )


def _total(grades: list[Grade]) -> dict[str, Any]:
    return {
        "points": shown(sum((grade.points for grade in grades), Decimal(0))),
        "max_points": sum(grade.max_points for grade in grades),
    }


def arithmetic(grade: Grade) -> list[str]:
    """Sentences that explain why the points that count differ from the points that the checks
    earned; [] if they are the same.

    The instructor's reason for an override ("as Bob's") is not shown. A comment is for the learner.
    """
    if grade.override:
        return [
            f"The checks earned {_points(grade.result.points)}. {grade.override.who} set the "
            f"lesson to {shown(grade.points)}."
        ]
    sentences = [f"{grade.parts()}.".capitalize()] if grade.answers else []
    if grade.check_overrides:
        sentences.append(
            f"The checks earned {_points(grade.result.points)}. With the points set by graders "
            f"it is {_points(grade.before_late)}."
        )
    lateness = grade.lateness
    if lateness.due and lateness.arrived and (lateness.days or lateness.extension):
        due = _when(lateness.due, lateness.due) + " with your extension" * bool(lateness.extension)
        late = lateness.reason if lateness.days else "not late"
        sentences.append(f"Handed in {_when(lateness.arrived, lateness.due)}, due {due}: {late}.")
    elif grade.is_late:
        sentences.append(f"{lateness.reason[0].upper()}{lateness.reason[1:]}.")
    if grade.is_late:
        sentences.append(_late_sum(grade))
    return sentences


def _late_sum(grade: Grade) -> str:
    """How late rules change the points: graded points are reduced, points set by hand are not."""
    by_hand = sum((override.points for override in grade.check_overrides.values()), Decimal(0))
    earned = shown(grade.before_late - by_hand)
    rest = ""
    if grade.check_overrides:
        rest = f", and {shown(by_hand)} set by graders, which lateness does not change, make "
        rest += shown(grade.points)
    return (
        f"{earned} - {shown(grade.lateness.percent)} % of {earned} = "
        f"{_points(grade.points - by_hand)}{rest}."
    )


def _points(number: Decimal | int) -> str:
    return f"{shown(number)} point{'s' * (number != 1)}"


def _when(moment: datetime, due: datetime) -> str:
    """A time in the time zone of the due date: 2026-12-01 23:59 (UTC+01:00)."""
    return f"{moment.astimezone(due.tzinfo):%Y-%m-%d %H:%M (%Z)}"


@dataclass
class ShownCheck:
    """A check as its learner sees it: of a hidden check only its name and whether it passed.

    message    None where it is said elsewhere; again: by an earlier check
    cause      the lesson that is at fault, or None
    reference  whether it was checked on the course's earlier lessons, unlike the others
    """

    name: str
    word: str
    passed: bool
    points: Decimal
    max_points: int
    hidden: bool
    override: Override | None
    message: str | None = None
    again: bool = False
    cause: str | None = None
    reference: bool = False


@dataclass
class ShownExercise:
    """An exercise and its checks. open: whether there is something to tell of it."""

    id: str
    points: Decimal = Decimal(0)
    max_points: int = 0
    checks: list[ShownCheck] = field(default_factory=list)
    open: bool = False


def exercises(grade: Grade, named: dict[str, str]) -> list[ShownExercise]:
    """The exercises of a Grade. `named` {lesson: "01 tensor"}."""
    shown_exercises: dict[str, ShownExercise] = {}
    messages: set[str] = set()  # that the page has already
    for check in grade.result.checks:
        exercise = shown_exercises.setdefault(check.exercise, ShownExercise(check.exercise))
        line = _shown_check(grade, check, named, messages)
        exercise.points += line.points
        exercise.max_points += line.max_points
        exercise.open |= not line.passed or bool(line.cause or line.override)
        exercise.checks.append(line)
    return list(shown_exercises.values())


def _shown_check(
    grade: Grade, check: CheckResult, named: dict[str, str], messages: set[str]
) -> ShownCheck:
    line = ShownCheck(
        check.name,
        WORDS.get(check.status, check.status),
        check.passed,
        grade.check_points(check),
        check.max_points,
        check.hidden,
        grade.check_overrides.get(check.id),
    )
    if not check.hidden:  # of a hidden check, nothing else leaves this function
        line.cause = named.get(check.caused_by, check.caused_by) if check.caused_by else None
        line.reference = check.base == "reference" and grade.result.base != "reference"
        if not check.passed and check.message not in (grade.result.reason, "did not run", ""):
            line.again = check.message in messages
            line.message = None if line.again else check.message
            messages.add(check.message)
    return line
