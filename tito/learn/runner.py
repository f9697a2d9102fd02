"""The process that runs a lesson's checks or its demonstrations: `python -I runner.py --check`, one
request in, one line of JSON per event out.

It imports the package of one root and no other, runs each declared check under pytest with a time
limit, or the demonstrations top to bottom. It decides nothing: `verdict.py`, in the process that
started it, does. With `--show` it is for demonstrations only, with `--draw` for some that draw: it
loads matplotlib while the checks run in another. With `--serve` it answers each request in a fork.

Events: "imported" or "failed" (the import); "begin", "warning", "check" and "output" of each check;
"rest" as each demonstration begins, "shown" or "stopped" or "slow" when it ends; and "done", only
when the process came to its own end. A request of checks only gets "check" of each check of its
`exercise`, or of all, without pytest and demonstrations; and a warm process imports once what the
lesson imports.
"""

import ast
import atexit
import contextlib
import functools
import glob
import importlib.machinery
import importlib.util
import json
import os
import signal
import sys
import time
import traceback
import warnings

from tito.learn.demonstration import Screen
from tito.lesson.checks import functions_of, helpers_of, imported, remember_lines
from tito.lesson.outcome import call_in, cut, explain, none_parameters, unwritten_exercise

MOST_LATE = 2  # checks may run out of time; then the others are not tried
MOST_FRAMES = 20  # of an error are passed on
MOST_WARNINGS = 10  # of a check are told
IDLE = 0.05  # of a time span on the processor, at the most, is waiting
# Parts of pytest that no check uses; to start them would be a third of what pytest itself takes.
UNUSED = (
    "assertion cacheprovider debugging doctest faulthandler freeze_support junitxml legacypath "
    "logging monkeypatch pastebin recwarn setuponly setupplan skipping stepwise subtests "
    "terminal threadexception tmpdir unittest unraisableexception warnings"
).split()


class OutOfTime(BaseException):
    """A check ran longer than it may.

    Not an Exception, so that a learner's `except Exception` does not eat it.
    """


class Incomplete(Exception):
    """The package lacks a name that the course's lesson defines."""


class Fresh:
    """Finds the package under one root and no other, compiled from source in this
    moment, never from cached bytecode.

    `texts` ({path: text}) are the modules as the caller has read them: what
    was tested is what was read.
    """

    def __init__(self, root, package, texts):
        self.folder, self.package, self.texts = os.path.join(root, package), package, texts

    def find_spec(self, name, path=None, target=None):
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
            loader=FreshLoader(name, file, self.texts),
            submodule_search_locations=[stem] if package else None,
        )


class FreshLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, name, file, texts):
        super().__init__(name, file)
        self.texts = texts

    def get_code(self, name):
        text = self.texts.get(self.path)
        if text is None:
            text = importlib.util.decode_source(self.get_data(self.path))
        return compiled(text, self.path)


@functools.lru_cache(maxsize=256)
def compiled(text, path):
    """The code of a module. What a warm process has compiled, its forks inherit."""
    return compile(text, path, "exec", dont_inherit=True)


def compile_lower(request):
    """Compile the modules of lower lessons, which hardly ever change between two requests."""
    own = os.path.join(request["root"], request["package"], *request["module"].split(".")) + ".py"
    for path, text in request["texts"].items():
        if path != own:
            try:
                compiled(text, path)
            except Exception:  # noqa: BLE001  whoever imports it is told
                pass


def load_pyplot():
    """Import matplotlib's pyplot, where it is installed: half of what a first figure takes."""
    try:
        import matplotlib.pyplot  # noqa: F401
    except Exception:  # noqa: BLE001  whoever draws is told
        pass


def compile_others(request):
    """Compile the package's modules that no learner writes, while nothing is asked for."""
    files = os.path.join(glob.escape(request["root"]), request["package"], "**", "*.py")
    for path in glob.iglob(files, recursive=True):
        if path not in request["texts"]:
            try:
                with open(path, "rb") as source:
                    compiled(importlib.util.decode_source(source.read()), path)
            except Exception:  # noqa: BLE001  whoever imports it is told
                pass


