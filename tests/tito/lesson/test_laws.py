"""What a function may do with the arguments that a check hands over, as in the judge."""

import copy
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from small_course import edit, solve, verdict_on

from tinytorch import Tensor
from tito.learn.run_checks import run_checks
from tito.lesson import cells
from tito.lesson.checks import CheckSuite, Section, called_names, suite_of
from tito.lesson.laws import Watch, add_cause


def call(f, *given, **named):
    """What a watched function returns, and the laws that are broken."""
    f.__module__ = "lesson"
    watch = Watch({"f": f, "__name__": "lesson"}, "package")
    watch.begin()
    try:
        out = watch.functions["f"](*given, **named)
        watch.replay()
    finally:
        broken = watch.end()
    return out, broken


def test_only_functions_of_the_lesson_that_are_only_called_are_watched():
    source = "def test_f():\n    f([3, 1])\n    np.ones(2)\n    assert op is g\n    g(1)\n"
    assert called_names(Section(source, "checks.py", 1), CheckSuite(())) == {"f"}
    setup = Section("def computed(f, x):\n    return f(x)\n", "checks.py", 1)
    section = Section("computed(g, 1)\napply(h, 1)\n", "checks.py", 1)  # a helper calls g
    assert {"g"} == called_names(section, CheckSuite((), (setup,))) & {"g", "h"}


@pytest.mark.parametrize(
    "change, given, words",
    [
        (lambda layers: layers.reverse(), [3, 1], "layers, [3, 1]: afterwards it is [1, 3]. Work"),
        (lambda x: x.sort(), np.array([3.0, 1.0]), "x, [3.0, 1.0]: afterwards it is [1.0, 3.0]"),
        (lambda x: x[0].append(2), ([1], 5), "x, [[1], 5]: afterwards it is [[1, 2], 5]"),
        (lambda options: options.pop("a"), {"a": 1}, "options, {'a': 1}: afterwards it is {}"),
        (lambda x: x[1].fill(np.nan), [0, np.zeros(1)], "x, [0, array([0.])]: afterwards"),
    ],
)
def test_a_changed_argument_is_named_with_both_values(change, given, words):
    (said,) = call(change, given)[1]
    assert f"f changes its argument {words}" in said


def test_a_tensor_whose_array_is_written_to_is_a_changed_argument():
    def f(x):
        x.data[0] = 7

    (said,) = call(f, Tensor([1.0, 2.0]))[1]
    assert "f changes its argument x, [1.0, 2.0]: afterwards it is [7.0, 2.0]" in said
    assert call(lambda state: state["x"].data.fill(0), {"x": Tensor([1.0])})[1] == []


def test_what_is_read_or_copied_passes():
    nan = np.array([np.nan, 1.0])
    assert call(lambda x, *, by=2: sorted(x) + [by], [3, 1], by=5) == ([1, 3, 5], [])
    assert call(lambda x: x.copy().fill(0), nan) == (None, [])


def test_texts_and_large_numbers_are_new_objects():
    word, size = "sum", 300
    assert not call(lambda x, **named: x is word or named["n"] is size, word, n=size)[0]
    assert call(lambda x, **named: x == word and named["n"] == size, word, n=size)[0]


def test_a_check_fails_by_it(small_workspace):
    entry = small_workspace.lesson("numbers")
    solve(entry)
    edit(entry, "    twice = x + x", "    twice = x\n    twice += x")
    (wrong,) = [check for check in verdict_on(entry).checks_run if not check.passed]
    assert wrong.id == "check-double.test_double_works_on_arrays"
    assert "double changes its argument x, [1, 3]: afterwards it is [2, 6]" in wrong.message


def test_what_the_check_says_itself_is_not_repeated():
    law = "f changes its argument x, [1]: afterwards it is [2]. Work on a copy"
    said, other = AssertionError("f changed its argument to [2]"), AssertionError("f(1) is 2")
    for error in (said, other):
        add_cause(error, [law])
    assert (str(said), str(other)) == ("f changed its argument to [2]", f"f(1) is 2\n{law}")


def test_a_function_of_the_checks_is_not_one_of_the_chapter_with_its_name():
    """As `check()` in a chapter has it, whose demonstrations define names of their own."""
    sections = "# %% setup\ndef more(x):\n    return x + 1\n\n\n"
    sections += "# %% f points=1\ndef test_f():\n    assert more(1) == f(2)\n"
    suite = suite_of(cells.parse(Path("checks.py"), sections).cells, "checks.py")
    space = {"more": lambda x: 0, "f": lambda x: x, "__name__": __name__}
    (_, done) = run_checks(suite, space, ["check-f.test_f"], lambda frame: False)
    assert done["status"] == "passed", done["message"]


