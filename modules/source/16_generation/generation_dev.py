# %% [markdown]
# # 16. Generation
#
# A language model gives a probability to every token that could come next. How do we get from
# these probabilities to a text, and how quickly? The same small GPT wrote the three texts
# below, from the same first words, so they differ only in the rule that chooses the next token.
# A grey token had a probability of at least a half, a hatched one less than 1 %.

# %% tags=["payoff"]
#| default_exp core.generation
#| export
import math  # noqa: F401

import numpy as np

from tinytorch.core.activations import log_softmax, softmax
from tinytorch.core.attention import (causal_mask, merge_heads, scaled_dot_product_attention,
                                      weights_forward)
from tinytorch.core.autograd import no_grad
from tinytorch.core.layers import generator
from tinytorch.core.losses import as_float_tensor
from tinytorch.core.tensor import Tensor, wrap  # noqa: F401
from tinytorch.core.training import evaluation_mode
from tinytorch.support.arguments import check_counts, check_kind
from tinytorch.support.token_ids import (as_ids, as_rows, check_logits, usable_p,
                                         usable_temperature)

# %% tags=["payoff"]
from tinytorch.pictures.generation import SAMPLES, draw_samples

draw_samples(SAMPLES)
# caption: The same model writes dull, readable or broken text, depending on the rule.
# alt: Three texts of about 30 tokens in boxes. Temperature 0 repeats "I am sure" three times,
# no box is hatched. Temperature 0.8: ", and very general sometimes of its uncommon if I had no
# husband.", 3 boxes hatched. Temperature 1.6 writes words that do not exist, 10 boxes hatched.

# %% [markdown]
# The first text is safe and dull, while the last one falls apart. In this chapter you write
# such rules. Then you make the model several times as fast without changing a single token, by
# reusing earlier results, and you let a worse model help a better one.
#
# **You need** 15 (Transformers), and the n-gram model of 13 (Embeddings). **You build**
# `sample`, filters, `generate`, a key-value cache and the step of a GPT that uses it,
# speculative decoding, and beam search.

# %% [markdown] page="Choosing the next token"
# ## Sampling
#
# Every rule of this chapter begins with the probabilities of the next token. A **prompt** is
# the text that a model continues. Softmax turns its logits for the next token into
# probabilities $p$. *Sampling* from them, as in lesson 13, draws the next token at random, each
# token $i$ with probability $p_i$.
#
# One random number is enough. Put the probabilities side by side: they divide the interval from
# 0 to 1 into pieces, one for each token. Draw $u$, uniform between 0 and 1, and take the token
# whose piece contains $u$.
#
# **Task.** Write `sample`. The given line makes `p`, an array of shape (B, V). Each row needs a
# separate random number.

# %% Drawing a token exercise="sample"
#| export
def sample(logits, rng=None):
    """Draw one token for each row of logits, with the probabilities `softmax(logits)`.

    logits   Tensor or array of shape (B, V); a token with the logit -inf is never drawn.
             ValueError, with the row, if a row holds nan, inf or only -inf
    rng      a NumPy Generator, a seed, or None for the shared generator of lesson 04; the rows
             are drawn independently
    returns  Tensor of shape (B,), int64

    >>> sample([[0.0, -np.inf], [-np.inf, 0.0]], rng=0)
    Tensor([0, 1])

    Source: Devroye, Non-uniform random variate generation (1986), section 3.2; PyTorch calls it
    torch.multinomial.
    """
    logits = check_logits(as_float_tensor(logits), rank=2)
    p = softmax(logits).data.astype(np.float64)
    rng = generator(rng)
    ### BEGIN SOLUTION
    ends = p.cumsum(axis=1)
    u = rng.random((len(p), 1)) * ends[:, -1:]  # rounding: the last end is not exactly 1
    return wrap((ends <= u).sum(axis=1))
    ### END SOLUTION

# %% checks="sample"
check("sample")

# %% [markdown]
# With `sample` you can already generate text. The package contains a tokenizer of lesson 12
# with 512 tokens, and a small GPT of lesson 15 with two blocks and a context of 64 tokens. The
# GPT was trained for a few minutes on two novels by Jane Austen.

# %% tags=["demonstration"]
from tinytorch.data.gpt_files import load_small_gpt

model, tokenizer = load_small_gpt()
rng = np.random.default_rng(1)
ids = tokenizer.encode("It is a truth")
for _ in range(40):
    logits = model(ids[None])[:, -1]  # logits of the next token, shape (1, 512)
    ids = np.append(ids, sample(logits, rng).data)
print(tokenizer.decode(ids))

# %% [markdown]
# Which tokens did the model prefer? The bars show the most probable ones after two prompts.
# After the second prompt the model is sure, while after the first it is not.

# %%
from tinytorch.pictures.drawing import plot_lines
from tinytorch.pictures.generation import (draw_acceptance, draw_attention_rows, draw_choices,
                                           draw_entropies)

def choices(prompt, keep=lambda logits: logits, count=7):
    """The most probable tokens after a prompt: (text, probability, whether `keep` keeps it)."""
    logits = model(tokenizer.encode(prompt)[None])[0, -1]
    p, kept = softmax(logits).data, np.isfinite(keep(logits).data)
    order = np.argsort(-p)[:count]
    return [(tokenizer.token(i).decode(), float(p[i]), bool(kept[i])) for i in order.tolist()]

prompts = ["She was", "Mr. Darcy was very much sur"]
draw_choices({prompt: choices(prompt) for prompt in prompts})
# alt: Bars for the seven most probable tokens after two prompts. After "She was" they are not,
# to, a, so, in, very, s, with 0.067 to 0.030. After "Mr. Darcy was very much sur" the token p
# has 0.791, and the other six have 0.032 or less.

