"""`tito gradebook ...` as an instructor meets it: words, exit codes, JSON."""

import csv
import getpass
import io
import json
import re
from datetime import datetime, timezone

import commands
import pytest
from small_course import NUMBERS
from some_results import result

from tito.grading.gradebook import database, gradebook, late

COMMANDS = (
    "show export override comment extend apply overrides history roster leave merge appeals".split()
)


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
        book.save(
            [result(points=(2, 2)), result(lesson="sums")],
            datetime(2026, 11, 3, tzinfo=timezone.utc),
            "me",
            "\x1b[31m\u202eAda [bold]",
        )
        book.save([result("bob", points=(3, 3), verdict="passed")], None, "me", "Bob")
    return small_course


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example_and_where_the_gradebook_is(small_course, command):
    out = " ".join(re.sub("[│\\s]+", " ", tito(small_course, command, "--help")[0]).split())
    assert re.search(rf"Example: tito gradebook {command}\b", out) and ".tito/gradebook.db" in out


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
        book.save([broken], None, "me")
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


def test_changes_by_hand_count_and_are_told_in_the_history(graded_course):
    out, _ = tito(
        graded_course,
        "override",
        "ada",
        "sums",
        "5.5",
        "--why",
        "shown [in] the lab",
        "--who",
        "prof",
    )
    assert "ada, sums: 3 -> 5.5 points" in out
    tito(graded_course, "override", "ada", "numbers", 3, "--check", "c0", "--why", "unfair")
    tito(graded_course, "comment", "ada", "sums", "well done")
    tito(graded_course, "comment", "ada", "see me")
    (grade, _) = json.loads(
        tito(
            graded_course,
            "extend",
            "ada",
            "--until",
            "2026-11-05T12:00+01:00",
            "--why",
            "ill",
            "--json",
        )[0]
    )
    assert (
        grade["points"],
        grade["late_days"],
        grade["checks"][0]["points"],
        grade["checks"][0]["graded_points"],
    ) == (5, 0, 3, 2)
    out, _ = tito(graded_course, "show", "--student", "ada")
    assert (
        "set by prof, graded 3: shown [in] the lab" in out
        and ": well done" in out
        and ": see me" in out
    )
    out, _ = tito(graded_course, "history", "ada")
    lines = out.splitlines()
    assert (
        len(lines) == 7
        and "3 -> 5.5" in lines[2]
        and "by prof: shown [in] the lab" in lines[2]
        and "until 2026-11-05 11:00 UTC" in lines[6]
    )
    told = json.loads(tito(graded_course, "history", "ada", "--lesson", "sums", "--json")[0])
    assert [(one["kind"], one["who"]) for one in told[1:]] == [
        ("override", "prof"),
        ("comment", getpass.getuser()),
        ("comment", getpass.getuser()),
        ("extension", getpass.getuser()),
    ]
    tito(graded_course, "override", "ada", "sums", "--lift", "--why", "a slip")
    tito(graded_course, "comment", "ada", "sums", "--lift")
    tito(graded_course, "extend", "ada", "--lift", "--why", "a slip")
    numbers, sums = json.loads(tito(graded_course, "show", "--student", "ada", "--json")[0])
    assert (sums["points"], sums["comments"], numbers["points"]) == (3, [], 4.8)  # 2 - 10 % + 3


def test_export_goes_to_the_screen_a_file_or_a_folder(graded_course):
    out, _ = tito(graded_course, "export")
    assert [row[2:-1] for row in csv.reader(io.StringIO(out))] == [
        ["numbers", "sums", "total"],
        ["3.6", "3", "6.6"],
        ["5", "", "5"],  # 6 of 6, and today the lesson has 5
    ]
    tito(graded_course, "export", "--output", "grades.csv")
    assert (graded_course.path / "grades.csv").read_text(encoding="utf-8") == out
    tito(graded_course, "override", "bob", "numbers", "0", "--why", "copied")
    assert "is there already" in tito(graded_course, "export", "--output", "grades.csv", code=2)[1]
    tito(graded_course, "export", "--output", "grades.csv", "--force")
    assert '"bob","Bob",0,,0' in (graded_course.path / "grades.csv").read_text(encoding="utf-8")
    told = json.loads(
        tito(graded_course, "export", "--format", "gradescope", "--output", "out", "--json")[0]
    )
    assert (
        told == {"format": "gradescope", "output": "out", "files": 2}
        and (graded_course.path / "out" / "bob" / "results.json").exists()
    )


