"""Drawings of splits, classes and batches: every number is that of the data."""

import pytest

from tinytorch.support.splits import split_lengths


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
