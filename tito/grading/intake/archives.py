"""Reads folders and zips that nobody vouches for, as boxes of files: no link is followed, nothing
is written, nothing waits.

What cannot be read raises Unreadable, which says why. A box lists its files; each is read only when
it is asked for, with a limit, and counted while it is unpacked.
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
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tito.grading.roster import shown
from tito.lesson.cells import LARGEST

IGNORED = {
    "__MACOSX",
    "__pycache__",
    "venv",
    "env",
    "site-packages",
    "node_modules",
}  # and every folder that begins with a dot


@dataclass(frozen=True)
class Limits:
    """How much of a submission is looked at. Sizes in bytes."""

    file: int = LARGEST[".py"]
    notebook: int = LARGEST[".ipynb"]
    zip: int = 200_000_000  # a learner's zip
    inner_zip: int = 50_000_000  # a zip in a zip: it is held in memory
    unpacked: int = (
        1_000_000_000  # what a zip says it unpacks to; only lesson files ever are unpacked
    )
    ratio: int = 100  # unpacked to packed, from 10 MB on: text has less than 20
    members: int = 20_000  # in a zip, or files in a folder
    depth: int = 40  # folders in folders
    copies: int = 20  # files of one lesson
    read: int = 50_000_000  # all lesson files of a learner
    others: int = 50  # scripts and notebooks whose names do not say which lesson they are
    class_members: int = 200_000  # in one zip of the whole class


LIMITS = Limits()


class Unreadable(Exception):
    """Why a file or zip cannot be read: the rest of a sentence that begins with its name."""


@dataclass
class Item:
    """A file in a folder or zip: where it is in there, when it was changed, how it is read.

    changed  only to be compared with others of the same box: a zip says what it likes
    read     given a limit in bytes, returns the bytes or raises Unreadable
    problem  why it is not even tried
    entry    of SUBMISSIONS, in which it came
    """

    path: str
    changed: object
    read: object
    problem: str = ""
    entry: str = ""

    @property
    def suffix(self):
        return PurePosixPath(self.path).suffix.lower()


@dataclass
class Box:
    """What a folder or zip holds, with notes on what was passed over.

    Of a zip also its `folders`, and names that point outside.
    """

    items: list
    notes: list = field(default_factory=list)
    folders: list = field(default_factory=list)
    refused: list = field(default_factory=list)


def kind_of(mode):
    kinds = [
        (stat.S_ISLNK, "link"),
        (stat.S_ISDIR, "folder"),
        (stat.S_ISFIFO, "pipe"),
        (stat.S_ISSOCK, "socket"),
    ]
    return f"is a {next((kind for test, kind in kinds if test(mode)), 'device')}, no regular file"


BY_FOLDER = os.open in os.supports_dir_fd and os.scandir in os.supports_fd


def flags(*names):
    """os.O_RDONLY and these flags of os.open: no system has them all."""
    found = os.O_RDONLY
    for name in names:
        found |= getattr(os, name, 0)
    return found


@contextlib.contextmanager
def opened_folder(folder, parts):
    """What is below `folder` at the names `parts`, itself a folder: something that `dir_fd` of
    os.open takes. No link is followed, whoever puts one there meanwhile. Raises OSError.
    """
    with contextlib.ExitStack() as stack:
        below = None
        for part in (folder, *parts):
            number = os.open(part, flags("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC"), dir_fd=below)
            stack.callback(os.close, number)
            below = number
        yield below


def open_regular(path, folder=None):
    """The regular file at `path`, open for reading.

    folder  the descriptor of the folder that it is in; or None, for a path

    Raises Unreadable for a link or anything that is none, without waiting for it.
    """
    try:
        mode = os.stat(path, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISREG(mode):
            how = flags("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
            file = os.fdopen(os.open(path, how, dir_fd=folder), "rb")
            mode = os.fstat(
                file.fileno()
            ).st_mode  # of what was opened: the name may mean another file by now
            if stat.S_ISREG(mode):
                return file
            file.close()
    except (OSError, ValueError) as error:
        raise Unreadable(
            f"cannot be read: {getattr(error, 'strerror', None) or 'its name is damaged'}"
        ) from None
    raise Unreadable(kind_of(mode))


def read_below(folder, name, limit):
    """The bytes of the file at `name`, a path below `folder`. Raises Unreadable."""
    *parts, last = name.split("/")
    if not BY_FOLDER:
        return read_regular(Path(folder, name), limit)
    try:
        with opened_folder(folder, parts) as above:
            return read_regular(last, limit, above)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None


def read_regular(path, limit, folder=None):
    """The bytes of the file at `path`, the same from first to last; `folder` as in `open_regular`.
    Raises Unreadable.
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


def _too_large(size, limit):
    return f"is too large: {size:,} bytes, and {limit:,} are allowed"


