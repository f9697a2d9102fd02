# The checks of lesson 14, by exercise. `check("scores")` in the chapter runs the visible ones.

# %% setup
import numpy as np


# %% scores points=2
def test_scores():
    assert callable(attention_scores)


# %% causal-mask points=2
def test_causal_mask():
    assert callable(causal_mask)


# %% masked-softmax points=2
def test_masked_softmax():
    assert callable(masked_softmax)


# %% attention points=2
def test_attention():
    assert callable(scaled_dot_product_attention)


# %% by-hand points=2
def test_by_hand():
    assert callable(hard_lookup)


# %% heads points=2
def test_heads():
    assert callable(split_heads)


# %% forward points=2
def test_forward():
    assert callable(attention_forward)


# %% rule points=2
def test_rule():
    assert callable(softmax_rule)


# %% multi-head points=2
def test_multi_head():
    assert callable(MultiHeadAttention)


# %% padding points=2
def test_padding():
    assert callable(padding_mask)


# %% sinusoidal points=2
def test_sinusoidal():
    assert callable(sinusoidal)


# %% learned points=2
def test_learned():
    assert callable(LearnedPositions)


# %% rope points=2
def test_rope():
    assert callable(rope)


# %% chunked points=2
def test_chunked():
    assert callable(chunked_attention)
