"""Class lists are read as the programs write them: their headers, rows without a learner,
separators and encodings.
"""

import codecs
import re

import pytest
from some_results import read_roster

from tito.errors import TitoError
from tito.grading.gradebook import class_lists
from tito.grading.gradebook.class_lists import learners_of
from tito.grading.roster import Roster, in_section

# As lib/gradebook_exporter.rb writes it: a row for assignments that are posted by hand, the points
# possible, the test student at the end.
CANVAS = '''\
Student,ID,SIS User ID,SIS Login ID,Section,Tensor (1234),Current Score,Unposted Current Score
,,,,,Manual Posting,,
    Points Possible,,,,,67.00,(read only),(read only)
"Lovelace, Ada",501,s-1,alovelace,CS-01,60.00,89.55,89.55
"Müller, Zoë",502,s-2,zmueller,CS-01 and CS-02,EX,,
"=Berg, ""Bob""",503,s-3,bberg,CS-02,,,
"Student, Test",509,,5f2a8c90d1b34e7780a0d26b7c3b8bd54d0ae3c1,CS-01,,,
'''
CANVAS_SPLIT = """\
LastName,FirstName,ID,SIS Login ID,Section
    Points Possible,,,,
Lovelace,Ada,501,alovelace,CS-01
Student,Test,509,5f2a8c90d1b34e7780a0d26b7c3b8bd54d0ae3c1,CS-01
"""
PARTICIPANTS_EN = """\
"First name","Last name","Email address",Groups
Ada,Lovelace,ada@example.org,"Group A, Group B"
Zoë,Müller,zoe@example.org,"Group B"
"""
PARTICIPANTS_DE = """\
Vorname,Nachname,ID-Nummer,E-Mail-Adresse,Gruppen,Rollen
Ada,Lovelace,7001,ada@example.org,"Gruppe A",Teilnehmer/in
Zoë,Müller,7002,zoe@example.org,"Gruppe B",Teilnehmer/in
Doro,Dozentin,,doro@example.org,,Trainer/in
"""
WORKSHEET_EN = """\
Identifier,"Full name","ID number","Email address",Status,Grade,"Maximum grade",\
"Grade can be changed","Last modified (submission)","Last modified (grade)","Feedback comments"
"Participant 20001","Ada Lovelace",7001,ada@example.org,"Submitted for grading",,67.00,Yes,\
"Sunday, 1 March 2026, 11:58 PM",-,
"Participant 20002","Zoë Müller",7002,zoe@example.org,"No submission",,67.00,Yes,-,-,
"""
WORKSHEET_DE = """\
ID,"Vollständiger Name",ID-Nummer,E-Mail-Adresse,Status,Bewertung,Bestwertung,\
"Bewertung kann geändert werden","Zuletzt geändert (Abgabe)","Zuletzt geändert (Bewertung)",\
"Feedback als Kommentar"
Teilnehmer/in20001,"Ada Lovelace",7001,ada@example.org,"Zur Bewertung abgegeben","13,50","67,00",\
Ja,"Sonntag, 1. März 2026, 23:58",-,
Teilnehmer/in20002,"Zoë Müller",7002,zoe@example.org,"Keine Abgabe",,"67,00",Ja,-,-,
"""
CLASSROOM50 = """\
username,first_name,last_name,email,section,github_id,role
ada-l,Ada,Lovelace,ada@example.org,A,1001,student
zoe-m,Zoë,Müller,,B,1002,student
profx,Pro,Fessor,p@example.org,,1003,teacher
"""
GRADESCOPE = """\
First Name,Last Name,SID,Email,Role,Section
Ada,Lovelace,7001,ada@example.org,Student,A
Zoë,Müller,,zoe@example.org,Student,B
Tom,Assistant,,tom@example.org,TA,
"""
# The grades that Brightspace exports: "#" before ids and at the end of each line.
BRIGHTSPACE = """\
OrgDefinedId,Username,Last Name,First Name,Email,Tensor Points Grade,End-of-Line Indicator
#7001,#alovelace,Lovelace,Ada,ada@example.org,60,#
#7002,#zmueller,Müller,Zoë,zoe@example.org,,#
"""
BRIGHTSPACE_USERS = re.sub(r"(?m)^(OrgDefinedId|#\d+),", "", BRIGHTSPACE)  # of the key Username
BLACKBOARD = """\
Last Name,First Name,Username,Student ID,Last Access,Availability,Tensor [Total Pts: 28 Score] |664
Lovelace,Ada,alovelace,7001,2026-11-20 10:00:00,Yes,60
Müller,Zoë,zmueller,,,Yes,
Prof_PreviewUser,Prof,prof_previewuser,,,Yes,
"""
GOOGLE = """\
Last Name,First Name,Email Address,01 Tensor
Date,,,2026-11-20
Points,,,67
Class Average,,,58.5
Lovelace,Ada,ada@example.org,60
Müller,Zoë,zoe@example.org,
"""
GITHUB = """\
"identifier","github_username","github_id","name"
"alovelace","ada-l","1001","Ada Lovelace"
"zmueller","","",""
"""
NATIVE = """\
student,name,email,sis_login_id,section
ada,Ada Lovelace,ada@example.org,alovelace,A
zoe,Zoë Müller,zoe@example.org,zmueller,B
"""
LISTS = {
    "canvas": (CANVAS, "sis_login_id", ["alovelace", "zmueller", "bberg"]),
    "canvas split": (CANVAS_SPLIT, "sis_login_id", ["alovelace"]),
    "participants en": (PARTICIPANTS_EN, "email", ["ada@example.org", "zoe@example.org"]),
    "participants de": (PARTICIPANTS_DE, "idnumber", ["7001", "7002"]),
    "worksheet en": (WORKSHEET_EN, "idnumber", ["7001", "7002"]),
    "worksheet de": (WORKSHEET_DE, "idnumber", ["7001", "7002"]),
    "classroom 50": (CLASSROOM50, "username", ["ada-l", "zoe-m"]),
    "gradescope": (GRADESCOPE, "email", ["ada@example.org", "zoe@example.org"]),  # a SID is missing
    "brightspace": (BRIGHTSPACE, "username", ["alovelace", "zmueller"]),
    "brightspace users": (BRIGHTSPACE_USERS, "username", ["alovelace", "zmueller"]),
    "blackboard": (BLACKBOARD, "username", ["alovelace", "zmueller"]),
    "google": (GOOGLE, "email", ["ada@example.org", "zoe@example.org"]),
    "github": (GITHUB, "identifier", ["alovelace", "zmueller"]),
    "native": (NATIVE, "student", ["ada", "zoe"]),
}


