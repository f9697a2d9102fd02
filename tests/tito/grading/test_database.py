"""Opening a gradebook: its schema and versions, places that are none, several processes at once."""

import multiprocessing
import os
import random
import shutil
import sqlite3
import sys
from contextlib import closing

import pytest
from some_results import points, result

from tito.errors import TitoError
from tito.grading import database, tables
from tito.grading.gradebook import open_gradebook


def test_the_migrations_make_the_tables_that_the_code_uses(tmp_path):
    from alembic.autogenerate import compare_metadata
    from alembic.config import Config
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(database.MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [database.HEAD]
    with open_gradebook(tmp_path / "class.db") as book, book.engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": database.VERSION_TABLE}
        )
        assert compare_metadata(context, tables.TABLES) == []


def next_version(folder, body, monkeypatch):
    """Teach tito a schema 0002, made by `body`, the lines of a migration."""
    shutil.copytree(database.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    text = f'import sqlalchemy as sql\nfrom alembic import op\nrevision, down_revision = "0002", "0001"\n\n\ndef upgrade():\n    {body}\n'
    (folder / "versions" / "0002_next.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(database, "MIGRATIONS", folder)
    monkeypatch.setattr(database, "HEAD", "0002")


def dump(path):
    with closing(sqlite3.connect(path)) as raw:
        return list(raw.iterdump())


ADD = 'op.add_column("learner", sql.Column("pronouns", sql.Text))'


def test_an_older_gradebook_is_brought_up_to_date_and_a_copy_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "class.db"
    with open_gradebook(path) as book:
        book.save([result()], None, "me")
    old = dump(path)
    next_version(tmp_path / "100% new", ADD, monkeypatch)
    with open_gradebook(path, create=False) as book:
        assert points(book) == {"numbers": "3"}
    with closing(sqlite3.connect(path)) as raw:
        assert [row[1] for row in raw.execute("PRAGMA table_info(learner)")][-1] == "pronouns"
    assert dump(tmp_path / "class.db.schema-0001") == old
    with open_gradebook(path) as book:  # and this is done once
        assert points(book) == {"numbers": "3"}
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "100% new",
        "class.db",
        "class.db.schema-0001",
    ]


def test_an_upgrade_that_breaks_off_leaves_the_old_gradebook(tmp_path, monkeypatch):
    path = tmp_path / "class.db"
    with open_gradebook(path) as book:
        book.save([result()], None, "me")
    with monkeypatch.context() as patched:
        next_version(tmp_path / "new", ADD + '\n    op.execute("no sql")', patched)
        with pytest.raises(TitoError) as caught, open_gradebook(path):
            pass
        assert caught.value.code == 3
    with open_gradebook(path) as book:
        assert points(book) == {"numbers": "3"}
    with closing(sqlite3.connect(path)) as raw:
        assert [row[1] for row in raw.execute("PRAGMA table_info(learner)")][-1] == "columns"


def test_a_newer_gradebook_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "class.db"
    with open_gradebook(path):
        pass
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE tito_gradebook SET version_num = '0099'")
    before = path.read_bytes()
    with pytest.raises(TitoError) as caught, open_gradebook(path):
        pass
    assert (
        "made by a newer tito: its schema is 0099" in caught.value.what
        and caught.value.code == 2
        and path.read_bytes() == before
    )


def foreign(path, kind):
    if kind == "picture":
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    elif kind == "text":
        path.write_text("student,points\n", encoding="utf-8")
    else:
        with closing(sqlite3.connect(path)) as raw, raw:
            raw.execute("CREATE TABLE songs (title TEXT)")
            raw.execute("CREATE TABLE tito_gradebook (version_num TEXT)")
            raw.execute(
                "INSERT INTO tito_gradebook VALUES ('ae10b2')"
                if kind == "other version"
                else "INSERT INTO songs VALUES ('x')"
            )


@pytest.mark.parametrize("kind", ["picture", "text", "other database", "other version"])
def test_what_is_no_gradebook_is_refused_and_left_as_it_is(tmp_path, kind):
    path = tmp_path / "class.db"
    foreign(path, kind)
    before = path.read_bytes()
    with pytest.raises(TitoError) as caught, open_gradebook(path):
        pass
    assert "is no gradebook" in caught.value.what and caught.value.code == 2
    assert path.read_bytes() == before and [one.name for one in tmp_path.iterdir()] == ["class.db"]


def test_reading_makes_no_gradebook(tmp_path):
    with (
        pytest.raises(TitoError, match="There is no gradebook"),
        open_gradebook(tmp_path / "x" / "class.db", create=False),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("where", "what", "code"),
    [
        ("nosuchdatabase://x/y", "nosuchdatabase is no kind of database", 2),
        ("oracle://scott:tiger@nowhere/x", "needs the Python package", 3),
        ("postgresql+psycopg:// secret@:x/y", "URL cannot be read", 2),
        ("/", "does not work", 3),
    ],
)
def test_a_place_that_cannot_be_opened_is_told_without_its_password(where, what, code):
    with pytest.raises(TitoError) as caught, open_gradebook(where):
        pass
    assert (
        what in caught.value.what
        and caught.value.code == code
        and not {"tiger", "secret"}
        & set(caught.value.what.replace("@", " ").replace(":", " ").split())
    )


def test_a_url_and_a_path_name_the_same_gradebook(tmp_path):
    with open_gradebook(f"sqlite:///{tmp_path}/class.db") as book:
        book.save([result()], None, "me")
    with open_gradebook(tmp_path / "class.db", create=False) as book:
        assert points(book) == {"numbers": "3"}


@pytest.mark.skipif(os.name != "posix", reason="file modes")
def test_a_new_gradebook_is_for_its_owner_only(tmp_path):
    with open_gradebook(tmp_path / "class.db"):
        pass
    assert (tmp_path / "class.db").stat().st_mode & 0o777 == 0o600


# Several processes, and none of them safe

needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="starts processes by fork")
fork = multiprocessing.get_context("fork") if sys.platform == "linux" else None
THREE = ("numbers", "sums", "products")


