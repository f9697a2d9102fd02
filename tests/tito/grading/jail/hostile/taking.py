"""Submissions that take what others need: memory, descriptors, threads, disk, processor,
network.
"""

from .submission import RIGHT_DOUBLE, RIGHT_TWICE, RIGHT_VECTOR, collector

TAKING, hostile = collector()

for name, code in {
    "in-a-list": "[hold.append(bytearray(1 << 24)) for _ in iter(int, 1)]",
    "in-one-array": "hold.append(np.ones(1 << 34))",
    "in-small-objects-that-stay": "[hold.append([0] * (1 << 17)) for _ in iter(int, 1)]",
    "in-a-string": 'hold.append("x" * (1 << 33))',
}.items():
    hostile(
        f"fills-memory-{name}",
        f"hold = []\n{code}\n",
        verdict="out of memory|timed out|crashed",
        status="memory|timeout|crashed",
    )

hostile(
    "fills-memory-by-mmap",
    """
import mmap
hold = []
def more():
    while True:
        hold.append(mmap.mmap(-1, 1 << 26))
        if len(hold) > 1000:
            return "64 GB"
attempt("mmap", more)
hold.clear()
def remap():
    small = mmap.mmap(-1, 1 << 20)
    small.resize(1 << 36)
    return "64 GB"
attempt("mremap", remap)
""",
)

hostile(
    "fills-memory-with-stacks",
    """
threading.stack_size(1 << 28)
def more():
    for number in range(1000):
        threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
    return "250 GB"
attempt("stacks", more)
""",
)

hostile(
    "starts-endless-threads",
    """
threading.stack_size(1 << 20)
try:
    while True:
        threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
except RuntimeError:
    pass
""",
    verdict="timed out|failed|out of memory|crashed",
    status="timeout|error|memory|crashed",
)

hostile(
    "opens-every-descriptor",
    """
hold = []
def more():
    while True:
        hold.append(os.dup(0))
        if len(hold) > 10_000:
            return "10000"
attempt("descriptors", more)
""",
)

hostile(
    "sends-descriptors-to-the-judge",
    """
sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=os.dup(3))
for _ in range(20):
    attempt("descriptors", lambda: socket.send_fds(sock, [b""], [0, 1, 2, 3]) and None.x)
def double(x):
    try:
        socket.send_fds(sock, [frame(["ok", 0, ["l"]])], [0, 1, 2, 3])
    except OSError:
        pass
    return 0
""",
    verdict="failed|tampered",
    status="failed|tampered",
)

hostile(
    "writes-endlessly",
    """
def write():
    line = "x" * 65536
    while True:
        print(line)
        print(line, file=sys.stderr)
        os.write(1, line.encode())
threading.Thread(target=write, daemon=True).start()
""",
    honest=(RIGHT_DOUBLE, RIGHT_VECTOR, RIGHT_TWICE),
    verdict="passed",
    status="passed",
)

hostile(
    "floods-the-judge",
    """
say(frame(["raise", "ValueError", ["l", "ValueError"], "x" * 8_000_000, ["l"], None]))
while True:
    say(struct.pack(">II", 8 << 20, 64 << 20) + b" " * (72 << 20))
""",
    verdict="import failed|tampered",
    status="error|tampered",
)

hostile(
    "gives-64-MB-for-each-question",
    """
class Vector:
    def __init__(self, data): self.shape = (3,)
    @property
    def data(self): return np.ones(1 << 23)[:-1]
    def __len__(self): return 3
    def __add__(self, other): return self
""",
)

hostile(
    "gives-too-much",
    """
def double(x): return [2**62] * 450_000
class Vector:
    def __init__(self, data): self.data, self.shape = np.ones(1 << 24), "x" * (1 << 24)
""",
    status="error|timeout",
)

hostile(
    "writes-files",
    """
import shutil, tempfile
def write(path):
    with open(path, "wb") as file:
        file.write(b"x" * 4096)
        return path
for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/", "/root", "/nowhere", "@COURSE@",
               "@CLASS@", "@CLASS@/zoe", os.getcwd(), os.path.dirname(np.__file__)):
    attempt(f"write {len(found)}", lambda: write(folder + "/tito-hostile-was-here"))
    attempt(f"mkdir {len(found)}", lambda: os.mkdir(folder + "/tito-hostile-was-here"))
    attempt(f"symlink {len(found)}", lambda: os.symlink("/etc", folder + "/tito-hostile-was-here"))
    attempt(f"fifo {len(found)}", lambda: os.mkfifo(folder + "/tito-hostile-was-here"))
    attempt(f"tmpfile {len(found)}", lambda: os.open(folder, os.O_TMPFILE | os.O_RDWR))
attempt("temporary", lambda: tempfile.TemporaryFile().write(b"x"))
attempt("memfd", lambda: os.memfd_create("x"))
attempt("memfd_secret", lambda: call(447, 0))
attempt("shm_open", lambda: __import__("_posixshmem").shm_open(
    "/tito-hostile", os.O_CREAT | os.O_RDWR, 0o600))
attempt("shmget", lambda: call(29, 0x7117, 4096, 0o1600))
attempt("msgget", lambda: call(68, 0x7117, 0o1600))
attempt("mq_open", lambda: call(240, b"tito-hostile", 0o100 | 2, 0o600, None))
attempt("truncate", lambda: os.truncate("@CLASS@/zoe/vectors_dev.py", 0))
attempt("unlink", lambda: os.unlink("@CLASS@/zoe/vectors_dev.py"))
attempt("rename", lambda: os.rename("@CLASS@/zoe/vectors_dev.py", "@CLASS@/zoe/gone"))
attempt("link", lambda: os.link("@CLASS@/zoe/vectors_dev.py", "@CLASS@/zoe/more"))
attempt("utime", lambda: os.utime("@CLASS@/zoe/vectors_dev.py", (0, 0)))
attempt("chmod", lambda: os.chmod("@CLASS@/zoe/vectors_dev.py", 0))
attempt("chown", lambda: os.chown("@CLASS@/zoe/vectors_dev.py", 1, 1))
attempt("xattr", lambda: os.setxattr("@CLASS@/zoe/vectors_dev.py", b"user.x", b"x"))
attempt("append", lambda: open("@CLASS@/zoe/vectors_dev.py", "a"))
attempt("size of a pipe", lambda: call(72, 0, 1031, 1 << 20))
""",
    jailed=True,
)

