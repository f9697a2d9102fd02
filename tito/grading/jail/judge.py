"""The trusted side: it holds the checks, the expected values and every comparison.

Learners' code runs in a jail beside it. A check is an ordinary test function of the lesson. Here it
runs with proxies where it expects the learner's names, against a fresh fork of the jail, and what
it finds wrong becomes a CheckResult. What a learner's code can forge is a wrong value.
"""

import contextlib
import hashlib
import json
import signal
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from tito.errors import TitoError
from tito.grading.jail import proxy
from tito.grading.jail.check_errors import Missing, explained, not_imported, words_of_death
from tito.grading.jail.check_namespace import CHECKS_FILE, Prepared, standing_in
from tito.grading.jail.jail import Fork, Jail, JailFailed, strongest, waited
from tito.grading.jail.modules import (
    Code,
    answers_in,
    checks_hash,
    public_modules,
    reference,
    version,
)
from tito.grading.result import CheckResult, LessonResult, Seen, blank, packed
from tito.grading.setting import (
    BOTH,
    EXCUSED,
    GRACE,
    OWN,
    REFERENCE,
    Setting,
    submission_seconds,
)
from tito.grading.submission import Contents
from tito.lesson import course, outcome
from tito.lesson.checks import functions_of, remember_lines
from tito.lesson.course import Entry
from tito.lesson.lesson_format import Check
from tito.lesson.outcome import clean

MOST_LATE = 3  # checks of an exercise may run out of time; then its others are not tried
LEAST = 2  # seconds: the limit of a check after others ran out of time
BUDGET = 12  # times the limit of a check may a lesson take; then each further check has LEAST
# Bytes that the visible checks of a submission may receive in all, and the hidden ones as many
# again: of legal answers, too, reading, comparing and showing takes the judge's time.
MOST_HEARD = 128 << 20
NOTICED = 0.1  # seconds: of a shorter check nobody asks how long it waited for a processor
SLOW = "slow:"  # before the hash of a file that takes too long to read: such a result's key
NOT_ON_REFERENCE = "does not pass on the course's own earlier lessons"
Words = tuple[str, str, str]  # status, message, verdict


@dataclass
class Attempt:
    """One run of some checks: {check id: CheckResult}, and how far the lesson came at all ("", or a
    verdict and why).
    """

    checks: dict[str, CheckResult] = field(default_factory=dict)
    verdict: str = ""
    reason: str = ""


@dataclass
class Work:
    """What one learner handed in, and the Code of each lesson that could be read."""

    contents: Contents
    codes: dict[str, Code]

    def code(self, name: str) -> Code:
        """The learner's own lesson; a sentence says why there is none."""
        if name not in self.codes:
            file = self.contents.files.get(name)
            self.codes[name] = Code(
                f"lesson {name} cannot be read: {file.problem}"
                if file
                else f"lesson {name} was not handed in"
            )
        return self.codes[name]


def slow_files(known: Mapping[str, Collection[str]]) -> set[str]:
    """The SHA-256s of lesson files that took too long to read, by the keys of their results."""
    keys = [key for keys in known.values() for key in keys]
    return {key.removeprefix(SLOW) for key in keys if key.startswith(SLOW)}


