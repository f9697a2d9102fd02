"""Grade a class: a task for each submission on a `concurrent.futures` executor, each result into
the gradebook as it comes.

The tasks run in threads of this process, each with a judge process of its own (`judge.py`) that has
a jail of its own; or, given the address of a Dask scheduler, on its workers. A judge that dies
takes one submission's attempt with it, no more. Only this process writes into the gradebook, one
transaction for each submission: killed at any moment, run it again.

One run at a time grades into a gradebook, see `run_lock.py`. Its lock knows on which submissions
grading has begun. A submission over which a judge died, or a whole run ended, is tried once more
after all others, with nothing else running, so that none is blamed for a neighbour; when that ends
in the same way, it gets a result, which is kept until the submission, the checks or the limits
change.

`grade_class` is what the command calls; a `Run` does its work, step by step. `grade_one` is a task,
on whichever machine its worker is.
"""

import contextlib
import difflib
import functools
import getpass
import hashlib
import itertools
import json
import os
import socket
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import astuple, dataclass, field, replace

from tito.errors import MachineError, TitoError, UsageError
from tito.grading.gradebook import enrollment, run_lock
from tito.grading.gradebook.result_store import Saving
from tito.grading.gradebook.tables import learner_id
from tito.grading.intake import collect
from tito.grading.intake.submission_times import Submitted
from tito.grading.jail.modules import answers_in, version
from tito.grading.result import LessonResult, Seen, blank
from tito.grading.setting import judge_seconds
from tito.grading.workers import WORKERS, JudgeDied
from tito.lesson.course import open_root
from tito.lesson.outcome import reason_of, verdict_of

# Tasks for each worker, so that none waits for work, and few are begun in vain when one stops.
AHEAD = 2
TOGETHER = 8  # submissions that the gradebook says in one transaction to have begun
ATTEMPTS = 2  # at a submission under which the judge, or the whole run, ends
DIED = "died:"  # before the hash of a submission's work: the key of a result without a judge's
ALONE = "~"  # in the key of a result into which checks were put that were graded alone
TELL = 60  # seconds after which a run says how far it is, though nothing has ended
ENDED = JudgeDied("the whole run was ended")  # while it was busy with this submission


def grade_one(setting, course, home, arrival, known, seconds):
    """One task: the results of one submission, Seen for those that need no grading, JudgeDied for
    all when the judge died over it.

    course  its hash, see `course_hash`
    home    the run that asks, see `run_lock.process_name`

    It never raises over a submission. On a worker elsewhere it raises TitoError where the course is
    another one, or the submissions are not.
    """
    if home != run_lock.process_name():
        check_here(setting, course, arrival)
    try:
        return WORKERS.of_this_thread(setting, course).grade(arrival, known, seconds)
    except JudgeDied as error:
        return [error] * len(setting.lessons)


def check_here(setting, course, arrival):
    """Raise TitoError where this machine has not what the run's own machine has."""
    _check_course(setting.root, setting.lessons, course)
    for part in arrival.uploads:
        if not os.path.lexists(part.path):
            raise MachineError(
                f"The worker on {socket.gethostname()} does not see {part.path}.",
                "Put the submissions where all workers find them at the same path.",
            )


@functools.lru_cache(maxsize=4)  # of those that are right: what raises is asked again
def _check_course(root, lessons, course):
    try:
        entries = open_root(root).lessons
        asked = [entry for entry in entries if entry.name in lessons]
        is_same = len(asked) == len(lessons) and course_hash(asked, entries) == course
    except (TitoError, OSError):
        is_same = False
    if not is_same:
        raise MachineError(
            f"The worker on {socket.gethostname()} has no course at {root}, or another one, or "
            "another tito.",
            "Give each worker the same tito and the same course, at the same path.",
        )


def result_of(future, lessons):
    """What a task returned; JudgeDied for all its lessons where it ended the workers that tried it.
    Raises TitoError when that is not its fault: it runs again with the next run.
    """
    try:
        return future.result()
    except TitoError:
        raise
    except Exception as error:
        if type(error).__name__ == "KilledWorker":  # of Dask: several workers died over it
            return [JudgeDied("it ended the worker that graded it")] * lessons
        raise MachineError(
            f"The workers are gone: {type(error).__name__}: {str(error)[:200]}.",
            "What was graded is kept. See that the Dask scheduler runs, then run it again.",
        ) from None


