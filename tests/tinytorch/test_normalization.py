"""The exported normalizations: against PyTorch over random shapes, against central differences, in
saved networks, and what they refuse."""

import pickle
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinytorch import nn
from tinytorch.core import normalization as lesson
from tinytorch.core.autograd import no_grad, topological_order
from tinytorch.core.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    LayerNorm,
    RMSNorm,
    batch_norm,
    layer_norm,
    normalized,
    rms_norm,
)
from tinytorch.core.tensor import Tensor, Variable


def numbers(shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).normal(1, 2, size=shape).astype(dtype)


# Against PyTorch

few = st.integers(1, 5)
DTYPES = {"float64": 1e-9, "float32": 2e-4}


@pytest.mark.slow
@settings(max_examples=40)
@given(
    lead=st.lists(few, max_size=3),
    size=st.lists(st.integers(2, 6), min_size=1, max_size=2),
    affine=st.sampled_from([0, 1, 2]),
    dtype=st.sampled_from(list(DTYPES)),
    eps=st.sampled_from([1e-5, 0.1]),
)
def test_layer_norm_equals_pytorchs(same_as_torch, lead, size, affine, dtype, eps):
    arrays = [numbers((*lead, *size), dtype), numbers(size, dtype, 1), numbers(size, dtype, 2)]
    same_as_torch(
        lambda x, w=None, b=None: layer_norm(x, tuple(size), w, b, eps),
        lambda F, x, w=None, b=None: F.layer_norm(x, size, w, b, eps),
        *arrays[: 1 + affine],
        near=DTYPES[dtype],
    )


@pytest.mark.slow
@settings(max_examples=40)
@given(
    lead=st.lists(few, max_size=3),
    size=st.lists(few, min_size=1, max_size=2),
    affine=st.booleans(),
    dtype=st.sampled_from(list(DTYPES)),
    eps=st.sampled_from([1e-5, 0.1]),
)
def test_rms_norm_equals_pytorchs(same_as_torch, lead, size, affine, dtype, eps):
    arrays = [numbers((*lead, *size), dtype), numbers(size, dtype, 1)]
    same_as_torch(
        lambda x, w=None: rms_norm(x, tuple(size), w, eps),
        lambda F, x, w=None: F.rms_norm(x, size, w, eps),
        *arrays[: 1 + affine],
        near=DTYPES[dtype],
    )


@pytest.mark.slow
@settings(max_examples=60)
@given(
    shape=st.tuples(st.integers(2, 5), st.integers(1, 4)),
    more=st.sampled_from([(), (3,), (2, 3)]),
    affine=st.sampled_from([0, 2]),
    training=st.booleans(),
    momentum=st.sampled_from([0.0, 0.1, 1.0]),
    dtype=st.sampled_from(list(DTYPES)),
)
def test_batch_norm_equals_pytorchs(
    torch, same_as_torch, shape, more, affine, training, momentum, dtype
):
    channels = shape[1:]
    arrays = [numbers((*shape, *more), dtype), numbers(channels, dtype, 1)]
    arrays.append(numbers(channels, dtype, 2))
    mean, var = numbers(channels, dtype, 3), abs(numbers(channels, dtype, 4)) + 0.5
    their_mean, their_var = torch.tensor(mean), torch.tensor(var)
    same_as_torch(
        lambda x, w=None, b=None: batch_norm(x, mean, var, w, b, training, momentum),
        lambda F, x, w=None, b=None: F.batch_norm(
            x, their_mean, their_var, w, b, training, momentum
        ),
        *arrays[: 1 + affine],
        near=DTYPES[dtype],
    )
    np.testing.assert_allclose(mean, their_mean.numpy(), 1e-5, 1e-5)
    np.testing.assert_allclose(var, their_var.numpy(), 1e-5, 1e-5)


