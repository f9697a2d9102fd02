"""Submissions that search for secrets: the course, other submissions, the environment, the judge's
memory.

They know in advance where everything lies: @COURSE@ and @CLASS@ become the true paths. What they
find they tell.
"""

from .submission import collector

SNOOPING, hostile = collector()

hostile(
    "opens-what-is-not-its-own",
    """
import io, pathlib
targets = ["@COURSE@/modules/source/01_vectors/vectors_dev.py", "@COURSE@/tito.toml",
           "@COURSE@/tinytorch/__init__.py", "@COURSE@", "@CLASS@", "@CLASS@/zoe",
           "@CLASS@/zoe/vectors_dev.py", "@BOOK@", os.path.expanduser("~"), "/root", "/home",
           "/etc/passwd", "/etc/shadow", "/etc/hostname", "/tmp", "/var/tmp", "/run",
           "/proc", "/proc/self/environ", "/proc/self/maps", "/proc/self/mem", "/proc/self/fd",
           "/proc/self/cwd", "/proc/self/root/etc/passwd", "/proc/1/environ",
           f"/proc/{os.getppid()}/environ", f"/proc/{os.getppid()}/mem",
           f"/proc/{os.getppid()}/root", f"/proc/{os.getppid()}/cmdline",
           f"/proc/{os.getppid()}/cwd",
           "/proc/self/task", "/proc/mounts", "/proc/net/unix", "/proc/sys/kernel/random/boot_id",
           "/sys", "/dev", "/dev/mem", "/dev/kmsg", "/dev/shm", "/dev/tty", "/dev/zero",
           "/dev/fuse", "/dev/ptmx"]
for number, path in enumerate(targets):
    attempt(f"open {number}", lambda: open(path, "rb").read(100))
    attempt(f"listdir {number}", lambda: os.listdir(path))
    attempt(f"os.open {number}", lambda: os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 100))
    attempt(f"write {number}", lambda: os.open(path, os.O_WRONLY))
    attempt(f"path {number}", lambda: pathlib.Path(path).read_bytes())
    attempt(f"libc {number}", lambda: ctypes.CDLL(None).fopen(path.encode(), b"r") or None.x)
found[:] = [one for one in found if "GOT" in one] or ["nothing of all that"]
""",
    jailed=True,
)

hostile(
    "opens-by-system-calls",
    """
path = b"@CLASS@/zoe/vectors_dev.py"
attempt("open", lambda: call(2, path, 0))
attempt("openat", lambda: call(257, -100, path, 0))
attempt("openat2", lambda: call(437, -100, path, struct.pack("QQQ", 0, 0, 0), 24))
attempt("creat", lambda: call(85, path, 0))
attempt("name_to_handle_at", lambda: call(303, -100, path, bytes(200), bytes(8), 0))
attempt("open_by_handle_at", lambda: call(304, -100, bytes(200), 0))
attempt("path then read", lambda: os.read(
    os.open(f"/proc/self/fd/{os.open(path, os.O_PATH)}", os.O_RDONLY), 100))
attempt("below a path", lambda: os.open("vectors_dev.py", os.O_RDONLY,
    dir_fd=os.open("@CLASS@/zoe", os.O_PATH)))
attempt("up from numpy", lambda: os.open("../../../../../../../../.." + path.decode(), os.O_RDONLY,
    dir_fd=os.open(os.path.dirname(np.__file__), os.O_RDONLY)))
attempt("up from here", lambda: open("../../../../../.." + path.decode()).read())
attempt("chdir", lambda: os.chdir("@CLASS@") or "there")
attempt("fchdir", lambda: os.fchdir(os.open("@CLASS@", os.O_PATH)) or "there")
attempt("chroot", lambda: os.chroot("@CLASS@") or "there")
attempt("pivot_root", lambda: call(155, b"/tmp", b"/tmp"))
attempt("mount", lambda: call(165, b"@CLASS@", b"/tmp", None, 4096, None))
attempt("umount", lambda: call(166, b"/proc", 2))
attempt("new mount", lambda: call(428, -100, b"@CLASS@", 1))
attempt("fsopen", lambda: call(430, b"proc", 0))
attempt("unshare", lambda: call(272, 0x10000000))
attempt("setns", lambda: call(308, 0, 0))
attempt("symlink", lambda: os.symlink("@CLASS@", "/tmp/tito-hostile-was-here"))
attempt("statfs", lambda: os.statvfs("@CLASS@"))
attempt("inotify", lambda: call(294, 0))
attempt("fanotify", lambda: call(300, 0, 0))
attempt("quotactl", lambda: call(179, 0, None, 0, None))
attempt("acct", lambda: call(163, None))
attempt("sendfile", lambda: call(40, 3, 0, None, 10))
attempt("splice", lambda: call(275, 0, None, 3, None, 10, 0))
attempt("execve", lambda: call(59, b"/bin/sh", None, None))
attempt("uselib", lambda: call(134, path))
attempt("io_uring", lambda: call(425, 8, bytes(120)))
attempt("aio", lambda: call(206, 1, bytes(8)))
""",
    jailed=True,
)

