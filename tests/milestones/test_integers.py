"""Milestone 10: what it measures, on small networks."""

import re

import numpy as np
import pytest
from programs import program, small

from tinytorch.core.activations import ReLU
from tinytorch.core.layers import Dense, Flatten, Sequential, manual_seed
from tinytorch.core.quantization import QuantizedLinear, quantizable, quantize_model, size_of
from tinytorch.core.transformers import GPT

milestone = program("10_2018_integers")


def test_the_interval_is_wilsons():
    low, high = milestone.wilson(0.5, 100)
    assert low == pytest.approx(0.4038, abs=1e-3) and high == pytest.approx(0.5962, abs=1e-3)
    assert milestone.wilson(1.0, 10)[1] == pytest.approx(1, abs=1e-3)
    assert milestone.wilson(1.0, 10)[0] == pytest.approx(0.7225, abs=1e-3)


def test_bits_by_layer():
    model = milestone.by_layer(GPT(40, 8, 8, 3, 2), np.array([[1, 2, 3]]))
    assert quantizable(model) == {}
    bits = {path: part.bits for path, part in model.named_modules() if hasattr(part, "packed")}
    assert bits["embedding.matrix"] == bits["positions.matrix"] == 6
    assert {bits[path] for path in bits if path.startswith("blocks.0.")} == {5}
    assert {bits[path] for path in bits if path.startswith(("blocks.1.", "blocks.2."))} == {3}


def test_the_worst_network_counts(capsys):
    manual_seed(0)
    worst = Sequential(Flatten(), Dense(64, 10))
    large = Sequential(Flatten(), Dense(64, 128), ReLU(), Dense(128, 10))
    lost, factor = milestone.compare_digits({"worst": worst, "large": large})
    assert factor == size_of(worst) / size_of(quantize_model(worst, 4))
    said = capsys.readouterr().out
    rows = [float(row) for row in re.findall(r"([\d.]+)% right", said)]
    assert len(rows) == 8 and lost == pytest.approx(
        max(rows[0] - rows[2], rows[4] - rows[6]) / 100, abs=1e-3
    )


def test_a_run_quantizes_the_gpt_that_was_kept(monkeypatch, tmp_path, capsys):
    small(monkeypatch, tmp_path, milestone)
    networks = {"dense": Sequential(Flatten(), Dense(64, 10, rng=0))}
    monkeypatch.setattr(milestone, "digit_networks", lambda seed: networks)
    measured, figure = milestone.run(0)
    said = capsys.readouterr().out
    assert said.index("No GPT was saved") < said.index("12 steps") < said.index("step 12: ")
    assert "GPTQ, bits by layer" in said
    assert "real bits per weight" in said and "times as long: the weights are unpacked" in said
    assert measured["GPT in 4 bits: size divided by"] > 3
    assert len(figure.axes[0].lines) == 3
    milestone.run(0)
    said = capsys.readouterr().out
    assert "step 12: " not in said and "No GPT" not in said  # the weights were there


def test_the_networks_of_the_digits_milestones_are_trained(monkeypatch):
    import importlib

    for name in ("03_1989_digits_mlp", "04_1998_digits_cnn"):
        monkeypatch.setattr(importlib.import_module(name), "EPOCHS", 1)
    networks = milestone.digit_networks(0)
    assert list(networks) == ["dense", "convolutional"]
    for model in networks.values():
        layers = [type(part).__name__ for part in quantize_model(model, 4).modules()]
        assert QuantizedLinear.__name__ in layers and "Dense" not in layers
