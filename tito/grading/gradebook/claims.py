"""Which person looks at which submission, and who has done so: several graders share a class.

A claim is of a learner's lesson. It changes no grade, and it locks nothing: it lets others take
something else. What was looked at is a file; once another one counts, it is to be looked at again.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from tito.errors import UsageError
from tito.grading.gradebook import enrollment
from tito.grading.gradebook.database import transaction, write
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.history import CLAIM_KINDS, add_change
from tito.grading.gradebook.learners import lock_learner
from tito.grading.gradebook.tables import CLAIM, clean, learner_id, now, sql

FREE, TAKEN, DONE, AGAIN = STATES = ("free", "taken", "done", "again")


class Claim(NamedTuple):
    """A person has a submission.

    at      since when
    done    when they had looked at it, or None
    sha256  of the file that they had looked at, or None
    """

    student: str
    lesson: str
    who: str
    at: datetime
    done: datetime | None = None
    sha256: str | None = None

    def as_json(self) -> dict:
        times = {"at": self.at, "done": self.done}
        return self._asdict() | {
            name: when and when.isoformat(timespec="seconds") for name, when in times.items()
        }


class Place(NamedTuple):
    """A learner's lesson, and which file of it counts now; "" without one."""

    student: str
    lesson: str
    sha256: str


class Taken(UsageError):
    """Somebody else has that submission. claim: theirs."""

    def __init__(self, claim: Claim):
        super().__init__(
            f"{claim.who} has this submission since {claim.at:%Y-%m-%d %H:%M} UTC.",
            "Ask them, or take it over.",
        )
        self.claim = claim


def state(claim: Claim | None, sha256: str) -> str:
    """What is to be said of a submission whose file `sha256` counts now.

    Returns "free", "taken" (somebody is at it), "done", or "again": it was looked at, and another
    file counts since then.
    """
    if claim is None:
        return FREE
    if not claim.done:
        return TAKEN
    return DONE if claim.sha256 == sha256 else AGAIN


def claims(book: Gradebook, lesson: str | None = None) -> dict[tuple[str, str], Claim]:
    """{(learner, lesson): Claim} of a lesson, or of all."""
    query = sql.select(CLAIM)
    if lesson is not None:
        query = query.where(CLAIM.c.lesson == lesson)
    with transaction(book.engine) as database:
        return {(row.student, row.lesson): Claim(*row) for row in database.execute(query)}


def take(
    book: Gradebook, student: str, lesson: str, who: str, instead_of: str | None = None
) -> Claim:
    """`who` looks at this submission from now on; also once more, where they had done so.

    instead_of  whose claim is taken over. Raises Taken when anybody else has it
    """

    def work(database):
        learner = lock_learner(database, student, who)
        claim = _claim_of(database, learner, lesson)
        if claim and claim.who not in (clean(who), instead_of) and not claim.done:
            raise Taken(claim)
        return _put(database, claim, Claim(learner, lesson, clean(who), now()))

    return write(book.engine, work)


def places(
    book: Gradebook,
    lesson: str | None = None,
    section: str | None = None,
    students: Iterable[str] | None = None,
) -> list[Place]:
    """The Places of a lesson (None: of all), of a section, of these learners, in which something
    was handed in. Raises TitoError for an unknown learner or section.
    """
    if section is not None:
        enrollment.section(book, section)
    return [
        Place(grade.student, grade.lesson, grade.result.sha256)
        for one in students or [None]
        for grade in book.rows(one, lesson, section)
        if grade.result.sha256
    ]


def take_next(book: Gradebook, places: Iterable[Place], who: str) -> Place | None:
    """The first of the places that `who` has not finished or that nobody has: they have it now, and
    nobody else is given it. None when all are looked at or somebody else's.
    """
    places = [*places]

    def work(database):
        found = _claims_of(database, {place.lesson for place in places})
        for place in places:
            claim = found.get(place[:2])
            mine = claim and claim.who == clean(who)
            held = state(claim, place.sha256)
            if held == TAKEN and mine:
                return place
            if held in (FREE, AGAIN):
                _put(database, claim, Claim(*place[:2], clean(who), now()))
                return place
        return None

    return write(book.engine, work)


