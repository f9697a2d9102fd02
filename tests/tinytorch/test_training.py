"""The Trainer against PyTorch, against a power failure, and against files that are not
checkpoints."""

import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from tinytorch.core import training as lesson
from tinytorch.core.activations import ReLU, Tanh
from tinytorch.core.data import DataLoader, TensorDataset
from tinytorch.core.layers import Dense, Dropout, Module, RandomState, Sequential, manual_seed
from tinytorch.core.losses import cross_entropy
from tinytorch.core.optimizers import SGD, Adam, AdamW, CosineAnnealingLR, StepLR
from tinytorch.core.tensor import Tensor
from tinytorch.core.training import (
    CheckpointError,
    NonFiniteError,
    Trainer,
    accuracy,
    load_state,
    overfit_one_batch,
    predict,
    save_state,
    snapshot,
)

ROOT = Path(__file__).resolve().parents[2]


def clouds(count=90, seed=0, dtype="float32"):
    """`count` points in 5 dimensions in 3 clouds, and their clouds."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count)
    return (rng.normal(size=(count, 5)) + 1.5 * np.eye(3, 5)[labels]).astype(dtype), labels


def pairs(size, **options):
    x, y = clouds(**options)
    return [(Tensor(x[at : at + size]), Tensor(y[at : at + size])) for at in range(0, len(x), size)]


def network(dropout=0.0):
    manual_seed(1)
    return Sequential(Dense(5, 16), ReLU(), *([Dropout(dropout)] if dropout else []), Dense(16, 3))


def trainer(optimizer=SGD, lr=0.1, dropout=0.0, schedule=None, **options):
    model = network(dropout)
    made = optimizer(model.parameters(), lr=lr)
    return Trainer(
        model,
        made,
        cross_entropy,
        {"accuracy": accuracy},
        schedule and schedule(made),
        **{"show": False} | options,
    )


def new_trainer_of(model):
    return Trainer(model, SGD(model.parameters()), cross_entropy, show=False)


def weights_of(run):
    return [p.data.copy() for p in run.model.parameters()]


def same(one, two):
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


# Against PyTorch, step by step


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("SGD", {"lr": 0.1, "momentum": 0.9}),
        ("Adam", {"lr": 0.01}),
        ("AdamW", {"lr": 0.01, "weight_decay": 0.1}),
    ],
)
def test_the_losses_of_two_epochs_agree_with_pytorch(torch, kind, options):
    model = network()
    for p in model.parameters():
        p.data = p.data.astype("float64")
    theirs = torch.nn.Sequential(
        torch.nn.Linear(5, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)
    ).double()
    with torch.no_grad():
        for ours, layer in ((model[0], theirs[0]), (model[2], theirs[2])):
            layer.weight.copy_(torch.tensor(ours.weights.data.T))
            layer.bias.copy_(torch.tensor(ours.bias.data))
    step = getattr(torch.optim, kind)(theirs.parameters(), **options)
    schedule = torch.optim.lr_scheduler.StepLR(step, 3, 0.5)
    wanted = []
    batches = pairs(16, dtype="float64")
    for _ in range(2):
        for x, y in batches:
            step.zero_grad()
            loss = torch.nn.functional.cross_entropy(
                theirs(torch.tensor(x.data)), torch.tensor(y.data)
            )
            loss.backward()
            torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
            step.step()
            schedule.step()
            wanted.append(float(loss.detach()))
    made = {"SGD": SGD, "Adam": Adam, "AdamW": AdamW}[kind](model.parameters(), **options)
    run = Trainer(
        model,
        made,
        cross_entropy,
        schedule=StepLR(made, 3, 0.5),
        per="step",
        max_norm=0.5,
        show=False,
    )
    found = [
        values["loss"] for _ in range(2) for batch in batches for values, _ in run.step([batch])
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    np.testing.assert_allclose(
        model[0].weights.data.T, theirs[0].weight.detach().numpy(), rtol=1e-8, atol=1e-12
    )


@pytest.mark.parametrize("size", [1, 2, 3, 7, 30])
def test_accumulated_batches_train_like_big_ones(size):
    small, big = trainer(Adam, 0.01, accumulate=size), trainer(Adam, 0.01)
    for run, batches in (
        (small, pairs(4, dtype="float64")),
        (big, pairs(4 * size, dtype="float64")),
    ):
        for p in run.model.parameters():
            p.data = p.data.astype("float64")
        run.fit(batches, 3)
    for a, b in zip(weights_of(small), weights_of(big)):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(small.history["loss"], big.history["loss"], rtol=1e-9)


# Epochs, early stopping, metrics


def test_the_history_has_one_entry_per_epoch():
    run = trainer(lr=0.4, schedule=lambda optimizer: StepLR(optimizer, 1, 0.5))
    run.fit(pairs(16), 2, validation=pairs(40, seed=1))
    history = run.fit(pairs(16), 3, validation=pairs(40, seed=1))
    assert list(history) == [
        "loss",
        "accuracy",
        "validation loss",
        "validation accuracy",
        "learning rate",
    ]
    assert all(len(values) == 3 for values in history.values()) and run.epoch == 3
    assert history["learning rate"] == [0.4, 0.2, 0.1]
    assert history["validation accuracy"][-1] == np.mean(
        predict(run.model, pairs(40, seed=1)).argmax(1) == clouds(seed=1)[1]
    )


def test_a_run_that_stopped_early_and_is_resumed_trains_no_further_epoch(tmp_path):
    options = {"validation": pairs(40, seed=1), "patience": 2, "checkpoint": tmp_path / "run.npz"}
    run = trainer(Adam, 0.3)
    run.fit(pairs(16), 50, **options)
    other = trainer(Adam, 0.3)
    other.load(tmp_path / "run.npz")
    other.fit(pairs(16), 50, **options)
    assert run.epoch == other.epoch < 50 and same(weights_of(run), weights_of(other))


def test_lines_are_plain_where_there_is_no_terminal(capsys):
    trainer(show=True).fit(pairs(16), 2, validation=pairs(40))
    out = capsys.readouterr().out.splitlines()
    assert len(out) == 2 and re.fullmatch(
        r"epoch 2/2  loss [\d.]+  accuracy [\d.]+  validation loss [\d.]+  validation accuracy "
        r"[\d.]+  \d+\.\d s",
        out[1],
    )


# Checkpoints


def loader(prefetch=0):
    return DataLoader(
        TensorDataset(*clouds()), batch_size=8, shuffle=True, rng=5, prefetch=prefetch
    )


class Failure(Exception):
    pass


@pytest.mark.parametrize("prefetch", [0, 2])
@pytest.mark.parametrize("steps", [1, 5, 6, 7, 12, 17])
@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
def test_a_run_stopped_anywhere_goes_on_bit_for_bit(tmp_path, kind, steps, prefetch):
    def new():
        return trainer(
            kind,
            0.01,
            dropout=0.3,
            schedule=lambda o: CosineAnnealingLR(o, 20),
            per="step",
            accumulate=2,
        )

    whole = new()
    whole.fit(loader(), 3, validation=pairs(40, seed=1))
    stopped = new()
    step, taken = stopped.step, []

    def failing(group):
        if len(taken) == steps:
            raise Failure
        taken.append(group)
        return step(group)

    stopped.step = failing
    with pytest.raises(Failure):
        stopped.fit(
            loader(prefetch),
            3,
            validation=pairs(40, seed=1),
            checkpoint=tmp_path / "run.npz",
            every=1,
        )
    other = new()
    RandomState.rng.random(9)  # another program drew in between
    other.load(tmp_path / "run.npz")
    other.fit(loader(prefetch), 3, validation=pairs(40, seed=1))
    assert same(weights_of(whole), weights_of(other)) and whole.history == other.history
    first, second = snapshot(whole), snapshot(other)
    assert (
        first["random_states"] == second["random_states"]
        and first["schedule"] == second["schedule"]
    )


@pytest.mark.slow
def test_a_run_killed_in_the_middle_and_resumed_ends_with_the_same_weights(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import os, signal, sys
        from pathlib import Path
        sys.path[:0] = [sys.argv[1], sys.argv[1] + "/tests/tinytorch"]
        import test_training as t
        kill_after, path = int(sys.argv[2]), Path(sys.argv[3])
        run = t.trainer(t.Adam, 0.01, dropout=0.3, schedule=lambda o: t.CosineAnnealingLR(o, 4))
        step, taken = run.step, []
        def killed(group):
            if len(taken) == kill_after:
                os.kill(os.getpid(), signal.SIGKILL)
            taken.append(group)
            return step(group)
        run.step = killed
        if path.exists():
            run.load(path)
        run.fit(t.loader(), 4, checkpoint=path, every=1)
        t.np.savez(path.with_name("weights.npz"), *t.weights_of(run))
    """),
        encoding="utf-8",
    )

    def go(kill_after, folder):
        return subprocess.run(
            [sys.executable, program, ROOT, str(kill_after), tmp_path / folder / "run.npz"],
            env={**os.environ, "MPLBACKEND": "Agg"},
        ).returncode

    assert go(-1, "whole") == 0
    assert (
        go(17, "killed") == -signal.SIGKILL and not (tmp_path / "killed" / "weights.npz").exists()
    )
    assert go(20, "killed") == -signal.SIGKILL  # and once more
    assert go(-1, "killed") == 0
    one, two = (np.load(tmp_path / folder / "weights.npz") for folder in ("whole", "killed"))
    assert len(one.files) == 4 and all(np.array_equal(one[name], two[name]) for name in one.files)


