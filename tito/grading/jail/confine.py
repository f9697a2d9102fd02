"""The limits that the jailed process sets for itself, and that cannot be removed again.

Linux only; standard library only.

If this machine does not support a limit, the caller gets an error or a return value that reports
it, because the isolation level depends on it.
"""

import ctypes
import errno
import os
import platform
import resource
import struct
import sys
from collections.abc import Iterable
from typing import Any

if sys.platform != "linux":
    raise ImportError("Linux only")
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446  # the same on every architecture

# Landlock: what is handled is refused unless a rule allows it. Bits by ABI version, from
# linux/landlock.h.
READ_FILE, READ_DIR = 1 << 2, 1 << 3
FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
NETWORK_FROM, ALL_TCP = 4, 3
SCOPES_FROM, ALL_SCOPES = 6, 3  # abstract sockets and signals reach no process outside

# System calls of Python and NumPy, the most frequent first; any other call gets EPERM.
# Numbers from asm/unistd.h: (x86_64, aarch64), None where it does not exist.
CALLS: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "lseek": (8, 62),
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "stat": (4, None),
    "lstat": (6, None),
    "statx": (332, 291),
    "open": (2, None),
    "openat": (257, 56),
    "pread64": (17, 67),
    "readv": (19, 65),
    "writev": (20, 66),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getdents64": (217, 61),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "getcwd": (79, 17),
    "dup": (32, 23),
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "brk": (12, 214),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    "set_robust_list": (273, 99),
    "rseq": (334, 293),
    "sched_yield": (24, 124),
    "set_tid_address": (218, 96),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "setitimer": (38, 103),
    "getitimer": (36, 102),
    "alarm": (37, None),
    "pause": (34, None),
    "nanosleep": (35, 101),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "times": (100, 153),
    "getrusage": (98, 165),
    "getrlimit": (97, 163),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "uname": (63, 160),
    "getrandom": (318, 278),
    "arch_prctl": (158, None),
}
# Further calls that the server needs to fork and to end its forks. A fork gives these up, except
# for the uses of clone, tgkill and prlimit64 that `fork_filter` allows.
FORKING: dict[str, tuple[Any, Any]] = {
    "clone": (56, 220),
    "recvmsg": (47, 212),
    "sendmsg": (46, 211),
    "tgkill": (234, 131),
    "prlimit64": (302, 261),
    "prctl": (157, 167),
    "wait4": (61, 260),
    "pidfd_open": (434, 434),
    "setsid": (112, 157),
    "setpriority": (141, 140),
    "dup2": (33, None),
    "dup3": (292, 24),
    "close_range": (436, 436),
}
MOST_THREADS = 4096
CLONE3 = (435, 435)
# A futex is a word in memory on which threads wait. Without the flag FUTEX_PRIVATE_FLAG, two
# processes that map the same file, such as Python's library, share futexes in it: a hidden check
# could wake a visible check of another learner.
FUTEX, FUTEX_PRIVATE_FLAG = (202, 98), 128
# {call: (an argument, the values that it may have)}. No file may send signals, because the process
# could choose the receiver. No flag may be set, because all forks share the files that were open
# before, and could pass on messages in their flags. No clock may be that of another process, whose
# number is part of the clock's, and no process may be named but the own, which is 0.
HARMLESS: dict[tuple[int, int], tuple[int, Iterable[int]]] = {
    (72, 25): (1, (0, 1, 2, 3, 1030)),  # fcntl
    (16, 29): (1, (0x5401, 0x5450, 0x5451)),  # ioctl
    (44, 206): (3, (0,)),  # sendto, without MSG_OOB and the like
    (45, 207): (3, (0,)),  # recvfrom
    (204, 123): (0, (0,)),  # sched_getaffinity
    (228, 113): (0, range(12)),  # clock_gettime
    (229, 114): (0, range(12)),  # clock_getres
    (230, 115): (0, range(12)),  # clock_nanosleep
}
SOME = 0x7EEDF00D  # a placeholder for the number of a fork; no process, call or command has it
# With CLONE_PIDFD a new thread has a file whose inode number counts all processes of the machine.
CLONE_THREAD, CLONE_NAMESPACES, CLONE_PIDFD = 0x10000, 0x7E020000, 0x1000
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