@dataclass
class Task:
    """A submission that is to be graded.

    work   the hash of all that decides its results
    begun  how often grading it began, in this run or in one that was killed, without an end; the
           attempt that is due, or goes on, is one of them
    known  {lesson: the keys of the learner's results} when this run took it
    """

    arrival: object
    work: str
    begun: int = 0
    known: dict = field(default_factory=dict)


@dataclass
class Progress:
    """How far a run has come. seconds: since it began; graded, unchanged, failed (by us, to be
    tried again), total: submissions; other: of the
    unchanged, those whose single check was not graded again, since what was graded is not what is
    there now. ended: learners whose submission got its row since whole runs ended over it. given:
    {(learner, lesson): SHA-256 of the file that came}.
    """

    total: int
    graded: int = 0
    unchanged: int = 0
    failed: int = 0
    other: int = 0
    seconds: float = 0.0
    student: str = ""
    verdicts: dict = field(default_factory=dict)
    given: dict = field(default_factory=dict)
    ended: list = field(default_factory=list)

    @property
    def done(self):
        return self.graded + self.unchanged

    def count(self, arrival, results):
        """A submission has ended with these results, none of them unchanged."""
        self.graded += bool(results)
        self.unchanged += not results
        self.student = arrival.name
        for result in results:
            self.verdicts[result.verdict] = self.verdicts.get(result.verdict, 0) + 1


def grade_class(
    setting,
    entries,
    submissions,
    book,
    jobs,
    roster=None,
    regrade=False,
    told=lambda progress: None,
    why="graded",
    students=None,
    only=lambda arrival: True,
    submitted=Submitted(),
    anew=False,
    who=None,
):
    """Grade every submission that the gradebook does not know yet.

    Returns (Arrivals, the Progress). Where the policy of the course is not "latest", each of a
    learner's entries is a submission, graded with those before it.

    setting      setting.Setting
    entries      every lesson of the course
    submissions  the folder or zip
    book         an open Gradebook
    jobs         how many workers, or the address of a Dask scheduler
    roster       Learners, or None; with them, entries that are nobody's are kept as strangers'
    regrade      also what is known
    told         is called with the Progress as it goes on
    why          what the history says about grades that this run gives
    students     ids: only these; None: all
    only         of a Submission: whether it is graded in this run
    submitted    Submitted: what the instructor says of when it arrived
    anew         what earlier runs knew of the arrival of these files is forgotten
    who          grades, for the history; None: the login name
    """
    arrivals = named(students, collect.find_submissions(submissions, entries, roster, submitted))
    arrivals = [one for one in arrivals if only(one)]
    enrollment.keep_strangers(book, [one.student for one in arrivals if not one.known])
    every = arrivals
    if book.rules.policy != "latest":
        every = [one for arrival in arrivals for one in arrival.rounds()]
    progress = Progress(len(every))
    told(progress)
    who = who or getpass.getuser()
    run = Run(setting, entries, book, progress, told, who, why, regrade, bool(students), anew)
    run.grade(every, jobs)
    return arrivals, progress


