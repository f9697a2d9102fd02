# %% [markdown]
# # 14. Attention
#
# A small network reads twelve random letters, and then the same twelve again. It has to predict
# each letter of the second half. The picture shows where it looks. Each row is one prediction:
# "i → e" means that the network has just read i and should predict e. Each column is a letter
# of the sequence. The darker a cell, the more that letter contributes to the prediction.

# %% tags=["payoff"]
from tinytorch.pictures.attention import (LEARNED, draw_lookup, draw_map, draw_masks,
                                          draw_positions, draw_rotation, draw_split)

letters, learned_weights = LEARNED
predictions = [f"{a} → {b}" for a, b in zip(letters[11:], letters[:12])]
figure = draw_map(learned_weights, predictions, letters, "", ("letter", "prediction"))
# caption: In every row the network looks at the place where the answer is.
# alt: Attention weights: twelve rows, one for each prediction, and 23 columns, one for each
# letter. In every row one dark cell lies eleven positions before the letter that was read, so
# the dark cells form a diagonal in the left half. All other cells are almost white.

# %% [markdown]
# The network found out by itself where to look. The letter that comes next was read once
# before, twelve positions earlier, which is eleven positions back from the letter just read.
# (The last of the 24 letters is only predicted, so there are 23 columns.) After 200 training
# steps, all twelve predictions are right. The recurrent model of lesson 13, however, must carry
# all letters in one hidden state. Although it has more parameters, it predicts fewer than half
# of the letters after 400 steps, and at most about 80 % after 1,600.
#
# **Attention** is an operation in which each position of a sequence collects information from
# all positions. It compares its own vector with the vector of every position, its own included,
# turns the results into weights that sum to 1, and takes the weighted mean of the vectors. A
# vector can encode which letter is at a position, or the position itself. The network of the
# picture has learned to compare positions. Attention is the core of the transformer, the next
# lesson.
#
# **You need** 03 (Activations), 04 (Layers), 06 (Autograd) and 13 (Embeddings). **You build**
# scaled dot-product attention with its masks, ways to mark positions, multi-head attention as
# one operation with its own gradient, and attention in chunks.

# %%
#| default_exp core.attention
#| export
import math

import numpy as np

from tinytorch.core.activations import softmax
from tinytorch.core.autograd import derivative
from tinytorch.core.layers import Dense, Module, generator
from tinytorch.core.losses import as_float_tensor
from tinytorch.core.tensor import (Tensor, Variable, apply, concatenate, operand,  # noqa: F401
                                   stack, where, wrap)
from tinytorch.nn.additions import dropout
from tinytorch.support.arguments import (check_causal, check_heads, check_positions,
                                         check_query_key_value)
from tinytorch.support.arrays import keep_freed_memory
from tinytorch.support.forward import MOST_WEIGHTS, attention_blocks

# %% [markdown] page="From queries to weighted values"
# ## Queries, keys and values
#
# We begin with the idea behind attention, a lookup. A Python dictionary finds the one key that
# is equal to the one you ask for, and returns its value. Attention is a softer lookup: it
# returns a mixture of all values. A **query** is a vector that says what a position is looking
# for. A **key** is a vector that says what a position has to offer. The dot product of a query
# and a key measures how well they fit. A **value** is the vector that a position contributes
# when its key fits. In the example below, the keys are three directions, and the query points
# to the north-east.

# %%
keys, values = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), np.array([10, 20, 40])
scores = keys @ [2.0, 1.5]
exponentials = np.exp(scores)
weights = exponentials / exponentials.sum()
draw_lookup(["east", "north", "west"], scores, weights, values)
# alt: A table with three keys. East has the score 2, the weight 62 % and the value 10; north
# 1.5, 37 % and 20; west -2, 1 % and 40. The answer, 14.1, is below a line.

# %% [markdown]
# No key equals the query, so the answer is a mixture of the values. An **attention weight** is
# the share of one value in that mixture. The weights of a query are the softmax of its scores,
# so they are positive and sum to 1. All of this is differentiable, so queries, keys and values
# can be learned.
#
# ## The scale of the scores
#
# Each score is a dot product, and we need to know how large it is. Take two vectors of `d`
# independent standard normal numbers. Their dot product is a sum of `d` products. Predict its
# standard deviation for `d` = 4 and for `d` = 256.

# %% tags=["answer", "explained"]
rng = np.random.default_rng(0)
for d in (4, 16, 64, 256):
    a, b = rng.normal(size=(2, 10_000, d))
    print(f"d = {d:3}: standard deviation {(a * b).sum(axis=1).std():5.2f}")

# %% [markdown]
# It is $\sqrt d$: each product has variance 1, and the variances of independent numbers add.
#
# Large scores saturate the softmax: one weight is almost 1, and the gradients of all scores
# almost vanish. We therefore divide the scores by this standard deviation (`scale` below), so
# that they have standard deviation 1 at any width.
#
# **Task.** Write `attention_scores`. One matrix product computes the scores of all queries and
# keys.

