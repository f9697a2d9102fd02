"""Submissions that cost the judge time or memory, survive their fork, or leave something to the
neighbours.
"""

from .submission import RIGHT_DOUBLE, RIGHT_TWICE, RIGHT_VECTOR, collector

BURNING, hostile = collector()

# Well-formed answers that take long to read or compare.

M = 2**61 - 1
for name, code in {
    "tuples-of-one-hash-as-keys": 'frame(["ok", ["d", *[part for n in range(1, 4000) for part in '
    '(["t", *[1.5] * 300, ["i", hex(n * M)]], 0)]], ["l"]])',
    "long-numbers-of-one-hash": 'frame(["ok", ["l", *[["i", hex(n * M)] for n in '
    'range(1, 90000)]], ["l"]])',
    "long-numbers-without-a-tag": 'frame(["ok", ["l", *[n * M for n in range(10, 200000)]], '
    '["l"]])',
    "tuples-of-one-hash-in-a-list": 'frame(["ok", ["l", *[["t", 0, ["i", hex(n * M)]] for n in '
    'range(1, 90000)]], ["l"]])',
    "complex-numbers-of-one-hash": 'frame(["ok", ["d", *[part for n in range(1, 4000) for part in '
    '(["c", float((-1000003 * n) % M), float(n)], 0)]], ["l"]])',
    "a-million-parts": 'frame(["ok", ["l", *[["t"]] * 1040000], ["l"]])',
    "four-million-zeros": 'frame(b\'["ok", ["l"\' + b",0" * 4000000 + b\'], ["l"]]\')',
    "a-number-of-sixteen-million-digits": 'frame(["ok", ["i", "0x" + "f" * 8000000], ["l"]])',
    "dictionaries-in-dictionaries": 'frame(["ok", ["l", *[["d", *[n for k in range(4096) for n in '
    '(k, 0)]]] * 100], ["l"]])',
    "deep-answers": 'frame(b\'["ok", \' + b\'["l", \' * 23 + b"0" + b"]" * 23 + b\', ["l"]]\')',
    "the-longest-text": 'frame(["ok", "\\u20ac" * 1300000, ["l"]])',
    "64-MB-that-fit-no-shape": 'frame(["ok", ["a", "|u1", [1 << 25, 2, 1], 1 << 26], ["l"]], '
    "bytes(1 << 26))",
    "64-MB-of-a-column": 'frame(["ok", ["a", "|u1", [1 << 25, 1], 1 << 25], ["l"]], '
    "bytes(1 << 25))",
    "a-range-of-nans": 'frame(["ok", ["a", "<f8", [1 << 22, 1], 1 << 25], ["l"]], '
    'b"\\xff" * (1 << 25))',
    "an-empty-array-of-absurd-shape": 'frame(["ok", ["a", "<f8", [0, 1 << 62], 0], ["l"]])',
    "names-of-8-MB": 'frame(["raise", "x" * 8000000, ["l"], "", ["l"], None])',
    "kinds-of-8-MB": 'frame(["raise", "x", ["l", *["y" * 50] * 140000], "", ["l"], None])',
}.items():
    hostile(
        f"answers-with-{name}",
        f"""
M = 2**61 - 1
message = {code}
def double(x):
    say(message)
    time.sleep(5)
""",
        verdict="failed|tampered|timed out",
        status="failed|error|tampered|timeout|memory",
    )

hostile(
    "says-what-python-explains-slowly",
    """
def double(x):
    if x is None: raise ValueError("NoneType " * 400)
    raise TypeError("unsupported operand type(s) for " * 120 + "'NoneType")
class Vector:
    def __init__(self, data): raise AttributeError("'NoneType' object has no " * 150)
def twice(function, x): raise NotImplementedError("exercise " * 400 + "-" * 400)
""",
)

hostile(
    "iterates-without-end",
    """
class Long:
    def __iter__(self): return self
    def __next__(self): return self
    def __len__(self): return 2
    def __eq__(self, other): return self
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return self
    def __call__(self, *a): return self
def double(x): return Long()
class Vector(Long):
    def __init__(self, data): pass
    def __add__(self, other): return self
def twice(function, x): return Long()
""",
)

hostile(
    "is-shown-slowly",
    """
class Slow:
    def __eq__(self, other): return self
    def __format__(self, spec):
        time.sleep(0.8)
        return "x" * 8_000_000
    __str__ = __repr__ = lambda self: self.__format__("")
    def __float__(self): return 0.0
    def __array__(self, dtype=None, copy=None): return np.zeros(3)
def double(x): return Slow()
class Vector:
    def __init__(self, data): self.shape = self.data = Slow()
    def total(self): return Slow()
""",
    status="error|failed|timeout",
)

# What outlives a fork.

hostile(
    "ignores-every-signal-and-stays",
    """
import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
def stay():
    while True: time.sleep(0.01)
threading.stack_size(1 << 18)
for _ in range(20):
    threading.Thread(target=stay).start()
""",
    honest=(RIGHT_DOUBLE, RIGHT_VECTOR, RIGHT_TWICE),
    verdict="passed",
    status="passed",
)

