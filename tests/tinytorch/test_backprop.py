"""The exported scalar engine: against finite differences, hand calculation, and at the edges."""

import gc
import math
import operator
import random

import numpy as np
import pytest

from tinytorch.core import backprop as lesson
from tinytorch.core.backprop import (
    MLP,
    Value,
    draw_graph,
    forward_mode_derivatives,
    gradient_check,
    record,
    topological_order,
)
from tinytorch.pictures.backprop import make_rings, train_in_numpy
from tinytorch.support.svg import Graph

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]


# Values and operators


PAIRS = [(1.5, 0.75), (2.0, -3.0), (0.25, 4.0), (3.0, 0.0)]


@pytest.mark.parametrize(
    "op, left, right",
    [(op, *pair) for op in BINARY for pair in PAIRS if (op, pair[1]) != (operator.truediv, 0.0)],
)  # which has its own test
def test_operators_with_numbers_on_either_side(op, left, right):
    for out in (op(Value(left), Value(right)), op(Value(left), right), op(left, Value(right))):
        assert isinstance(out, Value) and type(out.data) is float and out.grad == 0.0
        assert out.data == pytest.approx(op(left, right), rel=1e-14)
    assert gradient_check(op, left, right)
    assert gradient_check(lambda x: op(x, right), left) and gradient_check(
        lambda y: op(left, y), right
    )


@pytest.mark.parametrize("number", [2, True, 0.5, np.float64(0.5), np.float32(0.5), np.int64(3)])
def test_plain_numbers_of_every_kind(number):
    x = Value(4.0)
    assert (x * number).data == (number * x).data == 4 * float(number)
    assert type(Value(number).data) is float


@pytest.mark.parametrize("wrong", ["3", None, [1.0], 1j, Value(2.0), object()])
def test_anything_else_is_refused(wrong):
    with pytest.raises(TypeError, match="one plain number"):
        Value(wrong)


@pytest.mark.parametrize("wrong", ["3", None, [1.0]])
def test_operators_refuse_what_is_no_number(wrong):
    with pytest.raises(TypeError):
        Value(1.0) + wrong
    with pytest.raises(TypeError):
        wrong * Value(1.0)


def test_a_leaf_and_a_result():
    x = Value(3, label="x")
    out = x * 2
    assert (x._prev, x._op, x.label, out.label) == ((), "", "x", "")
    assert len(out._prev) == 2 and out._prev[0] is x and out._prev[1].data == 2.0 and out._op == "*"
    assert repr(out) == "Value(data=6.0, grad=0.0)" and f"{out:.2f}" == "6.00" and float(out) == 6.0
    with pytest.raises(AttributeError):
        x.gard = 0


def test_comparisons_look_at_the_numbers_and_equality_at_the_object():
    a, b, same = Value(1.0), Value(2.0), Value(1.0)
    assert a < b and a <= same and b > 1 and b >= 2.0 and not a < same and 0 < a
    assert a != same and a == a and len({a, b, same}) == 3
    assert max([a, b, same]) is b


def test_powers_at_the_edges():
    assert gradient_check(lambda v: v**3, -2.0) and gradient_check(lambda v: v**-2, -0.5)
    assert (Value(1000.0) ** 1000).data == math.inf and (Value(-1000.0) ** 1001).data == -math.inf
    assert (Value(0.0) ** -1).data == math.inf
    with pytest.raises(ValueError, match="no real number"):
        Value(-2.0) ** 0.5
    with pytest.raises(ValueError, match="negative base"):
        Value(-2.0) ** Value(3.0)
    x, y = Value(0.0), Value(2.0)
    (x**y).backward()
    assert (x.grad, y.grad) == (0.0, 0.0)


@pytest.mark.parametrize("name", ["tanh", "exp", "log", "sin", "relu", "sigmoid"])
@pytest.mark.parametrize("x", [0.2, 1.7, 6.0, -0.6, -4.0])
def test_functions(name, x):
    if name == "log" and x < 0:
        with pytest.raises(ValueError, match="above 0, not -"):
            Value(x).log()
        return
    assert gradient_check(lambda v: getattr(v, name)(), x)
    assert gradient_check(lambda v: getattr(v * 3, name)() * -2 + v, x, tolerance=1e-4)


# The backward pass


