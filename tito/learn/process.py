"""The process that runs checks (`runner.py`), from outside: start it, put a request to
it, end it and all it started.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from tito.errors import MachineError

RUNNER = Path(__file__).with_name("runner.py")
IDLE = 0.05  # of a time span on the processor, at the most, is waiting
# On arrays of a lesson's size more threads save nothing, and on a busy machine they wait for each
# other. What a user has set counts.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
GRACE = 3  # seconds in which a process that was told to end must have ended
SUPERSEDED = object()


class Superseded(Exception):
    """The caller does not want the rest of a run any more."""


class Process:
    """A runner: one for one request, or, warm, one that forks for each.

    purpose  of the one request: "check", "show" for demonstrations, "draw" for some with figures
    """

    def __init__(self, warm=False, purpose="check"):
        self.warm = warm and hasattr(os, "fork")
        self.purpose = "serve" if self.warm else purpose
        self.running = self.left = False  # left: before the last event of a request
        self.second = None
        self._start()

    def beside(self, purpose):
        """A process for what follows this one's request, which gets ready at the same time: one
        with that purpose, ended with this one. A warm one serves both.
        """
        if self.warm:
            return self
        if not self.second or self.second.process.poll() is not None:
            self.second = Process(purpose=purpose)
        return self.second

    def close_second(self):
        """End the process that `beside` made, if it did."""
        if self.second:
            self.second.close()
            self.second = None

    def _start(self):
        self.left = False
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST"))
        }
        environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "MPLBACKEND": "Agg"}
        environment = ONE_THREAD | environment
        command = [sys.executable, "-I", "-X", "utf8", str(RUNNER)]
        command.append(f"--{self.purpose}")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            encoding="utf-8",
            start_new_session=os.name == "posix",
        )
        self.lines = queue.SimpleQueue()
        threading.Thread(
            target=self._pump, args=(self.process.stdout, self.lines), daemon=True
        ).start()

    @staticmethod
    def _pump(stream, lines):
        try:
            for line in stream:
                lines.put(line)
        except ValueError:
            pass  # closed while it was read
        lines.put(None)

    def run(self, request, patience):
        """The events of one request; the last is {"event": "exit", "code", "killed"}.

        patience()  seconds for the next event; a process that has computed as long, or waits, is
                    then killed. One that got little time, on a busy machine, gets more

        Raises Superseded, with that process gone, after a call of `supersede`.
        """
        if self.left:  # the rest of its events would be taken for this request's
            self.close()
            self._start()
        elif self.process.poll() is not None:
            self.restart()
        self.running = self.left = True
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it died at once; the exit tells
        try:
            yield from self._events(patience)
            self.left = False
        except Superseded:
            self.left = False
            raise
        finally:
            self.running = False

    def _events(self, patience):
        child = None  # the process that runs the checks, once it has begun
        killed = superseded = False
        budget, used = patience(), None  # used: seconds on the processor at the last event
        until = time.monotonic() + budget
        while True:
            try:
                line = self.lines.get(timeout=max(0, until - time.monotonic()))
            except queue.Empty:
                if killed:  # it does not even die
                    yield {"event": "exit", "code": None, "killed": True}
                    return
                spent = cpu_seconds(child or self.process.pid)
                if spent is not None and used is not None and IDLE * budget < spent - used < budget:
                    until = time.monotonic() + budget - (spent - used)
                    continue
                killed = True
            else:
                if line is SUPERSEDED:
                    superseded = killed = True
                else:
                    if line:
                        event = json.loads(line)
                    else:  # it has closed its output, and may go on without
                        try:
                            self.process.wait(max(0, until - time.monotonic()))
                        except subprocess.TimeoutExpired:
                            killed = True
                            kill(child or self.process.pid)
                        event = {"event": "ended", "code": self.process.wait()}
                    if event["event"] == "started":
                        child = event["pid"]
                    elif child is None:
                        raise MachineError(
                            "The process that runs the checks did not start (exit "
                            f"code {event.get('code')}).",
                            "`tito doctor` looks for the cause.",
                        )
                    elif event["event"] == "ended":
                        if superseded:
                            raise Superseded
                        yield {"event": "exit", "code": event["code"], "killed": killed}
                        return
                    else:
                        yield event
                    if not killed:
                        budget, used = patience(), cpu_seconds(child or self.process.pid)
                        until = time.monotonic() + budget
            if killed:
                kill(child or self.process.pid)
                until = time.monotonic() + GRACE

    def supersede(self):
        """Let a run that is going on, in another thread, end with Superseded."""
        if self.running:
            self.lines.put(SUPERSEDED)

    def restart(self):
        """Go on after a check has ended the process; a warm one outlives its checks."""
        if not self.warm or self.process.poll() is not None:
            self.close()
            self._start()

    def close(self):
        """End the process, and a fork that runs a check: that one leads a group of its
        own, which a warm process ends. And the one beside it.
        """
        self.close_second()
        if self.warm:
            self.process.terminate()
            try:
                self.process.wait(GRACE)
            except subprocess.TimeoutExpired:
                pass
        kill(self.process.pid)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except OSError:
                pass  # a request that was never read

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def kill(pid):
    """Kill a process and all that it started."""
    try:
        os.killpg(pid, signal.SIGKILL) if hasattr(os, "killpg") else os.kill(pid, signal.SIGTERM)
    except (ProcessLookupError, PermissionError):
        pass  # it is gone already


def cpu_seconds(pid):
    """The seconds that a process has spent on the processor, or None where that cannot be told."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return None
