"""Opening a gradebook: its schema and versions, places that are none, several processes at once."""

import multiprocessing
import os
import random
import sqlite3
import sys
import tempfile
from contextlib import closing
from datetime import timedelta

import pytest
import sqlalchemy as sql
from some_results import FIRST_GRADEBOOK, MONDAY, points, result

from tito.errors import TitoError
from tito.grading.gradebook import database, enrollment
from tito.grading.gradebook.gradebook import open_gradebook


def dump(path):
    with closing(sqlite3.connect(path)) as raw:
        return list(raw.iterdump())


@pytest.fixture
def first_gradebook(tmp_path):
    """The path of a gradebook that the first tito made."""
    path = tmp_path / "class.db"
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.executescript(FIRST_GRADEBOOK)
    return path


def schema(path):
    """{table: its columns, keys and indexes}; in which order the columns stand does not matter."""
    with closing(sqlite3.connect(path)) as raw:
        names = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE sql <> ''")]
        pragmas = ("table_info", "foreign_key_list", "index_list", "index_info")
        return {
            (name, pragma): sorted(row[1:] for row in raw.execute(f"PRAGMA {pragma}({name})"))
            for name in names
            for pragma in pragmas
        }


def add_column(connection):
    connection.execute(sql.text("ALTER TABLE learner ADD COLUMN pronouns TEXT"))


def columns(path):
    with closing(sqlite3.connect(path)) as raw:
        return [row[1] for row in raw.execute("PRAGMA table_info(learner)")]


def version(path):
    with closing(sqlite3.connect(path)) as raw:
        return raw.execute("SELECT version_num FROM tito_gradebook").fetchall()


def test_a_gradebook_of_the_first_tito_is_read_with_nothing_lost(first_gradebook):
    rows = {line for line in dump(first_gradebook) if line.startswith("INSERT")}
    with open_gradebook(first_gradebook, create=False) as book:
        ((learner, (grade,)),) = book.by_learner()
        changes = list(book.history())
        book.save([result(lesson="sums")], None, "me")
        assert points(book) == {"numbers": "5.5", "sums": "3"}
    assert (learner.name, learner.columns) == ("Ada L.", {"id": "17"})
    assert grade.result.notes == ["a note"] and grade.result.checks[0].name == "check 0"
    assert grade.override.why == "in the lab" and grade.extension.days == 2
    assert grade.arrived == MONDAY and grade.graded == MONDAY + timedelta(minutes=1)
    assert [change.kind for change in changes] == ["graded", "override", "extension"]
    assert grade.arrived_how == "earlier tito" and grade.submissions == 1
    # The version; the learner got the secret of a page, the result what is known of its arrival.
    changed = rows - set(dump(first_gradebook))
    assert all(
        "tito_gradebook" in line or "learner" in line or '"result"' in line for line in changed
    )
    assert len(changed) == 3 and len(learner.page) == 20


def test_a_gradebook_with_a_roster_remembers_that_its_ids_are_the_column_student(first_gradebook):
    with closing(sqlite3.connect(first_gradebook)) as raw, raw:
        raw.execute("""UPDATE learner SET columns = '{"student": "ada", "id": "17"}'""")
    with open_gradebook(first_gradebook, create=False) as book:
        assert enrollment.id_column(book) == "student"
        ((learner, _),) = book.by_learner()
    assert learner.state == "" and learner.columns == {"student": "ada", "id": "17"}


def test_a_new_gradebook_has_the_schema_of_an_old_one_that_was_brought_forward(
    first_gradebook, tmp_path
):
    for path in (first_gradebook, tmp_path / "new.db"):
        with open_gradebook(path):
            pass
    assert schema(tmp_path / "new.db") == schema(first_gradebook)
    assert version(tmp_path / "new.db") == version(first_gradebook)


