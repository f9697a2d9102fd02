"""What several chapters draw with."""

import math

import numpy as np
import pytest
from svg_contents import cells

from tinytorch.pictures.activations import draw_temperatures
from tinytorch.pictures.drawing import (
    draw_bars,
    finite_part,
    label_ends,
    panel,
    plot_lines,
    plot_stds,
    spread,
)
from tinytorch.support.svg import COLOURS, Drawing


@pytest.mark.parametrize("values", [[1, 2, 3], [0, 0, 0], [0, 5, 5.1, 5.2, 9], [3, 3.9, 4.8], []])
def test_numbers_are_spread_as_little_as_possible(values):
    places = np.array(spread(values, 1.0))
    assert (np.diff(places) >= 1 - 1e-12).all()
    assert sum(places) == pytest.approx(sum(values))  # both sides give way, not one alone
    if all(b - a >= 1 for a, b in zip(values, values[1:])):
        assert list(places) == values


def test_a_line_connects_a_moved_name_with_its_curve():
    from matplotlib.figure import Figure

    for levels, lines in [((0.1, 0.9), False), ((0.5, 0.52), True)]:
        axes = Figure().subplots(subplot_kw={"ylim": (0, 1)})
        label_ends(axes, [(1, level, f"level {level}", "C0") for level in levels])
        for text, level in zip(axes.texts, levels):
            assert pointed_at(text) == pytest.approx((1, level))
            assert (text.arrow_patch is not None) == lines


def pointed_at(text):
    """The point (x, y) of the data that an annotation belongs to, on linear axes."""
    x, height = text.xy
    low, high = text.axes.get_ylim()
    return x, low + height * (high - low)


def test_a_name_of_a_curve_that_left_the_axes_is_at_their_edge():
    from matplotlib.figure import Figure

    axes = Figure().subplots(subplot_kw={"ylim": (0, 1)})
    label_ends(
        axes, [(1, 7.0, "above", "C0"), (1, math.nan, "nan", "C0"), (2, -7.0, "below", "C0")]
    )
    assert [text.xy[1] for text in axes.texts] == [1, 1, 0]


def names(figure):
    return {text.get_text(): text for text in figure.axes[0].texts}


def box(text):
    """The place of an annotation's text, without the line that leads to it."""
    from matplotlib.text import Text

    return Text.get_window_extent(text)


def test_each_curve_has_its_name_at_its_end():
    figure = plot_lines({"one": [3.0, 1.0], "two": ([10, 20], [5.0, 6.0])}, "step", "loss")
    axes = figure.axes[0]
    assert pointed_at(names(figure)["one"]) == pytest.approx((2, 1.0))
    assert pointed_at(names(figure)["two"]) == pytest.approx((20, 6.0))
    assert [line.get_ydata().tolist() for line in axes.lines] == [[3.0, 1.0], [5.0, 6.0]]
    assert axes.get_xlabel() == "step" and axes.get_ylabel() == "loss"


def test_names_that_would_touch_are_moved_apart():
    figure = plot_lines({"a": [0.0, 1.0], "b": [2.0, 1.0], "c": [100.0, 1.0]}, "x", "y")
    figure.draw_without_rendering()
    heights = sorted(box(text).y0 for text in names(figure).values())
    assert min(np.diff(heights)) > 10


def test_a_curve_ends_where_it_is_not_finite_or_too_high():
    assert finite_part([1, 2, 3, 4], [1.0, 2.0, math.nan, 1.0]) == ([1, 2], [1.0, 2.0])
    assert finite_part([1, 2, 3], [1.0, 2.0, 9.0], top=3) == ([1, 2], [1.0, 2.0])
    assert finite_part([1, 2], [1.0, 2.0], top=3) == ([1, 2], [1.0, 2.0])
    figure = plot_lines({"a": [1.0, math.inf], "b": [1.0, 2.0]}, "x", "y", top=3)
    assert figure.axes[0].get_ylim()[1] == 3
    assert pointed_at(names(figure)["a"]) == pytest.approx((1, 1.0))


def test_each_curve_is_labelled_at_its_end_and_labels_do_not_overlap():
    from matplotlib import colors, pyplot

    plot_stds({"a": [1, 0.9], "b": [1, 0.8], "c": [1, 1e-9]}, "title")
    axes = pyplot.gca()
    axes.figure.canvas.draw()
    boxes = [box(text) for text in axes.texts]
    assert [text.get_text() for text in axes.texts] == ["c: 1e-09", "b: 0.8", "a: 0.9"]
    assert all(low.y1 <= high.y0 for low, high in zip(boxes, boxes[1:]))
    level, wrong = COLOURS["value"][0], COLOURS["wrong"][0]
    assert [colors.to_hex(line.get_color()) for line in axes.lines] == [level, level, wrong]


def heights(drawing):
    return [cell.height for cell in cells(drawing, "value")]


def test_bars_are_as_high_as_their_probabilities():
    high = heights(draw_temperatures([1.0, 2.0, 4.0], [2.0, 1.0, 0.5]))
    assert len(high) == 9
    assert high[2] < high[5] < high[8]
    drawing = Drawing("bars")
    draw_bars(drawing, 0, "two", [0.25, 0.5], tallest=1.0)
    assert heights(drawing)[1] == 2 * heights(drawing)[0]


def test_a_panel_is_as_wide_as_a_phones_page():
    figure, axes = panel("loss", "epoch", "loss", yscale="log")
    assert figure.get_size_inches()[0] * 72 == 360
    assert axes.get_yscale() == "log" and axes.get_xlabel() == "epoch"
    (line,) = axes.plot([1, 2])
    assert line.get_color() == COLOURS["value"][0]
