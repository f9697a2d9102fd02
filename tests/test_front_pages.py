"""The pages at the root of the repository: each link leads somewhere, each command and file they
name is there.

That the README's commands and its example work is tested in tests/tito/test_cli.py.
"""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from tito.author import wheel
from tito.cli import run as cli
from tito.lesson import course

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")


def text(name):
    return (REPOSITORY / name).read_text(encoding="utf-8")


def test_the_pages_know_how_many_lessons_there_are():
    number = len(course.open_root(REPOSITORY).lessons)
    pages = {page: text(page) for page in ("README.md", "book/index.md", "book/teaching.md")}
    said = {
        page: re.findall(r"(?:in|contains) (\d+) lessons", page_text)
        for page, page_text in pages.items()
    }
    assert said == {page: [str(number)] for page in pages}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file(page):
    targets = re.findall(r"\]\(([^)]+)\)", text(page))
    assert [path for path in targets if not (REPOSITORY / path).exists()] == []
    assert page == "CHANGELOG.md" or targets


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_every_path_in_a_page_is_there(page):
    commands = set(get_command(cli.app).commands)
    named = re.findall(r"`([^`\n]+)`", text(page)) + [
        line
        for block in re.findall(r"```sh\n(.*?)```", text(page), re.S)
        for line in block.split("\n")
    ]
    words = [re.match(r"(?:bin/)?tito (\w+)", code) for code in named]
    assert {match.group(1) for match in words if match} <= commands
    paths = [
        path
        for code in named
        for path in re.findall(
            r"^(?:\w+ )?((?:bin|binder|book|benchmarks|tests|tito|tinytorch|tools|modules"
            r"|\.devcontainer|\.github)/[\w./-]*)",
            code,
        )
    ]
    wheels = re.findall(r"`(\S+\.whl)`", text(page))
    assert page != "README.md" or wheels == [wheel.name()]
    assert (
        len(paths) >= 1
        and [
            path
            for path in paths
            if "NN_" not in path
            and path != "tinytorch/core/name.py"
            and not (REPOSITORY / path).exists()
        ]
        == []
    )


def test_the_changelog_names_every_command_and_this_version():
    version = tomllib.loads(text("pyproject.toml"))["project"]["version"]
    first = re.search(r"^## (\S+)\n(.*?)(?=^## |\Z)", text("CHANGELOG.md"), re.S | re.M)
    assert first.group(1) == version
    if version == "0.1.0":  # the first version: all there is
        commands = get_command(cli.app).commands
        assert [name for name in commands if f"`{name}`" not in first.group(2)] == []


def test_the_readme_shows_its_pictures_with_words_for_who_cannot_see_it():
    shown = re.findall(r'<img src="([^"]+)" width="\d+%" alt="([^"]+)">', text("README.md"))
    assert len(shown) == text("README.md").count("<img") == 2
    assert all(len(alt) > 40 and (REPOSITORY / path).exists() for path, alt in shown)


def test_the_citation_names_this_version_and_what_one_needs_to_cite():
    project = tomllib.loads(text("pyproject.toml"))["project"]
    cited = yaml.safe_load(text("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
    assert cited["cff-version"] == "1.2.0" and cited["type"] == "software"
    assert (str(cited["version"]), cited["license"]) == (project["version"], project["license"])
    authors = [[author["name"] for author in owner["authors"]] for owner in (cited, project)]
    assert authors[0] == authors[1]
    assert all(isinstance(cited[key], str) and cited[key] for key in ("message", "title"))


@pytest.mark.parametrize("page", ["README.md", "book/index.md"])
def test_a_front_page_counts_the_lessons(page):
    lessons = [*REPOSITORY.glob("modules/source/[0-9]*_*/lesson.toml")]
    assert f"in {len(lessons)} lessons" in text(page)
