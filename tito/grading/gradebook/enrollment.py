"""Who is in the class of a gradebook: what its rosters said, who left, whose ids were merged, and
whose work was graded though no roster has them (strangers).

A book keeps which column of the rosters its ids are. Once it has grades, another column is refused:
everybody would be there twice.
"""

import re
from dataclasses import dataclass, field

from tito.errors import UsageError
from tito.grading.arrival import is_time, merged
from tito.grading.gradebook import class_lists
from tito.grading.gradebook.class_lists import learners_of
from tito.grading.gradebook.database import transaction, write
from tito.grading.gradebook.grade import arrival_of
from tito.grading.gradebook.history import Fall, add_change
from tito.grading.gradebook.learners import lock_learner, remember_learner
from tito.grading.gradebook.result_store import time_columns
from tito.grading.gradebook.tables import (
    ALIAS,
    ATTEMPT,
    CHANGE,
    CLAIM,
    ID_COLUMN,
    LEARNER,
    LEFT,
    RESULT,
    SECRET,
    SETTING,
    STRANGER,
    TABLES,
    learner_id,
    sql,
)
from tito.grading.roster import Roster, in_section, learner_of

MERGED = "merged_{}_id"  # the column of a Learner that holds an id merged into theirs


@dataclass
class Enrollment:
    """What a class list led to.

    id_column  whose texts are the ids
    learners   ids of those whom it lists
    source     which program wrote it; left_out, remarks: see `class_lists.ClassList`
    theirs     {stranger: learner} whose grades became that learner's
    strangers  ids that were graded and that no roster has
    absent     ids of learners of the book whom it does not list
    left       of those whom it lists, who has left all the same
    """

    id_column: str
    learners: list
    source: str = ""
    left_out: list = field(default_factory=list)
    remarks: list = field(default_factory=list)
    theirs: dict = field(default_factory=dict)
    strangers: list = field(default_factory=list)
    absent: list = field(default_factory=list)
    left: list = field(default_factory=list)


def enroll(book, path, who, id_column=None, whole_class=False):
    """Take the learners of a class list into the book. Returns the Enrollment.

    path         of a CSV file, see `class_lists.read`
    who          is it who does so, for the history
    id_column    the column whose texts are the ids; None: the one that the book remembers, or the
                 first of `class_lists.ORDER` that tells the learners apart
    whole_class  whether everybody in the class is in it: whoever of the book is not has left

    Raises TitoError for a damaged list, and where a book with grades has its ids from another
    column.
    """
    found = class_lists.read(path)
    with transaction(book.engine) as database:
        remembered = _setting(database, ID_COLUMN)
    if found.scheme and found.scheme == remembered and not id_column:
        id_column, scheme = "student", remembered  # an export of this book, or of one like it
    else:
        id_column = class_lists.choose(found, id_column, remembered)
        scheme = found.scheme if found.scheme and id_column == "student" else id_column
    learners = learners_of(found, id_column)
    out = Enrollment(scheme, [], found.source, left_out=found.left_out, remarks=list(found.remarks))

    def work(database):
        before = _setting(database, ID_COLUMN)
        if before and before != scheme:
            _refuse_if_graded(database, path, before, scheme)
            _forget(database)
        _set(database, ID_COLUMN, scheme)
        aliases = _aliases(database)
        ids = dict.fromkeys(_owner(learner, aliases) for learner in learners)  # a set, in order
        for learner in learners:
            student = learner_id(learner.student)
            if student in aliases and aliases[student] in map(_id, learners):
                continue  # the learner has a line of their own
            name = learner.name if learner.columns.get("name") else ""
            remember_learner(database, _owner(learner, aliases), name, learner.columns)
        states = dict(database.execute(sql.select(LEARNER.c["student", "state"])).all())
        _set_state(database, [one for one in ids if states.get(one) == STRANGER], None)
        if not before:  # who was graded before there was a roster, and is not in it
            rows = database.execute(sql.select(LEARNER.c["student", "columns"]))
            unknown = [row.student for row in rows if not row.columns.keys() - {SECRET}]
            strange = set(unknown) - ids.keys()
            _set_state(database, strange, STRANGER)
            states |= dict.fromkeys(strange, STRANGER)
        everybody, out.theirs, out.strangers, moved = Roster(learners), {}, [], []
        for stranger in [one for one in states if states[one] == STRANGER and one not in ids]:
            owners, sure = everybody.owners(re.sub(r"\.(zip|py|ipynb)$", "", stranger))
            if sure and len(owners) == 1:
                owner = _owner(learners[next(iter(owners))], aliases)
                why = "the roster has them now"
                moved += _merge(book, database, stranger, owner, who, why, alias=False)
                out.theirs[stranger] = owner
            else:
                out.strangers.append(stranger)
        out.learners = list(ids)
        out.absent = [one for one in states if states[one] is None and one not in ids]
        if whole_class:
            for one in out.absent:
                _leave(database, one, who, f"not in {path}")
        out.left = [one for one in ids if states.get(one) == LEFT]
        return moved

    book.move(write(book.engine, work))
    return out


