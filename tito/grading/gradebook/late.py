"""The rules for late work in the course's `tito.toml`: which submission counts, and the penalty.

    [grading]
    policy = "latest"        # or "best", or "last-on-time": which of several submissions counts
    missing = "after due"    # after that, a missing lesson is exported as 0; before, as an empty
                             # cell. Or "zero" (always 0), or "empty"
    grace_minutes = 15       # lateness that costs nothing
    percent_per_day = 10     # of the points earned, per started day after the grace
    at_most_percent = 50     # however late (100 when left out)
    mark_percent = 20        # what a late mark without a time costs (0 when left out)
    zone = "Europe/Berlin"   # of days, and of times that name no zone, as in a worksheet

    [grading.due]
    tensor = 2026-12-01T23:59:00+01:00

A lesson without a due date is never late. A day is one of the calendar in `zone`: it ends at the
clock time of the due date, also when the clocks change; the grace follows. Without `zone` it is 24
hours. The arithmetic is decimal and exact; the result is rounded once, to 0.01 point, halves
upward. Points that were set by hand are final and not reduced.
"""

import re
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

from tito import settings
from tito.errors import TitoError, UsageError
from tito.grading.times import YEARS, days_later, instant
from tito.lesson.course import Root

CENT = Decimal("0.01")
WRITTEN = re.compile(r"[+-]?[0-9]{1,7}([.,][0-9]{1,9})?")  # a number of points
MOST = Decimal(settings.MOST)
PERCENT = ("percent_per_day", "at_most_percent", "mark_percent")


@dataclass(frozen=True)
class Rules:
    """The rules of a course. Without any, nothing is late.

    grace            timedelta after the due date that costs nothing
    percent_per_day  of the points earned, per started day
    at_most_percent  the most that lateness costs
    due              {lesson name: datetime in `zone`, or else in the time zone that it is given in}
    mark_percent     what the mark of a collector costs who gives no time
    zone             of days, and of times that name none; or None
    policy           of settings.POLICIES: which of several submissions of a lesson counts
    missing          of settings.MISSING: when a missing lesson is exported as 0
    checks_today     gives the hash of a lesson's checks today, "" where it is not known
    """

    grace: timedelta = timedelta()
    percent_per_day: Decimal = Decimal(0)
    at_most_percent: Decimal = Decimal(100)
    due: dict[str, datetime] = field(default_factory=dict)
    mark_percent: Decimal = Decimal(0)
    zone: tzinfo | None = None
    policy: str = settings.POLICIES[0]
    missing: str = settings.MISSING[0]
    checks_today: Callable[[str], str] = field(default=lambda lesson: "", compare=False)


@dataclass(frozen=True)
class Extension:
    """More time for one learner: a new due date (`until`, with a time zone) or some `days` more."""

    until: datetime | None = None
    days: int | None = None

    def applied(self, due: datetime) -> datetime:
        """The due date with this extension, which never makes it earlier."""
        until = self.until.astimezone(due.tzinfo) if self.until else days_later(due, self.days or 0)
        return max(due, until, key=datetime.timestamp)


def more_time(extension: Extension | None) -> str:
    """An extension in words; None takes it back."""
    if not extension:
        return "taken back"
    if extension.until:
        return f"until {extension.until:%Y-%m-%d %H:%M %Z}"
    return f"{extension.days} day{'s' * (extension.days != 1)}"


def read(root: Root) -> Rules:
    """The rules in a course's `tito.toml`. Raises UsageError for a setting that cannot work."""
    block = root.tables.get("grading", {})
    path = root.path / "tito.toml"
    zone = _zone(path, block.get("zone"))
    rules: dict[str, Any] = {key: Decimal(block[key]) for key in PERCENT if key in block}
    rules |= {key: block[key] for key in ("policy", "missing") if key in block}
    grace = timedelta(minutes=float(block.get("grace_minutes", 0)))
    return Rules(grace, due=_due(path, root, block.get("due", {}), zone), zone=zone, **rules)


