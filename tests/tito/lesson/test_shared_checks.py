"""What the checks of several lessons share is part of each of them, wherever they run."""

import subprocess
import sys
import zipfile

import pytest
from commands import tito
from small_course import NUMBERS, NUMBERS_CHECKS, make_course, solve, verdict_on

from tito.author import gradescope, nbgrader
from tito.errors import TitoError
from tito.grading.intake import collect
from tito.grading.jail.modules import checks_hash
from tito.grading.judge_process import SubmissionJudge
from tito.grading.setting import Setting
from tito.learn import workspace
from tito.lesson import cells, course
from tito.lesson.checks import read_checks

EQUAL = '''\
MARGIN = 1e-9


def equal(got, wanted, call):
    """Assert that two numbers are equal, but for rounding."""
    distance = math.fabs(got - wanted)
    assert distance < MARGIN, f"{call} should be {wanted}, yours is {got}"


'''
DOUBLED = """\
def doubled(x):
    return thrice(x) - np.asarray(x)


def thrice(x):
    return double(x) + np.asarray(x)
"""
CHECKING = f'''\
"""For the checks of several lessons."""

import math
import textwrap

import numpy as np

{EQUAL}{DOUBLED}

def short(text):
    return textwrap.shorten(text, 20)
'''
CHECKS = NUMBERS_CHECKS.replace(
    "import numpy as np\n", "import numpy as np\n\nfrom checking import (\n    equal,\n)\n"
).replace(
    "# %% triple points=1\n",
    "# %% learner-side\nfrom checking import doubled\n\n\n# %% triple points=3\n"
    "def test_triple_of_1_is_3():\n    equal(triple(1), 3, 'triple(1)')\n\n\n"
    "def test_triple_of_4_is_12():\n    equal(float(doubled(6)), 12, 'doubled(6)')\n\n\n",
)
COMPLETE_END = f"""

# %% setup
# From checking.py:
import math


{EQUAL}# %% learner-side
# From checking.py:
import numpy as np


{DOUBLED}"""


@pytest.fixture
def sharing(tmp_path):
    """A course whose first lesson uses what its lessons share."""
    folder = make_course(tmp_path / "course")
    (folder / "modules/source/checking.py").write_text(CHECKING, encoding="utf-8")
    (folder / "modules/source/01_numbers/checks.py").write_text(CHECKS, encoding="utf-8")
    return course.open_root(folder)


@pytest.fixture
def entry(sharing, tmp_path):
    """The lesson in a workspace."""
    workspace.init(tmp_path / "mine", sharing)
    return course.open_root(tmp_path / "mine").lesson("numbers")


def test_what_is_imported_is_put_at_the_end_with_what_it_uses(sharing):
    source = read_checks(sharing.path / "modules/source/01_numbers/checks.py")
    assert source.text.endswith(COMPLETE_END) and "textwrap" not in source.text
    before = cells.parse(source.path, CHECKS)
    titles = [(cell.title, cell.line) for cell in before.cells]
    assert [(cell.title, cell.line) for cell in source.cells[: len(titles)]] == titles


def test_a_workspace_has_checks_that_need_no_other_file(entry):
    for path in (entry.script, entry.declared_path):
        text = path.with_name("checks.py").read_text(encoding="utf-8")
        assert text.endswith(COMPLETE_END) and "import equal" not in text
    assert not list(entry.root.path.rglob("checking.py"))


@pytest.mark.parametrize(
    ("body", "wrong"),
    [("double(x) + x", []), ("2 * x + x + 1", ["triple(1) should be 3, yours is 4"])],
)
def test_tito_test_and_check_and_the_judge_use_it_alike(entry, sharing, body, wrong):
    solve(entry)
    text = NUMBERS.replace("double(x) + x\n", f"{body}\n")
    entry.script.write_text(text, encoding="utf-8")
    tested = [c.message for c in verdict_on(entry).checks if c.status != "passed"]
    ran = subprocess.run([sys.executable, entry.script], capture_output=True, text=True)
    with SubmissionJudge(Setting(sharing.path, ("numbers",), "process")) as judge:
        judge.judge.runner.begin()
        (graded,) = judge.grade(handed_in(entry), {})
    judged = [c.message for c in graded.checks if c.status != "passed"]
    assert tested[: len(wrong)] == judged[: len(wrong)] == wrong
    assert bool(tested) == bool(judged) == bool(ran.stderr) == bool(wrong)
    assert all(message in ran.stderr for message in wrong)


def handed_in(entry):
    inbox = entry.root.path.with_name("inbox")
    (inbox / "ada").mkdir(parents=True)
    (inbox / "ada" / "numbers_dev.py").write_bytes(entry.script.read_bytes())
    (arrival,) = collect.find_submissions(inbox, entry.root.reference.lessons)
    return arrival


def test_check_in_the_course_itself_uses_it(sharing):
    script = sharing.lesson("numbers").script
    tito(sharing, "export", "numbers")
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_source_notebook_of_nbgrader_defines_it_before_its_first_use(sharing):
    text = nbgrader.source_notebook(sharing.lesson("numbers").declared)
    assert text.index("def equal(") < text.index("equal(triple(1)")
    assert text.index("def doubled(") < text.index("doubled(6)")


def test_an_autograder_for_gradescope_holds_it(sharing, tmp_path):
    gradescope.pack(sharing, tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as contents:
        assert contents.read("course/modules/source/checking.py").decode() == CHECKING


def test_another_text_of_it_means_that_a_lesson_is_graded_again(sharing):
    before = checks_hash(sharing.lesson("numbers"))
    checks_hash.cache_clear()
    path = sharing.path / "modules/source/checking.py"
    path.write_text(CHECKING.replace("1e-9", "1e-6"), encoding="utf-8")
    assert checks_hash(course.open_root(sharing.path).lesson("numbers")) != before


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    equal,", "    equals,", r"checks.py:6: .*checking.py does not define equals"),
        (
            "# %% double points=4\n",
            "# %% double points=4\nfrom checking import short\n",
            r"checks.py:12: the section 'double' imports from checking",
        ),
    ],
)
def test_an_import_that_cannot_be_is_refused(sharing, old, new, said):
    path = sharing.path / "modules/source/01_numbers/checks.py"
    path.write_text(CHECKS.replace(old, new), encoding="utf-8")
    with pytest.raises(TitoError, match=said):
        read_checks(path)


def test_a_course_without_the_shared_file_is_reported(sharing):
    (sharing.path / "modules/source/checking.py").unlink()
    with pytest.raises(TitoError, match="imports from checking, and there is no"):
        read_checks(sharing.path / "modules/source/01_numbers/checks.py")
