"""Whose an entry is: what one run learned from a class list or a worksheet, the next one knows."""

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_course import NUMBERS
from some_results import MONDAY, points, result, save, set_comment, set_points

from tito.grading.gradebook import enrollment, merging
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.intake import collect
from tito.grading.intake.submission_times import read_submitted

CLASS = "student,name,email\nm-1,Ada Lovelace,a@x\nm-5,John Smith,j5@x\nm-6,John Smith,j6@x\n"
WORKSHEET = """\
Identifier,Full name,ID number,Email address,Last modified (submission)
Participant 205,John Smith,m-5,j5@x,"Monday, 30 November 2026, 11:58 PM"
Participant 206,John Smith,m-6,j6@x,"Monday, 30 November 2026, 11:58 PM"
"""
FIVE, SIX = (f"John Smith_20{n}_assignsubmission_file" for n in (5, 6))
ADA = "Ada Lovelace_201_assignsubmission_file"


@pytest.fixture
def of(book, small_course, tmp_path):
    """Sorts entries, as a run does; returns {entry: its learner}."""
    numbers = itertools.count()
    (tmp_path / "times.csv").write_text(WORKSHEET, encoding="utf-8")

    def run(*names, worksheet=False):
        folder = tmp_path / f"batch-{next(numbers)}"
        for name in names:
            (folder / name).mkdir(parents=True)
            (folder / name / "numbers_dev.py").write_text(NUMBERS, encoding="utf-8")
        (folder / "other").mkdir()
        zone = MONDAY.tzinfo
        submitted = read_submitted("times.csv" if worksheet else None, tmp_path, zone)
        members, _ = enrollment.learners(book)
        found = collect.find_submissions(folder, small_course.lessons, members, submitted)
        enrollment.keep_entries(book, found, "me")
        return {upload.name: one.student for one in found for upload in one.uploads} | {
            "?": sorted(one.student for one in found if not one.known and one.uploads)
        }

    return run


@pytest.fixture
def roster(book, tmp_path):
    def read(text=CLASS):
        (tmp_path / "class.csv").write_text(text, encoding="utf-8")
        return enrollment.enroll(book, tmp_path / "class.csv", "me")

    return read


def states(book):
    return {one.student: one.state for one in book.learners()}


def test_a_run_without_the_worksheet_knows_whose_the_entries_are(of, roster):
    roster()
    assert of(FIVE, SIX)["?"] == [FIVE, SIX, "other"]
    assert of(FIVE, SIX, worksheet=True)[FIVE] == "m-5"
    later = of(FIVE, SIX)
    assert (later[FIVE], later[SIX], later["?"]) == ("m-5", "m-6", ["other"])
    # in the next download, Moodle's number is the same: the name of a file is the learner's
    assert of(f"{SIX}_again.py")[f"{SIX}_again.py"] == "m-6"


@pytest.mark.parametrize(
    ("name", "new"),
    [
        (ADA, "Ada King_201_assignsubmission_file"),
        ("lovelaceada_501_7001_numbers", "kingada_501_7002_numbers"),
        ("Ada Lovelace - numbers_dev", None),
        ("12-34 - Ada Lovelace - Nov 20, 2026 1011 AM", None),
        ("Ada Lovelace", None),
    ],
)
def test_a_new_name_loses_no_download(of, roster, name, new):
    roster()
    assert of(name)[name] == "m-1"
    roster(CLASS.replace("Lovelace", "King"))
    assert of(name)[name] == "m-1"
    if new:
        assert of(new)[new] == "m-1"
    # and another learner who has the old name now does not get it
    roster(CLASS.replace("Lovelace", "King") + "m-9,Ada Lovelace,n@x\n")
    assert of(name)[name] == "m-1"


def test_a_number_beside_the_name_of_somebody_else_is_not_theirs(of, roster):
    roster()
    of(ADA)
    other = "John Smith_201_assignsubmission_file"
    assert of(other)["?"] == [other, "other"]
    assert of("hw_201_2_x")["?"] == ["hw_201_2_x", "other"]


