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
from tinytorch.core.autograd import no_grad, numerical_gradient_check, topological_order
from tinytorch.core.convolutions import Conv2d
from tinytorch.core.layers import Dense, Sequential
from tinytorch.core.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    LayerNorm,
    Residual,
    RMSNorm,
    batch_norm,
    folded,
    layer_norm,
    normalized,
    rms_norm,
    spread,
)
from tinytorch.core.optimizers import SGD
from tinytorch.core.tensor import Tensor, Variable


def numbers(shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).normal(1, 2, size=shape).astype(dtype)


@pytest.fixture(scope="module")
def torch():
    """PyTorch, imported when a test that needs it runs: that takes seconds."""
    return pytest.importorskip(
        "torch", reason="PyTorch is not installed: it is in the extra `dev-torch`"
    )


def both(torch, ours, theirs, *arrays, near):
    """The same function of ours and of PyTorch's: results and, with the same random gradient, the
    gradient of every input."""
    F = torch.nn.functional
    mine = [Variable(array) for array in arrays]
    other = [torch.tensor(array, requires_grad=True) for array in arrays]
    out, wanted = ours(*mine), theirs(F, *other)
    assert out.shape == tuple(wanted.shape) and out.dtype == wanted.detach().numpy().dtype
    np.testing.assert_allclose(out.data, wanted.detach().numpy(), near, near)
    g = numbers(out.shape, out.dtype, 9)
    kept = [array.copy() for array in arrays]
    out.backward(g)
    wanted.backward(torch.tensor(g))
    for leaf, one, array in zip(mine, other, kept):
        assert leaf.grad.shape == leaf.shape and leaf.grad.dtype == leaf.dtype
        np.testing.assert_allclose(leaf.grad, one.grad.numpy(), near, near)
        assert np.array_equal(leaf.data, array)


# Against PyTorch

few = st.integers(1, 5)
DTYPES = {"float64": 1e-9, "float32": 2e-4}


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    lead=st.lists(few, max_size=3),
    size=st.lists(st.integers(2, 6), min_size=1, max_size=2),
    affine=st.sampled_from([0, 1, 2]),
    dtype=st.sampled_from(list(DTYPES)),
    eps=st.sampled_from([1e-5, 0.1]),
)
def test_layer_norm_equals_pytorchs(torch, lead, size, affine, dtype, eps):
    arrays = [numbers((*lead, *size), dtype), numbers(size, dtype, 1), numbers(size, dtype, 2)]
    both(
        torch,
        lambda x, w=None, b=None: layer_norm(x, tuple(size), w, b, eps),
        lambda F, x, w=None, b=None: F.layer_norm(x, size, w, b, eps),
        *arrays[: 1 + affine],
        near=DTYPES[dtype],
    )


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    lead=st.lists(few, max_size=3),
    size=st.lists(few, min_size=1, max_size=2),
    affine=st.booleans(),
    dtype=st.sampled_from(list(DTYPES)),
    eps=st.sampled_from([1e-5, 0.1]),
)
def test_rms_norm_equals_pytorchs(torch, lead, size, affine, dtype, eps):
    arrays = [numbers((*lead, *size), dtype), numbers(size, dtype, 1)]
    both(
        torch,
        lambda x, w=None: rms_norm(x, tuple(size), w, eps),
        lambda F, x, w=None: F.rms_norm(x, size, w, eps),
        *arrays[: 1 + affine],
        near=DTYPES[dtype],
    )


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    shape=st.tuples(st.integers(2, 5), st.integers(1, 4)),
    more=st.sampled_from([(), (3,), (2, 3)]),
    affine=st.sampled_from([0, 2]),
    training=st.booleans(),
    momentum=st.sampled_from([0.0, 0.1, 1.0]),
    dtype=st.sampled_from(list(DTYPES)),
)
def test_batch_norm_equals_pytorchs(torch, shape, more, affine, training, momentum, dtype):
    channels = shape[1:]
    arrays = [numbers((*shape, *more), dtype), numbers(channels, dtype, 1)]
    arrays.append(numbers(channels, dtype, 2))
    mean, var = numbers(channels, dtype, 3), abs(numbers(channels, dtype, 4)) + 0.5
    their_mean, their_var = torch.tensor(mean), torch.tensor(var)
    both(
        torch,
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


@pytest.mark.parametrize("shape, size", [((5,), 5), ((2, 3, 4), 4), ((2, 3, 4), (3, 4))], ids=str)
def test_fused_gradients_agree_with_central_differences(shape, size):
    parameters = [numbers(size, seed=1), numbers(size, seed=2)]
    assert numerical_gradient_check(
        lambda x, w, b: layer_norm(x, size, w, b), [numbers(shape), *parameters]
    )
    assert numerical_gradient_check(
        lambda x, w: rms_norm(x, size, w), [numbers(shape), parameters[0]]
    )


@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 2, 2)], ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_agrees_with_central_differences(shape, training):
    def f(x, w, b):
        return batch_norm(x, np.zeros(3), np.ones(3), w, b, training)

    assert numerical_gradient_check(f, [numbers(shape), numbers(3, seed=1), numbers(3, seed=2)])


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