def learners(book, batch=None):
    """The Learners of the book, as `grade` takes them, or None when it has had no roster. Ids that
    were merged into theirs are theirs, too.

    batch  ids whose columns of times count: those in the roster that came with this batch of
           submissions. The times in an older roster are those of another batch
    """
    with transaction(book.engine) as database:
        if not _setting(database, ID_COLUMN):
            return None
        merged = {}
        for alias, student in _aliases(database).items():
            columns = merged.setdefault(student, {})
            columns[MERGED.format(len(columns) + 1)] = alias
        rows = database.execute(sql.select(LEARNER).order_by(LEARNER.c.student)).all()
    out = []
    for row in rows:
        if row.state == STRANGER:
            continue
        columns = {"name": row.name} | row.columns | merged.get(row.student, {})
        columns.pop(SECRET, None)
        if row.student not in (batch or ()):
            columns = {name: text for name, text in columns.items() if not is_time(name)}
        out.append(learner_of(row.student, columns))
    return out


def absent_from(book):
    """{id: state} of whoever the exports leave out: who left, and strangers."""
    with transaction(book.engine) as database:
        query = sql.select(LEARNER.c["student", "state"]).where(LEARNER.c.state.is_not(None))
        return dict(database.execute(query.order_by(LEARNER.c.student)).all())


def id_column(book):
    """The column of the rosters that the ids of the book are, or None without a roster."""
    with transaction(book.engine) as database:
        return _setting(database, ID_COLUMN)


def section(book, name):
    """The ids of the learners in a section. Raises TitoError when nobody is in it."""
    with transaction(book.engine) as database:
        rows = database.execute(sql.select(LEARNER.c["student", "columns"])).all()
    ids = {row.student for row in rows if in_section(row.columns, name)}
    if not ids:
        there = sorted({row.columns.get("section") or "" for row in rows} - {""})
        raise UsageError(
            f"Nobody is in section {name!r}.",
            f"The roster has: {', '.join(there[:10])}{', ...' if len(there) > 10 else ''}."
            if there
            else "No roster of this gradebook has a column `section`.",
        )
    return ids


def keep_strangers(book, students):
    """Keep that these ids are in no roster: their grades are kept, and not exported."""

    def work(database):
        for student in map(learner_id, students):
            remember_learner(database, student, "")
            _set_state(database, [student], STRANGER)

    if students:
        write(book.engine, work)


def leave(book, student, who, why, lift=False):
    """A learner leaves the class: all about them is kept, and not exported. `lift`: they are back.

    Raises TitoError for an unknown learner.
    """

    def work(database):
        learner = lock_learner(database, student, who, why)
        if lift:
            _set_state(database, [learner], None)
            add_change(database, learner, None, "returned", who, why)
        else:
            _leave(database, learner, who, why)

    write(book.engine, work)


def merge(book, old, into, who, why):
    """One learner was there under two ids: what the book has about `old` becomes `into`'s, as does
    whatever is handed in under `old` from now on.

    Of a lesson that both have, the policy of the course says which submission counts; a grade that
    falls is in `book.fell`. Raises TitoError for an unknown learner.
    """

    def work(database):
        first, second = (lock_learner(database, one, who, why) for one in (old, into))
        if first == second:
            raise UsageError(f"{old} and {into} are one learner already.", "Name two ids.")
        return _merge(book, database, first, second, who, why)

    book.move(write(book.engine, work))


