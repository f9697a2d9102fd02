"""Open the database of a gradebook: its URL, connections, transactions and schema.

The database is SQLite by default, or another one by URL; `tito grade` needs SQLite or PostgreSQL,
which it can lock. One with an unknown schema is refused and not changed.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import methodcaller
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from tito.errors import MachineError, Notice, UsageError
from tito.grading.gradebook.tables import EARLIER, SCHEMA, SETTING, TABLES, DamagedValue, sql
from tito.safe_text import one_line

# A transaction that will write takes the lock first: of two that read and then both want to write,
# one could only fail.
WRITING = "BEGIN IMMEDIATE"
BUSY_SECONDS = 60  # to wait for another process that writes
ATTEMPTS = 5  # at writing what collides with another process
# SQLSTATE of a transaction that does not go together with others: no order of them, a deadlock
COLLISIONS = ("40001", "40P01")
REMEDY = (
    "Restore a copy of the gradebook from before. A result alone can be made again: "
    "tito grade SUBMISSIONS LESSON --regrade"
)
TOLD: WeakKeyDictionary[sql.Engine, set[str]] = WeakKeyDictionary()  # what `leave_out` has said
IN_MEMORY = sql.URL.create("sqlite")
Result = TypeVar("Result")
Place = list[sql.ColumnElement[bool]]  # the conditions that select one row


class DamagedRow(MachineError):
    """A row of the gradebook that cannot be read."""


class Collision(MachineError):
    """The database ended this transaction because it conflicts with another one."""


@contextmanager
def connect(
    where: str | Path, create: bool = True, reads: bool = False, earlier: bool = False
) -> Iterator[sql.Engine]:
    """The engine of the gradebook at `where`, a path or a database URL.

    Without `create`, the gradebook must exist. With `reads`, nothing is written: a gradebook that
    does not exist is empty. With `earlier`, it may have the earlier schema: only `copying` can read
    that. Raises the same errors as `gradebook.open_gradebook`.
    """
    url = _url(where)
    path = _path_of(url)
    is_there = not path or path.exists()
    if not (is_there or create):
        raise _missing(url)
    engine = _engine(url if is_there or not reads else IN_MEMORY)
    is_new = _make_file(path) if path and not (is_there or reads) else False
    try:
        if is_new or not _has_tables(engine, earlier):
            if not create:
                raise _missing(url)
            if reads:
                engine.dispose()
                engine = _engine(IN_MEMORY)
            _make_tables(engine)
        yield engine
    finally:
        engine.dispose()


@contextmanager
def begin_empty(where: str | Path) -> Iterator[sql.Connection]:
    """A transaction in the empty database at `where`, as `transaction`. A file is made, and taken
    away again if the block fails.

    Raises UsageError if something is in the database.
    """
    url = _url(where)
    path = _path_of(url)
    is_new, engine = path is not None and not path.exists() and _make_file(path), _engine(url)
    try:
        if _has_tables(engine):
            raise UsageError(
                f"{display_url(url)} is a gradebook already; it was not changed.",
                "Name a new file, or an empty database.",
            )
        with transaction(engine, WRITING) as database:
            yield database
        is_new = False
    finally:
        engine.dispose()
        if path and is_new:
            path.unlink(missing_ok=True)


@contextmanager
def transaction(engine: sql.Engine, begin: str = "BEGIN") -> Iterator[sql.Connection]:
    """A connection whose transaction is committed if the block succeeds, else rolled back.

    begin  how it begins in SQLite; "" for a single statement, which needs none
    """
    try:
        with engine.connect() as database:
            database.execution_options(tito_begin=begin)
            with database.begin():
                yield database
    except sql.exc.IntegrityError:
        raise
    except DamagedValue as error:
        raise _damaged_row(engine, error) from None
    except sql.exc.DBAPIError as error:
        reason = without_secrets(engine.url, str(error.orig))
        kind = Collision if getattr(error.orig, "sqlstate", None) in COLLISIONS else MachineError
        raise kind(
            f"The gradebook {display_url(engine.url)} does not work: {reason}.",
            "Finished submissions are saved. Solve the problem, then run the command again.",
        ) from None


def read(engine: sql.Engine, query: sql.Select[Any], table: sql.Table) -> list[Any]:
    """The rows of one query on one table, without those that are damaged, see `sound_rows`."""
    with transaction(engine, begin="") as database:
        return sound_rows(database, query, table)[0]


def sound_rows(
    database: sql.Connection, query: sql.Select[Any], table: sql.Table
) -> tuple[list[Any], set[str]]:
    """(the rows of a query on one table without those that are damaged, the learners whom these are
    about). A Notice names each of them.
    """
    rows, damaged = split_rows(database, query, table)
    return rows, {leave_out(database, table, place, error) for place, error in damaged}


def split_rows(
    database: sql.Connection, query: sql.Select[Any], table: sql.Table
) -> tuple[list[Any], list[tuple[Place, DamagedValue]]]:
    """(the rows of a query on one table that can be read, [(the conditions that select it alone,
    what is wrong)] of the others).
    """
    rows: list[Any] = []
    damaged = []
    try:
        return list(database.execute(query)), []
    except DamagedValue:
        for place in _places(database, query, table):
            try:
                rows += database.execute(query.where(*place)).all()
            except DamagedValue as error:
                damaged.append((place, error))
    return rows, damaged


def leave_out(database: sql.Connection, table: sql.Table, place: Place, error: DamagedValue) -> str:
    """Say once that a row is damaged, and that its learner is left out, whose id it returns."""
    found = _row_error(database, table, place, error)
    (student,) = _raw(database, [table.c.student], place)
    told = TOLD.setdefault(database.engine, set())
    if found.what not in told:
        words = f"{found.what} {one_line(student)} is left out. {found.remedy}"
        warnings.warn(words, Notice, stacklevel=2)
    told.add(found.what)
    return student


def _places(database: sql.Connection, query: sql.Select[Any], table: sql.Table) -> list[Place]:
    """For each row of a query on one table the conditions that select it alone. A key may itself be
    damaged; SQLite numbers its rows besides.
    """
    is_numbered = database.dialect.name == "sqlite"
    key: list[Any] = [sql.literal_column("rowid")] if is_numbered else list(table.primary_key)
    rows = database.execute(query.with_only_columns(*key).select_from(table)).all()
    return [[column == value for column, value in zip(key, row)] for row in rows]


def _raw(database: sql.Connection, columns: Iterable[sql.Column[Any]], place: Place) -> list[str]:
    """The values of a row as text, unchecked."""
    unchecked = [sql.type_coerce(column, sql.types.NullType()) for column in columns]
    return [str(value) for value in database.execute(sql.select(*unchecked).where(*place)).one()]


def _row_error(
    database: sql.Connection, table: sql.Table, place: Place, error: DamagedValue
) -> DamagedRow:
    key = list(table.primary_key)
    values = zip(key, _raw(database, key, place))
    words = ", ".join(f"{column.name} {one_line(value)!r}" for column, value in values)
    what = f"In the gradebook {display_url(database.engine.url)}, the row of the table {table.name}"
    return DamagedRow(f"{what} with {words} is damaged: {error}.", REMEDY)


def _damaged_row(engine: sql.Engine, error: DamagedValue) -> DamagedRow:
    """The error that names the first damaged row of a gradebook."""
    with engine.connect() as database:
        for table in TABLES.sorted_tables:
            for place, found in split_rows(database, sql.select(table), table)[1]:
                return _row_error(database, table, place, found)
    return DamagedRow(f"The gradebook {display_url(engine.url)} is damaged: {error}.", REMEDY)


def write(
    engine: sql.Engine, work: Callable[[sql.Connection], Result], preview: bool = False
) -> Result:
    """The result of `work(database)` in a transaction, which is rolled back for a preview.

    If two processes add the same row, or wait for each other, one of them tries again.
    """
    for attempt in range(ATTEMPTS):
        try:
            with transaction(engine, WRITING) as database:
                result = work(database)
                if preview:
                    database.rollback()
                return result
        except (sql.exc.IntegrityError, Collision):
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returned or raised")


def erase_remains(engine: sql.Engine) -> None:
    """Write a database anew, without what it keeps of rows that were deleted before."""
    commands = ["VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"]
    if engine.dialect.name == "postgresql":
        engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        commands = [f"VACUUM FULL {', '.join(TABLES.tables)}"]
    with transaction(engine, begin="") as database:
        for command in commands:
            database.exec_driver_sql(command)


def display_url(url: sql.URL | str | Path) -> str:
    """The database, safe to print: the path of a file, or the URL without its password and its
    arguments, which may be another one.
    """
    url = url if isinstance(url, sql.URL) else _url(url)
    is_file = url.drivername.startswith("sqlite") and url.database
    return is_file or url.set(query={}).render_as_string(hide_password=True) + "?..." * bool(
        url.query
    )


def without_secrets(url: sql.URL, text: str) -> str:
    """A message of a driver on one line, without the secrets that the URL holds."""
    secrets = {str(url.password or "")}
    for name, value in url.query.items():
        if re.search("pass|secret|key|token|service", name, re.I):
            secrets |= {value} if isinstance(value, str) else set(value)
    for secret in sorted(secrets - {""}, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    return " ".join(text.split()).rstrip(".?")


def _url(where: str | Path) -> sql.URL:
    if not isinstance(where, str) or "://" not in where:
        if re.search(r"pass\w*\s*=", str(where)):  # libpq's form: it may hold a password, too
            raise _unreadable()
        return sql.URL.create("sqlite", database=str(Path(where).expanduser().absolute()))
    try:
        return sql.make_url(where)
    except (sql.exc.ArgumentError, ValueError):
        raise _unreadable() from None


def _path_of(url: sql.URL) -> Path | None:
    return Path(url.database) if url.drivername.startswith("sqlite") and url.database else None


def _make_file(path: Path) -> bool:
    """Returns whether it was made: another process may have been faster."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=False)  # only the owner may read grades
        return True
    except FileExistsError:
        return False
    except OSError as error:
        raise MachineError(
            f"The gradebook {path} was not made: {error.strerror}.",
            "Name another place with --gradebook.",
        ) from None