def test_what_was_saved_is_freed_with_the_graph(monkeypatch):
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


def test_a_network_is_saved_with_its_running_statistics(tmp_path):
    def network():
        return Sequential(Dense(4, 3, rng=0), BatchNorm1d(3), Tensor.relu, LayerNorm(3), RMSNorm(3))

    first, second, x = network(), network(), Tensor(numbers((5, 4), "float32"))
    optimizer = SGD(first.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (first(x) ** 2).mean().backward()
        optimizer.step()
    second.load_state_dict(first.state_dict())
    assert np.array_equal(first.eval()(x).data, second.eval()(x).data)
    assert list(first.state_dict())[2:6] == [
        "1.weight",
        "1.bias",
        "1.running_mean",
        "1.running_var",
    ]
    assert [name for name, _ in first.named_buffers()] == ["1.running_mean", "1.running_var"]


def test_running_statistics_are_no_part_of_a_graph():
    norm, x = BatchNorm1d(2), Variable(numbers((4, 2), "float32"))
    for _ in range(3):
        y = norm(x)
    assert norm.running_mean.creator is None and norm.running_var.creator is None
    graph = topological_order(y)
    assert all(norm.running_mean is not other for node in graph for other in node.creator.inputs)


def test_a_batch_of_one_is_refused_only_in_training():
    norm, x = BatchNorm1d(2), Tensor(np.ones((1, 2), "float32"))
    with pytest.raises(ValueError, match=r"\(1, 2\)"):
        norm(x)
    assert norm.eval()(x).shape == (1, 2)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_a_folded_layer_computes_the_same(bias, affine):
    for layer, norm, shape in [
        (Dense(4, 3, bias=bias), BatchNorm1d(3, affine=affine), (6, 4)),
        (Conv2d(2, 3, 3, bias=bias), BatchNorm2d(3, affine=affine), (2, 2, 5, 5)),
    ]:
        for seed in range(3):
            norm(layer(Tensor(numbers(shape, "float32", seed))))
        x = Tensor(numbers(shape, "float32", 5))
        wanted = norm.eval()(layer(x)).data
        weights, added = folded(layer, norm)
        assert weights.dtype == added.dtype == np.float32 and added.shape == (3,)
        layer.weights.data[...], layer.bias = weights, Variable(added)
        np.testing.assert_allclose(layer(x).data, wanted, 1e-4, 1e-4)


def test_a_residual_stack_passes_the_gradient_to_its_first_block():
    x = Variable(numbers((2, 3), "float32"))
    stack = Sequential(*[Residual(Dense(3, 3, init=lambda *_: np.zeros((3, 3), "float32")))] * 200)
    stack(x).backward(np.ones((2, 3), "float32"))
    assert np.array_equal(x.grad, np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(2, 1\)"):
        Residual(Dense(3, 1))(x)


def test_spread_leaves_recording_as_it_was():
    x = Variable(numbers((4, 3), "float32"))
    assert len(spread(Sequential(LayerNorm(3), Dense(3, 2)), x)) == 2
    assert (x * x).requires_grad
    with no_grad():
        spread([Dense(3, 2)], x)
        assert not (x * x).requires_grad


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


def test_rms_norm_without_eps_uses_that_of_float32():
    for dtype in ("float32", "float64"):
        x = Tensor(np.full((1, 2), 1e-4, dtype))
        wanted = 1e-4 / np.sqrt(1e-8 + np.finfo(np.float32).eps)
        np.testing.assert_allclose(rms_norm(x, 2).data, np.full((1, 2), wanted), 1e-5)
