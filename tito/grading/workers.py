"""Start and stop the judge processes of a run: one for each thread that grades, started on demand.

The first one is started early, because it finds out which level of isolation works.
"""

import atexit
import contextlib
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from tito.child import ONE_THREAD, PICKLES, Child
from tito.errors import MachineError, TitoError
from tito.grading.result import LessonResult, Unchanged
from tito.grading.setting import Setting, judge_seconds
from tito.grading.submission import Submission

START = 120  # seconds in which a judge must have found its level, also on a busy machine
PARTING = 10  # seconds for an idle judge to end its jail (which has three) and itself


class JudgeDied(Exception):
    """The judge process ended, or stopped answering, over a submission."""


class Worker:
    """The handle of a judge process.

    course  the hash of the course that it reads, see `work_hash.course_hash`; None: not known yet
    """

    def __init__(self, setting: Setting, course: str | None = None) -> None:
        self.setting, self.course, self.busy = setting, course, False
        self.child: Child | None = None
        self.starting, self.stopped = threading.Lock(), False  # stopped: no judge is started again

    def ask_level(self) -> None:
        """Start the judge, which finds the level of isolation, see `level`."""
        self.busy = True
        with contextlib.suppress(BrokenPipeError):  # it has ended already; `level` will raise
            self._start().send(None)

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
        child = self.child or self._start()
        self.busy = True
        try:
            child.send((submission, known))
            answer: list[LessonResult | Unchanged]
            answer = self._answer(time.monotonic() + judge_seconds(self.setting))
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
        """Prevent every thread from starting the judge, also one that is about to."""
        with self.starting:
            self.stopped = True

    def part(self) -> None:
        """Let the judge end by itself."""
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

    def begin(self, setting: Setting) -> None:
        """Start a judge for this Setting. Call `level` later for the level that it found.

        The judge imports its modules while the caller does other work.
        """
        self.first = Worker(setting)
        self.all.append(self.first)
        self.first.ask_level()

    def level(self) -> str:
        """The level of isolation that the first judge found."""
        assert self.first
        return self.first.level()

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
                worker.part()
            for worker in self.all:
                worker.close()
            self.all.clear()
        self.local = threading.local()


WORKERS = Workers()
atexit.register(WORKERS.close)
