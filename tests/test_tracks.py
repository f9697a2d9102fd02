"""The course's tracks, walked: whatever is given, the exercises can be solved in their order."""

import pytest
from commands import run, tito

from tito.author.scratch import ScratchRoots
from tito.learn import runner
from tito.learn.process import Process
from tito.lesson import cells, course

COURSE = course.installed_course().whole
LESSONS = [entry.name for entry in COURSE.lessons]


def chapter_up_to(lesson, number):
    """The chapter in which the exercises up to this number are solved, and no later one is."""
    source = lesson.source
    for exercise in lesson.exercises[number + 1 :]:
        cell = source.cell(exercise.name)
        source = cells.parse(source.path, source.replaced(cell, exercise.stub))
    return source.text


@pytest.mark.slow
@pytest.mark.parametrize("name", LESSONS)
def test_no_check_of_an_exercise_runs_a_later_exercise(name):
    """On this rule tracks rest: every selection can be solved in the order of the course."""
    entry = COURSE.lesson(name)
    failed = []
    with ScratchRoots(entry, 1, lambda: None) as scratch:
        for number, exercise in enumerate(entry.declared.exercises):
            verdict = scratch.test(chapter_up_to(entry.declared, number), exercise.id)
            checks = [check for check in verdict.checks if check.exercise == exercise.id]
            assert len(checks) == len(exercise.checks)
            failed += [f"{exercise.id}: {c.name}: {c.message}" for c in checks if not c.passed]
    assert not failed, "\n".join(failed)


def solve(entry, exercise):
    source = cells.read(entry.script)
    solved = COURSE.lesson(entry.name).declared.exercise(exercise.name).cell.source
    text = source.replaced(source.cell(exercise.name), solved)
    entry.script.write_text(text, encoding="utf-8")


def failures(entry, process, *exercises):
    ids = [exercise.id for exercise in exercises]
    verdict = runner.test_checks(entry, runner.CheckSelection(ids), process=process)
    return [
        f"{c.exercise}: {c.message}"
        for c in verdict.checks
        if c.costs_points and (not ids or c.exercise in ids)
    ] + [verdict.reason] * (not verdict.checks)


@pytest.mark.slow
def test_the_road_is_walked_to_a_gpt_that_trains(tmp_path):
    tito(COURSE, "init", tmp_path / "mine")
    root = course.open_root(tmp_path / "mine")
    assert root.tracks == ("road",)
    with Process() as process:
        for entry in root.lessons:
            exercises = entry.declared.exercises
            for exercise in exercises:
                assert failures(entry, process, exercise), f"{exercise.id} passes as a stub"
                solve(entry, exercise)
                assert failures(entry, process, exercise) == []
            if exercises:
                verdict = runner.test_lesson(entry, process=process).verdict
                assert verdict.passed and verdict.points == verdict.max_points, verdict.reason
    assert "The course is complete" in tito(root, "status")[0]
    program = root.path / ".tito/pristine/milestones/gpt_training.py"
    text = program.read_text(encoding="utf-8")
    for setting, brief in {"steps: int = 100": 3, "epochs: int = 30": 2}.items():
        assert text.count(setting) == 1
        text = text.replace(setting, f"{setting.rpartition(' ')[0]} {brief}")
    program.write_text(text, encoding="utf-8")
    out = run(root, "milestone", "run", "gpt").stdout  # it learns too little for the goal
    assert "failed  bits per character " in out or "held-out bits per character" in out, out
    assert "are yours, the others are given." in out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["engine", "interpretability", "systems"])
def test_a_track_is_walked_lesson_by_lesson(name, tmp_path):
    tito(COURSE, "init", tmp_path / "mine", "--track", name)
    root = course.open_root(tmp_path / "mine")
    with Process() as process:
        for entry in root.lessons:
            if not entry.declared.exercises:
                continue
            first = entry.declared.exercises[0]
            assert failures(entry, process, first), f"{first.id} passes as a stub"
            for exercise in entry.declared.exercises:
                solve(entry, exercise)
            assert failures(entry, process) == []
