"""Let this project's code run on Linux as if it ran on Windows or macOS.

    python tools/other_systems.py windows -m pytest --all tests/tito/learn tests/tito/cli
    python tools/other_systems.py macos -m tito status

The first runs the tests of a learner's commands under the emulation, but for those in NOT_THERE;
the second shows that any program can run under it. On a real Windows or macOS, tests/conftest.py
also leaves out the tests in NOT_THERE.

What a function does depends on its caller. The nearest caller outside Python's library and the
installed packages decides: code in `tests/` gets the function of this machine, so that it can set
up a scene; tito, `bin/`, the package and a learner's code get the emulated one. Python processes
that they start are under the emulation, too, and so is every `-m tito` that a test starts.

Windows: no `fcntl grp pty pwd resource termios tty`; no `os.fork` and the others in HIDDEN; no
`dir_fd` and no symbolic links; files are created without execute bits; an open file or folder
cannot be replaced, renamed or deleted, whichever process has it open; names are found in any case,
and cannot be CON, AUX or NUL, contain `: ? *` or end with a dot; a path has at most 259 characters;
clocks and times of files advance in steps of 1/64 s;
text files without an encoding are cp1252 with CRLF; `os.kill` ends a process without its handlers,
and fails with EINVAL for one that is gone; waiting for a queue cannot be interrupted by Ctrl-C;
`ctypes.CDLL(None)` is a TypeError; `os.name` is nt and `sys.platform` win32.

macOS: no `/proc`, no `prctl`, no SOCK_SEQPACKET, no bubblewrap and no landlock; names are found in
any case; `sys.platform` is darwin.

Both: multiprocessing starts its processes with spawn.

Not emulated: paths with backslashes and drives, and their comparison without case (`pathlib` and
`os.path` stay those of Linux); what a library does on the other system (filelock, watchfiles,
click and Rich run their code for Linux); the console, `Scripts` in an environment, PATHEXT; memory,
speed and BLAS. So a pass here is no proof that it works there.
"""

import builtins
import contextlib
import ctypes
import errno
import functools
import io
import os
import queue
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

PROGRAM = os.path.abspath(__file__)
TESTS = str(Path(__file__).resolve().parents[1] / "tests") + os.sep
LIBRARIES = tuple(
    os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "purelib")
)
MODULES = {"windows": "fcntl grp pty pwd resource termios tty".split(), "macos": []}
HIDDEN = {
    "windows": {
        os: "fork forkpty setsid setpgid getpgid killpg geteuid getuid getegid getgid getpgrp "
        "chown sysconf uname mkfifo sched_getaffinity wait4 WNOHANG statvfs getloadavg nice pipe2 "
        "O_NOFOLLOW O_DIRECTORY O_CLOEXEC memfd_create sched_setaffinity openpty posix_spawn",
        signal: "SIGALRM SIGHUP SIGKILL SIGCHLD SIGSTOP SIGTSTP SIGUSR1 SIGQUIT SIGPIPE SIGXCPU "
        "SIGWINCH alarm setitimer getitimer ITIMER_REAL ITIMER_PROF pthread_sigmask pause",
        socket: "AF_UNIX SOCK_SEQPACKET SO_PEERCRED",
    },
    "macos": {
        os: "sched_getaffinity sched_setaffinity memfd_create pipe2 pidfd_open",
        signal: "pidfd_send_signal sigtimedwait",
        socket: "SOCK_SEQPACKET SO_PEERCRED AF_NETLINK",
    },
}
NAMES = {"windows": ("nt", "win32"), "macos": ("posix", "darwin")}
RESERVED = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{port}{n}" for port in ("com", "lpt") for n in "123456789"),
}
TICK = 15_625_000  # nanoseconds
BUSY = "The process cannot access the file because it is being used by another process"
TOP = "OTHER_SYSTEMS_TOP"  # the variable with the process whose descendants hold files

# {words of a test's id: why it is left out}. All other tests of the learner's commands run.
COMMANDS = "test_a_learner_uses_every_command"  # does not start the emulation itself
CLOCK = "without alarms the process that runs the checks is ended, and the message is shorter"
LINUX = {
    "test_other_systems.py": "starts the emulation itself",
    "in_a_process[tito grade]": "says that it needs Linux, as test_other_systems.py tests",
    "in_a_process[tito similar]": "says that it needs Linux, as test_other_systems.py tests",
    "in_a_process[tito check]": "says that it needs Linux, as test_other_systems.py tests",
}
NOT_THERE = {
    "windows": LINUX
    | {
        "own_words[a crash after": "the lesson of this test uses SIGKILL",
        "own_words[an endless loop": CLOCK,
        "own_words[waits at import": CLOCK,
        "test_a_check_that_computes_too_long": CLOCK,
        "test_a_check_that_only_waits": CLOCK,
        "test_an_endless_loop_is_stopped": "calls the time limit in its own process",
        "test_short_times_can_be_measured": "the clock of a process advances in steps of 16 ms",
        "test_children_of_the_learners_code": "a process is ended without its children",
        "test_the_environments_own_setup": "expects the command of Unix; test_other_systems.py has "
        "that of Windows",
        "test_a_file_keeps_its_permissions": "files have no execute bits",
        "test_instructor_options.py": "sends signals that Windows does not have",
        "test_a_lesson_behind_a_link": "the test makes a symbolic link",
        "test_a_folder_that_is_gone": "the test deletes the folder in which a process is",
    },
    "macos": LINUX,
}


