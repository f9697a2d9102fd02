"""Grade a class: collect the submissions, judge them in workers, and save each result in the
gradebook as soon as it is known.

The command calls `grade_class`, which creates a `Run`. Each submission is a task on a
`concurrent.futures` executor (`workers.py`). If a judge dies, only the submission that it was
grading is affected. Only this process writes into the gradebook, one transaction for each
submission, so a run that was killed can be started again.

Only one run at a time grades into a gradebook (`gradebook/run_lock.py`). It records which
submissions were begun. If a judge or a whole run died while a submission was graded, the submission
is tried again after all others and with nothing else running, so that another one cannot be the
cause. If a judge dies over it again, it gets the verdict "crashed", which is kept until the
submission, the checks or the limits change. The end of a whole run says nothing about a submission:
it may have been a power cut, so it costs no points however often it happens.
"""

import contextlib
import hashlib
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tito.errors import Notice, TitoError, UsageError, suggest
from tito.grading.gradebook import enrollment, run_lock
from tito.grading.gradebook.gradebook import Gradebook, Keys, Works
from tito.grading.gradebook.result_store import Saving
from tito.grading.gradebook.tables import learner_id
from tito.grading.intake import collect
from tito.grading.intake.archives import some
from tito.grading.intake.submission_times import Submitted
from tito.grading.jail.modules import answers_in, check_texts
from tito.grading.result import UNREAD, LessonResult, Unchanged, blank
from tito.grading.roster import Learner
from tito.grading.setting import Setting, course_hash, decisive_hash
from tito.grading.submission import Submission
from tito.grading.workers import (
    PROCESS,
    WORKERS,
    JudgeDied,
    Outcome,
    executor,
    grade_one,
    outcome_of,
)
from tito.lesson.course import Entry

BATCH_SIZE = 8  # submissions that are recorded as begun in one transaction
ATTEMPTS = 2  # at a submission during which the judge dies
REPORT_INTERVAL = 60  # seconds after which a run reports its progress in any case
JUDGE_DIED = "died:"  # begins the key of a row without a judge's result; the work's hash follows


@dataclass(frozen=True)
class RunOptions:
    """The options of a run.

    jobs              how many workers, or the address of a Dask scheduler
    roster            with it, entries that match no learner are saved as strangers
    students          ids: only these; None: all
    is_included       whether a Submission is graded in this run
    submitted         the instructor's times of arrival
    regrade           also what is graded already
    replace_arrivals  replace the times of arrival from earlier runs
    who, why          grades, for the history
    """

    jobs: str | int = 1
    roster: list[Learner] | None = None
    students: Sequence[str] | None = None
    is_included: Callable[[Submission], bool] = lambda submission: True
    submitted: Submitted = Submitted()
    regrade: bool = False
    replace_arrivals: bool = False
    who: str = ""
    why: str = ""


@dataclass
class Progress:
    """The progress of a run.

    total, graded, unchanged  submissions
    failed       those that could not be graded, by our fault
    strange      {learner: the files of their submission, none of a lesson}
    seconds      since it began
    verdicts     {verdict: how many lessons got it}
    files        {(learner, lesson): SHA-256 of the file that came}
    """

    total: int
    graded: int = 0
    unchanged: int = 0
    failed: int = 0
    seconds: float = 0.0
    verdicts: dict[str, int] = field(default_factory=dict)
    files: dict[tuple[str, str], str] = field(default_factory=dict)
    strange: dict[str, str] = field(default_factory=dict)

    @property
    def done(self) -> int:
        return self.graded + self.unchanged

    def count(self, results: Sequence[LessonResult]) -> None:
        """Count a submission with these new results."""
        verdicts = [result.verdict for result in results]
        self.graded += bool(verdicts)
        self.unchanged += not verdicts
        for verdict in verdicts:
            self.verdicts[verdict] = self.verdicts.get(verdict, 0) + 1
        self.strange |= {one.student: one.reason for one in results if one.verdict in UNREAD}


Report = Callable[[Progress], None]


def grade_class(
    setting: Setting,
    entries: list[Entry],
    path: Path,
    book: Gradebook,
    options: RunOptions = RunOptions(),
    report: Report = lambda progress: None,
) -> tuple[list[Submission], Progress]:
    """Grade every submission in a folder or zip that the gradebook does not know yet.

    entries  every lesson of the course
    report   is called with the Progress as it goes on

    Where the policy of the course is not "latest", each of a learner's uploads is a submission,
    graded with those before it. Returns the Submissions, each whole, and the Progress.
    """
    submissions = collect.find_submissions(path, entries, options.roster, options.submitted)
    submissions = select_students(options.students, submissions)
    submissions = [submission for submission in submissions if options.is_included(submission)]
    enrollment.keep_entries(book, submissions, options.who)
    rounds = submissions
    if book.rules.policy != "latest":
        rounds = [part for submission in submissions for part in submission.rounds()]
    run = Run(setting, entries, book, options, report)
    run.grade(rounds)
    return submissions, run.progress


