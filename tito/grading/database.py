"""Opening a gradebook's database: where it is, its connections and transactions, its schema.

SQLite by default, any database that SQLAlchemy knows by URL.
"""

import os
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

from tito.errors import TitoError
from tito.grading.tables import sql

MIGRATIONS = Path(__file__).parent / "migrations"
HEAD = "0001"  # the newest file in migrations/versions; a test holds the two together
VERSION_TABLE = "tito_gradebook"  # where alembic keeps the version: what tells a gradebook from any other database
BUSY_SECONDS = 60  # to wait for another process that writes


@contextmanager
def connect(where, create=True):
    """The engine of the gradebook at `where`, a path or a database URL, its schema this tito's."""
    url = _url(where)
    path = Path(url.database) if url.drivername.startswith("sqlite") and url.database else None
    try:
        if path and not path.exists():
            if not create:
                raise TitoError(
                    f"There is no gradebook at {path}.",
                    "`tito grade SUBMISSIONS` makes one; --gradebook names another.",
                )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)  # grades are nobody else's business
    except OSError as error:
        raise TitoError(
            f"The gradebook {path} was not made: {error.strerror}.",
            "Name another place with --gradebook.",
            3,
        ) from None
    engine = _engine(url)
    try:
        _prepare(engine, path)
        yield engine
    finally:
        engine.dispose()


def _prepare(engine, path):
    try:
        with transaction(engine) as database:
            revision = _revision(database)
        if revision != HEAD:
            with transaction(engine, writes=True) as database:
                _upgrade(
                    database, _revision(database), path
                )  # asked again: another process may have been faster
    except TitoError as error:
        if "file is not a database" in error.what:
            raise _foreign(engine.url) from None
        raise


@contextmanager
def transaction(engine, writes=False):
    """A connection whose transaction is committed if the block succeeds, else rolled back."""
    try:
        with engine.connect() as database:
            database.execution_options(tito_writes=writes)
            with database.begin():
                yield database
    except sql.exc.IntegrityError:
        raise
    except sql.exc.DBAPIError as error:
        reason = " ".join(str(error.orig).split())
        raise TitoError(
            f"The gradebook {shown(engine.url)} does not work: {reason}.",
            "Whole submissions are kept. Mend that and run it again.",
            3,
        ) from None


def write(engine, work):
    """The result of `work(database)` in a transaction.

    Where a database lets two processes add the same row, the second of them tries again.
    """
    for attempts_left in (2, 1, 0):
        try:
            with transaction(engine, writes=True) as database:
                return work(database)
        except sql.exc.IntegrityError:
            if not attempts_left:
                raise


def shown(url):
    """The database as one may print it: a file's path, or the URL without its password."""
    is_file = url.drivername.startswith("sqlite") and url.database
    return url.database if is_file else url.render_as_string(hide_password=True)


def _url(where):
    if not isinstance(where, str) or "://" not in where:
        return sql.URL.create("sqlite", database=str(Path(where).expanduser().absolute()))
    try:
        return sql.make_url(where)
    except (sql.exc.ArgumentError, ValueError):  # not shown: it may hold a password
        raise TitoError(
            "That gradebook's URL cannot be read.",
            "Write it like this: postgresql+psycopg://USER@HOST/DATABASE",
        ) from None


def _engine(url):
    sqlite = url.drivername.startswith("sqlite")
    try:
        engine = sql.create_engine(url, connect_args={"timeout": BUSY_SECONDS} if sqlite else {})
    except sql.exc.NoSuchModuleError:
        raise TitoError(
            f"{url.drivername} is no kind of database that SQLAlchemy knows here.",
            "postgresql+psycopg://..., say, or the path of a file.",
        ) from None
    except ModuleNotFoundError as error:
        raise TitoError(
            f"A gradebook at {url.drivername} needs the Python package {error.name}, which is not here.",
            "Install it, or use a file.",
            3,
        ) from None
    if sqlite:

        @sql.event.listens_for(engine, "connect")
        def connected(connection, record):
            connection.isolation_level = (
                None  # transactions begin where we say, and hold changes of the schema, too
            )
            connection.execute("PRAGMA foreign_keys=ON")

        @sql.event.listens_for(engine, "begin")
        def begun(database):
            # Who is going to write says so first: two who read and then both want to write could only fail.
            writes = database.get_execution_options().get("tito_writes")
            database.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _revision(database):
    """The version of the schema, None in an empty database. Raises TitoError for no gradebook, or a newer one."""
    tables = sql.inspect(database).get_table_names()
    if not tables:
        return None
    found = None
    if VERSION_TABLE in tables:
        found = database.execute(sql.text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
    if not (found and found.isdecimal()):
        raise _foreign(database.engine.url)
    if int(found) > int(HEAD):
        raise TitoError(
            f"The gradebook {shown(database.engine.url)} was made by a newer tito: its schema is {found}, "
            f"this tito knows {HEAD}.",
            "Install the newer tito, or name another gradebook.",
        )
    return found


def _foreign(url):
    return TitoError(
        f"{shown(url)} is no gradebook; it was left as it is.", "Name another one with --gradebook."
    )


def _upgrade(database, revision, path):
    """Bring the schema to HEAD, within the transaction of `database`: done or, when killed, not begun."""
    if revision == HEAD:
        return
    if revision is not None and path:
        _copy(path, path.with_name(f"{path.name}.schema-{revision}"))
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = database
    command.upgrade(config, "head")


def _copy(path, to):
    """A copy of an SQLite file, whole or not there."""
    handle, new = tempfile.mkstemp(".tito-tmp", f".{to.name}.", to.parent)
    os.close(handle)
    try:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(new)) as target:
            source.backup(target)
        os.replace(new, to)
    except (OSError, sqlite3.Error) as error:
        os.unlink(new)
        raise TitoError(
            f"No copy of the gradebook could be kept at {to}: {error}. Nothing was changed.",
            "Free some space, then run it again.",
            3,
        ) from None
