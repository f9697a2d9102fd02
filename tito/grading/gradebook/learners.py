"""The learners in a gradebook, by their ids, for those who write about them: each function works
within a transaction of its caller.
"""

import difflib

from tito.errors import UsageError
from tito.grading.arrival import is_time
from tito.grading.gradebook.tables import (
    ALIAS,
    LEARNER,
    SECRET,
    clean,
    is_page,
    learner_id,
    new_page,
    sql,
)


def lock_learner(database, student, who, why="-"):
    """The learner's id in the book, which nobody else writes about meanwhile.

    Raises TitoError when there is none, or when `who` or `why` is empty.
    """
    if not (who.strip() and why.strip()):
        raise UsageError(
            "Every change of a grade keeps who made it, and why.",
            "Give both: --who NAME --why TEXT",
        )
    check_learner(database, student)
    return database.execute(_learner_query(learner_id(student))).scalar_one()


def _learner_query(student):
    """The query of a learner's id.

    Where the database knows such locks, nobody else can write about them meanwhile.
    """
    return sql.select(LEARNER.c.student).where(LEARNER.c.student == student).with_for_update()


def check_learner(database, student):
    """Raise TitoError for an id that the book does not have."""
    ids = sql.select(LEARNER.c.student)
    if database.execute(ids.where(LEARNER.c.student == learner_id(student))).first():
        return
    if now := merged_into(database, learner_id(student)):
        raise UsageError(f"{student!r} was merged into {now!r}.", f"Name {now!r} instead.")
    names = database.execute(ids).scalars().all()
    close = difflib.get_close_matches(learner_id(student), names, n=1)
    raise UsageError(
        f"The gradebook has no learner {student!r}.",
        f"Did you mean {close[0]!r}?"
        if close
        else f"It has {len(names)}: `tito gradebook show` lists them, "
        "`tito gradebook roster CSV` adds some.",
    )


def merged_into(database, student):
    """The id that this one was merged into, or None."""
    return database.execute(sql.select(ALIAS.c.student).where(ALIAS.c.alias == student)).scalar()


def remember_learner(database, student, name, columns=None):
    """Keep a learner with this id; their name and the columns of a roster where they are given."""
    new = {"name": clean(name)} if name else {}
    query = sql.select(LEARNER.c.columns).where(LEARNER.c.student == student)
    before = database.execute(query.with_for_update()).scalar()
    if before is None or columns is not None:
        page = (columns or {}).get(SECRET)
        page = page if is_page(page) else (before or {}).get(SECRET) or new_page()
        # Rosters of several programs add up; when a batch came in, the newest alone says.
        kept = {name: text for name, text in (before or {}).items() if not is_time(name)}
        new["columns"] = kept | (columns or {}) | {SECRET: page}
    if before is None:
        database.execute(sql.insert(LEARNER).values({"student": student, "name": ""} | new))
    elif new:
        database.execute(sql.update(LEARNER).where(LEARNER.c.student == student).values(new))
