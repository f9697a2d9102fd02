"""Grade a class: a task for each submission on a `concurrent.futures` executor, each result into
the gradebook as it comes.

The tasks run in threads of this process, each with a judge process of its own (`judge.py`) that has
a jail of its own; or, given the address of a Dask scheduler, on its workers. A judge that dies
takes one submission's attempt with it, no more. Only this process writes into the gradebook, one
transaction for each submission: killed at any moment, run it again.

The gradebook knows on which submissions grading has begun. One whose judge died, or with which a
whole run ended, is tried once more after all others, with nothing else running, so that none is
blamed for a neighbour; when that ends in the same way, it gets a result, which is kept until the
submission, the checks or the limits change.
"""

import atexit
import contextlib
import getpass
import hashlib
import json
import os
import pickle
import select
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import astuple, dataclass, field
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

from tito.errors import TitoError
from tito.grading import intake
from tito.grading.gradebook import learner_id
from tito.grading.jail import ONE_THREAD, PARTING
from tito.grading.judge import EXCUSED, GRACE, blank, whole
from tito.grading.result import LessonResult, Seen

# Tasks for each worker, so that none waits for work, and few are begun in vain when one stops.
AHEAD = 2
TOGETHER = 16  # submissions that the gradebook says in one transaction to have begun
ATTEMPTS = 2  # at a submission under which the judge, or the whole run, ends
DIED = "died:"  # before the hash of a submission's work: the key of a result without a judge's
PATIENCE = 120  # seconds for a submission, besides those of its checks


class JudgeDied(Exception):
    """The judge process ended, or stopped answering, over a submission."""


ENDED = JudgeDied("the whole run was ended")  # while it was busy with this submission


class Worker:
    """A judge process, from outside."""

    def __init__(self, setting):
        self.setting, self.process, self.busy = setting, None, False

    def grade(self, arrival, known, seconds):
        """The judge's results for one submission.

        Raises JudgeDied when there are none within so many seconds.
        """
        if self.process is None:
            self._start()
        self.busy = True
        try:
            self._tell((arrival, known))
            answer = self._answer(time.monotonic() + seconds)
            self.busy = False
            return answer
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            self.close()
            raise JudgeDied(str(error)) from None

    def _start(self):
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith("PYTHON")
        } | ONE_THREAD
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-X", "utf8", "-m", "tito.grading.judge"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        self._tell(self.setting)

    def _tell(self, message):
        pickle.dump(message, self.process.stdin)
        self.process.stdin.flush()

    def _answer(self, until):
        """The next pickle that the judge sends, however slowly it comes; what sends it is ours, and
        trusted.
        """
        got = b""
        while True:
            if not select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))[
                0
            ]:
                raise EOFError("no answer")
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                raise EOFError(f"exit code {self.process.wait()}")
            got += part
            if len(got) >= 8 and len(got) - 8 >= int.from_bytes(got[:8], "big"):
                return pickle.loads(got[8:])

    def close(self):
        """End the judge, and with it its jail.

        One that has nothing to do ends by itself when it hears nothing more.
        """
        if self.process:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            try:
                self.process.wait(0 if self.busy else PARTING)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
            self.process = None


class Workers:
    """A worker for each thread that asks for one."""

    def __init__(self):
        self.local, self.all, self.lock, self.stopping = (
            threading.local(),
            [],
            threading.Lock(),
            False,
        )

    def of_this_thread(self, setting):
        found = getattr(self.local, "worker", None)
        if found is None or found.setting != setting:
            found = self.local.worker = Worker(setting)
            with self.lock:
                self.all.append(found)
        return found

    def close(self, stopping=False):
        """End the judges. `stopping`: whoever loses one to this shall not start another."""
        with self.lock:
            self.stopping = stopping
            for worker in self.all:
                worker.close()
            self.all.clear()
        self.local = threading.local()


WORKERS = Workers()
atexit.register(WORKERS.close)


def grade_one(setting, arrival, known, seconds):
    """One task: the results of one submission, Seen for those that need no grading, JudgeDied for
    all when the judge died over it.

    It never raises over a submission.
    """
    try:
        return WORKERS.of_this_thread(setting).grade(arrival, known, seconds)
    except JudgeDied as error:
        return [error] * len(setting.lessons)