def work_hash(submission: Submission, decisive: str) -> str:
    """The hash of a submission and of everything else that its results depend on, `decisive_hash`.
    Work with a known hash is not graded again.
    """
    return hashlib.sha256((decisive + collect.fingerprint(submission)).encode()).hexdigest()


def select_students(
    students: Sequence[str] | None, submissions: list[Submission]
) -> list[Submission]:
    """The Submissions of these learners, or all. Raises UsageError for learners without any."""
    if not students:
        return submissions
    by_id = {submission.student: submission for submission in submissions}
    for student in students:
        if student not in by_id:
            raise UsageError(
                f"No submission and no line of the roster belongs to {student!r}.",
                suggest(student, by_id, f"There are {len(by_id)} learners."),
            )
    return [by_id[student] for student in dict.fromkeys(students)]


@dataclass(frozen=True)
class Task:
    """A submission to grade. work: its `work_hash`."""

    submission: Submission
    work: str

    @property
    def student(self) -> str:
        return learner_id(self.submission.student)

    @property
    def place(self) -> tuple[str, str]:
        """Its key in the gradebook."""
        return self.student, self.work


class Run:
    """What one call of `grade_class`, which explains the arguments, does with its submissions.

    waiting   Tasks to begin
    suspects  Tasks during which a judge or a whole run ended: each is tried alone
    running   {future: its Task}
    begun     {place of a Task that was begun and has not ended: how often its judge died}
    unsaved_checks  {SHA-256 of the list of a lesson's checks: their texts}, until they are saved
    keys      of all results in the gradebook; new_keys: of those that this run saved
    """

    def __init__(
        self,
        setting: Setting,
        entries: list[Entry],
        book: Gradebook,
        options: RunOptions,
        report: Report,
    ) -> None:
        self.setting, self.book = setting, book
        self.options, self.on_progress = options, report
        by_name = {entry.name: entry for entry in entries}
        self.lessons = [by_name[name] for name in setting.lessons]
        self.unsaved_checks = dict(map(check_texts, self.lessons))
        self.course = course_hash(self.lessons, entries)
        self.progress, self.start = Progress(0), time.monotonic()
        self.waiting: deque[Task] = deque()
        self.suspects: deque[Task] = deque()
        self.running: dict[Future[Outcome], Task] = {}
        self.begun: run_lock.Begun = {}
        self.keys: Keys = {}
        self.new_keys: Keys = {}

    def grade(self, submissions: list[Submission]) -> None:
        """Grade these submissions, until each has its results."""
        self.progress.total = len(submissions)
        self.report()
        decisive = decisive_hash(self.setting, self.course)
        tasks = [Task(submission, work_hash(submission, decisive)) for submission in submissions]
        with (
            run_lock.hold(self.book, self.options.who) as lock,
            executor(self.options.jobs) as (pool, most),
        ):
            works, self.keys = self.book.graded()
            self.begun = dict(lock.begun)
            WORKERS.stopping = False
            try:
                self.sort_tasks(tasks, works)
                self.loop(pool, most, lock)
            finally:
                self.stop(lock)

    def sort_tasks(self, tasks: Iterable[Task], works: Works) -> None:
        """Leave out submissions that are graded already, and move those that a killed run had
        begun to the end, and name them.

        works  {place: Unchanged} of the submissions that are graded already
        """
        for task in tasks:
            seen = None if self.options.regrade else works.get(task.place)
            if self.options.regrade or seen is not None:
                self.begun.pop(task.place, None)
            if seen is not None:
                self.save(task, [], seen)
                self.progress.unchanged += 1
            elif task.place in self.begun:
                self.suspects.append(task)
            else:
                self.waiting.append(task)
        if self.suspects:
            names = some((task.submission.student for task in self.suspects), 150)
            words = (
                f"An earlier run was ended while it graded {names}. These are graded last, alone."
            )
            warnings.warn(words, Notice, stacklevel=2)
        self.report()

    def loop(self, pool: Executor, most: int, lock: run_lock.RunLock) -> None:
        """Give tasks to the workers, never more than `most` at once, and save what they return."""
        while self.waiting or self.suspects or self.running:
            while self.waiting and len(self.running) < most:
                if self.waiting[0].place not in self.begun:
                    self.note_begun(islice(self.waiting, BATCH_SIZE), lock)
                self.begin(pool, self.waiting.popleft())
            if not self.running:  # alone, so that no other task can be the cause if it fails
                self.note_begun(islice(self.suspects, 1), lock)
                self.begin(pool, self.suspects.popleft())
            ended = wait(self.running, timeout=REPORT_INTERVAL, return_when=FIRST_COMPLETED).done
            for future in ended:
                self.finish(self.running.pop(future), outcome_of(future))
            if not ended:
                self.report()

    def begin(self, pool: Executor, task: Task) -> None:
        """Give a task to the workers."""
        keys = self.new_keys if self.options.regrade else self.keys
        of_student = keys.get(task.student, {})
        known = {lesson: set(of_lesson) for lesson, of_lesson in of_student.items()}
        future = pool.submit(grade_one, self.setting, self.course, PROCESS, task.submission, known)
        self.running[future] = task

    def finish(self, task: Task, outcome: Outcome) -> None:
        """Save the results of a task, or mark it to be tried again."""
        if isinstance(outcome, JudgeDied):
            self.begun[task.place] = 1 + self.begun.get(task.place, 0)
            if self.begun[task.place] < ATTEMPTS:
                self.suspects.append(task)
                return
            self.progress.failed += 1
            results = self.results_without_judge(task, outcome)
        else:
            results = outcome
        new = [result for result in results if isinstance(result, LessonResult)]
        if task.submission.partial:  # what comes later is not missing
            new = [result for result in new if result.sha256]
        self.begun.pop(task.place, None)
        self.save(task, new, [result for result in results if isinstance(result, Unchanged)])
        self.progress.count(new)
        self.report()

    def results_without_judge(self, task: Task, why: JudgeDied) -> list[LessonResult | Unchanged]:
        """The rows of a submission that could not be graded. They replace no earlier results."""
        known = self.keys.get(task.student, {})
        return [ungraded(entry, task, why) for entry in self.lessons if entry.name not in known]

    def save(self, task: Task, results: list[LessonResult], seen: list[Unchanged]) -> None:
        """Save the results of a task and the arrival of its files in the gradebook."""
        submission = task.submission
        files: list[LessonResult | Unchanged] = [*results, *seen]
        if not submission.partial:
            self.progress.files |= {(task.student, file.lesson): file.sha256 for file in files}
        arrivals = {
            file.lesson: submission.arrival(file.entry)
            for file in files
            if isinstance(file, Unchanged) or file.verdict != "missing"
        }
        texts = [self.unsaved_checks.get(result.check_texts, {}) for result in results]
        written = self.book.save(
            Saving(
                submission.student,
                submission.name,
                self.options.who,
                self.options.why or "graded",
                results=results,
                seen=seen,
                arrivals=arrivals,
                work=task.work,
                texts={name: text for one in texts for name, text in one.items()},
                regrade=self.options.regrade,
                replace_arrivals=self.options.replace_arrivals,
            )
        )
        for result in written:
            self.unsaved_checks.pop(result.check_texts, None)
        for keys in (self.keys, self.new_keys):
            of_student = keys.setdefault(task.student, {})
            for result in results:
                of_student.setdefault(result.lesson, set()).add(result.key)

    def note_begun(self, tasks: Iterable[Task], lock: run_lock.RunLock) -> None:
        """Record in the gradebook that these are begun, before they are."""
        for task in tasks:
            self.begun.setdefault(task.place, 0)
        lock.keep(self.begun)

    def stop(self, lock: run_lock.RunLock) -> None:
        """Take the unfinished submissions out of the record, because the run ends in order."""
        for future in self.running:
            future.cancel()
        for task in [*self.running.values(), *self.waiting]:
            if not self.begun.get(task.place):
                self.begun.pop(task.place, None)
        with contextlib.suppress(TitoError):
            lock.keep(self.begun)
        WORKERS.close(stopping=True)

    def report(self) -> None:
        self.progress.seconds = time.monotonic() - self.start
        self.on_progress(self.progress)


def ungraded(entry: Entry, task: Task, why: JudgeDied) -> LessonResult:
    """The row of a lesson without a result, because all attempts to grade the submission failed."""
    reason = (
        f"Grading ended {ATTEMPTS} times without a result ({why}), the last time with nothing "
        "else running. It is tried again when the submission, the checks or the limits change, or "
        "with --regrade."
    )
    checks = [blank(check) for check in entry.declared.checks]
    for check in checks:
        check.message = reason
    return LessonResult(
        task.submission.student,
        entry.name,
        entry.number,
        entry.declared.title,
        entry.declared.most,
        verdict="crashed",
        reason=reason,
        checks=checks,
        key=JUDGE_DIED + task.work,
        answers=answers_in(entry),
    )
