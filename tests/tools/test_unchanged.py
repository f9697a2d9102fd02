"""tools/unchanged.py: which lessons a slow test runs."""

import json

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


def names(root):
    return [entry.name for entry in unchanged.lessons_to_run(root.lessons)]


def test_lessons_run_that_changed_and_some_of_the_others(small_course, passed, monkeypatch):
    monkeypatch.setattr(unchanged, "OTHERS", 0)
    everything = [entry.name for entry in small_course.lessons]
    assert names(small_course) == everything  # nothing is recorded yet
    passed()
    assert names(small_course) == []
    last = small_course.lessons[-1]
    edit(last, last.declared.title, "Other words")
    assert names(small_course) == [last.name]
    monkeypatch.setattr(unchanged, "OTHERS", 1)
    assert len(names(small_course)) == 2 and last.name in names(small_course)
    monkeypatch.setenv(unchanged.EVERY, "1")
    assert names(small_course) == everything


def test_a_change_of_the_library_concerns_the_lessons_above_it(small_course, passed, monkeypatch):
    monkeypatch.setattr(unchanged, "OTHERS", 0)
    passed()
    first, second = small_course.lessons[:2]
    module = second.module_path
    module.write_text("# other code\n", encoding="utf-8")
    assert first.name not in names(small_course) and second.name in names(small_course)
