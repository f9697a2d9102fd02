"""Runs one check of a lesson in the judge, with the learner's code in a fresh fork of the jail."""

import contextlib
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tito.errors import TitoError
from tito.grading.jail import by_reference, proxy
from tito.grading.jail.check_errors import Missing, explain_error, explain_exit, explain_import
from tito.grading.jail.check_namespace import CHECKS_FILE, Prepared, standing_in
from tito.grading.jail.jail import Fork, Jail, JailFailed, strongest, waited
from tito.grading.jail.jailed_server import NEEDS_PICTURES
from tito.grading.jail.modules import Code, public_modules
from tito.grading.setting import EXCUSED, GRACE, Setting
from tito.lesson import random_start
from tito.lesson.checks import functions_of, remember_lines
from tito.lesson.course import Entry, Root
from tito.lesson.laws import add_cause
from tito.lesson.lesson_format import Check
from tito.lesson.outcome import RUNNING, how_it_ended
from tito.lesson.statements import MOST_ENDS, SECONDS

NOTICED = 0.1  # seconds: for a shorter check, the time it waited for a processor is not measured
Words = tuple[str, str, str]  # status, message, verdict


@dataclass(frozen=True)
class Subject:
    """A lesson under test, with the lessons below it.

    code     of the lesson: the learner's, or the course's
    modules  {module of the package: its code}, of the lesson and the lessons below it
    is_ours  whether they contain no code of a learner
    absent   {name that one of them lacks: why}
    """

    entry: Entry
    code: Code
    modules: Mapping[str, bytes | str]
    is_ours: bool
    absent: Mapping[str, str]

    @classmethod
    def of(cls, entry: Entry, code: Code, lower: Mapping[str, Code]) -> "Subject":
        """The subject of a lesson. lower: {lesson: Code} of the lessons below it."""
        codes = {**lower, entry.name: code}
        package = f"{entry.root.package}.core"
        modules = {f"{package}.{name}": other.code for name, other in codes.items()}
        absent = {
            missing: f"lesson {name}, {why}"
            for name, other in lower.items()
            for missing, why in other.absent.items()
        }
        ours = all(other.ours for other in codes.values())
        return cls(entry, code, modules, ours, absent | code.absent)

    @property
    def module(self) -> str:
        """The name of the lesson's own module."""
        return f"{self.entry.root.package}.core.{self.entry.name}"

    def place(self, error: BaseException) -> str:
        """Where in the lesson's file an error came from, as "line 12: their line", or ""."""
        report = proxy.report_of(error)
        lines = [line for file, line, _ in report.frames if file == self.module] if report else []
        if lines and 0 < lines[-1] <= len(self.code.places):
            return self.code.places[lines[-1] - 1]
        return ""


