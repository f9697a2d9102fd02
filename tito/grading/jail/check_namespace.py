"""The namespace of a check in the judge: proxies for the learner's names, the check's own imports,
and replacements for a few functions of Python and NumPy that a learner's answer could deceive.
"""

import contextlib
import functools
import inspect
import itertools
import marshal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from tito.grading.jail import proxy
from tito.lesson import export, random_start
from tito.lesson.checks import (
    IMPORTS,
    CheckSuite,
    Section,
    called_names,
    laws_without,
    needed_by,
    shared_code,
    statements_of,
    suite_of,
    used_by,
)
from tito.lesson.course import Entry
from tito.lesson.lesson_format import Check

CHECKS_FILE = "checks.py"  # the name of the checks' file in tracebacks
# numbers: larger arrays are compared only with arrays of equal size or single numbers
BROAD = 1 << 20
START = marshal.dumps(compile(inspect.getsource(random_start), "random_start", "exec"))


@dataclass
class Prepared:
    """What the checks of a lesson need.

    beside  the names that its learner-side sections define
    """

    exported: list[str]
    beside: frozenset[str]
    suite: CheckSuite

    @staticmethod
    @functools.cache
    def of(entry: Entry) -> "Prepared":
        lesson = entry.declared
        suite = suite_of(lesson.checks_source.cells, CHECKS_FILE)
        shared = [statement for s in suite.learner_side for statement in statements_of(s.source)]
        beside = frozenset(name for statement in shared for name in statement.defines)
        return Prepared(export.exported_names(lesson), beside, suite)

    def namespace(
        self, session: proxy.Session, check: Check, module: str, modules: Mapping[str, Any]
    ) -> tuple[dict[str, Any], set[str]]:
        """The names that the check uses, as proxies; and those that the learner's lesson lacks."""
        needs = self.needs(check)
        wanted = self.exported, needs.names, START, needs.codes
        objects = session.do("load", modules, module, *wanted, needs.laws)
        if type(objects) is not dict or not objects.keys() <= set(needs.names):
            raise proxy.Tampered("its names are no names")
        objects |= {
            name: session.helper(objects[name])
            for name in self.beside & objects.keys()
            if isinstance(objects[name], proxy.Remote)
        }
        space = TO_THE_END | {"__name__": "check"} | objects
        for code in needs.setup:
            exec(code, space)
        return space, set(self.exported) - objects.keys()

    def needs(self, check: Check) -> "Needs":
        section = Section(check.cell.source, CHECKS_FILE, check.cell.line)
        return _needs(section, self.suite, (*self.exported, *sorted(self.beside)))


@dataclass
class Needs:
    """What one check needs.

    names  those that the learner's side defines
    setup  code to run in the judge
    codes  code to run on the learner's side
    laws   names that it only calls, and laws that it is without
    """

    names: list[str]
    setup: list[CodeType]
    codes: list[bytes]
    laws: tuple[list[str], list[str]]


@functools.cache  # the same for each submission
def _needs(section: Section, suite: CheckSuite, names: tuple[str, ...]) -> Needs:
    needed = needed_by(section, suite)
    setup = [s for shared in suite.setup for s in statements_of(shared.source) if s in needed]
    beside = used_by(needed.difference(setup))
    imports = frozenset(s for s in setup if isinstance(s.node, IMPORTS) and s.defines & beside)
    used = used_by([*statements_of(section.source), *setup])
    codes = (*shared_code(suite.setup, imports), *shared_code(suite.learner_side, needed))
    return Needs(
        [name for name in names if name in used],
        [*shared_code(suite.setup, needed)],
        [marshal.dumps(code) for code in codes],
        (sorted(called_names(section, suite)), laws_without(section.source)),
    )


def close_in_shape(
    a: Any, b: Any, *tolerances: Any, allclose: Any = np.allclose, **options: Any
) -> bool:
    """np.allclose for checks. An empty array is close only to another empty one, and large arrays
    are not broadcast. NumPy calls an empty array close to a single number.
    """
    a, b = np.asarray(a), np.asarray(b)
    stretched = a.shape != b.shape and min(a.size, b.size) != 1
    if (a.size == 0) != (b.size == 0) or stretched and max(a.size, b.size) > BROAD:
        return False
    return allclose(a, b, *tolerances, **options)


def zip_to_the_end(*iterables: Any, strict: bool = True) -> Iterator[tuple[Any, ...]]:
    """zip for checks, strict by default. Without it, `for g, w in zip(got, want)` would compare
    nothing if a learner's `got` is empty. A check can still pass strict=False.
    """
    return _rows(iterables) if strict else zip(*iterables)


def _rows(iterables: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    end = object()
    iterators = [iter(value) for value in iterables]
    for count in itertools.count():
        row = [next(value, end) for value in iterators]
        ends = [number for number, value in enumerate(row, 1) if value is end]
        if len(ends) == len(row):
            return
        # Not a ValueError, which a check may expect for another reason.
        assert not ends, (
            f"what is compared one by one has different lengths: of {len(row)} values, number "
            f"{ends[0]} ends after {count}, another goes on"
        )
        yield tuple(row)


# Replacements for Python's own functions in checks.
TO_THE_END = {
    "zip": zip_to_the_end,
    "map": lambda function, *given: (function(*row) for row in zip_to_the_end(*given)),
}


@contextlib.contextmanager
def standing_in(session: proxy.Session, package: str, entry: Entry) -> Iterator[None]:
    """Let `import` of the package's modules give proxies meanwhile."""
    names = [
        package,
        f"{package}.core",
        *(
            f"{package}.core.{lesson.name}"
            for lesson in entry.root.lessons
            if lesson.number <= entry.number
        ),
    ]
    before = (
        {name: module for name, module in sys.modules.items() if name.split(".")[0] == package}
        if package in sys.modules
        else {}
    )
    np.allclose, allclose = close_in_shape, np.allclose
    for name in before:
        del sys.modules[name]
    modules: dict[str, Any] = {name: proxy.Module(session, name) for name in names}
    sys.modules.update(modules)
    try:
        yield
    finally:
        np.allclose = allclose
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(before)
