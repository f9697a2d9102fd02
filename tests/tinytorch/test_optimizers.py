"""The exported optimizers, schedules and gradient clipping: step by step as PyTorch's, resumed
exactly, and what they refuse."""

import copy
import inspect
import io

import numpy as np
import pytest

from tinytorch.core import optimizers as lesson
from tinytorch.core.layers import Dense, Sequential
from tinytorch.core.losses import cross_entropy
from tinytorch.core.optimizers import (
    SGD,
    Adam,
    AdamW,
    CosineAnnealingLR,
    LambdaLR,
    LinearLR,
    Optimizer,
    SequentialLR,
    StepLR,
    clip_grad_norm_,
)
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.support.optimizers import FlatStep

SHAPES = [(7, 5), (5,), (), (1, 3, 2), (9, 8), (0, 4)]
TOLERANCE = {"float32": 1e-5, "float64": 1e-10}
KINDS = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "weight_decay": 0.2},
        {"lr": 0.05, "momentum": 0.9},
        {"lr": 0.05, "momentum": 0.7, "weight_decay": 0.1},
        {"lr": 0.05, "momentum": 0.9, "nesterov": True},
        {"lr": 0.05, "momentum": 0.6, "nesterov": True, "weight_decay": 0.3},
    ],
    "Adam": [
        {"lr": 0.05},
        {"lr": 0.05, "betas": (0.5, 0.7)},
        {"lr": 0.05, "eps": 0.1},
        {"lr": 0.05, "weight_decay": 0.3},
        {},
    ],
    "AdamW": [
        {"lr": 0.05},
        {"lr": 0.05, "weight_decay": 0.5},
        {"lr": 0.05, "betas": (0.3, 0.99), "weight_decay": 0.0},
        {},
    ],
}
CASES = [
    pytest.param(kind, options, id=f"{kind}-{n}")
    for kind, all_options in KINDS.items()
    for n, options in enumerate(all_options)
]


def numbers(t, n, dtype="float64", shapes=SHAPES):
    """The gradient of tensor n in step t: of another magnitude in each step and tensor."""
    rng = np.random.default_rng([t, n])
    return np.asarray(rng.normal(size=shapes[n]) * 10.0 ** rng.integers(-3, 3)).astype(dtype)


def starts(dtype="float64", shapes=SHAPES):
    return [
        np.asarray(np.random.default_rng(n).normal(size=s)).astype(dtype)
        for n, s in enumerate(shapes)
    ]


def both(torch, dtype, kind, options, groups=None):
    """The same tensors and the same optimizer, ours and PyTorch's; groups are (numbers of tensors,
    options)."""
    ours, theirs = (
        [Variable(x) for x in starts(dtype)],
        [torch.nn.Parameter(torch.tensor(x)) for x in starts(dtype)],
    )
    a, b = [
        of
        if groups is None
        else [{"params": [of[n] for n in which], **own} for which, own in groups]
        for of in (ours, theirs)
    ]
    mine, other = getattr(lesson, kind)(a, **options), getattr(torch.optim, kind)(b, **options)
    if isinstance(mine, FlatStep):
        mine.small = 50  # so that the fifth is updated in place, as large ones are
    return ours, theirs, mine, other


def give(torch, ours, theirs, t, dtype, absent=lambda t, n: False):
    for n, (p, q) in enumerate(zip(ours, theirs)):
        g = None if absent(t, n) else numbers(t, n, dtype)
        p.grad, q.grad = g, None if g is None else torch.tensor(g)


def assert_equal(ours, theirs, dtype, what=""):
    """Relative to the largest number of an array: a weight on its way through 0 has no digits left
    to compare."""
    for n, (p, q) in enumerate(zip(ours, theirs)):
        right = q.detach().numpy()
        assert p.dtype == dtype and p.shape == right.shape
        apart, size = np.abs(p.data - right).max(initial=0), np.abs(right).max(initial=0)
        assert apart <= TOLERANCE[dtype] * size, f"{what} {n}: {apart:.3g} apart, of {size:.3g}"


# Steps, against PyTorch


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kind, options", CASES)
def test_twenty_steps_equal_pytorchs(torch, kind, options, dtype):
    ours, theirs, mine, other = both(torch, dtype, kind, options)
    for t in range(20):
        give(torch, ours, theirs, t, dtype)
        mine.step(), other.step()
        assert_equal(ours, theirs, dtype, f"step {t + 1}, tensor")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kind", KINDS)
