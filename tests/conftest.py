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

# Tests that share nothing with others of their file: several workers take them.
APART = re.compile(r"::test_every_lesson_of_this_course_passes_the_gate")

# These files take longest, the slowest first: the other workers would wait for one begun late.
LONGEST = """
    book/test_site jail/test_attacks jail/test_hostile book/test_lite tito/test_files
    grading/test_class grading/test_run book/test_build benchmarks/test_grading grading/test_term
    page/test_serve_browser learn/test_verdict book/test_teaching cli/test_processes
    benchmarks/test_engine_benchmark
    author/test_check tinytorch/test_autograd learn/test_watch learn/test_submit bin/test_bin
    lesson/test_notebook author/test_nbgrader binder/test_binder cli/test_terminal
    benchmarks/test_training_benchmark tinytorch/test_embeddings jail/test_judge
    gradebook/test_exports tinytorch/test_tokenization author/test_release page/test_similarity
    book/test_milestones jail/test_fuzz jail/test_jail learn/test_milestone
    tests/test_lessons author/test_gradescope
""".split()


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="run the tests marked slow, too")
    parser.addoption(
        "--here",
        default="",
        metavar="NAMES",
        help="let a test that is skipped for want of one of these fail: zsh,torch",
    )


def pytest_report_header(config):
    if not config.option.all:
        return f"quick tests only, without those marked slow: {HOW}"


def pytest_xdist_auto_num_workers(config):
    """Two more than there are cores: many tests wait, for a time limit or for a file on the
    disk."""
    return (os.cpu_count() or 1) + 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        """Whole files, but for the tests that are APART."""

        def _split_scope(self, nodeid):
            return nodeid if APART.search(nodeid) else super()._split_scope(nodeid)

    return Files(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    return unless_here(item.config, (yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return unless_here(collector.config, (yield))


def unless_here(config, report):
    """The report, as a failure if it tells of a skip for want of what is here."""
    names = [name for name in config.option.here.split(",") if name]
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if any(re.search(rf"(?i)\b{re.escape(name)}\b", reason) for name in names):
            report.outcome = "failed"
            report.longrepr = f"skipped, though it is here (--here): {reason}"
    return report


@pytest.hookimpl(trylast=True)  # when -k and -m have chosen
def pytest_collection_modifyitems(config, items):
    items.sort(key=turn)
    kept = items
    wanted = config.option.keyword.strip()
    if wanted in NAMES:
        of_lesson = (
            rf"test_{wanted}\.py::|test_lessons\.py::\w+\[{wanted}[-\]]"
            rf"|test_doctests\.py::\w+\[tinytorch\.core\.{wanted}\]"
        )
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
    if APART.search(item.nodeid):  # when the longest have begun
        return LONGEST.index("author/test_check") - 0.5
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
