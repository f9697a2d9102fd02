"""Learners who hand in together, by the roster's column `group`: one hand-in counts for each."""

import csv
import io
import os
import re
import sys
import zipfile
from zoneinfo import ZoneInfo

import pytest
from commands import tito
from small_course import NUMBERS, set_policies

from tito.cli.instructor import similar
from tito.errors import UsageError
from tito.grading.gradebook import class_lists, enrollment
from tito.grading.intake.collect import find_submissions
from tito.grading.intake.open_submission import open_submission
from tito.grading.intake.submission_times import Submitted, read_submitted
from tito.grading.roster import Learner

BERLIN = ZoneInfo("Europe/Berlin")
HALF = NUMBERS.replace("    return double(x) + x\n", "    pass\n")
PEOPLE = (
    ("ada", "Ada Lovelace", "1001", "Lab-Group 3"),
    ("bob", "Bob Berg", "1002", "lab-group 3"),
    ("cy", "Kim Lee", "1003", "Blue"),
    ("dan", "Kim Lee", "1004", "Blue"),
    ("eve", "Eve Ada", "1005", ""),
)
CLASS = [Learner(one, name, {"id": id_, "group": group}) for one, name, id_, group in PEOPLE]
ROSTER = "student,name,id,group\n" + "".join(f"{','.join(one)}\n" for one in PEOPLE)


@pytest.fixture
def owners(small_course, tmp_path):
    """owners(*names): {entry: the learners who have it}."""

    def run(*names, submitted=Submitted(zone=BERLIN)):
        for name in names:
            (tmp_path / "in" / name).mkdir(parents=True)
            (tmp_path / "in" / name / "numbers_dev.py").write_text(NUMBERS, encoding="utf-8")
        found = find_submissions(tmp_path / "in", small_course.lessons, CLASS, submitted)
        run.found = {one.student: one for one in found}
        return {name: [one.student for one in found if has(one, name)] for name in names}

    return run


def has(submission, name):
    return any(upload.name == name for upload in submission.uploads)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("ada", ["ada", "bob"]),
        ("Lab-Group 3", ["ada", "bob"]),
        ("labgroup3_77_501_numbers", ["ada", "bob"]),  # Canvas's, by the group
        ("labgroup3_1002_501_numbers", ["ada", "bob"]),  # and a member
        ("Lab-Group 3-Bob Berg_20002_assignsubmission_file", ["ada", "bob"]),  # Moodle's
        ("Blue-Kim Lee_20003_assignsubmission_file", ["cy", "dan"]),  # namesakes
        ("Blue_20003_assignsubmission_file", ["cy", "dan"]),
        ("1-2 - Lab-Group 3 - Dec 1, 2026 1015 PM", ["ada", "bob"]),  # Brightspace's
        ("Lab 1_Blue_attempt_2026-12-01-22-15-00_numbers", ["cy", "dan"]),  # Blackboard's
        ("Kim Lee", ["cy", "dan"]),
        ("eve", ["eve"]),
        ("Red-Bob Berg_20002_assignsubmission_file", ["Red-Bob Berg_20002_assignsubmission_file"]),
    ],
)
def test_a_hand_in_is_of_the_whole_group(owners, name, theirs):
    assert owners(name, "no one's")[name] == theirs
    for student in theirs if len(theirs) > 1 else ():
        (note,) = owners.found[student].notes
        assert re.fullmatch(r"Handed in by the group (Lab-Group 3|Blue)\.", note)


def test_an_entry_is_remembered_as_its_own_learners_only(owners):
    owners("ada")
    keys = {one: submission.uploads[0].keys for one, submission in owners.found.items() if
            submission.uploads}  # fmt: skip
    assert keys == {"ada": ("ada",), "bob": ()}


def test_groups_whose_names_differ_in_punctuation_stay_apart(small_course, tmp_path):
    names = {"ada": "Lab 1-1", "bob": "Lab 11", "cy": "LAB 11", "dan": "☆", "eve": "☆"}
    roster = [Learner(one, columns={"group": group}) for one, group in names.items()]
    for name in ("ada", "bob", "lab11_77_501_numbers", "dan"):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "numbers_dev.py").write_text(NUMBERS, encoding="utf-8")
    found = find_submissions(tmp_path / "in", small_course.lessons, roster)
    uploads = {one.student: [upload.name for upload in one.uploads] for one in found}
    assert uploads.pop("lab11_77_501_numbers") == ["lab11_77_501_numbers"], "of two groups"
    assert uploads == {
        "ada": ["ada"],
        "bob": ["bob"],
        "cy": ["bob"],
        "dan": ["dan"],
        "eve": ["dan"],
    }


