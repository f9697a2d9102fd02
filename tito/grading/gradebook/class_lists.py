"""Read class lists of other programs: of the systems in `lms/`, of Excel, or your own.

`read` converts any of them into lines of {our column: text}. `choose` selects the column of the
ids. Lines that are not learners (a system's own rows, staff) are left out and counted.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from tito.csv_tables import decoded, normalised, ours, table
from tito.errors import UsageError
from tito.grading.lms import SYSTEMS, id_columns
from tito.grading.lms.system import System
from tito.grading.roster import GROUP, Learner, learner_of, shown

OWN, TABLE = "a roster", "a table"
STAFF = re.compile(
    r"(?i)\b(instructor|teacher|professor|ta|head-ta|reader|staff|observer|designer|manager|owner"
    r"|trainer|dozent|tutor|admin)\b|lehrende|verwalter"
)
ROUNDED = re.compile(r"\d([.,]\d+)?E\+\d+", re.I)  # 1.23457E+11: a number that Excel shortened


@dataclass
class RosterFile:
    """The contents of a class list.

    source   which program wrote it, in words
    columns  ours, in the file's order
    lines    (line number, {column: text}) of each learner
    left_out lines that are not learners, such as "Student, Test"
    remarks  what the instructor should know about how it was read
    """

    path: str
    source: str
    columns: list[str]
    lines: list[tuple[int, dict[str, str]]]
    left_out: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def read(path: Path) -> RosterFile:
    """A roster in a CSV file: separated by commas, semicolons or tabs, in UTF-8, UTF-16 or Windows'
    cp1252 (as Excel writes it); with or without a byte order mark and a line `sep=;`.

    Raises UsageError with the line for what is damaged.
    """
    text, remarks = decoded(path)
    (start, written), *rows = table(path, text)
    system, source, columns = _headers(path, start, written)
    class_list = RosterFile(str(path), source, columns, [], remarks=remarks)
    for number, row in rows:
        _add(class_list, system, number, row)
    names = dict.fromkeys(name for _, line in class_list.lines for name in line)
    class_list.columns = list(names) or [name for name in columns if name]
    if not class_list.lines:
        raise UsageError(
            f"{path} lists no learners.", "Add a line for each learner below the header."
        )
    return class_list


def choose(class_list: RosterFile, wanted: str | None = None, remembered: str | None = None) -> str:
    """The column of a RosterFile that holds the ids.

    wanted      that was asked for, or None
    remembered  that the gradebook's ids were taken from, or None; taken where the file has it

    Raises UsageError when there is no such column, or its cells do not tell the learners apart.
    """
    path, columns = class_list.path, class_list.columns
    known = [name for name in id_columns() if name in columns]
    if wanted and ours(wanted) not in columns:
        raise UsageError(
            f"{path} has no column {wanted!r}; there are: {', '.join(columns)}.",
            "Name one of these with --id-column.",
        )
    if class_list.source == TABLE and not (wanted or remembered in columns):
        cells = {
            name: ", ".join(shown(line[name], 30) for _, line in class_list.lines[:3] if line[name])
            for name in columns[:8]
        }
        begin = "; ".join(f"{shown(name, 30)}: {texts}" for name, texts in cells.items())
        raise UsageError(
            f"{path}: which column holds the learners' ids? It begins {begin}.",
            f"Name it: --id-column {(known or columns or ['NAME'])[0]}, or call it `student`.",
        )
    # "student" is in a roster of one's own: an empty cell there is a mistake.
    for name in (wanted and ours(wanted), remembered, "student"):
        if name and name in columns:
            _check(class_list, name)
            return name
    for name in known:
        texts = [line[name].casefold() for _, line in class_list.lines]
        if all(texts) and len(set(texts)) == len(texts):
            _check(class_list, name)
            return name
    for name in known:  # why not even the first that is used
        if any(line[name] for _, line in class_list.lines):
            _check(class_list, name)
    raise UsageError(f"{path}: no line fills {', '.join(known)}.", "Fill in one of these columns.")


def learners_of(class_list: RosterFile, id_column: str) -> list[Learner]:
    """The learners in a RosterFile, whose ids are in that column."""
    _check_groups(class_list)
    return [learner_of(line[id_column], line) for _, line in class_list.lines]


def _check_groups(class_list: RosterFile) -> None:
    """Raise UsageError for a learner who is in two groups."""
    for number, line in class_list.lines:
        if len(names := re.split(r"\s*[,;|]\s*", line.get(GROUP, ""))) > 1:
            raise UsageError(
                f"{class_list.path}:{number}: {line[GROUP]!r} in the column `group` are "
                f"{len(names)} groups. One hand-in counts for a whole group: each learner has one.",
                "Name one, without a comma. Call the column `section` if they work alone.",
            )


def _headers(path: Path, line: int, written: list[str]) -> tuple[System | None, str, list[str]]:
    """(the system whose list it is, what it is, our names of the columns). "" for a column without
    a header. A list with the column `student` is your own, unless a system calls it otherwise.
    """
    names = [normalised(name) for name in written]
    known = ((system, system.columns(written)) for system in SYSTEMS.values() if written)
    of_systems = ((system, columns) for system, columns in known if columns)
    system, columns = next(of_systems, (None, [ours(name) for name in names]))
    if "student" in columns:
        system, source, columns = None, OWN, names
    else:
        source = system.class_list if system else TABLE
    for name in columns:
        # A system may have two assignments or fields of one name; the first one counts.
        doubled = columns.count(name) > 1 and (source == OWN or name in (*id_columns(), "name"))
        if name and doubled:
            raise UsageError(
                f"{path}:{line}: the column {name!r} is there {columns.count(name)} times.",
                "Rename or delete one.",
            )
    return system, source, columns


def _add(class_list: RosterFile, system: System | None, number: int, row: list[str]) -> None:
    """Add a line, or what it has that is no learner to `left_out`."""
    columns = class_list.columns
    line: dict[str, str] = {}
    for name, text in zip(columns, row + [""] * (len(columns) - len(row))):
        if name:
            line.setdefault(name, text)
    if class_list.source != OWN:
        parts = (line.get("first_name"), line.get("last_name"))
        name = line.get("name") or " ".join(filter(None, parts))
        if name or {"name", "first_name", "last_name"} & line.keys():
            line["name"] = name  # a list without names leaves the names as they are
        if system and not system.learner(line):
            class_list.left_out += [name] if name else []
            return
        if system and STAFF.search(line.get("role", "")):
            class_list.left_out.append(f"{name} ({line['role']})")
            return
    class_list.lines.append((number, line))


def _check(class_list: RosterFile, name: str) -> None:
    """Raise UsageError where a column does not tell the learners apart."""
    lines: dict[str, int] = {}
    other = "" if name == "student" else ", or name another column with --id-column"
    for number, line in class_list.lines:
        text, where = line[name], f"{class_list.path}:{number}"
        if not text:
            raise UsageError(
                f"{where}: no {name}.", f"Fill in the column `{name}`, or delete the line{other}."
            )
        if ROUNDED.fullmatch(text):
            raise UsageError(
                f"{where}: {name} is {text!r}, a number that a spreadsheet has shortened.",
                "Export the list again, and give it as it is, without opening and saving it.",
            )
        if text.casefold() in lines:
            raise UsageError(
                f"{where}: {name} {text!r} is in line {lines[text.casefold()]}, too.",
                f"Give each learner one line{other}.",
            )
        lines[text.casefold()] = number
