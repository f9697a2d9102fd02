"""The repeat task: what it asks, and that attention solves it."""

import numpy as np
import pytest

from tinytorch.core.attention import LearnedPositions, MultiHeadAttention
from tinytorch.core.embeddings import Embedding
from tinytorch.core.layers import Dense, Sequential, manual_seed
from tinytorch.core.optimizers import Adam
from tinytorch.core.tensor import Tensor
from tinytorch.support.repeat_task import HALF, LETTERS, accuracy, repeated, train


def test_the_repeated_letters_and_only_they_are_scored():
    def knows_the_first_half(ids):
        wanted = np.zeros((len(ids), 2 * HALF - 1), int)
        wanted[:, HALF - 1 :] = ids[:, :HALF]
        return Tensor(np.eye(len(LETTERS))[wanted])

    assert accuracy(knows_the_first_half) == 1.0
    assert 0.05 < accuracy(lambda ids: Tensor(np.eye(10)[np.zeros_like(ids)])) < 0.15


@pytest.mark.slow
def test_a_layer_learns_it_and_looks_where_the_first_picture_says():
    manual_seed(0)
    model = Sequential(
        Embedding(10, 32),
        LearnedPositions(23, 32),
        MultiHeadAttention(32, 2, causal=True),
        Dense(32, 10),
    )
    losses = train(model, Adam(model.parameters(), 0.005), 400)
    assert len(losses) == 400 and losses[0] > 2 and losses[-1] < 0.1
    assert accuracy(model) > 0.98
    rng = np.random.default_rng(2)
    x, _ = repeated(rng, 20)
    for ids in (x, rng.integers(0, 10, x.shape)):  # a fixed distance, whatever the letters are
        weights = model[2].attention_weights(model[:2](ids)).mean(axis=(0, 1))
        assert (weights[HALF - 1 :].argmax(axis=1) == np.arange(HALF)).all()
