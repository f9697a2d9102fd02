"""When a submission arrived, and who says so. `intake/submission_times.py` reads it from what
collected the work; the gradebook keeps it.
"""

from dataclasses import dataclass
from datetime import datetime, timezone

SAID = {
    "moodle": "by Moodle's worksheet",
    "gradescope": "by Gradescope",
    "canvas": "by Canvas",
    "--submitted": "by --submitted",
}


@dataclass(frozen=True)
class Arrived:
    """When a lesson's file arrived, as far as anybody but its learner knows.

    when     the first time that the same bytes arrived, or None
    how      who says so, or who marked it: a key of SAID, "" for nobody
    late     the collector's mark: True late, False in time, None when there is none
    fetched  the file's own time, that of a download or clone
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
        """What puts the submissions of a lesson in order: the later, the greater."""
        when = self.latest or self.fetched or START
        return when, self.fetched or when


START = datetime(1, 1, 1, tzinfo=timezone.utc)
NOBODY = Arrived()


def merged(one: Arrived, other: Arrived) -> Arrived:
    """What two runs know of the same bytes. Which run was first does not matter.

    Handing a file in again makes it no later, and a mark of lateness is of one submission, so one
    that came in time counts. A known time counts rather than none.
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
