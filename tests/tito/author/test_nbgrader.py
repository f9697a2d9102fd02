"""tito/author/nbgrader.py: source notebooks that nbgrader takes, with every check in them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import tito

from tito.author import nbgrader
from tito.errors import TitoError
from tito.lesson import course

HELPER = """
# %% learner-side
class Doubling:
    def go(self, x):
        return double(x)


# %% triple points=1"""


def cells_of(lesson):
    return json.loads(nbgrader.source_notebook(lesson))["cells"]


def code_of(cell):
    return "".join(cell["source"])


def test_the_checks_stand_where_the_chapter_runs_them(small_course):
    cells = cells_of(small_course.lesson("numbers").declared)
    ids = [cell["metadata"].get("nbgrader", {}).get("grade_id") for cell in cells]
    named = [name for name in ids if name]
    assert named[0] == "numbers-double" and named[1].startswith("setup-")
    assert named[2:] == ["check-double", "numbers-triple", "check-triple"]
    check = code_of(cells[ids.index("check-double")])
    assert "def test_double_works_on_arrays" in check
    assert check.endswith("test_double_of_two_is_four()\ntest_double_works_on_arrays()")
    assert cells[ids.index("check-double")]["metadata"]["nbgrader"]["points"] == 4
    assert not any("check(" in code_of(cell) for cell in cells)


def test_hidden_checks_stand_between_nbgraders_markers(small_course):
    cells = cells_of(small_course.lesson("sums").declared)
    [hidden] = [c for c in cells if "test_total_of_nothing_is_zero" in code_of(c)]
    text = code_of(hidden)
    assert text.startswith("### BEGIN HIDDEN TESTS\n")
    assert text.endswith("test_total_of_nothing_is_zero()\n### END HIDDEN TESTS")
    assert hidden["metadata"]["nbgrader"] == {
        "grade": True,
        "grade_id": "check-total-hidden",
        "locked": True,
        "points": 1,
        "schema_version": 3,
        "solution": False,
        "task": False,
    }


def test_learner_side_code_comes_before_the_checks_that_need_it(small_course):
    path = small_course.lesson("numbers").script.with_name("checks.py")
    text = path.read_text(encoding="utf-8").replace("\n# %% triple points=1", HELPER)
    path.write_text(text, encoding="utf-8")
    lesson = course.open_root(small_course.path).lesson("numbers").declared
    ids = [c["metadata"].get("nbgrader", {}).get("grade_id") or "" for c in cells_of(lesson)]
    helper = next(number for number, name in enumerate(ids) if name.startswith("learner-side"))
    assert ids.index("numbers-triple") < helper < ids.index("check-triple")


def test_the_command_writes_a_course_and_nothing_over_another(small_course, tmp_path):
    out, _ = tito(small_course, "release", "--nbgrader", tmp_path / "nbgrader")
    assert "2 source notebooks" in out and "contain the solutions" in out
    names = {
        p.relative_to(tmp_path / "nbgrader").as_posix()
        for p in (tmp_path / "nbgrader").rglob("*.ipynb")
    }
    assert names == {"source/numbers/numbers.ipynb", "source/sums/sums.ipynb"}
    module = tmp_path / "nbgrader" / "package" / "tinytorch" / "core" / "numbers.py"
    assert "return double(x) + x" in module.read_text(encoding="utf-8")
    with pytest.raises(TitoError, match="is not empty"):
        nbgrader.write(small_course, tmp_path / "nbgrader")


@pytest.mark.slow
def test_nbgrader_gives_the_solution_all_points_and_the_release_none(small_course, tmp_path):
    pytest.importorskip("nbgrader")
    folder = tmp_path / "nbgrader"
    nbgrader.write(small_course, folder)
    programs = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

    def run(*words):
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *words],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-3000:]

    run("generate_assignment", "numbers")
    run("generate_assignment", "sums")
    released = (folder / "release" / "sums" / "sums.ipynb").read_text(encoding="utf-8")
    assert "secret" not in released and "return sum(" not in released
    for student, place in (("ada", "source"), ("bob", "release")):
        for name in ("numbers", "sums"):
            shutil.copytree(folder / place / name, folder / "submitted" / student / name)
    run("autograde", "numbers")
    run("autograde", "sums")
    run("export", "--to", "grades.csv")
    lines = (folder / "grades.csv").read_text(encoding="utf-8").splitlines()
    names = lines[0].split(",")
    rows = [dict(zip(names, line.split(","))) for line in lines[1:]]
    scores = {(r["student_id"], r["assignment"]): (r["score"], r["max_score"]) for r in rows}
    assert scores == {
        ("ada", "numbers"): ("5.0", "5.0"),
        ("ada", "sums"): ("3.0", "3.0"),
        ("bob", "numbers"): ("0.0", "5.0"),
        ("bob", "sums"): ("0.0", "3.0"),
    }
