"""The pictures of lesson 03."""

import numpy as np
import pytest
from svg_contents import cells, texts

from tinytorch.pictures.activations import draw_decision_boundary, draw_softmax
from tinytorch.support.svg import short


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


def test_a_constant_model_has_no_boundary():
    figure = draw_decision_boundary(lambda x: 0 * x[:, 0], [[0, 0], [1, 1]], [0, 1])
    assert figure.axes[0].get_title() == ""


@pytest.mark.parametrize("shift", [False, True])
def test_the_steps_of_softmax_are_written_at_their_bars(shift):
    said = texts(draw_softmax([1.0, 2.0, 4.0], shift))
    powers = np.exp(np.array([1.0, 2, 4]) - 4 * shift)
    assert said[-3:] == [short(p) for p in (powers / powers.sum()).round(7)]
    assert said[-7:-4] == [short(p) for p in powers]
    assert ("-3" in said) == shift


def test_overflow_is_hatched_and_a_shift_prevents_it():
    naive = draw_softmax([89.0, 90.0, 92.0])
    assert texts(naive).count("inf") == texts(naive).count("nan") == 3
    shifted = draw_softmax([89.0, 90.0, 92.0], shift=True)
    hatched = [sum(cell.hatched for cell in cells(drawing)) for drawing in (naive, shifted)]
    assert hatched == [6, 0]
