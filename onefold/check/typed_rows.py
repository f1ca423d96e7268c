"""The present rows of a table of a MySQL or MariaDB, with the values that BigQuery's client returns of what landed."""

from __future__ import annotations

import base64
import datetime
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pymysql

from onefold.compare.intervals import read_interval
from onefold.core.errors import TryAgain
from onefold.core.names import quote
from onefold.landing.table import VersionedTable, versioned_table
from onefold.mysql.catalog import TableName, structure_of
from onefold.mysql.connection import query, quoted, server_reason
from onefold.mysql.snapshot.select_list import read_selected, select_list
from onefold.mysql.table import Structure
from onefold.schema.columns import Column, Schema

# "Server Error Message Reference", https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html:
# ER_BAD_DB_ERROR and ER_NO_SUCH_TABLE.
_NOT_FOUND = (1049, 1146)

Row = Mapping[str, Any]
_EXACT = ("BYTES", "INTERVAL", "JSON")
"""Types whose text has a form of its own: they are compared with the same type only."""


@dataclass(frozen=True)
class TypedRows:
    """The rows of a table of a source, and the version that they would land in."""

    version: VersionedTable
    rows: list[Row]


def read_typed_rows(
    connect: Callable[[], pymysql.Connection], table: TableName, most: int | None = None, where: str = "TRUE"
) -> TypedRows | None:
    """Return the rows of a table of the source, all of them in memory; None if the table does not exist.

    Args:
        connect: opens a connection to the source.
        table: the table.
        most: how many rows are read at most; None for all.
        where: the condition of SQL for the rows that are read.

    Raises:
        TryAgain: the source does not answer.
    """
    try:
        with closing(connect()) as connection:
            query(connection, "START TRANSACTION READ ONLY")
            name = f"{quoted(table.database)}.{quoted(table.table)}"
            query(connection, f"SELECT 1 FROM {name} LIMIT 0")  # locks the structure until the transaction ends
            structure = structure_of(connection, table)
            if structure is None:
                return None
            limit = "" if most is None else f" LIMIT {most}"
            found = query(connection, f"SELECT {select_list(structure)} FROM {name} WHERE {where}{limit}")
    except pymysql.err.MySQLError as error:
        if error.args and error.args[0] in _NOT_FOUND:
            return None
        raise TryAgain(f"{table} cannot be read: {server_reason(error)}") from error
    return _typed(structure, found)


def comparable_columns(landed: Iterable[Column], stored: Schema) -> tuple[tuple[Column, ...], tuple[str, ...]]:
    """Return the stored columns whose values can be compared with those of the source, and why others are left out.

    Args:
        landed: the columns of the source, with the types in which capture lands them.
        stored: the columns of a table or a view that somebody else wrote.

    Examples:
        >>> from onefold.schema.types import Scalar
        >>> there = [Column("id", Scalar("INT64")), Column("photo", Scalar("BYTES"))]
        >>> comparable_columns(there, Schema([Column("id", Scalar("NUMERIC")), Column("photo", Scalar("STRING"))]))[1]
        ('photo (STRING here, BYTES there)',)
    """
    compared, left_out = [], []
    for there in landed:
        here = stored.get(there.name)
        if here and (here.type == there.type or not {str(here.type), str(there.type)} & {*_EXACT}):
            compared.append(here)
        else:
            left_out.append(f"{there.name} ({f'{here.type} here, {there.type} there' if here else 'not in the table'})")
    return tuple(compared), tuple(left_out)


def selected(column: Column) -> str:
    """Return the expression that selects a column; INTERVAL and JSON as text, which the client keeps exactly."""
    name = quote(column.name)
    form = _AS_TEXT.get(str(column.type))
    return f"{form.format(name)} AS {name}" if form else name


def read_back(columns: Iterable[Column], rows: Iterable[Row]) -> list[Row]:
    """Return rows that were selected by `selected`, with their values instead of texts."""
    reads = {column.name: _READS[str(column.type)] for column in columns if str(column.type) in _AS_TEXT}
    return [
        {name: reads[name](value) if name in reads and value is not None else value for name, value in row.items()}
        for row in rows
    ]


def _typed(structure: Structure, found: Sequence[tuple[Any, ...]]) -> TypedRows:
    version = versioned_table(structure)
    columns = version.columns[: len(structure.columns)]
    reads = [_READS.get(str(column.type), _same) for column in columns]
    rows: list[Row] = [
        {
            column.name: None if value is None else read(value)
            for column, read, value in zip(columns, reads, row, strict=True)
        }
        for row in read_selected(structure, found).rows
    ]
    return TypedRows(version, rows)


def _same(value: Any) -> Any:
    return value


def _json(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


_AS_TEXT = {"INTERVAL": "CAST({} AS STRING)", "JSON": "TO_JSON_STRING({})"}
_READS: Mapping[str, Callable[[Any], Any]] = {
    "NUMERIC": Decimal,
    "BIGNUMERIC": Decimal,
    "BYTES": base64.b64decode,
    "DATE": datetime.date.fromisoformat,
    "DATETIME": datetime.datetime.fromisoformat,
    "TIMESTAMP": datetime.datetime.fromisoformat,
    "INTERVAL": read_interval,
    "JSON": _json,
}
"""Functions that convert a landed value to the value that BigQuery's client returns, by type."""
