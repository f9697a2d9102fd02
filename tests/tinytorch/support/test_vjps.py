"""Rules that the autograd lesson is given: corner cases of powers, and shapes. (That they agree
with finite differences is tested through the engine.)"""

import numpy as np
import pytest

from tinytorch.support import vjps


@pytest.mark.parametrize(
    ("base", "exponent", "wanted"), [(0.0, 0, 0), (0.0, 1, 1), (0.0, 2, 0), (-2.0, -1, -0.25)]
)
def test_powers_at_their_corners(base, exponent, wanted):
    assert vjps.base_rule(1.0, None, np.float64(base), exponent) == wanted


def test_the_exponent_of_zero_has_gradient_zero():
    out = np.array([0.0, 1.0])
    g = vjps.exponent_rule(np.ones(2), out, np.array([0.0, 0.0]), np.array([2.0, 0.0]))
    assert g.tolist() == [0, 0]


def test_joined_arrays_receive_their_parts():
    a, b = np.zeros((1, 3)), np.zeros((2, 3))
    g = np.arange(9.0).reshape(3, 3)
    parts = vjps.concatenate_rule(g, None, a, b, axis=0)
    assert [part.tolist() for part in parts] == [g[:1].tolist(), g[1:].tolist()]
    assert [p.tolist() for p in vjps.stack_rule(g, None, a, a, a, axis=1)] == g.T.tolist()
    assert vjps.pad_rule(g, None, np.zeros((1, 2)), ((1, 1), (0, 1)), 0.0).tolist() == [[3, 4]]


@pytest.mark.parametrize(
    ("a", "b"),
    [((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3, 4)), ((3,), (5, 3, 4))],
)
def test_operands_of_every_rank_become_matrices_that_fit(a, b):
    a, b = np.ones(a), np.ones(b)
    g, x, y = vjps.as_matrices(np.asarray(a @ b), a, b)
    assert (x @ y).shape == g.shape and min(g.ndim, x.ndim, y.ndim) >= 2
