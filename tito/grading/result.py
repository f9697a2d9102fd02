"""The result of one lesson of one learner. The judge returns it, the gradebook saves it, and the
feedback shows it.
"""

import functools
import re
import zlib
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field, replace
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from tito.lesson.lesson_format import Check
from tito.lesson.outcome import STATUSES, VERDICTS, Outcome, reason_of, verdict_of

# Begins the note on earlier lessons without which a lesson came.
NOT_HANDED_IN = "Not handed in, so the course's own lessons are used: "

NO_LESSON_FILE = "no lesson file"
# Verdicts that only a person can turn into a grade: something was handed in, and nothing was read.
UNREAD = (NO_LESSON_FILE, "unreadable", "too long to read")
# Verdicts that depend only on the files, or on all checks being passed.
NO_CODE_RAN = (
    *("passed", "stub", "missing", *UNREAD),
    "syntax error",
)
NOT_RUN = (  # verdicts that say nothing about single exercises: no check could pass
    *("missing", "stub", *UNREAD, "syntax error", "import failed"),
    *("crashed", "timed out", "out of memory"),
)
Made = TypeVar("Made")
__all__ = ["STATUSES", "VERDICTS", "CheckResult", "LessonResult", "Unchanged"]


@dataclass
class CheckResult(Outcome):
    """The result of one check in the judge.

    hidden     learners see only its name and whether it passed, see `for_learner`
    base       the earlier lessons with which the points were earned: "own" or "reference"
    caused_by  the earlier lesson whose mistake makes this check fail on the learner's own base;
               or None
    """

    hidden: bool = False
    base: str = "own"
    caused_by: str | None = None

    def for_learner(self) -> "CheckResult":
        """The outcome for the learner; a hidden check shows only whether it passed."""
        if not self.hidden:
            return self
        return replace(
            self,
            status="passed" if self.passed else "failed",
            message="",
            seconds=0.0,
            base="own",
            caused_by=None,
        )


def blank(check: Check) -> CheckResult:
    """The result of a check that was not run yet."""
    return CheckResult(check.id, check.exercise, check.name, 0, check.points, hidden=check.hidden)


@dataclass
class Answer:
    """A submitted answer, as part of a LessonResult.

    question    its name in the lesson
    max_points  that a person may give
    sha256      of the whole answer; "" for an empty one
    length      in characters; at most `lesson_format.LONGEST_ANSWER` of them are saved
    text        the saved text; "" where the gradebook stores it separately, see `answers.text`
    """

    question: str
    max_points: int
    sha256: str = ""
    length: int = 0
    text: str = ""

    def as_json(self) -> dict[str, Any]:
        """Without its text."""
        return {key: value for key, value in asdict(self).items() if key != "text"}


@dataclass
class ExerciseCell:
    """A cell of a lesson file that has the mark of an exercise, or defines what it asks for.

    words        where it is and what it does: "cell 9: not exported, so it does not count"
    counts       whether what was graded comes from it
    first, last  its lines in the code that is saved, from 1
    """

    words: str
    counts: bool
    first: int
    last: int

    def without(self, place: str, names: Collection[str]) -> "ExerciseCell":
        """The same where a statement at this place, which binds these names, is left out."""
        cell, line = re.findall(r"(?:cell|line) (\d+)", place)[:2]
        if self.words.startswith("Line "):  # a script's
            is_here = self.first <= int(line) <= self.last
        else:
            is_here = re.match(f"Cell {cell}\\b", self.words) is not None
        words = self.words
        for name in names if is_here else ():
            words = words.replace(f"defines {name}, and counts", f"its {name} stops: left out")
        return replace(self, words=words, counts=self.counts and words == self.words)


