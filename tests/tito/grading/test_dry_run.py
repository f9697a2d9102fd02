"""A dry run says whose grade would change, by how much and why, and writes nothing."""

import json

import commands
import pytest
from some_results import DAY, MONDAY, result, save, set_points

from tito.cli.instructor import grade, run_progress
from tito.grading import dry_run, run, views
from tito.grading.gradebook import enrollment


def compare(book, *results, arrived=MONDAY):
    """What a run that gives these results would change."""
    before = list(book.history())
    with dry_run.copied(book) as copy:
        for one in results:
            save(copy, [one], arrived, "me")
        found = list(dry_run.compare(book, copy))
    assert list(book.history()) == before
    return found


def test_a_dry_run_shows_whose_grade_would_change_by_how_much_and_why(book):
    for student in ("ada", "bob", "eve"):
        save(book, [result(student)], MONDAY, "me")
    mended = [result(s, points=(3, 3), key="new", verdict="passed") for s in ("ada", "bob")]
    worse = result("eve", points=(0, 0), key="new", sha256="b" * 64)
    ada, bob, eve, new = compare(book, *mended, worse, result("zoe"))
    assert (ada.student, ada.old, ada.new, ada.graded) == ("ada", 3, 6, (3, 6))
    assert ada.reasons == ["failed, then passed"]
    assert [(one["id"], one["old"], one["new"]) for one in ada.checks] == [("c1", 0, 3)]
    assert (eve.old, eve.new, eve.reasons) == (3, 0, ["another file of the lesson"])
    assert (new.old, new.new, new.reasons) == (None, 3, ["not graded before"])
    assert ada.as_json()["new"] == 6 and new.as_json()["old"] is None


def test_a_dry_run_knows_late_rules_and_overrides(book):
    save(book, [result()], MONDAY, "me")
    save(book, [result("bob")], MONDAY, "me")
    set_points(book, "bob", "numbers", 5, "prof", "lab")
    late, hidden = compare(
        book,
        result(points=(3, 3), key="new", sha256="b" * 64),
        result("bob", points=(3, 3), key="new"),
        arrived=MONDAY + DAY,
    )
    assert (late.old, str(late.new)) == (3, "5.4")
    assert "in time, then 1 day late: -10 %" in late.reasons
    assert (hidden.old, hidden.new, hidden.graded) == (5, 5, (3, 6))
    assert "the override to 5 by prof hides it" in hidden.reasons


def test_a_dry_run_may_have_new_learners_and_lose_others(book):
    for student in ("ada", "bob", "zoe"):
        save(book, [result(student)], MONDAY, "me")
    with dry_run.copied(book) as copy:
        enrollment.merge(copy, "bob", "zoe", "me", "two logins")
        save(copy, [result("carl")], MONDAY, "me")
        save(copy, [result("zed")], MONDAY, "me")
        found = list(dry_run.compare(book, copy))
    assert [(one.student, one.old) for one in found] == [("carl", None), ("zed", None)]


def test_a_dry_run_that_would_change_nothing_reports_it(book):
    save(book, [result()], MONDAY, "me")
    assert compare(book, result(key="new")) == []
    assert "0 would rise, 0 would fall" in views.trial([])


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
    tell = run_progress.progress_lines(lambda: clock[0])
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


def test_a_dry_run_without_a_gradebook_makes_none(small_course, tmp_path):
    with grade.to_grade_into(small_course, None, True) as (kept, copy):
        save(copy, [result()], MONDAY, "me")
        assert [one.student for one in dry_run.compare(kept, copy)] == ["ada"]
    assert not (small_course.state / "gradebook.db").exists()
    with grade.to_grade_into(small_course, str(tmp_path / "a.db"), False) as (kept, book):
        assert kept is book
    assert (tmp_path / "a.db").exists()


@pytest.mark.slow
def test_a_dry_run_prints_json_and_names_whom_the_roster_lacks(small_course, tmp_path):
    script = small_course.lesson("numbers").script
    (tmp_path / "work" / "ada").mkdir(parents=True)
    (tmp_path / "work" / "ada" / script.name).write_bytes(script.read_bytes())
    (tmp_path / "class.csv").write_text("student\nbob\n", encoding="utf-8")
    commands.tito(small_course, "gradebook", "roster", tmp_path / "class.csv")
    words = ("grade", tmp_path / "work", "numbers", "--dry-run", "--json")
    out, err = commands.tito(small_course, *words)
    rows = [(row["student"], row["old"], row["new"]) for row in json.loads(out)]
    assert rows == [("ada", None, 5), ("bob", None, 0)]
    assert "not in the roster: ada (1). Their work is graded" in " ".join(err.split())
