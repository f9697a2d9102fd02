"""The values of a gradebook: what a grade is, and how results, overrides and lateness become one.

What lateness costs is computed here, when grades are read (`late.py`), and never stored, so a
changed rule or extension counts at once. Nothing here knows the database.
"""

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

from tito.errors import UsageError
from tito.grading.arrival import SAID, Arrived, merged
from tito.grading.gradebook import late, rubric
from tito.grading.result import CheckResult, LessonResult


@dataclass(frozen=True)
class Override:
    """Points set by hand, of a lesson or of one check.

    They are final: no late rule and no grading changes them.

    graded  what lesson or check had earned when they were set; None where nobody kept it
    """

    points: Decimal
    who: str
    when: datetime
    why: str
    graded: Decimal | None = None

    def within(self, most: int) -> "Override":
        """As it counts where the maximum was lowered below it."""
        return self if self.points <= most else replace(self, points=Decimal(most))

    def doubt(self, graded: int, most: int) -> str:
        """Why somebody should look at it again, or "".

        Points below what was earned when they were set are meant; below what is earned since then
        are not.
        """
        if self.points > most:
            return f"above the maximum of {most}: it counts as {most}"
        if graded > self.points and (self.graded is None or graded > self.graded):
            return f"below the {graded} that are earned now"
        return ""


