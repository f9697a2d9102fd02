"""The notebook beside a lesson's script: made from it, and kept in step with it without ever guessing.

jupytext converts. The pairing is ours, by content and never by a file's time: progress remembers the hashes of both
files when they last agreed. If one changed since, it is the newer; if both did, the learner says which.
"""

import hashlib
import json

from tito import cells, files, progress
from tito.errors import TitoError


def to_notebook(script, old=None):
    """The notebook (text) of a script's text, same bytes each time. `old` lends the outputs of unchanged cells."""
    import jupytext
    import nbformat

    book = jupytext.reads(script, fmt="py:percent")
    if old:
        from jupytext.combine import combine_inputs_with_outputs

        try:
            book = combine_inputs_with_outputs(book, nbformat.reads(old, as_version=4), fmt={"extension": ".py"})
        except Exception:  # noqa: BLE001  outputs are a convenience; a damaged old notebook is saved before it is replaced
            pass
    for number, cell in enumerate(book.cells, 1):
        cell["id"] = cell.metadata.get("nbgrader", {}).get("grade_id") or f"cell-{number}"
    book.nbformat, book.nbformat_minor = 4, 5
    return nbformat.writes(book)


def to_script(notebook):
    """The script (text) of a notebook's text."""
    import jupytext
    import nbformat

    book = nbformat.reads(notebook, as_version=4)
    book.metadata.pop("language_info", None)
    return jupytext.writes(book, fmt="py:percent")


def choose(entry, record):
    """Which file of a lesson holds the learner's work now: "script" or "notebook".

    Raises TitoError when both were edited since they last agreed, or neither is there.
    """
    if not entry.notebook.exists():
        return "script"
    if not entry.script.exists():
        return "notebook"
    pair, seen = record.get("pair", {}), hashes(entry)
    changed = [side for side in seen if seen[side] != pair.get(side)]
    if len(changed) < 2:
        return changed[0] if changed else "script"
    if pair and _same(entry):
        return "script"
    folder = entry.relative(entry.script.parent)
    when = "since they last agreed" if pair else "and tito has not seen them agree"
    raise TitoError(f"{entry.script.name} and {entry.notebook.name} in {folder} were both edited {when}.",
                    f"Say which one counts: tito notebook {entry.name} --keep script (or: --keep notebook). The other is saved first.", 1)


def _same(entry):
    """Whether both files hold the same cells, whatever else differs (outputs, ids)."""
    try:
        sides = [cells.read(path) for path in (entry.script, entry.notebook)]
    except TitoError:
        return False
    one, two = ([(c.kind, c.source) for c in side.cells if c.source] for side in sides)
    return one == two


def _sha(path):
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise TitoError(f"{path} cannot be read: {error.strerror}.", "Check the file and its permissions.", 3) from None


def hashes(entry):
    """{"script", "notebook"}: what progress remembers of a pair that agrees; None for a file that is not there."""
    return {"script": _sha(entry.script) if entry.script.exists() else None,
            "notebook": _notebook_sha(entry.notebook) if entry.notebook.exists() else None}


def _notebook_sha(path):
    """A hash of what a learner writes in a notebook: its cells' text; running cells changes only outputs."""
    try:
        book = json.loads(path.read_text(encoding="utf-8-sig"))
        text = json.dumps([[c["cell_type"], "".join(c["source"])] for c in book["cells"]])
    except (OSError, ValueError, KeyError, TypeError):
        return _sha(path)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read(entry, record):
    """The learner's source for a lesson, from whichever file holds the newer work."""
    return cells.read(entry.script if choose(entry, record) == "script" else entry.notebook)


def settle(entry, keep=None, make=False, warn=lambda text: None):
    """Bring script and notebook into step. `keep` says which side counts; `make` makes a missing notebook.

    Returns the backup folder when something was overwritten. Raises TitoError when both were edited and `keep` is None.
    """
    if not (make or entry.notebook.exists()):
        return None
    with progress.change(entry.root, entry.name, warn) as record:
        side = keep or choose(entry, record)
        source = entry.script if side == "script" else entry.notebook
        text = cells.read(source).text  # refuses what is missing or damaged before anything is written
        if not keep and hashes(entry) == record.get("pair"):
            return None
        if side == "script":
            old = entry.notebook.read_text(encoding="utf-8-sig") if entry.notebook.exists() else None
            kept = files.replace(entry.root, "notebook", {entry.notebook: to_notebook(text, old)})
        else:
            kept = files.replace(entry.root, "notebook", {entry.script: to_script(text)})
        record["pair"] = hashes(entry)
        return kept
