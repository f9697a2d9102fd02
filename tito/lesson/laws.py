"""Laws: what every right solution obeys, whatever its style, asked of the calls of a check.

A `Watch` is between a check and the lesson. It sees the calls of the lesson's functions,
methods and classes that the check makes, not those that the lesson makes itself. At each call it
compares the arguments, and the global generators, before and after. When the check has passed,
some calls are made again, with the same input and in another form of it: the first result is the
reference, so no author writes one.

It runs beside the code under test, in the process of `tito test` and in the judge's jail, which
loads this file and `pictures.py`, so that both demand the same. It imports nothing else of tito.
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
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from tito.lesson.pictures import (
    BESIDE,
    Arguments,
    Function,
    Opaque,
    arrays,
    attributes,
    copied,
    difference,
    fresh,
    home,
    items_of,
    lacks,
    laid,
    likened,
    of_tensor,
    overlap,
    picture,
    promised,
    renewed,
    same,
    shared,
    shown,
    state_of,
    unlike,
)

# The laws that a section of checks can be without, see `checks.without`.
AGAIN, LAYOUT, COPY, GLOBAL = "again", "layout", "copy", "generator"
KEPT, TYPE = "state", "type"
FORMS = {
    AGAIN: "a second call with the same input",
    LAYOUT: "the same array in another memory layout, as a slice or a transposed array has it,",
}
SHORT = 40  # characters of an argument in a message
MOST_CALLS, MOST_ALIKE = 8, 2  # that are made again: of a check, of one function
SLOW, SHARE, FREE = 0.05, 0.15, 0.02  # seconds of a call; of the check's time; seconds
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
        parts = [shown(x, SHORT) for x in given[self.is_method :]]
        parts += [f"{key}={shown(x, SHORT)}" for key, x in named.items()]
        return f"{self.name}({', '.join(parts)})"


class Watch:
    """Watches the calls that checks make: one check from `begin` to `end`, until `close`.

    space    the names of the lesson; its own functions and classes are watched
    package  whose modules may hold generators and modes
    """

    def __init__(self, space: dict[str, Any], package: str) -> None:
        self.package, self.module = package, space.get("__name__", "")
        self.inside, self.thread = True, get_ident()
        own = {name: x for name, x in space.items() if home(x) == self.module}
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
        classes, held = _of_package(self.package, len(sys.modules))
        own = vars(sys.modules["__main__"]) if self.module == "__main__" else {}  # of `check()`
        self.holders = [*held, *_held([own], _classes([own]))]
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

        def call(*given: Any, **named: Any) -> Any:
            return self._outer(function, name, kind, given, named)

        # With the names of the function's module: a check may look one up, or replace it.
        code, names, closure = call.__code__, function.__globals__, call.__closure__
        return functools.update_wrapper(FunctionType(code, names, None, None, closure), function)

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
        given, named = tuple(map(renewed, given)), {key: renewed(x) for key, x in named.items()}
        own = given[1:] if kind else given
        made = given[0] if kind and function.__name__ == "__init__" else MISSING
        subject = own if made is not MISSING else given
        noted = None
        if made is MISSING or type(made) is kind:  # not a subclass, which calls this
            is_method = bool(kind) and made is MISSING
            noted = self._noted(name, is_method, (subject, named))
        counted = self.counts.get(name, 0) <= MOST_ALIKE
        before = copied([*map(of_tensor, (*own, *named.values()))])
        states = self._states() if counted else []
        began, unseeded = time.perf_counter(), list[int]()
        with _seeds_noticed(unseeded) if counted else contextlib.nullcontext():
            out = function(*given, **named)
        if unseeded and GLOBAL not in self.without and _seed_of(function, (given, named)):
            self.broken.append(
                f"{name} draws from a new generator, without a seed, although it is given one"
            )
        seconds = time.perf_counter() - began
        if not beside:
            of = type(given[0]).__name__ if function.__name__ == "__call__" else name
            self._compare(of, function, bool(kind), before, (own, named))
        after = self._states() if counted else []
        self._look(name, states, after)
        if TYPE not in self.without:
            self.broken += _other_than_promised(name, function, (given, named), out)
        if noted:
            noted.function = function if made is MISSING else kind or function
            noted.result, noted.seconds = out if made is MISSING else made, seconds
            self._note(noted, (subject, named), drew=after != states)
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
        return Call(print, is_method, name, fresh(given), before, self._modes())

    def _note(self, call: Call, given: Arguments, drew: bool) -> None:
        """Note a call that was made, if it can be made again; and what it broke."""
        doc = inspect.getdoc(call.function) or ""
        both = [*shared(call.result, given)] if COPIES.search(doc) else []
        if both and COPY not in self.without:
            self.broken.append(
                f"{call.text}: its docstring promises a copy, and what it returns shares memory "
                f"with its argument, {shown(both[0])}: a change of one changes the other"
            )
        if call.seconds < SLOW and not drew:
            with contextlib.suppress(Opaque):
                call.after = picture(call.result, private=False)
                if picture(given) == call.before:
                    self.calls.append(call)

    def _look(self, name: str, before: list[Any], after: list[Any]) -> None:
        """Notice numbers that a call drew from a global generator."""
        for word, old, new in zip(("random", "np.random"), before, after):
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
        after = copied([*map(of_tensor, (*given, *named.values()))])
        for n, (old, new) in enumerate(zip(before, after)):
            if not same(old, new):
                words = [*inspect.signature(function).parameters][skip:]
                word = (
                    [*named][n - len(given)] if n >= len(given) else words[min(n, len(words) - 1)]
                )
                self.broken.append(
                    f"{name} changes its argument {word}, {shown(old)}: afterwards it is "
                    f"{shown(new)}. Work on a copy"
                )
                return

    # After the check.

    def replay(self) -> None:
        """Make calls again, after a check that has passed, until a law is broken."""
        self.inside, spent = True, 0.0
        most = max(FREE, SHARE * (time.perf_counter() - self.began))
        with contextlib.redirect_stdout(io.StringIO()):
            for call in self.calls:
                forms = {AGAIN: fresh(call.given), LAYOUT: laid(call.given)}
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
                f"{call.text}: {form} gives another result{where}: {shown(second)}, the first "
                f"gave {shown(first)}"
            ]
        for x in shared(call.result, result) if form == FORMS[AGAIN] else ():
            given_too = any(overlap(x, y) for y in arrays([call.given, arguments]))
            if x.flags.writeable and not given_too:
                return [
                    f"{call.text}: the results of two calls share memory, {shown(x)}: a change of "
                    "one changes the other"
                ]
        return []

    def end(self) -> list[str]:
        """Let state be as it was. Returns a sentence for each law that the check's calls broke."""
        self.inside = True
        for words, now, then in self.kept:
            if items_of(now) != items_of(then):
                if KEPT not in self.without:
                    self.broken.insert(
                        0,
                        f"{words} is changed by calls, from {shown(then)} to {shown(now)}: what "
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
                        f"{kind.__name__}.{name} is another after the call, {shown(now)}: all "
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
                is_namespace = type(x) is dict and "__builtins__" in x  # globals() of a module
                if type(x) in CONTAINERS and not name.startswith("__") and not is_namespace:
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
        """The states of the global generators and the package's."""
        numpy = sys.modules.get("numpy.random")
        legacy: Any = numpy.get_state() if numpy else [0, b"", 0]
        held = (_get(holder, name) for holder, name in self.holders)
        states = [state for x in held if (state := state_of(x))]
        return [random.getstate(), (bytes(legacy[1]), legacy[2]), *states]


def add_cause(error: AssertionError, broken: list[str]) -> None:
    """Let the message of a check that failed end with the first law that was broken, if the
    message does not speak of the same.
    """
    is_said = " changed its argument" in str(error) and " changes its argument" in "".join(broken)
    if str(error) and broken and not is_said:
        error.args = (f"{error}\n{broken[0]}",)


def _other_than_promised(
    name: str, function: Function, arguments: Arguments, out: Any
) -> list[str]:
    """What a result is, where its docstring promises another type, shape or dtype."""
    doc = function.__doc__ or ""
    if lacks(promise := promised(doc), out):
        return [
            f"{name} returns {shown(out)}, of type {type(out).__name__}; its docstring promises "
            f"{promise}"
        ]
    code = function.__code__
    pairs, given = likened(doc, code.co_varnames[: code.co_argcount]), dict[str, Any]()
    with contextlib.suppress(TypeError, ValueError):
        if pairs:
            given = inspect.signature(function).bind(*arguments[0], **arguments[1]).arguments
    return [
        f"{name} returns the {what} {getattr(out, what)}; its docstring promises that of "
        f"`{word}`, {getattr(given[word], what)}"
        for what, word in pairs
        if unlike(what, given.get(word), out)
    ]


# What may keep state.


def _seed_of(function: Function, arguments: Arguments) -> Any:
    """The seed or generator that a call is given, or None."""
    with contextlib.suppress(TypeError, ValueError):
        named = inspect.signature(function).bind(*arguments[0], **arguments[1]).arguments
        return next((named[word] for word in SEEDS if named.get(word) is not None), None)
    return None


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
    return classes, _held(spaces, classes)


def _held(spaces: list[dict[str, Any]], classes: list[type]) -> list[tuple[Any, str]]:
    """(holder, name) of each mode and generator in these namespaces and classes."""
    objects = [
        x
        for space in spaces
        for x in space.values()
        if type(x).__module__ == space.get("__name__") and not isinstance(x, type)
    ]
    return [
        (holder, name)
        for holder in [*spaces, *classes, *objects]
        for name, x in (
            {**holder} if type(holder) is dict else {**vars(type(holder)), **attributes(holder)}
        ).items()
        if type(x) is bool or state_of(x)
    ]


def _get(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)


def _set(kind: type, name: str, value: Any) -> None:
    with contextlib.suppress(AttributeError, TypeError):
        type.__delattr__(kind, name) if value is MISSING else type.__setattr__(kind, name, value)


@contextlib.contextmanager
def _seeds_noticed(seeds: list[int]) -> Iterator[None]:
    """Notice when NumPy makes a generator without a seed."""
    made: Any = sys.modules.get("numpy.random.bit_generator")
    before: Any = getattr(made, "randbits", None)

    def noticed(bits: int) -> Any:
        seeds.append(bits)
        return before(bits)

    if before:
        made.randbits = noticed
    try:
        yield
    finally:
        if before:
            made.randbits = before
