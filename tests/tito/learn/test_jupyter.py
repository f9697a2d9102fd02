"""tito/learn/jupyter.py: JupyterLab into the environment of tito, or two lines and nothing done."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tito.errors import TitoError
from tito.learn import jupyter

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture
def pip(monkeypatch, tmp_path):
    """A fake pip, which records its arguments and gives a prepared answer."""
    answer = subprocess.CompletedProcess([], 0, "", "")

    def run(command, **options):
        answer.args = command
        return answer

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return answer


def test_it_asks_for_what_the_extra_of_the_project_names():
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    assert sorted(jupyter.requirements()) == sorted(extras[jupyter.EXTRA])


def test_pip_of_this_environment_installs_and_bin_setup_remembers_the_extra(pip, tmp_path):
    ready = tmp_path / "tito-ready"
    ready.write_text("/course\ninstructor\n", encoding="utf-8")
    for _ in range(2):
        jupyter.install()
    assert pip.args[:4] == [sys.executable, "-I", "-m", "pip"]
    assert set(jupyter.requirements()) < set(pip.args)
    assert ready.read_text(encoding="utf-8") == "/course\ninstructor notebook\n"


def test_an_environment_that_bin_setup_did_not_make_gets_no_file(pip, tmp_path):
    jupyter.install()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("said", "what"),
    [
        (
            "WARNING: Retrying ... NewConnectionError(...)\n"
            "ERROR: Could not find a version (from versions: none)\n"
            "ERROR: No matching distribution found for jupyterlab\n",
            "No network: JupyterLab could not be fetched. Nothing was changed.",
        ),
        (
            "Collecting jupyterlab\nERROR: no wheel for this Python\n[notice] hello\n",
            "pip could not install JupyterLab: ERROR: no wheel for this Python",
        ),
        ("", "pip could not install JupyterLab: no reason given"),
    ],
)
def test_a_failure_is_two_lines_and_nothing_is_remembered(pip, tmp_path, said, what):
    (tmp_path / "tito-ready").write_text("/course\n\n", encoding="utf-8")
    pip.returncode, pip.stderr = 1, said
    with pytest.raises(TitoError) as error:
        jupyter.install()
    assert error.value.what == what and error.value.remedy and error.value.code == 3
    assert (tmp_path / "tito-ready").read_text(encoding="utf-8") == "/course\n\n"
