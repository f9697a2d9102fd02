"""What a grade is: points by hand, lateness, extensions and comments."""

from decimal import Decimal

import pytest
from some_results import DAY, MONDAY, points, result, save, set_comment, set_points, set_time

from tito.errors import TitoError
from tito.grading.gradebook.changes import take_back_comment, used_comments
from tito.grading.gradebook.history import ChangedMeanwhile


def test_an_override_is_final(book):
    save(book, [result()], MONDAY + 2 * DAY, "me")
    assert points(book) == {"numbers": "2.4"}  # two days: 3 - 20 %
    outcome = set_points(book, "ada", "numbers", "5.5", "prof", "shown in the lab")
    assert (outcome.old, outcome.new) == (Decimal("2.4"), Decimal("5.5"))
    (grade,) = book.grades("ada")
    assert (
        str(grade.points) == "5.5"
        and grade.lateness.percent == 0
        and grade.late_reason == "2 days late"
    )
    assert (grade.override.who, grade.override.why) == ("prof", "shown in the lab")
    save(book, [result(key="new", points=(3, 3))], MONDAY, "me")
    assert points(book) == {"numbers": "5.5"}
    assert list(book.history())[-1].text == (
        "graded 3 -> 6; the override to 5.5 by prof stays and hides the rise"
    )
    outcome = set_points(book, "ada", "numbers", None, "prof", "a slip")
    assert (outcome.old, outcome.new) == (Decimal("5.5"), 6)


def test_of_a_check_set_by_hand_no_lateness_is_taken(book):
    save(book, [result(points=(2, 1))], MONDAY + DAY, "me")
    set_points(book, "ada", "numbers", 3, "prof", "the check was unfair", check="c1")
    (grade,) = book.grades("ada")
    assert (str(grade.points), str(grade.before_late), grade.late_reason) == (
        "4.8",
        "5",
        "1 day late: -10 %",
    )  # 2 - 10 % + 3
    assert [str(grade.check_points(check)) for check in grade.result.checks] == ["2", "3"]
    save(book, [result(points=(3, 0), key="new")], MONDAY, "me")
    assert (
        points(book) == {"numbers": "6"}
        and list(book.history())[-1].text == "the override of check c1 to 3 by prof stays"
    )
    save(book, [result(points=(3,), key="newer")], MONDAY, "me")
    assert points(book) == {"numbers": "3"} and list(book.history())[-1].text == (
        "check c1, overridden to 3 by prof, is no longer there"
    )


def test_a_part_of_a_checks_name_is_enough(book):
    save(book, [result(points=(2, 1))], None, "me")
    set_points(book, "ada", "numbers", 3, "prof", "was unfair", check="1")
    (grade,) = book.grades("ada")
    assert list(grade.check_overrides) == ["c1"]
    set_points(book, "ada", "numbers", None, "prof", "was fair", check="1")
    assert points(book) == {"numbers": "3"}


@pytest.mark.parametrize(
    ("student", "lesson", "number", "more", "what", "remedy"),
    [
        ("adda", "numbers", 3, {}, "no learner 'adda'", "'ada'"),
        ("ada", "sums", 3, {}, "no grade in sums", "tito grade"),
        ("ada", "numbers", 7, {}, "7 points are not possible", "in this range"),
        ("ada", "numbers", -1, {}, "-1 points are not possible", "in this range"),
        ("ada", "numbers", 4, {"check": "c0"}, "c0 can earn between 0 and 3", "in this range"),
        ("ada", "numbers", 3, {"check": "c9"}, "no check 'c9'", "There are: c0, c1"),
        ("ada", "numbers", 3, {"check": "c"}, "2 checks with 'c'", "more of one: c0, c1"),
        ("ada", "numbers", 3, {"why": " "}, "needs an author and a reason", "--why"),
        ("ada", "numbers", 3, {"who": ""}, "needs an author and a reason", "--why"),
    ],
)
def test_an_override_that_cannot_be_meant_is_refused(
    book, student, lesson, number, more, what, remedy
):
    save(book, [result()], None, "me")
    with pytest.raises(TitoError) as error:
        set_points(book, student, lesson, number, **{"who": "me", "why": "because"} | more)
    assert what in error.value.what and remedy in error.value.remedy and error.value.code == 2
    assert points(book) == {"numbers": "3"} and len(list(book.history())) == 1


