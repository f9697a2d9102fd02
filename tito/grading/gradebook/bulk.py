"""Overrides, extensions and comments of many learners, from a table that somebody filled in.

A CSV file with a header; a line is about one learner, and may ask for several things at once:

    student   the learner's id
    lesson    its name or number; empty: all lessons (extensions), in general (comments)
    points    what the lesson, or the check, is set to; `lift` takes that back
    check     a check of the lesson, or a part of its id that no other has
    days, until   more time: so many days, or the new due date with its time zone; `lift`
    comment   what the learner will read
    why       the reason for points and time; a reason for the whole file stands in for empty cells

Empty cells ask for nothing. Other columns are left alone.
"""

import difflib
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tito.errors import TitoError, UsageError
from tito.grading.csv_tables import decoded, normalised, table

COLUMNS = ("student", "lesson", "check", "points", "days", "until", "comment", "why")
LIFT = "lift"


@dataclass(frozen=True)
class Wish:
    """One thing that a line asks for: kind override, extension or comment.

    where   file and line
    points  text; None lifts the override
    until, days   of an extension; neither takes it back
    """

    where: str
    kind: str
    student: str
    lesson: str | None
    why: str = ""
    points: str | None = None
    check: str | None = None
    until: datetime | None = None
    days: int | None = None
    text: str | None = None


def read(path: Path, name_of, why: str = "") -> list[Wish]:
    """The Wishes in a CSV file, written in any of the ways that `class_lists.read` knows.

    name_of  gives the name of the lesson that a text names; raises TitoError for others
    why      the reason where a line has none

    Raises TitoError, with the lines, for what cannot be read.
    """
    (_, written), *lines = table(path, decoded(path)[0])
    header = [normalised(name) for name in written]
    _check_header(path, header)
    wishes, asked, refused = [], {}, []
    for number, cells in lines:
        try:
            for wish in _wishes(f"{path}:{number}", dict(zip(header, cells)), name_of, why):
                _check_agrees(wish, asked)
                wishes.append(wish)
        except TitoError as error:
            refused.append(error)
    if len(refused) == 1:
        raise refused[0]
    refuse_lines([f"{error.what} {error.remedy}" for error in refused])
    if not wishes:
        raise UsageError(
            f"{path} asks for nothing.", "Fill in points, days, until or comment of a line."
        )
    return wishes


def _check_header(path, header):
    if "student" not in header or not {"points", "days", "until", "comment"} & set(header):
        raise UsageError(
            f"{path}:1: the columns are {', '.join(header) or 'none'}.",
            "There should be student, and points, days, until or comment; also lesson, check, why.",
        )
    for name in header:
        close = difflib.get_close_matches(name, COLUMNS, n=1, cutoff=0.8)
        if name in COLUMNS and header.count(name) > 1:
            raise UsageError(f"{path}:1: the column {name!r} is there twice.", "Delete one.")
        if name not in COLUMNS and close:
            raise UsageError(
                f"{path}:1: the column {name!r} means nothing here.", f"Did you mean {close[0]!r}?"
            )


def _check_agrees(wish, asked):
    """Raise TitoError where an earlier line asks for something else in the same place: then the
    order of the lines would decide a grade.

    asked  {place: (line, what it asks for)}, which is added to
    """
    place = (wish.kind, wish.student, wish.lesson, wish.check)
    what = wish.text is None if wish.kind == "comment" else (wish.points, wish.days, wish.until)
    where, other = asked.setdefault(place, (wish.where, what))
    if what != other:
        about = " ".join(filter(None, (wish.student, wish.lesson, wish.check)))
        raise UsageError(
            f"{wish.where}: another {wish.kind} of {about} than {where} asks for.",
            "Delete one of the two.",
        )


def _wishes(where, cells, name_of, why):
    """What one line asks for."""

    def get(name):
        return cells.get(name) or None

    def refuse(what, remedy):
        raise UsageError(f"{where}: {what}", remedy)

    if not get("student"):
        refuse("no student.", "Fill in the column `student`, or delete the line.")
    try:
        lesson = get("lesson") and name_of(get("lesson"))
    except TitoError as error:
        refuse(error.what, error.remedy)
    why = get("why") or why
    about, found = (get("student"), lesson), []
    if get("check") and not get("points"):
        refuse("a check, and no points.", "Fill in the column `points`.")
    if (get("points") or get("days") or get("until")) and not why:
        refuse("no reason is given.", "Fill in the column `why`, or give --why TEXT for all lines.")
    if points := get("points"):
        if not lesson:
            refuse("points, and no lesson.", "Fill in the column `lesson`.")
        points = None if points.lower() == LIFT else re.sub(r"^(\d+),(\d+)$", r"\1.\2", points)
        found.append(Wish(where, "override", *about, why, points=points, check=get("check")))
    if get("days") and get("until"):
        refuse("days and until contradict each other.", "Fill in one of the two.")
    if days := get("days"):
        if days.lower() != LIFT and not re.fullmatch(r"\d{1,4}", days):
            refuse(f"{days!r} is no number of days.", "Write 3, say.")
        days = None if days.lower() == LIFT else int(days)
        found.append(Wish(where, "extension", *about, why, days=days))
    if until := get("until"):
        try:
            moment = None if until.lower() == LIFT else datetime.fromisoformat(until)
        except ValueError:
            refuse(f"{until!r} is no time.", "Write it like this: 2026-12-05T23:59:00+01:00")
        found.append(Wish(where, "extension", *about, why, until=moment))
    if text := get("comment"):
        found.append(Wish(where, "comment", *about, text=None if text.lower() == LIFT else text))
    return found


def refuse_lines(refused: list[str]) -> None:
    """Raise the TitoError for lines of a table that cannot be done, if there are any: each with its
    place and the reason. Then none of the table is done.
    """
    if refused:
        raise UsageError(
            "\n      ".join(["Nothing was changed.", *refused[:20]])
            + f"\n      and {len(refused) - 20} more" * (len(refused) > 20),
            "Mend these lines, then run it again.",
        )
