"""The exported autograd: every rule against finite differences, the backward pass, memory, threads,
errors, drawings."""

import copy
import gc
import pickle
import re
import tracemalloc
import warnings
import weakref

import numpy as np
import pytest

from tinytorch import nn
from tinytorch.core import autograd as lesson
from tinytorch.core import tensor as T
from tinytorch.core.autograd import (
    Function,
    backward,
    derivative,
    draw_graph,
    numerical_gradient_check,
)
from tinytorch.core.tensor import Tensor, Variable, apply

SHAPES = [(), (1,), (5,), (0,), (2, 3), (1, 4), (3, 0), (2, 3, 4), (2, 1, 3, 1)]
PAIRS = [
    ((), ()), ((2, 3), ()), ((), (4,)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 3), (2, 1)),
    ((4, 1, 3), (2, 1)), ((0, 3), (1, 3)), ((1, 3), (0, 3)), ((1,), (0,)), ((2, 1, 1), (3, 4)),
    ((2, 1, 3, 1), (4, 1, 5)), ((1, 1), (1,)),
]  # fmt: skip


def numbers(shape, seed=0, low=0.5, high=2.0):
    """float64 numbers, all different, so that no tie is within a step."""
    count = int(np.prod(shape))
    spread = np.linspace(low, high, count) if count else np.empty(0)
    return np.random.default_rng(seed + 7 * len(shape)).permutation(spread).reshape(shape)


ONE = {
    "negative": lambda x: -x,
    "absolute": lambda x: abs(x - 1.23456),
    "exp": Tensor.exp,
    "log": Tensor.log,
    "sqrt": Tensor.sqrt,
    "sin": Tensor.sin,
    "cos": Tensor.cos,
    "tanh": Tensor.tanh,
    "sigmoid": Tensor.sigmoid,
    "relu": lambda x: (x - 1.23456).relu(),
    "clip": lambda x: x.clip(0.71234, 1.54321),
    "clip_low": lambda x: x.clip(0.71234),
    "square": lambda x: x**2,
    "cube": lambda x: x**3,
    "fourth": lambda x: x**4,
    "first": lambda x: x**1,
    "zeroth": lambda x: x**0,
    "inverse": lambda x: x**-1,
    "root": lambda x: x**0.5,
    "seventh": lambda x: x**7,
    "two_to": lambda x: 2**x,
    "less": lambda x: 3 - x,
    "under": lambda x: 5 / x,
    "half": lambda x: x / 2,
    "sum": Tensor.sum,
    "mean_or_sum": lambda x: x.mean() if x.size else x.sum(),
    "flatten": Tensor.flatten,
    "transpose": Tensor.transpose,
    "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": Tensor.squeeze,
    "pad": lambda x: x.pad(1, 2.0),
    "where": lambda x: T.where(x.data > 1.01234, x, x * x),
    "twice": lambda x: x * x + x,
    "concatenate": lambda x: T.concatenate([x.flatten(), (x * 2).flatten(), x.flatten()]),
    "stack": lambda x: T.stack([x, x * x, x], axis=-1),
    "broadcast": lambda x: x.broadcast_to(2, *x.shape),
    "var": lambda x: x.var() if x.size else x.sum(),
    "std": lambda x: x.std() if x.size > 1 else x.sum(),
    "max": lambda x: x.max() if x.size else x.sum(),
    "min": lambda x: x.min() if x.size else x.sum(),
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ONE)
def test_operations_of_one_tensor_agree_with_finite_differences(name, shape):
    assert numerical_gradient_check(ONE[name], Variable(numbers(shape)))


TWO = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "power": lambda a, b: a**b,
    "maximum": T.maximum,
    "minimum": T.minimum,
    "where": lambda a, b: T.where(a.data > 1.21234, a, b),
    "reused": lambda a, b: (a * b + a) / (b + a * a),
}


