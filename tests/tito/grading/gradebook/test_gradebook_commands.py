"""`tito gradebook ...` as an instructor meets it: words, exit codes, JSON."""

import contextlib
import csv
import getpass
import io
import json
import os
import re
import sqlite3
from datetime import datetime, timezone

import commands
import pytest
from small_course import NUMBERS
from some_results import result, save

from tito.grading.gradebook import exports, gradebook, late
from tito.grading.jail.modules import checks_hash

COMMANDS = "show set roster copy export page".split()


def tito(course, *words, code=0):
    """Run `tito gradebook` in the course; returns (stdout, stderr)."""
    return commands.tito(course, "gradebook", *words, code=code)


@pytest.fixture
def graded_course(small_course):
    """A course with late rules and a gradebook: ada a day late, with a name that is out for
    trouble; bob in time.
    """
    path = small_course.path / "tito.toml"
    path.write_text(
        path.read_text(encoding="utf-8")
        + "[grading]\npercent_per_day = 10\n[grading.due]\nnumbers = 2026-11-02T12:00:00Z\n",
        encoding="utf-8",
    )
    with gradebook.open_gradebook(
        small_course.state / "gradebook.db", late.read(small_course)
    ) as book:
        save(
            book,
            [result(points=(2, 2)), result(lesson="sums")],
            datetime(2026, 11, 3, tzinfo=timezone.utc),
            "me",
            "\x1b[31m\u202eAda [bold]",
        )
        save(book, [result("bob", points=(3, 3), verdict="passed")], None, "me", "Bob")
    return small_course


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(small_course, command):
    out = " ".join(re.sub("[│\\s]+", " ", tito(small_course, command, "--help")[0]).split())
    assert re.search(rf"Example: tito gradebook {command}\b", out)


def test_help_says_where_the_gradebook_is(small_course):
    assert ".tito/gradebook.db" in tito(small_course, "--help")[0]
    assert ".tito/gradebook.db" in commands.tito(small_course, "--help")[0]


def test_show_gives_the_class_a_learner_or_the_checks_of_a_grade(graded_course):
    out, _ = tito(graded_course, "show")
    rows = {
        line.split()[0]: line.split()[-3:]
        for line in out.splitlines()
        if line.startswith(("ada", "bob"))
    }
    assert rows == {"ada": ["3.6~", "3", "6.6"], "bob": ["6", "-", "6"]} and "~ late" in out
    out, _ = tito(graded_course, "show", "--student", "ada")
    assert "1 day late: -10 %" in out and "02 sums" in out and "bob" not in out
    assert [
        line.split()[0] for line in tito(graded_course, "show", "--lesson", "1")[0].splitlines()
    ] == ["student", "ada", "bob"]
    assert re.search(
        r"2 of 3 +c1 \(hidden\) *\n +failed: message 1",
        tito(graded_course, "show", "--student", "ada", "--lesson", "1")[0],
    )


def test_show_says_why_a_lesson_did_not_pass(graded_course):
    with gradebook.open_gradebook(
        graded_course.state / "gradebook.db", late.read(graded_course)
    ) as book:
        broken = result(
            "bob", "sums", verdict="unreadable", reason="bob.zip is \x1bno zip.", notes=["two zips"]
        )
        broken.checks[0].caused_by = "numbers"
        save(book, [broken], None, "me")
    out, _ = tito(graded_course, "show", "--lesson", "sums")
    assert re.search(r"bob .* unreadable +own +bob.zip is \S+no zip\.", out) and "\x1b" not in out
    assert (
        "two zips" not in out and "two zips" in tito(graded_course, "show", "--student", "bob")[0]
    )
    assert "on the course's numbers" in " ".join(out.split())


def test_a_name_cannot_speak_to_the_terminal(graded_course):
    out, _ = tito(graded_course, "show")
    assert "[bold]" in out and not re.search("[\x00-\x09\x0b-\x1f\u202e]", out)


