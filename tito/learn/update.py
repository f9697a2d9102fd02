"""Update a workspace to a newer edition of the course, and keep the learner's work.

The course's files are replaced: prose, checks, hints, support code. The learner's work is kept: the
code of each exercise (by the id of the exercise), each answer (by the id of the question), and
added cells in their places. Code whose exercise was removed moves to a file next to the lesson.
Adding a track, or giving an exercise or taking it back, is also an update: `choose`.
Replaced files are saved first, and `tito undo` restores them. If an update is killed, the next
command undoes it.
"""

import difflib
import json
import re
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from tito import files
from tito.errors import TitoError, UsageError
from tito.learn import notebook_sync, progress, workspace
from tito.lesson import cells, course, export, lesson_format, notebook, track
from tito.lesson.course import PRISTINE, SOURCE, Entry, Root
from tito.lesson.lesson_format import CHECKS, FACTS, FOLDER, HINTS, Exercise, Lesson, Question
from tito.lesson.parse import load_lesson, parse_lesson
from tito.lesson.track import WHOLE

STUB = re.compile(r'^[ \t]*raise NotImplementedError\("(?:exercise |yours to write: ).*\n?', re.M)
ALIKE = 0.5  # from this likeness on, a cell counts as an edited one of the course's
MINE = (".tito/progress.json",)  # of a release: the learner's own is kept
RELEASE = ".tito/release.json"
ASIDE = "set_aside.py"
# What a learner's choice may change, besides the files of lessons.
OF_CHOICE = ("tito.toml", "README.md", f"{PRISTINE.as_posix()}/", f"{SOURCE.as_posix()}/")
LARGEST = 200 * 2**20  # bytes of an edition
MOST_FILES = 5000


@dataclass
class Update:
    """The changes of an update, by names that the learner knows.

    before, after  the two editions
    added      lessons that are new
    gone       lessons that the edition does not have; their files stay where they are
    renumbered {lesson: its new folder}
    aside      {exercise that is renamed, removed or given now: the file with its code}
    earlier    {exercise to write again: the file with the code that was set aside}
    joined     exercises that were given and are to be written now
    given      exercises that were to be written and are given now
    dropped    tracks and changes of the learner that the edition does not have
    tasks      exercises whose contract changed, so that the code may have to
    replaced   places of the course's cells and files that the learner had edited
    test       lessons with work in them, to be tested again
    backup     where everything that was overwritten is, or None
    """

    before: str
    after: str
    added: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    renumbered: dict[str, str] = field(default_factory=dict)
    aside: dict[str, str] = field(default_factory=dict)
    earlier: dict[str, str] = field(default_factory=dict)
    joined: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    test: list[str] = field(default_factory=list)
    changed: int = 0
    backup: Path | None = None


@dataclass(frozen=True)
class Choice:
    """What a learner chose to write: for tito.toml, and lessons to merge even if none of their
    files is different. `command` is the step that `tito undo` takes back.
    """

    command: str
    tracks: tuple[str, ...]
    changes: tuple[str, ...]
    lessons: tuple[str, ...] = ()


@dataclass
class Plan:
    """What an update will write.

    choice  what the learner chose; None for an update to another edition
    changes  {path: new bytes, None to delete it}
    pairs    {lesson: the hashes of its script and notebook}, which agree then
    """

    root: Root
    update: Update
    changes: dict[Path, bytes | None]
    pairs: dict[str, notebook_sync.Hashes] = field(default_factory=dict)
    choice: Choice | None = None


def choose(root: Root, command: str, words: Sequence[str], written: bool) -> Update:
    """Let exercises be written by the learner, or be given. words: as `Root.named` takes them.

    Raises TitoError, with nothing changed, as `update`, and in a release, which has neither the
    solutions nor the stubs.
    """
    workspace.refuse_course(root)
    source = root.reference.whole
    if not can_choose(root):
        raise UsageError(
            f"Only the course can change {' '.join(words)}, and this is a release of it.",
            "Ask your instructor.",
        )
    if (source.name, source.edition) != (root.name, root.edition):
        raise UsageError(
            f"The course at {source.path} has edition {source.edition}, this workspace "
            f"{root.edition}.",
            f"Bring it up to date first: tito update {source.path}",
        )
    named, base = root.named(words), source.on_tracks(root.tracks).keep
    changes = {change[1:]: change[0] for change in root.changes}
    for entry, names in named.items():
        ids = [f"{entry.name}-{name}" for name in names or entry.declared.tasks]
        if written and not names:  # of a lesson, the exercises on the track if there are any
            ids = [id for id in ids if base is None or id in base] or ids
        for id in ids:
            changes[id] = "-" if not written else "+"
            if written and (base is None or id in base):
                del changes[id]
    marked = tuple(sign + id for id, sign in sorted(changes.items()))
    choice = Choice(command, root.tracks, marked, tuple(entry.name for entry in named))
    return update(root, source.path, choice)


