"""Pictures of values, to be compared later; and copies of arguments, for the laws of `laws.py`.

Like `laws.py`, it runs beside the code under test and imports nothing of tito.
"""

import contextlib
import copy
import functools
import random
import re
import sys
from collections.abc import Callable, Collection, Iterator
from numbers import Integral
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

BESIDE = "beside"  # name of the module of learner-side code, which may have arguments changed
LONGEST = 100  # characters of a value in a message
MOST_PARTS, MOST_NUMBERS, DEEPEST = 200, 10_000, 8  # of a picture
NEAR = 1e-4  # relative to the largest number: in another layout, sums are added in another order
PLAIN = (bool, int, float, complex, str, bytes, slice, type(...))

# What a docstring says of the type of a result: "returns  list of int", "returns  int8 array".
RETURNS = re.compile(
    r"^ *returns {2,}(?!.*\bor (?:an? |of a))(?:an? |(?:a )?new )?(?:"
    r"(?P<plain>(?:Python )?(?:int|float)|bool|str|dict|set"
    r"|(?:list|tuple)(?: of (?:(?:Python )?(?:int|float)|str)s?)?)"
    r"(?=[:.,;]|$| (?!or |n?d?array|Tensor|mask))|"
    r"(?P<dtype>bool|u?int\d*|float\d+) (?:nd)?array(?!s| or)|"
    r"(?P<kind>Tensor|ndarray)(?!\w| or))",
    re.M,
)
PARAGRAPH = re.compile(r"^( *)returns {2,}(.*(?:\n\1 +.*)*)", re.M)
SENTENCE = re.compile(r"[.;:](?:\s|$)| or ")
LIKE = re.compile(
    r"\bsame (shape and dtype|shape|dtype)(?! of)"
    r"|\b(shape and dtype|shape|dtype) of `?(\w+)\b`?(?![\[.'(])|\bthe (\w+)'s? (dtype)"
)

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Function = Callable[..., Any]


class Opaque(Exception):
    """A value of which it cannot be said what it holds: an iterator, or something large."""


def picture(x: Any, private: bool = True) -> Any:
    """What a value holds, in lists and tuples. Raises Opaque when that cannot be said.

    private  with the attributes whose names begin with an underscore, and the `creator`
    """
    return _Painter(private).part(x)


class _Painter:
    def __init__(self, private: bool) -> None:
        self.private, self.numbers, self.seen = private, 0, dict[int, int]()

    def part(self, x: Any, depth: int = 0) -> Any:
        kind = type(x)
        if x is None or kind in PLAIN:
            return x
        if depth > DEEPEST:
            return "..."
        if is_array(x):
            self.numbers += x.size
            if self.numbers > MOST_NUMBERS or x.dtype == object:
                raise Opaque
            return "array", x.dtype.str, x.shape, x.tobytes()
        if isinstance(x, (type, FunctionType, BuiltinFunctionType)) or kind.__name__ == "ufunc":
            name = getattr(x, "__qualname__", x.__name__)
            if home(x) in (BESIDE, "check", "__main__", "jailed_server") or "<" in name:
                raise Opaque
            return "named", name
        if kind.__module__ == "numpy" and hasattr(x, "itemsize"):
            return "number", str(getattr(x, "dtype", "dtype")), str(x)
        if state := state_of(x):
            return "generator", str(state)
        if id(x) in self.seen:
            return "again", self.seen[id(x)]
        self.seen[id(x)] = len(self.seen)
        if len(self.seen) > MOST_PARTS:
            raise Opaque
        return self.whole(x, depth + 1)

    def whole(self, x: Any, depth: int) -> Any:
        """A container or an object."""
        kind = type(x).__name__
        if type(x) in (list, tuple):
            return [kind, *(self.part(part, depth) for part in x)]
        if isinstance(x, (set, frozenset)):
            return [kind, *sorted(map(repr, x))]
        if isinstance(x, dict):
            return [kind, *((self.part(k, depth), self.part(v, depth)) for k, v in x.items())]
        names = attributes(x)
        if not names or hasattr(x, "__next__") or isinstance(x, ModuleType):
            raise Opaque
        parts = (
            (name, self.part(part, depth))
            for name, part in sorted(names.items())
            if self.private or name[0] != "_" and name != "creator"
        )
        return [f"object {kind}", *parts]


def attributes(x: Any) -> dict[str, Any]:
    """The attributes of an object, in slots or not."""
    found = {}
    kind: Any = type(x)
    for name, slot in _slots(kind):
        with contextlib.suppress(AttributeError):
            found[name] = slot.__get__(x)
    return found | getattr(x, "__dict__", {})


