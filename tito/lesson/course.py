"""Find the root to work in, its lessons, and the course that it was made from.

A root is a folder with a `tito.toml`: a course (lessons with solutions) or a workspace (a
learner's). Everything about a lesson is read from the lesson itself; in a workspace, from the
pristine copy under `.tito/`.
"""

import functools
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tito import settings
from tito.errors import MachineError, UsageError, suggest
from tito.lesson import track
from tito.lesson.lesson_format import FOLDER, Exercise, Lesson, Question
from tito.lesson.parse import load_lesson
from tito.lesson.track import WHOLE, Track

SOURCE = Path("modules", "source")
DISTRIBUTION = "tinytorch"
PRISTINE = Path(".tito", "pristine")
RANGE = re.compile(r"(\d+)-(\d+)")


@dataclass(frozen=True)
class Root:
    """A course or a workspace. `package` is the name of its package, `tinytorch`; `compare`
    whether a course lets `tito compare` show its solutions; `book` the address of its published
    book, which ends in /, or ""; `tracks` the names of those that it shows, () for every exercise;
    `changes` the learner's: "+ID" is written although no track has it, "-ID" is given although one
    has; `tables` what its tito.toml says.
    """

    path: Path
    kind: str
    name: str
    edition: str
    package: str
    compare: bool = True
    book: str = ""
    tracks: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    tables: dict[str, dict[str, Any]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def is_course(self) -> bool:
        return self.kind == "course"

    @property
    def state(self) -> Path:
        """The folder with tito's data about this root."""
        return self.path / ".tito"

    @cached_property
    def lessons(self) -> "list[Entry]":
        """Its lessons in order, as `Entry`s.

        Raises TitoError when there are none or numbers collide.
        """
        declared = self.path / (SOURCE if self.is_course else PRISTINE)
        if not declared.is_dir():
            raise MachineError(
                f"{self.path} has no folder {declared.relative_to(self.path)}.",
                f"`tito init {self.path}` restores missing files."
                if not self.is_course
                else "A course keeps its lessons there.",
            )
        entries = [
            Entry(self, folder.name)
            for folder in declared.iterdir()
            if FOLDER.fullmatch(folder.name)
        ]
        entries = sorted(
            (e for e in entries if e.declared_path.exists()), key=lambda e: (e.number, e.name)
        )
        for entry, following in zip(entries, entries[1:]):
            if entry.number == following.number:
                raise UsageError(
                    f"{entry.folder} and {following.folder} have the same number.",
                    "Rename one of the folders.",
                )
        if not entries:
            raise UsageError(
                f"There is no lesson in {declared}.",
                "A lesson is a file like 02_tensor/tensor_dev.py.",
            )
        return entries

    @cached_property
    def all_tracks(self) -> dict[str, Track]:
        """{name: Track} of a course; of a workspace, those that it was made with."""
        return track.read(self.path / ("" if self.is_course else PRISTINE) / track.FILE)

    @cached_property
    def whole(self) -> "Root":
        """The same course with every exercise."""
        return self.on_tracks(()) if self.tracks or self.changes else self

    def on_tracks(self, names: Sequence[str], changes: Sequence[str] = ()) -> "Root":
        """The same course as these tracks show it."""
        shown = replace(self, tracks=tuple(names), changes=tuple(changes))
        if names or changes:
            vars(shown)["whole"] = self.whole  # so that its lessons are read once
        return shown

    @cached_property
    def keep(self) -> frozenset[str] | None:
        """The ids of the exercises and questions that are written; None for all. The lessons of a
        workspace are as its tracks show them.
        """
        names = self.tracks or (WHOLE,)
        if not self.is_course or (WHOLE in names and not self.changes):
            return None
        ids = {id for name in names for id in self.ids_on(track.find(self.all_tracks, name))}
        added, removed = ({c[1:] for c in self.changes if c[0] == sign} for sign in "+-")
        return frozenset((ids | added) - removed)

    def ids_on(self, chosen: Track) -> list[str]:
        """The ids of what a track names. Raises UsageError, with the line, if it cannot be read."""
        ids: list[str] = []
        for words in chosen.exercises:
            try:
                named = self.whole.named(words.split())
            except UsageError as error:
                chosen.refuse(words, error.what, error.remedy)
            for entry, names in named.items():
                ids += (f"{entry.name}-{name}" for name in names or entry.declared.tasks)
            if twice := [id for id in ids if ids.count(id) > 1]:
                chosen.refuse(words, f"{twice[0]} is on the track twice.", "Name it once.")
        return ids

    def find_lesson(self, key: str) -> "Entry | None":
        """The lesson meant by `autograd`, `6`, `06` or `06_autograd`, or None."""
        for entry in self.lessons:
            if key in (entry.name, entry.folder) or (key.isdecimal() and int(key) == entry.number):
                return entry
        return None

    def lesson(self, key: str | int) -> "Entry":
        """The lesson meant by `autograd`, `6`, `06` or `06_autograd`.

        Raises TitoError with a suggestion.
        """
        key = str(key)
        if entry := self.find_lesson(key):
            return entry
        for entry in self.lessons:
            if any(exercise.id == key for exercise in entry.declared.exercises):
                raise UsageError(
                    f"{key} is an exercise, but this command takes lessons.",
                    f"Name its lesson: {entry.name}",
                )
        names = [entry.name for entry in self.lessons]
        raise UsageError(
            f"There is no lesson {key!r} in {self.path}.",
            suggest(re.sub(r"^\d+_", "", key.lower()), names, f"There are: {', '.join(names)}."),
        )

    def select(self, words: Sequence[str]) -> "dict[Entry, list[Exercise]]":
        """{lesson: its exercises that were named, none for all of it}. words, errors: `named`."""
        named = self.named(words)
        return {e: [e.declared.exercise(name) for name in names] for e, names in named.items()}

    def named(self, words: Sequence[str]) -> "dict[Entry, list[str]]":
        """{lesson: the names of its exercises, also given ones, and of its questions that were
        named, none for all of it}, in the order of the words.

        words  lessons (tensor, 1, 02_tensor), ranges of lessons (1-10), and exercises: by their id
               (tensor-strides), by their name after their lesson (tensor strides), or by a name
               that only one lesson has

        Raises TitoError with a suggestion.
        """
        selection: dict[Entry, list[str]] = {}
        latest: Entry | None = None
        for word in words:
            if latest and (name := latest.declared.task(word)):
                selection[latest].append(name)
            elif match := RANGE.fullmatch(word):
                first, last = sorted(map(int, match.groups()))
                entries = [entry for entry in self.lessons if first <= entry.number <= last]
                selection |= {entry: [] for entry in entries or [self.lesson(match[1])]}
            elif entry := self.find_lesson(word):
                latest = entry
                selection.setdefault(entry, [])
            elif latest and "-" not in word:
                latest.declared.exercise(word)  # raises, with the exercises that it has
            else:
                entry, name = self.task(word)
                selection.setdefault(entry, []).append(name)
        return selection

    def task(self, key: str) -> "tuple[Entry, str]":
        """(lesson, name) of an exercise or question. Raises TitoError with a suggestion."""
        tasks = [(entry, name) for entry in self.lessons for name in entry.declared.tasks]
        ids = {f"{entry.name}-{name}": (entry, name) for entry, name in tasks}
        if key in ids:
            return ids[key]
        matches = [id for id, (_, name) in ids.items() if name == key]
        if len(matches) == 1:
            return ids[matches[0]]
        if matches:
            raise UsageError(
                f"Several lessons have an exercise {key!r}.",
                f"Did you mean {' or '.join(matches)}?",
            )
        names = [entry.name for entry in self.lessons]
        listed = f"There are these lessons: {', '.join(names)}."
        raise UsageError(
            f"There is no lesson and no exercise {key!r} in {self.path}.",
            suggest(key, ids if "-" in key else names, listed, most=3),
        )

    def question(self, words: Sequence[str]) -> "tuple[Entry, Question] | None":
        """(lesson, question) of losses-why-log, losses why-log or why-log, or None."""
        key = "-".join(words)
        asked = [(entry, one) for entry in self.lessons for one in entry.declared.questions]
        names = [pair for pair in asked if key in (pair[1].name, f"{pair[0].name}-{pair[1].name}")]
        return names[0] if len(names) == 1 else None

    @property
    def reference(self) -> "Root":
        """The course that this workspace was made from. Raises TitoError when it is gone."""
        if self.is_course:
            return self
        note = self.state / "course"
        recorded = Path(note.read_text(encoding="utf-8").strip()) if note.exists() else None
        if recorded and (recorded / "tito.toml").exists():
            return open_root(recorded, strict=False)  # no learner is stopped by it
        return installed_course()


class Entry:
    """One lesson of a root, by its folder name.

    script, notebook  the learner's files
    declared_path  the course's own copy, which says what the exercises and checks are
    module_path  its file in the package
    """

    def __init__(self, root: Root, folder: str) -> None:
        match = FOLDER.fullmatch(folder)
        assert match, folder
        self.root, self.folder = root, folder
        self.number, self.name = int(match[1]), match[2]
        file = Path(folder, f"{self.name}_dev.py")
        self.script = root.path / SOURCE / file
        self.notebook = self.script.with_suffix(".ipynb")
        self.declared_path = self.script if root.is_course else root.path / PRISTINE / file
        self.module_path = root.path / root.package / "core" / f"{self.name}.py"

    def address(self, exercise: str) -> str:
        """Where an exercise is in the published book, by its id; "" without one."""
        return self.root.book and f"{self.root.book}lessons/{self.folder}.html#{exercise}"

    @cached_property
    def declared(self) -> Lesson:
        return load_lesson(self.declared_path, keep=self.root.keep)

    @property
    def needed(self) -> "list[Entry]":
        """The lessons that this one needs, and those that these need."""
        names: set[str] = set()
        for lower in reversed(self.root.lessons):  # a lesson needs lower ones only
            if lower == self or lower.name in names:
                names |= set(lower.declared.prerequisites)
        return [lower for lower in self.root.lessons if lower.name in names]

    def relative(self, path: Path) -> str:
        """`path` as one types it from the root."""
        return path.relative_to(self.root.path).as_posix()


def open_root(folder: Path, strict: bool = True) -> Root:
    """The root at `folder`, which holds a tito.toml.

    strict  whether names in it that this tito does not know are refused

    Raises UsageError when a setting in that file cannot work.
    """
    tables = settings.read_root(folder, strict)
    kind = "course" if "course" in tables else "workspace"
    block = tables[kind]
    return Root(
        folder,
        kind,
        block["name" if kind == "course" else "course"],
        block["edition"],
        block["package"],
        block.get("compare", True),
        block.get("book", ""),
        tuple(block.get("tracks", ())),
        tuple(block.get("changes", ())),
        tables,
    )


def find_root(start: Path, given: str | Path | None = None, strict: bool = True) -> Root:
    """The root that `given` names, or the nearest one from `start` upward. strict: see `open_root`.

    Raises TitoError when there is none.
    """
    if given is not None:
        folder = Path(given).expanduser().resolve()
        if not (folder / "tito.toml").exists():
            raise UsageError(
                f"{folder} is not a course or a workspace: it has no tito.toml.",
                "Give --root a folder that has one.",
            )
        return open_root(folder, strict)
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / "tito.toml").is_file():
            return open_root(folder, strict)
    raise UsageError(
        f"{start} is not inside a course or a workspace.",
        f"Go to the one that you have activated: cd {shlex.quote(active)}"
        if (active := os.environ.get("TITO_ACTIVE"))
        else "Create one with `tito init my-tinytorch`, or change to yours with cd.",
    )


def installed_course() -> Root:
    """The course that came with this tito: the checkout it runs from, or its distribution's."""
    package_parent = Path(__file__).resolve().parents[1]
    for folder in (package_parent.parent, package_parent / "course"):
        if (folder / "tito.toml").is_file() and (folder / SOURCE).is_dir():
            return open_root(folder)
    raise MachineError(
        "This tito came without a course.", "Install it again, or give --root a course folder."
    )


@functools.cache  # looking it up opens files
def version() -> str:
    """The version of the tito that runs. Raises TitoError when it was not installed."""
    from importlib import metadata

    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        raise MachineError(
            "This tito is not installed in its environment, so its version is not known.",
            "Run bin/tito from the course, or pip install it.",
        ) from None
