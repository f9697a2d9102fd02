"""How long a class takes to grade, against graders that people know: python benchmarks/grading.py

    [--runs N] [--class-size N] [--peer-size N] [--growth N ...] [--against nbgrader otter]
    [--environments DIR] [--course DIR] [--quick] [--json]

python benchmarks/grading.py --large 10000        only a large class, once
python benchmarks/grading.py --gradebook 2000     only the gradebook of a large class

    class    a class of 200 that solved six NumPy exercises with twelve checks, in notebooks:
             `tito grade` with one worker and with two, nbgrader's autograde, and `otter run`, in
             turn (A B C D A B C D ...). The peers are slow, so they get the first 10 submissions
             of the class; what tito needs for the same 10, its start included, stands beside it
    growth   `tito grade` with one worker and with two for classes of 50 to 1,000: a line through
             the times, the memory, in as many turns
    lessons  the lessons of this course, right solutions, one worker, with the CPU time of the judge
             and of the jail: there is no peer for these
    large    a class of so many small submissions, six functions in 12 lines, with two workers: the
             rate and the memory in each tenth of the way
    gradebook  a gradebook of so many learners with 20 lessons of this course, every check, a fourth
             of them handed in twice: CPU seconds of `show`, of exports, and of the page's lists

Each peer is installed by pip into an environment of its own, in a temporary folder or, to have it
again, in --environments. One that cannot be installed is said and left out. nbgrader gets our
lesson as its source notebook, generates and releases the assignment, and grades all submissions in
one run, one after the other; otter gets the same checks as its tests and starts once for each
submission, as it does without Docker. Both run the checks in the learner's process; tito does not.

Before a time counts, its points are compared: tito's with what the class was made to get, a peer's
with tito's. If they differ, the program stops with 1. "per worker" is seconds x workers /
submissions; a rate is its inverse; what counts is the median of the ratios within each turn. CPU
time is that of every process that was started, to its end; memory is the most that all of them held
together, each shared page counted once where the system tells, looked up every second. Linux only.
"""

import argparse
import contextlib
import csv
import ctypes
import json
import os
import random
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path

from tito.author import nbgrader as sources
from tito.grading.gradebook.changes import apply_changes
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.gradebook.requested_changes import RequestedChange
from tito.grading.gradebook.result_store import Saving
from tito.grading.intake.collect import find_submissions
from tito.grading.jail.modules import checks_hash
from tito.grading.judge_process import SubmissionJudge
from tito.grading.page.class_list import ClassList
from tito.grading.result import Answer, LessonResult, blank
from tito.grading.setting import Setting
from tito.lesson import cells, course

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "tests" / "tito"))
import sample_class as sample  # noqa: E402

PEERS = {
    "nbgrader": ["nbgrader", "ipykernel", "numpy"],
    "otter": ["otter-grader", "ipykernel", "numpy"],
}
KINDS = ["right", "partly right", "mistake", "right", "partly right", "stub"]
GOAL = 20  # times nbgrader's rate, per worker
PATIENCE = 3600  # seconds until a program is given up
LAST = 20  # seconds in which all that a program started must have ended after it
# seconds between two looks at the memory, in the end;
# four a second took a twentieth of a core from what is measured
EVERY = 1
SUBREAPER = 36  # linux/prctl.h
SAVED = 100  # learners whose results are saved one by one
LEARNER = "handed in by LEARNER"  # stands in each notebook, so that no two are the same

