"""A learner's workspace, created from a course, with a copy of every lesson as released.

modules/source/02_tensor/tensor_dev.py    the learner's
tinytorch/                                exported from it
.tito/pristine/                           the lessons as released: what the
                                          checks are, what `reset` brings back
.tito/course, .tito/environment           where it came from: the course, and the Python environment
"""

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

from tito import files, settings
from tito.errors import UsageError, WorkError
from tito.learn import milestone, notebook_sync, progress
from tito.lesson import cells, course, export, notebook, track
from tito.lesson.course import PRISTINE, SOURCE, Entry, Root
from tito.lesson.lesson_format import CHECKS, DRAWINGS, FACTS, HINTS, Exercise

MACHINE = (".tito/course", ".tito/environment")  # where things are here: written anew each time
IGNORED = (
    "# Made on each machine",
    "/.venv/",
    "/.tito/backups/",
    "/.tito/lock",
    "/.tito/results/",
    "/.tito/progress.json",
    "/.tito/setup.*",
    *(f"/{name}" for name in MACHINE),
    "__pycache__/",
    ".ipynb_checkpoints/",
    "*.tito-tmp",
    "/*.zip",
)
# Of the package: public modules, given code, and the data that lessons read, with their sources.
SHIPPED = (".py", ".npz", ".bz2", ".md")
LONGEST = 100  # letters of a learner's name
STARTED = ("bin/tito", "bin/activate-tinytorch.sh", "bin/tito.cmd", "bin/activate-tinytorch.ps1")
COPIED = (*STARTED, "tests/conftest.py", "tests/test_lessons.py")


def init(folder: Path, source: Root) -> list[Path]:
    """Make `folder` a workspace of the course `source`, as its tracks show it; in a workspace, add
    missing files and nothing else.

    Returns the paths added, in order. Raises TitoError when the folder holds anything else.
    """
    folder = suitable(folder, source)
    if (folder / "tito.toml").exists():
        here = course.open_root(folder)
        source = source.on_tracks(here.tracks, here.changes)
    targets = contents(source)
    missing = {
        name: data
        for name, data in targets.items()
        if not (folder / name).exists()
        and not (name.endswith("_dev.py") and (folder / name).with_suffix(".ipynb").exists())
    }  # its notebook holds the work
    for name, data in (missing | {name: targets[name] for name in MACHINE}).items():
        files.write(folder / name, data, mode=0o777 if name.startswith("bin/") else 0o666)
    return [folder / name for name in missing if name not in MACHINE]


def suitable(folder: Path, source: Root) -> Path:
    """The absolute path of a folder that is, or can become, a workspace of the course `source`.

    Raises TitoError for any other.
    """
    folder = Path(os.path.abspath(folder.expanduser()))
    config = folder / "tito.toml"
    if config.exists():
        root = course.open_root(folder)
        if root.is_course:
            raise UsageError(
                f"{folder} is a course, not a workspace.",
                "Give another folder: tito init ../my-tinytorch",
            )
        if root.name != source.name or root.edition != source.edition:
            raise UsageError(
                f"{folder} was made from {root.name} {root.edition}; this is "
                f"{source.name} {source.edition}.",
                "Use the tito of that course, or make a new workspace in another folder.",
            )
    elif folder.is_dir() and not _is_unfinished(folder) and any(folder.iterdir()):
        raise UsageError(
            f"{folder} is not empty, and not a workspace.",
            "Give a new folder: tito init my-tinytorch",
        )
    elif folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file.", "Give a new folder: tito init my-tinytorch")
    return folder


def _is_unfinished(folder: Path) -> bool:
    """Whether an `init` was interrupted here: it writes `.tito` first and `tito.toml` last."""
    return (folder / ".tito" / "course").exists() or {p.name for p in folder.iterdir()} <= {".tito"}


