"""A copy of a gradebook has everything, or is not there."""

import contextlib
import multiprocessing
import sqlite3
import sys

import pytest
from commands import tito
from small_course import NUMBERS
from some_results import (
    MONDAY,
    coded,
    points,
    remember_roster,
    result,
    save,
    set_comment,
    set_points,
)

from tito.errors import Notice, TitoError
from tito.grading.gradebook import copying
from tito.grading.gradebook.database import connect
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.gradebook.result_store import brief_columns
from tito.grading.gradebook.tables import TABLES, sql
from tito.grading.roster import Learner

fork = multiprocessing.get_context("fork") if sys.platform == "linux" else None


def fill(book):
    remember_roster(book, [Learner("ada", "Ada Lovelace", {"email": "a@x.org"})])
    for number, student in enumerate(("ada", "bob", "Zo\u00eb \u674e", "a\0b")):
        one = result(student)
        one.checks[1].message = "\0\udcff%(x)s"
        save(book, [coded(one, f"x = {number}")], MONDAY, "me", work=f"{number}")
        set_comment(book, student, "numbers", "see me")


def rows(book):
    with book.engine.connect() as opened:
        return {
            table.name: sorted(map(repr, opened.execute(sql.select(table))))
            for table in TABLES.sorted_tables
        }


def test_a_copy_has_every_row_of_every_table(book, tmp_path):
    fill(book)
    counted = copying.copy(book.engine, tmp_path / "new" / "copy.db")
    assert counted.keys() == TABLES.tables.keys() and counted["change"] == 8
    with open_gradebook(tmp_path / "new" / "copy.db", create=False) as copy:
        assert rows(copy) == rows(book)
    assert (tmp_path / "new" / "copy.db").stat().st_mode & 0o077 == 0 or sys.platform == "win32"


