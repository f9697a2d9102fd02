"""The pictures of lesson 11."""

import re

import numpy as np
import pytest
from svg_contents import texts

from tinytorch.core.data import digits
from tinytorch.core.layers import Dense, Sequential, manual_seed
from tinytorch.core.losses import cross_entropy
from tinytorch.core.normalization import BatchNorm1d, LayerNorm, Residual, layer_norm
from tinytorch.core.optimizers import SGD
from tinytorch.core.tensor import Tensor, Variable
from tinytorch.core.training import train_step
from tinytorch.pictures.normalization import (
    LOSSES,
    STEPS,
    draw_axes,
    draw_projection,
    draw_residual,
)


def test_axes_show_which_numbers_share_a_mean():
    drawing = draw_axes([[1, 3], [5, 3]], [0, 1])
    assert texts(drawing)[2:6] == ["1", "3", "5", "3"]
    assert "marked: mean 3, std 2" in texts(drawing) and "marked: mean 2, std 1" in texts(drawing)
    assert drawing.svg().count('class="cell value') == 8  # a column and a row, before and after
    assert "over axis 0: [1, 5] has mean 3" in drawing.description
    assert "becomes [-1, 1]" in drawing.description


def ends(drawing, kind):
    """The two ends of the arrow of a kind."""
    (path,) = re.findall(rf'<path class="line {kind}" d="M(\S+) Q\S+ (\S+)" stroke', drawing.svg())
    return [np.array(list(map(float, point.split(",")))) for point in path]


@pytest.mark.parametrize("x, g", [([1, 2, 4], [1, 0, 0]), ([3, -1, 0], [0, 2, -1])], ids=str)
def test_the_projected_gradient_agrees_with_layer_norm(x, g):
    leaf = Variable(np.array([x], "float64"))
    layer_norm(leaf, 3, eps=0).backward(np.array([g], "float64"))
    across, up = np.array([1, -1, 0]) / 2**0.5, np.array([-1, -1, 2]) / 6**0.5
    wanted = np.array([leaf.grad[0] @ across, -(leaf.grad[0] @ up)])  # y points down
    start, end = ends(draw_projection(x, g), "gradient")
    drawn = end - start
    assert np.allclose(drawn / np.linalg.norm(drawn), wanted / np.linalg.norm(wanted), atol=0.01)


def test_a_residual_block_names_its_layers():
    assert {"x", "+", "RMSNorm", "unchanged"} <= set(texts(draw_residual("RMSNorm")))


def steps_to_reach(losses, loss):
    """The index of the first of `losses` that is at most `loss`, or their number."""
    below = np.flatnonzero(np.array(losses) <= loss)
    return below[0] if len(below) else len(losses)


@pytest.mark.slow
def test_the_losses_are_what_the_networks_of_the_lesson_give():
    x, labels = digits("train").arrays
    x = x.reshape(len(x), 64)

    def network(name):
        manual_seed(0)
        parts = []
        for _ in range(20):
            if name == "residual":
                parts.append(Residual(Sequential(LayerNorm(64), Dense(64, 64), Tensor.relu)))
            else:
                norm = [BatchNorm1d(64)] if name == "batch norm" else []
                parts += [Dense(64, 64), *norm, Tensor.relu]
        last = [LayerNorm(64)] if name == "residual" else []
        return Sequential(*parts, *last, Dense(64, 10))

    def measure(name):
        model, rng = network(name), np.random.default_rng(0)
        optimizer, losses = SGD(model.parameters(), lr=0.1), []
        for _ in range(100):
            rows = rng.choice(len(x), 64, replace=False)
            losses.append(
                train_step(model, cross_entropy, optimizer, Tensor(x[rows]), labels[rows])
            )
        return np.reshape(losses, (-1, 5)).mean(1)

    measured = {name: measure(name) for name in LOSSES}
    assert {len(STEPS)} == {len(losses) for losses in [*LOSSES.values(), *measured.values()]}
    for name in ("20 layers", "residual"):
        assert np.allclose(measured[name], LOSSES[name], atol=0.05), name
    # Training with batch norm amplifies rounding, which differs between processors: the losses of
    # single steps differ by up to 0.5, but not where the curve begins, how fast it falls, nor that
    # it lies between the other two.
    drawn, losses = LOSSES["batch norm"], measured["batch norm"]
    assert abs(losses[0] - drawn[0]) < 0.15
    for loss in (2, 1.5, 1):
        assert abs(steps_to_reach(losses, loss) - steps_to_reach(drawn, loss)) <= 4, loss
    for curves in (LOSSES, measured):
        assert (np.array(curves["residual"]) < curves["batch norm"]).all()
        assert (np.array(curves["batch norm"]) < curves["20 layers"])[3:].all()
    assert 0.3 < losses[-1] < 0.8 and 0.3 < drawn[-1] < 0.8
