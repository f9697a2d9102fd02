"""tools/unchanged.py: which lessons a slow test runs."""

import json
from datetime import date
from types import SimpleNamespace

import pytest
import unchanged
from small_course import edit, make_course

from tito.lesson import course


@pytest.fixture
def small_course(tmp_path):
    return course.open_root(make_course(tmp_path / "course"))


@pytest.fixture
def passed(small_course, tmp_path, monkeypatch):
    """A function that records that the tests passed for all lessons as they are."""
    monkeypatch.setattr(unchanged, "RECORD", tmp_path / "passed.json")
    monkeypatch.delenv(unchanged.EVERY, raising=False)

    def record():
        states = {entry.name: unchanged.state_of(entry) for entry in small_course.lessons}
        unchanged.RECORD.write_text(json.dumps(states), encoding="utf-8")

    return record


def names(root, others=0):
    return [entry.name for entry in unchanged.lessons_to_run(root.lessons, others)]


def test_lessons_run_that_changed_and_some_of_the_others(small_course, passed, monkeypatch):
    everything = [entry.name for entry in small_course.lessons]
    assert names(small_course) == everything  # nothing is recorded yet
    passed()
    assert names(small_course) == []
    last = small_course.lessons[-1]
    edit(last, last.declared.title, "Other words")
    assert names(small_course) == [last.name]
    assert len(names(small_course, 1)) == 2 and last.name in names(small_course, 1)
    monkeypatch.setenv(unchanged.EVERY, "1")
    assert names(small_course) == everything


def test_a_change_of_the_library_concerns_the_lessons_above_it(small_course, passed):
    passed()
    first, second = small_course.lessons[:2]
    module = second.module_path
    module.write_text("# other code\n", encoding="utf-8")
    assert first.name not in names(small_course) and second.name in names(small_course)


def test_each_day_others_are_drawn_and_within_a_month_all(monkeypatch):
    monkeypatch.delenv(unchanged.EVERY, raising=False)
    drawn = set()
    for day in range(1, 31):
        today = SimpleNamespace(today=lambda day=day: date(2026, 12, day))
        monkeypatch.setattr(unchanged, "date", today)
        some = unchanged.of_today("abcdef", 2)
        assert len(some) == 2 and some == sorted(some)
        drawn |= {*some}
    assert drawn == {*"abcdef"}
    monkeypatch.setenv(unchanged.EVERY, "1")
    assert unchanged.of_today("abcdef", 2) == [*"abcdef"]