def can_choose(root: Root) -> bool:
    """Whether the course that a workspace was made from is there, with its solutions."""
    with suppress(TitoError):
        lessons = [] if (root.path / RELEASE).exists() else root.reference.whole.lessons
        return any("### BEGIN SOLUTION" in entry.declared.source.text for entry in lessons)
    return False


def add_track(root: Root, source: Root, name: str) -> Update:
    """Let the exercises of one more track of the course be written in a workspace."""
    track.find(source.all_tracks, name)
    tracks = dict.fromkeys([*root.tracks, name] if root.tracks else ())
    return update(root, source.path, Choice("init", tuple(tracks), root.changes))


def update(root: Root, source: Path, choice: Choice | None = None) -> Update:
    """Put the edition at `source`, a release, a course or a zip of either, under the work in
    the workspace `root`. Returns what that changed.

    choice  what the learner chose to write; then the edition is the same, and only lessons that
            are different for it are touched

    Raises TitoError, with nothing changed, when a lesson's script and notebook were both edited,
    when a lesson cannot be read, or when `source` is no edition of this course.
    """
    if root.is_course:
        raise UsageError(
            f"{root.path} is a course, not a workspace.",
            "Update works in a workspace; update a course with git.",
        )
    with opened(source) as folder, progress.locked(root):
        result = Update(root.edition, "")
        contents = _contents(root, folder, choice, result)
        if zipfile.is_zipfile(source):  # it is unpacked in a folder that does not stay
            contents.pop(".tito/course", None)
        plan = Plan(root, result, {root.path / name: data for name, data in contents.items()})
        plan.choice = choice
        _plan(plan, contents)
        changes = {path: data for path, data in plan.changes.items() if files.read(path) != data}
        result.changed = len(changes)
        command = choice.command if choice else "update"
        result.backup = files.replace_all(root, command, changes)
        for name, hashes in plan.pairs.items():
            with progress.change(root, name) as record:
                record["pair"] = hashes
    return result


# The new edition.


@contextmanager
def opened(source: Path) -> Iterator[Path]:
    """The folder with the tito.toml of a release or a course, out of a zip where it is one."""
    if source.is_dir():
        yield source
        return
    if not source.is_file():
        raise UsageError(f"{source} does not exist.", "Name a release: a folder or a zip.")

    with tempfile.TemporaryDirectory(prefix="tito-update-") as scratch:
        try:
            contents = files.unarchive(source, files.is_plain, MOST_FILES, LARGEST)
        except files.BadArchive as error:
            raise UsageError(
                f"{source} was not unpacked: {error}.", "Download the release again."
            ) from None
        for name, data in contents.items():
            target = Path(scratch, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        roots = sorted(Path(scratch).rglob("tito.toml"), key=lambda path: len(path.parts))
        if not roots:
            raise UsageError(f"{source} contains no tito.toml.", "Is it a release of this course?")
        yield roots[0].parent


def _contents(root: Root, folder: Path, choice: Choice | None, result: Update) -> dict[str, bytes]:
    """{path: bytes} of the new edition's workspace."""
    source = course.open_root(folder.resolve(), strict=False)
    result.after = source.edition
    if source.name != root.name or source.package != root.package:
        raise UsageError(
            f"{source.path} is of the course {source.name}, this workspace of {root.name}.",
            "Name a release of the same course.",
        )
    if source.path.resolve() == root.path.resolve():
        raise UsageError(f"{folder} is this workspace itself.", "Name the new release.")
    if source.is_course:
        chosen = choice or Choice("update", root.tracks, root.changes)
        contents = workspace.contents(_as_chosen(root, source, chosen, result))
        of_choice = (*OF_CHOICE, f"{root.package}/core/") if choice else ""
        return {name: data for name, data in contents.items() if name.startswith(of_choice)}
    try:
        note = json.loads((folder / RELEASE).read_text(encoding="utf-8"))
        names = [*(name for name in note["files"] if name.casefold() not in MINE), RELEASE]
        if strange := [name for name in names if not files.is_plain(name)]:
            raise ValueError(f"it names {strange[0]!r}")
        return {name: (folder / name).read_bytes() for name in names}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{folder} is not a complete release: {error}.",
            "Name a release without a learner's work, or a course.",
        ) from None


