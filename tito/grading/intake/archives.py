"""Read untrusted folders, zips and tars as lists of files, without following links, writing or
blocking.

Unreadable is raised, with the reason, for anything that cannot be read. A file is read on request,
with a limit on its bytes, which are counted while it is unpacked. Only the files of a tar that may
be lessons are read at once, because a compressed tar cannot be read twice in reasonable time.
"""

import bz2
import contextlib
import errno
import functools
import gzip
import hashlib
import itertools
import lzma
import os
import re
import stat
import tarfile
import time
import zipfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO

from tito.grading.roster import shown
from tito.grading.setting import Limits
from tito.grading.submission import ARCHIVE
from tito.lesson.slim_notebook import without_outputs

COMPRESSED: dict[bytes, Callable[[IO[bytes]], Any]] = {  # {how such a file begins: how to unpack}
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
TAR_KINDS = {
    tarfile.SYMTYPE: stat.S_IFLNK,
    tarfile.LNKTYPE: stat.S_IFLNK,
    tarfile.FIFOTYPE: stat.S_IFIFO,
}
LARGEST_HEADER = 1 << 20  # bytes of a long name or other remarks on a file in a tar
ENCRYPTED = "is encrypted"
PIECE = 1 << 16  # bytes of a file that are read at a time
# And every folder that begins with a dot.
IGNORED = {"__MACOSX", "__pycache__", "venv", "env", "site-packages", "node_modules"}


class Unreadable(Exception):
    """Why a file or archive cannot be read: the end of a sentence that begins with its name."""


class Unknown(Unreadable):
    """The same of what may be as it should, but is no form in which lessons are handed in."""


@dataclass
class Member:
    """A file in a folder or archive: its path in it, its time, and how to read it.

    changed  only to compare files of the same archive: an archive may contain any time
    pieces   given a limit in bytes, yields the bytes piece by piece; raises Unreadable
    problem  why it is not even tried
    entry    the name of the upload in which it came
    sha256   of all its bytes, where `pieces` has only those that count; or ""
    """

    path: str
    changed: Any
    pieces: Callable[[int], Iterable[bytes]]
    problem: str = ""
    entry: str = ""
    sha256: str = ""

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.path).suffix.lower()

    @property
    def is_archive(self) -> bool:
        return bool(ARCHIVE.search(self.path))

    def read(self, limit: int) -> bytes:
        """Its bytes. Raises Unreadable, also for more than `limit`."""
        if self.problem:
            raise Unreadable(self.problem)
        return b"".join(self.pieces(limit))


@dataclass
class Archive:
    """The contents of a folder or archive, with notes on what was ignored.

    Of a zip also its `folders`; of zips and tars names that point outside.
    """

    members: list[Member]
    notes: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def note_refused(self, kind: str) -> None:
        if self.refused:
            names = some(self.refused)
            self.notes.append(f"Names that point outside of the {kind} were ignored: {names}.")


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


def pieces_below(folder: Path, name: str, limit: int) -> Iterator[bytes]:
    """The bytes of the file at `name`, a path below `folder`. Raises Unreadable."""
    *parts, last = name.split("/")
    if not BY_FOLDER:
        yield from pieces_of(Path(folder, name), limit)
        return
    with contextlib.ExitStack() as stack:
        try:
            above = stack.enter_context(opened_folder(folder, parts))
        except OSError as error:
            raise Unreadable(f"cannot be read: {error.strerror}") from None
        yield from pieces_of(last, limit, above)


def pieces_of(path: str | Path, limit: int, folder: int | None = None) -> Iterator[bytes]:
    """The bytes of the file at `path`. Raises Unreadable, also if the file changes meanwhile.

    folder  as in `open_regular`
    """
    with open_regular(path, folder) as file:
        before = os.fstat(file.fileno())
        if before.st_size > limit:
            raise Unreadable(_too_large(before.st_size, limit))
        yield from _counted(file, before.st_size, limit)
        after = os.fstat(file.fileno())
    if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
        raise Unreadable("changed while it was read")


def _counted(file: IO[bytes], size: int, limit: int) -> Iterator[bytes]:
    """The bytes of a file that should have so many. Raises Unreadable for more than `limit`."""
    count = 0
    while piece := file.read(PIECE):
        count += len(piece)
        if count > limit:
            raise Unreadable(_too_large(max(size, count), limit))
        yield piece


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
    return Member(name, changed, functools.partial(pieces_below, path, name), problem)


# Zips and tars.


