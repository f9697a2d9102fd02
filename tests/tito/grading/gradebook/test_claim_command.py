"""`tito gradebook claim`: graders say on the command line which submissions are theirs."""

import json

import pytest
from commands import tito
from some_results import result

from tito.errors import TitoError
from tito.grading.gradebook import claims
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.roster import learner_of


@pytest.fixture
def course(small_course):
    """ada and bob are in section A, eve in B; eve handed in nothing."""
    with open_gradebook(small_course.path / ".tito" / "gradebook.db") as book:
        for student, section in (("ada", "A"), ("bob", "A"), ("eve", "B")):
            columns = {"student": student, "section": section}
            book.remember_roster([learner_of(student, columns)])
            book.save([result(student, sha256="" if student == "eve" else student)], None, "me")
    return small_course


def test_sections_and_learners_are_claimed_shown_and_given_back(course):
    def claim(*words):
        return tito(course, "gradebook", "claim", *words)[0]

    assert claim() == "No grader has claimed a submission.\n"
    assert claim("--student", "bob", "--who", "ta2") == "ta2 takes 1 submission.\n"
    said = claim("--section", "A", "--lesson", "1", "--who", "ta1")
    assert said == "ta1 takes 1 of 2 submissions; the others are taken already, or looked at.\n"
    assert [(one["student"], one["who"]) for one in json.loads(claim("--json"))] == [
        ("ada", "ta1"),
        ("bob", "ta2"),
    ]
    shown = [line.split()[:4] for line in claim().splitlines()]
    assert shown[1:] == [["ta1", "numbers", "1", "0"], ["ta2", "numbers", "1", "0"]]
    with open_gradebook(course.path / ".tito" / "gradebook.db") as book:
        claims.finish(book, claims.places(book, students=["ada"])[0], "ta1")
        with pytest.raises(TitoError, match="Nobody is in section 'C'"):
            claims.places(book, section="C")
    assert claim("--lift", "--who", "ta1") == "ta1 gives back 0 of 2 submissions.\n"
    assert claim("--lift", "--who", "ta2") == "ta2 gives back 1 of 2 submissions.\n"
    assert claim().splitlines()[1].split()[:4] == ["ta1", "numbers", "1", "1"]
