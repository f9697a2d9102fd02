"""The trusted process: it has the checks and the expected values, and makes every comparison.

Learners' code runs in a jail, another process. A check is an ordinary test function of the lesson.
In the judge it runs with proxies for the learner's names, which use a new fork of the jail, and its
outcome becomes a CheckResult. The learner's code can only return wrong values.
"""

import contextlib
import hashlib
import json
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tito.errors import TitoError
from tito.grading.jail.jail import JailFailed
from tito.grading.jail.jailed_check import CheckRunner, Subject
from tito.grading.jail.modules import Code, answers_in, check_texts, checks_hash, reference
from tito.grading.result import (
    NO_LESSON_FILE,
    NOT_HANDED_IN,
    CheckResult,
    LessonResult,
    Unchanged,
    blank,
    packed,
)
from tito.grading.setting import BOTH, OWN, REFERENCE, Setting, submission_seconds
from tito.grading.submission import Contents
from tito.lesson import course, outcome
from tito.lesson.course import Entry, version
from tito.lesson.given_lines import lost_line_notes, name_lost_lines
from tito.lesson.lesson_format import Check
from tito.lesson.outcome import LeftOut, clean, left_out_sentences

MOST_LATE = 3  # checks of an exercise that may run out of time; then its others are not run
LEAST = 2  # seconds: the limit of a check after others ran out of time
BUDGET = 12  # times the limit of a check may a lesson take; then each further check has LEAST
# Bytes that all visible checks of a submission may receive; the hidden ones may receive the same.
# Even legal answers take the judge's time.
MOST_RECEIVED = 128 << 20
HELD = ("passed", "stub")  # verdicts whose reason does not name the left-out code
SLOW = "slow:"  # before the hash of a file that takes too long to read: such a result's key
NOT_ON_REFERENCE = "does not pass; tito test {} shows why"


@dataclass
class Attempt:
    """One run of some checks: {check id: CheckResult}, and why the whole lesson failed ("", or a
    verdict and the reason).

    only_on_reference  whether it can be imported with the course's earlier lessons, and not with
                       the learner's
    """

    checks: dict[str, CheckResult] = field(default_factory=dict)
    verdict: str = ""
    reason: str = ""
    only_on_reference: bool = False


@dataclass
class SubmittedCode:
    """What one learner handed in, and the Code of each lesson that could be read.

    tried  {(lesson, those below it that are the course's): its Code without what stops on them}
    sound  the lessons in which nothing stopped on the first that were tried
    """

    contents: Contents
    codes: dict[str, Code]
    tried: dict[tuple[str, frozenset[str]], Code] = field(default_factory=dict)
    sound: set[str] = field(default_factory=set)

    def code(self, name: str) -> Code:
        """The code of the learner's lesson, or a sentence that says why there is none."""
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


