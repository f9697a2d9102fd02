"""How a class did in each check and exercise of a lesson: the share that is right, how well an item
tells the strong from the weak, which recorded misconception is behind what fails, and where the
class stops.

Counted are learners of the class whose lesson ran, by the submission that counts. What was not
handed in, is as released, or could not be read or imported says nothing about a single check: it is
counted beside them.

**discrimination** of an item is the point-biserial correlation between the item (1 right, 0 not)
and the learner's other points in the lesson; without the item's own points, since an item
correlates with itself ("corrected item-total correlation", Crocker and Algina, Introduction to
Classical and Modern Test Theory, 1986, chapter 14). Near 1: who is good at the rest has it right.
Below about .2 the item says little about the rest; below 0 those who are good at the rest fail it:
look at the check. None where all are equal, in the item or in the rest.
"""

from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta, timezone

import numpy as np

from tito.errors import TitoError
from tito.lesson import misconceptions

NOT_RUN = (
    *("missing", "stub", "unreadable", "too long to read", "syntax error", "import failed"),
    *("crashed", "timed out", "out of memory"),  # before any check could pass
)
DAYS = 60  # points in time of a lesson's course; of a longer one every second day, ...


@dataclass
class Mistake:
    """A recorded misconception (`misconceptions.toml`), and how many learners showed it."""

    name: str
    learners: int


@dataclass
class Item:
    """A check or an exercise; an exercise is right when all its checks pass.

    learners        whose work has it
    right           of them
    before          (right, learners) at the time that was asked for; None: nobody then
    discrimination  see above, -1 to 1, or None
    mistakes        the Mistakes behind it, the commonest first
    """

    id: str
    learners: int = 0
    right: int = 0
    before: tuple[int, int] | None = None
    discrimination: float | None = None
    mistakes: list[Mistake] = field(default_factory=list)

    @property
    def share(self) -> float | None:
        return self.right / self.learners if self.learners else None

    def as_json(self) -> dict:
        return asdict(self) | {"share": self.share}


@dataclass
class CheckItem(Item):
    """name: its function; on_reference: right only beside the course's earlier lessons."""

    exercise: str = ""
    name: str = ""
    hidden: bool = False
    max_points: int = 0
    on_reference: int = 0


@dataclass
class ExerciseItem(Item):
    """An exercise.

    stops      learners for whom it is the first that is not right
    unwritten  of them and others: it is as released
    hints      {how many hints were opened: learners}, of those who told: a claim, see `tito submit
               --with-hints`
    of_hints   how many there are
    """

    stops: int = 0
    unwritten: int = 0
    hints: dict[int, int] = field(default_factory=dict)
    of_hints: int = 0

    @property
    def mean_hints(self) -> float | None:
        told = sum(self.hints.values())
        return sum(n * count for n, count in self.hints.items()) / told if told else None

    def as_json(self) -> dict:
        return super().as_json() | {"mean_hints": self.mean_hints}


@dataclass
class LessonItems:
    """A lesson.

    learners  whose lesson ran; finished: everything is right; not_run: {verdict: the others}
    since     the time of `Item.before`
    days      [(date, learners, {exercise: right})]: as it stood at the end of that day
    """

    lesson: str
    number: int
    title: str
    since: datetime
    learners: int = 0
    finished: int = 0
    not_run: dict[str, int] = field(default_factory=dict)
    exercises: list[ExerciseItem] = field(default_factory=list)
    checks: list[CheckItem] = field(default_factory=list)
    days: list[tuple] = field(default_factory=list)

    def as_json(self) -> dict:
        return vars(self) | {
            "since": self.since.isoformat(timespec="seconds"),
            "exercises": [item.as_json() for item in self.exercises],
            "checks": [item.as_json() for item in self.checks],
            "days": [
                {"day": day.isoformat(), "learners": learners, "right": right}
                for day, learners, right in self.days
            ],
        }


