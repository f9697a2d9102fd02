"""A lesson's script and its notebook, kept in step without ever guessing.

The pairing is by content and never by a file's time: progress remembers the hashes of both files
when they last agreed. If one changed since, it is the newer; if both did, the learner says which.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from tito import files
from tito.errors import TitoError
from tito.learn import progress
from tito.lesson import cells, notebook
from tito.lesson.course import Entry


def choose(entry: Entry, record: dict) -> str:
    """Which file of a lesson holds the learner's work now: "script" or "notebook".

    Raises TitoError when both were edited since they last agreed, or neither is there.
    """
    if not entry.notebook.exists():
        return "script"
    if not entry.script.exists():
        return "notebook"
    pair, seen = record.get("pair") or _released(entry), hashes(entry)
    changed = [side for side in seen if seen[side] != pair.get(side)]
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
    raise TitoError(
        f"{entry.script.name} and {entry.notebook.name} in {folder} were "
        f"both edited {when}{parts}.",
        f"Say which one counts: tito notebook {entry.name} --keep script (or: --keep notebook). "
        "The other is saved first.",
        1,
    )


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
    """The ids of the exercises that differ between the two files; text and
    other cells are not compared.
    """
    try:
        script, book = (
            {f"{entry.name}-{c.exercise}": c.source for c in cells.read(path).cells if c.exercise}
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
        raise TitoError(
            f"{path} cannot be read: {error.strerror}.", "Check the file and its permissions.", 3
        ) from None


def hash_of(path: Path, data: bytes) -> str:
    """A hash of what a learner writes in a file with these bytes; of a notebook, the cells' text:
    running cells changes only outputs.
    """
    if path.suffix == ".ipynb":
        try:
            book = json.loads(data.decode("utf-8-sig"))
            data = json.dumps(
                [[c["cell_type"], "".join(c["source"])] for c in book["cells"]]
            ).encode("utf-8", "surrogatepass")
        except (ValueError, KeyError, TypeError, RecursionError):
            pass  # damaged: any change of it counts
    return hashlib.sha256(data).hexdigest()


def read(entry: Entry, record: dict) -> cells.Source:
    """The learner's source for a lesson, from whichever file holds the newer work."""
    return cells.read(entry.script if choose(entry, record) == "script" else entry.notebook)


def settle(
    entry: Entry,
    keep: str | None = None,
    make: bool = False,
    warn: Callable[[str], None] = lambda text: None,
) -> Path | None:
    """Bring script and notebook into step.

    `keep` says which side counts; `make` makes a missing notebook.

    Returns the backup folder when something was overwritten. Raises TitoError when both
    were edited and `keep` is None.
    """
    if not (make or entry.notebook.exists()):
        return None
    with progress.change(entry.root, entry.name, warn) as record:
        side = keep or choose(entry, record)
        source = entry.script if side == "script" else entry.notebook
        seen = hashes(entry)
        text = cells.read(
            source
        ).text  # refuses what is missing or damaged before anything is written
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
        record["pair"] = hashes(entry) | {side: seen[side]}
        return backup


def _to_script(entry, text):
    """The script of a notebook's text, under the header of the one it replaces."""
    try:
        return notebook.to_script(text, _text(entry.script) or _text(entry.declared_path))
    except Exception as error:  # noqa: BLE001  nbformat raises many kinds for a notebook that is none
        raise TitoError(
            f"{entry.notebook}: jupytext cannot read this notebook: "
            f"{type(error).__name__}: {error}.",
            f"`tito notebook {entry.name} --keep script` makes it anew from the script.",
            1,
        ) from None


def _text(path):
    """The text of a file that may be missing or damaged."""
    try:
        return path.read_bytes().decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    except OSError:
        return None
