"""Bring a newer edition of the course under a learner's work.

The course's files are replaced: prose, checks, hints, support code. What the learner wrote stays:
the code of each exercise, by the exercise's id, each answer, by its question's, and cells of their
own where they stood. What has
no place any more is set aside in a file beside the lesson. Everything that is overwritten is saved
first, `tito undo` takes all of it back, and an update that is killed is taken back by the next
command.
"""

import difflib
import json
import re
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tito import files
from tito.errors import TitoError, UsageError
from tito.learn import notebook_sync, progress, workspace
from tito.lesson import cells, course, export, lesson_format, notebook
from tito.lesson.course import PRISTINE, SOURCE, Entry, Root
from tito.lesson.lesson_format import CHECKS, FOLDER, HINTS, Lesson
from tito.lesson.parse import parse_lesson

STUB = re.compile(r'^[ \t]*raise NotImplementedError\("exercise .*\n?', re.M)
ALIKE = 0.5  # from here on a cell counts as an edited one of the course's, not as a new one
MINE = (".tito/progress.json",)  # of a release: the learner's own is kept
RELEASE = ".tito/release.json"
LARGEST = 200 * 2**20  # bytes of an edition
MOST_FILES = 5000


@dataclass
class Update:
    """What an update does, by the names that a learner knows.

    before, after  the two editions
    added      lessons that are new
    gone       lessons that the edition does not have; their files stay where they are
    renumbered {lesson: its new folder}
    aside      {exercise that is renamed or removed: the file with its code}
    tasks      exercises whose contract changed, so that the code may have to
    replaced   places of the course's cells and files that the learner had edited
    test       lessons with work in them, to be tested again
    backup     where everything that was overwritten is, or None
    """

    before: str
    after: str
    added: list = field(default_factory=list)
    gone: list = field(default_factory=list)
    renumbered: dict = field(default_factory=dict)
    aside: dict = field(default_factory=dict)
    tasks: list = field(default_factory=list)
    replaced: list = field(default_factory=list)
    test: list = field(default_factory=list)
    changed: int = 0
    backup: Path | None = None


def update(root: Root, source: Path, warn: Callable[[str], None] = lambda text: None) -> Update:
    """Put the edition at `source`, a release, a course or a zip of either, under the work in
    the workspace `root`. Returns what that changed.

    Raises TitoError, with nothing changed, when a lesson's script and notebook were both edited,
    when a lesson cannot be read, or when `source` is no edition of this course.
    """
    if root.is_course:
        raise UsageError(
            f"{root.path} is a course, not a workspace.",
            "Update works in a workspace; a course is updated with git.",
        )
    with opened(source) as folder, progress.locked(root):
        contents, edition = _contents(root, folder)
        if zipfile.is_zipfile(source):  # it is unpacked in a folder that does not stay
            contents.pop(".tito/course", None)
        done = Update(root.edition, edition)
        changes, pairs = _changes(root, contents, done, warn)
        changes = {path: data for path, data in changes.items() if files.read(path) != data}
        done.changed = len(changes)
        done.backup = files.replace_all(root, "update", changes)
        for name, (hashes, source) in pairs.items():
            with progress.change(root, name, warn) as record:
                notebook_sync.remember(record, hashes, source)
    return done


# The new edition.


@contextmanager
def opened(source: Path):
    """The folder with the tito.toml of a release or a course, out of a zip where it is one."""
    if source.is_dir():
        yield source
        return
    if not source.is_file():
        raise UsageError(f"{source} does not exist.", "Name a release: a folder or a zip.")
    with tempfile.TemporaryDirectory(prefix="tito-update-") as scratch:
        _unpack(source, Path(scratch))
        found = sorted(Path(scratch).rglob("tito.toml"), key=lambda path: len(path.parts))
        if not found:
            raise UsageError(f"{source} holds no tito.toml.", "Is it a release of this course?")
        yield found[0].parent


def _unpack(source, folder):
    def refuse(why):
        raise UsageError(f"{source} was not unpacked: {why}.", "Download the release again.")

    try:
        with zipfile.ZipFile(source) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if len(entries) > MOST_FILES or sum(entry.file_size for entry in entries) > LARGEST:
                refuse("it is larger than any release")
            for entry in entries:
                parts = PurePosixPath(entry.filename).parts
                if entry.filename.startswith("/") or ".." in parts or "\\" in entry.filename:
                    refuse(f"it holds {entry.filename[:100]!r}")
                if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
                    refuse(f"{entry.filename[:100]!r} is no plain file")
                target = folder.joinpath(*parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(entry))
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        OSError,
    ) as error:
        refuse(f"it is damaged, or no zip ({error})")


