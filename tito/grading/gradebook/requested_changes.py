"""Read the changes that an instructor requests: points, extensions and comments, from options or
from a table. `changes.py` makes them.

A table is a CSV file with a header. A line is about one learner, and may request several changes:

    student   the learner's id
    lesson    its name or number; empty: all lessons (more time), in general (comments)
    points    what the lesson, or the check, is set to; `lift` takes that back
    check     a check of the lesson, or a part of its id that no other has; or a question
    extend    more time: so many days, or the new due date, in the course's time zone where it
              names none; `lift`
    comment   what the learner will read; `lift` takes all comments on the lesson back
    why       the reason for points and time; --why fills empty cells

Empty cells change nothing. Other columns are ignored.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from tito.csv_tables import decoded, normalised, table
from tito.errors import TitoError, UsageError
from tito.grading.gradebook import late
from tito.grading.gradebook.tables import CUT, clean
from tito.grading.times import MissingZone, parse_time

COLUMNS = ("student", "lesson", "check", "points", "extend", "comment", "why")
ASKING = ("points", "extend", "comment")  # columns that request a change
LIFT = "lift"


@dataclass(frozen=True)
class RequestedChange:
    """One requested change.

    kind     "override", "extension" or "comment"
    lesson   None: all lessons, or in general
    check    of an override, or the question whose answer it judges; of a comment, the exercise or
             question that it is about; or None
    points   of an override, None lifts it
    extension  None takes it back
    text     of a comment, None takes those back
    answer   the SHA-256 of the answer that the person has read; None: whatever counts now
    where    file and line, or ""
    """

    kind: str
    student: str
    lesson: str | None
    why: str = ""
    check: str | None = None
    points: Decimal | None = None
    extension: late.Extension | None = None
    text: str | None = None
    where: str = ""
    answer: str | None = None

    @property
    def wanted(self) -> tuple[object, ...]:
        """The values to set, without the reason."""
        return self.points, self.extension, self.text


def read_changes(
    path: Path, name_of: Callable[[str], str], why: str = "", zone: tzinfo | None = None
) -> list[RequestedChange]:
    """The changes in a table.

    name_of  gives the name of the lesson that a text names; raises UsageError for others
    why      the reason where a line has none
    zone     of times that name none

    Raises UsageError, with the lines, for what cannot be read.
    """
    changes: list[RequestedChange] = []
    refused: list[TitoError] = []
    places: dict[tuple[object, ...], RequestedChange] = {}
    for where, cells in _lines(path):
        try:
            for change in requested(cells, name_of, why, zone, where):
                _check_agrees(change, places)
                changes.append(change)
        except TitoError as error:
            refused.append(error)
    if len(refused) == 1:
        raise refused[0]
    refuse_lines([f"{error.what} {error.remedy}" for error in refused])
    if not changes:
        raise UsageError(f"{path} asks for nothing.", f"Fill in one of: {', '.join(ASKING)}.")
    return changes


def requested(
    cells: Mapping[str, str | None],
    name_of: Callable[[str], str],
    why: str = "",
    zone: tzinfo | None = None,
    where: str = "",
) -> list[RequestedChange]:
    """What one line asks for; `cells` by column. where: file and line."""
    line = _Line({name: text for name, text in cells.items() if text}, where, zone)
    try:
        lesson = name_of(line.cells["lesson"]) if "lesson" in line.cells else None
    except TitoError as error:
        line.refuse(error.what, error.remedy)
    about: dict[str, Any] = {"lesson": lesson, "why": line.get("why") or why, "where": where}
    student = line.get("student")
    if not student:
        line.refuse("no student.", "Fill in the column `student`, or delete the line.")
    parts = [*line.override(), *line.extension(), *line.comment()]
    changes = [RequestedChange(student=student, **about, **part) for part in parts]
    if line.get("check") and not line.get("points"):
        line.refuse("a check, and no points.", "Give the points as well, or leave out the check.")
    if line.get("points") and not lesson:
        line.refuse("points, and no lesson.", "Name the lesson.")
    if (line.get("points") or line.get("extend")) and not about["why"]:
        line.refuse("no reason is given.", "Give it: --why TEXT, or in the column `why`.")
    return changes


class _Line:
    """One line of a table. Each method gives arguments of a RequestedChange."""

    def __init__(self, cells: dict[str, str], where: str, zone: tzinfo | None) -> None:
        self.cells, self.where, self.zone = cells, where, zone

    def get(self, name: str) -> str:
        return self.cells.get(name, "").strip()

    def lifts(self, name: str) -> bool:
        return self.get(name).lower() == LIFT

    def refuse(self, what: str, remedy: str) -> NoReturn:
        raise UsageError(
            f"{self.where}: {what}" if self.where else what[:1].upper() + what[1:], remedy
        )

    def number(self, name: str) -> Decimal:
        """The points in a cell, with a point or a comma; may be negative."""
        text = self.get(name) or "0"
        try:
            return late.points_of(text)
        except ValueError:
            self.refuse(f"{text!r} is no number of points.", "Write 7 or 7.5, say.")

    def short(self, name: str) -> str:
        text = self.get(name)
        if len(text) > CUT:
            self.refuse(f"{name} has {len(text):,} characters.", f"{CUT:,} are kept: shorten it.")
        return clean(text)

    def override(self) -> list[dict[str, Any]]:
        if not self.get("points"):
            return []
        points = None if self.lifts("points") else self.number("points")
        return [{"kind": "override", "points": points, "check": self.get("check") or None}]

    def extension(self) -> list[dict[str, Any]]:
        text = self.get("extend")
        if not text:
            return []
        if self.lifts("extend"):
            return [{"kind": "extension"}]
        if re.fullmatch(r"[0-9]{1,4}", text):
            if not 1 <= int(text) <= 1000:
                self.refuse(f"more time by {text} days.", "Give between 1 and 1000 days.")
            return [{"kind": "extension", "extension": late.Extension(days=int(text))}]
        if re.fullmatch(r"\d{4}-?\d\d-?\d\d", text):  # midnight would be the end of the day before
            self.refuse(f"{text} is a day without a time.", "Add the time: 2026-12-05T23:59")
        try:
            until = parse_time(text, self.zone, latest=True)
        except MissingZone:
            self.refuse(
                f"{text} has no time zone.",
                "Write it like this: 2026-12-05T23:59+01:00; or set it in tito.toml, under "
                '[grading]: zone = "Europe/Berlin"',
            )
        except ValueError:
            self.refuse(
                f"{text!r} is no number of days and no time.",
                "Write 3, or 2026-12-05T23:59:00+01:00",
            )
        return [{"kind": "extension", "extension": late.Extension(until)}]

    def comment(self) -> list[dict[str, Any]]:
        if not self.get("comment"):
            return []
        text = None if self.lifts("comment") else self.short("comment")
        return [{"kind": "comment", "text": text}]


def _lines(path: Path) -> list[tuple[str, dict[str, str]]]:
    """[(file and line, {column: text})] of a table."""
    (_, written), *rows = table(path, decoded(path)[0])
    header = [normalised(name) for name in written]
    _check_header(path, header)
    return [(f"{path}:{number}", dict(zip(header, cells))) for number, cells in rows]


def _check_header(path: Path, names: list[str]) -> None:
    if "student" not in names or not set(ASKING) & set(names):
        raise UsageError(
            f"{path}:1: the columns are {', '.join(names) or 'none'}.",
            f"There should be student, and one of {', '.join(ASKING)}.",
        )
    for name in names:
        close = difflib.get_close_matches(name, COLUMNS, n=1, cutoff=0.8)
        if name in COLUMNS and names.count(name) > 1:
            raise UsageError(f"{path}:1: the column {name!r} is there twice.", "Delete one.")
        if name not in COLUMNS and close:
            raise UsageError(
                f"{path}:1: the column {name!r} means nothing here.", f"Did you mean {close[0]!r}?"
            )


def _check_agrees(
    change: RequestedChange, places: dict[tuple[object, ...], RequestedChange]
) -> None:
    """Raise UsageError where an earlier line asks for something else in the same place: then the
    order of the lines would decide a grade. places: of the lines before, which is added to.
    """
    place = (change.kind, change.student, change.lesson, change.check)
    other = places.setdefault(place, change)
    both_comments = change.kind == "comment" and (change.text is None) == (other.text is None)
    if change.wanted != other.wanted and not both_comments:
        about = " ".join(filter(None, (change.student, change.lesson, change.check)))
        raise UsageError(
            f"{change.where}: another {change.kind} of {about} than {other.where} asks for.",
            "Delete one of the two.",
        )


def refuse_lines(refused: list[str]) -> None:
    """Raise the UsageError for lines of a table that cannot be done, if there are any: each with
    its place and the reason. Then none of the table is done.
    """
    if refused:
        raise UsageError(
            "\n      ".join(["Nothing was changed.", *refused[:20]])
            + f"\n      and {len(refused) - 20} more" * (len(refused) > 20),
            "Mend these lines, then run it again.",
        )
