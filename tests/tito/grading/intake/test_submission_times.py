"""When work arrived is what its collector knows: names and tables as Canvas, Moodle, Gradescope and
hosts of repositories write them; or the instructor, with `--submitted`.
"""

import csv
import io
import itertools
import os
import zipfile
from dataclasses import replace
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

import pytest
from small_course import NUMBERS, SUMS

from tito.errors import Notice, TitoError
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


UNKNOWN = """\
Identificatore,Nome,Codice,Indirizzo,Matricola,Valutazione,Ultima modifica (consegna),\
Ultima modifica (valutazione)
Partecipante 20001,Ada Lovelace,stu7,{ada},45001,28,{first},{second}
Partecipante 20002,Ada Lovelace,stu8,{bob},45002,14,"{third}",-
"""


def worksheet(sheet, order=range(8)):
    """A worksheet in a language that has no words here, its columns in this order."""
    rows = list(csv.reader(io.StringIO(sheet)))
    out = io.StringIO()
    csv.writer(out).writerows([row[place] for place in order] for row in rows)
    return out.getvalue()


@pytest.mark.parametrize("order", [range(8), (0, 7, 6, 5, 4, 3, 2, 1), (3, 0, 7, 1, 6, 4, 5)])
@pytest.mark.parametrize(
    "times",
    [
        ('"martedì, 1 dicembre 2026, 22:15"', '"giovedì, 3 dicembre 2026, 10:00"',
         "mercoledì, 2 dicembre 2026, 08:00"),
        ("46357.92708", "46359.41667", "46358,33333"),
        ("12/1/2026 22:15", "12/3/2026 10:00", "12/30/2026 8:00"),
        ("2026年12月01日(火) 22:15", "2026年12月03日(木) 10:00", "2026年12月02日(水) 08:00"),
    ],
    ids=["Italian", "numbers of days", "American", "Japanese"],
)  # fmt: skip
def test_a_worksheet_is_recognized_by_its_cells(tmp_path, lessons, order, times):
    first, second, third = times
    sheet = UNKNOWN.format(
        ada="ADA@example.org", bob="bob@example.org", first=first, second=second, third=third
    )
    roster = [replace(one, name="Ada Lovelace") for one in CLASS]
    roster += [Learner("28", "A learner whose id is somebody's points")]
    for number in (20001, 20002):
        put(tmp_path / "in" / f"Ada Lovelace_{number}_assignsubmission_file" / "numbers_dev.py")
    put(tmp_path / "in" / "Valutazioni.csv", worksheet(sheet, order))
    found = find_submissions(tmp_path / "in", lessons, roster, Submitted(zone=BERLIN))
    assert [[upload.name[13:18] for upload in one.uploads] for one in found] == [
        ["20001"], ["20002"], []
    ]  # fmt: skip
    assert (found[0].arrival("").when, found[0].arrival("").how) == (EVENING, "moodle")
    assert found[1].arrival("").when > EVENING


@pytest.mark.parametrize(
    "sheet",
    [
        UNKNOWN.format(
            ada="a", bob="b", first="12/1/2026 22:15", second="-", third="1/2/2026 8:00"
        ),
        UNKNOWN.format(ada="a", bob="b", first="gestern", second="-", third="heute"),
        UNKNOWN.format(ada="a", bob="b", first="46357", second="-", third="-").translate(
            str.maketrans("78", "xy", "012")
        ),
    ],
    ids=["days or months", "no times", "no numbers"],
)
def test_a_worksheet_that_says_too_little_is_refused(tmp_path, sheet):
    path = put(tmp_path / "sheet.csv", worksheet(sheet, (2, 0, 1, 3, 4, 5, 6, 7)))
    with pytest.raises(TitoError, match="no column of times") as caught:
        read_submitted(str(path), tmp_path, BERLIN)
    assert "arrived" in caught.value.remedy


def test_a_known_worksheet_whose_columns_were_reordered_is_read(tmp_path, lessons):
    rows = list(csv.reader(io.StringIO(WORKSHEET)))
    rows[1][7] = "46357,92708"  # as a spreadsheet program saves the time
    out = io.StringIO()
    csv.writer(out, delimiter=";").writerows(row[::-1] for row in rows)
    put(tmp_path / "in" / "Ada Lovelace_20001_assignsubmission_file" / "numbers_dev.py")
    put(tmp_path / "in" / "Grades.csv", out.getvalue())
    found = arrivals(tmp_path / "in", lessons, zone=BERLIN)
    assert len(found) == 2 and found["ada"].when == EVENING


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
    assert all(one.latest == one.when for one in found.values())
    mallory = tmp_path / "clones"  # one among others is a learner's own choice
    put(mallory / "1-2 - Ada Lovelace - Mar 1, 2026 100 AM" / "numbers_dev.py", NUMBERS)
    put(mallory / "bob" / "numbers_dev.py", NUMBERS)
    assert not any(one.when for one in arrivals(mallory, lessons, zone=BERLIN).values())


