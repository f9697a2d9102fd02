"""Submissions that end, stop or hang their process, or take others with them."""

from .submission import RIGHT_DOUBLE, RIGHT_TWICE, RIGHT_VECTOR, collector

LEAVING, hostile = collector()

# Ends of the process.

for name, code in {
    "exits-with-0": "os._exit(0)",
    "exits-with-77": "os._exit(77)",
    "aborts": "os.abort()",
    "reads-address-0": "ctypes.string_at(0)",
    "kills-itself": "signal.pthread_kill(threading.get_ident(), signal.SIGKILL)",
    "sends-itself-a-signal-without-a-name": "signal.pthread_kill(threading.get_ident(), 35)",
    "sets-an-alarm": "signal.setitimer(signal.ITIMER_REAL, 0.01); time.sleep(60)",
    "closes-the-socket": "os.close(3); time.sleep(60)",
    "closes-every-descriptor": "os.closerange(0, 64); time.sleep(60)",
    "puts-another-file-on-the-socket": "os.close(3); os.dup(0); time.sleep(60)",
}.items():
    hostile(f"{name}-on-import", f"import signal\n{code}\n", verdict="crashed", status="crashed")

hostile(
    "exits-in-a-call",
    """
def twice(function, x):
    os._exit(0)
""",
    honest=(RIGHT_DOUBLE, RIGHT_VECTOR),
    status="passed",
)

hostile(
    "aborts-in-every-call",
    """
def double(x): os.abort()
class Vector:
    def __init__(self, data): os._exit(0)
def twice(function, x): ctypes.string_at(0)
""",
    verdict="crashed",
    status="crashed",
)

hostile(
    "overflows-the-c-stack",
    """
class Deep:
    def __getattr__(self, name): return getattr(self, name)
sys.setrecursionlimit(10**9)
Deep().x
""",
    verdict="crashed|out of memory|timed out",
    status="crashed|memory|timeout",
)

# Exceptions that are not Exceptions, and promises for the end.

for name, kind in {
    "system-exit": "SystemExit(0)",
    "keyboard-interrupt": "KeyboardInterrupt()",
    "generator-exit": "GeneratorExit()",
    "stop-async-iteration": "StopAsyncIteration()",
    "an-exception-of-its-own": 'type("Stop", (BaseException,), {})()',
    "a-group": 'ExceptionGroup("many", [AssertionError(), ValueError()])',
    "out-of-time": 'type("OutOfTime", (BaseException,), {})()',
    "memory-error": "MemoryError()",
    "timeout": "TimeoutError()",
    "broken-pipe": "BrokenPipeError()",
}.items():
    hostile(
        f"raises-{name}",
        f"""
def double(x): raise {kind}
""",
        status="memory" if name == "memory-error" else "error",
    )
    hostile(
        f"raises-{name}-on-import",
        f"raise {kind}",
        verdict="out of memory" if name == "memory-error" else "import failed",
        status="memory" if name == "memory-error" else "error",
    )

hostile(
    "waits-for-the-end",
    """
import atexit
atexit.register(lambda: say(frame(["ok", True, ["l"]])))
threading.Thread(target=lambda: (threading.main_thread().join(),
    say(frame(["ok", True, ["l"]])))).start()
class AtEnd:
    def __del__(self): say(frame(["ok", True, ["l"]]))
at_end = AtEnd()
def double(x): sys.exit(0)
""",
)

# Endless work.

