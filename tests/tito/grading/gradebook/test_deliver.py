"""Feedback pages reach people: zips as Moodle and Canvas read them, a table for a mail merge."""

import csv
import io
import re
import zipfile

import pytest
from commands import tito
from some_results import MONDAY, keep_strangers, result, save

from tito.grading.gradebook import enrollment
from tito.grading.gradebook.gradebook import open_gradebook

CLASS = {  # id: name, Moodle's number, Canvas's number
    "ada": ("Ada Lovelace", "20001", "1001"),
    "bob": ("Bob_Berg", "20002", "1002"),
    "-lee": ("李 =1+1", "20003", "1003"),
}


@pytest.fixture
def course(small_course):
    lines = [f"{one},{name},{one}@x.org,{id_}" for one, (name, _, id_) in CLASS.items()]
    roster = small_course.path / "class.csv"
    roster.write_text("\n".join(["student,name,email,id", *lines]), encoding="utf-8")
    small_course.state.mkdir()
    with open_gradebook(small_course.state / "gradebook.db") as book:
        enrollment.enroll(book, roster, "me")
        for student in CLASS:
            save(book, [result(student)], MONDAY, "me")
    return small_course


def regrade(course, student):
    with open_gradebook(course.state / "gradebook.db") as book:
        save(book, [result(student, points=(3, 3), key="new")], MONDAY, "me")


def download(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"PK\x05\x06" + bytes(18) if path.suffix == ".zip" else b"#\n")
    return folder


def moodle_reads(path):
    """{participant number: (name of the file, its text)}, as Moodle's importziplib.php reads it."""
    found = {}
    with zipfile.ZipFile(path) as box:
        for name in box.namelist():
            fullname, number, kind, plugin, file = name.split("_", 4)
            assert number.isdigit() and (kind, plugin) == ("assignfeedback", "file"), name
            assert "/" not in name
            found[int(number)] = (file, box.read(name).decode())
    return found


def canvas_reads(path):
    """{(user, attachment): (name, bytes)}, as Canvas's infer_comment_context_from_filename does."""
    found = {}
    with zipfile.ZipFile(path) as box:
        for name in box.namelist():
            parts = [part for part in name.split("_") if part != "LATE"]
            user, attachment = [part for part in parts if re.fullmatch(r"\d+", part)][:2]
            assert not parts[-1].startswith("link")
            found[int(user), int(attachment)] = (name, box.read(name))
    return found


def test_moodle_finds_each_page_by_the_numbers_of_its_own_download(course, tmp_path):
    submissions = download(
        tmp_path / "moodle",
        "Ada Lovelace_20001_assignsubmission_file/numbers_dev.py",
        "Bob_Berg_20002_assignsubmission_file_numbers_dev.py",
    )
    words = ("feedback", tmp_path / "pages", "--submissions", submissions)
    out, err = tito(course, *words, "--moodle", tmp_path / "m.zip")
    assert "m.zip: 2 pages." in out
    assert "Not in it: 1 page. Moodle's download has no name for -lee." in err
    pages = moodle_reads(tmp_path / "m.zip")
    assert pages.keys() == {20001, 20002}
    assert {file for file, _ in pages.values()} == {"feedback.html"}
    assert "Ada Lovelace" in pages[20001][1] and "Bob_Berg" in pages[20002][1]


def test_moodle_finds_each_page_by_the_rosters_numbers(course, tmp_path):
    roster = tmp_path / "roster.csv"
    rows = [f"{s},{name},Participant {m}" for s, (name, m, _) in CLASS.items()]
    roster.write_text("\n".join(["student,name,Identifier", *rows]) + "\n", encoding="utf-8")
    tito(course, "gradebook", "roster", roster)
    tito(course, "feedback", tmp_path / "pages", "--moodle", tmp_path / "m.zip")
    assert moodle_reads(tmp_path / "m.zip").keys() == {20001, 20002, 20003}


def test_moodle_finds_each_page_by_the_numbers_of_its_worksheet(course, tmp_path):
    """Also those of learners who handed in nothing. A roster's numbers are another assignment's."""
    roster = tmp_path / "roster.csv"
    roster.write_text(
        "student,name,Identifier\nbob,Bob_Berg,Participant 2\nkim1,Kim Lee,\nkim2,Kim Lee,\n"
    )
    tito(course, "gradebook", "roster", roster)
    for student in ("kim1", "kim2"):
        regrade(course, student)
    header = "Identifier,Full name,Email address,Status,Grade,Last modified (submission)"
    rows = [
        "Participant 20001,Ada Lovelace,ada@x.org,Submitted,,-",
        "Participant 20002,Bob Berg,BOB@x.org,No submission,,-",
        'Participant 20003,"李 =1+1",,No submission,,-',
        "Participant 20004,Kim Lee,,No submission,,-",
        "Participant 20005,Kim Lee,,No submission,,-",
    ]
    submissions = download(
        tmp_path / "moodle", "Ada Lovelace_20001_assignsubmission_file/numbers_dev.py"
    )
    (submissions / "Grades.csv").write_text("\n".join([header, *rows]), encoding="utf-8-sig")
    words = ("feedback", tmp_path / "pages", "--submissions", submissions)
    err = tito(course, *words, "--moodle", tmp_path / "m.zip")[1]
    assert "Not in it: 2 pages. Moodle's download has no name for kim1, kim2." in err
    pages = moodle_reads(tmp_path / "m.zip")
    assert pages.keys() == {20001, 20002, 20003}
    assert "Bob_Berg" in pages[20002][1]


