"""Item analysis: what a class did in each check and exercise, against numbers counted by hand."""

import json
import xml.dom.minidom
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from commands import tito
from some_results import DAY, MONDAY

from tito.grading.gradebook import item_plots, items
from tito.grading.gradebook.database import write
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.gradebook.tables import LEARNER, LEFT
from tito.grading.result import CheckResult, LessonResult

DOUBLE, TRIPLE = "numbers-double", "numbers-triple"
MESSAGE = "double(2) should be 4, yours is 0: did you square?"
MISTAKES = """
[[mistake]]
exercise = "double"
name = "Squares the number."
message = "did you square?"
code = "return x * x"
"""


def work(entry, student, right, sha256=None, claimed=None, verdict=None, messages=()):
    """The result of a learner for whom these numbers of the lesson's checks pass."""
    checks = [
        CheckResult(
            check.id,
            check.exercise,
            check.name,
            check.points * (number in right),
            check.points,
            "passed" if number in right else "failed",
            "" if number in right else dict(messages).get(number, "something else"),
        )
        for number, check in enumerate(entry.declared.checks)
    ]
    return LessonResult(
        student,
        entry.name,
        entry.number,
        entry.declared.title,
        entry.declared.points,
        verdict=verdict or ("passed" if len(right) == len(checks) else "failed"),
        points=sum(check.points for check in checks),
        checks=checks,
        key=f"{student}{sha256}",
        sha256=sha256 or student,
        claimed=claimed or {},
    )


@pytest.fixture
def entry(small_course):
    entry = small_course.lesson("numbers")
    path = entry.script.with_name("misconceptions.toml")
    path.write_text(MISTAKES, encoding="utf-8")
    return entry


def class_of(book, entry):
    """Five learners of whom the checks 0, 1 (double, 2 points each) and 2 (triple, 1) are right;
    one more with a syntax error, one who handed in nothing, and one who left.
    """
    hints = {"hints": {DOUBLE: 2, TRIPLE: 0}}
    wrong = {"messages": {0: MESSAGE}}
    for result in (
        work(entry, "ada", {0, 1, 2}, claimed=hints),
        work(entry, "bob", {0, 1}, claimed={"hints": {DOUBLE: 1}}),
        work(entry, "cem", {1}, **wrong),
        work(entry, "dan", set(), **wrong),
        work(entry, "eve", {2}, messages={0: "squared? did you square? no"}),
        work(entry, "fay", set(), verdict="syntax error"),
        replace(work(entry, "gil", set(), verdict="missing"), sha256=""),
        work(entry, "left", {0, 1, 2}),
    ):
        book.save([result], MONDAY, "me")
    leave = LEARNER.update().where(LEARNER.c.student == "left").values(state=LEFT)
    write(book.engine, lambda database: database.execute(leave))


def test_shares_discrimination_mistakes_and_where_the_class_stops(book, entry):
    class_of(book, entry)
    (found,) = items.analyse(book, [entry], since=MONDAY + DAY)
    assert (found.learners, found.finished) == (5, 1)
    assert found.not_run == {"syntax error": 1, "missing": 1}
    assert [(item.right, item.learners) for item in found.checks] == [(2, 5), (3, 5), (2, 5)]
    double, triple = found.exercises
    assert (double.id, double.right, double.stops) == (DOUBLE, 2, 3)
    assert (triple.right, triple.stops, double.before) == (2, 1, (2, 5))
    # Each against the points of the others: of the checks, [5, 4, 2, 0, 1] in all.
    for item, right, rest in (
        (found.checks[0], [1, 1, 0, 0, 0], [3, 2, 2, 0, 1]),
        (found.checks[2], [1, 0, 0, 0, 1], [4, 4, 2, 0, 0]),
        (double, [1, 1, 0, 0, 0], [1, 0, 0, 0, 1]),
    ):
        assert item.discrimination == round(np.corrcoef(right, rest)[0, 1], 2)
    assert double.mistakes == [items.Mistake("Squares the number", 3)]
    assert found.checks[0].mistakes == double.mistakes and triple.mistakes == []
    assert (double.hints, double.mean_hints, double.of_hints) == ({2: 1, 1: 1}, 1.5, 2)
    assert triple.mean_hints == 0


def test_an_item_that_all_have_right_has_no_discrimination(book, entry):
    for student, right in (("ada", {0, 1, 2}), ("bob", {0, 1, 2}), ("cem", {0, 1})):
        book.save([work(entry, student, right)], MONDAY, "me")
    (found,) = items.analyse(book, [])
    assert [item.discrimination for item in found.checks] == [None, None, None]
    assert found.exercises[0].share == 1 and found.exercises[0].mistakes == []


def test_what_counted_then_is_compared_with_what_counts_now(book, entry):
    late = MONDAY + 3 * DAY
    for student, first, second in (("ada", set(), {0, 1}), ("bob", {0, 1, 2}, {0})):
        book.save([work(entry, student, first, "1")], MONDAY, "me")
        book.save([work(entry, student, second, "2")], late, "me")
    (found,) = items.analyse(book, [entry], since=MONDAY + DAY)
    assert [(item.right, item.before) for item in found.exercises] == [(1, (1, 2)), (0, (1, 2))]
    days = [(day, learners, right[DOUBLE], right[TRIPLE]) for day, learners, right in found.days]
    first = MONDAY.date()
    assert days == [
        *((first + timedelta(n), 2, 1, 1) for n in range(3)),
        (first + timedelta(3), 2, 1, 0),
    ]
    (found,) = items.analyse(book, [entry], since=MONDAY - DAY)
    assert found.exercises[0].before is None


def test_the_pictures_hold_no_script_and_no_style_and_name_nothing_unescaped(book, entry):
    for number, student in enumerate(("ada", "bob", "cem")):
        book.save([work(entry, student, {0, 1})], MONDAY + number * DAY, "me")
    (found,) = items.analyse(book, [entry])
    found.title = found.exercises[0].id = '<script>alert("1")</script>'
    found.days = [
        (day, learners, right | {found.exercises[0].id: 1}) for day, learners, right in found.days
    ]
    for picture in (item_plots.shares(found), item_plots.course(found)):
        xml.dom.minidom.parseString(picture)
        assert "<script" not in picture and "style" not in picture and "triple" in picture
    found.days = found.days[:1]
    assert item_plots.course(found) == ""


def test_the_command_shows_all_lessons_and_of_one_its_checks(small_course, entry, tmp_path):
    with open_gradebook(small_course.path / ".tito" / "gradebook.db") as book:
        class_of(book, entry)
    out, _ = tito(small_course, "gradebook", "items", "--since", "2026-11-10")
    assert "01 Numbers: 5 learners, 1 with everything right; 1 syntax error; 1 missing" in out
    lines = [line.split() for line in out.splitlines()]
    assert [DOUBLE, "40%", "5", "40%", "0.17", "3", "1.5", "of", "2", "3:"] in [
        line[:10] for line in lines
    ]
    assert "double of two" not in out
    out, _ = tito(small_course, "gradebook", "items", "1", "--plots", tmp_path / "plots")
    assert "double_of_two_is_four" in out
    names = sorted(path.name for path in (tmp_path / "plots").iterdir())
    assert names == ["numbers-shares.svg"]
    (read,) = json.loads(tito(small_course, "gradebook", "items", "--json")[0])
    assert read["exercises"][0]["share"] == 0.4 and read["checks"][2]["right"] == 2