hostile(
    "reads-other-processes",
    """
parent = os.getppid()
attempt("ptrace parent", lambda: call(101, 16, parent, 0, 0))
attempt("seize", lambda: call(101, 0x4206, parent, 0, 0))
attempt("trace me", lambda: call(101, 0, 0, 0, 0))
attempt("process_vm_readv", lambda: call(310, parent, bytes(16), 1, bytes(16), 1, 0))
attempt("process_vm_writev", lambda: call(311, parent, bytes(16), 1, bytes(16), 1, 0))
attempt("process_madvise", lambda: call(440, 0, bytes(16), 1, 0, 0))
attempt("pidfd_open", lambda: call(434, parent, 0))
attempt("pidfd_getfd", lambda: call(438, 0, 3, 0))
attempt("kcmp", lambda: call(312, parent, os.getpid(), 0, 0, 0))
attempt("perf_event_open", lambda: call(298, bytes(128), 0, -1, -1, 0))
attempt("bpf", lambda: call(321, 0, bytes(72), 72))
attempt("userfaultfd", lambda: call(323, 0))
attempt("add_key", lambda: call(248, b"user", b"tito", b"x", 1, -3))
attempt("keyctl", lambda: call(250, 0, -3, 1))
attempt("request_key", lambda: call(249, b"user", b"tito", None, -3))
attempt("shmat", lambda: call(30, 0, None, 0))
attempt("semget", lambda: call(64, 1, 1, 0o1600))
attempt("prctl", lambda: call(157, 1, 0, 0, 0, 0))
attempt("prctl set ptracer", lambda: call(157, 0x59616D61, -1, 0, 0, 0))
attempt("landlock", lambda: call(444, None, 0, 1))
attempt("modify_ldt", lambda: call(154, 0, None, 0))
attempt("iopl", lambda: call(172, 3))
attempt("syslog", lambda: call(103, 3, bytes(100), 100))
attempt("clock_adjtime", lambda: call(305, 0, bytes(208)))
attempt("getcpu by 32 bits", lambda: call(0x40000000 + 39))
attempt("vhangup", lambda: call(153))
attempt("lookup_dcookie", lambda: call(212, 0, None, 0))
attempt("migrate_pages", lambda: call(256, parent, 0, None, None))
attempt("get_mempolicy", lambda: call(239, None, None, 0, None, 0))
attempt("pkey", lambda: call(330, 0, 0))
attempt("its clock", lambda: call(228, ctypes.c_int(~parent << 3 | 2), bytes(16)))
attempt("the clock of 1", lambda: time.clock_gettime(~1 << 3 | 2))
attempt("its robust list", lambda: call(274, parent, bytes(8), bytes(8)))
attempt("its processors", lambda: os.sched_getaffinity(parent))
attempt("its limits", lambda: __import__("resource").prlimit(parent, 7))
attempt("threads of the machine", lambda: call(99, bytes(200)))
attempt("a barrier for all", lambda: call(324, 1, 0, 0))
attempt("a file of a thread", lambda: call(56, 0x11F00, 0, bytes(4), 0, 0))
for name, given in {"eventfd": (290,), "timerfd": (283,), "epoll": (291,), "mincore": (27,),
    "message queue": (68,), "mlock": (149,), "session of 1": (124, 1), "group of 1": (121, 1),
    "priority of 1": (140, 0, 1), "policy of 1": (145, 1), "disk of 1": (252, 1, 1),
    "a lock": (73, 0, 8)}.items():
    attempt(name, lambda: call(*given, 0, 0, 0))
attempt("rseq of another", lambda: call(310, 1, None, 0, None, 0, 0))
""",
    jailed=True,
)