FACTS = """\
title = "Arrays"
summary = "Six functions on arrays."
difficulty = 1
hours = 1
prerequisites = []
enables = []
terms = []
"""
BEGINNING = """\
# %% [markdown]
# # 01. Arrays

# %%
#| default_exp core.arrays

# %%
#| export
import numpy as np
"""
EXERCISE = """
# %% [markdown]
# **Task.** Write `{name}`.

# %% exercise="{id}"
#| export
{head}
    ### BEGIN SOLUTION
{body}
    ### END SOLUTION
"""
CHECKS_CELL = """
# %% checks="{id}"
check("{id}")
"""
# Each exercise: its head, its solution, two checks, and
# (a part of the solution, what some write instead, what the check then says).
EXERCISES = [
    (
        '''def standardize(x):
    """Each column of `x`, shape (rows, columns), with mean 0 and standard deviation 1;
    a constant column becomes 0.
    """''',
        """    spread = x.std(axis=0)
    return (x - x.mean(axis=0)) / np.where(spread == 0, 1, spread)""",
        """def test_each_column_has_mean_0_and_spread_1():
    x = standardize(np.random.default_rng(0).normal(3, [1, 5, 0.2], (40, 3)))
    assert np.allclose(x.mean(axis=0), 0), (
        f"the means of the columns should be 0, yours are {x.mean(axis=0)}"
    )
    assert np.allclose(x.std(axis=0), 1), (
        f"the deviations of the columns should be 1, yours are {x.std(axis=0)}"
    )""",
        """def test_a_constant_column_becomes_0():
    x = standardize(np.array([[1.0, 7.0], [3.0, 7.0]]))
    assert np.array_equal(x, [[-1, 0], [1, 0]]), (
        f"[[1, 7], [3, 7]] becomes [[-1, 0], [1, 0]], yours is {x}"
    )""",
        ("np.where(spread == 0, 1, spread)", "spread", "becomes"),
    ),
    (
        '''def softmax(scores):
    """Probabilities from scores, shape (..., classes): each row is positive and sums to 1.
    Scores of 1000 must work.
    """''',
        """    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)""",
        """def test_rows_sum_to_1_in_the_order_of_the_scores():
    p = softmax(np.array([[0.0, np.log(3.0)], [2.0, 2.0]]))
    assert np.allclose(p, [[0.25, 0.75], [0.5, 0.5]]), (
        f"this should be [[0.25, 0.75], [0.5, 0.5]], yours is {p}"
    )""",
        """def test_large_scores_do_not_overflow():
    p = softmax(np.array([1000.0, 1000.0, 0.0]))
    assert np.allclose(p, [0.5, 0.5, 0]), (
        f"this should be [0.5, 0.5, 0], yours is {p}: subtract the largest score first"
    )""",
        ("scores - scores.max(axis=-1, keepdims=True)", "scores", "subtract the largest"),
    ),
    (
        '''def one_hot(labels, classes):
    """For each label, a whole number below `classes`, a row of `classes` numbers:
    1 at the label, else 0.
    """''',
        """    rows = np.zeros((len(labels), classes))
    rows[np.arange(len(labels)), labels] = 1
    return rows""",
        '''def test_each_row_has_its_1_at_the_label():
    rows = one_hot(np.array([2, 0, 1]), 4)
    assert np.array_equal(rows, [[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]]), f"yours is {rows}"''',
        """def test_no_labels_make_no_rows():
    rows = one_hot(np.array([], dtype=int), 3)
    assert rows.shape == (0, 3), (
        f"no labels of 3 classes have shape (0, 3), yours is {rows.shape}"
    )""",
        ("rows[np.arange(len(labels)), labels] = 1", "rows[:, labels] = 1", "yours is"),
    ),
    (
        '''def distances(a, b):
    """The distance of each point in `a`, shape (n, axes), from each in `b`, shape (m, axes):
    an array of shape (n, m).
    """''',
        """    return np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=-1))""",
        '''def test_every_pair_has_its_distance():
    d = distances(
        np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 1.0], [3.0, 0.0], [-3.0, -4.0]])
    )
    wanted = [[1, 3, 5], [np.sqrt(18), 4, 10]]
    assert np.allclose(d, wanted), f"the distances are {wanted}, yours are {d}"''',
        """def test_a_point_is_0_from_itself():
    a = np.random.default_rng(1).normal(size=(5, 3))
    d = distances(a, a)
    assert d.shape == (5, 5) and np.allclose(np.diag(d), 0) and np.allclose(d, d.T), (
        f"yours is {d}"
    )""",
        ("a[:, None, :] - b[None, :, :]", "a[None, :, :] - b[:, None, :]", "the distances are"),
    ),
    (
        '''def moving_average(x, width):
    """The means of every `width` neighbours in `x`, shape (n,): n - width + 1 numbers."""''',
        """    return np.lib.stride_tricks.sliding_window_view(x, width).mean(axis=-1)""",
        """def test_neighbours_are_averaged():
    out = moving_average(np.array([1.0, 2.0, 6.0, 4.0]), 2)
    assert np.allclose(out, [1.5, 4, 5]), (
        f"pairs of [1, 2, 6, 4] have the means [1.5, 4, 5], yours are {out}"
    )""",
        '''def test_the_whole_is_one_window():
    out = moving_average(np.array([1.0, 2.0, 6.0]), 3)
    assert np.allclose(out, [3]), f"[1, 2, 6] has the mean [3], yours is {out}"''',
        (".mean(axis=-1)", ".sum(axis=-1)", "pairs of"),
    ),
    (
        '''def confusion(truth, guess, classes):
    """How often each class was taken for each: counts, shape (classes, classes),
    a row for each true class.
    """''',
        """    counts = np.zeros((classes, classes), dtype=int)
    np.add.at(counts, (truth, guess), 1)
    return counts""",
        '''def test_counts_stand_in_the_row_of_the_true_class():
    counts = confusion(np.array([0, 0, 1, 2, 2, 2]), np.array([0, 1, 1, 0, 2, 2]), 3)
    assert np.array_equal(counts, [[1, 1, 0], [0, 1, 0], [1, 0, 2]]), f"yours is {counts}"''',
        '''def test_every_guess_is_counted():
    random = np.random.default_rng(2)
    counts = confusion(random.integers(0, 4, 500), random.integers(0, 4, 500), 4)
    assert counts.sum() == 500, f"500 guesses were made, you counted {counts.sum()}"''',
        ("np.add.at(counts, (truth, guess), 1)", "counts[truth, guess] += 1", "yours is"),
    ),
]


class Failed(Exception):
    """A contestant could not be installed, or did not grade."""


# The exercises, and a class that hands them in.


def lesson_texts():
    """(the chapter, its checks.py)"""
    chapter, checks = [BEGINNING], ["# %% setup\nimport numpy as np\n"]
    for head, body, one, two, _ in EXERCISES:
        name = head.removeprefix("def ").partition("(")[0]
        place = name.replace("_", "-")
        chapter += [
            EXERCISE.format(name=name, id=place, head=head, body=body),
            CHECKS_CELL.format(id=place),
        ]
        checks.append(
            f"\n\n# %% {place} points=1\n{one}\n\n\n# %% {place} hidden points=1\n{two}\n"
        )
    return "".join(chapter), "".join(checks)


