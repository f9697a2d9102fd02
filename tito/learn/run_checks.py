"""Run checks of a lesson, one after the other: for `tito test`, `watch` and `submit`, for `pytest
tests/` and the author's gate in a separate process (`check_process.py`), and for `check()` where
the chapter runs (`chapter_checks.py`).

The outcome of a check is an event, a dict. `verdict.py` and `check()` turn it into sentences.
"""

import time
import traceback
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from inspect import isgenerator
from types import FrameType
from typing import Any

from tito import import_hook
from tito.lesson.checks import (
    CheckFunction,
    CheckSuite,
    called_names,
    laws_without,
    needed_by,
    shared_code,
)
from tito.lesson.laws import Watch, add_cause
from tito.lesson.outcome import (
    LACKS,
    call_in,
    cut,
    explain,
    missing_name,
    near_name,
    none_parameters,
    owner_of,
    unwritten_exercise,
)
from tito.lesson.pictures import BESIDE
from tito.lesson.random_start import namespaces, restart

MOST_FRAMES = 20  # of an error are passed on

Event = dict[str, Any]


class CheckTimeout(BaseException):
    """A check ran longer than it may.

    Not an Exception, so that a learner's `except Exception` does not catch it.
    """


class Incomplete(Exception):
    """The lesson lacks a name that the course's lesson defines."""

    def __init__(self, name: str) -> None:
        super().__init__(LACKS.format(name, "is its cell gone, or not run yet?"))
        self.name = name


def run_checks(
    suite: CheckSuite,
    namespace: dict[str, Any],
    ids: Collection[str],
    is_learners: Callable[[FrameType], bool],
    around: Callable[[], AbstractContextManager[None]] = nullcontext,
    package: str = import_hook.PACKAGE,
) -> Iterator[Event]:
    """Run the checks with these ids, in the order of the suite, on the names of `namespace`.

    is_learners  whether a frame of an error runs the learner's code
    around       makes a `with` block for each check
    package      of the learner's modules

    Yields {"event": "begin", "id"} before each check and {"event": "check", "id", "seconds",
    "status", "message", "frames"} after it, with "unwritten" for a check that reached an exercise
    as it was released. The frames, outermost first, are the learner's code in which an error
    arose; "missing" is the name that an error says is missing. KeyboardInterrupt passes through.

    When a check runs out of time, the rest of its section is left out: it would wait as long.
    """
    late, watch = set[str](), Watch(namespace, package)
    try:
        for check in suite.checks:
            section = check.id.partition(".")[0]
            if check.id not in ids or section in late:
                continue
            yield {"event": "begin", "id": check.id}
            began = time.perf_counter()
            result: Event = {"status": "passed", "message": "", "frames": []}
            try:
                with around():
                    _run(check, suite, namespace, package, watch)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001  whatever it is, it is the check's result
                result = describe_error(error, is_learners, check.section.file)
            if result["status"] == "timeout":
                late.add(section)
            result["seconds"] = time.perf_counter() - began
            yield {"event": "check", "id": check.id, **result}
    finally:  # also in a notebook that is interrupted
        watch.close()


def _run(
    check: CheckFunction,
    suite: CheckSuite,
    namespace: dict[str, Any],
    package: str,
    watch: Watch,
) -> None:
    """Run one check. Whatever it raises passes through."""
    section, restore = check.section, restart([namespace, *namespaces(package)])
    space = dict(namespace) | {"__name__": "check"}
    for other in (*suite.setup, *suite.learner_side, section):
        other.remember()
    try:
        needed = needed_by(section, suite)
        for code in shared_code(suite.setup, needed):
            exec(code, space)
        beside = space | {"__name__": BESIDE}
        for code in shared_code(suite.learner_side, needed):
            exec(code, beside)
        space.update(beside, __name__="check")
        names = called_names(section, suite) & watch.functions.keys()
        own = [name for name in names if space[name] is namespace[name]]  # not defined anew
        watched = {name: watch.functions[name] for name in own}
        beside.update(watched)
        space.update(watched)
        watch.begin(laws_without(section.source))
        try:
            exec(section.functions, space)
            if isgenerator(results := space[check.function]()):
                [*results]  # the judge compares what a hidden check yields
            watch.replay()
        except AssertionError as error:
            add_cause(error, watch.end())
            raise
        finally:
            broken = watch.end()
        assert not broken, broken[0]
    except NameError as error:
        if error.name in suite.names and error.name not in namespace:
            raise Incomplete(error.name) from None
        raise
    finally:
        restore()


def describe_error(
    error: BaseException, is_learners: Callable[[FrameType], bool], check_file: str = ""
) -> Event:
    """{"status", "message", "frames"} of an error, in the learner's terms; and "unwritten", the
    exercise whose stub raised it, if one did, and the "file" that the stub is in.

    check_file  the file of the check that it came out of, "" for none
    """
    summaries = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    learners = [
        (frame, {"file": s.filename, "line": s.lineno, "code": s.line, "function": s.name})
        for frame, s in zip(frames, summaries)
        if is_learners(frame)
    ]
    places = [place for _, place in learners][-MOST_FRAMES:]
    name, text = type(error).__name__, str(error)
    if isinstance(error, AssertionError):
        text = text or f"this should hold: {summaries[-1].line if summaries else ''}"
        if not learners or learners[-1][0] is not frames[-1]:
            inner = error.__context__  # the error that a check explains
            places = describe_error(inner, is_learners)["frames"] if inner else []
        return {"status": "failed", "message": cut(text), "frames": places}
    if exercise := unwritten_exercise(name, text):
        file = places[-1]["file"] if places else ""
        unwritten = {"unwritten": exercise, "file": file}
        return {"status": "unwritten", "message": text, "frames": [], **unwritten}
    status, message = _known_error(error)
    if isinstance(error, SyntaxError) and check_file and not learners:
        message = f"The course's file {check_file} is damaged: {error.msg}. Delete it; then `tito "
        message += "init .` brings it back."
    if not message:
        nones = none_parameters(learners[-1][0]) if learners else None
        call = call_in(error, check_file) if check_file else ""
        message = explain(name, text, call, nones, owner_of(error))
        message += near_name(error) if learners else ""
    missing = error.name if isinstance(error, Incomplete) else missing_name(name, text)
    if isinstance(error, Incomplete):
        places = []
    return {"status": status, "message": cut(message), "frames": places, "missing": missing}


def _known_error(error: BaseException) -> tuple[str, str]:
    """(status, message) of an error; the message is "" where only its own text can explain it."""
    if isinstance(error, CheckTimeout):
        return "timeout", str(error)
    if isinstance(error, MemoryError):
        return "memory", "more memory than there is"
    if isinstance(error, Incomplete):
        return "error", str(error)
    if isinstance(error, SystemExit):
        code = error.code
        return (
            "error",
            f"your code ends the program with sys.exit({code!r}): return a value instead",
        )
    if isinstance(error, RecursionError):
        return "error", "RecursionError: a function calls itself without end"
    return "error", ""