# %% Scaled scores exercise="scores"
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
# ## Causal masks
#
# A language model predicts the next token from the tokens before it. Because it computes all
# positions of a text at once in training, every position could simply look at the token that it
# should predict, unless that is forbidden. A **causal mask** allows a position to look at
# itself and at the positions before it, but not at later ones.
#
# Because a model that generates text adds one or a few tokens at a time, it has few new
# queries, but the keys of the whole text. The new queries are the *last* positions, so the mask
# is aligned at the end: with 2 queries and 5 keys, query 0 is position 3, and query 1 is
# position 4.

# %%
draw_masks({"4 queries, 4 keys": [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]],
            "2 queries, 5 keys": [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]],
            "aligned at the start: wrong": [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]]})
# alt: Three masks. With 4 queries and 4 keys, query 0 sees key 0, query 3 all four keys. With 2
# queries and 5 keys, query 0 sees keys 0 to 3, and query 1 all five. The third, in red, is
# aligned at the start: query 1 sees only keys 0 and 1.

# %% [markdown]
# **Task.** Write `causal_mask`. True means that the query may look at the key.

# %% The causal mask exercise="causal-mask"
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
# Where in the computation does the mask belong? We call a key *hidden* when the mask forbids
# the query to look at it. If we set the weights of hidden keys to 0 *after* the softmax, the
# rows no longer sum to 1. If we multiply their scores by 0, they still get a share, because
# exp(0) = 1. Instead, we set their scores to $-\infty$ *before* the softmax. Since
# $\exp(-\infty) = 0$, hidden keys get weight 0, and the softmax divides by the sum of the
# remaining exponentials.
#
# A mask of floats is *added* to the scores: 0 leaves a score as it is, $-\infty$ hides the key,
# and a negative number reduces its weight. Such a mask can be learned.
#
# One case remains: a row in which every key is hidden. All its scores are $-\infty$, and its
# softmax is 0 / 0. This happens when a short text is *padded* (filled up to the length of
# longer ones) at its *front*. Its first positions are then padding, and because with the causal
# mask they can look only at padding, which is hidden, they have no key left. A single `nan`
# would spread to the loss and to every parameter. We therefore set the weights of such a row to
# 0, and a query that sees nothing gets the result 0.
#
# **Task.** Write `masked_softmax`. You may use `softmax` of lesson 03. A mask may be an array
# or a Tensor; for both, `operand(mask).dtype` gives its dtype.

# %% Softmax with a mask exercise="masked-softmax"
#| export
def masked_softmax(scores, mask=None):
    """Softmax along the last axis, over the keys that the mask allows.

    scores   Tensor of shape (..., Tq, Tk); may contain inf and nan where the mask is False
    mask     None, or an array or Tensor that broadcasts to the shape of `scores`. A bool mask
             is True where a query may look. A mask of floats is added to the scores; a Variable
             gets a gradient
    returns  Tensor of the same shape: weights >= 0, exactly 0 where the mask is False. Each row
             sums to 1. A row in which the mask hides every key (all False or all -inf) is 0,
             and its gradient is 0

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

# %% [markdown]
# ## Scaled dot-product attention
#
# **Scaled dot-product attention** puts the pieces together. There are Tq queries and Tk keys,
# each key with its value. Each query's dot product with each key is divided by $\sqrt d$, the
# mask $M$ is added, and the softmax of each row gives the weights. The result for a query is
# the weighted mean of the values:
#
# $$\mathrm{attention}(Q, K, V) = \mathrm{softmax}\left(\frac{QK^T}{\sqrt d} + M\right) V$$
#
# Here $Q$ has shape (Tq, d), $K$ (Tk, d), $V$ (Tk, e) and $M$ (Tq, Tk). A bool mask becomes an
# $M$ that is 0 where a query may look, and $-\infty$ where it may not. Row $i$ of the result,
# of shape (Tq, e), belongs to query $i$. Batch axes may precede all of these shapes. *Dropout*
# (lesson 04) is applied to the weights: `dropout(weights, p)`.
#
# **Task.** Write `scaled_dot_product_attention` with `attention_scores`, `causal_mask` and
# `masked_softmax`. The lines that check the arguments and raise the ValueErrors are given.

# %% Scaled dot-product attention exercise="attention"
#| export
def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0,
                                 is_causal=False, scale=None):
    """For each query, the mean of the values, weighted by how well the query fits their keys.

    query      Tensor of shape (..., Tq, d)
    key        Tensor of shape (..., Tk, d)
    value      Tensor of shape (..., Tk, e)
    attn_mask  None or a mask as `masked_softmax` takes it
    dropout_p  the probability with which each weight is dropped, as in `dropout`; 0 for none
    is_causal  True: use the mask causal_mask(Tq, Tk)
    scale      the factor of the scores; None for 1 / sqrt(d)
    returns    Tensor of shape (..., Tq, e)

    ValueError when is_causal=True is combined with attn_mask. ValueError when is_causal=True
    and Tq is not Tk; this second message contains "causal_mask".

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

