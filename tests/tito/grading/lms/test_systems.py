"""The systems of schools: one file and one row for each, and what follows from these."""

import csv
import inspect
import io
import json
import re
import subprocess
import sys
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_course import NUMBERS

from tito.grading import lms
from tito.grading.lms.system import System

# What a newcomer writes: a file, and a row in SYSTEMS.
SLATE = r"""
import re
from tito.grading.lms.system import Entry, System


class Slate(System):
    name, title = "slate", "Slate"
    class_list = "a list of Slate's"
    ids, numbers = ("pupil",), ("slate_id",)
    times, time_table, entry_numbers = re.compile(r"stamped\Z"), "Slate's stamps", ("paper",)
    said, export, zip = "by Slate", "a file", "Return papers"

    def entry(self, stem):
        match = re.fullmatch(r"paper\.(\d+)\.(.+)", stem)
        return match and Entry("slate", (match[2],), match[1])

    def columns(self, headers):
        known = {"Pupil": "pupil", "Paper": "slate_id", "Called": "name"}
        return [known[name] for name in headers] if "Pupil" in headers else None

    def learner(self, line):
        return line["pupil"] != "test"

    def grades(self, table):
        yield ["Pupil", *(lesson.numbered for lesson in table.lessons)]
        for row in table.rows:
            yield [row.columns["pupil"], *row.points(table)]

    def feedback(self, name, columns, uploads):
        return f"paper.{columns['slate_id']}.html" if "slate_id" in columns else None
"""
TITO = """
import contextlib, io, json, sys
from slate import Slate
from tito.grading import lms
lms.SYSTEMS["slate"] = Slate()
from tito.cli.run import run
outputs = []
for words in json.load(sys.stdin):
    sys.argv = ["tito", *words]
    with io.TextIOWrapper(io.BytesIO(), "utf-8") as out:
        with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
            run()
        out.seek(0)
        outputs.append(out.read())
print(json.dumps(outputs))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the jail is Linux's")
def test_a_new_system_is_one_file_and_one_row(small_course, tmp_path):
    folder, paper = tmp_path / "download", "paper.{}.{}.py"
    folder.mkdir()
    (tmp_path / "slate.py").write_text(SLATE, encoding="utf-8")
    (tmp_path / "class.csv").write_text(
        "Pupil,Paper,Called\np-1,77,Ada Lovelace\np-2,78,Bob Berg\ntest,,Somebody\n"
    )
    (folder / paper.format(77, "A. Nickname")).write_text(NUMBERS)
    (folder / paper.format(78, "Bob Berg")).write_text(NUMBERS.replace("x + x", "x * x"))
    (folder / "stamps.csv").write_text("paper,stamped\n77,2026-12-01T20:15:00+01:00\n78,-\n")
    commands = [
        ["gradebook", "roster", "--help"],
        ["gradebook", "export", "--help"],
        ["feedback", "--help"],
        ["grade", "--help"],
        ["gradebook", "roster", str(tmp_path / "class.csv")],
        ["grade", str(folder), "numbers", "--jobs", "1", "--isolation", "process", "--json"],
        ["gradebook", "export", "--format", "slate"],
        ["feedback", str(tmp_path / "pages"), "--slate", str(tmp_path / "papers.zip")],
    ]
    done = subprocess.run(
        [sys.executable, "-c", TITO],
        cwd=small_course.path,
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={"PYTHONPATH": str(tmp_path), "COLUMNS": "200", "PATH": "/usr/bin:/bin"},
        timeout=120,
    )
    assert not done.returncode, done.stderr
    *helps, enrolled, graded, table, feedback = json.loads(done.stdout)
    for help_text, words in zip(
        helps, ("Slate or Excel", "moodle, slate, ", "A zip for Slate: Return", "Slate's stamps")
    ):
        assert words in re.sub(r"[\s│]+", " ", help_text)
    assert "2 learners from" in enrolled and "a list of Slate's" in enrolled
    assert "ids: column pupil, such as p-1" in enrolled and "Somebody" in enrolled
    grades = {grade["student"]: grade for grade in json.loads(graded)}
    assert grades["p-1"]["arrived"].startswith("2026-12-01T19:15:00")
    assert [grades[one]["arrived_how"] for one in ("p-1", "p-2")] == ["slate", ""]
    rows = list(csv.reader(io.StringIO(table)))
    assert rows[0][0] == "Pupil" and rows[0][1].startswith("01 ")
    assert [row[0] for row in rows[1:]] == ["p-1", "p-2"]
    assert float(rows[1][1]) == grades["p-1"]["points"] > float(rows[2][1])
    assert "papers.zip: 2 pages." in feedback
    with zipfile.ZipFile(tmp_path / "papers.zip") as papers:
        assert sorted(papers.namelist()) == ["paper.77.html", "paper.78.html"]


def test_a_system_has_at_most_six_functions_and_its_file_its_name():
    functions = [name for name, _ in inspect.getmembers(System, inspect.isfunction)]
    assert len([name for name in functions if not name.startswith("_")]) <= 6
    for name, system in lms.SYSTEMS.items():
        assert system.name == name and type(system).__module__ == f"tito.grading.lms.{name}"
        assert system.title and type(system).__name__.lower() == name


def test_each_columns_of_ids_is_listed_once():
    columns = lms.id_columns()
    assert len(columns) == len({*columns}) and columns[0] == "student"
    assert columns[-3:] == ["canvas_id", "id", "moodle_id"], "what people know comes first"


words = st.text(st.characters(exclude_characters="_", codec="utf-8"), min_size=1, max_size=12)
numbers = st.integers(1, 10**9)


@given(name=words, number=numbers, file=st.integers(100, 10**9), rest=st.text(max_size=20))
def test_what_a_learner_calls_a_file_changes_neither_the_name_nor_the_number(
    name, number, file, rest
):
    entry = lms.read_name(f"{name}_{number}_assignsubmission_file_{rest}")
    assert (entry.system, entry.names, entry.number) == ("moodle", (name,), str(number))
    entry = lms.read_name(f"{name}_{number}_{file}_x{rest.replace('_', '')}")
    assert (entry.system, entry.names, entry.number) == ("canvas", (name,), str(number))
    time = "Nov 20, 2026 1011 AM"
    entry = lms.read_name(f"{number}-{file} - {name} - {time}")
    assert (entry.system, entry.names) == ("brightspace", (name,)) and entry.time == (
        "Nov 20, 2026 10:11 AM"
    )
