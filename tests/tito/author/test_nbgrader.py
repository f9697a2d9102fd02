"""tito/author/nbgrader.py: source notebooks that nbgrader takes, with every check in them."""

import ast
import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import tito
from unchanged import lessons_to_run

from tito.author import leaks, nbgrader
from tito.errors import TitoError
from tito.lesson import cells, course
from tito.lesson.export import defined

COURSE = course.open_root(Path(__file__).resolve().parents[3])

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


def reopened(root, name, old, new):
    """A lesson, after a change of its checks."""
    path = root.lesson(name).script.with_name("checks.py")
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return course.open_root(root.path).lesson(name).declared


def test_what_only_hidden_checks_need_is_beside_them(small_course):
    """nbgrader takes nothing out of a cell that earns no points."""
    shared = "# %% setup\nimport string\n\nBASE = 3\n\n\ndef secret(x):\n    return x + BASE\n\n\n"
    shared += "def seen(x):\n    return x - BASE\n\n\n# %% total points"
    lesson = reopened(small_course, "sums", "# %% total points", shared)
    lesson = reopened(small_course, "sums", "== 6,", "== seen(9),")
    lesson = reopened(small_course, "sums", "total([2]) == 4", "total([2]) == secret(1)")
    texts = [code_of(cell) for cell in cells_of(lesson) if "BASE" in code_of(cell)]
    visible = "BASE = 3\n\n\ndef seen(x):\n    return x - BASE"
    hidden = "### BEGIN HIDDEN TESTS\ndef secret(x):\n    return x + BASE\n\n\ndef test_total"
    assert texts[0] == visible and texts[1].startswith(hidden) and len(texts) == 2


@pytest.mark.parametrize("name", ["triple", "double-polish", "double-hidden", "double-polish-more"])
def test_each_cell_has_its_own_grade_id(small_course, name):
    """nbgrader refuses a notebook in which two cells have one."""
    for path in small_course.lesson("numbers").script.parent.iterdir():
        text = path.read_text(encoding="utf-8")
        for old in ('"triple"', "# %% triple", "## triple"):
            text = text.replace(old, old.replace("triple", name))
        path.write_text(text, encoding="utf-8")
    more = "# %% double polish points=0\ndef test_a():\n    assert double(0) == 0\n\n\n"
    more += "# %% double hidden points=1\ndef test_b():\n    assert double(9) == 18\n\n\n"
    lesson = reopened(small_course, "numbers", f"# %% {name}", f"{more}# %% {name}")
    rows = cells_of(lesson)
    ids = [c["metadata"]["nbgrader"]["grade_id"] for c in rows if "nbgrader" in c["metadata"]]
    assert len(ids) == len({*ids}) == 7 and len({c["id"] for c in rows}) == len(rows)
    book = cells.parse(Path("numbers.ipynb"), nbgrader.source_notebook(lesson))
    assert [cell.exercise for cell in book.cells if cell.exercise] == ["double", name]
    assert [cell.checks for cell in book.cells if cell.checks][:2] == ["double", "double-polish"]


@pytest.mark.slow
@pytest.mark.parametrize("entry", COURSE.lessons, ids=[entry.name for entry in COURSE.lessons])
def test_a_real_lesson_has_different_grade_ids_and_shows_no_hidden_code(entry):
    lesson = entry.declared
    rows = cells_of(lesson)
    ids = [c["metadata"]["nbgrader"]["grade_id"] for c in rows if "nbgrader" in c["metadata"]]
    assert len(ids) == len({*ids})
    graded = {name for name in ids if name.startswith("check-")}
    assert graded == {"-".join(["check", *check.cell.title.split()]) for check in lesson.checks}
    hidden = set(leaks.needless_names(lesson.checks_source))
    texts = [code_of(cell) for cell in rows if cell["cell_type"] == "code"]
    shown = [text for text in texts if "BEGIN HIDDEN TESTS" not in text]
    trees = [ast.parse(text) for text in shown if any(name in text for name in hidden)]
    assert [
        name for tree in trees for node in tree.body for name in defined(node) if name in hidden
    ] == []


