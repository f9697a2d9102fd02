"""The trusted process: it holds the checks, the expected values and every comparison.

Learners' code runs in a jail beside it.

    python -m tito.grading.judge        a Setting, then an Arrival for each submission, come as
                                        pickles from `run.py`; a list of LessonResults goes back
                                        for each

A check is an ordinary test function of the lesson. Here it runs with proxies where it expects the
learner's names, against a fresh fork of the jail, and what it finds wrong becomes a CheckResult.
What a learner's code can forge is a wrong value.
"""

import contextlib
import functools
import hashlib
import itertools
import json
import marshal
import os
import pickle
import re
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path

import numpy as np

from tito.errors import TitoError
from tito.grading import intake, proxy, reader
from tito.grading.jail import Jail, JailFailed, waited
from tito.grading.result import CheckResult, LessonResult, Seen, packed
from tito.grading.rubric import Answer
from tito.lesson import cells, course, export, outcome
from tito.lesson.checks import functions_of, helpers_of, imported, remember_lines, words_in
from tito.lesson.form import LONGEST_ANSWER, Lesson, answer_in

GRACE = 1  # seconds after the deadline in which a check that computes in the judge is interrupted
MOST_LATE = 3  # checks of an exercise may run out of time; then its others are not tried
LEAST = 2  # seconds: the limit of a check after others ran out of time
BUDGET = 12  # times the limit of a check may a lesson take; then each further check has LEAST
# Times the limit of a check may all visible checks of a submission take, and all hidden ones as
# much again, but at least so many seconds; then no more are tried.
WHOLE, LEAST_WHOLE = 30, 300
# Bytes that the visible checks of a submission may receive in all, and the hidden ones as many
# again: of legal answers, too, reading, comparing and showing takes the judge's time.
MOST_HEARD = 128 << 20
# Times its limit may a check last on a machine so busy that the check waits for a processor.
EXCUSED = 10
NOTICED = 0.1  # seconds of a check from which on that is looked at
CHECKS_FILE = "checks.py"  # what tracebacks call the file of the checks
MEMORY = 4096  # MB of the judge itself
BROAD = 1 << 20  # numbers: more are compared with as many, or with one
LONGEST_LINE = 200  # characters of a learner's line that is shown
SLOW = "slow:"  # before the hash of a file that takes too long to read: such a result's key
OWN, REFERENCE, BOTH = BASES = ("own", "reference", "both")


@dataclass(frozen=True)
class Setting:
    """How a class is graded. root: of the course; lessons: their names; base: own, reference or
    both; seconds: for a check; memory: MB for a check; level: of isolation; secret: paths that no
    jail may read; checks: ids, only these; without any: all.
    """

    root: Path
    lessons: tuple
    level: str
    base: str = BOTH
    seconds: float = 10.0
    memory: int = 1024
    secret: tuple = ()
    limits: object = intake.Limits()
    checks: tuple = ()


@dataclass
class Code:
    """A module of the package, compiled.

    code     marshalled bytecode, or a sentence: why there is none
    places   for each line of the module where it stands in the learner's file, as
             "line 12: text", or ""
    written  whether any exercise is other than it was released, or any question answered
    answers  rubric.Answer for each question
    """

    code: bytes | str
    places: list = field(default_factory=list)
    written: bool = True
    answers: list = field(default_factory=list)


@dataclass
class Attempt:
    """One run of some checks: {check id: CheckResult}, and how far the lesson came at all ("", or a
    verdict and why).
    """

    checks: dict = field(default_factory=dict)
    verdict: str = ""
    reason: str = ""


