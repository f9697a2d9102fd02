"""The pictures of lesson 18, and the text of its probe."""

import numpy as np
import pytest
from svg_contents import assert_on_page, cells

from tinytorch.data.gpt_files import load_small_gpt
from tinytorch.data.texts import load_text
from tinytorch.pictures.interpretability import (
    MEASURED,
    draw_ablation,
    draw_lens,
    draw_patches,
    draw_stars,
    draw_stripes,
    quoted_windows,
)


@pytest.fixture(scope="module")
def tokenizer():
    return load_small_gpt()[1]


def test_a_patch_map_shows_the_numbers_that_are_not_near_0():
    patched = MEASURED * 0.97 + 0.02
    patched[1, 4] = -0.5
    axes = draw_patches(patched).axes[0]
    assert [text.get_text() for text in axes.texts] == ["0.99", "-0.50", "0.99", "0.99"]
    assert [text.get_position() for text in axes.texts] == [(9, 0), (4, 1), (10, 1), (29, 2)]
    assert np.allclose(axes.images[0].get_array(), patched)


def test_stripes_have_a_map_for_each_title():
    figure = draw_stripes({"one": np.eye(3), "two": np.tri(4) / 4})
    assert [axes.get_title() for axes in figure.axes] == ["one", "two"]
    assert np.allclose(figure.axes[1].images[0].get_array(), np.tri(4) / 4)


@pytest.mark.parametrize("shape", [(2, 2), (2, 4), (3, 8)])
def test_heads_are_on_the_page_and_those_that_matter_are_filled(shape):
    rises = np.zeros(shape)
    rises[0, 1], rises[-1, 0] = 2.0, 0.1
    drawing = draw_ablation(rises, "nats")
    assert_on_page(drawing)
    assert len(cells(drawing)) == rises.size
    assert drawing.svg().count("cell value") == 1
    assert "head 1 +2.00 nats" in drawing.description


def test_the_lens_names_the_best_guess_and_is_dark_where_the_next_token_is_likely(tokenizer):
    ids = tokenizer.encode("she was not")
    logits = np.zeros((3, len(ids) - 1, 512))
    logits[1, np.arange(len(ids) - 1), ids[1:]] = 20
    axes = draw_lens(logits, ids, tokenizer).axes[0]
    names = [tokenizer.token(id).decode().replace(" ", "·") for id in ids.tolist()]
    texts = np.array([text.get_text() for text in axes.texts]).reshape(5, -1)
    assert list(texts[0]) == names[:-1] and list(texts[2]) == list(texts[4]) == names[1:]
    shown = axes.images[0].get_array()
    assert np.allclose(shown[:, 2], 1) and np.allclose(shown[:, [1, 3]], 1 / 512)
    ticks = [label.get_text() for label in axes.get_xticklabels()]
    assert ticks == ["read", "0 layers", "1 layer", "2 layers", "follows"]


def test_a_star_has_an_arrow_for_each_feature():
    few, many = draw_stars({0.0: np.diag([1, 0.1]), 0.5: np.ones((5, 2))}).axes
    assert len(few.lines) == 4 and len(many.lines) == 10 and many.get_title() == "sparsity 0.5"
    assert [[text.get_text() for text in axes.texts] for axes in (few, many)] == [["0"], [*"01234"]]


def test_tokens_inside_quotation_marks_are_marked(tokenizer):
    ids, inside = quoted_windows(tokenizer, "test", 40)
    assert ids.shape == inside.shape == (40, 64) and 0.2 < inside.mean() < 0.8
    again, _ = quoted_windows(tokenizer, "test", 40)
    assert np.array_equal(ids, again)
    text = load_text("test")
    checked = 0
    for row, flags in zip(ids, inside):
        start = text.find(tokenizer.decode(row))
        for n in range(0, 64, 9):
            end = start + len(tokenizer.decode(row[: n + 1]))
            paragraph = text[:end].rpartition("\n")[2]
            assert flags[n] == (paragraph.count('"') % 2 == 1)
            checked += 1
    assert checked == 40 * 8
