"""A warning names the line of the program that called into the package."""

import sys
import threading
import warnings

import pytest

import tinytorch
from tinytorch.support import warning_location

CALL = "def call(*arguments): return arguments[0](*arguments[1:])"


def package_function():
    """A function that Python takes for one of the package."""
    space = {}
    exec(compile(CALL, warning_location.PACKAGE + "core/made.py", "exec"), space)
    return space["call"]


def test_a_warning_names_the_line_outside_of_the_package():
    call = package_function()
    with pytest.warns(UserWarning, match="text") as caught:
        call(call, warning_location.warn_user, "text")
        line = sys._getframe().f_lineno - 1
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)


def test_a_warning_is_shown_once_for_each_line():
    call = package_function()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            call(warning_location.warn_user, "again")
        call(warning_location.warn_user, "again")
    assert len(caught) == 2


def test_a_thread_of_the_package_has_no_user():
    call = package_function()
    with pytest.warns(UserWarning, match="from a thread"):
        thread = threading.Thread(target=call, args=(warning_location.warn_user, "from a thread"))
        thread.start()
        thread.join()


def test_pythons_function_is_wrapped_once(monkeypatch):
    shown = []

    def show(*arguments):
        shown.append(arguments)

    monkeypatch.setattr(warnings, "showwarning", show)
    warning_location.locate_warnings()
    wrapped = warnings.showwarning
    warning_location.locate_warnings()
    assert warnings.showwarning is wrapped is not show
    wrapped("text", UserWarning, "elsewhere.py", 7)
    assert shown == [("text", UserWarning, "elsewhere.py", 7, None, None)]


def test_the_package_is_known_by_its_folder():
    assert tinytorch.__file__ == warning_location.PACKAGE + "__init__.py"
