"""The exported convolutions and pools: against PyTorch over random shapes, with both methods, at
the edges, and what they refuse."""

import itertools
import weakref

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tinytorch import nn
from tinytorch.core import convolutions as lesson
from tinytorch.core.autograd import no_grad, numerical_gradient_check
from tinytorch.core.convolutions import (
    AvgPool2d,
    Conv2d,
    MaxPool2d,
    avg_pool2d,
    col2im,
    conv2d,
    im2col,
    max_pool2d,
)
from tinytorch.core.layers import Flatten, Linear, Sequential, summary
from tinytorch.core.losses import cross_entropy
from tinytorch.core.tensor import Tensor, Variable

METHODS = [
    (lesson.im2col_forward, lesson.im2col_input_gradient, lesson.im2col_weight_gradient),
    (
        lesson.conv_tiled_forward,
        lesson.conv_tiled_input_gradient,
        lesson.conv_tiled_weight_gradient,
    ),
]


def numbers(shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@st.composite
def cases(draw, most_padding=3):
    """(batch, channels, out channels, size, kernel, stride, padding) of which something comes out;
    numbers or pairs."""
    few = st.integers(1, 4)
    size = draw(st.tuples(st.integers(1, 9), st.integers(1, 9)))
    kernel, stride = (draw(st.one_of(few, st.tuples(few, few))) for _ in range(2))
    padding = draw(
        st.one_of(*[st.integers(0, most_padding), st.tuples(*[st.integers(0, most_padding)] * 2)])
    )
    assume(
        all(n + 2 * p >= k for n, p, k in zip(size, lesson.pair(padding, 0), lesson.pair(kernel)))
    )
    channels = draw(st.sampled_from([1, 2, 3, 7, 8, 9, 16]))
    return draw(st.integers(1, 3)), channels, draw(st.integers(1, 5)), size, kernel, stride, padding


# Against PyTorch


@pytest.mark.slow
@settings(max_examples=60)
@given(
    case=cases(),
    bias=st.booleans(),
    dtype=st.sampled_from(["float64", "float32"]),
    seed=st.integers(0, 99),
)
def test_convolutions_equal_pytorchs(same_as_torch, case, bias, dtype, seed):
    n, c, o, size, kernel, stride, padding = case
    arrays = [
        numbers((n, c, *size), dtype, seed),
        numbers((o, c, *lesson.pair(kernel)), dtype, seed + 1),
    ]
    arrays += [numbers((o,), dtype, seed + 2)] * bias
    near = 1e-10 if dtype == "float64" else 1e-4
    same_as_torch(
        lambda x, w, b=None: conv2d(x, w, b, stride, padding),
        lambda F, x, w, b=None: F.conv2d(x, w, b, stride, padding),
        *arrays,
        near=near,
    )


@pytest.mark.slow
@settings(max_examples=40)
@given(
    case=cases(),
    ties=st.booleans(),
    own_stride=st.booleans(),
    dtype=st.sampled_from(["float64", "float32"]),
)
def test_pools_equal_pytorchs(same_as_torch, case, ties, own_stride, dtype):
    n, c, _, size, kernel, stride, padding = case
    assume(all(2 * p <= k for p, k in zip(lesson.pair(padding, 0), lesson.pair(kernel))))
    stride = stride if own_stride else None
    assume(
        all(k <= s + 2 * p for k, s, p in zip(lesson.pair(kernel), size, lesson.pair(padding, 0)))
    )
    x = numbers((n, c, *size), dtype, sum(size))
    x = np.maximum(np.round(x), 0) if ties else x - 5
    near = 1e-10 if dtype == "float64" else 1e-5
    same_as_torch(
        lambda x: max_pool2d(x, kernel, stride, padding),
        lambda F, x: F.max_pool2d(x, kernel, stride, padding),
        x,
        near=near,
    )
    same_as_torch(
        lambda x: avg_pool2d(x, kernel, stride, padding),
        lambda F, x: F.avg_pool2d(x, kernel, stride, padding),
        x,
        near=near,
    )


@pytest.mark.slow
@settings(max_examples=25)
@given(case=cases())
def test_im2col_and_col2im_are_pytorchs_unfold_and_fold(torch, case):
    n, c, _, size, *pairs = case
    kernel, stride = map(lesson.pair, pairs[:2])
    padding = lesson.pair(pairs[2], 0)
    x = numbers((n, c, *size))
    columns = im2col(x, kernel, stride, padding)
    assert np.array_equal(
        columns,
        torch.nn.functional.unfold(torch.tensor(x), kernel, padding=padding, stride=stride).numpy(),
    )
    columns = numbers(columns.shape, seed=1)
    wanted = torch.nn.functional.fold(
        torch.tensor(columns), size, kernel, padding=padding, stride=stride
    ).numpy()
    np.testing.assert_allclose(
        col2im(columns, x.shape, kernel, stride, padding), wanted, atol=1e-12
    )


@pytest.mark.slow
def test_a_whole_network_learns_as_pytorchs_does(torch):
    ours = Sequential(
        Conv2d(1, 8, 3, padding=1),
        Tensor.relu,
        MaxPool2d(2),
        Conv2d(8, 4, (3, 2), stride=(1, 2)),
        Tensor.relu,
        AvgPool2d(2),
        Flatten(),
        Linear(16, 3),
    )
    theirs = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(8, 4, (3, 2), stride=(1, 2)),
        torch.nn.ReLU(),
        torch.nn.AvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(16, 3),
    ).double()
    parameters = ours.parameters()
    for mine, other in zip(parameters, theirs.parameters()):
        mine.data = mine.data.astype("float64")
        other.data[...] = torch.tensor(mine.data.T if mine.ndim == 2 else mine.data)
    x, labels = numbers((5, 1, 12, 16)), np.array([0, 2, 1, 1, 0])
    for _ in range(5):
        ours.zero_grad()
        theirs.zero_grad()
        loss = cross_entropy(ours(Tensor(x)), labels)
        other = torch.nn.functional.cross_entropy(theirs(torch.tensor(x)), torch.tensor(labels))
        assert float(loss.data) == pytest.approx(other.item(), rel=1e-10)
        loss.backward()
        other.backward()
        with torch.no_grad():
            for p, q in zip(parameters, theirs.parameters()):
                np.testing.assert_allclose(
                    p.grad.T if p.ndim == 2 else p.grad, q.grad.numpy(), rtol=1e-8, atol=1e-12
                )
                p.data -= 0.5 * p.grad
                q -= 0.5 * q.grad