# %% [markdown] page="Training and positions"
# ## Training attention
#
# These functions consist of Tensor operations, so `backward` already works, and attention can
# be trained. In **self-attention**, one sequence provides queries, keys and values: three
# `Dense` layers compute them from the vector of each position. The network of the first picture
# has one such layer. Because a letter's embedding does not say at which position the letter is,
# the network learns a second table, with a vector for each of the 23 positions, and adds it.

# %%
class SelfAttention(Module):
    def __init__(self, width):
        self.query, self.key, self.value = (Dense(width, width) for _ in range(3))

    def forward(self, x):
        return scaled_dot_product_attention(self.query(x), self.key(x), self.value(x),
                                            is_causal=True)

    def attention_weights(self, x):
        mask = causal_mask(x.shape[1], x.shape[1])
        return masked_softmax(attention_scores(self.query(x), self.key(x)), mask).data

# %%
from tinytorch.core.embeddings import Embedding

class LetterModel(Module):
    def __init__(self, layer, positions=True):
        self.letters, self.layer, self.output = Embedding(10, 32), layer, Dense(32, 10)
        self.positions = Embedding(23, 32) if positions else None

    def vectors(self, ids):
        x = self.letters(ids)
        return x + self.positions.weight[:ids.shape[1]] if self.positions else x

    def forward(self, ids):
        return self.output(self.layer(self.vectors(ids)))

# %% [markdown]
# Train this network. For comparison, train the same network without position vectors, and the
# recurrent model, all with the same number of steps and the same learning rate. The letters are
# drawn from ten, so guessing gives 10 %. Predict the share of letters that the network predicts
# correctly without positions. The cell takes a few seconds.

# %% tags=["answer", "explained", "payoff"]
from tinytorch.core.embeddings import RecurrentModel
from tinytorch.core.layers import Sequential, manual_seed
from tinytorch.core.optimizers import Adam
from tinytorch.pictures.attention import LETTERS, accuracy, repeated, train
from tinytorch.pictures.drawing import plot_lines

losses = {}
for name, build in [("recurrent", lambda: Sequential(RecurrentModel(10, 32, 64),
                                                     lambda output: output[0])),
                    ("no positions", lambda: LetterModel(SelfAttention(32), positions=False)),
                    ("attention", lambda: LetterModel(SelfAttention(32)))]:
    manual_seed(0)
    model = build()
    losses[name] = train(model, Adam(model.parameters(), 0.005), 200)
    print(f"{name:12} {sum(p.size for p in model.parameters())} parameters: "
          f"{accuracy(model):4.0%} right")
figure = plot_lines(losses, "step", "loss in nats per letter")
# alt: The loss of three models over 200 steps. All begin near 2.5. With attention, it falls to
# 0 within 60 steps; with the recurrent model and without positions, it stays above 2.

# %% [markdown]
# Without positions, a causal layer knows which letters occurred and how often, but not where.
#
# What has the model learned? Give the attention model a second half that has
# *nothing* to do with the first half of the letters. Predict what happens to the attention
# weight eleven positions back.

# %% tags=["answer", "explained", "payoff"]
repeat = repeated(np.random.default_rng(1), 200)[0]
unrelated = repeat.copy()
unrelated[:, 12:] = np.random.default_rng(2).integers(0, 10, (200, 11))
rows = np.arange(11, 23)
for name, ids in [("repeated", repeat), ("unrelated", unrelated)]:
    weights = model.layer.attention_weights(model.vectors(ids))  # (200, 23, 23)
    print(f"{name:9} weight eleven positions back: {weights[:, rows, rows - 11].mean():.2f}")
text = "".join(LETTERS[i] for i in repeat[0])
figure = draw_map(model.layer.attention_weights(model.vectors(repeat))[0, 11:],
                  [f"{a} → {b}" for a, b in zip(text[11:], text)], text, "the trained layer")
# alt: Attention weights of the trained layer: a row for each of twelve predictions, columns for
# all letters, with a diagonal of dark cells in the left half.