def file(tmp_path, text, encoding="utf-8", newline="\n"):
    path = tmp_path / "class.csv"
    path.write_bytes(text.replace("\n", newline).encode(encoding))
    return path


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_is_read_as_its_program_writes_it(tmp_path, kind):
    text, column, ids = LISTS[kind]
    found = class_lists.read(file(tmp_path, text))
    assert class_lists.choose(found) == column
    learners = learners_of(found, column)
    assert [learner.student for learner in learners] == ids
    assert set(learners[0].name.replace(",", "").split()) == {"Ada", "Lovelace"}


@pytest.mark.parametrize(
    ("encoding", "before"),
    [
        ("utf-8", b""),
        ("utf-8-sig", b""),
        ("cp1252", b""),
        ("utf-16-le", codecs.BOM_UTF16_LE),
        ("utf-16-be", codecs.BOM_UTF16_BE),
        ("utf-16-le", b""),
    ],
)
@pytest.mark.parametrize("separator", [",", ";", "\t", "sep=;", '"sep=,"'])
def test_excel_may_save_it_in_any_of_its_ways(tmp_path, encoding, before, separator):
    text = "student,name,section\nada,Ada,A\nzoë,Zoë Müller,B\n"
    sign = separator.strip('"')[-1]
    head = f"{separator}\n" if "sep=" in separator else ""
    path = tmp_path / "class.csv"
    lines = (head + text.replace(",", sign)).replace("\n", "\r\n")
    path.write_bytes(before + lines.encode(encoding))
    found = class_lists.read(path)
    _, zoe = learners_of(found, class_lists.choose(found))
    assert (zoe.student, zoe.name, zoe.columns["section"]) == ("zoë", "Zoë Müller", "B")
    assert bool(found.remarks) == (encoding == "cp1252"), "a guess is reported"
    number, _ = found.lines[1]
    assert number == (4 if head else 3), "an error would name the line of the file"


