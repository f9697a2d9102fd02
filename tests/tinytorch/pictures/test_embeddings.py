"""The pictures of lesson 13."""

import numpy as np
import pytest
from svg_contents import assert_on_page, cells

from tinytorch.pictures.embeddings import (
    MODELS,
    draw_bigrams,
    draw_models,
    draw_one_hot,
    draw_orders,
    draw_recurrence,
    draw_sizes,
    draw_windows,
    padded_batch,
    sample_name,
)


@pytest.mark.parametrize(
    "drawing",
    [
        draw_models(MODELS),
        draw_windows("emma", 3),
        draw_windows("jo", 5),
        draw_one_hot([2, 0, 2], [[1, 5], [2, 6], [3, 7], [4, 8]]),
        draw_one_hot([2, 0, 2], [[1, 2], [10, 20], [100, 200]], gradient=True),
        draw_recurrence("emma"),
        draw_recurrence("a"),
    ],
    ids=["models", "windows", "wide windows", "look-up", "gradient", "recurrence", "one step"],
)
def test_every_cell_is_on_the_page_and_none_covers_another(drawing):
    assert cells(drawing)
    assert_on_page(drawing)


def test_a_product_of_one_hot_rows_is_computed():
    drawing = draw_one_hot([1, 0, 1], [[1, 2], [3, 4], [5, 6]], gradient=True)
    assert drawing.description == "the result is [[3, 4], [6, 8]]"
    assert draw_one_hot([1], [[1, 2], [3, 4]]).description == "the result is [[3, 4]]"


def test_plots_name_what_they_show():
    axes = draw_bigrams(np.eye(3), "\nab").axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["·", "a", "b"]
    axes = draw_sizes([(1, 27, 4.0), (2, 475, 3.4)], [("net", 4000, 3.0)]).axes[0]
    assert axes.get_xscale() == "log"
    axes = draw_orders([1, 2], {"test": [4.0, 3.5]}, {"zlib": 2.8, "xz": 2.1}).axes[0]
    assert [text.get_text() for text in axes.texts] == ["zlib", "xz", "test"]


def test_a_padded_batch_masks_positions_after_the_end():
    x, y, mask = padded_batch([[3, 1, 4], [], [5]], end=9)
    assert x.tolist() == [[9, 3, 1, 4], [9, 9, 9, 9], [9, 5, 9, 9]]
    assert y.tolist() == [[3, 1, 4, 9], [9, 9, 9, 9], [5, 9, 9, 9]]
    assert mask.tolist() == [[1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 0, 0]]


def test_a_sampled_name_ends():
    rng = np.random.default_rng(0)
    assert sample_name(lambda ids: [9.0, -9.0, -9.0], rng) == []
    assert sample_name(lambda ids: [-99.0, 9.0], rng, longest=5) == [1] * 5
    drawn = [sample_name(lambda ids: [0.0, 0.0, -np.inf], rng) for _ in range(50)]
    assert len({tuple(one) for one in drawn}) > 3 and all(2 not in one for one in drawn)