def import_once(request):
    """Import what the lesson's module imports, for forks to inherit: whoever asks for checks only
    puts hundreds of texts of one lesson to them, and changes nothing else.
    """
    sys.meta_path.insert(0, Fresh(request["root"], request["package"], request["texts"]))
    own = f"{request['package']}.{request['module']}"
    path = os.path.join(request["root"], *own.split(".")) + ".py"
    try:
        for node in ast.parse(request["texts"][path]).body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                exec(compile(ast.Module([node], []), path, "exec", dont_inherit=True), {})
    except Exception:  # noqa: BLE001  the fork is told
        pass
    if own in sys.modules:  # by a detour: each fork imports its own
        for name in [name for name in sys.modules if name.split(".")[0] == request["package"]]:
            del sys.modules[name]
    del sys.meta_path[0]


def namespace(check, request, module):
    """What a check sees: see `tito.lesson.checks`."""
    beside = request["learner_side"]
    setup = request["setup"]
    space = imported(
        request["imports"],
        check["source"],
        *(section["source"] for section in [*beside, *setup]),
    )
    space |= {name: getattr(module, name) for name in request["names"] if hasattr(module, name)}
    for section in setup:
        remember_lines(**section)
        exec(helpers_of(**section), space)
    for section in beside:
        remember_lines(**section)
        exec(functions_of(**section), space)
    return space


def run_check(check, request, module):
    """Run one check's function. Whatever it raises passes through."""
    section = {key: check[key] for key in ("source", "file", "line")}
    if check["own"]:  # a learner's own test sees all that the lesson does
        space = dict(vars(module)) | imported(request["own_imports"], check["source"])
        missing = []
    else:
        space = namespace(check, request, module)
        missing = [name for name in request["names"] if name not in space]
    remember_lines(**section)
    exec(functions_of(**section), space)
    try:
        space[check["function"]]()
    except NameError as error:
        if error.name in missing:
            raise Incomplete(
                f"your lesson does not define {error.name}: is its cell gone, "
                "or its line `#| export`?"
            ) from None
        raise


def explained(error, request, file=""):
    """{"status", "message", "frames"} of an exception, in the learner's terms; frames are those in
    the package, outermost first.

    file  of the check that it came out of
    """
    package = os.path.join(request["root"], request["package"]) + os.sep
    trace = traceback.extract_tb(error.__traceback__)
    frames = [
        {"file": f.filename, "line": f.lineno, "code": f.line}
        for f in trace
        if f.filename.startswith(package)
    ]
    name, text, status = type(error).__name__, str(error), "error"
    if isinstance(error, OutOfTime):
        status, text = "timeout", str(error)
    elif isinstance(error, AssertionError):
        status, text = "failed", text or f"this should hold: {trace[-1].line if trace else ''}"
        frames = frames if trace and trace[-1].filename.startswith(package) else []
    elif exercise := unwritten_exercise(name, text):
        return {"status": "unwritten", "message": text, "frames": [], "unwritten": exercise}
    elif isinstance(error, Incomplete):
        frames = []
    elif isinstance(error, SystemExit):
        text = f"your code ends the program with sys.exit({error.code!r}): return a value instead"
    elif isinstance(error, RecursionError):
        text = "RecursionError: a function calls itself without end"
    elif isinstance(error, MemoryError):
        status, text = "memory", "more memory than there is"
    elif isinstance(error, SyntaxError) and (error.filename or "").startswith(package):
        frames = [
            {"file": error.filename, "line": error.lineno, "code": (error.text or "").strip()}
        ]
        text = f"SyntaxError: {error.msg}"
    else:
        nones = None
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename.startswith(package):
                nones = none_parameters(frame)
        text = explain(name, text, call_in(error, file) if file else "", nones)
    return {"status": status, "message": cut(text), "frames": frames[-MOST_FRAMES:]}


@contextlib.contextmanager
def warnings_told(request, check, emit):
    """A `with` block in which warnings that arise in the package are emitted with their frames, as
    those of an error, instead of printed with the line of whatever module issued them."""
    package = os.path.join(request["root"], request["package"]) + os.sep
    before, told = warnings.showwarning, []

    def show(message, category, *place, **options):
        frames = [
            {"file": f.filename, "line": f.lineno, "code": f.line}
            for f in traceback.extract_stack()
            if f.filename.startswith(package)
        ]
        if not frames:
            return before(message, category, *place, **options)
        told.append(message)
        if len(told) > MOST_WARNINGS:
            return
        text = cut(f"{category.__name__}: {message}")
        emit(event="warning", id=check["id"], text=text, frames=frames[-MOST_FRAMES:])

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before


def _no_debugger(*arguments, **options):
    raise RuntimeError("breakpoint() needs a terminal: run the lesson itself, `python ..._dev.py`")