def _as_chosen(root: Root, source: Root, choice: Choice, result: Update) -> Root:
    """The course as a workspace's tracks and changes show it. An exercise that no track has any
    more stays the learner's if it is written.
    """
    known = [name for name in choice.tracks if name in (*source.all_tracks, WHOLE)]
    if choice.tracks and not known:
        track.find(source.all_tracks, choice.tracks[0])  # raises
    every = source.ids_on(track.find({}, WHOLE))
    kept = [change for change in choice.changes if change[1:] in every]
    result.dropped = [
        one for one in (*choice.tracks, *choice.changes) if one not in [*known, *kept]
    ]
    keep = source.on_tracks(known, kept).keep
    records = progress.load(root)["lessons"]
    for entry in root.lessons if keep is not None else ():
        leaving = [
            e for e in entry.declared.exercises if e.id in every and e.id not in (keep or ())
        ]
        if leaving and (entry.script.exists() or entry.notebook.exists()):
            mine = notebook_sync.read(entry, records.get(entry.name, {}))
            kept += (f"+{e.id}" for e in leaving if f"-{e.id}" not in kept and _is_written(e, mine))
    base = source.on_tracks(known).keep
    return source.on_tracks(
        known, [one for one in kept if one[0] == "+" or base is None or one[1:] in base]
    )


def _is_written(task: Exercise | Question, mine: cells.Source) -> bool:
    """Whether the cell of a task is not as it was released."""
    cell = mine.cell(task.name)
    return cell is not None and cell.source.strip() != task.cell.source.strip()


def _lessons(root: Root, contents: dict[str, bytes]) -> dict[str, Lesson]:
    """{name: Lesson} of an edition's files."""
    lessons = {}
    for path in contents:
        parts = PurePosixPath(path)
        match = FOLDER.fullmatch(parts.parent.name)
        place = PurePosixPath(PRISTINE.as_posix()) / parts.parent.name
        if match and parts == place / f"{match[2]}_dev.py":
            base = root.path / PRISTINE / parts.parent.name
            chapter, checks, facts, hints = (
                contents.get(f"{parts.parent}/{name}", b"").decode("utf-8")
                for name in (parts.name, CHECKS, FACTS, HINTS)
            )
            source, sections = (
                cells.parse(base / parts.name, chapter),
                cells.parse(base / CHECKS, checks),
            )
            lessons[match[2]] = parse_lesson(source, sections, facts, hints)
    return lessons


# The learner's files.


def _plan(plan: Plan, contents: dict[str, bytes]) -> None:
    root, result, changes = plan.root, plan.update, plan.changes
    lessons = _lessons(root, contents)
    records = progress.load(root)["lessons"]
    old = {entry.name: entry for entry in root.lessons}
    result.added = [name for name in lessons if name not in old]
    result.gone = [name for name in old if name not in lessons]
    known = root.path / PRISTINE
    other = {path for path, data in changes.items() if files.read(path) != data}
    touched = {path.parent.name for path in other if path.is_relative_to(known)}
    touched |= {root.lesson(name).folder for name in (plan.choice.lessons if plan.choice else ())}
    for path in known.rglob("*"):
        if path.is_file() and path not in changes:
            changes[path] = None
    for entry in old.values():
        if plan.choice and entry.folder not in touched and entry.script.exists():
            for path in (entry.script, entry.script.with_name(CHECKS), entry.module_path):
                changes.pop(path, None)
        elif new := lessons.get(entry.name):
            # A workspace made before lessons had a lesson.toml has none.
            facts = contents[f"{PRISTINE.as_posix()}/{new.folder}/{FACTS}"].decode("utf-8")
            entry.declared = load_lesson(entry.declared_path, facts)
            _plan_lesson(plan, entry, new, records.get(entry.name, {}))
    for name, data in contents.items():
        path = root.path / name
        if name.startswith(SOURCE.as_posix()) and path.name == CHECKS and path in changes:
            before = files.read(root.path / PRISTINE / path.parent.name / CHECKS)
            mine, *others = (
                text and text.replace(b"\r\n", b"\n") for text in (files.read(path), before, data)
            )
            if mine is not None and mine not in others:
                result.replaced.append(name)
    config, learner = root.path / "tito.toml", workspace.learner_name(root)
    if learner is not None and (newer := changes.get(config)):
        changes[config] = newer.rstrip() + workspace.name_table(learner)
    for package in [path for path in changes if path.name == "__init__.py"]:
        module = package.parent.with_suffix(".py")  # a module that has become a package
        if module.exists() and module not in changes:
            changes[module] = None


