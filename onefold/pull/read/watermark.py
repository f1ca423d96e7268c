"""Watermarks: what a pull reads, and how far the next one may rely on it.

A watermark is a whole number: microseconds since 1970 in UTC for a time, the key itself for a key. A column shows it in its
own form, as a reading: DATETIME and DATE by the clock of the source's zone, which goes back an hour in autumn.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from onefold.batches.source_arguments import Window
from onefold.mysql.connection import quoted
from onefold.pull.read.clock import DAY, SECOND, earliest_instant, highest_reading, lowest_reading

Kind = Literal["timestamp", "datetime", "date", "unix_seconds", "key"]

NO_DAY, LAST_DAY = date(1, 1, 1), date(9999, 12, 31)
"""The day of rows without a watermark, and the last one of BigQuery."""
_EPOCH = datetime(1970, 1, 1)
_CLOCKS = ("datetime", "date")
_FIRST = (datetime(1, 1, 1) - _EPOCH) // timedelta(microseconds=1)


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

    @property
    def day_zone(self) -> str:
        """The zone whose midnight begins a day of the column."""
        return self.zone if self.kind in _CLOCKS else "UTC"

    @property
    def sql(self) -> str:
        """SQL for the reading: microseconds by the column's clock, seconds, or the key."""
        column = quoted(self.column)
        if self.kind in ("key", "unix_seconds"):
            return f"CAST({column} AS CHAR)"
        return f"TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {column})"

    @property
    def day_sql(self) -> str:
        """SQL for the date that the column shows; NULL for numbers."""
        return (
            "CAST(NULL AS CHAR)"
            if self.kind in ("key", "unix_seconds")
            else f"LEFT(CAST({quoted(self.column)} AS CHAR), 10)"
        )

    @property
    def missing_sql(self) -> str:
        """A condition of SQL for rows without a watermark. An index serves it."""
        column = quoted(self.column)
        if self.kind in ("key", "unix_seconds"):
            return f"{column} IS NULL"
        zero = f"{column} = '0000-00-00 00:00:00'" if self.kind == "timestamp" else f"{column} < '0001-01-01'"
        return f"({column} IS NULL OR {zero})"

    def from_sql(self, reading: int) -> str:
        """Return a condition of SQL for rows from a reading on, which is rounded down to the digits of the column."""
        return f"{quoted(self.column)} >= {self.literal(reading)}"

    def literal(self, reading: int) -> str:
        """Return a reading as the column shows it, rounded down to its digits: a number, or a text in quotes."""
        if self.kind in ("key", "unix_seconds"):
            return str(reading)
        shown = _EPOCH + timedelta(microseconds=max(reading, _FIRST))
        if self.kind == "date":
            return f"'{shown.date().isoformat()}'"
        fraction = f"{shown.microsecond:06}"[: self.digits]
        return f"'{shown.date().isoformat()} {shown:%H:%M:%S}{f'.{fraction}' if fraction else ''}'"

    def lowest(self, value: int) -> int:
        """Return a reading that no row from this watermark on falls below."""
        if self.kind == "unix_seconds":
            return value // SECOND
        return lowest_reading(value, self.zone) if self.kind in _CLOCKS else value

    def highest(self, value: int) -> int:
        """Return the greatest reading that a row up to this watermark may have."""
        if self.kind == "unix_seconds":
            return value // SECOND
        return highest_reading(value, self.zone) if self.kind in _CLOCKS else value

    def value(self, reading: int) -> int:
        """Return the watermark of a reading: the earliest, where a clock shows it twice."""
        if self.kind == "unix_seconds":
            return reading * SECOND
        return earliest_instant(reading, self.zone) if self.kind in _CLOCKS else reading


@dataclass(frozen=True)
class PullRange:
    """The rows that a pull reads: there is no upper end, so that no row between two pulls is missed.

    Attributes:
        window: `15m`, `day`, `full`, or `dq` for a chunk of a check.
        low: the lowest watermark, which is part of the range, less the overlap; None for all rows.
        high: the border, which the source told before the first range was read: its time, or its greatest key. Rows above
            it are read and loaded, and the next watermark is not above it. None without a watermark, or for an empty table.
        with_missing: whether rows without a watermark are read.
        days: the days that a daily load replaces, in order; empty for other windows. No row is of a day before them, but for
            `NO_DAY`, unless all rows are read.
        key_days: for a key watermark, the first key of each day, in order: a key lies in the day of the last entry that is
            not above it, and in the first entry's day where all are above it.
    """

    window: Window
    low: int | None = None
    high: int | None = None
    with_missing: bool = True
    days: tuple[date, ...] = ()
    key_days: tuple[tuple[int, date], ...] = ()

    def lowest(self, watermark: Watermark) -> int | None:
        """Return the lowest reading of the range; None for all rows. A daily load begins at midnight by the clock."""
        if self.low is not None and self.days and watermark.kind in ("timestamp", *_CLOCKS):
            return (self.days[0] - _EPOCH.date()).days * DAY
        return None if self.low is None else watermark.lowest(self.low)

    def condition(self, watermark: Watermark) -> str:
        """Return the condition of SQL for the rows of the range.

        Examples:
            >>> PullRange("15m", low=7, with_missing=False).condition(Watermark("id", "key"))
            '`id` >= 7'
        """
        lowest = self.lowest(watermark)
        if lowest is None:
            return "TRUE"
        rows = watermark.from_sql(lowest)
        return f"({rows} OR {watermark.missing_sql})" if self.with_missing else rows


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
