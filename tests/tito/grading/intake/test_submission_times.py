"""When work arrived is what its collector knows: names and tables as Canvas, Moodle, Gradescope and
hosts of repositories write them; or the instructor, with `--submitted`.
"""

import itertools
import os
import zipfile
from dataclasses import replace
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

import pytest
from small_course import NUMBERS, SUMS

from tito.errors import TitoError
from tito.grading import lms
from tito.grading.intake.collect import find_submissions
from tito.grading.intake.submission_times import Submitted, read_submitted
from tito.grading.roster import Learner
from tito.grading.submission import NOBODY, Arrived, merged

BERLIN = ZoneInfo("Europe/Berlin")
MONDAY, WEDNESDAY = (datetime(2026, 3, day, 12, tzinfo=timezone.utc) for day in (2, 4))
EVENING = datetime(2026, 12, 1, 21, 15, tzinfo=timezone.utc)  # 22:15 in Berlin
CLASS = [
    Learner("ada", "Ada Lovelace", {"email": "ada@example.org", "id": "1001", "github": "ada-l"}),
    Learner("bob", "Bob Berg", {"email": "bob@example.org", "id": "1002", "github": "bobb"}),
]
WORKSHEET = """\
Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",\
"Last modified (submission)","Last modified (grade)","Feedback comments"
"Participant 20001","Ada Lovelace",ada@example.org,"Submitted for grading - ",,100.00,Yes,\
"Tuesday, 1 December 2026, 10:15 PM",-,
"Participant 20002","Bob Berg",bob@example.org,"No submission - ",,100.00,Yes,-,-,
"""
GRADESCOPE = """\
First Name,Last Name,SID,Email,Sections,Total Score,Max Points,Status,Submission ID,\
Submission Time,Lateness (H:M:S)
Ada,Lovelace,999,ADA@example.org,,,100.0,Ungraded,77,2026-12-01 22:15:00 +0100,00:00:00
Bob,Berg,,bob@example.org,,,100.0,Missing,,,
"""


@pytest.fixture
def lessons(small_course):
    return small_course.lessons


