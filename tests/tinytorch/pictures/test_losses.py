"""The picture of lesson 05."""

import numpy as np
import pytest
from svg_contents import texts

from tinytorch.pictures.losses import draw_cross_entropy_gradient
from tinytorch.support.svg import short


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_gradient_of_cross_entropy_agrees_with_a_finite_difference(smoothing):
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
