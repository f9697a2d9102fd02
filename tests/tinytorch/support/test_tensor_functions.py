import inspect

import numpy as np
import pytest

import tinytorch
from tinytorch.core.layers import manual_seed
from tinytorch.core.tensor import Tensor
from tinytorch.support import tensor_functions

SHAPED = ["zeros", "ones", "rand", "randn"]


@pytest.mark.parametrize("name", SHAPED)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 4)])
def test_a_shape_may_stand_as_numbers_or_as_a_tuple(name, shape):
    make = getattr(tensor_functions, name)
    for made in (make(*shape), make(shape), make(list(shape))):
        assert made.shape == shape and made.dtype == np.float32 and not made.requires_grad


@pytest.mark.parametrize(
    "made, wanted, dtype",
    [
        (tensor_functions.zeros(2, dtype=int), [0, 0], "int64"),
        (tensor_functions.ones(2, dtype=np.float64), [1, 1], "float64"),
        (tensor_functions.full((2,), 0.5), [0.5, 0.5], "float32"),
        (tensor_functions.full(2, True), [True, True], "bool"),
        (tensor_functions.arange(2, 8, 3), [2, 5], "int64"),
        (tensor_functions.arange(2.0), [0, 1], "float32"),
        (tensor_functions.arange(3, dtype=np.float64), [0, 1, 2], "float64"),
        (tensor_functions.linspace(-1, 1, 3), [-1, 0, 1], "float32"),
        (tensor_functions.eye(1, 2), [[1, 0]], "float32"),
        (tensor_functions.tensor([1, 2], dtype=np.float32), [1, 2], "float32"),
        (tensor_functions.tensor([1, 2]), [1, 2], "int64"),
        (tensor_functions.cat([Tensor([1.0]), Tensor([2.0, 3.0])]), [1, 2, 3], "float32"),
    ],
)
def test_numbers_and_dtypes_are_pytorchs(made, wanted, dtype):
    assert made.data.tolist() == wanted and made.dtype == dtype


def test_a_created_tensor_can_be_learned_and_shares_nothing():
    array = np.ones(2, "f")
    made = tensor_functions.tensor(array, requires_grad=True)
    made.data += 1
    assert made.requires_grad and array.tolist() == [1, 1]
    (tensor_functions.ones(2, requires_grad=True) * 3).sum().backward()


def test_a_seed_makes_random_numbers_the_same_in_every_run():
    manual_seed(3)
    one = tensor_functions.randn(4), tensor_functions.rand(4)
    manual_seed(3)
    other = tensor_functions.randn(4), tensor_functions.rand(4)
    assert [x.data.tolist() for x in one] == [x.data.tolist() for x in other]
    assert (
        tensor_functions.randn(4, rng=1).data.tolist()
        == tensor_functions.randn(4, rng=1).data.tolist()
    )


def test_uniform_numbers_stay_below_one_after_rounding():
    class Largest:
        def random(self, shape):
            return np.full(shape, np.nextafter(1, 0))

    largest = type("Generator", (Largest, np.random.Generator), {})(np.random.PCG64())
    assert tensor_functions.rand(2, rng=largest).data.max() < 1


def test_the_public_module_has_them_all():
    functions = {n: f for n, f in vars(tensor_functions).items() if inspect.isfunction(f)}
    makers = [n for n, f in functions.items() if "dtype" in inspect.signature(f).parameters]
    assert len(makers) == 9 and {*makers, "cat"} <= set(dir(tinytorch))
