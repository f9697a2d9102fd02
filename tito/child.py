"""Start another process, exchange messages with it, and end it with its whole tree.

On Linux and macOS each process leads a group, by which the processes that it started are found. On
Windows, `taskkill` finds them.
"""

import contextlib
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

# On arrays of a lesson's size more threads save nothing, and on a busy machine they wait for each
# other. What a user has set counts.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
GRACE = 3  # seconds that a process may take to end after a request to end
END = object()  # after the last message

Write = Callable[[Any, IO[bytes]], None]
Read = Callable[[IO[bytes]], Any]  # raises an exception at the end of the stream
# What a function in a fork is called with: its requests, its answers. Its result: the exit code.
Forked = Callable[[IO[bytes], IO[bytes]], int]


def write_line(message: Any, stream: IO[bytes]) -> None:
    stream.write(json.dumps(message).encode("utf-8") + b"\n")
    stream.flush()


def read_line(stream: IO[bytes]) -> Any:
    return json.loads(stream.readline())


def write_pickle(message: Any, stream: IO[bytes]) -> None:
    pickle.dump(message, stream)
    stream.flush()


LINES: tuple[Write, Read] = write_line, read_line  # also of a process that runs a learner's code
PICKLES: tuple[Write, Read] = write_pickle, pickle.load  # only of a process that runs ours alone


def environment(**more: str) -> dict[str, str]:
    """The variables for a process that runs a program of tito, without a user's settings for Python
    and without settings of a test run.
    """
    own = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST"))}
    return ONE_THREAD | own | more


class Child(contextlib.AbstractContextManager["Child"]):
    """A process that gets requests and sends messages.

    words  Python's arguments
    wire   LINES or PICKLES
    more   variables of its environment
    """

    def __init__(self, words: Sequence[str], wire: tuple[Write, Read], **more: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-X", "utf8", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(**more),
            start_new_session=True,
        )
        assert self.process.stdin and self.process.stdout
        self._listen(self.process.pid, self.process.stdin, self.process.stdout, wire)

    def _listen(
        self, pid: int, requests: IO[bytes], answers: IO[bytes], wire: tuple[Write, Read]
    ) -> None:
        self.pid, self.requests = pid, requests
        self.write, read = wire
        self.messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        words = answers, read, self.messages
        self.reading = threading.Thread(target=_read_messages, args=words, daemon=True)
        self.reading.start()

    def send(self, message: Any) -> None:
        """Send a request. Raises OSError when the process has ended, and `receive` says how."""
        self.write(message, self.requests)

    def receive(self, until: float) -> Any:
        """The next message, however slowly it arrives.

        until  the time, of `time.monotonic`, after which TimeoutError is raised

        Raises EOFError when the process has closed its output.
        """
        try:
            message = self.messages.get(timeout=max(0, until - time.monotonic()))
        except queue.Empty:
            raise TimeoutError("no answer") from None
        if message is END:
            self.messages.put(END)
            raise EOFError
        return message

    def finish(self) -> None:
        """Close the input of the process, so that it ends by itself."""
        with contextlib.suppress(OSError):  # a request that was never read
            self.requests.close()

    def close(self, patience: float = 0) -> None:
        """End the process and all processes that it started.

        patience  seconds in which it may end by itself, as its input is closed
        """
        self.finish()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience)
        if os.name == "posix":
            self.process.terminate()  # it may first end a process in another session
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE)
        kill_tree(self.pid)
        self.process.wait()
        self.reading.join(GRACE)

    def __exit__(self, *error: object) -> None:
        self.close()


def _read_messages(stream: IO[bytes], read: Read, messages: "queue.SimpleQueue[Any]") -> None:
    with stream, contextlib.suppress(Exception):  # its end, or a message that broke off
        while True:
            messages.put(read(stream))
    messages.put(END)


class ForkedChild(Child):
    """A fork of this process that calls a function: faster than a new Python."""

    def __init__(self, function: Forked, wire: tuple[Write, Read]) -> None:
        (theirs, ours), (inward, outward) = os.pipe(), os.pipe()
        with warnings.catch_warnings(action="ignore"):  # Python's, about threads of the caller
            pid = os.fork()
        if pid == 0:
            code = 1
            try:
                _close_all_but(theirs, outward)
                # Open to the end: when the answers are closed, the caller ends this process.
                code = function(open(theirs, "rb"), open(outward, "wb"))
            except Exception:  # noqa: BLE001  a bug of tito, which the user should see
                os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
            finally:
                os._exit(code)
        with contextlib.suppress(OSError):  # it has ended already
            os.setpgid(pid, 0)
        os.close(theirs)
        os.close(outward)
        self._listen(pid, open(ours, "wb"), open(inward, "rb"), wire)

    def close(self, patience: float = 0) -> None:
        """Kill the fork and all processes that it started. patience: not used"""
        self.finish()
        kill_tree(self.pid)
        os.waitpid(self.pid, 0)
        self.reading.join(GRACE)


def _close_all_but(*descriptors: int) -> None:
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


def run(
    command: Sequence[str | Path],
    seconds: float | None = None,
    own_session: bool = True,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end. Its output is text; bytes that are not UTF-8 are replaced.

    seconds      that it may take; None for as long as it wants
    own_session  False for one that reads from the terminal
    options      of `subprocess.Popen`, such as cwd and env. Without others it gets no input, and
                 its output is returned

    Raises subprocess.TimeoutExpired, after killing the program and its tree.
    """
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL}
    streams |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    text = {"encoding": "utf-8", "errors": "replace"}
    process = subprocess.Popen(command, start_new_session=own_session, **(streams | text | options))
    with process:
        try:
            output, errors = process.communicate(timeout=seconds)
        except BaseException:
            kill_tree(process.pid)
            process.kill()  # in the session of tito it leads no group
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def kill_tree(pid: int) -> None:
    """Kill a process that leads its group, and all processes that it started."""
    if os.name != "posix":
        with contextlib.suppress(OSError):  # it is not installed
            words = ["taskkill", "/T", "/F", "/PID", str(pid)]
            subprocess.run(words, capture_output=True, check=False)
    with contextlib.suppress(OSError):  # the process is gone already
        os.killpg(pid, signal.SIGKILL) if os.name == "posix" else os.kill(pid, signal.SIGTERM)
