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


def test_a_file_that_shadows_a_module_is_named_and_what_to_rename(small_workspace, tmp_path):
    root, foreign = small_workspace.path, tmp_path / "foreign"
    lesson = small_workspace.lesson("numbers").script.parent
    for path in (root / "random.py", foreign / "rich/__init__.py", lesson / "copy.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n", encoding="utf-8")
    # None of these hides a module: a folder of data, a built-in one, one of the learner's own.
    (root / "json").mkdir()
    for name in ("sys.py", "time.py", "my_experiment.py", "test.py", ".py", "random copy.py"):
        (root / name).touch()
    done = tito(root, "doctor", "--json", PYTHONPATH=str(foreign))
    problems = {f["what"]: f for f in json.loads(done.stdout) if f["state"] == "problem"}
    assert done.returncode == 3 and problems.keys() == {"random", "rich", "copy"}
    assert str(root / "random.py") in problems["random"]["value"]
    assert "my_random.py" in problems["random"]["remedy"]
    assert str(foreign / "rich") in problems["rich"]["value"]
    assert str(lesson / "copy.py") in problems["copy"]["value"]


@pytest.mark.slow
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


def surroundings(folder="/home/ada/my-tinytorch"):
    return {finding.what: finding for finding in doctor._surroundings(Path(folder))}


@pytest.mark.parametrize(
    "folder, place",
    [
        ("/Users/ada/OneDrive - School/work", "OneDrive - School"),
        ("/Users/ada/Library/Mobile Documents/com~apple~CloudDocs/work", "Mobile Documents"),
        ("/home/ada/Dropbox/work", "Dropbox"),
    ],
)
def test_a_folder_that_is_synchronized_is_named(folder, place):
    finding = surroundings(folder)["folder"]
    assert f" is in {place}, " in finding.value and "Move it" in finding.remedy


def test_the_python_of_the_microsoft_store_and_the_base_of_conda_are_named(monkeypatch):
    store = r"C:\Program Files\WindowsApps\PythonSoftwareFoundation.Python.3.12"
    monkeypatch.setattr(sys, "base_prefix", store)
    assert "python.org" in surroundings()["Python"].remedy
    monkeypatch.setenv("CONDA_PREFIX", sys.prefix)
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "base")
    assert "conda activate" in surroundings()["conda"].remedy
    monkeypatch.setattr(sys, "prefix", "/home/ada/.venv")  # an environment made by base's Python
    assert "conda" not in surroundings()


def test_a_terminal_without_utf_8_is_named(small_workspace):
    findings = json.loads(
        tito(small_workspace.path, "doctor", "--json", PYTHONIOENCODING="cp1252").stdout
    )
    (finding,) = [finding for finding in findings if finding["what"] == "terminal"]
    assert "cp1252" in finding["value"] and "PYTHONUTF8" in finding["remedy"]


LONG = """
import sys
from pathlib import Path
from types import SimpleNamespace
from tito.learn import doctor
fake = SimpleNamespace(
    HKEY_LOCAL_MACHINE=0,
    OpenKey=lambda *place: open(0, closefd=False),
    QueryValueEx=lambda key, name: (int(sys.argv[1]), 4),
)
sys.modules["winreg"] = fake
print(*[f.remedy for f in doctor._surroundings(Path("/a" * 70)) if f.what == "paths"])
"""


@pytest.mark.slow
def test_a_folder_too_deep_for_windows_is_a_problem_unless_long_paths_are_on():
    emulator = [sys.executable, REPOSITORY / "tools" / "other_systems.py", "windows", "-c", LONG]
    off, on = (subprocess.check_output([*emulator, has], text=True) for has in ("0", "1"))
    assert "at most 110" in off and "paths" not in on


def test_the_longest_path_of_a_workspace_has_room_below_the_longest_folder():
    lessons = (REPOSITORY / "modules" / "source").glob("*/*_dev.py")
    script = max(len(str(path.relative_to(REPOSITORY))) for path in lessons)
    name = max(len(path.name) for path in (REPOSITORY / "modules" / "source").glob("*/*_dev.py"))
    backup = len("/.tito/backups/.12345678.tito-tmp/files/")
    notebook_being_written = script + len(".ipynb") - len(".py") + len("..12345678.tito-tmp")
    assert name < script and doctor.LONGEST_FOLDER + backup + notebook_being_written < 248
