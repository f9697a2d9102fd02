"""Find out when work arrived, from the collecting system or from the instructor's `--submitted`.

Moodle's grading worksheet, Gradescope's metadata, GitHub Classroom's grades and the names of
Brightspace's folders have the time; Canvas only marks late work. The time of a download or clone is
not the time of arrival: it is saved as `fetched`, and only used to sort the submissions of a
learner. Times that a learner can set are not used.

`TimeTable` reads a table of times with a line for each learner.
"""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path

from tito.csv_tables import decoded, ours, table
from tito.errors import UsageError
from tito.grading.arrival import NOBODY, Arrived
from tito.grading.roster import (
    BRIGHTSPACE,
    CANVAS,
    ID,
    LONG,
    MOODLE,
    Learner,
    shown,
    words_of,
)
from tito.grading.times import read_time

TIME_COLUMNS = {  # {column: source of the time, a key of arrival.SAID}
    "arrived": "--submitted",
    "pushed_at": "--submitted",
    "submitted_at": "--submitted",
    "submission_timestamp": "--submitted",
    "submission_time": "gradescope",
}
# Of Moodle in English, German, French or Spanish: of the submission, not of its grade.
MODIFIED = re.compile(
    r"(last_modified|zuletzt_geändert|dernière_modification|última_modificación)_"
    r"\((?!grade|bewertung|note|évaluation|calificación)"
)
NUMBER_COLUMNS = ("identifier", "id")  # of Moodle: "Participant 20001"
NAME_COLUMNS = ("name", "student")
ID_COLUMNS = ("email", "roster_identifier")


def arrival_by_name(stem: str) -> Arrived:
    """The late mark in an entry's name. Canvas puts LATE into names. A name without LATE means in
    time only if it is certainly from Canvas, with its long numbers of files.
    """
    match = None if MOODLE.fullmatch(stem) else CANVAS.fullmatch(stem)
    if not match or (not match["late"] and len(match["file"]) < LONG):
        return NOBODY
    return Arrived(how="canvas", late=bool(match["late"]))


def brightspace_arrival(stem: str, zone: tzinfo | None) -> Arrived:
    """The local time that Brightspace wrote into an entry's name.

    Raises UsageError without a zone.
    """
    scheme = BRIGHTSPACE.fullmatch(stem)
    if not scheme:
        return NOBODY
    time = re.sub(r"(\d\d)( [AP]M)$", r":\1\2", scheme["time"])  # "1011 AM"
    return Arrived(read_time(time, zone, f"The time in {shown(stem, 80)}"), "brightspace")


@dataclass(frozen=True)
class TimeLine:
    """A line of a table of times: `ids` casefolded, `number` of Moodle, `name` as joined words."""

    ids: frozenset[str]
    number: str
    name: str
    arrived: Arrived


class TimeTable:
    """A table of learners' times. Its lines can be found by Moodle's number, by id and by name."""

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
        """The time of the entry called `stem`, of this Learner if known.

        If the table has several times of a learner (pushes), the last one, because a clone contains
        the work as it was then.
        """
        ids = ids_of(learner) if learner else set()
        lines = self._numbered(stem) or [line for name in ids for line in self.by_id.get(name, ())]
        if not lines and (not learner or stem.casefold() in ids):
            lines = self._with_id_at_end(stem.casefold())
        if not lines:
            scheme = MOODLE.fullmatch(stem)
            lines = self._of_name(learner.name if learner else scheme["name"] if scheme else "")
        arrivals = [line.arrived for line in lines]
        return max(arrivals, key=lambda arrived: arrived.order, default=NOBODY)

    def _with_id_at_end(self, stem: str) -> list[TimeLine]:
        """The lines whose id the entry's name equals or ends with, as names of clones do. A short
        number at the end is a count, not an id.
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

    def moodle_number(self, learner: Learner) -> str:
        """The learner's number, or ""."""
        lines = [line for text in ids_of(learner) for line in self.by_id.get(text, ())]
        lines = lines or self._of_name(learner.name)
        return next((line.number for line in lines if line.number), "")

    def _of_name(self, name: str) -> list[TimeLine]:
        """The lines with this name, unless they are of several learners."""
        same = self.by_name.get("".join(words_of(name)), []) if name else []
        return same if len({(line.ids, line.number) for line in same}) == 1 else []

    def ids(self, stem: str) -> frozenset[str]:
        """The ids of the learners for the entry called `stem`, if the table has the number in its
        name. The number distinguishes learners with the same name.
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

    zone  of times that name none; Moodle's never name one

    Raises UsageError with the line for what cannot be read.
    """
    (_, written), *rows = table(path, text.lstrip("\ufeff"))
    header = [ours(name) for name in written]
    column, how = _time_column(header)
    if not column:
        raise UsageError(
            f"{path}:1: there is no column of times. The columns are: "
            f"{', '.join(header) or 'none'}.",
            "Name it `arrived`, next to the learners' ids, as in the roster.",
        )
    lines = []
    for number, row in rows:
        cells = dict(zip(reversed(header), [""] * (len(header) - len(row)) + row[::-1]))
        text, arrived = cells.get(column, ""), NOBODY
        if text not in ("", "-"):
            arrived = Arrived(read_time(text, zone, f"{path}:{number}: {column}"), how)
        lines.append(_time_line(cells, arrived, NUMBER_COLUMNS if how == "moodle" else ()))
    return TimeTable(lines)


def _time_line(cells: dict[str, str], arrived: Arrived, numbers: tuple[str, ...]) -> TimeLine:
    """numbers: columns of Moodle's numbers."""
    number = next((cells[name] for name in numbers if cells.get(name)), "")
    match = re.fullmatch(r"\D*(\d+)", number)
    ids = frozenset(
        value.casefold()
        for name, value in cells.items()
        if value and name not in numbers and (ID.fullmatch(name) or name in ID_COLUMNS)
    )
    name = next((cells[name] for name in NAME_COLUMNS if cells.get(name)), "")
    return TimeLine(ids, match[1] if match else "", "".join(words_of(name)), arrived)


def _time_column(header: list[str]) -> tuple[str, str]:
    """(the first column of times, the source of these), "" without one."""
    sources = {column: "moodle" for column in header if MODIFIED.match(column)} | TIME_COLUMNS
    return next(((column, sources[column]) for column in header if column in sources), ("", ""))


def is_worksheet(text: str) -> bool:
    """Whether this is the text of a grading worksheet of Moodle's, by its first line."""
    first = next(csv.reader(io.StringIO(text.lstrip("\ufeff").partition("\n")[0])), [])
    return _time_column([ours(name) for name in first])[1] == "moodle"


@dataclass(frozen=True)
class Submitted:
    """When a batch of work arrived, according to the instructor.

    table  a TimeTable, or None
    time   of all work without a more specific time, or None
    zone   of times that name none, or None
    """

    table: TimeTable | None = None
    time: datetime | None = None
    zone: tzinfo | None = None


def read_submitted(text: str | None, folder: Path, zone: tzinfo | None) -> Submitted:
    """Parse `--submitted`: a time, or the path of a table, relative to `folder`."""
    if text is None:
        return Submitted(zone=zone)
    path = folder / Path(text).expanduser()
    if path.suffix.lower() == ".csv" or path.is_file():
        return Submitted(read_time_table(path, decoded(path)[0], zone), zone=zone)
    return Submitted(time=read_time(text, zone, "--submitted"), zone=zone)
