"""Which grader has which sections or learners: "ta1 has section A of tensor".

A claim keeps nobody out: it says who looks at what, so that two do not do the same work. Of several
that hold for a submission the narrowest counts: of the learner before that of their section, of a
lesson before that of all lessons.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone

from tito.errors import TitoError
from tito.grading import enrollment
from tito.grading.database import transaction, write
from tito.grading.roster import in_section
from tito.grading.tables import CLAIM, clean, learner_id, sql


@dataclass(frozen=True)
class Claim:
    """section, student, lesson: "" for all."""

    who: str
    section: str
    student: str
    lesson: str
    at: datetime

    def __str__(self) -> str:
        whose = self.student or (f"section {self.section}" if self.section else "everybody")
        return f"{whose} in {self.lesson}" if self.lesson else whose

    def holds(self, student: str, columns: dict[str, str], lesson: str) -> bool:
        """Whether it is about this lesson of this learner, whose roster's columns these are."""
        return (
            self.lesson in ("", lesson)
            and self.student in ("", student)
            and (not self.section or in_section(columns, self.section))
        )

    def as_json(self) -> dict:
        return vars(self) | {"at": self.at.isoformat(timespec="seconds")}


def read(book) -> list[Claim]:
    """The claims, by section, learner and lesson."""
    with transaction(book.engine) as database:
        return _read(database)


def holder(claims: Iterable[Claim], student: str, columns: dict[str, str], lesson: str) -> str:
    """Who has this lesson of this learner, or "".

    columns  of the roster (`Learner.columns`)
    """
    found = [claim for claim in claims if claim.holds(student, columns, lesson)]
    found.sort(key=lambda one: (bool(one.student), bool(one.section), bool(one.lesson)))
    return found[-1].who if found else ""


def claim(
    book,
    who: str,
    sections: Iterable[str] = (),
    students: Iterable[str] = (),
    lesson: str = "",
    take: bool = False,
) -> list[Claim]:
    """Keep that `who` has these sections and learners; with neither, everybody in the lesson.

    take  also what somebody else has

    Returns the claims that are new. Raises TitoError for an unknown learner or section, and when
    somebody else has one of them and `take` is not set: then nothing is claimed.
    """
    places = _places(book, who, sections, students, lesson)

    def keep(database):
        before = {(one.section, one.student, one.lesson): one for one in _read(database)}
        taken = [before[place] for place in places if place in before]
        others = [one for one in taken if one.who != who]
        if others and not take:
            raise TitoError(
                "; ".join(
                    f"{one.who} has {one} since {one.at:%Y-%m-%d %H:%M} UTC" for one in others
                )
                + ".",
                "Ask them, or take it over: --take",
            )
        new = [place for place in places if place not in before or before[place] in others]
        for section, student, lesson in new:
            row = {"section": section, "student": student, "lesson": lesson}
            database.execute(sql.delete(CLAIM).filter_by(**row))
            database.execute(sql.insert(CLAIM).values(row | {"who": clean(who), "at": _now()}))
        return [one for one in _read(database) if (one.section, one.student, one.lesson) in new]

    return write(book.engine, keep)


def lift(
    book, who: str, sections: Iterable[str] = (), students: Iterable[str] = (), lesson: str = ""
) -> list[Claim]:
    """Give back what `who` has of these; of all, without any. Returns the claims that are gone."""
    everything = not (sections or students or lesson)
    places = [] if everything else _places(book, who, sections, students, lesson)

    def keep(database):
        gone = [
            one
            for one in _read(database)
            if one.who == who and (everything or (one.section, one.student, one.lesson) in places)
        ]
        for one in gone:
            place = {"section": one.section, "student": one.student, "lesson": one.lesson}
            database.execute(sql.delete(CLAIM).filter_by(**place))
        return gone

    return write(book.engine, keep)


def _places(book, who, sections, students, lesson):
    """[(section, student, lesson)] that are meant."""
    if not who.strip():
        raise TitoError("A claim has a name.", "Give it: --who NAME")
    for section in sections:
        enrollment.section(book, section)
    with transaction(book.engine) as database:
        for student in students:
            book._check_learner(database, student)
    found = [(section, "", lesson) for section in sections]
    found += [("", learner_id(student), lesson) for student in students]
    return list(dict.fromkeys(found or [("", "", lesson)]))


def _read(database):
    query = sql.select(CLAIM).order_by(CLAIM.c.section, CLAIM.c.student, CLAIM.c.lesson)
    return [
        Claim(row.who, row.section, row.student, row.lesson, row.at)
        for row in database.execute(query)
    ]


def _now():
    return datetime.now(timezone.utc)
