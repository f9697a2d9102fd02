"""The database of a class: every learner's results, what the instructor set by hand, and who changed what when.

Three tables. `learner`: who is in the class. `result`: the one current result of a learner's lesson. `change`: an entry
for each change of a grade, comment or extension, never edited; overrides, comments and extensions are read from it, so
the history cannot disagree with the grades. A result that is replaced stays in the entry that tells of it.

SQLite by default, any database that SQLAlchemy knows by URL. One transaction holds one submission: a killed run leaves
whole submissions. SQL is here and in `migrations/`, nowhere else. What lateness costs is computed when grades are read
(`late.py`) and never stored, so a changed rule or extension counts at once. The points in the history are those before
the late rules.
"""

import difflib
import json
import os
import re
import sqlite3
import tempfile
from collections import namedtuple
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

from tito.errors import TitoError
from tito.grading import late
from tito.grading.result import LessonResult

try:
    import sqlalchemy as sql
    from sqlalchemy import exc
except ModuleNotFoundError:
    raise TitoError(
        "The gradebook needs SQLAlchemy, which is not installed here.",
        "In the course's folder: bin/setup instructor",
        3,
    ) from None

MIGRATIONS = Path(__file__).parent / "migrations"
HEAD = "0001"  # the newest file in migrations/versions; a test holds the two together
VERSION_TABLE = "tito_gradebook"  # where alembic keeps the version: what tells a gradebook from any other database
UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # no database takes all of these
BUSY_SECONDS = 60  # to wait for another process that writes
LONGEST = 500  # characters of a learner's id: a file name of 255 bytes fits, with every byte escaped or not
PAGE = 500  # entries of the history held in memory at a time


class Points(sql.types.TypeDecorator):
    """Points as a Decimal of whole hundredths, stored as an integer: SQLite knows no decimal fractions."""

    impl, cache_ok = sql.Integer, True

    def process_bind_param(self, value, dialect):
        return None if value is None else int(Decimal(value) * 100)

    def process_result_value(self, value, dialect):
        return None if value is None else late.tidy(Decimal(value) / 100)


class Moment(sql.types.TypeDecorator):
    """A time, stored in UTC; read with its time zone."""

    impl, cache_ok = sql.DateTime, True

    def process_bind_param(self, value, dialect):
        return None if value is None else value.astimezone(timezone.utc).replace(tzinfo=None)

    def process_result_value(self, value, dialect):
        return None if value is None else value.replace(tzinfo=timezone.utc)


class Json(sql.types.TypeDecorator):
    """Plain data as ASCII text: a learner's message may hold what databases refuse."""

    impl, cache_ok = sql.Text, True

    def process_bind_param(self, value, dialect):
        return None if value is None else json.dumps(value, separators=(",", ":"))

    def process_result_value(self, value, dialect):
        return None if value is None else json.loads(value)


TABLES = sql.MetaData()
LEARNER = sql.Table(
    "learner",
    TABLES,
    sql.Column("student", sql.String(LONGEST), primary_key=True),
    sql.Column("name", sql.Text, nullable=False),
    sql.Column("columns", Json, nullable=False),  # of the roster: {header: text}
)
RESULT = sql.Table(
    "result",
    TABLES,
    sql.Column("student", sql.String(LONGEST), sql.ForeignKey("learner.student"), primary_key=True),
    sql.Column("lesson", sql.String(100), primary_key=True),
    sql.Column("number", sql.Integer, nullable=False),
    sql.Column("title", sql.Text, nullable=False),
    sql.Column("max_points", sql.Integer, nullable=False),
    sql.Column("key", sql.String(255), nullable=False),
    sql.Column("sha256", sql.String(64), nullable=False),
    sql.Column("arrived", Moment),
    sql.Column("graded", Moment, nullable=False),
    sql.Column("value", Json, nullable=False),  # LessonResult.as_json()
)
CHANGE = sql.Table(
    "change",
    TABLES,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("student", sql.String(LONGEST), sql.ForeignKey("learner.student"), nullable=False),
    sql.Column("lesson", sql.String(100)),  # NULL: all lessons
    sql.Column("check_id", sql.Text),  # of an override of a single check
    sql.Column(
        "kind", sql.String(20), nullable=False
    ),  # graded, regraded, override, comment, extension
    sql.Column("who", sql.Text, nullable=False),
    sql.Column("at", Moment, nullable=False),
    sql.Column("why", sql.Text, nullable=False),
    sql.Column("old_points", Points),
    sql.Column("new_points", Points),
    sql.Column("points", Points),  # of an override; NULL lifts it
    sql.Column(
        "text", sql.Text
    ),  # of a comment, NULL takes the comments back; of a grade, what else there is to say
    sql.Column("until", Moment),  # of an extension; it or days, neither takes it back
    sql.Column("days", sql.Integer),
    sql.Column(
        "checks", Json
    ),  # of a grade: [{id, name, old, new}], the checks whose points changed
    sql.Column("replaced", Json),  # of a grade: the result before
    sql.Index("change_of_learner", "student", "lesson"),
)


