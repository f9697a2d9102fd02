"""What PyTorch and Python ask of a tensor: methods, advice for missing names, and text."""

import copy
import pickle
import warnings

import numpy as np
import pytest

from tinytorch import Tensor, Variable, no_grad
from tinytorch.core.autograd import numerical_gradient_check
from tinytorch.support.missing_names import TENSOR


def matrix(dtype="float32"):
    return Variable(np.array([[1, 2, 3], [4, 0, 6]], dtype))


@pytest.mark.parametrize(
    "call, wanted",
    [
        (lambda x: x.view(3, -1), [[1, 2], [3, 4], [0, 6]]),
        (lambda x: x.view((6,)), [1, 2, 3, 4, 0, 6]),
        (lambda x: x.permute(1, 0), [[1, 4], [2, 0], [3, 6]]),
        (lambda x: x.t(), [[1, 4], [2, 0], [3, 6]]),
        (lambda x: x[0].t(), [1, 2, 3]),
        (lambda x: (-x).abs(), [[1, 2, 3], [4, 0, 6]]),
        (lambda x: x.pow(2), [[1, 4, 9], [16, 0, 36]]),
        (lambda x: x.clone(), [[1, 2, 3], [4, 0, 6]]),
        (lambda x: x[:, :1].expand(-1, 2), [[1, 1], [4, 4]]),
        (lambda x: x[0].expand(2, -1), [[1, 2, 3], [1, 2, 3]]),
        (lambda x: x.cumsum(0), [[1, 2, 3], [5, 2, 9]]),
        (lambda x: x.cumsum(-1), [[1, 3, 6], [4, 4, 10]]),
        (lambda x: x.cumsum(), [1, 3, 6, 10, 10, 16]),
        (lambda x: x.prod(), 0),
        (lambda x: x.prod(1), [6, 0]),
        (lambda x: x.prod((0,), keepdims=True), [[4, 0, 18]]),
        (lambda x: x.double(), [[1, 2, 3], [4, 0, 6]]),
    ],
)
def test_values_and_gradients(call, wanted):
    x = matrix()
    assert call(x).data.tolist() == wanted
    assert numerical_gradient_check(call, [x])
    assert call(x).requires_grad


