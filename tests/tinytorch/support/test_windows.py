"""Pairs, padding and kernel positions, against NumPy."""

import numpy as np
import pytest

from tinytorch.support.windows import (
    crop_padding,
    flatten_maps,
    kernel_positions,
    pad_images,
    pair,
    shape_error,
)


@pytest.mark.parametrize("n", [3, (3, 3), [3, 3], np.int64(3)], ids=repr)
def test_one_number_means_both(n):
    assert pair(n) == (3, 3) and [type(k) for k in pair(n)] == [int, int]


def test_a_pair_stays_in_its_order():
    assert pair((1, 4)) == (1, 4) and pair((0, 2), least=0) == (0, 2)


@pytest.mark.parametrize("n", [0, -1, 0.5, "same", None, (1,), (1, 2, 3), (1, 0), (2, 1.5)])
def test_what_is_no_pair_is_refused_with_its_value(n):
    with pytest.raises(ValueError, match="expected an int of at least 1") as error:
        pair(n)
    assert repr(n) in str(error.value)


@pytest.mark.parametrize("kernel", [(1, 1), (2, 3), (3, 1)])
def test_kernel_positions_run_row_by_row(kernel):
    assert kernel_positions(kernel) == list(np.ndindex(*kernel))


@pytest.mark.parametrize("padding", [(1, 2), (0, 3), (2, 0)])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (4, 1), (2, 0, 3)])
@pytest.mark.parametrize("value", [0, -np.inf])
def test_padding_is_numpys_and_can_be_cropped_again(padding, shape, value):
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    sides = [(0, 0)] * (len(shape) - 2) + [(n, n) for n in padding]
    wide = pad_images(x, padding, value)
    assert wide.dtype == x.dtype and np.array_equal(wide, np.pad(x, sides, constant_values=value))
    assert np.array_equal(crop_padding(wide, padding), x)


def test_without_padding_nothing_is_copied():
    x = np.ones((2, 3))
    assert pad_images(x, (0, 0)) is x and np.shares_memory(crop_padding(x, (0, 1)), x)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (0, 3, 2, 2), (1, 2, 0, 3)])
def test_flattened_maps_run_row_by_row(shape):
    maps = np.arange(np.prod(shape)).reshape(shape)
    out = flatten_maps(maps)
    assert out.shape == (*shape[:2], shape[2] * shape[3])
    assert np.array_equal(out.ravel(), maps.ravel())


def test_a_shape_error_names_shapes_reason_and_formula():
    error = shape_error([2, 3, 4, 5], "weights of shape (1, 2)", ValueError("too few axes"))
    assert isinstance(error, ValueError)
    for words in (
        "(2, 3, 4, 5)",
        "weights of shape (1, 2): too few axes\n",
        "(size + 2 * padding - kernel) // stride + 1",
    ):
        assert words in str(error)


def test_a_shape_error_takes_arrays_for_their_shapes():
    error = shape_error(np.zeros((50, 60)), np.zeros((1, 2)), "too few axes")
    assert str(error) == str(shape_error((50, 60), (1, 2), "too few axes"))
    assert "images of shape (50, 60) do not fit weights of shape (1, 2)" in str(error)
