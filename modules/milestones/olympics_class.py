"""The board of a class: finds the entries in submissions, lets each be judged in its own
process, and writes the results.

Submissions are not trusted: sizes are checked before anything is read, links are not followed,
archives are never unpacked to the disk, and every submission gets a row, also if it is damaged.
A submission has its own limit of time, and the board grows as submissions are judged.
"""

import hashlib
import html
import json
import math
import os
import re
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import tinytorch
from tito import csv_tables, files
from tito.html import html_page
from tito.safe_text import one_line, visible
from tinytorch.core.olympics import shared_ranks

JUDGE = Path(__file__).with_name("olympics_judge.py")
SECONDS = 120  # CPU time of one submission
SLOWER = 3  # times as long by the clock: the machine may be busy
LETTERS = 500  # of a name or reason are shown
MOST_WRITING = 0.1  # of the time is spent on writing the board
MOST_ZIP, MOST_NPZ, MOST_TOML = 20_000_000, 1_500_000, 10_000  # bytes of files
MOST_FILES, MOST_ENTRIES = 300, 5  # of one submission
BOARDS = {"board.csv", "board.html"}
TOKENS = 8000  # of the text for GPTs


@dataclass(frozen=True)
class Event:
    """A test with its rules.

    kind    "digits" or "text"
    limits  see `broken_limits` of lesson 25; for texts, flops are those for one character
    by      what decides: "accuracy", "bits", "bytes" or "flops"
    """

    kind: str
    limits: dict
    by: str
    rule: str


EVENTS = {
    "smallest": Event("digits", {"accuracy": 0.9}, "bytes",
                      "fewest bytes, at least 90 % right"),
    "least work": Event("digits", {"accuracy": 0.9}, "flops",
                        "fewest FLOPs, at least 90 % right"),
    "best small": Event("digits", {"bytes": 10_000}, "accuracy",
                        "highest accuracy, at most 10,000 bytes"),
    "text": Event("text", {"bytes": 450_000}, "bits",
                  "fewest bits per character, at most 450,000 bytes"),
    "text, little work": Event("text", {"bytes": 1_000_000, "flops": 100_000}, "bits",
                               "fewest bits per character, at most 100,000 FLOPs for each"),
}  # fmt: skip


@dataclass
class Found:
    """An entry in a submission, or the reason why there is none."""

    learner: str
    name: str = ""
    npz: bytes = b""
    toml: bytes = b""
    reason: str = ""
    rows: dict = field(default_factory=dict)


def listed_in_folder(folder):
    """[(name, size, function that reads the file)] of the entries in a folder; ValueError for
    links and for too many files."""
    listed = []
    for place, folders, names in os.walk(folder, followlinks=False):
        for name in [*folders, *names]:
            if Path(place, name).is_symlink():
                raise ValueError(f"{name} is a link")
        for name in names:
            path = Path(place, name)
            if not stat.S_ISREG(path.stat().st_mode):
                raise ValueError(f"{name} is no ordinary file")
            listed.append(
                (path.relative_to(folder).as_posix(), path.stat().st_size, path.read_bytes)
            )
            if len(listed) > MOST_FILES:
                raise ValueError(f"more than {MOST_FILES} files")
    return listed


def listed_in_zip(archive):
    """The same for an open zip; ValueError for links, paths out of it, and too many files."""
    members = archive.infolist()
    if len(members) > MOST_FILES:
        raise ValueError(f"more than {MOST_FILES} files")
    listed = []
    for info in members:
        name = info.filename.replace("\\", "/")
        if name.startswith("/") or ".." in name.split("/") or re.match("[A-Za-z]:", name):
            raise ValueError(f"the path {name} leaves the archive")
        if stat.S_ISLNK(info.external_attr >> 16):
            raise ValueError(f"{name} is a link")
        if not info.is_dir():
            listed.append((name, info.file_size, lambda info=info: part_of(archive, info)))
    return listed


