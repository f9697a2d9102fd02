"""The table of rules, the rules that are given, and checks of what users give to the engine."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from tinytorch.support import derivatives
from tinytorch.support.derivatives import (
    FREED,
    FunctionMethods,
    Rules,
    check_arguments,
    check_float,
    check_gradient,
    check_methods,
    check_recorded,
    check_result,
    check_rules,
    checked_gradients,
    mismatch,
    numbers_of,
    random_weights,
)


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


@pytest.mark.parametrize(
    ("base", "exponent", "wanted"), [(0.0, 0, 0), (0.0, 1, 1), (0.0, 2, 0), (-2.0, -1, -0.25)]
)
def test_powers_at_their_corners(base, exponent, wanted):
    assert derivatives.base_rule(1.0, None, np.float64(base), exponent) == wanted


def test_the_exponent_of_zero_has_gradient_zero():
    out = np.array([0.0, 1.0])
    g = derivatives.exponent_rule(np.ones(2), out, np.array([0.0, 0.0]), np.array([2.0, 0.0]))
    assert g.tolist() == [0, 0]


def test_joined_arrays_receive_their_parts():
    a, b = np.zeros((1, 3)), np.zeros((2, 3))
    g = np.arange(9.0).reshape(3, 3)
    parts = derivatives.concatenate_rule(g, None, a, b, axis=0)
    assert [part.tolist() for part in parts] == [g[:1].tolist(), g[1:].tolist()]
    assert [p.tolist() for p in derivatives.stack_rule(g, None, a, a, a, axis=1)] == g.T.tolist()
    inner = derivatives.pad_rule(g, None, np.zeros((1, 2)), ((1, 1), (0, 1)), 0.0)
    assert inner.tolist() == [[3, 4]]


@pytest.mark.parametrize(
    ("a", "b"),
    [((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3, 4)), ((3,), (5, 3, 4))],
)
def test_operands_of_every_rank_become_matrices_that_fit(a, b):
    a, b = np.ones(a), np.ones(b)
    g, x, y = derivatives.as_matrices(np.asarray(a @ b), a, b)
    assert (x @ y).shape == g.shape and min(g.ndim, x.ndim, y.ndim) >= 2


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


@pytest.mark.parametrize("name", ["forward", "backward"])
def test_missing_methods_are_named(name):
    class Nothing(FunctionMethods):
        pass

    with pytest.raises(TypeError, match=f"Nothing needs a method {name}"):
        getattr(Nothing(), name)(1.0)


def test_gradients_are_checked_and_taken_out_of_tensors():
    class Odd(Double):
        def backward(self, grad):
            return np.zeros(3)

    with pytest.raises(ValueError, match=r"Odd.backward returned a gradient of shape \(3,\)"):
        Odd().vjp(np.ones(2), np.ones(2), np.ones(2))
    tensor = SimpleNamespace(requires_grad=False, data=np.ones(2))
    assert numbers_of(tensor) is tensor.data and numbers_of(7.0) == 7.0


def plus_forward(a, b):
    return a + b


@pytest.mark.parametrize(
    ("shape", "of"), [((), (3,)), ((1, 3), (2, 3)), ((3,), (2, 3)), ((2, 3), (2, 3)), ((1,), (0,))]
)
def test_gradients_of_a_broadcast_shape_pass(shape, of):
    np.broadcast_to(np.zeros(shape), of)  # it would raise
    check_gradient(np.zeros(of), shape, plus_forward)


@pytest.mark.parametrize(("shape", "of"), [((3,), ()), ((2, 3), (3,)), ((2,), (3,)), ((2,), (1,))])
def test_gradients_of_other_shapes_are_refused_with_both(shape, of):
    with pytest.raises(ValueError, match="the rule of plus") as caught:
        check_gradient(np.zeros(of), shape, plus_forward)
    assert f"gradient of shape {of} for an input of shape {shape}" in str(caught.value)


@pytest.mark.parametrize("wrong", [None, 1.0, (np.zeros(2),), [1.0, 2.0]])
def test_gradients_that_are_no_arrays_are_refused(wrong):
    with pytest.raises(TypeError, match=f"a {type(wrong).__name__}: it should return one array"):
        check_gradient(wrong, (2,), plus_forward)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floating_point_numbers_may_have_gradients(dtype):
    check_float(np.dtype(dtype))


@pytest.mark.parametrize("dtype", ["int64", "bool", "uint8"])
def test_integers_may_not(dtype):
    with pytest.raises(TypeError, match=rf"a tensor of {dtype}.*Variable\(data\)"):
        check_float(np.dtype(dtype))


def test_there_is_one_rule_for_each_input():
    made = SimpleNamespace(op=plus_forward, inputs=("a", "b"))
    check_rules((len, None), made)
    with pytest.raises(ValueError, match="plus has 2 inputs, .* not a tuple of length 3"):
        check_rules((len, len, len), made)


def test_a_failed_gradient_check_names_the_element_and_both_numbers():
    assert str(mismatch(1, (), -2.0, 1 / 3, arrived=False)) == (
        "input 1 at (): backward gives -2.0 (no gradient arrived at all), "
        "a central difference gives 0.33333333"
    )


@pytest.mark.parametrize("kind", [staticmethod, classmethod])
@pytest.mark.parametrize("name", ["forward", "backward"])
def test_methods_of_a_function_take_self(kind, name):
    cls = type("Torch", (), {name: kind(lambda ctx, x: x)})
    with pytest.raises(TypeError, match=rf"Torch\.{name}: .* self, not ctx"):
        check_methods(cls)


@pytest.mark.parametrize("out", [None, (1, 2), [1]])
def test_a_forward_method_returns_one_array(out):
    cls = type("Odd", (), {"forward": lambda self, x: out})
    check_methods(cls)
    with pytest.raises(TypeError, match=r"Odd\.forward should return one array, and returned"):
        cls().forward(1.0)


def test_a_right_forward_method_keeps_its_name_result_and_options():
    cls = type("Power", (), {"forward": lambda self, x, n=2: x**n})
    check_methods(cls)
    assert cls().forward(3.0) == 9.0 and cls().forward(3.0, n=3) == 27.0
    inherits = type("Inherits", (cls,), {})
    forward = inherits.forward
    check_methods(inherits)
    assert inherits.forward is forward


def test_gradients_of_a_function_become_a_tuple_of_arrays():
    a, b = np.zeros((2, 3)), 5.0
    given = np.arange(6.0).reshape(2, 3)
    found = checked_gradients((given, None), (a, b), "Odd")
    assert found[0] is given and found[1] is None
    (found,) = checked_gradients("seven", (b,), "Odd", unwrap={"seven": 7.0}.get)
    assert found.shape == () and found == 7.0


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, "Odd.backward returned None: is `return` missing?"),
        ((1.0, 2.0), "should return 1 gradients, one for each input, not 2"),
        ((), "should return 1 gradients, one for each input, not 0"),
        (np.zeros(3), "of shape (3,) for input 0, which has shape (2,)"),
    ],
)
def test_gradients_of_a_function_that_do_not_fit_are_refused(found, words):
    with pytest.raises(ValueError) as caught:
        checked_gradients(found, [np.zeros(2)], "Odd")
    assert words in str(caught.value)


def test_functions_are_checked_with_as_many_inputs_as_they_take():
    check_arguments(lambda x, y: x, [1, 2])
    check_arguments(lambda *inputs: 0, [1, 2, 3])
    check_arguments(math.hypot, [1, 2])  # C code, some of which does not say what it takes
    with pytest.raises(TypeError, match="f does not take the 2 inputs given"):
        check_arguments(lambda x: x, [1, 2])


def test_a_checked_result_is_a_tensor_of_float64():
    check_result(SimpleNamespace(requires_grad=False, dtype=np.dtype("float64")))
    with pytest.raises(TypeError, match="a float and no Tensor"):
        check_result(1.0)
    with pytest.raises(ValueError, match="the result is float32"):
        check_result(SimpleNamespace(requires_grad=True, dtype=np.dtype("float32")))


def test_the_backward_pass_starts_from_recorded_floats_only():
    check_recorded(SimpleNamespace(requires_grad=True, data=np.ones(1, "float32")))
    with pytest.raises(RuntimeError, match=r"no_grad\(\), from .data, of integers"):
        check_recorded(SimpleNamespace(requires_grad=False, data=np.ones(1, "float32")))
    with pytest.raises(TypeError, match="a tensor of int64 requires a gradient"):
        check_recorded(SimpleNamespace(requires_grad=True, data=np.ones(1, "int64")))


def test_weights_tell_elements_apart():
    weights = random_weights((20, 30))
    assert len(np.unique(weights)) == 600 and (weights < 0).any() and (weights > 0).any()
    assert 0.5 <= abs(weights).min() and abs(weights).max() <= 1.5
    assert random_weights(()).tolist() == 1 and random_weights((1, 1)).tolist() == [[1]]
    assert random_weights((0, 2)).shape == (0, 2)
