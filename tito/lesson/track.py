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
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from tito import settings
from tito.errors import UsageError, suggest
from tito.lesson import cells
from tito.lesson.cells import Cell, Source
from tito.lesson.lesson_format import HEADING, MARK, with_tasks

FILE, WHOLE = "tracks.toml", "whole"
NAME = re.compile(r"[a-z][a-z-]*")
COMMENT = "# Given on this track. To write it yourself: tito reset {}"
TASK = re.compile(r"\*\*Task( \(optional\))?\.\*\*")
GIVEN_TASK = "**Given. The task was:**"
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


def read(path: Path) -> dict[str, Track]:
    """{name: Track} of a tracks.toml, {} where there is none. Raises UsageError with the line."""
    if not path.exists():
        return {}
    written = path.read_text(encoding="utf-8")
    names = settings.parse(path, written, float)
    values = settings.read(path, written, {n: settings.table(settings.TRACK) for n in names})
    tracks = {
        name: Track(path, name, row["title"], row["hours"], tuple(row["exercises"]))
        for name, row in values.items()
    }
    for name, one in tracks.items():
        if not NAME.fullmatch(name) or name == WHOLE:
            remedy = f"It has small letters and -; {WHOLE!r} is every exercise and needs no table."
            one.refuse(name, f"{name!r} is no name of a track.", remedy)
    return tracks


def find(tracks: dict[str, Track], name: str) -> Track:
    """The track of that name. Raises UsageError with the others."""
    tracks = tracks | {WHOLE: Track(Path(), WHOLE, "", 0, ("0-9999",))}
    if name not in tracks:
        close, there = suggest(name, tracks, ""), f"There are: {', '.join(tracks)}."
        raise UsageError(f"There is no track {name!r}.", f"{close} {there}".strip())
    return tracks[name]


def text_of(tracks: Iterable[Track], lessons: Sequence[str]) -> str:
    """A tracks.toml for learners: lessons that hold no exercise but those of these tracks."""
    return "\n".join(
        f"[{one.name}]\ntitle = {json.dumps(one.title, ensure_ascii=False)}\n"
        f"hours = {one.hours:g}\nexercises = {json.dumps(lessons)}\n"
        for one in tracks
    )


# The view of a lesson.


def view(
    chapter: Source, checks: Source, hints: str, keep: Collection[str]
) -> tuple[Source, Source, str]:
    """The texts of a lesson in which only the exercises and questions of `keep` are written.

    keep  ids; a lesson of which it names no exercise has no question
    """
    lesson = chapter.path.parent.name.partition("_")[2]
    names = {cell.exercise for cell in chapter.cells if cell.exercise}
    given = {name for name in names if f"{lesson}-{name}" not in keep}
    asked = {cell.question for cell in chapter.cells if cell.question}
    dropped = {name for name in asked if names == given or f"{lesson}-{name}" not in keep}
    if not given and not dropped:
        return chapter, checks, hints
    tasks = {text for text, name in with_tasks(chapter) if name in given}

    def of_chapter(cell: Cell, rows: Rows) -> Rows:
        if cell.checks in given or cell.question in dropped:
            return []
        if cell.exercise in given:
            return _as_given(f"{lesson}-{cell.exercise}", cell, rows)
        return [TASK.sub(GIVEN_TASK, row) for row in rows] if cell in tasks else rows

    def of_checks(cell: Cell, rows: Rows) -> Rows:
        return [] if cell.title.partition(" ")[0] in given else rows

    return (
        _edited(chapter, of_chapter),
        _edited(checks, of_checks),
        HINT.sub(lambda match: "" if match[1] in given else match[0], hints),
    )


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


def closed_sections(source: Source) -> dict[str, list[str]]:
    """{heading of a section that is folded: the names of its given exercises}. Open are sections
    with an exercise to write or a payoff, and those without any exercise beside one to write.
    """
    sections = list(sections_of(source))
    written = [[bool(c.exercise) for c in row if c.exercise or c.given] for _, row in sections]
    closed: dict[str, list[str]] = {}
    for number, (heading, inside) in enumerate(sections):
        above = [row[-1] for row in written[:number] if row][-1:]
        beside = written[number] or above + [row[0] for row in written[number:] if row][:1]
        is_open = any(beside) or any("payoff" in cell.tags for cell in inside)
        if heading.endswith("(optional)") and not any(written[number]):
            is_open = False
        if heading and not is_open and any(map(any, written)):
            closed[heading] = [cell.given for cell in inside if cell.given]
    return closed


def sections_of(source: Source) -> Iterator[tuple[str, list[Cell]]]:
    """(its heading, its cells) of each `##` section; the first, with the opening, has none. A text
    cell in which a section begins is divided there.
    """
    heading, inside = "", list[Cell]()
    for cell in source.cells:
        match = HEADING.search(cell.source) if cell.kind == "markdown" else None
        if match and not cell.question:
            if above := cell.source[: match.start()].rstrip("\n"):
                inside.append(replace(cell, source=above))
            yield heading, inside
            heading, inside = match[1].strip(), []
            cell = replace(cell, source=cell.source[match.start() :])
        inside.append(cell)
    yield heading, inside