@pytest.mark.parametrize("shapes", PAIRS, ids=str)
@pytest.mark.parametrize("name", TWO)
def test_operations_of_two_tensors_agree_with_finite_differences(name, shapes):
    assert numerical_gradient_check(
        TWO[name], [numbers(shapes[0], 1), numbers(shapes[1], 2, 0.512345, 2.1)]
    )


@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 3), (3, 4)), ((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (5, 3, 4)),
        ((5, 2, 3), (3,)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((4, 1, 2, 3), (5, 3, 2)),
        ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((1, 1), (1, 1)), ((0, 2, 3), (3,)), ((4, 0), (0,)),
    ], ids=str
)  # fmt: skip
def test_matmul_of_every_rank_agrees_with_finite_differences(shapes):
    assert numerical_gradient_check(
        lambda a, b: a @ b, [numbers(shapes[0], 1), numbers(shapes[1], 2)]
    )


AXES = [None, 0, 1, -1, (0, 2), (-1, 0), ()]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    ("name", "axis"),
    [
        (name, axis)
        for name in ("sum", "mean", "max", "min", "var", "std")
        for axis in AXES
        if (name, axis) != ("std", ())
    ],
    ids=str,
)  # of single numbers: the root of 0 has no derivative
def test_reductions_agree_with_finite_differences(name, axis, keepdims):
    assert numerical_gradient_check(
        lambda x: getattr(x, name)(axis=axis, keepdims=keepdims), numbers((2, 3, 4))
    )


@pytest.mark.parametrize(
    "index",
    [
        0, -1, slice(None, None, -2), (1, 2), (0, slice(1, 3), -1), (Ellipsis, 0), None, [1, 0, 1],
        (slice(None), [2, 0, 2]), (slice(None), np.array([[0, 2], [2, 2]])), (), True, False,
        ([1, 1], slice(None), [0, 0]), (np.int64(1), None, [0, 0]), [], ((0, 0),),
        numbers((2, 3, 4)) > 1, (0, np.array([True, False, True])),
    ], ids=str
)  # fmt: skip
def test_every_index_agrees_with_finite_differences(index):
    assert numerical_gradient_check(lambda x: x[index], numbers((2, 3, 4)))


@pytest.mark.parametrize("axes", [(1, 2, 0), (2, 0, 1), (0, 2, 1), (-1, 0, 1)], ids=str)
def test_permutations_agree_with_finite_differences(axes):
    assert numerical_gradient_check(lambda x: x.transpose(axes), numbers((2, 3, 4)))
    assert numerical_gradient_check(lambda x: x.swapaxes(0, -1).reshape(4, -1), numbers((2, 3, 4)))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_joins_agree_with_finite_differences(axis):
    parts = [numbers((2, 3), 1), numbers((2, 3), 2)]
    assert numerical_gradient_check(lambda a, b: T.concatenate([a, b, a], axis), parts)
    assert numerical_gradient_check(lambda a, b: T.stack([a, b], axis), parts)
    assert numerical_gradient_check(lambda a: T.concatenate([a, np.ones((2, 3))], axis), parts[:1])


# Corners


def grad_of(f, *data, gradient=None):
    leaves = [Variable(np.array(d, "float32")) for d in data]
    out = f(*leaves)
    backward(out, np.ones(out.shape) if gradient is None else gradient)
    return [leaf.grad if leaf.grad is None else leaf.grad.tolist() for leaf in leaves]


def test_powers_at_their_corners():
    assert grad_of(lambda x: x**0, [0.0, 2.0]) == [[0, 0]]
    assert grad_of(lambda x: x**1, [0.0, 2.0]) == [[1, 1]]
    assert grad_of(lambda x: x**2, [0.0, -3.0]) == [[0, -6]]
    assert grad_of(lambda x: x**3, [0.0, -3.0]) == [[0, 27]]
    assert grad_of(lambda x: x**-1, [-2.0]) == [[-0.25]]
    assert grad_of(lambda a, b: a**b, [0.0, 0.0, 3.0], [2.0, 0.0, 0.0]) == [
        [0, 0, 0],
        [0, 0, pytest.approx(np.log(3))],
    ]
    assert grad_of(lambda a: 0.0**a, [2.0, 0.0]) == [[0, 0]]