# %% [markdown]
# The weight hardly changes, so the letters do not matter. The model has learned the distance,
# from the positions. To find "the letter after the earlier e" at *any* distance, a model needs
# two layers; the section "Induction heads" trains one.
#
# ## Attention by hand
#
# What else can one attention layer compute? Choose queries, keys and values by hand:
#
# - `hard_lookup`: with a large scale, the softmax is as strict as a dictionary and copies one
#   value.
# - `running_mean`: when all scores are equal, the result is the mean of the values.
# - `running_counts`: the mean of one-hot vectors is the share of each token. Multiplied by the
#   number of positions, it is the count of each token.
#
# **Task.** Write the three functions without a loop. Use `scaled_dot_product_attention` in
# `hard_lookup` and `running_mean`, and `running_mean` in `running_counts`. For `hard_lookup`,
# choose a scale so large that exp(-0.1 scale) vanishes.

# %% A lookup by hand exercise="by-hand"
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
# Here are two more examples, on a sentence. In the first, the query and the key of a position
# are both the one-hot vector of its word, so each word looks at the earlier occurrences of the
# same word. In the second, the key is the one-hot vector of the position, and the query is the
# one-hot vector of the *previous* position, so each word looks at the word before it.

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
# In the lookup by hand, the vectors encoded positions. The words alone do not contain that
# information. **Permutation equivariance** is the property that permuting the inputs permutes
# the outputs in the same way and changes nothing else. Attention without a mask has this
# property, so it cannot tell "dog bites man" from "man bites dog".
#
# A **positional encoding** is a vector that depends on the position alone and is added to the
# input at that position. The position number $t$ itself would not work: it soon becomes larger
# than everything it is added to. The first transformer used sines and cosines, which stay
# between -1 and 1. For an input of width $D$ it used $D / 2$ frequencies $f_0, f_1, \dots$,
# from fast to slow, like the hands of a clock:
#
# $$p_{t,\,2i} = \sin(t f_i), \qquad p_{t,\,2i+1} = \cos(t f_i), \qquad
# f_i = 10000^{-2i/D}$$
#
# Adding the encoding destroys little information: a vector of $D$ numbers has enough directions
# for the token and for its position, and the layers that follow learn to separate the two.
#
# **Task.** Write `sinusoidal`. For an odd width, the last frequency has a sine and no cosine.

# %% Sinusoidal positions exercise="sinusoidal"
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
# In the picture, blue is 1, white 0 and red -1. The left columns change from each position to
# the next. The middle columns show roughly where in the text a position is. The last columns
# matter only in longer texts.

# %%
figure = draw_positions(sinusoidal(64, 32))
# alt: A picture of 64 positions, one below the other, and 32 numbers. In the left columns red
# and blue alternate within a few positions; further right the bands become longer. The columns
# from 20 on hardly change: the sines stay near 0, white, and the cosines near 1, blue.

# %% [markdown]
# GPT-2 learns these vectors, as the network of the first picture does. They form a table with
# one row per position, and there is no row for a position beyond the context.
#
# **Task.** Write the last line of `forward` of `LearnedPositions`. Index the Variable itself,
# because rows taken from `.data` would not be recorded.

# %% Learned positions exercise="learned"
#| export
class LearnedPositions(Module):
    """Adds a learned vector to each position of a sequence.

    context    int: the longest sequence
    embed_dim  int: D
    rng        a NumPy Generator, a seed, or None for the generator of lesson 04

    forward takes x of shape (B, T, D) and returns x plus the first T rows of the weight.
    ValueError when T is larger than the context; the message contains both.

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
        T, context = x.shape[-2], len(self.weight)
        if T > context:
            raise ValueError(f"{T} positions, and there are vectors for {context} only")
        ### BEGIN SOLUTION
        return x + self.weight[:T]
        ### END SOLUTION

    def __repr__(self):
        return f"LearnedPositions({', '.join(map(str, self.weight.shape))})"

# %% checks="learned"
check("learned")

# %% [markdown]
# ## Rotary position embeddings
#
# Often the distance between two tokens matters more than their positions. A **rotary position
# embedding** (RoPE) rotates queries and keys by angles that grow with their positions. Because
# rotating two vectors by the same angle does not change their dot product, moving both by ten
# positions does not change their score: it depends only on the two vectors and on the
# *difference* of their positions.

# %%
draw_rotation([1.0, 0.3], [0.8, 0.6], 0.5, [(3, 1), (7, 5)])
# alt: Two circles, each with an arrow q and an arrow k. Left, q is rotated to position 3 and k
# to position 1; right, both are rotated further, to 7 and 5. The angle between the arrows is
# the same, and so is the dot product below each circle, 0.83.

# %% [markdown]
# With RoPE, nothing is added to the input, and values are not rotated. Most recent language
# models use it.
#
# Two numbers are a point in a plane. Rotating it by the angle $\theta$ turns $(a, b)$ into
#
# $$(a \cos\theta - b \sin\theta,\; a \sin\theta + b \cos\theta)$$
#
# RoPE rotates pairs of neighbouring numbers, $(x_0, x_1), (x_2, x_3), \dots$. Each pair has its
# own speed, as in the sinusoidal encoding.
#
# **Task.** Write `rope`, with Tensor operations.

# %% Rotary positions exercise="rope"
#| export
def rope(x, positions, base=10000.0):
    """Rotary position embedding: rotate each pair of numbers by an angle that grows with the
    position.

    x          Tensor of shape (..., T, d), d even: queries or keys
    positions  int array of shape (T,): the position of each row
    base       float that sets the speeds: at position p, the pair (x[2i], x[2i + 1]) is rotated
               by p * base ** (-2 i / d) radians, from its first axis toward the second
    returns    Tensor of the shape and dtype of `x`

    ValueError when d is odd; the message contains d.

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