def _zone(path: Path, value: str | None) -> tzinfo | None:
    if value is None:
        return None
    try:
        if value[:1] in ("+", "-"):
            return datetime.fromisoformat(f"2026-01-01T00:00:00{value}").tzinfo
        return zoneinfo.ZoneInfo(value)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise UsageError(
            f"{path}: [grading] zone is {value!r}, which this machine does not know.",
            'Write "Europe/Berlin", say (some systems need the package tzdata), or "+01:00".',
        ) from None


def _due(path: Path, root: Root, block: dict[str, Any], zone: tzinfo | None) -> dict[str, datetime]:
    dates: dict[str, datetime] = {}
    for key, when in block.items():
        try:
            name = root.lesson(key).name
        except TitoError as error:
            raise UsageError(
                f"{path}: [grading.due] names the lesson {key!r}, which is not in the course.",
                error.remedy,
            ) from None
        is_time = isinstance(when, datetime) and (when.tzinfo or zone) and when.year in YEARS
        if not is_time:
            raise UsageError(
                f"{path}: [grading.due] {key} is {when}, which is no time with a time zone.",
                f"Write it like this: {key} = 2026-12-01T23:59:00+01:00",
            )
        if name in dates:
            raise UsageError(
                f"{path}: [grading.due] names the lesson {name} twice.",
                "Keep one of the two lines.",
            )
        when = when if when.tzinfo else instant(when, zone, latest=True)
        dates[name] = when.astimezone(zone or when.tzinfo)
    return dates


def lateness(
    arrived: datetime | None,
    due: datetime | None,
    extension: Extension | None = None,
    grace: timedelta = timedelta(),
) -> int:
    """Days late: 0 in time, 1 from the first second after the grace, 2 from the second day on, ...
    A day is one of the calendar in the time zone of `due`.

    Without a due date or an arrival, 0: an unknown time costs nothing.
    """
    if arrived is None or due is None:
        return 0
    due = extension.applied(due) if extension else due
    late = arrived.astimezone(timezone.utc) - grace
    days = max(0, (late - due) // timedelta(days=1) - 1)  # a day may have 25 hours
    while late > days_later(due, days).astimezone(timezone.utc):
        days += 1
    return days


def percent(days: int, rules: Rules) -> Decimal:
    """The penalty for that many days, in percent."""
    return min(rules.at_most_percent, days * rules.percent_per_day)


def penalised(points: Decimal, percent: Decimal) -> Decimal:
    """`points` reduced by `percent`, rounded to 0.01 point."""
    return exact(Decimal(points) * (100 - percent) / 100)


def reason(days: int, percent: Decimal, how: str = "") -> str:
    """Lateness in words: "2 days late: -20 %", or "2 days late" where that costs nothing.

    how  who marked it late: "marked by NAME"; "" where the time is known

    Empty when it was in time.
    """
    if not (days or how):
        return ""
    words = f"{days} day{'s' * (days != 1)} late" if days else "late"
    return words + (f" ({how})" if how else "") + (f": -{shown(percent)} %" if percent else "")


def exact(points: Decimal | int | float | str) -> Decimal:
    """`points`, a number or text such as "7.5", as a Decimal of whole hundredths.

    Raises ValueError for anything else.
    """
    try:
        value = Decimal(points)
        if not abs(value) <= MOST:  # also for a text that is not a number
            raise ValueError(points)
        return tidy(value.quantize(CENT, ROUND_HALF_UP))
    except (ArithmeticError, TypeError):
        raise ValueError(points) from None


def points_of(text: str) -> Decimal:
    """The points that a person wrote: 7, 7.5, 7,25 or -0.5. Raises ValueError for other text."""
    if not WRITTEN.fullmatch(text):
        raise ValueError(text)
    return exact(text.replace(",", "."))


def tidy(value: Decimal) -> Decimal:
    """The same Decimal without zeros at its end: written 8 and 7.5, not 8.00 and 7.50."""
    return value.quantize(Decimal(1)) if value == value.to_integral_value() else value.normalize()


def shown(number: Decimal | int) -> str:
    return str(tidy(Decimal(number)))


def plain_number(points: Decimal | int) -> int | float:
    """`points` as JSON writes it: an integer where it is one, else a fraction."""
    return int(points) if points == int(points) else float(points)
