"""Gradients where they could be defined in several ways, against PyTorch; test_random_programs.py
compares all operations elsewhere.
"""

import pkgutil
from pathlib import Path

import numpy as np
import pytest

from tinytorch import nn
from tinytorch.core import tensor as T
from tito.lesson import course

pytestmark = pytest.mark.slow
NEAR = 1e-6


@pytest.mark.parametrize("values", [[0.0, 1.0, 2.0], [2.0, 2.0, 2.0], [0.0, 0.0, -1.0]], ids=str)
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda x: x.maximum(1.0), lambda x: x.maximum(x.new_tensor(1.0))),
        (lambda x: x.minimum(2.0), lambda x: x.minimum(x.new_tensor(2.0))),
        (lambda x: T.maximum(x, x[::-1]), lambda x: x.maximum(x.flip(0))),
        (lambda x: T.minimum(x, x[::-1]), lambda x: x.minimum(x.flip(0))),
        (lambda x: x.max(axis=0), lambda x: x.amax(0)),
        (lambda x: x.min(axis=0), lambda x: x.amin(0)),
        (lambda x: x.clip(0, 1), lambda x: x.clamp(0, 1)),
        (lambda x: x.clip(0) * x.clip(None, 2), lambda x: x.clamp(min=0) * x.clamp(max=2)),
        (lambda x: x.relu() + abs(x), lambda x: x.relu() + x.abs()),
        (lambda x: nn.relu(x) + nn.ReLU()(-x), lambda x: x.relu() + (-x).relu()),
        (lambda x: x**2 + x**0, lambda x: x**2 + x**0),
    ],
)
def test_ties_and_kinks(same_as_torch, ours, theirs, values):
    same_as_torch(ours, lambda F, x: theirs(x), np.array(values, "float32"), near=NEAR)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1, (0, 1), (0, 2), (0, 1, 2)], ids=str)
def test_equal_maxima_share_the_gradient(same_as_torch, axis, dtype):
    x = np.random.default_rng(0).integers(0, 2, (2, 3, 4)).astype(dtype)  # ties on every axis
    for keepdims in (False, True):
        for ours, theirs in (("max", "amax"), ("min", "amin")):
            same_as_torch(
                lambda x: getattr(x, ours)(axis=axis, keepdims=keepdims),
                lambda F, x: getattr(x, theirs)(axis, keepdims),
                x,
                near=NEAR,
            )


def test_powers_of_zero_and_to_the_power_zero(same_as_torch):
    a, b = np.array([0, 0, 3], "float32"), np.array([2, 0, 0], "float32")
    same_as_torch(lambda a, b: a**b, lambda F, a, b: a**b, a, b, near=NEAR)


@pytest.mark.parametrize(
    "entry", course.open_root(Path(__file__).parents[2]).lessons, ids=lambda entry: entry.name
)
def test_pytorch_names_in_a_lessons_header_exist(torch, entry):
    """The header lists them under `pytorch`, each with our name."""
    names = entry.declared.meta.get("pytorch", {})
    for ours, theirs in names.items():
        assert theirs.startswith("torch."), f"{ours}: {theirs}"
        pkgutil.resolve_name(theirs)
