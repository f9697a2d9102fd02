"""The page for learners is true: its commands run, in their order, and print what it shows.

They run on a small course; REPLACED says what has another name there.
"""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from commands import tito
from small_course import edit, make_course

from tito.learn.demonstrations import find_demonstrations
from tito.lesson import course

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "book" / "learning.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.S | re.M)  # [(language, text)]
REPLACED = [
    ("02_tensor", "01_numbers"),
    ("tensor-strides", "numbers-double"),
    ("tensor strides", "numbers double"),
    ("02_tensor", "01_numbers"),
    ("tensor", "numbers"),
    ("02 Tensor  Arrays with shapes, strides, broadcasting, ...", "01 Numbers ..."),
]
ENDS_WITH_1 = ("test numbers", "test numbers-double")  # nothing is written yet


def replaced(text):
    for old, new in REPLACED:
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """[(command, what it printed, what the page shows of it)]: every `tito ...` in the blocks."""
    base = tmp_path_factory.mktemp("learning").resolve()
    make_course(base / "course")
    next_edition(make_course(base / "my-course-2"))
    folder, found = base / "course", []
    for (language, block), (after, excerpt) in zip(BLOCKS, [*BLOCKS[1:], ("", "")]):
        for line in replaced(block).splitlines() if language == "sh" else ():
            words = shlex.split(line)
            if words[0] == "cd":
                folder = (folder / words[1]).resolve()
            if words[0] not in ("tito", "bin/tito"):
                assert words[0] in ("cd", ".", "git", "bin/setup"), line
                continue
            words = words[1:]
            if words[0] == "notebook":
                words.append("--no-open")
            if words[0] == "update":
                write(course.open_root(folder).lesson("numbers"))
            code = " ".join(words) in ENDS_WITH_1
            out, _ = tito(folder, *words, code=code)
            found.append((line, out, replaced(excerpt) if after == "text" else ""))
    return found


def next_edition(folder):
    """Make a course the second edition, in which the exercise has another name."""
    lesson = folder / "modules" / "source" / "01_numbers"
    for path, old, new in (
        (folder / "tito.toml", 'edition = "1"', 'edition = "2"'),
        (lesson / "numbers_dev.py", '"double"', '"twice"'),
        (lesson / "checks.py", "# %% double", "# %% twice"),
        (lesson / "hints.md", "## double", "## twice"),
    ):
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")


def write(entry):
    """What a learner has written by then: in the exercise, and into the course's own text."""
    stub = next(
        line
        for line in entry.script.read_text(encoding="utf-8").split("\n")
        if "NotImplementedError" in line and "numbers-double" in line
    )
    edit(entry, stub, "    return x + x")
    edit(entry, "LIMIT = 10", "LIMIT = 11")


@pytest.mark.slow
def test_every_command_on_the_page_works(runs):
    assert [line.split()[1] for line, *_ in runs] == (
        "init start test test hint notebook update undo".split()
    )


@pytest.mark.slow
def test_what_the_page_shows_is_what_they_print(runs):
    """Line by line, in order. `...` stands for lines that were left out, or for the rest of a
    line."""
    for line, out, excerpt in runs:
        lines = iter(out.splitlines())
        for shown in excerpt.splitlines():
            if shown.strip() == "...":
                continue
            wanted, rest = shown.removesuffix("...").rstrip(), shown.endswith("...")
            assert any(one == wanted or (rest and one.startswith(wanted)) for one in lines), (
                f"After {line} the page shows\n{shown}\nwhich is not in:\n{out}"
            )
    assert sum(bool(excerpt) for *_, excerpt in runs) == 2


def test_what_the_page_shows_of_watch_is_what_the_lesson_asks_draws_and_is_called():
    (block,) = (text for _, text in BLOCKS if text.startswith("Results with your code"))
    words = " ".join(block.split())
    entry = course.open_root(REPOSITORY).lesson("tensor")
    asked = next(
        row for row in find_demonstrations(entry, entry.declared.source) if row.before == 1
    )
    code = " ".join(asked.source.partition("  # alt:")[0].split())
    for part in (
        f"{asked.heading} {code} {asked.question} your prediction? (enter to see)",
        f"picture .tito/results/02_tensor/row-major-order-and-strides-...-1-0.svg {asked.alt}",
    ):
        assert part in words
    assert "open  modules/source/02_tensor/tensor_dev.py\n" in PAGE


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_the_progress_leaves_git_and_stays_on_the_disk(tmp_path):
    (command,) = (text for _, text in BLOCKS if text.startswith("git rm"))
    progress = tmp_path / ".tito" / "progress.json"
    progress.parent.mkdir()
    progress.write_text("{}", encoding="utf-8")

    def git(*words):
        done = subprocess.run(
            ["git", *words], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        return done.stdout

    git("init", "-q")
    git("add", ".tito/progress.json")
    git(*shlex.split(command)[1:])
    assert git("ls-files") == "" and progress.exists()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_the_commands_to_push_and_to_hand_in_push_and_the_workflow_knows_the_tag(tmp_path):
    push, hand_in = (text for _, text in BLOCKS if text.startswith(("git add", "git tag")))
    script = f"""
        git init -q --bare origin
        git clone -q origin mine
        cd mine
        git config user.name Ada
        git config user.email ada@example.org
        git config push.default current
        echo 1 > file
        {push}
        {hand_in}
        git ls-remote --tags origin
    """
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    tag = done.stdout.split()[-1]
    workflow = REPOSITORY / "tito/author/released/.github/workflows/lessons.yml"
    beginning = re.search(r"startsWith\(github.ref, '(.*)'\)", workflow.read_text("utf-8"))[1]
    assert tag == "refs/tags/hand-in-1" and tag.startswith(beginning)


def test_the_pictures_exist_and_the_drawing_is_up_to_date():
    pictures = re.findall(r'<img src="(_static/[\w.]+)" alt="[^"]{60,}">', PAGE)
    assert len(pictures) == PAGE.count("<img") == 2
    assert all((REPOSITORY / "book" / path).stat().st_size > 1000 for path in pictures)
    drawing = (REPOSITORY / "book" / "_static" / "vscode.svg").read_text(encoding="utf-8")
    chapter = course.open_root(REPOSITORY).lesson("tensor").script.read_text(encoding="utf-8")
    lines = re.findall(r'<text class="" x="18"[^>]*>([^<]+)</text>', drawing)
    assert len(lines) >= 3 and all(line in chapter for line in lines), (
        "the lesson says something else now: python book/screens.py"
    )
    assert "A drawing, not a screenshot" in drawing
