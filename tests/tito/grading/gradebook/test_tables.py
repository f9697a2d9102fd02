"""Ids and names that a gradebook can store, and the error where SQLAlchemy is missing."""

import subprocess
import sys

import pytest
from some_results import result, save
from sqlalchemy.dialects import sqlite

from tito.grading.gradebook.tables import Json, learner_id


def test_ids_and_names_that_no_database_takes_are_kept_each_on_its_own(book):
    students = [
        "a\0b",
        "a\ud800b",
        "a",
        "A",
        "x" * 5000,
        "x" * 5001,
        "'; DROP TABLE result; --",
        "\N{SNOWMAN}",
        "100%_",
    ]
    for student in students:
        save(book, [result(student, points=(3,))], None, "me", "n" * 10_000 + "\0")
        assert book.graded()[1][learner_id(student)] == {"numbers": {"key"}}
        assert [grade.points for grade in book.grades(student)] == [3]
    assert len(list(book.grades())) == len(students)


def test_without_sqlalchemy_every_way_in_says_how_to_install_it():
    for module in ("gradebook", "database", "tables"):
        program = (
            "import sys; sys.modules['sqlalchemy'] = None\n"
            "from tito.errors import TitoError\n"
            f"try: import tito.grading.gradebook.{module}\n"
            "except TitoError as error: print(error.what, error.remedy, error.code)"
        )
        words = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert "needs SQLAlchemy" in words.stdout and "bin/setup instructor 3" in words.stdout


def test_a_lack_of_memory_is_no_damage_of_a_value(monkeypatch):
    monkeypatch.setattr("json.loads", lambda text: [0] * 2**60)
    with pytest.raises(MemoryError):
        Json().result_processor(sqlite.dialect(), None)("{}")