def _merge(book, database, old, into, who, why, alias=True):
    """Returns the Falls (and rises) of `into`'s grades."""
    query = sql.select(LEARNER.c["name", "columns", "state"])
    theirs, ours = (
        database.execute(query.where(LEARNER.c.student == one)).one() for one in (old, into)
    )
    before = book.grades(database, into)
    # Of a lesson that both have, whoever looks at it looks at `into`'s.
    claimed = database.execute(sql.select(CLAIM.c.lesson).filter_by(student=into)).scalars().all()
    database.execute(sql.delete(CLAIM).where(CLAIM.c.student == old, CLAIM.c.lesson.in_(claimed)))
    # Tables of the history and of whatever else is kept about a learner.
    for table in TABLES.sorted_tables:
        if "student" in table.c and table not in (LEARNER, RESULT, ATTEMPT):
            database.execute(sql.update(table).filter_by(student=old).values(student=into))
    lessons = _move_results(database, old, into)
    columns = theirs.columns | {name: text for name, text in ours.columns.items() if text}
    names = {"name": ours.name or theirs.name, "columns": columns}
    if ours.state == STRANGER:  # the roster has them, under the other id
        names["state"] = theirs.state
    database.execute(sql.update(LEARNER).filter_by(student=into).values(names))
    told, after, moved = f"{old} is {into}", book.grades(database, into), []
    for lesson in lessons:
        was, now = before.get(lesson), after[lesson]
        points = {"old_points": was and was.before_late, "new_points": now.before_late}
        add_change(database, into, lesson, "merged", who, why, told, **points)
        if was and was.points != now.points:
            moved.append(Fall(into, now.name, lesson, was.points, now.points, told))
    if not lessons:
        add_change(database, into, None, "merged", who, why, told)
    database.execute(sql.delete(ATTEMPT).filter_by(student=old))
    database.execute(sql.delete(LEARNER).filter_by(student=old))
    if alias:
        database.execute(sql.insert(ALIAS).values(alias=old, student=into))
    return moved


def _move_results(database, old, into):
    """Make `old`'s results `into`'s. Of one that both have (the same key), the one with more points
    stays, with what is known of the arrival of both. Returns the lessons.
    """
    kept = {
        (row.lesson, row.key): row
        for row in database.execute(sql.select(RESULT).filter_by(student=into))
    }
    rows = database.execute(sql.select(RESULT).filter_by(student=old)).all()
    for row in rows:
        place = {"student": old, "lesson": row.lesson, "key": row.key}
        best, times = row, {}
        if same := kept.get((row.lesson, row.key)):
            best = max(same, row, key=lambda one: one.value["points"])
            times = time_columns(merged(arrival_of(same), arrival_of(row)))
            loser = row if best is same else same
            database.execute(sql.delete(RESULT).filter_by(**place | {"student": loser.student}))
        values = {"student": into, "value": best.value | {"student": into}} | times
        place["student"] = best.student
        database.execute(sql.update(RESULT).filter_by(**place).values(values))
    return list(dict.fromkeys(row.lesson for row in sorted(rows, key=lambda row: row.number)))


def _leave(database, student, who, why):
    _set_state(database, [student], LEFT)
    add_change(database, student, None, LEFT, who, why)


def _set_state(database, students, state):
    for student in students:
        database.execute(sql.update(LEARNER).filter_by(student=student).values(state=state))


def _refuse_if_graded(database, path, before, scheme):
    """Raise TitoError where the book has grades or a history: its ids are to stay what they are."""
    if database.execute(sql.select(CHANGE.c.id).limit(1)).first():
        raise UsageError(
            f"{path} names learners by {scheme}; this gradebook, which has grades, by {before}.",
            f"Give a list with a column `{before}`, or another gradebook with --gradebook.",
        )


def _forget(database):
    """Take out the learners of the rosters before: nothing is known about them but their names."""
    database.execute(sql.delete(ALIAS))
    database.execute(
        sql.delete(LEARNER).where(LEARNER.c.student.not_in(sql.select(RESULT.c.student)))
    )


def _aliases(database):
    return dict(database.execute(sql.select(ALIAS.c["alias", "student"])).all())


def _id(learner):
    return learner_id(learner.student)


def _owner(learner, aliases):
    return aliases.get(_id(learner), _id(learner))


def _setting(database, name):
    return database.execute(sql.select(SETTING.c.value).filter_by(name=name)).scalar()


def _set(database, name, value):
    database.execute(sql.delete(SETTING).filter_by(name=name))
    database.execute(sql.insert(SETTING).values(name=name, value=value))
