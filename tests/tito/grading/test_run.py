"""A class is graded once, whatever happens meanwhile: interrupted, killed, run again."""

import ctypes
import dataclasses
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import commands
import pytest
from processes import children
from some_results import MONDAY, save

from tito.errors import TitoError
from tito.grading import run, workers
from tito.grading import setting as settings
from tito.grading.gradebook import gradebook, run_lock
from tito.grading.intake import collect
from tito.grading.intake.submission_times import Submitted
from tito.grading.setting import Setting
from tito.learn import workspace
from tito.lesson import course

JOBS = run.RunOptions(jobs=2)
KILLS = int(os.environ.get("TITO_KILLS", 2))  # how often each kind of run is killed
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


@pytest.fixture
def submissions(small_course, tmp_path):
    """Eight learners: every other one has solved everything, the others nothing."""
    folder = tmp_path / "submissions"
    for number in range(8):
        root = folder / f"learner{number}"
        workspace.init(root, small_course)
        if number % 2:
            for entry in course.open_root(root).lessons:
                solve_from(small_course, entry)
    return folder


def solve_from(reference, entry):
    entry.script.write_bytes(reference.lesson(entry.name).script.read_bytes())


def command(root, submissions, *more, book=None):
    return [
        sys.executable,
        "-m",
        "tito",
        "--root",
        str(root.path),
        *(["--gradebook", str(book)] if book else []),
        "grade",
        str(submissions),
        "--all",
        *([] if "--jobs" in more else ["--jobs", "2"]),
        "--json",
        *map(str, more),
    ]


