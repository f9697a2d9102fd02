"""Start the process that runs learners' code, at an isolation level, and a fork of it for each
check.

bubblewrap         no network, its own process tree, a read-only system without home, course or
                   submissions; and the limits of the next level
landlock+seccomp   Landlock limits files, network and signals, a filter limits system calls; works
                   for ordinary users and in containers
process            a process with limits on time and memory only: it can read every file that you
                   can read
"""

import contextlib
import functools
import json
import marshal
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tito.child import ONE_THREAD
from tito.errors import MachineError, TitoError, UsageError
from tito.grading.jail import proxy
from tito.grading.jail.jailed_server import CODE, NUMBER, READY
from tito.grading.setting import LEVELS
from tito.lesson import conditions, laws, pictures

HERE = Path(__file__).resolve().parent
FILES = [HERE / name for name in ("jailed_server.py", "wire.py", "confine.py")]
FILES += [Path(str(module.__file__)).resolve() for module in (pictures, laws, conditions)]
START_SECONDS = 120  # a busy machine needs many
PARTING = 3  # seconds in which a server ends its forks and itself after its socket was closed
LAST = 30  # seconds in which a process that was killed must be gone
# Exit codes after SIGKILL; the second is bwrap's when what it runs was killed.
KILLED = (-9, 128 + 9)
STARTS = 3  # to start a jail whose server is killed meanwhile, perhaps for lack of memory
SYSTEM = [Path(path) for path in ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")]
# For BLAS: the jail must not rely on free cores, and threads do not survive a fork.
ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": "/nowhere", "HOME": "/nowhere"} | ONE_THREAD
# What lessons import, loaded once instead of in each fork.
PRELOAD = """numpy numpy.random numpy.linalg collections collections.abc contextlib copy dataclasses
functools heapq html inspect io itertools math operator pathlib random re shutil statistics string
time types typing warnings weakref""".split()


class JailFailed(Exception):
    """The jail itself failed; the worker needs a new one."""


class Killed(MachineError):
    """Jails were killed while they started."""


@dataclass
class Fork:
    """One jailed process. sock: our end of its socket pair; handle: a pidfd, if it has one."""

    jail: "Jail"
    pid: int
    sock: socket.socket
    handle: int | None
    is_ended: bool = False

    def end(self) -> None:
        """Kill it, without waiting for its end; `code()` waits."""
        if self.is_ended:
            return
        self.is_ended = True
        self.sock.close()
        if self.handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
            os.close(self.handle)
        else:
            os.kill(self.pid, signal.SIGKILL)
        self.jail.ended.append(self.pid)

    def waited(self) -> float:
        """Seconds that its first thread has waited for a processor; 0 if this is not measured."""
        try:
            # its process number outside of the jail
            text = Path(f"/proc/self/fdinfo/{self.handle}").read_text()
            (number,) = [line[4:].strip() for line in text.splitlines() if line[:4] == "Pid:"]
            return waited(number)
        except (OSError, ValueError):
            return 0.0

    def code(self) -> int:
        """Wait for the end of an ended fork. Returns its exit code, negative for a signal."""
        if self.pid in self.jail.ended:
            self.jail.request_fork()
        while self.pid not in self.jail.codes:
            self.jail.read_answer()
        return self.jail.codes[self.pid]


def waited(process: str = "thread-self") -> float:
    """Seconds that a process's first thread, or the thread that asks, has waited for a processor.

    Raises OSError or ValueError if the system does not measure this.
    """
    with open(f"/proc/{process}/schedstat", "rb", buffering=0) as file:  # asked in each check
        return int(file.read().split()[1]) / 1e9


def be_killed_first() -> None:
    """Let the kernel kill this process and its children first when memory runs out."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


class Jail(contextlib.AbstractContextManager["Jail"]):
    """A server process that forks on request, one fork ahead of its use.

    level    of isolation
    secret   paths that must not be readable in it
    memory   MB that each fork may use
    seconds  of CPU time that each fork may use
    modules  a function that returns {name: code} of modules that all forks have; it is called
             while the server starts
    draws    whether matplotlib can be imported: it takes a second to load, and doubles the time of
             a fork. Without, a fork that imports it ends with the exit code NEEDS_PICTURES
    """

    def __init__(
        self,
        level: str,
        secret: Sequence[str] = (),
        memory: int = 1024,
        seconds: float = 10,
        modules: Callable[[], dict[str, Any]] = dict,
        draws: bool = False,
    ) -> None:
        self.level, self.draws = level, draws
        # Our sockets of forks to come; (pid, handle) of those that have.
        self.requested: list[socket.socket] = []
        self.ready: list[tuple[int, int | None]] = []
        # Pids of forks that the server is to bury; exit codes of those that it has.
        self.ended: list[int] = []
        self.codes: dict[int, int] = {}
        self._start(secret)
        start = {
            **{"preload": PRELOAD, "files": [*map(str, FILES[-3:])], "draws": draws},
            "packages": {name: str(path) for name, path in conditions.importable().items()},
            "confine": level != "process",
            "memory": memory,
            "seconds": seconds,
            "readable": [str(path) for path in readable(secret)],
        }
        try:
            self.control.settimeout(START_SECONDS)
            reading, writing = os.pipe()
            with open(writing, "wb") as pipe:
                with open(reading, "rb"):
                    socket.send_fds(self.control, [json.dumps(start).encode()], [reading])
                marshal.dump(modules(), pipe)
            is_ready = self.receive()[0] == READY
            checked = secret if level != "process" else []
            secrets = [path for path in checked if self.reads(path)]
            problem = "" if is_ready else "it says nothing"
        except (JailFailed, OSError, proxy.Stop) as error:
            secrets, problem = [], str(error)
        if problem or secrets:
            self._refuse(secrets, problem)

    def _start(self, secret: Sequence[str]) -> None:
        """Start the server process, with one end of a socket pair as its standard input."""
        # With a stream, one `send` could arrive as two parts; where there is nothing better, the
        # messages are short.
        kind = socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_STREAM
        self.control, theirs = socket.socketpair(socket.AF_UNIX, kind)
        with theirs:
            self.process = subprocess.Popen(
                command(self.level, secret, self.draws),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                cwd="/",
                env=ENVIRONMENT,
                start_new_session=True,
                close_fds=True,
                preexec_fn=be_killed_first if sys.platform == "linux" else None,
            )

    def _refuse(self, secrets: list[str], problem: str) -> NoReturn:
        """Raise the error that says why this jail does not work: what its server said, or else the
        problem. secrets: paths that it can read.
        """
        self.close()
        if not secrets and self.process.returncode in KILLED:
            raise JailFailed("its server was killed while it started")
        assert self.process.stderr
        output = self.process.stderr.read().decode(errors="replace").strip()[-300:]
        why = f"it can read {secrets[0]}" if secrets else output or problem
        raise MachineError(
            f"Isolation level {self.level} does not work here: {why}.",
            "`tito grade --isolation LEVEL` names another: " + ", ".join(LEVELS) + ".",
        )

    def reads(self, path: str) -> bool:
        """Whether a fork can read this path.

        Asked of a fork, so that the server, which all forks inherit from, never hears of it.
        """
        fork = self.fork()
        try:
            return proxy.Session(fork.sock, time.monotonic() + START_SECONDS).do(
                "readable", str(path)
            )
        finally:
            fork.end()

    def receive(self) -> tuple[bytes, list[int]]:
        """The server's next message, and the descriptors that it brings."""
        try:
            message, descriptors, _, _ = socket.recv_fds(self.control, 1 << 16, 1)
        except OSError as error:
            raise JailFailed(str(error)) from None
        if not message:
            raise JailFailed("its server is gone")
        return message, descriptors

    def read_answer(self) -> None:
        """Read the server's next answer: a fork, and the exit codes of others."""
        message, handles = self.receive()
        self.codes = dict(CODE.iter_unpack(message[NUMBER.size :]))
        self.ready.append((*NUMBER.unpack_from(message), handles[0] if handles else None))

    def request_fork(self) -> None:
        """Ask the server for a fork; `read_answer` reads the answer.

        Raises JailFailed when it is gone.
        """
        ours, theirs = socket.socketpair()
        self.requested.append(ours)
        with theirs:
            try:
                numbers = b"".join(map(NUMBER.pack, [0, *self.ended]))
                socket.send_fds(self.control, [numbers], [theirs.fileno()])
            except OSError as error:
                raise JailFailed(str(error)) from None
        self.ended = []

    def fork(self) -> Fork:
        """A fresh Fork.

        A fork that ended before it was used is skipped, because the new check cannot be the cause.
        """
        for passed_over in (False, True):
            while len(self.requested) < 2:  # this one, and the next
                self.request_fork()
            while not self.ready:
                self.read_answer()
            pid, handle = self.ready.pop(0)
            fork = Fork(self, pid, self.requested.pop(0), handle)
            if passed_over or not select.select([fork.sock], [], [], 0)[0]:
                return fork
            fork.end()
        raise AssertionError("the second fork was returned")

    def close(self) -> None:
        """End the server and with it every fork.

        It ends by itself when its socket is closed. If it were killed, its CPU time would not be
        counted.
        """
        self.control.close()
        for sock in self.requested:
            sock.close()
        for _, handle in self.ready:
            if handle is not None:
                os.close(handle)
        self.requested, self.ready = [], []
        try:
            self.process.wait(PARTING)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(LAST)

    def __exit__(self, *error: object) -> None:
        self.close()


def command(level: str, secret: Sequence[str], draws: bool = False) -> list[str]:
    """The command that starts jailed_server.py at this level."""
    program = os.path.realpath(getattr(sys, "_base_executable"))
    python = [program, "-I", "-S", "-B", "-X", "utf8", str(FILES[0])]
    if level != "bubblewrap":
        return python
    if not (bubblewrap := shutil.which("bwrap")):
        raise MachineError(
            f"Isolation level {level} does not work here: there is no program bwrap.",
            "Install bubblewrap (apt install bubblewrap), or let `tito grade` choose a level.",
        )
    return [
        bubblewrap,
        *"--unshare-all --die-with-parent --new-session --cap-drop ALL --clearenv".split(),
        *[part for name, value in ENVIRONMENT.items() for part in ("--setenv", name, value)],
        *binds(program, secret),
        # For the server while it starts; Landlock keeps its forks from writing there.
        *"--tmpfs /cache --setenv TMPDIR /cache".split() * draws,
        *"--dev-bind /dev/null /dev/null --dev-bind /dev/urandom /dev/urandom".split(),
        *"--remount-ro / --chdir / --".split(),
        *python,
    ]


def binds(python: str, secret: Sequence[str]) -> list[str]:
    """The options of bubblewrap for readable files: those that Python needs, without secret paths
    and with only the installed packages that learners' code may import.
    """
    binds = []
    for path in system():
        if path.is_symlink() and path.parent == Path("/"):
            binds += ["--symlink", os.readlink(path), str(path)]
        elif path.exists():
            binds += ["--ro-bind", str(path), str(path)]
    for path in site_folders():
        if path.is_dir() and any(path.is_relative_to(bound) for bound in system()):
            binds += ["--tmpfs", str(path)]
    for path in [Path(python), *FILES, *conditions.package_paths()]:
        binds += ["--ro-bind", str(path), str(path)]
    for path in map(Path, secret):
        if path.is_dir() and any(path.is_relative_to(bound) for bound in system()):
            binds += ["--tmpfs", str(path)]
    return binds


@functools.cache
def system() -> list[Path]:
    """Folders that Python needs: its standard library and the C libraries."""
    library = Path(sysconfig.get_path("stdlib")).resolve()
    own = [library, *library.parent.glob("libpython*")]
    return [*[path for path in SYSTEM if path.exists()], *own]


def site_folders() -> list[Path]:
    """The folders of installed packages, also inside the folders of `system`. They may contain a
    course with its solutions.
    """
    return sorted(
        {
            Path(folder)
            for base in {*system(), Path("/usr/local/lib")}
            if base.is_dir()
            for pattern in (
                "site-packages",
                "dist-packages",
                "python3*/site-packages",
                "python3*/dist-packages",
            )
            for folder in base.glob(pattern)
        }
    )


def readable(secret: Sequence[str]) -> list[Path]:
    """The paths that Landlock allows: those that Python needs, without folders of installed
    packages and without secret paths.
    """
    hidden = {*site_folders(), *(Path(path) for path in secret)}
    return [
        *[part for path in system() for part in without(path, hidden)],
        *FILES,
        *conditions.package_paths(),
        Path("/dev/null"),
        Path("/dev/urandom"),
    ]


def without(path: Path, hidden: Collection[Path]) -> list[Path]:
    """`path`, or its parts without the hidden ones if it contains some: Landlock cannot forbid."""
    hidden_here = [other for other in hidden if other.is_relative_to(path)]
    if not hidden_here:
        return [path]
    if path in hidden_here or not path.is_dir():
        return []
    return [part for child in sorted(path.iterdir()) for part in without(child, hidden_here)]


def check_system() -> None:
    """Raise MachineError where submissions and forged answers cannot be confined."""
    if sys.platform != "linux":
        what = f"This needs a sandbox of Linux, and this system is {sys.platform}."
        raise MachineError(what, "Use Linux, WSL or the Dockerfile in tito/grading.")


def strongest(requested: str, secret: Sequence[str] = (), **how: Any) -> Jail:
    """A Jail at the requested level, or, for "", at the strongest that works.

    how  further arguments of Jail

    Raises TitoError when only the weakest level works and was not requested; and when the jail is
    killed repeatedly, because then a weaker level would not help.
    """
    check_system()
    if requested:
        check_level(requested)
        return start_jail(requested, secret, **how)
    tried = []
    for level in LEVELS[:-1]:
        if level == "bubblewrap" and not shutil.which("bwrap"):
            tried.append("bubblewrap is not installed")
            continue
        try:
            return start_jail(level, secret, **how)
        except Killed:
            raise
        except (TitoError, OSError) as error:
            tried.append(str(error))
    raise MachineError(
        f"This machine cannot keep learners' code away from your files: {'; '.join(tried)}",
        "Install bubblewrap (apt install bubblewrap), or accept the risk with --isolation process.",
    )


def check_level(level: str) -> None:
    """Raise TitoError for an unknown level, or one whose program is missing."""
    if level not in LEVELS:
        raise UsageError(
            f"There is no isolation level {level!r}.", f"There are: {', '.join(LEVELS)}."
        )
    if level == "bubblewrap" and not shutil.which("bwrap"):
        raise MachineError(
            "The isolation level bubblewrap needs the program bwrap, which is not installed.",
            "Install bubblewrap (apt install bubblewrap), or leave --isolation out.",
        )


def start_jail(level: str, secret: Sequence[str], **how: Any) -> Jail:
    """A Jail at this level. Raises Killed when its server is killed again and again."""
    for _ in range(STARTS):
        with contextlib.suppress(JailFailed):
            return Jail(level, secret, **how)
    raise Killed(
        f"At isolation level {level} the process that runs learners' code was killed {STARTS} "
        "times while it started.",
        "Is the machine out of memory? Run it again, or with fewer --jobs.",
    )
