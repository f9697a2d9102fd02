"""Everything that a gradebook stores about a learner: show it, and delete it.

What is about a learner: the rows with their id; the texts that only these rows name; and their id,
name, addresses and numbers in what is stored about others. Of a deleted learner stays the hash of
their feedback page's secret, by which `tito feedback` finds this page and takes it away.
"""

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from tito.errors import MachineError
from tito.grading.gradebook import late
from tito.grading.gradebook.copying import PAGE, as_stored
from tito.grading.gradebook.database import erase_remains, read, sound_rows, transaction, write
from tito.grading.gradebook.deliver import forget
from tito.grading.gradebook.gradebook import Gradebook
from tito.grading.gradebook.learners import check_learner, lock_learner
from tito.grading.gradebook.result_store import brief_columns
from tito.grading.gradebook.run_lock import hold
from tito.grading.gradebook.tables import (
    ALIAS,
    CHANGE,
    ENTRY,
    LEARNER,
    RESULT,
    SECRET,
    SETTING,
    TABLES,
    TEXT,
    WORK,
    learner_id,
    now,
    sql,
)
from tito.grading.lms import id_columns
from tito.grading.result import LessonResult

HASH = re.compile(r'"([0-9a-f]{64})')  # in a record, with the quotation mark that makes it fast
PAGES = re.compile(rf'"{SECRET}":"([0-9a-f]+)"')  # secrets of ids that were merged
GONE = "deleted "  # begins the name of the setting about a deleted learner; a hash follows
MERGED = "merged"  # its value where the page is of a merged id; else the day
DELETED = "(deleted learner)"  # in the place of their name
# Parts of a record that are prose. All others are names of lessons and checks, and what code said.
PROSE = ("notes", "reason", "entry", "comment", "merged")
SHORTEST = 3  # characters of a text in the roster that can identify a learner
Row = dict[str, Any]


def stored(book: Gradebook, student: str) -> dict[str, list[Row]]:
    """{table: rows about a learner, with JSON's values}, of all tables."""
    student = learner_id(student)
    with transaction(book.engine) as database:
        check_learner(database, student)
        rows = {
            table.name: [
                row._asdict() for row in sound_rows(database, _about(table, student), table)[0]
            ]
            for table in _tables()
        }
        texts = sorted(_hashes(_as_text(database, student)))
    for row in rows[LEARNER.name]:
        row["columns"].pop(SECRET, None)
    checks = set()
    for row in rows[RESULT.name]:
        for name in brief_columns(row["value"]):  # the value has them, too
            del row[name]
        checks.add(row["value"].check_texts)
    found = book.texts(sha256 for sha256 in texts if sha256 not in checks)
    rows[TEXT.name] = [{"sha256": sha256, "data": text} for sha256, text in sorted(found.items())]
    return {
        name: [{column: _plain(value) for column, value in row.items()} for row in listed]
        for name, listed in rows.items()
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, LessonResult):
        return value.as_json()
    return late.plain_number(value) if isinstance(value, Decimal) else value


def _tables() -> list[sql.Table]:
    """The tables with rows about a learner, that of learners before those that name one."""
    return [table for table in TABLES.sorted_tables if "student" in table.c]


def _about(table: sql.Table, student: str) -> sql.Select[Any]:
    return sql.select(table).where(table.c.student == student)


def _as_text(database: sql.Connection, student: str) -> Iterator[str]:
    """The records about a learner, as they are stored."""
    for table, column in ((RESULT, "value"), (CHANGE, "replaced"), (WORK, "seen")):
        plain = as_stored(table)
        query = sql.select(plain.c[column]).where(plain.c.student == student)
        yield from filter(None, database.execute(query).scalars())


def _hashes(records: Iterable[str]) -> set[str]:
    return {sha256 for record in records for sha256 in HASH.findall(record)}


def delete(book: Gradebook, student: str, who: str, preview: bool = False) -> dict[str, int]:
    """Delete everything about a learner, in one transaction, and what databases keep of deleted
    rows.

    preview  change nothing

    Returns {what: how many go}. Raises UsageError for an unknown learner, and while a run grades.
    """

    def work(database: sql.Connection) -> dict[str, int]:
        student_id = lock_learner(database, student, who).student
        return _delete(database, student_id)

    if preview:
        return write(book.engine, work, preview=True)
    with hold(book, who):
        counts = write(book.engine, work)
    try:
        erase_remains(book.engine)
    except MachineError as error:
        raise MachineError(
            f"{student} is deleted, but the database may still contain traces. {error.what}",
            "A copy contains none: tito gradebook copy TARGET. Use it, and delete this one.",
        ) from None
    return counts


