"""Which column of a table of times is which, and times as spreadsheet programs change them.

Most systems and the instructor's own tables are recognized by their headers. A system that writes
headers in the language of the person is also recognized by its cells: a column of distinct numbers
after the same word ("Participant 20001"), and columns of times.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone

from tito.csv_tables import ours
from tito.grading.lms import SYSTEMS
from tito.grading.times import parse_time

TIME_COLUMNS = ("arrived", "submitted_at")  # of the instructor's own tables
EMPTY = ("", "-")
FEWEST = 6  # columns of a table that is recognized by its cells
FIRST_DAY = datetime(1899, 12, 30)  # day 0 of spreadsheet programs
DAYS = re.compile(r"[45]\d{4}([.,]\d+)?")  # since then: 2009 to 2064
SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})(?=\D)")
AN_ID = re.compile(r".*([^\W\d]|\d{5}).*", re.S)  # not points, which may equal another's id

Columns = list[tuple[str, ...]]


def recognized(written: Sequence[str], rows: Iterable[Sequence[str]]) -> tuple[list[str], int, str]:
    """(our headers, the place of the column of times, the system that writes it); -1 without such a
    column, "" without a system. Rows as long as the headers.
    """
    header = [ours(name) for name in written]
    for place, column in enumerate(header):
        for name, system in SYSTEMS.items():
            if system.times and system.times.match(column):
                return header, place, name
        if column in TIME_COLUMNS:
            return header, place, ""
    columns = list(zip(*rows)) if len(header) >= FEWEST else []
    times = [place for place, cells in enumerate(columns) if _are_times(cells)]
    for name, system in SYSTEMS.items() if times else ():
        form = system.number_cells
        numbers = [place for place, cells in enumerate(columns) if _are_numbers(cells, form)]
        if numbers and (len(numbers) == 1 or numbers[0] == 0):
            header = [
                f"{place}_id" if _are_ids(cells) and place not in times else f"column {place}"
                for place, cells in enumerate(columns)
            ]
            header[numbers[0]] = system.entry_numbers[0]
            return header, _of_submission(columns, times), name
    return header, -1, ""


def restored(cells: Sequence[str]) -> list[str]:
    """The cells of a column of times: numbers of days become dates, and `12/31/2026` too, where the
    column says whether days or months come first.
    """
    dates = [match for cell in cells if (match := SLASHED.match(cell))]
    is_day, is_month = (any(int(date[n]) > 12 for date in dates) for n in (1, 2))
    form = r"\3-\2-\1" if is_day else r"\3-\1-\2"
    cells = [SLASHED.sub(form, cell) if is_day != is_month else cell for cell in cells]
    return [_of_days(cell) if DAYS.fullmatch(cell) else cell for cell in cells]


def _of_days(cell: str) -> str:
    return f"{FIRST_DAY + timedelta(seconds=round(86_400 * float(cell.replace(',', '.'))))}"


def _are_numbers(cells: Sequence[str], form: re.Pattern[str] | None) -> bool:
    """Whether all cells are distinct numbers of a system, after the same word."""
    if not (form and all(map(form.fullmatch, cells))):
        return False
    return len({cell.rstrip("0123456789") for cell in cells}) == 1 and len({*cells}) == len(cells)


def _are_ids(cells: Sequence[str]) -> bool:
    """Whether these tell lines apart, and are no points, which may equal another learner's id."""
    filled = [cell for cell in cells if cell]
    return len({*filled}) == len(filled) and all(map(AN_ID.fullmatch, filled))


def _are_times(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell not in EMPTY]
    return not all(map(str.isdecimal, filled)) and all(map(_when, restored(filled)))


def _when(cell: str) -> datetime | None:
    try:
        return parse_time(cell, timezone.utc)
    except ValueError:
        return None


def _of_submission(columns: Columns, times: Sequence[int]) -> int:
    """Which column has the times of submission: in most lines they are before those of grades."""
    lines = zip(*(map(_when, restored(columns[place])) for place in times))
    first = Counter(line.index(min(filter(None, line))) for line in lines if all(line))
    return times[max(range(len(times)), key=lambda number: first[number])]
