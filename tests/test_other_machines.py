"""The package and the lessons on other machines: older processors, other versions of Python.

The rest of the suite runs as on this processor, with the Python of `.venv`.
"""

import os
import platform
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
TESTS = ("tests/tinytorch", "tests/milestones", "tests/test_lessons.py", "tests/test_doctests.py")
# Also its slow tests, which compare stored results of trainings: those depend on rounding.
STORED = "tests/tinytorch/pictures"
OLDEST = (3, 11)


def run(*words, **environment):
    return subprocess.run(
        [str(word) for word in words],
        cwd=REPOSITORY,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"} | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        timeout=1800,  # a test that hangs on one Python must not hang here for ever
    )


@pytest.mark.slow
def test_the_package_and_the_lessons_pass_on_older_processors_and_other_pythons(tmp_path):
    """One run for both, on the oldest and the newest Python here: each run takes a minute."""
    environment, pythons = older_processor(), find_pythons()
    versions = {min(pythons), max(pythons)} - {sys.version_info[:2]}
    if not environment and not versions:
        pytest.skip("there is no other Python here, and no other kernel of BLAS to choose")
    for version in versions or {sys.version_info[:2]}:
        venv = tmp_path / "python{}.{}".format(*version)
        python = install(pythons[version], venv) if versions else sys.executable
        for least, tests in ((4000, TESTS), (3, ("--all", "-m", "slow", STORED))):
            options = ["-q", "-p", "no:cacheprovider", "-W", "ignore", *tests]
            done = run(python, "-m", "pytest", *options, **environment)
            assert done.returncode == 0, (
                f"{version}, {environment}:\n{done.stdout[-5000:]}{done.stderr}"
            )
            assert int(done.stdout.split(" passed")[0].split()[-1]) > least


def older_processor():
    """The variables for the code that OpenBLAS and NumPy run on an older processor.

    It adds numbers in another order than that of newer ones, so that results differ by rounding.
    """
    config = np.show_config(mode="dicts")
    blas = config["Build Dependencies"]["blas"]["name"]
    if "openblas" not in blas or platform.machine().lower() not in ("x86_64", "amd64"):
        warnings.warn(f"{blas} on {platform.machine()} has no kernels for older processors")
        return {}
    newer = " ".join(config["SIMD Extensions"].get("found", ()))
    return {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": newer}


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