def test_show_as_json_has_the_points_that_count_and_why(graded_course):
    first, second, third = json.loads(tito(graded_course, "show", "--json")[0])
    assert (
        first["student"],
        first["lesson"],
        first["points"],
        first["graded_points"],
        first["late_reason"],
    ) == ("ada", "numbers", 3.6, 4, "1 day late: -10 %")
    assert (
        first["due"] == "2026-11-02T12:00:00+00:00"
        and len(first["checks"]) == 2
        and third["student"] == "bob"
    )
    assert json.loads(tito(graded_course, "show", "--lesson", "sums", "--json")[0]) == [second]


def test_changes_by_hand_count_and_are_in_the_history(graded_course, monkeypatch):
    monkeypatch.setenv("LOGNAME", "prof")
    why = "shown [in] the lab"
    out, _ = tito(graded_course, "set", "ada", "sums", "--points", "5.5", "--why", why)
    assert re.search(r"ada +sums +3 -> 5.5 +the lesson set to 5.5: shown \[in\] the lab", out)
    words = ("--points", 3, "--check", "c0", "--why", "unfair")
    tito(graded_course, "set", "ada", "numbers", *words)
    tito(graded_course, "set", "ada", "sums", "--comment", "well done")
    tito(graded_course, "set", "ada", "--comment", "see me")
    words = ("--extend", "2026-11-05T12:00+01:00", "--why", "ill")
    out, _ = tito(graded_course, "set", "ada", *words)
    assert "more time until 2026-11-05 11:00 UTC" in out
    out, _ = tito(graded_course, "show", "--student", "ada", "--json")
    grade, _ = json.loads(out)["grades"]
    assert (
        grade["points"],
        grade["late_days"],
        grade["checks"][0]["points"],
        grade["checks"][0]["graded_points"],
    ) == (5, 0, 3, 2)
    out, _ = tito(graded_course, "show", "--student", "ada")
    assert "set by prof, graded 3: shown [in] the lab" in out
    assert ": well done" in out and ": see me" in out
    lines = tito(graded_course, "show", "--history", "--student", "ada")[0].splitlines()
    assert len(lines) == 7 and "3 -> 5.5" in lines[2]
    assert "by prof: shown [in] the lab" in lines[2] and "until 2026-11-05 11:00 UTC" in lines[6]
    words = ("show", "--history", "--student", "ada", "--lesson", "sums", "--json")
    told = json.loads(tito(graded_course, *words)[0])
    assert [(one["kind"], one["who"]) for one in told[1:]] == [
        (kind, "prof") for kind in ("override", "comment", "comment", "extension")
    ]
    words = ("--points", "lift", "--comment", "lift", "--why", "a slip")
    tito(graded_course, "set", "ada", "sums", *words)
    tito(graded_course, "set", "ada", "--extend", "lift", "--why", "a slip")
    out, _ = tito(graded_course, "show", "--student", "ada", "--json")
    numbers, sums = json.loads(out)["grades"]
    assert (sums["points"], sums["comments"], numbers["points"]) == (3, [], 4.8)  # 2 - 10 % + 3


def test_export_goes_to_the_screen_a_file_or_a_folder(graded_course):
    out, _ = tito(graded_course, "export")
    assert [row[2:] for row in csv.reader(io.StringIO(out))] == [
        ["numbers", "sums", "total"],
        ["3.6", "3", "6.6"],
        ["5", "", "5"],  # 6 of 6, and today the lesson has 5
    ]
    tito(graded_course, "export", "--output", "grades.csv")
    assert (graded_course.path / "grades.csv").read_text(encoding="utf-8") == out
    tito(graded_course, "set", "bob", "numbers", "--points", "0", "--why", "copied")
    assert "is there already" in tito(graded_course, "export", "--output", "grades.csv", code=2)[1]
    tito(graded_course, "export", "--output", "grades.csv", "--force")
    assert '"bob","Bob",0,,0' in (graded_course.path / "grades.csv").read_text(encoding="utf-8")
    out, _ = tito(graded_course, "export", "--format", "gradescope", "--output", "out")
    assert "out: 2 files written." in out
    assert (graded_course.path / "out" / "bob" / "results.json").exists()


