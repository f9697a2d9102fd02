"""An open gradebook: `tito grade` writes results into it, and all commands read from it.

Each submission is saved in one transaction, so a killed run leaves no partial submission.
`result_store.py` saves results. `changes.py` (points, comments, extensions), `answers.py`
(judgements) and `enrollment.py` (the class) save changes by instructors. Only these modules and
those that they import contain SQL.
"""

import secrets
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tito.grading.gradebook import copying, late
from tito.grading.gradebook.counting import counting_grade
from tito.grading.gradebook.database import (
    WRITING,
    connect,
    read,
    sound_rows,
    split_rows,
    transaction,
    write,
)
from tito.grading.gradebook.grade import ClassMember, Grade, OverrideReview, ResultRow
from tito.grading.gradebook.history import (
    ENTRY_COLUMNS,
    Change,
    PointsChange,
    about_lesson,
    change_of,
    instructions_by_learner,
)
from tito.grading.gradebook.instructions import Instructions
from tito.grading.gradebook.learners import LearnerRow, check_learner
from tito.grading.gradebook.result_store import RESULT_COLUMNS, Saving, result_rows, save
from tito.grading.gradebook.tables import (
    BEGUN,
    CHANGE,
    LEARNER,
    RESULT,
    SECRET,
    SETTING,
    TABLES,
    TEXT,
    WORK,
    DamagedValue,
    learner_id,
    sql,
)
from tito.grading.result import LessonResult, Unchanged
from tito.grading.roster import in_section

AT_A_TIME = 50  # learners whose grades are in memory
PAGE = 500  # entries of the history in memory
Results = dict[str, list[ResultRow]]  # {lesson: rows}
Keys = dict[str, dict[str, set[str]]]  # {learner: {lesson: keys of the results}}
# {(learner, see run.work_hash): its results}
Works = dict[tuple[str, str], list[Unchanged]]


