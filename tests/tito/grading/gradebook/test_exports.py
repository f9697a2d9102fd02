"""The exports, read back as the systems read them: Canvas and Moodle as CSV, Gradescope and
Classroom 50 by their schemas.
"""

import csv
import io
import json
import re
import time
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from types import SimpleNamespace

import pytest
from rich.console import Console
from some_results import (
    keep_strangers,
    read_roster,
    remember_roster,
    result,
    save,
    set_comment,
    set_points,
)

from tito import csv_tables, settings
from tito.errors import TitoError
from tito.grading.gradebook import (
    enrollment,
    exports,
    gradebook,
    late,
    merging,
    views,
)
from tito.grading.gradebook.gradebook import open_gradebook
from tito.grading.result import UNREAD, VERDICTS

MONDAY = datetime(2026, 11, 2, 12, tzinfo=timezone.utc)
RULES = late.Rules(percent_per_day=Decimal(10), due={"numbers": MONDAY})

# From the pages of the two systems: what must be there, what may be, nothing else.
TEXT, COUNT = {"type": "string", "minLength": 1}, {"type": "integer", "minimum": 0}
CLASSROOM50 = {
    "type": "object",
    "additionalProperties": False,
    "required": [
        "schema",
        "classroom",
        "assignment",
        "assignment_type",
        "owner",
        "submission",
        "commit",
        "release",
        "review",
        "datetime",
        "score",
        "max-score",
        "tests",
    ],
    "properties": {
        name: TEXT for name in ("assignment_type", "owner", "commit", "release", "review")
    }
    | {
        "schema": {"const": "classroom50/result/v1"},
        "classroom": {"const": "small-course"},
        "assignment": {"enum": ["numbers", "sums"]},
        "submission": {"type": "string", "pattern": "^submit/."},
        "score": COUNT,
        "max-score": COUNT,
        "datetime": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
        "graded_at": {"type": "string", "pattern": "Z$"},
        "submitted_by": TEXT,
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["test-name", "passed", "score", "max-score"],
                "properties": {
                    "test-name": TEXT,
                    "passed": {"type": "boolean"},
                    "score": COUNT,
                    "max-score": COUNT,
                },
            },
        },
    },
}
# schemas/scores-v1.schema.json of foundation50/classroom50: what a collected submission is, without
# the assignment, which is the key above it.
RECORD = CLASSROOM50 | {
    "additionalProperties": True,
    "required": [name for name in CLASSROOM50["required"] if name != "assignment"],
}
SCORES = {
    "type": "object",
    "additionalProperties": False,
    "required": ["schema", "assignments"],
    "properties": {
        "schema": {"const": "classroom50/scores/v1"},
        "assignments": {
            "type": "object",
            "propertyNames": {"pattern": "^[a-z0-9][a-z0-9-]{1,99}$"},
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "required": ["type", "entries"],
                "properties": {
                    "type": {"enum": ["individual", "group"]},
                    "entries": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["owner", "submissions"],
                            "properties": {
                                "owner": TEXT,
                                "override": {"type": "boolean"},
                                "submissions": {"type": "array", "minItems": 1, "items": RECORD},
                            },
                        },
                    },
                },
            },
        },
    },
}
SHOWN, FORMAT = (
    {"enum": ["hidden", "after_due_date", "after_published", "visible"]},
    {"enum": ["text", "html", "simple_format", "md", "ansi"]},
)
GRADESCOPE = {
    "type": "object",
    "additionalProperties": False,
    "anyOf": [{"required": ["score"]}, {"required": ["tests"]}],
    "properties": {
        "score": {"type": "number"},
        "execution_time": {"type": "number"},
        "output": {"type": "string"},
        "output_format": FORMAT,
        "test_output_format": FORMAT,
        "test_name_format": FORMAT,
        "visibility": SHOWN,
        "stdout_visibility": SHOWN,
        "extra_data": {"type": "object"},
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "score": {"type": "number"},
                    "max_score": {"type": "number"},
                    "status": {"enum": ["passed", "failed"]},
                    "name": {"type": "string"},
                    "name_format": FORMAT,
                    "number": {"type": "string"},
                    "output": {"type": "string"},
                    "output_format": FORMAT,
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "visibility": SHOWN,
                    "extra_data": {"type": "object"},
                },
            },
        },
    },
}