hostile(
    "calls-as-a-32-bit-program",
    """
import mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
# mov eax, 20 (getpid, 32 bits); int 0x80; ret
code.write(b"\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3")
run = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
attempt("int 0x80", run)
""",
    verdict="crashed",
    status="crashed",
    jailed=True,
)

hostile(
    "looks-around-in-its-memory",
    """
gc.unfreeze()
seen, frame_ = [], sys._getframe()
while frame_:
    values = {k: v for k, v in frame_.f_globals.items() if type(v) in (str, list, dict, tuple)}
    seen += [repr(dict(frame_.f_locals))[:3000], repr(values)[:3000]]
    frame_ = frame_.f_back
seen += [repr(x)[:3000] for x in gc.get_objects()
         if type(x) in (dict, list, tuple) and "secret" in str(x)[:2000]]
classes = ("Agent", "Reader", "Writer", "socket", "Lessons", "Installed")
seen += [repr(getattr(x, "__dict__", x))[:2000] for x in gc.get_objects()
         if type(x).__name__ in classes]
seen += [repr(sys.argv), repr(sys.orig_argv), repr(dict(os.environ)), repr(sys.path), os.getcwd(),
    repr(sys.modules["__main__"].__dict__)[:3000]]
seen += [repr(getattr(sys, "_xoptions", "")), repr(sys.exc_info())]
for thread in threading.enumerate(): seen.append(repr(vars(thread))[:1000])
for name in list(sys.modules):
    if name.startswith(("tinytorch", "check", "tito", "test", "judge")):
        seen.append(f"{name}: {sorted(vars(sys.modules[name]))}")
everything = " ".join(seen)
attempt("words", lambda: [word for word in (
    "-says-", "test_double", "should be 4", "environment-", "another-", "another learner", "hidden",
) if word in everything] and everything[-300:] or None.x)
""",
)

hostile(
    "looks-for-the-paths-it-was-not-told",
    """
text = " ".join(repr(frame_.f_locals) for frame_ in sys._current_frames().values())
frame_ = sys._getframe()
while frame_:
    text += " " + repr(frame_.f_locals)
    frame_ = frame_.f_back
gc.unfreeze()
text += " ".join(repr(x) for x in gc.get_objects()
                 if type(x) in (dict, list, tuple) and len(x) < 50
                 and any(type(part) is str and part.startswith("/") for part in x))
paths = sorted({word.strip("'\\"[](){},:;") for word in text.split() if "/" in word})
def double(x): raise ValueError(" ".join(paths)[-3500:])
class Vector:
    def __init__(self, data): raise ValueError(" ".join(paths)[:3500])
""",
)

hostile(
    "searches-its-memory-byte-by-byte",
    """
# What the server once had may still lie in the memory that a fork inherits. Here the words stand
# backwards and in halves, so as not to find these.
gc.unfreeze()
def search():
    for start in sorted({id(x) & ~0xFFFF for x in gc.get_objects()}):
        piece = ctypes.string_at(start, 0x10000)
        for first, second in ((b"-syas", b"yzzyx"), (b"-srenrael", b"terces"),
            (b"-tnemnorivne", b"terces")):
            first, second, at = first[::-1], second[::-1], -1
            while (at := piece.find(second, at + 1)) >= 0:
                if piece[max(0, at - len(first)):at] == first:
                    return piece[max(0, at - 40):at + 60]
    return None.x
attempt("memory", search)
""",
    verdict="failed|crashed",
    status="error|crashed",
)

