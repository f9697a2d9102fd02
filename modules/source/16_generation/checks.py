# The checks of lesson 16, by exercise. `check("sample")` in the chapter runs the visible ones.

# %% setup
import numpy as np


# %% sample points=1
def test_sample():
    pass


# %% temperature points=1
def test_temperature():
    pass


# %% top-k points=1
def test_top_k():
    pass


# %% top-p points=1
def test_top_p():
    pass


# %% generate points=1
def test_generate():
    pass


# %% kv-cache points=1
def test_kv_cache():
    pass


# %% attend-cached points=1
def test_attend_cached():
    pass


# %% step points=1
def test_step():
    pass


# %% cached-logits points=1
def test_cached_logits():
    pass


# %% cache-bytes points=1
def test_cache_bytes():
    pass


# %% slide points=1
def test_slide():
    pass


# %% accept points=1
def test_accept():
    pass


# %% verified points=1
def test_verified():
    pass


# %% speculative points=1
def test_speculative():
    pass


# %% beam points=1
def test_beam():
    pass
