"""A gradebook: opening it, what a run of `tito grade` writes into it, and what is read from it.

One transaction holds one submission: a killed run leaves whole submissions. How its results are
kept is in `result_store.py`, what it has begun in `attempts.py`. Persons write by way of
`overrides.py` (overrides, comments, extensions), `answers.py` (what they judge), `enrollment.py`
(who is in the class), `claims.py` and `appeals.py` (who looks at what, what was asked). All of them
need `learners.py` and `history.py`. SQL is in these files, `leases.py` (who grades now),
`database.py` and `tables.py`, nowhere else.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from tito.grading.arrival import Arrived, merged
from tito.grading.gradebook import late
from tito.grading.gradebook.attempts import Attempt, claim_attempts, keep_attempts, read_attempts
from tito.grading.gradebook.database import connect, transaction, write
from tito.grading.gradebook.grade import (
    Change,
    Grade,
    Instructions,
    Learner,
    arrival_of,
    counting_grade,
    submitted,
)
from tito.grading.gradebook.history import (
    ENTRY_COLUMNS,
    Fall,
    about_lesson,
    change_of,
    instruction_entries,
    instructions_about,
    rubric_items,
)
from tito.grading.gradebook.learners import check_learner, remember_learner
from tito.grading.gradebook.result_store import (
    ResultRow,
    Saving,
    group_by_lesson,
    result_keys,
    result_rows,
    save,
)
from tito.grading.gradebook.tables import (
    ATTEMPT,
    CHANGE,
    CODE,
    LEARNER,
    RESULT,
    RUN,
    SECRET,
    SETTING,
    TABLES,
    VERSION,
    learner_id,
    sql,
)
from tito.grading.result import LessonResult, Seen, unpacked
from tito.grading.roster import in_section

PAGE = 500  # entries of the history held in memory at a time


class Gradebook:
    """An open gradebook: `with open_gradebook(...) as book`. A method that writes is a transaction.

    Methods raise UsageError for an unknown learner, and MachineError for what the database refuses.
    """

    def __init__(self, engine: sql.Engine, rules: late.Rules):
        self.engine, self.rules = engine, rules
        self._moved: dict[tuple[str, str], Fall] = {}  # since it was opened
        self._arrivals: dict[tuple[str, str, str], Arrived] | None = None  # see `_tells_more`

    @property
    def fell(self) -> list[Fall]:
        """The grades that count less than when this book was opened, by what was saved since."""
        return sorted(one for one in self._moved.values() if one.new < one.old)

    def copy(self, engine: sql.Engine) -> "Gradebook":
        """The same gradebook in the new, empty database of `engine`, into which nobody grades, and
        without the graded files: they are most of its bytes, and no grade follows from them.
        """
        left_out = (VERSION, RUN, CODE)
        tables = [table for table in TABLES.sorted_tables if table not in left_out]
        with transaction(self.engine) as database, transaction(engine, writes=True) as target:
            for table in tables:
                rows = database.execute(sql.select(table)).mappings()
                while some := rows.fetchmany(PAGE):
                    target.execute(sql.insert(table), [dict(row) for row in some])
            target.execute(sql.update(ATTEMPT).values(run=""))
        return Gradebook(engine, self.rules)

    # What grading writes

    def results(self, student: str) -> dict[tuple[str, str], LessonResult]:
        """{(lesson, SHA-256 of the file): the result that counts for this file} of a learner."""
        with transaction(self.engine) as database:
            by_lesson = group_by_lesson(result_rows(database, learner_id(student)))
        return {
            (lesson, one.row.sha256): LessonResult.from_json(one.row.value)
            for lesson, rows in by_lesson.items()
            for one in submitted(rows)
        }

    def attempts(self) -> dict[tuple[str, str], Attempt]:
        """{(learner, work): the Attempt} of what was begun; also of what has ended."""
        with transaction(self.engine) as database:
            return read_attempts(database)

    def claim_attempts(
        self,
        works: Iterable[tuple[str, str]],
        run: str,
        claim: Callable[[dict[str, set[str]], Attempt | None], bool],
    ) -> list[tuple[bool, Attempt | None, dict[str, set[str]]]]:
        """Keep that this run grades these submissions: no other claims them meanwhile.

        works  (learner, hash as in `keep_attempts`) of each
        claim  whether it does, given {lesson: keys} of the learner's results and the Attempt of
               before

        Returns, of each, whether it is claimed, the Attempt of before, and those keys.
        """
        works = [(learner_id(student), work) for student, work in works]
        return write(self.engine, lambda database: claim_attempts(database, works, run, claim))

    def keys(self) -> dict[str, dict[str, set[str]]]:
        """{learner: {lesson: keys}} of every result."""
        with transaction(self.engine) as database:
            return result_keys(database)

    def keep_attempts(self, attempts: Iterable[tuple[str, str, int | None]], run: str) -> None:
        """Keep how often grading of these submissions has begun.

        attempts  (learner, the hash of the submission and of all else that decides its results,
                  how often; None: it never began) of each
        """
        write(self.engine, lambda database: keep_attempts(database, attempts, run))

    def save(
        self,
        results: list[LessonResult],
        arrived: datetime | Arrived | dict[str, Arrived] | None,
        who: str,
        name: str = "",
        why: str = "graded",
        regrade: bool = False,
        work: str | None = None,
        seen: Iterable[Seen] = (),
        anew: bool = False,
    ) -> list[LessonResult]:
        """Keep the results of one learner: all of them, or, when anything stops it, none.

        arrived  when the submission arrived: a time with a zone, None, an Arrived, or {lesson:
                 Arrived}. Of a lesson file with the same bytes as before the earliest arrival
                 counts: handing in a workspace again makes no lesson late that was in it
        name     of the learner; "" leaves what the book has
        regrade  also replace a result of the same key; without it, such a result is left as it is
        work     of an attempt that has ended with these results, see `keep_attempts`
        seen     of the same learner: results that the book has already, handed in once more
        anew     what earlier runs knew of the arrival of these files is forgotten

        Earlier submissions of a lesson are kept: which of them counts is decided when grades are
        read. `fell` has the grades that count less than before. Returns the results that were
        kept.
        """
        if len({result.student for result in results}) > 1:
            raise ValueError("save() takes the results of one learner")
        if not results:
            return []
        return self._keep(
            Saving(
                results[0].student,
                arrived,
                who,
                name,
                why,
                results=results,
                seen=list(seen),
                regrade=regrade,
                work=work,
                anew=anew,
            )
        )

    def saw(
        self,
        student: str,
        seen: Iterable[Seen],
        arrived: datetime | Arrived | dict[str, Arrived] | None,
        who: str,
        why: str = "graded",
        anew: bool = False,
        work: str | None = None,
    ) -> None:
        """Keep when files arrived that are graded already; as `save`, without a result."""
        self._keep(Saving(student, arrived, who, why=why, seen=list(seen), work=work, anew=anew))

    def _keep(self, saving):
        if not saving.results and not saving.work and not self._tells_more(saving):
            return []
        kept, moved = write(self.engine, lambda database: save(database, self.rules, saving))
        self.move(moved)
        return kept

    def move(self, moved: Iterable[Fall]) -> None:
        """Keep these Falls, or rises, for `fell`: they were written."""
        for one in moved:
            first = self._moved.get((one.student, one.lesson), one)
            self._moved[one.student, one.lesson] = one._replace(old=first.old)

    def _tells_more(self, saving):
        """Whether these arrivals change what the book knew when it was first asked: a run with
        nothing to do writes nothing. What others add meanwhile, they add to the same rows.
        """
        if self._arrivals is None:
            names = ("arrived", "how", "late", "fetched", "latest")
            query = sql.select(*(RESULT.c[name] for name in ("student", "lesson", "key", *names)))
            with transaction(self.engine) as database:
                rows = database.execute(query.where(RESULT.c.sha256 != "")).all()
            self._arrivals = {row[:3]: arrival_of(row) for row in rows}
        student = learner_id(saving.student)
        return any(
            known != (new if saving.anew else merged(known, new))
            for one, new in [(one, saving.arrival(one.lesson)) for one in saving.seen]
            if (known := self._arrivals.get((student, one.lesson, one.key)))
        )

    def remember_roster(self, learners: Iterable) -> None:
        """Keep id, name and columns of these learners (`roster.read_roster`).

        Also of those whom the book has already.
        """

        def work(database):
            for learner in learners:
                remember_learner(
                    database, learner_id(learner.student), learner.name, learner.columns
                )

        write(self.engine, work)

    # What is read

    def lessons(self) -> dict[str, tuple[int, str, int]]:
        """{lesson: (number, title, max_points)} of what was graded, in order.

        Where results differ, the newest's.
        """
        latest = sql.func.max(RESULT.c.graded).label("graded")
        newest = sql.select(RESULT.c.lesson, latest).group_by(RESULT.c.lesson).subquery()
        query = (
            sql.select(RESULT.c["lesson", "number", "title", "max_points"])
            .distinct()
            .join(
                newest, (RESULT.c.lesson == newest.c.lesson) & (RESULT.c.graded == newest.c.graded)
            )
        )
        with transaction(self.engine) as database:
            rows = sorted(database.execute(query).all(), key=lambda row: (row.number, row.lesson))
        return {row.lesson: (row.number, row.title, row.max_points) for row in rows}

    def headers(self) -> list[str]:
        """The column headers of the rosters, each once."""
        with transaction(self.engine) as database:
            rows = database.execute(sql.select(LEARNER.c.columns)).scalars()
            headers = dict.fromkeys(header for columns in rows for header in columns)
        return [header for header in headers if header != SECRET]

    def rows(
        self, student: str | None = None, lesson: str | None = None, section: str | None = None
    ) -> Iterator[Grade]:
        """The Grades, by learner and lesson number: of all, of one learner, of one lesson, of the
        learners in one section.

        One learner's are in memory at a time.
        """
        for _, grades in self.by_learner(student, lesson, section):
            yield from grades

    def by_learner(
        self, student: str | None = None, lesson: str | None = None, section: str | None = None
    ) -> Iterator[tuple[Learner, list[Grade]]]:
        """(Learner, their Grades) one after the other, those without a grade too.

        section  only who is in this section of the roster

        No transaction is open between two learners, so whoever writes meanwhile need not wait.
        """
        for row, by_lesson, instructions in self._each_learner(student, lesson, section):
            learner = _learner_of(row, instructions.comments(None))
            grades = [
                counting_grade(learner, mine, instructions, self.rules)
                for mine in by_lesson.values()
            ]
            yield learner, grades

    def histories(
        self, lesson: str | None = None, section: str | None = None
    ) -> Iterator[tuple[str, list[tuple[datetime, Grade]]]]:
        """(lesson, [(when, the Grade that counted from then on)]) of each lesson of each learner in
        the class, who has not left it: an entry for each submission, the earliest first.

        when  it arrived; where nobody knows, when it was fetched or graded
        """
        for row, by_lesson, instructions in self._each_learner(None, lesson, section):
            if row.state:
                continue
            for name, rows in by_lesson.items():
                told, some = [], []
                for one in sorted(submitted(rows), key=lambda each: each.order):
                    some += [each for each in rows if each.sha256 == one.row.sha256]
                    when = one.arrived.when or one.arrived.fetched or one.row.graded
                    told.append((when, counting_grade(row, some, instructions, self.rules)))
                yield name, told

    def _each_learner(self, student, lesson, section):
        """(row of `learner`, {lesson: rows of `result`}, Instructions) one after the other."""
        with transaction(self.engine) as database:
            if student is not None:
                check_learner(database, student)
                ids = [learner_id(student)]
            else:
                ids = sorted(database.execute(sql.select(LEARNER.c.student)).scalars())
        results = sql.select(RESULT).order_by(RESULT.c.number, RESULT.c.lesson)
        if lesson is not None:
            results = results.where(RESULT.c.lesson == lesson)
        for name in ids:
            learners = sql.select(LEARNER).where(LEARNER.c.student == name)
            with transaction(self.engine) as database:
                row = database.execute(learners).first()
                if row is None:  # merged into another since the ids were read
                    continue
                if section is not None and not in_section(row.columns, section):
                    continue
                rows = database.execute(results.where(RESULT.c.student == name)).all()
                instructions = instructions_about(database, name)
            yield row, group_by_lesson(rows), instructions

    def grades(
        self, database: sql.Connection, student: str, lessons: Iterable[str] | None = None
    ) -> dict[str, Grade]:
        """{lesson: Grade} of a learner's lessons (None: of all), within a transaction."""
        learner = database.execute(sql.select(LEARNER).filter_by(student=student)).one()
        instructions = instructions_about(database, student)
        return {
            lesson: counting_grade(learner, rows, instructions, self.rules)
            for lesson, rows in group_by_lesson(result_rows(database, student, lessons)).items()
        }

    def standing(self, students: Iterable[str], lessons: Iterable[str]) -> Iterator[Grade]:
        """The Grades of these lessons of these learners, in their order; those of PAGE learners are
        in memory at a time.
        """
        students, lessons = [learner_id(student) for student in students], set(lessons)
        for start in range(0, len(students), PAGE):
            some = students[start : start + PAGE]
            wanted, said = {student: {} for student in some}, {}
            with transaction(self.engine) as database:
                query = sql.select(LEARNER).where(LEARNER.c.student.in_(some))
                learners = {row.student: row for row in database.execute(query)}
                items = rubric_items(database)
                for entry in instruction_entries(database, students=some):
                    said.setdefault(entry.student, []).append(entry)
                query = sql.select(
                    RESULT.c.student, *(RESULT.c[name] for name in ResultRow._fields)
                )
                query = query.where(RESULT.c.student.in_(some), RESULT.c.lesson.in_(lessons))
                for student, *values in database.execute(query.order_by(RESULT.c.number)):
                    wanted[student].setdefault(values[0], []).append(ResultRow(*values))
            for student, by_lesson in wanted.items():
                instructions = Instructions(said.get(student, ()), items)
                for rows in by_lesson.values():
                    yield counting_grade(learners[student], rows, instructions, self.rules)

    def history(self, student: str | None = None, lesson: str | None = None) -> Iterator[Change]:
        """The Changes, oldest first: of all, of one learner, of one lesson.

        Those of a lesson come with what was said of all lessons.
        """
        query = sql.select(*ENTRY_COLUMNS).order_by(CHANGE.c.id).limit(PAGE)
        if student is not None:
            with transaction(self.engine) as database:
                check_learner(database, student)
            query = query.where(CHANGE.c.student == learner_id(student))
        if lesson is not None:
            query = query.where((CHANGE.c.lesson == lesson) | CHANGE.c.lesson.is_(None))
        last = 0
        while True:
            with transaction(self.engine) as database:
                page = database.execute(query.where(CHANGE.c.id > last)).all()
            for row in page:
                yield change_of(row)
            if len(page) < PAGE:
                return
            last = page[-1].id

    def last_change(self, student: str, lesson: str | None) -> int:
        """A number that grows with each entry of the history about a lesson of a learner, or about
        all their lessons; 0 without any.
        """
        query = sql.select(sql.func.max(CHANGE.c.id))
        query = query.where(*about_lesson(learner_id(student), lesson))
        with transaction(self.engine) as database:
            return database.execute(query).scalar() or 0

    def changed_since(self, number: int) -> list[tuple[int, str]]:
        """[(id, learner)] of the entries of the history with a greater number than this."""
        query = sql.select(CHANGE.c["id", "student"]).where(CHANGE.c.id > number)
        with transaction(self.engine) as database:
            return [tuple(row) for row in database.execute(query.order_by(CHANGE.c.id))]

    def learners(self) -> list[Learner]:
        """The Learners, by id, without their comments."""
        with transaction(self.engine) as database:
            rows = database.execute(sql.select(LEARNER).order_by(LEARNER.c.student)).all()
        return [_learner_of(row) for row in rows]

    def secret(self, name: str) -> str:
        """A secret that belongs to this gradebook, made when it is first asked for."""

        def work(database):
            query = sql.select(SETTING.c.value).filter_by(name=name)
            if known := database.execute(query).scalar():
                return known
            new = secrets.token_hex(16)
            database.execute(sql.insert(SETTING).values(name=name, value=new))
            return new

        return write(self.engine, work)

    def code(self, sha256: str) -> str | None:
        """The text of a lesson file that was graded, by its SHA-256; None where it was not kept:
        the gradebook then was made by an earlier tito.
        """
        with transaction(self.engine) as database:
            data = database.execute(sql.select(CODE.c.data).filter_by(sha256=sha256)).scalar()
        return None if data is None else unpacked(data)


def _learner_of(row, comments=()):
    """The Learner of a row of the table `learner`."""
    columns = {header: text for header, text in row.columns.items() if header != SECRET}
    page = row.columns.get(SECRET, "")
    return Learner(row.student, row.name, columns, list(comments), page, row.state or "")


@contextmanager
def open_gradebook(
    where: str | Path,
    rules: late.Rules | None = None,
    create: bool = True,
    reads: bool = False,
) -> Iterator[Gradebook]:
    """The Gradebook at `where`, a path or a database URL.

    It is made, or brought forward to this tito's schema, if need be.

    rules   that its grades follow; None: nothing is late
    create  whether to make it where there is none
    reads   nothing is going to be written, and nothing at `where` changes: an older SQLite file
            is read in a copy, one that is not there is empty

    Before an older SQLite file is changed, a copy is kept beside it. Raises UsageError when
    there is none and `create` is not set, for a newer schema, for an older one that cannot be
    read as it is, and for whatever is no gradebook; (3) when the database cannot be reached.
    """
    with connect(where, create, reads) as engine:
        yield Gradebook(engine, rules or late.Rules())
