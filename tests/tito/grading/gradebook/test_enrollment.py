"""Who is in the class: one column of ids for a book, strangers, who left, two ids of a learner."""

import csv
import io

import pytest
from small_course import NUMBERS, make_course
from some_results import keep_strangers, points, result, save, set_comment

from tito.errors import TitoError
from tito.grading.gradebook import enrollment, exports, merging
from tito.grading.intake import collect
from tito.grading.roster import Roster
from tito.lesson import course

NATIVE = "student,name,section,sis_login_id\nada,Ada Lovelace,A,ada-l\nbob,Bob Berg,B,bob-b\n"
CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section
    Points Possible,,,,
"Lovelace, Ada",501,s-1,ada-l,A
"Berg, Bob",502,s-2,bob-b,A and B
"""


@pytest.fixture
def roster(tmp_path):
    def write(text, name="class.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


def states(book):
    return {learner.student: learner.state for learner, _ in book.by_learner()}


def test_the_book_remembers_which_column_its_ids_are(book, roster):
    assert enrollment.learners(book) == (None, {}) and enrollment.id_column_of(book) is None
    assert enrollment.enroll(book, roster(NATIVE), "me").id_column == "student"
    save(book, [result("ada")], None, "me")
    with pytest.raises(TitoError, match="by sis_login_id; this gradebook, which has grades, by st"):
        enrollment.enroll(book, roster(CANVAS), "me")
    with pytest.raises(TitoError, match="which has grades"):
        enrollment.enroll(book, roster(NATIVE), "me", id_column="sis_login_id")
    assert states(book) == {"ada": "", "bob": ""}
    assert [one.student for one in enrollment.learners(book)[0]] == ["ada", "bob"]


def test_the_remembered_column_goes_before_the_fixed_order(book, roster):
    enrollment.enroll(book, roster(CANVAS), "me", id_column="SIS User ID")
    save(book, [result("s-1")], None, "me")
    assert enrollment.enroll(book, roster(CANVAS), "me").learners == ["s-1", "s-2"]


def test_without_grades_another_column_takes_the_place_of_the_first(book, roster):
    enrollment.enroll(book, roster(NATIVE), "me")
    assert enrollment.enroll(book, roster(CANVAS), "me").id_column == "sis_login_id"
    assert states(book) == {"ada-l": "", "bob-b": ""}


def test_what_canvas_lists_is_what_it_gets_back(book, roster):
    lines = CANVAS.splitlines()
    more = ["01 Numbers (77),Sums (78),Essay (79)", "6.00,6.00,9.00", ",,", ",,"]
    listed = roster("\n".join(",".join(pair) for pair in zip(lines, more)))
    enrollment.enroll(book, listed, "me")
    save(book, [result("ada-l"), result("ada-l", "sums")], None, "me")
    text = exports.text(exports.Selection(book), "canvas")
    header, most, ada, bob = csv.reader(io.StringIO(text, newline=""))
    assert header == [*lines[0].split(","), "01 Numbers (77)", "Sums (78)"]
    assert most == ["    Points Possible", "", "", "", "", "6", "6"]
    assert ada == ["Lovelace, Ada", "501", "s-1", "ada-l", "A", "3", "3"]
    assert bob == ["Berg, Bob", "502", "s-2", "bob-b", "A and B", "", ""]


def test_rosters_add_up(book, roster):
    enrollment.enroll(book, roster("student,name,email\nada,Ada,a@x\n"), "me")
    enrollment.enroll(book, roster("student,section\nada,A\n", "two.csv"), "me")
    (ada,), _ = enrollment.learners(book)
    assert (ada.name, ada.email, ada.section) == ("Ada", "a@x", "A")


def test_a_list_without_names_takes_none_away(book, roster):
    """Moodle's download is found by the name, which only Canvas's list has."""
    enrollment.enroll(book, roster(CANVAS), "me")
    more = roster("SIS Login ID\tE-Mail\tStudent ID\nada-l\ta@x.org\t7\nbob-b\tb@x.org\t8\n")
    enrollment.enroll(book, more, "me")
    ada, _ = learners = enrollment.learners(book)[0]
    assert (ada.name, ada.email) == ("Lovelace, Ada", "a@x.org")
    owners = Roster(learners).owners("Ada Lovelace_20001_assignsubmission_file_")
    assert owners == ({0}, True)


def test_who_is_not_in_a_later_roster_stays_until_it_is_the_whole_class(book, roster):
    enrollment.enroll(book, roster(NATIVE), "me")
    save(book, [result("bob")], None, "me")
    half = roster("student\nada\n", "half.csv")
    assert enrollment.enroll(book, half, "me").absent == ["bob"]
    assert states(book) == {"ada": "", "bob": ""}
    enrollment.enroll(book, half, "me", whole_class=True)
    assert states(book) == {"ada": "", "bob": "left"} and points(book, "bob") == {"numbers": "3"}
    assert [one.student for one in enrollment.learners(book)[0]] == ["ada", "bob"], "no stranger"
    assert enrollment.enroll(book, roster(NATIVE), "me").left == ["bob"]
    enrollment.come_back(book, "bob", "me", "came back")
    assert states(book)["bob"] == ""
    assert [one.kind for one in book.history("bob")] == ["graded", "left", "returned"]


def test_a_strangers_grades_are_kept_until_a_roster_has_them(book, roster):
    enrollment.enroll(book, roster(NATIVE), "me")
    keep_strangers(book, ["cy", "doe_LATE_700_12_numbers.zip", "eve"])
    for name in ("cy", "doe_LATE_700_12_numbers.zip", "eve"):
        save(book, [result(name)], None, "me")
    assert states(book)["eve"] == "stranger"
    assert [one.student for one in enrollment.learners(book)[0]] == ["ada", "bob"]
    told = enrollment.enroll(
        book, roster("student,name,canvas_id\ncy,Cy,\njane,Jane Doe,700\n"), "me"
    )
    assert told.theirs == {"doe_LATE_700_12_numbers.zip": "jane"}
    assert states(book) == {"ada": "", "bob": "", "cy": "", "eve": "stranger", "jane": ""}
    assert points(book, "jane") == points(book, "cy") == {"numbers": "3"}
    assert {grade.result.student for grade in book.grades("jane")} == {"jane"}


def test_a_stranger_of_gradescope_is_known_by_what_it_says_of_them(book, roster, tmp_path):
    """Its folders have numbers, and another one each time."""
    lessons = course.open_root(make_course(tmp_path / "course")).lessons
    enrollment.enroll(book, roster("student,email,sid\nada,ada@x.org,7\n"), "me")
    people = "  :submitters:\n  - :name: Bob\n    :sid: '8'\n    :email: bob@x.org\n"
    for number in (31, 32):
        folder = tmp_path / f"export{number}"
        (folder / f"submission_{number}").mkdir(parents=True)
        (folder / f"submission_{number}" / "numbers_dev.py").write_text(NUMBERS, encoding="utf-8")
        text = f"---\nsubmission_{number}:\n{people}  :created_at: 2026-03-02 12:00:00 Z\n"
        (folder / "submission_metadata.yml").write_text(text, encoding="utf-8")
        *_, stranger = collect.find_submissions(folder, lessons, enrollment.learners(book)[0])
        assert (stranger.student, stranger.name, stranger.known) == ("bob@x.org", "Bob", False)
        save(book, [result(stranger.student)], None, "me", stranger.name)
        keep_strangers(book, [stranger.student])
    out = enrollment.enroll(book, roster("student,email,sid\nada,,7\nbob,bob@x.org,8\n"), "me")
    assert out.theirs == {"bob@x.org": "bob"} and points(book, "bob") == {"numbers": "3"}


def test_who_was_graded_before_there_was_a_roster_is_a_stranger_if_it_has_them_not(book, roster):
    save(book, [result("ada"), result("ada", "sums")], None, "me")
    save(book, [result("berg_502_1_numbers_dev")], None, "me")
    save(book, [result("nobody")], None, "me")
    told = enrollment.enroll(book, roster("student,name,canvas_id\nada,Ada,\nbob,Bob,502\n"), "me")
    assert told.strangers == ["nobody"] and told.theirs == {"berg_502_1_numbers_dev": "bob"}
    assert states(book) == {"ada": "", "bob": "", "nobody": "stranger"}
    assert points(book, "bob") == {"numbers": "3"}


def test_two_ids_of_one_learner_are_merged_and_no_grade_falls(book, roster):
    enrollment.enroll(book, roster("student,email\nada,a@x\nlovelace,\nbob,\n"), "me")
    save(book, [result("ada", points=(1,)), result("ada", "sums", (3,))], None, "me", "Ada")
    save(book, [result("lovelace", points=(3,)), result("lovelace", "sums", (2,))], None, "me")
    save(book, [result("lovelace", "products", (1,))], None, "me")
    set_comment(book, "lovelace", "sums", "well done", "prof")
    merging.merge(book, "lovelace", "ada", "prof", "two logins")
    assert points(book, "ada") == {"numbers": "3", "sums": "3", "products": "1"}
    assert states(book) == {"ada": "", "bob": ""}
    grade = next(grade for grade in book.grades("ada") if grade.lesson == "sums")
    assert grade.comments[0].text == "well done" and grade.result.student == "ada"
    merged = [one for one in book.history("ada") if one.kind == "merged"]
    assert sorted((one.lesson, one.old_points, one.new_points) for one in merged) == [
        ("numbers", 1, 3),
        ("products", None, 1),
        ("sums", 3, 3),
    ]
    with pytest.raises(TitoError, match="'lovelace' was merged into 'ada'"):
        merging.merge(book, "lovelace", "ada", "prof", "again")
    with pytest.raises(TitoError, match="one learner already"):
        merging.merge(book, "ada", "ada", "prof", "again")


def test_who_is_merged_into_a_stranger_stays_in_the_class(book, roster):
    enrollment.enroll(book, roster("student,email\nlovelace.a,a@x\nbob,\n"), "me")
    save(book, [result("ada")], None, "me")
    keep_strangers(book, ["ada"])
    merging.merge(book, "lovelace.a", "ada", "prof", "two logins")
    assert states(book) == {"ada": "", "bob": ""}


def test_a_run_that_began_before_a_merge_grades_the_learner_who_is_there_now(book, roster):
    enrollment.enroll(book, roster("student\nada\nlovelace\n"), "me")
    save(book, [result("ada", points=(1,))], None, "me")
    merging.merge(book, "lovelace", "ada", "prof", "two logins")
    save(book, [result("lovelace", points=(3,), sha256="b" * 64, key="new")], None, "me")
    assert states(book) == {"ada": ""}
    assert points(book, "ada") == {"numbers": "3"}
    assert {one.result.student for one in book.grades()} == {"ada"}


def test_what_comes_in_under_a_merged_id_is_the_learners(book, roster):
    both = roster("student,name\nada,Ada\nlovelace,A. Lovelace\nbob,Bob\nrob,Rob\n")
    enrollment.enroll(book, both, "me")
    merging.merge(book, "rob", "lovelace", "prof", "the same")
    merging.merge(book, "lovelace", "ada", "prof", "the same")
    learners, _ = enrollment.learners(book)
    for name in ("ada", "lovelace", "rob"):
        (owner,) = Roster(learners).owners(name)[0]
        assert learners[owner].student == "ada"
    assert enrollment.enroll(book, both, "me").learners == ["ada", "bob"], "a roster that has all"
    assert states(book) == {"ada": "", "bob": ""}
    ((ada, _),) = book.by_learner("ada")
    assert ada.name == "Ada"
    enrollment.enroll(book, roster("student,name\nrob,Ada L.\nbob,Bob\n"), "me")
    assert states(book) == {"ada": "", "bob": ""}, "only the id that is gone"


def test_sections_filter(book, roster):
    enrollment.enroll(book, roster(CANVAS), "me")
    save(book, [result("ada-l")], None, "me")
    save(book, [result("bob-b")], None, "me")
    assert enrollment.section(book, "a") == {"ada-l", "bob-b"}
    assert enrollment.section(book, "B") == {"bob-b"}
    assert [grade.student for grade in book.grades(section="B")] == ["bob-b"]
    with pytest.raises(TitoError) as error:
        enrollment.section(book, "C")
    assert error.value.remedy == "The roster has: A, A and B."
