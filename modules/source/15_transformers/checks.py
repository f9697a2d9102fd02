# The checks of lesson 15, by exercise.

# %% setup
import numpy as np


# %% gelu points=2
def test_gelu_is_there():
    assert callable(gelu_forward), "not there"


# %% feed-forward points=2
def test_feed_forward_is_there():
    assert callable(feed_forward), "not there"


# %% block points=2
def test_block_is_there():
    assert callable(TransformerBlock), "not there"


# %% init points=2
def test_init_is_there():
    assert callable(init_gpt), "not there"


# %% gpt points=2
def test_gpt_is_there():
    assert callable(GPT), "not there"


# %% text-batch points=2
def test_text_batch_is_there():
    assert callable(text_batch), "not there"


# %% lm-loss points=2
def test_lm_loss_is_there():
    assert callable(lm_loss), "not there"


# %% decay-groups points=2
def test_decay_groups_is_there():
    assert callable(decay_groups), "not there"


# %% held-out-bits points=2
def test_held_out_bits_is_there():
    assert callable(held_out_bits), "not there"


# %% causality-leak points=2
def test_causality_leak_is_there():
    assert callable(causality_leak), "not there"


# %% parameters points=2
def test_parameters_is_there():
    assert callable(parameters_of), "not there"


# %% flops points=2
def test_flops_is_there():
    assert callable(flops_per_token), "not there"
