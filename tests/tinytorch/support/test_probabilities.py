"""The bars hold the numbers that softmax gives."""

import xml.etree.ElementTree as tree

import numpy as np
import pytest

from tinytorch.support.drawing import Drawing, short
from tinytorch.support.probabilities import (
    bars,
    draw_cross_entropy_gradient,
    draw_softmax,
    draw_temperatures,
)

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
    bars(drawing, 0, "two", [0.25, 0.5], tallest=1.0)
    assert heights(drawing)[1] == 2 * heights(drawing)[0]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_gradient_of_cross_entropy_is_that_of_a_finite_difference(smoothing):
    logits, target = np.array([2.0, 1.0, 0.0]), np.array([0, 1.0, 0])
    target = (1 - smoothing) * target + smoothing / 3

    def loss(z):
        return np.log(np.exp(z).sum()) - (target * z).sum()

    h = 1e-5
    gradient = [(loss(logits + h * e) - loss(logits - h * e)) / (2 * h) for e in np.eye(3)]
    said = texts(draw_cross_entropy_gradient(logits, 1, smoothing))
    assert [float(text) for text in said[-9:-6]] == pytest.approx(gradient, abs=6e-4)
    after = loss(logits - np.array(gradient))
    assert said[-1] == f"loss {short(loss(logits))} before, {short(after)} after"
    assert "sum 0" in said
