# From modules/source/15_transformers/transformers_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 0f741ee3616ffe44
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

from tinytorch.core.activations import Activation, GELU, gelu as composed_gelu
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

__all__ = [
    "feed_forward", "TransformerBlock", "init_gpt", "GPT", "text_batch", "lm_loss", "decay_groups", "gelu_forward",
    "gelu_rule", "GELU", "held_out_bits", "causality_leak", "parameters_of", "flops_per_token",
]


def feed_forward(embed_dim, hidden=None, dropout=0.0):
    """The feed-forward network of a transformer block: the same two layers for each token.

    returns    Sequential of Dense, GELU, Dense and, if dropout > 0, Dropout; it maps a Tensor
               of shape (..., embed_dim) to one of the same shape

    >>> feed_forward(8)
    Sequential(Dense(8, 32), GELU(), Dense(32, 8))
    """
    hidden = 4 * embed_dim if hidden is None else hidden
    layers = [Dense(embed_dim, hidden), GELU(), Dense(hidden, embed_dim)]
    return Sequential(*layers, *([Dropout(dropout)] if dropout else []))


class TransformerBlock(Module):
    """A pre-norm transformer block: attention, then the feed-forward network. Each of them adds
    its result to its input.

    forward takes a Tensor of shape (batch, tokens, embed_dim) and returns one of that shape.

    >>> TransformerBlock(8, 2)(Tensor(np.ones((1, 3, 8), "float32"))).shape
    (1, 3, 8)
    """

    def __init__(self, embed_dim, num_heads, dropout=0.0, rotary=False, norm=LayerNorm):
        self.norm1 = norm(embed_dim)
        self.attention = MultiHeadAttention(embed_dim, num_heads, dropout, causal=True,
                                            rotary=rotary)
        self.dropout = Dropout(dropout) if dropout else Sequential()
        self.norm2 = norm(embed_dim)
        self.mlp = feed_forward(embed_dim, dropout=dropout)

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.mlp(self.norm2(x))


def init_gpt(model, rng=None):
    """Initialize the weights of a stack of transformer blocks as nanoGPT does, in place."""
    rng, parameters = generator(rng), model.named_parameters()
    blocks = sum(isinstance(part, TransformerBlock) for part in model.modules())
    for name, p in parameters:
        if p.ndim == 2:
            ends = name.endswith(("attention.out.weights", "mlp.2.weights"))
            p.data[...] = rng.normal(0, 0.02 / math.sqrt(2 * blocks) if ends else 0.02, p.shape)
        elif name.endswith("bias"):
            p.data[...] = 0


class GPT(Module):
    """A language model: a stack of transformer blocks between an embedding and a head.

    forward takes token ids, ints of shape (batch, tokens) from 0 to V - 1. It returns a Tensor
    of shape (batch, tokens, V): at each position, the logits of the token after it. More than
    `context` tokens raise a ValueError that contains both numbers. For an id outside of the
    vocabulary, Embedding raises an IndexError.

    >>> GPT(50, context=16, embed_dim=32, layers=2, num_heads=4)(np.array([[3, 1, 4]])).shape
    (1, 3, 50)
    """

    def __init__(self, vocab_size, context, embed_dim, layers, num_heads, dropout=0.0, tie=True,
                 rotary=False):
        check_counts(vocab_size=vocab_size, context=context, embed_dim=embed_dim, layers=layers)
        self.vocab_size, self.context = vocab_size, context
        self.dropout = Dropout(dropout) if dropout else Sequential()
        self.embedding = Embedding(vocab_size, embed_dim)
        self.positions = None if rotary else Embedding(context, embed_dim)
        self.blocks = [TransformerBlock(embed_dim, num_heads, dropout, rotary)
                       for _ in range(layers)]
        self.norm = LayerNorm(embed_dim)
        self.head = None if tie else Dense(embed_dim, vocab_size, bias=False)
        init_gpt(self)

    def forward(self, ids):
        ids = as_rows(ids)  # an array of ints with two axes
        tokens = ids.shape[1]
        if tokens > self.context:
            raise ValueError(f"{tokens} tokens are more than the context of {self.context}\n"
                             "give the last ones only: ids[:, -model.context:]")
        x = self.embedding(ids)
        if self.positions is not None:
            x = x + self.positions.weight[:tokens]
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return x @ self.embedding.weight.T if self.head is None else self.head(x)

    def generate(self, ids, *arguments, **options):
        """Continue ids: see `generate` in lesson 16."""
        return generation_lesson().generate(self, ids, *arguments, **options)

    def step(self, ids, cache):
        """The logits of new tokens, computed with a key-value cache: see lesson 16."""
        return generation_lesson().step(self, ids, cache)