hostile("never-ends-its-import", "while True: pass", verdict="timed out", status="timeout")
hostile("sleeps-in-its-import", "time.sleep(3600)", verdict="timed out", status="timeout")
hostile(
    "computes-what-nothing-interrupts",
    "10 ** 10 ** 10",
    verdict="timed out|out of memory",
    status="timeout|memory",
)
hostile(
    "stops-itself",
    "import signal\nsignal.raise_signal(signal.SIGSTOP)",
    verdict="timed out",
    status="timeout",
)
hostile(
    "ignores-every-signal",
    """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True: time.sleep(1)
""",
    verdict="timed out",
    status="timeout",
)
hostile(
    "loops-in-many-threads",
    """
def spin():
    while True:
        np.ones(1 << 20).sum()
threading.stack_size(1 << 18)
for _ in range(20):
    try:
        threading.Thread(target=spin).start()
    except RuntimeError:
        pass
spin()
""",
    verdict="timed out|out of memory",
    status="timeout|memory",
)
hostile(
    "loops-in-what-it-solved-last",
    """
def twice(function, x):
    while True: time.sleep(0.01)
""",
    honest=(RIGHT_DOUBLE, RIGHT_VECTOR),
    status="passed",
)
hostile(
    "goes-on-in-a-thread-after-the-call",
    """
def forever():
    while True: time.sleep(0.001)
def twice(function, x):
    threading.stack_size(1 << 18)
    for _ in range(50):
        try:
            threading.Thread(target=forever).start()
        except RuntimeError:
            pass
    return function(function(x))
""",
    honest=(RIGHT_DOUBLE, RIGHT_VECTOR, RIGHT_TWICE),
    verdict="passed",
    status="passed",
)

hostile(
    "recurses",
    """
def double(x): return double(x)
class Vector:
    def __init__(self, data): self.__init__(data)
""",
)

hostile(
    "recurses-through-the-judge",
    """
def twice(function, x):
    sys.setrecursionlimit(10**6)
    return twice(lambda y: function(y), x)
""",
    honest=(RIGHT_DOUBLE,),
    status="passed",
    verdict="failed",
)

# Others' processes. Signal 0 asks whether one might; that is enough.

hostile(
    "signals-other-processes",
    """
import signal
libc = ctypes.CDLL(None, use_errno=True)
attempt("kill parent", lambda: os.kill(os.getppid(), 0))
attempt("kill everybody", lambda: os.kill(-1, 0))
attempt("kill group", lambda: os.killpg(0, 0))
attempt("kill 1", lambda: os.kill(1, 0))
attempt("tgkill parent", lambda: call(234, os.getppid(), os.getppid(), 0))
attempt("tkill parent", lambda: call(200, os.getppid(), 0))
attempt("rt_sigqueueinfo", lambda: call(129, os.getppid(), 0, bytes(128)))
attempt("pidfd", lambda: signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 0))
attempt("owner of a descriptor", lambda: call(72, 3, 8, os.getppid()))
attempt("owner by ioctl", lambda: call(16, 3, 0x8901, struct.pack("i", os.getppid())))
attempt("signal when the parent ends", lambda: call(157, 1, 0, 0, 0, 0))
""",
    jailed=True,
)

hostile(
    "makes-children",
    """
import multiprocessing, subprocess
def child():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(3600)
        os._exit(0)
attempt("fork", child)
attempt("vfork", lambda: call(58))
attempt("clone", lambda: call(56, 17, 0, 0, 0, 0))
attempt("clone into a namespace", lambda: call(56, 0x10000000 | 17, 0, 0, 0, 0))
attempt("clone3", lambda: call(435, struct.pack("11Q", 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0), 88))
attempt("subprocess", lambda: subprocess.Popen(["/bin/sleep", "3600"]))
attempt("posix_spawn", lambda: os.posix_spawn("/bin/sleep", ["sleep", "3600"], {}))
attempt("system", lambda: ctypes.CDLL(None).system(b"sleep 3600 &") and None.x)
attempt("popen", lambda: os.popen("sleep 3600"))
attempt("exec", lambda: os.execv("/bin/sleep", ["sleep", "3600"]))
attempt("execveat", lambda: call(322, -100, b"/bin/sleep", None, None, 0))
attempt("multiprocessing",
    lambda: multiprocessing.get_context("fork").Process(target=child).start())
attempt("forkpty", lambda: os.forkpty())
attempt("daemon", lambda: call(56, 0x00000100 | 0x00000200 | 0x00000800 | 0x8000 | 17, 0, 0, 0, 0))
""",
    jailed=True,
)
