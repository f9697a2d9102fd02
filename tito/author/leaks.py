"""Verify that a release contains no solutions, hidden checks or recorded mistakes.

`verify` searches the bytes of a release for every line of them, also inside notebooks and zips.
"""

import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from tito.author import wheel
from tito.errors import MachineError
from tito.learn import milestone
from tito.lesson import cells, mistakes
from tito.lesson.checks import IMPORTS, LEARNER_SIDE, SETUP, needed_by_visible, statements_of
from tito.lesson.course import Entry, Root
from tito.lesson.lesson_format import CHECKS, MARK, MISTAKES, Lesson, split_solution

LEAST = 12  # characters: shorter lines, such as `return x`, are in any program
LONG = 40  # characters: no line of this length is in two programs by chance
FEW = 100  # texts: looking for each of so few is faster than one pass in Python
# The beginning of a line in mistakes.py that is no code. Messages, `#>`, are in visible checks.
ENTRY = re.compile(r"# %%|#[=-]")


class TextSearch:
    """Searches for many texts in one pass. Separate searches for 17,000 secrets in 5 MB take a
    minute.

    Texts of fewer than LEAST characters are left out.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.by_start: dict[str, list[str]] = {}
        for text in texts:
            if len(text) >= LEAST:
                self.by_start.setdefault(text[:LEAST], []).append(text)

    def find_in(self, text: str) -> set[str]:
        """The texts that `text` contains."""
        if len(self.by_start) < FEW:
            return {part for parts in self.by_start.values() for part in parts if part in text}
        return {
            part
            for at in range(len(text) - LEAST + 1)
            for part in self.by_start.get(text[at : at + LEAST], ())
            if text.startswith(part, at)
        }


def secret_lines(lesson: Lesson) -> set[str]:
    """The stripped lines of a lesson's solutions and hidden checks, and of what only hidden checks
    need, that are not also public.
    """
    secret: set[str] = set()
    public: set[str] = set()
    for cell in lesson.source.cells:
        for lines, part in zip(split_solution(cell.source), (secret, public)):
            part.update(map(str.strip, lines))
    secret.update(map(str.strip, lesson.checks_source.text.split("\n")))
    public.update(map(str.strip, lesson.released_checks.split("\n")))
    return {line for line in secret - public if len(line) > 3}


def secrets(source: Root) -> dict[str, str]:
    """{text: what it is} of everything that a release of lessons of the course must not contain.

    The text that learners read is not secret, even that of lessons that are not released yet. Short
    lines that tito's code happens to contain are not secret, because anyone can read them there.
    """
    reasons: dict[str, str] = {}
    for entry in source.lessons:
        for text, reason in lesson_secrets(entry):
            reasons.setdefault(text, reason)
    search = TextSearch(reasons)
    public = search.find_in("\n".join(text for entry in source.lessons for text in read_by(entry)))
    in_tito = search.find_in(
        "\n".join(data.decode("utf-8", "replace") for data in wheel.own_files().values())
    )
    return {
        text: reason
        for text, reason in reasons.items()
        if len(text) >= LEAST and text not in public and (len(text) >= LONG or text not in in_tito)
    }


def lesson_secrets(entry: Entry) -> Iterator[tuple[str, str]]:
    """(text, what it is) of the secrets of one lesson."""
    lesson = entry.declared
    for mistake in mistakes.load(entry.root.whole.lesson(entry.name).declared).mistakes:
        if lesson.is_given(mistake.exercise.partition("-")[2]):
            continue
        yield mistake.name, f"a recorded mistake of {entry.name}"
    for check in lesson.checks:
        if check.hidden:
            yield check.function, f"the name of a hidden check of {entry.name}"
    for name in needless_names(lesson.checks_source):
        yield name, f"the name of a helper of a hidden check of {entry.name}"
    for line in secret_lines(lesson):
        yield line, f"a line of a solution or a hidden check of {entry.name}"
    path, section = lesson.path.with_name(MISTAKES), ""
    if path.exists():
        for line in map(str.strip, path.read_text(encoding="utf-8").split("\n")):
            section = line.split()[2] if re.match(r"# %% \S", line) else section
            if lesson.is_given(section):  # its solution is public
                continue
            if ENTRY.match(line) or len(line) >= LONG:  # shorter code may be in any program
                yield line, f"a line of {entry.name}'s recorded mistakes"


def needless_names(checks: cells.Source) -> list[str]:
    """The names that shared sections of a checks.py define and no check needs that learners see."""
    needed = needed_by_visible(checks.cells)
    return sorted(
        name
        for cell in checks.cells
        if cell.title in (SETUP, LEARNER_SIDE)
        for statement in statements_of(cell.source)
        if statement not in needed and not isinstance(statement.node, IMPORTS)
        for name in statement.defines
    )


def read_by(entry: Entry) -> Iterator[str]:
    """The texts of a lesson that learners read. The last hints are almost the code."""
    lesson = entry.declared
    yield lesson.released
    yield lesson.released_checks
    for exercise in lesson.exercises:
        for hint in exercise.hints:
            yield " ".join(hint.replace("`", "").split())


def solutions(source: Root) -> Iterator[set[str]]:
    """The lines of each exercise's solution that have at least LEAST characters."""
    for entry in source.lessons:
        for exercise in entry.declared.exercises:
            solution, _ = split_solution(exercise.cell.source)
            yield {line for line in map(str.strip, solution) if len(line) >= LEAST}


