"""The grades as nbgrader's database has them, so that its formgrader and its exporters show them.

An assignment and a notebook for each lesson, and a grade cell for the visible and one for the
hidden checks of each exercise, and one for each answer: named as in what `tito release --nbgrader`
writes. Points that were set by hand for a check, or given for an answer, are nbgrader's manual
score, and an answer that nobody has judged needs a manual grade there, too; what a lesson was set
to is extra credit of its first cell, above or below; what lateness took is its penalty.
"""

import os
import sqlite3
import sys
import tempfile
import warnings
from contextlib import closing, contextmanager
from datetime import timezone
from pathlib import Path

from tito import files
from tito.errors import MachineError, UsageError
from tito.grading.gradebook.rubric import WAITING


def write(chosen, path, force=False):
    """Write the grades that an `exports.Selection` chooses into nbgrader's database at `path`, new
    or, with `force`, one that is there: what it has of others stays. Returns how many grades.

    Raises TitoError without nbgrader.
    """
    lessons = chosen.lessons()
    if path.exists() and not (force and path.is_file()):
        raise UsageError(
            f"{path} is there already.",
            "Name another place, or add the grades to that database with --force.",
        )
    if path.exists():
        _refuse_foreign(path)
    try:
        from nbgrader.api import Gradebook
    except ModuleNotFoundError:
        raise MachineError(
            "nbgrader is not installed here, and only it can write its database.",
            "pip install nbgrader, then run it again.",
        ) from None
    if path.exists():
        return _fill(Gradebook, chosen, path, lessons)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(files.SUFFIX, f".{path.name}.", path.parent)  # nobody else's
    os.close(handle)
    try:
        count = _fill(Gradebook, chosen, Path(part), lessons)
        os.replace(part, path)
    finally:
        Path(part).unlink(missing_ok=True)
    return count


def _refuse_foreign(path):
    """Raise TitoError for a file that is no database of nbgrader's."""
    try:
        with closing(sqlite3.connect(path)) as database:
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    except sqlite3.DatabaseError:
        tables = {""}
    if tables and not {"student", "assignment", "submitted_notebook"} <= tables:
        raise UsageError(
            f"{path} is no database of nbgrader's; it was left as it is.", "Name another place."
        )


def _fill(gradebook, chosen, path, lessons):
    """Add the grades to the database at `path`. gradebook: nbgrader's class. Returns how many."""
    count = 0
    with _alembic(), gradebook(f"sqlite:///{path.absolute()}", course_id=chosen.course) as book:
        for name in lessons:
            book.update_or_create_assignment(name)
            book.update_or_create_notebook(name, name)
        cells = {}
        for learner, grades in chosen.learners():
            _student(book, learner)
            for grade in grades:
                _grade(book, cells, grade)
                count += 1
        book.db.commit()
    return count


@contextmanager
def _alembic():
    """nbgrader starts the program alembic, which stands beside this Python, by its name alone; and
    it is too old for its SQLAlchemy, which warns of that.
    """
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{before}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        os.environ["PATH"] = before


def _student(book, learner):
    first, _, last = learner.name.rpartition(" ")
    if ", " in learner.name:  # as Canvas writes them
        last, _, first = learner.name.partition(", ")
    book.update_or_create_student(
        learner.student,
        first_name=learner.columns.get("first_name") or first,
        last_name=learner.columns.get("last_name") or last,
        email=learner.columns.get("email") or None,
    )


def _grade(book, cells, grade):
    """Add one Grade. cells: {(lesson, cell): its most points} that the database has."""
    from nbgrader.api import Grade

    lesson, parts = grade.lesson, {}
    for check in grade.result.checks:
        parts.setdefault(f"check-{check.exercise}{'-hidden' * check.hidden}", []).append(check)
    answers = {f"question-{one.question}": one for one in grade.answers}
    kinds = {name: ("code", sum(one.max_points for one in part)) for name, part in parts.items()}
    kinds |= {name: ("markdown", one.max_points) for name, one in answers.items()}
    for name, (kind, most) in kinds.items():
        if cells.get((lesson, name)) != most:
            book.update_or_create_grade_cell(name, lesson, lesson, max_score=most, cell_type=kind)
            cells[lesson, name] = most
    arrived = grade.arrived and grade.arrived.astimezone(timezone.utc).replace(tzinfo=None)
    submission = book.update_or_create_submission(lesson, grade.student, timestamp=arrived)
    (notebook,) = (one for one in submission.notebooks if one.name == lesson)
    known = {one.name: one for one in notebook.grades}
    for name in kinds:
        if name not in known:
            cell = book.find_grade_cell(name, lesson, lesson)
            known[name] = Grade(cell_id=cell.id, notebook=notebook)
    for name, one in answers.items():
        cell = known[name]
        cell.auto_score, cell.manual_score = None, float(one.points) if one.judgement else None
        cell.needs_manual_grade = one.state == WAITING
    for name, checks in parts.items():
        cell = known[name]
        cell.auto_score = float(sum(check.points for check in checks))
        by_hand = any(check.id in grade.check_overrides for check in checks)
        cell.manual_score = float(sum(map(grade.check_points, checks))) if by_hand else None
        cell.extra_credit, cell.needs_manual_grade = None, False
    earned = sum(float(grade.check_points(check)) for check in grade.result.checks)
    earned += sum(float(one.points) for one in grade.answers)
    if grade.override and parts:
        known[next(iter(parts))].extra_credit = float(grade.points) - earned
    notebook.late_submission_penalty = (
        0.0 if grade.override else max(0.0, earned - float(grade.points))
    )
