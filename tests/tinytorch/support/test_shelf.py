"""The shelf between a thread and the program: never fuller than it may be,
and no thread stays behind.
"""

import doctest
import threading

import pytest

from tinytorch.support import shelf as module
from tinytorch.support.shelf import Shelf


def working(room, work):
    """A shelf whose thread runs work(put)."""
    shelf = Shelf(room)
    shelf.start(work, shelf.put)
    return shelf


@pytest.mark.parametrize("room", [1, 2, 5])
def test_things_come_in_order_and_no_more_wait_than_there_is_room(room):
    begun, full = [], threading.Event()

    def work(put):
        for k in range(20):
            begun.append(k)
            if len(begun) == room + 1:
                full.set()
            put("item", k)

    shelf = working(room, work)
    assert full.wait(60)
    for k in range(20):
        assert len(begun) <= k + room + 1  # k were taken, `room` lie there, one waits
        assert shelf.take() == ("item", k)
    shelf.close()


def test_put_answers_whether_anybody_wants_more():
    answers, taken = [], threading.Event()

    def work(put):
        answers.append(put("item", 1))
        answers.append(put("item", 2))  # waits for room until the shelf is closed
        answers.append(put("item", 3))

    shelf = working(1, work)
    while not answers:
        taken.wait(0.001)
    shelf.close()
    assert answers == [True, False, False] and not shelf.thread.is_alive()


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_closing_ends_the_thread_wherever_it_is(taken):
    def work(put):
        while put("item"):
            pass

    shelf = working(2, work)
    for _ in range(taken):
        shelf.take()
    shelf.close()
    assert not shelf.thread.is_alive()


def test_a_thread_that_ends_without_a_word_is_an_error_and_not_a_wait_for_ever():
    shelf = working(3, lambda put: put("item", 1))
    assert shelf.take() == ("item", 1)
    with pytest.raises(RuntimeError, match="ended without saying why"):
        shelf.take()
    shelf.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_so_is_a_thread_that_dies_of_an_error():
    def work(put):
        raise ZeroDivisionError

    shelf = working(1, work)
    with pytest.raises(RuntimeError, match="ended without saying why"):
        shelf.take()
    shelf.close()


def test_the_examples_of_the_docstrings_are_true():
    assert doctest.testmod(module).failed == 0