def _delete(database: sql.Connection, student: str) -> dict[str, int]:
    words = _identifying(database, student)
    records = list(_as_text(database, student))
    mine, pages = _hashes(records), {page for text in records for page in PAGES.findall(text)}
    (columns,) = database.execute(sql.select(LEARNER.c.columns).filter_by(student=student)).one()
    comments = sql.select(CHANGE.c.id).filter_by(student=student, kind="comment")
    counts = {"comment": len(database.execute(comments).all())}
    for table in reversed(_tables()):
        counts[table.name] = database.execute(sql.delete(table).filter_by(student=student)).rowcount
    shared, counts["mention"] = _scrub(database, mine, words)
    texts = sql.delete(TEXT).where(TEXT.c.sha256.in_(mine - shared))
    counts["text"] = database.execute(texts).rowcount
    secret = columns.get(SECRET, "")
    settings = [
        {"name": GONE + page_hash(page), "value": f"{now():%Y-%m-%d}" if page == secret else MERGED}
        for page in {secret, *pages}
    ]
    database.execute(sql.insert(SETTING), settings)
    return counts


def _identifying(database: sql.Connection, student: str) -> list[str]:
    """The learner's ids, names of entries, name and addresses; of the roster's columns those that
    tell learners apart.
    """
    rows = {row.student: row for row in database.execute(sql.select(LEARNER))}
    mine = rows.pop(student)
    others = {text.casefold() for row in rows.values() for text in row.columns.values()}
    words = {
        text
        for name, text in mine.columns.items()
        if (name in id_columns() or "@" in text) and text.casefold() not in others
    }
    words |= {mine.name} - {row.name for row in rows.values()}
    for table, column in ((ALIAS, ALIAS.c.alias), (ENTRY, ENTRY.c.entry)):
        words |= set(database.execute(sql.select(column).filter_by(student=student)).scalars())
    for name in [*words]:  # Lovelace, Ada
        last, comma, first = name.partition(", ")
        words.add(f"{first} {last}" if comma else ", ".join(reversed(name.rsplit(" ", 1))))
    words.add(student)
    return sorted((word for word in words if len(word) >= SHORTEST), key=len, reverse=True)


def _scrub(database: sql.Connection, mine: set[str], words: list[str]) -> tuple[set[str], int]:
    """Take a learner's names out of what is stored about others. Returns the hashes among `mine`
    that it has, and how many rows were changed.
    """
    said, lower = _finder(words), {_escaped(word) for word in words}
    shared, changed = set[str](), []
    for table, record, texts in ((RESULT, "value", ()), (CHANGE, "replaced", ("text", "why"))):
        plain, key = as_stored(table), [column.name for column in table.primary_key]
        query = sql.select(*plain.c[*key, record, *texts])
        for row in database.execute(query, execution_options={"yield_per": PAGE}).mappings():
            found = row[record] or ""
            shared |= mine.intersection(HASH.findall(found))
            new = {name: said.sub(DELETED, row[name]) for name in texts if row[name]}
            folded = found.casefold()
            if any(word in folded for word in lower):  # fast, and often False
                with contextlib.suppress(ValueError):  # a damaged record stays as it is
                    value = _without(json.loads(found), said)
                    new[record] = json.dumps(value, separators=(",", ":"))
            if any(row[name] != text for name, text in new.items()):
                place = [plain.c[name] == row[name] for name in key]
                changed.append(sql.update(plain).where(*place).values(new))
    for update in changed:
        database.execute(update)
    for row in database.execute(sql.select(WORK.c.seen)).scalars():
        shared |= mine.intersection(one[3] for one in row)
    return shared, len(changed)


def _escaped(word: str) -> str:
    """A word in lower case as a record has it, or the longest part that it has as it is."""
    if word.isascii():
        return json.dumps(word.casefold())[1:-1]
    return max(re.findall(r"\w+", word.casefold(), re.ASCII), key=len, default="")


def _finder(words: list[str]) -> re.Pattern[str]:
    some = "|".join(map(re.escape, words)) or "(?!)"  # which nothing matches
    return re.compile(rf"(?<!\w)(?:{some})(?!\w)", re.IGNORECASE)


def _without(value: Any, said: re.Pattern[str], is_prose: bool = False) -> Any:
    """A record without these words in its prose."""
    if isinstance(value, dict):
        return {
            name: _without(part, said, is_prose or name in PROSE) for name, part in value.items()
        }
    if isinstance(value, list):
        return [_without(part, said, is_prose) for part in value]
    return said.sub(DELETED, value) if is_prose and isinstance(value, str) else value


def page_hash(secret: str) -> str:
    """By which the feedback page of a deleted learner is known."""
    return hashlib.sha256(secret.encode()).hexdigest()[:32]


def deleted(book: Gradebook) -> dict[str, str]:
    """{`page_hash` of a deleted learner's page: the day, or MERGED}."""
    query = sql.select(SETTING).where(SETTING.c.name.startswith(GONE))
    rows = read(book.engine, query, SETTING)
    return {row.name.removeprefix(GONE): row.value for row in rows}


def remove_pages(book: Gradebook, folder: Path) -> int:
    """Remove the feedback pages of deleted learners from a folder of `tito feedback`, and their ids
    from its record of deliveries. Returns how many pages.
    """
    gone, number = deleted(book), 0
    for path in (folder / "learners").glob("*.html") if gone else ():
        if page_hash(path.stem.rpartition("-")[2]) in gone:
            path.unlink()
            number += 1
    if gone:
        forget(folder, {learner.student for learner in book.learners()})
    return number
