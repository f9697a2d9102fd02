"""binder/: the recipe, done on this machine step by step as repo2docker does it, and two sessions
one after the other.

The network is replaced: the environment sees the packages that the test suite has.
"""

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from types import SimpleNamespace

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
LESSON = "modules/source/00_descent/descent_dev"
LEFT_OUT = shutil.ignore_patterns(
    ".*", "__pycache__", "*_dev.ipynb", "book", "my-tinytorch", "0[1-9]_*", "[1-9][0-9]_*"
)  # one lesson is enough

# Stands for JupyterLab: opens what it would open first, and runs the cells before the first
# exercise.
FIRST_CELLS = """
import json, nbformat, sys
from nbclient import NotebookClient
from pathlib import Path

config = Path.home() / ".jupyter/jupyter_server_config.json"
config = json.loads(config.read_text(encoding="utf-8"))
path = Path(config["ServerApp"]["default_url"].removeprefix("/lab/tree/"))
book = nbformat.read(path, 4)
exercises = [cell.metadata.get("nbgrader", {}).get("solution") for cell in book.cells]
first = exercises.index(True)
book.cells = book.cells[:first]
NotebookClient(book, resources={"metadata": {"path": path.parent}}).execute()
print(path, *sys.argv[1:])
outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
print(*(kind for output in outputs for kind in output.get("data", {})))  # not Matplotlib's remarks
"""
SOLVED = "return sum(w * x for w, x in zip(parameters, inputs)) + parameters[-1]"  # predict


@pytest.fixture
def binder(tmp_path):
    """What Binder builds: the repository as the home folder, its environment, postBuild done."""
    home, environment = tmp_path / "jovyan", tmp_path / "environment"
    shutil.copytree(REPOSITORY, home, ignore=LEFT_OUT)
    venv.create(environment, symlinks=True)
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    (next(environment.glob("lib/python*/site-packages")) / "here.pth").write_text(
        f"{packages}\n", encoding="utf-8"
    )
    variables = {
        "HOME": str(home),
        "PATH": f"{environment / 'bin'}:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }

    def run(*words, cwd=home):
        done = subprocess.run(
            words,
            cwd=cwd,
            env=variables,
            capture_output=True,
            text=True,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, f"{words[0]}: {done.stdout}{done.stderr}"
        return SimpleNamespace(out=done.stdout, err=done.stderr)

    run("binder/postBuild")
    return SimpleNamespace(
        home=home, environment=environment, workspace=home / "my-tinytorch", run=run
    )


def test_the_environment_has_the_packages_of_a_release():
    mine, theirs = (
        (folder / "binder/environment.yml").read_bytes()
        for folder in (REPOSITORY, REPOSITORY / "tito/author/released")
    )
    assert mine == theirs
    assert all(os.access(REPOSITORY / "binder" / name, os.X_OK) for name in ("postBuild", "start"))


@pytest.mark.slow
def test_a_session_opens_on_a_lesson_that_runs_and_work_comes_back_in_the_next_one(
    binder, tmp_path
):
    image = shutil.copytree(
        binder.home, tmp_path / "image", symlinks=True
    )  # each session begins from what was built
    python, work = binder.environment / "bin/python", binder.workspace / f"{LESSON}.ipynb"

    session = binder.run("binder/start", python, "-c", FIRST_CELLS, "--port=8888")
    assert (
        session.out.startswith(f"{LESSON}.ipynb --port=8888\n")
        and "image/png" in session.out.split()
    )
    words = session.err.split("\n")[0]
    assert "temporary" in words and "tito submit" in words and "tito restore ZIP" in words
    assert words in (binder.home / ".jupyter/custom/custom.css").read_text(encoding="utf-8")
    where = binder.run(
        python,
        "-c",
        "import tito, tinytorch; print(tito.__file__, tinytorch.__file__)",
        cwd=binder.workspace,
    ).out.split()
    assert [
        Path(where[0]).is_relative_to(binder.environment),
        Path(where[1]).is_relative_to(binder.workspace),
    ] == [True, True]

    notebook = json.loads(work.read_text(encoding="utf-8"))
    exercise = next(
        cell
        for cell in notebook["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "descent-predict"
    )
    exercise["source"] = "".join(exercise["source"]).replace(
        "raise NotImplementedError", f"{SOLVED}  #"
    )
    work.write_text(json.dumps(notebook), encoding="utf-8")
    binder.run("tito", "submit", cwd=binder.workspace)
    downloaded = shutil.copy(binder.workspace / "my-tinytorch-1.zip", tmp_path)

    shutil.rmtree(binder.home)
    shutil.copytree(image, binder.home, symlinks=True)
    assert SOLVED not in work.read_text(encoding="utf-8")
    binder.run("binder/start", "true")
    assert (
        "descent as in the zip"
        in binder.run("tito", "restore", downloaded, cwd=binder.workspace).out
    )
    assert SOLVED in work.read_text(encoding="utf-8")
    assert (
        "2 selected checks passed"
        in binder.run("tito", "test", "descent-predict", cwd=binder.workspace).out
    )