def test_what_is_no_learner_is_left_out_and_told(tmp_path):
    for text, names in (
        (CANVAS, ["Points Possible", "Student, Test"]),
        (CANVAS_SPLIT, ["Points Possible", "Test Student"]),
        (PARTICIPANTS_DE, ["Doro Dozentin (Trainer/in)"]),
        (CLASSROOM50, ["Pro Fessor (teacher)"]),
        (GRADESCOPE, ["Tom Assistant (TA)"]),
        (GOOGLE, ["Date", "Points", "Class Average"]),
        (BRIGHTSPACE, []),
        (GITHUB, []),
        (NATIVE, []),
    ):
        assert class_lists.read(file(tmp_path, text)).left_out == names


def test_a_learner_called_test_student_is_a_learner_if_the_school_has_their_id(tmp_path):
    text = CANVAS + '"Student, Test",777,s-77,tstudent,CS-01,,,\n'
    found = class_lists.read(file(tmp_path, text))
    assert [line["id"] for _, line in found.lines] == ["501", "502", "503", "777"]


def test_entries_of_a_system_are_found_by_what_its_list_says(tmp_path):
    for text, name in (
        (CANVAS, "lovelaceada_LATE_501_777_tensor_dev"),
        (WORKSHEET_EN, "Ada Lovelace_20001_assignsubmission_file"),
        (WORKSHEET_DE, "Someone_20001_assignsubmission_file"),
        (CLASSROOM50, "ada-l"),
        (GRADESCOPE, "ada@example.org"),
        (PARTICIPANTS_EN, "Ada Lovelace_20001_assignsubmission_file"),
        (BRIGHTSPACE, "12345-678901 - Ada Lovelace - Nov 20, 2026 1011 AM"),
        (GOOGLE, "Ada Lovelace - tensor_dev"),
        (GITHUB, "tensor-ada-l"),
    ):
        assert Roster(read_roster(file(tmp_path, text))).owners(name)[0] == {0}, name


def test_a_formula_of_canvas_is_a_name_again(tmp_path):
    text = CANVAS.replace('"=Berg, ""Bob"""', '"=""=Berg, Bob"""')
    assert read_roster(file(tmp_path, text))[2].name == "=Berg, Bob"


def test_a_roster_of_ones_own_may_have_the_columns_of_others(tmp_path):
    for text in (NATIVE, "Student,ID,SIS Login ID,Section\nada,1,alovelace,A\n".lower()):
        assert read_roster(file(tmp_path, text))[0].student == "ada"


def test_another_id_column_is_asked_for_or_remembered(tmp_path):
    path = file(tmp_path, CANVAS)
    assert [one.student for one in read_roster(path, "SIS User ID")] == ["s-1", "s-2", "s-3"]
    assert [one.student for one in read_roster(path, remembered="id")] == ["501", "502", "503"]
    assert [one.student for one in read_roster(path, "id", "sis_login_id")][0] == "501"
    with pytest.raises(TitoError, match="no column 'matricule'; there are: name, id, sis_user_id"):
        read_roster(path, "matricule")
    path = file(tmp_path, PARTICIPANTS_EN)
    assert read_roster(path, "Email address")[0].student == "ada@example.org"


