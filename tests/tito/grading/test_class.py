"""A whole class through the door that instructors use: everybody gets what they should, whatever
the others hand in.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import tito
from expected_grades import differences
from sample_class import make
from small_course import make_course, set_policies
from unchanged import lessons_to_run

from tito.lesson import course, notebook

pytestmark = pytest.mark.slow
REPOSITORY = course.open_root(Path(__file__).resolve().parents[3])
NAMES = [entry.name for entry in REPOSITORY.lessons]


def grade(root, submissions, *more, book):
    """What `tito grade` prints."""
    words = [sys.executable, "-m", "tito", "--root", root.path, "--gradebook", book]
    words += ["grade", submissions, "--jobs", "2", *more]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=900,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def graded_class(tmp_path_factory):
    """The sample class of a small course, graded: (what is expected, rows)."""
    folder = tmp_path_factory.mktemp("class")
    root = course.open_root(make_course(folder / "course"))
    set_policies(root.path, check_seconds=3)
    expected = make(root, folder / "class")
    book = folder / "grades.db"
    tito(root, "--gradebook", book, "gradebook", "roster", folder / "class" / "roster.csv")
    words = [folder / "class" / "submissions", "--all"]
    rows = json.loads(grade(root, *words, "--json", book=book))
    assert len(rows) == 60
    return expected, rows


def test_everybody_gets_what_they_should(graded_class):
    expected, rows = graded_class
    assert differences(expected, rows) == []


def test_a_row_says_under_which_isolation_its_code_ran(graded_class):
    _, rows = graded_class
    no_code = ("missing", "unreadable", "syntax error")
    assert {row["isolation"] for row in rows if row["verdict"] in no_code} == {""}
    (level,) = {row["isolation"] for row in rows if row["verdict"] not in no_code}
    assert level in ("bubblewrap", "landlock+seccomp")


def test_who_searches_the_machine_finds_nothing(graded_class):
    expected, rows = graded_class
    spy = next(
        learner["student"] for learner in expected["learners"] if learner["kind"] == "reads files"
    )
    said = "\n".join(
        check["message"] for row in rows if row["student"] == spy for check in row["checks"]
    )
    assert "No such file" in said or "Permission denied" in said, said
    assert "root:" not in said and "BEGIN SOLUTION" not in said and str(Path.home()) not in said


# The course of this repository.


def hand_in(folder, student, texts, as_notebooks=False):
    (folder / student).mkdir(parents=True)
    for name, text in texts.items():
        lesson = REPOSITORY.lesson(name).declared
        text = notebook.to_notebook(text, lesson) if as_notebooks else text
        (folder / student / f"{name}_dev.{'ipynb' if as_notebooks else 'py'}").write_text(
            text, encoding="utf-8"
        )


def graded(folder, *lessons, earlier_lessons):
    """{(student, lesson): row} of what this repository's course, with this policy, says of the
    submissions in a folder.
    """
    root = folder.with_name(f"{folder.name}-course")
    shutil.copytree(REPOSITORY.path / "modules" / "source", root / "modules" / "source")
    shutil.copytree(REPOSITORY.path / REPOSITORY.package, root / REPOSITORY.package)
    shutil.copy(REPOSITORY.path / "tito.toml", root)
    set_policies(root, earlier_lessons=earlier_lessons)
    said = grade(course.open_root(root), folder, *lessons, "--json", book=folder.with_suffix(".db"))
    return {(row["student"], row["lesson"]): row for row in json.loads(said)}


@pytest.mark.parametrize(("base", "in_notebooks"), [("own", "release"), ("reference", "reference")])
def test_the_reference_course_gets_all_points_and_its_release_none(tmp_path, base, in_notebooks):
    """Both as scripts and as notebooks, on the learner's own lower lessons and on the course's."""
    names = [entry.name for entry in lessons_to_run(REPOSITORY.lessons)]
    for student, text_of in (
        ("reference", lambda lesson: lesson.source.text),
        ("release", lambda lesson: lesson.released),
    ):
        hand_in(
            tmp_path / base,
            student,
            {entry.name: text_of(entry.declared) for entry in REPOSITORY.lessons},
            student == in_notebooks,
        )
    rows = graded(tmp_path / base, *names, earlier_lessons=base)
    assert rows.keys() == {
        (student, lesson) for student in ("reference", "release") for lesson in names
    }
    by_hand = {  # points that a person gives for an answer
        key: sum(answer["max_points"] for answer in row["answers"]) for key, row in rows.items()
    }
    wrong = [
        f"{student}, {lesson}: {row['points']} of {row['max_points']}: {row['reason']}"
        for (student, lesson), row in rows.items()
        if (row["points"], row["verdict"], row["base"])
        != (
            (row["max_points"] - by_hand[student, lesson], "passed", base)
            if student == "reference"
            else (0, "stub", base)
        )
    ]
    assert wrong == []
    assert all(row["max_points"] > 0 for row in rows.values())


def test_a_wrong_matmul_costs_points_in_its_own_lesson_only_and_the_report_names_it(tmp_path):
    lessons = NAMES[NAMES.index("tensor") : NAMES.index("layers") + 1]
    texts = {entry.name: entry.declared.source.text for entry in REPOSITORY.lessons}
    end = "    ### END SOLUTION\n"
    right, wrong = (f"return products.sum(axis={axis})\n{end}" for axis in (1, -1))
    own = "\n\nTensor.__matmul__ = matmul_by_broadcasting\n"  # for the operator @
    assert texts["tensor"].count(right) == 1
    texts["tensor"] = texts["tensor"].replace(right, wrong + own)
    for base in ("own", "reference", "both"):
        hand_in(tmp_path / base, "ada", texts)
    rows = {
        base: graded(tmp_path / base, *lessons, earlier_lessons=base)
        for base in ("own", "reference", "both")
    }
    lost = {
        base: [lesson for (_, lesson), row in found.items() if row["points"] < row["max_points"]]
        for base, found in rows.items()
    }
    assert lost["reference"] == lost["both"] == ["tensor"]
    assert {"tensor", "layers"} <= set(lost["own"])
    for lesson in set(lost["own"]) - {"tensor"}:
        row = rows["both"]["ada", lesson]
        failed = {
            check["id"]
            for check in rows["own"]["ada", lesson]["checks"]
            if check["status"] != "passed"
        }
        mended = [check for check in row["checks"] if check["base"] == "reference"]
        assert row["base"] == "reference" and {check["id"] for check in mended} == failed
        assert {check["caused_by"] for check in mended} == {"tensor"} and all(
            "because of lesson tensor" in check["message"] for check in mended
        )