def test_an_older_gradebook_is_brought_forward_once_and_a_copy_is_kept(
    first_gradebook, tmp_path, monkeypatch
):
    old, steps, newest = dump(first_gradebook), [], max(database.MIGRATIONS)
    more = {
        newest + 1: lambda connection: steps.append(1) or add_column(connection),
        newest + 2: steps.append,
    }
    monkeypatch.setattr(database, "MIGRATIONS", database.MIGRATIONS | more)
    for _ in range(2):
        with open_gradebook(first_gradebook, create=False) as book:
            assert points(book) == {"numbers": "5.5"}
        assert steps[0] == 1 and len(steps) == 2
    assert columns(first_gradebook)[-1] == "pronouns"
    assert version(first_gradebook) == [(f"{newest + 2:04}",)]
    assert dump(tmp_path / "class.db.schema-0001") == old
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == ["class.db", "class.db.schema-0001"]


def test_a_new_gradebook_is_made_at_the_newest_version_without_any_step(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "MIGRATIONS", {2: None})
    for _ in range(2):
        with open_gradebook(tmp_path / "class.db"):
            pass
    assert version(tmp_path / "class.db") == [("0002",)]
    assert [file.name for file in tmp_path.iterdir()] == ["class.db"]


def test_who_makes_a_gradebook_second_uses_the_first(first_gradebook, monkeypatch):
    """Two processes that both saw an empty database, as a server allows and SQLite does not."""
    with open_gradebook(first_gradebook):  # of this tito's schema
        pass
    versions = iter([None, None])
    look = database._version
    monkeypatch.setattr(
        database, "_version", lambda *args, **options: next(versions, look(*args, **options))
    )
    with open_gradebook(first_gradebook) as book:
        assert points(book) == {"numbers": "5.5"}
    assert next(versions, "both were used") == "both were used"


def test_a_step_that_breaks_off_leaves_the_old_gradebook(first_gradebook, monkeypatch):
    old = dump(first_gradebook)
    with monkeypatch.context() as patch:
        broken = {2: add_column, 3: lambda connection: connection.execute(sql.text("no sql"))}
        patch.setattr(database, "MIGRATIONS", broken)
        with pytest.raises(TitoError) as error, open_gradebook(first_gradebook):
            pass
        assert error.value.code == 3
    assert dump(first_gradebook) == old
    with open_gradebook(first_gradebook) as book:
        assert points(book) == {"numbers": "5.5"}


def older(path, monkeypatch):
    """Make a gradebook, and this tito's schema newer than its."""
    with open_gradebook(path) as book:
        book.save([result()], None, "me")
    newer = {max(database.MIGRATIONS) + 1: add_column}
    monkeypatch.setattr(database, "MIGRATIONS", database.MIGRATIONS | newer)


def test_an_older_gradebook_of_which_no_copy_can_be_kept_stays_as_it_is(tmp_path, monkeypatch):
    path = tmp_path / "class.db"
    older(path, monkeypatch)
    before = path.read_bytes()

    def full(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "mkstemp", full)
    with pytest.raises(TitoError, match="No copy of the gradebook could be kept"):
        with open_gradebook(path):
            pass
    assert path.read_bytes() == before


def test_who_only_reads_an_older_gradebook_reads_a_copy(tmp_path, monkeypatch):
    path, scratch = tmp_path / "book" / "class.db", tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    older(path, monkeypatch)
    before = path.read_bytes(), path.stat().st_mtime_ns
    with open_gradebook(path, create=False, reads=True) as book:
        assert points(book) == {"numbers": "3"}
        (used,) = scratch.rglob("gradebook.db")
        assert columns(used)[-1] == "pronouns" and used.stat().st_mode & 0o077 == 0
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert list(path.parent.iterdir()) == [path] and list(scratch.iterdir()) == []


def test_the_first_titos_gradebook_is_not_read_without_a_change(first_gradebook):
    """Pages of learners got their names, which are secret and stay, only when it was changed."""
    before = first_gradebook.read_bytes()
    with pytest.raises(TitoError) as error, open_gradebook(first_gradebook, reads=True):
        pass
    assert "older tito: its schema is 0001" in error.value.what and error.value.code == 2
    assert "tito grade" in error.value.remedy and first_gradebook.read_bytes() == before