hostile(
    "uses-the-network",
    """
import select
def reach(family, kind, address):
    sock = socket.socket(family, kind)
    sock.settimeout(0.2)
    return sock.connect(address) or "connected"
attempt("tcp", lambda: reach(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 22)))
attempt("tcp6", lambda: reach(socket.AF_INET6, socket.SOCK_STREAM, ("::1", 22)))
attempt("udp", lambda: reach(socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53)))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("netlink", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
attempt("vsock", lambda: socket.socket(40, socket.SOCK_STREAM))
attempt("algorithm", lambda: socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET))
attempt("unix", lambda: reach(socket.AF_UNIX, socket.SOCK_STREAM, "/run/dbus/system_bus_socket"))
attempt("abstract", lambda: reach(socket.AF_UNIX, socket.SOCK_STREAM, "\\0tito"))
attempt("pair", lambda: socket.socketpair())
attempt("listen", lambda: socket.create_server(("127.0.0.1", 0)))
attempt("name", lambda: socket.getaddrinfo("localhost", 80))
attempt("host", lambda: socket.gethostbyname("example.org"))
attempt("bind", lambda: call(49, 3, struct.pack("H", 1) + b"\\0tito", 7))
attempt("connect", lambda: call(42, 3, struct.pack("H", 1) + b"\\0tito", 7))
attempt("listen to the judge", lambda: call(50, 3, 5))
attempt("accept", lambda: call(43, 3, None, None))
attempt("shutdown", lambda: call(48, 3, 0))
attempt("socket options", lambda: call(54, 3, 1, 8, struct.pack("i", 1 << 30), 4))
attempt("io_uring", lambda: call(425, 8, bytes(120)))
attempt("sendmmsg", lambda: call(307, 3, bytes(64), 0, 0))
""",
    jailed=True,
)

hostile(
    "lifts-its-limits",
    """
import resource
most = resource.RLIM_INFINITY
for name in ("AS", "CPU", "FSIZE", "NOFILE", "STACK", "CORE", "NPROC", "DATA"):
    which = getattr(resource, f"RLIMIT_{name}")
    attempt(name, lambda: resource.setrlimit(which, (most, most)) or "set")
    attempt(f"prlimit {name}", lambda: resource.prlimit(0, which, (most, most)))
    attempt(f"limit of the parent {name}", lambda: resource.prlimit(os.getppid(), which, (0, 0)))
attempt("nice", lambda: os.nice(-10))
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, -10) or "set")
attempt("affinity", lambda: os.sched_setaffinity(0, {0}) or "set")
attempt("scheduler", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)) or "set")
attempt("ioprio", lambda: call(251, 1, 0, 0))
attempt("dumpable", lambda: call(157, 4, 1, 0, 0, 0))
attempt("seccomp", lambda: call(317, 1, 0, None))
attempt("seccomp by prctl", lambda: call(157, 22, 2, 0, 0, 0))
attempt("name", lambda: call(157, 15, b"judge", 0, 0, 0))
attempt("subreaper", lambda: call(157, 36, 1, 0, 0, 0))
attempt("capset", lambda: call(126, struct.pack("Ii", 0x20080522, 0), b"\\xff" * 24))
attempt("setuid", lambda: os.setuid(0) or "set")
attempt("setgroups", lambda: os.setgroups([0]) or "set")
attempt("setsid", lambda: os.setsid())
attempt("session of another", lambda: os.setpgid(0, os.getppid()) or "set")
attempt("personality", lambda: call(135, 0x0040000))
attempt("timer", lambda: call(222, 0, None, bytes(8)))
attempt("settime", lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()) or "set")
attempt("hostname", lambda: socket.sethostname("x") or "set")
attempt("swapoff", lambda: call(168, b"/dev/sda"))
attempt("mlock", lambda: call(149, 0, 0))
attempt("modules", lambda: call(175, None, 0, b""))
attempt("reboot", lambda: call(169, 0, 0, 0, None))
""",
    jailed=True,
)

hostile(
    "takes-the-locks-of-its-process",
    """
import _imp
_imp.acquire_lock()
gc.unfreeze()
agent = next(x for x in gc.get_objects() if type(x).__name__ == "Agent")
agent.asking = None
class Stuck:
    def __reduce__(self): return os._exit, (0,)
    def __copy__(self): os._exit(0)
    def __deepcopy__(self, memo): os._exit(0)
def double(x): return Stuck()
""",
    status="error|failed",
)
