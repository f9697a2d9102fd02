"""What grading again would change, before it counts: `tito grade --dry-run`, beside the page.

It runs as a process of its own, since it takes as long as grading does, and with the arguments that
one would type; what it prints is shown.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from tito.errors import UsageError

LONGEST = 4_000  # characters of what it says that are shown
PARTING = 10  # seconds that a run has to end when it is stopped
PROGRESS = re.compile(r"\d+ of \d+ submissions")  # how a line begins that says how far a run is


@dataclass
class Trial:
    """One run.

    lesson, check, who  what is graded, and who asked
    counts       whether its grades count: no dry run
    folder       holds what it writes, its standard output in `out` and its standard error in `err`
    differences  of a dry run that has ended, as `trial.Difference.as_json` gives them
    problem      why it failed, or ""
    stopper      who stopped it, or ""
    """

    lesson: str
    check: str
    who: str
    counts: bool
    began: datetime
    process: subprocess.Popen
    folder: tempfile.TemporaryDirectory
    ended: datetime | None = None
    differences: list[dict] = field(default_factory=list)
    problem: str = ""
    stopper: str = ""

    def look(self) -> None:
        """Read what it wrote, when it has ended."""
        code = self.process.poll()
        if code is None or self.ended:
            return
        self.ended = datetime.now(timezone.utc)
        said = self._written("err").strip()[-LONGEST:]
        if self.stopper:
            self.problem = ""
        elif code:
            self.problem = said or f"It ended with exit code {code}."
        elif not self.counts:
            try:
                self.differences = json.loads(self._written("out"))
            except ValueError:
                self.problem = said or "It printed no list of differences."
        self.folder.cleanup()

    def progress(self) -> str:
        """How far it is, in its own words, see `views.progress_line`; "" before it has said it."""
        if self.ended:
            return ""
        lines = [line for line in self._written("err").splitlines() if PROGRESS.match(line)]
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

    def _written(self, name):
        return (Path(self.folder.name) / name).read_text(encoding="utf-8", errors="replace")


class Trials:
    """The runs that this page starts, one at a time.

    submissions  the folder or zip that is graded, None: the page cannot grade
    options      of `tito grade`, with which the class is graded: other limits are other grades
    """

    def __init__(
        self,
        root: Path,
        gradebook: str,
        submissions: Path | None = None,
        options: Iterable[str] = (),
    ):
        self.root, self.gradebook, self.submissions = root, gradebook, submissions
        self.options = list(options)
        self.last: Trial | None = None
        self._lock = threading.Lock()

    def start(self, lesson: str, check: str, who: str, why: str | None = None) -> Trial:
        """Begin to grade a lesson, or one check of it. why: the reason, and the grades count;
        without one it is a dry run.

        Raises TitoError while another run goes on.
        """
        if not self.submissions:
            raise UsageError(
                "The page does not know where the submissions are.",
                "Start it with --submissions DIR.",
            )
        words = [str(self.submissions), lesson, "--root", str(self.root), "--json"]
        words += ["--gradebook", self.gradebook, *self.options]
        words += [f"--check={check}"] if check else []
        words += ["--dry-run"] if why is None else []
        with self._lock:
            if self.last:
                self.last.look()
                if not self.last.ended:
                    raise UsageError(
                        f"{self.last.who} grades {self.last.lesson} already.", "Wait until it ends."
                    )
            folder = tempfile.TemporaryDirectory(prefix="tito-grade-")
            with (Path(folder.name) / "out").open("wb") as out:
                with (Path(folder.name) / "err").open("wb") as err:
                    process = subprocess.Popen(
                        [sys.executable, "-m", "tito", "grade", *words],
                        cwd=self.root,
                        env=os.environ | {"LOGNAME": who},  # by whom, in the history
                        stdin=subprocess.DEVNULL,
                        stdout=out,
                        stderr=err,
                        start_new_session=True,
                    )
            now = datetime.now(timezone.utc)
            self.last = Trial(lesson, check, who, why is not None, now, process, folder)
            return self.last

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
