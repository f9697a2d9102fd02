"""Laws: what every right solution obeys, whatever its style, asked of the calls of a check.

A `Watch` stands between a check and the lesson. It sees the calls of the lesson's functions,
methods and classes that the check makes, not those that the lesson makes itself. At each call it
compares the arguments, and the global generators, before and after. When the check has passed,
some calls are made again, with the same input and in another form of it: the first result is the
reference, so no author writes one.

It runs beside the code under test, in the process of `tito test` and in the judge's jail, which
loads this file, so that both demand the same. It imports nothing of tito.
"""

import contextlib
import copy
import functools
import inspect
import io
import random
import re
import sys
import time
import tracemalloc
from _thread import get_ident
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

# The laws that a section of checks can be without, see `checks.without`.
AGAIN, LAYOUT, COPY, GLOBAL, KEPT = "again", "layout", "copy", "generator", "state"
FORMS = {
    AGAIN: "a second call with the same input",
    LAYOUT: "the same array in another memory layout, as a slice or a transposed array has it,",
}
LONGEST, SHORT = 100, 40  # characters of a value in a message
MOST_CALLS, MOST_ALIKE = 8, 2  # that are made again: of a check, of one function
MOST_PARTS, MOST_NUMBERS, DEEPEST = 200, 10_000, 8  # of the arguments or the result of such a call
SLOW, SHARE, FREE = 0.05, 0.15, 0.02  # seconds of a call; of the check's time; seconds
NEAR = 1e-4  # relative to the largest number: in another layout, sums are added in another order
BESIDE = "beside"  # name of the module of learner-side code, which may have arguments changed
SPECIAL = ("__init__", "__call__", "__getitem__")  # methods that are watched, besides named ones
COPIES = re.compile(r"(^|returns +)an? (copy of|new array)|\bare copies", re.I)
IN_PLACE = re.compile(r"\bin place\b(?! of)")
CONTAINERS = (list, dict, set)
BY_PYTHON = (
    "__dict__",
    "__weakref__",
    "__abstractmethods__",
    "_abc_impl",
    "__doc__",
    "__slotnames__",
)
SEEDS = ("rng", "seed", "generator")
MISSING = object()

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Function = Callable[..., Any]


class Opaque(Exception):
    """A value of which it cannot be said what it holds: an iterator, or something large."""


@dataclass
class Call:
    """A call that a check made, of a function or a class.

    given   its arguments as they were: arrays and generators are copies
    before  the picture of its arguments
    flags   the modes in which it was made, such as "nothing is recorded"
    after   the picture of its result
    """

    function: Function
    is_method: bool
    name: str
    given: Arguments
    before: Any
    flags: list[Any]
    seconds: float = 0.0
    result: Any = None
    after: Any = None

    @property
    def text(self) -> str:
        """The call as one would write it."""
        given, named = self.given
        parts = [_shown(x, SHORT) for x in given[self.is_method :]]
        parts += [f"{key}={_shown(x, SHORT)}" for key, x in named.items()]
        return f"{self.name}({', '.join(parts)})"


