"""Test a lesson at each save, in a warm process that forks: NumPy and pytest are loaded once.

In a terminal single keys work (h hint, l list, n next lesson, o the page of results, q quit), and
it asks for predictions; elsewhere it only watches, until Ctrl-C.
"""

import errno
import hashlib
import json
import os
import queue
import signal
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass

from tito import views
from tito.errors import MachineError, TitoError
from tito.learn import notebook_sync, progress, results, status, verdict
from tito.learn.keys import single_keys
from tito.learn.process import Process, Superseded

KEYS = "h hint  l list  n next lesson  o open the results  q quit"
PATIENCE = 0.5  # seconds without a word
EMPTY = hashlib.sha256().hexdigest()
HALF_SECONDS = 0.25  # what looks like half a save gets so long to become whole


@dataclass
class Watcher:
    """What goes on while a lesson is watched.

    `out` prints renderables, `show` a verdict, `warn` a sentence.
    """

    entry: object
    out: object
    show: object
    warn: object
    process: Process
    events: queue.SimpleQueue
    keys: object = None

    @property
    def has_keys(self):
        return self.keys is not None

    def serve(self):
        """Answer events about one lesson. Returns the lesson to go on with, or None to end."""
        events = self.events
        tested = self.test()
        while (event := events.get()) != "q":
            if event == "save" and _now(self.entry) != tested:  # equal: what we wrote ourselves
                tested = self.test()
            elif event == "h":
                self.tell(lambda: views.hint(status.hint(self.entry, None, self.warn), "h"))
            elif event == "l":
                rows = status.rows(self.entry.root, self.warn)
                self.out(views.status(self.entry.root, rows, status.next_step(rows)))
            elif event == "o":
                self.open_page()
            elif event == "n":
                later = [
                    entry for entry in self.entry.root.lessons if entry.number > self.entry.number
                ]
                if later:
                    return later[0]
                self.out("This is the last lesson.")
            elif event == "broken":
                raise MachineError(
                    f"{self.entry.script.parent} cannot be watched.",
                    "Is the folder still there? `tito init .` puts back what is missing.",
                )
        return None

    def test(self):
        """Test and show the verdict.

        Returns the hashes of what it is about, or None when a newer event ended the test.
        """
        before, result, problem, ruled = _now(self.entry), None, None, False

        def checked(checks):
            nonlocal ruled
            timer.cancel()
            ruled = True
            self.rule()
            self.out(views.checked(checks))

        try:
            with self.sign_of_life() as timer:
                result = verdict.test(
                    self.entry, process=self.process, warn=self.warn, checked=checked
                )
        except Superseded:
            return None
        except TitoError as error:  # one bad save must not end the watching
            problem = error
        if not ruled:
            self.rule()
        if problem:
            self.out(f"tito: {problem.what}", f"      {problem.remedy}")
        else:
            self.show(self.entry, result, True, self.has_keys, self.ask if self.keys else None)
        self.out(
            f"Watching {self.entry.relative(self.entry.script)}."
            + ("" if self.has_keys else " Ctrl-C ends it.")
        )
        if self.has_keys:
            self.out(KEYS)
        after = _now(self.entry)
        side = "notebook" if result and result.source.endswith(".ipynb") else "script"
        agreed = (
            progress.load(self.entry.root, self.warn)["lessons"]
            .get(self.entry.name, {})
            .get("pair")
        )
        return after if after.get(side) == before.get(side) and after == agreed else before

    def rule(self):
        """Draw a line between what was and what comes."""
        if sys.stdout.isatty():
            self.out("\n" + "─" * min(60, os.get_terminal_size().columns))

    def ask(self, question):
        """The learner's prediction, "" without one. Whatever else happens comes first: a save ends
        the question.
        """
        self.out(question)
        self.keys.ask_line()  # first, or what is typed as soon as the prompt stands would be lost
        sys.stdout.write("your prediction? (enter to see) ")
        sys.stdout.flush()
        while True:
            event = self.events.get()
            if isinstance(event, tuple):
                return event[1]
            if event in ("save", "q", "broken"):
                self.keys.drop_line()
                self.events.put(event)
                self.out("")
                return ""

    def open_page(self):
        """Open the page of the lesson's results in a browser, where there is one."""
        page = results.page_of(self.entry)
        if not page.exists():
            self.out("There are no results yet.")
        elif results.open_page(page):
            self.out(f"{self.entry.relative(page)} is open in the browser.")
        else:
            self.out("No browser opens here. Open this page:", self.entry.relative(page))

    @contextmanager
    def sign_of_life(self):
        """Say that something is going on, if it takes long and somebody may look. Yields a timer
        to cancel once there is something to see.
        """
        timer = threading.Timer(PATIENCE, self.out, ["testing ..."])
        if sys.stdout.isatty():
            timer.start()
        try:
            yield timer
        finally:
            timer.cancel()

    def tell(self, make):
        try:
            self.out(make())
        except TitoError as error:
            self.out(f"{error.what} {error.remedy}")


