"""Who holds an array, what a result occupies, and how often the garbage collector runs."""

import doctest
import gc

import numpy as np
import pytest

from tinytorch.support import memory
from tinytorch.support.memory import collect_less_often, is_ours, kilobytes_held


@pytest.fixture
def thresholds():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_the_examples_are_true():
    assert doctest.testmod(memory).failed == 0


def test_an_array_in_one_variable_is_ours():
    def alone():
        mine = np.ones(3)
        return is_ours(mine)

    assert alone()


def test_an_array_that_somebody_else_holds_is_not_ours():
    def with_a_list():
        mine = np.ones(3)
        others = [mine]
        return is_ours(mine), others

    assert not with_a_list()[0]


def test_views_and_numbers_are_nobodys():
    g = np.ones(3)
    view = g[:]
    assert not is_ours(view) and not is_ours(np.float32(1)) and not is_ours(1.0)


def test_an_array_whose_memory_a_view_uses_is_not_ours():
    def with_a_view():
        mine = np.ones(3)
        view = mine[1:]
        return is_ours(mine), view

    assert not with_a_view()[0]


def test_the_collector_waits_longer_and_never_less_than_before(thresholds):
    gc.set_threshold(700, 10, 10)
    collect_less_often()
    assert gc.get_threshold()[0] == 20_000
    gc.set_threshold(50_000, 10, 10)
    collect_less_often()
    assert gc.get_threshold()[0] == 50_000


@pytest.mark.parametrize("count", [0, 1, 5])
def test_what_a_result_holds_is_counted(count):
    kilobytes = kilobytes_held(lambda: [np.ones(250_000) for _ in range(count)])
    assert 2000 * count <= kilobytes <= 2000 * count + 5


def test_what_is_made_on_the_way_and_let_go_is_not_counted():
    assert kilobytes_held(lambda: np.ones(250_000).sum()) < 5


def test_a_function_that_raises_leaves_no_measurement_running():
    import tracemalloc

    with pytest.raises(ZeroDivisionError):
        kilobytes_held(lambda: 1 / 0)
    assert not tracemalloc.is_tracing()
