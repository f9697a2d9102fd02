"""What lateness costs: the rules in the course's `tito.toml`, and the arithmetic.

    [grading]
    grace_minutes = 15       # lateness that costs nothing
    percent_per_day = 10     # of the points earned, per started day after the grace
    at_most_percent = 50     # however late (100 when left out)

    [grading.due]
    tensor = 2026-12-01T23:59:00+01:00

    [late]
    mark = 20                # percent that a late mark without a time costs (0 when left out)
    claimed = ["commit"]     # times that learners can set count, where nobody knows better
    zone = "Europe/Berlin"   # of times that name none, as in Moodle's grading worksheet

    [resubmission]
    policy = "latest"        # or "best", or "last-on-time": which of several submissions counts

A lesson without a due date is never late. A day is 24 hours, counted from the end of the grace. The
arithmetic is exact (decimal, not binary, fractions); the points that remain are rounded once, to
0.01 point, half a hundredth upward. Points that were set by hand are final: nothing is taken from
them.
"""

import difflib
import tomllib
import zoneinfo
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone, tzinfo
from decimal import ROUND_HALF_UP, Decimal

from tito.errors import TitoError, UsageError

CENT = Decimal("0.01")
MOST = Decimal(
    1_000_000
)  # points of one lesson, minutes of grace, days of an extension: more is a slip of the finger
PERCENT = ("percent_per_day", "at_most_percent")
KEYS = ("grace_minutes", *PERCENT, "due")
LATE_KEYS = ("mark", "claimed", "zone")
CLAIMS = ("commit", "zip", "file")  # what learners can set: dates of commits, times in zips, ...
POLICIES = ("latest", "best", "last-on-time")


@dataclass(frozen=True)
class Rules:
    """The late rules of a course. Without any, nothing is late.

    grace            timedelta after the due date that costs nothing
    percent_per_day  of the points earned, per started day
    at_most_percent  the most that lateness costs
    due              {lesson name: datetime with a time zone}
    mark             percent that the mark of a collector costs who gives no time
    claimed          of CLAIMS, those that count where no collector knows more; the first first
    zone             of times that name none, or None
    policy           of POLICIES: which of several submissions of a lesson counts
    """

    grace: timedelta = timedelta()
    percent_per_day: Decimal = Decimal(0)
    at_most_percent: Decimal = Decimal(100)
    due: dict = field(default_factory=dict)
    mark: Decimal = Decimal(0)
    claimed: tuple = ()
    zone: tzinfo | None = None
    policy: str = "latest"


@dataclass(frozen=True)
class Extension:
    """More time for one learner: a new due date (`until`, with a time zone) or some `days` more."""

    until: datetime | None = None
    days: int | None = None

    def applied(self, due):
        """The due date with this extension. It never becomes an earlier one."""
        return max(due, self.until) if self.until else due + timedelta(days=self.days)


def read(root):
    """The rules in a course's `tito.toml`.

    Raises TitoError, with key and value, for what is not as shown above.
    """
    path = root.path / "tito.toml"
    text = tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=Decimal)
    block = _table(path, text, "grading", KEYS)
    numbers = {
        key: _number(path, f"[grading] {key}", block[key]) for key in KEYS[:-1] if key in block
    }
    for key in PERCENT:
        if numbers.get(key, 0) > 100:
            raise UsageError(
                f"{path}: [grading] {key} is {numbers[key]}.", "It should be between 0 and 100."
            )
    grace = timedelta(minutes=float(numbers.pop("grace_minutes", 0)))
    late = _table(path, text, "late", LATE_KEYS)
    mark = _number(path, "[late] mark", late.get("mark", 0))
    if mark > 100:
        raise UsageError(f"{path}: [late] mark is {mark}.", "It should be between 0 and 100.")
    policy = _table(path, text, "resubmission", ("policy",)).get("policy", POLICIES[0])
    if policy not in POLICIES:
        raise UsageError(
            f"{path}: [resubmission] policy is {policy!r}.", f"There are: {', '.join(POLICIES)}."
        )
    claimed, zone = _claimed(path, late.get("claimed", [])), _zone(path, late.get("zone"))
    if "zip" in claimed and zone is None:
        raise UsageError(
            f"{path}: [late] claimed has 'zip', and the times in a zip name no zone.",
            'Say under [late] which is meant: zone = "Europe/Berlin"',
        )
    due = _due(path, root, block.get("due", {}))
    return Rules(grace, **numbers, due=due, mark=mark, claimed=claimed, zone=zone, policy=policy)


