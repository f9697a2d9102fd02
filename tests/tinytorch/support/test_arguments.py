"""What works is let through; tests/tinytorch/test_refusals.py has what is refused."""

import math

import numpy as np
import pytest

from tinytorch.core.data import DataLoader, TensorDataset
from tinytorch.core.tensor import Tensor
from tinytorch.support.arguments import (
    check_fit,
    check_loader,
    check_number,
    check_parameters,
    checked_batches,
    input_batches,
)

X, Y = np.ones((4, 2), "float32"), np.arange(4)


@pytest.mark.parametrize("epochs", [0, 1, np.int64(3), math.inf])
def test_epochs_may_be_endless(epochs):
    check_fit([(X, Y)], epochs, None, None)


@pytest.mark.parametrize(
    "batches",
    [
        [(X, Y)],
        [[X, Y]],
        [(X, Y.tolist())],
        [({"words": X}, Tensor(Y))],
        DataLoader(TensorDataset(X, Y), 2),
        ((x, y) for x, y in [(X, Y)]),
    ],
)
def test_pairs_of_any_kind_are_batches(batches):
    assert all(len(batch) == 2 for batch in checked_batches(batches))


def test_a_batch_is_read_when_it_is_asked_for():
    read = []

    def batches():
        for n in range(3):
            read.append(n)
            yield X, Y

    first = checked_batches(batches())
    next(first)
    assert read == [0]


def test_inputs_come_alone_or_first():
    for batches in (X, Tensor(X), [X], [(X, Y)], [[X]], DataLoader(TensorDataset(X, Y), 4)):
        (inputs,) = input_batches(batches)
        assert np.array_equal(np.asarray(inputs), X)


@pytest.mark.parametrize(
    "dataset", [TensorDataset(X, Y), [1.0, 2.0], [X, X], [(X[0], 1), (X[1], 2)], X, range(5)]
)
def test_whatever_has_a_length_and_examples_is_a_data_set(dataset):
    check_loader(dataset, np.int64(2), False, None, 0)


def test_a_sampler_makes_a_length_unnecessary():
    check_loader(type("Endless", (), {"__getitem__": lambda self, i: i})(), 2, False, [1], 0)


def test_parameters_of_a_generator_are_read_once():
    w = Tensor([1.0])
    assert check_parameters(p for p in [w]) == [w]
    assert check_parameters([{"params": [w]}])[0]["params"] == [w]
    assert check_parameters([]) == []  # param_groups of lesson 07 refuses it, with its own words


def test_numbers_of_numpy_are_numbers_and_truth_values_are_not():
    check_number("T_max", np.float32(2.5))
    for wrong in (True, None, [1]):
        with pytest.raises(TypeError, match="n is .*\nit should be a number, such as n=3"):
            check_number("n", wrong)
