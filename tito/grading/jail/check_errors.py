"""How a check ended: its status, and the message for its learner."""

import signal
import traceback
from collections.abc import Collection, Mapping

from tito.grading.jail import proxy
from tito.grading.jail.check_namespace import CHECKS_FILE
from tito.lesson import outcome
from tito.lesson.absent import with_reason
from tito.lesson.lesson_format import Check
from tito.lesson.outcome import clean

LATE_IMPORT = (
    "timeout",
    "The lesson is still being imported when its time is up: an endless loop?",
    "timed out",
)


class Missing(Exception):
    """The learner's lesson lacks a name that the course's defines."""

    def __init__(self, name: str) -> None:
        super().__init__(outcome.LACKS.format(name, "is its cell gone?"))
        self.name = name


def explain_error(
    error: BaseException, place: str, seconds: float, check: Check, absent: Mapping[str, str]
) -> tuple[str, str]:
    """(status, message) of what ended a check. absent: {name that the lessons lack: why}"""
    at = f"\n{place}" if place else ""
    report = proxy.report_of(error)
    if isinstance(error, proxy.OutOfTime):
        return "timeout", f"still running after {seconds:g} s: an endless loop?"
    if isinstance(error, proxy.Tampered):
        return "tampered", clean(f"the code under test does not answer as it should: {error}")
    if isinstance(error, MemoryError) or report and report.name == "MemoryError":
        return "memory", f"more memory than it may have{at}"
    if isinstance(error, AssertionError):
        line = traceback.extract_tb(error.__traceback__)[-1].lineno or 0
        return "failed", clean(str(error) or f"this should hold: {line_of(check, line)}")
    if isinstance(error, proxy.NoObject):
        return "error", clean(str(error))
    if isinstance(error, proxy.Undecided):
        return "error", (
            f"{error}. If your code returns what its docstring says, this is a mistake in the "
            "check: tell your instructor"
        )
    name, text = report[:2] if report else (type(error).__name__, str(error))
    if exercise := outcome.unwritten_exercise(name, text):
        own = exercise == check.exercise
        return "unwritten", clean(
            text if own else f"needs exercise {exercise}, which is not written yet"
        )
    if isinstance(error, Missing):
        return "error", clean(with_reason(str(error), error.name, absent))
    # Of the innermost frame of the learner's:
    nones = report.frames[-1][2] if report and report.frames else None
    call = outcome.call_in(error, CHECKS_FILE)
    words = outcome.explain(name, text, call, nones, outcome.owner_of(error))
    return "error", clean(with_reason(words, outcome.missing_name(name, text), absent) + at)


def explain_import(
    error: BaseException, place: str, exported: Collection[str], absent: Mapping[str, str]
) -> tuple[str, str, str]:
    """(status, message, verdict) for a check whose lesson could not be imported, or lacks a name
    that the check's learner-side sections use. In the second case the verdict is "", because other
    checks may not need the name.

    exported  the names that the course's lesson defines
    """
    at = f" ({place})" if place else ""
    if isinstance(error, proxy.OutOfTime):
        return LATE_IMPORT
    if isinstance(error, proxy.Tampered):
        words = f"The lesson does not answer as it should while it is imported: {error}"
        return "tampered", clean(words), "tampered"
    name, text = (proxy.report_of(error) or (type(error).__name__, str(error)))[:2]
    if name == "MemoryError":
        words = f"The lesson takes more memory than it may have while it is imported{at}."
        return "memory", words, "out of memory"
    missing = outcome.missing_name(name, text) if name == "NameError" else ""
    if missing in exported and not place:
        return "error", clean(with_reason(str(Missing(missing)), missing, absent)), ""
    words = f"The lesson stops while it is imported{at}: {name}: {text}"
    return "error", clean(words), "import failed"


def explain_exit(code: int, importing: bool) -> tuple[str, str, str]:
    """(status, message, verdict) of a process that ended under a check, with this exit code;
    negative: by that signal. The verdict is "" unless it was still importing the lesson.
    """
    if code == -signal.SIGXCPU:
        if importing:
            return LATE_IMPORT
        return "timeout", "it has used up its time on the processor: an endless loop?", ""
    words = outcome.how_it_ended(code)
    if importing:
        return "crashed", f"While the lesson was imported, {words}", "crashed"
    return "crashed", words, ""


def line_of(check: Check, line: int) -> str:
    lines = check.cell.source.split("\n")
    return lines[line - check.cell.line].strip() if 0 <= line - check.cell.line < len(lines) else ""
