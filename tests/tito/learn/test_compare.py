"""tito/learn/compare.py: an exercise that is right, beside the solution."""

import json

import pytest
from commands import tito
from small_course import edit, solve

from tito.learn import compare
from tito.lesson import course

LOOP = """\
    total = 0
    for _ in range(2):
        total = total + x
    return total"""
STUB = '    raise NotImplementedError("yours to write: tito hint numbers-double'


@pytest.fixture
def entry(small_workspace):
    return small_workspace.lesson("numbers")


def write(entry, code=LOOP):
    """Write exercise double."""
    text = entry.script.read_text(encoding="utf-8")
    stub = next(line for line in text.split("\n") if line.startswith(STUB))
    entry.script.write_text(text.replace(stub, code), encoding="utf-8")


def compared(entry):
    return compare.compare(entry, entry.declared.exercise("double"))


def test_it_shows_both(entry):
    write(entry)
    result = compared(entry)
    assert result.yours == f"def double(x):\n{LOOP}"
    assert result.solution == "def double(x):\n    twice = x + x\n    return twice"


def test_of_a_lesson_it_shows_all_or_names_the_first_that_is_not_right(entry):
    write(entry)
    out, err = tito(entry.root, "compare", "numbers", code=1)
    assert "numbers-triple is not written yet" in err and not out
    solve(entry, "numbers-triple")
    out, _ = tito(entry.root, "compare", "numbers")
    assert out.index("twice = x + x") < out.index("def triple")
    assert [
        row["exercise"] for row in json.loads(tito(entry.root, "compare", "1", "--json")[0])
    ] == ["numbers-double", "numbers-triple"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (None, "is not written yet"),
        ("    return x * x * x", "does not pass its checks"),
        ("    import os; os._exit(3)", "does not pass its checks"),
        ("    return (", "does not pass its checks"),
    ],
    ids=["a stub", "wrong", "ends the process", "no Python"],
)
def test_until_it_is_right_nothing_is_shown(entry, code, said):
    if code:
        write(entry, code)
    out, err = tito(entry.root, "compare", "numbers-double", code=1)
    assert said in err and err.count("\n") == 2 and "twice" not in out + err


def test_a_lesson_that_was_never_tested_can_be_compared_and_nothing_is_recorded(entry):
    solve(entry)
    assert "return double(x) + x" in tito(entry.root, "compare", "triple")[0]
    assert not (entry.root.state / "progress.json").exists()


def test_json_has_the_same_values(entry):
    write(entry)
    out = json.loads(tito(entry.root, "compare", "double", "--json")[0])
    assert out["exercise"] == "numbers-double" and out["yours"] == f"def double(x):\n{LOOP}"


# Where it is shown


def test_a_course_may_keep_its_solutions_to_itself(entry, small_course):
    solve(entry)
    config = small_course.path / "tito.toml"
    config.write_text(config.read_text(encoding="utf-8") + "compare = false\n", encoding="utf-8")
    _, err = tito(entry.root, "compare", "double", code=2)
    assert "does not show its solutions" in err and err.count("\n") == 2
    assert "`tito hint numbers-double` helps further" in err
    _, err = tito(
        small_course, "release", small_course.path.parent / "r", "--with-solutions", code=2
    )
    assert "compare = false" in err
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("false", '"no"'), encoding="utf-8")
    assert "compare is 'no'" in tito(small_course, "status", code=2)[1]


def test_in_a_course_there_is_nothing_to_compare(small_course):
    _, err = tito(small_course, "compare", "double", code=2)
    assert "is the course itself" in err and err.count("\n") == 2


def test_an_exercise_that_the_course_has_changed_since_is_not_compared(entry, small_course):
    solve(entry)
    edit(small_course.lesson("numbers"), '"""Twice `x`.', '"""Twice `x`, or more.')
    assert "tito update" in tito(entry.root, "compare", "double", code=2)[1]


@pytest.mark.parametrize("name", ["tripel", "numbers-tripel", "x"])
def test_an_unknown_exercise_is_two_lines(entry, name):
    assert tito(entry.root, "compare", name, code=2)[1].count("\n") == 2


@pytest.mark.slow
def test_only_a_release_made_with_its_solutions_shows_them(small_course, tmp_path):
    folder = tmp_path / "release"
    out, _ = tito(small_course, "release", folder, "--with-solutions")
    assert "with the solutions, which every reader of the folder can see" in out
    entry = course.open_root(folder).lesson("numbers")
    write(entry)
    assert compared(entry).solution == "def double(x):\n    twice = x + x\n    return twice"
    texts = [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and b"twice = x + x" in path.read_bytes()
    ]
    assert texts == [".tito/pristine/01_numbers/solutions.py"]
    sums = (folder / ".tito/pristine/02_sums/solutions.py").read_text(encoding="utf-8")
    assert "test_total_of_nothing_is_zero" not in sums
    tito(small_course, "release", folder)
    assert not (folder / texts[0]).exists()
    _, err = tito(folder, "compare", "double", code=2)
    assert "This release does not hold the solutions" in err and err.count("\n") == 2