# BPF: load a word of seccomp_data, compare, return.
INSTRUCTION = struct.Struct("=HBBI")
Instruction = tuple[int, int, int, int]
LOAD, EQUAL, SET, RETURN = 0x20, 0x15, 0x45, 0x06
NUMBER, ARCH, ARGUMENT = 0, 4, 16
ALLOW, DO_NOTHING, REFUSE, NO_SUCH_CALL, KILL = (
    0x7FFF0000,
    0x00050000,
    0x00050000 | errno.EPERM,
    0x00050000 | errno.ENOSYS,
    0x80000000,
)


def _call(number: int, *arguments: object) -> int:
    result = LIBC.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _prctl(option: int, *arguments: int) -> None:
    if LIBC.prctl(option, *arguments, *(0, 0, 0, 0)[len(arguments) :]) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def landlock_version() -> int:
    """The version of Landlock that this kernel has, 0 for none."""
    try:
        return _call(LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    except OSError:
        return 0


def landlock(readable: Iterable[str]) -> None:
    """Refuse all files but those below the paths `readable`, which can be read; refuse TCP and
    signals outward where the kernel can.
    """
    version = landlock_version()
    if not version:
        raise OSError(errno.ENOSYS, "no Landlock")
    files = next(bits for since, bits in sorted(FILES.items(), reverse=True) if since <= version)
    rules = struct.pack(
        "QQQ",
        files,
        ALL_TCP if version >= NETWORK_FROM else 0,
        ALL_SCOPES if version >= SCOPES_FROM else 0,
    )
    rules = rules[: 24 if version >= SCOPES_FROM else 16 if version >= NETWORK_FROM else 8]
    ruleset = _call(LANDLOCK_CREATE, rules, ctypes.c_size_t(len(rules)), ctypes.c_uint(0))
    for path in readable:
        try:
            at = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        allowed = READ_FILE | (READ_DIR if os.path.isdir(path) else 0)
        _call(
            LANDLOCK_ADD,
            ruleset,
            ctypes.c_uint(1),
            struct.pack("=Qi", allowed, at),
            ctypes.c_uint(0),
        )
        os.close(at)
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _call(LANDLOCK_RESTRICT, ruleset, ctypes.c_uint(0))
    os.close(ruleset)


def drop_privileges() -> None:
    """Give up all privileges of root permanently."""
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    for capability in range(64):
        # PR_CAPBSET_DROP; it fails after the last capability, or without privileges.
        if LIBC.prctl(24, capability, 0, 0, 0) != 0:
            break
    head, none = struct.pack("Ii", 0x20080522, 0), struct.pack("6I", 0, 0, 0, 0, 0, 0)
    if LIBC.capset(head, none) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def limits(memory: int) -> None:
    """Set the kernel's limits on this process and its forks, except for time and threads. memory:
    MB of address space.
    """
    for what, most in (
        (resource.RLIMIT_AS, memory << 20),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_STACK, 8 << 20),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))