# %% [markdown] page="Several heads"
# ## Heads
#
# One row of attention weights can answer only one question. **Multi-head attention** runs
# several attentions side by side, called heads. Each head works on its own part of the numbers
# of every position. With D = 128 and 4 heads, each head has 32 of the 128 numbers, so four
# heads need no more multiplications than one (but four times as many attention weights).
#
# Divide the numbers *of each position* among the heads. An array of shape (T, D) could also be
# reshaped to (heads, T, D / heads) directly, but this is wrong: a reshape keeps the row-major
# order (lesson 02), so most numbers would be in the wrong head, or in the row of another
# position:

# %%
draw_split(3, 4, 2)
# alt: An array of 3 positions with 4 numbers each, 0 to 11. Right: head 0 has 0 1, 4 5, 8 9,
# and head 1 has 2 3, 6 7, 10 11. Reshaped to (2, 3, 2), 8 of the 12 numbers are red: head 0 has
# 0 1, 2 3, 4 5.

# %% [markdown]
# **Task.** Write `split_heads`, and `merge_heads`, its inverse. Do it on paper for two
# positions first, because a wrong reshape runs without an error.

# %% Splitting into heads exercise="heads"
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
# How much of a training step is attention? Measure forward and backward pass of the model that
# you have trained, and then of attention alone, for queries, keys and values of the same shape.
# The cell also counts arrays of shape (T, T): the scores, the weights and other results that
# the graph keeps for the backward pass. Their number depends on how the functions are written.

# %% tags=["demonstration"]
from tinytorch.pictures.attention import batch_loss, cost

q, k, v = (Variable(array) for array in rng.normal(size=(3, 32, 23, 32)).astype(np.float32))
print("a training step: ", cost(lambda: batch_loss(model), 23))
print("attention in it: ",
      cost(lambda: scaled_dot_product_attention(q, k, v, is_causal=True), 23))

# %% [markdown]
# Attention records almost half of the operations and keeps all the (T, T) arrays; its share of
# the time grows with T. A **fused operation** computes in one step what several operations
# could compute, and it has its own gradient rule. For attention, this rule needs a single
# (T, T) array for each head: the weights. The forward function saves them in the dict `saved`.
# The rule receives the same dict, which is freed together with the graph.
#
# **Task.** Write `weights_forward` and `attention_forward` with NumPy arrays. In-place
# operators (`*=`, `-=`, `/=`, `np.exp(x, out=x)`) save memory. `head_views` returns q, k and v
# as views.

# %% The forward pass of attention exercise="forward"
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
    saved    dict; the function stores the weights (B, heads, T, T) in saved["weights"]
    returns  ndarray of shape (B, T, D), of the dtype of `qkv`: q, k and v are split into heads,
             each head computes scaled dot-product attention, and the heads are merged

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
# As one operation, attention needs its own gradient rule. Let $P$ be the weights, $S$ the
# scaled scores and $G$ the upstream gradient. A bar means the gradient with respect to that
# array. The rules of the two matrix products (lesson 06) give:
#
# $$\bar V = P^T G, \qquad \bar P = G V^T, \qquad
# \bar Q = \frac{\bar S K}{\sqrt d}, \qquad \bar K = \frac{\bar S^T Q}{\sqrt d}$$
#
# The softmax leads from $\bar P$ to $\bar S$. Take one row, and differentiate
# $p_j = e^{s_j} / \sum_k e^{s_k}$. The score $s_j$ appears in the numerator of $p_j$ and in the
# sum, so $\partial p_j / \partial s_j = p_j (1 - p_j)$. In every other weight it appears only
# in the sum, so $\partial p_k / \partial s_j = -p_k p_j$. By the chain rule,
#
# $$\bar s_j = \sum_k \bar p_k \frac{\partial p_k}{\partial s_j}
# = p_j \left(\bar p_j - \sum_k \bar p_k p_k\right)$$
#
# We call $\sum_k \bar p_k p_k$ the *row term*. For example, with $p$ = (0.5, 0.25, 0.25) and
# $\bar p$ = (1, 0, 0) it is 0.5, and $\bar s$ = (0.25, -0.125, -0.125). Without the row term,
# the gradients would still look plausible, but there is a test: adding 1 to all scores of a row
# does not change its softmax, so each row of $\bar S$ must sum to 0.
#
# **Task.** Write `softmax_rule`, then the body of `attention_rule`. Fill `dq`, `dk` and `dv`
# with `[...] =`. They are views of `gradient`, so you need not concatenate them.

