"""The lists of the page: a row for each submission that counts, and which grader has opened it.

Reading all grades takes a while, so rows are cached, and read again for learners with new entries
in the history.
"""

import hashlib
import hmac
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, partial
from typing import Any

from tito.grading.gradebook.grade import WAITING, ClassMember, Grade
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.late import shown
from tito.grading.lms import id_columns
from tito.grading.result import NO_LESSON_FILE, VERDICTS
from tito.grading.roster import in_section

# Verdicts that a person should look at: the machine, the check or the file may be the cause.
DOUBTFUL = (
    NO_LESSON_FILE,
    "unreadable",
    "too long to read",
    "syntax error",
    "import failed",
    "crashed",
    "timed out",
    "out of memory",
    "tampered",
)
TO_JUDGE = "an answer to be judged"
# How many entries of the history to read again: one may be committed after a later one.
OVERLAP = 200
# Columns of a roster that identify a learner, in addition to the name.
ID_COLUMNS = {*id_columns(), "name"}
LETTERS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"  # none that is taken for another


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """A learner's lesson, as a row of a list.

    handle  the learner in addresses; never the id
    sha256  of the file that counts, "" without one
    needs   why a person should look at it
    to_judge  the first question whose answer is to be judged, or ""
    outdated  whether other checks than today's graded it
    exercises, failed  all exercises, and those that are not right; () where no check ran
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
    needs: tuple[str, ...]
    to_judge: str
    outdated: bool
    exercises: tuple[str, ...]
    failed: tuple[str, ...]


@dataclass(frozen=True)
class Filter:
    """Which submissions a list has, and in which order.

    section   of the roster, or ""
    show      "" all, "needs" (a person), "unopened", "mine" (opened by this grader)
    result    a verdict, or ""
    exercise  one that is not right, or ""
    sort      "" by learner, "points" the lowest first, "most" the highest first, "result"
    """

    section: str = ""
    show: str = ""
    result: str = ""
    exercise: str = ""
    sort: str = ""

    SHOWS = {
        "": "all",
        "needs": "needs a person",
        "unopened": "not opened yet",
        "mine": "opened by me",
    }
    SORTS = {
        "points": lambda row: row.points,
        "most": lambda row: -row.points,
        "result": lambda row: [*VERDICTS].index(row.verdict),
    }

    def takes(self, row: SubmissionRow, opener: str, who: str) -> bool:
        """opener: the grader who opened it, or ""; who: the grader who asks."""
        if self.section and not in_section({"section": row.section}, self.section):
            return False
        if self.result not in ("", row.verdict):
            return False
        if self.exercise and self.exercise not in row.failed:
            return False
        if self.show == "unopened":
            return not opener
        if self.show == "needs":
            return bool(row.needs)
        return opener == who if self.show == "mine" else True

    def ordered(self, rows: list[SubmissionRow]) -> list[SubmissionRow]:
        return sorted(rows, key=self.SORTS[self.sort]) if self.sort in self.SORTS else rows

    def query(self) -> dict[str, str]:
        return {name: text for name, text in vars(self).items() if text}


class Openings:
    """Which grader last opened each submission, since the page was started. A new file of the
    learner is not opened yet.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._openers: dict[tuple[str, str, str], str] = {}

    def opener(self, row: SubmissionRow) -> str:
        """The grader's name, or ""."""
        return self._openers.get((row.handle, row.lesson, row.sha256), "")

    def open(self, row: SubmissionRow, who: str) -> None:
        with self._lock:
            self._openers[row.handle, row.lesson, row.sha256] = who

    def open_next(self, rows: Iterable[SubmissionRow], who: str) -> SubmissionRow | None:
        """Open the first of these rows that is not opened yet, so that two graders never get the
        same row. None if all are opened.
        """
        with self._lock:
            for row in rows:
                if not self.opener(row):
                    self._openers[row.handle, row.lesson, row.sha256] = who
                    return row
        return None


def needs_of(grade: Grade) -> tuple[str, ...]:
    """Why a person should look at a grade, in words. A problem of the file is settled when points
    are set or a comment is written.
    """
    reasons = []
    if grade.row.verdict in DOUBTFUL and not (grade.is_by_hand or grade.comments):
        reasons.append(grade.row.verdict)
    overrides = [(grade.override, grade.row.points, grade.max_points)]
    for check in grade.result.checks if grade.check_overrides else ():
        override = grade.check_overrides.get(check.id)
        overrides.append((override, check.points, check.max_points))
    if any(override and override.doubt(graded, most) for override, graded, most in overrides):
        reasons.append("doubtful override")
    if grade.to_judge:
        reasons.append(TO_JUDGE)
    return tuple(reasons)