# Who calls.


@functools.cache
def kind(file):
    path = os.path.abspath(file)
    if file.startswith("<") or path.startswith(LIBRARIES):
        return "library"
    return "tests" if path.startswith((TESTS, PROGRAM)) else "project"


def is_emulated(frame, through_libraries=True):
    """Whether a frame runs code of the project, or of a library that the project has called."""
    while frame and through_libraries and kind(frame.f_code.co_filename) == "library":
        frame = frame.f_back
    return frame is not None and kind(frame.f_code.co_filename) == "project"


def emulate(owner, name, other):
    """Let `owner.name` be `other(real function, *arguments)` for the project's code."""
    real = getattr(owner, name)

    @functools.wraps(real)
    def choose(*arguments, **options):
        if is_emulated(sys._getframe(1)):
            return other(real, *arguments, **options)
        return real(*arguments, **options)

    setattr(owner, name, choose)


def hide(module, values):
    """Give names of a module other values for the project's code; with `...` they are missing."""
    real = {name: getattr(module, name) for name in values if hasattr(module, name)}

    def attribute(name):
        def get(self):
            if values[name] is ... and name not in real:
                raise AttributeError(name)
            if not is_emulated(sys._getframe(1), through_libraries=False):
                return real[name]
            if values[name] is ...:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            return values[name]

        return property(
            get, lambda self, value: real.update({name: value}), lambda self: real.pop(name)
        )

    module.__class__ = type(
        "Emulated", (module.__class__,), {name: attribute(name) for name in real}
    )


class HiddenModules:
    """Finds no such module for the project's code."""

    def __init__(self, names):
        self.names = names
        self.kept = {name: sys.modules.pop(name) for name in names if name in sys.modules}

    def find_spec(self, name, path=None, target=None):
        if name not in self.names:
            return None
        frame = sys._getframe(1)
        while "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        if is_emulated(frame, through_libraries=False):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


# Files.