class Watch:
    """Watches the calls that checks make: one check from `begin` to `end`, until `close`.

    space    the names of the lesson; its own functions and classes are watched
    package  whose modules may hold generators and modes
    """

    def __init__(self, space: dict[str, Any], package: str) -> None:
        self.package, self.module = package, space.get("__name__", "")
        self.inside, self.thread = True, get_ident()
        own = {name: x for name, x in space.items() if _home(x) == self.module}
        self.classes = {id(x): x for x in own.values() if isinstance(x, type)}
        self.before = [(x, dict(vars(x))) for x in self.classes.values()]
        self.kept = [*self._state(own)]
        self.functions = {
            name: self._watched(x, name) for name, x in own.items() if isinstance(x, FunctionType)
        }
        for kind in self.classes.values():
            for name, method in list(vars(kind).items()):
                if isinstance(method, FunctionType) and (name[0] != "_" or name in SPECIAL):
                    words = kind.__name__ if name == "__init__" else f"{kind.__name__}.{name}"
                    _set(kind, name, self._watched(method, words, kind))
        self.during: dict[int, tuple[type, dict[str, Any], list[int]]] = {}

    def begin(self, without: Collection[str] = ()) -> None:
        """Begin to watch a check. without: the laws that it is without"""
        self.without, self.broken, self.calls = without, list[str](), list[Call]()
        self.counts: dict[str, int] = {}
        classes, self.holders = _of_package(self.package, len(sys.modules))
        for kind in [*classes, *self.classes.values()]:
            if id(kind) not in self.during:  # a check may import its module
                names = dict(vars(kind))
                self.during[id(kind)] = kind, names, [*map(id, names.values())]
        self.inside, self.began = False, time.perf_counter()

    def close(self) -> None:
        """Take the watch away."""
        for kind, names in self.before:
            for name, now in list(vars(kind).items()):
                if name in names and now is not names[name] and name not in BY_PYTHON:
                    _set(kind, name, names[name])

    def _watched(self, function: Function, name: str, kind: type | None = None) -> Function:
        """The function; what a check calls goes through `_call`. kind: the class of a method"""

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            return self._outer(function, name, kind, given, named)

        # With the names of the function's module: a check may look one up, or replace it.
        same = FunctionType(call.__code__, function.__globals__, None, None, call.__closure__)
        same.__kwdefaults__ = call.__kwdefaults__
        return functools.update_wrapper(same, function)

    def _outer(self, function: Function, name: str, kind: type | None, *arguments: Any) -> Any:
        """A call: by a check, or by code that a check called."""
        given, named = arguments
        caller = sys._getframe(2).f_globals.get("__name__", "")
        if (
            self.inside
            or self.package in (caller, caller.partition(".")[0])
            or tracemalloc.is_tracing()
            or get_ident() != self.thread
        ):
            return function(*given, **named)
        self.inside = True
        try:
            return self._call(function, name, kind, given, named, caller == BESIDE)
        finally:
            self.inside = False

    def _call(
        self,
        function: Function,
        name: str,
        kind: type | None,
        given: tuple[Any, ...],
        named: dict[str, Any],
        beside: bool,
    ) -> Any:
        given, named = tuple(map(_new, given)), {key: _new(x) for key, x in named.items()}
        own = given[1:] if kind else given
        made = given[0] if kind and function.__name__ == "__init__" else MISSING
        subject = own if made is not MISSING else given
        noted = None
        if made is MISSING or type(made) is kind:  # not a subclass, which calls this
            is_method = bool(kind) and made is MISSING
            noted = self._noted(name, is_method, (subject, named))
        counted = self.counts.get(name, 0) <= MOST_ALIKE
        before, states = _copy([*own, *named.values()]), self._states() if counted else []
        began, unseeded = time.perf_counter(), list[int]()
        with _seeds_noticed(unseeded) if counted else contextlib.nullcontext():
            out = function(*given, **named)
        if unseeded and GLOBAL not in self.without and _seed_of(function, (given, named)):
            self.broken.append(
                f"{name} draws from a new generator, without a seed, although it is given one"
            )
        seconds = time.perf_counter() - began
        if not beside:
            self._compare(name, function, bool(kind), before, (own, named))
        if counted:
            self._look(name, states)
        if noted:
            noted.function = function if made is MISSING else kind or function
            noted.result, noted.seconds = out if made is MISSING else made, seconds
            self._note(noted, (subject, named), states)
        return out

    def _noted(self, name: str, is_method: bool, given: Arguments) -> Call | None:
        """A call before it is made, or None if it will not be made again."""
        count = self.counts[name] = self.counts.get(name, 0) + 1
        if count > MOST_ALIKE or len(self.calls) >= MOST_CALLS:
            return None
        try:
            before = picture(given)
        except Opaque:
            return None
        return Call(print, is_method, name, _fresh(given), before, self._modes())

    def _note(self, call: Call, given: Arguments, states: list[Any]) -> None:
        """Note a call that was made, if it can be made again; and what it broke."""
        doc = inspect.getdoc(call.function) or ""
        shared = [*_shared(call.result, given)] if COPIES.search(doc) else []
        if shared and COPY not in self.without:
            self.broken.append(
                f"{call.text}: its docstring promises a copy, and what it returns shares memory "
                f"with its argument, {_shown(shared[0])}: a change of one changes the other"
            )
        if call.seconds < SLOW and self._states() == states:
            with contextlib.suppress(Opaque):
                call.after = picture(call.result, private=False)
                if picture(given) == call.before:
                    self.calls.append(call)

    def _look(self, name: str, states: list[Any]) -> None:
        """Notice numbers that a call drew from a global generator."""
        for word, old, new in zip(("random", "np.random"), states, self._states()):
            if old != new and GLOBAL not in self.without:
                self.broken.append(
                    f"{name} draws from the global generator of {word}: draw from the one that is "
                    "given, or from default_rng(seed)"
                )

    def _compare(
        self, name: str, function: Function, skip: bool, before: list[Any], arguments: Arguments
    ) -> None:
        """Notice a changed argument."""
        given, named = arguments
        if IN_PLACE.search(function.__doc__ or ""):
            return
        after = _copy([*given, *named.values()])
        for n, (old, new) in enumerate(zip(before, after)):
            if not _same(old, new):
                words = [*inspect.signature(function).parameters][skip:]
                word = (
                    [*named][n - len(given)] if n >= len(given) else words[min(n, len(words) - 1)]
                )
                self.broken.append(
                    f"{name} changes its argument {word}, {_shown(old)}: afterwards it is "
                    f"{_shown(new)}. Work on a copy"
                )
                return

    # After the check.

    def replay(self) -> None:
        """Make calls again, after a check that has passed, until a law is broken."""
        self.inside, spent = True, 0.0
        most = max(FREE, SHARE * (time.perf_counter() - self.began))
        with contextlib.redirect_stdout(io.StringIO()):
            for call in self.calls:
                forms = {AGAIN: _fresh(call.given), LAYOUT: _laid(call.given)}
                for law, arguments in forms.items():
                    spent += call.seconds
                    if self.broken or spent > most:
                        return
                    if law not in self.without and arguments:
                        self.broken += self._asked(call, FORMS[law], arguments)

    def _asked(self, call: Call, form: str, arguments: Arguments) -> list[str]:
        """What is wrong with a form of a call: one sentence or none."""
        given, named = arguments
        unseeded: list[int] = []
        try:
            if picture(call.given) != call.before or self._modes() != call.flags:
                return []  # a model that was trained since
            with _seeds_noticed(unseeded):
                result = call.function(*given, **named)
            after = picture(result, private=False)
        except Opaque:
            return []
        except Exception as error:  # noqa: BLE001  of the learner's code
            return [f"{call.text}: {form} raises {type(error).__name__}: {error}"]
        if unseeded and not _seed_of(call.function, arguments):
            return []
        if at := difference(call.after, after):
            where, first, second = at
            return [
                f"{call.text}: {form} gives another result{where}: {_shown(second)}, the first "
                f"gave {_shown(first)}"
            ]
        for x in _shared(call.result, result) if form == FORMS[AGAIN] else ():
            if not any(_overlap(x, y) for y in _arrays([call.given, arguments])):
                return [
                    f"{call.text}: the results of two calls share memory, {_shown(x)}: a change of "
                    "one changes the other"
                ]
        return []

    def end(self) -> list[str]:
        """Let state be as it was. Returns a sentence for each law that the check's calls broke."""
        self.inside = True
        for words, now, then in self.kept:
            if _items(now) != _items(then):
                if KEPT not in self.without:
                    self.broken.insert(
                        0,
                        f"{words} is changed by calls, from {_shown(then)} to {_shown(now)}: what "
                        "one call leaves there, the next one finds",
                    )
                now.clear()
                now.extend(then) if type(now) is list else now.update(then)
        for kind, then, ids in self.during.values():
            if [*map(id, vars(kind).values())] == ids:
                continue
            for name in {*then, *vars(kind)}.difference(BY_PYTHON):
                now, was = vars(kind).get(name, MISSING), then.get(name, MISSING)
                kinds = FunctionType, *CONTAINERS
                if now is not was and isinstance(now, kinds) and KEPT not in self.without:
                    self.broken.append(
                        f"{kind.__name__}.{name} is another after the call, {_shown(now)}: all "
                        "objects of the class share it"
                    )
                if now is not was:
                    _set(kind, name, was)
        return self.broken

    # State.

    def _state(self, own: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
        """(words, container, its copy) of what functions and classes could keep between calls."""
        functions = [(name, x) for name, x in own.items() if isinstance(x, FunctionType)]
        for kind, names in self.before:
            for name, x in names.items():
                if type(x) in CONTAINERS and not name.startswith("__"):
                    yield f"{kind.__name__}.{name}, which all objects share,", x, copy.copy(x)
                elif isinstance(x, FunctionType) and id(kind) in self.classes:
                    functions.append((f"{kind.__name__}.{name}", x))
        for name, function in functions:
            code, defaults = function.__code__, function.__defaults__ or ()
            words = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
            for word, x in [*zip(words, defaults), *(function.__kwdefaults__ or {}).items()]:
                if type(x) in CONTAINERS:
                    yield f"the default of {word} in {name}", x, copy.copy(x)
            yield f"what is kept on the function {name}", vars(function), dict(vars(function))

    def _modes(self) -> list[Any]:
        names = vars(sys.modules.get(self.module, self))
        functions = [id(x) for x in names.values() if isinstance(x, FunctionType)]
        modes = [x for holder, name in self.holders if type(x := _get(holder, name)) is bool]
        return [*modes, *functions]  # a check may replace a function meanwhile

    def _states(self) -> list[Any]:
        """The states of the global generators, and of those of the package."""
        numpy = sys.modules.get("numpy.random")
        legacy = numpy.get_state() if numpy else [0, b"", 0]
        shared = (_get(holder, name) for holder, name in self.holders)
        states = [state for x in shared if (state := _state_of(x))]
        return [random.getstate(), (bytes(legacy[1]), legacy[2]), *states]


def add_cause(error: AssertionError, broken: list[str]) -> None:
    """Let the message of a check that failed end with the first law that was broken."""
    if str(error) and broken:
        error.args = (f"{error}\n{broken[0]}",)


# Pictures: what a value holds, to be compared later.


def picture(x: Any, private: bool = True) -> Any:
    """What a value holds, in lists and tuples. Raises Opaque when that cannot be said.

    private  with the attributes whose names begin with an underscore
    """
    seen: dict[int, int] = {}
    numbers = 0

    def of(x: Any, depth: int) -> Any:
        nonlocal numbers
        kind = type(x)
        if x is None or kind in (bool, int, float, complex, str, bytes, slice, type(...)):
            return x
        if depth > DEEPEST:
            return "..."
        if _is_array(x):
            numbers += x.size
            if numbers > MOST_NUMBERS or x.dtype == object:
                raise Opaque
            return "array", x.dtype.str, x.shape, x.tobytes()
        if isinstance(x, (type, FunctionType, BuiltinFunctionType)) or kind.__name__ == "ufunc":
            name = getattr(x, "__qualname__", x.__name__)
            if _home(x) in (BESIDE, "check", "__main__", "jailed_server") or "<" in name:
                raise Opaque
            return "named", name
        if kind.__module__ == "numpy" and hasattr(x, "itemsize"):
            return "number", str(getattr(x, "dtype", "dtype")), str(x)
        if state := _state_of(x):
            return "generator", str(state)
        if id(x) in seen:
            return "again", seen[id(x)]
        seen[id(x)] = len(seen)
        if len(seen) > MOST_PARTS:
            raise Opaque
        if kind in (list, tuple):
            return [kind.__name__, *(of(part, depth + 1) for part in x)]
        if isinstance(x, (set, frozenset)):
            return [kind.__name__, *sorted(map(repr, x))]
        if isinstance(x, dict):
            pairs = [(of(key, depth + 1), of(part, depth + 1)) for key, part in x.items()]
            return [kind.__name__, *pairs]
        names = attributes(x)
        if not names or hasattr(x, "__next__") or isinstance(x, ModuleType):
            raise Opaque
        hidden = [] if private else ["creator"]
        return [
            f"object {kind.__name__}",
            *(
                (name, of(part, depth + 1))
                for name, part in sorted(names.items())
                if (private or name[0] != "_") and name not in hidden
            ),
        ]

    return of(x, 0)


def attributes(x: Any) -> dict[str, Any]:
    """The attributes of an object, in slots or not."""
    found = {}
    for name, slot in _slots(type(x)):
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


# Arguments.


def _fresh(x: Any, array: Function = lambda x: x.copy(), inner: Collection[int] = ()) -> Any:
    """The arguments again: copies of what a call could change or use up.

    array  copies an array
    inner  ids of Tensors whose arrays are copied, too
    """
    made: dict[int, Any] = {}  # what was one object is one again

    def of(x: Any) -> Any:
        if id(x) not in made:
            made[id(x)] = copied(x)
        return made[id(x)]

    def copied(x: Any) -> Any:
        if _is_array(x):
            return array(x)
        if _state_of(x):
            return copy.deepcopy(x)
        if type(x) in (list, tuple):
            return type(x)(map(of, x))
        if type(x) is dict:
            return {key: of(part) for key, part in x.items()}
        if id(x) in inner and _is_array(getattr(x, "data", None)) and not x.creator:
            x = copy.copy(x)
            x.data = of(x.data)
        return x

    return of(x)


def _laid(x: Arguments) -> Any:
    """The same arguments with arrays in another memory layout; None where there is no array."""
    found = []

    def array(x: Any) -> Any:
        if x.size < 2:
            return x.copy()
        found.append(x)
        if sum(n > 1 for n in x.shape) > 1:
            return x.copy("F" if x.flags.c_contiguous else "C")
        return x.repeat(2, axis=-1)[..., ::2]

    out = _fresh(x, array, inner={id(part) for part in x[0] if hasattr(part, "creator")})
    return out if found else None


def _new(x: Any) -> Any:
    """A text or whole number that equals `x` and is another object: `is` for `==` is a mistake."""
    if type(x) is str:
        return (x + " ")[:-1]
    return int(str(x)) if type(x) is int and abs(x) < 1 << 60 else x


def _copy(x: Any) -> Any:
    """What can change of an argument: a copy of an array, a list or a dict, with its contents."""
    if _is_array(x):
        return x.copy()
    if type(x) in (list, tuple):
        return [_copy(part) for part in x]
    return {key: _copy(part) for key, part in x.items()} if type(x) is dict else x


def _same(old: Any, new: Any) -> bool:
    """Whether two copies hold the same."""
    if _is_array(old):
        return (old.shape, old.tobytes()) == (new.shape, new.tobytes())
    if type(old) is list:
        return len(old) == len(new) and all(map(_same, old, new))
    if type(old) is dict:
        pairs = zip([*old, *old.values()], [*new, *new.values()])
        return len(old) == len(new) and all(_same(*pair) for pair in pairs)
    return old is new or type(old) in (bool, int, float, str) and old == new


def _arrays(x: Any) -> list[Any]:
    """The arrays in a value, also in objects."""
    waiting, seen, found = [x], set[int](), []
    while waiting and len(seen) < MOST_PARTS:
        x = waiting.pop()
        if _is_array(x):
            found.append(x)
        elif id(x) not in seen and not isinstance(x, (str, bytes, type, FunctionType, ModuleType)):
            seen.add(id(x))
            waiting += attributes(x).values()
            waiting += x.values() if isinstance(x, dict) else ()
            waiting += x if isinstance(x, (list, tuple, set)) else ()
    return found


def _shared(first: Any, second: Any) -> Iterator[Any]:
    """The arrays of the first value that share memory with one of the second."""
    others = _arrays(second)
    return (x for x in _arrays(first) if any(_overlap(x, y) for y in others))


def _overlap(x: Any, y: Any) -> bool:
    return bool(x.size and y.size and sys.modules["numpy"].may_share_memory(x, y))


def _is_array(x: Any) -> bool:
    return type(x).__name__ == "ndarray"


def _seed_of(function: Function, arguments: Arguments) -> Any:
    """The seed or generator that a call is given, or None."""
    with contextlib.suppress(TypeError, ValueError):
        named = inspect.signature(function).bind(*arguments[0], **arguments[1]).arguments
        return next((named[word] for word in SEEDS if named.get(word) is not None), None)
    return None


def _shown(x: Any, most: int = LONGEST) -> str:
    if _is_array(x):
        x = x.tolist() if x.size < LONGEST else x.ravel()[:LONGEST].tolist()
    text = " ".join(repr(x).split())
    return text if len(text) <= most else f"{text[:most]}..."


# What may keep state.


def _spaces(package: str) -> list[dict[str, Any]]:
    """The names of each module of the package."""
    return [
        vars(module)
        for name, module in list(sys.modules.items())
        if f"{name}.".startswith(f"{package}.") and type(module) is ModuleType
    ]


def _classes(spaces: list[dict[str, Any]]) -> list[type]:
    """The classes that some modules define."""
    found = [
        (x.__module__ == space.get("__name__"), x)
        for space in spaces
        for x in space.values()
        if isinstance(x, type)
    ]
    return [*{id(x): x for own, x in found if own}.values()]


@functools.lru_cache(maxsize=4)  # the same for each check, while no module is imported
def _of_package(package: str, modules: int) -> tuple[list[type], list[tuple[Any, str]]]:
    """The classes of a package; and (holder, name) of each mode and generator that its modules,
    classes, and objects in modules hold, such as `recording.on`.
    """
    spaces = _spaces(package)
    classes = _classes(spaces)
    objects = [
        x
        for space in spaces
        for x in space.values()
        if type(x).__module__ == space.get("__name__") and not isinstance(x, type)
    ]
    holders = [
        (holder, name)
        for holder in [*spaces, *classes, *objects]
        for name, x in (
            {**holder} if type(holder) is dict else {**vars(type(holder)), **attributes(holder)}
        ).items()
        if type(x) is bool or _state_of(x)
    ]
    return classes, holders


def _get(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)


def _set(kind: type, name: str, value: Any) -> None:
    with contextlib.suppress(AttributeError, TypeError):
        type.__delattr__(kind, name) if value is MISSING else type.__setattr__(kind, name, value)


def _home(x: Any) -> Any:
    return getattr(x, "__module__", None)


def _state_of(x: Any) -> Any:
    """The state of a generator; None of anything else."""
    if isinstance(x, random.Random):
        return x.getstate()
    if type(x).__name__ != "Generator":
        return None
    bits = x.bit_generator
    return str(bits.state), getattr(bits.seed_seq, "n_children_spawned", 0)


def _items(x: Any) -> list[Any]:
    """What a container holds: which objects, not what these hold."""
    return [(key, id(part)) for key, part in x.items()] if isinstance(x, dict) else [*map(id, x)]


@contextlib.contextmanager
def _seeds_noticed(seeds: list[int]) -> Iterator[None]:
    """Notice when NumPy makes a generator without a seed."""
    made: Any = sys.modules.get("numpy.random.bit_generator")
    before = getattr(made, "randbits", None)
    if before:
        made.randbits = lambda bits: seeds.append(bits) or before(bits)
    try:
        yield
    finally:
        if before:
            made.randbits = before
