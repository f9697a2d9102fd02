"""Parameter groups, the state of parameters, and flat groups."""

from types import SimpleNamespace

import numpy as np
import pytest

from tinytorch.support.parameter_groups import (
    FlatGroup,
    FlatStep,
    blocks,
    check_groups,
    check_option,
    flat_groups,
    matching_state,
    parameter_state,
    split_views,
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


def test_small_parameters_are_gathered_into_one_array_and_scattered():
    params, states = parameters((2, 2), (), (3,)), {}
    (flat_group,) = flat_groups(params, states, ["average"], 100)
    w, g = flat_group.gather()
    assert w.tolist() == [1, 2, 3, 4, 5, 6, 7, 8] and g.tolist() == [10 * x for x in w]
    held = [p.data for p in params]
    w -= g
    flat_group.state["average"] += [1, 2, 3, 4, 5, 6, 7, 8]
    flat_group.state["step"] += 1
    flat_group.scatter()
    assert [p.data.tolist() for p in params] == [[[-9, -18], [-27, -36]], -45, [-54, -63, -72]]
    assert all(p.data is x for p, x in zip(params, held))
    assert states[params[2]]["average"].tolist() == [6, 7, 8]
    assert [states[p]["step"] for p in params] == [1, 1, 1]


def test_a_parameter_alone_is_updated_in_place():
    (p,), states = parameters((2, 3)), {}
    (flat_group,) = flat_groups([p], states, ["average"], 0)
    w, g = flat_group.gather()
    assert w is p.data and g is p.grad and flat_group.state["average"] is states[p]["average"]


def test_only_small_parameters_of_one_dtype_and_step_share_a_flat_group():
    one, other, large = parameters((2,), (3,), (5,))
    (double,) = parameters((2,), dtype="float64")
    older = parameters((2,))[0]
    states = {older: {"step": 7}}
    made = flat_groups([one, double, large, older, other], states, (), 5)
    assert [flat_group.params for flat_group in made] == [[one, other], [double], [large], [older]]
    assert [flat_group.state["step"] for flat_group in made] == [0, 0, 0, 7]


def test_arrays_of_an_earlier_state_are_kept():
    params = parameters((2,), (1,))
    states = {params[0]: {"step": 3, "average": np.float32([5, 6])}, params[1]: {"step": 3}}
    (flat_group,) = flat_groups(params, states, ["average"], 9)
    assert flat_group.state["step"] == 3 and flat_group.state["average"].tolist() == [5, 6, 0]
    assert np.shares_memory(states[params[0]]["average"], flat_group.state["average"])


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


def test_blocks_leave_arrays_in_another_order_whole():
    a = np.asfortranarray(np.ones((3, 4)))
    (parts,) = blocks(5, a, np.ones((3, 4)))
    assert parts[0] is a and parts[1].shape == (3, 4)


def test_views_share_their_memory_with_the_flat_array():
    array = np.arange(12.0)
    views = split_views(array, [(2, 3), (), (0, 2), (5,)])
    assert [view.tolist() for view in views] == [[[0, 1, 2], [3, 4, 5]], 6, [], [7, 8, 9, 10, 11]]
    views[1][...] = -1
    assert array[6] == -1 and all(np.shares_memory(view, array) for view in views if view.size)


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


def test_a_parameter_without_a_gradient_rests_and_has_no_state():
    params = parameters((2,), (3,))
    params[0].grad = None
    optimizer = Flat(params)
    optimizer.step()
    assert params[0].data.tolist() == [1, 2] and list(optimizer.state) == [params[1]]


def test_a_new_state_is_not_answered_from_the_cache():
    params = parameters((2,), (3,))
    optimizer = Flat(params)
    optimizer.step()
    optimizer.state = {}
    optimizer.step()
    assert [optimizer.state[p]["step"] for p in params] == [1, 1]
