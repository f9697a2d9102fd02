"""Every check of every lesson, as `tito test` runs it: `pytest tests/ -k tensor -v` shows one
lesson's.

The same file serves in the course and in a workspace.
"""

from functools import cache
from pathlib import Path

import pytest

from tito.learn import runner
from tito.lesson import course

ROOT = course.find_root(Path(__file__).parent)


@cache
def verdict_of(name):
    return runner.test_checks(ROOT.lesson(name))


@pytest.mark.parametrize(
    ("lesson", "check"),
    [
        pytest.param(
            entry.name, check.id, id=f"{entry.name}-{check.function.removeprefix('test_')}"
        )
        for entry in ROOT.lessons
        for check in entry.declared.checks
    ],
)
def test_check(lesson, check):
    outcome = next(result for result in verdict_of(lesson).checks if result.id == check)
    if not outcome.passed:
        name = outcome.exercise.removeprefix(f"{lesson}-")
        pytest.fail(
            f"{outcome.message}\n(exercise {outcome.exercise}: tito hint {lesson}-{name})",
            pytrace=False,
        )