@pytest.mark.parametrize(
    ("text", "wanted", "what"),
    [
        (GRADESCOPE, "sid", "class.csv:3: no sid"),
        (NATIVE + "zoe,Zoe,,,\n", None, "class.csv:4: student 'zoe' is in line 3, too"),
        ("name;E-Mail\nA;x@y\nB;x@y\n", "email", "class.csv:3: email 'x@y' is in line 2, too"),
        ("sid,email\n1.2E+11,\n3.4E+11,\n", None, "'1.2E+11', a number that a spreadsheet has"),
        ("sid,email\n,\n", None, "lists no learners"),
        ("sid,name\n,Ada\n", None, "no line fills sid"),
        ("", None, "lists no learners"),
        (CANVAS.replace("502", ""), "id", None),
        ("Student,ID,SIS Login ID,Section,ID\n", None, "class.csv:1: the column 'id' is there 2"),
    ],
)
def test_a_list_that_does_not_tell_learners_apart_is_refused_with_the_line(
    tmp_path, text, wanted, what
):
    path = file(tmp_path, text)
    if what is None:  # without an id of Canvas: a row that Canvas added
        assert len(read_roster(path, wanted)) == 2
        return
    with pytest.raises(TitoError) as error:
        read_roster(path, wanted)
    assert what in error.value.what and error.value.remedy and error.value.code == 2


def test_of_a_table_of_no_known_program_no_column_is_guessed(tmp_path):
    path = file(tmp_path, "name,id,email\n" + "".join(f"N{n},{n},{n}@x.org\n" for n in range(1, 6)))
    with pytest.raises(TitoError) as error:
        read_roster(path)
    assert "which column holds the learners' ids?" in error.value.what
    assert "name: N1, N2, N3; id: 1, 2, 3; email: 1@x.org, 2@x.org, 3@x.org." in error.value.what
    assert "--id-column email" in error.value.remedy, "the first of those that other lists use"
    assert [one.student for one in read_roster(path, "email")][0] == "1@x.org"
    long = file(tmp_path, 'a,"b"\n' + "x" * 9_000 + ',"two\nlines"\n')
    with pytest.raises(TitoError) as error:
        read_roster(long)
    assert len(error.value.what) < 400 and "\n" not in error.value.what
    path = file(tmp_path, "id,name,email\n" + "".join(f"{n},N{n},{n}@x.org\n" for n in range(1, 6)))
    assert [one.student for one in read_roster(path, remembered="id")][0] == "1"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"PK\3\4...", "is a workbook, not a CSV file"),
        (b"student\nzo\x81\n", "class.csv:2: byte 0x81 is neither UTF-8 nor Windows-1252"),
        (
            codecs.BOM_UTF8 + b"student\nzo\xeb\n",
            "class.csv:2: byte 0xeb is not UTF-8, as its first",
        ),
        (codecs.BOM_UTF16_LE + b"s\0t\0\0\xd8", "damaged UTF-16, at byte"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, data, what):
    (tmp_path / "class.csv").write_bytes(data)
    with pytest.raises(TitoError) as error:
        class_lists.read(tmp_path / "class.csv")
    assert what in error.value.what


@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("CS-01", ["cs-01"]),
        ("CS-01 and CS-02", ["CS-01", "CS-02", "CS-01 and CS-02"]),
        ("A, B, and C", ["A", "B", "C"]),
        ("Gruppe A, Gruppe B", ["Gruppe A", "gruppe b"]),
        ("Handicraft and arts", ["Handicraft and arts"]),
        ("CS110/01", ["CS110/01"]),
    ],
)
def test_a_learner_may_be_in_several_sections(text, sections):
    assert all(in_section({"section": text}, section) for section in sections)
    assert not in_section({"section": text}, "CS") and not in_section({}, "CS")
