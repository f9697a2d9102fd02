"""The process that runs a lesson's checks and demonstrations: `python -I check_process.py`.

Each line of its input is a request, answered in a fork of this process, which has NumPy loaded; the
answer is a line of JSON for each event. The fork imports the package of one root and no other, and
runs each check within its time limit, or the demonstrations from top to bottom. The verdict
is decided by `verdict.py`, in the process that started this one.

Events: "started" with the fork's pid; "import failed"; those of `run_checks.py` and `observe.py`;
"demonstration" as one begins, and "shown", "stopped" or "slow" when it ends; "done" when the fork
came to its own end; and "ended" with its exit code.
"""

import ast
import atexit
import base64
import contextlib
import functools
import gc
import glob
import importlib
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import CodeType, FrameType, ModuleType
from typing import Any, TextIO

from tito.learn.run_checks import MOST_FRAMES, CheckTimeout, Event, describe_error, run_checks
from tito.lesson.checks import CheckSuite, remember_lines
from tito.lesson.conditions import builtins_for, die_with_parent, forbid, importable, no_debugger
from tito.lesson.outcome import RUNNING, cut
from tito.lesson.random_start import restart
from tito.lesson.statements import SECONDS, Statement, statements_of

MOST_LATE = 2  # checks may run out of time; then the others are not tried
MOST_WARNINGS = 10  # of a check are passed on
LOOKS = 20  # at the time used, in a time limit
IDLE = 0.05  # of a time span on the processor, at most, counts as waiting
LETTERS = 20_000  # of what a cell prints are kept
PICTURES = 8  # of a cell are kept
COMMENT = re.compile(r"\s*#[^\n]*\Z")

Request = dict[str, Any]
Emit = Callable[[Event], None]


class FreshFinder:
    """Finds the package under one root, compiled from source now, never from cached bytecode.

    texts    {path: text} of the modules as the caller has read them: what is tested is what was
             read
    left_out {path: numbers of the statements that are not run}, because the process ended there
    emit     gets an event for each statement as it begins, and for those that stop: in the modules
             of lessons, a statement that stops does not stop the others. None: for a program that
             uses the package, which such a statement stops
    seconds  that the statements of a lesson may take together, without imports
    """

    def __init__(
        self,
        root: str,
        package: str,
        texts: Mapping[str, str],
        left_out: Mapping[str, Sequence[int]] | None = None,
        emit: Emit | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self.folder, self.package, self.texts = os.path.join(root, package), package, texts
        self.left_out, self.emit, self.seconds = left_out or {}, emit, min(seconds, SECONDS)
        self.builtins = builtins_for(package, importable)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        first, *rest = name.split(".")
        if first != self.package:
            return None
        stem = os.path.join(self.folder, *rest)
        package = stem + ".py" not in self.texts and os.path.isfile(
            os.path.join(stem, "__init__.py")
        )
        file = os.path.join(stem, "__init__.py") if package else stem + ".py"
        if not os.path.isfile(file):
            raise ModuleNotFoundError(f"there is no {name} yet (no file {file})", name=name)
        return importlib.util.spec_from_file_location(
            name,
            file,
            loader=_FreshLoader(name, file, self),
            submodule_search_locations=[stem] if package else None,
        )

    def is_learners(self, frame: FrameType) -> bool:
        """Whether a frame runs code of the package."""
        return self.holds(frame.f_code.co_filename)

    def holds(self, file: str | None) -> bool:
        """Whether a file is one of the package's."""
        return (file or "").startswith(self.folder + os.sep)


class _FreshLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, file: str, finder: FreshFinder) -> None:
        super().__init__(name, file)
        self.finder = finder
        self.is_lesson = file.startswith(os.path.join(finder.folder, "core", ""))

    def get_text(self) -> str:
        text = self.finder.texts.get(self.path)
        return importlib.util.decode_source(self.get_data(self.path)) if text is None else text

    def get_code(self, name: str) -> CodeType:
        return compiled(self.get_text(), self.path)

    def exec_module(self, module: ModuleType) -> None:
        emit = self.finder.emit
        if not (self.is_lesson and emit):
            return super().exec_module(module)
        space = vars(module)
        space["__builtins__"] = self.finder.builtins
        space.pop("__file__", None)  # in the jail there is none
        left = self.finder.seconds
        for number, (code, line, names, is_import) in enumerate(
            statements(self.get_text(), self.path)
        ):
            if number in self.finder.left_out.get(self.path, ()):
                continue
            event = {"file": self.path, "number": number, "line": line, "names": names}
            emit({"event": "statement", **event})
            began = time.process_time()
            try:
                with contextlib.nullcontext() if is_import else limited(max(left, 0.001)):
                    exec(code, space)
            except CheckTimeout:
                began = time.process_time()  # what is left out takes no time from the others
                text = RUNNING.format(self.finder.seconds)
                emit({"event": "left out", **event, "name": "", "text": text})
            except BaseException as error:  # noqa: BLE001  whatever it is, the rest counts
                name, text = type(error).__name__, cut(str(error))
                emit({"event": "left out", **event, "name": name, "text": text})
            left -= 0 if is_import else time.process_time() - began


