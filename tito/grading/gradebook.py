"""The operations on a gradebook: what grading and instructors write into it, what is read from it.

One transaction holds one submission: a killed run leaves whole submissions. SQL is in this file,
`enrollment.py` (who is in the class), `database.py` and `tables.py`, nowhere else.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from tito.errors import TitoError
from tito.grading import late
from tito.grading.database import connect, transaction, write
from tito.grading.grade import (
    Change,
    Grade,
    Instructions,
    Learner,
    Standing,
    differences,
    make_extension,
    make_grade,
    parse_points,
    select_check,
)
from tito.grading.result import LessonResult
from tito.grading.roster import in_section
from tito.grading.tables import (
    ATTEMPT,
    CHANGE,
    CUT,
    LEARNER,
    RESULT,
    SECRET,
    TABLES,
    VERSION,
    clean,
    is_page,
    learner_id,
    new_page,
    sql,
)

PAGE = 500  # entries of the history held in memory at a time


class _Row(NamedTuple):
    """What `save` needs of a row of the table `result`."""

    lesson: str
    key: str
    sha256: str
    arrived: datetime | None
    value: dict


class Attempt(NamedTuple):
    """Grading that began on a submission and has not ended.

    number  how often it was begun; 0: it has ended, and there is nothing more to do
    run     the process that began it last, as `run.py` names it; at: when
    """

    number: int
    run: str
    at: datetime


class Gradebook:
    """An open gradebook: `with open_gradebook(...) as book`. A method that writes is a transaction.

    Methods raise TitoError for an unknown learner, lesson or check, and (code 3) for whatever the
    database refuses.
    """

    def __init__(self, engine: sql.Engine, rules: late.Rules):
        self.engine, self.rules = engine, rules

    def copy(self, engine: sql.Engine) -> "Gradebook":
        """The same gradebook in the new, empty database of `engine`."""
        tables = [table for table in TABLES.sorted_tables if table is not VERSION]
        with transaction(self.engine) as database, transaction(engine, writes=True) as target:
            for table in tables:
                rows = database.execute(sql.select(table)).mappings()
                while some := rows.fetchmany(PAGE):
                    target.execute(sql.insert(table), [dict(row) for row in some])
        return Gradebook(engine, self.rules)

    # What grading writes

    def results(self, student: str) -> dict[str, LessonResult]:
        """{lesson: the current result} of a learner; empty for one who has none."""
        query = sql.select(RESULT.c.value).where(RESULT.c.student == learner_id(student))
        with transaction(self.engine) as database:
            results = map(LessonResult.from_json, database.execute(query).scalars())
            return {result.lesson: result for result in results}

    def keys(self) -> dict[str, dict[str, str]]:
        """{learner: {lesson: key}} of every current result: what need not be graded again."""
        keys, query = {}, sql.select(RESULT.c["student", "lesson", "key"])
        with transaction(self.engine) as database:
            for student, lesson, key in database.execute(query):
                keys.setdefault(student, {})[lesson] = key
        return keys

    def attempts(self) -> dict[tuple[str, str], Attempt]:
        """{(learner, work): the Attempt} of what was begun; also of what has ended."""
        with transaction(self.engine) as database:
            return {
                (row.student, row.work): Attempt(row.number, row.run, row.at)
                for row in database.execute(sql.select(ATTEMPT))
            }

    def claim_attempts(
        self,
        works: Iterable[tuple[str, str]],
        run: str,
        claim: Callable[[Attempt | None], bool],
    ) -> list[tuple[bool, Attempt | None]]:
        """Keep that this run grades these submissions: no other claims them meanwhile.

        works  (learner, hash as in `keep_attempts`) of each
        claim  whether it does, given the Attempt of before

        Returns whether each is claimed, and the Attempt of before.
        """
        works = [(learner_id(student), work) for student, work in works]

        def work(database):
            place = sql.tuple_(ATTEMPT.c.student, ATTEMPT.c.work).in_(works)
            rows = database.execute(sql.select(ATTEMPT).where(place).with_for_update())
            before = {(r.student, r.work): Attempt(r.number, r.run, r.at) for r in rows}
            claimed = {one: claim(before.get(one)) for one in works}
            numbers = {one: before[one].number if one in before else 0 for one in works}
            mine = [(*one, max(1, numbers[one])) for one in works if claimed[one]]
            self._keep_attempts(database, mine, run)
            return [(claimed[one], before.get(one)) for one in works]

        return write(self.engine, work)

    def keep_attempts(self, attempts: Iterable[tuple[str, str, int]], run: str) -> None:
        """Keep how often grading of these submissions has begun.

        attempts  (learner, the hash of the submission and of all else that decides its results,
                  how often; 0: it has ended, None: it never began) of each
        """
        write(self.engine, lambda database: self._keep_attempts(database, attempts, run))

    @staticmethod
    def _keep_attempts(database, attempts, run):
        for student, work, number in attempts:
            place = {"student": learner_id(student), "work": work}
            database.execute(sql.delete(ATTEMPT).filter_by(**place))
            if number is not None:
                row = {"number": number, "run": clean(run)[:255], "at": _now()}
                database.execute(sql.insert(ATTEMPT).values(place | row))

    def save(
        self,
        results: list[LessonResult],
        arrived: datetime | None,
        who: str,
        name: str = "",
        why: str = "graded",
        regrade: bool = False,
        work: str | None = None,
    ) -> list[LessonResult]:
        """Keep the results of one learner: all of them, or, when anything stops it, none.

        arrived  when the submission arrived, with a time zone, or None. Of a lesson file with the
                 same bytes as before the earliest arrival counts: handing in a workspace again
                 makes no lesson late that was in it
        name     of the learner; "" leaves what the book has
        regrade  also replace a result of the same key; without it, such a result is left as it is
        work     of an attempt that has ended with these results, see `keep_attempts`

        Returns the results that were kept.
        """
        if len({result.student for result in results}) > 1:
            raise ValueError("save() takes the results of one learner")
        if not results:
            return []
        return write(
            self.engine,
            lambda database: self._save(database, results, arrived, who, name, why, regrade, work),
        )

    def _save(self, database, results, arrived, who, name, why, regrade, work):
        student = learner_id(results[0].student)
        if work:  # it has ended, and what ended before no longer tells what the grades are
            ended = (ATTEMPT.c.number == 0) | (ATTEMPT.c.work == work)
            database.execute(sql.delete(ATTEMPT).where(ATTEMPT.c.student == student, ended))
            row = {"student": student, "work": work, "number": 0, "run": "", "at": _now()}
            database.execute(sql.insert(ATTEMPT).values(row))
        self._remember(database, student, name)
        instructions = Instructions(self._instructions(database, student))
        columns = RESULT.c["lesson", "key", "sha256", "arrived", "value"]
        current = {
            row.lesson: row
            for row in database.execute(sql.select(columns).where(RESULT.c.student == student))
        }
        news, replaced, changes = [], [], []
        for result in results:
            old = current.get(result.lesson)
            if old and old.key == result.key and not regrade:
                continue
            news.append(result)
            replaced += [result.lesson] if old else []
            before = LessonResult.from_json(old.value) if old else None
            since = arrived
            if old and old.sha256 == result.sha256 != "":
                since = min(filter(None, (old.arrived, arrived)), default=None)
            current[result.lesson] = _Row(
                result.lesson, result.key, result.sha256, since, result.as_json()
            )
            changes.append(
                {
                    "student": student,
                    "lesson": result.lesson,
                    "kind": "regraded" if old and old.key == result.key else "graded",
                    "who": clean(who),
                    "at": _now(),
                    "why": clean(why),
                    "text": instructions.describe_overrides(before, result),
                    "old_points": before and instructions.sum_points(before),
                    "new_points": instructions.sum_points(result),
                    "checks": differences(before, result),
                    "replaced": old and old.value,
                }
            )
        if news:
            database.execute(
                sql.delete(RESULT).where(RESULT.c.student == student, RESULT.c.lesson.in_(replaced))
            )
            rows = [
                current[result.lesson]._asdict()
                | {
                    "student": student,
                    "number": result.number,
                    "title": clean(result.title),
                    "max_points": result.max_points,
                    "graded": _now(),
                }
                for result in news
            ]
            database.execute(sql.insert(RESULT), rows)
            database.execute(sql.insert(CHANGE), changes)
        return news

    def remember_roster(self, learners: Iterable) -> None:
        """Keep id, name and columns of these learners (`roster.read_roster`).

        Also of those whom the book has already.
        """

        def work(database):
            for learner in learners:
                self._remember(database, learner_id(learner.student), learner.name, learner.columns)

        write(self.engine, work)

    def _remember(self, database, student, name, columns=None):
        new = {"name": clean(name)} if name else {}
        query = sql.select(LEARNER.c.columns).where(LEARNER.c.student == student)
        before = database.execute(query.with_for_update()).scalar()
        if before is None or columns is not None:
            page = (columns or {}).get(SECRET)
            page = page if is_page(page) else (before or {}).get(SECRET) or new_page()
            # Rosters of several programs add up; when a batch came in, the newest alone says.
            kept = {name: text for name, text in (before or {}).items() if name != "arrived"}
            new["columns"] = kept | (columns or {}) | {SECRET: page}
        if before is None:
            database.execute(sql.insert(LEARNER).values({"student": student, "name": ""} | new))
        elif new:
            database.execute(sql.update(LEARNER).where(LEARNER.c.student == student).values(new))

    # What an instructor writes

    def override(
        self,
        student: str,
        lesson: str,
        points: Decimal | int | float | str | None,
        who: str,
        why: str,
        check: str | None = None,
    ) -> tuple[Decimal, Decimal]:
        """Set the points of a lesson, or of one check of it, by hand; `points` None lifts that.

        points  a number or text such as "7.5", kept to 0.01 point, between 0 and what lesson or
                check can earn: 80 for 8.0 is a slip of the finger. They are final: no lateness is
                taken from them, no grading changes them.
        check   its id, or a part of it that no other check of the lesson has

        Returns (points of the lesson before, points after), before the late rules.
        """
        return write(
            self.engine,
            lambda database: self._override(database, student, lesson, points, who, why, check),
        )

    def _override(self, database, student, lesson, points, who, why, check, repeat=True):
        """What `override` does. Without `repeat`, None where that is set already."""
        learner = self._lock(database, student, who, why)
        query = sql.select(RESULT.c.value).where(
            RESULT.c.student == learner, RESULT.c.lesson == lesson
        )
        value = database.execute(query).scalar()
        if value is None:
            raise TitoError(
                f"{learner} has no grade in {lesson} yet.",
                f"Grade it first, even if nothing was handed in: tito grade SUBMISSIONS {lesson}",
            )
        result = LessonResult.from_json(value)
        instructions = Instructions(self._instructions(database, learner))
        ids = [check.id for check in result.checks]
        if points is None:  # what was set may be of a check that the lesson has no more
            ids += [name for place, name in instructions.overrides if place == lesson and name]
        check_id = check and select_check(check, lesson, list(dict.fromkeys(ids)))
        new = None if points is None else parse_points(points, result, check_id)
        old = instructions.overrides.get((lesson, check_id))
        if not repeat and new == (old and old.points):
            return None
        if new is None and not old:
            raise TitoError(
                f"{learner} has no override of {check_id or lesson} that could be lifted.",
                f"What was set: tito gradebook history {learner}",
            )
        before = instructions.sum_points(result)
        graded = next((one.points for one in result.checks if one.id == check_id), result.points)
        instructions.override(lesson, check_id, new, who, _now(), why)
        after = instructions.sum_points(result)
        self._add_change(
            database,
            learner,
            lesson,
            "override",
            who,
            why,
            f"instead of {old.points} by {old.who}" if old else None,
            check_id=check_id,
            points=new,
            old_points=before,
            new_points=after,
            replaced={"graded": graded},
        )
        return before, after

    def comment(self, student: str, lesson: str | None, text: str | None, who: str) -> None:
        """Tell the learner something about a lesson or (None) in general.

        text  None takes those comments back
        """
        write(self.engine, lambda database: self._comment(database, student, lesson, text, who))

    def _comment(self, database, student, lesson, text, who, repeat=True):
        """What `comment` does. Without `repeat`, False where that was said already."""
        if text is not None and not text.strip():
            raise TitoError("The comment is empty.", "Write what the learner should read.")
        if text is not None and len(text) > CUT:
            raise TitoError(
                f"The comment has {len(text):,} characters, and {CUT:,} are kept.",
                "Say it in several comments.",
            )

        learner = self._lock(database, student, who)
        said = Instructions(self._instructions(database, learner)).comments(lesson)
        if not repeat and (text in [comment.text for comment in said] if text else not said):
            return False
        self._add_change(database, learner, lesson, "comment", who, "", text=text)
        return True

    def extend(
        self,
        student: str,
        lesson: str | None,
        who: str,
        why: str,
        until: datetime | None = None,
        days: int | None = None,
    ) -> None:
        """Give a learner more time for a lesson.

        lesson  None: for all that have no extension of their own
        until   the new due date, with a time zone; or
        days    that many days more, 1 or more; with neither, the extension is taken back
        """
        write(
            self.engine,
            lambda database: self._extend(database, student, lesson, who, why, until, days),
        )

    def _extend(self, database, student, lesson, who, why, until, days, repeat=True):
        """What `extend` does. Without `repeat`, False where that was given already."""
        if until is not None and days is not None:
            raise TitoError(
                f"An extension until {until} and one by {days} days contradict each other.",
                "Give one of the two.",
            )
        if until is not None and until.tzinfo is None:
            raise TitoError(
                f"{until} has no time zone.",
                f"Write it like this: {until.isoformat(timespec='seconds')}+01:00",
            )
        if days is not None and not 1 <= days <= 1000:
            raise TitoError(
                f"An extension by {days} days makes no sense.", "Give between 1 and 1000 days."
            )

        learner = self._lock(database, student, who, why)
        given = Instructions(self._instructions(database, learner)).extensions.get(lesson)
        if not repeat and given == (late.Extension(until, days) if until or days else None):
            return False
        self._add_change(database, learner, lesson, "extension", who, why, until=until, days=days)
        return True

    def apply(self, wishes: Iterable, who: str) -> tuple[int, int]:
        """Do what the lines of a file ask for (`bulk.Wish`): all of it, or, when one cannot be
        done, nothing. What holds already is left as it is.

        Returns (wishes that changed something, wishes that did not). Raises TitoError with every
        line that cannot be done.
        """

        def work(database):
            new, refused, wished = 0, [], list(wishes)
            for wish in wished:
                place, by = (database, wish.student, wish.lesson), (who, wish.why)
                try:
                    if wish.kind == "override":
                        points = self._override(*place, wish.points, *by, wish.check, repeat=False)
                        new += points is not None
                    elif wish.kind == "extension":
                        new += self._extend(*place, *by, wish.until, wish.days, repeat=False)
                    else:
                        new += self._comment(*place, wish.text, who, repeat=False)
                except TitoError as error:
                    refused.append(f"{wish.where}: {error.what} {error.remedy}".rstrip())
            if refused:
                raise TitoError(
                    "\n      ".join(["Nothing was changed.", *refused[:20]])
                    + f"\n      and {len(refused) - 20} more" * (len(refused) > 20),
                    "Mend these lines, then run it again.",
                )
            return new, len(wished) - new

        return write(self.engine, work)

    def standing(self) -> list[Standing]:
        """The overrides that hold, by learner, with what is to be said against each."""
        overridden = sql.select(CHANGE.c.student).where(CHANGE.c.kind == "override").distinct()
        found = []
        with transaction(self.engine) as database:
            for student in sorted(database.execute(overridden).scalars()):
                learner = database.execute(
                    sql.select(LEARNER.c["student", "name"]).where(LEARNER.c.student == student)
                ).one()
                values = database.execute(
                    sql.select(RESULT.c.value).where(RESULT.c.student == student)
                ).scalars()
                instructions = Instructions(self._instructions(database, student))
                found += instructions.standing(learner, map(LessonResult.from_json, values))
        return found

    def _lock(self, database, student, who, why="-"):
        """The learner's id in the book, which nobody else writes about meanwhile.

        Raises TitoError when there is none, or when `who` or `why` is empty.
        """
        if not (who.strip() and why.strip()):
            raise TitoError(
                "Every change of a grade keeps who made it, and why.",
                "Give both: --who NAME --why TEXT",
            )
        self._check_learner(database, student)
        return database.execute(_learner_query(learner_id(student))).scalar_one()

    def _check_learner(self, database, student):
        ids = sql.select(LEARNER.c.student)
        if database.execute(ids.where(LEARNER.c.student == learner_id(student))).first():
            return
        names = database.execute(ids).scalars().all()
        close = difflib.get_close_matches(learner_id(student), names, n=1)
        raise TitoError(
            f"The gradebook has no learner {student!r}.",
            f"Did you mean {close[0]!r}?"
            if close
            else f"It has {len(names)}: `tito gradebook show` lists them, "
            "`tito gradebook roster CSV` adds some.",
        )

    @staticmethod
    def _add_change(database, student, lesson, kind, who, why, text=None, **more):
        database.execute(
            sql.insert(CHANGE).values(
                student=student,
                lesson=lesson,
                kind=kind,
                who=clean(who),
                at=_now(),
                why=clean(why),
                text=text and clean(text),
                **more,
            )
        )

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
        with transaction(self.engine) as database:
            if student is not None:
                self._check_learner(database, student)
                ids = [learner_id(student)]
            else:
                ids = sorted(database.execute(sql.select(LEARNER.c.student)).scalars())
        results = sql.select(RESULT).order_by(RESULT.c.number, RESULT.c.lesson)
        if lesson is not None:
            results = results.where(RESULT.c.lesson == lesson)
        for name in ids:
            learners = sql.select(LEARNER).where(LEARNER.c.student == name)
            with transaction(self.engine) as database:
                row = database.execute(learners).one()
                if section is not None and not in_section(row.columns, section):
                    continue
                rows = database.execute(results.where(RESULT.c.student == name)).all()
                instructions = Instructions(self._instructions(database, name))
            columns = {header: text for header, text in row.columns.items() if header != SECRET}
            learner = Learner(
                row.student,
                row.name,
                columns,
                instructions.comments(None),
                row.columns.get(SECRET, ""),
                row.state or "",
            )
            yield learner, [make_grade(learner, row, instructions, self.rules) for row in rows]

    def history(self, student: str | None = None, lesson: str | None = None) -> Iterator[Change]:
        """The Changes, oldest first: of all, of one learner, of one lesson.

        Those of a lesson come with what was said of all lessons.
        """
        columns = [column for column in CHANGE.c if column.name != "replaced"]
        query = sql.select(*columns).order_by(CHANGE.c.id).limit(PAGE)
        if student is not None:
            with transaction(self.engine) as database:
                self._check_learner(database, student)
            query = query.where(CHANGE.c.student == learner_id(student))
        if lesson is not None:
            query = query.where((CHANGE.c.lesson == lesson) | CHANGE.c.lesson.is_(None))
        last = 0
        while True:
            with transaction(self.engine) as database:
                page = database.execute(query.where(CHANGE.c.id > last)).all()
            for row in page:
                yield Change(
                    row.student,
                    row.lesson,
                    row.check_id,
                    row.kind,
                    row.who,
                    row.at,
                    row.why,
                    row.old_points,
                    row.new_points,
                    row.points,
                    row.text,
                    make_extension(row),
                    row.checks or [],
                )
            if len(page) < PAGE:
                return
            last = page[-1].id

    @staticmethod
    def _instructions(database, student):
        """The entries of the history that still say something, oldest first."""
        columns = CHANGE.c[
            "lesson",
            "check_id",
            "kind",
            "who",
            "at",
            "why",
            "points",
            "text",
            "until",
            "days",
            "replaced",
        ]
        kinds = CHANGE.c.kind.in_(("override", "comment", "extension"))
        query = sql.select(columns).where(CHANGE.c.student == student, kinds).order_by(CHANGE.c.id)
        return database.execute(query).all()


def _learner_query(student):
    """The query of a learner's id.

    Where the database knows such locks, nobody else can write about them meanwhile.
    """
    return sql.select(LEARNER.c.student).where(LEARNER.c.student == student).with_for_update()


def _now():
    return datetime.now(timezone.utc)


@contextmanager
def open_gradebook(
    where: str | Path, rules: late.Rules | None = None, create: bool = True
) -> Iterator[Gradebook]:
    """The Gradebook at `where`, a path or a database URL.

    It is made, or brought forward to this tito's schema, if need be.

    rules   that its grades follow; None: nothing is late
    create  whether to make it where there is none

    Before an older SQLite file is changed, a copy is kept beside it. Raises TitoError (2) when
    there is none and `create` is not set, for a newer schema, and for whatever is no gradebook;
    (3) when the database cannot be reached.
    """
    with connect(where, create) as engine:
        yield Gradebook(engine, rules or late.Rules())