class Gradebook:
    """An open gradebook: `with open_gradebook(...) as book`. A method that writes is a transaction.

    Methods raise UsageError for an unknown learner, and MachineError when the database refuses.
    """

    def __init__(self, engine: sql.Engine, rules: late.Rules) -> None:
        self.engine, self.rules = engine, rules
        self._moved: dict[tuple[str, str], PointsChange] = {}  # since it was opened

    @property
    def points_lost(self) -> list[PointsChange]:
        """The grades that fell since this gradebook was opened, through changes saved by it."""
        return sorted(change for change in self._moved.values() if change.new < change.old)

    def note_points(self, moved: Iterable[PointsChange]) -> None:
        """Remember these changes, which were written, for `points_lost`."""
        for change in moved:
            first = self._moved.get((change.student, change.lesson), change)
            self._moved[change.student, change.lesson] = change._replace(old=first.old)

    @contextmanager
    def copied(self) -> Iterator["Gradebook"]:
        """A temporary copy of this gradebook, for a dry run; without the graded texts, which are
        most of its bytes: no grade depends on them.
        """
        tables = [table for table in TABLES.sorted_tables if table not in (BEGUN, TEXT)]
        with (
            tempfile.TemporaryDirectory(prefix="tito-trial-") as folder,
            connect(Path(folder) / "gradebook.db") as engine,
        ):
            with transaction(self.engine) as database, transaction(engine, WRITING) as target:
                target.execute(sql.delete(SETTING))
                for table in tables:
                    copying.copy_rows(database, target, table)
            yield Gradebook(engine, self.rules)

    # What grading reads and writes

    def graded(self) -> tuple[Works, Keys]:
        """The graded submissions whose results are all in the book; and the keys of all results."""
        keys: Keys = {}
        works: Works = {}
        # First the works: one whose results are deleted meanwhile is graded again.
        with transaction(self.engine, begin="") as database:
            graded, _ = split_rows(database, sql.select(WORK), WORK)  # others are graded again
        query = sql.select(*RESULT.c["student", "lesson", "key"])
        for student, lesson, key in read(self.engine, query, RESULT):
            keys.setdefault(student, {}).setdefault(lesson, set()).add(key)
        for row in graded:
            mine, seen = keys.get(row.student, {}), [Unchanged(*result) for result in row.seen]
            if all(result.key in mine.get(result.lesson, ()) for result in seen):
                works[row.student, row.work] = seen
        return works, keys

    def save(self, saving: Saving) -> list[LessonResult]:
        """Keep the results of a submission; see Saving.

        Earlier submissions of a lesson are kept; which one counts is decided when grades are read.
        Returns the results that were written; [] if the gradebook has them all.
        """
        if {result.student for result in saving.results} - {saving.student}:
            raise ValueError("save() takes the results of one learner")
        if not saving.files:
            return []
        written, moved = write(self.engine, lambda database: save(database, self.rules, saving))
        self.note_points(moved)
        return written

    # What is read

    def lessons(self) -> dict[str, tuple[int, str, int]]:
        """{lesson: (number, title, max_points)} of what was graded, in order.

        Where results differ, the newest's.
        """
        columns = RESULT.c["lesson", "number", "title", "max_points"]
        query = sql.select(*columns, sql.func.max(RESULT.c.graded).label("graded"))
        with transaction(self.engine, begin="") as database:
            try:
                rows = list(database.execute(query.group_by(*columns)))
            except DamagedValue:  # it can be the greatest
                rows = sound_rows(database, sql.select(*columns, RESULT.c.graded), RESULT)[0]
        newest = {row.lesson: row for row in sorted(rows, key=lambda row: row.graded)}
        in_order = sorted(newest.values(), key=lambda row: (row.number, row.lesson))
        return {row.lesson: (row.number, row.title, row.max_points) for row in in_order}

    def headers(self) -> list[str]:
        """The column headers of the rosters, each once."""
        rows = read(self.engine, sql.select(LEARNER.c.columns), LEARNER)
        headers = dict.fromkeys(header for row in rows for header in row.columns)
        return [header for header in headers if header != SECRET]

    def learners(self) -> list[ClassMember]:
        """The learners, by id, without their comments."""
        rows = read(self.engine, sql.select(LEARNER).order_by(LEARNER.c.student), LEARNER)
        return [_member_of(LearnerRow(*row)) for row in rows]

    def grades(
        self, student: str | None = None, lesson: str | None = None, section: str | None = None
    ) -> Iterator[Grade]:
        """The grades, by learner and lesson number: of all, of one learner, of one lesson, of the
        learners in one section.
        """
        for _, grades in self.by_learner(student, lesson, section):
            yield from grades

    def grades_of(
        self, students: Iterable[str], lessons: Iterable[str], brief: bool = False
    ) -> Iterator[Grade]:
        """The grades of these lessons of these learners, in their order."""
        ids = [learner_id(student) for student in students]
        for _, grades in self._by_learner(ids, lessons, brief):
            yield from grades

    def by_learner(
        self,
        student: str | None = None,
        lesson: str | None = None,
        section: str | Collection[str] | None = None,
        brief: bool = False,
    ) -> Iterator[tuple[ClassMember, list[Grade]]]:
        """(learner, their grades) one after the other, also learners without a grade.

        section  only who is in this section of the roster, or in one of these
        brief    the grades lack their results, which are most of a gradebook, see `ResultRow.value`

        No transaction is open between two learners, so that writers need not wait.
        """
        if student is not None:
            with transaction(self.engine) as database:
                check_learner(database, student)
            ids = [learner_id(student)]
        else:
            rows = read(self.engine, sql.select(*LEARNER.c["student", "columns"]), LEARNER)
            ids = sorted(
                row.student for row in rows if section is None or in_section(row.columns, section)
            )
        yield from self._by_learner(ids, None if lesson is None else [lesson], brief)

    def _by_learner(
        self, ids: list[str], lessons: Iterable[str] | None, brief: bool
    ) -> Iterator[tuple[ClassMember, list[Grade]]]:
        lessons = None if lessons is None else list(lessons)
        for first in range(0, len(ids), AT_A_TIME):
            some = ids[first : first + AT_A_TIME]
            with transaction(self.engine) as database:
                loaded = list(self._load(database, some, lessons, brief))
            for learner, grades, instructions in loaded:
                yield _member_of(learner, instructions), list(grades.values())

    def _load(
        self,
        database: sql.Connection,
        ids: list[str],
        lessons: list[str] | None,
        brief: bool = False,
    ) -> Iterator[tuple[LearnerRow, dict[str, Grade], Instructions]]:
        """(learner, {lesson: Grade}, Instructions) of these learners, in their order, without those
        who were merged meanwhile, or of whom a row is damaged.
        """
        query = sql.select(LEARNER).where(LEARNER.c.student.in_(ids))
        rows, damaged = sound_rows(database, query, LEARNER)
        learners = {row.student: LearnerRow(*row) for row in rows}
        instructions, more = instructions_by_learner(database, ids)
        damaged |= more
        results: dict[str, Results] = {}
        columns = RESULT_COLUMNS[:-1] if brief else RESULT_COLUMNS
        query = sql.select(RESULT.c.student, *columns).where(RESULT.c.student.in_(ids))
        if lessons is not None:
            query = query.where(RESULT.c.lesson.in_(lessons))
        query = query.order_by(RESULT.c.number, RESULT.c.lesson)
        rows, more = sound_rows(database, query, RESULT)
        damaged |= more
        for student, *values in rows:
            row = ResultRow(*values)
            results.setdefault(student, {}).setdefault(row.lesson, []).append(row)
        for student in results if brief else ():
            by_check = instructions[student].lessons_by_check & results[student].keys()
            if by_check:  # few
                results[student] |= result_rows(database, student, by_check)
        for student in ids:
            if (learner := learners.get(student)) and student not in damaged:
                about = instructions[student]
                grades = {
                    lesson: counting_grade(learner, mine, about, self.rules)
                    for lesson, mine in results.get(student, {}).items()
                }
                yield learner, grades, about

    def grades_within(
        self, database: sql.Connection, student: str, lessons: Iterable[str] | None = None
    ) -> dict[str, Grade]:
        """{lesson: Grade} of a learner's lessons (None: of all), within a transaction."""
        wanted = None if lessons is None else list(lessons)
        loaded = self._load(database, [student], wanted)
        return next((grades for _, grades, _ in loaded), {})

    def reviews(self) -> list[OverrideReview]:
        """The current overrides, by learner, with the doubts about each."""
        query = sql.select(CHANGE.c.student).where(CHANGE.c.kind == "override").distinct()
        students = [row.student for row in read(self.engine, query, CHANGE)]
        if not students:
            return []
        with transaction(self.engine) as database:
            loaded = list(self._load(database, sorted(students), None))
        reviews: list[OverrideReview] = []
        for learner, grades, instructions in loaded:
            results = [grade.result for grade in grades.values()]
            reviews += instructions.review(learner.student, learner.name, results)
        return reviews

    def history(
        self, student: str | None = None, lesson: str | None = None, after: int = 0
    ) -> Iterator[Change]:
        """The entries of the history, oldest first: of all, of one learner, of one lesson, or those
        after the entry with this number.

        The entries of a lesson include the entries about all lessons.
        """
        query = sql.select(*ENTRY_COLUMNS).order_by(CHANGE.c.id).limit(PAGE)
        if student is not None:
            with transaction(self.engine) as database:
                check_learner(database, student)
            query = query.where(CHANGE.c.student == learner_id(student))
        if lesson is not None:
            query = query.where((CHANGE.c.lesson == lesson) | CHANGE.c.lesson.is_(None))
        last = after
        while True:
            with transaction(self.engine) as database:
                page, damaged = sound_rows(database, query.where(CHANGE.c.id > last), CHANGE)
            for row in page:
                yield change_of(row)
            if len(page) < PAGE and not (page and damaged):
                return
            last = page[-1].id

    def last_change(self, student: str | None = None, lesson: str | None = None) -> int:
        """The number of the newest entry of the history: of all, or about a learner's lesson, or
        about all their lessons; 0 without any.
        """
        query = sql.select(sql.func.max(CHANGE.c.id))
        if student is not None:
            query = query.where(*about_lesson(learner_id(student), lesson))
        return read(self.engine, query, CHANGE)[0][0] or 0

    def changed_since(self, number: int) -> list[tuple[int, str]]:
        """[(id, learner)] of the entries of the history with a greater number than this."""
        query = sql.select(*CHANGE.c["id", "student"]).where(CHANGE.c.id > number)
        return [tuple(row) for row in read(self.engine, query.order_by(CHANGE.c.id), CHANGE)]

    def secret(self, name: str) -> str:
        """A secret that belongs to this gradebook, made when it is first asked for."""

        def work(database: sql.Connection) -> str:
            query = sql.select(SETTING.c.value).filter_by(name=name)
            if known := database.execute(query).scalar():
                return str(known)
            new = secrets.token_hex(16)
            database.execute(sql.insert(SETTING).values(name=name, value=new))
            return new

        return write(self.engine, work)

    def code(self, sha256: str) -> str | None:
        """The text with this SHA-256, such as a graded lesson file; None if it was not kept."""
        with transaction(self.engine) as database:
            return database.execute(sql.select(TEXT.c.data).filter_by(sha256=sha256)).scalar()

    def texts(self, hashes: Iterable[str]) -> dict[str, str]:
        """{SHA-256: text} of those of these texts that the gradebook has."""
        wanted = sorted({sha256 for sha256 in hashes if sha256})
        texts: dict[str, str] = {}
        with transaction(self.engine) as database:
            for start in range(0, len(wanted), PAGE):
                query = sql.select(TEXT).where(TEXT.c.sha256.in_(wanted[start : start + PAGE]))
                texts |= {row.sha256: row.data for row in split_rows(database, query, TEXT)[0]}
        return texts


def _member_of(row: LearnerRow, instructions: Instructions | None = None) -> ClassMember:
    columns = {header: text for header, text in row.columns.items() if header != SECRET}
    comments = list(instructions.comments(None)) if instructions else []
    page = row.columns.get(SECRET, "")
    return ClassMember(
        row.student, row.name, columns, comments=comments, page=page, state=row.state or ""
    )


@contextmanager
def open_gradebook(
    where: str | Path, rules: late.Rules | None = None, create: bool = True, reads: bool = False
) -> Iterator[Gradebook]:
    """Open the gradebook at `where`, a path or a database URL.

    rules   that its grades follow; None: nothing is late
    create  create it if it does not exist
    reads   write nothing: a gradebook that does not exist is empty

    Raises UsageError if it does not exist and `create` is not set, if it has another schema, or if
    it is not a gradebook; MachineError if the database cannot be reached.
    """
    with connect(where, create, reads) as engine:
        yield Gradebook(engine, rules or late.Rules())
