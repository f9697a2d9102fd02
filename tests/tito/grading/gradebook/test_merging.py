"""Two ids of one learner are merged after a look at both, and a mistake can be taken back."""

import pytest
from some_results import (
    DAY,
    MONDAY,
    answer,
    coded,
    points,
    remember_roster,
    result,
    save,
    set_comment,
    set_points,
)

from tito.errors import TitoError
from tito.grading.gradebook import enrollment, learner_data, merging
from tito.grading.gradebook.tables import WORK, sql
from tito.grading.roster import Learner

JOHNS = [
    Learner("m-5", "John Smith", {"email": "five@x.org", "section": "A"}),
    Learner("m-6", "John Smith", {"email": "six@x.org", "tutor": "eve"}),
    Learner("m-7", "Jon Smith", {"section": "B"}),
]


def fill(book):
    """Each has a file of his own, and 5 and 6 have the same file of the lesson sums, which earned
    more, and earlier, for 6.
    """
    remember_roster(book, JOHNS)
    for number, earned in (("5", (3, 3)), ("6", (1, 2)), ("7", (0, 0))):
        student = f"m-{number}"
        own = coded(result(student, points=earned, key=number, sha256=number * 64), f"x = {number}")
        own.answers = [answer(f"I am {number}.")]
        save(book, [own], MONDAY, "me", work=number)
        set_comment(book, student, "numbers", f"for {number}")
    for student, earned, when in (("m-5", (2, 0), MONDAY + DAY), ("m-6", (3, 2), MONDAY)):
        save(book, [result(student, "sums", earned, "same", "f" * 64)], when, "me")
    set_points(book, "m-6", "numbers", 4)


def state(book, *students):
    """Everything about some learners but their works and the history of merges."""
    stored = {student: learner_data.stored(book, student) for student in students}
    for rows in stored.values():
        del rows["work"]
        rows["change"] = [row for row in rows["change"] if row["kind"] not in ("merged", "split")]
        for name in rows:
            rows[name].sort(key=repr)
    return stored


def test_a_preview_shows_what_both_have_and_changes_nothing(book):
    fill(book)
    before = state(book, "m-5", "m-6")
    made = merging.merge(book, "m-5", "m-6", "prof", "twice", preview=True)
    assert [learner.student for learner in made.two] == ["m-5", "m-6"]
    shown = {
        lesson: [grade and str(grade.points) for grade in grades]
        for lesson, grades in made.grades.items()
    }
    assert shown == {"numbers": ["6", "4", "4"], "sums": ["2", "5", "5"]}
    assert made.history == (3, 4)
    assert state(book, "m-5", "m-6") == before and book.points_lost == []


@pytest.mark.parametrize(("old", "into"), [("m-5", "m-6"), ("m-6", "m-5"), ("m-7", "m-5")])
def test_a_merge_that_is_taken_back_leaves_everything_as_it_was(book, old, into):
    fill(book)
    before = state(book, old, into)
    merging.merge(book, old, into, "prof", "twice")
    with pytest.raises(TitoError, match="was merged into"):
        state(book, old)
    enrollment.come_back(book, old, "prof", "came back")
    assert state(book, old, into) == before
    said = [one.text for one in book.history(old) if one.kind == "split"]
    assert said and set(said) == {f"{old} is not {into}"}
    lost = {(one.student, one.lesson) for one in book.points_lost}
    assert all(student == into for student, _ in lost)
    merging.merge(book, old, into, "prof", "after all")  # and once more
    enrollment.come_back(book, old, "prof", "came back")
    assert state(book, old, into) == before