class Judge:
    """Grades submissions one after the other, with one jail."""

    def __init__(self, setting):
        self.setting = setting
        self.root = course.open_root(setting.root)
        self.entries = {entry.name: entry for entry in self.root.lessons}
        self.asked = [self.entries[name] for name in setting.lessons]
        self.reader = reader.Reader(self.root.lessons, setting.limits, compiled)
        self.jail = None
        self.spent = Counter()  # seconds that the lesson's checks took so far, by `hidden`
        self.total = Counter()  # the same of the whole submission
        self.heard = Counter()  # bytes that its checks received, by `hidden`
        self.waited = 0.0  # of the last check's seconds, those that it waited for a processor

    def close(self):
        self.reader.close()
        if self.jail:
            self.jail.close()
        self.jail = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    # A submission.

    def grade(self, arrival, known):
        """The LessonResults of one learner; a Seen for a lesson that was graded already.

        known  {lesson: the keys of its results}
        """
        slow = {
            key.removeprefix(SLOW)
            for keys in known.values()
            for key in keys
            if key.startswith(SLOW)
        }
        submission, codes = self.reader.read(arrival, slow)

        def own(name):
            if name not in codes:
                file = submission.files.get(name)
                codes[name] = Code(
                    f"lesson {name} cannot be read: {file.problem}"
                    if file
                    else f"lesson {name} was not handed in"
                )
            return codes[name]

        results, halves = [], []
        self.total.clear()
        self.heard.clear()
        for entry in self.asked:
            key, file = self.key(entry, submission), submission.files.get(entry.name)
            if key in known.get(entry.name, ()):
                came = (file.entry, file.sha256) if file else ()
                results.append(Seen(entry.name, key, *came))
                continue
            result = LessonResult(
                submission.student,
                entry.name,
                entry.number,
                entry.declared.title,
                entry.declared.most,
                key=key,
                checks=[blank(check) for check in self.checks(entry)],
                notes=list(submission.notes),
                entry=file.entry if file else "",
                claimed=dict(file.claimed) if file else {},
                answers=own(entry.name).answers or answers_in(entry),
            )
            halves.append((self.lesson(entry, result, submission, own), result))
            if not half(*halves[-1]):  # it cannot even be imported: no later lesson tries again
                codes[entry.name] = Code(f"lesson {entry.name}: {result.reason}")
            results.append(result)
        # A hidden check may leave traces on the machine, such as numbers of processes. No visible
        # check of this submission, which tells its learner what it finds, comes behind it.
        for steps, result in halves:
            half(steps, result)
        return results

    def checks(self, entry):
        """The checks of a lesson that are asked for."""
        asked = self.setting.checks
        return [check for check in entry.declared.checks if not asked or check.id in asked]

    def key(self, entry, submission):
        """The hash of what was handed in, a dot, and that of all else that decides a result; of a
        file that takes too long to read, its own: then it is not read again.
        """
        if (file := submission.files.get(entry.name)) and file.slow:
            return SLOW + file.sha256
        files = {
            name: [f.sha256, f.problem]
            for name, f in submission.files.items()
            if self.entries[name].number <= entry.number
        }
        setting = self.setting
        decides = [
            checks_hash(entry),
            setting.base,
            setting.seconds,
            setting.memory,
            setting.level,
            version(),
        ]
        return ".".join(
            hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()
            for part in ([submission.problem, files], decides)
        )

    def lesson(self, entry, result, submission, own):
        """Grade one lesson in two halves, the visible checks and the hidden ones: fill in `result`.

        Yields after the first whether the lesson could be imported.
        """
        file = submission.files.get(entry.name)
        result.code = packed(file.code) if file and file.code else b""
        if file is None or file.problem:
            problem = file.problem if file else submission.problem
            slow = file.slow if file else submission.slow
            result.verdict, result.reason = (
                ("too long to read" if slow else "unreadable", problem)
                if problem
                else ("missing", f"No file of the lesson {entry.name} was handed in.")
            )
            result.sha256 = file.sha256 if file else ""
            self.all_not_run(result, result.reason)
            yield False
            return
        result.sha256 = file.sha256
        code = own(entry.name)
        if isinstance(code.code, str):
            result.verdict, result.reason = "syntax error", code.code
            self.all_not_run(result, code.code)
            yield False
            return
        result.isolation = self.setting.level
        lower = [one for one in self.root.lessons if one.number < entry.number]
        first = REFERENCE if self.setting.base == REFERENCE else OWN
        checks = self.checks(entry)
        base = {one.name: own(one.name) if first == OWN else reference(one) for one in lower}
        attempt, spent = Attempt(), Counter()
        # The hidden checks after all others, on every base: what they do must not show in those.
        for hidden in (False, True):
            self.spent = spent
            part = [check for check in checks if check.hidden == hidden]
            tried = self.attempt(entry, code, base, part, first, attempt)
            if (
                self.setting.base == BOTH
                and lower
                and not attempt.verdict
                and (failed := [c for c in part if not tried.checks[c.id].passed])
            ):
                tried = self.again(entry, code, lower, own, tried, failed)
            attempt.checks |= tried.checks
            attempt.verdict, attempt.reason = tried.verdict, tried.reason
            if not hidden:
                result.reason = attempt.reason
                yield not attempt.verdict
        result.checks = [attempt.checks[check.id] for check in checks]
        result.points = sum(check.points for check in result.checks)
        result.base = (
            REFERENCE
            if first == REFERENCE
            or any(check.passed and check.base == REFERENCE for check in result.checks)
            else OWN
        )
        result.verdict, result.reason = self.verdict(attempt, result, entry, code)

    @staticmethod
    def all_not_run(result, reason):
        for check in result.checks:
            check.message = clean(reason)

    def again(self, entry, code, lower, own, attempt, failed):
        """The failed checks once more, on the course's own earlier lessons; what passes there says
        which lesson is at fault.
        """
        on_reference = self.attempt(
            entry, code, {one.name: reference(one) for one in lower}, failed, REFERENCE
        )
        mended = [check for check in failed if on_reference.checks[check.id].passed]
        for check in failed:
            if (
                check in mended
                or on_reference.checks[check.id].status != "not run"
                and attempt.verdict
            ):
                attempt.checks[check.id] = on_reference.checks[check.id]
        if attempt.verdict and not on_reference.verdict:
            attempt.verdict, attempt.reason = "", ""
        waiting = mended
        for one in lower:  # which single lesson, put right, mends the check?
            if not waiting:
                break
            mixed = {
                other.name: reference(other) if other is one else own(other.name) for other in lower
            }
            tried = self.attempt(entry, code, mixed, waiting, REFERENCE)
            for check in waiting:
                if tried.checks[check.id].passed:
                    attempt.checks[check.id].caused_by = one.name
            waiting = [check for check in waiting if not tried.checks[check.id].passed]
        for check in mended:
            blamed = attempt.checks[check.id].caused_by
            attempt.checks[check.id].message = (
                f"passes on the course's own earlier lessons; on yours it fails because of lesson "
                f"{blamed}"
                if blamed
                else "passes on the course's own earlier lessons; on yours it fails because of "
                "several of them"
            )
        return attempt

    def verdict(self, attempt, result, entry, code):
        """(verdict, reason) of what became of the checks."""
        if attempt.verdict:
            return attempt.verdict, attempt.reason
        statuses = [check.status for check in result.checks]
        verdict = outcome.verdict_of(statuses, result.points)
        if verdict == "passed":
            return verdict, ""
        tampered = any(one.status == "tampered" and not one.hidden for one in result.checks)
        if not result.points and not tampered and not code.written:
            count = len(entry.declared.exercises)
            return "stub", f"Nothing is written yet: all {count} exercises are as released."
        if verdict == "failed":
            return verdict, outcome.count_of(statuses)
        status = {"timed out": "timeout", "out of memory": "memory"}.get(verdict, verdict)
        return verdict, next(check.message for check in result.checks if check.status == status)

    # Checks.

    def attempt(self, entry, code, lower, checks, base, before=None):
        """Run these checks of a lesson on the given earlier lessons ({name: Code}).

        before  the Attempt at other checks that came before these: what ended it, ends this
        Returns an Attempt with a result for each.
        """
        package = self.root.package
        modules = {f"{package}.core.{name}": one.code for name, one in lower.items()}
        modules[f"{package}.core.{entry.name}"] = code.code
        attempt = Attempt({check.id: replace(blank(check), base=base) for check in checks})
        late, late_in = 0, Counter()
        if before:
            attempt.verdict, attempt.reason = before.verdict, before.reason
            late_in.update(
                one.exercise for one in before.checks.values() if one.status == "timeout"
            )
            late = late_in.total()
        for check in checks:
            result = attempt.checks[check.id]
            spent = self.spent.total() if check.hidden else self.spent[False]
            if attempt.verdict or late_in[check.exercise] >= MOST_LATE:
                result.message = (
                    attempt.reason
                    or f"not run: {MOST_LATE} checks of this exercise ran out of time"
                )
                continue
            if self.total[check.hidden] > whole(self.setting):
                result.message = (
                    f"not run: the checks of this submission have taken {whole(self.setting):g} s"
                )
                continue
            least = min(LEAST, self.setting.seconds)
            seconds = (
                least
                if spent > BUDGET * self.setting.seconds
                else max(self.setting.seconds / 2**late, least)
            )
            if self.heard[check.hidden] > MOST_HEARD:
                result.message = (
                    f"not run: the code under test has answered {MOST_HEARD >> 20} MB already"
                )
                continue
            began = time.perf_counter()
            try:
                try:
                    result.status, result.message, attempt.verdict = self.check(
                        entry, check, code, modules, seconds
                    )
                except JailFailed:  # not the check's fault, perhaps: once more, in a new jail
                    result.status, result.message, attempt.verdict = self.check(
                        entry, check, code, modules, seconds, again=True
                    )
            except JailFailed:
                result.status, result.message = (
                    "crashed",
                    "the process that runs everybody's code ended here, twice",
                )
            if check.hidden:  # what it says must not become the reason of others
                attempt.verdict = ""
            attempt.reason = result.message if attempt.verdict else ""
            late += result.status == "timeout"
            late_in[check.exercise] += result.status == "timeout"
            result.points = result.max_points if result.passed else 0
            result.seconds = round(max(0, time.perf_counter() - began - self.waited), 4)
            self.spent[check.hidden] += result.seconds
            self.total[check.hidden] += result.seconds
        return attempt

    def check(self, entry, check, code, modules, seconds, again=False):
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
        try:
            fork.end()
            ended = fork.code() if died else None
        except JailFailed:
            self.close()
            if died:
                raise
        if died and ended == -signal.SIGKILL and not again:
            raise JailFailed("the fork was killed")
        if died:
            answer = (*words_of_death(ended), "")
            if importing:
                answer = answer[0], f"While the lesson was imported, {answer[1]}", "crashed"
        return answer

    @staticmethod
    def run(check, space, missing, entry):
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

    def words(self, error, importing, entry, code, seconds, check):
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

    def fork(self):
        """A fork of the jail, of a new one if need be."""
        for attempts_left in (2, 1, 0):
            try:
                self.jail = self.jail or Jail(
                    self.setting.level,
                    self.setting.secret,
                    self.setting.memory,
                    self.setting.seconds,
                    front_doors(self.root),
                )
                return self.jail.fork()
            except (JailFailed, TitoError):  # it was killed
                self.close()
                if not attempts_left:
                    raise

    def place(self, error, entry, code):
        """Where in the learner's file an error came from, as "tensor_dev.py:12: their line",
        or "".
        """
        told = getattr(error, "told", None)
        name = f"{self.root.package}.core.{entry.name}"
        lines = [line for file, line, _ in told[2] if file == name] if told else []
        found = lines and 0 < lines[-1] <= len(code.places)
        return code.places[lines[-1] - 1] if found else ""


