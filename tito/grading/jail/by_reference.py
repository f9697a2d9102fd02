"""Hidden checks by reference: what is right comes from the course's own lesson.

A hidden check that yields names no expected value: `yield softmax(Tensor(x), axis=0)`. It runs on
the course's lesson, here in the judge, and on the learner's, through the proxies; its results are
compared one by one. Nothing of the course's lesson reaches the process that runs a learner's code.
"""

import contextlib
import functools
import importlib
import inspect
import linecache
import marshal
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from tito.grading.jail import modules
from tito.grading.jail.check_namespace import CHECKS_FILE, Prepared
from tito.grading.jail.jailed_server import Lessons
from tito.lesson import random_start
from tito.lesson.checks import functions_of
from tito.lesson.course import Entry
from tito.lesson.lesson_format import Check

# Relative to the largest number of the result; around 0 a few units in the last place, besides.
NEAR = {"float64": 1e-7, "float32": 1e-4, "float16": 1e-2}
LONGEST = 200  # characters of a value in a message


@functools.cache  # the same for each submission
def wanted_results(entry: Entry, check: Check) -> list[Any] | None:
    """What a check yields on the course's lesson; None if it is no check by reference."""
    section = functions_of(check.cell.source, CHECKS_FILE, check.cell.line)
    (code,) = (c for c in section.co_consts if getattr(c, "co_name", "") == check.function)
    if not code.co_flags & inspect.CO_GENERATOR:
        return None
    needs = Prepared.of(entry).needs(check)
    restore = random_start.restart()
    with course_modules(entry) as lesson, warnings.catch_warnings(action="ignore"):
        try:
            random_start.restart(random_start.namespaces(entry.root.package))
            space = {"__name__": "check"} | vars(lesson)
            for code in (*map(marshal.loads, needs.codes), *needs.setup, section):
                exec(code, space)
            return [*map(kept, space[check.function]())]
        finally:
            restore()


@contextlib.contextmanager
def course_modules(entry: Entry) -> Iterator[Any]:
    """Let the package be the course's own lessons up to this one. Yields its module."""
    package = entry.root.package

    def taken() -> dict[str, Any]:
        names = [name for name in sys.modules if name.partition(".")[0] == package]
        return {name: sys.modules.pop(name) for name in names}

    lessons = [one for one in entry.root.lessons if one.number <= entry.number]
    codes: dict[str, Any] = dict(modules.public_modules(entry.root))
    codes |= {f"{package}.core.{one.name}": modules.reference(one).code for one in lessons}
    before, finder = taken(), Lessons(codes)
    sys.meta_path.insert(0, finder)
    try:
        yield importlib.import_module(f"{package}.core.{entry.name}")
    finally:
        sys.meta_path.remove(finder)
        taken()
        sys.modules.update(before)


class Recorded:
    """A Tensor of the course's: its numbers, and whether it requires a gradient."""

    def __init__(self, tensor: Any) -> None:
        self.data, self.requires_grad = np.array(tensor.data), tensor.requires_grad

    def __repr__(self) -> str:
        return f"Tensor({self.data.tolist()})"


def kept(x: Any) -> Any:
    """A result as it is now, without objects of the lesson."""
    if isinstance(x, np.ndarray | np.generic):
        return np.array(x)
    if isinstance(x, list | tuple):
        return [kept(part) for part in x]
    if isinstance(x, dict):
        return {key: kept(part) for key, part in x.items()}
    return Recorded(x) if hasattr(x, "requires_grad") else x


def compare(results: Iterator[Any], wanted: list[Any]) -> None:
    """Assert that a learner's results agree with the course's."""
    for count, right in enumerate(wanted, 1):
        found = next(results, results)
        assert found is not results, f"there should be {len(wanted)} results, yours are {count - 1}"
        if said := difference(found, right):
            line = linecache.getline(CHECKS_FILE, results.gi_frame.f_lineno)  # type: ignore[attr-defined]
            assert False, f"result {count}, of `{line.strip()}`, {said}"
    assert next(results, results) is results, f"there should be {len(wanted)} results only"


def difference(found: Any, right: Any) -> str:
    """What is wrong with a result, or "". The types of numbers and containers count."""
    if isinstance(right, Recorded):
        assert bool(found.requires_grad) == right.requires_grad, "one is recorded, one is not"
        return difference(found.data, right.data)
    if isinstance(right, np.ndarray):
        if hasattr(found, "requires_grad"):
            return "should be an array, yours is a Tensor"
        array = np.asarray(found)
        if (array.shape, array.dtype) != (right.shape, right.dtype):
            yours = f"yours is {array.dtype} of {array.shape}"
            return f"should be {right.dtype} of shape {right.shape}, {yours}"
        return "" if near(array, right) else words(array.tolist(), right.tolist())
    if isinstance(right, list | dict):
        parts = found.items() if type(found) is dict else found
        if type(found) not in (list, tuple, dict) or len(found) != len(right):
            return words(found, right)
        rows = right.items() if isinstance(right, dict) else right
        return next(filter(None, map(difference, parts, rows)), "")
    if isinstance(right, tuple):  # of the items of a dict
        return words(found, right) if found[0] != right[0] else difference(found[1], right[1])
    if isinstance(right, float):
        is_number = type(found) in (float, int, np.float64)
        is_near = is_number and near(np.float64(found), np.float64(right))
        return "" if is_near else words(found, right)
    return "" if type(found) is type(right) and found == right else words(found, right)


def near(found: Any, right: Any) -> bool:
    """Whether two arrays of one shape and dtype hold the same numbers, up to rounding."""
    tolerance = NEAR.get(right.dtype.name, 0.0)
    if not tolerance:
        return bool(np.array_equal(found, right))
    largest = float(np.abs(right[np.isfinite(right)]).max(initial=0)) if right.size else 0.0
    absolute = tolerance * largest + 8 * float(np.finfo(right.dtype).eps)
    return bool(np.allclose(found, right, tolerance, absolute, equal_nan=True))


def words(found: Any, right: Any) -> str:
    return f"should be {str(right)[:LONGEST]}, yours is {str(found)[:LONGEST]}"
