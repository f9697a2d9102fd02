"""Write the lessons of a workspace into a zip to hand in, and restore them from such a zip.

    manifest.json                                   the files, the course,
                                                    and the results of the local test
    modules/source/02_tensor/tensor_dev.py, .ipynb  the lesson files, as they are

A zip may come from anywhere. So `restore` accepts only zips as `submit` writes them: lesson files
with known names, within limits, that match the hashes of the manifest. Overwritten files are saved
first.
"""

import hashlib
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from tito import files
from tito.errors import MachineError, UsageError
from tito.learn import notebook_sync, progress, runner, status, workspace
from tito.learn.manifest import MANIFEST, manifest
from tito.learn.process import Process
from tito.learn.verdict import LEFT_OUT, Verdict, given_up_note
from tito.lesson import cells
from tito.lesson.course import Entry, Root
from tito.lesson.slim_notebook import without_outputs
from tito.lesson.track import WHOLE

NAME = re.compile(r"modules/source/([0-9]+_([a-z][a-z0-9_]*))/\2_dev\.(py|ipynb)")
LARGEST = 100 * 2**20  # bytes of all files, and of the zip
MOST_FILES = 1000


@dataclass
class SubmittedZip:
    """A zip to hand in.

    verdicts  of the local test
    notes     what the learner should know before sending it
    """

    path: Path
    size: int
    verdicts: list[Verdict]
    notes: list[str]


@dataclass
class RestoreResult:
    """What was restored: names of lessons, changed paths, the backup folder, and notes."""

    lessons: list[str] = field(default_factory=list)
    changed: list[Path] = field(default_factory=list)
    backup: Path | None = None
    notes: list[str] = field(default_factory=list)


def submit(
    root: Root,
    lessons: list[Entry] | None = None,
    output: Path | None = None,
    report: Callable[[Verdict], None] = runner.ignore,
) -> SubmittedZip:
    """Test lessons of a workspace and put them into a zip.

    lessons     None for every lesson in which something is written
    output      where the zip goes; None for the next free number in the workspace's folder
    report      is called with each Verdict as it comes

    A lesson that fails is also handed in. Raises TitoError when there is nothing to hand in, or
    `output` is there.
    """
    workspace.refuse_course(root)
    rows = {row.name: row for row in status.rows(root)}
    notes: list[str] = []
    if lessons is None:
        lessons = _begun(root, rows)
    elif not any(entry.declared.exercises for entry in lessons):
        raise UsageError(
            f"{', '.join(entry.name for entry in lessons)}: every exercise is given here.",
            "There is nothing to hand in.",
        )
    lessons = [entry for entry in lessons if entry.declared.exercises]
    verdicts: list[Verdict] = []
    with Process() as process:
        for entry in lessons:
            verdict = runner.test_lesson(entry, process=process).verdict
            verdicts.append(verdict)
            report(verdict)
            notes += _notes_on(verdict, rows[entry.name].state)
            notes += [f"{given_up_note(one)}." for one in verdict.given_up]
    contents = _lesson_files(lessons, notes)
    summaries = [_summary(verdict) for verdict in verdicts]
    contents[MANIFEST] = manifest(root, contents, summaries)
    data = files.archive(contents, zipfile.ZIP_DEFLATED)
    return SubmittedZip(_write(root, data, output), len(data), verdicts, notes)


def _begun(root: Root, rows: dict[str, status.LessonStatus]) -> list[Entry]:
    """The lessons that were begun. rows: {lesson: its state}."""
    begun = [row.name for row in rows.values() if row.state not in ("new", "given")]
    lessons = [entry for entry in root.lessons if entry.name in begun]
    if not lessons:
        raise UsageError(
            "No lesson has been begun, so there is nothing to hand in.",
            f"Begin one: {(status.next_step(rows.values()) or ['tito status'])[0]}",
        )
    return lessons


