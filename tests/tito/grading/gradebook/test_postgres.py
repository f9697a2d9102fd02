"""A gradebook in a PostgreSQL database does what one in a file does: an old one, a new one, and one
that several use at once.
"""

import csv
import io
import json
import multiprocessing
import re
import sys

import pytest
import sqlalchemy as sql
from commands import tito
from small_course import NUMBERS
from some_results import FIRST_GRADEBOOK, MONDAY, points, result

from tito.errors import TitoError
from tito.grading.gradebook.gradebook import open_gradebook

pytestmark = [
    pytest.mark.slow,  # a server is started
    pytest.mark.skipif(sys.platform != "linux", reason="starts processes by fork"),
]
fork = multiprocessing.get_context("fork") if sys.platform == "linux" else None
STUDENTS = [f"s{number:02}" for number in range(12)]


@pytest.fixture
def old_book(postgres):
    """The URL of a gradebook that the first tito made."""
    url = postgres()
    text = FIRST_GRADEBOOK.replace("DATETIME", "TIMESTAMP").replace("id INTEGER", "id SERIAL")
    execute(url, text, "SELECT setval('change_id_seq', 3)")
    return url


def execute(url, *statements):
    """The rows of the last of these statements."""
    engine = sql.create_engine(url)
    with engine.begin() as database:
        for statement in statements:
            done = database.exec_driver_sql(statement)
        rows = done.all() if done.returns_rows else []
    engine.dispose()
    return rows


def schema(url):
    """What the tables are: columns, keys and indices. Names of constraints do not matter."""
    engine = sql.create_engine(url)
    look = sql.inspect(engine)
    found = {}
    for table in look.get_table_names():
        columns = {(c["name"], str(c["type"]), c["nullable"]) for c in look.get_columns(table)}
        foreign = [
            (k["constrained_columns"], k["referred_table"]) for k in look.get_foreign_keys(table)
        ]
        indices = [(one["name"], one["column_names"]) for one in look.get_indexes(table)]
        key = look.get_pk_constraint(table)["constrained_columns"]
        found[table] = columns, key, foreign, indices
    engine.dispose()
    return found


def test_an_old_gradebook_is_brought_forward_graded_and_exported(old_book, postgres, small_course):
    """Migrations, then what an instructor types, from the roster to the feedback."""
    where = ("--gradebook", old_book)
    _, err = tito(small_course, "gradebook", "show", *where, code=2)
    assert "made by an older tito: its schema is 0001" in err, "reading changes nothing"
    tito(small_course, "gradebook", "claim", "--student", "ada", "--who", "ta1", *where)
    out, _ = tito(small_course, "gradebook", "show", "--student", "ada", *where)
    assert "5.5 of 6" in out and "in the lab" in out
    new_book = postgres()
    with open_gradebook(new_book):
        pass
    assert schema(old_book) == schema(new_book)
    assert execute(old_book, "SELECT version_num FROM tito_gradebook") == execute(
        new_book, "SELECT version_num FROM tito_gradebook"
    )

    folder = small_course.path / "submissions"
    for student, text in (("ada", NUMBERS), ("-lee", NUMBERS.replace("x + x", "x * x"))):
        (folder / student).mkdir(parents=True)
        (folder / student / "numbers_dev.py").write_text(text, encoding="utf-8")
    roster = small_course.path / "class.csv"
    roster.write_text("student,name\nada,Ada L.\n-lee,Zoë Lee\nbob,Bob\n", encoding="utf-8")
    tito(small_course, "gradebook", "roster", roster, *where)
    words = ("grade", folder, "numbers", "--jobs", "1", *where)
    assert "1 would fall" in tito(small_course, *words, "--dry-run")[0]  # it had 6 points
    assert "3 of 3 submissions graded" in tito(small_course, *words)[0]
    assert "0 of 3 submissions graded" in tito(small_course, *words)[0]
    tito(small_course, "gradebook", "leave", "bob", "--why", "moved", *where)
    tito(small_course, "gradebook", "override", "ada", "numbers", "--lift", "--why", "new", *where)
    out, _ = tito(small_course, "gradebook", "export", *where)
    lee, ada = list(csv.DictReader(io.StringIO(out)))
    assert (ada["student"], ada["numbers"]) == ("ada", "5")
    assert (lee["student"], lee["name"], lee["numbers"]) == ("-lee", "Zoë Lee", "3")
    told = json.loads(tito(small_course, "gradebook", "history", "ada", "--json", *where)[0])
    assert [one["kind"] for one in told] == [
        "graded",
        "override",
        "extension",
        "graded",
        "override",
    ]
    pages = small_course.path / "feedback"
    tito(small_course, "feedback", pages, *where)
    assert len(list((pages / "learners").iterdir())) >= 2


def at_once(*targets):
    """Run each (function, arguments) in a process of its own; all have to end well."""
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
            book.save([result(student), result(student, "sums")], None, "run")
            if pipe:
                pipe.send(student)


def keep_attempts(url, works):
    with open_gradebook(url) as book:
        for _ in range(40):
            book.keep_attempts([(*work, 1) for work in works], "run")


@pytest.mark.parametrize("age", ["new", "old"])
def test_several_at_once_make_one_gradebook_and_lose_nothing(age, old_book, postgres):
    url = old_book if age == "old" else postgres()
    orders = (STUDENTS, STUDENTS[::-1], STUDENTS[6:] + STUDENTS[:6])
    at_once(*[(save_class, url, order) for order in orders])
    with open_gradebook(url) as book:
        found = {learner.student: len(grades) for learner, grades in book.by_learner()}
        assert {one: found[one] for one in STUDENTS} == dict.fromkeys(STUDENTS, 2)
        changes = [change for change in book.history() if change.student in STUDENTS]
        assert len(changes) == 2 * len(STUDENTS)  # each kept once: the same key is no change


def test_two_that_wait_for_each_other_both_go_on(postgres):
    """The database ends one of two transactions that wait for each other; it is tried again."""
    url, works = postgres(), [(student, "w") for student in STUDENTS]
    with open_gradebook(url):
        pass
    at_once((keep_attempts, url, works), (keep_attempts, url, works[::-1]))
    with open_gradebook(url) as book:
        assert sorted(book.attempts()) == works


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


def test_a_server_that_is_not_there_is_told(postgres):
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
            (kept,) = book.save([one], MONDAY, "me", "=1+1\0")
            assert points(book, student) == {"numbers": "3"}
        assert len(list(book.by_learner())) == 5
