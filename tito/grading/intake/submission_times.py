"""When work arrived, as the system that collected it tells, or the instructor with `--submitted`.

Moodle's grading worksheet and Gradescope's metadata say when; Canvas knows whether it was late, and
not when. The time of a download or clone is no arrival: it is kept as `fetched`, and only puts
several submissions of one learner in order. What a learner can set is not read.

A time is written in ISO 8601, or as Moodle writes it in English. `TimeTable` reads a table of
times, one line for each learner.
"""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone, tzinfo
from pathlib import Path

from tito.errors import UsageError
from tito.grading.arrival import NOBODY, Arrived
from tito.grading.csv_tables import decoded, normalised, table
from tito.grading.roster import CANVAS, ID, MOODLE, Learner, words_of

TIME_COLUMNS = {  # {column: who says so, a key of arrival.SAID}
    "arrived": "--submitted",
    "pushed_at": "--submitted",
    "submitted_at": "--submitted",
    "submission_time": "gradescope",
    "last_modified_(submission)": "moodle",
}
NUMBER_COLUMNS = ("identifier", "id")  # of Moodle: "Participant 20001"
NAME_COLUMNS = ("name", "full_name", "student")
ID_COLUMNS = ("email", "email_address", "id_number", "github_username")
SURE = 3  # digits of a number that Canvas gave
MOODLE_TIMES = ("%A, %d %B %Y, %I:%M %p", "%A, %B %d, %Y, %I:%M %p")


class MissingZone(ValueError):
    """A time without a zone."""


def arrival_by_name(stem: str) -> Arrived:
    """What the name that a collector gave an entry says: Canvas puts LATE into it. That it did not
    is believed where the name is surely of Canvas's making: its numbers of files are long.
    """
    match = None if MOODLE.fullmatch(stem) else CANVAS.fullmatch(stem)
    if not match or (not match["late"] and len(match["file"]) < SURE):
        return NOBODY
    return Arrived(how="canvas", late=bool(match["late"]))


def parse_time(text: str, zone: tzinfo | None = None) -> datetime:
    """The time that `text` tells, in ISO 8601 or as Moodle's worksheet does, in UTC.

    zone  of a time that names none

    Raises ValueError for what is no time, MissingZone for one without a zone where none is given.
    """
    text = " ".join(text.replace("\u202f", " ").split())
    try:
        when = datetime.fromisoformat(re.sub(r" (Z|UTC)$", "Z", text))
    except ValueError:
        when = _parse_moodle_time(text)
    if when.tzinfo is None:
        if zone is None:
            raise MissingZone(text)
        when = when.replace(tzinfo=zone)
    try:
        return when.astimezone(timezone.utc)
    except OverflowError:
        raise ValueError(text) from None


def _parse_moodle_time(text: str) -> datetime:
    for form in MOODLE_TIMES:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    raise ValueError(text)


def read_time(text: str, zone: tzinfo | None, where: str) -> datetime:
    """As `parse_time`, with an error that says where the text is."""
    try:
        return parse_time(text, zone)
    except MissingZone:
        raise UsageError(
            f"{where} is {text[:60]!r}, which says no time zone.",
            'Say in tito.toml which is meant, under [grading]: zone = "Europe/Berlin"',
        ) from None
    except ValueError:
        raise UsageError(
            f"{where} is {text[:60]!r}, which is no time that is known here.",
            "Write it like this: 2026-12-01T23:59:00+01:00. Of Moodle, download the worksheet in "
            "English.",
        ) from None


@dataclass(frozen=True)
class TimeLine:
    """A line of a table of times: `ids` casefolded, `number` of Moodle, `name` as joined words."""

    ids: frozenset[str]
    number: str
    name: str
    arrived: Arrived


