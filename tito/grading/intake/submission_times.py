"""When work arrived, and who says so.

Whoever collected the work knows: a roster, Moodle's grading worksheet, Gradescope's metadata, a
list of pushes, or the instructor (`--arrived`). Canvas knows whether it was late, and not when. The
time of a download or clone is no arrival: it is kept as `fetched`, and only puts several
submissions of one learner in order. What learners can set themselves (`Claim`s) counts where
`tito.toml` says so.

`Times` reads a table of times, one line for each learner: Moodle's grading worksheet, or any CSV
with a column of ids and one of times.
"""

import csv
import io
import re
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from tito.errors import UsageError
from tito.grading.arrival import NOBODY, TIME_COLUMNS, Arrived
from tito.grading.csv_tables import decoded, normalised, table
from tito.grading.roster import CANVAS, ID, MOODLE, words_of

NUMBER_COLUMNS = ("identifier", "id")  # of Moodle: "Participant 20001", "Teilnehmer/in20001"
NAME_COLUMNS = ("name", "full_name", "vollständiger_name", "student")
EMAIL_COLUMNS = ("email", "email_address", "e-mail-adresse")
ID_COLUMNS = ("id_number", "id-nummer", "github_username")
MONTHS = [
    "january januar",
    "february februar",
    "march märz maerz",
    "april",
    "may mai",
    "june juni",
    "july juli",
    "august",
    "september",
    "october oktober",
    "november",
    "december dezember",
]
MONTH = {name: number for number, names in enumerate(MONTHS, 1) for name in names.split()}
SURE = 3  # digits of a number that Canvas gave
CLOCK = r",?\s+(?P<hour>\d\d?)[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?(?:\s*(?P<half>[AP]M))?"
IN_WORDS = (
    r"(?:\w+,\s*)?(?P<day>\d\d?)\.?\s+(?P<month>\w+)\s+(?P<year>\d{4})" + CLOCK,
    r"(?:\w+,\s*)?(?P<month>\w+)\s+(?P<day>\d\d?),?\s+(?P<year>\d{4})" + CLOCK,
)


def by_name(stem):
    """What the name that a collector gave an entry says: Canvas puts LATE into it. That it did not
    is believed where the name is surely of Canvas's making: its numbers of files are long.
    """
    if MOODLE.fullmatch(stem) or not (found := CANVAS.fullmatch(stem)):
        return NOBODY
    if not found["late"] and len(found["file"]) < SURE:
        return NOBODY
    return Arrived(how="canvas", late=bool(found["late"]))


def parse_time(text, zone=None):
    """The time that `text` tells: as ISO 8601, or in words as Moodle writes it in English and
    German.

    zone  of a time that names none

    Raises ValueError for what is no time, MissingZone for one without a zone where none is given.
    """
    text = " ".join(text.replace("\u202f", " ").split())
    try:
        when = datetime.fromisoformat(re.sub(r" (Z|UTC)$", "Z", text))
    except ValueError:
        when = _in_words(text)
    if when.tzinfo is None:
        if zone is None:
            raise MissingZone(text)
        when = when.replace(tzinfo=zone)
    try:
        return when.astimezone(timezone.utc)
    except OverflowError:
        raise ValueError(text) from None


class MissingZone(ValueError):
    """A time without a zone."""


def _in_words(text):
    for form in IN_WORDS:
        found = re.fullmatch(form, text, re.I)
        if found and found["month"].casefold() in MONTH:
            hour = int(found["hour"])
            if half := (found["half"] or "").upper():
                if not 1 <= hour <= 12:
                    break
                hour = hour % 12 + 12 * (half == "PM")
            return datetime(
                int(found["year"]),
                MONTH[found["month"].casefold()],
                int(found["day"]),
                hour,
                int(found["minute"]),
                int(found["second"] or 0),
            )
    raise ValueError(text)


def read_time(text, zone, where):
    """As `parse_time`, with a TitoError that says where it stands."""
    try:
        return parse_time(text, zone)
    except MissingZone:
        raise UsageError(
            f"{where} is {text[:60]!r}, which says no time zone.",
            'Say in tito.toml which is meant, under [late]: zone = "Europe/Berlin"',
        ) from None
    except ValueError:
        raise UsageError(
            f"{where} is {text[:60]!r}, which is no time that is known here.",
            "Write it like this: 2026-12-01T23:59:00+01:00",
        ) from None


@dataclass(frozen=True)
class Line:
    """A line of a table of times: `ids` casefolded, `number` of Moodle, `name` as joined words."""

    ids: frozenset
    number: str
    name: str
    arrived: Arrived


