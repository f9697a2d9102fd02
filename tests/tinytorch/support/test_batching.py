"""Rows of one array: of one shape, with the dtype of the samples."""

import numpy as np
import pytest

from tinytorch.support.batching import stack_rows


def test_numpy_samples_keep_their_dtype_and_python_numbers_stay_numbers():
    assert stack_rows([np.zeros((2, 1), "uint8")] * 3).dtype == np.uint8
    assert stack_rows([np.float64(1), np.float64(2)]).dtype == np.float64
    assert stack_rows([1, 2, 3]) == [1, 2, 3]


def test_samples_of_different_shapes_are_refused_with_the_shapes():
    with pytest.raises(ValueError, match=r"\(2,\) and \(3,\) cannot be stacked"):
        stack_rows([np.zeros(2), np.zeros(3), np.zeros(2)])
