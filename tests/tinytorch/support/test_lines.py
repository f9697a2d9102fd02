"""Plots of several curves."""

import math

import numpy as np

from tinytorch.support.lines import plot_lines, shown


def names(figure):
    return {text.get_text(): text for text in figure.axes[0].texts}


def test_each_curve_has_its_name_at_its_end():
    figure = plot_lines({"one": [3.0, 1.0], "two": ([10, 20], [5.0, 6.0])}, "step", "loss")
    axes = figure.axes[0]
    assert names(figure)["one"].xy == (2, 1.0) and names(figure)["two"].xy == (20, 6.0)
    assert [line.get_ydata().tolist() for line in axes.lines] == [[3.0, 1.0], [5.0, 6.0]]
    assert axes.get_xlabel() == "step" and axes.get_ylabel() == "loss"


def test_names_that_would_touch_are_moved_apart():
    figure = plot_lines({"a": [0.0, 1.0], "b": [2.0, 1.0], "c": [100.0, 1.0]}, "x", "y")
    figure.draw_without_rendering()
    heights = sorted(text.get_window_extent().y0 for text in names(figure).values())
    assert min(np.diff(heights)) > 10


def test_a_curve_ends_where_it_is_not_finite_or_too_high():
    assert shown([1, 2, 3, 4], [1.0, 2.0, math.nan, 1.0]) == ([1, 2], [1.0, 2.0])
    assert shown([1, 2, 3], [1.0, 2.0, 9.0], top=3) == ([1, 2], [1.0, 2.0])
    assert shown([1, 2], [1.0, 2.0], top=3) == ([1, 2], [1.0, 2.0])
    figure = plot_lines({"a": [1.0, math.inf], "b": [1.0, 2.0]}, "x", "y", top=3)
    assert figure.axes[0].get_ylim()[1] == 3 and names(figure)["a"].xy == (1, 1.0)
