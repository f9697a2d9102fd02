"""Export grades in the formats of other systems.

csv          a row per learner, a column per lesson and the total, for people and spreadsheets
canvas       what Canvas imports under Grades. Ids come from the roster's columns id (or canvas_id),
             sis_user_id, sis_login_id and section; without any, the learner's id is the login. A
             roster column such as `tensor (1234)` names the assignment that exists in Canvas;
             without it Canvas makes a new one
brightspace  what Brightspace imports under Grades, mapped by OrgDefinedId or Username (roster
             columns org_defined_id, username), else by the learner's id; grade items of points
moodle       what Moodle imports, mapped by id number or email (roster columns idnumber, email),
             with grade and feedback always side by side
gradescope   a folder per learner with a results.json, as an autograder hands it to Gradescope,
             which imports no grades in any other way
classroom50  scores.json of a classroom, and a folder per learner and lesson with a result.json;
             in whole points, half a point upward; the owner is the roster's column github

An answer that is not judged yet counts 0. Learners who left the class or are in no roster are left
out. Points above today's maximum of a lesson are reduced to it; other points are exported
unchanged. A lesson that was not graded is an empty cell, not a 0, and so is one that was not handed
in while it is not due (`[grading] missing`, see `late.py`), was perhaps handed in under a name that
fits several learners, or is not in what was handed in, until a person has set points. A learner's
text never becomes a formula, see `csv_tables.py`.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from tito import files
from tito.csv_tables import Id, line
from tito.errors import UsageError
from tito.grading.gradebook import enrollment, html_pages, late
from tito.grading.gradebook.grade import ClassMember, Grade
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.rubric import WAITING, GradedAnswer
from tito.grading.result import NO_LESSON_FILE, VERDICTS, CheckResult
from tito.safe_text import visible

Graded = tuple[ClassMember, list[Grade | None]]
Lessons = dict[str, tuple[int, str, int]]  # {lesson: (number, title, today's maximum)}
CLASSROOM = re.compile(r"[a-z0-9][a-z0-9-]{1,99}")  # what Classroom 50 takes for a short name


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

    def lessons(self) -> Lessons:
        """The graded lessons, in order.

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

    def learners(self, missing: bool = False) -> Iterator[tuple[ClassMember, list[Grade]]]:
        """(learner, their grades) for each learner of the class.

        missing  whether also of lessons that were not handed in and are not exported as 0
        """
        for learner, grades, today in self._as_graded():
            there = (
                grade
                for grade in grades
                if not self.is_empty(grade) or missing and not self.is_unclaimed(grade)
            )
            yield learner, [of_today(grade, today[grade.lesson]) for grade in there]

    def is_empty(self, grade: Grade) -> bool:
        """Whether nothing of a lesson was handed in, and this is not exported as 0."""
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

    def strange(self) -> list[str]:
        """Whose submissions hold nothing of a lesson, and are exported as empty cells."""
        grades = (grade for _, grades, _ in self._as_graded() for grade in grades)
        return list(dict.fromkeys(grade.student for grade in grades if is_strange(grade)))

    def missing(self) -> tuple[int, int]:
        """How many lessons that were not handed in are exported as 0, and how many are empty."""
        grades = (grade for _, grades, _ in self._as_graded() for grade in grades)
        missing = (grade for grade in grades if is_missing(grade) and not self.is_unclaimed(grade))
        count = Counter(self.is_empty(grade) for grade in missing)
        return count[False], count[True]

    def _as_graded(self) -> Iterator[tuple[ClassMember, list[Grade], dict[str, int]]]:
        """(learner, their grades, {lesson: today's maximum}) of everybody in the class. A lesson
        that a run began to grade meanwhile is left for the next export.
        """
        today = {name: most for name, (_, _, most) in self.lessons().items()}
        for learner, grades in self.book.by_learner(lesson=self.lesson, section=self.section):
            if not learner.state:
                yield learner, [grade for grade in grades if grade.lesson in today], today

    def outdated(self) -> dict[str, list[str]]:
        """{lesson: learners whose grade is of other checks or another maximum than today's}."""
        found: dict[str, list[str]] = {}
        for learner, grades, today in self._as_graded():
            for grade in grades:
                if grade.outdated or grade.max_points != today[grade.lesson]:
                    found.setdefault(grade.lesson, []).append(learner.student)
        return found

    def waiting(self) -> int:
        """How many answers are to be judged: they count 0."""
        return sum(
            answer.state == WAITING
            for _, grades in self.learners()
            for grade in grades
            for answer in grade.answers
        )


