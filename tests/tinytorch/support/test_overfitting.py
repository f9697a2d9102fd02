"""A network overfits on the toy data set, and the pictures show what they are given."""

import numpy as np
import pytest

from tinytorch.support.overfitting import example_history, noisy_spirals, plot_regions


def test_the_points_are_reproducible_and_have_three_classes():
    points, labels = noisy_spirals(50, seed=3)
    again, _ = noisy_spirals(50, seed=3)
    assert points.shape == (50, 2) and points.dtype == "float32" and set(labels) == {0, 1, 2}
    assert np.array_equal(points, again)


def test_the_network_overfits():
    history = example_history()
    losses = history["validation loss"]
    best = int(np.argmin(losses))
    assert 10 < best < 45 and losses[-1] > 1.4 * losses[best]
    assert history["loss"][-1] < 0.3 * history["loss"][best]


def test_regions_are_those_of_the_largest_score():
    pytest.importorskip("matplotlib").use("Agg")
    points, labels = noisy_spirals(20, seed=0)
    grids = []

    def predict(grid):
        grids.append(grid)
        return np.stack([grid[:, 0] * 0, grid[:, 0], -grid[:, 0]], 1)

    figure = plot_regions(predict, points, labels, "title")
    (axes,) = figure.axes
    assert grids[0].shape == (8100, 2) and axes.get_title() == "title"
    shown = sum(len(c.get_offsets()) for c in axes.collections if len(c.get_offsets()) > 1)
    assert shown == 20


def test_where_another_model_differs_is_hatched():
    pytest.importorskip("matplotlib").use("Agg")
    points, labels = noisy_spirals(20, seed=0)

    def predict(grid):
        return np.stack([grid[:, 0] * 0, grid[:, 0], -grid[:, 0]], 1)

    def other(grid):
        return predict(np.where(grid[:, 1:] > 2, -grid, grid))

    figures = [plot_regions(predict, points, labels, other=model) for model in (None, other)]
    hatched = [
        [c for c in figure.axes[0].collections if any(getattr(c, "hatches", None) or [])]
        for figure in figures
    ]
    assert not hatched[0] and len(hatched[1]) == 1
    corners = hatched[1][0].get_paths()[0].vertices
    assert 1.9 < corners[:, 1].min() < 2.1
