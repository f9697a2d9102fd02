# From modules/source/16_generation/generation_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 205d469c31e3288f
"""Generation: From a table of probabilities to a text, without computing everything twice."""

import math

import numpy as np

from tinytorch.core.activations import log_softmax, softmax
from tinytorch.core.attention import causal_mask, merge_heads, scaled_dot_product_attention, weights_forward
from tinytorch.core.autograd import no_grad
from tinytorch.core.layers import generator
from tinytorch.core.losses import as_float_tensor
from tinytorch.core.tensor import Tensor, wrap
from tinytorch.core.training import evaluation_mode
from tinytorch.support.token_ids import as_ids, as_rows, check_logits, usable_p, usable_temperature

__all__ = [
    "sample", "with_temperature", "top_k", "top_p", "next_logits", "filtered", "generate", "KVCache", "attend_cached",
    "step", "cached_logits", "cache_bytes", "slide", "accept", "verified", "propose", "as_probabilities",
    "speculative", "beam",
]


def sample(logits, rng=None):
    """Draw one token for each row of logits, with the probabilities `softmax(logits)`.

    logits   Tensor or array of shape (B, V); ValueError, with the row, if a row holds nan, inf
             or only -inf
    returns  Tensor of shape (B,), int64

    >>> sample([[0.0, -np.inf], [-np.inf, 0.0]], rng=0)
    Tensor([0, 1])
    """
    p = softmax(check_logits(as_float_tensor(logits))).data.astype(np.float64)
    rng = generator(rng)
    ends = p.cumsum(axis=1)
    u = rng.random((len(p), 1)) * ends[:, -1:]  # rounding: the last end is not exactly 1
    return wrap((ends <= u).sum(axis=1))


def with_temperature(logits, t):
    """Divide logits by a temperature.

    logits   Tensor or array of shape (..., V)
    t        float >= 0, else ValueError with t in its message
    returns  Tensor of the same shape

    >>> with_temperature([1.0, 3.0, 2.0], 0.5)
    Tensor([2., 6., 4.])
    """
    logits = as_float_tensor(logits)
    t = usable_temperature(logits.data, t)  # 0 if logits / t would overflow
    if t < 0:
        raise ValueError(f"a temperature is 0 or more, not {t}")
    if t > 0:
        return logits / t
    x = logits.data
    largest = np.arange(x.shape[-1]) == x.argmax(axis=-1, keepdims=True)
    return wrap(np.where(largest, x, -np.inf))


def top_k(logits, k):
    """Keep the k largest logits of each row; all others become -inf.

    logits   Tensor or array of shape (..., V)
    k        int >= 1, else ValueError with k in its message
    returns  Tensor of the same shape: in each row exactly k logits are kept

    >>> top_k([1.0, 3.0, 2.0, 0.0], 2)
    Tensor([-inf,   3.,   2., -inf])
    """
    logits = as_float_tensor(logits)
    if k < 1:
        raise ValueError(f"top_k keeps at least one token, not {k}")
    order = np.argsort(-logits.data)
    out = logits.data.copy()
    np.put_along_axis(out, order[..., k:], -np.inf, axis=-1)
    return wrap(out)


def top_p(logits, p):
    """Keep the smallest set of tokens whose probabilities `softmax(logits)` sum to at least p;
    the logits of all others become -inf.

    logits   Tensor or array of shape (..., V)
    p        float, 0 < p <= 1, else ValueError with p in its message
    returns  Tensor of the same shape

    >>> top_p(np.log([0.2, 0.5, 0.3]), 0.6).data.round(2)
    array([ -inf, -0.69, -1.2 ])
    """
    logits = as_float_tensor(logits)
    p = usable_p(logits.dtype, p)  # a little smaller: in float32, 0.5 + 0.3 may be below 0.8
    if not 0 < p <= 1:
        raise ValueError(f"top_p is more than 0 and at most 1, not {p}")
    order = np.argsort(-logits.data)
    ordered = np.take_along_axis(softmax(logits).data, order, axis=-1)
    before = ordered.cumsum(axis=-1) - ordered
    kept = np.empty(order.shape, dtype=bool)
    np.put_along_axis(kept, order, before < p, axis=-1)
    return wrap(np.where(kept, logits.data, -np.inf))