# %% [markdown]
# ## Temperature
#
# Lesson 03 divided logits by a *temperature* $t$: below 1, the probable tokens become more
# probable; above 1, less. Divide the logits, before the softmax, and only once.
#
# As $t$ goes to 0, the largest logit gets all the probability. **Greedy decoding** always takes
# the most probable token. We call it temperature 0, although no division by 0 takes place.
#
# **Task.** Write `with_temperature`.

# %% exercise="temperature"
#| export
def with_temperature(logits, t):
    """Divide logits by a temperature.

    logits   Tensor or array of shape (..., V); not changed
    t        float >= 0, else ValueError with t in its message. 0 means greedy decoding: keep
             the largest logit of each row (the first one if several are equal); all others
             become -inf. A t so small that logits / t overflows means the same
    returns  Tensor of the same shape

    >>> with_temperature([1.0, 3.0, 2.0], 0.5)
    Tensor([2., 6., 4.])
    >>> with_temperature([1.0, 3.0, 2.0], 0)
    Tensor([-inf,   3., -inf])

    Source: Ackley, Hinton, Sejnowski, A learning algorithm for Boltzmann machines (1985).
    """
    logits = as_float_tensor(logits)
    t = usable_temperature(logits.data, t)  # 0 if logits / t would overflow
    if t < 0:
        raise ValueError(f"a temperature is 0 or more, not {t}")
    ### BEGIN SOLUTION
    if t > 0:
        return logits / t
    x = logits.data
    largest = np.arange(x.shape[-1]) == x.argmax(axis=-1, keepdims=True)
    return wrap(np.where(largest, x, -np.inf))
    ### END SOLUTION

# %% checks="temperature"
check("temperature")

# %% [markdown]
# Predict: at which temperature does the model begin to invent words?

# %% tags=["answer"]
for t in (0, 0.5, 1.0, 1.5):
    ids, rng = tokenizer.encode("She was"), np.random.default_rng(2)
    for _ in range(24):
        ids = np.append(ids, sample(with_temperature(model(ids[None])[:, -1], t), rng).data)
    print(f"{t:3}  {tokenizer.decode(ids)!r}")

# %% [markdown]
# ## Top-k sampling
#
# While temperature changes all probabilities, the next two rules remove tokens. Most tokens of
# the vocabulary are improbable. How probable are they together?

# %% tags=["demonstration"]
p = softmax(model(tokenizer.encode("She was")[None])[0, -1]).data
print(f"{(p < 0.01).sum()} of {len(p)} tokens have less than 1 % each, together "
      f"{p[p < 0.01].sum():.0%}")

# %% [markdown]
# So at temperature 1, such a token is drawn every few words, and the model has to continue from
# it. **Top-k sampling** keeps only the k most probable tokens and draws one of them.
#
# Removed tokens get the logit $-\infty$. A logit of 0 would be wrong, because $e^0 = 1$ still
# gives the token a share. If you compare with the k-th largest logit, you may keep too many:
# several logits can be equal to it.
#
# **Task.** Write `top_k`.

# %% Top-k sampling exercise="top-k"
#| export
def top_k(logits, k):
    """Keep the k largest logits of each row; all others become -inf.

    logits   Tensor or array of shape (..., V); not changed
    k        int >= 1, else ValueError with k in its message; k >= V keeps all
    returns  Tensor of the same shape: in each row exactly k logits are kept; of equal ones, it
             does not matter which

    >>> top_k([1.0, 3.0, 2.0, 0.0], 2)
    Tensor([-inf,   3.,   2., -inf])

    Source: Fan, Lewis, Dauphin, Hierarchical neural story generation (2018), section 5.
    """
    logits = as_float_tensor(logits)
    check_counts(top_k=k)
    ### BEGIN SOLUTION
    order = np.argsort(-logits.data)
    out = logits.data.copy()
    np.put_along_axis(out, order[..., k:], -np.inf, axis=-1)
    return wrap(out)
    ### END SOLUTION

# %% checks="top-k"
check("top-k")

# %% [markdown]
# Here `k` is 3, which fits neither of the two prompts. Good tokens are removed where the model
# is unsure, while bad tokens are kept where it is sure.

# %%
draw_choices({prompt: choices(prompt, lambda logits: top_k(logits, 3)) for prompt in prompts})
# alt: The bars of the same two prompts. In each, the first three tokens are kept and the other
# four are hatched: also after "She was", where the fourth has 0.037 and the third 0.066.

# %% [markdown]
# ## Nucleus sampling
#
# A fixed number of tokens is right for some prompts and wrong for others. **Nucleus sampling**,
# also called top-p sampling, keeps the smallest set of tokens whose probabilities sum to at
# least p. With p = 0.8, it keeps 40 tokens after our first prompt, and 2 after the second one.
#
# To find the set, sort the probabilities in descending order and add them up. Keep a token when
# the sum *before* it is still less than p, so that the token that crosses p is kept, and the
# first one always.
#
# **Task.** Write `top_p`. `np.put_along_axis` writes sorted values back to their original
# positions.