@functools.lru_cache(maxsize=1000)
def _slots(kind: type) -> list[tuple[str, Any]]:
    """The slots of a class: read without getattr, because a check may count what is read."""
    return [
        (name, slot)
        for parent in kind.__mro__
        for name, slot in vars(parent).items()
        if type(slot).__name__ == "member_descriptor"
    ]


def difference(a: Any, b: Any, where: str = "") -> tuple[str, Any, Any] | None:
    """(where, first, second) of what differs in two pictures of results, or None."""
    if type(a) is tuple and type(b) is tuple and a[:1] == b[:1] == ("array",):
        x, y = _array(a), _array(b)
        return None if a[1:3] == b[1:3] and _close(x, y) else (where, x, y)
    if type(a) is float and type(b) is float:
        return None if _close(a, b) else (where, a, b)
    if type(a) in (list, tuple) and type(a) is type(b) and len(a) == len(b):
        for n, (one, other) in enumerate(zip(a, b)):
            is_object = type(a) is list and type(a[0]) is str and a[0].startswith("object ")
            within = f"{where or ', in '}.{one[0]}" if is_object and n else where
            if found := difference(one, other, within):
                return found
        return None
    return None if type(a) is type(b) and a == b else (where, a, b)


def _close(a: Any, b: Any) -> bool:
    if type(a) is float:
        return a == b or a != a and b != b or abs(a - b) <= NEAR * max(abs(a), abs(b))
    np = sys.modules["numpy"]
    if a.dtype.kind not in "fc":
        return bool((a == b).all())
    with np.errstate(all="ignore"):
        most = np.abs(a[np.isfinite(a)]).max(initial=0)
        return bool(np.allclose(a, b, NEAR, NEAR * float(most), equal_nan=True))


def _array(parts: tuple[Any, ...]) -> Any:
    return sys.modules["numpy"].frombuffer(parts[3], parts[1]).reshape(parts[2])


# What a docstring promises of a result.


@functools.lru_cache(maxsize=1000)
def promised(doc: str) -> str:
    """The type that a docstring promises: "int", "list of str", "int64 array"; "" if it names none
    of those that `lacks` knows.
    """
    if not (found := RETURNS.search(doc)):
        return ""
    plain, dtype, kind = found.groups()
    return re.sub("(int|float|str)s$", r"\1", plain) if plain else kind or f"{dtype} array"


def lacks(promise: str, x: Any) -> bool:
    """Whether a value is not of the type that was promised. None is of each."""
    outer, _, inner = promise.partition(" of ")
    if x is None or not promise:
        return False
    if inner:
        kind = Integral if inner == "int" else ()  # among others, NumPy's integers will do
        parts = () if lacks(outer, x) else [part for part in x if not isinstance(part, kind)]
        return lacks(outer, x) or any(lacks(inner, part) for part in parts)
    if outer == "ndarray" and hasattr(x, "itemsize"):
        return False  # of no axes, NumPy's operations give numbers
    if outer in ("Tensor", "ndarray"):
        return all(kind.__name__ != outer for kind in type(x).__mro__)
    if outer.endswith(" array"):
        name = getattr(getattr(x, "dtype", None), "name", "")
        return not (name.startswith("int") if outer == "int array" else name == outer[:-6])
    if outer in ("int", "bool") or outer.startswith("Python "):
        return type(x).__name__ != outer.rpartition(" ")[2]
    kinds = {"list": list, "tuple": tuple, "dict": dict, "set": set, "str": str}
    return not isinstance(x, kinds.get(outer, (int, float)))


@functools.lru_cache(maxsize=1000)
def likened(doc: str, words: tuple[str, ...]) -> list[tuple[str, str]]:
    """The ("shape" or "dtype", argument) that the result has in common with an argument: "ndarray
    of the shape of `x`, of the dtype of `g`". words: the names of the arguments
    """
    text = " ".join(SENTENCE.split(found[2])[0].split()) if (found := PARAGRAPH.search(doc)) else ""
    pairs = []
    for match in LIKE.finditer(text):
        same, whats, word, owner, one = match.groups()
        named = word or owner or next((w for w in words if w != "self"), "")
        if named in words:
            pairs += [(what, named) for what in (whats or same or one).split(" and ")]
    return pairs


def unlike(what: str, x: Any, out: Any) -> bool:
    """Whether a result and an argument have different shapes or dtypes, where both are known; of
    dtypes, where both are of floats.
    """
    mine, theirs = getattr(out, what, None), getattr(x, what, None)
    if what == "dtype":
        return str(mine) != str(theirs) and all("float" in str(d) for d in (mine, theirs))
    return type(mine) is type(theirs) is tuple and mine != theirs