def test_nan_and_infinity_stay_visible():
    x = Variable([1.0, np.nan, 4.0])
    backward((x * x).sum())
    assert np.array_equal(x.grad, [2, np.nan, 8], equal_nan=True)
    with np.errstate(divide="ignore"):
        assert grad_of(Tensor.sqrt, [0.0, 4.0]) == [[np.inf, 0.25]]
        assert grad_of(Tensor.log, [0.0]) == [[np.inf]]
    assert grad_of(lambda x: x.sigmoid() + x.tanh(), [-1000.0, 1000.0]) == [[0, 0]]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", [*ONE])
def test_no_rule_widens(name, dtype, monkeypatch):
    seen = []
    match = lesson.match_input
    monkeypatch.setattr(
        lesson,
        "match_input",
        lambda g, data, op: seen.append((g.dtype, data.dtype)) or match(g, data),
    )
    x = Variable(numbers((2, 3)).astype(dtype))
    out = ONE[name](x)
    backward(out, np.ones(out.shape))
    assert out.dtype == x.grad.dtype == dtype and x.grad.shape == (2, 3)
    assert [d for d in seen if d[0] != d[1]] == []


def test_gradients_have_the_dtype_of_their_inputs():
    a, b = Variable(numbers((2, 3)).astype("float32")), Variable(numbers((3,)))
    backward((a * b).sum())
    assert (a.grad.dtype, b.grad.dtype) == ("float32", "float64")


# The backward pass


@pytest.mark.parametrize(
    "make",
    [
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a.reshape(3, 2).T.reshape(2, 3) + b,
        lambda a, b: (a + b)[:, :],
        lambda a, b: T.concatenate([a, b]),
        lambda a, b: T.stack([a, b]),
        lambda a, b: (a + b).broadcast_to(2, 2, 3),
    ],
)
def test_no_two_gradients_share_memory(make):
    a, b = Variable(numbers((2, 3))), Variable(numbers((2, 3)))
    out = make(a, b)
    g = np.ones(out.shape)
    out.backward(g, retain_graph=True)
    arrays = [a.grad, b.grad, g, a.data, b.data, out.data]
    for n, one in enumerate(arrays[:2]):
        assert one.flags.writeable
        assert not any(np.shares_memory(one, other) for other in arrays[n + 1 :])
    before = b.grad.copy()
    a.grad += 7
    kept = a.grad
    held = kept.copy()
    out.backward(g)
    assert (
        np.array_equal(g, np.ones(out.shape))
        and np.array_equal(b.grad, 2 * before)
        and np.array_equal(kept, held)
    )


def test_a_gradient_that_a_function_reuses_is_copied():
    buffer = np.zeros(2, "float32")

    class Reuses(Function):
        def forward(self, x):
            return x * 2

        def backward(self, grad):
            np.multiply(grad, 2, out=buffer)
            return buffer

    x, y = Variable([1.0, 2.0]), Variable([1.0, 2.0])
    Reuses()(x).sum().backward()
    (Reuses()(y) * 10).sum().backward()
    assert x.grad.tolist() == [2, 2] and y.grad.tolist() == [20, 20]


def test_memory_shrinks_during_the_backward_pass():
    x = Variable(np.ones(100_000, "float32"))
    live, peak = [], []

    def mark(x):
        return x * 1

    derivative(mark, lambda g, out, x: live.append(sum(r() is not None for r in peak)) or g)
    y = x
    for _ in range(6):
        y = apply(mark, y)
        y = y.sin()
        peak.append(weakref.ref(y))
    loss = y.sum()
    del y
    loss.backward()
    assert live == [5, 4, 3, 2, 1, 0] or live == [6, 5, 4, 3, 2, 1]