# %% Nucleus sampling exercise="top-p"
#| export
def top_p(logits, p):
    """Keep the smallest set of tokens whose probabilities `softmax(logits)` sum to at least p;
    the logits of all others become -inf.

    logits   Tensor or array of shape (..., V); not changed
    p        float, 0 < p <= 1, else ValueError with p in its message. A sum that is smaller by
             a rounding error counts as p
    returns  Tensor of the same shape; in each row at least one token is kept

    >>> top_p(np.log([0.2, 0.5, 0.3]), 0.6).data.round(2)
    array([ -inf, -0.69, -1.2 ])

    Source: Holtzman et al., The curious case of neural text degeneration (2020), section 3.1.
    """
    logits = as_float_tensor(logits)
    p = usable_p(logits.dtype, p)  # a little smaller: in float32, 0.5 + 0.3 may be below 0.8
    if not 0 < p <= 1:
        raise ValueError(f"top_p is more than 0 and at most 1, not {p}")
    ### BEGIN SOLUTION
    order = np.argsort(-logits.data)
    ordered = np.take_along_axis(softmax(logits).data, order, axis=-1)
    before = ordered.cumsum(axis=-1) - ordered
    kept = np.empty(order.shape, dtype=bool)
    np.put_along_axis(kept, order, before < p, axis=-1)
    return wrap(np.where(kept, logits.data, -np.inf))
    ### END SOLUTION

# %% checks="top-p"
check("top-p")

# %%
draw_choices({prompt: choices(prompt, lambda logits: top_p(logits, 0.8)) for prompt in prompts})
# alt: The bars of the same two prompts. After "She was" all seven tokens are kept. After "Mr.
# Darcy was very much sur" only p and g are kept, the other five are hatched.

# %% [markdown]
# ## Autoregressive generation
#
# So far we drew one token. Now we write a text. **Autoregressive generation** produces a text
# one token at a time: each new token is appended to the input from which the next one is
# predicted. Because the model accepts at most `model.context` tokens, it gets only the last
# ones of a longer text.
#
# The filters are combined in a fixed order: temperature, top-k, top-p. Top-p has to come last,
# because the probabilities that it adds up must be those that we sample from. Inside
# `generate`, `top_k` and `top_p` are the parameters with these usual names, so the functions of
# the same names cannot be called there. A separate function, `filtered`, therefore combines the
# filters.
#
# **Task.** Write `next_logits`, `filtered`, and the end of the loop of `generate`. With
# temperature 0 there is no random draw: take the `argmax` of the logits.

# %% Autoregressive generation exercise="generate"
#| export
def next_logits(model, ids):
    """The logits of the token after `ids`.

    model    a GPT, or another Module with `context` that maps ids of shape (B, T) to logits of
             shape (B, T, V)
    ids      int array of shape (B, T), T >= 1; the model gets the last `context` of them
    returns  Tensor of shape (B, V)
    """
    ### BEGIN SOLUTION
    return model(ids[:, -model.context :])[:, -1]
    ### END SOLUTION


def filtered(logits, temperature=1.0, k=None, p=None):
    """Logits after the temperature, then top-k, then top-p; None leaves one of these out.

    logits   Tensor of shape (B, V)
    returns  Tensor of the same shape
    """
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
    ids             int array of shape (B, T), T >= 1: the prompts; or (T,) for one
    max_new_tokens  int: how many tokens to append to each row
    temperature, top_k, top_p  see `filtered`
    rng             a NumPy Generator, a seed, or None for the shared generator
    stop            the id of a token that ends the text, or a list of such ids; the token is
                    not part of the result. ValueError if there is more than one row of ids
    cache           whether to use a KVCache (see below): faster, with the same tokens
    returns         int64 array of shape (B, T + max_new_tokens), or shorter after `stop`
    """
    ids, rng = as_rows(np.atleast_2d(ids)), generator(rng)
    if stop is not None and len(ids) != 1:
        raise ValueError(f"stop is for one row of ids, not for {len(ids)}: generate each alone")
    stops = [] if stop is None else as_ids(stop).ravel().tolist()
    check_counts(0, max_new_tokens=max_new_tokens)
    check_kind("model", model, "context", "a language model",
               "give a GPT, or another Module with `context`")
    # KVCache and cached_logits are exercises below; until then, call with cache=False.
    memory = KVCache.for_model(model, len(ids)) if cache else None
    with evaluation_mode(model):
        for _ in range(max_new_tokens):
            logits = cached_logits(model, ids, memory) if cache else next_logits(model, ids)
            check_logits(logits)  # a ValueError if they hold nan
            ### BEGIN SOLUTION
            if temperature == 0:  # greedy: nothing is drawn
                token = logits.data.argmax(axis=-1)
            else:
                token = sample(filtered(logits, temperature, top_k, top_p), rng).data
            if token[0] in stops:
                break
            ids = np.concatenate([ids, token[:, None]], axis=1)
            ### END SOLUTION
    return ids

# %% checks="generate"
check("generate")

# %% [markdown]
# We generate three texts at once, as three rows of one batch, and then one that stops at the
# end of a line. The default, `cache=True`, works only when you have written the cache.

# %% tags=["demonstration", "payoff"]
prompt = tokenizer.encode("Emma could not")
rows = generate(model, np.tile(prompt, (3, 1)), 40, 0.8, top_p=0.95, rng=3, cache=False)
for row in rows:
    print(repr(tokenizer.decode(row)))
one = generate(model, prompt[None], 200, 0.8, rng=3, cache=False, stop=ord("\n"))
print(one.shape[1], "tokens, then the end of the line")

# %% [markdown]
# How many choices did the model really have? The *entropy* of its distribution (lesson 12)
# measures this in bits. It is highest at the beginning of a word; the rest of a word is often
# certain.

# %% tags=["demonstration"]
def entropies(ids):
    """The entropy in bits of the model's distribution before each token but the first."""
    p = softmax(model(ids[None, :-1])[0]).data
    return -(p * np.log2(p)).sum(axis=-1)

row, start = rows[0], len(prompt)
words = [tokenizer.token(id).decode() for id in row[start:].tolist()]
draw_entropies(words, entropies(row)[start - 1 :])
# alt: The generated words "wish a want of this separance. Mrs. Collins was all the opening to
# give some of her chara" in boxes. Most tokens that begin a word are orange; the letters that
# complete "Mrs. Collins" are grey.

