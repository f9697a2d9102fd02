"""The folder or zip of submissions: its entries, as Uploads, and the files that the collecting
system added.

Entries are listed without being opened; `list_upload` opens one.
"""

import contextlib
import functools
import io
import os
import stat
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath

from tito.errors import UsageError
from tito.grading.intake.archives import (
    Allowance,
    Archive,
    Member,
    Unreadable,
    list_archive,
    list_folder,
    list_zip,
    open_regular,
    pieces_of,
    why_not_regular,
)
from tito.grading.intake.submission_times import is_worksheet
from tito.grading.lms import SYSTEMS, having, read_name
from tito.grading.lms.system import Submitters
from tito.grading.setting import LIMITS, Limits
from tito.grading.submission import ARCHIVE, Upload
from tito.lesson.course import Entry

LITTER = {
    ".DS_Store",
    "Thumbs.db",
    "desktop.ini",
    "__MACOSX",
    ".git",
    ".gitignore",
    ".tito",
    ".ipynb_checkpoints",
    *(name for system in SYSTEMS.values() for name in system.litter),
}
WORKSPACE_FOLDERS = {"bin", "modules", "tests", "__pycache__"}  # besides the package's
METADATA = {system.metadata: system for system in having("metadata").values()}
WANTED = "Give the folder or zip with a folder, zip or file per learner."


@dataclass
class Inbox:
    """The contents of the folder or zip of submissions.

    submitters  {name of a folder: Submitters}, from a system's metadata
    worksheets  (name, text) of each table of times with a system's numbers
    """

    uploads: list[Upload]
    submitters: dict[str, Submitters] = field(default_factory=dict)
    worksheets: list[tuple[str, str]] = field(default_factory=list)


def read_inbox(path: Path, lessons: list[Entry]) -> Inbox:
    """The Inbox at `path`, a folder or a zip; or the work of a single learner."""
    try:
        info = path.stat()
        if not stat.S_ISDIR(info.st_mode):
            upload = _upload(path.name, path, info)
            if upload.kind == "file":
                return Inbox([upload])
            if upload.kind == "archive" and path.suffix.lower() == ".zip":
                return _read_zip(upload, lessons)
            why = upload.problem or "is not a folder, zip, script or notebook"
            raise UsageError(f"{path} {why}.", WANTED)
        names = [name for name in os.listdir(path) if name not in LITTER]
        if len(names) == 1 and (only := path / names[0]).is_dir() and not only.is_symlink():
            if _is_class(only.name, os.listdir(only)):
                return read_inbox(only, lessons)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.",
            "Give the folder or zip with the submissions.",
        ) from None
    inbox = Inbox([])
    inbox.submitters = _submitters(names, lambda name: _bytes_of(path / name, LIMITS.zip))
    names = [name for name in names if name not in METADATA]
    inbox.worksheets = _worksheets(names, lambda name: _bytes_of(path / name, LIMITS.file))
    for name in names:
        if name in dict(inbox.worksheets):
            continue
        try:
            upload = _upload(name, path / name, os.lstat(path / name))
        except OSError as error:
            problem = f"cannot be read: {error.strerror}"
            upload = Upload(name, path / name, "", _time(info), problem=problem)
        inbox.uploads.append(upload)
    if _is_one_learners_work(inbox.uploads, lessons):
        return Inbox([Upload(path.name, path, "folder", _time(info))])
    return inbox


def _bytes_of(path: Path, limit: int) -> bytes:
    return b"".join(pieces_of(path, limit))


def _is_class(name: str, inside: Collection[str]) -> bool:
    """Whether the only folder of a download is not a learner's: a system calls its download so, or
    has named the entries in it.
    """
    if (entry := read_name(name)) and entry.is_folder:
        return False
    downloads = filter(None, (system.download for system in SYSTEMS.values()))
    if any(download.fullmatch(name) for download in downloads):
        return True
    return sum(bool(read_name(one)) for one in inside) > max(1, len(inside) / 2)


def _submitters(names: list[str], read: Callable[[str], bytes]) -> dict[str, Submitters]:
    """Who handed in what, from the metadata among these entries."""
    submitters: dict[str, Submitters] = {}
    for name in METADATA.keys() & set(names):
        with contextlib.suppress(Unreadable):
            submitters |= METADATA[name].submitters(read(name).decode("utf-8", "replace"))
    return submitters


def _worksheets(names: list[str], read: Callable[[str], bytes]) -> list[tuple[str, str]]:
    """(name, text) of the systems' worksheets among these entries. A learner's file is never taken
    for one, because a system that has any renames it.
    """
    worksheets = []
    for name in names:
        entry = read_name(name)
        if not name.lower().endswith(".csv") or entry and (entry.number or entry.is_certain):
            continue
        with contextlib.suppress(Unreadable, UnicodeDecodeError, UsageError):
            text = read(name).decode("utf-8-sig")
            if is_worksheet(text):
                worksheets.append((name, text))
    return worksheets


def _is_one_learners_work(uploads: list[Upload], lessons: list[Entry]) -> bool:
    """Whether these entries of a folder are the work of one learner: only lesson files, or a
    workspace. A `tito.toml` next to entries that no workspace contains does not make it one: a
    learner may have put the file into a shared folder.
    """
    files = {f"{entry.name}_dev{suffix}" for entry in lessons for suffix in (".py", ".ipynb")}
    names = {upload.name for upload in uploads}
    if "tito.toml" not in names:
        return bool(names) and files.issuperset(names)
    own = files | WORKSPACE_FOLDERS | {entry.root.package for entry in lessons}
    return all(
        upload.kind in ("", "other")
        or upload.name in own
        or upload.kind == "folder"
        and upload.name.startswith(".")
        for upload in uploads
    )


