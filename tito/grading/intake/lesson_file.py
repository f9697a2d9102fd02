"""Find the file of a lesson that counts in a submission: read the candidates and choose one.

If it cannot be read, its `problem` says why.
"""

import re
import warnings
from collections.abc import Callable, Set
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from tito.errors import TitoError
from tito.grading.intake.archives import Member, Unreadable, read_lesson, shown_path, some
from tito.grading.roster import shown
from tito.grading.setting import Limits
from tito.grading.submission import LessonFile
from tito.lesson import cells
from tito.lesson.course import Entry
from tito.lesson.outcome import UNWRITTEN

# Characters of a cell's `# %%` line: the time to read it is quadratic in them.
LONG_LINE = 10_000
CODE = 400_000  # characters of a lesson file that are saved to show


@dataclass
class Reading:
    """The values that every step of reading a submission needs.

    left     bytes of lesson files that may still be read
    refused  SHA-256s of lesson files that take too long
    on_file  called with the SHA-256 of each lesson file before it is parsed
    """

    lessons: list[Entry]
    limits: Limits
    notes: list[str]
    left: int
    refused: Set[str]
    on_file: Callable[[str], None]

    def bytes(self, member: Member) -> tuple[bytes, str]:
        """What `read_lesson` returns of a lesson file. Raises Unreadable."""
        if self.left <= 0:
            raise Unreadable(
                f"was not read: {self.limits.read:,} bytes of lesson files are read of one "
                f"submission"
            )
        data, sha256 = read_lesson(member, self.limits)
        self.left -= len(data)
        return data, sha256


def choose_file(entry: Entry, members: list[Member], reading: Reading) -> LessonFile:
    """The LessonFile that counts, of these candidates."""
    copies = reading.limits.copies
    if len(members) > copies:
        reading.notes.append(
            f"{entry.name}: {len(members)} files; only the first {copies} were looked at."
        )
    files = [(_lesson_file(member, reading), member) for member in members[:copies]]
    good = [(file, member) for file, member in files if not file.problem]
    for file, _ in files if good else files[1:]:
        if file.problem:
            reading.notes.append(f"{entry.name}: {file.problem}")
    if len(good) < 2:
        return good[0][0] if good else files[0][0]
    return _choose_readable(entry, good, reading)


def _choose_readable(
    entry: Entry, good: list[tuple[LessonFile, Member]], reading: Reading
) -> LessonFile:
    """Choose between readable files: the one with more exercises written, else the later one; the
    script, if script and notebook have the same code. Notes say which and why.
    """
    work = {id(file): _work(entry, file) for file, _ in good}
    written = {id(file): count_written(entry, file) for file, _ in good}
    script_first = sorted(good, key=lambda pair: pair[0].is_notebook)
    best = script_first[0][0]
    if any(work[id(file)] != work[id(best)] for file, _ in good):
        best, _ = max(
            script_first, key=lambda pair: (written[id(pair[0])], *_comparable(pair[1].changed))
        )
    others = [file for file, _ in good if file is not best]
    if all(work[id(file)] == work[id(best)] for file in others):
        why = f"the code in {some((file.path for file in others), 150)} is the same"
    else:
        total = len(entry.declared.exercises) + len(entry.declared.questions)
        counted = ", ".join(f"{file.path} ({written[id(file)]})" for file in others[:5])
        tied = any(written[id(file)] == written[id(best)] for file in others)
        later = ", and it is the later one" if tied else ""
        what = "exercises and answers" if entry.declared.questions else "exercises"
        why = f"{written[id(best)]} of {total} {what} are written in it{later}; not {counted}"
    reading.notes.append(f"{entry.name}: {best.path} counts: {why}.")
    return best


def _comparable(changed: Any) -> tuple[int, ...]:
    """A sort key for the time of a change, which may be missing or not a valid time."""
    if isinstance(changed[0], int):
        return tuple(changed)
    return tuple(changed[0].astimezone().timetuple()[:6])


def _lesson_file(member: Member, reading: Reading) -> LessonFile:
    path = shown_path(member.path)
    file = LessonFile(path, is_notebook=member.suffix == ".ipynb", entry=member.entry)
    try:
        file.raw, file.sha256 = reading.bytes(member)
        file.code = file.raw[: 4 * CODE].decode("utf-8-sig", "backslashreplace")[:CODE]
        if file.sha256 in reading.refused:
            file.slow = True
            raise Unreadable("takes too much time or memory to read")
        reading.on_file(file.sha256)
        file.text, file.source = _parsed(path, file.raw)
        file.source.sha256 = file.sha256
        if file.is_notebook:
            file.code = "\n\n".join(map(_as_script, file.source.cells))[:CODE]
    except Unreadable as error:
        file.problem = f"{path} {error}."
    return file


def _as_script(cell: cells.Cell) -> str:
    """A notebook's cell as a script has it."""
    if cell.kind == "code":
        name = f' exercise="{cell.exercise}"' if cell.exercise else ""
        return f"# %%{name}\n{cell.source}"
    return "\n# ".join(["# %% [markdown]", *cell.source.split("\n")])


def _parsed(path: str, raw: bytes) -> tuple[str, cells.Source]:
    """The text and cells of a lesson file. Raises Unreadable."""
    text = _decoded(raw)
    if not path.endswith(".ipynb"):
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > LONG_LINE and cells.MARKER.match(line):
                raise Unreadable(
                    f"has {len(line):,} characters in its line {number}, the head of a cell"
                )
    try:
        with warnings.catch_warnings(action="ignore"):  # Python's warnings about the learner's code
            source = cells.parse(Path(PurePosixPath(path)), text)
    except TitoError as error:
        match = re.fullmatch(r"(?::(\d+))?: (.*?)\.?", str(error).removeprefix(path), re.S)
        line, what = match.groups() if match else ("", str(error))
        raise Unreadable(f"is damaged{' in line ' + line if line else ''}: {shown(what)}") from None
    except (ValueError, RecursionError, MemoryError):
        raise Unreadable("is damaged: it is too deeply nested, or not a lesson") from None
    return text, source


def _decoded(raw: bytes) -> str:
    """The text of a lesson file. Raises Unreadable."""
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise Unreadable(f"is not UTF-8: byte 0x{raw[error.start]:02x} in line {line}") from None
    if not text.strip():
        raise Unreadable("is empty")
    return text


def _exported(file: LessonFile) -> list[str]:
    """The code in a file that goes into the package."""
    return [cell.source for cell in file.source.exported] if file.source else []


def _work(entry: Entry, file: LessonFile) -> tuple[list[str], dict[str, str]]:
    """The code and the answers in a file that could be read."""
    assert file.source
    return _exported(file), entry.declared.answers(file.source)


def count_written(entry: Entry, file: LessonFile) -> int:
    """The number of exercises and answers written in this file. An exercise is written if its code
    has no longer the line of the release that raises.
    """
    if file.source is None:
        return 0
    count = sum(bool(answer) for answer in entry.declared.answers(file.source).values())
    for exercise in entry.declared.exercises:
        cell = file.source.cell(exercise.name)
        if cell:
            is_code = cell.kind == "code" and bool(cell.source.strip())
            count += is_code and not UNWRITTEN.search(cell.source)
        else:  # an editor dropped the cell's id: look for what the exercise defines
            names = re.findall(r"^(?:def|class) (\w+)", exercise.cell.source, re.M)
            text = "\n".join(_exported(file))
            count += (
                exercise.id not in UNWRITTEN.findall(text)
                and bool(names)
                and all(re.search(rf"^(?:def|class) {name}\b", text, re.M) for name in names)
            )
    return count
