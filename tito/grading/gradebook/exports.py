"""Export grades: as csv, with a row per learner, a column per lesson and the total, for people and
spreadsheets; and in the formats of the systems in `lms/`, which get plain values.

An answer that is not judged yet counts 0. Learners who left the class or are in no roster are left
out. Points above today's maximum of a lesson are reduced to it; other points are exported
unchanged. A lesson that was not graded is an empty cell, not a 0, and so is one that was not handed
in while it is not due (`[grading] missing`, see `late.py`), was perhaps handed in under a name that
fits several learners, or is not in what was handed in, until a person has set points. A learner's
text never becomes a formula, see `csv_tables.py`.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from tito import files
from tito.csv_tables import Id, line
from tito.errors import UsageError
from tito.grading.gradebook import enrollment, html_pages, late
from tito.grading.gradebook.grade import WAITING, ClassMember, Grade, GradedAnswer, is_strange
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.lms import having
from tito.grading.lms.system import Lesson, LessonGrade, Part, Row, Table
from tito.grading.result import VERDICTS, CheckResult
from tito.grading.roster import GROUP
from tito.safe_text import visible


@dataclass
class Selection:
    """The grades to export.

    book       an open Gradebook
    lesson     only this one, or None
    section    only the learners in it, or None
    most       {lesson: its maximum points today}, for lessons that the course has
    course     the course's name
    now        the time at which a lesson is due or not
    """

    book: Gradebook
    lesson: str | None = None
    section: str | None = None
    most: dict[str, int] = field(default_factory=dict)
    course: str = "course"
    now: datetime = field(default_factory=lambda: datetime.now(timezone.utc))

    def lessons(self) -> dict[str, tuple[int, str, int]]:
        """{graded lesson: (number, title, today's maximum)}, in order.

        Raises UsageError when nothing was.
        """
        lessons = {
            name: (number, title, self.most.get(name, most))
            for name, (number, title, most) in self.book.lessons().items()
            if self.lesson in (None, name)
        }
        if not lessons:
            raise UsageError(
                f"Nothing{f' of {self.lesson}' if self.lesson else ''} is graded in this "
                "gradebook.",
                f"First: tito grade SUBMISSIONS {self.lesson or '--all'}",
            )
        return lessons

    def learners(
        self, missing: bool = False, brief: bool = True
    ) -> Iterator[tuple[ClassMember, list[Grade]]]:
        """(learner, their grades) for each learner of the class.

        missing  whether also of lessons that were not handed in and are not exported as 0
        """
        for learner, grades in self._as_graded(brief):
            there = (
                grade
                for grade in grades
                if not self.is_empty(grade) or missing and not self.is_unclaimed(grade)
            )
            yield learner, [of_today(grade, self.today[grade.lesson]) for grade in there]

    def table(self, folder: str | None = None) -> Table:
        """The grades as plain values, for a system; for a folder of this name also their parts."""
        lessons = [Lesson(name, *values) for name, values in self.lessons().items()]
        rows = self._rows(lessons, brief=folder is None)
        return Table(lessons, self.book.headers(), rows, self.course, folder or "")

    def _rows(self, lessons: list[Lesson], brief: bool) -> Iterator[Row]:
        by_name = {lesson.name: lesson for lesson in lessons}
        for learner, grades in self.learners(missing=True, brief=brief):
            yield Row(
                learner.student,
                html_pages.file_name(learner.student),
                learner.name,
                learner.columns,
                [
                    LessonGrade(
                        by_name[grade.lesson],
                        grade.points,
                        self.is_empty(grade),
                        summary(grade),
                        grade.lateness.arrived or grade.graded,
                        grade.graded,
                        [] if brief else parts_of(grade),
                    )
                    for grade in grades
                    if grade.lesson in by_name
                ],
            )

    def is_empty(self, grade: Grade) -> bool:
        """Whether nothing of a lesson can be read, and this is not exported as 0."""
        rules, due = self.book.rules, grade.lateness.due
        if is_strange(grade) or not is_missing(grade) or self.is_unclaimed(grade):
            return is_strange(grade) or is_missing(grade)
        if rules.missing == "zero":
            return False
        return rules.missing == "empty" or not late.lateness(self.now, due, grace=rules.grace)

    @cached_property
    def unclaimed(self) -> dict[tuple[str, str], set[str]]:
        return enrollment.unclaimed(self.book)

    def is_unclaimed(self, grade: Grade) -> bool:
        """Whether the lesson was perhaps handed in, under a name that fits several learners."""
        return (grade.student, grade.lesson) in self.unclaimed

    @cached_property
    def today(self) -> dict[str, int]:
        """{graded lesson: today's maximum}"""
        return {name: most for name, (_, _, most) in self.lessons().items()}

    @cached_property
    def doubts(self) -> "Doubts":
        """What the grades leave open. An export, which has read all of them, has found it."""
        for _ in self._as_graded():
            pass
        return self.doubts

    def _as_graded(self, brief: bool = True) -> Iterator[tuple[ClassMember, list[Grade]]]:
        """(learner, their grades) of everybody in the class. A lesson that a run began to grade
        meanwhile is left for the next export.
        """
        found, today = Doubts(), self.today
        for learner, grades in self.book.by_learner(None, self.lesson, self.section, brief):
            if not learner.state:
                mine = [grade for grade in grades if grade.lesson in today]
                for grade in mine:
                    self._look_at(grade, found)
                yield learner, mine
        self.doubts = found

    def _look_at(self, grade: Grade, found: "Doubts") -> None:
        is_empty = self.is_empty(grade)
        found.strange |= {grade.student: None} if is_strange(grade) else {}
        if is_missing(grade) and not self.is_unclaimed(grade):
            found.missing[is_empty] += 1
        if grade.outdated or grade.max_points != self.today[grade.lesson]:
            found.outdated.setdefault(grade.lesson, []).append(grade.student)
        if not is_empty:
            found.waiting += sum(answer.state == WAITING for answer in grade.answers)


@dataclass
class Doubts:
    """What the grades of an export leave open.

    strange   learners whose submissions hold nothing of a lesson that can be read, in their order
    missing   {whether the cell is empty, else 0: how many lessons were not handed in}
    outdated  {lesson: learners whose grade is of other checks or another maximum than today's}
    waiting   how many answers are to be judged: they count 0
    """

    strange: dict[str, None] = field(default_factory=dict)
    missing: Counter[bool] = field(default_factory=Counter)
    outdated: dict[str, list[str]] = field(default_factory=dict)
    waiting: int = 0


def is_missing(grade: Grade) -> bool:
    """Whether nothing was handed in and no points were set by hand."""
    return grade.row.verdict == "missing" and not grade.is_by_hand


def of_today(grade: Grade, most: int) -> Grade:
    """A Grade out of `most` points: it has no more."""
    return replace(grade, points=late.tidy(min(grade.points, Decimal(most))), max_points=most)


def csv_rows(table: Table) -> Iterator[list[Any]]:
    group = [GROUP] if GROUP in table.headers else []
    yield ["student", "name", *group, *(lesson.name for lesson in table.lessons), "total"]
    for row in table.rows:
        points = row.points(table)
        known = [each for each in points if each is not None]
        total = late.tidy(sum(known, Decimal(0))) if known else None
        yield [Id(row.student), row.name, *map(row.columns.get, group), *points, total]


EXPORTS = having("export")
TREES = [name for name, system in EXPORTS.items() if system.export != "a file"]
TABLES: dict[str, Callable[[Table], Iterator[list[Any]]]] = {
    "csv": csv_rows,
    **{name: system.grades for name, system in EXPORTS.items() if name not in TREES},
}
QUESTIONS = "questions"  # printed sheets, see `sheets.py`
FORMATS = [*TABLES, *TREES, QUESTIONS]


def text(chosen: Selection, kind: str) -> str:
    """The text of a file of that kind, a key of `TABLES`."""
    return "".join(line(row) for row in TABLES[kind](chosen.table()))


def tree(chosen: Selection, kind: str, name: str = "") -> Iterator[tuple[str, str]]:
    """(path in the folder, JSON text) of every file of that kind, one of `TREES`, learner by
    learner. name: of the folder.
    """
    for path, value in EXPORTS[kind].grades(chosen.table(name)):
        yield path, json.dumps(value, indent=1, default=late.plain_number) + "\n"


def summary(grade: Grade) -> str:
    """A grade in a few sentences for its learner, without messages and reasons of overrides."""
    by_hand = (
        "set by the instructor" if grade.override else VERDICTS.get(grade.row.told, grade.row.told)
    )
    partly = (
        ", with checks set by the instructor"
        if grade.check_overrides and not grade.override
        else ""
    )
    lateness = [f"{grade.late_reason}."] if grade.late_reason and grade.lateness.percent else []
    points = f"{grade.points} of {grade.max_points} points: {by_hand}{partly}."
    parts = [f"{grade.parts()}.".capitalize()] if grade.answers and not grade.override else []
    comments = [comment.placed for comment in grade.comments]
    return " ".join([points, *parts, *lateness, *comments])


def parts_of(grade: Grade) -> list[Part]:
    """The checks and answers of a grade, as its learner may see them."""
    checks = [_part_of_check(grade, check) for check in grade.result.checks]
    return [*checks, *(_part_of_answer(grade, answer) for answer in grade.answers)]


def _part_of_check(grade: Grade, check: CheckResult) -> Part:
    points = min(grade.check_points(check), Decimal(check.max_points))
    by_hand = check.id in grade.check_overrides
    passed = points == check.max_points if by_hand else check.passed
    output = None
    if not (passed or check.hidden):
        cause = f"\nThe mistake is in the lesson {check.caused_by}." if check.caused_by else ""
        output = visible(check.message) + cause
    name = check.name or check.id
    return Part(name, passed, points, check.max_points, bool(check.hidden), output=output)


def _part_of_answer(grade: Grade, answer: GradedAnswer) -> Part:
    comments = [one.text for one in grade.comments if one.exercise == answer.question]
    points, most = answer.points, answer.max_points
    passed = bool(most) and points == most
    output = visible("\n".join([answer.state, *comments]))
    return Part(answer.question, passed, points, most, is_judged=True, output=output)


def write_file(path: Path, text: str, force: bool = False) -> bool:
    """Write an export. A different file at the path is overwritten only with `force`.

    Returns whether anything was written.
    """
    is_same = path.is_file() and path.read_bytes() == text.encode("utf-8")
    refuse([path], force or is_same)
    return files.write_private(path, text)


def write_tree(folder: Path, tree: Iterable[tuple[str, str]], force: bool = False) -> int:
    """Write the files of `tree` into a new or empty folder; with `force`, overwrite existing files.

    Returns how many.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file.", "Name a folder.")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise _is_there(folder)
    number = 0
    for number, (name, text) in enumerate(tree, 1):
        files.write_private(folder / name, text)
    return number


def refuse(paths: list[Path], force: bool | None) -> None:
    """Raise UsageError when one of these is a folder, or is there and `force` is not set;
    None where it cannot be.
    """
    for path in paths:
        if path.is_dir():
            raise UsageError(f"{path} is a folder.", "Name a file.")
        if path.exists() and not force:
            raise _is_there(path, force is None)


def _is_there(path: Path, stays: bool = False) -> UsageError:
    remedy = "delete it" if stays else "overwrite it with --force"
    return UsageError(f"{path} is there already.", f"Name another file, or {remedy}.")
