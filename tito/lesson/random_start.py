"""The same random numbers in each check, also where code draws without a seed: in `tito test`, in
`check()` and in the judge. Otherwise a wrong solution could pass in one run and fail in the next.

The judge sends the compiled text of this file to the learner's side, so it imports nothing of tito.
"""

import functools
import itertools
import random
import sys
from collections.abc import Callable, Iterable
from typing import Any

SEED = 1729


def restart(spaces: Iterable[dict[str, Any]] = ()) -> Callable[[], None]:
    """Seed Python's and NumPy's generators: the global ones, those that are made without a seed
    from now on, and those that these namespaces, or classes in them, hold.

    Returns a function that restores all of them.
    """
    undo: list[Callable[[], None]] = []
    python = random.getstate()
    undo.append(lambda: random.setstate(python))
    random.seed(SEED)
    if "numpy" in sys.modules:  # a lesson without NumPy does not wait for it
        undo += _restart_numpy(spaces)

    def restore() -> None:
        for step in reversed(undo):  # a class may be in several namespaces
            step()

    return restore


def _restart_numpy(spaces: Iterable[dict[str, Any]]) -> Iterable[Callable[[], None]]:
    from numpy import random as numpy_random
    from numpy.random import bit_generator

    made: Any = bit_generator
    state, randbits = numpy_random.get_state(), getattr(made, "randbits", None)
    count = itertools.count(SEED)
    yield lambda: numpy_random.set_state(state)
    yield lambda: setattr(made, "randbits", randbits)
    numpy_random.seed(SEED)
    made.randbits = lambda bits: next(count)  # from it NumPy makes a seed where none is given
    for space in spaces:
        classes = [value for value in space.values() if isinstance(value, type)]
        holders: list[Any] = [space, *classes]
        for holder in holders:
            names = space if holder is space else vars(holder)
            for name, value in list(names.items()):
                if type(value) is numpy_random.Generator:
                    bind(holder, name, numpy_random.default_rng(SEED))
                    yield functools.partial(bind, holder, name, value)


def bind(holder: Any, name: str, value: Any) -> None:
    if isinstance(holder, dict):
        holder[name] = value
    else:
        type.__setattr__(holder, name, value)


def namespaces(package: str) -> list[dict[str, Any]]:
    """The namespaces of the package's imported modules."""
    return [
        vars(module)
        for name, module in list(sys.modules.items())
        if f"{name}.".startswith(f"{package}.") and type(module) is type(sys)
    ]
