"""Operations that are added to the scalar engine by hand."""

import pytest

from tinytorch.support.scalars import (
    Scalar,
    derivatives_from,
    unknown_derivatives,
)


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


class Assignable(Scalar, Node):
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
