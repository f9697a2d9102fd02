"""Proxies in the judge for the learner's classes, functions and objects.

A `Session` is connected to one jailed fork. An answer is plain data or a `Remote`: a handle that
forwards operations of the check (attributes, calls, arithmetic, indexing, `float()`,
`np.asarray()`). A Remote never decides a check: `bool()` of it is refused.

The rule for checks that compute with an answer: **the judge computes with plain data; objects
compute in the jail, and their results are not used as numbers.** If `got` is plain data, the judge
itself computes `got - want` and `got == want`. If `got` is an object, the operator is forwarded,
because a check may test the operator (`Tensor - 2`). But then the learner's side has seen `want`,
and later answers may be forged with it. So the answer must be an object again, a `Result`, which
gives plain data only through an attribute that the check names. `(x - 2).data` is read. `float()`,
`np.asarray()`, `len()`, iteration, and plain results of its methods (`.max()`, `.all()`) are
refused as `Undecided`: the check must fetch `.data` first. Comparisons are operators like the
others.

A refused check gives no points. `tito check` finds such checks, because it grades the solution in
the same way. Authors must avoid three cases that are not refused, in which the learner's side could
forge the comparison: `(got - want).data` (write `got.data - want`), the text `f"{got - want:.1f}"`
(needed for messages), and the learner's own function of `want` (`mse_loss(got, want)`). The forged
answers of `tito check` (`author/forged_answers.py`) find checks that rely only on these.
"""

import builtins
import select
import socket
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tito.grading.jail import wire

Exact = TypeVar("Exact")
Request = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]
LARGEST = 256 << 20  # bytes one check may receive
TEXT = 8  # a byte of text counts as this many bytes of an array, which are faster to read
LONGEST = 4000  # characters of a learner's message that are saved


class Stop(BaseException):
    """The check ends at once.

    Not an Exception: a check's own `except Exception` must not go on.
    """


class OutOfTime(Stop):
    """The check exceeded its time limit."""


class Died(Stop):
    """The jailed process ended."""


class Tampered(Stop):
    """An answer of the jailed process was malformed or not requested."""


class Undecided(Stop):
    """A check would have let the learner's side decide. That is a mistake in the check, or an
    object that was sent where data belongs: no `except Exception` of a check may swallow it.
    """


class NoObject(Undecided):
    """An operator of the learner's object returned plain data.

    A mistake of theirs, or a word on `got - wanted` that is not to be believed.
    """


class RemoteError(Exception):
    """An exception of the learner's code without a matching class in the judge.

    Exceptions from the learner's side have a `report`.
    """


class Report(NamedTuple):
    """An exception, as described by the learner's side. frames: (module, line, the parameters that
    were None) of each frame of the learner's code; kinds: the names of its built-in base classes.
    """

    name: str
    text: str
    frames: list[tuple[str, int, list[str]]]
    kinds: list[str]


def report_of(error: BaseException) -> Report | None:
    """The Report of an exception that was raised on the learner's side."""
    report = getattr(error, "report", None)
    return report if isinstance(report, Report) else None


class AnswerReader(wire.Reader):
    """A message from the learner's side.

    Whole numbers near the least of int64 come as floats: of the least one, `abs` is negative, so
    that `abs(got - want) < tolerance` would hold.
    """

    def _numbers(self, name: Any, size: Any) -> np.ndarray[Any, Any]:
        array = super()._numbers(name, size)
        far = array.dtype == np.int64 and array.size and array.min() < -(1 << 62)
        return array.astype(np.float64) if far else array