def test_a_roster_may_come_first_and_an_extension_before_anything_is_graded(small_course):
    (small_course.path / "class.csv").write_text("student,name,id\ncy,Cy,42\n", encoding="utf-8")
    assert "1 learner from class.csv" in tito(small_course, "roster", "class.csv")[0]
    out, err = tito(small_course, "extend", "cy", "numbers", "--days", "2", "--why", "ill")
    assert "cy, numbers: extension 2 days." in out and "numbers has no due date in tito.toml" in err
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
    tito(small_course, "comment", "501", "hello")
    err = tito(small_course, "roster", "class.csv", "--id-column", "sis_login_id", code=2)[1]
    assert "this gradebook, which has grades, by id" in " ".join(err.split())


def test_leaving_merging_and_sections_show_in_the_class_and_the_exports(graded_course):
    (graded_course.path / "class.csv").write_text(
        "student,name,section\nada,Ada,A\nbob,Bob,B\nada2,Ada,A\n", encoding="utf-8"
    )
    tito(graded_course, "roster", "class.csv")
    out, _ = tito(graded_course, "merge", "ada2", "ada", "--why", "two logins")
    assert "ada2 is ada now." in out
    for words in (["show", "--section", "B"], ["export", "--section", "B"]):
        out, _ = tito(graded_course, *words)
        assert "bob" in out and "ada" not in out
    out, _ = tito(graded_course, "history", "--section", "A")
    assert "ada2 is ada" in out and "bob" not in out
    assert "bob has left" in tito(graded_course, "leave", "bob", "--why", "moved away")[0]
    assert "(left) Bob" in tito(graded_course, "show")[0]
    out, err = tito(graded_course, "export")
    assert "bob" not in out and "not exported, left the class (1): bob" in " ".join(err.split())
    assert "moved away" in tito(graded_course, "history", "bob")[0]
    tito(graded_course, "leave", "bob", "--lift")
    assert "bob" in tito(graded_course, "export")[0]


def test_an_export_has_todays_maximum_and_says_which_grades_are_older(graded_course):
    most = {entry.name: entry.declared.points for entry in graded_course.lessons}
    assert most["numbers"] != 6, "the results of this test were worth 6"
    out, err = tito(graded_course, "export", "--format", "canvas")
    assert out.splitlines()[1].split(",")[-2:] == [str(most["numbers"]), str(most["sums"])]
    said = " ".join(err.split())
    assert "numbers: 2 grades of another maximum than today's" in said
    tito(graded_course, "export", "--format", "gradescope", "--output", "scope")
    out, _ = tito(graded_course, "export", "--format", "gradescope", "--output", "two")
    assert "Gradescope imports no grades" in out


def test_another_gradebook_is_named_by_path_or_url(graded_course, tmp_path):
    (graded_course.state / "gradebook.db").rename(tmp_path / "other.db")
    assert "There is no gradebook" in tito(graded_course, "show", code=2)[1]
    assert "bob" in tito(graded_course, "show", "--gradebook", tmp_path / "other.db")[0]
    assert "bob" in tito(graded_course, "show", "--gradebook", f"sqlite:///{tmp_path}/other.db")[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Missing command"),
        (["show", "--student", "adda"], "Did you mean 'ada'?"),
        (["show", "--lesson", "nubers"], "Did you mean 'numbers'?"),
        (
            ["export", "--format", "excel"],
            "There are: csv, canvas, moodle, junit, nbgrader, gradescope, classroom50.",
        ),
        (["export", "--format", "gradescope"], "--output PATH"),
        (["export", "--format", "nbgrader"], "--output PATH"),
        (["export", "--classroom", "CS 50"], "is no short name of Classroom 50"),
        (["export", "--section", "A"], "No roster of this gradebook has a column `section`"),
        (["leave", "adda"], "Did you mean 'ada'?"),
        (["merge", "ada", "bob"], "--why"),
        (["override", "ada", "sums", "3"], "--why"),
        (["override", "ada", "sums", "--why", "x"], "Give the points, or --lift"),
        (["override", "ada", "sums", "30", "--why", "x"], "between 0 and 6"),
        (["comment", "ada"], "0 words follow"),
        (["comment", "ada", "sums", "well", "done"], "in quotes"),
        (["extend", "ada", "--why", "x"], "How much more time?"),
        (["extend", "ada", "--until", "soon", "--why", "x"], "'soon' is no time"),
        (["extend", "ada", "--until", "2026-12-05", "--why", "x"], "has no time zone"),
        (["history", "zed"], "no learner 'zed'"),
    ],
)
def test_wrong_usage_is_two_lines_and_exit_2(graded_course, words, said):
    out, err = tito(graded_course, *words, code=2)
    assert said in err and out == "" and len(err.strip().split("\n")) == 2


