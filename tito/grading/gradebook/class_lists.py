"""The lists of a class as other programs write them: Canvas's gradebook, Moodle's participants and
grading worksheets, Classroom 50, Gradescope, Excel.

`read` takes any of them, and rosters of one's own, as lines of {our column: text}. `choose` says
which column becomes the id. What is no learner (Canvas's points possible, its test student, staff)
is left out and counted.
"""

import re
from dataclasses import dataclass, field

from tito.errors import UsageError
from tito.grading.csv_tables import decoded, normalised, table
from tito.grading.roster import learner_of

# The column that becomes a learner's id: the first of these that every line fills, each with
# another text. Logins come before numbers, since they stand in the names of files and are read by
# people; Moodle's number comes last, since each of its assignments has others.
ORDER = (
    "student",
    "sis_login_id",
    "username",
    "sis_user_id",
    "idnumber",
    "sid",
    "email",
    "github",
    "canvas_id",
    "id",
    "moodle_id",
)
OWN, CANVAS, MOODLE, CLASSROOM50, GRADESCOPE, TABLE = (
    "a roster",
    "Canvas's gradebook",
    "a list of Moodle's",
    "a roster of Classroom 50",
    "a roster of Gradescope",
    "a table",
)
# Headers of other programs (lower case, `_` for spaces) and what they are called here.
NAMES = {
    "firstname": "first_name",
    "vorname": "first_name",
    "lastname": "last_name",
    "surname": "last_name",
    "nachname": "last_name",
    "full_name": "name",
    "fullname": "name",
    "student_name": "name",
    "vollständiger_name": "name",
    "email_address": "email",
    "e-mail": "email",
    "e-mail_address": "email",
    "e-mail-adresse": "email",
    "id_number": "idnumber",
    "id-nummer": "idnumber",
    "matrikelnummer": "idnumber",
    "student_id": "sid",
    "anmeldename": "username",
    "groups": "section",
    "gruppen": "section",
    "gruppe": "section",
    "sections": "section",
    "section(s)": "section",
    "section_name": "section",
    "roles": "role",
    "rollen": "role",
    "rolle": "role",
    "github_username": "github",
}
STAFF = re.compile(
    r"(?i)\b(instructor|teacher|professor|ta|head-ta|reader|staff|observer|designer|manager|owner"
    r"|trainer|dozent|tutor|admin)\b|lehrende|verwalter"
)
PARTICIPANT = re.compile(r"(?:participant|teilnehmer(?:/in|in)?) ?(\d+)|[^\W\d][^\d]*?(\d+)", re.I)
ROUNDED = re.compile(r"\d([.,]\d+)?E\+\d+", re.I)  # 1.23457E+11: a number that Excel shortened


@dataclass
class ClassList:
    """What a file says.

    source   which program wrote it, in words
    columns  ours, in the file's order
    lines    (line number, {column: text}) of each learner
    left_out what is no learner, such as "Student, Test"
    remarks  what somebody should know about how it was read
    scheme   what its ids are, if it says so: the column of an earlier roster, see `exports.py`
    """

    path: str
    source: str
    columns: list
    lines: list
    left_out: list = field(default_factory=list)
    remarks: list = field(default_factory=list)
    scheme: str = ""


def read(path):
    """The ClassList in a CSV file: separated by commas, semicolons or tabs, in UTF-8, UTF-16 or, as
    Excel writes it on Windows, cp1252; with or without a byte order mark and a line `sep=;`.

    Raises TitoError with the line for what is damaged.
    """
    text, remarks = decoded(path)
    (start, written), *lines = table(path, text)
    source, columns = _headers(path, start, written)
    out = ClassList(str(path), source, columns, [], remarks=remarks)
    for number, row in lines:
        _add(out, number, row)
    _name(out)
    if not out.lines:
        raise UsageError(f"{path} lists nobody.", "Add a line for each learner below the header.")
    return out


def choose(found, wanted=None, remembered=None):
    """The column of a ClassList that holds the ids.

    wanted      that somebody asked for, or None
    remembered  that the gradebook's ids were taken from, or None; taken where the file has it

    Raises TitoError when there is no such column, or its cells do not tell the learners apart.
    """
    if wanted:
        name = ours(wanted)
        if name not in found.columns:
            raise UsageError(
                f"{found.path} has no column {wanted!r}; there are: {', '.join(found.columns)}.",
                "Name one of these with --id-column.",
            )
        _check(found, name)
        return name
    if remembered in found.columns:
        _check(found, remembered)
        return remembered
    if "student" in found.columns:  # a roster of one's own: an empty cell there is a mistake
        _check(found, "student")
        return "student"
    known = [name for name in ORDER if name in found.columns]
    for name in known:
        texts = [line[name].casefold() for _, line in found.lines]
        if all(texts) and len(set(texts)) == len(texts):
            _check(found, name)
            return name
    if not known:
        raise UsageError(
            f"{found.path}:1: there is no column `student`, and none that other programs call an "
            f"id; there are: {', '.join(found.columns) or 'none'}.",
            "Name one with --id-column, or call it `student`: it holds each learner's id.",
        )
    for name in known:  # why not even the first that is used
        if any(line[name] for _, line in found.lines):
            _check(found, name)
    raise UsageError(
        f"{found.path}: no line fills {', '.join(known)}.", "Fill in one of these columns."
    )


