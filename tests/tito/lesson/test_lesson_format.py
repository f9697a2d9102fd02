"""What a lesson means, the form it must have, and the form in which learners get it."""

import ast
import re

import pytest
from small_course import (
    NUMBERS,
    NUMBERS_CHECKS,
    NUMBERS_HINTS,
    SUMS,
    SUMS_CHECKS,
    lesson,
    make_course,
)

from tito.errors import TitoError
from tito.lesson import cells, lesson_format, notebook
from tito.lesson.lesson_format import stub


def test_exercises_have_their_hints_checks_and_points():
    double, triple = lesson().exercises
    assert (double.id, double.name, double.points) == ("numbers-double", "double", 4)
    assert [c.points for c in double.checks] == [2, 2]
    assert double.hints == ["What is a number\nplus itself?", "`x + x`"]
    assert triple.hints == ["Use `double`."]
    assert [c.id for c in double.checks] == [
        "check-double.test_double_of_two_is_four",
        "check-double.test_double_works_on_arrays",
    ]
    assert triple.checks[0].name == "triple of two is six"
    assert {c.exercise for c in triple.checks} == {"numbers-triple"}


def test_hidden_checks_count_in_the_course():
    one = lesson("sums")
    assert [(c.id, c.hidden, c.points) for c in one.checks] == [
        ("check-total.test_total_doubles_every_number", False, 2),
        ("check-total-hidden.test_total_of_nothing_is_zero", True, 1),
    ]
    assert one.points == 3


def test_setup_gives_the_checks_imports_and_helpers():
    setup = "# %% setup\nimport numpy as np\nfrom math import pi, tau as t\n\nNEAR = 1e-9\n\n"
    one = lesson(checks=NUMBERS_CHECKS.replace("# %% setup\nimport numpy as np\n", setup))
    assert one.imports == {
        "import numpy as np": ["np"],
        "from math import pi, tau as t": ["pi", "t"],
    }
    assert one.helpers == "NEAR = 1e-09"
    without = lesson("sums")
    assert (without.setup, without.imports, without.helpers) == ([], {}, "")


def test_learner_side_sections_stand_anywhere_and_earn_nothing():
    side = "# %% learner-side\ndef halves(x):\n    return double(x) / 4\n\n\n"
    text = NUMBERS_CHECKS.replace("# %% triple points", f"{side}# %% triple points") + "\n\n" + side
    one = lesson(checks=text)
    assert [c.title for c in one.learner_side] == ["learner-side"] * 2
    assert [c.id for c in one.checks] == [c.id for c in lesson().checks]


def test_comments_and_text_between_the_sections_of_checks_are_no_sections():
    text = NUMBERS_CHECKS.replace("# %% triple", "# %% [markdown]\n# About three.\n\n# %% triple")
    assert [c.id for c in lesson(checks=text).checks] == [c.id for c in lesson().checks]


def test_an_exercise_needs_no_hints():
    assert [e.hints for e in lesson(hints="").exercises] == [[], []]
    text = "## triple\n\n1. Only this one,\n   in two lines\n\n   and a paragraph.\n"
    double, triple = lesson(hints=text).exercises
    assert double.hints == []
    assert triple.hints == ["Only this one,\nin two lines\n\nand a paragraph."]


# The form that learners get


def test_a_release_has_stubs_for_solutions():
    released = lesson().released
    assert "twice = x + x" not in released and "SOLUTION" not in released
    assert f"    {stub('numbers', 'double')}\n" in released
    assert "tito hint numbers double" in stub("numbers", "double")
    assert "exercise numbers-double is yours to write" in stub("numbers", "double")


def test_a_release_holds_no_hidden_check_and_no_hint():
    one = lesson("sums")
    everything = one.released + one.released_checks
    assert "secret" not in everything and "hidden" not in everything
    assert "test_total_of_nothing" not in everything
    assert "# ## Look back" in one.released
    assert "plus itself" not in lesson().released and "hint 1" not in lesson().released.lower()


def test_released_checks_are_the_visible_sections_byte_by_byte():
    assert lesson().released_checks == NUMBERS_CHECKS
    visible = SUMS_CHECKS[: SUMS_CHECKS.index("\n\n\n# %% total hidden")] + "\n"
    assert lesson("sums").released_checks == visible