@pytest.mark.parametrize(
    "time",
    [
        "Dec 1, 2026 22:15",
        "1 December 2026 22.15",
        "2026-12-01 2215",
        "1 décembre 2026 22 h 15",
        "01.12.2026 2215",
        "1 dicembre 2026 2215",
    ],
)
def test_brightspaces_time_may_have_another_form(tmp_path, lessons, time):
    put(tmp_path / "in" / f"1-3 - Bob Berg - {time}" / "numbers_dev.py")
    found = arrivals(tmp_path / "in", lessons, zone=BERLIN)
    assert (found["bob"].when, found["bob"].how) == (EVENING, "brightspace")


def test_a_time_in_a_name_that_is_not_understood_is_told_and_stops_nothing(tmp_path, lessons):
    put(tmp_path / "in" / "1-3 - Bob Berg - 1 Brumaire 2026 1015" / "numbers_dev.py")
    put(tmp_path / "in" / "1-2 - Ada Lovelace - Dec 1, 2026 1015 PM" / "numbers_dev.py")
    with pytest.warns(Notice, match="of 1 submissions .*: 1 Brumaire 2026 10:15"):
        found = arrivals(tmp_path / "in", lessons, zone=BERLIN)
    assert (found["ada"].when, found["bob"].when) == (EVENING, None)
    assert found["bob"].fetched, "the owner is known all the same"


def test_blackboard_writes_login_and_time_into_the_names_of_its_files(tmp_path, lessons):
    entry = "Lab_1_{}_attempt_2026-{}-00{}"
    for login, time, end in (
        ("ada", "12-01-22-15", "_numbers_dev.py"),
        ("ada", "12-01-22-15", ".txt"),  # Blackboard's own, about the attempt
        ("007", "03-01-01-11", "_a_attempt_2026-01-01-01-01-01_numbers_dev.py"),
        ("cy", "03-01-01-11", ".txt"),  # who only typed a comment
    ):
        put(tmp_path / "in" / entry.format(login, time, end))
    roster = [*CLASS, Learner("007", "Ian Zero"), Learner("cy", "Cy"), Learner("1", "One")]
    found = find_submissions(tmp_path / "in", lessons, roster, Submitted(zone=BERLIN))
    assert [len(one.uploads) for one in found] == [1, 0, 1, 1, 0], "and no strangers"
    ada, _, ian, cy, _ = found
    assert (ada.arrival("").when, ada.arrival("").how) == (EVENING, "blackboard")
    assert ian.arrival("").when == datetime(2026, 3, 1, 0, 11, tzinfo=timezone.utc)
    assert not ada.notes and cy.uploads[0].kind == "other"


def test_a_table_that_a_learner_hands_in_to_blackboard_is_none_of_times(tmp_path, lessons):
    put(tmp_path / "in" / "Lab_ada_attempt_2026-12-01-22-15-00_numbers_dev.py")
    put(tmp_path / "in" / "Lab_ada_attempt_2026-12-01-22-15-00_Grades.csv", WORKSHEET)
    found = arrivals(tmp_path / "in", lessons, zone=BERLIN)
    assert found["ada"].how == "blackboard"


def test_a_small_table_is_no_worksheet(tmp_path):
    path = put(tmp_path / "mine.csv", "learner,when\nstudent1,2026-12-01 22:15\n")
    with pytest.raises(TitoError, match="no column of times"):
        read_submitted(str(path), tmp_path, BERLIN)


def test_a_login_with_a_line_in_it_is_no_other_ones(tmp_path, lessons):
    put(tmp_path / "in" / "Lab_1_b_kim_attempt_2026-12-01-22-15-00_numbers_dev.py")
    roster = [Learner("kim"), Learner("b_kim"), Learner("1")]
    *_, stranger = find_submissions(tmp_path / "in", lessons, roster, Submitted(zone=BERLIN))
    assert "may belong to kim, b_kim" in stranger.notes[0]
    ada = find_submissions(tmp_path / "in", lessons, [roster[1]], Submitted(zone=BERLIN))[0]
    assert len(ada.uploads) == 1


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