def _lesson_files(lessons: list[Entry], notes: list[str]) -> dict[str, bytes]:
    """{path: bytes} of the lessons' files; what is wrong with them is added to the notes."""
    contents: dict[str, bytes] = {}
    for entry in lessons:
        paths = [path for path in (entry.script, entry.notebook) if path.is_file()]
        contents |= {entry.relative(path): path.read_bytes() for path in paths}
        if not paths:
            notes.append(
                f"{entry.name} has no file in {entry.relative(entry.script.parent)}, so "
                "nothing of it is handed in."
            )
    if not contents:
        raise UsageError(
            "None of these lessons has a file, so there is nothing to hand in.",
            "`tito reset` brings a starting version back, `tito undo` the last one.",
        )
    for name, data in contents.items():
        suffix = name[name.rindex(".") :]
        counting = without_outputs([data]) if suffix == ".ipynb" else [data]
        size, most = sum(map(len, counting)), cells.LARGEST[suffix]
        if size > most:
            notes.append(
                f"{name} has {size / 1e6:.1f} MB without outputs, grading reads {most / 1e6:g}: "
                "shorten it and submit again."
            )
    if (total := sum(map(len, contents.values()))) > LARGEST:
        notes.append(
            f"The files have {total / 2**20:.0f} MB, and `tito restore` reads {LARGEST >> 20} of a "
            "zip: clear the outputs of large notebooks and submit again."
        )
    return contents


def _notes_on(verdict: Verdict, state: str) -> Iterator[str]:
    if not verdict.passed:
        why = " ".join(f"{verdict.reason} {verdict.remedy}".split())
        was = "It had passed and was edited since. " if state == "stale" else ""
        points = f"{verdict.points} of {verdict.max_points} points"
        yield f"{verdict.lesson} does not pass: {points}. {was}{why}".strip()
    yield from (f"{verdict.lesson}: {note}" for note in verdict.notes if LEFT_OUT.match(note))


def _summary(verdict: Verdict) -> dict[str, Any]:
    """What the manifest says of a lesson that was tested."""
    keys = ("lesson", "number", "verdict", "points", "max_points", "given_up")
    checks = {check.id: check.status for check in verdict.checks}
    return {key: getattr(verdict, key) for key in keys} | {"checks": checks}


def _write(root: Root, data: bytes, output: Path | None) -> Path:
    """Write the zip.

    Nothing is overwritten; the newest of this workspace serves again when it holds the same bytes.
    """
    if output is not None:
        path = Path(output).expanduser().absolute()
        if path.exists() and (not path.is_file() or path.read_bytes() != data):
            raise UsageError(
                f"{path} is there already, and it is not this submission.",
                "Name another file, or leave --output out.",
            )
    else:
        name = re.sub(r"[^\w.-]+", "-", root.path.resolve().name).strip("-.") or "submission"
        numbers = [
            int(number[1])
            for archive in root.path.glob("*.zip")
            if (number := re.fullmatch(rf"{re.escape(name)}-(\d+)\.zip", archive.name))
        ]
        newest = max(numbers, default=0)
        path = root.path / f"{name}-{newest}.zip"
        if not (path.is_file() and path.read_bytes() == data):
            path = root.path / f"{name}-{newest + 1}.zip"
    if not path.exists():
        files.write(path, data)
    return path


def restore(root: Root, path: Path) -> RestoreResult:
    """Bring the lesson files of a submission into a workspace.

    Raises TitoError, with nothing changed, when the zip is not of this course, or is damaged.
    """
    workspace.refuse_course(root)
    contents, listed = _read(path)
    if listed["course"] != root.name:
        raise UsageError(
            f"{path} was handed in for {listed['course']!r}; this is a workspace of {root.name}.",
            "Go to a workspace of that course with cd.",
        )
    _refuse_other_track(root, listed)
    result = RestoreResult()
    if listed["edition"] != root.edition:
        result.notes.append(
            f"The zip is of edition {listed['edition']!r}, this workspace of {root.edition}: "
            "exercises may have changed."
        )
    folders = [entry.folder for entry in root.lessons]
    strange = [name for name in contents if name.split("/")[2] not in folders]
    changes = {root.path / name: data for name, data in contents.items() if name not in strange}
    result.notes += [
        f"{name} stays in the zip: this workspace has no lesson {name.split('/')[2]}."
        for name in strange
    ]
    if not changes:
        raise UsageError(
            f"{path} contains no lesson of this workspace.", f"There are: {', '.join(folders)}."
        )
    files.refuse_outside(root.path, changes)
    with progress.locked(root):
        result.changed = [place for place, data in changes.items() if files.read(place) != data]
        result.backup = files.replace(root, "restore", changes)
        for entry in root.lessons:
            if {entry.script, entry.notebook} & changes.keys():
                _take_in(entry, result)
    return result


