"""Moodle.

Its download holds folders or files, `Ada Lovelace_20001_assignsubmission_file`: the name, a number
that differs between assignments, and whether it is files or typed text; of a group's assignment,
`Red-Ada Lovelace_20001_...`. The grading worksheet of an assignment says when work arrived, and
whose each number is. Moodle writes its lists in the language of the person who downloads them: the
class list is read in English, German, French and Spanish, the worksheet in any language.

Grades are mapped by id number or email (roster columns idnumber, email), with grade and feedback
always side by side. Feedback goes back as a zip of `NAME_NUMBER_assignfeedback_file_feedback.html`.
The number is in the download, in the worksheet, or in the roster's column moodle_id or identifier.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tito.csv_tables import Id, normalised, ours
from tito.grading.lms.system import Entry, System, Table
from tito.grading.submission import Upload

NAME = re.compile(
    r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?P<kind>file|onlinetext)(?:_.*)?", re.I | re.S
)
FULL_NAMES = {"identifier", "vollständiger_name", "nom_complet", "nombre_completo"}
MAIL = {"email_address", "e-mail-adresse", "adresse_de_courriel", "dirección_de_correo"}
PARTICIPANT = re.compile(r"(?:participant|teilnehmer(?:/in|in)?) ?(\d+)|[^\W\d][^\d]*?(\d+)", re.I)
UNFIT = re.compile(r"[\x00-\x1f/\\:_]+")  # in the names of a zip, where _ separates the parts


class Moodle(System):
    name, title = "moodle", "Moodle"
    class_list = "a list of Moodle's"
    ids, numbers = ("username", "idnumber"), ("moodle_id",)
    # of the submission, not of its grade
    times = re.compile(
        r"(last_modified|zuletzt_geändert|dernière_modification|última_modificación)_"
        r"\((?!grade|bewertung|note|évaluation|calificación)"
    )
    time_table = "Moodle's grading worksheet"
    entry_numbers = ("identifier", "id")
    number_cells = re.compile(r"[^\W\d]\D*\d+")  # "Participant 20001"
    said = "by Moodle's worksheet"
    export = "a file"
    zip = "Upload multiple feedback files in a zip"

    def entry(self, stem: str) -> Entry | None:
        if not (match := NAME.fullmatch(stem)):
            return None
        is_text = match["kind"] == "onlinetext"
        return Entry("moodle", (match["name"],), match["id"], is_folder=True, is_text=is_text)

    def columns(self, headers: list[str]) -> list[str] | None:
        names, columns = list(map(normalised, headers)), list(map(ours, headers))
        is_list = {"first_name", "last_name"} <= set(columns) and MAIL & set(names)
        if not (is_list or FULL_NAMES & {*columns, *names}):
            return None
        number = "id" if "vollständiger_name" in names else "identifier"
        return ["moodle_id" if name == number else name for name in columns]

    def learner(self, line: dict[str, str]) -> bool:
        if match := PARTICIPANT.fullmatch(line.get("moodle_id", "")):
            line["moodle_id"] = match[1] or match[2]
        return True

    def grades(self, table: Table) -> Iterator[list[Any]]:
        titles = (lesson.numbered for lesson in table.lessons)
        columns = (text for title in titles for text in (title, f"{title} feedback"))
        yield ["Full name", "ID number", "Email address", *columns]
        for row in table.rows:
            student, email = row.student, row.columns.get("email") or ""
            number = row.columns.get("idnumber") or (student if student != email else "")
            pairs = (
                (cell.points, cell.summary) if cell else (None, None) for cell in row.cells(table)
            )
            yield [row.name, Id(number), Id(email), *(value for pair in pairs for value in pair)]

    def feedback(self, name: str, columns: dict[str, str], uploads: Sequence[Upload]) -> str | None:
        known = re.search(r"\d+$", columns.get("moodle_id") or columns.get("identifier") or "")
        number = known[0] if known else None
        for upload in reversed(uploads):
            is_own = upload.keys or not upload.group
            if is_own and (match := NAME.fullmatch(upload.name)):
                name, number = match["name"], match["id"]
        fitting = UNFIT.sub(" ", name).strip() or "learner"
        return number and f"{fitting}_{number}_assignfeedback_file_feedback.html"