def test_a_failed_rule_changes_no_leaf():
    def broken(x):
        return x * 1

    derivative(broken, lambda g, out, x: 1 / 0)
    x, y = Variable(1.0), Variable(2.0)
    with pytest.raises(ZeroDivisionError):
        (apply(broken, x) * y).backward()
    assert x.grad is None and y.grad is None


def test_a_graph_is_no_garbage():
    gc.collect()
    gc.disable()
    try:
        x = Variable(np.ones(100_000, "float32"))
        tracemalloc.start()
        y = x.sin().cos().sum()
        y.backward()
        del y
        used = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert used < 500_000
    finally:
        gc.enable()


# Errors


def error_of(call, kind):
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def test_errors_say_what_to_do():
    x = Variable([1.0, 2.0])
    assert "(2,)" in error_of((x * x).backward, RuntimeError)
    assert "(3,)" in error_of(lambda: (x * x).backward(np.ones(3)), ValueError)
    assert "no_grad" in error_of(Tensor([1.0]).backward, RuntimeError)
    assert "no_grad" in error_of(Tensor([1, 2]).sum().backward, RuntimeError)
    y = (x * x).sum()
    y.backward()
    assert "retain_graph" in error_of(y.backward, RuntimeError)
    assert "retain_graph" in error_of((y * 2).backward, RuntimeError)
    assert x.grad.tolist() == [2, 4]
    assert "derivative(unknown" in error_of(apply(unknown, x).sum().backward, NotImplementedError)
    derivative(unknown, together=lambda g, out, x: g)
    assert "not an ndarray of shape (2,)" in error_of(apply(unknown, x).sum().backward, ValueError)
    del lesson.table[unknown]


def unknown(x):
    return x * 1


# no_grad, Function, the check, the drawing


def test_functions_may_skip_inputs_and_return_tensors():
    class Both(Function):
        def forward(self, a, b):
            return a * b

        def backward(self, grad):
            return None, Tensor(grad * 3)

    a, b = Variable(2.0), Variable(5.0)
    Both.apply(a, b).backward()
    assert a.grad is None and b.grad == 3


def test_functions_say_what_is_missing():
    class Half(Function):
        pass

    assert "Half needs a method forward" in error_of(lambda: Half()(Variable(1.0)), TypeError)
    Half.forward = lambda self, x: x * 2
    out = Half()(Variable(1.0))
    assert "Half needs a method backward" in error_of(out.backward, TypeError)


def test_the_check_raises_with_element_and_numbers_and_leaves_no_trace():
    w = Variable(2.0)
    x = Variable([1.0, 3.0])
    assert numerical_gradient_check(lambda x: x * w, x)
    assert w.grad is None and x.grad is None

    class Off(Function):
        def forward(self, x):
            return x * x

        def backward(self, grad):
            return grad * np.array([2.0, 7.0])

    said = error_of(
        lambda: numerical_gradient_check(Off.apply, Variable([1.0, 3.0])), AssertionError
    )
    at, rules, difference = re.fullmatch(
        r"input 0 at (.*): backward gives (.*), a central difference gives (.*)", said
    ).groups()
    assert at == "(1,)" and float(rules) / float(difference) == pytest.approx(7 / 6, rel=1e-6)
    assert "no gradient arrived" in error_of(
        lambda: numerical_gradient_check(lambda x: x.detach() * 2, x), AssertionError
    )
    assert "float32" in error_of(
        lambda: numerical_gradient_check(lambda x: Tensor(x.data.astype("float32")), x), ValueError
    )


