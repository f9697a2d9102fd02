"""Results of lessons as the judge returns them, late rules, and what persons set, for tests of what
comes after the judge.
"""

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

from tito.grading.gradebook import class_lists, enrollment
from tito.grading.gradebook.changes import apply_changes
from tito.grading.gradebook.database import write
from tito.grading.gradebook.late import Extension, Rules
from tito.grading.gradebook.learners import remember_learner
from tito.grading.gradebook.requested_changes import RequestedChange
from tito.grading.gradebook.result_store import Saving
from tito.grading.gradebook.tables import learner_id
from tito.grading.result import Answer, CheckResult, ExerciseCell, LessonResult, packed
from tito.grading.submission import Arrived, LessonFile, Submission
from tito.lesson import cells

LESSONS = {"numbers": 1, "sums": 2}
MONDAY = datetime(2026, 11, 2, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)
RULES = Rules(timedelta(minutes=15), Decimal(10), Decimal(50), {"numbers": MONDAY})


def result(
    student="ada",
    lesson="numbers",
    points=(3, 0),
    key="key",
    sha256="a" * 64,
    verdict="partly right",
    **more,
):
    """A LessonResult whose checks c0, c1, ... are worth 3 points each and earned `points`; the
    last one is hidden."""
    checks = [
        CheckResult(
            f"c{n}",
            "exercise",
            f"check {n}",
            earned,
            3,
            "passed" if earned == 3 else "failed",
            "" if earned == 3 else f"message {n}",
            hidden=n == len(points) - 1,
        )
        for n, earned in enumerate(points)
    ]
    return LessonResult(
        student,
        lesson,
        LESSONS.get(lesson, 9),
        lesson.title(),
        3 * len(points),
        points=sum(points),
        checks=checks,
        key=key,
        sha256=sha256,
        verdict=verdict,
        **more,
    )


def coded(made, code):
    """The result with the code of a script, of which each cell with an exercise's mark counts."""
    made.code, source = packed(code), cells.parse(Path("numbers_dev.py"), code)
    file = LessonFile("numbers_dev.py", source=source)
    for exercise in {check.exercise for check in made.checks}:
        if cell := source.cell(exercise.removeprefix(f"{made.lesson}-")):
            made.cells[exercise] = [ExerciseCell("line 1: counts", True, *file.lines(cell))]
    return made


def points(book, student="ada"):
    """{lesson: the points that count, as written} of a learner."""
    return {grade.lesson: str(grade.points) for grade in book.grades(student)}


def answer(text="Sums to one.", most=2, question="why"):
    """A free answer as the judge returns it."""
    sha256 = hashlib.sha256(text.encode()).hexdigest() if text else ""
    return Answer(question, most, sha256, len(text), text)


def handed_in(student="ada", text="Sums to one.", key="key", most=2, **more):
    """A result with an answer; its checks earned 3 of 6."""
    made = result(student, key=key, sha256=key.ljust(64, "a"), **more)
    return replace(made, max_points=6 + most, answers=[answer(text, most)])


def save(book, results, arrived=None, who="me", name="", why="graded", **more):
    """Save the results of one learner, all of which arrived then: a time, an Arrived, or None."""
    if isinstance(arrived, datetime):
        arrived = Arrived(arrived, "moodle")
    arrivals = {result.lesson: arrived for result in results} if arrived else {}
    return book.save(Saving(results[0].student, name, who, why, results, arrivals=arrivals, **more))


def save_each(book, *results, arrived=None):
    """Save each result, as it is handed in."""
    for result in results:
        save(book, [result], arrived, "me", result.student.title())


def set_points(book, student, lesson, points, who="prof", why="asked", check=None, seen=None):
    """Points by hand; None lifts them. Returns the Outcome."""
    points = None if points is None else Decimal(str(points))
    change = RequestedChange("override", student, lesson, why, check, points)
    return apply_changes(book, [change], who, seen=seen)[0]


def set_comment(book, student, lesson, text, who="prof", seen=None, exercise=None):
    """A comment; None takes all on that lesson back. Returns the Outcome."""
    change = RequestedChange("comment", student, lesson, check=exercise, text=text)
    return apply_changes(book, [change], who, seen=seen)[0]


def set_time(book, student, lesson, who="prof", why="ill", until=None, days=None):
    """More time; neither `until` nor `days` takes it back. Returns the Outcome."""
    given = Extension(until, days) if until or days else None
    change = RequestedChange("extension", student, lesson, why, extension=given)
    return apply_changes(book, [change], who)[0]


def keep_strangers(book, names):
    """Let the book know of entries with these names, which are of no learner in the roster."""
    enrollment.keep_entries(book, [Submission(name, name, known=False) for name in names], "me")


def remember_roster(book, learners):
    """Let the book know these learners, with name and columns, as a roster does."""
    for learner in learners:
        row = (learner_id(learner.student), learner.name, learner.columns)
        write(book.engine, lambda database: remember_learner(database, *row))


def read_roster(path, id_column=None, remembered=None):
    """The learners in a CSV file."""
    class_list = class_lists.read(path)
    column = class_lists.choose(class_list, id_column, remembered)
    return class_lists.learners_of(class_list, column)