# %% [markdown] page="Generating with a cache"
# ## Key-value cache
#
# To find token number T + 1, the loop of `generate` runs the model on all T tokens, although it
# has already computed T - 1 of them. Because an old token cannot look at a new one in a causal
# model, all results for the old tokens are still valid, in every layer: their keys and values,
# and their scores. In each matrix of attention scores, only the last row is new.

# %%
draw_attention_rows(["It", "is", "a", "tru", "th", "un"])
# alt: Two triangles of attention scores for the six tokens It, is, a, tru, th, un: a row for
# each query. Without a cache, five rows are hatched: they are computed again. With a cache
# these are dashed, and only the last row of six cells is computed.

# %% [markdown]
# The last row needs the query of the new token alone, but the keys and values of *all* tokens.
# A **key-value cache** (KV cache) stores the keys and values of the tokens that a model has
# seen, for each of its layers. Its memory is allocated once, for `context` tokens, and a
# counter for each layer says how many of these places are filled.
#
# **Task.** Write `append`. The given lines turn `k` and `v` into arrays, and compute the places
# `start` to `end` of the new tokens. `wrap` of lesson 02 turns an array into a Tensor without
# copying it.

# %% The key-value cache exercise="kv-cache"
#| export
class KVCache:
    """The keys and values of the tokens that a model has seen, for each layer.

    layers   int: how many
    batch    int: rows of ids, B
    heads    int: attention heads of each layer, H
    context  int: how many tokens fit
    size     int: numbers in a key or value of one head, d
    dtype    the dtype of the keys and values

    .keys, .values  arrays of shape (layers, B, H, context, d)
    .lengths        list of int: how many tokens each layer holds
    .dropped        int: how many old tokens have been dropped (see "Sliding window")

    Source: Shazeer, Fast transformer decoding: one write-head is all you need (2019), section
    2.
    """

    def __init__(self, layers, batch, heads, context, size, dtype=np.float32):
        check_counts(layers=layers, batch=batch, heads=heads, context=context, size=size)
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

        layer    int: which layer; the others are not changed
        k, v     Tensors or arrays of shape (B, H, t, d)
        returns  (keys, values) of all tokens of this layer, the oldest first: two Tensors of
                 shape (B, H, length + t, d), which are views of the cache's arrays, not copies

        ValueError, with the number of tokens and `context`, when they do not fit.
        """
        k, v = as_float_tensor(k).data, as_float_tensor(v).data
        start, end = self.lengths[layer], self.lengths[layer] + k.shape[2]
        if end > self.context:
            raise ValueError(f"{end} tokens do not fit into {self.context}")
        ### BEGIN SOLUTION
        self.keys[layer, :, :, start:end] = k
        self.values[layer, :, :, start:end] = v
        self.lengths[layer] = end
        return wrap(self.keys[layer, :, :, :end]), wrap(self.values[layer, :, :, :end])
        ### END SOLUTION

# %% checks="kv-cache"
check("kv-cache")

# %% [markdown]
# ## Attention with a cache
#
# Next, attention has to use the cache. The new tokens look at every token in the cache and at
# themselves, so append first, then compute attention. The mask depends on the number of new
# tokens. A **decoding step** gives the model one new token, which may look at everything.
# **Prefill** is the first step, which gives the model all tokens of the prompt at once; here no
# token may look at a later one. `causal_mask(t, keys)` of lesson 14 is right for both steps,
# because it assumes that the t queries belong to the last t of the keys.
#
# During generation no graph is recorded. A decoding step computes so little that about half of
# its time would go into making Tensors, so compute on arrays here. `weights_forward` of lesson
# 14 computes attention weights from arrays, with or without the causal mask.
#
# **Task.** Write `attend_cached`. `wrap` turns the result into a Tensor.

# %% Attention with a cache exercise="attend-cached"
#| export
def attend_cached(q, k, v, cache, layer):
    """Causal attention from new tokens to the tokens in a cache and to themselves.

    q, k, v  Tensors of shape (B, H, t, d): of t new tokens
    cache    a KVCache, to which k and v are appended
    layer    int: the layer of the cache
    returns  Tensor of shape (B, H, t, d)
    """
    ### BEGIN SOLUTION
    k, v = cache.append(layer, k, v)
    one = q.shape[2] == 1  # it sees everything
    weights = weights_forward(q.data, k.data, causal=not one)
    return wrap(weights @ v.data)
    ### END SOLUTION

# %% checks="attend-cached"
check("attend-cached")

# %% tags=["demonstration"]
rng = np.random.default_rng(4)
q, k, v = (wrap(rng.normal(size=(1, 1, 5, 2)).astype("float32")) for _ in range(3))
at_once = scaled_dot_product_attention(q, k, v, attn_mask=causal_mask(5, 5))
cache, parts = KVCache(1, 1, 1, 5, 2), []
for new in (slice(0, 3), slice(3, 4), slice(4, 5)):  # a prefill of three, two decoding steps
    parts.append(attend_cached(q[:, :, new], k[:, :, new], v[:, :, new], cache, 0).data)
print(np.abs(np.concatenate(parts, axis=2) - at_once.data).max())

# %% [markdown]
# ## One step of a GPT
#
# Because all layers of a GPT except attention process each token separately, a step is the
# forward pass of lesson 15 on the new tokens alone, with `attend_cached` instead of attention.
#
# Only the positions need care: with wrong ones no error is raised, and the model writes on,
# only worse. In a decoding step the new token is not at position 0: its position is the number
# of tokens before it. The given line calls `cache.next_positions`, which returns the positions
# of the new tokens. With learned positions, look them up: `model.positions(positions)`. With
# RoPE, `attention.project(x, positions)` of lesson 14 rotates queries and keys before the keys
# are stored.
#
# **Task.** Write `step`. A block has `norm1`, `attention`, `norm2` and `mlp`. Its attention has
# `project`, and `out` for the merged heads. `merge_heads` of lesson 14 merges them; it is
# faster to swap the axes of the array and reshape it yourself.

# %% One step of a GPT exercise="step"
#| export
def step(model, ids, cache):
    """The logits of the token after each new token. After `tito export`, the method `GPT.step`
    calls this function.

    model    a GPT in evaluation mode; tied or not, rotary or not
    ids      int array of shape (B, t): the tokens after those in the cache
    cache    a KVCache; the keys and values of the new tokens are appended
    returns  Tensor of shape (B, t, V), `model(all ids)[:, -t:]`; no graph is recorded

    ValueError, with the numbers, when the tokens do not fit into the cache.
    """
    ids = as_rows(ids)
    check_kind("cache", cache, "next_positions", "a KVCache",
               "make one: KVCache.for_model(model)")
    positions = cache.next_positions(ids.shape[1])
    if model.positions is not None and cache.dropped:
        raise ValueError("keys that contain learned positions cannot slide: use cache.reset()")
    with no_grad():
        ### BEGIN SOLUTION
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
        ### END SOLUTION

# %% checks="step"
check("step")

# %% tags=["demonstration"]
ids = tokenizer.encode("It is a truth universally acknowledged")[None]
cache = KVCache.for_model(model)
first, second = step(model, ids[:, :-1], cache), step(model, ids[:, -1:], cache)
print(ids.shape, first.shape, second.shape, cache.lengths)
print("largest difference:", np.abs(second.data[:, -1] - model(ids).data[:, -1]).max())

# %% [markdown]
# ## Generating with the cache
#
# `generate` gives all ids to `cached_logits`, which runs the model only on those that the cache
# does not hold yet: the whole prompt in the first call, one token in each later call.
#
# When the text is longer than the context, `next_logits` gives the model the last `context`
# tokens. With each new token this window moves on, and *every* token in it has a new position.
# The cached keys and values are then wrong, and the whole window must be computed without the
# cache.
#
# **Task.** Write `cached_logits`.

# %% Logits from the cache exercise="cached-logits"
#| export
def cached_logits(model, ids, cache):
    """`next_logits(model, ids)`, computed with a cache.

    ids      int array of shape (B, T), T >= 1
    cache    a KVCache that holds the first `cache.length` of the ids; afterwards it holds all.
             When T is more than `cache.context`, the cache is neither used nor changed
    returns  Tensor of shape (B, V)
    """
    ### BEGIN SOLUTION
    if ids.shape[1] > cache.context:
        return next_logits(model, ids)
    return step(model, ids[:, cache.length :], cache)[:, -1]
    ### END SOLUTION

# %% checks="cached-logits"
check("cached-logits")

# %% [markdown]
# Predict: how many times as fast is `generate` with the cache, for 120 tokens? The model below
# is larger and has random weights; it takes as long as a trained one.

# %% tags=["answer"]
import time

from tinytorch.core.transformers import GPT

larger, texts = GPT(512, 256, 128, 2, 4).eval(), {}
seconds = {True: [], False: []}
for cached in (True, False, True, False):
    start = time.perf_counter()
    texts[cached] = generate(larger, np.array([[0]]), 120, rng=5, cache=cached)
    seconds[cached].append(time.perf_counter() - start)
print("the same tokens:", np.array_equal(texts[True], texts[False]))
print(f"{min(seconds[False]) / min(seconds[True]):.1f} times as fast")

# %% [markdown]
# The advantage grows with the length of the text. The plot shows how long one token takes at
# each position:

# %% tags=["demonstration"]
ids = np.zeros((1, 257), dtype=int)
positions, times = [1, 64, 128, 192, 256], {"without a cache": [], "with a cache": []}
with no_grad():
    for T in positions:
        cache = KVCache.for_model(larger)
        step(larger, ids[:, : max(1, T - 1)], cache)
        for name in times:
            runs = []
            for _ in range(3):
                cache.truncate(T - 1)
                start = time.perf_counter()
                if name == "with a cache":
                    step(larger, ids[:, :1], cache)
                else:
                    next_logits(larger, ids[:, :T])
                runs.append(time.perf_counter() - start)
            times[name].append(1000 * min(runs))
curves = {name: (positions, values) for name, values in times.items()}
figure = plot_lines(curves, "position of the token", "milliseconds")
# caption: With a cache, each token takes nearly the same time.
# alt: Milliseconds for one token against its position, from 1 to 256. Without a cache the line
# rises steeply, with a cache it stays nearly flat near the bottom.

# %% [markdown]
# ## The memory of a cache
#
# The price of this speed is memory. For every layer, row, head and token, a cache holds a key
# and a value of `size` numbers each.
#
# **Task.** Write `cache_bytes`.

# %% The bytes of a cache exercise="cache-bytes"
#| export
def cache_bytes(layers, batch, heads, context, size, dtype=np.float32):
    """The bytes of the keys and values of a KVCache with these settings; no array is made.

    returns  int

    >>> cache_bytes(layers=2, batch=1, heads=4, context=64, size=16)
    65536
    """
    ### BEGIN SOLUTION
    return 2 * layers * batch * heads * context * size * np.dtype(dtype).itemsize
    ### END SOLUTION

# %% checks="cache-bytes"
check("cache-bytes")

# %% [markdown]
# A model has one set of weights, but each text that it writes needs a separate cache. The plot
# compares the memory of weights and caches, for a GPT with the sizes of GPT-2 (12 layers, 12
# heads of 64, 124 million weights of 4 bytes) that writes 8 texts at once:

# %% tags=["demonstration"]
lengths = [128, 256, 512, 1024, 2048, 4096, 8192]
megabytes = [cache_bytes(12, 8, 12, T, 64) / 1e6 for T in lengths]
weights = [4 * 124.4] * len(lengths)
figure = plot_lines({"cache": (lengths, megabytes), "weights": (lengths, weights)},
                    "tokens in each text", "megabytes", xscale="log", yscale="log")
# alt: Megabytes against the tokens of each text, both axes logarithmic. The line of the weights
# is level at 498. The line of the cache rises from 75 at 128 tokens to 4,832 at 8,192 tokens;
# the lines cross below 1,000 tokens.

# %% [markdown]
# ## Sliding window
#
# This section is optional. When a text is longer than the context, the cache becomes useless,
# because learned positions are part of every key. With RoPE it remains useful: a score depends
# only on the *distance* between two positions. The keys need not change, and the newest tokens
# get higher and higher positions.
#
# A **sliding window** keeps only the most recent tokens: when the cache is full, it drops the
# oldest ones. The position of the next token still counts the dropped tokens, so
# `cache.next_positions` adds `cache.dropped`.
#
# **Task.** Write `slide`. The remaining tokens move to the front of the arrays.

# %% The sliding window exercise="slide"
#| export
def slide(cache, n):
    """Drop the oldest n tokens of every layer of a KVCache; changes it in place.

    n        int from 0 to `cache.length`, else ValueError with both numbers
    returns  None

    Afterwards `cache.keys[..., : cache.length, :]` holds the keys of the other tokens in the
    same order, and `cache.values` their values; `lengths` are smaller by n, `dropped` is larger
    by n.

    Source: Beltagy, Peters, Cohan, Longformer: the long-document transformer (2020), section 3.
    """
    if not 0 <= n <= cache.length:
        raise ValueError(f"cannot drop {n} of {cache.length} tokens")
    ### BEGIN SOLUTION
    for layer, held in enumerate(cache.lengths):
        for array in (cache.keys[layer], cache.values[layer]):
            array[:, :, : held - n] = array[:, :, n:held]
        cache.lengths[layer] = held - n
    cache.dropped += n
    ### END SOLUTION

# %% checks="slide"
check("slide")

# %% [markdown]
# `next_logits` computes the whole window again. Does the sliding cache give the same logits?
# Predict it for a rotary GPT with one block, and with two.

# %% tags=["answer", "explained"]
ids = tokenizer.encode("It is a truth universally acknowledged, that a single")[None, :17]
for layers in (1, 2):
    rotary = GPT(512, 16, 32, layers, 4, rotary=True).eval()
    cache = KVCache.for_model(rotary)
    step(rotary, ids[:, :16], cache)
    slide(cache, 1)
    logits = step(rotary, ids[:, 16:], cache)[:, -1].data
    difference = np.abs(logits - next_logits(rotary, ids).data).max()
    print(f"blocks: {layers}, largest difference: {difference:.1e}")

# %% [markdown]
# With one block they agree up to rounding. With two they do not, because the keys of the second
# block were computed from what the first block had seen, and that includes the dropped token.
# So the cache still contains information about tokens that are no longer in the window. Models
# that are used with a sliding window are also trained with one.

# %% [markdown] page="Several tokens at once"
# ## Speculative decoding: accepting a token
#
# A decoding step uses every weight of the model to produce a single token. Predict: how much
# longer does a step with five tokens take?

# %% tags=["answer"]
cache, ids, times = KVCache.for_model(larger), np.zeros((1, 133), dtype=int), {1: [], 5: []}
step(larger, ids[:, :128], cache)
for t in (1, 5) * 6:
    cache.truncate(128)
    start = time.perf_counter()
    step(larger, ids[:, :t], cache)
    times[t].append(time.perf_counter() - start)
print(f"{min(times[5]) / min(times[1]):.1f} times as long")

# %% [markdown]
# In **speculative decoding**, a small model drafts several tokens, and the large model then
# checks them in one step. The **draft model** is a cheap model that guesses what the large one
# would write; ours is the n-gram model of lesson 13. Here are the probabilities that both give
# to three tokens. The draft model chooses `his` too often, and `the` too rarely:

# %%
draw_acceptance(["the", "a", "his"], [0.6, 0.3, 0.1], [0.2, 0.3, 0.5])
# caption: Tokens that the draft proposes too often are partly rejected. Tokens that it proposes
# too rarely are added.
# alt: Two bars for each of three tokens, draft and model. "the": 0.2 and 0.6, the upper 0.4 of
# the model's bar is orange. "a": 0.3 and 0.3, both blue. "his": 0.5 and 0.1, the upper 0.4 of
# the draft's bar is hatched.

# %% [markdown]
# The result has *exactly* the distribution $p$ of the large model if we follow this rule. A
# token $i$, drawn with the draft's probabilities $q$, is accepted with probability
# $\min(1, p_i / q_i)$. A rejected token is replaced by one that is drawn with probabilities
# proportional to $\max(p - q, 0)$.
#
# In the picture, only 0.1 of the probability 0.5 of `his` is accepted. A rejected `his` is
# replaced by a token whose probability was too small in the draft: here always `the`. The
# **acceptance rate** is the probability that a drafted token is accepted,
# $\sum_i \min(p_i, q_i)$: here 0.6.
#
# **Task.** Write `accept`. What would go wrong if you replaced a rejected token by a draw from
# p itself?

# %% Accepting one token exercise="accept"
#| export
def accept(p, q, token, rng=None):
    """Accept or replace a token of a draft, so that the result has the distribution p.

    p        array of shape (V,): the probabilities of the large model
    q        array of shape (V,): the probabilities of the draft model
    token    int, drawn with the probabilities q, so that q[token] > 0
    rng      a NumPy Generator, a seed, or None for the shared generator
    returns  (bool, int): (True, token) with the probability min(1, p[token] / q[token]);
             otherwise False and a token drawn with probabilities proportional to max(p - q, 0)

    >>> accept([0.0, 1.0], [1.0, 0.0], 0, rng=0)
    (False, 1)

    Source: Leviathan, Kalman, Matias, Fast inference from transformers via speculative decoding
    (2023), section 2 and appendix A.1.
    """
    p, q, rng = np.asarray(p, float), np.asarray(q, float), generator(rng)
    ### BEGIN SOLUTION
    if rng.random() * q[token] < p[token]:
        return True, int(token)
    rest = np.maximum(p - q, 0)
    rest = rest if rest.any() else p  # p and q equal but for a rounding error
    return False, int(rng.choice(len(p), p=rest / rest.sum()))
    ### END SOLUTION

# %% checks="accept"
check("accept")

# %% tags=["demonstration"]
p, q, rng = [0.6, 0.3, 0.1], [0.2, 0.3, 0.5], np.random.default_rng(0)
results = [accept(p, q, rng.choice(3, p=q), rng) for _ in range(10_000)]
accepted, tokens = np.array(results).T
print("accepted:", accepted.mean(), "distribution:", np.bincount(tokens) / len(tokens))

# %% [markdown]
# ## Speculative decoding: a whole draft
#
# The rule for one token becomes a rule for a whole draft. The draft model proposes m tokens and
# draws each of them after the previous ones. One step of the large model then gives m + 1
# distributions: one for each drafted token, and one for the token after them. We accept the
# drafted tokens one after another until one is rejected, and throw away the tokens after it. If
# all are accepted, we draw one more token from the last distribution. So every step of the
# large model produces at least one token.
#
# **Task.** Write `verified`.

# %% Verifying a draft exercise="verified"
#| export
def verified(p, q, tokens, rng=None):
    """Check a draft: the accepted tokens and one new token.

    p        array of shape (m + 1, V), the large model's probabilities: p[i] for the drafted
             token number i, p[m] for the token after the draft
    q        array of shape (m, V), the draft model's probabilities for the drafted tokens
    tokens   list of m int: the draft; m may be 0
    rng      a NumPy Generator, a seed, or None for the shared generator
    returns  list of Python ints, 1 to m + 1. When `accept` rejects a token: the tokens before
             it, and its replacement. When all are accepted: all of them, and one more token,
             drawn with the probabilities p[m]

    Source: Leviathan, Kalman, Matias (2023), algorithm 1.
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

