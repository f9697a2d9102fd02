"""Google Classroom, whose files are in a folder of Google Drive.

It names a file `Ada Lovelace - tensor_dev`; learners can rename it. Its grades, as a class list,
begin with lines of dates, points and averages.
"""

import re

from tito.csv_tables import ours
from tito.grading.lms.system import Entry, System

LONGEST = 200  # characters in which the name ends
NO_LEARNERS = ("date", "points", "class average")


class Google(System):
    name, title = "google", "Google Classroom"
    class_list = "the grades of Google Classroom"

    def entry(self, stem: str) -> Entry | None:
        names = tuple(stem[: dash.start()] for dash in re.finditer(" - ", stem[:LONGEST]))
        return Entry("google", names, is_certain=False) if names else None

    def columns(self, headers: list[str]) -> list[str] | None:
        if headers[:3] != ["Last Name", "First Name", "Email Address"]:
            return None
        return list(map(ours, headers))

    def learner(self, line: dict[str, str]) -> bool:
        return bool(line.get("email")) or line["name"].casefold() not in NO_LEARNERS
