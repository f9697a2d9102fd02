"""Parameter groups, the state of parameters, and flat groups."""

from types import SimpleNamespace

import numpy as np
import pytest

from tinytorch.support.parameter_groups import (
    FlatGroup,
    FlatStep,
    blocks,
    check_groups,
    flat_groups,
)


def test_options_become_plain_numbers():
    (group,) = check_groups(
        [
            {"params": [], "lr": np.float32(0.5), "betas": [np.float64(0.25), 0], "nesterov": True}
            | {"momentum": 0.5}
        ],
        ["lr", "momentum", "betas", "nesterov"],
        object,
    )
    assert repr(group) == (
        "{'params': [], 'lr': 0.5, 'betas': (0.25, 0.0), 'nesterov': True, 'momentum': 0.5}"
    )


class FlatParameter(SimpleNamespace):
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
    return [FlatParameter(data=x, grad=10 * x) for x in numbers]


def test_only_small_parameters_of_one_dtype_and_step_share_a_flat_group():
    one, other, large = parameters((2,), (3,), (5,))
    (double,) = parameters((2,), dtype="float64")
    older = parameters((2,))[0]
    states = {older: {"step": 7}}
    made = flat_groups([one, double, large, older, other], states, (), 5)
    assert [flat_group.params for flat_group in made] == [[one, other], [double], [large], [older]]
    assert [flat_group.state["step"] for flat_group in made] == [0, 0, 0, 7]


@pytest.mark.parametrize("changed", ["data", "grad"])
def test_another_shape_than_before_is_refused(changed):
    params = parameters((2,), (3,))
    flat_group = FlatGroup(params, [{"step": 0}, {"step": 0}], ())
    setattr(params[1], changed, np.ones((3, 1), "float32"))
    with pytest.raises(ValueError, match=r"had shape \(3,\).*\(3, 1\).*make a new optimizer"):
        flat_group.gather()


def test_blocks_are_views_of_every_number_in_order():
    a, b = np.arange(12).reshape(3, 4), np.zeros((3, 4))
    for x, y in blocks(5, a, b):
        assert len(x) == len(y) <= 5
        y += x
    assert np.array_equal(a, b)


class SumOptimizer:
    """Adds to each weight its gradient; keeps the sum of the gradients."""

    def __init__(self, params):
        self.param_groups, self.state, self.sizes = [{"params": params}], {}, []

    def state_names(self, group):
        return ("sum",)

    def update(self, w, g, state, group):
        self.sizes.append(w.size)
        state["sum"] += g
        w += g * state["step"]


class Flat(FlatStep, SumOptimizer):
    small, block = 5, 6


def test_small_parameters_step_together_and_large_ones_in_blocks():
    params = parameters((2,), (3,), (4, 4), (1,))
    starts = [p.data.copy() for p in params]
    optimizer = Flat(params[:3])
    optimizer.param_groups.append({"params": params[3:]})
    for _ in range(2):
        optimizer.step()
    assert optimizer.sizes == [5, 6, 6, 4, 1] * 2
    for p, start in zip(params, starts):
        assert np.array_equal(p.data, start + 3 * p.grad)
        assert optimizer.state[p]["step"] == 2
        assert np.array_equal(optimizer.state[p]["sum"], 2 * p.grad)


def test_a_new_state_is_not_answered_from_the_cache():
    params = parameters((2,), (3,))
    optimizer = Flat(params)
    optimizer.step()
    optimizer.state = {}
    optimizer.step()
    assert [optimizer.state[p]["step"] for p in params] == [1, 1]