def test_learner_side_code_comes_before_the_checks_that_need_it(small_course):
    lesson = reopened(small_course, "numbers", "\n# %% triple points=1", HELPER)
    lesson = reopened(small_course, "numbers", "triple(2) == 6,", "Doubling().go(3) == 6,")
    ids = [c["metadata"].get("nbgrader", {}).get("grade_id") or "" for c in cells_of(lesson)]
    helper = next(number for number, name in enumerate(ids) if name.startswith("learner-side"))
    assert ids.index("numbers-triple") < helper < ids.index("check-triple")


def test_the_command_writes_a_course_and_nothing_over_another(small_course, tmp_path):
    out, _ = tito(small_course, "release", "--for", "nbgrader", tmp_path / "nbgrader")
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


def with_programs():
    """PATH, with the programs that nbgrader starts."""
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def api_of(folder, monkeypatch):
    """nbgrader, in this process, in a folder that `nbgrader.write` made."""
    pytest.importorskip("nbgrader")
    from nbgrader.apps import NbGraderAPI
    from traitlets.config import Config

    monkeypatch.setenv("PATH", with_programs())
    settings = Config()
    settings.CourseDirectory.root = str(folder)
    settings.CourseDirectory.course_id = "all"
    return NbGraderAPI(config=settings)


def done(made):
    assert made["success"], made["error"] or made["log"]


@pytest.mark.slow
def test_nbgrader_accepts_the_notebook_of_a_lesson(tmp_path, monkeypatch):
    """Without running it: the book runs each lesson."""
    pytest.importorskip("nbgrader")
    from nbgrader.preprocessors import CheckCellMetadata
    from nbgrader.validator import Validator

    folder = tmp_path / "nbgrader"
    nbgrader.write(COURSE, folder)
    api = api_of(folder, monkeypatch)
    for entry in lessons_to_run(COURSE.lessons):
        done(api.generate_assignment(entry.name))
        path = folder / "release" / entry.name / f"{entry.name}.ipynb"
        text = path.read_text(encoding="utf-8")
        hidden = [check.function for check in entry.declared.checks if check.hidden]
        helpers = [f"def {name}(" for name in leaks.needless_names(entry.declared.checks_source)]
        assert [name for name in hidden + helpers if name in text] == []
        found = Validator(preprocessors=[CheckCellMetadata]).validate(str(path))
        unanswered = found.pop("failed", [])
        assert found == {} and len(unanswered) == len(entry.declared.questions)


@pytest.mark.slow
def test_nbgrader_gives_the_solution_all_points_and_the_release_none(
    small_course, tmp_path, monkeypatch
):
    folder, names = tmp_path / "nbgrader", ("numbers", "sums")
    nbgrader.write(small_course, folder)
    api = api_of(folder, monkeypatch)
    for name in names:
        done(api.generate_assignment(name))
    released = (folder / "release" / "sums" / "sums.ipynb").read_text(encoding="utf-8")
    assert "secret" not in released and "return sum(" not in released
    students = {"ada": "source", "bob": "release"}
    for name, (student, place) in itertools.product(names, students.items()):
        shutil.copytree(folder / place / name, folder / "submitted" / student / name)
    for student in students:
        done(api.autograde("numbers", student))
    # In another process, which reads nbgrader_config.py: sums imports numbers.
    command = [sys.executable, "-m", "nbgrader", "autograde", "sums"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-3000:]
    rows = {pair: api.get_submission(*pair) for pair in itertools.product(names, students)}
    assert {pair: (row["score"], row["max_score"]) for pair, row in rows.items()} == {
        ("numbers", "ada"): (5, 5),
        ("numbers", "bob"): (0, 5),
        ("sums", "ada"): (3, 3),
        ("sums", "bob"): (0, 3),
    }