class Missing(Exception):
    """The learner's lesson lacks a name that the course's defines."""


@dataclass
class Prepared:
    """What a lesson's checks need, made once: the code of the imports its learner-side cells use,
    and of those cells.
    """

    exported: list
    imports: bytes
    learner_side: list
    beside: set
    lesson: Lesson

    @staticmethod
    @functools.cache
    def of(entry):
        lesson: Lesson = entry.declared
        sources = [cell.source for cell in lesson.learner_side]
        words = set(re.findall(r"\w+", "\n".join(sources)))
        used = "\n".join(line for line, names in lesson.imports.items() if words & set(names))
        codes = [
            marshal.dumps(functions_of(cell.source, CHECKS_FILE, cell.line))
            for cell in lesson.learner_side
        ]
        beside = {
            name
            for source in sources
            for node in cells.tree_of(source).body
            for name in export.defined(node)
        }
        imports = marshal.dumps(compile(used, "imports", "exec"))
        return Prepared(export.exported_names(lesson), imports, codes, beside, lesson)

    def namespace(self, session, check, module, modules):
        """What the check sees, with proxies for the names it uses; and the names that the
        learner's lesson lacks.
        """
        setup = self.lesson.setup
        text = check.cell.source + self.lesson.helpers
        words = words_in(text)
        wanted = [name for name in [*self.exported, *sorted(self.beside)] if name in words]
        found = session.do(
            "load",
            modules,
            module,
            self.exported,
            wanted,
            self.imports,
            self.learner_side if words & self.beside else [],
        )
        if type(found) is not dict or not found.keys() <= set(wanted):
            raise proxy.Tampered("its names are no names")
        found |= {
            name: session.helper(found[name])
            for name in self.beside & found.keys()
            if isinstance(found[name], proxy.Remote)
        }
        space = TO_THE_END | imported(self.lesson.imports, text) | found
        if setup:
            exec(helpers_of(setup.source, CHECKS_FILE, setup.line), space)
        return space, set(self.exported) - found.keys()