def _plan_lesson(plan: Plan, entry: Entry, new: Lesson, record: dict[str, Any]) -> None:
    """Plan the changes of one lesson's own files."""
    result, changes = plan.update, plan.changes
    was, now = ({e.id for e in lesson.exercises} for lesson in (entry.declared, new))
    result.joined += [id for id, *_ in entry.declared.given if id in now]
    result.given += [id for id, *_ in new.given if id in was]
    target = Entry(plan.root, new.folder)
    result.earlier |= _earlier(entry, result.joined)
    side = notebook_sync.choose(entry, record)
    file = entry.script if side == "script" else entry.notebook
    if new.folder != entry.folder:
        result.renumbered[entry.name] = new.folder
        _plan_move(entry, target, changes)
    if not file.exists():
        return  # the new edition's stub is put there
    mine = cells.read(file)
    text = mine.text
    if side == "notebook":
        text = notebook.to_script(text, entry.declared.source.text)
    merged, aside = merge(entry.declared, cells.parse(entry.script, text), new, result)
    crlf = side == "script" and b"\r\n" in entry.script.read_bytes()
    changes[target.script] = (merged.replace("\n", "\r\n") if crlf else merged).encode("utf-8")
    source = cells.parse(target.script, merged)
    if entry.notebook.exists():
        before = entry.notebook.read_text(encoding="utf-8")
        book = notebook.to_notebook(merged, new, before).encode("utf-8")
        changes[target.notebook] = book
        plan.pairs[entry.name] = notebook_sync.hashes_of(target, changes[target.script], book)
    if aside:
        _set_aside(plan, entry, target, aside)
    declared = entry.declared
    if any(not declared.is_unwritten(exercise, mine) for exercise in declared.exercises):
        result.test.append(entry.name)
    if entry.module_path.exists() or not new.exercises:
        with suppress(TitoError):  # the code is not valid Python yet: leave the module
            place = target.script.relative_to(plan.root.path).as_posix()
            module = export.build(source, new, place, plan.root.package).whole()
            changes[entry.module_path] = module.text.encode("utf-8")


def _earlier(entry: Entry, joined: list[str]) -> dict[str, str]:
    """{exercise to write again: the file with the code of it that was set aside}."""
    path = entry.script.with_name(ASIDE)
    text = (files.read(path) or b"").decode("utf-8", "replace")
    return {id: entry.relative(path) for id in joined if f"# {id}, of edition" in text}


def _plan_move(entry: Entry, target: Entry, changes: dict[Path, bytes | None]) -> None:
    """Move the files of a lesson's folder to another, where the edition has none there."""
    for path in entry.script.parent.rglob("*"):
        if path.is_file():
            new_path = target.script.parent / path.relative_to(entry.script.parent)
            changes[path] = None
            if new_path not in changes:
                changes[new_path] = path.read_bytes()


def _set_aside(plan: Plan, entry: Entry, target: Entry, aside: dict[str, str]) -> None:
    """Plan to add code that has no place any more to a file beside the lesson."""
    path = target.script.with_name(ASIDE)
    before = files.read(entry.script.with_name(ASIDE)) or b""
    edition = plan.update.before
    parts = [f"# {name}, of edition {edition}\n\n{code}\n" for name, code in aside.items()]
    text = "\n\n" * bool(before) + "\n\n".join(parts)
    plan.changes[path] = before + text.encode("utf-8")
    plan.update.aside |= dict.fromkeys(aside, path.relative_to(plan.root.path).as_posix())