def test_cross_entropy_has_one_rule():
    from tinytorch.core.losses import cross_entropy

    z, labels = numbers((2, 4, 3), low=-3, high=3), [[2, 0, 1, 1], [0, 0, 2, 1]]
    for smoothing in (0.0, 0.3, 1.0):
        for reduction in ("mean", "sum", "none"):
            assert numerical_gradient_check(
                lambda z: cross_entropy(z, labels, reduction=reduction, label_smoothing=smoothing),
                z,
            )
    wide = Variable([[1000.0, -1000.0, 0.0]])
    cross_entropy(wide, [1]).backward()
    assert wide.grad.tolist() == [[1, -1, 0]] and wide.grad.dtype == "float32"
    turned = Variable(numbers((3, 4)))
    cross_entropy(turned.T, [0, 1, 2, 0]).backward()
    assert np.allclose(turned.grad.sum(0), 0) and (turned.grad[[0, 1, 2, 0], range(4)] < 0).all()


# Mistakes of the caller


def test_integers_that_require_a_gradient_are_refused():
    a = Tensor([1, 2])
    a.requires_grad = True
    assert "Variable(data)" in error_of((a * 0.5).sum().backward, TypeError)
    assert "of integers" in error_of((a * a).sum().backward, RuntimeError)
    assert "gradients are floating-point numbers" in error_of(lambda: a.backward([1, 1]), TypeError)
    assert a.grad is None


def plus(a, b):
    return a + b


@pytest.mark.parametrize(
    ("rules", "kind", "words"),
    [
        (
            [lambda g, out, a, b: g],
            ValueError,
            "a tuple of 2 rules, or of 2 gradients from one rule for all",
        ),
        ([lambda g, out, a, b: (g, g), None], TypeError, "the rule of plus returned (array"),
        ([lambda g, out, a, b: None, None], TypeError, "the rule of plus returned None"),
        ([None, lambda g, out, a, b: 1.0], TypeError, "the rule of plus returned 1.0, a float"),
        ([lambda g, out, a, b: g[:1, None], None], ValueError, "(1, 1) for an input of shape (2,)"),
        (
            [lambda g, out, a, b: np.ones(5), None],
            ValueError,
            "the rule of plus returned a gradient of shape (5,)",
        ),
        ([lambda g, out, a, b: g.sum(), None], ValueError, "for an input of shape (2,)"),
    ],
)
def test_rules_that_return_something_else_are_named(rules, kind, words):
    derivative(plus, *rules)
    a, b = Variable([1.0, 2.0]), Variable([3.0, 4.0])
    out = apply(plus, a, b).sum()
    assert words in error_of(out.backward, kind)
    assert a.grad is None and b.grad is None
    del lesson.table[plus]


def test_functions_that_return_nothing_say_so():
    class NoForward(Function):
        def forward(self, x):
            x * 2

    class Two(Function):
        def forward(self, x):
            return x, x

    class NoBackward(Function):
        def forward(self, x):
            return x * 2

        def backward(self, grad):
            grad * 2

    x = Variable([1.0, 2.0])
    assert "NoForward.forward should return one array" in error_of(
        lambda: NoForward()(x), TypeError
    )
    assert "returned a tuple" in error_of(lambda: Two()(x), TypeError)
    assert "NoBackward.backward returned None" in error_of(
        lambda: NoBackward()(x).sum().backward(), ValueError
    )


@pytest.mark.parametrize(
    ("gradient", "words"),
    [
        ((1.0, 2.0), "should return 1 gradients, one for each input, not 2"),
        ((), "should return 1 gradients, one for each input, not 0"),
        (np.zeros(3), "of shape (3,) for input 0, which has shape (2,)"),
    ],
    ids=str,
)
def test_functions_return_a_gradient_for_each_input(gradient, words):
    odd = type("Odd", (Function,), {"forward": lambda self, x: x * 2})
    odd.backward = lambda self, grad: gradient
    out = odd()(Variable([1.0, 2.0])).sum()
    assert words in error_of(out.backward, ValueError)


@pytest.mark.parametrize("kind", [staticmethod, classmethod])
@pytest.mark.parametrize("name", ["forward", "backward"])
def test_functions_take_self_and_not_ctx(kind, name):
    with pytest.raises(TypeError, match=rf"Torch\.{name}: .* self, not ctx"):
        type("Torch", (Function,), {name: kind(lambda ctx, x: x)})