def contents(source: Root, lessons: list[Entry] | None = None) -> dict[str, bytes]:
    """Every file of a workspace of that course, {path in it: bytes}, in the
    order in which they are written.

    lessons  Entries, those it has; None for all
    """
    lessons = lessons or source.lessons
    out: dict[str, str | bytes] = {
        ".tito/course": f"{source.path}\n",
        ".tito/environment": f"{sys.prefix}\n",
    }
    for place in (PRISTINE, SOURCE):
        for entry in lessons:
            folder, lesson = (place / entry.folder).as_posix(), entry.declared
            out[f"{folder}/{entry.script.name}"] = lesson.released
            out[f"{folder}/{CHECKS}"] = lesson.released_checks
            if place == PRISTINE:
                facts = entry.declared_path.with_name(FACTS).read_text("utf-8")
                out[f"{folder}/{FACTS}"] = facts + lesson.released_facts
                out |= {f"{folder}/{HINTS}": lesson.hints_text} if lesson.hints_text else {}
    out |= _drawings(lessons) | _milestones(source, {entry.name for entry in lessons})
    out |= given_modules(source)
    out |= _of_tracks(source, lessons)
    for name in COPIED:
        if (source.path / name).exists():
            out[name] = (source.path / name).read_bytes()
    out["README.md"] = readme(source, lessons, source.compare)
    out[".gitignore"] = "".join(f"{name}\n" for name in IGNORED)
    config = (
        f'[workspace]\ncourse = "{source.name}"\nedition = "{source.edition}"\n'
        f'package = "{source.package}"\n' + (f'book = "{source.book}"\n' if source.book else "")
    )
    if source.tracks or source.changes:
        rows = {"tracks": source.tracks, "changes": source.changes}
        config += "".join(f"{name} = {json.dumps(row)}\n" for name, row in rows.items())
    out["tito.toml"] = config
    return {
        name: data.encode("utf-8") if isinstance(data, str) else data for name, data in out.items()
    }


def _drawings(lessons: list[Entry]) -> dict[str, str | bytes]:
    paths = {entry.folder: entry.declared_path.with_name(DRAWINGS) for entry in lessons}
    return {
        (PRISTINE / folder / DRAWINGS).as_posix(): path.read_bytes()
        for folder, path in paths.items()
        if path.exists()
    }


def _of_tracks(source: Root, lessons: list[Entry]) -> dict[str, str]:
    """{path: text} of the titles of a course's tracks, and of the modules of given lessons: the
    package has them from the start.
    """
    written = [entry.name for entry in lessons if entry.declared.exercises]
    names = written or [entry.name for entry in lessons]
    tracks = [source.all_tracks[name] for name in source.tracks if name in source.all_tracks]
    out = {f"{PRISTINE.as_posix()}/{track.FILE}": track.text_of(tracks, names)} if tracks else {}
    for entry in lessons:
        if entry.name not in written:
            module = export.current(entry, entry.declared.source).whole()
            out[entry.relative(entry.module_path)] = module.text
    return out


def learner_name(root: Root) -> str | None:
    """The name for the certificate, "" for none; None when the learner was not asked yet."""
    table = settings.read_root(root.path, strict=False).get("learner")  # it may be new
    name = table.get("name") if isinstance(table, dict) else None
    return name if isinstance(name, str) else None


def save_learner_name(root: Root, name: str) -> None:
    config = root.path / "tito.toml"
    files.write(config, (files.read(config) or b"").rstrip() + name_table(name))


def name_table(name: str) -> bytes:
    """What a workspace's tito.toml says about its learner, after the rest of it."""
    shown = "".join(letter for letter in " ".join(name.split()) if letter.isprintable())[:LONGEST]
    return f"\n\n[learner]\nname = {json.dumps(shown, ensure_ascii=False)}\n".encode()


def given_modules(source: Root) -> dict[str, bytes]:
    """{path: bytes} of the package's files, without the modules of lessons, which are exported."""
    package = source.path / source.package
    out = {}
    for path in sorted(p for p in package.rglob("*") if p.suffix in SHIPPED):
        name = path.relative_to(package)
        if name.parts[0] != "core" or name.name == "__init__.py":
            out[f"{source.package}/{name.as_posix()}"] = path.read_bytes()
    return out


def _milestones(source: Root, names: set[str]) -> dict[str, bytes]:
    """{path: bytes} of the milestones for these lessons, twice: to be edited, and as they are."""
    programs = milestone.milestones(source)
    paths = [program.path for program in programs if names.issuperset(program.needs)]
    if paths:  # and what they share
        folder = paths[0].parent
        paths += sorted(
            path
            for path in folder.glob("*.py")
            if path not in {program.path for program in programs}
        )
    return {
        f"{place.as_posix()}/{path.name}": path.read_bytes()
        for place in (milestone.PRISTINE, milestone.SOURCE)
        for path in paths
    }