def is_missing(grade: Grade) -> bool:
    """Whether nothing was handed in and no points were set by hand."""
    return grade.result.verdict == "missing" and not grade.is_by_hand


def is_strange(grade: Grade) -> bool:
    """Whether something was handed in, none of it of a lesson, and no person has decided."""
    return grade.result.verdict == NO_LESSON_FILE and not grade.is_by_hand


def of_today(grade: Grade, most: int) -> Grade:
    """A Grade out of `most` points: it has no more."""
    return replace(grade, points=late.tidy(min(grade.points, Decimal(most))), max_points=most)


def text(chosen: Selection, kind: str) -> str:
    """The text of a file of that kind, a key of `TABLES`."""
    lessons = chosen.lessons()
    return "".join(line(row) for row in TABLES[kind](chosen, lessons))


def _by_learner(chosen: Selection, lessons: Lessons) -> Iterator[Graded]:
    """(learner, [grade or None for each lesson]) one after the other."""
    for learner, grades in chosen.learners():
        by_lesson = {grade.lesson: grade for grade in grades}
        yield learner, [by_lesson.get(name) for name in lessons]


def _csv(chosen: Selection, lessons: Lessons) -> Iterator[list[Any]]:
    yield ["student", "name", *lessons, "total"]
    for learner, grades in _by_learner(chosen, lessons):
        points = [grade and grade.points for grade in grades]
        total = late.tidy(sum((grade.points for grade in grades if grade), Decimal(0)))
        yield [Id(learner.student), learner.name, *points, total if any(grades) else None]


def _canvas(chosen: Selection, lessons: Lessons) -> Iterator[list[Any]]:
    titles = {name: f"{number:02} {title}" for name, (number, title, _) in lessons.items()}
    for column in chosen.book.headers():
        if known := re.fullmatch(r"(.+)[_ ](\(\d+\))", column.lower()):
            for name, (number, title, _) in lessons.items():
                forms = {name: title, title: title, f"{number:02} {title}": f"{number:02} {title}"}
                for form, written in forms.items():
                    if known[1].replace("_", " ") == form.lower().replace("_", " "):
                        titles[name] = f"{written} {known[2]}"
    yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles.values()]
    yield ["    Points Possible", "", "", "", "", *(most for _, _, most in lessons.values())]
    for learner, grades in _by_learner(chosen, lessons):
        columns = learner.columns
        ids = [
            columns.get("id") or columns.get("canvas_id"),
            columns.get("sis_user_id"),
            columns.get("sis_login_id"),
        ]
        if not any(ids):
            ids[2] = learner.student
        ids = [text and Id(text) for text in ids]
        points = [grade and grade.points for grade in grades]
        yield [learner.name or learner.student, *ids, columns.get("section"), *points]


def _brightspace(chosen: Selection, lessons: Lessons) -> Iterator[list[Any]]:
    titles = [f"{number:02} {title} Points Grade" for number, title, _ in lessons.values()]
    yield ["OrgDefinedId", "Username", *titles, "End-of-Line Indicator"]
    for learner, grades in _by_learner(chosen, lessons):
        ids = [learner.columns.get(name) or "" for name in ("org_defined_id", "username")]
        if not any(ids):
            ids[1] = learner.student
        # "#" before an id and at the end of a line is Brightspace's own.
        written = [f"#{text}" if text else "" for text in ids]
        yield [*written, *(grade and grade.points for grade in grades), "#"]


