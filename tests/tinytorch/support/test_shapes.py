"""Arithmetic on shapes, against what NumPy makes of arrays of these shapes."""

import numpy as np
import pytest

from tinytorch.support.shapes import (
    as_tuple,
    axes_of,
    flattened_shape,
    pad_pairs,
    squeezed_shape,
)


def test_several_ints_and_one_tuple_are_the_same_shape():
    assert as_tuple((2, 3)) == as_tuple(((2, 3),)) == as_tuple(([2, 3],)) == (2, 3)
    assert as_tuple((5,)) == as_tuple(((5,),)) == (5,)
    assert as_tuple(()) == as_tuple(((),)) == ()


@pytest.mark.parametrize(
    "axis, ndim, wanted",
    [
        (None, 3, (0, 1, 2)),
        (None, 0, ()),
        (1, 3, (1,)),
        (-1, 3, (2,)),
        ((-1, 0), 3, (2, 0)),
        ([0, -2], 2, (0, 0)),
        ((), 2, ()),
    ],
)
def test_axes_are_numbers_from_0(axis, ndim, wanted):
    assert axes_of(axis, ndim) == wanted


@pytest.mark.parametrize("axis, ndim", [(2, 2), (-3, 2), ((0, 5), 2), (0, 0)])
def test_an_axis_that_is_not_there_is_refused(axis, ndim):
    with pytest.raises(IndexError, match=f"no axis .* in {ndim} axes"):
        axes_of(axis, ndim)


@pytest.mark.parametrize("shape", [(2, 3, 4), (5,), (2, 0, 3), (1, 1, 2)])
def test_all_axes_flatten_into_the_number_of_numbers(shape):
    assert flattened_shape(shape) == np.zeros(shape).ravel().shape
    assert flattened_shape(shape, -1) == shape


def test_flattening_some_axes():
    assert flattened_shape((2, 3, 4), 0, 1) == (6, 4) and flattened_shape((2, 3, 4), 1, 1) == (
        2,
        3,
        4,
    )
    assert flattened_shape(()) == (1,)
    with pytest.raises(ValueError, match=r"from 1 to 0 in shape \(2, 3\)"):
        flattened_shape((2, 3), 1, 0)


@pytest.mark.parametrize(
    "shape, axis",
    [((1, 2, 1), None), ((1, 2, 1), 0), ((1, 2, 1), -1), ((1, 2, 1), (0, 2)), ((), None)],
)
def test_squeezed_shapes_are_numpys(shape, axis):
    assert squeezed_shape(shape, axis) == np.squeeze(np.zeros(shape), axis).shape


def test_a_longer_axis_is_not_squeezed():
    with pytest.raises(ValueError, match=r"not axis 1 of shape \(1, 2\)"):
        squeezed_shape((1, 2), 1)


@pytest.mark.parametrize("width", [0, 2, (1, 2), [(1, 0), (0, 3)], ((4,), (5,))], ids=str)
def test_widths_are_read_as_numpy_pad_reads_them(width):
    pairs = pad_pairs(width, (3, 4))
    padded = np.pad(np.ones((3, 4)), width)
    assert tuple(before + n + after for n, (before, after) in zip((3, 4), pairs)) == padded.shape
    assert np.argwhere(padded)[0].tolist() == [before for before, _ in pairs]


@pytest.mark.parametrize("width, words", [((1, 2, 3), r"shape \(3, 4\)"), (-1, "negative")])
def test_widths_that_fit_no_shape(width, words):
    with pytest.raises(ValueError, match=words):
        pad_pairs(width, (3, 4))
