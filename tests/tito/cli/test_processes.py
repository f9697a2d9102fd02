"""Each command in a new process, as a shell starts it: most tests run them in theirs. Each meets
files that are named like modules, in the folder where it runs and on PYTHONPATH.
"""

import os
import shutil
import subprocess
import sys

import pytest
from commands import process, tito
from small_course import solve
from some_results import result, save

from tito.cli import run  # noqa: F401  it adds the commands
from tito.cli.app import commands
from tito.grading.gradebook import gradebook
from tito.lesson import course

MILESTONE = '''"""A sum."""

# /// milestone
# title = "A sum of two"
# needs = ["numbers", "sums"]
# seconds = 30
# [goal]
# "total" = 6
# ///

from tinytorch.core.sums import total


class Picture:
    def savefig(self, place, format, **options):
        if format == "png":
            with open(place, "wb") as file:
                file.write(b"picture")


def run(seed=0):
    return {"total": total([1, 2])}, Picture()
'''
ELSEWHERE = {  # they run until they are stopped, or need a browser, and have tests for that
    "tito watch": "tests/tito/learn/test_watch.py",
    "tito book serve": "tests/tito/book/test_build.py",
    "tito gradebook page": "tests/tito/grading/page/test_browser.py",
}

NAMES = {*sys.stdlib_module_names, *"click filelock fsrs jinja2 jupyterlab jupytext".split()}
NAMES |= {*"markdown_it matplotlib numpy pluggy pytest rich sitecustomize sqlalchemy".split()}
NAMES |= {*"tito typer usercustomize watchfiles yaml".split()}

# A command: (where it runs, what precedes it, its words, what it prints).
LEARNER = {
    "tito init": ("course", [], "init ../new", "is ready: 2 lessons of Small"),
    "tito status": ("work", [], "status", "next: tito start numbers"),
    "tito start": ("work", [], "start numbers", "begin with exercise numbers-double"),
    "tito notebook": ("work", [], "notebook numbers --no-open", "numbers_dev.ipynb"),
    "tito export": ("work", [], "export numbers", "tinytorch/core/numbers.py"),
    "tito test": ("done", [], "test numbers", "passed  5 of 5 points"),
    "tito hint": ("work", [], "hint numbers", "What is a number plus itself?"),
    "tito word": ("work", [], "word", "to read about one: tito word"),
    "tito compare": ("done", [], "compare numbers-double", "twice = x + x"),
    "tito review": ("done", [], "review numbers", "Answers"),
    "tito reset": ("done", [], "reset numbers", ".tito/backups/"),
    "tito undo": ("done", ["reset numbers"], "undo", "files that `tito reset` overwrote"),
    "tito skip": ("work", [], "skip numbers", "2 exercises given now"),
    "tito submit": ("done", ["start numbers"], "submit", "work-1.zip"),
    "tito restore": (
        "done",
        ["start numbers", "submit", "reset numbers"],
        "restore work-1.zip",
        "as in the zip",
    ),
    "tito read": ("work", [], "read numbers", ".tito/results/01_numbers/index.html"),
    "tito update": ("work", [], "update ../course", "You already have edition"),
    "tito doctor": ("work", [], "doctor", "import tinytorch"),
    "tito milestone run": ("done", [], "milestone run sum", "passed  total 6"),
}
INSTRUCTOR = {
    "tito release": ("course", [], "release ../released", "released"),
    "tito grade": (
        "course",
        [],
        "grade ../class numbers --isolation process",
        "1 of 1 submissions graded",
    ),
    "tito feedback": ("graded", [], "feedback ../pages", "1 learner, 1 page"),
    "tito similar": ("course", [], "similar ../class numbers", "1 of 1 compared"),
    "tito gradebook show": ("graded", [], "gradebook show", "Ada      4"),
    "tito gradebook export": ("graded", [], "gradebook export", '"ada","Ada",4,4'),
    "tito gradebook set": (
        "graded",
        [],
        "gradebook set ada numbers --points 3 --why asked",
        "4 -> 3  the lesson set to 3",
    ),
    "tito gradebook copy": ("graded", [], "gradebook copy ../copy.db", "result 1"),
    "tito gradebook roster": ("graded", [], "gradebook roster ../roster.csv", "1 learner"),
}
AUTHOR = {
    "tito check": ("course", ["export --all"], "check sums", "mutations caught"),
    "tito book build": ("course", [], "book build --fast", "index.html"),
}
RUNS = LEARNER | INSTRUCTOR | AUTHOR
QUICK = ("tito start", "tito test", "tito hint", "tito status", "tito grade")


