"""tito/lesson/parse.py: a lesson is read from its files, or refused with file and line."""

import re

import pytest
from small_course import (
    NUMBERS,
    NUMBERS_CHECKS,
    NUMBERS_FACTS,
    NUMBERS_HINTS,
    SUMS,
    SUMS_CHECKS,
    lesson,
    make_course,
)

from tito.errors import TitoError
from tito.lesson import cells
from tito.lesson.parse import load_lesson, parse_lesson


def test_exercises_have_their_hints_checks_and_points():
    double, triple = lesson().exercises
    assert (double.id, double.name, double.points) == ("numbers-double", "double", 4)
    assert [c.points for c in double.checks] == [2, 2]
    assert double.hints == ("What is a number\nplus itself?", "`x + x`")
    assert triple.hints == ("Use `double`.",)
    assert [c.id for c in double.checks] == [
        "check-double.test_double_of_two_is_four",
        "check-double.test_double_works_on_arrays",
    ]
    assert triple.checks[0].name == "triple of two is six"
    assert {c.exercise for c in triple.checks} == {"numbers-triple"}


def test_hidden_checks_count_in_the_course():
    numbers = lesson("sums")
    assert [(c.id, c.hidden, c.points) for c in numbers.checks] == [
        ("check-total.test_total_doubles_every_number", False, 2),
        ("check-total-hidden.test_total_of_nothing_is_zero", True, 1),
    ]
    assert numbers.points == 3


def test_polish_checks_are_visible_and_may_earn_nothing():
    polish = "# %% double polish points=0\ndef test_of_nothing():\n    assert double(0) == 0\n\n\n"
    numbers = lesson(checks=NUMBERS_CHECKS.replace("# %% triple", f"{polish}# %% triple"))
    last = numbers.exercises[0].checks[-1]
    assert (last.id, last.points, last.hidden) == ("check-double-polish.test_of_nothing", 0, False)
    assert polish.strip() in numbers.released_checks


def test_learner_side_sections_stand_anywhere_and_earn_nothing():
    side = "# %% learner-side\ndef halves(x):\n    return double(x) / 4\n\n\n"
    text = NUMBERS_CHECKS.replace("# %% triple points", f"{side}# %% triple points") + "\n\n" + side
    numbers = lesson(checks=text)
    assert [c.title for c in numbers.learner_side] == ["learner-side"] * 2
    assert [c.id for c in numbers.checks] == [c.id for c in lesson().checks]


def test_comments_and_text_between_the_sections_of_checks_are_no_sections():
    text = NUMBERS_CHECKS.replace("# %% triple", "# %% [markdown]\n# About three.\n\n# %% triple")
    assert [c.id for c in lesson(checks=text).checks] == [c.id for c in lesson().checks]


