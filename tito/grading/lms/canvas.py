"""Canvas.

Its download holds a file for each learner, `lovelaceada_late_501_777_tensor.py`: the name, a mark
of lateness, the numbers of learner and file, and the name that the learner chose. No time is in it.
Feedback goes back as a zip of files with these names; Canvas turns each page into a comment with
the name of the file that was handed in, so the comment on a zip is a zip that holds the page.

The names of a group's files have the group's name instead, and the number of one of its members;
the list of groups is the export under People.

Grades are imported under Grades. Ids come from the roster's columns id (or canvas_id), sis_user_id,
sis_login_id and section; without any, the learner's id is the login. A roster column such as
`tensor (1234)` names the assignment that exists in Canvas; without it Canvas makes a new one.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tito.csv_tables import Id, normalised
from tito.grading.lms.system import Entry, System, Table
from tito.grading.submission import Upload

NAME = re.compile(
    r"(?!.+_\d+_assignsubmission_(?:file|onlinetext)(?:_|\Z))"  # a name of Moodle's
    r"(?P<ids>(?P<name>[^_]+)(?P<late>_late)?_(?P<id>\d+)_(?P<file>\d+))_"
    r"(?!attempt_\d{4}-).+",  # a name of Blackboard's
    re.I | re.S,
)
GROUPS = {
    "canvas_user_id": "id",
    "user_id": "sis_user_id",
    "login_id": "sis_login_id",
    "sections": "section",
    "group_name": "group",
}
LONG = 3  # digits of a number that Canvas gave to a file: `hw_1_2_final` has none
NAMES = {"student": "name", "lastname": "last_name", "firstname": "first_name"}


class Canvas(System):
    name, title = "canvas", "Canvas"
    class_list = "Canvas's gradebook"
    ids, numbers = ("sis_login_id", "sis_user_id"), ("canvas_id", "id")
    said = "by Canvas"
    export = "a file"
    zip = "Re-upload submissions"
    from_download = True

    def entry(self, stem: str) -> Entry | None:
        if not (match := NAME.fullmatch(stem)):
            return None
        is_certain = len(match["file"]) >= LONG
        late = True if match["late"] else False if is_certain else None
        return Entry("canvas", (match["name"],), match["id"], is_certain, late=late)

    def columns(self, headers: list[str]) -> list[str] | None:
        if {"name", "canvas_user_id", "group_name"} <= set(headers):
            return [GROUPS.get(name, name) for name in headers]
        begins = headers[0] == "Student" or headers[:2] == ["LastName", "FirstName"]
        if not (begins and {"ID", "SIS Login ID", "Section"} <= set(headers)):
            return None
        return [NAMES.get(name, name) for name in map(normalised, headers)]

    def learner(self, line: dict[str, str]) -> bool:
        # Without an id it is a row of Canvas's: the points possible, what is posted by hand.
        is_test = line["name"].casefold() in ("student, test", "test student")
        return bool(line["id"]) and not (is_test and not line.get("sis_user_id"))

    def grades(self, table: Table) -> Iterator[list[Any]]:
        titles = table.titles(r"\((\d+)\)", "({number})")
        yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles]
        yield ["    Points Possible", "", "", "", "", *(lesson.most for lesson in table.lessons)]
        for row in table.rows:
            columns = row.columns
            ids = [
                columns.get("id") or columns.get("canvas_id"),
                columns.get("sis_user_id"),
                columns.get("sis_login_id"),
            ]
            if not any(ids):
                ids[2] = row.student
            ids = [text and Id(text) for text in ids]
            name, section = row.name or row.student, columns.get("section")
            yield [name, *ids, section, *row.points(table)]

    def feedback(self, name: str, columns: dict[str, str], uploads: Sequence[Upload]) -> str | None:
        for upload in uploads:
            if upload.group:
                continue  # the whole group would read it
            if match := NAME.fullmatch(upload.name):
                return f"{match['ids']}_feedback.{'html' if upload.kind == 'file' else 'zip'}"
        return None
