"""A gradebook to test on."""

import pytest
from some_results import RULES

from tito.grading.gradebook.gradebook import open_gradebook


@pytest.fixture
def book(tmp_path):
    with open_gradebook(tmp_path / "class.db", RULES) as gradebook:
        yield gradebook
