"""The convolution by strips, against its definition as a sum over windows."""

import numpy as np
import pytest

from tinytorch.support.strips import strips_forward, strips_input_gradient, strips_weight_gradient

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
    out = strips_forward(x, w, b, stride, padding)
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
    for rule, leaf in [(strips_input_gradient, x), (strips_weight_gradient, w)]:
        gradient = rule(g, None, x, w, none, stride, padding)
        assert gradient.shape == leaf.shape
        for seed in range(4):
            other = numbers(leaf.shape, 10 + seed)
            moved = definition(*((other, w) if leaf is x else (x, other)), none, stride, padding)
            assert np.isclose((gradient * other).sum(), (g * moved).sum(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dtypes_stay(dtype):
    x, w, b = (numbers(s).astype(dtype) for s in [(2, 8, 4, 4), (3, 8, 2, 2), (3,)])
    out = strips_forward(x, w, b, (1, 1), (0, 0))
    assert out.dtype == dtype
    for rule in (strips_input_gradient, strips_weight_gradient):
        assert rule(np.ones_like(out), out, x, w, b, (1, 1), (0, 0)).dtype == dtype


def test_the_strips_of_the_forward_pass_are_used_again_for_the_weights():
    x, w, b = numbers((2, 3, 5, 6)), numbers((4, 3, 3, 2), 1), numbers((4,), 2)
    saved = {}
    out = strips_forward(x, w, b, (1, 1), (1, 0), saved)
    g = numbers(out.shape, 3)
    again = strips_weight_gradient(g, out, x, w, b, (1, 1), (1, 0))
    assert np.array_equal(again, strips_weight_gradient(g, out, x, w, b, (1, 1), (1, 0), saved))
    saved["strips"] *= 2
    kept = strips_weight_gradient(g, out, x, w, b, (1, 1), (1, 0), saved)
    np.testing.assert_allclose(kept, 2 * again)