# %% [markdown]
# Two functions are given: one draws the draft, the other turns logits into probabilities.

# %%
#| export
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

# %% [markdown]
# Now we write the loop. The cache holds all ids except the last one, whose keys are computed in
# the next step; before the first step it is empty. So each step gives the model the ids that
# are not in the cache, followed by the draft. Afterwards the cache also holds keys of rejected
# tokens, and `cache.truncate(length)` removes them.
#
# **Task.** Write the middle of `speculative`: from `tokens` and `q` to the new `ids`. The
# list of new tokens is called `new`.

# %% Speculative decoding exercise="speculative"
#| export
def speculative(model, draft, ids, n, ahead=4, rng=None):
    """Sample n tokens with the probabilities of `model` at temperature 1, in fewer steps.

    model    a GPT
    draft    an NGram, or another object whose method next(ids), with ids of shape (T,), returns
             the probabilities of the next token, shape (V,)
    ids      int array of shape (1, T), T >= 1
    n        int; ValueError, with the numbers, when T + n is more than `model.context`
    ahead    int >= 0: how many tokens are drafted at a time; fewer at the end
    rng      a NumPy Generator, a seed, or None for the shared generator
    returns  (int64 array of shape (1, T + n), {"accepted": int, "proposed": int})

    Source: Leviathan, Kalman, Matias (2023), algorithm 1.
    """
    ids, rng, counts = as_rows(ids)[0], generator(rng), {"accepted": 0, "proposed": 0}
    check_counts(0, n=n, ahead=ahead)
    check_kind("draft", draft, "next", "a draft model",
               "give an NGram, or an object whose method next(ids) returns probabilities")
    cache, end = KVCache.for_model(model), len(ids) + n
    if end > model.context:
        raise ValueError(f"{len(ids)} + {n} tokens are more than the context {model.context}")
    with evaluation_mode(model):
        while len(ids) < end:
            tokens, q = propose(draft, ids, min(ahead, end - len(ids) - 1), rng)
            ### BEGIN SOLUTION
            unseen = np.append(ids[cache.length :], tokens).astype(np.int64)
            logits = step(model, unseen[None], cache)[0]
            new = verified(as_probabilities(logits[-len(tokens) - 1 :]), q, tokens, rng)
            ids = np.append(ids, new)
            cache.truncate(len(ids) - 1)
            ### END SOLUTION
            counts["accepted"] += len(new) - 1
            counts["proposed"] += len(tokens)
    return ids[None], counts

