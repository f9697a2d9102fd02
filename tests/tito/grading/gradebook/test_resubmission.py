"""Which of several submissions of a lesson counts, over all runs, and that no grade falls in
silence.
"""

import os
import random
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from small_course import NUMBERS, SUMS
from some_results import DAY, MONDAY, RULES, points, result, save, set_points, set_time

from tito.grading import run, views, workers
from tito.grading.gradebook import result_store
from tito.grading.gradebook.gradebook import Gradebook, open_gradebook
from tito.grading.gradebook.result_store import Saving
from tito.grading.intake.lesson_file import count_written
from tito.grading.intake.open_submission import open_submission
from tito.grading.intake.submission_times import Submitted
from tito.grading.result import LessonResult, Unchanged
from tito.grading.roster import Learner
from tito.grading.setting import Setting
from tito.grading.submission import Arrived
from tito.settings import POLICIES

HISTORIES = int(os.environ.get("TITO_HISTORIES", 8))  # random ones, under each policy


@pytest.fixture
def books():
    """books(policy, ...): a new gradebook in memory, under that policy of resubmission."""
    opened = []

    def open_one(policy="latest", **rules):
        context = open_gradebook("sqlite://", replace(RULES, policy=policy, **rules))
        opened.append(context)
        return context.__enter__()

    yield open_one
    for context in opened:
        context.__exit__(None, None, None)


def hand_in(book, sha, earned, when=None, beside="x", checks="1", **more):
    """Save a result of numbers: of the file `sha`, graded beside other lessons, by some checks."""
    one = result(points=(earned, 0), sha256=sha and sha * 64, key=f"{sha}{beside}.{checks}", **more)
    arrived = when if isinstance(when, Arrived) or when is None else Arrived(when, "moodle")
    save(book, [one], arrived, "me", "Ada L.")
    return one


def missing(book, beside="y"):
    save(book, [result(points=(0, 0), sha256="", key=f"{beside}.1", verdict="missing")], None, "me")


def saw(book, key, arrived, why="graded", anew=False):
    """The file of a result came in once more."""
    arrivals, seen = {"numbers": arrived}, [Unchanged("numbers", key)]
    book.save(Saving("ada", "", "me", why, seen=seen, arrivals=arrivals, replace_arrivals=anew))


def fell(book):
    return [(one.lesson, str(one.old), str(one.new)) for one in book.points_lost]


# Policies. What lateness costs: 10 % a day, 50 % at most, after 15 minutes.


@pytest.mark.parametrize(
    ("policy", "counts"), [("latest", "1.8"), ("best", "2.7"), ("last-on-time", "1")]
)
@pytest.mark.parametrize("order", ["abcd", "dcba", "cadb"])
def test_each_policy_takes_the_submission_that_it_says_in_whatever_order_they_are_graded(
    books, policy, counts, order
):
    book = books(policy)
    files = {
        "a": (2, MONDAY - 2 * DAY),
        "b": (1, MONDAY),
        "c": (3, MONDAY + DAY),  # a day late: 2.7
        "d": (2, MONDAY + DAY + timedelta(minutes=20)),  # two days with the grace: 1.6
    }
    files["d"] = (2, MONDAY + timedelta(days=1, minutes=10))  # one day: 1.8
    for sha in order:
        hand_in(book, sha, *files[sha])
    assert points(book) == {"numbers": counts}
    (grade,) = book.grades("ada")
    assert grade.submissions == 4


def test_last_on_time_falls_back_to_the_earliest_late_one(books):
    book = books("last-on-time")
    hand_in(book, "b", 3, MONDAY + 3 * DAY)
    hand_in(book, "a", 2, MONDAY + 2 * DAY)
    assert points(book) == {"numbers": "1.6"} and fell(book) == [("numbers", "2.1", "1.6")]
    hand_in(book, "c", 1, Arrived(how="canvas", late=False))
    assert points(book) == {"numbers": "1"}


def test_a_changed_policy_counts_at_once_since_older_results_are_kept(books):
    book = books()
    hand_in(book, "a", 3, MONDAY)
    hand_in(book, "b", 0, MONDAY + DAY)
    assert points(book) == {"numbers": "0"}
    assert points(Gradebook(book.engine, replace(book.rules, policy="best"))) == {"numbers": "3"}


