"""The process that runs a lesson's checks: `python -I runner.py`, one request in, one line of JSON per event out.

It imports the package of one root and no other, runs each declared check under pytest with a time limit, then the rest
of the lesson top to bottom. It decides nothing: `verdict.py`, in the process that started it, does.

Events: "imported" or "failed" (the import); "begin", "check" and "output" of each check; "rest" as each cell of the
rest begins, "stopped" when it did not end; and "done", only when the process came to its own end.
"""

import ast
import atexit
import functools
import importlib.machinery
import importlib.util
import json
import linecache
import os
import re
import signal
import sys
import traceback

MOST_LATE = 2  # checks may run out of time; then the others are not tried
MOST_FRAMES = 20  # of an error are passed on
LONGEST = 4000  # characters of a learner's message or output that are passed on
# Parts of pytest that no check uses; to start them would be a third of what pytest itself takes.
UNUSED = (
    "assertion cacheprovider debugging doctest faulthandler freeze_support junitxml legacypath logging monkeypatch pastebin recwarn setuponly setupplan "
    "skipping stepwise subtests terminal threadexception tmpdir unittest unraisableexception warnings"
).split()


class OutOfTime(BaseException):
    """A check ran longer than it may. Not an Exception, so that a learner's `except Exception` does not eat it."""


class Incomplete(Exception):
    """The package lacks a name that the course's lesson defines."""


class Fresh:
    """Finds the package under one root and no other, compiled from source in this moment, never from cached bytecode.

    `texts` ({path: text}) are the modules as the caller has read them: what was tested is what was read.
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
        return (
            self.source_to_code(self.get_data(self.path), self.path)
            if text is None
            else compiled(text, self.path)
        )


@functools.lru_cache(maxsize=64)
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


def imported(request, *sources):
    """What the lesson's import statements bind, of those that these sources use: drawing, say, takes long to import."""
    words = set(re.findall(r"\w+", "\n".join(sources)))
    space = {"__name__": "check"}
    for statement, names in request["imports"].items():
        if words & set(names):
            exec(statement, space)
    return space


def namespace(check, request, module):
    """What a check sees: the lesson's imports, the names that its exported cells define, and those of its learner-side cells."""
    space = imported(
        request, check["source"], *(cell["source"] for cell in request["learner_side"])
    )
    space |= {name: getattr(module, name) for name in request["names"] if hasattr(module, name)}
    for cell in request["learner_side"]:
        remember_lines(cell)
        exec(compile("\n" * (cell["line"] - 1) + cell["source"], cell["file"], "exec"), space)
    return space


@functools.cache  # a cell holds several checks
def check_functions(source, filename, line=1):
    """Code that defines a check cell's functions without calling the tests on its last lines."""
    tree = ast.parse("\n" * (line - 1) + source, filename)
    tree.body = [node for node in tree.body if not _calls_test(node)]
    return compile(tree, filename, "exec")


def _calls_test(node):
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id.startswith("test_")
    )


def run_check(check, request, module):
    """Run one check's function. Whatever it raises passes through."""
    if check["own"]:
        space = dict(vars(module)) | imported(
            request, check["source"]
        )  # a learner's own test sees all that the lesson does
        missing = []
    else:
        space = namespace(check, request, module)
        missing = [name for name in request["names"] if name not in space]
    remember_lines(check)
    exec(check_functions(check["source"], check["file"], check["line"]), space)
    try:
        space[check["function"]]()
    except NameError as error:
        if error.name in missing:
            raise Incomplete(
                f"your lesson does not define {error.name}: is its cell gone, or its line `#| export`?"
            ) from None
        raise


def remember_lines(cell):
    """Let tracebacks show the cell's own lines."""
    lines = ("\n" * (cell["line"] - 1) + cell["source"]).splitlines(True)
    linecache.cache[cell["file"]] = (0, None, lines, cell["file"])


def explain(error, request):
    """{"status", "message", "frames"} of an exception, in the learner's terms; frames are those in the package, outermost first."""
    package = os.path.join(request["root"], request["package"]) + os.sep
    trace = traceback.extract_tb(error.__traceback__)
    frames = [
        {"file": f.filename, "line": f.lineno, "code": f.line}
        for f in trace
        if f.filename.startswith(package)
    ]
    text, status = str(error), "error"
    if isinstance(error, OutOfTime):
        status, text = "timeout", f"still running after {request['seconds']:g} s: an endless loop?"
    elif isinstance(error, AssertionError):
        status, text = "failed", text or f"this should hold: {trace[-1].line if trace else ''}"
        frames = frames if trace and trace[-1].filename.startswith(package) else []
    elif isinstance(error, NotImplementedError) and " is yours to write" in text:
        return {"status": "failed", "message": text, "frames": [], "unwritten": text.split()[1]}
    elif isinstance(error, Incomplete):
        frames = []
    elif isinstance(error, SystemExit):
        text = f"your code ends the program with sys.exit({error.code!r}): return a value instead"
    elif isinstance(error, RecursionError):
        text = "RecursionError: a function calls itself without end"
    elif isinstance(error, SyntaxError) and (error.filename or "").startswith(package):
        frames = [
            {"file": error.filename, "line": error.lineno, "code": (error.text or "").strip()}
        ]
        text = f"SyntaxError: {error.msg}"
    else:
        forgotten = isinstance(error, (AttributeError, TypeError)) and "'NoneType' object" in text
        text = (f"{type(error).__name__}: {text}" if text else type(error).__name__) + (
            ". Does a function lack its `return`?" if forgotten else ""
        )
    return {"status": status, "message": _cut(text), "frames": frames[-MOST_FRAMES:]}


