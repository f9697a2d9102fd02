"""A bounded queue between a producer thread and the program that consumes what it makes."""

import queue
import sys
import threading


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
