"""The structures of a server's present tables, from `information_schema`, equal to the structures that the log describes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

import pymysql

from onefold.core.text import shown_list
from onefold.mysql.connection import query, stream
from onefold.mysql.table import INTEGERS, SourceColumn, SourceType, Structure, enum_size, set_size
from onefold.mysql.table_filter import SYSTEM, TableFilter

_SHOWN_DATABASES = 20
_DATABASES = "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA"
# TABLES and COLUMNS are not joined: MariaDB compares each row of the one with each row of the other.
_TABLES = """
SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES
WHERE {condition} AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')
"""
_VIEW = """
SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND TABLE_TYPE = 'VIEW'
"""
# Sorted by the bytes of the names: `T` and `t` may be two tables, and a collation would mix their columns.
_COLUMNS = """
SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_OCTET_LENGTH,
  NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION, CHARACTER_SET_NAME, COLUMN_KEY,
  COLLATION_NAME, IS_NULLABLE, COLUMN_DEFAULT, EXTRA,
  GENERATION_EXPRESSION, COLUMN_COMMENT
FROM information_schema.COLUMNS WHERE {condition}
ORDER BY CAST(TABLE_SCHEMA AS BINARY), CAST(TABLE_NAME AS BINARY), ORDINAL_POSITION
"""
_KEYS = """
SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS
WHERE NON_UNIQUE = 0 AND {condition}
ORDER BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX
"""
_OF_DATABASE = "TABLE_SCHEMA = %s"
_OF_TABLE = "TABLE_SCHEMA = %s AND TABLE_NAME = %s"
_FEW = 20
"""Up to this number, tables of a database are asked for one by one: MariaDB opens every table of a database for one
query."""
BASE = "BASE TABLE"
_VALUE = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_ESCAPES = re.compile(r"''|\\(.)", re.DOTALL)
_ESCAPED = {"0": "\0", "n": "\n", "r": "\r", "t": "\t", "b": "\b", "Z": "\x1a"}
_STORED_AS = {"uuid": ("binary", 16), "inet6": ("binary", 16), "inet4": ("binary", 4)}
"""MariaDB's own types, which its log has in the form in which they are stored."""


@dataclass(frozen=True, order=True)
class TableName:
    """A database and a table, ordered by name."""

    database: str
    table: str

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"


@dataclass(frozen=True, slots=True)
class ColumnRow:
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
    collation: str | None = None
    nullable: str = "YES"
    default: str | None = None
    """An SQL expression in MariaDB, a value in MySQL."""
    extra: str = ""
    expression: str | None = None
    """The expression of a generated column, with names in backticks; empty or None for another column."""
    comment: str = ""

    @property
    def is_auto_increment(self) -> bool:
        return "auto_increment" in self.extra.lower()


@dataclass(frozen=True)
class TableDescription:
    """A table as the server describes it now: its kind, and its columns in their order."""

    name: TableName
    kind: str
    """`BASE TABLE` or `SYSTEM VERSIONED`."""
    rows: tuple[ColumnRow, ...]
    indexes: tuple[tuple[str, ...], ...]
    """The columns of each unique index, the primary key first."""

    @property
    def expressions(self) -> tuple[str, ...]:
        """Return the expressions of the generated columns."""
        return tuple(row.expression for row in self.rows if row.expression)

    @property
    def structure(self) -> Structure | None:
        """Return the structure; None for a system-versioned table, whose log has rows of its history, too."""
        return _structure(self.name.table, self.rows, self.indexes) if self.kind == BASE else None


def missing_databases(connection: pymysql.Connection, table_filter: TableFilter) -> str | None:
    """Return a sentence about databases that the filter names and that do not exist, with those that do; None without any.

    A pattern with a wildcard names no database: its databases may be created later.
    """
    seen = sorted(name for (name,) in query(connection, _DATABASES) if name not in SYSTEM)
    missing = sorted(table_filter.databases - set(seen))
    if not missing:
        return None
    return f"no database is named {' or '.join(missing)}; the user sees {shown_list(seen, _SHOWN_DATABASES) or 'none'}"


def tables(connection: pymysql.Connection, table_filter: TableFilter, only: str | None = None) -> dict[TableName, str]:
    """Return the kinds of all captured tables, by name, without views and sequences.

    Only databases that may have a captured table are asked for, and only names of captured tables are kept in memory.

    Args:
        connection: a connection to the server.
        table_filter: the tables that are captured.
        only: one database; by default all.
    """
    found: dict[TableName, str] = {}
    for database in [only] if only else [name for (name,) in query(connection, _DATABASES)]:
        if not table_filter.rule_out(database):
            rows = stream(connection, _TABLES.format(condition=_OF_DATABASE), (database,))
            found.update((TableName(*name), kind) for *name, kind in rows if table_filter.choose(*name))
    return found


