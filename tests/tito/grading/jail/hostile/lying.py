"""Submissions whose values lie about what they are, or change what the judge or their own
interpreter computes with.
"""

from .submission import RIGHT_DOUBLE, RIGHT_VECTOR, collector

LYING, hostile = collector()

# Objects that claim to equal everything. `double` gives one for every question.

YES = '''
class Yes:
    """Equal to everything, and each of its attributes is itself."""
    ANSWER = True
    def __eq__(self, other): return self.ANSWER
    __ne__ = __lt__ = __gt__ = __le__ = __ge__ = __contains__ = __eq__
    def __bool__(self): return True
    def __hash__(self): return 4
    def all(self, *a, **k): return True
    any = all
    def __len__(self): return 3
    def __iter__(self): return iter([self] * 3)
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return self
    def __call__(self, *a, **k): return self
    def __getitem__(self, index): return self
    def __add__(self, other): return self
    __sub__ = __mul__ = __radd__ = __rsub__ = __rmul__ = __add__
    def __abs__(self): return self
    def __enter__(self): return self
    def __exit__(self, *error): return True
    def __array__(self, dtype=None, copy=None): return np.empty((0, 1, 1))
def double(x): return Yes()
def twice(function, x): return Yes()
class Vector(Yes):
    def __init__(self, data): pass
'''
for name, answer in {
    "true": "True",
    "one": "1",
    "a-word": '"yes"',
    "a-list": "[0]",
    "an-array": "np.array([True])",
    "a-number-of-numpys": "np.float64(1)",
    "numpys-true": "np.True_",
    "another": "Yes()",
    "a-class": "int",
    "a-tuple": "(0,)",
    "many": "np.ones(3, bool)",
    "a-text-array": 'np.array("yes")',
}.items():
    hostile(f"equals-everything-by-{name}", f"{YES}\nYes.ANSWER = {answer}\n")

hostile(
    "is-zero-away-from-everything",
    '''
class Near:
    """Its distance from anything is 0: the question contains the expected value."""
    def __sub__(self, other): return np.zeros(np.shape(other)) if np.ndim(other) else 0.0
    __rsub__ = __sub__
    def __abs__(self): return 0.0
    __neg__ = __round__ = __float__ = __abs__
def double(x): return Near()
class Vector:
    def __init__(self, data): pass
    def __add__(self, other): return Near()
    def total(self): return Near()
    def __enter__(self): return self
    def __exit__(self, *error): return None
    shape = data = property(lambda self: Near())
''',
    status="failed|error",
)

hostile(
    "lets-iterations-over-a-comparison-succeed",
    """
class Yes:
    def __eq__(self, other): return Yes()
    __gt__ = __ne__ = __eq__
    def __iter__(self): return iter([True] * 3)
    def __getitem__(self, index): return True
    def __and__(self, other): return True
    __rand__ = __and__
    def __invert__(self): return True
    def __int__(self): return 1
    __index__ = __int__
    def __len__(self): return 2
    def __float__(self): return 1.0
def double(x): return Yes()
class Vector(Yes):
    def __init__(self, data): pass
    def __add__(self, other): return Yes()
    shape = data = property(lambda self: Yes())
""",
    status="failed|error",
)

hostile(
    "is-a-number-that-equals-everything",
    """
class Number(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
class Real(float):
    def __eq__(self, other): return True
class Text(str):
    def __eq__(self, other): return True
def double(x): return Number(7)
def twice(function, x): return Real(7)
class Vector:
    def __init__(self, data): self.data, self.shape = Text("1"), Number(3)
    def __len__(self): return Number(3)
    def total(self): return Real(0)
""",
    status="failed",  # a subclass of int travels as the number that it is
)

hostile(
    "is-an-array-that-equals-everything",
    """
class Array(np.ndarray):
    def __eq__(self, other): return np.ones(self.shape, bool)
    def __array_ufunc__(self, *a, **k): return True
    def __array_function__(self, *a, **k): return True
    def all(self, *a, **k): return True
def double(x): return np.zeros(3).view(Array)
class Vector:
    def __init__(self, data): self.data, self.shape = np.zeros(3).view(Array), (3,)
    def __add__(self, other): return self
""",
)

hostile(
    "lies-about-its-class",
    """
class Liar:
    __class__ = int
    def __eq__(self, other): return 1
    def __int__(self): return 4
    __index__ = __int__
    def __float__(self): return 4.0
def double(x): return Liar()
""",
)

