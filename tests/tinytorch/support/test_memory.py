"""Who holds an array, what a result occupies, and how often the garbage collector runs."""

import gc

import numpy as np
import pytest

from tinytorch.support.memory import is_exclusive, raise_collector_threshold


@pytest.fixture
def thresholds():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_an_array_in_one_variable_is_exclusive():
    def alone():
        array = np.ones(3)
        return is_exclusive(array)

    assert alone()


def test_an_array_that_a_list_refers_to_is_not_exclusive():
    def with_a_list():
        array = np.ones(3)
        others = [array]
        return is_exclusive(array), others

    assert not with_a_list()[0]


def test_views_and_numbers_are_not_exclusive():
    g = np.ones(3)
    view = g[:]
    assert not is_exclusive(view) and not is_exclusive(np.float32(1)) and not is_exclusive(1.0)


def test_an_array_whose_memory_a_view_uses_is_not_exclusive():
    def with_a_view():
        array = np.ones(3)
        view = array[1:]
        return is_exclusive(array), view

    assert not with_a_view()[0]


def test_the_collector_waits_longer_and_never_less_than_before(thresholds):
    gc.set_threshold(700, 10, 10)
    raise_collector_threshold()
    assert gc.get_threshold()[0] == 20_000
    gc.set_threshold(50_000, 10, 10)
    raise_collector_threshold()
    assert gc.get_threshold()[0] == 50_000
