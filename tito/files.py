"""Write files so that nothing is lost.

`write` leaves the old file or the new one, whenever it is interrupted. `replace` saves what it
overwrites in `.tito/backups/`, one folder per command; `undo` takes the newest back.
`replace_all` leaves all files old or all new; `recover` takes back one that was interrupted.
"""

import json
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import EllipsisType
from typing import Any, Protocol, TypeVar

from tito.errors import MachineError, TitoError, UsageError

SUFFIX = ".tito-tmp"
PRIVATE = 0o600  # the mode of a file with grades, or with the secret names of feedback pages
PATIENCE = 2  # seconds that another program may hold a file
LONGEST = 220  # characters of a path that Windows takes, with what `write` adds to a name
UNFINISHED = "unfinished"  # in .tito: names the backup of a `replace_all` while it runs
# What no file's name has on Windows: a drive's colon, \\ between folders, the names of devices.
FORBIDDEN = re.compile(r'[\x00-\x1f\\:*?"<>|]')
RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³]|conin\$|conout\$) *(\.|$)")
# Endings of the backup folders that `undo` passes over.
DONE = ".undone"  # taken back already
ASIDE = ".aside"  # saved by tito itself, not by a command of the learner

Changes = Mapping[Path, bytes | str | None]  # new content of files, None to delete them
T = TypeVar("T")


class SavedRoot(Protocol):
    """A course or workspace, as `tito.lesson.course.Root`."""

    @property
    def path(self) -> Path: ...

    @property
    def state(self) -> Path: ...


def patiently(act: Callable[..., T], *arguments: Any) -> T:
    """The result of `act`. On Windows a file that another program has open cannot be replaced or
    deleted, and some cannot be read: an editor or a virus scanner gets two seconds to close it.
    """
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return act(*arguments)
        except PermissionError:
            if os.name != "nt" or time.monotonic() > until:
                raise
            time.sleep(0.02)


class Changed(Exception):
    """The file is not what it was a moment ago: an editor has saved it."""


