"""The sample class: the same each time, of every kind, for any course.

That it is graded as expected, test_class.py shows.
"""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from expected_grades import differences
from small_course import RUBRIC, with_question
from some_results import read_roster

from tito.errors import TitoError
from tito.grading import sample
from tito.grading.intake import collect
from tito.grading.intake.open_submission import open_submission
from tito.lesson import cells, course, notebook
from tito.lesson.lesson_format import answer_in

REPOSITORY = Path(__file__).resolve().parents[3]
SAMPLE = [sys.executable, "-m", "tito.grading.sample"]


def files_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def handed_in(folder, root):
    """{student: submission.Submission} of a sample."""
    learners = read_roster(folder / "roster.csv")
    return {
        one.student: open_submission(one, root.lessons)
        for one in collect.find_submissions(folder / "submissions", root.lessons, learners)
    }


def rows_of(expected, most=True):
    """Rows of a grading that went just as expected."""
    return [
        {
            "student": learner["student"],
            "lesson": lesson,
            "graded_points": wanted["most" if most else "least"],
            "verdict": wanted["verdicts"][0],
            "reason": "because",
        }
        for learner in expected["learners"]
        for lesson, wanted in learner["lessons"].items()
    ]


def test_the_same_arguments_give_the_same_bytes(small_course, tmp_path):
    for folder in ("one", "two"):
        sample.make(small_course, tmp_path / folder, 12)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_a_class_of_thirty_holds_every_kind_in_every_form_as_script_and_as_notebook(
    small_course, tmp_path
):
    expected = sample.make(small_course, tmp_path / "class")
    assert expected == json.loads(
        (tmp_path / "class" / "expected.json").read_text(encoding="utf-8")
    )
    assert len(expected["learners"]) == 30
    # the small course records no mistake, so the kind has no name behind it
    assert {learner["kind"] for learner in expected["learners"]} == set(sample.KINDS)
    forms = [
        (learner["form"], learner["notebook"])
        for learner in expected["learners"]
        if learner["form"]
    ]
    assert {(form, is_notebook) for form in sample.FORMS for is_notebook in (True, False)} == set(
        forms
    )


def test_every_learner_of_the_roster_has_one_entry_whose_name_leads_to_them(small_course, tmp_path):
    expected = sample.make(small_course, tmp_path / "class")
    found = handed_in(tmp_path / "class", small_course)
    assert found.keys() == {learner["student"] for learner in expected["learners"]}
    assert {"=cmd()", "o'brien, pat", "🐙", "josé-ñuñez"} <= found.keys()
    without = [student for student, one in found.items() if not (one.files or one.problem)]
    assert without == [
        learner["student"] for learner in expected["learners"] if not learner["form"]
    ]


def test_a_right_learner_hands_in_the_courses_own_code_without_marks_and_hidden_checks(
    small_course, tmp_path
):
    expected = sample.make(small_course, tmp_path / "class", 8, kinds=["right"])
    for student, one in handed_in(tmp_path / "class", small_course).items():
        for entry in small_course.lessons:
            text = one.files[entry.name].text
            text = notebook.to_script(text) if one.files[entry.name].is_notebook else text
            assert "###" not in text and "secret" not in text, student
            assert ("twice = x + x" if entry.name == "numbers" else "return sum(double(n)") in text
    assert all(
        wanted
        == {
            "least": wanted["most"],
            "most": {"numbers": 5, "sums": 3}[lesson],
            "verdicts": ["passed"],
        }
        for learner in expected["learners"]
        for lesson, wanted in learner["lessons"].items()
    )


def test_who_solved_all_exercises_of_a_lesson_also_answered_its_questions(small_course, tmp_path):
    path = small_course.path / "modules/source/01_numbers/numbers_dev.py"
    path.write_text(with_question(rubric=RUBRIC), "utf-8")
    root = course.open_root(small_course.path)
    for kind, answer in (("right", "Because\n\n$2 \\cdot 2 = 4$."), ("stub", "")):
        sample.make(root, tmp_path / kind, 3, kinds=[kind])
        for one in handed_in(tmp_path / kind, root).values():
            file = one.files["numbers"]
            text = notebook.to_script(file.text) if file.is_notebook else file.text
            assert answer_in(cells.parse(path, text), "why") == answer


