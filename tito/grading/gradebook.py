"""The operations on a gradebook: what grading and instructors write into it, what is read from it.

One transaction holds one submission: a killed run leaves whole submissions. SQL is in this file,
`database.py` and `tables.py`, nowhere else.
"""

import difflib
from collections import namedtuple
from contextlib import contextmanager
from datetime import datetime, timezone

from tito.errors import TitoError
from tito.grading import late
from tito.grading.database import connect, transaction, write
from tito.grading.grade import (
    Change,
    Instructions,
    Learner,
    differences,
    extension_of,
    make_grade,
    parse_points,
    select_check,
)
from tito.grading.result import LessonResult
from tito.grading.tables import CHANGE, LEARNER, RESULT, clean, learner_id, sql

PAGE = 500  # entries of the history held in memory at a time

_Row = namedtuple("_Row", "lesson key sha256 arrived value")


class Gradebook:
    """An open gradebook; use it with `with open_gradebook(...) as book`. Every method is one transaction.

    Methods raise TitoError for an unknown learner, lesson or check, and (code 3) for whatever the database refuses.
    """

    def __init__(self, engine, rules):
        self.engine, self.rules = engine, rules

    # What grading writes

    def keys(self):
        """{learner: {lesson: key}} of every current result: what need not be graded again."""
        with transaction(self.engine) as database:
            found = {}
            for student, lesson, key in database.execute(
                sql.select(RESULT.c["student", "lesson", "key"])
            ):
                found.setdefault(student, {})[lesson] = key
        return found

    def save(self, results, arrived, who, name="", why="graded", regrade=False):
        """Keep the LessonResults of one learner: all of them, or, when anything stops it, none.

        arrived  datetime with time zone at which the submission arrived, or None. Of a lesson file with the same bytes
                 as before the earliest arrival counts: handing in a workspace again makes no lesson late that was in it
        name     of the learner; "" leaves what the book has
        regrade  also replace a result of the same key; without it, such a result is left as it is

        Returns the results that were kept.
        """
        if len({result.student for result in results}) > 1:
            raise ValueError("save() takes the results of one learner")
        if not results:
            return []
        return write(
            self.engine,
            lambda database: self._save(database, results, arrived, who, name, why, regrade),
        )

    def _save(self, database, results, arrived, who, name, why, regrade):
        student = learner_id(results[0].student)
        self._remember(database, student, name)
        instructions = Instructions(self._instructions(database, student))
        columns = RESULT.c["lesson", "key", "sha256", "arrived", "value"]
        current = {
            row.lesson: row
            for row in database.execute(sql.select(columns).where(RESULT.c.student == student))
        }
        kept, replaced, changes = [], [], []
        for result in results:
            old = current.get(result.lesson)
            if old and old.key == result.key and not regrade:
                continue
            kept.append(result)
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
                    "text": instructions.kept(before, result),
                    "old_points": before and instructions.standing(before),
                    "new_points": instructions.standing(result),
                    "checks": differences(before, result),
                    "replaced": old and old.value,
                }
            )
        if kept:
            database.execute(
                sql.delete(RESULT).where(RESULT.c.student == student, RESULT.c.lesson.in_(replaced))
            )
            database.execute(
                sql.insert(RESULT),
                [
                    current[one.lesson]._asdict()
                    | {
                        "student": student,
                        "number": one.number,
                        "title": clean(one.title),
                        "max_points": one.max_points,
                        "graded": _now(),
                    }
                    for one in kept
                ],
            )
            database.execute(sql.insert(CHANGE), changes)
        return kept

    def remember_roster(self, learners):
        """Keep id, name and columns of these learners (roster.read_roster), also of those whom the book has already."""

        def work(database):
            for learner in learners:
                self._remember(database, learner_id(learner.student), learner.name, learner.columns)

        write(self.engine, work)

    def _remember(self, database, student, name, columns=None):
        new = ({"name": clean(name)} if name else {}) | (
            {"columns": columns} if columns is not None else {}
        )
        if not database.execute(_locked(student)).first():
            database.execute(
                sql.insert(LEARNER).values({"student": student, "name": "", "columns": {}} | new)
            )
        elif new:
            database.execute(sql.update(LEARNER).where(LEARNER.c.student == student).values(new))

    # What an instructor writes

    def override(self, student, lesson, points, who, why, check=None):
        """Set the points of a lesson, or of one check of it, by hand; `points` None lifts that.

        points  a number or text such as "7.5", kept to 0.01 point, between 0 and what lesson or check can earn: 80 for
                8.0 is a slip of the finger. They are final: no lateness is taken from them, no grading changes them.
        check   its id, or a part of it that no other check of the lesson has

        Returns (points of the lesson before, points after), before the late rules.
        """

        def work(database):
            place = self._place(database, student, who, why)
            query = sql.select(RESULT.c.value).where(
                RESULT.c.student == place, RESULT.c.lesson == lesson
            )
            value = database.execute(query).scalar()
            if value is None:
                raise TitoError(
                    f"{place} has no grade in {lesson} yet.",
                    f"Grade it first, even if nothing was handed in: tito grade SUBMISSIONS {lesson}",
                )
            result = LessonResult.from_json(value)
            instructions = Instructions(self._instructions(database, place))
            ids = [one.id for one in result.checks]
            if points is None:  # what was set may be of a check that the lesson has no more
                ids += [one for where, one in instructions.overrides if where == lesson and one]
            which = check and select_check(check, lesson, list(dict.fromkeys(ids)))
            new = None if points is None else parse_points(points, result, which)
            if new is None and (lesson, which) not in instructions.overrides:
                raise TitoError(
                    f"{place} has no override of {which or lesson} that could be lifted.",
                    f"What was set: tito gradebook history {place}",
                )
            before = instructions.standing(result)
            instructions.override(lesson, which, new, who, _now(), why)
            after = instructions.standing(result)
            self._note(
                database,
                place,
                lesson,
                "override",
                who,
                why,
                check_id=which,
                points=new,
                old_points=before,
                new_points=after,
            )
            return before, after

        return write(self.engine, work)

    def comment(self, student, lesson, text, who):
        """Tell the learner something about a lesson or (None) in general; text None takes those comments back."""
        if text is not None and not text.strip():
            raise TitoError("The comment is empty.", "Write what the learner should read.")

        def work(database):
            self._note(
                database, self._place(database, student, who), lesson, "comment", who, "", text=text
            )

        write(self.engine, work)

    def extend(self, student, lesson, who, why, until=None, days=None):
        """Give a learner more time for a lesson, or (lesson None) for all that have no extension of their own.

        until  the new due date, a datetime with a time zone; or
        days   that many days more, 1 or more; with neither, the extension is taken back
        """
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

        def work(database):
            self._note(
                database,
                self._place(database, student, who, why),
                lesson,
                "extension",
                who,
                why,
                until=until,
                days=days,
            )

        write(self.engine, work)

    def _place(self, database, student, who, why="-"):
        """The learner's id in the book. Raises TitoError when there is none, or when `who` or `why` is empty."""
        if not (who.strip() and why.strip()):
            raise TitoError(
                "Every change of a grade keeps who made it, and why.",
                "Give both: --who NAME --why TEXT",
            )
        self._check_learner(database, student)
        return database.execute(_locked(learner_id(student))).scalar_one()

    def _check_learner(self, database, student):
        if not database.execute(
            sql.select(LEARNER.c.student).where(LEARNER.c.student == learner_id(student))
        ).first():
            known = database.execute(sql.select(LEARNER.c.student)).scalars().all()
            close = difflib.get_close_matches(learner_id(student), known, n=1)
            others = f"It has {len(known)}: `tito gradebook show` lists them, `tito gradebook roster CSV` adds some."
            raise TitoError(
                f"The gradebook has no learner {student!r}.",
                f"Did you mean {close[0]!r}?" if close else others,
            )

    @staticmethod
    def _note(database, student, lesson, kind, who, why, text=None, **more):
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

    def lessons(self):
        """{lesson: (number, title, max_points)} of what was graded, in order; where results differ, the newest's."""
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

    def headers(self):
        """The column headers of the rosters, each once."""
        with transaction(self.engine) as database:
            rows = database.execute(sql.select(LEARNER.c.columns)).scalars()
            return list(dict.fromkeys(header for columns in rows for header in columns))

    def rows(self, student=None, lesson=None):
        """The Grades, by learner and lesson number: of all, of one learner, of one lesson.

        One learner's are in memory at a time.
        """
        for _, grades in self.by_learner(student, lesson):
            yield from grades

    def by_learner(self, student=None, lesson=None):
        """(Learner, their Grades) one after the other, those without a grade too.

        No transaction is open between two learners, so whoever writes meanwhile need not wait.
        """
        with transaction(self.engine) as database:
            if student is not None:
                self._check_learner(database, student)
                ids = [learner_id(student)]
            else:
                ids = sorted(database.execute(sql.select(LEARNER.c.student)).scalars())
        for one in ids:
            with transaction(self.engine) as database:
                learner = database.execute(
                    sql.select(LEARNER).where(LEARNER.c.student == one)
                ).one()
                query = (
                    sql.select(RESULT)
                    .where(RESULT.c.student == one)
                    .order_by(RESULT.c.number, RESULT.c.lesson)
                )
                found = database.execute(
                    query if lesson is None else query.where(RESULT.c.lesson == lesson)
                ).all()
                instructions = Instructions(self._instructions(database, one))
            yield (
                Learner(
                    learner.student, learner.name, learner.columns, instructions.comments(None)
                ),
                [make_grade(learner, row, instructions, self.rules) for row in found],
            )

    def history(self, student=None, lesson=None):
        """The Changes, oldest first: of all, of one learner, of one lesson (with what was said of all lessons)."""
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
                    extension_of(row),
                    row.checks or [],
                )
            if len(page) < PAGE:
                return
            last = page[-1].id

    @staticmethod
    def _instructions(database, student):
        """The entries of the history that still say something, oldest first."""
        columns = CHANGE.c[
            "lesson", "check_id", "kind", "who", "at", "why", "points", "text", "until", "days"
        ]
        kinds = CHANGE.c.kind.in_(("override", "comment", "extension"))
        query = sql.select(columns).where(CHANGE.c.student == student, kinds).order_by(CHANGE.c.id)
        return database.execute(query).all()


def _locked(student):
    """Finds a learner and, where the database knows such locks, keeps others from writing about them meanwhile."""
    return sql.select(LEARNER.c.student).where(LEARNER.c.student == student).with_for_update()


def _now():
    return datetime.now(timezone.utc)


@contextmanager
def open_gradebook(where, rules=None, create=True):
    """The Gradebook at `where`, a path or a database URL, made or brought to this tito's schema if need be.

    rules   late.Rules that its grades follow; None: nothing is late
    create  whether to make it where there is none

    Before an older SQLite file is changed, a copy is kept beside it. Raises TitoError (2) when there is none and
    `create` is not set, for a newer schema, and for whatever is no gradebook; (3) when the database cannot be reached.
    """
    with connect(where, create) as engine:
        yield Gradebook(engine, rules or late.Rules())
