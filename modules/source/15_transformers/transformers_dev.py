# %% [markdown]
# # 15. Transformers
#
# How can a program learn to write? By learning to predict the next token of a text. Nearly all
# programs that do this well today are transformers: stacks of attention layers and small
# networks. The picture shows one that learns from two novels by Jane Austen, on one processor
# core. It uses your own tensors, layers, optimizer and tokenizer, and you write the rest in
# this chapter. The curve shows how many bits the model needs for one character of text it has
# not seen; lower is better.

# %% tags=["payoff"]
#| default_exp core.transformers
#| export
"""Transformers: a GPT, a decoder-only language model, and what its training needs.

What is here, in the order in which to read it:

    GPT               token ids to logits: embedding, blocks, norm, head
    TransformerBlock  attention, then feed_forward, each added to its input
    init_gpt          the initial weights, as in GPT-2
    text_batch, lm_loss, decay_groups  one step of training
    held_out_bits, causality_leak      how good the model is; whether it looks ahead

Attention is in core/attention.py; `generate` and its cache are in core/generation.py.

>>> model = GPT(vocab_size=65, context=16, embed_dim=32, layers=2, num_heads=4)
>>> x, y = text_batch(np.arange(200) % 65, 4, 16, np.random.default_rng(0))
>>> loss = lm_loss(model, x, y)
>>> loss.backward()
>>> all(p.grad is not None for p in model.parameters())
True
"""
import math

import numpy as np

from tinytorch.core.activations import GELU, Activation
from tinytorch.core.activations import gelu as composed_gelu
from tinytorch.core.attention import MultiHeadAttention
from tinytorch.core.autograd import derivative
from tinytorch.core.embeddings import Embedding, bits_per_character
from tinytorch.core.layers import Dense, Dropout, Module, Sequential, generator
from tinytorch.core.losses import as_float_tensor, cross_entropy
from tinytorch.core.normalization import LayerNorm
from tinytorch.core.tensor import Tensor, apply
from tinytorch.core.training import evaluation_mode
from tinytorch.lazy import generation_lesson
from tinytorch.support.arguments import check_counts
from tinytorch.support.token_ids import as_rows

# %% tags=["payoff"]
from tinytorch.pictures.transformers import (BY_POSITION, LEVELS, RUN, SAMPLES, plot_losses,
                                             plot_positions, plot_run, plot_shares)

figure = plot_run(RUN, LEVELS)
# caption: A small GPT learns to predict text better than three compressors and a 6-gram model.
# alt: Bits per character of text that was not trained on, against seconds of processor time.
# The curve of the GPT falls steeply at first, crosses the lines of zlib, xz, bz2 and a 6-gram
# model one after the other, and ends below all of them.

# %% tags=["payoff"]
for seconds, text in SAMPLES.items():
    print(f"after {seconds} s: {text}\n")

# %% [markdown]
# Each time, the model was asked to continue *Emma was*. The horizontal lines show two other
# kinds of prediction: the best n-gram model of lesson 13, trained on the same text, and three
# programs that compress files. A compressor is a predictor, because it spends few bits on
# characters that it expects. We compress the training text alone and then together with the
# test text, and the difference in size is what the test text needs. `tito milestone run gpt`,
# the milestone after this chapter, does such a run with your code.
#
# **You need** 03 to 05 (Activations, Layers, Losses), 06 to 08 (Autograd, Optimizers, Training)
# and 11 to 14 (Normalization, Tokenization, Embeddings, Attention). **You build** the
# transformer block, a GPT and its initialization, the functions that train it, GELU as one
# operation, tests of a trained model, and the formulas for its size and its cost.

# %% [markdown] page="The block"
# ## The transformer block
#
# The model of the picture is a stack of equal blocks. A **transformer** is a model that passes
# a sequence of vectors, one for each token, through a stack of blocks, each with attention and
# a small network. A **GPT** (generative pre-trained transformer) is a transformer with causal
# attention that predicts the next token at every position.
#
# A **transformer block** has two branches: attention, which carries information from earlier
# tokens to later ones, and a small network, which processes each token alone. Neither branch
# replaces the vectors. Each one reads them and *adds* its result to them.

# %%
from tinytorch.pictures.transformers import (draw_block, draw_dependence, draw_gpt, draw_scored,
                                             draw_shifted, plot_depths, plot_stream)

draw_block(embed_dim=64, hidden=256)
# alt: A vertical line, the stream, runs from x at the top to the block's output. Twice a branch
# leaves it and comes back to a plus sign on it: first through norm1 and attention, where each
# token reads itself and those before it, then through norm2 and mlp, which handles each token
# alone, 64 to 256 to 64.

# %% [markdown]
# The **residual stream** is the sequence of vectors that runs through all blocks, and to which
# each block adds its results. A token's vector starts as its embedding. Each block then adds
# what it has computed about the token's context, and every later block can read it.
#
# ## The feed-forward network
#
# Besides attention, every block has a second part. A **feed-forward network** in a transformer
# is two dense layers with an activation function between them, applied to each token's vector
# separately. The first layer widens the vector, usually to four times its length, and the
# second brings it back. Two thirds of the weights of a block belong to this network.
#
# The activation function of a GPT is the GELU of lesson 03.
#
# **Task.** Write `feed_forward`. With `dropout=0`, leave the dropout layer out: it would draw a
# mask in every step without any effect.

# %% The feed-forward network exercise="feed-forward"
#| export
def feed_forward(embed_dim, hidden=None, dropout=0.0):
    """The feed-forward network of a transformer block: the same two layers for each token.

    embed_dim  int: numbers per token, in and out
    hidden     int: numbers per token in between; 4 * embed_dim if None
    dropout    the probability of a Dropout layer at the end; with 0 there is no such layer
    returns    Sequential of Dense, GELU, Dense and, if dropout > 0, Dropout; it maps a Tensor
               of shape (..., embed_dim) to one of the same shape

    >>> feed_forward(8)
    Sequential(Dense(8, 32), GELU(), Dense(32, 8))

    Source: Vaswani et al., Attention is all you need (2017), section 3.3, with GELU.
    """
    ### BEGIN SOLUTION
    hidden = 4 * embed_dim if hidden is None else hidden
    layers = [Dense(embed_dim, hidden), GELU(), Dense(hidden, embed_dim)]
    return Sequential(*layers, *([Dropout(dropout)] if dropout else []))
    ### END SOLUTION

# %% checks="feed-forward"
check("feed-forward")

# %% [markdown]
# We can test that each token is processed separately: when the tokens of the input change
# places, the outputs must change places in the same way, and nothing else may change.

# %% tags=["demonstration"]
net = feed_forward(8)
x = Tensor(np.random.default_rng(1).normal(size=(5, 8)).astype("float32"))
order = [3, 0, 4, 1, 2]
print("largest difference:", abs(net(x[order]) - net(x)[order]).max().item())
print(net, sum(p.size for p in net.parameters()), "parameters")

