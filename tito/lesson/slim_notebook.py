"""Read a notebook of any size in little memory: without outputs, attachments and widgets, which are
most of its bytes and no part of a lesson.
"""

import itertools
import re
from collections.abc import Iterable, Iterator

# In a string, to its end or the end of the bytes that are there.
INSIDE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.S)
STRING = rb'"%s"' % INSIDE.pattern
# A key whose value, a list or an object, is dropped.
KEY = re.compile(rb'"(?:[\w./+-]{0,60}outputs?|attachments|widgets)"\s*:\s*(?=[\[{])')
# Everything to such a key, or to a string of which the end or what follows is not there yet.
KEPT = re.compile(rb'(?:[^"]++|(?!%s)%s(?=\s*+(?::\s*+)?+\S))*+' % (KEY.pattern, STRING), re.S)
# In a dropped value: everything to a bracket of a list or object in which there are others.
PLAIN = rb'[^"{}\[\]]++|%s' % STRING
DROPPED = re.compile(rb"(?:%s|[\[{](?:%s)*+[}\]])*+" % (PLAIN, PLAIN), re.S)
LONGEST = 1000  # bytes of a key with what follows


def without_outputs(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of a notebook, with null instead of its outputs, attachments and widgets.

    Line ends stay, so that a line of damaged JSON has its number. Other text stays as it is.
    """
    rest, depth, inside = b"", 0, False  # depth: of brackets in a dropped value; inside: a string
    for piece in itertools.chain(pieces, [b""]):
        data, at = rest + piece, 0
        while at < len(data):
            start, pattern = at, INSIDE if inside else DROPPED if depth else KEPT
            at = _end(pattern, data, at)
            sign = data[at : at + 1]
            if not depth and not inside and (key := KEY.match(data, at)):
                yield data[start : key.end()] + b"null"
                at = start = key.end() + 1
                depth = 1
                continue
            is_short = len(data) - at < LONGEST and bool(piece)
            is_unknown = sign == b"\\" or sign == b'"' and not (depth or inside) and is_short
            if sign and not is_unknown:
                at += 1
                inside ^= sign == b'"'
            if text := b"\n" * data.count(b"\n", start, at) if depth else data[start:at]:
                yield text
            if is_unknown:
                break
            if depth and sign != b'"' and sign:
                depth += 1 if sign in b"[{" else -1
        rest = data[at:]
    if not depth:
        yield rest


def _end(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    match = pattern.match(data, at)
    return match.end() if match else at
