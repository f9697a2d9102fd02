"""Lines are the same anywhere; a bar is for terminals."""

import builtins
import contextlib
import io

import pytest

from tinytorch.support.display import Display

MEANS = {"loss": 0.123456, "[accuracy]": 1.0}
LINE = "epoch  7/12  loss 0.1235  [accuracy] 1  65.4 s"


class Terminal(io.StringIO):
    """Standard output that says it is a terminal."""

    def isatty(self):
        return True


def train_an_epoch(out, batches=range(10), shown=True):
    """The Display, and what it wrote into `out`."""
    with contextlib.redirect_stdout(out), Display(shown, batches, 4) as display:
        display.step(6, 3)
        display.end_epoch(7, 12, MEANS, 65.44)
    return display, out.getvalue()


def test_an_epoch_is_one_plain_line_where_there_is_no_terminal():
    display, text = train_an_epoch(io.StringIO())
    assert display.bar is None and text == LINE + "\n"


def test_nothing_is_shown_when_nobody_asked():
    display, text = train_an_epoch(Terminal(), shown=False)
    assert display.bar is None and text == ""


def test_a_terminal_gets_a_bar_and_the_same_line():
    pytest.importorskip("rich", reason="rich is not installed")
    display, text = train_an_epoch(Terminal())
    (task,) = display.bar.tasks
    assert (task.description, task.completed, task.total) == ("epoch 7", 3, 3)
    assert LINE in text


def test_a_bar_of_batches_without_a_length_has_no_end():
    pytest.importorskip("rich", reason="rich is not installed")
    (task,) = train_an_epoch(Terminal(), iter([]))[0].bar.tasks
    assert task.total is None


def test_a_terminal_without_rich_gets_the_line(monkeypatch):
    real = builtins.__import__

    def without_rich(name, *rest):
        if name.split(".")[0] == "rich":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_rich)
    display, text = train_an_epoch(Terminal())
    assert display.bar is None and text == LINE + "\n"


def test_an_error_in_the_block_ends_the_bar():
    pytest.importorskip("rich", reason="rich is not installed")
    display = Display(True, [], 1)
    with contextlib.redirect_stdout(Terminal()), pytest.raises(ZeroDivisionError), display:
        raise ZeroDivisionError
    assert not display.bar.live.is_started