def test_released_checks_do_not_show_where_a_hidden_section_was():
    hidden = "# %% double hidden points=1\ndef test_hidden():\n    assert double(9) == 18\n\n\n"
    text = NUMBERS_CHECKS.replace("# %% triple", f"{hidden}# %% triple")
    assert lesson(checks=text).released_checks == NUMBERS_CHECKS


def test_a_release_tells_once_where_hints_are_to_be_had():
    released = lesson().released
    for name in ("double", "triple"):
        words = f"# **Task.** Write `{name}`.\n#\n# Stuck? `tito hint numbers {name}`\n\n# %%"
        assert released.count(words) == released.count(f"Stuck? `tito hint numbers {name}`") == 1
    again = lesson(chapter=released).released
    assert again == released


def test_a_release_promises_no_hint_where_there_is_none():
    assert "Stuck?" not in lesson(hints="").released
    only_triple = NUMBERS_HINTS[NUMBERS_HINTS.index("## triple") :]
    assert re.findall(r"Stuck\? `(.*)`", lesson(hints=only_triple).released) == [
        "tito hint numbers triple"
    ]


@pytest.mark.parametrize("name", ["numbers", "sums"])
def test_a_release_is_a_sound_lesson_that_python_can_read(name):
    one = lesson(name)
    released = lesson(name, one.released, one.released_checks)
    for cell in released.source.cells:
        if cell.kind == "code":
            ast.parse(cell.source)
    assert released.released == released.source.text
    assert released.released_checks == released.checks_source.text
    assert [e.id for e in released.exercises] == [e.id for e in one.exercises]


def test_what_is_not_a_solution_keeps_its_bytes():
    released = lesson().released
    assert lesson(hints="").released == re.sub(r"#\n# Stuck\? .*\n", "", released)
    before, after = NUMBERS.split("\n"), lesson(hints="").released.split("\n")
    kept = [line for line in after if "is yours to write" not in line]
    rest = iter(before)
    assert all(line in rest for line in kept)  # a subsequence: nothing reordered, nothing rewritten
    assert len(before) - len(kept) == 7  # two regions: markers and bodies of 2 + 2 and 2 + 1 lines


# What is refused

