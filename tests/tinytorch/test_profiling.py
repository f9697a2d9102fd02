"""The exported profiling lesson: its claims about A/A tests on simulated computers, its counts
compared with formulas, tracemalloc and PyTorch, and what a profile leaves behind. No test reads a
real clock.
"""

import itertools
import tracemalloc

import numpy as np
import pytest

from tinytorch.core import tensor as engine
from tinytorch.core.attention import MultiHeadAttention
from tinytorch.core.autograd import Function, no_grad
from tinytorch.core.convolutions import Conv2d, MaxPool2d
from tinytorch.core.layers import Dense, Flatten, Sequential
from tinytorch.core.profiling import (
    Machine,
    OperationProfile,
    Profile,
    bytes_of,
    flops_of,
    kept_bytes,
    median_interval,
    predict,
    race,
    ratio_interval,
    roofline,
    seconds,
)
from tinytorch.core.tensor import Tensor, Variable, concatenate
from tinytorch.core.transformers import GPT, flops_per_token, lm_loss
from tinytorch.pictures.profiling import SimulatedComputer, winners

# Time


def false_winners(seed, rounds=40, pairs=60):
    """Winners in A/A tests on a simulated computer: (one after the other, interleaved)."""
    computer, rng = SimulatedComputer(seed), np.random.default_rng(seed)
    program, clock = computer.program, computer.clock
    apart, together = [], []
    for _ in range(pairs):
        a, b = (seconds(program, rounds, clock=clock) for _ in "ab")
        apart.append(ratio_interval(a, b, rng=rng))
        times = race({"a": program, "b": program}, rounds, rng, clock)
        together.append(ratio_interval(times["a"], times["b"], rng=rng))
    return winners(apart), winners(together)


@pytest.mark.slow
def test_interleaving_makes_an_a_a_test_right_where_drift_makes_it_wrong():
    counts = np.array([false_winners(seed) for seed in range(5)])
    assert (counts[:, 0] > 18).all() and (counts[:, 1] < 12).all()
    assert counts[:, 1].mean() < 7 and counts[:, 0].mean() > 24


def test_a_small_difference_is_found_in_spite_of_drift():
    computer, rng = SimulatedComputer(3), np.random.default_rng(3)

    def slower():
        before = computer.now
        computer.program()
        computer.now += 0.1 * (computer.now - before)

    times = race({"slow": slower, "fast": computer.program}, 200, rng, computer.clock)
    low, high = ratio_interval(times["slow"], times["fast"], rng=rng)
    assert 1.05 < low < 1.1 < high < 1.15


def test_ninety_five_of_a_hundred_intervals_contain_the_median():
    rng = np.random.default_rng(0)
    inside = [
        low <= np.log(2) <= high
        for low, high in (median_interval(rng.exponential(size=31), rng=rng) for _ in range(400))
    ]
    assert 0.91 < np.mean(inside) < 0.985


# Work


@pytest.mark.parametrize(
    ("sizes", "most"), [((1024, 64, 128, 3, 4), 1.01), ((100, 32, 64, 2, 2), 1.02)], ids=str
)
def test_a_gpt_has_the_flops_of_lesson_15_and_few_more(sizes, most):
    vocab_size, context, embed_dim, layers, _ = sizes
    model, ids = GPT(*sizes), np.zeros((2, context), int)
    with no_grad(), Profile(model) as profile:
        model(ids)
    formula = ids.size * flops_per_token(vocab_size, context, embed_dim, layers)
    counted = sum(row[4] for row in profile.rows)
    assert formula < counted < most * formula
    products = sum(row[4] for row in profile.rows if row[1] in ("matmul", "attention"))
    assert products == formula


def network():
    rng = np.random.default_rng(0)
    convolution = Conv2d(3, 4, 3, padding=1, stride=2)
    return Sequential(convolution, Tensor.relu, MaxPool2d(2), Flatten(), Dense(16, 5, rng=rng))


def test_a_profile_counts_what_the_formulas_count():
    model = network()
    x = Tensor(np.ones((2, 3, 8, 8), "float32"))
    with Profile(model) as profile:
        model(x)
    rows = {(path, op): (flops, size) for path, op, _, _, flops, size in profile.rows}
    shapes = (2, 3, 8, 8), (4, 3, 3, 3), (4,)
    options = {"stride": 2, "padding": 1}
    assert rows["0", "conv2d"] == (
        flops_of("conv2d", *shapes, **options),
        bytes_of("conv2d", *shapes, **options),
    )
    assert rows["4", "matmul"] == (
        flops_of("matmul", (2, 16), (16, 5)),
        bytes_of("matmul", (2, 16), (16, 5)),
    )
    assert rows["3", "reshape"] == (0, 0)
    assert {path for path, _ in rows} == {"0", "", "2", "3", "4"}


def test_copies_read_what_they_write_and_views_nothing():
    table, x = Variable(np.ones((1000, 4), "float32")), Tensor(np.ones((10, 4), "float32"))
    with OperationProfile() as profile:
        table[[1, 2, 3]]
        x[2:5]
        concatenate([x, x])
        x.T
    sizes = {(op, calls): size for _, op, calls, _, _, size in profile.rows}
    assert sizes == {("getitem", 2): 2 * 48, ("concatenate", 1): 2 * 320, ("transpose", 1): 0}


def test_an_operation_that_no_formula_knows_counts_one_flop_for_each_result():
    class Outer(Function):
        def forward(self, a, b):
            return a[:, None] * b

    with OperationProfile() as profile:
        Outer()(Tensor([1.0, 2.0, 3.0]), Tensor([1.0, 5.0]))
    assert [row[1:3] + row[4:] for row in profile.rows] == [["Outer", 1, 6, 12 + 8 + 24]]


