"""Counts of n-grams, kept in sorted arrays: a novel is counted in a tenth of a second."""

import numpy as np

from tinytorch.support.ids import as_ids

__all__ = ["NGramCounts"]


class NGramCounts:
    """How often each token follows each context of some length in a text.

    ids         int array (n,): the text
    length      tokens in a context, 0 or more
    vocab_size  V; ValueError when there are 2**63 or more possible n-grams

    .length     as given

    >>> counts = NGramCounts([0, 1, 0, 1, 0, 0], length=1, vocab_size=2)
    >>> counts.following([0])
    (array([1, 2]), 3, 2)
    """

    def __init__(self, ids, length, vocab_size):
        if vocab_size ** (length + 1) >= 2**63:
            raise ValueError(
                f"{vocab_size} tokens have too many n-grams of length {length + 1} to number them"
                "\ntake a smaller order"
            )
        self.length, self.vocab_size = length, vocab_size
        grams = self.numbers(as_ids(ids, vocab_size))
        self.grams, self.counts = np.unique(grams, return_counts=True)
        self.contexts, first, self.distinct = np.unique(
            self.grams // vocab_size, return_index=True, return_counts=True
        )
        self.totals = np.add.reduceat(self.counts, first) if first.size else first

    def __len__(self):
        """How many different n-grams the text holds."""
        return len(self.grams)

    def numbers(self, ids):
        """Each n-gram of `ids`, the context and the token after it, as one number."""
        n = max(0, len(ids) - self.length)
        out = np.zeros(n, np.int64)
        for i in range(self.length + 1):
            out = out * self.vocab_size + ids[i : i + n]
        return out

    def look_up(self, ids):
        """The counts for each token of `ids` that has a whole context before it.

        ids      int array (m,)
        returns  three int arrays of shape (m - length,): how often the token follows its context;
                 how often anything follows it; how many different tokens do
        """
        grams = self.numbers(as_ids(ids, self.vocab_size))
        contexts = grams // self.vocab_size
        return (
            values_of(self.grams, self.counts, grams),
            values_of(self.contexts, self.totals, contexts),
            values_of(self.contexts, self.distinct, contexts),
        )

    def following(self, context):
        """The counts for every token after one context.

        context  ids, as many as `length`
        returns  int array (V,): how often each token follows; two ints: how often anything
                 follows, and how many different tokens do
        """
        number = 0
        for id in as_ids(context, self.vocab_size).tolist():
            number = number * self.vocab_size + id
        start = number * self.vocab_size
        low, high = np.searchsorted(self.grams, [start, start + self.vocab_size])
        counts = np.zeros(self.vocab_size, np.int64)
        counts[self.grams[low:high] - start] = self.counts[low:high]
        return counts, int(counts.sum()), int(high - low)


def values_of(keys, values, wanted):
    """The value of each wanted key, 0 for those that are not among the sorted keys."""
    if not len(keys):
        return np.zeros(len(wanted), np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], 0)