# %% [markdown]
# ## Pre-norm and post-norm
#
# Attention, network and normalization make a block, in one of two orders. The normalization can
# go to two places. A transformer is **post-norm** when the stream itself is normalized after
# each addition; the first transformers were post-norm. A transformer is **pre-norm** when only
# the input of each branch is normalized, so that the stream stays a plain sum. GPT-2 and most
# later models are pre-norm, and so is this chapter's block. In its formulas, $x \leftarrow
# \dots$ means that $x$ is replaced by the right side:
#
# $$x \leftarrow x + \mathrm{attention}(\mathrm{norm}_1(x)), \qquad
# x \leftarrow x + \mathrm{mlp}(\mathrm{norm}_2(x))$$
#
# The two norms have separate weights, and the second one reads the stream *after* the result of
# attention has been added.
#
# **Task.** Write `forward` of `TransformerBlock`. Apply `self.dropout` to the result of the
# attention; the mlp contains another dropout layer. (Without dropout, `self.dropout` is an
# empty `Sequential`, which returns its input.)

# %% The transformer block exercise="block"
#| export
class TransformerBlock(Module):
    """A pre-norm transformer block: attention, then the feed-forward network. Each of them adds
    its result to its input.

    embed_dim  int: numbers per token
    num_heads  int: heads of the attention; a divisor of embed_dim
    dropout    the probability of dropout: of attention weights, and of both branches' results
    rotary     whether the attention rotates queries and keys by their positions
    norm       the class of the two normalizations, called as norm(embed_dim)

    .norm1, .attention, .norm2, .mlp   the layers, in order; attention is causal

    forward takes a Tensor of shape (batch, tokens, embed_dim) and returns one of that shape.

    >>> TransformerBlock(8, 2)(Tensor(np.ones((1, 3, 8), "float32"))).shape
    (1, 3, 8)

    Source: Radford et al., Language models are unsupervised multitask learners (2019), section
    2.3; Xiong et al., On layer normalization in the transformer architecture (2020), section 3.
    """

    def __init__(self, embed_dim, num_heads, dropout=0.0, rotary=False, norm=LayerNorm):
        self.norm1 = norm(embed_dim)
        self.attention = MultiHeadAttention(embed_dim, num_heads, dropout, causal=True,
                                            rotary=rotary)
        self.dropout = Dropout(dropout) if dropout else Sequential()
        self.norm2 = norm(embed_dim)
        self.mlp = feed_forward(embed_dim, dropout=dropout)

    def forward(self, x):
        ### BEGIN SOLUTION
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.mlp(self.norm2(x))
        ### END SOLUTION

# %% checks="block"
check("block")

# %% [markdown]
# We send a random input through twelve blocks, pre-norm and post-norm. Predict how the standard
# deviation of the stream changes in each stack, and how much of the input is left at the end.
# The measure for this is the cosine of the angle between input and output: 1 when they point in
# the same direction, 0 when they have nothing in common.

# %% tags=["answer", "explained"]
from tinytorch.core.autograd import no_grad
from tinytorch.core.layers import manual_seed


class PostNormBlock(TransformerBlock):
    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


def cosine(a, b):
    return np.vdot(a, b) / np.linalg.norm(a) / np.linalg.norm(b)


manual_seed(0)
deviations, start = {}, np.random.default_rng(0).normal(size=(2, 32, 64)).astype("float32")
for name, kind in [("pre-norm", TransformerBlock), ("post-norm", PostNormBlock)]:
    stream = [Tensor(start)]
    with no_grad():
        for _ in range(12):
            stream.append(kind(64, 4)(stream[-1]))
    deviations[name] = [x.data.std() for x in stream]
    print(f"{name:9} cosine of input and output {cosine(start, stream[-1].data):.2f}")
figure = plot_stream(deviations)
# caption: In a pre-norm stack, every block makes the stream larger.
# alt: The standard deviation of the stream over twelve blocks. It grows from 1 to more than 2
# in the pre-norm stack, and stays at 1 in the post-norm stack.

# %% [markdown]
# In a pre-norm stack, the stream grows as results are added to it, and the input remains a part
# of it, while in a post-norm stack each normalization also scales down the earlier contents.
# After twelve blocks little of the input is left, and in the backward pass little of the
# gradient returns along the stream. A later section shows what that means for training.
#
# ## Initialization
#
# In the picture of the last section, the pre-norm stream grows with every block. In a deep
# stack it would be so large, even before training, that the results of the last blocks would
# hardly change it. GPT-2 therefore starts with small weights, of standard deviation 0.02, and
# its paper scales the weights of the $N$ "residual layers" by $1 / \sqrt{N}$. We read this as
# nanoGPT does: the *last* layer of every branch gets the smaller weights. $L$ blocks have $2L$
# branches, and the variance of a sum of $2L$ independent results is the sum of their variances.
# Scaling each last layer by $1 / \sqrt{2L}$ therefore makes the variance of the sum independent
# of $L$.
#
# **Task.** Write `init_gpt`. The last layers of the two branches of a block are
# `block.attention.out` and `block.mlp[2]`. The weights of embeddings and of the output layer
# are treated like all other matrices.
#
# There are two ways to find the last layers. One is to pick out the blocks from
# `model.modules()` with `isinstance(module, TransformerBlock)`. The other is to go through
# `model.named_parameters()`: the names of their weights end with `attention.out.weights` or
# `mlp.2.weights`. What comes before that depends on the model: `blocks.0.` in a GPT, `0.` in a
# `Sequential` of blocks, nothing in a single block.

# %% The initial weights of a GPT exercise="init"
#| export
def init_gpt(model, rng=None):
    """Initialize the weights of a stack of transformer blocks as nanoGPT does, in place.

    model    a Module that contains L TransformerBlocks, L >= 1
    rng      a NumPy Generator, a seed, or None for the shared generator: see `generator`
    returns  None

    Every parameter with two axes is drawn from the normal distribution with mean 0 and standard
    deviation 0.02. In the last layer of a branch, `attention.out` and the second Dense of `mlp`
    of every block, the standard deviation is 0.02 / sqrt(2 L). Biases become 0; the gains of
    norms do not change. Write the numbers into the existing arrays, p.data[...] = ..., so that
    the dtypes stay the same and an optimizer that holds the parameters sees the new values.

    >>> block = TransformerBlock(32, 2)
    >>> init_gpt(block, rng=0)
    >>> [round(float(block.mlp[n].weights.data.std()), 3) for n in (0, 2)]
    [0.02, 0.014]

    Source: Radford et al. (2019), section 2.3, as nanoGPT reads it. (OpenAI's code for GPT-2
    draws the positions with 0.01, and scales nothing.)
    """
    ### BEGIN SOLUTION
    rng, parameters = generator(rng), model.named_parameters()
    blocks = sum(isinstance(part, TransformerBlock) for part in model.modules())
    for name, p in parameters:
        if p.ndim == 2:
            ends = name.endswith(("attention.out.weights", "mlp.2.weights"))
            p.data[...] = rng.normal(0, 0.02 / math.sqrt(2 * blocks) if ends else 0.02, p.shape)
        elif name.endswith("bias"):
            p.data[...] = 0
    ### END SOLUTION

