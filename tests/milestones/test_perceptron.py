"""Learning is a curve, and the pictures show the boundary on its way."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tinytorch.core.layers import Dense

PATH = Path(__file__).resolve().parents[2] / "modules" / "milestones" / "01_1958_perceptron.py"


@pytest.fixture(scope="module")
def perceptron():
    spec = importlib.util.spec_from_file_location("perceptron", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_learns_in_many_epochs_until_there_are_no_mistakes(perceptron, seed):
    rng = np.random.default_rng(seed)
    points, labels = perceptron.clouds(400, rng)
    layer = Dense(2, 1, rng=seed)
    mistakes, updates = perceptron.train(layer, points, labels)
    assert len(mistakes) >= 15 and mistakes[0] > 40 and mistakes[-1] == 0
    assert len(updates) == sum(mistakes)
    assert updates[-1] == (*layer.weights.data[:, 0].tolist(), layer.bias.item())
    assert perceptron.accuracy(layer, points, labels) == 1


def test_boundaries_after_some_updates_are_small_multiples(perceptron):
    pytest.importorskip("matplotlib").use("Agg")
    points, labels = perceptron.clouds(50, np.random.default_rng(0))
    updates = [(1.0, 1.0, float(n)) for n in range(120)]
    figure = perceptron.draw([80, 40, 0], updates, points, labels)
    titles = [axis.get_title().split(":")[0] for axis in figure.axes]
    counts = ["1 update", "10 updates", "50 updates", "100 updates", "120 updates"]
    assert titles[:5] == counts
