"""Reads submissions in a process of its own, with limits on processor time and memory.

A learner's text is parsed, exported and compiled there and nowhere else: a few kilobytes can keep
Python's compiler busy for minutes, in C code that nothing interrupts. What comes back is plain:
what could not be read, and of each lesson what the caller wanted made of it. The process runs
nothing of the learner's.

To start a process costs more than to read most submissions, so it reads one after the other. Where
one ends it, only a new process, which has read nothing else, decides that it takes too long.
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

from tito.grading.intake.submission import Submission, open_submission

try:
    import resource

    from tito.grading.jail import confine  # here, and not anew in each process
except ImportError:  # Windows
    resource = confine = None

SECONDS = 10  # of processor time, for everything in one submission
EACH = 5  # of processor time, before a lesson's file is given up
SHORT = 1  # the same in a process that has read others; then a new one has the whole time
MANY = 200  # submissions are read by one process
WAIT = 60  # seconds until a process that is not working, but waiting for a disk, is given up
MEMORY = 1024  # MB
OUT_OF_MEMORY = 71  # exit code


class Died(Exception):
    """The reading process ended before it was done."""


def read(arrival, lessons, limits, make, refused=()):
    """What one learner handed in, read by a process for this alone; see `Reader.read`."""
    with Reader(lessons, limits, make) as reader:
        return reader.read(arrival, refused)


class Reader:
    """Reads submissions in a process of its own.

    lessons  the course's lessons (course.Entry)
    limits   boxes.Limits
    make     function (entry, LessonFile) -> anything that can be pickled; runs in the process, for
             each lesson file that can be read
    """

    def __init__(self, lessons, limits, make):
        self.lessons, self.limits, self.make = lessons, limits, make
        self.pid = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def read(self, arrival, refused=()):
        """What one learner handed in, and what `make` makes of it.

        arrival  intake.Arrival
        refused  SHA-256s of lesson files that took too long before: they are not tried again
        returns  (Submission, {lesson: what was made}); the files of the Submission hold their hash,
                 and no text

        A file over which a new process runs out of its time or memory is `slow` and has that as
        its problem.
        """
        if not hasattr(os, "fork"):  # nothing here that could be limited
            return self.outcome(arrival, set(refused), lambda *place: None)
        refused, left = set(refused), SECONDS
        while left > 0:
            where, began, new = [], used_by_children(), self.pid is None
            earlier = 0 if new else self.used
            try:
                return self.ask(arrival, refused, min(EACH, left) if new else SHORT, where)
            except Died:
                left -= max(1, used_by_children() - began - earlier)
            if not new:
                continue
            if not where or where[-1] in refused:
                break  # not over a lesson's file: another try would end as this one
            refused.add(where[-1])
        problem = f"{too_long(arrival.name)}, even without its lessons."
        return Submission(
            arrival.student,
            arrival.name,
            arrival.arrived,
            problem=problem,
            notes=list(arrival.notes),
            slow=True,
        ), {}

    def ask(self, arrival, refused, seconds, where):
        """What `outcome` returns in the process, which appends to `where` here what it begins with.

        Raises Died when it needs more than so many seconds of processor time, or too much memory.
        """
        if self.pid is None:
            self.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                pickle.dump((arrival, refused, seconds), self.requests)
                self.requests.flush()
            for kind, *values in messages(self.answers, time.monotonic() + WAIT):
                if kind == "at":
                    where += values
                else:
                    answer, self.used = values
                    self.count += 1
                    if self.count == MANY:
                        self.close()
                    return answer
            raise Died
        except BaseException:
            self.close()
            raise

    def start(self):
        """Start the process."""
        (theirs, ours), (inward, outward) = os.pipe(), os.pipe()
        with warnings.catch_warnings(action="ignore"):  # Python's, about threads of the caller
            pid = os.fork()
        if pid == 0:
            code = 1
            try:
                close_all_but(theirs, outward)
                with open(theirs, "rb") as requests:
                    code = self.answer(requests, outward)
            except Exception:  # noqa: BLE001  a mistake of ours: for whoever grades to see
                os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
            finally:
                os._exit(code)
        os.close(theirs)
        os.close(outward)
        self.pid, self.used, self.count = pid, 0, 0
        self.requests, self.answers = open(ours, "wb"), open(inward, "rb", buffering=0)

    def close(self):
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

    def answer(self, requests, outward):
        """The life of the process: one submission after the other. Returns its exit code."""

        def tell(*message):
            raw = pickle.dumps(message)
            raw = memoryview(len(raw).to_bytes(8, "big") + raw)
            while raw:
                raw = raw[os.write(outward, raw) :]

        limit()
        try:
            while True:
                try:
                    arrival, refused, seconds = pickle.load(requests)
                except EOFError:
                    return 0
                if resource:
                    end = int(time.process_time()) + math.ceil(seconds)
                    resource.setrlimit(resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))
                answer = self.outcome(arrival, refused, lambda place: tell("at", place))
                tell("done", answer, time.process_time())
        except MemoryError:
            return OUT_OF_MEMORY

    def outcome(self, arrival, refused, told):
        """What `read` returns. told(sha256) before each lesson file."""
        submission = open_submission(arrival, self.lessons, self.limits, refused, told)
        made = {}
        for entry in self.lessons:
            file = submission.files.get(entry.name)
            if file and not file.problem:
                told(file.sha256)
                made[entry.name] = self.make(entry, file)
            if file:
                file.raw, file.text, file.source = b"", "", None
        return submission, made


def too_long(what):
    """Why something was not read."""
    return f"{what} takes more than {EACH} s of processor time, or {MEMORY:,} MB of memory, to read"


def close_all_but(*kept):
    """Close every file but the standard ones and these: what ends when its last holder closes it,
    a jail say, must not wait for this process.
    """
    for name in os.listdir("/dev/fd"):
        if int(name) > 2 and int(name) not in kept:
            with contextlib.suppress(OSError):  # of the listing itself
                os.close(int(name))


def limit():
    """Let this process have no more memory than MEMORY, and end with the one that started it."""
    for signum in (signal.SIGXCPU, signal.SIGALRM, signal.SIGTERM):
        signal.signal(signum, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        confine.die_with_parent()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY << 20, MEMORY << 20))


def messages(file, until):
    """The messages as they come, to the end of the file; no longer than `until`."""
    got = bytearray()
    while select.select([file], [], [], max(0, until - time.monotonic()))[0]:
        part = file.read(1 << 20)
        if not part:
            return
        got += part
        while len(got) >= 8 and len(got) - 8 >= (size := int.from_bytes(got[:8], "big")):
            yield pickle.loads(got[8 : 8 + size])
            del got[: 8 + size]


def used_by_children():
    """Seconds of processor time that ended children of this process have used."""
    times = os.times()
    return times.children_user + times.children_system