@pytest.fixture
def folders(small_course, tmp_path):
    """A course, one with a graded learner, a class, a workspace as it begins and one that is
    done."""
    milestones = small_course.path / "modules" / "milestones"
    milestones.mkdir()
    (milestones / "01_1900_sum.py").write_text(MILESTONE, encoding="utf-8")
    for name in ("work", "class/ada", "done/work"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        tito(small_course, "init", tmp_path / name)
    for entry in course.open_root(tmp_path / "done" / "work").lessons:
        solve(entry)
    (tmp_path / "roster.csv").write_text("student\nbob\n", encoding="utf-8")
    shutil.copytree(small_course.path, tmp_path / "graded")
    (tmp_path / "graded" / ".tito").mkdir(exist_ok=True)
    with gradebook.open_gradebook(tmp_path / "graded" / ".tito" / "gradebook.db") as book:
        save(book, [result(points=(2, 2))], None, "me", "Ada")
    return {
        "course": small_course.path,
        "graded": tmp_path / "graded",
        "work": tmp_path / "work",
        "done": tmp_path / "done" / "work",
    }


def test_every_command_is_run_in_a_process_by_some_test(small_workspace):
    tito(small_workspace, "--help")  # which hides the commands that are not for learners
    assert {words for _, words, _ in commands()} == RUNS.keys() | ELSEWHERE.keys()
    for words, file in ELSEWHERE.items():
        assert f'"{words.split()[-1]}"' in (course.installed_course().path / file).read_text()


@pytest.mark.parametrize(
    "command",
    [pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK)) for name in RUNS],
)
def test_it_runs_in_a_process(folders, command):
    where, before, words, output = RUNS[command]
    for earlier in before:
        tito(folders[where], *earlier.split())
    shadow(folders[where], NAMES)
    foreign = shadow(folders[where].parent / "foreign", NAMES)
    # doctor names the files; one hand-in has no other to be compared with; and the small lesson
    # has no recorded mistakes
    found = {"tito doctor": 3, "tito similar": 1, "tito check": 1}.get(command, 0)
    out, err = process(folders[where], *words.split(), code=found, PYTHONPATH=str(foreign))
    assert output in out + err
    assert words.startswith(command.removeprefix("tito "))


def shadow(folder, names):
    """Put files into a folder that end every Python that imports one of them."""
    folder.mkdir(exist_ok=True)
    for name in names - {"encodings"}:  # without it Python itself does not start
        (folder / f"{name}.py").write_text(
            f"raise SystemExit('not this {name}')\n", encoding="utf-8"
        )
    return folder


@pytest.mark.skipif(os.name == "nt", reason="a script for shells")
@pytest.mark.parametrize(
    "words",
    [
        "tito test numbers",
        "pytest tests",
        pytest.param("python -m pytest tests", marks=pytest.mark.slow),
    ],
)
def test_what_runs_in_an_activated_shell_is_not_stopped_either(folders, words):
    names = {"copy", "enum", "numpy", "pytest", "queue", "random", "re", "signal", "token", "types"}
    work = shadow(folders["done"], names | {"sitecustomize"})
    (work / "encodings").mkdir()
    (work / "encodings" / "__init__.py").touch()
    for name, file in (("bin", "activate-tinytorch.sh"), ("tests", "test_lessons.py")):
        (work / name).mkdir()
        shutil.copy(course.installed_course().path / name / file, work / name)
    (work / ".tito" / "environment").write_text(sys.prefix, encoding="utf-8")
    done = subprocess.run(
        ["sh", "-c", f". bin/activate-tinytorch.sh && {words}"],
        cwd=work,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "passed" in done.stdout, done.stdout + done.stderr
