"""tito/lesson/lesson_format.py: the form of a lesson that learners get."""

import ast
import re

import pytest
from small_course import NUMBERS, NUMBERS_CHECKS, NUMBERS_HINTS, SUMS_CHECKS, lesson

from tito.errors import TitoError
from tito.lesson import cells, notebook
from tito.lesson.lesson_format import stub
from tito.lesson.outcome import UNWRITTEN

# The form that learners get


def test_a_release_has_stubs_for_solutions():
    released = lesson().released
    assert "twice = x + x" not in released and "SOLUTION" not in released
    assert f"    {stub('numbers', 'double')}\n" in released
    assert "tito hint numbers-double" in stub("numbers", "double")
    assert "yours to write: tito hint numbers-double" in stub("numbers", "double")


def test_a_release_holds_no_hidden_check_and_no_hint():
    numbers = lesson("sums")
    everything = numbers.released + numbers.released_checks
    assert "secret" not in everything and "hidden" not in everything
    assert "test_total_of_nothing" not in everything
    assert "# ## Look back" in numbers.released
    assert "plus itself" not in lesson().released and "hint 1" not in lesson().released.lower()


def test_released_checks_are_the_visible_sections_byte_by_byte():
    assert lesson().released_checks == NUMBERS_CHECKS
    visible = SUMS_CHECKS[: SUMS_CHECKS.index("\n\n\n# %% total hidden")] + "\n"
    assert lesson("sums").released_checks == visible


def test_released_checks_do_not_show_where_a_hidden_section_was():
    hidden = "# %% double hidden points=1\ndef test_hidden():\n    assert double(9) == 18\n\n\n"
    text = NUMBERS_CHECKS.replace("# %% triple", f"{hidden}# %% triple")
    assert lesson(checks=text).released_checks == NUMBERS_CHECKS


def test_a_release_says_once_how_to_get_hints():
    released = lesson().released
    for name in ("double", "triple"):
        words = f"# **Task.** Write `{name}`.\n#\n# Stuck? `tito hint numbers-{name}`\n\n# %%"
        assert released.count(words) == released.count(f"Stuck? `tito hint numbers-{name}`") == 1
    again = lesson(chapter=released).released
    assert again == released


def test_a_release_promises_no_hint_where_there_is_none():
    assert "Stuck?" not in lesson(hints="").released
    only_triple = NUMBERS_HINTS[NUMBERS_HINTS.index("## triple") :]
    assert re.findall(r"Stuck\? `(.*)`", lesson(hints=only_triple).released) == [
        "tito hint numbers-triple"
    ]


@pytest.mark.parametrize("name", ["numbers", "sums"])
def test_a_release_is_a_sound_lesson_that_python_can_read(name):
    numbers = lesson(name)
    released = lesson(name, numbers.released, numbers.released_checks)
    for cell in released.source.cells:
        if cell.kind == "code":
            ast.parse(cell.source)
    assert released.released == released.source.text
    assert released.released_checks == released.checks_source.text
    assert [e.id for e in released.exercises] == [e.id for e in numbers.exercises]


def test_what_is_not_a_solution_keeps_its_bytes():
    released = lesson().released
    assert lesson(hints="").released == re.sub(r"#\n# Stuck\? .*\n", "", released)
    before, after = NUMBERS.split("\n"), lesson(hints="").released.split("\n")
    saved_copy = [line for line in after if "yours to write" not in line]
    rest = iter(before)
    # a subsequence: nothing reordered, nothing rewritten
    assert all(line in rest for line in saved_copy)
    # two regions: markers and bodies of 2 + 2 and 2 + 1 lines
    assert len(before) - len(saved_copy) == 7


def test_an_exercise_is_found_by_its_id_and_by_its_short_name():
    numbers = lesson()
    assert numbers.exercise("double") is numbers.exercise("numbers-double")
    with pytest.raises(TitoError, match="no exercise 'halve'") as error:
        numbers.exercise("halve")
    assert "numbers-triple" in error.value.remedy


def test_an_exercise_is_unwritten_while_its_cell_is_as_released():
    numbers = lesson()
    released = cells.parse(numbers.path, numbers.released)
    begun = cells.parse(
        numbers.path, numbers.released.replace("    raise Not", "    y = x\n    raise Not")
    )
    gone = cells.parse(numbers.path, numbers.released.replace("exercise=", "lost="))
    for exercise in numbers.exercises:
        assert numbers.is_unwritten(exercise, released)
        assert not numbers.is_unwritten(exercise, numbers.source)
        assert not numbers.is_unwritten(exercise, begun)
        assert not numbers.is_unwritten(exercise, gone)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["numbers", "sums"])
@pytest.mark.parametrize("released", [False, True], ids=["whole", "released"])
def test_nbgrader_accepts_the_notebook(name, released):
    import nbformat
    from nbgrader.nbgraderformat import MetadataValidator
    from nbgrader.preprocessors import CheckCellMetadata

    numbers = lesson(name)
    text = numbers.released if released else numbers.source.text
    book = nbformat.reads(notebook.to_notebook(text, numbers), as_version=4)
    nbformat.validate(book)
    MetadataValidator().validate_nb(book)
    CheckCellMetadata().preprocess(book, {})


def test_what_the_picture_of_an_answer_shows_is_not_told_to_learners():
    drawn = (
        '\n\n# %% tags=["answer"]\ndraw(triple)\n# caption: It grows.\n# alt: A line that\n'
        '# rises.\n\n# %% tags=["answer"]\nplt.show()  # alt: A bar.\n\n'
        "# %%\ndraw(double)\n# alt: Two points.\n"
    )
    numbers = lesson(chapter=NUMBERS + drawn)
    assert "A line that" in numbers.source.text and "draw(triple)\n\n" in numbers.released
    told = ("A line that", "# rises", "It grows", "A bar")
    assert not [words for words in told if words in numbers.released]
    assert "# alt: Two points." in numbers.released and "plt.show()\n" in numbers.released


def test_an_exercise_is_called_by_the_words_of_its_cell_or_by_its_name():
    numbers = lesson(
        chapter=NUMBERS.replace('# %% exercise="double"', '# %% Twice a number exercise="double"')
    )
    assert [exercise.title for exercise in numbers.exercises] == ["Twice a number", "Triple"]


def test_a_stub_of_an_earlier_edition_is_known():
    old = 'raise NotImplementedError("exercise sums-total is yours to write: tito hint sums total")'
    assert UNWRITTEN.findall(f"{old}\n{stub('sums', 'total')}") == ["sums-total"] * 2
    assert not UNWRITTEN.search("see exercise 3 of the book")
