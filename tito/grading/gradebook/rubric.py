"""The values of judging answers by hand: items of a rubric, judgements, and graded answers.

The points of an answer are the points of the ticked rubric items plus an adjustment, between 0 and
the question's points. They are computed each time grades are read, so a change of an item's points
applies to all answers at once. This module does not access the database.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from tito.grading.gradebook import late
from tito.grading.result import Answer

EMPTY, WAITING, JUDGED, READ = "empty", "to be judged", "judged", "not graded"


@dataclass(frozen=True)
class RubricItem:
    """One line of a question's rubric.

    id       by which a judgement names it; it stays when the item changes
    place    in the rubric, from 1
    points   may be negative
    version  grows with each change of it, see `answers.change_item`
    """

    id: int
    place: int
    points: Decimal
    text: str
    version: int

    def as_json(self) -> dict[str, Any]:
        return vars(self) | {"points": late.plain_number(self.points)}


@dataclass(frozen=True)
class Judgement:
    """A person's judgement of an answer.

    id          of its entry in the history
    sha256      of the answer
    items       the rubric items that were ticked, without those that were removed since
    adjustment  points besides the items' points
    comment     for the learner
    points      these make now
    """

    id: int
    sha256: str
    items: tuple[RubricItem, ...]
    adjustment: Decimal
    comment: str
    who: str
    when: datetime
    points: Decimal

    @property
    def ids(self) -> tuple[int, ...]:
        """Of the items."""
        return tuple(item.id for item in self.items)

    def as_json(self) -> dict[str, Any]:
        numbers = {key: late.plain_number(getattr(self, key)) for key in ("adjustment", "points")}
        when = self.when.isoformat(timespec="seconds")
        items = [item.as_json() for item in self.items]
        return vars(self) | numbers | {"items": items, "when": when}


@dataclass(frozen=True)
class GradedAnswer:
    """An answer and its points.

    state      "empty", "to be judged" or "judged"; "not graded" without points for it and without a
               judgement
    points     that count: 0 until a person has judged it
    judgement  of this answer, or None
    earlier    of another answer of the learner to this question, the last; or None
    """

    answer: Answer
    state: str
    points: Decimal
    judgement: Judgement | None = None
    earlier: Judgement | None = None

    @property
    def question(self) -> str:
        return self.answer.question

    @property
    def max_points(self) -> int:
        return self.answer.max_points

    def as_json(self) -> dict[str, Any]:
        return self.answer.as_json() | {
            "state": self.state,
            "points": late.plain_number(self.points),
            "judgement": self.judgement and self.judgement.as_json(),
            "earlier": self.earlier and self.earlier.as_json(),
        }


def sum_points(items: Iterable[RubricItem], adjustment: Decimal, most: int) -> Decimal:
    """The points of ticked items and an adjustment, within 0 and `most`."""
    total = sum((item.points for item in items), Decimal(adjustment))
    return late.tidy(min(max(total, Decimal(0)), Decimal(most)))


def graded(answer: Answer, entries: Iterable[Any], rubric: dict[int, RubricItem]) -> GradedAnswer:
    """What an answer counts.

    entries  the history's rows of kind "judged" about the learner and the question, oldest first
    rubric   {id: RubricItem}; an item that was removed is not in it
    """
    latest: dict[str, Any] = {}  # {sha256 of an answer: its last row}, in the order of those
    for row in entries:
        sha256 = row.replaced["answer"]
        latest.pop(sha256, None)
        latest[sha256] = row
    latest = {sha256: row for sha256, row in latest.items() if row.points is not None}
    if answer.sha256 in latest:
        judgement = judgement_of(latest[answer.sha256], answer.max_points, rubric)
        return GradedAnswer(answer, JUDGED, judgement.points, judgement)
    earlier = None
    if latest:
        *_, last = latest.values()
        earlier = judgement_of(last, answer.max_points, rubric)
    state = EMPTY if not answer.sha256 else WAITING if answer.max_points else READ
    return GradedAnswer(answer, state, Decimal(0), None, earlier)


def judgement_of(row: Any, most: int, rubric: dict[int, RubricItem]) -> Judgement:
    """The Judgement in a row of the history. most: points of the question."""
    items = tuple(rubric[item] for item in row.replaced["items"] if item in rubric)
    points = sum_points(items, row.points, most)
    answer, comment = row.replaced["answer"], row.text or ""
    return Judgement(row.id, answer, items, row.points, comment, row.who, row.at, points)
