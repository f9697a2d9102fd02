"""What goes over the wire comes out as it went in, to the type and the last bit; whatever else
comes is Malformed, and nothing worse.
"""

import json
import math
import socket
import struct
import threading

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tito.grading.jail import wire

numbers = st.sampled_from(sorted(wire.ARRAYS))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.complex_numbers(),
    st.just(...),
    st.sampled_from(sorted(wire.NAMED)).map(wire.NAMED.get),
    numbers.map(np.dtype),
)
hashable = st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.binary())
some_arrays = numbers.flatmap(
    lambda kind: arrays.arrays(
        kind, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
    )
)
some_numbers = numbers.flatmap(lambda kind: arrays.arrays(kind, 1)).map(lambda array: array[0])
plain = st.recursive(
    st.one_of(scalars, some_arrays, some_numbers),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(hashable, inner, max_size=4),
        st.builds(slice, inner, inner, inner),
    ),
    max_leaves=8,
)


def nothing_foreign(x):
    raise AssertionError(f"{x!r} should be plain")


def refused(parts):
    raise wire.Malformed("no handles here")


def packed(value):
    """The message, and what the writer says is mutable in it."""
    writer = wire.Writer(nothing_foreign)
    return writer.message(writer.value(value)), writer.mutable


def unpacked(message, foreign=refused):
    text, blobs = struct.unpack_from(">II", message)
    reader = wire.Reader(
        message[8 : 8 + text], bytearray(message[8 + text : 8 + text + blobs]), foreign
    )
    return reader.value(reader.body), reader.mutable


def identical(a, b):
    """Whether two values are the same, by type and bit: nan is nan, 0.0 is not -0.0, 1 is not
    True.
    """
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(identical, a, b))
    if isinstance(a, dict):
        return identical(list(a.items()), list(b.items()))
    if isinstance(a, slice):
        return identical((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    if isinstance(a, np.ndarray):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, np.generic):
        return a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return math.isnan(a) and math.isnan(b) or struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, complex):
        return identical((a.real, a.imag), (b.real, b.imag))
    return a is b or a == b


@pytest.mark.slow
@given(plain)
@example(-0.0)
@example([True, 1, 1.0, "1", b"1", np.float64(1), np.True_])
@example((2**63, -(2**63), 2**63 - 1, -(2**5000)))
@example({"a": {"b": [()]}, None: slice(None, ..., -1), False: {}})
@example(np.empty((0, 3)))
@example("\ud800\0")
def test_plain_data_comes_out_as_it_went_in(value):
    message, sent = packed(value)
    got, received = unpacked(message)
    assert identical(got, value)
    # in the same order, so that changes can refer to numbers
    assert len(sent) == len(received) and all(map(identical, sent, received))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4).T,
        np.arange(12)[::-2],
        np.asfortranarray(np.eye(3)),
        np.broadcast_to(np.float32(7), (2, 3)),
    ],
    ids=["transposed", "backwards", "by column", "broadcast"],
)
def test_an_array_comes_out_with_its_numbers_in_their_places_and_can_be_written(array):
    got, _ = unpacked(packed(array)[0])
    assert got.dtype == array.dtype and np.array_equal(got, array)
    got[...] = 0
    assert not got.any()


def test_a_list_that_is_sent_twice_arrives_twice():
    inner = [1]
    got, _ = unpacked(packed([inner, inner])[0])
    assert got == [[1], [1]] and got[0] is not got[1]


class Text(str):
    pass


class Row(list):
    pass


