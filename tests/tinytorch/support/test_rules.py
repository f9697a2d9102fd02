"""The table of rules: deferred rules are written when they are needed, and missing ones say so;
freed nodes hold nothing of their graph."""

import weakref

import numpy as np
import pytest

from tinytorch.support.rules import Rules, free


def plus(a, b):
    return a + b


def times(a, b):
    return a * b


def test_a_group_of_rules_is_written_once_when_one_of_them_is_needed():
    table, calls = Rules(), []

    @table.deferred_rules(plus, times)
    def write():
        calls.append("write")
        table[plus], table[times] = "plus's", "times's"

    assert not calls and len(table) == 0
    assert (table[plus], table[times], table[plus]) == ("plus's", "times's", "plus's")
    assert calls == ["write"]


def test_rules_that_are_deferred_again_replace_those_that_were_written():
    table = Rules()
    table[plus] = "old"

    @table.deferred_rules(plus)
    def write():
        table[plus] = "new"

    assert table[plus] == "new"


def test_rules_that_could_not_be_written_stay_deferred():
    table, calls = Rules(), []

    @table.deferred_rules(plus)
    def write():
        calls.append(1)
        if len(calls) == 1:
            raise NameError("not yet")
        table[plus] = "written"

    with pytest.raises(NameError):
        table[plus]
    assert plus in table.deferred and table[plus] == "written" and plus not in table.deferred


@pytest.mark.parametrize("writes", [True, False])
def test_an_operation_without_rules_is_named(writes):
    table = Rules()
    if writes:
        table.deferred_rules(plus)(lambda: None)  # writes no rule of plus
    with pytest.raises(NotImplementedError, match=r"derivative\(plus, ...\)"):
        table[plus]


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
    free(node)
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


def test_a_freed_node_holds_nothing_of_how_it_was_computed():
    node = Node(Creator(plus, np.ones(3), 2.0))
    gone = weakref.ref(node.creator)
    free(node)
    assert gone() is None and node.creator is not None


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
    free(node)
    with pytest.raises(RuntimeError, match="already freed this graph"):
        table.rules_of(node, 1.0)
