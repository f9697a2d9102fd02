"""Parameter groups, the state of parameters, flat groups; schedules set the learning rates of each
group, and continue from a saved state.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from tinytorch.support.optimizers import (
    FlatGroup,
    FlatStep,
    LambdaLR,
    LinearLR,
    LRScheduler,
    SequentialLR,
    StepLR,
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


def optimizer(*lrs):
    return SimpleNamespace(param_groups=[{"lr": lr} for lr in lrs])


def learning_rates(schedule, epochs):
    """The learning rates of all groups in each epoch."""
    lrs = []
    for _ in range(epochs):
        lrs.append(schedule.get_last_lr())
        schedule.step()
    return lrs


def test_a_linear_schedule_goes_from_factor_to_factor_and_stays():
    schedule = LinearLR(optimizer(8.0, 80.0), start_factor=0.25, end_factor=0.75, total_iters=4)
    assert learning_rates(schedule, 7) == [
        [lr, 10 * lr] for lr in (2.0, 3.0, 4.0, 5.0, 6.0, 6.0, 6.0)
    ]


def test_steps_multiply_each_group_after_every_step_size_epochs():
    schedule = StepLR(optimizer(8.0, 80.0), step_size=2, gamma=0.5)
    expected = [[lr, 10 * lr] for lr in (8.0, 8.0, 4.0, 4.0, 2.0)]
    assert learning_rates(schedule, 5) == expected


def test_a_function_gives_the_factor_of_each_epoch():
    assert learning_rates(LambdaLR(optimizer(8.0), lambda epoch: 0.5**epoch), 4) == [
        [8],
        [4],
        [2],
        [1],
    ]


def test_each_schedule_of_a_sequence_counts_from_its_milestone():
    of = optimizer(8.0)
    schedule = SequentialLR(
        of,
        [LinearLR(of, 0.5, total_iters=2), LambdaLR(of, lambda n: 1 - n / 8)],
        milestones=[3],
    )
    assert learning_rates(schedule, 7) == [[lr] for lr in (4.0, 6.0, 8.0, 8.0, 7.0, 6.0, 5.0)]


def test_every_schedule_starts_from_the_learning_rate_before_any_schedule():
    of = optimizer(8.0)
    LambdaLR(of, lambda epoch: 0.5)
    again = LambdaLR(of, lambda epoch: 0.25)
    assert again.base_lrs == [8.0] and of.param_groups == [{"lr": 2.0, "initial_lr": 8.0}]


def test_a_loaded_schedule_continues_where_the_saved_one_was():
    def new():
        return LinearLR(optimizer(8.0, 1.0), 0.125, total_iters=9)

    whole, stopped, other = new(), new(), new()
    wanted = learning_rates(whole, 9)
    learning_rates(stopped, 4)
    state = stopped.state_dict()
    stopped.step()
    other.load_state_dict(state)
    assert (
        state == {"last_epoch": 4, "base_lrs": [8.0, 1.0]}
        and learning_rates(other, 5) == wanted[4:]
    )


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda of: StepLR(of, 0), ValueError, "step_size is 0\nit should be at least 1"),
        (lambda of: LinearLR(of, 0), ValueError, "start_factor is 0 and end_factor 1.0"),
        (lambda of: LinearLR(of, 0.5, 1.5), ValueError, "start_factor is 0.5 and end_factor 1.5"),
        (lambda of: SequentialLR(of, [], [1]), ValueError, "0 schedules .* milestones"),
        (lambda of: SequentialLR(of, [1, 2, 3], [5, 4]), ValueError, r"increasing .* \[5, 4\]"),
        (LRScheduler, NotImplementedError, r"LRScheduler needs a method get_lr\(self\)"),
        (
            lambda of: LinearLR(of).load_state_dict({"last_epoch": 1, "base_lrs": [0.1, 0.2]}),
            ValueError,
            "2 groups, the optimizer has 1",
        ),
    ],
)
def test_invalid_arguments_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make(optimizer(1.0))