@functools.lru_cache(maxsize=256)
def compiled(text: str, path: str) -> CodeType:
    """The code of a module. The forks of a process have what it has compiled."""
    return compile(text, path, "exec", dont_inherit=True)


@functools.lru_cache(maxsize=256)
def statements(text: str, path: str) -> list[Statement]:
    """The same of a lesson."""
    return statements_of(text, path)


def main() -> None:
    """Answer the requests on standard input until it ends."""
    die_with_parent()
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    out = _quiet_streams()

    def emit(event: Event) -> None:
        out.write(json.dumps(event) + "\n")
        out.flush()

    gc.disable()  # imported modules are no garbage: to look for some takes a tenth of the time
    import numpy.random  # noqa: F401  loaded while the caller prepares the request; for every fork

    gc.freeze()
    gc.enable()
    preloaded = False
    for line in requests:
        request = json.loads(line)
        if request["preload"] and not preloaded:
            _import_lower(request)
            preloaded = True
        if not hasattr(os, "fork"):  # the caller starts another process for the next request
            threading.Thread(target=_end_with, args=[requests], daemon=True).start()
            emit({"event": "started", "pid": os.getpid()})
            answer(request, emit)
            return
        if _fork(request, emit):
            requests.close()
            return


def _end_with(requests: TextIO) -> None:
    """End when the caller is gone, and with it the other end of the pipe."""
    requests.read()
    os._exit(1)


def _fork(request: Request, emit: Emit) -> bool:
    """Answer a request in a fork, and get ready for the next meanwhile. Returns True in the fork,
    which is to end then.
    """
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        die_with_parent()
        os.setsid()  # so that it can be killed with all processes that it starts
        emit({"event": "started", "pid": os.getpid()})
        answer(request, emit)
        return True

    def kill_group() -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)

    def end(number: int, frame: FrameType | None) -> None:
        kill_group()
        os._exit(0)

    def report_end() -> None:
        _, status = os.waitpid(child, 0)
        kill_group()  # what the lesson started, and did not end
        emit({"event": "ended", "code": os.waitstatus_to_exitcode(status)})

    signal.signal(signal.SIGTERM, end)
    waiting = threading.Thread(target=report_end)
    waiting.start()
    if request["draws"]:
        _load_pyplot()
    waiting.join()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if not request["preload"]:
        _compile_package(request)
    return False


