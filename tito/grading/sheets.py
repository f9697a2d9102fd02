"""Sheets of questions on the code of submissions in a gradebook, for conversations: one page with
the questions, one with the answers. See `jail/sheet.py`.
"""

import functools
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tito import files
from tito.errors import MachineError
from tito.grading.gradebook import html_pages
from tito.grading.gradebook.exports import Selection
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.setting import LEVELS, Setting
from tito.grading.submission import Submission, Upload
from tito.html import render

if TYPE_CHECKING:
    from tito.grading.jail.sheet import Sheet
    from tito.grading.workers import Worker
LETTERS = "abcd"
FROM = {  # where an answer comes from: {kind: words}; "": of the others
    "changed": "This value came from the learner's own process, which could send another one.",
    "": "The course's checks decided this when the sheet was made.",
}


class SheetMaker:
    """Makes sheets, one after the other, in a judge process that starts with the first."""

    def __init__(self, book: Gradebook, setting: Callable[[], Setting]) -> None:
        self.book, self.setting, self.lock = book, setting, threading.Lock()

    @functools.cached_property
    def worker(self) -> "Worker":
        """Raises MachineError without a sandbox."""
        from tito.grading.workers import WORKERS

        worker = WORKERS.begin(self.setting())
        if worker.level() == LEVELS[-1]:
            raise MachineError(
                "There are no questions: they are made by running the learners' code, and no "
                "sandbox works here.",
                "On Linux, install bubblewrap, or use a newer kernel.",
            )
        return worker

    def sheet(self, student: str, lesson: str) -> "Sheet":
        """The sheet of a submission in the gradebook, on the learner's own earlier lessons."""
        from tito.grading.jail.sheet import Sheet
        from tito.grading.workers import JudgeDied

        with self.lock, TemporaryDirectory() as folder:
            for grade in self.book.grades(student):
                sha256 = grade.result.sha256
                if sha256 and (code := self.book.code(sha256)):
                    files.write_private(Path(folder) / f"{grade.lesson}_dev.py", code)
            upload = Upload("work", Path(folder), "folder", datetime.now(timezone.utc))
            try:
                return self.worker.sheet(Submission(student, "", (upload,)), lesson)
            except JudgeDied:
                return Sheet(problem="The code takes too long, or too much memory, to look at.")


def shown(sheet: "Sheet", hide: Callable[[str], str] = str) -> dict[str, Any]:
    """What a template needs to show a sheet. hide: as `submission_page.ShownLearner` has it."""
    return {"sheet": sheet, "letters": LETTERS, "sources": FROM, "hide": hide}


def tree(
    chosen: Selection, maker: SheetMaker, report: Callable[[str, int, int], None]
) -> Iterator[tuple[str, str]]:
    """(path in the folder, page) of each submission that was handed in, learner by learner.

    report  called with a learner and how many sheets of how many are made
    """
    rows = [
        (learner, grade)
        for learner, grades in chosen.learners()
        for grade in grades
        if grade.row.sha256
    ]
    for done, (learner, grade) in enumerate(rows):
        report(learner.student, done, len(rows))
        words = {"learner": learner, "grade": grade, "course": chosen.course}
        sheet = shown(maker.sheet(learner.student, grade.lesson))
        name = f"{grade.number:02}_{grade.lesson}/{html_pages.file_name(learner.student)}.html"
        yield name, render("gradebook/sheet.html", **words, **sheet)