# The two methods


@settings(max_examples=40)
@given(case=cases(), dtypes=st.sampled_from(["dd", "ff", "fd", "df"]))
def test_im2col_and_strips_agree(case, dtypes):
    n, c, o, size, *pairs = case
    kernel, stride, padding = lesson.pair(pairs[0]), lesson.pair(pairs[1]), lesson.pair(pairs[2], 0)
    x, w, b = (
        numbers((n, c, *size), dtypes[0]),
        numbers((o, c, *kernel), dtypes[1], 1),
        numbers((o,), dtypes[1], 2),
    )
    outs = [forward(x, w, b, stride, padding) for forward, *_ in METHODS]
    assert outs[0].dtype == outs[1].dtype
    np.testing.assert_allclose(*outs, rtol=1e-4, atol=1e-4)
    g = numbers(outs[0].shape, outs[0].dtype, 3)
    for rules in zip(*METHODS):
        if rules[0] is not lesson.im2col_forward:
            found = [rule(g, None, x, w, b, stride, padding) for rule in rules]
            assert found[0].shape == found[1].shape
            np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("channels", [1, 7, 8, 9, 20])
def test_any_memory_layout_is_accepted(channels):
    x, w = numbers((2, channels, 6, 7)), numbers((3, channels, 3, 2), seed=1)
    wanted = conv2d(Tensor(x), Tensor(w), padding=1).data
    for axes in itertools.permutations(range(4)):
        permuted = np.ascontiguousarray(x.transpose(axes)).transpose(np.argsort(axes))
        given_x = Tensor(0.0)
        given_x.data = permuted
        np.testing.assert_allclose(conv2d(given_x, Tensor(w), padding=1).data, wanted, rtol=1e-10)


