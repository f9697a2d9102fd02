"""Free answers as scripts meet them: graded, judged, shown, exported."""

import csv
import io
import json
import re

import pytest
from commands import tito
from small_course import with_question
from some_results import set_comment

from tito.grading.gradebook.gradebook import open_gradebook
from tito.learn import workspace
from tito.lesson import cells, course, lesson_format

MARKUP = '</pre><script>alert(1)</script> =cmd()|"A1" \x1b[31m\u202e {{ 7 * 7 }}'
GRADE = ("grade", "../class", "numbers", "--isolation", "process", "--jobs", "1")


@pytest.fixture
def asked_course(small_course):
    """The small course with a question in its first lesson."""
    path = small_course.path / "modules/source/01_numbers/numbers_dev.py"
    path.write_text(with_question(), "utf-8")
    return course.open_root(small_course.path)


def hand_in(root, student, answer, solved=True):
    """A workspace of a learner in ../class, with an answer."""
    path = root.path.parent / "class" / student
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        workspace.init(path, root)
    entry = course.open_root(path).lesson("numbers")
    text = root.lesson("numbers").script.read_text("utf-8") if solved else entry.declared.released
    source = cells.parse(entry.script, text)
    cell = source.cell("why")
    entry.script.write_text(
        source.replaced(cell, lesson_format.answered(cell.source, answer)), "utf-8"
    )


def graded(root, *words):
    tito(root, *GRADE, *words)
    found = json.loads(tito(root, "gradebook", "show", "--lesson", "numbers", "--json")[0])
    return {grade["student"]: grade for grade in found}


@pytest.mark.slow
def test_answers_are_collected_judged_shown_and_exported(asked_course):
    hand_in(asked_course, "ada", "It is $2 \\cdot 2$.")
    hand_in(asked_course, "bob", MARKUP, solved=False)
    hand_in(asked_course, "cem", "x" * (lesson_format.LONGEST_ANSWER + 7))
    hand_in(asked_course, "eve", "")
    out, _ = tito(asked_course, *GRADE)
    assert "3 answers to be judged" in " ".join(out.split())
    grades = graded(asked_course)
    assert {one: (g["points"], g["max_points"], g["to_judge"]) for one, g in grades.items()} == {
        "ada": (5, 7, 2),
        "bob": (0, 7, 2),
        "cem": (5, 7, 2),
        "eve": (5, 7, 0),
    }
    assert grades["bob"]["verdict"] == "failed"  # an answer alone is also a submission

    for student, points in (("ada", 2), ("bob", "1.75"), ("cem", 2)):
        words = ("--check", "why", "--points", points, "--why", "judged")
        tito(asked_course, "gradebook", "set", student, "numbers", *words)
    with open_gradebook(asked_course.state / "gradebook.db") as book:
        for student, comment in (("bob", MARKUP), ("cem", "Too long.")):
            set_comment(book, student, "numbers", comment, "ta1", exercise="why")
    words = ("gradebook", "show", "--lesson", "numbers", "--json")
    _, bob, cem, eve = [grade["answers"][0] for grade in json.loads(tito(asked_course, *words)[0])]
    assert bob["text"].startswith("</pre><script>") and bob["points"] == 1.75
    assert (len(cem["text"]), cem["length"]) == (
        lesson_format.LONGEST_ANSWER,
        lesson_format.LONGEST_ANSWER + 7,
    )
    assert (cem["state"], eve["state"]) == ("judged", "empty")
    out, warned = tito(asked_course, "gradebook", "export")
    points = {row["student"]: row["numbers"] for row in csv.DictReader(io.StringIO(out))}
    assert points == {"ada": "7", "bob": "1.75", "cem": "7", "eve": "5"}
    assert "to be judged" not in warned

    # Handed in again: the same answer keeps its points, another is to be judged.
    hand_in(asked_course, "ada", "It is $2 \\cdot 2$.", solved=False)
    hand_in(asked_course, "cem", "Short.")
    grades = graded(asked_course)
    assert (grades["ada"]["points"], grades["cem"]["points"]) == (2, 5)
    assert grades["cem"]["answers"][0]["earlier"]["points"] == 2
    assert grades["cem"]["comments"][0]["exercise"] == "why"
    assert "to be judged (1 answer), counted as 0" in " ".join(
        tito(asked_course, "gradebook", "export")[1].split()
    )
    shown = " ".join(tito(asked_course, "gradebook", "show", "--student", "cem")[0].split())
    assert "automatic 5 of 5, 2 points to be judged" in shown
    history = tito(asked_course, "gradebook", "show", "--history", "--student", "bob")[0]
    assert "\x1b" not in history and "\u202e" not in history
    assert re.search(r"override +0 -> 1.75 .*judged; why set to 1.75", history)
