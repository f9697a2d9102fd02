"""What the simulator of a GPU refuses, by name and place, and what it counts."""

import functools

import numpy as np
import pytest

from tinytorch.gpu import KernelError, Report, launch, shared


def zeros(*shape):
    return np.zeros(shape, "float32")


def outside(block, thread, a):
    a[64 * block.x + thread.x] = 1.0


def negative(block, thread, a):
    a[thread.x] = a[thread.x - 1]


def same_element(block, thread, a):
    a[block.x] = 1.0


def reads_neighbour(block, thread, a, tile=shared(4)):
    tile[thread.x] = 1.0
    yield
    tile[thread.x] = tile[3 - thread.x]


def between_blocks(block, thread, a):
    a[thread.x] = 1.0


def in_an_if(block, thread, a, tile=shared(4)):
    if thread.x < 2:
        yield
    a[thread.x] = 1.0


def two_barriers(block, thread, a):
    if thread.x < 2:
        yield
    else:
        yield
    a[thread.x] = 1.0


def unwritten(block, thread, a, tile=shared(4)):
    a[thread.x] = tile[thread.x]


def float_index(block, thread, a):
    a[thread.x / 2] = 1.0


def wrong_axes(block, thread, a):
    a[thread.x, 0] = 1.0


def whole_array(block, thread, a):
    a[thread.x] = a.sum()


def too_large(block, thread, ids):
    ids[thread.x] = 2**40


def no_number(block, thread, a):
    a[thread.x] = 1.0 / (thread.x - 1)


def endless_with_accesses(block, thread, a):
    while True:
        a[thread.x] += 1.0


def endless(block, thread, a):
    while True:
        pass


def endless_condition(block, thread, a):
    i = 0
    while i < 10:
        i -= 1


def endless_barriers(block, thread, a):
    while True:
        yield


