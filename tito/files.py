"""Write files so that nothing is lost: beside and renamed, and what is overwritten is saved first.

`write` leaves the old file or the new one, whenever it is interrupted. `replace` saves what it
overwrites in `.tito/backups/`, one folder per command; `undo` goes back through those step by step,
and `redo` forward again. `replace_all` leaves all files old or all new: what was interrupted,
`recover` takes back.
"""

import json
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tito.errors import MachineError, TitoError, UsageError

SUFFIX = ".tito-tmp"
UNFINISHED = "unfinished"  # in .tito: the backup of a `replace_all` that goes on
DONE, ASIDE = (
    ".undone",
    ".aside",
)  # endings of backup folders that undo passes over: brought back already; no step of the learner's


class Changed(Exception):
    """The file is not what it was a moment ago: somebody saved it."""


def write(path, data, instead_of=...):
    """Make `path` hold `data` (bytes or text).

    Raises TitoError, with the old file unchanged, when it cannot.

    instead_of  the bytes that it replaces, None for no file; raises Changed when others
                stand there at the last moment
    """
    data = data.encode("utf-8") if isinstance(data, str) else data
    path = Path(os.path.realpath(path))  # through a link: replace the file, not the link
    mode = 0o644
    new = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            mode = path.stat().st_mode & 0o777
            if not mode & 0o200:
                raise PermissionError(13, "it is read-only")
        _sweep(path.parent)
        handle, new = tempfile.mkstemp(SUFFIX, f".{path.name}.", path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(new, mode)
        if instead_of is not ... and held(path) != instead_of:
            raise Changed
        os.replace(new, path)
    except Changed:
        os.unlink(new)
        raise
    except OSError as error:
        if new and os.path.exists(new):
            os.unlink(new)
        raise MachineError(
            f"{path} was not written: {error.strerror or error}. The old file is as it was.",
            "Free some space, or make the file and its folder writable, then run it again.",
        ) from None


def _sweep(folder):
    """Delete what a killed `write` left in `folder` more than a minute ago."""
    for stray in folder.glob(f".*{SUFFIX}"):
        try:
            if time.time() - stray.stat().st_mtime > 60:
                stray.unlink()
        except OSError:
            pass  # another process was faster


def replace(root, command, changes, step=True):
    """Write each path of `changes` ({path: new bytes or text, or None to delete
    it}), saving what stood there.

    step     whether this is something that `undo` takes back, or only what follows from other work

    Returns the backup folder, or None when nothing had to be saved.
    """
    changes = {
        path: data.encode("utf-8") if isinstance(data, str) else data
        for path, data in changes.items()
    }
    backup = None
    while changes:
        old = {path: held(path) for path in changes}
        changes = {path: data for path, data in changes.items() if old[path] != data}
        if any(old[path] is not None for path in changes):
            backup = _save(root, command, {path: old[path] for path in changes}, step)
        try:
            for path, data in changes.items():
                if data is not None:
                    write(path, data, instead_of=old[path])
                elif old[path] is not None:
                    _delete(path)
            return backup
        except Changed:
            pass  # an editor saved it in this moment: that, too, is saved before it is replaced
    return backup


def replace_all(root, command, changes):
    """As `replace`, all of `changes` or, when that fails or is killed, nothing: `recover` takes
    back what was begun.

    Returns the backup folder, or None when nothing changes.
    """
    old = {path: held(path) for path in changes}
    if not changes:
        return None
    backup = _save(root, command, old)
    write(root.state / UNFINISHED, backup.name)
    try:
        for path, data in changes.items():
            if data is not None:
                write(path, data, instead_of=old[path])
            elif old[path] is not None:
                _delete(path)
    except Changed:
        recover(root)
        raise UsageError(
            f"{path} was saved in this moment; nothing was changed.", "Run this again."
        ) from None
    except TitoError:
        recover(root)
        raise
    _prune(root, changes)
    (root.state / UNFINISHED).unlink()
    return backup


def recover(root):
    """Take back a `replace_all` that was not finished; what was written since is saved.

    Returns its command, or None when there is none.
    """
    marker = root.state / UNFINISHED
    if (name := held(marker)) is None:
        return None
    folder, command = root.state / "backups" / name.decode("utf-8", "replace"), None
    if (folder / "manifest.json").exists():
        step = _read(root, folder)
        replace(root, "recover", step.changes, step=False)
        _prune(root, step.changes)
        os.replace(folder, folder.with_name(folder.name + DONE))
        command = step.command
    marker.unlink()
    return command


def _prune(root, paths):
    """Delete the folders that held `paths` and are empty now."""
    folders = {parent for path in paths for parent in path.parents if root.path in parent.parents}
    for folder in sorted(folders, reverse=True):  # the innermost first
        try:
            folder.rmdir()
        except OSError:
            pass  # something is in it


def _delete(path):
    try:
        path.unlink()
    except OSError as error:
        raise MachineError(
            f"{path} was not deleted: {error.strerror}.", "Make its folder writable."
        ) from None


def held(path):
    """The bytes of a file, None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MachineError(
            f"{path} cannot be read: {error.strerror}.", "Check the file and its permissions."
        ) from None


def _save(root, command, old, step=True):
    """Keep `old` ({path: bytes, or None for no file}) in a new backup folder: made beside and
    renamed, so never half there.
    """
    backups = root.state / "backups"
    new = None
    try:
        backups.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(SUFFIX, ".", backups))
        listed = []
        for path, data in old.items():
            name = path.relative_to(root.path)
            listed.append({"path": name.as_posix(), "existed": data is not None})
            if data is not None:
                write(new / "files" / name, data)
        now = datetime.now()
        write(
            new / "manifest.json",
            json.dumps(
                {"command": command, "when": now.isoformat(timespec="seconds"), "files": listed},
                indent=1,
            ),
        )
        numbers = [int(folder.name.split("-")[0]) for folder in backups.glob("[0-9]*-*")]
        backup = (
            backups / f"{max(numbers, default=0) + 1:06}-{now:%Y%m%d-%H%M%S}-{command}"
            f"{'' if step else ASIDE}"
        )  # counted: clocks go back at times
        os.replace(new, backup)
        return backup
    except OSError as error:
        if new:
            shutil.rmtree(new, ignore_errors=True)
        raise MachineError(
            f"No backup could be made in {backups}: "
            f"{error.strerror or error}. Nothing was changed.",
            "Free some space, or make that folder writable, then run it again.",
        ) from None


@dataclass(frozen=True)
class Step:
    """A backup: what one command overwrote. when: as it was saved, a datetime without
    time zone; paths: of the files.
    """

    folder: Path
    command: str
    when: datetime
    changes: dict

    @property
    def paths(self):
        return list(self.changes)


def undo(root):
    """Bring back what the newest command overwrote that was not undone yet, saving in turn what
    that overwrites, for `redo`.

    Returns the Step. Raises TitoError when there is nothing to undo.
    """
    for step in _steps(root):
        if step.command != "undo":
            return _take_back(root, step, "undo")
    raise UsageError(
        "There is nothing to undo.",
        "tito saves a copy whenever it overwrites one of your files.",
    )


def redo(root):
    """Take back the newest `undo`, as long as nothing but `redo` came after it.

    Returns the Step.
    """
    for step in _steps(root):
        if step.command == "undo":
            return _take_back(root, step, "redo")
        if step.command != "redo":
            break
    raise UsageError(
        "There is nothing to redo.", "`tito redo` takes back what `tito undo` has just done."
    )


def _steps(root):
    """The backups that were not brought back yet, newest first."""
    for manifest in sorted((root.state / "backups").glob("[0-9]*/manifest.json"), reverse=True):
        if manifest.parent.suffix not in (DONE, ASIDE):
            yield _read(root, manifest.parent)


def _read(root, folder):
    """The Step that a backup folder holds."""
    try:
        record = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        changes = {
            root.path / file["path"]: (folder / "files" / file["path"]).read_bytes()
            if file["existed"]
            else None
            for file in record["files"]
        }
        return Step(folder, record["command"], datetime.fromisoformat(record["when"]), changes)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MachineError(
            f"The backup {folder} is damaged: {error}.",
            f"Its copies are in {folder / 'files'}: take what you need by hand.",
        ) from None


def _take_back(root, step, command):
    replace(root, command, step.changes)
    _prune(root, step.changes)
    os.replace(step.folder, step.folder.with_name(step.folder.name + DONE))
    return step


def archive(contents, compression=0, programs=()):
    """The bytes of a zip that holds {path: bytes}: sorted, without times.

    `programs` are those paths that can be run.

    compression  as `zipfile` numbers them; 0: stored as it is
    """
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in sorted(contents.items()):
            entry = zipfile.ZipInfo(name)  # dated 1980, the first day a zip knows
            entry.compress_type, entry.create_system = (
                compression,
                3,
            )  # 3: with permissions as Unix has them
            entry.external_attr = (0o100755 if name in programs else 0o100644) << 16
            file.writestr(entry, content)
    return out.getvalue()
