# From modules/source/13_embeddings/embeddings_dev.py by `tito export`; edit that file, not this one.
# checksum: e7d776fe187a88ec
"""Embeddings: Four models of the next token: two that count, a window and a loop."""

import math

import numpy as np

from tinytorch.core.autograd import derivative
from tinytorch.core.layers import Dense, Module, generator, xavier_uniform
from tinytorch.core.losses import as_float_tensor
from tinytorch.core.tensor import Tensor, Variable, apply, concatenate, stack
from tinytorch.support.token_ids import NGramCounts, as_ids, scatter_add

__all__ = [
    "bigram_counts", "probabilities", "sample_bigram", "bits_per_character", "windows", "name_windows",
    "embedding_forward", "ONE_HOT_LIMIT", "embedding_rule", "embedding", "embedding_gradient", "Embedding",
    "WindowModel", "nearest", "rnn_step", "RecurrentModel", "witten_bell", "NGram",
]


def bigram_counts(ids, vocab_size):
    """How often each token of a text directly follows each token, itself included.

    ids         ints (n,), each from 0 to vocab_size - 1
    vocab_size  V
    returns     int64 array of shape (V, V): in row `before`, column `after`, how often the
                token `after` comes directly after the token `before`

    >>> bigram_counts([0, 1, 1, 2, 0, 1], 3)
    array([[0, 2, 0],
           [0, 1, 1],
           [1, 0, 0]])

    Source: Jurafsky, Martin, Speech and language processing (3rd edition), section 3.1.
    """
    ids = as_ids(ids, vocab_size)
    counts = np.zeros((vocab_size, vocab_size), np.int64)
    for before, after in zip(ids, ids[1:]):
        counts[before, after] += 1
    return counts


def probabilities(counts, smoothing=1.0):
    """Turn counts into probabilities of the next token, with additive smoothing.

    counts     array of shape (V, V), numbers >= 0; not changed
    smoothing  float >= 0, added to every count; 0 only when no row is all zeros
    returns    float64 array (V, V); row `before` holds the probability of each token after
               `before`, and sums to 1

    >>> probabilities(np.array([[0, 2], [3, 3]]))
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])

    Source: Chen, Goodman, An empirical study of smoothing techniques for language modeling
    (1998), section 2.1.
    """
    counts = np.asarray(counts) + float(smoothing)
    return counts / counts.sum(axis=1, keepdims=True)


def sample_bigram(P, start, stop, rng):
    """Draw tokens one after another, each from the row of the token before it.

    P        float array (V, V), rows sum to 1
    start    int: the token before the first one
    stop     int: the token at which to end
    rng      a NumPy Generator
    returns  list of int: the tokens drawn before `stop`, without `start` and `stop`

    >>> P = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    >>> sample_bigram(P, 0, 0, np.random.default_rng(5))
    [1, 2]

    Source: Shannon, A mathematical theory of communication (1948), section 3.
    """
    drawn, token = [], start
    while True:
        token = int(rng.choice(len(P), p=P[token]))
        if token == stop:
            return drawn
        drawn.append(token)


def bits_per_character(nats, characters):
    """Bits per character of a text.

    nats        float or scalar Tensor: the sum of -ln(probability) over all tokens of the text
    characters  int: the number of characters of these tokens
    returns     float

    >>> bits_per_character(4 * math.log(2), 8)
    0.5

    Source: Shannon, Prediction and entropy of printed English (1951).
    """
    return float(nats) / math.log(2) / characters


def windows(ids, context):
    """All windows of a text, each with the token that follows it.

    ids      int array (n,)
    context  int, 1 or more: tokens in a window
    returns  x, y: int64 arrays of shape (N, context) and (N,), with N = n - context, or 0 for a
             text that is too short. y[i] is the token directly after the window x[i]

    >>> x, y = windows([5, 6, 7, 8], 2)
    >>> x
    array([[5, 6],
           [6, 7]])
    >>> y
    array([7, 8])

    Source: Bengio et al., A neural probabilistic language model (2003), section 2.
    """
    ids = as_ids(ids)
    starts = np.arange(max(0, len(ids) - context))
    return ids[starts[:, None] + np.arange(context)], ids[context:]


