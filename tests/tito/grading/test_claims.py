"""Who has whom: claims of graders, in the gradebook."""

import pytest
from commands import tito
from some_results import result

from tito.errors import TitoError
from tito.grading import claims, enrollment
from tito.grading.gradebook import open_gradebook
from tito.grading.roster import learner_of


@pytest.fixture
def sections(book):
    """ada and bob are in section A, eve in B."""
    book.remember_roster(
        [
            learner_of(student, {"student": student, "section": section})
            for student, section in (("ada", "A"), ("bob", "A"), ("eve", "B"))
        ]
    )
    return book


def test_the_narrowest_claim_counts(sections):
    claims.claim(sections, "prof")
    claims.claim(sections, "ta1", ["A"])
    claims.claim(sections, "ta2", students=["bob"])
    claims.claim(sections, "ta3", students=["bob"], lesson="sums")
    found = claims.read(sections)
    a, b = {"section": "A"}, {"section": "B"}
    assert claims.holder(found, "ada", a, "sums") == "ta1"
    assert claims.holder(found, "bob", a, "numbers") == "ta2"
    assert claims.holder(found, "bob", a, "sums") == "ta3"
    assert claims.holder(found, "eve", b, "sums") == "prof"
    assert claims.holder(found[1:], "eve", b, "sums") == ""


def test_what_another_grader_has_is_refused_whole_unless_it_is_taken_over(sections):
    claims.claim(sections, "ta1", ["A"])
    with pytest.raises(TitoError, match="ta1 has section A since"):
        claims.claim(sections, "ta2", ["B", "A"])
    assert [str(one) for one in claims.read(sections)] == ["section A"]
    taken = claims.claim(sections, "ta2", ["B", "A"], take=True)
    assert [(one.who, one.section) for one in taken] == [("ta2", "A"), ("ta2", "B")]
    assert claims.claim(sections, "ta2", ["A"]) == []
    assert claims.lift(sections, "ta1") == []
    assert [one.section for one in claims.lift(sections, "ta2", ["B"])] == ["B"]
    assert [one.section for one in claims.lift(sections, "ta2")] == ["A"]
    with pytest.raises(TitoError, match="Nobody is in section 'C'"):
        claims.claim(sections, "ta1", ["C"])
    with pytest.raises(TitoError, match="no learner 'nobody'"):
        claims.claim(sections, "ta1", students=["nobody"])


def test_the_claim_of_an_id_that_is_merged_goes_with_it(sections):
    claims.claim(sections, "ta1", students=["ada", "bob"])
    enrollment.merge(sections, "bob", "ada", "prof", "twice")
    assert [str(one) for one in claims.read(sections)] == ["ada"]


def test_the_command_claims_shows_and_gives_back(small_course):
    with open_gradebook(small_course.path / ".tito" / "gradebook.db") as book:
        book.save([result()], None, "me")

    def claim(*words):
        return tito(small_course, "gradebook", "claim", *words)[0]

    assert claim() == "No grader has claimed anything.\n"
    assert claim("--student", "ada", "--lesson", "1", "--who", "ta1") == "ta1 has ada in numbers.\n"
    assert "ta1     ada in numbers  20" in claim()
    assert '"who": "ta1"' in claim("--json")
    assert claim("--lift", "--who", "ta1") == "ta1 no longer has ada in numbers.\n"
    assert claim("--lift", "--who", "ta1") == "ta1 had none of that.\n"
