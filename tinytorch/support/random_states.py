"""The states of random-number generators: found inside objects, saved, and set again.

A generator's *state* is a few integers; all numbers that it will draw depend on them and on nothing
else. Generators hide in objects: in a dropout layer, in a data loader, in the data set inside it.
"""

import numpy as np


def generators_in(thing, visited=None):
    """Every NumPy Generator inside `thing`, in a fixed order, each once.

    thing    any object; its attributes are searched, and the items of lists, tuples and dicts
    visited  a set with the ids of the objects searched before; None at the start
    returns  a list
    """
    visited = set() if visited is None else visited
    if id(thing) in visited or isinstance(thing, (type, np.ndarray, str, bytes, int, float)):
        return []
    visited.add(id(thing))
    if isinstance(thing, np.random.Generator):
        return [thing]
    parts = (
        thing
        if isinstance(thing, (list, tuple))
        else (thing if isinstance(thing, dict) else getattr(thing, "__dict__", {})).values()
    )
    return [generator for part in parts for generator in generators_in(part, visited)]


def random_states(thing):
    """The states of all generators inside `thing`, a list of dicts.

    >>> random_states([np.random.default_rng(0), "no generator"])[0]["bit_generator"]
    'PCG64'
    """
    return [generator.bit_generator.state for generator in generators_in(thing)]


def set_random_states(thing, states):
    """Set the generators inside `thing` to states that `random_states` returned.

    Raises ValueError when there are more generators than states, fewer, or other kinds.

    >>> rng = np.random.default_rng(0)
    >>> states, first = random_states(rng), rng.random()
    >>> set_random_states(rng, states)
    >>> rng.random() == first
    True
    """
    generators = generators_in(thing)
    if [g.bit_generator.state["bit_generator"] for g in generators] != [
        state["bit_generator"] for state in states
    ]:
        raise ValueError(
            f"there are {len(generators)} random-number generators here and {len(states)} saved "
            "states: was the model or the data loader built in another way?"
        )
    for generator, state in zip(generators, states):
        generator.bit_generator.state = state