def test_a_stranger_whose_owner_is_found_leaves_the_tables_with_nothing_lost(book, of, roster):
    roster()
    of(FIVE, SIX)
    for name, earned in ((FIVE, (3, 3)), (SIX, (3, 0))):
        save(book, [result(name, points=earned, sha256=name.ljust(64)[:64])], MONDAY, "me")
    set_points(book, SIX, "numbers", 5)
    set_comment(book, SIX, "numbers", "Well argued")
    enrollment.leave(book, FIVE, "prof", "who is this")  # a removed one, too
    assert of(FIVE)["?"] == [FIVE, "other"] and states(book)[FIVE] == "left"
    of(FIVE, SIX, worksheet=True)
    assert states(book) == {"m-1": "", "m-5": "", "m-6": "", "other": "stranger"}
    assert points(book, "m-5") == {"numbers": "6"} and points(book, "m-6") == {"numbers": "5"}
    (grade,) = book.grades("m-6")
    assert grade.override.points == 5 and [one.text for one in grade.comments] == ["Well argued"]
    assert grade.lateness.arrived == MONDAY


def test_what_a_person_decided_is_never_overruled(book, of, roster):
    roster()
    of(FIVE, SIX)
    merging.merge(book, SIX, "m-5", "prof", "he told me")
    for worksheet in (False, True, False):
        assert of(SIX, worksheet=worksheet)[SIX] == "m-5"
    assert of(f"{SIX}_again.py", worksheet=True)[f"{SIX}_again.py"] == "m-5"
    # of a learner who was merged into another, too
    of(FIVE, worksheet=True)
    merging.merge(book, "m-5", "m-6", "prof", "one person")
    assert of(FIVE)[FIVE] == of(FIVE, worksheet=True)[FIVE] == "m-6"


def test_a_guess_is_replaced_by_what_is_sure_and_not_the_other_way(book, of, roster):
    roster("student,name,email\nkim,Kim,k@x\n")
    assert of("homework kim lee")["homework kim lee"] == "kim"
    assert of("kim lee")["kim lee"] == "kim"
    roster("student,name,email\nm-2,Kim Lee,l@x\n")
    assert of("kim lee")["kim lee"] == "m-2"


def test_of_the_same_file_graded_by_other_checks_the_newer_result_stays(book, of, roster):
    roster()
    of(FIVE)
    save(book, [result(FIVE, points=(3, 3), key="work.old")], MONDAY, "me")
    save(book, [result("m-5", points=(3, 0), key="work.new")], None, "me")
    of(FIVE, worksheet=True)
    assert points(book, "m-5") == {"numbers": "3"}
    (grade,) = book.grades("m-5")
    assert (grade.submissions, grade.lateness.arrived) == (1, MONDAY)


numbers = st.integers(201, 204)
steps = st.lists(
    st.tuples(st.sampled_from(["with", "without", "rename"]), st.sets(numbers)), max_size=6
)


@pytest.mark.slow  # a gradebook for each example
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(steps=steps)
def test_whatever_runs_come_first_an_owner_that_was_found_stays(
    tmp_path_factory, small_course, steps
):
    folder = tmp_path_factory.mktemp("steps")
    names = dict.fromkeys(range(201, 205), "John Smith")
    found = {}

    def lines(header, row):
        return "\n".join([header, *(row.format(n=n, name=names[n]) for n in names), ""])

    with open_gradebook(folder / "class.db") as book:
        for number, (step, entries) in enumerate([("rename", set()), *steps]):
            for one in entries if step == "rename" else ():
                names[one] = f"John {'ABCD'[number % 4]}"
            (folder / "class.csv").write_text(lines("student,name", "m-{n},{name}"), "utf-8")
            enrollment.enroll(book, folder / "class.csv", "me")
            batch = folder / f"batch-{number}"
            for one in entries:
                name = batch / f"{names[one]}_{one}_assignsubmission_file"
                name.mkdir(parents=True)
            header = "Identifier,Full name,ID number,Last modified (submission)"
            (folder / "t.csv").write_text(lines(header, "Participant {n},{name},m-{n},-"), "utf-8")
            table = read_submitted("t.csv" if step == "with" else None, folder, MONDAY.tzinfo)
            (batch / "other").mkdir(parents=True)
            members, _ = enrollment.learners(book)
            sorted_out = collect.find_submissions(batch, small_course.lessons, members, table)
            enrollment.keep_entries(book, sorted_out, "me")
            for one in sorted_out:
                for upload in one.uploads if one.known else ():
                    entry = int(upload.name.split("_")[1])
                    assert found.setdefault(entry, one.student) == one.student == f"m-{entry}"
            for name in (
                upload.name for one in sorted_out if not one.known for upload in one.uploads
            ):
                assert name == "other" or int(name.split("_")[1]) not in found