def folder_box(path, limits):
    """The files below a folder on disk, shallow ones first."""
    box = Box([])
    waiting, seen = deque([("", 1)]), 0
    while waiting:
        above, depth = waiting.popleft()
        try:
            entries = listed(path, above, limits.members - seen + 1)
        except OSError as error:
            if not above:
                raise Unreadable(f"cannot be read: {error.strerror}") from None
            box.notes.append(f"The folder {shown_path(above)} cannot be read: {error.strerror}.")
            continue
        seen += len(entries)
        if seen > limits.members:
            box.notes.append(
                f"It holds more than {limits.members:,} files: the rest was not looked at."
            )
            waiting.clear()
        for name, info in entries[: limits.members]:
            if stat.S_ISDIR(info.st_mode):
                if depth == limits.depth:
                    box.notes.append(
                        f"Folders nested deeper than {limits.depth} were not looked at."
                    )
                elif not is_ignored([name]):
                    waiting.append((f"{above}{name}/", depth + 1))
            else:
                box.items.append(
                    Item(
                        above + name,
                        _local(info.st_mtime),
                        functools.partial(read_below, path, above + name),
                        "" if stat.S_ISREG(info.st_mode) else kind_of(info.st_mode),
                    )
                )
    return box


def listed(path, above, most):
    """[(name, os.stat_result)] of at most so many entries of the folder `above` below `path`."""
    with contextlib.ExitStack() as stack:
        folder = (
            stack.enter_context(opened_folder(path, above.split("/")[:-1]))
            if BY_FOLDER
            else Path(path, above)
        )
        found = []
        for entry in itertools.islice(stack.enter_context(os.scandir(folder)), most):
            with contextlib.suppress(OSError):  # gone by now
                found.append((entry.name, entry.stat(follow_symlinks=False)))
    return sorted(found, key=lambda pair: pair[0])


def _local(seconds):
    try:
        return tuple(time.localtime(seconds)[:6])
    except (ValueError, OverflowError, OSError):
        return (0,)


class _Frugal:
    """A file of which at most `largest` bytes are read in one piece: zipfile reads a zip's list of
    members in one.
    """

    def __init__(self, file, largest):
        self.file, self.largest = file, largest
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size=-1):
        data = self.file.read(min(size, self.largest + 1))
        if len(data) > self.largest:
            raise Unreadable("holds too many files")
        return data


def zip_box(file, limits):
    """The members of a zip, from a file open for reading.

    Raises Unreadable when it is no zip, damaged, or a bomb.
    """
    size = file.seek(0, os.SEEK_END)
    if size > limits.zip:
        raise Unreadable(_too_large(size, limits.zip))
    frugal = _Frugal(
        file, max(limits.members * 300, 100_000)
    )  # bytes: a member's name and some more; and a zip's comment
    try:
        archive = zipfile.ZipFile(frugal)
        frugal.largest = limits.zip
    except Unreadable:
        raise
    except Exception:  # noqa: BLE001  damage makes zipfile raise a dozen kinds
        raise Unreadable("is empty" if not size else "is no zip, or a damaged one") from None
    members = archive.infolist()
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
    box = Box([])
    for member in members:
        name = member.orig_filename.replace("\\", "/")
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if (
            "\0" in name
            or ".." in parts
            or not parts
            or name.startswith("/")
            or re.match("[A-Za-z]:", name)
        ):
            box.refused.append(member.orig_filename)
        elif name.endswith("/"):
            box.folders.append("/".join(parts))
        else:
            read = functools.partial(_read_member, archive, member)
            box.items.append(
                Item("/".join(parts), member.date_time, read, _why_not(member, len(parts), limits))
            )
    if box.refused:
        box.notes.append(f"Names that point outside of the zip were ignored: {some(box.refused)}.")
    return box


def _why_not(member, depth, limits):
    """Why this member cannot be read, or ""."""
    mode = member.external_attr >> 16
    if stat.S_IFMT(mode) and not stat.S_ISREG(mode):
        return kind_of(mode)
    if member.flag_bits & 0x41:
        return "is encrypted"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is compressed in a way that is not read here (method {member.compress_type})"
    return f"is nested deeper than {limits.depth} folders" if depth > limits.depth else ""


def _read_member(archive, member, limit):
    """The bytes of a member, counted while they are unpacked: what the zip says of its size is not
    believed.
    """
    try:
        with archive.open(member) as file:
            data = file.read(limit + 1)
    except Exception:  # noqa: BLE001  damage makes zipfile and zlib raise a dozen kinds
        raise Unreadable("is damaged in the zip") from None
    if len(data) > limit:
        raise Unreadable(_too_large(max(member.file_size, len(data)), limit))
    return data


def is_ignored(folders, package=None):
    """Whether files in these folders are no lessons of the learner's: pristine copies, backups,
    environments, the package.
    """
    return any(name.startswith(".") or name in IGNORED for name in folders) or (
        package,
        "core",
    ) in itertools.pairwise(folders)


def some(names, longest=80):
    """A few of the names, as they can be shown."""
    names = list(names)
    return ", ".join(shown(name, longest) for name in names[:5]) + (
        f" and {len(names) - 5} more" if len(names) > 5 else ""
    )


def shown_path(path):
    """A path in a submission as it can be shown; its ending stays."""
    suffix = PurePosixPath(path).suffix
    return (
        shown(path[: -len(suffix)], 150) + suffix.lower()
        if suffix.lower() in (".py", ".ipynb", ".zip")
        else shown(path, 150)
    )
