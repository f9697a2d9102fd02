"""Classroom 50, of CS50.

Grades are scores.json of a classroom, and a folder per learner and lesson with a result.json; in
whole points, half a point upward. The owner is the roster's column github. The classroom is called
like the folder, if that is a short name that Classroom 50 takes, else like the course.
"""

import re
from collections.abc import Iterator
from datetime import timezone
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from tito.grading.lms.system import LessonGrade, Row, System, Table

CLASSROOM = re.compile(r"[a-z0-9][a-z0-9-]{1,99}")  # a short name


class Classroom50(System):
    name, title = "classroom50", "Classroom 50"
    class_list = "a roster of Classroom 50"
    ids, marks = ("username",), ("username", "github_id")
    export = "a folder with the classroom's short name"

    def learner(self, line: dict[str, str]) -> bool:
        line["github"] = line["username"]
        return True

    def grades(self, table: Table) -> Iterator[list[Any]]:
        is_short = CLASSROOM.fullmatch(table.folder)
        classroom = table.folder if is_short else short(table.course)
        assignments: dict[str, dict[str, Any]] = {}
        for row in table.rows:
            for grade in row.grades:
                if grade.is_empty:
                    continue
                value = result(row, grade, classroom)
                yield [f"results/{row.folder}/{grade.lesson.name}/result.json", {**value}]
                assignment = assignments.setdefault(
                    value.pop("assignment"), {"type": "individual", "entries": []}
                )
                # An override is what its collector leaves alone, and shows by this name.
                value["submission"] = value["submission"].replace("submit/", "submit/manual-")
                entry = {"owner": value["owner"], "submissions": [value], "override": True}
                assignment["entries"].append(entry)
        scores = {"schema": "classroom50/scores/v1", "assignments": assignments}
        yield [f"{classroom}/scores.json", scores]


def result(row: Row, grade: LessonGrade, classroom: str) -> dict[str, Any]:
    handed_in = grade.handed_in.astimezone(timezone.utc)
    # Also for commit and release, which the gradebook does not know.
    tag = f"submit/{handed_in:%Y-%m-%dT%H-%M-%SZ}"
    return {
        "schema": "classroom50/result/v1",
        "classroom": classroom,
        "assignment": short(grade.lesson.name),
        "assignment_type": "individual",
        "owner": (row.columns.get("github") or row.student).lower(),
        **dict.fromkeys(("submission", "commit", "release", "review"), tag),
        "datetime": f"{handed_in:%Y-%m-%dT%H:%M:%SZ}",
        "graded_at": f"{grade.graded:%Y-%m-%dT%H:%M:%SZ}",
        "score": whole(grade.points),
        "max-score": grade.lesson.most,
        "tests": [
            {
                "test-name": part.name,
                "passed": part.passed,
                "score": whole(part.points),
                "max-score": part.most,
            }
            for part in grade.parts
        ],
    }


def whole(points: Decimal) -> int:
    return int(points.quantize(Decimal(1), ROUND_HALF_UP))


def short(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "course"
