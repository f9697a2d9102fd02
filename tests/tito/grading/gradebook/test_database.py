"""Opening a gradebook: its schema, places that are none, several processes at once."""

import multiprocessing
import os
import random
import re
import sqlite3
import sys
import warnings
from contextlib import closing, suppress

import pytest
from some_results import MONDAY, coded, points, result, save, set_points

from tito.errors import Notice, TitoError
from tito.grading.gradebook import database
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.gradebook.tables import SCHEMA


def test_who_makes_a_gradebook_second_uses_the_first(tmp_path, monkeypatch):
    """Two processes that both saw an empty database, as a server allows and SQLite does not."""
    with open_gradebook(tmp_path / "class.db") as book:
        save(book, [result()])
    answers, look = iter([False]), database._is_gradebook
    monkeypatch.setattr(database, "_is_gradebook", lambda *of: next(answers, look(*of)))
    with open_gradebook(tmp_path / "class.db") as book:
        assert points(book) == {"numbers": "3"}
    assert next(answers, "it was used") == "it was used"


@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE tito_gradebook SET value = '4' WHERE name = 'schema'",
        "DROP TABLE text",
        # As tito had it before its first release.
        "DROP TABLE tito_gradebook; CREATE TABLE tito_gradebook (version_num TEXT);"
        "INSERT INTO tito_gradebook VALUES ('0007')",
    ],
)
def test_a_gradebook_of_another_schema_is_refused_and_left_as_it_is(tmp_path, change, reads):
    path = tmp_path / "class.db"
    with open_gradebook(path):
        pass
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.executescript(change)
    before = path.read_bytes(), path.stat().st_mtime_ns
    with pytest.raises(TitoError) as error, open_gradebook(path, reads=reads):
        pass
    assert "has a schema that this version of tito does not know" in error.value.what
    assert (
        "Open it with the version of tito that created it" in error.value.remedy
        and error.value.code == 2
    )
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert list(tmp_path.iterdir()) == [path]


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


def foreign(path, kind):
    if kind == "picture":
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    elif kind == "text":
        path.write_text("student,points\n", encoding="utf-8")
    else:
        with closing(sqlite3.connect(path)) as raw, raw:
            raw.execute("CREATE TABLE songs (title TEXT)")


@pytest.mark.parametrize("kind", ["picture", "text", "other database"])
def test_what_is_no_gradebook_is_refused_and_left_as_it_is(tmp_path, kind):
    path = tmp_path / "class.db"
    foreign(path, kind)
    before = path.read_bytes()
    with pytest.raises(TitoError) as error, open_gradebook(path):
        pass
    assert "is not a gradebook" in error.value.what and error.value.code == 2
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


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
        ("nosuchdatabase://x/y", "nosuchdatabase is not a database", 2),
        ("oracle://scott:tiger@nowhere/x", "needs the Python package", 3),
        ("postgresql+psycopg:// secret@:x/y", "URL cannot be read", 2),
        ("host=nowhere user=u password=secret", "URL cannot be read", 2),
        ("postgresql+psycopg://u:secret@127.0.0.1:1/x", "does not work", 3),
        ("postgresql+psycopg://127.0.0.1:1/x?user=u&password=secret", "does not work", 3),
        ("postgresql+psycopg://127.0.0.1:1/x?password=tiger&password=secret", "does not work", 3),
        ("postgresql+psycopg://127.0.0.1:1/x?p%61ssword=%73ecret", "does not work", 3),
        ("postgresql+psycopg://127.0.0.1:1/x?sslpassword=secret&passfile=tiger", "not work", 3),
        ("postgresql+psycopg:///?service=secret", "does not work", 3),
        ("postgresql+psycopg://127.0.0.1:1/x?keepalives=zz&password=secret", "not work", 3),
        ("sqlite://u:secret@h/x", "Invalid SQLite URL", 2),
        ("/", "does not work", 3),
    ],
)
def test_a_place_that_cannot_be_opened_is_reported_without_its_password(where, what, code):
    if "psycopg://1" in where or "psycopg:///" in where:
        pytest.importorskip("psycopg")
    with pytest.raises(TitoError) as error, open_gradebook(where):
        pass
    assert what in error.value.what and error.value.code == code
    assert not re.search("tiger|secret", f"{error.value.what} {error.value.remedy}")


def test_a_url_is_shown_without_its_arguments():
    shown = database.display_url(
        "postgresql+psycopg://u:S@h/class?user=v&password=S&sslmode=require"
    )
    assert shown == "postgresql+psycopg://u:***@h/class?..."