@dataclass
class Task:
    """A submission that is to be graded.

    work   the hash of all that decides its results
    begun  how often grading it began, in this run or in one that was killed, without an end; the
           attempt that is due, or goes on, is one of them
    """

    arrival: object
    work: str
    begun: int


@dataclass
class Progress:
    """How far a run has come. seconds: since it began; graded, unchanged, failed (by us, to be
    tried again), total: submissions. given: {(learner, lesson): SHA-256 of the file that came}.
    """

    total: int
    graded: int = 0
    unchanged: int = 0
    failed: int = 0
    seconds: float = 0.0
    student: str = ""
    verdicts: dict = field(default_factory=dict)
    given: dict = field(default_factory=dict)

    @property
    def done(self):
        return self.graded + self.unchanged


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
    collected=intake.Collected(),
    anew=False,
):
    """Grade every submission that the gradebook does not know yet.

    Returns (Arrivals, the Progress). Where the policy of the course is not "latest", each of a
    learner's entries is a submission, graded with those before it.

    setting      judge.Setting
    entries      every lesson of the course
    submissions  the folder or zip
    book         an open Gradebook
    jobs         how many workers, or the address of a Dask scheduler
    roster       Learners, or None
    regrade      also what is known
    told         is called with the Progress as it goes on
    why          what the history says about grades that this run gives
    collected    intake.Collected: when all that arrived
    anew         what earlier runs knew of the arrival of these files is forgotten
    """
    arrivals = intake.find(submissions, entries, roster, collected)
    every = arrivals
    if book.rules.policy != "latest":
        every = [one for arrival in arrivals for one in arrival.rounds()]
    if roster:
        book.remember_roster(roster)
    known = book.keys()
    by_name = {entry.name: entry for entry in entries}
    asked = [by_name[name] for name in setting.lessons]
    seconds = longest(setting)
    progress, began, who = Progress(len(every)), time.monotonic(), getpass.getuser()
    told(progress)
    WORKERS.stopping = False
    this, attempts, decides = run_name(), book.attempts(), decisive(setting, asked)
    running, ready, suspects, done_now = {}, deque(), deque(), {}

    def note(*tasks):
        """Let the gradebook know how often these were begun."""
        if tasks:
            book.keep_attempts(
                [(task.arrival.student, task.work, task.begun) for task in tasks], this
            )

    def fresh():
        """The tasks that no run ended over. Several at a time are said to have begun, shortly
        before they do: that spares transactions.
        """
        for some in batched(every, TOGETHER):
            ready.extend(Task(arrival, work_of(arrival, decides), 0) for arrival in some)
            for task in list(ready):
                attempt = attempts.get((learner_id(task.arrival.student), task.work))
                if attempt and not regrade:
                    task.begun = attempt.number - goes_on(attempt, seconds)
                if task.begun:
                    ready.remove(task)
                    suspects.append(task)
                task.begun += 1
            note(*ready)
            while ready:
                yield ready.popleft()

    def begin(task):
        before = (done_now if regrade else known).get(learner_id(task.arrival.student), {})
        running[pool.submit(grade_one, setting, task.arrival, before, seconds)] = task

    def finish(task, results):
        arrival, died = task.arrival, [one for one in results if isinstance(one, JudgeDied)]
        if died and task.begun < ATTEMPTS:
            task.begun += 1
            suspects.append(task)
            return
        progress.failed += bool(died and died[0] is not ENDED)
        graded = known.setdefault(learner_id(arrival.student), {})
        seen = [result for result in results if isinstance(result, Seen)]
        results = [
            judged(result, entry, task)
            for result, entry in zip(results, asked)
            if not (isinstance(result, JudgeDied) and entry.name in graded)
            and not isinstance(result, Seen)
        ]
        if arrival.partial:  # what comes later is not missing
            results = [result for result in results if result.sha256]
        times = {
            one.lesson: arrival.moment(one.lesson, one.entry)
            for one in (*results, *seen)
            if isinstance(one, Seen) or one.verdict != "missing"
        }
        student = learner_id(arrival.student)
        if not arrival.partial:
            progress.given |= {(student, one.lesson): one.sha256 for one in (*results, *seen)}
        if results:
            ended = None if died else task.work  # what did not end stays known
            book.save(results, times, who, arrival.name, why, regrade, ended, seen=seen, anew=anew)
            now = done_now.setdefault(student, {})
            for result in results:
                for keys in (graded, now):
                    keys.setdefault(result.lesson, set()).add(result.key)
        elif seen:
            book.saw(arrival.student, seen, times, who, why, anew)
        if not results and not died:
            task.begun = 0
            note(task)
        count(progress, arrival, results, began)
        told(progress)

    with executor(jobs) as (pool, most):
        tasks = fresh()
        try:
            while True:
                for task in tasks:
                    begin(task)
                    if len(running) >= most:
                        break
                if not running and suspects:
                    task = suspects.popleft()
                    if task.begun > ATTEMPTS:
                        finish(task, [ENDED] * len(asked))
                        continue
                    note(task)
                    begin(task)  # alone: whatever ends it, no neighbour did
                if not running:
                    break
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    finish(running.pop(done), done.result())
        finally:
            stopped = [*running.values(), *ready]  # not killed: that is nobody's fault
            for future in running:
                future.cancel()
            for task in stopped:
                task.begun -= 1
            with contextlib.suppress(TitoError):
                note(*stopped)
            WORKERS.close(stopping=True)
    return arrivals, progress