def test_comments_are_kept_by_lesson_and_in_general_and_can_be_taken_back(book):
    save(book, [result(), result(lesson="sums")], None, "me")
    for lesson, text in (("numbers", "one"), ("numbers", "two"), ("sums", "three"), (None, "four")):
        set_comment(book, "ada", lesson, text, "prof")
    ((learner, grades),) = book.by_learner("ada")
    assert [[comment.text for comment in grade.comments] for grade in grades] == [
        ["one", "two"],
        ["three"],
    ]
    assert [(comment.text, comment.who) for comment in learner.comments] == [("four", "prof")]
    set_comment(book, "ada", "numbers", None, "prof")
    assert [len(grade.comments) for grade in book.grades("ada")] == [0, 1]
    with pytest.raises(TitoError, match="empty"):
        set_comment(book, "ada", "sums", "  ", "prof")


def test_an_extension_counts_at_once_and_one_for_the_lesson_before_one_for_all(book):
    save(book, [result()], MONDAY + 3 * DAY, "me")
    assert points(book) == {"numbers": "2.1"}
    set_time(book, "ada", None, "prof", "ill", days=1)
    assert points(book) == {"numbers": "2.4"}
    set_time(book, "ada", "numbers", "prof", "very ill", until=MONDAY + 3 * DAY)
    (grade,) = book.grades("ada")
    assert (str(grade.points), grade.lateness.due) == ("3", MONDAY + 3 * DAY)
    set_time(book, "ada", "numbers", "prof", "it was another Ada")
    assert points(book) == {"numbers": "2.4"}
    set_time(book, "ada", None, "prof", "it was another Ada")
    assert points(book) == {"numbers": "2.1"}
    assert [(change.kind, change.lesson, change.why) for change in book.history("ada", "numbers")][
        1:3
    ] == [("extension", None, "ill"), ("extension", "numbers", "very ill")]


def doubts(book):
    return {(one.student, one.check): one.doubt for one in book.reviews()}


def test_an_override_above_a_lowered_maximum_counts_as_the_maximum_and_is_doubted(book):
    save(book, [result(points=(3, 3, 0))], MONDAY, "me")  # of 9
    set_points(book, "ada", "numbers", 8, "bob", "shown in the lab")
    assert doubts(book) == {("ada", None): ""}
    save(book, [result(points=(3, 3), key="new")], MONDAY, "me")  # of 6
    (grade,) = book.grades("ada")
    assert (grade.points, grade.max_points, grade.override.points) == (6, 6, 6)
    assert doubts(book) == {("ada", None): "above the maximum of 6: it counts as 6"}


def test_an_override_of_a_check_never_counts_more_than_the_check(book):
    save(book, [result(points=(3, 0))], MONDAY, "me")
    set_points(book, "ada", "numbers", 3, "bob", "unfair", check="c1")
    cheaper = result(points=(3, 0), key="new")
    cheaper.checks[1].max_points, cheaper.max_points = 1, 4
    save(book, [cheaper], MONDAY, "me")
    (grade,) = book.grades("ada")
    assert (grade.points, grade.max_points) == (4, 4)
    assert doubts(book) == {("ada", "c1"): "above the maximum of 1: it counts as 1"}


def test_an_override_that_a_mended_check_has_overtaken_is_doubted_and_one_that_was_meant_is_not(
    book,
):
    for student in ("ada", "eve"):
        save(book, [result(student)], MONDAY, "me")  # 3
    set_points(book, "ada", "numbers", 4, "bob", "half right")
    set_points(book, "eve", "numbers", 0, "bob", "copied")
    assert set(doubts(book).values()) == {""}
    save(book, [result(points=(3, 3), key="new")], MONDAY, "me")
    assert doubts(book) == {("ada", None): "below the 6 that are earned now", ("eve", None): ""}
    save(book, [result("eve", points=(3, 3), key="new")], MONDAY, "me")
    assert doubts(book)["eve", None] == "below the 6 that are earned now"


def test_an_override_of_a_check_that_is_gone_is_doubted(book):
    save(book, [result(points=(3, 0))], MONDAY, "me")
    set_points(book, "ada", "numbers", 2, "bob", "unfair", check="c1")
    save(book, [result(points=(3,), key="new")], MONDAY, "me")
    assert doubts(book) == {("ada", "c1"): "there is no check c1 any more: it counts nothing"}
    assert points(book) == {"numbers": "3"}


