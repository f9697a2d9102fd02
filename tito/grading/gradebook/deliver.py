"""Deliver feedback pages: a zip for each system that takes one (see `lms/`), and a table for a mail
merge, a CSV file with a line for each learner: student, name, email, page, points, max_points.

Each contains only pages that changed since the last delivery of its kind, for learners who are in
the class. The file `RECORD` in the folder of the pages saves what was delivered.
"""

import hashlib
import json
import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tito import files
from tito.csv_tables import Id, line
from tito.grading.gradebook import late
from tito.grading.gradebook.feedback import FeedbackPage
from tito.grading.lms import SYSTEMS
from tito.grading.submission import Upload

RECORD = ".delivered.json"
PAGE = "feedback.html"
MAIL = "mail"  # the kind of the table


Parts = Sequence[Upload]  # of what a learner handed in


@dataclass
class Delivery:
    """One file. students: ids of the learners in it; nameless: of those without a name there."""

    students: list[str] = field(default_factory=list)
    nameless: list[str] = field(default_factory=list)


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
            name = _name(kind, page, parts.get(student, ()))
            if name is None:
                delivery.nameless.append(student)
                continue
            chosen.append((name, page))
            delivery.students.append(student)
            sent[student] = digest
        if chosen:
            files.write_private(path, _mail(chosen, folder) if kind == MAIL else _zip(chosen))
        deliveries[kind] = delivery
    files.write_private(folder / RECORD, json.dumps(record, indent=1))
    return deliveries


def _name(kind: str, page: FeedbackPage, parts: Parts) -> str | None:
    """The name of a learner's page in the zip for a system; None: nothing says it."""
    learner = page.learner
    return "" if kind == MAIL else SYSTEMS[kind].feedback(learner.name, learner.columns, parts)


def _record(folder: Path) -> dict[str, dict[str, str]]:
    """What was delivered: {kind: {learner's id: the hash of their page}}."""
    try:
        record = json.loads((folder / RECORD).read_bytes())
        return {kind: sent for kind, sent in record.items() if isinstance(sent, dict)}
    except (OSError, ValueError, AttributeError):
        return {}  # then all are new: better twice than not at all


def forget(folder: Path, students: Collection[str]) -> None:
    """Keep of the record of deliveries only these learners."""
    if (folder / RECORD).exists():
        record = {
            kind: {student: digest for student, digest in sent.items() if student in students}
            for kind, sent in _record(folder).items()
        }
        files.write_private(folder / RECORD, json.dumps(record, indent=1))


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
