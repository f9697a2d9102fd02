# The checks of lesson 11, by exercise. `check("normalized")` in the chapter runs the visible ones.

# %% setup
import numpy as np


# %% spread points=2
def test_spread():
    assert np is not None


# %% normalized points=2
def test_normalized():
    assert np is not None


# %% layer-norm-forward points=2
def test_layer_norm_forward():
    assert np is not None


# %% layer-norm-rule points=2
def test_layer_norm_rule():
    assert np is not None


# %% layer-norm points=2
def test_layer_norm():
    assert np is not None


# %% running points=2
def test_running():
    assert np is not None


# %% batch-norm points=2
def test_batch_norm():
    assert np is not None


# %% batch-norm-layer points=2
def test_batch_norm_layer():
    assert np is not None


# %% rms-norm points=2
def test_rms_norm():
    assert np is not None


# %% folded points=2
def test_folded():
    assert np is not None


# %% residual points=2
def test_residual():
    assert np is not None
