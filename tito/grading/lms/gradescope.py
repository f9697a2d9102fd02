"""Gradescope.

Its export is a folder `assignment_12_export` with a folder for each submission, and a file
`submission_metadata.yml` that says who handed in which, and when. So does its table of grades.

It imports no grades. Its export is a folder per learner with a results.json, as an autograder hands
it to Gradescope: of every lesson, also of those that were not handed in.
"""

import contextlib
import re
from collections.abc import Iterator
from datetime import timezone
from typing import Any

from tito.grading.lms.system import LessonGrade, Part, Submitters, System, Table
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
    export = "a folder"
    export_note = (
        "Gradescope cannot import these files: its own autograder must write them. To grade "
        "there, use tito release --for gradescope."
    )

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

    def grades(self, table: Table) -> Iterator[list[Any]]:
        for row in table.rows:
            if not row.grades:
                continue
            tests = [
                test(grade, part, f"{grade.lesson.number}.{place}")
                for grade in row.grades
                for place, part in enumerate(grade.parts, 1)
            ]
            value = {
                "score": sum(grade.points for grade in row.grades),
                "output": "\n".join(f"{g.lesson.title}: {g.summary}" for g in row.grades),
                **dict.fromkeys(
                    ("output_format", "test_output_format", "test_name_format"), "text"
                ),
                "visibility": "visible",
                "stdout_visibility": "hidden",
                "tests": tests,
            }
            yield [f"{row.folder}/results.json", value]


def test(grade: LessonGrade, part: Part, number: str) -> dict[str, Any]:
    value: dict[str, Any] = {
        "number": number,
        "name": f"{grade.lesson.title}: {part.name}",
        "score": part.points,
        "max_score": part.most,
    }
    if not part.is_judged:
        value["status"] = "passed" if part.passed else "failed"
    value["visibility"] = "hidden" if part.is_hidden else "visible"
    if part.output is not None:
        value["output"] = part.output
    return value
