"""A bounded queue between one thread, which makes things, and the program, which uses them."""

import queue
import threading


class Shelf:
    """Where a thread puts things and the program takes them from: room for a few, and a way to say
    that it is over.

    room  how many things may stand there, 1 or more; the thread waits while there are as many

    >>> shelf = Shelf(room=2)
    >>> shelf.start(lambda put: put("item", 5) and put("end"), shelf.put)
    >>> shelf.take(), shelf.take()
    (('item', 5), ('end', None))
    >>> shelf.close()
    """

    def __init__(self, room):
        # The semaphore counts the free places: the thread waits for one before it puts, so it is
        # never far ahead.
        self.free = threading.Semaphore(room)
        self.things = queue.SimpleQueue()
        self.closed = False

    def start(self, work, *inputs):
        """Run work(*inputs) in a thread named "prefetch". However it ends, the last thing on the
        shelf is ("gone", None)."""

        def run():
            try:
                work(*inputs)
            finally:
                self.things.put(("gone", None))

        # daemon: a program may end though somebody has not walked to the end
        self.thread = threading.Thread(target=run, name="prefetch", daemon=True)
        self.thread.start()

    def put(self, kind, thing=None):
        """For the thread: wait for a free place and put (kind, thing) there. False when nobody
        wants any more."""
        if not self.closed:
            self.free.acquire()
        if not self.closed:
            self.things.put((kind, thing))
        return not self.closed

    def take(self):
        """For the program: the oldest (kind, thing) on the shelf; waits for it. RuntimeError when
        the thread has ended and everything it put was taken."""
        kind, thing = self.things.get()
        self.free.release()
        if kind == "gone":
            raise RuntimeError(
                'the thread has ended without saying why: it should put "end", or the error'
            )
        return kind, thing

    def close(self):
        """For the program: tell the thread that it is over, and wait until it has ended."""
        self.closed = True
        self.free.release()  # for a thread that waits; from now on it need not
        self.thread.join()
