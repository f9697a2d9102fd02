"""When a submission arrived, and the source of that time.

`intake/submission_times.py` reads the time from the collecting system; the gradebook saves it.
"""

from dataclasses import dataclass
from datetime import datetime, timezone


@dataclass(frozen=True)
class Arrived:
    """When a lesson's file arrived. The learner cannot set these times.

    when     the first time that the same bytes arrived, or None
    how      the source of the time or mark: the name of a system, "--submitted", or ""
    late     the collector's mark: True late, False in time, None when there is none
    fetched  the modification time of the file, set by a download or clone
    latest   the last time that the same bytes arrived, or None
    """

    when: datetime | None = None
    how: str = ""
    late: bool | None = None
    fetched: datetime | None = None
    latest: datetime | None = None

    def __post_init__(self) -> None:
        if self.when and not self.latest:
            object.__setattr__(self, "latest", self.when)

    @property
    def order(self) -> tuple[datetime, datetime]:
        """A key to sort the submissions of a lesson by time."""
        when = self.latest or self.fetched or START
        return when, self.fetched or when


START = datetime(1, 1, 1, tzinfo=timezone.utc)
NOBODY = Arrived()


def merged(one: Arrived, other: Arrived) -> Arrived:
    """Merge what two runs know about the same file. The order of the runs does not matter.

    Handing in the same file again does not make it late: if one of its submissions was in time, it
    is in time. A known time is preferred to an unknown one.
    """
    known = [known for known in (one, other) if known.when]
    by_mark = sorted((one, other), key=lambda each: (each.late is not False, each.late is None))
    first = min(known, key=lambda each: (each.when, each.how)) if known else by_mark[0]
    marks = {one.late, other.late}
    return Arrived(
        first.when,
        first.how,
        False if False in marks else True if True in marks else None,
        min(filter(None, (one.fetched, other.fetched)), default=None),
        max(filter(None, (one.latest, other.latest)), default=None),
    )
