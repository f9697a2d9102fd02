"""Free-answer questions: their form, the learners' copy, script and notebook."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from small_course import RUBRIC, lesson, with_question

from tito.errors import TitoError
from tito.lesson import cells, course, lesson_format, notebook

ODD = "%% time is up\n\n# %% so\n\\# %%\n\n- $x_1$ größer,  two spaces  \n'''\n=1+1"
ANSWERED = f"{lesson_format.ANSWER}\n\n{ODD}"


def asked(**more):
    return lesson(chapter=with_question(**more))


def script_with(answer, made=None):
    """The learners' script with an answer in it, typed as a script has it."""
    source = cells.parse((made or asked()).path, (made or asked()).released)
    cell = source.cell("why")
    return cells.parse(
        source.path, source.replaced(cell, lesson_format.answered(cell.source, answer))
    )


def test_a_question_has_a_text_points_and_a_sample_answer():
    (question,) = asked().questions
    assert (question.name, question.points) == ("why", 2)
    assert question.text == "Why does doubling twice\nmultiply by four?"
    assert question.sample == "Because\n\n$2 \\cdot 2 = 4$."
    assert asked().points == 5 and asked().most == 7


def test_the_list_at_the_end_of_a_sample_answer_is_the_rubric():
    made = asked(rubric=RUBRIC)
    (question,) = made.questions
    assert question.rubric == (
        (Decimal("1.5"), "says that two twos make four"),
        (Decimal("0.5"), "a formula"),
        (Decimal(-1), "guesses"),
    )
    assert not any(text in made.released for _, text in question.rubric)
    assert asked().questions[0].rubric == ()


def test_each_question_of_the_course_has_a_sample_answer_and_a_rubric():
    root = course.open_root(Path(__file__).parents[3])
    found = [(entry, question) for entry in root.lessons for question in entry.declared.questions]
    assert len({entry for entry, _ in found}) >= 7
    for entry, question in found:
        text = question.sample.partition(f"- {question.rubric[0][0]} point")[0]
        assert len(text.split()) > 50, f"{entry.name} {question.name}"


@pytest.mark.parametrize(
    ("rubric", "words"),
    [
        (RUBRIC[2:], "points=2, the items of its rubric 0.5"),
        ([*RUBRIC, "So it is."], "no item of the rubric of question why: So it is."),
        ([*RUBRIC, "- one point: because"], "no item of the rubric"),
    ],
)
def test_a_rubric_that_does_not_fit_is_refused(rubric, words):
    with pytest.raises(TitoError, match=words) as error:
        asked(rubric=rubric)
    assert "numbers_dev.py:" in error.value.what


def test_learners_get_neither_sample_nor_marker():
    text = asked().released
    assert "Because" not in text and "SOLUTION" not in text and lesson_format.ANSWER in text
    (released,) = lesson(chapter=text).questions
    assert released.sample == "" and released.points == 2
    assert lesson(chapter=text).answers(cells.parse(asked().path, text)) == {"why": ""}


def test_no_line_on_hints_is_put_below_an_answer():
    text = asked(before='# %% exercise="triple"').released
    source = cells.parse(asked().path, text)
    assert lesson_format.STUCK[:6] not in source.cell("why").source


@pytest.mark.parametrize(
    "answer",
    [
        ODD,
        "In[3]:\n  %% x\n<codecell>\n#\n%%",
        "\\\\ %% \n# ### BEGIN SOLUTION",
        "One line.",
        "x\n\n\n\ny",
        "# a heading\n    indented",
    ],
)
def test_an_answer_goes_to_the_notebook_and_back_byte_for_byte(answer):
    script = script_with(answer)
    assert lesson_format.answer_in(script, "why") == answer
    book = notebook.to_notebook(script.text, asked())
    in_book = cells.parse(script.path.with_suffix(".ipynb"), book)
    assert lesson_format.answer_in(in_book, "why") == answer
    assert [c.source for c in in_book.cells if c.source] == [c.source for c in script.cells]
    assert notebook.to_script(book, script.text) == script.text


def test_the_notebook_has_nbgraders_metadata_of_an_answer():
    book = json.loads(notebook.to_notebook(asked().released, asked()))
    (cell,) = [cell for cell in book["cells"] if cell["metadata"].get("question")]
    meta = cell["metadata"]["nbgrader"]
    assert (meta["grade_id"], meta["points"]) == ("question-why", 2)
    assert meta["grade"] and meta["solution"] and not meta["locked"]
    del cell["metadata"]["question"]  # as another editor may leave it
    source = cells.parse(asked().path.with_suffix(".ipynb"), json.dumps(book))
    assert source.cell("why").question == "why"


@pytest.mark.parametrize(
    ("answer", "found"), [("", ""), (" \n\n", ""), ("YOUR ANSWER HERE", ""), ("yes", "yes")]
)
def test_the_text_below_the_line_is_the_answer(answer, found):
    assert lesson_format.answer_in(script_with(answer), "why") == found


def test_without_the_line_the_whole_cell_is_the_answer():
    source = script_with("Mine.")
    gone = source.text.replace(f"# {lesson_format.ANSWER}\n", "")
    assert lesson_format.answer_in(cells.parse(source.path, gone), "why").endswith("Mine.")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("points=2", "points=-1", "points=-1"),
        ("points=2", "", "points=None"),
        ('question="why"', 'question="double"', "already"),
        ('question="why"', 'question="w y"', "no name"),
        ("[markdown] question", "question", "a cell of code"),
        (f"# {lesson_format.ANSWER}\n", "", "lacks its text"),
        ("# ### BEGIN", "# Because so.\n# ### BEGIN", "learners would get an answer"),
        ("# ### END SOLUTION\n", "", "never ended"),
    ],
)
def test_a_broken_question_is_refused_with_its_line(old, new, words):
    with pytest.raises(TitoError, match=words) as error:
        lesson(chapter=with_question().replace(old, new))
    assert "numbers_dev.py:" in error.value.what


def test_an_answer_that_is_no_comment_is_refused_with_what_to_do():
    text = script_with("Mine.").text.replace("# Mine.", "Mine.")
    with pytest.raises(TitoError, match="code in a text cell") as error:
        cells.parse(asked().path, text)
    assert "your answer to why" in error.value.remedy