def analyse(
    book, entries, lesson: str | None = None, section: str | None = None, since=None
) -> list[LessonItems]:
    """The LessonItems of a lesson, or of all that were graded, by number.

    entries  the lessons of the course (course.Entry), or none: then mistakes have no names, and
             checks are in the order of the results
    since    a time, with a zone, with which things now are compared; None: a week ago
    """
    since = since or datetime.now(timezone.utc) - timedelta(days=7)
    declared = {entry.name: _declared(entry) for entry in entries}
    tallies = {}
    for name, told in book.histories(lesson, section):
        if name not in tallies:
            tallies[name] = _Tally(told[-1][1], declared.get(name), since)
        tallies[name].add(told)
    found = sorted(tallies.values(), key=lambda tally: (tally.found.number, tally.found.lesson))
    return [tally.done() for tally in found]


def _declared(entry):
    """(the lesson, its recorded mistakes); None where it cannot be read now."""
    try:
        return entry.declared, misconceptions.load(entry.declared)
    except TitoError:
        return None


class _Tally:
    """What is counted of one lesson. A learner's checks are a row of small numbers: 1 right, 0 not,
    -1 where their result has no such check.
    """

    def __init__(self, grade, declared, since):
        self.found = LessonItems(grade.lesson, grade.number, grade.title, since)
        lesson, mistakes = declared or (None, [])
        checks = lesson.checks if lesson else grade.result.checks
        self.place = {check.id: number for number, check in enumerate(checks)}
        self.items = [
            CheckItem(
                check.id,
                exercise=check.exercise,
                name=check.id.rpartition(".")[2],
                hidden=check.hidden,
                max_points=check.points if lesson else check.max_points,
            )
            for check in checks
        ]
        names = dict.fromkeys(item.exercise for item in self.items)
        self.exercises = {name: ExerciseItem(name) for name in names}
        for exercise in lesson.exercises if lesson else ():
            if exercise.id in self.exercises:
                self.exercises[exercise.id].of_hints = len(exercise.hints)
        self.of = {
            name: [n for n, item in enumerate(self.items) if item.exercise == name]
            for name in names
        }
        self.mistakes = _by_message(mistakes)
        self.showed = Counter()  # (id of exercise or check, misconception)
        self.verdicts = Counter()
        self.rows, self.points, self.totals, self.then = [], [], [], []
        self.changes = []  # (when, exercises right before or None, and from then on)

    def add(self, told):
        """Count a learner: [(when, the Grade that counted from then on)]."""
        since, then, before = self.found.since, None, None
        for when, grade in told:
            row = self.row(grade.result) if _ran(grade.result) else None
            right = None if row is None else self.right(row)
            if right is not None or before is not None:
                self.changes.append((when, before, right))
            before = right
            if when <= since:
                then = row
        result = told[-1][1].result
        if not _ran(result):
            self.verdicts[result.verdict] += 1
            return
        if then is not None:
            self.then.append(then)
        self.rows.append(row)
        points = np.zeros(len(self.items), np.int16)
        for check in result.checks:
            if check.id in self.place:
                points[self.place[check.id]] = check.points
                item = self.items[self.place[check.id]]
                item.on_reference += check.passed and check.base == "reference"
        self.points.append(points)
        self.totals.append(result.points)
        self.count_stop(result, row)
        self.count_mistakes(result)
        for exercise, opened in _hints(result).items():
            if exercise in self.exercises:
                hints = self.exercises[exercise].hints
                hints[opened] = hints.get(opened, 0) + 1

    def row(self, result):
        row = np.full(len(self.items), -1, np.int8)
        for check in result.checks:
            if check.id in self.place:
                row[self.place[check.id]] = check.passed
        return row

    def right(self, row):
        """{exercise: whether all its checks pass}, of those that the row has."""
        return {
            name: bool((row[numbers] != 0).all())
            for name, numbers in self.of.items()
            if (row[numbers] >= 0).any()
        }

    def count_stop(self, result, row):
        right = self.right(row)
        wrong = [name for name in self.exercises if right.get(name) is False]
        if wrong:
            self.exercises[wrong[0]].stops += 1
        else:
            self.found.finished += 1
        unwritten = {
            check.exercise
            for check in result.checks
            if check.status == "unwritten" and not check.message.startswith("needs exercise ")
        }
        for name in unwritten & self.exercises.keys():
            self.exercises[name].unwritten += 1

    def count_mistakes(self, result):
        found = set()
        for check in result.checks:
            if not check.passed and check.id in self.place:
                names = _shown(self.mistakes.get(check.exercise, {}), check.message)
                found |= {(place, one) for one in names for place in (check.exercise, check.id)}
        self.showed.update(found)

    def done(self):
        found, rows = self.found, np.array(self.rows, np.int8).reshape(-1, len(self.items))
        then = np.array(self.then, np.int8).reshape(-1, len(self.items))
        points = np.array(self.points, np.int16).reshape(-1, len(self.items))
        totals = np.array(self.totals, float)
        found.learners, found.not_run = len(rows), dict(self.verdicts.most_common())
        for number, item in enumerate(self.items):
            self.fill(item, rows[:, number], then[:, number], totals - points[:, number])
        for name, item in self.exercises.items():
            numbers = self.of[name]
            rest = totals - points[:, numbers].sum(axis=1)
            self.fill(item, _whole(rows[:, numbers]), _whole(then[:, numbers]), rest)
        found.checks, found.exercises = self.items, list(self.exercises.values())
        found.days = _by_day(self.changes, list(self.exercises))
        return found

    def fill(self, item, now, then, rest):
        has = now >= 0
        item.learners, item.right = int(has.sum()), int((now == 1).sum())
        if (then >= 0).any():
            item.before = int((then == 1).sum()), int((then >= 0).sum())
        item.discrimination = discrimination(now[has] == 1, rest[has])
        counted = [Mistake(name, n) for (place, name), n in self.showed.items() if place == item.id]
        item.mistakes = sorted(counted, key=lambda one: (-one.learners, one.name))