def close_in_shape(a, b, *tolerances, allclose=np.allclose, **options):
    """np.allclose for checks: of no numbers at all, NumPy says that they are close to any others,
    and a learner may claim to have none; and it stretches millions to the shape of the others.
    """
    a, b = np.asarray(a), np.asarray(b)
    stretched = a.shape != b.shape and min(a.size, b.size) != 1
    if (a.size == 0) != (b.size == 0) or stretched and max(a.size, b.size) > BROAD:
        return False
    return allclose(a, b, *tolerances, **options)


def half(steps, result):
    """Let one half of a lesson be graded, and add up its seconds. Returns what it yields."""
    began = time.perf_counter()
    found = next(steps, None)
    result.seconds = round(result.seconds + time.perf_counter() - began, 3)
    return found


def zip_to_the_end(*given, strict=True):
    """zip for checks: of `for g, w in zip(got, want)`, Python runs nothing when `got` is empty, and
    a learner may claim to have nothing. A check that means it says strict=False.
    """
    return _rows(given) if strict else zip(*given)


def _rows(given):
    end = object()
    iterators = [iter(one) for one in given]
    for count in itertools.count():
        row = [next(one, end) for one in iterators]
        ended = [number for number, one in enumerate(row, 1) if one is end]
        if len(ended) == len(row):
            return
        # Not a ValueError, which a check may expect for another reason.
        assert not ended, (
            f"what is compared one by one has different lengths: of {len(row)} values, number "
            f"{ended[0]} ends after {count}, another goes on"
        )
        yield tuple(row)


