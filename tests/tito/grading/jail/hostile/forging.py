"""Submissions that forge results: output, frames of the protocol, values that are none."""

from .submission import RIGHT_DOUBLE, RIGHT_VECTOR, collector

FORGING, hostile = collector()

# Output, which is not read.

hostile(
    "prints-a-verdict",
    """
passed = json.dumps({"ready": True, "verdict": "passed", "points": 11,
    "checks": [{"name": "double", "status": "passed", "points": 3}]})
print(passed, flush=True)
print(passed, file=sys.stderr, flush=True)
for number in range(3):
    os.write(number, passed.encode() + b"\\n")
def double(x): return passed
""",
    status="failed",
)

hostile(
    "returns-a-verdict",
    """
class CheckResult(dict):
    __getattr__ = dict.get
def double(x): return {"verdict": "passed", "status": "passed", "points": 3}
def twice(function, x): return CheckResult(status="passed", points=2)
""",
    status="failed",
)

# Frames that were not requested. Whichever answer the judge reads, it is wrong.

hostile(
    "answers-before-it-is-asked",
    """
say(frame(["ok", 4, ["l"]]) * 5)
""",
    verdict="tampered",
    status="tampered",
)

hostile(
    "answers-the-import-itself",
    """
say(frame(["ok", ["d", "double", ["g", "builtins.float"], "Vector", ["g", "builtins.list"],
    "twice", ["g", "builtins.max"]], ["l"]]))
time.sleep(0.2)
""",
    verdict="tampered|failed",
    status="tampered|failed|error",
)

hostile(
    "says-that-it-passed",
    """
def double(x):
    for body in (["passed"], ["done", "passed"], ["ok"], ["ok", True], {"status": "passed"},
                 "passed", None, True, []):
        say(frame(body))
    return 0
""",
    verdict="tampered",
    status="tampered",
)

hostile(
    "answers-from-a-thread",
    """
def talk():
    while True:
        say(frame(["ok", True, ["l"]]))
        time.sleep(0.001)
def double(x):
    threading.Thread(target=talk, daemon=True).start()
    time.sleep(0.05)
    return 0
""",
    verdict="tampered|failed",
    status="tampered|failed",
)

hostile(
    "sends-two-answers",
    """
def double(x):
    say(frame(["ok", 0, ["l"]]) * 2)
    time.sleep(0.05)
    return 0
""",
    verdict="tampered|failed",
    status="tampered|failed",
)

# Frames that are none.

for name, code in {
    "claims-4-GB-of-text": 'struct.pack(">II", 0xFFFFFFFF, 0)',
    "claims-4-GB-of-arrays": 'struct.pack(">II", 2, 0xFFFFFFFF) + b"[]"',
    "sends-an-empty-message": 'struct.pack(">II", 0, 0)',
    "sends-bytes": "os.urandom(1000)",
    "sends-no-utf-8": 'frame(b\'["ok", "\\xff\\xfe", ["l"]]\')',
    "nests-a-million-lists": 'frame(b"[" * 1000000 + b"]" * 1000000)',
    "nests-values": 'frame(b\'["ok", \' + b\'["t", \' * 5000 + b"0" + b"]" * 5000 + b\', ["l"]]\')',
    "sends-a-number-of-5000-digits": 'frame(b\'["ok", \' + b"9" * 5000 + b\', ["l"]]\')',
    "sends-an-unknown-kind": 'frame(["okay", 4, ["l"]])',
    "sends-a-json-object": 'frame(["ok", {"a": 4}, ["l"]])',
    "sends-an-unknown-tag": 'frame(["ok", ["pickle", "cos\\nsystem\\n"], ["l"]])',
    "sends-the-name-of-a-function": 'frame(["ok", ["g", "os.system"], ["l"]])',
    "sends-the-name-of-numpys-load": 'frame(["ok", ["g", "numpy.load"], ["l"]])',
    "sends-an-array-too-short": 'frame(["ok", ["a", "<f8", [3], 16], ["l"]], bytes(16))',
    "sends-an-array-longer-than-sent": 'frame(["ok", ["a", "<f8", [3], 24], ["l"]], bytes(8))',
    "sends-an-array-of-objects": 'frame(["ok", ["a", "|O", [1], 8], ["l"]], bytes(8))',
    "sends-an-array-of-records": 'frame(["ok", ["a", "V8", [1], 8], ["l"]], bytes(8))',
    "sends-negative-dimensions": 'frame(["ok", ["a", "<f8", [-1], 8], ["l"]], bytes(8))',
    "sends-dimensions-that-overflow": 'frame(["ok", ["a", "<f8", [2**62, 2**62, 4], 8], ["l"]], '
    "bytes(8))",
    "sends-a-length-that-is-true": 'frame(["ok", ["a", "|u1", [1], True], ["l"]], bytes(1))',
    "sends-a-length-that-is-a-float": 'frame(["ok", ["b", 1.0], ["l"]], bytes(1))',
    "sends-half-a-dictionary": 'frame(["ok", ["d", 1, 2, 3], ["l"]])',
    "sends-a-list-as-a-key": 'frame(["ok", ["d", ["l"], 2], ["l"]])',
    "sends-a-handle-without-number": 'frame(["ok", ["h", "0", False, False], ["l"]])',
    "sends-a-negative-handle": 'frame(["ok", ["h", -1, False, False], ["l"]])',
    "sends-a-function-it-never-got": 'frame(["ok", ["f", 0], ["l"]])',
    "asks-for-a-function-it-never-got": 'frame(["ask", 0, ["t"], ["d"]])',
    "asks-for-function-minus-one": 'frame(["ask", -1, ["t"], ["d"]])',
    "asks-with-no-arguments-at-all": 'frame(["ask", 0, 5, 5])',
    "changes-an-argument-it-never-got": 'frame(["ok", 4, ["l", ["t", 7, ["l"]]]])',
    "changes-arguments-that-are-none": 'frame(["ok", 4, 5])',
    "raises-nothing": 'frame(["raise"])',
    "raises-a-number": 'frame(["raise", 5, ["l", "ValueError"], "", ["l"], None])',
    "raises-with-frames-that-are-none": 'frame(["raise", "ValueError", ["l"], "", ["l", 5], None])',
}.items():
    hostile(
        name,
        f"""
def double(x):
    say({code})
    time.sleep(5)
""",
        verdict="tampered",
        status="tampered",
    )

