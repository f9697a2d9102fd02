"""The pages of free answers, asked without a browser."""

import re
from decimal import Decimal

import pytest
from grader_page import EVIL, Tags, page_of
from some_results import handed_in, remember_roster, save, save_each, set_points

pytest.importorskip("starlette", reason="Starlette is not here: it is in the extra `instructor`")
from tito.grading.gradebook import answers, merging
from tito.grading.page import questions
from tito.grading.roster import learner_of
from tito.lesson.lesson_format import Question

WHY = "/question/numbers/why"


@pytest.fixture
def page(book):
    """Three answers, one of them empty, one with markup, and a rubric of two items."""
    save_each(book, handed_in(), handed_in("bob", text=EVIL), handed_in("eve", text=""))
    rubric = ((Decimal(2), EVIL), (Decimal(-1), "mixes it up"))
    asked = {("numbers", "why"): Question("why", 2, f"Why? {EVIL}", None, f"Since {EVIL}", rubric)}
    page = page_of(book, asked=asked)
    page.of = {student: f"{WHY}/{handle}" for student, handle in page.of.items()}
    return page


def hidden(response, action):
    """The hidden fields of the first form whose address ends so; `Grader.post` adds its own
    token."""
    inner = re.search(rf'<form[^>]*/{action}"[^>]*>(.*?)</form>', response.text, re.S)[1]
    found = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', inner))
    return {name: text for name, text in found.items() if name != "csrf"}


def points_of(page, student="ada"):
    (grade,) = page.book.grades(student, "numbers")
    return str(grade.points)


def test_answers_are_listed_counted_and_need_a_person(page):
    assert "0 of 2 judged" in Tags(page.ta1.get("/questions").text).spaced
    listed = Tags(page.ta1.get(WHY).text).spaced
    assert "to be judged" in listed and "empty" in listed
    assert "an answer to be judged" in page.ta1.get("/").text
    assert "there is nothing to judge" in page.ta1.get(page.of["eve"]).text


def test_the_answers_of_one_section_can_be_chosen(page):
    assert 'name="section"' not in page.ta1.get(WHY).text, "there is none"
    for student, section in (("ada", "A"), ("bob", "B")):
        remember_roster(page.book, [learner_of(student, {"student": student, "section": section})])
    assert "<option>A</option>" in page.ta1.get("/questions").text
    chosen = page.ta1.get(f"{WHY}?section=B")
    assert "<option selected>B</option>" in chosen.text and page.of["ada"] not in chosen.text
    assert "0 of 1 judged" in Tags(chosen.text).spaced


def test_points_and_a_comment_lead_to_the_next_answer(page):
    shown = page.ta1.get(page.of["ada"])
    form = hidden(shown, "judge") | {"points": "1,5", "text": "Good."}
    answer = page.ta1.post(page.of["ada"] + "/judge", then="next", **form)
    assert answer.status_code == 303 and answer.headers["location"].endswith(page.of["bob"])
    assert points_of(page) == "4.5"
    again = page.ta1.get(page.of["ada"]).text
    assert re.search(r'name="points"[^>]* value="1.5"', again) and "judged by" in again
    assert ">Good.</blockquote>" in again and "></textarea>" in again
    assert "1 of 2 judged" in Tags(again).spaced
    done = page.ta1.post(page.of["ada"] + "/judge", **form)  # the same form once more
    kinds = [one.kind for one in page.book.history("ada")]
    assert done.status_code == 303 and kinds == ["graded", "override", "comment"]
    form = hidden(page.ta1.get(page.of["ada"]), "judge")
    page.ta1.post(page.of["ada"] + "/judge", lift="on", **form)
    assert points_of(page) == "3"


def test_of_two_graders_who_judge_the_second_sees_the_judgement_and_keeps_the_typed_text(page):
    form = hidden(page.ta2.get(page.of["ada"]), "judge")
    page.ta1.post(page.of["ada"] + "/judge", **form, points="0", text="No.")
    refused = page.ta2.post(page.of["ada"] + "/judge", **form, points="2", text="Yes.")
    assert refused.status_code == 409 and "ta1 changed this grade" in refused.text
    assert ": override 3 -&gt; 3: judged; why set to 0" in refused.text and "No." in refused.text
    assert re.search(r'name="points"[^>]* value="2"', refused.text) and ">Yes.<" in refused.text
    assert points_of(page) == "3"
    page.ta2.post(page.of["ada"] + "/judge", **hidden(refused, "judge"), points="2")
    assert points_of(page) == "5"