def _upload(name: str, path: Path, info: os.stat_result) -> Upload:
    if stat.S_ISDIR(info.st_mode):
        return Upload(name, path, "folder", _time(info))
    if not stat.S_ISREG(info.st_mode):
        return Upload(name, path, "", _time(info), problem=why_not_regular(info.st_mode))
    return Upload(name, path, _kind_by_name(name), _time(info))


def _kind_by_name(name: str) -> str:
    """The kind of a regular file."""
    if ARCHIVE.search(name):
        return "archive"
    suffix = PurePosixPath(name).suffix.lower() or name.lower()
    return "file" if suffix in (".py", ".ipynb") else "other"


def _time(info: os.stat_result) -> datetime:
    try:
        return datetime.fromtimestamp(info.st_mtime, timezone.utc)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, timezone.utc)  # a clock that says the year 60000


# The zip of a class.


def _read_zip(whole: Upload, lessons: list[Entry]) -> Inbox:
    """The Inbox in the zip of a class; of the zip itself, when it is one learner's."""
    try:
        tops, refused = _class_zip(os.getpid(), whole.path, whole.time)
    except Unreadable as error:
        raise UsageError(f"{whole.path} {error}.", WANTED) from None
    names = [name for name in tops if name not in LITTER]
    if len(names) == 1 and any(file.path == f"{names[0]}/tito.toml" for file in tops[names[0]]):
        return Inbox([whole])
    inbox = Inbox([])
    files = [name for name in names if [member.path for member in tops[name]] == [name]]
    inbox.submitters = _submitters(files, lambda name: tops[name][0].read(LIMITS.inner_zip))
    names = [name for name in names if name not in METADATA or name not in files]
    inbox.worksheets = _worksheets(files, lambda name: tops[name][0].read(LIMITS.file))
    for name in names:
        if name in dict(inbox.worksheets):
            continue
        kind, problem = _kind_by_name(name), ""
        if not tops[name] or any(member.path != name for member in tops[name]):
            kind = "folder"
        elif tops[name][0].problem:
            kind, problem = "", tops[name][0].problem
        inbox.uploads.append(Upload(name, whole.path, kind, whole.time, True, problem))
    if _is_one_learners_work(inbox.uploads, lessons):
        return Inbox([whole])
    why = "has a name that points outside of the zip"
    inbox.uploads += [Upload(name, whole.path, "", whole.time, True, why) for name in refused]
    return inbox


# by process: two processes that share a file would share its position
@functools.lru_cache(maxsize=1)
def _class_zip(
    process: int, path: Path, time: datetime
) -> tuple[dict[str, list[Member]], list[str]]:
    """The members of the zip of a class by the first folder of their paths, and its refused names.

    Raises Unreadable.
    """
    limits = Limits(members=LIMITS.class_members, zip=2**40, unpacked=2**50, ratio=2**20)
    archive = list_zip(open_regular(path), limits, Allowance.of(limits))
    paths = [*(member.path for member in archive.members), *archive.folders]
    roots = sorted({path.split("/")[0] for path in paths} - LITTER)
    inside = {name for path in paths for name in path.split("/")[1:2] if name}
    root = f"{roots[0]}/" if len(roots) == 1 and _is_class(roots[0], inside) else ""
    tops: dict[str, list[Member]] = {}
    for member in archive.members:
        member.path = member.path.removeprefix(root)
        tops.setdefault(member.path.split("/")[0], []).append(member)
    for folder in archive.folders:
        if top := folder.removeprefix(root).split("/")[0]:
            tops.setdefault(top, [])
    return tops, archive.refused


def members_inside(upload: Upload) -> list[Member]:
    """The members of an upload in the zip of a class. Raises Unreadable."""
    members = _class_zip(os.getpid(), upload.path, upload.time)[0].get(upload.name)
    if members is None:
        raise Unreadable(f"is no longer in {upload.path.name}")
    return members


# The contents of an upload.


def list_files(upload: Upload, limits: Limits) -> list[Member]:
    """The files of an upload, with an archive as one file. Raises Unreadable."""
    if upload.inside:
        return members_inside(upload)[: limits.members]
    if upload.kind == "folder":
        return list_folder(upload.path, limits).members
    return [Member(upload.name, None, functools.partial(pieces_of, upload.path))]


def list_upload(
    upload: Upload, limits: Limits, left: Allowance, opened: contextlib.ExitStack
) -> Archive:
    """The Archive that a folder or archive is. Raises Unreadable."""
    if upload.inside and upload.kind == "archive":
        data = members_inside(upload)[0].read(limits.inner_zip)
        return list_archive(io.BytesIO(data), limits, left)
    if upload.inside:
        members = members_inside(upload)
        archive = Archive(
            [
                replace(member, path=member.path.removeprefix(upload.name + "/"))
                for member in members[: limits.members]
            ]
        )
        if len(members) > limits.members:
            archive.notes.append(
                f"It holds more than {limits.members:,} files: the rest was not looked at."
            )
        return archive
    if upload.kind == "folder":
        return list_folder(upload.path, limits)
    return list_archive(opened.enter_context(open_regular(upload.path)), limits, left)
