"""Deliver feedback pages: zips for Moodle and Canvas, and a table for a mail merge.

moodle  `NAME_NUMBER_assignfeedback_file_feedback.html` for each learner: what Moodle's "Upload
        multiple feedback files in a zip" finds them by. The number is in Moodle's download
        (`NAME_NUMBER_assignsubmission_file`), or in the roster's column moodle_id or identifier;
        each assignment of Moodle has other numbers
canvas  the names in Canvas's download, which hold the numbers of learner and file: Canvas takes
        no others. It turns each page into a comment with the name of the file that was handed in;
        so the comment on a zip is a zip that holds the page
mail    a CSV file with a line for each learner: student, name, email, page, points, max_points

Each contains only pages that changed since the last delivery of its kind, for learners who are in
the class. The file `RECORD` in the folder of the pages saves what was delivered.
"""

import hashlib
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tito import files
from tito.csv_tables import Id, line
from tito.errors import UsageError
from tito.grading import roster
from tito.grading.gradebook import late
from tito.grading.gradebook.feedback import FeedbackPage
from tito.grading.submission import Upload

RECORD = ".delivered.json"
PAGE = "feedback.html"
CANVAS = re.compile(r"(?P<ids>[^_]+(?:_late)?_\d+_\d+)_.+", re.I | re.S)
UNFIT = re.compile(r"[\x00-\x1f/\\:_]+")  # in Moodle's names, _ separates the parts


Parts = Sequence[Upload]  # of what a learner handed in


@dataclass
class Delivery:
    """One file. students: ids of the learners in it; nameless: of those without a name there."""

    students: list[str] = field(default_factory=list)
    nameless: list[str] = field(default_factory=list)


def moodle_name(page: FeedbackPage, parts: Parts) -> str | None:
    """The name of a learner's page in Moodle's zip, or None: nothing tells their number."""
    for part in parts:
        if scheme := roster.MOODLE.fullmatch(part.name):
            return _moodle_name(scheme["name"], scheme["id"])
    columns = page.learner.columns
    number = re.search(r"\d+$", columns.get("moodle_id") or columns.get("identifier") or "")
    return _moodle_name(page.learner.name, number[0]) if number else None


def _moodle_name(name: str, number: str) -> str:
    return f"{UNFIT.sub(' ', name).strip() or 'learner'}_{number}_assignfeedback_file_{PAGE}"


def canvas_name(page: FeedbackPage, parts: Parts) -> str | None:
    """The name of a learner's page, or of the zip with it, in Canvas's zip, or None."""
    for part in parts:
        if scheme := CANVAS.fullmatch(part.name):
            return f"{scheme['ids']}_feedback.{'html' if part.kind == 'file' else 'zip'}"
    return None


NAMES = {"moodle": moodle_name, "canvas": canvas_name}
KINDS = (*NAMES, "mail")


def deliver(
    folder: Path,
    targets: dict[str, Path],
    pages: list[FeedbackPage],
    parts: Mapping[str, Parts],
    everyone: bool = False,
) -> dict[str, Delivery]:
    """Write the files in `targets`, {kind: path}, each with the pages that changed since its last
    delivery.

    parts     {learner's id: the parts of what they handed in}, as grading finds them
    everyone  include pages that did not change

    Returns {kind: Delivery}. A file without pages is not written.
    """
    record, deliveries = _record(folder), {}
    pages = [page for page in pages if page.max_points and not page.learner.state]
    for kind, path in targets.items():
        sent, delivery = record.setdefault(kind, {}), Delivery()
        chosen: list[tuple[str, FeedbackPage]] = []
        for page in pages:
            student = page.learner.student
            digest = hashlib.sha256(page.path.read_bytes()).hexdigest()
            if sent.get(student) == digest and not everyone:
                continue
            name = NAMES[kind](page, parts.get(student, ())) if kind in NAMES else ""
            if name is None:
                delivery.nameless.append(student)
                continue
            chosen.append((name, page))
            delivery.students.append(student)
            sent[student] = digest
        if chosen:
            files.write_private(path, _zip(chosen) if kind in NAMES else _mail(chosen, folder))
        deliveries[kind] = delivery
    files.write_private(folder / RECORD, json.dumps(record, indent=1))
    return deliveries


def refuse(paths: list[Path], force: bool) -> None:
    """Raise UsageError when one of these is there already, and `force` is not set."""
    for path in paths:
        if path.is_dir():
            raise UsageError(f"{path} is a folder.", "Name a file.")
        if path.exists() and not force:
            raise UsageError(
                f"{path} is there already.", "Name another file, or overwrite it with --force."
            )


def _record(folder: Path) -> dict[str, dict[str, str]]:
    """What was delivered: {kind: {learner's id: the hash of their page}}."""
    try:
        record = json.loads((folder / RECORD).read_bytes())
        return {kind: sent for kind, sent in record.items() if isinstance(sent, dict)}
    except (OSError, ValueError, AttributeError):
        return {}  # then all are new: better twice than not at all


def _zip(chosen: list[tuple[str, FeedbackPage]]) -> bytes:
    """The bytes of a zip of the pages under these names."""
    contents = {
        name: _zip([(PAGE, page)]) if name.endswith(".zip") else page.path.read_bytes()
        for name, page in chosen
    }
    return files.archive(contents, zipfile.ZIP_DEFLATED)


def _mail(chosen: list[tuple[str, FeedbackPage]], folder: Path) -> bytes:
    """The text of the table for a mail merge."""
    rows: list[list[Any]] = [["student", "name", "email", "page", "points", "max_points"]]
    for _, page in chosen:
        learner, path = page.learner, page.path.relative_to(folder).as_posix()
        points = late.tidy(page.points)
        ids = [Id(learner.student), learner.name, Id(learner.email)]
        rows.append([*ids, path, points, page.max_points])
    return "".join(line(row) for row in rows).encode()