def grade(root, submissions, *more, book=None):
    """The rows of a run that ends well, without what differs from run to run."""
    done = subprocess.run(
        command(root, submissions, *more, book=book),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return lasting(json.loads(done.stdout))


def lasting(rows):
    for row in rows:
        del row["seconds"], row["graded"]
        for check in row["checks"]:
            del check["seconds"]
    return rows


@pytest.mark.slow
def test_line_ends_change_no_verdict_and_no_points(small_course, tmp_path):
    """The same three files, as Linux and as Windows save them, in one gradebook."""
    text = small_course.lesson("numbers").script.read_text(encoding="utf-8")
    texts = {
        "right": text,
        "wrong": text.replace("x + x", "x * x"),
        "broken": text.replace("x + x", "x +"),
    }
    for name, chapter in texts.items():
        for ends, mark in (("\n", "lf"), ("\r\n", "crlf")):
            root = tmp_path / "class" / f"{name}-{mark}"
            workspace.init(root, small_course)
            script = course.open_root(root).lesson("numbers").script
            script.write_bytes(chapter.replace("\n", ends).encode("utf-8"))
    rows = {
        row["student"]: row
        for row in grade(small_course, tmp_path / "class")
        if row["lesson"] == "numbers"
    }
    for name in texts:
        unix, windows = (rows[f"{name}-{mark}"] for mark in ("lf", "crlf"))
        for key in ("verdict", "points", "checks"):
            assert windows[key] == unix[key], name
    assert rows["right-crlf"]["verdict"] == "passed" and rows["wrong-crlf"]["points"] < 5


def history(root):
    words = ("gradebook", "show", "--history", "--json")
    done = subprocess.run(
        [sys.executable, "-m", "tito", "--root", str(root.path), *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    return [(change["student"], change["lesson"]) for change in json.loads(done.stdout)]


@pytest.mark.slow
def test_every_learner_has_a_row_for_every_lesson(small_course, submissions):
    (submissions / "learner0" / "modules" / "source" / "02_sums" / "sums_dev.py").unlink()
    rows = grade(small_course, submissions)
    assert [(row["student"], row["lesson"]) for row in rows] == [
        (f"learner{n}", lesson) for n in range(8) for lesson in ("numbers", "sums")
    ]
    verdicts = [(row["verdict"], row["points"]) for row in rows]
    assert verdicts[:4] == [("stub", 0), ("missing", 0), ("passed", 5), ("passed", 3)]
    assert verdicts[4:] == [("stub", 0), ("stub", 0), ("passed", 5), ("passed", 3)] * 3


@pytest.mark.slow
def test_what_was_graded_is_not_graded_again(small_course, submissions):
    first = grade(small_course, submissions)
    assert len(history(small_course)) == 16
    assert grade(small_course, submissions) == first
    assert len(history(small_course)) == 16
    solve_from(small_course, course.open_root(submissions / "learner0").lesson("sums"))
    stub, passed = grade(small_course, submissions)[:2]
    assert (
        stub["verdict"],
        passed["verdict"],
        passed["base"],
        passed["checks"][0]["caused_by"],
    ) == ("stub", "passed", "reference", "numbers")
    assert len(history(small_course)) == 17


@pytest.mark.slow
def test_a_mended_check_is_graded_again_and_only_that_lesson(small_course, submissions):
    grade(small_course, submissions)
    path = small_course.lesson("sums").script.with_name("checks.py")
    path.write_text(
        path.read_text(encoding="utf-8").replace("assert total([]) == 0", "assert total([3]) == 6"),
        encoding="utf-8",
    )
    rows = grade(small_course, submissions)
    assert [row["points"] for row in rows if row["lesson"] == "sums"] == [0, 3] * 4
    assert sorted({lesson for _, lesson in history(small_course)[16:]}) == ["sums"]


@pytest.mark.slow
def test_learners_of_the_roster_who_handed_in_nothing_have_rows(
    small_course, submissions, tmp_path
):
    (tmp_path / "class.csv").write_text(
        "student,name\nlearner1,Ada Lovelace\nnobody,Nemo\n", encoding="utf-8"
    )
    commands.tito(small_course, "gradebook", "roster", tmp_path / "class.csv")
    rows = {(row["student"], row["lesson"]): row for row in grade(small_course, submissions)}
    assert (
        rows["nobody", "sums"]["verdict"],
        rows["nobody", "sums"]["points"],
        rows["nobody", "sums"]["name"],
    ) == ("missing", 0, "Nemo")
    assert rows["learner1", "sums"]["name"] == "Ada Lovelace"


def test_a_judge_that_dies_costs_one_attempt(small_course, submissions, monkeypatch):
    """The judge is killed in the middle of its first submission: that one is graded by the next
    judge.
    """
    answer, killed = workers.Worker._answer, []

    def kill_once(worker, until):
        if not killed:
            killed.append(worker.child.process.pid)
            worker.child.process.kill()
        return answer(worker, until)

    monkeypatch.setattr(workers.Worker, "_answer", kill_once)
    setting = Setting(small_course.path, ("numbers",), "process")
    with open_book(small_course) as book:
        _, progress = run.grade_class(setting, small_course.lessons, submissions, book)
    assert killed and (progress.graded, progress.failed) == (8, 0)
    assert progress.verdicts == {"stub": 4, "passed": 4}


@pytest.fixture
def dying(monkeypatch):
    """dying(*students): judges die over their submissions from now on; returns the list of those
    over whom they did.
    """
    real = workers.Worker.grade

    def dying(*students):
        died = []

        def grade(worker, arrival, known):
            if arrival.student in students:
                died.append(arrival.student)
                raise workers.JudgeDied("exit code -9")
            return real(worker, arrival, known)

        monkeypatch.setattr(workers.Worker, "grade", grade)
        return died

    return dying


@pytest.mark.slow
def test_a_submission_that_kills_every_judge_is_tried_twice_and_has_a_row(
    small_course, submissions, dying
):
    setting = Setting(small_course.path, ("numbers",), "process")
    with open_book(small_course) as book:

        def graded(**more):
            args = (setting, small_course.lessons, submissions, book)
            return run.grade_class(*args, run.RunOptions(jobs=2, **more))[1]

        died = dying("learner1", "learner4")
        assert graded().verdicts == {"stub": 3, "passed": 3, "crashed": 2}
        assert sorted(died) == ["learner1"] * 2 + ["learner4"] * 2
        ada = next(book.grades("learner1")).result
        assert "Grading ended 2 times without a result (exit code -9)" in ada.reason
        assert ada.key and not ada.points
        died = dying("learner1", "learner4")
        progress = graded()
        assert (progress.graded, progress.unchanged, progress.failed) == (0, 8, 0) and not died
        assert graded(regrade=True).failed == 2 and len(died) == 4
        entry = course.open_root(submissions / "learner4").lesson("numbers")
        solve_from(small_course, entry)
        dying()
        assert graded().verdicts == {"passed": 1}  # other bytes are tried again
        assert graded(regrade=True).verdicts == {"stub": 3, "passed": 5}
        died = dying("learner1")
        assert graded(regrade=True).failed == 1  # no result is lost over it
        assert next(book.grades("learner1")).result.verdict == "passed"
        assert graded().graded == 0 and len(died) == 2


@pytest.mark.slow
def test_after_a_judges_death_its_submission_is_tried_again_alone(
    small_course, submissions, dying, monkeypatch
):
    died = dying("learner0", "learner1")
    busy, grade = [], workers.Worker.grade

    def noted(worker, arrival, *more):
        busy.append(arrival.student)
        try:
            if busy.count(arrival.student) and len(died) >= 2:
                alone.append(list(busy))
            return grade(worker, arrival, *more)
        finally:
            busy.remove(arrival.student)

    alone = []
    monkeypatch.setattr(workers.Worker, "grade", noted)
    setting = Setting(small_course.path, ("numbers",), "process")
    with open_book(small_course) as book:
        run.grade_class(setting, small_course.lessons, submissions, book, JOBS)
    assert [one for one in alone if one[-1] in ("learner0", "learner1")][-2:] in (
        [["learner0"], ["learner1"]],
        [["learner1"], ["learner0"]],
    )


KILLS_THE_RUN = """
import os, signal, sys
from tito.cli import run as cli
from tito.errors import TitoError
from tito.grading import workers
real, tried = workers.Worker.grade, sys.argv.pop()
def grade(worker, arrival, *more):
    with open(tried, "a") as file:
        file.write(arrival.student + "\\n")
    if arrival.student == "learner2":
        os.kill(os.getpid(), signal.SIGKILL)
    return real(worker, arrival, *more)
workers.Worker.grade = grade
cli.run()
"""


@pytest.mark.slow
@LINUX
def test_who_is_alone_when_runs_are_killed_loses_nothing(small_course, submissions, tmp_path):
    """A power cut, say: the others are graded, and this one is named and tried again each time."""
    tried = tmp_path / "tried"
    line = command(small_course, submissions)
    line[1:3] = ["-c", KILLS_THE_RUN.replace("\\\\", "\\")]
    for number in range(4):
        done = subprocess.run([*line, str(tried)], capture_output=True, text=True, timeout=120)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert ("was ended while it graded" in done.stderr) == (number > 0)
    assert tried.read_text().split()[-3:] == ["learner2"] * 3, "the others are graded already"
    rows = grade(small_course, submissions)
    assert [row["verdict"] for row in rows] == ["stub", "stub", "passed", "passed"] * 4


WAITS_AFTER_THREE = """
import pathlib, sys, time
from tito.cli import run as cli
from tito.grading import workers
real, tried = workers.Worker.grade, pathlib.Path(sys.argv.pop())
def grade(worker, arrival, *more):
    with open(tried, "a") as file:
        file.write(arrival.student + "\\n")
    while len(tried.read_text().split()) > 3:
        time.sleep(0.01)
    return real(worker, arrival, *more)
workers.Worker.grade = grade
cli.run()
"""


@pytest.mark.slow
@LINUX
@pytest.mark.parametrize("database", ["a file", "PostgreSQL"])
def test_a_second_run_is_refused_and_completes_the_gradebook_when_the_first_was_killed(
    small_course, submissions, tmp_path, request, database
):
    where = tmp_path / "book.db"
    if database == "PostgreSQL":
        where = request.getfixturevalue("postgres")()
    words = ("--jobs", 1, "--isolation", "process")
    line = command(small_course, submissions, *words, book=where)
    tried = tmp_path / "tried"
    first = subprocess.Popen([*line[:1], "-c", WAITS_AFTER_THREE, *line[3:], str(tried)])
    wait_for(lambda: tried.exists() and len(tried.read_text().split()) > 3, 60)
    refused = subprocess.run(line, capture_output=True, text=True, timeout=60)
    kill(first.pid)
    first.wait()
    assert refused.returncode == 2
    assert f"is grading into this gradebook already: process {first.pid} on " in refused.stderr
    rows = grade(small_course, submissions, *words, book=where)
    assert [row["verdict"] for row in rows] == ["stub", "stub", "passed", "passed"] * 4
    with gradebook.open_gradebook(where) as book:
        changes = [(change.student, change.lesson) for change in book.history()]
        assert len(changes) == len(set(changes)) == 16, "each was kept once"


@pytest.mark.slow
@LINUX
def test_what_a_killed_run_had_begun_is_graded_last_and_alone(
    small_course, submissions, monkeypatch
):
    setting = Setting(small_course.path, ("numbers",), "process")
    numbers = [small_course.lesson("numbers")]
    course_now = settings.course_hash(numbers, small_course.lessons)
    decisive = settings.decisive_hash(setting, course_now)
    learners = collect.find_submissions(submissions, small_course.lessons)
    order, grade = [], workers.Worker.grade

    def noted(worker, submission, *more):
        order.append(submission.student)
        return grade(worker, submission, *more)

    monkeypatch.setattr(workers.Worker, "grade", noted)
    with open_book(small_course) as book:
        with run_lock.hold(book, "ta1") as lock:
            works = [(one.student, run.work_hash(one, decisive)) for one in learners[:2]]
            lock.keep(dict.fromkeys(works, 1))
        _, progress = run.grade_class(setting, small_course.lessons, submissions, book, JOBS)
        assert progress.graded == 8 and order[-2:] == ["learner0", "learner1"]
        with run_lock.hold(book, "ta2") as lock:
            assert lock.begun == {}


@pytest.mark.slow
def test_when_nothing_is_to_be_done_no_judge_is_asked(small_course, submissions, monkeypatch):
    setting = Setting(small_course.path, ("numbers", "sums"), "process")
    with open_book(small_course) as book:
        run.grade_class(setting, small_course.lessons, submissions, book, JOBS)
        monkeypatch.delattr(workers.Worker, "grade")
        _, progress = run.grade_class(setting, small_course.lessons, submissions, book, JOBS)
        assert (progress.graded, progress.unchanged, progress.failed) == (0, 8, 0)
        given = progress.files["learner1", "sums"]
        options = run.RunOptions(submitted=Submitted(time=MONDAY))  # only the arrival is new
        run.grade_class(setting, small_course.lessons, submissions, book, options)
        ada = {grade.lesson: grade for grade in book.grades("learner1")}
        assert {grade.lateness.arrived for grade in ada.values()} == {MONDAY}
        assert ada["sums"].lateness.how == "--submitted" and ada["sums"].result.sha256 == given


@pytest.mark.slow
def test_what_ended_is_graded_again_where_the_book_lost_its_results(small_course, submissions):
    setting = Setting(small_course.path, ("numbers",), "process")
    with open_book(small_course) as book:
        run.grade_class(setting, small_course.lessons, submissions, book, JOBS)
        result = next(book.grades_of(["learner1"], ["numbers"])).result
        other = dataclasses.replace(result, key="other checks", points=1)
        save(book, [other], None, "me")  # of the same file: it takes the first one's place
        _, progress = run.grade_class(setting, small_course.lessons, submissions, book, JOBS)
        assert (progress.graded, progress.unchanged) == (1, 7)
        assert [grade.points for grade in book.grades("learner1")] == [result.points]


def open_book(root):
    from tito.grading.gradebook import gradebook

    return gradebook.open_gradebook(root.path / "book.db")


def test_a_worker_elsewhere_needs_the_same_course_and_the_submissions(small_course, submissions):
    setting = Setting(small_course.path, ("numbers",), "process")
    course_now = settings.course_hash([small_course.lesson("numbers")], small_course.lessons)
    (arrival, *_) = collect.find_submissions(submissions, small_course.lessons)
    workers.check_machine(setting, course_now, arrival)
    shutil.rmtree(submissions / "learner0")
    with pytest.raises(TitoError, match="does not see .*learner0"):
        workers.check_machine(setting, course_now, arrival)
    with pytest.raises(TitoError, match="or another version of it or of tito"):
        workers.grade_one(setting, "other", "home 1 2", arrival, {})
    nowhere = dataclasses.replace(setting, root=small_course.path / "nowhere")
    with pytest.raises(TitoError, match="has no course at .*nowhere"):
        workers.check_machine(nowhere, course_now, arrival)


def test_a_submission_that_kills_workers_is_distinguished_from_a_cluster_that_stopped():
    class KilledWorker(Exception):
        pass

    future = Future()
    future.set_exception(KilledWorker("3 workers"))
    assert str(workers.outcome_of(future)) == "it ended the worker that graded it"
    future = Future()
    future.cancel()
    future.set_running_or_notify_cancel()
    with pytest.raises(TitoError, match="The workers are gone: CancelledError"):
        workers.outcome_of(future)


def test_a_worker_that_outlives_a_run_reads_the_course_anew(small_course, submissions):
    some, setting = workers.Workers(), Setting(small_course.path, ("numbers",), "process")
    first = some.of_this_thread(setting, "a")
    assert some.of_this_thread(setting, "a") is first
    second = some.of_this_thread(setting, "b")
    assert second is not first and some.all == [second]


def test_a_thread_that_comes_late_starts_no_judge_when_a_run_has_stopped(small_course, submissions):
    some, setting = workers.Workers(), Setting(small_course.path, ("numbers",), "process")
    worker = some.of_this_thread(setting, "a")
    some.close(stopping=True)
    arrival = collect.find_submissions(submissions, small_course.lessons)[1]
    try:
        with pytest.raises(workers.JudgeDied, match="stopped"):
            worker.grade(arrival, {})
        with pytest.raises(workers.JudgeDied, match="stopped"):
            some.of_this_thread(setting, "a")
    finally:
        worker.close()
    assert worker.child is None and some.all == []


def test_the_judge_that_finds_the_level_is_the_first_to_grade(small_course, submissions):
    some, setting = workers.Workers(), Setting(small_course.path, ("numbers",), "process")
    try:
        some.begin(setting)
        assert some.first.level() == "process"
        begun = some.first.child.process
        first = some.of_this_thread(setting, "a")
        assert (first.child.process, first.course, some.first, some.all) == (
            begun,
            "a",
            None,
            [first],
        )
        arrival = collect.find_submissions(submissions, small_course.lessons)[1]
        (result,) = first.grade(arrival, {})
        assert (result.verdict, result.points, result.isolation) == ("passed", 5, "process")
        with ThreadPoolExecutor(1) as pool:
            second = pool.submit(some.of_this_thread, setting, "a").result()
        assert second is not first and some.all == [first, second]
    finally:
        some.close()
    assert begun.returncode == 0, "it ends by itself when it hears nothing more"


@pytest.mark.slow
def test_a_judge_on_a_busy_machine_is_left_the_time_to_end_its_jail(small_course):
    some = workers.Workers()
    try:
        some.begin(Setting(small_course.path, ("numbers",), "process"))
        assert some.first.level() == "process"
        begun = some.first.child.process
        begun.send_signal(signal.SIGSTOP)
        threading.Timer(1, begun.send_signal, [signal.SIGCONT]).start()
    finally:
        some.close()
    assert begun.returncode == 0


def test_a_level_that_does_not_work_is_reported_by_the_judge_that_tried(small_course):
    some = workers.Workers()
    try:
        some.begin(Setting(small_course.path, ("numbers",), "fortress"))
        with pytest.raises(TitoError, match="no isolation level 'fortress'") as caught:
            some.first.level()
        assert caught.value.remedy.startswith("There are: bubblewrap")
    finally:
        some.close()


def test_a_judge_that_does_not_start_is_reported(small_course, monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    some = workers.Workers()
    some.begin(Setting(small_course.path, ("numbers",), "process"))
    with pytest.raises(TitoError, match="did not start: exit code 1") as caught:
        some.first.level()
    assert caught.value.code == 3
    some.close()


@pytest.mark.slow
def test_jobs_that_are_neither_a_number_nor_an_address_are_refused(small_course, submissions):
    done = subprocess.run(
        command(small_course, submissions, "--jobs", "many"),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "is neither a number of workers nor an address" in done.stderr


@pytest.mark.parametrize("address", ["tls://127.0.0.1:1", "tcp://127.0.0.1:x", "foo://x"])
def test_an_address_that_dask_cannot_use_is_a_sentence(address):
    pytest.importorskip("distributed", reason="Dask is not installed here")
    with pytest.raises(TitoError, match="no Dask scheduler at"), workers.executor(address):
        pass


@pytest.mark.slow
@LINUX
def test_ctrl_c_keeps_what_is_graded_and_leaves_nothing_running(small_course, submissions, orphans):
    undisturbed = grade(small_course, submissions, book=small_course.path / "other.db")
    process = subprocess.Popen(
        command(small_course, submissions),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # what a shell starts in the background ignores Ctrl-C, and so would this
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for(lambda: jails(process.pid))  # tito has imported what it needs by now
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    # A shell says 130 for both: Python ends itself by the signal when it met the signal inside code
    # that `exec` runs, such as a dataclass that is being made.
    assert process.returncode in (130, -signal.SIGINT)
    assert b"Traceback" not in said
    assert orphans() == []
    assert grade(small_course, submissions) == undisturbed


@pytest.mark.slow
@LINUX
@pytest.mark.parametrize("whom", ["the run", "a judge", "a jail"])
def test_killed_at_a_random_moment_a_second_run_completes_the_gradebook(
    small_course, submissions, tmp_path, orphans, whom
):
    undisturbed = grade(small_course, submissions, book=tmp_path / "undisturbed.db")
    files = everything_below(small_course.path.parent)
    chance = random.Random(whom)
    for number in range(KILLS):
        book = tmp_path / f"{number}.db"
        process = subprocess.Popen(
            command(small_course, submissions, book=book),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        wait_for(lambda: judges(process.pid) or process.poll() is not None)
        time.sleep(chance.random() * 1.2)
        for pid in {
            "the run": lambda: [process.pid],
            "a judge": lambda: judges(process.pid)[:1],
            "a jail": lambda: jails(process.pid)[:1],
        }[whom]():
            kill(pid)
        process.communicate(timeout=60)
        assert orphans() == []
        rows = grade(small_course, submissions, book=book)
        assert rows == undisturbed
        words = ("--gradebook", book, "gradebook", "show", "--history", "--json")
        changes = json.loads(commands.tito(small_course, *words)[0])
        graded = [(change["student"], change["lesson"]) for change in changes]
        assert len(graded) == len(set(graded)) == 16  # nothing twice
        for path in (book, book.with_name(f"{book.name}.lock")):
            path.unlink()
        assert everything_below(small_course.path.parent) - files == set()


def everything_below(folder):
    return {
        path
        for path in folder.rglob("*")
        if path.name != "undisturbed.db" and "__pycache__" not in path.parts
    }


def wait_for(what, seconds=30):
    until = time.monotonic() + seconds
    while not what() and time.monotonic() < until:
        time.sleep(0.01)
    assert what()


def judges(pid):
    return [child for child, line in children(pid) if b"tito.grading.judge_process" in line]


def jails(pid):
    return [child for child, line in children(pid) if b"jailed_server.py" in line]


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it was faster


@pytest.fixture
def orphans():
    """A function that waits for what outlived its parents, and returns those that are still there
    after 5 seconds.
    """
    PR_SET_CHILD_SUBREAPER = 36
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what loses its parent becomes our child
    before = {pid for pid, _ in children(os.getpid())}

    def left():
        until = time.monotonic() + 5
        while (
            found := [(pid, line) for pid, line in children(os.getpid()) if pid not in before]
        ) and time.monotonic() < until:
            for pid, _ in found:
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass  # not ours, but a child's child
            time.sleep(0.01)
        return found

    yield left
    libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@pytest.mark.slow
def test_a_folder_in_which_nothing_was_handed_in_is_reported(small_course, tmp_path):
    listed = tmp_path / "class.csv"
    listed.write_text("student\nada\n", encoding="utf-8")
    (tmp_path / "wrong").mkdir()
    commands.tito(small_course, "gradebook", "roster", listed)
    words = ("grade", tmp_path / "wrong", "numbers")
    for _ in range(2):
        _, err = commands.tito(small_course, *words)
        assert "wrong contains no submission" in " ".join(err.split())


@pytest.mark.slow
def test_a_class_is_graded_by_the_roster_of_the_book_piece_by_piece(
    small_course, submissions, tmp_path
):
    """Canvas's list and names; strangers wait; a section; a piece gives no row to the others."""
    listed = tmp_path / "canvas.csv"
    lines = [f'"Learner{n}, X",{500 + n},s-{n},learner{n},{"AB"[n % 2]}' for n in range(4)]
    header = "Student,ID,SIS User ID,SIS Login ID,Section\n    Points Possible,,,,\n"
    listed.write_text(header + "\n".join(lines), encoding="utf-8")
    (submissions / "learner3").rename(submissions / "xlearner3_LATE_503_9_work")
    commands.tito(small_course, "gradebook", "roster", str(listed))
    rows = grade(small_course, submissions, "--section", "A")
    assert {row["student"] for row in rows} == {"learner0", "learner2"}
    rows = grade(small_course, submissions)
    assert {row["student"] for row in rows} == {f"learner{n}" for n in range(8)}
    out, err = commands.tito(small_course, "gradebook", "export")
    assert "learner3" in out and "learner4" not in out
    assert "in no roster (4): learner4, learner5, learner6, learner7" in " ".join(err.split())
    listed.write_text(header + "\n".join([*lines, '"Five, L",505,s-5,learner5,A']), "utf-8")
    commands.tito(small_course, "gradebook", "roster", str(listed))
    assert "learner5" in commands.tito(small_course, "gradebook", "export")[0]