class Judge:
    """Judges submissions one after the other, with one jail."""

    def __init__(self, setting: Setting):
        self.setting = setting
        self.root = course.open_root(setting.root)
        self.entries = {entry.name: entry for entry in self.root.lessons}
        self.lessons = [self.entries[name] for name in setting.lessons]
        self.jail: Jail | None = None
        # Seconds that the lesson's checks took so far, by `hidden`; the same of the whole
        # submission; bytes that its checks received.
        self.spent: defaultdict[bool, float] = defaultdict(float)
        self.total: defaultdict[bool, float] = defaultdict(float)
        self.heard: Counter[bool] = Counter()
        self.waited = 0.0  # of the last check's seconds, those that it waited for a processor
        # {(check id, code of the modules, none of them a learner's): what ended the check, with
        # nothing written}: a whole class of those ends in the same way.
        self.unwritten: dict[tuple[Any, ...], tuple[str, str]] = {}

    def begin(self) -> str:
        """Start the jail, at the level of the setting or, where that says none, at the strongest
        that works. Returns the level. Raises TitoError when there is none.
        """
        self.jail = strongest(self.setting.level, **self.how())
        self.setting = replace(self.setting, level=self.jail.level)
        return self.jail.level

    def how(self) -> dict[str, Any]:
        """What the jail is started with, besides its level."""
        setting = self.setting
        return {
            "secret": setting.secret,
            "memory": setting.memory,
            "seconds": setting.seconds,
            "modules": lambda: public_modules(self.root),
        }

    def close(self) -> None:
        if self.jail:
            self.jail.close()
        self.jail = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # A submission.

    def grade(
        self,
        contents: Contents,
        codes: dict[str, Code],
        known: Mapping[str, Collection[str]],
    ) -> list[LessonResult | Seen]:
        """The LessonResults of one learner; a Seen for a lesson that was graded already.

        codes  {lesson: what `modules.compiled` makes of its file}, of those that could be read
        known  {lesson: the keys of its results}
        """
        work = Work(contents, codes)
        results: list[LessonResult | Seen] = []
        pending = []
        self.total.clear()
        self.heard.clear()
        for entry in self.lessons:
            key, file = self.key(entry, contents), contents.files.get(entry.name)
            if key in known.get(entry.name, ()):
                came = (file.entry, file.sha256) if file else ()
                results.append(Seen(entry.name, key, *came))
                continue
            result = self.blank_result(entry, work, key)
            pending.append((self.grade_lesson(entry, result, work), result))
            if not step(*pending[-1]):  # it cannot even be imported: no later lesson tries again
                codes[entry.name] = Code(f"lesson {entry.name}: {result.reason}")
            results.append(result)
        # A hidden check may leave traces on the machine, such as numbers of processes. No visible
        # check of this submission, which tells its learner what it finds, comes behind it.
        for steps, result in pending:
            step(steps, result)
        return results

    def blank_result(self, entry: Entry, work: Work, key: str) -> LessonResult:
        """The LessonResult of a lesson of which nothing was run yet."""
        contents, file = work.contents, work.contents.files.get(entry.name)
        return LessonResult(
            contents.student,
            entry.name,
            entry.number,
            entry.declared.title,
            entry.declared.most,
            key=key,
            checks=[blank(check) for check in self.checks(entry)],
            notes=list(contents.notes),
            sha256=file.sha256 if file else "",
            entry=file.entry if file else "",
            code=packed(file.code) if file and file.code else b"",
            answers=work.code(entry.name).answers or answers_in(entry),
        )

    def checks(self, entry: Entry) -> list[Check]:
        """The checks of a lesson that are asked for."""
        wanted = self.setting.checks
        return [check for check in entry.declared.checks if not wanted or check.id in wanted]

    def key(self, entry: Entry, contents: Contents) -> str:
        """The hash of what was handed in, a dot, and that of all else that decides a result; of a
        file that takes too long to read, its own: then it is not read again.
        """
        if (file := contents.files.get(entry.name)) and file.slow:
            return SLOW + file.sha256
        files = {
            name: [file.sha256, file.problem]
            for name, file in contents.files.items()
            if self.entries[name].number <= entry.number
        }
        setting = self.setting
        decides = [
            checks_hash(entry),
            setting.earlier_lessons,
            setting.seconds,
            setting.memory,
            setting.level,
            version(),
        ]
        return ".".join(
            hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()
            for part in ([contents.problem, files], decides)
        )

    def why_no_code(self, entry: Entry, work: Work) -> tuple[str, str] | None:
        """(verdict, reason) of a lesson of which there is nothing to run, or None."""
        contents, file = work.contents, work.contents.files.get(entry.name)
        if file is None or file.problem:
            problem = file.problem if file else contents.problem
            slow = file.slow if file else contents.slow
            if not problem:
                return "missing", f"No file of the lesson {entry.name} was handed in."
            return "too long to read" if slow else "unreadable", problem
        code = work.code(entry.name).code
        return ("syntax error", code) if isinstance(code, str) else None

    def grade_lesson(self, entry: Entry, result: LessonResult, work: Work) -> Iterator[bool]:
        """Grade one lesson in two steps, the visible checks and the hidden ones: fill in `result`.

        Yields after the first whether the lesson could be imported.
        """
        if nothing := self.why_no_code(entry, work):
            result.verdict, result.reason = nothing
            for one in result.checks:
                one.message = clean(result.reason)
            yield False
            return
        result.isolation = self.setting.level
        code, checks = work.code(entry.name), self.checks(entry)
        first = REFERENCE if self.setting.earlier_lessons == REFERENCE else OWN
        attempt, spent = Attempt(), defaultdict[bool, float](float)
        # The hidden checks after all others, on every base: what they do must not show in those.
        for hidden in (False, True):
            self.spent = spent
            part = [check for check in checks if check.hidden == hidden]
            tried = self.attempt_on(first, entry, work, part, attempt)
            attempt.checks |= tried.checks
            attempt.verdict, attempt.reason = tried.verdict, tried.reason
            if not hidden:
                result.reason = attempt.reason
                yield not attempt.verdict
        result.checks = [attempt.checks[check.id] for check in checks]
        if not code.ours:
            withhold_words(result.checks)
            if first == REFERENCE:
                attempt.verdict = attempt.reason = ""
        result.points = sum(check.points for check in result.checks)
        on_reference = any(check.passed and check.base == REFERENCE for check in result.checks)
        result.base = REFERENCE if first == REFERENCE or on_reference else OWN
        result.verdict, result.reason = self.verdict(attempt, result, entry, code)

    def attempt_on(
        self, base: str, entry: Entry, work: Work, checks: list[Check], before: Attempt
    ) -> Attempt:
        """Run these checks on the earlier lessons of this base, OWN or REFERENCE; what fails on the
        learner's own, where the course says so, on the course's as well.

        before  the Attempt at other checks that came before these
        """
        lower = [one for one in self.root.lessons if one.number < entry.number]
        modules = {
            one.name: work.code(one.name) if base == OWN else reference(one) for one in lower
        }
        code = work.code(entry.name)
        tried = self.attempt(entry, code, modules, checks, base, before)
        if self.setting.earlier_lessons == BOTH and lower and not before.verdict:
            if failed := [check for check in checks if not tried.checks[check.id].passed]:
                return self.retry_on_reference(entry, work, lower, tried, failed)
        return tried

    def retry_on_reference(
        self, entry: Entry, work: Work, lower: list[Entry], attempt: Attempt, failed: list[Check]
    ) -> Attempt:
        """The failed checks once more, on the course's own earlier lessons; what passes there says
        which lesson is at fault.
        """
        code = work.code(entry.name)
        references = {one.name: reference(one) for one in lower}
        retried = self.attempt(entry, code, references, failed, REFERENCE)
        mended = [check for check in failed if retried.checks[check.id].passed]
        is_imported_there = bool(attempt.verdict and not retried.verdict)
        for check in failed if is_imported_there else mended:
            attempt.checks[check.id] = retried.checks[check.id]
        if is_imported_there:
            attempt.verdict, attempt.reason = "", ""
        waiting = mended
        for one in lower:  # which single lesson, put right, mends the check?
            if not waiting:
                break
            mixed = {
                other.name: reference(other) if other is one else work.code(other.name)
                for other in lower
            }
            tried = self.attempt(entry, code, mixed, waiting, REFERENCE)
            for check in waiting:
                if tried.checks[check.id].passed:
                    attempt.checks[check.id].caused_by = one.name
            waiting = [check for check in waiting if not tried.checks[check.id].passed]
        for check in mended:
            at_fault = attempt.checks[check.id].caused_by
            because = f"lesson {at_fault}" if at_fault else "several of them"
            attempt.checks[check.id].message = (
                "passes on the course's own earlier lessons; on yours it fails because of "
                f"{because}"
            )
        return attempt

    def verdict(
        self, attempt: Attempt, result: LessonResult, entry: Entry, code: Code
    ) -> tuple[str, str]:
        """(verdict, reason) of what became of the checks."""
        if attempt.verdict:
            return attempt.verdict, attempt.reason
        statuses = [check.status for check in result.checks]
        verdict = outcome.verdict_of(statuses, result.points)
        tampered = any(one.status == "tampered" and not one.hidden for one in result.checks)
        if verdict != "passed" and not (result.points or tampered or code.written):
            count = len(entry.declared.exercises)
            return "stub", f"Nothing is written yet: all {count} exercises are as released."
        return verdict, outcome.reason_of(verdict, list(result.checks))

    # Checks.

    def attempt(
        self,
        entry: Entry,
        code: Code,
        lower: Mapping[str, Code],
        checks: Sequence[Check],
        base: str,
        before: Attempt | None = None,
    ) -> Attempt:
        """Run these checks of a lesson on the given earlier lessons ({name: Code}).

        before  the Attempt at other checks that came before these: what ended it, ends this
        Returns an Attempt with a result for each.
        """
        package = self.root.package
        modules = {f"{package}.core.{name}": one.code for name, one in lower.items()}
        modules[f"{package}.core.{entry.name}"] = code.code
        ours = all(one.ours for one in (code, *lower.values()))
        before = before or Attempt()
        attempt = Attempt(
            {check.id: replace(blank(check), base=base) for check in checks},
            before.verdict,
            before.reason,
        )
        late = Counter(one.exercise for one in before.checks.values() if one.status == "timeout")
        for check in checks:
            result = attempt.checks[check.id]
            if why := self.why_not(check, attempt, late):
                result.message = why
                continue
            same = (check.id, *modules.values())
            if ours and same in self.unwritten:
                result.status, result.message = self.unwritten[same]
                continue
            seconds = self.seconds_for(check, late.total())
            began = time.perf_counter()
            result.status, result.message, attempt.verdict = self.check_or_again(
                entry, check, code, modules, seconds
            )
            result.seconds = round(max(0, time.perf_counter() - began - self.waited), 4)
            result.points = result.max_points if result.passed else 0
            if ours and result.status == "unwritten":
                self.unwritten[same] = result.status, result.message
            if check.hidden:  # what it says must not become the reason of others
                attempt.verdict = ""
            attempt.reason = result.message if attempt.verdict else ""
            late[check.exercise] += result.status == "timeout"
            self.spent[check.hidden] += result.seconds
            self.total[check.hidden] += result.seconds
        return attempt

    def why_not(self, check: Check, attempt: Attempt, late: Mapping[str, int]) -> str:
        """Why a check is not run any more, or "": what ended the attempt, or a limit.

        late  {exercise: how many of its checks ran out of time}
        """
        if attempt.verdict:
            return attempt.reason or f"not run: {attempt.verdict}"
        if late[check.exercise] >= MOST_LATE:
            return f"not run: {MOST_LATE} checks of this exercise ran out of time"
        most = submission_seconds(self.setting)
        if self.total[check.hidden] > most:
            return f"not run: the checks of this submission have taken {most:g} s"
        if self.heard[check.hidden] > MOST_HEARD:
            return f"not run: the code under test has answered {MOST_HEARD >> 20} MB already"
        return ""

    def seconds_for(self, check: Check, late: int) -> float:
        """The limit of a check: half as much for each of the attempt that ran out of time."""
        seconds = self.setting.seconds
        spent = sum(self.spent.values()) if check.hidden else self.spent[False]
        least = min(LEAST, seconds)
        return least if spent > BUDGET * seconds else max(seconds / 2**late, least)

    def check_or_again(
        self,
        entry: Entry,
        check: Check,
        code: Code,
        modules: Mapping[str, bytes | str],
        seconds: float,
    ) -> Words:
        """As `check`; where the jail fails, which need not be the check's fault, once more in a new
        one.
        """
        for again in (False, True):
            with contextlib.suppress(JailFailed):
                return self.check(entry, check, code, modules, seconds, again)
        return "crashed", "the process that runs everybody's code ended here, twice", ""

    def check(
        self,
        entry: Entry,
        check: Check,
        code: Code,
        modules: Mapping[str, bytes | str],
        seconds: float,
        again: bool = False,
    ) -> Words:
        """Run one check in a fork of its own.

        again  whether it was tried already

        Returns (status, message, verdict): the verdict is "" unless the lesson could not even be
        imported. Raises JailFailed when the jail died with its fork; and when only the fork was
        killed, unless it is tried again: the kernel does that when memory runs out, whoever has it.
        """
        began = time.monotonic()
        prepared, fork = Prepared.of(entry), self.fork()
        excused = excuses(fork, (EXCUSED - 1) * seconds)
        session = proxy.Session(fork.sock, time.monotonic() + seconds, excused)
        died, importing, answer = False, True, ("passed", "", "")
        try:
            with (
                standing_in(session, self.root.package, entry),
                overflow_is_an_error(),
                interrupted_after(seconds + GRACE, excused),
            ):
                try:
                    space, missing = prepared.namespace(
                        session, check, f"{self.root.package}.core.{entry.name}", modules
                    )
                    importing = False
                    self.run(check, space, missing, entry)
                    if session.assertion:
                        raise session.assertion
                    assert not session.changed, (
                        "the code under test changes an array or list that it was given"
                    )
                except proxy.Died:
                    died = True
                except Exception as error:
                    # While the fork still answers: a message may hold what must be asked for.
                    answer = self.words(error, importing, entry, code, seconds, check)
        except proxy.Stop as error:  # also when the time was up while the words were made
            answer = self.words(error, importing, entry, code, seconds, check)
        self.waited = excused() if time.monotonic() > began + NOTICED else 0.0
        self.heard[check.hidden] += session.received
        ended = self.end(fork, died)
        if ended is None:
            return answer
        if ended == -signal.SIGKILL and not again:
            raise JailFailed("the fork was killed")
        return words_of_death(ended, importing)

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

    @staticmethod
    def run(check: Check, space: dict[str, Any], missing: set[str], entry: Entry) -> None:
        """Run the check's function in its namespace. Whatever it raises passes through."""
        remember_lines(check.cell.source, CHECKS_FILE, check.cell.line)
        exec(functions_of(check.cell.source, CHECKS_FILE, check.cell.line), space)
        try:
            space[check.function]()
        except NameError as error:
            if error.name in missing:
                raise Missing(
                    f"the lesson does not define {error.name}: is its cell gone, or its line "
                    "`#| export`?"
                ) from None
            raise

    def words(
        self,
        error: BaseException,
        importing: bool,
        entry: Entry,
        code: Code,
        seconds: float,
        check: Check,
    ) -> Words:
        """(status, message, verdict) for what ended a check.

        Making them may ask the learner's side, which may do anything.
        """
        try:
            place = self.place(error, entry, code)
            if importing:
                return not_imported(error, place)
            return (*explained(error, place, seconds, check), "")
        except Exception as worse:
            return (
                "error",
                f"{type(error).__name__}, and its text could not be read: {type(worse).__name__}",
                "",
            )

    def fork(self) -> Fork:
        """A fork of the jail, of a new one if need be."""
        for attempts_left in (2, 1, 0):
            try:
                self.jail = self.jail or Jail(self.setting.level, **self.how())
                return self.jail.fork()
            except (JailFailed, TitoError):  # it was killed
                self.close()
                if not attempts_left:
                    raise
        raise AssertionError("the last attempt returned or raised")

    def place(self, error: BaseException, entry: Entry, code: Code) -> str:
        """Where in the learner's file an error came from, as "tensor_dev.py:12: their line",
        or "".
        """
        told = getattr(error, "told", None)
        name = f"{self.root.package}.core.{entry.name}"
        lines = [line for file, line, _ in told[2] if file == name] if told else []
        if lines and 0 < lines[-1] <= len(code.places):
            return code.places[lines[-1] - 1]
        return ""


