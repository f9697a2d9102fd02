"""Hand in: the lessons of a workspace in one zip, and back from such a zip into a workspace.

    manifest.json                                   what is in it, from which course,
                                                    and what the local test said
    modules/source/01_tensor/tensor_dev.py, .ipynb  the lesson files, as they are

A zip comes from anywhere, so `restore` believes nothing of it: lesson files of known names only,
within limits, as the manifest's hashes say. What it overwrites is saved first.
"""

import hashlib
import io
import json
import re
import stat
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from tito import files
from tito.errors import MachineError, UsageError
from tito.learn import manifest, notebook_sync, progress, runner, status
from tito.learn.process import Process
from tito.lesson import cells, export

NAME = re.compile(r"modules/source/([0-9]+_([a-z][a-z0-9_]*))/\2_dev\.(py|ipynb)")
LARGEST = 100 * 2**20  # bytes of all files, and of the zip
MOST_FILES = 1000


@dataclass
class Submission:
    """What was handed in.

    `verdicts` are of the local test; `notes` say what the learner should know before sending it.
    """

    path: Path
    size: int
    verdicts: list = field(default_factory=list)
    notes: list = field(default_factory=list)


@dataclass
class Restored:
    """What came back: the lessons' names, the paths that changed, where the copies of what stood
    there are, and what to know.
    """

    lessons: list = field(default_factory=list)
    changed: list = field(default_factory=list)
    backup: Path | None = None
    notes: list = field(default_factory=list)


def submit(
    root,
    lessons=None,
    output=None,
    warn=lambda text: None,
    report=lambda verdict: None,
    with_hints=False,
):
    """Test lessons of a workspace and put them into a zip. Returns a Submission.

    lessons     Entries; None for all that were begun
    output      where the zip goes; None for the next free number in the workspace's folder
    report      is called with each Verdict as it comes
    with_hints  also tell how many hints of each exercise were opened

    A lesson that fails is handed in all the same. Raises TitoError when there is nothing to
    hand in, or `output` is there.
    """
    if root.is_course:
        raise UsageError(
            f"{root.path} is the course itself; what is handed in is a learner's workspace.",
            "Run it in a workspace: tito init ../my-tinytorch",
        )
    records = progress.load(root, warn)["lessons"]
    before = {
        entry.name: status.row(entry, records.get(entry.name, {})).state for entry in root.lessons
    }
    notes = []
    if lessons is None:
        lessons = [entry for entry in root.lessons if before[entry.name] not in ("new", "skipped")]
        notes += [
            f"{name} is skipped, so it is not handed in; `tito submit {name}` does."
            for name, state in before.items()
            if state == "skipped"
        ]
    if not lessons:
        raise UsageError(
            "No lesson has been begun, so there is nothing to hand in.",
            f"Begin one: tito start {root.lessons[0].name}",
        )
    verdicts = []
    with Process() as process:
        for entry in lessons:
            verdicts.append(runner.test_lesson(entry, process=process, warn=warn).verdict)
            report(verdicts[-1])
            notes += _notes(entry, verdicts[-1], before[entry.name])
    contents = {}
    for entry in lessons:
        lesson_files = {
            entry.relative(path): path.read_bytes()
            for path in (entry.script, entry.notebook)
            if path.is_file()
        }
        if not lesson_files:
            notes.append(
                f"{entry.name} has no file in {entry.relative(entry.script.parent)}, so "
                "nothing of it is handed in."
            )
        contents |= lesson_files
    if not contents:
        raise UsageError(
            "None of these lessons has a file, so there is nothing to hand in.",
            "`tito reset` brings a starting version back, `tito undo` the last one.",
        )
    notes += [
        f"{name} has {len(data) / 1e6:.1f} MB, grading reads {most / 1e6:g}: clear its "
        "outputs and submit again."
        for name, data in contents.items()
        if len(data) > (most := cells.LARGEST[name[name.rindex(".") :]])
    ]
    hints = _hints(lessons, progress.load(root, warn)["lessons"]) if with_hints else None
    contents[manifest.NAME] = manifest.write(root, contents, map(_of_verdict, verdicts), hints)
    data = files.archive(contents, zipfile.ZIP_DEFLATED)
    return Submission(_put(root, data, output), len(data), verdicts, notes)


def _notes(entry, result, before):
    if result.passed:
        return []
    why = " ".join(f"{result.reason} {result.remedy}".split())
    was = "It had passed and was edited since. " if before == "stale" else ""
    return [
        f"{entry.name} does not pass: {result.points} of {result.max_points} points. "
        f"{was}{why}".strip()
    ]


def _hints(lessons, records):
    """{exercise: how many of its hints were opened} of these lessons."""
    return {
        exercise.id: min(records.get(entry.name, {}).get("hints", {}).get(exercise.id, 0), most)
        for entry in lessons
        for exercise in entry.declared.exercises
        if (most := len(exercise.hints))
    }


def _of_verdict(result):
    """What the manifest says of a lesson that was tested."""
    return {
        "lesson": result.lesson,
        "number": result.number,
        "verdict": result.verdict,
        "points": result.points,
        "max_points": result.max_points,
        "checks": {check.id: check.status for check in result.checks},
    }


