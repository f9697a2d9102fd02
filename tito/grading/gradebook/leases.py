"""Which processes grade into a gradebook now: each holds a lease, and renews it while it lives.

A submission that a run has begun stays its own (`Gradebook.claim_attempts`) until the run has ended
it, or is gone: on the same machine, as soon as its process is; elsewhere, when its lease is over.
A process that was merely stopped for longer than that, and goes on, writes what it graded all the
same: of two results with the same key the gradebook keeps the first.
"""

import os
import socket
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from tito.errors import UsageError
from tito.grading.gradebook.database import transaction, write
from tito.grading.gradebook.tables import RUN, VERSION, clean, now, sql

LEASE = timedelta(minutes=10)  # so far may the clocks of two machines disagree, less RENEW
RENEW = 60  # seconds after which a lease is renewed
ENDED = "ZX"  # states of a process that is over, though its parent has not asked how it ended
FIRST_NAMESPACE = "pid:[4026531836]"  # that of processes in no container
# What must be the same in two runs that grade the same lessons, and how it is called.
SAME = {
    "lessons": "lessons",
    "checks": "--check",
    "base": "--base",
    "seconds": "--check-seconds",
    "memory": "--memory",
    "level": "--isolation",
    "course": "the course's files, or tito's version",
}


@dataclass(frozen=True)
class Lease:
    """What a process holds that grades, or did when it was ended.

    run      the name of the process, see `run_name`
    who      the login name of whoever started it
    began, until   when, and when its lease is over
    setting  {a key of SAME: value}
    """

    run: str
    who: str
    began: datetime
    until: datetime
    setting: dict

    def __str__(self) -> str:
        host, pid = self.run.split(" ")[:2]
        return f"{self.who} (process {pid} on {host}, since {self.began:%H:%M} UTC)"


def run_name(pid: int | None = None) -> str:
    """What the gradebook calls this run, or that of another process: host, process, its start."""
    pid = pid or os.getpid()
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        start = "ended" if words[0] in ENDED else words[19]
    except (OSError, IndexError):
        start = ""
    return f"{_host()} {pid} {start}"


def _host():
    """This machine, or the container: process numbers mean nothing outside of it."""
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = FIRST_NAMESPACE
    name = socket.gethostname().replace(" ", "-")
    return name if space == FIRST_NAMESPACE else f"{name}/{space[5:-1]}"


def is_alive(run: str, runs: dict[str, Lease]) -> bool:
    """Whether a run may still be busy.

    runs  those that have a lease, by name
    """
    host, _, rest = run.partition(" ")
    if host != _host():
        return run in runs and runs[run].until > now()
    pid = int(rest.split(" ")[0])
    if run != run_name(pid):
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass
    except OSError:
        return False
    return True


def begin(book, run: str, who: str, setting: dict) -> None:
    """Give this run a lease.

    setting  {"lessons": [names], and the other keys of SAME}; without "lessons": it is compared
             with no other run

    Raises TitoError when another run that lives grades some of the same lessons in another way:
    each would replace what the other graded.
    """

    def keep(database):
        # One after the other, where a database lets several write at a time.
        database.execute(sql.select(VERSION.c.version_num).with_for_update())
        runs = _runs(database)
        living = {name for name in runs if is_alive(name, runs)} - {run}
        for name in living:
            _refuse_if_different(setting, runs[name])
        gone = [name for name in runs if name not in living]
        database.execute(sql.delete(RUN).where(RUN.c.run.in_(gone)))
        row = {"run": clean(run)[:255], "who": clean(who), "began": now(), "setting": setting}
        database.execute(sql.insert(RUN).values(row | {"until": now() + LEASE}))

    write(book.engine, keep)


def renew(book, run: str) -> None:
    """Let the lease last LEASE from now on."""

    def keep(database):
        database.execute(sql.update(RUN).filter_by(run=run).values(until=now() + LEASE))

    write(book.engine, keep)


def end(book, run: str) -> None:
    """Give the lease back."""
    write(book.engine, lambda database: database.execute(sql.delete(RUN).filter_by(run=run)))


def runs(book) -> dict[str, Lease]:
    """{name: Lease} of those that have a lease, the living and the dead."""
    with transaction(book.engine) as database:
        return _runs(database)


def _runs(database):
    rows = database.execute(sql.select(RUN))
    return {row.run: Lease(row.run, row.who, row.began, row.until, row.setting) for row in rows}


def _refuse_if_different(mine, other):
    theirs = other.setting
    both = [name for name in mine.get("lessons", ()) if name in theirs.get("lessons", ())]
    differs = [key for key in SAME if mine.get(key) != theirs.get(key)]
    if "lessons" in differs and "course" in differs:
        differs.remove("course")  # its files are those of the lessons and of those below
    if both and differs:
        lessons = ", ".join(both[:3]) + (", ..." if len(both) > 3 else "")
        raise UsageError(
            f"{other} is grading {lessons} into this gradebook in another way: "
            f"{', '.join(SAME[key] for key in differs)} differ.",
            "Two runs share a class when these are the same. Wait until that one has ended, or "
            "name single learners with --student.",
        )
