"""What is known of a learner's lesson besides its code: which cells of an exercise count."""

import json

import pytest
from small_course import NUMBERS

from tito.grading.intake import collect
from tito.grading.intake.open_submission import open_submission
from tito.grading.jail.modules import compiled
from tito.grading.submission import LessonFile
from tito.lesson import cells, notebook

MARK = '# %% exercise="double"\n'
FIRST = "Line 24: defines double, and counts"
TABLE = "def double(x):\n    return {2: 4}[x]  # the table\n"


def listed(entry, text):
    """[(words, whether it counts)] of the cells of the exercise `double` in a script."""
    file = LessonFile("f", source=cells.parse(entry.script, text))
    shown = compiled(entry, file).cells["numbers-double"]
    return [(cell.words, cell.counts) for cell in shown]


def test_the_only_cell_of_an_exercise_counts(small_course):
    assert listed(small_course.lesson("numbers"), NUMBERS) == [(FIRST, True)]


NOT_EXPORTED = ": not exported, so it does not count"
UNMARKED = ", without this exercise's mark"
COUNTS = ": defines double, and counts"


@pytest.mark.parametrize(
    ("more", "words", "first_counts"),
    [
        (f"{MARK}{TABLE}", NOT_EXPORTED, True),
        (f"{MARK}# all\n#| export\n{TABLE}", COUNTS, False),
        ('# %% [markdown] exercise="double"\n# Twice.\n', NOT_EXPORTED, True),
        (f"{MARK}#| export\n{TABLE}", COUNTS, False),
        (f"{MARK}#| exporti\n{TABLE}", COUNTS, False),
        (f"# %%\n#| export\n{TABLE}", UNMARKED + COUNTS, False),
        ("# %%\n#| export\nimport a\ndouble = a.b\n", UNMARKED + COUNTS, False),
        (f'# %% exercise="own"\n#| export\n{TABLE}', UNMARKED + COUNTS, False),
        (f"{MARK}#| export\nother = 1\n", ": defines no double, so it does not count", True),
        (
            "# %%\n#| export\nfrom math import sqrt as double\n",  # imports come first
            f"{UNMARKED}: double is defined or changed again in line 24",
            True,
        ),
        (f"# %%\n{TABLE}", None, True),
    ],
)
def test_every_cell_that_has_to_do_with_an_exercise_is_known_and_which_one_counts(
    small_course, more, words, first_counts
):
    """Also one that was added to hide the other."""
    line = NUMBERS.count("\n") + 2
    again = f"Line 24: double is defined or changed again in line {line}"
    expected = [(FIRST, True) if first_counts else (again, False)]
    if words:
        expected.append((f"Line {line}{words}", "and counts" in words))
    entry = small_course.lesson("numbers")
    assert listed(entry, NUMBERS + more) == expected


def test_a_given_cell_that_was_edited_is_shown_as_it_is(small_course):
    entry, given = small_course.lesson("numbers"), "#| exporti\ndef _given(x):\n"
    assert given in NUMBERS
    edited = NUMBERS.replace(given, f"#| exporti\n{TABLE}\n\ndef _given(x):\n")
    (first, counts), (second, also) = listed(entry, edited)
    assert not counts and "again in" in first and also and "without this exercise's mark" in second


def test_a_cell_that_python_cannot_read_changes_nothing_about_the_others(small_course):
    broken = f"{NUMBERS}{MARK}{TABLE}# %%\n#| export\nx = (\n"
    other = f"Line {NUMBERS.count(chr(10)) + 2}{NOT_EXPORTED}"
    assert listed(small_course.lesson("numbers"), broken) == [(FIRST, True), (other, False)]


def test_an_exercise_that_python_cannot_read_counts_nowhere(small_course):
    broken = NUMBERS.replace("twice = x + x", "twice = (x + x")
    ((words, counts),) = listed(small_course.lesson("numbers"), broken)
    assert words.startswith("Line 24: ") and not counts


@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
def test_the_lines_of_a_cell_are_those_of_the_saved_code(small_course, tmp_path, suffix):
    """Also behind a notebook's cell with what looks like the head of another one."""
    entry, text = small_course.lesson("numbers"), NUMBERS
    if suffix == ".ipynb":
        book = json.loads(notebook.to_notebook(NUMBERS, entry.declared))
        false = f"x = 1\n{MARK}#| export\ndef double(x):\n    return x + x\n"
        book["cells"].insert(0, {"cell_type": "code", "source": false, "metadata": {}})
        text = json.dumps(book)
    (tmp_path / "in" / "ada").mkdir(parents=True)
    (tmp_path / "in" / "ada" / f"numbers_dev{suffix}").write_text(text, encoding="utf-8")
    (arrival,) = collect.find_submissions(tmp_path / "in", [entry])
    file = open_submission(arrival, [entry]).files["numbers"]
    (cell,) = compiled(entry, file).cells["numbers-double"]
    assert cell.words.startswith("Line 24: " if suffix == ".py" else "Cell 7: ")
    shown = file.code.split("\n")[cell.first - 1 : cell.last]
    assert shown[:2] == [MARK.strip(), "#| export"] and shown[-1] == "    ### END SOLUTION"
