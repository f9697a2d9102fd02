"""The checks of every lesson tell right from wrong: stubs fail, solutions pass, recorded mistakes are caught and named."""

from pathlib import Path

import pytest
from small_course import make_course

from tito import cells, course, misconceptions, verdict, workspace
from tito.errors import TitoError
from tito.lesson import Lesson

COURSE = course.open_root(Path(__file__).resolve().parents[2])
RECORDED = [(entry, one) for entry in COURSE.lessons for one in misconceptions.load(entry.declared)]


@pytest.fixture(scope="session")
def warm():
    with verdict.Process(warm=True) as process:
        yield process


@pytest.fixture(scope="session")
def solved(tmp_path_factory):
    """A workspace whose lessons hold the course's solutions."""
    folder = tmp_path_factory.mktemp("solved") / "work"
    workspace.init(folder, COURSE)
    root = course.open_root(folder)
    for entry in root.lessons:
        entry.script.write_bytes(COURSE.lesson(entry.name).script.read_bytes())
    return root


def outcome(solved, warm, name, text):
    """What the checks say of a lesson's text; the file is put back."""
    entry = solved.lesson(name)
    before = entry.script.read_bytes()
    entry.script.write_text(text, encoding="utf-8")
    try:
        return verdict.test(entry, process=warm)
    finally:
        entry.script.write_bytes(before)


@pytest.mark.parametrize("entry", COURSE.lessons, ids=lambda e: e.name)
def test_the_solution_passes_every_check(solved, warm, entry):
    result = verdict.test(solved.lesson(entry.name), process=warm)
    assert result.passed, (result.reason, [(c.id, c.message) for c in result.checks if not c.passed])


@pytest.mark.parametrize("entry", COURSE.lessons, ids=lambda e: e.name)
def test_every_check_fails_on_the_release(solved, warm, entry):
    result = outcome(solved, warm, entry.name, entry.declared.released)
    assert [c.id for c in result.checks if c.passed] == []
    assert result.points == 0


@pytest.mark.parametrize(("entry", "exercise"), [pytest.param(e, x, id=x.id) for e in COURSE.lessons for x in e.declared.exercises])
def test_an_exercise_left_as_a_stub_fails_all_its_checks(solved, warm, entry, exercise):
    stub = Lesson(cells.parse(entry.script, entry.declared.released)).source.cell(exercise.id).source
    result = outcome(solved, warm, entry.name, entry.declared.source.replaced(exercise.cell, stub))
    assert [c.id for c in result.checks if c.passed and c.exercise == exercise.id] == []


@pytest.mark.parametrize(("entry", "one"), [pytest.param(e, m, id=f"{e.name}-{m.id}") for e, m in RECORDED])
def test_a_recorded_mistake_is_caught_and_named(solved, warm, entry, one):
    result = outcome(solved, warm, entry.name, one.apply(entry.declared))
    said = [c.message for c in result.checks if c.exercise == one.exercise and not c.passed]
    assert any(one.message in message for message in said), f"{one.mistake} The checks said: {said}"


@pytest.mark.parametrize("entry", COURSE.lessons, ids=lambda e: e.name)
def test_every_lesson_records_at_least_eight_mistakes(entry):
    assert len(misconceptions.load(entry.declared)) >= 8


GOOD = '[[misconception]]\nid = "a"\nexercise = "numbers-double"\nmistake = "Squares."\nold = "x + x"\nnew = "x * x"\nmessage = "did you square"\n'


@pytest.mark.parametrize(("text", "said"), [
    (GOOD.replace('id = "a"\n', ""), "has the keys"),
    (GOOD.replace('"Squares."', "3"), "has the keys"),
    (GOOD + GOOD, "'a' is there twice"),
    (GOOD.replace("x + x", "x - x"), "`old` stands 0 times"),
    (GOOD.replace('"x + x"', '"x"'), "times in numbers-double"),
    (GOOD.replace("numbers-double", "halve"), "no exercise 'halve'"),
    ("[[", "misconceptions.toml"),
])
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
    assert one.apply(entry.declared) == entry.script.read_text(encoding="utf-8").replace("twice = x + x", "twice = x * x")
