"""A lesson's script and its notebook, kept in step without ever guessing.

What counts is the content and never a file's time: progress remembers the hashes of both files
when they last agreed, and of each cell. If one file changed since, it is the newer; if both did,
the learner says which one counts, or has them merged.
"""

import difflib
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tito import files
from tito.errors import TitoError, WorkError
from tito.learn import progress
from tito.lesson import cells, notebook
from tito.lesson.course import Entry

Hashes = dict[str, str | None]  # {"script", "notebook"}; None for a file that is not there
Record = dict[str, Any]  # a lesson's, in the progress
Rows = list[tuple[cells.Cell, str]]  # cells, each with its key


def choose(entry: Entry, record: Record) -> str:
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


def _newer(entry: Entry, record: Record) -> str | None:
    """As `choose`; None when both were edited."""
    if not entry.notebook.exists():
        return "script"
    if not entry.script.exists():
        return "notebook"
    agreed, now = record.get("pair") or _released(entry), hashes(entry)
    changed = [side for side in now if now[side] != agreed.get(side)]
    if len(changed) < 2:
        return changed[0] if changed else "script"
    return "script" if agree(entry) else None


def _released(entry: Entry) -> Hashes:
    """The hashes of a lesson's script and notebook as a release has them: they agree."""
    if entry.root.is_course:
        return {}
    text = entry.declared_path.read_text(encoding="utf-8")
    book = notebook.to_notebook(text, entry.declared)
    return hashes_of(entry, text.encode("utf-8"), book.encode("utf-8"))


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


def hashes(entry: Entry) -> Hashes:
    """What progress remembers of a script and a notebook that agree."""
    return hashes_of(entry, files.read(entry.script), files.read(entry.notebook))


def hashes_of(entry: Entry, script: bytes | None, book: bytes | None) -> Hashes:
    """The hashes of these contents of a lesson's two files."""
    sides = ("script", entry.script, script), ("notebook", entry.notebook, book)
    return {side: None if data is None else hash_of(path, data) for side, path, data in sides}


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


def read(entry: Entry, record: Record) -> cells.Source:
    """The learner's source for a lesson, from whichever file holds the newer work."""
    if choose(entry, record) == "notebook":
        return cells.read(entry.notebook)
    return cells.read(entry.script, entry.declared.source)


def settle(
    entry: Entry,
    keep: str | None = None,
    make: bool = False,
) -> Path | None:
    """Bring script and notebook into step.

    `keep` says which side counts, or "both": what was edited in one of them only is kept;
    `make` makes a missing notebook.

    Returns the backup folder when something was overwritten. Raises TitoError when both
    were edited and `keep` is None, or "both" and they were edited in the same cell.
    """
    if not (make or entry.notebook.exists()):
        return None
    with progress.change(entry.root, entry.name) as record:
        if keep == "both" and not _newer(entry, record):
            return _settle_both(entry, record)
        side = choose(entry, record) if keep in (None, "both") else keep
        path = entry.script if side == "script" else entry.notebook
        before = hashes(entry)
        source = cells.read(path)  # refuses what is missing or damaged, before anything is written
        if not keep and before == record.get("pair"):
            return None
        if side == "script":
            book = notebook.to_notebook(source.text, entry.declared, _text(entry.notebook))
            changes = {entry.notebook: book}
        else:
            changes = {entry.script: _to_script(entry, source.text)}
        backup = files.replace(entry.root, "notebook", changes, step=bool(keep))
        # What was read, not what is there by now: a save in between counts as an edit.
        remember(record, hashes(entry) | {side: before[side]}, source)
        return backup


def remember(record: Record, hashes: Hashes, source: cells.Source) -> None:
    """Note in a lesson's record that script and notebook agree.

    hashes  of both
    source  the cells of one of them
    """
    record["pair"] = hashes
    keys = [_key(cell) for cell in source.cells if cell.source]
    record["agreed"] = {"of": hashes["script"], "cells": keys}


