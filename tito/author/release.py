"""A release: the course for learners, in a folder to publish, without solutions.

A release is a workspace (`workspace.contents`) that works without the course. It also has

    bin/*.whl, bin/setup*      tito for learners: the same program, with the released lessons
                               instead of the course
    modules/**/*.ipynb         each lesson as a notebook
    binder/, .devcontainer/    sessions in the browser, on Binder and in GitHub Codespaces
    .github/                   a test run at each push (these three are copied from `released/`)
    .tito/release.json         what was released: from it, the next release knows which files were
                               changed by hand

and, only on request, the solutions for `tito compare`, in a file per lesson under `.tito/`.

A release is first written to a temporary folder, and searched for solutions, hidden checks and
recorded mistakes (`leaks.py`). Only then is it moved to its place. Its bytes depend on the course,
on tito and on the libraries that make the notebooks, but not on the time, the machine or the path.
"""

import hashlib
import json
import os
import secrets
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tito import files
from tito.author import leaks, wheel
from tito.errors import MachineError, UsageError
from tito.learn import workspace
from tito.lesson import course, notebook, site_settings, track
from tito.lesson.course import PRISTINE, SOURCE, Entry, Root
from tito.lesson.lesson_format import DRAWINGS, FACTS, HINTS, SOLUTIONS

NOTE = ".tito/release.json"
ADDED = Path(__file__).with_name("released")  # files of every release, at the same paths
SETUP = (*workspace.STARTED, "bin/setup", "bin/setup.py")
PROGRAMS = {"bin/tito", "bin/setup", "binder/postBuild", "binder/start"}
# Files in the folder of a release that are never published.
NOT_RELEASED = {".git", ".venv", "__pycache__", ".tito/backups"}


@dataclass
class Released:
    """The result of `release`.

    lessons  names of the released lessons
    changed  paths that were written, or deleted
    by_hand  those of them that had been edited
    backup   the folder with copies of these
    """

    path: Path
    lessons: list[str]
    changed: list[str] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)
    backup: Path | None = None


def release(
    source: Root, folder: Path, lessons: list[Entry] | None = None, with_solutions: bool = False
) -> Released:
    """Write the release of a course into `folder`, or update an earlier release there.

    lessons         those to release; None for all
    with_solutions  include the solutions, which `tito compare` shows to learners who have solved
                    the exercise: not for a class that is graded

    Raises UsageError if the folder contains anything else, or if a lesson needs one that is not
    released. Raises MachineError and writes nothing if the release would contain a secret.
    """
    folder = Path(os.path.abspath(folder.expanduser()))
    chosen = lessons or source.lessons
    refuse(source, chosen, with_solutions)
    earlier = read_earlier(source, folder)
    new = contents(source, chosen, with_solutions)
    stage = make_stage(folder)
    try:
        for name, data in new.items():
            write_file(stage / name, name, data)
        on_disk = {name: (stage / name).read_bytes() for name in new}
        published = on_disk | other_files(folder, {*new, *(earlier or {})})
        public = solution_files(chosen) if with_solutions else {}
        searched = {name: data for name, data in published.items() if name not in public}
        leaks.verify(source, chosen, searched)
        out = Released(folder, [entry.name for entry in chosen])
        if earlier is None and not holds_anything(folder):
            move(stage, folder)
            out.changed = list(new)
        else:
            update(folder, earlier or {}, on_disk, out)
        return out
    except OSError as error:
        raise MachineError(
            f"{folder} was not written: {error.strerror or error}.",
            "Free some space, or make its folder writable.",
        ) from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def refuse(source: Root, chosen: list[Entry], with_solutions: bool) -> None:
    """Raise UsageError when these lessons cannot be released."""
    if not source.is_course:
        raise UsageError(
            f"{source.path} is a workspace; its lessons hold no solutions, so "
            "there is nothing to release.",
            "Run it in the course.",
        )
    if with_solutions and not source.compare:
        raise UsageError(
            f"{source.name} does not show its solutions: its tito.toml says compare = false.",
            "Release without --with-solutions, or remove that line.",
        )
    names = [entry.name for entry in chosen]
    if not any(entry.declared.exercises for entry in chosen):
        raise UsageError(
            f"{', '.join(names)} has no exercise on this track.", "Name a lesson that has one."
        )
    for entry in chosen:
        for prerequisite in entry.declared.prerequisites:
            if prerequisite not in names:
                needed = {*chosen, *(lower for other in chosen for lower in other.needed)}
                listed = " ".join(e.name for e in source.lessons if e in needed)
                raise UsageError(
                    f"Lesson {entry.name} needs {prerequisite}, which is not among the lessons to "
                    f"release ({', '.join(names)}).",
                    f"Release what they need with them: {listed}",
                )


