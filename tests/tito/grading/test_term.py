"""A term of a small class, by the script that plays one of 300."""

import sys

import commands
import pytest
from grading import term


def tito(course, *words):
    done = commands.run(course, *words)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="grades in a jail")
def test_a_term_gives_everybody_what_their_history_says(tmp_path):
    told = []
    term.play(tmp_path / "term", 24, tito=tito, tell=told.append)
    assert "7 exports of 23 learners read back" in told and told[-1].startswith("feedback: 23")
