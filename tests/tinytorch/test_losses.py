"""The exported losses, against NumPy in float64 and PyTorch where it is installed, and the wrong
inputs that they refuse."""

import inspect

import numpy as np
import pytest

from tinytorch.core import losses as lesson
from tinytorch.core.losses import (
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    MSELoss,
    binary_cross_entropy_with_logits,
    cross_entropy,
    mse_loss,
)
from tinytorch.core.tensor import Tensor, Variable

bce = binary_cross_entropy_with_logits
REDUCTIONS = {"mean": np.mean, "sum": np.sum, "none": lambda x: x}


def numbers(shape, dtype="float64", seed=0, scale=3.0):
    return np.asarray(np.random.default_rng(seed).normal(scale=scale, size=shape)).astype(dtype)


def labels_for(shape, seed=1):
    return np.asarray(np.random.default_rng(seed).integers(0, shape[-1], shape[:-1]))


def true_cross_entropy(logits, labels, smoothing=0.0):
    """Row by row, in Python's own numbers, from the definition."""
    logits, labels = np.asarray(logits, "float64"), np.asarray(labels)
    out = np.empty(labels.shape)
    classes = logits.shape[-1]
    for place in np.ndindex(out.shape):
        row = logits[place]
        log_p = [z - row.max() - np.log(sum(np.exp(k - row.max()) for k in row)) for z in row]
        weights = [
            smoothing / classes + (1 - smoothing) * (j == labels[place]) for j in range(classes)
        ]
        out[place] = -sum(w * p for w, p in zip(weights, log_p))
    return out


def true_binary(z, y):
    z, y = np.asarray(z, "float64"), np.asarray(y, "float64")
    return y * np.logaddexp(0, -z) + (1 - y) * np.logaddexp(0, z)


# Values, shapes and dtypes


def test_two_classes_are_one_logit():
    z = numbers((20,))
    y = numbers((20,), seed=1) > 0
    pairs = np.stack([np.zeros(20), z], -1)
    np.testing.assert_allclose(
        cross_entropy(pairs, y.astype(int), reduction="none").data,
        bce(z, y, reduction="none").data,
        rtol=1e-9,
    )


def test_a_constant_and_the_order_of_classes_do_not_matter():
    z, labels = numbers((6, 5)), labels_for((6, 5))
    order = np.array([3, 0, 4, 1, 2])
    for smoothing in (0.0, 0.2):
        base = cross_entropy(z, labels, reduction="none", label_smoothing=smoothing).data
        np.testing.assert_allclose(
            cross_entropy(z + 17, labels, reduction="none", label_smoothing=smoothing).data,
            base,
            rtol=1e-9,
        )
        moved = cross_entropy(
            z[:, order], np.argsort(order)[labels], reduction="none", label_smoothing=smoothing
        ).data
        np.testing.assert_allclose(moved, base, rtol=1e-9)


def test_nan_comes_through():
    assert np.isnan(float(mse_loss([np.nan, 1.0], [0.0, 0.0])))
    assert np.isnan(float(cross_entropy([[np.nan, 1.0]], [0])))
    with np.errstate(invalid="ignore"):
        assert np.isnan(float(bce([np.nan], [0])))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "bool"])
def test_integers_become_float32(dtype):
    z, t = np.array([1, 0, 1, 0], dtype), np.array([0, 1, 1, 0], dtype)
    for out, wanted in [
        (mse_loss(z, t), 0.5),
        (bce(z, t), true_binary(z, t).mean()),
        (
            cross_entropy(z.reshape(2, 2), [1, 0]),
            true_cross_entropy(z.reshape(2, 2), [1, 0]).mean(),
        ),
    ]:
        assert out.dtype == "float32" and float(out) == pytest.approx(wanted, rel=1e-6)


def test_no_input_is_changed_or_kept():
    z, t, labels = numbers((4, 3), "float32"), np.ones((4, 3), "float32"), np.array([2, 0, 1, 1])
    before = z.copy(), t.copy(), labels.copy()
    x = Variable(z)
    outs = [
        mse_loss(x, t, reduction="none"),
        bce(x, t, reduction="none"),
        cross_entropy(x, labels, reduction="none", label_smoothing=0.1),
    ]
    assert all(np.array_equal(a, b) for a, b in zip(before, (z, t, labels)))
    assert np.array_equal(x.data, z)
    recorded, todo = [], list(outs)
    while todo:
        node = todo.pop().creator
        if node:
            recorded += [*node.arrays, *node.options.values()]
            todo += [i for i in node.inputs if isinstance(i, Tensor)]
    assert not any(
        np.shares_memory(a, b) for a in recorded if isinstance(a, np.ndarray) for b in (t, labels)
    )


# What is recorded


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(
    "loss, target",
    [(mse_loss, np.ones((3, 2))), (bce, np.ones((3, 2))), (cross_entropy, [0, 1, 1])],
)
def test_predictions_keep_their_graph_and_targets_have_none(loss, target, reduction):
    assert loss(Variable(numbers((3, 2))), target, reduction=reduction).requires_grad
    assert not loss(Tensor(numbers((3, 2))), target, reduction=reduction).requires_grad
    if loss is not cross_entropy:
        assert not loss(
            Tensor(numbers((3, 2))), Variable(target), reduction=reduction
        ).requires_grad


