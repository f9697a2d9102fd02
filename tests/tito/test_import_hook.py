"""tito/import_hook.py: whose `tinytorch` is imported, and from which folders tito imports. Each
question is put to a fresh Python.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tito import import_hook

TITO = Path(__file__).resolve().parents[2] / "tito"
WHOSE = "import tinytorch; print(tinytorch.WHOSE)"


@pytest.fixture(scope="session")
def python(tmp_path_factory):
    """An environment's Python with tito in it, as an installation leaves it."""
    venv = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    packages = next(venv.glob("lib/python*/site-packages"), venv / "Lib" / "site-packages")
    (packages / "start.pth").write_text(
        f"import sys; sys.path.append({str(TITO.parent)!r}); "
        f"exec({import_hook.IMPORT!r}); sys.path.pop(); exec({import_hook.INSTALL!r})\n",
        encoding="utf-8",
    )
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def make_root(folder, package=True):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tito.toml").write_text("[workspace]\n", encoding="utf-8")
    if package:
        make_package(folder, folder.name)
    return folder


def make_package(folder, whose):
    (folder / "tinytorch" / "core").mkdir(parents=True)
    (folder / "tinytorch" / "__init__.py").write_text(f"WHOSE = {whose!r}\n", encoding="utf-8")
    (folder / "tinytorch" / "core" / "tensor.py").write_text(
        f"WHOSE = {whose!r}\n", encoding="utf-8"
    )