# %% The gradient of attention exercise="rule"
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
    gradient = np.full(qkv.shape, np.nan, qkv.dtype)  # a part left unwritten stays nan
    dq, dk, dv = head_views(gradient, heads)  # writing into these views fills `gradient`
    ### BEGIN SOLUTION
    dv[...] = weights.swapaxes(-1, -2) @ g
    scores = softmax_rule(g @ v.swapaxes(-1, -2), weights)
    scores *= 1 / math.sqrt(q.shape[-1])
    dq[...] = scores @ k
    dk[...] = scores.swapaxes(-1, -2) @ q
    ### END SOLUTION
    return gradient


# The lambda looks up `attention_rule` at each call: if you correct it and run its cell again,
# the corrected rule is used.
derivative(attention_forward, lambda *arrays, **options: attention_rule(*arrays, **options))
keep_freed_memory()  # reuse the memory of the (T, T) arrays of the last step, as in lesson 10

# %% checks="rule"
check("rule")

# %% [markdown]
# Check the gradient of the fused operation with finite differences. `composed` computes the
# same result with the separate functions. Predict how many times as long it takes.

# %% tags=["answer"]
from tinytorch.core.autograd import numerical_gradient_check

def fused(qkv):
    return apply(attention_forward, qkv, heads=2, causal=True, saved={})


def composed(qkv):
    q, k, v = (split_heads(qkv[..., i * 32:(i + 1) * 32], 2) for i in range(3))
    return merge_heads(scaled_dot_product_attention(q, k, v, is_causal=True))


qkv = Variable(rng.normal(size=(32, 23, 96)).astype(np.float32))
print("gradient check:", numerical_gradient_check(fused, [rng.normal(size=(1, 3, 12))]))
print("largest difference:", abs(composed(qkv) - fused(qkv)).max().item())
print("composed:", cost(lambda: composed(qkv), 23))
print("fused:   ", cost(lambda: fused(qkv), 23))

# %% [markdown]
# The weights of a long text are large: with 4 heads and 2,048 tokens, 67 MB in each layer. So
# for long texts, two given functions do the same for one block of queries after another, with
# `weights_forward` and `softmax_rule`. The backward pass computes the weights of each block
# again: that is faster than to move them from and to memory.

# %%
#| exporti
attention_blocks_forward, attention_blocks_rule = attention_blocks(
    head_views, lambda *given: weights_forward(*given), lambda *given: softmax_rule(*given))
derivative(attention_blocks_forward, attention_blocks_rule)


def fused_attention(qkv, heads, causal):
    """`attention_forward` as a Tensor operation; in blocks where there are many weights."""
    B, T, _ = qkv.shape
    if B * heads * T * T > MOST_WEIGHTS:  # 2^18: about 1 MB
        return apply(attention_blocks_forward, qkv, heads=heads, causal=causal)
    return apply(attention_forward, qkv, heads=heads, causal=causal, saved={})

# %% [markdown]
# ## Multi-head attention as a layer
#
# With these functions, the layer is short: a `Dense` layer for q, k and v, attention in each
# head, and a second `Dense` layer that mixes the heads. It computes attention with
# `scaled_dot_product_attention`, so this is the code that runs in your GPT. With `fused=True`
# it uses the fused operation where it can: then a training step of the GPT takes a tenth less
# time. The given `combined_mask` combines an extra mask with the causal one.
#
# **Task.** Write the rest of `forward`, and `project`. The columns of `qkv` are first all of q,
# then all of k, then all of v; `head_views` expects this order. `project` is a separate method
# because the text generator of lesson 16 calls it for new tokens only, and passes their
# positions. When `positions` is None, the positions are 0, 1, ..., T - 1.

