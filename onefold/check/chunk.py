"""The next chunk of a table: a range of its key that holds about as many rows as were asked for."""

from __future__ import annotations

import pymysql

from onefold.check.join import NUMBERS
from onefold.check.request import CheckedTable, ComparedColumn
from onefold.mysql.connection import query, quoted
from onefold.mysql.grants import table_sql
from onefold.mysql.snapshot.table_size import table_size
from onefold.mysql.table import INTEGERS
from onefold.pull.read.key_ranges import DIGEST_DIGITS
from onefold.pull.read.plan import Digest, KeyRange
from onefold.schema.types import STRING, Scalar

GRID = 1 << 10
"""The least distance of two bounds of chunks of a number whose values are not shown: no bound tells a key."""

_DIGESTS = 16**DIGEST_DIGITS
_TEXTS = ("char", "varchar", "enum", "set")
_BYTES = ("binary", "varbinary")


def next_chunk(connection: pymysql.Connection, table: CheckedTable, after: int | None) -> KeyRange:
    """Return the chunk that begins where the last one ended.

    A table whose key begins with a whole number is read by that number: up to a value of a row where the policy of the
    column is `clear`, else up to a number of a grid. One that has a text, bytes or another number in its key is read by
    their digests, which are spread evenly; any other table is one chunk.

    Args:
        connection: to the source.
        table: the table.
        after: the end of the last chunk; None to begin with the first one.
    """
    chunk = first_chunk(table)
    if chunk.column is None:
        return chunk
    if chunk.digest:
        high = _next_digest(connection, table, after)
    elif table.is_clear(chunk.column):
        high = _next_value(connection, table, chunk.column, after)
    else:
        high = _next_of_grid(connection, table, chunk.column, after)
    return KeyRange(chunk.column, after, high, chunk.digest)


def can_begin(table: CheckedTable, chunk: KeyRange, low: int) -> bool:
    """Return whether a chunk may begin where the last one ended: not at the value of a row that may not be shown any more.

    Args:
        table: the table.
        chunk: the chunk of all rows.
        low: the end of the last chunk.
    """
    return bool(chunk.digest) or chunk.column is None or table.is_clear(chunk.column) or low % GRID == 0


def first_chunk(table: CheckedTable) -> KeyRange:
    """Return the chunk of all rows: its column, and whether the column's digest is used."""
    key = table.structure.primary_key
    # A hash does not sort like the value at the source: the type of a hashed column is none of those below.
    by_name = {column.name: column for column in table.landed_structure.columns}
    # One number of a key of several columns may have any number of rows, so that it cannot be divided by a grid.
    is_number = bool(key) and by_name[key[0]].type.name in INTEGERS and table.column(key[0]) is not None
    if is_number and (len(key) == 1 or table.is_clear(key[0])):
        return KeyRange(key[0])
    for name in key:
        shown = table.column(name)
        if shown and (digest := _digest(by_name[name].type.name, shown)):
            return KeyRange(name, digest=digest)
    return KeyRange()


def _digest(source_type: str, column: ComparedColumn) -> Digest:
    """Return the form of a digest that is the same on both sides; empty where there is none."""
    if source_type in INTEGERS and column.shown.type in NUMBERS:
        return "number"
    if source_type in _TEXTS and column.shown.type == STRING:
        return "text"
    return "bytes" if source_type in _BYTES and column.shown.type == Scalar("BYTES") else ""


def _next_value(connection: pymysql.Connection, table: CheckedTable, column: str, after: int | None) -> int | None:
    """Return the value at which the next chunk ends; None for the last chunk."""
    found = _ends(connection, table, column, after)
    if found is None or found[1] > found[0]:
        return found and found[1]
    # One value has more rows than a chunk, which is as large as that then.
    return _least(connection, table, column, found[0] + 1)


def _next_of_grid(connection: pymysql.Connection, table: CheckedTable, column: str, after: int | None) -> int | None:
    """Return the number of the grid at which the next chunk ends; None for the last chunk."""
    found = _ends(connection, table, column, after)
    if found is None:
        return None
    if (high := grid_bound(*found)) is not None:
        return high
    high = (found[1] // GRID + 1) * GRID
    return None if _least(connection, table, column, high) is None else high


def grid_bound(low: int, high: int) -> int | None:
    """Return the number above `low`, and not above `high`, that the greatest power of two divides.

    None where there is no multiple of GRID.

    Examples:
        >>> grid_bound(1, 100_001), grid_bound(65_536, 165_536), grid_bound(-7, 7), grid_bound(1, 1_000)
        (65536, 131072, 0, None)
    """
    if low < 0 <= high:
        return 0
    step = GRID
    while high // (2 * step) * (2 * step) > low:
        step *= 2
    bound = high // step * step
    return bound if bound > low else None


def _ends(connection: pymysql.Connection, table: CheckedTable, column: str, after: int | None) -> tuple[int, int] | None:
    """Return the first value of the next chunk, and the one after as many rows as a chunk has; None of the last chunk."""
    key, name = quoted(column), table_sql(table.name)
    since = "TRUE" if after is None else f"{key} >= {after}"
    found = query(connection, f"SELECT {key} FROM {name} WHERE {since} ORDER BY {key} LIMIT 1 OFFSET {table.request.rows}")
    if not found:
        return None
    ((first,),) = query(connection, f"SELECT MIN({key}) FROM {name} WHERE {since}")
    return int(first), int(found[0][0])


def _least(connection: pymysql.Connection, table: CheckedTable, column: str, low: int) -> int | None:
    """Return the least value from `low` on; None where there is none."""
    key = quoted(column)
    ((least,),) = query(connection, f"SELECT MIN({key}) FROM {table_sql(table.name)} WHERE {key} >= {low}")
    return None if least is None else int(least)


def _next_digest(connection: pymysql.Connection, table: CheckedTable, after: int | None) -> int | None:
    chunks = max(-(-table_size(connection, table.name).rows // table.request.rows), 1)
    high = (after or 0) + max(_DIGESTS // chunks, 1)
    return None if high >= _DIGESTS else high