def test_an_answer_that_is_gone_meanwhile_is_reported(page, monkeypatch):
    form = hidden(page.ta1.get(page.of["ada"]), "judge")
    apply = questions.apply_changes

    def late(*arguments, **more):
        merging.merge(page.book, "ada", "zoe", "ta2", "two logins")
        return apply(*arguments, **more)

    save(page.book, [handed_in("zoe")], None, "me")
    monkeypatch.setattr(questions, "apply_changes", late)
    refused = page.ta1.post(page.of["ada"] + "/judge", **form, points="1")
    assert refused.status_code == 404 and "no such answer" in refused.text


def test_a_judgement_without_points_asks_for_them(page):
    form = hidden(page.ta1.get(page.of["ada"]), "judge") | {"text": "Hm.", "then": "next"}
    refused = page.ta1.post(page.of["ada"] + "/judge", **form)
    assert refused.status_code == 409 and "There are no points." in refused.text
    assert ">Hm.</textarea>" in refused.text and "0 of 2 judged" in Tags(refused.text).spaced
    assert page.ta1.post(page.of["ada"] + "/judge", points="0", **form).status_code == 303
    assert re.search(r'name="points"[^>]* value="0"', page.ta1.get(page.of["ada"]).text)


def test_markup_in_answers_items_and_comments_is_text(page):
    form = hidden(page.ta1.get(page.of["bob"]), "judge")
    page.ta1.post(page.of["bob"] + "/judge", **form, points="0", text=EVIL)
    for path in ("/questions", WHY, page.of["bob"], page.of["ada"]):
        text = page.ta1.get(path).text
        tags = Tags(text)
        assert [tag for tag in tags.tags if tag[0] in ("script", "img")] == [
            ("script", "defer", "src")
        ]
        assert EVIL in tags.words or path in ("/questions", WHY)
        assert "style=" not in text


def test_names_are_hidden_and_what_is_not_there_is_reported(page):
    page.ta1.post("/anonymous")
    for path in (WHY, page.of["ada"]):
        assert "Ada" not in Tags(page.ta1.get(path).text).words  # a random address may hold it
    for path in ("/question/numbers/x", f"{WHY}/0", "/question/x/why"):
        assert page.ta1.get(path).status_code == 404
    form = hidden(page.ta1.get(page.of["ada"]), "judge")
    assert page.ta1.post(page.of["ada"] + "/judge", **form | {"seen": "x"}).status_code == 409
    wrong = page.ta1.post(page.of["ada"] + "/judge", **form | {"csrf": "x"})
    assert wrong.status_code == 403 and points_of(page) == "3"


def test_next_leads_two_graders_to_different_answers_while_there_are_some(page):
    first = page.ta1.post(f"{WHY}/next").headers["location"]
    assert first.endswith(page.of["ada"])
    assert page.ta2.post(f"{WHY}/next").headers["location"].endswith(page.of["bob"])
    form = hidden(page.ta2.get(page.of["bob"]), "judge")
    page.ta2.post(page.of["bob"] + "/judge", **form, points="2")
    left = page.ta2.post(f"{WHY}/next").headers["location"]
    assert left.endswith(page.of["ada"]), "ta1 may have gone home"
    form = hidden(page.ta2.get(page.of["ada"]), "judge")
    page.ta2.post(page.of["ada"] + "/judge", **form, points="2")
    page.ta2.post(f"{WHY}/next")
    assert "All answers here are judged" in page.ta2.get(WHY).text


