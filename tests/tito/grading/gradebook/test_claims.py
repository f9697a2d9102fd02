"""Who looks at which submission: nobody is given what somebody else has."""

import threading

import pytest
from some_results import result

from tito.errors import TitoError
from tito.grading.gradebook import claims, enrollment, overrides
from tito.grading.gradebook.claims import Claim, Place, Taken
from tito.grading.gradebook.gradebook import open_gradebook

PLACES = [Place(f"s{n}", "numbers", "a" * 64) for n in range(4)]


@pytest.fixture
def book(book):
    for place in PLACES:
        book.save([result(place.student)], None, "me")
    return book


def held(book):
    return {student: claim.who for (student, _), claim in claims.claims(book).items()}


def test_two_graders_are_given_different_submissions(book):
    given = [claims.take_next(book, PLACES, who).student for who in ("ta1", "ta2", "ta1", "ta2")]
    assert given == ["s0", "s1", "s0", "s1"], "who has not finished goes on with the same"
    claims.finish(book, PLACES[0], "ta1")
    assert claims.take_next(book, PLACES, "ta1").student == "s2"
    assert held(book) == {"s0": "ta1", "s1": "ta2", "s2": "ta1"}


def test_when_all_are_done_or_somebody_elses_nothing_is_next(book):
    assert claims.take_all(book, PLACES, "ta1") == 4 and claims.take_all(book, PLACES, "ta2") == 0
    assert claims.take_next(book, PLACES, "ta2") is None
    for place in PLACES:
        claims.finish(book, place, "ta1")
    assert claims.take_next(book, PLACES, "ta1") is None


def test_what_was_looked_at_is_to_be_looked_at_again_once_another_file_counts(book):
    claims.take_all(book, PLACES, "ta1")
    for place in PLACES:
        claims.finish(book, place, "ta1")
    new = PLACES[2]._replace(sha256="b" * 64)
    claim = claims.claims(book, "numbers")["s2", "numbers"]
    assert claims.state(claim, PLACES[2].sha256) == claims.DONE
    assert claims.state(claim, new.sha256) == claims.AGAIN
    assert claims.take_next(book, [*PLACES[:2], new], "ta2") == new


def test_somebody_elses_submission_is_taken_over_only_when_one_says_whose(book):
    first = claims.take(book, "s0", "numbers", "ta1")
    assert isinstance(first, Claim) and first.at.tzinfo
    for work in (
        lambda: claims.take(book, "s0", "numbers", "ta2"),
        lambda: claims.take(book, "s0", "numbers", "ta2", instead_of="ta3"),
        lambda: claims.give_back(book, "s0", "numbers", "ta2"),
        lambda: claims.finish(book, PLACES[0], "ta2"),
    ):
        with pytest.raises(Taken, match="ta1 has this submission since"):
            work()
    claims.take(book, "s0", "numbers", "ta2", instead_of="ta1")
    assert held(book) == {"s0": "ta2"}
    claims.give_back(book, "s0", "numbers", "ta2")
    assert held(book) == {}
    with pytest.raises(TitoError, match="no learner"):
        claims.take(book, "nobody", "numbers", "ta1")


def test_whoever_finished_first_stays_the_one_who_did(book):
    claims.finish(book, PLACES[0], "ta1")
    claims.finish(book, PLACES[0], "ta2")
    assert held(book) == {"s0": "ta1"}


def about_claims(book):
    """What the history says of who had looked at s0's submission: (kind, who, words)."""
    kinds = ("taken", "looked at")
    return [(one.kind, one.who, one.text) for one in book.history("s0") if one.kind in kinds]


def test_who_had_looked_at_a_submission_before_another_took_it_stays_in_the_history(book):
    claims.finish(book, PLACES[0], "ta1")
    claims.take(book, "s0", "numbers", "ta1")  # once more
    claims.finish(book, PLACES[0], "ta1")
    assert about_claims(book) == []
    claims.take(book, "s0", "numbers", "ta2")
    ((kind, who, words),) = about_claims(book)
    assert (kind, who) == ("taken", "ta2"), "ta2 has not looked at it yet"
    assert words.startswith("ta1 had looked at it, 20")
    claims.finish(book, PLACES[0], "ta2")
    assert len(about_claims(book)) == 1
    claims.finish(book, PLACES[0]._replace(sha256="b" * 64), "ta3")  # another file counts
    assert about_claims(book)[1][:2] == ("looked at", "ta3")


def test_who_writes_about_a_grade_is_not_stopped_by_another_who_took_the_submission(book):
    claims.finish(book, PLACES[0], "ta1")
    seen = book.last_change("s0", "numbers")
    claims.take(book, "s0", "numbers", "ta2")
    overrides.comment(book, "s0", "numbers", "Well done.", "ta1", seen)
    (grade,) = book.rows("s0", "numbers")
    assert [one.text for one in grade.comments] == ["Well done."]


def test_graders_who_ask_at_once_are_given_each_submission_once(tmp_path):
    places = [Place(f"s{n:02}", "numbers", "") for n in range(24)]
    given, start = [], threading.Barrier(3)

    def grade(who):
        with open_gradebook(tmp_path / "many.db") as own:
            start.wait()
            while place := claims.take_next(own, places, who):
                given.append(place.student)
                claims.finish(own, place, who)

    with open_gradebook(tmp_path / "many.db") as own:
        for place in places:
            own.save([result(place.student)], None, "me")
    graders = [threading.Thread(target=grade, args=(f"ta{n}",)) for n in range(3)]
    for one in graders:
        one.start()
    for one in graders:
        one.join()
    assert sorted(given) == [place.student for place in places]


def test_of_two_ids_that_are_merged_one_claim_stays(book):
    claims.take(book, "s0", "numbers", "ta1")
    claims.take(book, "s1", "numbers", "ta2")
    claims.take(book, "s2", "numbers", "ta3")
    enrollment.merge(book, "s0", "s1", "me", "two logins")
    enrollment.merge(book, "s2", "s3", "me", "two logins")
    assert held(book) == {"s1": "ta2", "s3": "ta3"}
