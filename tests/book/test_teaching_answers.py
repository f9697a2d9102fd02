"""The section on free answers of the page for instructors is true: its commands run, in order, and
print what it shows.
"""

import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from small_course import SUMS, make_course, with_question

from tito.learn import workspace
from tito.lesson import cells, course, lesson_format

PAGE = (Path(__file__).parents[2] / "book" / "teaching.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Free answers\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^ *```(\w+)\n(.*?)^ *```$", SECTION, re.S | re.M)
CLASS = {
    "ito.rosa": "Each output lies between 0 and 1, and they sum to 1.",
    "kim.lee": "It makes the largest one 1.",
    "zoe": "",
}

# Without a jail, which needs no proof here.
TITO = """#!/bin/sh
[ "$1" = grade ] && set -- "$@" --isolation process --jobs 1
exec {python} -m tito "$@"
"""


@pytest.fixture
def root(tmp_path):
    """The small course, whose second lesson asks the page's question, and a class beside it."""
    folder = make_course(tmp_path / "course")
    chapter = with_question(SUMS, "# %% [markdown]\n# ## Look back")
    chapter = chapter.replace('question="why"', 'question="why-softmax"')
    (folder / "modules/source/02_sums/sums_dev.py").write_text(chapter, "utf-8")
    root = course.open_root(folder)
    for student, answer in CLASS.items():
        workspace.init(tmp_path / "class" / "submissions" / student, root)
        entry = course.open_root(tmp_path / "class" / "submissions" / student).lesson("sums")
        source = cells.read(root.lesson("sums").script)
        cell = source.task_cell("why-softmax")
        text = source.replaced(cell, lesson_format.answered(cell.source, answer))
        entry.script.write_text(text, encoding="utf-8")
    return root


def plain(line):
    """A line without what differs from run to run: times, who, spaces between columns."""
    line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "...", line)
    line = re.sub(r"\bby \S+:", "by WHO:", line)
    return " ".join(re.sub(r" \S+ (?=Each output)", " WHO ", line).split())


@pytest.mark.slow
def test_the_commands_print_what_the_section_shows(root, tmp_path):
    assert [language for language, _ in BLOCKS] == ["sh", "text"] * 2
    program = tmp_path / "programs" / "tito"
    program.parent.mkdir()
    program.write_text(TITO.format(python=shlex.quote(sys.executable)), encoding="utf-8")
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    for (_, commands), (_, shown) in zip(BLOCKS[::2], BLOCKS[1::2]):
        done = subprocess.run(
            ["bash", "-e", "-c", textwrap.dedent(commands).replace("losses", "sums")],
            cwd=root.path,
            env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout
        printed = [plain(line) for line in done.stdout.split("\n")]
        for line in shown.replace("losses", "sums").strip().split("\n"):
            if line.strip() != "...":
                assert plain(line) in printed, done.stdout
