"""The page that shows how a class did: numbers and pictures, and nothing that a browser runs."""

import pytest
from grader_page import EVIL, Client, Grader, Tags
from some_results import DAY, MONDAY, result

pytest.importorskip("starlette", reason="Starlette is not here: it is in the extra `instructor`")
from tito.grading.page import access, app
from tito.grading.page.trials import Trials
from tito.grading.roster import learner_of


@pytest.fixture
def grader(book, tmp_path):
    """ada and bob are in section A, eve in B; ada's work came a day later."""
    for number, (student, section) in enumerate((("ada", "A"), ("bob", "A"), ("eve", "B"))):
        book.remember_roster([learner_of(student, {"student": student, "section": section})])
        one = result(student, points=(3, 3 * number, 0), sha256=student, key=student)
        one.points = min(one.points, 9)
        for check in one.checks:
            check.exercise = check.message = EVIL
        one.title = EVIL
        book.save([one], MONDAY + (DAY if student == "ada" else 0 * DAY), "me")
    sessions = access.Sessions()
    made = app.Page(book, "Small", sessions, Trials(tmp_path, "x", None))
    return Grader(Client(made.app()), sessions.new("ta1"))


def test_a_lesson_has_its_shares_and_pictures_escaped(grader):
    page = grader.get("/items/numbers")
    assert page.status_code == 200 and page.text.count("<svg") == 2
    assert "3 learners whose work ran" in page.text and "100%" in page.text
    assert "hint" not in page.text.lower(), "nobody told of any"
    assert "<script>alert" not in page.text and "<img" not in page.text
    assert not [tag for tag in Tags(page.text).tags if "style" in tag[1:] or tag[0] == "style"]
    page = grader.get("/items/numbers?section=B")
    assert "1 learner whose work ran" in page.text and page.text.count("<svg") == 1
    assert "01" in grader.get("/items").text and "<option>B</option>" in grader.get("/items").text
    assert "<option selected>B</option>" in page.text


def test_what_is_not_graded_is_told(grader):
    assert grader.get("/items/nothing").status_code == 404
    assert grader.get("/items/numbers?section=C").status_code == 409