def test_an_extension_makes_the_last_one_in_time(books):
    book = books("last-on-time")
    hand_in(book, "a", 1, MONDAY)
    hand_in(book, "b", 3, MONDAY + DAY)
    assert points(book) == {"numbers": "1"}
    set_time(book, "ada", "numbers", "prof", "ill", days=2)
    assert points(book) == {"numbers": "3"}


# What is no submission of a lesson takes no grade away.


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("sha", "verdict"),
    [("", "missing"), ("", "unreadable"), ("", "no lesson file"), ("s", "stub"), ("", "crashed")],
)
def test_what_was_not_handed_in_replaces_no_grade(books, policy, sha, verdict):
    for first in (True, False):
        book = books(policy)
        if first:
            hand_in(book, "a", 3, MONDAY)
        hand_in(book, sha, 0, MONDAY + DAY, verdict=verdict)
        if not first:
            hand_in(book, "a", 3, MONDAY)
        assert points(book) == {"numbers": "3"} and not book.points_lost
        assert [change.new_points for change in book.history()][-1] == 3


def test_what_was_not_handed_in_hides_no_reason_why_nothing_could_be_read(books):
    book = books()
    hand_in(book, "", 0, verdict="unreadable")
    missing(book)
    (grade,) = book.grades("ada")
    assert grade.result.verdict == "unreadable"
    hand_in(book, "s", 0, verdict="stub")
    assert next(book.grades("ada")).result.verdict == "stub"


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_of_no_lesson_waits_for_a_person_until_the_lesson_comes(books, policy):
    book = books(policy)
    missing(book)
    hand_in(book, "", 0, verdict="no lesson file")
    missing(book)
    (grade,) = book.grades("ada")
    assert (grade.result.verdict, grade.submissions) == ("no lesson file", 1)
    set_points(book, "ada", "numbers", 2, "prof", "it was right in the document")
    assert points(book) == {"numbers": "2"}
    set_points(book, "ada", "numbers", None, "prof", "the lesson will come")
    hand_in(book, "a", 3, MONDAY)
    assert points(book) == {"numbers": "3"}


def test_the_same_file_beside_other_lessons_keeps_its_best_grading(books):
    """With --base own, a lesson without the earlier ones fails; it was not handed in worse."""
    book = books()
    hand_in(book, "a", 3, MONDAY, beside="all")
    hand_in(book, "a", 0, MONDAY + DAY, beside="nothing")
    assert points(book) == {"numbers": "3"} and not book.points_lost
    assert book.graded()[1] == {"ada": {"numbers": {"aall.1", "anothing.1"}}}


def test_a_mended_check_replaces_what_the_same_file_had(books):
    book = books()
    hand_in(book, "a", 3, MONDAY, beside="all")
    hand_in(book, "a", 2, MONDAY, beside="nothing")
    hand_in(book, "a", 1, MONDAY + DAY, checks="2")
    (grade,) = book.grades("ada")
    assert (str(grade.points), grade.lateness.arrived, grade.submissions) == ("1", MONDAY, 1)
    assert fell(book) == [("numbers", "3", "1")]


# Who came when.


def test_a_file_that_is_handed_in_again_is_the_latest_and_no_later_than_before(books):
    book = books()
    hand_in(book, "a", 1, MONDAY)
    hand_in(book, "b", 3, MONDAY + DAY)
    book = Gradebook(book.engine, book.rules)  # another run
    saw(book, "ax.1", Arrived(MONDAY + 3 * DAY, "moodle"))
    (grade,) = book.grades("ada")
    assert (str(grade.points), grade.lateness.arrived) == ("1", MONDAY)
    assert fell(book) == [("numbers", "2.7", "1")]
    last = list(book.history("ada"))[-1]
    assert (last.kind, last.old_points, last.new_points) == ("arrived", 3, 1)
    assert (
        "another submission counts: arrived 2026-11-02 12:00 UTC, by Moodle's worksheet"
        in last.text
    )


def test_downloads_in_any_order_count_by_their_own_times_where_nothing_else_is_known(books):
    for order in ("ab", "ba", "aba", "bab"):
        book = books()
        for sha in order:
            fetched = Arrived(fetched=MONDAY if sha == "a" else MONDAY + DAY)
            hand_in(book, sha, 1 if sha == "a" else 2, fetched)
        assert points(book) == {"numbers": "2"}


