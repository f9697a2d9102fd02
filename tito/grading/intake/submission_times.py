"""Find out when work arrived, from the collecting system or from the instructor's `--submitted`.

Some systems have the time in a table, in metadata or in names (see `lms/`), others only mark late
work. The time of a download or clone is not the time of arrival: it is saved as `fetched`, and only
used to sort the submissions of a learner. Times that a learner can set are not used.

`TimeTable` reads a table of times with a line for each learner.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path

from tito.csv_tables import decoded, table
from tito.errors import UsageError
from tito.grading.intake.time_columns import EMPTY, recognized, restored
from tito.grading.lms import SYSTEMS, read_name
from tito.grading.roster import ID, Learner, words_of
from tito.grading.submission import NOBODY, Arrived
from tito.grading.times import read_time

NAME_COLUMNS = ("name", "student")
ID_COLUMNS = ("email", "roster_identifier")


@dataclass(frozen=True)
class TimeLine:
    """A line of a table of times: `ids` casefolded, the system's `number`, the `name`'s words."""

    ids: frozenset[str]
    number: str
    name: str
    arrived: Arrived


class TimeTable:
    """A table of learners' times. Its lines can be found by the number that the system of the table
    put into the names of entries, by id and by name.
    """

    def __init__(self, system: str, lines: Iterable[TimeLine]) -> None:
        self.system = system
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
            entry = read_name(stem)
            written = entry.names[0] if entry and entry.is_certain else ""
            lines = self._of_name(learner.name if learner else written)
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
        """The lines with the number in the name of an entry."""
        entry = read_name(stem)
        is_known = entry and entry.system == self.system
        return self.by_number.get(entry.number, []) if entry and is_known else []

    def number(self, learner: Learner) -> str:
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
    """The TimeTable in the text of a CSV file: of a system, or one with ids and a column `arrived`
    or `submitted_at`.

    zone  of times that name none

    Raises UsageError with the line for what cannot be read.
    """
    written, rows = _rows(path, text)
    header, column, system = recognized(written, [row for _, row in rows])
    how = system if system and SYSTEMS[system].said else "--submitted"
    if column < 0:
        raise UsageError(
            f"{path}:1: there is no column of times. The columns are: "
            f"{', '.join(header) or 'none'}.",
            "Name it `arrived`, next to the learners' ids, as in the roster.",
        )
    lines, times = [], restored([row[column] for _, row in rows])
    for (number, row), text in zip(rows, times):
        arrived = NOBODY
        if text not in EMPTY:
            arrived = Arrived(read_time(text, zone, f"{path}:{number}: {header[column]}"), how)
        cells = dict(zip(reversed(header), reversed(row)))
        lines.append(_time_line(cells, arrived, _entry_numbers(system)))
    return TimeTable(system, lines)


def _rows(path: Path, text: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """(headers, [(line number, as many cells)])."""
    (_, written), *rows = table(path, text.lstrip("\ufeff"))
    size = len(written)
    return written, [(number, (row + [""] * size)[:size]) for number, row in rows]


def _time_line(cells: dict[str, str], arrived: Arrived, numbers: Sequence[str]) -> TimeLine:
    """numbers: columns of the numbers in the names of entries."""
    number = next((cells[name] for name in numbers if cells.get(name)), "")
    match = re.fullmatch(r"\D*(\d+)", number)
    ids = frozenset(
        value.casefold()
        for name, value in cells.items()
        if value and name not in numbers and (ID.fullmatch(name) or name in ID_COLUMNS)
    )
    name = next((cells[name] for name in NAME_COLUMNS if cells.get(name)), "")
    return TimeLine(ids, match[1] if match else "", "".join(words_of(name)), arrived)


def _entry_numbers(system: str) -> Sequence[str]:
    return SYSTEMS[system].entry_numbers if system else ()


def is_worksheet(text: str) -> bool:
    """Whether this text is a table of times with a system's numbers."""
    try:
        written, rows = _rows(Path(), text)
    except UsageError:  # its header may be enough, and the message comes when it is read
        written, rows = _rows(Path(), text.partition("\n")[0])
    return bool(_entry_numbers(recognized(written, [row for _, row in rows])[2]))


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
