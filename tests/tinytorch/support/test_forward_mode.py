"""The pictures of forward mode: what they say, and that everything stays on the page."""

import re

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from tinytorch.core.differentiation import jacfwd
from tinytorch.support.drawing import WIDTH
from tinytorch.support.forward_mode import (
    draw_errors,
    draw_passes,
    draw_product,
    draw_tangents,
    jacobian_seconds,
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def boxes(drawing):
    """(x, y, width, height) of each cell."""
    return [
        tuple(float(number) for number in found)
        for found in re.findall(
            r'<rect class="cell[^"]*" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"',
            drawing.svg(),
        )
    ]


@pytest.mark.parametrize(
    "drawing",
    [
        draw_product(4, 0.6, 3, 0.5),
        draw_product(1, 1, 9, 0.1),
        draw_tangents([("x", "", 1, 2)] * 4),
    ],
    ids=["lesson", "narrow", "tangents"],
)
def test_every_box_is_on_the_page(drawing):
    for x, y, width, height in boxes(drawing):
        assert 0 <= x and x + width <= WIDTH and 0 <= y and y + height <= drawing.height


def test_the_areas_of_a_product_are_to_scale():
    whole, right, below, corner = boxes(draw_product(4, 0.6, 3, 0.5))
    area = lambda box: box[2] * box[3]
    assert np.isclose(area(right) / area(whole), 0.6 / 4, rtol=1e-3)
    assert np.isclose(area(below) / area(whole), 0.5 / 3, rtol=1e-3)
    assert np.isclose(area(corner) / area(whole), 0.6 * 0.5 / 12, rtol=1e-3)
    assert "tangent 1.8 + 2 = 3.8" in draw_product(4, 0.6, 3, 0.5).svg()


def test_errors_of_finite_differences_have_the_shape_of_a_v():
    axes = draw_errors(np.exp, 1.0, np.e, dual=np.e).axes[0]
    for line in axes.lines[:2]:
        errors = line.get_ydata()
        assert min(errors[0], errors[-1]) > 1e3 * min(errors)
    assert min(axes.lines[1].get_ydata()) < min(axes.lines[0].get_ydata()) / 100


def test_a_jacobian_is_timed_and_drawn():
    assert jacobian_seconds(jacfwd, 2, 3) >= 0
    figure = draw_passes([(2, 3), (4, 5)], {"jacfwd": [0.001, 0.003], "jacrev": [0.002, 0.001]})
    assert sorted(bar.get_width() for bar in figure.axes[0].patches) == [1, 1, 2, 3]
