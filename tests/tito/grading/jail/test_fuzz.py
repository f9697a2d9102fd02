"""Whatever bytes a learner hands in, or answers, the judge neither breaks nor hangs, and its
verdict is one of those there are. tools/fuzz.py makes the bytes, and says how to try many more.
"""

import json
import os
import random
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

if not hasattr(os, "fork"):
    pytest.skip("grading forks", allow_module_level=True)

import fuzz  # noqa: E402
from hypothesis import HealthCheck, given, seed, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from small_course import make_course, set_policies  # noqa: E402
from unchanged import EVERY  # noqa: E402

from tito.lesson import outcome  # noqa: E402

REPOSITORY = Path(__file__).parents[4]
INPUTS = 1000 if EVERY in os.environ else 250  # of each kind, others each day
CLASS = 120  # submissions that are graded from end to end


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    with fuzz.Ground(tmp_path_factory.mktemp("ground")) as made:
        yield made


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Python's, about the code that is made here
def test_each_file_of_the_corpus_is_read(ground):
    for name, raw in fuzz.corpus():
        fuzz.file_is_read(ground, name, raw)


@pytest.mark.slow
def test_each_odd_answer_to_each_check_is_judged(ground):
    for check, honest in ground.talks:
        for answer in fuzz.odd_answers():
            answers = [fuzz.framed(*pair) for pair in honest]
            fuzz.answers_are_judged(ground.runner, check, [*answers[:-1], answer, answer])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", fuzz.KINDS)
@seed(date.today().toordinal())
@settings(max_examples=INPUTS, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_nothing_breaks_over_random_damage(ground, kind, r):
    fuzz.KINDS[kind](ground, r)


@pytest.mark.slow
def test_a_class_of_damaged_submissions_is_graded_with_a_known_verdict_for_each(tmp_path):
    root, submissions = make_course(tmp_path / "course"), tmp_path / "class"
    set_policies(root, check_seconds=1)
    for number in range(CLASS):
        r = random.Random(number)
        kind = number % 3
        path = submissions / (
            f"s{number}.zip" if kind == 2 else f"s{number}/numbers_dev.{'ipynb' if kind else 'py'}"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes([fuzz.script, fuzz.a_damaged_notebook, fuzz.a_zip][kind](r))
    command = [sys.executable, "-m", "tito", "--root", root, "--gradebook", tmp_path / "grades.db"]
    done = subprocess.run(
        [*command, "grade", submissions, "--all", "--json", "--jobs", "2"],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        timeout=300,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    rows = json.loads(done.stdout)
    assert len(rows) == 2 * CLASS  # two lessons
    assert len({row["student"] for row in rows}) == CLASS
    assert {row["verdict"] for row in rows} <= outcome.VERDICTS.keys()
    assert len({row["verdict"] for row in rows}) > 3, "the damage is always the same"
