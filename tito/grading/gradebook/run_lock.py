"""A lock, so that only one run at a time grades into a gradebook.

Beside an SQLite file it is a locked file, in PostgreSQL an advisory lock. Both end with the process
that holds them, also when it was killed. Two records are in the gradebook: the setting RUN says who
grades, or graded last, where and since when; and the table `begun` has the submissions that the run
has begun, so that after a kill the next run knows which submissions may have caused it.
"""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from tito.errors import MachineError, UsageError
from tito.grading.gradebook.database import display_url, split_rows, transaction, write
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.tables import BEGUN, SETTING, clean, learner_id, now, sql

RUN = "run"  # the name of the setting
WAIT = 2  # seconds: a server needs a moment to notice that a run was killed
TITO = 0x7469746F  # PostgreSQL's locks have two numbers: this one, and one of the schema
# A server gives up a run whose machine does not answer for 60 + 6 * 10 seconds.
KEEPALIVES = {"tcp_keepalives_idle": 60, "tcp_keepalives_interval": 10, "tcp_keepalives_count": 6}
# A server may be set to end idle transactions, and would end the lock in the middle of a run.
ENDLESS = {"idle_in_transaction_session_timeout": 0}

# {(learner, hash of the submission and of everything that decides its results): its judge's deaths}
Begun: TypeAlias = dict[tuple[str, str], int]


class RunLock:
    """The lock, held by its run.

    begun  submissions that were begun and have not ended, at first submissions of a killed run
    """

    def __init__(self, book: Gradebook, begun: Begun) -> None:
        self.engine, self.begun = book.engine, begun

    def keep(self, begun: Begun) -> None:
        """Save `begun`."""
        if begun == self.begun:
            return
        self.begun = dict(begun)
        rows = [(learner_id(student), work, deaths) for (student, work), deaths in begun.items()]

        def replace(database: sql.Connection) -> None:
            database.execute(sql.delete(BEGUN))  # also damaged ones
            if rows:
                database.execute(sql.insert(BEGUN).values(rows))

        write(self.engine, replace)


@contextmanager
def hold(book: Gradebook, who: str) -> Iterator[RunLock]:
    """The lock of a gradebook, for a run of this process that `who` has started.

    Raises UsageError while another run holds it: who, on which machine, since when.
    """
    words = (
        f"{clean(who)} is grading into this gradebook already: process {os.getpid()} on "
        f"{socket.gethostname()}, since {now():%Y-%m-%d %H:%M} UTC."
    )

    def begin(database: sql.Connection) -> Begun:
        database.execute(sql.delete(SETTING).filter_by(name=RUN))
        database.execute(sql.insert(SETTING).values(name=RUN, value=words))
        rows, _ = split_rows(database, sql.select(BEGUN), BEGUN)
        return {(row.student, row.work): row.deaths for row in rows}

    engine = book.engine
    lock = _advisory_lock if engine.dialect.name == "postgresql" else _file_lock
    with lock(engine) as is_held:
        if not is_held:
            with transaction(engine) as database:
                query = sql.select(SETTING.c.value).filter_by(name=RUN)
                raise UsageError(
                    database.execute(query).scalar() or "Another run has just begun to grade.",
                    "Only one run at a time is possible: wait until it has ended.",
                )
        yield RunLock(book, write(engine, begin))


@contextmanager
def _file_lock(engine: sql.Engine) -> Iterator[bool]:
    import filelock

    if not (engine.dialect.name == "sqlite" and engine.url.database):
        raise UsageError(
            f"The gradebook {display_url(engine.url)} cannot be locked for a run.",
            "Use a file, or a PostgreSQL database.",
        )
    path = os.path.realpath(engine.url.database)
    try:  # who may write the gradebook may lock it, too
        lock = filelock.FileLock(f"{path}.lock", WAIT, mode=Path(path).stat().st_mode & 0o666)
        lock.acquire()
    except filelock.Timeout:
        yield False
        return
    except (OSError, NotImplementedError) as error:
        raise MachineError(
            f"The gradebook {path} cannot be locked with {path}.lock: {error}.",
            "Put it into a folder of this machine in which you may write.",
        ) from None
    with lock:
        yield True


@contextmanager
def _advisory_lock(engine: sql.Engine) -> Iterator[bool]:
    """A lock that belongs to an open transaction, and so to the connection of this run."""
    schema = sql.func.hashtext(sql.func.current_schema())
    attempt = sql.select(sql.func.pg_try_advisory_xact_lock(TITO, schema))
    with transaction(engine) as database:
        for name, value in (KEEPALIVES | ENDLESS).items():
            database.execute(sql.select(sql.func.set_config(name, str(value), True)))
        until = time.monotonic() + WAIT
        while not (is_held := database.execute(attempt).scalar()) and time.monotonic() < until:
            time.sleep(0.1)
        yield bool(is_held)