class Times:
    """A table of times, and whose they are: its Lines by Moodle's number, by id and by name, since
    each entry of a class asks for its own.
    """

    def __init__(self, lines):
        self.by_number, self.by_id, self.by_name = {}, {}, {}
        for line in lines:
            self.by_number.setdefault(line.number, []).append(line)
            self.by_name.setdefault(line.name, []).append(line)
            for one in line.ids:
                self.by_id.setdefault(one, []).append(line)
        self.longest = max(map(len, self.by_id), default=0)

    def of(self, stem, learner=None):
        """What the table says of the entry called `stem`, of this Learner where one is known.

        Where it has several times of one learner (pushes), the last: what was fetched is the work
        as it then was.
        """
        scheme = MOODLE.fullmatch(stem)
        found = self._numbered(scheme)
        ids = ids_of(learner) if learner else set()
        if not found:
            found = [line for one in ids for line in self.by_id.get(one, ())]
        if not found and (not learner or stem.casefold() in ids):
            found = self._named(stem.casefold())
        if not found:
            name = "".join(words_of(learner.name if learner else scheme["name"] if scheme else ""))
            same = self.by_name.get(name, []) if name else []
            found = same if len({line.ids for line in same}) == 1 else []
        return max((line.arrived for line in found), key=lambda one: one.when, default=NOBODY)

    def _named(self, stem):
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

    def _numbered(self, scheme):
        """The lines with the number in this match of MOODLE, which may be None."""
        return self.by_number.get(scheme["id"], []) if scheme else []

    def ids(self, stem):
        """The ids of whose work the entry called `stem` is, where the table has the number in it:
        two of one name are told apart by it.
        """
        return frozenset().union(*(line.ids for line in self._numbered(MOODLE.fullmatch(stem))))


def ids_of(learner):
    columns = learner.columns | {"student": learner.student, "email": learner.email}
    return {
        value.casefold()
        for column, value in columns.items()
        if value and (ID.fullmatch(column) or column in (*EMAIL_COLUMNS, *ID_COLUMNS))
    }


def time_column(header):
    """Of these normalised headers, the one of the times, or None."""
    return next((column for column in header if column in TIME_COLUMNS), None)


def read_times(path, zone=None):
    """The Times in a CSV file: Moodle's grading worksheet, or one with ids and a column `arrived`
    or `pushed_at`.

    zone  that its times are in, where they name none; Moodle's never do

    Raises TitoError with the line for what cannot be read.
    """
    return Times(_lines(path, decoded(path)[0], zone))


def is_worksheet(text):
    """Whether this is the text of a grading worksheet of Moodle's, by its first line."""
    first = next(csv.reader(io.StringIO(text.lstrip("\ufeff").partition("\n")[0])), [])
    return TIME_COLUMNS.get(time_column([normalised(name) for name in first])) == "moodle"


def worksheet(path, text, zone):
    """The Times of a worksheet that lies among the submissions."""
    return Times(_lines(path, text.lstrip("\ufeff"), zone))


def _lines(path, text, zone):
    (_, written), *rows = table(path, text)
    header = [normalised(name) for name in written]
    column = time_column(header)
    is_moodle = TIME_COLUMNS.get(column) == "moodle"
    if column is None:
        raise UsageError(
            f"{path}:1: there is no column of times; there are: {', '.join(header) or 'none'}.",
            "Name it `arrived`; beside it stand the learners' ids, as in the roster.",
        )
    lines = []
    for line, row in rows:
        cells = dict(zip(header, row))
        text = cells.get(column, "")
        if text in ("", "-"):
            continue
        when = read_time(text, zone, f"{path}:{line}: {column}")
        number = next((cells[name] for name in NUMBER_COLUMNS if cells.get(name)), "")
        number = re.fullmatch(r"\D*(\d+)", number)
        ids = {
            value.casefold()
            for name, value in cells.items()
            if value and (ID.fullmatch(name) or name in (*EMAIL_COLUMNS, *ID_COLUMNS))
            if not (is_moodle and name in NUMBER_COLUMNS)  # nobody's id but Moodle's
        }
        name = next((cells[name] for name in NAME_COLUMNS if cells.get(name)), "")
        lines.append(
            Line(
                frozenset(ids),
                number[1] if number else "",
                "".join(words_of(name)),
                Arrived(when, TIME_COLUMNS[column]),
            )
        )
    return lines


def of_roster(learner, lesson, zone):
    """What the roster says of a learner's lesson, or None: `arrived_LESSON` before `arrived`,
    before the time in Moodle's worksheet.
    """
    columns = learner.columns
    for column, how in [(f"arrived_{lesson}", "roster"), *TIME_COLUMNS.items()]:
        text = columns.get(column, "")
        if text in ("", "-"):
            continue
        where = f"roster: {column} of {learner.student}"
        # As ever, `arrived` without an offset is UTC, if tito.toml names no zone.
        fallback = zone or (timezone.utc if column == "arrived" else None)
        when = read_time(text, fallback, where)
        return Arrived(when, "moodle" if how == "moodle" else "roster")
    return None


def with_fetched(arrived, fetched):
    return replace(arrived, fetched=fetched)