def test_who_only_reads_makes_no_gradebook(tmp_path):
    path = tmp_path / "new" / "class.db"
    with open_gradebook(path, reads=True) as book:
        assert book.learners() == []
    assert list(tmp_path.iterdir()) == []
    empty = tmp_path / "empty.db"
    empty.touch()
    for place in (path, empty):
        with (
            pytest.raises(TitoError, match="There is no gradebook at"),
            open_gradebook(place, create=False, reads=True),
        ):
            pass
    assert empty.read_bytes() == b""


def test_a_newer_gradebook_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "class.db"
    with open_gradebook(path):
        pass
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE tito_gradebook SET version_num = '0099'")
    before = path.read_bytes()
    with pytest.raises(TitoError) as error, open_gradebook(path):
        pass
    assert (
        "made by a newer tito: its schema is 0099" in error.value.what
        and error.value.code == 2
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
    with pytest.raises(TitoError) as error, open_gradebook(path):
        pass
    assert "is no gradebook" in error.value.what and error.value.code == 2
    assert path.read_bytes() == before and [file.name for file in tmp_path.iterdir()] == [
        "class.db"
    ]


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
    with pytest.raises(TitoError) as error, open_gradebook(where):
        pass
    assert (
        what in error.value.what
        and error.value.code == code
        and not {"tiger", "secret"}
        & set(error.value.what.replace("@", " ").replace(":", " ").split())
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


def save_class(path, students, pipe=None):
    """What a run does: submissions of three lessons, one after the other.

    Sends the student's id to `pipe` after each.
    """
    with open_gradebook(path) as book:
        for student in students:
            book.save([result(student, lesson) for lesson in THREE], None, "run")
            if pipe:
                pipe.send(student)


@pytest.mark.slow
@needs_fork
def test_killed_at_any_moment_the_gradebook_holds_whole_submissions(tmp_path):
    """Runs of a class, killed, each in a gradebook of its own or in one that several share.

    What a run has reported as kept is kept.
    """
    chance, reports = random.Random(0), {}
    for number in range(25):
        path = tmp_path / ("shared.db" if number % 2 else f"{number}.db")
        receiver, sender = fork.Pipe(duplex=False)
        process = fork.Process(
            target=save_class, args=(path, [f"s{number:02}-{n:03}" for n in range(500)], sender)
        )
        process.start()
        sender.close()
        reports.setdefault(path, set()).update(receiver.recv() for _ in range(chance.randrange(6)))
        for _ in range(chance.randrange(1_000_000)):
            pass  # so that it is not always the same moment
        process.kill()
        process.join()
        assert process.exitcode == -9
        with open_gradebook(path) as book:
            saved = {
                learner.student: [grade.lesson for grade in grades]
                for learner, grades in book.by_learner()
            }
            assert reports[path] <= set(saved)
            assert all(sorted(lessons) == sorted(THREE) for lessons in saved.values())
            changes = [change.lesson for change in book.history() if change.student != "after"]
            assert len(changes) == 3 * len(saved.keys() - {"after"})
            book.save([result("after", lesson, key=str(number)) for lesson in THREE], None, "me")
        assert [file.name for file in tmp_path.iterdir() if file.suffix != ".db"] == []


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


def open_and_close(path):
    with open_gradebook(path):
        pass


@needs_fork
@pytest.mark.parametrize("age", ["new", "old"])
def test_processes_that_open_a_gradebook_at_once_make_or_change_it_once(
    age, first_gradebook, tmp_path, monkeypatch
):
    path = first_gradebook if age == "old" else tmp_path / "new.db"
    monkeypatch.setattr(database, "MIGRATIONS", {2: add_column})  # twice, it would be refused
    processes = [fork.Process(target=open_and_close, args=(path,)) for _ in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 8
    assert version(path) == [("0002",)]
    assert columns(path).count("pronouns") == (age == "old")