def test_what_came_since_the_merge_stays_with_the_one_who_stayed(book):
    fill(book)
    merging.merge(book, "m-5", "m-6", "prof", "twice")
    save(book, [result("m-5", "products", key="new", sha256="9" * 64)], MONDAY, "me", work="9")
    newer = result("m-6", "numbers", (3, 1), "5.other checks", "5" * 64)
    save(book, [newer], MONDAY, "me")
    newer = result("m-6", "sums", (3, 3), "same.other checks", "f" * 64)
    save(book, [newer], MONDAY, "me")
    set_comment(book, "m-6", "numbers", "since then")
    remember_roster(book, [Learner("m-6", "John Q. Smith", {"email": "new@x.org"})])
    enrollment.come_back(book, "m-5", "prof", "came back")
    assert points(book, "m-5") == {"numbers": "4", "sums": "2"}, "graded by the checks since"
    assert points(book, "m-6") == {"numbers": "4", "products": "3", "sums": "6"}
    texts = {
        student: {comment.text for grade in book.grades(student) for comment in grade.comments}
        for student in ("m-5", "m-6")
    }
    assert texts == {"m-5": {"for 5"}, "m-6": {"for 6", "since then"}}
    five, six, _ = book.learners()
    assert (six.name, six.email, six.columns["tutor"]) == ("John Q. Smith", "new@x.org", "eve")
    assert "section" not in six.columns and five.email == "five@x.org"


def test_of_several_merges_the_last_is_taken_back_first(book):
    fill(book)
    before = state(book, "m-5", "m-6", "m-7")
    merging.merge(book, "m-7", "m-6", "prof", "one")
    merging.merge(book, "m-5", "m-6", "prof", "two")
    with pytest.raises(TitoError) as error:
        enrollment.come_back(book, "m-7", "prof", "came back")
    assert error.value.remedy.endswith("roster --restore m-5")
    for student in ("m-5", "m-7"):
        enrollment.come_back(book, student, "prof", "came back")
    assert state(book, "m-5", "m-6", "m-7") == before


def test_a_chain_of_merges_is_taken_back_link_by_link(book):
    fill(book)
    before = state(book, "m-5", "m-6", "m-7")
    merging.merge(book, "m-7", "m-6", "prof", "one")
    merging.merge(book, "m-6", "m-5", "prof", "two")
    with pytest.raises(TitoError, match="'m-6' was merged into 'm-5' after 'm-7'"):
        enrollment.come_back(book, "m-7", "prof", "came back")
    for student in ("m-6", "m-7"):
        enrollment.come_back(book, student, "prof", "came back")
    assert state(book, "m-5", "m-6", "m-7") == before


def test_a_learner_who_was_split_off_and_deleted_leaves_no_trace(book):
    fill(book)
    merging.merge(book, "m-5", "m-6", "prof", "twice")
    enrollment.come_back(book, "m-5", "prof", "came back")
    learner_data.delete(book, "m-5", "prof")
    said = repr(learner_data.stored(book, "m-6"))
    assert "m-5" not in said and "five@x.org" not in said
    assert book.code("5" * 64) is None and book.code("6" * 64)


def test_a_merge_of_an_earlier_tito_has_no_record(book):
    from tito.grading.gradebook.database import write
    from tito.grading.gradebook.tables import CHANGE

    fill(book)
    merging.merge(book, "m-5", "m-6", "prof", "twice")
    write(book.engine, lambda opened: opened.execute(sql.update(CHANGE).values(replaced=None)))
    with pytest.raises(TitoError, match="which kept no record"):
        enrollment.come_back(book, "m-5", "prof", "came back")


def test_works_are_found_again_after_a_merge_is_taken_back(book):
    fill(book)
    merging.merge(book, "m-5", "m-6", "prof", "twice")
    enrollment.come_back(book, "m-5", "prof", "came back")
    works, keys = book.graded()
    assert keys["m-5"] == {"numbers": {"5"}, "sums": {"same"}}
    with book.engine.connect() as opened:
        assert {row.student for row in opened.execute(sql.select(WORK))} == {"m-6", "m-7"}
    assert works.keys() == {("m-6", "6"), ("m-7", "7")}
