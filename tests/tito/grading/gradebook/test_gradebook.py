"""The gradebook: saved results, the history, and that no submission is saved partially."""

import json
import sqlite3
import tracemalloc
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest
from some_results import DAY, MONDAY, points, remember_roster, result, save, set_points

from tito.grading.gradebook import gradebook
from tito.grading.gradebook.database import transaction
from tito.grading.gradebook.gradebook import Gradebook, open_gradebook
from tito.grading.gradebook.result_store import Saving
from tito.grading.gradebook.tables import TEXT, sql
from tito.grading.result import LessonResult, Unchanged, packed
from tito.grading.submission import Arrived

# Results


def test_a_result_comes_back_as_it_was_saved(tmp_path):
    original = result(notes=["a note"], isolation="bubblewrap", seconds=0.25)
    with open_gradebook(tmp_path / "class.db") as book:
        save(book, [original], MONDAY, "lovelace", "Ada L.")
    with open_gradebook(tmp_path / "class.db", create=False) as book:
        (grade,) = book.grades("ada")
    assert (
        grade.result == original
        and grade.lateness.arrived == MONDAY
        and (grade.name, grade.number, grade.title, grade.max_points) == ("Ada L.", 1, "Numbers", 6)
    )
    assert str(grade.points) == "3" and grade.lateness.days == 0


def test_the_same_key_is_never_kept_twice(book):
    first, second = result(), result(points=(0, 0))
    assert save(book, [first], None, "me") == [first]
    assert book.graded()[1] == {"ada": {"numbers": {"key"}}}
    assert save(book, [second], None, "me") == [] and points(book) == {"numbers": "3"}
    assert len(list(book.history())) == 1


def test_a_regrade_of_the_same_key_replaces_and_is_in_the_history(book):
    save(book, [result()], None, "me")
    save(book, [result(points=(3, 3))], None, "you", why="the sandbox was broken", regrade=True)
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
    save(book, [result(points=(3, 0, 1))], None, "me")
    newer = result(points=(3, 3, 0), key="with the mended check")
    del newer.checks[2]
    save(book, [newer], None, "me", why="check 1 was wrong")
    assert book.graded()[1] == {"ada": {"numbers": {"with the mended check"}}}
    change = list(book.history("ada"))[-1]
    assert (change.old_points, change.new_points) == (4, 6)
    assert change.checks == [
        {"id": "c1", "name": "check 1", "old": 0, "new": 3},
        {"id": "c2", "name": "check 2", "old": 1, "new": None},
    ]


def test_the_replaced_result_stays_in_the_file(book, tmp_path):
    save(book, [result()], None, "me")
    save(book, [result(key="new", points=(0, 0))], None, "me")
    with closing(sqlite3.connect(tmp_path / "class.db")) as raw:
        ((text,),) = raw.execute("SELECT replaced FROM change WHERE replaced IS NOT NULL")
    assert LessonResult.from_json(json.loads(text)) == result()


def test_a_submission_is_kept_whole_or_not_at_all(book):
    unstorable = result(lesson="sums")
    unstorable.notes = [object()]
    with pytest.raises(Exception):
        save(book, [result(), unstorable], None, "me")
    assert list(book.by_learner()) == [] and list(book.history()) == []


def test_handing_the_same_bytes_in_again_makes_no_lesson_late(book):
    save(book, [result(), result(lesson="sums")], MONDAY, "me")
    save(
        book,
        [result(key="later"), result(lesson="sums", key="later", sha256="b" * 64)],
        MONDAY + 3 * DAY,
        "me",
    )
    assert [grade.lateness.arrived for grade in book.grades("ada")] == [MONDAY, MONDAY + 3 * DAY]


def test_some_learners_at_a_time_are_in_memory(book, monkeypatch):
    monkeypatch.setattr(gradebook, "AT_A_TIME", 2)
    for n in range(40):
        big = result(f"s{n:02}")
        big.notes = ["m" * 4_000] * 50
        save(book, [big], None, "me")
    tracemalloc.start()
    assert sum(len(note) for grade in book.grades() for note in grade.result.notes) == 8_000_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_000_000


def test_no_text_that_is_kept_is_endless(book):
    endless = "m" * 2_000_000
    one = result(reason=endless, notes=[endless] * 3)
    for check in one.checks:
        check.message = endless
    save(book, [one], None, endless, endless, endless)
    save(book, [result(key="later")], None, "me")
    (grade,) = book.grades("ada")
    assert grade.name.endswith(" ... (1996000 characters more)") and len(grade.name) < 4_100
    save(book, [one], None, "me", regrade=True)
    (grade,) = book.grades("ada")
    assert {len(text) for text in (grade.result.reason, *grade.result.notes)} == {4_030}
    assert len(Path(book.engine.url.database).read_bytes()) < 200_000