def test_the_time_of_a_group_is_that_of_who_handed_in(owners, tmp_path):
    table = "student,arrived\nbob,2026-12-01T20:00:00Z\nada,\ncy,2026-12-01T21:00:00Z\n"
    (tmp_path / "times.csv").write_text(table, encoding="utf-8")
    owners("bob", "Blue", submitted=read_submitted("times.csv", tmp_path, BERLIN))
    hours = {one: owners.found[one].arrival("").when.hour for one in ("ada", "bob", "cy", "dan")}
    assert hours == {"ada": 20, "bob": 20, "cy": 21, "dan": 21}


@pytest.mark.parametrize("form", ["{}.py", "{}/numbers_dev.py"])
def test_what_is_untouched_or_cannot_be_read_replaces_no_work_of_the_group(
    small_course, tmp_path, form
):
    released = small_course.lesson("numbers").declared.released
    group = [Learner(one, columns={"group": "Red"}) for one in ("ada", "bob", "cy")]
    for minutes, (student, text) in enumerate(zip(("cy", "ada", "bob"), (NUMBERS, released, ""))):
        path = tmp_path / "in" / form.format(student)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        for one in {path, path.parent} - {tmp_path / "in"}:
            os.utime(one, (1_800_000_000 + 60 * minutes,) * 2)
    for one in find_submissions(tmp_path / "in", small_course.lessons, group):
        file = open_submission(one, small_course.lessons).files["numbers"]
        assert file.raw.decode() == NUMBERS, one.student


def test_a_learner_in_two_groups_is_refused_with_the_line(book, tmp_path):
    path = tmp_path / "class.csv"
    for cell in ('"Red, Blue"', "Red;Blue", "Red | Blue"):
        path.write_text(f"student,name,group\nada,Ada,Red\nbob,Bob,{cell}\n", encoding="utf-8")
        with pytest.raises(UsageError, match="class.csv:3: .* are 2 groups") as caught:
            enrollment.enroll(book, path, "me")
        assert "`section`" in caught.value.remedy
    path.write_text("student,group\nada,Red\nada,Blue\n", encoding="utf-8")
    with pytest.raises(UsageError, match="class.csv:3: student 'ada' is in line 2, too"):
        enrollment.enroll(book, path, "me")


def test_a_list_of_groups_adds_no_learner(book, tmp_path):
    path = tmp_path / "class.csv"
    path.write_text("student,name\nada,Ada\nbob,Bob\n", encoding="utf-8")
    enrollment.enroll(book, path, "me")
    path.write_text("student,group\nada,Red\nbop,Red\n", encoding="utf-8")
    with pytest.raises(UsageError, match="'bop', of the group 'Red'") as caught:
        enrollment.enroll(book, path, "me")
    assert "bob" in caught.value.remedy and {one.group for one in book.learners()} == {""}
    path.write_text("student,group\nada,Red\nbob,Red\n", encoding="utf-8")
    assert enrollment.enroll(book, path, "me").groups == 1
    assert [one.group for one in book.learners()] == ["Red", "Red"]