# %% checks="init"
check("init")

# %% [markdown]
# The picture shows the standard deviation of the stream after 2 to 24 blocks, which are
# initialized with `init_gpt`. For the curve *0.02 everywhere*, the last layers of the branches
# are scaled up again by $\sqrt{2L}$, so that all weights have standard deviation 0.02. Predict
# both curves. (The axis of the blocks is logarithmic.)

# %% tags=["answer"]
depths, deviations = [2, 6, 12, 24], {"0.02 everywhere": [], "init_gpt": []}
rng = np.random.default_rng(0)
# The sum of an embedding and a position has a deviation of 0.02 sqrt(2), about 0.03.
start = 0.03 * rng.normal(size=(2, 32, 64)).astype("float32")
for depth in depths:
    stack = Sequential(*[TransformerBlock(64, 4) for _ in range(depth)])
    init_gpt(stack, rng=0)
    for name in ("init_gpt", "0.02 everywhere"):
        with no_grad():
            deviations[name].append(stack(Tensor(start)).data.std())
        for block in stack:
            block.attention.out.weights.data *= math.sqrt(2 * depth)
            block.mlp[2].weights.data *= math.sqrt(2 * depth)
figure = plot_depths(depths, deviations)
# alt: The standard deviation of the stream after the last block, for stacks of 2, 6, 12 and 24
# blocks. With 0.02 everywhere it grows with the depth, more than twofold; with init_gpt it is
# the same for every depth.

# %% [markdown] page="The model and its training"
# ## The whole model: GPT
#
# Before the stack, a GPT has an embedding: a vector for each token, plus a learned vector for
# each position. (With `rotary=True`, attention rotates queries and keys instead, as in lesson
# 14, and there are no position vectors.) After the stack comes a last norm, because the stream
# itself was never normalized. Then comes the *head* of the model, which is no head of the
# attention: a matrix product that turns each vector into one logit per token of the vocabulary.

# %%
draw_gpt(vocab_size=1024, context=64, embed_dim=128, layers=3)
# alt: From top to bottom: token ids (B, T); embedding, a row of W per id; positions, a row of a
# 64 by 128 table P per place; block 1 to block 3; norm; head, times W, transposed; logits (B,
# T, 1,024). A dashed line joins embedding and head: W is one 1,024 by 128 table, used twice.

# %% [markdown]
# The embedding has shape (V, D), and a head needs (D, V). **Weight tying** means that the head
# uses the embedding's own weight, transposed, instead of a second matrix. At each position, the
# logit of a token is then the dot product of the token's embedding with the vector at that
# position. That saves V · D parameters. The array gets a gradient from both of its uses, and
# autograd adds them, as for every tensor that is used twice. A *copy* would get a separate one.
#
# **Task.** Write `__init__`, with all attributes that the docstring lists, and `forward`.
# `Module` also finds the parameters of `blocks`, which is a plain list. Apply dropout after
# adding the positions. `forward` adds positions only if `self.positions` is not None. Test this
# attribute, not `rotary`, because a model's positions can also be removed later. The exercise
# is long, but it contains no new idea: you know every part of it.

# %% The GPT exercise="gpt"
#| export
class GPT(Module):
    """A language model: a stack of transformer blocks between an embedding and a head.

    vocab_size  int: tokens in the vocabulary, V
    context     int: the largest number of tokens in one input
    embed_dim   int: numbers per token, D
    layers      int: how many transformer blocks
    num_heads   int: heads of the attention in each block
    dropout     the probability of dropout: after the embeddings, and in each block
    tie         whether the head is the embedding's own weight, transposed
    rotary      whether each attention rotates queries and keys by their positions; then there
                are no learned position embeddings

    .embedding  Embedding(V, D)
    .positions  Embedding(context, D); None if rotary
    .blocks     list of TransformerBlocks
    .norm       LayerNorm(D): the stream is normalized before the head
    .head       None if tied; else Dense(D, V, bias=False)

    forward takes token ids, ints of shape (batch, tokens) from 0 to V - 1. It returns a Tensor
    of shape (batch, tokens, V): at each position, the logits of the token after it. More than
    `context` tokens raise a ValueError that contains both numbers. For an id outside of the
    vocabulary, Embedding raises an IndexError.

    >>> GPT(50, context=16, embed_dim=32, layers=2, num_heads=4)(np.array([[3, 1, 4]])).shape
    (1, 3, 50)

    Source: Radford et al. (2019), section 2.3; Press, Wolf, Using the output embedding to
    improve language models (2017), for the tied head.
    """

    def __init__(self, vocab_size, context, embed_dim, layers, num_heads, dropout=0.0, tie=True,
                 rotary=False):
        check_counts(vocab_size=vocab_size, context=context, embed_dim=embed_dim, layers=layers)
        self.vocab_size, self.context = vocab_size, context
        self.dropout = Dropout(dropout) if dropout else Sequential()
        ### BEGIN SOLUTION
        self.embedding = Embedding(vocab_size, embed_dim)
        self.positions = None if rotary else Embedding(context, embed_dim)
        self.blocks = [TransformerBlock(embed_dim, num_heads, dropout, rotary)
                       for _ in range(layers)]
        self.norm = LayerNorm(embed_dim)
        self.head = None if tie else Dense(embed_dim, vocab_size, bias=False)
        ### END SOLUTION
        init_gpt(self)

    def forward(self, ids):
        ids = as_rows(ids)  # an array of ints with two axes
        tokens = ids.shape[1]
        if tokens > self.context:
            raise ValueError(f"{tokens} tokens are more than the context of {self.context}\n"
                             "give the last ones only: ids[:, -model.context:]")
        ### BEGIN SOLUTION
        x = self.embedding(ids)
        if self.positions is not None:
            x = x + self.positions.weight[:tokens]
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return x @ self.embedding.weight.T if self.head is None else self.head(x)
        ### END SOLUTION

    def generate(self, ids, *arguments, **options):
        """Continue ids: see `generate` in lesson 16."""
        return generation_lesson().generate(self, ids, *arguments, **options)

    def step(self, ids, cache):
        """The logits of new tokens, computed with a key-value cache: see lesson 16."""
        return generation_lesson().step(self, ids, cache)

# %% checks="gpt"
check("gpt")

# %% [markdown]
# An untrained model knows nothing, so it should give each token about the same probability.
# What is its loss then, in nats, for a vocabulary of 1,024 tokens? If the first loss of a model
# is far from this number, its initialization is probably wrong.

# %% tags=["answer"]
manual_seed(0)
model = GPT(vocab_size=1024, context=64, embed_dim=128, layers=3, num_heads=4)
ids = np.random.default_rng(0).integers(0, 1024, (8, 65))
print("first loss", cross_entropy(model(ids[:, :-1]), ids[:, 1:]).item(),
      " ln 1024 =", math.log(1024))
for tie in (True, False):
    size = sum(p.size for p in GPT(1024, 64, 128, 3, 4, tie=tie).parameters())
    print(f"tie={tie!s:5} {size:,} parameters")