def read_earlier(source: Root, folder: Path) -> dict[str, str] | None:
    """{path: sha256} of the release that is in `folder`, or None for an empty folder.

    Raises UsageError when anything else is there.
    """
    if not holds_anything(folder) or {path.name for path in folder.iterdir()} <= {".git"}:
        return None
    new_folder = "Give a new folder: tito release ../my-course-release"
    if not (folder / "tito.toml").exists():
        raise UsageError(f"{folder} is not empty, and is not a release.", new_folder)
    root = course.open_root(folder)
    if root.is_course:
        raise UsageError(
            f"{folder} is a course; a release there would overwrite its solutions.", new_folder
        )
    if not (folder / NOTE).exists():
        raise UsageError(f"{folder} is a workspace, not a release: it has no {NOTE}.", new_folder)
    if root.name != source.name:
        raise UsageError(
            f"{folder} is a release of {root.name}; this is {source.name}.", "Give another folder."
        )
    try:
        listed = dict(json.loads((folder / NOTE).read_text(encoding="utf-8"))["files"])
        return {name: value for name, value in listed.items() if files.is_plain(name)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # damaged: then every file that differs counts as edited, and is saved


def holds_anything(folder: Path) -> bool:
    if folder.exists() and not folder.is_dir():
        raise UsageError(
            f"{folder} is a file.", "Give a new folder: tito release ../my-course-release"
        )
    return folder.exists() and any(folder.iterdir())


def write_file(path: Path, name: str, data: bytes) -> None:
    files.write(path, data, mode=0o777 if name in PROGRAMS else 0o666)


def make_stage(folder: Path) -> Path:
    """A new temporary folder next to `folder`, from where a release is moved to its place."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    stage = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}{files.SUFFIX}")
    stage.mkdir()
    return stage


def move(stage: Path, folder: Path) -> None:
    """Move a new release to its place."""
    if folder.exists():
        folder.rmdir()  # empty; not every system renames onto a folder
    os.replace(stage, folder)


def update(folder: Path, earlier: dict[str, str], on_disk: dict[str, bytes], out: Released) -> None:
    """Update a release, and save files that were edited.

    NOTE is written last, so that after an interruption the whole update is repeated.
    """
    by_hand: dict[Path, bytes | str | None] = {}
    names = sorted({*earlier, *on_disk} - {NOTE})
    files.refuse_outside(folder, {folder / name: on_disk.get(name) for name in names})
    for name in names:
        path, data = folder / name, on_disk.get(name)
        current = path.read_bytes() if path.is_file() else None
        if current == data:
            continue
        out.changed.append(name)
        if current is not None and sha256(current) != earlier.get(name):
            by_hand[path] = data
            out.by_hand.append(name)
        elif data is None:
            path.unlink()
        else:
            write_file(path, name, data)
    if by_hand:
        out.backup = files.replace(course.open_root(folder), "release", by_hand)
    write_file(folder / NOTE, NOTE, on_disk[NOTE])


def other_files(folder: Path, names: set[str]) -> dict[str, bytes]:
    """{path: bytes} of the other files in the folder, which would be published with it."""
    contents = {}
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        name = path.relative_to(folder).as_posix()
        unpublished = any(
            f"{name}/".startswith(f"{pattern}/") or f"/{pattern}/" in f"/{name}/"
            for pattern in NOT_RELEASED
        )
        if not unpublished and name not in names and path.is_file() and not path.is_symlink():
            contents[name] = path.read_bytes()
    return contents


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def contents(source: Root, chosen: list[Entry], with_solutions: bool = False) -> dict[str, bytes]:
    """Every file of a release of those lessons, {path: bytes}."""
    out = {
        name: data
        for name, data in workspace.contents(source, chosen).items()
        if name not in workspace.MACHINE
    }
    tools = source.path if (source.path / "bin").is_dir() else course.installed_course().path
    out |= {name: (tools / name).read_bytes() for name in SETUP}
    out |= {
        path.relative_to(ADDED).as_posix(): path.read_bytes()
        for path in sorted(ADDED.rglob("*"))
        if path.is_file()
    }
    name, data = wheel.build(course_of_stubs(source, out))
    out[f"bin/{name}"] = data
    if (source.path / "LICENSE").exists():
        out["LICENSE"] = (source.path / "LICENSE").read_bytes()
    out["README.md"] = readme(source, chosen, with_solutions).encode()
    for entry in chosen:
        script = entry.declared.released
        book = notebook.to_notebook(script, entry.declared)
        for path, text in ((entry.script, script), (entry.notebook, book)):
            out[entry.relative(path)] = text.encode("utf-8")
    if with_solutions:
        out |= solution_files(chosen)
    note = {
        "course": source.name,
        "edition": source.edition,
        "tito": course.version(),
        "lessons": [entry.name for entry in chosen],
        "files": {name: sha256(data) for name, data in sorted(out.items())},
    }
    return out | {NOTE: (json.dumps(note, indent=1, ensure_ascii=False) + "\n").encode("utf-8")}


def solution_files(chosen: list[Entry]) -> dict[str, bytes]:
    """{path: bytes} of the files that `tito compare` reads, one per lesson.

    They contain only the solutions of its exercises. No other file of a release may contain any.
    """
    return {
        (PRISTINE / entry.folder / SOLUTIONS).as_posix(): entry.declared.solutions.encode("utf-8")
        for entry in chosen
    }


def course_of_stubs(source: Root, released: dict[str, bytes]) -> dict[str, bytes]:
    """The released files as a course, which a learner's tito carries: `tito init` needs one."""
    out = {
        name: data
        for name, data in released.items()
        if name.startswith(("modules/", "tests/", f"{source.package}/")) or name in workspace.COPIED
    }
    beside = (
        f"/{FACTS}",
        f"/{HINTS}",
        f"/{DRAWINGS}",
    )  # a workspace has them only in the pristine copy
    out |= {
        name.replace(PRISTINE.as_posix(), SOURCE.as_posix()): data
        for name, data in released.items()
        if name.startswith(PRISTINE.as_posix()) and name.endswith(beside)
    }
    out["tito.toml"] = (
        "[course]\n"
        f'name = "{source.name}"\n'
        f'edition = "{source.edition}"\n'
        f'package = "{source.package}"\n'
        "compare = false\n" + (f'book = "{source.book}"\n' if source.book else "")
    ).encode()
    if source.tracks:
        out["tito.toml"] += f"tracks = {json.dumps(source.tracks)}\n".encode()
        if data := released.get(f"{PRISTINE.as_posix()}/{track.FILE}"):
            out[track.FILE] = data
    return out


README = """
## Install

You need Python 3.11 or newer. The first `bin/tito status` needs a network: it creates an \
environment in `.venv` and installs
tito from the file in `bin/`. Then `. bin/activate-tinytorch.sh` puts tito on your path. \
`bin/setup notebook` installs what
notebooks need. On Windows, write `bin\\tito status`, `bin\\activate-tinytorch.ps1` (in \
PowerShell) and `py bin\\setup.py notebook`.

## In the browser

{binder} Such a session is temporary: \
when it ends, your work is deleted. Before
that, run `tito submit` in a terminal there and download the zip. In the next session, upload it \
and run `tito restore ZIP`.

In GitHub Codespaces, tito is installed when you create a codespace. Your work stays until you \
delete the codespace.

## Hand in

`tito submit` tests the lessons that you have begun and writes a zip. Hand in this zip. In a \
repository on GitHub, each push
also tests every lesson, and the summary of the run shows the results. There, a tag that starts \
with `hand-in` hands in:
`git tag hand-in-1`, then `git push origin hand-in-1`.
"""


def readme(source: Root, chosen: list[Entry], with_solutions: bool) -> str:
    """The README of a release: the workspace's, and sections on installing and handing in."""
    first = next((entry for entry in chosen if entry.declared.exercises), chosen[0])
    place, path = site_settings.read(source.path), first.relative(first.notebook)
    if place.release:
        binder = f"On Binder, open <{place.binder(path)}>."
    else:
        binder = (
            f"On Binder, open `https://mybinder.org/v2/gh/OWNER/REPOSITORY/HEAD"
            f"?urlpath=lab/tree/{path}` with\nthe owner and the name of this repository."
        )
    return workspace.readme(source, chosen, with_solutions) + README.format(binder=binder)