class ClassList:
    """The rows of a gradebook. `book` is shared by the threads that answer requests."""

    def __init__(self, book: Gradebook) -> None:
        self.book = book
        self.key = book.secret("pseudonyms").encode()
        self._lock = threading.Lock()
        self.namesakes: set[str] = set()  # names that several learners have
        self._rows: dict[str, list[SubmissionRow]] = {}
        self._seen: set[int] | None = None
        self._handles: dict[str, str] = {}

    def handle(self, student: str) -> str:
        """The learner's handle in addresses, the same on every machine."""
        return hmac.new(self.key, student.encode("utf-8"), hashlib.sha256).hexdigest()[:24]

    def student(self, handle: str) -> str | None:
        """The learner's id of a handle."""
        self._refresh()
        return self._handles.get(handle)

    def rows(self, lesson: str | None = None, anonymous: bool = False) -> list[SubmissionRow]:
        """The rows of a lesson, or of all, by learner; if `anonymous`, the order tells no id."""
        rows = [row for rows in self._refresh() for row in rows if lesson in (None, row.lesson)]
        name = "handle" if anonymous else "student"
        return sorted(rows, key=lambda row: (row.number, row.lesson, getattr(row, name)))

    def sections(self) -> list[str]:
        """The sections of learners with a grade."""
        return sorted({row.section for rows in self._refresh() for row in rows} - {""})

    def _refresh(self) -> list[list[SubmissionRow]]:
        with self._lock:
            learners = self.book.learners()
            names = Counter(learner.name for learner in learners if learner.name)
            self.namesakes = {name for name, number in names.items() if number > 1}
            grades = self._changed_grades({learner.student for learner in learners})
            rows = {}
            for learner in learners:
                old = self._rows.get(learner.student, [])
                if learner.student in grades:
                    mine, handle = grades[learner.student], self.handle(learner.student)
                    rows[learner.student] = [self._row(learner, handle, grade) for grade in mine]
                elif old and (old[0].name, old[0].section) != (learner.name, learner.section):
                    rows[learner.student] = [
                        replace(row, name=learner.name, section=learner.section) for row in old
                    ]
                else:
                    rows[learner.student] = old
            self._rows = rows
            self._handles = {self.handle(student): student for student in rows}
            return list(rows.values())

    def _changed_grades(self, students: set[str]) -> dict[str, list[Grade]]:
        """{learner: their grades} of those with new entries in the history; at first, of all."""
        if self._seen is None:
            entries = self.book.changed_since(0)
            grades = {learner.student: mine for learner, mine in self.book.by_learner(brief=True)}
        else:
            entries = self.book.changed_since(max(self._seen, default=0) - OVERLAP)
            changed = {student for number, student in entries if number not in self._seen}
            grades = {
                learner.student: mine
                for student in changed & students
                for learner, mine in self.book.by_learner(student, brief=True)
            }
        self._seen = {number for number, _ in entries[-OVERLAP:]}
        return grades

    def _row(self, learner: ClassMember, handle: str, grade: Grade) -> SubmissionRow:
        return SubmissionRow(
            handle,
            learner.student,
            learner.name,
            learner.section,
            grade.lesson,
            grade.number,
            grade.title,
            grade.points,
            grade.max_points,
            grade.row.verdict,
            grade.is_late,
            grade.is_by_hand,
            grade.row.sha256,
            needs_of(grade),
            next((one.question for one in grade.answers if one.state == WAITING), ""),
            grade.outdated,
            *_exercises(grade.row.exercises),
        )


@cache  # few are different, and each is in memory once
def _exercises(names: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(all, those that are not right)"""
    failed = tuple(name[1:] for name in names.split() if name[0] == "!")
    return tuple(names.replace("!", "").split()), failed


def pseudonym(handle: str) -> str:
    """A pseudonym for a learner, which stays the same."""
    number = int(handle, 16)
    letters = ""
    for _ in range(5):
        number, place = divmod(number, len(LETTERS))
        letters += LETTERS[place]
    return f"Learner {letters}"


def mask(learner: ClassMember, handle: str) -> Callable[[str], str]:
    """A function that hides a learner's id, name and address in a text, by their pseudonym.

    Other details that they write about themselves are not hidden. A single name is hidden as
    written or in capitals, but not in lower case: `max` is a function, not the learner Max.
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


def _any_of(words: Iterable[str], form: str) -> str:
    """A pattern of these words, the longest first; "" if none identifies a learner."""
    chosen = sorted((word for word in words if len(word.strip()) > 2), key=len, reverse=True)
    return form.format("|".join(map(re.escape, chosen))) if chosen else ""


def exercise_counts(rows: list[SubmissionRow]) -> list[tuple[str, int, int]]:
    """[(exercise, number of learners whose work has it, number who fail it)]."""
    names = dict.fromkeys(name for row in rows for name in row.exercises)
    has = Counter(name for row in rows for name in row.exercises)
    fails = Counter(name for row in rows for name in row.failed)
    return [(name, has[name], fails[name]) for name in names]


def summary(rows: list[SubmissionRow], openings: Openings) -> list[dict[str, Any]]:
    """For each lesson: how many submissions, mean points, how many each grader has opened."""
    by_lesson: dict[str, list[SubmissionRow]] = {}
    for row in rows:
        by_lesson.setdefault(row.lesson, []).append(row)
    lessons = []
    for lesson, mine in by_lesson.items():
        read = [row for row in mine if row.sha256]
        mean = sum((row.points for row in read), Decimal(0)) / len(read) if read else None
        openers = [opener for row in mine if (opener := openings.opener(row))]
        lessons.append(
            {
                "lesson": lesson,
                "number": mine[0].number,
                "title": mine[0].title,
                "submissions": len(mine),
                "handed_in": sum(row.verdict != "missing" for row in mine),
                "mean": None if mean is None else shown(mean.quantize(Decimal("0.1"))),
                "max_points": max(row.max_points for row in mine),
                "opened": len(openers),
                "needs": sum(bool(row.needs) for row in mine),
                "graders": [(who, openers.count(who)) for who in sorted(set(openers))],
            }
        )
    return lessons
