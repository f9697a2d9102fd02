"""Run the tasks of a grading run: in threads, each with a judge process, or on the workers of a
Dask cluster.
"""

import contextlib
import functools
import os
import socket
import uuid
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tito.errors import MachineError, TitoError, UsageError
from tito.grading.result import LessonResult, Unchanged
from tito.grading.setting import Setting
from tito.grading.submission import Submission
from tito.grading.work_hash import course_hash
from tito.grading.workers import WORKERS, JudgeDied
from tito.lesson.course import open_root

# Tasks given to each worker: enough that it never waits, few enough that little is lost at a stop.
PREFETCH = 2
PROCESS = uuid.uuid4().hex  # another one in each process, on any machine
Outcome = list[LessonResult | Unchanged] | JudgeDied


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
