"""Save the results of a submission, all or none, with an entry in the history for each grade that
changes. Each function needs an open transaction of its caller.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from tito.grading.gradebook.counting import arrival_of, check_differences, counting_grade
from tito.grading.gradebook.database import sound_rows, split_rows
from tito.grading.gradebook.grade import Grade, ResultRow
from tito.grading.gradebook.history import PointsChange, instructions_about
from tito.grading.gradebook.instructions import Instructions
from tito.grading.gradebook.late import Rules
from tito.grading.gradebook.learners import LearnerRow, remember_learner
from tito.grading.gradebook.tables import CHANGE, RESULT, TEXT, WORK, clean, learner_id, now, sql
from tito.grading.result import LessonResult, Unchanged, packed
from tito.grading.submission import NOBODY, Arrived, merged

RESULT_COLUMNS = [RESULT.c[name] for name in ResultRow._fields]


def brief_columns(result: LessonResult) -> dict[str, Any]:
    """The columns of `result` with what is needed of a LessonResult to know what counts."""
    return {
        "verdict": result.verdict,
        "told": result.for_learner().verdict,
        "points": result.points,
        "graded_by": result.graded_by,
        "answers": [answer.as_json() for answer in result.answers] or None,
        "exercises": result.exercises(),
    }


def result_rows(
    database: sql.Connection, student: str, lessons: Iterable[str] | None = None
) -> dict[str, list[ResultRow]]:
    """{lesson: its rows of `result`} of a learner; of these lessons, or of all."""
    query = sql.select(*RESULT_COLUMNS).filter_by(student=student).order_by(RESULT.c.number)
    if lessons is not None:
        query = query.where(RESULT.c.lesson.in_(lessons))
    rows: dict[str, list[ResultRow]] = {}
    for row in sound_rows(database, query, RESULT)[0]:
        rows.setdefault(row.lesson, []).append(ResultRow(*row))
    return rows


def forget_damaged(database: sql.Connection, student: str, lessons: Iterable[str]) -> None:
    """Delete the damaged results of a learner in these lessons, which are made again."""
    query = sql.select(RESULT).where(RESULT.c.student == student, RESULT.c.lesson.in_(lessons))
    for place, _ in split_rows(database, query, RESULT)[1]:
        database.execute(sql.delete(RESULT).where(*place))


def time_columns(arrived: Arrived) -> dict[str, Any]:
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
    """Everything that a submission writes in one transaction.

    name      of the learner; "" leaves what the book has
    who, why  for the history
    results   of this learner
    seen      known results whose file was handed in again
    arrivals  {lesson: Arrived}. Of a lesson file with the same bytes as before the earliest arrival
              counts: handing in a workspace again makes no lesson late that was in it
    work      the hash of the submission and of everything that decides its results, or None
    regrade   also replace a result of the same key; without it, such a result is left as it is
    texts     {SHA-256: text} of the checks that made the results, where the book may lack them
    replace_arrivals  forget what earlier runs knew of the arrival of these files
    """

    student: str
    name: str = ""
    who: str = ""
    why: str = "graded"
    results: list[LessonResult] = field(default_factory=list)
    seen: list[Unchanged] = field(default_factory=list)
    arrivals: dict[str, Arrived] = field(default_factory=dict)
    work: str | None = None
    texts: dict[str, str] = field(default_factory=dict)
    regrade: bool = False
    replace_arrivals: bool = False

    @property
    def files(self) -> list[LessonResult | Unchanged]:
        return [*self.results, *self.seen]

    def arrival(self, lesson: str) -> Arrived:
        return self.arrivals.get(lesson, NOBODY)


@dataclass
class Replacement:
    """A result that was written, and its row.

    same_key  whether there was one of the same key
    rows      whose place it takes
    """

    result: LessonResult
    row: ResultRow
    same_key: bool
    rows: list[ResultRow]


def save(
    database: sql.Connection, rules: Rules, saving: Saving
) -> tuple[list[LessonResult], list[PointsChange]]:
    """Returns the results that were written, and the grades that count more or less by it. A
    submission without news writes nothing.
    """
    learner, is_there = remember_learner(database, learner_id(saving.student), saving.name)
    student = learner.student  # another one, where two ids were merged since the run began
    lessons = dict.fromkeys(file.lesson for file in saving.files)
    if saving.regrade:
        forget_damaged(database, student, lessons)
    before = result_rows(database, student, lessons) if is_there else {}
    after = {lesson: list(before.get(lesson, ())) for lesson in lessons}
    written = _replace_rows(after, student, saving)
    if saving.work:
        _write_work(database, student, saving, after, is_there)
    if after == before:
        return [], []
    instructions = instructions_about(database, student) if is_there else Instructions([])
    old = _counting(learner, before, instructions, rules)
    new = _counting(learner, after, instructions, rules)
    _write_rows(database, student, before, after)
    _write_texts(database, [replacement.result for replacement in written.values()], saving.texts)
    moved, entries = [], []
    for lesson, grade in new.items():
        was = old.get(lesson)
        entry = _entry(instructions, was, grade, written.get(lesson), saving.why)
        if entry:
            about = {"student": student, "lesson": lesson, "who": clean(saving.who), "at": now()}
            entries.append(entry | about)
        if was and grade.points != was.points:
            why = _reason(was, grade)
            moved.append(PointsChange(student, learner.name, lesson, was.points, grade.points, why))
    if entries:
        database.execute(sql.insert(CHANGE), entries)
    return [replacement.result for replacement in written.values()], moved


def _counting(
    learner: LearnerRow, rows: dict[str, list[ResultRow]], instructions: Instructions, rules: Rules
) -> dict[str, Grade]:
    """{lesson: the Grade that counts}, of lessons that have rows."""
    return {
        lesson: counting_grade(learner, mine, instructions, rules)
        for lesson, mine in rows.items()
        if mine
    }


def _replace_rows(
    rows: dict[str, list[ResultRow]], student: str, saving: Saving
) -> dict[str, Replacement]:
    """Put a submission's results and arrivals into these rows. Returns {lesson: Replacement}."""
    written = {}
    for file in saving.files:
        mine = rows[file.lesson]
        same = next((row for row in mine if row.key == file.key), None)
        if isinstance(file, Unchanged) or (same and not saving.regrade):
            if same and same.sha256:
                _merge_arrival(mine, same.sha256, saving)
            continue
        replaced = _replaced_by(file, mine)
        missing = [row for row in replaced if row.verdict == "missing"]
        if file.verdict == "missing" and replaced and not missing:
            continue  # nothing was handed in where something was before
        row = _new_row(file, student, replaced, saving)
        mine[:] = [other for other in mine if other not in replaced] + [row]
        if saving.replace_arrivals:
            _merge_arrival(mine, row.sha256, saving)
        written[file.lesson] = Replacement(file, row, bool(same), replaced)
    return written