def _moodle(chosen: Selection, lessons: Lessons) -> Iterator[list[Any]]:
    titles = [f"{number:02} {title}" for number, title, _ in lessons.values()]
    columns = (text for title in titles for text in (title, f"{title} feedback"))
    yield ["Full name", "ID number", "Email address", *columns]
    for learner, grades in _by_learner(chosen, lessons):
        student, email = learner.student, learner.email
        number = learner.columns.get("idnumber") or (student if student != email else "")
        pairs = ((grade.points, summary(grade)) if grade else (None, None) for grade in grades)
        yield [learner.name, Id(number), Id(email), *(value for pair in pairs for value in pair)]


TABLES: dict[str, Callable[[Selection, Lessons], Iterator[list[Any]]]] = {
    "csv": _csv,
    "canvas": _canvas,
    "brightspace": _brightspace,
    "moodle": _moodle,
}


def summary(grade: Grade) -> str:
    """A grade in a few sentences for its learner, without messages and reasons of overrides."""
    by_hand = (
        "set by the instructor"
        if grade.override
        else VERDICTS.get(verdict := grade.result.for_learner().verdict, verdict)
    )
    partly = (
        ", with checks set by the instructor"
        if grade.check_overrides and not grade.override
        else ""
    )
    lateness = [f"{grade.late_reason}."] if grade.late_reason and grade.lateness.percent else []
    points = f"{grade.points} of {grade.max_points} points: {by_hand}{partly}."
    parts = [f"{grade.parts()}.".capitalize()] if grade.answers and not grade.override else []
    judged = [answer.judgement.comment for answer in grade.answers if answer.judgement]
    comments = [*filter(None, judged), *(comment.placed for comment in grade.comments)]
    return " ".join([points, *parts, *lateness, *comments])


def tree(chosen: Selection, kind: str, name: str = "") -> Iterator[tuple[str, str]]:
    """(path in the folder, JSON text) of every file of that kind, "gradescope" or "classroom50",
    learner by learner.

    name  of the folder: the short name of a classroom in Classroom 50, if it can be one
    """
    chosen.lessons()
    if kind == "gradescope":
        for learner, grades in chosen.learners(missing=True):  # it asks for a result of everything
            yield from _gradescope(learner, grades)
    else:
        is_short = CLASSROOM.fullmatch(name)
        yield from _classroom50(chosen, name if is_short else _slug(chosen.course))


def _gradescope(learner: ClassMember, grades: list[Grade]) -> Iterator[tuple[str, str]]:
    if not grades:
        return
    tests = []
    for grade in grades:
        checks, answers = grade.result.checks, grade.answers
        for place, check in enumerate(checks, 1):
            tests.append(_gradescope_test(grade, check, f"{grade.number}.{place}"))
        for place, answer in enumerate(answers, 1 + len(checks)):
            tests.append(_gradescope_answer(grade, answer, f"{grade.number}.{place}"))
    value = {
        "score": late.plain_number(sum(grade.points for grade in grades)),
        "output": "\n".join(f"{grade.title}: {summary(grade)}" for grade in grades),
        **dict.fromkeys(("output_format", "test_output_format", "test_name_format"), "text"),
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
    }
    yield f"{html_pages.file_name(learner.student)}/results.json", _json(value)


def _gradescope_test(grade: Grade, check: CheckResult, number: str) -> dict[str, Any]:
    passed = _passed(grade, check)
    value = {
        "number": number,
        "name": f"{grade.title}: {check.name or check.id}",
        "score": late.plain_number(_check_points(grade, check)),
        "max_score": check.max_points,
        "status": "passed" if passed else "failed",
        "visibility": "hidden" if check.hidden else "visible",
    }
    if not (passed or check.hidden):
        cause = f"\nThe mistake is in the lesson {check.caused_by}." if check.caused_by else ""
        value["output"] = visible(check.message) + cause
    return value


def _gradescope_answer(grade: Grade, answer: GradedAnswer, number: str) -> dict[str, Any]:
    output = f"{answer.state}\n{answer.judgement.comment if answer.judgement else ''}".strip()
    return {
        "number": number,
        "name": f"{grade.title}: {answer.question}",
        "score": late.plain_number(answer.points),
        "max_score": answer.max_points,
        "visibility": "visible",
        "output": visible(output),
    }


