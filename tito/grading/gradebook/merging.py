"""Two ids of one learner become one, and two again if that was a mistake.

The entry of the history about a merge has a record of what each of the two had, under "merged":
`split` reads it. Everything written since the merge stays with the id that stayed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from tito.errors import UsageError
from tito.grading.gradebook.counting import arrival_of
from tito.grading.gradebook.database import write
from tito.grading.gradebook.grade import Grade
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.history import PointsChange, add_change
from tito.grading.gradebook.learners import LearnerRow, find_learner, lock_learner, merged_into
from tito.grading.gradebook.result_store import brief_columns, time_columns
from tito.grading.gradebook.tables import (
    ALIAS,
    CHANGE,
    ENTRY,
    LEARNER,
    RESULT,
    STRANGER,
    WORK,
    sql,
)
from tito.grading.result import LessonResult
from tito.grading.submission import merged

Record = dict[str, Any]
# what has an owner: the table, and the column by which a record names its rows
OWNED = {"aliases": (ALIAS, "alias"), "entries": (ENTRY, "entry"), "changes": (CHANGE, "id")}


@dataclass
class Merge:
    """A merge, made or previewed.

    two      the learners before: the id that goes, and the one that stays
    grades   {lesson: the Grade of each of the two before, or None, and the one of both}
    history  how many entries each of the two had
    moved    the grades of the id that stays whose points changed
    """

    two: tuple[LearnerRow, LearnerRow]
    grades: dict[str, tuple[Grade | None, Grade | None, Grade]]
    history: tuple[int, int]
    moved: list[PointsChange] = field(default_factory=list)


def merge(book: Gradebook, old: str, into: str, who: str, why: str, preview: bool = False) -> Merge:
    """Merge two ids of one learner. Everything about `old` moves to `into`, and so will later
    submissions under `old`.

    preview  change nothing

    If both have submissions of a lesson, the policy of the course decides which counts. Grades that
    fall are in `book.points_lost`.
    """

    def work(database: sql.Connection) -> Merge:
        first, second = (
            lock_learner(database, student_id, who, why).student for student_id in (old, into)
        )
        if first == second:
            raise UsageError(f"{old} and {into} are one learner already.", "Name two ids.")
        made = join(book, database, first, second, who, why)
        database.execute(sql.insert(ALIAS).values(alias=first, student=second))
        return made

    made = write(book.engine, work, preview)
    book.note_points([] if preview else made.moved)
    return made


def join(
    book: Gradebook, database: sql.Connection, old: str, into: str, who: str, why: str
) -> Merge:
    """Move everything about `old` to `into`."""
    theirs, ours = _learner(database, old), _learner(database, into)
    of_old, before = book.grades_within(database, old), book.grades_within(database, into)
    record, history = _record(database, theirs, ours)
    for table in (CHANGE, ALIAS, ENTRY):
        database.execute(sql.update(table).filter_by(student=old).values(student=into))
    lessons = _move_results(database, old, into)
    names: Record = {"name": ours.name or theirs.name, "columns": _columns(theirs, ours)}
    if ours.state == STRANGER:  # the roster has them, under the other id
        names["state"] = theirs.state
    database.execute(sql.update(LEARNER).filter_by(student=into).values(names))
    after = book.grades_within(database, into)
    pairs = {lesson: (before.get(lesson), after[lesson]) for lesson in lessons}
    words = {"text": f"{old} is {into}", "why": why, "replaced": {"merged": record}}
    moved = _note(database, into, pairs, "merged", who, **words)
    for table in (WORK, LEARNER):
        database.execute(sql.delete(table).filter_by(student=old))
    grades = {lesson: (of_old.get(lesson), before.get(lesson), after[lesson]) for lesson in after}
    return Merge((theirs, ours), grades, history, moved)


def _learner(database: sql.Connection, student: str) -> LearnerRow:
    learner = find_learner(database, student)
    assert learner
    return learner


def _columns(theirs: LearnerRow, ours: LearnerRow) -> dict[str, str]:
    return theirs.columns | {name: text for name, text in ours.columns.items() if text}


def _note(
    database: sql.Connection,
    student: str,
    grades: Mapping[str, tuple[Grade | None, Grade | None]],
    kind: str,
    who: str,
    **words: Any,
) -> list[PointsChange]:
    """Add an entry to the history for each lesson, or one without a lesson. Returns the grades that
    changed.

    grades  {lesson: (before, after)}
    words   columns of the entries; `replaced` is for the first only
    """
    moved = []
    for lesson, (was, now) in grades.items() or [(None, (None, None))]:
        points = {"old_points": was and was.before_late, "new_points": now and now.before_late}
        add_change(database, student, lesson, kind, who, **points, **words)
        words.pop("replaced", None)
        if lesson and was and now and was.points != now.points:
            text = words["text"]
            moved.append(PointsChange(student, now.name, lesson, was.points, now.points, text))
    return moved


def _record(
    database: sql.Connection, theirs: LearnerRow, ours: LearnerRow
) -> tuple[Record, tuple[int, int]]:
    """(what `split` needs to know, how many entries of the history each of the two has)."""
    record: Record = {"old": theirs._asdict(), "into": ours._asdict()}
    for name, (table, column) in OWNED.items():
        query = sql.select(table.c[column]).filter_by(student=theirs.student)
        record[name] = list(database.execute(query).scalars())
    files: list[dict[tuple[str, str], list[Record]]] = [{}, {}]
    for mine, learner in zip(files, (theirs, ours)):
        for row in database.execute(sql.select(RESULT).filter_by(student=learner.student)):
            mine.setdefault((row.lesson, row.sha256), []).append(_as_json(row))
    both = files[0].keys() & files[1].keys()
    record["files"] = [list(place) for place in files[0] if place not in both]
    record["both"] = [row for mine in files for place in both for row in mine[place]]
    query = sql.select(sql.func.count()).select_from(CHANGE).filter_by(student=ours.student)
    return record, (len(record["changes"]), database.execute(query).scalar() or 0)


def _as_json(row: Any) -> Record:
    """A row of the table `result` for a record."""
    values = row._asdict() | {"value": row.value.as_json()}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in values.items()
        if name not in brief_columns(row.value)
    }


def _from_json(row: Record) -> Record:
    """The row that `_as_json` took."""
    result = LessonResult.from_json(row["value"])
    row |= {"value": result, **brief_columns(result)}
    times = {name: row[name] for name in ("arrived", "latest", "fetched", "graded")}
    return row | {name: value and datetime.fromisoformat(value) for name, value in times.items()}


def split(book: Gradebook, database: sql.Connection, old: str, who: str) -> list[PointsChange]:
    """Take back the merge of `old` into another id. Returns the grades of that one that changed.

    Raises UsageError if another id was merged after it into the same, or without a record.
    """
    into = merged_into(database, old) or ""
    current = lock_learner(database, into, who)
    entry, record = _last_record(database, old, into)
    before = book.grades_within(database, into)
    theirs, ours = LearnerRow(**record["old"]), LearnerRow(**record["into"])
    database.execute(sql.insert(LEARNER).values(theirs._asdict()))
    values = _as_before(current, theirs, ours)
    database.execute(sql.update(LEARNER).filter_by(student=into).values(values))
    for name, (table, column) in OWNED.items():
        mine = table.c[column].in_(record[name])
        database.execute(sql.update(table).filter_by(student=into).where(mine).values(student=old))
    database.execute(sql.delete(ALIAS).filter_by(alias=old))
    _return_results(database, old, into, record, entry.at)
    database.execute(sql.update(CHANGE).filter_by(id=entry.id).values(replaced=None))
    words = {"text": f"{old} is not {into}", "why": "the merge is taken back"}
    after, of_old = book.grades_within(database, into), book.grades_within(database, old)
    _note(
        database, old, {lesson: (None, of_old[lesson]) for lesson in of_old}, "split", who, **words
    )
    pairs = {lesson: (before.get(lesson), after.get(lesson)) for lesson in of_old}
    return _note(database, into, pairs, "split", who, **words)


def _last_record(database: sql.Connection, old: str, into: str) -> tuple[Any, Record]:
    """The entry of the history about the last merge into an id that can be taken back, which must
    be that of `old`, and its record.
    """
    query = sql.select(CHANGE).filter_by(student=into, kind="merged").order_by(CHANGE.c.id.desc())
    for entry in database.execute(query.where(CHANGE.c.replaced.is_not(None))):
        record = entry.replaced.get("merged")
        last = record["old"]["student"] if record else ""
        if last == old:
            return entry, record
        if merged_into(database, last) == into:
            raise UsageError(
                f"{last!r} was merged into {into!r} after {old!r}.",
                f"Take that back first: tito gradebook roster --restore {last}",
            )
    raise UsageError(
        f"{old!r} was merged into {into!r} by an earlier tito, which kept no record of it.",
        "Restore a copy of the gradebook from before.",
    )


def _as_before(current: LearnerRow, theirs: LearnerRow, ours: LearnerRow) -> Record:
    """The columns of the id that stays: those of before the merge, and what was changed since."""
    made = _columns(theirs, ours)
    columns = {
        name: ours.columns[name] if text == made.get(name) else text
        for name, text in current.columns.items()
        if name in ours.columns or text != made.get(name)
    }
    name = ours.name if current.name == (ours.name or theirs.name) else current.name
    was_strange = ours.state == STRANGER and current.state == theirs.state
    return {"name": name, "columns": columns, "state": STRANGER if was_strange else current.state}


def _return_results(
    database: sql.Connection, old: str, into: str, record: Record, merged_at: datetime
) -> None:
    """Give `old` its files back. Of a file that both had, each gets what it had; `into` keeps a
    result that was graded since.
    """
    rows: dict[tuple[str, str], list[Any]] = {}
    for row in database.execute(sql.select(RESULT).filter_by(student=into)):
        rows.setdefault((row.lesson, row.sha256), []).append(row)
    for row in [
        row for lesson, sha256 in record["files"] for row in rows.get((lesson, sha256), ())
    ]:
        values = {"student": old, "value": replace(row.value, student=old)}
        database.execute(sql.update(RESULT).where(*_is_row(row)).values(values))
    again = {place for place, mine in rows.items() if any(row.graded > merged_at for row in mine)}
    both = [_from_json(row) for row in record["both"]]
    for place in {(row["lesson"], row["sha256"]) for row in both} - again:
        for row in rows.get(place, ()):
            database.execute(sql.delete(RESULT).where(*_is_row(row)))
    for new in both:
        if new["student"] == old or (new["lesson"], new["sha256"]) not in again:
            database.execute(sql.insert(RESULT).values(new))


def _move_results(database: sql.Connection, old: str, into: str) -> list[str]:
    """Move the results of `old` to `into`. If both have one with the same key, the one with more
    points stays; of the same file graded by other checks, the newer one. It gets the merged
    arrival. Returns the lessons.
    """
    query = sql.select(RESULT).where(RESULT.c.student.in_((old, into)))
    results: dict[str, dict[tuple[str, str], Any]] = {old: {}, into: {}}
    for row in database.execute(query.order_by(RESULT.c.number)):
        results[row.student][row.lesson, row.key] = row
    for place, row in results[old].items():
        best, times = row, {}
        if same := results[into].get(place) or _graded_otherwise(row, results[into].values()):
            is_same = same.key == row.key
            best = max(same, row, key=lambda one: one.points if is_same else one.graded)
            times = time_columns(merged(arrival_of(same), arrival_of(row)))
            worst = row if best is same else same
            database.execute(sql.delete(RESULT).where(*_is_row(worst)))
        values = {"student": into, "value": replace(best.value, student=into)} | times
        database.execute(sql.update(RESULT).where(*_is_row(best)).values(values))
    return list(dict.fromkeys(lesson for lesson, _ in results[old]))


def _graded_otherwise(row: Any, others: Iterable[Any]) -> Any:
    """The row of the same file of the same lesson, graded by other checks or limits, or None."""

    def setting(one: Any) -> str:
        return str(one.key.partition(".")[2])

    return next(
        (
            other
            for other in others
            if row.sha256
            and (other.lesson, other.sha256) == (row.lesson, row.sha256)
            and setting(other) != setting(row)
        ),
        None,
    )


def _is_row(row: Any) -> list[sql.ColumnElement[bool]]:
    return [RESULT.c[name] == getattr(row, name) for name in ("student", "lesson", "key")]
