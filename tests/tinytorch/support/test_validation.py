"""What is right passes in silence; what is wrong is refused with its values and with what to do."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from tinytorch.support.validation import (
    check_arguments,
    check_float,
    check_gradient,
    check_methods,
    check_recorded,
    check_result,
    check_rules,
    checked_gradients,
    mismatch,
    random_weights,
)


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
    check_recorded(SimpleNamespace(requires_grad=True, dtype=np.dtype("float32")))
    with pytest.raises(RuntimeError, match=r"no_grad\(\), from .data, of integers"):
        check_recorded(SimpleNamespace(requires_grad=False, dtype=np.dtype("float32")))
    with pytest.raises(TypeError, match="a tensor of int64 requires a gradient"):
        check_recorded(SimpleNamespace(requires_grad=True, dtype=np.dtype("int64")))


def test_weights_tell_elements_apart():
    weights = random_weights((20, 30))
    assert len(np.unique(weights)) == 600 and (weights < 0).any() and (weights > 0).any()
    assert 0.5 <= abs(weights).min() and abs(weights).max() <= 1.5
    assert random_weights(()).tolist() == 1 and random_weights((1, 1)).tolist() == [[1]]
    assert random_weights((0, 2)).shape == (0, 2)
