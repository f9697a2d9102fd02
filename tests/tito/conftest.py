"""Roots to test on: a small course, and a workspace made from it; and a process to test them in."""

import os

import postgres as postgresql
import pytest
from small_course import make_course

from tito.learn import process, runner, submit, workspace
from tito.learn.process import Process
from tito.lesson import course

os.fsync = lambda descriptor: None  # it waits for the disk, and no test cuts the power


@pytest.fixture
def small_course(tmp_path):
    """The root of a small course with solutions."""
    return course.open_root(make_course(tmp_path / "course"))


@pytest.fixture
def small_workspace(small_course, tmp_path):
    """The root of a workspace made from it."""
    workspace.init(tmp_path / "my work", small_course)
    return course.open_root(tmp_path / "my work")


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server: every call gives the URL of a new, empty database, for `--gradebook`.
    The tests that ask for it are slow.
    """
    if reason := postgresql.missing():
        pytest.skip(reason)
    with postgresql.server() as new_database:
        yield new_database


@pytest.fixture(scope="session")
def warm_process():
    """A process that runs lessons' checks for many tests: starting one takes longer."""
    with Process() as warm:
        yield warm


@pytest.fixture(autouse=True)
def verdicts_from_a_warm_process(request, monkeypatch):
    """Let what would start a process for its runs of checks borrow the warm one instead.

    Not in a test marked `fresh`, which depends on the folder, the variables or the very process
    that such a run begins with.
    """
    if request.node.get_closest_marker("fresh"):
        return

    def borrow():
        return Borrowed(request.getfixturevalue("warm_process"))

    monkeypatch.setattr(runner, "Process", borrow)
    monkeypatch.setattr(submit, "Process", borrow)
    monkeypatch.setattr(process, "Process", borrow)


class Borrowed:
    """A warm process that stays open when a test closes it."""

    def __init__(self, process):
        self.process = process

    def __enter__(self):
        return self.process

    def __exit__(self, kind, error, trace):
        if error:  # the rest of what it had to say would be taken for the next one's
            self.process.close()
            self.process._start()
