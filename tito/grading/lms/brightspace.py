"""Brightspace.

Its download holds folders, `12345-678901 - Ada Lovelace - Nov 20, 2026 1011 AM`: its own numbers,
the name, the local time; elsewhere `... - alovelace Ada Lovelace - 20 November 2026 1011 AM`, or
`... - 100815 Lovelace - ...`; and index.html, a list of them. The time has a form of
the school's language: what follows the last ` - ` is a time if there is a year in it.

Grades are imported under Grades, mapped by OrgDefinedId or Username (roster columns org_defined_id,
username), else by the learner's id; grade items of points.
"""

import re
from collections.abc import Iterator
from typing import Any

from tito.csv_tables import normalised, ours
from tito.grading.lms.system import Entry, System, Table

NAME = re.compile(
    r"\d+-\d+ - (?P<name>.+) - (?P<time>(?=.*\b\d{4}\b)(?:(?! - ).)+)",
    re.S,
)
CLOCK = re.compile(r"(?<=\d )(\d{1,2})[. ]?(\d\d)(?= ?[ap]\.? ?m\.?\Z|\Z)", re.I)  # "1011 AM"
END = "End-of-Line Indicator"


class Brightspace(System):
    name, title = "brightspace", "Brightspace"
    litter = ("index.html",)
    class_list = "a list of Brightspace's"
    ids = ("username", "org_defined_id")
    said = "by Brightspace"
    export = "a file"

    def entry(self, stem: str) -> Entry | None:
        if not (match := NAME.fullmatch(stem)):
            return None
        time = CLOCK.sub(r"\1:\2", match["time"])
        return Entry("brightspace", (match["name"],), is_folder=True, time=time)

    def columns(self, headers: list[str]) -> list[str] | None:
        end = normalised(END)
        if not {"orgdefinedid", end} & set(map(normalised, headers)):
            return None
        return ["" if name == end else name for name in map(ours, headers)]

    def learner(self, line: dict[str, str]) -> bool:
        for column in {"username", "org_defined_id"} & line.keys():
            line[column] = line[column].removeprefix("#")  # for spreadsheets, to leave ids alone
        return True

    def grades(self, table: Table) -> Iterator[list[Any]]:
        titles = [f"{lesson.numbered} Points Grade" for lesson in table.lessons]
        yield ["OrgDefinedId", "Username", *titles, END]
        for row in table.rows:
            ids = [row.columns.get(name) or "" for name in ("org_defined_id", "username")]
            if not any(ids):
                ids[1] = row.student
            yield [*(f"#{text}" if text else "" for text in ids), *row.points(table), "#"]
