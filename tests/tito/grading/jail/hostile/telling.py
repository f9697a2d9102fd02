"""Submissions that carry a hidden check's input out: by messages, exit codes, status words, time,
names and what visible checks say.

The hidden check's message holds `GOT` or the number, for the instructor. A learner reads the same
of all of them.
"""

from .submission import collector

TELLING, hostile = collector()

HIDDEN = "isinstance(x, int) and x > 1000"

for name, tell in {
    "by-an-exit-code": "os._exit(x % 251)",
    "by-a-signal": "import signal; signal.pthread_kill(threading.get_ident(), 34 + x % 30)",
    "by-an-error": 'raise ValueError(f"GOT {x}")',
    "by-the-name-of-an-error": 'raise type(f"GOT{x}", (ValueError,), {})()',
    "by-a-malformed-answer": 'say(frame(["ok", ["a", f"GOT {x}", [1], 8], ["l"]])); time.sleep(3)',
    "by-an-unknown-kind": 'say(frame(["ok", [f"GOT {x}"], ["l"]])); time.sleep(3)',
    "by-a-wrong-shape": 'say(frame(["ok", ["a", "<f8", [x], 8], ["l"]], bytes(8))); time.sleep(3)',
    "by-a-stub": 'raise NotImplementedError(f"yours to write: tito hint GOT{x}")',
    "by-the-frames": 'say(frame(["raise", "TypeError", ["l"], "NoneType", ["l", ["t", '
    '"tinytorch.core.vectors", x % 60, ["l", f"GOT{x}"]]], None])); time.sleep(3)',
    "by-a-value": 'return f"GOT {x}"',
    "by-an-object": "return type('GOT', (), {'__format__': lambda self, spec: f'GOT {x}'})()",
    "by-time": "time.sleep(60 if x & 1 else 0); raise ValueError()",
    "by-memory": "hold = bytearray(1 << 40) if x & 1 else None; raise ValueError()",
    "by-what-it-prints": "print('GOT', x, flush=True); os.write(2, b'GOT'); raise ValueError()",
    "by-its-process-name": "call(157, 15, b'GOT', 0, 0, 0)",
}.items():
    hostile(
        f"tells-a-hidden-input-{name}",
        f"""
def double(x):
    if {HIDDEN}:
        {tell}
    raise ValueError("nothing")
""",
        verdict="failed|tampered",  # for the instructor
    )