@dataclass(frozen=True)
class Standing:
    """An override that holds.

    check     the id, or None: the whole lesson
    override  as it was set, also above the maximum
    graded    what lesson or check earns now; None: the check is gone
    doubt     why somebody should look at it again, or ""
    """

    student: str
    name: str
    lesson: str
    check: str | None
    override: Override
    graded: int | None
    doubt: str

    def as_json(self) -> dict:
        return vars(self) | {"override": _override_json(self.override)}


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
    page      the secret in the name of their feedback page
    state     "" in the class, "left", or "stranger": graded, but in no roster
    """

    student: str
    name: str
    columns: dict[str, str]
    comments: list[Comment] = field(default_factory=list)
    page: str = ""
    state: str = ""


@dataclass
class Grade:
    """The grade of one lesson of one learner: what `show`, the exports and the feedback read.

    result           the LessonResult, as graded
    override         the Override of the whole lesson, or None
    check_overrides  {check id: Override}, of checks that `result` has
    arrived          when it was handed in, or None when nobody knows
    arrived_how      who says so, or who marked it late or in time: a key of arrived.SAID, "" when
                     nobody does
    marked_late      whether the collector marked it late and no time is known; with an extension
                     given here that costs nothing
    submissions      how many different files of this lesson were handed in, this one included
    answers          rubric.Graded for each of the lesson's questions: what persons gave for them
    due              the date that counts for this learner, extension included, or None
    extension        late.Extension or None
    late_days        started days after `due` and the grace
    penalty_percent  what lateness takes from the graded points; 0 under an override of the lesson
    late_reason      both in words: "2 days late: -20 %", "2 days late" where that costs nothing,
                     "" in time
    comments         Comments about this lesson, oldest first
    before_late      points before the late rules, overrides included
    points           the points that count: a Decimal of at most two places, written 8 or 7.5
    max_points       of the lesson
    graded           when it was graded

    All times have a time zone. Names, messages and comments are text from others: escape them
    wherever they are shown.
    """

    student: str
    name: str
    lesson: str
    number: int
    title: str
    result: LessonResult
    override: Override | None
    check_overrides: dict[str, Override]
    arrived: datetime | None
    due: datetime | None
    extension: late.Extension | None
    late_days: int
    penalty_percent: Decimal
    late_reason: str
    comments: list[Comment]
    before_late: Decimal
    points: Decimal
    max_points: int
    graded: datetime
    arrived_how: str = ""
    marked_late: bool = False
    submissions: int = 1
    answers: list[rubric.Graded] = field(default_factory=list)

    @property
    def to_judge(self) -> int:
        """Points that a person has still to give or refuse; they count 0 so far."""
        return sum(one.max_points for one in self.answers if one.state == rubric.WAITING)

    def parts(self) -> str:
        """What the checks and what persons gave, where the lesson has questions: "automatic 8 of 8,
        judged 1 of 2, 2 points to be judged"; else "".
        """
        if not self.answers:
            return ""
        judged = [one for one in self.answers if one.state == rubric.JUDGED]
        sums = sum(one.points for one in judged), sum(one.max_points for one in judged)
        empty = sum(one.max_points for one in self.answers if one.state == rubric.EMPTY)
        checks = sum((self.check_points(check) for check in self.result.checks), Decimal(0))
        words = [f"automatic {late.shown(checks)} of {self.result.check_points}"]
        words += [f"judged {late.shown(sums[0])} of {sums[1]}"] * bool(judged)
        words += [f"empty answers 0 of {empty}"] * bool(empty)
        if waiting := self.to_judge:
            words.append(f"{waiting} point{'s' * (waiting != 1)} to be judged")
        return ", ".join(words)

    @property
    def is_late(self) -> bool:
        return bool(self.late_days or self.marked_late and not self.extension)

    @property
    def arrival_unknown(self) -> bool:
        """Whether nobody knows if this work came in time; it then counts as if it had."""
        return self.result.is_work and not self.arrived_how

    def arrival(self) -> str:
        """When it arrived, in words, and who says so."""
        when = self.arrived and f"{self.arrived:%Y-%m-%d %H:%M} UTC"
        if not self.arrived_how:
            return "arrived at an unknown time" if self.result.is_work else ""
        if when:
            return f"arrived {when}, {SAID.get(self.arrived_how, self.arrived_how)}"
        marked = "late" if self.marked_late else "in time"
        return f"marked {marked} {SAID.get(self.arrived_how, self.arrived_how)}"

    def check_points(self, check: CheckResult) -> Decimal:
        """The points of a check that count: by hand or earned, before the late rules."""
        override = self.check_overrides.get(check.id)
        return override.points if override else Decimal(check.points)

    def as_json(self) -> dict:
        """The keys of `tito grade --json`, with the points that count, and what else is known."""
        number, value = late.plain_number, self.result.as_json()
        for item, check in zip(value["checks"], self.result.checks):
            item |= {"graded_points": item["points"], "points": number(self.check_points(check))}
        return value | {
            "answers": [answer.as_json() for answer in self.answers],
            "to_judge": self.to_judge,
            "name": self.name,
            "points": number(self.points),
            "graded_points": self.result.points,
            "before_late": number(self.before_late),
            "late_days": self.late_days,
            "penalty_percent": number(self.penalty_percent),
            "late_reason": self.late_reason,
            "arrived": _iso(self.arrived),
            "arrived_how": self.arrived_how,
            "marked_late": self.marked_late,
            "submissions": self.submissions,
            "due": _iso(self.due),
            "graded": _iso(self.graded),
            "override": _override_json(self.override),
            "check_overrides": {
                check: _override_json(override) for check, override in self.check_overrides.items()
            },
            "comments": [
                {"text": comment.text, "who": comment.who, "when": _iso(comment.when)}
                for comment in self.comments
            ],
        }


@dataclass(frozen=True)
class Change:
    """An entry of the history.

    lesson      None: all lessons
    check       the id of the check that was overridden, or None
    kind        "graded", "regraded" (the same submission and checks once more), "arrived" (another
                submission counts, or it costs something else, since more is known of when it came),
                "override", "comment", "extension", "judged" and "rubric" (free answers), "looked
                at" (by another grader than before); "left", "returned" or "merged", of a learner
    when        with time zone, UTC
    old_points  of the lesson, before the late rules; None when there were none
    points      that an override sets; None lifts it
    text        of a comment, None takes the comments back; with a grade or an override, what else
                there is to say
    extension   late.Extension, or None: taken back
    checks      [{"id", "name", "old", "new"}]: the checks whose points changed; None where there
                was no such check
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
    checks: list[dict]

    @property
    def changes_points(self) -> bool:
        """Whether it took the grade from some points to others, or would have done so without an
        override.
        """
        if self.old_points is None:
            return False
        graded = sum((one["new"] or 0) - (one["old"] or 0) for one in self.checks)
        return self.old_points != self.new_points or graded != 0

    def as_json(self) -> dict:
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


def _override_json(override):
    return override and {
        "points": late.plain_number(override.points),
        "who": override.who,
        "when": _iso(override.when),
        "why": override.why,
    }


