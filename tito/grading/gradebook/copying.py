"""Copy a gradebook into another database, of the same kind or not: values as they are stored."""

import hashlib
import json
import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tito.errors import MachineError, Notice
from tito.grading.gradebook.database import REMEDY, begin_empty, display_url, transaction
from tito.grading.gradebook.result_store import brief_columns
from tito.grading.gradebook.tables import (
    EARLIER,
    RESULT,
    SCHEMA,
    SETTING,
    TABLES,
    Moment,
    Name,
    sql,
)
from tito.grading.result import LessonResult

PAGE = 500  # rows in memory
TEXTS = (sql.String, sql.Text)


def copy(engine: sql.Engine, where: str | Path) -> dict[str, int]:
    """Copy all tables of a gradebook into the empty database at `where`, in one transaction, which
    is committed when as many rows with the same contents have arrived. A gradebook of the earlier
    schema becomes one of today's.

    Returns {table: rows}. Raises UsageError if something is in that database, and MachineError for
    a row that cannot be copied.
    """
    with transaction(engine) as source:
        if source.dialect.name == "postgresql":  # what others write meanwhile is not seen
            source.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        there = {table: stored_in(source, table) for table in TABLES.sorted_tables}
        rows = {table: contents(source, stored) for table, stored in there.items()}
        with begin_empty(where) as target:
            TABLES.create_all(target, checkfirst=False)
            for table, sent in rows.items():
                copy_rows(source, target, table)
                if contents(target, there[table]) != sent:
                    raise MachineError(
                        f"The table {table.name} did not arrive as it is: nothing was copied to "
                        f"{display_url(target.engine.url)}.",
                        "Try another database.",
                    )
            earlier = sql.update(SETTING).filter_by(name="schema", value=EARLIER)
            if target.execute(earlier.values(value=SCHEMA)).rowcount:
                words = "The gradebook is of an earlier tito; the copy has today's form."
                warnings.warn(words, Notice, stacklevel=2)
            if target.dialect.name == "postgresql":  # its next entry of the history is a new one
                target.exec_driver_sql(
                    "SELECT setval(pg_get_serial_sequence('change', 'id'), max(id)) FROM change"
                )
    return {table.name: sent.total() for table, sent in rows.items()}


def copy_rows(source: sql.Connection, target: sql.Connection, table: sql.Table) -> None:
    """Copy the rows of one table. What it lacks in the earlier schema is made from what it has."""
    stored = stored_in(source, table)
    lacks = [column for column in table.c if column.name not in stored.c]
    into = _named(table, [*stored.c, *lacks])
    made = _brief if table is RESULT and lacks else dict
    rows = source.execute(sql.select(stored), execution_options={"yield_per": PAGE}).mappings()
    for some in rows.partitions():
        target.execute(sql.insert(into), [made(row) for row in some])


def _brief(row: Any) -> dict[str, Any]:
    """A row of `result` of the earlier schema, with what it lacks."""
    try:
        return dict(row) | brief_columns(LessonResult.from_json(json.loads(row["value"])))
    except (ValueError, TypeError, LookupError):
        what = f"The result of {row['student']} in {row['lesson']} is damaged"
        raise MachineError(f"{what}: nothing was copied.", REMEDY) from None


def stored_in(database: sql.Connection, table: sql.Table) -> sql.Table:
    """The table as this database has it: the earlier schema lacks columns."""
    there = {column["name"] for column in sql.inspect(database).get_columns(table.name)}
    return _named(table, [column for column in as_stored(table).c if column.name in there])


def _named(table: sql.Table, columns: Iterable[sql.Column[Any]]) -> sql.Table:
    """A table of this name with columns like these."""
    return sql.Table(
        table.name, sql.MetaData(), *(sql.Column(one.name, one.type) for one in columns)
    )


def contents(database: sql.Connection, stored: sql.Table) -> Counter[bytes]:
    """{SHA-256 of a row: how often it is there} of a table, see `stored_in`."""
    rows = database.execute(sql.select(stored), execution_options={"yield_per": PAGE})
    return Counter(hashlib.sha256(repr(tuple(row)).encode()).digest() for row in rows)


def as_stored(table: sql.Table) -> sql.Table:
    """The table, whose values are read and written as they are stored; damaged text and times are
    still refused.
    """

    def kind(column: sql.Column[object]) -> sql.types.TypeEngine[object]:
        plain = getattr(column.type, "impl", column.type)
        is_time = isinstance(column.type, Moment)
        return column.type if is_time else Name() if isinstance(plain, TEXTS) else plain

    return _named(table, [sql.Column(column.name, kind(column)) for column in table.columns])
