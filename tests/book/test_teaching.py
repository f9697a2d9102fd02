"""The pages for instructors are true: their commands run, in order, and print what they show.

They run on a copy of this course, with its sample class. The commands for
large classes run on a cluster of two workers, into PostgreSQL.
"""

import contextlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import postgres
import pytest
from small_course import make_course
from typer.main import get_command

from tito import settings
from tito.cli import run as cli
from tito.grading import setting
from tito.grading.gradebook import class_lists, exports, run_lock
from tito.grading.result import VERDICTS
from tito.lesson import course

REPOSITORY = Path(__file__).parents[2]
FIRST, QUESTIONS = (
    (REPOSITORY / "book" / name).read_text(encoding="utf-8")
    for name in ("teaching.md", "teaching_questions.md")
)
QUESTIONS, CLUSTER = QUESTIONS.split("## Large classes\n")
PAGE = FIRST + QUESTIONS
# [(language, text)]: of each block, and of each row of a table that ends with a command
BLOCKS = [
    (language, text) if language else ("sh", f"{command}\n")
    for language, text, command in re.findall(
        r"^```(\w+)\n(.*?)^```$|^\|[^|\n]+\| `(tito [^`\n]+)` \|$", PAGE, re.S | re.M
    )
]

SETUP = "bin/setup instructor\n. bin/activate-tinytorch.sh\n"  # tested in tests/bin
LEARNERS = 8  # of the class that the cluster grades
PROGRAMS = {
    "dask": [sys.executable, "-m", "dask"],
    "tito": [sys.executable, "-m", "tito"],
}


def is_docker(block):
    return block.startswith("docker ")


def told_as_on_the_page(line):
    """A line of output without what differs from run to run: numbers, who, spaces between
    columns."""
    line = re.sub(r"isolation: [^;]+;", "isolation: LEVEL;", line)
    line = re.sub(r"\bby \S+?(?=:|$)", "by WHO", line.rstrip())
    return re.sub(r"\d+(\.\d+)?", "N", " ".join(line.split()))


class Run:
    """One block of commands of the page, run."""

    def __init__(self, block, excerpt, done, base):
        self.block, self.excerpt, self.code = block, excerpt, done.returncode
        self.output = done.stdout.replace(f"{base}/course/", "").replace(f"{base}/", "../")


def served(words, timeout, **options):
    """What `subprocess.run` returns of a command that serves pages until Ctrl-C: the pages whose
    addresses it prints are opened first.
    """
    with subprocess.Popen(words, start_new_session=True, **options) as process:
        output = ""
        for line in process.stdout:
            output += line
            if "Ctrl-C ends it" in line:
                break
        opened = [
            urllib.request.urlopen(address, timeout=timeout).status
            for address in re.findall(r"http://\S+", output)
        ]
        os.killpg(process.pid, signal.SIGINT)
        output += process.stdout.read()
        code = process.wait(timeout)
    assert opened and set(opened) == {200}, output
    return subprocess.CompletedProcess(words, code, output)


