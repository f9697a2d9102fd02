# ---
# jupyter:
#   jupytext:
#     notebook_metadata_filter: tinytorch,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   tinytorch:
#     difficulty: 4
#     enables: []
#     hours: 6
#     prerequisites:
#     - transformers
#     summary: From a table of probabilities to a text, without computing everything twice
#     terms:
#     - sampling
#     title: Generation
# ---

# %% [markdown]
# # 16. Generation

# %% tags=["payoff"]
#| default_exp core.generation
#| export
import numpy as np

from tinytorch.core.activations import log_softmax, softmax
from tinytorch.core.attention import (
    causal_mask, merge_heads, scaled_dot_product_attention)
from tinytorch.core.autograd import no_grad
from tinytorch.core.layers import generator
from tinytorch.core.tensor import wrap
from tinytorch.core.training import evaluation_mode
from tinytorch.support.token_ids import as_logits, as_rows

# %% [markdown]
# ## Sampling
#
# **Sampling** is drawing the next token at random, each with its probability.

# %% exercise="sample"
#| export
def sample(logits, rng=None):
    """Draw one token for each row of logits, with the probabilities `softmax(logits)`.

    logits   Tensor or array of shape (B, V); -inf is never drawn
    rng      a NumPy Generator, a seed, or None for the shared generator
    returns  Tensor of shape (B,), int64
    """
    p, rng = softmax(as_logits(logits)).data.astype(np.float64), generator(rng)
    ### BEGIN SOLUTION
    below = p.cumsum(axis=-1)
    u = rng.random((len(p), 1)) * below[:, -1:]
    return wrap((below <= u).sum(axis=-1))
    ### END SOLUTION

# %% checks="sample"
check("sample")

# %% exercise="temperature"
#| export
def with_temperature(logits, t):
    """Divide logits by a temperature.

    logits   Tensor or array of shape (..., V)
    t        float >= 0, else ValueError; 0 keeps only the largest logit of each row (of equal
             ones the first), all others become -inf
    returns  Tensor of the same shape
    """
    logits = as_logits(logits)
    ### BEGIN SOLUTION
    if t < 0:
        raise ValueError(f"a temperature is 0 or more, not {t}")
    return top_k(logits, 1) if t == 0 else logits / t
    ### END SOLUTION

# %% checks="temperature"
check("temperature")

# %% exercise="top-k"
#| export
def top_k(logits, k):
    """Keep the k largest logits of each row, exactly k; all others become -inf.

    logits   Tensor or array of shape (..., V)
    k        int >= 1, else ValueError; k >= V keeps all
    returns  Tensor of the same shape; of equal logits the first are kept
    """
    logits = as_logits(logits)
    ### BEGIN SOLUTION
    if k < 1:
        raise ValueError(f"top_k keeps at least one token, not {k}")
    order = np.argsort(-logits.data, axis=-1, kind="stable")
    out = logits.data.copy()
    np.put_along_axis(out, order[..., k:], -np.inf, axis=-1)
    return wrap(out)
    ### END SOLUTION

# %% checks="top-k"
check("top-k")

# %% exercise="top-p"
#| export
def top_p(logits, p):
    """Keep the fewest most probable tokens whose probabilities sum to p or more; the logits of
    all others become -inf. Also called nucleus sampling.

    logits   Tensor or array of shape (..., V)
    p        float, 0 < p <= 1, else ValueError
    returns  Tensor of the same shape; at least one token of each row is kept
    """
    logits = as_logits(logits)
    ### BEGIN SOLUTION
    if not 0 < p <= 1:
        raise ValueError(f"top_p is more than 0 and at most 1, not {p}")
    order = np.argsort(-logits.data, axis=-1, kind="stable")
    q = np.take_along_axis(softmax(logits).data, order, axis=-1).astype(np.float64)
    before = q.cumsum(axis=-1) - q
    out = logits.data.copy()
    removed = np.where(before < p, np.take_along_axis(out, order, axis=-1), -np.inf)
    np.put_along_axis(out, order, removed, axis=-1)
    return wrap(out)
    ### END SOLUTION

# %% checks="top-p"
check("top-p")

# %% exercise="generate"
#| export
def next_logits(model, ids):
    """The logits of the token after `ids`, computed from the last `model.context` ids.

    model    a GPT, or another Module with `context` that is called with ids (B, T)
    ids      array of shape (B, T), T >= 1
    returns  Tensor of shape (B, V)
    """
    ### BEGIN SOLUTION
    return model(ids[:, -model.context :])[:, -1]
    ### END SOLUTION