@dataclass
class Allowance:
    """What the archives of one upload may still hold, with all the archives in them.

    unpacked  bytes
    held      bytes that are in memory: archives in archives, and files of tars
    archives  in archives, that are opened
    """

    members: int
    unpacked: int
    held: int
    archives: int

    @classmethod
    def of(cls, limits: Limits) -> "Allowance":
        return cls(limits.members, limits.unpacked, limits.held, limits.archives)

    def take(self, members: int, unpacked: int) -> None:
        """Raises Unreadable for more members than may be."""
        if members > self.members:
            raise Unreadable(f"holds too many files: {members:,}, and {self.members:,} are allowed")
        self.members -= members
        self.unpacked -= unpacked


def list_archive(file: IO[bytes], limits: Limits, left: Allowance) -> Archive:
    """The members of a zip or tar, which its first bytes tell, from a file open for reading.

    Raises Unreadable when it is none, damaged, or a bomb; Unknown when it is empty or encrypted.
    """
    size = file.seek(0, os.SEEK_END)
    if not size:
        raise Unknown("is empty")
    if size > limits.zip:
        raise Unreadable(_too_large(size, limits.zip))
    file.seek(0)
    start = file.read(tarfile.BLOCKSIZE)
    file.seek(0)
    is_tar = start.startswith(tuple(COMPRESSED)) or start[257:262] == b"ustar"
    return list_tar(file, limits, left) if is_tar else list_zip(file, limits, left)


def _parts_of(name: str, archive: Archive) -> list[str]:
    """The parts of a member's name; [] and a note for the archive when it points outside."""
    plain = name.replace("\\", "/")
    parts = [part for part in plain.split("/") if part not in ("", ".")]
    points_outside = ".." in parts or plain.startswith("/") or re.match("[A-Za-z]:", plain)
    if points_outside or "\0" in name or not parts:
        archive.refused.append(name)
        return []
    return parts


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


def list_zip(file: IO[bytes], limits: Limits, left: Allowance) -> Archive:
    """The members of a zip. Raises as `list_archive`."""
    opened = _open_zip(file, limits, left)
    archive = Archive([])
    for member in opened.infolist():
        if not (parts := _parts_of(member.orig_filename, archive)):
            continue
        if member.orig_filename.endswith(("/", "\\")):
            archive.folders.append("/".join(parts))
        else:
            pieces = functools.partial(_pieces_in, opened, member)
            problem = _why_not(member, len(parts), limits)
            archive.members.append(Member("/".join(parts), member.date_time, pieces, problem))
    archive.note_refused("zip")
    if archive.members and all(member.problem == ENCRYPTED for member in archive.members):
        raise Unknown(ENCRYPTED)
    return archive


def _open_zip(file: IO[bytes], limits: Limits, left: Allowance) -> zipfile.ZipFile:
    """The zip, whose members are neither too many nor a bomb, nor overlap. Raises Unreadable."""
    size = file.seek(0, os.SEEK_END)
    # Bytes: a member's name and some more; and a zip's comment.
    frugal = _Frugal(file, max(limits.members * 300, 100_000))
    try:
        opened = zipfile.ZipFile(frugal)
        frugal.largest = limits.zip
    except Exception as error:  # noqa: BLE001  damage makes zipfile raise a dozen kinds
        raise _unreadable(error, "is not a zip, or damaged") from None
    members = opened.infolist()
    total = sum(member.file_size for member in members)
    # Notebooks are read piece by piece, and their outputs may be one line a million times.
    packed = sum(m.file_size for m in members if not m.filename.lower().endswith(".ipynb"))
    if total > left.unpacked or packed > limits.largest(size):
        raise Unreadable(f"is {size:,} bytes and says that it unpacks to {total:,}: that is a bomb")
    left.take(len(members), total)
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
        return ENCRYPTED
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is compressed in a way that is not read here (method {member.compress_type})"
    return f"is nested deeper than {limits.depth} folders" if depth > limits.depth else ""


def _pieces_in(opened: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int) -> Iterator[bytes]:
    """The bytes of a member, counted as they are unpacked: the size in the zip may be false."""
    if member.file_size > limit:
        raise Unreadable(_too_large(member.file_size, limit))
    try:
        with opened.open(member) as file:
            yield from _counted(file, member.file_size, limit)
    except Exception as error:  # noqa: BLE001  damage makes zipfile and zlib raise a dozen kinds
        raise _unreadable(error, "is damaged in the zip") from None


def _unreadable(error: Exception, damaged: str) -> Unreadable:
    """What to raise for an error while an archive is read: only what the machine or this program
    cannot do has a number, and is no damage.
    """
    if isinstance(error, Unreadable):
        return error
    if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
        return Unreadable(f"cannot be read: {error.strerror}")
    return Unreadable(damaged)