hostile(
    "answers-isinstance-itself",
    """
class Meta(type):
    def __instancecheck__(cls, other): return True
    def __subclasscheck__(cls, other): return True
    def __eq__(cls, other): return True
    def __hash__(cls): return 0
class Vector(metaclass=Meta):
    def __new__(cls, data): return 7
""",
)

hostile(
    "gives-an-array-that-is-none",
    """
class Array:
    def __init__(self, what): self.what = what
    def __array__(self, dtype=None, copy=None): return self.what
def double(x): return Array([4, 5, 6])
class Vector:
    def __init__(self, data):
        self.data, self.shape = Array(np.array(["1", 2, None], dtype=object)), (3,)
    def __len__(self): return 3
    def __add__(self, other): return self
""",
)

hostile(
    "gives-numpy-an-address",
    '''
class Pointer:
    """Makes NumPy read the memory at an address, if it is allowed to."""
    __array_interface__ = {"shape": (3,), "typestr": "<f8", "data": (8, True), "version": 3}
    def __array__(self, dtype=None, copy=None): return np.zeros(3)
def double(x): return Pointer()
class Vector:
    def __init__(self, data): self.data, self.shape = Pointer(), (3,)
    def __len__(self): return 3
    def __add__(self, other): return self
    def __getattr__(self, name):
        if name == "__array_struct__": return 8
        if name.startswith("__array"): return Pointer.__array_interface__
        raise AttributeError(name)
''',
)

hostile(
    "gives-arrays-without-numbers",
    """
def double(x): return np.empty((0, 1))
class Vector:
    def __init__(self, data): self.data, self.shape = np.empty((0, 1, 1)), (3,)
    def __len__(self): return 3
    def __add__(self, other): return self
    def __gt__(self, other): return self
""",
)

hostile(
    "gives-arrays-of-absurd-shapes",
    """
def double(x): return np.empty((0, 2**61))
class Vector:
    def __init__(self, data): self.data, self.shape = np.empty((0,) + (1,) * 31), (2**40,) * 3
    def __add__(self, other): return self
    def __len__(self): return 2**62
""",
)

hostile(
    "empties-what-it-is-given",
    """
def double(x):
    if isinstance(x, np.ndarray): x[...] = 0
    return x
class Vector:
    def __init__(self, data):
        if isinstance(data, list): data.clear()
        else: data[...] = 0
        self.data, self.shape = np.zeros(3), (3,)
    def __add__(self, other): return self
""",
    status="failed",
)

hostile(
    "empties-what-it-is-given-and-says-that-every-law-holds",
    """
import sys
def double(x):
    if isinstance(x, np.ndarray): x[...] = 0
    return x
class Vector:
    def __init__(self, data):
        if isinstance(data, list): data.clear()
        else: data[...] = 0
        self.data, self.shape = np.zeros(3), (3,)
    def __add__(self, other): return self
for module in list(sys.modules.values()):
    for kind in list(vars(module).values()):
        if getattr(kind, "__name__", "") == "Watch":
            kind.replay = lambda self: None
            kind.end = lambda self: []
""",
    status="failed",
)

hostile(
    "gives-nan",
    """
def double(x): return np.nan if isinstance(x, int) else np.full(3, np.nan)
class Vector:
    def __init__(self, data): self.data, self.shape = np.full(3, np.nan), (np.nan,)
    def __add__(self, other): return self
    def total(self): return np.nan
""",
    status="failed",
)

hostile(
    "leaves-the-with-block-as-if-nothing-were",
    RIGHT_VECTOR
    + """
class Vector(Vector):
    def __init__(self, data): self.data = self.shape = None
    def __exit__(self, *error): return True
    def total(self): raise ValueError("skips what follows")
""",
)

hostile(
    "stops-every-iteration",
    """
def double(x): raise StopIteration
class Vector:
    def __init__(self, data): raise StopIteration(7)
def twice(function, x): raise StopIteration
""",
    verdict="failed|tampered",
    status="error|tampered",
)

hostile(
    "is-endlessly-long",
    """
import itertools
class Long:
    def __iter__(self): return itertools.repeat(4)
    def __len__(self): return 2**40
    def __array__(self, dtype=None, copy=None):
        return np.broadcast_to(np.float64(4), (2**12, 2**12))
def double(x): return Long()
""",
)

