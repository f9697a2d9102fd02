"""Feedback pages on their way to people: zips that Moodle and Canvas take, and a table for a mail
merge.

moodle  `NAME_NUMBER_assignfeedback_file_feedback.html` for each learner: what Moodle's "Upload
        multiple feedback files in a zip" finds them by. The number is that of its own download
        (`NAME_NUMBER_assignsubmission_file`), or the roster's column moodle_id or identifier; each
        assignment of Moodle's has numbers of its own
canvas  the names of Canvas's own download, which hold the numbers of learner and file: Canvas takes
        no others. It makes a comment of each, and shows it under the name of the file that was
        handed in; so to a zip it answers with a zip that holds the page
mail    a CSV file with a line for each learner: student, name, email, page, points, max_points

Each holds only the pages that changed since the last of its kind, of learners who are in the class.
What was delivered is kept in the folder of the pages, in `RECORD`.
"""

import hashlib
import io
import json
import re
import zipfile
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from tito import files
from tito.errors import UsageError
from tito.grading import roster
from tito.grading.csv_tables import Id, line
from tito.grading.gradebook import late

RECORD = ".delivered.json"
PAGE = "feedback.html"
WHEN = (1980, 1, 1, 0, 0, 0)  # in zips: the same pages give the same bytes
CANVAS = re.compile(r"(?P<ids>[^_]+(?:_late)?_\d+_\d+)_.+", re.I | re.S)
UNFIT = re.compile(r"[\x00-\x1f/\\:_]+")  # in Moodle's names, _ separates the parts


@dataclass(frozen=True)
class Page:
    """One learner's page.

    learner  a grade.Learner
    path     of the page, in the folder
    points, max_points  of all that is graded; max_points 0: nothing is
    """

    learner: object
    path: Path
    points: Decimal
    max_points: int


def moodle_name(page: Page, parts) -> str | None:
    """The name of a learner's page in Moodle's zip, or None: nothing tells their number."""
    found = next(filter(None, (roster.MOODLE.fullmatch(part.name) for part in parts)), None)
    columns = page.learner.columns
    told = re.search(r"\d+$", columns.get("moodle_id") or columns.get("identifier") or "")
    if not (found or told):
        return None
    name, number = (found["name"], found["id"]) if found else (page.learner.name, told[0])
    return f"{UNFIT.sub(' ', name).strip() or 'learner'}_{number}_assignfeedback_file_{PAGE}"


def canvas_name(page: Page, parts) -> str | None:
    """The name of a learner's page, or of the zip with it, in Canvas's zip, or None."""
    for part in parts:
        if found := CANVAS.fullmatch(part.name):
            return f"{found['ids']}_feedback.{'html' if part.kind == 'file' else 'zip'}"
    return None


NAMES = {"moodle": moodle_name, "canvas": canvas_name}
KINDS = (*NAMES, "mail")


def deliver(folder: Path, targets: dict[str, Path], pages: list[Page], parts, everyone=False):
    """Write the files in `targets`, {kind: path}, each with the pages that changed since the last.

    parts     {learner's id: the intake.Parts of what they handed in}, as grading finds them
    everyone  also those that did not change

    Returns {kind: (ids of those who are in it, ids of those for whom there is no name)}. A file for
    nobody is not written.
    """
    record = _record(folder)
    out = {}
    for kind, path in targets.items():
        sent, nameless, names = record.setdefault(kind, {}), [], {}
        for page in pages:
            student = page.learner.student
            digest = hashlib.sha256(page.path.read_bytes()).hexdigest()
            if page.learner.state or not page.max_points:
                continue
            if sent.get(student) == digest and not everyone:
                continue
            if kind in NAMES and not (name := NAMES[kind](page, parts.get(student, ()))):
                nameless.append(student)
                continue
            names[student] = (name if kind in NAMES else "", page)
            sent[student] = digest
        chosen = list(names.values())
        if chosen:
            files.write(path, _zip(chosen) if kind in NAMES else _mail(chosen, folder))
        out[kind] = (list(names), nameless)
    files.write(folder / RECORD, json.dumps(record, indent=1).encode())
    return out


def refuse(paths: list[Path], force: bool) -> None:
    """Raise TitoError when one of these is there already, and `force` is not set."""
    for path in paths:
        if path.is_dir():
            raise UsageError(f"{path} is a folder.", "Name a file.")
        if path.exists() and not force:
            raise UsageError(
                f"{path} is there already.", "Name another place, or write over it with --force."
            )


def _record(folder):
    """What was delivered: {kind: {learner's id: the hash of their page}}."""
    try:
        record = json.loads((folder / RECORD).read_bytes())
        return {kind: sent for kind, sent in record.items() if isinstance(sent, dict)}
    except (OSError, ValueError, AttributeError):
        return {}  # then all are new: better twice than not at all


def _zip(chosen):
    """The bytes of a zip of the pages under these names."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as box:
        for name, page in chosen:
            text = page.path.read_bytes()
            text = _zip([(PAGE, page)]) if name.endswith(".zip") else text
            box.writestr(zipfile.ZipInfo(name, WHEN), text, zipfile.ZIP_DEFLATED)
    return data.getvalue()


def _mail(chosen, folder):
    """The text of the table for a mail merge."""
    rows = [["student", "name", "email", "page", "points", "max_points"]]
    for _, page in chosen:
        learner = page.learner
        rows.append(
            [
                Id(learner.student),
                learner.name,
                Id(learner.columns.get("email") or ""),
                page.path.relative_to(folder).as_posix(),
                late.tidy(page.points),
                page.max_points,
            ]
        )
    return "".join(line(row) for row in rows).encode()