@dataclass(frozen=True)
class Override:
    """Points set by hand, of a lesson or of one check. They are final: no late rule and no grading changes them."""

    points: Decimal
    who: str
    when: datetime
    why: str


@dataclass(frozen=True)
class Comment:
    """What an instructor tells a learner."""

    text: str
    who: str
    when: datetime


@dataclass
class Learner:
    """One learner.

    name      "" when nobody gave one
    columns   the roster's row: {header: text}
    comments  those that are about no single lesson
    """

    student: str
    name: str
    columns: dict
    comments: list = field(default_factory=list)


@dataclass
class Grade:
    """The grade of one lesson of one learner, as it stands: what `show`, the exports and the feedback read.

    result           the LessonResult, as graded
    override         the Override of the whole lesson, or None
    check_overrides  {check id: Override}, of checks that `result` has
    arrived          when it was handed in, or None when nobody knows
    due              the date that counts for this learner, extension included, or None
    extension        late.Extension or None
    late_days        started days after `due` and the grace
    penalty_percent  what lateness takes from the graded points; 0 under an override of the lesson
    late_reason      both in words: "2 days late: -20 %", "2 days late" where that costs nothing, "" in time
    comments         Comments about this lesson, oldest first
    before_late      points before the late rules, overrides included
    points           the points that count: a Decimal of at most two places, written 8 or 7.5
    max_points       of the lesson
    graded           when it was graded

    All times have a time zone. Names, messages and comments are text from others: escape them wherever they are shown.
    """

    student: str
    name: str
    lesson: str
    number: int
    title: str
    result: LessonResult
    override: Override | None
    check_overrides: dict
    arrived: datetime | None
    due: datetime | None
    extension: late.Extension | None
    late_days: int
    penalty_percent: Decimal
    late_reason: str
    comments: list
    before_late: Decimal
    points: Decimal
    max_points: int
    graded: datetime

    def check_points(self, check):
        """The points of one CheckResult of `result` that count: overridden or earned, before the late rules."""
        return (
            self.check_overrides[check.id].points
            if check.id in self.check_overrides
            else Decimal(check.points)
        )

    def as_json(self):
        """The keys of `tito grade --json`, with the points that count, and what else is known about this grade."""
        number, value = late.plain_number, self.result.as_json()
        for check, one in zip(value["checks"], self.result.checks):
            check |= {"graded_points": check["points"], "points": number(self.check_points(one))}
        return value | {
            "name": self.name,
            "points": number(self.points),
            "graded_points": self.result.points,
            "before_late": number(self.before_late),
            "late_days": self.late_days,
            "penalty_percent": number(self.penalty_percent),
            "late_reason": self.late_reason,
            "arrived": _iso(self.arrived),
            "due": _iso(self.due),
            "graded": _iso(self.graded),
            "override": _plain(self.override),
            "check_overrides": {
                check: _plain(override) for check, override in self.check_overrides.items()
            },
            "comments": [
                {"text": one.text, "who": one.who, "when": _iso(one.when)} for one in self.comments
            ],
        }