def make_course(folder):
    """A course of that one lesson."""
    path = folder / "modules" / "source" / "01_arrays" / "arrays_dev.py"
    mistakes = []
    for head, body, _, _, (old, new, message) in EXERCISES:
        place = head.removeprefix("def ").partition("(")[0].replace("_", "-")
        code = textwrap.dedent(body.replace(old, new))
        mistakes += [f"# %% {place} mistake: Seen in classes: {place}.", f"#> {message}", code, ""]
    chapter, checks = lesson_texts()
    for name, text in {
        path: chapter,
        path.with_name("lesson.toml"): FACTS,
        path.with_name("checks.py"): checks,
        path.with_name("mistakes.py"): "\n".join(mistakes),
        folder / "tito.toml": '[course]\nname = "Arrays"\nedition = "1"\npackage = "tinytorch"\n',
        folder / "tinytorch" / "__init__.py": "",
        folder / "tinytorch" / "core" / "__init__.py": "",
    }.items():
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_text(text, encoding="utf-8")
    return course.open_root(folder)


@dataclass
class Learner:
    """One of the class: `book`, the notebook (text) that they hand in, and what it should get."""

    student: str
    book: str
    kind: str
    lessons: dict


def make_class(root, size):
    """`size` Learners, with notebooks of the same few kinds, no two the same."""
    sheets = [sample.Sheets(entry) for entry in root.lessons]
    books, found = {}, []
    for number, work in enumerate(sample.works(sheets, size, random.Random(0), KINDS), 1):
        (text,) = work.files.values()
        if text not in books:
            books[text] = handed_in(root.lessons[0].declared, text)
        student = f"learner{number:04}"
        lessons = {
            name: dict(zip(("least", "most", "verdicts"), wanted))
            for name, wanted in work.expected.items()
        }
        found.append(
            Learner(
                student, books[text].replace(LEARNER, f"handed in by {student}"), work.kind, lessons
            )
        )
    return found


def handed_in(lesson, text):
    """The notebook of a learner whose script has this text,
    with the cells of checks that nbgrader gave out.
    """
    book = json.loads(sources.source_notebook(lesson))
    written = cells.parse(lesson.path, text)
    for cell in book["cells"]:
        if exercise := cell["metadata"].get("exercise"):
            cell["source"] = written.cell(exercise).source
        elif "".join(cell["source"]).startswith("### BEGIN HIDDEN"):
            cell["source"] = ""
    own = {"cell_type": "code", "execution_count": None, "id": "own", "metadata": {}, "outputs": []}
    book["cells"].append(own | {"source": f"# {LEARNER}"})
    return json.dumps(book)


def hand_in(learners, folder):
    for learner in learners:
        path = folder / learner.student / "arrays_dev.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(learner.book, encoding="utf-8")
    return folder


# Measuring a program and every process that it starts, and that those start.


