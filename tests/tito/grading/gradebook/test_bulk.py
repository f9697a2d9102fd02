"""A table of overrides, extensions and comments is done whole, or not at all."""

from datetime import datetime, timezone

import pytest
from some_results import MONDAY, points, result

from tito.errors import TitoError, UsageError
from tito.grading.gradebook import bulk, overrides

LESSONS = {"numbers": "numbers", "1": "numbers", "sums": "sums"}


def name_of(text):
    if text not in LESSONS:
        raise UsageError(f"There is no lesson {text!r}.", "Did you mean 'numbers'?")
    return LESSONS[text]


@pytest.fixture
def file(tmp_path):
    def write(*lines, why=""):
        path = tmp_path / "changes.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
        return bulk.read(path, name_of, why)

    return write


@pytest.fixture
def class_book(book):
    for student in ("ada", "bob", "-lee"):
        book.save([result(student)], MONDAY, "me")
    return book


def test_one_table_sets_points_gives_time_and_comments(class_book, file):
    wishes = file(
        "Student;lesson;check;points;days;until;comment;why;email",
        "ada;1;;5,5;;;Well argued;lab;a@x",
        "bob;numbers;c1;3;2;;;;b@x",
        "'-lee;numbers;;;;2026-12-05T23:59:00+01:00;;was ill;",
        ";;;;;;;;",
        'ada;;;;;;"In general: ""thanks"", and goodbye";;',
        why="appeals",
    )
    assert overrides.apply(class_book, wishes, "prof") == (6, 0)
    assert points(class_book) == {"numbers": "5.5"} and points(class_book, "bob") == {
        "numbers": "6"
    }
    ada, bob, lee = (next(class_book.rows(name)) for name in ("ada", "bob", "-lee"))
    assert (ada.override.why, ada.override.who, ada.comments[0].text) == (
        "lab",
        "prof",
        "Well argued",
    )
    assert (bob.check_overrides["c1"].why, bob.extension.days) == ("appeals", 2)
    assert lee.extension.until == datetime(2026, 12, 5, 22, 59, tzinfo=timezone.utc)
    ((learner, _),) = class_book.by_learner("ada")
    assert learner.comments[0].text == 'In general: "thanks", and goodbye'


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_a_table_may_come_as_excel_writes_it(tmp_path, encoding):
    path = tmp_path / "changes.csv"
    text = 'sep=;\r\nstudent;comment\r\n="007";Schön gelöst\r\n'
    path.write_bytes(text.encode(encoding))
    (wish,) = bulk.read(path, name_of)
    assert (wish.student, wish.text) == ("007", "Schön gelöst") and wish.where.endswith(":3")


def test_a_table_applied_twice_changes_nothing_the_second_time(class_book, file):
    wishes = file("student,lesson,points,days,comment,why", "ada,numbers,5,2,Good,lab")
    assert overrides.apply(class_book, wishes, "prof") == (3, 0)
    entries = len(list(class_book.history()))
    assert overrides.apply(class_book, wishes, "prof") == (0, 3)
    assert len(list(class_book.history())) == entries
    lift = file("student,lesson,points,days,comment,why", "ada,numbers,lift,LIFT,lift,a slip")
    assert overrides.apply(class_book, lift, "prof") == (3, 0)
    assert overrides.apply(class_book, lift, "prof") == (0, 3)
    (grade,) = class_book.rows("ada")
    assert (grade.override, grade.extension, grade.comments) == (None, None, [])


def test_when_one_line_cannot_be_done_nothing_is_and_every_such_line_is_told(class_book, file):
    wishes = file(
        "student,lesson,points",
        "ada,numbers,5",
        "adda,numbers,5",
        "bob,numbers,50",
        "bob,sums,1",
        why="appeals",
    )
    with pytest.raises(TitoError) as refused:
        overrides.apply(class_book, wishes, "prof")
    for words in (
        "Nothing was changed",
        "changes.csv:3: The gradebook has no learner 'adda'. Did you mean 'ada'?",
        "changes.csv:4: 50 points are not possible",
        "changes.csv:5: bob has no grade in sums yet",
    ):
        assert words in refused.value.what
    assert {"override"}.isdisjoint(change.kind for change in class_book.history())


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["student,lesson", "ada,numbers"], ":1: the columns are student, lesson."),
        (["student,lesson,pionts,points", "ada,numbers,,1"], "'pionts' means nothing"),
        (["student,lesson,points", "ada,numbers,1"], ":2: no reason is given"),
        (["student,lesson,points,why", ",numbers,1,x"], ":2: no student"),
        (["student,lesson,points,why", "ada,number,1,x"], ":2: There is no lesson 'number'"),
        (["student,points,why", "ada,1,x"], ":2: points, and no lesson"),
        (["student,lesson,check,points,why", "ada,numbers,c1,,x"], ":2: a check, and no points"),
        (["student,days,until,why", "ada,1,lift,x"], "contradict"),
        (["student,days,why", "ada,two,x"], "'two' is no number of days"),
        (["student,until,why", "ada,soon,x"], "'soon' is no time"),
        (
            ["student,lesson,points,why", "ada,numbers,1,x", "bob,1,1,x", "ada,1,2,x"],
            ":4: another override of ada numbers than ",
        ),
        (["student,until,days,why", "ada,lift,,x", "ada,,3,x"], "another extension of ada than "),
        (["student,comment", "ada,lift", "ada,hello"], ":3: another comment of ada than "),
        (["student,comment", "ada,"], "asks for nothing"),
        (["student,comment", 'ada,"no end'], "damaged CSV"),
        (["student,comment", "ada,Well argued, but late"], ":2: 3 cells under 2 columns"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_line_cannot_mean_is_told_with_its_place(file, lines, words):
    with pytest.raises(TitoError) as refused:
        file(*lines)
    assert words in refused.value.what


def test_every_line_that_cannot_be_read_is_told_at_once(file):
    with pytest.raises(TitoError) as told:
        file("student,lesson,points,why", "ada,nmbers,3,x", "bob,numbers,3,x", "eve,numbers,3,")
    assert told.value.what.startswith("Nothing was changed.\n")
    assert ":2: There is no lesson 'nmbers'. Did you mean 'numbers'?" in told.value.what
    assert ":4: no reason is given." in told.value.what and ":3:" not in told.value.what