def test_a_roster_may_come_first_and_an_extension_before_anything_is_graded(small_course):
    (small_course.path / "class.csv").write_text("student,name,id\ncy,Cy,42\n", encoding="utf-8")
    assert "1 learner from class.csv" in tito(small_course, "roster", "class.csv")[0]
    out, err = tito(small_course, "set", "cy", "numbers", "--extend", "2", "--why", "ill")
    assert "more time 2 days: ill" in out and "numbers has no due date in tito.toml" in err
    assert "Nothing is graded" in tito(small_course, "export", "--format", "canvas", code=2)[1]


def test_a_list_of_canvas_says_which_column_is_the_id_and_who_is_no_learner(small_course):
    (small_course.path / "class.csv").write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section\n    Points Possible,,,,\n"
        '"Lovelace, Ada",501,s-1,ada-l,A\n"Student, Test",9,,x,A\n',
        encoding="utf-8",
    )
    out, _ = tito(small_course, "roster", "class.csv")
    assert "Canvas's gradebook" in out and "ids: column sis_login_id, such as ada-l" in out
    assert "no learners, left out: Points Possible, Student, Test" in out
    out, _ = tito(small_course, "roster", "class.csv", "--id-column", "id", "--json")
    value = json.loads(out)
    assert (value["id_column"], value["learners"]) == ("id", ["501"])
    tito(small_course, "set", "501", "--comment", "hello")
    err = tito(small_course, "roster", "class.csv", "--id-column", "sis_login_id", code=2)[1]
    assert "this gradebook, which has grades, by id" in " ".join(err.split())


def test_leaving_merging_and_sections_show_in_the_class_and_the_exports(graded_course):
    (graded_course.path / "class.csv").write_text(
        "student,name,section\nada,Ada,A\nbob,Bob,B\nada2,Ada,A\n", encoding="utf-8"
    )
    tito(graded_course, "roster", "class.csv")
    words = ("roster", "--merge", "ada2", "ada")
    out, err = tito(graded_course, *words, code=2)
    assert re.search("sums +- +3 +3", out) and "Nothing was merged." in err
    out, _ = tito(graded_course, *words, "--yes")
    assert "Taken back by: tito gradebook roster --restore ada2" in out
    assert re.search("^ada2 +Ada ", tito(graded_course, "roster", "--restore", "ada2")[0], re.M)
    tito(graded_course, *words, "--yes")
    for words in (["show", "--section", "B"], ["export", "--section", "B"]):
        out, _ = tito(graded_course, *words)
        assert "bob" in out and "ada" not in out
    assert "ada2 is ada" in tito(graded_course, "show", "--history", "--student", "ada")[0]
    assert re.search("bob +Bob +B +left", tito(graded_course, "roster", "--remove", "bob")[0])
    assert "(left) Bob" in tito(graded_course, "show")[0]
    out, err = tito(graded_course, "export")
    assert "bob" not in out and "not exported, left the class (1): bob" in " ".join(err.split())
    tito(graded_course, "roster", "--restore", "bob")
    assert "bob" in tito(graded_course, "export")[0]
    members = json.loads(tito(graded_course, "roster", "--json")[0])
    # nothing secret, such as the names of feedback pages: assistants may get this list
    assert members[0].keys() == {"student", "name", "columns", "state"}
    assert [one["student"] for one in members] == [
        "ada",
        "bob",
    ]


def test_an_export_has_todays_maximum_and_says_which_grades_are_older(graded_course):
    most = {entry.name: entry.declared.points for entry in graded_course.lessons}
    assert most["numbers"] != 6, "the results of this test were worth 6"
    out, err = tito(graded_course, "export", "--format", "canvas")
    assert out.splitlines()[1].split(",")[-2:] == [str(most["numbers"]), str(most["sums"])]
    said = " ".join(err.split())
    assert "numbers: graded by other checks than today's (2): " in said
    tito(graded_course, "export", "--format", "gradescope", "--output", "scope")
    out, _ = tito(graded_course, "export", "--format", "gradescope", "--output", "two")
    assert "Gradescope cannot import these files" in out


