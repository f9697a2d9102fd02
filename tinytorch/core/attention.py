# From modules/source/14_attention/attention_dev.py by `tito export`, docstrings shortened; edit that file.
# checksum: 27d77546276a6065
"""Attention: Each position of a sequence looks up what it needs at the others."""

import math

import numpy as np

from tinytorch.core.activations import softmax
from tinytorch.core.autograd import derivative
from tinytorch.core.layers import Dense, Module, generator
from tinytorch.core.losses import as_float_tensor
from tinytorch.core.tensor import Tensor, Variable, apply, concatenate, operand, stack, where, wrap
from tinytorch.nn.additions import dropout
from tinytorch.support.arguments import check_causal, check_heads, check_positions, check_query_key_value
from tinytorch.support.arrays import keep_freed_memory
from tinytorch.support.forward import MOST_WEIGHTS, attention_blocks

__all__ = [
    "attention_scores", "causal_mask", "masked_softmax", "scaled_dot_product_attention", "hard_lookup", "running_mean",
    "running_counts", "sinusoidal", "LearnedPositions", "rope", "split_heads", "merge_heads", "head_views",
    "weights_forward", "attention_forward", "softmax_rule", "attention_rule", "MultiHeadAttention", "fuse_attention",
    "padding_mask", "chunked_attention",
]


def attention_scores(query, key, scale=None):
    """How well each query fits each key: their dot products, scaled.

    query    Tensor of shape (..., Tq, d): Tq queries of d numbers
    key      Tensor of shape (..., Tk, d)
    returns  Tensor of shape (..., Tq, Tk): row i holds the scores of query i

    >>> attention_scores(Tensor([[1.0, 2.0, 0.0, 0.0]]), Tensor([[4.0, 0.0, 9.0, 9.0]]))
    Tensor([[2.]])
    """
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    return query @ key.swapaxes(-1, -2) * scale


def causal_mask(queries, keys):
    """Which keys each query may look at, when the queries are the last positions of the keys.

    returns  bool ndarray of shape (queries, keys), True where query i may look at key j: the
             last query at all keys, the one before it at all but the last key, and so on
    """
    return np.tri(queries, keys, keys - queries, dtype=bool)


def masked_softmax(scores, mask=None):
    """Softmax along the last axis, over the keys that the mask allows.

    scores   Tensor of shape (..., Tq, Tk)
    mask     None, or an array or Tensor that broadcasts to the shape of `scores`
    returns  Tensor of the same shape: weights >= 0, exactly 0 where the mask is False
    """
    if mask is None:
        return softmax(scores)
    is_bool = operand(mask).dtype == bool
    scores = where(mask, scores, -np.inf) if is_bool else scores + mask
    empty = (scores.data == -np.inf).all(axis=-1, keepdims=True)
    return where(empty, 0, softmax(where(empty, 0, scores)))


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0,
                                 is_causal=False, scale=None):
    """For each query, the mean of the values, weighted by how well the query fits their keys.

    query      Tensor of shape (..., Tq, d)
    key        Tensor of shape (..., Tk, d)
    value      Tensor of shape (..., Tk, e)
    returns    Tensor of shape (..., Tq, e)

    ValueError when is_causal=True is combined with attn_mask. ValueError when is_causal=True
    and Tq is not Tk.
    """
    query, key, value = map(as_float_tensor, (query, key, value))
    check_query_key_value(query, key, value)
    if is_causal:
        check_causal(query, key, attn_mask)  # raises the two ValueErrors
    if is_causal:
        attn_mask = causal_mask(query.shape[-2], key.shape[-2])
    weights = masked_softmax(attention_scores(query, key, scale), attn_mask)
    if dropout_p:
        weights = dropout(weights, dropout_p)
    return weights @ value


def hard_lookup(keys, values, query):
    """The value of the key that fits the query best, looked up by attention.

    keys     Tensor of shape (n, d)
    values   Tensor of shape (n, e)
    query    Tensor of shape (d,)
    returns  Tensor of shape (e,): the value of that key, up to rounding
    """
    return scaled_dot_product_attention(query.unsqueeze(0), keys, values, scale=1000.0)[0]


def running_mean(values):
    """The mean of each row and all rows before it, computed by causal attention.

    values   Tensor of shape (..., T, e)
    returns  Tensor of the same shape
    """
    same = Tensor(np.zeros((values.shape[-2], 1), values.dtype))
    return scaled_dot_product_attention(same, same, values, is_causal=True)


def running_counts(ids, vocab_size):
    """How often each token has occurred up to each position, computed with `running_mean`.

    ids         int array of shape (T,), from 0 to vocab_size - 1
    returns     float32 Tensor of shape (T, vocab_size)
    """
    one_hot = Tensor(np.eye(vocab_size, dtype=np.float32)[ids])
    return running_mean(one_hot) * np.arange(1, len(ids) + 1)[:, None]


