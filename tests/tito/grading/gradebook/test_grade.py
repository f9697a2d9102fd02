"""What a grade is: points by hand, lateness, extensions and comments."""

from decimal import Decimal

import pytest
from some_results import DAY, MONDAY, points, result

from tito.errors import TitoError
from tito.grading import views
from tito.grading.gradebook import overrides


def test_an_override_is_final(book):
    book.save([result()], MONDAY + 2 * DAY, "me")
    assert points(book) == {"numbers": "2.4"}  # two days: 3 - 20 %
    assert overrides.override(book, "ada", "numbers", "5.5", "prof", "shown in the lab") == (
        3,
        Decimal("5.5"),
    )
    (grade,) = book.rows("ada")
    assert (
        str(grade.points) == "5.5"
        and grade.penalty_percent == 0
        and grade.late_reason == "2 days late"
    )
    assert (grade.override.who, grade.override.why) == ("prof", "shown in the lab")
    book.save([result(key="new", points=(3, 3))], MONDAY, "me")
    assert points(book) == {"numbers": "5.5"}
    assert list(book.history())[-1].text == (
        "graded 3 -> 6; the override to 5.5 by prof stays and hides the rise"
    )
    assert overrides.override(book, "ada", "numbers", None, "prof", "a slip") == (Decimal("5.5"), 6)


def test_of_a_check_set_by_hand_no_lateness_is_taken(book):
    book.save([result(points=(2, 1))], MONDAY + DAY, "me")
    overrides.override(book, "ada", "numbers", 3, "prof", "the check was unfair", check="c1")
    (grade,) = book.rows("ada")
    assert (str(grade.points), str(grade.before_late), grade.late_reason) == (
        "4.8",
        "5",
        "1 day late: -10 %",
    )  # 2 - 10 % + 3
    assert [str(grade.check_points(check)) for check in grade.result.checks] == ["2", "3"]
    book.save([result(points=(3, 0), key="new")], MONDAY, "me")
    assert (
        points(book) == {"numbers": "6"}
        and list(book.history())[-1].text == "the override of check c1 to 3 by prof stays"
    )
    book.save([result(points=(3,), key="newer")], MONDAY, "me")
    assert points(book) == {"numbers": "3"} and list(book.history())[-1].text == (
        "check c1, overridden to 3 by prof, is no longer there"
    )


def test_a_part_of_a_checks_name_is_enough(book):
    book.save([result(points=(2, 1))], None, "me")
    overrides.override(book, "ada", "numbers", 3, "prof", "was unfair", check="1")
    (grade,) = book.rows("ada")
    assert list(grade.check_overrides) == ["c1"]
    overrides.override(book, "ada", "numbers", None, "prof", "was fair", check="1")
    assert points(book) == {"numbers": "3"}


@pytest.mark.parametrize(
    ("student", "lesson", "number", "more", "what", "remedy"),
    [
        ("adda", "numbers", 3, {}, "no learner 'adda'", "'ada'"),
        ("ada", "sums", 3, {}, "no grade in sums", "tito grade"),
        ("ada", "numbers", 7, {}, "7 points are not possible", "in between"),
        ("ada", "numbers", -1, {}, "-1 points are not possible", "in between"),
        ("ada", "numbers", 4, {"check": "c0"}, "c0 can earn between 0 and 3", "in between"),
        ("ada", "numbers", "many", {}, "'many' is no number", "such as 7.5"),
        ("ada", "numbers", "nan", {}, "'nan' is no number", "such as 7.5"),
        ("ada", "numbers", 3, {"check": "c9"}, "no check 'c9'", "There are: c0, c1"),
        ("ada", "numbers", 3, {"check": "c"}, "2 checks with 'c'", "more of one: c0, c1"),
        ("ada", "numbers", None, {}, "no override of numbers", "history"),
        ("ada", "numbers", 3, {"why": " "}, "keeps who made it, and why", "--why"),
        ("ada", "numbers", 3, {"who": ""}, "keeps who made it, and why", "--who"),
    ],
)
def test_an_override_that_cannot_be_meant_is_refused(
    book, student, lesson, number, more, what, remedy
):
    book.save([result()], None, "me")
    with pytest.raises(TitoError) as error:
        overrides.override(book, student, lesson, number, **{"who": "me", "why": "because"} | more)
    assert what in error.value.what and remedy in error.value.remedy and error.value.code == 2
    assert points(book) == {"numbers": "3"} and len(list(book.history())) == 1


