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
    lifetimes,
    network,
    numpy_step,
    plot_bytes,
    plot_ladder,
    plot_memory,
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


def test_strides_bytes_and_offsets_are_drawn():
    assert draw_strides().svg().count("<rect class=") == 26
    assert len(plot_bytes({"a": (100, 10), "b": (20, 20)}).axes[0].patches) == 4
    before, after = plot_memory([(10, 0, 1), (20, 2, 3)], [0, 0]).axes
    assert [bar.get_y() for bar in after.patches] == [0, 0]
    assert before.get_ylim() == (0, 30e-6) and after.get_ylim() == (0, 20e-6)
    assert before.patches[1].get_y() > 0


def test_the_composed_gpt_has_a_loss():
    _, loss_of, x, y = composed_gpt()
    assert abs(float(loss_of(x, y)) - np.log(1024)) < 1


def test_a_view_keeps_the_array_alive_whose_memory_it_uses():
    arrays = lifetimes(training=False)
    logits = 8 * 64 * 1024 * 4
    assert max(size for size, *_ in arrays) == logits
    assert all(0 <= first <= last for _, first, last in arrays)
    hidden = [last - first for size, first, last in arrays if size == 8 * 64 * 128 * 4]
    assert max(hidden) >= 5  # the residual stream skips the operations of a branch
    training = lifetimes(training=True)
    assert len(training) > 2 * len(arrays)
    assert max(last for *_, last in training) == 2 * max(last for *_, last in arrays) + 1