def fork_limits(seconds: float) -> None:
    """Let the kernel kill this fork after so many seconds of CPU time, in case the judge does not,
    and limit its threads.

    The limit on threads counts all threads of the user, and does not apply to root: grade a hostile
    class as an ordinary user. The servers have a higher one, so that they can fork while a fork has
    as many threads as it may.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 2, int(seconds) + 3))
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    most = MOST_THREADS if hard == resource.RLIM_INFINITY else min(MOST_THREADS, hard // 2)
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


def _column(machine: str) -> tuple[int, int]:
    if machine not in ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no table of system calls for {machine}")
    return ARCHITECTURES[machine]


def _look_at(number: int, argument: int, tests: list[Instruction]) -> list[Instruction]:
    """For this system call: load the low word of an argument, go through `tests`, else refuse."""
    body = [(LOAD, 0, 0, ARGUMENT + 8 * argument), *tests, (RETURN, 0, 0, REFUSE)]
    return [(EQUAL, 0, len(body), number), *body]


def server_filter(machine: str | None = None) -> list[Instruction]:
    """The instructions of the server's filter: the calls of the table, and those for forking."""
    column, arch = _column(machine or platform.machine())
    code = [(LOAD, 0, 0, ARCH), (EQUAL, 1, 0, arch), (RETURN, 0, 0, KILL), (LOAD, 0, 0, NUMBER)]
    for calls in (CALLS, FORKING):
        for name, numbers in calls.items():
            if (number := numbers[column]) is not None and name != "clone":
                code += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW)]
    for call, (argument, values) in HARMLESS.items():
        tests = [step for value in values for step in ((EQUAL, 0, 1, value), (RETURN, 0, 0, ALLOW))]
        code += _look_at(call[column], argument, tests)
    # The C library waits for a thread to end with such a call, and aborts when it fails. When the
    # call does nothing, the library looks at the thread again.
    private = [(SET, 0, 1, FUTEX_PRIVATE_FLAG), (RETURN, 0, 0, ALLOW)]
    code += _look_at(FUTEX[column], 1, [*private, (RETURN, 0, 0, DO_NOTHING)])
    # clone3 has its flags in memory, where a filter cannot look: told that there is none, the C
    # library falls back on clone.
    code += [(EQUAL, 0, 1, CLONE3[column]), (RETURN, 0, 0, NO_SUCH_CALL)]
    code += _look_at(
        FORKING["clone"][column], 0, [(SET, 1, 0, CLONE_NAMESPACES), (RETURN, 0, 0, ALLOW)]
    )
    return [*code, (RETURN, 0, 0, REFUSE)]


def fork_filter(pid: int, machine: str | None = None) -> list[Instruction]:
    """The filter that fork `pid` adds, as a list of instructions. It allows new threads, but no new
    process and none of the calls that forking needed.
    """
    column, arch = _column(machine or platform.machine())
    code = [(LOAD, 0, 0, NUMBER)]
    code += _look_at(
        FORKING["clone"][column],
        0,
        [
            (SET, 2, 0, CLONE_NAMESPACES | CLONE_PIDFD),
            (SET, 0, 1, CLONE_THREAD),
            (RETURN, 0, 0, ALLOW),
        ],
    )
    # abort() and the like:
    code += _look_at(FORKING["tgkill"][column], 0, [(EQUAL, 0, 1, pid), (RETURN, 0, 0, ALLOW)])
    # The own limits may be read, not set: the process and the address of the new ones must be 0.
    code += [
        (EQUAL, 0, 8, FORKING["prlimit64"][column]),
        (LOAD, 0, 0, ARGUMENT),
        (EQUAL, 0, 5, 0),
        (LOAD, 0, 0, ARGUMENT + 16),
        (EQUAL, 0, 3, 0),
        (LOAD, 0, 0, ARGUMENT + 20),
        (EQUAL, 0, 1, 0),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, REFUSE),
    ]
    for name, numbers in FORKING.items():
        if name not in ("clone", "tgkill", "prlimit64") and numbers[column] is not None:
            code += [(EQUAL, 0, 1, numbers[column]), (RETURN, 0, 0, REFUSE)]
    return [*code, (RETURN, 0, 0, ALLOW)]


def assemble(code: Iterable[Instruction]) -> bytes:
    """The bytes of a filter that is a list of instructions."""
    return b"".join(INSTRUCTION.pack(*instruction) for instruction in code)


def filter_of_fork(program: bytes, pid: int) -> bytes:
    """The filter that was assembled for the fork SOME, for fork `pid`."""
    return program.replace(SOME.to_bytes(4, sys.byteorder), pid.to_bytes(4, sys.byteorder))


def seccomp(program: bytes) -> None:
    """Install an assembled filter permanently, for all threads and forks of this process.

    With several filters, the strictest applies.
    """
    buffer = ctypes.create_string_buffer(program)
    words = struct.pack("H6xQ", len(program) // INSTRUCTION.size, ctypes.addressof(buffer))
    head = ctypes.create_string_buffer(words)
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(head))
