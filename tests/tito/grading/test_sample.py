"""The sample class that the pages for teachers begin with: six learners, for any course."""

import csv
import json
import subprocess
import sys
import zipfile

import pytest
from commands import tito
from expected_grades import differences
from small_course import RUBRIC, with_question

from tito.errors import TitoError
from tito.grading import sample
from tito.lesson import cells, course
from tito.lesson.lesson_format import answer_in

SAMPLE = [sys.executable, "-m", "tito.grading.sample"]
MISTAKE = """# %% double mistake: Squares.
#> did you
#- twice = x + x
twice = x * x
"""


def files_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def text_of(folder, student, lesson="numbers"):
    begin, end = student.replace(".", ""), f"_{lesson}_dev.py"
    with zipfile.ZipFile(folder / "submissions.zip") as pack:
        (name,) = (one for one in pack.namelist() if one.startswith(begin) and one.endswith(end))
        return pack.read(name).decode()


def test_the_same_course_gives_the_same_bytes(small_course, tmp_path):
    for folder in ("one", "two"):
        sample.make(small_course, tmp_path / folder)
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


@pytest.mark.slow
def test_the_program_writes_a_class_that_is_graded_as_each_learner_worked(small_course, tmp_path):
    path = small_course.path / "modules/source/01_numbers/mistakes.py"
    path.write_text(MISTAKE, encoding="utf-8")
    done = subprocess.run(
        [*SAMPLE, "class", "--root", small_course.path, "--lessons", "numbers"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert (done.returncode, done.stderr) == (0, "") and "6 learners" in done.stdout
    book = tmp_path / "class.db"
    where = ("--gradebook", book)
    tito(small_course, *where, "gradebook", "roster", tmp_path / "class/grades.csv")
    words = [tmp_path / "class/submissions.zip", "numbers", "--json"]
    rows = json.loads(tito(small_course, *where, "grade", *words)[0])
    graded = {row["student"]: (row["points"], row["verdict"]) for row in rows}
    assert graded["novak.tove"] == (5, "passed")
    assert graded["lind.rosa"] == (4, "partly right")
    assert 0 < graded["ito.rosa"][0] < 4 and graded["ito.rosa"][1] == "partly right"
    assert graded["berg.ivo"] == (0, "stub")
    assert graded["garcia.elif"][0] < 5 and graded["hoang.farid"] == (0, "missing")


def test_a_right_learner_hands_in_code_without_marks_and_hidden_checks(small_course, tmp_path):
    sample.make(small_course, tmp_path / "class")
    for lesson, code in (("numbers", "twice = x + x"), ("sums", "return sum(double(n)")):
        text = text_of(tmp_path / "class", "novak.tove", lesson)
        assert code in text and "###" not in text and "secret" not in text


def test_who_solved_all_exercises_also_answered_the_questions(small_course, tmp_path):
    path = small_course.path / "modules/source/01_numbers/numbers_dev.py"
    path.write_text(with_question(rubric=RUBRIC), "utf-8")
    root = course.open_root(small_course.path)
    sample.make(root, tmp_path / "class")
    answers = {"novak.tove": "Because\n\n$2 \\cdot 2 = 4$.", "berg.ivo": "", "lind.rosa": ""}
    for student, answer in answers.items():
        assert answer_in(cells.parse(path, text_of(tmp_path / "class", student)), "why") == answer


def test_a_lesson_without_recorded_mistakes_lacks_its_last_exercise(small_course, tmp_path):
    sample.make(small_course, tmp_path / "class")
    text = text_of(tmp_path / "class", "ito.rosa")
    assert "twice = x + x" in text and "return double(x) + x" not in text


def test_exports_find_the_ids_they_need(small_course, tmp_path):
    sample.make(small_course, tmp_path / "class")
    text = (tmp_path / "class" / "grades.csv").read_text("utf-8")
    _, *rows = csv.DictReader(text.splitlines())
    assert len(rows) == 6 and {"Numbers (9001)", "Sums (9002)"} <= rows[0].keys()
    for column in ("ID", "SIS User ID", "SIS Login ID"):
        assert len({row[column] for row in rows}) == 6 and all(row[column] for row in rows)


def test_a_full_folder_is_refused(small_course, tmp_path):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(TitoError, match="not empty"):
        sample.make(small_course, tmp_path / "class")
    assert files_of(tmp_path / "class") == {"notes.txt": b"mine"}


def test_a_workspace_is_refused(small_workspace, tmp_path):
    with pytest.raises(TitoError, match="workspace"):
        sample.make(small_workspace, tmp_path / "class")
    assert not (tmp_path / "class").exists()


def test_points_and_verdicts_that_are_not_as_expected_are_reported():
    """The comparison that the test of a whole class rests on."""
    wanted = {"least": 3, "most": 4, "verdicts": ["partly right", "failed"]}
    learner = {"student": "ada", "kind": "mistake", "lessons": {"numbers": wanted}}
    right = {"student": "ada", "lesson": "numbers", "graded_points": 3, "reason": ""}
    for change, said in (
        ({"verdict": "failed"}, []),
        ({"verdict": "partly right", "graded_points": 5}, ["5 points, expected 3 to 4"]),
        ({"verdict": "passed"}, ["verdict passed, expected partly right or failed"]),
        ({"verdict": "failed", "student": "bob"}, ["no row"]),
    ):
        found = differences({"learners": [learner]}, [right | change])
        assert len(found) == len(said) and all(map(str.__contains__, found, said))
