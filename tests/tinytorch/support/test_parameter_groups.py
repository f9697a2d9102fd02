"""Invalid options and saved states are refused with their values; the others pass."""

from types import SimpleNamespace

import numpy as np
import pytest

from tinytorch.support.parameter_groups import (
    check_groups,
    check_option,
    matching_state,
    parameter_state,
)


class Parameter:
    def __init__(self, *numbers, creator=None):
        self.data, self.creator = np.array(numbers, "float32"), creator
        self.shape, self.dtype = self.data.shape, self.data.dtype


@pytest.mark.parametrize(
    "name, value, error, words",
    [
        ("lr", -0.1, ValueError, "lr is -0.1: .* less than inf"),
        ("lr", float("nan"), ValueError, "lr is nan"),
        ("lr", float("inf"), ValueError, "lr is inf"),
        ("lr", "0.1", TypeError, "lr is the text '0.1'\nit should be a number"),
        ("momentum", 1, ValueError, "momentum is 1: .* less than 1"),
        ("weight_decay", None, TypeError, "weight_decay is None"),
        ("betas", (0.9, 1.0), ValueError, "beta is 1.0"),
        ("betas", 0.9, TypeError, "betas is 0.9\nit should be two numbers"),
        ("betas", (0.9,), TypeError, "two numbers"),
    ],
)
def test_an_invalid_option_is_refused_with_its_value(name, value, error, words):
    with pytest.raises(error, match=words):
        check_option(name, value)


def test_options_become_plain_numbers():
    (group,) = check_groups(
        [
            {"params": [], "lr": np.float32(0.5), "betas": [np.float64(0.25), 0], "nesterov": True}
            | {"momentum": 0.5}
        ],
        ["lr", "momentum", "betas", "nesterov"],
        Parameter,
    )
    assert repr(group) == (
        "{'params': [], 'lr': 0.5, 'betas': (0.25, 0.0), 'nesterov': True, 'momentum': 0.5}"
    )


def groups(*params, **options):
    return [{"params": list(params), "lr": 0.1, "momentum": 0.0} | options]


shared = Parameter(1.0, 2.0)


@pytest.mark.parametrize(
    "wrong, error, words",
    [
        (groups(rate=1), ValueError, "no option 'rate': there are lr, momentum, nesterov"),
        (groups(nesterov=True), ValueError, "nesterov .* momentum is 0.0"),
        (groups(1.5), TypeError, "a parameter is 1.5, not a Parameter"),
        (groups(Parameter(1.0, creator="*")), ValueError, r"shape \(1,\) is the result"),
        (groups(shared, shared), ValueError, r"shape \(2,\) is given twice"),
        (groups(shared) + groups(shared), ValueError, "given twice"),
    ],
)
def test_an_invalid_group_is_refused(wrong, error, words):
    with pytest.raises(error, match=words):
        check_groups(wrong, ["lr", "momentum", "nesterov"], Parameter)


def test_a_schedule_may_keep_the_initial_learning_rate_in_a_group():
    assert check_groups(groups(initial_lr=0.3), ["lr", "momentum"], Parameter)


class Optimizer(SimpleNamespace):
    def state_names(self, group):
        return ("average",) if group["momentum"] else ()


def optimizer_and_state():
    one, two, resting = Parameter(1.0), Parameter(2.0, 3.0), Parameter(4.0)
    optimizer = Optimizer(
        param_groups=groups(one, two, momentum=0.5) + groups(resting), params=[one, two, resting]
    )
    kept = {
        0: {"step": 3, "average": np.array([0.25])},
        1: {"step": np.array(2), "average": [0.5, 1.5]},
    }
    return optimizer, {
        "state": kept,
        "param_groups": groups(0, 1, momentum=0.75, initial_lr=0.9) + groups(2),
    }


def test_a_state_that_fits_is_taken_over_as_a_copy():
    optimizer, saved = optimizer_and_state()
    new, state = matching_state(optimizer, saved)
    one, two, resting = optimizer.params
    assert new[0] == groups(one, two, momentum=0.75, initial_lr=0.9)[0]
    assert new[1] == groups(resting)[0] and set(state) == {one, two}
    assert repr(state[two]) == "{'step': 2, 'average': array([0.5, 1.5], dtype=float32)}"
    state[one]["average"][:] = 9
    assert saved["state"][0]["average"] == [0.25]
    assert optimizer.param_groups == groups(one, two, momentum=0.5) + groups(resting)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda s: s["param_groups"].pop(), r"groups of \[2, 1\] .* groups of \[2\]"),
        (lambda s: s["param_groups"][1].pop("lr"), "Optimizer and the saved state .* options: lr"),
        (lambda s: s["param_groups"][1].update(eps=0.1), "options: eps"),
        (lambda s: s["param_groups"][0].update(lr=-1), "lr is -1"),
        (lambda s: s["state"][1].update(average=[1, 2, 3]), r"average of parameter 1 .*\(3,\)"),
        (lambda s: s["state"][0].pop("average"), "state of parameter 0 lacks average"),
    ],
)
def test_a_state_of_another_optimizer_is_refused(change, words):
    optimizer, saved = optimizer_and_state()
    change(saved)
    with pytest.raises(ValueError, match=words):
        matching_state(optimizer, saved)


def test_a_state_is_made_and_completed_when_it_is_needed():
    p, states = Parameter(1.0, 2.0), {}
    p.grad = np.float32([3, 4])
    assert parameter_state(states, p, ()) == {"step": 0}
    state = parameter_state(states, p, ["average"])
    assert state is states[p] and state["average"].tolist() == [0, 0]
    assert state["average"].dtype == np.float32
    state["average"] += 5
    assert parameter_state(states, p, ["average"])["average"].tolist() == [5, 5]


@pytest.mark.parametrize(
    "grad, average, words",
    [
        (3, 2, r"\(2,\), its gradient has shape \(3,\)"),
        (2, 4, r"average has shape \(4,\).*new opt"),
    ],
)
def test_shapes_that_changed_are_refused(grad, average, words):
    p = Parameter(1.0, 2.0)
    p.grad = np.ones(grad)
    with pytest.raises(ValueError, match=words):
        parameter_state({p: {"step": 1, "average": np.ones(average)}}, p, ["average"])