def test_what_is_known_later_counts_and_a_rerun_writes_nothing(books):
    book = books()
    hand_in(book, "a", 3, Arrived(fetched=MONDAY + 9 * DAY))
    (grade,) = book.grades("ada")
    assert (grade.arrival_unknown, str(grade.points)) == (True, "3")
    for _ in range(2):
        saw(book, "ax.1", Arrived(MONDAY + DAY, "moodle"), "the worksheet came")
    (grade,) = book.grades("ada")
    assert (grade.late_reason, str(grade.points)) == ("1 day late: -10 %", "2.7")
    assert len(list(book.history())) == 2
    ((_, _, _, _, _, why),) = book.points_lost
    assert why == "in time -> 1 day late: -10 %"


def test_a_mistaken_arrival_is_corrected_only_on_request(books):
    book = books()
    hand_in(book, "a", 3, MONDAY)
    right = Arrived(MONDAY + DAY, "--submitted")
    saw(book, "ax.1", right)
    assert points(book) == {"numbers": "3"}
    saw(book, "ax.1", right, anew=True)
    assert points(book) == {"numbers": "2.7"}


# Marks of lateness.


def test_a_late_mark_without_a_time_costs_what_the_course_says_and_is_shown(books):
    marked = Arrived(how="canvas", late=True, fetched=MONDAY - DAY)
    for mark, reason, left in (
        (0, "late (marked by Canvas)", "3"),
        (20, "late (marked by Canvas): -20 %", "2.4"),
    ):
        book = books(mark_percent=Decimal(mark))
        hand_in(book, "a", 3, marked)
        (grade,) = book.grades("ada")
        assert (grade.late_reason, str(grade.points), grade.is_late) == (reason, left, True)
        set_time(book, "ada", None, "prof", "ill", days=2)  # the instructor has decided
        (grade,) = book.grades("ada")
        assert (grade.late_reason, str(grade.points), grade.is_late) == ("", "3", False)


def test_where_a_time_is_known_it_decides_and_no_mark(books):
    book = books(mark_percent=Decimal(20))
    hand_in(book, "a", 3, Arrived(MONDAY, "moodle", late=True))
    (grade,) = book.grades("ada")
    assert (grade.late_reason, str(grade.points)) == ("", "3")


# What the summary says.


def lines(found):
    return [str(one) for one in found]


def test_the_summary_lists_late_learners_and_counts_unknown_times(books):
    book = books(mark_percent=Decimal(20))
    for student, arrived in {
        "ada": Arrived(MONDAY, "roster"),
        "bob": Arrived(MONDAY + DAY, "roster"),
        "eve": Arrived(how="canvas", late=True),
        "zoe": Arrived(fetched=MONDAY),
    }.items():
        save(book, [result(student, points=(3, 0))], arrived, "me")
    save(book, [result("nil", points=(0, 0), sha256="", verdict="missing")], None, "me")
    assert lines(views.arrivals(list(book.grades()))) == [
        "arrived: 1 in time, 2 late, 1 at an unknown time, which count as in time.",
        "  bob  numbers  1 day late: -10 %, 3 -> 2.7",
        "  eve  numbers  late (marked by Canvas): -20 %, 3 -> 2.4",
        "  Only the time of their download or clone is known. Give the times of arrival with "
        "--submitted.",
    ]


def test_without_due_dates_and_marks_nothing_is_said_of_lateness(books):
    book = books(due={})
    hand_in(book, "a", 3)
    assert lines(views.arrivals(list(book.grades()))) == []
    hand_in(book, "b", 3, Arrived(how="canvas", late=True))
    assert lines(views.arrivals(list(book.grades())))[0] == "arrived: 0 in time, 1 late."


def test_grades_that_fell_are_reported_with_names_and_why(books):
    book = books()
    hand_in(book, "a", 3, MONDAY)
    hand_in(book, "b", 1, MONDAY + DAY)
    assert list(views.points_lost(book.points_lost)) == [
        "1 grade fell:",
        "  ada (Ada L.)  numbers  3 -> 0.9  (another submission counts: arrived 2026-11-03 12:00 "
        "UTC, by Moodle's worksheet; in time -> 1 day late: -10 %)",
    ]


# No grade falls in any order of runs over pieces of a class.


class Killed(Exception):
    """A run was ended in the middle of a transaction."""


