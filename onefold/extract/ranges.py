"""The range of a pull, from the window that was asked for and what the log of loads knows."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from onefold.extract.clock import earliest_instant
from onefold.extract.plan import LoadState
from onefold.extract.table_settings import overlap_of
from onefold.extract.watermark import PullRange, Watermark, Window
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
        return whole_range(window, watermark, at, high, load.reload_days)
    low = state.watermark - overlap_of(watermark, load)
    days = _days(at, watermark.day_zone, load.reload_days) if window == "day" else ()
    if watermark.is_time:
        return _time_range(window, watermark, low, high, days)
    return _key_range(window, state, low, high, days, day_of(at, watermark.zone))


def whole_range(
    window: Window, watermark: Watermark | None, at: datetime, high: int | None, reload_days: int = 1
) -> PullRange:
    """Return the range of all rows; a key lies in the day of the request. A daily load replaces its days all the same.

    Args:
        window: what was asked for.
        watermark: that of the table; None for a table that is loaded full.
        at: the time of the request.
        high: the border that the source told.
        reload_days: how many days a daily load replaces.
    """
    if watermark is None:
        return PullRange(window, None, high)
    if not watermark.is_time:
        return PullRange(window, None, high, key_days=((_LOWEST_KEY, day_of(at, watermark.zone)),))
    return PullRange(window, None, high, days=_days(at, watermark.day_zone, reload_days) if window == "day" else ())


def _time_range(window: Window, watermark: Watermark, low: int, high: int | None, days: tuple[date, ...]) -> PullRange:
    if not days:
        return PullRange(window, low, high, with_missing=False)
    midnight = (days[0] - _EPOCH) // timedelta(microseconds=1)
    return PullRange(window, earliest_instant(midnight, watermark.day_zone), high, days=days)


def _key_range(
    window: Window, state: LoadState, low: int, high: int | None, days: tuple[date, ...], today: date
) -> PullRange:
    """Return the range of a key: a day has the keys that were loaded on it, and later keys are today's."""
    known = sorted((first, last, day) for day, first, last in state.keys_of_days if day in days)
    if not known:
        return PullRange(window, low, high, with_missing=False, key_days=((_LOWEST_KEY, today),))
    firsts = tuple((first, day) for first, _, day in known)
    behind = max(last for _, last, _ in known) + 1
    found = tuple(day for _, _, day in known)
    return PullRange(window, known[0][0], high, days=tuple(sorted(found)), key_days=(*firsts, (behind, today)))


def _days(at: datetime, zone: str, number: int) -> tuple[date, ...]:
    today = day_of(at, zone)
    return tuple(today - timedelta(days=back) for back in range(number, 0, -1))
