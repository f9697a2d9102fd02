"""The messages between judge and jail: plain data of exact types, in length-prefixed frames.

Both sides run this file.

A message is a JSON document and the raw bytes of its arrays, each with its length. Plain data is
bool, int, float, str, bytes, None, list, tuple, dict, slice, `...`, NumPy numbers, dtypes and
arrays of numbers; types and NumPy's own operations (`float`, `np.add`) go by name. Everything else
is a handle: a number under which the jail keeps the object. There is no pickle, no eval and no
object array: reading a message runs no code of the sender.
"""

import json
import socket
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

HEAD = struct.Struct(">II")  # bytes of JSON, bytes of arrays
LONGEST_JSON = 8 << 20
LONGEST_BLOBS = 64 << 20
DEEPEST = 24
WIDEST = 1 << 20  # parts of one message
# Of a dictionary: the time for keys that were chosen to collide is quadratic in their number.
MOST_KEYS = 4096
MOST_ALIKE = 64  # different values with the same hash in a message; more would be an attack
HASHED = frozenset("tinc")  # kinds of values whose hashes can be chosen; those of text cannot
ARRAYS = frozenset(
    np.dtype(code).str
    for code in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
)
SMALL = 1 << 63
# of a whole number; for more digits `str` raises, which a message of a check may call
MOST_BITS = 14_000
ENCODE = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class Malformed(Exception):
    """The other side sent a malformed message."""


class TooLarge(Exception):
    """A value to send is too large or nested too deeply."""


class Closed(Exception):
    """The other side has closed the connection."""


# NumPy's functions that only compute. Others read files, for example. The jail must not be able to
# name them, because a check may call what it receives.
COMPUTING = """argmax argmin argsort broadcast_to clip concatenate copy cumsum dot einsum
expand_dims flip max mean min moveaxis outer pad prod ravel repeat reshape roll sort squeeze stack
std sum swapaxes take tensordot tile transpose trapezoid tril triu var where"""
TYPES = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, slice, object)


def _named() -> dict[str, Any]:
    """{name: object} of the objects that are sent by name."""
    objects: dict[str, Any] = {f"builtins.{kind.__name__}": kind for kind in TYPES}
    for name, value in vars(np).items():
        if (
            isinstance(value, np.ufunc)
            or name in COMPUTING.split()
            or isinstance(value, type)
            and issubclass(value, np.generic)
        ):
            objects[f"numpy.{name}"] = value
    return objects


NAMED = _named()
NAMES = {id(value): name for name, value in reversed(NAMED.items())}


