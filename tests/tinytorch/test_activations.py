"""The exported activations, against float64 NumPy formulas: values, shapes, dtypes, extremes,
recorded operations, modules."""

import inspect
import math

import numpy as np
import pytest

from tinytorch.core import activations as lesson
from tinytorch.core.tensor import Tensor, Variable

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


# Elementwise


def test_numerical_derivatives_are_exact_to_six_digits_and_leave_their_input_alone():
    for given in (2.0, np.array([2.0, 0.5], "float32"), Variable([[2.0], [0.5]])):
        before = np.array(given)
        found = lesson.numerical_derivative(lambda x: x.sin(), given)
        assert found.dtype == np.float64 and found.shape == np.shape(before)
        assert np.allclose(found.data, np.cos(before.astype(float)), rtol=0, atol=1e-7)
        assert np.array_equal(before, np.asarray(given, before.dtype))


def test_sigmoid_and_tanh_agree_with_the_operations_of_the_tensor_lesson():
    x = Tensor(np.linspace(-30, 30, 1201, dtype="float32"))
    np.testing.assert_allclose(lesson.sigmoid(x).data, x.sigmoid().data, rtol=3e-7)
    np.testing.assert_allclose(lesson.tanh(x).data, x.tanh().data, rtol=0, atol=3e-7)
    assert np.array_equal(lesson.relu(x).data, x.relu().data)


@pytest.mark.parametrize("name", [*ELEMENTWISE, "log_softmax"])
def test_no_operation_overflows(name):
    x = Variable([-1000.0, -20.0, 0.0, 20.0, 1000.0])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        getattr(lesson, name)(x).sum().backward()
    assert np.isfinite(x.grad).all()


def test_small_results_keep_their_digits():
    same(lesson.sigmoid(Tensor([-20.0])), [2.0611537e-9], atol=0)
    same(lesson.log_softmax(Tensor([10000.0, 10001.0])), [-1.3132617, -0.3132617])
    same(lesson.relu(Tensor([-np.inf, np.inf, np.nan])), [0, np.inf, np.nan])


# Along an axis


def test_sigmoid_is_the_softmax_of_a_logit_and_zero():
    a = numbers((7,))
    pairs = np.stack([a, np.zeros_like(a)], axis=1)
    same(lesson.sigmoid(Tensor(a)), lesson.softmax(Tensor(pairs)).data[:, 0])


@pytest.mark.parametrize("f", [lesson.softmax, lesson.log_softmax])
def test_an_axis_that_is_not_there_is_named(f):
    with pytest.raises(IndexError, match=r"no axis 2 in shape \(2, 3\)"):
        f(Tensor(numbers((2, 3))), 2)


# Recorded operations


@pytest.mark.parametrize(
    "name, wanted", [("relu", 0), ("sigmoid", 0.25), ("tanh", 1), ("gelu", 0.5)]
)
def test_gradients_at_zero_are_those_of_pytorch(name, wanted):
    pytest.importorskip("tinytorch.core.autograd")
    x = Variable(np.array([0.0, -0.0]))
    getattr(lesson, name)(x).sum().backward()
    np.testing.assert_allclose(x.grad, wanted, rtol=1e-12)


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
def test_the_same_as_pytorch(torch, name):
    a = numbers((3, 5), "float64", spread=4)
    peers = {
        "gelu": lambda t: torch.nn.functional.gelu(t, approximate="tanh"),
        "softmax": lambda t: torch.softmax(t, -1),
        "log_softmax": lambda t: torch.log_softmax(t, -1),
    }
    wanted = peers.get(name, getattr(torch, name, None))(torch.tensor(a)).numpy()
    same(getattr(lesson, name)(Tensor(a)), wanted, "float64", rtol=1e-12, atol=1e-14)
