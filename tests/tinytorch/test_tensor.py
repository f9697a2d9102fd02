"""The exported tensor, against NumPy: values, shapes, dtypes, memory, errors, the graph."""

import copy
import operator
import re
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import tinytorch
from tinytorch.core import tensor as lesson
from tinytorch.core.tensor import Tensor, Variable, apply

ROOT = Path(__file__).parents[2]
SHAPES = [(), (1,), (5,), (0,), (2, 3), (1, 4), (3, 0), (2, 3, 4), (2, 1, 3, 1)]
PAIRS = [
    ((), ()), ((2, 3), ()), ((2, 3), (3,)), ((2, 3), (2, 1)), ((4, 1, 3), (2, 1)),
    ((0, 3), (1, 3)), ((5,), (5,)), ((2, 1, 1), (3, 4)),
]  # fmt: skip
BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]
COMPARE = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def numbers(shape, dtype="float32", low=0.5, high=3.0, seed=0):
    return np.asarray(
        np.random.default_rng(seed + 7 * len(shape)).uniform(low, high, shape)
    ).astype(dtype)


def same(out, wanted, dtype="float32", rtol=1e-6):
    """`out` is a Tensor with the values, shape and dtype of `wanted`, and holds an ndarray."""
    assert isinstance(out, Tensor) and isinstance(out.data, np.ndarray)
    assert out.shape == np.shape(wanted)
    assert out.dtype == dtype
    np.testing.assert_allclose(out.data, wanted, rtol=rtol, atol=0)


# The constructor


@pytest.mark.parametrize(
    "data, dtype",
    [
        (3, "float32"), (0.5, "float32"), (np.float64(2), "float32"), (np.int64(2), "float32"),
        ([1, 2], "int64"), ([1, 0.5], "float32"), ([[True, False]], "bool"), (True, "bool"),
        ([], "float32"), ([np.float64(1)], "float32"), ((1, 2), "int64"), (np.arange(3), "int64"),
        (np.ones(3), "float64"), (np.ones(2, "uint8"), "uint8"), (np.ones(()), "float64"),
        (np.ones(2, "float16"), "float16"), (2**40, "float32"),
        (np.zeros((0, 3), "uint8"), "uint8"),
    ],
)  # fmt: skip
def test_constructor_dtype(data, dtype):
    assert Tensor(data).dtype == dtype
    assert Tensor(data, requires_grad=True).dtype == (dtype if "float" in dtype else "float32")
    assert np.array_equal(Tensor(data).data, data)


@pytest.mark.parametrize("shape", SHAPES)
def test_attributes(shape):
    array = numbers(shape)
    x = Tensor(array)
    assert (x.shape, x.ndim, x.size, x.dtype) == (array.shape, array.ndim, array.size, array.dtype)
    assert x.grad is None and x.creator is None and x.requires_grad is False
    assert np.array_equal(x.T.data, array.T)


def test_data_is_copied_on_the_way_in_and_live_afterwards():
    array = numbers((2, 3))
    x = Tensor(array)
    y = Tensor(x)
    array[0, 0] = 50
    assert x.data[0, 0] != 50
    x.data[0, 1] = 60
    assert y.data[0, 1] != 60 and x.numpy()[0, 1] == 60
    x.numpy()[0, 2] = 70
    assert x.data[0, 2] != 70
    assert x.detach().data is x.data and np.asarray(x) is x.data


def test_variable_wants_a_gradient():
    assert Variable([1, 2]).requires_grad and Variable([1, 2]).dtype == "float32"
    assert not Variable([1, 2], requires_grad=False).requires_grad
    assert isinstance(Variable(1.0), Tensor)
    assert Tensor(Variable([1.0])).requires_grad is False


@pytest.mark.parametrize(
    ("data", "lengths"),
    [
        ([[1, 2], [3]], "rows of length 2 and 1"),
        ([1, [2, 3]], "a number and a row of length 2"),
        ([[[1], [2, 3]], [[4], [5]]], "rows of length 1 and 2"),
        ([[], [1]], "rows of length 0 and 1"),
        ([np.ones(2), [1]], "rows of length 2 and 1"),
    ],
)
def test_ragged_lists_are_refused_with_their_lengths(data, lengths):
    with pytest.raises(ValueError, match=f"here are {lengths}"):
        Tensor(data)


