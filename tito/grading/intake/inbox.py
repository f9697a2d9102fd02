"""What stands in the folder or zip of submissions: its entries, as Parts, and what the system they
come from put beside them.

An entry is listed without being opened; `box_of` opens it.
"""

import contextlib
import csv
import functools
import io
import os
import re
import stat
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath

from tito.errors import UsageError
from tito.grading.arrival import NOBODY, Arrived
from tito.grading.intake.archives import (
    LIMITS,
    Box,
    Item,
    Limits,
    Unreadable,
    folder_box,
    kind_of,
    open_regular,
    read_regular,
    zip_box,
)
from tito.grading.intake.submission_times import is_worksheet
from tito.grading.roster import CANVAS, MOODLE, utc

LITTER = {
    ".DS_Store",
    "Thumbs.db",
    "desktop.ini",
    "__MACOSX",
    ".git",
    ".gitignore",
    ".tito",
    ".ipynb_checkpoints",
}
# Folders of a workspace, besides the package's.
OF_A_WORKSPACE = {"bin", "modules", "tests", "__pycache__"}
METADATA = "submission_metadata.yml"  # Gradescope's: who handed in which folder, and when
EXPORT = re.compile(r"assignment_\d+_export")


@dataclass(frozen=True)
class Part:
    """One entry of SUBMISSIONS.

    name     its name there
    path     the entry, or the zip of the class that holds it
    kind     "folder", "zip" or "file"; "" for what is not read, with the `problem`
    time     its own, that of a download or clone, UTC
    inside   whether `path` is the zip of the class
    arrived  when the collector got it, arrived.Arrived
    """

    name: str
    path: Path
    kind: str
    time: datetime
    inside: bool = False
    problem: str = ""
    arrived: Arrived = NOBODY

    @property
    def stem(self):
        """Its name without the `.zip` or `.py` at its end."""
        found = re.fullmatch(r"(.+)\.(zip|py|ipynb)", self.name, re.I | re.S)
        return found[1] if found and self.kind != "folder" else self.name

    @property
    def order(self):
        """What puts the entries of a learner in order."""
        return self.arrived.when or self.time, self.time, natural_key(self.stem)


def natural_key(text):
    """A key by which `ada-2` comes before `ada-10`, and `ada` before both."""
    runs = re.findall(r"\d+|\D+", text.casefold())
    return [(0, int(run), "") if run.isdecimal() and len(run) < 19 else (1, 0, run) for run in runs]


def parts_in(path, lessons):
    """The Parts in the folder or zip at `path`; what Gradescope's metadata there say of them; and
    (name, text) of each of Moodle's worksheets there.
    """
    try:
        info = path.stat()
        if not stat.S_ISDIR(info.st_mode):
            part = _part(path.name, path, info)
            if part.kind == "file":
                return [part], {}, []
            if part.kind == "zip":
                return _in_zip(part, lessons)
            raise UsageError(
                f"{path} {part.problem}.",
                "Give the folder or zip with a folder, zip or file per learner.",
            )
        names = [name for name in os.listdir(path) if name not in LITTER]
        if len(names) == 1 and EXPORT.fullmatch(names[0]) and not (path / names[0]).is_symlink():
            return parts_in(path / names[0], lessons)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.",
            "Give the folder or zip with the submissions.",
        ) from None
    told = {}
    if METADATA in names:
        names.remove(METADATA)
        with contextlib.suppress(Unreadable):
            told = _metadata(read_regular(path / METADATA, LIMITS.zip))
    sheets = _worksheets(names, lambda name: read_regular(path / name, LIMITS.file))
    parts = []
    for name in names:
        try:
            parts.append(_part(name, path / name, os.lstat(path / name)))
        except OSError as error:
            parts.append(
                Part(
                    name, path / name, "", _time(info), problem=f"cannot be read: {error.strerror}"
                )
            )
    if _are_one_learners(parts, lessons):
        return [Part(path.name, path, "folder", _time(info))], {}, []
    return parts, told, sheets


def _worksheets(names, read):
    """(name, text) of the worksheets of Moodle's among these entries, which are taken out of
    `names`. What a learner handed in is none, whatever is in it: Canvas and Moodle name that.
    """
    found = []
    for name in [name for name in names if name.lower().endswith(".csv")]:
        if CANVAS.fullmatch(name) or MOODLE.fullmatch(name):
            continue
        with contextlib.suppress(Unreadable, UnicodeDecodeError, csv.Error):
            text = read(name).decode("utf-8-sig")
            if is_worksheet(text):
                found.append((name, text))
                names.remove(name)
    return found


def _are_one_learners(parts, lessons):
    """Whether these Parts of a folder are one learner's work: nothing but lesson files, or a
    workspace. Where a `tito.toml` stands beside a folder, zip or script that no workspace has, it
    is none: anybody may have put it into a shared folder.
    """
    files = {f"{entry.name}_dev{suffix}" for entry in lessons for suffix in (".py", ".ipynb")}
    names = {part.name for part in parts}
    if "tito.toml" not in names:
        return bool(names) and files.issuperset(names)
    own = files | OF_A_WORKSPACE | {entry.root.package for entry in lessons}
    return all(
        not part.kind or part.name in own or part.kind == "folder" and part.name.startswith(".")
        for part in parts
    )


def _part(name, path, info):
    if stat.S_ISDIR(info.st_mode):
        return Part(name, path, "folder", _time(info))
    if not stat.S_ISREG(info.st_mode):
        return Part(name, path, "", _time(info), problem=kind_of(info.st_mode))
    kind, problem = _kind_by_name(name)
    return Part(name, path, kind, _time(info), problem=problem)


