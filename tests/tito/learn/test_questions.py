"""Free answers in a workspace: what tito says of them, and that none is ever lost."""

import re
import zipfile

import pytest
from commands import tito
from small_course import RUBRIC, make_course, solve, verdict_on, with_question

from tito.learn import lesson_page, notebook_sync, progress, submit, update, workspace
from tito.lesson import cells, course, lesson_format, notebook

CHAPTER = "modules/source/01_numbers/numbers_dev.py"
ANSWER = "%% two\n\ntimes two,  größer\n`# %%`"


def write_course(folder, **more):
    root = make_course(folder)
    (root / CHAPTER).write_text(with_question(**more), "utf-8")
    return course.open_root(root)


@pytest.fixture
def entry(tmp_path):
    """Lesson numbers, with a question, of a workspace."""
    workspace.init(tmp_path / "work", write_course(tmp_path / "course"))
    return course.open_root(tmp_path / "work").lesson("numbers")


def answer(path, text=ANSWER):
    """Write an answer below the line of the question, as an editor or JupyterLab does."""
    if path.suffix == ".py":
        source = cells.read(path)
        cell = source.cell("why")
        path.write_text(source.replaced(cell, lesson_format.answered(cell.source, text)), "utf-8")
        return
    _, nbformat = notebook._libraries()
    book = nbformat.read(path, as_version=4)
    (cell,) = [cell for cell in book.cells if cell.metadata.get("question")]
    cell.source = lesson_format.answered(cell.source, text)
    nbformat.write(book, path)


def answer_of(path):
    return lesson_format.answer_in(cells.read(path), "why")


def test_test_and_status_say_what_a_person_judges_and_no_verdict_depends_on_it(entry):
    result = verdict_on(entry)
    assert (result.answers, result.verdict) == ({"why": False}, "stub")
    assert progress.state_of(entry, cells.read(entry.script), {}) == "new"
    answer(entry.script)
    assert progress.state_of(entry, cells.read(entry.script), {}) == "started"
    out, _ = tito(entry.root, "test", "numbers", code=1)
    assert "numbers-why" not in out, "the exercises come first"
    _, err = tito(entry.root, "hint", "numbers-why", code=2)
    assert "numbers-why is a question" in err and "then: tito compare numbers-why" in err
    solve(entry)
    words = "1 question for a person to grade: numbers-why (answered)"
    out, _ = tito(entry.root, "test", "numbers")
    assert f"{words}. `tito compare` and its name show" in " ".join(out.split())
    assert words in " ".join(tito(entry.root, "status")[0].split())
    assert result.max_points == 5


def test_a_notebooks_answer_comes_into_the_script(entry):
    notebook_sync.settle(entry, make=True)
    answer(entry.notebook)
    notebook_sync.settle(entry)
    assert answer_of(entry.script) == answer_of(entry.notebook) == ANSWER


def test_a_reset_keeps_a_copy_and_undo_brings_the_answer_back(entry):
    answer(entry.script)
    before = entry.script.read_bytes()
    workspace.reset(entry)
    assert answer_of(entry.script) == ""
    workspace.undo(entry.root)
    assert entry.script.read_bytes() == before


@pytest.mark.parametrize("gone", [False, True])
def test_an_update_puts_the_answer_below_the_new_words(entry, tmp_path, gone):
    answer(entry.script)
    root = write_course(tmp_path / "newer")
    text = with_question().replace("multiply by four", "give four times as much")
    if gone:
        text = with_question().replace('question="why"', 'question="other"')
    (root.path / CHAPTER).write_text(text, "utf-8")
    result = update.update(entry.root, root.path)
    aside = entry.script.with_name("set_aside.py")
    if gone:
        assert result.aside == {"numbers-why": "modules/source/01_numbers/set_aside.py"}
        assert cells.comment(ANSWER) in aside.read_text("utf-8")
    else:
        assert "four times as much" in entry.script.read_text("utf-8") and not aside.exists()
        assert answer_of(entry.script) == ANSWER and result.tasks == ["numbers-why"]


def page_of(entry):
    return lesson_page.render(entry)


def test_the_course_s_answer_is_shown_beside_the_learners_once_that_is_written(entry):
    _, err = tito(entry.root, "compare", "numbers-why", code=1)
    assert "numbers-why is not answered yet" in err and err.count("\n") == 2
    assert "None yet." in page_of(entry) and "Because" not in page_of(entry) + err
    answer(entry.script)
    for words in (["numbers-why"], ["numbers", "why"], ["why"]):
        out, _ = tito(entry.root, "compare", *words)
        assert "times two,  größer" in out and "Because" in out
    assert re.search(r"The course.s answer</summary>\s*<p[^>]*>Because</p>", page_of(entry))
    assert "why" not in tito(entry.root, "compare", "numbers", code=1)[1]


def test_a_class_gets_the_course_s_answer_only_with_the_solutions(tmp_path):
    root = write_course(tmp_path / "course", rubric=RUBRIC)
    for words, is_shown in (([], False), (["--with-solutions"], True)):
        folder = tmp_path / f"release{len(words)}"
        tito(root, "release", folder, *words)
        holding = [
            path.name
            for path in folder.rglob("*")
            if path.is_file()
            and (b"Because" in path.read_bytes() or b"twos make four" in path.read_bytes())
        ]
        assert holding == ["solutions.py"] * is_shown
        released = course.open_root(folder).lesson("numbers")
        answer(released.script)
        assert ("Because" in page_of(released)) == is_shown
        out, err = tito(folder, "compare", "why", code=0 if is_shown else 2)
        assert "a formula" in out if is_shown else "does not hold the solutions" in err


def test_a_question_that_the_course_has_changed_since_is_not_compared(entry, tmp_path):
    answer(entry.script)
    path = tmp_path / "course" / CHAPTER
    path.write_text(with_question().replace("multiply by four", "give four times as much"), "utf-8")
    assert "tito update" in tito(entry.root, "compare", "why", code=2)[1]


def test_what_is_handed_in_holds_the_answer(entry):
    answer(entry.script)
    result = submit.submit(entry.root)
    with zipfile.ZipFile(result.path) as archive:
        text = archive.read(CHAPTER).decode()
    assert lesson_format.answer_in(cells.parse(entry.script, text), "why") == ANSWER
