"""Test a lesson at each save, in one process for all tests: NumPy is loaded once.

In a terminal single keys work (h hint, p predict, l list, n next lesson, o open the page, r review,
q quit); elsewhere it only watches, until Ctrl-C.
"""

import codecs
import errno
import hashlib
import json
import os
import queue
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

from tito.errors import MachineError, TitoError, WorkError
from tito.learn import lesson_page, notebook_sync, progress, runner, status
from tito.learn.demonstrations import DemonstrationResult
from tito.learn.process import Process, Superseded
from tito.learn.runner import LessonReport
from tito.learn.verdict import CheckOutcome
from tito.lesson.course import Entry
from tito.views import learner as views
from tito.views import report as report_views

if TYPE_CHECKING:
    from rich.console import RenderableType

KEYS = "hlnopqr"
WORDS = "h hint  p predict  l list  n next  o page  q quit"
REVIEW = "r a question about your code"
CTRL_C, CTRL_Z = "\x03", "\x1a"
ESCAPE = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]?|O.?|.)?")  # what arrow and function keys send
LONGEST = 500  # letters of a prediction
TOGETHER = 0.2  # seconds: letters that come so close to each other are text, and no keys
PATIENCE = 0.5  # seconds without a word
EMPTY = hashlib.sha256().hexdigest()
HALF_SECONDS = 0.25  # a file that seems half saved has as long to become whole

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Printer:
    """Functions that print: renderables, the report on a lesson, and results of demonstrations.

    The last two return the results that they have not shown.
    """

    out: Callable[..., None]
    report: Callable[..., list[DemonstrationResult]]
    results: Callable[..., list[DemonstrationResult]]


