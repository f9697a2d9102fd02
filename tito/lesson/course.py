"""Where things are: the root one works in, its lessons, and the course it came from.

A root is a folder with a `tito.toml`: a course (lessons with solutions) or a workspace (a
learner's). Everything about a lesson is read from the lesson itself; in a workspace, from the
pristine copy under `.tito/`.
"""

import difflib
import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tito.errors import MachineError, UsageError
from tito.lesson import lesson_format
from tito.lesson.lesson_format import FOLDER, Lesson

SOURCE = Path("modules", "source")
DISTRIBUTION = "tinytorch"
PRISTINE = Path(".tito", "pristine")
NEEDED = {"course": ("name", "edition", "package"), "workspace": ("course", "edition", "package")}


@dataclass(frozen=True)
class Root:
    """A course or a workspace. `package` is the name of its package, `tinytorch`; `compare`
    whether a course lets `tito compare` show its solutions; `book` the address of its published
    book, which ends in /, or "".
    """

    path: Path
    kind: str
    name: str
    edition: str
    package: str
    compare: bool = True
    book: str = ""

    @property
    def is_course(self) -> bool:
        return self.kind == "course"

    @property
    def state(self) -> Path:
        """The folder of everything tito keeps about this root."""
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
                f"`tito init {self.path}` puts back what is missing."
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
                "A lesson is a file like 01_tensor/tensor_dev.py.",
            )
        return entries

    def lesson(self, key: str | int) -> "Entry":
        """The lesson meant by `autograd`, `6`, `06` or `06_autograd`.

        Raises TitoError with a suggestion.
        """
        key = str(key)
        for entry in self.lessons:
            if key in (entry.name, entry.folder) or (key.isdecimal() and int(key) == entry.number):
                return entry
        names = [entry.name for entry in self.lessons]
        close = difflib.get_close_matches(re.sub(r"^\d+_", "", key.lower()), names, n=1)
        raise UsageError(
            f"There is no lesson {key!r} in {self.path}.",
            f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(names)}.",
        )

    def exercise(self, key: str) -> "tuple[Entry, lesson_format.Exercise]":
        """(lesson, exercise) of an exercise's id, tensor-strides, or its name, strides, where only
        one lesson has it.

        Raises TitoError with a suggestion.
        """
        for entry in self.lessons:
            if key.startswith(f"{entry.name}-"):
                return entry, entry.declared.exercise(key)
        every = [(entry, one) for entry in self.lessons for one in entry.declared.exercises]
        found = [(entry, one) for entry, one in every if one.name == key]
        if len(found) == 1:
            return found[0]
        ids = [one.id for _, one in found or every]
        close = ids if found else difflib.get_close_matches(key, ids, n=3, cutoff=0.4)
        raise UsageError(
            f"{'Several lessons have an' if found else 'No lesson has an'} exercise {key!r}.",
            f"Did you mean {' or '.join(close)}?" if close else "Name it like tensor-strides.",
        )

    @property
    def reference(self) -> "Root":
        """The course that this workspace was made from. Raises TitoError when it is gone."""
        if self.is_course:
            return self
        note = self.state / "course"
        recorded = Path(note.read_text(encoding="utf-8").strip()) if note.exists() else None
        if recorded and (recorded / "tito.toml").exists():
            return open_root(recorded)
        return installed_course()


@dataclass(frozen=True)
class Entry:
    """One lesson of a root, by its folder name."""

    root: Root
    folder: str

    @property
    def number(self) -> int:
        return int(FOLDER.fullmatch(self.folder).group(1))

    @property
    def name(self) -> str:
        return FOLDER.fullmatch(self.folder).group(2)

    def address(self, exercise: str) -> str:
        """Where an exercise stands in the published book, by its id; "" without one."""
        return self.root.book and f"{self.root.book}lessons/{self.folder}.html#{exercise}"

    @property
    def script(self) -> Path:
        return self.root.path / SOURCE / self.folder / f"{self.name}_dev.py"

    @property
    def notebook(self) -> Path:
        return self.script.with_suffix(".ipynb")

    @property
    def declared_path(self) -> Path:
        """The course's own copy, which says what the exercises and checks are."""
        return (
            self.script
            if self.root.is_course
            else self.root.path / PRISTINE / self.folder / f"{self.name}_dev.py"
        )

    @cached_property
    def declared(self) -> Lesson:
        return lesson_format.load(self.declared_path)

    @property
    def module_path(self) -> Path:
        """Its file in the package."""
        return self.root.path / self.root.package / "core" / f"{self.name}.py"

    def relative(self, path: Path) -> str:
        """`path` as one types it from the root."""
        return path.relative_to(self.root.path).as_posix()


def open_root(folder: Path) -> Root:
    """The root at `folder`, which holds a tito.toml. Raises TitoError when that file is damaged."""
    path = folder / "tito.toml"
    try:
        config = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MachineError(
            f"{path} is not valid TOML: {error}.", "Mend it or copy it from another workspace."
        ) from None
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.", "Name a folder with a tito.toml."
        ) from None
    for kind, keys in NEEDED.items():
        if isinstance(block := config.get(kind), dict):
            for key in keys:
                if not isinstance(block.get(key), str):
                    raise MachineError(
                        f"{path}: [{kind}] {key} is {block.get(key)!r}.",
                        f"[{kind}] needs {', '.join(keys)}.",
                    )
            if not block["package"].isidentifier():
                raise MachineError(
                    f"{path}: package is {block['package']!r}.",
                    'It should be a name such as "tinytorch".',
                )
            if not isinstance(compare := block.get("compare", True), bool):
                raise MachineError(
                    f"{path}: [{kind}] compare is {compare!r}.",
                    "It should be true or false.",
                )
            if not re.fullmatch(r"(https?://\S+/)?", book := str(block.get("book", ""))):
                raise MachineError(
                    f"{path}: [{kind}] book is {book!r}.",
                    'It should be the address of the published book, which ends in /: "https://...'
                    '/".',
                )
            return Root(
                folder, kind, block[keys[0]], block["edition"], block["package"], compare, book
            )
    raise MachineError(
        f"{path} has no [course] and no [workspace].", "Copy it from another workspace."
    )


def find_root(start: Path, given: str | Path | None = None) -> Root:
    """The root that `given` names, or the nearest one from `start` upward.

    Raises TitoError when there is none.
    """
    if given is not None:
        folder = Path(given).expanduser().resolve()
        if not (folder / "tito.toml").exists():
            raise UsageError(
                f"{folder} is not a course or a workspace: it has no tito.toml.",
                "Give --root a folder that has one.",
            )
        return open_root(folder)
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / "tito.toml").is_file():
            return open_root(folder)
    raise UsageError(
        f"{start} is not inside a course or a workspace.",
        "Make one with `tito init my-tinytorch`, or go to yours with cd.",
    )


def installed_course() -> Root:
    """The course that came with this tito: the checkout it runs from, or
    the data in its distribution.
    """
    package_parent = Path(__file__).resolve().parents[1]
    for folder in (package_parent.parent, package_parent / "course"):
        if (folder / "tito.toml").is_file() and (folder / SOURCE).is_dir():
            return open_root(folder)
    raise MachineError(
        "This tito came without a course.", "Install it again, or give --root a course folder."
    )


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
