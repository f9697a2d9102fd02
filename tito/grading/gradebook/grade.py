"""The values of a gradebook: learners, grades, overrides and comments.

`counting.py` computes a Grade from results, instructions and late rules. This module does not
access the database.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from tito.grading.gradebook import late
from tito.grading.lms import said
from tito.grading.result import UNREAD, Answer, CheckResult, LessonResult
from tito.grading.roster import Learner

EMPTY, WAITING, JUDGED, READ = "empty", "to be judged", "judged", "not graded"


@dataclass(frozen=True)
class Override:
    """Points set by hand, of a lesson, of one check or of an answer.

    Points of a lesson or a check are final: neither late rules nor grading change them.

    graded  the points earned when they were set; None when unknown
    """

    points: Decimal
    who: str
    when: datetime
    why: str
    graded: Decimal | None = None

    def within(self, most: int) -> "Override":
        """The override, reduced to a maximum that was lowered after it was set."""
        return self if self.points <= most else replace(self, points=Decimal(most))

    def doubt(self, graded: int, most: int) -> str:
        """Why a person should review it, or "".

        Points below those earned when they were set are intended. Points below those earned later
        may not be.
        """
        if self.points > most:
            return f"above the maximum of {most}: it counts as {most}"
        if graded > self.points and (self.graded is None or graded > self.graded):
            return f"below the {graded} that are earned now"
        return ""

    def as_json(self) -> dict[str, Any]:
        return {
            "points": late.plain_number(self.points),
            "who": self.who,
            "when": iso(self.when),
            "why": self.why,
        }


@dataclass(frozen=True)
class OverrideReview:
    """An override in force, and a doubt about it.

    check     the id, or None: the whole lesson
    override  as it was set, also above the maximum
    graded    what lesson or check earns now; None: the check is gone
    doubt     why a person should review it, or ""
    """

    student: str
    name: str
    lesson: str
    check: str | None
    override: Override
    graded: int | None
    doubt: str

    def as_json(self) -> dict[str, Any]:
        return vars(self) | {"override": self.override.as_json()}


@dataclass(frozen=True)
class GradedAnswer:
    """An answer: a check that a person judges. Its points are an override for its text, and late
    rules reduce them like those of other checks.

    override  the judgement, or None
    earlier   the judgement of another answer of the learner to this question, the last; or None
    """

    answer: Answer
    override: Override | None = None
    earlier: Override | None = None

    @property
    def question(self) -> str:
        return self.answer.question

    @property
    def max_points(self) -> int:
        return self.answer.max_points

    @property
    def points(self) -> Decimal:
        """Those that count: 0 until a person has judged it."""
        return self.override.points if self.override else Decimal(0)

    @property
    def state(self) -> str:
        """EMPTY, WAITING or JUDGED; READ without points for it and without a judgement."""
        if self.override:
            return JUDGED
        return EMPTY if not self.answer.sha256 else WAITING if self.max_points else READ

    def as_json(self) -> dict[str, Any]:
        return self.answer.as_json() | {
            "state": self.state,
            "points": late.plain_number(self.points),
            "override": self.override and self.override.as_json(),
            "earlier": self.earlier and self.earlier.as_json(),
        }


@dataclass(frozen=True)
class Comment:
    """What an instructor tells a learner. exercise: the one, or the question, that it is about; or
    "".
    """

    text: str
    who: str
    when: datetime
    exercise: str = ""

    @property
    def placed(self) -> str:
        """The text, after the exercise that it is about."""
        return f"{self.exercise}: {self.text}" if self.exercise else self.text

    def as_json(self) -> dict[str, Any]:
        return vars(self) | {"when": iso(self.when)}


@dataclass
class ClassMember(Learner):
    """A learner in a gradebook.

    comments  those that are about no single lesson
    page      the secret in the name of their feedback page
    state     "" in the class, "left", or "stranger": graded, but in no roster
    """

    comments: list[Comment] = field(default_factory=list)
    page: str = ""
    state: str = ""


class Lateness(NamedTuple):
    """When a submission arrived, and what that costs.

    arrived          or None when unknown
    how              the source of the time, or of the mark late or in time, as in
                     submission.Arrived; "" without any
    marked           whether the collector marked it late and no time is known; with an extension
                     given here that costs nothing
    due              the date that counts for this learner, extension included, or None
    extension        more time for this learner, or None
    days             started days after `due` and the grace
    percent          what lateness takes from the graded points; 0 under an override of the lesson
    reason           both in words: "2 days late: -20 %", "2 days late" where that costs nothing,
                     "" in time
    """

    arrived: datetime | None = None
    how: str = ""
    marked: bool = False
    due: datetime | None = None
    extension: late.Extension | None = None
    days: int = 0
    percent: Decimal = Decimal(0)
    reason: str = ""


class ResultRow(NamedTuple):
    """What is needed of a row of the table `result`, which explains it, to know what counts.

    value  the LessonResult; None: it was not read
    """

    lesson: str
    number: int
    title: str
    max_points: int
    key: str
    sha256: str
    arrived: datetime | None
    latest: datetime | None
    how: str
    late: bool | None
    fetched: datetime | None
    graded: datetime
    verdict: str
    told: str
    points: int
    graded_by: str
    answers: list[dict[str, Any]] | None
    exercises: str
    value: LessonResult | None = None

    @property
    def result(self) -> LessonResult:
        if self.value is None:
            raise ValueError("the result was not read, see `Gradebook.by_learner`")
        return self.value

    @property
    def is_work(self) -> bool:
        """Whether the lesson was handed in and differs from the release. Otherwise the result does
        not replace a grade.
        """
        return bool(self.sha256) and self.verdict not in ("missing", "stub")


@dataclass
class Grade:
    """The grade of one lesson of one learner: what `show`, the exports and the feedback read.

    row              the result that counts
    override         the Override of the whole lesson, or None
    check_overrides  {check id: Override}, of checks that `result` has
    answers          to the lesson's questions
    lateness         when it was handed in, and what that costs
    comments         about this lesson, oldest first
    before_late      points before the late rules, overrides included
    points           the points that count: a Decimal of at most two places, written 8 or 7.5
    max_points       of the lesson
    submissions      how many different files of this lesson were handed in, this one included
    checks_today     see late.Rules

    All times have a time zone. Names, messages and comments are text from others: escape them
    wherever they are shown.
    """

    student: str
    name: str
    row: ResultRow
    override: Override | None
    check_overrides: dict[str, Override]
    answers: list[GradedAnswer]
    lateness: Lateness
    comments: list[Comment]
    before_late: Decimal
    points: Decimal
    max_points: int
    submissions: int = 1
    checks_today: Callable[[str], str] = field(default=lambda lesson: "", compare=False, repr=False)

    @property
    def lesson(self) -> str:
        return self.row.lesson

    @property
    def number(self) -> int:
        return self.row.number

    @property
    def title(self) -> str:
        return self.row.title

    @property
    def graded(self) -> datetime:
        return self.row.graded

    @property
    def result(self) -> LessonResult:
        """As graded."""
        return self.row.result

    @property
    def outdated(self) -> bool:
        """Whether other checks than today's graded it: grading again may change it."""
        by = self.row.graded_by if self.row.sha256 else ""
        return bool(by) and self.checks_today(self.lesson) not in ("", by)

    @property
    def to_judge(self) -> int:
        """Points that a person has not judged yet. They count 0 so far."""
        return sum(answer.max_points for answer in self.answers if answer.state == WAITING)

    def parts(self) -> str:
        """What the checks and what persons gave, where the lesson has questions: "automatic 8 of 8,
        judged 1 of 2, 2 points to be judged"; else "".
        """
        if not self.answers:
            return ""
        judged = [answer for answer in self.answers if answer.state == JUDGED]
        given = sum((answer.points for answer in judged), Decimal(0))
        most = sum(answer.max_points for answer in judged)
        empty = sum(answer.max_points for answer in self.answers if answer.state == EMPTY)
        checks = Decimal(self.row.points)
        for check in self.result.checks if self.check_overrides else ():
            checks += self.check_points(check) - check.points
        asked = sum(answer.max_points for answer in self.answers)
        words = [f"automatic {late.shown(checks)} of {self.max_points - asked}"]
        words += [f"judged {late.shown(given)} of {most}"] * bool(judged)
        words += [f"empty answers 0 of {empty}"] * bool(empty)
        if waiting := self.to_judge:
            words.append(f"{waiting} point{'s' * (waiting != 1)} to be judged")
        return ", ".join(words)

    @property
    def late_reason(self) -> str:
        return self.lateness.reason

    @property
    def is_late(self) -> bool:
        return bool(self.lateness.days or self.lateness.marked and not self.lateness.extension)

    @property
    def is_by_hand(self) -> bool:
        return bool(self.override or self.check_overrides)

    @property
    def arrival_unknown(self) -> bool:
        """Whether the arrival is unknown. The work then counts as in time."""
        return self.row.is_work and not self.lateness.how

    def arrival(self) -> str:
        """When it arrived, in words, and the source of that time."""
        arrived, how = self.lateness.arrived, self.lateness.how
        if not how:
            return "arrived at an unknown time" if self.row.is_work else ""
        if arrived:
            return f"arrived {arrived:%Y-%m-%d %H:%M} UTC, {said(how)}"
        marked = "late" if self.lateness.marked else "in time"
        return f"marked {marked} {said(how)}"

    def check_points(self, check: CheckResult) -> Decimal:
        """The points of a check that count: by hand or earned, before the late rules."""
        override = self.check_overrides.get(check.id)
        return override.points if override else Decimal(check.points)

    def as_json(self) -> dict[str, Any]:
        """The values of `tito grade --json`: of the result and of the grade."""
        number, value, lateness = late.plain_number, self.result.as_json(), self.lateness
        for item, check in zip(value["checks"], self.result.checks):
            item |= {"graded_points": item["points"], "points": number(self.check_points(check))}
        return value | {
            "answers": [answer.as_json() for answer in self.answers],
            "to_judge": self.to_judge,
            "name": self.name,
            "points": number(self.points),
            "graded_points": self.row.points,
            "before_late": number(self.before_late),
            "late_days": lateness.days,
            "penalty_percent": number(lateness.percent),
            "late_reason": lateness.reason,
            "arrived": iso(lateness.arrived),
            "arrived_how": lateness.how,
            "marked_late": lateness.marked,
            "submissions": self.submissions,
            "outdated": self.outdated,
            "due": iso(lateness.due),
            "graded": iso(self.graded),
            "override": self.override and self.override.as_json(),
            "check_overrides": {
                check: override.as_json() for check, override in self.check_overrides.items()
            },
            "comments": [comment.as_json() for comment in self.comments],
        }


def iso(when: datetime | None) -> str | None:
    return when.isoformat(timespec="seconds") if when else None


def is_strange(grade: Grade) -> bool:
    """Whether nothing of a lesson could be read in what came, and no person has decided."""
    return grade.row.verdict in UNREAD and not grade.is_by_hand
