"""Softmax regression with derivatives by hand: compared with differences; and its plots."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from tinytorch.core.differentiation import hessian
from tinytorch.core.losses import cross_entropy
from tinytorch.core.tensor import Tensor
from tinytorch.support.curvature import (
    digits_regression,
    draw_losses,
    draw_memory,
    draw_sharpness,
    hessian_by_hand,
    train_by_hand,
)
from tinytorch.support.moons import forward, two_moons, untrained_network


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_the_hessian_by_hand_is_that_of_the_lesson():
    rng = np.random.default_rng(0)
    x, labels, w = rng.normal(size=(7, 3)), rng.integers(0, 4, 7), rng.normal(size=(3, 4))

    def loss(w):
        return cross_entropy(Tensor(x) @ w.reshape(3, 4), labels) + 0.05 * (w * w).sum()

    assert np.allclose(hessian_by_hand(w, x, labels, 0.1), hessian(loss)(Tensor(w.ravel())).data)


def test_newton_is_sooner_there_than_gradient_descent():
    x, labels, x_test, labels_test = digits_regression()
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