@pytest.mark.parametrize("channels", [2, 8])
def test_gradients_agree_with_central_differences(channels):
    def f(x, w, b):
        y = conv2d(x, w, b, (1, 2), (2, 1)).tanh()
        return max_pool2d(y, (2, 3), (1, 2), (1, 0)) * 2 + avg_pool2d(y, (2, 3), (1, 2), (1, 0))

    assert numerical_gradient_check(
        f,
        [
            numbers((2, channels, 4, 9)),
            numbers((2, channels, 3, 2), seed=1) / 3,
            numbers((2,), seed=2),
        ],
    )


@pytest.mark.parametrize("channels", [1, 8])
def test_the_gradient_of_an_input_that_needs_none_is_not_computed(channels, monkeypatch):
    monkeypatch.setattr(lesson, "im2col_input_gradient", None)
    monkeypatch.setattr(lesson, "conv_tiled_input_gradient", None)
    w = Variable(numbers((3, channels, 2, 2)))
    conv2d(Tensor(numbers((1, channels, 4, 4))), w).sum().backward()
    assert w.grad.shape == w.shape


# Edges


@pytest.mark.parametrize("channels", [2, 8])
def test_empty_batches(channels):
    x, w, b = (
        Variable(np.ones((0, channels, 5, 4))),
        Variable(np.ones((3, channels, 2, 2))),
        Variable(np.ones(3)),
    )
    out = max_pool2d(avg_pool2d(conv2d(x, w, b), 2, 1), 1)
    assert out.shape == (0, 3, 3, 2)
    out.backward(np.ones(out.shape))
    assert x.grad.shape == x.shape and not w.grad.any() and not b.grad.any()


@pytest.mark.parametrize("channels", [1, 8])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dtypes_stay(channels, dtype):
    leaves = [
        Variable(numbers(shape, dtype))
        for shape in [(2, channels, 6, 6), (3, channels, 3, 3), (3,)]
    ]
    out = avg_pool2d(max_pool2d(conv2d(*leaves, padding=1), 2), 3, padding=1)
    assert out.dtype == dtype
    out.backward(np.ones(out.shape))
    assert [leaf.grad.dtype for leaf in leaves] == [dtype] * 3


def test_integers_and_lists():
    assert conv2d([[[[1, 2]]]], Tensor([[[[3, 4]]]])).data.tolist() == [[[[11.0]]]]
    for pool in (max_pool2d, avg_pool2d):
        out = pool(np.full((1, 1, 2, 2), 255, "uint8"), 2)
        assert out.dtype == "float32" and float(out) == 255


def test_results_share_no_memory_with_inputs():
    for op in (
        lambda x: max_pool2d(x, 1),
        lambda x: avg_pool2d(x, 1),
        lambda x: conv2d(x, np.ones((8, 8, 1, 1))),
    ):
        x = Variable(np.ones((1, 8, 3, 3)))
        assert not np.shares_memory(op(x).data, x.data)


def test_padding_receives_no_gradient_even_when_all_inputs_are_minus_infinity():
    x = Variable(np.full((1, 1, 2, 2), -np.inf))
    max_pool2d(x, 3, stride=1, padding=1).backward(np.ones((1, 1, 2, 2)))
    assert np.array_equal(x.grad, [[[[4, 0], [0, 0]]]])


def test_nothing_is_recorded_without_need():
    layer = Conv2d(1, 2, 3)
    with no_grad():
        assert layer(np.ones((1, 1, 4, 4), "float32")).creator is None
    assert layer(np.ones((1, 1, 4, 4), "float32")).creator.inputs[2] is layer.bias


# Layers


def test_layers_are_modules():
    net = Sequential(
        Conv2d(3, 6, (3, 5), stride=(1, 2), padding=(1, 0)),
        MaxPool2d(2),
        Conv2d(6, 9, 1, bias=False),
        AvgPool2d((2, 1)),
    )
    assert [name for name, _ in net.named_parameters()] == ["0.weights", "0.bias", "2.weights"]
    assert net[0].weight is net[0].weights and net[2].bias is None
    assert (
        "(2, 9, 2, 6)" in summary(net, (2, 3, 8, 28))
        and "330" in summary(net, (2, 3, 8, 28)).split("\n")[-1]
    )
    other = Sequential(
        Conv2d(3, 6, (3, 5), stride=(1, 2), padding=(1, 0)),
        MaxPool2d(2),
        Conv2d(6, 9, 1, bias=False),
        AvgPool2d((2, 1)),
    )
    other.load_state_dict(net.state_dict())
    x = numbers((2, 3, 8, 28), "float32")
    assert np.array_equal(net(Tensor(x)).data, other(Tensor(x)).data)


