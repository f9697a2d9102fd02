"""tito/lesson/random_start.py: a check draws the same numbers each time and everywhere."""

import random
import re
import subprocess
import sys

import numpy as np
import pytest
from small_course import NUMBERS, NUMBERS_CHECKS, make_course, verdict_on

from tito.grading.jail import modules
from tito.grading.jail.jailed_check import Subject
from tito.grading.jail.judge import Judge
from tito.grading.setting import OWN, Setting
from tito.grading.submission import LessonFile
from tito.learn import workspace
from tito.lesson import cells, course, random_start

HOLDER = """\
#| export
import random

import numpy as np

START = np.random.default_rng()


class Shared:
    rng = np.random.default_rng()


def draw(kind):
    Shared.rng.random()  # a state that the next check should not find
    return {
        "a new generator": lambda: np.random.default_rng().random(),
        "another of its kinds": lambda: np.random.Generator(np.random.MT19937()).random(),
        "the second one": lambda: [np.random.default_rng().random() for _ in "ab"][1],
        "NumPy's global one": lambda: np.random.rand(),
        "Python's": lambda: random.random(),
        "of a module": lambda: START.random(),
        "of a class": lambda: Shared.rng.random(),
        "a replaced one": lambda: setattr(Shared, "rng", np.random.default_rng(3)) or 0,
    }[kind]()


"""
KINDS = re.findall(r'"(.*)": lambda', HOLDER)
CHECK = """\
# %% setup
import random

import numpy as np

KINDS = NAMES


# %% double points=4
def test_one():
    assert False, f"drew {[draw(kind) for kind in KINDS]}"


def test_two():
    assert False, f"drew {[draw(kind) for kind in KINDS]}"


def test_what_the_check_draws_itself():
    own = random.random(), np.random.rand(), np.random.default_rng().random()
    assert False, f"drew {own}"


# %% triple points=1
"""


@pytest.fixture
def drawing(tmp_path):
    """A workspace whose checks fail with the numbers that they drew."""
    folder = make_course(tmp_path / "course") / "modules" / "source" / "01_numbers"
    script, checks = folder / "numbers_dev.py", folder / "checks.py"
    script.write_text(NUMBERS.replace("#| export\n", HOLDER, 1), encoding="utf-8")
    text = CHECK.replace("NAMES", repr(KINDS))
    text += NUMBERS_CHECKS.partition("# %% triple points=1\n")[2]
    checks.write_text(text, encoding="utf-8")
    source = course.open_root(tmp_path / "course")
    workspace.init(tmp_path / "work", source)
    entry = course.open_root(tmp_path / "work").lesson("numbers")
    entry.script.write_bytes(script.read_bytes())
    return source, entry


def judged(source):
    entry = source.lesson("numbers")
    file = LessonFile("numbers_dev.py", source=cells.read(entry.script))
    with Judge(Setting(source.path, ("numbers",), "process")) as judge:
        subject = Subject.of(entry, modules.compiled(entry, file), {})
        checks = [check for check in entry.declared.checks if check.exercise == "numbers-double"]
        return [c.message for c in judge.attempt(subject, checks, OWN).checks.values()]


def test_each_check_draws_the_same_numbers_in_tito_test_in_check_and_in_the_judge(drawing):
    source, entry = drawing
    first, second, own, _ = [check.message for check in verdict_on(entry).checks]
    assert first.startswith("drew [0.") and first == second and own.startswith("drew (0.")
    ran = subprocess.run([sys.executable, entry.script], capture_output=True, text=True)
    assert first in ran.stderr
    assert [check.message for check in verdict_on(entry).checks][:3] == [first, first, own]
    assert judged(source) == [first, first, own]


def test_afterwards_all_generators_are_as_before():
    """`check()` in a notebook changes nothing that the learner computes later."""

    class Holder:
        rng = np.random.default_rng(5)

    space = {"Holder": Holder, "rng": np.random.default_rng(6), "again": Holder}
    held = [space["rng"], Holder.rng]
    random.seed(1)
    np.random.seed(1)
    restore = random_start.restart([space, {"other": Holder}])
    draws = [random.random(), np.random.rand()]
    assert np.random.default_rng().random() == Holder.rng.random() == space["rng"].random()
    restore()
    restore = random_start.restart()
    assert draws == [random.random(), np.random.rand()]
    restore()
    assert [space["rng"], Holder.rng] == held
    assert [random.random(), np.random.rand()] == [
        random.Random(1).random(),
        np.random.RandomState(1).rand(),
    ]
    assert np.random.default_rng().random() != np.random.default_rng().random()
    assert held[1].random() == np.random.default_rng(5).random()
