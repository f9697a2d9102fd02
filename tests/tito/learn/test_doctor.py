"""tito/learn/doctor.py: what a machine lacks, and how to fix it."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tito.learn import doctor, jupyter

REPOSITORY = Path(__file__).resolve().parents[3]


def examined(root):
    return {finding.what: finding for finding in doctor.examine(root.path)}


def tito(cwd, *words, python=sys.executable, **variables):
    return subprocess.run(
        [python, "-m", "tito", *words],
        cwd=cwd,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


def test_whatever_is_not_ok_has_a_remedy(small_workspace, monkeypatch):
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("PATH", str(small_workspace.path))
    monkeypatch.setattr(jupyter, "missing", lambda: ["jupyterlab"])
    result = doctor.examine(small_workspace.path)
    assert {f.state for f in result} <= {"ok", "problem", "optional"}
    assert [f.what for f in result if f.state != "ok" and not f.remedy] == []
    assert {f.what for f in result if f.state != "ok"} >= {"notebook"}
    assert [f.what for f in result if not f.value] == []


def test_a_sound_workspace_has_no_problem(small_workspace):
    result = tito(small_workspace.path, "doctor")
    assert (result.returncode, result.stderr) == (0, "")
    assert str(small_workspace.path / "tinytorch") in result.stdout


def test_json_has_the_same_findings(small_workspace):
    result = tito(small_workspace.path, "doctor", "--json")
    assert result.returncode == 0
    findings = json.loads(result.stdout)
    assert [f["what"] for f in findings] == [f.what for f in doctor.examine(small_workspace.path)]
    assert all(set(f) == {"state", "what", "value", "remedy"} for f in findings)


def test_outside_a_root_the_exit_code_is_3_and_says_what_to_do(tmp_path):
    for words in (["doctor"], ["doctor", "--json"]):
        result = tito(tmp_path, *words)
        assert result.returncode == 3
        assert "tito init" in result.stdout


@pytest.fixture
def bare_python(tmp_path):
    """A Python that sees the same packages, but without tito's finder at its start."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    packages = next(
        (tmp_path / "bare").glob("lib/python*/site-packages"), tmp_path / "bare/Lib/site-packages"
    )
    (packages / "more.pth").write_text(
        f"{sysconfig.get_path('purelib')}\n{REPOSITORY}\n", encoding="utf-8"
    )
    return tmp_path / "bare" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def test_another_package_that_would_be_imported_is_a_problem(
    small_workspace, tmp_path, bare_python
):
    # -c puts the current folder first, so a rival needs a hook: what an editable installation of
    # another course has.
    rival = tmp_path / "rival"
    (rival / "tinytorch").mkdir(parents=True)
    (rival / "tinytorch" / "__init__.py").write_text("", encoding="utf-8")
    (rival / "sitecustomize.py").write_text(
        "import importlib.util as u, sys\nclass Rival:\n    def find_spec(self, name, path=None,"
        " target=None):\n        if name == 'tinytorch': return u.spec_from_file_location(name,"
        f" {str(rival / 'tinytorch' / '__init__.py')!r},"
        f" submodule_search_locations=[{str(rival / 'tinytorch')!r}])\nsys.meta_path.insert(0,"
        " Rival())\n",
        encoding="utf-8",
    )
    result = tito(
        small_workspace.path, "doctor", "--json", python=bare_python, PYTHONPATH=str(rival)
    )
    finding = {f["what"]: f for f in json.loads(result.stdout)}["import tinytorch"]
    assert (result.returncode, finding["state"]) == (3, "problem")
    assert str(rival) in finding["value"] and "PYTHONPATH" in finding["remedy"]


def test_a_rival_on_pythonpath_that_loses_is_no_problem(small_workspace, tmp_path):
    (tmp_path / "rival" / "tinytorch").mkdir(parents=True)
    (tmp_path / "rival" / "tinytorch" / "__init__.py").write_text("", encoding="utf-8")
    result = tito(small_workspace.path, "doctor", "--json", PYTHONPATH=str(tmp_path / "rival"))
    finding = {f["what"]: f for f in json.loads(result.stdout)}["import tinytorch"]
    assert (finding["state"], finding["value"]) == ("ok", str(small_workspace.path / "tinytorch"))


@pytest.mark.parametrize(
    "text, told",
    [
        ("raise ValueError('no luck')", "no luck"),
        ("x = = 1", "SyntaxError"),
        ("while True: pass", "takes longer than"),
    ],
)
def test_a_package_that_cannot_be_imported_is_a_problem(small_workspace, monkeypatch, text, told):
    monkeypatch.setattr(doctor, "IMPORT_SECONDS", 2)
    (small_workspace.path / "tinytorch" / "__init__.py").write_text(text, encoding="utf-8")
    result = examined(small_workspace)["import tinytorch"]
    assert result.state == "problem" and told in result.value and result.remedy


def test_a_missing_package_is_a_problem_with_the_command_that_mends_it(small_workspace):
    (small_workspace.path / "tinytorch" / "__init__.py").unlink()
    result = examined(small_workspace)["import tinytorch"]
    assert result.state == "problem" and "tito init ." in result.remedy


def test_what_the_package_prints_is_not_taken_for_its_place(small_workspace, monkeypatch):
    (small_workspace.path / "tinytorch" / "__init__.py").write_text(
        "print('größe', end='')", encoding="utf-8"
    )
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    assert examined(small_workspace)["import tinytorch"].state == "ok"


def test_a_damaged_lesson_is_a_problem(small_workspace):
    small_workspace.lesson("numbers").declared_path.write_text("x = 1\n", encoding="utf-8")
    result = tito(small_workspace.path, "doctor", "--json")
    finding = {f["what"]: f for f in json.loads(result.stdout)}["lessons"]
    assert (result.returncode, finding["state"]) == (3, "problem")
    assert "numbers_dev.py" in finding["value"] and finding["remedy"]
