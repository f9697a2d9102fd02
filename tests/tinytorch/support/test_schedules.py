"""Schedules set the rates they say, group by group, and go on from a saved state."""

from types import SimpleNamespace

import pytest

from tinytorch.support.schedules import LambdaLR, LinearLR, LRScheduler, SequentialLR


def optimizer(*rates):
    return SimpleNamespace(param_groups=[{"lr": rate} for rate in rates])


def rates(schedule, epochs):
    """The rates of all groups in each epoch."""
    seen = []
    for _ in range(epochs):
        seen.append(schedule.get_last_lr())
        schedule.step()
    return seen


def test_a_line_goes_evenly_from_factor_to_factor_and_stays():
    schedule = LinearLR(optimizer(8.0, 80.0), start_factor=0.25, end_factor=0.75, total_iters=4)
    assert rates(schedule, 7) == [[r, 10 * r] for r in (2.0, 3.0, 4.0, 5.0, 6.0, 6.0, 6.0)]


def test_a_function_gives_the_factor_of_each_epoch():
    assert rates(LambdaLR(optimizer(8.0), lambda epoch: 0.5**epoch), 4) == [[8], [4], [2], [1]]


def test_each_schedule_of_a_sequence_counts_from_its_milestone():
    of = optimizer(8.0)
    schedule = SequentialLR(
        of,
        [LinearLR(of, 0.5, total_iters=2), LambdaLR(of, lambda n: 1 - n / 8)],
        milestones=[3],
    )
    assert rates(schedule, 7) == [[r] for r in (4.0, 6.0, 8.0, 8.0, 7.0, 6.0, 5.0)]


def test_every_schedule_starts_from_the_rate_before_any_schedule():
    of = optimizer(8.0)
    LambdaLR(of, lambda epoch: 0.5)
    again = LambdaLR(of, lambda epoch: 0.25)
    assert again.base_lrs == [8.0] and of.param_groups == [{"lr": 2.0, "initial_lr": 8.0}]


def test_a_loaded_schedule_goes_on_where_the_saved_one_was():
    def new():
        return LinearLR(optimizer(8.0, 1.0), 0.125, total_iters=9)

    whole, stopped, other = new(), new(), new()
    wanted = rates(whole, 9)
    rates(stopped, 4)
    state = stopped.state_dict()
    stopped.step()
    other.load_state_dict(state)
    assert state == {"last_epoch": 4, "base_lrs": [8.0, 1.0]} and rates(other, 5) == wanted[4:]


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda of: LinearLR(of, 0), ValueError, "not 0 and 1.0"),
        (lambda of: LinearLR(of, 0.5, 1.5), ValueError, "not 0.5 and 1.5"),
        (lambda of: SequentialLR(of, [], [1]), ValueError, "0 schedules .* milestones"),
        (lambda of: SequentialLR(of, [1, 2, 3], [5, 4]), ValueError, r"growing .* \[5, 4\]"),
        (LRScheduler, NotImplementedError, r"LRScheduler needs a method rate\(self, base, epoch"),
        (
            lambda of: LinearLR(of).load_state_dict({"last_epoch": 1, "base_lrs": [0.1, 0.2]}),
            ValueError,
            "2 groups, the optimizer has 1",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(make, error, words):
    with pytest.raises(error, match=words):
        make(optimizer(1.0))