# What is refused


@pytest.mark.parametrize(
    "labels, error, words",
    [
        ([0, 3], ValueError, r"label 3 at \(1,\).*\(2, 3\).*0 to 2.*\(2,\)"),
        ([-1, 0], ValueError, r"label -1 at \(0,\)"),
        ([0.0, 1.0], TypeError, r"float64.*0\.0.*\(2,\).*\(2, 3\)"),
        ([True, False], TypeError, "bool.*True"),
        ([[0, 1, 0], [1, 0, 0]], ValueError, "one-hot.*argmax"),
        ([[0.1, 0.9, 0.0]] * 2, ValueError, "-.p . log_softmax"),
        ([0, 1, 2], ValueError, r"\(3,\).*\(2, 3\)"),
        ([[0], [1]], ValueError, r"\(2, 1\).*\(2, 3\)"),
        (0, ValueError, r"\(\).*\(2, 3\)"),
        ([], ValueError, r"\(0,\).*\(2, 3\)"),
        (["a", "b"], TypeError, "numbers"),
        ([[0], [1, 2]], ValueError, "2"),
        (None, TypeError, "None"),
    ],
)
def test_wrong_labels(labels, error, words):
    with pytest.raises(error, match=words):
        cross_entropy(Tensor(np.zeros((2, 3))), labels)


@pytest.mark.parametrize(
    "logits, labels, words",
    [
        (0.5, 0, "no classes"),
        (np.zeros((2, 0)), [0, 0], "no classes"),
        (np.zeros((2, 3, 4)), np.zeros((2, 4), int), "last axis"),
    ],
)
def test_logits_without_classes_or_with_classes_elsewhere(logits, labels, words):
    with pytest.raises(ValueError, match=words):
        cross_entropy(logits, labels)


@pytest.mark.parametrize("smoothing", [-0.1, 1.1, 10, np.nan])
def test_smoothing_outside_0_to_1(smoothing):
    with pytest.raises(ValueError, match="label_smoothing"):
        cross_entropy([[0.0, 1.0]], [0], label_smoothing=smoothing)


# The classes, the documentation, and PyTorch


def test_the_classes_are_the_functions_with_their_options():
    z, t, labels = numbers((4, 3)), np.ones((4, 3)), [2, 0, 1, 1]
    for reduction in REDUCTIONS:
        assert np.array_equal(
            MSELoss(reduction=reduction)(z, t).data, mse_loss(z, t, reduction=reduction).data
        )
        assert np.array_equal(
            BCEWithLogitsLoss(reduction=reduction)(z, t).data, bce(z, t, reduction=reduction).data
        )
        smooth = CrossEntropyLoss(reduction=reduction, label_smoothing=0.2)(z, labels)
        assert np.array_equal(
            smooth.data, cross_entropy(z, labels, reduction=reduction, label_smoothing=0.2).data
        )
    assert repr(MSELoss()) == "MSELoss(reduction='mean')"
    assert repr(BCEWithLogitsLoss(reduction="sum")) == "BCEWithLogitsLoss(reduction='sum')"
    assert (
        repr(CrossEntropyLoss(reduction="none", label_smoothing=0.5))
        == "CrossEntropyLoss(reduction='none', label_smoothing=0.5)"
    )
    assert float(CrossEntropyLoss()(z, labels)) == float(cross_entropy(z, labels))


def test_names_and_their_order_are_pytorchs():
    assert list(inspect.signature(mse_loss).parameters) == ["prediction", "target", "reduction"]
    assert list(inspect.signature(cross_entropy).parameters) == [
        "logits",
        "labels",
        "reduction",
        "label_smoothing",
    ]
    for public in (
        "mse_loss",
        "binary_cross_entropy_with_logits",
        "cross_entropy",
        "MSELoss",
        "BCEWithLogitsLoss",
        "CrossEntropyLoss",
        "cross_entropy_forward",
    ):
        assert public in lesson.__all__


@pytest.mark.slow
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_against_pytorch(torch, reduction):
    F = torch.nn.functional
    z, t, y = (
        numbers((6, 5)),
        numbers((6, 5), seed=1),
        np.random.default_rng(2).uniform(size=(6, 5)),
    )
    labels = labels_for((6, 5))
    there = [torch.tensor(a) for a in (z, t, y, labels)]
    pairs = [
        (mse_loss(z, t, reduction=reduction), F.mse_loss(there[0], there[1], reduction=reduction)),
        (
            bce(z, y, reduction=reduction),
            F.binary_cross_entropy_with_logits(there[0], there[2], reduction=reduction),
        ),
    ]
    for smoothing in (0.0, 0.1, 1.0):
        pairs.append(
            (
                cross_entropy(z, labels, reduction=reduction, label_smoothing=smoothing),
                F.cross_entropy(there[0], there[3], reduction=reduction, label_smoothing=smoothing),
            )
        )
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours.data, theirs.numpy(), rtol=1e-9)