def next_logits(model, ids):
    """The logits of the token after `ids`.

    model    a GPT, or another Module with `context` that maps ids of shape (B, T) to logits of
             shape (B, T, V)
    ids      int array of shape (B, T), T >= 1
    returns  Tensor of shape (B, V)
    """
    return model(ids[:, -model.context :])[:, -1]


def filtered(logits, temperature=1.0, k=None, p=None):
    """Logits after the temperature, then top-k, then top-p; None leaves one of these out.

    logits   Tensor of shape (B, V)
    returns  Tensor of the same shape
    """
    logits = with_temperature(logits, temperature)
    if k is not None:
        logits = top_k(logits, k)
    return logits if p is None else top_p(logits, p)


def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, rng=None,
             stop=None, cache=True):
    """Continue token ids.

    ids             int array of shape (B, T), T >= 1: the prompts
    stop            the id of a token that ends the text, or a list of such ids; ValueError if
                    there is more than one row of ids
    returns         int64 array of shape (B, T + max_new_tokens), or shorter after `stop`
    """
    ids, rng = as_rows(np.atleast_2d(ids)), generator(rng)
    if stop is not None and len(ids) != 1:
        raise ValueError(f"stop is for one row of ids, not for {len(ids)}: generate each alone")
    stops = [] if stop is None else as_ids(stop).ravel().tolist()
    # KVCache and cached_logits are exercises below; until then, call with cache=False.
    memory = KVCache.for_model(model, len(ids)) if cache else None
    with evaluation_mode(model):
        for _ in range(max_new_tokens):
            logits = cached_logits(model, ids, memory) if cache else next_logits(model, ids)
            check_logits(logits)  # a ValueError if they hold nan
            if temperature == 0:  # greedy: nothing is drawn
                token = logits.data.argmax(axis=-1)
            else:
                token = sample(filtered(logits, temperature, top_k, top_p), rng).data
            if token[0] in stops:
                break
            ids = np.concatenate([ids, token[:, None]], axis=1)
    return ids


class KVCache:
    """The keys and values of the tokens that a model has seen, for each layer.

    .keys, .values  arrays of shape (layers, B, H, context, d)
    """

    def __init__(self, layers, batch, heads, context, size, dtype=np.float32):
        shape = (layers, batch, heads, context, size)
        self.keys, self.values = np.zeros(shape, dtype), np.zeros(shape, dtype)
        self.context = context
        self.reset()

    @classmethod
    def for_model(cls, model, batch=1):
        """An empty cache for `batch` rows of a GPT's ids."""
        weight, heads = model.embedding.weight, model.blocks[0].attention.num_heads
        size = weight.shape[1] // heads
        return cls(len(model.blocks), batch, heads, model.context, size, weight.dtype)

    @property
    def length(self):
        """How many tokens every layer holds."""
        return min(self.lengths)

    @property
    def nbytes(self):
        """The memory of the keys and values, in bytes."""
        return self.keys.nbytes + self.values.nbytes

    def reset(self):
        """Forget all tokens."""
        self.lengths, self.dropped = [0] * len(self.keys), 0

    def truncate(self, length):
        """Keep the oldest `length` tokens, and forget the newer ones."""
        self.lengths = [min(length, held) for held in self.lengths]

    def next_positions(self, t):
        """The positions of t new tokens, int array of shape (t,). ValueError, with the numbers,
        when they do not fit."""
        length = self.length
        if length + t > self.context:
            raise ValueError(f"the cache holds {length} tokens, and {t} more do not fit into "
                             f"its {self.context}")
        return np.arange(self.dropped + length, self.dropped + length + t)

    def append(self, layer, k, v):
        """Store the keys and values of t new tokens after those that the layer holds.

        k, v     Tensors or arrays of shape (B, H, t, d)
        returns  (keys, values) of all tokens of this layer, the oldest first: two Tensors of
                 shape (B, H, length + t, d), which are views of the cache's arrays, not copies

        ValueError, with the number of tokens and `context`, when they do not fit.
        """
        k, v = as_float_tensor(k).data, as_float_tensor(v).data
        start, end = self.lengths[layer], self.lengths[layer] + k.shape[2]
        if end > self.context:
            raise ValueError(f"{end} tokens do not fit into {self.context}")
        self.keys[layer, :, :, start:end] = k
        self.values[layer, :, :, start:end] = v
        self.lengths[layer] = end
        return wrap(self.keys[layer, :, :, :end]), wrap(self.values[layer, :, :, :end])