def part_of(archive, info):
    """The bytes of a member of a zip, at most as many as it states."""
    with archive.open(info) as part:
        data = part.read(info.file_size + 1)
    if len(data) > info.file_size:
        raise ValueError(f"{info.filename} is larger than it says")
    return data


def pairs_of(learner, listed):
    """The entries among listed files: pairs of NAME.npz and NAME.toml."""
    readers = {name: (size, read) for name, size, read in listed}
    stems = sorted(name[:-4] for name in readers if name.lower().endswith(".npz"))
    if not stems:
        return [Found(learner, reason="no entry: it needs NAME.npz and NAME.toml")]
    entries = []
    for stem in stems[:MOST_ENTRIES]:
        found = Found(learner, stem.split("/")[-1])
        entries.append(found)
        npz, toml = (next(n for n in readers if n[:-4] == stem and n.lower().endswith(".npz")),
                     stem + ".toml")  # fmt: skip
        if toml not in readers:
            found.reason = f"{found.name}.toml is missing"
            continue
        for name, most in ((npz, MOST_NPZ), (toml, MOST_TOML)):
            if readers[name][0] > most:
                found.reason = f"{name} has {readers[name][0]:,} bytes, the limit is {most:,}"
        if not found.reason:
            found.npz, found.toml = readers[npz][1](), readers[toml][1]()
    if len(stems) > MOST_ENTRIES:
        entries.append(Found(learner, reason=f"more than {MOST_ENTRIES} entries"))
    return entries


def open_submission(path):
    """The entries in a folder or a zip of a learner; never an exception."""
    learner = path.name.removesuffix(".zip")
    try:
        if path.is_symlink():
            raise ValueError("it is a link")
        if path.is_dir():
            return pairs_of(learner, listed_in_folder(path))
        if not path.name.lower().endswith(".zip"):
            raise ValueError("it is neither a folder nor a zip")
        if path.stat().st_size > MOST_ZIP:
            raise ValueError(f"it has {path.stat().st_size:,} bytes, the limit is {MOST_ZIP:,}")
        with zipfile.ZipFile(path) as archive:
            return pairs_of(learner, listed_in_zip(archive))
    except Exception as error:
        return [Found(learner, reason=str(error) or type(error).__name__)]


def judge_submission(entries, request):
    """Judge the entries of one submission, one after the other, each in its own process; fills
    `rows` or `reason` of each. Whatever one does, the next is judged, while there is time.
    """
    left, until = SECONDS, time.monotonic() + SLOWER * SECONDS
    for entry in entries:
        if entry.reason:
            continue
        if left <= 0 or until <= time.monotonic():
            entry.reason = f"the entries before it took {SECONDS} seconds"
            continue
        began = sum(os.times()[2:4])  # CPU time of children that have ended; 0 on Windows
        try:
            said = answer_of(entry, request, left, until - time.monotonic())
        except Exception as error:  # the disk is full, say
            said = {"reason": f"it was not judged: {error}"}
        entry.rows, entry.reason = said.get("rows", {}), said.get("reason", "")
        entry.npz = b""
        left -= sum(os.times()[2:4]) - began


def answer_of(entry, request, seconds, clock):
    """What the judge's process says about an entry: {"rows"} or {"reason"}.

    seconds, clock  the CPU time and the time that it may take
    """
    with tempfile.TemporaryDirectory(prefix="olympics-") as folder:
        npz, asked, answer = (Path(folder, name) for name in ("entry.npz", "asked", "answer"))
        npz.write_bytes(entry.npz)
        request = request | {
            "name": entry.name, "npz": str(npz), "seconds": math.ceil(seconds),
            "toml": entry.toml.decode("utf-8", "replace"),
        }  # fmt: skip
        asked.write_text(json.dumps(request), encoding="utf-8")
        command = [sys.executable, "-I", str(JUDGE), str(asked), str(answer)]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, timeout=clock, check=False,
            )  # fmt: skip
            return json.loads(answer.read_text(encoding="utf-8"))
        except subprocess.TimeoutExpired:
            return {"reason": f"it takes more than {SECONDS} seconds"}
        except (OSError, ValueError):
            return {
                "reason": f"its process ended with {done.returncode}: too much time or memory"
            }


