"""Lessons 01 to 10 where NumPy's integers have 32 bits, as in a browser: every check and every
example of a docstring, with the course's solutions, in Pyodide under Node."""

import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
# All ten take longer than the rest of this folder's tests: `python tests/book/test_int32.py`.
SAMPLE = ("tensor", "data")


def run(*names):
    """What the program prints of these lessons' checks; it fails with what Node says."""
    return subprocess.run(
        [
            *("node", HERE / "run_in_pyodide.mjs", os.environ["TITO_PYODIDE"], REPOSITORY),
            *(HERE / "lessons_in_32_bits.py", *names),
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
