"""Recorded mistakes and right solutions are read right, and every lesson has its share. That they
are
told from each other is for test_check.py."""

from pathlib import Path

import pytest
from small_course import make_course

from tito.errors import TitoError
from tito.lesson import course, misconceptions

COURSE = course.open_root(Path(__file__).resolve().parents[3])


@pytest.mark.parametrize("entry", COURSE.lessons, ids=lambda e: e.name)
def test_every_lesson_records_its_share_of_mistakes(entry):
    assert len(misconceptions.load(entry.declared)) >= (15 if entry.name == "autograd" else 8)


GOOD = """\
[[mistake]]
id = "a"
exercise = "double"
name = "Squares."
message = "did you square"
old = "x + x"
new = "x * x"
"""
CODE = '''\
[[mistake]]
exercise = "double"
name = "Squares, too."
message = "did you square"
code = """
if x is None:
    return 0
return x * x
"""
'''
RIGHT = """\
[[right]]
exercise = "double"
name = "Multiplies by two."
old = "x + x"
new = "2 * x"
"""


@pytest.fixture
def recorded(tmp_path):
    entry = course.open_root(make_course(tmp_path)).lesson("numbers")

    def record(text):
        entry.script.with_name("misconceptions.toml").write_text(text, encoding="utf-8")
        return entry.declared

    return record


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace('name = "Squares."\n', ""), "a has the keys id, exercise, message, old, new"),
        (GOOD.replace('message = "did you square"\n', ""), "a has the keys"),
        (GOOD.replace('exercise = "double"\n', ""), "a has the keys"),
        (GOOD.replace('new = "x * x"\n', ""), "a has the keys"),
        (GOOD.replace('old = "x + x"\n', ""), "a has the keys"),
        (GOOD + 'code = "return x * x"\n', "a has the keys"),
        (GOOD + 'note = "?"\n', "a has the keys"),
        (GOOD.replace('id = "a"\n', "").replace('new = "x * x"\n', ""), "Squares. has the keys"),
        (GOOD.replace('"Squares."', "3"), "has the keys"),
        (GOOD.replace('"did you square"', '""'), "has the keys"),
        (GOOD + GOOD, "'a' is there twice"),
        (CODE + CODE, "'squares-too' is there twice"),
        (GOOD.replace("x + x", "x - x"), "`old` is 0 times in double"),
        (GOOD.replace('"x + x"', '"x"'), "times in double"),
        (GOOD.replace('"double"', '"halve"'), "no exercise 'halve'"),
        (CODE.replace('"double"', '"halve"'), "no exercise 'halve'"),
        ("[[", "misconceptions.toml"),
    ],
)
def test_a_mistake_that_does_not_fit_is_reported(recorded, text, said):
    with pytest.raises(TitoError) as error:
        misconceptions.load(recorded(text))
    assert said in error.value.what and error.value.remedy


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (RIGHT + 'message = "x"\n', "Multiplies by two. has the keys"),
        (RIGHT.replace('new = "2 * x"\n', ""), "has the keys"),
        (RIGHT + RIGHT, "'multiplies-by-two' is there twice"),
        (RIGHT.replace('"x + x"', '"x - x"'), "`old` is 0 times"),
    ],
)
def test_a_right_solution_that_does_not_fit_is_reported(recorded, text, said):
    with pytest.raises(TitoError) as error:
        misconceptions.load(recorded(text), "right")
    assert said in error.value.what and error.value.remedy


def test_a_mistake_is_made_in_its_own_exercise_only(recorded):
    lesson = recorded(GOOD)
    (numbers,) = misconceptions.load(lesson)
    assert (numbers.id, numbers.exercise, numbers.name) == ("a", "numbers-double", "Squares.")
    assert numbers.message == "did you square"
    assert numbers.apply(lesson) == lesson.source.text.replace("twice = x + x", "twice = x * x")


def test_code_replaces_the_whole_solution(recorded):
    lesson = recorded(CODE)
    (numbers,) = misconceptions.load(lesson)
    assert numbers.id == "squares-too"  # made from the name
    assert numbers.apply(lesson) == lesson.source.text.replace(
        "    twice = x + x\n    return twice\n",
        "    if x is None:\n        return 0\n    return x * x\n",
    )


def test_code_does_not_fit_an_exercise_with_two_solutions(recorded, tmp_path):
    lesson = recorded(CODE)
    halves = "    twice = x + x\n    ### END SOLUTION\n    ### BEGIN SOLUTION\n    return twice\n"
    text = lesson.source.text.replace("    twice = x + x\n    return twice\n", halves)
    lesson.path.write_text(text, encoding="utf-8")
    with pytest.raises(TitoError, match="its exercise has 2 solutions") as error:
        misconceptions.load(course.open_root(tmp_path).lesson("numbers").declared)
    assert error.value.remedy == "Use old and new."


def test_mistakes_and_right_solutions_are_kept_apart(recorded):
    lesson = recorded(GOOD + RIGHT + CODE + RIGHT.replace("by two", "by 2").replace("2 * x", "x*2"))
    assert [numbers.id for numbers in misconceptions.load(lesson)] == ["a", "squares-too"]
    rights = misconceptions.load(lesson, "right")
    assert [numbers.id for numbers in rights] == ["multiplies-by-two", "multiplies-by-2"]
    assert [numbers.message for numbers in rights] == ["", ""]
    assert "    twice = 2 * x\n" in rights[0].apply(lesson)


def test_a_lesson_without_the_file_has_none(recorded):
    lesson = recorded("")
    lesson.path.with_name("misconceptions.toml").unlink()
    assert misconceptions.load(lesson) == misconceptions.load(lesson, "right") == []
    assert misconceptions.equivalent(lesson) == {}


EQUAL = '[[equivalent]]\nexercise = "double"\nchange = "`x + x` -> `(x) + (x)`"\nreason = "Same."\n'


def test_equivalent_mutations_are_known_by_exercise_and_change(recorded):
    result = misconceptions.equivalent(recorded(EQUAL))
    assert result == {("numbers-double", "`x + x` -> `(x) + (x)`"): "Same."}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (EQUAL.replace("Same.", " "), "an [[equivalent]] has the keys"),
        (EQUAL.replace('reason = "Same."\n', ""), "has the keys exercise, change"),
        (EQUAL + 'more = "x"\n', "has the keys exercise, change, reason, more"),
        (EQUAL.replace('"double"', '"halve"'), "no exercise 'halve'"),
    ],
)
def test_an_equivalent_mutation_that_does_not_fit_is_reported(recorded, text, said):
    with pytest.raises(TitoError) as error:
        misconceptions.equivalent(recorded(text))
    assert said in error.value.what and error.value.remedy
