"""`tito gradebook appeals`: what learners ask, listed on the command line."""

import json

import pytest
from commands import tito
from some_results import result

from tito.grading.gradebook import appeals
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.roster import learner_of


@pytest.fixture
def course(small_course):
    """ada of section A asks twice and has one answer, bob of section B asks once."""
    with open_gradebook(small_course.path / ".tito" / "gradebook.db") as book:
        for student, section in (("ada", "A"), ("bob", "B")):
            columns = {"student": student, "section": section}
            book.remember_roster([learner_of(student, columns)])
            book.save([result(student), result(student, "sums")], None, "me")
        number = appeals.ask(book, "ada", "numbers", "Why\n[red]3\x1b[31m?", "ta1")
        appeals.answer(book, number, "granted", "The check was wrong.", "ta2")
        appeals.ask(book, "ada", "sums", "And here?", "ta1")
        appeals.ask(book, "bob", "numbers", "Me too?", "ta1")
    return small_course


def test_appeals_are_listed_by_state_lesson_and_section(course):
    def listed(*words):
        out, _ = tito(course, "gradebook", "appeals", *words)
        return [" ".join(line.split()) for line in out.splitlines()]

    header, first, second = listed()
    assert header == "entered by student lesson state asked"
    assert first.endswith("UTC ta1 ada sums open And here?")
    assert second.endswith("UTC ta1 bob numbers open Me too?")
    assert len(listed("--state", "all")) == 4 and listed("--section", "B")[1:] == [second]
    (granted,) = listed("--state", "granted", "--lesson", "1")[1:]
    assert "ada numbers granted Why" in granted and "[red]3" in granted and "\x1b" not in granted
    assert granted.endswith("ta2 The check was wrong.")
    assert listed("--state", "declined") == ["No appeal is declined."]
    assert listed("--state", "all", "--lesson", "2", "--section", "B") == ["There is no appeal."]


def test_as_json_an_appeal_has_who_asked_and_answered_and_when(course):
    out, _ = tito(course, "gradebook", "appeals", "--state", "all", "--json")
    first, second, _ = json.loads(out)
    assert (first["student"], first["asked"], first["entered_by"]) == (
        "ada",
        "Why\n[red]3\x1b[31m?",
        "ta1",
    )
    assert (first["state"], first["answer"]) == ("granted", "The check was wrong.")
    assert first["answered_at"] >= first["at"] and first["answered_by"] == "ta2"
    assert second["state"] == "open" and second["answered_at"] is None


def test_another_state_is_refused(course):
    _, err = tito(course, "gradebook", "appeals", "--state", "closed", code=2)
    assert "'closed' is no state of an appeal." in err and "granted, declined or all" in err
