# From modules/source/13_embeddings/embeddings_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 118791f4728c0f65
"""Embeddings: Four models of the next token: two that count, a window and a loop."""

import math

import numpy as np

from tinytorch.core.autograd import derivative
from tinytorch.core.layers import Dense, Module, generator, xavier_uniform
from tinytorch.core.losses import as_float_tensor
from tinytorch.core.tensor import Tensor, Variable, apply, concatenate, stack
from tinytorch.support.arguments import check_counts, check_number
from tinytorch.support.token_ids import NGramCounts, as_ids, scatter_add

__all__ = [
    "bigram_counts", "probabilities", "sample_bigram", "bits_per_character", "windows", "name_windows",
    "embedding_forward", "ONE_HOT_LIMIT", "embedding_rule", "embedding", "embedding_gradient", "Embedding",
    "WindowModel", "nearest", "rnn_step", "RecurrentModel", "witten_bell", "NGram",
]


def bigram_counts(ids, vocab_size):
    """How often each token of a text directly follows each token, itself included.

    returns     int64 array of shape (V, V): in row `before`, column `after`, how often the
                token `after` comes directly after the token `before`
    """
    ids = as_ids(ids, vocab_size)
    counts = np.zeros((vocab_size, vocab_size), np.int64)
    for before, after in zip(ids, ids[1:]):
        counts[before, after] += 1
    return counts


def probabilities(counts, smoothing=1.0):
    """Turn counts into probabilities of the next token, with additive smoothing.

    counts     array of shape (V, V), numbers >= 0
    returns    float64 array (V, V)
    """
    check_number("smoothing", smoothing, 0)
    counts = np.asarray(counts, "float64") + float(smoothing)
    return counts / counts.sum(axis=1, keepdims=True)


def sample_bigram(P, start, stop, rng):
    """Draw tokens one after another, each from the row of the token before it.

    returns  list of int: the tokens drawn before `stop`, without `start` and `stop`
    """
    drawn, token = [], start
    while True:
        token = int(rng.choice(len(P), p=P[token]))
        if token == stop:
            return drawn
        drawn.append(token)


def bits_per_character(nats, characters):
    """Bits per character of a text.

    returns     float

    >>> bits_per_character(4 * math.log(2), 8)
    0.5
    """
    check_number("characters", characters)
    return float(nats) / math.log(2) / characters


def windows(ids, context):
    """All windows of a text, each with the token that follows it.

    returns  x, y: int64 arrays of shape (N, context) and (N,), with N = n - context, or 0 for a
             text that is too short
    """
    ids = as_ids(ids)
    check_counts(context=context)
    starts = np.arange(max(0, len(ids) - context))
    return ids[starts[:, None] + np.arange(context)], ids[context:]


def name_windows(names, context, end):
    """The windows of many short texts. No window contains parts of two texts."""
    pairs = [windows([end] * context + list(name) + [end], context) for name in names]
    return np.concatenate([x for x, _ in pairs]), np.concatenate([y for _, y in pairs])


def embedding_forward(weight, ids):
    """The rows of a table.

    ids      int ndarray of any shape (...)
    returns  ndarray (..., D): the row of `weight` for each id

    Raises IndexError if an id is negative, or V or more.
    """
    outside = ids[(ids < 0) | (ids >= len(weight))]
    if outside.size:
        raise IndexError(f"id {outside[0]} has no row in an embedding of {len(weight)} tokens")
    return weight[ids]


ONE_HOT_LIMIT = 20_000  # size of the one-hot matrix; for larger ones, sorting was faster


def embedding_rule(g, out, weight, ids):
    """The gradient of the table: by one-hot rows if they are small, else by `scatter_add`."""
    if ids.size * len(weight) <= ONE_HOT_LIMIT:
        return embedding_gradient(g, out, weight, ids)
    return scatter_add(g.reshape(ids.size, -1), ids.ravel(), len(weight))


derivative(embedding_forward, embedding_rule)


def embedding(ids, weight):
    """The rows of `weight` for `ids`.

    ids      ints: nested lists, an array or a Tensor of any shape (...); TypeError for floats,
             IndexError for ids that have no row
    returns  Tensor (..., D)
    """
    return apply(embedding_forward, as_float_tensor(weight), ids=as_ids(ids))


def embedding_gradient(g, out, weight, ids):
    """The gradient of the table, given the gradient of the rows that were looked up.

    returns  new ndarray (V, D) of the dtype of `g`
    """
    one_hot = (ids.reshape(-1, 1) == np.arange(len(weight))).astype(g.dtype)
    return one_hot.T @ g.reshape(-1, weight.shape[1])