@dataclass
class LessonResult:
    """One lesson of one learner, on the base that counts.

    lesson     the lesson's name; `number` and `title` beside it
    points     earned by the checks; points for answers are not part of a result
    max_points of the checks and the answers
    base       "own" (on the learner's earlier lessons) or "reference" (on the course's)
    verdict    a key of VERDICTS
    reason     a sentence: why this verdict
    isolation  "bubblewrap", "landlock+seccomp" or "process"; "" when no code was run
    seconds    that grading took
    sha256     of the lesson file that was graded; "" when there was none
    key        hash of everything that determines the result: submission, checks, tito's version,
    limits
    notes      sentences for learner and instructor: which of two files counted, what was ignored
    entry      of the submissions, in which the file came in
    code       the text that was graded, as `packed` makes it, for the gradebook to keep
               beside the results; b"" where it has been kept, or there is none
    answers    an Answer for each question of the lesson, when there was a file of it
    cells      {exercise: its cells in the file}
    graded_by  the hash of the checks, see `modules.checks_hash`; "" when no judge returned it
    edition    of the course; commit: as git names it, "-dirty" with changes; tito: its version
    check_texts  SHA-256 of the list of the checks' texts, see `modules.check_texts`
    """

    student: str
    lesson: str
    number: int
    title: str
    max_points: int
    base: str = "own"
    verdict: str = "missing"
    reason: str = ""
    points: int = 0
    isolation: str = ""
    seconds: float = 0.0
    sha256: str = ""
    key: str = ""
    checks: list[CheckResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    entry: str = ""
    answers: list[Answer] = field(default_factory=list)
    cells: dict[str, list[ExerciseCell]] = field(default_factory=dict)
    graded_by: str = ""
    edition: str = ""
    commit: str = ""
    tito: str = ""
    check_texts: str = ""
    code: bytes = field(default=b"", compare=False, repr=False)

    @property
    def check_points(self) -> int:
        """What the checks can earn."""
        return self.max_points - sum(answer.max_points for answer in self.answers)

    @property
    def made_by(self) -> str:
        """The course and the program that graded it: "edition 2026, commit 1a2b3c, tito 0.1"."""
        commit = self.commit.replace("-dirty", " with changes")
        what = {"edition": self.edition, "commit": commit, "tito": self.tito}
        return ", ".join(f"{name} {text}" for name, text in what.items() if text)

    def exercises(self) -> str:
        """The exercises, "shape !strides": a mark where a check that is not passed costs points. ""
        where no check ran.
        """
        if self.verdict in NOT_RUN or all(check.status == "not run" for check in self.checks):
            return ""
        wrong = {check.exercise for check in self.checks if check.costs_points}
        names = dict.fromkeys(check.exercise for check in self.checks)
        return " ".join("!" * (name in wrong) + name for name in names)

    @property
    def setting(self) -> str:
        """The part of the key that does not depend on what was handed in; "" where it has none."""
        return self.key.partition(".")[2]

    def for_learner(self) -> "LessonResult":
        """The result for the learner. Of a hidden check it has only whether the check passed: no
        message, status or time, and no verdict, reason or base that would reveal them.
        """
        if not any(check.hidden for check in self.checks):
            return self
        checks = [check.for_learner() for check in self.checks]
        visible = [check for check in checks if not check.hidden]
        verdict, reason = self.verdict, self.reason
        full = verdict_of(self.checks)
        if verdict not in NO_CODE_RAN and verdict == full:  # it follows from the statuses
            verdict = verdict_of(visible)
            # Hidden checks are not passed, or have earned points: the learner sees both.
            if verdict == "passed" or verdict == "failed" and self.points:
                verdict = "partly right"
            reason = reason_of(verdict, checks)
        on_reference = any(check.passed and check.base == "reference" for check in visible)
        base = self.base if not visible else "reference" if on_reference else "own"
        if all(check.base == "reference" for check in self.checks):
            base = "reference"  # as it was asked for
        return replace(self, verdict=verdict, reason=reason, base=base, checks=checks, seconds=0.0)

    def as_json(self) -> dict[str, Any]:
        """The object that `tito grade --json` prints."""
        value = {name: value for name, value in asdict(self).items() if name != "code"}
        return value | {"answers": [answer.as_json() for answer in self.answers]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "LessonResult":
        """The result, read from the values of `as_json`. Raises an error for any others."""
        checks = [typed(CheckResult, check) for check in value["checks"]]
        answers = [typed(Answer, answer) for answer in value.get("answers", ())]
        cells = {
            exercise: [typed(ExerciseCell, cell) for cell in listed]
            for exercise, listed in value.get("cells", {}).items()
        }
        return typed(cls, value | {"checks": checks, "answers": answers, "cells": cells})


def typed(made: Callable[..., Made], value: dict[str, Any]) -> Made:
    """`made(**value)`. Raises TypeError if a value has not the type of its field."""
    for name, types in types_of(made):
        if name in value and type(value[name]) not in types:
            raise TypeError(f"{name} is {value[name]!r}")
    return made(**value)


@functools.cache
def types_of(made: Any) -> list[tuple[str, set[Any]]]:
    """[(field of a dataclass, the types of its values)]; a float may be written without a point."""
    fields = []
    for name, hint in get_type_hints(made).items():
        parts = get_args(hint) if get_origin(hint) is UnionType else [hint]
        types = {get_origin(part) or part for part in parts}
        fields.append((name, types | {int} if float in types else types))
    return fields


@dataclass(frozen=True)
class Unchanged:
    """A lesson that is graded already: the key of its result, and the file with its entry."""

    lesson: str
    key: str
    entry: str = ""
    sha256: str = ""


def packed(code: str) -> bytes:
    """The compressed text of a lesson file, for the gradebook: a third of its size."""
    return zlib.compress(code.encode("utf-8", "backslashreplace"))


def unpacked(data: bytes) -> str:
    """The text that `packed` took."""
    return zlib.decompress(data).decode("utf-8")