def _table(path, text, name, keys):
    """The table `name` of tito.toml, which knows no other `keys`."""
    block = text.get(name, {})
    if not isinstance(block, dict):
        raise UsageError(f"{path}: {name} is {block!r}.", f"It should be a table: [{name}].")
    for key in block.keys() - set(keys):
        close = difflib.get_close_matches(key, keys, n=1)
        raise UsageError(
            f"{path}: [{name}] has {key!r}, which means nothing here.",
            f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(keys)}.",
        )
    return block


def _claimed(path, value):
    kinds = [value] if isinstance(value, str) else value
    if not isinstance(kinds, list) or any(kind not in CLAIMS for kind in kinds):
        raise UsageError(
            f"{path}: [late] claimed is {value!r}.",
            f"It is a list of some of these: {', '.join(CLAIMS)}.",
        )
    return tuple(kinds)


def _zone(path, value):
    if value is None:
        return None
    try:
        if value[:1] in ("+", "-"):
            return datetime.fromisoformat(f"2026-01-01T00:00:00{value}").tzinfo
        return zoneinfo.ZoneInfo(value)
    except (ValueError, TypeError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise UsageError(
            f"{path}: [late] zone is {value!r}, which this machine does not know.",
            'Write "Europe/Berlin", say (some systems need the package tzdata), or "+01:00".',
        ) from None


def _number(path, key, value):
    """`value` as a Decimal. key: as it is called in messages, `[grading] grace_minutes`."""
    is_number = (
        isinstance(value, (int, Decimal))
        and not isinstance(value, bool)
        and Decimal(value).is_finite()
    )
    if not (is_number and 0 <= value <= MOST):
        raise UsageError(
            f"{path}: {key} is {value!r}.", f"It should be a number between 0 and {MOST}."
        )
    return Decimal(value)


def _due(path, root, block):
    if not isinstance(block, dict):
        raise UsageError(
            f"{path}: [grading] due is {block!r}.",
            "It should be a table: [grading.due], then lines such as tensor = "
            "2026-12-01T23:59:00+01:00",
        )
    found = {}
    for key, when in block.items():
        try:
            name = root.lesson(key).name
        except TitoError as error:
            raise UsageError(
                f"{path}: [grading.due] names the lesson {key!r}, which is not in the course.",
                error.remedy,
            ) from None
        if not isinstance(when, datetime) or when.tzinfo is None:
            raise UsageError(
                f"{path}: [grading.due] {key} is {when}, which is no time with a time zone.",
                f"Write it like this: {key} = 2026-12-01T23:59:00+01:00",
            )
        if name in found:
            raise UsageError(
                f"{path}: [grading.due] names the lesson {name} twice.",
                "Keep one of the two lines.",
            )
        found[name] = when
    return found


def lateness(arrived, due, extension=None, grace=timedelta()):
    """Days late: 0 in time, 1 from the first second after the grace, 2 from the second day on, ...

    Without a due date or an arrival, 0: what nobody knows costs nothing.
    """
    if arrived is None or due is None:
        return 0
    late = arrived - (extension.applied(due) if extension else due) - grace
    return max(0, -(-late // timedelta(days=1)))


def percent(days, rules):
    """What that many days cost, in percent."""
    return min(rules.at_most_percent, days * rules.percent_per_day)


def penalised(points, percent):
    """What remains of `points` when `percent` of them are taken off, to 0.01 point."""
    return exact(Decimal(points) * (100 - percent) / 100)


def reason(days, percent, how=""):
    """Lateness in words: "2 days late: -20 %", or "2 days late" where that costs nothing.

    how  who says when it arrived, or that it was late: "marked by Canvas"

    Empty when it was in time.
    """
    if not (days or how.startswith("marked")):
        return ""
    words = f"{days} day{'s' * (days != 1)} late" if days else "late"
    return words + (f" ({how})" if how else "") + (f": -{shown(percent)} %" if percent else "")


def moment(text, zone):
    """A claimed time, as a lesson's result has it; without an offset it is in this zone. None for
    what is no time.
    """
    try:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=zone)).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


def exact(points):
    """`points`, a number or text such as "7.5", as a Decimal of whole hundredths.

    Raises ValueError for what is none.
    """
    try:
        value = Decimal(points)
        if not abs(value) <= MOST:  # also what is no number at all
            raise ValueError(points)
        return tidy(value.quantize(CENT, ROUND_HALF_UP))
    except (ArithmeticError, TypeError):
        raise ValueError(points) from None


def tidy(value):
    """The same Decimal without zeros at its end, so that it is written 8 and 7.5, not 8.00 and
    7.50.
    """
    return value.quantize(Decimal(1)) if value == value.to_integral_value() else value.normalize()


def shown(number):
    return str(tidy(Decimal(number)))


def plain_number(points):
    """`points` as JSON writes it: an integer where it is one, else a fraction."""
    return int(points) if points == int(points) else float(points)
