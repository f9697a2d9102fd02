"""Milestone 06: distributions by enumeration, and what its race reports."""

import itertools
import re

import numpy as np
import pytest
from programs import program, small

from tinytorch.core.activations import softmax
from tinytorch.core.generation import speculative
from tinytorch.core.layers import manual_seed
from tinytorch.core.transformers import GPT

milestone = program("06_2020_generation")


def test_accepted_tokens_have_the_large_models_distribution():
    assert milestone.speculative_distance() < 1e-9


@pytest.mark.parametrize(
    "wrong",
    [
        lambda p, q, token, rng: (True, token),
        lambda p, q, token, rng: (rng.random() * q[token] < p[token], token),
        lambda p, q, token, rng: (
            (True, token) if rng.random() * q[token] < p[token] else (False, rng.choice(3, p=p))
        ),
    ],
    ids=["always", "kept", "from p"],
)
def test_a_wrong_rule_has_another_distribution(monkeypatch, wrong):
    monkeypatch.setattr(milestone, "accept", wrong)
    assert milestone.speculative_distance() > 0.1


class Draw:
    """A number between 0 and `scale` that is not known yet: a comparison decides, both ways."""

    def __init__(self, rng, scale=1.0):
        self.rng, self.scale = rng, scale

    def __mul__(self, factor):
        return Draw(self.rng, self.scale * factor)

    def __lt__(self, bound):
        share = min(1.0, bound / self.scale)
        return bool(self.rng.branch([1 - share, share]))


class Branching(np.random.Generator):
    """A generator that takes, run by run, each branch of each draw; `.weight` is the probability
    of the branches of a run."""

    def __init__(self, script):
        super().__init__(np.random.PCG64(0))
        self.script, self.draws, self.weight = script, 0, 1.0

    def branch(self, p):
        if self.draws == len(self.script):
            self.script.append([list(np.flatnonzero(p)), 0])
        possible, at = self.script[self.draws]
        self.draws += 1
        self.weight *= p[possible[at]]
        return possible[at]

    def random(self, size=None):
        return Draw(self)

    def choice(self, a, size=None, p=None):
        return self.branch(p)


def outcomes(run):
    """{result: probability} of everything that run(rng) can return, as tuples."""
    found, script = {}, []
    while True:
        rng = Branching(script)
        out = run(rng)
        found[out] = found.get(out, 0) + rng.weight
        while script and script[-1][1] == len(script[-1][0]) - 1:
            script.pop()
        if not script:
            return found
        script[-1][1] += 1


class Draft:
    """Thinks that a token is followed by another one rather than by itself."""

    def next(self, ids):
        p = np.full(2, 0.8)
        p[ids[-1]] = 0.2
        return p


def test_speculative_decoding_has_the_distribution_of_the_large_model_by_enumeration():
    manual_seed(0)
    model = GPT(2, 8, 4, 1, 1)
    for p in model.parameters():
        p.data *= 20  # so that probabilities are far from 1/2
    found = outcomes(lambda rng: tuple(speculative(model, Draft(), [[1]], 3, 2, rng)[0][0, 1:]))
    assert abs(sum(found.values()) - 1) < 1e-9
    for text in itertools.product(range(2), repeat=3):
        p = softmax(model(np.array([[1, *text]]))).data[0]
        exact = np.prod([p[i, token] for i, token in enumerate(text)], dtype=float)
        assert abs(found[text] - exact) < 1e-5


def test_the_interval_of_nine_values_leaves_one_out_at_each_end():
    assert milestone.interval([9, 1, 8, 2, 5, 4, 6, 3, 7]) == (5, 2, 8)


def test_each_way_runs_once_in_each_round():
    calls = []
    ways = {name: lambda name=name: calls.append(name) for name in "abc"}
    seconds = milestone.race(ways, 4, np.random.default_rng(0))
    assert [len(times) for times in seconds.values()] == [4, 4, 4]
    assert [sorted(calls[i : i + 3]) for i in range(0, 12, 3)] == [[*"abc"]] * 4


@pytest.mark.slow
def test_a_run_takes_the_weights_of_2018_and_writes_in_three_ways(monkeypatch, tmp_path, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    small(monkeypatch, tmp_path, milestone)
    for name, value in {"TOKENS": 8, "CONTEXT": 64, "LONG": 1, "EVERY": 8, "ROUNDS": 3}.items():
        monkeypatch.setattr(milestone, name, value)
    measured, figure = milestone.run(0)
    assert measured["same tokens with and without cache"] == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "step 12: " in said and "Rotary positions replace 16 learned ones" in said
    old, _, new = map(float, re.findall(r"\d+ tokens of context +([\d.]+)", said))
    assert measured["gain over the GPT of 2018"] == pytest.approx(1 - new / old, abs=1e-3)
    assert ("too cheap" in said) == (float(re.search("is ([0-9.]+) times", said)[1]) < 1)
    measured, _ = milestone.run(0)
    assert "step 12: " not in capsys.readouterr().out  # the weights were there
    assert len(figure.axes) == 2