class CheckRunner:
    """Runs checks, each in its own fork of a jail.

    jails     {whether it runs hidden checks: Jail}. What code does in a hidden check may show in
              its jail later: threads move on the numbers of the next processes. So no visible
              check, whose messages its learner reads, runs there
    draws     whether the jails have matplotlib, from the first check on that imports it
    received  {whether a check is hidden: the bytes that such checks received}
    waited    of the last check's or trial's seconds, those that it waited for a processor
    """

    def __init__(self, setting: Setting, root: Root) -> None:
        self.setting, self.root = setting, root
        self.jails: dict[bool, Jail] = {}
        self.draws = False
        self.received: Counter[bool] = Counter()
        self.waited = 0.0

    def begin(self) -> str:
        """Start the jail, at the level of the setting or, where that says none, at the strongest
        that works. Returns the level. Raises TitoError when there is none.
        """
        self.jails[False] = strongest(self.setting.level, **self.options())
        self.setting = replace(self.setting, level=self.jails[False].level)
        return self.setting.level

    def options(self) -> dict[str, Any]:
        """What the jail is started with, besides its level."""
        return {
            "secret": self.setting.secret,
            "memory": self.setting.memory,
            "seconds": self.setting.seconds,
            "modules": lambda: public_modules(self.root),
            "draws": self.draws,
        }

    def close(self) -> None:
        for hidden in list(self.jails):
            self.jails.pop(hidden).close()

    def start(self, hidden: bool) -> None:
        """Start the jail for visible or hidden checks, if it is not there."""
        if hidden not in self.jails:
            self.jails[hidden] = Jail(self.setting.level, **self.options())

    def fork(self, hidden: bool = False) -> Fork:
        """A fork for a visible or hidden check, of a new jail if need be."""
        for attempts_left in (2, 1, 0):
            try:
                self.start(hidden)
                return self.jails[hidden].fork()
            except (JailFailed, TitoError):  # it was killed
                self.close()
                if not attempts_left:
                    raise
        raise AssertionError("the last attempt returned or raised")

    def run(self, subject: Subject, check: Check, seconds: float) -> Words:
        """Like `run_once`. If the jail fails, perhaps not through this check, try in a new one."""
        for is_retry in (False, True):
            with contextlib.suppress(JailFailed):
                return self.run_once(subject, check, seconds, is_retry)
        return "crashed", "the process that runs the code ended twice during this check", ""

    def run_once(
        self, subject: Subject, check: Check, seconds: float, is_retry: bool = False
    ) -> Words:
        """Run one check in a new fork.

        Returns (status, message, verdict): the verdict is "" unless the lesson could not even be
        imported. Raises JailFailed when the jail died with its fork. It also raises it when only
        the fork was killed, except in a retry: when memory runs out, the kernel kills any process.
        """
        began = time.monotonic()
        wanted = by_reference.wanted_results(subject.entry, check) if check.hidden else None
        prepared, fork = Prepared.of(subject.entry), self.fork(check.hidden)
        excused = excused_seconds(fork, (EXCUSED - 1) * seconds)
        session = proxy.Session(fork.sock, time.monotonic() + seconds, excused)
        talk = Talk(subject, prepared, check, session, seconds, wanted)
        restore = random_start.restart()  # for what the check draws itself
        try:
            with (
                standing_in(session, self.root.package, subject.entry),
                overflow_is_an_error(),
                interrupted_after(seconds + GRACE, excused),
            ):
                talk.run()
        except proxy.Stop as error:  # also when the time was up while the words were made
            talk.words = talk.words_of(error)
        finally:
            restore()
        self.waited = excused() if time.monotonic() > began + NOTICED else 0.0
        self.received[check.hidden] += session.received
        exit_code = self.end(fork, talk.died)
        if exit_code is None:
            return talk.words
        if self.needs_pictures(exit_code):
            return self.run_once(subject, check, seconds, is_retry)
        if exit_code == -signal.SIGKILL and not is_retry:
            raise JailFailed("the fork was killed")
        return explain_exit(exit_code, talk.importing)

    def needs_pictures(self, exit_code: int) -> bool:
        """Whether a fork ended because its jail has no matplotlib. Then the next ones have it."""
        if exit_code != NEEDS_PICTURES or self.draws:
            return False
        self.close()
        self.draws = True
        return True

    def try_import(self, subject: Subject, hidden: bool) -> dict[int, tuple[str, str]]:
        """Import a lesson, statement by statement, to find those that stop.

        Returns {number of a statement: (name of the exception, its text)}; ("", text) for one that
        ended the process or did not end. Of these, only MOST_ENDS are looked for.
        """
        stopped: dict[int, tuple[str, str]] = {}
        self.waited = 0.0
        for _ in range(MOST_ENDS):
            trial = Trial(subject, min(SECONDS, self.setting.seconds))
            fork = self.fork(hidden)
            excused = excused_seconds(fork, (EXCUSED - 1) * self.setting.seconds)
            until = time.monotonic() + self.setting.seconds
            session = proxy.Session(fork.sock, until, excused)
            try:
                try:
                    trial.run(session, stopped)
                finally:
                    self.waited += excused()
                self.end(fork, died=False)
                return stopped
            except proxy.OutOfTime:
                self.end(fork, died=False)
                stopped[trial.at] = "", RUNNING.format(trial.seconds)
            except proxy.Died:
                code = self.end(fork, died=True) or 0
                if not self.needs_pictures(code):
                    late = code == -signal.SIGXCPU
                    text = RUNNING.format(trial.seconds) if late else how_it_ended(code)
                    stopped[trial.at] = "", text
            except proxy.Stop:  # the next check reports it
                self.end(fork, died=False)
                return stopped
        return stopped

    def end(self, fork: Fork, died: bool) -> int | None:
        """End a fork. Returns the exit code of one that had died, else None."""
        try:
            fork.end()
            return fork.code() if died else None
        except JailFailed:
            self.close()
            if died:
                raise
            return None


@dataclass
class Trial:
    """An import of a lesson, statement by statement.

    seconds  that they may take together, without imports: each check imports the lesson
    at       the number of the one that is being run
    """

    subject: Subject
    seconds: float
    at: int = 0

    def run(self, session: proxy.Session, stopped: dict[int, tuple[str, str]]) -> None:
        """Run all statements but the `stopped` ones, and add those that raise. Raises proxy.Stop"""
        subject, until, left = self.subject, session.deadline, self.seconds
        session.do("begin", dict(subject.modules), subject.module)
        for self.at, (_, _, _, is_import) in enumerate(subject.code.statements):
            if self.at in stopped:
                continue
            began, excused = time.monotonic(), session.excused()
            if not is_import:
                session.deadline = min(until, began + left)
            try:
                session.do("step", self.at)
            except Exception as error:  # noqa: BLE001  of the learner's code
                report = proxy.report_of(error)
                name, text = report[:2] if report else (type(error).__name__, str(error))
                stopped[self.at] = name or "an exception without a name", text
            session.deadline = until
            if not is_import:
                left -= time.monotonic() - began - (session.excused() - excused)


