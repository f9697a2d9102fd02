"""Grade a class: a task for each submission on a `concurrent.futures` executor, each result into
the gradebook as it comes.

The tasks run in threads of this process, each with a judge process of its own (`judge.py`) that has
a jail of its own; or, given the address of a Dask scheduler, on its workers. A judge that dies
takes one submission's attempt with it, no more. Only this process writes into the gradebook, one
transaction for each submission: killed at any moment, run it again.
"""

import atexit
import contextlib
import getpass
import os
import pickle
import select
import subprocess
import sys
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from tito.errors import TitoError
from tito.grading import intake
from tito.grading.gradebook import learner_id
from tito.grading.jail import ONE_THREAD, PARTING
from tito.grading.judge import BUDGET, GRACE, LEAST, blank
from tito.grading.result import LessonResult

# Tasks for each worker, so that none waits for work, and few are begun in vain when one stops.
AHEAD = 2
ATTEMPTS = 2  # at a submission under which the judge itself dies
PATIENCE = 120  # seconds for a submission, besides the time limits of its checks


class JudgeDied(Exception):
    """The judge process ended, or stopped answering, over a submission."""


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
    """One task: the results of one submission, None for those that need no grading.

    It never raises over a submission.
    """
    for _ in range(ATTEMPTS):
        try:
            return WORKERS.of_this_thread(setting).grade(arrival, known, seconds)
        except JudgeDied as error:
            why = error
            if WORKERS.stopping:
                break
    return [why] * len(setting.lessons)


@dataclass
class Progress:
    """How far a run has come. seconds: since it began; graded, unchanged, failed (by us, to be
    tried again), total: submissions.
    """

    total: int
    graded: int = 0
    unchanged: int = 0
    failed: int = 0
    seconds: float = 0.0
    student: str = ""
    verdicts: dict = field(default_factory=dict)

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
):
    """Grade every submission that the gradebook does not know yet.

    Returns (Arrivals, the Progress).

    setting      judge.Setting
    entries      every lesson of the course
    submissions  the folder or zip
    book         an open Gradebook
    jobs         how many workers, or the address of a Dask scheduler
    roster       Learners, or None
    regrade      also what is known
    told         is called with the Progress as it goes on
    why          what the history says about grades that this run gives
    """
    arrivals = intake.find(submissions, entries, roster)
    if roster:
        book.remember_roster(roster)
    known = book.keys()
    by_name = {entry.name: entry for entry in entries}
    asked = [by_name[name] for name in setting.lessons]
    seconds = PATIENCE + sum(longest(setting, entry) for entry in asked)
    progress, began, who = Progress(len(arrivals)), time.monotonic(), getpass.getuser()
    told(progress)
    WORKERS.stopping = False
    with executor(jobs) as (pool, most):
        waiting, running = iter(arrivals), {}
        try:
            while True:
                for arrival in waiting:
                    before = {} if regrade else known.get(learner_id(arrival.student), {})
                    running[pool.submit(grade_one, setting, arrival, before, seconds)] = arrival
                    if len(running) >= most:
                        break
                if not running:
                    break
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    arrival = running.pop(done)
                    results = done.result()
                    progress.failed += any(isinstance(result, JudgeDied) for result in results)
                    graded = known.get(learner_id(arrival.student), {})
                    results = [
                        judged(result, entry, arrival)
                        for result, entry in zip(results, asked)
                        if not (isinstance(result, JudgeDied) and entry.name in graded)
                    ]
                    results = [result for result in results if result is not None]
                    if results:
                        book.save(results, arrival.arrived, who, arrival.name, why, regrade)
                    count(progress, arrival, results, began)
                    told(progress)
        finally:
            for future in running:
                future.cancel()
            WORKERS.close(stopping=True)
    return arrivals, progress


def longest(setting, entry):
    """The most seconds that one lesson can take: its budget, once for the visible checks and once
    for the hidden ones, then the least time for each check on each base that is tried.
    """
    return (
        2 * BUDGET * setting.seconds
        + 2 * setting.seconds
        + (entry.number + 2) * len(entry.declared.checks) * (LEAST + GRACE)
    )


def judged(result, entry, arrival):
    """A result, or the row for a lesson over which the judge itself died: it has no key, so the
    next run tries again. It never takes the place of an earlier result.
    """
    if not isinstance(result, JudgeDied):
        return result
    reason = (
        f"Grading ended {ATTEMPTS} times without a result ({result}). The next run tries again."
    )
    checks = [blank(check) for check in entry.declared.checks]
    for check in checks:
        check.message = reason
    return LessonResult(
        arrival.student,
        entry.name,
        entry.number,
        entry.declared.title,
        entry.declared.points,
        verdict="crashed",
        reason=reason,
        checks=checks,
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


def rows(book, arrivals, lessons):
    """What `tito grade --json` prints: an object for each learner who handed in or is in the
    roster, and each lesson asked for.
    """
    wanted = set(lessons)
    for arrival in arrivals:
        for grade in book.rows(arrival.student):
            if grade.lesson in wanted:
                yield grade.as_json()
