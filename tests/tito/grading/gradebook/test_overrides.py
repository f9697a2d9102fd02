"""What instructors decide by hand: extensions, comments, and who has not seen the last change."""

from datetime import datetime

import pytest
from some_results import MONDAY, points, result

from tito.errors import TitoError
from tito.grading.gradebook import overrides
from tito.grading.gradebook.history import ChangedMeanwhile


@pytest.mark.parametrize(
    "more",
    [{"days": 0}, {"days": 5000}, {"until": datetime(2026, 12, 1)}, {"until": MONDAY, "days": 1}],
)
def test_an_extension_that_cannot_be_meant_is_refused(book, more):
    book.save([result()], None, "me")
    with pytest.raises(TitoError):
        overrides.extend(book, "ada", None, "prof", "ill", **more)
    assert len(list(book.history())) == 1


def test_who_has_not_seen_the_last_change_is_told_it_and_changes_nothing(book):
    book.save([result()], None, "me")
    seen = book.last_change("ada", "numbers")
    overrides.override(book, "ada", "numbers", "4", "ta1", "asked", seen=seen)
    overrides.comment(book, "ada", None, "in general", "ta1")
    for write in (
        lambda: overrides.override(book, "ada", "numbers", "5", "ta2", "asked too", seen=seen),
        lambda: overrides.comment(book, "ada", "numbers", "Well done.", "ta2", seen=seen),
    ):
        with pytest.raises(ChangedMeanwhile, match="ta1 changed this grade") as error:
            write()
        assert [(c.kind, c.who) for c in error.value.changes] == [
            ("override", "ta1"),
            ("comment", "ta1"),
        ]
    assert points(book) == {"numbers": "4"}
    overrides.override(
        book, "ada", "numbers", "5", "ta2", "asked too", seen=book.last_change("ada", "numbers")
    )
    assert points(book) == {"numbers": "5"}


def test_what_happens_to_another_lesson_or_learner_is_no_change_of_this_grade(book):
    book.save([result(), result(lesson="sums")], None, "me")
    seen = book.last_change("ada", "numbers")
    book.save([result("bob")], None, "me")
    overrides.comment(book, "ada", "sums", "Well done.", "ta1")
    overrides.override(book, "ada", "numbers", "5", "ta2", "asked", seen=seen)
    assert points(book)["numbers"] == "5"


def test_one_of_several_comments_can_be_taken_back(book):
    book.save([result()], None, "me")
    for text, who in (("one", "ta1"), ("two", "ta2"), ("one", "ta2")):
        overrides.comment(book, "ada", "numbers", text, who)
    (grade,) = book.rows("ada")
    overrides.comment(book, "ada", "numbers", None, "ta1", only=grade.comments[0])
    (grade,) = book.rows("ada")
    assert [(c.text, c.who) for c in grade.comments] == [("two", "ta2"), ("one", "ta2")]
    overrides.comment(book, "ada", "numbers", None, "ta1")
    (grade,) = book.rows("ada")
    assert grade.comments == []


def test_comments_are_counted_by_the_learners_for_whom_they_stand(book):
    for student in ("ada", "bob", "eve"):
        book.save([result(student)], None, "me")
        overrides.comment(book, student, "numbers", "often", "ta1")
        overrides.comment(book, student, "numbers", "often", "ta2")
    overrides.comment(book, "eve", "numbers", "once", "ta1")
    overrides.comment(book, "bob", "sums", "elsewhere", "ta1")
    assert overrides.comments_again(book, "numbers") == [("often", 3), ("once", 1)]
    overrides.comment(book, "ada", "numbers", None, "ta1")
    assert overrides.comments_again(book, "numbers") == [("often", 2), ("once", 1)]
