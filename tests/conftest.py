"""Which tests run, and in which order.

The quick ones, unless `--all` is given: `bin/test` takes minutes, and still has tests of every
module. `-k tensor` selects the lesson tensor and nothing else, though other tests have the word in
their names.
"""

import os
import re
from pathlib import Path

import pytest

from tito.lesson import course

# Each worker has one processor at best. NumPy reads this when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

NAMES = {entry.name for entry in course.find_root(Path(__file__).parent).lessons}
HOW = "bin/test --all runs them"
LEFT_OUT = "slow tests left out"  # what a worker of xdist tells the process that prints
COUNTED = pytest.StashKey[dict]()

# These files take longest, the slowest first: the other workers would wait for one begun late.
LONGEST = """
    author/test_check grading/test_hostile grading/test_attacks book/test_site
    benchmarks/test_grading book/test_lite cli/test_processes book/test_build grading/test_run
    grading/test_class grading/test_term author/test_release bin/test_bin cli/test_terminal
    tests/test_lessons
    book/test_teaching author/test_gradescope binder/test_binder
    benchmarks/test_engine_benchmark book/test_milestones grading/test_fuzz grading/test_jail
    grading/test_similar learn/test_milestone learn/test_verdict learn/test_watch
""".split()


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="run the tests marked slow, too")


def pytest_report_header(config):
    if not config.option.all:
        return f"quick tests only, without those marked slow: {HOW}"


def pytest_xdist_auto_num_workers(config):
    """One more than there are cores: many tests wait, for a time limit or for a file on the
    disk."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(trylast=True)  # when -k and -m have chosen
def pytest_collection_modifyitems(config, items):
    items.sort(key=turn)
    kept = items
    wanted = config.option.keyword.strip()
    if wanted in NAMES:
        of_lesson = rf"test_{wanted}\.py::|test_lessons\.py::\w+\[{wanted}[-\]]"
        kept = [item for item in kept if re.search(of_lesson, item.nodeid)]
    if not config.option.all:
        quick = [item for item in kept if not item.get_closest_marker("slow")]
        count(config)[LEFT_OUT] = len(kept) - len(quick)
        kept = quick
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


def turn(item):
    """Where in the order an item stands; tests of one file keep theirs."""
    file = "/".join(item.path.with_suffix("").parts[-2:])
    return LONGEST.index(file) if file in LONGEST else len(LONGEST)


def count(config):
    """Where the number of tests that were left out is kept."""
    return getattr(config, "workeroutput", config.stash.setdefault(COUNTED, {}))


def pytest_testnodedown(node):
    count(node.config).update(getattr(node, "workeroutput", {}))


def pytest_terminal_summary(terminalreporter):
    if left_out := count(terminalreporter.config).get(LEFT_OUT):
        terminalreporter.line(f"{left_out} slow tests were left out: {HOW}")
