"""The filter lets a fork compute, and nothing else: its program is run here, instruction by
instruction, on system calls of both architectures.
"""

import errno
import os
import platform
import struct
import subprocess
import sys

import pytest

from tito.grading.jail import confine

if sys.platform != "linux":
    pytest.skip("these limits are Linux's", allow_module_level=True)

PID = 4711
ALLOWED, NOTHING, EPERM, ENOSYS, KILLED = "allowed", "nothing", "EPERM", "ENOSYS", "killed"
# CLONE_VM | FS | FILES | SIGHAND | THREAD | SYSVSEM | SETTLS | PARENT_SETTID | CHILD_CLEARTID
THREAD = 0x3D0F00
NAMESPACES = {
    "mount": 0x20000,
    "cgroup": 0x2000000,
    "uts": 0x4000000,
    "ipc": 0x8000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
}
machines = pytest.mark.parametrize("machine", ["x86_64", "aarch64"])


def outcome(code, machine, number, *arguments, arch=None):
    """What the kernel would do with a system call, as `man 2 seccomp` tells it; unknown
    instructions are an error.
    """
    data = struct.pack(
        "=iIQ6Q",
        number,
        arch or confine.ARCHITECTURES[machine][1],
        0,
        *[a & (2**64 - 1) for a in (*arguments, 0, 0, 0, 0, 0, 0)[:6]],
    )
    at, word = 0, None
    while True:
        what, yes, no, value = code[at]
        if what == 0x20:  # BPF_LD | BPF_W | BPF_ABS
            (word,) = struct.unpack_from("=I", data, value)
        elif what == 0x06:  # BPF_RET | BPF_K
            return {
                0x7FFF0000: ALLOWED,
                0x50000: NOTHING,
                0x50000 | errno.EPERM: EPERM,
                0x50000 | errno.ENOSYS: ENOSYS,
                0x80000000: KILLED,
            }[value]
        else:
            # BPF_JMP, JEQ or JSET
            at += yes if {0x15: word == value, 0x45: bool(word & value)}[what] else no
        at += 1


def in_fork(machine, number, *arguments, **more):
    """What becomes of a call in a fork, under both filters: of allowed and refused, refused."""
    found = [
        outcome(code, machine, number, *arguments, **more)
        for code in (confine.server_filter(machine), confine.fork_filter(PID, machine))
    ]
    return next((one for one in found if one != ALLOWED), ALLOWED)


def number(machine, calls):
    return calls[confine.ARCHITECTURES[machine][0]]


@machines
def test_what_computing_takes_is_allowed(machine):
    for name, calls in confine.CALLS.items():
        if number(machine, calls) is not None:
            assert in_fork(machine, number(machine, calls)) == ALLOWED, name


@machines
def test_no_number_but_those_of_the_tables_is_allowed(machine):
    known = {
        number(machine, calls)
        for calls in (
            *confine.CALLS.values(),
            *confine.FORKING.values(),
            *confine.HARMLESS,
            confine.FUTEX,
        )
    }
    for unknown in {*range(600), 0x40000000 + 1, 0x40000000 + 59, 0x7FFFFFFF, -1} - known:
        assert in_fork(machine, unknown) in (EPERM, ENOSYS), unknown


# Numbers from the manuals, not from the table under test: what must never be possible.
FORBIDDEN = {
    "socket": (41, 198),
    "connect": (42, 203),
    "pipe2": (293, 59),  # the machine counts pipes: the next check could read how many there were
    "bind": (49, 200),
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "kill": (62, 129),
    "ptrace": (101, 117),
    "setuid": (105, 146),
    "get_robust_list": (274, 100),
    "sysinfo": (99, 179),  # threads and memory of the machine
    "membarrier": (324, 283),
    "sendmsg": (46, 211),  # with files: all processes of a user share a limit of those under way
    "recvmsg": (47, 212),
    "prctl": (157, 167),
    "mount": (165, 40),
    "tkill": (200, 130),
    "io_setup": (206, 0),
    "unshare": (272, 97),
    "perf_event_open": (298, 241),
    "setns": (308, 268),
    "process_vm_readv": (310, 270),
    "memfd_create": (319, 279),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "execveat": (322, 281),
    "pidfd_send_signal": (424, 424),
    "io_uring_setup": (425, 425),
    "pidfd_open": (434, 434),
    "openat2": (437, 437),
    "pidfd_getfd": (438, 438),
    "landlock": (444, 444),
    "setsid": (112, 157),
    "unlink": (87, None),
    "rename": (82, None),
    "mkdir": (83, None),
    "truncate": (76, 45),
    "shmget": (29, 194),
    "keyctl": (250, 219),
    "setrlimit": (160, 164),
    "sched_setaffinity": (203, 122),
    "seccomp": (317, 277),
    "unlinkat": (None, 35),
    "renameat2": (None, 276),
    "mkdirat": (None, 34),
}


