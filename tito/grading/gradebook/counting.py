"""Compute the Grade of a lesson from results, instructions and the late rules: which submission
counts, and how many points.

The penalty for lateness is computed each time grades are read, so a changed rule or extension takes
effect at once. This module does not access the database.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from tito.grading.gradebook import late
from tito.grading.gradebook.grade import Grade, GradedAnswer, Lateness, Override, ResultRow
from tito.grading.gradebook.instructions import Instructions
from tito.grading.gradebook.learners import LearnerRow
from tito.grading.lms import said
from tito.grading.result import LessonResult
from tito.grading.submission import Arrived, merged


class SubmittedFile(NamedTuple):
    """A file of a lesson that was handed in: the row of `result` that counts for it, which of
    several keys it may have, and what all runs know of its arrival.
    """

    row: ResultRow
    arrived: Arrived

    @property
    def order(self) -> tuple[datetime, datetime, datetime]:
        return (*self.arrived.order, self.row.graded)


def submitted_files(rows: Iterable[ResultRow]) -> list[SubmittedFile]:
    """The rows of one learner's lesson, by file. Beside other earlier lessons the same file may
    have earned less: its best grading counts, so that a learner loses no points over a lesson that
    was not handed in again.
    """
    by_file: dict[str, list[ResultRow]] = {}
    for row in rows:
        by_file.setdefault(row.sha256, []).append(row)
    files = []
    for same in by_file.values():
        known = arrival_of(same[0])
        for row in same[1:]:
            known = merged(known, arrival_of(row))
        best = max(same, key=lambda row: (row.points, row.graded))
        files.append(SubmittedFile(best, known))
    return files


def arrival_of(row: Any) -> Arrived:
    """The arrival of a file, from a row of `result`."""
    return Arrived(row.arrived, row.how, row.late, row.fetched, row.latest)


def counting_grade(
    learner: LearnerRow, rows: Iterable[ResultRow], instructions: Instructions, rules: late.Rules
) -> Grade:
    """The Grade of a learner's lesson: of the submission that counts by the policy of the course.

    rows  of the table `result`, one or more of that lesson

    A file that was not handed in, could not be read or is as it was released counts only when
    there is no other. "best" compares the points after lateness; of equals, the latest counts.
    """
    graded = [
        (make_grade(learner, file, instructions, rules), file) for file in submitted_files(rows)
    ]
    work = [pair for pair in graded if pair[1].row.is_work]
    candidates = work or [pair for pair in graded if pair[1].row.verdict != "missing"] or graded

    def order(pair: tuple[Grade, SubmittedFile]) -> tuple[datetime, datetime, datetime]:
        return pair[1].order

    if rules.policy == "best":
        grade, _ = max(candidates, key=lambda pair: (pair[0].points, order(pair)))
    elif rules.policy == "last-on-time":
        in_time = [pair for pair in candidates if not pair[0].is_late]
        grade, _ = max(in_time, key=order) if in_time else min(candidates, key=order)
    else:
        grade, _ = max(candidates, key=order)
    grade.submissions = len(candidates)
    return grade


def make_grade(
    learner: LearnerRow, file: SubmittedFile, instructions: Instructions, rules: late.Rules
) -> Grade:
    """The Grade of a submission, from the instructions and the late rules."""
    row = file.row
    override, check_overrides = instructions.select_overrides(row)
    answers = instructions.graded_answers(row)
    lateness = lateness_of(file, instructions, rules, free=override is not None)
    earned, by_hand = split_points(row, override, check_overrides, answers)
    before_late = points = late.tidy(earned + by_hand)
    if lateness.percent:
        points = late.tidy(late.penalised(earned, lateness.percent) + by_hand)
    return Grade(
        student=learner.student,
        name=learner.name,
        row=row,
        override=override,
        check_overrides=check_overrides,
        answers=answers,
        lateness=lateness,
        comments=instructions.comments(row.lesson),
        before_late=before_late,
        points=points,
        max_points=row.max_points,
        checks_today=rules.checks_today,
    )


def lateness_of(
    file: SubmittedFile, instructions: Instructions, rules: late.Rules, free: bool
) -> Lateness:
    """free: whether points were set by hand, so that lateness costs nothing."""
    lesson, arrived, how = file.row.lesson, file.arrived.when, file.arrived.how
    extension, due = instructions.extension(lesson), rules.due.get(lesson)
    # A time decides where one is known. A mark is by the date of the collector, who knows nothing
    # of an extension given here.
    marked = arrived is None and bool(file.arrived.late)
    days = late.lateness(arrived, due, extension, rules.grace)
    percent, source = late.percent(days, rules), ""
    if marked and not extension:
        percent, source = rules.mark_percent, f"marked {said(how)}"
    if free:
        percent = Decimal(0)
    return Lateness(
        arrived,
        how,
        marked,
        extension.applied(due) if extension and due else due,
        extension,
        days,
        percent,
        late.reason(days, percent, source),
    )


def split_points(
    row: ResultRow,
    override: Override | None,
    check_overrides: dict[str, Override],
    answers: Sequence[GradedAnswer],
) -> tuple[Decimal, Decimal]:
    """(graded points without overrides, points set by hand).

    Lateness reduces only the first. Points that a person gave for an answer are part of it.
    """
    if override:
        return Decimal(0), override.points
    checks = row.result.checks if check_overrides else ()
    replaced = sum(check.points for check in checks if check.id in check_overrides)
    by_hand = sum((override.points for override in check_overrides.values()), Decimal(0))
    judged = sum((answer.points for answer in answers), Decimal(0))
    return Decimal(max(0, row.points - replaced)) + judged, by_hand


def check_differences(before: LessonResult | None, after: LessonResult) -> list[dict[str, Any]]:
    """The checks whose points changed: [{"id", "name", "old", "new"}]."""
    if not before:
        return []
    old, new = ({check.id: check for check in result.checks} for result in (before, after))
    changes = []
    for check_id in old | new:
        was, now = old.get(check_id), new.get(check_id)
        if was and now and was.points == now.points:
            continue
        changes.append(
            {
                "id": check_id,
                "name": (now or was).name,  # type: ignore[union-attr]  # one of the two is there
                "old": was and was.points,
                "new": now and now.points,
            }
        )
    return changes