# %% Multi-head attention exercise="multi-head"
#| export
class MultiHeadAttention(Module):
    """Multi-head self-attention: every position looks at the positions of the same sequence.

    embed_dim  int: D, the width of the input and of the output
    num_heads  int that divides embed_dim
    dropout    the probability of dropping an attention weight, in training mode
    bias       whether the two layers have biases
    causal     True: a position looks at itself and the positions before it only
    rotary     True: queries and keys are rotated by `rope`; embed_dim / num_heads must be even
    fused      True: the fused operation computes attention, unless there is an attn_mask,
               dropout or rotation; `fuse_attention` sets it in a whole model
    rng        a NumPy Generator, a seed, or None for the generator of lesson 04

    forward takes x of shape (B, T, D), and attn_mask, None or a mask as in `masked_softmax`
    that broadcasts to (B, heads, T, T). With causal=True, a position looks only where both
    masks allow it. forward returns a Tensor of shape (B, T, D).

    .qkv       Dense(D, 3D): the first D columns give q, the next D give k, the last D give v;
               in each of these blocks, the columns of head 0 come first
    .out       Dense(D, D), applied to the merged heads

    >>> MultiHeadAttention(8, 2)(Tensor(np.ones((4, 3, 8), "float32"))).shape
    (4, 3, 8)

    Source: Vaswani et al. (2017), section 3.2.2; torch.nn.MultiheadAttention, batch first.
    """

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, *, causal=False,
                 rotary=False, fused=False, rng=None):
        check_heads(embed_dim, num_heads, rotary)
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.causal, self.rotary, self.fused, rng = causal, rotary, fused, generator(rng)
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
        if self.fused and attn_mask is None and not self.rotary and not dropout_p:
            return self.out(fused_attention(self.qkv(x), self.num_heads, self.causal))
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
        options += ", fused=True" * self.fused
        return f"MultiHeadAttention({self.embed_dim}, {self.num_heads}{options})"


def fuse_attention(model, fused=True):
    """Let each MultiHeadAttention in a model use the fused operation, or not.

    >>> fuse_attention(MultiHeadAttention(8, 2))
    MultiHeadAttention(8, 2, fused=True)
    """
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.fused = fused
    return model

# %% checks="multi-head"
check("multi-head")

# %% [markdown]
# Train the network of the first picture again, now with two heads and one `Dense` layer more.
# Compare the two steps: how many operations are recorded, and how many (T, T) arrays are kept?

# %% tags=["demonstration"]
manual_seed(0)
two_heads = LetterModel(MultiHeadAttention(32, 2, causal=True, fused=True))
train(two_heads, Adam(two_heads.parameters(), 0.005), 200)
print(f"two heads: {accuracy(two_heads):.0%} right")
print("one head, many operations:", cost(lambda: batch_loss(model), 23))
print("two heads, fused:         ", cost(lambda: batch_loss(two_heads), 23))

# %% [markdown] page="What heads learn, padding and memory"
# ## Induction heads
#
# Can a network find repeated letters when their distance is different in each sequence? In the
# next task, 10 to 18 different letters are repeated until there are 36. A prediction is scored
# only if the letter just read is not new. The layers below do not replace the vector of a
# position but *add* to it, so that the second layer can read what the first one has found.
# `small_weights` gives letters, positions and the results of the layers similar sizes. Predict
# the loss with one layer and with two. Guessing one of 14 letters, the average number, costs ln
# 14 = 2.6 nats.

# %% tags=["answer"]
from tinytorch.pictures.attention import induction_score, small_weights, varied


class AddAttention(Module):
    def __init__(self):
        self.attention = MultiHeadAttention(32, 1, causal=True)

    def forward(self, x):
        return x + self.attention(x)


curves = {}
for name, layers in [("one layer", 1), ("two layers", 2)]:
    manual_seed(0)
    hidden = [AddAttention() for _ in range(layers)]
    network = small_weights(Sequential(Embedding(26, 32), LearnedPositions(35, 32), *hidden,
                                       Dense(32, 26)))
    curves[name] = train(network, Adam(network.parameters(), 0.01), 250, varied)
    print(f"{name}: loss {curves[name][-1]:.3f}, {accuracy(network, varied):.0%} right")
figure = plot_lines(curves, "step", "loss in nats per letter")
# alt: The loss over 250 steps. With one layer it falls slowly from 3.3 to 2.4. With two layers
# it falls suddenly, between steps 80 and 130, to almost 0.

# %% [markdown]
# An **induction head** looks at the position *after* an earlier occurrence of the letter just
# read, and predicts the letter there. The induction score is the mean weight on such positions.
# Measure it in the second layer, and look at both layers for a sequence with period 11.

# %%
for period in (17, 14, 11):
    ids = varied(np.random.default_rng(1), 100, period, period)[0]
    first, second = (network[n].attention.attention_weights(network[:n](ids)) for n in (2, 3))
    print(f"period {period}: induction score {induction_score(second, ids)[0]:.2f}")
text = "".join(LETTERS[i] for i in ids[0])
figure = draw_map(first[0, 0, :11, :11], text[:11], text[:11], "first layer, first copy")
# alt: Attention weights of the first layer for eleven letters: in each row, the darkest cell is
# one position back.

# %%
predictions = [f"{a} → {b}" for a, b in zip(text[11:22], text[12:])]
figure = draw_map(second[0, 0, 11:22, :22], predictions, text[:22], "second layer, second copy")
# alt: Attention weights of the second layer: eleven predictions, one for each letter of the
# second copy, and 22 columns. In each row, the dark cell is ten positions back.

