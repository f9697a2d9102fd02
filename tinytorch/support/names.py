"""What lesson 13 does with first names beside learning: batches of unequal length, and names from
any model."""

import numpy as np

__all__ = ["padded_batch", "sample_name"]


def padded_batch(names, end=0):
    """Names of unequal length as arrays with a row for each name.

    names    list of int arrays, without the id `end`
    returns  x, y, mask of shape (names, 1 + longest): x begins with `end`, y is x one place
             later; mask is 1 (float32) where y is part of the name or its end, 0 behind it

    >>> padded_batch([[5, 6], [7]])[1]
    array([[5, 6, 0],
           [7, 0, 0]])
    """
    longest = 1 + max(map(len, names))
    x = np.full((len(names), longest + 1), end, np.int64)
    mask = np.zeros((len(names), longest), np.float32)
    for row, name in enumerate(names):
        x[row, 1 : len(name) + 1] = name
        mask[row, : len(name) + 1] = 1
    return x[:, :-1], x[:, 1:], mask


def sample_name(logits_after, rng, end=0, longest=20):
    """Token ids drawn one after the other from a model, until it draws `end`.

    logits_after  function of the list of ids so far, `end` at first; returns logits (V,)
    rng           a NumPy Generator
    longest       stop after so many
    returns       list of int, without `end`

    >>> sample_name(lambda ids: [0.0, 99.0] if len(ids) < 4 else [99.0, 0.0],
    ...             np.random.default_rng(0))
    [1, 1, 1]
    """
    ids = [end]
    while len(ids) <= longest:
        p = np.asarray(logits_after(ids), np.float64)
        p = np.exp(p - p.max())
        ids.append(int(rng.choice(len(p), p=p / p.sum())))
        if ids[-1] == end:
            return ids[1:-1]
    return ids[1:]
