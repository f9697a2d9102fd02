"""Schedules set the learning rates of each group, and continue from a saved state."""

from types import SimpleNamespace

import pytest

from tinytorch.support.schedules import LambdaLR, LinearLR, LRScheduler, SequentialLR, StepLR


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