def sinusoidal(T, D):
    """Sinusoidal positional encodings.

    returns  float32 ndarray of shape (T, D): row t is sin(t f0), cos(t f0), sin(t f1),
             cos(t f1), ... with f_i = 10000 ** (-2 i / D)
    """
    angles = np.arange(T)[:, None] * 10000.0 ** (-np.arange(0, D, 2) / D)
    out = np.empty((T, D), np.float32)
    out[:, 0::2] = np.sin(angles)
    out[:, 1::2] = np.cos(angles)[:, : D // 2]
    return out


class LearnedPositions(Module):
    """Adds a learned vector to each position of a sequence.

    forward takes x of shape (B, T, D) and returns x plus the first T rows of the weight.
    ValueError when T is larger than the context.

    .weight    float32 Variable of shape (context, D), from the normal distribution with
               standard deviation 0.02

    >>> LearnedPositions(5, 2, rng=0)(Tensor(np.zeros((1, 3, 2), "float32"))).shape
    (1, 3, 2)
    """

    def __init__(self, context, embed_dim, rng=None):
        weight = generator(rng).normal(0, 0.02, (context, embed_dim))
        self.weight = Variable(weight.astype(np.float32))

    def forward(self, x):
        T, context = x.shape[-2], len(self.weight)
        if T > context:
            raise ValueError(f"{T} positions, and there are vectors for {context} only")
        return x + self.weight[:T]

    def __repr__(self):
        return f"LearnedPositions({', '.join(map(str, self.weight.shape))})"


def rope(x, positions, base=10000.0):
    """Rotary position embedding: rotate each pair of numbers by an angle that grows with the
    position.

    x          Tensor of shape (..., T, d), d even: queries or keys
    positions  int array of shape (T,): the position of each row
    returns    Tensor of the shape and dtype of `x`

    ValueError when d is odd.

    >>> rope(Tensor([[1.0, 0.0, 1.0, 0.0]]), np.array([1])).numpy().round(3)
    array([[0.54 , 0.841, 1.   , 0.01 ]], dtype=float32)
    """
    check_positions(x, positions)  # raises the ValueError
    d = x.shape[-1]
    angles = np.asarray(positions)[:, None] * base ** (-np.arange(0, d, 2) / d)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape)


