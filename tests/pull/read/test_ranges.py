"""The rows and days of a pull, without a server: from the window and what the log of loads knows."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from onefold.batches.source_arguments import Window
from onefold.pull.read.days import date_day, key_day, row_day
from onefold.pull.read.plan import LoadState
from onefold.pull.read.ranges import days_to_replace, pull_range, whole_range
from onefold.pull.read.watermark import NO_DAY, PullRange, Watermark
from onefold.settings.sources import TableLoad, WatermarkColumn

DAY = 86_400_000_000
LOWEST = -(1 << 63)
KEY, DATED, BERLIN = Watermark("id", "key"), Watermark("at", "datetime"), Watermark("at", "datetime", 6, "Europe/Berlin")
AT = datetime(2026, 5, 5, 4, tzinfo=UTC)
# 23:00 in UTC is the next day in Berlin.
LATE = datetime(2026, 5, 4, 23, tzinfo=UTC)


def may(*days: int) -> tuple[date, ...]:
    return tuple(date(2026, 5, number) for number in days)


def load(overlap: timedelta | int, reload_days: int = 1) -> TableLoad:
    return TableLoad("incremental", WatermarkColumn("at"), overlap, reload_days=reload_days)


def known(**changes: object) -> LoadState:
    return LoadState(**{"version": "v", "watermark": 1000, "whole_at": AT - timedelta(days=3), **changes})  # type: ignore[arg-type]


def test_a_pull_reads_from_the_watermark_less_the_overlap() -> None:
    found = pull_range("15m", load(timedelta(microseconds=100)), DATED, known(), AT, 7)
    assert found == PullRange("15m", 900, 7, with_missing=False)
    assert pull_range("15m", load(30), KEY, known(), AT, 7) == PullRange(
        "15m", 970, 7, with_missing=False, key_days=((LOWEST, date(2026, 5, 5)),)
    )


@pytest.mark.parametrize("state", [LoadState(), known()], ids=["first", "asked"])
def test_a_first_pull_and_a_full_one_read_every_row(state: LoadState) -> None:
    window: Window = "full" if state.watermark else "15m"
    assert pull_range(window, load(5), DATED, state, AT, 7) == PullRange(window, None, 7)
    keys = ((LOWEST, date(2026, 5, 5)),)
    assert pull_range(window, load(5), KEY, state, AT, 7) == PullRange(window, None, 7, key_days=keys)


def test_a_table_without_a_watermark_is_read_whole_and_replaces_no_days() -> None:
    assert whole_range("day", None, AT, 9, 2, known()) == PullRange("day", None, 9)


def test_a_first_daily_load_reads_every_row_and_replaces_the_days_before() -> None:
    assert pull_range("day", load(5, 2), DATED, LoadState(), AT, 7) == PullRange("day", None, 7, days=may(3, 4))
    assert whole_range("day", DATED, AT, 7) == PullRange("day", None, 7, days=may(4))
    found = pull_range("day", load(5, 2), KEY, LoadState(), AT, 7)
    assert found == PullRange("day", None, 7, days=may(3, 4), key_days=((LOWEST, date(2026, 5, 5)),))


def test_a_daily_load_into_a_new_version_replaces_what_no_daily_load_has_covered() -> None:
    state = LoadState(whole_at=AT - timedelta(days=3), covered=frozenset(may(2)))
    assert pull_range("day", load(5), DATED, state, AT, 7) == PullRange("day", None, 7, days=may(3, 4))


def test_a_daily_load_reads_from_the_midnight_of_its_first_day_by_the_clock_of_the_source() -> None:
    state = known(covered=frozenset(may(2, 3)))
    midnight = (date(2026, 5, 4) - date(1970, 1, 1)).days * DAY
    assert pull_range("day", load(5), DATED, state, AT, 7) == PullRange("day", midnight, 7, days=may(4))
    # Berlin is two hours ahead of UTC in May.
    two_hours = timedelta(hours=2) // timedelta(microseconds=1)
    assert pull_range("day", load(5), BERLIN, state, AT, 7) == PullRange("day", midnight - two_hours, 7, days=may(4))


def test_the_days_of_keys_are_those_on_which_they_were_loaded_and_later_keys_are_of_today() -> None:
    loaded = ((date(2026, 5, 4), 31, 40), (date(2026, 5, 1), 1, 10), (date(2026, 5, 3), 21, 45))
    state = known(keys_of_days=loaded, covered=frozenset(may(2)))
    found = pull_range("day", load(5), KEY, state, AT, 99)
    assert found == PullRange(
        "day", 21, 99, days=may(3, 4), key_days=((21, date(2026, 5, 3)), (31, date(2026, 5, 4)), (46, date(2026, 5, 5)))
    )


def test_a_daily_load_of_days_without_keys_reads_from_the_watermark() -> None:
    state = known(keys_of_days=((date(2026, 4, 1), 1, 10),), covered=frozenset(may(2, 3)))
    found = pull_range("day", load(5), KEY, state, AT, 99)
    assert found == PullRange("day", 995, 99, days=may(4), key_days=((LOWEST, date(2026, 5, 5)),))


@pytest.mark.parametrize(
    ("covered", "least", "days"),
    [
        ((), 1, (2, 3, 4)),
        ((2,), 1, (3, 4)),
        ((2, 4), 1, (3, 4)),
        ((2, 3, 4), 1, (4,)),
        ((2, 3, 4), 3, (2, 3, 4)),
        ((3, 4), 1, (2, 3, 4)),
    ],
)
def test_every_day_that_no_daily_load_has_covered_is_replaced(
    covered: tuple[int, ...], least: int, days: tuple[int, ...]
) -> None:
    assert days_to_replace(known(covered=frozenset(may(*covered))), AT, "UTC", least) == may(*days)


def test_a_table_that_was_never_loaded_whole_has_no_days_to_make_up_for() -> None:
    assert days_to_replace(LoadState(), AT, "UTC", 2) == may(3, 4)


def test_days_are_those_of_the_zone() -> None:
    state = LoadState(whole_at=LATE)
    assert days_to_replace(state, AT + timedelta(days=1), "Europe/Berlin", 1) == may(5)
    assert days_to_replace(state, AT + timedelta(days=1), "UTC", 1) == may(4, 5)


@pytest.mark.parametrize(("key", "day"), [(-5, 1), (1, 1), (9, 1), (10, 2), (11, 2), (1 << 62, 2)])
def test_a_key_lies_in_the_day_of_the_last_entry_that_is_not_above_it(key: int, day: int) -> None:
    entries = [(1, date(2026, 5, 1)), (10, date(2026, 5, 2))]
    assert key_day(key, entries) == row_day("key", key, None, entries) == date(2026, 5, day)


@pytest.mark.parametrize(
    ("seconds", "day"),
    [
        (0, "1970-01-01"), (-1, "1969-12-31"), (86_399, "1970-01-01"), (86_400, "1970-01-02"), (10**12, "9999-12-31"),
        (-(10**12), "0001-01-01"), (253_402_300_799, "9999-12-31"), (253_402_300_800, "9999-12-31"),
        (253_402_214_399, "9999-12-30"), (-62_135_596_800, "0001-01-01"), (-62_135_510_400, "0001-01-02"),
    ],
)  # fmt: skip
def test_a_second_lies_in_its_day_of_utc_or_in_the_first_or_last_day_of_bigquery(seconds: int, day: str) -> None:
    assert row_day("unix_seconds", seconds, None) == date.fromisoformat(day)


@pytest.mark.parametrize("kind", ["key", "unix_seconds", "datetime", "timestamp", "date"])
def test_a_row_without_a_watermark_has_no_day(kind: str) -> None:
    assert row_day(kind, None, None, [(1, date(2026, 5, 1))]) == NO_DAY  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shown", "day"),
    [
        ("2026-05-05", "2026-05-05"), ("2026-00-10", "2025-12-31"), ("2026-03-00", "2026-02-28"),
        ("2024-02-30", "2024-02-29"), ("2026-04-31", "2026-04-30"), ("2026-00-00", "2025-12-31"),
        ("2026-12-31", "2026-12-31"), ("0000-00-00", "0001-01-01"), ("0000-05-05", "0001-01-01"),
        ("0001-00-05", "0001-01-01"), ("0001-01-00", "0001-01-01"), ("0001-02-00", "0001-01-31"),
        ("0001-01-01", "0001-01-01"), ("0002-00-05", "0001-12-31"), ("0002-01-00", "0001-12-31"),
        ("0001-02-30", "0001-02-28"),
    ],
)  # fmt: skip
def test_a_date_that_the_calendar_lacks_is_the_last_day_before_it(shown: str, day: str) -> None:
    assert date_day(shown) == date.fromisoformat(day)
    assert row_day("datetime", 5, shown) == row_day("date", 5, shown) == date.fromisoformat(day)
