"""The drawing of a bias gradient: its numbers are those of what it is given, and none overlap."""

import re

import numpy as np

from tinytorch.support.unbroadcasting import draw_bias_gradient


def texts(drawing):
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawing.svg())


def test_the_gradients_are_the_sums_of_the_columns():
    shown = texts(draw_bias_gradient([0.5, -1, 2, 0], np.arange(12.0).reshape(3, 4)))
    assert shown[-2:] == ["21", "0 + 4 + 8 = 12"] and {"12", "15", "18"} <= set(shown)
    assert shown.count("0.5") == 4 and "g (3, 4)" in shown and "bias.grad (4,)" in shown


def test_other_shapes_stay_inside_the_drawing():
    drawing = draw_bias_gradient([1, 2], np.ones((5, 2)))
    boxes = re.findall(r'<rect class="cell[^"]*" x="([\d.]+)" y="([\d.]+)"', drawing.svg())
    assert len(boxes) == 2 + 10 + 10 + 2 and len(set(boxes)) == len(boxes)
    assert max(float(y) for _, y in boxes) + 30 + 18 < drawing.height
