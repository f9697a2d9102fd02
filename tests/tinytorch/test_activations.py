"""The exported activations, against float64 NumPy formulas: values, shapes, dtypes, extremes,
recorded operations, modules."""

import inspect
import math
import warnings

import numpy as np
import pytest

from tinytorch.core import activations as lesson
from tinytorch.core.tensor import Tensor, Variable

SHAPES = [(), (1,), (5,), (0,), (2, 3), (1, 4), (3, 0), (2, 3, 4), (2, 1, 3, 1)]
ELEMENTWISE = {
    "relu": lambda a: np.where(a > 0, a, 0),
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "tanh": lambda a: 1 - 2 / (np.exp(2 * a) + 1),
    "gelu": lambda a: a / (1 + np.exp(-2 * math.sqrt(2 / math.pi) * (a + 0.044715 * a**3))),
}
ALL = [*ELEMENTWISE, "softmax", "log_softmax"]
CLASSES = {
    "relu": "ReLU",
    "sigmoid": "Sigmoid",
    "tanh": "Tanh",
    "gelu": "GELU",
    "softmax": "Softmax",
    "log_softmax": "LogSoftmax",
}


def numbers(shape, dtype="float32", seed=0, spread=2.0):
    return np.asarray(np.random.default_rng(seed + 7 * len(shape)).normal(0, spread, shape)).astype(
        dtype
    )


def same(out, wanted, dtype="float32", rtol=1e-6, atol=3e-7):
    """`out` is a Tensor with the values, shape and dtype of `wanted`."""
    assert isinstance(out, Tensor) and isinstance(out.data, np.ndarray)
    assert out.shape == np.shape(wanted)
    assert out.dtype == dtype
    np.testing.assert_allclose(out.data, wanted, rtol=rtol, atol=atol)


