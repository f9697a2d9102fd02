"""What grading again would change, before it counts: `tito grade --dry-run`, beside the page.

It runs as a process of its own, since it takes as long as grading does, and with the arguments that
one would type; what it prints is shown.
"""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from tito.errors import TitoError

LONGEST = 4_000  # characters of what it says that are shown
PARTING = 10  # seconds that a run has to end when the page ends


@dataclass
class Trial:
    """One run.

    words        of `tito grade`, with what is graded
    counts       whether its grades count: no dry run
    differences  of a dry run that has ended, as `trial.Difference.as_json` gives them
    said         what it said besides; problem: why it failed, or ""
    """

    lesson: str
    check: str
    who: str
    counts: bool
    began: datetime
    process: subprocess.Popen
    out: object
    err: object
    ended: datetime | None = None
    differences: list[dict] = field(default_factory=list)
    said: str = ""
    problem: str = ""

    def look(self) -> None:
        """Read what it said, when it has ended."""
        code = self.process.poll()
        if code is None or self.ended:
            return
        self.ended = datetime.now(timezone.utc)
        self.out.seek(0)
        self.err.seek(0)
        self.said = self.err.read().decode("utf-8", "replace").strip()[-LONGEST:]
        if code:
            self.problem = self.said or f"It ended with exit code {code}."
        elif not self.counts:
            try:
                self.differences = json.loads(self.out.read())
            except ValueError:
                self.problem = self.said or "It printed no list of differences."
        self.out.close()
        self.err.close()


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
            raise TitoError(
                "The page does not know where the submissions are.",
                "Start it with --submissions DIR.",
            )
        words = [str(self.submissions), lesson, "--root", str(self.root), "--json"]
        words += ["--gradebook", self.gradebook, *self.options]
        words += [f"--check={check}"] if check else []
        words += ["--dry-run"] if why is None else [f"--why={why} ({who}, on the page)"]
        with self._lock:
            if self.last:
                self.last.look()
                if not self.last.ended:
                    raise TitoError(
                        f"{self.last.who} grades {self.last.lesson} already.", "Wait until it ends."
                    )
            out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
            process = subprocess.Popen(
                [sys.executable, "-m", "tito", "grade", *words],
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            now = datetime.now(timezone.utc)
            self.last = Trial(lesson, check, who, why is not None, now, process, out, err)
            return self.last

    def close(self) -> None:
        """End a run that goes on; what it has graded is kept, and the same run goes on later."""
        if self.last and self.last.process.poll() is None:
            self.last.process.terminate()
            try:
                self.last.process.wait(PARTING)
            except subprocess.TimeoutExpired:
                self.last.process.kill()
                self.last.process.wait()