@pytest.fixture
def book(tmp_path):
    with open_gradebook(tmp_path / "class.db", RULES) as opened:
        save(
            opened,
            [result(), result(lesson="sums", points=(3, 3), verdict="passed")],
            MONDAY + timedelta(hours=30),
            "me",
            "Ada, Countess",
        )
        save(opened, [result("bob", points=(2, 2))], None, "me")
        remember_roster(
            opened,
            [
                SimpleNamespace(
                    student="ada",
                    name="",
                    columns={
                        "id": "17",
                        "sis_user_id": "S-17",
                        "section": "A",
                        "email": "ada@x.org",
                        "github": "ada-l",
                    },
                ),
                SimpleNamespace(student="cy", name="Cy", columns={}),
            ],
        )
        set_comment(opened, "ada", "numbers", 'Good "try", but\nsee me', "prof")
        yield opened


def chosen(book, lesson=None, **more):
    return exports.Selection(book, lesson, course="Small Course", **more)


def table(book, kind, lesson=None, **more):
    return exports.text(chosen(book, lesson, **more), kind)


def read(text):
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def test_csv_has_a_row_per_learner_a_column_per_lesson_and_the_total(book):
    header, *rows = read(table(book, "csv"))
    assert [header, *rows] == [
        ["student", "name", "numbers", "sums", "total"],
        ["ada", "Ada, Countess", "2.4", "6", "8.4"],
        ["bob", "", "4", "", "4"],
        ["cy", "Cy", "", "", ""],
    ]


def test_an_export_of_one_lesson_holds_no_other(book):
    assert read(table(book, "csv", "sums"))[:2] == [
        ["student", "name", "sums", "total"],
        ["ada", "Ada, Countess", "6", "6"],
    ]
    with pytest.raises(TitoError, match="Nothing of products is graded"):
        table(book, "csv", "products")


def test_an_export_beside_a_run_that_grades_another_lesson_is_of_the_lessons_before(
    book, monkeypatch
):
    """Other processes may write between two learners: a further lesson, a learner who leaves."""
    monkeypatch.setattr(gradebook, "AT_A_TIME", 1)
    learners = chosen(book).learners()
    next(learners)
    save(book, [result("bob", "products", (1,))], None, "me")
    merging.merge(book, "cy", "bob", "me", "the same")
    assert [(one.student, len(grades)) for one, grades in learners] == [("bob", 1)]


@pytest.mark.parametrize(
    ("missing", "before", "after"),
    [("after due", "", "0"), ("empty", "", ""), ("zero", "0", "0")],
)
def test_what_was_not_handed_in_is_empty_while_there_is_time(tmp_path, missing, before, after):
    rules = replace(RULES, missing=missing, grace=timedelta(minutes=15))
    with open_gradebook(tmp_path / "missing.db", rules) as book:
        save(book, [result("cy", points=(0, 0), sha256="", verdict="missing")], None, "me")
        save(book, [result("dan", points=(0, 0), sha256="", verdict="missing")], None, "me")
        set_points(book, "dan", "numbers", 0, "no")
        # Due on MONDAY, with a grace of 15 minutes; points that a person set are always exported.
        for minutes, expected in ((-1, before), (14, before), (16, after)):
            now = MONDAY + timedelta(minutes=minutes)
            for kind in exports.TABLES:
                rows = read(table(book, kind, now=now))[-2:]
                assert [row.count("0") > 0 for row in rows] == [expected == "0", True], kind
        assert chosen(book, now=MONDAY).doubts.missing == {before != "0": 1}