@dataclass(frozen=True)
class Change:
    """An entry of the history.

    lesson      None: all lessons
    check       the id of the check that was overridden, or None
    kind        "graded", "regraded" (the same submission and checks once more), "override", "comment" or "extension"
    when        with time zone, UTC
    old_points  of the lesson, before the late rules; None when there were none
    points      that an override sets; None lifts it
    text        of a comment, None takes the comments back; with a grade, what else there is to say
    extension   late.Extension, or None: taken back
    checks      [{"id", "name", "old", "new"}]: the checks whose points changed; None where there was no such check
    """

    student: str
    lesson: str | None
    check: str | None
    kind: str
    who: str
    when: datetime
    why: str
    old_points: Decimal | None
    new_points: Decimal | None
    points: Decimal | None
    text: str | None
    extension: late.Extension | None
    checks: list

    def as_json(self):
        points = {key: getattr(self, key) for key in ("old_points", "new_points", "points")}
        extension = self.extension and {
            "until": _iso(self.extension.until),
            "days": self.extension.days,
        }
        numbers = {
            key: None if value is None else late.plain_number(value)
            for key, value in points.items()
        }
        return vars(self) | numbers | {"when": _iso(self.when), "extension": extension}


def _plain(override):
    return override and vars(override) | {
        "points": late.plain_number(override.points),
        "when": _iso(override.when),
    }


def _iso(when):
    return when and when.isoformat(timespec="seconds")


def standing(result, override, check_overrides):
    """Points of a lesson before the late rules."""
    if override:
        return override.points
    return late.tidy(_earned(result, check_overrides) + _given(check_overrides))


def _given(check_overrides):
    """What was set by hand: what lateness cannot take from."""
    return sum((one.points for one in check_overrides.values()), Decimal(0))


def _earned(result, check_overrides):
    """What was graded and is not overridden: what lateness can take from."""
    return Decimal(
        max(
            0,
            result.points
            - sum(check.points for check in result.checks if check.id in check_overrides),
        )
    )


_Row = namedtuple("_Row", "lesson key sha256 arrived value")


