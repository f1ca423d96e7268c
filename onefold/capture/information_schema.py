"""The structures of a server's present tables, from `information_schema`: the same values as the log gives."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pymysql

from onefold.capture.patterns import SYSTEM, Patterns
from onefold.capture.server import query
from onefold.capture.structure import INTEGERS, SourceColumn, SourceType, Structure, enum_size, set_size

# Not joined to each other: MariaDB compares each row of the one with each row of the other.
_TABLES = """
SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND {condition}
"""
_COLUMNS = """
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_OCTET_LENGTH,
  NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION, CHARACTER_SET_NAME, COLUMN_KEY
FROM information_schema.COLUMNS WHERE {condition}
ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION
"""
_KEYS = """
SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS
WHERE NON_UNIQUE = 0 AND {condition}
ORDER BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX
"""
_VALUE = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_ESCAPES = re.compile(r"''|\\(.)", re.DOTALL)
_ESCAPED = {"0": "\0", "n": "\n", "r": "\r", "t": "\t", "b": "\b", "Z": "\x1a"}
_STORED_AS = {"uuid": ("binary", 16), "inet6": ("binary", 16), "inet4": ("binary", 4)}
"""MariaDB's own types: its log has them as what they are stored as."""


@dataclass(frozen=True, order=True)
class TableName:
    database: str
    table: str

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"


@dataclass(frozen=True)
class _Row:
    """A row of `information_schema.COLUMNS`."""

    database: str
    table: str
    column: str
    data_type: str
    column_type: str
    octets: int | None
    precision: int | None
    scale: int | None
    fraction: int | None
    charset: str | None
    key: str


def structures(connection: pymysql.Connection, patterns: Patterns) -> dict[TableName, Structure]:
    """All tables that the patterns fit, views and sequences left out."""
    condition = f"TABLE_SCHEMA NOT IN ({', '.join(['%s'] * len(SYSTEM))})"
    found = _read(connection, condition, SYSTEM)
    return {name: structure for name, structure in found.items() if patterns.match(name.database, name.table)}


def structure_of(connection: pymysql.Connection, name: TableName) -> Structure | None:
    """One table. Within a transaction that has read it, nobody can alter it: so this fits what was read."""
    return _read(connection, "TABLE_SCHEMA = %s AND TABLE_NAME = %s", (name.database, name.table)).get(name)


def _read(connection: pymysql.Connection, condition: str, values: tuple[str, ...]) -> dict[TableName, Structure]:
    tables = set(query(connection, _TABLES.format(condition=condition), values))
    columns = query(connection, _COLUMNS.format(condition=condition), values)
    keys = query(connection, _KEYS.format(condition=condition), values)
    return structures_of((row for row in columns if row[:2] in tables), keys)


def structures_of(
    columns: Iterable[tuple[Any, ...]], keys: Iterable[tuple[str, str, str, str]]
) -> dict[TableName, Structure]:
    """From the rows of the two queries."""
    by_table: defaultdict[TableName, list[_Row]] = defaultdict(list)
    for row in (_Row(*values) for values in columns):
        by_table[TableName(row.database, row.table)].append(row)
    indexes: defaultdict[TableName, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for database, table, index, column in keys:
        indexes[TableName(database, table)][index].append(column)
    return {name: _structure(name.table, rows, indexes[name].values()) for name, rows in by_table.items()}


def _structure(table: str, rows: Sequence[_Row], indexes: Iterable[Sequence[str]]) -> Structure:
    """The key is the primary one, or the unique one that serves as such: the server marks the columns of either."""
    marked = {row.column for row in rows if row.key == "PRI"}
    key = next((index for index in indexes if set(index) == marked), ())
    return Structure(table, tuple(_column(row) for row in rows), tuple(key))


def _column(row: _Row) -> SourceColumn:
    values = _values(row.column_type) if row.data_type in ("enum", "set") else ()
    return SourceColumn(row.column, _type(row, values), row.charset, values)


def _type(row: _Row, values: tuple[str, ...]) -> SourceType:
    name = {"geomcollection": "geometrycollection"}.get(row.data_type, row.data_type)
    if name in _STORED_AS:
        return SourceType(*_STORED_AS[name])
    unsigned = " unsigned" in row.column_type
    if name in INTEGERS or name in ("float", "double"):
        return SourceType(name, unsigned=unsigned)
    if name == "decimal":
        return SourceType(name, row.precision, row.scale, unsigned)
    if name in ("enum", "set"):
        return SourceType(name, enum_size(len(values)) if name == "enum" else set_size(len(values)))
    return SourceType(name, _sizes(row).get(name))


def _sizes(row: _Row) -> Mapping[str, int | None]:
    return {
        **dict.fromkeys(("char", "varchar", "binary", "varbinary"), row.octets),
        **dict.fromkeys(("time", "datetime", "timestamp"), row.fraction or 0),
        "bit": row.precision,
    }


def _values(column_type: str) -> tuple[str, ...]:
    """Of `enum('a','it''s')`."""
    return tuple(_ESCAPES.sub(_unescaped, text) for text in _VALUE.findall(column_type))


def _unescaped(match: re.Match[str]) -> str:
    return _ESCAPED.get(match[1], match[1]) if match[1] else "'"