def test_a_checkpoint_is_plain_arrays_and_gives_back_what_was_saved(tmp_path):
    run = trainer(Adam, 0.01, dropout=0.2)
    run.fit(pairs(16), 1)
    run.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz", allow_pickle=False) as members:
        assert all(members[name].dtype.kind in "biuf" for name in members.files)
    assert repr(load_state(tmp_path / "run.npz")) == repr(snapshot(run))


def test_files_that_are_not_checkpoints_are_refused_and_change_nothing(tmp_path):
    np.savez(tmp_path / "foreign.npz", weights=np.ones(3))
    save_state(tmp_path / "part.npz", {"model": {}})
    for name in ("foreign.npz", "part.npz"):
        run = trainer()
        before = weights_of(run)
        with pytest.raises(CheckpointError, match=re.escape(name)):
            run.load(tmp_path / name)
        assert same(before, weights_of(run)) and run.epoch == 0
    with pytest.raises(FileNotFoundError):
        trainer().load(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            lambda: new_trainer_of(Sequential(Dense(5, 17), ReLU(), Dense(17, 3))),
            "shape",
        ),
        (lambda: trainer(SGD), "options"),
        (lambda: trainer(Adam, dropout=0.5), "unknown|missing|generators"),
        (lambda: trainer(Adam, accumulate=2), "accumulate=1"),
        (lambda: trainer(Adam, schedule=lambda o: StepLR(o, 3)), "without a schedule"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused_and_changes_nothing(tmp_path, other, message):
    run = trainer(Adam)
    run.fit(pairs(16), 1)
    run.save(tmp_path / "run.npz")
    run = other()
    before = repr(snapshot(run))
    with pytest.raises(CheckpointError, match=message):
        run.load(tmp_path / "run.npz")
    assert repr(snapshot(run)) == before


def test_fewer_batches_than_were_done_are_refused(tmp_path):
    run = trainer()
    for group in lesson.remaining(run, pairs(16), lesson.microbatches):
        run.results += run.step(group)
        run.epoch_step += 1
    with pytest.raises(ValueError, match="for 2 only: they are not the batches of that run"):
        run.fit(pairs(16)[:2], 1)


# Losses and gradients that are nan or inf


class Root(Module):
    def forward(self, x):
        return (x * 0).sqrt() + x


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda m: m[0].weights.data.__setitem__((2, 3), np.nan),
            "0 Dense: its parameter weights holds inf or nan",
        ),
        (
            lambda m: m[2].bias.data.__setitem__(1, np.inf),
            "2 Dense: its parameter bias holds inf or nan",
        ),
        (
            lambda m: m[0].weights.data.__setitem__(slice(None), 3e38),
            "0 Dense: it computed inf or nan from finite numbers",
        ),
        (
            lambda m: setattr(m, "1", lambda x: (x * 100).exp()),
            "computed inf or nan from finite numbers",
        ),
    ],
)
def test_a_loss_that_is_not_finite_names_the_layer(spoil, message):
    run = trainer()
    spoil(run.model)
    before, names = weights_of(run), {*vars(run.model), "training"}
    with (
        np.errstate(all="ignore"),
        pytest.raises(NonFiniteError, match=f"epoch 1, step 1: .*{message}"),
    ):
        run.fit(pairs(16), 1)
    assert (
        all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before, weights_of(run)))
        and vars(run.model).keys() == names
    )
    assert all("forward" not in vars(part) for part in run.model.modules())


