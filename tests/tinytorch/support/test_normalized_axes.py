"""Which axes a normalization works on, and what does not fit."""

import numpy as np
import pytest

from tinytorch.core.normalization import BatchNorm1d, BatchNorm2d
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.support.normalized_axes import (
    as_shape,
    channel_axes,
    checked_rank,
    joined_axes,
    running_arrays,
)


@pytest.mark.parametrize("given", [3, (3,), [3], np.int64(3), np.array([3])], ids=str)
def test_a_shape_is_an_int_or_ints(given):
    assert as_shape(given) == (3,)


@pytest.mark.parametrize("given", [0, (), (3, 0), 2.5, "3", [[3]], None], ids=str)
def test_other_shapes_are_refused(given):
    with pytest.raises(ValueError) as told:
        as_shape(given)
    assert str(told.value).startswith(f"normalized_shape is {given!r}")


def test_one_axis_is_passed_on_as_it_is():
    x, weight = Tensor(np.ones((2, 3))), Variable(np.ones(3))
    assert joined_axes(x, 3, weight)[:2] == (x, weight)


def test_defaults_have_the_dtype_of_x():
    for dtype in ("float32", "float64"):
        _, weight, bias = joined_axes(Tensor(np.ones((2, 3), dtype)), (2, 3))
        assert weight.dtype == bias.dtype == dtype and weight.shape == bias.shape == (6,)
        assert weight.all() and not bias.any()


@pytest.mark.parametrize(
    "shape, normalized, part",
    [
        ((2, 3), 2, "normalized_shape (2,) needs inputs of shape (..., 2), not (2, 3)"),
        ((3,), (3, 3), "needs inputs of shape (..., 3, 3), not (3,)"),
        ((), 1, "not ()"),
        ((3, 2), (2, 3), "not (3, 2)"),
    ],
    ids=str,
)
def test_shapes_that_do_not_fit(shape, normalized, part):
    with pytest.raises(ValueError) as told:
        joined_axes(Tensor(np.ones(shape)), normalized)
    assert part in str(told.value)


def test_a_weight_of_another_shape_is_refused():
    x = Tensor(np.ones((2, 3)))
    for options, name in [({"weight": np.ones(2)}, "weight"), ({"bias": np.ones((1, 3))}, "bias")]:
        with pytest.raises(ValueError) as told:
            joined_axes(x, 3, **options)
        assert f"the {name} should have the shape (3,)" in str(told.value)


def test_channels_are_axis_1():
    assert channel_axes(3) == ((0, 2), (1, -1, 1))
    with pytest.raises(ValueError) as told:
        channel_axes(1)
    assert "of rank 1" in str(told.value)


def test_running_statistics_are_the_arrays_themselves():
    mean, var = np.zeros(3), Tensor(np.ones(3))
    assert [a is b for a, b in zip(running_arrays(mean, var, (5, 3), False), (mean, var.data))] == [
        True,
        True,
    ]
    with pytest.raises(ValueError) as told:
        running_arrays(mean, np.ones(2), (5, 3), True)
    assert "running_var has the shape (2,): it should be (3,)" in str(told.value)
    with pytest.raises(ValueError) as told:
        running_arrays(None, None, (5, 3), False)
    assert "use training=True" in str(told.value)
    assert [a.shape for a in running_arrays(None, None, (5, 3), True)] == [(3,), (3,)]


@pytest.mark.parametrize(
    "norm, shape, wanted",
    [
        (BatchNorm1d(3), (2, 3, 4, 4), "(B, 3) or (B, 3, L), not (2, 3, 4, 4)"),
        (BatchNorm1d(3), (2, 4), "(B, 3) or (B, 3, L), not (2, 4)"),
        (BatchNorm2d(3), (2, 3), "(B, 3, H, W), not (2, 3)"),
        (BatchNorm2d(3), (3,), "not (3,)"),
    ],
    ids=str,
)
def test_a_layer_names_the_inputs_it_takes(norm, shape, wanted):
    with pytest.raises(ValueError) as told:
        checked_rank(np.ones(shape), norm.ranks, norm)
    assert f"{norm} takes inputs of shape" in str(told.value) and wanted in str(told.value)