def probabilities(a, axis):
    """Softmax in float64, each slice shifted by its mean: another shift than the lesson's."""
    powers = np.exp(a.astype("float64") - a.astype("float64").mean(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def again(out, x, numbers):
    """`out` computed from its recorded operations, with other numbers for `x`."""
    if out is x:
        return numbers
    if not isinstance(out, Tensor) or out.creator is None:
        return out.data if isinstance(out, Tensor) else out
    return out.creator.op(
        *[again(one, x, numbers) for one in out.creator.inputs], **out.creator.options
    )


# Elementwise


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_in_both_widths(name, shape):
    for dtype, close in (("float32", {}), ("float64", {"rtol": 1e-12, "atol": 1e-14})):
        a = numbers(shape, dtype)
        x = Tensor(a)
        same(getattr(lesson, name)(x), ELEMENTWISE[name](a.astype("float64")), dtype, **close)
        assert np.array_equal(x.data, a)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_integers_and_strided_memory(name):
    f = getattr(lesson, name)
    whole = np.array([[-3, 0, 2], [1, -1, 5]])
    same(
        f(Tensor(whole)),
        ELEMENTWISE[name](whole.astype("float64")),
        "int64" if name == "relu" else "float32",
    )
    a = numbers((4, 6))
    same(f(Tensor(a).T[::2, 1:]), ELEMENTWISE[name](a.T[::2, 1:].astype("float64")))


@pytest.mark.parametrize(
    "name, wanted",
    [
        ("relu", [0, 0, 750, 1000]),
        ("sigmoid", [0, 0, 1, 1]),
        ("tanh", [-1, -1, 1, 1]),
        ("gelu", [0, 0, 750, 1000]),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_far_from_zero_nothing_overflows(name, wanted, dtype):
    x = Variable(np.array([-1000, -750, 750, 1000], dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = getattr(lesson, name)(x)
    same(out, wanted, dtype, atol=0)


def test_sigmoid_and_tanh_agree_with_the_operations_of_the_tensor_lesson():
    x = Tensor(np.linspace(-30, 30, 1201, dtype="float32"))
    np.testing.assert_allclose(lesson.sigmoid(x).data, x.sigmoid().data, rtol=3e-7)
    np.testing.assert_allclose(lesson.tanh(x).data, x.tanh().data, rtol=0, atol=3e-7)
    assert np.array_equal(lesson.relu(x).data, x.relu().data)


def test_relu_keeps_infinities_and_nan():
    out = lesson.relu(Tensor([-np.inf, np.inf, np.nan])).data
    assert np.array_equal(out, [0, np.inf, np.nan], equal_nan=True)


def test_gelu_is_the_tanh_form_and_not_the_exact_one():
    assert abs(float(lesson.gelu(Tensor(np.array(1.0)))) - 0.8411919906082768) < 1e-15


# Along an axis


@pytest.mark.parametrize(
    "shape, axis",
    [
        ((5,), -1),
        ((5,), 0),
        ((1,), 0),
        ((2, 3), 0),
        ((2, 3), 1),
        ((2, 3, 4), 0),
        ((2, 3, 4), 1),
        ((2, 3, 4), -1),
        ((2, 3, 4), -3),
        ((2, 3, 4), (0, 2)),
        ((2, 1, 3, 1), 1),
        ((2, 1, 3, 1), 2),
        ((0, 3), 1),
        ((0, 3), -1),
    ],
    ids=str,
)
def test_probabilities_and_their_logarithms(shape, axis):
    for dtype, rtol in (("float32", 1e-5), ("float64", 1e-12)):
        a = numbers(shape, dtype, spread=5)
        x = Tensor(a)
        wanted = probabilities(a, axis)
        same(lesson.softmax(x, axis), wanted, dtype, rtol, atol=0)
        same(
            lesson.log_softmax(x, axis),
            np.log(wanted),
            dtype,
            rtol,
            atol=1e-6 if dtype == "float32" else 1e-14,
        )
        assert np.array_equal(x.data, a)


@pytest.mark.parametrize("shift", [-10_000, -1000, 0, 1000, 10_000])
def test_a_constant_added_to_all_logits_changes_nothing(shift):
    a = np.array([[0, 1, -2], [3, 3, -1]], "float32")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(lesson.softmax(Tensor(a + np.float32(shift))), probabilities(a, -1), rtol=1e-5)
        same(
            lesson.log_softmax(Tensor(a + np.float32(shift))),
            np.log(probabilities(a, -1)),
            rtol=1e-5,
        )


def test_rows_of_very_different_magnitude():
    x = Tensor([[0.0, 0.0], [1000.0, 1000.0], [-1000.0, -1000.0], [0.0, -1000.0]])
    same(lesson.softmax(x), [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [1, 0]])
    same(lesson.log_softmax(x.T, 0), np.array([[math.log(0.5)] * 2] * 3 + [[0, -1000]]).T)


def test_logits_of_minus_infinity_get_no_probability():
    x = Tensor([[0.0, -np.inf, 0.0], [-np.inf, 4.0, -np.inf]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(lesson.softmax(x), [[0.5, 0, 0.5], [0, 1, 0]])
        same(
            lesson.log_softmax(x), [[math.log(0.5), -np.inf, math.log(0.5)], [-np.inf, 0, -np.inf]]
        )


def test_sigmoid_is_the_softmax_of_a_logit_and_zero():
    a = numbers((7,))
    pairs = np.stack([a, np.zeros_like(a)], axis=1)
    same(lesson.sigmoid(Tensor(a)), lesson.softmax(Tensor(pairs)).data[:, 0])


@pytest.mark.parametrize("f", [lesson.softmax, lesson.log_softmax])
def test_an_axis_that_is_not_there_is_named(f):
    with pytest.raises(IndexError, match=r"no axis 2 in shape \(2, 3\)"):
        f(Tensor(numbers((2, 3))), 2)


# Recorded operations


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 4)], ids=str)
def test_all_operations_are_recorded(name, shape):
    f, a, b = getattr(lesson, name), numbers(shape, "float64"), numbers(shape, "float64", seed=9)
    b = abs(b) * np.sign(a)  # a condition is not recorded, only the branch that it chose
    x = Variable(a)
    out = f(x)
    assert out.requires_grad and out.creator is not None and not f(x.detach()).requires_grad
    np.testing.assert_allclose(again(out, x, b), f(Tensor(b)).data, rtol=1e-9)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_numerical_derivatives(name):
    a = np.array([[-3.0, -0.7, 0.2], [1.1, 2.5, 6.0]])
    steps = (ELEMENTWISE[name](a + 1e-5) - ELEMENTWISE[name](a - 1e-5)) / 2e-5
    same(lesson.numerical_derivative(getattr(lesson, name), Tensor(a)), steps, "float64", atol=1e-7)
    assert float(lesson.numerical_derivative(lesson.sigmoid, 10)) == pytest.approx(
        4.5395807e-05, rel=1e-6
    )


@pytest.mark.parametrize(
    "name, wanted", [("relu", 0), ("sigmoid", 0.25), ("tanh", 1), ("gelu", 0.5)]
)
def test_gradients_at_zero_are_those_of_pytorch(name, wanted):
    pytest.importorskip("tinytorch.core.autograd")
    x = Variable(np.array([0.0, -0.0]))
    getattr(lesson, name)(x).sum().backward()
    np.testing.assert_allclose(x.grad, wanted, rtol=1e-12)


# The network by hand


def test_xor_weights_and_two_layers_in_one():
    w1, b1, w2, b2 = lesson.xor_weights()
    x = Tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    same(lesson.relu(x @ w1 + b1) @ w2 + b2, [[0], [1], [1], [0]])
    w, b = lesson.collapse_linear(w1, b1, w2, b2)
    same((x @ w1 + b1) @ w2 + b2, (x @ w + b).data)


# Modules


@pytest.mark.parametrize("name", ALL)
def test_a_module_computes_what_its_function_does(name):
    module = getattr(lesson, CLASSES[name])()
    x = Tensor(numbers((2, 3, 4)))
    for out in (module(x), module.forward(x)):
        assert np.array_equal(out.data, getattr(lesson, name)(x).data)
    assert module(Variable(numbers((2, 3)))).requires_grad
    assert module.parameters() == []
    assert inspect.getdoc(type(module))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_modules_keep_their_axis(axis):
    x = Tensor(numbers((2, 3, 4)))
    same(lesson.Softmax(axis=axis)(x), probabilities(x.data, axis), rtol=1e-5)
    same(lesson.LogSoftmax(axis)(x), np.log(probabilities(x.data, axis)), rtol=1e-5)


def test_modules_print_as_they_are_written():
    written = ["ReLU()", "Sigmoid()", "Tanh()", "GELU()", "Softmax(axis=-1)", "LogSoftmax(axis=0)"]
    assert [repr(eval(text, vars(lesson))) for text in written] == written


# A peer


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_the_same_as_pytorch(name):
    torch = pytest.importorskip("torch")
    a = numbers((3, 5), "float64", spread=4)
    peers = {
        "gelu": lambda t: torch.nn.functional.gelu(t, approximate="tanh"),
        "softmax": lambda t: torch.softmax(t, -1),
        "log_softmax": lambda t: torch.log_softmax(t, -1),
    }
    wanted = peers.get(name, getattr(torch, name, None))(torch.tensor(a)).numpy()
    same(getattr(lesson, name)(Tensor(a)), wanted, "float64", rtol=1e-12, atol=1e-14)