def _no_debugger(*arguments, **options):
    raise RuntimeError("breakpoint() needs a terminal: run the lesson itself, `python ..._dev.py`")


def _alarm(seconds):
    """Raise OutOfTime in this process after `seconds` (0: never). Where there are no alarms, the parent's kill remains."""
    if hasattr(signal, "setitimer"):

        def ring(signum, frame):
            raise OutOfTime

        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _cut(text):
    return (
        text
        if len(text) <= LONGEST
        else f"{text[:LONGEST]} ... ({len(text) - LONGEST} characters more)"
    )


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
                    explain(call.excinfo.value, request)
                    if call.excinfo
                    else {"status": "passed", "message": "", "frames": []}
                )
                emit(event="check", id=item.check["id"], seconds=call.duration, **result)
                self.late += result["status"] == "timeout"
                if self.late >= MOST_LATE:
                    item.session.shouldstop = "too many checks ran out of time"
            if call.when == "teardown" and (out := "".join(text for _, text in report.sections)):
                emit(event="output", id=item.check["id"], text=_cut(out))
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


def run_rest(request, module, emit):
    """Run the lesson's other cells top to bottom, as `python tensor_dev.py` would: a lesson passes only if it runs to its end."""
    space = dict(vars(module), __name__="__main__", display=print)
    for cell in request["rest"]:
        emit(event="rest")
        remember_lines(cell)
        _alarm(request["rest_seconds"])
        try:
            exec(compile("\n" * (cell["line"] - 1) + cell["source"], cell["file"], "exec"), space)
        except BaseException as error:  # noqa: BLE001  whatever stops the lesson is what is to be told
            _alarm(0)
            lines = [
                frame.lineno
                for frame in traceback.extract_tb(error.__traceback__)
                if frame.filename == cell["file"]
            ]
            line = lines[-1] if lines else getattr(error, "lineno", None) or cell["line"]
            late = isinstance(error, OutOfTime)
            text = (
                f"still running after {request['rest_seconds']:g} s"
                if late
                else f"{type(error).__name__}: {error}"
            )
            emit(event="stopped", cell=cell["number"], line=line, message=_cut(text))
            return
        finally:
            _alarm(0)


def answer(request, emit):
    """Run one request from import to end, emitting events. What is left then is to end the process."""
    # Runs after the lesson's threads and its own handlers, and spares the clearing away of NumPy and pytest: 15 ms.
    atexit.register(os._exit, 0)
    sys.breakpointhook = _no_debugger
    sys.meta_path.insert(0, Fresh(request["root"], request["package"], request["texts"]))
    passed = []

    def count(**event):
        if event["event"] == "check" and event["status"] == "passed":
            passed.append(event["id"])
        emit(**event)

    try:
        _alarm(request["seconds"])
        module = importlib.import_module(f"{request['package']}.{request['module']}")
        _alarm(0)
    except BaseException as error:  # noqa: BLE001  sys.exit() in a lesson is one of the things to be told
        _alarm(0)
        emit(event="failed", **explain(error, request))
    else:
        emit(event="imported")
        run_pytest(request, module, count)
        if {check["id"] for check in request["checks"] if not check["own"]} <= set(passed):
            run_rest(request, module, emit)
    emit(event="done")


def _quiet_streams():
    """Keep the real output for events; what a learner prints goes nowhere but into pytest's hands."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace", buffering=1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    return out


def main():
    """Answer one request from standard input; with `--serve`, each line's in a fork of this warm process."""
    _die_with_parent()
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    out = _quiet_streams()

    def emit(**event):
        out.write(json.dumps(event) + "\n")
        out.flush()

    serve = sys.argv[1:] == ["--serve"]
    if not serve:
        emit(event="started", pid=os.getpid())
    import gc

    import numpy.random  # noqa: F401  loaded while the caller still prepares the request; inherited by every fork
    import pytest

    gc.freeze()  # pytest collects garbage at its end; it need not go through all of this
    if not serve:
        answer(json.loads(requests.readline()), emit)
        return
    pytest.main(["-c", os.devnull, "--version", *(f"-pno:{name}" for name in UNUSED)])
    gc.freeze()
    child = None

    def end(number, frame):
        if child:
            os.killpg(child, signal.SIGKILL)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    for line in requests:
        request = json.loads(line)
        compile_lower(request)
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


def _die_with_parent():
    """On Linux, end when the process that started this one does, however it ends."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    except (ImportError, OSError, AttributeError):
        pass  # elsewhere the time limits end it


if __name__ == "__main__":
    main()