class Files:
    """The file system of the other system, for the project's code."""

    def __init__(self, system):
        self.windows = system == "windows"
        self.real = {name: getattr(os, name) for name in ("lstat", "scandir")}
        for name in "stat lstat listdir scandir chdir access readlink utime".split():
            emulate(os, name, self.look_up)
        for name in "open mkdir".split():
            emulate(os, name, self.create)
        for name in ("replace", "rename"):
            emulate(os, name, self.move)
        for name in ("unlink", "remove", "rmdir"):
            emulate(os, name, self.delete)
        emulate(io, "open", self.open_text)
        builtins.open = io.open
        if self.windows:
            emulate(os, "chmod", self.chmod)
            emulate(os, "symlink", self.refuse_link)
            for name in ("supports_dir_fd", "supports_fd", "supports_follow_symlinks"):
                setattr(os, name, set())
            shutil._use_fd_functions = False

    def find(self, path, create=False):
        """The path of this machine for what the project's code calls `path`."""
        if isinstance(path, int) or isinstance(path, bytes) or not os.fspath(path):
            return path
        text = os.path.abspath(path)
        if self.windows:
            self.refuse_names(text, create)
        elif text.startswith("/proc/"):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", text)
        if os.path.lexists(text):
            return path
        actual = "/"
        for part in text.split(os.sep)[1:]:
            if not self.exists(os.path.join(actual, part)):
                try:
                    entries = [entry.name for entry in self.real["scandir"](actual)]
                except OSError:
                    return path
                part = next((e for e in entries if e.casefold() == part.casefold()), part)
            actual = os.path.join(actual, part)
        return actual if self.exists(actual) or create else path

    def exists(self, path):
        with contextlib.suppress(OSError):
            return bool(self.real["lstat"](path))

    def refuse_names(self, text, create):
        parts = text.split(os.sep)
        if len(text) > 259 or {part.split(".")[0].lower().rstrip() for part in parts} & RESERVED:
            raise FileNotFoundError(errno.ENOENT, "The system cannot find the path specified", text)
        if create and any(set(p) & set('<>:"|?*\\') or p != p.rstrip(". ") for p in parts):
            raise OSError(errno.EINVAL, "The filename, directory name is incorrect", text)

    def look_up(self, real, path=".", *arguments, **options):
        if options.get("dir_fd") is not None:
            return self.below_folder(real, path, *arguments, **options)
        result = real(self.find(path), *arguments, **options)
        return coarse(result) if self.windows and isinstance(result, os.stat_result) else result

    def create(self, real, path, *arguments, **options):
        if options.get("dir_fd") is not None:
            return self.below_folder(real, path, *arguments, **options)
        return real(self.find(path, create=True), *arguments, **options)

    def move(self, real, source, target, **options):
        source, target = self.find(source), self.find(target, create=True)
        if self.windows:
            for path in (source, target):
                self.refuse_held(path)
            if real.__name__ == "rename" and self.exists(target):
                raise FileExistsError(errno.EEXIST, "file exists", source, None, target)
            if os.path.isdir(target):
                raise PermissionError(errno.EACCES, "Access is denied", source, None, target)
        return real(source, target)

    def below_folder(self, real, *arguments, **options):
        if self.windows:
            raise NotImplementedError("dir_fd unavailable on this platform")
        return real(*arguments, **options)

    def delete(self, real, path, **options):
        if options.get("dir_fd") is not None:
            return self.below_folder(real, path, **options)
        path = self.find(path)
        if self.windows:
            self.refuse_held(path)
            if not self.real["lstat"](path).st_mode & 0o200:
                raise PermissionError(errno.EACCES, "Access is denied", path)
        return real(path)

    def open_text(self, real, file, mode="r", *arguments, **options):
        file = self.find(file, create=set("wxa") & set(mode))
        if self.windows:
            if "b" not in mode:
                if options.get("encoding") in (None, "locale") and len(arguments) < 2:
                    options["encoding"] = "utf-8" if sys.flags.utf8_mode else "cp1252"
                if set("wxa") & set(mode) and len(arguments) < 4 and options.get("newline") is None:
                    options["newline"] = "\r\n"
        return real(file, mode, *arguments, **options)

    def chmod(self, real, path, mode, **options):
        return real(self.find(path), 0o666 if mode & 0o200 else 0o444)

    def refuse_link(self, real, source, target, *arguments, **options):
        raise OSError(errno.EINVAL, "A required privilege is not held by the client", target)

    def refuse_held(self, path):
        """Refuse a file that is open, or a folder in which something is or where a process is."""
        inside, held = os.path.realpath(path), False
        for pid in family(int(os.environ[TOP])):
            with contextlib.suppress(OSError):  # it has ended
                links = [
                    f"/proc/{pid}/cwd",
                    *(f"/proc/{pid}/fd/{n}" for n in os.listdir(f"/proc/{pid}/fd")),
                ]
                held |= any(f"{link_target(link)}/".startswith(f"{inside}/") for link in links)
        if held:
            raise PermissionError(errno.EACCES, BUSY, path)


def link_target(link):
    with contextlib.suppress(OSError):
        return os.readlink(link)


def family(pid):
    """The ids of a process and of all its descendants."""
    yield pid
    with contextlib.suppress(OSError):
        for task in os.scandir(f"/proc/{pid}/task"):
            with open(f"{task.path}/children", encoding="ascii") as children:
                for child in children.read().split():
                    yield from family(int(child))


def coarse(result):
    """The result of `stat`, with times in steps; st_ctime is the time of creation on Windows."""
    names = [name for name in dir(result) if name.startswith("st_")]
    values = {name: getattr(result, name) for name in names}
    for name in ("st_atime", "st_mtime", "st_ctime"):
        nanoseconds = 0 if name == "st_ctime" else values[f"{name}_ns"] // TICK * TICK
        values[f"{name}_ns"], values[name] = nanoseconds, nanoseconds / 1e9
    return os.stat_result(
        [*result[:7], *(int(values[n]) for n in ("st_atime", "st_mtime", "st_ctime"))], values
    )


# Processes, signals, clocks.


def end(real, pid, number):
    """`os.kill` on Windows: it knows Ctrl-C, and else ends the process, with no handler called."""
    try:
        real(pid, number if number == signal.SIGINT else 9)
    except ProcessLookupError:
        raise OSError(errno.EINVAL, "The parameter is incorrect") from None