def filtered(logits, temperature=1.0, k=None, p=None):
    """Logits (B, V) after the temperature, then top-k, then top-p; None leaves one out."""
    ### BEGIN SOLUTION
    logits = with_temperature(logits, temperature)
    if k is not None:
        logits = top_k(logits, k)
    return logits if p is None else top_p(logits, p)
    ### END SOLUTION


def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, rng=None,
             stop=None, cache=True):
    """Continue token ids.

    model           a GPT, or, when `cache` is False, any model that `next_logits` takes
    ids             array of shape (B, T), T >= 1: the prompts
    max_new_tokens  int: how many tokens to append to each row
    temperature, top_k, top_p  see `filtered`
    rng             a NumPy Generator, a seed, or None for the shared generator
    stop            id of a token that ends the text; it is not part of the result. For one row
                    only, else ValueError
    cache           whether keys and values are kept; the tokens are the same
    returns         int64 array of shape (B, T + max_new_tokens), shorter after `stop`
    """
    ids, rng = as_rows(ids), generator(rng)
    if stop is not None and len(ids) != 1:
        raise ValueError(f"stop is for one row of ids, not for {len(ids)}: generate each alone")
    memory = KVCache.for_model(model, len(ids)) if cache else None
    with evaluation_mode(model):
        for _ in range(max_new_tokens):
            logits = cached_logits(model, ids, memory) if cache else next_logits(model, ids)
            ### BEGIN SOLUTION
            token = sample(filtered(logits, temperature, top_k, top_p), rng).data
            if stop is not None and token[0] == stop:
                break
            ids = np.concatenate([ids, token[:, None]], axis=1)
            ### END SOLUTION
    return ids

# %% checks="generate"
check("generate")

# %% exercise="kv-cache"
#| export
class KVCache:
    """Keys and values of the tokens that a model has seen, for each layer.

    layers   int: how many
    batch    int: rows of ids
    heads    int: attention heads of a layer
    context  int: how many tokens fit
    size     int: numbers in the key of one head
    dtype    of the keys and values

    .keys, .values  arrays of shape (layers, batch, heads, context, size)
    .lengths        list of int: how many tokens each layer holds
    .dropped        int: how many old tokens `slide` has dropped
    """

    def __init__(self, layers, batch, heads, context, size, dtype=np.float32):
        shape = (layers, batch, heads, context, size)
        self.keys, self.values = np.zeros(shape, dtype), np.zeros(shape, dtype)
        self.context = context
        self.reset()

    @classmethod
    def for_model(cls, model, batch=1):
        """An empty cache for `batch` rows of a GPT's ids, of the dtype of its weights."""
        attention = model.blocks[0].attention
        heads, width = attention.num_heads, model.embedding.weight.shape[1]
        return cls(len(model.blocks), batch, heads, model.context, width // heads,
                   model.embedding.weight.dtype)

    @property
    def length(self):
        """How many tokens all layers hold."""
        return min(self.lengths)

    @property
    def nbytes(self):
        """The memory of the keys and values, in bytes."""
        return self.keys.nbytes + self.values.nbytes

    def reset(self):
        """Forget everything."""
        self.lengths, self.dropped = [0] * len(self.keys), 0

    def next_positions(self, t):
        """The positions of t new tokens, int64 array (t,). ValueError when they do not fit."""
        if self.length + t > self.context:
            raise ValueError(f"{self.length} + {t} tokens do not fit into a cache for "
                             f"{self.context}")
        return self.dropped + np.arange(self.length, self.length + t)

    def truncate(self, length):
        """Forget all but the oldest `length` tokens."""
        self.lengths = [min(length, held) for held in self.lengths]

    def append(self, layer, k, v):
        """Keep the keys and values of new tokens, after those that the layer holds.

        layer    int
        k, v     Tensors or arrays of shape (B, H, t, d), of t new tokens
        returns  (keys, values): Tensors of shape (B, H, length + t, d) on the cache's memory: of
                 all tokens, the oldest first

        ValueError, with both numbers, when the tokens do not fit.
        """
        k, v = as_logits(k).data, as_logits(v).data
        ### BEGIN SOLUTION
        start, end = self.lengths[layer], self.lengths[layer] + k.shape[2]
        if end > self.context:
            raise ValueError(f"{end} tokens do not fit into a cache for {self.context}")
        self.keys[layer, :, :, start:end] = k
        self.values[layer, :, :, start:end] = v
        self.lengths[layer] = end
        return wrap(self.keys[layer, :, :, :end]), wrap(self.values[layer, :, :, :end])
        ### END SOLUTION