def test_a_loss_of_nan_from_finite_outputs_is_not_blamed_on_a_layer():
    model = Sequential(Dense(2, 1, rng=0))
    batch = (Tensor(np.ones((3, 2), "float32")), Tensor(np.ones((3, 1), "float32")))

    def loss(outputs, targets):
        return ((outputs - targets) * 0).mean() + np.nan

    run = Trainer(model, SGD(model.parameters()), loss, show=False)
    with pytest.raises(NonFiniteError, match="outputs of the model are finite: the loss function"):
        run.fit([batch], 1)


def test_a_gradient_that_is_not_finite_names_the_parameter():
    manual_seed(0)
    model = Sequential(Dense(5, 4), Root(), Dense(4, 3))
    before = [p.data.copy() for p in model.parameters()]
    with (
        np.errstate(all="ignore"),
        pytest.raises(NonFiniteError, match="the gradient of 0.bias is not"),
    ):
        Trainer(model, SGD(model.parameters(), lr=0.1), cross_entropy, show=False).fit(pairs(16), 1)
    assert same(before, [p.data for p in model.parameters()])


def test_tools_leave_no_trace():
    run = trainer(Adam, 0.01, dropout=0.3)
    run.fit(pairs(16), 1)
    run.model[0].eval()
    before, modes = repr(snapshot(run)), [part.training for part in run.model.modules()]
    rates, losses = lesson.learning_rate_range(
        run.model, cross_entropy, run.optimizer, pairs(16), 1e-4, 1e4, 200
    )
    assert len(rates) == len(losses) and 1e-4 < lesson.suggest_learning_rate(rates, losses) < 1
    learned = overfit_one_batch(run.model, cross_entropy, run.optimizer, *pairs(8)[0], steps=300)
    assert learned[-1] < 0.2 * learned[0]
    assert (
        repr(snapshot(run)) == before and [part.training for part in run.model.modules()] == modes
    )


def test_tanh_networks_learn_the_clouds():
    manual_seed(2)
    model = Sequential(Dense(5, 12), Tanh(), Dense(12, 3))
    run = Trainer(
        model, AdamW(model.parameters(), lr=0.02), cross_entropy, {"accuracy": accuracy}, show=False
    )
    run.fit(pairs(16, count=600), 12)
    assert run.evaluate(pairs(50, count=600, seed=9))["accuracy"] > 0.7