class Gradebook:
    """An open gradebook; use it with `with open_gradebook(...) as book`. Every method is one transaction.

    Methods raise TitoError for an unknown learner, lesson or check, and (code 3) for whatever the database refuses.
    """

    def __init__(self, engine, rules):
        self.engine, self.rules = engine, rules

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.engine.dispose()

    @contextmanager
    def _transaction(self, writes=False):
        try:
            with self.engine.connect() as database:
                database.execution_options(tito_writes=writes)
                with database.begin():
                    yield database
        except exc.IntegrityError:
            raise
        except exc.DBAPIError as error:
            reason = " ".join(str(error.orig).split())
            raise TitoError(
                f"The gradebook {shown(self.engine.url)} does not work: {reason}.",
                "Whole submissions are kept. Mend that and run it again.",
                3,
            ) from None

    def _write(self, work):
        """The result of `work(database)` in a transaction.

        Where a database lets two processes add the same row, the second of them tries again.
        """
        for attempts_left in (2, 1, 0):
            try:
                with self._transaction(writes=True) as database:
                    return work(database)
            except exc.IntegrityError:
                if not attempts_left:
                    raise

    # What grading writes

    def keys(self):
        """{learner: {lesson: key}} of every current result: what need not be graded again."""
        with self._transaction() as database:
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
        return self._write(
            lambda database: self._save(database, results, arrived, who, name, why, regrade)
        )

    def _save(self, database, results, arrived, who, name, why, regrade):
        student = learner_id(results[0].student)
        self._remember(database, student, name)
        instructions = _Instructions(self._instructions(database, student))
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
                    "checks": _differences(before, result),
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

        self._write(work)

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
            instructions = _Instructions(self._instructions(database, place))
            ids = [one.id for one in result.checks]
            if points is None:  # what was set may be of a check that the lesson has no more
                ids += [one for where, one in instructions.overrides if where == lesson and one]
            which = check and _check(check, lesson, list(dict.fromkeys(ids)))
            new = None if points is None else _points(points, result, which)
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

        return self._write(work)

    def comment(self, student, lesson, text, who):
        """Tell the learner something about a lesson or (None) in general; text None takes those comments back."""
        if text is not None and not text.strip():
            raise TitoError("The comment is empty.", "Write what the learner should read.")

        def work(database):
            self._note(
                database, self._place(database, student, who), lesson, "comment", who, "", text=text
            )

        self._write(work)

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

        self._write(work)

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
        with self._transaction() as database:
            rows = sorted(database.execute(query).all(), key=lambda row: (row.number, row.lesson))
        return {row.lesson: (row.number, row.title, row.max_points) for row in rows}

    def headers(self):
        """The column headers of the rosters, each once."""
        with self._transaction() as database:
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
        with self._transaction() as database:
            if student is not None:
                self._check_learner(database, student)
                ids = [learner_id(student)]
            else:
                ids = sorted(database.execute(sql.select(LEARNER.c.student)).scalars())
        for one in ids:
            with self._transaction() as database:
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
                instructions = _Instructions(self._instructions(database, one))
            yield (
                Learner(
                    learner.student, learner.name, learner.columns, instructions.comments(None)
                ),
                [self._grade(learner, row, instructions) for row in found],
            )

    def _grade(self, learner, row, instructions):
        result = LessonResult.from_json(row.value)
        override, check_overrides = instructions.of(result)
        extension = instructions.extension(row.lesson)
        due = self.rules.due.get(row.lesson)
        days = late.lateness(row.arrived, due, extension, self.rules.grace)
        percent = Decimal(0) if override else late.percent(days, self.rules)
        before_late = points = standing(result, override, check_overrides)
        if percent:
            points = late.tidy(
                late.penalised(_earned(result, check_overrides), percent) + _given(check_overrides)
            )
        return Grade(
            learner.student,
            learner.name,
            row.lesson,
            row.number,
            row.title,
            result,
            override,
            check_overrides,
            row.arrived,
            extension.applied(due) if extension and due else due,
            extension,
            days,
            percent,
            late.reason(days, percent),
            instructions.comments(row.lesson),
            before_late,
            points,
            row.max_points,
            row.graded,
        )

    def history(self, student=None, lesson=None):
        """The Changes, oldest first: of all, of one learner, of one lesson (with what was said of all lessons)."""
        columns = [column for column in CHANGE.c if column.name != "replaced"]
        query = sql.select(*columns).order_by(CHANGE.c.id).limit(PAGE)
        if student is not None:
            with self._transaction() as database:
                self._check_learner(database, student)
            query = query.where(CHANGE.c.student == learner_id(student))
        if lesson is not None:
            query = query.where((CHANGE.c.lesson == lesson) | CHANGE.c.lesson.is_(None))
        last = 0
        while True:
            with self._transaction() as database:
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
                    _extension(row),
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


class _Instructions:
    """What instructors have said about one learner, and still holds."""

    def __init__(self, entries):
        self.overrides, self.said, self.extensions = {}, {}, {}
        for entry in entries:
            if entry.kind == "override":
                self.override(
                    entry.lesson, entry.check_id, entry.points, entry.who, entry.at, entry.why
                )
            elif entry.kind == "extension":
                self.extensions[entry.lesson] = _extension(entry)
            elif entry.text is None:
                self.said.pop(entry.lesson, None)
            else:
                self.said.setdefault(entry.lesson, []).append(
                    Comment(entry.text, entry.who, entry.at)
                )

    def override(self, lesson, check, points, who, when, why):
        if points is None:
            self.overrides.pop((lesson, check), None)
        else:
            self.overrides[lesson, check] = Override(points, who, when, why)

    def of(self, result):
        """(Override of the lesson or None, {check id: Override} of the checks that it has)."""
        found = {check.id: self.overrides.get((result.lesson, check.id)) for check in result.checks}
        return self.overrides.get((result.lesson, None)), {
            check: one for check, one in found.items() if one
        }

    def standing(self, result):
        return standing(result, *self.of(result))

    def comments(self, lesson):
        return self.said.get(lesson, [])

    def extension(self, lesson):
        return self.extensions.get(lesson) or self.extensions.get(None)

    def kept(self, before, result):
        """What happens to the overrides when `result` replaces `before`, in words, or None when there are none."""
        said = []
        if before:
            for (lesson, check), override in self.overrides.items():
                if lesson == result.lesson and check is None:
                    said.append(
                        f"graded {before.points} -> {result.points}; the override to {override.points} stays"
                    )
                elif lesson == result.lesson and check in {one.id for one in result.checks}:
                    said.append(f"the override of check {check} to {override.points} stays")
                elif lesson == result.lesson:
                    said.append(
                        f"check {check}, overridden to {override.points}, is no longer there"
                    )
        return "; ".join(said) or None