@machines
@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_fork_may_not(machine, name):
    if (call := number(machine, FORBIDDEN[name])) is not None:
        assert in_fork(machine, call) == EPERM


@machines
def test_a_fork_may_have_threads_but_no_processes(machine):
    clone, clone3 = number(machine, confine.FORKING["clone"]), 435
    assert in_fork(machine, clone, 17) == EPERM  # SIGCHLD: what fork() asks for
    assert in_fork(machine, clone, 0x4111) == EPERM  # what vfork() asks for
    assert in_fork(machine, clone, 0) == EPERM
    # then the C library asks by clone
    assert in_fork(machine, clone3, 0x7F0000001000, 88) == ENOSYS


@machines
@pytest.mark.parametrize("namespace", NAMESPACES)
def test_neither_fork_nor_server_makes_a_namespace(machine, namespace):
    clone = number(machine, confine.FORKING["clone"])
    assert in_fork(machine, clone, NAMESPACES[namespace] | 17) == EPERM
    assert in_fork(machine, clone, NAMESPACES[namespace] | THREAD) == EPERM
    assert (
        outcome(confine.server_filter(machine), machine, clone, NAMESPACES[namespace] | 17) == EPERM
    )


@machines
def test_the_server_may_fork(machine):
    clone, code = number(machine, confine.FORKING["clone"]), confine.server_filter(machine)
    assert outcome(code, machine, clone, 0x1200011) == ALLOWED


ARGUMENTS = {  # {what: (the call, arguments that are allowed, those that are not)}
    "limits": ((302, 261), [(0, 7, 0, 1)], [(PID, 7, 0, 1), (0, 7, 1, 0), (0, 7, 1 << 32, 0)]),
    "processors": ((204, 123), [(0, 8, 1)], [(PID, 8, 1), (1, 8, 1)]),
    "sending": ((44, 206), [(3, 1, 8, 0)], [(3, 1, 8, 1), (3, 1, 8, 0x4000)]),
    "receiving": ((45, 207), [(3, 1, 8, 0)], [(3, 1, 8, 1), (3, 1, 8, 2)]),
    # of the process, of the thread; of the process PID and of a thread of it
    "clocks": ((228, 113), [(0,), (2,), (3,), (11,)], [(~PID << 3 | 2,), (~PID << 3 | 6,)]),
    "sleeping": ((230, 115), [(1,)], [(~PID << 3 | 2,), (~3 << 3 | 3,)]),
    # CLONE_PIDFD: the number of its file counts all processes of the machine
    "threads": ((56, 220), [(THREAD,)], [(THREAD | 0x1000,)]),
    # abort() in a thread
    "signals": (
        (234, 131),
        [(PID, PID + 1, 6)],
        [(n, PID, 6) for n in (PID + 1, PID - 1, 1, 0, -1)],
    ),
    # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC; F_SETFL, whose flags all forks share,
    # F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ, F_ADD_SEALS
    "files": (
        (72, 25),
        [(3, n) for n in (0, 1, 2, 3, 1030)],
        [(3, n) for n in (4, 8, 10, 15, 1024, 1026, 1031, 1033)],
    ),
    # FIONBIO, FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX, FIOASYNC
    "devices": ((16, 29), [], [(3, n) for n in (0x5421, 0x8901, 0x8902, 0x5412, 0x541C, 0x5452)]),
}


@machines
@pytest.mark.parametrize("what", ARGUMENTS)
def test_a_call_reaches_no_other_process(machine, what):
    calls, allowed, refused = ARGUMENTS[what]
    for arguments in allowed:
        assert in_fork(machine, number(machine, calls), *arguments) == ALLOWED
    for arguments in refused:
        assert in_fork(machine, number(machine, calls), *arguments) == EPERM


@machines
def test_a_futex_reaches_no_other_process(machine):
    """Operations that are not private have, in a file that both map, a key that two forks share."""
    futex = {"x86_64": 202, "aarch64": 98}[machine]
    for operation in (*range(14), 0x100 | 9):  # FUTEX_WAIT, WAKE ...; with FUTEX_CLOCK_REALTIME
        assert in_fork(machine, futex, 0x7F0000001000, operation | 128, 1) == ALLOWED
        assert in_fork(machine, futex, 0x7F0000001000, operation, 1) == NOTHING


def test_a_call_of_another_architecture_ends_the_process():
    # int 0x80: 20 is getpid there and writev here
    assert in_fork("x86_64", 20, arch=0x40000003) == KILLED
    assert in_fork("aarch64", 20, arch=0x40000028) == KILLED


def test_a_machine_without_table_is_refused():
    with pytest.raises(OSError, match="riscv64"):
        confine.server_filter("riscv64")
    with pytest.raises(OSError, match="riscv64"):
        confine.fork_filter(PID, "riscv64")