# Arguments.


def fresh(x: Any, array: Function = lambda x: x.copy(), inner: Collection[int] = ()) -> Any:
    """The arguments again: copies of what a call could change or use up.

    array  copies an array
    inner  ids of Tensors whose arrays are copied, too
    """
    made: dict[int, Any] = {}  # what was one object is one again

    def of(x: Any) -> Any:
        if id(x) not in made:
            made[id(x)] = again(x)
        return made[id(x)]

    def again(x: Any) -> Any:
        if is_array(x):
            return array(x)
        if state_of(x):
            return copy.deepcopy(x)
        if type(x) in (list, tuple):
            return type(x)(map(of, x))
        if type(x) is dict:
            return {key: of(part) for key, part in x.items()}
        if id(x) in inner and is_array(getattr(x, "data", None)) and not x.creator:
            x = copy.copy(x)
            x.data = of(x.data)
        return x

    return of(x)


def laid(x: Arguments) -> Any:
    """The same arguments with arrays in another memory layout; None where there is no array."""
    found = []

    def array(x: Any) -> Any:
        if x.size < 2:
            return x.copy()
        found.append(x)
        if sum(n > 1 for n in x.shape) > 1:
            return x.copy("F" if x.flags.c_contiguous else "C")
        return x.repeat(2, axis=-1)[..., ::2]

    out = fresh(x, array, inner={id(part) for part in x[0] if hasattr(part, "creator")})
    return out if found else None


def renewed(x: Any) -> Any:
    """A text or whole number that equals `x` and is another object: `is` for `==` is a mistake."""
    if type(x) is str:
        return (x + " ")[:-1]
    return int(str(x)) if type(x) is int and abs(x) < 1 << 60 else x


def copied(x: Any) -> Any:
    """What can change of an argument: a copy of an array, a list or a dict, with its contents."""
    if is_array(x):
        return x.copy()
    if type(x) in (list, tuple):
        return [copied(part) for part in x]
    return {key: copied(part) for key, part in x.items()} if type(x) is dict else x


def of_tensor(x: Any) -> Any:
    """The array of a Tensor; anything else as it is."""
    return x.data if hasattr(type(x), "creator") and is_array(getattr(x, "data", None)) else x


def same(old: Any, new: Any) -> bool:
    """Whether two copies hold the same."""
    if is_array(old):
        return (old.shape, old.tobytes()) == (new.shape, new.tobytes())
    if type(old) is list:
        return len(old) == len(new) and all(map(same, old, new))
    if type(old) is dict:
        pairs = zip([*old, *old.values()], [*new, *new.values()])
        return len(old) == len(new) and all(same(*pair) for pair in pairs)
    return old is new or type(old) in (bool, int, float, str) and old == new


def arrays(x: Any) -> list[Any]:
    """The arrays in a value, also in objects."""
    waiting, seen, found = [x], set[int](), []
    while waiting and len(seen) < MOST_PARTS:
        x = waiting.pop()
        if is_array(x):
            found.append(x)
        elif id(x) not in seen and not isinstance(x, (str, bytes, type, FunctionType, ModuleType)):
            seen.add(id(x))
            waiting += attributes(x).values()
            waiting += x.values() if isinstance(x, dict) else ()
            waiting += x if isinstance(x, (list, tuple, set)) else ()
    return found


def shared(first: Any, second: Any) -> Iterator[Any]:
    """The arrays of the first value that share memory with one of the second."""
    others = arrays(second)
    return (x for x in arrays(first) if any(overlap(x, y) for y in others))


def overlap(x: Any, y: Any) -> bool:
    return bool(x.size and y.size and sys.modules["numpy"].may_share_memory(x, y))


def is_array(x: Any) -> bool:
    return type(x).__name__ == "ndarray"


def shown(x: Any, most: int = LONGEST) -> str:
    if is_array(x):
        x = x.tolist() if x.size < LONGEST else x.ravel()[:LONGEST].tolist()
    text = " ".join(repr(x).split())
    return text if len(text) <= most else f"{text[:most]}..."


def home(x: Any) -> Any:
    return getattr(x, "__module__", None)


def state_of(x: Any) -> Any:
    """The state of a generator; None of anything else."""
    if isinstance(x, random.Random):
        return x.getstate()
    if type(x).__name__ != "Generator":
        return None
    bits = x.bit_generator
    return str(bits.state), getattr(bits.seed_seq, "n_children_spawned", 0)


def items_of(x: Any) -> list[Any]:
    """What a container holds: which objects, not what these hold."""
    return [(key, id(part)) for key, part in x.items()] if isinstance(x, dict) else [*map(id, x)]
