"""No submission gains a point, sees a secret, harms another or stops the run, whatever it does: as
root and as an ordinary user, at each level.

Each run grades one class: every submission of `hostile/`, with honest learners before, between and
behind them. After a change of the jail all runs are made, until it is recorded that they passed
(tools/unchanged.py); else two or three a day, which try all submissions.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

import pytest
from grading.jail.hostile import (
    burning,
    course,
    forging,
    leaving,
    lying,
    protocol,
    reaching,
    snooping,
    taking,
    telling,
)
from small_course import set_policies
from unchanged import of_today, state_of_the_jail, to_run

from tito.grading.result import CheckResult, LessonResult
from tito.lesson.course import open_root

if sys.platform != "linux":
    pytest.skip(
        "the jail's levels, and much of what is tried here, are Linux's", allow_module_level=True
    )

FAMILIES = {
    "forging": forging.FORGING,
    "lying": lying.LYING,
    "leaving": leaving.LEAVING,
    "taking": taking.TAKING,
    "snooping": snooping.SNOOPING,
    "protocol": protocol.PROTOCOL,
    "burning": burning.BURNING,
    "telling": telling.TELLING,
    "reaching": reaching.REACHING,
}
FIRST = ("forging", "lying", "leaving", "taking", "snooping")
INFORMED = ("protocol", "burning", "telling", "reaching")  # by an attacker who has read the judge
REPOSITORY = Path(__file__).parents[4]
HONEST = ("aaron", "h-middle", "zoe")
ENVIRONMENT, OTHERS = "environment-secret-words", "another-learners-secret-words"
NOBODY = 65534
SECONDS, LONGEST = 1, 300  # of a check; of a run
HELD = 60  # seconds of a worker by one submission, most of which it waits or shares the cores

# Runs a command, and prints the processes that it left behind: they become children of this
# process, which is their closest subreaper.
WATCHED = """
import ctypes, json, os, pathlib, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
code = subprocess.run(sys.argv[2:]).returncode
def left():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError:
        return []
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        if text.rpartition(")")[2].split()[1] == str(os.getpid()):
            found.append(text)
    return found
until = time.monotonic() + 5
while left() and time.monotonic() < until:
    time.sleep(0.05)
