"""A lesson's script and its notebook, kept in step without ever guessing.

The pairing is by content and never by a file's time: progress remembers the hashes of both files
when they last agreed, and of each cell. If one file changed since, it is the newer; if both did,
the learner says which one counts, or has them merged.
"""

import difflib
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tito import files
from tito.errors import MachineError, TitoError, WorkError
from tito.learn import progress
from tito.lesson import cells, notebook
from tito.lesson.course import Entry


def choose(entry: Entry, record: dict) -> str:
    """Which file of a lesson holds the learner's work now: "script" or "notebook".

    Raises TitoError when both were edited since they last agreed, or neither is there.
    """
    if side := _newer(entry, record):
        return side
    folder = entry.relative(entry.script.parent)
    when = "since they last agreed" if record.get("pair") else "and tito has not seen them agree"
    where = differing(entry)
    parts = (
        f": they differ in {', '.join(where[:4])}{' and more' * (len(where) > 4)}" if where else ""
    )
    raise WorkError(
        f"{entry.script.name} and {entry.notebook.name} in {folder} were "
        f"both edited {when}{parts}.",
        f"Merge them: tito notebook {entry.name} --keep both. Or say which one counts: "
        "--keep script, --keep notebook. What is overwritten is saved first.",
    )


def _newer(entry, record):
    """As `choose`; None when both were edited."""
    if not entry.notebook.exists():
        return "script"
    if not entry.script.exists():
        return "notebook"
    pair, seen = record.get("pair") or _released(entry), hashes(entry)
    changed = [side for side in seen if seen[side] != pair.get(side)]
    if len(changed) < 2:
        return changed[0] if changed else "script"
    return "script" if agree(entry) else None


def _released(entry):
    """The hashes of a lesson's script and notebook as a release has them: they agree."""
    if entry.root.is_course:
        return {}
    text = entry.declared_path.read_text(encoding="utf-8")
    book = notebook.to_notebook(text, entry.declared)
    return {
        "script": hash_of(entry.script, text.encode("utf-8")),
        "notebook": hash_of(entry.notebook, book.encode("utf-8")),
    }


def agree(entry: Entry) -> bool:
    """Whether both files hold the same cells, whatever else differs (outputs, ids)."""
    try:
        sides = [cells.read(path) for path in (entry.script, entry.notebook)]
    except TitoError:
        return False
    first, second = ([(c.kind, c.source) for c in side.cells if c.source] for side in sides)
    return first == second


def differing(entry: Entry) -> list[str]:
    """The ids of the exercises and questions that differ between the two files; text and
    other cells are not compared.
    """
    try:
        script, book = (
            {f"{entry.name}-{c.task}": c.source for c in cells.read(path).cells if c.task}
            for path in (entry.script, entry.notebook)
        )
    except TitoError:
        return []
    return [name for name in script | book if script.get(name) != book.get(name)]


def hashes(entry: Entry) -> dict[str, str | None]:
    """{"script", "notebook"}: what progress remembers of a pair that agrees; None
    for a file that is not there.
    """
    return {"script": _hash(entry.script), "notebook": _hash(entry.notebook)}