def test_comments_are_kept_by_lesson_and_in_general_and_can_be_taken_back(book):
    book.save([result(), result(lesson="sums")], None, "me")
    for lesson, text in (("numbers", "one"), ("numbers", "two"), ("sums", "three"), (None, "four")):
        overrides.comment(book, "ada", lesson, text, "prof")
    ((learner, grades),) = book.by_learner("ada")
    assert [[comment.text for comment in grade.comments] for grade in grades] == [
        ["one", "two"],
        ["three"],
    ]
    assert [(comment.text, comment.who) for comment in learner.comments] == [("four", "prof")]
    overrides.comment(book, "ada", "numbers", None, "prof")
    assert [len(grade.comments) for grade in book.rows("ada")] == [0, 1]
    with pytest.raises(TitoError, match="empty"):
        overrides.comment(book, "ada", "sums", "  ", "prof")


def test_an_extension_counts_at_once_and_one_for_the_lesson_before_one_for_all(book):
    book.save([result()], MONDAY + 3 * DAY, "me")
    assert points(book) == {"numbers": "2.1"}
    overrides.extend(book, "ada", None, "prof", "ill", days=1)
    assert points(book) == {"numbers": "2.4"}
    overrides.extend(book, "ada", "numbers", "prof", "very ill", until=MONDAY + 3 * DAY)
    (grade,) = book.rows("ada")
    assert (str(grade.points), grade.due) == ("3", MONDAY + 3 * DAY)
    overrides.extend(book, "ada", "numbers", "prof", "it was another Ada")
    assert points(book) == {"numbers": "2.4"}
    overrides.extend(book, "ada", None, "prof", "it was another Ada")
    assert points(book) == {"numbers": "2.1"}
    assert [(change.kind, change.lesson, change.why) for change in book.history("ada", "numbers")][
        1:3
    ] == [("extension", None, "ill"), ("extension", "numbers", "very ill")]


def doubts(book):
    return {(one.student, one.check): one.doubt for one in overrides.overrides(book)}


def test_an_override_above_a_lowered_maximum_counts_as_the_maximum_and_is_doubted(book):
    book.save([result(points=(3, 3, 0))], MONDAY, "me")  # of 9
    overrides.override(book, "ada", "numbers", 8, "bob", "shown in the lab")
    assert doubts(book) == {("ada", None): ""}
    book.save([result(points=(3, 3), key="new")], MONDAY, "me")  # of 6
    (grade,) = book.rows("ada")
    assert (grade.points, grade.max_points, grade.override.points) == (6, 6, 6)
    assert doubts(book) == {("ada", None): "above the maximum of 6: it counts as 6"}


def test_an_override_of_a_check_never_counts_more_than_the_check(book):
    book.save([result(points=(3, 0))], MONDAY, "me")
    overrides.override(book, "ada", "numbers", 3, "bob", "unfair", check="c1")
    cheaper = result(points=(3, 0), key="new")
    cheaper.checks[1].max_points, cheaper.max_points = 1, 4
    book.save([cheaper], MONDAY, "me")
    (grade,) = book.rows("ada")
    assert (grade.points, grade.max_points) == (4, 4)
    assert doubts(book) == {("ada", "c1"): "above the maximum of 1: it counts as 1"}


def test_an_override_that_a_mended_check_has_overtaken_is_doubted_and_one_that_was_meant_is_not(
    book,
):
    for student in ("ada", "eve"):
        book.save([result(student)], MONDAY, "me")  # 3
    overrides.override(book, "ada", "numbers", 4, "bob", "half right")
    overrides.override(book, "eve", "numbers", 0, "bob", "copied")
    assert set(doubts(book).values()) == {""}
    book.save([result(points=(3, 3), key="new")], MONDAY, "me")
    assert doubts(book) == {("ada", None): "below the 6 that are earned now", ("eve", None): ""}
    assert list(views.doubtful(overrides.overrides(book))) == [
        "1 override to look at again: tito gradebook overrides --doubtful",
        "  ada  numbers: set to 4 by bob; below the 6 that are earned now",
    ]
    book.save([result("eve", points=(3, 3), key="new")], MONDAY, "me")
    assert doubts(book)["eve", None] == "below the 6 that are earned now"


def test_an_override_of_a_check_that_is_gone_is_doubted(book):
    book.save([result(points=(3, 0))], MONDAY, "me")
    overrides.override(book, "ada", "numbers", 2, "bob", "unfair", check="c1")
    book.save([result(points=(3,), key="new")], MONDAY, "me")
    assert doubts(book) == {("ada", "c1"): "there is no check c1 any more: it counts nothing"}
    assert points(book) == {"numbers": "3"}


def test_the_history_tells_whose_override_was_set_anew_and_whose_hid_a_rise(book):
    book.save([result()], MONDAY, "me")
    overrides.override(book, "ada", "numbers", 4, "bob", "half right")
    overrides.override(book, "ada", "numbers", 5, "carol", "more than half")
    book.save([result(points=(3, 3), key="new")], MONDAY, "me")
    *_, second, graded = book.history()
    assert (second.who, second.text) == ("carol", "instead of 4 by bob")
    assert (graded.old_points, graded.new_points, graded.changes_points) == (5, 5, True)
    assert graded.text.endswith("the override to 5 by carol stays and hides the rise")