def text_batch(ids, batch, context, rng):
    """Random windows of a text, and the tokens that follow.

    ids      ndarray of ints, shape (n,): the text, n > context
    returns  (x, y), int ndarrays of shape (batch, context): y[b, t] is the token that follows
             x[b, t] in the text

    A text that is too short raises a ValueError that contains n and context.
    """
    if len(ids) <= context:
        raise ValueError(f"{len(ids)} tokens are too few for a window of {context} tokens and "
                         "the token after it")
    check_counts(batch=batch, context=context)
    rng = generator(rng)
    starts = rng.integers(0, len(ids) - context, batch)
    at = starts[:, None] + np.arange(context)
    return ids[at], ids[at + 1]


def lm_loss(model, x, y):
    """The mean cross-entropy of the next token, in nats per token.

    model    maps ids of shape (batch, tokens) to logits of shape (batch, tokens, V)
    x, y     int arrays of shape (batch, tokens), as `text_batch` returns them
    returns  Tensor of shape ()
    """
    return cross_entropy(model(x), y)


def decay_groups(model, weight_decay):
    """The parameters of a model as two groups for an optimizer.

    >>> [len(group["params"]) for group in decay_groups(GPT(50, 16, 32, 1, 4), 0.1)]
    [4, 12]
    """
    tables = {id(part.weight) for part in model.modules() if isinstance(part, Embedding)}
    matrices, others = [], []
    for p in model.parameters():
        (matrices if p.ndim >= 2 and id(p) not in tables else others).append(p)
    return [{"params": matrices, "weight_decay": weight_decay},
            {"params": others, "weight_decay": 0.0}]


def gelu_forward(x, saved):
    """The GELU of lesson 03 as one operation: 0.5 x (1 + t) with
    t = tanh(c (x + 0.044715 x^3)) and c = sqrt(2 / pi).

    x        ndarray of floats, any shape
    returns  ndarray of the same shape and dtype

    >>> gelu_forward(np.array([-1000.0, 0.0, 1000.0]), {}).tolist()
    [-0.0, 0.0, 1000.0]
    """
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


def gelu_rule(g, out, x, saved):
    """The vector-Jacobian product of `gelu_forward`.

    x        its input, ndarray of the same shape
    returns  ndarray of the shape and dtype of x: g times the derivative of GELU at x

    >>> gelu_rule(np.array([10.0]), None, np.array([0.0]), {"tanh": np.array([0.0])})
    array([5.])
    """
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


def held_out_bits(model, ids, characters, stride=None):
    """Bits per character of a text that the model was not trained on.

    ids         int array of shape (n,), n > model.context: the text
    characters  array of shape (V,): the number of characters of each token
    returns     float: the bits of all scored tokens, divided by their characters
    """
    context, ids, characters = model.context, np.asarray(ids), np.asarray(characters)
    stride = max(1, context // 2) if stride is None else stride
    check_counts(stride=stride)
    if len(ids) <= context:
        raise ValueError(f"{len(ids)} tokens are too few for a window of {context} tokens and "
                         "the token after it")
    nats, total = 0.0, 0  # of all scored targets: their losses, their characters
    scored = min(stride, context - context // 2)
    starts = np.arange(0, len(ids) - context, stride)
    windows = ids[starts[:, None] + np.arange(context + 1)]
    with evaluation_mode(model):
        for i in range(0, len(windows), 32):
            x, y = windows[i : i + 32, :-1], windows[i : i + 32, 1:]
            losses = cross_entropy(model(x), y, reduction="none").data[:, -scored:]
            nats += losses.sum(dtype="float64")
            total += characters[y[:, -scored:]].sum()
    return float(bits_per_character(nats, total))


def causality_leak(model, ids):
    """How much a model's predictions depend on later tokens.

    model    a Module that maps ids of shape (1, T) to logits of shape (1, T, V)
    ids      int array of shape (T,)
    returns  float

    >>> causality_leak(GPT(8, context=4, embed_dim=16, layers=1, num_heads=2), [0, 3, 1, 2])
    0.0
    """
    ids = np.asarray(ids)
    changes = [0.0]
    with evaluation_mode(model):
        logits = model(ids[None]).data[0]
        for k in range(len(ids) - 1):
            later = np.arange(len(ids)) > k
            changed = np.where(later, (ids + 1) % logits.shape[-1], ids)
            others = model(changed[None]).data[0]
            changes.append(abs(others - logits)[: k + 1].max())
    return float(np.max(changes))


def parameters_of(vocab_size, context, embed_dim, layers, tie=True):
    """The number of parameters of GPT(vocab_size, context, embed_dim, layers, ...).

    returns  int, computed from the four sizes without building a model

    >>> parameters_of(50257, 1024, 768, 12)
    124439808
    """
    block = 12 * embed_dim**2 + 13 * embed_dim
    tables = (vocab_size * (1 if tie else 2) + context) * embed_dim
    return tables + layers * block + 2 * embed_dim


def flops_per_token(vocab_size, context, embed_dim, layers):
    """The floating-point operations of a forward pass, for each of `context` tokens.

    returns  int

    >>> flops_per_token(50257, 1024, 768, 12)
    284812800
    """
    weights = 12 * layers * embed_dim**2 + vocab_size * embed_dim
    return 2 * weights + 4 * layers * context * embed_dim
