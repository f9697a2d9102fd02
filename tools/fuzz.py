"""Random damage, aware of the form of what it damages: scripts, notebooks, zips, tars, and the
answers of the learner's side to the judge.

    python tools/fuzz.py --inputs 100000 [--first 0] [--kind script]

Every input is made by a `random.Random` and nothing else: of its number here, of hypothesis'
choices in test_fuzz.py, which makes a failing one small. A failure here names its kind and number;
`--first NUMBER --inputs 1 --kind KIND` runs it again.
"""

import argparse
import bz2
import contextlib
import copy
import gzip
import io
import json
import lzma
import marshal
import random
import resource
import signal
import socket
import struct
import sys
import tarfile
import tempfile
import time
import warnings
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "tito"))

import numpy as np
from grading.jail.hostile import course as attacked
from small_course import NUMBERS, SUMS, make_course

from tito.errors import TitoError
from tito.grading.intake import collect
from tito.grading.intake.open_submission import open_submission
from tito.grading.jail import jailed_check, modules, reader, wire
from tito.grading.result import LessonResult
from tito.grading.result import blank as blank_check
from tito.grading.setting import Setting
from tito.grading.submission import LessonFile
from tito.lesson import cells, course, export, notebook, outcome

ALLCLOSE = np.allclose  # the judge has another meanwhile
LONGEST = 4200  # characters of any message about a submission
UNWRITTEN = 'raise NotImplementedError("yours to write: tito hint numbers-double")'

# Lines that a script or a cell may hold.
HEADS = (
    """\
# %%
#%%
# %%%%
# %% [markdown]
# %% [raw]
# %% [markdown] [raw]
# %% [md] x=[markdown]
# %% exercise="double"
# %% exercise="triple"
# %% exercise=["double"]
# %% exercise=null
# %% exercise={}
# %% checks="double"
# %% checks=1
# %% tags={"a": 1}
# %% tags="hints"
# %% tags=["hints"] hints="00"
# %% nbgrader={"solution": true, "grade_id": 5}
# %% nbgrader={"solution": true, "grade_id": "-double"}
# %% a=1 a=2 a.b-c=3
# %% title="x" words
# %% x=
# %% x="
# %% x=NaN y=1e999 z=-
# %% double hidden points=2
# ---\
""".split("\n")
    + [f"# %% x={'1' * 5000}", f"# %% x={'[' * 9000}", f"# %% {'a ' * 4000}x=1"]
)
CODE = (
    """\
#| export
#| exporti
#|export
#| default_exp core.sums
#| default_exp core.numbers core.sums
#| export\u2028import os
\x0c#| export
\x0cx = 1
### BEGIN SOLUTION
### END SOLUTION
import os, sys as s
import os; os.getcwd()
x = 1; import os
import tinytorch.core.numbers as n
from math import *
from math import sqrt, sqrt as s
from math import (pi,
from . import x
from .... import y as z
from __future__ import annotations
from __future__ import braces
import \uff4f\uff53
def \ufb01(x): return x
class \u2102: pass
def double(x): return x
def double(x): yield x
async def double(x): await x
class double: pass
double = None
double: int
double += 1
(double := 1)
[a, *b] = c.d[0], e = 1
del double
__all__ = 1
return 1
yield
await x
break
global x
nonlocal x
if x:
    x
\tx
  \ty
lambda *, x: 0
print(f'{x!z}')
f'{'
b'\u00e9'
'\\ud800' '\\N{no such}' '\\x0'
"\"\"
'''
(
]
\\
x = 1 \\
@
@double
match x:
    case {**y}: pass
type X = int
try: pass
except* E: pass
%time double(1)
%%bash
!ls -l
x = !ls
x?
??x
# %time double(1)
# -*- coding: latin-1 -*-
# alt: a picture
#
assert False, "\\0"
x = 1e999 + 1j
x = .1_000
0777
1if 1else 1\
""".split("\n")
    + [
        UNWRITTEN,
        f"x = {'9' * 5000}",
        f"x = 0x{'f' * 6000}",
        f"x = {'-' * 3000}1",
        f"x = {'(' * 150}{')' * 150}",
        f"x = {'(' * 300}",
        f"x = {'+'.join('1' * 4000)}",
        f"x{'.x' * 3000}",
        f"x = '{'a' * 20_000}'",
        f"from {'a' * 130} import *",
        f"import {', '.join(f'm{n}' for n in range(200))}",
        f"from math import {', '.join(f'm{n}' for n in range(200))}",
        f"def {'f' * 5000}(): pass",
        f"def f({', '.join(f'a{n}' for n in range(400))}): pass",
        "".join(" " * n + "if x:\n" for n in range(110)) + " " * 110 + "x",
        "".join(" " * n + "for x in y:\n" for n in range(30)) + " " * 30 + "x",
    ]
)
HEADERS = (
    """\
a: 2001-99-99
a: !!int x
a: !!float x
a: !!bool x
a: !!timestamp x
a: !!python/object/apply:os.getcwd []
a: &x [*x]
? {a: b}
<<: 3
jupyter: 1
jupyter: {tinytorch: []}
a: !!binary é
\x01
*x\
""".split("\n")
    + [f"a: {'1' * 5000}", f"a: {'[' * 3000}", f"a: {'{a: ' * 500}"]
)
CHARACTERS = [
    *"\0\t\x0b\x0c\x1a\x1c\x1f \x7f\x85\xa0\xad\u0300\u200b\u2028\u2029\u202e\ufeff\ufffe\uffff",
    *"\ufb01\u2102\u0661\U0001d7d9\U0001f600\U0010ffff\"'`\\#%|{}[]()=:;,.@!?\n",
    *"\ud800\udfff\udc80",  # which no UTF-8 can hold: a lone half of a character
]
NEWLINES = ["\n", "\r\n", "\r", "\n\r", "\u2028", "\x0b", "\x85", "\x0c\n"]