def _iso(when):
    return when and when.isoformat(timespec="seconds")


def sum_points(
    result: LessonResult,
    override: Override | None,
    check_overrides: dict[str, Override],
    answers: Iterable[rubric.Graded] = (),
) -> Decimal:
    """Points of a lesson before the late rules."""
    if override:
        return override.points
    earned, by_hand = _split_points(result, check_overrides, answers)
    return late.tidy(earned + by_hand)


def _split_points(result, check_overrides, answers):
    """(what was graded and is not overridden, what was set by hand).

    Lateness can take from the first only; what a person gave for an answer belongs to it.
    """
    replaced = sum(check.points for check in result.checks if check.id in check_overrides)
    by_hand = sum((override.points for override in check_overrides.values()), Decimal(0))
    judged = sum((answer.points for answer in answers), Decimal(0))
    return Decimal(max(0, result.points - replaced)) + judged, by_hand


@dataclass(frozen=True)
class Submitted:
    """A file of a lesson that was handed in: the row of `result` that counts for it, which of
    several keys it may have, and what all runs know of its arrival.
    """

    row: object
    arrived: Arrived

    @property
    def order(self):
        return (*self.arrived.order, self.row.graded)


def submitted(rows: Iterable) -> list[Submitted]:
    """The rows of one learner's lesson, by file. Beside other earlier lessons the same file may
    have earned less (`--base own`): its best grading counts, so that nobody loses points over a
    lesson that was not handed in again.
    """
    by_file = {}
    for row in rows:
        by_file.setdefault(row.sha256, []).append(row)
    found = []
    for same in by_file.values():
        known = arrival_of(same[0])
        for row in same[1:]:
            known = merged(known, arrival_of(row))
        best = max(same, key=lambda row: (row.value["points"], row.graded))
        found.append(Submitted(best, known))
    return found


def arrival_of(row) -> Arrived:
    """What a row of `result` knows of its file's arrival."""
    return Arrived(row.arrived, row.how, row.late, row.fetched, row.latest)


def counting_grade(
    learner, rows: Iterable, instructions: "Instructions", rules: late.Rules
) -> Grade:
    """The Grade of a learner's lesson: of the submission that counts by the policy of the course.

    rows  of the table `result`, one or more of that lesson

    What was not handed in, could not be read at all or is as it was released counts only where
    there is nothing else. "best" compares the points after lateness; of equals, the latest counts.
    """
    found = submitted(rows)
    grades = [(one, make_grade(learner, one, instructions, rules)) for one in found]
    work = [pair for pair in grades if pair[1].result.is_work]
    handed_in = work or [pair for pair in grades if pair[0].row.sha256] or grades

    def order(pair):
        return pair[0].order

    if rules.policy == "best":
        chosen = max(handed_in, key=lambda pair: (pair[1].points, order(pair)))
    elif rules.policy == "last-on-time":
        in_time = [pair for pair in handed_in if not pair[1].is_late]
        chosen = max(in_time, key=order) if in_time else min(handed_in, key=order)
    else:
        chosen = max(handed_in, key=order)
    grade = chosen[1]
    grade.submissions = len(handed_in)
    return grade


def make_grade(learner, one: Submitted, instructions: "Instructions", rules: late.Rules) -> Grade:
    """The Grade of a submission, by what instructors said and by the late rules.

    learner  has `student` and `name`
    """
    row = one.row
    result = LessonResult.from_json(row.value)
    override, check_overrides = instructions.select_overrides(result)
    answers = instructions.graded(result)
    extension = instructions.extension(row.lesson)
    due = rules.due.get(row.lesson)
    arrived, how = one.arrived.when, one.arrived.how
    if not arrived and one.arrived.late is None:
        arrived, how = _claimed(result, one.arrived, rules)
    # A time decides where one is known. A mark is by the date of the collector, who knows nothing
    # of an extension given here.
    marked = arrived is None and bool(one.arrived.late)
    days = late.lateness(arrived, due, extension, rules.grace)
    percent, told = late.percent(days, rules), SAID[how] if how in late.CLAIMS else ""
    if marked and not extension:
        percent, told = rules.mark, f"marked {SAID.get(how, how)}"
    percent = Decimal(0) if override else percent
    before_late = points = sum_points(result, override, check_overrides, answers)
    if percent:
        earned, by_hand = _split_points(result, check_overrides, answers)
        points = late.tidy(late.penalised(earned, percent) + by_hand)
    return Grade(
        student=learner.student,
        name=learner.name,
        lesson=row.lesson,
        number=row.number,
        title=row.title,
        result=result,
        override=override,
        check_overrides=check_overrides,
        arrived=arrived,
        due=extension.applied(due) if extension and due else due,
        extension=extension,
        late_days=days,
        penalty_percent=percent,
        late_reason=late.reason(days, percent, told),
        comments=instructions.comments(row.lesson),
        before_late=before_late,
        points=points,
        max_points=row.max_points,
        graded=row.graded,
        arrived_how=how,
        marked_late=marked,
        answers=answers,
    )