@pytest.mark.parametrize(
    ("missing", "verdict"), zip(settings.MISSING, UNREAD, strict=True), ids=str
)
def test_what_cannot_be_read_is_never_exported_as_0_and_told(tmp_path, missing, verdict):
    with open_gradebook(tmp_path / "strange.db", replace(RULES, missing=missing)) as book:
        for student in ("cy", "dan"):
            of = result(student, points=(0, 0), sha256="", verdict=verdict)
            save(book, [of], None, "me")
        set_points(book, "dan", "numbers", 0, "no")
        late_now = {"now": MONDAY + timedelta(days=30)}
        for kind in exports.TABLES:
            rows = read(table(book, kind, **late_now))[-2:]
            assert [row.count("0") > 0 for row in rows] == [False, True], kind
        assert not chosen(book, **late_now).doubts.missing
        (words,) = views.export_notes(chosen(book, **late_now))
        assert words.startswith(
            "handed in, but no file of a lesson that can be read, exported as empty cells: cy. "
            "Look at"
        )
        # Gradescope's autograder must answer, and says why there are no points.
        answer = dict(trees(book, "gradescope"))["cy/results.json"]
        assert VERDICTS[verdict] in answer["output"]
        # Nor does `show` have a 0.
        console = Console(file=io.StringIO(), width=100)
        console.print(views.grades(book.by_learner(), book.lessons(), chosen(book).is_empty))
        lines = console.file.getvalue()
        assert (
            re.search(r"cy .*! +-", lines)
            and "! handed in, but no file of the lesson that can be read" in lines
        )


def test_work_whose_name_fits_two_learners_is_0_for_neither(tmp_path):
    rules = replace(RULES, missing="zero")
    with open_gradebook(tmp_path / "names.db", rules) as book:
        roster = tmp_path / "class.csv"
        roster.write_text("student,name\nanna1,Anna Schmidt\nanna2,Anna Schmidt\ncy,Cy\n")
        enrollment.enroll(book, roster, "me")
        for student in ("anna1", "anna2", "cy"):
            save(book, [result(student, points=(0, 0), sha256="", verdict="missing")], None, "me")
        keep_strangers(book, ["Anna Schmidt - numbers_dev"])
        save(book, [result("Anna Schmidt - numbers_dev", points=(3, 0))], None, "me")
        for kind in exports.TABLES:
            cells = [[cell for cell in row if cell == "0"] for row in read(table(book, kind))[-3:]]
            assert [len(zeros) > 0 for zeros in cells] == [False, False, True], kind
        assert list(trees(book, "gradescope")) == ["cy/results.json"]
        assert chosen(book).doubts.missing == {False: 1}
        assert chosen(book).unclaimed.keys() == {("anna1", "numbers"), ("anna2", "numbers")}
        # The instructor renames the file to its learner's id, and grades again.
        save(book, [result("anna2", points=(3, 0), key="renamed")], None, "me")
        assert [row[2] for row in read(table(book, "csv"))[1:]] == ["0", "3", "0"]


def test_canvas_finds_learners_by_its_ids_and_knows_the_points_possible(book):
    assert read(table(book, "canvas")) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "01 Numbers", "02 Sums"],
        ["    Points Possible", "", "", "", "", "6", "6"],
        ["Ada, Countess", "17", "S-17", "", "A", "2.4", "6"],
        ["bob", "", "", "bob", "", "4", ""],
        ["Cy", "", "", "cy", "", "", ""],
    ]


def test_canvas_keeps_to_the_assignments_that_the_roster_names(book):
    remember_roster(
        book,
        [SimpleNamespace(student="cy", name="Cy", columns={"sums_(4711)": "", "total_(9)": ""})],
    )
    assert read(table(book, "canvas"))[0][5:] == ["01 Numbers", "Sums (4711)"]


def test_blackboard_gets_logins_and_the_numbers_of_its_columns(book):
    columns = {"username": "c", "sums_[total_pts:_6_score]_|4711": "", "x_|9": ""}
    remember_roster(book, [SimpleNamespace(student="cy", name="Cy", columns=columns)])
    header, *rows = read(table(book, "blackboard"))
    assert header == ["Username", "01 Numbers", "Sums [Total Pts: 6 Score] |4711"]
    assert rows == [["ada", "2.4", "6"], ["bob", "4", ""], ["c", "", ""]]


