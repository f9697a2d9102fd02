"""What each grader may do, asked with the request itself, and when an address ends."""

import pytest
from grader_page import Tags, page_of
from some_results import handed_in, remember_roster, save_each, set_comment, set_points

pytest.importorskip("starlette", reason="Starlette is not here: it is in the extra `instructor`")
from tito.grading.page import access, app
from tito.grading.roster import learner_of
from tito.lesson.lesson_format import Question

WHY = "/question/numbers/why"
SECTIONS = {"ada": "A", "bob": "B", "eve": "B, C", "zoe": ""}


@pytest.fixture
def page(book):
    """A class with sections, an instructor, and an assistant of section B; an answer of section A
    is judged.
    """
    save_each(
        book,
        *(
            handed_in(student, text=f"{len(student + section)} and {section}")
            for student, section in SECTIONS.items()
        ),
    )
    for student, section in SECTIONS.items():
        columns = {"student": student, "section": section}
        remember_roster(book, [learner_of(student, columns)])
        set_comment(book, student, "numbers", f"Only for {student}.", "ta0")
    set_points(book, "ada", "numbers", "2", "prof", "talked", "c0")
    set_points(book, "ada", "numbers", "1", "prof", "judged", "why")
    asked = {("numbers", "why"): Question("why", 2, "Why?", None)}
    graders = [("prof", None), ("ben", ["b"])]
    return page_of(book, asked, graders)


def seen_by(grader, path):
    """The learners of the class whose ids a page shows."""
    words = Tags(grader.get(path).text).spaced.casefold().split()
    return {student for student in SECTIONS if student in words}


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/", "/lesson/numbers", WHY])
@pytest.mark.parametrize("section", ["", "A", "b", "A, B"])
def test_an_assistant_sees_only_learners_of_their_sections(page, path, section):
    assert seen_by(page.ben, f"{path}?section={section}") == {"bob", "eve"}
    assert "<option>A</option>" not in page.ben.get(path).text


@pytest.mark.parametrize("section", ["", "A", "b"])
def test_an_assistant_reads_the_numbers_of_their_sections(page, section):
    assert "0 of 2 judged" in Tags(page.ben.get(f"/questions?section={section}").text).spaced
    assert "1 of 4 judged" in Tags(page.prof.get("/questions").text).spaced
    assert "2 learners" in page.ben.get(f"/?section={section}").text


def test_no_page_of_another_section_opens_for_an_assistant(page):
    for student, status in (("ada", 404), ("zoe", 404), ("bob", 200), ("eve", 200)):
        here = f"/of/{page.of[student]}/numbers"
        for path in (here, f"{here}/file", f"{here}?section=A", f"{WHY}/{page.of[student]}"):
            assert page.ben.get(path).status_code == status, path
            assert page.prof.get(path).status_code == 200
    text = page.ben.get(f"/of/{page.of['bob']}/numbers").text
    assert "Only for eve." in text and "Only for ada." not in text, "comments to repeat"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "form"),
    [
        ("judge", {"points": "5", "why": "x", "check": ""}),
        ("judge", {"points": "1", "why": "x", "check": "c1"}),
        ("lift", {"why": "x", "check": "c0"}),
        ("judge", {"text": "Well done."}),
        ("uncomment", {"comment": "{comment}"}),
        ("judge", {"points": "2", "why": "judged", "answer": "{answer}"}),
        ("judge", {"lift": "on", "why": "judged", "answer": "{answer}"}),
    ],
)
def test_an_assistant_changes_no_grade_of_another_section(page, action, form):
    def send(grader, student):
        grades = list(page.book.grades(student, "numbers"))
        values = {
            "comment": app.comment_key(grades[0].comments[0]),
            "answer": grades[0].answers[0].answer.sha256,
        }
        here = f"/of/{page.of[student]}/numbers"
        seen = page.book.last_change(student, "numbers")
        if "answer" in form:
            here = f"{WHY}/{page.of[student]}"
        filled = {name: text.format(**values) for name, text in form.items()}
        status = grader.post(f"{here}/{action}", seen=str(seen), section="A", **filled).status_code
        return status, list(page.book.grades(student, "numbers")) != grades

    assert send(page.ben, "ada") == send(page.ben, "zoe") == (404, False)
    assert send(page.prof, "ada") == (303, True), "the same form changes it"
    if action not in ("lift", "uncomment") and "lift" not in form:
        assert send(page.ben, "bob") == (303, True)


def test_an_assistant_judges_equal_answers_of_their_sections_only(page):
    for student in SECTIONS:
        save_each(page.book, handed_in(student, key="new", text="The same."))
    here = f"{WHY}/{page.of['bob']}"
    assert "2 learners wrote this answer" in page.ben.get(here).text
    sha256 = next(page.book.grades("bob", "numbers")).answers[0].answer.sha256
    form = {"answer": sha256, "seen": str(page.book.last_change()), "why": "judged", "points": "1"}
    done = page.ben.post(f"{here}/judge", **form)
    assert done.status_code == 303
    states = {one: next(page.book.grades(one, "numbers")).answers[0].state for one in SECTIONS}
    assert [one for one in SECTIONS if states[one] == "judged"] == ["bob", "eve"]


def test_next_leads_an_assistant_to_their_sections_only(page):
    for path, form in (("/next", {"lesson": "numbers"}), ("/next", {}), (f"{WHY}/next", {})):
        for _ in range(4):
            to = page.ben.post(path, section="A", **form).headers["location"]
            page.client.get(to)
            assert not any(page.of[student] in to for student in ("ada", "zoe"))


def test_a_learner_who_changes_sections_changes_graders(page):
    remember_roster(page.book, [learner_of("bob", {"student": "bob", "section": "A"})])
    assert page.ben.get(f"/of/{page.of['bob']}/numbers").status_code == 404
    assert seen_by(page.ben, "/lesson/numbers") == {"eve"}


def test_a_session_ends_by_its_button(page):
    assert page.ben.post("/end", csrf="x").status_code == 403
    assert "The session of ben has ended" in page.ben.post("/end").text
    assert page.ben.get("/").status_code == page.ben.post("/end").status_code == 403
    assert page.prof.get("/").status_code == 200


def test_an_address_that_nobody_uses_ends(page, monkeypatch):
    now = access.time.time()
    for later, status in ((0.9, 200), (1.8, 200), (2.9, 403), (2.9, 403)):
        moment = now + later * access.IDLE_SECONDS
        monkeypatch.setattr(access.time, "time", lambda moment=moment: moment)
        assert page.ben.get("/").status_code == status


@pytest.mark.parametrize("who", ["prof", "ben"])
def test_a_form_for_what_is_not_there_is_refused_and_writes_nothing(page, who):
    grader, before = getattr(page, who), page.book.last_change()
    forms = {
        "/question/numbers/noquestion/next": {},
        f"/question/nolesson/why/{page.of['bob']}/judge": {"points": "1", "answer": "x"},
        f"/of/{page.of['bob']}/nolesson/judge": {"points": "1", "why": "x", "seen": "9"},
        f"/of/{page.of['bob']}/numbers/nothing": {"points": "1", "why": "x", "seen": "9"},
        "/of/nobody/numbers/judge": {"points": "1", "why": "x", "seen": "9"},
        "/next": {"lesson": "nolesson"},
        "/nothing": {},
    }
    for path, form in forms.items():
        assert grader.post(path, **form).status_code == 404, path
    assert page.book.last_change() == before