def test_texts():
    assert repr(Conv2d(1, 8, 5)) == "Conv2d(1, 8, kernel_size=(5, 5))"
    assert (
        repr(Conv2d(1, 8, (5, 3), 2, (0, 1), bias=False))
        == "Conv2d(1, 8, kernel_size=(5, 3), stride=(2, 2), padding=(0, 1), bias=False)"
    )
    assert (
        repr(AvgPool2d(3, 2, 1)) == "AvgPool2d(kernel_size=(3, 3), stride=(2, 2), padding=(1, 1))"
    )


def test_nn_exports_them():
    assert issubclass(nn.Conv2d, Conv2d) and nn.conv2d.__wrapped__ is conv2d
    assert nn.MaxPool2d is MaxPool2d and nn.AvgPool2d is AvgPool2d


# What is refused


@pytest.mark.parametrize(
    "images, kernels, padding, why",
    [
        ((2, 3, 8, 9), (4, 5, 3, 2), 0, "3 channels, the kernels 5"),
        ((3, 8, 9), (4, 3, 3, 2), 0, "four axes"),
        ((2, 3, 8, 9), (3, 3, 2), 0, "four axes"),
        ((2, 3, 4, 9), (4, 3, 7, 2), 1, r"\(4 \+ 2 \* 1 - 7\) // 1 \+ 1 = 0"),
        ((2, 3, 8, 2), (4, 3, 3, 6), (4, 1), r"a kernel of 6 does not fit into 2 numbers"),
    ],
)
def test_shape_errors_name_both_shapes_and_the_formula(images, kernels, padding, why):
    with pytest.raises(ValueError, match=why) as error:
        conv2d(np.ones(images), Tensor(np.ones(kernels)), padding=padding)
    for words in (str(images), str(kernels), "(size + 2 * padding - kernel) // stride + 1"):
        assert words in str(error.value)


@pytest.mark.parametrize("pool", [max_pool2d, avg_pool2d])
def test_pools_refuse_with_both_shapes(pool):
    with pytest.raises(
        ValueError, match=r"(?s)\(1, 1, 4, 5\).*\(6, 2\).*\(4 \+ 2 \* 0 - 6\).*// stride"
    ):
        pool(np.ones((1, 1, 4, 5)), (6, 2))
    with pytest.raises(ValueError, match=r"\(4, 5\).*four axes"):
        pool(np.ones((4, 5)), 2)
    with pytest.raises(ValueError, match=r"padding \(2, 2\) is more than half"):
        pool(np.ones((1, 1, 4, 5)), 2, padding=2)


@pytest.mark.parametrize(
    "options",
    [
        {"stride": 0},
        {"stride": (1, -1)},
        {"padding": -1},
        {"padding": 0.5},
        {"stride": (1, 2, 3)},
        {"padding": "same"},
    ],
)
def test_strides_and_paddings_that_are_refused(options):
    with pytest.raises(ValueError, match="expected an int of at least"):
        conv2d(np.ones((1, 1, 4, 4)), Tensor(np.ones((1, 1, 2, 2))), **options)
    with pytest.raises(ValueError, match="expected an int of at least"):
        Conv2d(1, 1, 2, **options)


@pytest.mark.parametrize("bias", [np.ones(1), np.ones((4, 1)), np.ones(5)])
def test_a_bias_must_fit_the_kernels(bias):
    with pytest.raises(ValueError, match=r"need a bias of shape \(4,\)"):
        conv2d(np.ones((1, 3, 4, 4)), Tensor(np.ones((4, 3, 2, 2))), Tensor(bias))


def test_saved_arrays_are_used_and_freed_with_the_graph():
    x, w = Tensor(np.ones((2, 8, 4, 4), "f")), Variable(np.ones((3, 8, 2, 2), "f"))
    out = lesson.conv2d(x, w).sum()
    strips = weakref.ref(out.creator.inputs[0].creator.options["saved"]["strips"])
    out.backward(retain_graph=True)
    assert strips() is not None
    out.backward()
    assert strips() is None
