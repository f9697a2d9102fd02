"""Numbers of the scalar engine, and operations that are added by hand."""

import math

import pytest

from tinytorch.support.scalars import (
    ManualBackward,
    Scalar,
    as_float,
    derivatives_from,
    real_power,
    unknown_derivatives,
)


class Number(Scalar):
    def __init__(self, data):
        self.data = data


def test_comparisons_compare_the_numbers_and_equality_the_objects():
    one, two = Number(1.0), Number(2.0)
    assert one < two and one <= 1 and two > 1.5 and two >= two and not two < one
    assert one != Number(1.0) and max([one, two]) is two


def test_it_converts_and_formats_like_a_float():
    assert float(Number(0.5)) == 0.5 and f"{Number(0.5):.2f}" == "0.50"


@pytest.mark.parametrize("wrong", ["3", None, [1.0], 1j, Number(2.0)])
def test_only_plain_numbers_become_floats(wrong):
    assert type(as_float(True)) is float
    with pytest.raises(TypeError, match="one plain number"):
        as_float(wrong)


@pytest.mark.parametrize(
    "x, n, right",
    [
        (-2.0, 3, -8.0),
        (4.0, -0.5, 0.5),
        (-10.0, 1001, -math.inf),
        (-10.0, 1000, math.inf),
        (0.0, -3, math.inf),
        (0.0, 0, 1.0),
    ],
)
def test_powers_are_real_or_infinite(x, n, right):
    assert real_power(x, n) == right


def test_a_power_that_is_no_real_number_is_refused():
    with pytest.raises(ValueError, match="no real number"):
        real_power(-2.0, 0.5)


class Node:
    def __init__(self, *inputs, grad=0.0):
        self._prev, self.grad = inputs, grad


def test_each_input_has_its_derivative_and_no_grad_is_changed():
    a, b = Node(grad=100.0), Node(grad=-3.0)
    out = Node(a, b, grad=7.0)

    def backward():
        a.grad += 5.0 * out.grad
        b.grad += -2.0 * out.grad

    assert derivatives_from(backward, out) == (5.0, -2.0)
    assert (a.grad, b.grad, out.grad) == (100.0, -3.0, 7.0)


def test_an_input_that_stands_twice_has_its_whole_derivative_once():
    a = Node()
    out = Node(a, a)

    def backward():
        for _ in range(2):
            a.grad += 3.0 * out.grad

    assert derivatives_from(backward, out) == (6.0, 0.0)


class Assignable(ManualBackward, Node):
    """A node whose `_backward` may be assigned."""


def test_an_assigned_backward_is_turned_into_local_gradients_and_can_be_called():
    a = Assignable()
    out = Assignable(a, grad=2.0)

    def backward():
        a.grad += 5.0 * out.grad

    out._backward = backward
    assert out._local_gradients == (5.0,) and (a.grad, out.grad) == (0.0, 2.0)
    out._backward()
    out._backward()
    assert a.grad == 20.0


def test_local_gradients_that_nobody_stated_cannot_be_read():
    with pytest.raises(RuntimeError, match="record"):
        tuple(unknown_derivatives)
