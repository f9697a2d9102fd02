"""The section on free answers of the page for instructors is true: its commands run, in order, and
print what it shows.
"""

import re
import shlex
from pathlib import Path

import pytest
from commands import tito
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
def test_the_commands_print_what_the_section_shows(root):
    assert [language for language, _ in BLOCKS] == ["sh", "text"] * 3
    for (_, commands), (_, shown) in zip(BLOCKS[::2], BLOCKS[1::2]):
        out = ""
        for line in commands.replace("losses", "sums").strip().split("\n"):
            words = shlex.split(line)[1:]
            limits = ["--isolation", "process", "--jobs", "1"] if words[0] == "grade" else []
            out += "".join(tito(root, *words, *limits)[::-1])
        printed = [plain(line) for line in out.split("\n")]
        for line in shown.replace("losses", "sums").strip().split("\n"):
            if line.strip() != "...":
                assert plain(line) in printed, out
