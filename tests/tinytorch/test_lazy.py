"""A later lesson is imported when it is first needed; where it is missing, the error names it."""

import importlib
import sys
from types import SimpleNamespace

import pytest

from tinytorch.core.transformers import GPT
from tinytorch.lazy import generation_lesson, later_lesson

BACKWARD = lambda: later_lesson("autograd", "backward")  # noqa: E731
LESSONS = {"autograd": BACKWARD, "generation": generation_lesson}


@pytest.fixture(params=LESSONS)
def lesson(request):
    return request.param


def test_it_is_the_module_that_is_imported_now(lesson, monkeypatch):
    other = SimpleNamespace(backward=None)
    monkeypatch.setitem(sys.modules, f"tinytorch.core.{lesson}", other)
    assert LESSONS[lesson]() is other


def test_it_is_imported_when_needed(lesson, monkeypatch):
    monkeypatch.delitem(sys.modules, f"tinytorch.core.{lesson}", raising=False)
    assert LESSONS[lesson]().__name__ == f"tinytorch.core.{lesson}"


def test_a_missing_lesson_is_named(lesson, monkeypatch):
    monkeypatch.setitem(sys.modules, f"tinytorch.core.{lesson}", None)  # as if without its file
    with pytest.raises(ImportError, match=f"lesson {lesson} builds.*`tito export {lesson}`"):
        LESSONS[lesson]()
    with pytest.raises(ModuleNotFoundError, match="'tinytorch.core.other'. .* `tito export other`"):
        importlib.import_module("tinytorch.core.other")


def test_a_missing_module_of_the_lesson_keeps_its_own_error(monkeypatch):
    monkeypatch.delitem(sys.modules, "tinytorch.core.generation", raising=False)
    monkeypatch.setitem(sys.modules, "tinytorch.core.attention", None)
    with pytest.raises(ImportError, match="tinytorch.core.attention"):
        generation_lesson()


def test_gpt_step_calls_the_generation_lesson(monkeypatch):
    monkeypatch.setattr(generation_lesson(), "step", lambda *given: given)
    model = GPT(3, 2, 4, 1, 1)
    assert model.step("ids", cache="cache") == (model, "ids", "cache")
