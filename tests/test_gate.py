"""The lessons of this course pass the author's gate, `tito check`: those that changed since it
was recorded that all do, and two others.

The gate itself is tested in `tests/tito/author/test_check.py`.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from unchanged import lessons_to_run

from tito.author import check
from tito.lesson import course

COURSE = course.open_root(Path(__file__).resolve().parents[1]).lessons
LESSONS = lessons_to_run(COURSE)
CHAPTERS = lessons_to_run(COURSE, 1)  # one other: the book and the gate run the parts of two


@pytest.mark.slow
@pytest.mark.parametrize("entry", LESSONS, ids=[entry.name for entry in LESSONS])
def test_every_lesson_of_this_course_passes_the_gate(entry):
    """The gate itself, on the real course, with every mistake and right alternative.

    Mutations, forged answers and grades take longest, so only every fortieth is tried. The book's
    test runs every demonstration, and `test_class` grades solution and stub in a jail. `tito check`
    tries everything.
    """
    # The last lessons take longest, and the other workers are done before them.
    found = check.check(entry, jobs=2, every=40)
    assert [(f.question, f.problems) for f in found if not f.ok] == []


@pytest.mark.slow
@pytest.mark.parametrize("entry", CHAPTERS, ids=[entry.name for entry in CHAPTERS])
def test_a_chapter_runs_in_plain_python_with_its_checks(entry):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", entry.script],
        env=os.environ | {"MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout[-300:] + done.stderr[-1500:]