def put(path, text=NUMBERS, when=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if when:
        os.utime(path, (when.timestamp(),) * 2)
    return path


def arrivals(folder, lessons, roster=CLASS, **submitted):
    """{learner: when the latest of their work arrived}"""
    found = find_submissions(folder, lessons, roster, Submitted(**submitted))
    return {one.student: one.arrival("") for one in found}


@pytest.mark.parametrize(
    "lines",
    [
        ('ID,Vollständiger Name,E-Mail-Adresse,Status,Zuletzt geändert (Bewertung),'
         'Zuletzt geändert (Abgabe)',
         'Teilnehmer/in20001,Ada Lovelace,ada@example.org,x,-,"Dienstag, 1. Dezember 2026, 22:15"'),
        ('Identifiant,Nom complet,Adresse de courriel,Statut,Dernière modification (travail remis),'
         'Dernière modification (note)',
         'Participant20001,Ada Lovelace,ada@example.org,x,"mardi 1 décembre 2026, 22:15",-'),
        ('Identificador,Nombre completo,Dirección de correo,Estado,Última modificación (entrega),'
         'Última modificación (calificación)',
         'Participante20001,Ada Lovelace,ada@example.org,x,'
         '"martes, 1 de diciembre de 2026, 22:15",-'),
    ],
    ids=["German", "French", "Spanish"],
)  # fmt: skip
@pytest.mark.parametrize("beside", [True, False])
def test_moodles_worksheet_is_read_in_other_languages(tmp_path, lessons, lines, beside):
    entry = "Ada Lovelace_20001_assignsubmission_file"
    put(tmp_path / "in" / entry / "numbers_dev.py")
    put(tmp_path / "in" / "Bob Berg_20002_assignsubmission_file" / "numbers_dev.py")
    table = put(tmp_path / ("in" if beside else ".") / "Bewertungen.csv", "\n".join(lines) + "\n")
    given = read_submitted(None if beside else str(table), tmp_path, BERLIN)
    ada, bob = find_submissions(tmp_path / "in", lessons, CLASS, given)
    assert (ada.arrival("").when, ada.arrival("").how) == (EVENING, "moodle")
    assert bob.arrival("").when is None and [one.name for one in ada.uploads] == [entry]


@pytest.mark.parametrize(
    ("stem", "late"),
    [
        ("lovelaceada_LATE_1001_5551_numbers_dev", True),
        ("lovelaceada_1001_5551_numbers_dev-1", False),
        ("lovelaceada_1001_5552_ada_LATE_numbers", False),  # the learner's own choice
        ("ada_LATE_numbers_dev", None),
        ("numbers_LATE", None),
        ("homework_1_2_ada", None),
        ("Ada Lovelace_20001_assignsubmission_file", None),
    ],
)
def test_canvas_says_late_in_the_name(stem, late):
    entry = lms.read_name(stem)
    assert (entry and entry.late) == late and (late is None or entry.system == "canvas")


def test_a_canvas_download_fetched_days_after_the_deadline_is_late_by_its_marks_alone(
    tmp_path, lessons
):
    path = tmp_path / "submissions.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("lovelaceada_1001_5551_numbers_dev.py", NUMBERS)
        archive.writestr("bergbob_LATE_1002_5552_numbers_dev.ipynb", "{}")
    found = arrivals(path, lessons)
    assert {(one.when, one.late, one.how) for one in found.values()} == {
        (None, False, "canvas"),
        (None, True, "canvas"),
    }
    assert found["bob"].late and found["ada"].fetched


def test_brightspace_writes_the_local_time_into_the_names_of_its_folders(tmp_path, lessons):
    folder = tmp_path / "submissions"
    put(folder / "12345-678901 - Ada Lovelace - Dec 1, 2026 1015 PM" / "numbers_dev.py", NUMBERS)
    put(folder / "12346-678901 - bob Berg - 01 March 2026 111 AM" / "numbers_dev.py", NUMBERS)
    put(folder / "index.html", "<table>")
    found = arrivals(folder, lessons, zone=BERLIN)
    assert len(found) == 2  # the list of the download is not a submission
    assert (found["ada"].when, found["ada"].how) == (EVENING, "brightspace")
    assert found["bob"].when == datetime(2026, 3, 1, 0, 11, tzinfo=timezone.utc)
    with pytest.raises(TitoError, match="no time zone"):
        arrivals(folder, lessons)
    mallory = tmp_path / "clones"  # one among others is a learner's own choice
    put(mallory / "1-2 - Ada Lovelace - Mar 1, 2026 100 AM" / "numbers_dev.py", NUMBERS)
    put(mallory / "bob" / "numbers_dev.py", NUMBERS)
    assert not any(one.when for one in arrivals(mallory, lessons, zone=BERLIN).values())


def test_who_names_a_zip_as_canvas_would_is_not_in_time_for_it(tmp_path, lessons):
    folder = tmp_path / "clones"
    put(folder / "lovelaceada_1001_5551_numbers_dev.py")
    put(folder / "bob" / "numbers_dev.py")
    found = arrivals(folder, lessons, time=WEDNESDAY)
    assert [(one.when, one.late) for one in found.values()] == [(WEDNESDAY, None)] * 2


@pytest.mark.parametrize("roster", [CLASS, None])
def test_moodles_worksheet_beside_the_submissions_says_when(tmp_path, lessons, roster):
    folder = tmp_path / "submissions"
    put(folder / "Ada Lovelace_20001_assignsubmission_file" / "numbers_dev.py", NUMBERS)
    put(folder / "Bob Berg_20002_assignsubmission_file" / "numbers_dev.py", NUMBERS)
    put(folder / "Grades-DL-Numbers-4711.csv", WORKSHEET)
    found = arrivals(folder, lessons, roster, zone=BERLIN)
    assert len(found) == 2  # the worksheet is not a submission
    ada, bob = found.values()
    assert (ada.when, ada.how, bob.when, bob.how) == (EVENING, "moodle", None, "")
    with pytest.raises(TitoError, match="no time zone") as caught:
        arrivals(folder, lessons, roster)
    assert 'zone = "Europe/Berlin"' in caught.value.remedy and ":2: " in caught.value.what


def test_the_worksheet_distinguishes_learners_with_the_same_name(tmp_path, lessons):
    """Moodle's folders have the name and a number; its worksheet says whose number it is."""
    folder = tmp_path / "submissions"
    for number in (20001, 20002):
        put(folder / f"Ada Lovelace_{number}_assignsubmission_file_" / "numbers_dev.py")
    header, line, _ = WORKSHEET.splitlines(keepends=True)
    namesake = line.replace("20001", "20002").replace("ada@", "bob@")
    put(folder / "Grades.csv", header + line + namesake)
    roster = [CLASS[0], replace(CLASS[1], name="Ada Lovelace")]
    ada, bob = find_submissions(folder, lessons, roster, Submitted(zone=BERLIN))
    numbers = [[upload.name[13:18] for upload in one.uploads] for one in (ada, bob)]
    assert numbers == [["20001"], ["20002"]]
    untimed = find_submissions(folder, lessons, roster, submitted=None)
    assert [(len(one.uploads), one.arrival("").when) for one in untimed] == [(1, None)] * 2
    (folder / "Grades.csv").unlink()
    *_, one, other = find_submissions(folder, lessons, roster, Submitted(zone=BERLIN))
    assert not one.known and "may belong to ada, bob" in other.notes[0]


def test_a_number_in_a_worksheet_is_not_a_learners_id(tmp_path, lessons):
    """Some Moodles write it alone, and in another system it may be the id of another learner."""
    folder = tmp_path / "submissions"
    put(folder / "Ada Lovelace_1002_assignsubmission_file_" / "numbers_dev.py")
    sheet = WORKSHEET.replace("Participant 20001", "1002").replace("ada@", "unknown@")
    put(folder / "Grades.csv", sheet)
    bob = replace(CLASS[1], columns={"canvas_id": "1002"})
    found = find_submissions(folder, lessons, [CLASS[0], bob], Submitted(zone=BERLIN))
    assert [len(one.uploads) for one in found] == [1, 0]


@pytest.mark.parametrize(
    "name",
    ["bergbob_LATE_1002_5552_{}.csv", "Bob Berg_20002_assignsubmission_file_{}.csv"],
)
def test_a_worksheet_that_a_learner_handed_in_says_nothing(tmp_path, lessons, name):
    folder = tmp_path / "submissions"
    put(folder / "lovelaceada_1001_5551_numbers_dev.py", NUMBERS)
    put(folder / "bergbob_LATE_1002_5553_numbers_dev.py", NUMBERS)
    forged = WORKSHEET.replace("Ada Lovelace", "Berg, Bob").replace("20001", "20002")
    put(folder / name.format("Grades-DL-Numbers-4711"), forged)
    found = arrivals(folder, lessons, CLASS, zone=BERLIN)
    assert {one.when for one in found.values()} == {None}
    assert found["bob"].late is True


def test_pairs_are_compared_without_asking_when_they_came(tmp_path, lessons):
    folder = tmp_path / "submissions"
    put(folder / "ada" / "numbers_dev.py")
    put(folder / "Grades.csv", WORKSHEET.replace("December", "Thermidor"))
    assert [one.student for one in find_submissions(folder, lessons, submitted=None)] == ["ada"]


def test_a_worksheet_may_be_in_the_zip_of_the_class(tmp_path, lessons):
    path = tmp_path / "DL-Numbers-4711.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Ada Lovelace_20001_assignsubmission_file/numbers_dev.py", NUMBERS)
        archive.writestr("Grades.csv", WORKSHEET)
    found = find_submissions(path, lessons, None, Submitted(zone=BERLIN))
    assert [(one.student, one.arrival("").when) for one in found] == [
        ("Ada Lovelace_20001_assignsubmission_file", EVENING)
    ]


