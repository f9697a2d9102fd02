"""The pictures of lesson 14."""

import re

import numpy as np
import pytest
from svg_contents import assert_on_page

from tinytorch.core.attention import LearnedPositions, MultiHeadAttention
from tinytorch.core.embeddings import Embedding
from tinytorch.core.layers import Dense, Sequential, manual_seed
from tinytorch.core.optimizers import Adam
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.pictures.attention import (
    HALF,
    LEARNED,
    accuracy,
    cost,
    draw_lookup,
    draw_map,
    draw_masks,
    draw_positions,
    draw_rotation,
    draw_split,
    induction_score,
    repeated,
    train,
    varied,
)
from tinytorch.support.svg import WIDTH


@pytest.mark.parametrize(
    "drawing",
    [
        draw_lookup(["east", "north", "west"], [2.0, 1.5, -2.0], [0.0, 0.0, 1.0], [1, 2, 3]),
        draw_masks({"one": np.tri(4), "another: wrong": np.tri(2, 7)}),
        draw_split(3, 4, 2),
        draw_split(2, 6, 2),
    ],
    ids=["lookup", "masks", "two heads", "wide heads"],
)
def test_every_cell_is_on_the_page(drawing):
    assert_on_page(drawing)


def test_a_map_shows_the_weights_it_is_given():
    weights = np.array([[1.0, 0.0], [0.25, 0.75]])
    (image,) = draw_map(weights, "ab", ["one", "two"]).axes[0].images
    assert np.array_equal(image.get_array(), weights)
    (image,) = draw_positions(weights).axes[0].images
    assert np.array_equal(image.get_array(), weights)


def test_the_first_picture_shows_letters_of_the_repeat_task():
    letters, weights = LEARNED
    assert len(letters) == 2 * HALF - 1 and letters[:11] == letters[12:]
    assert weights.shape == (12, 23) and np.allclose(weights.sum(axis=1), 1, atol=0.03)
    assert (weights.argmax(axis=1) == np.arange(12)).all()


def test_numbers_moved_by_a_reshape_are_hatched():
    # the two numbers of head 0 at position 0, and those of head 1 at the last one, stay in place
    assert draw_split(3, 4, 2).svg().count('class="cell wrong') == 8
    assert draw_split(1, 4, 2).svg().count('class="cell wrong') == 0


def test_rotating_both_by_the_same_angle_keeps_the_dot_product():
    drawing = draw_rotation([1.0, 0.3], [0.8, 0.6], 0.5, [(3, 1), (7, 5)])
    products = re.findall(r"dot product ([-\d.]+)", drawing.description)
    z = complex(1, 0.3) * np.exp(1j) * complex(0.8, -0.6)
    assert products == [f"{z.real:.2f}"] * 2
    moved = draw_rotation([1.0, 0.3], [0.8, 0.6], 0.5, [(3, 1), (7, 4)])
    assert len(set(re.findall(r"dot product ([-\d.]+)", moved.description))) == 2
    for x in re.findall(r'<text class="[a-z]+" x="([\d.]+)"', drawing.svg()):
        assert 0 < float(x) < WIDTH


def test_the_repeated_letters_and_only_they_are_scored():
    def knows_the_first_half(ids):
        wanted = np.zeros((len(ids), 2 * HALF - 1), int)
        wanted[:, HALF - 1 :] = ids[:, :HALF]
        return Tensor(np.eye(10)[wanted])

    assert accuracy(knows_the_first_half) == 1.0
    assert 0.05 < accuracy(lambda ids: Tensor(np.eye(10)[np.zeros_like(ids)])) < 0.15


def test_letters_that_can_be_predicted_follow_one_that_has_occurred():
    x, y, known = varied(np.random.default_rng(0), 30)
    for ids, following, scored in zip(x, y, known):
        for t in range(35):
            earlier = np.flatnonzero(ids[:t] == ids[t])
            assert scored[t] == (len(earlier) > 0)
            assert not scored[t] or following[t] == ids[earlier[-1] + 1]


def test_a_head_that_looks_after_earlier_occurrences_has_the_score_1():
    x, *_ = varied(np.random.default_rng(0), 4, 11, 11)
    weights = np.zeros((4, 2, 35, 35))
    rows = np.arange(10, 35)
    weights[:, 0, rows, rows - 10] = weights[:, 1, rows, rows - 11] = 1
    assert induction_score(weights, x).tolist() == [1, 0]


def test_arrays_that_two_operations_keep_count_once():
    x = Variable(np.ones((2, 3, 3)))
    found = cost(lambda: (x * x).exp() + x, 3)
    assert found.startswith("3 operations, 3 arrays of (T, T), ")


@pytest.mark.slow
def test_a_layer_learns_the_task_and_looks_where_the_first_picture_shows():
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
    x, *_ = repeated(rng, 20)
    for ids in (x, rng.integers(0, 10, x.shape)):  # a fixed distance, whatever the letters are
        weights = model[2].attention_weights(model[:2](ids)).mean(axis=(0, 1))
        assert (weights[HALF - 1 :].argmax(axis=1) == np.arange(HALF)).all()