def write(
    path: Path,
    data: bytes | str,
    instead_of: bytes | None | EllipsisType = ...,
    mode: int = 0o666,
) -> None:
    """Make `path` hold `data`. Raises MachineError, with the old file unchanged, when it cannot.

    instead_of  the bytes that it replaces, None for no file; raises Changed when the file holds
                other bytes at the last moment
    mode        permissions of a new file, less the umask; of an old one they stay, unless PRIVATE
    """
    data = data.encode("utf-8") if isinstance(data, str) else data
    path = Path(os.path.realpath(path))  # through a link: replace the file, not the link
    new, old = path.with_name(f".{path.name}.{secrets.token_hex(4)}{SUFFIX}"), None
    try:
        path.parent.mkdir(0o700 if mode == PRIVATE else 0o777, parents=True, exist_ok=True)
        if path.exists():
            old = path.stat().st_mode & 0o777
            if not old & 0o200:
                raise PermissionError(13, "it is read-only")
        _sweep(path.parent)
        with open(new, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if old and mode != PRIVATE:
            os.chmod(new, old | old >> 2 & mode & 0o111)  # a program: for all who can read it
        if instead_of is not ... and read(path) != instead_of:
            raise Changed(path)
        patiently(os.replace, new, path)
    except Changed:
        _remove(new)
        raise
    except OSError as error:
        _remove(new)
        what = f"{path} was not written: {error.strerror or error}. The old file is as it was."
        raise MachineError(what, _remedy(path, error)) from None


def _remedy(path: Path, error: OSError) -> str:
    if os.name == "nt" and isinstance(error, PermissionError):
        return "If another program has it open, close it there, then run it again."
    if os.name == "nt" and len(str(path)) > LONGEST:
        return f"The path has {len(str(path))} characters. Move the folder to a shorter one."
    return "Free some space, or make the file and its folder writable, then run it again."


def write_private(path: Path, data: bytes | str) -> bool:
    """Write a file with grades or secret names, for its owner only. Returns whether it changed."""
    data = data.encode("utf-8") if isinstance(data, str) else data
    if path.is_file() and read(path) == data:
        with suppress(OSError):  # another user's file
            path.chmod(path.stat().st_mode & PRIVATE)
        return False
    write(path, data, mode=PRIVATE)
    return True


def _remove(stray: Path) -> None:
    with suppress(OSError):
        stray.unlink()


def _sweep(folder: Path) -> None:
    """Delete what a killed `write` left in `folder` more than a minute ago."""
    for stray in folder.glob(f".*{SUFFIX}"):
        with suppress(OSError):  # another process was faster
            if time.time() - stray.stat().st_mtime > 60:
                stray.unlink()


def is_plain(name: str) -> bool:
    """Whether a name that was read from a file means a place inside a folder, on every system."""
    parts = name.removesuffix("/").split("/")
    return not any(
        part != part.rstrip(". ") or not part or FORBIDDEN.search(part) or RESERVED.match(part)
        for part in parts
    )


def refuse_outside(folder: Path, changes: Changes) -> None:
    """Raise UsageError for a path that leads out of a folder: by `..`, by a drive, by a link on the
    way. Wherever the names came from, this is asked before anything is written.
    """
    real = os.path.realpath(folder)
    for path, data in changes.items():
        try:
            # Deleting a link leaves its target alone; writing goes through it.
            target = os.path.realpath(path if data is not None else path.parent)
            inside = _lies_in(folder, path) and os.path.commonpath([real, target]) == real
        except ValueError:  # a NUL in it, or another drive
            inside = False
        if not inside:
            raise UsageError(
                f"{str(path)!r} leads out of {folder}; nothing was written.",
                "Do not use what names this file, or remove the link on the way to it.",
            )


def _lies_in(folder: Path, path: Path) -> bool:
    return folder in path.parents and ".." not in path.parts


def replace(root: SavedRoot, command: str, changes: Changes, step: bool = True) -> Path | None:
    """Write each file of `changes`, saving its old content.

    step     whether `undo` takes this back; False for what follows from other work

    Returns the backup folder, or None when nothing had to be saved.
    """
    left = {
        path: data.encode("utf-8") if isinstance(data, str) else data
        for path, data in changes.items()
    }
    backup = None
    while left:
        old = {path: read(path) for path in left}
        left = {path: data for path, data in left.items() if old[path] != data}
        if any(old[path] is not None for path in left):
            backup = _save(root, command, {path: old[path] for path in left}, step)
        with suppress(Changed):  # the editor's bytes are saved, too, before they are replaced
            _write_all(left, old)
            return backup
    return backup


def replace_all(root: SavedRoot, command: str, changes: Changes) -> Path | None:
    """As `replace`, but all or nothing: `recover` takes back a run that failed or was killed.

    Returns the backup folder, or None when nothing changes.
    """
    refuse_outside(root.path, changes)
    old = {path: read(path) for path in changes}
    if not changes:
        return None
    backup = _save(root, command, old)
    write(root.state / UNFINISHED, backup.name)
    try:
        _write_all(changes, old)
    except Changed as changed:
        recover(root)
        raise UsageError(
            f"{changed} was saved in this moment; nothing was changed.", "Run this again."
        ) from None
    except TitoError:
        recover(root)
        raise
    _prune(root, changes)
    patiently((root.state / UNFINISHED).unlink)
    return backup


def _write_all(changes: Changes, old: Mapping[Path, bytes | None]) -> None:
    """Write or delete files. Raises Changed when one is not as in `old` any more."""
    for path, data in changes.items():
        if data is not None:
            write(path, data, instead_of=old[path])
        elif old[path] is not None:
            _delete(path)


def recover(root: SavedRoot) -> str | None:
    """Take back a `replace_all` that was not finished; files written since are saved.

    Returns its command, or None when there is none.
    """
    marker = root.state / UNFINISHED
    if (name := read(marker)) is None:
        return None
    folder = root.state / "backups" / Path(name.decode("utf-8", "replace")).name
    command = None
    if (folder / "manifest.json").exists():
        step = _read_step(root, folder)
        replace(root, "recover", step.changes, step=False)
        _prune(root, step.changes)
        patiently(os.replace, folder, folder.with_name(folder.name + DONE))
        command = step.command
    patiently(marker.unlink)
    return command


def _prune(root: SavedRoot, paths: Iterable[Path]) -> None:
    """Delete those parent folders of `paths` that are empty."""
    folders = {parent for path in paths for parent in path.parents if root.path in parent.parents}
    for folder in sorted(folders, reverse=True):  # the innermost first
        with suppress(OSError):  # something is in it
            folder.rmdir()


def _delete(path: Path) -> None:
    try:
        patiently(path.unlink)
    except OSError as error:
        raise MachineError(
            f"{path} was not deleted: {error.strerror}.", "Make its folder writable."
        ) from None


def read(path: Path) -> bytes | None:
    """The bytes of a file, or None without one."""
    try:
        return patiently(path.read_bytes)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MachineError(
            f"{path} cannot be read: {error.strerror}.", "Check the file and its permissions."
        ) from None


def _save(
    root: SavedRoot, command: str, old: Mapping[Path, bytes | None], step: bool = True
) -> Path:
    """Save `old` (None for no file) in a new backup folder, which is complete when it appears."""
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
        patiently(os.replace, new, backup)
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
    """A backup of the files that one command changed.

    when     local time
    changes  {path: its bytes before the command, or None for no file}
    """

    folder: Path
    command: str
    when: datetime
    changes: dict[Path, bytes | None]

    @property
    def paths(self) -> list[Path]:
        return list(self.changes)


def undo(root: SavedRoot) -> Step:
    """Take back the newest command, which may be an `undo` itself.

    Raises UsageError when there is nothing to undo.
    """
    backups = sorted((root.state / "backups").glob("[0-9]*/manifest.json"))
    folders = [path.parent for path in backups if path.parent.suffix not in (DONE, ASIDE)]
    if not folders:
        raise UsageError(
            "There is nothing to undo.",
            "tito saves a copy whenever it overwrites one of your files.",
        )
    step = _read_step(root, folders[-1])
    replace(root, "undo", step.changes)
    _prune(root, step.changes)
    patiently(os.replace, step.folder, step.folder.with_name(step.folder.name + DONE))
    return step


def _read_step(root: SavedRoot, folder: Path) -> Step:
    """The Step in a backup folder."""
    try:
        record = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        changes = {}
        for file in record["files"]:
            if not _lies_in(root.path, path := root.path / file["path"]):
                raise ValueError(f"it names {file['path']!r}, outside the folder")
            saved = folder / "files" / file["path"]
            changes[path] = saved.read_bytes() if file["existed"] else None
        return Step(folder, record["command"], datetime.fromisoformat(record["when"]), changes)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MachineError(
            f"The backup {folder} is damaged: {error}.",
            f"Its copies are in {folder / 'files'}: take what you need by hand.",
        ) from None


def archive(
    contents: Mapping[str, bytes], compression: int = 0, programs: Sequence[str] = ()
) -> bytes:
    """The bytes of a zip of {path: bytes}, which depend on nothing else: sorted, without times.

    compression  a constant of `zipfile`; 0: none
    programs     the paths of executable files
    """
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in sorted(contents.items()):
            entry = zipfile.ZipInfo(name)  # dated 1980, the first day a zip knows
            entry.compress_type = compression
            entry.create_system = 3  # Unix: with permissions
            entry.external_attr = (0o100755 if name in programs else 0o100644) << 16
            file.writestr(entry, content)
    return out.getvalue()


class BadArchive(Exception):
    """A zip that is not read; its text says why."""


def unarchive(
    path: Path, is_allowed: Callable[[str], bool], most: int, largest: int
) -> dict[str, bytes]:
    """{path: bytes} of the files in a zip. Raises BadArchive for anything but plain files with
    allowed names, once each, and for more than `most` of them or more than `largest` bytes.
    """
    import stat
    import zipfile
    import zlib

    methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    contents: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > most:
                raise BadArchive(f"it holds {len(entries)} files")
            for entry in entries:
                name, kind = entry.filename, stat.S_IFMT(entry.external_attr >> 16)
                shown = repr(name[:100])
                if not is_allowed(name):
                    raise BadArchive(f"it holds {shown}")
                if entry.is_dir():
                    continue
                for wrong, what in (
                    (kind not in (0, stat.S_IFREG), f"{shown} is no plain file"),
                    (name in contents, f"it holds {shown} twice"),
                    (entry.flag_bits & 1, f"{shown} is encrypted"),
                    (entry.compress_type not in methods, f"{shown} is packed in an unusual way"),
                    (
                        sum(map(len, contents.values())) + entry.file_size > largest,
                        f"{shown} would take {entry.file_size / 2**20:.0f} MB",
                    ),
                ):
                    if wrong:
                        raise BadArchive(what)
                with archive.open(entry) as member:  # zipfile gives no byte more than it declares
                    contents[name] = member.read(entry.file_size + 1)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        OSError,
    ) as error:
        problem = str(error)[:100] or type(error).__name__
        raise BadArchive(f"it is damaged, or no zip ({problem})") from None
    return contents