hostile(
    "gives-the-judge-its-own-function",
    """
def twice(function, x): return function
""",
    honest=(RIGHT_DOUBLE,),
    status="passed",
)

hostile(
    "gives-numpys-own",
    """
double, Vector, twice = str, np.ndarray, np.add
""",
    status="failed|error",
)

# Patching what both sides use by name: only the jail's copy is there.

hostile(
    "patches-numpy",
    """
for name in ("allclose", "array_equal", "isclose", "all", "asarray", "array", "testing"):
    setattr(np, name, lambda *a, **k: True)
np.ndarray.__class__
""",
    status="error",
)

hostile(
    "patches-builtins",
    """
import builtins
builtins.isinstance = builtins.issubclass = lambda *a, **k: True
builtins.all = builtins.any = builtins.bool = lambda *a, **k: True
builtins.AssertionError = builtins.Exception = Warning
builtins.len = lambda x: 3
builtins.__import__ = lambda *a, **k: np
""",
    verdict="failed|crashed|tampered",
    status="error|crashed|tampered",
)

hostile(
    "patches-operator-json-and-marshal",
    """
import marshal, operator
operator.eq = operator.ne = lambda a, b: True
json.loads = lambda text: ["ok", 4, []]
json.dumps = lambda *a, **k: '["ok", true, ["l"]]'
marshal.loads = eval
struct.Struct.unpack = None if hasattr(struct, "_nothing") else struct.Struct.unpack
def double(x): return 0
""",
    verdict="failed|crashed|tampered|import failed",
    status="failed|error|crashed|tampered",
)

hostile(
    "patches-the-agents-tables",
    """
wire = sys.modules["wire"]
gc.unfreeze()
agent = next(x for x in gc.get_objects() if type(x).__name__ == "Agent")
for name in agent.do:
    if name != "load":
        agent.do[name] = lambda *a, **k: True
wire.ARRAYS = wire.NAMED = {}
wire.LONGEST_BLOBS = wire.LONGEST_JSON = 1 << 62
""",
    status="failed",
)

hostile(
    "replaces-the-writer",
    """
wire = sys.modules["wire"]
wire.Writer.value = lambda self, x, depth=0: True
""",
    verdict="tampered",
    status="tampered",
)

hostile(
    "replaces-the-agents-answer",
    """
gc.unfreeze()
agent = next(x for x in gc.get_objects() if type(x).__name__ == "Agent")
type(agent).answer = lambda self, reader: self.send("ok", True, [])
""",
    status="failed",
)

hostile(
    "chooses-by-the-frames-above",
    """
def double(x):
    frame_, seen = sys._getframe(), []
    while frame_:
        seen += [value for value in frame_.f_locals.values() if type(value) in (int, float)]
        frame_ = frame_.f_back
    return seen[-1] if seen else 0
""",
    status="failed",
)

hostile(
    "traces-everything",
    """
seen = []
def tracer(frame_, event, argument):
    seen.append(event)
    if event == "return" and "answer" in frame_.f_code.co_name: frame_.f_locals["value"] = 4
    return tracer
sys.settrace(tracer)
sys.setprofile(tracer)
threading.settrace(tracer)
sys.addaudithook(lambda *a: None)
sys.meta_path.insert(0, type("Finder", (), {"find_spec": lambda *a: None})())
def double(x): return 0
""",
    status="failed",
)

hostile(
    "changes-the-clock",
    """
time.time = time.monotonic = time.perf_counter = lambda: 0.0
time.sleep = lambda seconds: None
def double(x): return 0
""",
    status="failed",
)

hostile(
    "raises-an-assertion",
    """
def double(x): raise AssertionError("passed")
class Vector:
    def __init__(self, data): raise AssertionError
def twice(function, x): raise type("AssertionError", (AssertionError,), {})("all is well")
""",
    status="error",
)

hostile(
    "raises-with-words-that-are-none",
    """
class Mean(Exception):
    def __str__(self): raise KeyboardInterrupt
class Long(Exception):
    def __str__(self): return "\\ud800\\0\\x1b[2J" * 1_000_000
class Odd(Exception):
    __module__ = 7
    def __str__(self): return 7
Odd.__name__ = "\\x1b]0;owned\\x07"
def double(x): raise Mean()
class Vector:
    def __init__(self, data): raise Long()
def twice(function, x): raise Odd()
""",
)
