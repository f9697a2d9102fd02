"""Opening a gradebook's database: where it is, its connections and transactions, its schema.

SQLite by default, any database that SQLAlchemy knows by URL.
"""

import json
import os
import secrets
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from tito import files
from tito.errors import MachineError, TitoError, UsageError
from tito.grading.gradebook.tables import TABLES, VERSION, sql

PAGES = 2  # the version from which each learner's page has a name, made at random and kept
BUSY_SECONDS = 60  # to wait for another process that writes
ATTEMPTS = 5  # at writing what collides with another process
# SQLSTATE of a transaction that does not go together with others: no order of them, a deadlock
COLLISIONS = ("40001", "40P01")


def _add_attempts_and_pages(database):
    """Version 2: what was begun and has not ended, and the secrets in the names of pages."""
    moment = sql.DateTime().compile(dialect=database.dialect)
    database.execute(
        sql.text(
            "CREATE TABLE attempt (student VARCHAR(500) NOT NULL, work VARCHAR(64) NOT NULL, "
            f"number INTEGER NOT NULL, run VARCHAR(255) NOT NULL, at {moment} NOT NULL, "
            "PRIMARY KEY (student, work))"
        )
    )
    for student, columns in database.execute(
        sql.text("SELECT student, columns FROM learner")
    ).all():
        columns = json.dumps(json.loads(columns) | {"page": secrets.token_hex(10)})
        database.execute(
            sql.text("UPDATE learner SET columns = :columns WHERE student = :student"),
            {"columns": columns, "student": student},
        )


def _keep_every_submission(database):
    """Version 3: `result` has every submission of a lesson, and what is known of its arrival."""
    moment = sql.DateTime().compile(dialect=database.dialect)
    old = 'student, lesson, "key", number, title, max_points, sha256, arrived, graded, value'
    for statement in (
        "CREATE TABLE new_result (student VARCHAR(500) NOT NULL, lesson VARCHAR(100) NOT NULL, "
        '"key" VARCHAR(255) NOT NULL, number INTEGER NOT NULL, title TEXT NOT NULL, '
        "max_points INTEGER NOT NULL, sha256 VARCHAR(64) NOT NULL, "
        f"arrived {moment}, latest {moment}, how VARCHAR(20) NOT NULL, late BOOLEAN, "
        f"fetched {moment}, graded {moment} NOT NULL, value TEXT NOT NULL, "
        'PRIMARY KEY (student, lesson, "key"), FOREIGN KEY(student) REFERENCES learner (student))',
        f"INSERT INTO new_result ({old}, latest, how, fetched) SELECT {old}, arrived, "
        "CASE WHEN arrived IS NULL THEN '' ELSE 'earlier tito' END, graded FROM result",
        "DROP TABLE result",
        "ALTER TABLE new_result RENAME TO result",
    ):
        database.execute(sql.text(statement))


def _add_states_and_settings(database):
    """Version 4: who left or is no learner, merged ids, settings, the results of ended attempts. A
    book whose learners came from a roster has the ids of its column `student`.
    """
    database.execute(sql.text("ALTER TABLE learner ADD COLUMN state VARCHAR(20)"))
    database.execute(sql.text("ALTER TABLE attempt ADD COLUMN seen TEXT"))
    database.execute(
        sql.text(
            "CREATE TABLE alias (alias VARCHAR(500) NOT NULL, student VARCHAR(500) NOT NULL, "
            "PRIMARY KEY (alias), FOREIGN KEY(student) REFERENCES learner (student))"
        )
    )
    database.execute(
        sql.text(
            "CREATE TABLE setting (name VARCHAR(50) NOT NULL, value TEXT NOT NULL, "
            "PRIMARY KEY (name))"
        )
    )
    rows = database.execute(sql.text("SELECT columns FROM learner")).scalars()
    if any("student" in json.loads(columns) for columns in rows):
        database.execute(sql.text("INSERT INTO setting VALUES ('id_column', 'student')"))


def _add_code_claims_and_appeals(database):
    """Version 5: the files that were graded, who looks at which submission, what learners asked."""
    dialect = database.dialect
    moment = sql.DateTime().compile(dialect=dialect)
    data = sql.LargeBinary().compile(dialect=dialect)
    number = "SERIAL" if dialect.name == "postgresql" else "INTEGER"
    learner = "FOREIGN KEY(student) REFERENCES learner (student)"
    for statement in (
        f"CREATE TABLE code (sha256 VARCHAR(64) NOT NULL, data {data} NOT NULL, "
        "PRIMARY KEY (sha256))",
        "CREATE TABLE claim (student VARCHAR(500) NOT NULL, lesson VARCHAR(100) NOT NULL, "
        f"who TEXT NOT NULL, at {moment} NOT NULL, done {moment}, sha256 VARCHAR(64), "
        f"PRIMARY KEY (student, lesson), {learner})",
        f"CREATE TABLE appeal (id {number} NOT NULL, student VARCHAR(500) NOT NULL, "
        "lesson VARCHAR(100) NOT NULL, asked TEXT NOT NULL, entered_by TEXT NOT NULL, "
        f"at {moment} NOT NULL, state VARCHAR(20) NOT NULL, answer TEXT, answered_by TEXT, "
        f"answered_at {moment}, PRIMARY KEY (id), {learner})",
    ):
        database.execute(sql.text(statement))