# %% checks="speculative"
check("speculative")

# %% [markdown]
# The draft models here are the 1-gram, 2-gram and 3-gram models of the same novels. Predict the
# share of their tokens that the GPT accepts.

# %% tags=["answer"]
from tinytorch.core.embeddings import NGram
from tinytorch.data.texts import load_text

text = tokenizer.encode(load_text("train")[:200_000])
prompt = tokenizer.encode("She was")[None]
for order in (1, 2, 3):
    draft, total = NGram(order).fit(text, 512), {"accepted": 0, "proposed": 0}
    for seed in range(3):
        ids, counts = speculative(model, draft, prompt, 50, rng=seed)
        total = {name: total[name] + counts[name] for name in total}
    print(f"order {order}: {total['accepted'] / total['proposed']:.0%} accepted")
print(repr(tokenizer.decode(ids[0])))

# %% [markdown]
# A longer draft saves more steps, but a drafted token is used only if all tokens before it were
# accepted. How many tokens does one step of the GPT produce?

# %% tags=["demonstration"]
lengths, per_step = [0, 1, 2, 4, 8], []
for ahead in lengths:
    runs = [speculative(model, draft, prompt, 50, ahead, rng=seed)[1] for seed in range(3)]
    accepted = sum(counts["accepted"] for counts in runs)
    per_step.append(150 / (150 - accepted))  # each step gives one token that was not drafted
