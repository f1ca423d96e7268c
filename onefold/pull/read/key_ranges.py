"""The key ranges in which a large table is read, by the first column of its primary key."""

from __future__ import annotations

import pymysql

from onefold.mysql.catalog import TableName
from onefold.mysql.connection import query, quoted
from onefold.mysql.grants import table_sql
from onefold.mysql.snapshot.table_size import table_size
from onefold.mysql.table import INTEGERS, Structure
from onefold.pull.read.plan import KeyRange
from onefold.pull.read.table_settings import find_column

PART_ROWS = 250_000
"""A range that was read is not read again after a kill, and a second of reading is some 25,000 rows."""
MAX_PARTS = 256
DIGEST_DIGITS = 4
"""Hexadecimal digits of a digest that bounds are compared with."""
# Not MD5, which MySQL 9.6 does not have any more.
_DIGESTS = {
    "": "{}",
    # CHAR, ENUM and SET as they land: without the spaces that fill them up.
    "text": f"LEFT(SHA2(CONVERT(CAST({{}} AS CHAR) USING utf8mb4), 256), {DIGEST_DIGITS})",
    # Of ZEROFILL without its zeros, which a calculation leaves out.
    "number": f"LEFT(SHA2(CONVERT(CAST({{}} + 0 AS CHAR) USING utf8mb4), 256), {DIGEST_DIGITS})",
    "bytes": f"LEFT(SHA2(CAST({{}} AS BINARY), 256), {DIGEST_DIGITS})",
}


def key_ranges(
    connection: pymysql.Connection, name: TableName, structure: Structure, part_rows: int
) -> tuple[KeyRange, ...]:
    """Return the ranges of a table: one for a small table, and for a key whose first column is no whole number.

    Args:
        connection: to the source.
        name: the table.
        structure: its structure.
        part_rows: the rows of a range, as far as keys are evenly distributed.
    """
    column = find_column(structure, structure.primary_key[0]) if structure.primary_key else None
    parts = -(-table_size(connection, name).rows // part_rows)
    if column is None or column.type.name not in INTEGERS or parts < 2:
        return (KeyRange(),)
    key = quoted(column.name)
    ((low, high),) = query(connection, f"SELECT MIN({key}), MAX({key}) FROM {table_sql(name)}")
    return (KeyRange(),) if low is None else split(column.name, int(low), int(high), min(parts, MAX_PARTS))


def split(column: str, low: int, high: int, parts: int) -> tuple[KeyRange, ...]:
    """Return ranges of equal width; the first has no lower bound and the last no upper one: rows appear while it is read.

    Args:
        column: the key's first column.
        low: its least value.
        high: its greatest value.
        parts: the most ranges.

    Examples:
        >>> [(one.low, one.high) for one in split("id", 1, 10, 3)]
        [(None, 4), (4, 7), (7, None)]
    """
    bounds = sorted({low + (high - low) * number // parts for number in range(1, parts)} - {low})
    return tuple(KeyRange(column, *ends) for ends in zip([None, *bounds], [*bounds, None], strict=True))


def range_condition(part: KeyRange) -> str:
    """Return the condition of SQL for the rows of a range.

    Examples:
        >>> range_condition(KeyRange("id", 4, 7))
        '`id` >= 4 AND `id` < 7'
    """
    if part.column is None:
        return "TRUE"
    key = _DIGESTS[part.digest].format(quoted(part.column))
    ends = ((">=", part.low), ("<", part.high))
    bounds = [f"{key} {sign} {bound_literal(part, bound)}" for sign, bound in ends if bound is not None]
    return " AND ".join(bounds) or "TRUE"


def bound_literal(part: KeyRange, bound: int) -> str:
    """Return a bound of a range as a literal of SQL.

    Examples:
        >>> bound_literal(KeyRange("id"), 10), bound_literal(KeyRange("code", digest="text"), 10)
        ('10', "'000a'")
    """
    return f"'{bound:0{DIGEST_DIGITS}x}'" if part.digest else str(bound)
