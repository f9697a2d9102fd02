"""Submissions that know the protocol: they rewrite the agent of their fork, reuse and invent
numbers of handles, forge replies and lists of what was changed, answer late, twice or in part.
"""

from .submission import RIGHT_DOUBLE, RIGHT_VECTOR, collector

PROTOCOL, hostile = collector()

AGENT = """
gc.unfreeze()
wire = sys.modules["wire"]
agent = next(x for x in gc.get_objects() if type(x).__name__ == "Agent")
Agent = type(agent)
"""

# Handles: of others, of nothing, of two things at once.

for name, handle in {
    "of-the-class-itself": '["h", 1, True, True]',
    "of-the-function-itself": '["h", 0, False, True]',
    "that-nobody-gave": '["h", 4711, False, False]',
    "as-large-as-a-word": f'["h", {2**63 - 1}, False, False]',
    "that-is-true": '["h", True, False, False]',
    "that-is-a-float": '["h", 1.0, False, False]',
    "that-claims-to-be-a-class": '["h", 900, True, False]',
    "with-too-many-words": '["h", 0, False, False, True]',
}.items():
    hostile(
        f"answers-with-a-handle-{name}",
        AGENT
        + f"""
def answer(self, reader):
    _, name, arguments, options = reader.body
    if name == "load":
        return load(self, reader)
    say(frame(["ok", {handle}, ["l"]]))
load, Agent.answer = Agent.answer, answer
""",
        verdict="failed|tampered",
        status="failed|error|tampered",
    )

hostile(
    "gives-every-object-the-same-number",
    AGENT
    + """
class One(dict):
    def get(self, key, default=None): return 0
agent.numbers = One()
def foreign(self, x):
    self.objects[:] = [x]
    return ["h", 0, isinstance(x, type), callable(x)]
Agent.foreign = foreign
""",
    verdict="failed|tampered|crashed",
    status="failed|error|tampered|crashed",
)

hostile(
    "swaps-what-stands-behind-a-number",
    AGENT
    + """
class Yes:
    def __eq__(self, other): return self
    __ne__ = __lt__ = __gt__ = __sub__ = __add__ = __eq__
    def __abs__(self): return self
    def all(self): return True
    def __array__(self, dtype=None, copy=None): return np.zeros(3)
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return self
    def __call__(self, *a, **k): return self
class Swapped(list):
    def __getitem__(self, index): return yes
yes = Yes()
agent.objects = Swapped()
""",
)

# Lists of what was changed.

CHANGES = {
    "that-is-a-handle": '["h", 7, False, False]',
    "that-is-a-dictionary": '["d", 0, 1]',
    "that-is-a-text": '"01"',
    "that-is-an-array": '["a", "<f8", [1, 2], 16]',
    "of-numbers-that-are-true": '["l", ["t", True, ["l"]]]',
    "of-a-slice": '["l", ["t", ["s", None, None, None], ["l"]]]',
    "of-the-list-of-all-arguments": '["l", ["t", 0, ["l", 4, 4]]]',
    "of-the-options": '["l", ["t", -1, ["d"]]]',
    "of-a-number-of-numpys": '["l", ["t", ["n", "<i8", 8], ["l", 4]]]',
    "ten-thousand-times": '["l", *[["t", 0, ["l", 4]]] * 10000]',
}
for name, changed in CHANGES.items():
    hostile(
        f"forges-a-list-of-changes-{name}",
        f"""
def double(x):
    say(frame(["ok", 4, {changed}], bytes(16 if "<f8" in {changed!r} else
        8 if "<i8" in {changed!r} else 0)))
    time.sleep(0.2)
    return 4
""",
        verdict="tampered|failed" if "of-the-list" in name or "times" in name else "tampered",
        status="tampered|failed" if "of-the-list" in name or "times" in name else "tampered",
    )

hostile(
    "writes-zeros-into-what-is-expected",
    AGENT
    + """
def answer(self, reader):
    _, name, arguments, options = reader.body
    if name == "load":
        return load(self, reader)
    given = reader.value(arguments)
    zeros = [np.zeros_like(x) for x in reader.mutable if isinstance(x, np.ndarray)]
    numbers = [n for n, x in enumerate(reader.mutable) if isinstance(x, np.ndarray)]
    self.send("ok", zeros[0] if zeros else 0, list(zip(numbers, zeros)))
load, Agent.answer = Agent.answer, answer
""",
    verdict="failed|tampered",
    status="failed|error|tampered",
)

hostile(
    "says-that-nothing-was-changed",
    AGENT
    + """
def answer(self, reader):
    reader.__class__ = type("Reader", (type(reader),), {"mutable": property(lambda self: [],
        lambda self, x: None)})
    return real(self, reader)
real, Agent.answer = Agent.answer, answer
def double(x):
    if isinstance(x, np.ndarray): x[...] = 0
    return x
""",
    verdict="failed|tampered|crashed",
    status="failed|error|tampered|crashed",
)

# Replies of the wrong kind, or at the wrong time.

