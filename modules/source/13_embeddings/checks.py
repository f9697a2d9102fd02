# The checks of lesson 13, by exercise. `check("windows")` in the chapter runs the visible ones.

# %% setup
import math

import numpy as np

from tinytorch.core.tensor import Tensor


# %% bigram-counts points=2
def test_each_pair_of_neighbours_is_counted():
    got = np.asarray(bigram_counts([0, 1, 1, 2, 0, 1], 3)).tolist()
    assert got == [[0, 2, 0], [0, 1, 1], [1, 0, 0]], f"yours is {got}"


# %% probabilities points=2
def test_rows_sum_to_1():
    got = probabilities(np.array([[0, 3, 1], [1, 0, 1], [2, 2, 0]]), 0)
    assert np.allclose(got, [[0, 0.75, 0.25], [0.5, 0, 0.5], [0.5, 0.5, 0]]), f"yours is {got}"


# %% sample points=2
def test_a_certain_chain_is_followed():
    p = np.roll(np.eye(4), 1, axis=1)
    got = list(sample_bigram(p, 1, 0, np.random.default_rng(0)))
    assert got == [2, 3], f"yours is {got}"


# %% bits points=2
def test_bits_are_not_nats():
    assert math.isclose(float(bits_per_character(6 * math.log(2), 4)), 1.5)


# %% windows points=2
def test_windows_and_targets():
    x, y = windows([5, 6, 7, 8], 2)
    assert np.asarray(x).tolist() == [[5, 6], [6, 7]] and np.asarray(y).tolist() == [7, 8]


# %% name-windows points=2
def test_names_are_kept_apart():
    x, y = name_windows([np.array([5, 6]), np.array([7])], 2, end=0)
    assert np.asarray(y).tolist() == [5, 6, 0, 7, 0]


# %% embedding-forward points=2
def test_rows_are_looked_up():
    got = np.asarray(embedding_forward(np.array([[1.0], [2.0]]), np.array([1, 0]))).tolist()
    assert got == [[2.0], [1.0]], f"yours is {got}"


# %% embedding-gradient points=2
def test_repeated_ids_add_up():
    got = embedding_gradient(np.ones((2, 2)), None, np.zeros((3, 2)), np.array([1, 1]))
    assert np.allclose(got, [[0, 0], [2, 2], [0, 0]]), f"yours is {got}"


# %% embedding-layer points=2
def test_the_layer_looks_up():
    layer = Embedding(5, 3)
    assert layer([[1, 2]]).shape == (1, 2, 3)


# %% window-model points=2
def test_logits_have_a_row_for_each_window():
    assert WindowModel(7, 3, 2, 4)(np.zeros((5, 3), int)).shape == (5, 7)


# %% nearest points=2
def test_the_smallest_angle_is_first():
    got = nearest(np.array([[1.0, 0.0], [0.0, 1.0], [9.0, 1.0], [-1.0, 0.0]]), 0, 2)
    assert np.asarray(got).tolist() == [2, 1], f"yours is {got}"


# %% rnn-step points=2
def test_the_step_by_hand():
    x, h, w, u, b = (Tensor(v) for v in ([[1.0]], [[2.0]], [[3.0]], [[-1.0]], [-0.5]))
    got = float(rnn_step(x, h, w, u, b).data[0, 0])
    assert math.isclose(got, math.tanh(0.5), abs_tol=1e-6), f"yours is {got}"


# %% recurrent-model points=2
def test_logits_for_each_step():
    logits, h = RecurrentModel(7, 2, 4)(np.zeros((5, 3), int))
    assert logits.shape == (5, 3, 7) and h.shape == (5, 4)


# %% witten-bell points=2
def test_by_hand():
    got = witten_bell(np.array([0.5, 0.5]), np.array([3, 1]), 4, 2)
    assert np.allclose(got, [2 / 3, 1 / 3]), f"yours is {got}"


# %% ngram points=2
def test_shares_by_hand():
    got = NGram(2).fit([0, 1, 0, 1, 0, 1], 2).next([0])
    assert math.isclose(float(got.sum()), 1), f"yours is {got}"