class Writer:
    """Turns values into one message.

    foreign(value)  what to send for a value that is not plain, as a list that `Reader.foreign`
                    understands
    mutable         the arrays, lists and dictionaries that were sent, in order: the receiver may
                    change them
    """

    def __init__(self, foreign: Callable[[Any], list[Any]]) -> None:
        self.foreign, self.size, self.parts = foreign, 0, 0
        self.blobs: list[bytes] = []
        self.mutable: list[Any] = []

    def blob(self, raw: bytes) -> int:
        self.size += len(raw)
        if self.size > LONGEST_BLOBS:
            raise TooLarge(f"more than {LONGEST_BLOBS >> 20} MB at once")
        self.blobs.append(raw)
        return len(raw)

    def value(self, x: Any, depth: int = 0) -> Any:
        kind = type(x)
        if x is None or kind is bool or kind is float or kind is str:
            return x
        if issubclass(kind, int):
            x = int.__int__(x)  # the size of a Tensor is an int that can be called
            if x.bit_length() > MOST_BITS:
                raise TooLarge(f"a number of more than {MOST_BITS} bits")
            return x if -SMALL < x < SMALL else ["i", hex(x)]
        self.parts += 1
        if depth > DEEPEST:
            raise TooLarge(f"nested more than {DEEPEST} deep")
        if self.parts > WIDEST:
            raise TooLarge(f"more than {WIDEST} parts")
        if kind is np.ndarray and x.dtype.str in ARRAYS:
            self.mutable.append(x)
            return ["a", x.dtype.str, list(x.shape), self.blob(x.tobytes())]
        if kind is list:
            self.mutable.append(x)
            return ["l", *[self.value(part, depth + 1) for part in x]]
        if kind is tuple:
            return ["t", *[self.value(part, depth + 1) for part in x]]
        if kind is dict:
            if len(x) > MOST_KEYS:
                raise TooLarge(f"a dictionary of more than {MOST_KEYS} keys")
            self.mutable.append(x)
            return ["d", *[self.value(part, depth + 1) for pair in x.items() for part in pair]]
        if kind is slice:
            return ["s", *[self.value(part, depth + 1) for part in (x.start, x.stop, x.step)]]
        return self.without_parts(x, kind)

    def without_parts(self, x: Any, kind: type) -> Any:
        """Like `value`, for values that contain no others."""
        if kind is bytes:
            return ["b", self.blob(x)]
        if x is Ellipsis:
            return ["e"]
        if kind is complex:
            return ["c", x.real, x.imag]
        if isinstance(x, np.generic) and kind is x.dtype.type and x.dtype.str in ARRAYS:
            return ["n", x.dtype.str, self.blob(x.tobytes())]
        if isinstance(x, np.dtype) and x.str in ARRAYS:
            return ["y", x.str]
        # The table keeps its objects alive, so no other object has such an id.
        if name := NAMES.get(id(x)):
            return ["g", name]
        return self.foreign(x)

    def message(self, body: Any) -> bytes:
        """The bytes of a message: `body` is what `value` returned, or lists of such."""
        text = ENCODE(body).encode()
        if len(text) > LONGEST_JSON:
            raise TooLarge(f"more than {LONGEST_JSON >> 20} MB of text and numbers")
        return b"".join([HEAD.pack(len(text), self.size), text, *self.blobs])


