"""Reads one submission in a process of its own, with limits on processor time and memory.

A learner's text is parsed, exported and compiled there and nowhere else: a few kilobytes can keep
Python's compiler busy for minutes, in C code that nothing interrupts. What comes back is plain:
what could not be read, and of each lesson what the caller wanted made of it. The process runs
nothing of the learner's.
"""

import contextlib
import io
import os
import pickle
import select
import signal
import sys
import time
import warnings

from tito.grading import intake

SECONDS = 10  # of processor time, for everything in one submission
EACH = 5  # of processor time, before a lesson's file is given up
WAIT = 60  # seconds until a process that is not working, but waiting for a disk, is given up
MEMORY = 1024  # MB
OUT_OF_MEMORY = 71  # exit code


class Died(Exception):
    """The reading process ended before it was done."""


def read(arrival, lessons, limits, make, refused=()):
    """What one learner handed in, and what `make` makes of it.

    arrival  intake.Arrival
    lessons  the course's lessons (course.Entry)
    make     function (entry, LessonFile) -> anything that can be pickled; runs in the process, for
             each lesson file that can be read
    refused  SHA-256s of lesson files that took too long before: they are not tried again
    returns  (Submission, {lesson: what was made}); the files of the Submission hold their hash,
             and no text

    A file over which the process runs out of its time or memory is `slow` and has that as its
    problem.
    """
    if not hasattr(os, "fork"):  # nothing here that could be limited
        return outcome(arrival, lessons, limits, make, set(refused), lambda *place: None)
    refused, left = set(refused), SECONDS
    while left > 0:
        where = []
        began = used_by_children()
        try:
            return in_child(
                lambda told: outcome(arrival, lessons, limits, make, refused, told),
                where,
                min(EACH, left),
            )
        except Died:
            left -= max(1, used_by_children() - began)
        if not where or where[-1] in refused:
            break  # not over a lesson's file: another try would end as this one
        refused.add(where[-1])
    problem = f"{too_long(arrival.name)}, even without its lessons."
    return intake.Submission(
        arrival.student,
        arrival.name,
        arrival.arrived,
        problem=problem,
        notes=list(arrival.notes),
        slow=True,
    ), {}


def too_long(what):
    """Why something was not read."""
    return f"{what} takes more than {EACH} s of processor time, or {MEMORY:,} MB of memory, to read"


def outcome(arrival, lessons, limits, make, refused, told):
    """What `read` returns, made in this process. told(sha256) before each lesson file."""
    submission = intake.open_submission(arrival, lessons, limits, refused, told)
    made = {}
    for entry in lessons:
        file = submission.files.get(entry.name)
        if file and not file.problem:
            told(file.sha256)
            made[entry.name] = make(entry, file)
        if file:
            file.raw, file.text, file.source = b"", "", None
    return submission, made


def in_child(work, where, seconds):
    """What work(told) returns, computed in a forked process; told(place) appends to `where` here.

    Raises Died when it needs more than so many seconds of processor time, or too much memory.
    """
    inward, outward = os.pipe()
    with warnings.catch_warnings(action="ignore"):  # Python's, about threads of the caller
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(inward)
            code = child(work, outward, seconds)
        finally:
            os._exit(code)
    os.close(outward)
    answer = None
    try:
        with open(inward, "rb", buffering=0) as file:
            for kind, value in messages(file, time.monotonic() + WAIT):
                if kind == "at":
                    where.append(value)
                else:
                    answer = [value]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if answer is None:
        raise Died
    return answer[0]


def child(work, outward, seconds):
    """The life of the reading process: its limits, the work, the answer. Returns its exit code."""
    limit(seconds)

    def tell(kind, value):
        raw = memoryview(pickle.dumps((kind, value)))
        raw = memoryview(len(raw).to_bytes(8, "big") + bytes(raw))
        while raw:
            raw = raw[os.write(outward, raw) :]

    try:
        tell("done", work(lambda place: tell("at", place)))
        return 0
    except MemoryError:
        return OUT_OF_MEMORY


def limit(seconds):
    """Let this process have so many seconds of processor time, and no more memory than MEMORY."""
    import resource

    for signum in (signal.SIGXCPU, signal.SIGALRM, signal.SIGTERM):
        signal.signal(signum, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        from tito.grading import confine

        confine.die_with_parent()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY << 20, MEMORY << 20))


def messages(file, until):
    """The (kind, value) pairs that come, to the end of the file; no longer than `until`."""
    got = io.BytesIO()
    while select.select([file], [], [], max(0, until - time.monotonic()))[0]:
        part = file.read(1 << 20)
        if not part:
            break
        got.write(part)
    rest = got.getbuffer()
    while len(rest) >= 8 and len(rest) - 8 >= (size := int.from_bytes(rest[:8], "big")):
        yield pickle.loads(rest[8 : 8 + size])
        rest = rest[8 + size :]


def used_by_children():
    """Seconds of processor time that ended children of this process have used."""
    times = os.times()
    return times.children_user + times.children_system
