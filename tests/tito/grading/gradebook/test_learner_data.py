"""What is stored about a learner is shown completely, and deleted means deleted."""

import contextlib
import json
import re
import sqlite3

import commands
import pytest
from some_results import (
    MONDAY,
    coded,
    handed_in,
    keep_strangers,
    points,
    remember_roster,
    result,
    save,
    set_comment,
    set_points,
)

from tito.errors import MachineError, TitoError
from tito.grading.gradebook import (
    copying,
    enrollment,
    learner_data,
    merging,
    run_lock,
)
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.gradebook.tables import TABLES, sql
from tito.grading.roster import Learner

# Of the learner who is deleted; long, for hashes and times hold any four digits by chance.
TRACES = ("xenia", "qvist", "xena19", "kim-old", "471108154711")
XENIA = {
    "email": "xena19@uni.example",
    "section": "A",
    "canvas_id": "471108154711",
    "name": "Xénia Qvist",
}
XENIA["major"] = "talk"  # of one learner only, and no name


def fill(book):
    """ada and xena19; xena19 has a merged id and an answer, and is named in what ada has."""
    people = [
        Learner("ada", "Ada Lovelace", {"section": "A", "email": "ada@uni.example"}),
        Learner("xena19", "Xénia Qvist", XENIA),
        Learner("kim-old", "Xenia Q.", {}),
    ]
    remember_roster(book, people)
    for student, number in (("ada", 1), ("xena19", 2), ("kim-old", 3)):
        one = coded(result(student, key=student, entry=f"{student}.zip"), f"x = 1  # {student}")
        one.sha256 = str(number) * 64
        save(book, [one], MONDAY, "me", work=str(number) * 64)
    merging.merge(book, "kim-old", "xena19", "prof", "two logins")
    shared = coded(result("ada", "sums", sha256="f" * 64), "y = 2")
    for student in ("ada", "xena19"):
        shared.student = student
        save(book, [shared], MONDAY, "me", work="f" * 64)
    save(
        book,
        [handed_in("xena19", "It sums to one, says xena19.", "answer", lesson="sums")],
        MONDAY,
        "me",
    )
    set_comment(book, "xena19", None, "Well done, Xénia.")
    set_comment(book, "ada", "numbers", "The same as Qvist, Xénia (xena19): talk to me, section A.")
    set_points(book, "ada", "numbers", 2, why="as XENA19's")
    noted = result("ada", key="n", sha256="8" * 64, notes=["xena19@uni.example may belong to both"])
    noted.checks[0].message = "xena19 is not defined"  # what code said is not changed
    save(book, [noted], MONDAY, "me")


def said_of(book):
    """Every text in the database, decompressed."""
    with book.engine.connect() as database:
        rows = [
            row for table in TABLES.sorted_tables for row in database.execute(sql.select(table))
        ]
    return "\n".join(map(repr, rows)).casefold().replace("é", "e").replace("\\xe9", "e")


def test_everything_that_is_stored_is_shown(book):
    fill(book)
    rows = learner_data.stored(book, "xena19")
    assert json.loads(json.dumps(rows)) == rows
    named = {table.name for table in TABLES.sorted_tables if "student" in table.c}
    assert rows.keys() == named | {"text"}
    (learner,) = rows["learner"]
    assert learner["columns"] == XENIA, "and no secret"
    assert rows["alias"] == [{"alias": "kim-old", "student": "xena19"}]
    assert sorted(text["data"] for text in rows["text"]) == [
        "It sums to one, says xena19.",
        "x = 1  # kim-old",
        "x = 1  # xena19",
        "y = 2",
    ]
    assert len(rows["result"]) == 4 and len(rows["work"]) == 2
    assert [row["text"] for row in rows["change"] if row["kind"] == "comment"] == [
        "Well done, Xénia."
    ]
    with pytest.raises(TitoError, match="no learner 'eve'"):
        learner_data.stored(book, "eve")


