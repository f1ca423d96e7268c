"""The day of a row, `_day`: it never falls while the watermark rises, so that a range of watermarks is a range of days."""

from __future__ import annotations

from bisect import bisect_right
from calendar import monthrange
from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache

from onefold.pull.read.watermark import LAST_DAY, NO_DAY, Kind

_EPOCH = date(1970, 1, 1)
_DAY_SECONDS = 86_400


def row_day(kind: Kind, reading: int | None, shown: str | None, key_days: Sequence[tuple[int, date]] = ()) -> date:
    """Return the day of a row.

    Args:
        kind: the form of the watermark.
        reading: the watermark as a number; None where there is none.
        shown: the date that a time column shows, which may be invalid; None for numbers.
        key_days: the first key of each day, as `PullRange` has them.

    Examples:
        >>> row_day("datetime", None, None) == NO_DAY, row_day("key", 7, None, [(1, date(2026, 5, 3))]).isoformat()
        (True, '2026-05-03')
    """
    if kind == "key":
        return NO_DAY if reading is None else key_day(reading, key_days)
    if kind == "unix_seconds":
        return NO_DAY if reading is None else _clamped(reading // _DAY_SECONDS)
    return NO_DAY if shown is None else date_day(shown)


def key_day(key: int, key_days: Sequence[tuple[int, date]]) -> date:
    """Return the day of the last entry that is not above a key; of the first entry, where all are above it."""
    at = bisect_right(key_days, key, key=lambda entry: entry[0])
    return key_days[max(at - 1, 0)][1]


@lru_cache(maxsize=4096)
def date_day(shown: str) -> date:
    """Return the greatest day up to a date that may be invalid: MySQL keeps 2020-00-10 and 2020-02-30 in this order.

    Examples:
        >>> [str(date_day(text)) for text in ("2020-00-10", "2020-03-00", "2020-02-30", "0000-00-00")]
        ['2019-12-31', '2020-02-29', '2020-02-29', '0001-01-01']
    """
    year, month, day = (int(part) for part in shown.split("-"))
    if year == 0 or (year, min(month, day)) == (1, 0):
        return NO_DAY if (year, month) < (1, 2) else date(year, month, 1) - timedelta(days=1)
    if month == 0:
        return date(year, 1, 1) - timedelta(days=1)
    if day == 0:
        return date(year, month, 1) - timedelta(days=1)
    return date(year, month, min(day, monthrange(year, month)[1]))


def _clamped(days: int) -> date:
    first, last = (NO_DAY - _EPOCH).days, (LAST_DAY - _EPOCH).days
    return _EPOCH + timedelta(days=min(max(days, first), last))
