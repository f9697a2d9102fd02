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
#     enables:
#     - transformers
#     hours: 7
#     prerequisites:
#     - activations
#     - layers
#     - autograd
#     - embeddings
#     pytorch:
#       nn.scaled_dot_product_attention: torch.nn.functional.scaled_dot_product_attention
#       nn.MultiHeadAttention: torch.nn.MultiheadAttention
#       attention: torch.nn.functional.scaled_dot_product_attention
#       multi-head attention: torch.nn.MultiheadAttention
#     summary: Each position of a sequence looks up what it needs at the others
#     terms:
#     - attention
#     - query
#     - key
#     - value
#     - attention weight
#     - scaled dot-product attention
#     - causal mask
#     - padding mask
#     - self-attention
#     - multi-head attention
#     - fused operation
#     - permutation equivariance
#     - positional encoding
#     - rotary position embedding
#     - online softmax
#     title: Attention
# ---

# %% [markdown]
# # 14. Attention
#
# Twelve random letters, and then the same twelve again. A small network reads them and has to
# predict each letter of the second half. The picture shows where it looks for it. A row is a
# prediction: "i → e" means that the network has read the i and should predict the e. A column
# is a letter of the sequence; the darker the cell, the more the letter counts.

# %% tags=["payoff"]
#| default_exp core.attention
#| export
import math

import numpy as np

from tinytorch.core.activations import softmax
from tinytorch.core.autograd import derivative
from tinytorch.core.layers import Dense, Module, generator
from tinytorch.core.losses import as_float_tensor
from tinytorch.core.tensor import Tensor, Variable, apply, operand, stack, where, wrap
from tinytorch.nn.additions import dropout
from tinytorch.support.arguments import (check_causal, check_heads, check_positions,
                                         check_query_key_value)
from tinytorch.support.arrays import keep_freed_memory

# %% tags=["payoff"]
from tinytorch.pictures.attention import (LEARNED, draw_lookup, draw_map, draw_masks,
                                          draw_positions, draw_rotation, draw_split,
                                          draw_weights)

letters, learned_weights = LEARNED
predictions = [f"{a} → {b}" for a, b in zip(letters[11:], letters[:12])]
figure = draw_map(learned_weights, predictions, letters, "", ("letter", "prediction"))
# alt: Attention weights: twelve rows, one for each prediction, and 23 columns, one for each
# letter. In every row the darkest cell lies eleven positions before the letter that was read,
# so the dark cells form a diagonal in the left half. The right half is almost white.

# %% [markdown]
# Nobody told it where to look. It has learned to look eleven positions back, where the letter
# that comes next stood the first time, and it predicts all twelve. The recurrent model of
# lesson 13 has to carry the letters in one hidden state. With more parameters, it predicts at
# most about 40 % of them after as many steps, and at most about 80 % after four times as many.
#
# **Attention** is an operation in which every position of a sequence computes a weighted mean
# of vectors of all positions, its own included; each weight comes from a comparison of the
# vector of the position that looks with that of the position looked at, and the weights of a
# position that looks share 100 %. These vectors can say what stands at a position, where it
# stands (as above), or both. Attention is the heart of the transformer, the next lesson.
#
# **You need** 02 (Activations), 03 (Layers), 06 (Autograd) and 13 (Embeddings). **You write**
# scaled dot-product attention with its masks, multi-head attention as one operation with its
# own gradient, three ways to mark positions, and attention in chunks.

# %% [markdown]
# ## Queries, keys and values
#
# A Python dictionary returns the value of the one key that is equal to what was asked for.
# Attention is a softer lookup. A **query** is a vector that says what a position is looking
# for. A **key** is a vector that says what a position has to offer, and it is compared with
# queries by a dot product. A **value** is the vector that a position contributes when its key
# fits. Below, three keys are directions, and the query points to the north-east.

# %%
keys, values = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), np.array([10, 20, 40])
scores = keys @ [2.0, 1.5]
powers = np.exp(scores)
draw_lookup(["east", "north", "west"], scores, powers / powers.sum(), values)
# alt: A table with three keys. East has the score 2, the weight 62 % and the value 10; north
# 1.5, 37 % and 20; west -2, 1 % and 40. Below a line stands the answer, 14.1.

# %% [markdown]
# No key equals the query, and the answer is a mixture. An **attention weight** is the share of
# one value in the answer: the softmax of the scores of a query gives its weights, so they are
# positive and sum to 1. All of it can be differentiated, so queries, keys and values can be
# learned.
#
# ## The scale of the scores
#
# The dot product of two vectors of `d` independent standard normal numbers is a sum of `d`
# products. Predict its standard deviation for `d` = 4 and for `d` = 256.

# %% tags=["answer"]
rng = np.random.default_rng(0)
for d in (4, 16, 64, 256):
    a, b = rng.normal(size=(2, 10_000, d))
    print(f"d = {d:3}: standard deviation {(a * b).sum(axis=1).std():5.2f}")

# %% [markdown]
# It is $\sqrt d$: each product has the variance 1, and the variances of independent numbers
# add. Large scores saturate the softmax: one weight is almost 1, and all have almost no
# gradient. So the scores are divided by $\sqrt d$ and have standard deviation 1 at
# any width.
#
# **Task.** Write `attention_scores` for all queries and keys at once: a matrix product.

# %% exercise="scores"
#| export
def attention_scores(query, key, scale=None):
    """How well each query fits each key: their dot products, scaled.

    query    Tensor of shape (..., Tq, d): Tq queries of d numbers
    key      Tensor of shape (..., Tk, d)
    scale    the factor; None for 1 / sqrt(d)
    returns  Tensor of shape (..., Tq, Tk): row i holds the scores of query i

    >>> attention_scores(Tensor([[1.0, 2.0, 0.0, 0.0]]), Tensor([[4.0, 0.0, 9.0, 9.0]]))
    Tensor([[2.]])

    Source: Vaswani et al., Attention is all you need (2017), section 3.2.1.
    """
    ### BEGIN SOLUTION
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    return query @ key.swapaxes(-1, -2) * scale
    ### END SOLUTION

# %% checks="scores"
check("scores")

# %% [markdown]
# The weights of one query over 16 random keys of width 64, with three factors. Which of them is
# nearest to a dictionary, and which is nearly a plain mean?

# %%
query, key = Tensor(rng.normal(size=(1, 64))), Tensor(rng.normal(size=(16, 64)))
factors = {"1": 1.0, "1 / √d": None, "1 / d": 1 / 64}
rows = [softmax(attention_scores(query, key, scale)).data[0] for scale in factors.values()]
figure = draw_weights(rows, list(factors))
# alt: Attention weights of 16 keys, the largest first, for three factors. With 1, two keys have
# more than 0.9 together. With 1 / sqrt(d) the weights fall slowly from 0.2. With 1 / d all are
# about 0.06.