def attend_cached(q, k, v, cache, layer):
    """Causal attention from new tokens to the tokens in a cache and to themselves.

    q, k, v  Tensors of shape (B, H, t, d): of t new tokens
    returns  Tensor of shape (B, H, t, d)
    """
    k, v = cache.append(layer, k, v)
    one = q.shape[2] == 1  # it sees everything
    weights = weights_forward(q.data, k.data, causal=not one)
    return wrap(weights @ v.data)


def step(model, ids, cache):
    """The logits of the token after each new token. After `tito export`, the method `GPT.step`
    calls this function.

    ids      int array of shape (B, t): the tokens after those in the cache
    returns  Tensor of shape (B, t, V), `model(all ids)[:, -t:]`

    ValueError, with the numbers, when the tokens do not fit into the cache.
    """
    ids = as_rows(ids)
    positions = cache.next_positions(ids.shape[1])
    if model.positions is not None and cache.dropped:
        raise ValueError("keys that contain learned positions cannot slide: use cache.reset()")
    with no_grad():
        x = model.embedding(ids)
        if model.positions is not None:
            x = x + model.positions(positions)
        for layer, block in enumerate(model.blocks):
            q, k, v = block.attention.project(block.norm1(x), positions)
            heads = attend_cached(q, k, v, cache, layer).data.swapaxes(1, 2)  # (B, t, H, d)
            x = x + block.attention.out(wrap(heads.reshape(x.shape)))
            x = x + block.mlp(block.norm2(x))
        x = model.norm(x)
        return x @ model.embedding.weight.T if model.head is None else model.head(x)


def cached_logits(model, ids, cache):
    """`next_logits(model, ids)`, computed with a cache.

    ids      int array of shape (B, T), T >= 1
    returns  Tensor of shape (B, V)
    """
    if ids.shape[1] > cache.context:
        return next_logits(model, ids)
    return step(model, ids[:, cache.length :], cache)[:, -1]


def cache_bytes(layers, batch, heads, context, size, dtype=np.float32):
    """The bytes of the keys and values of a KVCache with these settings; no array is made.

    returns  int

    >>> cache_bytes(layers=2, batch=1, heads=4, context=64, size=16)
    65536
    """
    return 2 * layers * batch * heads * context * size * np.dtype(dtype).itemsize


def slide(cache, n):
    """Drop the oldest n tokens of every layer of a KVCache; changes it in place.

    n        int from 0 to `cache.length`, else ValueError with both numbers
    """
    if not 0 <= n <= cache.length:
        raise ValueError(f"cannot drop {n} of {cache.length} tokens")
    for layer, held in enumerate(cache.lengths):
        for array in (cache.keys[layer], cache.values[layer]):
            array[:, :, : held - n] = array[:, :, n:held]
        cache.lengths[layer] = held - n
    cache.dropped += n