def test_brightspace_gets_its_ids_its_names_of_columns_and_its_end_of_lines(book):
    remember_roster(
        book,
        [
            SimpleNamespace(
                student="cy", name="Cy", columns={"org_defined_id": "9", "username": "c"}
            )
        ],
    )
    assert read(table(book, "brightspace")) == [
        ["OrgDefinedId", "Username", "01 Numbers Points Grade", "02 Sums Points Grade"]
        + ["End-of-Line Indicator"],
        ["", "#ada", "2.4", "6", "#"],
        ["", "#bob", "4", "", "#"],
        ["#9", "#c", "", "", "#"],
    ]


def test_moodle_always_has_grade_and_feedback_side_by_side(book):
    header, ada, bob, cy = read(table(book, "moodle"))
    assert header == [
        "Full name",
        "ID number",
        "Email address",
        "01 Numbers",
        "01 Numbers feedback",
        "02 Sums",
        "02 Sums feedback",
    ]
    assert ada[:3] == ["Ada, Countess", "ada", "ada@x.org"]
    assert ada[3:5] == [
        "2.4",
        '2.4 of 6 points: some checks fail. 2 days late: -20 %. Good "try", but\nsee me',
    ]
    assert ada[5:] == ["6", "6 of 6 points: every exercise is right."]
    assert bob[3:] == ["4", "4 of 6 points: some checks fail.", "", ""] and cy[3:] == [
        "",
        "",
        "",
        "",
    ]


def test_moodle_feedback_does_not_say_why_points_were_set_by_hand(book):
    set_points(book, "ada", "numbers", 0, "prof", "copied from Bob")
    assert "Bob" not in table(book, "moodle") and "set by the instructor" in table(book, "moodle")


@pytest.mark.parametrize("kind", exports.TABLES)
@pytest.mark.parametrize(
    "name",
    [
        "=cmd|' /C calc'!A0",
        "+SUM(1;2)",
        "-2+3",
        "@x",
        "\t=1+1",
        "\r=1+1",
        "\n=1+1",
        "\x1b=1+1",
        "\uff1d1+1",
    ],
)
def test_a_name_never_becomes_a_formula(book, kind, name):
    save(book, [result("=id()", points=(3,))], None, "me", name)
    for row in read(table(book, kind)):
        assert not [cell for cell in row if cell[:1] in tuple("=+-@\t\r\n\uff1d") and cell]
    before = "#" if kind == "brightspace" else "'"
    assert f"{before}=id()" in table(book, kind)


@pytest.mark.parametrize(
    "name",
    [
        'Ada "the first", Countess',
        "Zoë\nTwo Lines",
        "\N{SNOWMAN} \U0001f469\u200d\U0001f52c",
        "n" * 4_000,
        "O'Neil",
        "a;b\tc",
    ],
)
def test_a_name_survives_the_way_to_the_spreadsheet(book, name):
    save(book, [result("zoe")], None, "me", name)
    assert read(table(book, "csv"))[-1][1] == name


NASTY = (
    "Bob;=1+1",
    "Bob\t=1+1",
    "Bob,=1+1",
    'Bob;"=1+1"',
    "Bob; \t'=1+1",
    'Bob"";@SUM(1)',
    "-2+3",
    "'=1+1",
    "''-x",
    "=1+1;+2;-3",
    "a\n=1+1",
    ";;=cmd|' /C calc'!A0",
    "\uff1d1+1",
    "harmless; 'quoted' = text",
)


@pytest.mark.parametrize("piece", ["\t", '\t"', "\n ", ", ", "'", '"'])
def test_no_text_takes_long_to_write_or_read(piece):
    began = time.process_time()
    text = piece * 50_000 + "=x"
    assert csv_tables.plain(csv_tables.cell(text)[1:-1].replace('""', '"')) == text
    assert time.process_time() - began < 2


@pytest.mark.slow
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("text", NASTY)
def test_no_reader_finds_a_formula_whatever_it_splits_at(book, text, separator):
    save(book, [result("zoe")], None, "me", text)
    set_comment(book, "zoe", "numbers", text, "prof")
    for kind in exports.TABLES:
        written = table(book, kind)
        for quotes in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
            if quotes == csv.QUOTE_NONE and separator == ",":
                continue  # no program reads a CSV file like this
            rows = csv.reader(io.StringIO(written, newline=""), delimiter=separator, quoting=quotes)
            cells = [cell.strip(' "') for row in rows for cell in row]
            assert not [c for c in cells if c[:1] in tuple("=+-@\uff1d") and c], cells
    assert text in [csv_tables.plain(c) for row in read(table(book, "csv")) for c in row]


