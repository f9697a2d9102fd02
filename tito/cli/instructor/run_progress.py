"""Show the progress of `tito grade`: a bar in a terminal, lines in a log."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tito.cli.app import progress_bar, warn

if TYPE_CHECKING:
    from tito.grading.run import Report

Line = Callable[[int, int, Callable[[], str]], None]


@contextmanager
def report_when_stopped(dry_run: bool = False) -> Iterator[None]:
    """On Ctrl-C, say what was saved."""
    try:
        yield
    except KeyboardInterrupt:
        warn(
            "stopped; nothing was written."
            if dry_run
            else "stopped. The submissions graded so far are in the gradebook; run the same "
            "command to grade the others."
        )
        raise


def progress_lines(now: Callable[[], float] = time.monotonic) -> Line:
    """A function (done, of, words) for a log: it prints a line when another tenth is done, but at
    most every 10 seconds, and otherwise each minute.

    words  a function that returns the line: most calls print nothing
    """
    last, tenth = now(), 0

    def tell(done: int, of: int, words: Callable[[], str]) -> None:
        nonlocal last, tenth
        seconds, reached = now() - last, 10 * done // max(1, of)
        if seconds >= 60 or seconds >= 10 and reached > tenth:
            last, tenth = now(), reached
            print(words(), file=sys.stderr, flush=True)

    return tell


@contextmanager
def show_class_progress(visible: bool) -> Iterator["Report"]:
    """A function that shows a run.Progress on standard error, with rate and time left: as a bar in
    a terminal, else as lines.
    """
    from tito.grading.views import progress_line

    if sys.stderr.isatty():
        with progress_bar(visible) as show:
            yield lambda progress: show(progress_line(progress), progress.done, progress.total)
    else:
        tell = progress_lines()
        yield lambda progress: tell(progress.done, progress.total, lambda: progress_line(progress))
