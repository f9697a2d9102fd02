"""Bundles step small arrays as one and give each parameter its own numbers back."""

import doctest
from types import SimpleNamespace

import numpy as np
import pytest

from tinytorch.support import flat
from tinytorch.support.flat import FlatGroup, blocks, flat_groups


class Parameter(SimpleNamespace):
    """What a FlatGroup needs of a tensor."""

    __hash__ = object.__hash__
    shape = property(lambda self: self.data.shape)
    size = property(lambda self: self.data.size)
    dtype = property(lambda self: self.data.dtype)


def parameters(*shapes, dtype="float32"):
    """Parameters with the numbers 1, 2, 3, ... in order, and gradients ten times as large."""
    ends = np.cumsum([0, *(np.prod(shape, dtype=int) for shape in shapes)])
    numbers = [
        np.arange(first + 1, last + 1, dtype=dtype).reshape(shape)
        for first, last, shape in zip(ends, ends[1:], shapes)
    ]
    return [Parameter(data=x, grad=10 * x) for x in numbers]


def views_of(array, shapes):
    ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(array, ends[:-1]), shapes)]


def test_small_parameters_are_collected_end_to_end_and_given_back():
    params, states = parameters((2, 2), (), (3,)), {}
    (bundle,) = flat_groups(params, states, ["average"], 100, views_of)
    w, g = bundle.collect()
    assert w.tolist() == [1, 2, 3, 4, 5, 6, 7, 8] and g.tolist() == [10 * x for x in w]
    held = [p.data for p in params]
    w -= g
    bundle.state["average"] += [1, 2, 3, 4, 5, 6, 7, 8]
    bundle.step += 1
    bundle.give_back()
    assert [p.data.tolist() for p in params] == [[[-9, -18], [-27, -36]], -45, [-54, -63, -72]]
    assert all(p.data is x for p, x in zip(params, held))
    assert states[params[2]]["average"].tolist() == [6, 7, 8]
    assert [states[p]["step"] for p in params] == [1, 1, 1]


def test_a_parameter_alone_is_stepped_where_it_lies():
    (p,), states = parameters((2, 3)), {}
    (bundle,) = flat_groups([p], states, ["average"], 0, views_of)
    w, g = bundle.collect()
    assert w is p.data and g is p.grad and bundle.state["average"] is states[p]["average"]


def test_only_small_parameters_of_one_dtype_and_age_share_a_bundle():
    one, other, large = parameters((2,), (3,), (5,))
    (double,) = parameters((2,), dtype="float64")
    older = parameters((2,))[0]
    states = {older: {"step": 7}}
    made = flat_groups([one, double, large, older, other], states, (), 5, views_of)
    assert [bundle.params for bundle in made] == [[one, other], [double], [large], [older]]
    assert [bundle.step for bundle in made] == [0, 0, 0, 7]


def test_numbers_that_were_remembered_are_kept():
    params = parameters((2,), (1,))
    states = {params[0]: {"step": 3, "average": np.float32([5, 6])}, params[1]: {"step": 3}}
    (bundle,) = flat_groups(params, states, ["average"], 9, views_of)
    assert bundle.step == 3 and bundle.state["average"].tolist() == [5, 6, 0]
    assert np.shares_memory(states[params[0]]["average"], bundle.state["average"])


@pytest.mark.parametrize("changed", ["data", "grad"])
def test_another_shape_than_before_is_refused(changed):
    params = parameters((2,), (3,))
    bundle = FlatGroup(params, [{"step": 0}, {"step": 0}], (), views_of)
    setattr(params[1], changed, np.ones((3, 1), "float32"))
    with pytest.raises(ValueError, match=r"had shape \(3,\).*\(3, 1\).*make a new optimizer"):
        bundle.collect()


def test_blocks_are_views_of_every_number_in_order():
    a, b = np.arange(12).reshape(3, 4), np.zeros((3, 4))
    for x, y in blocks(5, a, b):
        assert len(x) == len(y) <= 5
        y += x
    assert np.array_equal(a, b)


def test_blocks_leave_arrays_in_another_order_whole():
    a = np.asfortranarray(np.ones((3, 4)))
    (parts,) = blocks(5, a, np.ones((3, 4)))
    assert parts[0] is a and parts[1].shape == (3, 4)


def test_the_examples_are_true():
    assert doctest.testmod(flat) == (0, 1)
