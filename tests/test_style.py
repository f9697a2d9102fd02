"""ruff and mypy find nothing. Lines have at most 100 columns, and 96 in the files of a lesson."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    "words",
    [
        "ruff format --check --diff --quiet .",
        "ruff check --quiet .",
        # pyproject.toml says what is checked, and how strictly
        pytest.param("mypy", marks=pytest.mark.slow),
    ],
)
def test_they_find_nothing(words):
    done = subprocess.run(
        [sys.executable, "-m", *words.split()],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, f"{words} says:\n{done.stdout[-3000:]}{done.stderr}"


def test_no_line_of_a_lessons_files_is_too_long():
    """But of the recorded mistakes, which are not in the book."""
    folder = REPOSITORY / "modules" / "source"
    files = [*folder.glob("*/*.py"), *folder.glob("*/*.md")]
    paths = [path for path in files if path.name != "mistakes.py"]
    wide = [
        f"{path.relative_to(REPOSITORY)}:{number}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        if len(line) > 96
    ]
    assert len(paths) >= 30 and wide == []
