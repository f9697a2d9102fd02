"""What custom functions share: what is missing says so, what was returned is checked."""

from types import SimpleNamespace

import numpy as np
import pytest

from tinytorch.support.functions import FunctionMethods, numbers_of


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
