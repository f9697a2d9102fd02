"""A notebook of any size is read without what is no part of a lesson, in little memory."""

import itertools
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tito.lesson.slim_notebook import without_outputs

TEXTS = st.lists(
    st.sampled_from(["a", '"', "\\", '"outputs": [', "outputs", "\n", "é", "😀", *"{}[]:,"])
).map("".join)
KEYS = st.sampled_from(["outputs", "attachments", "widgets", "output", "x/y+output", "source", "a"])
VALUES = st.recursive(
    TEXTS | st.sampled_from([1, -2.5, None, True, "outputs"]),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(KEYS | TEXTS, part, max_size=4),
)
DROPPED = ("outputs", "attachments", "widgets", "output", "x/y+output")


def slim(data, size=1 << 16):
    return b"".join(without_outputs(data[at : at + size] for at in range(0, len(data), size)))


def without(value):
    """The same with json: what `without_outputs` should leave of a value."""
    if isinstance(value, dict):
        return {
            key: None if key in DROPPED and isinstance(part, list | dict) else without(part)
            for key, part in value.items()
        }
    return [without(part) for part in value] if isinstance(value, list) else value


@pytest.mark.slow
@given(VALUES, st.booleans(), st.sampled_from([None, 1]), st.sampled_from([1, 2, 3, 64, 9999]))
def test_what_is_left_is_the_json_without_outputs_with_its_lines(value, ascii, indent, size):
    data = json.dumps(value, ensure_ascii=ascii, indent=indent).encode("utf-8", "surrogatepass")
    found = slim(data, size)
    assert json.loads(found) == without(value)
    assert found.count(b"\n") == data.count(b"\n")


@given(st.text(st.sampled_from('"\\{}[]:, \nouptsa')), st.integers(1, 20))
def test_text_that_is_no_json_never_raises_and_stays_where_no_outputs_are(text, size):
    data = text.encode()
    found = slim(data, size)
    assert found == data or b"null" in found


MEGABYTE = {
    "one string": (b'["', b"step 1234: 0.567\\n" * 60_000, b'"]'),
    "lines": (b"[", b'"step 1234: 0.567\\n",\n' * 45_000, b'""]'),
    "numbers": (b"[", b"1.25, 2.5, " * 90_000, b"1]"),
    "lists": (b"[", b"[[1], 2], " * 500, b"1]"),
    "backslashes": (b'["', b"\\\\" * 500_000, b'"]'),
}


@pytest.mark.parametrize("kind", MEGABYTE)
def test_outputs_of_many_megabytes_are_read_in_little_memory(kind):
    begin, block, end = MEGABYTE[kind]
    pieces = itertools.chain(
        [b'{"cells": [{"outputs": ' + begin],
        itertools.repeat(block, 20),
        [end + b', "source": "x = 1"}]}'],
    )
    tracemalloc.start()
    try:
        kept = b"".join(without_outputs(pieces))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert json.loads(kept) == {"cells": [{"outputs": None, "source": "x = 1"}]}
    assert peak < 8_000_000