def add_settings(path, block):
    """Add these lines to a file of settings, each to its table."""
    tables = {}
    for text in (path.read_text(encoding="utf-8"), block):
        header = ""
        for line in text.splitlines():
            header = line if line.startswith("[") else header
            tables.setdefault(header, []).extend([line] * bool(line and line != header))
    text = "\n".join("\n".join([header, *lines]) for header, lines in tables.items())
    path.write_text(f"{text}\n", encoding="utf-8")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Every block of commands, run in its order. What else the page asks for is done where it asks
    for it."""
    base = tmp_path_factory.mktemp("teaching").resolve()
    folder = base / "course"
    for name in ("modules", "tinytorch"):
        shutil.copytree(REPOSITORY / name, folder / name)
    shutil.copy(REPOSITORY / "tito.toml", folder)
    lesson = folder / "modules" / "source" / "02_tensor" / "checks.py"
    programs = base / "programs"
    programs.mkdir()
    for name, words in (("python", ""), ("tito", " -m tito")):
        (programs / name).write_text(
            f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{words} "$@"\n', encoding="utf-8"
        )
        (programs / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    found = []
    for (language, block), (after, excerpt) in zip(BLOCKS, [*BLOCKS[1:], ("", "")]):
        if language == "toml":
            add_settings(folder / "tito.toml", block)
        if language != "sh" or is_docker(block) or block == SETUP:
            continue
        if block.startswith("tito test "):  # "Mend the check in the lesson"
            text, check = lesson.read_text(encoding="utf-8"), "large_numbers_do_not_cancel():\n"
            assert text.count(check) == 1
            lesson.write_text(text.replace(check, f"{check}    return\n"), encoding="utf-8")
        done = (served if "gradebook page" in block else subprocess.run)(
            ["bash", "-e", "-c", block],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=300,
        )
        found.append(Run(block, excerpt if after == "text" else "", done, base))
    return found


@pytest.mark.slow
def test_every_command_on_the_page_works(runs):
    assert len(runs) >= 24
    for run in runs:
        assert run.code == 0 and "Traceback" not in run.output, (
            f"{run.block}ends with {run.code}:\n{run.output}"
        )


@pytest.mark.slow
def test_what_the_page_shows_is_what_they_print(runs):
    """Line by line, in order. `...` stands for lines that were left out, or for the rest of a
    line."""
    for run in runs:
        lines = iter(told_as_on_the_page(line) for line in run.output.splitlines())
        for shown in run.excerpt.splitlines():
            if shown == "...":
                continue
            wanted, rest = told_as_on_the_page(shown.removesuffix("...")), shown.endswith("...")
            assert any(line == wanted or (rest and line.startswith(wanted)) for line in lines), (
                f"After\n{run.block}the page shows\n{shown}\nwhich is not in:\n{run.output}"
            )
    assert sum(bool(run.excerpt) for run in runs) >= 10


@pytest.mark.slow
def test_a_fixed_check_changes_the_grade_on_the_page(runs):
    (run,) = (run for run in runs if "check is corrected" in run.block)
    assert re.search(
        r"ito\.rosa  tensor  graded  24 -> 25  by .*large_numbers_do_not_cancel 0 -> 1", run.output
    )


def test_an_instructor_reads_few_words_and_types_few_commands_until_the_first_grades():
    """From a download of the platform to a table that it imports."""
    before, command, _ = FIRST.partition("tito gradebook export ")
    lines = "".join(re.findall(r"^```sh\n(.*?)(?:^```$|\Z)", before, re.S | re.M)).splitlines()
    own = [line for line in [*lines, command] if "grading.sample" not in line]
    assert len(before.split()) <= 270 and len(own) == 5, own
    assert len(FIRST.split()) <= 700 and len((QUESTIONS + CLUSTER).split()) <= 3000


def test_the_container_commands_are_those_in_the_dockerfile():
    (block,) = (block for language, block in BLOCKS if language == "sh" and is_docker(block))
    dockerfile = (REPOSITORY / "tito" / "grading" / "Dockerfile").read_text(encoding="utf-8")
    assert all(line.strip() in dockerfile for line in block.splitlines())


def test_the_roster_on_the_page_can_be_read(tmp_path):
    (text,) = (block for language, block in BLOCKS if language == "csv")
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    class_list = class_lists.read(tmp_path / "roster.csv")
    ada, _ = class_lists.learners_of(class_list, class_lists.choose(class_list))
    assert (ada.student, ada.columns["github"]) == ("ada", "ada-l")


def test_the_late_rules_on_the_page_are_valid_for_a_course():
    policy, text = (block for language, block in BLOCKS if language == "toml")
    assert tomllib.loads(policy) == {"grading": {"policy": settings.POLICIES[0]}}
    how_graded = {"policy", "check_seconds", "memory_mb", "earlier_lessons", "gradebook"}
    assert tomllib.loads(text)["grading"].keys() == {*settings.COURSE["grading"].form} - how_graded
    assert course.find_root(REPOSITORY).lesson("tensor")  # due dates name lessons


def test_the_pages_name_every_verdict_level_and_format():
    first = re.findall(r"^\| ([^|]+?) \|", PAGE, re.M)
    assert {*VERDICTS, *setting.LEVELS, *settings.POLICIES} <= set(first)
    formats = {*re.findall(r"--format ([a-z]\w*)", PAGE)}
    assert formats <= {*exports.FORMATS} <= {"csv", *formats, *re.findall(r"`(\w+)`", PAGE)}
    begin = first.index("verdict") + 2
    assert first[begin : begin + len(VERDICTS)] == list(VERDICTS)


def test_the_page_names_no_command_and_no_option_that_is_not_there():
    options = set()

    def look(command):
        options.update(name for one in command.params for name in (*one.opts, *one.secondary_opts))
        for sub in getattr(command, "commands", {}).values():
            look(sub)

    app = get_command(cli.app)
    look(app)
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", PAGE, flags=re.S | re.M))
    named = [words.split() for words in inline if words.startswith("tito ")]
    assert len(named) >= 5
    for words in named:
        command = app.commands[words[1]]
        assert not hasattr(command, "commands") or words[2] in command.commands, words
    used = {word for words in inline for word in words.split() if re.fullmatch(r"--[a-z-]+", word)}
    others = {"--help", "--security-opt", "--lessons"}  # docker's, and the sample class's
    assert used - options == others


def test_the_time_until_a_run_is_taken_over_agrees_with_the_code():
    idle, interval, count = run_lock.KEEPALIVES.values()
    assert idle + interval * count == 120 and "after two minutes" in CLUSTER


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the jail is Linux's")
def test_the_commands_grade_a_class_on_a_cluster_into_postgresql(tmp_path):
    pytest.importorskip("distributed", reason="Dask's distributed is not installed")
    if reason := postgres.missing():
        pytest.skip(reason)
    small_course = course.open_root(make_course(tmp_path / "course"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = small_course.lesson("numbers").script.read_text(encoding="utf-8")
    for number in range(LEARNERS):
        path = tmp_path / "class" / "submissions" / f"learner{number}" / "numbers_dev.py"
        path.parent.mkdir(parents=True)
        path.write_text(f"{text}\n# {number}\n", encoding="utf-8")
    with contextlib.ExitStack() as stack:
        replaced = {
            "postgresql+psycopg://grader@10.0.0.1/class": stack.enter_context(postgres.server())(),
            "10.0.0.1:8786": f"127.0.0.1:{port}",
            "10.0.0.1": "127.0.0.1",
            "8786": str(port),
            "/class/submissions": str(tmp_path / "class" / "submissions"),
            "tensor": "numbers",
        }
        lines = []
        for text in re.findall(r"^```sh\n(.*?)^```$", CLUSTER, re.S | re.M):
            for old, new in replaced.items():
                text = text.replace(old, new)
            program, *words = shlex.split(text)
            lines.append([*PROGRAMS[program], *words])
        scheduler, worker, grade = lines
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"}
        running = {"cwd": tmp_path, "env": environment, "text": True}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        for line in (scheduler, worker):
            process = stack.enter_context(subprocess.Popen(line, **running, **quiet))
            stack.callback(process.terminate)
        grade[3:3] = ["--root", str(small_course.path)]
        for graded in (LEARNERS, 0):
            done = subprocess.run(grade, **running, capture_output=True, timeout=300)
            assert done.returncode == 0, done.stderr
            assert done.stdout.startswith(f"{graded} of {LEARNERS} submissions graded in")