def test_canvas_finds_each_page_by_the_names_of_its_own_download(course, tmp_path):
    submissions = download(
        tmp_path / "canvas",
        "lovelaceada_1001_5001_ada.zip",
        "bergbob_LATE_1002_5002_numbers_dev.py",
        "lee_1003_5003_work-2.zip",
    )
    words = ("feedback", tmp_path / "pages", "--submissions", submissions)
    tito(course, *words, "--canvas", tmp_path / "c.zip")
    pages = canvas_reads(tmp_path / "c.zip")
    assert pages.keys() == {(1001, 5001), (1002, 5002), (1003, 5003)}
    name, data = pages[1001, 5001]  # Canvas shows it as ada.zip, so it is a zip
    assert name.endswith(".zip")
    with zipfile.ZipFile(io.BytesIO(data)) as box:
        assert "Ada Lovelace" in box.read("feedback.html").decode()
    name, data = pages[1002, 5002]
    assert name.endswith(".html") and "Bob_Berg" in data.decode()
    assert (
        "the file names of the submissions"
        in tito(course, *words[:2], "--canvas", tmp_path / "d.zip", code=2)[1]
    )


def test_a_mail_merge_has_a_line_for_each_page_that_changed(course, tmp_path):
    words = ("feedback", tmp_path / "pages", "--mail")
    assert "one.csv: 3 pages." in tito(course, *words, tmp_path / "one.csv")[0]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "one.csv").read_text(encoding="utf-8"))))
    assert [row["student"] for row in rows] == ["-lee", "ada", "bob"]
    assert [(row["email"], row["points"], row["max_points"]) for row in rows[1:]] == [
        ("ada@x.org", "3", "6"),
        ("bob@x.org", "3", "6"),
    ]
    assert all((tmp_path / "pages" / row["page"]).is_file() for row in rows)
    assert not rows[0]["name"].startswith("=")
    regrade(course, "bob")
    # after a run without a table, all pages are still to deliver
    tito(course, "feedback", tmp_path / "pages")
    assert "is there already" in tito(course, *words, tmp_path / "one.csv", code=2)[1]
    tito(course, *words, tmp_path / "two.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "two.csv").read_text(encoding="utf-8"))))
    assert [(row["student"], row["points"]) for row in rows] == [("bob", "6")]
    out, _ = tito(course, *words, tmp_path / "three.csv")
    assert "three.csv was not written" in out and not (tmp_path / "three.csv").exists()
    assert "three.csv: 3 pages" in tito(course, *words, tmp_path / "three.csv", "--everyone")[0]


def test_each_way_knows_for_itself_what_changed(course, tmp_path):
    words = ("feedback", tmp_path / "pages", "--mail", tmp_path / "mail.csv")
    assert "mail.csv: 3 pages." in tito(course, *words)[0]
    (tmp_path / "mail.csv").unlink()
    assert "mail.csv was not written" in tito(course, *words)[0]
    (tmp_path / "pages" / ".delivered.json").write_text("damaged", encoding="utf-8")
    assert "mail.csv: 3 pages." in tito(course, *words)[0]


def test_who_left_and_who_is_in_no_roster_is_sent_nothing(course, tmp_path):
    with open_gradebook(course.state / "gradebook.db") as book:
        enrollment.leave(book, "bob", "me", "left")
        keep_strangers(book, ["eve"])
        save(book, [result("eve")], MONDAY, "me")
    tito(course, "feedback", tmp_path / "pages", "--mail", tmp_path / "mail.csv")
    rows = csv.DictReader(io.StringIO((tmp_path / "mail.csv").read_text(encoding="utf-8")))
    assert [row["student"] for row in rows] == ["-lee", "ada"]


def test_who_may_have_handed_in_reads_on_no_page_that_nothing_came(course, tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text("student,name\nkim1,Kim Lee\nkim2,Kim Lee\n")
    tito(course, "gradebook", "roster", roster)
    with open_gradebook(course.state / "gradebook.db") as book:
        for student in ("kim1", "kim2"):
            missing = result(student, points=(0, 0), sha256="", verdict="missing")
            save(book, [missing], MONDAY, "me")
        keep_strangers(book, ["Kim Lee - numbers_dev"])
        save(book, [result("Kim Lee - numbers_dev", points=(0, 0), verdict="failed")], MONDAY, "me")
    tito(course, "feedback", tmp_path / "pages", "--mail", tmp_path / "mail.csv")
    for page in (tmp_path / "pages" / "learners").glob("kim[12]-*.html"):
        assert "No lesson is graded yet." in page.read_text(encoding="utf-8")
    assert "kim1" not in (tmp_path / "mail.csv").read_text(encoding="utf-8")
    export = tito(course, "gradebook", "export")
    assert "kim1,Kim Lee,,\n" in export[0].replace('"', "").replace("\r", "")
    assert "exported as empty cells: kim1, kim2" in export[1]