def withhold_words(checks: list[CheckResult]) -> None:
    """Leave of what was run beside the course's own earlier lessons only whether each check passes.

    A learner's code runs there beside solutions, and can put pieces of them into the text of an
    error, a value, its choice of how to end, or the time that it takes.
    """
    for check in checks:
        if check.base == REFERENCE:
            check.seconds = 0.0
            if not check.passed:
                check.status, check.message = "failed", NOT_ON_REFERENCE


def step(steps: Iterator[bool], result: LessonResult) -> bool | None:
    """Let one step of a lesson be graded, and add up its seconds. Returns what it yields."""
    began = time.perf_counter()
    goes_on = next(steps, None)
    result.seconds = round(result.seconds + time.perf_counter() - began, 3)
    return goes_on


def excuses(fork: Fork, most: float) -> Callable[[], float]:
    """A function: the seconds, at most so many, that this thread and the fork have waited by now
    for a processor. Of the time of a check they do not count: others took them, however many
    threads those have. Where the system does not tell, 0.
    """
    try:
        before = waited()
    except (OSError, ValueError):
        return lambda: 0.0
    return lambda: min(most, max(0.0, waited() - before) + fork.waited())


@contextlib.contextmanager
def overflow_is_an_error() -> Iterator[None]:
    """Raise where NumPy would only remark that a number does not fit the type of another.

    The learner's side chooses the type of what it answers, and a number of the check's is cast to
    it: `np.float16("inf") == 97222` holds, and so does `abs(got - 5) < 1e-9` of the least int64
    and 5 more.
    """
    with warnings.catch_warnings():
        overflow = "overflow encountered in (cast|scalar (absolute|subtract|negative))"
        warnings.filterwarnings("error", overflow, RuntimeWarning)
        yield


@contextlib.contextmanager
def interrupted_after(seconds: float, excused: Callable[[], float] = lambda: 0.0) -> Iterator[None]:
    """Raise OutOfTime in what runs too long in the judge itself: a loop over what the learner's
    side claims, say. excused(): seconds that do not count.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    until = time.monotonic() + seconds

    def ring(number: int, frame: object) -> None:
        if time.monotonic() >= until + excused():
            raise proxy.OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)  # again and again, should one be swallowed
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
