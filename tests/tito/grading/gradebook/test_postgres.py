"""A gradebook in a PostgreSQL database does what one in a file does, and several use it at once."""

import csv
import io
import json
import multiprocessing
import re
import sys

import pytest
from commands import tito
from small_course import NUMBERS
from some_results import MONDAY, points, result, save

from tito.errors import TitoError
from tito.grading.gradebook.changes import apply_changes
from tito.grading.gradebook.database import write
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.gradebook.history import add_change
from tito.grading.gradebook.learners import lock_learner
from tito.grading.gradebook.requested_changes import RequestedChange

pytestmark = [
    pytest.mark.slow,  # a server is started
    pytest.mark.skipif(sys.platform != "linux", reason="starts processes by fork"),
]
fork = multiprocessing.get_context("fork") if sys.platform == "linux" else None
STUDENTS = [f"s{number:02}" for number in range(12)]


def test_a_class_is_graded_and_exported(postgres, small_course):
    """What an instructor types, from the roster to the feedback."""
    where = ("--gradebook", postgres())
    folder = small_course.path / "submissions"
    for student, text in (("ada", NUMBERS), ("-lee", NUMBERS.replace("x + x", "x * x"))):
        (folder / student).mkdir(parents=True)
        (folder / student / "numbers_dev.py").write_text(text, encoding="utf-8")
    roster = small_course.path / "class.csv"
    roster.write_text("student,name\nada,Ada L.\n-lee,Zoë Lee\nbob,Bob\n", encoding="utf-8")
    tito(small_course, *where, "gradebook", "roster", roster)
    words = ("grade", folder, "numbers", "--jobs", "1")
    assert "3 would be new" in tito(small_course, *where, *words, "--dry-run")[0]
    assert "3 of 3 submissions graded" in tito(small_course, *where, *words)[0]
    assert "0 of 3 submissions graded" in tito(small_course, *where, *words)[0]
    tito(small_course, *where, "gradebook", "roster", "--remove", "bob")
    words = ("--points", "2", "--comment", "See me.", "--why", "copied")
    tito(small_course, *where, "gradebook", "set", "ada", "numbers", *words)
    out, _ = tito(small_course, *where, "gradebook", "export")
    lee, ada = list(csv.DictReader(io.StringIO(out)))
    assert (ada["student"], ada["numbers"]) == ("ada", "2")
    assert (lee["student"], lee["name"], lee["numbers"]) == ("-lee", "Zoë Lee", "3")
    words = ("gradebook", "show", "--history", "--student", "ada", "--json")
    told = json.loads(tito(small_course, *where, *words)[0])
    assert [one["kind"] for one in told] == ["graded", "override", "comment"]
    pages = small_course.path / "feedback"
    tito(small_course, *where, "feedback", pages)
    assert len(list((pages / "learners").iterdir())) >= 2


def at_once(*targets):
    """Run each (function, arguments) in a separate process; all have to succeed."""
    processes = [fork.Process(target=target, args=args) for target, *args in targets]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * len(processes)


def save_class(url, students, pipe=None):
    """What a run does: two lessons of each learner, one submission after the other."""
    with open_gradebook(url) as book:
        for student in students:
            save(book, [result(student), result(student, "sums")], None, "run")
            if pipe:
                pipe.send(student)


def comment_on_all(url, students, who):
    with open_gradebook(url) as book:
        for number in range(10):
            changes = [
                RequestedChange("comment", student, None, text=f"{who} {number}")
                for student in students
            ]
            apply_changes(book, changes, who)


def comment_on_two(url, students, who, barrier):
    """In one transaction, whose first attempt waits until the other one has also begun."""
    waits = [barrier]

    def work(database):
        for student in students:
            lock_learner(database, student, who)
            while waits:
                waits.pop().wait(60)
            add_change(database, student, None, "comment", who, text=who)

    with open_gradebook(url) as book:
        write(book.engine, work)


def test_several_at_once_make_one_gradebook_and_lose_nothing(postgres):
    url = postgres()
    orders = (STUDENTS, STUDENTS[::-1], STUDENTS[6:] + STUDENTS[:6])
    at_once(*[(save_class, url, order) for order in orders])
    with open_gradebook(url) as book:
        found = {learner.student: len(grades) for learner, grades in book.by_learner()}
        assert found == dict.fromkeys(STUDENTS, 2)
        assert len(list(book.history())) == 2 * len(STUDENTS), "the same key is no change"


def test_two_tables_in_any_order_are_both_written(postgres):
    url = postgres()
    save_class(url, STUDENTS)
    at_once((comment_on_all, url, STUDENTS, "ta1"), (comment_on_all, url, STUDENTS[::-1], "ta2"))
    with open_gradebook(url) as book:
        assert {len(learner.comments) for learner, _ in book.by_learner()} == {20}


def test_two_that_wait_for_each_other_both_go_on(postgres):
    """The database ends one of two transactions that wait for each other; it is tried again."""
    url, barrier = postgres(), fork.Barrier(2)
    save_class(url, STUDENTS[:2])
    at_once(
        (comment_on_two, url, STUDENTS[:2], "ta1", barrier),
        (comment_on_two, url, STUDENTS[1::-1], "ta2", barrier),
    )
    with open_gradebook(url) as book:
        for learner, _ in book.by_learner():
            assert sorted(comment.text for comment in learner.comments) == ["ta1", "ta2"]


def test_killed_at_any_moment_it_holds_whole_submissions(postgres):
    url = postgres()
    for number in range(6):
        receiver, sender = fork.Pipe(duplex=False)
        names = [f"k{number}-{student}" for student in STUDENTS]
        process = fork.Process(target=save_class, args=(url, names, sender))
        process.start()
        sender.close()
        reported = [receiver.recv() for _ in range(number)]
        process.kill()
        process.join()
        with open_gradebook(url) as book:
            saved = {one.student: len(grades) for one, grades in book.by_learner()}
        assert set(reported) <= set(saved) and set(saved.values()) <= {2}


def test_a_server_that_is_not_there_is_reported(postgres):
    url = re.sub(r"host=.*", "host=/nowhere", postgres())
    with pytest.raises(TitoError, match="does not work: ") as error, open_gradebook(url):
        pass
    assert error.value.code == 3 and "/nowhere" in error.value.what


def test_every_text_comes_back_as_it_was(postgres):
    """Whatever learners' names and messages hold, as a file keeps it."""
    with open_gradebook(postgres()) as book:
        for student in ("Åsa 李", "a\0b", "'; DROP TABLE learner; --", "x" * 600, "\udcff"):
            one = result(student)
            one.checks[1].message = "\0\udcff%(x)s :y"
            (kept,) = save(book, [one], MONDAY, "me", "=1+1\0")
            assert points(book, student) == {"numbers": "3"}
        assert len(list(book.by_learner())) == 5
