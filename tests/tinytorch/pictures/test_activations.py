"""The pictures of lesson 02."""

import xml.etree.ElementTree as tree

import numpy as np
import pytest

from tinytorch.pictures.activations import draw_decision_boundary, draw_softmax, draw_temperatures
from tinytorch.pictures.drawing import draw_bars
from tinytorch.support.svg import Drawing, short

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def test_the_boundary_is_where_the_output_is_one_half():
    figure = draw_decision_boundary(
        lambda x: x[:, 0] - x[:, 1], [[0, 0], [2, 1]], [0, 1], names=("a", "b")
    )
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("a", "b")
    assert [text.get_text() for text in axes.texts] == ["0", "1"]
    lines = [c.get_paths()[0].vertices for c in axes.collections if len(c.get_paths()) == 1]
    boundary = max(lines, key=len)
    assert len(boundary) > 100
    np.testing.assert_allclose(boundary[:, 0] - boundary[:, 1], 0.5, atol=1e-9)
    matplotlib.pyplot.close(figure)


def test_a_constant_model_has_no_boundary():
    figure = draw_decision_boundary(lambda x: 0 * x[:, 0], [[0, 0], [1, 1]], [0, 1])
    assert figure.axes[0].get_title() == ""
    matplotlib.pyplot.close(figure)


SVG = "{http://www.w3.org/2000/svg}"


def texts(drawing):
    return [text.text for text in tree.fromstring(drawing.svg()).iter(SVG + "text")]


def heights(drawing, kind="value"):
    return [
        float(cell.get("height"))
        for cell in tree.fromstring(drawing.svg()).iter(SVG + "rect")
        if kind in cell.get("class", "").split()
    ]


@pytest.mark.parametrize("shift", [False, True])
def test_the_steps_of_softmax_are_written_at_their_bars(shift):
    said = texts(draw_softmax([1.0, 2.0, 4.0], shift))
    powers = np.exp(np.array([1.0, 2, 4]) - 4 * shift)
    assert said[-3:] == [short(p) for p in (powers / powers.sum()).round(7)]
    assert said[-7:-4] == [short(p) for p in powers]
    assert ("-3" in said) == shift


def test_what_overflows_is_hatched_and_a_shift_cures_it():
    naive = draw_softmax([89.0, 90.0, 92.0])
    assert texts(naive).count("inf") == texts(naive).count("nan") == 3
    assert len(heights(naive, "hatched")) == 6
    assert heights(draw_softmax([89.0, 90.0, 92.0], shift=True), "hatched") == []


def test_bars_are_as_high_as_their_probabilities():
    high = heights(draw_temperatures([1.0, 2.0, 4.0], [2.0, 1.0, 0.5]))
    assert len(high) == 9
    assert high[2] < high[5] < high[8]
    drawing = Drawing("bars")
    draw_bars(drawing, 0, "two", [0.25, 0.5], tallest=1.0)
    assert heights(drawing)[1] == 2 * heights(drawing)[0]
