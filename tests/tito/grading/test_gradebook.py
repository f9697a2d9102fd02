"""The gradebook: what is kept, what counts, what the history tells, and that nothing is half there."""

import multiprocessing
import os
import random
import shutil
import sqlite3
import sys
import tracemalloc
from contextlib import closing
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from types import SimpleNamespace

import pytest
from some_results import result

from tito.errors import TitoError
from tito.grading import gradebook, late
from tito.grading.gradebook import open_gradebook

MONDAY = datetime(2026, 11, 2, 12, tzinfo=timezone.utc)
DAY = timedelta(days=1)
RULES = late.Rules(timedelta(minutes=15), Decimal(10), Decimal(50), {"numbers": MONDAY})


@pytest.fixture
def book(tmp_path):
    with open_gradebook(tmp_path / "class.db", RULES) as opened:
        yield opened


def points(book, student="ada"):
    return {grade.lesson: str(grade.points) for grade in book.rows(student)}


# Results


def test_a_result_comes_back_as_it_was_saved(tmp_path):
    given = result(notes=["a note"], isolation="bubblewrap", seconds=0.25)
    with open_gradebook(tmp_path / "class.db") as book:
        book.save([given], MONDAY, "lovelace", "Ada L.")
    with open_gradebook(tmp_path / "class.db", create=False) as book:
        (grade,) = book.rows("ada")
    assert (
        grade.result == given
        and grade.arrived == MONDAY
        and (grade.name, grade.number, grade.title, grade.max_points) == ("Ada L.", 1, "Numbers", 6)
    )
    assert str(grade.points) == "3" and grade.late_days == 0


def test_the_same_key_is_never_kept_twice(book):
    first, second = result(), result(points=(0, 0))
    assert book.save([first], None, "me") == [first] and book.keys() == {"ada": {"numbers": "key"}}
    assert book.save([second], None, "me") == [] and points(book) == {"numbers": "3"}
    assert len(list(book.history())) == 1


def test_a_regrade_of_the_same_key_replaces_and_the_history_says_so(book):
    book.save([result()], None, "me")
    book.save([result(points=(3, 3))], None, "you", why="the sandbox was broken", regrade=True)
    assert points(book) == {"numbers": "6"}
    first, second = book.history("ada")
    assert (second.kind, second.who, second.why, second.old_points, second.new_points) == (
        "regraded",
        "you",
        "the sandbox was broken",
        3,
        6,
    )
    assert first.kind == "graded" and first.old_points is None


def test_after_a_check_was_mended_the_history_shows_which_checks_changed(book):
    book.save([result(points=(3, 0, 1))], None, "me")
    mended = result(points=(3, 3, 0), key="with the mended check")
    del mended.checks[2]
    book.save([mended], None, "me", why="check 1 was wrong")
    assert book.keys() == {"ada": {"numbers": "with the mended check"}}
    change = list(book.history("ada"))[-1]
    assert (change.old_points, change.new_points) == (4, 6)
    assert change.checks == [
        {"id": "c1", "name": "check 1", "old": 0, "new": 3},
        {"id": "c2", "name": "check 2", "old": 1, "new": None},
    ]


def test_the_replaced_result_stays_in_the_file(book, tmp_path):
    book.save([result()], None, "me")
    book.save([result(key="new", points=(0, 0))], None, "me")
    with closing(sqlite3.connect(tmp_path / "class.db")) as raw:
        ((kept,),) = raw.execute("SELECT replaced FROM change WHERE replaced IS NOT NULL")
    assert gradebook.LessonResult.from_json(gradebook.json.loads(kept)) == result()


def test_a_submission_is_kept_whole_or_not_at_all(book):
    unstorable = result(lesson="sums")
    unstorable.notes = [object()]
    with pytest.raises(Exception):
        book.save([result(), unstorable], None, "me")
    assert list(book.by_learner()) == [] and list(book.history()) == []


def test_handing_the_same_bytes_in_again_makes_no_lesson_late(book):
    book.save([result(), result(lesson="sums")], MONDAY, "me")
    book.save(
        [result(key="later"), result(lesson="sums", key="later", sha256="b" * 64)],
        MONDAY + 3 * DAY,
        "me",
    )
    assert [grade.arrived for grade in book.rows("ada")] == [MONDAY, MONDAY + 3 * DAY]


def test_ids_and_names_that_no_database_takes_are_kept_each_on_its_own(book):
    students = [
        "a\0b",
        "a\ud800b",
        "a",
        "A",
        "x" * 5000,
        "x" * 5001,
        "'; DROP TABLE result; --",
        "\N{SNOWMAN}",
        "100%_",
    ]
    for student in students:
        book.save([result(student, points=(3,))], None, "me", "n" * 10_000 + "\0")
        assert book.keys()[gradebook.learner_id(student)] == {"numbers": "key"}
        assert [grade.points for grade in book.rows(student)] == [3]
    assert len(list(book.rows())) == len(students)