def test_equal_answers_are_judged_once_and_each_learner_has_the_judgement(page):
    for student, text in (("kim", "Sums to one. \n\n"), ("lou", "Sums to one."), ("mia", "Sums.")):
        save(page.book, [handed_in(student, text=text)], None, "me", student.title())
    kim = f"{WHY}/{page.page.class_list.handle('kim')}"
    assert "Ada and 2 with the same answer" in Tags(page.ta1.get(WHY).text).spaced
    shown = page.ta1.get(kim)
    assert "3 learners wrote this answer : you judge it once" in Tags(shown.text).spaced
    assert "this is 1 of 4" in shown.text
    other = hidden(page.ta2.get(page.of["ada"]), "judge")
    form = hidden(shown, "judge") | {"points": "2", "text": "Right.", "then": "next"}
    done = page.ta1.post(kim + "/judge", **form)
    assert done.headers["location"].endswith(page.of["bob"])
    assert "Kim and 2 with the same answer: 2 of 2 points." in page.ta1.get(page.of["bob"]).text
    assert [points_of(page, one) for one in ("ada", "kim", "lou", "mia")] == ["5", "5", "5", "3"]
    comments = [grade.comments for grade in page.book.grades(lesson="numbers")]
    assert [[one.text for one in mine] for mine in comments].count(["Right."]) == 3
    told = page.ta2.post(page.of["ada"] + "/judge", **other, points="0")
    assert told.status_code == 409 and "ta1 changed this grade" in told.text
    assert points_of(page, "kim") == "5", "all or none"
    page.ta1.post(kim + "/judge", **hidden(page.ta1.get(kim), "judge"), lift="on")
    assert [points_of(page, one) for one in ("ada", "kim", "lou")] == ["3"] * 3


@pytest.mark.parametrize(
    ("text", "is_equal"),
    [
        ("for x in y:\r\n    a(x)  \n\n    b(x)\n", True),
        ("\nfor x in y:\n    a(x)\n    b(x)", True),
        ("for x in y:\n    a(x)\nb(x)", False),
        ("for x in y:\n    a(x); b(x)", False),
    ],
)
def test_equal_answers_differ_in_ends_of_lines_but_not_in_indentation(page, text, is_equal):
    for student, words in (("kim", "for x in y:\n    a(x)\n    b(x)"), ("lou", text)):
        save(page.book, [handed_in(student, text=words)], None, "me")
    rows = answers.learner_answers(page.book, "numbers", "why")
    groups = [[row.learner.student for row in group] for group in answers.equal_answers(rows)]
    assert (["kim", "lou"] in groups) == is_equal


def test_a_question_is_shown_as_text_and_its_rubric_once(page):
    sample = "**Because** of x:\n\n- one\n- two\n\n- 2 points: says x\n- -1 point: guesses"
    asked = Question("why", 2, "**Question.** Why is $x$ `y`?", None, sample)
    page.page.questions.asked["numbers", "why"] = asked
    shown = page.ta1.get(page.of["ada"]).text
    assert "<strong>Question.</strong> Why is" in shown and "<code>y</code>" in shown
    assert "<strong>Because</strong>" in shown and "<li>two</li>" in shown
    assert "**" not in shown and "says x" not in shown


def test_one_learner_of_several_with_an_answer_gets_other_points(page):
    save(page.book, [handed_in("kim")], None, "me", "Kim")
    form = hidden(page.ta1.get(page.of["ada"]), "judge")
    page.ta1.post(page.of["ada"] + "/judge", **form, points="2")
    here = f"/of/{page.page.class_list.handle('kim')}/numbers"
    shown = page.ta1.get(here)
    form = {"seen": str(page.book.last_change("kim", "numbers")), "about": "why", "check": "why"}
    assert 'value="why" selected>answer, of 2<' in shown.text
    page.ta1.post(f"{here}/judge", **form, points="1", text="Said it was copied.")
    assert (points_of(page, "ada"), points_of(page, "kim")) == ("5", "4")
    assert "Said it was copied." in page.ta1.get(here).text
    form["seen"] = str(page.book.last_change("kim", "numbers"))
    page.ta1.post(f"{here}/lift", **form, why="no")
    assert (points_of(page, "ada"), points_of(page, "kim")) == ("5", "3")
    set_points(page.book, "kim", "numbers", "2", check="why")
    assert points_of(page, "kim") == "5"