def random_expression(rng, leaves, operations):
    """A Value that many shared Values lead to."""
    pool = list(leaves)
    for _ in range(operations):
        a, b = rng.choice(pool), rng.choice(pool[-6:])
        pool.append(
            rng.choice(
                [
                    lambda: a + b,
                    lambda: a * b * 0.5,
                    lambda: a - b,
                    lambda: a / (b * b + 1),
                    lambda: a.tanh(),
                    lambda: b.sin(),
                    lambda: (a * a + 1) ** 0.5,
                    lambda: b.sigmoid(),
                    lambda: 2 - a,
                    lambda: -b,
                    lambda: (b * 0.1).exp(),
                ]
            )()
        )
    return sum(pool[-3:]) * pool[len(pool) // 2]


@pytest.mark.parametrize("seed", range(25))
def test_random_expressions_agree_with_finite_differences_and_with_forward_mode(seed):
    numbers = [random.Random(seed).uniform(-1, 1) for _ in range(4)]
    assert gradient_check(lambda *v: random_expression(random.Random(seed), v, 20), *numbers)
    leaves = [Value(x) for x in numbers]
    out = random_expression(random.Random(seed), leaves, 20)
    out.backward()
    for leaf in leaves:
        assert forward_mode_derivatives([out], leaf)[0] == pytest.approx(
            leaf.grad, rel=1e-9, abs=1e-12
        )


@pytest.mark.slow
def test_a_hundred_thousand_operations_deep():
    x = Value(1.0)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    y.backward()
    assert x.grad == 1.0
    del y  # freeing the chain must not recurse either


def test_a_graph_is_freed_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for _ in range(20):
            out = MLP(2, [3, 1])([0.5, -0.5])
            out.backward()
        del out
        assert len(gc.get_objects()) - before < 50
    finally:
        gc.enable()


def test_infinities_and_nan_go_through():
    x = Value(1000.0)
    out = x.exp() * 0.0
    out.backward()
    assert math.isnan(out.data) and math.isnan(x.grad)


# Operations from outside


def test_a_backward_can_be_called_by_hand():
    a, b = Value(2.0), Value(-3.0)
    out = a * b
    out.grad = 10.0
    out._backward()
    assert (a.grad, b.grad) == (-30.0, 20.0)
    a._backward()
    assert callable(out._backward) and a.grad == -30.0


@pytest.mark.parametrize("children", [tuple, list, set])
def test_a_handmade_operation_with_a_closure(children):
    a, b = Value(0.5), Value(3.0)
    out = Value(math.tan(a.data) * b.data, children([a, b]), "tan*")

    def _backward():
        a.grad += (1 + math.tan(a.data) ** 2) * b.data * out.grad
        b.grad += math.tan(a.data) * out.grad

    a.grad = 100.0
    out._backward = _backward
    assert (a.grad, b.grad, out.grad) == (100.0, 0.0, 0.0)
    (out * 2).backward()
    assert a.grad == pytest.approx(100 + 6 / math.cos(0.5) ** 2) and b.grad == pytest.approx(
        2 * math.tan(0.5)
    )


def test_a_handmade_operation_that_uses_an_input_twice():
    a = Value(3.0)
    out = Value(a.data**2, (a, a), "square")

    def _backward():
        a.grad += a.data * out.grad
        a.grad += a.data * out.grad

    out._backward = _backward
    out.backward()
    assert a.grad == 6.0


def test_children_without_local_gradients_are_reported():
    for n in (1, 2, 3):
        out = Value(1.0, [Value(1.0) for _ in range(n)], "mystery")
        with pytest.raises(RuntimeError, match="no local gradients: make it with record"):
            (out + 1).backward()
        assert "?" in draw_graph(out).source


def test_a_wrong_local_gradient_is_reported_with_its_input_and_both_derivatives():
    def wrong(x, y):
        return record("wrong", x.data * y.data, (x, y), (y.data, 5.0))

    with pytest.raises(
        AssertionError, match=r"input 1 = 7.0: backward gives 5, a central difference gives 2"
    ):
        gradient_check(wrong, 2.0, 7.0)


# Pictures


def test_the_picture_has_every_value_and_local_gradient():
    a, b = Value(2.0, label='a<"\\'), Value(-3.0)
    out = a * b + a
    out.backward()
    picture = draw_graph(out)
    assert picture.source.startswith("digraph {") and picture.source.count("->") == 4
    assert [text for _, _, text in picture.arrows] == ["1", "1", "-3", "2"]
    assert sorted(picture.kinds.values()) == ["leaf", "leaf", "operation", "operation"]
    assert r'label="a<\"\\\ndata 2\ngrad -2"' in picture.source
    assert (
        str(picture).splitlines()[0] == "+  data -4  grad 1" and len(str(picture).splitlines()) == 4
    )


def test_the_picture_has_a_box_for_each_value_however_many():
    out = MLP(2, [3, 1])([0.5, -0.5])
    assert list(draw_graph(out).boxes) == topological_order(out)
    y = Value(1.0)
    for _ in range(2_000):
        y = -y
    picture = draw_graph(y)
    assert picture.svg().count('<rect class="cell') == 2_001
    assert isinstance(picture, Graph)


# Networks


def test_the_first_picture_is_of_the_network_that_the_chapter_trains():
    points, targets = make_rings()
    trained = train_in_numpy(points, targets, [8, 8, 1], learning_rate=0.01, steps=20)
    net = MLP(2, [8, 8, 1], generator=random.Random(0))

    def loss():
        return sum((net(x) - target) ** 2 for x, target in zip(points, targets))

    for _ in range(20):
        lesson.train_step(loss, net.parameters(), 0.01)
    assert np.allclose(trained(points), [net(x).data for x in points], atol=1e-9)
