"""The history of a gradebook, which has an entry for each change of a grade, and the Instructions
about a learner that follow from it. Each function needs an open transaction of its caller.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from tito.errors import UsageError
from tito.grading.gradebook import late
from tito.grading.gradebook.database import sound_rows
from tito.grading.gradebook.grade import iso
from tito.grading.gradebook.instructions import Instructions, extension_of
from tito.grading.gradebook.tables import CHANGE, clean, now, sql

INSTRUCTIONS = ("override", "comment", "extension")  # kinds that still say something
CHECKS = 5  # of a change that are named; `--json` has them all
ENTRY_COLUMNS = [column for column in CHANGE.c if column.name != "replaced"]


@dataclass(frozen=True)
class Change:
    """An entry of the history.

    lesson      None: all lessons
    check       the id of the check that was overridden, or the question whose answer was judged;
                of a comment, its exercise or question; or None
    kind        "graded", "regraded" (the same submission and checks once more), "arrived" (another
                submission counts, or it costs something else, since more is known of when it came),
                "override", "comment", "extension"; "left", "returned", "merged" or "split" (a
                merge that was taken back), of a learner;
                "rubric", of an older gradebook: a change for all answers to a question
    when        with time zone, UTC
    old_points  of the lesson, before the late rules; None when there were none
    points      that an override sets; None lifts it
    text        of a comment, None takes the comments back; with a grade or an override, what else
                there is to say
    extension   None: taken back
    checks      [{"id", "name", "old", "new"}]: the checks whose points changed; None where there
                was no such check
    edition     of a result, what graded it; or ""
    """

    student: str
    lesson: str | None
    check: str | None
    kind: str
    who: str
    when: datetime
    why: str
    old_points: Decimal | None
    new_points: Decimal | None
    points: Decimal | None
    text: str | None
    extension: late.Extension | None
    checks: list[dict[str, Any]]
    edition: str

    @property
    def changes_points(self) -> bool:
        """Whether the points of the grade changed, or would have changed without an override."""
        if self.old_points is None:
            return False
        graded = sum((check["new"] or 0) - (check["old"] or 0) for check in self.checks)
        return self.old_points != self.new_points or graded != 0

    @property
    def move(self) -> str:
        """The points of the lesson before and after: "3 -> 5"; "" without any."""
        if self.new_points is None:
            return ""
        return f"{'-' if self.old_points is None else self.old_points} -> {self.new_points}"

    def words(self) -> str:
        """What it says besides who, when and the points. It may contain text of learners."""
        words = [self.why] if self.why and self.why != self.kind else []
        if self.kind == "comment":
            words += [self.check] if self.check else []
            words.append(self.text or "taken back")
        elif self.kind == "extension":
            words.append(late.more_time(self.extension))
        else:
            if self.kind == "override":
                to = "lifted" if self.points is None else f"set to {self.points}"
                words.append(f"{self.check or 'the lesson'} {to}")
            words += [self.text] if self.text else []
        for check in self.checks[:CHECKS]:
            old, new = (check[key] for key in ("old", "new"))
            old, new = "new" if old is None else old, "gone" if new is None else new
            words.append(f"{check['id']} {old} -> {new}")
        words += [f"and {len(self.checks) - CHECKS} more checks"] * (len(self.checks) > CHECKS)
        words += [self.edition] if self.edition else []
        return "; ".join(words)

    def as_json(self) -> dict[str, Any]:
        points = {key: getattr(self, key) for key in ("old_points", "new_points", "points")}
        extension = self.extension and {
            "until": iso(self.extension.until),
            "days": self.extension.days,
        }
        numbers = {
            key: None if value is None else late.plain_number(value)
            for key, value in points.items()
        }
        return vars(self) | numbers | {"when": iso(self.when), "extension": extension}


class PointsChange(NamedTuple):
    """A grade whose points changed."""

    student: str
    name: str
    lesson: str
    old: Decimal
    new: Decimal
    why: str


class ChangedMeanwhile(UsageError):
    """Another person changed a grade after the user last looked at it.

    changes  since then, oldest first
    what     the message: who changed what; "" lists the changes
    """

    def __init__(self, changes: list[Change], what: str = "") -> None:
        who = ", ".join(dict.fromkeys(change.who for change in changes))
        super().__init__(
            f"{what or f'{who} changed this grade'} after you had opened it; nothing of yours was "
            "written.",
            "Read the new entry, then decide again.",
        )
        self.changes = changes


def add_change(
    database: sql.Connection, student: str, lesson: str | None, kind: str, who: str, **more: Any
) -> int:
    """Add an entry. more: further columns of the table `change`. Returns its id."""
    texts = {name: more[name] and clean(more[name]) for name in ("why", "text") if name in more}
    values = {"why": "", "who": clean(who), "at": now()} | more | texts
    values |= {"student": student, "lesson": lesson, "kind": kind}
    key = database.execute(sql.insert(CHANGE).values(values)).inserted_primary_key
    assert key is not None
    return int(key[0])


def change_of(row: Any) -> Change:
    """The Change in a row of the table `change`."""
    return Change(
        row.student,
        row.lesson,
        row.check_id,
        row.kind,
        row.who,
        row.at,
        row.why,
        row.old_points,
        row.new_points,
        row.points,
        row.text,
        extension_of(row),
        row.checks or [],
        row.edition or "",
    )


def check_seen(
    database: sql.Connection,
    student: str,
    lesson: str | None,
    seen: int | None,
    question: str | None = None,
) -> None:
    """Raise ChangedMeanwhile when the history of a lesson, or of the answer to one question, has an
    entry later than `seen`.
    """
    if seen is None:
        return
    query = sql.select(*ENTRY_COLUMNS).order_by(CHANGE.c.id).where(CHANGE.c.id > seen)
    if question is not None:
        query = query.where(CHANGE.c.check_id == question)
    if rows := database.execute(query.where(*about_lesson(student, lesson))).all():
        raise ChangedMeanwhile([change_of(row) for row in rows])


def about_lesson(student: str, lesson: str | None) -> tuple[sql.ColumnElement[bool], ...]:
    """The conditions by which the entries of the history are about a lesson of a learner."""
    places: list[sql.ColumnElement[bool]] = [CHANGE.c.lesson.is_(None)]
    if lesson is not None:
        places.append(CHANGE.c.lesson == lesson)
    return (CHANGE.c.student == student, sql.or_(*places))


def instructions_about(database: sql.Connection, student: str) -> Instructions:
    return instructions_by_learner(database, [student])[0][student]


def instructions_by_learner(
    database: sql.Connection, students: Iterable[str]
) -> tuple[dict[str, Instructions], set[str]]:
    """({learner: their Instructions}, the learners of whom an entry is damaged)."""
    entries: dict[str, list[Any]] = {student: [] for student in students}
    query = sql.select(CHANGE).where(CHANGE.c.student.in_(entries), CHANGE.c.kind.in_(INSTRUCTIONS))
    rows, damaged = sound_rows(database, query.order_by(CHANGE.c.id), CHANGE)
    for entry in rows:
        entries[entry.student].append(entry)
    return {student: Instructions(mine) for student, mine in entries.items()}, damaged