class Session:
    """The judge's side of the connection to one fork.

    deadline  on the clock `time.monotonic`, for all of it: what the other side does cannot move it
    excused   a function: seconds by which the deadline is later by now, see
              `jailed_check.excused_seconds`
    assertion the first AssertionError that one of the judge's own functions raised while the
    learner's code called it
    changed   whether the learner's code changed an array or list that the check had handed over
    helpers   the Remotes of objects from the lesson's own learner-side cells, which may change
    their
              arguments; compared by identity, because the other side could forge numbers
    """

    def __init__(
        self, sock: socket.socket, deadline: float, excused: Callable[[], float] = lambda: 0.0
    ) -> None:
        self.sock, self.deadline, self.excused, self.received = sock, deadline, excused, 0
        sock.setblocking(False)
        self.proxies: dict[int, Remote] = {}
        self.functions: list[Callable[..., Any]] = []
        self.numbers: dict[int, int] = {}
        self.errors: list[Exception] = []
        self.assertion: AssertionError | None = None
        self.changed = False
        self.helpers: set[Remote] = set()

    def do(self, operation: str, /, *arguments: Any, **options: Any) -> Any:
        """Send a request to the jail and return its result; see `Agent.do` in jailed_server.py.

        Raises the exceptions that are raised there.
        """
        if self.early():
            raise Tampered("it sent something that was not requested")
        writer = wire.Writer(self.foreign)
        self.send(writer, ["do", operation, writer.value(list(arguments)), writer.value(options)])
        while True:
            reader = self.receive()
            try:
                kind, *parts = reader.body
                if kind == "ok":
                    value, changed = parts
                    value = reader.value(value)
                    # From a helper nothing is taken over: what a check expects must not be computed
                    # from what the learner's side could write.
                    helper = operation == "call" and self.helpers.intersection(arguments[:1])
                    self.put_back(writer.mutable, reader.value(changed), not helper)
                    return value
                if kind == "raise":
                    name, kinds, text, frames, mark = (reader.value(part) for part in parts)
                    error = self.error(name, kinds, text, frames, mark)
                elif kind == "ask":
                    number, given, named = (reader.value(part) for part in parts)
                    request = self.request(number, given, named)
                elif kind == "stop" and operation == "next":
                    raise StopIteration
                else:
                    raise wire.Malformed("no kind of answer")
            except (wire.Malformed, ValueError, TypeError, IndexError) as problem:
                raise Tampered(f"its answer is malformed: {problem}") from None
            if kind == "raise":
                raise error
            self.run(*request)

    def request(self, number: Any, arguments: Any, options: Any) -> Request:
        """The function of the judge that the learner's code calls, and its arguments."""
        is_known = type(number) is int and 0 <= number < len(self.functions)
        if not is_known or type(arguments) is not tuple or type(options) is not dict:
            raise wire.Malformed("no function")
        return self.functions[number], arguments, options

    def run(self, function: Callable[..., Any], arguments: Any, options: Any) -> None:
        """Call a function of the judge for the learner's code, and send its result or exception."""
        try:
            value = function(*arguments, **options)
            writer = wire.Writer(self.foreign)
            body = ["ok", writer.value(value)]
        except Exception as error:
            if isinstance(error, AssertionError) and self.assertion is None:
                self.assertion = error
            self.errors.append(error)
            writer = wire.Writer(self.foreign)
            body = ["raise", type(error).__name__, str(error)[:LONGEST], len(self.errors) - 1]
        self.send(writer, body)

    def put_back(self, sent: list[Any], changed: Any, is_taken_over: bool) -> None:
        """Copy changes that the learner's code made to its arguments into the judge's arrays and
        lists. The check has failed, but its messages may show them.
        """
        if type(changed) is not list or any(type(pair) is not tuple for pair in changed):
            raise wire.Malformed("no list of changes")  # an object would be asked
        if not is_taken_over:
            return
        self.changed |= bool(changed)
        for number, new in changed:
            old = sent[number] if type(number) is int and number >= 0 else None
            if old is None or type(new) is not type(old):
                raise wire.Malformed("an argument became something else")
            if isinstance(old, np.ndarray):
                if (new.shape, new.dtype) != (old.shape, old.dtype):
                    raise wire.Malformed("an argument changed its shape")
                if old.flags.writeable:
                    old[...] = new
            elif isinstance(old, list):
                old[:] = new
            else:
                old.clear()
                old.update(new)

    def helper(self, remote: "Remote") -> "Remote":
        """A separate Remote for an object of a learner-side cell: no other name gets it."""
        helper = type(remote)(self, remote._number)
        self.helpers.add(helper)
        return helper

    def error(self, name: Any, kinds: Any, text: Any, frames: Any, mark: Any) -> Exception:
        """The exception to raise for the learner's: its built-in base, never an AssertionError."""
        if (
            type(name) is not str
            or type(text) is not str
            or type(kinds) is not list
            or type(frames) is not list
            or any(type(frame) is not tuple for frame in frames)  # an object would be asked
        ):
            raise wire.Malformed("no exception")
        if type(mark) is int and 0 <= mark < len(self.errors):
            return self.errors[mark]
        kind = next(
            (EXCEPTIONS[k] for k in kinds if type(k) is str and k in EXCEPTIONS), None
        ) or type(name[:100] if name.isidentifier() else "RemoteError", (RemoteError,), {})
        text = text[:LONGEST]
        try:
            error = kind(text)
        except TypeError:  # UnicodeDecodeError and the like want more than a text
            error = RemoteError(text)
        frames = [
            (file, line, [part for part in nones if type(part) is str])
            for file, line, nones in frames
            if type(file) is str and type(line) is int and type(nones) is list
        ]
        error.report = Report(name[:100], text, frames, [k for k in kinds if type(k) is str])
        return error

    # Values that are not plain.

    def foreign(self, x: Any) -> list[Any]:
        if isinstance(x, Remote):
            if x._session is not self:
                raise Undecided("a check keeps an object of another check")
            return ["h", x._number]
        if isinstance(x, Module):
            raise TypeError("a module cannot be handed over")
        if callable(x) and not isinstance(x, type):
            number = self.numbers.get(id(x))
            if number is None:
                number = self.numbers[id(x)] = len(self.functions)
                self.functions.append(x)
            return ["f", number, str(getattr(x, "__name__", "function"))[:100]]
        raise TypeError(f"the judge cannot hand over a {type(x).__name__}")

    def foreign_of(self, parts: list[Any]) -> Any:
        kind, number, *more = parts
        if type(number) is not int or number < 0:
            raise wire.Malformed("no handle")
        if kind == "f":
            return self.functions[number]
        if kind != "h" or len(more) != 2:
            raise wire.Malformed("no kind of value")
        if number not in self.proxies:
            kind = RemoteClass if more[0] is True else RemoteFunction if more[1] is True else Remote
            self.proxies[number] = kind(self, number)
        return self.proxies[number]

    # The socket, with waits limited by the deadline.

    def send(self, writer: wire.Writer, body: Any) -> None:
        try:
            wire.send(self.sock, writer.message(body), lambda: self.wait([], [self.sock]))
        except wire.Closed:
            raise Died from None

    def receive(self) -> AnswerReader:
        try:
            text, blobs = wire.receive(self.sock, lambda: self.wait([self.sock], []))
            self.received += TEXT * len(text) + len(blobs)
            if self.received > LARGEST:
                raise Tampered(
                    f"it sent more than {LARGEST >> 20} MB (numbers in arrays; {TEXT} times less "
                    "of other values)"
                )
            reader = AnswerReader(text, blobs, self.foreign_of)
            if type(reader.body) is not list or not reader.body:
                raise wire.Malformed("no answer")
            return reader
        except wire.Closed:
            raise Died from None
        except wire.Malformed as error:
            raise Tampered(f"its answer is malformed: {error}") from None

    def early(self) -> bool:
        """Whether there is a message to read, not the end of the connection."""
        if not select.select([self.sock], [], [], 0)[0]:
            return False
        try:
            return self.sock.recv(1, socket.MSG_PEEK) != b""
        except OSError:
            return False

    def wait(self, to_read: list[socket.socket], to_write: list[socket.socket]) -> None:
        """Wait until one of these sockets is ready, at most until the deadline."""
        while True:
            left = self.deadline - time.monotonic()
            if left <= 0:
                left += self.excused()
            if left <= 0:
                raise OutOfTime
            if any(select.select(to_read, to_write, [], left)):
                return


