"""Control the process that runs checks (`check_process.py`): send requests, and limit the time of
each answer.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from tito.child import GRACE, LINES, Child, kill_tree
from tito.errors import MachineError

PROGRAM = Path(__file__).with_name("check_process.py")
IDLE = 0.05  # of a time span on the processor, at most, counts as waiting
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
        self.child = Child(["-I", str(PROGRAM)], LINES, MPLBACKEND="Agg")

    def run(self, request: dict[str, Any], patience: Patience) -> Iterator[Event]:
        """The events of one request; the last is {"event": "exit", "code", "killed"}.

        patience  gives the seconds for the event that follows a given one (None: for the first). A
                  process that has computed for so long, or waits, is killed. One that got little
                  time, on a busy machine, gets more

        Raises Superseded, with that process gone, after a call of `supersede`.
        """
        if self.unfinished or self.child.process.poll() is not None:
            self.close()
            self._start()
        self.running = True
        if self.stopped:  # looked at once `running` is set: a later stop reaches the run
            self.running = False
            raise Superseded
        self.unfinished = True
        with suppress(OSError):  # it died at once; the next event reports its end
            self.child.send(request)
        try:
            yield from EventStream(self.child, patience).follow()
            self.unfinished = False
        except Superseded:
            self.unfinished = False
            raise
        finally:
            self.running = False

    def supersede(self) -> None:
        """Let a run that is going on, in another thread, end with Superseded."""
        if self.running:
            self.child.messages.put(SUPERSEDED)

    def stop(self) -> None:
        """Let a run that is going on, and each later one, end with Superseded."""
        self.stopped = True
        self.supersede()

    def close(self) -> None:
        """End the process, and a fork that runs a check: the fork leads another session, which the
        process ends.
        """
        self.child.close()

    def __exit__(self, *error: object) -> None:
        self.close()


class EventStream:
    """One request's events, and the time that each of them may take."""

    def __init__(self, child: Child, patience: Patience) -> None:
        self.child, self.patience = child, patience
        self.pid = child.pid  # later its fork for this request
        self.begun = False
        self.killed = self.superseded = False
        self._wait_for(patience(None), None)

    def follow(self) -> Iterator[Event]:
        while True:
            try:
                event = self.child.receive(self.until)
            except TimeoutError:
                if self.killed:  # it does not even die
                    yield {"event": "exit", "code": None, "killed": True}
                    return
                if not self._has_time_left():
                    self._kill()
                continue
            except EOFError:
                event = self._end_of_process()
            if event is SUPERSEDED:
                self.superseded = True
                self._kill()
                continue
            if event["event"] == "started":
                self.pid, self.begun = event["pid"], True
            elif event["event"] == "ended" and self.superseded:  # perhaps before it had started
                raise Superseded
            elif not self.begun:
                raise MachineError(
                    f"The process that runs the checks did not start (exit code {event['code']}).",
                    "`tito doctor` looks for the cause.",
                )
            elif event["event"] == "ended":
                yield {"event": "exit", "code": event["code"], "killed": self.killed}
                return
            else:
                yield event
            if not self.killed:
                self._wait_for(self.patience(event), cpu_seconds(self.pid))

    def _wait_for(self, seconds: float, used: float | None) -> None:
        """Wait as long for the next event; `used` are the seconds on the processor until now."""
        self.budget, self.used = seconds, used
        self.until = time.monotonic() + seconds

    def _has_time_left(self) -> bool:
        """Whether the process had little time on the processor; then it gets the rest of it."""
        now = cpu_seconds(self.pid)
        if now is None or self.used is None:
            return False
        spent = now - self.used
        if not IDLE * self.budget < spent < self.budget:
            return False
        self.until = time.monotonic() + self.budget - spent
        return True

    def _kill(self) -> None:
        self.killed = True
        kill_tree(self.pid)
        self.until = time.monotonic() + GRACE

    def _end_of_process(self) -> Event:
        """The process has closed its output; it may go on without."""
        try:
            self.child.process.wait(max(0, self.until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._kill()
        return {"event": "ended", "code": self.child.process.wait()}


def cpu_seconds(pid: int) -> float | None:
    """The seconds that a process has spent on the processor, or None where they cannot be read."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return None
