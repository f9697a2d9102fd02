"""One run at a time: who holds the lock, who takes it over, and what a killed run had begun."""

import multiprocessing
import os
import subprocess
import sys
from datetime import timedelta

import pytest

from tito.errors import MachineError, UsageError
from tito.grading.gradebook import run_lock
from tito.grading.gradebook.database import write
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.gradebook.tables import RUN, now, sql

linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
fork = multiprocessing.get_context("fork") if sys.platform == "linux" else None


def held_by(book, process, renewed=None):
    """Let another process hold the lock."""
    row = {"id": 1, "process": process, "who": "ta1", "since": now(), "begun": [["ada", "w", 1]]}
    row["renewed"] = renewed or now()
    write(book.engine, lambda database: database.execute(sql.insert(RUN).values(row)))


@pytest.fixture
def other():
    """A process that lives for a while."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


@linux
def test_a_second_run_reports_who_runs_where_and_since_when(book, other):
    name = run_lock.process_name(other.pid)
    held_by(book, name)
    with pytest.raises(UsageError) as error, run_lock.hold(book, "ta2"):
        pass
    host = name.split(" ")[0]
    expected = f"ta1 is grading into this gradebook already: process {other.pid} on {host}, since "
    assert error.value.what.startswith(expected) and error.value.what.endswith(" UTC.")
    assert "wait until it has ended" in error.value.remedy


@linux
def test_the_lock_of_a_process_that_is_gone_is_taken_over_with_what_it_had_begun(book, other):
    held_by(book, run_lock.process_name(other.pid))
    other.kill()
    other.wait()
    with run_lock.hold(book, "ta2") as lock:
        assert lock.begun == {("ada", "w"): 1}
        lock.keep({("ada", "w"): 2, ("bob", "w"): 1})
    with run_lock.hold(book, "ta3") as lock:  # it ended well, and left these
        assert lock.begun == {("ada", "w"): 2, ("bob", "w"): 1}
        lock.keep({})
    with run_lock.hold(book, "ta4") as lock:
        assert lock.begun == {}


@pytest.mark.parametrize(("minutes", "is_free"), [(1, False), (9, False), (11, True)])
def test_on_another_machine_a_lock_ends_when_it_is_not_renewed(book, minutes, is_free):
    held_by(book, "elsewhere 17 4711", now() - timedelta(minutes=minutes))
    if is_free:
        with run_lock.hold(book, "ta2") as lock:
            assert lock.begun
        return
    with pytest.raises(UsageError, match="process 17 on elsewhere"), run_lock.hold(book, "ta2"):
        pass


def test_a_run_that_lost_its_lock_ends(book):
    with pytest.raises(MachineError, match="Another run has taken this gradebook over"):
        with run_lock.hold(book, "ta1") as lock:
            taken = sql.update(RUN).values(process="elsewhere 17 4711")
            write(book.engine, lambda database: database.execute(taken))
            lock.renew()  # it is not time to
            lock.keep({})


def test_the_lock_is_given_back_after_an_error(book):
    with pytest.raises(KeyboardInterrupt), run_lock.hold(book, "ta1"):
        raise KeyboardInterrupt
    with run_lock.hold(book, "ta2"):
        assert run_lock.is_alive(run_lock.process_name(), now())


@linux
def test_the_number_of_a_process_alone_does_not_name_it():
    host, pid, start = run_lock.process_name().split(" ")
    assert not run_lock.is_alive(f"{host} {pid} {int(start) - 1}", now())
    assert int(pid) == os.getpid()


def grade(path, pipe):
    with open_gradebook(path) as book:
        try:
            with run_lock.hold(book, "me"):
                pipe.send("in")
                pipe.recv()
        except UsageError:
            pipe.send("out")


@linux
def test_of_runs_that_begin_at_once_one_gets_the_lock(tmp_path):
    path = tmp_path / "class.db"
    with open_gradebook(path):
        pass
    pipes = [fork.Pipe() for _ in range(4)]
    processes = [fork.Process(target=grade, args=(path, child)) for _, child in pipes]
    for process in processes:
        process.start()
    said = [parent.recv() for parent, _ in pipes]
    for parent, _ in pipes:
        parent.send("end")
    for process in processes:
        process.join()
    assert sorted(said) == ["in", "out", "out", "out"]
