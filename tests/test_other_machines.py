"""The package and the lessons on other machines: an older processor, other versions of Python.

The rest of the suite runs on this processor, with the Python of `.venv`.
"""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
TESTS = ("tests/tinytorch", "tests/milestones", "tests/test_lessons.py", "tests/test_doctests.py")
OLDEST = (3, 11)


def run(*words, **environment):
    return subprocess.run(
        [str(word) for word in words],
        cwd=REPOSITORY,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
    )


def run_tests(python, *options, **environment):
    """Let a Python run TESTS, with one BLAS thread as in the rest of the suite."""
    options = ["-q", "-p", "no:cacheprovider", "-W", "ignore", *options, *TESTS]
    done = run(python, "-m", "pytest", *options, OPENBLAS_NUM_THREADS="1", **environment)
    assert done.returncode == 0, f"{python}:\n{done.stdout[-5000:]}{done.stderr[-2000:]}"
    assert int(done.stdout.split(" passed")[0].split()[-1]) > 5000


@pytest.mark.slow
def test_the_package_and_the_lessons_pass_on_an_older_processor():
    """Newer processors add numbers in another order, so that results differ by rounding."""
    config = np.show_config(mode="dicts")
    blas = config["Build Dependencies"]["blas"]["name"]
    if "openblas" not in blas or platform.machine().lower() not in ("x86_64", "amd64"):
        pytest.skip(f"{blas} on {platform.machine()} has no kernels for older processors to choose")
    newer = " ".join(config["SIMD Extensions"].get("found", ()))
    run_tests(sys.executable, "--all", OPENBLAS_CORETYPE="Prescott", NPY_DISABLE_CPU_FEATURES=newer)


@pytest.mark.slow
def test_the_package_and_the_lessons_pass_on_the_oldest_and_the_newest_python(tmp_path):
    pythons = find_pythons()
    others = {min(pythons), max(pythons)} - {sys.version_info[:2]}
    if not others:
        pytest.skip("this machine has no older and no newer Python than that of .venv")
    for version in others:
        venv = tmp_path / "python{}.{}".format(*version)
        python = venv / "bin" / "python"
        for command in (
            [pythons[version], "-m", "venv", venv],
            [python, "-m", "pip", "install", "-q", "--no-compile", "-e", ".", "hypothesis>=6.112"],
        ):
            done = run(*command)
            assert done.returncode == 0, done.stderr
        run_tests(python)


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