# The chapter.


def merge(
    old: Lesson, mine: cells.Source, new: Lesson, result: Update
) -> tuple[str, dict[str, str]]:
    """The new edition's chapter with the learner's code in it.

    old   the lesson as it was released to the learner
    mine  the learner's script
    result  takes what was replaced, and which tasks changed

    Returns (text, {exercise or question that has no place in it: its code or answer}).
    """
    text = new.source.text
    aside: dict[str, str] = {}
    tasks: list[Exercise | Question] = [*old.exercises, *old.questions]
    new_tasks: dict[str, Exercise | Question] = {e.name: e for e in new.exercises}
    new_tasks |= {question.name: question for question in new.questions}
    for task in tasks:
        if not _is_written(task, mine):
            continue
        cell = mine.cell(task.name)
        assert cell
        id, is_question = f"{old.name}-{task.name}", isinstance(task, Question)
        answer = lesson_format.answer_in(mine, task.name) if is_question else cell.source
        new_task = new_tasks.get(task.name)
        if not new_task or type(new_task) is not type(task):
            if answer:
                aside[id] = cells.comment(answer) if is_question else answer
            continue
        if lesson_format.asked(new_task) != lesson_format.asked(task):
            result.tasks.append(id)
        source = cells.parse(mine.path, text)
        new_cell = source.cell(task.name)
        assert new_cell
        if is_question:
            text = source.replaced(new_cell, lesson_format.answered(new_cell.source, answer))
        else:
            code = adopted(task.cell.source, answer, new_task.cell.source)
            text = source.replaced(new_cell, code)
    return _with_own_cells(old, mine, text, result), aside


def adopted(old: str, mine: str, new: str) -> str:
    """An exercise of a new edition with the learner's code where it says to write it; where the
    learner changed more than that, their whole cell.
    """
    parts, bodies = STUB.split(old), []
    if old == new or len(parts) != len(STUB.split(new)) or not mine.startswith(parts[0]):
        return mine
    rest = mine[len(parts[0]) :]
    for part in parts[1:-1]:
        if not part.strip() or rest.count(part) != 1:
            return mine
        body, _, rest = rest.partition(part)
        bodies.append(body)
    rest, last = rest.rstrip(), parts[-1].rstrip()
    if not rest.endswith(last):
        return mine
    bodies.append(rest[: len(rest) - len(last)] if last else rest)
    return "".join(piece + body for piece, body in zip(STUB.split(new), [*bodies, ""]))


def _with_own_cells(old: Lesson, mine: cells.Source, text: str, result: Update) -> str:
    """`text` with the cells that the learner added, each behind the cell that it was behind."""
    for key, chunk in reversed(_own_cells(old, mine, result)):
        source = cells.parse(mine.path, text)
        keys = _keys(source)
        rows = text.split("\n")
        at = len(rows)
        if key in keys and (place := keys.index(key)) + 1 < len(keys):
            following = source.cells[place + 1]
            at = following.line - following.gap - 1
        text = "\n".join([*rows[:at], *chunk, *([""] if chunk[-1:] != [""] else []), *rows[at:]])
    return text


def _own_cells(
    old: Lesson, mine: cells.Source, result: Update
) -> list[tuple[tuple[str, str] | None, list[str]]]:
    """[(key of the cell that it is behind, its lines)] of the cells that the learner added; edited
    cells of the course's are noted as replaced.
    """
    before, after = _keys(old.source), _keys(mine)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    anchor: tuple[str, str] | None = None
    own: list[tuple[tuple[str, str] | None, list[str]]] = []
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
                result.replaced.append(mine.place(cell))
            elif cell.source.strip():
                own.append((anchor, lines[starts[number] - 1 : starts[number + 1] - 1]))
    return own


def _keys(source: cells.Source) -> list[tuple[str, str]]:
    """What identifies each cell: its exercise or question, else its text."""
    return [("task", c.task) if c.task else (c.kind, c.source) for c in source.cells]