@pytest.mark.parametrize(
    "value",
    [
        Text("a"),
        Row([1]),
        object(),
        len,
        np.array([1, None]),
        np.array(["a"]),
        np.zeros(2, "V8"),
        np.ma.array([1]),
        np.datetime64("2026-01-01"),
        {1},
        bytearray(b"a"),
        range(3),
        np.longdouble(1),
        np.array([1], ">f8"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_what_is_not_exactly_plain_data_is_foreign(value):
    seen = []
    wire.Writer(lambda x: seen.append(x) or ["h", 0]).value([value])
    assert len(seen) == 1 and seen[0] is value


def test_an_int_of_another_class_is_sent_as_an_int():
    own = type("Own", (int,), {"__int__": lambda self: 5, "bit_length": lambda self: 1})(4)
    writer = wire.Writer(lambda x: ["h", 0])
    assert type(writer.value(own)) is int and writer.value(own) == 4
    with pytest.raises(wire.TooLarge):
        writer.value(type(own)(1 << 100_000))


def test_a_value_nested_in_itself_is_too_large_and_no_endless_loop():
    ring = []
    ring.append(ring)
    with pytest.raises(wire.TooLarge, match="deep"):
        packed(ring)


@pytest.mark.parametrize(
    "value",
    [np.ones(9 << 20), b"x" * (65 << 20), "x" * (9 << 20), [np.ones(5 << 20)] * 2],
    ids=["array", "bytes", "text", "arrays together"],
)
def test_what_is_larger_than_allowed_is_not_sent(value):
    with pytest.raises(wire.TooLarge, match="MB"):
        packed(value)


def test_no_name_gives_a_function_that_reads_writes_or_runs_anything():
    names = "load save fromfile memmap vectorize frompyfunc fromfunction apply_along_axis piecewise"
    names = [f"numpy.{name}" for name in f"{names} ndarray matrix recarray from_dlpack".split()]
    names += [f"builtins.{name}" for name in ("type", "eval", "open", "getattr", "__import__")]
    for name in names:
        assert name not in wire.NAMED
        with pytest.raises(wire.Malformed):
            unpacked(message_of(["g", name]))


def message_of(body, blobs=b""):
    text = json.dumps(body).encode() if type(body) is not bytes else body
    return struct.pack(">II", len(text), len(blobs)) + text + blobs


BAD = {
    "nothing": b"",
    "no JSON": b"{",
    "no UTF-8": b'"\xff"',
    "two documents": b"1 2",
    "an object": b"{}",
    "an empty list": b"[]",
    "a list as a kind": b"[[]]",
    "an object as a kind": b"[{}]",
    "a digit too many": b"1" * 5000,
    "100,000 brackets": b"[" * 100_000,
    "lists nested 30 deep": b'["l",' * 30 + b"1" + b"]" * 30,
    "tuples nested 30 deep": b'["t",' * 30 + b"1" + b"]" * 30,
    "a shape that is no list": ["a", "<f8", 3, 0],
    "a shape of floats": ["a", "<f8", [0.0], 0],
    "a shape of bools": ["a", "|u1", [False], 0],
    "a negative shape": ["a", "<f8", [-1], 0],
    "a shape that does not fit": ["a", "<f8", [2], 8],
    "33 dimensions": ["a", "<f8", [0] * 33, 0],
    "overflowing dimensions": ["a", "<f8", [2**40, 2**40, 2**40], 8],
    "a huge dimension": ["a", "<f8", [10**30], 8],
    "nothing, whose sums are millions": ["a", "<f8", [1 << 27, 0], 0],
    "objects": ["a", "|O", [1], 8],
    "text in an array": ["a", "<U1", [1], 4],
    "records": ["a", "|V8", [1], 8],
    "big-endian": ["a", ">f8", [1], 8],
    "times": ["a", "<M8[s]", [1], 8],
    "a dtype by code": ["a", "d", [1], 8],
    "a dtype that is a list": ["a", ["<f8"], [1], 8],
    "a dtype of fields": ["y", "f8,f8"],
    "a length beyond the end": ["b", 9],
    "a negative length": ["b", -1],
    "a length that is true": ["b", True],
    "a length that is text": ["b", "8"],
    "no length": ["b"],
    "a number of 7 bytes": ["n", "<f8", 7],
    "two numbers for one": ["n", "<f4", 8],
    "no number": ["n", "<f8", 0],
    "a name that is none": ["g", "os.system"],
    "a name that is a list": ["g", []],
    "an odd dictionary": ["d", 1],
    "a list as a key": ["d", ["l"], 1],
    "an array as a key": ["d", ["a", "<f8", [], 8], 1],
    "hex that is none": ["i", "0xzz"],
    "hex that is a number": ["i", 5],
    "a number that Python will not show": ["i", hex(10**4300)],
    "a slice of two": ["s", 1, 2],
    "a complex of text": ["c", "1", "2"],
    "a complex of lists": ["c", [], 1],
    "a kind that is none": ["pickle", "x"],
    "a handle": ["h", 0, False, False],
    "a null kind": [None, 1],
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD.keys())
def test_what_is_not_in_the_agreed_form_is_malformed(body):
    with pytest.raises(wire.Malformed):
        unpacked(message_of(body, b"\0" * 8))


def test_a_byte_that_is_neither_true_nor_false_becomes_true():
    got, _ = unpacked(message_of(["a", "|b1", [3], 3], b"\x00\x01\x7f"))
    assert got.dtype == bool and got.tobytes() == b"\x00\x01\x01"


def test_keys_that_collide_are_refused_before_they_cost_anything():
    colliding = [part for n in range(1, 100_000) for part in (n * (2**61 - 1), 0)]
    with pytest.raises(wire.Malformed):
        unpacked(message_of(["d", *colliding]))


json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=4),
        st.sampled_from(["a", "l", "t", "d", "i", "b", "s", "e", "c", "n", "y", "g", "<f8", "|b1"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(json_values, st.binary(max_size=32))
@settings(max_examples=400)
def test_any_json_is_a_value_or_malformed(body, blobs):
    try:
        unpacked(message_of(body, blobs))
    except wire.Malformed:
        pass


@given(
    plain, st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4)
)
def test_a_message_with_some_bytes_changed_is_a_value_or_malformed(value, changes):
    message = bytearray(packed(value)[0])
    head, rest = message[:8], message[8:]
    for place, byte in changes:
        if rest:
            rest[place % len(rest)] = byte
    try:
        unpacked(bytes(head + rest))
    except wire.Malformed:
        pass


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    ours.settimeout(10)
    with ours, theirs:
        yield ours, theirs


def test_a_message_arrives_whole_however_it_is_cut(pair):
    ours, theirs = pair
    message, _ = packed({"x": np.arange(200_000.0), "y": ["z"] * 1000})
    sender = threading.Thread(
        target=lambda: [
            theirs.sendall(message[at : at + 3001]) for at in range(0, len(message), 3001)
        ]
    )
    sender.start()
    text, blobs = wire.receive(ours)
    sender.join()
    reader = wire.Reader(text, blobs, refused)
    assert identical(reader.value(reader.body)["x"], np.arange(200_000.0))


def test_a_large_message_is_sent_whole(pair):
    ours, theirs = pair
    message, _ = packed(np.arange(500_000.0))
    sender = threading.Thread(target=wire.send, args=(theirs, message))
    sender.start()
    text, blobs = wire.receive(ours)
    sender.join()
    assert struct.pack(">II", len(text), len(blobs)) + text + blobs == message


@given(st.binary(max_size=64))
def test_any_bytes_are_a_message_malformed_or_the_end(data):
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            theirs.sendall(data)
        ours.settimeout(10)
        try:
            text, blobs = wire.receive(ours)
            assert len(text) + len(blobs) + 8 == len(data)
            wire.Reader(text, blobs, refused)
        except (wire.Malformed, wire.Closed):
            pass


@pytest.mark.parametrize(
    "head",
    [(0xFFFFFFFF, 0), (0, 0xFFFFFFFF), (wire.LONGEST_JSON + 1, 0), (2, wire.LONGEST_BLOBS + 1)],
)
def test_a_message_that_claims_too_much_is_refused_before_it_comes(pair, head):
    ours, theirs = pair
    theirs.sendall(struct.pack(">II", *head))
    with pytest.raises(wire.Malformed, match="larger"):
        wire.receive(ours)


def test_two_messages_at_once_are_malformed(pair):
    ours, theirs = pair
    theirs.sendall(message_of(["ok"]) * 2)
    with pytest.raises(wire.Malformed, match="more than one"):
        wire.receive(ours)


def test_both_sides_notice_the_end_of_the_connection(pair):
    ours, theirs = pair
    theirs.close()
    with pytest.raises(wire.Closed):
        wire.receive(ours)
    with pytest.raises(wire.Closed):
        for _ in range(3):
            wire.send(ours, message_of(["ok"]))


def test_before_is_called_before_each_wait(pair):
    ours, theirs = pair
    calls = []
    theirs.sendall(message_of(["ok"]))
    wire.receive(ours, lambda: calls.append("receive"))
    wire.send(ours, message_of(["ok"]), lambda: calls.append("send"))
    assert calls[0] == "receive" and calls[-1] == "send"
