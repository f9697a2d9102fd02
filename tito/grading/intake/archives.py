"""Read untrusted folders and zips as lists of files, without following links, writing or blocking.

Unreadable is raised, with the reason, for anything that cannot be read. A file is read on request,
with a limit on its bytes, which are counted while it is unpacked.
"""

import contextlib
import functools
import itertools
import os
import re
import stat
import time
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO

from tito.grading.roster import shown
from tito.grading.setting import Limits

# And every folder that begins with a dot.
IGNORED = {"__MACOSX", "__pycache__", "venv", "env", "site-packages", "node_modules"}


class Unreadable(Exception):
    """Why a file or zip cannot be read: the end of a sentence that begins with its name."""


@dataclass
class Member:
    """A file in a folder or zip: its path in it, its time, and how to read it.

    changed  only to compare files of the same archive: a zip may contain any time
    read     given a limit in bytes, returns the bytes or raises Unreadable
    problem  why it is not even tried
    entry    the name of the upload in which it came
    """

    path: str
    changed: Any
    read: Callable[[int], bytes]
    problem: str = ""
    entry: str = ""

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.path).suffix.lower()


@dataclass
class Archive:
    """The contents of a folder or zip, with notes on what was ignored.

    Of a zip also its `folders`, and names that point outside.
    """

    members: list[Member]
    notes: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def why_not_regular(mode: int) -> str:
    """The kind of a file that is not regular, as the end of a sentence."""
    kinds = [
        (stat.S_ISLNK, "link"),
        (stat.S_ISDIR, "folder"),
        (stat.S_ISFIFO, "pipe"),
        (stat.S_ISSOCK, "socket"),
    ]
    return f"is a {next((kind for test, kind in kinds if test(mode)), 'device')}, no regular file"


# Files and folders on disk.

BY_FOLDER = os.open in os.supports_dir_fd and os.scandir in os.supports_fd


def flags(*names: str) -> int:
    """os.O_RDONLY and these flags of os.open: no system has them all."""
    value = os.O_RDONLY
    for name in names:
        value |= getattr(os, name, 0)
    return value


@contextlib.contextmanager
def opened_folder(folder: Path, names: Iterable[str]) -> Iterator[int | None]:
    """The descriptor of the folder at these names below `folder`, for `dir_fd` of os.open. No link
    is followed, even if one appears meanwhile. Raises OSError.
    """
    with contextlib.ExitStack() as stack:
        below = None
        for name in (str(folder), *names):
            number = os.open(name, flags("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC"), dir_fd=below)
            stack.callback(os.close, number)
            below = number
        yield below


