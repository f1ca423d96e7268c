"""Tables whose greatest key has fallen: the newest rows were deleted, or the table was truncated or made anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pymysql

from onefold.mysql.catalog import ColumnRow, TableName
from onefold.mysql.connection import query
from onefold.pull.read.clock import SECOND, micros
from onefold.pull.read.plan import LoadState
from onefold.pull.read.watermark import Watermark

# MySQL would show a counter that is up to a day old; MariaDB, which shows the present one, takes the comment for one.
# "The INFORMATION_SCHEMA TABLES Table", https://dev.mysql.com/doc/refman/8.4/en/information-schema-tables-table.html
_FRESH = "SET sql_mode = '' /*!80000 , information_schema_stats_expiry = 0 */"
_TABLE = """
SELECT AUTO_INCREMENT, CAST(CREATE_TIME AS CHAR) FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s
"""


@dataclass(frozen=True)
class TableCounter:
    """What the source says about a table.

    Attributes:
        counter: the next key that it gives; None where it gives none, and for an empty table of MySQL.
        created: when the table was created, as the server shows it; None where it does not.
    """

    counter: int | None
    created: str | None


def source_table(connection: pymysql.Connection, name: TableName) -> TableCounter:
    """Return what the source says about a table.

    Args:
        connection: to the source, whose session has the time zone UTC.
        name: the table.
    """
    query(connection, _FRESH)
    ((counter, created),) = query(connection, _TABLE, (name.database, name.table)) or ((None, None),)
    return TableCounter(None if counter is None else int(counter), created)


def is_truncated(
    source: TableCounter,
    rows: Sequence[ColumnRow],
    watermark: Watermark | None,
    high: int | None,
    state: LoadState,
) -> bool:
    """Return whether a table with a key watermark was truncated or made anew since the last load.

    Then rows with keys below the watermark are new ones. The greatest key falls, too, where the newest rows are deleted. A
    pull that saw a truncation may have failed, and the greatest key may have risen since: that is in the log.

    Args:
        source: what the source says about the table.
        rows: its columns as the source describes them.
        watermark: its watermark.
        high: the greatest key now; None for an empty table.
        state: what the log of loads knows.
    """
    if watermark is None or state.truncated:
        return watermark is not None
    if watermark.is_time or state.watermark_column not in (None, watermark.column):
        return False
    if state.watermark is None or (high is not None and high >= state.watermark):
        return False
    counts = any(row.is_auto_increment and row.column == watermark.column for row in rows)
    return starts_again(source.counter if counts else None, source.created, state.watermark, state.read_at, state.created)


def starts_again(
    counter: int | None, created: str | None, watermark: int, read_at: int | None, before: str | None = None
) -> bool:
    """Return whether keys are given anew, where the greatest one has fallen.

    TRUNCATE sets the counter back and leaves the time of creation; a deletion leaves both. A key without a counter does not
    tell one from the other: then the table is read whole, which costs a read and never loses a row.

    Args:
        counter: the next key that the server gives; None where it gives none, and for an empty table of MySQL.
        created: when the table was created, as the server shows it.
        watermark: the greatest key that was loaded.
        read_at: the source's time before the last load; None where it is unknown.
        before: when the table of the last load was created, as the server showed it; None where it is unknown.

    Examples:
        >>> noon = 43_200 * SECOND
        >>> [starts_again(10, text, 9, noon) for text in ("1970-01-01 11:00:00", "1970-01-01 13:00:00")]
        [False, True]
        >>> starts_again(4, "1970-01-01 11:00:00", 9, noon), starts_again(None, None, 9, noon)
        (True, True)
        >>> starts_again(10, "1970-01-01 11:00:00", 9, noon, before="1970-01-01 10:00:00")
        True
    """
    if counter is None or counter <= watermark:
        return True
    if created is None or read_at is None:
        return False
    if before is not None and created != before:
        return True
    # The server shows whole seconds.
    return micros(datetime.fromisoformat(created).replace(tzinfo=UTC)) + SECOND > read_at