def _unreadable() -> UsageError:  # without the URL: it may hold a password
    return UsageError(
        "That gradebook's URL cannot be read.",
        "Write it like this: postgresql+psycopg://USER@HOST/DATABASE",
    )


def _engine(url: sql.URL) -> sql.Engine:
    sqlite = url.drivername.startswith("sqlite")
    try:
        with warnings.catch_warnings(action="error", category=sql.exc.SAWarning):
            engine = sql.create_engine(
                url, connect_args={"timeout": BUSY_SECONDS} if sqlite else {}
            )
    except sql.exc.NoSuchModuleError:
        raise UsageError(
            f"{url.drivername} is not a database that SQLAlchemy supports here.",
            "Give the path of a file, or a URL such as postgresql+psycopg://...",
        ) from None
    except ModuleNotFoundError as error:
        raise MachineError(
            f"A gradebook at {url.drivername} needs the Python package {error.name}, "
            "which is not here.",
            "Install it, or use a file.",
        ) from None
    except (sql.exc.SQLAlchemyError, sql.exc.SAWarning, ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0].partition(" (Background")[0]
        raise UsageError(
            f"The gradebook's URL {display_url(url)} cannot be used: "
            f"{without_secrets(url, reason)}.",
            "Correct its arguments, behind the `?`, or leave them out.",
        ) from None
    if sqlite:
        _prepare_sqlite(engine)
    return engine


