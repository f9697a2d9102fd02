"""Random numbers in a function that runs twice: the second run draws what the first one drew."""

import inspect
from contextlib import contextmanager

from tinytorch.core.layers import RandomState
from tinytorch.support.random_states import random_states, set_random_states

__all__ = ["generators_of", "repeated"]


def generators_of(f):
    """Everything that the function or module `f` may draw random numbers from, and the generator
    that all layers share: what `random_states` searches.

    >>> rng = np.random.default_rng(0)
    >>> len(random_states(generators_of(lambda: rng.normal())))
    2
    """
    parts = [RandomState.rng, f]
    try:
        names = inspect.getclosurevars(f)
    except TypeError:  # a module: its attributes are searched
        return parts
    parts.append(getattr(f, "__self__", None))
    return [*parts, *names.nonlocals.values(), *names.globals.values()]


@contextmanager
def repeated(generators, states):
    """Let the generators draw again in this block what they drew after having had these states;
    afterwards they go on where they were.

    generators  what `generators_of` returned
    states      what `random_states(generators)` returned then
    """
    present = random_states(generators)
    set_random_states(generators, states)
    try:
        yield
    finally:
        set_random_states(generators, present)
