"""Synthetic points: the same seed gives the same points, and each lies where it should."""

import numpy as np

from tinytorch.data.point_sets import circles, spirals, xor


def test_without_noise_circles_have_their_radii():
    points, classes = circles(50, 0.0, 0.3, np.random.default_rng(0))
    assert np.allclose(np.hypot(*points.T), np.where(classes, 0.3, 1.0), atol=1e-6)


def test_corners_of_different_coordinates_are_class_1():
    points, classes = xor(60, 0.0, np.random.default_rng(0))
    assert np.array_equal(classes, points[:, 0] != points[:, 1])


def test_noise_has_its_standard_deviation():
    clean, _ = spirals(9000, 3, 0.75, 0.0, np.random.default_rng(1))
    noisy, _ = spirals(9000, 3, 0.75, 0.2, np.random.default_rng(1))
    assert abs((noisy - clean).std() - 0.2) < 0.01