@pytest.mark.parametrize("name", ["cumsum", "prod", "clone", "abs", "float"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dtypes_stay(name, dtype):
    x = matrix(dtype)
    out = getattr(x, name)()
    assert out.dtype == (np.float32 if name == "float" else dtype)
    out.sum().backward()
    assert x.grad.dtype == dtype and x.grad.shape == x.shape


@pytest.mark.parametrize(
    "numbers, axis, wanted",
    [
        ([2.0, 0.0, 5.0], None, [0, 10, 0]),
        ([0.0, 0.0, 5.0], None, [0, 0, 0]),
        ([2.0, 3.0, 5.0], 0, [15, 10, 6]),
        ([7.0], None, [1]),
        ([[2.0, 0.0], [3.0, 4.0]], (1, 0), [[0, 24], [0, 0]]),
        ([[2.0, 0.0], [3.0, 4.0]], -1, [[0, 2], [4, 3]]),
        (3.0, None, 1),
    ],
)
def test_the_gradient_of_a_product_is_right_at_zeros(numbers, axis, wanted):
    x = Variable(numbers)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.prod(axis).sum().backward()
    assert x.grad.tolist() == wanted


@pytest.mark.parametrize("shape, axis", [((0,), None), ((2, 0), 1), ((0, 2), 1), ((2, 0), None)])
def test_products_and_sums_of_nothing(shape, axis):
    for call in (lambda x: x.prod(axis), lambda x: x.cumsum(axis)):
        x = Variable(np.ones(shape, "float32"))
        call(x).sum().backward()
        assert x.grad.shape == shape
    assert Tensor(np.ones((2, 0))).prod(1).data.tolist() == [1, 1]


def test_a_clone_shares_no_memory_and_passes_gradients():
    x = matrix()
    y = x.clone()
    assert not np.shares_memory(x.data, y.data)
    (y * y).sum().backward()
    assert x.grad.tolist() == [[2, 4, 6], [8, 0, 12]]


@pytest.mark.parametrize(
    "name, dtype", [("long", "int64"), ("int", "int32"), ("bool", "bool"), ("float", "float32")]
)
def test_casts_of_integers_and_floats(name, dtype):
    for numbers in ([0, 2, -3], [0.5, 2.0, -3.75], [True, False]):
        out = getattr(Tensor(numbers), name)()
        assert out.dtype == dtype and not out.requires_grad
        assert out.data.tolist() == np.array(numbers).astype(dtype).tolist()
    assert not getattr(matrix("float64"), "long")().requires_grad


def test_a_cast_that_changes_nothing_is_the_tensor_itself():
    x = matrix()
    assert x.float() is x and x.to("cpu") is x and x.to(np.float32) is x
    assert x.to(np.float64).dtype == "float64"
    with pytest.raises(ValueError, match="there is no 'cuda:0': the one device is 'cpu'"):
        x.to("cuda:0")


def test_plain_values():
    x = matrix()
    assert (x.numel(), x.dim(), x.tolist()) == (6, 2, [[1, 2, 3], [4, 0, 6]])
    assert type(x.numel()) is int and Tensor(2.5).tolist() == 2.5
    assert x.argsort().tolist() == [[0, 1, 2], [1, 0, 2]]
    assert x.argsort(0, descending=True).tolist() == [[1, 0, 1], [0, 1, 0]]
    assert Tensor([1, 0, 1, 0]).argsort(descending=True).tolist() == [0, 2, 1, 3]
    assert x.argmax().item() == 5 and x.argmin(axis=1, keepdims=True).tolist() == [[0], [1]]


def test_size_is_an_int_that_can_be_called():
    size = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).size
    assert size == 6 and isinstance(size, int) and type(size * 1) is int and repr(size) == "6"
    assert (Tensor([12.0]) / size).tolist() == [2.0] and (size * Tensor([2])).tolist() == [12]
    assert size() == (2, 3) and size(0) == 2 and size(-1) == 3
    assert type(pickle.loads(pickle.dumps(size))) is int


def test_one_integer_is_an_index_and_a_length():
    x = Tensor([1.0, 3.0, 2.0])
    assert int(x.argmax()) == 1 and "abc"[x.argmax()] == "b" and int(Tensor(2.9)) == 2
    assert list(range(Tensor([2]))) == [0, 1] and np.zeros(Tensor([3])[0]).shape == (3,)
    for wrong in (Tensor([1, 2]), Tensor(2.0), x > 1):
        with pytest.raises(TypeError, match="an index or a length is one integer"):
            range(wrong)


def test_logical_operators_and_division_with_remainder_are_those_of_numpy():
    x, a = Tensor([[1, 5, -6], [7, 0, 12]]), np.array([[1, 5, -6], [7, 0, 12]])
    texts = "(x > 0) & (x < 7), (x > 6) | (x < 0), (x > 0) ^ (x > 6), ~(x > 0), x & 5, 3 | x, a ^ x"
    more = "x // 4, x % 4, 30 // (x + 7), a % (x + 7), True & (x > 0), a // (x + 7)"
    for text in f"{texts}, {more}".split(", "):
        ours, theirs = eval(text, {"x": x, "a": a}), eval(text, {"x": a, "a": a})
        assert type(ours) is Tensor and ours.dtype == theirs.dtype
        assert np.array_equal(ours.data, theirs)
    assert numerical_gradient_check(
        lambda x, y: x % y, [np.array([7.3, -2.2]), np.array([2.1, 3.1])]
    )
    w = Variable([7.0, 8.0])
    with no_grad():
        w %= 4
    assert w.tolist() == [3.0, 0.0] and w.requires_grad


def test_the_axis_of_a_maximum_is_named_unless_keepdims_is():
    x = Tensor([[1.0, 4.0], [3.0, 2.0]])
    for name in ("max", "min"):
        with pytest.raises(TypeError, match=rf"x.{name}\(1\) is a pair in PyTorch: write"):
            _, p = getattr(x, name)(1)
        assert getattr(x, name)(1, keepdims=True).shape == (2, 1)
        assert getattr(x, name)(axis=1).shape == (2,) and getattr(x, name)().shape == ()


def test_to_takes_a_device_and_a_dtype():
    x = Tensor([1.0])
    assert x.to(device="cpu") is x and x.to("cpu") is x and x.cpu() is x
    assert x.to("cpu", np.float64).dtype == x.to(x.double()).dtype == np.float64
    assert x.to(dtype=np.int64).dtype == np.int64


def test_requires_grad_can_be_set():
    x = Tensor([1.0]).requires_grad_()
    assert x.requires_grad and not x.requires_grad_(False).requires_grad
    with pytest.raises(RuntimeError, match="int64: x.float"):
        Tensor([1]).requires_grad_()
    with pytest.raises(RuntimeError, match="follows from its inputs"):
        (matrix() * 2).requires_grad_(False)


def test_t_is_for_matrices():
    with pytest.raises(ValueError, match=r"shape \(1, 1, 2\) has 3 axes: x.T"):
        Tensor([[[1, 2]]]).t()


@pytest.mark.parametrize(
    "name, text",
    [
        ("mul", "write x * y"),
        ("cuda", "there is one device, the CPU: write x alone"),
        ("add_", "write x.data += y, or -=, *=, /="),
        ("zero_", "write x.data[...] = 0, or another value"),
        ("relu_", "write x = x.relu(...)"),
        ("clamp", "write x.clip(low, high)"),
        ("isnan", "write np.isnan(x.data)"),
        ("nonzero", "write np.argwhere(x.data)"),
        ("tril", "write np.tril(x.data); causal_mask in tinytorch.core.attention masks scores"),
        ("grad_fn", "write x.creator"),
        ("item_", ""),
    ],
)
def test_a_name_that_does_not_exist_says_what_to_write(name, text):
    x = matrix()
    for owner in (x, Tensor):
        assert not hasattr(owner, name) and name not in dir(owner)
    with pytest.raises(AttributeError) as caught:
        getattr(x, name)
    message = f"'Tensor' object has no attribute {name!r}"
    assert str(caught.value) == (f"{message}: {text}" if text else message)


def test_no_name_is_both_there_and_missing():
    names = " ".join(TENSOR.values()).split()
    assert len(names) == len(set(names)) and not {*names} & {*dir(Tensor)}


def test_an_attribute_that_is_not_set_is_named_itself():
    x = Tensor.__new__(Tensor)  # as when an `__init__` forgets `data`
    with pytest.raises(AttributeError, match="data"):
        x.shape  # noqa: B018  a property that reads it


@pytest.mark.parametrize(
    "call, wanted",
    [
        (lambda x: np.exp(x), "np.exp takes arrays, and x is a Tensor: write x.exp()"),
        (lambda x: np.maximum(x, x), "write x.maximum(y)"),
        (lambda x: np.abs(x), "write x.abs()"),
        (lambda x: np.multiply(x, 2), "write x * y"),
        (lambda x: np.square(x), "write x ** 2"),
        (lambda x: np.sum(x), "np.sum takes arrays, and x is a Tensor: write x.sum(...)"),
        (lambda x: np.mean(x, axis=0), "write x.mean(...)"),
        (lambda x: np.max(x), "write x.max(...)"),
        (lambda x: np.std(x), "write x.std(...)"),
        (lambda x: np.prod(x), "write x.prod(...)"),
        (lambda x: np.any(x), "np.any takes arrays, and x is a Tensor: write x.data.any()"),
        (lambda x: np.arctan(x), "write np.arctan(x.data), which records no gradient"),
        (lambda x: np.add.accumulate(x), "write np.add.accumulate(x.data)"),
        (
            lambda x: np.ones((2, 3)).__iadd__(x),
            "cannot be changed in place by a Tensor: use x.data",
        ),
    ],
)
def test_a_numpy_function_of_a_tensor_names_the_method(call, wanted):
    with pytest.raises(TypeError) as told:
        call(matrix())
    assert wanted in str(told.value)


@pytest.mark.parametrize("left", [np.full((2, 3), 2, "float32"), np.float64(2), np.array(2)])
def test_an_array_on_the_left_of_an_operator_gives_a_tensor(left):
    x = matrix()
    number = np.asarray(left)
    for out, wanted in [
        (left + x, number + x.data),
        (left - x, number - x.data),
        (left * x, number * x.data),
        (left / (x + 1), number / (x.data + 1)),
        (left**x, number**x.data),
        (left < x, number < x.data),
        (left >= x, number >= x.data),
        (left == x, number == x.data),
        (left != x, number != x.data),
    ]:
        assert type(out) is Tensor and np.allclose(out.data, wanted)
        assert out.dtype in ("float32", "bool")
    if number.ndim:
        out = left @ x.T
        out.sum().backward()
        assert type(out) is Tensor and x.grad.tolist() == [[4, 4, 4], [4, 4, 4]]


def test_copies_pickles_and_arrays_are_as_before():
    x = matrix()
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(y) is Tensor and y.data.tolist() == x.data.tolist() and y.requires_grad
    assert type(np.array(x)) is np.ndarray and np.asarray(x, np.float64).dtype == "float64"
    assert np.allclose(x, x.data) and np.shape(x) == (2, 3)
    assert "__dict__" not in dir(x)


@pytest.mark.parametrize(
    "data, requires_grad, wanted",
    [
        (np.array([0.5, -2.0], "float32"), False, "Tensor([ 0.5, -2. ])"),
        (np.array([1, 2, 3]), False, "Tensor([1, 2, 3])"),
        (np.array(0.5, "float32"), False, "Tensor(0.5)"),
        (np.array([], "float32"), False, "Tensor([])"),
        (np.array([True, False]), False, "Tensor([ True, False])"),
        (np.array([[1, 20], [4, 5]]), False, "Tensor([[ 1, 20],\n        [ 4,  5]])"),
        (np.array([0.5]), False, "Tensor([0.5], dtype=float64)"),
        (np.array([7], "uint8"), False, "Tensor([7], dtype=uint8)"),
        (np.array([0.5], "float16"), True, "Tensor([0.5], dtype=float16, requires_grad=True)"),
    ],
)
def test_the_text_names_what_is_unusual(data, requires_grad, wanted):
    assert repr(Tensor(data, requires_grad)) == wanted