def test_a_deleted_learner_is_nowhere_and_the_others_are_as_before(book):
    fill(book)
    before, of_ada = said_of(book), learner_data.stored(book, "ada")
    counts = learner_data.delete(book, "xena19", "prof", preview=True)
    assert said_of(book) == before, "a preview changes nothing"
    assert learner_data.delete(book, "xena19", "prof") == counts
    assert {name: number for name, number in counts.items() if number} == {
        "comment": 1,
        "result": 4,
        "change": 6,
        "work": 2,
        "alias": 1,
        "text": 3,  # not the file that ada has, too
        "learner": 1,
        "mention": 3,
    }
    after = said_of(book)
    assert [word for word in TRACES if word in after.replace("xena19 is not defined", "")] == []
    now = learner_data.stored(book, "ada")
    assert now["text"] == of_ada["text"] and points(book, "ada") == {"numbers": "2", "sums": "3"}
    (grade,) = (one for one in book.grades("ada") if one.lesson == "numbers")
    assert grade.override.why == "as (deleted learner)'s"
    said = "The same as (deleted learner) ((deleted learner)): talk to me, section A."
    assert grade.comments[0].text == said
    days = list(learner_data.deleted(book).values())
    assert len(days) == 2 and days.count(learner_data.MERGED) == 1
    with pytest.raises(TitoError, match="no learner 'xena19'"):
        learner_data.delete(book, "xena19", "prof")


def test_nobody_is_deleted_during_a_run(book):
    fill(book)
    with (
        run_lock.hold(book, "ta"),
        pytest.raises(TitoError, match="is grading into this gradebook"),
    ):
        learner_data.delete(book, "xena19", "prof")
    assert points(book, "xena19")


def test_traces_that_cannot_be_erased_are_reported(book, monkeypatch):
    def refuse(engine):
        raise MachineError("The disk is full.", "")

    fill(book)
    monkeypatch.setattr(learner_data, "erase_remains", refuse)
    with pytest.raises(MachineError, match="may still contain traces. The disk is full") as error:
        learner_data.delete(book, "xena19", "prof")
    assert "tito gradebook copy TARGET" in error.value.remedy
    assert "xena19" not in [learner.student for learner in book.learners()]


def test_a_name_that_two_learners_have_stays_in_what_is_said_of_others(book):
    remember_roster(book, [Learner(f"m-{n}", "John Smith", {}) for n in (5, 6)])
    save(book, [result("ada")], None, "me")
    set_comment(book, "ada", "numbers", "John Smith or m-5?")
    assert learner_data.delete(book, "m-5", "prof")["mention"] == 1
    (grade,) = book.grades("ada")
    assert grade.comments[0].text == "John Smith or (deleted learner)?"


