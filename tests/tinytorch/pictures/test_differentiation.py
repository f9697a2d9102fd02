"""The pictures of lesson 17."""

import numpy as np
import pytest
from svg_contents import assert_on_page, cells

from tinytorch.core.differentiation import hessian, jacfwd
from tinytorch.core.losses import cross_entropy
from tinytorch.core.tensor import Tensor
from tinytorch.data.image_sets import flat_digits
from tinytorch.pictures.autograd import forward, two_moons
from tinytorch.pictures.differentiation import (
    draw_errors,
    draw_losses,
    draw_memory,
    draw_passes,
    draw_product,
    draw_sharpness,
    draw_tangents,
    hessian_by_hand,
    jacobian_seconds,
    train_by_hand,
    untrained_network,
)


def test_the_hessian_by_hand_agrees_with_the_lesson():
    rng = np.random.default_rng(0)
    x, labels, w = rng.normal(size=(7, 3)), rng.integers(0, 4, 7), rng.normal(size=(3, 4))

    def loss(w):
        return cross_entropy(Tensor(x) @ w.reshape(3, 4), labels) + 0.05 * (w * w).sum()

    assert np.allclose(hessian_by_hand(w, x, labels, 0.1), hessian(loss)(Tensor(w.ravel())).data)


def test_newton_needs_fewer_steps_than_gradient_descent():
    (x, labels), (x_test, _) = flat_digits("train"), flat_digits("test")
    assert x.shape == (1438, 64) and x_test.shape == (359, 64) and x.dtype == np.float32
    x, labels = x[:200, 20:44], labels[:200]
    slow, fast = train_by_hand(x, labels, 20, lr=1.0), train_by_hand(x, labels, 4)
    assert len(slow) == 21 and slow[0] == fast[0] and slow[-1] > 2 * fast[-1]
    assert slow == sorted(slow, reverse=True)


def test_plots():
    axes = draw_losses({"slow": [3.0] * 30, "quite fast": [3.0, 1.0, 0.5]}).axes[0]
    assert [text.get_text() for text in axes.texts] == ["slow", "quite\nfast"]
    axes = draw_sharpness({0.5: (range(0, 40, 20), [1.0, 3.0])}).axes[0]
    assert axes.texts[0].get_text() == "2 / 0.5" and axes.lines[1].get_ydata()[0] == 4
    axes = draw_memory([1, 4], {"all": [1, 4], "some": [1, 2]}).axes[0]
    assert axes.lines[1].get_ydata().tolist() == [1, 2]


def test_the_untrained_network_has_its_parameters_in_a_vector():
    net, vector = untrained_network()
    points, _ = two_moons()
    weights = [part.data for part in net.parameters()]
    assert vector.shape == (337,) and np.array_equal(vector.data[:32], weights[0].ravel())
    assert np.allclose(net(Tensor(points)).data, forward(weights, points)[-1], atol=1e-6)


@pytest.mark.parametrize(
    "drawing",
    [
        draw_product(4, 0.6, 3, 0.5),
        draw_product(1, 1, 9, 0.1),
        draw_tangents([("x", "", 1, 2)] * 4),
    ],
    ids=["lesson", "narrow", "tangents"],
)
def test_every_cell_is_on_the_page(drawing):
    assert_on_page(drawing, overlap=True)


def test_the_areas_of_a_product_are_to_scale():
    whole, right, below, corner = (
        cell.width * cell.height for cell in cells(draw_product(4, 0.6, 3, 0.5))
    )
    assert np.isclose(right / whole, 0.6 / 4, rtol=1e-3)
    assert np.isclose(below / whole, 0.5 / 3, rtol=1e-3)
    assert np.isclose(corner / whole, 0.6 * 0.5 / 12, rtol=1e-3)
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