def coarse_clocks():
    for name in "time monotonic process_time".split():
        emulate(time, name, lambda real: int(real() * 1e9) // TICK * TICK / 1e9)
        emulate(time, f"{name}_ns", lambda real: real() // TICK * TICK)


class UninterruptedQueue(queue.SimpleQueue):
    """Without a time limit, `get` hears of no Ctrl-C."""

    def get(self, block=True, timeout=None):
        if not block or timeout is not None or not is_emulated(sys._getframe(1)):
            return super().get(block, timeout)
        before = REAL_MASK(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().get()
        finally:
            REAL_MASK(signal.SIG_SETMASK, before)


REAL_MASK = getattr(signal, "pthread_sigmask", None)  # None on a real Windows


class Library(ctypes.CDLL):
    def __init__(self, name, *arguments, **options):
        self.emulated = is_emulated(sys._getframe(1))
        if self.emulated and name is None and SYSTEM[0] == "windows":
            raise TypeError("argument of type 'NoneType' is not iterable")
        super().__init__(name, *arguments, **options)

    def __getattr__(self, name):
        if self.emulated and name in ("prctl", "syscall"):
            raise AttributeError(f"dlsym(RTLD_DEFAULT, {name}): symbol not found")
        return super().__getattr__(name)


def wrapped(words):
    """The command of a Python process, under the emulation."""
    words = [os.fspath(word) for word in words]
    at = 1
    while at < len(words) and words[at][0] == "-" and words[at] not in ("-c", "-m"):
        at += 2 if words[at] in ("-X", "-W") else 1
    return [*words[:at], PROGRAM, SYSTEM[0], *words[at:]]


class Popen(subprocess.Popen):
    def __init__(self, args, *arguments, **options):
        by_project = is_emulated(sys._getframe(1))
        if isinstance(args, list | tuple) and os.fspath(args[0]) == sys.executable:
            if by_project or list(map(str, args[1:3])) == ["-m", "tito"]:
                args = wrapped(args)
        if by_project and SYSTEM[0] == "windows":
            assert not (options.get("pass_fds") or options.get("preexec_fn")), "not on Windows"
        if options.get("env") is not None:
            options["env"] = {**options["env"], TOP: os.environ[TOP]}
        super().__init__(args, *arguments, **options)


SYSTEM = []  # the name of the emulated one, its os.name and its sys.platform


def install(system):
    """Put this process under the emulation."""
    import multiprocessing
    from multiprocessing import spawn

    import filelock  # noqa: F401  its lock for Windows cannot run; without fcntl it has a weaker one

    SYSTEM[:] = system, *NAMES[system]
    os.environ.setdefault(TOP, str(os.getpid()))
    sys.meta_path.insert(0, HiddenModules(MODULES[system]))
    for module, names in HIDDEN[system].items():
        hide(module, dict.fromkeys(names.split(), ...))
    hide(os, {"name": SYSTEM[1]})
    hide(sys, {"platform": SYSTEM[2]})
    Files(system)
    ctypes.CDLL = Library
    subprocess.Popen = Popen
    emulate(
        shutil, "which", lambda real, name, *rest: None if name == "bwrap" else real(name, *rest)
    )
    multiprocessing.set_start_method("spawn", force=True)
    line = spawn.get_command_line
    spawn.get_command_line = lambda **options: wrapped(line(**options))
    if system == "windows":
        queue.SimpleQueue = UninterruptedQueue
        emulate(os, "kill", end)
        coarse_clocks()


class Selection:
    """For pytest: leaves out the tests of NOT_THERE and lists them."""

    def __init__(self, system):
        self.system = system

    def pytest_collection_modifyitems(self, config, items):
        self.reasons = dict.fromkeys(items, "")
        for item in items:
            for words, reason in NOT_THERE[self.system].items():
                if words in item.nodeid and item.name != COMMANDS:
                    self.reasons[item] = reason
        items[:] = [item for item in items if not self.reasons[item]]
        config.hook.pytest_deselected(items=[i for i, reason in self.reasons.items() if reason])

    def pytest_terminal_summary(self, terminalreporter):
        for item, reason in self.reasons.items():
            if reason:
                terminalreporter.line(f"not on {self.system}: {item.name}: {reason}")


def main():
    system, *words = sys.argv[1:]
    install(system)
    kind_of_code, sys.argv = words[0], words[1:] if words[0] in ("-m", "-c") else words
    if not sys.flags.isolated:
        is_script = kind_of_code == words[0] and kind_of_code not in ("-m", "-c")
        sys.path[0] = os.path.dirname(os.path.abspath(words[0])) if is_script else ""
    if words[:2] == ["-m", "pytest"]:
        import pytest

        sys.exit(pytest.main(words[2:], [Selection(system)]))
    if kind_of_code == "-m":
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif kind_of_code == "-c":
        sys.argv[0] = "-c"
        del sys.modules["__main__"].__file__
        exec(compile(words[1], "command", "exec"), {"__name__": "__main__"})
    else:
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main()
