"""A class on a track: `[course] tracks` in the release, its wheel, nbgrader and grades."""

import json

import pytest
from commands import tito
from small_course import TRACKS, make_course, solve

from tito.author import chapter_size, release
from tito.lesson import course

MISTAKE = (
    "\n# %% double mistake: Takes a wrong power of two for the double\n#> square\nreturn x ** 2\n"
)


def on_track(folder, *names):
    """The root of the small course with `[course] tracks`."""
    make_course(folder)
    (folder / "tracks.toml").write_text(TRACKS, encoding="utf-8")
    with (folder / "tito.toml").open("a", encoding="utf-8") as file:
        file.write(f"tracks = {json.dumps(names)}\n")
    return course.open_root(folder)


@pytest.fixture
def root(tmp_path):
    return on_track(tmp_path / "course", "short")


def test_a_release_is_of_the_courses_tracks(root, tmp_path):
    mistakes = root.lesson("numbers").script.with_name("mistakes.py")
    with mistakes.open("a", encoding="utf-8") as file:
        file.write(
            MISTAKE.replace("return x ** 2", "#- twice = x + x\nraised = x ** 2 if x else 0")
        )
    milestones = root.path / "modules" / "milestones"
    milestones.mkdir()
    (milestones / "shared.py").write_text("x = 2\nraised = x ** 2 if x else 0\n", encoding="utf-8")
    tito(root, "release", tmp_path / "public")
    work = course.open_root(tmp_path / "public")
    assert (work.tracks, work.changes) == (("short",), ())
    script = work.lesson("numbers").script.read_text(encoding="utf-8")
    assert "twice = x + x" in script and "tito hint numbers-triple" in script
    assert tito(work, "status")[0].startswith("Short: a short way   0 of 2 exercises")
    for words in (["skip", "sums"], ["reset", "double"]):
        err = tito(work, *words, code=2)[1]
        assert f"Only the course can change {words[1]}, and this is a release" in err
    assert "init . --track" not in tito(work, "status")[0]
    solve_from(root, work)
    assert "passed" in tito(work, "test", "--all")[0]


def solve_from(source, work):
    """Write the course's solutions into a workspace's exercises."""
    for entry in work.lessons:
        text = entry.script.read_text(encoding="utf-8")
        for exercise in entry.declared.exercises:
            solved = source.lesson(entry.name).declared.exercise(exercise.name).cell.source
            text = text.replace(exercise.cell.source.strip(), solved.strip())
        entry.script.write_text(text, encoding="utf-8")


def test_the_wheel_of_a_release_has_its_lessons_as_a_course_of_the_same_track(root, tmp_path):
    stubs = release.course_of_stubs(root, release.contents(root, root.lessons))
    for name, data in stubs.items():
        path = tmp_path / "stubs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    tito(tmp_path / "stubs", "init", tmp_path / "mine")
    assert course.open_root(tmp_path / "mine").tracks == ("short",)
    out, _ = tito(tmp_path / "mine", "status")
    assert out.startswith("Short: a short way   0 of 2 exercises")
    assert "Only the course can change" in tito(tmp_path / "mine", "skip", "sums", code=2)[1]


def test_lessons_without_exercises_are_left_out_for_graders(tmp_path):
    root = on_track(tmp_path / "course", "late")
    err = tito(root, "release", tmp_path / "public", "numbers", code=2)[1]
    assert "numbers has no exercise on this track." in err
    tito(root, "release", "--for", "nbgrader", tmp_path / "nbgrader")
    assert [path.name for path in (tmp_path / "nbgrader/source").iterdir()] == ["sums"]
    assert "There is nothing to grade" in tito(root, "grade", tmp_path, "numbers", code=2)[1]


def test_authors_see_the_whole_course(root):
    assert len(root.whole.lesson("numbers").declared.exercises) == 2
    assert [
        (row[0], *map(int, row[1:4]), int(row[5])) for row in chapter_size.tracks(root.whole)
    ] == [
        ("short", 2, 2, 2, 4),
        ("first", 1, 2, 3, 5),
        ("late", 1, 1, 1, 3),
    ]
    config = root.path / "tito.toml"
    config.write_text(config.read_text(encoding="utf-8").replace("short", "shrot"), "utf-8")
    assert "There is no track 'shrot'" in tito(root, "release", root.path / "x", code=2)[1]
    assert len(course.open_root(root.path).whole.lesson("numbers").declared.exercises) == 2


def grades(root, folder):
    """{(learner, lesson): (points, most, notes)} of a folder with submissions."""
    rows = json.loads(tito(root, "grade", folder, "--all", "--json")[0])
    return {
        (row["student"], row["lesson"]): (row["points"], row["max_points"], row["notes"])
        for row in rows
    }


@pytest.mark.slow
def test_a_class_is_graded_by_the_courses_track(root, tmp_path):
    folder = tmp_path / "submissions"
    for name, words in {"ada": [], "bob": ["--track", "whole"], "eve": []}.items():
        tito(root, "init", folder / name, *words)
        work = course.open_root(folder / name)
        if name == "bob":
            for entry in work.lessons:
                entry.script.write_bytes(root.lesson(entry.name).script.read_bytes())
        else:
            solve_from(root, work)
    script = folder / "eve" / "modules/source/01_numbers/numbers_dev.py"
    script.write_text(script.read_text("utf-8").replace("twice = x + x", "twice = 3 * x"), "utf-8")
    graded = grades(root, folder)
    for name in ("ada", "bob"):
        assert [graded[name, one] for one in ("numbers", "sums")] == [(1, 1, []), (3, 3, [])]
    assert graded["eve", "numbers"] == (0, 1, [])
    config = root.path / "tito.toml"
    config.write_text(config.read_text("utf-8").replace('tracks = ["short"]\n', ""), "utf-8")
    points, most, notes = grades(course.open_root(root.path), folder)["ada", "numbers"]
    assert (points, most) == (1, 5)
    assert notes == ["given code in this submission, which earns no points: numbers-double"]


@pytest.mark.slow
def test_what_a_learner_of_a_given_lesson_leaves_out_is_not_missed(tmp_path):
    root = on_track(tmp_path / "course", "late")
    tito(root, "init", tmp_path / "subs" / "ada")
    work = course.open_root(tmp_path / "subs" / "ada")
    solve(work.lesson("sums"))
    tito(work, "submit", "-o", tmp_path / "zips" / "ada.zip")
    assert grades(root, tmp_path / "zips") == {("ada", "sums"): (3, 3, [])}