def name_windows(names, context, end):
    """The windows of many short texts. No window contains parts of two texts.

    names    list of int arrays
    context  int: tokens in a window
    end      int: the id that marks the end; put it `context` times before each text, and once
             after it
    returns  x, y as from `windows`, with len(text) + 1 windows for each text, in order

    >>> x, y = name_windows([[5, 6], [7]], 2, end=0)
    >>> x.tolist(), y.tolist()
    ([[0, 0], [0, 5], [5, 6], [0, 0], [0, 7]], [5, 6, 0, 7, 0])
    """
    pairs = [windows([end] * context + list(name) + [end], context) for name in names]
    return np.concatenate([x for x, _ in pairs]), np.concatenate([y for _, y in pairs])


def embedding_forward(weight, ids):
    """The rows of a table.

    weight   ndarray (V, D)
    ids      int ndarray of any shape (...); there may be no ids
    returns  ndarray (..., D): the row of `weight` for each id

    Raises IndexError if an id is negative, or V or more; the message contains the first such id
    and V.

    >>> embedding_forward(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0, 1]))
    array([[3., 4.],
           [1., 2.],
           [3., 4.]])

    Source: torch.nn.functional.embedding.
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
    weight   Tensor (V, D)
    returns  Tensor (..., D)

    >>> embedding([1, 0], Tensor([[1.0, 2.0], [3.0, 4.0]]))
    Tensor([[3., 4.],
            [1., 2.]])

    Source: torch.nn.functional.embedding.
    """
    return apply(embedding_forward, as_float_tensor(weight), ids=as_ids(ids))


def embedding_gradient(g, out, weight, ids):
    """The gradient of the table, given the gradient of the rows that were looked up.

    g        ndarray (..., D): the upstream gradient
    out      the rows; not needed
    weight   ndarray (V, D)
    ids      int ndarray (...)
    returns  new ndarray (V, D) of the dtype of `g`: row i is the sum of the vectors g[k] for
             all positions k with ids[k] == i; zeros if there is no such position

    >>> embedding_gradient(np.ones((2, 2)), None, np.zeros((3, 2)), np.array([1, 1]))
    array([[0., 0.],
           [2., 2.],
           [0., 0.]])

    Source: the multivariable chain rule; lesson 06, gradients of matrix products.
    """
    one_hot = (ids.reshape(-1, 1) == np.arange(len(weight))).astype(g.dtype)
    return one_hot.T @ g.reshape(-1, weight.shape[1])


class Embedding(Module):
    """A table with a learned vector for each token.

    num_embeddings  V: how many tokens there are
    embedding_dim   D: the numbers of each vector
    rng             a NumPy Generator, a seed, or None for the shared generator: see `generator`

    .weight         float32 Variable (V, D), initially from the normal distribution with mean
                    0 and variance 1

    >>> Embedding(27, 8)([[3, 1, 4]]).shape
    (1, 3, 8)

    Source: torch.nn.Embedding.
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

    vocab_size     V
    context        tokens in a window
    embedding_dim  D
    hidden         outputs of the hidden layer

    .embedding     Embedding(V, D)
    .hidden        Dense(context * D, hidden)
    .head          Dense(hidden, V)

    >>> WindowModel(27, 4, 8, 64)(np.zeros((5, 4), int)).shape
    (5, 27)

    Source: Bengio et al., A neural probabilistic language model (2003), section 2.
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

    weight   Tensor or array (V, D); no row is zero; not changed
    id       int
    k        int, at most V - 1
    returns  int array (k,), the most similar first; `id` itself is not among them

    >>> nearest(np.array([[1.0, 0.0], [0.0, 1.0], [9.0, 1.0], [-1.0, 0.0]]), 0, 2)
    array([2, 1])

    Source: Manning, Raghavan, Schütze, Introduction to information retrieval (2008), section
    6.3.1.
    """
    weight = np.asarray(weight)
    unit = weight / np.linalg.norm(weight, axis=1, keepdims=True)
    order = np.argsort(-(unit @ unit[id]), kind="stable")
    return order[order != id][:k]


def rnn_step(x, h, w, u, b):
    """One step of a recurrent network: tanh(x w + h u + b).

    x        Tensor (B, D): the input of this step
    h        Tensor (B, N): the hidden state before it
    w        Tensor (D, N)
    u        Tensor (N, N)
    b        Tensor (N,)
    returns  Tensor (B, N): the hidden state after it

    >>> rnn_step(Tensor([[1.0]]), Tensor([[2.0]]), Tensor([[3.0]]), Tensor([[-1.0]]),
    ...          Tensor([-1.0]))
    Tensor([[0.]])

    Source: Elman, Finding structure in time (1990); torch.nn.RNNCell.
    """
    return (x @ w + h @ u + b).tanh()