# %% checks="kv-cache"
check("kv-cache")

# %% exercise="attend-cached"
#| export
def attend_cached(q, k, v, cache, layer):
    """Causal attention of new tokens to themselves and to all tokens in the cache.

    q, k, v  Tensors of shape (B, H, t, d), of the new tokens
    cache    a KVCache; k and v are appended to it
    layer    int
    returns  Tensor of shape (B, H, t, d)
    """
    ### BEGIN SOLUTION
    k, v = cache.append(layer, k, v)
    new = q.shape[2]
    mask = causal_mask(new, k.shape[2]) if new > 1 else None  # one token sees everything
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)
    ### END SOLUTION

# %% checks="attend-cached"
check("attend-cached")

# %% exercise="step"
#| export
def step(model, ids, cache):
    """The logits of new tokens: `GPT.step`, which computes nothing twice.

    model    a GPT in evaluation mode
    ids      int array of shape (B, t): the new tokens, after those in the cache
    cache    a KVCache; the keys and values of the new tokens are appended
    returns  Tensor of shape (B, t, V): `model(all ids)[:, -t:]`

    ValueError, with both numbers, when the tokens do not fit into the cache.
    """
    ids = as_rows(ids)
    positions = cache.next_positions(ids.shape[1])
    if model.positions is not None and cache.dropped:
        raise ValueError("keys with learned positions cannot slide: use reset(), or rotary=True")
    with no_grad():
        ### BEGIN SOLUTION
        x = model.embedding(ids)
        if model.positions is not None:
            x = x + model.positions(positions)
        for layer, block in enumerate(model.blocks):
            q, k, v = block.attention.project(block.norm1(x), positions)
            heads = attend_cached(q, k, v, cache, layer)
            x = x + block.attention.out(merge_heads(heads))
            x = x + block.mlp(block.norm2(x))
        x = model.norm(x)
        return x @ model.embedding.weight.T if model.head is None else model.head(x)
        ### END SOLUTION

# %% checks="step"
check("step")

# %% exercise="cached-logits"
#| export
def cached_logits(model, ids, cache):
    """`next_logits(model, ids)`, computing only what the cache does not hold.

    ids      array of shape (B, T); the cache holds the first `cache.length` of them
    returns  Tensor of shape (B, V)

    When T is more than `model.context`, every token in the window has a new position with each
    new token; then the cache cannot help.
    """
    ### BEGIN SOLUTION
    if ids.shape[1] > cache.context:
        return next_logits(model, ids)
    return step(model, ids[:, cache.length :], cache)[:, -1]
    ### END SOLUTION

# %% checks="cached-logits"
check("cached-logits")

# %% exercise="cache-bytes"
#| export
def cache_bytes(layers, batch, heads, context, size, dtype=np.float32):
    """The bytes of a KVCache with these settings, without making one.

    returns  int
    """
    ### BEGIN SOLUTION
    return 2 * layers * batch * heads * context * size * np.dtype(dtype).itemsize
    ### END SOLUTION

# %% checks="cache-bytes"
check("cache-bytes")

# %% exercise="slide"
#| export
def slide(cache, n):
    """Drop the oldest n tokens of each layer, so that n new ones fit.

    n   int, at most `cache.length`, else ValueError
    """
    ### BEGIN SOLUTION
    if not 0 <= n <= cache.length:
        raise ValueError(f"cannot drop {n} of {cache.length} tokens")
    for layer, held in enumerate(cache.lengths):
        for kept in (cache.keys[layer], cache.values[layer]):
            kept[:, :, : held - n] = kept[:, :, n:held].copy()
        cache.lengths[layer] = held - n
    cache.dropped += n
    ### END SOLUTION

# %% checks="slide"
check("slide")

# %% exercise="accept"
#| export
def accept(p, q, token, rng=None):
    """Accept or replace a token that a draft model has drawn, so that the result has the
    distribution p.

    p        array of shape (V,): probabilities of the large model
    q        array of shape (V,): probabilities of the draft model
    token    int, drawn with the probabilities q
    rng      a NumPy Generator, a seed, or None for the shared generator
    returns  (True, token), with the probability min(1, p[token] / q[token]); otherwise (False,
             another token), drawn with probabilities proportional to max(p - q, 0)

    Source: Leviathan, Kalman, Matias, Fast inference from transformers via speculative decoding
    (2023), section 2.3 and appendix A.1.
    """
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    rng = generator(rng)
    ### BEGIN SOLUTION
    if rng.random() * q[token] < p[token]:
        return True, int(token)
    rest = np.maximum(p - q, 0)
    return False, int(rng.choice(len(p), p=rest / rest.sum()))
    ### END SOLUTION

