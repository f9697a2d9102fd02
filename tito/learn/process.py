"""Control the process that runs checks (`check_process.py`): start it, send requests, and end it
with all processes that it started.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import IO, Any

from tito.errors import MachineError

PROGRAM = Path(__file__).with_name("check_process.py")
IDLE = 0.05  # of a time span on the processor, at most, counts as waiting
# On arrays of a lesson's size more threads save nothing, and on a busy machine they wait for each
# other. What a user has set counts.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
GRACE = 3  # seconds that a process may take to end after a request to end
SUPERSEDED: dict[str, Any] = {"event": "superseded"}

Event = dict[str, Any]
Patience = Callable[[Event | None], float]


class Superseded(Exception):
    """The caller has cancelled the rest of a run."""


class Process(AbstractContextManager["Process"]):
    """A process that answers one request after the other, each in a fork where there are forks."""

    def __init__(self) -> None:
        self.running = False
        self.unfinished = False  # whether events of a request were left unread
        self.stopped = False  # whether no run is wanted any more
        self._start()

    def _start(self) -> None:
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST"))
        }
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=ONE_THREAD | environment | {"MPLBACKEND": "Agg"},
            text=True,
            encoding="utf-8",
            start_new_session=os.name == "posix",
        )
        self.events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        threading.Thread(
            target=_read_events, args=(self.process.stdout, self.events), daemon=True
        ).start()

    def run(self, request: dict[str, Any], patience: Patience) -> Iterator[Event]:
        """The events of one request; the last is {"event": "exit", "code", "killed"}.

        patience  gives the seconds for the event that follows a given one (None: for the first). A
                  process that has computed for so long, or waits, is killed. One that got little
                  time, on a busy machine, gets more

        Raises Superseded, with that process gone, after a call of `supersede`.
        """
        if self.unfinished or self.process.poll() is not None:
            self.close()
            self._start()
        self.running = True
        if self.stopped:  # looked at once `running` is set: a later stop reaches the run
            self.running = False
            raise Superseded
        self.unfinished = True
        with suppress(OSError):  # it died at once; the next event reports its end
            assert self.process.stdin
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        try:
            yield from EventStream(self.process, self.events, patience).follow()
            self.unfinished = False
        except Superseded:
            self.unfinished = False
            raise
        finally:
            self.running = False

    def supersede(self) -> None:
        """Let a run that is going on, in another thread, end with Superseded."""
        if self.running:
            self.events.put(SUPERSEDED)

    def stop(self) -> None:
        """Let a run that is going on, and each later one, end with Superseded."""
        self.stopped = True
        self.supersede()

    def close(self) -> None:
        """End the process, and a fork that runs a check: the fork leads a process group of its
        own, which the process ends.
        """
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        kill(self.process.pid)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # a request that was never read
                if stream:
                    stream.close()

    def __exit__(self, *error: object) -> None:
        self.close()


def _read_events(stream: IO[str], events: "queue.SimpleQueue[Event | None]") -> None:
    with suppress(ValueError):  # closed while it was read
        for line in stream:
            events.put(json.loads(line))
    events.put(None)


class EventStream:
    """One request's events, and the time that each of them may take."""

    def __init__(
        self,
        process: "subprocess.Popen[str]",
        events: "queue.SimpleQueue[Event | None]",
        patience: Patience,
    ) -> None:
        self.process, self.events, self.patience = process, events, patience
        self.child: int | None = None  # the process that runs the checks, once it has begun
        self.killed = self.superseded = False
        self._wait_for(patience(None), None)

    def follow(self) -> Iterator[Event]:
        while True:
            try:
                event = self.events.get(timeout=max(0, self.until - time.monotonic()))
            except queue.Empty:
                if self.killed:  # it does not even die
                    yield {"event": "exit", "code": None, "killed": True}
                    return
                if not self._has_time_left():
                    self._kill()
                continue
            if event is SUPERSEDED:
                self.superseded = True
                self._kill()
                continue
            event = event or self._end_of_process()
            if event["event"] == "started":
                self.child = event["pid"]
            elif self.child is None:
                raise MachineError(
                    f"The process that runs the checks did not start (exit code {event['code']}).",
                    "`tito doctor` looks for the cause.",
                )
            elif event["event"] == "ended":
                if self.superseded:
                    raise Superseded
                yield {"event": "exit", "code": event["code"], "killed": self.killed}
                return
            else:
                yield event
            if not self.killed:
                self._wait_for(self.patience(event), self._cpu_seconds())

    def _wait_for(self, seconds: float, used: float | None) -> None:
        """Wait as long for the next event; `used` are the seconds on the processor until now."""
        self.budget, self.used = seconds, used
        self.until = time.monotonic() + seconds

    def _has_time_left(self) -> bool:
        """Whether the process had little time on the processor; then it gets the rest of it."""
        now = self._cpu_seconds()
        if now is None or self.used is None:
            return False
        spent = now - self.used
        if not IDLE * self.budget < spent < self.budget:
            return False
        self.until = time.monotonic() + self.budget - spent
        return True

    def _cpu_seconds(self) -> float | None:
        return cpu_seconds(self.child or self.process.pid)

    def _kill(self) -> None:
        self.killed = True
        kill(self.child or self.process.pid)
        self.until = time.monotonic() + GRACE

    def _end_of_process(self) -> Event:
        """The process has closed its output; it may go on without."""
        try:
            self.process.wait(max(0, self.until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._kill()
        return {"event": "ended", "code": self.process.wait()}


def kill(pid: int) -> None:
    """Kill a process and all processes that it started."""
    with suppress(OSError):  # it is gone already
        os.killpg(pid, signal.SIGKILL) if hasattr(os, "killpg") else os.kill(pid, signal.SIGTERM)


def cpu_seconds(pid: int) -> float | None:
    """The seconds that a process has spent on the processor, or None where they cannot be read."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return None
