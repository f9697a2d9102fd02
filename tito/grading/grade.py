"""The values of a gradebook: what a grade is, and how results, overrides and lateness become one.

What lateness costs is computed here, when grades are read (`late.py`), and never stored, so a
changed rule or extension counts at once. Nothing here knows the database.
"""

import difflib
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from tito.errors import TitoError
from tito.grading import late
from tito.grading.result import LessonResult


@dataclass(frozen=True)
class Override:
    """Points set by hand, of a lesson or of one check. They are final: no late rule and no grading changes them."""

    points: Decimal
    who: str
    when: datetime
    why: str


@dataclass(frozen=True)
class Comment:
    """What an instructor tells a learner."""

    text: str
    who: str
    when: datetime


@dataclass
class Learner:
    """One learner.

    name      "" when nobody gave one
    columns   the roster's row: {header: text}
    comments  those that are about no single lesson
    """

    student: str
    name: str
    columns: dict
    comments: list = field(default_factory=list)


@dataclass
class Grade:
    """The grade of one lesson of one learner, as it stands: what `show`, the exports and the feedback read.

    result           the LessonResult, as graded
    override         the Override of the whole lesson, or None
    check_overrides  {check id: Override}, of checks that `result` has
    arrived          when it was handed in, or None when nobody knows
    due              the date that counts for this learner, extension included, or None
    extension        late.Extension or None
    late_days        started days after `due` and the grace
    penalty_percent  what lateness takes from the graded points; 0 under an override of the lesson
    late_reason      both in words: "2 days late: -20 %", "2 days late" where that costs nothing, "" in time
    comments         Comments about this lesson, oldest first
    before_late      points before the late rules, overrides included
    points           the points that count: a Decimal of at most two places, written 8 or 7.5
    max_points       of the lesson
    graded           when it was graded

    All times have a time zone. Names, messages and comments are text from others: escape them wherever they are shown.
    """

    student: str
    name: str
    lesson: str
    number: int
    title: str
    result: LessonResult
    override: Override | None
    check_overrides: dict
    arrived: datetime | None
    due: datetime | None
    extension: late.Extension | None
    late_days: int
    penalty_percent: Decimal
    late_reason: str
    comments: list
    before_late: Decimal
    points: Decimal
    max_points: int
    graded: datetime

    def check_points(self, check):
        """The points of one CheckResult of `result` that count: overridden or earned, before the late rules."""
        return (
            self.check_overrides[check.id].points
            if check.id in self.check_overrides
            else Decimal(check.points)
        )

    def as_json(self):
        """The keys of `tito grade --json`, with the points that count, and what else is known about this grade."""
        number, value = late.plain_number, self.result.as_json()
        for check, one in zip(value["checks"], self.result.checks):
            check |= {"graded_points": check["points"], "points": number(self.check_points(one))}
        return value | {
            "name": self.name,
            "points": number(self.points),
            "graded_points": self.result.points,
            "before_late": number(self.before_late),
            "late_days": self.late_days,
            "penalty_percent": number(self.penalty_percent),
            "late_reason": self.late_reason,
            "arrived": _iso(self.arrived),
            "due": _iso(self.due),
            "graded": _iso(self.graded),
            "override": _plain(self.override),
            "check_overrides": {
                check: _plain(override) for check, override in self.check_overrides.items()
            },
            "comments": [
                {"text": one.text, "who": one.who, "when": _iso(one.when)} for one in self.comments
            ],
        }