# %% [markdown]
# ## Next-token prediction
#
# The model is complete. Now we need its task. **Next-token prediction** is the task of giving,
# at every position of a text, a probability to each token that could follow. Because causal
# attention lets each position see only the tokens up to itself, a window of `context` tokens
# contains `context` examples, one for each position. The targets are the inputs, shifted by one
# token.

# %%
draw_shifted([" It", " is", " a", " tr", "uth", " uni", "ver", "sal"], start=1, context=5)
# alt: A row of eight tokens, It is a tr uth uni ver sal. Below it the inputs x: is, a, tr, uth,
# uni; and the targets y: a, tr, uth, uni, ver. Arrows lead from each input to its target, which
# is one place further right in the text.

# %% [markdown]
# In each step of training we draw some windows at random. Which starts are possible in a text
# of $n$ tokens, when each window needs `context` inputs and the token after them?
#
# **Task.** Write `text_batch` without a loop: an array of indices needs one axis for the
# windows and one for the positions.

# %% A batch of text exercise="text-batch"
#| export
def text_batch(ids, batch, context, rng):
    """Random windows of a text, and the tokens that follow.

    ids      ndarray of ints, shape (n,): the text, n > context
    batch    int: how many windows
    context  int: tokens per window
    rng      a NumPy Generator, a seed, or None, as for layers
    returns  (x, y), int ndarrays of shape (batch, context): y[b, t] is the token that follows
             x[b, t] in the text. Every window, including the last one, is equally likely

    A text that is too short raises a ValueError that contains n and context.

    >>> x, y = text_batch(np.arange(100, 104), 1, 3, np.random.default_rng(0))
    >>> x, y
    (array([[100, 101, 102]]), array([[101, 102, 103]]))

    Source: Karpathy, nanoGPT (2022), get_batch.
    """
    if len(ids) <= context:
        raise ValueError(f"{len(ids)} tokens are too few for a window of {context} tokens and "
                         "the token after it")
    check_counts(batch=batch, context=context)
    rng = generator(rng)
    ### BEGIN SOLUTION
    starts = rng.integers(0, len(ids) - context, batch)
    at = starts[:, None] + np.arange(context)
    return ids[at], ids[at + 1]
    ### END SOLUTION

# %% checks="text-batch"
check("text-batch")

# %% [markdown]
# The loss is the cross-entropy of lesson 05, averaged over all positions of all windows. Our
# cross-entropy takes the classes along the last axis, where the logits of a GPT have them.
# (PyTorch's takes them along the second axis, so the logits are reshaped there.)
#
# **Task.** Write `lm_loss`. `y` is already shifted.

# %% The loss of a language model exercise="lm-loss"
#| export
def lm_loss(model, x, y):
    """The mean cross-entropy of the next token, in nats per token.

    model    maps ids of shape (batch, tokens) to logits of shape (batch, tokens, V)
    x, y     int arrays of shape (batch, tokens), as `text_batch` returns them
    returns  Tensor of shape (); recorded

    >>> model = GPT(50, 16, 32, 2, 4)
    >>> lm_loss(model, np.array([[3, 1, 4]]), np.array([[1, 4, 1]])).shape
    ()

    Source: Bengio et al., A neural probabilistic language model (2003), section 2.
    """
    ### BEGIN SOLUTION
    return cross_entropy(model(x), y)
    ### END SOLUTION

# %% checks="lm-loss"
check("lm-loss")

# %% [markdown]
# ## Weight decay for matrices only
#
# Before the training, one choice about the optimizer. Weight decay pulls weights toward 0. For
# the matrices of a model, that is a mild and useful regularization, but other parameters should
# not decay, because the gain of a norm should be near 1, and a bias should go wherever the data
# moves it. The rows of an embedding would shrink in every step, even when their token does not
# occur. We therefore use the *parameter groups* of lesson 07.
#
# **Task.** Write `decay_groups`. The weight of an `Embedding` does not decay, even when it is
# tied. To find out whether a parameter `p` belongs to an `Embedding`, do not write `p in [...]`
# with a list of tensors: `in` compares with `==`, which is elementwise here. Compare `id(p)`,
# the identity of the object.

# %% Two parameter groups exercise="decay-groups"
#| export
def decay_groups(model, weight_decay):
    """The parameters of a model as two groups for an optimizer.

    model         a Module
    weight_decay  float: the weight decay of the first group
    returns       [{"params": matrices, "weight_decay": weight_decay},
                   {"params": all others, "weight_decay": 0.0}], both lists of Tensors in the
                  order of `model.parameters()`. A matrix is a parameter with two axes or more
                  that is not the weight of an Embedding

    >>> [len(group["params"]) for group in decay_groups(GPT(50, 16, 32, 1, 4), 0.1)]
    [4, 12]

    Source: Karpathy, nanoGPT (2022), configure_optimizers, which also decays embeddings.
    """
    ### BEGIN SOLUTION
    tables = {id(part.weight) for part in model.modules() if isinstance(part, Embedding)}
    matrices, others = [], []
    for p in model.parameters():
        (matrices if p.ndim >= 2 and id(p) not in tables else others).append(p)
    return [{"params": matrices, "weight_decay": weight_decay},
            {"params": others, "weight_decay": 0.0}]
    ### END SOLUTION

# %% checks="decay-groups"
check("decay-groups")

# %% tags=["demonstration"]
for group in decay_groups(model, weight_decay=0.1):
    shapes = sorted({p.shape for p in group["params"]})
    print(f"weight_decay {group['weight_decay']}: {len(group['params'])} tensors, {shapes}")

# %% [markdown]
# ## Training a small GPT
#
# Now you have everything to train a GPT. While the novels take minutes, the 5,163 names of
# lesson 13 take seconds. Each character is a token, and the last tenth of the names is held out
# for testing. The loop below uses the standard recipe: AdamW, linear warm-up, cosine decay, and
# gradients clipped to norm 1.

# %%
from tinytorch.core.optimizers import AdamW, clip_grad_norm_, warmup_cosine
from tinytorch.core.tokenization import CharTokenizer
from tinytorch.data.texts import load_names

