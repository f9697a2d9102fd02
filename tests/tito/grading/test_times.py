"""Times as systems and people write them, and days of the calendar."""

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tito.grading.gradebook.late import Extension, lateness
from tito.grading.times import MissingZone, days_later, instant, parse_time

BERLIN = ZoneInfo("Europe/Berlin")
EVENING = datetime(2026, 12, 1, 21, 15, tzinfo=timezone.utc)  # 22:15 in Berlin
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia")


@pytest.mark.parametrize(
    "text",
    [
        "Tuesday, 1 December 2026, 10:15 PM",
        "Tuesday, December 1, 2026, 10:15\u202fPM",
        "Dienstag, 1. Dezember 2026, 22:15",
        "mardi 1 décembre 2026, 22:15",
        "martes, 1 de diciembre de 2026, 22:15",
        "Dec 1, 2026 10:15 PM",
        "1 December 2026 10:15 p. m.",
        "1 déc. 2026 22h15",
        "1 dicembre 2026 22.15",
        "01.12.2026, 22:15",
        "2026/12/1 10:15 PM",
        "2026年12月1日(火) 22:15",
        "2026-12-01 22:15",
        "2026-12-01T21:15:00Z",
        "2026-12-01 21:15:00 UTC",
        "2026-12-01T16:15:00-05:00",
    ],
)
def test_times_are_read_as_systems_write_them(text):
    assert parse_time(text, BERLIN) == EVENING


@pytest.mark.parametrize(
    "names",
    [
        "January February March April May June July August September October November December",
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
        "dicembre",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "januari februari maart april mei juni juli augustus september oktober november december",
        "januari februari mars april maj juni juli augusti september oktober november december",
        "januar februar marts april maj juni juli august september oktober november december",
        "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października "
        "listopada grudnia",
        "ledna února března dubna května června července srpna září října listopadu prosince",
        "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    ],
)
def test_each_month_is_read_in_many_languages(names):
    for number, name in enumerate(names.split(), 1):
        assert parse_time(f"3 {name} 2026, 10:00", timezone.utc).month == number


def test_noon_midnight_and_summer_time():
    assert parse_time("Monday, 6 July 2026, 12:05 AM", BERLIN).isoformat() == (
        "2026-07-05T22:05:00+00:00"
    )
    assert parse_time("Monday, 6 July 2026, 12:05 PM", timezone.utc).hour == 12


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "",
        "1 Brumaire 2026, 10:00",
        "1/2/2026 10:00",  # January or February
        "13.13.2026 10:00",
        "1 jui 2026, 10:00",  # June or July
        "Tuesday, 31 June 2026, 10:00 AM",
        "Tuesday, 1 June 2026, 13:00 PM",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:00-12:00",
    ],
)
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError):
        parse_time(text, BERLIN)


def test_a_time_without_a_zone_is_refused_where_none_is_named():
    with pytest.raises(MissingZone):
        parse_time("Tuesday, 1 December 2026, 10:15 PM")


@pytest.mark.parametrize(
    ("due", "arrived", "days"),
    [  # the clocks go back on 25 October, forward on 28 March
        ("2026-10-24 20:00", "2026-10-25 19:59", 1),
        ("2026-10-24 20:00", "2026-10-25 20:00", 1),
        ("2026-10-24 20:00", "2026-10-25 20:01", 2),
        ("2026-10-24 20:00", "2026-10-30 20:01", 7),
        ("2027-03-27 20:00", "2027-03-28 20:00", 1),
        ("2027-03-27 20:00", "2027-03-28 20:59", 2),
        ("2026-10-24 02:30", "2026-10-25T02:30+01:00", 1),  # 02:30 is there twice: the second
        ("2026-10-24 02:30", "2026-10-25T02:31+01:00", 2),
        ("2026-10-25T02:30+02:00", "2026-10-25T02:10+01:00", 1),  # 40 minutes later
        ("2027-03-27 02:30", "2027-03-28 03:30", 1),  # 02:30 is not there
        ("2027-03-27 02:30", "2027-03-28 03:31", 2),
    ],
)
def test_a_day_late_is_a_day_of_the_calendar(due, arrived, days):
    due = parse_time(due, BERLIN, latest=True).astimezone(BERLIN)
    assert lateness(parse_time(arrived, BERLIN), due) == days
    # and with so many days more, it is in time; with one less, a day late
    assert lateness(parse_time(arrived, BERLIN), due, Extension(days=days)) == 0
    if days > 1:
        assert lateness(parse_time(arrived, BERLIN), due, Extension(days=days - 1)) == 1


def test_the_grace_is_of_minutes_that_pass_also_when_the_clocks_change():
    due = parse_time("2026-10-25T02:50+02:00").astimezone(BERLIN)
    grace = timedelta(minutes=15)
    assert lateness(parse_time("2026-10-25T02:05+01:00"), due, grace=grace) == 0
    assert lateness(parse_time("2026-10-25T02:06+01:00"), due, grace=grace) == 1


times = st.datetimes(datetime(1995, 1, 1), datetime(2035, 1, 1))


@given(due=times, hours=st.integers(-100, 24 * 400), zone=st.sampled_from(ZONES))
def test_lateness_grows_with_time_and_each_day_ends_at_the_clock_time_of_the_due_date(
    due, hours, zone
):
    zone = ZoneInfo(zone)
    due = instant(due, zone, latest=True).astimezone(zone)
    arrived = due.astimezone(timezone.utc) + timedelta(hours=hours)
    days = lateness(arrived, due)
    assert days <= lateness(arrived + timedelta(minutes=1), due)
    end = days_later(due, days)
    assert lateness(end, due) <= days and arrived.timestamp() <= end.timestamp()
    clock = due.replace(tzinfo=None) + timedelta(days=days)
    assert abs(end.replace(tzinfo=None) - clock) <= timedelta(days=1)  # Apia had no 30.12.2011
    if instant(clock, zone, True).astimezone(zone).replace(tzinfo=None) == clock.replace(fold=0):
        assert end.replace(tzinfo=None, fold=0) == clock.replace(fold=0)