# Values that JSON can hold, where a notebook or a message has others.
ODD = [
    None, True, False, 0, -1, 1.5, 2**31, 2**63, -(2**64), 10**30, float("nan"), float("inf"), "",
    "x", "\0", "\ud800", "\u2028", "code", "markdown", "a" * 5000, [], {}, [[]], [None], ["x", 1],
    [["a", 1]], [[1, 2]], [[{}, 1]], {"": ""}, {"x": {"y": []}}, ["#| export\n", "import os"],
    {"solution": True, "grade_id": ["x-double"]},
    {"grade": True, "grade_id": "check-double", "solution": True},
]  # fmt: skip


def deep(levels, inside=0, kind="["):
    """Text of JSON that is nested so deep, as no encoder would write it."""
    return (
        f"{'[' * levels}{inside}{']' * levels}"
        if kind == "["
        else '{"a":' * levels + "0" + "}" * levels
    )


# What makes inputs. `r` is a random.Random, or hypothesis' stand-in for one.


def script(r):
    """Bytes of a script: one of the course's with some of its lines changed."""
    text = r.choice([NUMBERS, NUMBERS, SUMS, "# %%\n#| export\nx = 1\n", "", "#| export\nx = 1"])
    lines = text.split("\n")
    for _ in range(r.randrange(1, 6)):
        at, what = r.randrange(len(lines) + 1), r.randrange(12)
        if what < 3:
            lines.insert(at, r.choice(CODE))
        elif what < 5:
            lines.insert(at, r.choice(HEADS))
        elif what == 5:
            lines[:0] = ["# ---", *[f"# {line}" for line in r.choice(HEADERS).split("\n")], "# ---"]
        elif what == 6:
            del lines[at : at + r.randrange(1, 4)]
        elif what == 7:
            lines[at:at] = lines[at : at + r.randrange(1, 30)] * r.randrange(1, 4)
        elif what == 8 and lines:
            row = lines[at % len(lines)]
            lines[at % len(lines)] = inserted(r, row, r.choice([*CHARACTERS, *CODE, *HEADS]))
        elif what == 9 and lines:
            lines[at % len(lines)] = (
                r.choice([" ", "\t", "\x0c", "    ", "# "]) + lines[at % len(lines)]
            )
        elif what == 10:
            lines[at:] = []
        else:
            lines.insert(at, r.choice([*CODE, *HEADS]) * r.randrange(1, 50))
    return encoded(r, "\n".join(lines))


def inserted(r, text, piece):
    at = r.randrange(len(text) + 1)
    return text[:at] + piece + text[at:]


def encoded(r, text):
    """Text as bytes: mostly UTF-8, with any line ends, with damage now and then."""
    if r.randrange(4) == 0:
        text = text.replace("\n", r.choice(NEWLINES))
    if r.randrange(10) == 0:
        text = "\ufeff" * r.randrange(1, 3) + text
    coding = (
        "utf-8"
        if r.randrange(15)
        else r.choice(["utf-16", "utf-32", "latin-1", "utf-7", "utf-8-sig"])
    )
    raw = text.encode(
        coding, "surrogatepass" if coding.startswith("utf") and coding != "utf-7" else "replace"
    )
    return damaged(r, raw) if r.randrange(8) == 0 else raw


def damaged(r, raw):
    """Some bytes changed, gone, doubled."""
    raw = bytearray(raw)
    for _ in range(r.randrange(1, 5)):
        at, what = r.randrange(len(raw) + 1), r.randrange(4)
        if what == 0:
            raw[at : at + 1] = bytes([r.randrange(256)])
        elif what == 1:
            del raw[at : at + r.randrange(1, 20)]
        elif what == 2:
            raw[at:at] = raw[at : at + r.randrange(1, 50)]
        else:
            raw[at : at + 4] = r.choice(
                [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"PK\3\4"]
            )
    return bytes(raw)


