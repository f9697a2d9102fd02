"""What a lesson means, the form it must have, and the form in which learners get it."""

import ast
import re

import pytest
from small_course import NUMBERS, SUMS

from tito.errors import TitoError
from tito.lesson import cells, notebook
from tito.lesson.form import Lesson, stub


def lesson(text, tmp_path, name="numbers", number="01"):
    path = tmp_path / f"{number}_{name}" / f"{name}_dev.py"
    return Lesson(cells.parse(path, text))


def test_exercises_have_their_hints_checks_and_points(tmp_path):
    double, triple = lesson(NUMBERS, tmp_path).exercises
    assert (double.id, double.points, [c.points for c in double.checks]) == (
        "numbers-double",
        4,
        [2, 2],
    )
    assert double.hints == ["What is a number plus itself?", "`x + x`"]
    assert triple.hints == ["Use `double`."]
    assert [c.id for c in double.checks] == [
        "check-double.test_double_of_two_is_four",
        "check-double.test_double_works_on_arrays",
    ]
    assert triple.checks[0].name == "triple of two is six"


def test_hidden_checks_count_in_the_course(tmp_path):
    assert [c.function for c in lesson(SUMS, tmp_path, "sums", "02").checks] == [
        "test_total_doubles_every_number",
        "test_total_of_nothing_is_zero",
    ]


def test_a_release_has_stubs_for_solutions_and_no_hidden_test(tmp_path):
    released = lesson(NUMBERS, tmp_path).released
    assert "twice = x + x" not in released and "BEGIN SOLUTION" not in released
    assert f"    {stub('numbers', 'numbers-double')}\n" in released
    hidden = lesson(SUMS, tmp_path, "sums", "02").released
    assert "secret" not in hidden and "check-total-hidden" not in hidden and "HIDDEN" not in hidden
    assert "# ## Look back" in hidden


def test_a_release_does_not_show_where_a_hidden_test_was(tmp_path):
    start, end = (
        SUMS.index('# %% nbgrader={"grade": true, "grade_id": "check-total-hidden'),
        SUMS.index("# %% [markdown]\n# ## Look back"),
    )
    without = lesson(SUMS[:start] + SUMS[end:], tmp_path, "sums", "02")
    assert lesson(SUMS, tmp_path, "sums", "02").released == without.released


@pytest.mark.parametrize(
    ("text", "name", "number"), [(NUMBERS, "numbers", "01"), (SUMS, "sums", "02")]
)
def test_a_release_is_a_sound_lesson_that_python_can_read(tmp_path, text, name, number):
    released = lesson(lesson(text, tmp_path, name, number).released, tmp_path, name, number)
    for cell in released.source.cells:
        if cell.kind == "code":
            ast.parse(cell.source)
    assert released.released == released.source.text
    assert [e.id for e in released.exercises] == [
        e.id for e in lesson(text, tmp_path, name, number).exercises
    ]


def test_what_is_not_a_solution_keeps_its_bytes(tmp_path):
    before, after = NUMBERS.split("\n"), lesson(NUMBERS, tmp_path).released.split("\n")
    kept = [line for line in after if "is yours to write" not in line]
    rest = iter(before)
    assert all(line in rest for line in kept)  # a subsequence: nothing reordered, nothing rewritten
    assert len(before) - len(kept) == 7  # two regions: markers and bodies of 2 + 2 and 2 + 1 lines


def test_script_to_notebook_and_back_keeps_every_byte():
    for text in (NUMBERS, SUMS):
        assert notebook.to_script(notebook.to_notebook(text)) == text
        assert notebook.to_notebook(text) == notebook.to_notebook(text)


