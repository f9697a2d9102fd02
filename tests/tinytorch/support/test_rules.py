"""The table of rules: what waits is called when it is needed, and what is missing says so."""

import doctest
from types import SimpleNamespace

import pytest

from tinytorch.support import rules
from tinytorch.support.rules import FREED, Rules, parts_of


def plus(a, b):
    return a + b


def times(a, b):
    return a * b


def test_the_examples_are_true():
    assert doctest.testmod(rules).failed == 0


def test_a_group_of_rules_is_written_once_when_one_of_them_is_needed():
    table, calls = Rules(), []

    @table.rules_for(plus, times)
    def write():
        calls.append("write")
        table[plus], table[times] = "plus's", "times's"

    assert not calls and len(table) == 0
    assert (table[plus], table[times], table[plus]) == ("plus's", "times's", "plus's")
    assert calls == ["write"]


def test_rules_that_wait_again_replace_those_that_were_written():
    table = Rules()
    table[plus] = "old"

    @table.rules_for(plus)
    def write():
        table[plus] = "new"

    assert table[plus] == "new"


def test_rules_that_could_not_be_written_wait_on():
    table, calls = Rules(), []

    @table.rules_for(plus)
    def write():
        calls.append(1)
        if len(calls) == 1:
            raise NameError("not yet")
        table[plus] = "written"

    with pytest.raises(NameError):
        table[plus]
    assert plus in table.waiting and table[plus] == "written" and plus not in table.waiting


@pytest.mark.parametrize("writes", [True, False])
def test_an_operation_without_rules_is_named(writes):
    table = Rules()
    if writes:
        table.rules_for(plus)(lambda: None)  # writes no rule of plus
    with pytest.raises(NotImplementedError, match=r"derivative\(plus, ...\)"):
        table[plus]


def test_the_rule_of_a_function_stands_beside_it_and_is_not_kept():
    class Square:
        def forward(self, x):
            return x * x

        def slopes_of_all(self, g, out, x):
            return 2 * x * g

    table = Rules()
    assert table[Square().forward](10, 9, 3) == 60 and len(table) == 0


def test_a_record_that_was_used_up_says_how_to_keep_it():
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        _ = FREED.inputs
    with pytest.raises(RuntimeError, match="already freed"):
        _ = Rules()[FREED.op]


def test_each_input_has_its_part_whatever_the_rule_is_called_with():
    made = SimpleNamespace(op=plus, inputs=("a", "b", "c"))
    first, second, third = parts_of([1, None, 3], made)
    assert first() == 1 and second is None and third("g", "out", axis=0) == 3


@pytest.mark.parametrize("found", [(1,), (1, 2, 3), 5, iter((1, 2))])
def test_too_few_parts_and_too_many_are_refused(found):
    with pytest.raises(ValueError, match="tuple of 2 gradients"):
        parts_of(found, SimpleNamespace(op=plus, inputs=("a", "b")))