def _claimed(result, known, rules):
    """(When the learner's own work says that it was made, which claim that is), where `tito.toml`
    lets it count; (None, "") without.
    """
    claims = result.claimed | ({"file": known.fetched.isoformat()} if known.fetched else {})
    for kind in rules.claimed:
        if kind in claims and (when := late.moment(claims[kind], rules.zone)):
            return when, kind
    return None, ""


class Instructions:
    """What instructors have said about one learner, and still holds.

    entries  rows of the table `change`, oldest first: overrides, judgements, comments and
             extensions
    items    {id: rubric.Item} of the book
    """

    def __init__(self, entries: Iterable, items: dict[int, rubric.Item] | None = None):
        self.overrides, self.comments_by_lesson, self.extensions = {}, {}, {}
        self.judged, self.items = {}, items or {}  # {(lesson, question): its entries}
        for entry in entries:
            if entry.kind == "judged":
                place = entry.lesson, entry.replaced["question"]
                self.judged.setdefault(place, []).append(entry)
            elif entry.kind == "override":
                graded = (entry.replaced or {}).get("graded")
                self.override(
                    entry.lesson,
                    entry.check_id,
                    entry.points,
                    entry.who,
                    entry.at,
                    entry.why,
                    None if graded is None else Decimal(graded),
                )
            elif entry.kind == "extension":
                self.extensions[entry.lesson] = make_extension(entry)
            elif entry.text is None:
                self._take_back(entry.lesson, (entry.replaced or {}).get("comment"))
            else:
                comment = Comment(entry.text, entry.who, entry.at)
                self.comments_by_lesson.setdefault(entry.lesson, []).append(comment)

    def _take_back(self, lesson, comment):
        """The comments on a lesson do not hold any more; `comment` [text, who]: only this one."""
        kept = self.comments_by_lesson.pop(lesson, [])
        for one in kept if comment else ():
            if [one.text, one.who] == comment:
                self.comments_by_lesson[lesson] = [other for other in kept if other is not one]
                return
        if comment and kept:
            self.comments_by_lesson[lesson] = kept

    def override(
        self,
        lesson: str,
        check: str | None,
        points: Decimal | None,
        who: str,
        when: datetime,
        why: str,
        graded: Decimal | None = None,
    ) -> None:
        if points is None:
            self.overrides.pop((lesson, check), None)
        else:
            self.overrides[lesson, check] = Override(points, who, when, why, graded)

    def select_overrides(self, result: LessonResult) -> tuple[Override | None, dict[str, Override]]:
        """(Override of the lesson or None, {check id: Override} of the checks that it has).

        None is above what lesson or check can earn.
        """
        by_check = {
            check.id: self.overrides[result.lesson, check.id].within(check.max_points)
            for check in result.checks
            if (result.lesson, check.id) in self.overrides
        }
        override = self.overrides.get((result.lesson, None))
        return override and override.within(result.max_points), by_check

    def standing(self, learner, results: Iterable[LessonResult]) -> Iterator[Standing]:
        """The overrides that hold, with what is to be said against each.

        learner  has `student` and `name`
        """
        by_lesson = {result.lesson: result for result in results}
        for (lesson, check), override in self.overrides.items():
            result = by_lesson.get(lesson)
            checks = {one.id: one for one in result.checks} if result else {}
            place = result if check is None else checks.get(check)
            doubt = (
                override.doubt(place.points, place.max_points)
                if place
                else f"there is no check {check} any more: it counts nothing"
                if check
                else ""
            )
            graded = place and place.points
            yield Standing(learner.student, learner.name, lesson, check, override, graded, doubt)

    def graded(self, result: LessonResult) -> list[rubric.Graded]:
        """What the answers of a result count."""
        return [
            rubric.graded(answer, self.judged.get((result.lesson, answer.question), ()), self.items)
            for answer in result.answers
        ]

    def sum_points(self, result: LessonResult) -> Decimal:
        return sum_points(result, *self.select_overrides(result), self.graded(result))

    def comments(self, lesson: str | None) -> list[Comment]:
        return self.comments_by_lesson.get(lesson, [])

    def extension(self, lesson: str) -> late.Extension | None:
        return self.extensions.get(lesson) or self.extensions.get(None)

    def describe_overrides(self, before: LessonResult | None, result: LessonResult) -> str | None:
        """What happens to the overrides when `result` replaces `before`, or None without any."""
        if not before:
            return None
        sentences, ids = [], {check.id for check in result.checks}
        for (lesson, check), override in self.overrides.items():
            if lesson != result.lesson:
                continue
            if check is None:
                hides = (
                    " and hides the rise"
                    if result.points > max(before.points, override.points)
                    else ""
                )
                sentences.append(
                    f"graded {before.points} -> {result.points}; "
                    f"the override to {override.points} by {override.who} stays{hides}"
                )
            elif check in ids:
                old = next((one.points for one in before.checks if one.id == check), 0)
                new = next(one.points for one in result.checks if one.id == check)
                hides = " and hides the rise" if new > max(old, override.points) else ""
                sentences.append(
                    f"the override of check {check} to {override.points} by {override.who} "
                    f"stays{hides}"
                )
            else:
                sentences.append(
                    f"check {check}, overridden to {override.points} by {override.who}, is no "
                    "longer there"
                )
        return "; ".join(sentences) or None


