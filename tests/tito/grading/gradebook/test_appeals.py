"""What learners ask about their grades: kept with who wrote what when, and answered once."""

import pytest
from some_results import result

from tito.errors import TitoError
from tito.grading.gradebook import appeals, enrollment
from tito.grading.gradebook.appeals import Answered


@pytest.fixture
def book(book):
    book.save([result()], None, "me", "Ada L.")
    book.save([result("bob")], None, "me")
    return book


def test_an_appeal_is_kept_with_who_asked_and_who_answered(book):
    number = appeals.ask(book, "ada", "numbers", " Why 3?\n", "ta1")
    (one,) = appeals.appeals(book, state="open")
    assert (one.id, one.student, one.lesson, one.asked) == (number, "ada", "numbers", "Why 3?")
    assert (one.entered_by, one.state, one.answer) == ("ta1", "open", None) and one.at.tzinfo
    appeals.answer(book, number, "granted", "The check was wrong.", "ta2")
    (one,) = appeals.appeals(book, "ada", "numbers")
    assert (one.state, one.answer, one.answered_by) == ("granted", "The check was wrong.", "ta2")
    assert one.answered_at >= one.at and appeals.appeals(book, state="open") == []


def test_the_same_question_is_open_once(book):
    first = appeals.ask(book, "ada", "numbers", "Why?", "ta1")
    assert appeals.ask(book, "ada", "numbers", "Why?", "ta2") == first
    assert appeals.ask(book, "bob", "numbers", "Why?", "ta2") != first
    appeals.answer(book, first, "declined", "So it is.", "ta1")
    assert appeals.ask(book, "ada", "numbers", "Why?", "ta2") != first


def test_who_answers_second_is_told_what_the_first_said(book):
    number = appeals.ask(book, "ada", "numbers", "Why?", "ta1")
    appeals.answer(book, number, "granted", "Yes.", "ta1")
    appeals.answer(book, number, "granted", "Yes.", "ta1")  # the same form, sent twice
    with pytest.raises(Answered, match="ta1 answered this appeal already: granted") as error:
        appeals.answer(book, number, "declined", "No.", "ta2")
    assert error.value.appeal.answer == "Yes."
    assert [one.state for one in appeals.appeals(book)] == ["granted"]


@pytest.mark.parametrize(
    ("work", "what"),
    [
        (lambda book: appeals.ask(book, "ada", "numbers", " ", "ta1"), "what the learner asks"),
        (lambda book: appeals.ask(book, "ada", "numbers", "x" * 5000, "ta1"), "5,000 characters"),
        (lambda book: appeals.ask(book, "eve", "numbers", "Why?", "ta1"), "no learner 'eve'"),
        (lambda book: appeals.answer(book, 7, "granted", "Yes.", "ta1"), "no appeal 7"),
        (lambda book: appeals.answer(book, 7, "open", "Yes.", "ta1"), "'open' is no answer"),
        (lambda book: appeals.answer(book, 7, "granted", "", "ta1"), "the answer is missing"),
    ],
)
def test_what_cannot_be_kept_is_refused(book, work, what):
    with pytest.raises(TitoError, match=what):
        work(book)
    assert appeals.appeals(book) == []


def test_appeals_go_with_a_merged_learner(book):
    appeals.ask(book, "ada", "numbers", "Why?", "ta1")
    enrollment.merge(book, "ada", "bob", "me", "two logins")
    assert [one.student for one in appeals.appeals(book)] == ["bob"]
