"""Random numbers in a function that runs twice: the second run draws what the first one drew."""

import functools
import inspect
from contextlib import contextmanager
from types import FunctionType, MethodType, ModuleType

from tinytorch.core.layers import RandomState
from tinytorch.support.random_states import random_states, set_random_states

__all__ = ["generators_of", "repeated"]


def generators_of(f):
    """What `f` may draw random numbers from, and the generator that all layers share: a list for
    `random_states` to search.

    f  a function, a method, a functools.partial, or a module of layers. Functions that it calls
       are searched too, when they stand in the same file or notebook

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> len(random_states(generators_of(lambda: rng.normal())))
    2
    """
    found, stack, home = [RandomState.rng], [f], None
    while stack:
        part = stack.pop()
        if isinstance(part, functools.partial):
            stack += [part.func, *part.args, *part.keywords.values()]
        elif isinstance(part, MethodType):
            stack += [part.__self__, part.__func__]
        elif isinstance(part, ModuleType) or any(part is other for other in found):
            continue
        else:
            found.append(part)
            if isinstance(part, FunctionType):
                home = home or part.__module__
                stack += used_by(part) if part.__module__ == home else []
    return found


def used_by(function):
    """The values that a Python function uses besides its arguments, and their defaults."""
    names = inspect.getclosurevars(function)
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return [*names.nonlocals.values(), *names.globals.values(), *defaults]


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
