"""Lengths of parts, rows of examples, and the bounded queue: never fuller than allowed, and no
thread stays behind.
"""

import threading

import numpy as np
import pytest

from tinytorch.data.loading import BoundedQueue, split_lengths, stack_rows


def test_numpy_samples_keep_their_dtype_and_python_numbers_stay_numbers():
    assert stack_rows([np.zeros((2, 1), "uint8")] * 3).dtype == np.uint8
    assert stack_rows([np.float64(1), np.float64(2)]).dtype == np.float64
    assert stack_rows([1, 2, 3]) == [1, 2, 3]


def test_samples_of_different_shapes_are_refused_with_the_shapes():
    with pytest.raises(ValueError, match=r"\(2,\) and \(3,\) cannot be stacked"):
        stack_rows([np.zeros(2), np.zeros(3), np.zeros(2)])


@pytest.mark.parametrize(
    ("lengths", "count", "wanted"),
    [
        ([0.71, 0.29], 100, [71, 29]),  # 0.29 * 100 is less than 29 in floating point
        ([0.25] * 4, 10, [3, 3, 2, 2]),
        ([1 / 3] * 3, 101, [34, 34, 33]),
        ([0.9, 0.1], 0, [0, 0]),
        ((0, 9), 9, [0, 9]),
    ],
)
def test_no_example_is_lost_by_rounding(lengths, count, wanted):
    assert split_lengths(lengths, count) == wanted


@pytest.mark.parametrize("lengths", [[4, 4], [12, -3], [0.5, 0.4]])
def test_lengths_that_do_not_add_up_are_refused(lengths):
    with pytest.raises(ValueError, match="there are 9 examples"):
        split_lengths(lengths, 9)


def started(size, work):
    """A queue whose thread runs work(put)."""
    bounded = BoundedQueue(size)
    bounded.start(work, bounded.put)
    return bounded


@pytest.mark.parametrize("size", [1, 2, 5])
def test_items_come_in_order_and_no_more_wait_than_fit(size):
    begun, full = [], threading.Event()

    def work(put):
        for k in range(20):
            begun.append(k)
            if len(begun) == size + 1:
                full.set()
            put("item", k)

    bounded = started(size, work)
    assert full.wait(60)
    for k in range(20):
        assert len(begun) <= k + size + 1  # k were removed, `size` are queued, one waits
        assert bounded.get() == ("item", k)
    bounded.close()


def test_put_returns_whether_the_queue_is_open():
    returned, pause = [], threading.Event()

    def work(put):
        returned.append(put("item", 1))
        returned.append(put("item", 2))  # blocks until the queue is closed
        returned.append(put("item", 3))

    bounded = started(1, work)
    while not returned:
        pause.wait(0.001)
    bounded.close()
    assert returned == [True, False, False] and not bounded.thread.is_alive()


@pytest.mark.parametrize("removed", [0, 1, 3])
def test_closing_ends_the_thread_wherever_it_is(removed):
    def work(put):
        while put("item"):
            pass

    bounded = started(2, work)
    for _ in range(removed):
        bounded.get()
    bounded.close()
    assert not bounded.thread.is_alive()


def test_closing_does_not_wait_when_the_interpreter_shuts_down(monkeypatch):
    resume = threading.Event()
    bounded = started(1, lambda put: resume.wait(60))
    monkeypatch.setattr("sys.is_finalizing", lambda: True)
    bounded.close()
    assert bounded.thread.is_alive()
    resume.set()
    bounded.thread.join()


def test_a_thread_that_exits_silently_is_an_error_not_a_deadlock():
    bounded = started(3, lambda put: put("item", 1))
    assert bounded.get() == ("item", 1)
    with pytest.raises(RuntimeError, match="exited without saying why"):
        bounded.get()
    bounded.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_dies_of_an_error_is_no_deadlock():
    def work(put):
        raise ZeroDivisionError

    bounded = started(1, work)
    with pytest.raises(RuntimeError, match="exited without saying why"):
        bounded.get()
    bounded.close()