# What stands for Python's own in checks.
TO_THE_END = {
    "zip": zip_to_the_end,
    "map": lambda function, *given: (function(*row) for row in zip_to_the_end(*given)),
}


@contextlib.contextmanager
def standing_in(session, package, entry):
    """Let `import` of the package's modules give proxies meanwhile."""
    names = [
        package,
        f"{package}.core",
        *(f"{package}.core.{one.name}" for one in entry.root.lessons if one.number <= entry.number),
    ]
    before = (
        {name: module for name, module in sys.modules.items() if name.split(".")[0] == package}
        if package in sys.modules
        else {}
    )
    np.allclose, allclose = close_in_shape, np.allclose
    for name in before:
        del sys.modules[name]
    sys.modules.update({name: proxy.Module(session, name) for name in names})
    try:
        yield
    finally:
        np.allclose = allclose
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(before)


def whole(setting):
    """Seconds that the visible checks of one submission may take in all; the hidden ones as many
    again.
    """
    return max(LEAST_WHOLE, WHOLE * setting.seconds)


def excuses(fork, most):
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
def overflow_is_an_error():
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
def interrupted_after(seconds, excused=lambda: 0.0):
    """Raise OutOfTime in what runs too long in the judge itself: a loop over what the learner's
    side claims, say. excused(): seconds that do not count.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    until = time.monotonic() + seconds

    def ring(number, frame):
        if time.monotonic() >= until + excused():
            raise proxy.OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)  # again and again, should one be swallowed
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def compiled(entry, file):
    """The Code of a learner's lesson that could be read; one with a sentence when it cannot be
    compiled. For `reader.read`: it takes as long as the text makes it.
    """
    exercises, lesson = entry.declared.exercises, entry.declared
    answers = answers_in(entry, file.source)
    written = not all(lesson.is_unwritten(exercise, file.source) for exercise in exercises)
    written |= any(answer.sha256 for answer in answers)
    try:
        with warnings.catch_warnings(
            action="ignore"
        ):  # Python's remarks on the learner's text are not for this terminal
            module = export.build(
                file.source, lesson, entry.relative(entry.script), entry.root.package
            )
            code = compile(module.text, f"{entry.root.package}.core.{entry.name}", "exec")
        return Code(marshal.dumps(code), places_of(module, file.source), written, answers)
    except TitoError as error:
        told = error.what
        if "no cell that begins" not in told:
            told = f"{error.what} {error.remedy}"
    except (SyntaxError, ValueError, RecursionError) as error:
        told = f"syntax error: {getattr(error, 'msg', None) or error}"
    return Code(clean(told), answers=answers)


def answers_in(entry, source=None):
    """The Answers in a learner's file, in the order of the lesson's questions; without a file,
    empty ones.
    """
    found = []
    for question in entry.declared.questions:
        text = answer_in(source, question.name) if source else ""
        sha256 = hashlib.sha256(text.encode("utf-8")).hexdigest() if text else ""
        kept = text[:LONGEST_ANSWER]
        found.append(Answer(question.name, question.points, sha256, len(text), kept))
    return found


def places_of(module, source):
    """Where each line of a module stands in the file it was made of: "line 12: its text"."""
    lines, places = {}, []
    for place in module.origin:
        if not place:
            places.append("")
            continue
        cell, line = place
        if cell.number not in lines:
            lines[cell.number] = cell.source.split("\n")
        where = f"cell {cell.number}, " if source.is_notebook else ""
        text = lines[cell.number][line].strip()[:LONGEST_LINE]
        places.append(f"{where}line {cell.line + line}: {text}")
    return places


@functools.cache
def reference(entry):
    """The Code of the course's own lesson."""
    module = export.current(entry, entry.declared.source)
    code = compile(module.text, f"{entry.root.package}.core.{entry.name}", "exec")
    return Code(marshal.dumps(code), places_of(module, entry.declared.source))