def open_regular(path: str | Path, folder: int | None = None) -> BinaryIO:
    """The regular file at `path`, open for reading.

    folder  the descriptor of the folder that it is in; or None, for a path

    Raises Unreadable for a link or anything else that is not a regular file, without blocking.
    """
    try:
        mode = os.stat(path, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISREG(mode):
            how = flags("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
            file = os.fdopen(os.open(path, how, dir_fd=folder), "rb")
            # Ask the open file: its name may belong to another file by now.
            mode = os.fstat(file.fileno()).st_mode
            if stat.S_ISREG(mode):
                return file
            file.close()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its name is damaged"
        raise Unreadable(f"cannot be read: {why}") from None
    raise Unreadable(why_not_regular(mode))


def read_below(folder: Path, name: str, limit: int) -> bytes:
    """The bytes of the file at `name`, a path below `folder`. Raises Unreadable."""
    *parts, last = name.split("/")
    if not BY_FOLDER:
        return read_regular(Path(folder, name), limit)
    try:
        with opened_folder(folder, parts) as above:
            return read_regular(last, limit, above)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None


def read_regular(path: str | Path, limit: int, folder: int | None = None) -> bytes:
    """The bytes of the file at `path`. Raises Unreadable, also if the file changes meanwhile.

    folder  as in `open_regular`
    """
    for _ in range(3):
        with open_regular(path, folder) as file:
            before = os.fstat(file.fileno())
            data = file.read(limit + 1) if before.st_size <= limit else b""
            after = os.fstat(file.fileno())
        if max(after.st_size, len(data)) > limit:
            raise Unreadable(_too_large(after.st_size, limit))
        if (before.st_mtime_ns, before.st_size, after.st_size) == (
            after.st_mtime_ns,
            len(data),
            len(data),
        ):
            return data
    raise Unreadable("changed while it was read")


def _too_large(size: int, limit: int) -> str:
    return f"is too large: {size:,} bytes, and {limit:,} are allowed"


def list_folder(path: Path, limits: Limits) -> Archive:
    """The files below a folder on disk, shallow ones first. Raises Unreadable."""
    archive = Archive([])
    waiting, count = deque([("", 1)]), 0
    while waiting:
        above, depth = waiting.popleft()
        try:
            entries = _entries_below(path, above, limits.members - count + 1)
        except OSError as error:
            if not above:
                raise Unreadable(f"cannot be read: {error.strerror}") from None
            archive.notes.append(
                f"The folder {shown_path(above)} cannot be read: {error.strerror}."
            )
            continue
        count += len(entries)
        if count > limits.members:
            archive.notes.append(
                f"It holds more than {limits.members:,} files: the rest was not looked at."
            )
            waiting.clear()
        for name, info in entries[: limits.members]:
            if not stat.S_ISDIR(info.st_mode):
                archive.members.append(_file_below(path, above + name, info))
            elif depth == limits.depth:
                archive.notes.append(
                    f"Folders nested deeper than {limits.depth} were not looked at."
                )
            elif not is_ignored([name]):
                waiting.append((f"{above}{name}/", depth + 1))
    return archive


def _entries_below(path: Path, above: str, most: int) -> list[tuple[str, os.stat_result]]:
    """(name, information) of at most so many entries of the folder `above` below `path`."""
    entries = []
    with contextlib.ExitStack() as stack:
        folder: Any = Path(path, above)
        if BY_FOLDER:
            folder = stack.enter_context(opened_folder(path, above.split("/")[:-1]))
        for entry in itertools.islice(stack.enter_context(os.scandir(folder)), most):
            with contextlib.suppress(OSError):  # gone by now
                entries.append((entry.name, entry.stat(follow_symlinks=False)))
    return sorted(entries, key=lambda pair: pair[0])


def _file_below(path: Path, name: str, info: os.stat_result) -> Member:
    try:
        changed = tuple(time.localtime(info.st_mtime)[:6])
    except (ValueError, OverflowError, OSError):
        changed = (0,)
    problem = "" if stat.S_ISREG(info.st_mode) else why_not_regular(info.st_mode)
    return Member(name, changed, functools.partial(read_below, path, name), problem)


# Zips.


class _Frugal:
    """A file whose reads are at most `largest` bytes: zipfile reads its list of members in one."""

    def __init__(self, file: IO[bytes], largest: int) -> None:
        self.file, self.largest = file, largest
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(min(size, self.largest + 1))
        if len(data) > self.largest:
            raise Unreadable("holds too many files")
        return data


def list_zip(file: IO[bytes], limits: Limits) -> Archive:
    """The members of a zip, from a file open for reading.

    Raises Unreadable when it is no zip, damaged, or a bomb.
    """
    opened = _open_zip(file, limits)
    archive = Archive([])
    for member in opened.infolist():
        name = member.orig_filename.replace("\\", "/")
        parts = [part for part in name.split("/") if part not in ("", ".")]
        points_outside = ".." in parts or name.startswith("/") or re.match("[A-Za-z]:", name)
        if points_outside or "\0" in name or not parts:
            archive.refused.append(member.orig_filename)
        elif name.endswith("/"):
            archive.folders.append("/".join(parts))
        else:
            read = functools.partial(_read_member, opened, member)
            problem = _why_not(member, len(parts), limits)
            archive.members.append(Member("/".join(parts), member.date_time, read, problem))
    if archive.refused:
        archive.notes.append(
            f"Names that point outside of the zip were ignored: {some(archive.refused)}."
        )
    return archive


def _open_zip(file: IO[bytes], limits: Limits) -> zipfile.ZipFile:
    """The zip, whose members are neither too many nor a bomb, nor overlap. Raises Unreadable."""
    size = file.seek(0, os.SEEK_END)
    if size > limits.zip:
        raise Unreadable(_too_large(size, limits.zip))
    # Bytes: a member's name and some more; and a zip's comment.
    frugal = _Frugal(file, max(limits.members * 300, 100_000))
    try:
        opened = zipfile.ZipFile(frugal)
        frugal.largest = limits.zip
    except Unreadable:
        raise
    except Exception:  # noqa: BLE001  damage makes zipfile raise a dozen kinds
        raise Unreadable("is empty" if not size else "is not a zip, or damaged") from None
    members = opened.infolist()
    if len(members) > limits.members:
        raise Unreadable(
            f"holds too many files: {len(members):,}, and {limits.members:,} are allowed"
        )
    total = sum(member.file_size for member in members)
    if total > limits.unpacked or total > max(10_000_000, limits.ratio * size):
        raise Unreadable(f"is {size:,} bytes and says that it unpacks to {total:,}: that is a bomb")
    places = sorted(
        (member.header_offset, member.header_offset + 30 + member.compress_size)
        for member in members
    )
    if any(end > start for (_, end), (start, _) in itertools.pairwise(places)):
        raise Unreadable("is damaged: its files overlap")
    return opened


def _why_not(member: zipfile.ZipInfo, depth: int, limits: Limits) -> str:
    """Why this member cannot be read, or ""."""
    mode = member.external_attr >> 16
    if stat.S_IFMT(mode) and not stat.S_ISREG(mode):
        return why_not_regular(mode)
    if member.flag_bits & 0x41:
        return "is encrypted"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is compressed in a way that is not read here (method {member.compress_type})"
    return f"is nested deeper than {limits.depth} folders" if depth > limits.depth else ""


def _read_member(opened: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int) -> bytes:
    """The bytes of a member, counted as they are unpacked: the size in the zip may be false."""
    try:
        with opened.open(member) as file:
            data = file.read(limit + 1)
    except Exception:  # noqa: BLE001  damage makes zipfile and zlib raise a dozen kinds
        raise Unreadable("is damaged in the zip") from None
    if len(data) > limit:
        raise Unreadable(_too_large(max(member.file_size, len(data)), limit))
    return data


# Names.


def is_ignored(folders: Iterable[str], package: str | None = None) -> bool:
    """Whether these folders hold copies of the release, backups, environments or the package."""
    folders = list(folders)
    if any(name.startswith(".") or name in IGNORED for name in folders):
        return True
    return any(pair == (package, "core") for pair in itertools.pairwise(folders))


def some(names: Iterable[str], longest: int = 80) -> str:
    """Some of the names, safe to show."""
    names = list(names)
    rest = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(shown(name, longest) for name in names[:5]) + rest


def shown_path(path: str) -> str:
    """A path in a submission, safe to show and with its suffix."""
    suffix = PurePosixPath(path).suffix
    if suffix.lower() in (".py", ".ipynb", ".zip"):
        return shown(path[: -len(suffix)], 150) + suffix.lower()
    return shown(path, 150)