def test_a_stranger_with_a_name_of_one_letter_takes_no_word_out_of_others(book):
    keep_strangers(book, ["a"])
    save(book, [result("ada")], None, "me")
    set_comment(book, "ada", "numbers", "a word, a day")
    assert learner_data.delete(book, "a", "prof")["mention"] == 0


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_search_of_all_files_finds_nothing_of_a_deleted_learner(small_course, tmp_path, mode):
    """The database and its log, feedback pages with their record, and exports."""
    path, out = small_course.state / "gradebook.db", tmp_path / "out"
    with open_gradebook(path) as book:
        fill(book)
        set_comment(book, "xena19", "sums", "For xena19 alone. " * 200)  # several pages of the file
        set_comment(book, "xena19", "sums", None)
    with contextlib.closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("PRAGMA secure_delete=OFF")  # as an earlier tito may have left it
        raw.execute(f"PRAGMA journal_mode={mode}")
        raw.execute("UPDATE change SET text = 'x' WHERE text LIKE 'For xena19 alone%'")

    def write():
        pages = ("feedback", out / "pages", "--mail", out / "mail.csv")
        commands.tito(small_course, *pages)
        for kind in ("csv", "canvas", "blackboard"):
            words = ("export", "--format", kind, "--output", out / kind)
            commands.tito(small_course, "gradebook", *words)

    def traces():
        files = [file for folder in (small_course.state, out) for file in folder.rglob("*")]
        return {
            file.name
            for file in files
            if file.is_file()
            and re.search(
                "|".join(TRACES).encode(), file.read_bytes().replace(b"\xc3\xa9", b"e"), re.I
            )
            or any(trace in file.name for trace in TRACES)
        }

    with open_gradebook(path) as book:  # when the pages are written first, kim-old has one
        enrollment.come_back(book, "kim-old", "prof", "came back")
    write()
    with open_gradebook(path) as book:
        merging.merge(book, "kim-old", "xena19", "prof", "two logins")
    assert len(list((out / "pages" / "learners").iterdir())) == 3
    assert {"gradebook.db", "mail.csv", "canvas", "index.html", ".delivered.json"} <= traces()
    for place in ("mail.csv", "csv", "canvas", "blackboard"):
        (out / place).unlink()
    with contextlib.closing(sqlite3.connect(path)) as reader:  # another process has it open
        reader.execute("SELECT count(*) FROM learner").fetchall()
        words = ("gradebook", "roster", "--delete", "xena19", "--yes")
        said, _ = commands.tito(small_course, *words)
        assert "xena19 is deleted from the gradebook" in said
        with contextlib.closing(sqlite3.connect(path)) as raw, raw:
            raw.execute("UPDATE result SET value = replace(value, 'xena19 is not defined', '')")
        commands.tito(small_course, "feedback", out / "pages", "--mail", out / "mail.csv")
        with contextlib.closing(sqlite3.connect(path)) as raw:
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for kind in ("csv", "canvas", "blackboard"):
            words = ("export", "--format", kind, "--output", out / kind, "--force")
            commands.tito(small_course, "gradebook", *words)
        assert traces() == set()
    assert len(list((out / "pages" / "learners").iterdir())) == 1


def test_the_command_shows_what_goes_and_asks_for_the_id(small_course, monkeypatch):
    with open_gradebook(small_course.state / "gradebook.db") as book:
        fill(book)
    words = ("gradebook", "roster", "--delete", "xena19")
    out, err = commands.tito(small_course, *words, code=2)
    assert "4  results" in out and "1  feedback page" in out and "3  mentions" in out
    assert "Nothing was deleted." in err and "--yes" in err
    from tito.cli.instructor import gradebook as cli

    monkeypatch.setattr(cli, "ask_line", lambda words: "xq")
    assert "Nothing was deleted." in commands.tito(small_course, *words, code=2)[1]
    monkeypatch.setattr(cli, "ask_line", lambda words: "xena19")
    assert "xena19 is deleted" in commands.tito(small_course, *words)[0]
    out, _ = commands.tito(small_course, "gradebook", "roster")
    assert "xena19" not in out and "1 learner was deleted." in out
    _, err = commands.tito(small_course, *words, "--merge", "ada", "xena19", code=2)
    assert "Only one at a time" in err


def test_a_learners_data_are_one_object_of_json(small_course):
    with open_gradebook(small_course.state / "gradebook.db") as book:
        fill(book)
        rows = learner_data.stored(book, "xena19")
    out, _ = commands.tito(small_course, "gradebook", "show", "--student", "xena19", "--json")
    value = json.loads(out)
    assert value["stored"] == rows
    assert [grade["lesson"] for grade in value["grades"]] == ["numbers", "sums"]


@pytest.mark.slow
def test_it_is_the_same_in_postgresql(book, postgres):
    fill(book)
    url = postgres()
    copying.copy(book.engine, url)
    with open_gradebook(url) as there:
        assert learner_data.stored(there, "xena19") == learner_data.stored(book, "xena19")
        counts = learner_data.delete(there, "xena19", "prof")
        assert counts == learner_data.delete(book, "xena19", "prof")
        after = said_of(there).replace("xena19 is not defined", "")
        assert [word for word in TRACES if word in after] == []
        assert points(there, "ada") == {"numbers": "2", "sums": "3"}
