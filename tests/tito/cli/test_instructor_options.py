"""What the instructor's commands share."""

import os
import signal
from pathlib import Path

import pytest

from tito.cli.app import select_lessons
from tito.cli.instructor.options import ended_as_by_ctrl_c
from tito.lesson.course import open_root

ENDS = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@pytest.fixture(autouse=True)
def heeded():
    """The tests may run under nohup, in which a signal is ignored."""
    before = {name: signal.signal(getattr(signal, name), signal.SIG_DFL) for name in ENDS}
    yield
    for name, handler in before.items():
        signal.signal(getattr(signal, name), handler)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")
@pytest.mark.parametrize("name", ENDS)
def test_kill_and_the_end_of_the_terminal_end_a_run_as_ctrl_c_does(name):
    number, tidied = getattr(signal, name), []
    with pytest.raises(KeyboardInterrupt), ended_as_by_ctrl_c():
        try:
            os.kill(os.getpid(), number)
        finally:
            os.kill(os.getpid(), number)  # once more: what tidies up goes on
            tidied.append(name)
    assert tidied and signal.getsignal(number) is signal.SIG_DFL


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")
def test_what_nohup_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_as_by_ctrl_c():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_lesson_may_be_called_like_an_exercise_of_the_lesson_before_it():
    """The lesson layers has an exercise training, and kernels one on attention."""
    root = open_root(Path(__file__).parents[3])
    chosen = select_lessons(root, ["kernels", "attention", "layers", "training"], False)
    assert [entry.name for entry in chosen] == ["layers", "training", "attention", "kernels"]
