"""The history of a gradebook: an entry for each change of a grade, and the Instructions about a
learner that follow from all entries. Each function works within a transaction of its caller.
"""

from decimal import Decimal
from typing import NamedTuple

from tito.errors import UsageError
from tito.grading.gradebook.grade import Change, Instructions, make_extension
from tito.grading.gradebook.rubric import Item
from tito.grading.gradebook.tables import CHANGE, RUBRIC, clean, now, sql

CLAIM_KINDS = ("taken", "looked at")  # of entries that say who looks at what: no grade changes
ENTRY_COLUMNS = [column for column in CHANGE.c if column.name != "replaced"]


class Fall(NamedTuple):
    """A grade that a run made smaller: from which points that count to which, and why."""

    student: str
    name: str
    lesson: str
    old: Decimal
    new: Decimal
    why: str


class ChangedMeanwhile(UsageError):
    """Somebody wrote about a grade after the one who wants to change it had last looked at it.

    changes  the Changes since then, oldest first
    what     who changed what; "" says it of the changes
    """

    def __init__(self, changes: list[Change], what: str = ""):
        who = ", ".join(dict.fromkeys(change.who for change in changes))
        super().__init__(
            f"{what or f'{who} changed this grade'} after you had opened it; nothing of yours was "
            "written.",
            "Look at what they wrote, then decide again.",
        )
        self.changes = changes


def add_change(database, student, lesson, kind, who, why, text=None, **more):
    """Add an entry; more: further columns of the table `change`."""
    database.execute(
        sql.insert(CHANGE).values(
            student=student,
            lesson=lesson,
            kind=kind,
            who=clean(who),
            at=now(),
            why=clean(why),
            text=text and clean(text),
            **more,
        )
    )


def change_of(row) -> Change:
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
        make_extension(row),
        row.checks or [],
    )


def check_seen(database, learner, lesson, seen):
    """Raise ChangedMeanwhile when the history of a lesson has an entry later than `seen` that is
    not only about who looks at it.
    """
    if seen is None:
        return
    query = sql.select(*ENTRY_COLUMNS).order_by(CHANGE.c.id).where(CHANGE.c.id > seen)
    query = query.where(*about_lesson(learner, lesson), CHANGE.c.kind.not_in(CLAIM_KINDS))
    if rows := database.execute(query).all():
        raise ChangedMeanwhile([change_of(row) for row in rows])


def about_lesson(student, lesson):
    """The conditions by which the entries of the history are about a lesson of a learner."""
    said_of = CHANGE.c.lesson.is_(None)
    if lesson is not None:
        said_of |= CHANGE.c.lesson == lesson
    return (CHANGE.c.student == student, said_of)


def instructions_about(database, student):
    """The Instructions about one learner."""
    entries = instruction_entries(database, student)
    judged = any(entry.kind == "judged" for entry in entries)
    return Instructions(entries, rubric_items(database) if judged else None)


def instruction_entries(database, student=None, kind=None, students=None):
    """The entries of the history that still say something, oldest first: of a learner, of
    several, or of all; of one kind, or of all.
    """
    columns = CHANGE.c[
        "id",
        "student",
        "lesson",
        "check_id",
        "kind",
        "who",
        "at",
        "why",
        "points",
        "text",
        "until",
        "days",
        "replaced",
    ]
    kinds = (kind,) if kind else ("override", "judged", "comment", "extension")
    kinds = CHANGE.c.kind.in_(kinds)
    query = sql.select(columns).where(kinds).order_by(CHANGE.c.id)
    if student is not None:
        query = query.where(CHANGE.c.student == student)
    if students is not None:
        query = query.where(CHANGE.c.student.in_(students))
    return database.execute(query).all()


def rubric_items(
    database: sql.Connection, lesson: str | None = None, question: str | None = None
) -> dict[int, Item]:
    """{id: Item} of the rubrics, as they are now; of one question, or of all."""
    newest = sql.select(sql.func.max(RUBRIC.c.version)).group_by(RUBRIC.c.item)
    query = sql.select(RUBRIC).where(RUBRIC.c.version.in_(newest), RUBRIC.c.points.is_not(None))
    if question is not None:
        query = query.filter_by(lesson=lesson, question=question)
    places, found = {}, {}
    for row in database.execute(query.order_by(RUBRIC.c.place, RUBRIC.c.item)):
        place = places[row.lesson, row.question] = 1 + places.get((row.lesson, row.question), 0)
        found[row.item] = Item(row.item, place, row.points, row.text, row.version)
    return found
