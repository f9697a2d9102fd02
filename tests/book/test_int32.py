"""Lessons 01 to 10 where NumPy's integers have 32 bits, as in a browser: every check and every
example of a docstring, with the course's solutions.

All ten run here, with NumPy's functions given 32-bit integers as their default; and in Pyodide,
under Node: all of them where it has NumPy, else lesson 05, which needs none.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tito.lesson import course

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
PROGRAM = HERE / "lessons_in_32_bits.py"
BEFORE_11 = [e.name for e in course.open_root(REPOSITORY).lessons if e.number <= 10]
THREADS = re.compile(r"^(autograd|data): .* needs threads$", re.M)  # a browser's Python has none


def lines(*command):
    """What it prints but for the counts, and the number of checks and examples that it ran."""
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    counts = re.findall(r"^\w+: (\d+) run$", done.stdout, re.M)
    return re.sub(r"^\w+: \d+ run\n", "", done.stdout, flags=re.M), [int(n) for n in counts]


@pytest.mark.slow
def test_lessons_hold_where_integers_have_32_bits():
    said, counts = lines(sys.executable, PROGRAM, *BEFORE_11)
    assert said == "" and len(counts) == len(BEFORE_11) == 11 and min(counts) > 20


@pytest.fixture
def pyodide():
    """The folder of a Pyodide, and whether NumPy is in it."""
    if not (folder := os.environ.get("TITO_PYODIDE")) or not shutil.which("node"):
        pytest.skip("no Pyodide here: see tests/book/get_pyodide.py; it needs node")
    lock = json.loads(Path(folder, "pyodide-lock.json").read_text(encoding="utf-8"))
    return folder, Path(folder, lock["packages"]["numpy"]["file_name"]).exists()


def hold_in(folder, names):
    said, counts = lines("node", HERE / "run_in_pyodide.mjs", folder, REPOSITORY, PROGRAM, *names)
    assert THREADS.sub("", said).strip() == "" and len(counts) == len(names)


@pytest.mark.slow
def test_a_lesson_without_numpy_holds_in_pyodide(pyodide):
    hold_in(pyodide[0], ["backprop"])


@pytest.mark.slow
def test_lessons_hold_in_pyodide(pyodide):
    folder, has_numpy = pyodide
    if not has_numpy:
        pytest.skip("NumPy for a browser's Python is on no package registry; lesson 05 needs none")
    hold_in(folder, BEFORE_11)