def _extension(row):
    return late.Extension(row.until, row.days) if row.until or row.days else None


def _differences(before, after):
    """The checks whose points are others than before."""
    if not before:
        return []
    old, new = ({check.id: check for check in result.checks} for result in (before, after))
    pairs = [(old.get(key), new.get(key)) for key in old | new]
    return [
        {
            "id": (two or one).id,
            "name": (two or one).name,
            "old": one and one.points,
            "new": two and two.points,
        }
        for one, two in pairs
        if not (one and two and one.points == two.points)
    ]


def _check(wanted, lesson, ids):
    """The one of `ids` that is `wanted`, or has it as a part."""
    found = [wanted] if wanted in ids else [one for one in ids if wanted in one]
    if len(found) == 1:
        return found[0]
    first = ", ".join((found or ids)[:5]) + ("" if len(found or ids) <= 5 else ", ...")
    if found:
        raise TitoError(
            f"Lesson {lesson} has {len(found)} checks with {wanted!r} in their names.",
            f"Write more of one: {first}",
        )
    close = difflib.get_close_matches(wanted, ids, n=1)
    raise TitoError(
        f"Lesson {lesson} has no check {wanted!r}.",
        f"Did you mean {close[0]!r}?"
        if close
        else f"There are: {first}; all: tito gradebook show --student ID --lesson {lesson}",
    )


def _points(points, result, check):
    """The Decimal that is meant, within what lesson or check can earn."""
    most = (
        result.max_points
        if check is None
        else next(one.max_points for one in result.checks if one.id == check)
    )
    try:
        value = late.exact(points)
    except ValueError:
        raise TitoError(
            f"{points!r} is no number of points.", f"Give one between 0 and {most}, such as 7.5."
        ) from None
    if not 0 <= value <= most:
        raise TitoError(
            f"{points} points are not possible: {check or result.lesson} can earn between 0 and {most}.",
            "Give a number in between.",
        )
    return value


def _locked(student):
    """Finds a learner and, where the database knows such locks, keeps others from writing about them meanwhile."""
    return sql.select(LEARNER.c.student).where(LEARNER.c.student == student).with_for_update()


def _now():
    return datetime.now(timezone.utc)


def clean(text):
    """`text` as every database can hold it: NUL and halves of characters are written as escapes."""
    return UNSTORABLE.sub(lambda found: ascii(found.group())[1:-1], text)


def learner_id(student):
    """The id under which a learner is kept: cleaned; where it is longer than LONGEST cut, with a hash at its end."""
    text = clean(student)
    if len(text) <= LONGEST:
        return text
    import hashlib

    return f"{text[: LONGEST - 20]}...{hashlib.sha256(text.encode('utf-8')).hexdigest()[:16]}"


def shown(url):
    """The database as one may print it: a file's path, or the URL without its password."""
    is_file = url.drivername.startswith("sqlite") and url.database
    return url.database if is_file else url.render_as_string(hide_password=True)