def save_class(path, students, told=None):
    """What a run does: submissions of three lessons, one after the other. Tells `told` after each."""
    with open_gradebook(path) as book:
        for student in students:
            book.save([result(student, lesson) for lesson in THREE], None, "run")
            if told:
                told.send(student)


@needs_fork
def test_killed_at_any_moment_the_gradebook_holds_whole_submissions(tmp_path):
    """Killed runs of one class in 25 gradebooks of their own and in one that they share: what was told as kept is kept."""
    chance, told = random.Random(0), {}
    for number in range(25):
        path = tmp_path / ("shared.db" if number % 2 else f"{number}.db")
        here, there = fork.Pipe(duplex=False)
        process = fork.Process(
            target=save_class, args=(path, [f"s{number:02}-{n:03}" for n in range(500)], there)
        )
        process.start()
        there.close()
        told.setdefault(path, set()).update(here.recv() for _ in range(chance.randrange(6)))
        for _ in range(chance.randrange(1_000_000)):
            pass  # so that it is not always the same moment
        process.kill()
        process.join()
        assert process.exitcode == -9
        with open_gradebook(path) as book:
            found = {
                learner.student: [grade.lesson for grade in grades]
                for learner, grades in book.by_learner()
            }
            assert told[path] <= set(found)
            assert all(sorted(lessons) == sorted(THREE) for lessons in found.values())
            changes = [change.lesson for change in book.history() if change.student != "after"]
            assert len(changes) == 3 * len(found.keys() - {"after"})
            book.save([result("after", lesson, key=str(number)) for lesson in THREE], None, "me")
        assert [one.name for one in tmp_path.iterdir() if one.suffix != ".db"] == []


@needs_fork
def test_two_runs_at_once_lose_nothing(tmp_path):
    students = [f"s{n:02}" for n in range(30)]
    processes = [
        fork.Process(target=save_class, args=(tmp_path / "class.db", order))
        for order in (students, students[::-1], students[10:] + ["x"])
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    with open_gradebook(tmp_path / "class.db") as book:
        assert [learner.student for learner, grades in book.by_learner() if len(grades) == 3] == [
            *students,
            "x",
        ]
        assert len(list(book.history())) == 3 * 31  # each kept once: the same key is no change
