"""Times as systems and people write them, and days of the calendar.

A time is in ISO 8601, or as systems of schools write it: with numbers alone, or with the name of a
month in one of eleven languages.
Where the clocks change, a local time is there twice, or not at all. A time of arrival is then the
earlier of the two that it can mean, and a deadline the later one.
"""

import re
import unicodedata
from datetime import datetime, timedelta, timezone, tzinfo

from tito.errors import UsageError

YEARS = range(1900, 9000)  # other years are typing mistakes, and no time zone can be applied to all
MONTHS = (  # one that a text begins is meant: Dec, Dez., déc.
    "january januar janner janvier enero gennaio janeiro januari stycznia ledna",
    "february februar feber fevrier febrero febbraio fevereiro februari lutego unora",
    "march marz mars marzo marco maart marts marca brezna",
    "april avril abril aprile kwietnia dubna",
    "may mai mayo maggio maio mei maj maja kvetna",
    "june juni juin junio giugno junho czerwca cervna",
    "july juli juillet julio luglio julho lipca cervence",
    "august aout agosto augustus augusti sierpnia srpna",
    "september septembre septiembre setiembre settembre setembro wrzesnia zari",
    "october oktober octobre octubre ottobre outubro pazdziernika rijna",
    "november novembre noviembre novembro listopada listopadu",
    "december dezember decembre diciembre dicembre dezembro grudnia prosince",
)
WEEKDAY, MONTH, DAY = r"(?:[^\W\d]+,? )??", r"(?P<month>[^\W\d]{3,})\.?", r"(?P<day>\d{1,2})"
CLOCK = r"(?P<hour>\d{1,2}) ?[:.h] ?(?P<minute>\d\d)(?: ?(?P<half>[ap])\.? ?m\.?)?"
NUMBER = r"(?P<month>\d{1,2})"
LOCAL_TIMES = (
    re.compile(rf"{WEEKDAY}{DAY}\.? (?:de )?{MONTH} (?:de )?(?P<year>\d{{4}}),? {CLOCK}"),
    re.compile(rf"{WEEKDAY}{MONTH} {DAY},? (?P<year>\d{{4}}),? {CLOCK}"),
    re.compile(rf"{WEEKDAY}{DAY}\. ?{NUMBER}\. ?(?P<year>\d{{4}}),? {CLOCK}"),
    re.compile(rf"(?P<year>\d{{4}})[^\d:]{{1,2}}{NUMBER}[^\d:]{{1,2}}{DAY}\D*? {CLOCK}"),
)


class MissingZone(ValueError):
    """A time without a zone."""


def parse_time(text: str, zone: tzinfo | None = None, latest: bool = False) -> datetime:
    """Parse a time. Returns it in UTC.

    zone    of a time that names none
    latest  whether it is a deadline, see `instant`

    Raises ValueError for text that is not a time, MissingZone if neither text nor `zone` has a
    zone.
    """
    text = " ".join(text.replace("\u202f", " ").split())
    try:
        when = datetime.fromisoformat(re.sub(r" (Z|UTC)$", "Z", text))
    except ValueError:
        when = _parse_local_time(text)
    if when.year not in YEARS:
        raise ValueError(text)
    if when.tzinfo is None and zone is None:
        raise MissingZone(text)
    return instant(when, zone, latest) if when.tzinfo is None else when.astimezone(timezone.utc)


def _parse_local_time(text: str) -> datetime:
    words = unicodedata.normalize("NFKD", text.casefold())
    words = "".join(c for c in words if not unicodedata.combining(c))
    match = next(filter(None, (form.fullmatch(words) for form in LOCAL_TIMES)), None)
    if not match:
        raise ValueError(text)
    named = match["month"]
    months = [number for number, names in enumerate(MONTHS, 1) if f" {named}" in f" {names}"]
    months = [int(named)] if named.isdecimal() else months
    if len(months) != 1:
        raise ValueError(text)
    hour = int(match["hour"])
    if half := match["half"]:
        if not 1 <= hour <= 12:
            raise ValueError(text)
        hour = hour % 12 + 12 * (half == "p")
    return datetime(int(match["year"]), months[0], int(match["day"]), hour, int(match["minute"]))


def read_time(text: str, zone: tzinfo | None, where: str, latest: bool = False) -> datetime:
    """Like `parse_time`, but raises UsageError with the place of the text."""
    try:
        return parse_time(text, zone, latest)
    except MissingZone:
        raise UsageError(
            f"{where} is {text[:60]!r}, which has no time zone.",
            'Set the time zone in tito.toml, under [grading]: zone = "Europe/Berlin"; or write it '
            "like this: 2026-12-01T23:59:00+01:00",
        ) from None
    except ValueError:
        raise UsageError(
            f"{where} is {text[:60]!r}, which is not a time in a known format.",
            "Write it like this: 2026-12-01T23:59:00+01:00.",
        ) from None


def instant(local: datetime, zone: tzinfo | None, latest: bool) -> datetime:
    """When the clocks of `zone` show the time `local`, in UTC. latest: the later of two times."""
    both = [local.replace(tzinfo=zone, fold=fold).astimezone(timezone.utc) for fold in (0, 1)]
    return max(both) if latest else min(both)


def days_later(when: datetime, days: int) -> datetime:
    """The same clock time so many days of the calendar later, in the time zone of `when`."""
    if not days:
        return when
    local = when.replace(tzinfo=None, fold=0) + timedelta(days=days)
    return instant(local, when.tzinfo, latest=True).astimezone(when.tzinfo)
