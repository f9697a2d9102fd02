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
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Set
from types import ModuleType
from typing import Any, BinaryIO

from tito.grading.setting import Limits
from tito.grading.submission import Contents, LessonFile, Submission
from tito.lesson.course import Entry

resource: ModuleType | None
confine: ModuleType | None
try:
    import resource

    from tito.grading.jail import confine  # here, and not anew in each process
except ImportError:  # Windows, macOS
    resource = confine = None

SECONDS = 10  # of processor time, for everything in one submission
EACH = 5  # of processor time for a lesson's file
SHORT = 1  # the same in a process that has read others; a new process gets the whole time
MANY = 200  # submissions are read by one process
WAIT = 60  # seconds to wait for a process that uses no processor time, but may wait for a disk
MEMORY = 1024  # MB
OUT_OF_MEMORY = 71  # exit code

Answer = tuple[Contents, dict[str, Any]]
OnFile = Callable[[str], None]
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
        self.pid: int | None = None
        self.requests: BinaryIO
        self.answers: BinaryIO
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
            began, new = used_by_children(), self.pid is None
            earlier = 0 if new else self.used
            try:
                return self.ask(submission, refused, min(EACH, left) if new else SHORT, files)
            except ReaderDied:
                left -= max(1, used_by_children() - began - earlier)
            if not new:
                continue
            if not files or files[-1] in refused:
                break  # not over a lesson's file: another try would end as this one
            refused.add(files[-1])
        problem = f"{too_long(submission.name)}, even without its lessons."
        notes = list(submission.notes)
        return Contents(submission.student, problem=problem, notes=notes, slow=True), {}

    def ask(
        self, submission: Submission, refused: Set[str], seconds: float, files: list[str]
    ) -> Answer:
        """What `outcome` returns in the process, which appends to `files` here what it begins with.

        Raises ReaderDied when it needs more than so many seconds of processor time, or too much
        memory.
        """
        if self.pid is None:
            self.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                pickle.dump((submission, refused, seconds), self.requests)
                self.requests.flush()
            for kind, *values in messages(self.answers, time.monotonic() + WAIT):
                if kind == "at":
                    files += values
                else:
                    answer, self.used = values
                    self.count += 1
                    if self.count == MANY:
                        self.close()
                    return answer
            raise ReaderDied
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Start the process."""
        (theirs, ours), (inward, outward) = os.pipe(), os.pipe()
        # Python's warnings about threads of the caller
        with warnings.catch_warnings(action="ignore"):
            pid = os.fork()
        if pid == 0:
            code = 1
            try:
                close_all_but(theirs, outward)
                with open(theirs, "rb") as requests:
                    code = self.answer(requests, outward)
            except Exception:  # noqa: BLE001  a bug of tito, which the instructor should see
                os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
            finally:
                os._exit(code)
        os.close(theirs)
        os.close(outward)
        self.pid, self.used, self.count = pid, 0.0, 0
        self.requests = open(ours, "wb")
        self.answers = open(inward, "rb", buffering=0)

    def close(self) -> None:
        """End the process, if there is one."""
        if self.pid is None:
            return
        pid, self.pid = self.pid, None
        with contextlib.suppress(BrokenPipeError):
            self.requests.close()
        self.answers.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    # In the process.

    def answer(self, requests: BinaryIO, outward: int) -> int:
        """The life of the process: one submission after the other. Returns its exit code."""

        def send(*message: object) -> None:
            raw = pickle.dumps(message)
            rest = memoryview(len(raw).to_bytes(8, "big") + raw)
            while rest:
                rest = rest[os.write(outward, rest) :]

        limit()
        try:
            while True:
                try:
                    submission, refused, seconds = pickle.load(requests)
                except EOFError:
                    return 0
                if resource:
                    end = int(time.process_time()) + math.ceil(seconds)
                    resource.setrlimit(resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))
                answer = self.outcome(submission, refused, lambda sha256: send("at", sha256))
                send("done", answer, time.process_time())
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


def too_long(what: str) -> str:
    """The problem of a file or submission that was not read."""
    return f"{what} takes more than {EACH} s of processor time, or {MEMORY:,} MB of memory, to read"


def close_all_but(*descriptors: int) -> None:
    """Close all files except the standard ones and these. A jail, for example, ends only when every
    process has closed its socket.

    Their numbers lead to nothing instead of being free: an object of the caller's may still close
    its number here, and that must not be another file's by then.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/dev/fd"):
        if int(name) > 2 and int(name) not in descriptors:
            with contextlib.suppress(OSError):  # of the listing itself
                os.fstat(int(name))
                os.dup2(nothing, int(name), inheritable=False)


def limit() -> None:
    """Let this process have no more memory than MEMORY, and end with the one that started it."""
    assert resource and confine
    for signum in (signal.SIGXCPU, signal.SIGALRM, signal.SIGTERM):
        signal.signal(signum, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        confine.die_with_parent()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY << 20, MEMORY << 20))


def messages(file: BinaryIO, until: float) -> Iterator[Any]:
    """The messages as they come, to the end of the file; no longer than `until`."""
    buffer = bytearray()
    while select.select([file], [], [], max(0, until - time.monotonic()))[0]:
        part = file.read(1 << 20)
        if not part:
            return
        buffer += part
        while len(buffer) >= 8 and len(buffer) - 8 >= (size := int.from_bytes(buffer[:8], "big")):
            yield pickle.loads(buffer[8 : 8 + size])
            del buffer[: 8 + size]


def used_by_children() -> float:
    """Seconds of processor time that ended children of this process have used."""
    times = os.times()
    return times.children_user + times.children_system