def make_extension(row) -> late.Extension | None:
    """The extension in a row of the table `change`."""
    return late.Extension(row.until, row.days) if row.until or row.days else None


def differences(before: LessonResult | None, after: LessonResult) -> list[dict]:
    """The checks whose points are others than before."""
    if not before:
        return []
    old, new = ({check.id: check for check in result.checks} for result in (before, after))
    pairs = [(old.get(check_id), new.get(check_id)) for check_id in old | new]
    return [
        {
            "id": (new_check or old_check).id,
            "name": (new_check or old_check).name,
            "old": old_check and old_check.points,
            "new": new_check and new_check.points,
        }
        for old_check, new_check in pairs
        if not (old_check and new_check and old_check.points == new_check.points)
    ]


def select_check(text: str, lesson: str, ids: list[str]) -> str:
    """The one of `ids` that is `text`, or has it as a part."""
    matches = [text] if text in ids else [check_id for check_id in ids if text in check_id]
    if len(matches) == 1:
        return matches[0]
    listed = matches or ids
    first = ", ".join(listed[:5]) + ("" if len(listed) <= 5 else ", ...")
    if matches:
        raise UsageError(
            f"Lesson {lesson} has {len(matches)} checks with {text!r} in their names.",
            f"Write more of one: {first}",
        )
    close = difflib.get_close_matches(text, ids, n=1)
    raise UsageError(
        f"Lesson {lesson} has no check {text!r}.",
        f"Did you mean {close[0]!r}?"
        if close
        else f"There are: {first}; all: tito gradebook show --student ID --lesson {lesson}",
    )


def parse_points(
    points: Decimal | int | float | str, result: LessonResult, check: str | None
) -> Decimal:
    """The Decimal that is meant, within what lesson or check can earn."""
    limits = {item.id: item.max_points for item in result.checks}
    most = result.max_points if check is None else limits[check]
    try:
        value = late.exact(points)
    except ValueError:
        raise UsageError(
            f"{points!r} is no number of points.", f"Give one between 0 and {most}, such as 7.5."
        ) from None
    if not 0 <= value <= most:
        raise UsageError(
            f"{points} points are not possible: {check or result.lesson} can earn between 0 "
            f"and {most}.",
            "Give a number in between.",
        )
    return value
