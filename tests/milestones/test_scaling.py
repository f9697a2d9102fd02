"""Milestone 08: the fit of a law, its interval, and a run on tiny models."""

from dataclasses import replace

import numpy as np
import pytest
from programs import TEXT, program

milestone = program("08_2020_scaling")

import power_law  # noqa: E402  it is beside the program

SIZES = np.repeat([10_000, 20_000, 30_000, 50_000], 2)


def true_bits(sizes):
    return 1.6 + 0.7 * (np.asarray(sizes) / 20_000) ** -0.5


def test_a_fit_finds_the_law_that_made_the_points():
    law = power_law.fit(SIZES, true_bits(SIZES))
    assert law.irreducible == pytest.approx(1.6) and law.alpha == pytest.approx(0.5)
    assert law([20_000, 120_000]) == pytest.approx(true_bits([20_000, 120_000]))
    assert law.margin(120_000)[0] < 1e-6


def test_a_law_without_a_constant_is_found_too():
    law = power_law.fit(SIZES, 3 * (SIZES / 20_000) ** -0.1)
    assert law.irreducible == pytest.approx(0, abs=1e-3)
    assert law.alpha == pytest.approx(0.1, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("size", [20_000, 120_000])
def test_the_interval_contains_95_of_100_new_measurements(size):
    rng, inside = np.random.default_rng(0), []
    for _ in range(100):
        law = power_law.fit(SIZES, true_bits(SIZES) + 0.01 * rng.normal(size=8))
        new = true_bits(size) + 0.01 * rng.normal()
        inside.append(abs(law(size)[0] - new) <= law.margin(size)[0])
    assert 0.88 <= np.mean(inside) <= 1 and not all(inside)


def test_the_interval_grows_with_the_distance():
    law = power_law.fit(SIZES, true_bits(SIZES) + 0.01 * np.tile([1, -1], 4))
    margins = law.margin([50_000, 100_000, 200_000])
    assert margins[0] < margins[1] < margins[2]


def test_a_straight_line_predicts_a_power_law_without_a_constant():
    assert power_law.straight_line([1, 2, 4], [8, 4, 2], 16) == pytest.approx(0.5)


def test_a_forecast_is_compared_with_the_naive_ones(capsys):
    forecast = milestone.Forecast("Width 9", SIZES, true_bits(SIZES), 120_000)
    assert forecast.naive["no change"] == true_bits(50_000)
    forecast.announce()
    assert f"predicted before measuring: {true_bits(120_000):.3f} bits" in capsys.readouterr().out
    assert forecast.compare(true_bits(120_000)) < 1e-6
    assert "The law is the nearest" in capsys.readouterr().out
    assert forecast.compare(true_bits(50_000)) > 0.1
    said = capsys.readouterr().out
    assert "outside of the interval" in said and "The law is not the nearest" in said


@pytest.fixture
def tiny(monkeypatch):
    """The program with a short text and with models that learn for some steps."""
    import gpt_training

    monkeypatch.setattr(
        gpt_training, "load_text", lambda split: TEXT if split == "train" else TEXT[:300]
    )
    settings = milestone.settings
    small = {"vocab_size": 280, "context": 8, "batch": 2, "epochs": 1, "steps": 2}
    monkeypatch.setattr(milestone, "settings", lambda width: replace(settings(width), **small))
    monkeypatch.setattr(milestone, "PIECES", 64)
    return milestone


def test_a_wider_gpt_has_heads_of_the_same_size_and_a_lower_learning_rate():
    narrow, wide = milestone.settings(16), milestone.settings(64)
    assert (narrow.num_heads, wide.num_heads) == (2, 8) and narrow.lr == 4 * wide.lr
    assert narrow.layers == wide.layers and narrow.steps == wide.steps


def test_every_width_gets_the_same_flops_and_the_conclusion_follows_from_the_bits(capsys):
    budgets = {w: milestone.with_budget(w) for w in (*milestone.WIDTHS, milestone.LARGEST)}
    flops = [milestone.count(chosen) * chosen.steps for chosen in budgets.values()]
    assert max(flops) / min(flops) < 1.01
    assert budgets[milestone.BUDGET] == milestone.settings(milestone.BUDGET)
    for bits, said in [((3, 3, 2, 4, 5), True), ((2, 3, 4, 5, 6), False), ((6, 5, 4, 3, 2), False)]:
        rest = iter(bits)

        class Fake:
            def measure(self, width, chosen):
                return 9, next(rest)

        milestone.spend(Fake(), budgets)
        assert ("too few weights" in capsys.readouterr().out) == said


def test_a_part_of_the_text_is_spread_over_it(tiny, monkeypatch):
    texts = []
    train = milestone.train

    def spy(*words, text, **more):
        texts.append(text)
        return train(*words, text=text, **more)

    monkeypatch.setattr(milestone, "train", spy)
    whole = replace(milestone.corpus(tiny.settings(16)))
    trials = milestone.Trials(whole, 0, milestone.Screen(4, {}))
    trials.measure(16, 4)
    ids, part = whole.train_ids, texts[0].train_ids
    pieces = np.array_split(ids, 64)
    assert np.array_equal(part, np.concatenate(pieces[::4]))
    assert abs(len(part) - len(ids) / 4) <= 16 and texts[0].test_ids is whole.test_ids


def test_a_run_predicts_the_largest_before_it_is_trained(tiny, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    measured, figure = tiny.run(3)
    said = capsys.readouterr().out
    assert set(measured) == {
        "bits of error for the whole text",
        "bits of error for the largest GPT",
    }
    assert said.index("Width 80, ") < said.index("width 80, ")
    assert said.count("width 24, ") == 11 and said.count("width 80, ") == 2
    assert len(figure.axes) == 2
