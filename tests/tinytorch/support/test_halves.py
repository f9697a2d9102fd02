"""Max pooling by halves, against a search through each window."""

import numpy as np
import pytest

from tinytorch.support.halves import by_halves, halves_gradient


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
    found = halves_gradient(g, out, x)
    assert found.dtype == dtype and found.shape == shape
    assert np.array_equal(found, searched(g, x))
    assert np.array_equal(x, kept[0]) and np.array_equal(g, kept[1])


@pytest.mark.parametrize(
    "options",
    [((2, 2), (1, 1), (0, 0)), ((2, 2), (2, 2), (1, 0)), ((3, 2), (3, 2), (0, 0))],
    ids=str,
)
def test_other_windows_are_left_to_the_general_rule(options):
    rule = by_halves(lambda *given: given[3:])
    assert rule(None, None, None, *options) == options
