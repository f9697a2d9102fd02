"""The class as the page's lists show it: a row for each submission that counts.

Reading every grade takes a while, so rows are kept, and read again for the learners about whom the
history has new entries.
"""

import hashlib
import hmac
import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from tito.grading.gradebook import appeals, claims
from tito.grading.gradebook.claims import Claim, Place
from tito.grading.gradebook.class_lists import ORDER
from tito.grading.gradebook.grade import Grade, Learner
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.late import shown
from tito.grading.gradebook.rubric import WAITING
from tito.grading.roster import in_section

# Verdicts that a person should look at: the machine, the check or the file may be at fault.
DOUBTFUL = (
    "unreadable",
    "too long to read",
    "syntax error",
    "import failed",
    "crashed",
    "timed out",
    "out of memory",
    "tampered",
)
APPEAL, TO_JUDGE = "appeal", "an answer to be judged"  # further reasons
# Entries of the history of which one may be committed after a later one.
OVERLAP = 200
# Columns of a roster that tell who somebody is, besides their name.
ID_COLUMNS = {*ORDER, "name"}
LETTERS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # none that is taken for another


@dataclass(frozen=True, slots=True)
class Row:
    """A learner's lesson, as a list shows it.

    handle  what stands for the learner in addresses: no id, in no mode
    doubts  why a person should look at it
    waits   whether an answer of it is to be judged
    """

    handle: str
    student: str
    name: str
    section: str
    lesson: str
    number: int
    title: str
    points: Decimal
    max_points: int
    verdict: str
    late: bool
    by_hand: bool
    sha256: str
    doubts: tuple[str, ...]
    waits: bool

    @property
    def place(self) -> Place:
        return Place(self.student, self.lesson, self.sha256)


@dataclass(frozen=True)
class Line:
    """A Row, with what changes from moment to moment: its claim, and why it needs a person."""

    row: Row
    claim: Claim | None
    state: str
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Filter:
    """Which submissions a list has, and in which order one goes through them.

    section  of the roster, or ""
    show     "" all, "open" (not looked at, nobody else's), "needs" (a person), "mine"
    """

    section: str = ""
    show: str = ""

    SHOWS = {
        "": "all",
        "open": "not looked at yet",
        "needs": "needs a person",
        "mine": "mine",
    }

    def takes(self, line: Line, who: str) -> bool:
        if self.section and not in_section({"section": line.row.section}, self.section):
            return False
        mine = bool(line.claim) and line.claim.who == who
        if self.show == "open":
            free = line.state in (claims.FREE, claims.AGAIN)
            return free or line.state == claims.TAKEN and mine
        if self.show == "needs":
            return bool(line.needs)
        return mine if self.show == "mine" else True

    def query(self) -> dict[str, str]:
        return {name: text for name, text in vars(self).items() if text}


def doubts_of(grade: Grade) -> tuple[str, ...]:
    """Why a person should look at a grade, in words."""
    reasons = [grade.result.verdict] if grade.result.verdict in DOUBTFUL else []
    by_hand = [(grade.override, grade.result.points, grade.max_points)]
    for check in grade.result.checks:
        override = grade.check_overrides.get(check.id)
        by_hand.append((override, check.points, check.max_points))
    if any(one and one.doubt(graded, most) for one, graded, most in by_hand):
        reasons.append("doubtful override")
    return tuple(reasons)


