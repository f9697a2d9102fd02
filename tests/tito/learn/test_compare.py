"""tito/learn/compare.py and measure.py: an exercise that is right, beside the solution."""

import json
import types

import numpy as np
import pytest
from commands import tito
from rich.console import Console
from small_course import edit, solve

from tito import views
from tito.learn import compare, measure
from tito.lesson import course

LOOP = """\
    total = 0
    for _ in range(2):
        total = total + x
    return total"""
STUB = '    raise NotImplementedError("exercise numbers-double is yours'


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


def test_it_shows_both_and_what_was_found_out_of_both(entry):
    write(entry)
    done = compared(entry)
    assert done.yours.code == f"def double(x):\n{LOOP}"
    assert done.solution.code == "def double(x):\n    twice = x + x\n    return twice"
    assert (done.yours.loops, done.solution.loops) == (1, 0)
    assert (done.yours.calls, done.solution.calls, done.checks) == (2, 2, 2)
    assert done.yours.seconds > 0 and done.yours.operations is done.yours.memory is None
    assert done.differences[0] == "yours loops in Python, the solution does not"


def test_a_result_in_the_memory_that_was_given_is_told(entry):
    write(entry, "    return np.add(x, x, out=x) if isinstance(x, np.ndarray) else x * 2")
    done = compared(entry)
    assert (done.yours.views, done.solution.views) == (1, 0)
    assert "yours returns memory that it was given, the solution makes a copy" in done.differences


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (None, "is not written yet"),
        ("    return x * x * x", "does not pass its checks"),
        ("    import os; os._exit(3)", "does not pass its checks"),
        ("    return (", "syntax error"),
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


def test_a_solution_that_does_not_run_in_the_lesson_is_shown_unmeasured(entry):
    write(entry)
    edit(entry.root.reference.lesson("numbers"), "twice = x + x", "twice = x + missing")
    done = compared(entry)
    assert "missing" in done.solution.code and done.checks == 0
    assert done.unmeasured == "the solution does not pass the checks in your lesson"


def test_json_has_the_same_values(entry):
    write(entry)
    out = json.loads(tito(entry.root, "compare", "double", "--json")[0])
    assert out["exercise"] == "numbers-double" and out["yours"]["loops"] == 1


def test_the_texts_stand_side_by_side_where_there_is_room():
    sides = (compare.Side(f"def double(x):\n    return {code}", 0) for code in ("x + x", "2 * x"))
    done = compare.Comparison("numbers-double", "numbers_dev.py:48", *sides)
    for width, rows in ((60, 1), (30, 2)):
        console = Console(width=width, force_terminal=True, color_system=None)
        with console.capture() as captured:
            console.print(views.comparison(done))
        lines = captured.get().split("\n")
        assert sum("def double" in line for line in lines) == rows


# Where it is shown


def test_a_course_may_keep_its_solutions_to_itself(entry, small_course):
    solve(entry)
    config = small_course.path / "tito.toml"
    config.write_text(config.read_text(encoding="utf-8") + "compare = false\n", encoding="utf-8")
    _, err = tito(entry.root, "compare", "double", code=2)
    assert "does not show its solutions" in err and err.count("\n") == 2
    _, err = tito(
        small_course, "release", small_course.path.parent / "r", "--with-solutions", code=2
    )
    assert "compare = false" in err
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("false", '"no"'), encoding="utf-8")
    assert "compare is 'no'" in tito(small_course, "status", code=3)[1]


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


def test_only_a_release_made_with_its_solutions_shows_them(small_course, tmp_path):
    folder = tmp_path / "release"
    out, _ = tito(small_course, "release", folder, "--with-solutions")
    assert "with the solutions: whoever opens a file can read them" in out
    entry = course.open_root(folder).lesson("numbers")
    write(entry)
    assert compared(entry).solution.code == "def double(x):\n    twice = x + x\n    return twice"
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


# What is measured


def metered(source, names):
    """(module of that source, its Meter)."""
    module, meter = types.ModuleType("made"), measure.Meter()
    exec(source, vars(module))
    measure.hook(module, names, meter)
    return module, meter


def test_only_the_outermost_call_is_counted_and_a_function_handed_on_is_the_same():
    module, meter = metered(
        "def f(n, *, step=1):\n    return f(n - step) if n else 0\ntable = [f]\n", ["f"]
    )
    assert module.table[0](5) == 0 and module.f(2, step=2) == 0 and meter.calls == 2
    assert meter.seconds > 0


def test_methods_and_static_methods_are_hooked_and_generators_are_not():
    module, meter = metered(
        "class A:\n"
        "    def f(self):\n        return 1\n"
        "    @staticmethod\n    def g():\n        return 2\n"
        "    def h(self):\n        yield 3\n",
        ["A"],
    )
    assert (module.A().f(), module.A.g(), *module.A().h()) == (1, 2, 3) and meter.calls == 2


def test_operations_of_the_engine_are_its_calls_of_apply():
    source = (
        "def apply(op, x):\n    return op(x)\ndef f(x):\n    return apply(abs, apply(abs, x))\n"
    )
    module, meter = metered(source, ["f"])
    meter.entries = {module.apply.__code__}
    meter.begin(meter.count)
    module.f(-1)
    module.apply(abs, 1)  # not the exercise's
    assert meter.operations == 2


def test_memory_is_that_of_one_call_at_its_most():
    module, meter = metered("def f(n):\n    return len(bytearray(n))\n", ["f"])
    meter.begin(meter.trace)
    module.f(1_000_000)
    module.f(2_000_000)
    assert 2_000_000 <= meter.memory < 2_100_000


def test_results_are_counted_that_lie_in_memory_that_was_given():
    module, meter = metered("def f(x):\n    return x[:2]\n", ["f"])
    facts = measure.measure(None, lambda check: module.f(np.arange(3)), meter)
    assert facts["calls"] == facts["views"] == 1 and "operations" not in facts
    assert measure.measure(None, lambda check: None, meter)["calls"] == 0


@pytest.mark.parametrize(
    ("yours", "solution", "said"),
    [
        (dict(seconds=9e-4), dict(seconds=1e-4), ["yours takes 9.0 times as long as the solution"]),
        (dict(seconds=1e-4), dict(seconds=9e-4), ["the solution takes 9.0 times as long as yours"]),
        (dict(seconds=9e-6), dict(seconds=1e-6), []),
        (dict(memory=4e6), dict(memory=1e6), ["yours needs 4.0 times the memory of the solution"]),
        (
            dict(operations=4),
            dict(operations=2),
            ["yours uses 4 operations of the engine, the solution 2"],
        ),
        (dict(), dict(), []),
    ],
)
def test_what_differs_in_kind_is_said_and_nothing_else(yours, solution, said):
    first, second = (compare.Side("", 0, **facts) for facts in (yours, solution))
    assert compare.differences(first, second) == said
