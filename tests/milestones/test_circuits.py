"""Milestone 07: what it measures on networks whose circuit is known."""

import numpy as np
import pytest
from programs import program

from tinytorch.core.interpretability import AttentionOnly
from tinytorch.core.layers import manual_seed
from tinytorch.support.checkpoints import load_state

milestone = program("09_2022_circuits")


def built():
    manual_seed(0)
    return AttentionOnly(64, 47, 64, 2, 2)


def test_a_patch_map_of_an_untrained_network_has_the_changed_token_and_the_last_position():
    found = milestone.patch_map(built(), 0, pairs=2)
    assert found.shape == (3, 30)
    assert found[0, 9] == pytest.approx(1) and found[2, 29] == pytest.approx(1)
    assert np.allclose(found[0, np.arange(30) != 9], 0, atol=1e-4)
    assert np.allclose(found[2, :29], 0, atol=1e-4)  # nothing reads a stream after the last layer


def test_a_network_that_guesses_has_the_loss_of_guessing_and_no_induction_score():
    model = built()
    model.head.weights.data[...] = 0
    loss, score = milestone.measure(model, 0)
    assert loss == pytest.approx(np.log(64), abs=1e-4) and score < 0.1


def test_training_ends_when_the_loss_is_low_enough(monkeypatch):
    monkeypatch.setattr(milestone, "ENOUGH", 9.0)
    _, losses = milestone.train(0)
    assert len(losses) == 10


@pytest.mark.slow
def test_a_run_measures_three_seeds_and_saves_one_network(monkeypatch, capsys, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    path = tmp_path / "circuits.npz"
    for name, value in {"STEPS": 2, "SINGLE": 2, "place": lambda name: path}.items():
        monkeypatch.setattr(milestone, name, value)
    train = milestone.train
    monkeypatch.setattr(milestone, "train", lambda *a, **k: train(*a, **{**k, "steps": 2}))
    measured, figure = milestone.run(1)
    said = capsys.readouterr().out
    assert [f"seed {n}: loss" in said for n in range(5)] == [False, True, True, True, False]
    assert set(measured) == {
        "induction score",
        "path 9, 10, last",
        "any other cell",
        "loss of two layers",
        "loss of one layer",
    }
    assert len(figure.axes) == 2 and "interpretability-which-circuit" in said
    milestone.network().load_state_dict(load_state(path))


@pytest.mark.slow
def test_the_circuit_is_found():
    model, losses = milestone.train(0)
    loss, score = milestone.measure(model, 0)
    found = milestone.patch_map(model, 0)
    assert loss < 0.1 and score > 0.9 and len(losses) < 500
    assert min(found[0, 9], found[1, 10], found[2, 29]) > 0.95
    assert (abs(found) > 0.3).sum() == 3