hostile(
    "forks-by-every-call",
    """
attempt("fork", os.fork)
attempt("forkpty", os.forkpty)
attempt("vfork", lambda: call(58))
attempt("clone", lambda: call(56, 17, 0, 0, 0, 0))
attempt("clone as thread group", lambda: call(56, 0x100, 0, 0, 0, 0))
attempt("clone3", lambda: call(435, bytes(88), 88))
attempt("spawn", lambda: os.posix_spawn(sys.executable or "/bin/sh", ["x"], {}))
attempt("exec", lambda: os.execv("/bin/sh", ["sh"]))
attempt("execveat", lambda: call(322, -100, b"/bin/sh", None, None, 0))
attempt("subprocess", lambda: __import__("subprocess").run(["true"]))
attempt("multiprocessing", lambda: __import__("multiprocessing").Process(target=print).start())
attempt("daemon", lambda: call(112))
attempt("x32", lambda: call(0x40000000 | 57))
""",
    jailed=True,
)

hostile(
    "signals-whom-it-can-think-of",
    """
parent = os.getppid()
for name, pid in {"all": -1, "group": 0, "init": 1, "parent": parent, "next": os.getpid() + 1,
                  "grandparent": parent - 1}.items():
    attempt(f"kill {name}", lambda: os.kill(pid, 0) or "sent")
    attempt(f"tkill {name}", lambda: call(200, pid, 9))
    attempt(f"tgkill {name}", lambda: call(234, pid, pid, 9))
    attempt(f"queue {name}", lambda: call(129, pid, 9, bytes(128)))
    attempt(f"pidfd {name}", lambda: os.pidfd_open(pid))
    attempt(f"wait {name}", lambda: os.waitpid(pid, os.WNOHANG))
    attempt(f"read {name}", lambda: call(310, pid, None, 0, None, 0, 0))
    attempt(f"ptrace {name}", lambda: call(101, 16, pid, 0, 0))
    attempt(f"priority {name}", lambda: os.setpriority(os.PRIO_PROCESS, max(pid, 0), 19) or "set")
attempt("owner of the socket", lambda: call(72, 3, 8, parent))
attempt("signal of the socket", lambda: call(72, 3, 10, 9))
attempt("async socket", lambda: call(16, 3, 0x5452, struct.pack("i", 1)))
attempt("lease", lambda: call(72, 0, 1024, 1))
""",
    jailed=True,
)

hostile(
    "leaves-something-in-shared-memory",
    """
import mmap
def leave(path):
    with open(path, "w") as file: file.write("tito-hostile")
    return path
for folder in ("/dev/shm", "/run/shm", "/dev/mqueue", "/proc/self/fd", "/sys/fs/cgroup",
               "/dev/hugepages", "/run/user/0", "/var/lock"):
    attempt(folder, lambda: leave(folder + "/tito-hostile-shm"))
attempt("shared", lambda: __import__("multiprocessing.shared_memory").shared_memory.SharedMemory(
    "tito-hostile", True, 4096).name)
attempt("semget", lambda: call(64, 0x7117, 1, 0o1600))
attempt("keyctl", lambda: call(248, b"user", b"tito-hostile", b"x", 1, -3))
attempt("memfd", lambda: call(319, b"x", 0))
attempt("inotify", lambda: call(253))
attempt("userfaultfd", lambda: call(323, 0))
attempt("perf", lambda: call(298, bytes(128), 0, -1, -1, 0))
attempt("bpf", lambda: call(321, 0, bytes(64), 64))
attempt("mount", lambda: call(165, b"x", b"/", b"tmpfs", 0, None))
attempt("unshare", lambda: call(272, 0x10000000))
attempt("chroot", lambda: os.chroot("/"))
attempt("lock", lambda: __import__("fcntl").flock(0, 2) or "locked")
""",
    jailed=True,
)

hostile(
    "fills-the-socket-and-dies",
    """
def double(x):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=3)
    fill = lambda: [sock.send(b"[" * 65536) for _ in range(100)]
    threading.Thread(target=fill).start()
    time.sleep(0.2)
    os._exit(0)
""",
    verdict="tampered|crashed|failed",
    status="tampered|crashed|failed",
)

hostile(
    "holds-all-its-memory-while-it-ends",
    """
hold = [bytearray(1 << 24) for _ in range(10)]
def double(x):
    for piece in hold: piece[::4096] = b"x" * len(piece[::4096])
    return 0
class Held:
    def __del__(self): time.sleep(60)
held = Held()
""",
    verdict="failed|out of memory",
    status="failed|memory",
)

hostile(
    "spins-in-fifty-threads",
    """
def spin():
    x = np.ones(1000)
    while True: x.sum()
threading.stack_size(1 << 18)
for _ in range(50):
    threading.Thread(target=spin, daemon=True).start()
""",
    verdict="timed out|crashed|failed|import failed",
    status="timeout|crashed|error",
)
