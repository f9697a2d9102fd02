"""Gradescope.

Its export is a folder `assignment_12_export` with a folder for each submission, and a file
`submission_metadata.yml` that says who handed in which, and when. So does its table of grades.

It imports no grades: its own autograder must write them, see `tito release --for gradescope`.
"""

import contextlib
import re
from datetime import timezone

from tito.grading.lms.system import Submitters, System
from tito.grading.submission import Arrived
from tito.grading.times import parse_time


class Gradescope(System):
    name, title = "gradescope", "Gradescope"
    download = re.compile(r"assignment_\d+_export")
    metadata = "submission_metadata.yml"
    class_list = "a roster of Gradescope"
    ids = marks = ("sid",)
    times, time_table = re.compile(r"submission_time\Z"), "Gradescope's grades"
    said = "by Gradescope"

    def submitters(self, text: str) -> dict[str, Submitters]:
        """Read line by line, because the file is large and its form is known."""
        by_folder: dict[str, Submitters] = {}
        now = Submitters()
        done = True  # what follows the time are results
        for line in text.splitlines():
            if match := re.fullmatch(r"([^\s:]\S*):\s*", line):
                now, done = by_folder.setdefault(match[1], Submitters()), False
            elif done:
                continue
            elif match := re.fullmatch(r"  :created_at: *(.+)", line):
                done = True
                with contextlib.suppress(ValueError):
                    time = parse_time(match[1].strip("'\""), timezone.utc)
                    now.arrived = Arrived(time, "gradescope")
            elif match := re.fullmatch(r"  ( |-) :(name|sid|email): *(.*)", line):
                if match[1] == "-":
                    now.people.append({})
                if now.people:
                    now.people[-1][match[2]] = match[3].strip().strip("'\"")
        return by_folder

    def columns(self, headers: list[str]) -> list[str] | None:
        columns = super().columns(headers)
        return columns if columns and "github_id" not in columns else None