class Judge(contextlib.AbstractContextManager["Judge"]):
    """Judges submissions one after the other, with one CheckRunner."""

    def __init__(self, setting: Setting) -> None:
        self.root = course.open_root(setting.root)
        self.entries = {entry.name: entry for entry in self.root.lessons}
        self.lessons = [self.entries[name] for name in setting.lessons]
        self.runner = CheckRunner(setting, self.root)
        # Seconds that the lesson's checks took so far, by `hidden`; the same of the whole
        # submission.
        self.spent: defaultdict[bool, float] = defaultdict(float)
        self.total: defaultdict[bool, float] = defaultdict(float)
        # {(check id, code of the modules, none of them a learner's): how the check ended}. Lessons
        # as released end in the same way for the whole class.
        self.unwritten: dict[tuple[Any, ...], tuple[str, str]] = {}

    @property
    def setting(self) -> Setting:
        """The setting; its level is the one that was found, see `CheckRunner.begin`."""
        return self.runner.setting

    def __exit__(self, *error: object) -> None:
        self.runner.close()

    # A submission.

    def grade(
        self, contents: Contents, codes: dict[str, Code], known: Mapping[str, Collection[str]]
    ) -> list[LessonResult | Unchanged]:
        """The LessonResults of one learner; an Unchanged for a lesson that was graded already.

        codes  {lesson: what `modules.compiled` makes of its file}, of those that could be read
        known  {lesson: the keys of its results}
        """
        others = [file.path for file in contents.files.values()]
        if others and contents.files.keys().isdisjoint(self.setting.lessons):
            names = ", ".join(others[:5])
            contents.problem = f"It contains no file of the graded lessons, but {names}."
            contents.strange = True
        work = self.work_of(contents, codes)
        results: list[LessonResult | Unchanged] = []
        pending = []
        self.total.clear()
        self.runner.received.clear()
        for entry in self.lessons:
            key, file = self.key(entry, contents), contents.files.get(entry.name)
            if key in known.get(entry.name, ()):
                came = (file.entry, file.sha256) if file else ()
                results.append(Unchanged(entry.name, key, *came))
                continue
            result = self.blank_result(entry, work, key)
            pending.append((self.grade_lesson(entry, result, work), result))
            if not step(*pending[-1]):  # it cannot be imported; later lessons do not try again
                why = result.reason or "it cannot be imported"
                codes[entry.name] = Code(f"lesson {entry.name}: {why}")
            results.append(result)
        # A hidden check may leave traces on the machine, such as the times of files. So no visible
        # check of this submission, whose messages its learner reads, runs after it.
        for steps, result in pending:
            step(steps, result)
        return results

    def work_of(self, contents: Contents, codes: dict[str, Code]) -> SubmittedCode:
        """What a learner handed in, and what the track gives, which is not handed in."""
        codes |= {
            name: reference(entry)
            for name, entry in self.entries.items()
            if not (entry.declared.exercises or name in contents.files)
        }
        return SubmittedCode(contents, codes)

    def blank_result(self, entry: Entry, work: SubmittedCode, key: str) -> LessonResult:
        """The LessonResult of a lesson of which nothing was run yet."""
        contents, file = work.contents, work.contents.files.get(entry.name)
        return LessonResult(
            contents.student,
            entry.name,
            entry.number,
            entry.declared.title,
            entry.declared.most,
            key=key,
            checks=[blank(check) for check in entry.declared.checks],
            notes=list(contents.notes),
            sha256=file.sha256 if file else "",
            entry=file.entry if file else "",
            code=packed(file.code) if file and file.code else b"",
            answers=work.code(entry.name).answers or answers_in(entry),
            cells=work.code(entry.name).cells,
            graded_by=checks_hash(entry),
            edition=self.root.edition,
            commit=self.setting.commit,
            tito=version(),
            check_texts=check_texts(entry)[0],
        )

    def key(self, entry: Entry, contents: Contents) -> str:
        """The key of a result: the hash of the submission, a dot, and the hash of everything else
        that the result depends on. A file that takes too long to read has a special key, so that
        it is not read again.
        """
        if (file := contents.files.get(entry.name)) and file.slow:
            return SLOW + file.sha256
        files = {
            name: [file.sha256, file.problem]
            for name, file in contents.files.items()
            if self.entries[name].number <= entry.number
        }
        setting = self.setting
        limits = [setting.earlier_lessons, setting.seconds, setting.memory, setting.level]
        decides = [checks_hash(entry), *limits, version()]
        return ".".join(
            hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()
            for part in ([contents.problem, files], decides)
        )

    def why_no_code(self, entry: Entry, work: SubmittedCode) -> tuple[str, str] | None:
        """(verdict, reason) of a lesson without code to run, or None."""
        contents, file = work.contents, work.contents.files.get(entry.name)
        if file is None or file.problem:
            problem = file.problem if file else contents.problem
            slow = file.slow if file else contents.slow
            if not problem:
                return "missing", f"No file of the lesson {entry.name} was handed in."
            if not file and contents.strange:
                form = f"{entry.notebook.name} or {entry.script.name}"
                return NO_LESSON_FILE, f"{problem} Hand in {form}, by itself or in a zip."
            return "too long to read" if slow else "unreadable", problem
        code = work.code(entry.name).code
        return ("syntax error", code) if isinstance(code, str) else None

    def grade_lesson(
        self, entry: Entry, result: LessonResult, work: SubmittedCode
    ) -> Iterator[bool]:
        """Grade one lesson in two steps, the visible checks and the hidden ones: fill in `result`.

        Yields after the first whether the lesson could be imported.
        """
        if nothing := self.why_no_code(entry, work):
            result.verdict, result.reason = nothing
            for check_result in result.checks:
                check_result.message = clean(result.reason)
            yield False
            return
        result.isolation, ours = self.setting.level, self.replaced(entry, work)
        if absent := [name for name in self.entries if name in ours - work.contents.files.keys()]:
            result.notes.append(f"{NOT_HANDED_IN}{', '.join(absent)}.")
        code, checks = work.code(entry.name), entry.declared.checks
        runs = self.tried(entry, work, ours, hidden=False)
        left_out, result.cells = runs.left_out, runs.cells
        attempt, spent = Attempt(), defaultdict[bool, float](float)
        for hidden in (False, True):  # so that no other check can observe a hidden one
            self.spent = spent
            part = [check for check in checks if check.hidden == hidden]
            tried = self.attempt_on(ours, entry, work, part, attempt)
            attempt = replace(tried, checks=attempt.checks | tried.checks)
            if not hidden:
                result.reason = "" if ours else attempt.reason
                yield not attempt.verdict
        result.checks = [attempt.checks[check.id] for check in checks]
        if not code.ours:
            withhold_words(result.checks)
            if ours:
                attempt.verdict = attempt.reason = ""
                left_out = list(map(without_error, left_out))
        take_points(result, code)
        on_reference = any(check.passed and check.base == REFERENCE for check in result.checks)
        on_reference |= self.setting.earlier_lessons == REFERENCE
        result.base = REFERENCE if ours or on_reference else OWN
        result.verdict, result.reason = self.verdict(attempt, result, entry, code, left_out)
        result.notes += left_out_sentences(left_out) * (result.verdict in HELD) + code.notes

    def replaced(self, entry: Entry, work: SubmittedCode) -> set[str]:
        """The earlier lessons that are the course's from the beginning. If the course wants both
        bases, these are the needed ones that the learner did not hand in.
        """
        if self.setting.earlier_lessons == BOTH:
            needed = {lower.name for lower in entry.needed if lower.declared.exercises}
            return needed - work.contents.files.keys()
        if self.setting.earlier_lessons == REFERENCE:
            return {lower.name for lower in self.root.lessons if lower.number < entry.number}
        return set()

    def attempt_on(
        self,
        ours: set[str],
        entry: Entry,
        work: SubmittedCode,
        checks: list[Check],
        before: Attempt,
    ) -> Attempt:
        """Run these checks with the learner's earlier lessons, except those in `ours`. If the
        course wants both bases, checks that fail run again with all earlier lessons of the course.

        before  the Attempt at the checks that ran before these
        """
        base = REFERENCE if ours else OWN
        hidden = any(check.hidden for check in checks)
        tried = self.attempt(self.subject(entry, work, ours, hidden), checks, base, before)
        if self.setting.earlier_lessons == BOTH and not before.verdict:
            if failed := [check for check in checks if not tried.checks[check.id].passed]:
                return self.retry_on_reference(ours, entry, work, tried, failed)
        return tried

    def subject(
        self, entry: Entry, work: SubmittedCode, ours: Collection[str], hidden: bool
    ) -> Subject:
        """The learner's lesson on their own earlier lessons; those in `ours` are the course's.

        hidden  whether it is for hidden checks
        """
        lower = {
            other.name: reference(other)
            if other.name in ours
            else self.tried(other, work, ours, hidden)
            for other in self.root.lessons
            if other.number < entry.number
        }
        return Subject.of(entry, self.tried(entry, work, ours, hidden), lower)

    def tried(self, entry: Entry, work: SubmittedCode, ours: Collection[str], hidden: bool) -> Code:
        """The code of the learner's lesson without the statements that stop on these lower lessons.
        Nothing is tried that holds no line of the learner's, or is sound.
        """
        code = work.code(entry.name)
        if isinstance(code.code, str) or code.ours or entry.name in work.sound:
            return code
        below = {other.name for other in self.root.lessons if other.number < entry.number}
        key = entry.name, frozenset(below.intersection(ours))
        if key not in work.tried:
            work.tried[key] = code  # while the lessons below are tried
            lower = {
                name: reference(self.entries[name])
                if name in ours
                else self.tried(self.entries[name], work, ours, hidden)
                for name in below
            }
            subject, stopped = Subject.of(entry, code, lower), dict[int, tuple[str, str]]()
            if self.total[hidden] <= submission_seconds(self.setting):
                began = time.perf_counter()
                with contextlib.suppress(JailFailed):  # the next check reports it
                    stopped = self.runner.try_import(subject, hidden)
                took = time.perf_counter() - began - self.runner.waited
                self.total[hidden] += max(0, took)  # both processes can have waited at once
            if not stopped and entry.name not in {name for name, _ in work.tried.keys() - {key}}:
                work.sound.add(entry.name)
            work.tried[key] = code.without(stopped, subject.absent) if stopped else code
        return work.tried[key]

    def retry_on_reference(
        self,
        ours: set[str],
        entry: Entry,
        work: SubmittedCode,
        attempt: Attempt,
        failed: list[Check],
    ) -> Attempt:
        """Run the failed checks again with the course's earlier lessons. A check that then passes
        fails because of an earlier lesson of the learner, which is named.
        """
        lower = [other.name for other in self.root.lessons if other.number < entry.number]
        handed_in = [name for name in lower if name in work.contents.files]
        if not handed_in:
            return attempt
        hidden = failed[0].hidden
        retried = self.attempt(self.subject(entry, work, lower, hidden), failed, REFERENCE)
        mended = [check for check in failed if retried.checks[check.id].passed]
        if attempt.verdict and not retried.verdict:
            attempt.verdict, attempt.reason, attempt.only_on_reference = "", "", True
        for check in failed if attempt.only_on_reference else mended:
            attempt.checks[check.id] = retried.checks[check.id]
        waiting = mended
        for name in handed_in:  # with which one of the course's does the check pass?
            if not waiting:
                break
            subject = self.subject(entry, work, {*ours, name}, hidden)
            tried = self.attempt(subject, waiting, REFERENCE)
            for check in waiting:
                if tried.checks[check.id].passed:
                    attempt.checks[check.id].caused_by = name
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
        self,
        attempt: Attempt,
        result: LessonResult,
        entry: Entry,
        code: Code,
        left_out: list[LeftOut],
    ) -> tuple[str, str]:
        """(verdict, reason) of a lesson from the results of its checks."""
        if attempt.verdict:
            words = dict.fromkeys([*left_out_sentences(left_out), attempt.reason])
            return attempt.verdict, " ".join(words)
        verdict = outcome.verdict_of(result.checks, left_out)
        tampered = any(check.status == "tampered" and not check.hidden for check in result.checks)
        if verdict != "passed" and not (result.points or tampered or code.written):
            count = len(entry.declared.exercises)
            return "stub", f"Nothing is written yet: {count} exercises to write."
        sentences = left_out_sentences(left_out) if verdict != "passed" else []
        return verdict, " ".join([*sentences, outcome.reason_of(verdict, list(result.checks))])

    # Checks.

    def attempt(
        self, subject: Subject, checks: Sequence[Check], base: str, before: Attempt | None = None
    ) -> Attempt:
        """Run these checks on a subject: an Attempt with a result for each.

        before  the Attempt at the checks that ran before these: if it was ended, so is this one
        """
        before = before or Attempt()
        blanks = {check.id: replace(blank(check), base=base) for check in checks}
        attempt = replace(before, checks=blanks)
        late = Counter(
            result.exercise for result in before.checks.values() if result.status == "timeout"
        )
        for check in checks:
            result = attempt.checks[check.id]
            if why := self.why_not(check, attempt, late):
                result.message = why
                continue
            attempt.verdict = self.run_check(subject, check, result, late[check.exercise])
            attempt.reason = result.message if attempt.verdict else ""
            late[check.exercise] += result.status == "timeout"
        name_lost_lines(subject.code.lost, attempt.checks.values())
        return attempt

    def run_check(self, subject: Subject, check: Check, result: CheckResult, late: int) -> str:
        """Run one check, and fill in its result. Returns the verdict on the lesson if it cannot be
        imported, else "".

        late  how many checks of its exercise ran out of time
        """
        same = (check.id, *subject.modules.values())
        if subject.is_ours and same in self.unwritten:
            result.status, result.message = self.unwritten[same]
            return ""
        seconds = self.seconds_for(check, late)
        with contextlib.suppress(JailFailed, TitoError):  # then the check tries again
            self.runner.start(check.hidden)  # which is not the check's time
        began = time.perf_counter()
        result.status, result.message, verdict = self.runner.run(subject, check, seconds)
        result.seconds = round(max(0, time.perf_counter() - began - self.runner.waited), 4)
        result.points = result.max_points if result.passed else 0
        if subject.is_ours and result.status == "unwritten":
            self.unwritten[same] = result.status, result.message
        self.spent[check.hidden] += result.seconds
        self.total[check.hidden] += result.seconds
        # other checks must not reveal how a hidden check ended
        return "" if check.hidden else verdict

    def why_not(self, check: Check, attempt: Attempt, late: Mapping[str, int]) -> str:
        """Why a check is not run, or "": the attempt was ended, or a limit is reached.

        late  {exercise: how many of its checks ran out of time}
        """
        if attempt.verdict:
            return attempt.reason or f"not run: {attempt.verdict}"
        if late[check.exercise] >= MOST_LATE:
            return f"not run: {MOST_LATE} checks of this exercise ran out of time"
        most = submission_seconds(self.setting)
        if self.total[check.hidden] > most:
            return f"not run: the checks of this submission have taken {most:g} s"
        if self.runner.received[check.hidden] > MOST_RECEIVED:
            return f"not run: the code under test has answered {MOST_RECEIVED >> 20} MB already"
        return ""

    def seconds_for(self, check: Check, late: int) -> float:
        """The time limit of a check, halved for each check of its exercise that ran out of time."""
        seconds = self.setting.seconds
        spent = sum(self.spent.values()) if check.hidden else self.spent[False]
        least = min(LEAST, seconds)
        return least if spent > BUDGET * seconds else max(seconds / 2**late, least)