@pytest.mark.parametrize("text", NASTY)
def test_what_was_made_safe_reads_back_as_it_was(text):
    ((cell,),) = read(csv_tables.line([text]))
    assert csv_tables.plain(cell) == text


@pytest.mark.parametrize("name", ["-lee", "@ada", "+49-123", "-2-3", "ada-lovelace@x.org", "00123"])
def test_an_id_stays_as_it_is_in_every_export_and_comes_back(book, tmp_path, name):
    save(book, [result(name)], None, "me", "=Lee")
    for kind in exports.TABLES:
        before = "#" if kind == "brightspace" else ""
        assert f'"{before}{name}"' in table(book, kind)
    (tmp_path / "grades.csv").write_text(table(book, "csv"), encoding="utf-8")
    back = {learner.student: learner for learner in read_roster(tmp_path / "grades.csv")}
    assert back[name].name == "=Lee"


def test_an_id_that_computes_something_comes_back_from_an_export(book, tmp_path):
    save(book, [result("=id()")], None, "me")
    text = table(book, "csv")
    (tmp_path / "grades.csv").write_text(text, encoding="utf-8")
    assert '"\'=id()"' in text
    assert "=id()" in [learner.student for learner in read_roster(tmp_path / "grades.csv")]


def test_numbers_stay_numbers():
    assert [
        csv_tables.cell(value) for value in (Decimal("-1.5"), -3, "-12", "+49123", "-1.5", None)
    ] == ["-1.5", "-3", '"-12"', '"+49123"', '"-1.5"', ""]


def trees(book, kind):
    return {path: json.loads(text) for path, text in exports.tree(chosen(book), kind)}


@pytest.fixture
def jsonschema():
    import jsonschema  # takes seconds, which no run of other tests should pay

    return jsonschema


def test_gradescope_gets_a_valid_result_for_each_learner_who_has_grades(book, jsonschema):
    found = trees(book, "gradescope")
    assert list(found) == ["ada/results.json", "bob/results.json"]
    for value in found.values():
        jsonschema.validate(value, GRADESCOPE)
    ada = found["ada/results.json"]
    assert ada["score"] == 8.4 and [test["score"] for test in ada["tests"]] == [3, 0, 3, 3]
    assert "2 days late: -20 %" in ada["output"]


def test_gradescope_hides_hidden_checks_and_holds_nothing_that_they_said(book):
    tests = trees(book, "gradescope")["bob/results.json"]["tests"]
    assert [(test["name"], test["visibility"], test.get("output")) for test in tests] == [
        ("Numbers: check 0", "visible", "message 0"),
        ("Numbers: check 1", "hidden", None),
    ]


def test_classroom50_gets_whole_points_and_no_other_key(book, jsonschema):
    set_points(book, "bob", "numbers", "1.5", "prof", "half", check="c0")
    found = trees(book, "classroom50")
    scores = found.pop("small-course/scores.json")
    assert list(found) == [
        "results/ada/numbers/result.json",
        "results/ada/sums/result.json",
        "results/bob/numbers/result.json",
    ]
    jsonschema.validate(scores, SCORES)
    for value in found.values():
        jsonschema.validate(value, CLASSROOM50)
        assert value["score"] <= value["max-score"] and all(
            test["score"] <= test["max-score"] for test in value["tests"]
        )
    ada, bob = (found[f"results/{name}/numbers/result.json"] for name in ("ada", "bob"))
    assert (ada["owner"], ada["datetime"], ada["score"]) == (
        "ada-l",
        "2026-11-03T18:00:00Z",
        2,
    )  # 2.4
    assert (bob["owner"], bob["score"], bob["tests"][0]["score"]) == ("bob", 4, 2)  # 3.5 and 1.5