def _merge_arrival(rows: list[ResultRow], sha256: str, saving: Saving) -> None:
    """Record that a file arrived, in all rows of the same file, whatever lessons came with it."""
    for number, row in enumerate(rows):
        if row.sha256 == sha256:
            known = saving.arrival(row.lesson)
            new = known if saving.replace_arrivals else merged(arrival_of(row), known)
            rows[number] = row._replace(**time_columns(new))


def _new_row(
    result: LessonResult, student: str, replaced: list[ResultRow], saving: Saving
) -> ResultRow:
    known = saving.arrival(result.lesson)
    if result.sha256 and not saving.replace_arrivals:
        for row in replaced:
            known = merged(known, arrival_of(row)) if row.sha256 else known
    if not known.fetched and not known.when:
        known = merged(known, Arrived(fetched=now()))  # what was graded first is older
    return ResultRow(
        result.lesson,
        result.number,
        clean(result.title),
        result.max_points,
        result.key,
        result.sha256,
        graded=now(),
        value=replace(result, student=student),
        **brief_columns(result),
        **time_columns(known),
    )


def _replaced_by(result: LessonResult, rows: list[ResultRow]) -> list[ResultRow]:
    """The rows of a lesson that a new result replaces: with the same key, with the same file graded
    by other checks or limits, and rows without a file.
    """

    def is_replaced(row: ResultRow) -> bool:
        if row.key == result.key:
            return True
        setting = row.key.partition(".")[2]
        return row.sha256 == result.sha256 and not (row.sha256 and setting == result.setting != "")

    return [row for row in rows if is_replaced(row)]


