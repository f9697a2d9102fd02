"""Which tests run: the quick ones, or with `--all` all of them.

`-k tensor` selects the lesson tensor and nothing else, even though other tests have the word in
their names. This file is also in every workspace.
"""

import os
import re
import runpy
import sys
from pathlib import Path

import pytest

from tito.lesson import course

# Each worker has one processor at best. NumPy reads this when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# With --all these files begin, the longest first: each is one worker's, and the last one to end
# decides when all end.
LONGEST = "test_site test_other_pythons test_hostile test_gate test_tracks test_teaching".split()
LONGEST += "test_check test_class test_benchmarks test_style test_wheel test_drawings".split()

NAMES = {entry.name for entry in course.find_root(Path(__file__).parent).lessons}


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="run the tests marked slow, too")
    parser.addoption(
        "--here",
        default="",
        metavar="NAMES",
        help="let a test that is skipped for want of one of these fail: zsh,torch",
    )


def pytest_configure(config):
    """On Windows and macOS, leave out the tests that cannot run there."""
    system = {"win32": "windows", "darwin": "macos"}.get(sys.platform)
    program = Path(__file__).parents[1] / "tools" / "other_systems.py"  # a workspace has none
    if system and program.exists():
        config.pluginmanager.register(runpy.run_path(str(program))["Selection"](system))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    return unless_here(item.config, (yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return unless_here(collector.config, (yield))


def unless_here(config, report):
    """The report, or a failure if it skips for want of something that `--here` names."""
    names = [name for name in config.option.here.split(",") if name]
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if any(re.search(rf"(?i)\b{re.escape(name)}\b", reason) for name in names):
            report.outcome = "failed"
            report.longrepr = f"skipped, though it is here (--here): {reason}"
    return report


@pytest.hookimpl(trylast=True)  # after -k and -m
def pytest_collection_modifyitems(config, items):
    selected = items
    lesson = config.option.keyword.strip()
    if lesson in NAMES:
        of_lesson = (
            rf"test_{lesson}\.py::|test_lessons\.py::\w+\[{lesson}[-\]]"
            rf"|test_doctests\.py::\w+\[(tinytorch\.core\.)?{lesson}\]"
        )
        selected = [item for item in selected if re.search(of_lesson, item.nodeid)]
    slow = {item.path for item in selected if item.get_closest_marker("slow")}
    if config.option.all:  # the longest, then files with slow tests: quick ones fill the end
        order = {name: number for number, name in enumerate(LONGEST)}
        last = len(LONGEST)
        selected.sort(key=lambda item: (item.path not in slow, order.get(item.path.stem, last)))
    else:
        selected = [item for item in selected if not item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=list(set(items) - set(selected)))
    items[:] = selected


def pytest_terminal_summary(terminalreporter):
    everything = Path(__file__).parents[1] / "bin" / "test"  # a workspace has no slow tests
    if everything.exists() and not terminalreporter.config.option.all:
        terminalreporter.line("the tests marked slow were left out: bin/test --all runs them")