def test_an_unreadable_time_in_a_worksheet_is_reported(tmp_path):
    put(tmp_path / "times.csv", WORKSHEET.replace("December", "Thermidor"))
    with pytest.raises(TitoError, match=r"times.csv:2: last_modified_\(submission\) is 'Tuesday"):
        read_submitted("times.csv", tmp_path, BERLIN)


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (WORKSHEET, "moodle"),
        (GRADESCOPE, "gradescope"),
        ("student,arrived\nada,2026-12-01T22:15\n", "--submitted"),
        ("github,pushed_at\nada-l,2026-12-01T22:15\n", "--submitted"),
        ("email,submitted_at\nada@example.org,2026-12-01T21:15:00Z\n", "--submitted"),
    ],
)
def test_a_table_says_when_each_was_submitted(tmp_path, lessons, text, how):
    folder = tmp_path / "submissions"
    put(folder / "ada" / "numbers_dev.py")
    put(folder / "bob" / "numbers_dev.py")
    put(tmp_path / "times.csv", text)
    table = read_submitted("times.csv", tmp_path, BERLIN).table
    found = arrivals(folder, lessons, table=table)
    assert (found["ada"].when, found["ada"].how) == (EVENING, how)
    assert (found["bob"].when, found["bob"].how) == (None, "")


def test_submitted_is_a_time_for_all_or_a_table(tmp_path):
    assert read_submitted(None, tmp_path, BERLIN) == Submitted(zone=BERLIN)
    for text in ("2026-12-01T22:15", "2026-12-01T21:15:00Z"):
        assert read_submitted(text, tmp_path, BERLIN) == Submitted(time=EVENING, zone=BERLIN)
    put(tmp_path / "times", "id,arrived\n1,2026-12-01T22:15\n")
    assert read_submitted("times", tmp_path, BERLIN).table.by_id.keys() == {"1"}
    for text, why in (("soon", "--submitted is 'soon'"), ("no.csv", "no.csv cannot be read")):
        with pytest.raises(TitoError, match=why):
            read_submitted(text, tmp_path, BERLIN)