def accept(p, q, token, rng=None):
    """Accept or replace a token of a draft, so that the result has the distribution p.

    p        array of shape (V,): the probabilities of the large model
    q        array of shape (V,): the probabilities of the draft model

    >>> accept([0.0, 1.0], [1.0, 0.0], 0, rng=0)
    (False, 1)
    """
    p, q, rng = np.asarray(p, float), np.asarray(q, float), generator(rng)
    if rng.random() * q[token] < p[token]:
        return True, int(token)
    rest = np.maximum(p - q, 0)
    rest = rest if rest.any() else p  # p and q equal but for a rounding error
    return False, int(rng.choice(len(p), p=rest / rest.sum()))


def verified(p, q, tokens, rng=None):
    """Check a draft: the accepted tokens and one new token.

    p        array of shape (m + 1, V), the large model's probabilities: p[i] for the drafted
             token number i, p[m] for the token after the draft
    q        array of shape (m, V), the draft model's probabilities for the drafted tokens
    returns  list of Python ints, 1 to m + 1
    """
    rng, out = generator(rng), []
    for i, token in enumerate(tokens):
        accepted, token = accept(p[i], q[i], token, rng)
        out.append(token)
        if not accepted:
            return out
    return [*out, int(rng.choice(len(p[-1]), p=p[-1]))]


def propose(draft, ids, count, rng):
    """Draw `count` tokens after ids (T,) from a draft model.

    returns  (tokens, a list of int; their probabilities q, float64 array of shape (count, V))
    """
    tokens, q = [], []
    for _ in range(count):
        p = np.asarray(draft.next(np.append(ids, tokens).astype(np.int64)), np.float64)
        q.append(p / p.sum())
        tokens.append(int(rng.choice(len(p), p=q[-1])))
    return tokens, np.array(q)


def as_probabilities(logits):
    """softmax of Tensor logits as a float64 array; each row sums to 1."""
    p = softmax(check_logits(logits)).data.astype(np.float64)
    return p / p.sum(axis=-1, keepdims=True)


def speculative(model, draft, ids, n, ahead=4, rng=None):
    """Sample n tokens with the probabilities of `model` at temperature 1, in fewer steps.

    draft    an NGram, or another object whose method next(ids), with ids of shape (T,), returns
             the probabilities of the next token, shape (V,)
    ids      int array of shape (1, T), T >= 1
    n        int; ValueError, with the numbers, when T + n is more than `model.context`
    returns  (int64 array of shape (1, T + n), {"accepted": int, "proposed": int})
    """
    ids, rng, counts = as_rows(ids)[0], generator(rng), {"accepted": 0, "proposed": 0}
    cache, end = KVCache.for_model(model), len(ids) + n
    if end > model.context:
        raise ValueError(f"{len(ids)} + {n} tokens are more than the context {model.context}")
    with evaluation_mode(model):
        while len(ids) < end:
            tokens, q = propose(draft, ids, min(ahead, end - len(ids) - 1), rng)
            unseen = np.append(ids[cache.length :], tokens).astype(np.int64)
            logits = step(model, unseen[None], cache)[0]
            new = verified(as_probabilities(logits[-len(tokens) - 1 :]), q, tokens, rng)
            ids = np.append(ids, new)
            cache.truncate(len(ids) - 1)
            counts["accepted"] += len(new) - 1
            counts["proposed"] += len(tokens)
    return ids[None], counts


def beam(model, ids, width, n):
    """Search for the most probable continuations of `ids`.

    ids      int array of shape (1, T), T >= 1
    returns  list of at most `width` pairs (ids, log probability), the most probable first: an
             int64 array of shape (T + n,), and a float, the natural logarithm of the
             probability of the n tokens
    """
    rows, scores = as_rows(ids), np.zeros(1)
    with evaluation_mode(model):
        for _ in range(n):
            totals = scores[:, None] + log_softmax(next_logits(model, rows)).data
            best = np.argsort(-totals, axis=None)[:width]
            row, token = np.unravel_index(best, totals.shape)
            rows = np.concatenate([rows[row], token[:, None]], axis=1)
            scores = totals[row, token]
    return list(zip(rows, check_logits(scores).tolist()))