names = "\n".join(np.random.default_rng(0).permutation(load_names())) + "\n"
letters = CharTokenizer(names)
ids = letters.encode(names)
training_ids, held_out = np.split(ids, [len(ids) * 9 // 10])


def train(model, steps, lr=3e-3, warmup=12, batch=16):
    """The loss of each step, in bits per character (a token is a character here)."""
    optimizer = AdamW(decay_groups(model, 0.1), lr=lr, betas=(0.9, 0.99))
    rng, losses = np.random.default_rng(0), []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = lr * warmup_cosine(step, warmup, steps, lowest=0.02)
        loss = lm_loss(model, *text_batch(training_ids, batch, model.context, rng))
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item() / math.log(2))
    return losses

# %% [markdown]
# To see what the model has learned, we generate text: draw a token from the probabilities at
# the last position, append it, and repeat. Lesson 16 is about doing this well.

# %% tags=["demonstration", "payoff"]
def write(model, count, rng):
    text = [letters.ids["\n"]]
    with no_grad():
        for _ in range(count):
            logits = model(np.array([text[-model.context:]])).data[0, -1].astype("float64")
            p = np.exp(logits - logits.max())
            text.append(int(rng.choice(len(p), p=p / p.sum())))
    return " ".join(letters.decode(text).split())


manual_seed(0)
namer = GPT(letters.vocab_size, context=16, embed_dim=48, layers=2, num_heads=4)
print("before:", write(namer, 70, np.random.default_rng(0)))
losses = train(namer, 250)
print("after: ", write(namer, 70, np.random.default_rng(0)))
print(f"loss {losses[0]:.2f} bits per character, at the end {np.mean(losses[-25:]):.2f}")

# %% [markdown] page="Parts, speed and score"
# ## What each part contributes
#
# What is each part of the model worth? We begin with a bigram model, which sees only the
# current token, and add one part after another. Each model is trained for 250 steps, like the
# model of names. Because there is no residual stream in the first models, the result of a layer
# replaces its input. Predict which part helps most, and which one makes the model worse.

# %% tags=["answer", "explained"]
import time


class AttentionAlone(TransformerBlock):
    def forward(self, x):
        return self.attention(x)


class WithoutResidual(TransformerBlock):
    def forward(self, x):
        return self.mlp(self.attention(x))


def small_gpt(kind, layers, num_heads):
    manual_seed(0)
    model = GPT(letters.vocab_size, 16, 48, max(layers, 1), num_heads)
    model.blocks = model.blocks[:layers]
    for block in model.blocks:
        block.__class__ = kind  # the same layers, with the forward method of `kind`
    return model


bigram = small_gpt(None, 0, 1)
bigram.positions = None
ladder = [("bigram", bigram, "13 embedding-layer"),
          ("attention, one head", small_gpt(AttentionAlone, 1, 1), "14 attention"),
          ("four heads", small_gpt(AttentionAlone, 1, 4), "14 multi-head"),
          ("feed-forward network", small_gpt(WithoutResidual, 1, 4), "15 feed-forward"),
          ("residual and norm", small_gpt(TransformerBlock, 1, 4), "15 block"),
          ("a second block", small_gpt(TransformerBlock, 2, 4), "15 gpt")]
print("part added             loss   CPU s   exercise")
for name, model, exercise in ladder:
    start = time.process_time()
    loss = np.mean(train(model, 250)[-25:])
    print(f"{name:20}  {loss:5.2f}  {time.process_time() - start:6.1f}   {exercise}")

# %% [markdown]
# Attention helps most: now a prediction depends on all letters of the name so far. Four heads
# are no better than one in this small model. The feed-forward network makes it *worse*: the
# result of attention has to pass through two more layers, whose weights are still small. With
# the residual stream, however, nothing is lost on the way, and the same network helps. The
# second block is a small gain. With three different seeds, one block ends between 3.28 and 3.42
# and two blocks between 3.29 and 3.30, so in one run the order may be different.
#
# Now we change one part at a time, in shorter runs. Predict which change does the most damage:
# no warm-up, post-norm blocks, or no `init_gpt`, so that each layer keeps its own initial
# weights? The dashed line is the loss of a model that knows only how frequent each letter is.

# %% tags=["answer", "explained"]
def fresh(kind=TransformerBlock, gpt_init=True):
    model = small_gpt(TransformerBlock, 2, 4)
    if not gpt_init:  # every layer as its class initializes it
        model.embedding = Embedding(letters.vocab_size, 48)
        model.positions = Embedding(16, 48)
        model.blocks = [TransformerBlock(48, 4) for _ in range(2)]
    for block in model.blocks:
        block.__class__ = kind
    return model


curves = {"all of it": train(fresh(), 100),
          "no warm-up": train(fresh(), 100, warmup=0),
          "post-norm": train(fresh(PostNormBlock), 100),
          "no init_gpt": train(fresh(gpt_init=False), 100)}
print(f"no init_gpt begins at {curves['no init_gpt'][0]:.1f} bits; "
      f"log2 of {letters.vocab_size} tokens is {math.log2(letters.vocab_size):.2f}")
frequency = np.bincount(training_ids) / len(training_ids)
figure = plot_losses(curves, smooth=10, top=6,
                     levels={"letters": -np.sum(frequency * np.log2(frequency))})
# alt: Four curves of the loss over 100 steps, each a mean of 10. With and without warm-up the
# model falls to 3.5. Without init_gpt it comes from far above the picture, and ends at 3.7.
# With post-norm the loss stays on the dashed line at 4.06.

# %% [markdown]
# Post-norm does the most damage. After 100 steps the post-norm model knows only how frequent
# each letter is; without warm-up its result is the same. (The first transformers were
# post-norm, and hard to train.)
#
# Without `init_gpt`, the first loss is far higher than the loss of a model that knows nothing:
# this model is sure of itself, and wrong. Unlearning that takes the first third of the run.
#
# Because the size of AdamW's step does not depend on the size of the gradient, without warm-up
# even the first steps have the full length, although the gradients are not yet reliable. At
# this learning rate that does no harm; at `lr=1e-2` the run ends at 3.7 with warm-up and at 4.0
# without it.
#
# ## GELU as one operation
#
# The model trains. Next, we make its training step cheaper. The GELU of lesson 03 is composed
# of nine Tensor operations. Each of them creates an array in the forward pass and another one
# in the backward pass. We measure a block of the milestone on 8 windows of 64 tokens, forward
# and backward, and then its GELU alone. Predict which share of the time GELU takes.

# %% tags=["answer"]
from timeit import repeat

from tinytorch.core.autograd import topological_order
from tinytorch.core.tensor import Variable


def forward_and_backward(f, x):
    x.grad = None
    f(x).sum().backward()
    return x.grad


def milliseconds(f, x):
    return 1000 * min(repeat(lambda: forward_and_backward(f, x), number=1, repeat=9))


rng = np.random.default_rng(0)
stream, widened = (Variable(rng.normal(size=(8, 64, width)).astype("float32"))
                   for width in (128, 512))
whole = milliseconds(TransformerBlock(128, 4), stream)
part = milliseconds(composed_gelu, widened)
print(f"block {whole:.1f} ms, its GELU {part:.1f} ms: {part / whole:.0%}")

# %% [markdown]
# So it is worth making GELU one *fused operation* with its own rule, as we did for layer norm
# and attention:
#
# $$\mathrm{gelu}(x) = \tfrac12 x\,(1 + t), \qquad
# t = \tanh\!\big(c\,(x + 0.044715\,x^3)\big), \qquad c = \sqrt{2/\pi}$$
#
# Because the rule needs $t$ again, the forward function, which computes it, saves it in the
# dictionary `saved`. Write `x * x * x` for the cube: NumPy needs much longer for `x**3`,
# because it calls the general power function.
#
# **Task.** Write `gelu_forward`, then its rule. By the product rule, the derivative has two
# terms: one for $\tfrac12 x$ and one for $1 + t$.

# %% GELU as one operation exercise="gelu"
#| export
def gelu_forward(x, saved):
    """The GELU of lesson 03 as one operation: 0.5 x (1 + t) with
    t = tanh(c (x + 0.044715 x^3)) and c = sqrt(2 / pi).

    x        ndarray of floats, any shape; not changed
    saved    dict; the function stores t in saved["tanh"], where `gelu_rule` reads it
    returns  ndarray of the same shape and dtype

    >>> gelu_forward(np.array([-1000.0, 0.0, 1000.0]), {}).tolist()
    [-0.0, 0.0, 1000.0]

    Source: Hendrycks, Gimpel, Gaussian error linear units (2016), section 2.
    """
    ### BEGIN SOLUTION
    c = math.sqrt(2 / math.pi)
    t = x * x
    t *= 0.044715 * c  # in place: no new array for each step
    t += c
    t *= x
    t = saved["tanh"] = np.tanh(t)
    out = t + 1
    out *= x
    out *= 0.5
    return out
    ### END SOLUTION


def gelu_rule(g, out, x, saved):
    """The vector-Jacobian product of `gelu_forward`.

    g        ndarray: the upstream gradient
    out      the result of gelu_forward
    x        its input, ndarray of the same shape
    saved    {"tanh": ndarray}, as `gelu_forward` left it; not changed
    returns  ndarray of the shape and dtype of x: g times the derivative of GELU at x

    >>> gelu_rule(np.array([10.0]), None, np.array([0.0]), {"tanh": np.array([0.0])})
    array([5.])

    Source: the product rule, and tanh' = 1 - tanh^2.
    """
    ### BEGIN SOLUTION
    t, c = saved["tanh"], math.sqrt(2 / math.pi)
    inner = x * x  # becomes x times the derivative of what tanh was applied to
    inner *= 3 * 0.044715 * c
    inner += c
    inner *= x
    factor = 1 - t * t
    factor *= inner
    factor += t
    factor += 1
    factor *= 0.5
    factor *= g
    return factor
    ### END SOLUTION


derivative(gelu_forward, gelu_rule)


class GELU(Activation):
    """`gelu_forward` as a module: elementwise, smooth. Until it is written, lesson 03's `gelu`.

    >>> GELU()(Tensor([-1000.0, 0.0, 1000.0]))
    Tensor([  -0.,    0., 1000.])
    """

    def forward(self, x):
        x = as_float_tensor(x)
        try:
            return apply(gelu_forward, x, saved={})
        except NotImplementedError:
            return composed_gelu(x)

# %% checks="gelu"
check("gelu")

# %% [markdown]
# The class `GELU` in the exercise's cell applies the operation. It has the same name as the
# class of lesson 03, so `feed_forward` now builds its networks with it. Predict: by what factor
# is it faster than the composed function? How many operations does each of them record?

# %% tags=["answer", "explained"]
times = {}
for name, f in [("composed", composed_gelu), ("fused", GELU())]:
    times[name] = milliseconds(f, widened)
    print(f"{name:9} {times[name]:5.2f} ms, {len(topological_order(f(widened)))} operations")
print(f"{times['composed'] / times['fused']:.1f} times as fast; largest difference",
      abs(forward_and_backward(composed_gelu, widened)
          - forward_and_backward(GELU(), widened)).max())

# %% [markdown]
# If yours is slower than the composed one, look for `x**3`. The arithmetic is nearly the same
# in both forms. The fused form is faster because it creates far fewer arrays, and each array
# has to be written to memory and read again. It also saves memory: the composed form keeps the
# results of all its operations for the backward pass, the fused form only $t$ and its own
# result.
#
# ## Held-out bits per character
#
# The loss on the training text shows how well a model remembers. **Held-out text** is text that
# a model was not trained on; it shows how well the model predicts. Papers often report the
# **perplexity**, which is $e$ to the power of the mean loss per token in nats (or 2 to the
# power of the loss in bits). A model with perplexity 33 is as uncertain as one that chooses
# evenly among 33 tokens. Perplexity depends on the tokenizer; *bits per character*, from lesson
# 13, do not.
#
# One detail matters for a fair measurement: the first tokens of a window have almost nothing
# before them. Predict how the mean loss of the model of the first picture depends on the
# position in the window:

# %% tags=["answer"]
whole, half = np.mean(BY_POSITION), np.mean(BY_POSITION[len(BY_POSITION) // 2 :])
print(f"all positions {whole:.2f} bits per token, second half {half:.2f}: "
      f"a perplexity of {2**half:.0f}")
figure = plot_positions(BY_POSITION)
# alt: Bits per token against the position in the window, 0 to 63. They fall from almost 6 at
# position 0 to 5.1 at position 3, and stay near 5.0. The second half is shaded: scored.

# %% [markdown]
# If we cut the text into windows side by side and scored every position, the model would look
# worse than it is, by 0.03 bits per token. A token has about 2.9 characters, so that is 0.01
# bits per character, half of the difference between the GPT and the 6-gram model.
#
# With a **sliding window** the windows overlap, and only the last targets of each window are
# scored, because these have a long context. We score the last half of each window, which
# doubles the work, although leaving out only the first few targets would give nearly the same
# number.
#
# In this example the text has 13 tokens and the context is 6. The *stride* is the number of
# tokens from the start of one window to the start of the next, here 3. The number to the left
# of each row is the start of its window; blue targets are scored.

# %%
draw_scored(13, context=6, stride=3)
# alt: A row of tokens 0 to 12. Below, three windows that start at 0, 3 and 6, each with six
# targets: 1 to 6, 4 to 9, 7 to 12. The last three targets of each are blue: 4 to 6, 7 to 9 and
# 10 to 12. No target is blue twice; 1 to 3 are never blue.

# %% [markdown]
# **Task.** Write the middle of `held_out_bits`: add the losses of all scored targets, in nats,
# to `nats`, and the number of their characters to `total`. (Do not average the means of
# batches: that is wrong when the last batch is smaller.) Give the model at most 64 windows at a
# time, because all windows of a long text would not fit in memory.

# %% Held-out bits per character exercise="held-out-bits"
#| export
def held_out_bits(model, ids, characters, stride=None):
    """Bits per character of a text that the model was not trained on.

    model       a GPT, or another Module with `.context` that maps ids (batch, tokens) to logits
    ids         int array of shape (n,), n > model.context: the text
    characters  array of shape (V,): the number of characters of each token
    stride      int >= 1: tokens from the start of one window to the next; context // 2 if None
    returns     float: the bits of all scored tokens, divided by their characters

    Windows of `context` inputs start at 0, stride, 2 stride, ..., as long as all their targets
    are in the text. In each window, the last min(stride, half) targets are scored, where half
    is context - context // 2: half of the context, rounded up. So each scored target has at
    least half of the context before it, and no target is scored twice. The model is called in
    evaluation mode, without recording a graph, and then returns to its earlier mode. It gets at
    most 64 windows at a time.

    >>> model = GPT(8, context=4, embed_dim=16, layers=1, num_heads=2)
    >>> round(held_out_bits(model, np.arange(40) % 8, np.ones(8)))
    3

    Source: Hugging Face, Perplexity of fixed-length models; lesson 13 for bits per character.
    """
    context, ids, characters = model.context, np.asarray(ids), np.asarray(characters)
    stride = max(1, context // 2) if stride is None else stride
    check_counts(stride=stride)
    if len(ids) <= context:
        raise ValueError(f"{len(ids)} tokens are too few for a window of {context} tokens and "
                         "the token after it")
    nats, total = 0.0, 0  # of all scored targets: their losses, their characters
    ### BEGIN SOLUTION
    scored = min(stride, context - context // 2)
    starts = np.arange(0, len(ids) - context, stride)
    windows = ids[starts[:, None] + np.arange(context + 1)]
    with evaluation_mode(model):
        for i in range(0, len(windows), 32):
            x, y = windows[i : i + 32, :-1], windows[i : i + 32, 1:]
            losses = cross_entropy(model(x), y, reduction="none").data[:, -scored:]
            nats += losses.sum(dtype="float64")
            total += characters[y[:, -scored:]].sum()
    ### END SOLUTION
    return float(bits_per_character(nats, total))

# %% checks="held-out-bits"
check("held-out-bits")

# %% [markdown]
# How good is the model of names after 250 steps? Compare it with the n-gram models of lesson
# 13, trained on the same text.

# %% tags=["answer", "explained"]
from tinytorch.core.embeddings import NGram

one = np.ones(letters.vocab_size)  # each token is one character
print(f"GPT     {held_out_bits(namer, held_out, one):.2f} bits per character")
for order in (2, 3, 4, 5):
    gram = NGram(order).fit(training_ids, letters.vocab_size)
    bits = -gram.log_probability(held_out).mean() / math.log(2)
    print(f"{order}-gram  {bits:.2f}")

# %% [markdown]
# After 250 steps the GPT beats only the 2-gram. After 2,000 steps it has 2.91 bits per
# character and also beats the 3-gram and the 5-gram, but not yet the 4-gram. After 4,000 steps
# it has 2.82 and beats every one of them. On the novels, which are about 40 times as long, the
# GPT beats every n-gram model, as in the first picture.

# %% [markdown] page="Tests and costs"
# ## A test for leaks
#
# When a result is too good, look for a mistake first. A **causal model** is a model whose
# prediction at each position depends only on the tokens up to that position. If the mask is
# missing, or shifted by one, each position can see its own target. The training loss becomes
# wonderful, and so do the held-out bits, because the model also sees the targets in held-out
# text. No curve shows the mistake; only the text that the model writes is rubbish.
#
# A direct test does show it. Change the tokens after position $k$: no logit at a position up to
# $k$ may change.
#
# **Task.** Write `causality_leak`. The vocabulary size V is the length of the last axis of the
# logits.

# %% A test for leaks exercise="causality-leak"
#| export
def causality_leak(model, ids):
    """How much a model's predictions depend on later tokens.

    model    a Module that maps ids of shape (1, T) to logits of shape (1, T, V)
    ids      int array of shape (T,)
    returns  float: the largest absolute change of a logit; 0.0 for a causal model

    For each k from 0 to T - 2, replace every id after position k by (id + 1) % V, and compare
    the logits at the positions up to k with the original ones. The result is nan when a change
    is nan, and 0.0 when T is 1. The model is called in evaluation mode and then returns to its
    earlier mode.

    >>> causality_leak(GPT(8, context=4, embed_dim=16, layers=1, num_heads=2), [0, 3, 1, 2])
    0.0
    """
    ids = np.asarray(ids)
    ### BEGIN SOLUTION
    changes = [0.0]
    with evaluation_mode(model):
        logits = model(ids[None]).data[0]
        for k in range(len(ids) - 1):
            later = np.arange(len(ids)) > k
            changed = np.where(later, (ids + 1) % logits.shape[-1], ids)
            others = model(changed[None]).data[0]
            changes.append(abs(others - logits)[: k + 1].max())
    return float(np.max(changes))
    ### END SOLUTION

# %% checks="causality-leak"
check("causality-leak")

# %% [markdown]
# We train the model of names again, again for 250 steps, but without the mask. Predict its
# held-out bits.

# %% tags=["answer"]
leaky = fresh()
for block in leaky.blocks:
    block.attention.causal = False
train(leaky, 250)
for name, one_model in [("causal", namer), ("no mask", leaky)]:
    print(f"{name:8} held out {held_out_bits(one_model, held_out, one):.2f} bits, "
          f"leak {causality_leak(one_model, held_out[:16]):.2f}: "
          f"{write(one_model, 40, np.random.default_rng(0))}")

# %% [markdown]
# Which prediction depends on which token? We change one token after another and compare the
# logits before and after, first in the causal model, then in the model without the mask.

# %% tags=["demonstration"]
def changes(model, ids):
    """(T, T): how much the logits at position i change when token j is changed."""
    ids = np.asarray(ids)
    with no_grad():
        rows = [model(ids[None]).data[0]]
        for j in range(len(ids)):
            other = np.where(np.arange(len(ids)) == j, (ids + 1) % letters.vocab_size, ids)
            rows.append(model(other[None]).data[0])
    return np.stack([abs(row - rows[0]).max(axis=-1) for row in rows[1:]], axis=1)


word = "austen"
draw_dependence(changes(namer, letters.encode(word)), list(word))
# caption: No prediction depends on a later token.
# alt: Six rows, one for each position of the word austen, and six columns, one for each token
# that is changed. The cells on and below the diagonal are blue, those above it are grey: each
# prediction depends on its own token and on those before it.

# %% tags=["demonstration"]
draw_dependence(changes(leaky, letters.encode(word)), list(word))
# caption: Without the mask, every prediction sees its own target.
# alt: The same for the model without the mask. The cells on and below the diagonal are blue;
# all cells above it are red and hatched: each prediction also depends on all later tokens.

# %% [markdown] question="too-good" points=5
# **Question.** A friend trains the same model of names with another function for batches. The
# loss falls to 0.01 bits per character. The friend measures the loss on held-out names, with
# the same function: 0.01 bits. `causality_leak` returns 0.0. But when a text begins with "d",
# the model continues it with "ddddddddd".
#
# 1. What is the mistake? Reproduce it: train a model with this mistake for 100 steps or more,
#    and give its loss on training names and on held-out names.
# 2. Why does `causality_leak` not find the mistake?
# 3. Write a test that finds it without reading the friend's code. You may call the friend's
#    model and the friend's function for batches. Give the results of your test for the friend's
#    model and for `namer`, and say which result is a failure.
#
# **Your answer:**
#
# ### BEGIN SOLUTION
# The targets are not shifted: the friend's function returns y = x. The model learns to copy its
# input. I trained it for 250 steps with `lm_loss(model, x, x)`. The loss was 0.01 bits on
# training names and 0.01 bits on held-out names. The model reads "d" and is sure that the next
# token is "d".
#
# The model is causal. The prediction at position i may depend on token i, and here token i is
# the target. `causality_leak` changes only later tokens. The mistake is in the targets, and
# `causality_leak` never sees the targets.
#
# First test: draw ids at random, all equally likely, and compute the loss on them with the
# friend's function. No model can predict them. So the mean loss of an honest model is at least
# log2 of the 27 tokens, 4.75 bits. `namer` has 7.1 bits, because it expects names. The friend's
# model has 0.03 bits: it knows the targets. A result below 4.75 is a failure.
#
# Another test: `held_out_bits` makes its own targets, shifted by one. `namer` has 3.26 bits,
# the friend's model 11.7. That is far worse than the 4.75 bits of a model that knows nothing.
#
# - 1 point: the targets are not shifted, y = x
# - 1 point: the mistake is reproduced, with a loss near 0 on both texts
# - 1 point: a causal model may use token i at position i, and `causality_leak` never sees the
#   targets
# - 2 points: a test with its results for both models, and the limit: random ids (at least 4.75
#   bits), `held_out_bits`, or a check that y[:, :-1] equals x[:, 1:]
# - -1 point: the test only looks at the text that the model writes
# ### END SOLUTION

# %% [markdown]
# ## How many parameters
#
# Before you train a model, you want to know how large and how slow it will be. Count the
# weights of a block by its layers: `qkv` has $3D^2$ weights and $3D$ biases. Count
# `attention.out` and the two layers of the feed-forward network in the same way. Each norm has
# a gain and a bias of $D$ numbers.
#
# **Task.** Write `parameters_of` without building a model. Which arrays exist only once, for
# any number of layers?

# %% The number of parameters exercise="parameters"
#| export
def parameters_of(vocab_size, context, embed_dim, layers, tie=True):
    """The number of parameters of GPT(vocab_size, context, embed_dim, layers, ...).

    returns  int, computed from the four sizes without building a model

    >>> parameters_of(50257, 1024, 768, 12)
    124439808

    Source: Radford et al. (2019), table 2, which says 117 million for this model by mistake.
    """
    ### BEGIN SOLUTION
    block = 12 * embed_dim**2 + 13 * embed_dim
    tables = (vocab_size * (1 if tie else 2) + context) * embed_dim
    return tables + layers * block + 2 * embed_dim
    ### END SOLUTION

# %% checks="parameters"
check("parameters")

# %% [markdown]
# ## How much work
#
# After the number of parameters comes the number of operations. A product of a vector with a
# matrix takes one multiplication and one addition for each weight, so 2 *FLOPs* per weight
# (lesson 10). Attention needs two more products, which use no parameters. In each layer, the
# query of a token is multiplied with T keys, and T attention weights are multiplied with T
# values. Each of the two takes $2TD$ FLOPs, so together they take $4TD$. (With a causal mask
# half of that would be enough, but our attention also computes the masked half.)
#
# **Task.** Write `flops_per_token`. An embedding is a lookup, not a product. The head is a
# product, tied or not.

# %% The FLOPs of a token exercise="flops"
#| export
def flops_per_token(vocab_size, context, embed_dim, layers):
    """The floating-point operations of a forward pass, for each of `context` tokens.

    returns  int: 2 for each weight of a matrix that a token is multiplied with, including the
             head but no embeddings, biases or norms; and 4 * context * embed_dim per layer,
             for the products of queries with keys and of attention weights with values

    >>> flops_per_token(50257, 1024, 768, 12)
    284812800

    Source: Kaplan et al., Scaling laws for neural language models (2020), section 2.1.
    """
    ### BEGIN SOLUTION
    weights = 12 * layers * embed_dim**2 + vocab_size * embed_dim
    return 2 * weights + 4 * layers * context * embed_dim
    ### END SOLUTION

# %% checks="flops"
check("flops")

# %% [markdown]
# The bars compare three sizes: the model of names, the model of the milestone, and the smallest
# GPT-2. The shares come from `parameters_of` and `flops_per_token`: with 0 layers only the
# tables and the last norm are left, and with a context of 0 the products of attention are
# missing. Predict which part does most of the work.

# %% tags=["answer", "explained"]
sizes = {"names": (letters.vocab_size, 16, 48, 2), "milestone": (1024, 64, 128, 3),
         "GPT-2 small": (50257, 1024, 768, 12)}
shares = {}
for name, (V, T, D, L) in sizes.items():
    tables, everything = parameters_of(V, T, D, 0), parameters_of(V, T, D, L)
    shares[f"{name}: {everything:,} parameters"] = [tables, everything - tables, 0]
    head, work = flops_per_token(V, T, D, 0), flops_per_token(V, T, D, L)
    attention = work - flops_per_token(V, 0, D, L)
    shares[f"{name}: {work:,} FLOPs per token"] = [head, work - head - attention, attention]
figure = plot_shares(shares, ["tables and head", "blocks", "attention"])
# alt: Six bars, two for each model: its parameters and its FLOPs per token. The blocks have 96
# and 93 % in the model of names, 81 and 77 % in the milestone's, 68 and 60 % in GPT-2
# small, where the products of attention have 13 % of the FLOPs. The rest is the tables and
# the head.

# %% [markdown]
# In all three models, the matrices of the blocks do most of the work. The table and the head
# grow with the vocabulary, while the products of attention grow with the context.
#
# The two tests of this chapter show whether a model is worth this work. First check that its
# leak is 0. Then look at its held-out bits.
#
# ## Look back
#
# 1. Train the model of names with `tie=False`. Is it better than the tied model, and by how
#    much? Why might the answer be different for a vocabulary of 50,000 tokens and a large text?
# 2. Set `positions = None` in a new model of names, and train it. How can a causal model
#    without positions still know something about order?
# 3. GPT-2 has 1,024 tokens of context and D = 768. How long must a context be before the
#    products of attention take as much work as the matrices of a block?
# 4. At `lr=1e-2`, the model with `init_gpt` ends at 3.7, the one without it at 3.6, and the one
#    without it and without warm-up at 3.5. How large is a step of AdamW compared with the
#    weights, with and without `init_gpt`?
#
# PyTorch: `torch.nn.TransformerEncoderLayer(d_model, nhead, dim_feedforward, activation=...,
# batch_first=True, norm_first=True)` is our block. Without `norm_first=True` it is post-norm.
# Causality is an argument of every call, `layer(x, src_mask=mask, is_causal=True)`, with a
# mask that is True where attention is *not* allowed. `torch.nn.GELU(approximate="tanh")` is our
# GELU. PyTorch has no GPT; nanoGPT by Andrej Karpathy is the usual small one.

# %% [markdown] tags=["answer"]
# 2. Under a causal mask, the first token sees one token and the tenth sees ten. So the mean
#    over what a token sees depends on its position.
# 3. Per token, the matrices of a block take 12 D^2 multiplications, and the products of
#    attention 2 T D. Both are equal at T = 6 D, 4,608 tokens.