def test_times_of_pushes_count_by_the_last_of_each_learner(tmp_path, lessons):
    folder = tmp_path / "clones"
    for name in ("numbers-ada-l", "numbers-bobb"):
        put(folder / name / "numbers_dev.py")
    put(
        tmp_path / "pushes.csv",
        "github,pushed_at\nada-l,2026-03-01T10:00:00Z\nada-l,2026-03-02T12:00:00Z\n"
        "nobody,2026-03-09T12:00:00Z\n",
    )
    table = read_submitted("pushes.csv", tmp_path, None).table
    found = arrivals(folder, lessons, table=table)
    assert (found["ada"].when, found["bob"].when) == (MONDAY, None)


def test_the_pushes_of_a_stranger_are_found_by_the_end_of_a_clones_name(tmp_path, lessons):
    """A learner whose account is not in the roster is not in time; also once it is merged."""
    folder = tmp_path / "clones"
    put(folder / "fall26-numbers-old-handle" / "numbers_dev.py")
    put(folder / "fall26-numbers-bobb" / "numbers_dev.py")
    text = "github,pushed_at\nhandle,2026-03-01T12:00:00Z\nold-handle,2026-03-04T12:00:00Z\n"
    put(tmp_path / "pushes.csv", text)
    table = read_submitted("pushes.csv", tmp_path, None).table
    merged_id = {"github": "ada-l", "merged_1_id": "fall26-numbers-old-handle"}
    *_, stranger = find_submissions(folder, lessons, CLASS, Submitted(table))
    ada = arrivals(folder, lessons, [replace(CLASS[0], columns=merged_id), CLASS[1]], table=table)
    assert (stranger.student, stranger.arrival("").when) == ("fall26-numbers-old-handle", WEDNESDAY)
    assert (ada["ada"].when, ada["bob"].when) == (WEDNESDAY, None)


def test_a_table_without_times_or_of_no_use_is_reported(tmp_path):
    for text, what in (
        ("github,date\nada,x\n", "no column of times"),
        ("", "no column of times"),
        ("github,arrived\nada,soon\n", "times.csv:2: arrived is 'soon'"),
        ("github,arrived\nada,2026-03-01 10:00\n", "no time zone"),
    ):
        with pytest.raises(TitoError, match=what):
            read_submitted(str(put(tmp_path / "times.csv", text)), tmp_path, None)


def test_the_instructors_time_counts_where_no_better_time_is_known(tmp_path, lessons):
    folder = tmp_path / "submissions"
    put(folder / "Ada Lovelace_20001_assignsubmission_file" / "numbers_dev.py", NUMBERS)
    put(folder / "bergbob_LATE_1002_5552_numbers_dev.py", NUMBERS)
    put(folder / "Grades.csv", WORKSHEET)
    put(folder / "zahnzoe_1003_5553_numbers_dev.py", NUMBERS)
    put(folder / "zahnzoe_1003_5554_sums_dev.py", SUMS)
    zoe = Learner("zoe", "Zoë Zahn", columns={"id": "1003"})
    found = arrivals(folder, lessons, [*CLASS, zoe], zone=BERLIN, time=MONDAY)
    assert (found["zoe"].when, found["zoe"].late) == (None, False)  # Canvas knows: it was in time
    assert (found["ada"].when, found["ada"].how) == (EVENING, "moodle")
    assert (found["bob"].when, found["bob"].how, found["bob"].late) == (MONDAY, "--submitted", True)


def test_what_two_runs_know_is_the_same_in_either_order():
    """Of the same bytes: the first arrival, the last one for the order, a mark in time before one
    of lateness, and known times rather than none."""
    some = [
        NOBODY,
        Arrived(fetched=MONDAY),
        Arrived(MONDAY, "gradescope"),
        Arrived(WEDNESDAY, "moodle", fetched=WEDNESDAY),
        Arrived(how="canvas", late=True, fetched=MONDAY),
        Arrived(how="canvas", late=False, fetched=WEDNESDAY),
        Arrived(WEDNESDAY, "--submitted", True),
    ]
    for one, other, third in itertools.product(some, repeat=3):
        assert merged(one, other) == merged(other, one)
        assert merged(merged(one, other), third) == merged(one, merged(other, third))
        assert merged(one, one) == one
    both = merged(some[2], some[3])
    assert (both.when, both.how, both.latest) == (MONDAY, "gradescope", WEDNESDAY)
    assert merged(some[4], some[5]).late is False and merged(NOBODY, some[4]).late is True