@dataclass
class Talk:
    """The exchange of messages between one check and its fork.

    seconds    the limit of the check, as its words tell it
    wanted     what the check should yield, if it is by reference
    importing  whether the lesson is still being imported
    died       whether the fork has ended by itself
    words      how the check ended
    """

    subject: Subject
    prepared: Prepared
    check: Check
    session: proxy.Session
    seconds: float
    wanted: list[Any] | None = None
    importing: bool = True
    died: bool = False
    words: Words = ("passed", "", "")

    def run(self) -> None:
        """Let the lesson be imported, and run the check. Raises proxy.Stop but for Died."""
        session, subject = self.session, self.subject
        try:
            space, missing = self.prepared.namespace(
                session, self.check, subject.module, subject.modules
            )
            self.importing = False
            try:
                call_check(self.check, space, missing, self.wanted)
                if session.assertion:
                    raise session.assertion
            except AssertionError as error:
                if not self.check.hidden:  # of a hidden check there is its own message only
                    add_cause(error, self.laws(False))
                raise
            broken = self.laws(True)
            assert not broken, broken[0]
            # The laws are asked beside the learner's code, which may have replaced them.
            assert not session.changed, (
                "the code under test changes an array or list that it was given"
            )
        except proxy.Died:
            self.died = True
        except Exception as error:
            # While the fork still answers, because the message may contain values of its objects.
            self.words = self.words_of(error)

    def laws(self, has_passed: bool) -> list[str]:
        """A sentence for each law that the learner's code broke in this check."""
        broken = self.session.do("laws", has_passed)
        if type(broken) is not list or any(type(words) is not str for words in broken):
            return ["the code under test does not answer whether it keeps the laws"]
        return [words[: proxy.LONGEST] for words in broken]

    def words_of(self, error: BaseException) -> Words:
        """(status, message, verdict) for the exception that ended the check.

        This may send requests to the learner's side, which may answer anything.
        """
        try:
            place = self.subject.place(error)
            absent = self.subject.absent
            if self.importing:
                return explain_import(error, place, self.prepared.exported, absent)
            return (*explain_error(error, place, self.seconds, self.check, absent), "")
        except Exception as worse:
            message = f"{type(error).__name__}, and its text could not be read: "
            return "error", message + type(worse).__name__, ""


def call_check(
    check: Check, space: dict[str, Any], missing: set[str], wanted: list[Any] | None = None
) -> None:
    """Run the check's function in its namespace. Its exceptions pass through.

    missing  the names that the learner's lesson lacks
    wanted   what it should yield, if it is by reference
    """
    remember_lines(check.cell.source, CHECKS_FILE, check.cell.line)
    exec(functions_of(check.cell.source, CHECKS_FILE, check.cell.line), space)
    try:
        results = space[check.function]()
        if wanted is not None:
            by_reference.compare(results, wanted)
    except NameError as error:
        if error.name in missing:
            raise Missing(error.name) from None
        raise


def excused_seconds(fork: Fork, most: float) -> Callable[[], float]:
    """A function that returns how many seconds this thread and the fork have waited for a
    processor, up to a maximum. These do not count as time of the check, because other processes
    used them. It returns 0 if the system does not measure this.
    """
    try:
        before = waited()
    except (OSError, ValueError):
        return lambda: 0.0
    return lambda: min(most, max(0.0, waited() - before) + fork.waited())


@contextlib.contextmanager
def overflow_is_an_error() -> Iterator[None]:
    """Raise an error where NumPy would only warn that a number does not fit a type.

    The learner's side chooses the type of its answer, and NumPy casts the check's number to it:
    `np.float16("inf") == 97222` is true, and so is `abs(got - 5) < 1e-9` if got is the least int64
    plus 5.
    """
    with warnings.catch_warnings():
        overflow = "overflow encountered in (cast|scalar (absolute|subtract|negative))"
        warnings.filterwarnings("error", overflow, RuntimeWarning)
        yield


@contextlib.contextmanager
def interrupted_after(seconds: float, excused: Callable[[], float] = lambda: 0.0) -> Iterator[None]:
    """Raise OutOfTime when a check runs too long in the judge itself, such as a loop over an
    object of the learner's side. excused(): seconds that do not count.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    until = time.monotonic() + seconds

    def ring(number: int, frame: object) -> None:
        if time.monotonic() >= until + excused():
            raise proxy.OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)  # repeatedly, in case one is swallowed
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