@contextmanager
def open_gradebook(where, rules=None, create=True):
    """The Gradebook at `where`, a path or a database URL, made or brought to this tito's schema if need be.

    rules   late.Rules that its grades follow; None: nothing is late
    create  whether to make it where there is none

    Before an older SQLite file is changed, a copy is kept beside it. Raises TitoError (2) when there is none and
    `create` is not set, for a newer schema, and for whatever is no gradebook; (3) when the database cannot be reached.
    """
    url = _url(where)
    path = Path(url.database) if url.drivername.startswith("sqlite") and url.database else None
    try:
        if path and not path.exists():
            if not create:
                raise TitoError(
                    f"There is no gradebook at {path}.",
                    "`tito grade SUBMISSIONS` makes one; --gradebook names another.",
                )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)  # grades are nobody else's business
    except OSError as error:
        raise TitoError(
            f"The gradebook {path} was not made: {error.strerror}.",
            "Name another place with --gradebook.",
            3,
        ) from None
    engine = _engine(url)
    with Gradebook(engine, rules or late.Rules()) as book:
        try:
            with book._transaction() as database:
                revision = _revision(database)
            if revision != HEAD:
                with book._transaction(writes=True) as database:
                    _upgrade(
                        database, _revision(database), path
                    )  # asked again: another process may have been faster
        except TitoError as error:
            if "file is not a database" in error.what:
                raise _foreign(url) from None
            raise
        yield book


def _url(where):
    if not isinstance(where, str) or "://" not in where:
        return sql.URL.create("sqlite", database=str(Path(where).expanduser().absolute()))
    try:
        return sql.make_url(where)
    except (exc.ArgumentError, ValueError):  # not shown: it may hold a password
        raise TitoError(
            "That gradebook's URL cannot be read.",
            "Write it like this: postgresql+psycopg://USER@HOST/DATABASE",
        ) from None


def _engine(url):
    sqlite = url.drivername.startswith("sqlite")
    try:
        engine = sql.create_engine(url, connect_args={"timeout": BUSY_SECONDS} if sqlite else {})
    except exc.NoSuchModuleError:
        raise TitoError(
            f"{url.drivername} is no kind of database that SQLAlchemy knows here.",
            "postgresql+psycopg://..., say, or the path of a file.",
        ) from None
    except ModuleNotFoundError as error:
        raise TitoError(
            f"A gradebook at {url.drivername} needs the Python package {error.name}, which is not here.",
            "Install it, or use a file.",
            3,
        ) from None
    if sqlite:

        @sql.event.listens_for(engine, "connect")
        def connected(connection, record):
            connection.isolation_level = (
                None  # transactions begin where we say, and hold changes of the schema, too
            )
            connection.execute("PRAGMA foreign_keys=ON")

        @sql.event.listens_for(engine, "begin")
        def begun(database):
            # Who is going to write says so first: two who read and then both want to write could only fail.
            writes = database.get_execution_options().get("tito_writes")
            database.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _revision(database):
    """The version of the schema, None in an empty database. Raises TitoError for no gradebook, or a newer one."""
    tables = sql.inspect(database).get_table_names()
    if not tables:
        return None
    found = None
    if VERSION_TABLE in tables:
        found = database.execute(sql.text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    if not (found and found.isdecimal()):
        raise _foreign(database.engine.url)
    if int(found) > int(HEAD):
        raise TitoError(
            f"The gradebook {shown(database.engine.url)} was made by a newer tito: its schema is {found}, "
            f"this tito knows {HEAD}.",
            "Install the newer tito, or name another gradebook.",
        )
    return found


def _foreign(url):
    return TitoError(
        f"{shown(url)} is no gradebook; it was left as it is.", "Name another one with --gradebook."
    )


def _upgrade(database, revision, path):
    """Bring the schema to HEAD, within the transaction of `database`: done or, when killed, not begun."""
    if revision == HEAD:
        return
    if revision is not None and path:
        _copy(path, path.with_name(f"{path.name}.schema-{revision}"))
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = database
    command.upgrade(config, "head")


def _copy(path, to):
    """A copy of an SQLite file, whole or not there."""
    handle, new = tempfile.mkstemp(".tito-tmp", f".{to.name}.", to.parent)
    os.close(handle)
    try:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(new)) as target:
            source.backup(target)
        os.replace(new, to)
    except (OSError, sqlite3.Error) as error:
        os.unlink(new)
        raise TitoError(
            f"No copy of the gradebook could be kept at {to}: {error}. Nothing was changed.",
            "Free some space, then run it again.",
            3,
        ) from None