@machines
def test_the_filter_of_a_fork_is_made_of_one_for_some_fork(machine):
    some = confine.assemble(confine.fork_filter(confine.SOME, machine))
    assert (
        confine.filter_of_fork(some, PID)
        == confine.assemble(confine.fork_filter(PID, machine))
        != some
    )


def confined(code, *arguments):
    """What a process that confines itself prints.

    It runs in a separate process, because limits cannot be removed.
    """
    start = (
        "import ctypes, os, resource, sys\n"
        f"sys.path.insert(0, {str(os.path.dirname(confine.__file__))!r})\nimport confine\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", start + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout.split() if not done.returncode else done


@pytest.mark.skipif(
    platform.machine() not in confine.ARCHITECTURES, reason="there is no table for this machine"
)
def test_no_process_is_woken_through_a_file_that_all_forks_map():
    code = """
import mmap, platform, struct, threading, time
file = open(os.__file__, "rb")
page = mmap.mmap(file.fileno(), 4096, flags=mmap.MAP_PRIVATE)
word = ctypes.addressof(ctypes.c_char.from_buffer(page))
value, = struct.unpack_from("=i", page)
number = ctypes.c_long(confine.FUTEX[confine.ARCHITECTURES[platform.machine()][0]])
class Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]
def futex(operation, count, most=None):
    return confine.LIBC.syscall(number, ctypes.c_void_p(word), operation, count, most)
def wake_another(flag):
    thread = threading.Thread(target=futex, args=(flag, value, ctypes.byref(Time(5, 0))))
    thread.start()
    time.sleep(.1)
    woken = futex(1 | flag, 1)
    thread.join()
    return woken
print(wake_another(0), wake_another(128))
confine.seccomp(confine.assemble(confine.server_filter()))
print(wake_another(0), wake_another(128))
"""
    assert confined(code) == ["1", "1", "0", "1"]


@pytest.mark.skipif(
    platform.machine() not in confine.ARCHITECTURES, reason="there is no table for this machine"
)
def test_the_kernel_takes_both_filters_and_does_as_they_say():
    code = """
confine.seccomp(confine.assemble(confine.server_filter()))
program = confine.assemble(confine.fork_filter(confine.SOME))
confine.seccomp(confine.filter_of_fork(program, os.getpid()))
for action in (os.fork, os.getpid, lambda: os.kill(0, 0),
               lambda: resource.getrlimit(resource.RLIMIT_AS),
               lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))):
    try:
        action()
        print("done", flush=True)
    except (OSError, ValueError):
        print("refused", flush=True)
"""
    assert confined(code) == ["refused", "done", "refused", "done", "refused"]


@pytest.mark.skipif(not confine.landlock_version(), reason="this kernel has no Landlock")
def test_landlock_allows_reading_named_paths_and_no_writing(tmp_path):
    for name in ("open", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("text")
    code = """
confine.landlock([sys.argv[1] + "/open", sys.argv[1] + "/absent"])
for path, mode in (("open/file", "r"), ("open/file", "r+"), ("open/new", "w"),
                   ("closed/file", "r"), ("closed/new", "w")):
    try:
        open(os.path.join(sys.argv[1], path), mode).close()
        print("opened")
    except PermissionError:
        print("refused")
for name in ("open", "closed"):
    try:
        print(len(os.listdir(os.path.join(sys.argv[1], name))))
    except PermissionError:
        print("refused")
"""
    assert confined(code, tmp_path) == ["opened", *["refused"] * 4, "1", "refused"]


def test_privileges_are_gone_for_good():
    code = """
confine.drop_privileges()
names = ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs")
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith(names)))
"""
    effective = confined(code)
    assert effective[:2] == ["0" * 16] * 2 and effective[-1] == "1"
    assert os.getuid() != 0 or effective[2] == "0" * 16  # only root may empty the bounding set


def test_memory_and_time_have_limits_that_cannot_be_lifted():
    code = """
threads = resource.getrlimit(resource.RLIMIT_NPROC)
confine.limits(512)
server = resource.getrlimit(resource.RLIMIT_NPROC)
confine.fork_limits(3.5)
print(*(resource.getrlimit(getattr(resource, "RLIMIT_" + name))[1]
        for name in ("AS", "CPU", "FSIZE", "NOFILE", "CORE")))
most = resource.getrlimit(resource.RLIMIT_NPROC)[1]  # with all of them, a server can still fork
print(server == threads and 0 < most <= 4096 and (most < server[0] or server[0] < 0))
try:
    bytearray(1 << 29)
    print("allocated")
except MemoryError:
    print("refused")
"""
    assert confined(code) == [str(512 << 20), "6", "0", "64", "0", "True", "refused"]
