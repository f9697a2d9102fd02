"""The pictures of lesson 23, and the texts and times that it prints."""

import numpy as np
from svg_contents import assert_on_page, cells

from tinytorch.data.gpt_files import load_small_gpt
from tinytorch.pictures.quantization import (
    bits_saved,
    draw_byte,
    draw_errors,
    draw_grid,
    draw_sensitivity,
    draw_straight_through,
    draw_texts,
    draw_tradeoff,
    draw_triangle,
    milliseconds,
    rounded_copy,
    rounded_texts,
)


def test_texts_begin_with_the_prompt_and_depend_on_the_bits():
    texts = rounded_texts("She was", [32, 8, 2], tokens=12)
    assert list(texts) == [32, 8, 2] and len(set(texts.values())) == 3
    assert all(text.startswith("She was") and text.isascii() for text in texts.values())
    assert texts[32] == rounded_texts("She was", [32], tokens=12)[32]
    model, _ = load_small_gpt()
    assert rounded_texts("She was", [2], tokens=12, model=model)[2] == texts[32]


def test_words_that_are_in_neither_novel_are_hatched():
    drawing = draw_texts({"32 bits": "once--again.", "2 bits": "She ?\x02? zz--my", "0": "x" * 60})
    assert_on_page(drawing)
    shown = [(cell.text, cell.hatched) for cell in cells(drawing)]
    short = "x" * 15 + "…"
    assert shown == [("once--again.", 0), ("She", 0), ("???", 1), ("zz--my", 1), (short, 1)]
    assert "2 bits: 2 of 3 words are in neither novel" in drawing.description


def test_matrices_are_rounded_with_one_scale_and_the_model_stays_as_it_is():
    model, _ = load_small_gpt()
    small, before = rounded_copy(model, 3), model.state_dict()
    for name, array in small.state_dict().items():
        levels = len(np.unique(array))
        assert levels <= 7 if array.ndim == 2 else np.array_equal(array, before[name])
    assert all(np.array_equal(before[n], array) for n, array in model.state_dict().items())
    assert rounded_copy(model, 32) is model


def test_times_are_of_the_processor_and_in_order():
    def busy(n):
        return lambda: sum(range(n))

    short, long = milliseconds([busy(10_000), busy(200_000)], rounds=3)
    assert 0 < 3 * short < long


def test_bits_saved_are_read_at_the_same_loss():
    reference = [(4.0, 0.1), (6.0, 0.001)]
    assert bits_saved([(4.5, 0.01), (3.0, 0.1)], reference) == [0.5, 1.0]


def test_a_byte():
    drawing = draw_byte([5, -3])
    assert_on_page(drawing)
    assert [cell.text for cell in cells(drawing)] == list("01011101")
    assert "byte: 13 · 16 + 5 = 213" in drawing.svg()


def test_plots():
    axes = draw_grid(np.array([-0.7, 0.1, 0.2]), 0.1, 7).axes[0]
    assert np.allclose(axes.lines[0].get_xdata(), np.arange(-7, 8) * 0.1)
    axes = draw_sensitivity({"a": 0.5, "b": -0.1}).axes[0]
    assert [text.get_text() for text in axes.texts] == [" 0.500", " -0.100"]
    axes = draw_errors({"a": (2.0, 0.4), "b": (3.0, 0.5)}).axes[0]
    assert list(axes.lines[1].get_xdata()) == [2.0, 3.0]
    axes = draw_tradeoff({"one": [(4.5, 0.1), (8.5, -0.2)]}).axes[0]
    assert list(axes.lines[0].get_ydata()) == [0.1, 0.001]
    axes = draw_triangle({"a": (500, 1.7, 2.0), "b": (100, 1.8, 4.0)}).axes[0]
    assert [text.get_text() for text in axes.texts][:3] == ["500", "1.7", "2"]
    axes = draw_straight_through(0.5, 1).axes[0]
    assert set(axes.lines[0].get_ydata()) == {-0.5, 0.0, 0.5}