@pytest.mark.parametrize(
    ("kernel", "grid", "words", "place"),
    [
        (outside, 2, "index 64 is outside a, of shape (8,)", "block (1, 0, 0), thread (0, 0, 0)"),
        (negative, 1, "index -1 is outside a", "thread (0, 0, 0)"),
        (same_element, 1, "race: this thread writes a[0], which thread (0, 0, 0) uses", "(1, 0"),
        (reads_neighbour, 1, "race: this thread ", "thread (2, 0, 0)"),
        (between_blocks, 2, "race between blocks: a[0] is written in one block", "(1, 0, 0)"),
        (in_an_if, 1, "barrier divergence: this thread has ended", "thread (2, 0, 0)"),
        (two_barriers, 1, "barrier divergence: threads wait in line ", "block (0, 0, 0)"),
        (unwritten, 1, "tile[0] is read before a thread writes it", "thread (0, 0, 0)"),
        (float_index, 1, "the index 0.0 of a is not a whole number", "thread (0, 0, 0)"),
        (wrong_axes, 1, "a has 1 axis, and 2 indices are given", "thread (0, 0, 0)"),
        (whole_array, 1, "there is no a.sum", "thread (0, 0, 0)"),
        (no_number, 1, "division by zero: a GPU goes on with inf or nan", "thread (1, 0, 0)"),
        (endless_with_accesses, 1, "does each loop end?", "thread (0, 0, 0)"),
        (endless, 1, "does each loop end?", "thread (0, 0, 0)"),
        (endless_condition, 1, "does each loop end?", "thread (0, 0, 0)"),
        (endless_barriers, 1, "does each loop end?", "block (0, 0, 0)"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_error_names_the_mistake_the_line_and_the_thread(kernel, grid, words, place):
    a = zeros(8)
    with pytest.raises(KernelError) as error:
        launch(kernel, grid, 4, a)
    message = str(error.value)
    assert words in message and place in message and kernel.__name__ in message
    first = kernel.__code__.co_firstlineno
    if kernel not in (in_an_if, two_barriers, endless_barriers, between_blocks):
        line = int(message.partition("(line ")[2].split()[0])
        assert first < line < first + 6
    assert not a.any()  # unchanged


@pytest.mark.parametrize("kernel", [outside, reads_neighbour, endless, endless_condition])
def test_a_watched_kernel_has_the_same_errors(kernel):
    """`tito test` calls a learner's functions through a wrapper."""

    def errors(kernel):
        with pytest.raises(KernelError) as error:
            launch(kernel, 2, 4, zeros(8))
        return str(error.value)

    watched = functools.update_wrapper(lambda *given, **named: kernel(*given, **named), kernel)
    assert errors(watched) == errors(kernel)


def test_a_number_that_does_not_fit_is_refused():
    with pytest.raises(KernelError, match="cannot be written into ids, of dtype int32"):
        launch(too_large, 1, 4, np.zeros(4, "int32"))


def test_a_tracer_is_put_back_after_an_error():
    import sys

    before = sys.gettrace()
    with pytest.raises(KernelError):
        launch(endless, 1, 1, zeros(1))
    assert sys.gettrace() is before


def test_blocks_have_at_most_1024_threads():
    for block in (0, 1025, (32, 33)):
        with pytest.raises(ValueError, match="a block has 1 to 1,024 threads"):
            launch(between_blocks, 1, block, zeros(2000))


def test_the_places_of_threads_and_blocks():
    def place(block, thread, out):
        i = thread.x + 2 * thread.y + 6 * thread.z
        out[block.x, block.y, i] = 100 * block.x + 10 * block.y + i

    out = zeros(2, 3, 12)
    report = launch(place, (2, 3), (2, 3, 2), out)
    assert report.threads == 72 and out[1, 2, 11] == 131


def test_numbers_and_an_array_that_is_given_twice():
    def scaled(block, thread, a, factor, out):
        out[thread.x] = factor * a[thread.x]

    a = np.arange(4, dtype="float32")
    report = launch(scaled, 1, 4, a, 2.5, a)
    assert a.tolist() == [0, 2.5, 5, 7.5]
    assert report == Report(threads=4, reads=4, writes=4, transactions=2)


def test_transactions_and_bank_conflicts_follow_the_addresses():
    def strided(block, thread, a, stride, out, tile=shared(1024)):
        for i in range(thread.x, 1024, 32):
            tile[i] = 0.0
        yield
        out[thread.x] = a[stride * thread.x] + tile[stride * thread.x]

    for stride, transactions, conflicts in ((1, 1, 0), (2, 2, 1), (32, 32, 31), (0, 1, 0)):
        report = launch(strided, 1, 32, zeros(1024), stride, zeros(32))
        assert (report.transactions - 1, report.bank_conflicts) == (transactions, conflicts)
        assert (report.shared_reads, report.shared_writes, report.barriers) == (32, 1024, 1)


def test_shared_ints_and_a_report_of_ints():
    def halves(block, thread, out, tile=shared(4, dtype="int32")):
        tile[thread.x] = thread.x
        yield
        out[thread.x] = tile[3 - thread.x] // 2

    report = launch(halves, 1, 4, out := np.zeros(4, "int32"))
    assert out.tolist() == [1, 1, 0, 0]
    counts = {"threads": 4, "reads": 0, "writes": 4, "transactions": 1, "barriers": 1}
    shared_counts = {"shared_reads": 4, "shared_writes": 4, "bank_conflicts": 0}
    assert vars(report) == counts | shared_counts
    assert {type(count) for count in vars(report).values()} == {int}


def test_a_read_that_is_repeated_counts_each_time():
    def twice(block, thread, a, out):
        total = 0.0
        for _ in range(2):
            total += a[thread.x]
        out[thread.x] = total + a[thread.x]

    report = launch(twice, 1, 32, zeros(32), zeros(32))
    assert (report.reads, report.transactions) == (96, 4)
