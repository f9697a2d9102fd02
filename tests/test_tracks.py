"""The course's tracks, walked: whatever is given, the exercises can be solved in their order."""

import re

import pytest
from commands import tito
from unchanged import lessons_to_run

from tito.author.scratch import ScratchRoots
from tito.learn import runner
from tito.learn.process import Process
from tito.lesson import cells, course, track

COURSE = course.installed_course().whole
LESSONS = [entry.name for entry in lessons_to_run(COURSE.lessons)]


def chapter_up_to(lesson, number):
    """The chapter in which the exercises up to this number are solved, and no later one is."""
    source = lesson.source
    for exercise in lesson.exercises[number + 1 :]:
        cell = source.cell(exercise.name)
        source = cells.parse(source.path, source.replaced(cell, exercise.stub))
    return source.text


@pytest.mark.parametrize("name", ["whole", *COURSE.all_tracks])
def test_the_text_above_an_exercise_says_whether_it_is_given(name):
    for entry in COURSE.on_tracks([name]).lessons:
        text, written = entry.declared.released, len(entry.declared.exercises)
        assert len(re.findall(r"\*\*Task\.|\*\*Task \(", text)) == written, entry.name
        assert text.count(f"# {track.GIVEN_TASK}") == len(entry.declared.given), entry.name
        assert text.count("# Stuck? `tito hint ") == written, entry.name


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
def test_the_road_is_walked_to_a_gpt_that_trains(tmp_path, monkeypatch):
    """Exercise by exercise and with demonstrations in the lessons that changed and in two others,
    and else by lessons."""
    find = runner.find_demonstrations
    monkeypatch.setattr(
        runner,
        "find_demonstrations",
        lambda entry, source: find(entry, source) if entry.name in LESSONS else [],
    )
    tito(COURSE, "init", tmp_path / "mine")
    root = course.open_root(tmp_path / "mine")
    assert root.tracks == ("road",)
    with Process() as process:
        for entry in root.lessons:
            exercises = entry.declared.exercises
            if not exercises:
                continue
            waiting = {failure.partition(":")[0] for failure in failures(entry, process)}
            assert waiting == {exercise.id for exercise in exercises}  # as stubs
            for exercise in exercises:
                solve(entry, exercise)
                assert entry.name not in LESSONS or failures(entry, process, exercise) == []
            verdict = runner.test_lesson(entry, process=process).verdict
            assert verdict.passed and verdict.points == verdict.max_points, verdict.reason
    assert "The course is complete" in tito(root, "status")[0]
    shorten_gpt(root)
    out, _ = tito(root, "milestone", "run", "gpt")
    assert "passed  " in out and "are yours, the others are given." in out


def shorten_gpt(root):
    """Let the milestone gpt train for a few steps, and reach its goals."""
    folder = root.path / ".tito/pristine/milestones"
    changes = {
        "gpt_training.py": {
            r"steps: int = 100$": "steps: int = 3",
            r"epochs: int = 30$": "epochs: int = 2",
        },
        "05_2018_gpt.py": {
            r"^# (\"bits|\"held|\"caus|\"entr)(.*) = .*$": r"# \1\2 = 99",
            r"^# (\"samp|\"gain)(.*) = .*$": r"# \1\2 = -99",
        },
    }
    for name, pairs in changes.items():
        text = (folder / name).read_text(encoding="utf-8")
        for old, new in pairs.items():
            text, count = re.subn(old, new, text, flags=re.M)
            assert count, (name, old)
        (folder / name).write_text(text, encoding="utf-8")


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