class TimeTable:
    """A table of times, and whose they are: its lines by Moodle's number, by id and by name, since
    each entry of a class asks for its own.
    """

    def __init__(self, lines: Iterable[TimeLine]) -> None:
        self.by_number: dict[str, list[TimeLine]] = {}
        self.by_id: dict[str, list[TimeLine]] = {}
        self.by_name: dict[str, list[TimeLine]] = {}
        for line in lines:
            self.by_number.setdefault(line.number, []).append(line)
            self.by_name.setdefault(line.name, []).append(line)
            for value in line.ids:
                self.by_id.setdefault(value, []).append(line)
        self.longest = max(map(len, self.by_id), default=0)

    def arrival(self, stem: str, learner: Learner | None = None) -> Arrived:
        """What the table says of the entry called `stem`, of this Learner where one is known.

        Where it has several times of one learner (pushes), the last: what was fetched is the work
        as it then was.
        """
        ids = ids_of(learner) if learner else set()
        lines = self._numbered(stem) or [line for name in ids for line in self.by_id.get(name, ())]
        if not lines and (not learner or stem.casefold() in ids):
            lines = self._with_id_at_end(stem.casefold())
        if not lines:
            scheme = MOODLE.fullmatch(stem)
            full_name = learner.name if learner else scheme["name"] if scheme else ""
            name = "".join(words_of(full_name))
            same = self.by_name.get(name, []) if name else []
            lines = same if len({line.ids for line in same}) == 1 else []
        arrivals = [line.arrived for line in lines]
        return max(arrivals, key=lambda arrived: arrived.order, default=NOBODY)

    def _with_id_at_end(self, stem: str) -> list[TimeLine]:
        """The lines whose id the name of an entry is, or ends with, as those of clones do. A short
        number at its end is a count.
        """
        for start in range(max(0, len(stem) - self.longest), len(stem)):
            if start and stem[start - 1].isalnum():
                continue
            end = stem[start:]
            if end in self.by_id and not (start and end.isdigit() and len(end) <= 3):
                return self.by_id[end]
        return []

    def _numbered(self, stem: str) -> list[TimeLine]:
        """The lines with the number that Moodle put into the name of an entry."""
        scheme = MOODLE.fullmatch(stem)
        return self.by_number.get(scheme["id"], []) if scheme else []

    def ids(self, stem: str) -> frozenset[str]:
        """The ids of whose work the entry called `stem` is, where the table has the number in it:
        two of one name are told apart by it.
        """
        return frozenset[str]().union(*(line.ids for line in self._numbered(stem)))


def ids_of(learner: Learner) -> set[str]:
    columns = learner.columns | {"student": learner.student, "email": learner.email}
    return {
        value.casefold()
        for column, value in columns.items()
        if value and (ID.fullmatch(column) or column in ID_COLUMNS)
    }


def read_time_table(path: Path, text: str, zone: tzinfo | None) -> TimeTable:
    """The TimeTable in the text of a CSV file: Moodle's grading worksheet, Gradescope's table of
    grades, or one with ids and a column `arrived`, `submitted_at` or `pushed_at`.

    zone  that its times are in, where they name none; Moodle's never do

    Raises UsageError with the line for what cannot be read.
    """
    (_, written), *rows = table(path, text.lstrip("\ufeff"))
    header = [normalised(name) for name in written]
    column = _time_column(header)
    if column is None:
        raise UsageError(
            f"{path}:1: there is no column of times; there are: {', '.join(header) or 'none'}.",
            "Name it `arrived`, next to the learners' ids, as in the roster.",
        )
    lines = []
    for number, row in rows:
        cells = dict(zip(header, row))
        if cells.get(column, "") not in ("", "-"):
            lines.append(_time_line(cells, column, zone, f"{path}:{number}: {column}"))
    return TimeTable(lines)


def _time_line(cells: dict[str, str], column: str, zone: tzinfo | None, where: str) -> TimeLine:
    how = TIME_COLUMNS[column]
    numbers = NUMBER_COLUMNS if how == "moodle" else ()  # nobody's id but Moodle's
    number = next((cells[name] for name in numbers if cells.get(name)), "")
    match = re.fullmatch(r"\D*(\d+)", number)
    ids = frozenset(
        value.casefold()
        for name, value in cells.items()
        if value and name not in numbers and (ID.fullmatch(name) or name in ID_COLUMNS)
    )
    name = next((cells[name] for name in NAME_COLUMNS if cells.get(name)), "")
    arrived = Arrived(read_time(cells[column], zone, where), how)
    return TimeLine(ids, match[1] if match else "", "".join(words_of(name)), arrived)


def _time_column(header: list[str]) -> str | None:
    return next((column for column in header if column in TIME_COLUMNS), None)


def is_worksheet(text: str) -> bool:
    """Whether this is the text of a grading worksheet of Moodle's, by its first line."""
    first = next(csv.reader(io.StringIO(text.lstrip("\ufeff").partition("\n")[0])), [])
    column = _time_column([normalised(name) for name in first])
    return column is not None and TIME_COLUMNS[column] == "moodle"


@dataclass(frozen=True)
class Submitted:
    """What the instructor says of when a batch of work arrived.

    table  a TimeTable, or None
    time   of all of which nobody says more, or None
    zone   of times that name none, or None
    """

    table: TimeTable | None = None
    time: datetime | None = None
    zone: tzinfo | None = None


def read_submitted(text: str | None, folder: Path, zone: tzinfo | None) -> Submitted:
    """What `--submitted` says: a time, or the name of a table below `folder`."""
    if text is None:
        return Submitted(zone=zone)
    path = folder / Path(text).expanduser()
    if path.suffix.lower() == ".csv" or path.is_file():
        return Submitted(read_time_table(path, decoded(path)[0], zone), zone=zone)
    return Submitted(time=read_time(text, zone, "--submitted"), zone=zone)
