"""What data loaders and splits need: lengths of parts, examples stacked as rows, and a queue that a
thread fills.
"""

import math
import queue
import sys
import threading

import numpy as np

from tinytorch.support.arguments import described


def stack_rows(samples):
    """The samples as rows of one array: arrays and NumPy numbers keep their dtype; Python numbers
    stay a list.

    samples  list of arrays, Tensors or numbers, 1 or more
    returns  ndarray with one more axis in front, or a list of numbers

    ValueError when their shapes differ, with the first of these shapes in its message.

    >>> stack_rows([np.array([1, 2]), np.array([3, 4])])
    array([[1, 2],
           [3, 4]])
    """
    shapes = list(dict.fromkeys(np.shape(s) for s in samples))
    if len(shapes) > 1:
        raise ValueError(
            f"examples of the shapes {' and '.join(map(str, shapes[:3]))} cannot be stacked into "
            "one batch: bring them to one shape first, or write a collate_fn that does"
        )
    if hasattr(samples[0], "dtype"):
        return np.stack([np.asarray(s) for s in samples])
    return list(samples)


def split_lengths(lengths, count):
    """How many of `count` examples each part of a split gets.

    lengths  integers that add up to `count`, or proportions that add up to 1: these are rounded
             down, and the examples that remain go to the first parts, one each
    returns  list of ints that add up to `count`

    ValueError when they add up to something else, with both numbers in its message.

    >>> split_lengths([0.75, 0.25], 10), split_lengths([4, 2], 6)
    ([8, 2], [4, 2])
    """
    if isinstance(lengths, str) or not hasattr(lengths, "__iter__"):
        raise TypeError(
            f"the lengths of the parts are {described(lengths)}, not a list\n"
            "give one for each part, such as [0.8, 0.2] or [1000, 200]"
        )
    if abs(sum(lengths) - 1) < 1e-6 and all(0 <= n <= 1 for n in lengths):
        # 0.29 * 100 is 28.999999999999996, hence the small number
        whole = [math.floor(count * proportion + 1e-9) for proportion in lengths]
        return [n + (part < count - sum(whole)) for part, n in enumerate(whole)]
    if sum(lengths) != count or any(n < 0 for n in lengths):
        raise ValueError(
            f"the lengths {list(lengths)} add up to {sum(lengths)}, there are {count} examples\n"
            "give lengths that add up to that, or proportions that add up to 1"
        )
    return [int(n) for n in lengths]


class BoundedQueue:
    """A first-in-first-out queue that holds at most `size` items, with the thread that fills it.

    size  how many items may wait in the queue, 1 or more; the thread blocks while it is full

    >>> bounded = BoundedQueue(size=2)
    >>> bounded.start(lambda put: put("item", 5) and put("end"), bounded.put)
    >>> bounded.get(), bounded.get()
    (('item', 5), ('end', None))
    >>> bounded.close()
    """

    def __init__(self, size):
        # The semaphore counts the free slots: the thread acquires one before it puts an item, so
        # it is never far ahead.
        self.free = threading.Semaphore(size)
        self.items = queue.SimpleQueue()
        self.closed = False

    def start(self, work, *inputs):
        """Run work(*inputs) in a thread named "prefetch". However it ends, the last entry of the
        queue is ("exited", None)."""

        def run():
            try:
                work(*inputs)
            finally:
                self.items.put(("exited", None))

        # daemon: a program may end although an iteration was never finished
        self.thread = threading.Thread(target=run, name="prefetch", daemon=True)
        self.thread.start()

    def put(self, kind, value=None):
        """For the thread: wait for a free slot, then append (kind, value). Returns False when the
        queue was closed, else True."""
        if not self.closed:
            self.free.acquire()
        if not self.closed:
            self.items.put((kind, value))
        return not self.closed

    def get(self):
        """For the program: remove and return the oldest (kind, value); waits until there is one.
        RuntimeError when the thread has exited and everything it put was already returned."""
        kind, value = self.items.get()
        self.free.release()
        if kind == "exited":
            raise RuntimeError(
                'the producer thread exited without saying why: it should put "end", or the error'
            )
        return kind, value

    def close(self):
        """For the program: tell the thread to stop, and wait until it has."""
        self.closed = True
        self.free.release()  # for a thread that is blocked; from now on `put` does not block
        # When the interpreter shuts down, its daemon threads run no more. Python 3.13 would wait
        # for one for ever.
        if not sys.is_finalizing():
            self.thread.join()
