"""Blackboard.

Its download holds the files of each attempt, `Lab 1_alovelace_attempt_2026-10-19-11-00-00_work.py`:
the assignment, the login, the local time, and the name that the learner chose; and, without that
name, a text file about the attempt. Its list is the download of its grades.

Grades are uploaded under Work Offline, mapped by Username (roster column username, else the
learner's id). A roster column such as `tensor [Total Pts: 28 Score] |664617` names the column that
exists in Blackboard; without it Blackboard makes a new one, of text.
"""

import re
from collections.abc import Iterator
from typing import Any

from tito.csv_tables import Id, normalised, ours
from tito.grading.lms.system import Entry, System, Table

NAME = re.compile(
    r"(?!.+_\d+_assignsubmission_)"  # a name of Moodle's
    r"(?P<head>.+?)_attempt_(?P<day>\d{4}-\d\d-\d\d)-(?P<clock>\d\d-\d\d-\d\d)(?P<text>\.txt)?"
    r"(?(text)|_.+)",
    re.S,
)
LIST = {"last_access", "availability"}
PREVIEW = "_previewuser"  # ends the login of an instructor who looks at the course as a learner


class Blackboard(System):
    name, title = "blackboard", "Blackboard"
    class_list = "Blackboard's grades"
    ids = ("username",)
    said = "by Blackboard"
    export = "a file"

    def entry(self, stem: str) -> Entry | None:
        if not (match := NAME.fullmatch(stem)):
            return None
        parts = match["head"].split("_")  # also an assignment or a login may contain it
        logins = ["_".join(parts[start:]) for start in range(1, len(parts))] or parts
        time = f"{match['day']} {match['clock'].replace('-', ':')}"
        is_text = bool(match["text"])
        return Entry("blackboard", tuple(logins), is_login=True, is_text=is_text, time=time)

    def columns(self, headers: list[str]) -> list[str] | None:
        names = list(map(normalised, headers))
        if "username" not in names or not (LIST & set(names) or any("|" in one for one in names)):
            return None
        return list(map(ours, headers))

    def learner(self, line: dict[str, str]) -> bool:
        return not line["username"].endswith(PREVIEW)

    def grades(self, table: Table) -> Iterator[list[Any]]:
        mark, form = r"\[total_pts:.*\]_\|(\d+)", "[Total Pts: {most} Score] |{number}"
        yield ["Username", *table.titles(mark, form)]
        for row in table.rows:
            yield [Id(row.columns.get("username") or row.student), *row.points(table)]
