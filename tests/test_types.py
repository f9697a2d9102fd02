"""The hints of tito's functions are there, and true: mypy finds nothing."""

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def test_mypy_finds_nothing():
    done = subprocess.run(
        [sys.executable, "-m", "mypy"],  # pyproject.toml says what is checked, and how strictly
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, f"mypy says:\n{done.stdout}{done.stderr}"
