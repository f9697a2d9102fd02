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
    cross_entropy_forward,
    mse_loss,
)
from tinytorch.core.tensor import Tensor, Variable

bce = binary_cross_entropy_with_logits
SHAPES = [(), (1,), (5,), (2, 3), (4, 1), (2, 3, 4), (2, 1, 3, 1)]
ROWS = [(5,), (4, 3), (3, 4), (6, 1), (1, 7), (2, 3, 5), (3, 1, 2, 4)]
REDUCTIONS = {"mean": np.mean, "sum": np.sum, "none": lambda x: x}
DTYPES = {"float16": 4e-3, "float32": 2e-6, "float64": 1e-12}


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


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_mse_and_bce_against_float64(shape, dtype, reduction):
    z, t = numbers(shape, dtype), numbers(shape, seed=1)
    y = np.random.default_rng(2).uniform(size=shape)
    for out, wanted in [
        (mse_loss(Tensor(z), t, reduction), (z.astype("float64") - t.astype(dtype)) ** 2),
        (bce(Tensor(z), y, reduction), true_binary(z, np.asarray(y, dtype))),
    ]:
        wanted = REDUCTIONS[reduction](wanted)
        assert out.shape == np.shape(wanted) and out.dtype == dtype
        np.testing.assert_allclose(out.data, wanted, rtol=5 * DTYPES[dtype], atol=DTYPES[dtype])


@pytest.mark.parametrize("smoothing", [0, 0.1, 0.5, 1])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ROWS)
def test_cross_entropy_against_float64(shape, dtype, reduction, smoothing):
    z, labels = numbers(shape, dtype), labels_for(shape)
    out = cross_entropy(Tensor(z), labels, reduction, smoothing)
    wanted = REDUCTIONS[reduction](true_cross_entropy(z, labels, smoothing))
    assert out.shape == np.shape(wanted) and out.dtype == dtype
    np.testing.assert_allclose(out.data, wanted, rtol=5 * DTYPES[dtype], atol=DTYPES[dtype])


@pytest.mark.parametrize("size", [1, 30, 1000, 1e4, 1e30])
def test_logits_of_any_size_have_exact_losses(size):
    z = (numbers((50, 7)) * size).astype("float32")
    labels, y = labels_for(z.shape), (numbers((50, 7), seed=3) > 0).astype("float32")
    with np.errstate(all="raise", under="ignore"):
        many = cross_entropy(z, labels, "none")
        two = bce(z, y, "none")
    np.testing.assert_allclose(many.data, true_cross_entropy(z, labels), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(two.data, true_binary(z, y), rtol=1e-6, atol=1e-6)


def test_two_classes_are_one_logit():
    z = numbers((20,))
    y = numbers((20,), seed=1) > 0
    pairs = np.stack([np.zeros(20), z], -1)
    np.testing.assert_allclose(
        cross_entropy(pairs, y.astype(int), "none").data, bce(z, y, "none").data, rtol=1e-9
    )


def test_a_constant_and_the_order_of_classes_do_not_matter():
    z, labels = numbers((6, 5)), labels_for((6, 5))
    order = np.array([3, 0, 4, 1, 2])
    for smoothing in (0.0, 0.2):
        base = cross_entropy(z, labels, "none", smoothing).data
        np.testing.assert_allclose(
            cross_entropy(z + 17, labels, "none", smoothing).data, base, rtol=1e-9
        )
        moved = cross_entropy(z[:, order], np.argsort(order)[labels], "none", smoothing).data
        np.testing.assert_allclose(moved, base, rtol=1e-9)


def test_excluded_classes():
    z = np.array([[0.0, -np.inf, 0.0]], "float32")
    assert float(cross_entropy(z, [0])) == pytest.approx(np.log(2))
    assert float(cross_entropy(z, [1])) == np.inf
    assert float(cross_entropy(z, [0], label_smoothing=0.1)) == np.inf


def test_nan_comes_through():
    assert np.isnan(float(mse_loss([np.nan, 1.0], [0.0, 0.0])))
    assert np.isnan(float(cross_entropy([[np.nan, 1.0]], [0])))
    with np.errstate(invalid="ignore"):
        assert np.isnan(float(bce([np.nan], [0])))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "int64", "uint64"])
def test_labels_of_any_integer_dtype(dtype):
    z, labels = numbers((300, 5)), labels_for((300, 5))
    wanted = true_cross_entropy(z, labels).mean()
    for given in (labels.astype(dtype), Tensor(labels.astype(dtype))):
        assert float(cross_entropy(z, given)) == pytest.approx(wanted)
    assert float(cross_entropy(z, labels.tolist())) == pytest.approx(wanted)


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
    outs = [mse_loss(x, t, "none"), bce(x, t, "none"), cross_entropy(x, labels, "none", 0.1)]
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
    assert loss(Variable(numbers((3, 2))), target, reduction).requires_grad
    assert not loss(Tensor(numbers((3, 2))), target, reduction).requires_grad
    if loss is not cross_entropy:
        assert not loss(Tensor(numbers((3, 2))), Variable(target), reduction).requires_grad


def test_cross_entropy_is_one_operation():
    x = Variable(numbers((3, 2), "float32"))
    node = cross_entropy(x, [0, 1, 1], "none", np.float64(0.25)).creator
    assert node.op is cross_entropy_forward and node.inputs == (x,)
    assert sorted(node.options) == ["labels", "smoothing"]
    assert type(node.options["smoothing"]) is float


@pytest.mark.parametrize("y", [0.0, 0.3, 1.0])
def test_the_gradient_of_binary_cross_entropy_at_its_kink(y):
    pytest.importorskip("tinytorch.core.autograd")
    z = Variable(np.array([0.0, -0.0, 2.0, -3.0]))
    bce(z, np.full(4, y), "sum").backward()
    np.testing.assert_allclose(z.grad, 1 / (1 + np.exp(-z.data)) - y, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["uint16", "int32", "int64", "uint64"])
