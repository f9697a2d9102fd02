"""The pictures of lesson 15."""

import bz2
import zlib

import numpy as np
import pytest
from svg_contents import assert_on_page, cells

from tinytorch.data.texts import load_text
from tinytorch.pictures.transformers import (
    BY_POSITION,
    LEVELS,
    RUN,
    SAMPLES,
    compressed_bits,
    draw_block,
    draw_dependence,
    draw_gpt,
    draw_scored,
    draw_shifted,
    plot_depths,
    plot_losses,
    plot_positions,
    plot_run,
    plot_shares,
    plot_stream,
)


@pytest.mark.slow  # reads and compresses the novels twice
@pytest.mark.parametrize("module", [zlib, bz2], ids=["zlib", "bz2"])
def test_the_level_lines_are_what_the_compressors_need(module):
    bits = compressed_bits(module, load_text("train"), load_text("test"))
    assert bits == pytest.approx(LEVELS[module.__name__], abs=0.005)


def test_the_run_ends_below_all_levels():
    seconds, bits = zip(*RUN)
    assert list(seconds) == sorted(seconds) and bits[-1] < min(LEVELS.values())
    assert set(SAMPLES) <= {round(time) for time in seconds}
    axes = plot_run(RUN, LEVELS).axes[0]
    names = {text.get_text().split()[0] for text in axes.texts}
    assert names == {*LEVELS, "GPT"}


def test_losses_are_smoothed():
    axes = plot_losses({"a": [4, 2, 0, 2], "b": [1, 1, 1, 1]}, smooth=2).axes[0]
    assert [line.get_ydata().tolist() for line in axes.lines] == [[3, 1, 1], [1, 1, 1]]


def test_levels_of_losses_are_named():
    axes = plot_losses({"a": [4, 2, 1]}, levels={"known": 2.5}).axes[0]
    assert axes.lines[-1].get_ydata() == [2.5, 2.5]
    assert {text.get_text().strip() for text in axes.texts} == {"a", "known 2.50"}


def test_bars_have_equal_length():
    axes = plot_shares({"a": [1, 3, 0], "b": [50, 25, 25]}, ["x", "y", "z"]).axes[0]
    ends = {}
    for bar in axes.patches:
        ends[bar.get_y()] = bar.get_x() + bar.get_width()
    assert list(ends.values()) == pytest.approx([1, 1])


def test_the_first_tokens_of_a_window_are_the_hardest():
    line = plot_positions(BY_POSITION).axes[0].lines[0]
    assert list(line.get_ydata()) == BY_POSITION and max(BY_POSITION) == BY_POSITION[0]


@pytest.mark.parametrize(
    "drawing",
    [
        draw_shifted(list("abcdefgh"), 1, 5),
        draw_scored(13, 6, 3),
        draw_scored(9, 3, 5),
        draw_dependence(np.ones((6, 6)), list("austen")),
        draw_block(64, 256),
        draw_gpt(50257, 1024, 768, 12),
    ],
    ids=["shifted", "scored", "gaps", "dependence", "block", "gpt"],
)
def test_every_cell_is_on_the_page_and_none_covers_another(drawing):
    assert_on_page(drawing)


def test_targets_stand_one_place_right_of_their_inputs():
    drawing = draw_shifted(list("abcdefgh"), 2, 4)
    inputs, targets = cells(drawing, "value"), cells(drawing, "gradient")
    step = inputs[1].x - inputs[0].x
    assert [t.x - i.x for i, t in zip(inputs, targets)] == pytest.approx([step] * 4)


def test_no_target_is_scored_twice():
    scored = [cell.x for cell in cells(draw_scored(25, 8, 4), "value")]
    assert len(scored) == len(set(scored)) == 20


def test_dependence_on_later_tokens_is_wrong():
    changes = np.array([[1, 0, 2], [1, 1, 0], [0, 1, 1]])
    drawing = draw_dependence(changes, list("abc"))
    assert [len(cells(drawing, kind)) for kind in ("wrong", "value", "muted")] == [1, 5, 3]


def test_the_drawings_hold_the_sizes_that_they_are_given():
    block, gpt = draw_block(24, 96).svg(), draw_gpt(5000, 32, 24, 7).svg()
    assert "24 to 96 to 24" in block
    for text in ("(5,000, 24)", "(32, 24)", "block 7", "logits (B, T, 5,000)"):
        assert text in gpt


def test_the_plots_show_each_curve():
    axes = plot_stream({"a": [1, 2, 3], "b": [1, 1, 1]}).axes[0]
    assert [line.get_ydata()[-1] for line in axes.lines] == [3, 1]
    axes = plot_depths([2, 4], {"a": [1, 2], "b": [3, 3]}).axes[0]
    assert [text.get_text() for text in axes.texts] == ["a", "b"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "4"]