@dataclass
class Run:
    """What one call of `grade_class`, which explains the arguments, does with its submissions.

    chosen    whether learners were named: who names them means it
    ready     Tasks to begin with
    running   {future: its Task}
    suspects  Tasks under which a judge, or a whole run, ended: each is tried alone
    kept      {learner: {lesson: keys}} of the results that this run kept
    works     {(learner, work): Seen} of the submissions that are graded already
    begun     {(learner, work): how often} grading these was begun, and has not ended
    noted     the same, as the lock has it
    """

    setting: object
    entries: list
    book: object
    progress: Progress
    told: object
    who: str
    why: str
    regrade: bool
    chosen: bool
    anew: bool
    ready: deque = field(default_factory=deque)
    running: dict = field(default_factory=dict)
    suspects: deque = field(default_factory=deque)
    kept: dict = field(default_factory=dict)
    works: dict = field(default_factory=dict)
    begun: dict = field(default_factory=dict)
    noted: dict = field(default_factory=dict)
    lock: object = None

    def __post_init__(self):
        by_name = {entry.name: entry for entry in self.entries}
        self.asked = [by_name[name] for name in self.setting.lessons]
        self.began, self.seconds = time.monotonic(), judge_seconds(self.setting)
        self.decides = decisive(self.setting, self.asked, self.entries)
        self.course = course_hash(self.asked, self.entries)

    def grade(self, every, jobs):
        """Grade these Arrivals."""
        tasks = [Task(arrival, work_of(arrival, self.decides)) for arrival in every]
        with executor(jobs) as (pool, most), run_lock.hold(self.book, self.who) as self.lock:
            self.works, self.keys = self.book.graded()
            self.noted = self.lock.begun
            self.begun = dict(self.noted)
            WORKERS.stopping = False
            try:
                self._go(pool, most, self._take(tasks))
            finally:
                self._stop()

    def _go(self, pool, most, tasks):
        while True:
            for task in tasks:
                self._begin(pool, task)
                if len(self.running) >= most:
                    break
            if not self.running and self.suspects:
                task = self.suspects.popleft()
                if task.begun > ATTEMPTS:
                    self._finish(task, [ENDED] * len(self.asked))
                    continue
                self._note([task])
                self._begin(pool, task)  # alone: whatever ends it, no neighbour did
            if not self.running:
                return
            ended = wait(self.running, timeout=TELL, return_when=FIRST_COMPLETED).done
            for done in ended:
                self._finish(self.running.pop(done), result_of(done, len(self.asked)))
            if not ended:
                self._tell()
            self.lock.renew()

    def _stop(self):
        """Leave what was not graded as if this run had never begun it: nobody killed it."""
        stopped = [*self.running.values(), *self.ready]
        for future in self.running:
            future.cancel()
        for task in stopped:
            task.begun -= 1
        with contextlib.suppress(TitoError):
            self._note(stopped)
        WORKERS.close(stopping=True)

    def _take(self, tasks):
        """Those of the tasks that no run ended over. Several at a time are said to have begun,
        shortly before they do: that spares transactions.
        """
        for some in batched(tasks, TOGETHER):
            for task in some:
                place = learner_id(task.arrival.student), task.work
                task.known = self.keys.get(place[0], {})
                seen = None if self.regrade else self.works.get(place)
                if seen is not None:
                    self.progress.unchanged += 1
                    self._save(task, [], seen)
                    continue
                task.begun = 1 if self.regrade else 1 + self.begun.get(place, 0)
                (self.ready if task.begun == 1 else self.suspects).append(task)
            self._note([*self.ready])
            self._tell()
            while self.ready:
                yield self.ready.popleft()

    def _begin(self, pool, task):
        known = {}
        if not self.setting.checks:
            known = self.kept.get(learner_id(task.arrival.student), {})
            if not self.regrade:
                known = {
                    lesson: {*known.get(lesson, ()), *task.known.get(lesson, ())}
                    for lesson in known.keys() | task.known.keys()
                }
        future = pool.submit(
            grade_one,
            self.setting,
            self.course,
            run_lock.process_name(),
            task.arrival,
            known,
            self.seconds,
        )
        self.running[future] = task

    def _finish(self, task, results):
        """Keep the results of a task, or set it aside to be tried once more."""
        progress, arrival = self.progress, task.arrival
        died = [one for one in results if isinstance(one, JudgeDied)]
        if died and task.begun < ATTEMPTS:
            task.begun += 1
            self.suspects.append(task)
            return
        progress.failed += bool(died and died[0] is not ENDED)
        progress.ended += [arrival.student] * bool(died and died[0] is ENDED)
        now = self.kept.setdefault(learner_id(arrival.student), {})
        if self.setting.checks:
            results = with_checks(results, self.book.results(arrival.student), progress)
        seen = [result for result in results if isinstance(result, Seen)]
        results = [
            judged(result, entry, task)
            for result, entry in zip(results, self.asked)
            if result is not None
            and not isinstance(result, Seen)
            and not (isinstance(result, JudgeDied) and entry.name in task.known | now)
        ]
        if arrival.partial:  # what comes later is not missing
            results = [result for result in results if result.sha256]
        self._save(task, results, seen)
        for result in results:
            now.setdefault(result.lesson, set()).add(result.key)
        if self.book.rules.policy == "latest":  # this was the learner's only task
            self.kept.pop(learner_id(arrival.student), None)
        self.begun.pop((learner_id(arrival.student), task.work), None)
        progress.count(arrival, results)
        self._tell()

    def _save(self, task, results, seen):
        saving = Saving(
            task.arrival.student,
            task.arrival.name,
            self.who,
            self.why,
            results,
            seen,
            self._came(task.arrival, [*results, *seen]),
            task.work,
            self.regrade or bool(self.setting.checks),
            self.anew,
        )
        self.book.save(saving)

    def _came(self, arrival, files):
        """{lesson: Arrived} of these results or Seen; what came in is counted as given."""
        if not arrival.partial:
            student = learner_id(arrival.student)
            self.progress.given |= {(student, one.lesson): one.sha256 for one in files}
        return {
            one.lesson: arrival.arrival(one.entry)
            for one in files
            if isinstance(one, Seen) or one.verdict != "missing"
        }

    def _note(self, tasks):
        """Let the gradebook know how often these were begun."""
        for task in tasks:
            self.begun[learner_id(task.arrival.student), task.work] = task.begun
        begun = {place: times for place, times in self.begun.items() if times}
        if begun != self.noted:
            self.lock.keep(begun)
            self.noted = begun

    def _tell(self):
        self.progress.seconds = time.monotonic() - self.began
        self.told(self.progress)


