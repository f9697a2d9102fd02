"""The submission of a learner: its entries before they are opened, when they arrived, and the
lesson files in them.

`intake/collect.py` makes Submissions, `intake/open_submission.py` makes Contents of them.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from tito.lesson.cells import Cell, Source

ARCHIVE = re.compile(r"\.(zip|tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz))\Z", re.I)  # the end of a name
Order = tuple[datetime, datetime, list[tuple[int, int, str]]]


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


@dataclass(frozen=True)
class Upload:
    """One entry of the folder or zip of submissions.

    name     its name there
    path     the entry, or the zip of the class that holds it
    kind     "folder", "archive" or "file" (a script or notebook); "other" for any other file; "" if
             it is not read because of `problem`
    time     its modification time in UTC, set by a download or clone
    inside   whether `path` is the zip of the class
    arrived  when the collecting system received it
    keys     by which a gradebook keeps whose it is, see roster.entry_keys; () without an owner
    sure     whether more than a part of its name says whose it is
    group    whose work it is, or "": then each member has it
    """

    name: str
    path: Path
    kind: str
    time: datetime
    inside: bool = False
    problem: str = ""
    arrived: Arrived = NOBODY
    keys: tuple[str, ...] = ()
    sure: bool = True
    group: str = ""

    @property
    def stem(self) -> str:
        """Its name without the `.tar.gz` or `.py` at its end."""
        stem = re.sub(rf"{ARCHIVE.pattern}|\.(py|ipynb)\Z", "", self.name, flags=re.I)
        return stem if stem and self.kind != "folder" else self.name

    @property
    def order(self) -> Order:
        """A key to sort the uploads of a learner by time."""
        return self.arrived.when or self.time, self.time, natural_key(self.stem)


def natural_key(text: str) -> list[tuple[int, int, str]]:
    """A sort key: `ada` before `ada-2` before `ada-10`."""
    runs = re.findall(r"\d+|\D+", text.casefold())
    return [(0, int(run), "") if run.isdecimal() and len(run) < 19 else (1, 0, run) for run in runs]


@dataclass(frozen=True)
class Submission:
    """What one learner handed in, not opened yet.

    uploads  the earliest first; none: nothing was handed in
    notes    sentences for learner and instructor
    known    whether the roster has the learner, or there is no roster
    partial  whether later uploads of theirs were left out, see `rounds`
    """

    student: str
    name: str
    uploads: tuple[Upload, ...] = ()
    notes: tuple[str, ...] = ()
    known: bool = True
    partial: bool = False

    def arrival(self, upload: str) -> Arrived:
        """When the upload with this name arrived, or else the latest upload."""
        if not self.uploads:
            return NOBODY
        by_name = {part.name: part for part in self.uploads}
        chosen = by_name.get(upload, self.uploads[-1])
        return replace(chosen.arrived, fetched=chosen.time)

    def rounds(self) -> "Iterator[Submission]":
        """A Submission for each upload, graded with those before: the first, the first two, ..."""
        for number in range(1, len(self.uploads)):
            yield replace(self, uploads=self.uploads[:number], partial=True)
        yield self


@dataclass
class LessonFile:
    """The file of a lesson that counts.

    path     in the submission, as it can be shown
    raw      its bytes that count, see `archives.read_lesson`
    text     the same as text, ready for `cells.parse`
    source   its cells, None when there is a problem
    problem  a sentence when it cannot be read; then text is ""
    slow     whether the problem is that it takes too long to read
    sha256   of its bytes; that of no bytes when they could not be read
    entry    the name of the upload in which it came
    code     what a person is shown of it: a script as it is, of a notebook the cells in the same
             form, cut where they are long
    """

    path: str
    raw: bytes = b""
    text: str = ""
    source: Source | None = None
    is_notebook: bool = False
    problem: str = ""
    slow: bool = False
    sha256: str = hashlib.sha256().hexdigest()
    entry: str = ""
    code: str = ""

    def lines(self, cell: Cell) -> tuple[int, int]:
        """The first and the last line of a cell in `code`, from 1."""
        assert self.source
        length = cell.source.count("\n") + 1
        if not self.is_notebook:
            return max(1, cell.line - cell.gap), cell.line + length - 1
        above = self.source.cells[: self.source.cells.index(cell)]
        # of each cell its head, its lines, and an empty line
        first = 1 + sum(other.source.count("\n") + 3 for other in above)
        return first, first + length


@dataclass
class Contents:
    """The contents of a Submission: `files` by lesson name, and `notes` for the learner.

    If nothing could be read, `problem` says why; `slow`: because reading it takes too long;
    `strange`: because nothing in it is of a lesson.
    """

    student: str
    files: dict[str, LessonFile] = field(default_factory=dict)
    problem: str = ""
    notes: list[str] = field(default_factory=list)
    slow: bool = False
    strange: bool = False