def watch(entry, out, show, warn):
    """Watch a lesson until q, Ctrl-C, SIGTERM or the end of the terminal.

    Shows a verdict at the start and after each save.
    """
    events = queue.SimpleQueue()
    with _ending(), Process(warm=True) as process:

        def tell(event):
            events.put(event)
            if event in ("save", "n", "q"):
                process.supersede()

        with single_keys(tell) as keys:
            while entry:
                with _saves(entry, tell):
                    entry = Watcher(entry, out, show, warn, process, events, keys).serve()
    try:
        out("Stopped watching.")
        sys.stdout.flush()
    except OSError:  # nobody listens any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _now(entry):
    """What the lesson's files hold now, as hashes."""
    try:
        return notebook_sync.hashes(entry)
    except TitoError as error:  # not readable at the moment
        return {"problem": error.what}


@contextmanager
def _saves(entry, tell):
    """Tell "save" whenever the lesson's content changes."""
    import watchfiles

    stop = threading.Event()
    looked, last = _stats(entry), _now(entry)

    def look():
        nonlocal looked, last
        half, since = None, 0
        try:
            for _ in watchfiles.watch(
                entry.script.parent,
                watch_filter=None,
                debounce=100,
                step=10,
                rust_timeout=300,
                stop_event=stop,
                yield_on_timeout=True,
                recursive=False,
            ):
                # Editors touch and rename; only new content counts. What looks like half a
                # save gets a moment to be done.
                stats = _stats(entry)
                if stats == looked and not half:
                    continue
                looked, now = stats, _now(entry)
                if now == last:
                    half = None
                elif _is_half(entry, now) and (
                    now != half or time.monotonic() - since < HALF_SECONDS
                ):
                    half, since = now, since if now == half else time.monotonic()
                else:
                    half, last = None, now
                    tell("save")
        except OSError:
            tell("broken")

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        watcher.join(timeout=2)


def _stats(entry):
    stats = []
    for path in (entry.script, entry.notebook):
        try:
            stat = path.stat()
            stats.append((stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
        except OSError:
            stats.append(None)
    return stats


def _is_half(entry, hashes):
    """Whether a file may be in the middle of being saved: gone, empty,
    or a notebook that breaks off.
    """
    if hashes.get("script") in (None, EMPTY):
        return True
    try:
        json.loads(entry.notebook.read_bytes())
    except FileNotFoundError:
        pass
    except (OSError, ValueError, RecursionError):
        return True
    return False


@contextmanager
def _ending():
    """End in good order on Ctrl-C, SIGTERM and the end of the terminal: once, and without a
    word to a terminal that is gone.
    """
    numbers = [
        getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
    ]

    def end(number, frame):
        for other in numbers:
            signal.signal(other, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in numbers:
        if (
            number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN
        ):  # `nohup tito watch` goes on
            signal.signal(number, end)
    try:
        yield
    except KeyboardInterrupt:
        pass
    except OSError as error:
        if error.errno not in (errno.EIO, errno.EPIPE):
            raise