def _key(cell: cells.Cell) -> str:
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

    text      the script with the edits of both
    script    what was edited in the script only: exercises by their ids, other cells by the place
    notebook  what was edited in the notebook only
    """

    text: str = ""
    script: list[str] = field(default_factory=list)
    notebook: list[str] = field(default_factory=list)


def merge(entry: Entry, record: Record) -> Merge:
    """Merge a lesson's script and notebook cell by cell, from where they last agreed.

    Raises TitoError when a cell was edited in both.
    """
    script, book = cells.read(entry.script), cells.read(entry.notebook)
    sides = script, cells.parse(entry.script, _to_script(entry, book.text))
    base, known = _agreed(entry, record)
    rows = [[(cell, _key(cell)) for cell in side.cells if cell.source] for side in sides]
    out = Merge()
    taken: list[tuple[int, cells.Cell]] = []  # (0 for the script, 1 for the notebook; cell)
    clash: list[str] = []
    for old, mine, theirs in _chunks(base, *rows):
        my_keys, their_keys = ([key for _, key in chunk] for chunk in (mine, theirs))
        mine_differ = _names(entry, script, mine, their_keys)
        theirs_differ = _names(entry, book, theirs, my_keys)
        if their_keys in (my_keys, old):
            taken += [(0, cell) for cell, _ in mine]
            out.script += mine_differ if my_keys != their_keys else []
        elif my_keys == old:
            taken += [(1, cell) for cell, _ in theirs]
            out.notebook += theirs_differ
        elif not old and known:  # new cells at the same place
            new = [(cell, key) for cell, key in theirs if key not in my_keys]
            taken += [(0, cell) for cell, _ in mine] + [(1, cell) for cell, _ in new]
            out.script += mine_differ
            out.notebook += _names(entry, book, new, my_keys)
        else:
            clash += mine_differ or theirs_differ
    if clash:
        raise WorkError(
            f"{', '.join(dict.fromkeys(clash))}: edited in {entry.script.name} and in "
            f"{entry.notebook.name}, each in another way; nothing was changed.",
            f"Make it the same in both, or say which file counts: tito notebook {entry.name} "
            "--keep script (or: --keep notebook).",
        )
    out.text = _joined(sides, taken)
    return out


def planned_merge(entry: Entry) -> Merge | None:
    """What `settle` would merge, with nothing written; None when not both were edited."""
    record = progress.load(entry.root)["lessons"].get(entry.name, {})
    return None if _newer(entry, record) else merge(entry, record)


def _agreed(entry: Entry, record: Record) -> tuple[list[str], bool]:
    """(the keys of the cells when both files last agreed, whether they are known); where they are
    not, those of the lesson as it was released.
    """
    agreed = record.get("agreed") or {}
    if record.get("pair") and agreed.get("of") == record["pair"].get("script"):
        return [str(key) for key in agreed.get("cells", ())], True
    return [_key(cell) for cell in entry.declared.source.cells if cell.source], False


def _chunks(base: list[str], mine: Rows, theirs: Rows) -> Iterator[tuple[list[str], Rows, Rows]]:
    """The three versions of a lesson, cut where all have the same cell: (keys, rows, rows) of each
    piece. An exercise is the same cell whatever code it holds, a question whatever answer.
    """

    def names(keys: list[str]) -> list[str]:
        return [key.partition(":")[0] for key in keys]

    places = []  # for each side {number of a cell of the base: its number in that side}
    for rows in (mine, theirs):
        keys = names([key for _, key in rows])
        blocks = difflib.SequenceMatcher(None, names(base), keys, False).get_matching_blocks()
        places.append({b.a + n: b.b + n for b in blocks for n in range(b.size)})
    a = b = c = 0
    for number in range(len(base)):
        if all(number in place for place in places):
            first, second = places[0][number], places[1][number]
            yield base[a:number], mine[b:first], theirs[c:second]
            a, b, c = number + 1, first + 1, second + 1
            yield base[number:a], mine[first:b], theirs[second:c]
    yield base[a:], mine[b:], theirs[c:]


def _names(entry: Entry, source: cells.Source, rows: Rows, others: list[str]) -> list[str]:
    """What a learner calls those cells whose key is not among the `others`, and how many of these
    are gone.
    """
    names = []
    for cell, key in rows:
        if key not in others:
            place = source.place(cell).replace(f"{source.path.parent}/", "")
            other = f"a cell of {source.path.name}" if source.is_notebook else place
            names.append(f"{entry.name}-{cell.task}" if cell.task else other)
    gone = len(others) - len(rows)
    return names + [f"{gone} cell{'s' * (gone > 1)} deleted"] * (gone > 0)


def _joined(sides: tuple[cells.Source, ...], taken: list[tuple[int, cells.Cell]]) -> str:
    """The text of a script of these cells, under the header of the first side."""
    texts = [_pieces(side) for side in sides]
    parts = [texts[side][1][cell] for side, cell in taken]
    parts = [part if part.endswith("\n\n") else f"{part.rstrip()}\n\n" for part in parts]
    return texts[0][0] + "".join(parts).rstrip("\n") + "\n"


def _pieces(source: cells.Source) -> tuple[str, dict[cells.Cell, str]]:
    """(the text above the first cell, {cell: its lines}) of a script."""
    lines = source.text.split("\n")
    head = notebook.HEAD.match(source.text)
    least = source.text[: head.end()].count("\n") if head else 0
    starts = [max(c.line - c.gap - 1, least) for c in source.cells] + [len(lines)]
    pieces = ["\n".join([*lines[a:b], ""]) for a, b in zip(starts, starts[1:])]
    return "\n".join([*lines[: starts[0]], ""]), dict(zip(source.cells, pieces))


def _settle_both(entry: Entry, record: Record) -> Path | None:
    """Write what `merge` gives into both files. Returns the backup folder."""
    text = merge(entry, record).text
    crlf = b"\r\n" in entry.script.read_bytes()
    script = (text.replace("\n", "\r\n") if crlf else text).encode("utf-8")
    book = notebook.to_notebook(text, entry.declared, _text(entry.notebook)).encode("utf-8")
    backup = files.replace(entry.root, "notebook", {entry.script: script, entry.notebook: book})
    remember(record, hashes_of(entry, script, book), cells.parse(entry.script, text))
    return backup


def _to_script(entry: Entry, text: str) -> str:
    """The script of a notebook's text, under the header of the one it replaces."""
    try:
        return notebook.to_script(text, _text(entry.script) or _text(entry.declared_path))
    except Exception as error:  # noqa: BLE001  nbformat raises many kinds for what is no notebook
        raise WorkError(
            f"{entry.notebook}: jupytext cannot read this notebook: "
            f"{type(error).__name__}: {error}.",
            f"`tito notebook {entry.name} --keep script` makes it anew from the script.",
        ) from None


def _text(path: Path) -> str | None:
    """The text of a file that may be missing or damaged."""
    try:
        return path.read_bytes().decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    except OSError:
        return None