def _alarm(seconds):
    """Raise OutOfTime in this process when it has computed for `seconds`,
    or waited as long (0: never).

    Time on the processor counts, so that a busy machine changes no verdict. Where there are no
    alarms, the parent's kill remains.
    """
    if not hasattr(signal, "setitimer"):
        return

    def computed(number, frame):
        raise OutOfTime(f"still running after {seconds:g} s: an endless loop?")

    def looked_at(number, frame):
        nonlocal used
        before, used = used, time.process_time()
        if used - before < seconds * IDLE:
            raise OutOfTime(f"waiting for {seconds:g} s: does it sleep, or ask for input?")

    used = time.process_time()
    signal.signal(signal.SIGPROF, computed)
    signal.signal(signal.SIGALRM, looked_at)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)


def plugin(request, module, emit):
    """The pytest plugin that makes the checks its items and reports each as an event."""
    import pytest

    class CheckItem(pytest.Item):
        def __init__(self, *, check, **kw):
            super().__init__(**kw)
            self.check = check
            self.extra_keyword_matches.add(check["exercise"])  # so that -k takes an exercise, too

        def runtest(self):
            _alarm(request["seconds"])
            try:
                with warnings_told(request, self.check, emit):
                    run_check(self.check, request, module)
            except (
                KeyboardInterrupt
            ):  # nobody pressed anything: the learner's code raised it, and pytest would stop
                raise RuntimeError("your code raises KeyboardInterrupt") from None
            finally:
                _alarm(0)

        def repr_failure(self, excinfo):
            return str(excinfo.value)

        def reportinfo(self):
            return self.check["file"], self.check["line"] - 1, self.name

    class Plugin:
        late = 0

        def pytest_collection(self, session):
            session.items = [
                CheckItem.from_parent(
                    session,
                    name=c["function"],
                    nodeid=f"{request['lesson']}::{c['function']}",
                    check=c,
                )
                for c in request["checks"]
            ]
            session.config.hook.pytest_collection_modifyitems(
                session=session, config=session.config, items=session.items
            )
            session.testscollected = len(session.items)
            return True

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_call(self, item):
            emit(event="begin", id=item.check["id"])

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_makereport(self, item, call):
            report = yield
            if call.when == "call" or call.excinfo:
                result = (
                    explained(call.excinfo.value, request, item.check["file"])
                    if call.excinfo
                    else {"status": "passed", "message": "", "frames": []}
                )
                emit(event="check", id=item.check["id"], seconds=call.duration, **result)
                self.late += result["status"] == "timeout"
                if self.late >= MOST_LATE:
                    item.session.shouldstop = "too many checks ran out of time"
            if call.when == "teardown" and (out := "".join(text for _, text in report.sections)):
                emit(event="output", id=item.check["id"], text=cut(out))
            return report

    return Plugin()


def run_pytest(request, module, emit):
    """Run the checks of the request."""
    import pytest

    arguments = [
        "-c",
        os.devnull,
        "--rootdir",
        request["root"],
        "--noconftest",
        "--capture=sys",
        *(f"-pno:{name}" for name in UNUSED),
    ]
    if request.get("keyword"):
        arguments += ["-k", request["keyword"]]
    if request.get("first_only"):
        arguments += ["-x"]
    code = pytest.main(arguments, plugins=[plugin(request, module, emit)])
    if code in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
        emit(event="refused", code=int(code))


def run_checks(request, module, emit):
    """Run the checks of the request's exercise, or all, without pytest, which takes longer than
    most checks."""
    late = 0
    for check in request["checks"]:
        if request["exercise"] not in (None, check["exercise"]):
            continue
        emit(event="begin", id=check["id"])
        began, result = time.perf_counter(), {"status": "passed", "message": "", "frames": []}
        try:
            _alarm(request["seconds"])
            run_check(check, request, module)
            _alarm(0)
        except BaseException as error:  # noqa: BLE001  as under pytest, it is the check's result
            _alarm(0)
            result = explained(error, request, check["file"])
        emit(event="check", id=check["id"], seconds=time.perf_counter() - began, **result)
        late += result["status"] == "timeout"
        if late >= MOST_LATE or request["first_only"] and result["status"] != "passed":
            return


