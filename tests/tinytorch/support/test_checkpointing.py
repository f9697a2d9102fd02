"""Where a function may draw random numbers from, and drawing them a second time."""

import functools

import numpy as np
import pytest

from tinytorch.core.layers import Dropout, RandomState
from tinytorch.core.tensor import Tensor
from tinytorch.support.checkpointing import generators_of, repeated
from tinytorch.support.random_states import random_states

shared = np.random.default_rng(1)


def draw(x):
    return x + shared.normal()


def indirect(x):
    return draw(x) * 2


class Model:
    def __init__(self):
        self.rng = np.random.default_rng(2)

    def method(self, x):
        return x + self.rng.normal()


MODEL = Model()


@pytest.mark.parametrize(
    "f",
    [
        draw,
        indirect,
        lambda x: indirect(x),
        functools.partial(draw),
        MODEL.method,
        lambda x: MODEL.method(x),
        (lambda layer: lambda x: layer(x))(Dropout(0.5, rng=3)),
        (lambda x, rng=np.random.default_rng(4): x + rng.normal()),
        lambda x: x + RandomState.rng.normal(),
    ],
    ids="global called lambda partial method model closure default shared".split(),
)
def test_the_second_run_draws_what_the_first_one_drew(f):
    def run():
        result = f(Tensor(np.ones(8)))
        return result.data.copy()

    generators = generators_of(f)
    states = random_states(generators)
    first, other = run(), run()
    after = random_states(generators)
    with repeated(generators, states):
        again = run()
    assert not np.array_equal(first, other) and np.array_equal(first, again)
    assert random_states(generators) == after


def test_modules_are_not_searched():
    parts = generators_of(lambda x: np.exp(x) + np.random.default_rng(0).normal())
    assert np not in parts and len(random_states(parts)) == 1


def test_an_error_puts_the_generators_back_too():
    generators = generators_of(draw)
    states = random_states(generators)
    draw(0.0)
    present = random_states(generators)
    with pytest.raises(ValueError), repeated(generators, states):
        raise ValueError
    assert random_states(generators) == present


def test_functions_that_call_each_other_are_searched_once():
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1) and shared is not None

    assert len(random_states(generators_of(even))) == 2
