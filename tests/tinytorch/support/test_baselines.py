"""Classifiers without training, and the drawing of their accuracies."""

import numpy as np

from tinytorch.support.baselines import (
    compare_data_handling,
    draw_accuracies,
    nearest_mean,
    nearest_neighbour,
    randomly_shifted,
)
from tinytorch.support.datasets import digits_arrays


def test_the_nearest_neighbour_is_the_one_with_the_smallest_distance():
    rng = np.random.default_rng(0)
    examples, rows, labels = rng.normal(size=(30, 4)), rng.normal(size=(9, 4)), np.arange(30) % 7
    distances = ((rows[:, None] - examples[None]) ** 2).sum(-1)
    assert np.array_equal(nearest_neighbour(examples, labels)(rows), labels[distances.argmin(1)])


def test_the_nearest_mean_knows_classes_that_are_not_counted_from_0():
    classify = nearest_mean(np.array([[0.0], [4.0], [10.0], [10.0]]), np.array([30, 30, 5, 5]))
    assert classify(np.array([[5.0], [7.0]])).tolist() == [30, 5]


def test_shifted_images_move_by_at_most_one_pixel():
    image = np.zeros((1, 5, 5))
    image[0, 2, 2] = 1
    found = randomly_shifted(np.repeat(image, 300, 0), np.random.default_rng(0))
    places = {tuple(np.argwhere(one)[0] - 2) for one in found}
    assert places == {(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)}


def test_how_the_data_is_handled_decides_the_accuracy():
    parts = zip(digits_arrays("train"), digits_arrays("test"))
    images, labels = (np.concatenate(part) for part in parts)
    in_order, at_random, shifted, augmented = (
        accuracy for _, accuracy in compare_data_handling(images / 16, labels)
    )
    assert in_order < 0.1 < shifted < 0.8 < 0.95 < augmented < at_random


def test_a_bar_is_as_long_as_its_accuracy():
    drawing = draw_accuracies([("none", 0.0), ("half", 0.5)])
    svg = drawing.svg()
    assert "0.0%" in svg and "50.0%" in svg and svg.count('class="cell value"') == 1
    assert f'width="{(drawing.width - 80) / 2:g}" height="18"' in svg
