"""The class of a gradebook: learners from rosters, learners who left, merged ids, and strangers
(learners whose work was graded but who are in no roster).

A gradebook remembers which column of the rosters has the ids. Once it has grades, a roster with ids
from another column is refused, because every learner would appear twice.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tito.errors import UsageError, suggest
from tito.grading.gradebook import class_lists, merging
from tito.grading.gradebook.database import read, sound_rows, transaction, write
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.history import PointsChange, add_change
from tito.grading.gradebook.learners import lock_learner, merged_into, remember_learner
from tito.grading.gradebook.requested_changes import RequestedChange
from tito.grading.gradebook.tables import (
    ALIAS,
    CHANGE,
    ENTRY,
    ID_COLUMN,
    LEARNER,
    LEFT,
    RESULT,
    SECRET,
    SETTING,
    STRANGER,
    learner_id,
    sql,
)
from tito.grading.roster import (
    DECIDED,
    GROUP,
    GUESS,
    SURE,
    Learner,
    Roster,
    entry_keys,
    in_section,
    learner_of,
    shown,
)
from tito.grading.submission import Submission

SUFFIX = re.compile(r"\.(zip|py|ipynb)$")  # of an entry, in the name of a stranger
MERGED = "merged_{}_id"  # the column of a Learner that holds an id merged into theirs


@dataclass
class Enrollment:
    """The result of reading a class list into the gradebook.

    id_column  whose texts are the ids
    learners   ids of those whom it lists
    source     which program wrote it; left_out, remarks: see `class_lists.RosterFile`
    groups     how many groups it has
    theirs     {stranger: learner} whose grades became that learner's
    strangers  ids that were graded and that no roster has
    absent     ids of learners of the book whom it does not list
    left       of those whom it lists, who has left all the same
    """

    id_column: str
    learners: list[str]
    source: str = ""
    left_out: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    groups: int = 0
    theirs: dict[str, str] = field(default_factory=dict)
    strangers: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def enroll(
    book: Gradebook, path: Path, who: str, id_column: str | None = None, whole_class: bool = False
) -> Enrollment:
    """Add the learners of a class list (see `class_lists.read`) to the gradebook.

    who          does so, for the history
    id_column    the column whose texts are the ids; None: the one that the book remembers, or the
                 first of `lms.id_columns` that tells the learners apart
    whole_class  whether everybody in the class is in it: learners of the book who are not have left

    Raises UsageError for a damaged list, and where a book with grades has its ids from another
    column.
    """
    class_list, column, learners = _read(book, path, id_column)

    def work(database: sql.Connection) -> tuple[Enrollment, list[PointsChange]]:
        before = _set_id_column(database, path, column)
        ids = _remember_learners(database, learners)
        states = _states(database, ids, first=not before)
        enrollment = Enrollment(
            column,
            ids,
            class_list.source,
            class_list.left_out,
            class_list.remarks,
            groups=len(Roster(learners).teams),
            absent=_not_listed(states, ids, None),
            left=[student for student in ids if states.get(student) == LEFT],
        )
        strangers = _not_listed(states, ids, STRANGER)
        moved, enrollment.theirs = _claim_strangers(book, database, strangers, who)
        enrollment.strangers = [one for one in strangers if one not in enrollment.theirs]
        for student in enrollment.absent if whole_class else ():
            _leave(database, student, who, f"not in {path}")
        return enrollment, moved

    enrollment, moved = write(book.engine, work)
    book.note_points(moved)
    return enrollment


def _read(
    book: Gradebook, path: Path, id_column: str | None
) -> tuple[class_lists.RosterFile, str, list[Learner]]:
    """The class list, the column of its ids, and its learners. A list of groups without names adds
    none: an unknown id there raises UsageError.
    """
    class_list = class_lists.read(path)
    column = class_lists.choose(class_list, id_column, id_column_of(book))
    learners = class_lists.learners_of(class_list, column)
    known, columns = {one.student for one in book.learners()}, class_list.columns
    with transaction(book.engine) as database:
        known |= _aliases(database).keys()
    for one in learners if known and GROUP in columns and "name" not in columns else ():
        if learner_id(one.student) not in known:
            raise UsageError(
                f"{path}: {one.student!r}, of the group {one.group!r}, is no learner of this "
                "gradebook.",
                suggest(one.student, known, "Add a column `name` to add learners."),
            )
    return class_list, column, learners


def _not_listed(states: dict[str, str | None], ids: list[str], state: str | None) -> list[str]:
    """The learners in this state who are not among `ids`."""
    return [
        student for student, current in states.items() if current == state and student not in ids
    ]


def _remember_learners(database: sql.Connection, learners: list[Learner]) -> list[str]:
    """Save the learners of a roster. Returns their ids without duplicates."""
    aliases = _aliases(database)
    listed = {learner_id(learner.student) for learner in learners}
    for learner in learners:
        student = learner_id(learner.student)
        if aliases.get(student) in listed:
            continue  # the learner has a line with the id that stays
        name = learner.name if learner.columns.get("name") else ""
        remember_learner(database, aliases.get(student, student), name, learner.columns)
    ids = (learner_id(learner.student) for learner in learners)
    return list(dict.fromkeys(aliases.get(student, student) for student in ids))


def _states(database: sql.Connection, ids: list[str], first: bool) -> dict[str, str | None]:
    """{learner: state} of the whole book, as it was before the roster with these ids; no stranger
    is in it any more.

    first  whether the book had no roster before: then everybody else whom it knows is a stranger
    """
    rows = database.execute(sql.select(LEARNER).order_by(LEARNER.c.student)).all()
    states = {row.student: row.state for row in rows}
    if first:
        unknown = [row.student for row in rows if not row.columns.keys() - {SECRET}]
        strange = [student for student in unknown if student not in ids]
        _set_state(database, strange, STRANGER)
        states |= dict.fromkeys(strange, STRANGER)
    _set_state(database, [student for student in ids if states.get(student) == STRANGER], None)
    return states


def _claim_strangers(
    book: Gradebook, database: sql.Connection, strangers: list[str], who: str
) -> tuple[list[PointsChange], dict[str, str]]:
    """Move the grades of strangers to the learners whose entries theirs are, as the gradebook knows
    or their names say. Returns the grades that changed, and {stranger: learner}.
    """
    roster, moved = Roster(_members(database)[0]), list[PointsChange]()
    theirs: dict[str, str] = {}
    for stranger in strangers:
        stem, sure = SUFFIX.sub("", stranger), True
        named = roster.remembered(stem, SURE)
        if not named:
            named, sure = roster.owners(stem)
            named = {min(named)} if named and roster.team(named) >= named else named
        if not sure or len(named) != 1:
            continue
        owner = learner_id(roster.learners[next(iter(named))].student)
        keys = map(learner_id, entry_keys(stem))
        _keep_owners(database, dict.fromkeys(keys, (owner, True)))
        moved += merging.join(
            book, database, stranger, owner, who, "their owner is known now"
        ).moved
        theirs[stranger] = owner
    return moved, theirs


def named(book: Gradebook, text: str | None) -> str | None:
    """The id of the only learner with this id, name or address; otherwise `text` itself."""
    return _finder(book)(text) if text else text


def with_ids(book: Gradebook, changes: list[RequestedChange]) -> list[RequestedChange]:
    """These changes, with ids in place of names and addresses."""
    find = _finder(book)
    return [replace(change, student=find(change.student)) for change in changes]


def _finder(book: Gradebook) -> Callable[[str], str]:
    roster = Roster([Learner(one.student, one.name, one.columns) for one in book.learners()])

    def find(text: str) -> str:
        owners, is_sure = roster.owners(text)
        one = is_sure and len(owners) == 1
        return roster.learners[next(iter(owners))].student if one else text

    return find


def learners(book: Gradebook) -> tuple[list[Learner] | None, dict[str, str]]:
    """(the learners to match submissions with, or None without a roster; {id: state} of the
    learners whom exports leave out, because they left or are strangers).

    A learner also has the ids that were merged into theirs.
    """
    with transaction(book.engine) as database:
        is_enrolled = _setting(database, ID_COLUMN)
        members, absent = _members(database)
    return members if is_enrolled else None, absent


def _members(database: sql.Connection) -> tuple[list[Learner], dict[str, str]]:
    """See `learners`. Strangers whom a person has removed are not in the class."""
    aliases = _aliases(database)
    rows, _ = sound_rows(database, sql.select(LEARNER).order_by(LEARNER.c.student), LEARNER)
    more: dict[str, dict[str, str]] = {}
    entries: dict[str, dict[str, str]] = {}
    for row in sound_rows(database, sql.select(ENTRY), ENTRY)[0]:
        entries.setdefault(row.student, {})[row.entry] = SURE if row.sure else GUESS
    for alias, student in aliases.items():
        columns = more.setdefault(student, {})
        columns[MERGED.format(len(columns) + 1)] = alias
        decided = dict.fromkeys(entry_keys(SUFFIX.sub("", alias)), DECIDED)
        entries.setdefault(student, {}).update(decided)
    members = []
    for row in rows:
        if row.state != STRANGER and (row.state != LEFT or row.columns.keys() - {SECRET}):
            columns = {"name": row.name} | row.columns | more.get(row.student, {})
            columns.pop(SECRET, None)
            member = learner_of(row.student, columns)
            members.append(replace(member, entries=entries.get(row.student, {})))
    return members, {row.student: row.state for row in rows if row.state}


def unclaimed(book: Gradebook) -> dict[tuple[str, str], set[str]]:
    """{(learner, lesson): strangers} of lessons that were not handed in, or under the name of one
    of these strangers, which fits several learners. A file that one of them has is not the others'.
    """
    members, absent = learners(book)
    roster, fitting = Roster(members or []), dict[str, set[str]]()
    for stranger in (student for student in absent if absent[student] == STRANGER):
        owners, _ = roster.owners(SUFFIX.sub("", stranger))
        if len(owners) > 1:
            fitting[stranger] = {roster.learners[number].student for number in owners}
    ids = RESULT.c.student.in_(fitting.keys() | set().union(*fitting.values()))
    query = sql.select(*RESULT.c["student", "lesson", "sha256", "verdict"])
    files: dict[tuple[str, str], set[str]] = {}
    for row in read(book.engine, query.where(ids), RESULT):
        if row.verdict != "missing":
            files.setdefault((row.student, row.lesson), set()).add(row.sha256)
    found: dict[tuple[str, str], set[str]] = {}
    for (stranger, lesson), theirs in files.items():
        fits = fitting.get(stranger, set())
        if theirs.difference(*(files.get((one, lesson), ()) for one in fits)):
            for place in ((owner, lesson) for owner in fits if (owner, lesson) not in files):
                found.setdefault(place, set()).add(stranger)
    return found


def id_column_of(book: Gradebook) -> str | None:
    """The column of the rosters that has the ids, or None without a roster."""
    with transaction(book.engine) as database:
        return _setting(database, ID_COLUMN)


def section(book: Gradebook, name: str) -> set[str]:
    """The ids of the learners in a section. Raises UsageError for an empty section."""
    rows = read(book.engine, sql.select(*LEARNER.c["student", "columns"]), LEARNER)
    ids = {row.student for row in rows if in_section(row.columns, name)}
    if not ids:
        there = sorted({row.columns.get("section") or "" for row in rows} - {""})
        raise UsageError(
            f"No learner is in section {name!r}.",
            f"The roster has: {', '.join(there[:10])}{', ...' if len(there) > 10 else ''}."
            if there
            else "No roster of this gradebook has a column `section`.",
        )
    return ids


def keep_entries(book: Gradebook, submissions: Iterable[Submission], who: str) -> None:
    """Record whose these entries are, and which are of no learner in the roster: their grades are
    saved, but not exported. The grades of a stranger whose owner is known now become the owner's.
    """
    strangers = [learner_id(one.student) for one in submissions if not one.known]
    entries = {
        learner_id(key): (learner_id(one.student), upload.sure)
        for one in submissions
        for upload in one.uploads
        if one.known
        for key in upload.keys
    }

    def work(database: sql.Connection) -> list[PointsChange]:
        for student in strangers:
            learner, _ = remember_learner(database, student, "")
            if learner.state != LEFT:  # a person has removed them
                _set_state(database, [student], STRANGER)
        _keep_owners(database, entries)
        members, absent = _members(database)
        listed = {member.student for member in members}
        earlier = [one for one in absent if shown(one) not in listed and one not in strangers]
        return _claim_strangers(book, database, earlier, who)[0]

    if strangers or entries:
        book.note_points(write(book.engine, work))


def _keep_owners(database: sql.Connection, entries: dict[str, tuple[str, bool]]) -> None:
    """entries: {key: (learner, whether it is sure)}. A guess replaces nothing that is sure."""
    known = {row.entry: row for row in database.execute(sql.select(ENTRY))}
    ids = {
        student: remember_learner(database, student, "")[0].student
        for student, _ in set(entries.values())
    }
    new = [
        {"entry": key, "student": ids[student], "sure": sure}
        for key, (student, sure) in entries.items()
        if not (row := known.get(key))
        or (row.student, row.sure) != (ids[student], sure)
        and sure >= row.sure
    ]
    keys = [row["entry"] for row in new if row["entry"] in known]
    for key in keys:
        database.execute(sql.delete(ENTRY).filter_by(entry=key))
    if new:
        database.execute(sql.insert(ENTRY), new)


def leave(book: Gradebook, student: str, who: str, why: str) -> None:
    """A learner leaves the class. Their grades are kept, but not exported."""

    def work(database: sql.Connection) -> None:
        _leave(database, lock_learner(database, student, who, why).student, who, why)

    write(book.engine, work)


def come_back(book: Gradebook, student: str, who: str, why: str) -> None:
    """A learner who had left comes back to the class. An id that was merged into another is a
    learner again, see `merging.split`.
    """

    def work(database: sql.Connection) -> list[PointsChange]:
        if merged_into(database, learner_id(student)):
            return merging.split(book, database, learner_id(student), who)
        learner = lock_learner(database, student, who, why).student
        _set_state(database, [learner], None)
        add_change(database, learner, None, "returned", who, why=why)
        return []

    book.note_points(write(book.engine, work))


def _leave(database: sql.Connection, student: str, who: str, why: str) -> None:
    _set_state(database, [student], LEFT)
    add_change(database, student, None, LEFT, who, why=why)


def _set_state(database: sql.Connection, students: Iterable[str], state: str | None) -> None:
    query = sql.update(LEARNER).where(LEARNER.c.student.in_(list(students)))
    database.execute(query.values(state=state))


def _set_id_column(database: sql.Connection, path: Path, new: str) -> str | None:
    """Remember from which column the ids are. Returns from which they were, or None. Raises
    UsageError where grades have other ids.
    """
    before = _setting(database, ID_COLUMN)
    if before and before != new:
        _refuse_if_graded(database, path, before, new)
        _forget_learners(database)
    database.execute(sql.delete(SETTING).filter_by(name=ID_COLUMN))
    database.execute(sql.insert(SETTING).values(name=ID_COLUMN, value=new))
    return before


def _refuse_if_graded(database: sql.Connection, path: Path, before: str, new: str) -> None:
    """Raise UsageError where the book has a history: its ids have to stay what they are."""
    if database.execute(sql.select(CHANGE.c.id).limit(1)).first():
        raise UsageError(
            f"{path} names learners by {new}; this gradebook, which has grades, by {before}.",
            f"Give a list with a column `{before}`, or another gradebook with --gradebook.",
        )


def _forget_learners(database: sql.Connection) -> None:
    """Delete the learners of earlier rosters, who have only names and no grades."""
    for table in (ALIAS, ENTRY):
        database.execute(sql.delete(table))
    database.execute(
        sql.delete(LEARNER).where(LEARNER.c.student.not_in(sql.select(RESULT.c.student)))
    )


def _aliases(database: sql.Connection) -> dict[str, str]:
    rows = database.execute(sql.select(*ALIAS.c["alias", "student"]))
    return {row.alias: row.student for row in rows}


def _setting(database: sql.Connection, name: str) -> str | None:
    return database.execute(sql.select(SETTING.c.value).filter_by(name=name)).scalar()
