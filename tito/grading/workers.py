"""Run the tasks of a grading run: in threads, each with a judge process, or on the workers of a
Dask cluster.

A judge is started on demand, by the thread that grades; the first one early, because it finds out
which level of isolation works.
"""

import atexit
import contextlib
import functools
import os
import socket
import threading
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tito.child import ONE_THREAD, PICKLES, Child
from tito.errors import MachineError, TitoError, UsageError
from tito.grading.result import LessonResult, Unchanged
from tito.grading.setting import Setting, course_hash, judge_seconds
from tito.grading.submission import Submission
from tito.lesson.course import open_root

if TYPE_CHECKING:
    from tito.grading.jail.sheet import Sheet

START = 120  # seconds in which a judge must have found its level, also on a busy machine
# Tasks given to each worker: enough that it never waits, few enough that little is lost at a stop.
PREFETCH = 2
PROCESS = uuid.uuid4().hex  # another one in each process, on any machine
SHEET_SECONDS = 180  # for the questions about a submission, see `jail/sheet.py`
PARTING = 10  # seconds for an idle judge to end its jail (which has three) and itself


class JudgeDied(Exception):
    """The judge process ended, or stopped answering, over a submission."""


Outcome: TypeAlias = list[LessonResult | Unchanged] | JudgeDied


class Worker:
    """The handle of a judge process.

    course  the hash of the course that it reads, see `setting.course_hash`; None: not known yet
    """

    def __init__(self, setting: Setting, course: str | None = None) -> None:
        self.setting, self.course, self.busy = setting, course, False
        self.child: Child | None = None
        self.starting, self.stopped = threading.Lock(), False  # stopped: no judge is started again

    def level(self) -> str:
        """The level that it found. Raises a TitoError with the reason if there is none."""
        try:
            answer = self._answer(time.monotonic() + START)
        except (OSError, EOFError) as error:
            self.close()
            raise MachineError(
                f"The judge process did not start: {error}.",
                "If it printed an error, the error is above. Run the command again.",
            ) from None
        self.busy = False
        if isinstance(answer, TitoError):
            raise answer
        self.setting = replace(self.setting, level=answer)
        return answer

    def grade(
        self, submission: Submission, known: Mapping[str, Collection[str]]
    ) -> list[LessonResult | Unchanged]:
        """The judge's results for one submission.

        Raises JudgeDied when there are none within `judge_seconds`, or the run was stopped.
        """
        results: list[LessonResult | Unchanged]
        results = self._ask((submission, known), judge_seconds(self.setting))
        return results

    def sheet(self, submission: Submission, lesson: str) -> "Sheet":
        """The judge's questions about a lesson of a submission. Raises JudgeDied when they take
        too long.
        """
        sheet: Sheet = self._ask((submission, lesson), SHEET_SECONDS)
        return sheet

    def _ask(self, task: tuple[Submission, object], seconds: float) -> Any:
        child = self.child or self._start()
        self.busy = True
        try:
            child.send(task)
            answer = self._answer(time.monotonic() + seconds)
            self.busy = False
            return answer
        except (OSError, EOFError) as error:
            self.close()
            raise JudgeDied(str(error)) from None

    def _start(self) -> Child:
        with self.starting:
            if self.stopped:
                raise JudgeDied("the run was stopped")
            program = ["-P", "-m", "tito.grading.judge_process"]
            self.child = Child(program, PICKLES, **ONE_THREAD)
        self.child.send(self.setting)
        return self.child

    def _answer(self, until: float) -> Any:
        child = self.child
        assert child
        try:
            return child.receive(until)
        except EOFError:
            raise EOFError(f"exit code {child.process.wait()}") from None

    def stop(self) -> None:
        """Let the judge end by itself. No thread starts it again, also none that is about to."""
        with self.starting:
            self.stopped = True
        if self.child:
            self.child.finish()

    def close(self) -> None:
        """End the judge and its jail."""
        child, self.child = self.child, None
        if child:
            child.close(0 if self.busy else PARTING)


