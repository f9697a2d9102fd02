"""The pictures of lesson 07."""

import numpy as np
import pytest

from tinytorch.pictures.optimizers import draw_curves, draw_directions, draw_paths, linear_path


@pytest.fixture
def plt(no_window):
    import matplotlib.pyplot as plt

    return plt


@pytest.mark.parametrize("momentum", [0.0, 0.7])
def test_the_linear_path_agrees_with_real_steps(momentum):
    curvatures, w, velocity = np.array([1.0, 30.0]), np.array([-10.0, 2.0]), np.zeros(2)
    path = linear_path(curvatures, w, lr=0.05, momentum=momentum, steps=20)
    assert path.shape == (21, 2)
    for point in path:
        np.testing.assert_allclose(point, w, atol=1e-12)
        velocity = momentum * velocity + curvatures * w
        w = w - 0.05 * velocity


def bowl(w):
    return w[0] ** 2 + 9 * w[1] ** 2


def test_paths_are_drawn_where_they_are_and_named(plt):
    draw_paths(bowl, {"one": [(-3, 1), (0, 0)], "two": [(-3, 1), (1, 1)]}, x=(-4, 3))
    figure, axes = plt.gcf(), plt.gca()
    assert axes.get_xlim() == (-4, 3)
    one, two, cross = axes.lines
    assert one.get_xydata().tolist() == [[-3, 1], [0, 0]]
    assert one.get_color() != two.get_color() and cross.get_xydata().tolist() == [[0, 0]]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["one", "two"]
    page, box = figure.bbox, legend.get_window_extent()
    assert page.x0 <= box.x0 and box.x1 <= page.x1 and box.y1 <= page.y1
    assert axes.get_window_extent().y1 <= box.y0  # the names cover no path


def test_arrows_are_steps_against_the_gradient(plt):
    draw_directions(bowl, lambda w: np.array([2 * w[0], 18 * w[1]]), [(1, 0), (0, -2)], lr=0.25)
    (arrows,) = [c for c in plt.gca().collections if hasattr(c, "U")]
    np.testing.assert_allclose(np.stack([arrows.U, arrows.V], 1), [[-0.5, 0], [0, 9]])


def test_crosses_are_named(plt):
    draw_paths(bowl, {"path": [(-3, 1), (0, 0)]}, {"minimum": (0, 0), "other": (-1, 1)})
    *_, crosses = plt.gca().lines
    assert crosses.get_xydata().tolist() == [[0, 0], [-1, 1]]
    assert [(text.get_text(), text.xy) for text in plt.gca().texts] == [
        ("minimum", (0, 0)),
        ("other", (-1, 1)),
    ]


def test_curves_are_named_at_their_ends_without_overlap(plt):
    curves = {"a": [1, 2, 3.0], "b": [3, 2, 3.01], "c": [0, 1, 0]}
    draw_curves(curves, "step", "loss", ["C0", "C1", "C2"])
    figure, axes = plt.gcf(), plt.gca()
    texts = {text.get_text(): text for text in axes.texts}
    assert [texts[name].get_color() for name in "abc"] == [line.get_color() for line in axes.lines]
    boxes = [texts[name].get_window_extent() for name in "cab"]
    assert all(low.y1 <= high.y0 for low, high in zip(boxes, boxes[1:]))
    assert max(box.x1 for box in boxes) <= figure.bbox.x1