def texts_for(tomls, path):
    """{number of tokens: [ids, characters of each token]} for GPTs; {} if no file names one."""
    if not any(b"gpt" in toml for toml in tomls):
        return {}
    from tinytorch.core.tokenization import Tokenizer, train_bpe_fast
    from tinytorch.data.gpt_files import load_small_gpt
    from tinytorch.data.texts import load_text

    text = Path(path).read_text(encoding="utf-8") if path else load_text("test")
    tokenizers = [load_small_gpt()[1]]
    if any(b"1024" in toml for toml in tomls):
        tokenizers.append(Tokenizer(train_bpe_fast(load_text("train"), 1024)))
    texts = {}
    for tokenizer in tokenizers:
        sizes = [len(tokenizer.token(id)) for id in range(tokenizer.vocab_size)]
        texts[str(tokenizer.vocab_size)] = [tokenizer.encode(text)[:TOKENS].tolist(), sizes]
    return texts


def value_of(row, by):
    """The interval that decides an event; higher is better."""
    if by == "accuracy":
        return tuple(row["interval"])
    if by == "bits":
        return tuple(-end for end in reversed(row["interval"]))
    return -row[by], -row[by]


def table(found):
    """The rows of the board, each event by rank; those without a rank come last."""
    lines = []
    for name, event in EVENTS.items():
        rows = {
            (e.learner, e.name, number): e.rows[name]
            for number, e in enumerate(found)  # several may have one name
            if name in e.rows
        }
        ranks = shared_ranks(
            {key: value_of(row, event.by) for key, row in rows.items() if row["valid"]}
        )
        for key in sorted(rows, key=lambda key: (ranks.get(key, len(rows) + 1), key)):
            row = rows[key]
            share = row["right"] / row["n"] if row.get("n") else None
            lines.append({
                "event": name, "rank": ranks.get(key, ""), "learner": key[0], "entry": key[1],
                "accuracy": "" if share is None else f"{share:.4f}",
                "bits": f"{row['bits']:.4f}" if "bits" in row else "",
                "low": f"{row['interval'][0]:.4f}", "high": f"{row['interval'][1]:.4f}",
                "bytes": row["bytes"], "flops": row["flops"], "sha256": row["digest"],
                "reason": row["reason"] if row["valid"] or ":" in row["reason"]
                else f"breaks the limit of {row['reason'].replace(', ', ' and ')}",
            })  # fmt: skip
    keys = list(lines[0]) if lines else ["event", "rank", "learner", "entry", "reason"]
    for entry in found:
        if entry.reason:
            empty = dict.fromkeys(keys, "") | {"event": "refused", "learner": entry.learner}
            lines.append(empty | {"entry": entry.name, "reason": entry.reason})
    owners = {}
    for line in lines:
        owners.setdefault(line.get("sha256"), set()).add(line["learner"])
    for line in lines:
        others = owners[line.get("sha256")] - {line["learner"]}
        same = f"same arrays as {', '.join(sorted(others))}" if others else ""
        line["note"] = same if line.get("sha256") else ""
    return [
        {key: v if isinstance(v, int) else visible(v, LETTERS) for key, v in line.items()}
        for line in lines
    ]


def as_csv(lines):
    """The board as CSV, a str."""
    keys = list(lines[0]) if lines else ["event"]
    rows = [keys, *([line[key] for key in keys] for line in lines)]
    return "".join(csv_tables.line(row) for row in rows)


def cell_text(key, value):
    """What a cell of the page shows: the beginning of a digest, and numbers with commas.

    >>> cell_text("sha256", "0123456789abcdef"), cell_text("flops", 12345)
    ('0123456789ab', '12,345')
    """
    if key == "sha256":
        return value[:12]
    return f"{value:,}" if isinstance(value, int) else value