# %% [markdown]
# ## Causal masks
#
# A language model predicts the next token from those before it. In training, all positions of a
# text are computed at once, and every position could simply look at the token it is to predict.
# A **causal mask** allows a position to look at itself and the positions before it, and at
# nothing after it.
#
# A model that writes adds one or a few tokens at a time: few new queries, but the keys of
# the whole text. The new queries are the *last* positions, and the mask is aligned at the
# end: of 2 queries with 5 keys, query 0 is position 3, and query 1 is position 4.

# %%
draw_masks({"4 queries, 4 keys": [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]],
            "2 queries, 5 keys": [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]],
            "aligned at the start: wrong": [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]]})
# alt: Three masks. With 4 queries and 4 keys, query 0 sees key 0, query 3 all four keys. With 2
# queries and 5 keys, query 0 sees keys 0 to 3, and query 1 all five. The third, in red, is
# aligned at the start: query 1 sees only keys 0 and 1.

# %% [markdown]
# **Task.** Write `causal_mask`. True means: may look.

# %% exercise="causal-mask"
#| export
def causal_mask(queries, keys):
    """Which keys each query may look at, when the queries are the last positions of the keys.

    queries  int: the number of queries
    keys     int: the number of keys
    returns  bool ndarray of shape (queries, keys), True where query i may look at key j: the
             last query at all keys, the one before it at all but the last key, and so on

    >>> causal_mask(2, 4)
    array([[ True,  True,  True, False],
           [ True,  True,  True,  True]])

    Source: Vaswani et al. (2017), section 3.2.3. PyTorch's is_causal aligns at the first key.
    """
    ### BEGIN SOLUTION
    return np.tri(queries, keys, keys - queries, dtype=bool)
    ### END SOLUTION

# %% checks="causal-mask"
check("causal-mask")

# %% [markdown]
# ## Masked softmax
#
# Where does the mask act? Setting weights to 0 *after* the softmax leaves rows that no longer
# sum to 1. Multiplying the scores by 0 gives a score of 0, which is an average key, not an
# impossible one. The mask has to act on the scores: $\exp(-\infty) = 0$, and the softmax
# divides by the sum of what is left. A mask of floats is *added* to the scores: 0 allows,
# $-\infty$ hides, and numbers in between make a key less likely. It can be learned.
#
# One case remains. A row in which every key is hidden is all $-\infty$, and its softmax is
# 0 / 0. Such rows occur when a short text is padded at its *front* and the padding is hidden: a
# causal mask leaves only padding to the first queries. One `nan` would spread to the loss and
# to every parameter, so the row is 0 here: a query that sees nothing gets nothing.
#
# **Task.** Write `masked_softmax`. You may use `softmax` of lesson 02. A mask may be an array
# or a Tensor, and `operand(mask).dtype` says of both whether it is bool.

# %% exercise="masked-softmax"
#| export
def masked_softmax(scores, mask=None):
    """Softmax along the last axis, over the keys that the mask allows.

    scores   Tensor of shape (..., Tq, Tk); where the mask is False, any number, inf or nan
    mask     None; or an array or Tensor that broadcasts to the shape of `scores`: of bool, True
             where a query may look, or of floats that are added to the scores; a Variable of
             floats gets a gradient
    returns  Tensor of the same shape: weights >= 0, exactly 0 where the mask is False; each row
             sums to 1, but a row with no key to look at (False or -inf everywhere in the mask)
             is 0, and its gradient is 0, too

    >>> masked_softmax(Tensor([[5.0, 5.0, 9.0], [1.0, 2.0, 3.0]]),
    ...                np.array([[True, True, False], [False, False, False]]))
    Tensor([[0.5, 0.5, 0. ],
            [0. , 0. , 0. ]])

    Source: torch.nn.functional.scaled_dot_product_attention, attn_mask.
    """
    ### BEGIN SOLUTION
    if mask is None:
        return softmax(scores)
    is_bool = operand(mask).dtype == bool
    scores = where(mask, scores, -np.inf) if is_bool else scores + mask
    empty = (scores.data == -np.inf).all(axis=-1, keepdims=True)
    return where(empty, 0, softmax(where(empty, 0, scores)))
    ### END SOLUTION

# %% checks="masked-softmax"
check("masked-softmax")

# %% tags=["demonstration"]
scores = Tensor(np.full((3, 3), 5.0, "float32"))
print("causal\n", masked_softmax(scores, causal_mask(3, 3)).data.round(3))
print("float mask", masked_softmax(scores, np.float32([0, -1, -np.inf])).data[0].round(3))

# %% [markdown]
# ## Scaled dot-product attention
#
# **Scaled dot-product attention** is attention whose weights are the softmax of the dot
# products of queries and keys, divided by the root of their width. With a mask:
#
# $$\mathrm{attention}(Q, K, V) = \mathrm{softmax}\left(\frac{QK^T}{\sqrt d} + M\right) V$$
#
# $M$ is the mask as numbers to add. Shapes, with any batch axes in front: $Q$ (Tq, d), $K$ (Tk,
# d), $V$ (Tk, e), the result (Tq, e). *Dropout* (lesson 03) is applied to the weights:
# `dropout(weights, p)`.
#
# **Task.** Write `scaled_dot_product_attention` with the functions above. The lines that raise
# its ValueErrors are given.

# %% exercise="attention"
#| export
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0,
                                 is_causal=False, scale=None):
    """For each query the mean of the values, weighted by how well the query fits their keys.

    query      Tensor of shape (..., Tq, d)
    key        Tensor of shape (..., Tk, d)
    value      Tensor of shape (..., Tk, e)
    attn_mask  None or a mask as `masked_softmax` takes it
    dropout_p  the probability with which each weight is dropped, as in `dropout`; 0 for none
    is_causal  True: mask with causal_mask(Tq, Tk)
    scale      the factor of the scores; None for 1 / sqrt(d)
    returns    Tensor of shape (..., Tq, e)

    ValueError for is_causal=True together with attn_mask, and for is_causal=True when Tq is not
    Tk; the text of the latter contains "causal_mask".

    >>> scaled_dot_product_attention(Tensor([[0.0]]), Tensor([[1.0], [2.0]]),
    ...                              Tensor([[10.0, 1.0], [20.0, 3.0]]))
    Tensor([[15.,  2.]])

    Source: Vaswani et al. (2017), equation 1; torch.nn.functional.scaled_dot_product_attention.
    """
    query, key, value = map(as_float_tensor, (query, key, value))
    check_query_key_value(query, key, value)
    if is_causal:
        check_causal(query, key, attn_mask)  # raises the two ValueErrors
    ### BEGIN SOLUTION
    if is_causal:
        attn_mask = causal_mask(query.shape[-2], key.shape[-2])
    weights = masked_softmax(attention_scores(query, key, scale), attn_mask)
    if dropout_p:
        weights = dropout(weights, dropout_p)
    return weights @ value
    ### END SOLUTION

