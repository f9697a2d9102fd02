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
from tito.grading.arrived import NOBODY, Arrived, is_time, merged
from tito.grading.database import connect, transaction, write
from tito.grading.grade import (
    Change,
    Grade,
    Instructions,
    Learner,
    Standing,
    arrival_of,
    counting_grade,
    differences,
    make_extension,
    parse_points,
    select_check,
    submitted,
)
from tito.grading.result import LessonResult, Seen
from tito.grading.roster import in_section
from tito.grading.tables import (
    ALIAS,
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
    """What is needed of a row of the table `result` to know what counts."""

    lesson: str
    number: int
    title: str
    max_points: int
    key: str
    sha256: str
    arrived: datetime | None
    latest: datetime | None
    how: str
    late: bool | None
    fetched: datetime | None
    graded: datetime
    value: dict


class Fall(NamedTuple):
    """A grade that a run made smaller: from which points that count to which, and why."""

    student: str
    name: str
    lesson: str
    old: Decimal
    new: Decimal
    why: str


class Attempt(NamedTuple):
    """Grading that began on a submission and has not ended.

    number  how often it was begun; 0: it has ended, and there is nothing more to do
    run     the process that began it last, as `run.py` names it; at: when
    seen    when it has ended: the results that the book has of it
    """

    number: int
    run: str
    at: datetime
    seen: list[Seen] = []

    @classmethod
    def of(cls, row) -> "Attempt":
        return cls(row.number, row.run, row.at, [Seen(*one) for one in row.seen or ()])


class Gradebook:
    """An open gradebook: `with open_gradebook(...) as book`. A method that writes is a transaction.

    Methods raise TitoError for an unknown learner, lesson or check, and (code 3) for whatever the
    database refuses.
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
        """The same gradebook in the new, empty database of `engine`."""
        tables = [table for table in TABLES.sorted_tables if table is not VERSION]
        with transaction(self.engine) as database, transaction(engine, writes=True) as target:
            for table in tables:
                rows = database.execute(sql.select(table)).mappings()
                while some := rows.fetchmany(PAGE):
                    target.execute(sql.insert(table), [dict(row) for row in some])
        return Gradebook(engine, self.rules)

    # What grading writes

    def results(self, student: str) -> dict[tuple[str, str], LessonResult]:
        """{(lesson, SHA-256 of the file): the result that counts for this file} of a learner."""
        with transaction(self.engine) as database:
            by_lesson = _by_lesson(_result_rows(database, learner_id(student)))
        return {
            (lesson, one.row.sha256): LessonResult.from_json(one.row.value)
            for lesson, rows in by_lesson.items()
            for one in submitted(rows)
        }

    def keys(self) -> dict[str, dict[str, set[str]]]:
        """{learner: {lesson: keys}} of every result: what need not be graded again."""
        keys, query = {}, sql.select(RESULT.c["student", "lesson", "key"])
        with transaction(self.engine) as database:
            for student, lesson, key in database.execute(query):
                keys.setdefault(student, {}).setdefault(lesson, set()).add(key)
        return keys

    def attempts(self) -> dict[tuple[str, str], Attempt]:
        """{(learner, work): the Attempt} of what was begun; also of what has ended."""
        with transaction(self.engine) as database:
            return {
                (row.student, row.work): Attempt.of(row)
                for row in database.execute(sql.select(ATTEMPT))
            }

    def claim_attempts(
        self,
        works: Iterable[tuple[str, str]],
        run: str,
        claim: Callable[[str, Attempt | None], bool],
    ) -> list[tuple[bool, Attempt | None]]:
        """Keep that this run grades these submissions: no other claims them meanwhile.

        works  (learner, hash as in `keep_attempts`) of each
        claim  whether it does, given the learner's id and the Attempt of before

        Returns whether each is claimed, and the Attempt of before.
        """
        works = [(learner_id(student), work) for student, work in works]

        def work(database):
            place = sql.tuple_(ATTEMPT.c.student, ATTEMPT.c.work).in_(works)
            rows = database.execute(sql.select(ATTEMPT).where(place).with_for_update())
            before = {(row.student, row.work): Attempt.of(row) for row in rows}
            claimed = {one: claim(one[0], before.get(one)) for one in works}
            numbers = {one: before[one].number if one in before else 0 for one in works}
            mine = [(*one, max(1, numbers[one])) for one in works if claimed[one]]
            self._keep_attempts(database, mine, run)
            return [(claimed[one], before.get(one)) for one in works]

        return write(self.engine, work)

    def keep_attempts(self, attempts: Iterable[tuple[str, str, int]], run: str) -> None:
        """Keep how often grading of these submissions has begun.

        attempts  (learner, the hash of the submission and of all else that decides its results,
                  how often; None: it never began) of each
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
            results[0].student, results, arrived, who, name, why, regrade, work, seen, anew
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
        self._keep(student, [], arrived, who, "", why, False, work, list(seen), anew)

    def _keep(self, student, results, arrived, who, name, why, regrade, work, seen, anew):
        def arrival(lesson):
            one = arrived.get(lesson, NOBODY) if isinstance(arrived, dict) else arrived
            return one if isinstance(one, Arrived) else Arrived(one, "roster" if one else "")

        def keep(database):
            moved = []
            kept = self._save(
                database,
                student,
                results,
                arrival,
                who,
                name,
                why,
                regrade,
                work,
                seen,
                anew,
                moved,
            )
            return kept, moved

        nothing = not results and not work
        if nothing and not self._tells_more(learner_id(student), seen, arrival, anew):
            return []
        kept, moved = write(self.engine, keep)
        self.move(moved)
        return kept

    def move(self, moved: Iterable[Fall]) -> None:
        """Keep these Falls, or rises, for `fell`: they were written."""
        for one in moved:
            first = self._moved.get((one.student, one.lesson), one)
            self._moved[one.student, one.lesson] = one._replace(old=first.old)

    def _tells_more(self, student, seen, arrival, anew):
        """Whether these arrivals change what the book knew when it was first asked: a run with
        nothing to do writes nothing. What others add meanwhile, they add to the same rows.
        """
        if self._arrivals is None:
            names = ("arrived", "how", "late", "fetched", "latest")
            query = sql.select(*(RESULT.c[name] for name in ("student", "lesson", "key", *names)))
            with transaction(self.engine) as database:
                rows = database.execute(query.where(RESULT.c.sha256 != "")).all()
            self._arrivals = {row[:3]: arrival_of(row) for row in rows}
        return any(
            known != (arrival(one.lesson) if anew else merged(known, arrival(one.lesson)))
            for one in seen
            if (known := self._arrivals.get((student, one.lesson, one.key)))
        )

    def _save(
        self, database, student, results, arrival, who, name, why, regrade, work, seen, anew, moved
    ):
        student = learner_id(student)
        student = _merged_into(database, student) or student  # maybe since the run began
        self._remember(database, student, name)
        learner = database.execute(sql.select(LEARNER).where(LEARNER.c.student == student)).one()
        instructions = Instructions(self._instructions(database, student))
        lessons = list(dict.fromkeys(one.lesson for one in [*results, *seen]))
        rows = {lesson: [] for lesson in lessons}
        for row in _result_rows(database, student, lessons):
            rows[row.lesson].append(row)

        def counting():
            return {
                lesson: counting_grade(learner, mine, instructions, self.rules)
                for lesson, mine in rows.items()
                if mine
            }

        def put(lesson, new, replaced):
            for row in replaced:
                place = {"student": student, "lesson": lesson, "key": row.key}
                database.execute(sql.delete(RESULT).filter_by(**place))
                rows[lesson].remove(row)
            database.execute(sql.insert(RESULT).values(new._asdict() | {"student": student}))
            rows[lesson].append(new)

        before, told, news = counting(), {}, []
        for one in [*results, *seen]:
            old = next((row for row in rows[one.lesson] if row.key == one.key), None)
            known = arrival(one.lesson)
            if isinstance(one, Seen) or (old and not regrade):
                if old and old.sha256:
                    same = [row for row in rows[one.lesson] if row.sha256 == old.sha256]
                    for row in same:
                        # Of the same bytes beside other lessons, too: it is one file.
                        new = known if anew else merged(arrival_of(row), known)
                        if new != arrival_of(row):
                            put(one.lesson, row._replace(**time_columns(new)), [row])
                continue
            if replaced := _replaced_by(one, rows[one.lesson]):
                if one.verdict == "missing" and replaced[0].value["verdict"] != "missing":
                    continue
                if one.sha256 and not anew:
                    for row in replaced:
                        known = merged(known, arrival_of(row)) if row.sha256 else known
            if not known.fetched and not known.when:
                known = merged(known, Arrived(fetched=_now()))  # what was graded first is older
            value = one.as_json() | {"student": student}
            new = _Row(
                one.lesson,
                one.number,
                clean(one.title),
                one.max_points,
                one.key,
                one.sha256,
                graded=_now(),
                value=value,
                **time_columns(known),
            )
            put(one.lesson, new, replaced)
            for row in [row for row in rows[one.lesson] if row.sha256 == one.sha256 and anew]:
                put(one.lesson, row._replace(**time_columns(known)), [row])
            news.append(one)
            told[one.lesson] = (one, old, replaced)
        if work:
            # Once these results are gone, other checks having replaced them, it is graded again.
            ended = [
                [one.lesson, one.key, one.entry, one.sha256]
                for one in [*results, *seen]
                if any(row.key == one.key for row in rows[one.lesson])
            ]
            database.execute(sql.delete(ATTEMPT).filter_by(student=student, work=work))
            row = {"student": student, "work": work, "number": 0, "run": "", "at": _now()}
            database.execute(sql.insert(ATTEMPT).values(row | {"seen": ended}))
        after, changes = counting(), []
        for lesson, now in after.items():
            was = before.get(lesson)
            entry = self._change(instructions, was, now, told.get(lesson), why)
            if entry:
                changes.append(
                    entry | {"student": student, "lesson": lesson, "who": clean(who), "at": _now()}
                )
            if was and now.points != was.points:
                moved.append(
                    Fall(student, learner.name, lesson, was.points, now.points, _why(was, now))
                )
        if changes:
            database.execute(sql.insert(CHANGE), changes)
        return news

    @staticmethod
    def _change(instructions, was, now, told, why):
        """The entry of the history for a lesson that was graded or whose grade became another, or
        None.
        """
        if not told and (not was or (was.points, was.result) == (now.points, now.result)):
            return None
        entry = {
            "kind": "arrived",
            "why": clean(why),
            "text": _why(was, now) if was else None,
            "old_points": was and was.before_late,
            "new_points": now.before_late,
            "checks": differences(was and was.result, now.result),
            "replaced": None,
        }
        if not told:
            return entry
        result, old, replaced = told
        if now.result.key != result.key:
            if not result.is_work:
                return None  # nothing was handed in, and something counts
            words = "kept beside it" if now.result.sha256 == result.sha256 else "does not count"
            entry["text"] = f"a submission of {result.points} points {words}; {_which(now)}"
        else:
            entry["text"] = instructions.describe_overrides(was and was.result, now.result)
            if not entry["text"] and was and now.points < was.points and not replaced:
                entry["text"] = _why(was, now)
        return entry | {
            "kind": "regraded" if old else "graded",
            "replaced": replaced[0].value if replaced else None,
        }

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
            kept = {name: text for name, text in (before or {}).items() if not is_time(name)}
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
        rows = _result_rows(database, learner, [lesson])
        if not rows:
            raise TitoError(
                f"{learner} has no grade in {lesson} yet.",
                f"Grade it first, even if nothing was handed in: tito grade SUBMISSIONS {lesson}",
            )
        instructions = Instructions(self._instructions(database, learner))
        person = database.execute(sql.select(LEARNER).filter_by(student=learner)).one()
        result = counting_grade(person, rows, instructions, self.rules).result
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

    def overrides(self) -> list[Standing]:
        """The overrides that hold, by learner, with what is to be said against each."""
        overridden = sql.select(CHANGE.c.student).where(CHANGE.c.kind == "override").distinct()
        found = []
        with transaction(self.engine) as database:
            for student in sorted(database.execute(overridden).scalars()):
                learner = database.execute(
                    sql.select(LEARNER.c["student", "name"]).where(LEARNER.c.student == student)
                ).one()
                instructions = Instructions(self._instructions(database, student))
                results = [grade.result for grade in self.grades(database, student).values()]
                found += instructions.standing(learner, results)
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
        if now := _merged_into(database, learner_id(student)):
            raise TitoError(f"{student!r} was merged into {now!r}.", f"Name {now!r} instead.")
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
                row = database.execute(learners).first()
                if row is None:  # merged into another since the ids were read
                    continue
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
            yield (
                learner,
                [
                    counting_grade(learner, mine, instructions, self.rules)
                    for mine in _by_lesson(rows).values()
                ],
            )

    def grades(self, database: sql.Connection, student: str) -> dict[str, Grade]:
        """{lesson: Grade} of a learner, within a transaction."""
        learner = database.execute(sql.select(LEARNER).filter_by(student=student)).one()
        instructions = Instructions(self._instructions(database, student))
        return {
            lesson: counting_grade(learner, rows, instructions, self.rules)
            for lesson, rows in _by_lesson(_result_rows(database, student)).items()
        }

    def standing(self, students: Iterable[str], lessons: Iterable[str]) -> list[Grade]:
        """The Grades of these lessons of these learners, in their order, all in memory."""
        students, lessons = [learner_id(student) for student in students], set(lessons)
        wanted = {student: {} for student in students}
        with transaction(self.engine) as database:
            learners = {row.student: row for row in database.execute(sql.select(LEARNER))}
            said = {}
            for entry in self._instructions(database):
                said.setdefault(entry.student, []).append(entry)
            query = sql.select(RESULT.c.student, *(RESULT.c[name] for name in _Row._fields))
            query = query.where(RESULT.c.lesson.in_(lessons)).order_by(RESULT.c.number)
            for student, *values in database.execute(query):
                if student in wanted:
                    wanted[student].setdefault(values[0], []).append(_Row(*values))
        return [
            counting_grade(learners[student], rows, Instructions(said.get(student, ())), self.rules)
            for student, by_lesson in wanted.items()
            for rows in by_lesson.values()
        ]

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
    def _instructions(database, student=None):
        """The entries of the history that still say something, oldest first: of a learner, or of
        all.
        """
        columns = CHANGE.c[
            "student",
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
        query = sql.select(columns).where(kinds).order_by(CHANGE.c.id)
        if student is not None:
            query = query.where(CHANGE.c.student == student)
        return database.execute(query).all()


def _merged_into(database, student):
    """The id that this one was merged into, or None."""
    return database.execute(sql.select(ALIAS.c.student).where(ALIAS.c.alias == student)).scalar()


def _learner_query(student):
    """The query of a learner's id.

    Where the database knows such locks, nobody else can write about them meanwhile.
    """
    return sql.select(LEARNER.c.student).where(LEARNER.c.student == student).with_for_update()


def _result_rows(database, student, lessons=None):
    """The rows of `result` of a learner's lessons; None: of all."""
    query = sql.select(*(RESULT.c[name] for name in _Row._fields)).filter_by(student=student)
    if lessons is not None:
        query = query.where(RESULT.c.lesson.in_(lessons))
    return [_Row(*row) for row in database.execute(query)]


def _by_lesson(rows):
    """{lesson: its rows}, in their order."""
    found = {}
    for row in rows:
        found.setdefault(row.lesson, []).append(row)
    return found


def time_columns(arrived):
    """The columns of `result` that hold an Arrived."""
    return {
        "arrived": arrived.when,
        "latest": arrived.latest,
        "how": arrived.how,
        "late": arrived.late,
        "fetched": arrived.fetched,
    }


def _replaced_by(result, rows):
    """Of the rows of a lesson, those whose place a new result takes: of the same key; of the same
    file, graded by other checks or limits; and what is no file at all.
    """

    def is_replaced(row):
        if row.key == result.key:
            return True
        setting = row.key.partition(".")[2]
        return row.sha256 == result.sha256 and not (row.sha256 and setting == result.setting != "")

    return [row for row in rows if is_replaced(row)]


def _which(grade):
    """Which submission counts, in words."""
    return f"the one that {arrival} counts" if (arrival := grade.arrival()) else "another counts"


def _why(was, now):
    """Why a grade is another one, in a sentence."""
    parts = []
    if was.result.sha256 != now.result.sha256:
        parts.append(f"another submission counts: {now.arrival()}")
    elif was.result.key != now.result.key:
        parts.append("the same file, graded again")
    elif was.result != now.result:
        parts.append("graded again")
    if was.late_reason != now.late_reason:
        parts.append(f"{was.late_reason or 'in time'} -> {now.late_reason or 'in time'}")
    return "; ".join(parts)


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