def _kind_by_name(name):
    suffix = PurePosixPath(name).suffix.lower() or name.lower()
    if suffix == ".zip":
        return "zip", ""
    if suffix in (".py", ".ipynb"):
        return "file", ""
    return "", "is no folder, no zip, no script and no notebook"


def _in_zip(part, lessons):
    """The Parts in the zip of a class; the zip itself, when it is one learner's."""
    try:
        tops, refused = _class_zip(os.getpid(), part.path, part.time)
    except Unreadable as error:
        raise UsageError(
            f"{part.path} {error}.",
            "Give the folder or zip with a folder, zip or file per learner.",
        ) from None
    names = [name for name in tops if name not in LITTER]
    only = tops[names[0]] if len(names) == 1 else []
    if any(item.path == f"{names[0]}/tito.toml" for item in only):
        return [part], {}, []
    told = {}
    single = [name for name in names if [item.path for item in tops[name]] == [name]]
    if METADATA in single:
        names.remove(METADATA)
        single.remove(METADATA)
        with contextlib.suppress(Unreadable):
            told = _metadata(tops[METADATA][0].read(LIMITS.inner_zip))
    sheets = _worksheets(single, lambda name: tops[name][0].read(LIMITS.file))
    names = [name for name in names if name not in {name for name, _ in sheets}]
    parts = []
    for name in names:
        kind, problem = _kind_by_name(name)
        if not tops[name] or any(item.path != name for item in tops[name]):
            kind, problem = "folder", ""
        elif tops[name][0].problem:
            kind, problem = "", tops[name][0].problem
        parts.append(Part(name, part.path, kind, part.time, True, problem))
    if _are_one_learners(parts, lessons):
        return [part], {}, []
    parts += [
        Part(name, part.path, "", part.time, True, "has a name that points outside of the zip")
        for name in refused
    ]
    return parts, told, sheets


@functools.lru_cache(maxsize=1)  # by process: two that share a file share its position too
def _class_zip(process, path, time):
    """The items in the zip of a class by the first folder of their paths, and its refused names.

    Raises Unreadable.
    """
    box = zip_box(
        open_regular(path),
        Limits(members=LIMITS.class_members, zip=2**40, unpacked=2**50, ratio=2**20),
    )
    tops = {}
    roots = {
        path.split("/")[0] for path in [*(item.path for item in box.items), *box.folders]
    } - LITTER
    root = roots.pop() + "/" if len(roots) == 1 and EXPORT.fullmatch(*roots) else ""
    for item in box.items:
        item.path = item.path.removeprefix(root)
        tops.setdefault(item.path.split("/")[0], []).append(item)
    for folder in box.folders:
        if top := folder.removeprefix(root).split("/")[0]:
            tops.setdefault(top, [])
    return tops, box.refused


def items_inside(part):
    """The items of an entry in the zip of a class. Raises Unreadable."""
    items = _class_zip(os.getpid(), part.path, part.time)[0].get(part.name)
    if items is None:
        raise Unreadable(f"is no longer in {part.path.name}")
    return items


def _metadata(raw):
    """What Gradescope's export says of its folders: {folder: {"people": [{"name", "sid", "email"},
    ...], "time"}}.

    Read line by line: the file is large, and YAML of one known form.
    """
    told, now = {}, None
    for line in raw.decode("utf-8", "replace").splitlines():
        if found := re.fullmatch(r"([^\s:]\S*):\s*", line):
            now = told.setdefault(found[1], {"people": []})
        elif now is None or "time" in now:
            continue  # what follows the time are results
        elif found := re.fullmatch(r"  :created_at: *(.+)", line):
            now["time"] = None
            with contextlib.suppress(ValueError, OverflowError):
                now["time"] = utc(
                    datetime.fromisoformat(re.sub(r" (Z|UTC)$", "Z", found[1].strip().strip("'\"")))
                )
        elif found := re.fullmatch(r"  ( |-) :(name|sid|email): *(.*)", line):
            if found[1] == "-":
                now["people"].append({})
            if now["people"]:
                now["people"][-1][found[2]] = found[3].strip().strip("'\"")
    return told


def _time(info):
    try:
        return datetime.fromtimestamp(info.st_mtime, timezone.utc)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, timezone.utc)  # a clock that says the year 60000


def items_of(part, limits):
    """The Items of an entry of SUBMISSIONS; a zip is one, not what is in it. Raises Unreadable."""
    if part.inside:
        return items_inside(part)[: limits.members]
    if part.kind == "folder":
        return folder_box(part.path, limits).items
    return [Item(part.name, None, functools.partial(read_regular, part.path))]


def box_of(part, limits, opened):
    """The Box of a folder or zip in SUBMISSIONS."""
    if part.inside and part.kind == "zip":
        return zip_box(io.BytesIO(items_inside(part)[0].read(limits.inner_zip)), limits)
    if part.inside:
        items = items_inside(part)
        notes = (
            [f"It holds more than {limits.members:,} files: the rest was not looked at."]
            if len(items) > limits.members
            else []
        )
        return Box(
            [
                replace(item, path=item.path.removeprefix(part.name + "/"))
                for item in items[: limits.members]
            ],
            notes,
        )
    if part.kind == "folder":
        return folder_box(part.path, limits)
    return zip_box(opened.enter_context(open_regular(part.path)), limits)