def _put(root, data, output):
    """Write the zip.

    Nothing is overwritten; the newest of this workspace serves again when it holds the same bytes.
    """
    if output is not None:
        path = Path(output).expanduser().absolute()
        if path.exists() and (not path.is_file() or path.read_bytes() != data):
            raise UsageError(
                f"{path} is there already, and it is not this submission.",
                "Name another file, or leave --output away.",
            )
    else:
        name = re.sub(r"[^\w.-]+", "-", root.path.resolve().name).strip("-.") or "submission"
        numbers = [
            int(number.group(1))
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


def restore(root, path, warn=lambda text: None):
    """Bring the lesson files of a submission into a workspace. Returns a Restored.

    Raises TitoError, with nothing changed, when the zip is damaged, holds anything but lesson
    files, or is of another course.
    """
    if root.is_course:
        raise UsageError(
            f"{root.path} is the course itself; its lessons are the solutions.",
            "Run it in a workspace: tito init ../my-tinytorch",
        )
    contents, told = _read(path)
    if told["course"] != root.name:
        raise UsageError(
            f"{path} was handed in for {told['course']!r}; this is a workspace of {root.name}.",
            "Go to a workspace of that course with cd.",
        )
    out = Restored()
    if told["edition"] != root.edition:
        out.notes.append(
            f"The zip is of edition {told['edition']!r}, this workspace of {root.edition}: "
            "exercises may have changed."
        )
    entries = {entry.folder: entry for entry in root.lessons}
    changes = {}
    for name, data in contents.items():
        folder = NAME.fullmatch(name).group(1)
        if folder in entries:
            changes[root.path / name] = data
        else:
            out.notes.append(f"{name} stays in the zip: this workspace has no lesson {folder}.")
    if not changes:
        raise UsageError(
            f"{path} holds no lesson of this workspace.", f"There are: {', '.join(entries)}."
        )
    with progress.locked(root):
        out.changed = [
            place
            for place, data in changes.items()
            if not place.is_file() or place.read_bytes() != data
        ]
        out.backup = files.replace(root, "restore", changes)
        for entry in root.lessons:
            if {entry.script, entry.notebook} & changes.keys():
                out.lessons.append(entry.name)
                _pair(entry, warn)
                if export.is_skipped(entry):
                    out.notes.append(
                        f"{entry.name} is skipped here; `tito export {entry.name}` ends that."
                    )
    return out


def _pair(entry, warn):
    """Remember that script and notebook agree, if they do: then the one edited next counts."""
    if entry.script.exists() and entry.notebook.exists() and notebook_sync.agree(entry):
        with progress.change(entry.root, entry.name, warn) as record:
            notebook_sync.remember(record, notebook_sync.hashes(entry), cells.read(entry.script))


def _read(path):
    """The lesson files of a submission, {name: bytes}, and its manifest.

    Raises TitoError for anything that `submit` does not write.
    """

    def refuse(what):
        raise UsageError(
            f"{path}: {what}.", "Is it the zip that `tito submit` wrote, complete and unchanged?"
        )

    try:
        if not path.is_file():
            raise UsageError(
                f"{path} is no file." if path.exists() else f"{path} does not exist.",
                "Name the zip that `tito submit` wrote.",
            )
        if path.stat().st_size > LARGEST:
            refuse(f"it has {path.stat().st_size / 2**20:.0f} MB, more than {LARGEST / 2**20:.0f}")
        contents = _unpacked(io.BytesIO(path.read_bytes()), refuse)
    except OSError as error:
        raise MachineError(
            f"{path} cannot be read: {error.strerror or error}.",
            "Check the file and its permissions.",
        ) from None
    try:
        told = json.loads(contents.pop(manifest.NAME).decode("utf-8"))
        listed = {name: entry["sha256"] for name, entry in told["files"].items()}
        sound = all(isinstance(told[key], str) for key in ("course", "edition"))
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        sound = False
    if not sound:
        refuse(f"its {manifest.NAME} is missing or damaged")
    if listed.keys() != contents.keys():
        refuse(
            f"{sorted(listed.keys() ^ contents.keys())[0]!r} is not both in it and in its manifest"
        )
    for name, data in contents.items():
        if hashlib.sha256(data).hexdigest() != listed[name]:
            refuse(f"{name} is not what its manifest says")
    return contents, told


def _unpacked(data, refuse):
    """{name: bytes} of a zip, held to the names and sizes that a submission may have."""
    try:
        with zipfile.ZipFile(data) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_FILES:
                refuse(f"it holds {len(entries)} files")
            contents = {}
            for entry in entries:
                kind = stat.S_IFMT(entry.external_attr >> 16)
                if not (
                    entry.filename == manifest.NAME or NAME.fullmatch(entry.filename)
                ) or kind not in (0, stat.S_IFREG):
                    refuse(f"it holds {entry.filename[:100]!r}, which is no lesson file")
                if entry.filename in contents:
                    refuse(f"it holds {entry.filename!r} twice")
                if entry.flag_bits & 1:
                    refuse(f"{entry.filename!r} is encrypted")
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    refuse(f"{entry.filename!r} is packed in a way that `tito submit` does not use")
                if sum(map(len, contents.values())) + entry.file_size > LARGEST:
                    refuse(f"{entry.filename!r} would take {entry.file_size / 2**20:.0f} MB")
                with archive.open(entry) as member:
                    contents[entry.filename] = member.read(
                        entry.file_size + 1
                    )  # zipfile itself gives no byte more than the entry tells
            return contents
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        OSError,
    ) as error:
        return refuse(f"it is damaged, or no zip ({str(error)[:100] or type(error).__name__})")