def answer(request: Request, emit: Emit) -> None:
    """Answer one request. After it, the process only has to end."""
    # Runs after the lesson's threads and its own handlers, and spares the clearing away of NumPy.
    atexit.register(os._exit, 0)
    sys.breakpointhook = no_debugger
    where, options = (request["root"], request["package"], request["texts"]), request["left_out"]
    finder = FreshFinder(*where, options, emit, request["seconds"])
    sys.meta_path.insert(0, finder)
    restart()
    if not request["demonstrations"]:
        os.chdir(os.path.abspath(os.sep))  # what is beside the learner is not in the jail
        sys.addaudithook(forbid)
    try:
        with limited(request["seconds"]):
            module = importlib.import_module(f"{request['package']}.{request['module']}")
    except BaseException as error:  # noqa: BLE001  sys.exit() in a lesson, too, is reported
        failure = describe_error(error, finder.is_learners)
        if isinstance(error, SyntaxError) and finder.holds(error.filename):
            code = (error.text or "").strip()
            failure["message"] = f"SyntaxError: {error.msg}"
            failure["frames"] = [{"file": error.filename, "line": error.lineno, "code": code}]
        emit({"event": "import failed", **failure})
    else:
        names = vars(module)
        if request["demonstrations"]:
            _run_demonstrations(request, names, emit)
        elif observed := request["observed"]:
            from tito.learn import observe

            with (
                contextlib.suppress(CheckTimeout),
                observe.observing(observed, module, limited, emit),
            ):
                _run_suites(request, names, finder, emit)
        else:
            _run_suites(request, names, finder, emit)
    emit({"event": "done"})


def _run_suites(request: Request, names: dict[str, Any], finder: FreshFinder, emit: Emit) -> None:
    """Run the requested checks of the course, and the learner's own."""
    course, own = (CheckSuite.from_json(request[key]) for key in ("suite", "own_suite"))
    exported = {name: names[name] for name in ("__name__", *course.names) if name in names}
    late = 0
    for suite, space in ((course, exported), (own, names)):
        failed: set[str] = set()
        recorder = Recorder(request["seconds"], finder)
        process = finder.is_learners, recorder.record, request["package"]
        for event in run_checks(suite, space, request["ids"], *process):
            if event["event"] == "check":
                event |= {"output": cut(recorder.output.text()), "warnings": recorder.warnings}
                section = event["id"].partition(".")[0]
                if event["status"] in ("failed", "error") and not request["first_only"]:
                    if failed - {section}:  # it may follow from another: run it once more
                        again = run_checks(suite, space, [event["id"]], *process)
                        event["called"] = recorder.called_by(again)
                    failed.add(section)
            emit(event)
            late += event.get("status") == "timeout"
            wrong = event.get("status", "passed") != "passed"
            if late >= (1 if request["observed"] else MOST_LATE) or wrong and request["first_only"]:
                return


class Recorder:
    """Limits the time of each check, and keeps what the check prints and the warnings that arise in
    the package under test, with their frames.
    """

    def __init__(self, seconds: float, finder: FreshFinder) -> None:
        self.seconds, self.finder = seconds, finder
        self.output = LimitedText()
        self.warnings: list[dict[str, Any]] = []

    @contextlib.contextmanager
    def record(self) -> Iterator[None]:
        self.output, self.warnings = LimitedText(), []
        self.show_warning, warnings.showwarning = warnings.showwarning, self._keep_warning
        streams = contextlib.redirect_stdout(self.output), contextlib.redirect_stderr(self.output)
        try:
            with streams[0], streams[1], limited(self.seconds):
                yield
        except KeyboardInterrupt:  # raised by the learner's code, not by a key
            raise RuntimeError("your code raises KeyboardInterrupt") from None
        finally:
            warnings.showwarning = self.show_warning

    def called_by(self, checks: Iterator[Event]) -> list[Event]:
        """Where the package's functions are that these checks call."""
        codes: set[CodeType] = set()
        sys.setprofile(lambda frame, event, argument: codes.add(frame.f_code))
        list(checks)
        sys.setprofile(None)
        own = [code for code in codes if self.finder.holds(code.co_filename)]
        return [{"file": c.co_filename, "line": c.co_firstlineno, "code": None} for c in own]

    def _keep_warning(
        self, message: Any, category: type[Warning], *place: Any, **options: Any
    ) -> None:
        frames = [
            {"file": f.filename, "line": f.lineno, "code": f.line}
            for f in traceback.extract_stack()
            if self.finder.holds(f.filename)
        ]
        if not frames:
            self.show_warning(message, category, *place, **options)
        elif len(self.warnings) < MOST_WARNINGS:
            text = cut(f"{category.__name__}: {message}")
            self.warnings.append({"text": text, "frames": frames[-MOST_FRAMES:]})


