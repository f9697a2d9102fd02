"""The autograd lesson is imported when `backward()` is first called; where it is missing, the error
names it."""

import sys
from types import SimpleNamespace

import pytest

from tinytorch.support.late_import import autograd_lesson

NAME = "tinytorch.core.autograd"


def test_it_is_the_module_that_is_imported_now(monkeypatch):
    other = SimpleNamespace(backward=None)
    monkeypatch.setitem(sys.modules, NAME, other)
    assert autograd_lesson() is other


def test_it_is_imported_when_needed(monkeypatch):
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    assert autograd_lesson().__name__ == NAME


def test_a_missing_lesson_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, NAME, None)  # as if there were no such file
    with pytest.raises(ImportError, match="autograd lesson; then `tito export autograd`"):
        autograd_lesson()
