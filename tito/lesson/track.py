"""Tracks: named selections of a course's exercises, in `tracks.toml` beside its `tito.toml`.

    [road]
    title = "From a line to your own GPT"
    hours = 15
    exercises = ["descent", "backprop by-hand multiply"]    as `tito test` takes them

A learner on a track writes its exercises. All others are given: a `view` of a lesson holds the
course's solutions of them, marked `given="NAME"`, and is otherwise a lesson with fewer exercises.
The track "whole" has every exercise.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tito import settings
from tito.errors import UsageError, suggest
from tito.lesson import cells
from tito.lesson.cells import Cell, Source
from tito.lesson.lesson_format import FOLDER, MARK

FILE, WHOLE = "tracks.toml", "whole"
NAME = re.compile(r"[a-z][a-z-]*")
COMMENT = "# Given on this track. To write it yourself: tito reset {}"
TASK = re.compile(r"\*\*Task( \(optional\))?\.\*\*")
HINT = re.compile(r"(?ms)^## (\S+)[ \t]*$.*?(?=^## |\Z)")
Rows = list[str]


@dataclass(frozen=True)
class Track:
    """A table of tracks.toml: `exercises` as it is written there."""

    path: Path
    name: str
    title: str
    hours: float
    exercises: tuple[str, ...]

    def refuse(self, words: str, what: str, remedy: str) -> NoReturn:
        """Refuse the file because of an item of `exercises`."""
        rows = self.path.read_text(encoding="utf-8").split("\n")
        head = next((n for n, row in enumerate(rows) if row.strip() == f"[{self.name}]"), 0)
        lines = [n for n in range(head, len(rows)) if json.dumps(words) in rows[n]]
        raise UsageError(f"{self.path}:{(lines or [head])[0] + 1}: {what}", remedy)

    def refuse_twice(self, ids: Iterable[tuple[str, str]]) -> None:
        """Refuse the file if it names a task twice. ids: (item of `exercises`, id of a task)."""
        counts = Counter(id for _, id in ids)
        for words, id in reversed(list(ids)):
            if counts[id] > 1:
                self.refuse(words, f"{id} is on the track {self.name} twice.", "Name it once.")


def read(path: Path) -> dict[str, Track]:
    """{name: Track} of a tracks.toml, {} where there is none. Raises UsageError with the line."""
    if not path.exists():
        return {}
    written = path.read_text(encoding="utf-8")
    tables = settings.parse(path, written, float)
    for name in tables:
        if not NAME.fullmatch(name) or name == WHOLE:
            rows = [n for n, row in enumerate(written.split("\n"), 1) if name in row]
            raise UsageError(
                f"{path}:{(rows or [1])[0]}: {name!r} is no name of a track.",
                f"It has small letters and -; {WHOLE!r} is every exercise and needs no table.",
            )
    form = {name: settings.table(settings.TRACK) for name in tables}
    values = settings.read(path, written, form)
    return {
        name: Track(path, name, row["title"], row["hours"], tuple(row["exercises"]))
        for name, row in values.items()
    }


def find(tracks: dict[str, Track], name: str) -> Track:
    """The track of that name. Raises UsageError with the others."""
    if name not in tracks:
        names = [*tracks, WHOLE]
        there = f"There are: {', '.join(names)}."
        close = suggest(name, names, "")
        raise UsageError(f"There is no track {name!r}.", f"{close} {there}".strip())
    return tracks[name]


def text_of(tracks: Iterable[Track], ids: Callable[[Track], dict[str, list[str]]]) -> str:
    """A tracks.toml with each task of these tracks by its name. ids: {lesson: names} of a track."""
    tables = (
        f"[{one.name}]\ntitle = {json.dumps(one.title, ensure_ascii=False)}\n"
        f"hours = {one.hours:g}\nexercises = [\n"
        + "".join(f'    "{lesson} {" ".join(names)}",\n' for lesson, names in ids(one).items())
        + "]\n"
        for one in tracks
    )
    return "\n".join(tables)


# The view of a lesson.


def view(
    chapter: Source, checks: Source, hints: str, keep: Collection[str]
) -> tuple[Source, Source, str]:
    """The texts of a lesson in which only the exercises and questions of `keep` are written.

    keep  ids; a lesson of which it names no exercise has no question
    """
    match = FOLDER.fullmatch(chapter.path.parent.name)
    lesson = match[2] if match else ""
    names = {cell.exercise for cell in chapter.cells if cell.exercise}
    given = {name for name in names if f"{lesson}-{name}" not in keep}
    asked = {cell.question for cell in chapter.cells if cell.question}
    dropped = {name for name in asked if names == given or f"{lesson}-{name}" not in keep}
    if not given and not dropped:
        return chapter, checks, hints
    tasks = set(_task_cells(chapter, given))

    def of_chapter(cell: Cell, rows: Rows) -> Rows:
        if cell.checks in given or cell.question in dropped:
            return []
        if cell.exercise in given:
            return _as_given(f"{lesson}-{cell.exercise}", cell, rows)
        return [TASK.sub("**Task, given.**", row) for row in rows] if cell in tasks else rows

    def of_checks(cell: Cell, rows: Rows) -> Rows:
        return [] if cell.title.partition(" ")[0] in given else rows

    return (
        _edited(chapter, of_chapter),
        _edited(checks, of_checks),
        HINT.sub(lambda match: "" if match[1] in given else match[0], hints),
    )


def _task_cells(chapter: Source, given: Collection[str]) -> Iterable[Cell]:
    """The text cells with the tasks of given exercises."""
    task: Cell | None = None
    for cell in chapter.cells:
        if cell.kind == "markdown" and TASK.search(cell.source):
            task = cell
        if cell.exercise:
            if cell.exercise in given and task:
                yield task
            task = None


def _as_given(id: str, cell: Cell, rows: Rows) -> Rows:
    """The lines of an exercise's cell as given code."""
    head = re.sub(r"\bexercise=", "given=", rows[0], count=1)
    body = [row for row in rows[1:] if not MARK.match(row)]
    at = next((n for n, row in enumerate(body) if row.strip() and not row.startswith("#|")), 0)
    return [head, *body[:at], COMMENT.format(id), *body[at:]]