def _run_demonstrations(request: Request, names: dict[str, Any], emit: Emit) -> None:
    """Run the demonstrations from top to bottom, as `python tensor_dev.py` would.

    A lesson passes only if none fails. A slow one is stopped, which is reported and changes
    nothing. One that is `known` runs for the names that it binds, and what it shows is not taken.
    """
    screen = Screen(dict(names, __name__="__main__"))
    for cell in request["demonstrations"]:
        emit({"event": "demonstration", "cell": cell["number"]})
        remember_lines(cell["source"], cell["file"], cell["line"])
        try:
            with limited(request["demonstration_seconds"]):
                screen.run(cell["source"], cell["file"], cell["line"], show=not cell["known"])
        except CheckTimeout:
            seconds = request["demonstration_seconds"]
            emit({"event": "slow", "cell": cell["number"], "seconds": seconds})
            return
        except BaseException as error:  # noqa: BLE001  whatever stops the lesson is reported
            trace = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in trace if frame.filename == cell["file"]]
            line = lines[-1] if lines else getattr(error, "lineno", None) or cell["line"]
            text = cut(f"{type(error).__name__}: {error}")
            emit({"event": "stopped", "cell": cell["number"], "line": line, "message": text})
            return
        if not cell["known"]:
            shown = {"text": screen.text, "pictures": screen.pictures}
            emit({"event": "shown", "cell": cell["number"], **shown})


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """A `with` block that raises CheckTimeout when this process has computed, or waited, for
    `seconds` in it.

    Time on the processor counts, so that a busy machine changes no verdict. Where there are no
    alarms, the caller ends the process.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return
    began = used = time.process_time()
    looks = 0

    def look(number: int, frame: FrameType | None) -> None:
        nonlocal began, used, looks
        now, looks = time.process_time(), looks + 1
        if now - began >= seconds:
            began = now  # if the exception is swallowed, another one comes as late
            raise CheckTimeout(f"still running after {seconds:g} s: an endless loop?")
        if looks % LOOKS == 0:
            before, used = used, now
            if used - before < seconds * IDLE:
                raise CheckTimeout(f"waiting for {seconds:g} s: does it sleep, or ask for input?")

    # No timer of processor time: it would make the clock that a learner reads advance in steps.
    before = signal.signal(signal.SIGALRM, look)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds / LOOKS, seconds / LOOKS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)  # of a block around this one, or none
        signal.signal(signal.SIGALRM, before)


# What a demonstration shows.


class LimitedText(io.TextIOBase):
    """A stream that keeps the first `LETTERS` characters of its text."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.room, self.lost = LETTERS, False

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.parts.append(text[: self.room])
        self.lost |= len(text) > self.room
        self.room -= len(self.parts[-1])
        return len(text)

    def text(self) -> str:
        return "".join(self.parts) + ("\n... cut here" if self.lost else "")