@pytest.mark.parametrize("data", ["abc", ["a"], None, [1, None], 1j, {"a": 1}, object()])
def test_what_is_no_real_number_is_refused(data):
    with pytest.raises(TypeError, match="real numbers, not"):
        Variable(data)


def test_a_misspelt_attribute_is_an_error():
    with pytest.raises(AttributeError):
        Tensor(1.0).gard = 0


# What Python asks of a tensor


def test_item_float_len_bool_iteration_and_format():
    x = Tensor([[1.5, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert (
        Tensor([[2.5]]).item() == 2.5
        and float(Tensor(2.5)) == 2.5
        and type(Tensor([7]).item()) is int
    )
    assert len(x) == 3 and [row.shape for row in x] == [(2,)] * 3
    assert bool(Tensor([1.0])) and not bool(Tensor(0.0)) and not bool(Tensor([False]))
    assert f"{Tensor(1.23456):.2f}" == "1.23" and f"{x}" == repr(x)


@pytest.mark.parametrize(
    "ask, error, words",
    [
        (lambda x: x.item(), ValueError, r"\(2, 3\) holds 6"),
        (float, ValueError, r"\(2, 3\)"),
        (bool, ValueError, r"\(2, 3\) holds 6 truth values"),
        (lambda x: len(x.sum()), TypeError, "no length"),
        (lambda x: list(x.sum()), TypeError, "no length"),
        (lambda x: bool(x[:0]), ValueError, "0 truth"),
    ],
)
def test_questions_without_an_answer(ask, error, words):
    with pytest.raises(error, match=words):
        ask(Tensor(numbers((2, 3))))


def test_run_says_how_it_is_called():
    a = np.ones(3, "float32")
    with pytest.raises(TypeError, match="one tuple of arrays and one dictionary"):
        lesson.run(np.subtract, a, a)


def test_tensors_are_hashable_by_identity():
    x, y = Tensor([1.0, 2.0]), Tensor([1.0, 2.0])
    assert len({x, y, x}) == 2 and {x: 1}[x] == 1


def test_none_equals_no_tensor():
    assert (Tensor([1.0]) == None) is False  # noqa: E711
    assert (Tensor([1.0]) != None) is True  # noqa: E711


def test_repr():
    assert repr(Tensor([0.5, 0.5])) == "Tensor([0.5, 0.5])"
    assert repr(Tensor([[1, 20], [3, 4]])) == "Tensor([[ 1, 20],\n        [ 3,  4]])"
    assert repr(Variable(np.ones(1))) == "Tensor([1.], dtype=float64, requires_grad=True)"


def test_a_copy_is_independent():
    x = Variable([1.0, 2.0])
    y = copy.deepcopy(x)
    y.data[0] = 9
    assert x.data[0] == 1 and y.requires_grad


# Arithmetic


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
@pytest.mark.parametrize("shapes", PAIRS, ids=str)
def test_arithmetic_broadcasts_like_numpy(op, shapes):
    a, b = numbers(shapes[0]), numbers(shapes[1], seed=1)
    kept = a.copy(), b.copy()
    for left, right in [(Tensor(a), Tensor(b)), (Tensor(a), b), (a, Tensor(b))]:
        same(op(left, right), op(a, b), rtol=1e-5)
    assert np.array_equal(a, kept[0]) and np.array_equal(b, kept[1])


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
@pytest.mark.parametrize(
    "number", [3, 2.5, True, np.sqrt(64), np.float32(1.5), np.int64(4)], ids=repr
)
def test_numbers_on_either_side_never_upcast(op, number):
    a = numbers((2, 3))
    plain = number.item() if isinstance(number, np.generic) else number
    same(op(Tensor(a), number), op(a, plain), rtol=1e-5)
    same(op(number, Tensor(a)), op(plain, a), rtol=1e-5)


@pytest.mark.parametrize("power", [-2, -1, 0, 1, 2, 3, 4, 5, 0.5, 2.0, -1.5])
def test_powers(power):
    a = numbers((2, 3))
    same(Tensor(a) ** power, a.astype(float) ** power, rtol=1e-5)
    wanted = np.array([1.0, 2.0, 4.0]) ** power
    whole = Tensor([1, 2, 4]) ** power
    same(whole, wanted, "int64" if isinstance(power, int) and power >= 0 else "float32")


def test_lists_take_part():
    same(Tensor([1.0, 2.0]) + [0.5, 1], [1.5, 3.0])
    same([3.0, 4.0] - Tensor([1.0, 2.0]), [2.0, 2.0])


@pytest.mark.parametrize(
    "compute, dtype",
    [
        (lambda i, f: i / i, "float32"), (lambda i, f: i + f, "float32"),
        (lambda i, f: f - i, "float32"), (lambda i, f: i * 2.5, "float32"),
        (lambda i, f: i.mean(), "float32"), (lambda i, f: i.var(), "float32"),
        (lambda i, f: i.std(), "float32"), (lambda i, f: i.exp(), "float32"),
        (lambda i, f: i.sqrt(), "float32"), (lambda i, f: i.sigmoid(), "float32"),
        (lambda i, f: i.relu(), "int64"), (lambda i, f: i + 1, "int64"),
        (lambda i, f: i.sum(), "int64"), (lambda i, f: (i > 1).sum(), "int64"),
        (lambda i, f: (i > 1).mean(), "float32"), (lambda i, f: f.where(i > 1, 0.0), "float32"),
        (lambda i, f: lesson.where(i > 1, 1.0, 0.0), "float32"),
        (lambda i, f: apply(np.exp, 2.0), "float32"), (lambda i, f: i.clip(0.5, 2), "float32"),
        (lambda i, f: f @ i, "float32"), (lambda i, f: i @ i, "int64"),
        (lambda i, f: 1 - (i > 1), "int64"),
        (lambda i, f: Tensor(np.array([1, 200], "uint8")) / 255, "float32"),
        (lambda i, f: Tensor(np.array([1, 2], "uint8")).exp(), "float32"),
        (lambda i, f: f + np.ones(3), "float64"), (lambda i, f: Tensor(np.ones(3)) * f, "float64"),
        (lambda i, f: Tensor(np.ones(3)).mean(), "float64"),
        (lambda i, f: Tensor(np.ones(3, "float16")) * 2.0, "float16"),
        (lambda i, f: f.sum() * np.sqrt(64), "float32"), (lambda i, f: f.argmax(), "int64"),
    ],
)  # fmt: skip
def test_float64_comes_out_only_if_it_went_in(compute, dtype):
    assert compute(Tensor([1, 2, 4]), Tensor([0.5, 1.0, 3.0])).dtype == dtype


@pytest.mark.parametrize("op", COMPARE, ids=lambda op: op.__name__)
@pytest.mark.parametrize("shapes", PAIRS, ids=str)
def test_comparisons_give_bools_without_a_gradient(op, shapes):
    a, b = np.round(numbers(shapes[0])), np.round(numbers(shapes[1], seed=1))
    for left, right in [(Variable(a), Tensor(b)), (Variable(a), b), (a, Variable(b))]:
        out = op(left, right)
        same(out, op(a, b), "bool")
        assert not out.requires_grad and out.creator is None
    same(op(Tensor(a), 2), op(a, 2), "bool")
    same(op(2, Tensor(a)), op(2, a), "bool")


def test_negation_and_absolute_value():
    a = numbers((2, 3), low=-2)
    same(-Tensor(a), -a)
    same(abs(Tensor(a)), abs(a))


def test_in_place_operators_make_a_new_tensor():
    x = y = Tensor([1.0, 2.0])
    x += 1
    assert np.array_equal(y.data, [1, 2]) and np.array_equal(x.data, [2, 3])
    result = Variable([1.0, 2.0]) * 2
    result -= 1
    assert np.array_equal(result.data, [1, 3]) and result.requires_grad


@pytest.mark.parametrize("sign", ["+=", "-=", "*=", "/=", "//=", "%=", "**=", "@="])
def test_a_weight_is_not_replaced_by_a_result(sign):
    w = Variable([1.0, 2.0])
    with pytest.raises(RuntimeError, match=re.escape(f"w.data {sign} ...")):
        exec(f"w {sign} Tensor([0.5, 1.0])", {"w": w, "Tensor": Tensor})


@pytest.mark.parametrize(
    "compute, error, words",
    [
        (lambda x: x + Tensor([1.0, 2.0]), ValueError, r"\(2, 3\) and \(2,\) do not broadcast"),
        (lambda x: x > np.ones((4, 3)), ValueError, r"\(2, 3\) and \(4, 3\)"),
        (
            lambda x: lesson.where(x > 0, x, np.ones(2)),
            ValueError,
            r"\(2, 3\) and \(2, 3\) and \(2,\)",
        ),
        (lambda x: x @ x, ValueError, r"\(2, 3\) by \(2, 3\)"),
        (lambda x: x @ 2.0, ValueError, r"\(2, 3\) by \(\)"),
        (lambda x: x.sum(5), ValueError, r"no axis 5 in shape \(2, 3\)"),
        (lambda x: x.mean(-3), IndexError, "no axis -3"),
        (lambda x: x.sum().max(axis=1), IndexError, "no axis 1"),
        (lambda x: x.argmax(2), IndexError, "no axis 2"),
        (lambda x: x.sum((0, 0)), ValueError, "duplicate"),
        (lambda x: x.reshape(4, 2), ValueError, r"6 elements do not fit shape \(4, 2\)"),
        (lambda x: x.reshape(-1, -1), ValueError, r"6 elements"),
        (lambda x: x[5], IndexError, r"\(2, 3\)"),
        (lambda x: x[0, 0, 0], IndexError, "too many"),
        (lambda x: x[0.5], IndexError, r"take of shape \(2, 3\): only integers"),
        (lambda x: x[:0].max(), ValueError, r"\(0, 3\)"),
        (lambda x: x + "a", TypeError, "'a'"),
        (lambda x: None * x, TypeError, "None"),
        (lambda x: x.squeeze(0), ValueError, r"\(2, 3\)"),
        (lambda x: x.transpose(0), ValueError, r"\(2, 3\)"),
        (lambda x: x.transpose(2, 3), ValueError, r"\(2, 3\)"),
        (lambda x: x.transpose(0, 1), ValueError, r"\(2, 3\).*\nwrite x.swapaxes\(0, 1\)"),
        (lambda x: x.transpose(-2, -1), ValueError, r"write x.swapaxes\(-2, -1\)"),
        (lambda x: x[None].transpose(1, 2), ValueError, r"write x.swapaxes\(1, 2\)"),
        (lambda x: x.swapaxes(0, 2), IndexError, "no axis 2"),
        (lambda x: x.broadcast_to(2, 4), ValueError, r"\(2, 3\)"),
        (lambda x: x.broadcast_to(3), ValueError, r"\(2, 3\)"),
        (lambda x: lesson.concatenate([x, x[:, :2]]), ValueError, r"\(2, 3\), \(2, 2\)"),
        (lambda x: lesson.stack([x, x[0]]), ValueError, r"\(2, 3\), \(3,\)"),
        (lambda x: lesson.concatenate([x, x], 2), ValueError, "no axis 2"),
        (lambda x: x.pad((1, 2, 3)), ValueError, r"\(2, 3\)"),
        (lambda x: x.pad(-1), ValueError, "negative"),
        (lambda x: x.flatten(1, 0), ValueError, "from 1 to 0"),
        (lambda x: x.unsqueeze(4), IndexError, "no axis 4"),
    ],
)
def test_errors_name_shapes_and_axes(compute, error, words):
    with pytest.raises(error, match=words):
        compute(Tensor(numbers((2, 3))))


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x.transpose(1, 0),
        lambda x: x.transpose(-1, -2),
        lambda x: x.transpose((1, 0)),
        lambda x: x.permute(1, 0),
        lambda x: x.swapaxes(0, 1),
        lambda x: x.permute(0, 1).T,  # permute takes all axes, as in PyTorch
        lambda x: x.transpose((0, 1)).T,
    ],
)
def test_a_matrix_is_transposed_in_each_of_these_ways(compute):
    a = numbers((2, 3))
    same(compute(Tensor(a)), a.T)


@pytest.mark.parametrize("left", [Tensor([2.0]), np.ones(1, "float32"), 3.0])
def test_run_names_a_tensor_that_apply_should_not_give_it(left, monkeypatch):
    def wrong_apply(op, *inputs, **options):
        return lesson.wrap(lesson.run(op, inputs, options))

    monkeypatch.setattr(Tensor, "_apply", staticmethod(wrong_apply))
    monkeypatch.setattr(lesson, "apply", wrong_apply)
    message = "^`run` got a Tensor; send each input through `operand`, and never"
    for compute in (lambda x: left - x, lambda x: x.exp(), lambda x: x.reshape(1, 1)):
        with pytest.raises(TypeError, match=message):
            compute(Tensor([1.0]))


# Elementwise


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "cos", "tanh"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_functions_agree_with_numpy(name, shape):
    a = numbers(shape)
    same(getattr(Tensor(a), name)(), getattr(np, name)(a))


def test_sigmoid_and_relu():
    a = np.array([-1000, -30, -1, 0, 2, 1000], "float32")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = Tensor(a).sigmoid()
    same(out, [0, 9.357623e-14, 0.26894142, 0.5, 0.88079708, 1], rtol=1e-5)
    same(Tensor(a).relu(), [0, 0, 0, 0, 2, 1000])
    same(Tensor(-2).relu(), 0)


@pytest.mark.parametrize("shapes", PAIRS, ids=str)
def test_maximum_minimum_and_where(shapes):
    a, b = numbers(shapes[0]), numbers(shapes[1], seed=1)
    same(Tensor(a).maximum(Tensor(b)), np.maximum(a, b))
    same(lesson.minimum(a, Tensor(b)), np.minimum(a, b))
    same(lesson.where(Tensor(a) > 1.5, Tensor(a), b), np.where(a > 1.5, a, b))
    same(Tensor(a).where(a > 1.5, Tensor(b)), np.where(a > 1.5, a, b))
    same(lesson.maximum(Tensor(a), 1.5), np.maximum(a, 1.5))


@pytest.mark.parametrize("low, high", [(1, 2), (None, 2), (1.5, None), (None, None)])
def test_clip(low, high):
    a = numbers((2, 3))
    same(Tensor(a).clip(low, high), np.clip(a, low, high))


# Reductions


@pytest.mark.parametrize("name", ["sum", "max", "min", "mean", "var", "std"])
@pytest.mark.parametrize(
    "shape, axis",
    [
        ((), None), ((5,), None), ((5,), 0), ((1,), -1), ((2, 3), None), ((2, 3), 0), ((2, 3), -1),
        ((2, 3), (0, 1)), ((2, 3), ()), ((2, 3, 4), 1), ((2, 3, 4), -3), ((2, 3, 4), (0, 2)),
        ((2, 3, 4), (-1, 0)), ((0, 3), 1), ((2, 1, 3, 1), (1, 3)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(name, shape, axis, keepdims):
    a = numbers(shape)
    wanted = getattr(np, name)(a, axis=axis, keepdims=keepdims)
    same(getattr(Tensor(a), name)(axis, keepdims=keepdims), wanted, rtol=1e-5)
    assert np.array_equal(a, numbers(shape))


def test_a_sum_of_nothing_is_zero():
    same(Tensor(np.ones((0, 3), "float32")).sum(0), [0, 0, 0])


@pytest.mark.parametrize("correction", [0, 1, 2])
def test_correction(correction):
    a = numbers((4, 5))
    same(Tensor(a).var(1, correction=correction), np.var(a, 1, ddof=correction), rtol=1e-5)
    same(
        Tensor(a).std(0, keepdims=True, correction=correction),
        np.std(a, 0, ddof=correction, keepdims=True),
        rtol=1e-5,
    )


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_where_the_extremes_are(axis):
    a = np.array([[3, 7, 7], [9, -1, 0]], "float32")
    same(Tensor(a).argmax(axis), a.argmax(axis), "int64")
    same(Variable(a).argmin(axis, keepdims=True), a.argmin(axis, keepdims=True), "int64")
    assert not Variable(a).argmax(axis).requires_grad


# Shapes


@pytest.mark.parametrize(
    "compute, wanted",
    [
        (lambda x: x.reshape(4, 6), lambda a: a.reshape(4, 6)),
        (lambda x: x.reshape((3, -1)), lambda a: a.reshape(3, 8)),
        (lambda x: x.reshape(-1), lambda a: a.ravel()),
        (lambda x: x.flatten(), lambda a: a.ravel()),
        (lambda x: x.flatten(1), lambda a: a.reshape(2, 12)),
        (lambda x: x.flatten(0, 1), lambda a: a.reshape(6, 4)),
        (lambda x: x.transpose(), lambda a: a.T),
        (lambda x: x.transpose(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
        (lambda x: x.transpose((1, -1, 0)), lambda a: a.transpose(1, 2, 0)),
        (lambda x: x.T, lambda a: a.T),
        (lambda x: x.swapaxes(0, -1), lambda a: a.swapaxes(0, 2)),
        (lambda x: x.unsqueeze(0), lambda a: a[None]),
        (lambda x: x.unsqueeze(-1), lambda a: a[..., None]),
        (lambda x: x.unsqueeze(2), lambda a: a[:, :, None]),
        (lambda x: x[:, :1].squeeze(), lambda a: a[:, 0]),
        (lambda x: x[:, :1, :1].squeeze(1), lambda a: a[:, 0, :1]),
        (lambda x: x[:1, :1].squeeze((0, -2)), lambda a: a[0, 0]),
        (lambda x: x.squeeze(), lambda a: a),
        (lambda x: x[:1].broadcast_to(5, 3, 4), lambda a: np.broadcast_to(a[:1], (5, 3, 4))),
        (lambda x: x.broadcast_to((5, 2, 3, 4)), lambda a: np.broadcast_to(a, (5, 2, 3, 4))),
    ],
)
def test_shapes_change_and_memory_is_shared(compute, wanted):
    a = numbers((2, 3, 4))
    x = Tensor(a)
    same(compute(x), wanted(a))
    assert np.shares_memory(compute(x).data, x.data)


def test_shapes_of_single_numbers_and_empty_tensors():
    one, none = Tensor(5.0), Tensor(np.ones((0, 3), "float32"))
    assert (
        one.flatten().shape == (1,) and one.unsqueeze(0).shape == (1,) and one.squeeze().shape == ()
    )
    assert one.T.shape == ()
    assert one.reshape(1, -1).shape == (1, 1) and one.reshape(()).shape == ()
    assert (
        none.reshape(3, 0).shape == (3, 0)
        and none.reshape(3, -1).shape == (3, 0)
        and none.flatten().shape == (0,)
    )
    assert none.flatten(0, 1).shape == (0,)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenate_and_stack(axis):
    a, b, c = numbers((2, 3)), numbers((2, 3), seed=1), numbers((2, 3), seed=2)
    same(lesson.concatenate([Tensor(a), b, Tensor(c)], axis), np.concatenate([a, b, c], axis))
    same(lesson.stack((Tensor(a), Tensor(b)), axis=axis), np.stack([a, b], axis))
    made = lesson.concatenate([Variable(a), Tensor(b)], axis=axis).creator
    assert [x.requires_grad for x in made.inputs] == [True, False] and made.options == {
        "axis": axis
    }


@pytest.mark.parametrize("width", [1, 0, (1, 2), ((1, 0), (0, 3)), [[2, 1], [0, 0]]], ids=str)
@pytest.mark.parametrize("value", [0, -np.inf, 2.5])
def test_pad(width, value):
    a = numbers((2, 3))
    same(Tensor(a).pad(width, value), np.pad(a, width, constant_values=value))


@pytest.mark.parametrize(
    "a, b",
    [
        ((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 7)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)),
        ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((1, 1), (1, 4)),
    ], ids=str
)  # fmt: skip
def test_matrix_products_of_every_rank(a, b):
    a, b = numbers(a), numbers(b, seed=1)
    for left, right in [(Tensor(a), Tensor(b)), (a, Tensor(b)), (Tensor(a), b)]:
        same(left @ right, a @ b, rtol=1e-5)
    assert lesson.matmul_shape(a.shape, b.shape) == (a @ b).shape


# Indexing and writing


@pytest.mark.parametrize(
    "index",
    [
        0, -1, slice(1, None), slice(None, None, -2), (0, 1), (slice(None), 2), (Ellipsis, -1),
        None, (0, None, slice(2)), [1, 0, 0], (slice(None), [2, 0]), ([0, 1], [2, 0]),
        np.array([1, 1]), np.array([[0, 1], [1, 0]]), np.array([True, False]),
        (1, np.array([True, False, True])), (1, 2, 3), (), np.int64(1), [], (slice(None), []),
        [[]], [True, False], np.zeros((0, 2), int),
    ], ids=str
)  # fmt: skip
def test_indexing(index):
    a = numbers((2, 3, 4))
    same(Tensor(a)[index], a[index])
    parts = index if isinstance(index, tuple) else (index,)
    wrapped = tuple(Tensor(p) if isinstance(p, np.ndarray) else p for p in parts)
    same(Tensor(a)[wrapped], a[index])
    if len(wrapped) == 1:
        same(Tensor(a)[wrapped[0]], a[index])


def test_slices_share_memory_and_lists_do_not():
    x = Tensor(numbers((2, 3)))
    assert np.shares_memory(x[:, 1:].data, x.data) and not np.shares_memory(x[[0, 1]].data, x.data)


def test_a_mask_of_nothing_stays_a_mask():
    x = Tensor(np.ones((0, 3), "float32"))
    assert x[x > 0].shape == (0,) and x[np.zeros(0, bool)].shape == (0, 3)


@pytest.mark.parametrize(
    "places", [np.array([2, 0]), Tensor([2, 0]), [2, 0]], ids=["array", "tensor", "list"]
)
def test_a_recorded_index_is_a_copy(places):
    out = Variable(numbers((3, 2)))[places]
    (places.data if isinstance(places, Tensor) else places)[0] = 1
    assert np.array_equal(out.creator.options["index"][0], [2, 0])


def test_writing_in_place():
    x = Tensor(np.zeros((2, 3), "float32"))
    x[0] = 1.5
    x[:, 2] = Tensor([3.0, 4.0])
    x[x > 3.5] = [9]
    x[Tensor([False, True]), 0] = 7
    assert np.array_equal(x.data, [[1.5, 1.5, 3], [7, 0, 9]])


def test_writing_is_refused_where_the_graph_needs_the_numbers():
    leaf = Variable([1.0, 2.0])
    for x, value in [(leaf, 0), (leaf * 2, 0), (leaf.reshape(2, 1), 0), (Tensor([1.0, 2.0]), leaf)]:
        before = x.data.copy()
        with pytest.raises(RuntimeError, match="computation graph"):
            x[0] = value[0] if isinstance(value, Tensor) else value
        assert np.array_equal(x.data, before)
    leaf.detach()[0] = 5
    assert leaf.data[0] == 5


# The computation graph


def test_every_operation_on_a_variable_is_recorded():
    x = Variable(numbers((2, 3)))
    results = [
        x + 1, 1 - x, x * x, 2 / x, x**2, 2**x, -x, abs(x), x @ x.T, x.exp(), x.log(), x.sqrt(),
        x.sin(), x.cos(), x.tanh(), x.sigmoid(), x.relu(), x.maximum(1), x.minimum(1),
        x.clip(1, 2), x.where(x > 1, 0), x.sum(), x.mean(0), x.max(), x.min(axis=1), x.var(),
        x.std(),
        x.reshape(-1), x.T, x.swapaxes(0, 1), x.unsqueeze(0), x.squeeze(), x.flatten(),
        x.broadcast_to(4, 2, 3), lesson.concatenate([x, x]), lesson.stack([x, x]), x.pad(1), x[0],
        x[x > 1], np.ones(3) * x,
    ]  # fmt: skip
    for out in results:
        assert out.requires_grad and out.creator.created > -1 and out.grad is None
        assert any(isinstance(i, Tensor) and i.requires_grad for i in out.creator.inputs)
        assert len(out.creator.arrays) == len(out.creator.inputs)
        assert hash(out.creator.op) is not None
        assert np.array_equal(out.creator.op(*out.creator.arrays, **out.creator.options), out.data)
    orders = [out.creator.created for out in results]
    assert orders == sorted(set(orders))


def test_a_creator_holds_the_very_inputs():
    x, y = Variable([1.0, 2.0]), Tensor([3.0, 4.0])
    made = (x * y).creator
    assert (
        made.op is np.multiply
        and made.inputs[0] is x
        and made.inputs[1] is y
        and made.arrays[0] is x.data
    )
    assert made.options == {}
    assert (
        (y * y).creator is None
        and x.detach().requires_grad is False
        and (x.detach() * 2).creator is None
    )


def test_a_creator_is_shown_by_the_name_that_pytorch_has():
    x = Variable([1.0, 2.0])
    results = [x + 1, x - 1, x * 2, x / 2, x**2, -x, abs(x), x.exp(), x.relu(), x.sum(), x[0]]
    names = ["add", "sub", "mul", "div", "pow", "neg", "abs", "exp", "relu", "sum", "getitem"]
    assert [repr(out.creator) for out in results] == names


def test_recording_is_switched_per_thread():
    x, seen = Variable([1.0]), []
    lesson.recording.on = False
    try:
        assert (x * 2).creator is None and not (x * 2).requires_grad
        x[0] = 4
        thread = threading.Thread(target=lambda: seen.append((x * 2).requires_grad))
        thread.start()
        thread.join()
    finally:
        lesson.recording.on = True
    assert seen == [True] and x.data[0] == 4 and (x * 2).requires_grad


def test_a_long_chain_of_results_can_be_made_and_dropped():
    x = Variable([1.0])
    for _ in range(100_000):
        x = x + 1
    assert x.data[0] == 100_001
    del x


def test_apply_takes_any_function_of_arrays():
    def double(a, factor=2):
        return a * factor

    out = apply(double, Variable([1.0, 2.0]), factor=3)
    same(out, [3, 6])
    assert out.creator.op is double and out.creator.options == {"factor": 3}


# The package


def test_the_package_leads_to_the_lesson():
    assert tinytorch.Tensor is Tensor and tinytorch.Variable is Variable
    assert {"Tensor", "Variable"} <= set(dir(tinytorch))
    with pytest.raises(AttributeError, match="Tensr"):
        tinytorch.Tensr


@pytest.mark.parametrize(
    "line", ["from tinytorch import Tensor", "import tinytorch; tinytorch.Variable"]
)
def test_before_the_first_lesson_the_package_says_what_to_do(line, tmp_path):
    shutil.copytree(ROOT / "tinytorch", tmp_path / "tinytorch")
    for module in (tmp_path / "tinytorch" / "core").glob("[!_]*.py"):
        module.unlink()
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import tinytorch.core; {line}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, cwd=tmp_path
    )
    assert (
        done.returncode == 1
        and "ImportError" in done.stderr
        and "tito export tensor" in done.stderr
    )


def test_importing_the_package_loads_no_numpy(tmp_path):
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import tinytorch; "
        f"sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-I", "-S", "-c", program], cwd=tmp_path).returncode == 0


def test_backward_names_the_lesson_that_builds_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "tinytorch.core.autograd", None)  # as if it were not there
    with pytest.raises(ImportError, match="tito export autograd"):
        Variable([1.0]).sum().backward()
