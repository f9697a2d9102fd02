"""Show what a run of `tito grade` would change.

The run grades into a temporary copy of the gradebook, which is then compared with the gradebook.
So late rules, overrides and the choice between several submissions apply as in a real run.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from tito.grading.gradebook import late
from tito.grading.gradebook.counting import check_differences
from tito.grading.gradebook.database import connect
from tito.grading.gradebook.grade import Grade
from tito.grading.gradebook.gradebook import Gradebook


@dataclass(frozen=True)
class Difference:
    """A grade that would change.

    old, new  the points that count; old None: no grade yet
    graded    (before, after) what the checks earned; before None as old
    max_points  after
    reasons   why, in words
    checks    [{"id", "name", "old", "new"}]: the checks whose points would change
    """

    student: str
    name: str
    lesson: str
    old: Decimal | None
    new: Decimal
    graded: tuple[int | None, int]
    max_points: int
    reasons: list[str]
    checks: list[dict[str, Any]]

    def as_json(self) -> dict[str, Any]:
        numbers = {
            "old": None if self.old is None else late.plain_number(self.old),
            "new": late.plain_number(self.new),
        }
        return vars(self) | numbers | {"graded": list(self.graded)}


@contextmanager
def copied(book: Gradebook) -> Iterator[Gradebook]:
    """A temporary copy of the gradebook."""
    with (
        tempfile.TemporaryDirectory(prefix="tito-trial-") as folder,
        connect(Path(folder) / "gradebook.db") as engine,
    ):
        yield book.copy(engine)


def compare(book: Gradebook, trial: Gradebook) -> Iterator[Difference]:
    """The Differences between a gradebook and its copy after a run, by learner and lesson. One
    learner's grades are in memory at a time.
    """
    for old, grade in _pairs(book, trial):
        points = (old.points, old.result.points, old.max_points) if old else None
        if points == (grade.points, grade.result.points, grade.max_points):
            continue
        yield Difference(
            grade.student,
            grade.name,
            grade.lesson,
            old.points if old else None,
            grade.points,
            (old.result.points if old else None, grade.result.points),
            grade.max_points,
            _reasons(old, grade),
            check_differences(old.result if old else None, grade.result),
        )


def _pairs(book: Gradebook, trial: Gradebook) -> Iterator[tuple[Grade | None, Grade]]:
    """(Grade of before, or None; Grade of after) of each grade after. Both gradebooks give their
    learners by id; a learner of before may be gone, merged into another.
    """
    learners = book.by_learner()
    learner, grades = next(learners, (None, []))
    for now, after in trial.by_learner():
        while learner and learner.student < now.student:
            learner, grades = next(learners, (None, []))
        same = learner is not None and learner.student == now.student
        before = {grade.lesson: grade for grade in grades} if same else {}
        for grade in after:
            yield before.get(grade.lesson), grade


def _reasons(old: Grade | None, new: Grade) -> list[str]:
    """Why a grade would change, apart from the results of its checks."""
    if not old:
        return [reason for reason in ("not graded before", new.late_reason) if reason]
    reasons = []
    if old.result.sha256 != new.result.sha256:
        reasons.append("another file of the lesson")
    if old.result.verdict != new.result.verdict:
        reasons.append(f"{old.result.verdict}, then {new.result.verdict}")
    if old.late_reason != new.late_reason:
        reasons.append(f"{old.late_reason or 'in time'}, then {new.late_reason or 'in time'}")
    if old.max_points != new.max_points:
        reasons.append(f"of {old.max_points}, then of {new.max_points} points")
    if old.points == new.points:
        by_hand = [new.override] if new.override else new.check_overrides.values()
        for override in by_hand:
            points = late.shown(override.points)
            reasons.append(f"the override to {points} by {override.who} hides it")
    return reasons
