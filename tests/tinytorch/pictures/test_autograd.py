"""The pictures of lesson 06."""

import numpy as np
import pytest
from svg_contents import assert_on_page, cells, texts

from tinytorch.pictures.autograd import (
    draw_bias_gradient,
    forward,
    gradients_by_hand,
    kilobytes_held,
    plot_decision,
    train_by_hand,
    two_moons,
)


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
    points, labels = two_moons(20)
    _, axes = plot_decision(points, labels, lambda x: x[:, 1:] - 0.25)
    scatters = [c for c in axes.collections if hasattr(c, "get_offsets") and len(c.get_offsets())]
    assert sum(len(c.get_offsets()) for c in scatters if len(c.get_offsets()) == 10) == 20


def test_the_gradients_are_the_sums_of_the_columns():
    shown = texts(draw_bias_gradient([0.5, -1, 2, 0], np.arange(12.0).reshape(3, 4)))
    assert shown[-2:] == ["21", "0 + 4 + 8 = 12"] and {"12", "15", "18"} <= set(shown)
    assert shown.count("0.5") == 4 and "g (3, 4)" in shown and "bias.grad (4,)" in shown


def test_other_shapes_stay_inside_the_drawing():
    drawing = draw_bias_gradient([1, 2], np.ones((5, 2)))
    assert len(cells(drawing)) == 2 + 10 + 10 + 2
    assert_on_page(drawing)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_the_memory_of_a_result_is_counted(count):
    kilobytes = kilobytes_held(lambda: [np.ones(250_000) for _ in range(count)])
    assert 2000 * count <= kilobytes <= 2000 * count + 5


def test_memory_that_was_freed_again_is_not_counted():
    assert kilobytes_held(lambda: np.ones(250_000).sum()) < 5


def test_a_function_that_raises_leaves_no_measurement_running():
    import tracemalloc

    with pytest.raises(ZeroDivisionError):
        kilobytes_held(lambda: 1 / 0)
    assert not tracemalloc.is_tracing()
