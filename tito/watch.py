"""Test a lesson at each save, in a warm process that forks: NumPy and pytest are loaded once.

In a terminal single keys work (h hint, l list, n next lesson, q quit); elsewhere it only watches, until Ctrl-C.
"""

import os
import queue
import sys
import threading
from contextlib import contextmanager

from tito import notebook, status, verdict, views
from tito.errors import TitoError

KEYS = "h hint  l list  n next lesson  q quit"


def watch(entry, warn):
    """Watch a lesson until q, Ctrl-C or the end of a terminal. Prints a verdict at the start and after each save."""
    from tito.cli import out

    events = queue.SimpleQueue()
    stop = threading.Event()
    watcher = threading.Thread(target=_saves, args=(entry, events, stop), daemon=True)
    with verdict.Process(warm=True) as process, _single_keys(events, stop) as has_keys:
        watcher.start()
        events.put("save")
        try:
            while (event := events.get()) != "q":
                if event == "save":
                    _show(entry, process, warn, out, has_keys)
                elif event == "h":
                    _told(out, lambda: views.hint(status.hint(entry, None, warn)))
                elif event == "l":
                    rows = status.rows(entry.root, warn)
                    out(views.status(entry.root, rows, status.next_step(rows)))
                elif event == "n":
                    later = [e for e in entry.root.lessons if e.number > entry.number]
                    if later:
                        entry = later[0]
                        stop.set()
                        watcher.join()
                        stop.clear()
                        watcher = threading.Thread(target=_saves, args=(entry, events, stop), daemon=True)
                        watcher.start()
                        events.put("save")
                    else:
                        out("This is the last lesson.")
                elif event == "broken":
                    raise TitoError(f"{entry.script.parent} cannot be watched.", "Is the folder still there? `tito init .` puts back what is missing.", 3)
        except KeyboardInterrupt:
            pass
        finally:
            stop.set()
            watcher.join(timeout=2)
    out("Stopped watching.")


def _show(entry, process, warn, out, has_keys):
    from tito.cli import show_verdict, test_one

    if sys.stdout.isatty():
        out("\n" + "─" * min(60, os.get_terminal_size().columns))
    try:
        result = test_one(entry, process=process)
        show_verdict(entry, result, whole=not result.passed)
    except TitoError as error:  # one bad save must not end the watching
        out(f"tito: {error.what}", f"      {error.remedy}")
    out(f"Watching {entry.relative(entry.script)}." + (f" {KEYS}" if has_keys else " Ctrl-C ends it."))


def _told(out, make):
    try:
        out(make())
    except TitoError as error:
        out(f"{error.what} {error.remedy}")


def _saves(entry, events, stop):
    """Put "save" into the queue whenever the lesson's content changes."""
    import watchfiles

    def content():
        return notebook.hashes(entry)

    try:
        last = content()
        for _ in watchfiles.watch(entry.script.parent, watch_filter=None, debounce=100, step=10, rust_timeout=300,
                                  stop_event=stop, yield_on_timeout=True, recursive=False):
            # Editors touch and rename; only new content counts. A file that is missing for a moment is on its way.
            try:
                now = content()
            except TitoError:
                continue
            if now != last:
                last = now
                events.put("save")
    except FileNotFoundError:
        events.put("broken")


@contextmanager
def _single_keys(events, stop):
    """Put each key pressed into the queue, where standard input is a terminal. Restores the terminal at the end."""
    if not sys.stdin.isatty():
        yield False
        return
    try:
        import termios
        import tty
    except ImportError:  # Windows
        import msvcrt

        def press():
            while not stop.wait(0.05):
                if msvcrt.kbhit():
                    events.put(msvcrt.getwch().lower())

        threading.Thread(target=press, daemon=True).start()
        yield True
        return
    import select

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    leave = threading.Event()

    def press():
        while not leave.is_set():
            if select.select([descriptor], [], [], 0.1)[0]:
                events.put(os.read(descriptor, 1).decode("ascii", "replace").lower() or "q")  # "": the terminal is gone

    reader = threading.Thread(target=press, daemon=True)
    try:
        tty.setcbreak(descriptor)
        reader.start()
        yield True
    finally:
        leave.set()
        reader.join(timeout=1)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