# %% checks="attention"
check("attention")

# %% [markdown]
# Three small experiments. A causal result must not change when the future changes. Shuffling
# keys *together with their values* must change nothing: attention is a lookup, and a dictionary
# has no order. And new queries with older keys need `causal_mask`; PyTorch accepts
# `is_causal=True` there, aligns the mask at the start, and hides the past without a word.

# %% tags=["demonstration"]
q, k, v = (Tensor(a) for a in rng.normal(size=(3, 5, 4)).astype(np.float32))
changed = Tensor(v)
changed.data[4] += 100
before, after = (scaled_dot_product_attention(q, k, x, is_causal=True) for x in (v, changed))
print("rows that see the change:", np.flatnonzero(np.abs((after - before).data).max(axis=1)))

order = rng.permutation(5)
shuffled = scaled_dot_product_attention(q, k[order], v[order])
print("shuffled keys and values, largest difference:",
      abs(shuffled - scaled_dot_product_attention(q, k, v)).max().item())
try:
    scaled_dot_product_attention(q[3:], k, v, is_causal=True)
except ValueError as error:
    print("ValueError:", error)

# %% [markdown]
# ## Attention by hand
#
# Before attention learns anything, choose queries, keys and values by hand. Equal scores give a
# mean. A large scale makes the softmax as hard as a dictionary, which copies one value. The
# mean of one-hot vectors is the share of each token; times the number of positions, it is the
# count of each token.
#
# **Task.** Write the three functions without a loop: the first two with
# `scaled_dot_product_attention`, the third with the second. For `hard_lookup`, choose a scale
# that makes exp(-0.1 scale) vanish.

# %% exercise="by-hand"
#| export
def hard_lookup(keys, values, query):
    """The value of the key that fits the query best, looked up by attention.

    keys     Tensor of shape (n, d)
    values   Tensor of shape (n, e)
    query    Tensor of shape (d,); its dot product with one key is at least 0.1 larger than with
             every other key
    returns  Tensor of shape (e,): the value of that key, up to rounding

    >>> hard_lookup(Tensor([[1.0, 0.0], [0.0, 1.0]]), Tensor([[5.0], [7.0]]),
    ...             Tensor([0.2, 0.8]))
    Tensor([7.])
    """
    ### BEGIN SOLUTION
    return scaled_dot_product_attention(query.unsqueeze(0), keys, values, scale=1000.0)[0]
    ### END SOLUTION


def running_mean(values):
    """The mean of each row and all rows before it, computed by causal attention.

    values   Tensor of shape (..., T, e)
    returns  Tensor of the same shape

    >>> running_mean(Tensor([[2.0], [4.0], [9.0]]))
    Tensor([[2.],
            [3.],
            [5.]])
    """
    ### BEGIN SOLUTION
    same = Tensor(np.zeros((values.shape[-2], 1), values.dtype))
    return scaled_dot_product_attention(same, same, values, is_causal=True)
    ### END SOLUTION


def running_counts(ids, vocab_size):
    """How often each token has occurred up to each position, computed with `running_mean`.

    ids         int array of shape (T,), from 0 to vocab_size - 1
    vocab_size  int
    returns     float32 Tensor of shape (T, vocab_size)

    >>> running_counts(np.array([1, 0, 1]), 2)
    Tensor([[0., 1.],
            [1., 1.],
            [1., 2.]])
    """
    ### BEGIN SOLUTION
    one_hot = Tensor(np.eye(vocab_size, dtype=np.float32)[ids])
    return running_mean(one_hot) * np.arange(1, len(ids) + 1)[:, None]
    ### END SOLUTION

# %% checks="by-hand"
check("by-hand")

# %% [markdown]
# Two more examples, on a sentence. First, the query and the key of a position are both the
# one-hot vector of its word: each word looks at the earlier occurrences of the same word. Then
# the query is the one-hot vector of the *previous* position, and the key that of the own
# position: each word looks at its neighbour.

# %%
words = "the cat saw the dog and the dog ran".split()
same_word = Tensor(np.float32([[a == b for b in set(words)] for a in words]))
weights = masked_softmax(attention_scores(same_word, same_word, 10.0), causal_mask(9, 9))
figure = draw_map(weights.data, words, words, "the same word")
# alt: Weights of nine words, a row for each. The first "the" has weight 1 on itself; the second
# shares its weight between both; the third between three. The second "dog" looks half at
# itself and half at the first. All other words look at themselves.

# %% tags=["demonstration"]
place = Tensor(np.eye(9, dtype=np.float32))
previous = Tensor(np.eye(9, k=-1, dtype=np.float32))  # row i is the one-hot vector of i - 1
weights = masked_softmax(attention_scores(previous, place, 10.0), causal_mask(9, 9))
figure = draw_map(weights.data, words, words, "the previous word")
# alt: Weights of nine words: each word has all of its weight on the word before it, so the dark
# cells lie one below the diagonal; the first word can look only at itself.

# %% [markdown]
# ## Positions
#
# The last example needed vectors that say where a word stands; the words alone do not.
# **Permutation equivariance** is the property that permuting the inputs permutes the outputs in
# the same way and changes nothing else. Attention without a mask has it: it cannot tell "dog
# bites man" from "man bites dog".

# %% tags=["demonstration"]
x = Tensor(rng.normal(size=(6, 4)).astype(np.float32))
order, out = rng.permutation(6), scaled_dot_product_attention(x, x, x)
permuted = scaled_dot_product_attention(x[order], x[order], x[order])
print("largest difference:", abs(permuted - out[order]).max().item())

# %% [markdown]
# A **positional encoding** is a vector that is added to each input and depends on its position
# alone. The position $t$ itself as a number would soon be larger than everything it is added
# to. The first transformer used sines and cosines, which stay between -1 and 1, with $D / 2$
# frequencies $f_0, f_1, \dots$ from fast to slow, like the hands of a clock:
#
# $$p_{t,\,2i} = \sin(t f_i), \qquad p_{t,\,2i+1} = \cos(t f_i), \qquad
# f_i = 10000^{-2i/D}$$
#
# $D$ is the width of the input. Adding loses little: in $D$ numbers there are directions enough
# for both, and the layers that follow learn to tell letters and positions apart.
#
# **Task.** Write `sinusoidal`. For an odd width, the last frequency has a sine and no cosine.