def verify(source: Root, chosen: list[Entry], contents: Mapping[str, bytes]) -> None:
    """Raise MachineError when a file of `contents` ({path: bytes}) holds a secret."""
    reasons = secrets(source)
    search = TextSearch(reasons)
    for name, text in texts_of(contents):
        leaked = search.find_in(text)
        if is_program(source, name):
            leaked = without_chance(source, name, text, leaked, reasons)
        if leaked:
            refuse(name, reasons[min(leaked)], min(leaked))
        if name.endswith(f"/{CHECKS}"):
            for helper in needless_names(cells.parse(Path(name), text)):
                refuse(name, "the name of a helper that no check needs which learners see", helper)
    for entry in chosen:
        verify_lesson(entry, contents)


def is_module(source: Root, name: str) -> bool:
    """Whether a path, in a folder or in a zip, is in the course's package."""
    return f"/{source.package}/" in f"/{name}"


def is_program(source: Root, name: str) -> bool:
    """Whether a path, in a folder or in a zip, is in the course's package or a milestone."""
    return is_module(source, name) or f"/{milestone.SOURCE.name}/" in f"/{name}"


def without_chance(
    source: Root, name: str, text: str, leaked: set[str], reasons: Mapping[str, str]
) -> set[str]:
    """The secrets in a module of the package, or in a milestone, without those that are there by
    chance.

    These are programs, so they may contain single short lines of a secret. In a module, more than
    half of an exercise's lines are a leak; in a milestone, which uses what the lessons built, each.
    """
    least = 0.5 if is_module(source, name) else 0
    copied = [
        lines
        for lines in (solutions(source) if leaked else ())
        if lines & leaked and sum(line in text for line in lines) > least * len(lines)
    ]
    return {line for line in leaked if not is_chance(line, reasons[line], copied)}


def is_chance(line: str, reason: str, copied: list[set[str]]) -> bool:
    """Whether a secret in such a program may be there by chance.

    copied  the solutions of which too much is in that program
    """
    if "a line of" not in reason or ENTRY.match(line):
        return False
    if any(line in lines for lines in copied):
        return False
    return len(line) < LONG or reason.endswith("recorded mistakes")


def verify_lesson(entry: Entry, contents: Mapping[str, bytes]) -> None:
    """Raise MachineError when a lesson's own files contain a secret line of any length."""
    for path in (entry.script, entry.script.with_name(CHECKS)):
        name = entry.relative(path)
        rows = contents[name].decode("utf-8").split("\n")
        lines = {line.strip().removeprefix("# ") for line in rows}
        leaked = sorted(secret_lines(entry.declared) & lines)
        if leaked := leaked or [line for line in lines if MARK.match(line)]:
            refuse(name, f"a line of a solution or a hidden check of {entry.name}", leaked[0])


def refuse(name: str, what: str, secret: str) -> NoReturn:
    raise MachineError(
        f"{name} would give away {what}: {secret[:100]}",
        "Nothing was released. Remove it from the public part of the course, then release again.",
    )


def texts_of(contents: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    """(name, text) of every file in `contents`, and of every member of a zip among them."""
    for name, data in contents.items():
        if is_zip(data):
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                members = {
                    f"{name}/{member}": archive.read(member) for member in archive.namelist()
                }
            yield from texts_of(members)
        else:
            yield name, readable(name, data)


def is_zip(data: bytes) -> bool:
    return data.startswith(b"PK") and zipfile.is_zipfile(io.BytesIO(data))


def readable(name: str, data: bytes) -> str:
    """A file's text; of a notebook also every string as its reader sees it."""
    text = data.decode("utf-8", "replace")
    if name.endswith(".ipynb"):
        with suppress(ValueError):  # not a notebook: its text is enough
            return text + "\n".join(strings_in(json.loads(text)))
    return text


def strings_in(value: object) -> list[str]:
    """Every string in a JSON value; a list of strings is one text."""
    if isinstance(value, list):
        if all(isinstance(part, str) for part in value):
            return ["".join(value)]
        return [text for part in value for text in strings_in(part)]
    if isinstance(value, dict):
        return [text for part in value.values() for text in strings_in(part)]
    return [value] if isinstance(value, str) else []