@pytest.mark.parametrize("query", ["timeout=x", "timeout=1&timeout=2", "uri=maybe", "no=1"])
def test_an_argument_that_sqlite_does_not_take_is_a_sentence_and_makes_no_file(tmp_path, query):
    with warnings.catch_warnings(action="error"), pytest.raises(TitoError) as error:
        with open_gradebook(f"sqlite:///{tmp_path}/class.db?{query}"):
            pass
    assert error.value.code == 2 and "cannot be used" in error.value.what
    assert "\n" not in error.value.what and list(tmp_path.iterdir()) == []


def test_a_url_and_a_path_name_the_same_gradebook(tmp_path):
    with open_gradebook(f"sqlite:///{tmp_path}/class.db") as book:
        save(book, [result()], None, "me")
    with open_gradebook(tmp_path / "class.db", create=False) as book:
        assert points(book) == {"numbers": "3"}


@pytest.mark.skipif(os.name != "posix", reason="file modes")
def test_a_new_gradebook_is_for_its_owner_only(tmp_path):
    with open_gradebook(tmp_path / "class.db"):
        pass
    assert (tmp_path / "class.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("result set value = '{'", "the row of the table result with"),
        ("result set value = '[]'", "'[]' is no record"),
        ("result set value = 'null'", "'null' is no record"),
        ("result set value = '{}'", "'{}' is no record"),
        ("result set value = replace(value, '3', '\"3\"')", "is no record"),
        ("result set value = cast(x'7bff' as text)", "is no record"),
        ("result set value = x'7b7d'", "is no record"),
        ("result set max_points = 'many'", "'many' is no whole number"),
        ("result set number = 1.5", "'1.5' is no whole number"),
        ("result set title = x'00'", "is no text"),
        ("result set graded = 'today'", "'today' is no time"),
        ("result set arrived = 7", "'7' is no time"),
        ("result set lesson = cast(x'ff' as text)", "is no text"),
        ("learner set columns = '{\"a\": 1}'", "the table learner"),
        ("learner set name = cast(x'41ff' as text)", "the table learner"),
        ("change set points = 'all'", "'all' is no number of points"),
        ("change set replaced = '7'", "the table change with id"),
        ("change set replaced = '{\"graded\":\"x\"}'", "is no record"),
        ("change set at = ''", "is no time"),
    ],
)  # fmt: skip
def test_a_damaged_row_is_named_and_the_other_learners_are_there(tmp_path, change, named):
    where = tmp_path / "class.db"
    with open_gradebook(where) as book:
        for student in ("ada", "bob"):
            save(book, [result(student)], MONDAY, "me")
            set_points(book, student, "numbers", 1)
        before = list(book.grades("bob"))
    with closing(sqlite3.connect(where)) as database, database:
        table = change.split()[0]
        only = "and kind = 'override'" if table == "change" else ""
        query = f"update {change} where student = 'ada' {only}"
        assert database.execute(query).rowcount == 1
    with open_gradebook(where) as book:
        with pytest.warns(Notice, match="ada is left out") as told:
            assert list(book.grades()) == before
        assert named in str(told[0].message) and len(told) == 1
        assert book.lessons() == {"numbers": (1, "Numbers", 6)}
        assert [change.student for change in book.history()].count("bob") == 2
        assert "bob" in [learner.student for learner in book.learners()]
        with suppress(TitoError):  # a sentence
            set_points(book, "ada", "numbers", 2)


@pytest.mark.parametrize("value", ["x'00'", "'text'", "substr(data, 1, 9)"])
def test_a_damaged_text_is_named(tmp_path, value):
    with open_gradebook(tmp_path / "class.db") as book:
        save(book, [coded(result(), "x = 1")], None, "me")
        with closing(sqlite3.connect(tmp_path / "class.db")) as database, database:
            database.execute(f"update text set data = {value}")
        with pytest.raises(TitoError, match="row of the table text with sha256 'aaaa.* is damaged"):
            book.code("a" * 64)


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
            save(book, [result(student, lesson) for lesson in THREE], None, "run")
            if pipe:
                pipe.send(student)


@pytest.mark.slow
@needs_fork
def test_killed_at_any_moment_the_gradebook_holds_whole_submissions(tmp_path):
    """Runs of a class, killed, each with a separate gradebook or with a shared one.

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
            save(book, [result("after", lesson, key=str(number)) for lesson in THREE], None, "me")
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
def test_processes_that_open_a_gradebook_at_once_make_it_once(tmp_path):
    processes = [fork.Process(target=open_and_close, args=(tmp_path / "new.db",)) for _ in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 8
    with closing(sqlite3.connect(tmp_path / "new.db")) as raw:
        assert raw.execute("SELECT * FROM tito_gradebook").fetchall() == [("schema", SCHEMA)]