def ask(python, *words, cwd, **variables):
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TINYTORCH_ROOT")}
    return subprocess.run(
        [python, *words],
        cwd=cwd,
        env={**env, "PYTHONUTF8": "1", **variables},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


def test_a_script_gets_the_package_of_the_root_it_lies_in(python, tmp_path):
    mine, other = make_root(tmp_path / "mine"), make_root(tmp_path / "other")
    script = mine / "modules" / "source" / "02_tensor" / "tensor_dev.py"
    script.parent.mkdir(parents=True)
    script.write_text(WHOSE, encoding="utf-8")
    for cwd in (mine, other, tmp_path, script.parent):
        assert ask(python, script, cwd=cwd).stdout == "mine\n", f"started in {cwd}"


def test_without_a_script_the_current_folder_decides(python, tmp_path):
    deep = make_root(tmp_path / "mine") / "modules" / "source"
    deep.mkdir(parents=True)
    assert ask(python, "-c", WHOSE, cwd=deep).stdout == "mine\n"


def test_a_script_outside_any_root_uses_the_current_folder(python, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(WHOSE, encoding="utf-8")
    assert ask(python, script, cwd=make_root(tmp_path / "mine")).stdout == "mine\n"


def test_the_nearest_root_wins(python, tmp_path):
    inner = make_root(make_root(tmp_path / "outer") / "inner")
    assert ask(python, "-c", WHOSE, cwd=inner).stdout == "inner\n"


def test_another_package_on_pythonpath_loses(python, tmp_path):
    make_package(tmp_path / "reference", "reference")
    mine = make_root(tmp_path / "mine")
    submodule = "import tinytorch.core.tensor as t; print(t.WHOSE)"
    for code in (WHOSE, submodule):
        assert (
            ask(python, "-c", code, cwd=mine, PYTHONPATH=str(tmp_path / "reference")).stdout
            == "mine\n"
        )


def test_a_root_without_a_package_is_an_error_and_no_other_package_is_imported(python, tmp_path):
    make_package(tmp_path / "reference", "reference")
    root = make_root(tmp_path / "empty", package=False)
    answer = ask(python, "-c", WHOSE, cwd=root, PYTHONPATH=str(tmp_path / "reference"))
    assert answer.returncode == 1
    assert answer.stderr.splitlines()[-1].startswith(
        f"ModuleNotFoundError: {root} has no tinytorch"
    )


def test_outside_any_root_python_goes_on_as_usual(python, tmp_path):
    make_package(tmp_path / "reference", "reference")
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    assert (
        ask(python, "-c", WHOSE, cwd=nowhere, PYTHONPATH=str(tmp_path / "reference")).stdout
        == "reference\n"
    )
    assert "No module named 'tinytorch'" in ask(python, "-c", WHOSE, cwd=nowhere).stderr


def test_a_tool_from_an_environment_inside_another_root_does_not_decide(tmp_path):
    """The course's .venv serves workspaces: `python -m pytest` there must test the workspace."""
    course, mine = make_root(tmp_path / "course"), make_root(tmp_path / "mine")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", course / ".venv"], check=True)
    packages = next(
        (course / ".venv").glob("lib/python*/site-packages"), course / ".venv/Lib/site-packages"
    )
    (packages / "tool.py").write_text(
        f"import sys; sys.path.append({str(TITO.parent)!r}); import tito.import_hook; "
        f"tito.import_hook.install(); {WHOSE}\n",
        encoding="utf-8",
    )
    python = course / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    assert ask(python, "-m", "tool", cwd=mine).stdout == "mine\n"


def test_a_given_root_holds(python, tmp_path):
    mine, other = make_root(tmp_path / "mine"), make_root(tmp_path / "other")
    code = f"from tito.import_hook import install; install({str(mine)!r}); install(); {WHOSE}"
    assert ask(python, "-c", code, cwd=other).stdout == "mine\n"


def test_links_spaces_and_other_alphabets_are_fine(python, tmp_path):
    root = make_root(tmp_path / "Zoë's käse 课程")
    script = root / "a b.py"
    script.write_text("import tinytorch; print(tinytorch.__file__)", encoding="utf-8")
    front = f"{root / 'tinytorch' / '__init__.py'}\n"
    assert ask(python, script, cwd=tmp_path).stdout == front
    (tmp_path / "link.py").symlink_to(script)
    assert ask(python, tmp_path / "link.py", cwd=tmp_path).stdout == front
    (tmp_path / "folder").symlink_to(root)
    assert Path(ask(python, tmp_path / "folder" / "a b.py", cwd=tmp_path).stdout.strip()).samefile(
        front.strip()
    )


def test_worker_processes_get_the_same_package_as_their_script(python, tmp_path):
    mine, other = make_root(tmp_path / "mine"), make_root(tmp_path / "other")
    script = mine / "script.py"
    script.write_text(
        "import multiprocessing, tinytorch\n"
        "def whose(_): return tinytorch.WHOSE\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool: print(pool.map(whose, "
        "[0]))\n",
        encoding="utf-8",
    )
    assert ask(python, script, cwd=other).stdout == "['mine']\n"


def test_the_finder_brings_no_module_with_it(python, tmp_path):
    code = "import sys; print(*sys.modules, sep='\\n')"
    packages = Path(
        ask(
            python, "-c", "import site; print(site.getsitepackages()[0])", cwd=tmp_path
        ).stdout.strip()
    )
    with_it = set(ask(python, "-c", code, cwd=tmp_path).stdout.split())
    start = (packages / "start.pth").read_bytes()
    (packages / "start.pth").write_bytes(b"import sys\n")
    without = set(ask(python, "-c", code, cwd=tmp_path).stdout.split())
    (packages / "start.pth").write_bytes(start)
    assert with_it - without == {
        "tito",
        "tito.import_hook",
        "tito.learn",
        "tito.learn.check_builtin",
    }


def test_a_current_folder_that_is_gone_is_fine(python, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"import os; os.rmdir({str(gone)!r}); import tinytorch"
    assert "No module named 'tinytorch'" in ask(python, "-c", code, cwd=gone).stderr


def test_outside_any_root_the_activated_one_counts(python, tmp_path):
    mine, nowhere = make_root(tmp_path / "mine"), tmp_path / "nowhere"
    nowhere.mkdir()
    (mine / "random.py").write_text("raise SystemExit('not this')", encoding="utf-8")
    code = f"import random; {WHOSE}"
    assert ask(python, "-c", code, cwd=nowhere, TINYTORCH_ROOT=str(mine)).stdout == "mine\n"
    assert ask(python, "-I", "-c", code, cwd=nowhere, TINYTORCH_ROOT=str(mine)).returncode == 1


@pytest.mark.parametrize(
    "words, expected",
    [
        ("-m tito", ("tito", True)),
        ("-X utf8 -Wignore -BIm tito -m pytest", ("tito", True)),
        ("-W ignore -mtito.tool", ("tito.tool", True)),
        ("--check-hash-based-pycs=never bin/tito test", ("tito", False)),
        ("Scripts/TITO.EXE", ("tito.exe", False)),
        ("-c 1 -m tito", ("", False)),
        ("tool.py -m tito", ("tool.py", False)),
        ("-", ("", False)),
        ("", ("", False)),
    ],
)
def test_the_command_line_says_what_runs(monkeypatch, words, expected):
    monkeypatch.setattr(sys, "orig_argv", ["python", *words.split()])
    assert import_hook.program() == expected


def test_a_learners_own_program_keeps_pythons_rules(python, tmp_path):
    root = make_root(tmp_path / "mine")
    for folder in (root, tmp_path):
        (folder / "random.py").write_text(f"WHOSE = {folder.name!r}", encoding="utf-8")
    code = "import random; print(random.WHOSE)"
    (root / "script.py").write_text(code, encoding="utf-8")
    elsewhere = {"PYTHONPATH": str(tmp_path)}
    assert ask(python, "script.py", cwd=root, **elsewhere).stdout == "mine\n"
    assert ask(python, "-c", code, cwd=root, **elsewhere).stdout == "mine\n"
    assert ask(python, "-m", "script", cwd=root, **elsewhere).stdout == "mine\n"
