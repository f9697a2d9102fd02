"""Kernel sizes and padding, the tiled convolution, and the gradient of 2x2 max pooling."""

import numpy as np
import pytest

from tinytorch.support.convolution import (
    conv_tiled_forward,
    conv_tiled_input_gradient,
    conv_tiled_weight_gradient,
    max_pool_2x2_gradient,
    prefer_2x2,
)

CASES = [
    # shape of the images, of the weights, stride, padding
    ((2, 3, 5, 6), (4, 3, 3, 2), (1, 1), (0, 0)),
    ((1, 8, 7, 4), (2, 8, 2, 3), (2, 3), (1, 2)),
    ((3, 1, 4, 4), (1, 1, 1, 1), (3, 1), (0, 1)),
    ((2, 2, 1, 9), (3, 2, 3, 5), (1, 2), (1, 0)),
    ((0, 2, 4, 4), (3, 2, 2, 2), (1, 1), (0, 0)),
]


def numbers(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def windows_of(x, kernel, stride, padding):
    """Every window: (batch, channels, rows, columns, *kernel)."""
    x = np.pad(x, [(0, 0), (0, 0), *[(n, n) for n in padding]])
    out = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(2, 3))
    return out[:, :, :: stride[0], :: stride[1]]


def definition(x, weights, bias, stride, padding):
    found = windows_of(x, weights.shape[2:], stride, padding)
    return np.einsum("ncpqij,ocij->nopq", found, weights) + bias[:, None, None]


@pytest.mark.parametrize("images, kernels, stride, padding", CASES)
def test_the_convolution_is_the_sum_over_its_windows(images, kernels, stride, padding):
    x, w, b = numbers(images), numbers(kernels, 1), numbers(kernels[:1], 2)
    kept = x.copy(), w.copy(), b.copy()
    out = conv_tiled_forward(x, w, b, stride, padding)
    np.testing.assert_allclose(out, definition(x, w, b, stride, padding), rtol=1e-10, atol=1e-12)
    assert all(np.array_equal(*pair) for pair in zip(kept, (x, w, b)))


@pytest.mark.parametrize("images, kernels, stride, padding", CASES)
def test_the_gradients_are_those_of_a_linear_function(images, kernels, stride, padding):
    """Linear in x and in the weights:
    the inner product of gradient and input is that of g and result.
    """
    x, w, none = numbers(images), numbers(kernels, 1), np.zeros(kernels[0])
    out = definition(x, w, none, stride, padding)
    g = numbers(out.shape, 3)
    for rule, leaf in [(conv_tiled_input_gradient, x), (conv_tiled_weight_gradient, w)]:
        gradient = rule(g, None, x, w, none, stride, padding)
        assert gradient.shape == leaf.shape
        for seed in range(4):
            other = numbers(leaf.shape, 10 + seed)
            moved = definition(*((other, w) if leaf is x else (x, other)), none, stride, padding)
            assert np.isclose((gradient * other).sum(), (g * moved).sum(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dtypes_stay(dtype):
    x, w, b = (numbers(s).astype(dtype) for s in [(2, 8, 4, 4), (3, 8, 2, 2), (3,)])
    out = conv_tiled_forward(x, w, b, (1, 1), (0, 0))
    assert out.dtype == dtype
    for rule in (conv_tiled_input_gradient, conv_tiled_weight_gradient):
        assert rule(np.ones_like(out), out, x, w, b, (1, 1), (0, 0)).dtype == dtype


def test_the_strips_of_the_forward_pass_are_used_again_for_the_weights():
    x, w, b = numbers((2, 3, 5, 6)), numbers((4, 3, 3, 2), 1), numbers((4,), 2)
    saved = {}
    out = conv_tiled_forward(x, w, b, (1, 1), (1, 0), saved)
    g = numbers(out.shape, 3)
    again = conv_tiled_weight_gradient(g, out, x, w, b, (1, 1), (1, 0))
    assert np.array_equal(again, conv_tiled_weight_gradient(g, out, x, w, b, (1, 1), (1, 0), saved))
    saved["strips"] *= 2
    kept = conv_tiled_weight_gradient(g, out, x, w, b, (1, 1), (1, 0), saved)
    np.testing.assert_allclose(kept, 2 * again)


def searched(g, x):
    """The gradient by its definition: `g` goes to the first maximum of each window."""
    gradient = np.zeros_like(x)
    for n, c, p, q in np.ndindex(*g.shape):
        window = x[n, c, 2 * p : 2 * p + 2, 2 * q : 2 * q + 2]
        i, j = np.unravel_index(window.argmax(), (2, 2))
        gradient[n, c, 2 * p + i, 2 * q + j] += g[n, c, p, q]
    return gradient


@pytest.mark.parametrize("shape", [(2, 3, 4, 6), (1, 2, 5, 7), (1, 1, 2, 3), (0, 2, 4, 4)])
@pytest.mark.parametrize("layout", ["channels first", "channels last"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_first_maximum_of_each_window_gets_the_gradient(shape, layout, dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, shape).astype(dtype)  # many ties
    if layout == "channels last":
        x = np.ascontiguousarray(x.transpose(2, 0, 3, 1)).transpose(1, 3, 0, 2)
    n, c, height, width = shape
    g = rng.normal(size=(n, c, height // 2, width // 2)).astype(dtype)
    kept = x.copy(), g.copy()
    windows = x[:, :, : height // 2 * 2, : width // 2 * 2]
    out = windows.reshape(n, c, height // 2, 2, width // 2, 2).max(axis=(3, 5))
    found = max_pool_2x2_gradient(g, out, x)
    assert found.dtype == dtype and found.shape == shape
    assert np.array_equal(found, searched(g, x))
    assert np.array_equal(x, kept[0]) and np.array_equal(g, kept[1])


@pytest.mark.parametrize(
    "options",
    [((2, 2), (1, 1), (0, 0)), ((2, 2), (2, 2), (1, 0)), ((3, 2), (3, 2), (0, 0))],
    ids=str,
)
def test_other_windows_are_left_to_the_general_rule(options):
    rule = prefer_2x2(lambda *given: given[3:])
    assert rule(None, np.zeros(1), None, *options) == options
