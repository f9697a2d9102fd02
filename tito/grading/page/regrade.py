"""Grade again from the page: first a dry run that shows the changes, then a run that counts.

The run is a separate process, because grading takes long. The page shows its output.
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

LONGEST = 4_000  # characters of its output that are shown
PARTING = 10  # seconds that a run has to end when it is stopped
PROGRESS = re.compile(r"\d+ of \d+ submissions")  # the beginning of a line of progress


@dataclass(frozen=True)
class RegradeRequest:
    """A request to grade again.

    who     asked for it
    counts  whether its grades count; else nothing is written
    """

    lesson: str
    who: str
    counts: bool


# Starts `tito grade`: its standard output goes into the folder's file `out`, its standard error
# into `err`.
StartGrading = Callable[[RegradeRequest, Path], "subprocess.Popen[bytes]"]


@dataclass
class RegradeRun:
    """One run.

    folder       contains its output
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
        """Read its output after it has ended."""
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
        """Its last line of progress, or ""."""
        if self.ended:
            return ""
        lines = [line for line in self._read("err").splitlines() if PROGRESS.match(line)]
        return lines[-1] if lines else ""

    def end(self) -> None:
        """End it if it is running. SIGTERM ends it in the same way as Ctrl-C, which a background
        process may ignore: it deletes its copy of the gradebook, and no submission gets a bad mark.
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
                "The page was started without submissions.",
                "Start it again with --submissions DIR.",
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
        """End the current run for this grader. Grades that it has saved stay."""
        with self._lock:
            if self.last:
                self.last.look()
                if not self.last.ended:
                    self.last.stopper = who
                    self.last.end()

    def close(self) -> None:
        """End a current run. Its saved grades stay, and the same request continues it later."""
        if self.last:
            self.last.end()
            self.last.look()
