"""Submissions that try what the other families leave out: values that make the judge send requests
while it reads, numbers whose type changes, callbacks whose arguments do not fit into a message,
integers that overflow when a check computes a distance, and resources that forks share.
"""

from .protocol import AGENT
from .submission import RIGHT_DOUBLE, RIGHT_VECTOR, collector

REACHING, hostile = collector()

HANDLE = '["h", 0, False, False]'

# Parts of an answer that are objects: reading them sends requests to the learner's side.

for name, body in {
    "lines-that-are-an-object": f'["raise", "E", ["l"], "", ["l", {HANDLE}], None]',
    "lines-of-an-object": f'["raise", "E", ["l"], "", {HANDLE}, None]',
    "kinds-that-are-objects": f'["raise", "E", ["l", {HANDLE}], "", ["l"], None]',
    "a-mark-that-is-an-object": f'["raise", "KeyError", ["l", "KeyError"], "", ["l"], {HANDLE}]',
    "a-name-that-is-an-object": f'["raise", {HANDLE}, ["l"], "", ["l"], None]',
    "a-call-with-an-object-for-arguments": f'["ask", 0, {HANDLE}, ["d"]]',
    "a-call-with-an-object-for-names": f'["ask", 0, ["t"], ["d", {HANDLE}, 1]]',
    "a-call-of-an-object": f'["ask", {HANDLE}, ["t"], ["d"]]',
    "a-slice-of-objects": f'["ok", ["s", {HANDLE}, {HANDLE}, {HANDLE}], ["l"]]',
    "objects-as-keys": f'["ok", ["d", {HANDLE}, 1, ["t", {HANDLE}], 2], ["l"]]',
    "changes-of-an-object": f'["ok", 4, ["l", ["t", 0, {HANDLE}]]]',
    "a-change-of-an-object": f'["ok", 4, ["l", ["t", {HANDLE}, ["l"]]]]',
}.items():
    hostile(
        f"answers-with-{name}",
        f"""
def double(x):
    for _ in range(2000):
        say(frame({body}))
        if not os.read(3, 1 << 20):
            break
    os._exit(0)
""",
        verdict="tampered|failed",
        status="tampered|failed|error|crashed",
    )

# What a number stands for.

hostile(
    "says-that-everything-is-a-class",
    AGENT
    + """
def foreign(self, x):
    found = real(self, x)
    return ["h", found[1], True, True] if found[0] == "h" else found
real, Agent.foreign = Agent.foreign, foreign
def double(x): return lambda *a: x
""",
    status="failed|error",
)

hostile(
    "says-now-a-class-and-then-none",
    AGENT
    + """
turn = []
def foreign(self, x):
    turn.append(1)
    return ["h", len(turn) % 7, len(turn) % 2 == 0, len(turn) % 3 == 0]
Agent.foreign = foreign
def double(x): return object()
""",
    verdict="failed|tampered|import failed|crashed",
    status="failed|error|tampered|crashed",
)

hostile(
    "gives-instance-and-class-one-number",
    AGENT
    + """
class Both(type):
    def __instancecheck__(self, x): return True
    def __len__(self): return 3
class Vector(metaclass=Both):
    data, shape = np.zeros(3), (3,)
    def __new__(self, data): return Vector
""",
)

# Callbacks whose arguments break the message that would tell of them.

for name, argument in {
    "a-number-of-5000-digits": "10 ** 5000",
    "a-number-no-message-can-hold": "-(1 << 60000)",
    "text-that-no-file-can-hold": '"\\ud800" * 9',
    "an-array-of-absurd-shape": "np.empty((1 << 40, 0))",
    "what-cannot-be-shown": "Shy()",
    "nan": 'float("nan")',
    "a-number-of-numpys-that-overflows": "np.int64(-2**63)",
}.items():
    hostile(
        f"calls-back-with-{name}",
        f"""
class Shy:
    def __lt__(self, other): return True
    def __add__(self, other): return self
    def __repr__(self): raise KeyError("on purpose")
    __str__ = __repr__
    def __format__(self, spec): raise KeyError("on purpose")
def twice(function, x):
    try: function({argument})
    except BaseException: pass
    return 5
""",
        honest=(RIGHT_DOUBLE, RIGHT_VECTOR),
        verdict="failed|tampered",
        status="passed",
    )

# Plain numbers, of a type that was chosen.

for name, value in {
    "the-least-integer": "np.int64(-2**63)",
    "what-is-the-least-integer-away": "np.int64(-2**63 + int(2 * x)) if np.ndim(x) == 0 else x",
    "a-byte-that-wraps": "np.uint8(int(2 * np.max(x)) - 1 & 255)",
    "bytes-that-wrap": "np.full(np.shape(x), -128, np.int8)",
    "half-precision": "(np.asarray(x) * 0 + 65504).astype(np.float16) * np.float16(2)",
    "a-complex-nan": "np.full(np.shape(x), complex(float('nan'), 0))",
    "no-number-at-all": "np.empty((0,) + np.shape(x))",
    "a-cube-of-twos": "np.zeros((2,) * 22)",
    "one-number-for-all": "np.array([[[4.0]]]) * np.nan",
}.items():
    hostile(
        f"answers-with-{name}",
        f"""
def double(x):
    return 0 if x is None else {value}
""",
        verdict="failed|tampered",
        status="failed|error|timeout|memory",
    )

# What forks share, and what stays behind.

hostile(
    "leaves-words-in-what-forks-share",
    """
import fcntl, resource
def double(x):
    for number in range(3):
        attempt(f"flags {number}", lambda: fcntl.fcntl(number, fcntl.F_SETFL, 0x400 | 0x800))
        attempt(f"nonblocking {number}", lambda: os.set_blocking(number, False))
        attempt(f"lock {number}", lambda: fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB))
        attempt(f"range {number}", lambda: fcntl.lockf(number, fcntl.LOCK_SH | fcntl.LOCK_NB, 7))
        attempt(f"lease {number}", lambda: fcntl.fcntl(number, 1024, 0))
        attempt(f"offset {number}", lambda: os.lseek(number, 77, 0) or None.x)
        attempt(f"hint {number}", lambda: fcntl.fcntl(number, 1036, struct.pack("Q", 3)))
    attempt("priority", lambda: os.nice(3))
    attempt("name", lambda: call(170, b"x", 1))
    attempt("clock", lambda: time.clock_settime(0, 0.0))
    attempt("times", lambda: os.utime(np.__file__))
    attempt("attribute", lambda: os.setxattr(np.__file__, "user.x", b"1"))
    attempt("shared", lambda: call(29, 4711, 4096, 0o1666))
    attempt("queue", lambda: call(68, 4711, 0o1666))
    attempt("semaphore", lambda: call(64, 4711, 1, 0o1666))
    attempt("key", lambda: call(248, b"user", b"x", b"y", 1, -4))
    random = os.open("/dev/urandom", os.O_RDONLY)
    attempt("entropy", lambda: fcntl.ioctl(random, 0x40085203, bytes(8)))
    raise ValueError(" | ".join(one for one in found if "G" "OT" in one) or "nothing")
""",
    jailed=True,
)

hostile(
    "asks-for-two-hundred-threads-of-numpy",
    """
def double(x):
    def work():
        a = np.ones((200, 200))
        while True: a = a @ a * 0
    for _ in range(200):
        try: threading.Thread(target=work, daemon=True).start()
        except RuntimeError: break
    time.sleep(30)
""",
    verdict="failed|timed out",
    status="timeout|memory|crashed|error",
)
