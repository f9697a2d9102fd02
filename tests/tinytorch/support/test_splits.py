"""Drawings of splits, classes and batches: every number is that of the data."""

import re

import numpy as np
import pytest

from tinytorch.support.splits import draw_batches, draw_class_counts, draw_split, split_lengths


def texts(drawing):
    return re.findall(r"<text[^>]*>([^<]*)</text>", drawing.svg())


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


@pytest.mark.parametrize(
    ("lengths", "count", "wanted"),
    [
        ([0.71, 0.29], 100, [71, 29]),  # 0.29 * 100 is less than 29 in floating point
        ([0.25] * 4, 10, [3, 3, 2, 2]),
        ([1 / 3] * 3, 101, [34, 34, 33]),
        ([0.9, 0.1], 0, [0, 0]),
        ((0, 9), 9, [0, 9]),
    ],
)
def test_no_example_is_lost_by_rounding(lengths, count, wanted):
    assert split_lengths(lengths, count) == wanted


@pytest.mark.parametrize("lengths", [[4, 4], [12, -3], [0.5, 0.4]])
def test_lengths_that_do_not_add_up_are_refused(lengths):
    with pytest.raises(ValueError, match="there are 9 examples"):
        split_lengths(lengths, 9)
