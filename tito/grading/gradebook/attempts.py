"""Which submissions grading has begun, and which run holds each of them: two runs share a class.

Each function works within a transaction of its caller.
"""

from datetime import datetime
from typing import NamedTuple

from tito.grading.gradebook.result_store import result_keys
from tito.grading.gradebook.tables import ATTEMPT, clean, learner_id, now, sql
from tito.grading.result import Seen


class Attempt(NamedTuple):
    """How far grading is with a submission.

    number  how often it was begun; 0: it has ended, and there is nothing more to do
    run     the process that began it last, as `leases.run_name` names it, or ""; at: when
    seen    when it has ended: the results that the book has of it
    """

    number: int
    run: str
    at: datetime
    seen: list[Seen] = []

    @classmethod
    def of(cls, row) -> "Attempt":
        return cls(row.number, row.run, row.at, [Seen(*one) for one in row.seen or ()])


def read_attempts(database):
    """{(learner, work): Attempt} of what was begun; also of what has ended."""
    return {
        (row.student, row.work): Attempt.of(row) for row in database.execute(sql.select(ATTEMPT))
    }


def claim_attempts(database, works, run, claim):
    """What `Gradebook.claim_attempts` does; works: (id of a learner, hash) of each."""
    place = sql.tuple_(ATTEMPT.c.student, ATTEMPT.c.work).in_(works)
    query = sql.select(ATTEMPT).where(place).order_by(ATTEMPT.c.student, ATTEMPT.c.work)
    rows = database.execute(query.with_for_update())
    before = {(row.student, row.work): Attempt.of(row) for row in rows}
    keys = result_keys(database, {student for student, _ in works})
    claimed = {one: claim(keys.get(one[0], {}), before.get(one)) for one in works}
    numbers = {one: before[one].number if one in before else 0 for one in works}
    mine = [(*one, max(1, numbers[one])) for one in works if claimed[one]]
    keep_attempts(database, mine, run)
    return [(claimed[one], before.get(one), keys.get(one[0], {})) for one in works]


def keep_attempts(database, attempts, run):
    """What `Gradebook.keep_attempts` does."""
    # In one order, so that of two runs none waits for a row that the other one has.
    attempts = sorted((learner_id(student), *more) for student, *more in attempts)
    for student, work, number in attempts:
        place = {"student": student, "work": work}
        if number is None:
            database.execute(sql.delete(ATTEMPT).filter_by(**place))
            continue
        row = {"number": number, "run": clean(run)[:255], "at": now(), "seen": None}
        if not database.execute(sql.update(ATTEMPT).filter_by(**place).values(row)).rowcount:
            database.execute(sql.insert(ATTEMPT).values(place | row))
