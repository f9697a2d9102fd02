"""The pictures of lesson 20, and the training steps that it measures."""

import numpy as np
import pytest
from svg_contents import assert_on_page, cells

from tinytorch.pictures.acceleration import (
    LEVELS,
    GPTSteps,
    amdahl_curve,
    can_have_new_memory,
    count_page_faults,
    draw_parallel,
    draw_slots,
    gpt_step,
    gradients_of_logits,
    large_gpt,
    plot_gradients,
    plot_ladder,
    plot_speeds,
    plot_throughput,
    quick_ladder,
    seconds_per_call,
    slots,
    token_batch,
)


@pytest.mark.slow
def test_all_levels_compute_the_same_losses():
    steps = [gpt_step(level) for level in LEVELS]
    losses = np.array([[step() for step in steps] for _ in range(4)])
    assert np.abs(losses - losses[:, :1]).max() <= 1e-5
    assert len(set(losses[:, 0])) == 4


def test_the_model_and_the_batches_are_always_the_same():
    a, b = large_gpt(), large_gpt()
    assert all(np.array_equal(p.data, q.data) for p, q in zip(a.parameters(), b.parameters()))
    assert sum(p.size for p in a.parameters()) == 734_336
    (x, y), (again, _) = token_batch(3, 5), token_batch(3, 5)
    assert x.shape == (3, 64) and np.array_equal(x, again) and np.array_equal(x[:, 1:], y[:, :-1])
    assert not np.array_equal(x, token_batch(3, 6)[0])


@pytest.mark.slow
def test_steps_run_in_two_processes_and_are_timed_there():
    with GPTSteps(("composed", "all fused")) as steps:
        path, processes = steps.path(), [worker.process for worker in steps.workers.values()]
        before = steps.seconds()
        losses = [step() for step in path.values()]
        assert steps.seconds() > before and np.ptp(losses) < 1e-5
    assert len(path) == (3 if can_have_new_memory() else 1)
    assert all(process.returncode is not None for process in processes)
    assert list(steps.reused()) == ["composed, reused memory", "all fused, reused memory"]
    times = quick_ladder(1)
    assert all(len(seconds) == 1 and seconds[0] > 0 for seconds in times.values())


@pytest.mark.skipif(not can_have_new_memory(), reason="only glibc has this setting")
def test_new_memory_costs_page_faults():
    new, kept, existing = [faults for _, faults, _ in count_page_faults()]
    assert new > 50 * max(1, kept, existing)


def test_static_and_continuous_slots():
    lengths = [10, 1, 1, 1, 1, 1]
    assert slots(lengths, 2, False) == [(0, 0), (1, 0), (0, 10), (1, 10), (0, 11), (1, 11)]
    assert slots(lengths, 2, True) == [(0, 0), *[(1, n) for n in range(5)]]


@pytest.mark.parametrize(
    "drawing",
    [draw_slots([10, 1, 1, 1, 1, 1], 2), draw_slots([3, 2], 3), draw_parallel()],
    ids=["lesson", "three places", "parallel"],
)
def test_every_cell_is_on_the_page(drawing):
    assert_on_page(drawing, overlap=True)


def test_a_request_is_as_wide_as_it_is_long():
    drawn = [cell.width for cell in cells(draw_slots([10, 5, 5], 1)) if cell.text]
    assert np.isclose(drawn[0], 2 * drawn[1], rtol=0.01)


def test_plots():
    times = {"composed, new memory": [0.2, 0.3, 0.1], "composed, reused memory": [0.1]}
    axes = plot_ladder(times).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [200, 100]
    axes = plot_speeds({"numpy": np.matmul, "again": np.dot}, [8, 16]).axes[0]
    assert len(axes.lines) == 2 and (axes.lines[0].get_ydata() > 0).all()
    axes = plot_throughput({1: 100, 4: 380, 16: 700}).axes[0]
    assert axes.lines[0].get_ydata()[0] == 100
    axes = amdahl_curve(lambda n: n / 2 + 0.5, 1.2, 1.4).axes[0]
    assert axes.lines[2].get_ydata().tolist() == [1.2, 1.4]
    assert seconds_per_call(lambda: sum(range(100)), 0.001) > 0


def test_most_gradients_of_logits_are_zero_in_float16():
    g = gradients_of_logits()
    assert g.shape == (8, 64, 512) and 0.5 < (g.astype("float16") == 0).mean() < 0.9
    assert sum(bar.get_height() for bar in plot_gradients(g).axes[0].patches) > g.size / 2