class _Forward:
    """The bytes of a tar, unpacked as they are read: once, from front to back, at most `most`."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self.file, self.most = file, most
        self.at, self.last = 0, b""

    def tell(self) -> int:
        return self.at

    def seek(self, to: int) -> int:
        if to < self.at:
            raise Unreadable("is damaged: it points backwards")
        while self.at < to and self.read(min(PIECE, to - self.at)):
            pass
        return self.at

    def read(self, size: int) -> bytes:
        if size > LARGEST_HEADER:
            raise Unreadable(f"is damaged: a name in it has {size:,} bytes")
        self.last = self.file.read(size)
        self.at += len(self.last)
        if self.at > self.most:
            raise Unreadable(f"unpacks to more than {self.most:,} bytes: that is a bomb")
        return self.last


def list_tar(file: IO[bytes], limits: Limits, left: Allowance) -> Archive:
    """The members of a tar, compressed or not. Raises as `list_archive`.

    Scripts, notebooks and archives are read here, because another reading would unpack all again.
    """
    start, size = file.read(6), file.seek(0, os.SEEK_END)
    file.seek(0)
    unpack = next((COMPRESSED[sign] for sign in COMPRESSED if start.startswith(sign)), None)
    archive, count = Archive([]), 0
    try:
        stream = _Forward(
            unpack(file) if unpack else file, min(left.unpacked, limits.largest(size))
        )
        with tarfile.TarFile(fileobj=stream) as opened:  # type: ignore[arg-type]
            for count, info in enumerate(opened, 1):
                if count > left.members:
                    break
                if info.name.lower().endswith(".ipynb"):  # as in a zip
                    stream.most = min(left.unpacked, stream.most + info.size)
                if (parts := _parts_of(info.name, archive)) and not info.isdir():
                    member = _tar_member(opened, info, parts)
                    archive.members.append(_held(member, len(parts), limits, left))
        if stream.last.strip(b"\0"):
            archive.notes.append("It is damaged: what follows in it cannot be read.")
        while stream.read(PIECE):  # to the checksum of what is compressed
            pass
    except Exception as error:  # noqa: BLE001  damage makes tarfile and zlib raise a dozen kinds
        raise _unreadable(error, "is not a tar, or damaged") from None
    left.take(count, stream.at)
    archive.note_refused("tar")
    return archive


def _tar_member(opened: tarfile.TarFile, info: tarfile.TarInfo, parts: list[str]) -> Member:
    def pieces(limit: int) -> Iterator[bytes]:
        file = opened.extractfile(info)
        assert file  # as it is a regular one
        if info.size > limit:
            raise Unreadable(_too_large(info.size, limit))
        return _counted(file, info.size, limit)

    problem = "" if info.isreg() else why_not_regular(TAR_KINDS.get(info.type, 0))
    if info.issparse():
        problem = "is stored with gaps (sparse)"
    try:
        changed = tuple(time.localtime(info.mtime)[:6])
    except (ValueError, OverflowError, OSError):
        changed = (0,)
    return Member("/".join(parts), changed, pieces, problem)


def _held(member: Member, depth: int, limits: Limits, left: Allowance) -> Member:
    """The member of a tar, with its bytes in memory if it may be a lesson or an archive."""
    is_lesson = member.suffix in (".py", ".ipynb")
    if member.problem or not (is_lesson or member.is_archive):
        return member
    if is_ignored(member.path.split("/")[:-1]):
        return member
    try:
        if depth > limits.depth:
            raise Unreadable(f"is nested deeper than {limits.depth} folders")
        if is_lesson:
            data, sha256 = read_lesson(member, limits)
        else:
            data, sha256 = member.read(min(limits.inner_zip, left.held)), ""
        left.held -= len(data)
        if left.held < 0:
            raise Unreadable(f"is too much: {limits.held:,} bytes of archives in it are read")
    except Unreadable as error:
        return replace(member, problem=str(error))
    return replace(member, pieces=lambda limit: [data], sha256=sha256)


def read_lesson(member: Member, limits: Limits) -> tuple[bytes, str]:
    """(the bytes of a script or notebook that count, the SHA-256 of all). Raises Unreadable.

    Of a notebook, outputs and attachments do not count, so it may be as large as a zip.
    """
    total = hashlib.sha256()

    def hashed(limit: int) -> Iterator[bytes]:
        for piece in member.pieces(limit):
            total.update(piece)
            yield piece

    if member.problem:
        raise Unreadable(member.problem)
    if member.suffix != ".ipynb":
        data = b"".join(hashed(limits.file))
    else:
        kept = bytearray()
        for piece in without_outputs(hashed(limits.zip)):
            kept += piece
            if len(kept) > limits.notebook:
                raise Unreadable(
                    f"is too large: more than {limits.notebook:,} bytes without its outputs"
                )
        data = bytes(kept)
    return data, member.sha256 or total.hexdigest()


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