DOUBLE, TRIPLE = '"grade_id": "numbers-double"', '"grade_id": "numbers-triple"'
CHECK_TRIPLE = '"grade_id": "check-triple", "locked": true, "points": 1'
DAMAGE = {  # the words: what is changed in the sound lesson, into what, and a part of the line that is named
    "BEGIN SOLUTION is never ended": (
        "    return twice\n    ### END SOLUTION\n",
        "    return twice\n",
        "### BEGIN SOLUTION",
    ),
    "END SOLUTION without its BEGIN": (
        "    ### BEGIN SOLUTION\n    twice",
        "    twice",
        "### END SOLUTION",
    ),
    "BEGIN SOLUTION inside SOLUTION": (
        "    twice = x",
        "    ### BEGIN SOLUTION\n    twice = x",
        "### BEGIN SOLUTION",
    ),
    "BEGIN HIDDEN TESTS inside SOLUTION": (
        "    twice = x + x\n",
        "    ### BEGIN HIDDEN TESTS\n",
        "### BEGIN HIDDEN TESTS",
    ),
    "END HIDDEN TESTS without its BEGIN": (
        "    twice = x + x\n",
        "    ### END HIDDEN TESTS\n",
        "### END HIDDEN TESTS",
    ),
    "not a marker": (
        "    ### BEGIN SOLUTION\n    twice",
        "    ### BEGIN SOLUTIONS\n    twice",
        "### BEGIN SOLUTIONS",
    ),
    "metadata does not say `solution`": (
        "LIMIT = 10\n",
        "LIMIT = 10\n### BEGIN SOLUTION\n### END SOLUTION\n",
        "### BEGIN SOLUTION",
    ),
    "mixes hidden and visible tests": (
        "def test_double_of_two_is_four():\n",
        "### BEGIN HIDDEN TESTS\n### END HIDDEN TESTS\ndef test_double_of_two_is_four():\n",
        "### BEGIN HIDDEN",
    ),
    "a solution at the left margin": (
        "def double(x):\n",
        "### BEGIN SOLUTION\n### END SOLUTION\ndef double(x):\n",
        "### BEGIN SOLUTION",
    ),
    "'check-double' is used a second time": (
        '"check-triple"',
        '"check-double"',
        '"check-double", "locked": true, "points": 1',
    ),
    "grade_id is None": (f"{DOUBLE}, ", "", '"grade": false, "locked": false'),
    "grade_id is 'numbers double'": (DOUBLE, '"grade_id": "numbers double"', "numbers double"),
    "None points cannot be shared evenly": (
        CHECK_TRIPLE,
        '"grade_id": "check-triple", "locked": true',
        "check-triple",
    ),
    "3 points cannot be shared evenly by 2 tests": ('"points": 4', '"points": 3', "check-double"),
    "-1 points cannot be shared": (CHECK_TRIPLE, CHECK_TRIPLE.replace("1", "-1"), "check-triple"),
    "1 points on a cell without a `def test_...`": (
        "def test_triple_of_two_is_six",
        "def check_triple",
        "check-triple",
    ),
    "2 points on a cell that is not graded": (TRIPLE, f'{TRIPLE}, "points": 2', "numbers-triple"),
    "schema_version is 2": (
        f'{TRIPLE}, "locked": false, "schema_version": 3',
        f'{TRIPLE}, "locked": false, "schema_version": 2',
        "numbers-triple",
    ),
    "'note': 1 is not known": (TRIPLE, f'{TRIPLE}, "note": 1', "numbers-triple"),
    "`locked` is 'yes'": (
        f'{TRIPLE}, "locked": false',
        f'{TRIPLE}, "locked": "yes"',
        "numbers-triple",
    ),
    "test_double_of_two_is_four is defined twice": (
        "test_triple_of_two_is_six",
        "test_double_of_two_is_four",
        "check-triple",
    ),
    "no cell says where the lesson is exported to": (
        "#| default_exp core.numbers\n",
        "x = 1\n",
        "# ---",
    ),
    "`#| default_exp numbers`": (
        "#| default_exp core.numbers\n",
        "#| default_exp numbers\n",
        "#| default_exp numbers",
    ),
    "2 in the lesson": ("#| exporti", "#| default_exp core.numbers", "#| default_exp core.numbers"),
    "`title` in the header's tinytorch block is None": ("#     title: Numbers\n", "", "# ---"),
    "`difficulty` is 6": ("#     difficulty: 1\n", "#     difficulty: 6\n", "# ---"),
    "`difficulty` in the header's tinytorch block is True": (
        "#     difficulty: 1\n",
        "#     difficulty: yes\n",
        "# ---",
    ),
    "`prerequisites` is [1]": ("#     prerequisites: []", "#     prerequisites: [1]", "# ---"),
    "unknown key 'colour'": ("#     enables: []", "#     enables: []\n#     colour: red", "# ---"),
    "no `tinytorch:` block": ("#   tinytorch:", "#   tintorch:", "# ---"),
}