def _contents(root, folder):
    """({path: bytes} of the new edition's workspace, the name of the edition)."""
    source = course.open_root(folder.resolve())
    if source.name != root.name or source.package != root.package:
        raise UsageError(
            f"{source.path} is of the course {source.name}, this workspace of {root.name}.",
            "Name a release of the same course.",
        )
    if source.path.resolve() == root.path.resolve():
        raise UsageError(f"{folder} is this workspace itself.", "Name the new release.")
    if source.is_course:
        contents = workspace.contents(source)
    else:
        try:
            note = json.loads((folder / RELEASE).read_text(encoding="utf-8"))
            names = [name for name in note["files"] if name not in MINE]
            contents = {name: (folder / name).read_bytes() for name in names}
            contents[RELEASE] = (folder / RELEASE).read_bytes()
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{folder} is not a whole release: {error}.",
                "Name a release that nobody has worked in, or a course.",
            ) from None
    return contents, source.edition


def _lessons(root, contents):
    """{name: (folder, Lesson)} of an edition's files."""
    found = {}
    for path in contents:
        parts = PurePosixPath(path)
        if parts.parent.parent != PurePosixPath(PRISTINE.as_posix()) or parts.suffix != ".py":
            continue
        folder = parts.parent.name
        match = FOLDER.fullmatch(folder)
        if match and parts.name == f"{match[2]}_dev.py":
            base = root.path / PRISTINE / folder
            text = {
                name: contents.get(f"{parts.parent}/{name}", b"").decode("utf-8")
                for name in (parts.name, CHECKS, HINTS)
            }
            found[match[2]] = (
                folder,
                parse_lesson(
                    cells.parse(base / parts.name, text[parts.name]),
                    cells.parse(base / CHECKS, text[CHECKS]),
                    text[HINTS],
                ),
            )
    return found


# What becomes of the learner's files.


def _changes(root, contents, done, warn):
    """({path: bytes, or None to delete it}, {lesson: (hashes of its script and notebook, its
    cells)}).
    """
    changes = {root.path / name: data for name, data in contents.items()}
    pairs, lessons = {}, _lessons(root, contents)
    records = progress.load(root, warn)["lessons"]
    old = {entry.name: entry for entry in root.lessons}
    done.added = [name for name in lessons if name not in old]
    done.gone = [name for name in old if name not in lessons]
    for entry in old.values():
        for path in (root.path / PRISTINE / entry.folder).rglob("*"):
            if path.is_file() and path not in changes:
                changes[path] = None
        if entry.name in lessons:
            changes |= _lesson(entry, *lessons[entry.name], records, done, pairs, changes)
    for name, data in contents.items():
        path = root.path / name
        if name.startswith(SOURCE.as_posix()) and path.name == CHECKS:
            before = files.read(root.path / PRISTINE / path.parent.name / CHECKS)
            if (mine := files.read(path)) is not None and mine not in (before, data):
                done.replaced.append(name)
    for package in [path for path in changes if path.name == "__init__.py"]:
        module = package.parent.with_suffix(".py")  # a module that has become a package
        if module.exists() and module not in changes:
            changes[module] = None
    return changes, pairs


def _lesson(entry, folder, new, records, done, pairs, changes):
    """The changes of one lesson's own files."""
    root, out = entry.root, {}
    record = records.get(entry.name, {})
    target = Entry(root, folder)
    side = notebook_sync.choose(entry, record)
    there = entry.script if side == "script" else entry.notebook
    if folder != entry.folder:
        done.renumbered[entry.name] = folder
        for path in entry.script.parent.rglob("*"):
            if path.is_file():
                moved = target.script.parent / path.relative_to(entry.script.parent)
                out[path] = None
                if moved not in changes:
                    out[moved] = path.read_bytes()
    if not there.exists():
        return out  # the new edition's stub is put there
    mine = cells.read(there)
    text = mine.text
    if side == "notebook":
        text = notebook.to_script(text, entry.declared.source.text)
    merged, aside = merge(entry.declared, cells.parse(entry.script, text), new, done)
    if side == "script" and b"\r\n" in entry.script.read_bytes():
        out[target.script] = merged.replace("\n", "\r\n").encode("utf-8")
    else:
        out[target.script] = merged.encode("utf-8")
    if entry.notebook.exists():
        before = entry.notebook.read_text(encoding="utf-8")
        out[target.notebook] = notebook.to_notebook(merged, new, before).encode("utf-8")
        hashes = {
            "script": notebook_sync.hash_of(target.script, out[target.script]),
            "notebook": notebook_sync.hash_of(target.notebook, out[target.notebook]),
        }
        pairs[entry.name] = hashes, cells.parse(target.script, merged)
    if aside:
        path = target.script.with_name("set_aside.py")
        held = files.read(entry.script.with_name("set_aside.py")) or b""
        parts = [f"# {name}, of edition {done.before}\n\n{code}\n" for name, code in aside.items()]
        out[path] = held + ("\n\n" * bool(held) + "\n\n".join(parts)).encode("utf-8")
        done.aside |= {name: path.relative_to(root.path).as_posix() for name in aside}
    declared = entry.declared
    if any(not declared.is_unwritten(exercise, mine) for exercise in declared.exercises):
        done.test.append(entry.name)
    if entry.module_path.exists() and not export.is_skipped(entry):
        try:
            built = export.build(
                cells.parse(target.script, merged),
                new,
                target.script.relative_to(root.path).as_posix(),
                root.package,
            )
            out[entry.module_path] = built.text.encode("utf-8")
        except TitoError:
            pass  # code that is no Python yet: the package keeps what it has
    return out