# %% exercise="sinusoidal"
#| export
def sinusoidal(T, D):
    """Sinusoidal positional encodings.

    T        int: the number of positions
    D        int: the width; may be odd
    returns  float32 ndarray of shape (T, D): row t is sin(t f0), cos(t f0), sin(t f1),
             cos(t f1), ... with f_i = 10000 ** (-2 i / D)

    >>> sinusoidal(2, 4).round(3)
    array([[0.   , 1.   , 0.   , 1.   ],
           [0.841, 0.54 , 0.01 , 1.   ]], dtype=float32)

    Source: Vaswani et al. (2017), section 3.5.
    """
    ### BEGIN SOLUTION
    angles = np.arange(T)[:, None] * 10000.0 ** (-np.arange(0, D, 2) / D)
    out = np.empty((T, D), np.float32)
    out[:, 0::2] = np.sin(angles)
    out[:, 1::2] = np.cos(angles)[:, : D // 2]
    return out
    ### END SOLUTION

# %% checks="sinusoidal"
check("sinusoidal")

# %% [markdown]
# Blue is 1, white 0, red -1. The left columns tell neighbours apart, those in the middle say
# roughly where in the text a position is, and the last ones only matter in longer texts.

# %%
figure = draw_positions(sinusoidal(64, 32))
# alt: A picture of 64 positions, one below the other, and 32 numbers. In the left columns red
# and blue alternate within a few positions; further right the bands become longer. The columns
# from 20 on hardly change: the sines stay near 0, white, and the cosines near 1, blue.

# %% [markdown]
# GPT-2 learns the vectors instead: a table with one row per position, trained like every other
# parameter. It has no row for a position beyond its context.
#
# **Task.** Write `forward` of `LearnedPositions`. Index the Variable itself: rows taken from
# `.data` are not recorded, and the table would keep its random numbers forever.

# %% exercise="learned"
#| export
class LearnedPositions(Module):
    """Adds a learned vector to each position of a sequence.

    context    int: the longest sequence
    embed_dim  int: D
    rng        a NumPy Generator, a seed, or None for the generator of lesson 03

    forward takes x of shape (B, T, D) and returns x plus the first T rows of the weight.
    ValueError with T and the context when T is larger.

    .weight    float32 Variable of shape (context, D), from the normal distribution with
               standard deviation 0.02

    >>> LearnedPositions(5, 2, rng=0)(Tensor(np.zeros((1, 3, 2), "float32"))).shape
    (1, 3, 2)

    Source: Radford et al., Improving language understanding by generative pre-training (2018),
    section 4.1.
    """

    def __init__(self, context, embed_dim, rng=None):
        weight = generator(rng).normal(0, 0.02, (context, embed_dim))
        self.weight = Variable(weight.astype(np.float32))

    def forward(self, x):
        ### BEGIN SOLUTION
        T, context = x.shape[-2], len(self.weight)
        if T > context:
            raise ValueError(f"{T} positions, and there are vectors for {context} only")
        return x + self.weight[:T]
        ### END SOLUTION

    def __repr__(self):
        return f"LearnedPositions({', '.join(map(str, self.weight.shape))})"

# %% checks="learned"
check("learned")

# %% [markdown]
# ## Rotary position embeddings
#
# What matters is often not where a token stands but how far away it is. A **rotary position
# embedding** (RoPE) rotates queries and keys by angles that grow with their positions. Rotating
# two vectors by the same angle changes no dot product, so moving both by ten positions changes
# no score: a score depends on the two vectors and the *difference* of their positions.

# %%
draw_rotation([1.0, 0.3], [0.8, 0.6], 0.5, [(3, 1), (7, 5)])
# alt: Two circles, each with an arrow q and an arrow k. Left, q is rotated to position 3 and k
# to position 1; right, both are rotated further, to 7 and 5. The angle between the arrows is
# the same, and so is the dot product below each circle, 0.83.

# %% [markdown]
# Nothing is added to the input, and values are not rotated. Most recent language models do it.
#
# A pair of numbers is a point in a plane. Rotated by the angle $\theta$, $(a, b)$ becomes
# $(a \cos\theta - b \sin\theta,\; a \sin\theta + b \cos\theta)$. The pairs are neighbours:
# $(x_0, x_1), (x_2, x_3), \dots$, each with its own speed, as in the sinusoidal encoding.
#
# **Task.** Write `rope`, with Tensor operations.

# %% exercise="rope"
#| export
def rope(x, positions, base=10000.0):
    """Rotary position embedding: rotate each pair of numbers by an angle that grows with the
    position.

    x          Tensor of shape (..., T, d), d even: queries or keys
    positions  int array of shape (T,): the position of each row
    base       the pair (x[2i], x[2i + 1]) at position p is rotated by p * base ** (-2 i / d)
               radians, from the first axis of the pair toward the second
    returns    Tensor of the shape and dtype of `x`

    ValueError with d when d is odd.

    >>> rope(Tensor([[1.0, 0.0, 1.0, 0.0]]), np.array([1])).numpy().round(3)
    array([[0.54 , 0.841, 1.   , 0.01 ]], dtype=float32)

    Source: Su et al., RoFormer (2021), section 3.2.2.
    """
    check_positions(x, positions)  # raises the ValueError
    ### BEGIN SOLUTION
    d = x.shape[-1]
    angles = np.asarray(positions)[:, None] * base ** (-np.arange(0, d, 2) / d)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape)
    ### END SOLUTION

# %% checks="rope"
check("rope")

# %% tags=["demonstration"]
q, k = (Tensor(a[None]) for a in rng.normal(size=(2, 64)))
def score(i, j):
    return (rope(q, [i]) @ rope(k, [j]).T).item()


print(f"q(5) k(1) = {score(5, 1):.6f}, q(105) k(101) = {score(105, 101):.6f}, "
      f"q(1) k(5) = {score(1, 5):.6f}")

# %% [markdown]
# The first two dot products are equal: in both, the key stands four positions before the
# query. In the third it stands four *after* it, and the rotation has the other direction.
#
# Here are the scores of a query and a key that are all ones, over the distance between them.
# The fast pairs make them fall at once, the slow ones keep some over 200 positions:

# %%
from tinytorch.pictures.drawing import panel

figure, axes = panel("", "distance in positions", "score / score at distance 0")
same = Tensor(np.ones((1, 64)))
far = rope(Tensor(np.ones((200, 64))), np.arange(200))
curve = (rope(same, [0]) @ far.T).data[0] / 64
lines = axes.plot(curve)
# alt: A curve over the distance from 0 to 200. It starts at 1, falls quickly to 0.6 within 20
# positions and then slowly, with many waves, to between 0.2 and 0.5.

