"""Rows that are read again by their key: a row that a pull did not read may be deleted, or its watermark was set back."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

import pymysql

from onefold.core.errors import TryAgain
from onefold.mysql.binlog.rows import Row
from onefold.mysql.catalog import TableName, describe_one
from onefold.mysql.connection import query, quoted
from onefold.mysql.snapshot.select_list import read_selected
from onefold.mysql.table import BLOBS, INTEGERS, SourceColumn
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.queries import python_key_query
from onefold.pull.read.table_settings import describes_same

KEYS = 500
"""Keys of one query."""
_NUMBERS = (*INTEGERS, "bit", "year", "decimal", "float", "double")
_BYTES = (*BLOBS, "binary", "varbinary")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")

Key = Sequence[str | None]
"""The values of a key's columns as the warehouse shows them: bytes in base64, all others as text."""


@dataclass(frozen=True)
class PresentRow:
    """A row as it is at the source now.

    Attributes:
        values: as they land, in the order of the structure.
        reading: the watermark as the column shows it; None without one.
    """

    values: Row
    reading: int | None


class PresentRows(Protocol):
    """Reads rows of a source by their keys."""

    def read(self, plan: TablePlan, keys: Sequence[Key]) -> Sequence[PresentRow]:
        """Return the rows that have these keys now, and perhaps others, whose keys only the source takes for equal.

        Args:
            plan: of the pull; the keys have the values of `plan.keys`.
            keys: the keys.

        Raises:
            TryAgain: the table was altered since it was planned.
        """


@dataclass(frozen=True)
class SourceRows:
    """`PresentRows` by PyMySQL.

    Attributes:
        connect: opens a connection to the source.
    """

    connect: Callable[[], pymysql.Connection]

    def read(self, plan: TablePlan, keys: Sequence[Key]) -> Sequence[PresentRow]:
        with closing(self.connect()) as connection:
            rows = [row for at in range(0, len(keys), KEYS) for row in _rows(connection, plan, keys[at : at + KEYS])]
            present = describe_one(connection, TableName(plan.request.database, plan.structure.table))
        if not describes_same(present, plan.structure, plan.load):
            raise TryAgain(f"{plan.table} was altered while it was read: the next pull reads it again")
        return rows


def _rows(connection: pymysql.Connection, plan: TablePlan, keys: Sequence[Key]) -> Iterator[PresentRow]:
    conditions = [condition for key in keys if (condition := key_condition(plan, key))]
    if not conditions:
        return
    found = query(connection, python_key_query(plan, " OR ".join(dict.fromkeys(conditions))))
    decoded = read_selected(plan.structure, (row[:-2] for row in found))
    for values, row in zip(decoded.rows, found, strict=True):
        yield PresentRow(values, None if row[-2] is None else int(row[-2]))


def key_condition(plan: TablePlan, key: Key) -> str | None:
    """Return the condition of SQL for the rows of a key; None for a key that the table cannot hold.

    Args:
        plan: of the pull.
        key: the values of `plan.keys`.
    """
    columns = dict(zip(plan.target.source_names, plan.structure.columns, strict=True))
    # A column that all rows of a pull share, such as the name of the source, is no column of the table.
    pairs = [(columns[name], text) for name, text in zip(plan.keys, key, strict=True) if name in columns]
    parts = [_equals(column, text) for column, text in pairs]
    return None if None in parts or not parts else f"({' AND '.join(map(str, parts))})"


def _equals(column: SourceColumn, text: str | None) -> str | None:
    name = quoted(column.name)
    if text is None:
        # A date that BigQuery does not have has landed as NULL.
        is_date = column.type.name in ("date", "datetime", "timestamp")
        return f"({name} IS NULL OR {name} < '0001-01-01')" if is_date else f"{name} IS NULL"
    literal = _literal(column, text)
    return literal and f"{name} = {literal}"


def _literal(column: SourceColumn, text: str) -> str | None:
    """Return a value as a literal of SQL; None where a column of this type cannot have it.

    Examples:
        >>> from onefold.mysql.table import SourceType
        >>> [_literal(SourceColumn("c", SourceType(*type_)), text) for type_, text in (
        ...     (("int",), "7"), (("int",), "x"), (("binary", 3), "AP8="), (("time",), "0-0 0 -838:59:59"),
        ...     (("timestamp",), "2026-05-03 00:00:00+00"))]
        ['7', None, "X'00ff00'", "'-838:59:59'", "'2026-05-03 00:00:00'"]
    """
    kind = column.type.name
    if kind in _NUMBERS:
        number = {"true": "1", "false": "0"}.get(text.lower(), text)
        return number if _NUMBER.fullmatch(number) else None
    if kind in _BYTES:
        return _bytes_literal(text, column.type.size if kind == "binary" else None)
    if kind == "time":
        text = text.rsplit(" ", 1)[-1]
    if kind in ("timestamp", "datetime"):
        text = text.removesuffix("+00:00").removesuffix("+00").replace("T", " ").removesuffix("Z")
    return str(pymysql.converters.escape_str(text))


def _bytes_literal(text: str, size: int | None) -> str | None:
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
    padded = data.ljust(size or 0, b"\0")
    return f"X'{padded.hex()}'"
