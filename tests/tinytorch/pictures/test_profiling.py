"""The pictures of lesson 19."""

import numpy as np
import pytest
from svg_contents import assert_on_page, elements, texts

from tinytorch.core.profiling import Machine
from tinytorch.pictures.profiling import (
    SimulatedComputer,
    aa_test,
    draw_intervals,
    draw_kept,
    draw_order,
    draw_roofline,
    draw_runs,
    draw_shares,
    page_faults,
    page_faults_of,
    winners,
)


def lines(drawing, kind):
    return [line for line in elements(drawing, "polyline") if line.get("class").split()[1] == kind]


def test_an_interval_without_1_is_thick_and_red_and_counted():
    drawing = draw_intervals({"left": [(0.9, 1.1), (1.01, 1.02), (0.5, 0.8)], "right": [(1, 1)]})
    assert len(lines(drawing, "wrong")) == 2 and len(lines(drawing, "value")) == 2
    assert all(line.get("stroke-width") == "3" for line in lines(drawing, "wrong"))
    assert "a winner in 2 of 3" in texts(drawing) and "a winner in 0 of 1" in texts(drawing)
    assert_on_page(drawing)


def test_the_shortest_red_interval_can_be_seen_and_the_longest_is_cut():
    drawing = draw_intervals({"a": [(1.0001, 1.0002), (0.01, 0.02)], "b": [(1, 1)]})
    for line in lines(drawing, "wrong"):
        (x1, _), (x2, _) = (map(float, point.split(",")) for point in line.get("points").split())
        assert 6 <= x2 - x1 + 1e-6 and 0 <= x1 and x2 <= drawing.width


def test_a_program_is_compared_with_itself_in_both_ways():
    found = aa_test(lambda: None, pairs=3, rounds=5, rng=0)
    assert list(found) == ["one after the other", "interleaved"]
    for intervals in found.values():
        assert len(intervals) == 3 and all(low <= high for low, high in intervals)


def test_a_simulated_computer_has_the_same_times_again_and_drifts():
    def times(seed, **options):
        computer, readings = SimulatedComputer(seed, **options), [0.0]
        for _ in range(2000):
            computer.program()
            readings.append(computer.clock())
        return np.diff(readings)

    first = times(1)
    assert np.array_equal(first, times(1)) and not np.array_equal(first, times(2))
    assert 0.0008 < np.median(first) < 0.0012 < 3 * np.median(first) < first.max()
    drifting, steady = (np.median(t.reshape(20, 100), axis=1) for t in (first, times(1, drift=0)))
    assert drifting.max() > 1.1 * drifting.min() and steady.max() < 1.05 * steady.min()
    assert winners([(0.9, 1.1)]) == 0


def test_the_runs_have_lines_for_minimum_median_and_mean():
    axes = draw_runs([1e-6, 2e-6, 2e-6, 7e-6]).axes[0]
    assert [text.get_text() for text in axes.texts] == ["minimum 1", "median 2", "mean 3"]
    assert axes.lines[0].get_ydata() == pytest.approx([1, 2, 2, 7])


def test_each_program_has_its_median():
    axes = draw_order("abab", [0.001, 0.002, 0.003, 0.004], "title").axes[0]
    assert [text.get_text() for text in axes.texts] == ["a: 2.000", "b: 3.000"]


def test_the_roof_bends_at_the_ridge_point():
    machine = Machine(2e9, 1e9)
    points = {"dot": (600.0, 100.0, 1e-6), "low": (10.0, 1000.0, 1e-6)}
    axes = draw_roofline(machine, points).axes[0]
    slope, level = axes.lines[:2]
    assert slope.get_xdata()[1] == level.get_xdata()[0] == 2 and level.get_ydata()[1] == 2
    assert np.allclose(slope.get_ydata() / slope.get_xdata(), 1)
    assert axes.lines[3].get_xdata() == [6] and np.isclose(axes.lines[3].get_ydata(), 0.6)
    assert {"dot", "low"} <= {text.get_text() for text in axes.texts}


def test_shares_add_up_to_100():
    axes = draw_shares({"x": {"time": 1, "bytes": 9}, "y": {"time": 3, "bytes": 1}}).axes[0]
    assert sorted(bar.get_width() for bar in axes.patches) == pytest.approx([10, 25, 75, 90])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["y", "x"]


def test_kept_memory_has_the_largest_bar_first():
    axes = draw_kept({"small": 1_000_000, "large": 3_000_000}).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [3, 1]


@pytest.mark.skipif(page_faults() == 0, reason="the system does not count page faults")
def test_only_new_memory_costs_page_faults():
    out = np.empty(8_000_000)
    assert page_faults_of(lambda: np.ones(8_000_000)) > 10
    assert page_faults_of(lambda: np.add(out, 1, out=out)) == 0