def test_nan_raises_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = Variable([[1.0, np.nan, 3.0], [1.0, 2.0, 0.0]])
        backward(x.max(axis=1), [10.0, 10.0])
        assert np.array_equal(x.grad, [[np.nan] * 3, [0, 10, 0]], equal_nan=True)
        assert grad_of(lambda a, b: T.maximum(a, b), [np.nan, 2.0], [1.0, 1.0]) == [[0, 1], [0, 0]]
        assert grad_of(lambda a: a.clip(0, 1), [np.nan, 0.5]) == [[0, 1]]


def test_the_check_says_what_it_cannot_use():
    assert "Tensor([1.0, 2.0])" in error_of(
        lambda: numerical_gradient_check(lambda x: x * x, [1.0, 2.0]), TypeError
    )
    assert "no Tensor" in error_of(
        lambda: numerical_gradient_check(lambda x: float(x.sum()), Tensor([1.0])), TypeError
    )
    assert numerical_gradient_check(lambda x, y: x * y, [1.0, 2.0])

    class Half(Function):
        def forward(self, x):
            return (x * x).sum()

        def backward(self, grad):
            return grad * np.ones(2)

    said = error_of(
        lambda: numerical_gradient_check(Half.apply, Tensor([1.0, 3.0])), AssertionError
    )
    assert re.fullmatch(
        r"input 0 at \(0,\): backward gives 1.0, a central difference gives (2\.0|1\.9999\d*)", said
    )


def test_a_drawing_names_only_what_is_in_its_graph():
    x = Variable([1.0, 2.0])
    assert "y is no tensor of this graph" in error_of(lambda: draw_graph(x * x, y=3), ValueError)
    assert "y is no tensor of this graph" in error_of(
        lambda: draw_graph(x * x, y=Variable(1.0)), ValueError
    )


def test_drawings_name_operations_as_the_field_does():
    x = Variable(2.0)
    y = x**2 + 3.0 * x
    lines = ["x = 2  grad None", "2", "pow = 4", "3", "mul = 6", "add = 10"]
    assert str(draw_graph(y, x=x)).split("\n") == lines
    y.backward(retain_graph=True)
    graph = draw_graph(y, x=x)
    assert str(graph).split("\n") == ["x = 2  grad 7.0", *lines[1:]]
    assert len(graph.arrows) == 6
    y.backward()
    assert "retain_graph=True" in error_of(lambda: draw_graph(y, x=x), RuntimeError)
    assert "retain_graph=True" in error_of(y.backward, RuntimeError)


def test_a_freed_graph_holds_no_results():
    class MySquare(Function):
        def forward(self, x):
            self.save_for_backward(x)
            return x * x

        def backward(self, grad):
            return 2 * self.saved_tensors[0] * grad

    x, h = Variable([1.0, 2.0]), Variable([3.0, 4.0])
    inner = MySquare()(x @ np.ones((2, 2), "float32"))
    y = (inner * h).exp().sum()
    gone = [weakref.ref(inner), weakref.ref(y.creator.inputs[0])]
    y.backward()
    del inner
    assert [r() for r in gone] == [None, None]


def test_no_rule_writes_into_what_it_was_given():
    """Arrays that refuse to be written into go through every operation, forward and backward."""
    for f in [*ONE.values(), lambda x: x[[0, 1, 0]], lambda x: x[1:], lambda x: x @ x.T]:
        x = Variable(numbers((2, 3)))
        x.data.flags.writeable = False
        out = f(x)
        out.data.flags.writeable = False
        g = np.ones(out.shape)
        g.flags.writeable = False
        gradients = lesson.grad(out, g)
        assert gradients[x].shape == (2, 3)


def test_exact_ties_only_are_ties():
    x = Variable(np.array([1.0, 1.0 + 1e-12]))
    x.max().backward()
    assert x.grad.tolist() == [0, 1]