def _hash(path):
    try:
        return hash_of(path, path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MachineError(
            f"{path} cannot be read: {error.strerror}.", "Check the file and its permissions."
        ) from None


def hash_of(path: Path, data: bytes) -> str:
    """A hash of what a learner writes in a file with these bytes; of a notebook, the cells' text:
    running cells changes only outputs. The cells of `notebook.with_start` do not count.
    """
    if path.suffix == ".ipynb":
        try:
            book = json.loads(data.decode("utf-8-sig"))
            texts = [
                [c["cell_type"], "".join(c["source"])]
                for c in book["cells"]
                if not cells.is_made(c.get("metadata", {}), "".join(c["source"]), (cells.START,))
            ]
            data = json.dumps(texts).encode("utf-8", "surrogatepass")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass  # damaged: any change of it counts
    return hashlib.sha256(data).hexdigest()


def read(entry: Entry, record: dict) -> cells.Source:
    """The learner's source for a lesson, from whichever file holds the newer work."""
    if choose(entry, record) == "notebook":
        return cells.read(entry.notebook)
    return cells.read(entry.script, entry.declared.source)


def settle(
    entry: Entry,
    keep: str | None = None,
    make: bool = False,
    warn: Callable[[str], None] = lambda text: None,
) -> Path | None:
    """Bring script and notebook into step.

    `keep` says which side counts, or "both": what was edited in one of them only is kept;
    `make` makes a missing notebook.

    Returns the backup folder when something was overwritten. Raises TitoError when both
    were edited and `keep` is None, or "both" and they were edited in the same cell.
    """
    if not (make or entry.notebook.exists()):
        return None
    with progress.change(entry.root, entry.name, warn) as record:
        if keep == "both" and not _newer(entry, record):
            return _settle_both(entry, record)
        side = choose(entry, record) if keep in (None, "both") else keep
        source = entry.script if side == "script" else entry.notebook
        seen = hashes(entry)
        read = cells.read(source)  # refuses what is missing or damaged, before anything is written
        text = read.text
        if not keep and seen == record.get("pair"):
            return None
        if side == "script":
            changes = {
                entry.notebook: notebook.to_notebook(text, entry.declared, _text(entry.notebook))
            }
        else:
            changes = {entry.script: _to_script(entry, text)}
        backup = files.replace(entry.root, "notebook", changes, step=bool(keep))
        # What was read, not what stands there by now: a save in between counts as an edit.
        remember(record, hashes(entry) | {side: seen[side]}, read)
        return backup


def remember(record: dict, pair: dict[str, str | None], source: cells.Source) -> None:
    """Note in a lesson's record that script and notebook agree.

    pair    the hashes of both
    source  the cells of one of them
    """
    record["pair"] = pair
    record["agreed"] = {"of": pair["script"], "cells": [_key(c) for c in source.cells if c.source]}


def _key(cell):
    """What `remember` keeps of a cell: "exercise:hash", "question:hash", or of any other cell a
    hash alone.
    """
    text = json.dumps([cell.kind, cell.source]).encode("utf-8")
    digest = hashlib.sha256(text).hexdigest()[:16]
    return f"{cell.task}:{digest}" if cell.task else digest


# Both were edited


@dataclass
class Merge:
    """A script and a notebook that were both edited, as one.

    text      the script with what was edited in either
    script    what was edited in the script only: exercises by their ids, other cells by the place
    notebook  what was edited in the notebook only
    """

    text: str = ""
    script: list = field(default_factory=list)
    notebook: list = field(default_factory=list)


def merge(entry: Entry, record: dict) -> Merge:
    """Merge a lesson's script and notebook cell by cell, from where they last agreed.

    Raises TitoError when a cell was edited in both.
    """
    script, book = cells.read(entry.script), cells.read(entry.notebook)
    sides = script, cells.parse(entry.script, _to_script(entry, book.text))
    base, known = _agreed(entry, record)
    rows = [[(cell, _key(cell)) for cell in side.cells if cell.source] for side in sides]
    out, taken, clash = Merge(), [], []

    def take(side, these):
        taken.extend((side, cell) for cell, _ in these)

    for old, mine, theirs in _chunks(base, *rows):
        keys = [[key for _, key in chunk] for chunk in (mine, theirs)]
        if keys[0] == keys[1]:
            take(0, mine)
        elif keys[1] == old:
            take(0, mine)
            out.script += _names(entry, script, mine, keys[1])
        elif keys[0] == old:
            take(1, theirs)
            out.notebook += _names(entry, book, theirs, keys[0])
        elif not old and known:  # new cells at the same place
            take(0, mine)
            new = [row for row in theirs if row[1] not in keys[0]]
            take(1, new)
            out.script += _names(entry, script, mine, keys[1])
            out.notebook += _names(entry, book, new, keys[0])
        else:
            clash += _names(entry, script, mine, keys[1]) or _names(entry, book, theirs, keys[0])
    if clash:
        raise WorkError(
            f"{', '.join(dict.fromkeys(clash))}: edited in {entry.script.name} and in "
            f"{entry.notebook.name}, each in another way; nothing was changed.",
            f"Make it the same in both, or say which file counts: tito notebook {entry.name} "
            "--keep script (or: --keep notebook).",
        )
    out.text = _joined(sides, taken)
    return out


def planned_merge(entry: Entry, warn: Callable[[str], None] = lambda text: None) -> Merge | None:
    """What `settle` would merge, with nothing written; None when not both were edited."""
    record = progress.load(entry.root, warn)["lessons"].get(entry.name, {})
    return None if _newer(entry, record) else merge(entry, record)


def _agreed(entry, record):
    """(the keys of the cells when both files last agreed, whether that is known); where it is not,
    those of the lesson as it was released.
    """
    agreed = record.get("agreed") or {}
    if record.get("pair") and agreed.get("of") == record["pair"].get("script"):
        return [str(key) for key in agreed.get("cells", ())], True
    return [_key(c) for c in entry.declared.source.cells if c.source], False


def _chunks(base, mine, theirs):
    """The three versions of a lesson, cut where all have the same cell: (keys, rows, rows) of each
    piece. An exercise is the same cell whatever code it holds, a question whatever answer.
    """

    def names(keys):
        return [key.partition(":")[0] for key in keys]

    old, places = names(base), []
    for rows in (mine, theirs):
        matcher = difflib.SequenceMatcher(None, old, names(k for _, k in rows), autojunk=False)
        blocks = matcher.get_matching_blocks()
        places.append({b.a + n: b.b + n for b in blocks for n in range(b.size)})
    at = [0, 0, 0]
    for number in [n for n in range(len(old)) if all(n in place for place in places)] + [None]:
        ends = (
            [len(base), len(mine), len(theirs)]
            if number is None
            else [number, places[0][number], places[1][number]]
        )
        yield tuple(rows[a:b] for rows, a, b in zip((base, mine, theirs), at, ends))
        if number is not None:
            yield tuple(rows[n : n + 1] for rows, n in zip((base, mine, theirs), ends))
        at = [n + 1 for n in ends]


def _names(entry, source, rows, others):
    """What a learner calls those cells whose key is not among the `others`, and how many of these
    are gone.
    """
    gone = len(others) - len(rows)
    names = [
        f"{entry.name}-{cell.task}"
        if cell.task
        else (source.place(cell) if not source.is_notebook else f"a cell of {source.path.name}")
        for cell, key in rows
        if key not in others
    ]
    names += [f"{gone} cell{'s' * (gone > 1)} deleted"] * (gone > 0)
    return [name.replace(f"{source.path.parent}/", "") for name in names]


def _joined(sides, taken):
    """The text of a script from cells, (0 or 1, cell), under the header of the first side."""
    texts = [_pieces(side) for side in sides]
    parts = [texts[side][1][cell] for side, cell in taken]
    parts = [part if part.endswith("\n\n") else f"{part.rstrip()}\n\n" for part in parts]
    return texts[0][0] + "".join(parts).rstrip("\n") + "\n"


def _pieces(source):
    """(what stands above the first cell, {cell: its lines}) of a script."""
    lines = source.text.split("\n")
    head = notebook.HEAD.match(source.text)
    least = source.text[: head.end()].count("\n") if head else 0
    starts = [max(c.line - c.gap - 1, least) for c in source.cells] + [len(lines)]
    pieces = ["\n".join([*lines[a:b], ""]) for a, b in zip(starts, starts[1:])]
    return "\n".join([*lines[: starts[0]], ""]), dict(zip(source.cells, pieces))


def _settle_both(entry, record):
    """Write what `merge` gives into both files. Returns the backup folder."""
    text = merge(entry, record).text
    made = {
        entry.script: text.replace("\n", "\r\n") if b"\r\n" in entry.script.read_bytes() else text,
        entry.notebook: notebook.to_notebook(text, entry.declared, _text(entry.notebook)),
    }
    changes = {path: data.encode("utf-8") for path, data in made.items()}
    backup = files.replace(entry.root, "notebook", changes)
    seen = {side: hash_of(path, changes[path]) for side, path in zip(("script", "notebook"), made)}
    remember(record, seen, cells.parse(entry.script, text))
    return backup


def _to_script(entry, text):
    """The script of a notebook's text, under the header of the one it replaces."""
    try:
        return notebook.to_script(text, _text(entry.script) or _text(entry.declared_path))
    except Exception as error:  # noqa: BLE001  nbformat raises many kinds for a notebook that is none
        raise WorkError(
            f"{entry.notebook}: jupytext cannot read this notebook: "
            f"{type(error).__name__}: {error}.",
            f"`tito notebook {entry.name} --keep script` makes it anew from the script.",
        ) from None


def _text(path):
    """The text of a file that may be missing or damaged."""
    try:
        return path.read_bytes().decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    except OSError:
        return None