SOLUTION = "    ### BEGIN SOLUTION\n    twice = x + x\n    return twice\n    ### END SOLUTION\n"
CHECK_TRIPLE = '# %% checks="triple"\ncheck("triple")\n\n'
SECTION = NUMBERS_CHECKS[NUMBERS_CHECKS.index("# %% triple") :]
# {message: (text of a good chapter, what replaces it, a part of the line that the message names)};
# without a third part, the message names the line with the new text
CHAPTER = {
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
    "BEGIN SOLUTION inside a solution": (
        "    twice = x",
        "    ### BEGIN SOLUTION\n    twice = x",
        "### BEGIN SOLUTION",
    ),
    "not a marker: ### BEGIN SOLUTIONS": (
        "    ### BEGIN SOLUTION\n    twice",
        "    ### BEGIN SOLUTIONS\n    twice",
        "### BEGIN SOLUTIONS",
    ),
    "not a marker: ### BEGIN HIDDEN TESTS": (  # those of the form that lessons had before
        "    twice = x + x\n",
        "    ### BEGIN HIDDEN TESTS\n",
        "### BEGIN HIDDEN TESTS",
    ),
    "not a marker: ### END HIDDEN TESTS": (
        "    twice = x + x\n",
        "    ### END HIDDEN TESTS\n",
        "### END HIDDEN TESTS",
    ),
    "BEGIN SOLUTION in a cell that is no exercise": (
        "LIMIT = 10\n",
        "LIMIT = 10\n### BEGIN SOLUTION\n### END SOLUTION\n",
        "### BEGIN SOLUTION",
    ),
    "a solution at the left margin": (
        "def double(x):\n",
        "### BEGIN SOLUTION\n### END SOLUTION\ndef double(x):\n",
        "### BEGIN SOLUTION",
    ),
    "exercise double has no solution between markers": (
        SOLUTION,
        "    return 2 * x\n",
        "#| export",
    ),
    "exercise 'double' is there a second time": ('exercise="triple"', 'exercise="double"'),
    "exercise='two times' is no name": ('exercise="double"', 'exercise="two times"'),
    "exercise='setup' is no name": ('exercise="double"', 'exercise="setup"'),
    "exercise='learner-side' is no name": ('exercise="double"', 'exercise="learner-side"'),
    "the cell's metadata exercise=... is not valid JSON": ('exercise="double"', "exercise=double"),
    "a cell of checks holds 'check(\"double\"); print(1)'": (
        'check("double")',
        'check("double"); print(1)',
        "print(1)",
    ),
    "a cell of checks holds 'check(\"triple\")'": ('check("double")', 'check("triple")'),
    "a cell of checks holds 'def test_double():": (
        'check("double")',
        "def test_double():\n    assert double(2) == 4",
        "def test_double",
    ),
    "a cell of checks holds ''": ('check("double")\n', "\n", ""),
    "checks='halve': no exercise of that name": ('checks="double"', 'checks="halve"'),
    "checks='triple': no exercise of that name with visible checks stands above": (
        'checks="double"',
        'checks="triple"',
    ),
    "checks='double': no exercise of that name with visible checks stands above, "
    "or its checks were run already": ('checks="triple"', 'checks="double"'),
    "nothing runs the checks of exercise triple": (CHECK_TRIPLE, "", "#| export"),
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
    "2 in the lesson": ("#| exporti", "#| default_exp core.numbers"),
    "`title` in the header's tinytorch block is None": ("#     title: Numbers\n", "", "# ---"),
    "`terms` in the header's tinytorch block is None": ("#     terms: []\n", "", "# ---"),
    "`difficulty` is 6": ("#     difficulty: 1\n", "#     difficulty: 6\n", "# ---"),
    "`difficulty` in the header's tinytorch block is True": (
        "#     difficulty: 1\n",
        "#     difficulty: yes\n",
        "# ---",
    ),
    "`prerequisites` is [1]": ("#     prerequisites: []", "#     prerequisites: [1]", "# ---"),
    "`terms` is [None]": ("#     terms: []", "#     terms: [~]", "# ---"),
    "`pytorch` in the header's tinytorch block is [1]": (
        "#     terms: []",
        "#     terms: []\n#     pytorch: [1]",
        "# ---",
    ),
    "`pytorch` is {'double': 2}": (
        "#     terms: []",
        "#     terms: []\n#     pytorch: {double: 2}",
        "# ---",
    ),
    "unknown key 'colour'": ("#     enables: []", "#     enables: []\n#     colour: red", "# ---"),
    "no `tinytorch:` block": ("#   tinytorch:", "#   tintorch:", "# ---"),
}
# of checks.py
CHECKS = {
    "None points are too few for 1 test": ("triple points=1", "triple", "# %% triple"),
    "1 points are too few for 2 tests": ("points=4", "points=1", "# %% double"),
    "-1 points are too few": ("points=1", "points=-1", "# %% triple"),
    "0 points are too few": ("points=1", "points=0", "# %% triple"),
    "1.5 points are too few": ("points=1", "points=1.5", "# %% triple"),
    "True points are too few": ("points=1", "points=true", "# %% triple"),
    "metadata points=... is not valid JSON": ("points=1", "points=one", "# %% triple"),
    "triple holds no `def test_...`": ("def test_triple", "def triple_test", "# %% triple"),
    "test_double_of_two_is_four is defined twice (also in double)": (
        "test_triple_of_two_is_six",
        "test_double_of_two_is_four",
        "# %% triple",
    ),
    "'halve' is no section": ("# %% triple", "# %% halve"),
    "'numbers-triple' is no section": ("# %% triple", "# %% numbers-triple", "numbers-triple"),
    "'triple visible' is no section": ("# %% triple", "# %% triple visible", "triple visible"),
    "'hidden triple' is no section": ("# %% triple", "# %% hidden triple", "hidden triple"),
    "'triple hidden hidden' is no section": (
        "# %% triple",
        "# %% triple hidden hidden",
        "hidden hidden",
    ),
    "'setup hidden' is no section": ("# %% setup", "# %% setup hidden"),
    "'code before the first section' is no section": (
        "# %% setup\n",
        "# %%\nimport math\n\n# %% setup\n",
        "# %%",
    ),
    "the section double stands behind a later one, or is there twice": (
        NUMBERS_CHECKS[NUMBERS_CHECKS.index("# %% double") :],
        SECTION + "\n\n" + NUMBERS_CHECKS[NUMBERS_CHECKS.index("# %% double") :],
        "# %% double",
    ),
    "the section triple stands behind a later one, or is there twice": (
        SECTION,
        SECTION + "\n\n" + SECTION.replace("def test_", "def test_again_"),
        "# %% triple",
    ),
    "the section double stands behind": (  # visible before hidden
        "# %% double points=4",
        (
            "# %% double hidden points=1\ndef test_hidden():\n    assert double(9) == 18\n\n\n"
            "# %% double points=4"
        ),
        "# %% double points=4",
    ),
}
# of hints.md
HINTS = {
    "the lesson has no exercise 'halve'": ("## triple", "## halve"),
    "double is there a second time": ("## triple", "## double"),
    "hint 3 does not come next here": ("2. `x + x`", "3. `x + x`", "3. "),
    "hint 1 does not come next here": ("2. `x + x`", "1. `x + x`"),
    "hint 2 does not come next here": ("1. Use", "2. Use"),
    "hint 0 does not come next here": ("1. Use", "0. Use"),
    "this belongs to no hint: plus itself?": ("   plus itself?", "plus itself?"),
    "this belongs to no hint: # Hints": ("## double", "# Hints\n\n## double", "# Hints"),
    "this belongs to no hint: Think.": ("## triple\n", "## triple\n\nThink.\n", "Think."),
}
FORMS = {  # file: what is wrong with it, the file's text, the argument of `lesson`
    "numbers_dev.py": (CHAPTER, NUMBERS, "chapter"),
    "checks.py": (CHECKS, NUMBERS_CHECKS, "checks"),
    "hints.md": (HINTS, NUMBERS_HINTS, "hints"),
}