def batched(items, size):
    """`items` in lists of so many; the last may be shorter."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def work_of(arrival, decides):
    """The hash of a submission and of all else that decides its results."""
    return hashlib.sha256((decides + intake.fingerprint(arrival)).encode()).hexdigest()


def decisive(setting, asked):
    """The hash of what decides results besides the submission: limits, and the lessons asked for
    with their checks.
    """
    limits = [setting.seconds, setting.memory, astuple(setting.limits)]
    texts = [
        [path.name, hashlib.sha256(path.read_bytes()).hexdigest()]
        for entry in asked
        for path in sorted(entry.script.parent.glob("*.py"))
    ]
    what = [setting.level, setting.base, limits, texts, metadata.version("tinytorch")]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()


def run_name(pid=None):
    """What the gradebook calls this run, or that of another process: host, process, its start."""
    pid = pid or os.getpid()
    try:
        start = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        start = ""
    return f"{socket.gethostname()} {pid} {start}"


def goes_on(attempt, seconds):
    """Whether the run that began this attempt may still be busy with it: then nothing has ended.

    seconds  the most that a submission takes: of a run elsewhere, nothing else is known
    """
    host, _, rest = attempt.run.partition(" ")
    pid = int(rest.split(" ")[0])
    if host != socket.gethostname():
        return (datetime.now(timezone.utc) - attempt.at).total_seconds() < AHEAD * seconds
    if pid == os.getpid() or attempt.run != run_name(pid):
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass
    except OSError:
        return False
    return True


def longest(setting):
    """The seconds after which a judge that is still busy with one submission is ended: those in
    which it must be ready, however busy the machine is, and PATIENCE.
    """
    return PATIENCE + EXCUSED * 2 * (whole(setting) + setting.seconds + GRACE)


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
        entry.declared.points,
        verdict="crashed",
        reason=reason,
        checks=checks,
        key=DIED + task.work,
    )


def count(progress, arrival, results, began):
    progress.graded += bool(results)
    progress.unchanged += not results
    progress.student, progress.seconds = arrival.name, time.monotonic() - began
    for result in results:
        progress.verdicts[result.verdict] = progress.verdicts.get(result.verdict, 0) + 1


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
        raise TitoError(
            f"--jobs {jobs} is no number of workers and no address.",
            "Give 2, say, or the address of a Dask scheduler: tcp://host:8786.",
        )
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise TitoError(
            "Dask's distributed is not installed here.",
            "pip install distributed, here and on its workers; or give a number of local workers.",
            3,
        ) from None
    try:
        client = Client(jobs)
    except (OSError, ValueError) as error:
        raise TitoError(
            f"There is no Dask scheduler at {jobs}: {error}.",
            "Start one with `dask scheduler`, or give a number of local workers.",
            3,
        ) from None
    with client, client.get_executor() as pool:
        yield pool, AHEAD * max(1, sum(client.nthreads().values()))