def take_all(book: Gradebook, places: Iterable[Place], who: str) -> int:
    """`who` has all of these places that nobody has, a section say. Returns how many that were."""
    places = [*places]

    def work(database):
        found = _claims_of(database, {place.lesson for place in places})
        new = [p for p in places if state(found.get(p[:2]), p.sha256) in (FREE, AGAIN)]
        for place in new:
            _put(database, found.get(place[:2]), Claim(*place[:2], clean(who), now()))
        return len(new)

    return write(book.engine, work)


def give_back(book: Gradebook, student: str, lesson: str, who: str) -> None:
    """`who` does not look at this submission after all. Raises Taken when it is somebody else's."""

    def work(database):
        learner = lock_learner(database, student, who)
        claim = _claim_of(database, learner, lesson)
        if claim and claim.who != clean(who):
            raise Taken(claim)
        database.execute(sql.delete(CLAIM).filter_by(student=learner, lesson=lesson))

    write(book.engine, work)


def give_back_all(book: Gradebook, places: Iterable[Place], who: str) -> int:
    """`who` looks at none of these after all, but for those that they have looked at. Returns how
    many that were.
    """
    places = [*places]

    def work(database):
        found = _claims_of(database, {place.lesson for place in places})
        mine = [
            place
            for place in places
            if (claim := found.get(place[:2])) and claim.who == clean(who) and not claim.done
        ]
        for place in mine:
            database.execute(
                sql.delete(CLAIM).filter_by(student=place.student, lesson=place.lesson)
            )
        return len(mine)

    return write(book.engine, work)


def finish(book: Gradebook, place: Place, who: str) -> Claim:
    """`who` has looked at this submission; who had done so before stays the one who has. Returns
    the Claim. Raises Taken while somebody else is at it.
    """

    def work(database):
        learner = lock_learner(database, place.student, who)
        claim = _claim_of(database, learner, place.lesson)
        if claim and claim.who != clean(who) and not claim.done:
            raise Taken(claim)
        if claim and claim.done and claim.sha256 == place.sha256:
            return claim
        since = claim.at if claim and claim.who == clean(who) else now()
        new = Claim(learner, place.lesson, clean(who), since, now(), place.sha256)
        return _put(database, claim, new)

    return write(book.engine, work)


def _claim_of(database, learner, lesson):
    """The claim of a submission, which no other transaction changes meanwhile, or None."""
    query = sql.select(CLAIM).filter_by(student=learner, lesson=lesson).with_for_update()
    row = database.execute(query).first()
    return row and Claim(*row)


def _claims_of(database, lessons):
    """The claims of these lessons, as `_claim_of`."""
    query = sql.select(CLAIM).where(CLAIM.c.lesson.in_(lessons))
    rows = database.execute(query.order_by(CLAIM.c.student, CLAIM.c.lesson).with_for_update())
    return {(row.student, row.lesson): Claim(*row) for row in rows}


def _put(database, old, new):
    """Keep a claim instead of `old`, which may be None: then a row that another transaction has
    added meanwhile is not replaced, but refused by the database, and `write` tries again. Whoever
    had looked at the submission, and is not the one any more who has, stays in the history.
    """
    place = {"student": learner_id(new.student), "lesson": new.lesson}
    values = new._asdict() | place
    if not old:
        database.execute(sql.insert(CLAIM).values(values))
        return new
    if old.done and old.who != new.who:
        words = f"{old.who} had looked at it, {old.done:%Y-%m-%d %H:%M} UTC"
        taken, looked_at = CLAIM_KINDS
        kind = looked_at if new.done else taken
        add_change(database, *place.values(), kind, new.who, "", words)
    database.execute(sql.update(CLAIM).filter_by(**place).values(values))
    return new
