"""The workflow that tests this repository on GitHub: its Pythons are supported ones, and its
commands exist. Nothing here runs it.
"""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[1]
TEXT = (REPOSITORY / ".github/workflows/ci.yml").read_text(encoding="utf-8")
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture
def job():
    (job,) = yaml.safe_load(TEXT)["jobs"].values()
    return job


def supported():
    """The versions of Python in pyproject.toml, the oldest first."""
    found = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    return sorted(found, key=lambda version: int(version.split(".")[1]))


def test_it_runs_on_each_system_with_the_oldest_and_the_newest_supported_python(job):
    systems = job["strategy"]["matrix"]["os"]
    assert [name.split("-")[0] for name in systems] == ["ubuntu", "macos", "windows"]
    versions = supported()
    assert job["strategy"]["matrix"]["python"] == [versions[0], versions[-1]]
    assert PROJECT["requires-python"] == f">={versions[0]}"


def test_the_readme_names_the_same_versions():
    *others, newest = supported()
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert f"({', '.join(others)} and {newest} are tested)" in readme


def test_its_first_lines_say_that_it_has_not_run_yet():
    assert "has not run yet" in "".join(TEXT.splitlines(keepends=True)[:3])


def test_its_commands_exist_and_it_pins_what_it_uses(job):
    commands = [step["run"] for step in job["steps"] if "run" in step]
    words = " ".join(commands).replace("\\", "/").split()
    paths = [word for word in words if "/" in word]
    assert {"bin/setup.py", "bin/test", "bin/test.cmd", "tests/tito/grading"} <= set(paths)
    assert [path for path in paths if not (REPOSITORY / path).exists()] == []
    assert "dev" in PROJECT["optional-dependencies"]
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert used and all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", one) for one in used)


def test_one_step_tests_on_each_system(job):
    where = [step["if"] for step in job["steps"] if "if" in step]
    assert where == [f"runner.os == '{name}'" for name in ("Linux", "macOS", "Windows")]