def test_the_history_has_who_changed_an_override_and_whose_override_hid_a_rise(book):
    save(book, [result()], MONDAY, "me")
    set_points(book, "ada", "numbers", 4, "bob", "half right")
    set_points(book, "ada", "numbers", 5, "carol", "more than half")
    save(book, [result(points=(3, 3), key="new")], MONDAY, "me")
    *_, second, graded = book.history()
    assert (second.who, second.text) == ("carol", "instead of 4 by bob")
    assert (graded.old_points, graded.new_points, graded.changes_points) == (5, 5, True)
    assert graded.text.endswith("the override to 5 by carol stays and hides the rise")


def test_what_holds_already_is_left_as_it_is_and_an_override_in_doubt_is_set_anew(book):
    save(book, [result()], MONDAY, "me")
    assert not set_points(book, "ada", "numbers", None).is_new, "there is nothing to lift"
    assert set_points(book, "ada", "numbers", 4).is_new
    assert not set_points(book, "ada", "numbers", 4, "ta2", "asked, too").is_new
    save(book, [result(points=(3, 3), key="new")], MONDAY, "me")
    assert [one.doubt for one in book.reviews()] == ["below the 6 that are earned now"]
    assert set_points(book, "ada", "numbers", 4).is_new
    assert [one.doubt for one in book.reviews()] == [""]


def test_a_grader_who_has_not_seen_the_last_change_sees_it_and_changes_nothing(book):
    save(book, [result()], None, "me")
    seen = book.last_change("ada", "numbers")
    set_points(book, "ada", "numbers", "4", "ta1", "asked", seen=seen)
    set_comment(book, "ada", None, "in general", "ta1")
    for write in (
        lambda: set_points(book, "ada", "numbers", "5", "ta2", "asked too", seen=seen),
        lambda: set_comment(book, "ada", "numbers", "Well done.", "ta2", seen=seen),
    ):
        with pytest.raises(ChangedMeanwhile, match="ta1 changed this grade") as error:
            write()
        assert [(c.kind, c.who) for c in error.value.changes] == [
            ("override", "ta1"),
            ("comment", "ta1"),
        ]
    assert points(book) == {"numbers": "4"}
    set_points(
        book, "ada", "numbers", "5", "ta2", "asked too", seen=book.last_change("ada", "numbers")
    )
    assert points(book) == {"numbers": "5"}


def test_what_happens_to_another_lesson_or_learner_is_no_change_of_this_grade(book):
    save(book, [result(), result(lesson="sums")], None, "me")
    seen = book.last_change("ada", "numbers")
    save(book, [result("bob")], None, "me")
    set_comment(book, "ada", "sums", "Well done.", "ta1")
    set_points(book, "ada", "numbers", "5", "ta2", "asked", seen=seen)
    assert points(book)["numbers"] == "5"


def test_one_of_several_comments_can_be_taken_back(book):
    save(book, [result()], None, "me")
    for text, who in (("one", "ta1"), ("two", "ta2"), ("three", "ta2")):
        set_comment(book, "ada", "numbers", text, who)
    (grade,) = book.grades("ada")
    take_back_comment(book, "ada", "numbers", grade.comments[0], "ta1")
    (grade,) = book.grades("ada")
    assert [(c.text, c.who) for c in grade.comments] == [("two", "ta2"), ("three", "ta2")]
    set_comment(book, "ada", "numbers", None, "ta1")
    (grade,) = book.grades("ada")
    assert grade.comments == []


def test_comments_are_counted_by_the_learners_for_whom_they_stand(book):
    for student in ("ada", "bob", "eve"):
        save(book, [result(student)], None, "me")
        set_comment(book, student, "numbers", "often", "ta1")
        set_comment(book, student, "numbers", "often", "ta2")
    set_comment(book, "eve", "numbers", "once", "ta1")
    set_comment(book, "bob", "sums", "elsewhere", "ta1")
    everybody = {"ada", "bob", "eve"}
    assert used_comments(book, "numbers", everybody) == [("often", 3), ("once", 1)]
    assert used_comments(book, "numbers", {"ada"}) == [("often", 1)]
    set_comment(book, "ada", "numbers", None, "ta1")
    assert used_comments(book, "numbers", everybody) == [("often", 2), ("once", 1)]
