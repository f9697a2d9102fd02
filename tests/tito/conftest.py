"""Roots to test on: a small course, and a workspace made from it."""

import pytest
from small_course import make_course

from tito.learn import workspace
from tito.lesson import course


@pytest.fixture
def small_course(tmp_path):
    """The root of a small course with solutions."""
    return course.open_root(make_course(tmp_path / "course"))


@pytest.fixture
def small_workspace(small_course, tmp_path):
    """The root of a workspace made from it."""
    workspace.init(tmp_path / "my work", small_course)
    return course.open_root(tmp_path / "my work")