def is_view(connection: pymysql.Connection, name: TableName) -> bool:
    """Return whether a name belongs to a view."""
    return bool(query(connection, _VIEW, (name.database, name.table)))


def describe(connection: pymysql.Connection, kinds: Mapping[TableName, str]) -> Iterator[TableDescription]:
    """Yield each of these tables, one after the other, so that the columns of one are in memory at a time.

    The connection takes no other query before the last table was read.
    """
    for database, of_database in groupby(sorted(kinds), attrgetter("database")):
        names = list(of_database)
        if len(names) > _FEW:
            yield from _describe(connection, kinds, set(names), _OF_DATABASE, (database,))
        else:
            for name in names:
                yield from _describe(connection, kinds, {name}, _OF_TABLE, (database, name.table))


def _describe(
    connection: pymysql.Connection,
    kinds: Mapping[TableName, str],
    names: Collection[TableName],
    condition: str,
    values: tuple[str, ...],
) -> Iterator[TableDescription]:
    indexes = _indexes(row for row in stream(connection, _KEYS.format(condition=condition), values) if _named(row) in names)
    rows = stream(connection, _COLUMNS.format(condition=condition), values)
    for name, columns in groupby(rows, _named):
        if name in names:
            yield TableDescription(
                name, kinds[name], tuple(ColumnRow(*row) for row in columns), tuple(indexes[name].values())
            )


def _named(row: tuple[Any, ...]) -> TableName:
    return TableName(row[0], row[1])


def structures(connection: pymysql.Connection, table_filter: TableFilter) -> dict[TableName, Structure]:
    """Return the structures of all captured tables, without views and sequences."""
    found = describe(connection, tables(connection, table_filter))
    return {table.name: table.structure for table in found if table.structure}


def describe_one(connection: pymysql.Connection, name: TableName) -> TableDescription | None:
    """Return one table, or None where there is none. Within a transaction that has read it, nobody can alter it."""
    values = (name.database, name.table)
    kinds = {TableName(*found): kind for *found, kind in query(connection, _TABLES.format(condition=_OF_TABLE), values)}
    if name not in kinds:
        return None
    return next(iter([*_describe(connection, kinds, {name}, _OF_TABLE, values)]), None)


def structure_of(connection: pymysql.Connection, name: TableName) -> Structure | None:
    """Return the structure of one table; None where there is none.

    Within a transaction that has read the table, nobody can alter it, so the structure is that of the rows that were read.
    """
    found = describe_one(connection, name)
    return found.structure if found else None


def _indexes(keys: Iterable[tuple[Any, ...]]) -> defaultdict[TableName, dict[str, tuple[str, ...]]]:
    """Return the columns of each unique index, by table."""
    found: defaultdict[TableName, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for database, table, index, column in keys:
        of_table = found[TableName(database, table)]
        of_table[index] = (*of_table.get(index, ()), column)
    return found


def _structure(table: str, rows: Sequence[ColumnRow], indexes: Iterable[Sequence[str]]) -> Structure:
    """Return a structure. Its key is the primary key, or the unique key that replaces it: the server marks their columns."""
    marked = {row.column for row in rows if row.key == "PRI"}
    key = next((index for index in indexes if set(index) == marked), ())
    return Structure(table, tuple(_column(row) for row in rows), tuple(key))


def _column(row: ColumnRow) -> SourceColumn:
    values = _values(row.column_type) if row.data_type in ("enum", "set") else ()
    return SourceColumn(row.column, _type(row, values), row.charset, values)


def _type(row: ColumnRow, values: tuple[str, ...]) -> SourceType:
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


def _sizes(row: ColumnRow) -> Mapping[str, int | None]:
    return {
        **dict.fromkeys(("char", "varchar", "binary", "varbinary"), row.octets),
        **dict.fromkeys(("time", "datetime", "timestamp"), row.fraction or 0),
        "bit": row.precision,
    }


def _values(column_type: str) -> tuple[str, ...]:
    """Return the values of `enum('a','it''s')`."""
    return tuple(_ESCAPES.sub(_unescaped, text) for text in _VALUE.findall(column_type))


def _unescaped(match: re.Match[str]) -> str:
    return _ESCAPED.get(match[1], match[1]) if match[1] else "'"