@pytest.mark.parametrize(
    "words",
    [
        "gradebook show",
        "gradebook history",
        "gradebook overrides",
        "gradebook appeals",
        "gradebook items",
        "gradebook claim",
        "gradebook rubric",
        "gradebook judge",
        "gradebook export --output ../grades.csv",
        "feedback ../pages",
        "similar ../class numbers",
        "grade ../class numbers --dry-run --isolation process",
    ],
)
def test_what_only_reads_leaves_an_older_gradebook_as_it_is(graded_course, monkeypatch, words):
    submission = graded_course.path.parent / "class" / "ada" / "numbers_dev.py"
    submission.parent.mkdir(parents=True)
    submission.write_text(NUMBERS, encoding="utf-8")
    path = graded_course.state / "gradebook.db"
    before = path.read_bytes(), sorted(graded_course.state.iterdir())
    known = max(database.MIGRATIONS)
    newer = {known + 1: lambda connection: None}
    monkeypatch.setattr(database, "MIGRATIONS", database.MIGRATIONS | newer)
    commands.tito(graded_course, *words.split())
    assert (path.read_bytes(), sorted(graded_course.state.iterdir())) == before
    tito(graded_course, "comment", "ada", "numbers", "Good.")
    assert path.with_name(f"gradebook.db.schema-{known:04}").exists(), "who writes changes it"


def test_the_history_can_leave_out_what_changed_no_points(graded_course):
    with gradebook.open_gradebook(
        graded_course.state / "gradebook.db", late.read(graded_course)
    ) as book:
        book.save(
            [result(points=(2, 2), key="new"), result(lesson="sums", points=(3, 2), key="new")],
            None,
            "me",
            why="c1 was wrong",
        )
    (line,) = tito(graded_course, "history", "--changed")[0].splitlines()
    assert re.search(r"ada  sums  graded  3 -> 5  by me: c1 was wrong; c1 0 -> 2", line)
    assert [
        change["lesson"]
        for change in json.loads(tito(graded_course, "history", "--changed", "--json")[0])
    ] == ["sums"]


def test_the_history_names_a_few_of_many_checks(graded_course):
    with gradebook.open_gradebook(
        graded_course.state / "gradebook.db", late.read(graded_course)
    ) as book:
        book.save([result("bob", points=(0,) * 9, key="new")], None, "me")
        book.save([result("bob", points=(3,) * 9, key="newer")], None, "me")
    out, _ = tito(graded_course, "history", "bob", "--changed")
    assert "c4 0 -> 3; and 4 more checks" in out and "c5" not in out.splitlines()[-1]
    assert (
        len(
            json.loads(tito(graded_course, "history", "bob", "--changed", "--json")[0])[-1][
                "checks"
            ]
        )
        == 9
    )


def test_a_table_of_changes_is_applied_and_overrides_are_listed(graded_course, tmp_path):
    table = tmp_path / "appeals.csv"
    table.write_text(
        "student,lesson,points,days,comment\nada,numbers,5,,See me.\nbob,1,,2,\n", encoding="utf-8"
    )
    assert "no reason is given" in tito(graded_course, "apply", table, code=2)[1]
    out, _ = tito(graded_course, "apply", table, "--why", "appeals", "--who", "carol")
    assert "appeals.csv: 3 changes made, 0 held already." in out
    again = tito(graded_course, "apply", table, "--why", "appeals", "--json")[0]
    assert json.loads(again) == {"changes": 0, "known": 3}
    out, _ = tito(graded_course, "overrides")
    assert re.search(r"ada +numbers +5 +4 +carol +appeals", out)
    assert tito(graded_course, "overrides", "--doubtful")[0] == "No override is doubtful.\n"
    (one,) = json.loads(tito(graded_course, "overrides", "--json")[0])
    assert (one["student"], one["override"]["who"], one["graded"], one["doubt"]) == (
        "ada",
        "carol",
        4,
        "",
    )


def test_the_history_of_changes_tells_of_a_rise_that_an_override_hides(graded_course):
    tito(graded_course, "override", "ada", "numbers", "5", "--why", "lab", "--who", "carol")
    with gradebook.open_gradebook(graded_course.state / "gradebook.db") as book:
        book.save([result(points=(3, 3), key="mended")], None, "me")
    out, _ = tito(graded_course, "history", "--changed")
    assert "graded 4 -> 6; the override to 5 by carol stays and hides the rise" in out


def test_a_machine_without_a_login_name_asks_for_one(graded_course, tmp_path, monkeypatch):
    def nobody():
        raise OSError("No username set in the environment")

    monkeypatch.setattr(getpass, "getuser", nobody)
    (tmp_path / "class" / "ada").mkdir(parents=True)
    _, err = commands.tito(graded_course, "grade", tmp_path / "class", "numbers", code=2)
    assert "Add --who NAME." in err


def test_a_lesson_without_grades_is_told_instead_of_an_empty_table(graded_course):
    words = ("show", "--student", "bob", "--lesson", "sums")
    out, _ = tito(graded_course, *words)
    assert out == "Nothing is graded here yet: tito grade SUBMISSIONS sums\n"
    assert tito(graded_course, *words, "--json")[0].strip() == "[]"
