"""The recorded run of a GPT: its level lines are true, and the plots show what they are given."""

import bz2
import zlib

import pytest

from tinytorch.support.gpt_run import (
    BY_POSITION,
    LEVELS,
    RUN,
    SAMPLES,
    compressed_bits,
    plot_losses,
    plot_positions,
    plot_run,
    plot_shares,
)
from tinytorch.support.texts import load_text


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