def as_html(lines, about):
    """The board as a page without scripts, a str.

    about  sentences for its head
    """
    style = (
        "body{font:16px sans-serif;margin:2em auto;max-width:70em;padding:0 1em}"
        "table{border-collapse:collapse}td,th{border-bottom:1px solid #ccc;padding:.3em .7em;"
        "text-align:left}"
    )
    parts = [
        "<h1>Olympics</h1>",
        *(f"<p>{html.escape(visible(sentence, LETTERS))}</p>" for sentence in about),
    ]
    for event in dict.fromkeys(line["event"] for line in lines):
        rows = [line for line in lines if line["event"] == event]
        rule = EVENTS[event].rule if event in EVENTS else "not judged, for the reason given"
        keys = [k for k in rows[0] if k != "event" and any(row[k] != "" for row in rows)]
        parts.append(f"<h2>{html.escape(event)}</h2><p>{html.escape(rule)}</p><table><tr>")
        parts += [f"<th>{html.escape(key)}</th>" for key in keys] + ["</tr>"]
        for row in rows:
            cells = [html.escape(cell_text(key, row[key])) for key in keys]
            parts.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        parts.append("</table>")
    return html_page("Olympics", "\n".join(parts), style)


def digest_of_course():
    """The SHA-256 of the library that judged."""
    paths = sorted(Path(tinytorch.__file__).parent.glob("core/*.py"))
    code = b"".join(path.name.encode() + b"\0" + path.read_bytes() for path in paths)
    return hashlib.sha256(code).hexdigest()


def judge_class(folder, seed=0, text=None, report=print):
    """Judge the submissions in a folder, and write board.csv and board.html into it.

    folder   Path
    seed     of the fresh digits
    text     path of a text for GPTs; without it the public test text
    returns  {name: number}: what was judged
    """
    paths = sorted(p for p in folder.iterdir() if p.name not in BOARDS and p.name[0] != ".")
    tomls = {entry.toml for path in paths for entry in open_submission(path)}
    request = {
        "root": str(Path(tinytorch.__file__).parents[1]), "seed": seed,
        "texts": texts_for(tomls, text),
        "events": {kind: {name: event.limits for name, event in EVENTS.items()
                          if event.kind == kind} for kind in ("digits", "text")},
    }  # fmt: skip
    about = [
        f"Digits: the test digits, rotated by up to 8 degrees and moved by up to half a pixel; "
        f"seed {seed}. Text: {Path(text).name if text else 'the public test text'}.",
        "Entries whose intervals meet share a rank. A rank is 1 plus the number of entries "
        "that are wholly better.",
        f"SHA-256 of the library that judged: {digest_of_course()}. Digests of entries are in "
        "board.csv in full.",
    ]
    found, due = [], 0
    for count, path in enumerate(paths):
        if (began := time.monotonic()) >= due:
            so_far = f"{count} of {len(paths)} submissions are judged."
            write_board(folder, found, [so_far, *about])
            due = time.monotonic() + (time.monotonic() - began) / MOST_WRITING
        entries = open_submission(path)
        judge_submission(entries, request)
        found += entries
        for entry in entries:
            said = visible(entry.reason or "judged", LETTERS, 1)
            report(f"{one_line(entry.learner)} {one_line(entry.name)}: {said}", flush=True)
    write_board(folder, found, about)
    place = visible(folder, LETTERS, 1)
    report(f"The board is in board.html and board.csv of {place}.", flush=True)
    return {
        "submissions": float(len(paths)),
        "entries judged": float(sum(bool(entry.rows) for entry in found)),
        "refused": float(sum(bool(entry.reason) for entry in found)),
    }


def write_board(folder, found, about):
    """Write the results so far: the old board or the new one is there at each moment."""
    lines = table(found)
    files.write(folder / "board.csv", as_csv(lines))
    files.write(folder / "board.html", as_html(lines, about))
