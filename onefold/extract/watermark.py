"""Watermarks: what a pull reads, and how far the next one may rely on it.

A watermark is a whole number: microseconds since 1970 in UTC for a time, the key itself for a key. A column shows it in its
own form: DATETIME and DATE by the clock of the source's zone, which goes back an hour in autumn.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

Kind = Literal["timestamp", "datetime", "date", "unix_seconds", "key"]
Window = Literal["15m", "day", "full"]

NO_DAY = date(1, 1, 1)
"""The day of rows without a watermark."""


@dataclass(frozen=True)
class Watermark:
    """The watermark column of a table, with what its type says about it.

    Attributes:
        column: the name at the source.
        kind: the form of the column's values.
        digits: the digits of fractions of a second that the column holds.
        zone: the zone of DATETIME and DATE.
    """

    column: str
    kind: Kind
    digits: int = 0
    zone: str = "UTC"

    @property
    def is_time(self) -> bool:
        """Whether the source's time is the border, and not its greatest key."""
        return self.kind != "key"


@dataclass(frozen=True)
class PullRange:
    """The rows that a pull reads: there is no upper end, so that no row between two pulls is missed.

    Attributes:
        window: `15m`, `day` or `full`.
        low: the lowest watermark, which is part of the range, less the overlap; None for all rows.
        high: the border, which the source told before the first range was read: its time, or its greatest key. Rows above
            it are read and loaded, and the next watermark is not above it. None without a watermark, or for an empty table.
        with_missing: whether rows without a watermark are read.
        days: the days that a daily load replaces, in order; empty for other windows.
        key_days: for a key watermark, the first key of each day, in order: a key lies in the day of the last entry that is
            not above it, and in the first entry's day where all are above it.
    """

    window: Window
    low: int | None = None
    high: int | None = None
    with_missing: bool = True
    days: tuple[date, ...] = ()
    key_days: tuple[tuple[int, date], ...] = ()


def next_watermark(high: int | None, greatest: int | None, previous: int | None = None) -> int | None:
    """Return the watermark from which the next pull reads.

    Args:
        high: the source's time or its greatest key, asked before the first range was read.
        greatest: the greatest watermark of the loaded rows; None where no row has one.
        previous: the watermark before this pull; None for a first pull.

    Examples:
        >>> next_watermark(high=10, greatest=2099), next_watermark(high=10, greatest=None, previous=7)
        (10, 7)
    """
    known = greatest if greatest is not None else previous
    return known if high is None or known is None else min(high, known)