def named(students, arrivals):
    """The Arrivals of these learners; of all without any. Raises TitoError for one who is not
    there.
    """
    if not students:
        return arrivals
    by_id = {arrival.student: arrival for arrival in arrivals}
    for student in students:
        if student not in by_id:
            close = difflib.get_close_matches(student, by_id, n=1)
            raise UsageError(
                f"No submission and no line of the roster belongs to {student!r}.",
                f"Did you mean {close[0]!r}?" if close else f"There are {len(by_id)} learners.",
            )
    return [by_id[student] for student in dict.fromkeys(students)]


def with_checks(results, before, progress):
    """Results of some checks, each put into the result that the whole lesson has for the same
    file; Seen where that changes nothing, None where this file was not graded.

    before  {(lesson, SHA-256): LessonResult}

    Such a result has a key of its own: whichever checks the course has, a run without `--check`
    grades the lesson anew.
    """
    merged, other = [], False
    for part in results:
        died = isinstance(part, JudgeDied)
        old = None if died else before.get((part.lesson, part.sha256))
        merged.append(_put_into(old, part) if old else None)
        other |= not (old or died)
    progress.other += other and not any(isinstance(one, LessonResult) for one in merged)
    return merged


def _put_into(old, part):
    """A result with the checks of another one, of the same file, in it; Seen where nothing changes.

    part  the result of some checks of the lesson
    """
    unchanged = Seen(old.lesson, old.key, part.entry, part.sha256)
    new = {check.id: check for check in part.checks}
    stands = {check.id: (check.points, check.max_points) for check in old.checks}
    same = all(stands.get(c.id) == (c.points, c.max_points) for c in part.checks)
    if same and part.verdict not in ("passed", "failed"):  # of the lesson, or of the machine
        return unchanged
    checks = [new.pop(check.id, check) for check in old.checks] + list(new.values())
    points = sum(check.points for check in checks)
    if [(c.id, c.points, c.max_points, c.status, c.message) for c in checks] == [
        (c.id, c.points, c.max_points, c.status, c.message) for c in old.checks
    ]:
        return unchanged
    verdict = verdict_of([check.status for check in checks], points)
    on_reference = any(check.passed and check.base == "reference" for check in checks)
    on_reference |= all(check.base == "reference" for check in checks)  # as it was asked for
    return replace(
        old,
        key=f"{old.key.partition(ALONE)[0]}{ALONE}{_mixed(old, part)}",
        checks=checks,
        points=points,
        max_points=sum(one.max_points for one in [*checks, *old.answers]),
        verdict=verdict,
        reason=reason_of(verdict, checks),
        base="reference" if on_reference else "own",
        isolation=part.isolation or old.isolation,
        seconds=part.seconds,
        code=part.code,
    )