class Board:
    """The rows of a gradebook. `book` is shared by the threads that answer requests."""

    def __init__(self, book: Gradebook):
        self.book = book
        self.key = book.secret("pseudonyms").encode()
        self._lock = threading.Lock()
        self._rows: dict[str, list[Row]] = {}
        self._seen: set[int] | None = None
        self._handles: dict[str, str] = {}

    def handle(self, student: str) -> str:
        """What stands for a learner in an address, the same on every machine."""
        return hmac.new(self.key, student.encode("utf-8"), hashlib.sha256).hexdigest()[:24]

    def student(self, handle: str) -> str | None:
        """The learner's id of a handle."""
        self._refresh()
        return self._handles.get(handle)

    def rows(self) -> list[Row]:
        """Every Row, by lesson, then by learner."""
        rows = [row for rows in self._refresh() for row in rows]
        return sorted(rows, key=lambda row: (row.number, row.lesson, row.student))

    def sections(self) -> list[str]:
        """The sections of those who have a grade."""
        return sorted({row.section for rows in self._refresh() for row in rows} - {""})

    def lines(self, who: str, lesson: str | None = None, anonymous: bool = False) -> list[Line]:
        """The Lines of a lesson, or of all. `anonymous`: in an order that tells no id."""
        held = claims.claims(self.book, lesson)
        waiting = {one[1:3] for one in appeals.appeals(self.book, state="open")}
        lines = []
        for row in self.rows():
            if lesson is not None and row.lesson != lesson:
                continue
            claim = held.get((row.student, row.lesson))
            state = claims.state(claim, row.sha256)
            needs = row.doubts * (state != claims.DONE)  # somebody has looked
            needs += (TO_JUDGE,) * row.waits
            needs += (APPEAL,) * ((row.student, row.lesson) in waiting)
            lines.append(Line(row, claim, state, needs))
        if anonymous:
            lines.sort(key=lambda line: (line.row.number, line.row.lesson, line.row.handle))
        return lines

    def _refresh(self):
        with self._lock:
            learners = self.book.learners()
            first = self._seen is None
            since = 0 if first else max(self._seen, default=0) - OVERLAP
            entries = self.book.changed_since(since)
            changed = {student for number, student in entries if first or number not in self._seen}
            if first:
                grades = {one.student: mine for one, mine in self.book.by_learner()}
            else:
                ids = {one.student for one in learners}
                grades = {
                    one.student: mine
                    for student in changed & ids
                    for one, mine in self.book.by_learner(student)
                }
            self._seen = {number for number, _ in entries[-OVERLAP:]}
            rows = {}
            for learner in learners:
                old = self._rows.get(learner.student, [])
                if learner.student in grades:
                    mine = grades[learner.student]
                    rows[learner.student] = [self._row(learner, grade) for grade in mine]
                elif old and (old[0].name, old[0].section) != (learner.name, _section(learner)):
                    new = {"name": learner.name, "section": _section(learner)}
                    rows[learner.student] = [replace(row, **new) for row in old]
                else:
                    rows[learner.student] = old
            self._rows = rows
            self._handles = {self.handle(student): student for student in rows}
            return list(rows.values())

    def _row(self, learner, grade):
        return Row(
            self.handle(learner.student),
            learner.student,
            learner.name,
            _section(learner),
            grade.lesson,
            grade.number,
            grade.title,
            grade.points,
            grade.max_points,
            grade.result.verdict,
            grade.is_late,
            bool(grade.override or grade.check_overrides),
            grade.result.sha256,
            doubts_of(grade),
            any(answer.state == WAITING for answer in grade.answers),
        )


def _section(learner):
    return learner.columns.get("section") or ""


def pseudonym(handle: str) -> str:
    """A name for a learner that tells nothing and stays the same."""
    number = int(handle, 16)
    letters = ""
    for _ in range(5):
        number, place = divmod(number, len(LETTERS))
        letters += LETTERS[place]
    return f"Learner {letters}"


def mask(learner: Learner, handle: str) -> Callable[[str], str]:
    """A function that hides a learner's id, name and address in a text, by their pseudonym.

    What else they write about themselves, nobody can know. A single name is hidden as it is
    written, or in capitals: somebody is called Max, and `max` is none of their names.
    """
    columns = learner.columns.items()
    known = {learner.student, learner.name}
    known |= {text for header, text in columns if header in ID_COLUMNS or "@" in text}
    names = {name for word in learner.name.split() for name in (word, word.upper())}
    patterns = [_any_of(known, "(?i:{})"), _any_of(names, "{}")]
    if not any(patterns):
        return str
    whole = rf"(?<![^\W_])(?:{'|'.join(filter(None, patterns))})(?![^\W_])"
    return partial(re.compile(whole).sub, pseudonym(handle))


def _any_of(words, form):
    """A pattern of these words, the longest first; "" without any that tells somebody."""
    words = sorted((word for word in words if len(word.strip()) > 2), key=len, reverse=True)
    return form.format("|".join(map(re.escape, words))) if words else ""


def summary(lines: list[Line]) -> list[dict]:
    """A row for each lesson: how many submissions, how many are looked at, by whom, mean points."""
    found = {}
    for line in lines:
        found.setdefault(line.row.lesson, []).append(line)
    rows = []
    for lesson, mine in found.items():
        done = Counter(line.claim.who for line in mine if line.state == claims.DONE)
        taken = Counter(line.claim.who for line in mine if line.state == claims.TAKEN)
        handed_in = [line for line in mine if line.row.sha256]
        total = sum((line.row.points for line in handed_in), Decimal(0))
        mean = total / len(handed_in) if handed_in else None
        rows.append(
            {
                "lesson": lesson,
                "number": mine[0].row.number,
                "title": mine[0].row.title,
                "submissions": len(mine),
                "handed_in": len(handed_in),
                "mean": None if mean is None else shown(mean.quantize(Decimal("0.1"))),
                "max_points": max(line.row.max_points for line in mine),
                "done": sum(done.values()),
                "needs": sum(bool(line.needs) for line in mine),
                "graders": [
                    (who, done[who], taken[who]) for who in sorted(done.keys() | taken.keys())
                ],
            }
        )
    return rows