class Reader:
    """Turns one message into values. Raises Malformed when it is not in the agreed form.

    foreign(parts)  the object that a list made by `Writer.foreign` stands for
    mutable         the arrays, lists and dictionaries that came, in the order in which they were
                    written
    """

    def __init__(
        self, text: bytes, blobs: bytes | bytearray, foreign: Callable[[list[Any]], Any]
    ) -> None:
        self.blobs, self.at = memoryview(blobs), 0
        self.foreign, self.parts = foreign, 0
        self.mutable: list[Any] = []
        self.hashes: dict[int, Any] = {}
        self.alike = 0
        try:
            self.body = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Malformed(f"no JSON: {error}") from None

    def raw(self, size: Any) -> memoryview:
        if type(size) is not int or not 0 <= size <= len(self.blobs) - self.at:
            raise Malformed("a length that does not fit")
        self.at += size
        return self.blobs[self.at - size : self.at]

    def value(self, x: Any, depth: int = 0) -> Any:
        if type(x) is int:
            if not -SMALL < x < SMALL:
                raise Malformed("a number that is too long")
            return x
        if x is None or type(x) in (bool, float, str):
            return x
        self.parts += 1
        if type(x) is not list or not x or depth > DEEPEST or self.parts > WIDEST:
            raise Malformed("no value")
        kind, *parts = x
        try:
            value = self._tagged(kind, parts, depth + 1)
            if kind in HASHED:
                self._count(value)
            return value
        except (ValueError, TypeError, OverflowError) as error:
            raise Malformed(
                f"a value of kind {kind!r:.20} that does not fit: {error!s:.200}"
            ) from None

    def _count(self, value: Any) -> None:
        """Refuse many different values with the same hash. A dictionary or set of them takes
        quadratic time and cannot be interrupted.
        """
        try:
            other = self.hashes.setdefault(hash(value), value)
        except TypeError:  # a list in a tuple
            return
        if other is not value and type(other) is type(value) and other != value:
            self.alike += 1
            if self.alike > MOST_ALIKE:
                raise Malformed("values whose hashes collide")

    def _tagged(self, kind: str, parts: list[Any], depth: int) -> Any:
        if kind == "a":
            name, shape, size = parts
            array = self._numbers(name, size)
            if (
                type(shape) is not list
                or len(shape) > 32
                or not all(type(n) is int and n >= 0 for n in shape)
                or 0 in shape
                and np.prod([n or 1.0 for n in shape]) > WIDEST  # its sums are large
            ):
                raise Malformed("no shape")
            array = array.reshape(shape)
            self.mutable.append(array)
            return array
        if kind == "l":
            items: list[Any] = []
            self.mutable.append(items)
            items += [self.value(part, depth) for part in parts]
            return items
        if kind == "t":
            return tuple([self.value(part, depth) for part in parts])
        if kind == "d":
            if len(parts) > 2 * MOST_KEYS:
                raise Malformed("too many keys")
            table: dict[Any, Any] = {}
            self.mutable.append(table)
            values = [self.value(part, depth) for part in parts]
            table.update(zip(values[::2], values[1::2], strict=True))
            return table
        if kind == "s":
            start, stop, step = parts
            return slice(self.value(start, depth), self.value(stop, depth), self.value(step, depth))
        return self._without_parts(kind, parts)

    def _without_parts(self, kind: str, parts: list[Any]) -> Any:
        """Like `_tagged`, for values that contain no others."""
        if kind == "i":
            (text,) = parts
            if len(text) > MOST_BITS // 4 + len("-0x"):
                raise Malformed("a number that is too long")
            return int(text, 16)
        if kind == "b":
            return bytes(self.raw(*parts))
        if kind == "e":
            return Ellipsis
        if kind == "c":
            real, imaginary = parts
            return complex(real, imaginary)
        if kind == "n":
            name, size = parts
            (number,) = self._numbers(name, size)
            return number
        if kind == "y":
            (name,) = parts
            return self._dtype(name)
        if kind == "g":
            (name,) = parts
            if type(name) is not str or name not in NAMED:
                raise Malformed("no such name")
            return NAMED[name]
        return self.foreign([kind, *parts])

    def _dtype(self, name: Any) -> np.dtype[Any]:
        if type(name) is not str or name not in ARRAYS:
            raise Malformed("no dtype of numbers")
        return np.dtype(name)

    def _numbers(self, name: Any, size: Any) -> np.ndarray[Any, Any]:
        dtype = self._dtype(name)
        array = np.frombuffer(bytearray(self.raw(size)), dtype)  # a bytearray: ours, and writable
        # A bool is one byte, and NumPy trusts that it is 0 or 1.
        return array.view(np.uint8) != 0 if dtype.kind == "b" else array


def send(sock: socket.socket, message: bytes, before: Callable[[], object] = lambda: None) -> None:
    """Send all of a message. before() is called before each part: it waits for the socket.

    Raises Closed if the other side has closed it.
    """
    rest = memoryview(message)
    while rest:
        before()
        try:
            rest = rest[sock.send(rest) :]
        except (BrokenPipeError, ConnectionResetError):
            raise Closed from None


def receive(
    sock: socket.socket, before: Callable[[], object] = lambda: None
) -> tuple[bytes, bytearray]:
    """(text, blobs) of the next message.

    Raises Malformed if it is too large or if more data follows it, Closed at the end.
    """
    buffer, length = bytearray(), HEAD.size
    while len(buffer) < length:
        before()
        try:
            part = sock.recv(max(length - len(buffer), 1 << 16))
        except ConnectionResetError:
            part = b""
        if not part:
            raise Closed
        buffer += part
        if length == HEAD.size <= len(buffer):
            text, blobs = HEAD.unpack_from(buffer)
            if text > LONGEST_JSON or blobs > LONGEST_BLOBS:
                raise Malformed("a message larger than is allowed")
            length += text + blobs
    if len(buffer) > length:
        raise Malformed("more than one message, where one is asked for")
    return bytes(buffer[HEAD.size : HEAD.size + text]), buffer[HEAD.size + text :]