def _check_points(grade: Grade, check: CheckResult) -> Decimal:
    return min(grade.check_points(check), Decimal(check.max_points))


def _passed(grade: Grade, check: CheckResult) -> bool:
    return (
        _check_points(grade, check) == check.max_points
        if check.id in grade.check_overrides
        else check.passed
    )


def _classroom50(chosen: Selection, classroom: str) -> Iterator[tuple[str, str]]:
    assignments: dict[str, dict[str, Any]] = {}
    for learner, grades in chosen.learners():
        for grade in grades:
            value = _classroom50_result(learner, grade, classroom)
            yield (
                f"results/{html_pages.file_name(learner.student)}/{html_pages.file_name(grade.lesson)}"
                "/result.json",
                _json(value),
            )
            assignment = assignments.setdefault(
                value.pop("assignment"), {"type": "individual", "entries": []}
            )
            # An override is what its collector leaves alone, and shows by the name submit/manual-.
            value["submission"] = value["submission"].replace("submit/", "submit/manual-")
            assignment["entries"].append(
                {"owner": value["owner"], "submissions": [value], "override": True}
            )
    yield (
        f"{classroom}/scores.json",
        _json({"schema": "classroom50/scores/v1", "assignments": assignments}),
    )


def _classroom50_result(learner: ClassMember, grade: Grade, classroom: str) -> dict[str, Any]:
    handed_in = (grade.lateness.arrived or grade.graded).astimezone(timezone.utc)
    tests = [
        (
            check.name or check.id,
            _passed(grade, check),
            _check_points(grade, check),
            check.max_points,
        )
        for check in grade.result.checks
    ]
    for answer in grade.answers:
        passed = bool(answer.max_points) and answer.points == answer.max_points
        tests.append((answer.question, passed, answer.points, answer.max_points))
    # Also for commit and release, which the gradebook does not know.
    tag = f"submit/{handed_in:%Y-%m-%dT%H-%M-%SZ}"
    return {
        "schema": "classroom50/result/v1",
        "classroom": classroom,
        "assignment": _slug(grade.lesson),
        "assignment_type": "individual",
        "owner": (learner.columns.get("github") or learner.student).lower(),
        "submission": tag,
        "commit": tag,
        "release": tag,
        "review": tag,
        "datetime": f"{handed_in:%Y-%m-%dT%H:%M:%SZ}",
        "graded_at": f"{grade.graded:%Y-%m-%dT%H:%M:%SZ}",
        "score": _whole(grade.points),
        "max-score": grade.max_points,
        "tests": [
            {"test-name": name, "passed": passed, "score": _whole(score), "max-score": most}
            for name, passed, score, most in tests
        ],
    }


TREES = ("gradescope", "classroom50")
FORMATS = (*TABLES, *TREES)


def _whole(points: Decimal) -> int:
    return int(Decimal(points).quantize(Decimal(1), ROUND_HALF_UP))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "course"


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=1) + "\n"


def write_file(path: Path, text: str, force: bool = False) -> bool:
    """Write an export. A different file at the path is overwritten only with `force`.

    Returns whether anything was written.
    """
    if path.is_dir():
        raise UsageError(f"{path} is a folder.", "Name a file.")
    if path.exists() and not (path.is_file() and path.read_bytes() == text.encode("utf-8")):
        _refuse(path, force)
    return files.write_private(path, text)


def write_tree(folder: Path, tree: Iterable[tuple[str, str]], force: bool = False) -> int:
    """Write the files of `tree` into a new or empty folder; with `force`, overwrite existing files.

    Returns how many.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file.", "Name a folder.")
    if folder.is_dir() and any(folder.iterdir()):
        _refuse(folder, force)
    number = 0
    for number, (name, text) in enumerate(tree, 1):
        files.write_private(folder / name, text)
    return number


def _refuse(path: Path, force: bool) -> None:
    if not force:
        raise UsageError(
            f"{path} is there already.", "Name another file, or overwrite it with --force."
        )
