"""Times by the clock of a zone, which goes back an hour in autumn: two instants have one reading then.

All numbers are microseconds: since 1970 in UTC for an instant, since 1970 by the clock for a reading.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

SECOND = 1_000_000
DAY = 86_400 * SECOND
_EPOCH = datetime(1970, 1, 1)
_STEP = timedelta(minutes=15)
_STEPS = range(13)
"""Three hours: no clock of the tz database has gone back by more since 1970, but for changes of a whole day."""
_FIRST, _LAST = datetime(1, 1, 3), datetime(9999, 12, 29)
"""Near the ends of the calendar, a reading is taken for UTC."""


def lowest_reading(instant: int, zone: str) -> int:
    """Return a reading that no later instant falls below: a clock that goes back shows times again.

    Examples:
        >>> one = 1_792_890_000 * SECOND  # 2026-10-25 01:00 in UTC, where Berlin's clock goes back from 3 to 2
        >>> lowest_reading(one - 60 * SECOND, "Europe/Berlin") == one - 60 * SECOND + 3_600 * SECOND
        True
    """
    return instant + min(_offsets(instant, zone, 1))


def highest_reading(instant: int, zone: str) -> int:
    """Return a reading that no earlier instant exceeds."""
    return instant + max(_offsets(instant, zone, -1))


def earliest_instant(reading: int, zone: str) -> int:
    """Return the earliest instant at which a clock shows a reading; a reading that a clock skips is taken the same way."""
    shown = _EPOCH + timedelta(microseconds=reading)
    if not _FIRST < shown < _LAST:
        return reading
    return min(_micros(shown.replace(tzinfo=ZoneInfo(zone), fold=fold)) for fold in (0, 1))


def _offsets(instant: int, zone: str, direction: int) -> list[int]:
    shown = _EPOCH + timedelta(microseconds=instant)
    if not _FIRST < shown < _LAST:
        return [0]
    times = (shown.replace(tzinfo=UTC) + direction * step * _STEP for step in _STEPS)
    return [_length(time.astimezone(ZoneInfo(zone)).utcoffset() or timedelta()) for time in times]


def micros(time: datetime) -> int:
    """Return the microseconds from 1970 to a time.

    Args:
        time: with its zone.

    Examples:
        >>> micros(datetime(1970, 1, 2, tzinfo=UTC)) == DAY
        True
    """
    return _micros(time)


@lru_cache(maxsize=1024)
def time_of(instant: int) -> datetime:
    """Return an instant as a time in UTC."""
    return (_EPOCH + timedelta(microseconds=instant)).replace(tzinfo=UTC)


def _micros(time: datetime) -> int:
    return _length(time.astimezone(UTC).replace(tzinfo=None) - _EPOCH)


def _length(span: timedelta) -> int:
    return (span.days * 86_400 + span.seconds) * SECOND + span.microseconds