def test_one_learner_at_a_time_is_in_memory(book):
    for n in range(40):
        big = result(f"s{n:02}")
        big.checks[0].message = "m" * 200_000
        book.save([big], None, "me")
    tracemalloc.start()
    assert sum(len(grade.result.checks[0].message) for grade in book.rows()) == 8_000_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_000_000


def test_the_history_is_complete_beyond_a_page(book, monkeypatch):
    for n in range(7):
        book.save([result(key=str(n), points=(n % 4, 0))], None, "me")
    whole = list(book.history())
    monkeypatch.setattr(gradebook, "PAGE", 3)
    assert list(book.history()) == whole and len(whole) == 7


def test_the_roster_gives_names_and_columns_and_loses_nobody(book):
    book.save([result()], None, "me", "Ada")
    book.remember_roster(
        [
            SimpleNamespace(student="ada", name="Ada L.", columns={"id": "17"}),
            SimpleNamespace(student="bob", name="", columns={"id": "18"}),
        ]
    )
    assert [
        (learner.student, learner.name, learner.columns, len(grades))
        for learner, grades in book.by_learner()
    ] == [("ada", "Ada L.", {"id": "17"}, 1), ("bob", "", {"id": "18"}, 0)]
    book.save([result("bob")], None, "me")
    assert [learner.columns for learner, _ in book.by_learner("bob")] == [
        {"id": "18"}
    ] and book.headers() == ["id"]


def test_lessons_come_in_order_with_the_points_of_the_newest_result(book):
    book.save([result(lesson="sums"), result()], None, "me")
    book.save([result("bob", points=(1, 1, 1))], None, "me")
    assert list(book.lessons().items()) == [
        ("numbers", (1, "Numbers", 9)),
        ("sums", (2, "Sums", 6)),
    ]


# By hand


def test_an_override_is_final(book):
    book.save([result()], MONDAY + 2 * DAY, "me")
    assert points(book) == {"numbers": "2.4"}  # two days: 3 - 20 %
    assert book.override("ada", "numbers", "5.5", "prof", "shown in the lab") == (3, Decimal("5.5"))
    (grade,) = book.rows("ada")
    assert (
        str(grade.points) == "5.5"
        and grade.penalty_percent == 0
        and grade.late_reason == "2 days late"
    )
    assert (grade.override.who, grade.override.why) == ("prof", "shown in the lab")
    book.save([result(key="new", points=(3, 3))], MONDAY, "me")
    assert points(book) == {"numbers": "5.5"}
    assert list(book.history())[-1].text == "graded 3 -> 6; the override to 5.5 stays"
    assert book.override("ada", "numbers", None, "prof", "a slip") == (Decimal("5.5"), 6)


def test_of_a_check_set_by_hand_no_lateness_is_taken(book):
    book.save([result(points=(2, 1))], MONDAY + DAY, "me")
    book.override("ada", "numbers", 3, "prof", "the check was unfair", check="c1")
    (grade,) = book.rows("ada")
    assert (str(grade.points), str(grade.before_late), grade.late_reason) == (
        "4.8",
        "5",
        "1 day late: -10 %",
    )  # 2 - 10 % + 3
    assert [str(grade.check_points(check)) for check in grade.result.checks] == ["2", "3"]
    book.save([result(points=(3, 0), key="new")], MONDAY, "me")
    assert (
        points(book) == {"numbers": "6"}
        and list(book.history())[-1].text == "the override of check c1 to 3 stays"
    )
    book.save([result(points=(3,), key="newer")], MONDAY, "me")
    assert (
        points(book) == {"numbers": "3"}
        and list(book.history())[-1].text == "check c1, overridden to 3, is no longer there"
    )


def test_a_part_of_a_checks_name_is_enough(book):
    book.save([result(points=(2, 1))], None, "me")
    book.override("ada", "numbers", 3, "prof", "was unfair", check="1")
    (grade,) = book.rows("ada")
    assert list(grade.check_overrides) == ["c1"]
    book.override("ada", "numbers", None, "prof", "was fair", check="1")
    assert points(book) == {"numbers": "3"}


@pytest.mark.parametrize(
    ("student", "lesson", "given", "more", "what", "remedy"),
    [
        ("adda", "numbers", 3, {}, "no learner 'adda'", "'ada'"),
        ("ada", "sums", 3, {}, "no grade in sums", "tito grade"),
        ("ada", "numbers", 7, {}, "7 points are not possible", "in between"),
        ("ada", "numbers", -1, {}, "-1 points are not possible", "in between"),
        ("ada", "numbers", 4, {"check": "c0"}, "c0 can earn between 0 and 3", "in between"),
        ("ada", "numbers", "many", {}, "'many' is no number", "such as 7.5"),
        ("ada", "numbers", "nan", {}, "'nan' is no number", "such as 7.5"),
        ("ada", "numbers", 3, {"check": "c9"}, "no check 'c9'", "There are: c0, c1"),
        ("ada", "numbers", 3, {"check": "c"}, "2 checks with 'c'", "more of one: c0, c1"),
        ("ada", "numbers", None, {}, "no override of numbers", "history"),
        ("ada", "numbers", 3, {"why": " "}, "keeps who made it, and why", "--why"),
        ("ada", "numbers", 3, {"who": ""}, "keeps who made it, and why", "--who"),
    ],
)
def test_an_override_that_cannot_be_meant_is_refused(
    book, student, lesson, given, more, what, remedy
):
    book.save([result()], None, "me")
    with pytest.raises(TitoError) as caught:
        book.override(student, lesson, given, **{"who": "me", "why": "because"} | more)
    assert what in caught.value.what and remedy in caught.value.remedy and caught.value.code == 2
    assert points(book) == {"numbers": "3"} and len(list(book.history())) == 1


