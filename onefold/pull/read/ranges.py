"""The range of a pull, from the window that was asked for and what the log of loads knows."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from onefold.batches.source_arguments import Window
from onefold.pull.read.clock import earliest_instant
from onefold.pull.read.plan import LoadState
from onefold.pull.read.table_settings import overlap_of
from onefold.pull.read.watermark import PullRange, Watermark
from onefold.settings.sources import TableLoad

_EPOCH = date(1970, 1, 1)
_LOWEST_KEY = -(1 << 63)


def day_of(at: datetime, zone: str) -> date:
    """Return the day of a time by a zone's clock."""
    return at.astimezone(ZoneInfo(zone)).date()


def pull_range(
    window: Window, load: TableLoad, watermark: Watermark, state: LoadState, at: datetime, high: int | None
) -> PullRange:
    """Return the range of an incremental table whose structure was loaded before.

    Args:
        window: what was asked for.
        load: the settings of the table.
        watermark: its watermark.
        state: what the log of loads knows.
        at: the time of the request.
        high: the border that the source told.
    """
    if window == "full" or state.watermark is None:
        return whole_range(window, watermark, at, high, load.reload_days, state)
    low = state.watermark - overlap_of(watermark, load)
    if window != "day":
        key_days = () if watermark.is_time else _all_keys(at, watermark)
        return PullRange(window, low, high, with_missing=False, key_days=key_days)
    days = days_to_replace(state, at, watermark.day_zone, load.reload_days)
    if not watermark.is_time:
        return _key_range(state, low, high, days, day_of(at, watermark.day_zone))
    midnight = (days[0] - _EPOCH) // timedelta(microseconds=1)
    return PullRange(window, earliest_instant(midnight, watermark.day_zone), high, days=days)


def whole_range(
    window: Window, watermark: Watermark | None, at: datetime, high: int | None, reload_days: int = 1,
    state: LoadState | None = None,
) -> PullRange:  # fmt: skip
    """Return the range of all rows; a key lies in the day of the request. A daily load replaces its days all the same.

    Args:
        window: what was asked for.
        watermark: that of the table; None for a table that is loaded full.
        at: the time of the request.
        high: the border that the source told.
        reload_days: how many days a daily load replaces at least.
        state: what the log of loads knows; nothing by default.
    """
    if watermark is None:
        return PullRange(window, None, high)
    days = days_to_replace(state or LoadState(), at, watermark.day_zone, reload_days) if window == "day" else ()
    return PullRange(window, None, high, days=days, key_days=() if watermark.is_time else _all_keys(at, watermark))


def days_to_replace(state: LoadState, at: datetime, zone: str, least: int) -> tuple[date, ...]:
    """Return the days that a daily load replaces: from the first one that no complete daily load has replaced.

    So a daily load that failed is made up for by the next one.

    Args:
        state: what the log of loads knows.
        at: the time of the request.
        zone: the zone of the days.
        least: the days before the present one that are replaced in any case.

    Examples:
        >>> from datetime import UTC
        >>> day = lambda number: datetime(2026, 5, number, 4, tzinfo=UTC)
        >>> state = LoadState(whole_at=day(1), covered=frozenset({date(2026, 5, 1), date(2026, 5, 3)}))
        >>> [found.day for found in days_to_replace(state, day(5), "UTC", 1)]
        [2, 3, 4]
    """
    today = day_of(at, zone)
    first = day_of(state.whole_at, zone) if state.whole_at else today
    missed = (first + timedelta(days=number) for number in range((today - first).days))
    begin = next((day for day in missed if day not in state.covered), today)
    begin = min(begin, today - timedelta(days=least))
    return tuple(begin + timedelta(days=number) for number in range((today - begin).days))


def _all_keys(at: datetime, watermark: Watermark) -> tuple[tuple[int, date], ...]:
    return ((_LOWEST_KEY, day_of(at, watermark.day_zone)),)


def _key_range(state: LoadState, low: int, high: int | None, days: tuple[date, ...], today: date) -> PullRange:
    """Return the range of a key: a day has the keys that were loaded on it, and later keys are today's."""
    known = sorted((first, last, day) for day, first, last in state.keys_of_days if day in days)
    if not known:
        return PullRange("day", low, high, days=days, key_days=((_LOWEST_KEY, today),))
    firsts = tuple((first, day) for first, _, day in known)
    behind = max(last for _, last, _ in known) + 1
    return PullRange("day", known[0][0], high, days=days, key_days=(*firsts, (behind, today)))