@dataclass(frozen=True)
class Change:
    """An entry of the history.

    lesson      None: all lessons
    check       the id of the check that was overridden, or None
    kind        "graded", "regraded" (the same submission and checks once more), "override", "comment" or "extension"
    when        with time zone, UTC
    old_points  of the lesson, before the late rules; None when there were none
    points      that an override sets; None lifts it
    text        of a comment, None takes the comments back; with a grade, what else there is to say
    extension   late.Extension, or None: taken back
    checks      [{"id", "name", "old", "new"}]: the checks whose points changed; None where there was no such check
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
    checks: list

    def as_json(self):
        points = {key: getattr(self, key) for key in ("old_points", "new_points", "points")}
        extension = self.extension and {
            "until": _iso(self.extension.until),
            "days": self.extension.days,
        }
        numbers = {
            key: None if value is None else late.plain_number(value)
            for key, value in points.items()
        }
        return vars(self) | numbers | {"when": _iso(self.when), "extension": extension}


def _plain(override):
    return override and vars(override) | {
        "points": late.plain_number(override.points),
        "when": _iso(override.when),
    }


def _iso(when):
    return when and when.isoformat(timespec="seconds")


def standing(result, override, check_overrides):
    """Points of a lesson before the late rules."""
    if override:
        return override.points
    return late.tidy(_earned(result, check_overrides) + _given(check_overrides))


def _given(check_overrides):
    """What was set by hand: what lateness cannot take from."""
    return sum((one.points for one in check_overrides.values()), Decimal(0))


def _earned(result, check_overrides):
    """What was graded and is not overridden: what lateness can take from."""
    return Decimal(
        max(
            0,
            result.points
            - sum(check.points for check in result.checks if check.id in check_overrides),
        )
    )


def make_grade(learner, row, instructions, rules):
    """The Grade of a row of `result`, by what instructors said and by the late rules."""
    result = LessonResult.from_json(row.value)
    override, check_overrides = instructions.of(result)
    extension = instructions.extension(row.lesson)
    due = rules.due.get(row.lesson)
    days = late.lateness(row.arrived, due, extension, rules.grace)
    percent = Decimal(0) if override else late.percent(days, rules)
    before_late = points = standing(result, override, check_overrides)
    if percent:
        points = late.tidy(
            late.penalised(_earned(result, check_overrides), percent) + _given(check_overrides)
        )
    return Grade(
        learner.student,
        learner.name,
        row.lesson,
        row.number,
        row.title,
        result,
        override,
        check_overrides,
        row.arrived,
        extension.applied(due) if extension and due else due,
        extension,
        days,
        percent,
        late.reason(days, percent),
        instructions.comments(row.lesson),
        before_late,
        points,
        row.max_points,
        row.graded,
    )


class Instructions:
    """What instructors have said about one learner, and still holds."""

    def __init__(self, entries):
        self.overrides, self.said, self.extensions = {}, {}, {}
        for entry in entries:
            if entry.kind == "override":
                self.override(
                    entry.lesson, entry.check_id, entry.points, entry.who, entry.at, entry.why
                )
            elif entry.kind == "extension":
                self.extensions[entry.lesson] = extension_of(entry)
            elif entry.text is None:
                self.said.pop(entry.lesson, None)
            else:
                self.said.setdefault(entry.lesson, []).append(
                    Comment(entry.text, entry.who, entry.at)
                )

    def override(self, lesson, check, points, who, when, why):
        if points is None:
            self.overrides.pop((lesson, check), None)
        else:
            self.overrides[lesson, check] = Override(points, who, when, why)

    def of(self, result):
        """(Override of the lesson or None, {check id: Override} of the checks that it has)."""
        found = {check.id: self.overrides.get((result.lesson, check.id)) for check in result.checks}
        return self.overrides.get((result.lesson, None)), {
            check: one for check, one in found.items() if one
        }

    def standing(self, result):
        return standing(result, *self.of(result))

    def comments(self, lesson):
        return self.said.get(lesson, [])

    def extension(self, lesson):
        return self.extensions.get(lesson) or self.extensions.get(None)

    def kept(self, before, result):
        """What happens to the overrides when `result` replaces `before`, in words, or None when there are none."""
        said = []
        if before:
            for (lesson, check), override in self.overrides.items():
                if lesson == result.lesson and check is None:
                    said.append(
                        f"graded {before.points} -> {result.points}; the override to {override.points} stays"
                    )
                elif lesson == result.lesson and check in {one.id for one in result.checks}:
                    said.append(f"the override of check {check} to {override.points} stays")
                elif lesson == result.lesson:
                    said.append(
                        f"check {check}, overridden to {override.points}, is no longer there"
                    )
        return "; ".join(said) or None


def extension_of(row):
    return late.Extension(row.until, row.days) if row.until or row.days else None


def differences(before, after):
    """The checks whose points are others than before."""
    if not before:
        return []
    old, new = ({check.id: check for check in result.checks} for result in (before, after))
    pairs = [(old.get(key), new.get(key)) for key in old | new]
    return [
        {
            "id": (two or one).id,
            "name": (two or one).name,
            "old": one and one.points,
            "new": two and two.points,
        }
        for one, two in pairs
        if not (one and two and one.points == two.points)
    ]


def select_check(wanted, lesson, ids):
    """The one of `ids` that is `wanted`, or has it as a part."""
    found = [wanted] if wanted in ids else [one for one in ids if wanted in one]
    if len(found) == 1:
        return found[0]
    first = ", ".join((found or ids)[:5]) + ("" if len(found or ids) <= 5 else ", ...")
    if found:
        raise TitoError(
            f"Lesson {lesson} has {len(found)} checks with {wanted!r} in their names.",
            f"Write more of one: {first}",
        )
    close = difflib.get_close_matches(wanted, ids, n=1)
    raise TitoError(
        f"Lesson {lesson} has no check {wanted!r}.",
        f"Did you mean {close[0]!r}?"
        if close
        else f"There are: {first}; all: tito gradebook show --student ID --lesson {lesson}",
    )


def parse_points(points, result, check):
    """The Decimal that is meant, within what lesson or check can earn."""
    most = (
        result.max_points
        if check is None
        else next(one.max_points for one in result.checks if one.id == check)
    )
    try:
        value = late.exact(points)
    except ValueError:
        raise TitoError(
            f"{points!r} is no number of points.", f"Give one between 0 and {most}, such as 7.5."
        ) from None
    if not 0 <= value <= most:
        raise TitoError(
            f"{points} points are not possible: {check or result.lesson} can earn between 0 and {most}.",
            "Give a number in between.",
        )
    return value