for name, body in {
    "stop": '["stop"]',
    "do": '["do", "call", ["l"], ["d"]]',
    "ask-itself": '["ask", 0, ["t", ["f", 0]], ["d"]]',
    "ask-with-names-that-are-numbers": '["ask", 0, ["t"], ["d", 1, 2]]',
    "raise-with-the-mark-of-another": '["raise", "AssertionError", ["l"], "", ["l"], 0]',
    "raise-with-a-mark-that-is-true": '["raise", "ValueError", ["l", "ValueError"], "", ["l"], '
    "True]",
    "raise-undecided": '["raise", "Undecided", ["l", "Exception"], "", ["l"], None]',
    "raise-a-stop-of-the-judges": '["raise", "OutOfTime", ["l", "Stop", "BaseException"], "", '
    '["l"], None]',
    "raise-a-stop-of-an-iteration": '["raise", "StopIteration", ["l", "StopIteration"], "", '
    '["l"], None]',
    "raise-a-keyboard-interrupt": '["raise", "KeyboardInterrupt", ["l", "KeyboardInterrupt"], "", '
    '["l"], None]',
    "raise-with-a-million-frames": '["raise", "ValueError", ["l", "ValueError"], "", ["l", '
    '*[["t", "tinytorch.core.vectors", 2**62, ["l", "x" * 90]]] * 20000], None]',
    "raise-lines-that-do-not-exist": '["raise", "ValueError", ["l", "ValueError"], "NoneType", '
    '["l", ["t", "tinytorch.core.vectors", -7, ["l", "None", 5]]], None]',
    "raise-a-group": '["raise", "ExceptionGroup", ["l", "ExceptionGroup"], "", ["l"], None]',
    "raise-an-error-that-wants-five": '["raise", "UnicodeDecodeError", ["l", '
    '"UnicodeDecodeError"], "", ["l"], None]',
    "ok-in-utf-16": 'json.dumps(["ok", 5, ["l"]]).encode("utf-16")',
    "ok-with-nan": 'b\'["ok", NaN, ["l"]]\'',
    "ok-twice-in-one": 'b\'["ok", 5, ["l"]] ["ok", 4, ["l"]]\'',
    "ok-with-a-bomb-of-a-number": 'b\'["ok", 1e999999, ["l"]]\'',
    "ok-with-the-class-object": '["ok", ["g", "builtins.object"], ["l"]]',
    "ok-with-numpys-equal": '["ok", ["g", "numpy.equal"], ["l"]]',
}.items():
    hostile(
        f"answers-{name}",
        f"""
def double(x):
    say(frame({body}))
    time.sleep(0.2)
    os._exit(0)
""",
        verdict="failed|tampered|crashed",
        status="failed|error|tampered|crashed|timeout",
    )

hostile(
    "answers-late-and-then-twice",
    """
def double(x):
    def later():
        time.sleep(0.05)
        say(frame(["ok", 4, ["l"]]))
    threading.Thread(target=later, daemon=True).start()
    return 0
class Vector:
    def __init__(self, data):
        threading.Thread(target=lambda: (time.sleep(0.01), say(frame(["ok", (3,), ["l"]]))),
            daemon=True).start()
    shape, data = (), np.zeros(3)
    def __len__(self): return 0
""",
    verdict="failed|tampered",
    status="failed|tampered",
)

hostile(
    "drips-a-long-answer",
    """
def double(x):
    message = frame(["ok", "x" * 60000 if x is None else 0, ["l"]], bytes(0))
    say(struct.pack(">II", 8 << 20, 64 << 20))
    while True:
        say(b" ")
""",
    verdict="failed|timed out",
    status="timeout",
)

hostile(
    "leaves-half-an-answer-and-dies",
    """
def double(x):
    say(frame(["ok", 4, ["l"]])[:-3])
    os._exit(0)
""",
    verdict="failed|crashed",
    status="crashed",
)

hostile(
    "asks-for-the-judges-function-after-it-returned",
    """
kept = []
def twice(function, x):
    kept.append(function)
    return 5
class Vector:
    def __init__(self, data):
        for n in range(3):
            try: say(frame(["ask", n, ["t", 3], ["d"]]))
            except OSError: pass
""",
    honest=(RIGHT_DOUBLE,),
    verdict="tampered",
    status="passed",
)

hostile(
    "calls-back-with-an-object-that-equals-all",
    """
class Yes(int):
    def __eq__(self, other): return True
    __lt__ = __gt__ = __ne__ = __eq__
    __hash__ = int.__hash__
    def __add__(self, other): return self
class Odd:
    def __lt__(self, other): return [True]
    def __add__(self, other): return 4
def twice(function, x):
    for each in (Yes(3), Odd(), Yes(4)):
        try: function(each)
        except BaseException: pass
    return 5
""",
    honest=(RIGHT_DOUBLE, RIGHT_VECTOR),
    status="passed",
)

hostile(
    "nests-calls-back-without-end",
    AGENT
    + """
def twice(function, x):
    for _ in range(100000):
        say(frame(["ask", 0, ["t", 3], ["d"]]))
    return 5
""",
    honest=(RIGHT_DOUBLE, RIGHT_VECTOR),
    verdict="tampered|failed",
    status="passed",
)

hostile(
    "answers-questions-about-kinds",
    AGENT
    + """
agent.do["isinstance"] = agent.do["issubclass"] = lambda *a: True
agent.do["len"] = lambda x: 3
agent.do["array"] = lambda x: np.zeros(3)
agent.do["float"] = agent.do["int"] = lambda x: 0
for name in ("eq", "ne", "lt", "gt", "le", "ge", "sub", "abs"):
    agent.do[name] = lambda *a: agent
def double(x): return agent
class Vector:
    def __init__(self, data): self.shape = self.data = agent
    def __add__(self, other): return self
    def __enter__(self): return self
    def __exit__(self, *e): return None
    def total(self): return agent
    def __gt__(self, other): return self
""",
    status="failed|error",
)