def split_heads(x, heads):
    """The numbers of each position, divided among heads.

    x        Tensor of shape (B, T, D)
    returns  Tensor of shape (B, heads, T, D / heads): head 0 has the first D / heads numbers of
             every position, head 1 the next ones
    """
    check_heads(x.shape[-1], heads)  # a ValueError when it does not divide D
    B, T, D = x.shape
    return x.reshape(B, T, heads, D // heads).swapaxes(1, 2)


def merge_heads(x):
    """The inverse of `split_heads`: the heads of each position, one after the other.

    x        Tensor of shape (B, heads, T, d)
    returns  Tensor of shape (B, T, heads * d)
    """
    B, H, T, d = x.shape
    return x.swapaxes(1, 2).reshape(B, T, H * d)


def head_views(qkv, heads):
    """Views of q, k and v in an array or Tensor: (B, T, 3D) becomes (3, B, heads, T, d)."""
    if isinstance(qkv, Tensor) and not qkv.requires_grad:  # nothing is recorded, arrays suffice
        return [wrap(view) for view in head_views(qkv.data, heads)]
    B, T, width = qkv.shape
    return qkv.reshape(B, T, 3, heads, width // (3 * heads)).transpose(2, 0, 3, 1, 4)


def weights_forward(q, k, causal):
    """The attention weights of arrays: the softmax of q k^T / sqrt(d) along the last axis.

    q        ndarray of shape (..., Tq, d)
    k        ndarray of shape (..., Tk, d)
    returns  ndarray of shape (..., Tq, Tk), of the dtype of `q`
    """
    weights = q @ k.swapaxes(-1, -2)
    weights *= 1 / math.sqrt(q.shape[-1])
    if causal:
        weights += np.where(causal_mask(*weights.shape[-2:]), 0, -np.inf)
    weights -= weights.max(-1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(-1, keepdims=True)
    return weights


def attention_forward(qkv, heads, causal, saved):
    """Self-attention of all heads, as one operation on arrays.

    qkv      ndarray of shape (B, T, 3D), each row q, k and v of one position
    returns  ndarray of shape (B, T, D), of the dtype of `qkv`: q, k and v are split into heads,
             each head computes scaled dot-product attention, and the heads are merged
    """
    B, T, width = qkv.shape
    q, k, v = head_views(qkv, heads)
    weights = saved["weights"] = weights_forward(q, k, causal)
    return (weights @ v).swapaxes(1, 2).reshape(B, T, width // 3)


def softmax_rule(g, weights):
    """The gradient of scores, given the gradient of their softmax along the last axis.

    g        ndarray of shape (..., n): the gradient of the weights
    weights  ndarray of the same shape: the softmax
    returns  ndarray of the same shape

    >>> softmax_rule(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    array([ 0.25, -0.25])
    """
    out = weights * g
    out -= weights * out.sum(-1, keepdims=True)
    return out


def attention_rule(g, out, qkv, heads, causal, saved):
    """The gradient of the `qkv` that attention_forward was called with.

    g        ndarray of shape (B, T, D): the upstream gradient
    saved    dict: saved["weights"] are the weights, of shape (B, heads, T, T)
    returns  ndarray of the shape and dtype of `qkv`
    """
    weights, (q, k, v) = saved["weights"], head_views(qkv, heads)
    g = g.reshape(*g.shape[:2], heads, -1).swapaxes(1, 2)  # (B, heads, T, d)
    gradient = np.full(qkv.shape, np.nan, qkv.dtype)  # a part left unwritten stays nan
    dq, dk, dv = head_views(gradient, heads)  # writing into these views fills `gradient`
    dv[...] = weights.swapaxes(-1, -2) @ g
    scores = softmax_rule(g @ v.swapaxes(-1, -2), weights)
    scores *= 1 / math.sqrt(q.shape[-1])
    dq[...] = scores @ k
    dk[...] = scores.swapaxes(-1, -2) @ q
    return gradient


# The lambda looks up `attention_rule` at each call: if you correct it and run its cell again,
# the corrected rule is used.
derivative(attention_forward, lambda *arrays, **options: attention_rule(*arrays, **options))
keep_freed_memory()  # reuse the memory of the (T, T) arrays of the last step, as in lesson 10


attention_blocks_forward, attention_blocks_rule = attention_blocks(
    head_views, lambda *given: weights_forward(*given), lambda *given: softmax_rule(*given))
derivative(attention_blocks_forward, attention_blocks_rule)


def fused_attention(qkv, heads, causal):
    """`attention_forward` as a Tensor operation; in blocks where there are many weights."""
    B, T, _ = qkv.shape
    if B * heads * T * T > MOST_WEIGHTS:  # 2^18: about 1 MB
        return apply(attention_blocks_forward, qkv, heads=heads, causal=causal)
    return apply(attention_forward, qkv, heads=heads, causal=causal, saved={})


class MultiHeadAttention(Module):
    """Multi-head self-attention: every position looks at the positions of the same sequence.

    forward takes x of shape (B, T, D), and attn_mask, None or a mask as in `masked_softmax`
    that broadcasts to (B, heads, T, T). forward returns a Tensor of shape (B, T, D).

    >>> MultiHeadAttention(8, 2)(Tensor(np.ones((4, 3, 8), "float32"))).shape
    (4, 3, 8)
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
        mask = self.combined_mask(x.shape[1], attn_mask)
        heads = scaled_dot_product_attention(*self.project(x), mask, dropout_p)
        return self.out(merge_heads(heads))

    def project(self, x, positions=None):
        """The queries, keys and values of all heads.

        x          Tensor of shape (B, T, D)
        positions  int array of shape (T,), for `rope`
        returns    q, k, v, Tensors of shape (B, heads, T, D / heads)
        """
        q, k, v = head_views(self.qkv(x), self.num_heads)
        if self.rotary:
            positions = np.arange(x.shape[1]) if positions is None else positions
            q, k = rope(q, positions), rope(k, positions)
        return q, k, v

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


def padding_mask(lengths, keys):
    """Which keys belong to each sequence of a padded batch.

    returns  bool ndarray of shape (B, 1, 1, keys), which broadcasts to (B, heads, Tq, keys):
             True for the first lengths[b] keys of sequence b
    """
    return np.arange(keys) < np.asarray(lengths)[:, None, None, None]


def chunked_attention(q, k, v, block, is_causal=False):
    """Scaled dot-product attention, computed over blocks of keys: there is no (Tq, Tk) array of
    scores, and none for a mask.

    q          Tensor or array of floats, of shape (..., Tq, d)
    k, v       of shapes (..., Tk, d) and (..., Tk, e)
    returns    Tensor of shape (..., Tq, e) and the dtype of `q`: up to rounding, the result of
               scaled_dot_product_attention(q, k, v)
    """
    q, k, v = map(operand, (q, k, v))
    Tq, Tk = q.shape[-2], k.shape[-2]
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