hostile(
    "asks-python-for-sources",
    """
import importlib, importlib.util, inspect, linecache, pkgutil, runpy
attempt("tito", lambda: importlib.import_module("tito.grading.jail.judge"))
attempt("course", lambda: importlib.import_module("course"))
attempt("small_course", lambda: importlib.import_module("small_course"))
attempt("later lesson", lambda: importlib.import_module("tinytorch.core.sums"))
attempt("nothing", lambda: importlib.import_module("tinytorch.core.nothing"))
attempt("pytest", lambda: importlib.import_module("pytest"))
attempt("sqlalchemy", lambda: importlib.import_module("sqlalchemy"))
attempt("source of double", lambda: inspect.getsource(double))
attempt("source of the lesson", lambda: inspect.getsource(sys.modules[__name__]))
attempt("source by the loader", lambda: __loader__.get_source(__name__))
attempt("data by the loader", lambda: __loader__.get_data("@CLASS@/zoe/vectors_dev.py"))
attempt("lines", lambda: linecache.getlines("@CLASS@/zoe/vectors_dev.py")[0])
attempt("run", lambda: runpy.run_path("@CLASS@/zoe/vectors_dev.py"))
attempt("spec", lambda: importlib.util.spec_from_file_location(
    "zoe", "@CLASS@/zoe/vectors_dev.py").loader.load_module())
sys.path[:0] = ["@COURSE@", "@COURSE@/modules/source/01_vectors", "@CLASS@/zoe"]
importlib.invalidate_caches()
attempt("by sys.path", lambda: importlib.import_module("vectors_dev"))
attempt("walk", lambda: list(pkgutil.iter_modules(["@COURSE@", "@CLASS@/zoe"]))[0])
attempt("numpy reads", lambda: np.fromfile(
    "@CLASS@/zoe/vectors_dev.py", dtype="u1", count=100).tobytes())
attempt("numpy maps", lambda: bytes(np.memmap("@CLASS@/zoe/vectors_dev.py", mode="r")[:100]))
attempt("numpy loads", lambda: np.load("@BOOK@", allow_pickle=True))
attempt("numpy text", lambda: np.genfromtxt("@CLASS@/zoe/vectors_dev.py"))
attempt("sqlite", lambda: __import__("sqlite3").connect("@BOOK@").execute(
    "select * from sqlite_master").fetchall())
attempt("zip", lambda: __import__("zipimport").zipimporter("@CLASS@"))
attempt("glob", lambda: __import__("glob").glob("@CLASS@/*")[0])
attempt("walk folders", lambda: next(os.walk("@CLASS@")))
attempt("scandir", lambda: next(os.scandir("@CLASS@")))
attempt("load a library", lambda: ctypes.CDLL("@CLASS@/zoe/vectors_dev.py"))
""",
    jailed=True,
)

hostile(
    "waits-for-the-hidden-check",
    """
seen = []
class Finder:
    def find_spec(self, name, path=None, target=None):
        seen.append(name)
sys.meta_path.insert(0, Finder())
sys.addaudithook(lambda event, arguments:
                 seen.append(event) if event.startswith(("compile", "exec", "import")) else None)
def double(x):
    text = " ".join(map(str, seen))
    attempt("check", lambda: text if "-says-" in text or "test_" in text else None.x)
    raise ValueError(" | ".join(found))
""",
)

hostile(
    "remembers-earlier-checks",
    """
import builtins, tempfile
attempt("state of numpy", lambda: np.was_here)
attempt("state of builtins", lambda: builtins.was_here)
attempt("state of the agent", lambda: sys.modules["wire"].was_here)
attempt("environment", lambda: os.environ["WAS_HERE"])
attempt("file", lambda: open(tempfile.gettempdir() + "/was_here").read())
np.was_here = builtins.was_here = sys.modules["wire"].was_here = "another check was here"
os.environ["WAS_HERE"] = "another check was here"
sys.modules["was_here"] = np
""",
)

hostile(
    "meets-what-others-left",
    """
import builtins
attempt("numpy", lambda: np.was_here)
attempt("builtins", lambda: builtins.was_here)
attempt("allclose", lambda: np.allclose(1, 2) and "patched" or None.x)
attempt("modules", lambda: sys.modules["was_here"])
attempt("environment", lambda: os.environ["WAS_HERE"])
attempt("threads", lambda: threading.enumerate()[1])
attempt("signals", lambda: __import__("signal").getitimer(0)[1] or None.x)
attempt("hooks", lambda: [one for one in sys.meta_path if type(one).__name__ == "Finder"][0])
""",
)

hostile(
    "finds-its-environment-empty",
    """
usual = ("LC_ALL", "LC_CTYPE", "PATH", "HOME", "PWD", "SHLVL")
attempt("environment", lambda: [name for name in os.environ
                                if name not in usual and not name.endswith("_NUM_THREADS")][0])
attempt("by libc", lambda: ctypes.c_char_p.in_dll(ctypes.CDLL(None), "TITO_SECRET"))
def getenv(name):
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_char_p
    return libc.getenv(name)
attempt("getenv", lambda: getenv(b"TITO_SECRET") or None.x)
attempt("home", lambda: os.listdir(os.path.expanduser("~")))
attempt("user", lambda: __import__("pwd").getpwuid(os.getuid()))
attempt("login", lambda: os.getlogin())
""",
    jailed=True,
)
