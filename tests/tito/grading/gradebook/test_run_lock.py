"""One run at a time: who holds the lock, how it ends, and what a killed run had begun."""

import multiprocessing
import re
import socket
import sys

import pytest

from tito.errors import MachineError, UsageError
from tito.grading.gradebook import run_lock
from tito.grading.gradebook.gradebook import open_gradebook

needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="starts processes by fork")
fork = multiprocessing.get_context("fork") if sys.platform == "linux" else None
DATABASES = ["a file", pytest.param("PostgreSQL", marks=pytest.mark.slow)]


@pytest.fixture
def where(request, tmp_path):
    """The address of a gradebook, in a file or in a database of PostgreSQL."""
    is_file = request.param == "a file"
    place = tmp_path / "class.db" if is_file else request.getfixturevalue("postgres")()
    with open_gradebook(place):
        yield place


def grade(place, who, pipe):
    """What a run does, as far as the lock is concerned."""
    with open_gradebook(place) as book:
        try:
            with run_lock.hold(book, who) as lock:
                lock.keep(lock.begun | {("ada", "w"): 1, (who, "w"): 0})
                pipe.send("in")
                pipe.recv()
                lock.keep({})
        except UsageError as error:
            pipe.send(f"{error}")


def begin(place, who):
    """(a process that grades, the pipe to it, what it said first)."""
    pipe, other = fork.Pipe()
    process = fork.Process(target=grade, args=(place, who, other))
    process.start()
    return process, pipe, pipe.recv()


@needs_fork
@pytest.mark.parametrize("where", DATABASES, indirect=True)
def test_a_second_run_reports_who_runs_where_and_since_when(where):
    process, pipe, said = begin(where, "ta Zoë")
    assert said == "in"
    with open_gradebook(where) as book:
        with pytest.raises(UsageError) as error, run_lock.hold(book, "ta2"):
            pass
        begins = f"ta Zoë is grading into this gradebook already: process {process.pid} on "
        assert error.value.what.startswith(f"{begins}{socket.gethostname()}, since ")
        assert re.search(r"since \d{4}-\d\d-\d\d \d\d:\d\d UTC\.$", error.value.what)
        assert "wait until it has ended" in error.value.remedy
        pipe.send("end")
        process.join()
        with run_lock.hold(book, "ta2") as lock:
            assert lock.begun == {}


@needs_fork
@pytest.mark.parametrize("where", DATABASES, indirect=True)
def test_the_lock_of_a_killed_run_is_free_at_once_and_tells_what_it_had_begun(where):
    for who in ("ta1", "ta2"):
        process, _, said = begin(where, who)
        assert said == "in"
        process.kill()
        process.join()
    with open_gradebook(where) as book:
        with run_lock.hold(book, "ta3") as lock:
            assert lock.begun == {("ada", "w"): 1, ("ta1", "w"): 0, ("ta2", "w"): 0}
            lock.keep({("ada", "w"): 2})
        with run_lock.hold(book, "ta4") as lock:  # the run before ended well, and left these
            assert lock.begun == {("ada", "w"): 2}
            lock.keep({})
        with run_lock.hold(book, "ta5") as lock:
            assert lock.begun == {}


@pytest.mark.slow
@needs_fork
@pytest.mark.parametrize("where", DATABASES, indirect=True)
def test_of_runs_that_begin_at_once_one_gets_the_lock(where):
    pipes = [fork.Pipe() for _ in range(4)]
    processes = [fork.Process(target=grade, args=(where, "me", other)) for _, other in pipes]
    for process in processes:
        process.start()
    said = [pipe.recv() for pipe, _ in pipes]
    for pipe, _ in pipes:
        pipe.send("end")
    for process in processes:
        process.join()
    assert sorted(words == "in" for words in said) == [False, False, False, True]
    assert all("me is grading into this gradebook already" in words for words in {*said} - {"in"})


@pytest.mark.parametrize("where", DATABASES, indirect=True)
def test_the_lock_is_given_back_after_an_error(where):
    with open_gradebook(where) as book:
        with pytest.raises(KeyboardInterrupt), run_lock.hold(book, "ta1"):
            raise KeyboardInterrupt
        with run_lock.hold(book, "ta2"):
            pass


def test_a_damaged_record_of_what_was_begun_stops_no_run(book):
    insert = "INSERT INTO begun (student, work, deaths) VALUES ('ada', 'one', 'many')"
    with book.engine.begin() as database:
        database.exec_driver_sql(insert)
    with run_lock.hold(book, "me") as lock:
        assert lock.begun == {}
        lock.keep({("ada", "one"): 0})
    with run_lock.hold(book, "me") as lock:
        assert lock.begun == {("ada", "one"): 0}


@pytest.mark.slow
def test_a_run_whose_lock_a_server_ended_says_so(postgres):
    with open_gradebook(postgres()) as book, pytest.raises(MachineError, match="does not work"):
        with run_lock.hold(book, "ta1"), book.engine.begin() as database:
            database.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
            )


@pytest.mark.slow
def test_two_gradebooks_of_one_postgresql_server_are_graded_at_once(postgres):
    with open_gradebook(postgres()) as one, open_gradebook(postgres()) as other:
        with run_lock.hold(one, "ta1"), run_lock.hold(other, "ta2"):
            pass


@pytest.mark.slow
@needs_fork
def test_another_path_to_the_file_is_the_same_gradebook(book, tmp_path):
    (tmp_path / "link.db").symlink_to(tmp_path / "class.db")
    with run_lock.hold(book, "ta1"), open_gradebook(tmp_path / "link.db") as again:
        with pytest.raises(UsageError, match="ta1 is grading"), run_lock.hold(again, "ta2"):
            pass


def test_a_file_that_cannot_be_locked_is_reported(book, tmp_path):
    (tmp_path / "class.db.lock").mkdir()
    with pytest.raises(MachineError, match="cannot be locked with .*class.db.lock: "):
        with run_lock.hold(book, "ta1"):
            pass