def test_grades_of_other_checks_than_todays_are_marked(graded_course):
    by_today = checks_hash(graded_course.lesson("numbers"))
    with gradebook.open_gradebook(graded_course.state / "gradebook.db") as book:
        for student, graded_by in (("bob", by_today), ("cy", "0" * 64)):
            new = result(student, key="new", sha256="b" * 64, graded_by=graded_by, edition="0.9")
            save(book, [new], None, "me")
    rows = {line.split()[0]: line for line in tito(graded_course, "show")[0].splitlines() if line}
    assert "3#" in rows["cy"] and "#" not in rows["bob"] and "grade again" in rows["#"]
    out, _ = tito(graded_course, "show", "--lesson", "numbers")
    assert out.count("graded by other checks than today's (edition 0.9)") == 1
    told = json.loads(tito(graded_course, "show", "--lesson", "numbers", "--json")[0])
    assert {one["student"]: one["outdated"] for one in told} == {
        "ada": False,  # from before results knew their checks
        "bob": False,
        "cy": True,
    }
    assert {one["edition"] for one in told} == {"", "0.9"}
    out, err = tito(graded_course, "export", "--format", "canvas", "--lesson", "numbers")
    assert "cy" in err and "other checks" in err and "other checks" not in out


def test_another_gradebook_is_named_by_path_or_url(graded_course, tmp_path):
    (graded_course.state / "gradebook.db").rename(tmp_path / "other.db")
    assert "There is no gradebook" in tito(graded_course, "show", code=2)[1]
    url = f"sqlite:///{tmp_path}/other.db"
    for where in (tmp_path / "other.db", url):
        words = ("--gradebook", where, "gradebook", "show")
        assert "bob" in commands.tito(graded_course, *words)[0]
    path = graded_course.path / "tito.toml"
    text = path.read_text(encoding="utf-8")
    relative = os.path.relpath(tmp_path / "other.db", graded_course.path)
    for where in (relative, str(tmp_path / "other.db"), url):
        key = f"[grading]\ngradebook = {json.dumps(where)}\n"
        path.write_text(text.replace("[grading]\n", key), encoding="utf-8")
        assert "bob" in tito(graded_course, "show")[0]
    words = ("--gradebook", tmp_path / "third.db", "gradebook", "show")
    assert "There is no gradebook" in commands.tito(graded_course, *words, code=2)[1]


@pytest.mark.parametrize("option", ["--root", "--gradebook"])
def test_an_option_of_every_command_belongs_before_it(graded_course, option):
    _, err = tito(graded_course, "show", option, "x", code=2)
    assert f"Write it before the command: tito {option} ... gradebook show" in err


def test_a_learner_is_found_by_a_name_or_an_address_that_no_other_has(graded_course):
    book = graded_course.path / "class.csv"
    book.write_text(
        "student,name,email\nada,Ada Lovelace,a@x.org\nbob,Bob Berg,b@x.org\nb2,Bob Berg,c@x.org\n",
        encoding="utf-8",
    )
    tito(graded_course, "roster", book)
    shown = tito(graded_course, "show", "--student", "ada")[0]
    for text in ("Ada Lovelace", "lovelace, ada", "A@x.org", "ADA"):
        assert tito(graded_course, "show", "--student", text)[0] == shown
    tito(graded_course, "set", "ada lovelace", "sums", "--points", "1", "--why", "x")
    assert "x" in tito(graded_course, "show", "--history", "--student", "a@x.org")[0]
    words = ("show", "--history", "--student", "Bob Berg")
    assert "no learner 'Bob Berg'" in tito(graded_course, *words, code=2)[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Missing command"),
        (["show", "--student", "adda"], "Did you mean 'ada'?"),
        (["show", "--lesson", "nubers"], "Did you mean 'numbers'?"),
        (
            ["export", "--format", "excel"],
            "Choose one of: csv, canvas, brightspace, blackboard, moodle, gradescope, classroom50, "
            "questions.",
        ),
        (["export", "--format", "gradescope"], "--output PATH"),
        (["export", "--section", "A"], "No roster of this gradebook has a column `section`"),
        (["roster", "--remove", "adda"], "Did you mean 'ada'?"),
        (["roster", "class.csv", "--remove", "ada"], "Only one at a time"),
        (["set", "ada", "sums", "--points", "3"], "--why"),
        (["set", "ada", "sums", "--why", "x"], "--points, --extend or --comment"),
        (["set", "ada", "sums", "--points", "30", "--why", "x"], "between 0 and 6"),
        (["set", "ada", "sums", "--points", "many", "--why", "x"], "'many' is no number"),
        (["set", "ada", "--points", "3", "--why", "x"], "Name the lesson"),
        (["set", "ada", "--comment", "x", "--from", "x.csv"], "or only --from CSV"),
        (["set", "ada", "--extend", "soon", "--why", "x"], "'soon' is no number of days"),
        (["set", "ada", "--extend", "2026-12-05", "--why", "x"], "is a day without a time"),
        (["set", "ada", "--extend", "2026-12-05T23:59", "--why", "x"], "has no time zone"),
        (["show", "--history", "--student", "zed"], "no learner 'zed'"),
    ],
)
def test_wrong_usage_is_two_lines_and_exit_2(graded_course, words, said):
    out, err = tito(graded_course, *words, code=2)
    assert said in err and out == "" and len(err.strip().split("\n")) == 2