# %% [markdown]
# ## Heads
#
# One row of attention weights answers one question. **Multi-head attention** runs several
# attentions side by side, called heads, each on its own part of the numbers of every position.
# With D = 128 and 4 heads, each head has 32 of the 128 numbers, so four heads need no more
# multiplications than one (but four times as many attention weights).
#
# The numbers *of each position* are divided. An array of shape (T, D) can also be reshaped to
# (heads, T, D / heads) at once. But a reshape keeps the row-major order (lesson 01), and then
# most numbers are in the wrong head, or in the row of another position:

# %%
draw_split(3, 4, 2)
# alt: An array of 3 positions with 4 numbers each, 0 to 11. Right: head 0 has 0 1, 4 5, 8 9,
# and head 1 has 2 3, 6 7, 10 11. Reshaped to (2, 3, 2), 8 of the 12 numbers are red: head 0 has
# 0 1, then 2 3 and 4 5, where 4 5 and 8 9 should be.

# %% [markdown]
# **Task.** Write `split_heads`, and `merge_heads`, its inverse.

# %% exercise="heads"
#| export
def split_heads(x, heads):
    """The numbers of each position, divided among heads.

    x        Tensor of shape (B, T, D)
    heads    int that divides D
    returns  Tensor of shape (B, heads, T, D / heads): head 0 has the first D / heads numbers of
             every position, head 1 the next ones

    >>> split_heads(Tensor([[[1, 2, 3, 4], [5, 6, 7, 8]]]), 2)
    Tensor([[[[1, 2],
              [5, 6]],
    <BLANKLINE>
             [[3, 4],
              [7, 8]]]])

    Source: Vaswani et al. (2017), section 3.2.2.
    """
    check_heads(x.shape[-1], heads)  # a ValueError when it does not divide D
    ### BEGIN SOLUTION
    B, T, D = x.shape
    return x.reshape(B, T, heads, D // heads).swapaxes(1, 2)
    ### END SOLUTION


def merge_heads(x):
    """The inverse of `split_heads`: the heads of each position, one after the other.

    x        Tensor of shape (B, heads, T, d)
    returns  Tensor of shape (B, T, heads * d)

    >>> merge_heads(Tensor([[[[1, 2], [5, 6]], [[3, 4], [7, 8]]]]))
    Tensor([[[1, 2, 3, 4],
             [5, 6, 7, 8]]])
    """
    ### BEGIN SOLUTION
    B, H, T, d = x.shape
    return x.swapaxes(1, 2).reshape(B, T, H * d)
    ### END SOLUTION

# %% checks="heads"
check("heads")

# %% [markdown]
# ## Fused attention
#
# **Self-attention** is attention in which queries, keys and values are computed from the same
# sequence. A layer computes all three with one matrix product, of shape (B, T, 3D). From there,
# the functions above record more than twenty operations, and many of them keep an array of
# shape (B, heads, T, T) for the backward pass: scores, masked scores, powers, weights.
#
# A **fused operation** computes in one step what could be composed of several, and has a
# gradient rule of its own. Here the rule needs a single (T, T) array for each head: the
# weights. The forward function puts it into the dict `saved`; rules get that dict, too, and it
# is freed with the graph.
#
# **Task.** Write `weights_forward` and `attention_forward` with NumPy arrays. In-place
# operators (`*=`, `-=`, `/=`, `np.exp(x, out=x)`) save memory. `head_views` gives q, k and v as
# views.

# %% exercise="forward"
#| export
def head_views(qkv, heads):
    """Views of q, k and v in an array or Tensor: (B, T, 3D) becomes (3, B, heads, T, d)."""
    if isinstance(qkv, Tensor) and not qkv.requires_grad:  # nothing is recorded, arrays suffice
        return [wrap(view) for view in head_views(qkv.data, heads)]
    B, T, width = qkv.shape
    return qkv.reshape(B, T, 3, heads, width // (3 * heads)).transpose(2, 0, 3, 1, 4)


def weights_forward(q, k, causal):
    """The attention weights of arrays: the softmax of q k^T / sqrt(d) along the last axis.

    q        ndarray of shape (..., Tq, d); not changed
    k        ndarray of shape (..., Tk, d); not changed
    causal   True: query i looks at what causal_mask(Tq, Tk) allows, Tq <= Tk
    returns  ndarray of shape (..., Tq, Tk), of the dtype of `q`

    >>> weights_forward(np.zeros((2, 1)), np.zeros((4, 1)), True).round(2)
    array([[0.33, 0.33, 0.33, 0.  ],
           [0.25, 0.25, 0.25, 0.25]])
    """
    ### BEGIN SOLUTION
    weights = q @ k.swapaxes(-1, -2)
    weights *= 1 / math.sqrt(q.shape[-1])
    if causal:
        weights += np.where(causal_mask(*weights.shape[-2:]), 0, -np.inf)
    weights -= weights.max(-1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(-1, keepdims=True)
    return weights
    ### END SOLUTION


def attention_forward(qkv, heads, causal, saved):
    """Self-attention of all heads, as one operation on arrays.

    qkv      ndarray of shape (B, T, 3D), each row q, k and v of one position; not changed
    heads    int that divides D
    causal   True: position i looks at the positions 0 to i only
    saved    dict, in which weights (B, heads, T, T) are kept under "weights" for the rule
    returns  ndarray of shape (B, T, D), of the dtype of `qkv`: what merge_heads gives of the
             scaled dot-product attention of the three, each split into heads

    >>> attention_forward(np.array([[[0.0, 0.0, 5.0], [0.0, 0.0, 9.0]]]), 1, True, {})
    array([[[5.],
            [7.]]])

    Source: Dao et al., FlashAttention (2022), algorithm 0.
    """
    B, T, width = qkv.shape
    q, k, v = head_views(qkv, heads)
    ### BEGIN SOLUTION
    weights = saved["weights"] = weights_forward(q, k, causal)
    return (weights @ v).swapaxes(1, 2).reshape(B, T, width // 3)
    ### END SOLUTION

# %% checks="forward"
check("forward")

# %% [markdown]
# ## The gradient of attention
#
# With $P$ the weights, $S$ the scaled scores, $G$ the upstream gradient, and bars for
# gradients, the rules of both matrix products (lesson 06) say:
#
# $$\bar V = P^T G, \qquad \bar P = G V^T, \qquad
# \bar Q = \frac{\bar S K}{\sqrt d}, \qquad \bar K = \frac{\bar S^T Q}{\sqrt d}$$
#
# Between $\bar P$ and $\bar S$ stands the softmax. Take one row. When its score $s_j$ grows,
# its power grows, which alone would raise $p_j$ at the rate $p_j$. The sum of the powers grows,
# too, and lowers *every* weight $p_k$ at the rate $p_k p_j$, $p_j$ as well, so that $p_j$ grows
# at the rate $p_j - p_j^2$ in all. By the chain rule,
#
# $$\bar s_j = \sum_k \bar p_k \frac{\partial p_k}{\partial s_j}
# = p_j \left(\bar p_j - \sum_k \bar p_k p_k\right)$$
#
# For example, $p$ = (0.5, 0.25, 0.25) and $\bar p$ = (1, 0, 0) give 0.5 for the sum, which is
# called the row term here, and $\bar s$ = (0.25, -0.125, -0.125). Without the row term,
# gradients still look plausible. How would you notice? Adding 1 to all scores of a row changes
# nothing, so each row of $\bar S$ must sum to 0.
#
# **Task.** Write `softmax_rule`, then the body of `attention_rule`: fill `dq`, `dk` and `dv`
# with `[...] =`. They are views of `gradient`, so the three results need no concatenation.

# %% exercise="rule"
#| export
def softmax_rule(g, weights):
    """The gradient of scores, given the gradient of their softmax along the last axis.

    g        ndarray of shape (..., n): the gradient of the weights
    weights  ndarray of the same shape: the softmax
    returns  ndarray of the same shape; each row sums to 0

    >>> softmax_rule(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    array([ 0.25, -0.25])

    Source: Goodfellow, Bengio, Courville, Deep Learning (2016), section 6.2.2.3.
    """
    ### BEGIN SOLUTION
    out = weights * g
    out -= weights * out.sum(-1, keepdims=True)
    return out
    ### END SOLUTION


def attention_rule(g, out, qkv, heads, causal, saved):
    """The gradient of the `qkv` that attention_forward was called with.

    g        ndarray of shape (B, T, D): the upstream gradient; not changed
    out      the output of attention_forward; not needed
    qkv, heads, causal   what attention_forward was called with
    saved    dict: saved["weights"] are the weights, of shape (B, heads, T, T); not changed
    returns  ndarray of the shape and dtype of `qkv`

    Source: Dao et al., FlashAttention (2022), appendix B.2.
    """
    weights, (q, k, v) = saved["weights"], head_views(qkv, heads)
    g = g.reshape(*g.shape[:2], heads, -1).swapaxes(1, 2)  # (B, heads, T, d)
    gradient = np.full(qkv.shape, np.nan, qkv.dtype)  # nan shows what nobody has written
    dq, dk, dv = head_views(gradient, heads)  # what is written into these stands in `gradient`
    ### BEGIN SOLUTION
    dv[...] = weights.swapaxes(-1, -2) @ g
    scores = softmax_rule(g @ v.swapaxes(-1, -2), weights)
    scores *= 1 / math.sqrt(q.shape[-1])
    dq[...] = scores @ k
    dk[...] = scores.swapaxes(-1, -2) @ q
    ### END SOLUTION
    return gradient


# A lambda, so that a new attention_rule is used as soon as its cell has been run again.
derivative(attention_forward, lambda *arrays, **options: attention_rule(*arrays, **options))
keep_freed_memory()  # reuse the memory of the (T, T) arrays of the last step, as in lesson 10

# %% checks="rule"
check("rule")

# %% [markdown]
# Is it right, and is it worth it? Finite differences answer the first question. For the second,
# count the (T, T) arrays that the graph holds until the backward pass: the inputs of every
# operation, masks too, and what is in `saved`. For `composed` it depends on your code.

# %% tags=["demonstration"]
from tinytorch.core.autograd import numerical_gradient_check, topological_order

def fused(qkv):
    return apply(attention_forward, qkv, heads=4, causal=True, saved={})


def composed(qkv):
    q, k, v = (split_heads(qkv[..., i * 64:(i + 1) * 64], 4) for i in range(3))
    return merge_heads(scaled_dot_product_attention(q, k, v, is_causal=True))


def square_arrays(out):
    creators = [node.creator for node in topological_order(out)]
    kept = [a for c in creators for a in [*c.arrays, *c.options.get("saved", {}).values()]]
    return {id(a): a for a in kept if np.shape(a)[-2:] == (64, 64)}.values()


print("gradient check:", numerical_gradient_check(
    lambda x: apply(attention_forward, x, heads=2, causal=True, saved={}),
    [rng.normal(size=(1, 3, 12))]))
x = Variable(rng.normal(size=(8, 64, 192)).astype(np.float32))
for f in (composed, fused):
    out, arrays = f(x), square_arrays(f(x))
    print(f"{f.__name__:8} operations: {len(topological_order(out)):2}, (T, T) arrays: "
          f"{len(arrays)}, {sum(a.nbytes for a in arrays) / 1e6:.1f} MB")
print("largest difference:", abs(composed(x) - fused(x)).max().item())

# %% [markdown]
# ## Multi-head attention as a layer
#
# The layer is short now: a `Dense` layer for q, k and v, attention in each head, and a second
# `Dense` layer that mixes the heads. `forward` uses the fused operation where it can. Your part
# is the general case: an extra mask, dropout on weights, or rotated queries and keys. The given
# `combined_mask` combines the extra mask with the causal one.
#
# **Task.** Write the rest of `forward`, and `project`. The columns of `qkv` are all of q, then
# all of k, then all of v, as `head_views` takes them. `project` is a method of its own because
# a model that writes (lesson 16) needs the keys and values of new tokens alone, at positions
# that do not begin at 0. When `positions` is None, they are 0, 1, ..., T - 1.

# %% exercise="multi-head"
#| export
class MultiHeadAttention(Module):
    """Multi-head self-attention: every position looks at the positions of its own sequence.

    embed_dim  int: D, the width of the input and of the output
    num_heads  int that divides embed_dim
    dropout    the probability of dropping an attention weight, in training mode
    bias       whether the two layers have biases
    causal     True: a position looks at itself and the positions before it only
    rotary     True: queries and keys are rotated by `rope`; embed_dim / num_heads must be even
    rng        a NumPy Generator, a seed, or None for the generator of lesson 03

    forward takes x of shape (B, T, D), and attn_mask, None or a mask as in `masked_softmax`
    that broadcasts to (B, heads, T, T); with causal=True both masks hold. It returns a Tensor
    of shape (B, T, D).

    .qkv       Dense(D, 3D): its columns are those of q, then of k, then of v, heads inside each
    .out       Dense(D, D), applied to the merged heads

    >>> MultiHeadAttention(8, 2)(Tensor(np.ones((4, 3, 8), "float32"))).shape
    (4, 3, 8)

    Source: Vaswani et al. (2017), section 3.2.2; torch.nn.MultiheadAttention, batch first.
    """

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, causal=False, rotary=False,
                 rng=None):
        check_heads(embed_dim, num_heads, rotary)
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.causal, self.rotary, rng = causal, rotary, generator(rng)
        self.qkv = Dense(embed_dim, 3 * embed_dim, bias, rng=rng)
        self.out = Dense(embed_dim, embed_dim, bias, rng=rng)

    def combined_mask(self, length, attn_mask=None):
        """`attn_mask` and, with causal=True, the causal mask in one; None if there is none."""
        if not self.causal or attn_mask is None:
            return causal_mask(length, length) if self.causal else attn_mask
        hidden = False if operand(attn_mask).dtype == bool else -np.inf
        return where(causal_mask(length, length), attn_mask, hidden)

    def forward(self, x, attn_mask=None):
        dropout_p = self.dropout if self.training else 0.0
        if attn_mask is None and not self.rotary and not dropout_p:
            heads = apply(attention_forward, self.qkv(x), heads=self.num_heads,
                          causal=self.causal, saved={})
            return self.out(heads)
        ### BEGIN SOLUTION
        mask = self.combined_mask(x.shape[1], attn_mask)
        heads = scaled_dot_product_attention(*self.project(x), mask, dropout_p)
        return self.out(merge_heads(heads))
        ### END SOLUTION

    def project(self, x, positions=None):
        """The queries, keys and values of all heads.

        x          Tensor of shape (B, T, D)
        positions  int array of shape (T,), for `rope`; None for 0, 1, ..., T - 1
        returns    q, k, v, Tensors of shape (B, heads, T, D / heads); q and k rotated if
                   self.rotary
        """
        ### BEGIN SOLUTION
        q, k, v = head_views(self.qkv(x), self.num_heads)
        if self.rotary:
            positions = np.arange(x.shape[1]) if positions is None else positions
            q, k = rope(q, positions), rope(k, positions)
        return q, k, v
        ### END SOLUTION

    def attention_weights(self, x, attn_mask=None):
        """The attention weights for `x`, an ndarray of shape (B, heads, T, T)."""
        (q, k, _), mask = self.project(x), self.combined_mask(x.shape[1], attn_mask)
        return masked_softmax(attention_scores(q, k), mask).data

    def __repr__(self):
        options = f", dropout={self.dropout}" * bool(self.dropout)
        options += ", bias=False" * (self.qkv.bias is None)
        options += ", causal=True" * self.causal + ", rotary=True" * self.rotary
        return f"MultiHeadAttention({self.embed_dim}, {self.num_heads}{options})"

# %% checks="multi-head"
check("multi-head")

# %% tags=["demonstration"]
layer = MultiHeadAttention(32, num_heads=4, causal=True, rng=0)
x = Tensor(rng.normal(size=(2, 6, 32)).astype(np.float32))
print(layer, sum(p.size for p in layer.parameters()), "parameters,", layer(x).shape)
print(layer.attention_weights(x)[0, 0].round(2))

# %% [markdown]
# ## Padding masks
#
# Sequences in a batch are filled up to one length. A **padding mask** hides the keys that only
# fill a short sequence. Each sequence has its own mask, which all its heads share: shape
# (B, 1, 1, keys) broadcasts against (B, heads, Tq, keys).
#
# **Task.** Write `padding_mask`.

# %% exercise="padding"
#| export
def padding_mask(lengths, keys):
    """Which keys belong to each sequence of a padded batch.

    lengths  ints, B of them: the length of each sequence
    keys     int: the length that all are padded to
    returns  bool ndarray of shape (B, 1, 1, keys), which broadcasts to (B, heads, Tq, keys):
             True for the first lengths[b] keys of sequence b

    >>> padding_mask([3, 1], 4)[:, 0, 0]
    array([[ True,  True,  True, False],
           [ True, False, False, False]])
    """
    ### BEGIN SOLUTION
    return np.arange(keys) < np.asarray(lengths)[:, None, None, None]
    ### END SOLUTION

# %% checks="padding"
check("padding")

# %% [markdown]
# The result of a short sequence must not depend on what it is padded with. The layer here is
# not causal: every position sees all others.

# %% tags=["demonstration"]
open_layer = MultiHeadAttention(32, num_heads=4, rng=0)
other = x.numpy()
other[1, 4:] = 1000  # sequence 1 has four positions, the other two are padding
for name, mask in [("without a mask", None), ("with padding_mask", padding_mask([6, 4], 6))]:
    difference = abs(open_layer(Tensor(other), mask) - open_layer(x, mask)).data[1, :4]
    print(f"{name}: the four positions differ by up to {difference.max():.3g}")

# %% [markdown]
# ## Training attention
#
# Now the network of the first picture: embedding, positions, one attention layer, and a `Dense`
# layer for the logits. Beside it, the same without positions, and the recurrent model, all with
# the same steps and rate. Predict the share of right letters without positions; guessing gives
# 10 %. The cell takes a few seconds.

# %% tags=["answer", "explained"]
from tinytorch.core.embeddings import Embedding, RecurrentModel
from tinytorch.core.layers import Sequential, manual_seed
from tinytorch.core.optimizers import Adam
from tinytorch.pictures.attention import LETTERS, accuracy, repeated, train
from tinytorch.pictures.drawing import plot_lines

def attention_model(positions=True):
    parts = [Embedding(10, 32), LearnedPositions(23, 32)][:1 + positions]
    return Sequential(*parts, MultiHeadAttention(32, 2, causal=True), Dense(32, 10))


def recurrent_model():
    return Sequential(RecurrentModel(10, 32, 64), lambda output: output[0])  # not the state


losses = {}
for name, build in [("recurrent", recurrent_model),
                    ("no positions", lambda: attention_model(positions=False)),
                    ("attention", attention_model)]:
    manual_seed(0)
    model = build()
    losses[name] = train(model, Adam(model.parameters(), 0.005), 400)
    print(f"{name:12} {sum(p.size for p in model.parameters())} parameters: "
          f"{accuracy(model):4.0%} right")
figure = plot_lines(losses, "step", "loss in nats per letter")
# alt: The loss of three models over 400 steps. All begin near 2.5. That of attention falls to
# 0 between steps 120 and 200; that of the recurrent model falls slowly to 1.6; without
# positions the loss stays near 2.1.

# %% [markdown]
# Without positions, a causal layer knows which letters occurred and in which shares, but not
# where. The recurrent model gets better with more steps, slowly: it has to keep twelve letters
# in 64 numbers. Attention keeps all and only learns where to look. Its price: T times T scores.
#
# What has it learned? Give it a second half that has *nothing* to do with the first one.
# Predict what becomes of the weight at eleven back.

# %% tags=["answer", "explained"]
repeat = repeated(np.random.default_rng(1), 200)[0]
unrelated = repeat.copy()
unrelated[:, 12:] = np.random.default_rng(2).integers(0, 10, (200, 11))
rows = np.arange(11, 23)
for name, ids in [("repeated", repeat), ("unrelated", unrelated)]:
    weights = model[2].attention_weights(model[:2](ids))  # (200, 2 heads, 23, 23)
    print(f"{name:9} weight at eleven back: {weights[:, :, rows, rows - 11].mean():.2f}")
text = "".join(LETTERS[i] for i in repeat[0])
figure = draw_map(model[2].attention_weights(model[:2](repeat))[0, 0, 11:],
                  [f"{a} → {b}" for a, b in zip(text[11:], text)], text, "head 0 of your layer")
# alt: Attention weights of the first head after training: a row for each of twelve predictions,
# columns for all letters, with a diagonal of dark cells in the left half.

# %% [markdown]
# Almost the same: the letters do not matter. It has learned the distance, from the positions.
# "The letter behind the earlier e" at any distance takes two layers: the first writes into each
# position's vector which letter stands before it, the second looks for "before me stood e".

# %% [markdown]
# ## Attention in chunks
#
# This section is hard, and nothing later needs it. A text of 100,000 tokens would need ten
# billion weights per head. But the result of a query is only a sum over keys, and a sum can be
# computed in parts. The softmax stands in the way: it needs the maximum and sum of the row.
#
# An **online softmax** computes a softmax in one pass over blocks, with a running maximum $m$
# and a running sum. When a new block raises the maximum from $m$ to $m'$, all that was summed
# so far, the sum and the weighted values, is multiplied by $\exp(m - m')$. With 1 and 2
# as the scores of one block and 4 in the next, the sum is first $e^{-1} + 1$ and then
# $(e^{-1} + 1)\, e^{-2} + 1$. Begin $m$ at the lowest finite number, since $-\infty - -\infty$
# is nan, and divide once, at the end. The result is exact, and no array is larger than Tq times
# the size of a block. FlashAttention does this in the fast memory of a GPU.
#
# **Task.** Write `chunked_attention` on arrays.

# %% exercise="chunked"
#| export
def chunked_attention(q, k, v, block, is_causal=False):
    """Scaled dot-product attention, computed over blocks of keys, without a (Tq, Tk) array, of
    scores or of a mask.

    q          Tensor or array of floats, of shape (..., Tq, d)
    k, v       of shapes (..., Tk, d) and (..., Tk, e)
    block      int, 1 or more: the keys of one block; the last block may be shorter
    is_causal  True: mask as causal_mask(Tq, Tk) does, a block at a time
    returns    Tensor of shape (..., Tq, e) and the dtype of `q`, up to rounding equal to
               scaled_dot_product_attention, if causal with attn_mask=causal_mask(Tq, Tk); Tq
               may exceed Tk, a query with nothing to see gives 0; nothing is recorded

    >>> x = Tensor([[0.0], [0.0], [0.0]])
    >>> chunked_attention(x, x, Tensor([[1.0], [2.0], [6.0]]), 2)
    Tensor([[3.],
            [3.],
            [3.]])

    Source: Milakov, Gimelshein, Online normalizer calculation for softmax (2018), algorithm 3;
    Dao et al., FlashAttention (2022), section 3.1.
    """
    q, k, v = map(operand, (q, k, v))
    Tq, Tk = q.shape[-2], k.shape[-2]
    ### BEGIN SOLUTION
    q = q / math.sqrt(q.shape[-1])
    highest = np.full_like(q[..., :1], np.finfo(q.dtype).min)
    total, out = np.zeros_like(highest), 0
    for start in range(0, Tk, block):
        keys = np.arange(start, min(start + block, Tk))
        scores = q @ k[..., keys, :].swapaxes(-1, -2)
        if is_causal:
            scores[..., keys > np.arange(Tk - Tq, Tk)[:, None]] = -np.inf
        before, highest = highest, np.maximum(highest, scores.max(-1, keepdims=True))
        shrink, powers = np.exp(before - highest), np.exp(scores - highest)
        total = total * shrink + powers.sum(-1, keepdims=True)
        out = out * shrink + powers @ v[..., keys, :]
    return Tensor(out / np.where(total == 0, 1, total))
    ### END SOLUTION

# %% checks="chunked"
check("chunked")

# %% [markdown]
# The memory of both, measured. Predict the ratio of two neighbouring points on each curve.

# %% tags=["answer"]
from tinytorch.pictures.autograd import kilobytes_at_peak

lengths = [128, 256, 512, 1024, 2048]
inputs = [Tensor(rng.normal(size=(T, 16)).astype(np.float32)) for T in lengths]
methods = {"plain": lambda x: scaled_dot_product_attention(x, x, x),
           "chunks of 64": lambda x: chunked_attention(x, x, x, 64)}
curves = {}
for name, method in methods.items():
    method(inputs[0])  # what is allocated once, in the first call, is not counted
    megabytes = [kilobytes_at_peak(lambda: method(x)) / 1000 for x in inputs]
    curves[name] = lengths, megabytes
    print(f"{name}: {megabytes[-1]:.1f} MB for T = 2048, "
          f"{megabytes[-1] / megabytes[-2]:.1f} times as much as for T = 1024")
figure = plot_lines(curves, "positions T", "peak memory in MB", xscale="log", yscale="log")
ticks = figure.axes[0].set_xticks(lengths, lengths, minor=False)
figure.axes[0].minorticks_off()
# alt: Peak memory over T, both axes logarithmic. The plain method rises by a factor of four
# with each doubling of T, the method in chunks by a factor of two.

# %% [markdown]
# ## Look back
#
# 1. Train the model of "Training attention" with `lambda x: x + sinusoidal(x.shape[1], 32)`
#    instead of learned positions, and with `rotary=True` and no positions. All three can solve
#    it. With `HALF = 16` in `tinytorch.pictures.attention`: which run, with which `accuracy`?
# 2. Remove the row term from `softmax_rule` and train again. Which accuracy do you get, and
#    what do you conclude about testing a gradient by training?
# 3. How many multiplications does `attention_forward` need for (B, T, D), and how many do `qkv`
#    and `out` need? From which T on does attention cost more than these two layers?
#
# PyTorch: `torch.nn.functional.scaled_dot_product_attention` has the same arguments and picks a
# fused kernel. `torch.nn.MultiheadAttention(..., batch_first=True)` also takes queries from
# another sequence (*cross-attention*); its boolean masks mark what is *hidden*.