def _add_answers_and_rubrics(database):
    """Version 6: free answers, and the rubrics by which persons judge them."""
    moment = sql.DateTime().compile(dialect=database.dialect)
    number = "SERIAL" if database.dialect.name == "postgresql" else "INTEGER"
    for statement in (
        "CREATE TABLE answer (sha256 VARCHAR(64) NOT NULL, text TEXT NOT NULL, "
        "PRIMARY KEY (sha256))",
        f"CREATE TABLE rubric (version {number} NOT NULL, item INTEGER NOT NULL, "
        "lesson VARCHAR(100) NOT NULL, question VARCHAR(100) NOT NULL, place INTEGER NOT NULL, "
        f"points INTEGER, text TEXT NOT NULL, who TEXT NOT NULL, at {moment} NOT NULL, "
        "PRIMARY KEY (version))",
    ):
        database.execute(sql.text(statement))


def _add_runs(database):
    """Version 7: the leases of the processes that grade."""
    moment = sql.DateTime().compile(dialect=database.dialect)
    database.execute(
        sql.text(
            f"CREATE TABLE run (run VARCHAR(255) NOT NULL, who TEXT NOT NULL, began {moment} "
            f"NOT NULL, until {moment} NOT NULL, setting TEXT NOT NULL, PRIMARY KEY (run))"
        )
    )


# {version: what changes the schema of the version before into it, a function of the connection}.
# A change of `tables.py` needs one, and so gives the schema its next number; the first is 1. It is
# SQL written out, since `tables.py` goes on changing, and is not edited once it is released.
MIGRATIONS: dict[int, Callable[[sql.Connection], object]] = {
    2: _add_attempts_and_pages,
    3: _keep_every_submission,
    4: _add_states_and_settings,
    5: _add_code_claims_and_appeals,
    6: _add_answers_and_rubrics,
    7: _add_runs,
}


@contextmanager
def connect(where: str | Path, create: bool = True, reads: bool = False) -> Iterator[sql.Engine]:
    """The engine of the gradebook at `where`, a path or a database URL, its schema this tito's.

    Without `create`, a file must be there. With `reads` nothing there changes: an older file is
    read in a copy. Raises what `gradebook.open_gradebook` says.
    """
    url = _url(where)
    path = Path(url.database) if url.drivername.startswith("sqlite") and url.database else None
    try:
        if path and not path.exists():
            if not create:
                raise _missing(url)
            if not reads:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch(mode=0o600)  # grades are nobody else's business
    except OSError as error:
        raise MachineError(
            f"The gradebook {path} was not made: {error.strerror}.",
            "Name another place with --gradebook.",
        ) from None
    with ExitStack() as stack:
        if reads and (version := _version_at(url, path)) != _newest():
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tito-read-")))
            url = _in_place_of(url, path, version, create, folder)
            path = None  # of a copy no copy is kept
        engine = _engine(url)
        stack.callback(engine.dispose)
        _prepare(engine, path)
        yield engine


def _version_at(url, path):
    """The version of the schema there, None where nothing is."""
    if path and not path.exists():
        return None
    engine = _engine(url)
    try:
        return _known_version(engine)
    finally:
        engine.dispose()


def _in_place_of(url, path, version, create, folder):
    """The URL of a database in `folder` that is read instead of the one at `url`, which is older
    or empty and stays as it is.
    """
    instead = folder / "gradebook.db"
    if version is None:
        if not create:
            raise _missing(url)
    elif path and version >= PAGES:
        _copy(path, instead)
    else:  # each copy of a book without names of pages would have other ones
        raise UsageError(
            f"The gradebook {display_url(url)} was made by an older tito: its schema is "
            f"{version:04}, this tito's {_newest():04}. It was only to be read, and was left as it "
            "is.",
            "A command that writes, such as `tito grade SUBMISSIONS`, brings it forward.",
        )
    return _url(instead)


def _prepare(engine, path):
    """Make the tables, or bring them to the newest version, in one transaction."""
    version = _known_version(engine)
    if version == _newest():
        return
    try:
        with transaction(engine, writes=True) as database:
            _bring_forward(database, path)
    except (TitoError, sql.exc.IntegrityError):
        # Where nothing locks what is not there yet, two processes may make the tables at once;
        # the second of them is refused.
        if version is not None or _known_version(engine) != _newest():
            raise


def _known_version(engine):
    """As `_version`, of the database of an engine."""
    try:
        with transaction(engine) as database:
            return _version(database)
    except TitoError as error:
        if "file is not a database" in error.what:
            raise _foreign(engine.url) from None
        raise


def _bring_forward(database, path):
    version = _version(database, lock=True)  # asked again: another process may have been faster
    if version is None:
        TABLES.create_all(database)
        database.execute(sql.insert(VERSION).values(version_num=f"{_newest():04}"))
    elif version < _newest():
        if path:
            _copy(path, path.with_name(f"{path.name}.schema-{version:04}"))
        for number in sorted(number for number in MIGRATIONS if number > version):
            MIGRATIONS[number](database)
        database.execute(sql.update(VERSION).values(version_num=f"{_newest():04}"))


