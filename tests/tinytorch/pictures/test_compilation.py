import re
import shutil

import numpy as np
import pytest

from tinytorch.core.compilation import groups, trace
from tinytorch.pictures.compilation import (
    NETWORKS,
    c_steps,
    composed_gpt,
    draw_groups,
    draw_strides,
    library_step,
    network,
    numpy_step,
    plot_bytes,
    plot_ladder,
    quick_ladder,
    step_times,
)


@pytest.mark.parametrize("name", NETWORKS)
def test_three_versions_of_a_training_step_compute_the_same_losses(name):
    steps = [library_step(*network(name)), numpy_step(*network(name))]
    if any(map(shutil.which, ("cc", "gcc", "clang"))):
        steps.append(c_steps(*network(name)))
    losses = np.array([[step() for _ in range(5)] for step in steps])
    assert np.allclose(losses, losses[0], 1e-4)
    assert losses[0][-1] < losses[0][0]


def test_the_ladder_has_two_or_three_bars_for_each_network(monkeypatch):
    times = quick_ladder(rounds=10)
    assert list(times) == list(NETWORKS)
    assert all(list(group)[:2] == ["library", "NumPy"] for group in times.values())
    bars = plot_ladder(times).axes[0].patches
    assert len(bars) == sum(map(len, times.values()))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert all(list(group) == ["library", "NumPy"] for group in quick_ladder(10).values())


def test_step_times_are_medians_in_microseconds():
    assert set(step_times({"a": lambda: None, "b": lambda: None}, 5)) == {"a", "b"}


def test_a_program_is_drawn_with_its_groups():
    def f(x):
        y = x.exp()
        return y / y.sum(1, keepdims=True)

    program = trace(f, np.ones((2, 3), "float32"))
    svg = draw_groups(program, groups(program)).svg()
    assert "3 steps in 2 groups" in svg and "loops 2" in svg
    assert [re.search(name, svg) is not None for name in ("exp", "sum", "div")] == [True] * 3


def test_strides_and_bytes_are_drawn():
    assert draw_strides().svg().count("<rect class=") == 26
    assert len(plot_bytes({"a": (100, 10), "b": (20, 20)}).axes[0].patches) == 4


def test_the_composed_gpt_has_a_loss():
    _, loss_of, x, y = composed_gpt()
    assert abs(float(loss_of(x, y)) - np.log(1024)) < 1