def test_groups_learning_rates_and_missing_gradients_equal_pytorchs(torch, kind, dtype):
    groups = [([4, 0], {"lr": 0.2, "weight_decay": 0.1}), ([1, 2], {}), ([3, 5], {"lr": 0.01})]
    options = {"lr": 0.05} | ({"momentum": 0.8} if kind == "SGD" else {})
    ours, theirs, mine, other = both(torch, dtype, kind, options, groups)
    for t in range(20):
        give(torch, ours, theirs, t, dtype, absent=lambda t, n: (t * 3 + n * n) % 5 in (0, 1))
        if t == 11:
            for optimizer in (mine, other):
                optimizer.param_groups[0]["lr"] = 0.003
        mine.step(), other.step()
        assert_equal(ours, theirs, dtype, f"step {t + 1}, tensor")
    for p, q in zip(ours, theirs):
        if kind != "SGD":
            assert mine.state[p]["step"] == int(other.state[q]["step"])
        for name in mine.state_names(mine.param_groups[0]):
            np.testing.assert_allclose(
                mine.state[p][name], other.state[q][name].numpy(), rtol=1e-5, atol=TOLERANCE[dtype]
            )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_clipping_equals_pytorchs(torch, dtype):
    for t in range(20):
        ours, theirs = (
            [Variable(x) for x in starts(dtype)],
            [torch.nn.Parameter(torch.tensor(x)) for x in starts(dtype)],
        )
        give(torch, ours, theirs, t, dtype, absent=lambda t, n: (t + n) % 4 == 0)
        limit = 10.0 ** (t % 5 - 1)
        mine, other = clip_grad_norm_(ours, limit), torch.nn.utils.clip_grad_norm_(theirs, limit)
        assert mine == pytest.approx(float(other), rel=TOLERANCE[dtype])
        for p, q in zip(ours, theirs):
            if p.grad is not None:
                np.testing.assert_allclose(
                    p.grad, q.grad.numpy(), rtol=TOLERANCE[dtype], atol=1e-12
                )


