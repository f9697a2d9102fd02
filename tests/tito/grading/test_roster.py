"""A roster says who is in the class; the names of entries say whose they are, but only in what a
system wrote.
"""

import pytest
from some_results import read_roster

from tito.errors import TitoError
from tito.grading.roster import Learner, Roster, shown

CLASS = [
    Learner(
        "ada",
        "Ada Lovelace",
        columns={
            "email": "ada@example.org",
            "canvas_id": "12345",
            "github": "countess",
            "section": "A",
        },
    ),
    Learner(
        "bob",
        "Bob de Ruiter",
        columns={
            "email": "bob@example.org",
            "canvas_id": "678",
            "moodle_id": "99001",
            "section": "A",
        },
    ),
    Learner(
        "eve_m",
        "Eve Müller",
        columns={"email": "eve@example.org", "sis_login_id": "em17", "section": "B"},
    ),
]


def write(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "roster.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("comma", [",", ";", "\t"])
def test_a_roster_keeps_every_column(tmp_path, encoding, comma):
    text = (
        "Student,Name,SIS User ID,arrived\r\n\r\n"
        'ada,"Lovelace Ada",7,2026-03-01T12:00:00+01:00\r\nzoë,,,\r\n'
    )
    ada, zoe = read_roster(write(tmp_path, text.replace(",", comma), encoding))
    assert (ada.student, ada.name) == ("ada", "Lovelace Ada")
    assert ada.columns == {
        "student": "ada",
        "name": "Lovelace Ada",
        "sis_user_id": "7",
        "arrived": "2026-03-01T12:00:00+01:00",
    }
    assert (zoe.student, zoe.name) == ("zoë", "zoë")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "name,town\nAda,London\n",
            "roster.csv: which column holds the learners' ids? It begins name: Ada; town: London.",
        ),
        ("", "lists no learners"),
        ("student\n", "lists no learners"),
        ("student\nada\nbob\nADA\n", "roster.csv:4: student 'ADA' is in line 2, too"),
        ("student,name\nada,Ada\n,Bob\n", "roster.csv:3: no student"),
        ("student,name\nada,Lovelace, Ada\n", "roster.csv:2: 3 cells under 2 columns"),
        ("student,email,email\nada,a,b\n", "'email' is there 2 times"),
        ('student,name\nada,"Ada" x\n', "roster.csv:2: damaged CSV"),
        ("student,name\nada," + "x" * 200_000 + "\n", "damaged CSV"),
    ],
)
def test_a_damaged_roster_is_refused_with_the_line(tmp_path, text, what):
    with pytest.raises(TitoError) as error:
        read_roster(write(tmp_path, text))
    assert what in error.value.what and error.value.remedy and error.value.code == 2


def test_a_roster_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(TitoError, match="cannot be read"):
        read_roster(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("ADA", "ada"),
        ("bob@example.org", "bob"),
        ("Countess", "ada"),
        ("em17", "eve_m"),
        ("eve_m", "eve_m"),
        ("Ada Lovelace", "ada"),
        ("lovelaceada_12345_777_numbers", "ada"),
        ("lovelaceada_LATE_12345_777_work-1", "ada"),
        ("someone_12345_678_x", "ada"),
        ("deruiterbob_555_777_numbers", "bob"),
        ("Eve Müller_7654321_assignsubmission_file_", "eve_m"),
        ("Bob de Ruiter_1_assignsubmission_file_work", "bob"),
        ("Anonym_99001_assignsubmission_file_", "bob"),
        # The learner chose the name of the file, in which another's number follows.
        ("Bob de Ruiter_1_assignsubmission_file_ada_678_assignsubmission_file_x", "bob"),
        ("Eve Müller - bob", "eve_m"),  # Google's, before what the learner chose
        ("ada-2", "ada"),
        ("ada (1)", "ada"),
        ("ada_numbers", "ada"),
        ("eve_m_numbers_dev", "eve_m"),
        ("hw1_countess", "ada"),
        ("1-2 - Ada Lovelace - Nov 20, 2026 1011 AM", "ada"),  # Brightspace's, in several schools
        ("1-2 - countess Ada Lovelace - Nov 20, 2026 1011 AM", "ada"),
        ("1-2 - em17 Müller - 20 November 2026 1011 AM", "eve_m"),
        ("1-2 - bob - Nov 20, 2026 1011 AM", "bob"),  # by the instructor
    ],
)
def test_an_entry_belongs_to_the_learner_whose_id_or_name_a_system_wrote(name, owner):
    assert [CLASS[n].student for n in Roster(CLASS).owners(name)[0]] == [owner]