@pytest.mark.parametrize("said", DAMAGE)
def test_a_damaged_lesson_is_told_with_file_and_line(tmp_path, said):
    old, new, named = DAMAGE[said]
    assert old in NUMBERS
    text = NUMBERS.replace(old, new)
    with pytest.raises(TitoError) as error:
        lesson(text, tmp_path)
    assert said in error.value.what and error.value.remedy
    line = int(re.search(r"numbers_dev\.py:(\d+): ", error.value.what).group(1))
    assert named in text.split("\n")[line - 1]


def test_an_exercise_without_a_check_or_a_solution_is_told(tmp_path):
    without = NUMBERS[: NUMBERS.index('# %% nbgrader={"grade": true, "grade_id": "check-triple"')]
    with pytest.raises(TitoError, match="exercise numbers-triple has no check"):
        lesson(without, tmp_path)
    bare = NUMBERS.replace(
        "    ### BEGIN SOLUTION\n    twice = x + x\n    return twice\n    ### END SOLUTION\n",
        "    return 2 * x\n",
    )
    with pytest.raises(TitoError, match="exercise numbers-double has no solution between markers"):
        lesson(bare, tmp_path)


def test_a_check_above_every_exercise_is_told(tmp_path):
    first = NUMBERS.index("# %% [markdown]\n# **Task.** Write `double`")
    check = NUMBERS[
        NUMBERS.index('# %% nbgrader={"grade": true, "grade_id": "check-triple"') : NUMBERS.index(
            "# %%\n#| exporti"
        )
    ]
    with pytest.raises(TitoError, match="check check-early has no exercise above it"):
        lesson(
            NUMBERS[:first]
            + check.replace("check-triple", "check-early").replace("test_triple", "test_early")
            + NUMBERS[first:],
            tmp_path,
        )


def test_the_folder_gives_number_and_name(tmp_path):
    with pytest.raises(TitoError, match="named like 01_tensor"):
        lesson(NUMBERS, tmp_path, "Numbers", "x")


def test_an_exercise_is_found_by_its_id_and_by_its_short_name(tmp_path):
    one = lesson(NUMBERS, tmp_path)
    assert one.exercise("double") is one.exercise("numbers-double")
    with pytest.raises(TitoError, match="no exercise 'halve'") as error:
        one.exercise("halve")
    assert "numbers-triple" in error.value.remedy


@pytest.mark.slow
def test_nbgrader_accepts_the_released_notebook(tmp_path):
    import nbformat
    from nbgrader.nbgraderformat import MetadataValidator
    from nbgrader.preprocessors import CheckCellMetadata

    for text, name, number in ((NUMBERS, "numbers", "01"), (SUMS, "sums", "02")):
        book = nbformat.reads(
            notebook.to_notebook(lesson(text, tmp_path, name, number).released), as_version=4
        )
        nbformat.validate(book)
        MetadataValidator().validate_nb(book)
        CheckCellMetadata().preprocess(book, {})


@pytest.mark.slow
def test_nbgrader_would_refuse_a_damaged_one(tmp_path):
    import nbformat
    from nbgrader.nbgraderformat import MetadataValidator
    from nbgrader.nbgraderformat.common import ValidationError

    book = nbformat.reads(notebook.to_notebook(NUMBERS.replace('"points": 4, ', "")), as_version=4)
    with pytest.raises(ValidationError):
        MetadataValidator().validate_nb(book)