SCHEDULES = {
    "step": lambda lib, o: lib.StepLR(o, 3, 0.5),
    "step-default": lambda lib, o: lib.StepLR(o, step_size=7),
    "cosine": lambda lib, o: lib.CosineAnnealingLR(o, 20),
    "cosine-floor": lambda lib, o: lib.CosineAnnealingLR(o, T_max=13, eta_min=0.02),
    "cosine-on": lambda lib, o: lib.CosineAnnealingLR(o, 4, 0.001),
    "linear": lambda lib, o: lib.LinearLR(o),
    "linear-long": lambda lib, o: lib.LinearLR(
        o, start_factor=0.01, end_factor=0.7, total_iters=12
    ),
    "lambda": lambda lib, o: lib.LambdaLR(o, lambda epoch: 0.9**epoch),
    "warm-up": lambda lib, o: lib.SequentialLR(
        o, [lib.LinearLR(o, 0.1, total_iters=5), lib.CosineAnnealingLR(o, 15)], [5]
    ),
    "three": lambda lib, o: lib.SequentialLR(
        o,
        schedulers=[
            lib.LinearLR(o, 0.5, total_iters=4),
            lib.StepLR(o, 2, 0.5),
            lib.CosineAnnealingLR(o, 6),
        ],
        milestones=[4, 11],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("make", SCHEDULES.values(), ids=SCHEDULES)
def test_schedules_equal_pytorchs(torch, make):
    dtype = "float64"
    ours, theirs, mine, other = both(
        torch,
        dtype,
        "SGD",
        {"lr": 0.3, "momentum": 0.5},
        [([0, 1, 2], {}), ([3, 4, 5], {"lr": 0.04})],
    )
    a, b = make(lesson, mine), make(torch.optim.lr_scheduler, other)
    for t in range(20):
        np.testing.assert_allclose(
            a.get_last_lr(), b.get_last_lr(), rtol=1e-10, atol=1e-14, err_msg=f"epoch {t}"
        )
        give(torch, ours, theirs, t, dtype)
        mine.step(), other.step()
        a.step(), b.step()
        assert_equal(ours, theirs, dtype, f"step {t + 1}, tensor")


@pytest.mark.slow
def test_names_and_their_order_are_pytorchs(torch):
    for name in ("SGD", "Adam", "AdamW"):
        mine, other = [
            inspect.signature(getattr(of, name)).parameters for of in (lesson, torch.optim)
        ]
        ordered = [p.name for p in mine.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert ordered == list(other)[: len(ordered)] and set(mine) <= set(other)
        assert all(mine[p].default == other[p].default for p in mine if p != "params")
    for name in ("StepLR", "CosineAnnealingLR", "LinearLR", "LambdaLR", "SequentialLR"):
        mine, other = [
            list(inspect.signature(getattr(of, name)).parameters)
            for of in (lesson, torch.optim.lr_scheduler)
        ]
        assert mine == other[: len(mine)]


# Resuming


def through_a_file(state):
    """An optimizer's state after a journey through .npz: every array and number under one name."""
    flat = {f"{n}.{name}": x for n, kept in state["state"].items() for name, x in kept.items()}
    buffer = io.BytesIO()
    np.savez(buffer, **flat)
    buffer.seek(0)
    found = {}
    with np.load(buffer) as file:
        for key in file:
            n, name = key.split(".")
            found.setdefault(int(n), {})[name] = file[key]
    return {"state": found, "param_groups": copy.deepcopy(state["param_groups"])}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kind, options", CASES)
def test_a_resumed_run_equals_one_that_was_never_stopped(kind, options, dtype):
    def make():
        tensors = [Variable(x) for x in starts(dtype)]
        optimizer = getattr(lesson, kind)(
            [{"params": tensors[:2]}, {"params": tensors[2:], "lr": 0.02}], **options
        )
        return (
            tensors,
            optimizer,
            SequentialLR(
                optimizer,
                [LinearLR(optimizer, total_iters=4), CosineAnnealingLR(optimizer, 30)],
                [4],
            ),
        )

    def run(tensors, optimizer, schedule, first, last):
        for t in range(first, last):
            for n, p in enumerate(tensors):
                p.grad = None if (t + 2 * n) % 7 == 0 else numbers(t, n, dtype)
            clip_grad_norm_(tensors, 5.0)
            optimizer.step()
            schedule.step()

    whole = make()
    run(*whole, 0, 20)
    for stop in (0, 1, 3, 11):
        before = make()
        run(*before, 0, stop)
        after = make()
        for p, q in zip(after[0], before[0]):
            p.data[...] = q.data
        state = through_a_file(before[1].state_dict())
        after[1].load_state_dict(state)
        after[2].load_state_dict(before[2].state_dict())
        run(*after, stop, 20)
        assert all(np.array_equal(p.data, q.data) for p, q in zip(after[0], whole[0]))
        assert [g["lr"] for g in after[1].param_groups] == [g["lr"] for g in whole[1].param_groups]


def test_a_loaded_state_is_a_copy():
    p = Variable([1.0, 2.0])
    optimizer = Adam([p])
    p.grad = np.ones(2, "float32")
    optimizer.step()
    state = optimizer.state_dict()
    kept = copy.deepcopy(state)
    optimizer.load_state_dict(state)
    optimizer.step()
    assert all(np.array_equal(state["state"][0][name], x) for name, x in kept["state"][0].items())


def change(state, path, value):
    *way, last = path
    part = state
    for key in way:
        part = part[key]
    part[last] = value


@pytest.mark.parametrize(
    "path, value, words",
    [
        (("param_groups", 0, "params"), [0], "groups of"),
        (("state", 1, "exp_avg"), np.zeros(3), r"exp_avg of parameter 1.*\(3,\).*\(2,\)"),
        (("param_groups", 0, "momentum"), 0.9, "options: momentum"),
        (("state", 0), {"step": 3}, "lacks exp_avg, exp_avg_sq"),
        (("param_groups", 0, "lr"), -1.0, "lr is -1"),
    ],
)
def test_a_state_that_does_not_fit_changes_nothing(path, value, words):
    tensors = [Variable([[1.0]]), Variable([1.0, 2.0])]
    optimizer = Adam(tensors)
    for p in tensors:
        p.grad = np.ones_like(p.data)
    optimizer.step()
    before, broken = optimizer.state_dict(), optimizer.state_dict()
    change(broken, path, value)
    with pytest.raises(ValueError, match=words):
        optimizer.load_state_dict(broken)
    assert repr(optimizer.state_dict()) == repr(before)


# The arrays of tensors


@pytest.mark.parametrize("kind", KINDS)
def test_weights_may_get_new_arrays_or_other_numbers_between_steps(kind):
    """Nothing is linked: an optimizer reads what a tensor holds when it steps, and writes into
    that."""
    one, two = [[Variable(x) for x in starts()] for _ in range(2)]
    mine, other = [getattr(lesson, kind)(tensors, lr=0.1) for tensors in (one, two)]
    for t in range(6):
        for n in range(len(one)):
            one[n].grad, two[n].grad = numbers(t, n), numbers(t, n)
            fresh = np.asarray(numbers(t, n) * 0.3)
            if t % 2:
                one[n].data = fresh.copy()
            else:
                one[n].data[...] = fresh
            two[n].data[...] = fresh
        held = [p.data for p in one]
        mine.step(), other.step()
        assert all(p.data is x for p, x in zip(one, held))
        assert all(np.array_equal(p.data, q.data) for p, q in zip(one, two))


def test_a_model_may_load_a_state_after_its_optimizer_was_made():
    net, twin = [Sequential(Dense(3, 4, rng=n), Tensor.relu, Dense(4, 2, rng=n)) for n in (1, 2)]
    a, b = AdamW(net.parameters(), 0.1), AdamW(twin.parameters(), 0.1)
    net.load_state_dict(twin.state_dict())
    x, labels = np.random.default_rng(0).normal(size=(6, 3)).astype("float32"), [0, 1, 1, 0, 1, 0]
    for _ in range(3):
        for model, optimizer in ((net, a), (twin, b)):
            optimizer.zero_grad()
            cross_entropy(model(Tensor(x)), labels).backward()
            optimizer.step()
    assert all(np.array_equal(p.data, q.data) for p, q in zip(net.parameters(), twin.parameters()))


def test_arrays_in_any_layout_are_stepped():
    for kind in (SGD, Adam):
        for size in ((3, 4), (150, 130), (300, 290)):
            one, two = Variable(np.ones(size)), Variable(np.ones(size))
            one.data = np.asfortranarray(one.data)
            g = np.random.default_rng(0).normal(size=size)
            for p, gradient in ((one, np.asfortranarray(g)), (two, g)):
                optimizer = kind([p, Variable([1.0])], lr=0.1)
                for _ in range(3):
                    p.grad = gradient
                    optimizer.step()
            assert np.array_equal(one.data, two.data)


@pytest.mark.parametrize("kind", ["Adam", "AdamW"])
def test_flat_and_single_parameters_are_updated_alike(kind):
    shapes = [(300, 290), (4,), (128, 128), (2, 3)]
    results = []
    for small in (0, 10, 10**9):
        tensors = [Variable(x) for x in starts("float32", shapes)]
        optimizer = getattr(lesson, kind)(tensors, lr=0.1, weight_decay=0.1)
        optimizer.small = small
        step = optimizer.step if small else lambda: Optimizer.step(optimizer)
        for t in range(3):
            for n, p in enumerate(tensors):
                p.grad = numbers(t, n, "float32", shapes)
            step()
        results.append([p.data for p in tensors])
    assert all(np.array_equal(x, y) for other in results[1:] for x, y in zip(results[0], other))


def test_dtypes_are_not_mixed():
    tensors = [Variable(np.ones(3, dtype)) for dtype in ("float32", "float64", "float32")]
    for kind in (SGD, Adam, AdamW):
        optimizer = kind(tensors, lr=np.float64(0.1))
        for p in tensors:
            p.grad = np.full(3, 2, p.dtype)
        optimizer.step()
        assert [p.dtype.name for p in tensors] == ["float32", "float64", "float32"]
        assert all(
            x.dtype == p.dtype
            for p in tensors
            for x in optimizer.state[p].values()
            if isinstance(x, np.ndarray)
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_gradient_of_another_shape_is_refused(kind):
    p = Variable([1.0, 2.0])
    optimizer = getattr(lesson, kind)([p])
    p.grad = np.ones(3, "float32")
    with pytest.raises(ValueError, match=r"shape \(2,\).*gradient has shape \(3,\)"):
        optimizer.step()
    assert not optimizer.state


def test_momentum_may_begin_after_some_steps():
    p = Variable([1.0])
    optimizer = SGD([p], lr=0.1)
    p.grad = np.ones(1, "float32")
    optimizer.step()
    optimizer.param_groups[0]["momentum"] = 0.5
    optimizer.step()
    optimizer.step()
    np.testing.assert_allclose(p.data, 1 - 0.1 * (1 + 1 + 1.5), rtol=1e-6)
    assert optimizer.state[p]["step"] == 3


def test_a_shared_parameter_steps_once():
    shared = Dense(2, 2)
    net = Sequential(shared, Tensor.tanh, shared)
    before = shared.weights.numpy()
    optimizer = SGD(net.parameters(), lr=0.5)
    shared.weights.grad = np.ones((2, 2), "float32")
    optimizer.step()
    np.testing.assert_allclose(shared.weights.data, before - 0.5)


def test_zero_grad_and_repr():
    p = Variable([1.0])
    p.grad = np.ones(1)
    optimizer = SGD([p], 0.1)
    optimizer.zero_grad()
    assert p.grad is None
    assert repr(optimizer) == "SGD(lr=0.1, momentum=0.0, weight_decay=0.0, nesterov=False)"


# What is refused


def of(n=1):
    return [Variable([float(k)]) for k in range(n)]


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: SGD([]), ValueError, "needs parameters"),
        (lambda: SGD(iter(())), ValueError, "nothing left"),
        (lambda: SGD(Variable([1.0])), TypeError, r"\[w\]"),
        (lambda: SGD(Dense(2, 2)), TypeError, r"net.parameters\(\)"),
        (lambda: SGD([1.0]), TypeError, "is 1.0, not a Tensor"),
        (lambda: SGD(Dense(2, 2).named_parameters()), TypeError, "not pairs of a name"),
        (lambda: SGD([of()[0] * 2]), ValueError, r"\(1,\).*result"),
        (lambda: SGD(of() * 2), ValueError, "twice"),
        (lambda: SGD([{"params": p} for p in [of()] * 2]), ValueError, "twice"),
        (lambda: SGD([{"params": of(), "rate": 0.1}]), ValueError, "'rate'.*lr, momentum"),
        (lambda: SGD(of(), -0.1), ValueError, "lr is -0.1"),
        (lambda: SGD(of(), 0.1, -0.5), ValueError, "momentum is -0.5"),
        (lambda: SGD(of(), nesterov=True), ValueError, "nesterov"),
        (lambda: Adam(of(), betas=(0.9, 1.0)), ValueError, "beta is 1.0"),
        (lambda: Adam(of(), eps=-1e-8), ValueError, "eps is -1e-08"),
        (lambda: AdamW([{"params": of(), "lr": -1}]), ValueError, "lr is -1"),
        (lambda: StepLR(SGD(of()), 0), ValueError, "step_size is 0"),
        (lambda: CosineAnnealingLR(SGD(of()), 0), ValueError, "T_max is 0"),
        (
            lambda: Optimizer(of()).state_names(None) or Optimizer(of()).update(*[None] * 4),
            NotImplementedError,
            "Optimizer needs a method update",
        ),
    ],
)
def test_invalid_arguments_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


# The public names and the examples


def test_tinytorch_optim_has_every_public_name():
    import tinytorch.optim as module

    for name in (
        "Optimizer",
        "SGD",
        "Adam",
        "AdamW",
        "clip_grad_norm_",
        "LRScheduler",
        "StepLR",
        "CosineAnnealingLR",
        "LinearLR",
        "LambdaLR",
        "SequentialLR",
        "warmup_cosine",
    ):
        assert inspect.unwrap(getattr(module, name)) is getattr(lesson, name) and name in dir(
            module
        )
    schedule = LambdaLR(SGD(of(), 0.5), lambda epoch: 1 / (epoch + 1))
    schedule.step()
    assert schedule.get_lr() == [0.25]


def test_gradients_become_none_or_zeros_as_in_pytorch():
    net = Dense(2, 1, rng=0)
    for clear in (net.zero_grad, SGD(net.parameters(), lr=0.1).zero_grad):
        net.weights.grad, net.bias.grad = np.ones((2, 1), "float32"), None
        clear(set_to_none=False)
        assert np.array_equal(net.weights.grad, [[0], [0]]) and net.bias.grad is None
        clear(set_to_none=True)
        assert net.weights.grad is None