def test_subnormal_gradients_arrive():
    x = Variable(np.array([-100.0], "float32"))
    x.exp().sum().backward()
    assert 0 < x.grad[0] < 1e-43


def test_code_as_users_of_the_engine_type_it(tmp_path):
    from tinytorch import Function, Tensor, Variable, draw_graph, no_grad
    from tinytorch import numerical_gradient_check as check

    x, w = Tensor([[1.0, -2.0, 3.0]], requires_grad=True), Variable(np.ones((3, 2), "float32"))
    assert x.grad is None and x.creator is None and (x.shape, x.ndim, x.size) == ((1, 3), 2, 3)
    for f in (
        lambda x: 1 + x - 2 * x / 3 + x**2 - -abs(x) @ w @ np.ones((2, 3), "float32"),
        lambda x: x[0, 1:] + x[:, [0, 0]] + x[x.data > 0],
        lambda x: (
            x.sum(0) + x.mean(1, keepdims=True) + x.max(axis=(0, 1)) + x.min() + x.var() + x.std()
        ),
        lambda x: x.exp() + (x * x).log() + abs(x).sqrt() + x.sin() + x.cos() + x.tanh(),
        lambda x: x.sigmoid() + x.relu() + x.maximum(0.5) + x.minimum(0.5) + x.clip(-1.5, 2.5),
        lambda x: T.where(x.data > 0, x, 2 * x).reshape(3, 1).transpose().swapaxes(0, 1).squeeze(),
        lambda x: x.unsqueeze(0).flatten().broadcast_to(2, 3).T,
        lambda x: T.concatenate([x, T.stack([x, x])[0], x.pad(0)], axis=0),
    ):
        x.grad = None
        f(x).sum().backward()
        assert isinstance(x.grad, np.ndarray) and x.grad.shape == (1, 3) and x.grad.any()
        assert x.grad.dtype == "float32" and check(f, x)

    class MySquare(Function):
        def forward(self, a):
            self.save_for_backward(a)
            return a * a

        def backward(self, grad):
            (a,) = self.saved_tensors
            return 2 * a * grad

    out = MySquare()(x).sum() + MySquare.apply(x).sum()
    assert draw_graph(out).source.count("MySquare") == 2 and "MySquare" in str(draw_graph(out, x=x))
    assert draw_graph(out).render(tmp_path / "graph").suffix == ".svg"
    x.grad = None
    out.backward(gradient=None, retain_graph=True)
    out.backward(1.0)
    assert x.grad.tolist() == [[8, -16, 24]]
    with pytest.raises(RuntimeError, match="retain_graph"):
        out.backward()
    with no_grad():
        assert not (x * 2).requires_grad
    assert x.detach().requires_grad is False and x.detach().data is x.data
    assert x.numpy().shape == (1, 3) and x.sum().item() == 2.0
    with pytest.raises(AssertionError, match=r"input 0 at \(0, 1\): backward gives"):
        check(lambda a: (a * a.detach())[:, 1:], x)


@pytest.mark.slow
def test_a_graph_of_a_million_operations():
    x = y = Variable(1.0)
    for _ in range(500_000):
        y = y * 1.0 + 0.5
    y.backward()
    assert float(y) == 250_001 and x.grad == 1
    del y  # half a million creators, each of which holds the one before


def test_a_tensor_that_is_used_ten_thousand_times():
    x = Variable([1.0, 2.0])
    total = x * 0.0
    for n in range(10_000):
        total = total + x * float(n % 2)
    total.sum().backward()
    assert x.grad.tolist() == [5000, 5000]


def test_a_trained_network_is_copied_and_pickled_without_its_graph():
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    x = Tensor(np.ones((2, 3), "float32"))
    net(x).sum().backward()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert np.array_equal(other(x).data, net(x).data)
        for p, q in zip(net.parameters(), other.parameters()):
            assert p is not q and np.array_equal(p.grad, q.grad)
            assert not np.shares_memory(p.data, q.data) and not np.shares_memory(p.grad, q.grad)
