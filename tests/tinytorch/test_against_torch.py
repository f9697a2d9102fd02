"""Gradients against PyTorch, where it is installed."""

import pkgutil
from pathlib import Path

import numpy as np
import pytest

from tinytorch import nn
from tinytorch.core import tensor as T
from tinytorch.core.tensor import Tensor, Variable
from tito.lesson import course

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def imported_torch():
    """Import PyTorch when a test of these runs, and not to collect them: that takes 2 seconds."""
    global torch
    torch = pytest.importorskip(
        "torch", reason="PyTorch is not installed: it is in the extra `dev-torch`"
    )


def both(ours, theirs, *arrays, rtol=1e-5, atol=1e-6):
    """Run both, with the same random gradient; compare results and every leaf's gradient."""
    mine = [Variable(array) for array in arrays]
    other = [torch.tensor(array, requires_grad=True) for array in arrays]
    out, wanted = ours(*mine), theirs(*other)
    np.testing.assert_allclose(out.data, wanted.detach().numpy(), rtol, atol)
    assert out.dtype == wanted.detach().numpy().dtype
    g = np.asarray(np.random.default_rng(9).normal(size=out.shape)).astype(out.dtype)
    out.backward(g)
    wanted.backward(torch.tensor(g))
    for one, two in zip(mine, other):
        assert one.grad.dtype == two.grad.numpy().dtype and one.grad.shape == tuple(two.grad.shape)
        np.testing.assert_allclose(one.grad, two.grad.numpy(), rtol, atol)


def numbers(shape, seed=0, low=-2.0, high=2.0):
    return np.asarray(np.random.default_rng(seed).uniform(low, high, shape)).astype("float32")


@pytest.mark.parametrize(
    "name", ["exp", "sin", "cos", "tanh", "sigmoid", "relu", "abs", "neg", "square"]
)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)], ids=str)
def test_functions(name, shape):
    ours = {"abs": abs, "neg": lambda x: -x, "square": lambda x: x**2}.get(name) or getattr(
        Tensor, name
    )
    both(ours, getattr(torch, name), numbers(shape))


@pytest.mark.parametrize("values", [[0.0, 1.0, 2.0], [2.0, 2.0, 2.0], [0.0, 0.0, -1.0]], ids=str)
def test_ties_and_kinks(values):
    x = np.array(values, "float32")
    both(lambda x: x.maximum(1.0), lambda x: torch.maximum(x, torch.tensor(1.0)), x)
    both(T.maximum, torch.maximum, x, x[::-1].copy())
    both(T.minimum, torch.minimum, x, x[::-1].copy())
    both(lambda x: x.max(0), lambda x: x.amax(0), x)
    both(lambda x: x.min(0), lambda x: x.amin(0), x)
    both(lambda x: x.clip(0, 1), lambda x: x.clamp(0, 1), x)
    both(lambda x: x.relu() + abs(x), lambda x: x.relu() + x.abs(), x)
    both(lambda x: x**2 + x**0, lambda x: x**2 + x**0, x)
    both(lambda x: nn.ReLU()(x), lambda x: torch.nn.ReLU()(x), x)
    both(lambda x: nn.relu(x) + (-x).relu(), lambda x: x.relu() + (-x).relu(), x)
    both(lambda x: x.clip(0) * x.clip(None, 2), lambda x: x.clamp(min=0) * x.clamp(max=2), x)
    both(lambda x: x.minimum(2.0), lambda x: torch.minimum(x, torch.tensor(2.0)), x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1, (0, 1), (0, 2), (0, 1, 2)], ids=str)
def test_equal_maxima_share_the_gradient(axis, dtype):
    x = np.random.default_rng(0).integers(0, 2, (2, 3, 4)).astype(dtype)  # ties on every axis
    for keepdims in (False, True):
        both(lambda x: x.max(axis, keepdims), lambda x: x.amax(axis, keepdims), x)
        both(lambda x: x.min(axis, keepdims), lambda x: x.amin(axis, keepdims), x)


def test_powers():
    both(lambda a, b: a**b, lambda a, b: a**b, numbers((2, 3), 1, 0.2, 3), numbers((3,), 2))
    both(
        lambda a, b: a**b,
        lambda a, b: a**b,
        np.array([0, 0, 3], "float32"),
        np.array([2, 0, 0], "float32"),
    )


@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 3), (3, 4)),
        ((3,), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (3,)),
        ((5, 2, 3), (3, 4)),
        ((4, 1, 2, 3), (5, 3, 2)),
    ],
    ids=str,
)
def test_matmul(shapes):
    both(lambda a, b: a @ b, lambda a, b: a @ b, numbers(shapes[0], 1), numbers(shapes[1], 2))


def test_shapes_indices_and_joins():
    x, y = numbers((2, 3, 4), 1), numbers((2, 3, 4), 2)
    both(
        lambda x: x.transpose(2, 0, 1).reshape(8, 3)[[1, 1, 0], 1:],
        lambda x: x.permute(2, 0, 1).reshape(8, 3)[[1, 1, 0], 1:],
        x,
    )
    both(lambda x: x[x.data > 0], lambda x: x[x > 0], x)
    both(lambda x, y: T.concatenate([x, y, x], -1), lambda x, y: torch.cat([x, y, x], -1), x, y)
    both(lambda x, y: T.stack([x, y], 1), lambda x, y: torch.stack([x, y], 1), x, y)
    both(
        lambda x: x.pad(((0, 0), (1, 2), (2, 1)), 5),
        lambda x: torch.nn.functional.pad(x, (2, 1, 1, 2), value=5),
        x,
    )


@pytest.mark.parametrize("axis", [0, -1, (0, 2)], ids=str)
def test_reductions(axis):
    x = numbers((2, 3, 4))
    for keepdims in (False, True):
        both(lambda x: x.mean(axis, keepdims), lambda x: x.mean(axis, keepdim=keepdims), x)
        both(
            lambda x: x.var(axis, keepdims, 1),
            lambda x: x.var(axis, keepdim=keepdims),
            x,
            atol=1e-5,
        )
        both(
            lambda x: x.std(axis, keepdims, 1),
            lambda x: x.std(axis, keepdim=keepdims),
            x,
            atol=1e-5,
        )


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cross_entropy(smoothing):
    from tinytorch.core.losses import cross_entropy

    labels = np.array([2, 0, 1, 1, 4])
    both(
        lambda z: cross_entropy(z, labels, label_smoothing=smoothing),
        lambda z: torch.nn.functional.cross_entropy(
            z, torch.tensor(labels), label_smoothing=smoothing
        ),
        10 * numbers((5, 6)),
    )


def test_a_network_and_its_input():
    x, w, b, v = numbers((5, 3)), numbers((3, 7), 1), numbers((7,), 2), numbers((7, 2), 3)
    both(
        lambda x, w, b, v: ((x @ w + b).relu() @ v).tanh().mean(0),
        lambda x, w, b, v: ((x @ w + b).relu() @ v).tanh().mean(0),
        x,
        w,
        b,
        v,
    )
    assert isinstance(Variable(x), Tensor)


@pytest.mark.parametrize(
    "entry", course.open_root(Path(__file__).parents[2]).lessons, ids=lambda entry: entry.name
)
def test_what_a_lesson_says_that_pytorch_calls_it_is_a_name_of_pytorch(entry):
    """A name that stands beside one of ours in a lesson's header, under `pytorch`."""
    names = entry.declared.meta.get("pytorch", {})
    for ours, theirs in names.items():
        assert theirs.startswith("torch."), f"{ours}: {theirs}"
        pkgutil.resolve_name(theirs)