def run_rest(request, module, emit):
    """Run the demonstrations of the request top to bottom, as `python tensor_dev.py` would.

    A lesson passes only if none fails. Slow ones are stopped, which is told and changes nothing.
    What one shows that is `known` is not taken: it runs for the names that it binds.
    """
    screen = Screen(dict(vars(module), __name__="__main__"))
    for cell in request["rest"]:
        emit(event="rest")
        remember_lines(cell["source"], cell["file"], cell["line"])
        _alarm(request["rest_seconds"])
        try:
            screen.run(cell["source"], cell["file"], cell["line"], show=not cell["known"])
        except OutOfTime:
            _alarm(0)
            emit(event="slow", cell=cell["number"], line=cell["line"])
            return
        except BaseException as error:  # noqa: BLE001  whatever stops the lesson is what is to be told
            _alarm(0)
            trace = traceback.extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in trace if frame.filename == cell["file"]]
            line = lines[-1] if lines else getattr(error, "lineno", None) or cell["line"]
            text = cut(f"{type(error).__name__}: {error}")
            emit(event="stopped", cell=cell["number"], line=line, message=text)
            return
        finally:
            _alarm(0)
        if not cell["known"]:
            emit(event="shown", cell=cell["number"], text=screen.text, pictures=screen.pictures)


def answer(request, emit):
    """Run one request from import to end, emitting events.

    What is left then is to end the process.
    """
    # Runs after the lesson's threads and its own handlers, and spares the clearing
    # away of NumPy and pytest: 15 ms.
    atexit.register(os._exit, 0)
    sys.breakpointhook = _no_debugger
    sys.meta_path.insert(0, Fresh(request["root"], request["package"], request["texts"]))
    try:
        _alarm(request["seconds"])
        module = importlib.import_module(f"{request['package']}.{request['module']}")
        _alarm(0)
    except BaseException as error:  # noqa: BLE001  sys.exit() in a lesson is one of the things to be told
        _alarm(0)
        emit(event="failed", **explained(error, request))
    else:
        emit(event="imported")
        if request.get("checks_only"):
            run_checks(request, module, emit)
        elif "rest" in request:
            run_rest(request, module, emit)
        else:
            run_pytest(request, module, emit)
    emit(event="done")


def _quiet_streams():
    """Keep the real output for events; what a learner prints goes
    nowhere but into pytest's hands.
    """
    # Open until the process is over: who reads knows by its end that this one has ended.
    out = os.fdopen(os.dup(1), "w", 1, "utf-8", "backslashreplace", closefd=False)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    return out


def main():
    """Answer one request from standard input; with `--serve`, each line's in a fork of this warm
    process.
    """
    _die_with_parent()
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    out = _quiet_streams()

    def emit(**event):
        out.write(json.dumps(event) + "\n")
        out.flush()

    purpose = sys.argv[1]
    if purpose != "--serve":
        emit(event="started", pid=os.getpid())
    import gc

    gc.disable()  # what is imported is no garbage: to look for some takes a tenth of the time
    import numpy.random  # noqa: F401  loaded while the caller still prepares the request; inherited by every fork

    if purpose in ("--show", "--draw"):
        if purpose == "--draw":
            load_pyplot()
        gc.freeze()
        gc.enable()
        answer(json.loads(requests.readline()), emit)
        return
    import pytest

    gc.freeze()  # pytest collects garbage at its end; it need not go through all of this
    gc.enable()
    if purpose == "--check":
        answer(json.loads(requests.readline()), emit)
        return
    pytest.main(["-c", os.devnull, "--version", *(f"-pno:{name}" for name in UNUSED)])
    gc.freeze()
    child, ready = None, False

    def end(number, frame):
        if child:
            os.killpg(child, signal.SIGKILL)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    for line in requests:
        request = json.loads(line)
        if not request.get("checks_only"):
            compile_lower(request)
        elif not ready:
            import_once(request)
            ready = True
        if (child := os.fork()) == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            _die_with_parent()
            requests.close()
            os.setsid()  # so that it can be killed with all that it starts
            emit(event="started", pid=os.getpid())
            answer(request, emit)
            return
        _, status = os.waitpid(child, 0)
        child = None
        emit(event="ended", code=os.waitstatus_to_exitcode(status))
        if not request.get("checks_only"):
            compile_others(request)
        if request.get("draws") and "matplotlib.pyplot" not in sys.modules:
            load_pyplot()
            gc.freeze()


def _die_with_parent():
    """On Linux, end when the process that started this one does, however it ends."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    except (ImportError, OSError, AttributeError):
        pass  # elsewhere the time limits end it


if __name__ == "__main__":
    main()
