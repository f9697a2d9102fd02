"""Changes by instructors: points, extensions and comments.

Each change is an entry of the history, with who, when and why. A change to the current value writes
nothing. Functions raise UsageError for an unknown learner, lesson or check and for an empty `who`
or `why`, and ChangedMeanwhile if the history has an entry about the grade that is later than
`seen`.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from tito.errors import TitoError, UsageError, suggest
from tito.grading.gradebook.database import read, write
from tito.grading.gradebook.grade import EMPTY, Comment, Grade, GradedAnswer
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.history import (
    ChangedMeanwhile,
    add_change,
    check_seen,
    instructions_about,
)
from tito.grading.gradebook.instructions import Instructions
from tito.grading.gradebook.learners import lock_learner, lock_learners
from tito.grading.gradebook.requested_changes import RequestedChange, refuse_lines
from tito.grading.gradebook.tables import CHANGE, sql
from tito.grading.result import LessonResult


@dataclass(frozen=True)
class ChangeOutcome:
    """The outcome of a requested change.

    name    of the learner
    is_new  whether something was written; False if the value was already set
    old, new  the points of the lesson that count, before and after; None without a grade
    """

    change: RequestedChange
    is_new: bool
    name: str = ""
    old: Decimal | None = None
    new: Decimal | None = None


def apply_changes(
    book: Gradebook,
    changes: Iterable[RequestedChange],
    who: str,
    preview: bool = False,
    seen: int | None = None,
) -> list[ChangeOutcome]:
    """Make these changes. If one of them is impossible, none is made.

    preview  write nothing; return the outcomes that the changes would have
    seen     the `last_change` that the author of the changes has seen

    Raises UsageError with every line that cannot be done.
    """
    wanted = list(changes)

    def work(database: sql.Connection) -> list[ChangeOutcome]:
        lock_learners(database, {change.student for change in wanted})
        return _apply_all(book, database, wanted, who, seen)

    return write(book.engine, work, preview)


def _apply_all(
    book: Gradebook,
    database: sql.Connection,
    changes: list[RequestedChange],
    who: str,
    seen: int | None,
) -> list[ChangeOutcome]:
    """The outcome of each change. Raises UsageError for the lines that cannot be done."""
    results: list[ChangeOutcome] = []
    refused: list[str] = []
    changed: set[str] = set()
    for change in changes:
        try:
            # The next change of a learner must not find this one.
            only = None if change.student in changed else seen
            results.append(_apply(book, database, change, who, only))
            changed.add(change.student)
        except TitoError as error:
            if not change.where:
                raise
            refused.append(f"{change.where}: {error.what} {error.remedy}".rstrip())
    refuse_lines(refused)
    return results


def _apply(
    book: Gradebook, database: sql.Connection, change: RequestedChange, who: str, seen: int | None
) -> ChangeOutcome:
    why = "-" if change.kind == "comment" else change.why
    learner = lock_learner(database, change.student, who, why).student
    check_seen(database, learner, change.lesson, seen, change.check if change.answer else None)
    before = book.grades_within(database, learner, [change.lesson] if change.lesson else [])
    grade = next(iter(before.values()), None)
    if change.kind == "override":
        change, entry = _override(database, learner, change, who, grade)
    elif change.kind == "extension":
        entry = _extend(database, learner, change, who)
    else:
        entry = _comment(database, learner, change, who)
    if not grade:
        return ChangeOutcome(change, entry is not None)
    after = book.grades_within(database, learner, [grade.lesson])[grade.lesson]
    if entry and change.kind == "override":
        query = sql.update(CHANGE).where(CHANGE.c.id == entry)
        database.execute(query.values(new_points=after.before_late))
    return ChangeOutcome(change, entry is not None, grade.name, grade.points, after.points)


def _override(
    database: sql.Connection, student: str, change: RequestedChange, who: str, grade: Grade | None
) -> tuple[RequestedChange, int | None]:
    """Set the points of a lesson, of one of its checks or of an answer, or remove such an override.
    Returns the change with the full id of its check, and the entry of the history, or None if the
    points were already set.
    """
    lesson = change.lesson or ""
    if not grade:
        raise UsageError(
            f"{student} has no grade in {lesson} yet.",
            f"Grade it first, even if nothing was handed in: tito grade SUBMISSIONS {lesson}",
        )
    instructions, result = instructions_about(database, student), grade.result
    change = replace(change, check=_check_of(change, result, instructions))
    if change.points is not None:
        _check_points(change.points, result, change.check)
    old = instructions.overrides.get((lesson, change.check))
    points = {check.id: check.points for check in result.checks}
    graded = points.get(change.check or "", result.points)
    answered: dict[str, str] = {}
    for answer in grade.answers:
        if answer.question == change.check:
            check_answer(change, answer)
            old, graded, answered = answer.override, 0, {"answer": answer.answer.sha256}
    if change.points == (old and old.points) and (not old or old.graded == graded):
        return change, None
    return change, add_change(
        database,
        student,
        lesson,
        "override",
        who,
        why=change.why,
        text=f"instead of {old.points} by {old.who}" if old else None,
        check_id=change.check,
        points=change.points,
        old_points=grade.before_late,
        replaced={"graded": graded, **answered},
    )


def check_answer(change: RequestedChange, graded: GradedAnswer) -> None:
    """Raise UsageError for an answer that cannot be judged like this."""
    if change.answer not in (None, graded.answer.sha256):
        raise ChangedMeanwhile([], "The learner handed in another answer, which counts now,")
    if graded.state == EMPTY:
        raise UsageError(
            f"{change.student} wrote nothing for {change.lesson} {change.check}: it counts 0.",
            "Set the points of the lesson: "
            f"tito gradebook set {change.student} {change.lesson} --points P",
        )


def _check_of(
    change: RequestedChange, result: LessonResult, instructions: Instructions
) -> str | None:
    """The id of the check that an override names by a part of it, or a question; None for the
    lesson.
    """
    ids = [check.id for check in result.checks] + [answer.question for answer in result.answers]
    if change.points is None:  # the override may be for a check that the lesson no longer has
        places = instructions.overrides
        ids += [check for lesson, check in places if lesson == change.lesson and check]
    return change.check and select_check(change.check, result.lesson, list(dict.fromkeys(ids)))


def _comment(
    database: sql.Connection, student: str, change: RequestedChange, who: str
) -> int | None:
    """Add a comment on a lesson, an exercise or in general, or remove all such comments."""
    if change.text is not None and not change.text.strip():
        raise UsageError("The comment is empty.", "Write what the learner should read.")
    comments = instructions_about(database, student).comments(change.lesson)
    known = [(comment.text, comment.exercise) for comment in comments]
    if (change.text, change.check or "") in known if change.text else not comments:
        return None
    more = {"text": change.text, "check_id": change.check}
    return add_change(database, student, change.lesson, "comment", who, **more)


def take_back_comment(
    book: Gradebook, student: str, lesson: str, comment: Comment, who: str, seen: int | None = None
) -> None:
    """Remove one comment."""

    def work(database: sql.Connection) -> None:
        learner = lock_learner(database, student, who).student
        check_seen(database, learner, lesson, seen)
        replaced = {"comment": [comment.text, comment.who]}
        more = {"replaced": replaced, "check_id": comment.exercise or None}
        add_change(database, learner, lesson, "comment", who, text=None, **more)

    write(book.engine, work)


def _extend(
    database: sql.Connection, student: str, change: RequestedChange, who: str
) -> int | None:
    """Give a learner more time for a lesson, or for all lessons without an extension."""
    given = instructions_about(database, student).extensions.get(change.lesson)
    if given == change.extension:
        return None
    until = change.extension and change.extension.until
    days = change.extension and change.extension.days
    return add_change(
        database, student, change.lesson, "extension", who, why=change.why, until=until, days=days
    )


def _check_points(points: Decimal, result: LessonResult, check: str | None) -> None:
    """Raise UsageError for points that the lesson or check cannot earn, such as 80 for 8.0."""
    limits = {declared.id: declared.max_points for declared in result.checks}
    limits |= {answer.question: answer.max_points for answer in result.answers}
    most = limits[check] if check else result.max_points
    if not 0 <= points <= most:
        raise UsageError(
            f"{points} points are not possible: {check or result.lesson} can earn between 0 and "
            f"{most}.",
            "Give a number in this range.",
        )


def select_check(text: str, lesson: str, ids: list[str]) -> str:
    """The one of `ids` that is `text`, or has it as a part."""
    matches = [text] if text in ids else [check_id for check_id in ids if text in check_id]
    if len(matches) == 1:
        return matches[0]
    listed = matches or ids
    first = ", ".join(listed[:5]) + ("" if len(listed) <= 5 else ", ...")
    if matches:
        raise UsageError(
            f"Lesson {lesson} has {len(matches)} checks with {text!r} in their names.",
            f"Write more of one: {first}",
        )
    shown = f"There are: {first}; all: tito gradebook show --student ID --lesson {lesson}"
    raise UsageError(f"Lesson {lesson} has no check {text!r}.", suggest(text, ids, shown))


def used_comments(book: Gradebook, lesson: str, students: Collection[str]) -> list[tuple[str, int]]:
    """[(text, number of learners)] of these learners' comments on a lesson, the most used first."""
    query = sql.select(CHANGE).filter_by(lesson=lesson, kind="comment").order_by(CHANGE.c.id)
    by_learner: dict[str, list[Any]] = {}
    for entry in read(book.engine, query, CHANGE):
        if entry.student in students:
            by_learner.setdefault(entry.student, []).append(entry)
    used = Counter(
        text
        for entries in by_learner.values()
        for text in {comment.text for comment in Instructions(entries).comments(lesson)}
    )
    return sorted(used.items(), key=lambda pair: (-pair[1], pair[0]))
