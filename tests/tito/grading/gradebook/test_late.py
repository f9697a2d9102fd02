"""Late rules: what `tito.toml` may say, and the arithmetic, calculated by hand."""

from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest

from tito.errors import TitoError
from tito.grading.gradebook import late
from tito.grading.gradebook.late import Extension, Rules, lateness, penalised, percent, reason
from tito.lesson import course

DUE = datetime(2026, 12, 1, 23, 59, tzinfo=timezone(timedelta(hours=1)))
MINUTE = timedelta(minutes=1)


def rules(root, text):
    """The rules of a course whose tito.toml ends with `text`."""
    path = root.path / "tito.toml"
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")
    return late.read(course.open_root(root.path))


def test_without_rules_nothing_is_late(small_course):
    found = late.read(small_course)
    assert (
        found == Rules()
        and percent(lateness(DUE + 99 * MINUTE, found.due.get("numbers")), found) == 0
    )


def test_the_rules_are_read_from_tito_toml(small_course):
    found = rules(
        small_course,
        "[grading]\ngrace_minutes = 15\npercent_per_day = 12.5\nat_most_percent = 50\n"
        "[grading.due]\nnumbers = 2026-12-01T23:59:00+01:00\n02_sums = 2026-12-08T12:00:00Z\n",
    )
    assert found == Rules(
        timedelta(minutes=15),
        Decimal("12.5"),
        Decimal(50),
        {"numbers": DUE, "sums": datetime(2026, 12, 8, 12, tzinfo=timezone.utc)},
    )


@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        (
            "[grading.due]\nnubers = 2026-12-01T23:59:00Z",
            "the lesson 'nubers'",
            "Did you mean 'numbers'?",
        ),
        ("[grading.due]\nnumbers = 2026-12-01T23:59:00", "no time with a time zone", "+01:00"),
        ("[grading.due]\nnumbers = 2026-12-01", "no time with a time zone", "+01:00"),
        ("[grading.due]\nnumbers = 0001-01-01T00:00:00+14:00", "no time with a time", "+01:00"),
        ("[grading.due]\nnumbers = 'soon'", "numbers is soon", "+01:00"),
        (
            "[grading.due]\nnumbers = 2026-12-01T23:59:00Z\n1 = 2026-12-01T23:59:00Z",
            "the lesson numbers twice",
            "Keep one",
        ),
        ("[grading]\npercent_per_day = -1", "percent_per_day is -1", "between 0"),
        ("[grading]\ngrace_minutes = -5", "grace_minutes is -5", "between 0"),
        ("[grading]\ngrace_minutes = nan", "grace_minutes is", "between 0"),
        ("[grading]\ngrace_minutes = inf", "grace_minutes is", "between 0"),
        ("[grading]\ngrace_minutes = true", "grace_minutes is True", "between 0"),
        ("[grading]\npercent_per_day = '10 %'", "percent_per_day is '10 %'", "between 0"),
        ("[grading]\nat_most_percent = 101", "at_most_percent is 101", "between 0 and 100"),
        (
            "[grading]\npercent_per_days = 10",
            "'percent_per_days', which means nothing",
            "Did you mean 'percent_per_day'?",
        ),
        ("[grading]\ndue = 3", "due is 3", "[grading.due]"),
        ("[grading]\nmark_percent = 101", "mark_percent is 101", "between 0 and 100"),
        ("[grading]\nmark_percent = 'much'", "mark_percent is 'much'", "between 0"),
        ("[grading]\nzone = 'Berlin'", "zone is 'Berlin'", "Europe/Berlin"),
        ("[grading]\nzone = 1", "zone is 1", "+01:00"),
        ("[grading]\npolicy = 'first'", "policy is 'first'", "latest, best, last-on-time"),
    ],
)
def test_a_mistake_in_the_rules_is_named_with_its_value(small_course, text, what, remedy):
    with pytest.raises(TitoError) as caught:
        rules(small_course, text)
    assert (
        what in caught.value.what
        and remedy in caught.value.remedy
        and str(small_course.path / "tito.toml") in caught.value.what
    )