def test_classroom50_finds_every_grade_in_the_scores_of_a_named_classroom(book):
    found = dict(exports.tree(chosen(book), "classroom50", "cs50-fall"))
    scores = json.loads(found["cs50-fall/scores.json"])
    entries = scores["assignments"]["numbers"]["entries"]
    assert list(scores["assignments"]) == ["numbers", "sums"]
    assert [(one["owner"], one["override"]) for one in entries] == [("ada-l", True), ("bob", True)]
    (record,) = entries[0]["submissions"]
    assert "assignment" not in record and record["classroom"] == "cs50-fall"
    assert record["submission"].startswith("submit/manual-") and record["score"] == 2
    assert all('"classroom": "cs50-fall"' in text for text in found.values())


def test_the_maximum_is_todays_and_no_grade_exceeds_it(book, jsonschema):
    today = chosen(book, most={"numbers": 3, "gone": 7})
    assert read(exports.text(today, "canvas"))[1][5:] == ["3", "6"]
    assert read(exports.text(today, "csv"))[2][2] == "3", "4 of 6 is 3 of 3"
    assert "3 of 3 points" in exports.text(today, "moodle")
    results = dict(exports.tree(today, "classroom50"))
    bob = json.loads(results["results/bob/numbers/result.json"])
    assert (bob["score"], bob["max-score"]) == (3, 3)
    assert (
        today.doubts.outdated == {"numbers": ["ada", "bob"]} and chosen(book).doubts.outdated == {}
    )
    assert read(table(book, "canvas"))[1][5:] == ["6", "6"]


def test_who_left_and_who_is_in_no_roster_is_not_exported(book, tmp_path):
    enrollment.leave(book, "ada", "prof", "left")
    keep_strangers(book, ["bob"])
    assert [row[0] for row in read(table(book, "csv"))] == ["student", "cy"]
    assert list(trees(book, "classroom50")) == ["small-course/scores.json"]
    assert trees(book, "gradescope") == {}
    enrollment.come_back(book, "ada", "prof", "back")
    assert [row[0] for row in read(table(book, "csv"))] == ["student", "ada", "cy"]


def test_an_export_of_a_section_contains_only_its_learners(book):
    assert [row[0] for row in read(table(book, "csv", section="A"))] == ["student", "ada"]
    assert list(trees_of(chosen(book, section="A"))) == ["ada/results.json"]


def trees_of(selection):
    return dict(exports.tree(selection, "gradescope"))


@pytest.mark.parametrize("kind", exports.TREES)
def test_no_id_leads_out_of_the_folder_or_into_another_folder(book, tmp_path, kind):
    students = [
        "../../evil",
        "..",
        ".",
        "/etc/passwd",
        "C:\\x",
        "nul",
        "a/b",
        "a\\b",
        "Ada",
        "ADA",
        "ada ",
        "\N{SNOWMAN}",
        "x" * 3000,
        "a\0b",
    ]
    for student in students:
        save(book, [result(student)], None, "me")
    folder = tmp_path / "out"
    number = exports.write_tree(folder, exports.tree(chosen(book), kind))
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert len(written) == number and len({str(path).lower() for path in written}) == number
    assert {path.relative_to(folder).parts[0] for path in written} == set(
        path.name for path in folder.iterdir()
    )
    theirs = folder / "results" if kind == "classroom50" else folder
    assert len(list(theirs.iterdir())) == len(students) + 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["class.db", "out"]


def test_files_of_others_are_not_overwritten_without_force(book, tmp_path):
    file, folder = tmp_path / "grades.csv", tmp_path / "out"
    file.write_text("mine", encoding="utf-8")
    folder.mkdir()
    (folder / "mine.txt").write_text("mine", encoding="utf-8")
    for write in (
        lambda: exports.write_file(file, "theirs"),
        lambda: exports.write_tree(folder, [("x.json", "{}")]),
        lambda: exports.write_file(folder, "x"),
        lambda: exports.write_tree(file, [], force=True),
    ):
        with pytest.raises(TitoError):
            write()
    assert file.read_text(encoding="utf-8") == "mine" and len(list(folder.iterdir())) == 1
    assert exports.write_file(file, "theirs\r\n", force=True) and not exports.write_file(
        file, "theirs\r\n"
    )
    assert file.read_bytes() == b"theirs\r\n"
    assert (
        exports.write_tree(folder, [("x.json", "{}")], force=True) == 1
        and (folder / "mine.txt").exists()
    )