class Keyboard:
    """The keys that are pressed. Each is an event; while a question waits, they are the line of
    its answer.

    read     waits for what is typed; "" when the terminal is gone
    suspend  stops this process until the shell continues it
    """

    def __init__(self, read: Callable[[], str], tell: Tell, suspend: Callable[[], None]) -> None:
        self.read, self.tell, self.suspend = read, tell, suspend
        self.line: str | None = None  # what was typed so far of an answer
        self.answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.typed_at = -TOGETHER
        self.key = threading.Timer(0, tell)  # tells of the last key, if no letter follows it

    def listen(self) -> None:
        """Read keys until the terminal is gone."""
        with suppress(OSError):
            while typed := self.read():
                self.take(typed)
        self.tell("q")

    def take(self, typed: str) -> None:
        if os.name == "nt" and typed[0] in "\x00\xe0" and len(typed) == 2:
            return  # an arrow or function key: its second half is a letter
        for letter in ESCAPE.sub("", typed):
            if letter == CTRL_C:
                self.tell("q")
            elif letter == CTRL_Z:
                self.suspend()
            elif self.line is not None:
                self._edit(letter)
            elif letter.isprintable():
                self._press(letter.lower())

    def _press(self, letter: str) -> None:
        """Tell of a key, unless it is part of a text that is typed or pasted."""
        alone = time.monotonic() - self.typed_at > TOGETHER
        self.typed_at = time.monotonic()
        self.key.cancel()
        if alone and letter in KEYS:
            self.key = threading.Timer(TOGETHER, self.tell, [letter])
            self.key.daemon = True
            self.key.start()

    def _edit(self, letter: str) -> None:
        """Add a letter to the answer, delete the last one or, with Enter, end it."""
        line = self.line or ""
        if letter in "\r\n":
            self.line = None
            self._echo("\n")
            self.answers.put(line.strip())
            self.tell("answer")
        elif letter in "\x7f\b" and line:
            self.line = line[:-1]
            self._echo("\b \b")
        elif letter.isprintable() and len(line) < LONGEST:
            self.line = line + letter
            self._echo(letter)

    def _echo(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _read_on_windows() -> str:
    from typer import getchar  # both halves of an arrow key

    try:
        return getchar()
    except KeyboardInterrupt:
        return CTRL_C
    except EOFError:
        return "\x04"


@contextmanager
def _keyboard(tell: Tell) -> Iterator[Keyboard | None]:
    """Listen to the keyboard, if standard input is a terminal; restore it at the end."""
    if not sys.stdin.isatty():
        yield None
        return
    # A terminal in raw mode does not return to the first column by itself.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(newline="\r\n")  # type: ignore[union-attr]
    if os.name == "nt":
        keyboard = Keyboard(_read_on_windows, tell, lambda: None)
        threading.Thread(target=keyboard.listen, daemon=True).start()
        yield keyboard
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read() -> str:
        while data := os.read(descriptor, 4096):
            if text := decoder.decode(data):  # none of half a character
                return text
        return ""

    def suspend() -> None:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        os.kill(os.getpid(), signal.SIGTSTP)
        tty.setraw(descriptor, termios.TCSADRAIN)

    keyboard = Keyboard(read, tell, suspend)
    tty.setraw(descriptor, termios.TCSADRAIN)  # once: between two times a paste would be cut
    threading.Thread(target=keyboard.listen, daemon=True).start()
    try:
        yield keyboard
    finally:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


@dataclass
class Watcher:
    """The state of a watch.

    printer  the functions that print
    waiting  the results that the learner has not seen yet
    draft    what was typed of a prediction when a save came
    passed   whether the lesson has passed its last test
    """

    entry: Entry
    printer: Printer
    process: Process
    events: "queue.SimpleQueue[str]"
    keyboard: Keyboard | None = None
    waiting: list[DemonstrationResult] = field(default_factory=list)
    draft: str = ""
    passed: bool = False

    def out(self, *renderables: object) -> None:
        self.printer.out(*renderables)

    def serve(self) -> Entry | None:
        """Answer events about one lesson. Returns the lesson to go on with, or None to end."""
        hashes, warned = self.test(), False
        while (event := self._next_event()) != "q":
            leaves, warned = warned and event == "n", False
            if event == "save" and _now(self.entry) != hashes:  # equal: what tito wrote itself
                hashes = self.test()
            elif event == "h":
                self.show_hint()
            elif event == "l":
                rows = status.rows(self.entry.root)
                self.out(views.status(self.entry.root, rows, status.next_step(rows)))
            elif event == "o":
                self.open_page()
            elif event == "p":
                self.show_section()
            elif event == "r":
                self.review()
            elif event == "n":
                following = status.following(self.entry)
                if following and (leaves or self.passed):
                    return following
                warned = following is not None
                self.out(
                    f"{self.entry.name} is not finished. Press n again to go on to "
                    f"{following.name}."
                    if following
                    else "No other lesson is open."
                )
                if not hashes:  # the key has ended a test
                    hashes = self.test()
            elif event == "broken":
                raise MachineError(
                    f"{self.entry.script.parent} cannot be watched.",
                    "Is the folder still there? `tito init .` restores missing files.",
                )
        return None

    def _next_event(self) -> str:
        """Wait for an event. On Windows, Ctrl-C is noticed only between two waits."""
        while True:
            with suppress(queue.Empty):
                return self.events.get(timeout=0.2 if os.name == "nt" else None)

    def test(self) -> dict[str, Any]:
        """Test and show the report. Returns the hashes of what it is about; none when a newer
        event ended the test.
        """
        before = _now(self.entry)
        with self.sign_of_life() as timer:
            ruled = False

            def show_checks(checks: list[CheckOutcome]) -> None:
                nonlocal ruled
                timer.cancel()
                ruled = True
                self.rule()
                self.out(report_views.checked(checks))

            report, problem, process = None, None, self.process
            try:
                report = runner.test_lesson(
                    self.entry, process=process, on_checks=show_checks, on_slow=self.show_slow
                )
            except Superseded:
                return {}
            except TitoError as error:  # a bad save must not end the watch
                problem = error
        if not ruled:
            self.rule()
        if problem:
            self.out(f"tito: {problem.what}", f"      {problem.remedy}")
        if report:
            self.show(report)
        self.out(
            f"Watching {self.entry.relative(self.entry.script)}."
            + ("" if self.keyboard else " Ctrl-C ends it.")
        )
        if self.keyboard:
            self.out(WORDS, *[REVIEW] * self.passed)
        return self._hashes_shown(before, report)

    def show_slow(self, check: CheckOutcome) -> None:
        with suppress(OSError):  # the terminal is gone
            self.out(report_views.slow(check))

    def show(self, report: LessonReport) -> None:
        self.passed = report.verdict.passed
        has_keys = self.keyboard is not None
        self.waiting = self.printer.report(self.entry, report, True, has_keys)
        if self.waiting and has_keys:
            self.show_waiting()

    def show_waiting(self) -> None:
        answered = progress.predictions(self.entry)
        self.out(report_views.waiting(self.waiting, self.entry.name, answered))

    def _hashes_shown(self, before: dict[str, Any], report: LessonReport | None) -> dict[str, Any]:
        """The hashes of what was tested: after the test, where it changed only the other file."""
        after = _now(self.entry)
        is_notebook = report is not None and report.verdict.source.endswith(".ipynb")
        side = "notebook" if is_notebook else "script"
        records = progress.load(self.entry.root)["lessons"]
        agreed = records.get(self.entry.name, {}).get("pair")
        return after if after.get(side) == before.get(side) and after == agreed else before

    def rule(self) -> None:
        """Draw a line between two tests."""
        if sys.stdout.isatty():
            self.out("\n" + "─" * min(60, os.get_terminal_size().columns))

    def show_section(self) -> None:
        """Show the results that wait, to the end of the section with the next question, and ask
        for predictions.
        """
        if not self.waiting:
            self.out("There is nothing to predict now.")
            return
        number = report_views.next_question(self.waiting, progress.predictions(self.entry))
        heading = self.waiting[number].demonstration.heading
        while number < len(self.waiting) and self.waiting[number].demonstration.heading == heading:
            number += 1
        left = self.printer.results(self.entry, self.waiting[:number], self.ask)
        self.waiting = left + self.waiting[number:]
        self.show_waiting()

    def review(self) -> None:
        """Ask a question about the learner's code of this lesson."""
        from tito.learn import review
        from tito.views import review as review_views

        chosen = review.select({self.entry: []})
        asked = next(review.session(chosen), None) if self.keyboard else None
        if not asked:
            self.out(review_views.nothing(self.entry.name))
            return
        question = review_views.question(asked, 1)
        typed, self.draft = self.ask(question, "your answer (? shows it) "), ""
        with suppress(review.Edited, WorkError):  # the code is being written: another time
            if typed and asked.is_answer(typed):
                self.out(review_views.answer(asked, asked.answer(typed)))

    def ask(
        self, question: "RenderableType", prompt: str = "your prediction? (enter to see) "
    ) -> str | None:
        """The learner's prediction, "" without one. A save comes first: then it is None, and the
        question waits for the next time, with what was typed.
        """
        assert self.keyboard
        self.out(question)
        # first, or what is typed as soon as the prompt is there is lost
        self.keyboard.line, typed = self.draft, self.draft
        sys.stdout.write(f"{prompt}{typed}")
        sys.stdout.flush()
        while True:
            event = self._next_event()
            if event == "answer":
                self.draft = ""
                return self.keyboard.answers.get()
            if event in ("save", "q", "broken"):
                self.draft, self.keyboard.line = self.keyboard.line or "", None
                self.events.put(event)
                self.out("")
                return None

    def open_page(self) -> None:
        """Open the page of the lesson in a browser, where there is one."""
        page = lesson_page.write(self.entry)
        if lesson_page.open_page(page):
            self.out(f"{self.entry.relative(page)} is open in the browser.")
        else:
            self.out("No browser opens here. Open this page:", self.entry.relative(page))

    @contextmanager
    def sign_of_life(self) -> Iterator[threading.Timer]:
        """Print "testing ..." in a terminal, if it takes long. Yields the timer, to be cancelled
        once there are results.
        """
        timer = threading.Timer(PATIENCE, self.out, ["testing ..."])
        if sys.stdout.isatty():
            timer.start()
        try:
            yield timer
        finally:
            timer.cancel()

    def show_hint(self) -> None:
        try:
            self.out(views.hint(status.hint(self.entry, None), "h"))
        except TitoError as error:
            self.out(f"{error.what} {error.remedy}")


def watch(entry: Entry, printer: Printer) -> None:
    """Watch a lesson until q, Ctrl-C, SIGTERM or the end of the terminal.

    Shows a report at the start and after each save.
    """
    events: queue.SimpleQueue[str] = queue.SimpleQueue()
    processes: list[Process] = []
    following: Entry | None = entry

    def tell(event: str) -> None:
        events.put(event)
        for process in processes:
            if event == "q":
                process.stop()
            elif event in ("save", "n"):
                process.supersede()

    with _ending(tell), Process() as process:
        processes.append(process)
        with _keyboard(tell) as keyboard:
            while following:
                with _saves(following, tell):
                    watcher = Watcher(following, printer, process, events, keyboard)
                    following = watcher.serve()
    try:
        printer.out("Stopped watching.")
        sys.stdout.flush()
    except OSError:  # the terminal is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _now(entry: Entry) -> dict[str, Any]:
    """The contents of the lesson's files now, as hashes."""
    try:
        return {**notebook_sync.hashes(entry)}
    except TitoError as error:  # not readable at the moment
        return {"problem": error.what}


class Saves:
    """Whether a lesson was saved. Editors touch and rename files: only new content counts."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.stats, self.hashes = _stats(entry), _now(entry)
        self.half: dict[str, Any] | None = None  # the hashes of what looks like half a save
        self.half_since = 0.0

    def is_new(self) -> bool:
        """Whether the content is another than before. Half a save gets a moment to be done."""
        stats = _stats(self.entry)
        if stats == self.stats and not self.half:
            return False
        self.stats, now = stats, _now(self.entry)
        if now == self.hashes:
            self.half = None
            return False
        if _is_half(self.entry, now):
            if now != self.half:
                self.half, self.half_since = now, time.monotonic()
            if time.monotonic() - self.half_since < HALF_SECONDS:
                return False
        self.half, self.hashes = None, now
        return True


@contextmanager
def _saves(entry: Entry, tell: Tell) -> Iterator[None]:
    """Tell "save" whenever the lesson's content changes."""
    import watchfiles

    stop, saves = threading.Event(), Saves(entry)

    def look() -> None:
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
                if saves.is_new():
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


def _stats(entry: Entry) -> list[tuple[int, ...] | None]:
    stats: list[tuple[int, ...] | None] = []
    for path in (entry.script, entry.notebook):
        try:
            stat = path.stat()
            stats.append((stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
        except OSError:
            stats.append(None)
    return stats


def _is_half(entry: Entry, hashes: dict[str, Any]) -> bool:
    """Whether a file may be half saved: gone, empty, or a notebook that breaks off."""
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
def _ending(tell: Tell) -> Iterator[None]:
    """End in good order on Ctrl-C, SIGTERM and the end of the terminal, as on the key q, and
    without a word to a terminal that is gone.

    The handler raises nothing: in the middle of Python's own bookkeeping that would be printed and
    forgotten. What it calls, SimpleQueue.put, may be called at any moment.
    """
    numbers = [
        getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
    ]

    def end(number: int, frame: FrameType | None) -> None:
        for other in numbers:
            signal.signal(other, signal.SIG_IGN)
        tell("q")

    for number in numbers:
        # `nohup tito watch` goes on
        if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, end)
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EIO, errno.EPIPE):
            raise