# %% [markdown]
# The head works at each of these distances because of the first layer. In that layer, each
# position looks one back, as in "the previous word", and adds the letter before it to its own
# vector. In the second layer, the query of a position says "I have just read e", and
# the key that fits best says "the letter before me was e". One layer cannot do this: its keys
# are computed from one letter and one position, so they do not contain the letter before.
# Language models also have induction heads, and use them to continue patterns that occur only
# in their context (Olsson et al., In-context learning and induction heads, 2022).

# %% [markdown]
# ## Padding masks
#
# Because the sequences of a batch have different lengths in practice, they are filled up to the
# same length. A **padding mask** hides the keys that were only added to fill a short sequence.
# Each sequence has its own mask, which all its heads share: the shape (B, 1, 1, keys)
# broadcasts against (B, heads, Tq, keys).
#
# **Task.** Write `padding_mask`.

# %% The padding mask exercise="padding"
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
# ## Attention in chunks
#
# This section is optional and hard, and no later lesson needs it. A text of 100,000 tokens
# would need ten billion weights per head, although the result of a query is only a sum over
# keys, which can be computed in parts. The difficulty is the softmax, which needs the maximum
# and the sum of the whole row.
#
# An **online softmax** computes a softmax in one pass over blocks. It keeps a running maximum
# $m$, a running sum of the exponentials, and a running sum of the exponentials times the
# values. When a new block raises the maximum from $m$ to $m'$, multiply both sums by
# $\exp(m - m')$. For example, one block has the scores 1 and 2, and the next has 4:
#
# | block | $m$ | sum of the exponentials |
# | --- | --- | --- |
# | 1, 2 | 2 | $e^{1-2} + e^{2-2} = e^{-1} + 1$ |
# | 4 | 4 | $(e^{-1} + 1)\,e^{2-4} + e^{4-4} = (e^{-1} + 1)\,e^{-2} + 1$ |
#
# Begin $m$ at the lowest finite number, because $-\infty - -\infty$ is nan. Divide once, at the
# end. The result is exact, and no array is larger than Tq times the size of a block.
# FlashAttention does this in the fast memory of a GPU.
#
# **Task.** Write `chunked_attention` on arrays.

# %% Attention in chunks exercise="chunked"
#| export
def chunked_attention(q, k, v, block, is_causal=False):
    """Scaled dot-product attention, computed over blocks of keys: there is no (Tq, Tk) array of
    scores, and none for a mask.

    q          Tensor or array of floats, of shape (..., Tq, d)
    k, v       of shapes (..., Tk, d) and (..., Tk, e)
    block      int, 1 or more: the keys of one block; the last block may be shorter
    is_causal  True: mask as causal_mask(Tq, Tk) does, a block at a time
    returns    Tensor of shape (..., Tq, e) and the dtype of `q`: up to rounding, the result of
               scaled_dot_product_attention(q, k, v); with is_causal=True, its result with
               attn_mask=causal_mask(Tq, Tk)

    Tq may exceed Tk; a query that sees no key gives 0. Nothing is recorded, and no input is
    changed.

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
# Now measure the memory of both methods. Predict how many times as much memory each of them
# needs when T doubles.

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
# caption: In chunks, memory grows in proportion to the length, not to its square.
# alt: Peak memory over T, both axes logarithmic. The plain method rises by a factor of four
# with each doubling of T, the method in chunks by a factor of two.

# %% [markdown]
# ## Look back
#
# 1. Train `Sequential(Embedding(10, 32), positions, MultiHeadAttention(32, 2, causal=True),
#    Dense(32, 10))` with `LearnedPositions(23, 32)` as its positions, then with `lambda x: x +
#    sinusoidal(x.shape[1], 32)`, then with neither, but with `rotary=True`. All three solve the
#    task. Now set `HALF = 16` in `tinytorch.pictures.attention`, which lengthens the halves,
#    and do not train again. Which models still run, and what is their `accuracy`?
# 2. Remove the row term from `softmax_rule` and train again. Which accuracy do you get, and
#    what do you conclude about testing a gradient by training?
# 3. How many multiplications does `attention_forward` need for (B, T, D), and how many do `qkv`
#    and `out` need? From which T on does attention cost more than these two layers?
#
# PyTorch: `torch.nn.functional.scaled_dot_product_attention` has the same arguments and picks a
# fused kernel. `torch.nn.MultiheadAttention(..., batch_first=True)` also takes queries from
# another sequence (*cross-attention*); its boolean masks mark what is *hidden*.

# %% [markdown] tags=["answer"]
# 1. The learned positions refuse: there are 31 positions and vectors for 23. The other two run,
#    but they predict only about as many letters as guessing: they have learned the distance 11.
# 3. $2BT^2D$ for attention, and $3BTD^2 + BTD^2$ for the two layers: from $T = 2D$ on.