@pytest.mark.parametrize("kind", ["gradebook", "itself", "other database", "text"])
def test_what_is_not_empty_is_refused_and_left_as_it_is(book, tmp_path, kind):
    fill(book)
    path = tmp_path / ("class.db" if kind == "itself" else "there.db")
    if kind == "gradebook":
        with open_gradebook(path):
            pass
    elif kind == "other database":
        with contextlib.closing(sqlite3.connect(path)) as raw, raw:
            raw.execute("CREATE TABLE songs (title TEXT)")
    elif kind == "text":
        path.write_text("student,points\n", encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(TitoError) as error:
        copying.copy(book.engine, path)
    assert error.value.code == 2 and "it was not changed" in error.value.what
    assert path.read_bytes() == before


def test_a_copy_whose_rows_differ_or_that_is_interrupted_is_not_there(book, tmp_path, monkeypatch):
    fill(book)
    monkeypatch.setattr(copying, "copy_rows", lambda *given: None)
    with pytest.raises(TitoError, match="The table learner did not arrive as it is"):
        copying.copy(book.engine, tmp_path / "copy.db")
    monkeypatch.undo()

    def interrupt(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(copying, "copy_rows", interrupt)
    with pytest.raises(KeyboardInterrupt):
        copying.copy(book.engine, tmp_path / "copy.db")
    assert [path.name for path in tmp_path.iterdir()] == ["class.db"]


def test_a_damaged_row_stops_the_copy_and_is_named(book, tmp_path):
    fill(book)
    for change in ("result set graded = 'today'", "learner set name = cast(x'41ff' as text)"):
        with contextlib.closing(sqlite3.connect(tmp_path / "class.db")) as raw, raw:
            raw.execute(f"update {change} where student = 'bob'")
        with pytest.raises(TitoError, match="with student 'bob'.* is damaged"):
            copying.copy(book.engine, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


@pytest.mark.skipif(fork is None, reason="starts processes by fork")
def test_a_copy_that_is_killed_looks_empty_and_can_be_made_again(book, tmp_path, monkeypatch):
    fill(book)

    def stop(source, target, table):
        if table.name == "work":
            sender.send("now")
            fork.Event().wait()  # for ever
        real(source, target, table)

    receiver, sender = fork.Pipe(duplex=False)
    real = copying.copy_rows
    monkeypatch.setattr(copying, "copy_rows", stop)
    process = fork.Process(target=copying.copy, args=(book.engine, tmp_path / "copy.db"))
    process.start()
    receiver.recv()
    process.kill()
    process.join()
    monkeypatch.undo()
    with pytest.raises(TitoError, match="There is no gradebook"):
        with open_gradebook(tmp_path / "copy.db", create=False):
            pass
    assert copying.copy(book.engine, tmp_path / "copy.db")["result"] == 4


def test_the_command_says_what_it_copied_and_grading_goes_on_there(small_course, tmp_path):
    (tmp_path / "class" / "ada").mkdir(parents=True)
    (tmp_path / "class" / "ada" / "numbers_dev.py").write_text(NUMBERS, encoding="utf-8")
    grade = ("grade", tmp_path / "class", "numbers", "--isolation", "process")
    assert "1 of 1 submissions graded" in tito(small_course, *grade)[0]
    out, _ = tito(small_course, "gradebook", "copy", "../archive/2026.db")
    assert "2026.db is a copy, compared row by row: " in " ".join(out.split())
    assert "learner 1" in out and "begun" not in out
    where = ("--gradebook", tmp_path / "archive" / "2026.db")
    assert "0 of 1 submissions graded" in tito(small_course, *where, *grade)[0]
    err = tito(small_course, "gradebook", "copy", "../archive/2026.db", code=2)[1]
    assert "is a gradebook already" in err


@pytest.mark.slow
def test_there_and_back_again_by_way_of_postgresql(book, tmp_path, postgres):
    fill(book)
    url = postgres()
    counted = copying.copy(book.engine, url)
    with open_gradebook(url, create=False) as there:
        assert rows(there) == rows(book)
        assert copying.copy(there.engine, tmp_path / "back.db") == counted
        with pytest.raises(TitoError, match="is a gradebook already"):
            copying.copy(book.engine, url)
        set_comment(there, "bob", "numbers", "a new entry of the history")
        save(there, [result("new")], None, "me")
        assert points(there, "new") == {"numbers": "3"}
    with open_gradebook(tmp_path / "back.db", create=False) as back:
        assert rows(back) == rows(book)


@pytest.mark.slow
def test_what_is_written_into_postgresql_meanwhile_is_in_the_copy_whole_or_not(
    postgres, tmp_path, monkeypatch
):
    url, real = postgres(), copying.copy_rows
    with open_gradebook(url) as book:
        fill(book)

        def copy_rows(source, target, table):
            with open_gradebook(url) as other:  # another process
                save(other, [result(f"late {table.name}")], None, "me")
            real(source, target, table)

        monkeypatch.setattr(copying, "copy_rows", copy_rows)
        before = rows(book)
        copying.copy(book.engine, tmp_path / "copy.db")
    with open_gradebook(tmp_path / "copy.db", create=False) as copy:
        assert rows(copy) == before


def as_earlier(path):
    """Turn a gradebook into one of the earlier schema."""
    columns = [("change", "edition")]
    columns += [("result", name) for name in brief_columns(result())]
    with contextlib.closing(sqlite3.connect(path)) as raw, raw:
        for table, name in columns:
            raw.execute(f"alter table {table} drop column {name}")
        raw.execute("update tito_gradebook set value = '2' where name = 'schema'")


def test_a_gradebook_of_the_earlier_schema_is_refused_and_its_copy_is_todays(book, tmp_path):
    fill(book)
    set_points(book, "ada", "numbers", 2, check="c0")
    before = rows(book)
    as_earlier(tmp_path / "class.db")
    with pytest.raises(TitoError, match="is of an earlier tito") as error:
        with open_gradebook(tmp_path / "class.db"):
            pass
    assert "tito gradebook copy NEW.db" in error.value.remedy
    with connect(tmp_path / "class.db", reads=True, earlier=True) as engine:
        with pytest.warns(Notice, match="the copy is of today's"):
            copying.copy(engine, tmp_path / "copy.db")
    with open_gradebook(tmp_path / "copy.db", create=False) as copy:
        assert rows(copy) == before and points(copy) == {"numbers": "2"}


@pytest.mark.slow
def test_a_database_with_other_tables_is_refused_but_a_schema_of_its_own_will_do(
    book, tmp_path, postgres
):
    fill(book)
    url = postgres()
    engine = sql.create_engine(url)
    with engine.begin() as there:
        there.execute(sql.text("create table learner (name text)"))  # a name that we have, too
        there.execute(sql.text("insert into learner values ('someone')"))
        there.execute(sql.text("create schema grades"))
    with pytest.raises(TitoError, match="is not a gradebook; it was not changed") as error:
        copying.copy(book.engine, url)
    assert "empty schema of PostgreSQL" in error.value.remedy
    ours = f"{url}&options=-csearch_path%3Dgrades"
    copying.copy(book.engine, ours)
    with open_gradebook(ours, create=False) as copy:
        assert rows(copy) == rows(book)
        set_comment(copy, "bob", "numbers", "a new entry of the history")
    with engine.begin() as there:
        assert there.execute(sql.text("select * from public.learner")).all() == [("someone",)]
    engine.dispose()
