"""The two classes of points of lesson 05, the network that NumPy trains on them, the picture."""

import math
import random

import numpy as np
import pytest

from tinytorch.support.rings import draw_boundary, make_rings, train_in_numpy


def test_one_class_lies_inside_the_other():
    points, targets = make_rings(inner=5, outer=9, generator=random.Random(3))
    radius = [math.hypot(*point) for point in points]
    assert targets == [1.0] * 5 + [-1.0] * 9
    assert max(radius[:5]) < 0.6 and min(radius[5:]) > 0.8
    assert make_rings() == make_rings()


def test_training_lowers_the_loss_and_separates_the_classes():
    points, targets = make_rings()

    def loss(steps):
        outputs = train_in_numpy(points, targets, [6, 1], learning_rate=0.01, steps=steps)(points)
        return ((outputs - targets) ** 2).sum(), (np.sign(outputs) == targets).all()

    (before, _), (after, separated) = loss(0), loss(100)
    assert after < 4 < before and separated


def test_the_picture_has_a_boundary_and_every_point():
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    points, targets = make_rings()
    with plt.rc_context():
        figure = draw_boundary(lambda x: 0.7 - np.hypot(*x.T), points, targets, "a circle")
        (axes,) = figure.axes
        drawn = [c.get_offsets() for c in axes.collections if len(c.get_offsets()) > 1]
        assert sorted(map(len, drawn)) == [10, 16] and axes.get_title() == "a circle"
        plt.close(figure)