@pytest.mark.parametrize(("points", "each"), [(2, [1, 1]), (5, [3, 2]), (7, [4, 3]), (8, [4, 4])])
def test_points_need_not_be_a_multiple_of_the_tests(points, each):
    checks = NUMBERS_CHECKS.replace("# %% double points=4", f"# %% double points={points}")
    exercise = lesson("numbers", checks=checks).exercise("double")
    assert ([check.points for check in exercise.checks], exercise.points) == (each, points)


@pytest.mark.parametrize(
    ("file", "said"),
    [(file, said) for file, (words, _, _) in FORMS.items() for said in words],
)
def test_a_damaged_lesson_is_told_with_file_and_line(tmp_path, file, said):
    damage, text, argument = FORMS[file]
    old, new, *named = damage[said]
    assert text.count(old) == 1 or old == "#     terms: []"
    text = text.replace(old, new)
    with pytest.raises(TitoError) as error:
        lesson(**{argument: text}, within=tmp_path)
    assert said in error.value.what and error.value.remedy
    line = int(re.search(rf"01_numbers/{re.escape(file)}:(\d+): ", error.value.what).group(1))
    assert (named or [new])[0] in text.split("\n")[line - 1]


def test_the_second_of_two_exercises_of_one_name_is_told_with_the_place_of_the_first():
    with pytest.raises(TitoError) as error:
        lesson(chapter=NUMBERS.replace('exercise="triple"', 'exercise="double"'))
    rows = NUMBERS.split("\n")
    second, first = rows.index('# %% exercise="triple"') + 1, rows.index('# %% exercise="double"')
    assert f"numbers_dev.py:{second}: exercise 'double'" in error.value.what
    assert f"(first in 01_numbers/numbers_dev.py:{first + 2})" in error.value.what


def test_an_exercise_without_a_check_is_told():
    with pytest.raises(
        TitoError, match=r"checks\.py: exercise triple has no check that learners see"
    ) as error:
        lesson(checks=NUMBERS_CHECKS[: NUMBERS_CHECKS.index("# %% triple")])
    assert "# %% triple points=2" in error.value.remedy


def test_a_check_above_its_exercise_is_told():
    cell = '# %% checks="double"\ncheck("double")\n\n'
    above = NUMBERS.replace(cell, "").replace(
        '# %% exercise="double"', cell + '# %% exercise="double"'
    )
    with pytest.raises(TitoError, match="checks='double': no exercise of that name"):
        lesson(chapter=above)


