"""A dry run says whose grade would change, by how much and why, and writes nothing."""

import json

import commands
import pytest
from some_results import MONDAY, result, save, set_points

from tito.cli.instructor import grade
from tito.grading import run, views


def changes(book, *results, arrived=MONDAY):
    """The entries of the history that a run with these results would write."""
    before = list(book.history())
    with book.copied() as copy:
        last = copy.last_change()
        for one in results:
            save(copy, [one], arrived, "me")
        found = list(filter(grade.changes_grade, copy.history(after=last)))
    assert list(book.history()) == before
    return found


def lines(entries):
    return [str(line) for line in views.dry_run(entries)]


def test_a_dry_run_shows_whose_grade_would_change_by_how_much_and_why(book):
    for student in ("ada", "bob", "eve"):
        save(book, [result(student)], MONDAY, "me")
    mended = [result(s, points=(3, 3), key="new", verdict="passed") for s in ("ada", "bob")]
    worse = result("eve", points=(0, 0), key="new", sha256="b" * 64)
    entries = changes(book, *mended, worse, result("zoe"))
    ada, _, eve, new, count = lines(entries)
    assert "ada  numbers  graded  3 -> 6  by me: c1 0 -> 3" in ada
    assert "eve  numbers  graded  3 -> 0" in eve and "another submission counts" in eve
    assert "zoe  numbers  graded  - -> 3" in new
    assert count == "2 would rise, 1 would fall, 1 would be new. Nothing was written."


def test_a_dry_run_knows_overrides(book):
    save(book, [result("bob")], MONDAY, "me")
    set_points(book, "bob", "numbers", 5, "prof", "lab")
    hidden, count = lines(changes(book, result("bob", points=(3, 3), key="new")))
    assert "5 -> 5" in hidden and "the override to 5 by prof stays and hides the rise" in hidden
    assert "0 would rise, 0 would fall" in count


def test_a_dry_run_that_would_change_nothing_reports_it(book):
    save(book, [result()], MONDAY, "me")
    assert lines(changes(book, result(key="new"))) == [
        "0 would rise, 0 would fall, 0 would be new. Nothing was written."
    ]


def test_only_some_learners_are_graded_and_a_slip_is_reported():
    from tito.errors import TitoError
    from tito.grading.submission import Submission

    arrivals = [Submission("ada", "Ada"), Submission("bob", "Bob")]
    assert run.select_students(None, arrivals) is arrivals
    assert run.select_students(["bob", "bob"], arrivals) == arrivals[1:]
    with pytest.raises(TitoError, match="'boob'") as refused:
        run.select_students(["boob"], arrivals)
    assert refused.value.remedy == "Did you mean 'bob'?"


def test_a_log_gets_a_line_for_each_tenth_and_each_minute_but_not_more_often(capsys):
    clock = [0.0]
    tell = grade.progress_lines(lambda: clock[0])
    for done in range(1, 301):
        clock[0] += 0.125
        tell(done, 300, lambda: f"{done} of 300")
    assert capsys.readouterr().err.splitlines() == ["80 of 300", "160 of 300", "240 of 300"]
    for _ in range(10):  # nothing ends
        clock[0] += 20
        tell(240, 300, lambda: "still at it")
    assert capsys.readouterr().err.splitlines() == ["still at it"] * 3


def test_a_line_of_progress_has_rate_and_time_left():
    progress = run.Progress(300, graded=100, unchanged=20, seconds=50.0)
    assert views.progress_line(progress) == (
        "120 of 300 submissions, 40%, 2.0 a second, about 2 min left"
    )
    assert views.progress_line(run.Progress(0)) == "0 of 0 submissions"


def test_a_dry_run_without_a_gradebook_makes_none(small_course):
    with grade.to_grade_into(small_course, True) as copy:
        save(copy, [result()], MONDAY, "me")
    assert not (small_course.state / "gradebook.db").exists()
    with grade.to_grade_into(small_course, False):
        assert (small_course.state / "gradebook.db").exists()


@pytest.mark.slow
def test_a_dry_run_prints_json_and_names_whom_the_roster_lacks(small_course, tmp_path):
    script = small_course.lesson("numbers").script
    for name in ("ada", "Kim Lee"):
        (tmp_path / "work" / name).mkdir(parents=True)
        (tmp_path / "work" / name / script.name).write_bytes(script.read_bytes())
    (tmp_path / "class.csv").write_text("student,name\nbob,Kim Lee\nbea,Kim Lee\n")
    commands.tito(small_course, "gradebook", "roster", tmp_path / "class.csv")
    words = ("grade", tmp_path / "work", "numbers", "--dry-run", "--json")
    out, err = commands.tito(small_course, *words)
    rows = [(row["student"], row["old_points"], row["new_points"]) for row in json.loads(out)]
    assert rows == [("Kim Lee", None, 5), ("ada", None, 5), ("bea", None, 0), ("bob", None, 0)]
    err = " ".join(err.split())
    assert "not in the roster: ada (1). Their work is graded" in err
    assert "Kim Lee may belong to bea, bob: its name does not identify the learner." in err
