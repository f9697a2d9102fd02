"""Read submissions in a separate process, with limits on processor time and memory.

A learner's text is parsed, exported and compiled only there, because a few kilobytes can keep
Python's compiler busy for minutes, in C code that cannot be interrupted. The process returns plain
data: the files that cannot be read, and for each lesson the result of the caller's function. It
does not run the learner's code.

Starting a process takes longer than reading most submissions, so one process reads many. If it ends
while it reads a submission, a new process reads only this one, to decide whether it takes too long.
"""

import contextlib
import math
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Set
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from tito.child import PICKLES, ForkedChild, write_pickle
from tito.grading.setting import Limits
from tito.grading.submission import Contents, LessonFile, Submission
from tito.lesson.conditions import die_with_parent
from tito.lesson.course import Entry

resource: ModuleType | None
try:
    import resource
except ImportError:  # Windows
    resource = None

SECONDS = 30  # of processor time, for everything in one submission
EACH = 5  # of processor time for a lesson's file
SHORT = 1  # the same in a process that has read others; a new process gets the whole time
MANY = 200  # submissions are read by one process
WAIT = 60  # seconds to wait for a file: the process may wait for a disk or a processor
MEMORY = 1024  # MB
OUT_OF_MEMORY = 71  # exit code

Answer = tuple[Contents, dict[str, Any]]
OnFile = Callable[[str], None]
# With the seconds of processor time that each lesson's file may take, and all together.
Request = tuple[Submission, Set[str], float, float]
# As intake's `open_submission`.
Opener = Callable[[Submission, list[Entry], Limits, Set[str], OnFile], Contents]
Maker = Callable[[Entry, LessonFile], Any]


class ReaderDied(Exception):
    """The reading process ended before it was done."""


class SubmissionReader(contextlib.AbstractContextManager["SubmissionReader"]):
    """Reads submissions in a separate process.

    lessons          the course's lessons
    limits           of what is read
    open_submission  the function of intake; it runs in the process
    make             a function of each readable lesson file, with a result that can be pickled; it
                     runs in the process
    """

    def __init__(
        self, lessons: list[Entry], limits: Limits, open_submission: Opener, make: Maker
    ) -> None:
        self.lessons, self.limits = lessons, limits
        self.open_submission, self.make = open_submission, make
        self.child: ForkedChild | None = None
        self.used, self.count = 0.0, 0  # of the process: seconds, submissions

    def __exit__(self, *error: object) -> None:
        self.close()

    def read(self, submission: Submission, refused: Set[str] = frozenset()) -> Answer:
        """Read the submission of a learner, and apply `make` to its files.

        refused  SHA-256s of lesson files that took too long before: they are not tried again
        returns  (Contents, {lesson: result of `make`}); the files of the Contents have a hash, but
                 no text

        A file over which a new process runs out of its time or memory is `slow` and has that as
        its problem.
        """
        if not hasattr(os, "fork"):  # nothing here that could be limited
            return self.outcome(submission, refused, lambda sha256: None)
        refused, left = set(refused), float(SECONDS)
        while left > 0:
            files: list[str] = []
            began, new = used_by_children(), self.child is None
            earlier = 0 if new else self.used
            try:
                return self.ask((submission, refused, EACH if new else SHORT, left), files)
            except ReaderDied:
                left -= max(1, used_by_children() - began - earlier)
            if not new:
                continue
            if not files or not files[-1] or files[-1] in refused:
                break  # not over a lesson's file: another try would end as this one
            refused.add(files[-1])
        most, rest = (EACH, ", even without its lessons") if left > 0 else (SECONDS, "")
        limits = f"{most} s of processor time, or {MEMORY:,} MB of memory"
        problem = f"{submission.name} takes more than {limits}, to read{rest}."
        notes = list(submission.notes)
        return Contents(submission.student, problem=problem, notes=notes, slow=True), {}

    def ask(self, request: Request, files: list[str]) -> Answer:
        """What `outcome` returns in the process, which appends to `files` here what it begins with.

        Raises ReaderDied when it needs more than the seconds of the request, or too much memory.
        """
        if self.child is None:
            self.child, self.used, self.count = ForkedChild(self.answer, PICKLES), 0.0, 0
        try:
            with contextlib.suppress(BrokenPipeError):
                self.child.send(request)
            while (message := self.child.receive(time.monotonic() + WAIT))[0] == "at":
                files.append(message[1])
            _, answer, self.used = message
            self.count += 1
            if self.count == MANY:
                self.close()
            return answer
        except (EOFError, TimeoutError):
            self.close()
            raise ReaderDied from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the process, if there is one."""
        child, self.child = self.child, None
        if child:
            child.close()

    # In the process.

    def answer(self, requests: IO[bytes], answers: IO[bytes]) -> int:
        """The life of the process: one submission after the other. Returns its exit code."""

        def begin(sha256: str) -> None:
            assert resource
            until = math.ceil(min(time.process_time() + each, end))
            resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
            write_pickle(("at", sha256), answers)

        limit()
        try:
            while True:
                try:
                    submission, refused, each, left = pickle.load(requests)
                except EOFError:
                    return 0
                end = time.process_time() + left
                begin("")
                answer = self.outcome(submission, refused, begin)
                write_pickle(("done", answer, time.process_time()), answers)
        except MemoryError:
            return OUT_OF_MEMORY

    def outcome(self, submission: Submission, refused: Set[str], on_file: OnFile) -> Answer:
        """The return value of `read`. on_file(sha256) is called before each lesson file."""
        contents = self.open_submission(submission, self.lessons, self.limits, refused, on_file)
        made = {}
        for entry in self.lessons:
            file = contents.files.get(entry.name)
            if file and not file.problem:
                on_file(file.sha256)
                made[entry.name] = self.make(entry, file)
            if file:
                file.raw, file.text, file.source = b"", "", None
        return contents, made


def limit() -> None:
    """Limit this process to MEMORY besides what it has. It ends when its parent ends."""
    assert resource
    for signum in (signal.SIGXCPU, signal.SIGALRM, signal.SIGTERM):
        signal.signal(signum, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        die_with_parent(required=True)
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
        most = (MEMORY << 20) + int(pages) * resource.getpagesize()  # besides what was inherited
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def used_by_children() -> float:
    """Seconds of processor time that ended children of this process have used."""
    times = os.times()
    return times.children_user + times.children_system
