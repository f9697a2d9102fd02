"""The table of rules, the rules that are given, and checks of what users give to the engine."""

import math

import numpy as np
import pytest

from tinytorch.support.derivatives import (
    FREED,
    FunctionMethods,
    Rules,
    check_arguments,
    check_methods,
    random_weights,
)


def plus(a, b):
    return a + b


def times(a, b):
    return a * b


def test_a_group_of_rules_is_written_at_once():
    table = Rules()

    @table.written_by
    def write():
        table[plus], table[times] = "plus's", "times's"

    assert table == {plus: "plus's", times: "times's"}


def test_what_kept_a_group_from_being_written_is_raised_where_a_rule_is_missing():
    table, rules = Rules(), {times: "times's"}

    def write():
        table.update(rules)
        if plus not in rules:
            raise NotImplementedError("plus is an exercise")

    table.written_by(write)
    assert table[times] == "times's"
    for _ in range(2):
        with pytest.raises(NotImplementedError, match="plus is an exercise"):
            table[plus]
    rules[plus] = "plus's"
    table.written_by(write)  # the learner ran the cell again
    assert table[plus] == "plus's" and not table.errors


def test_an_operation_without_rules_is_named():
    with pytest.raises(NotImplementedError, match=r"derivative\(plus, ...\)"):
        Rules()[plus]


def test_the_rule_of_a_function_stands_beside_it_and_is_not_kept():
    class Square:
        def forward(self, x):
            return x * x

        def vjp(self, g, out, x):
            return 2 * x * g

    table = Rules()
    assert table[Square().forward](10, 9, 3) == 60 and len(table) == 0


@pytest.mark.parametrize("name", ["op", "inputs", "arrays", "options", "created"])
def test_a_freed_graph_says_how_to_keep_it(name):
    node = Node(Creator(plus, 1.0, 2.0))
    node.creator = FREED
    with pytest.raises(
        RuntimeError, match="already freed this graph; call it with retain_graph=True"
    ):
        getattr(node.creator, name)


class Node:
    def __init__(self, creator=None, requires_grad=True):
        self.creator, self.requires_grad, self.shape = creator, requires_grad, (2, 3)


class Creator:
    def __init__(self, op, *inputs):
        self.op, self.inputs, self.arrays, self.options = op, inputs, inputs, {"axis": 0}
        self.created = math.inf


def test_the_rules_of_a_node_are_one_for_each_input():
    table, calls = Rules(), []
    node = Node(Creator(plus, np.ones(2), 3.0))
    node.data = np.full(2, 4.0)
    node.creator.options = {}
    table[plus] = ("for a", None)
    assert table.rules_of(node, 1.0) == ("for a", None)
    table[plus] = lambda g, out, a, b: calls.append((g, b)) or [10 * g, None]
    first, second = table.rules_of(node, 5.0)
    assert first("g", "out", axis=0) == 50 and second is None and calls == [(5.0, 3.0)]
    table[plus] = ("one rule",)
    with pytest.raises(ValueError, match="plus has 2 inputs, and needs a tuple of 2 rules"):
        table.rules_of(node, 1.0)
    for wrong in ((1,), (1, 2, 3), 5, np.ones(2)):
        table[plus] = lambda *_, wrong=wrong, **__: wrong
        with pytest.raises(ValueError, match="or of 2 gradients from one rule for all inputs"):
            table.rules_of(node, 1.0)
    node.creator = FREED
    with pytest.raises(RuntimeError, match="already freed this graph"):
        table.rules_of(node, 1.0)


class Double(FunctionMethods):
    def forward(self, x):
        self.save_for_backward(x)
        return 2 * x

    def backward(self, grad):
        return 2 * grad


def test_a_function_saves_arrays_and_returns_one_gradient_per_input():
    double = Double()
    assert double.saved_tensors == ()
    assert double.forward(3.0) == 6.0 and double.saved_tensors == (3.0,)
    (g,) = double.vjp(np.float64(5), 6.0, np.float64(3))
    assert g == 10 and isinstance(g, np.ndarray)


def test_a_right_forward_method_keeps_its_name_result_and_options():
    cls = type("Power", (), {"forward": lambda self, x, n=2: x**n})
    check_methods(cls)
    assert cls().forward(3.0) == 9.0 and cls().forward(3.0, n=3) == 27.0
    inherits = type("Inherits", (cls,), {})
    forward = inherits.forward
    check_methods(inherits)
    assert inherits.forward is forward


def test_functions_are_checked_with_as_many_inputs_as_they_take():
    check_arguments(lambda x, y: x, [1, 2])
    check_arguments(lambda *inputs: 0, [1, 2, 3])
    check_arguments(math.hypot, [1, 2])  # C code, some of which does not say what it takes
    with pytest.raises(TypeError, match="f does not take the 2 inputs given"):
        check_arguments(lambda x: x, [1, 2])


def test_weights_tell_elements_apart():
    weights = random_weights((20, 30))
    assert len(np.unique(weights)) == 600 and (weights < 0).any() and (weights > 0).any()
    assert 0.5 <= abs(weights).min() and abs(weights).max() <= 1.5
    assert random_weights(()).tolist() == 1 and random_weights((1, 1)).tolist() == [[1]]
    assert random_weights((0, 2)).shape == (0, 2)