def discrimination(right, rest) -> float | None:
    """The correlation of right or not with the points in the rest, to two places; None where one of
    them is the same for all.

    >>> discrimination([1, 1, 0, 0], [8, 6, 3, 1])
    0.93
    >>> discrimination([1, 1, 1], [8, 6, 3]) is None
    True
    """
    right, rest = np.asarray(right, float), np.asarray(rest, float)
    if len(right) < 2 or np.ptp(right) == 0 or np.ptp(rest) == 0:
        return None
    return round(float(np.corrcoef(right, rest)[0, 1]), 2)


def _ran(result):
    return result.verdict not in NOT_RUN and any(c.status != "not run" for c in result.checks)


def _whole(rows):
    """Of each row: 1 when no check of it fails, 0 when one does, -1 when it has none."""
    return np.where((rows < 0).all(axis=1), -1, (rows != 0).all(axis=1).astype(int))


def _hints(result):
    """{exercise: how many hints the learner says to have opened}."""
    hints = result.claimed.get("hints")
    return hints if isinstance(hints, dict) else {}


def _by_message(mistakes):
    """{exercise: {message: the names of the mistakes that make it appear}}."""
    found = {}
    for one in mistakes:
        names = found.setdefault(one.exercise, {}).setdefault(one.message, [])
        names.append(one.name.strip().rstrip("."))
    return {
        exercise: {message: " or: ".join(names) for message, names in by_message.items()}
        for exercise, by_message in found.items()
    }


def _shown(by_message, text):
    """The mistakes whose message is in `text`; not those whose message is a part of another's."""
    found = [message for message in by_message if message in text]
    return [
        by_message[message]
        for message in found
        if not any(message != other and message in other for other in found)
    ]


def _by_day(changes, names):
    """[(date, learners, {exercise: right})] at the end of each day from the first change to the
    last.
    """
    if not changes:
        return []
    changes = sorted(changes, key=lambda change: change[0])
    first, last = changes[0][0].date(), changes[-1][0].date()
    step = timedelta(days=(last - first).days // DAYS + 1)
    days, learners, right, day = [], 0, Counter(), first
    left = iter([*changes, None])
    change = next(left)
    while day < last + step:
        while change and change[0].date() <= day:
            _, before, now = change
            learners += (now is not None) - (before is not None)
            for which, sign in ((before, -1), (now, 1)):
                right.update({name: sign for name, yes in (which or {}).items() if yes})
            change = next(left)
        days.append((day, learners, {name: right[name] for name in names}))
        day += step
    return days