figure = plot_lines({"no draft": (lengths, [1] * 5), "trigrams": (lengths, per_step)},
                    "tokens in a draft", "tokens per step")
# alt: Tokens per step against the tokens in a draft: 1 without a draft, 1.6 with one token, 2
# with two and with four, 2.2 with eight; a horizontal line at 1 for generation without a draft.

# %% [markdown]
# ## Beam search
#
# Sampling looks at one token at a time. Which *text* of n tokens is the most probable one?
# There are $V^n$ of them, too many to try. **Beam search** keeps the `width` most probable
# beginnings: it continues each of them with every token and again keeps the best `width` of all
# these texts. The probability of a text is the product of the probabilities of its tokens, so
# their logarithms are added.
#
# **Task.** Write the step of `beam`. `rows` holds the beginnings, an array of shape (beams, T),
# and `scores` holds their log probabilities.

# %% Beam search exercise="beam"
#| export
def beam(model, ids, width, n):
    """Search for the most probable continuations of `ids`.

    model    a GPT, or another model that `next_logits` takes
    ids      int array of shape (1, T), T >= 1
    width    int >= 1: how many beginnings are kept after each token
    n        int: how many tokens are appended
    returns  list of at most `width` pairs (ids, log probability), the most probable first: an
             int64 array of shape (T + n,), and a float, the natural logarithm of the
             probability of the n tokens

    Source: Sutskever, Vinyals, Le, Sequence to sequence learning with neural networks (2014),
    section 3.2.
    """
    check_counts(width=width)
    check_counts(0, n=n)
    rows, scores = as_rows(ids), np.zeros(1)
    with evaluation_mode(model):
        for _ in range(n):
            ### BEGIN SOLUTION
            totals = scores[:, None] + log_softmax(next_logits(model, rows)).data
            best = np.argsort(-totals, axis=None)[:width]
            row, token = np.unravel_index(best, totals.shape)
            rows = np.concatenate([rows[row], token[:, None]], axis=1)
            scores = totals[row, token]
            ### END SOLUTION
    return list(zip(rows, check_logits(scores).tolist()))

