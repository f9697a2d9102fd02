"""What the book's own pages say is so: every command on them is one that tito takes, and what they
show works."""

import doctest
import html
import pkgutil
import re
import shutil
from pathlib import Path

import pytest
from commands import run_process
from small_course import introduce, make_course

from tito.author import leaks
from tito.book import generated_parts
from tito.lesson import course

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted(path.name for path in (REPOSITORY / "book").glob("*.md"))
COMMAND = re.compile(r"(?:bin/)?tito ([a-z][^`\n;|#]*)")


def commands(page):
    """The words of every `tito ...` in a page, in its blocks for a shell and between backticks."""
    text = (REPOSITORY / "book" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M)
    code = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))
    lines = [line for block in blocks for line in block.splitlines()] + code
    return [found.group(1).split() for line in lines if (found := COMMAND.match(line.strip()))]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_on_a_page_is_one_that_tito_takes(page):
    import typer

    from tito.cli.run import app

    wrong = []
    for words in commands(page):
        command, rest = (
            typer.main.get_command(app),
            words[: words.index("--")] if "--" in words else list(words),
        )
        while rest and hasattr(command, "commands") and rest[0] in command.commands:
            command = command.commands[rest.pop(0)]
        options = {
            name
            for parameter in command.params
            for name in [*parameter.opts, *parameter.secondary_opts]
        } | {"--help"}
        wrong += (
            [" ".join(words)]
            if command.name == "tito"
            or {word.split("=")[0] for word in rest if re.match(r"-(?![\d.])", word)} - options
            and not command.context_settings  # those are of a milestone's program
            else []
        )
    assert wrong == []


def test_the_pages_name_commands():
    assert ["start", "descent"] in commands("index.md") and sum(
        len(commands(page)) for page in PAGES
    ) > 20


@pytest.mark.slow
def test_a_learners_first_minutes_go_as_the_first_page_says(tmp_path):
    """Its commands in their order, in the folder that a clone makes; the environment is here."""
    text = (REPOSITORY / "book" / "index.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M)
    commands = block.splitlines()
    assert [line.split()[0] for line in commands] == ["bin/tito"] * 2
    mine = tmp_path / "my-tinytorch"
    assert run_process(REPOSITORY, "init", str(mine)).returncode == 0
    start, test = (run_process(mine, *command.split()[1:]) for command in commands)
    assert "open  modules/source/00_descent/descent_dev.py" in start.stdout
    assert test.returncode == 1
    assert "`bin/tito hint descent`" in text
    assert "hint 1 of" in run_process(mine, "hint", "descent").stdout


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True], ids=["own functions", "shared functions"])
def test_the_lesson_in_contributing_passes_the_gate(tmp_path, shared):
    """With either form of its checks; the second has functions of modules/source/checking.py."""
    text = (REPOSITORY / "book" / "contributing.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"`(\w+\.\w+)`:\n\n```\w+\n(.*?)^```", text, re.S | re.M))
    assert len(files) == 5
    if shared:
        [files["checks.py"]] = re.findall(r"^```python\n(# %% setup\n.*?)^```", text, re.S | re.M)
    course = make_course(tmp_path / "course")
    shutil.copy(REPOSITORY / "modules" / "source" / "checking.py", course / "modules" / "source")
    folder = course / "modules" / "source" / "90_mean"
    folder.mkdir()
    for name, part in files.items():
        (folder / name).write_text(part, encoding="utf-8")
    for command in ("export", "check"):
        done = run_process(course, command, "mean")
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_examples_on_the_page_for_those_who_know_pytorch_are_true():
    path = REPOSITORY / "book" / "from_pytorch.md"
    failed, tried = doctest.testfile(str(path), module_relative=False, encoding="utf-8")
    assert tried >= 10 and failed == 0


def test_every_name_beside_pytorchs_exists_here():
    """What PyTorch calls it, is asked of PyTorch in tests/tinytorch/test_against_torch.py."""
    missing = [
        here
        for entry in course.open_root(REPOSITORY).lessons
        for here in entry.declared.meta.get("pytorch", {})
        if here not in entry.declared.meta["terms"] and not exists(f"tinytorch.{here}")
    ]
    assert missing == []


def exists(name):
    """Whether a dotted name belongs to a module, or to an object in it."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_the_glossary_links_each_term_to_the_section_that_explains_it(tmp_path):
    root = make_course(tmp_path)
    chapter = root / "modules" / "source" / "01_numbers" / "numbers_dev.py"
    text = chapter.read_text(encoding="utf-8")
    introduce(root, {"sum": "torch.sum"})
    text = text.replace("# ## Tripling\n", "# ## The `sum` of three\n#\n# A **sum** is added.\n")
    chapter.write_text(text, encoding="utf-8")
    page = generated_parts.Parts(course.open_root(root), tmp_path).fill(
        "x.md", "<!-- made: glossary -->"
    )
    assert page == (
        "## S\n\n**sum**\n: A **sum** is added.\n\n"
        "  [01. Numbers](lessons/01_numbers/the-sum-of-three.html); in PyTorch `torch.sum`"
    )


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "book/index.md"])
def test_what_a_front_page_shows_first_works_and_gives_no_answer_away(page):
    """Its terminal begins with what is right, and holds no line of a solution."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    shown = [REPOSITORY / "book" / "_static" / name for name in re.findall(r"(\w+\.svg)", text)]
    assert [path.stem for path in shown] == ["spirals", "terminal"]
    lines = re.findall(r"<text[^>]*>(.*?)</text>", shown[1].read_text(encoding="utf-8"), re.S)
    said = [html.unescape(line).replace("\xa0", " ").strip() for line in lines]
    assert re.fullmatch(r"\d+ exercises right", next(one for one in said[1:] if one))
    root = course.open_root(REPOSITORY)
    assert [one for one in leaks.secrets(root) if len(one) > 12 and one in "\n".join(said)] == []
