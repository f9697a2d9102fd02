"""Copy a gradebook into another database, of the same kind or not: values as they are stored."""

import hashlib
import warnings
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from tito.errors import MachineError, Notice
from tito.grading.gradebook.database import begin_empty, display_url, transaction
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
            _to_today(target)
            if target.dialect.name == "postgresql":  # its next entry of the history is a new one
                target.exec_driver_sql(
                    "SELECT setval(pg_get_serial_sequence('change', 'id'), max(id)) FROM change"
                )
    return {table.name: sent.total() for table, sent in rows.items()}


def copy_rows(source: sql.Connection, target: sql.Connection, table: sql.Table) -> None:
    """Copy the rows of one table."""
    stored = stored_in(source, table)
    rows = source.execute(sql.select(stored), execution_options={"yield_per": PAGE}).mappings()
    for some in rows.partitions():
        target.execute(sql.insert(stored), [dict(row) for row in some])


def _to_today(target: sql.Connection) -> None:
    """Bring a copy of the earlier schema to the schema of today."""
    earlier = sql.update(SETTING).filter_by(name="schema", value=EARLIER)
    if not target.execute(earlier.values(value=SCHEMA)).rowcount:
        return
    warnings.warn("This gradebook is of an earlier tito; the copy is of today's.", Notice)
    place = RESULT.c["student", "lesson", "key"]
    for *key, value in target.execute(sql.select(*place, RESULT.c.value)).all():
        row = sql.update(RESULT).where(*(column == text for column, text in zip(place, key)))
        target.execute(row.values(brief_columns(value)))


def stored_in(database: sql.Connection, table: sql.Table) -> sql.Table:
    """The table `as_stored`, with the columns that it has there: the earlier schema lacks some."""
    there = {column["name"] for column in sql.inspect(database).get_columns(table.name)}
    return as_stored(table, there)


def contents(database: sql.Connection, stored: sql.Table) -> Counter[bytes]:
    """{SHA-256 of a row: how often it is there} of a table, see `stored_in`."""
    rows = database.execute(sql.select(stored), execution_options={"yield_per": PAGE})
    return Counter(hashlib.sha256(repr(tuple(row)).encode()).digest() for row in rows)


def as_stored(table: sql.Table, there: Collection[str] | None = None) -> sql.Table:
    """The table, whose values are read and written as they are stored; damaged text and times are
    still refused. there: its columns; None: all
    """

    def kind(column: sql.Column[object]) -> sql.types.TypeEngine[object]:
        plain = getattr(column.type, "impl", column.type)
        is_time = isinstance(column.type, Moment)
        return column.type if is_time else Name() if isinstance(plain, TEXTS) else plain

    columns = [column for column in table.columns if there is None or column.name in there]
    made = (sql.Column(column.name, kind(column)) for column in columns)
    return sql.Table(table.name, sql.MetaData(), *made)
