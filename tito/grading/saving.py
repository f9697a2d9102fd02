"""The results in a gradebook: their rows, and how those of one submission are kept, all of them or
none, with an entry of the history for each grade that they change.

Each function works within a transaction of its caller.
"""

from datetime import datetime, timezone
from typing import NamedTuple

from tito.grading.arrived import Arrived, merged
from tito.grading.grade import arrival_of, counting_grade, differences
from tito.grading.history import Fall, instructions_about
from tito.grading.learners import merged_into, remember_learner
from tito.grading.result import Seen
from tito.grading.tables import (
    ANSWER,
    ATTEMPT,
    CHANGE,
    CODE,
    LEARNER,
    RESULT,
    clean,
    learner_id,
    sql,
)


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


def save_results(
    database, rules, student, results, arrival, who, name, why, regrade, work, seen, anew, moved
):
    """What `Gradebook.save` and `Gradebook.saw` do. Returns the results that were kept.

    arrival  gives the Arrived of a lesson
    moved    a list: the Falls, and rises, of grades are added to it
    """
    student = learner_id(student)
    student = merged_into(database, student) or student  # maybe since the run began
    remember_learner(database, student, name)
    learner = database.execute(sql.select(LEARNER).where(LEARNER.c.student == student)).one()
    instructions = instructions_about(database, student)
    lessons = list(dict.fromkeys(one.lesson for one in [*results, *seen]))
    rows = {lesson: [] for lesson in lessons}
    for row in result_rows(database, student, lessons):
        rows[row.lesson].append(row)

    def counting():
        return {
            lesson: counting_grade(learner, mine, instructions, rules)
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
        new = ResultRow(
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
        if one.sha256 and one.code and not _has_code(database, one.sha256):
            database.execute(sql.insert(CODE).values(sha256=one.sha256, data=one.code))
        _keep_answers(database, one.answers)
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
        entry = _change(instructions, was, now, told.get(lesson), why)
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


def _now():
    return datetime.now(timezone.utc)
