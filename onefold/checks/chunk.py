"""The next chunk of a table: a range of its key that holds about as many rows as were asked for."""

from __future__ import annotations

from typing import Literal

import pymysql

from onefold.checks.request import CheckedTable, ComparedColumn
from onefold.extract.key_ranges import DIGEST_DIGITS
from onefold.extract.plan import KeyRange
from onefold.mysql.connection import query, quoted
from onefold.mysql.grants import table_sql
from onefold.mysql.snapshot.table_size import table_size
from onefold.mysql.table import INTEGERS
from onefold.schema.types import STRING, Scalar

_DIGESTS = 16**DIGEST_DIGITS
_TEXTS = ("char", "varchar", "enum", "set")
_BYTES = ("binary", "varbinary")


def next_chunk(connection: pymysql.Connection, table: CheckedTable, after: int | None) -> KeyRange:
    """Return the chunk that begins where the last one ended.

    A table whose key begins with a whole number is read by that number; one that has a text or bytes in its key, by their
    digests, which are spread evenly; any other table is one chunk.

    Args:
        connection: to the source.
        table: the table.
        after: the end of the last chunk; None to begin with the first one.
    """
    chunk = first_chunk(table)
    if chunk.column is None:
        return chunk
    high = _next_digest(connection, table, after) if chunk.digest else _next_number(connection, table, chunk.column, after)
    return KeyRange(chunk.column, after, high, chunk.digest)


def first_chunk(table: CheckedTable) -> KeyRange:
    """Return the chunk of all rows: its column, and whether the column's digest is used."""
    key = table.structure.primary_key
    # A hash does not sort like the value at the source: the type of a hashed column is none of those below.
    by_name = {column.name: column for column in table.landed_structure.columns}
    if key and by_name[key[0]].type.name in INTEGERS and table.column(key[0]):
        return KeyRange(key[0])
    for name in key:
        shown = table.column(name)
        if shown and (digest := _digest(by_name[name].type.name, shown)):
            return KeyRange(name, digest=digest)
    return KeyRange()


def _digest(source_type: str, column: ComparedColumn) -> Literal["", "text", "bytes"]:
    """Return the form of a digest that is the same on both sides; empty where there is none."""
    if source_type in _TEXTS and column.shown.type == STRING:
        return "text"
    return "bytes" if source_type in _BYTES and column.shown.type == Scalar("BYTES") else ""


def _next_number(connection: pymysql.Connection, table: CheckedTable, column: str, after: int | None) -> int | None:
    key, name = quoted(column), table_sql(table.name)
    since = "TRUE" if after is None else f"{key} >= {after}"
    found = query(connection, f"SELECT {key} FROM {name} WHERE {since} ORDER BY {key} LIMIT 1 OFFSET {table.request.rows}")
    if not found:
        return None
    ((first,),) = query(connection, f"SELECT MIN({key}) FROM {name} WHERE {since}")
    if found[0][0] > first:
        return int(found[0][0])
    # One value has more rows than a chunk, which is as large as that then.
    ((later,),) = query(connection, f"SELECT MIN({key}) FROM {name} WHERE {key} > {int(first)}")
    return None if later is None else int(later)


def _next_digest(connection: pymysql.Connection, table: CheckedTable, after: int | None) -> int | None:
    chunks = max(-(-table_size(connection, table.name).rows // table.request.rows), 1)
    high = (after or 0) + max(_DIGESTS // chunks, 1)
    return None if high >= _DIGESTS else high
