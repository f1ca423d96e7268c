"""Watermarks and days, without a server: clocks that go back, rounding, and the order of days."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefold.pull.read.clock import DAY, SECOND, earliest_instant, highest_reading, lowest_reading, micros
from onefold.pull.read.days import date_day, row_day
from onefold.pull.read.plan import LoadState
from onefold.pull.read.ranges import pull_range
from onefold.pull.read.rows import watermark_section
from onefold.pull.read.watermark import NO_DAY, PullRange, Watermark, next_watermark
from onefold.settings.sources import TableLoad, WatermarkColumn

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Havana")
BERLIN = Watermark("at", "datetime", 6, "Europe/Berlin")
FALLS_BACK = micros(datetime(2026, 10, 25, 1, tzinfo=UTC))
EPOCH = datetime(1970, 1, 1)


def shown(instant: int, zone: str) -> int:
    """The reading of a clock, by the tz database."""
    time = (EPOCH + timedelta(microseconds=instant)).replace(tzinfo=UTC).astimezone(ZoneInfo(zone))
    return (time.replace(tzinfo=None) - EPOCH) // timedelta(microseconds=1)


instants = st.one_of(
    st.integers(micros(datetime(1980, 1, 1, tzinfo=UTC)), micros(datetime(2037, 1, 1, tzinfo=UTC))),
    st.integers(FALLS_BACK - 4 * 3600 * SECOND, FALLS_BACK + 4 * 3600 * SECOND),
)


@given(st.sampled_from(ZONES), instants, st.integers(0, 30 * DAY))
def test_no_later_row_is_below_the_lowest_reading(zone: str, instant: int, later: int) -> None:
    assert lowest_reading(instant, zone) <= shown(instant + later, zone)
    assert highest_reading(instant, zone) >= shown(instant - later, zone)


@given(st.sampled_from(ZONES), instants)
def test_the_instant_of_a_reading_is_not_later_than_any_that_shows_it(zone: str, instant: int) -> None:
    assert earliest_instant(shown(instant, zone), zone) <= instant


@pytest.mark.parametrize("minutes", [-90, -59, -1, 0, 1, 30, 59, 61])
def test_a_row_written_after_the_watermark_is_read_in_the_hour_that_comes_twice(minutes: int) -> None:
    """The pull at 02:50 before the clock goes back must not hide rows of 02:05 after it."""
    watermark = FALLS_BACK + minutes * 60 * SECOND
    state = LoadState("v", watermark)
    load = TableLoad("incremental", WatermarkColumn("at"), timedelta(0))
    found = pull_range("15m", load, BERLIN, state, datetime(2026, 10, 25, 4, tzinfo=UTC), None)
    lowest = found.lowest(BERLIN)
    assert lowest is not None
    assert all(shown(watermark + step * 60 * SECOND, BERLIN.zone) >= lowest for step in range(24 * 60))


@pytest.mark.parametrize(
    ("watermark", "reading", "condition"),
    [
        (Watermark("a`b", "key"), -7, "`a``b` >= -7"),
        (Watermark("s", "unix_seconds"), 9, "`s` >= 9"),
        (Watermark("d", "date"), 3 * DAY + 1, "`d` >= '1970-01-04'"),
        (Watermark("d", "date"), -719162 * DAY, "`d` >= '0001-01-01'"),
        (Watermark("t", "datetime", 0), 1_999_999, "`t` >= '1970-01-01 00:00:01'"),
        (Watermark("t", "datetime", 3), 1_999_999, "`t` >= '1970-01-01 00:00:01.999'"),
        (Watermark("t", "timestamp", 6), 1_000_001, "`t` >= '1970-01-01 00:00:01.000001'"),
    ],
)
def test_a_bound_is_rounded_down_to_the_digits_of_the_column(watermark: Watermark, reading: int, condition: str) -> None:
    assert watermark.from_sql(reading) == condition


def test_rows_without_a_watermark_come_with_daily_loads_only() -> None:
    load, at = TableLoad("incremental", WatermarkColumn("at")), datetime(2026, 5, 4, 4, tzinfo=UTC)
    state = LoadState("v", micros(at))
    often, daily = (pull_range(window, load, BERLIN, state, at, None) for window in ("15m", "day"))
    assert "IS NULL" not in often.condition(BERLIN)
    assert daily.condition(BERLIN).startswith(
        "(`at` >= '2026-05-03 00:00:00.000000' OR (`at` IS NULL OR `at` < '0001-01-01'))"
    )
    assert PullRange("full").condition(BERLIN) == "TRUE"


@pytest.mark.parametrize(
    ("zone", "at", "day"),
    [("UTC", 4, 3), ("Asia/Tokyo", 14, 3), ("Asia/Tokyo", 15, 4), ("America/New_York", 3, 2), ("America/New_York", 4, 3)],
)
def test_the_day_before_is_that_of_the_source(zone: str, at: int, day: int) -> None:
    state, load = LoadState("v", 0), TableLoad("incremental", WatermarkColumn("at"), reload_days=2)
    mark = Watermark("at", "datetime", 6, zone)
    found = pull_range("day", load, mark, state, datetime(2026, 5, 4, at, tzinfo=UTC), None)
    assert found.days == (date(2026, 5, day - 1), date(2026, 5, day))


def test_a_day_of_keys_is_read_from_its_first_key_and_later_keys_are_of_today() -> None:
    days = (date(2026, 5, 2), 1, 90), (date(2026, 5, 3), 100, 200), (date(2026, 5, 4), 201, 300)
    state, at = LoadState("v", 300, keys_of_days=days), datetime(2026, 5, 4, 4, tzinfo=UTC)
    mark = Watermark("id", "key")
    found = pull_range("day", TableLoad("incremental", WatermarkColumn("id")), mark, state, at, 300)
    assert (found.lowest(mark), found.days) == (100, (date(2026, 5, 3),))
    assert [row_day("key", key, None, found.key_days).day for key in (100, 200, 201, 999)] == [3, 3, 4, 4]


def test_a_day_without_keys_is_covered_and_has_no_key() -> None:
    state, at = LoadState("v", 300), datetime(2026, 5, 4, 4, tzinfo=UTC)
    load = TableLoad("incremental", WatermarkColumn("id"), 50)
    found = pull_range("day", load, Watermark("id", "key"), state, at, 300)
    assert (found.low, found.days) == (250, (date(2026, 5, 3),))
    assert row_day("key", 280, None, found.key_days) == date(2026, 5, 4)


@pytest.mark.parametrize(
    ("high", "greatest", "previous", "expected"),
    [
        (10, 5, 3, 5),
        (10, 12, 3, 10),
        (2, 5, 3, 2),
        (10, None, 3, 3),
        (2, None, 3, 2),
        (None, None, None, None),
        (9, None, None, None),
    ],
)
def test_the_next_watermark_is_the_lesser_of_border_and_rows(
    high: int | None, greatest: int | None, previous: int | None, expected: int | None
) -> None:
    assert next_watermark(high, greatest, previous) == expected


DATES = st.tuples(st.integers(0, 9999), st.integers(0, 12), st.integers(0, 31)).map(
    lambda d: f"{d[0]:04}-{d[1]:02}-{d[2]:02}"
)


@given(DATES, DATES)
def test_days_never_fall_while_dates_rise_as_mysql_orders_them(one: str, other: str) -> None:
    low, high = sorted((one, other))
    assert date_day(low) <= date_day(high)


@given(st.dates())
def test_a_valid_date_is_its_own_day(day: date) -> None:
    assert date_day(day.isoformat()) == day
    assert row_day("date", None, None) == NO_DAY


@given(st.one_of(st.none(), st.integers(-(2**63), 2**64 - 1)), st.integers(-(2**63), 2**64 - 1))
def test_sections_sort_like_watermarks(one: int | None, other: int) -> None:
    sections = [int(watermark_section(value), 16) for value in (one, other)]
    low = -(2**63) - 1 if one is None else one
    assert (sections[0] < sections[1]) == (low < other) or (sections[0] == sections[1] and low <= other)
