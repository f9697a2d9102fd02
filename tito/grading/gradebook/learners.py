"""Find, lock and add the learners of a gradebook, by id.

Each function needs an open transaction of its caller.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from tito.errors import UsageError, suggest
from tito.grading.gradebook.tables import ALIAS, LEARNER, SECRET, clean, learner_id, new_page, sql


class LearnerRow(NamedTuple):
    """A row of the table `learner`."""

    student: str
    name: str
    columns: dict[str, Any]
    state: str | None


def find_learner(database: sql.Connection, student: str, lock: bool = False) -> LearnerRow | None:
    """lock: no other transaction writes about them meanwhile, where the database has such locks."""
    query = sql.select(LEARNER).where(LEARNER.c.student == student)
    row = database.execute(query.with_for_update() if lock else query).first()
    return LearnerRow(*row) if row else None


def lock_learner(database: sql.Connection, student: str, who: str, why: str = "-") -> LearnerRow:
    """The learner, locked: no other transaction writes about them meanwhile.

    Raises UsageError when there is none, or when `who` or `why` is empty.
    """
    if not (who.strip() and why.strip()):
        raise UsageError(
            "Every change of a grade needs an author and a reason.", "Give the reason: --why TEXT"
        )
    learner = find_learner(database, learner_id(student), lock=True)
    return learner or _refuse_unknown(database, student)


def lock_learners(database: sql.Connection, students: Iterable[str]) -> None:
    """Lock these learners against other transactions, always in the same order, so that two
    transactions cannot wait for each other.
    """
    ids = LEARNER.c.student.in_([learner_id(student) for student in students])
    query = sql.select(LEARNER.c.student).where(ids).order_by(LEARNER.c.student)
    database.execute(query.with_for_update()).all()


def check_learner(database: sql.Connection, student: str) -> None:
    """Raise UsageError for an id that the book does not have."""
    if not find_learner(database, learner_id(student)):
        _refuse_unknown(database, student)


def _refuse_unknown(database: sql.Connection, student: str) -> Any:
    if into := merged_into(database, learner_id(student)):
        raise UsageError(f"{student!r} was merged into {into!r}.", f"Name {into!r} instead.")
    names = database.execute(sql.select(*LEARNER.c["student", "name"])).all()
    same = [row.student for row in names if row.name.casefold() == student.casefold()]
    listed = (
        f"It has {len(names)}: `tito gradebook show` lists them, "
        "`tito gradebook roster CSV` adds some."
    )
    students = [row.student for row in names]
    raise UsageError(
        f"The gradebook has no learner {student!r}.",
        suggest(learner_id(student), students, listed, first=same),
    )


def merged_into(database: sql.Connection, student: str) -> str | None:
    """The id that this one was merged into, or None."""
    query = sql.select(ALIAS.c.student).where(ALIAS.c.alias == student)
    return database.execute(query).scalar()


def remember_learner(
    database: sql.Connection, student: str, name: str, columns: dict[str, str] | None = None
) -> tuple[LearnerRow, bool]:
    """Save a learner with this id, and their name and roster columns if given.

    Returns the learner, and whether they were known. If the id was merged into another, the learner
    has the other id.
    """
    into = sql.select(ALIAS.c.student).where(ALIAS.c.alias == student).scalar_subquery()
    query = sql.select(LEARNER).where(LEARNER.c.student == sql.func.coalesce(into, student))
    values = database.execute(query.with_for_update()).first()
    row = LearnerRow(*values) if values else None
    new: dict[str, Any] = {"name": clean(name)} if name else {}
    if row is None or columns is not None:
        before = row.columns if row else {}
        # Rosters of several programs add up.
        new["columns"] = before | (columns or {}) | {SECRET: before.get(SECRET) or new_page()}
    if row is None:
        row = LearnerRow(student, new.get("name", ""), new["columns"], None)
        database.execute(sql.insert(LEARNER).values(row._asdict()))
        return row, False
    changed = row._replace(**new)
    if changed != row:
        update = sql.update(LEARNER).where(LEARNER.c.student == row.student)
        database.execute(update.values(changed._asdict()))
    return changed, True