def test_an_exercise_needs_no_hints():
    assert [e.hints for e in lesson(hints="").exercises] == [(), ()]
    text = "## triple\n\n1. Only this one,\n   in two lines\n\n   and a paragraph.\n"
    double, triple = lesson(hints=text).exercises
    assert double.hints == ()
    assert triple.hints == ("Only this one,\nin two lines\n\nand a paragraph.",)


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
    "not a marker: ### BEGIN HIDDEN TESTS": (  # the form that lessons had before
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
    "checks='triple': no exercise of that name with visible checks is above": (
        'checks="double"',
        'checks="triple"',
    ),
    "checks='double': no exercise of that name with visible checks is above, "
    "or its checks were run already": ('checks="triple"', 'checks="double"'),
    "nothing runs the checks of exercise triple": (CHECK_TRIPLE, "", "#| export"),
    "no cell says where the lesson is exported to": (
        "#| default_exp core.numbers\n",
        "x = 1\n",
        "# %% [markdown]",
    ),
    "`#| default_exp numbers`": (
        "#| default_exp core.numbers\n",
        "#| default_exp numbers\n",
        "#| default_exp numbers",
    ),
    "2 in the lesson": ("#| exporti", "#| default_exp core.numbers"),
}
# of lesson.toml
FACTS = {
    "`title` is missing": ('title = "Numbers"\n', "", "summary"),
    "`title` is 3": ('title = "Numbers"', "title = 3"),
    "`terms` is missing": ("terms = []\n", "", "title"),
    "`difficulty` is 6": ("difficulty = 1", "difficulty = 6"),
    "`difficulty` is True": ("difficulty = 1", "difficulty = true"),
    "`prerequisites` is [1]": ("prerequisites = []", "prerequisites = [1]"),
    "`pytorch` is [1]": ("terms = []", "terms = []\npytorch = [1]", "pytorch"),
    "`pytorch` is {'double': 2}": ("terms = []", "terms = []\n[pytorch]\ndouble = 2", "[pytorch]"),
    "`synonyms` is {'double': 'twice'}": (
        "terms = []",
        'terms = []\n[synonyms]\ndouble = "twice"',
        "[synonyms]",
    ),
    "'colour' means nothing here": ("terms = []", 'terms = []\ncolour = "red"', "colour"),
    "it is not valid TOML": ("terms = []", "terms = [", "title"),
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
    "the section double is behind a later one, or is there twice": (
        NUMBERS_CHECKS[NUMBERS_CHECKS.index("# %% double") :],
        SECTION + "\n\n" + NUMBERS_CHECKS[NUMBERS_CHECKS.index("# %% double") :],
        "# %% double",
    ),
    "the section triple is behind a later one, or is there twice": (
        SECTION,
        SECTION + "\n\n" + SECTION.replace("def test_", "def test_again_"),
        "# %% triple",
    ),
    "the section double is behind": (  # visible before hidden
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
    "triple has no check 'triples' that": ("Use `double`", 'When "triples" fails: no', "## triple"),
    "this belongs to no hint: Think.": ("## triple\n", "## triple\n\nThink.\n", "Think."),
}
FORMS = {  # file: what is wrong with it, the file's text, the argument of `lesson`
    "numbers_dev.py": (CHAPTER, NUMBERS, "chapter"),
    "lesson.toml": (FACTS, NUMBERS_FACTS, "facts"),
    "checks.py": (CHECKS, NUMBERS_CHECKS, "checks"),
    "hints.md": (HINTS, NUMBERS_HINTS, "hints"),
}


@pytest.mark.parametrize(("points", "each"), [(2, [1, 1]), (5, [3, 2]), (7, [4, 3]), (8, [4, 4])])
def test_points_need_not_be_a_multiple_of_the_tests(points, each):
    checks = NUMBERS_CHECKS.replace("# %% double points=4", f"# %% double points={points}")
    exercise = lesson("numbers", checks=checks).exercise("double")
    assert ([check.points for check in exercise.checks], exercise.points) == (each, points)


@pytest.mark.parametrize(
    ("file", "said"), [(file, said) for file, (words, _, _) in FORMS.items() for said in words]
)
def test_a_damaged_lesson_is_reported_with_file_and_line(tmp_path, file, said):
    damage, text, argument = FORMS[file]
    old, new, *named = damage[said]
    assert text.count(old) == 1
    text = text.replace(old, new)
    with pytest.raises(TitoError) as error:
        lesson(**{argument: text}, within=tmp_path)
    assert said in error.value.what and error.value.remedy
    line = int(re.search(rf"01_numbers/{re.escape(file)}:(\d+): ", error.value.what).group(1))
    assert (named or [new])[0] in text.split("\n")[line - 1]


def test_the_second_of_two_exercises_of_one_name_is_reported_with_the_place_of_the_first():
    with pytest.raises(TitoError) as error:
        lesson(chapter=NUMBERS.replace('exercise="triple"', 'exercise="double"'))
    rows = NUMBERS.split("\n")
    second, first = rows.index('# %% exercise="triple"') + 1, rows.index('# %% exercise="double"')
    assert f"numbers_dev.py:{second}: exercise 'double'" in error.value.what
    assert f"(first in 01_numbers/numbers_dev.py:{first + 2})" in error.value.what


def test_an_exercise_without_a_check_is_reported():
    with pytest.raises(
        TitoError, match=r"checks\.py: exercise triple has no check that learners see"
    ) as error:
        lesson(checks=NUMBERS_CHECKS[: NUMBERS_CHECKS.index("# %% triple")])
    assert "# %% triple points=2" in error.value.remedy


def test_a_check_above_its_exercise_is_reported():
    cell = '# %% checks="double"\ncheck("double")\n\n'
    above = NUMBERS.replace(cell, "").replace(
        '# %% exercise="double"', cell + '# %% exercise="double"'
    )
    with pytest.raises(TitoError, match="checks='double': no exercise of that name"):
        lesson(chapter=above)


def test_an_exercise_with_hidden_checks_only_is_reported():
    hidden = SUMS_CHECKS.index("# %% total hidden")
    checks = SUMS_CHECKS[:hidden].split("# %%")[0] + SUMS_CHECKS[hidden:]
    with pytest.raises(TitoError, match="exercise total has no check that learners see"):
        lesson("sums", checks=checks)


def test_a_lesson_without_an_exercise_is_reported():
    text = SUMS.replace(' exercise="total"', "").replace(' checks="total"\ncheck("total")', "")
    text = re.sub(r"    ### (BEGIN|END) SOLUTION\n", "", text)
    with pytest.raises(TitoError, match="the lesson has no exercise"):
        lesson("sums", chapter=text)


def test_a_file_of_the_lesson_that_is_missing_is_reported(tmp_path):
    folder = make_course(tmp_path) / "modules" / "source" / "01_numbers"
    assert load_lesson(folder / "numbers_dev.py").points == 5
    (folder / "hints.md").unlink()
    assert load_lesson(folder / "numbers_dev.py").exercises[0].hints == ()
    (folder / "hints.md").write_bytes(b"## double\n\n1. \xff\n")
    with pytest.raises(TitoError, match=r"hints\.md cannot be read"):
        load_lesson(folder / "numbers_dev.py")
    (folder / "hints.md").unlink()
    (folder / "checks.py").unlink()
    with pytest.raises(TitoError, match=r"checks\.py does not exist"):
        load_lesson(folder / "numbers_dev.py")


def test_the_lack_of_a_lesson_toml_is_told_with_what_brings_it_back(tmp_path):
    folder = make_course(tmp_path) / "modules" / "source" / "01_numbers"
    (folder / "lesson.toml").unlink()
    with pytest.raises(TitoError, match=r"lesson\.toml does not exist") as error:
        load_lesson(folder / "numbers_dev.py")
    assert "tito update COURSE" in error.value.remedy


def test_line_endings_of_any_system_read_the_same(tmp_path):
    folder = make_course(tmp_path) / "modules" / "source" / "01_numbers"
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    numbers = load_lesson(folder / "numbers_dev.py")
    assert (numbers.released, numbers.released_checks) == (
        lesson().released,
        lesson().released_checks,
    )
    assert [e.hints for e in numbers.exercises] == [e.hints for e in lesson().exercises]


def test_the_folder_gives_number_and_name(tmp_path):
    assert (lesson("sums").number, lesson("sums").name, lesson("sums").folder) == (
        2,
        "sums",
        "02_sums",
    )
    path = tmp_path / "x_Numbers" / "Numbers_dev.py"
    with pytest.raises(TitoError, match="named like 02_tensor"):
        parse_lesson(cells.parse(path, NUMBERS), cells.parse(path, NUMBERS_CHECKS), NUMBERS_FACTS)
