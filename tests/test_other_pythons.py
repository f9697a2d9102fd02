"""The lessons, and each day other parts of the package's tests, with another version of Python: the
rest of the suite runs with the Python of `.venv`.

`tools/other_kernels.py` runs the same tests as on other processors.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from unchanged import of_today

REPOSITORY = Path(__file__).resolve().parents[1]
TESTS = ("tests/test_lessons.py", "tests/test_doctests.py")  # each day, and a third of these:
PARTS = [
    path
    for name in ("tinytorch", "milestones")
    for path in (REPOSITORY / "tests" / name).rglob("test_*.py")
]
# Also its slow tests, which compare stored results of trainings: another Python may bring another
# NumPy, which rounds differently.
STORED = "tests/tinytorch/pictures"
OLDEST = (3, 11)


def run(*words):
    return subprocess.run(
        [str(word) for word in words],
        cwd=REPOSITORY,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=1800,  # a test that hangs on one Python must not hang here for ever
    )


@pytest.mark.slow
def test_the_package_and_the_lessons_pass_on_another_python(tmp_path):
    """On the oldest Python here or the newest."""
    pythons = find_pythons()
    versions = sorted({min(pythons), max(pythons)} - {sys.version_info[:2]})
    if not versions:
        pytest.skip("there is no other Python here")
    for version in of_today(versions):
        python = install(pythons[version], tmp_path / "python{}.{}".format(*version))
        some = of_today(sorted(PARTS), len(PARTS) // 3)
        for least, tests in ((1700, [*TESTS, *some]), (3, ["--all", "-m", "slow", STORED])):
            options = ["-q", "-p", "no:cacheprovider", "-W", "ignore", *tests]
            done = run(python, "-m", "pytest", *options)
            assert done.returncode == 0, f"{version}:\n{done.stdout[-5000:]}{done.stderr}"
            assert int(done.stdout.split(" passed")[0].split()[-1]) > least


def install(python, venv):
    """The Python of a new environment for these tests."""
    new = venv / "bin" / "python"
    for command in (
        [python, "-m", "venv", venv],
        [new, "-m", "pip", "install", "-q", "--no-compile", "-e", ".", "hypothesis>=6.117"],
    ):
        done = run(*command)
        assert done.returncode == 0, done.stderr
    return new


def find_pythons():
    """{version: path} of this Python and of the others that run here, also those of pyenv."""
    paths = [shutil.which(f"python3.{minor}") for minor in range(OLDEST[1], 30)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    paths += sorted(pyenv.glob("versions/*/bin/python3"))
    code = "import ensurepip, sys; print(*sys.version_info[:2], sys.version_info.releaselevel)"
    pythons = {}
    for path in filter(None, paths):
        done = run(path, "-c", code)
        if done.returncode == 0:  # a name on PATH may start nothing
            major, minor, level = done.stdout.split()
            if level == "final" and (int(major), int(minor)) >= OLDEST:
                pythons[int(major), int(minor)] = path
    return pythons | {sys.version_info[:2]: sys.executable}