def readme(source: Root, lessons: list[Entry], solutions: bool) -> str:
    """The learner's README, for the first lesson; `solutions`: whether `tito compare` has them."""
    first = next((entry for entry in lessons if entry.declared.exercises), lessons[0])
    compare = (
        f"| `tito compare {first.name}` | shows the course's solutions next to yours, once yours "
        "are right |\n"
    )
    return f"""# My {source.name}

In this folder you write `{source.package}`, lesson by lesson. Each lesson is a file in \
`modules/source/`. Edit it in any editor
or as a notebook. `tito` copies your code into the package `{source.package}`.

    source bin/activate-tinytorch.sh    # once per terminal; or write bin/tito instead of tito
                                        # in PowerShell: bin\\activate-tinytorch.ps1
    tito start {first.name}
    tito test {first.name}
    tito hint {first.name}
    tito status

| command | what it does |
| --- | --- |
| `tito start {first.name}` | names the file to open and the first exercise in it |
| `tito read {first.name}` | opens the lesson as a page in your browser |
| `tito test {first.name}` | shows what is right, what is wrong, and why |
| `tito watch {first.name}` | tests each time you save |
| `tito hint {first.name}` | shows the next hint for the first exercise that fails |
| `tito status` | shows your progress and, at the end of the course, writes your certificate |
{compare * solutions}\
| `tito notebook {first.name}` | opens the lesson as a notebook, or says how to install JupyterLab |
| `tito reset {first.name}` | starts the lesson again; `tito undo` restores your work |
| `tito submit` | tests your lessons and writes a zip to hand in; \
`tito restore ZIP` brings the lessons in it back |
| `tito update RELEASE` | brings a newer edition of the course and keeps your work |
| `tito milestone` | lists programs that use your package, \
for example to read digits or write text |
| `tito doctor` | finds missing programs and packages on this machine |

`tito` saves every file in `.tito/backups/` before it overwrites it.
"""


def refuse_course(root: Root) -> None:
    """Raise UsageError in a course, for a command that works on a learner's files."""
    if root.is_course:
        raise UsageError(
            f"{root.path} is the course itself: its lessons contain the solutions.",
            "Run it in a workspace: tito init ../my-tinytorch",
        )


def reset(entry: Entry, exercise: Exercise | None = None) -> Path | None:
    """Put a lesson, or one exercise of it, back to its starting version, in each of script and
    notebook that is there.

    Returns the backup folder (None: it was as released).
    """
    refuse_course(entry.root)
    if exercise:
        return change_exercise(entry, exercise, "reset", lambda code: exercise.cell.source)
    with progress.change(entry.root, entry.name) as record:
        record.pop("seen", None)
    with progress.locked(entry.root):
        return _write(entry, "reset", entry.declared_path.read_text(encoding="utf-8"))


def change_exercise(
    entry: Entry, exercise: Exercise, command: str, new: Callable[[str], str]
) -> Path | None:
    """Replace the code of an exercise, in each of script and notebook that is there.

    command  of tito, whose step `tito undo` takes back
    new      makes the code of the code that is there

    Returns the backup folder (None: nothing changed).
    """
    with progress.locked(entry.root):
        notebook_sync.settle(entry)
        source = cells.read(entry.script)
        if not (cell := source.cell(exercise.name)):
            raise WorkError(
                f"{entry.script} has no cell {exercise.id!r} any more.",
                "Reset the whole lesson, or `tito undo`.",
            )
        book = entry.notebook.read_text(encoding="utf-8") if entry.notebook.exists() else None
        text = source.replaced(cell, new(cell.source))
        if cell.given:
            head = rf'^(# ?%%.*)\bgiven="{exercise.name}"'
            text = re.sub(head, rf'\1exercise="{exercise.name}"', text, count=1, flags=re.M)
        return _write(entry, command, text, book)


def _write(entry: Entry, command: str, text: str, old_notebook: str | None = None) -> Path | None:
    """Write a lesson's script, and its notebook where there is one."""
    changes = {entry.script: text.encode("utf-8")}
    if entry.notebook.exists():
        book = notebook.to_notebook(text, entry.declared, old_notebook)
        changes[entry.notebook] = book.encode("utf-8")
    backup = files.replace(entry.root, command, changes)
    if entry.notebook in changes:
        # Hashes of the new contents: a save since then counts as an edit.
        hashes = notebook_sync.hashes_of(entry, *changes.values())
        with progress.change(entry.root, entry.name) as record:
            record["pair"] = hashes
    return backup


def undo(root: Root) -> files.Step:
    """`files.undo`. Of a lesson whose script or notebook came back, it is not known any more
    whether the two agree.
    """
    with progress.locked(root):
        step = files.undo(root)
        for entry in root.lessons:
            if {entry.script, entry.notebook} & set(step.paths) and entry.notebook.exists():
                with progress.change(root, entry.name) as record:
                    record.pop("pair", None)
    return step