def test_canvas_lists_its_groups(tmp_path):
    (tmp_path / "groups.csv").write_text(
        "name,canvas_user_id,user_id,login_id,sections,group_name,canvas_group_id,group_id\n"
        "Ada Lovelace,1001,s-1,alovelace,A,Lab 3,7,\nBob Berg,1002,s-2,bberg,A,,,\n",
        encoding="utf-8",
    )
    found = class_lists.read(tmp_path / "groups.csv")
    assert class_lists.choose(found) == "sis_login_id" and found.source == "Canvas's gradebook"
    ada, bob = class_lists.learners_of(found, "sis_login_id")
    assert (ada.group, bob.group, ada.section, ada.columns["id"]) == ("Lab 3", "", "A", "1001")


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A class with groups, graded: (course, folder, what reading the roster says)."""
    from small_course import make_course

    from tito.lesson import course

    folder = tmp_path_factory.mktemp("groups")
    root = course.open_root(make_course(folder / "course"))
    set_policies(root.path, percent_per_day=10)
    with (root.path / "tito.toml").open("a", encoding="utf-8") as file:
        file.write("[grading.due]\nnumbers = 2096-12-01T20:00:00Z\n")
    (root.path / "class.csv").write_text(ROSTER, encoding="utf-8")
    for name, text in (
        ("labgroup3_1001_501_numbers_dev.py", HALF),
        ("labgroup3_LATE_1002_502_numbers_dev.py", NUMBERS),
        ("blue_1004_503_numbers_dev.py", NUMBERS),
    ):
        (folder / "in").mkdir(exist_ok=True)
        (folder / "in" / name).write_text(text, encoding="utf-8")
    times = "id,arrived\n1001,2096-12-01T19:00:00Z\n1002,2096-12-02T19:00:00Z\n"
    (root.path / "times.csv").write_text(times, encoding="utf-8")
    said = "".join(tito(root, "gradebook", "roster", "class.csv"))
    words = ("numbers", "--isolation", "process", "--submitted", "times.csv", "--jobs", "1")
    tito(root, "grade", folder / "in", *words)
    return root, folder, said


linux = pytest.mark.skipif(sys.platform != "linux", reason="the jail is Linux's")


@linux
def test_each_member_has_a_row_and_what_is_set_for_one_is_only_theirs(graded):
    root, _, said = graded
    assert "2 groups: one hand-in counts for all learners of a group" in said

    def points():
        rows = csv.DictReader(io.StringIO(tito(root, "gradebook", "export")[0]))
        return {row["student"]: (row["group"], row["numbers"]) for row in rows}

    before = points()
    assert before["ada"] == ("Lab-Group 3", "4.5") and before["bob"][1] == "4.5", "of 5, a day late"
    assert before["cy"] == before["dan"] == ("Blue", "5") and before["eve"] == ("", "")
    tito(root, "gradebook", "set", "bob", "numbers", "--extend", "1", "--why", "was ill")
    tito(root, "gradebook", "set", "ada", "numbers", "--comment", "Only for Ada")
    after = points()
    assert (after["ada"][1], after["bob"][1]) == ("4.5", "5")
    shown = tito(root, "gradebook", "show")[0]
    assert "Bob Berg, group lab-group 3" in shown
    bob = tito(root, "gradebook", "show", "--student", "bob", "--lesson", "numbers")[0]
    assert "Handed in by the group" in bob and "Only for Ada" not in bob


@linux
def test_feedback_reaches_each_member_and_no_other(graded, tmp_path):
    root, folder, _ = graded
    tito(root, "feedback", tmp_path / "pages")
    pages = {path.name.split("-")[0]: path.read_text("utf-8") for path in
             (tmp_path / "pages" / "learners").iterdir()}  # fmt: skip
    assert "Handed in by the group" in pages["bob"] and "Only for Ada" not in pages["bob"]
    zips = ("--canvas", tmp_path / "canvas.zip", "--submissions", folder / "in")
    _, err = tito(root, "feedback", tmp_path / "pages", *zips)
    assert "Not in it: 5 pages" in err, "Canvas would show the page of one to the whole group"
    moodle = [f"Blue-Kim Lee_{n}_assignsubmission_file" for n in (31, 32)]
    for name in [*moodle, "Lab-Group 3-Ada Lovelace_33_assignsubmission_file"]:
        (tmp_path / "moodle" / name).mkdir(parents=True)
        (tmp_path / "moodle" / name / "numbers_dev.py").write_text(NUMBERS, encoding="utf-8")
    zips = ("--moodle", tmp_path / "moodle.zip", "--submissions", tmp_path / "moodle")
    _, err = tito(root, "feedback", tmp_path / "pages", *zips)
    with zipfile.ZipFile(tmp_path / "moodle.zip") as pack:
        assert pack.namelist() == ["Lab-Group 3-Ada Lovelace_33_assignfeedback_file_feedback.html"]
    assert "bob" in err and "cy" in err, "nothing says their numbers"


@linux
def test_a_group_is_not_similar_to_itself(graded):
    root, folder, _ = graded
    lessons = [root.lesson("numbers")]
    works = similar.read_works(folder / "in", lessons, CLASS)
    assert [contents.student for contents, _ in works] == ["ada", "cy"]


@linux
@pytest.mark.parametrize(("policy", "expected"), [("best", "4.5"), ("last-on-time", "4")])
def test_of_two_hand_ins_of_a_group_the_policy_decides(graded, policy, expected):
    root, folder, _ = graded
    path = root.path / "tito.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("[grading]\n", f'[grading]\npolicy = "{policy}"\n'))
    try:
        words = ("numbers", "--isolation", "process", "--submitted", "times.csv", "--jobs", "1")
        db = ("--gradebook", folder / f"{policy}.db")
        tito(root, *db, "gradebook", "roster", "class.csv")
        tito(root, *db, "grade", folder / "in", *words)
        rows = csv.DictReader(io.StringIO(tito(root, *db, "gradebook", "export")[0]))
        points = {row["student"]: row["numbers"] for row in rows}
    finally:
        path.write_text(text, encoding="utf-8")
    assert points["ada"] == points["bob"] == expected