class Embedding(Module):
    """A table with a learned vector for each token.

    >>> Embedding(27, 8)([[3, 1, 4]]).shape
    (1, 3, 8)
    """

    def __init__(self, num_embeddings, embedding_dim, *, rng=None):
        table = generator(rng).normal(size=(num_embeddings, embedding_dim))
        self.weight = Variable(table.astype(np.float32))

    def forward(self, ids):
        """ids: ints of any shape (...). Returns a Tensor (..., D)."""
        return embedding(ids, self.weight)

    def __repr__(self):
        return f"Embedding({', '.join(map(str, self.weight.shape))})"


class WindowModel(Module):
    """A language model that sees the last tokens: the vectors of a window, joined, then a
    network with one hidden layer and tanh.

    >>> WindowModel(27, 4, 8, 64)(np.zeros((5, 4), int)).shape
    (5, 27)
    """

    def __init__(self, vocab_size, context, embedding_dim, hidden):
        self.embedding = Embedding(vocab_size, embedding_dim)
        self.hidden = Dense(context * embedding_dim, hidden)
        self.head = Dense(hidden, vocab_size)

    def forward(self, ids):
        """ids: ints (B, context). Returns logits for the token after each window, (B, V)."""
        x = self.embedding(ids).flatten(1)
        return self.head(self.hidden(x).tanh())


def nearest(weight, id, k):
    """The tokens whose vectors have the smallest angle to the vector of one token.

    returns  int array (k,), the most similar first

    >>> nearest(np.array([[1.0, 0.0], [0.0, 1.0], [9.0, 1.0], [-1.0, 0.0]]), 0, 2)
    array([2, 1])
    """
    weight = np.asarray(weight)
    as_ids(id, len(weight))  # IndexError if there is no such row
    check_counts(0, k=k)
    unit = weight / np.linalg.norm(weight, axis=1, keepdims=True)
    order = np.argsort(-(unit @ unit[id]), kind="stable")
    return order[order != id][:k]


def rnn_step(x, h, w, u, b):
    """One step of a recurrent network: tanh(x w + h u + b).

    returns  Tensor (B, N): the hidden state after it
    """
    return (x @ w + h @ u + b).tanh()


class RecurrentModel(Module):
    """A language model with a hidden state, which depends on all tokens so far."""

    def __init__(self, vocab_size, embedding_dim, hidden):
        self.embedding = Embedding(vocab_size, embedding_dim)
        self.w = Variable(xavier_uniform(embedding_dim, hidden))
        self.u = Variable(xavier_uniform(hidden, hidden))
        self.b = Variable(np.zeros(hidden, np.float32))
        self.head = Dense(hidden, vocab_size)

    def forward(self, ids, h=None):
        """Run over T tokens."""
        x = self.embedding(ids)
        if h is None:
            h = Tensor(np.zeros((x.shape[0], self.b.shape[0]), np.float32))
        states = []
        for t in range(x.shape[1]):
            h = rnn_step(x[:, t], h, self.w, self.u, self.b)
            states.append(h)
        return self.head(stack(states, axis=1)), h


def witten_bell(lower, count, total, distinct):
    """Witten-Bell smoothing: combine how often a token followed its context with the
    probability that shorter contexts give it.

    >>> witten_bell(np.array([0.5, 0.5]), np.array([3, 1]), 4, 2)
    array([0.66666667, 0.33333333])
    """
    mixed = (count + distinct * lower) / np.maximum(total + distinct, 1)
    return np.where(np.asarray(total) > 0, mixed, lower)


class NGram:
    """A language model that counts n-grams and interpolates between contexts of all lengths."""

    def __init__(self, order):
        check_counts(order=order)
        self.order = order

    def fit(self, ids, vocab_size):
        """Count the n-grams of a text of ids below vocab_size. Returns the model itself."""
        self.vocab_size = vocab_size
        self.counts = [NGramCounts(ids, length, vocab_size) for length in range(self.order)]
        return self

    def log_probability(self, ids):
        """The logarithm (base e) of the probability of each token, given the tokens before it.

        returns  float64 array (n,)
        """
        ids = as_ids(ids, self.vocab_size)
        p = np.full(len(ids), 1 / self.vocab_size)
        for counts in self.counts:
            k = counts.length
            p[k:] = witten_bell(p[k:], *counts.look_up(ids))
        return np.log(p)

    def next(self, ids):
        """The probabilities of the token that follows `ids`.

        returns  float64 array (V,)
        """
        ids = as_ids(ids, self.vocab_size)
        p = np.full(self.vocab_size, 1 / self.vocab_size)
        for counts in self.counts:
            if counts.length <= len(ids):
                context = ids[len(ids) - counts.length:]
                p = witten_bell(p, *counts.following(context))
        return p
