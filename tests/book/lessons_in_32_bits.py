"""Every check and every example of lessons, with the course's solutions, where NumPy's integers
have 32 bits: run by test_int32.py, in the course's folder.

    python lessons_in_32_bits.py NAME ...

In Pyodide, NumPy is built for 32 bits. Elsewhere its functions are given other defaults here.
"""

import doctest
import functools
import importlib
import importlib.util
import sys
import threading
from pathlib import Path

sys.path.insert(0, ".")

from tito.learn import browser  # noqa: E402
from tito.learn.run_checks import run_checks  # noqa: E402
from tito.lesson.checks import suite_of  # noqa: E402
from tito.lesson.shared_checks import read_checks  # noqa: E402

HERE = browser.Browser(root=None, drive=None)
# The functions that make arrays of Python's integers, and the position of their dtype argument.
MAKERS = {"array": 1, "asarray": 1, "zeros": 1, "ones": 1, "empty": 1, "full": 2, "arange": 3}


def narrow(np):
    """Make 32-bit integers the default of NumPy's functions."""

    def narrowed(make, place):
        @functools.wraps(make)
        def made(*inputs, **options):
            out = make(*inputs, **options)
            dtype = options.get("dtype", inputs[place] if len(inputs) > place else None)
            default = dtype is None or dtype is int
            chosen = not default or any(map(_is_wide, inputs))
            return out if chosen or out.dtype != np.int64 else out.astype(np.int32)

        return made

    for name, place in MAKERS.items():
        setattr(np, name, narrowed(getattr(np, name), place))


def _is_wide(value):
    """Whether it contains an integer of NumPy with 64 bits."""
    if isinstance(value, (list, tuple)):
        return any(map(_is_wide, value))
    described = getattr(value, "__array_interface__", {"typestr": ""})
    return described["typestr"].endswith("i8")


class AsOn32Bits(doctest.OutputChecker):
    """NumPy shows no dtype that is the default; int32 is, where `narrow` was not needed."""

    def check_output(self, want, got, flags):
        return super().check_output(want, got.replace(", dtype=int32", ""), flags)


def run(name):
    """Print what fails in a lesson, and how many checks and examples were run."""
    [path] = Path("modules/source").glob(f"*_{name}/checks.py")
    suite = suite_of(read_checks(path).cells, "checks.py")
    module = importlib.import_module(f"tinytorch.core.{name}")
    ids = [check.id for check in suite.checks]
    number = len(ids)
    for event in run_checks(suite, vars(module), ids, lambda frame: False):
        if event.get("status", "passed") != "passed":
            said = "needs threads" if HERE.missed_threads() else event["message"]
            print(f"{name}: {event['id'].partition('.')[2]} {said}")
    for example in doctest.DocTestFinder().find(module, globs=vars(module)):
        runner, said = doctest.DocTestRunner(AsOn32Bits()), []
        number += runner.run(example, out=said.append).attempted
        if said and HERE.missed_threads():
            said = [f"the example of {example.name} needs threads"]
        print(*(f"{name}: {text}" for text in said), sep="\n", end="\n" if said else "")
    print(f"{name}: {number} run")


if sys.platform == "emscripten":
    threading.Thread.start = browser._start
if importlib.util.find_spec("numpy"):
    import numpy

    if numpy.array([1]).dtype == numpy.int64:
        narrow(numpy)
    assert numpy.array([1]).dtype == numpy.int32
for lesson in sys.argv[1:]:
    run(lesson)