def without_error(one: LeftOut) -> LeftOut:
    """What is said of it when the code ran next to solutions, which an error could reveal."""
    if one.verdict == "syntax error":  # nothing ran
        return one
    return LeftOut(f"{one.words.partition(' is left out')[0]} is left out, because it stops")


def take_points(result: LessonResult, code: Code) -> None:
    """Add up the points, without those of exercises that are given code in the submission. Add the
    notes on the code.
    """
    for check in result.checks:
        check.points = 0 if check.exercise in code.given_up else check.points
    result.points = sum(check.points for check in result.checks)
    if code.given_up:
        names = ", ".join(code.given_up)
        result.notes.append(f"given code in this submission, which earns no points: {names}")
    visible = [check for check in result.checks if not check.hidden]
    result.notes += lost_line_notes(code.lost, visible)


def withhold_words(checks: list[CheckResult]) -> None:
    """Keep only whether each check passes, for checks that ran with the course's earlier lessons.

    There the learner's code runs next to solutions. It could reveal parts of them in the text of an
    error, in a value, in how it ends, or in the time that it takes.
    """
    for check in checks:
        if check.base == REFERENCE:
            check.seconds = 0.0
            if not check.passed:
                check.status, check.message = "failed", NOT_ON_REFERENCE.format(check.exercise)


def step(steps: Iterator[bool], result: LessonResult) -> bool | None:
    """Grade the next step of a lesson, and add its seconds. Returns what the step yields."""
    began = time.perf_counter()
    goes_on = next(steps, None)
    result.seconds = round(result.seconds + time.perf_counter() - began, 3)
    return goes_on