def test_comments_are_kept_by_lesson_and_in_general_and_can_be_taken_back(book):
    book.save([result(), result(lesson="sums")], None, "me")
    for lesson, text in (("numbers", "one"), ("numbers", "two"), ("sums", "three"), (None, "four")):
        book.comment("ada", lesson, text, "prof")
    ((learner, grades),) = book.by_learner("ada")
    assert [[comment.text for comment in grade.comments] for grade in grades] == [
        ["one", "two"],
        ["three"],
    ]
    assert [(comment.text, comment.who) for comment in learner.comments] == [("four", "prof")]
    book.comment("ada", "numbers", None, "prof")
    assert [len(grade.comments) for grade in book.rows("ada")] == [0, 1]
    with pytest.raises(TitoError, match="empty"):
        book.comment("ada", "sums", "  ", "prof")


def test_an_extension_counts_at_once_and_one_for_the_lesson_before_one_for_all(book):
    book.save([result()], MONDAY + 3 * DAY, "me")
    assert points(book) == {"numbers": "2.1"}
    book.extend("ada", None, "prof", "ill", days=1)
    assert points(book) == {"numbers": "2.4"}
    book.extend("ada", "numbers", "prof", "very ill", until=MONDAY + 3 * DAY)
    (grade,) = book.rows("ada")
    assert (str(grade.points), grade.due) == ("3", MONDAY + 3 * DAY)
    book.extend("ada", "numbers", "prof", "it was another Ada")
    assert points(book) == {"numbers": "2.4"}
    book.extend("ada", None, "prof", "it was another Ada")
    assert points(book) == {"numbers": "2.1"}
    assert [(change.kind, change.lesson, change.why) for change in book.history("ada", "numbers")][
        1:3
    ] == [("extension", None, "ill"), ("extension", "numbers", "very ill")]


@pytest.mark.parametrize(
    "more",
    [{"days": 0}, {"days": 5000}, {"until": datetime(2026, 12, 1)}, {"until": MONDAY, "days": 1}],
)
def test_an_extension_that_cannot_be_meant_is_refused(book, more):
    book.save([result()], None, "me")
    with pytest.raises(TitoError):
        book.extend("ada", None, "prof", "ill", **more)
    assert len(list(book.history())) == 1


def test_the_history_tells_who_when_why_and_from_what_to_what(book):
    before = datetime.now(timezone.utc) - timedelta(seconds=1)
    book.save([result()], None, "grader")
    book.save([result("bob")], None, "grader")
    book.override("ada", "numbers", 1, "prof", "copied")
    change = list(book.history("ada"))[-1]
    assert change.as_json() | {"when": 0} == {
        "student": "ada",
        "lesson": "numbers",
        "check": None,
        "kind": "override",
        "who": "prof",
        "when": 0,
        "why": "copied",
        "old_points": 3,
        "new_points": 1,
        "points": 1,
        "text": None,
        "extension": None,
        "checks": [],
    }
    assert before <= change.when <= datetime.now(timezone.utc)
    assert [one.student for one in book.history(lesson="numbers")] == ["ada", "bob", "ada"]


# The database


def test_the_migrations_make_the_tables_that_the_code_uses(tmp_path):
    from alembic.autogenerate import compare_metadata
    from alembic.config import Config
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(gradebook.MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [gradebook.HEAD]
    with open_gradebook(tmp_path / "class.db") as book, book.engine.connect() as database:
        context = MigrationContext.configure(
            database, opts={"version_table": gradebook.VERSION_TABLE}
        )
        assert compare_metadata(context, gradebook.TABLES) == []


def next_version(folder, body, monkeypatch):
    """Teach tito a schema 0002, made by `body`, the lines of a migration."""
    shutil.copytree(gradebook.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    text = f'import sqlalchemy as sql\nfrom alembic import op\nrevision, down_revision = "0002", "0001"\n\n\ndef upgrade():\n    {body}\n'
    (folder / "versions" / "0002_next.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(gradebook, "MIGRATIONS", folder)
    monkeypatch.setattr(gradebook, "HEAD", "0002")


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


@pytest.mark.slow
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