@pytest.mark.parametrize(
    "name",
    [
        # 678 is Bob's id, but here the number of an upload; and the file's name is the learner's
        # choice.
        "nobody_555_678_bob",
        "Eve_1_assignsubmission_file_bob",
        "x_678_assignsubmission_file_ada",
        "adam",
        "A",
        "",
        "homework",
        "_",
        "x" * 10_000 + "_ada",
        "1-2 - ada Berg - Nov 20, 2026 1011 AM",
    ],
)
def test_a_name_that_a_learner_chose_matches_no_learner(name):
    assert not Roster(CLASS).owners(name)[0]


def test_a_name_with_two_ids_is_not_decided():
    assert len(Roster(CLASS).owners("hw_ada_and_bob")[0]) == 2
    kims = Roster([Learner("lee"), Learner("kim"), Learner("kim-lee")])
    assert kims.owners("fall26-tensor-kim-lee")[0] == {2}, "the longest id"
    assert kims.owners("fall26-tensor-lee")[0] == {0}
    twins = [
        Learner("1", "Kim Lee"),
        Learner("2", "Kim Lee"),
        Learner("3", columns={"section_id": "9"}),
        Learner("4", columns={"section_id": "9"}),
    ]
    assert len(Roster(twins).owners("leekim_5_6_x")[0]) == 2
    assert len(Roster(twins).owners("Kim Lee - work")[0]) == 2
    assert Roster([Learner("5", "Jo - Al Berg")]).owners("Jo - Al Berg - work")[0] == {0}
    assert len(Roster(twins).owners("9")[0]) == 2
    assert Roster(twins).owners("homework-2")[0] == set(), "-2 is a count"


def test_a_number_of_moodles_that_is_anothers_id_does_not_decide():
    ada, bob = Learner("20001", "Ada Lovelace"), Learner("20002", "Bob Berg")
    known = Roster([ada, bob])
    assert known.owners("Bob Berg_20001_assignsubmission_file_")[0] == {0, 1}
    assert known.owners("Ada Lovelace_20001_assignsubmission_file_")[0] == {0}
    assert known.owners("Anonym_20002_assignsubmission_file_")[0] == {1}
    ada.columns["id"] = "501"
    assert Roster([ada, bob]).owners("bergbob_501_77_numbers_dev.py")[0] == {0}, "Canvas's own id"


def test_an_id_of_the_student_column_goes_before_the_same_id_elsewhere():
    assert Roster(
        [Learner("12", columns={"canvas_id": "13"}), Learner("13", columns={"canvas_id": "12"})]
    ).owners("12")[0] == {0}


@pytest.mark.parametrize(
    "name", ["a\nb", "a\x1b[31m", "\u202eada", "x" * 201, "a\udcff", "", "  ", "\0"]
)
def test_a_name_is_shown_without_what_controls_a_terminal_and_stays_itself(name):
    seen = shown(name)
    assert seen.isprintable() and 0 < len(seen) <= 200 and seen.encode()
    assert seen != shown(name + " ") and seen == shown(name)


@pytest.mark.parametrize(
    "name", ["ada", "=cmd()", "Zoë Müller, jr.", "👩\u200d💻", "x" * 200, "李"]
)
def test_an_ordinary_name_is_shown_as_it_is(name):
    assert shown(name) == name
