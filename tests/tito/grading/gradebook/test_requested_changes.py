"""A table of changes is done whole, or not at all; it can be looked at before."""

from datetime import datetime, timezone
from zoneinfo import ZoneInfo

import pytest
from some_results import MONDAY, points, result, save

from tito.errors import TitoError, UsageError
from tito.grading.gradebook.changes import apply_changes
from tito.grading.gradebook.requested_changes import read_changes

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
        return read_changes(path, name_of, why)

    return write


@pytest.fixture
def class_book(book):
    for student in ("ada", "bob", "-lee"):
        save(book, [result(student)], MONDAY, "me")
    return book


def apply(book, changes, who="prof"):
    """Whether each change wrote something, by line and kind."""
    return [one.is_new for one in apply_changes(book, changes, who)]


def test_one_table_sets_points_gives_time_and_comments(class_book, file):
    changes = file(
        "Student;lesson;check;points;extend;comment;why;email",
        "ada;1;;5,5;;Well argued;lab;a@x",
        "bob;numbers;c1;3;2;;;b@x",
        "'-lee;numbers;;;2026-12-05T23:59:00+01:00;;was ill;",
        ";;;;;;;",
        'ada;;;;;"In general: ""thanks"", and goodbye";;',
        why="appeals",
    )
    assert apply(class_book, changes) == [True] * 6
    assert points(class_book) == {"numbers": "5.5"} and points(class_book, "bob") == {
        "numbers": "6"
    }
    ada, bob, lee = (next(class_book.grades(name)) for name in ("ada", "bob", "-lee"))
    assert (ada.override.why, ada.override.who, ada.comments[0].text) == (
        "lab",
        "prof",
        "Well argued",
    )
    assert (bob.check_overrides["c1"].why, bob.lateness.extension.days) == ("appeals", 2)
    assert lee.lateness.extension.until == datetime(2026, 12, 5, 22, 59, tzinfo=timezone.utc)
    ((learner, _),) = class_book.by_learner("ada")
    assert learner.comments[0].text == 'In general: "thanks", and goodbye'


def test_a_preview_says_what_would_change_and_writes_nothing(class_book, file):
    changes = file("student,lesson,points,comment,why", "ada,numbers,5,Good,lab")
    before = list(class_book.history())
    told = apply_changes(class_book, changes, "prof", preview=True)
    assert [(one.is_new, str(one.old), str(one.new)) for one in told] == [
        (True, "3", "5"),
        (True, "5", "5"),
    ]
    assert list(class_book.history()) == before and points(class_book) == {"numbers": "3"}
    with pytest.raises(TitoError, match="no learner 'adda'"):
        bad = file("student,lesson,points,why", "adda,numbers,5,lab")
        apply_changes(class_book, bad, "prof", preview=True)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_a_table_may_come_as_excel_writes_it(tmp_path, encoding):
    path = tmp_path / "changes.csv"
    text = 'sep=;\r\nstudent;comment\r\n="007";Schön gelöst\r\n'
    path.write_bytes(text.encode(encoding))
    (change,) = read_changes(path, name_of)
    assert (change.student, change.text) == ("007", "Schön gelöst")
    assert change.where.endswith(":3")


def test_a_table_applied_twice_changes_nothing_the_second_time(class_book, file):
    changes = file("student,lesson,points,extend,comment,why", "ada,numbers,5,2,Good,lab")
    assert apply(class_book, changes) == [True] * 3
    entries = len(list(class_book.history()))
    assert apply(class_book, changes) == [False] * 3
    assert len(list(class_book.history())) == entries
    lift = file("student,lesson,points,extend,comment,why", "ada,numbers,lift,LIFT,lift,a slip")
    assert apply(class_book, lift) == [True] * 3
    assert apply(class_book, lift) == [False] * 3
    (grade,) = class_book.grades("ada")
    assert (grade.override, grade.lateness.extension, grade.comments) == (None, None, [])


def test_when_one_line_cannot_be_done_nothing_is_and_every_such_line_is_reported(class_book, file):
    changes = file(
        "student,lesson,points",
        "ada,numbers,5",
        "adda,numbers,5",
        "bob,numbers,50",
        "bob,sums,1",
        why="appeals",
    )
    with pytest.raises(TitoError) as refused:
        apply_changes(class_book, changes, "prof")
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
        (["student,lesson,points,why", "ada,1,many,x"], "'many' is no number"),
        (["student,lesson,points,why", "ada,1,nan,x"], "'nan' is no number"),
        (["student,lesson,points,why", "ada,1,1_0,x"], "'1_0' is no number"),
        (["student,lesson,check,points,why", "ada,numbers,c1,,x"], ":2: a check, and no points"),
        (["student,extend,why", "ada,two,x"], "'two' is no number of days and no time"),
        (["student,extend,why", "ada,0,x"], "more time by 0 days"),
        (["student,extend,why", "ada,2026-12-01T10:00,x"], "has no time zone"),
        (["student,extend,why", "ada,2026-12-01,x"], "2026-12-01 is a day without a time"),
        (["student,extend,why", "ada,0001-01-01T00:00+14:00,x"], "no number of days and no time"),
        (
            ["student,lesson,points,why", "ada,numbers,1,x", "bob,1,1,x", "ada,1,2,x"],
            ":4: another override of ada numbers than ",
        ),
        (["student,extend,why", "ada,lift,x", "ada,3,x"], "another extension of ada than "),
        (["student,comment", "ada,lift", "ada,hello"], ":3: another comment of ada than "),
        (["student,comment", "ada,"], "asks for nothing"),
        (["student,comment", f"ada,{'x' * 5000}"], "5,000 characters"),
        (["student,comment", 'ada,"no end'], "damaged CSV"),
        (["student,comment", "ada,Well argued, but late"], ":2: 3 cells under 2 columns"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_what_a_line_cannot_mean_is_reported_with_its_place(file, lines, words):
    with pytest.raises(TitoError) as refused:
        file(*lines)
    assert words in refused.value.what


def test_more_time_without_a_time_zone_is_in_that_of_the_course(tmp_path):
    path = tmp_path / "changes.csv"
    path.write_text("student,extend,why\nada,2026-10-24T20:01,x\nbob,2026-10-25T02:30,x\n")
    ada, bob = read_changes(path, name_of, zone=ZoneInfo("Europe/Berlin"))
    assert ada.extension.until.isoformat() == "2026-10-24T18:01:00+00:00"
    assert bob.extension.until.isoformat() == "2026-10-25T01:30:00+00:00"  # the later 02:30


def test_every_line_that_cannot_be_read_is_reported_at_once(file):
    with pytest.raises(TitoError) as told:
        file("student,lesson,points,why", "ada,nmbers,3,x", "bob,numbers,3,x", "eve,numbers,3,")
    assert told.value.what.startswith("Nothing was changed.\n")
    assert ":2: There is no lesson 'nmbers'. Did you mean 'numbers'?" in told.value.what
    assert ":4: no reason is given." in told.value.what and ":3:" not in told.value.what
