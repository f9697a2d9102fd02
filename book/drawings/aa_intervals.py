"""A/A tests on a simulated computer, one experiment after another; lesson 19, whose `seconds`,
`race` and `ratio_interval` measure them.
"""

import math

import numpy as np
from figure import Figure, Panel, button, choice

from tinytorch.core.profiling import race, ratio_interval, seconds
from tinytorch.pictures.profiling import SimulatedComputer, winners

DRIFTS = {"drift": ("drifts", 0.01), "steady": ("has a steady speed", 0.0)}
WAYS = {"apart": "one after the other", "turns": "interleaved"}
EXPERIMENTS, PAIRS, ROUNDS = 6, 40, 40
LIMIT = 1.2  # ratios from 1 / LIMIT to LIMIT are drawn
WIDTH, MIDDLE, HALF, TOP, STEP = 358, 176, 160, 44, 4  # pixels


def figures():
    states = {
        name: [experiment(seed, drift) for seed in range(EXPERIMENTS)]
        for name, (_, drift) in DRIFTS.items()
    }
    first = states["drift"][0]
    steps = [told([one["winners"] for one in states[name][:2]], name) for name in DRIFTS]
    controls = choice(
        "the computer", "aa_intervals-drift", {key: text for key, (text, _) in DRIFTS.items()},
        "drift",
    ) + button("Again", "again")  # fmt: skip
    return [
        Figure(
            "aa_intervals",
            "A/A tests on a simulated computer",
            "Both sides of each comparison are the same program, so a winner is a mistake; on a "
            "computer that drifts, interleaving keeps these mistakes near 5 %.",
            [panel(way, first) for way in WAYS],
            steps,
            controls,
            {"states": states, "pairs": PAIRS, "computers": {k: t for k, (t, _) in DRIFTS.items()}},
            lesson="profiling",
            section="A/A tests",
            after="compares a program with itself, to test the method",
        )
    ]


def experiment(seed, drift):
    """`PAIRS` A/A tests in both ways, for JSON: winners and lines of each."""
    computer, rng = SimulatedComputer(seed, drift), np.random.default_rng(seed)
    program, clock = computer.program, computer.clock
    intervals = {"apart": [], "turns": []}
    for _ in range(PAIRS):
        a, b = (seconds(program, ROUNDS, clock=clock) for _ in "ab")
        intervals["apart"].append(ratio_interval(a, b, rng=rng))
        times = race({"a": program, "b": program}, ROUNDS, rng, clock)
        intervals["turns"].append(ratio_interval(times["a"], times["b"], rng=rng))
    return {
        "winners": [winners(intervals[way]) for way in WAYS],
        "lines": {way: paths(intervals[way]) for way in WAYS},
    }


def paths(intervals):
    """{"value": ..., "wrong": ...}: the intervals with and without 1, as data of two paths."""
    data = {"value": "", "wrong": ""}
    for row, (low, high) in enumerate(intervals):
        left, right = (place(ratio) for ratio in (low, high))
        kind = "value" if low <= 1 <= high else "wrong"
        wider = max(0, 6 - (right - left)) / 2 if kind == "wrong" else 0
        y = TOP + row * STEP
        data[kind] += f"M{left - wider:.0f},{y}h{max(1, right - left + 2 * wider):.0f}"
    return data


def place(ratio):
    """Pixels from the left; a ratio outside of the panel is put at its edge."""
    return MIDDLE + HALF * min(1, max(-1, math.log(ratio) / math.log(LIMIT)))


def told(counts, name):
    """What the experiments so far say, in words. counts: a pair of winners for each."""
    apart, turns = (sum(column) for column in zip(*counts))
    tests = PAIRS * len(counts)
    return (
        f"A computer that {DRIFTS[name][0]}: of {tests} A/A tests, {apart} declare a winner when "
        f"the sides run one after the other, and {turns} when they are interleaved; 5 % would be "
        f"{tests // 20}."
    )


def panel(way, state):
    count = state["winners"][list(WAYS).index(way)]
    drawing = Panel(
        f"A/A tests, {WAYS[way]}", f"{count} of {PAIRS} intervals do not contain the ratio 1",
        WIDTH, TOP + PAIRS * STEP + 24,
    )  # fmt: skip
    drawing.text(2, 16, WAYS[way], anchor="start", bold=True)
    drawing.text(WIDTH - 2, 16, f"a winner in {count} of {PAIRS}", anchor="end")
    drawing.key(f"{way} text")
    bottom = TOP + PAIRS * STEP
    drawing.line((MIDDLE, TOP - 12), (MIDDLE, bottom), kind="text", width=1)
    for kind, width in (("value", 1.5), ("wrong", 3)):
        drawing.parts.append(
            f'<path class="line {kind}" data-key="{way} {kind}" style="stroke-width:{width}" '
            f'd="{state["lines"][way][kind]}"/>'
        )
    for ratio, anchor in ((1 / LIMIT, "start"), (1, "middle"), (LIMIT, "end")):
        drawing.text(place(ratio), bottom + 18, f"{ratio:.2g}", "muted", anchor)
    return drawing