@functools.cache
def front_doors(root):
    """{name: code} of the package around the lessons: its front doors, and what lessons use and do
    not teach.
    """
    found = {f"{root.package}.core": None, root.package: None}
    package = root.path / root.package
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(root.path).with_suffix("").parts
        if parts[1] == "core":
            continue
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = marshal.dumps(compile(path.read_text(encoding="utf-8"), name, "exec"))
    return found


@functools.cache
def checks_hash(entry):
    """The hash of what a lesson is graded by: its checks, what stands beside the learner's code,
    and the reference below it.
    """
    lesson = entry.declared
    lower = [
        export.current(one, one.declared.source).text
        for one in entry.root.lessons
        if one.number < entry.number
    ]
    graded = [[check.id, check.points] for check in lesson.checks]
    graded += [["question", question.name, question.points] for question in lesson.questions]
    around = [
        [name, hashlib.sha256(code or b"").hexdigest()]
        for name, code in front_doors(entry.root).items()
    ]
    return hashlib.sha256(
        json.dumps([graded, lesson.checks_source.text, lower, around]).encode()
    ).hexdigest()


@functools.cache
def version():
    """Of tito, as it is installed: looking it up opens files."""
    return metadata.version("tinytorch")


def blank(check):
    return CheckResult(check.id, check.exercise, check.name, 0, check.points, hidden=check.hidden)


