"""Recorded mistakes and right solutions are read. test_check.py tests that checks catch the first
and accept the others.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_course import make_course

from tito.errors import TitoError
from tito.lesson import course, mistakes

CHANGE = """\
# %% double mistake a: Squares.
#> did you square
#- twice = x + x
twice = x * x
"""
WHOLE = """\
# %% double mistake: Squares again.
#> did you square
if x is None:
    return 0

return x * x
"""
RIGHT = """\
# %% double right: Multiplies by two.
#- twice = x + x
twice = 2 * x
"""
EQUAL = "# %% double equivalent: Same.\n#= `x + x` -> `(x) + (x)`\n"


@pytest.fixture
def recorded(tmp_path):
    entry = course.open_root(make_course(tmp_path)).lesson("numbers")

    def record(text):
        entry.script.with_name("mistakes.py").write_text(text, encoding="utf-8")
        return entry.declared

    return record


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (CHANGE + "# %% double\n", 5, "this line begins no section"),
        (CHANGE + "# %% double mistake squares\n", 5, "this line begins no section"),
        (CHANGE.replace(" Squares.", ""), 1, "this line begins no section"),
        (CHANGE.replace("mistake a", "error"), 1, "this line begins no section"),
        (CHANGE.replace("#> did you square\n", ""), 1, "this section has code below its head."),
        (CHANGE.replace("#> did you square\n", "#>\n"), 1, "this section has code below its head."),
        (CHANGE.replace("#- ", "#= `x` -> `y`\n#- "), 1, "has message and changes and code"),
        (
            "# %% double mistake: Nothing.\n#> did you\n\n",
            1,
            "this section has message below its head.",
        ),
        ("# %% double right: Nothing.\n", 1, "this section has nothing below its head."),
        (RIGHT.replace("#- ", "#> did you\n#- "), 1, "has message and code below its head."),
        (EQUAL + "x = x\n", 1, "this section has changes and code below its head."),
        (CHANGE + CHANGE, 5, "'a' is there twice"),
        (WHOLE + WHOLE, 7, "'squares-again' is there twice"),
        (RIGHT + "\n" + RIGHT, 5, "'multiplies-by-two' is there twice"),
        (CHANGE.replace("double", "halve"), 1, "no exercise 'halve'"),
        (EQUAL.replace("double", "halve"), 1, "no exercise 'halve'"),
        (CHANGE.replace("- twice = x + x", "- twice = x - x"), 3, "`twice = x - x` is not in"),
        (CHANGE.replace("+ x\n", "+ x\n#- return 2\n"), 4, "`return 2` is not in the solution"),
        (
            CHANGE.replace("+ x\n", "+ x\n#- twice = x + x\n"),
            3,
            "are 0 times in the solution, one below the other",
        ),
        (
            CHANGE.replace("+ x\n", "+ x\n#-     return twice\n"),
            3,
            "are 0 times in the solution, one below the other",
        ),
        (CHANGE.replace("\ntwice", "\n    twice"), 4, "this is no Python: unexpected indent"),
        (WHOLE.replace("return 0", "return (0"), 4, "this is no Python: '(' was never closed"),
        (CHANGE.replace("#- ", "y = 1\n#- "), 3, "this code is above the `#-` lines"),
        (CHANGE.replace("#- ", "#-\n#- "), 3, "these lines are 0 times"),
    ],
)
def test_what_does_not_fit_is_reported_with_its_line(recorded, text, line, said):
    with pytest.raises(TitoError) as error:
        mistakes.load(recorded(text))
    assert f"mistakes.py:{line}: " in error.value.what
    assert said in error.value.what and error.value.remedy


def test_lines_that_are_there_twice_are_reported(recorded, tmp_path):
    lesson = recorded(CHANGE)
    text = lesson.source.text.replace("    twice = x + x\n", 2 * "    twice = x + x\n")
    lesson.path.write_text(text, encoding="utf-8")
    again = course.open_root(tmp_path).lesson("numbers").declared
    with pytest.raises(TitoError, match=r"mistakes\.py:3: these lines are 2 times in the") as error:
        mistakes.load(again)
    assert "enough of them that they are there once" in error.value.remedy
    recorded(CHANGE.replace("+ x\n", "+ x\n#- return twice\n"))
    (mistake,) = mistakes.load(again).mistakes
    assert "    twice = x + x\n    twice = x * x\n" in mistake.cell


def test_a_changed_solution_reports_every_section_that_does_not_fit_any_more(recorded):
    old = CHANGE.replace("x + x", "x - x")
    with pytest.raises(TitoError) as error:
        mistakes.load(recorded(f"{old}\n{RIGHT}\n{old}\n{WHOLE}\n{old}"))
    assert "mistakes.py:3: " in error.value.what
    assert error.value.what.endswith("There are more problems in the lines 12, 24.")


def test_only_the_named_exercises_have_to_fit(recorded):
    lesson = recorded(CHANGE + "\n# %% triple right: Three.\n#- return 1\nreturn 3\n")
    assert len(mistakes.load(lesson, {"numbers-double"}).mistakes) == 1
    with pytest.raises(TitoError, match=r"mistakes\.py:7: `return 1` is not in the solution"):
        mistakes.load(lesson, {"numbers-triple"})


def test_a_mistake_is_made_in_its_own_exercise_only(recorded):
    lesson = recorded(CHANGE)
    (mistake,) = mistakes.load(lesson).mistakes
    assert (mistake.id, mistake.exercise, mistake.name) == ("a", "numbers-double", "Squares.")
    assert mistake.message == "did you square"
    assert mistake.apply(lesson) == lesson.source.text.replace("twice = x + x", "twice = x * x")


def test_code_without_old_lines_replaces_the_whole_solution(recorded):
    lesson = recorded(WHOLE)
    (mistake,) = mistakes.load(lesson).mistakes
    assert mistake.id == "squares-again"  # made from the name
    assert mistake.apply(lesson) == lesson.source.text.replace(
        "    twice = x + x\n    return twice\n",
        "    if x is None:\n        return 0\n\n    return x * x\n",
    )


def test_the_new_lines_have_the_indentation_of_the_old_ones(recorded):
    lesson = recorded(
        "# %% double right: Two changes.\n#- twice = x + x\ntwice = [x]\n"
        "for y in twice:\n\n    x = x + y\n\n#- return twice\nreturn x\n\n"
        "# %% double right: Lines go.\n#- twice = x + x\n\n#- return twice\nreturn x + x\n"
    )
    two, gone = mistakes.load(lesson).rights
    new = "    twice = [x]\n    for y in twice:\n\n        x = x + y\n    return x\n"
    assert new in two.cell and "twice" not in gone.cell.partition("BEGIN")[2]


def test_long_names_and_messages_go_on_in_further_lines(recorded):
    lesson = recorded(
        "# The file may begin with comments.\n\n# %% double mistake: Squares the\n# number.\n"
        "#> did you\n#> square\nreturn x * x\n\n"
        "# %% double right long:\n# Multiplies.\n\n# A comment of the code.\nreturn 2 * x\n"
    )
    recorded_here = mistakes.load(lesson)
    (mistake,), (right,) = recorded_here.mistakes, recorded_here.rights
    assert (mistake.name, mistake.id) == ("Squares the number.", "squares-the-number")
    assert mistake.message == "did you square"
    assert (right.name, right.id) == ("Multiplies.", "long")
    assert "    # A comment of the code.\n    return 2 * x\n" in right.cell


def test_the_whole_does_not_fit_an_exercise_with_two_solutions(recorded, tmp_path):
    lesson = recorded(WHOLE)
    halves = "    twice = x + x\n    ### END SOLUTION\n    ### BEGIN SOLUTION\n    return twice\n"
    text = lesson.source.text.replace("    twice = x + x\n    return twice\n", halves)
    lesson.path.write_text(text, encoding="utf-8")
    with pytest.raises(TitoError, match="mistakes.py:1: its exercise has 2 solutions") as error:
        mistakes.load(course.open_root(tmp_path).lesson("numbers").declared)
    assert error.value.remedy == "Write `#-` lines, and below them the new ones."


def test_mistakes_and_right_solutions_are_kept_apart(recorded):
    other = RIGHT.replace("by two", "by 2").replace("2 * x", "x*2")
    found = mistakes.load(recorded("\n".join([CHANGE, RIGHT, WHOLE, other, EQUAL])))
    assert [mistake.id for mistake in found.mistakes] == ["a", "squares-again"]
    assert [right.id for right in found.rights] == ["multiplies-by-two", "multiplies-by-2"]
    assert [right.message for right in found.rights] == ["", ""]
    assert "    twice = 2 * x\n" in found.rights[0].cell
    assert found.equivalent == {("numbers-double", "`x + x` -> `(x) + (x)`"): "Same."}


def test_one_reason_may_be_that_of_several_mutations(recorded):
    found = mistakes.load(recorded(EQUAL + "#= `x` -> `y`\n"))
    assert [change for _, change in found.equivalent] == ["`x + x` -> `(x) + (x)`", "`x` -> `y`"]


def test_code_above_the_first_section_is_not_ignored(recorded):
    lesson = recorded(f"# Mistakes of this lesson.\n\ntwice = 3 * x\n\n{EQUAL}")
    with pytest.raises(TitoError, match="`twice = 3 \\* x` is above the first section"):
        mistakes.load(lesson)


def test_a_lesson_without_the_file_has_none(recorded):
    lesson = recorded("")
    lesson.path.with_name("mistakes.py").unlink()
    assert mistakes.load(lesson) == mistakes.Recorded()


def indented(lines):
    return [f"    {line}" if line else "" for line in lines]


LINES = st.lists(st.sampled_from(["x = 1", "    y = 2", "", "return x", "z"]), min_size=1)


@given(LINES, LINES, st.data())
def test_any_lines_of_a_solution_can_be_replaced(before, new, data):
    """Written as `#-` lines and new ones, a change gives the changed solution, or is refused
    because its lines are there more than once, or begin with an empty one.
    """
    first = data.draw(st.integers(0, len(before) - 1))
    last = data.draw(st.integers(first, len(before) - 1))
    new = "\n".join(new).strip("\n").split("\n") if any(new) else []
    lines = ["def f():", *indented(before)]
    code = [f"#- {line}".rstrip() for line in before[first : last + 1]] + new
    try:
        changed = mistakes.changed_cell("\n".join(lines), "\n".join(code) + "\n", 1)
    except mistakes.Misfit as misfit:
        assert misfit.line == 1 and "times in" in str(misfit)
        return
    assert before[first]
    wanted = [*lines[: first + 1], *indented(new), *lines[last + 2 :]]
    assert changed.split("\n") == wanted