class Workers:
    """A worker for each thread that asks for one.

    first  a worker that was begun before there were threads; the thread that asks first gets it
    """

    def __init__(self) -> None:
        self.local, self.lock = threading.local(), threading.Lock()
        self.all: list[Worker] = []
        self.first: Worker | None = None
        self.stopping = False

    def begin(self, setting: Setting) -> Worker:
        """Start a judge for this Setting, which finds the level of isolation. Ask it for its
        `level` later: it imports its modules while the caller does other work.
        """
        self.first = Worker(setting)
        self.first.busy = True
        self.all.append(self.first)
        with contextlib.suppress(BrokenPipeError):  # it has ended already; `level` will raise
            self.first._start().send(None)
        return self.first

    def of_this_thread(self, setting: Setting, course: str) -> Worker:
        """The worker of the current thread. If the course has changed since its judge started, as
        in a Dask worker that outlives a run, it is a new one. Raises JudgeDied when the run is
        stopping.
        """
        worker: Worker | None = getattr(self.local, "worker", None)
        if worker is None or (worker.setting, worker.course) != (setting, course):
            if worker:
                worker.close()
            with self.lock:
                if self.stopping:
                    raise JudgeDied("the run was stopped")
                new, self.first = self.first, None
                if new is None or new.setting != setting:
                    new = Worker(setting)
                    self.all.append(new)
                new.course, self.local.worker = course, new
                self.all = [other for other in self.all if other is not worker]
            return new
        return worker

    def close(self, stopping: bool = False) -> None:
        """End the judges. stopping: prevent threads from starting new ones."""
        with self.lock:
            self.stopping, self.first = stopping, None
            for worker in self.all:
                worker.stop()
            for worker in self.all:
                worker.close()
            self.all.clear()
        self.local = threading.local()


WORKERS = Workers()
atexit.register(WORKERS.close)


@contextlib.contextmanager
def executor(jobs: str | int) -> Iterator[tuple[Executor, int]]:
    """A concurrent.futures executor, and how many tasks to give it at a time.

    jobs  the number of local workers, or the address of a Dask scheduler
    """
    if str(jobs).isdecimal() and int(jobs) > 0:
        with ThreadPoolExecutor(int(jobs)) as pool:
            yield pool, int(jobs) * PREFETCH
        return
    if "://" not in str(jobs):
        raise UsageError(
            f"--jobs {jobs} is neither a number of workers nor an address.",
            "Give a number such as 2, or the address of a Dask scheduler: tcp://host:8786.",
        )
    try:
        from distributed import Client
    except ModuleNotFoundError:
        raise MachineError(
            "Dask's distributed is not installed here.",
            "pip install distributed, here and on its workers; or give a number of local workers.",
        ) from None
    try:
        client: Any = Client(jobs)
    except (OSError, ValueError, TypeError) as error:  # TypeError: TLS without certificates
        raise MachineError(
            f"There is no Dask scheduler at {jobs}: {error}.",
            "Start one with `dask scheduler`, or give a number of local workers. tls:// needs "
            "Dask's settings with certificates, under distributed.comm.tls.",
        ) from None
    WORKERS.close()  # the cluster's workers start their own judges
    with client, client.get_executor() as pool:
        yield pool, PREFETCH * max(1, sum(client.nthreads().values()))


def grade_one(
    setting: Setting,
    course: str,
    process: str,
    submission: Submission,
    known: Mapping[str, Collection[str]],
) -> Outcome:
    """Grade one submission, on the machine of a worker. Returns its results, or JudgeDied if the
    judge died. A lesson that needs no grading has the result Unchanged.

    course   its hash, see `course_hash`
    process  PROCESS of the run that asks
    known    {lesson: the keys of its results}

    A submission never makes it raise. On another machine it raises TitoError if the course there
    differs or the submissions are missing.
    """
    if process != PROCESS:
        check_machine(setting, course, submission)
    try:
        return WORKERS.of_this_thread(setting, course).grade(submission, known)
    except JudgeDied as error:
        return error


def check_machine(setting: Setting, course: str, submission: Submission) -> None:
    """Raise TitoError if this machine has other files than the machine that started the run."""
    _check_course(setting.root, setting.lessons, course)
    for upload in submission.uploads:
        if not os.path.lexists(upload.path):
            raise MachineError(
                f"The worker on {socket.gethostname()} does not see {upload.path}.",
                "Put the submissions at a path that all workers can read.",
            )


@functools.lru_cache(maxsize=4)  # caches only courses that are right; a wrong one is checked again
def _check_course(root: Path, names: tuple[str, ...], course: str) -> None:
    try:
        entries = open_root(root).lessons
        lessons = [entry for entry in entries if entry.name in names]
        is_same = len(lessons) == len(names) and course_hash(lessons, entries) == course
    except (TitoError, OSError):
        is_same = False
    if not is_same:
        raise MachineError(
            f"The worker on {socket.gethostname()} has no course at {root}, or "
            "another version of it or of tito.",
            "Give each worker the same tito and the same course, at the same path.",
        )


def outcome_of(future: "Future[Outcome]") -> Outcome:
    """The results of a task, or JudgeDied if the task killed the workers that tried it. Raises
    TitoError if the workers ended for another reason: the next run tries the task again.
    """
    try:
        return future.result()
    except TitoError:
        raise
    except Exception as error:
        if type(error).__name__ == "KilledWorker":  # of Dask: several workers died over it
            return JudgeDied("it ended the worker that graded it")
        raise MachineError(
            f"The workers are gone: {type(error).__name__}: {str(error)[:200]}.",
            "The results so far are saved. Check that the Dask scheduler runs, then run the "
            "command again.",
        ) from None