def _edited(source: Source, change: Callable[[Cell, Rows], Rows]) -> Source:
    """The source with other lines of its cells. Lines above its first cell stay."""
    lines = source.text.split("\n")
    starts = [max(cell.line - cell.gap - 1, 0) for cell in source.cells] + [len(lines)]
    rows = lines[: starts[0]]
    for cell, start, end in zip(source.cells, starts, starts[1:]):
        rows += change(cell, lines[start:end])
    return cells.parse(source.path, "\n".join(rows).rstrip("\n") + "\n")


def is_open(source: Source) -> dict[str, bool]:
    """{heading of a section: whether it is shown, where exercises are given}. Shown are sections
    with an exercise to write or a payoff, and those without any exercise beside one to write.
    """
    sections = list(sections_of(source))
    written = [[bool(cell.exercise) for cell in cells_ if _is_task(cell)] for _, cells_ in sections]
    if not any(map(any, written)):
        return {}
    shown: dict[str, bool] = {}
    for number, (heading, inside) in enumerate(sections):
        if not heading:
            continue
        if written[number]:
            is_near = any(written[number])
        else:
            above = [row[-1] for row in written[:number] if row][-1:]
            is_near = any(above + [row[0] for row in written[number:] if row][:1])
        is_payoff = any("payoff" in cell.tags for cell in inside)
        optional = heading.endswith("(optional)") and not any(written[number])
        shown[heading] = (is_near or is_payoff) and not optional
    return shown


def _is_task(cell: Cell) -> bool:
    return bool(cell.exercise or cell.given)


def sections_of(source: Source) -> Iterable[tuple[str, list[Cell]]]:
    """(its heading, its cells) of each `##` section; the first, with the opening, has none."""
    heading, inside = "", list[Cell]()
    for cell in source.cells:
        match = re.search(r"^## (.*)", cell.source, re.M) if cell.kind == "markdown" else None
        if match and not cell.question:
            yield heading, inside
            heading, inside = match[1].strip(), []
        inside.append(cell)
    yield heading, inside