def a_notebook():
    """The course's script as a notebook, as json.loads gives it."""
    made = cells.parse(Path("numbers_dev.py"), NUMBERS)
    return {
        "cells": [
            {
                "cell_type": cell.kind,
                "execution_count": None,
                "id": f"cell-{cell.number}",
                "metadata": {
                    **cell.metadata,
                    **(
                        {"nbgrader": notebook.nbgrader("numbers-double", None)}
                        if cell.exercise
                        else {}
                    ),
                },
                "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}],
                "source": cell.source.splitlines(keepends=True),
            }
            for cell in made.cells
        ],
        "metadata": {"kernelspec": {"name": "python3"}, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def places_in(value, above=(), most=400):
    """The containers in a JSON value with their keys: [(container, key)]."""
    found, waiting = [], [value]
    while waiting and len(found) < most:
        one = waiting.pop(0)
        pairs = one.items() if isinstance(one, dict) else enumerate(one)
        for key, part in pairs:
            found.append((one, key))
            if isinstance(part, (dict, list)):
                waiting.append(part)
    return found


def json_damaged(r, value, odd=ODD):
    """`value` with some of its parts replaced, gone, renamed, moved or repeated, in place."""
    for _ in range(r.randrange(1, 5)):
        found = places_in(value)
        if not found:
            return value
        # as often near the root as deep in it
        into, key = (
            found[r.randrange(len(found))]
            if r.randrange(2)
            else found[r.randrange(min(len(found), 20))]
        )
        what = r.randrange(8)
        if what < 4:
            into[key] = copy.deepcopy(r.choice(odd))
        elif what == 4:
            del into[key]
        elif what == 5 and isinstance(into, dict):
            into[r.choice(["", "x", "source", "cell_type", "\ud800", key + " "])] = into.pop(key)
        elif what == 6 and isinstance(into, list):
            into[key:key] = copy.deepcopy(into[key : key + 3]) * r.randrange(1, 4)
        else:
            other, place = r.choice(found)
            with contextlib.suppress(LookupError):  # a part that is gone
                into[key] = json.loads(json.dumps(other[place]))
    return value


def a_damaged_notebook(r):
    """Bytes of a notebook with parts of other types, odd cells, and text that json.dumps would
    never write.
    """
    book = a_notebook()
    if r.randrange(3):
        cell = r.choice(book["cells"])
        lines = [r.choice([*CODE, *HEADS, *CHARACTERS]) for _ in range(r.randrange(1, 4))]
        cell["source"] = r.choice(
            ["\n".join(lines), "#| export\n" + "\n".join(lines), ["#| export\r", *lines], lines]
        )
    for cell in r.sample(book["cells"], r.randrange(3)):  # as large as a limit, or as a piece
        key = r.choice(["outputs", "attachments", "metadata"])
        many = r.choice([1, 300, 66_000])
        text = r.choice(['step "1"\n', "\\", "é{[", '"outputs": [', "]}"])
        cell[key] = {"widgets": [text] * 9, "text": text * many} if key == "metadata" else [
            {"data": {"image/png": "iVBOR" * many, "a": [[1, [text]], {text: 1}]}}, text * many
        ]  # fmt: skip
    if r.randrange(4):
        book = json_damaged(r, book)
    text = json.dumps(book, ensure_ascii=r.randrange(2) == 0, indent=r.choice([None, 1]))
    if r.randrange(5) == 0:
        text = inserted(
            r, text, r.choice(['"cells": 1,', "{", "]", "\\u", "\\ud800", "NaN", "-", '"'])
        )
    if r.randrange(8) == 0:
        raw = r.choice(
            [
                "1" * 5000,
                "1e99999",
                "-0",
                "01",
                deep(3000),
                deep(3000, kind="{"),
                '"\n"',
                "1" * 4000,
            ]
        )
        text = text.replace(
            r.choice(["null", "4", "true", "[]", '"stdout"']), raw, r.randrange(1, 3)
        )
    return encoded(r, text)


NAMES = [
    "numbers_dev.py", "sums_dev.py", "numbers_dev.ipynb", "a/b/numbers_dev (1).py",
    "NUMBERS_DEV.PY", "x.py", "x.ipynb", ".py", "numbers_dev.py/",
    "numbers_dev.py/numbers_dev.py", "../numbers_dev.py", "/numbers_dev.py", "C:numbers_dev.py",
    "..\\numbers_dev.py", "a\\numbers_dev.py", "a/../numbers_dev.py", "./numbers_dev.py",
    "//numbers_dev.py", "", "/", ".", "..", "numbers_dev.py\0.txt", "\u202enumbers_dev.py",
    "\x1b[2Jnumbers_dev.py", "num\ufb01bers_dev.py", "numbers_dev.zip", "x.zip", "x.zip/y.zip",
    "x.tar", "x.tar.gz", "a/x.tgz", "numbers_dev.tar.xz", "tito.toml",
    "tinytorch/core/numbers.py", ".tito/backups/numbers_dev.py", "__MACOSX/._numbers_dev.py",
    f"{'a' * 200}numbers_dev.py", f"{'a/' * 60}numbers_dev.py",
    f"{'a' * 5000}/numbers_dev.ipynb", "numbers_dev.py\n", "a" * 65_000,
]  # fmt: skip
MODES = [0o120777, 0o020666, 0o060666, 0o010666, 0o140777, 0o040755, 0, 0o170000]


def member_data(r, name, inner):
    """Bytes of a file of an archive; `inner` archives may hold archives in turn."""
    if inner and name.endswith((".zip", ".tar", "gz", "xz")):
        return a_zip(r, inner - 1) if name.endswith(".zip") else a_tar(r, inner - 1)
    if name.endswith(".ipynb"):
        return a_damaged_notebook(r)
    ends = b"PK\5\6" + b"\0" * 18
    data = r.choice([NUMBERS.encode(), SUMS.encode(), b"", b"\0" * 300_000, ends])
    return data if r.randrange(3) else script(r)


def a_tar(r, inner=2):
    """Bytes of a tar, compressed or not, of which each field of a header may lie."""
    out = b""
    for _ in range(r.randrange(1, 5)):
        name = NAMES[r.randrange(3)] if r.randrange(2) else r.choice(NAMES)
        data = member_data(r, name, inner)
        info = tarfile.TarInfo(name)
        info.size = len(data)
        info.mtime = r.choice([0, 1.5, 2**33, 1_760_000_000])
        if r.randrange(6) == 0:
            info.type = bytes([r.choice(b"0123456789LKSxgVX\0")])
            info.linkname = r.choice(NAMES)
        if r.randrange(8) == 0:
            info.pax_headers = {
                r.choice(["size", "path", "GNU.sparse.major", "GNU.sparse.map", "linkpath", "x"]):
                    r.choice(["-1", "0", "1,2", "99999999999999", "numbers_dev.py", "\udcff"])
            }  # fmt: skip
        form = r.choice([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
        head = bytearray(info.tobuf(form, "utf-8", "surrogateescape"))
        if r.randrange(6) == 0:  # a lie with a right checksum
            block = len(head) - 512
            field = block + r.choice([100, 116, 124, 136, 257, 263, 345])
            head[field : field + 8] = r.choice(
                [b"77777777", b"\xff" * 8, b"\x80" + b"\1" * 7, b" " * 8]
            )
            head[block + 148 : block + 156] = b" " * 8
            head[block + 148 : block + 156] = b"%06o\0 " % sum(head[block : block + 512])
        out += bytes(head) + data + bytes(-len(data) % 512)
    out += bytes(r.choice([0, 512, 1024, 10_240]))
    out = damaged(r, out) if r.randrange(8) == 0 else out
    out = r.choice([bytes, gzip.compress, bz2.compress, lzma.compress])(out)
    return damaged(r, out) if r.randrange(8) == 0 else out


def a_zip(r, inner=2):
    """Bytes of a zip of which every field may lie: names, flags, methods, sizes, places, modes,
    dates, zip64, counts.
    """
    out, central = io.BytesIO(), []
    if r.randrange(15) == 0:
        out.write(b"#!/bin/sh\n" * r.randrange(1, 5))
    for _ in range(r.randrange(1, 5)):
        name = NAMES[r.randrange(3)] if r.randrange(2) else r.choice(NAMES)
        data = member_data(r, name, inner)
        method = (
            r.choice([0, 8, 8, 8, 8]) if r.randrange(8) else r.choice([1, 9, 12, 14, 93, 99, 65535])
        )
        squeeze = zlib.compressobj(6, zlib.DEFLATED, -15)
        packed = squeeze.compress(data) + squeeze.flush() if method == 8 else data
        if r.randrange(12) == 0:
            packed = damaged(r, packed)
        fields = {
            "made": r.choice([0x031E, 0x0314, 0x0014, 0xFFFF]),
            "needs": r.choice([20, 45, 63]) if r.randrange(60) else 255,
            "flags": r.choice([0, 0, 0, 0x800])
            if r.randrange(8)
            else r.choice([1, 8, 0x40, 0x41, 0x20, 0x2001, 0xFFFF]),
            "method": method,
            "time": r.choice([0, 0x6000, 0xFFFF]),
            "date": r.choice([0x5C42, 0x5C42, 0, 0xFFFF]),
            "crc": zlib.crc32(data),
            "packed": len(packed),
            "size": len(data),
            "mode": (r.choice(MODES) if r.randrange(4) == 0 else 0o100644) << 16
            | r.choice([0, 0, 0x10, 0xFF]),
            "place": out.tell(),
        }
        spelled = name.encode(
            "utf-8" if fields["flags"] & 0x800 or r.randrange(4) else "cp437", "replace"
        )[:65_535]
        extra = b""
        if r.randrange(16) == 0:
            extra = r.choice(
                [
                    struct.pack("<HHQQQ", 1, 24, len(data), len(packed), fields["place"]),
                    struct.pack("<HHQ", 1, 8, 2**63),
                    struct.pack("<HH", 1, 0),
                    struct.pack("<HH", 1, 65535),
                    struct.pack("<HHBI", 0x7075, 5, 1, 0) + b"x.py",
                    b"\1",
                    b"\0" * 1000,
                ]
            )
            if r.randrange(2):
                fields["size"] = fields["packed"] = 0xFFFFFFFF
        local = dict(fields)
        for one in (fields, local):
            while r.randrange(20) == 0:
                key = r.choice(list(fields))
                most = 0xFFFFFFFF if key in ("crc", "packed", "size", "mode", "place") else 0xFFFF
                one[key] = r.choice(
                    [0, 1, most, most - 1, r.randrange(most + 1), min(len(data) + 1, most)]
                )
        out.write(
            struct.pack(
                "<4s5H3L2H",
                b"PK\3\4",
                *[local[k] for k in ("needs", "flags", "method", "time", "date")],
                *[local[k] for k in ("crc", "packed", "size")],
                len(spelled),
                len(extra),
            )
        )
        out.write(spelled if r.randrange(10) else damaged(r, spelled)[: len(spelled)])
        out.write(extra + packed)
        central.append((fields, spelled, extra))
    while r.randrange(6) == 0:
        central.append(r.choice(central))
    begin = out.tell()
    for fields, spelled, extra in central:
        out.write(
            struct.pack(
                "<4s6H3L5H2L",
                b"PK\1\2",
                *[fields[k] for k in ("made", "needs", "flags", "method", "time", "date")],
                *[fields[k] for k in ("crc", "packed", "size")],
                len(spelled),
                len(extra),
                0,
                0,
                0,
                *[fields[k] for k in ("mode", "place")],
            )
            + spelled
            + extra
        )
    end = [0, 0, len(central), len(central), out.tell() - begin, begin, 0]
    if r.randrange(8) == 0:
        end[r.randrange(7)] = r.choice([0, 1, 0xFFFF, 300])
    if r.randrange(10) == 0:
        out.write(struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, *end[2:4], *end[4:6]))
        out.write(struct.pack("<4sLQL", b"PK\6\7", 0, r.choice([out.tell() - 56, 0, 2**63]), 1))
        end[2:6] = r.choice([end[2:6], [0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF]])
    out.write(struct.pack("<4s4H2LH", b"PK\5\6", *end) + b"x" * end[6] * r.randrange(2))
    raw = out.getvalue()
    return damaged(r, raw) if r.randrange(8) == 0 else raw


def corpus():
    """(name, bytes) of files that hold each odd line, header and character once, in a script and
    in a notebook.
    """
    head, exported = NUMBERS.split("import math\n")
    for line in [*CODE, *HEADS, *CHARACTERS, *HEADERS]:
        text = f"{head}import math\n{line}\n{exported}"
        if line in HEADERS:
            text = (
                "# ---\n"
                + "".join(f"# {row}\n" for row in line.split("\n"))
                + "# ---\n# %%\nx = 1\n"
            )
        yield "numbers_dev.py", text.encode("utf-8", "surrogatepass")
        book = a_notebook()
        book["cells"][2]["source"] = f"#| export\nimport math\n{line}\nx = 1"
        yield "numbers_dev.ipynb", json.dumps(book).encode()
    for odd in ODD:
        for key in ("cells", "metadata", "nbformat"):
            yield "numbers_dev.ipynb", json.dumps(a_notebook() | {key: odd}).encode()
        for key in ("cell_type", "metadata", "source", "id", "outputs"):
            book = a_notebook()
            book["cells"][3][key] = odd
            yield "numbers_dev.ipynb", json.dumps(book).encode()
    for name in filter(None, NAMES):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(name.replace("\0", "?"), NUMBERS)
        yield "ada.zip", out.getvalue().replace(b".py?", b".py\0")


# What must hold of them.


class Held(BaseException):
    """Something took more processor time than any input may."""


@contextlib.contextmanager
def no_longer_than(seconds):
    """Raise Held in what needs more seconds of processor time. C code is interrupted behind it."""

    def ring(number, frame):
        raise Held(f"more than {seconds} s of processor time")

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class Ground:
    """What inputs are tried on: a small course, an inbox, and what the attacked course's honest
    learner answers.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.root = course.open_root(make_course(self.folder / "course"))
        self.entries = {entry.name: entry for entry in self.root.lessons}
        self.inbox = self.folder / "inbox"
        self.inbox.mkdir()
        root = attacked.make_course(self.folder / "attacked")
        self.runner = Talking(Setting(root, ("vectors",), "process"), course.open_root(root))
        self.talks = recorded(self.runner)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.runner.close()


def script_is_read(ground, r):
    return file_is_read(ground, r.choice(["numbers_dev.py", "sums_dev.py", "x.py"]), script(r))


def notebook_is_read(ground, r):
    return file_is_read(ground, r.choice(["numbers_dev.ipynb", "x.ipynb"]), a_damaged_notebook(r))


def zip_is_read(ground, r):
    return file_is_read(ground, "ada.zip", a_zip(r))


def tar_is_read(ground, r):
    return file_is_read(ground, r.choice(["ada.tar", "ada.tar.gz", "ada.TXZ"]), a_tar(r))


def file_is_read(ground, name, raw):
    """Whatever one hands in becomes cells and code, or sentences; and everybody may see those."""
    path = ground.inbox / name
    path.write_bytes(raw)
    try:
        with no_longer_than(reader.EACH):
            (arrival,) = collect.find_submissions(ground.inbox, ground.root.lessons)
            submission = open_submission(arrival, ground.root.lessons)
            told = [arrival.student, arrival.name, submission.problem, *submission.notes]
            for lesson, file in submission.files.items():
                told += [file.path, file.problem]
                assert bool(file.problem) == (file.source is None)
                if file.source:
                    code_is_made(ground.entries[lesson], file)
            lesson_is_read(ground, path, raw)
    finally:
        path.unlink()
    assert submission.files or submission.problem or submission.notes
    for text in told:
        can_be_told(text)
    json.dumps(told, allow_nan=False)
    made = [file.problem.split(":")[0][-30:] or "read" for file in submission.files.values()]
    return " ".join(made) or submission.problem[-30:] or "passed over"


def code_is_made(entry, file):
    """A lesson file becomes code, or a sentence that says why not."""
    made = modules.compiled(entry, file)
    if isinstance(made.code, str):
        assert made.code and not is_python(file.source), made.code
        can_be_kept(made.code)
    else:
        marshal.loads(made.code)
    for text in made.places:
        can_be_kept(text)


def is_python(source):
    """Whether the exported cells could be compiled as they stand, one behind the other."""
    try:
        parts = [cell.source for cell in source.exported]
        for text in [*parts, "\n\n".join(parts)]:
            compile(text, "cells", "exec")
        return bool(parts)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def lesson_is_read(ground, path, raw):
    """The learner's own commands refuse what they cannot read, in two lines."""
    if path.suffix not in (".py", ".ipynb"):
        return
    try:
        source = cells.read(path)
        for cell in source.cells:
            (
                cell.exercise,
                cell.checks,
                cell.tags,
                cell.alt,
                cell.caption,
                cell.code,
                cell.directives,
            )
        export.build(source, ground.entries["numbers"].declared, "x", "tinytorch")
    except TitoError as error:
        assert error.what and error.remedy
        assert str(error).encode("utf-8")


def can_be_kept(text, most=LONGEST):
    """Whether text can be stored, sent, and shown once it is escaped."""
    assert len(text) <= most, f"{len(text)} characters"
    text.encode("utf-8")
    assert "\0" not in text


def can_be_told(text):
    """Whether it can be shown as it is."""
    can_be_kept(text)
    assert "\x1b" not in text


# The talk with the learner's side: the honest answers, one of them changed.


class Peer:
    """Stands for the socket of a fork: to each request comes the next of the answers, then the
    end.
    """

    def __init__(self, answers):
        self.ours, self.theirs = socket.socketpair()
        for sock in (self.ours, self.theirs):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self.theirs.setblocking(False)
        self.answers = iter(answers)
        self.recv, self.fileno, self.setblocking = (
            self.ours.recv,
            self.ours.fileno,
            self.ours.setblocking,
        )

    def send(self, message):
        answer = next(self.answers, None)
        if answer is None:
            self.theirs.close()
        elif self.theirs.fileno() >= 0:
            self.theirs.send(answer)
            if len(answer) < wire.HEAD.size or len(answer) < wire.HEAD.size + sum(
                wire.HEAD.unpack_from(answer)
            ):
                self.theirs.close()  # so that no side waits for a message that never comes
        return len(message)

    def end(self):
        self.ours.close()
        self.theirs.close()

    def code(self):
        return 0


class Recorder:
    """The socket of a real fork, which remembers the answers that come."""

    def __init__(self, sock):
        self.sock, self.answers = sock, []
        self.fileno, self.setblocking, self.close = sock.fileno, sock.setblocking, sock.close

    def send(self, message):
        self.answers.append(b"")
        return self.sock.send(message)

    def recv(self, size, *flags):
        part = self.sock.recv(size, *flags)
        if not flags:
            self.answers[-1] += part
        return part


class Talking(jailed_check.CheckRunner):
    """A runner whose learner's side is given: a Peer; or, for None, a real one that is recorded."""

    peer = None

    def fork(self, hidden=False):
        if self.peer:
            return SimpleNamespace(
                sock=self.peer, end=self.peer.end, code=self.peer.code, waited=lambda: 0.0
            )
        found = super().fork(hidden)
        self.recorder = found.sock = Recorder(found.sock)
        return found


def recorded(runner):
    """[(check, the honest learner's answers)] of the attacked course."""
    entry = runner.root.lesson("vectors")
    file = LessonFile("vectors_dev.py", source=entry.declared.source)
    runner.subject = jailed_check.Subject.of(entry, modules.compiled(entry, file), {})
    talks = []
    for check in entry.declared.checks:
        assert runner.run_once(runner.subject, check, 20) == ("passed", "", "")
        talks.append((check, [split(answer) for answer in runner.recorder.answers]))
    return talks


def split(answer):
    """(JSON, bytes of arrays) of a frame."""
    size, _ = wire.HEAD.unpack_from(answer)
    return answer[8 : 8 + size], answer[8 + size :]


def framed(text, blobs=b""):
    return wire.HEAD.pack(len(text), len(blobs)) + text + blobs


VALUES = [
    *ODD, ["h", 0, False, False], ["h", 1, True, True], ["h", 10**9, False, True],
    ["h", -1, 0, 0], ["h", 2**63, False, False], ["h", True, False, False], ["f", 0], ["f", 99],
    ["f", -1], ["f", "0"], ["a", "<f8", [3], 24], ["a", "<f8", [-1], 24], ["a", "<f8", [-3], 0],
    ["a", "<f8", [2**40, 0], 0], ["a", "<f8", [0, 2**62, 2**62], 0], ["a", "<f8", [1] * 40, 8],
    ["a", "<f8", [True, 3], 24], ["a", "<f8", [1.0], 8], ["a", "<f8", [3], -24],
    ["a", "<f8", [3], 2**40], ["a", "|O", [1], 8], ["a", "|V8", [1], 8], ["a", "<U2", [1], 8],
    ["a", "<M8[s]", [1], 8], ["a", ">f8", [1], 8], ["a", "f8,f8", [1], 16],
    ["a", "<f16", [1], 16], ["a", ["<f8"], [1], 8], ["n", "<f8", 8], ["n", "<f8", 24],
    ["n", "|b1", 1], ["y", "|O"], ["y", "<f8"], ["g", "builtins.int"], ["g", "builtins.eval"],
    ["g", "numpy.load"], ["g", "numpy.float64"], ["g", "numpy.add"], ["g", ["numpy.add"]],
    ["i", "0x" + "f" * 5000], ["i", "-0x1"], ["i", "1_0"], ["i", "\u0661"], ["i", 5], ["b", 3],
    ["b", "x"], ["c", float("nan"), float("-inf")], ["c", 1, "j"], ["c", 10**400, 0],
    ["s", 0, 1, 0], ["s", ["h", 0, 0, 0], None, None], ["e"], ["e", 1], ["t"],
    ["t", 1, "x", ["h", 0, False, False]], ["t", ["t", 1, ["l"]], ["d"]],
    ["l", ["h", 0, False, False], ["h", 0, True, True]],
    ["d", ["h", 0, False, False], 1, ["t", 1], 2], ["d", ["l"], 1], ["d", 1],
    ["d", "x", 1, "x", 2], ["d", -1, 1, -2, 2], ["x"], ["h"], [[]], [None, 1],
]  # fmt: skip
ANSWERS = [
    ["ok", None, ["l"]],
    ["ok", None, ["l", ["t", 0, None]]],
    ["ok", None, ["l", ["t", 0, ["a", "<f8", [3], 24]]]],
    ["ok", None, ["l", ["t", -1, ["l"]]]],
    ["ok", None, ["l", ["t", 10**30, ["l"]]]],
    ["ok", None, ["l", ["h", 0, False, False]]],
    ["ok", None, ["h", 0, False, False]],
    ["ok", None],
    ["ok"],
    ["raise", "TypeError", ["l", "TypeError"], "x", ["l"], None],
    ["raise", "UnicodeDecodeError", ["l", "UnicodeDecodeError"], "x", ["l"], None],
    ["raise", "ExceptionGroup", ["l", "ExceptionGroup"], "x", ["l"], None],
    ["raise", "\ud800", ["l"], "\ud800\0\x1b[2J", ["l"], 0],
    ["raise", "AssertionError", ["l", "AssertionError", "Exception"], "a" * 9000, ["l"], True],
    ["raise", "StopIteration", ["l", "StopIteration"], "", ["l"], None],
    ["raise", "SystemExit", ["l", "SystemExit", "KeyboardInterrupt"], "", ["l"], -1],
    ["raise", "MemoryError", ["l", "MemoryError"], "", ["l"], None],
    ["raise", "RecursionError", ["l", "RecursionError"], "", ["l"], None],
    ["raise", "NotImplementedError", ["l", "NotImplementedError"], UNWRITTEN, ["l"], None],
    ["raise", "NameError", ["l", "NameError"], "name 'x' is not defined", ["l"], None],
    ["raise", "E", ["l"], "x", ["l", ["t", "tinytorch.core.vectors", 7, ["l", "x"]]], None],
    ["raise", "E", ["l"], "x", ["l", ["t", "tinytorch.core.vectors", 10**30, ["l"]]], None],
    ["raise", "E", ["l"], "x", ["l", ["t", "tinytorch.core.vectors", -3, ["l", None]]], None],
    ["raise", "E", ["l"], "x", ["l", ["h", 0, False, False]], None],
    ["raise", "E", ["l", ["h", 0, False, False]], "x", ["l", "abc"], None],
    ["raise", "a" * 9000, ["l", "a" * 9000], "x", ["l", 3], None],
    ["raise"],
    ["ask", 0, ["t"], ["d"]],
    ["ask", 0, ["t", 3], ["d"]],
    ["ask", 0, ["t", ["h", 0, False, False]], ["d", "x", 1]],
    ["ask", 0, ["t", 1, 2, 3], ["d", 5, 1]],
    ["ask", -1, ["t"], ["d"]],
    ["ask", 10**30, ["t"], ["d"]],
    ["ask", 0, ["h", 0, False, False], ["h", 0, False, False]],
    ["stop"],
    ["stop", 1],
    ["do", "get", ["l"], ["d"]],
    ["", None],
    [["ok"], None],
    [None],
    [],
    None,
    "ok",
    {"ok": 1},
]


class Handle:
    """Becomes a handle: its number, and whether it is said to be a class and to be callable."""

    def __init__(self, *parts):
        self.parts = parts


def a_value(r, depth=0):
    """A value as the learner's side may send it, for a wire.Writer."""
    what = r.randrange(12 if depth < 4 else 8)
    if what < 2:
        return r.choice(
            [
                None,
                True,
                False,
                0,
                4,
                7,
                13,
                -1,
                2**62,
                10**30,
                4.0,
                -0.0,
                1e308,
                np.nan,
                np.inf,
                1j,
            ]
        )
    if what == 2:
        return r.choice(
            [
                "",
                "data",
                "x" * 5000,
                "\ud800",
                "\0\x1b[2J",
                b"",
                b"\xff",
                ...,
                int,
                np.float32,
                np.add,
            ]
        )
    if what < 6:
        kind = np.dtype(r.choice(["f8", "f8", "f4", "f2", "i8", "i1", "u8", "?", "c16"]))
        shape = r.choice(
            [
                (3,),
                (3,),
                (2,),
                (),
                (1,),
                (0,),
                (3, 1),
                (1, 3),
                (0, 3),
                (2**40, 0),
                (1,) * 30,
                (30_000,),
            ]
        )
        raw = r.choice([b"\0", b"\xff", b"\x7f\xf0", bytes(range(1, 9))])
        array = np.resize(np.frombuffer(raw * 16, np.uint8), int(np.prod(shape)) * kind.itemsize)
        array = array.view(kind).reshape(shape)
        return array if r.randrange(4) else array.reshape(-1)[0] if array.size else kind
    if what < 8:
        return Handle(r.choice([0, 0, 1, 2, 3, 10**9]), r.randrange(4) == 0, r.randrange(2) == 0)
    parts = [a_value(r, depth + 1) for _ in range(r.randrange(5))]
    if what == 8:
        return tuple(parts)
    if what == 9:
        return dict(zip(["x", 1, None, b"", -1, -2], parts))
    return parts if what == 10 else slice(*(parts + [None])[:3])


def an_answer(r, honest=None):
    """The bytes of an answer: an odd one, another value, or the `honest` (JSON, bytes of arrays)
    damaged.
    """
    what = r.randrange(6)
    if what < 4:
        writer = wire.Writer(lambda value: ["h", *value.parts])
        body = ["ok", a_value(r), []]
        if r.randrange(5) == 0:
            body = r.choice([["ok", None, [(0, a_value(r))]], ["ask", 0, (a_value(r),), {}]])
        return writer.message([body[0], *[writer.value(part) for part in body[1:]]])
    if honest and what == 4:
        text, blobs = honest
        body = json_damaged(r, json.loads(text), VALUES)
    else:
        body, blobs = json.loads(json.dumps(r.choice(ANSWERS))), bytes(range(24))
        if type(body) is list and r.randrange(2):
            body = json_damaged(r, body, VALUES)
    text = json.dumps(body).encode()
    what = r.randrange(24)
    if what == 0:
        text = damaged(r, text)
    elif what == 1:
        blobs = damaged(r, blobs)
    elif what == 2:
        text = text.replace(
            b"null", r.choice([deep(30), deep(3000), "1" * 5000, "1e999", "-0.0"]).encode(), 1
        )
    elif what == 3:
        text = text.decode().encode(r.choice(["utf-16", "utf-32-be", "utf-8-sig", "cp500"]))
    elif what == 4:
        return (
            wire.HEAD.pack(r.choice([0, 1, 2**23 + 1, 2**32 - 1]), r.choice([0, 1, 2**26 + 1]))
            + text
            + blobs
        )
    elif what == 5:
        return framed(text, blobs) + r.choice([b"\0", framed(text, blobs)])
    elif what == 6:
        return framed(text, blobs)[: r.randrange(8 + len(text))] or b"\0"
    return framed(text, blobs)


def odd_answers():
    """Each odd answer, and each odd value as an answer: the bytes."""
    for body in [*ANSWERS, *(["ok", value, ["l"]] for value in VALUES)]:
        yield framed(json.dumps(body).encode(), bytes(range(24)))


def talk_is_judged(ground, r):
    """A check ends with a status and a text to be shown, whatever answers are among the honest."""
    check, honest = ground.talks[r.randrange(len(ground.talks))]
    answers = [framed(*pair) for pair in honest]
    for _ in range(r.randrange(1, 3)):
        number = max(r.randrange(len(answers)), r.randrange(len(answers)))  # the first one imports
        answers[number] = an_answer(r, honest[number])
    answers += [an_answer(r, r.choice(honest)) for _ in range(r.randrange(6))]
    return answers_are_judged(ground.runner, check, answers)


def answers_are_judged(runner, check, answers):
    runner.peer = Peer(answers)
    try:
        with no_longer_than(reader.EACH):
            status, message, verdict = runner.run_once(runner.subject, check, 1)
    finally:
        runner.peer.end()
        runner.peer = None
    assert status in outcome.STATUSES and verdict in ("", *outcome.VERDICTS)
    assert bool(message) == (status != "passed") and np.allclose is ALLCLOSE
    can_be_kept(message)
    blank = blank_check(check)
    blank.status, blank.message = status, message
    result = LessonResult(
        "ada", "vectors", 1, "Vectors", 13, checks=[blank], verdict=verdict or "failed"
    )
    json.dumps(result.as_json(), allow_nan=False).encode("utf-8")
    return verdict or status


KINDS = {
    "script": script_is_read,
    "notebook": notebook_is_read,
    "zip": zip_is_read,
    "tar": tar_is_read,
    "talk": talk_is_judged,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--inputs", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--kind", choices=KINDS, help="only this kind, instead of all in turn")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # Python's, about what it is given here
    kinds, wrong, seen = [asked.kind] if asked.kind else list(KINDS), [], Counter()
    ended = {kind: Counter() for kind in kinds}
    longest, spent = {kind: (0.0, 0) for kind in kinds}, Counter()
    with tempfile.TemporaryDirectory() as folder, Ground(folder) as ground:
        for number in range(asked.first, asked.first + asked.inputs):
            kind = kinds[number % len(kinds)]
            began = time.process_time()
            try:
                ended[kind][KINDS[kind](ground, random.Random(f"{kind} {number}"))] += 1
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                wrong.append((kind, number, error))
                print(f"{kind} {number}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            took = time.process_time() - began
            seen[kind] += 1
            spent[kind] += took
            longest[kind] = max(longest[kind], (took, number))
    for kind in kinds:
        took, number = longest[kind]
        print(
            f"{kind:9} {seen[kind]:7,} inputs, {1000 * spent[kind] / max(1, seen[kind]):6.2f} ms "
            f"of processor time each, {took:.2f} s the longest (number {number})"
        )
        print("   ", ", ".join(f"{count:,} {what}" for what, count in ended[kind].most_common(9)))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{len(wrong)} wrong; {sum(spent.values()):.0f} s of processor time, {memory} MB at most")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