# %% checks="accept"
check("accept")

# %% exercise="verified"
#| export
def verified(p, q, tokens, rng=None):
    """The tokens that the large model makes of a draft.

    p        array of shape (m + 1, V): its probabilities for each drafted token, and after them
    q        array of shape (m, V): the draft model's
    tokens   list of m int: the drafted tokens
    rng      a NumPy Generator, a seed, or None for the shared generator
    returns  list of 1 to m + 1 int: the accepted tokens and one more, which is the replacement
             of the first rejected token, or, when all are accepted, drawn from the last row of p
    """
    rng, out = generator(rng), []
    ### BEGIN SOLUTION
    for i, token in enumerate(tokens):
        accepted, token = accept(p[i], q[i], token, rng)
        out.append(token)
        if not accepted:
            return out
    return [*out, int(rng.choice(len(p[-1]), p=p[-1]))]
    ### END SOLUTION

# %% checks="verified"
check("verified")

# %% exercise="speculative"
#| export
def propose(draft, ids, count, rng):
    """Draw `count` tokens after ids (T,) from a draft model.

    returns  (tokens, a list of int; their probabilities q, of shape (count, V))
    """
    tokens, q = [], []
    for _ in range(count):
        q.append(np.asarray(draft.next(np.append(ids, tokens).astype(np.int64)), np.float64))
        q[-1] = q[-1] / q[-1].sum()
        tokens.append(int(rng.choice(len(q[-1]), p=q[-1])))
    return tokens, np.array(q)


def probabilities_of(logits):
    """softmax of a Tensor of logits, as a float64 array whose rows sum to 1."""
    p = softmax(logits).data.astype(np.float64)
    return p / p.sum(axis=-1, keepdims=True)


def speculative(model, draft, ids, n, ahead=4, rng=None):
    """Sample n tokens with the probabilities of `model`, with fewer calls of it.

    model    a GPT
    draft    an object with `next(ids (T,))`, which returns probabilities (V,), such as an NGram
    ids      array of shape (1, T), T >= 1
    n        int; ValueError when T + n is more than `model.context`
    ahead    int: how many tokens the draft model proposes at a time, at most
    rng      a NumPy Generator, a seed, or None for the shared generator
    returns  (int64 array of shape (1, T + n), {"accepted": int, "proposed": int})
    """
    ids, rng, counts = as_rows(ids)[0], generator(rng), {"accepted": 0, "proposed": 0}
    end, cache = len(ids) + n, KVCache.for_model(model)
    if end > model.context:
        raise ValueError(f"{len(ids)} + {n} tokens are more than the context, {model.context}")
    with evaluation_mode(model):
        while len(ids) < end:
            tokens, q = propose(draft, ids, min(ahead, end - len(ids) - 1), rng)
            ### BEGIN SOLUTION
            new = np.append(ids[cache.length :], tokens).astype(np.int64)
            p = probabilities_of(step(model, new[None], cache)[0, -len(tokens) - 1 :])
            result = verified(p, q, tokens, rng)
            ids = np.append(ids, result)
            cache.truncate(len(ids) - 1)
            ### END SOLUTION
            counts["accepted"] += len(result) - 1
            counts["proposed"] += len(tokens)
    return ids[None], counts

# %% checks="speculative"
check("speculative")

# %% exercise="beam"
#| export
def beam(model, ids, width, n):
    """Search for probable continuations: after each token, keep the `width` most probable.

    model    a GPT, or another model that `next_logits` takes
    ids      array of shape (1, T), T >= 1
    width    int >= 1
    n        int: how many tokens to append
    returns  list of at most `width` (ids, log probability), the most probable first; ids is an
             int64 array of shape (T + n,), the log probability a float, in nats, of the n new
             tokens
    """
    rows, scores = as_rows(ids), np.zeros(1)
    with evaluation_mode(model):
        for _ in range(n):
            ### BEGIN SOLUTION
            logp = log_softmax(next_logits(model, rows)).data.astype(np.float64)
            totals = scores[:, None] + logp
            best = np.argsort(-totals, axis=None, kind="stable")[:width]
            row, token = np.unravel_index(best, totals.shape)
            rows = np.concatenate([rows[row], token[:, None]], axis=1)
            scores = totals[row, token]
            ### END SOLUTION
    return list(zip(rows, scores.tolist()))

# %% checks="beam"
check("beam")
