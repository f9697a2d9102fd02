"""What Python says and does about memory: who holds an array, what a result occupies.

Python frees an object as soon as nobody holds it: it counts the references to each. Groups of
objects that hold only each other are found by the garbage collector, a search through all objects.
"""

import gc
import sys
import tracemalloc

import numpy as np


def is_ours(g):
    """Whether nobody but the caller, in one variable, holds the array `g` or its memory.

    g        anything; False unless it is an ndarray that owns its numbers
    returns  bool

    >>> g = np.zeros(3)
    >>> view = g[1:]
    >>> is_ours(view)
    False
    """
    return type(g) is np.ndarray and g.base is None and sys.getrefcount(g) <= HOLDERS


def count_holders():
    """What `held` says of an array that one variable of the caller holds."""
    g = np.empty(0)
    return held(g)


def held(g):
    """How many references to `g` Python counts; this call's own are among them."""
    return sys.getrefcount(g)


HOLDERS = count_holders()  # measured, because it differs between versions of Python


def collect_less_often():
    """Let the garbage collector wait for 20,000 new objects that stay, where it waits for less, and
    search older ones less often.

    A computation graph has no groups that hold only each other, but many objects: with Python's
    own settings, the searches cost a third of building a graph of 400,000.
    """
    gc.set_threshold(max(gc.get_threshold()[0], 20_000), 20, 1000)


def kilobytes_held(make):
    """The memory in use while the result of make() is held, in units of 1000 bytes, rounded down.

    >>> kilobytes_held(lambda: np.zeros(100_000, "float32")) in (400, 401)
    True
    """
    tracemalloc.start()
    try:
        kept = make()
        used = tracemalloc.get_traced_memory()[0]
        del kept
    finally:
        tracemalloc.stop()
    return used // 1000
