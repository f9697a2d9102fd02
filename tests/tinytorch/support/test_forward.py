"""Forward functions, against NumPy's own spelling of the same thing."""

import math
import warnings

import numpy as np
import pytest

from tinytorch.support import forward


def numbers(shape, low=0.5, high=3.0):
    return np.random.default_rng(0).uniform(low, high, shape)


@pytest.mark.parametrize("exponent", [-2, -1, 0, 1, 2, 3, 4, 5, 0.5, 2.0, -1.5, True])
def test_powers_of_floats_are_repeated_products(exponent):
    x = numbers((2, 3))
    wanted = np.exp(np.log(x) * exponent)
    np.testing.assert_allclose(forward.power(x, exponent), wanted, rtol=1e-12)


def test_powers_of_integers_stay_integers_where_they_can():
    x = np.array([1, 2, 4])
    assert forward.power(x, 3).tolist() == [1, 8, 64] and forward.power(x, 3).dtype == x.dtype
    assert forward.power(x, -1).tolist() == [1, 0.5, 0.25]


def test_powers_broadcast_base_and_exponent():
    assert forward.power(2, np.array([[1], [3]])).tolist() == [[2], [8]]


def test_a_sigmoid_is_right_where_exp_overflows():
    x = np.array([-1000, -30, -1, 0, 2, 1000], "float32")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = forward.sigmoid_forward(x)
    np.testing.assert_allclose(out, (1 + np.tanh(x / 2)) / 2, rtol=1e-5, atol=1e-12)
    assert out[1] == pytest.approx(math.exp(-30), rel=1e-5) and out[-1] == 1


def test_relu_keeps_the_dtype_of_integers():
    out = forward.relu_forward(np.array([-2, 0, 3]))
    assert out.tolist() == [0, 0, 3] and out.dtype == int


@pytest.mark.parametrize("low, high", [(1, 2), (None, 2), (1.5, None), (None, None)])
def test_clipping_leaves_a_side_open(low, high):
    x = numbers((2, 3))
    wanted = [min(max(v, low or 0), high or 9) for v in x.ravel()]
    assert forward.clip_forward(x, low=low, high=high).ravel().tolist() == wanted


@pytest.mark.parametrize("name", ["sum", "max", "min"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_are_numpys(name, axis, keepdims):
    x = numbers((2, 3, 4))
    out = getattr(forward, f"{name}_forward")(x, axis=axis, keepdims=keepdims)
    np.testing.assert_allclose(out, getattr(np, name)(x, axis=axis, keepdims=keepdims))


def test_a_reshaped_and_a_sliced_array_share_memory():
    x = numbers((2, 3))
    assert np.shares_memory(forward.reshape_forward(x, (3, 2)), x)
    assert np.shares_memory(forward.take_forward(x, (slice(None), 1)), x)
    assert forward.take_forward(x, x > 9).shape == (0,)


def test_joined_arrays_come_apart_again():
    parts = [numbers((2, 3)), numbers((2, 3), 4, 5)]
    long, high = forward.concatenate_forward(*parts, axis=1), forward.stack_forward(*parts, axis=1)
    assert long.shape == (2, 6) and high.shape == (2, 2, 3)
    for n, part in enumerate(parts):
        assert np.array_equal(long[:, 3 * n : 3 * n + 3], part)
        assert np.array_equal(high[:, n], part)


@pytest.mark.parametrize("width", [((0, 0), (0, 0)), ((1, 2), (0, 3)), ((0, 1), (1, 0))], ids=str)
@pytest.mark.parametrize("value", [0, -np.inf, 2.5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_padded_array_is_numpys(width, value, dtype):
    x = numbers((2, 3)).astype(dtype)
    out = forward.pad_forward(x, width=width, value=value)
    assert out.dtype == dtype and not np.shares_memory(out, x)
    assert np.array_equal(out, np.pad(x, width, constant_values=value))


def test_names_end_alike_so_that_a_message_can_drop_the_ending():
    others = [name for name in forward.__all__ if not name.endswith("_forward")]
    assert others == ["name_of", "power"]


@pytest.mark.parametrize(
    "op, name",
    [
        (np.subtract, "sub"),
        (forward.power, "pow"),
        (forward.take_forward, "getitem"),
        (np.exp, "exp"),
        (np.random.default_rng(0).normal, "Generator"),
        (object(), "an operation"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_operations_are_named_as_in_pytorch(op, name):
    assert forward.name_of(op) == name