def history(chance):
    """Submissions of one learner, as (file, beside, points, verdict, Arrived): a file has one
    arrival for each time that it was handed in, and earns less beside fewer lessons.
    """
    found, files = [], {}
    for number in range(chance.randint(2, 6)):
        sha = chance.choice("abcdef")
        earned, verdict = files.setdefault(
            sha, (chance.choice([0, 1, 2, 3]), chance.choice(["failed"] * 4 + ["stub"]))
        )
        when = MONDAY + chance.choice([-2, -1, 1, 2, 3]) * DAY + timedelta(seconds=number)
        arrived = chance.choice(
            [
                Arrived(when, "gradescope"),
                Arrived(when, "moodle", fetched=when + 9 * DAY),
                Arrived(how="canvas", late=when > MONDAY, fetched=when + 9 * DAY),
                Arrived(fetched=when + 9 * DAY),
            ]
        )
        if verdict == "stub":
            earned = 0
        beside = chance.choice(["all", "some"])
        if chance.random() < 0.2:
            sha, beside, earned, verdict, arrived = "", f"n{number}", 0, "missing", Arrived()
        found.append((sha, beside, max(0, earned - (beside == "some")), verdict, arrived))
    return found


def expected(done, policy):
    """The points that count of these submissions, by the words of the policy, another way than in
    the gradebook; None without any.
    """
    work = [one for one in done if one[3] == "failed"]
    if not work:
        return Decimal(0) if done else None
    found = []
    for sha in {one[0] for one in work}:
        same = [one for one in work if one[0] == sha]
        times = [one[4].when for one in same if one[4].when]
        marks = [one[4].late for one in same]
        fetched = min([one[4].fetched for one in same if one[4].fetched], default=None)
        days = max(0, (min(times) - MONDAY - timedelta(minutes=15)) // DAY + 1) if times else 0
        marked = not times and False not in marks and True in marks
        cost = 20 if marked else min(50, 10 * days)
        earned = Decimal(max(one[2] for one in same) * (100 - cost)) / 100
        place = max(times) if times else fetched
        found.append((place, fetched or place, not days and not marked, earned))
    found.sort(key=lambda one: one[:2])
    in_time = [one for one in found if one[2]]
    if policy == "best":
        return max(one[3] for one in found)
    if policy == "last-on-time":
        return in_time[-1][3] if in_time else found[0][3]
    return found[-1][3]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_no_grade_falls_in_any_order_of_runs_but_as_the_policy_says(
    books, monkeypatch, policy, seed
):
    """Random submissions, in runs over pieces in any order and again, some of them killed. After
    each run the grade follows from the policy and everything graded so far. It fell only if a newer
    submission of the lesson counts (or under last-on-time another one in time, or an earlier late
    one), or if more is known about the arrival of the same file; and then it is reported.
    """
    chance = random.Random(f"{policy} {seed}")
    pieces = history(chance)
    runs = pieces + [chance.choice(pieces) for _ in range(chance.randint(1, 4))]
    chance.shuffle(runs)
    book, done = books(policy, mark_percent=Decimal(20)), []
    real = result_store._entry
    for piece in runs:
        sha, beside, earned, verdict, arrived = piece
        one = result(points=(earned, 0), sha256=sha * 64, key=f"{sha}{beside}.1", verdict=verdict)
        before = next(iter(book.grades("ada")), None) if done else None
        told = Gradebook(book.engine, book.rules)
        if killed := chance.random() < 0.2:

            def kill(*args):
                raise Killed

            monkeypatch.setattr(result_store, "_entry", kill)
        try:
            if one.key in told.graded()[1].get("ada", {}).get("numbers", ()):
                saw(told, one.key, arrived)
            else:
                save(told, [one], arrived, "me")
        except Killed:
            assert killed
        else:
            done.append(piece)
        monkeypatch.setattr(result_store, "_entry", real)
        now = next(iter(book.grades("ada")), None) if done else None
        if not now:
            continue
        assert now.points == expected(done, policy), (policy, done)
        fallen = bool(before and now.points < before.points)
        assert bool(told.points_lost) == fallen
        if not fallen:
            continue
        (fall,) = told.points_lost
        assert (fall.old, fall.new, fall.lesson) == (before.points, now.points, "numbers")
        assert now.row.is_work and sha
        if now.result.sha256 == before.result.sha256:
            assert now.lateness.percent > before.lateness.percent
        elif sha * 64 != before.result.sha256:  # nothing new is known of what counted before
            assert policy != "best" and sha * 64 == now.result.sha256
    final = [one for one in pieces if one in done]
    assert not final or points(book) == {"numbers": str(expected(final, policy).normalize() + 0)}


# A class from folders to grades, with a judge that only reads: each `double` that is right earns 3.

RIGHT = NUMBERS
HALF = NUMBERS.replace("    return double(x) + x\n", "    return x\n")


@pytest.fixture
def graded(small_course, tmp_path, monkeypatch):
    """graded(folder, ...): {learner: {lesson: points}} after a run over a folder; the judge gives
    2 points for each exercise that is as in the course, none for others.
    """
    solutions = {entry.name: entry.declared.exercises for entry in small_course.lessons}

    def judge(worker, arrival, known):
        grade.judged += 1
        submission = open_submission(arrival, small_course.lessons)
        results = []
        for entry in small_course.lessons:
            file = submission.files.get(entry.name)
            one = LessonResult(arrival.student, entry.name, entry.number, entry.name, 4)
            one.verdict = "missing" if not submission.problem else "unreadable"
            if file:
                right = [
                    file.source and each.cell.source in file.text for each in solutions[entry.name]
                ]
                one.points, one.verdict = 2 * sum(map(bool, right)), "failed"
                one.verdict = one.verdict if count_written(entry, file) else "stub"
                one.sha256, one.entry = file.sha256, file.entry
            one.key, one.notes = f"{one.sha256}{one.verdict}.1", submission.notes
            is_known = one.key in known.get(entry.name, ())
            results.append(
                Unchanged(entry.name, one.key, one.entry, one.sha256) if is_known else one
            )
        return results

    monkeypatch.setattr(workers.Worker, "grade", judge)
    setting = Setting(small_course.path, ("numbers", "sums"), "process")

    def grade(folder, policy="latest", roster=None, **submitted):
        rules = replace(RULES, policy=policy)
        with open_gradebook(tmp_path / "class.db", rules) as book:
            options = run.RunOptions(roster=roster, submitted=Submitted(**submitted))
            args = (setting, small_course.lessons, folder, book, options)
            submissions, progress = run.grade_class(*args)
            students = [one.student for one in submissions]
            standing = list(book.grades_of(students, setting.lessons))
            grade.fell, grade.standing = list(book.points_lost), standing
            grade.others = [str(line) for line in views.others_count(standing, progress.files)]
            return {
                learner.student: {one.lesson: int(one.points) for one in found}
                for learner, found in book.by_learner()
            }

    grade.judged = 0
    return grade


def put(path, text, when=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    for one in (path, path.parent) if when else ():
        os.utime(one, (when.timestamp(),) * 2)


ADA = [Learner("ada", "Ada Lovelace", columns={"id": "1001", "moodle_id": "20001"})]


def test_a_second_batch_without_a_lesson_takes_no_grade_away(graded, tmp_path):
    put(tmp_path / "A" / "ada" / "numbers_dev.py", RIGHT, MONDAY)
    put(tmp_path / "B" / "ada" / "sums_dev.py", SUMS, MONDAY + DAY)
    assert graded(tmp_path / "A", roster=ADA) == {"ada": {"numbers": 4, "sums": 0}}
    for folder in "BAB":
        assert graded(tmp_path / folder, roster=ADA) == {"ada": {"numbers": 4, "sums": 2}}
        assert not graded.fell


def test_a_lesson_as_it_was_released_takes_no_grade_away(graded, tmp_path, small_course):
    """Who works on two machines hands in a workspace whose other lessons are as released."""
    stub = small_course.lesson("numbers").declared.released
    put(tmp_path / "A" / "ada" / "numbers_dev.py", RIGHT, MONDAY)
    put(tmp_path / "A" / "ada-2" / "numbers_dev.py", stub, MONDAY + DAY)
    put(tmp_path / "A" / "ada-2" / "sums_dev.py", SUMS, MONDAY + DAY)
    put(tmp_path / "B" / "ada" / "numbers_dev.py", stub, MONDAY + 2 * DAY)
    for folder in "ABA":
        assert graded(tmp_path / folder, roster=ADA) == {"ada": {"numbers": 4, "sums": 2}}
    assert "the latest in which an exercise is written" in " ".join(graded.standing[0].result.notes)


@pytest.mark.parametrize("roster", [ADA, None])
def test_what_was_typed_into_moodle_never_hides_the_file(graded, tmp_path, roster):
    name = "Ada Lovelace_20001_assignsubmission"
    put(tmp_path / "A" / f"{name}_file" / "numbers_dev.py", RIGHT, MONDAY)
    put(tmp_path / "A" / f"{name}_onlinetext" / "onlinetext.html", "<p>Done</p>", MONDAY + DAY)
    ((_, grades),) = graded(tmp_path / "A", roster=roster).items()
    assert grades["numbers"] == 4


@pytest.mark.parametrize(("policy", "numbers"), [("latest", 2), ("best", 4), ("last-on-time", 4)])
def test_every_entry_in_one_folder_counts_as_the_policy_says(graded, tmp_path, policy, numbers):
    put(tmp_path / "A" / "lovelaceada_1001_5551_numbers_dev.py", RIGHT, MONDAY)
    put(tmp_path / "A" / "lovelaceada_LATE_1001_5559_numbers_dev-1.py", HALF, MONDAY + DAY)
    put(tmp_path / "A" / "lovelaceada_1001_5552_sums_dev.py", SUMS, MONDAY)
    for _ in range(2):
        assert graded(tmp_path / "A", policy, ADA) == {"ada": {"numbers": numbers, "sums": 2}}
        assert not graded.fell
        assert graded.judged == (1 if policy == "latest" else 3), "once for each round"
    late = [grade for grade in graded.standing if grade.is_late]
    assert [grade.late_reason for grade in late] == ["late (marked by Canvas)"] * (
        policy == "latest"
    )


def test_a_file_whose_place_another_takes_is_named(graded, tmp_path):
    """Of downloads without times, the same file is as old as it was when it was first seen."""
    for number, text in enumerate((RIGHT, HALF, RIGHT)):
        put(tmp_path / f"{number}" / "ada" / "numbers_dev.py", text, MONDAY + number * DAY)
    for number, earned in ((0, 4), (1, 2)):
        assert graded(tmp_path / f"{number}")["ada"]["numbers"] == earned
        assert graded.others == []
    assert graded(tmp_path / "2")["ada"]["numbers"] == 2 and not graded.fell
    assert graded.others == [
        "1 file of these submissions does not count, since another one of that lesson does: ada "
        "numbers. See: tito gradebook show --student ID"
    ]


def test_a_clone_is_not_late_by_the_time_of_its_clone(graded, tmp_path):
    put(tmp_path / "clones" / "ada" / "numbers_dev.py", RIGHT, MONDAY + 9 * DAY)
    assert graded(tmp_path / "clones")["ada"]["numbers"] == 4
    (numbers,) = (grade for grade in graded.standing if grade.row.is_work)
    assert numbers.arrival_unknown and numbers.arrival() == "arrived at an unknown time"
    assert graded(tmp_path / "clones", time=MONDAY + 9 * DAY)["ada"]["numbers"] == 2
    assert [str(fall.new) for fall in graded.fell] == ["2"]


@pytest.mark.parametrize("seed", range(3))
def test_pieces_of_a_class_in_any_order_give_what_the_whole_gives(graded, tmp_path, seed):
    """Three learners, each with some files in some of four folders; folders in any order, some
    again. No grade falls but to a newer file of that lesson.
    """
    chance = random.Random(seed)
    roster = [Learner(name) for name in ("ada", "bob", "eve")]
    newest = {}
    for number in range(4):
        for learner in roster:
            for lesson, texts in (("numbers", (RIGHT, HALF)), ("sums", (SUMS,))):
                if chance.random() < 0.5:
                    text = chance.choice(texts) + f"# {number}\n"
                    place = tmp_path / str(number) / learner.student / f"{lesson}_dev.py"
                    put(place, text, MONDAY + number * DAY)
                    points = 4 if text.startswith(RIGHT) else 2
                    newest[learner.student, lesson] = points
        (tmp_path / str(number)).mkdir(exist_ok=True)
        put(tmp_path / str(number) / "zoe" / "sums_dev.py", SUMS, MONDAY)
    folders = chance.sample(range(4), 4)
    for number in [*folders, *chance.choices(folders, k=2)]:
        found = graded(tmp_path / str(number), roster=roster)
        assert all((fall.old, fall.new) == (4, 2) for fall in graded.fell)
    for learner in roster:
        for lesson in ("numbers", "sums"):
            assert found[learner.student][lesson] == newest.get((learner.student, lesson), 0)
