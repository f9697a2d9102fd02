"""When the last commit of a clone says that it was made, read without running git: a repository
that nobody vouches for can tell git to start programs.

A commit's date is whatever its author wrote into it, a claim. What cannot be read, such as a commit
that is packed as a difference to another one, claims nothing.
"""

import re
import struct
import zlib
from datetime import datetime, timezone
from pathlib import Path

from tito.grading.intake.archives import Unreadable, listed, open_regular, read_below

SHA = re.compile(r"[0-9a-f]{40}")
REF = re.compile(r"ref: (refs/[\w./+-]{1,200})")
LARGEST = 1_000_000  # bytes of a commit, unpacked
PACKS = 50  # that are looked into
COMMIT = 1  # the kind of an object in a pack
INDEX = 100_000_000  # bytes of a pack's index


def commit_time(folder):
    """The time (UTC) that the commit at the HEAD of the clone in `folder` claims, or None."""
    try:
        raw = _object(folder, _head(folder))
        found = re.search(rb"(?m)^committer .* (\d{1,11}) ([+-])(\d\d)(\d\d)$", raw)
        return found and datetime.fromtimestamp(int(found[1]), timezone.utc)
    except (Unreadable, OSError, ValueError, OverflowError, struct.error, zlib.error):
        return None


def _head(folder):
    text = read_below(folder, ".git/HEAD", 1000).decode("ascii").strip()
    if not (ref := REF.fullmatch(text)):
        return _sha(text)
    if ".." in ref[1]:
        raise Unreadable("is no reference")
    try:
        return _sha(read_below(folder, f".git/{ref[1]}", 1000).decode("ascii").strip())
    except Unreadable:
        packed = read_below(folder, ".git/packed-refs", 10_000_000).decode("ascii", "replace")
        found = re.search(rf"(?m)^([0-9a-f]{{40}}) {re.escape(ref[1])}$", packed)
        if not found:
            raise
        return found[1]


def _sha(text):
    if not SHA.fullmatch(text):
        raise Unreadable("is no commit")
    return text


def _object(folder, sha):
    """The bytes of a commit, from a file of its own or from a pack."""
    try:
        raw = read_below(folder, f".git/objects/{sha[:2]}/{sha[2:]}", LARGEST)
    except Unreadable:
        return _packed(folder, bytes.fromhex(sha))
    header, _, body = _inflate(raw).partition(b"\0")
    if not header.startswith(b"commit "):
        raise Unreadable("is no commit")
    return body


def _packed(folder, sha):
    for name, _ in listed(folder, ".git/objects/pack/", 3 * PACKS):
        if not re.fullmatch(r"pack-[0-9a-f]{40}\.idx", name):
            continue
        place = _place(read_below(folder, f".git/objects/pack/{name}", INDEX), sha)
        if place is not None:
            pack = Path(folder, ".git", "objects", "pack", name).with_suffix(".pack")
            with open_regular(pack) as file:
                file.seek(place)
                raw = file.read(LARGEST)
            return _first_object(raw)
    raise Unreadable("is no commit that is here whole")


def _first_object(raw):
    """The bytes of the commit with which this part of a pack begins, behind its kind and size."""
    length = next((number for number, byte in enumerate(raw, 1) if not byte & 0x80), None)
    if length is None or raw[0] >> 4 & 7 != COMMIT:
        raise Unreadable("is no commit that is here whole")
    return _inflate(raw[length:])


def _place(index, sha):
    """Where a pack has the object, by its index (version 2), or None."""
    if index[:8] != b"\xfftOc\0\0\0\2":
        return None
    number = struct.unpack_from(">I", index, 8 + 4 * 255)[0]
    names = 8 + 4 * 256
    low = struct.unpack_from(">I", index, 8 + 4 * (sha[0] - 1))[0] if sha[0] else 0
    high = min(number, struct.unpack_from(">I", index, 8 + 4 * sha[0])[0])
    while low < high:
        middle = (low + high) // 2
        found = index[names + 20 * middle : names + 20 * middle + 20]
        if found == sha:
            place = struct.unpack_from(">I", index, names + 24 * number + 4 * middle)[0]
            return place if place < 1 << 31 else None
        low, high = (middle + 1, high) if found < sha else (low, middle)
    return None


def _inflate(raw):
    data = zlib.decompressobj().decompress(raw, LARGEST + 1)
    if len(data) > LARGEST:
        raise Unreadable("is too large")
    return data