pathlib.Path(sys.argv[1]).write_text(json.dumps(left()))
sys.exit(code)
"""


def as_oneself():
    return []


def as_ordinary_user():
    """What to put before a command to run it as an ordinary user. Skips where that cannot be."""
    if os.getuid() != 0:
        pytest.skip("the suite does not run as root: the other runs are an ordinary user's")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv, which changes the user, is not here")
    # By way of sh: setpriv itself may still start what only root can read.
    change = [
        "setpriv",
        f"--reuid={NOBODY}",
        f"--regid={NOBODY}",
        "--clear-groups",
        "--inh-caps=-all",
        "sh",
        "-c",
        'exec "$@"',
        "sh",
    ]
    try_out = [sys.executable, "-c", "import numpy, sqlalchemy, tito"]
    for before in (change, [*readable_interpreter(), *change]):
        if subprocess.run([*before, *try_out], capture_output=True, cwd=REPOSITORY).returncode == 0:
            return before
    pytest.skip(
        f"an ordinary user cannot read {sys.executable} or what it imports, and no mount namespace "
        f"can be made in which one can"
    )


def readable_interpreter():
    """A command that runs another where the interpreter can be read by all, though it lies in
    root's home: in a separate mount namespace.
    """
    needed = {Path(path).resolve() for path in (sys.base_prefix, sys.prefix, REPOSITORY)}
    closed = {
        parent for path in needed for parent in path.parents if not parent.stat().st_mode & 0o001
    }
    closed = [one for one in closed if not closed & set(one.parents)]
    hidden = [path for path in sorted(needed) if any(path.is_relative_to(one) for one in closed)]
    script = [
        "set -e",
        *(f"exec {number}<'{path}'" for number, path in enumerate(hidden, 5)),
        *(f"mount -t tmpfs -o mode=755 none '{one}'" for one in closed),
    ]
    for number, path in enumerate(hidden, 5):
        script += [
            f"mkdir -p '{path}'",
            f"mount --no-canonicalize --bind /proc/self/fd/{number} '{path}'",
            f"exec {number}<&-",
        ]
    return [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        "\n".join([*script, 'exec "$@"']),
        "sh",
    ]


# At the level `process`, only the user's permissions protect the machine, so it is not run as
# root. A run takes a minute or two of a processor: each level and each user have one of the first
# families and one of the informed, and all four pairs of level and user have one run.
WHOLE = [
    ("bubblewrap", as_oneself, FIRST),
    ("landlock+seccomp", as_ordinary_user, FIRST),
    ("bubblewrap", as_ordinary_user, INFORMED),
    ("landlock+seccomp", as_oneself, INFORMED),
]
WHOLE.append(("process", as_ordinary_user if os.getuid() == 0 else as_oneself, FIRST))
if "the jail" not in to_run({"the jail": state_of_the_jail(open_root(REPOSITORY))}, 0):
    (WHOLE,) = of_today([WHOLE[1:3], [WHOLE[0], *WHOLE[3:]]])  # each tries all families
READ_AT = "bubblewrap"  # where answers are tried that are long to read


class Run:
    """One class, graded at one level as one user: families of submissions, and honest ones."""

    def __init__(self, level, user, families):
        before = user()
        self.level, self.families = level, families
        self.folder = Path(tempfile.mkdtemp(prefix="tito-test-"))
        try:
            self._grade(before)
        finally:
            shutil.rmtree(self.folder)

    def _grade(self, before):
        root, submissions, book = (
            course.make_course(self.folder / "course"),
            self.folder / "class",
            self.folder / "book" / "grades.db",
        )
        set_policies(root, check_seconds=SECONDS, memory_mb=512)
        book.parent.mkdir()
        known = {"@COURSE@": str(root), "@CLASS@": str(submissions), "@BOOK@": str(book)}
        for one in self.tried():
            text = one.text
            for word, path in known.items():
                text = text.replace(word, path)
            put(submissions / one.name / "vectors_dev.py", text)
        for name in HONEST:
            put(submissions / name / "vectors_dev.py", f"# {OTHERS}\n{course.VECTORS}# {OTHERS}\n")
            put(submissions / name / "sums_dev.py", course.SUMS)
        for path in (self.folder, *self.folder.rglob("*")):
            os.chown(path, *[NOBODY if before else os.getuid()] * 2)
        command = [sys.executable, "-m", "tito", "--root", str(root), "--gradebook", str(book)]
        command += ["grade", str(submissions), "vectors", "--json", "--jobs", "2"]
        command += ["--isolation", self.level]
        before_it, left = self.files(), self.folder / "book" / "left"
        done = subprocess.run(
            [*before, sys.executable, "-c", WATCHED, str(left), *command],
            capture_output=True,
            text=True,
            timeout=LONGEST,
            cwd=REPOSITORY,
            env={**os.environ, "TITO_SECRET": ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        self.code, self.said, self.out = done.returncode, done.stderr, done.stdout
        if (
            done.returncode == 3
            and f"Isolation level {self.level} does not work here" in done.stderr
        ):
            pytest.skip(" ".join(done.stderr.split()))
        assert done.stdout.startswith("["), f"exit code {done.returncode}: {done.stderr[-3000:]}"
        self.rows = {row["student"]: row for row in json.loads(done.stdout)}
        self.left, self.changed = json.loads(left.read_text()), sorted(before_it ^ self.files())
        self.paths = [str(root), str(submissions), str(book)]

    def tried(self, family=None):
        """What is tried: at the level `process`, not what only a jail promises to stop; and long
        answers at one level, since it is the judge that reads them, which no level changes.
        test_attacks measures each of them by itself.
        """
        return [
            one
            for name in ([family] if family else self.families)
            for one in FAMILIES[name]
            if (self.level != "process" or not one.jailed)
            and (self.level == READ_AT or name != "burning" or not one.name.startswith("answers-"))
        ]

    def files(self):
        return {
            (str(path), path.stat().st_mode, path.stat().st_mtime_ns)
            for part in ("class", "course/modules")
            for path in (self.folder / part).rglob("*")
        }


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def runs(request):
    """Every run that the chosen tests need, some at the same time: much of each is waiting for a
    time limit.
    """
    chosen = [
        item.callspec.params
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    ]
    wanted = dict.fromkeys(params["run"] for params in chosen if "run" in params)
    with ThreadPoolExecutor(3) as pool:
        yield {one: pool.submit(Run, *one) for one in wanted}


@pytest.fixture(scope="module")
def run(request, runs):
    return runs[request.param].result()


def pytest_generate_tests(metafunc):
    """Each run, and for a test of a `family` each one that is tried in it. They are slow."""
    if "run" not in metafunc.fixturenames:
        return
    names = ["run", "family"] if "family" in metafunc.fixturenames else ["run"]
    cases = []
    for one in WHOLE:
        level, user, families = one
        kind = "informed" if families == INFORMED else "all"
        where = f"{level}-{user.__name__}-{kind}"
        if "family" in names:
            cases += [
                pytest.param(one, f, id=f"{where}-{f}", marks=pytest.mark.slow) for f in families
            ]
        else:
            cases.append(pytest.param(one, id=where, marks=pytest.mark.slow))
    metafunc.parametrize(names, cases, indirect=["run"], scope="module")


def test_there_are_many_and_all_have_names_of_their_own():
    hostile = [one for family in FAMILIES.values() for one in family]
    assert len({one.name for one in hostile}) == len(hostile) >= 80
    assert all(len(family) >= 10 for family in FAMILIES.values())


def test_each_gets_the_points_that_it_earned_and_no_others(run, family):
    def right(one, row):
        earned = {check["name"] for check in row["checks"] if check["points"]}
        passed = {check["name"] for check in row["checks"] if check["status"] == "passed"}
        points = sum(check["points"] for check in row["checks"])
        return row["points"] == one.points == points and earned == passed

    assert_all(right, run, family)


def test_each_row_says_what_became_of_it(run, family):
    def right(one, row):
        # "failed" in the lists of attacks: checks fail; honest ones beside them may have passed.
        verdict = "failed" if row["verdict"] == "partly right" else row["verdict"]
        # What stops the import is left out, and then the checks lack what it would have defined.
        statuses = [*one.status.split("|"), *["error"] * (" left out" in row["reason"])]
        return (
            verdict in one.verdict.split("|")
            and row["checks"][0]["status"] in statuses
            and (row["isolation"], len(row["checks"])) == (run.level, 12)
        )

    assert_all(right, run, family)


def test_no_attack_finds_or_reveals_a_secret(run, family):
    def right(one, row):
        shown = [check["message"] for check in row["checks"] if not check["hidden"]]
        learner = result_of(row).for_learner()
        told = json.dumps(shown) + learner.reason + learner.verdict
        if family == "telling":
            told += json.dumps(learner.as_json()["checks"])
            if learner.reason != "12 of 12 checks fail." or "48611" in told:
                return False
        secrets = (course.SECRET_WORDS, ENVIRONMENT, OTHERS, "GOT", *run.paths)
        # Of a hidden check there is only the check's own message for the instructor.
        return not any(secret in told for secret in secrets) and all(
            family == "telling"
            or check["message"] == course.SECRET_WORDS
            or not re.search(f"{course.SECRET_WORDS}|{ENVIRONMENT}|{OTHERS}|GOT", check["message"])
            for check in row["checks"]
        )

    assert_all(right, run, family)


def result_of(row):
    """The LessonResult in a row of `tito grade --json`."""
    names = {one.name for one in fields(LessonResult)}
    checks = {one.name for one in fields(CheckResult)}
    found = {name: value for name, value in row.items() if name in names}
    found["checks"] = [{k: v for k, v in one.items() if k in checks} for one in row["checks"]]
    return LessonResult.from_json(found)


def test_none_holds_its_worker_for_long(run, family):
    assert_all(lambda one, row: row["seconds"] < HELD, run, family)


def assert_all(right, run, family):
    """Every submission of the family has a row of which `right` holds; all others are shown."""
    wrong = [
        table(run.rows[one.name]) if one.name in run.rows else f"{one.name}: no row"
        for one in run.tried(family)
        if one.name not in run.rows or not right(one, run.rows[one.name])
    ]
    assert not wrong, f"{len(wrong)} of {len(run.tried(family))} are wrong:\n" + "\n".join(wrong)


@pytest.mark.parametrize("learner", HONEST)
def test_an_honest_learner_graded_by_the_same_worker_gets_every_point(run, learner):
    row = run.rows[learner]
    assert (row["verdict"], row["points"]) == ("passed", 13), table(row)


def test_the_run_ends_well_with_a_row_for_everyone_and_nothing_else_happened(run):
    assert run.code == 0, run.said
    assert run.rows.keys() == {one.name for one in run.tried()} | set(HONEST)
    assert not run.left, f"processes were left behind: {run.left}"
    assert not run.changed, f"files changed: {run.changed}"
    assert not list(Path("/tmp").glob("*tito-hostile*")) and not list(
        Path("/dev/shm").glob("*tito-hostile*")
    )
    assert "\x1b" not in run.said and "Warning" not in run.said and "Traceback" not in run.said, (
        run.said
    )


def table(row):
    return "\n".join(
        [
            f"{row['student']}: {row['verdict']} {row['points']}/{row['max_points']} "
            f"{row['reason'][:200]!r}",
            *(
                f"  {check['name']}: {check['status']} {check['points']} {check['message'][:300]!r}"
                for check in row["checks"]
            ),
        ]
    )