# What a profile leaves behind


def test_engine_and_model_are_as_before_after_errors_and_nested_profiles():
    model, run = network(), engine.run
    x = Tensor(np.ones((2, 3, 8, 8), "float32"))
    with Profile(model) as outer:
        with Profile(model) as inner:
            model(x)
        model(x)
    assert engine.run is run and all("forward" not in vars(m) for _, m in model.named_modules())
    assert [row[2] for row in outer.rows] == [2 * row[2] for row in inner.rows]
    assert [row[0] for row in outer.rows] == [row[0] for row in inner.rows]
    with pytest.raises(ValueError), Profile(model):
        model(Tensor(np.ones((2, 3), "float32")))
    assert engine.run is run and all("forward" not in vars(m) for _, m in model.named_modules())


def test_a_profile_changes_no_result_and_no_gradient():
    model, ids = GPT(20, 8, 16, 1, 2), np.arange(16).reshape(2, 8)
    lm_loss(model, ids, ids).backward()
    plain = [p.grad.copy() for p in model.parameters()]
    model.zero_grad()
    with Profile(model):
        loss = lm_loss(model, ids, ids)
    loss.backward()
    assert all(np.array_equal(p.grad, g) for p, g in zip(model.parameters(), plain))
    assert list(model.state_dict()) == [name for name, _ in model.named_parameters()]


def test_the_table_has_the_slowest_rows_first():
    clock = itertools.accumulate(itertools.count()).__next__
    with OperationProfile(clock=clock) as profile:
        (Tensor([1.0]) + 1.0) * 2.0
    lines = profile.table().split("\n")
    assert [line.split()[0] for line in lines] == ["module", "mul", "add"]
    assert lines[1].split()[1:] == ["1", "3000.000", "0.00", "0.00"]
    assert profile.table(1).endswith("and 1 more rows")


# Memory


@pytest.mark.parametrize("name", ["GPT", "CNN", "attention"])
def test_kept_bytes_is_what_tracemalloc_finds(name):
    ids, x = np.zeros((8, 32), int), np.ones((64, 3, 32, 32), "float32")
    gpt, conv = GPT(50, 32, 64, 2, 4), Conv2d(3, 8, 3)
    attention = MultiHeadAttention(32, 4, causal=True)
    rows = Variable(np.ones((4, 64, 32), "float32"))
    model, run, given = {
        "GPT": (gpt, lambda: lm_loss(gpt, ids, ids), 0),
        "CNN": (conv, lambda: conv(images).relu().sum(), x.nbytes),
        "attention": (attention, lambda: attention(rows), rows.data.nbytes),
    }[name]
    images = Variable(x)
    run()
    tracemalloc.start()
    try:
        result = run()
        traced = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    parameters = sum(p.data.nbytes for p in model.parameters())
    kept = kept_bytes(result) - parameters - given
    assert 0.97 < kept / traced <= 1.001


def test_a_prediction_adds_the_rooflines_of_all_operations():
    model, machine = GPT(20, 8, 16, 1, 2), Machine(1e9, 1e8)
    ids = np.zeros((2, 8), int)
    with Profile(model) as profile:
        model(ids)
    wanted = sum(roofline(flops, size, machine)[0] for *_, flops, size in profile.rows)
    assert np.isclose(predict(model, ids, machine), wanted)


# PyTorch


def counted_by_torch(torch, f):
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        f()
    return counter.get_total_flops()


@pytest.mark.slow
def test_seven_shapes_have_the_flops_that_pytorch_counts(torch):
    F, ones = torch.nn.functional, torch.ones
    q, k, v = (ones(2, 3, 16, 8) for _ in range(3))
    cases = [
        (("matmul", (30, 40), (40, 50)), {}, lambda: ones(30, 40) @ ones(40, 50)),
        (("matmul", (6, 3, 4), (6, 4, 5)), {}, lambda: ones(6, 3, 4) @ ones(6, 4, 5)),
        (("matmul", (2, 7, 3), (3, 4)), {}, lambda: ones(2, 7, 3) @ ones(3, 4)),
        (
            ("linear", (10, 3), (3, 4), (4,)),
            {},
            lambda: F.linear(ones(10, 3), ones(4, 3), ones(4)),
        ),
        (
            ("conv2d", (2, 3, 9, 8), (5, 3, 3, 2), (5,)),
            {"stride": (2, 1), "padding": (1, 0)},
            lambda: F.conv2d(
                ones(2, 3, 9, 8), ones(5, 3, 3, 2), ones(5), stride=(2, 1), padding=(1, 0)
            ),
        ),
        (
            ("conv2d", (1, 1, 28, 28), (8, 1, 5, 5)),
            {},
            lambda: F.conv2d(ones(1, 1, 28, 28), ones(8, 1, 5, 5)),
        ),
        (
            ("attention", (2, 16, 3 * 24)),
            {"heads": 3},
            lambda: (q @ k.mT).softmax(-1) @ v,
        ),
    ]
    for arguments, options, f in cases:
        assert flops_of(*arguments, **options) == counted_by_torch(torch, f), arguments


@pytest.mark.slow
def test_a_profile_has_the_products_that_pytorch_counts(torch):
    nn, model = torch.nn, network()
    other = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1, stride=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16, 5),
    )
    x = np.ones((2, 3, 8, 8), "float32")
    with Profile(model) as profile:
        model(Tensor(x))
    ours = sum(row[4] for row in profile.rows if row[1] in ("matmul", "conv2d"))
    assert ours == counted_by_torch(torch, lambda: other(torch.tensor(x)))