# Words for how a check ended.


def explained(error, place, seconds, check):
    """(status, message) of what ended a check."""
    at = f"\n{place}" if place else ""
    told = getattr(error, "told", None)
    if isinstance(error, proxy.OutOfTime):
        return "timeout", f"still running after {seconds:g} s: an endless loop?"
    if isinstance(error, proxy.Tampered):
        return "tampered", clean(f"the code under test does not answer as it should: {error}")
    if isinstance(error, MemoryError) or told and told[0] == "MemoryError":
        return "memory", f"more memory than it may have{at}"
    if isinstance(error, AssertionError):
        line = traceback.extract_tb(error.__traceback__)[-1].lineno
        return "failed", clean(str(error) or f"this should hold: {line_of(check, line)}")
    if isinstance(error, proxy.NoObject):
        return "error", clean(str(error))
    if isinstance(error, proxy.Undecided):
        return "error", (
            f"{error}. If your code returns what its docstring says, this is a mistake in the "
            "check: tell your instructor"
        )
    name, text = (told[0], told[1]) if told else (type(error).__name__, str(error))
    if exercise := outcome.unwritten_exercise(name, text):
        own = exercise == check.exercise
        return "unwritten", clean(
            text if own else f"needs exercise {exercise}, which is not written yet"
        )
    if isinstance(error, Missing):
        return "error", clean(str(error))
    nones = told[2][-1][2] if told and told[2] else None  # of the innermost frame of the learner's
    call = outcome.call_in(error, CHECKS_FILE)
    return "error", clean(outcome.explain(name, text, call, nones) + at)


def not_imported(error, place):
    """(status of the check that found out, message, verdict) for a lesson that could not be
    imported.
    """
    at = f" ({place})" if place else ""
    if isinstance(error, proxy.OutOfTime):
        return (
            "timeout",
            "The lesson is still being imported when its time is up: an endless loop?",
            "timed out",
        )
    if isinstance(error, proxy.Tampered):
        return (
            "tampered",
            clean(f"The lesson does not answer as it should while it is imported: {error}"),
            "tampered",
        )
    name, text = (getattr(error, "told", None) or (type(error).__name__, str(error)))[:2]
    if name == "MemoryError":
        return (
            "memory",
            f"The lesson takes more memory than it may have while it is imported{at}.",
            "out of memory",
        )
    return (
        "error",
        clean(f"The lesson stops while it is imported{at}: {name}: {text}"),
        "import failed",
    )


def words_of_death(code):
    """(status, message) of a process that ended under a check, with this exit code; negative: by
    that signal.
    """
    if code == -signal.SIGXCPU:
        return "timeout", "it has used up its time on the processor: an endless loop?"
    try:
        how = f"with exit code {code}" if code >= 0 else f"by signal {signal.Signals(-code).name}"
    except ValueError:
        how = f"by signal {-code}"
    return (
        "crashed",
        f"the process that ran the code ended {how}: does it call os._exit, or crash Python?",
    )


def clean(text):
    """Text that can be kept and sent: no halves of characters, no NUL, not endless."""
    return outcome.cut(text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0"))


def line_of(check, line):
    lines = check.cell.source.split("\n")
    return lines[line - check.cell.line].strip() if 0 <= line - check.cell.line < len(lines) else ""


def main():
    """Answer one task after the other until there are no more."""
    from tito.grading import confine

    tasks, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)  # what a check prints goes nowhere
    if sys.platform == "linux":
        import resource

        confine.die_with_parent()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY << 20, MEMORY << 20))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for run.py, which ends this process
    warnings.simplefilter(
        "ignore"
    )  # NumPy's remarks on what a learner returned are not for this terminal
    with Judge(pickle.load(tasks)) as judge:
        while True:
            try:
                arrival, known = pickle.load(tasks)
            except EOFError:
                break
            answer = pickle.dumps(judge.grade(arrival, known))
            answers.write(len(answer).to_bytes(8, "big") + answer)
            answers.flush()


if __name__ == "__main__":
    main()