def test_who_came_to_an_exercise_of_a_lesson_gets_its_points_and_those_above(
    small_course, tmp_path
):
    expected = sample.make(small_course, tmp_path / "class", 20, kinds=["partly right"])
    found = handed_in(tmp_path / "class", small_course)
    seen = set()
    for learner in expected["learners"]:
        wanted = learner["lessons"]["numbers"]
        text = found[learner["student"]].files["numbers"].text
        written = ("twice = x + x" in text, "return double(x) + x" in text)
        assert written == {0: (False, False), 4: (True, False), 5: (True, True)}[wanted["most"]]
        assert wanted["least"] == wanted["most"]
        seen.add(written)
    assert len(seen) == 3


def test_a_recorded_mistake_is_made(small_course, tmp_path):
    (small_course.path / "modules/source/01_numbers/misconceptions.toml").write_text(
        '[[mistake]]\nid = "squares"\nexercise = "double"\nname = "Squares."\n'
        'old = "twice = x + x"\nnew = "twice = x * x"\nmessage = "did you"\n',
        encoding="utf-8",
    )
    expected = sample.make(
        small_course,
        tmp_path / "class",
        3,
        kinds=["mistake"],
        lessons=[small_course.lesson("numbers")],
    )
    for learner, one in zip(
        sorted(expected["learners"], key=lambda one: one["student"]),
        sorted(handed_in(tmp_path / "class", small_course).values(), key=lambda one: one.student),
    ):
        assert (
            learner["kind"] == "mistake squares"
            and "twice = x * x" in one.files["numbers"].text
            and "return double(x) + x" in one.files["numbers"].text
        )
        assert learner["lessons"]["numbers"]["most"] == 3  # a check of 2 points, at least, is lost


def test_only_the_kinds_asked_for_are_in_the_class(small_course, tmp_path):
    expected = sample.make(small_course, tmp_path / "class", 5, kinds=["right", "stub"])
    assert sorted(learner["kind"] for learner in expected["learners"]) == [
        "right",
        "right",
        "right",
        "stub",
        "stub",
    ]


def test_points_and_verdicts_that_are_not_as_expected_are_reported(small_course, tmp_path):
    expected = sample.make(small_course, tmp_path / "class")
    assert (
        differences(expected, rows_of(expected))
        == differences(expected, rows_of(expected, most=False))
        == []
    )
    right = next(
        learner["student"] for learner in expected["learners"] if learner["kind"] == "right"
    )
    cheat = next(
        learner["student"] for learner in expected["learners"] if learner["kind"] == "always equal"
    )
    rows = rows_of(expected)
    mine = [row for row in rows if row["student"] in (right, cheat)]
    mine[0]["graded_points"] -= 1
    mine[1]["verdict"] = "crashed"
    mine[2]["graded_points"] += 1
    rows.remove(mine[3])
    said = differences(expected, rows)
    assert len(said) == 4
    assert (
        sum("points, expected" in one for one in said) == 2
        and sum("verdict crashed" in one for one in said) == 1
        and sum("no row" in one for one in said) == 1
    )


def test_the_program_writes_a_class(small_course, tmp_path):
    done = subprocess.run(
        [*SAMPLE, "class", "--root", small_course.path, "--size", "5", "--lessons", "numbers"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert (done.returncode, done.stderr) == (0, "") and "5 learners" in done.stdout
    expected = json.loads((tmp_path / "class" / "expected.json").read_text(encoding="utf-8"))
    assert all(learner["lessons"].keys() == {"numbers"} for learner in expected["learners"])


def test_exports_find_the_ids_they_need(small_course, tmp_path):
    sample.make(small_course, tmp_path / "class", 12)
    rows = list(
        csv.DictReader((tmp_path / "class" / "roster.csv").read_text(encoding="utf-8").splitlines())
    )
    assert len(rows) == 12
    for column in ("student", "email", "id", "sis_login_id", "idnumber", "moodle_id", "github"):
        assert len({row[column] for row in rows}) == 12 and all(row[column] for row in rows)


@pytest.mark.parametrize("folder", ["full", "workspace"])
def test_a_full_folder_and_a_workspace_are_refused(small_course, small_workspace, tmp_path, folder):
    if folder == "full":
        (tmp_path / "class").mkdir()
        (tmp_path / "class" / "notes.txt").write_text("mine", encoding="utf-8")
        with pytest.raises(TitoError, match="not empty"):
            sample.make(small_course, tmp_path / "class")
        assert files_of(tmp_path / "class") == {"notes.txt": b"mine"}
    else:
        with pytest.raises(TitoError, match="workspace"):
            sample.make(small_workspace, tmp_path / "class")
        assert not (tmp_path / "class").exists()
