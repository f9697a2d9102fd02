"""What Python is told of an object with numbers in it. (More of it in ../test_tensor.py.)"""

from types import SimpleNamespace

import numpy as np
import pytest

from tinytorch.support import conversions


@pytest.mark.parametrize(
    "data, requires_grad, wanted",
    [
        (np.array([0.5, -2.0], "float32"), False, "Tensor([ 0.5, -2. ])"),
        (np.array([1, 2, 3]), False, "Tensor([1, 2, 3])"),
        (np.array(0.5, "float32"), False, "Tensor(0.5)"),
        (np.array([], "float32"), False, "Tensor([])"),
        (np.array([True, False]), False, "Tensor([ True, False])"),
        (np.array([[1, 20], [4, 5]]), False, "Tensor([[ 1, 20],\n        [ 4,  5]])"),
        (np.array([0.5]), False, "Tensor([0.5], dtype=float64)"),
        (np.array([7], "uint8"), False, "Tensor([7], dtype=uint8)"),
        (np.array([0.5], "float16"), True, "Tensor([0.5], dtype=float16, requires_grad=True)"),
    ],
)
def test_the_text_names_what_is_unusual(data, requires_grad, wanted):
    assert conversions.as_text(SimpleNamespace(data=data, requires_grad=requires_grad)) == wanted
