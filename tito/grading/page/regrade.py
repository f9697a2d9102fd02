"""Grading again from the page: what it would change, before it counts.

The run is a process beside the page, since it takes as long as grading does; what it prints is
shown.
"""

import json
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from tito.errors import UsageError

LONGEST = 4_000  # characters of what it says that are shown
PARTING = 10  # seconds that a run has to end when it is stopped
PROGRESS = re.compile(r"\d+ of \d+ submissions")  # how a line begins that says how far a run is


@dataclass(frozen=True)
class RegradeRequest:
    """What is graded again.

    check   a part of the name of the only check that is graded, or ""
    who     asked for it
    counts  whether its grades count; else nothing is written
    """

    lesson: str
    check: str
    who: str
    counts: bool


# Starts `tito grade`: its standard output goes into the folder's file `out`, its standard error
# into `err`.
StartGrading = Callable[[RegradeRequest, Path], "subprocess.Popen[bytes]"]


@dataclass
class RegradeRun:
    """One run.

    folder       holds what it writes
    differences  of a run that does not count, once it has ended: as `dry_run.Difference.as_json`
                 gives them
    problem      why it failed, or ""
    stopper      who stopped it, or ""
    """

    request: RegradeRequest
    began: datetime
    process: "subprocess.Popen[bytes]"
    folder: "tempfile.TemporaryDirectory[str]"
    ended: datetime | None = None
    differences: list[dict[str, Any]] = field(default_factory=list)
    problem: str = ""
    stopper: str = ""

    def look(self) -> None:
        """Read what it wrote, when it has ended."""
        code = self.process.poll()
        if code is None or self.ended:
            return
        self.ended = datetime.now(timezone.utc)
        words = self._read("err").strip()[-LONGEST:]
        if self.stopper:
            self.problem = ""
        elif code:
            self.problem = words or f"It ended with exit code {code}."
        elif not self.request.counts:
            try:
                self.differences = json.loads(self._read("out"))
            except ValueError:
                self.problem = words or "It printed no list of differences."
        self.folder.cleanup()

    def progress(self) -> str:
        """How far it is, in its own words; "" before it has said it."""
        if self.ended:
            return ""
        lines = [line for line in self._read("err").splitlines() if PROGRESS.match(line)]
        return lines[-1] if lines else ""

    def end(self) -> None:
        """End it, if it goes on. SIGTERM ends it as Ctrl-C does, which a process that was started
        in the background may ignore: it leaves no copy of the gradebook, and blames no submission.
        """
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(PARTING)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def _read(self, name: str) -> str:
        return (Path(self.folder.name) / name).read_text(encoding="utf-8", errors="replace")


class Regrading:
    """The runs that this page starts, one at a time.

    submissions  the folder or zip that is graded, None: the page cannot grade
    """

    def __init__(self, start: StartGrading, submissions: Path | None = None) -> None:
        self._start, self.submissions = start, submissions
        self.last: RegradeRun | None = None
        self._lock = threading.Lock()

    def start(self, request: RegradeRequest) -> None:
        """Raises UsageError while another run goes on."""
        if not self.submissions:
            raise UsageError(
                "The page does not know where the submissions are.",
                "Start it with --submissions DIR.",
            )
        with self._lock:
            if self.last:
                self.last.look()
                if not self.last.ended:
                    known = self.last.request
                    raise UsageError(
                        f"{known.who} grades {known.lesson} already.", "Wait until it ends."
                    )
            folder = tempfile.TemporaryDirectory(prefix="tito-grade-")
            process = self._start(request, Path(folder.name))
            self.last = RegradeRun(request, datetime.now(timezone.utc), process, folder)

    def stop(self, who: str) -> None:
        """End the run that goes on, since this grader wants it; what counts and is graded stays."""
        with self._lock:
            if self.last:
                self.last.look()
                if not self.last.ended:
                    self.last.stopper = who
                    self.last.end()

    def close(self) -> None:
        """End a run that goes on; what it has graded is kept, and the same run goes on later."""
        if self.last:
            self.last.end()
            self.last.look()