def exceptions() -> dict[str, Any]:
    """{name: class} of what may be raised in the judge for an error of the learner's code."""
    classes = {
        name: kind
        for name, kind in vars(builtins).items()
        if isinstance(kind, type)
        and issubclass(kind, Exception)
        and not issubclass(kind, AssertionError)
    }
    classes |= {
        name: kind
        for name, kind in vars(np.exceptions).items()
        if isinstance(kind, type) and issubclass(kind, Exception)
    }
    classes["LinAlgError"] = np.linalg.LinAlgError
    del classes["Exception"], classes["StopIteration"], classes["StopAsyncIteration"]
    return classes


EXCEPTIONS = exceptions()


HARMLESS = ("__name__", "__qualname__", "__doc__", "__dict__", "__module__")


class Remote:
    """An object on the learner's side."""

    __slots__ = ("_session", "_number")
    _session: Session
    _number: int
    # Makes `array + remote` call Remote.__radd__ instead of looping over the array.
    __array_ufunc__ = None
    __hash__ = object.__hash__  # by identity: one handle, one Remote

    def __init__(self, session: Session, number: int) -> None:
        object.__setattr__(self, "_session", session)
        object.__setattr__(self, "_number", number)

    def __getattr__(self, name: str) -> Any:
        # Python and NumPy look for their own attributes and believe what they find:
        # `__array_interface__` is an address.
        if name.startswith("__") and name not in HARMLESS:
            raise AttributeError(name)
        return self._session.do("get", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._session.do("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        self._session.do("del", self, name)

    def __bool__(self) -> bool:
        raise Undecided("a check asks whether an object of the learner's is true")

    def __call__(self, /, *arguments: Any, **options: Any) -> Any:
        return self._session.do("call", self, *arguments, **options)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        array = self._session.do("array", self)
        if type(array) is not np.ndarray:
            raise Tampered("its array is no array")
        return array if dtype is None else array.astype(dtype)

    def __iter__(self) -> "Iterator":
        return Iterator(self._session, self._session.do("iter", self))

    def __next__(self) -> Any:
        return self._session.do("next", self)

    def __format__(self, spec: str) -> str:
        return exactly(str, self._session.do("format", self, spec))

    def __dir__(self) -> Any:
        return self._session.do("dir", self)

    def __contains__(self, x: Any) -> bool:
        raise Undecided("a check asks whether something is in an object of the learner's")

    def __enter__(self) -> Any:
        return self._session.do("enter", self)

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        words = (None, None) if error is None else (kind.__name__, str(error)[:LONGEST])
        if self._session.do("exit", self, *words) is True and error is not None:
            raise AssertionError(
                "leaving the `with` block swallows the error that was raised in it: __exit__ "
                "should return None"
            )

    def __getitem__(self, index: Any) -> Any:
        return self._session.do("getitem", self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._session.do("setitem", self, index, value)

    def __delitem__(self, index: Any) -> None:
        self._session.do("delitem", self, index)


class RemoteFunction(Remote):
    """A function on the learner's side, or another callable."""

    __slots__ = ()


class RemoteClass(RemoteFunction):
    """A class on the learner's side. Calls and `isinstance` are forwarded.

    The name of a class is not trusted.
    """

    __slots__ = ()

    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, Remote) and self._session.do("isinstance", x, self) is True

    def __subclasscheck__(self, kind: Any) -> bool:
        return isinstance(kind, RemoteClass) and self._session.do("issubclass", kind, self) is True


class Result(Remote):
    """The result of an operator on the learner's side, `x - 2` or `x > 0`, or of an operation on
    one.

    It may be forged from the check's operand. Its attributes can be read, like those of every
    object; nothing else returns plain data.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return result(super().__getattr__(name))

    def __call__(self, /, *arguments: Any, **options: Any) -> Any:
        value = super().__call__(*arguments, **options)
        return value if value is None else object_of(value)

    def __getitem__(self, index: Any) -> Any:
        return object_of(super().__getitem__(index))

    def __enter__(self) -> Any:
        return object_of(super().__enter__())

    def _refuse(self, *more: Any, **options: Any) -> Any:
        raise Undecided(FETCH_FIRST)

    __array__ = __iter__ = __next__ = __len__ = _refuse
    __float__ = __int__ = __index__ = __complex__ = _refuse


FETCH_FIRST = (
    "the check computes with an object of yours as though it were numbers, and would let that "
    "object decide; the check must fetch `.data` first"
)


def result(value: Any) -> Any:
    """`value`, as a Result if it is an object. The Remote itself becomes a Result, so that no other
    name of the object can avoid its restrictions.
    """
    if isinstance(value, Remote):
        object.__setattr__(value, "__class__", Result)
    return value


def object_of(value: Any) -> Any:
    """`value` as a Result. Raises Undecided when it is plain data."""
    if not isinstance(value, Remote):
        raise Undecided(FETCH_FIRST)
    return result(value)


class Iterator:
    """An iterator on the learner's side."""

    def __init__(self, session: Session, remote: Remote) -> None:
        self.session, self.remote = session, remote

    def __iter__(self) -> "Iterator":
        return self

    def __next__(self) -> Any:
        return self.session.do("next", self.remote)


def exactly(kind: type[Exact], value: Any) -> Exact:
    """`value`, if it is exactly of this kind."""
    if type(value) is not kind:
        raise Tampered(f"it answered {type(value).__name__} where Python gives {kind.__name__}")
    return value


BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift divmod".split()
IN_PLACE = "iadd isub imul itruediv ifloordiv imod ipow imatmul".split()
UNARY = "neg pos invert abs round".split()
COMPARISONS = "eq ne lt le gt ge".split()
# {name: the kind that Python accepts from it}
CONVERSIONS: dict[str, type] = {"len": int, "int": int, "index": int, "float": float}
CONVERSIONS |= {"complex": complex, "str": str, "repr": str}


def _operators() -> None:
    """Define operators and conversions of Remote. Operands are forwarded in their order."""

    def computed(value: Any) -> Any:
        # The learner's side could answer `got - wanted` with the plain number 0.
        if not isinstance(value, Remote):
            raise NoObject(
                f"an operator of your object gives {type(value).__name__}, where it should give an "
                f"object again"
            )
        return result(value)

    def binary(name: str) -> Callable[..., Any]:
        return lambda self, other: computed(self._session.do(name, self, other))

    def reflected(name: str) -> Callable[..., Any]:
        return lambda self, other: computed(self._session.do(name, other, self))

    def unary(name: str) -> Callable[..., Any]:
        return lambda self, *more: computed(self._session.do(name, self, *more))

    def comparison(name: str) -> Callable[..., Any]:
        return lambda self, other: object_of(self._session.do(name, self, other))

    def conversion(name: str, kind: type) -> Callable[..., Any]:
        return lambda self: exactly(kind, self._session.do(name, self))

    for name, kind in CONVERSIONS.items():
        setattr(Remote, f"__{name}__", conversion(name, kind))
    for name in BINARY:
        operation = f"{name}_" if name in ("and", "or") else name
        setattr(Remote, f"__{name}__", binary(operation))
        setattr(Remote, f"__r{name}__", reflected(operation))
    for names, method in ((IN_PLACE, binary), (UNARY, unary), (COMPARISONS, comparison)):
        for name in names:
            setattr(Remote, f"__{name}__", method(name))
    Remote.__hash__ = object.__hash__  # type: ignore[method-assign, assignment]


_operators()


class Module:
    """A replacement in `sys.modules` for a module of the package."""

    def __init__(self, session: Session, name: str) -> None:
        self.__dict__ |= {"_session": session, "__name__": name, "__path__": [], "__spec__": None}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._session.do("import", self.__name__), name)
