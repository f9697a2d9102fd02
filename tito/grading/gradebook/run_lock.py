"""A lock, so that only one run at a time grades into a gradebook.

A run holds the lock until it ends. If its process was killed, the next run takes the lock over: on
the same machine at once, on another machine after the lock has not been renewed for some minutes.
The lock also records which submissions its run has begun, so that after a kill the next run knows
which submissions may have caused it.
"""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeAlias

from tito.errors import MachineError, TitoError, UsageError
from tito.grading.gradebook.database import split_rows, write
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.tables import RUN, clean, learner_id, now, sql

LEASE = timedelta(minutes=10)  # two machines' clocks may differ by this minus RENEW
RENEW = 60  # seconds after which the lock is renewed
ENDED = "ZX"  # states of a process that has ended, but whose parent has not collected it
FIRST_NAMESPACE = "pid:[4026531836]"  # that of processes in no container

# {(learner, hash of the submission and of everything that decides its results): its judge's deaths}
Begun: TypeAlias = dict[tuple[str, str], int]


class RunLock:
    """The lock, held by its run.

    begun  submissions that were begun and have not ended, at first submissions of a killed run
    """

    def __init__(self, book: Gradebook, process: str, begun: Begun) -> None:
        self.engine, self.process, self.begun = book.engine, process, begun
        self._renewed = time.monotonic()

    def keep(self, begun: Begun) -> None:
        """Save `begun`, and renew the lock."""
        if begun == self.begun:
            return
        self.begun = dict(begun)
        rows = [[learner_id(student), work, times] for (student, work), times in begun.items()]
        self._write(begun=rows)

    def renew(self) -> None:
        """Renew the lock, when it is time to."""
        if time.monotonic() - self._renewed > RENEW:
            self._write()

    def release(self) -> None:
        self._write(process="")

    def _write(self, **values: object) -> None:
        query = sql.update(RUN).filter_by(process=self.process)
        query = query.values(values | {"renewed": now()})
        if not write(self.engine, lambda database: database.execute(query).rowcount):
            raise MachineError(
                "Another run has taken this gradebook over, since this one had stopped for more "
                f"than {LEASE.seconds // 60} minutes.",
                "The results so far are saved. Run the command again when the other run has ended.",
            )
        self._renewed = time.monotonic()


@contextmanager
def hold(book: Gradebook, who: str) -> Iterator[RunLock]:
    """The lock of a gradebook, for a run of this process that `who` has started.

    Raises UsageError while another run holds it: who, on which machine, since when.
    """
    process = process_name()

    def take(database: sql.Connection) -> Begun:
        rows, damaged = split_rows(database, sql.select(RUN).with_for_update(), RUN)
        if damaged:
            database.execute(sql.delete(RUN))
        row = next(iter(rows), None)
        if row and row.process != process and is_alive(row.process, row.renewed):
            host, pid = row.process.split(" ")[:2]
            raise UsageError(
                f"{row.who} is grading into this gradebook already: process {pid} on {host}, since "
                f"{row.since:%Y-%m-%d %H:%M} UTC.",
                "Only one run at a time is possible: wait until it has ended.",
            )
        values = {"process": process, "who": clean(who), "since": now(), "renewed": now()}
        if row:
            database.execute(sql.update(RUN).values(values))
        else:
            database.execute(sql.insert(RUN).values(values | {"id": 1, "begun": []}))
        return {(student, work): times for student, work, times in (row.begun if row else ())}

    lock = RunLock(book, process, write(book.engine, take))
    try:
        yield lock
    except BaseException:
        with suppress(TitoError):  # the error that ends the run says more
            lock.release()
        raise
    lock.release()


def process_name(pid: int | None = None) -> str:
    """An identifier of this or another process: machine, process number, start time."""
    pid = pid or os.getpid()
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        start = "ended" if words[0] in ENDED else words[19]
    except (OSError, IndexError):
        start = ""
    return f"{_machine()} {pid} {start}"[:255]


def _machine() -> str:
    """This machine, or the container: process numbers mean nothing outside of it."""
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = FIRST_NAMESPACE
    name = socket.gethostname().replace(" ", "-")
    return name if space == FIRST_NAMESPACE else f"{name}/{space[5:-1]}"


def is_alive(process: str, renewed: datetime) -> bool:
    """Whether the process with this name may still be busy. renewed: when it renewed its lock."""
    machine, _, rest = process.partition(" ")
    if not machine:  # it ended
        return False
    if machine != _machine():
        return renewed + LEASE > now()
    pid = int(rest.split(" ")[0])
    if process != process_name(pid):
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass
    except OSError:
        return False
    return True
