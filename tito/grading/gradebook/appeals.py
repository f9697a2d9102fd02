"""What learners asked about a grade, and what came of it. Changing the grade is an override."""

from datetime import datetime
from typing import NamedTuple

from tito.errors import UsageError
from tito.grading.gradebook.database import transaction, write
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.learners import lock_learner
from tito.grading.gradebook.tables import APPEAL, CUT, clean, kept, now, sql

OPEN, GRANTED, DECLINED = STATES = ("open", "granted", "declined")


class Appeal(NamedTuple):
    """A question about the grade of a learner's lesson.

    asked       in the learner's words; entered_by: who wrote it down, at: when
    state       open, granted or declined
    answer, answered_by, answered_at  None while it is open
    """

    id: int
    student: str
    lesson: str
    asked: str
    entered_by: str
    at: datetime
    state: str = OPEN
    answer: str | None = None
    answered_by: str | None = None
    answered_at: datetime | None = None

    def as_json(self) -> dict:
        times = {"at": self.at, "answered_at": self.answered_at}
        return self._asdict() | {
            name: when and when.isoformat(timespec="seconds") for name, when in times.items()
        }


class Answered(UsageError):
    """Somebody has answered that appeal already. appeal: as it is now."""

    def __init__(self, appeal: Appeal):
        super().__init__(
            f"{appeal.answered_by} answered this appeal already: {appeal.state}. "
            "Your answer was not written.",
            "Look at theirs. If it is wrong, enter a new appeal.",
        )
        self.appeal = appeal


def appeals(
    book: Gradebook,
    student: str | None = None,
    lesson: str | None = None,
    state: str | None = None,
) -> list[Appeal]:
    """The appeals, oldest first: all, or of one learner, of one lesson, in one state."""
    query = sql.select(APPEAL).order_by(APPEAL.c.id)
    for column, value in (("student", student), ("lesson", lesson), ("state", state)):
        if value is not None:
            query = query.where(APPEAL.c[column] == value)
    with transaction(book.engine) as database:
        return [Appeal(*row) for row in database.execute(query)]


def ask(book: Gradebook, student: str, lesson: str, text: str, who: str) -> int:
    """Keep that a learner asks about a grade; the same words about the same grade, while they are
    open, once. Returns the appeal's id.
    """
    text = _checked(text, "what the learner asks")

    def work(database):
        learner = lock_learner(database, student, who)
        same = {"student": learner, "lesson": lesson, "asked": text, "state": OPEN}
        known = database.execute(sql.select(APPEAL.c.id).filter_by(**same)).scalar()
        if known is not None:
            return known
        row = same | {"entered_by": clean(who), "at": now()}
        return database.execute(sql.insert(APPEAL).values(row)).inserted_primary_key[0]

    return write(book.engine, work)


def answer(book: Gradebook, number: int, state: str, text: str, who: str) -> Appeal:
    """Answer an appeal: grant it or decline it. Raises Answered when it is not open any more, but
    for the very same answer of the same person, which is there already.
    """
    text = _checked(text, "the answer")
    if state not in (GRANTED, DECLINED):
        what = f"{state!r} is no answer." if state else "The appeal is not decided by that."
        raise UsageError(what, f"Say {GRANTED} or {DECLINED}.")

    def work(database):
        # Whoever changes it meanwhile waits, or this one does.
        query = sql.select(APPEAL).filter_by(id=number).with_for_update()
        row = database.execute(query).first()
        if not row:
            raise UsageError(f"There is no appeal {number}.", "Look at the list of appeals.")
        appeal = Appeal(*row)
        if not who.strip():
            raise UsageError("Every answer keeps who gave it.", "Say who you are.")
        new = {"state": state, "answer": text, "answered_by": clean(who)}
        if appeal.state != OPEN:
            if all(getattr(appeal, name) == value for name, value in new.items()):
                return appeal
            raise Answered(appeal)
        new["answered_at"] = now()
        database.execute(sql.update(APPEAL).filter_by(id=number).values(new))
        return appeal._replace(**new)

    return write(book.engine, work)


def _checked(text, what):
    """The text as it is kept. Raises TitoError when there is none, or too much."""
    text = clean(text).strip()
    if not text:
        raise UsageError(f"There is no text: {what} is missing.", "Write it.")
    if len(text) > CUT:
        raise UsageError(
            f"The text has {len(text):,} characters, and {CUT:,} are kept.", "Shorten it."
        )
    return kept(text)