def test_forty_thousand_classes(dtype):
    z = np.zeros((2, 40_000), "float32")
    z[0, 39_999] = z[1, 32_768] = 30
    assert float(cross_entropy(z, np.array([39_999, 32_768], dtype))) < 1e-6
    with pytest.raises(ValueError, match="label 40000"):
        cross_entropy(z, np.array([0, 40_000], dtype))
    narrow = np.array([100, 5], "int8")
    assert float(cross_entropy(z, narrow)) == pytest.approx(30, rel=1e-5)


# What is refused


@pytest.mark.parametrize("loss", [mse_loss, bce, MSELoss(), BCEWithLogitsLoss()])
@pytest.mark.parametrize(
    "ours, theirs", [((3, 1), (3,)), ((3,), (3, 1)), ((2, 3), (3,)), ((2, 3), ()), ((4,), (5,))]
)
def test_shapes_must_be_equal(loss, ours, theirs):
    with pytest.raises(ValueError) as error:
        loss(Tensor(np.zeros(ours)), np.zeros(theirs))
    assert str(ours) in str(error.value) and str(theirs) in str(error.value)


@pytest.mark.parametrize(
    "labels, error, words",
    [
        ([0, 3], ValueError, r"label 3 at \(1,\).*\(2, 3\).*0 to 2.*\(2,\)"),
        ([-1, 0], ValueError, r"label -1 at \(0,\)"),
        ([0.0, 1.0], TypeError, r"float64.*0\.0.*\(2,\).*\(2, 3\)"),
        ([True, False], TypeError, "bool.*True"),
        ([[0, 1, 0], [1, 0, 0]], ValueError, "one-hot.*argmax"),
        ([[0.1, 0.9, 0.0]] * 2, ValueError, "one-hot"),
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


@pytest.mark.parametrize("wrap", [np.array, Tensor])
def test_wrong_labels_in_arrays_and_tensors(wrap):
    for labels, error, words in [
        ([0, 3], ValueError, "label 3"),
        ([0.0, 1.0], TypeError, "float"),
        ([True, False], TypeError, "bool"),
        ([[0, 1, 0], [1, 0, 0]], ValueError, "one-hot"),
    ]:
        with pytest.raises(error, match=words):
            cross_entropy(np.zeros((2, 3)), wrap(labels))


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


@pytest.mark.parametrize("value", [-1, 1.5, np.nan, np.inf])
def test_binary_targets_outside_0_to_1(value):
    with pytest.raises(ValueError, match=r"at \(1, 0\)"):
        bce(np.zeros((3, 2)), [[0, 1], [value, 1], [value, value]])


@pytest.mark.parametrize("loss, target", [(mse_loss, [1.0]), (bce, [1.0]), (cross_entropy, 0)])
def test_unknown_reductions(loss, target):
    for reduction in ("avg", None, "Mean", 1):
        with pytest.raises(ValueError, match="'mean', 'sum' or 'none'"):
            loss([0.5], target, reduction)


@pytest.mark.parametrize(
    "loss, empty, target",
    [
        (mse_loss, np.zeros((0, 3)), np.zeros((0, 3))),
        (bce, np.zeros(0), []),
        (cross_entropy, np.zeros((0, 3)), []),
        (cross_entropy, np.zeros((0, 3)), np.zeros(0, int)),
        (cross_entropy, np.zeros((2, 0, 3)), np.zeros((2, 0))),
    ],
)
def test_an_empty_batch(loss, empty, target):
    with pytest.raises(ValueError, match="empty batch"):
        loss(empty, target)
    assert float(loss(empty, target, "sum")) == 0
    assert loss(empty, target, "none").size == 0


# The classes, the documentation, and PyTorch


def test_the_classes_are_the_functions_with_their_options():
    z, t, labels = numbers((4, 3)), np.ones((4, 3)), [2, 0, 1, 1]
    for reduction in REDUCTIONS:
        assert np.array_equal(MSELoss(reduction)(z, t).data, mse_loss(z, t, reduction).data)
        assert np.array_equal(BCEWithLogitsLoss(reduction)(z, t).data, bce(z, t, reduction).data)
        smooth = CrossEntropyLoss(reduction, 0.2)(z, labels)
        assert np.array_equal(smooth.data, cross_entropy(z, labels, reduction, 0.2).data)
    assert repr(MSELoss()) == "MSELoss(reduction='mean')"
    assert repr(BCEWithLogitsLoss("sum")) == "BCEWithLogitsLoss(reduction='sum')"
    assert (
        repr(CrossEntropyLoss("none", 0.5))
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
def test_against_pytorch(reduction):
    torch = pytest.importorskip("torch")
    F = torch.nn.functional
    z, t, y = (
        numbers((6, 5)),
        numbers((6, 5), seed=1),
        np.random.default_rng(2).uniform(size=(6, 5)),
    )
    labels = labels_for((6, 5))
    there = [torch.tensor(a) for a in (z, t, y, labels)]
    pairs = [
        (mse_loss(z, t, reduction), F.mse_loss(there[0], there[1], reduction=reduction)),
        (
            bce(z, y, reduction),
            F.binary_cross_entropy_with_logits(there[0], there[2], reduction=reduction),
        ),
    ]
    for smoothing in (0.0, 0.1, 1.0):
        pairs.append(
            (
                cross_entropy(z, labels, reduction, smoothing),
                F.cross_entropy(there[0], there[3], reduction=reduction, label_smoothing=smoothing),
            )
        )
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours.data, theirs.numpy(), rtol=1e-9)