def counted_class():
    """A class of a lesson, with the names of its module as an attribute, and its checks."""
    space = {"__name__": "lesson", "__builtins__": __builtins__}
    code = "class Counter:\n    names = globals()\n    def up(self, n):\n        return n + 1\n"
    exec(code, space)
    sections = "# %% up points=1\ndef test_up():\n    assert Counter().up(1) == 2\n"
    suite = suite_of(cells.parse(Path("checks.py"), sections).cells, "checks.py")
    return space, suite


def test_the_names_of_a_module_are_no_state_that_a_class_keeps():
    space, suite = counted_class()
    watch = Watch(space, "package")
    watch.begin()
    space["another"] = 1  # as a chapter defines names while its checks run
    assert watch.end() == [] and space["another"] == 1


def test_a_class_is_as_before_also_after_a_run_that_was_given_up():
    space, suite = counted_class()
    before = dict(vars(space["Counter"]))
    run = run_checks(suite, space, ["check-up.test_up"], lambda frame: False)
    next(run)
    assert vars(space["Counter"])["up"] is not before["up"]
    run.close()
    assert dict(vars(space["Counter"])) == before


def test_a_chapter_that_runs_as_a_script_may_draw_from_its_own_generator(monkeypatch):
    main = ModuleType("__main__")
    code = "import numpy as np\nshared = np.random.default_rng(0)\n"
    exec(f"{code}def draw(n):\n    return shared.normal(size=n)\n", vars(main))
    monkeypatch.setitem(sys.modules, "__main__", main)
    watch = Watch(vars(main), "package")
    watch.begin()
    watch.functions["draw"](3)
    watch.replay()
    assert watch.end() == []


@pytest.mark.parametrize(
    "promise, result",
    [
        ("int", 6.0),
        ("an int, 1 or more", np.int64(6)),
        ("float", np.float32(0.5)),
        ("a Python float from 0 to 1", np.array(0.5)),
        ("list of floats, one for each", (0.5, 1.0)),
        ("tuple of int", (1.0, 2)),
        ("tuple of int", 1),
        ("list of Python ints", [np.int64(1)]),
        ("list of str", ["a", b"b"]),
        ("int64 array of shape (n,)", np.arange(3, dtype="int32")),
        ("a new ndarray of the shape of x", [1.0]),
    ],
)
def test_a_result_has_the_type_that_its_docstring_promises(promise, result):
    def f():
        return copy.copy(result)

    f.__doc__ = f"Do it.\n\n    returns  {promise}\n    "
    _, (said,) = call(f)
    assert said.startswith("f returns ") and f"of type {type(result).__name__}; its" in said


@pytest.mark.parametrize(
    "promise, result",
    [
        ("int or None", None),
        ("float; 0 if there are none", 0),
        ("list of float", [1, 0.5]),
        ("list of int", [np.int64(1)]),
        ("int array (k,)", np.arange(3)),
        ("Tensor or array", np.ones(1)),
        ("(mean, std), two floats", (1.0, 2.0)),
        ("TensorDataset of images", "another"),
        ("dict {name: float}", {}),
        ("Tensors, one for each", []),
    ],
)
def test_other_words_in_a_docstring_promise_no_type(promise, result):
    def f():
        return copy.copy(result)

    f.__doc__ = f"Do it. returns a list\n\n    returns  {promise}\n    "
    assert call(f)[1] == []


@pytest.mark.parametrize(
    "promise, words",
    [
        ("ndarray of the shape of `g`, of the dtype of `x`", "the shape (3,); its"),
        ("a new array of the same shape\n             and dtype", "the dtype float32; its"),
        ("a new array of the shape of x.", "promises that of `x`, (3, 1)"),
        ("ndarray (n,), in the g's dtype", "promises that of `g`, float64"),
    ],
)
def test_a_result_has_the_shape_and_dtype_of_the_argument_that_its_docstring_names(promise, words):
    def f(x, g):
        return np.ones(3, "float32")

    f.__doc__ = f"Do it.\n\n    returns  {promise}\n    "
    said = call(f, np.ones((3, 1)), np.ones((3, 1)))[1]
    assert any(words in one for one in said), said


def test_integers_may_become_floats_and_other_sentences_promise_nothing():
    def f(x):
        """Do it.

        returns  array of the dtype of `x`; the weights of the shape of `x`
        """
        return np.ones(3, "float32")

    assert call(f, np.ones((3, 1), "int64"))[1] == []
    assert call(f, [1, 2])[1] == []
