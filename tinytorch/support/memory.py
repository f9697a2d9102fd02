"""What Python says and does about memory: who holds an array, what a result occupies.

Python frees an object as soon as nobody refers to it: it counts the references to each. Groups of
objects that refer only to each other are found by the garbage collector, which searches through
all objects.
"""

import gc
import sys

import numpy as np


def is_exclusive(array):
    """Whether nobody but the caller, in one variable, refers to the array or to its memory.

    array    anything; False unless it is an ndarray that owns its memory
    returns  bool

    >>> array = np.zeros(3)
    >>> view = array[1:]
    >>> is_exclusive(view)
    False
    """
    return type(array) is np.ndarray and array.base is None and sys.getrefcount(array) <= REFERENCES


def count_references():
    """What `references` says of an array that one variable of the caller refers to."""
    array = np.empty(0)
    return references(array)


def references(array):
    """How many references to `array` Python counts; this call's own are among them."""
    return sys.getrefcount(array)


REFERENCES = count_references()  # measured, because it differs between versions of Python


def raise_collector_threshold():
    """Let the garbage collector wait for 20,000 new objects that stay, where it waits for less, and
    search older ones less often.

    A computation graph has no groups that refer only to each other, but many objects: with Python's
    own settings, the searches cost a third of building a graph of 400,000.
    """
    gc.set_threshold(max(gc.get_threshold()[0], 20_000), 20, 1000)