class RecurrentModel(Module):
    """A language model with a hidden state, which depends on all tokens so far.

    vocab_size     V
    embedding_dim  D
    hidden         N: numbers of the hidden state

    .embedding     Embedding(V, D)
    .w .u .b       Variables (D, N), (N, N) and (N,), for `rnn_step`
    .head          Dense(N, V)

    >>> logits, h = RecurrentModel(27, 8, 64)(np.zeros((5, 12), int))
    >>> logits.shape, h.shape
    ((5, 12, 27), (5, 64))

    Source: Elman (1990); Mikolov et al., Recurrent neural network based language model (2010).
    """

    def __init__(self, vocab_size, embedding_dim, hidden):
        self.embedding = Embedding(vocab_size, embedding_dim)
        self.w = Variable(xavier_uniform(embedding_dim, hidden))
        self.u = Variable(xavier_uniform(hidden, hidden))
        self.b = Variable(np.zeros(hidden, np.float32))
        self.head = Dense(hidden, vocab_size)

    def forward(self, ids, h=None):
        """Run over T tokens.

        ids      ints (B, T), T at least 1
        h        Tensor (B, N): the hidden state before the first token, or None for zeros
        returns  logits for the token after each of the T tokens, a Tensor (B, T, V); and the
                 hidden state after the last one, a Tensor (B, N)
        """
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

    lower     float array: the probability from the shorter contexts (of lower order)
    count     int array: how often the token followed its context in the training text
    total     int or array: how often anything followed this context
    distinct  int or array: how many different tokens followed it
    returns   float array: (count + distinct * lower) / (total + distinct); `lower` where the
              context never occurred (total and distinct are 0)

    >>> witten_bell(np.array([0.5, 0.5]), np.array([3, 1]), 4, 2)
    array([0.66666667, 0.33333333])

    Source: Witten, Bell, The zero-frequency problem (1991), method C; Chen, Goodman (1998),
    section 2.5.
    """
    mixed = (count + distinct * lower) / np.maximum(total + distinct, 1)
    return np.where(np.asarray(total) > 0, mixed, lower)


class NGram:
    """A language model that counts n-grams and interpolates between contexts of all lengths.

    order    int, 1 or more: it looks at the last order - 1 tokens

    .counts  after `fit`, a list of NGramCounts for the context lengths 0 to order - 1

    >>> model = NGram(2).fit([0, 1, 0, 1, 0, 1], 2)
    >>> model.next([0])
    array([0.125, 0.875])

    Source: Chen, Goodman (1998), sections 2.3 and 2.5.
    """

    def __init__(self, order):
        if order < 1:
            raise ValueError(f"the order of an n-gram model is 1 or more, not {order}")
        self.order = order

    def fit(self, ids, vocab_size):
        """Count the n-grams of a text of ids below vocab_size. Returns the model itself."""
        self.vocab_size = vocab_size
        self.counts = [NGramCounts(ids, length, vocab_size) for length in range(self.order)]
        return self

    def log_probability(self, ids):
        """The logarithm (base e) of the probability of each token, given the tokens before it.

        ids      ints (n,), below vocab_size; n may be 0
        returns  float64 array (n,). The first tokens have shorter contexts, the very first one
                 has none
        """
        ids = as_ids(ids, self.vocab_size)
        p = np.full(len(ids), 1 / self.vocab_size)
        for counts in self.counts:
            k = counts.length
            p[k:] = witten_bell(p[k:], *counts.look_up(ids))
        return np.log(p)

    def next(self, ids):
        """The probabilities of the token that follows `ids`.

        ids      ints (n,), below vocab_size; n may be 0
        returns  float64 array (V,)
        """
        ids = as_ids(ids, self.vocab_size)
        p = np.full(self.vocab_size, 1 / self.vocab_size)
        for counts in self.counts:
            if counts.length <= len(ids):
                context = ids[len(ids) - counts.length:]
                p = witten_bell(p, *counts.following(context))
        return p