def merge(old: Lesson, mine: cells.Source, new: Lesson, done: Update) -> tuple[str, dict]:
    """The new edition's chapter with the learner's code in it.

    old   the lesson as it was released to the learner
    mine  the learner's script
    done  is told what was replaced, and which tasks changed

    Returns (text, {exercise or question that has no place in it: its code or answer}).
    """
    text, aside = new.source.text, {}
    names = {exercise.name for exercise in new.exercises}
    for exercise in old.exercises:
        cell = mine.cell(exercise.name)
        if cell is None or cell.source.strip() == exercise.cell.source.strip():
            continue
        if exercise.name not in names:
            aside[exercise.id] = cell.source
            continue
        stub = new.exercise(exercise.name).cell.source
        if stub.strip() != exercise.cell.source.strip():
            done.tasks.append(exercise.id)
        source = cells.parse(mine.path, text)
        code = adopted(exercise.cell.source, cell.source, stub)
        text = source.replaced(source.cell(exercise.name), code)
    asked = {question.name: question for question in new.questions}
    for question in old.questions:
        cell = mine.task_cell(question.name)
        if cell is None or cell.source.strip() == question.cell.source.strip():
            continue
        answer = lesson_format.answer_in(mine, question.name)
        if question.name not in asked:
            if answer:
                aside[f"{old.name}-{question.name}"] = cells.comment(answer)
            continue
        if asked[question.name].text != question.text:
            done.tasks.append(f"{old.name}-{question.name}")
        source = cells.parse(mine.path, text)
        cell = source.task_cell(question.name)
        text = source.replaced(cell, lesson_format.answered(cell.source, answer))
    return _with_own(old, mine, text, done), aside


def adopted(old: str, mine: str, new: str) -> str:
    """An exercise of a new edition with the learner's code where it says to write it; where the
    learner changed more than that, their whole cell.
    """
    parts, bodies, rest = STUB.split(old), [], mine
    if old == new or len(parts) != len(STUB.split(new)) or not mine.startswith(parts[0]):
        return mine
    rest = mine[len(parts[0]) :]
    for part in parts[1:-1]:
        if not part.strip() or rest.count(part) != 1:
            return mine
        body, _, rest = rest.partition(part)
        bodies.append(body)
    last = parts[-1].rstrip()
    if not rest.rstrip().endswith(last):
        return mine
    rest = rest.rstrip()
    bodies.append(rest[: len(rest) - len(last)] if last else rest)
    return "".join(piece + body for piece, body in zip(STUB.split(new), [*bodies, ""]))


def _with_own(old, mine, text, done):
    """`text` with the cells that the learner added, each behind the cell that it stood behind."""

    def keys(source):
        return [("task", c.task) if c.task else (c.kind, c.source) for c in source.cells]

    before, after = keys(old.source), keys(mine)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    anchor, own = None, []  # own: (key of the cell it stands behind, its lines)
    lines = mine.text.split("\n")
    starts = [c.line - c.gap for c in mine.cells] + [len(lines) + 1]
    for kind, low, high, first, last in matcher.get_opcodes():
        if kind == "equal":
            anchor = after[last - 1]
            continue
        gone = [key[1] for key in before[low:high] if key[0] != "task"]
        for number in range(first, last):
            cell = mine.cells[number]
            if cell.task:
                anchor = after[number]
                continue
            close = difflib.get_close_matches(cell.source, gone, 1, ALIKE)
            if close:
                gone.remove(close[0])
                done.replaced.append(mine.place(cell))
            elif cell.source.strip():
                own.append((anchor, lines[starts[number] - 1 : starts[number + 1] - 1]))
    for key, chunk in reversed(own):
        source = cells.parse(mine.path, text)
        found = keys(source)
        rows = text.split("\n")
        at = len(rows)
        if key in found and (place := found.index(key)) + 1 < len(found):
            following = source.cells[place + 1]
            at = following.line - following.gap - 1
        text = "\n".join([*rows[:at], *chunk, *([""] if chunk[-1:] != [""] else []), *rows[at:]])
    return text