# %% checks="beam"
check("beam")

# %% [markdown]
# Predict: which text is better, one found by beam search or one that is sampled? For each text,
# the cell also prints how much it repeats itself: the share of its groups of four tokens that
# occurred earlier in the same text.

# %% tags=["answer", "explained"]
def repeated(ids, n=4):
    """The share of n-grams in ids (T,) that are repetitions of an earlier one."""
    grams = [tuple(ids[i : i + n].tolist()) for i in range(len(ids) - n + 1)]
    return 1 - len(set(grams)) / len(grams)

def log_probability(ids, start):
    """The log probability of ids[start:] after ids[:start], at temperature 1."""
    logp = log_softmax(model(ids[None])[0]).data
    return logp[np.arange(start - 1, len(ids) - 1), ids[start:]].sum()

start = prompt.shape[1]
texts = {"greedy": generate(model, prompt, 56, temperature=0)[0],
         "beam search": beam(model, prompt, 8, 56)[0][0],
         "sampled": generate(model, prompt, 56, top_p=0.95, rng=0)[0]}
for name, ids in texts.items():
    print(f"{name}: log probability {log_probability(ids, start):.0f}, "
          f"{repeated(ids):.0%} repeated\n    {tokenizer.decode(ids)!r}")

# %% [markdown]
# Greedy decoding does not even find the most probable text: beam search finds a far more
# probable one. But neither text is good, because people do not write the most probable text but
# something new. Beam search is used where one answer is right, as in translation, while texts
# are sampled.
#
# ## Look back
#
# 1. `generate` draws at temperature 1 from all tokens. What share of the words that it writes
#    occur in the novels, and how does this share change with `top_p` from 0.5 to 1? Measure it
#    with 500 tokens. What else changes?
# 2. Time `speculative` against `generate`, both for 50 tokens. Is the draft worth its cost for
#    our small model? Which two numbers do you need to predict this for another pair of models?
# 3. *Multi-query attention* gives all heads of a layer the same keys and values. How large
#    would the cache of 8 texts of 1,024 tokens be, for the GPT of "The memory of a cache"?
#    Which lines of `KVCache` and `attend_cached` would change?
#
# PyTorch draws with `torch.multinomial(p, 1)`, and `torch.topk` returns the k largest values
# and their indices. `generate` and the cache are in the library *transformers* by Hugging Face:
# `model.generate(input_ids, max_new_tokens=..., do_sample=True, temperature=..., top_k=...,
# top_p=..., num_beams=..., use_cache=True)`; its cache grows by concatenation. In PyTorch's
# `scaled_dot_product_attention`, `is_causal=True` aligns the mask at the *first* key: with a
# cache, a single query would then see only the oldest token.

# %% [markdown] tags=["answer"]
# 3. The keys and values of all heads become those of one head, so the cache is divided by the
#    number of heads. The arrays of `KVCache` lose their head axis, or have length 1 there.