def _prepare_sqlite(engine: sql.Engine) -> None:
    @sql.event.listens_for(engine, "connect")
    def prepare_connection(connection: Any, record: object) -> None:
        # Transactions begin at our BEGIN, and include changes of the schema.
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA secure_delete=ON")  # overwrite what is deleted
        # text that is not UTF-8 is a damaged value of its row, not an error of the whole query
        connection.text_factory = methodcaller("decode", "utf-8", "surrogateescape")

    @sql.event.listens_for(engine, "begin")
    def begin(database: sql.Connection) -> None:
        if command := database.get_execution_options().get("tito_begin", "BEGIN"):
            database.exec_driver_sql(command)


def _has_tables(engine: sql.Engine, earlier: bool = False) -> bool:
    """Whether the database is a gradebook; False for an empty one. Raises UsageError for others."""
    try:
        with transaction(engine) as database:
            return _is_gradebook(database, earlier)
    except MachineError as error:
        if "file is not a database" in error.what:
            raise _foreign(engine.url) from None
        raise


def _is_gradebook(database: sql.Connection, earlier: bool) -> bool:
    names = set(sql.inspect(database).get_table_names())
    if not names:
        return False
    if SETTING.name not in names:
        raise _foreign(database.engine.url)
    rows = [list(row) for row in database.execute(sql.text(f"SELECT * FROM {SETTING.name}"))]
    is_earlier = ["schema", EARLIER] in rows
    if names >= TABLES.tables.keys() and (["schema", SCHEMA] in rows or is_earlier and earlier):
        return True
    if is_earlier:
        raise UsageError(
            f"The gradebook {display_url(database.engine.url)} is of an earlier tito; it was not "
            "changed.",
            "Copy it, and use the copy: tito gradebook copy NEW.db",
        )
    raise UsageError(
        f"The gradebook {display_url(database.engine.url)} has a schema that this version of tito "
        "does not know; it was not changed.",
        "Open it with the version of tito that created it, or name another one with --gradebook.",
    )


def _make_tables(engine: sql.Engine) -> None:
    try:
        with transaction(engine, WRITING) as database:
            TABLES.create_all(database, checkfirst=False)
            database.execute(sql.insert(SETTING).values(name="schema", value=SCHEMA))
    except (MachineError, sql.exc.IntegrityError):
        # Another process may be making the tables at the same time; the second of them is refused.
        if not _has_tables(engine):
            raise


def _missing(url: sql.URL) -> UsageError:
    return UsageError(
        f"There is no gradebook at {display_url(url)}.",
        "`tito grade SUBMISSIONS` creates it; --gradebook names another.",
    )


def _foreign(url: sql.URL) -> UsageError:
    return UsageError(
        f"{display_url(url)} is not a gradebook; it was not changed.",
        "Name another one with --gradebook; or a new file, an empty database, or an empty schema "
        "of PostgreSQL: postgresql+psycopg://...?options=-csearch_path%3DSCHEMA",
    )