def read_roster(path, id_column=None, remembered=None):
    """The learners in a CSV file, in its order, see `read`.

    id_column   that is asked for; remembered: that the gradebook has, see `choose`

    Raises TitoError with the line for what is damaged, doubled or missing.
    """
    found = read(path)
    return learners_of(found, choose(found, id_column, remembered))


def learners_of(found, id_column):
    """The Learners in a ClassList, whose ids are in that column."""
    return [
        learner_of(line[id_column], line, f"{found.path}:{number}") for number, line in found.lines
    ]


def ours(header):
    """What a header is called here: `normalised`, and our name for it."""
    name = normalised(header)
    return NAMES.get(name, name)


def _headers(path, line, written):
    """(source, our names of the columns). "" for a column without a header."""
    names = [normalised(name) for name in written]
    if {"ID", "SIS Login ID", "Section"} <= set(written) and (
        written[0] == "Student" or written[:2] == ["LastName", "FirstName"]
    ):
        source, ours = CANVAS, [{"student": "name"}.get(name, name) for name in names]
        ours = [NAMES.get(n, n) if n in ("lastname", "firstname") else n for n in ours]
    elif "student" in names:
        source, ours = OWN, names
    else:
        ours = [NAMES.get(name, name) for name in names]
        if {"username", "github_id"} <= set(ours):
            source = CLASSROOM50
        elif "sid" in ours:
            source = GRADESCOPE
        elif {"identifier", "vollständiger_name"} & set(names) or (
            {"first_name", "last_name"} <= set(ours)
            and {"email_address", "e-mail-adresse"} & set(names)
        ):
            source = MOODLE
            number = "id" if "vollständiger_name" in names else "identifier"
            ours = ["moodle_id" if name == number else name for name in ours]
        else:
            source = TABLE
    for name in ours:
        # Canvas and Moodle may have two assignments or fields of one name; their first one counts.
        doubled = ours.count(name) > 1 and (source == OWN or name in (*ORDER, "name"))
        if name and doubled:
            raise UsageError(
                f"{path}:{line}: the column {name!r} is there {ours.count(name)} times.",
                "Rename or delete one.",
            )
    return source, ours


def _add(found, number, row):
    line = {}
    for name, text in zip(found.columns, row + [""] * (len(found.columns) - len(row))):
        if name:
            line.setdefault(name, text)
    if found.source == OWN and (scheme := line.pop("id_column", "")):
        found.scheme = scheme
    if found.source != OWN:
        name = line.get("name") or " ".join(
            filter(None, (line.get("first_name"), line.get("last_name")))
        )
        if name or {"name", "first_name", "last_name"} & line.keys():
            line["name"] = name  # a list without names takes nobody's away
        if found.source == CANVAS and not line["id"]:
            if name:  # without a name it is the row that says which columns are posted by hand
                found.left_out.append(name)
            return
        is_test = name.casefold() in ("student, test", "test student")
        if found.source == CANVAS and is_test and not line.get("sis_user_id"):
            found.left_out.append(name)
            return
        if STAFF.search(line.get("role", "")) and found.source != TABLE:
            found.left_out.append(f"{name} ({line['role']})")
            return
        if found.source == CLASSROOM50:
            line["github"] = line["username"]
        if "moodle_id" in line and (form := PARTICIPANT.fullmatch(line["moodle_id"])):
            line["moodle_id"] = form[1] or form[2]
    found.lines.append((number, line))


def _name(found):
    """Let `columns` be those of the lines."""
    found.columns = list(dict.fromkeys(name for _, line in found.lines for name in line)) or [
        name for name in found.columns if name
    ]


def _check(found, name):
    """Raise TitoError where a column does not tell the learners apart."""
    where, lines = found.path, {}
    other = "" if name == "student" else ", or name another column with --id-column"
    for number, line in found.lines:
        text = line[name]
        if not text:
            raise UsageError(
                f"{where}:{number}: no {name}.",
                f"Fill in the column `{name}`, or delete the line{other}.",
            )
        if ROUNDED.fullmatch(text):
            raise UsageError(
                f"{where}:{number}: {name} is {text!r}, a number that a spreadsheet has shortened.",
                "Export the list again, and give it as it is, without opening and saving it.",
            )
        if text.casefold() in lines:
            raise UsageError(
                f"{where}:{number}: {name} {text!r} stands in line {lines[text.casefold()]} too.",
                f"Give each learner one line{other}.",
            )
        lines[text.casefold()] = number
