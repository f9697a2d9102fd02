"""Recorded mistakes are read right, and every lesson has its share. That they are caught is for test_check.py."""

from pathlib import Path

import pytest
from small_course import make_course

from tito.errors import TitoError
from tito.lesson import course, misconceptions

COURSE = course.open_root(Path(__file__).resolve().parents[3])


@pytest.mark.parametrize("entry", COURSE.lessons, ids=lambda e: e.name)
def test_every_lesson_records_its_share_of_mistakes(entry):
    assert len(misconceptions.load(entry.declared)) >= (15 if entry.name == "autograd" else 8)


GOOD = '[[misconception]]\nid = "a"\nexercise = "numbers-double"\nmistake = "Squares."\nold = "x + x"\nnew = "x * x"\nmessage = "did you square"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace('id = "a"\n', ""), "has the keys"),
        (GOOD.replace('"Squares."', "3"), "has the keys"),
        (GOOD + GOOD, "'a' is there twice"),
        (GOOD.replace("x + x", "x - x"), "`old` stands 0 times"),
        (GOOD.replace('"x + x"', '"x"'), "times in numbers-double"),
        (GOOD.replace("numbers-double", "halve"), "no exercise 'halve'"),
        ("[[", "misconceptions.toml"),
    ],
)
def test_a_misconception_that_does_not_fit_is_told(tmp_path, text, said):
    entry = course.open_root(make_course(tmp_path)).lesson("numbers")
    entry.script.with_name("misconceptions.toml").write_text(text, encoding="utf-8")
    with pytest.raises(TitoError) as error:
        misconceptions.load(entry.declared)
    assert said in error.value.what


def test_a_mistake_is_made_in_its_own_exercise_only(tmp_path):
    entry = course.open_root(make_course(tmp_path)).lesson("numbers")
    entry.script.with_name("misconceptions.toml").write_text(GOOD, encoding="utf-8")
    (one,) = misconceptions.load(entry.declared)
    assert one.apply(entry.declared) == entry.script.read_text(encoding="utf-8").replace(
        "twice = x + x", "twice = x * x"
    )