@dataclass
class Cost:
    """Of one run: wall and CPU seconds, the most bytes held at once."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0

    def add(self, other):
        self.seconds, self.cpu_seconds = (
            self.seconds + other.seconds,
            self.cpu_seconds + other.cpu_seconds,
        )
        self.peak_bytes = max(self.peak_bytes, other.peak_bytes)
        return self


def run(command, folder, environment):
    """(output, Cost) of a program that ends well and leaves nothing running.
    Raises Failed, with its last words, for any other.
    """
    before, there = resource.getrusage(resource.RUSAGE_CHILDREN), below(os.getpid())
    called = " ".join(map(str, command[1:5]))
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, Memory() as memory:
        began = time.perf_counter()
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
        )
        try:
            code = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        seconds = time.perf_counter() - began
        reap(called, there)
        said, complained = (
            file.seek(0) or file.read().decode("utf-8", "replace") for file in (out, errors)
        )
    if code:
        raise Failed(f"{called} ended with {code}: {' '.join((said + complained).split())[-400:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return said, Cost(
        seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, memory.peak
    )


def reap(called, there):
    """Wait for what outlived its own parent and came to us, see adopt(): only then is its time
    counted. there: processes that ran before
    """
    until = time.monotonic() + LAST
    while left := below(os.getpid()) - there:
        if time.monotonic() > until:
            raise Failed(f"{called} left processes that still run after {LAST} s: {sorted(left)}")
        for pid in left:
            with contextlib.suppress(ChildProcessError):  # its parent is not we, or not yet
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)


def adopt():
    """Become the parent of processes whose own one ends, so that their time is counted here."""
    if ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0):
        raise SystemExit(
            "this system does not let a program count the time of its children's children"
        )


class Memory:
    """Looks, while it is open, at what all processes below this one hold together."""

    def __init__(self):
        self.peak, self.stop = 0, threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.stop.set()
        self.thread.join()

    def watch(self):
        pause = 0.05  # of a short run, too, something should be seen
        while True:
            self.peak = max(self.peak, sum(map(held, below(os.getpid()))))
            if self.stop.wait(pause):
                break
            pause = min(EVERY, 1.5 * pause)


def below(pid):
    """The processes below `pid`."""
    parent = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
            parent[int(path.parent.name)] = int(
                path.read_text(errors="replace").rpartition(")")[2].split()[1]
            )
    found, new = set(), {pid}
    while new:
        new = {child for child, its in parent.items() if its in new} - found
        found |= new
    return found


def held(pid):
    """Bytes that a process holds: its share of what it shares, or, where that may not be read,
    all it has in memory.
    """
    for name, read in (
        ("smaps_rollup", lambda text: int(text.split("\nPss:")[1].split()[0]) * 1024),
        ("statm", lambda text: int(text.split()[1]) * resource.getpagesize()),
    ):
        with contextlib.suppress(OSError, ValueError, IndexError):
            return read(Path("/proc", str(pid), name).read_text())
    return 0


# The contestants: each makes ready once, then grades a class in a new folder
# and gives {student: points} and the Cost.


class Tito:
    """`tito grade` with so many workers, at the strongest isolation level that works here."""

    def __init__(self, root, workers, environment):
        self.name, self.workers = f"tito, {workers} worker{'s' * (workers > 1)}", workers
        self.root, self.environment = root, environment
        self.level = ""

    def grade(self, learners, folder):
        submissions = hand_in(learners, folder / "submissions")
        said, cost = run(
            [
                sys.executable,
                "-m",
                "tito",
                "--root",
                self.root.path,
                "--gradebook",
                folder / "grades.db",
                "grade",
                submissions,
                "--all",
                "--jobs",
                self.workers,
                "--json",
            ],
            folder,
            self.environment,
        )
        rows = json.loads(said)
        wanted = {
            (one.student, name): one.lessons[name] for one in learners for name in one.lessons
        }
        if {(row["student"], row["lesson"]) for row in rows} != wanted.keys():
            raise SystemExit(f"{self.name} did not grade the learners and lessons of the class")
        for row in rows:
            lesson, points = wanted[row["student"], row["lesson"]], row["graded_points"]
            least, most, verdicts = lesson["least"], lesson["most"], lesson["verdicts"]
            if not least <= points <= most or row["verdict"] not in verdicts:
                raise SystemExit(
                    f"{self.name} graded {row['student']} otherwise than the class was made to be "
                    f"graded: {points} points, expected {least} to {most}; {row['verdict']}"
                )
        self.level = next(row["isolation"] for row in rows)
        return {row["student"]: row["points"] for row in rows}, cost


class Peer:
    """A grader in an environment of its own. Raises Failed when pip cannot bring it."""

    workers = 1

    def __init__(self, root, folder, environments, environment):
        self.python = environments / self.name / "bin" / "python"
        self.environment = environment | {
            "PATH": f"{self.python.parent}{os.pathsep}{environment['PATH']}"
        }
        self.environment |= {
            f"{name}_DIR": str(folder / name)
            for name in ("JUPYTER_CONFIG", "JUPYTER_DATA", "JUPYTER_RUNTIME")
        }
        self.environment |= {"IPYTHONDIR": str(folder / "ipython"), "MPLBACKEND": "agg"}
        if not self.python.exists():
            install(environments / self.name, self.python, PEERS[self.name])
        self.version = run(
            [
                self.python,
                "-c",
                f"from importlib.metadata import version; print(version({PEERS[self.name][0]!r}))",
            ],
            folder,
            self.environment,
        )[0].strip()
        self.root, self.ready = root, folder
        self.make_ready()


def install(folder, python, packages):
    """Make an environment with these packages, or none, with all that pip finds
    in this program's own environment variables.
    """
    try:
        for command in (
            [sys.executable, "-m", "venv", folder],
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
        ):
            done = subprocess.run(
                [str(word) for word in command],
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
            )
            if done.returncode:
                raise Failed(" ".join((done.stdout + done.stderr).split())[-300:])
    except BaseException:
        shutil.rmtree(
            folder, ignore_errors=True
        )  # half an environment would be taken for a whole one the next time
        raise


class Nbgrader(Peer):
    """Our lesson as its source notebook; generate_assignment once,
    then autograde of a copy with the submissions.
    """

    name = "nbgrader"

    def make_ready(self):
        path = self.ready / "course" / "source" / "ps" / "arrays.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(sources.source_notebook(self.root.lessons[0].declared), encoding="utf-8")
        self.configure(self.ready / "course")
        run(
            [self.python, "-m", "nbgrader", "generate_assignment", "ps"],
            self.ready / "course",
            self.environment,
        )
        released = (self.ready / "course" / "release" / "ps" / "arrays.ipynb").read_text(
            encoding="utf-8"
        )
        if "NotImplementedError" not in released or "BEGIN SOLUTION" in released:
            raise Failed("its release of the lesson is not as one would hand it out")

    @staticmethod
    def configure(folder):
        (folder / "nbgrader_config.py").write_text(
            "c = get_config()\n"
            "c.CourseDirectory.course_id = 'arrays'\n"
            f"c.CourseDirectory.root = {str(folder)!r}\n",
            encoding="utf-8",
        )

    def grade(self, learners, folder):
        here = folder / "course"
        shutil.copytree(self.ready / "course", here)
        self.configure(here)
        for learner in learners:
            path = here / "submitted" / learner.student / "ps" / "arrays.ipynb"
            path.parent.mkdir(parents=True)
            path.write_text(learner.book, encoding="utf-8")
        _, cost = run([self.python, "-m", "nbgrader", "autograde", "ps"], here, self.environment)
        run([self.python, "-m", "nbgrader", "export", "--to", "grades.csv"], here, self.environment)
        with open(here / "grades.csv", encoding="utf-8", newline="") as file:
            return {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}, cost


class Otter(Peer):
    """The same checks as its tests, one file each, in an autograder zip;
    one `otter run` for each submission.
    """

    name = "otter"

    def make_ready(self):
        tests = self.ready / "tests"
        tests.mkdir(parents=True)
        for check in self.root.lessons[0].declared.checks:
            lines = check.cell.source.split("\n")
            code = "\n".join(
                f"{'...' if line.startswith((' ', ')')) or not line else '>>>'} {line}".rstrip()
                for line in [*lines, f"{check.function}()"]
                if line.strip()
            )
            case = {"code": code, "hidden": False, "locked": False}
            test = {
                "name": check.id.split(".")[0],
                "points": check.points,
                "suites": [
                    {
                        "cases": [case],
                        "scored": True,
                        "setup": "",
                        "teardown": "",
                        "type": "doctest",
                    }
                ],
            }
            (tests / f"{test['name'].replace('-', '_')}.py").write_text(
                f"OK_FORMAT = True\n\ntest = {test!r}\n", encoding="utf-8"
            )
        run(
            [
                self.python,
                "-m",
                "otter",
                "generate",
                "-t",
                tests,
                "-o",
                "autograder.zip",
                "--no-environment",
                "--no-requirements",
            ],
            self.ready,
            self.environment,
        )

    def grade(self, learners, folder):
        cost, points = Cost(), {}
        for learner in learners:
            here = folder / learner.student
            (here / "out").mkdir(parents=True)
            (here / "arrays.ipynb").write_text(learner.book, encoding="utf-8")
            _, one = run(
                [
                    self.python,
                    "-m",
                    "otter",
                    "run",
                    "-a",
                    self.ready / "autograder.zip",
                    "-o",
                    here / "out",
                    "--no-logo",
                    "arrays.ipynb",
                ],
                here,
                self.environment,
            )
            cost.add(one)
            results = json.loads((here / "out" / "results.json").read_text(encoding="utf-8"))
            points[learner.student] = sum(
                test["score"]
                for test in results["tests"]
                if "score" in test and test.get("max_score")
            )
        return points, cost


# What is measured.


@dataclass
class Measurement:
    """Medians over the turns of one contestant. per_worker: seconds x workers / submissions."""

    name: str
    workers: int
    submissions: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    per_worker: float


@dataclass
class Ratio:
    """How many times the rate per worker of `peer` that of `name` is: the median over the turns.
    goal: None when there is none.

    cpu_ratio  the same of the CPU time for a submission,
               which says more on a machine that has other things to do
    """

    name: str
    peer: str
    ratio: float
    cpu_ratio: float
    goal: float | None

    @property
    def met(self):
        return None if self.goal is None else self.ratio >= self.goal


def once(contestant, learners, folder):
    """Grade in a new folder, which is gone afterwards."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    try:
        return contestant.grade(learners, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure_class(titos, peers, learners, peer_size, runs, folder):
    """(Measurements, Ratios, {peer: why it was left out}) of so many turns."""
    few = learners[:peer_size]
    left_out, contests = {}, {tito.name: (tito, learners) for tito in titos}
    contests |= {f"{titos[0].name}, the same {peer_size}": (titos[0], few)} if peers else {}
    wanted, _ = once(titos[0], few, folder)
    for peer in peers:
        try:
            points, _ = once(peer, few, folder)  # warms up, as the line above does
        except Failed as failure:
            left_out[peer.name] = str(failure)
            continue
        if points != wanted:
            student = next(name for name in wanted if points.get(name) != wanted[name])
            raise SystemExit(
                f"{peer.name} gives {student} {points.get(student)} points,"
                f" tito {wanted[student]}: that is no comparison"
            )
        contests[peer.name] = (peer, few)
    turns = [
        {name: once(contestant, some, folder)[1] for name, (contestant, some) in contests.items()}
        for _ in range(runs)
    ]

    def per_worker(turn, name):
        contestant, some = contests[name]
        return turn[name].seconds * contestant.workers / len(some)

    def cpu_each(turn, name):
        return turn[name].cpu_seconds / len(contests[name][1])

    found = [
        Measurement(
            name,
            contestant.workers,
            len(some),
            *(
                statistics.median(getattr(turn[name], key) for turn in turns)
                for key in vars(turns[0][name])
            ),
            statistics.median(per_worker(turn, name) for turn in turns),
        )
        for name, (contestant, some) in contests.items()
    ]
    ours = [name for name, (contestant, _) in contests.items() if isinstance(contestant, Tito)]
    ratios = [
        Ratio(
            name,
            peer,
            *(
                statistics.median(each(turn, peer) / each(turn, name) for turn in turns)
                for each in (per_worker, cpu_each)
            ),
            GOAL if peer == "nbgrader" and contests[name][1] is learners else None,
        )
        for peer in contests
        if peer not in ours
        for name in ours
    ]
    return found, ratios, left_out


def measure_growth(tito, sizes, runs, folder):
    """What classes of these sizes cost, each the median of so many turns,
    and the lines through wall and CPU time.
    """
    turns = [
        {size: once(tito, make_class(tito.root, size), folder)[1] for size in sizes}
        for _ in range(runs)
    ]
    found = [
        {"submissions": size}
        | {
            key: statistics.median(getattr(turn[size], key) for turn in turns)
            for key in vars(turns[0][size])
        }
        for size in sizes
    ]
    lines = {}
    for key in ("seconds", "cpu_seconds"):
        start, each = line_through(sizes, [one[key] for one in found])
        lines[key] = {
            "start": start,
            "each": each,
            "off_percent": max(
                100 * abs(start + each * one["submissions"] - one[key]) / one[key] for one in found
            ),
        }
    return {
        "workers": tito.workers,
        "points": found,
        "lines": lines,
        "memory_ratio": found[-1]["peak_bytes"] / found[0]["peak_bytes"],
    }


def line_through(xs, ys):
    """(start, slope) of the line y = start + slope * x that is nearest, relative to y:
    else the largest class alone would decide.
    """
    weights = [1 / y**2 for y in ys]
    total = sum(weights)
    x0, y0 = (sum(w * v for w, v in zip(weights, values)) / total for values in (xs, ys))
    slope = sum(w * (x - x0) * (y - y0) for w, x, y in zip(weights, xs, ys)) / (
        sum(w * (x - x0) ** 2 for w, x in zip(weights, xs)) or 1
    )
    return y0 - slope * x0, slope


def measure_lessons(root, copies, folder):
    """[{lesson, checks, seconds, judge, jail, passed}]: the medians over some copies of the
    course's own solutions, one worker; judge and jail are their CPU seconds.
    """
    submissions = folder / "reference"
    for number in range(copies + 1):
        for entry in root.lessons:
            path = submissions / f"copy{number}" / entry.script.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{entry.declared.source.text}\n\n# %%\n# {number}\n", encoding="utf-8")
    handed_in, found = find_submissions(submissions, root.lessons), []
    for entry in root.lessons:
        measured = []
        with SubmissionJudge(Setting(root.path, (entry.name,), "")) as one:
            one.judge.runner.begin()
            for submission in handed_in:  # the first of them also starts what they all use
                before = time.process_time(), jailed()
                (result,) = one.grade(submission, {})
                after = time.process_time(), jailed()
                measured.append((result.seconds, *(b - a for a, b in zip(before, after))))
                passed = result.verdict == "passed"
        costs = [statistics.median(each) for each in zip(*measured[1:])]
        row = dict(zip(("seconds", "judge", "jail"), costs))
        found.append(
            {"lesson": entry.name, "checks": len(entry.declared.checks), "passed": passed} | row
        )
    return found


def jailed():
    """CPU seconds of the jails below this process, the ended ones in them too."""
    seconds = 0.0
    for pid in below(os.getpid()):
        with contextlib.suppress(OSError, ValueError, IndexError):
            place = Path("/proc", str(pid))
            if b"jailed_server.py" in place.joinpath("cmdline").read_bytes():
                words = (
                    place.joinpath("stat").read_text(errors="replace").rpartition(")")[2].split()
                )
                seconds += sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    return seconds


def fill_gradebook(root, learners, lessons, book):
    """Save results of so many learners for the first lessons of a course, as a judge returns them:
    of every fourth learner two submissions, of every tenth some points by hand.
    """
    texts = [f"{number:064x}" for number in range(2)]
    for number in range(learners):
        student = f"learner{number:05}"
        for text in texts[: 1 + (number % 4 == 0)]:
            results = []
            for entry in root.lessons[:lessons]:
                checks = [blank(check) for check in entry.declared.checks]
                for place, check in enumerate(checks):
                    check.status = "passed" if (number + place) % 5 else "failed"
                    check.points = check.max_points * check.passed
                    check.message = "" if check.passed else "it should be 3.0, yours is 4.0" * 3
                results.append(
                    LessonResult(
                        student,
                        entry.name,
                        entry.number,
                        entry.declared.title,
                        entry.declared.most,
                        verdict="partly right",
                        reason="some checks fail",
                        points=sum(check.points for check in checks),
                        sha256=text,
                        key=f"{text}.{number}",
                        checks=checks,
                        graded_by=checks_hash(entry),
                        answers=[
                            Answer(question.name, question.points, text, 100)
                            for question in entry.declared.questions
                        ],
                    )
                )
            book.save(Saving(student, f"Ada {number:05}", "me", results=results))
        if number % 10 == 0:
            changes = [
                RequestedChange("override", student, results[0].lesson, "asked", None, Decimal(1)),
                RequestedChange(
                    "override",
                    student,
                    results[1].lesson,
                    "asked",
                    results[1].checks[0].id,
                    Decimal(0),
                ),
                RequestedChange("comment", student, results[2].lesson, text="Well done"),
            ]
            apply_changes(book, changes, "prof")


def measure_gradebook(root, learners, folder, environment, lessons=20):
    """[{what, seconds, cpu_seconds, peak_bytes}] of commands that read a large gradebook; of the
    page's list the seconds of this process, first and again after a grade has changed.
    """
    place, found = folder / "department.db", []
    with open_gradebook(place) as book:
        fill_gradebook(root, min(learners, SAVED), lessons, book)
    with contextlib.closing(sqlite3.connect(place)) as raw, raw:
        for first in range(SAVED, learners, SAVED):  # the others have the same, which is faster
            name = f"printf('%05d', substr(student, 8) + {first})"
            for table in ("learner", "result", "change"):
                names = [row[1] for row in raw.execute(f"pragma table_info({table})")]
                made = {"student": f"'learner' || {name}", "name": f"'Ada ' || {name}"}
                made |= {"id": f"id + 1000 * {first}"}
                raw.execute(
                    f"insert into {table} select {', '.join(made.get(n, n) for n in names)}"
                    f" from {table} where student < 'learner{min(SAVED, learners - first):05}'"
                )
    tito = [sys.executable, "-m", "tito", "--root", root.path, "--gradebook", place, "gradebook"]
    forms = [["export", "--format", name] for name in ("csv", "canvas", "moodle")]
    for words in (["show"], *forms):
        said, cost = run([*tito, *words], folder, environment)
        assert said.count("learner0") >= learners, said[:500]
        found.append({"what": " ".join(words)} | asdict(cost))
    with open_gradebook(place) as book:
        rows = ClassList(book)
        for what in ("the page's list, first", "the page's list, after a change"):
            began, cpu = time.perf_counter(), time.process_time()
            assert len(rows.rows(root.lessons[0].name)) == learners
            cost = Cost(time.perf_counter() - began, time.process_time() - cpu)
            found.append({"what": what} | asdict(cost))
            change = RequestedChange("comment", "learner00001", root.lessons[0].name, text="Good")
            apply_changes(book, [change], "prof")
    return {"learners": learners, "bytes": place.stat().st_size, "commands": found}


def measure_large(root, size, folder, environment):
    """What a large class costs: {"seconds", "cpu_seconds", "peak_bytes", "tenths": [{submissions,
    rate, bytes}]}, of scripts that are handed in as they are.
    """
    submissions = folder / "large"
    before = ["--root", root.path, "--gradebook", folder / "l.db"]
    sheets = [sample.Sheets(entry) for entry in root.lessons]
    for number, work in enumerate(sample.works(sheets, size, random.Random(0), KINDS), 1):
        (text,) = work.files.values()
        path = submissions / f"learner{number:06}" / "arrays_dev.py"
        path.parent.mkdir(parents=True)
        path.write_text(f"{text}\n\n# %%\n# {number}\n", encoding="utf-8")
    seen, stop = [], threading.Event()

    def watch():
        began = time.perf_counter()
        while not stop.wait(EVERY):
            done = 0
            with contextlib.suppress(sqlite3.Error):
                place = f"file:{folder / 'l.db'}?mode=ro"
                with contextlib.closing(sqlite3.connect(place, 5, uri=True)) as book:
                    ((done,),) = book.execute("SELECT COUNT(*) FROM result")
            memory = sum(map(held, below(os.getpid())))
            seen.append((time.perf_counter() - began, done, memory))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        words = ["grade", submissions, "--all", "--jobs", 2]
        _, cost = run([sys.executable, "-m", "tito", *before, *words], folder, environment)
    finally:
        stop.set()
        thread.join()
    tenths = []
    for tenth in range(10):
        part = [one for one in seen if tenth * size < 10 * one[1] <= (tenth + 1) * size]
        if len(part) > 1:
            (first, had, _), (last, has, _) = part[0], part[-1]
            memory = statistics.median(one[2] for one in part)
            rate = (has - had) / (last - first)
            tenths.append({"submissions": has, "rate": rate, "bytes": memory})
    return asdict(cost) | {"submissions": size, "tenths": tenths}


# What is told.


def text_of(report):
    lines = [
        f"isolation {report['isolation']}, {report['cores']} cores, {report['runs']} turns",
        "",
    ]
    lines += table(
        ("", "submissions", "seconds", "per worker", "CPU each", "memory"),
        [
            (
                m.name,
                m.submissions,
                f"{m.seconds:.2f}",
                f"{m.per_worker * 1000:.0f} ms",
                f"{m.cpu_seconds / m.submissions * 1000:.0f} ms",
                megabytes(m.peak_bytes),
            )
            for m in report["class"]
        ],
    )
    if report["peers"]:
        lines += [
            "",
            f"The peers graded {report['peer_size']} of the {report['class_size']}: "
            + ", ".join(f"{name} {version}" for name, version in report["peers"].items()),
        ]
        lines += [
            "",
            *table(
                ("rate per worker", "times", "goal", "", "by CPU time"),
                [
                    (
                        f"{r.name} / {r.peer}",
                        f"{r.ratio:.1f}",
                        r.goal or "",
                        {None: "", True: "met", False: "MISSED"}[r.met],
                        f"{r.cpu_ratio:.1f}",
                    )
                    for r in report["ratios"]
                ],
            ),
        ]
    lines += [f"\n{name} is left out: {why}" for name, why in report["left_out"].items()]
    for growth in report["growth"]:
        lines += text_of_growth(growth)
    lines += [
        "",
        *table(
            ("lesson, 1 worker", "checks", "seconds", "CPU of judge", "of jail", ""),
            [
                (
                    one["lesson"],
                    one["checks"],
                    *(f"{one[key]:.2f}" for key in ("seconds", "judge", "jail")),
                    "" if one["passed"] else "DOES NOT PASS",
                )
                for one in report["lessons"]
            ],
        ),
    ]
    return "\n".join(lines)


def text_of_growth(growth):
    """The lines on what classes of several sizes cost."""
    workers = f"{growth['workers']} worker{'s' * (growth['workers'] > 1)}"
    lines = [
        "",
        *table(
            (f"growth, {workers}", "seconds", "CPU seconds", "memory"),
            [
                (
                    one["submissions"],
                    f"{one['seconds']:.2f}",
                    f"{one['cpu_seconds']:.2f}",
                    megabytes(one["peak_bytes"]),
                )
                for one in growth["points"]
            ],
        ),
    ]
    for key, name in (("seconds", "time"), ("cpu_seconds", "CPU time")):
        line = growth["lines"][key]
        lines.append(
            f"{name}: {line['start']:.2f} s and {line['each'] * 1000:.1f} ms for each submission;"
            f" no class is more than {line['off_percent']:.0f} % off that line"
        )
    lines.append(
        f"memory: {growth['memory_ratio']:.2f} times as much for the largest class"
        " as for the smallest"
    )
    return lines


def text_of_large(large):
    """The lines on a large class."""
    rows = [
        (one["submissions"], f"{one['rate']:.1f}", megabytes(one["bytes"]))
        for one in large["tenths"]
    ]
    return [
        f"{large['submissions']} submissions, 2 workers: {large['seconds']:.0f} s,"
        f" {large['cpu_seconds']:.0f} CPU s, at most {megabytes(large['peak_bytes'])}",
        "",
        *table(("graded", "a second", "memory"), rows),
    ]


def text_of_gradebook(report):
    """The lines on a gradebook."""
    rows = [
        (one["what"], *(f"{one[key]:.2f}" for key in ("seconds", "cpu_seconds")))
        + (megabytes(one["peak_bytes"]) if one["peak_bytes"] else "",)
        for one in report["commands"]
    ]
    head = f"{report['learners']} learners, {megabytes(report['bytes'])}"
    return table((head, "seconds", "CPU seconds", "memory"), rows)


def megabytes(number):
    return f"{number / 1e6:.0f} MB"


def table(head, rows):
    rows = [head, *rows]
    wide = [max(len(str(row[column])) for row in rows) for column in range(len(head))]
    return [
        "  ".join(
            [
                str(row[0]).ljust(wide[0]),
                *(str(cell).rjust(w) for cell, w in zip(row[1:], wide[1:])),
            ]
        ).rstrip()
        for row in rows
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="turns (default: 3)")
    parser.add_argument(
        "--class-size",
        type=int,
        default=200,
        metavar="N",
        help="submissions for tito (default: 200)",
    )
    parser.add_argument(
        "--peer-size",
        type=int,
        default=10,
        metavar="N",
        help="how many of them for each peer (default: 10)",
    )
    parser.add_argument(
        "--growth",
        type=int,
        nargs="+",
        default=[50, 100, 200, 500, 1000],
        metavar="N",
        help="sizes of the classes for growth and memory",
    )
    parser.add_argument(
        "--against",
        nargs="*",
        choices=PEERS,
        default=list(PEERS),
        metavar="PEER",
        help="only these peers; none: only tito",
    )
    parser.add_argument(
        "--environments",
        type=Path,
        metavar="DIR",
        help="keep the peers' environments there, and use those that are there",
    )
    parser.add_argument(
        "--course",
        type=Path,
        default=HERE.parents[1],
        metavar="DIR",
        help="the course whose lessons are timed one by one",
    )
    parser.add_argument(
        "--large", type=int, metavar="N", help="only a class of so many small submissions, once"
    )
    parser.add_argument(
        "--gradebook", type=int, metavar="N", help="only the gradebook of so many learners"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="one turn with tiny classes: whether it works, not how fast",
    )
    parser.add_argument("--json", action="store_true", help="print the same values as JSON")
    given = parser.parse_args()
    if sys.platform != "linux":
        raise SystemExit("processes are looked up in /proc: this runs on Linux only")
    if given.quick:
        given.runs, given.class_size, given.peer_size, given.growth = 1, 2, 1, [1, 3]
    if (
        min(given.runs, given.class_size, given.peer_size, *given.growth) < 1
        or len(set(given.growth)) < 2
        or given.peer_size > given.class_size
    ):
        parser.error(
            "numbers are from 1 on, growth needs two sizes,"
            " and the peers' submissions are some of the class's"
        )
    adopt()
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "TITO", "JUPYTER"))
    }
    with tempfile.TemporaryDirectory(prefix="tito-benchmark-") as folder:
        folder = Path(folder).resolve()
        root = make_course(folder / "arrays")
        if given.gradebook:
            real = course.open_root(given.course.resolve())
            read = measure_gradebook(real, given.gradebook, folder, environment)
            print(json.dumps(read, indent=1) if given.json else "\n".join(text_of_gradebook(read)))
            return
        if given.large:
            large = measure_large(root, given.large, folder, environment)
            print(json.dumps(large, indent=1) if given.json else "\n".join(text_of_large(large)))
            return
        titos, peers, left_out = [Tito(root, workers, environment) for workers in (1, 2)], [], {}
        environments = (given.environments or folder / "environments").resolve()
        environments.mkdir(parents=True, exist_ok=True)
        for kind in (Nbgrader, Otter):
            if kind.name in given.against:
                try:
                    (folder / kind.name).mkdir()
                    peers.append(kind(root, folder / kind.name, environments, environment))
                except Failed as failure:
                    left_out[kind.name] = str(failure)
        measured, ratios, failed = measure_class(
            titos, peers, make_class(root, given.class_size), given.peer_size, given.runs, folder
        )
        report = {
            "cores": os.cpu_count(),
            "isolation": titos[0].level,
            "runs": given.runs,
            "class_size": given.class_size,
            "peer_size": given.peer_size,
            "peers": {peer.name: peer.version for peer in peers if peer.name not in failed},
            "left_out": left_out | failed,
            "class": measured,
            "ratios": ratios,
            "growth": [
                measure_growth(tito, sorted(set(given.growth)), given.runs, folder)
                for tito in titos
            ],
            "lessons": measure_lessons(
                course.open_root(given.course.resolve()), 1 if given.quick else 3, folder
            ),
        }
    if given.json:
        report |= {
            "class": [asdict(one) for one in measured],
            "ratios": [asdict(one) | {"met": one.met} for one in ratios],
        }
    print(json.dumps(report, indent=1) if given.json else text_of(report))


if __name__ == "__main__":
    main()