def _refuse_other_track(root: Root, listed: dict[str, Any]) -> None:
    """Raise UsageError for a zip in which other exercises are to be written than here."""
    theirs, changes = (set(map(str, listed.get(key) or ())) for key in ("tracks", "changes"))
    theirs, ours = theirs or {WHOLE}, set(root.tracks) or {WHOLE}
    if theirs != ours:
        names, here = (" and ".join(sorted(names)) for names in (theirs, ours))
        folder = "." if theirs - ours else "DIR"  # where less is written, the rest is in the way
        raise UsageError(
            f"The zip is of {names}, this workspace is of {here}.",
            f"First: tito init {folder} --track {min(theirs - ours or theirs)}",
        )
    if other := changes ^ set(root.changes):
        steps = (f"{'reset' if (c[0] == '+') == (c in changes) else 'skip'} {c[1:]}" for c in other)
        raise UsageError(
            "Other exercises are given in the zip than here.",
            f"First: {', '.join(f'tito {step}' for step in sorted(steps))}",
        )


def _take_in(entry: Entry, result: RestoreResult) -> None:
    """Remember that script and notebook of a restored lesson agree, if they do: then the file that
    is edited next counts.
    """
    result.lessons.append(entry.name)
    if entry.script.exists() and entry.notebook.exists() and notebook_sync.agree(entry):
        with progress.change(entry.root, entry.name) as record:
            record["pair"] = notebook_sync.hashes(entry)


def _read(path: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The lesson files of a submission, {name: bytes}, and its manifest.

    Raises TitoError for anything that `submit` does not write.
    """

    def refuse(what: str) -> NoReturn:
        raise UsageError(
            f"{path}: {what}.", "Is it the zip that `tito submit` wrote, complete and unchanged?"
        )

    contents = _unpacked(path, refuse)
    sound, hashes = False, {}
    try:
        listed = json.loads(contents.pop(MANIFEST).decode("utf-8"))
        hashes = {name: entry["sha256"] for name, entry in listed["files"].items()}
        sound = all(isinstance(listed[key], str) for key in ("course", "edition"))
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        pass
    if not sound:
        refuse(f"its {MANIFEST} is missing or damaged")
    if hashes.keys() != contents.keys():
        name = sorted(hashes.keys() ^ contents.keys())[0]
        refuse(f"{name!r} is not both in it and in its manifest")
    for name, data in contents.items():
        if hashlib.sha256(data).hexdigest() != hashes[name]:
            refuse(f"{name} is not what its manifest says")
    return contents, listed


def _unpacked(path: Path, refuse: Callable[[str], NoReturn]) -> dict[str, bytes]:
    """{name: bytes} of a zip, held to the names and sizes that a submission may have."""
    try:
        if not path.is_file():
            raise UsageError(
                f"{path} is no file." if path.exists() else f"{path} does not exist.",
                "Name the zip that `tito submit` wrote.",
            )
        if (size := path.stat().st_size) > LARGEST:
            refuse(f"it has {size / 2**20:.0f} MB, more than {LARGEST / 2**20:.0f}")
        path.open("rb").close()
    except OSError as error:
        raise MachineError(
            f"{path} cannot be read: {error.strerror or error}.",
            "Check the file and its permissions.",
        ) from None

    def is_lesson_file(name: str) -> bool:
        return name == MANIFEST or bool(NAME.fullmatch(name))

    try:
        return files.unarchive(path, is_lesson_file, MOST_FILES, LARGEST)
    except files.BadArchive as error:
        refuse(str(error))