class Screen:
    """Where cells run, one after the other, in the names `space`; and what the last one showed:
    text, and pictures as {"kind": "svg" or "png", "data": base64}.
    """

    def __init__(self, space: dict[str, Any]) -> None:
        self.space = space | {"display": self.display}
        self.stream = LimitedText()
        self.pictures: list[dict[str, str]] = []

    def run(self, source: str, file: str, line: int, show: bool = True) -> None:
        """Run a cell's code. What it raises passes through; what it showed until then is kept,
        but for the figures of matplotlib if not `show`.
        """
        self.stream, self.pictures = LimitedText(), []
        tree = ast.parse("\n" * (line - 1) + source, file)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(self.stream), contextlib.redirect_stderr(self.stream):
            exec(compile(tree, file, "exec", dont_inherit=True), self.space)
            if isinstance(last, ast.Expr):
                code = compile(ast.Expression(last.value), file, "eval", dont_inherit=True)
                value = eval(code, self.space)
                if value is not None and not _is_quiet(source):
                    self.display(value)
            self._take_figures(show)

    def display(self, *values: object) -> None:
        """Show values: their picture where they have one, else their text."""
        for value in values:
            draw = getattr(value, "_repr_svg_", None)
            if draw:
                self._add_picture("svg", draw().encode("utf-8"))
            elif not _is_plot(value):  # plots are shown when the cell ends
                print(value if isinstance(value, str) else repr(value), file=self.stream)

    def _take_figures(self, show: bool) -> None:
        """Keep the figures of matplotlib that are open, if `show`, and close them."""
        if not (pyplot := sys.modules.get("matplotlib.pyplot")):
            return
        for number in pyplot.get_fignums() if show else ():
            figure, data = pyplot.figure(number), io.BytesIO()
            is_written_on = any(axes.images and axes.texts for axes in figure.axes)
            kind = "png" if is_written_on else "svg"
            figure.savefig(data, format=kind, dpi=110)
            self._add_picture(kind, data.getvalue())
        pyplot.close("all")

    def _add_picture(self, kind: str, data: bytes) -> None:
        if len(self.pictures) < PICTURES:
            self.pictures.append({"kind": kind, "data": base64.b64encode(data).decode("ascii")})

    @property
    def text(self) -> str:
        return self.stream.text().rstrip()


def _is_quiet(source: str) -> bool:
    """Whether the cell ends with a semicolon: then a notebook does not show its last value."""
    while match := COMMENT.search(source):
        source = source[: match.start()]
    return source.rstrip().endswith(";")


def _is_plot(value: object) -> bool:
    """Whether it is something of matplotlib's, such as what `plt.plot` returns."""
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    return type(value).__module__.startswith("matplotlib.")


# Work that is done once for all forks.


def _compile_package(request: Request) -> None:
    """Compile the package's modules, except the modules that came with the request."""
    files = os.path.join(glob.escape(request["root"]), request["package"], "**", "*.py")
    for path in glob.iglob(files, recursive=True):
        if path not in request["texts"]:
            with contextlib.suppress(Exception), open(path, "rb") as source:
                is_lesson = os.path.basename(os.path.dirname(path)) == "core"
                prepare = statements if is_lesson else compiled
                prepare(importlib.util.decode_source(source.read()), path)


def _import_lower(request: Request) -> None:
    """Import what the lesson's module imports: for the author's gate, which asks about hundreds of
    texts of one lesson and changes nothing else.
    """
    where = request["root"], request["package"], request["texts"]
    sys.meta_path.insert(0, FreshFinder(*where, emit=lambda event: None))
    own = f"{request['package']}.{request['module']}"
    path = os.path.join(request["root"], *own.split(".")) + ".py"
    with contextlib.suppress(Exception):  # the fork says what is wrong
        for node in ast.parse(request["texts"][path]).body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                exec(compile(ast.Module([node], []), path, "exec", dont_inherit=True), {})
    if own in sys.modules:  # imported by a lower lesson: each fork imports its own
        for name in [name for name in sys.modules if name.split(".")[0] == request["package"]]:
            del sys.modules[name]
    del sys.meta_path[0]


def _load_pyplot() -> None:
    """Import matplotlib's pyplot, where it is installed: half the time of a first figure."""
    if "matplotlib.pyplot" not in sys.modules:
        with contextlib.suppress(Exception):  # the demonstration that draws says what is wrong
            importlib.import_module("matplotlib.pyplot")
        gc.freeze()


def _quiet_streams() -> TextIO:
    """The real output, for events; what a lesson prints outside its checks goes nowhere."""
    # Open until the process is over: the caller knows by its end that the process has ended.
    out = os.fdopen(os.dup(1), "w", 1, "utf-8", "backslashreplace", closefd=False)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    return out


if __name__ == "__main__":
    main()