@pytest.mark.parametrize(
    "words",
    [
        "gradebook show",
        "gradebook show --overrides",
        "gradebook show --exercises",
        "gradebook show --history",
        "gradebook roster",
        "gradebook export --output ../grades.csv",
        "gradebook set --from ../changes.csv",
        "feedback ../pages",
        "similar ../class numbers",
        "grade ../class numbers --dry-run --isolation process",
    ],
)
def test_what_only_reads_leaves_the_gradebook_as_it_is(graded_course, words):
    submission = graded_course.path.parent / "class" / "ada" / "numbers_dev.py"
    submission.parent.mkdir(parents=True)
    submission.write_text(NUMBERS, encoding="utf-8")
    table = graded_course.path.parent / "changes.csv"
    table.write_text("student,comment\nada,hello\n", encoding="utf-8")
    path = graded_course.state / "gradebook.db"
    before = path.read_bytes(), sorted(graded_course.state.iterdir())
    commands.tito(graded_course, *words.split(), code=int("similar" in words))
    assert (path.read_bytes(), sorted(graded_course.state.iterdir())) == before


def test_the_history_names_a_few_of_many_checks(graded_course):
    with gradebook.open_gradebook(
        graded_course.state / "gradebook.db", late.read(graded_course)
    ) as book:
        save(book, [result("bob", points=(0,) * 9, key="new")], None, "me")
        save(book, [result("bob", points=(3,) * 9, key="newer")], None, "me")
    words = ("show", "--history", "--student", "bob")
    out, _ = tito(graded_course, *words)
    assert "c4 0 -> 3; and 4 more checks" in out and "c5" not in out.splitlines()[-1]
    assert len(json.loads(tito(graded_course, *words, "--json")[0])[-1]["checks"]) == 9


def test_a_table_of_changes_is_looked_at_and_then_written(graded_course, tmp_path, monkeypatch):
    monkeypatch.setenv("LOGNAME", "carol")
    table = tmp_path / "appeals.csv"
    table.write_text(
        "student,lesson,points,extend,comment\nada,numbers,5,,See me.\nbob,1,,2,\n",
        encoding="utf-8",
    )
    assert "no reason is given" in tito(graded_course, "set", "--from", table, code=2)[1]
    words = ("set", "--from", table, "--why", "appeals")
    out, _ = tito(graded_course, *words)
    assert re.search(r"ada +numbers +3.6 -> 5 +the lesson set to 5: appeals", out)
    assert "Nothing was written." in out and "--yes" in out
    assert "No points are set by hand." in tito(graded_course, "show", "--overrides")[0]
    out, _ = tito(graded_course, *words, "--yes")
    assert "Nothing was written" not in out and "holds already" not in out
    assert tito(graded_course, *words, "--yes")[0].count("holds already") == 3
    out, _ = tito(graded_course, "show", "--overrides")
    assert re.search(r"ada +numbers +5 +4 +carol +appeals", out)
    (one,) = json.loads(tito(graded_course, "show", "--overrides", "--json")[0])
    assert (one["student"], one["override"]["who"], one["graded"], one["doubt"]) == (
        "ada",
        "carol",
        4,
        "",
    )


