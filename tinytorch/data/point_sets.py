"""Points in the plane, in classes that no straight line separates."""

import numpy as np

__all__ = ["circles", "moons", "spirals", "xor"]


def moons(count, noise, rng):
    """Two interlocking half circles, classes 0 and 1.

    count    how many points
    noise    standard deviation of the normal noise that is added to both coordinates
    rng      a NumPy Generator
    returns  (points (count, 2), float32; classes (count,), int64)

    >>> points, classes = moons(4, 0.1, np.random.default_rng(0))
    >>> points.shape, classes
    ((4, 2), array([0, 1, 0, 1]))
    """
    classes = np.arange(count) % 2
    angle = rng.uniform(0, np.pi, count)
    heights = np.where(classes, 0.5 - np.sin(angle), np.sin(angle))
    return with_noise(np.cos(angle) + classes, heights, classes, noise, rng)


def circles(count, noise, inner, rng):
    """A circle of radius 1, class 0, around one of radius `inner`, class 1; see `moons`."""
    classes = np.arange(count) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, count), np.where(classes, inner, 1.0)
    return with_noise(radius * np.cos(angle), radius * np.sin(angle), classes, noise, rng)


def spirals(count, classes, turns, noise, rng):
    """Spiral arms with `turns` turns around the origin, one arm per class; see `moons`."""
    arm = np.arange(count) % classes
    radius = rng.uniform(0.05, 1, count)
    angle = 2 * np.pi * (arm / classes + turns * radius)
    return with_noise(radius * np.cos(angle), radius * np.sin(angle), arm, noise, rng)


def xor(count, noise, rng):
    """Points around (0, 0) and (1, 1), class 0, and around (0, 1) and (1, 0), class 1; see
    `moons`."""
    corners = rng.integers(0, 2, (count, 2))
    return with_noise(*corners.T, corners[:, 0] ^ corners[:, 1], noise, rng)


def with_noise(x, y, classes, noise, rng):
    """The points (x, y) with normal noise of standard deviation `noise`, and their classes."""
    points = np.stack([x, y], 1) + rng.normal(0, noise, (len(x), 2))
    return points.astype(np.float32), classes.astype(np.int64)
