"""What things are, in a few words: in error messages, and in what Python prints for a data set or
a training run."""

import inspect

import numpy as np

__all__ = ["Described", "described"]


def described(thing):
    """What was given, for an error message.

    >>> described(np.ones((2, 3))), described("mse"), described(int), described([1, 2])
    ('an ndarray of shape (2, 3)', "the text 'mse'", 'the class int', 'the list [1, 2]')
    """
    kind = type(thing).__name__
    spelled = kind == "ndarray" or kind[:2].isupper() and kind[0] in "FHLMNRSX"  # "an SGD"
    name = f"an {kind}" if spelled or kind[0] in "aeioAEIO" else f"a {kind}"
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    if isinstance(thing, str):
        return f"the text {thing!r:.60}"
    if thing is None or isinstance(thing, (bool, int, float, np.generic)):
        return f"{thing}"
    if hasattr(thing, "shape"):
        return f"{name} of shape {thing.shape}"
    if isinstance(thing, (list, tuple, dict)):
        short = len(thing) < 4 and all(isinstance(part, (str, int, float)) for part in thing)
        plain = short and not isinstance(thing, dict)
        return f"the {kind} {thing!r}" if plain else f"{name} of length {len(thing)}"
    if callable(thing) and hasattr(thing, "__name__"):
        if inspect.ismethod(thing):
            return f"the method {thing.__name__}, without brackets"
        return f"the function {thing.__name__}"
    return name


class Described:
    """Prints as the name of its class, its number of examples if it has a length, and its
    attributes: arrays as dtype and shape, functions by their names.

    .hidden  names of attributes that are left out
    """

    hidden = ()

    def __repr__(self):
        facts = []
        if hasattr(self, "__len__"):
            try:
                facts.append(f"{len(self):,} example{'s' * (len(self) != 1)}")
            except Exception:  # noqa: BLE001  a data set that is not finished prints all the same
                facts.append("no length")
        for name, value in vars(self).items():
            if name not in self.hidden and not isinstance(value, np.random.Generator):
                facts.append(f"{name}={brief(value)}")
        return f"{type(self).__name__}({', '.join(facts)})"


def brief(value):
    """A value in one short line.

    >>> brief(np.ones((2, 3))), brief([np.ones(2), abs]), brief(list(range(100)))
    ('float64 (2, 3)', '[float64 (2,), abs]', 'a list of length 100')
    """
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype} {value.shape}" if value.shape else f"{value.item()}"
    if isinstance(value, (list, tuple)) and len(value) <= 6:
        inside = ", ".join(map(brief, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    if isinstance(value, (list, tuple, dict)):
        return described(value)
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    if type(value).__repr__ is object.__repr__:
        return type(value).__name__
    return repr(value).split("\n")[0]