def _mixed(old, part):
    """A hash of what decided a result, and the checks that were put into it."""
    names = sorted(check.id for check in part.checks)
    return hashlib.sha256(json.dumps([old.key, part.key, names]).encode()).hexdigest()[:32]


def batched(items, size):
    """`items` in lists of so many; the last may be shorter."""
    items = iter(items)
    while some := list(itertools.islice(items, size)):
        yield some


def work_of(arrival, decides):
    """The hash of a submission and of all else that decides its results."""
    return hashlib.sha256((decides + collect.fingerprint(arrival)).encode()).hexdigest()


def decisive(setting, asked, entries):
    """The hash of what decides results besides the submission: limits, the lessons asked for with
    their checks, and the course around them.
    """
    limits = [setting.seconds, setting.memory, astuple(setting.limits)]
    names = [entry.name for entry in asked]
    what = [setting.level, setting.earlier_lessons, limits, names, list(setting.checks)]
    return hashlib.sha256(json.dumps([*what, course_hash(asked, entries)]).encode()).hexdigest()


def course_hash(asked, entries):
    """The hash of these lessons, of those below them, of the package around them, and of tito;
    wherever the course lies.
    """
    root, last = asked[0].root, max(entry.number for entry in asked)
    below = [entry.script.parent for entry in entries if entry.number <= last]
    paths = [path for folder in below for path in sorted(folder.glob("*.py"))]
    package = root.path / root.package
    paths += [p for p in sorted(package.rglob("*.py")) if p.parent != package / "core"]
    texts = [
        [path.relative_to(root.path).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()]
        for path in paths
    ]
    what = [texts, version()]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()


def judged(result, entry, task):
    """A result, or the row for a lesson that has none because grading the submission ended without
    one, more than once. It never takes the place of an earlier result.
    """
    if not isinstance(result, JudgeDied):
        return result
    reason = (
        f"Grading ended {ATTEMPTS} times without a result ({result}), the last time with nothing "
        "else running. It is tried again when the submission, the checks or the limits change, or "
        "with --regrade."
    )
    checks = [blank(check) for check in entry.declared.checks]
    for check in checks:
        check.message = reason
    return LessonResult(
        task.arrival.student,
        entry.name,
        entry.number,
        entry.declared.title,
        entry.declared.most,
        verdict="crashed",
        reason=reason,
        checks=checks,
        key=DIED + task.work,
        answers=answers_in(entry),
    )


@contextlib.contextmanager
def executor(jobs):
    """A concurrent.futures executor, and how many tasks to give it at once. jobs: how many local
    workers, or a Dask scheduler's address.
    """
    if str(jobs).isdecimal() and int(jobs) > 0:
        with ThreadPoolExecutor(int(jobs)) as pool:
            yield pool, int(jobs) * AHEAD
        return
    if "://" not in str(jobs):
        raise UsageError(
            f"--jobs {jobs} is no number of workers and no address.",
            "Give 2, say, or the address of a Dask scheduler: tcp://host:8786.",
        )
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise MachineError(
            "Dask's distributed is not installed here.",
            "pip install distributed, here and on its workers; or give a number of local workers.",
        ) from None
    try:
        client = Client(jobs)
    except (OSError, ValueError) as error:
        raise MachineError(
            f"There is no Dask scheduler at {jobs}: {error}.",
            "Start one with `dask scheduler`, or give a number of local workers.",
        ) from None
    WORKERS.close()  # the cluster's workers have judges of their own
    with client, client.get_executor() as pool:
        yield pool, AHEAD * max(1, sum(client.nthreads().values()))
