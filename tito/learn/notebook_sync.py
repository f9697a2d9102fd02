"""Keep a lesson's script and its notebook in sync, without guessing.

It compares contents, not times of files: the progress has the hashes of both files from when they
last agreed. If one file changed since then, it is the newer one. If both changed, the learner
chooses which one to keep.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from tito import files
from tito.errors import TitoError, WorkError
from tito.learn import progress
from tito.lesson import cells, notebook
from tito.lesson.course import Entry

Hashes = dict[str, str | None]  # {"script", "notebook"}; None for a file that is not there
Record = dict[str, Any]  # a lesson's, in the progress


def choose(entry: Entry, record: Record) -> str:
    """Which file of a lesson holds the learner's work now: "script" or "notebook".

    Raises TitoError when both were edited since they last agreed, or neither is there.
    """
    if not entry.notebook.exists():
        return "script"
    if not entry.script.exists():
        return "notebook"
    last, now = record.get("pair") or _released(entry), hashes(entry)
    changed = [side for side in now if now[side] != last.get(side)]
    if len(changed) < 2:
        return changed[0] if changed else "script"
    if agree(entry):
        return "script"
    folder = entry.relative(entry.script.parent)
    when = "since they last agreed" if record.get("pair") else "and tito has not seen them agree"
    where = differing(entry)
    parts = (
        f": they differ in {', '.join(where[:4])}{' and more' * (len(where) > 4)}" if where else ""
    )
    raise WorkError(
        f"{entry.script.name} and {entry.notebook.name} in {folder} were "
        f"both edited {when}{parts}.",
        f"Choose the one to keep: tito notebook {entry.name} --keep script (or: --keep notebook). "
        "The other is saved first.",
    )


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
    """A hash of what a learner writes in a file with these bytes: no line ends, which git changes;
    of a notebook, the cells' text, without outputs and the cells of `notebook.with_note`.
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
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def read(entry: Entry, record: Record) -> cells.Source:
    """The learner's source for a lesson, from whichever file holds the newer work."""
    if choose(entry, record) == "notebook":
        return cells.read(entry.notebook)
    return cells.read(entry.script, entry.declared.source)


def settle(entry: Entry, keep: str | None = None, make: bool = False) -> Path | None:
    """Bring script and notebook into step.

    keep  which of them counts: "script" or "notebook"; None for the one that was edited
    make  whether to make a missing notebook

    Returns the backup folder when something was overwritten. Raises TitoError when both were
    edited and `keep` is None.
    """
    if not (make or entry.notebook.exists()):
        return None
    with progress.change(entry.root, entry.name) as record:
        side = keep or choose(entry, record)
        path = entry.script if side == "script" else entry.notebook
        before = hashes(entry)
        source = cells.read(path)  # refuses a missing or damaged file before anything is written
        if not keep and before == record.get("pair"):
            return None
        if side == "script":
            book = notebook.to_notebook(source.text, entry.declared, _text(entry.notebook))
            changes = {entry.notebook: book}
        else:
            changes = {entry.script: _to_script(entry, source.text)}
        backup = files.replace(entry.root, "notebook", changes, step=bool(keep))
        # The hash of the text that was read: a save since then counts as an edit.
        record["pair"] = hashes(entry) | {side: before[side]}
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