@contextmanager
def transaction(engine: sql.Engine, writes: bool = False) -> Iterator[sql.Connection]:
    """A connection whose transaction is committed if the block succeeds, else rolled back."""
    try:
        with engine.connect() as database:
            database.execution_options(tito_writes=writes)
            with database.begin():
                yield database
    except sql.exc.IntegrityError:
        raise
    except sql.exc.DBAPIError as error:
        reason = " ".join(str(error.orig).split()).rstrip(".?")
        kind = Collision if getattr(error.orig, "sqlstate", None) in COLLISIONS else MachineError
        raise kind(
            f"The gradebook {display_url(engine.url)} does not work: {reason}.",
            "Whole submissions are kept. Mend that and run it again.",
        ) from None


class Collision(MachineError):
    """The database ended this transaction, which was in the way of another one."""


def write(engine: sql.Engine, work: Callable[[sql.Connection], Any]) -> Any:
    """The result of `work(database)` in a transaction.

    Where a database lets two processes add the same row, the second of them tries again; so does
    one of two that would wait for each other for ever.
    """
    for attempts_left in reversed(range(ATTEMPTS)):
        try:
            with transaction(engine, writes=True) as database:
                return work(database)
        except (sql.exc.IntegrityError, Collision):
            if not attempts_left:
                raise


def display_url(url: sql.URL) -> str:
    """The database as one may print it: a file's path, or the URL without its password."""
    is_file = url.drivername.startswith("sqlite") and url.database
    return url.database if is_file else url.render_as_string(hide_password=True)


def _url(where):
    if not isinstance(where, str) or "://" not in where:
        return sql.URL.create("sqlite", database=str(Path(where).expanduser().absolute()))
    try:
        return sql.make_url(where)
    except (sql.exc.ArgumentError, ValueError):  # not shown: it may hold a password
        raise UsageError(
            "That gradebook's URL cannot be read.",
            "Write it like this: postgresql+psycopg://USER@HOST/DATABASE",
        ) from None


def _engine(url):
    sqlite = url.drivername.startswith("sqlite")
    try:
        engine = sql.create_engine(url, connect_args={"timeout": BUSY_SECONDS} if sqlite else {})
    except sql.exc.NoSuchModuleError:
        raise UsageError(
            f"{url.drivername} is no kind of database that SQLAlchemy knows here.",
            "postgresql+psycopg://..., say, or the path of a file.",
        ) from None
    except ModuleNotFoundError as error:
        raise MachineError(
            f"A gradebook at {url.drivername} needs the Python package {error.name}, "
            "which is not here.",
            "Install it, or use a file.",
        ) from None
    if sqlite:

        @sql.event.listens_for(engine, "connect")
        def prepare_connection(connection, record):
            # Transactions begin where we say, and hold changes of the schema, too.
            connection.isolation_level = None
            connection.execute("PRAGMA foreign_keys=ON")

        @sql.event.listens_for(engine, "begin")
        def begin(database):
            # Who is going to write says so first: two who read and then both want to write could
            # only fail.
            writes = database.get_execution_options().get("tito_writes")
            database.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _newest():
    """The version of the schema that this tito knows."""
    return max(MIGRATIONS, default=1)


def _version(database, lock=False):
    """The version of the schema, None in an empty database.

    lock  whether others who ask for the lock wait until this transaction is over; SQLite, which
          knows no such locks, lets one transaction write at a time

    Raises TitoError for what is no gradebook, and for a newer version.
    """
    names = sql.inspect(database).get_table_names()
    if not names:
        return None
    text = None
    if VERSION.name in names:
        query = sql.select(VERSION.c.version_num)
        text = database.execute(query.with_for_update() if lock else query).scalar()
    if not (text and text.isdecimal()):
        raise _foreign(database.engine.url)
    if int(text) > _newest():
        raise UsageError(
            f"The gradebook {display_url(database.engine.url)} was made by a newer tito: "
            f"its schema is {text}, this tito knows {_newest():04}.",
            "Install the newer tito, or name another gradebook.",
        )
    return int(text)


def _missing(url):
    return UsageError(
        f"There is no gradebook at {display_url(url)}.",
        "`tito grade SUBMISSIONS` makes one; --gradebook names another.",
    )


def _foreign(url):
    return UsageError(
        f"{display_url(url)} is no gradebook; it was left as it is.",
        "Name another one with --gradebook.",
    )


def _copy(path, to):
    """A copy of an SQLite file, whole or not there."""
    part = None
    try:
        handle, part = tempfile.mkstemp(files.SUFFIX, f".{to.name}.", to.parent)
        os.close(handle)
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(part)) as target:
            source.backup(target)
        os.replace(part, to)
    except (OSError, sqlite3.Error) as error:
        if part:
            os.unlink(part)
        raise MachineError(
            f"No copy of the gradebook could be kept at {to}: {error}. Nothing was changed.",
            "Free some space, then run it again.",
        ) from None
