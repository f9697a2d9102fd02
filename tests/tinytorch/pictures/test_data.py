"""The pictures of lesson 09."""

import re

import numpy as np
import pytest
from svg_contents import texts

from tinytorch.data.image_sets import digits_arrays
from tinytorch.pictures.data import (
    compare_data_handling,
    draw_accuracies,
    draw_batches,
    draw_class_counts,
    draw_number_lines,
    draw_split,
    nearest_mean,
    nearest_neighbour,
    randomly_shifted,
    show_images,
    tile,
)


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (1, 4), (4, 4), (5, 4), (12, 5)])
def test_each_image_stands_unchanged_in_its_place_and_the_rest_is_empty(count, columns):
    some = np.random.default_rng(0).integers(1, 9, (count, 3, 2), dtype="uint8")
    canvas, corners = tile(some, columns, gap=(2, 1))
    rows = (count + columns - 1) // columns
    assert canvas.shape == (5 * rows - 2, 3 * columns - 1) and canvas.dtype == np.uint8
    for k, (top, left) in enumerate(corners):
        assert (top, left) == (5 * (k // columns), 3 * (k % columns))
        assert np.array_equal(canvas[top : top + 3, left : left + 2], some[k])
    assert len(corners) == count and np.count_nonzero(canvas) == some.size


def test_the_first_channel_is_drawn_on_a_fixed_scale():
    some = [np.stack([np.full((4, 4), 0.25), np.full((4, 4), 0.75)])] * 3
    (drawn,) = show_images(some, columns=2).axes[0].images
    assert set(np.unique(drawn.get_array())) == {0.0, 0.25}
    assert drawn.get_clim() == (0, 1)


def test_titles_stand_above_their_images_from_left_to_right_and_downwards():
    axis = show_images([np.ones((1, 5, 7))] * 3, titles=[8, "b", 2.5], columns=2).axes[0]
    assert [text.get_text() for text in axis.texts] == ["8", "b", "2.5"]
    (x0, y0), (x1, y1), (x2, y2) = [text.get_position() for text in axis.texts]
    assert x0 == x2 == 3 and x1 > x0 and y0 == y1 < 0 and y0 < y2
    assert y2 < 5 + 5 <= y2 + 1  # below the first row, above the second
    with pytest.raises(ValueError, match="zip"):
        show_images([np.ones((1, 5, 7))] * 3, titles=["a", "b"])


def test_parts_are_as_wide_as_they_are_large_and_fill_the_bar():
    drawing = draw_split([("training", 60, "a"), ("validation", 15, "b"), ("test", 25, "c")])
    widths = [float(w) for w in re.findall(r'width="([\d.]+)" height="36"', drawing.svg())]
    assert np.allclose(np.array(widths) / (drawing.width - 20), [0.6, 0.15, 0.25], atol=1e-3)
    assert texts(drawing)[0] == "60" and {"validation", "b"} < set(texts(drawing))


def test_only_counts_that_are_off_by_two_are_marked():
    drawing = draw_class_counts([("random", [7, 9, 10, 12])], 10)
    assert re.findall(r'class="cell (\w+)', drawing.svg()) == ["wrong", "value", "value", "wrong"]
    assert texts(drawing)[-4:] == ["7", "9", "10", "12"]


def test_a_batch_of_one_class_is_marked():
    drawing = draw_batches([("sorted", np.array([3, 3, 3, 4, 4, 3]))], 3, batches=2)
    assert re.findall(r'class="cell (\w+)', drawing.svg()) == ["wrong"] * 3 + ["value"] * 3
    assert texts(drawing) == ["sorted", "batch 0", "3", "3", "3", "batch 1", "4", "4", "3"]


def test_values_stand_at_their_places_on_the_line():
    drawing = draw_number_lines([("raw", {"day": [-1.0, 1.0], "night": [0.0]})], -1, 1)
    dots = re.findall(r'class="dot (\w+)" cx="([\d.]+)"', drawing.svg())
    (low, high, middle) = (float(x) for _, x in dots)
    assert [kind for kind, _ in dots] == ["value", "value", "gradient"]
    assert (low, high) == (80, drawing.width - 20) and middle == (low + high) / 2


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


def test_the_accuracy_depends_on_the_handling_of_the_data():
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