def _write_rows(
    database: sql.Connection,
    student: str,
    before: dict[str, list[ResultRow]],
    after: dict[str, list[ResultRow]],
) -> None:
    """Insert the rows that are only in `after`; delete the rows that are only in `before`."""
    old = [row for rows in before.values() for row in rows]
    new = [row for rows in after.values() for row in rows]
    gone = [(student, row.lesson, row.key) for row in old if row not in new]
    if gone:
        place = sql.tuple_(RESULT.c.student, RESULT.c.lesson, RESULT.c.key)
        database.execute(sql.delete(RESULT).where(place.in_(gone)))
    if rows := [row._asdict() | {"student": student} for row in new if row not in old]:
        database.execute(sql.insert(RESULT), rows)


def _write_texts(
    database: sql.Connection, results: list[LessonResult], checks: dict[str, str]
) -> None:
    """Save the graded files and the free answers of these results, and checks, each text once."""
    texts = {name: packed(text) for name, text in checks.items()}
    texts |= {result.sha256: result.code for result in results if result.sha256 and result.code}
    for answer in [answer for result in results for answer in result.answers if answer.text]:
        texts[answer.sha256] = packed(clean(answer.text))
    if texts:
        sha256 = sql.bindparam("sha256", type_=sql.String)
        row = sql.select(sha256, sql.bindparam("data", type_=sql.LargeBinary))
        new = row.where(~sql.exists().where(TEXT.c.sha256 == sha256))
        rows = [{"sha256": name, "data": data} for name, data in texts.items()]
        database.execute(sql.insert(TEXT).from_select(["sha256", "data"], new), rows)


def _write_work(
    database: sql.Connection,
    student: str,
    saving: Saving,
    rows: dict[str, list[ResultRow]],
    is_there: bool,
) -> None:
    """Record that this work is graded, with its results. When one of them has been replaced by a
    result of other checks, the work is graded again.

    is_there  whether the learner was known before
    """
    seen = [
        [file.lesson, file.key, file.entry, file.sha256]
        for file in saving.files
        if any(row.key == file.key for row in rows[file.lesson])
    ]
    place = {"student": student, "work": saving.work}
    query = sql.select(WORK.c.seen).filter_by(**place)
    known, damaged = split_rows(database, query, WORK) if is_there else ([], [])
    if [row.seen for row in known] != [seen]:
        if known or damaged:
            database.execute(sql.delete(WORK).filter_by(**place))
        database.execute(sql.insert(WORK).values(place | {"seen": seen}))


def _entry(
    instructions: Instructions,
    was: Grade | None,
    grade: Grade,
    written: Replacement | None,
    why: str,
) -> dict[str, Any] | None:
    """The history's entry for a lesson that was graded or whose grade changed, or None."""
    if not written and (not was or (was.points, was.result) == (grade.points, grade.result)):
        return None
    before = was.result if was else None
    entry: dict[str, Any] = {
        "kind": "arrived",
        "why": clean(why),
        "text": _reason(was, grade) if was else None,
        "old_points": was and was.before_late,
        "new_points": grade.before_late,
        "checks": check_differences(before, grade.result),
        "replaced": None,
        "edition": (written and written.result.made_by) or None,
    }
    if not written:
        return entry
    result = written.result
    if grade.result.key != result.key:
        if not written.row.is_work:
            return None  # nothing was handed in, and something counts
        words = "kept beside it" if grade.result.sha256 == result.sha256 else "does not count"
        arrival = grade.arrival()
        which = f"the one that {arrival} counts" if arrival else "another counts"
        entry["text"] = f"a submission of {result.points} points {words}; {which}"
    else:
        entry["text"] = instructions.describe_overrides(before, grade.result)
        if not entry["text"] and was and grade.points < was.points and not written.rows:
            entry["text"] = _reason(was, grade)
    replaced = written.rows[0].value if written.rows else None
    return entry | {
        "kind": "regraded" if written.same_key else "graded",
        "replaced": replaced and replaced.as_json(),
    }


def _reason(was: Grade, grade: Grade) -> str:
    """Why a grade changed, in a sentence."""
    parts = []
    if was.result.sha256 != grade.result.sha256:
        parts.append(f"another submission counts: {grade.arrival()}")
    elif was.result.key != grade.result.key:
        parts.append("the same file, graded again")
    elif was.result != grade.result:
        parts.append("graded again")
    if was.late_reason != grade.late_reason:
        parts.append(f"{was.late_reason or 'in time'} -> {grade.late_reason or 'in time'}")
    return "; ".join(parts)