hostile(
    "sends-a-list-that-becomes-another",
    """
def double(x):
    say(frame(["ok", 4, ["l", ["t", 0, ["d"]]]]))
    time.sleep(5)
""",
    verdict="tampered",
    status="tampered",
)

hostile(
    "sends-handles-that-do-not-exist",
    """
def double(x):
    say(frame(["ok", ["h", 99999, False, True], ["l"]]))
""",
    verdict="failed|tampered",
    status="failed|error|tampered",
)

hostile(
    "sends-bools-that-are-neither",
    """
def double(x):
    say(frame(["ok", ["a", "|b1", [3], 3], ["l"]], b"\\x02\\xff\\x07"))
""",
    verdict="failed|tampered",
    status="error|failed|tampered",
)

hostile(
    "sends-a-huge-number",
    """
def double(x):
    say(frame(["ok", ["i", "f" * 4_000_000], ["l"]]))
""",
    verdict="failed|tampered",
    status="error|failed|tampered",
)

hostile(
    "drips-one-byte-each-100-ms",
    """
for byte in frame(["ok", 4, ["l"]]) * 10:
    say(bytes([byte]))
    time.sleep(0.1)
""",
    verdict="timed out|tampered",
    status="timeout|tampered",
)

hostile(
    "begins-an-answer-and-waits",
    """
say(struct.pack(">II", 1000, 0) + b"[")
time.sleep(60)
""",
    verdict="timed out",
    status="timeout",
)

hostile(
    "sends-keys-that-collide",
    """
colliding = [part for n in range(1, 200_000) for part in (n * (2**61 - 1), 0)]
keys = json.dumps(["ok", ["d", *colliding], ["l"]]).encode()
say(frame(keys))
time.sleep(60)
""",
    verdict="tampered|timed out",
    status="tampered|timeout",
)

hostile(
    "sends-a-million-handles",
    """
handles = b",".join(b'["h",%d,0,0]' % n for n in range(400_000))
say(frame(b'["ok", ["t", ' + handles + b'], ["l"]]'))
time.sleep(60)
""",
    verdict="tampered|timed out",
    status="tampered|timeout",
)

hostile(
    "calls-back-for-ever",
    """
def twice(function, x):
    while True:
        try:
            function(3)
        except BaseException:
            pass
""",
    honest=(RIGHT_DOUBLE,),
    status="passed",
)

hostile(
    "calls-back-with-what-nobody-asked-for",
    """
def twice(function, x):
    for wrong in (11, "a", None, [], {}, object(), function):
        try:
            function(wrong)
        except BaseException:
            pass
    try:
        function(3), function(4)
    finally:
        return 5
""",
    honest=(RIGHT_DOUBLE, RIGHT_VECTOR),
    status="passed",
)

hostile(
    "swallows-what-the-judges-function-says",
    """
def twice(function, x):
    try:
        return function(function(x)) if function(50) else 0
    except BaseException:
        try:
            function(3), function(4)
        finally:
            return 5
""",
    honest=(RIGHT_VECTOR,),
    status="error",
)

hostile(
    "goes-on-with-an-old-error",
    """
def twice(function, x):
    for wrong in (11, 12):
        try:
            function(wrong)
        except BaseException as error:
            kept = error
    error = RuntimeError("not the judge's")
    error.__dict__["_raised_by_the_judge"] = 99
    raise error
""",
    honest=(RIGHT_DOUBLE,),
    status="passed",
)
