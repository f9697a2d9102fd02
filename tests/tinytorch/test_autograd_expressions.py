"""Random expressions, built by hypothesis, against finite differences and against each other."""

import numpy as np
import pytest

from tinytorch.core import tensor as T
from tinytorch.core.autograd import backward, numerical_gradient_check
from tinytorch.core.tensor import Tensor, Variable

hypothesis = pytest.importorskip(
    "hypothesis", reason="hypothesis builds the expressions: it is in the extra `dev`"
)
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

ONE = [
    Tensor.sin, Tensor.cos, Tensor.tanh, Tensor.sigmoid, lambda x: x * x, lambda x: -x,
    lambda x: (x * x + 1).log(), lambda x: (x * x + 0.5).sqrt(), lambda x: x.tanh().exp(),
    lambda x: 1 / (x * x + 1), lambda x: x.tanh() ** 3,
    lambda x: x.reshape(*x.shape[::-1]).transpose() if x.ndim else x,
    lambda x: x.sum(-1, True) if x.ndim else x,
    lambda x: x.mean(0, True) * x if x.ndim and x.shape[0] else x,
    lambda x: x[::-1] if x.ndim else x,
    lambda x: x[[0, -1, 0]].sum(0, True) if x.ndim and x.shape[0] else x, lambda x: x.detach() * x,
    lambda x: T.concatenate([x, x * 2], -1).sum(-1, True) * x if x.ndim else x,
]  # fmt: skip
TWO = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / (b * b + 1),
    lambda a, b: (a * a + 0.5) ** b.tanh(),
    lambda a, b: T.where(np.arange(2) > 0, a, b) if a.shape == (2,) else a + 2 * b,
]


@st.composite
def programs(draw):
    """Shapes of the leaves that broadcast, and steps (function, places of its inputs among all
    numbers so far)."""
    full = draw(st.sampled_from([(), (2,), (3, 2), (2, 3, 2), (2, 1, 3, 2), (0, 2)]))
    shapes = []
    for _ in range(draw(st.integers(1, 3))):
        rank = draw(st.integers(0, len(full)))
        shapes.append(tuple(1 if draw(st.booleans()) else n for n in full[len(full) - rank :]))
    steps = []
    for n in range(draw(st.integers(1, 7))):
        so_far = st.integers(0, len(shapes) + n - 1)
        if draw(st.booleans()):
            steps.append((draw(st.sampled_from(ONE)), (draw(so_far),)))
        else:
            steps.append((draw(st.sampled_from(TWO)), (draw(so_far), draw(so_far))))
    return shapes, steps, draw(st.integers(0, 1000))


def leaves_of(shapes, seed, dtype="float64", kinds=("random",)):
    """An array for each shape: random numbers, equal ones, zeros, or some nan among others."""
    arrays = [np.random.default_rng(seed + n).uniform(-1, 1, s) for n, s in enumerate(shapes)]
    for n, array in enumerate(map(np.asarray, arrays)):
        kind = kinds[(seed + n) % len(kinds)]
        if kind == "nan":
            array = np.where(array > 0.5, np.nan, array)
        arrays[n] = np.asarray(array * (kind != "zeros") if kind != "equal" else array * 0 + 0.5)
    return [array.astype(dtype) for array in arrays]


def run(steps, leaves):
    """The sum of all numbers, so that every step counts and many are used twice."""
    values = list(leaves)
    for f, places in steps:
        try:
            values.append(f(*[values[p] for p in places]))
        except ValueError:  # these two shapes do not meet
            values.append(values[places[0]])
    total = 0.0
    for n, value in enumerate(values):
        total = total + (value * (0.5 + n % 3)).sum()
    return total


@pytest.mark.slow
@settings(max_examples=150)
@given(programs())
def test_random_expressions_agree_with_finite_differences(program):
    shapes, steps, seed = program
    steps = [
        step for step in steps if step[0] is not ONE[-2]
    ]  # detach hides from backward what a finite difference sees
    arrays = leaves_of(shapes, seed)
    steps = [
        (f, tuple(min(p, len(shapes) + n - 1) for p in places))
        for n, (f, places) in enumerate(steps)
    ]
    assert numerical_gradient_check(lambda *leaves: run(steps, leaves), arrays, tolerance=1e-4)


@settings(max_examples=100)
@given(programs())
def test_float32_agrees_with_float64_and_twice_is_double(program):
    shapes, steps, seed = program
    found = []
    for dtype in ("float64", "float32"):
        kinds = ("random", "equal", "zeros", "nan")
        leaves = [Variable(array) for array in leaves_of(shapes, seed, dtype, kinds)]
        out = run(steps, leaves)
        backward(out, retain_graph=True)
        found.append([leaf.grad.copy() for leaf in leaves])
        assert all(leaf.grad.dtype == dtype and leaf.grad.shape == leaf.shape for leaf in leaves)
        backward(out)
        for leaf, once in zip(leaves, found[-1]):
            assert np.allclose(leaf.grad, 2 * once, rtol=1e-5, equal_nan=True)
    for wide, narrow in zip(*found):
        near = 1e-2 * max(1, np.nan_to_num(abs(wide)).max(initial=0))
        assert np.allclose(wide, narrow, rtol=1e-2, atol=near, equal_nan=True)
