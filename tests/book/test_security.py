"""The page on security is true: every promise names its tests, each of them exists, the limits are
those of the code, and the commands run.
"""

import ast
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from commands import tito
from small_course import make_course
from some_results import result, save

from tito.grading import setting
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.jail import judge, proxy, reader, wire
from tito.grading.setting import LIMITS, Setting
from tito.lesson import course

REPOSITORY = Path(__file__).parents[2]
TESTS = REPOSITORY / "tests" / "tito"
PAGE = (REPOSITORY / "book" / "security.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", PAGE, re.S | re.M))
PROMISES = (
    "What an attacker may try, and what is promised",
    "The page for graders",
    "What learners see of hidden checks",
)
NAMED = re.compile(r"`(test_\w+\.py)::(test_\w+)`")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)  # (language, text)


def promises():
    items = [item for name in PROMISES for item in re.split(r"^- ", SECTIONS[name], flags=re.M)[1:]]
    return {re.search(r"\*\*(.+?)\.?\*\*", item)[1]: item.split("\n\n")[0] for item in items}


@pytest.mark.parametrize("promise", promises())
def test_each_promise_names_a_test_and_each_named_test_exists(promise):
    named = NAMED.findall(promises()[promise])
    assert named, "nothing holds this promise"
    for file, test in named:
        (path,) = TESTS.rglob(file)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_tests_are_named_in_promises_only():
    """A test named in another section would not be looked up."""
    assert len(NAMED.findall(PAGE)) == len(NAMED.findall("".join(promises().values()))) > 40
    assert "::" not in NAMED.sub("", PAGE)


@pytest.mark.parametrize("level", setting.LEVELS)
def test_the_page_names_each_level_of_isolation(level):
    assert f"`{level}`" in PAGE


def test_the_limits_on_the_page_agree_with_the_code():
    limits, seconds = LIMITS, Setting.seconds
    for told in (
        f"reading one lesson (parse, export, compile) | {reader.EACH} s of processor time",
        f"{reader.SECONDS} s of processor time, {reader.MEMORY >> 10} GB of memory",
        f"| size of a script | {limits.file // 10**6} MB |",
        f"| size of a notebook | {limits.notebook // 10**6} MB without its outputs, "
        f"{limits.zip // 10**6} MB with them |",
        f"| {limits.zip // 10**6} MB; of one in another {limits.inner_zip // 10**6} MB |",
        f"| {limits.unpacked // 10**9} GB with those in it, and without notebooks at most "
        f"{limits.ratio} times its size |",
        f"| files in an archive | {limits.members:,} with those in it |",
        f"| {limits.archives}, at most {limits.nested} deep, together {limits.held // 10**6} MB |",
        f"| one check | {seconds:g} s |",
        f"| memory of one check | {Setting.memory:,} MB |",
        f"| {wire.LONGEST_JSON >> 20} MB of text and {wire.LONGEST_BLOBS >> 20} MB of arrays |",
        f"| {proxy.LARGEST >> 20} MB; each byte of text counts as {proxy.TEXT} bytes |",
        f"| {setting.SUBMISSION_LIMIT} times one check's time, at least "
        f"{setting.LEAST_SUBMISSION_SECONDS} s |",
        f"{judge.MOST_RECEIVED >> 20} MB |",
        f"| {setting.EXCUSED} times its limit |",
        f"| depth of a value | {wire.DEEPEST} |",
        f"| keys of a dictionary | {wire.MOST_KEYS:,} |",
    ):
        assert told in SECTIONS["Limits"], told


def smaller(line):
    """A command of the page that does less: the tests it names are listed, fewer inputs tried."""
    words = shlex.split(line.replace("--inputs 1000", "--inputs 40"))
    words += ["--collect-only"] * ("pytest" in words)
    return ([sys.executable, "-m", "tito"] if words[0] == "tito" else [sys.executable]) + words[1:]


@pytest.mark.slow
def test_every_command_on_the_page_works_and_prints_what_it_shows():
    (_, block), (_, shown) = BLOCK.findall(SECTIONS["How it is tested"])
    lines = block.strip().split("\n")
    assert len(lines) == 3
    for line in lines:
        done = subprocess.run(
            smaller(line), capture_output=True, text=True, cwd=REPOSITORY, timeout=300
        )
        assert done.returncode == 0, f"{line}:\n{done.stdout}{done.stderr}"
    assert done.stdout.strip().split("\n")[-1].startswith(shown.removesuffix("...\n"))


def test_a_learners_data_are_given_deleted_and_archived_as_the_page_says(tmp_path):
    root = course.open_root(make_course(tmp_path / "course"))
    with open_gradebook(root.state / "gradebook.db") as book:
        for student in ("ada", "bob"):
            save(book, [result(student)], None, "me")
    blocks = BLOCK.findall(SECTIONS["Data about learners"])
    out = ""
    for line in "".join(text for _, text in blocks).splitlines():
        line, _, place = line.partition(" > ")
        out, _ = tito(root, *shlex.split(line)[1:])
        if place:
            assert json.loads(out)["stored"]["learner"][0]["student"] == "ada"
    assert [grade["student"] for grade in json.loads(out)] == ["bob"]
    with open_gradebook(tmp_path / "archive" / "2026.db", create=False) as copy:
        assert [learner.student for learner in copy.learners()] == ["bob"]
    assert len(list((tmp_path / "feedback" / "learners").iterdir())) == 1


def test_the_page_for_who_approves_names_each_criterion_and_level_once():
    """WCAG 2.2, A and AA: the numbers in each guideline; 4.1.1 was taken out of it."""
    page = (REPOSITORY / "book" / "approval.md").read_text(encoding="utf-8")
    table = page.partition("## Accessibility")[2]
    named = [one for line in re.findall(r"^\| ([\d., ]+)", table, re.M) for one in
             re.findall(r"\d\.\d\.\d+", line)]  # fmt: skip
    last = {
        "1.1": 1,
        "1.2": 5,
        "1.3": 5,
        "1.4": 5,
        "2.1": 2,
        "2.2": 2,
        "2.3": 1,
        "2.4": 7,
        "2.5": 4,
    }
    last |= {"3.1": 2, "3.2": 4, "3.3": 4}
    criteria = {
        f"{guide}.{number}" for guide, most in last.items() for number in range(1, most + 1)
    }
    criteria |= {"1.4.10", "1.4.11", "1.4.12", "1.4.13", "2.1.4", "2.4.11", "2.5.7", "2.5.8"}
    criteria |= {"3.2.6", "3.3.7", "3.3.8", "4.1.2", "4.1.3"}
    assert len(criteria) == 55 and sorted(named) == sorted(criteria)
    assert re.findall(r"^\| ([\w+]+),", page, re.M) == list(setting.LEVELS)