@pytest.mark.slow
def test_layers_equal_pytorchs_in_training_and_evaluation(torch):
    theirs = torch.nn
    for mine, other, shape in [
        (LayerNorm((2, 3)), theirs.LayerNorm((2, 3)), (4, 2, 3)),
        (RMSNorm(3), theirs.RMSNorm(3), (4, 3)),
        (BatchNorm1d(3), theirs.BatchNorm1d(3), (4, 3)),
        (BatchNorm1d(3), theirs.BatchNorm1d(3), (4, 3, 2)),
        (BatchNorm2d(3, momentum=0.3), theirs.BatchNorm2d(3, momentum=0.3), (4, 3, 2, 2)),
        (BatchNorm1d(3, affine=False), theirs.BatchNorm1d(3, affine=False), (4, 3)),
        (
            BatchNorm1d(3, track_running_stats=False),
            theirs.BatchNorm1d(3, track_running_stats=False),
            (4, 3),
        ),
    ]:
        for seed in range(3):
            x = numbers(shape, "float32", seed)
            np.testing.assert_allclose(
                mine(Tensor(x)).data, other(torch.tensor(x)).detach().numpy(), 1e-4, 1e-5
            )
        names = {name for name in other.state_dict() if name != "num_batches_tracked"}
        assert set(mine.state_dict()) == names
        for name, array in mine.state_dict().items():
            np.testing.assert_allclose(array, other.state_dict()[name].numpy(), 1e-5, 1e-6)
        mine.eval(), other.eval()
        np.testing.assert_allclose(
            mine(Tensor(x)).data, other(torch.tensor(x)).detach().numpy(), 1e-4, 1e-5
        )


# Gradients, without PyTorch


def test_the_fused_form_agrees_with_the_composed_one():
    x, w, b, g = (numbers(s, "float32", k) for k, s in enumerate([(6, 8), 8, 8, (6, 8)]))
    one, other = ([Variable(a) for a in (x, w, b)] for _ in range(2))
    fused, composed = (
        layer_norm(one[0], 8, *one[1:]),
        normalized(other[0], -1) * other[1] + other[2],
    )
    np.testing.assert_allclose(fused.data, composed.data, 1e-5, 1e-5)
    fused.backward(g)
    composed.backward(g)
    for a, c in zip(one, other):
        np.testing.assert_allclose(a.grad, c.grad, 1e-4, 1e-4)
    assert len(topological_order(layer_norm(Variable(x), 8))) == 1


def test_saved_arrays_are_freed_with_the_graph(monkeypatch):
    held = []

    class Watched(np.ndarray):
        pass

    forward = lesson.layer_norm_forward

    def watching(x, weight, bias, eps, saved):
        out = forward(x, weight, bias, eps, saved)
        saved["watched"] = np.ones(3).view(Watched)
        held.append(weakref.ref(saved["watched"]))
        return out

    lesson.derivative(watching, together=lesson.layer_norm_rule)
    monkeypatch.setattr(lesson, "layer_norm_forward", watching)
    x = Variable(numbers((2, 3)))
    y = layer_norm(x, 3)
    assert held[-1]() is not None
    y.backward(np.ones((2, 3)), retain_graph=True)
    first = x.grad.copy()
    y.backward(np.ones((2, 3)))
    assert np.allclose(x.grad, 2 * first) and held[-1]() is None
    with no_grad():
        layer_norm(x, 3)
    assert held[-1]() is None


def test_no_operation_makes_float64_of_float32():
    x = Variable(numbers((4, 3), "float32"))
    for norm in (LayerNorm(3), RMSNorm(3), BatchNorm1d(3)):
        for _ in range(2):
            out = norm(x)
            out.backward(np.ones((4, 3), "float32"))
            assert out.dtype == x.grad.dtype == np.float32
            assert all(p.grad.dtype == np.float32 for p in norm.parameters())
            norm.eval()
    assert BatchNorm1d(3).running_var.dtype == np.float32


# Layers in networks


# Given code


def test_names_of_the_public_modules():
    for name in "LayerNorm RMSNorm BatchNorm1d BatchNorm2d layer_norm rms_norm batch_norm".split():
        assert getattr(nn, name) is getattr(lesson, name)
    assert nn.functional.rms_norm is rms_norm


def test_layers_print_their_sizes_and_pickle():
    shown = [LayerNorm(3), RMSNorm((2, 3)), BatchNorm1d(4), BatchNorm2d(5)]
    assert [repr(norm) for norm in shown] == [
        "LayerNorm((3,))",
        "RMSNorm((2, 3))",
        "BatchNorm1d(4)",
        "BatchNorm2d(5)",
    ]
    for norm in shown:
        again = pickle.loads(pickle.dumps(norm))
        assert again.state_dict().keys() == norm.state_dict().keys()


def test_rms_norm_without_eps_uses_the_eps_of_float32():
    for dtype in ("float32", "float64"):
        x = Tensor(np.full((1, 2), 1e-4, dtype))
        wanted = 1e-4 / np.sqrt(1e-8 + np.finfo(np.float32).eps)
        np.testing.assert_allclose(rms_norm(x, 2).data, np.full((1, 2), wanted), 1e-5)