def test_the_exercises_are_shown_with_the_share_that_is_right(graded_course):
    out, _ = tito(graded_course, "show", "--exercises", "--lesson", "numbers")
    assert re.search(r"exercise +50% +2 *\n", out) and "most frequent mistake" in out
    (row,) = json.loads(tito(graded_course, "show", "--exercises", "--lesson", "1", "--json")[0])
    assert (row["learners"], row["right"], row["mistake"]) == (2, 1, "")


def test_a_machine_without_a_login_name_asks_for_one(graded_course, tmp_path, monkeypatch):
    def nobody():
        raise OSError("No username set in the environment")

    monkeypatch.setattr(getpass, "getuser", nobody)
    (tmp_path / "class" / "ada").mkdir(parents=True)
    _, err = commands.tito(graded_course, "grade", tmp_path / "class", "numbers", code=2)
    assert "Set the environment variable LOGNAME." in err


def test_a_lesson_without_grades_is_reported_instead_of_an_empty_table(graded_course):
    words = ("show", "--student", "bob", "--lesson", "sums")
    out, _ = tito(graded_course, *words)
    assert out == "Nothing is graded here yet: tito grade SUBMISSIONS sums\n"
    assert tito(graded_course, *words, "--json")[0].strip() == "[]"


@pytest.mark.skipif(os.name != "posix", reason="file modes")
def test_no_command_writes_grades_or_names_of_pages_that_others_can_read(graded_course, tmp_path):
    (tmp_path / "in" / "ada").mkdir(parents=True)
    (tmp_path / "in" / "ada" / "numbers_dev.py").write_text(NUMBERS, encoding="utf-8")
    out, before = tmp_path / "out", os.umask(0o022)
    try:
        for kind in exports.FORMATS:
            tito(graded_course, "export", "--format", kind, "--output", out / kind)
        pages = (out / "pages", "--mail", out / "m.csv", "--submissions", tmp_path / "in")
        commands.tito(graded_course, "feedback", *pages, "--moodle", out / "m.zip")
        words = ("similar", tmp_path / "in", "numbers", "--output", out / "s")
        commands.tito(graded_course, *words, code=1)  # one hand-in cannot be compared
    finally:
        os.umask(before)
    files = [path for path in out.rglob("*") if path.is_file()]
    files.append(graded_course.state / "gradebook.db")
    assert len(files) > 10
    assert not [path for path in files if path.stat().st_mode & 0o077]


def damage(course, change):
    """Change a gradebook behind its back, with `change` of SQL."""
    with contextlib.closing(sqlite3.connect(course.state / "gradebook.db")) as database, database:
        assert database.execute(change).rowcount > 0


@pytest.mark.slow
def test_a_damaged_result_is_graded_again_and_the_run_goes_on(graded_course, tmp_path):
    for student in ("ada", "bob"):
        (tmp_path / "in" / student).mkdir(parents=True)
        text = f"{NUMBERS}\n# {student}\n"
        (tmp_path / "in" / student / "numbers_dev.py").write_text(text, encoding="utf-8")
    grade = (graded_course, "grade", tmp_path / "in", "numbers", "--isolation", "process")
    commands.tito(*grade)
    damage(
        graded_course, "update result set value = '{' where student = 'ada' and lesson = 'numbers'"
    )
    damage(graded_course, "update work set seen = '{' where student = 'bob'")
    damage(graded_course, "insert into begun values ('ada', 'w', 'x')")
    assert "ada is left out" in commands.tito(*grade)[1]
    assert "damaged" not in commands.tito(*grade, "--regrade")[1]
    out, _ = tito(graded_course, "export")
    assert [row["student"] for row in csv.DictReader(io.StringIO(out))] == ["ada", "bob"]
