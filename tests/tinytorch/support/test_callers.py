"""A warning names the line of the program that called into the package."""

import sys
import threading
import warnings

import pytest

import tinytorch
from tinytorch.support import callers

CALL = "def call(*arguments): return arguments[0](*arguments[1:])"


def package_function():
    """A function that Python takes for one of the package."""
    space = {}
    exec(compile(CALL, callers.PACKAGE + "core/made.py", "exec"), space)
    return space["call"]


def test_a_warning_names_the_line_outside_of_the_package():
    call = package_function()
    with pytest.warns(UserWarning, match="text") as caught:
        call(call, callers.warn, "text")
        line = sys._getframe().f_lineno - 1
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)


def test_a_warning_is_shown_once_for_each_line():
    call = package_function()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            call(callers.warn, "again")
        call(callers.warn, "again")
    assert len(caught) == 2


def test_a_thread_of_the_package_has_no_caller():
    call = package_function()
    with pytest.warns(UserWarning, match="from a thread"):
        thread = threading.Thread(target=call, args=(callers.warn, "from a thread"))
        thread.start()
        thread.join()


def test_pythons_function_is_wrapped_once(monkeypatch):
    shown = []

    def show(*arguments):
        shown.append(arguments)

    monkeypatch.setattr(warnings, "showwarning", show)
    callers.name_lines_of_callers()
    wrapped = warnings.showwarning
    callers.name_lines_of_callers()
    assert warnings.showwarning is wrapped is not show
    wrapped("text", UserWarning, "elsewhere.py", 7)
    assert shown == [("text", UserWarning, "elsewhere.py", 7, None, None)]


def test_the_package_is_known_by_its_folder():
    assert tinytorch.__file__ == callers.PACKAGE + "__init__.py"