def test_an_exercise_with_hidden_checks_only_is_told():
    hidden = SUMS_CHECKS.index("# %% total hidden")
    checks = SUMS_CHECKS[:hidden].split("# %%")[0] + SUMS_CHECKS[hidden:]
    with pytest.raises(TitoError, match="exercise total has no check that learners see"):
        lesson("sums", checks=checks)


def test_a_lesson_without_an_exercise_is_told():
    text = SUMS.replace(' exercise="total"', "").replace(' checks="total"\ncheck("total")', "")
    text = re.sub(r"    ### (BEGIN|END) SOLUTION\n", "", text)
    with pytest.raises(TitoError, match="the lesson has no exercise"):
        lesson("sums", chapter=text)


def test_a_file_of_the_lesson_that_is_missing_is_told(tmp_path):
    folder = make_course(tmp_path) / "modules" / "source" / "01_numbers"
    assert lesson_format.load(folder / "numbers_dev.py").points == 5
    (folder / "hints.md").unlink()
    assert lesson_format.load(folder / "numbers_dev.py").exercises[0].hints == []
    (folder / "hints.md").write_bytes(b"## double\n\n1. \xff\n")
    with pytest.raises(TitoError, match=r"hints\.md cannot be read"):
        lesson_format.load(folder / "numbers_dev.py")
    (folder / "hints.md").unlink()
    (folder / "checks.py").unlink()
    with pytest.raises(TitoError, match=r"checks\.py does not exist"):
        lesson_format.load(folder / "numbers_dev.py")


def test_line_endings_of_any_system_read_the_same(tmp_path):
    folder = make_course(tmp_path) / "modules" / "source" / "01_numbers"
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    one = lesson_format.load(folder / "numbers_dev.py")
    assert (one.released, one.released_checks) == (lesson().released, lesson().released_checks)
    assert [e.hints for e in one.exercises] == [e.hints for e in lesson().exercises]


def test_the_folder_gives_number_and_name(tmp_path):
    assert (lesson("sums").number, lesson("sums").name, lesson("sums").folder) == (
        2,
        "sums",
        "02_sums",
    )
    path = tmp_path / "x_Numbers" / "Numbers_dev.py"
    with pytest.raises(TitoError, match="named like 01_tensor"):
        lesson_format.Lesson(cells.parse(path, NUMBERS), cells.parse(path, NUMBERS_CHECKS))


def test_an_exercise_is_found_by_its_id_and_by_its_short_name():
    one = lesson()
    assert one.exercise("double") is one.exercise("numbers-double")
    with pytest.raises(TitoError, match="no exercise 'halve'") as error:
        one.exercise("halve")
    assert "numbers-triple" in error.value.remedy


def test_an_exercise_is_unwritten_while_its_cell_is_as_released():
    one = lesson()
    released = cells.parse(one.path, one.released)
    begun = cells.parse(one.path, one.released.replace("    raise Not", "    y = x\n    raise Not"))
    gone = cells.parse(one.path, one.released.replace("exercise=", "lost="))
    for exercise in one.exercises:
        assert one.is_unwritten(exercise, released)
        assert not one.is_unwritten(exercise, one.source)
        assert not one.is_unwritten(exercise, begun)
        assert not one.is_unwritten(exercise, gone)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["numbers", "sums"])
@pytest.mark.parametrize("released", [False, True], ids=["whole", "released"])
def test_nbgrader_accepts_the_notebook(name, released):
    import nbformat
    from nbgrader.nbgraderformat import MetadataValidator
    from nbgrader.preprocessors import CheckCellMetadata

    one = lesson(name)
    text = one.released if released else one.source.text
    book = nbformat.reads(notebook.to_notebook(text, one), as_version=4)
    nbformat.validate(book)
    MetadataValidator().validate_nb(book)
    CheckCellMetadata().preprocess(book, {})


def test_what_the_picture_of_an_answer_shows_is_not_told_to_learners():
    drawn = (
        '\n\n# %% tags=["answer"]\ndraw(triple)\n# alt: A line that\n# rises.\n\n'
        "# %%\ndraw(double)\n# alt: Two points.\n"
    )
    one = lesson(chapter=NUMBERS + drawn)
    assert "A line that" in one.source.text and "draw(triple)\n\n" in one.released
    assert "A line that" not in one.released and "# rises" not in one.released
    assert "# alt: Two points." in one.released