@pytest.mark.parametrize(
    ("after_due", "days"),
    [
        (-timedelta(days=30), 0),
        (timedelta(), 0),
        (15 * MINUTE, 0),
        (15 * MINUTE + timedelta(microseconds=1), 1),
        (15 * MINUTE + timedelta(days=1), 1),
        (16 * MINUTE + timedelta(days=1), 2),
        (timedelta(days=10), 10),
    ],
)
def test_each_started_day_after_the_grace_counts(after_due, days):
    assert lateness(DUE + after_due, DUE, grace=15 * MINUTE) == days


def test_late_marks_the_zone_and_the_policy_are_read(small_course):
    found = rules(
        small_course,
        "[grading]\nmark_percent = 12.5\nzone = '+01:00'\npolicy = 'best'\ncheck_seconds = 5\n",
    )
    assert (found.mark_percent, found.policy) == (Decimal("12.5"), "best")
    assert found.zone.utcoffset(None) == timedelta(hours=1)
    assert (Rules().mark_percent, Rules().policy) == (0, "latest")


def test_a_due_date_without_a_zone_is_in_that_of_the_course(small_course):
    found = rules(
        small_course,
        "[grading]\nzone = 'Europe/Berlin'\n[grading.due]\nnumbers = 2026-10-24T20:00:00\n"
        "sums = 2026-10-24T18:00:00Z\n",
    )
    assert found.due["numbers"] == found.due["sums"]
    assert {f"{due:%H:%M %Z}" for due in found.due.values()} == {"20:00 CEST"}
    sunday = datetime(2026, 10, 25, 18, 59, tzinfo=timezone.utc)  # 19:59
    assert lateness(sunday, found.due["sums"]) == 1


def test_without_a_zone_a_day_is_24_hours():
    due = datetime.fromisoformat("2026-10-24T20:00:00+02:00")
    assert lateness(datetime(2026, 10, 25, 18, 59, tzinfo=timezone.utc), due) == 2


def test_time_zones_do_not_matter():
    assert lateness(datetime(2026, 12, 1, 22, 59, tzinfo=timezone.utc), DUE) == 0
    assert lateness(datetime(2026, 12, 1, 23, 0, tzinfo=timezone.utc), DUE) == 1


def test_an_unknown_time_costs_nothing():
    assert lateness(None, DUE) == 0 and lateness(DUE, None) == 0


def test_an_extension_moves_the_due_date_and_never_to_an_earlier_one():
    arrived = DUE + timedelta(days=2)
    assert lateness(arrived, DUE, Extension(days=2)) == 0
    assert lateness(arrived, DUE, Extension(days=1)) == 1
    assert lateness(arrived, DUE, Extension(until=arrived)) == 0
    assert lateness(arrived, DUE, Extension(until=DUE - timedelta(days=9))) == 2


@pytest.mark.parametrize(
    ("points", "days", "left"),
    [
        (10, 0, "10"),
        (10, 1, "8.75"),
        (10, 4, "5"),
        (10, 5, "5"),
        (7, 3, "4.38"),
        (1, 1, "0.88"),
        (0, 2, "0"),
    ],
)
def test_lateness_takes_its_percent_and_rounds_a_half_upward(points, days, left):
    # by hand: 7 x 0.625 = 4.375, 1 x 0.875 = 0.875
    found = penalised(
        points, percent(days, Rules(percent_per_day=Decimal("12.5"), at_most_percent=Decimal(50)))
    )
    assert str(found) == left


def test_a_tenth_is_a_tenth():
    # 0.3 * 0.9 in binary is less
    assert penalised(late.exact("0.3"), Decimal(10)) == Decimal("0.27")


def test_the_reason_says_how_late_and_what_that_costs():
    assert reason(2, Decimal(20)) == "2 days late: -20 %"
    assert reason(1, Decimal("12.5")) == "1 day late: -12.5 %"
    assert reason(3, Decimal(0)) == "3 days late" and reason(0, Decimal(0)) == ""


@pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", "1e999999999", "ten", "", None, "1,5"])
def test_what_is_no_number_of_points_is_refused(text):
    with pytest.raises(ValueError):
        late.exact(text)