def test_no_address_of_an_object_is_kept(book):
    shown = repr(object()) + f" and {test_no_address_of_an_object_is_kept}, {0x7F3A12:#x} stays"
    shown += f", {hex(0x7F3A12C0B5E0)} does not"
    one = result(reason=shown)
    one.checks[0].message = shown
    save(book, [one], None, "me")
    (grade,) = book.grades("ada")
    assert grade.result.reason == grade.result.checks[0].message
    assert grade.result.reason == (
        "<object object> and <function test_no_address_of_an_object_is_kept>, 0x7f3a12 stays, "
        "0x does not"
    )


def test_the_history_is_complete_beyond_a_page(book, monkeypatch):
    for n in range(7):
        save(book, [result(key=str(n), points=(n % 4, 0))], None, "me")
    whole = list(book.history())
    monkeypatch.setattr(gradebook, "PAGE", 3)
    assert list(book.history()) == whole and len(whole) == 7


def test_the_roster_gives_names_and_columns_and_loses_no_learner(book):
    save(book, [result()], None, "me", "Ada")
    remember_roster(
        book,
        [
            SimpleNamespace(student="ada", name="Ada L.", columns={"id": "17"}),
            SimpleNamespace(student="bob", name="", columns={"id": "18"}),
        ],
    )
    assert [
        (learner.student, learner.name, learner.columns, len(grades))
        for learner, grades in book.by_learner()
    ] == [("ada", "Ada L.", {"id": "17"}, 1), ("bob", "", {"id": "18"}, 0)]
    save(book, [result("bob")], None, "me")
    assert [learner.columns for learner, _ in book.by_learner("bob")] == [
        {"id": "18"}
    ] and book.headers() == ["id"]


def test_lessons_come_in_order_with_the_points_of_the_newest_result(book):
    save(book, [result(lesson="sums"), result()], None, "me")
    save(book, [result("bob", points=(1, 1, 1))], None, "me")
    assert list(book.lessons().items()) == [
        ("numbers", (1, "Numbers", 9)),
        ("sums", (2, "Sums", 6)),
    ]


# The history


def test_the_history_has_author_time_reason_and_points_before_and_after(book):
    before = datetime.now(timezone.utc) - timedelta(seconds=1)
    save(book, [result()], None, "grader")
    save(book, [result("bob")], None, "grader")
    set_points(book, "ada", "numbers", 1, "prof", "copied")
    change = list(book.history("ada"))[-1]
    assert change.as_json() | {"when": 0} == {
        "student": "ada",
        "lesson": "numbers",
        "check": None,
        "edition": "",
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
    assert [change.student for change in book.history(lesson="numbers")] == ["ada", "bob", "ada"]


# The files


def test_the_file_that_was_graded_is_kept_once_for_all_who_handed_it_in(book):
    text = "# %%\ndouble = 2  # größer \ud800"
    for student in ("ada", "bob"):
        one = result(student, sha256="c" * 64)
        one.code = packed(text)
        assert "code" not in one.as_json()
        save(book, [one], None, "me")
    assert book.code("c" * 64) == "# %%\ndouble = 2  # größer \\ud800"
    assert book.code("d" * 64) is None
    with transaction(book.engine) as database:
        assert database.execute(sql.select(sql.func.count()).select_from(TEXT)).scalar() == 1


def test_a_copy_to_try_something_on_has_the_grades_and_not_the_files(book, tmp_path):
    one = result(sha256="c" * 64)
    one.code = packed("code")
    save(book, [one], None, "me")
    with book.copied() as copy:
        assert points(copy) == {"numbers": "3"} and copy.code("c" * 64) is None


def test_a_secret_of_a_gradebook_stays_the_same(book):
    assert book.secret("x") == book.secret("x") != book.secret("y")


# Submissions


def test_a_submission_is_known_until_one_of_its_results_is_replaced(book):
    """So that it is not graded again, and is when a run with other checks came between."""
    save(book, [result(), result(lesson="sums")], None, work="w")
    works, keys = book.graded()
    assert works == {
        ("ada", "w"): [
            Unchanged("numbers", "key", "", "a" * 64),
            Unchanged("sums", "key", "", "a" * 64),
        ]
    }
    assert keys == {"ada": {"numbers": {"key"}, "sums": {"key"}}}
    save(book, [result(key="new")], None, work="v")
    assert book.graded()[0].keys() == {("ada", "v")}
    save(book, [result(), result(lesson="sums")], None, work="w")
    assert book.graded()[0].keys() == {("ada", "w")}


def test_a_submission_that_changes_nothing_writes_nothing(book):
    save(book, [result()], MONDAY, work="w")
    again = Gradebook(book.engine, book.rules)  # another run
    ((place, seen),) = again.graded()[0].items()
    arrivals = {"numbers": Arrived(MONDAY, "moodle")}
    before = Path(book.engine.url.database).read_bytes()
    assert again.save(Saving("ada", seen=seen, arrivals=arrivals, work="w")) == []
    assert Path(book.engine.url.database).read_bytes() == before
    arrivals = {"numbers": Arrived(MONDAY - DAY, "moodle")}
    again.save(Saving("ada", seen=seen, arrivals=arrivals, work="w"))
    assert next(again.grades("ada")).lateness.arrived == MONDAY - DAY
