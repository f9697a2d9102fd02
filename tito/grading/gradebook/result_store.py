"""The results in a gradebook: their rows, and how those of one submission are kept, all of them or
none, with an entry of the history for each grade that they change.

Each function works within a transaction of its caller.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from tito.grading.arrival import NOBODY, Arrived, merged
from tito.grading.gradebook.grade import arrival_of, counting_grade, differences
from tito.grading.gradebook.history import Fall, instructions_about
from tito.grading.gradebook.learners import merged_into, remember_learner
from tito.grading.gradebook.tables import (
    ANSWER,
    ATTEMPT,
    CHANGE,
    CODE,
    LEARNER,
    RESULT,
    clean,
    learner_id,
    now,
    sql,
)
from tito.grading.result import LessonResult, Seen


class ResultRow(NamedTuple):
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


def result_rows(database, student, lessons=None):
    """The rows of `result` of a learner's lessons; None: of all."""
    query = sql.select(*(RESULT.c[name] for name in ResultRow._fields)).filter_by(student=student)
    if lessons is not None:
        query = query.where(RESULT.c.lesson.in_(lessons))
    return [ResultRow(*row) for row in database.execute(query)]


def result_keys(database, students=None):
    """{learner: {lesson: keys}} of the results of these learners; None: of all."""
    keys, query = {}, sql.select(RESULT.c["student", "lesson", "key"])
    if students is not None:
        query = query.where(RESULT.c.student.in_(students))
    for student, lesson, key in database.execute(query):
        keys.setdefault(student, {}).setdefault(lesson, set()).add(key)
    return keys


def group_by_lesson(rows):
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


@dataclass
class Saving:
    """What is kept in one transaction: the results of one submission, and which files were handed
    in once more. The arguments are those of `Gradebook.save`.
    """

    student: str
    arrived: datetime | Arrived | dict[str, Arrived] | None
    who: str
    name: str = ""
    why: str = "graded"
    results: list[LessonResult] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    regrade: bool = False
    work: str | None = None
    anew: bool = False

    def arrival(self, lesson):
        """The Arrived of a lesson."""
        one = self.arrived
        if isinstance(one, dict):
            return one.get(lesson, NOBODY)
        return one if isinstance(one, Arrived) else Arrived(one, "roster" if one else "")

    @property
    def files(self):
        """All results and all Seen."""
        return [*self.results, *self.seen]


def save(database, rules, saving):
    """Returns the results that were kept, and the Falls, and rises, of grades."""
    student = learner_id(saving.student)
    student = merged_into(database, student) or student  # maybe since the run began
    remember_learner(database, student, saving.name)
    rows = Rows(database, student, [one.lesson for one in saving.files])
    learner = database.execute(sql.select(LEARNER).where(LEARNER.c.student == student)).one()
    instructions = instructions_about(database, student)
    before, told, kept = rows.counting(learner, instructions, rules), {}, []
    for one in saving.files:
        old = rows.of_key(one)
        if isinstance(one, Seen) or (old and not saving.regrade):
            if old and old.sha256:
                rows.arrive(old, saving.arrival(one.lesson), saving.anew)
        elif (replaced := _keep_result(rows, one, saving)) is not None:
            told[one.lesson] = (one, old, replaced)
            kept.append(one)
    if saving.work:
        _end_attempt(rows, saving)
    moved, changes = [], []
    for lesson, after in rows.counting(learner, instructions, rules).items():
        was = before.get(lesson)
        if entry := _change(instructions, was, after, told.get(lesson), saving.why):
            who = {"student": student, "lesson": lesson, "who": clean(saving.who), "at": now()}
            changes.append(entry | who)
        if was and after.points != was.points:
            why = _why(was, after)
            moved.append(Fall(student, learner.name, lesson, was.points, after.points, why))
    if changes:
        database.execute(sql.insert(CHANGE), changes)
    return kept, moved


class Rows:
    """The rows of `result` of a learner's lessons, as they are in the transaction."""

    def __init__(self, database, student, lessons):
        self.database, self.student = database, student
        self.by_lesson = {lesson: [] for lesson in lessons}
        for row in result_rows(database, student, self.by_lesson):
            self.by_lesson[row.lesson].append(row)

    def of_key(self, one):
        """The row of a result or a Seen, or None."""
        return next((row for row in self.by_lesson[one.lesson] if row.key == one.key), None)

    def put(self, new, replaced=()):
        """Write a row, instead of others."""
        for row in replaced:
            place = {"student": self.student, "lesson": row.lesson, "key": row.key}
            self.database.execute(sql.delete(RESULT).filter_by(**place))
            self.by_lesson[row.lesson].remove(row)
        values = new._asdict() | {"student": self.student}
        self.database.execute(sql.insert(RESULT).values(values))
        self.by_lesson[new.lesson].append(new)

    def arrive(self, file, known, anew):
        """A row's file arrived, maybe once more. Of the same bytes beside other lessons, too: it is
        one file.
        """
        for row in [row for row in self.by_lesson[file.lesson] if row.sha256 == file.sha256]:
            new = known if anew else merged(arrival_of(row), known)
            if new != arrival_of(row):
                self.put(row._replace(**time_columns(new)), [row])

    def counting(self, learner, instructions, rules):
        """{lesson: the Grade that counts}, of lessons that have rows."""
        return {
            lesson: counting_grade(learner, mine, instructions, rules)
            for lesson, mine in self.by_lesson.items()
            if mine
        }


def _keep_result(rows, one, saving):
    """Write the row of a result. Returns the rows whose place it takes; None: it is not kept, since
    nothing was handed in where something was before.
    """
    known, replaced = saving.arrival(one.lesson), _replaced_by(one, rows.by_lesson[one.lesson])
    if replaced:
        if one.verdict == "missing" and replaced[0].value["verdict"] != "missing":
            return None
        if one.sha256 and not saving.anew:
            for row in replaced:
                known = merged(known, arrival_of(row)) if row.sha256 else known
    if not known.fetched and not known.when:
        known = merged(known, Arrived(fetched=now()))  # what was graded first is older
    new = ResultRow(
        one.lesson,
        one.number,
        clean(one.title),
        one.max_points,
        one.key,
        one.sha256,
        graded=now(),
        value=one.as_json() | {"student": rows.student},
        **time_columns(known),
    )
    rows.put(new, replaced)
    if saving.anew:
        rows.arrive(new, known, anew=True)
    if one.sha256 and one.code and not _has_code(rows.database, one.sha256):
        rows.database.execute(sql.insert(CODE).values(sha256=one.sha256, data=one.code))
    _keep_answers(rows.database, one.answers)
    return replaced


def _end_attempt(rows, saving):
    """Keep that this work has ended, with which results: once they are gone, other checks having
    replaced them, it is graded again.
    """
    ended = [
        [one.lesson, one.key, one.entry, one.sha256] for one in saving.files if rows.of_key(one)
    ]
    place = {"student": rows.student, "work": saving.work}
    rows.database.execute(sql.delete(ATTEMPT).filter_by(**place))
    values = place | {"number": 0, "run": "", "at": now(), "seen": ended}
    rows.database.execute(sql.insert(ATTEMPT).values(values))


def _has_code(database, sha256):
    return database.execute(sql.select(CODE.c.sha256).filter_by(sha256=sha256)).first()


def _keep_answers(database, answers):
    for answer in answers:
        known = sql.select(ANSWER.c.sha256).filter_by(sha256=answer.sha256)
        if answer.text and not database.execute(known).first():
            row = {"sha256": answer.sha256, "text": clean(answer.text)}
            database.execute(sql.insert(ANSWER).values(row))


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
