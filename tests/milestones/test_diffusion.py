"""Milestone 07: the noise that is added and removed, and the measures that judge the samples."""

import importlib
from functools import partial

import numpy as np
import pytest
from programs import program

from tinytorch.core.data import digits
from tinytorch.core.layers import Module, manual_seed
from tinytorch.core.tensor import Tensor

milestone = program("07_2020_diffusion")


class Certain(Module):
    """A denoiser that always predicts the same digit."""

    def __init__(self, digit):
        self.digit = digit

    def forward(self, noisy, steps, labels):
        return Tensor(np.broadcast_to(self.digit, noisy.shape))


class AlwaysZero(Module):
    """A classifier that reads every image as 0."""

    def forward(self, images):
        return Tensor(np.eye(10)[[0] * len(images.data)])


def real():
    images, labels = digits("train").arrays
    return images.reshape(-1, 64) * 2 - 1, labels


def test_noise_replaces_the_digit_step_by_step_until_nothing_is_left():
    kept = milestone.KEPT
    assert kept[0] == pytest.approx(0.999) and (np.diff(kept) < 0).all() and kept[-1] < 1e-4


def test_samples_have_in_each_step_as_much_noise_as_a_digit_in_training():
    digit = np.linspace(-1, 1, 64)
    states = milestone.sample(Certain(digit), np.zeros(500, int), np.random.default_rng(0))
    assert len(states) == 101
    for removed in (0, 1, 50, 90, 99):
        kept = milestone.KEPT[99 - removed]
        assert abs(states[removed].mean(axis=0) - np.sqrt(kept) * digit).max() < 0.2
        assert states[removed].var(axis=0).mean() == pytest.approx(1 - kept, rel=0.03)
    assert np.allclose(states[-1], digit)


def test_a_predicted_pixel_beyond_white_or_black_is_clipped():
    states = milestone.sample(Certain(np.full(64, 3.0)), np.zeros(2, int), np.random.default_rng(0))
    assert np.allclose(states[-1], 1)


def test_a_denoiser_learns_to_use_the_noisy_digit_and_its_class(monkeypatch):
    monkeypatch.setattr(milestone, "SHOWN", ())
    manual_seed(0)
    rng, (images, labels) = np.random.default_rng(0), real()
    model = milestone.train(images[:1000], labels[:1000], rng, steps=150)
    images, labels = images[1000:], labels[1000:]

    def error(predicted):
        return np.mean((predicted - images) ** 2)

    found = []
    for step in (5, 30):
        kept, steps = milestone.KEPT[step], np.full(len(images), step)
        noisy = np.sqrt(kept) * images + np.sqrt(1 - kept) * rng.standard_normal(images.shape)
        found.append(error(model(noisy, steps, labels).data))
        assert found[-1] < 0.98 * error(model(noisy, steps, (labels + 1) % 10).data)
    assert found[0] < found[1] < 0.3 * error(noisy / np.sqrt(kept))


def test_distances_are_of_pixels_from_0_to_1():
    black, white = np.ones((1, 64)), -np.ones((2, 64))
    assert np.allclose(milestone.distances(black, white), [[8, 8]])


def test_variety_compares_no_image_with_itself_or_with_another_class():
    images = np.repeat([[-1.0], [0.0], [1.0], [1.0]], 64, axis=1)
    assert milestone.variety(images, np.array([0, 0, 1, 1])) == pytest.approx((4 + 0) / 2)


def test_each_simpler_way_to_draw_fails_one_measure():
    rng, (images, labels) = np.random.default_rng(0), real()
    wished = np.arange(60) % 10
    drawn = milestone.simpler_ways(milestone.Denoiser(), images, labels, wished, rng)
    copies, means, noisy, _ = (
        milestone.judge(digit, wished, images, AlwaysZero()) for digit in drawn.values()
    )
    assert copies[0] == pytest.approx(0.1) and copies[1].max() < 1e-6 and copies[2] > 2
    assert 0.9 < means[1].mean() < 1.1 and means[2] < 1e-6
    assert noisy[1].mean() > 1.4


@pytest.mark.slow
def test_a_run_shows_samples_and_what_each_way_to_draw_measures(monkeypatch, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.setattr(importlib.import_module("03_1989_digits_mlp"), "EPOCHS", 1)
    monkeypatch.setattr(milestone, "SHOWN", (2,))
    train = milestone.train
    monkeypatch.setattr(milestone, "train", lambda *given: train(*given, steps=2))
    measured, figure = milestone.run(1)
    said = capsys.readouterr().out
    assert "step 2 of 2: loss" in said and "█" in said
    rows = said[said.index("right class") :].splitlines()[1:]
    assert [row[:27].strip() for row in rows] == [
        "test digits",
        "samples",
        "copies of training digits",
        "class means",
        "class means with noise",
        "one step of denoising",
    ]
    assert set(measured) == {
        "samples of the requested class",
        "relative difference of the distance to training digits",
        "variety relative to test digits",
    }
    assert len(figure.axes) == 2


@pytest.mark.slow
def test_samples_are_of_the_requested_class_and_neither_copies_nor_all_alike(monkeypatch):
    """After 2,000 of the 9,000 steps nearly all are: the later ones add variety."""
    monkeypatch.setattr(milestone, "train", partial(milestone.train, steps=2000))
    monkeypatch.setattr(milestone, "SAMPLES", 200)
    measured, _ = milestone.run(0)
    assert measured["samples of the requested class"] >= 0.98
    assert measured["relative difference of the distance to training digits"] <= 0.25
    assert measured["variety relative to test digits"] >= 0.65
