"""The half-moons and the network that was derived by hand: its gradients are those of finite
differences, and its training separates the points."""

import numpy as np
import pytest

from tinytorch.support import moons
from tinytorch.support.moons import forward, gradients_by_hand, train_by_hand, two_moons


def test_half_of_the_points_lie_on_each_moon():
    points, labels = two_moons(400, noise=0.0)
    assert points.shape == (400, 2) and labels.sum() == 200
    upper, lower = points[labels[:, 0] == 1], points[labels[:, 0] == 0]
    assert np.allclose((upper**2).sum(1), 1, atol=1e-5) and (upper[:, 1] >= 0).all()
    assert np.allclose(((lower - [1, 0.5]) ** 2).sum(1), 1, atol=1e-5)


def loss(weights, points, labels):
    z = forward(weights, points)[-1]
    return np.mean(np.logaddexp(0, z) - labels * z)


def test_the_gradients_by_hand_agree_with_finite_differences():
    rng = np.random.default_rng(0)
    points, labels = two_moons(10)
    sizes = [(2, 4), (4,), (4, 3), (3,), (3, 1), (1,)]
    weights = [rng.normal(size=size) for size in sizes]
    gradients = gradients_by_hand(weights, points.astype(float), labels)
    for n, g in enumerate(gradients):
        assert g.shape == sizes[n]
        way = rng.normal(size=sizes[n])
        up, down = (
            loss([w + h * way if k == n else w for k, w in enumerate(weights)], points, labels)
            for h in (1e-5, -1e-5)
        )
        assert (g * way).sum() == pytest.approx((up - down) / 2e-5, rel=1e-6)


def test_training_separates_the_moons():
    points, labels = two_moons()
    weights = train_by_hand(points, labels)
    assert sum(weight.size for weight in weights) == 337
    assert ((forward(weights, points)[-1] > 0) == labels).all()


def test_the_picture_holds_all_points_and_one_boundary():
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    points, labels = two_moons(20)
    figure, axes = moons.plot_decision(points, labels, lambda x: x[:, 1:] - 0.25)
    scatters = [c for c in axes.collections if hasattr(c, "get_offsets") and len(c.get_offsets())]
    assert sum(len(c.get_offsets()) for c in scatters if len(c.get_offsets()) == 10) == 20
    plt.close(figure)
