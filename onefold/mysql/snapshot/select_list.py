"""The columns of a SELECT for a snapshot: a query's values land exactly like the values of the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Any

from onefold.mysql.binlog.rows import DecodedRows, replace_unrepresentable
from onefold.mysql.binlog.values import base64_text
from onefold.mysql.connection import quoted
from onefold.mysql.encodings import Unrepresentable, date_text, interval_text, wkt
from onefold.mysql.table import BLOBS, GEOMETRIES, SourceColumn, Structure

Convert = Callable[[Any], Any]


def select_list(structure: Structure) -> str:
    """Return the columns of a SELECT, in the structure's order, for a session of `onefold.mysql.connection.connect`."""
    return ", ".join(_expression(column) for column in structure.columns)


def read_selected(structure: Structure, rows: Iterable[tuple[Any, ...]]) -> DecodedRows:
    """Return the rows of a SELECT of `select_list` as they land."""
    converts = _converts(structure)
    return replace_unrepresentable(
        structure,
        ([None if value is None else convert(value) for convert, value in zip(converts, row, strict=True)] for row in rows),
    )


def _expression(column: SourceColumn) -> str:
    name, kind = quoted(column.name), column.type.name
    if kind in _CASTS:
        return f"CAST({name} AS {_CASTS[kind]})"
    return name


# A query shows six digits of a FLOAT, which has more. PyMySQL raises an error for an invalid date in any form but text.
# MariaDB's UUID and INET6 come as text where the log has bytes.
_CASTS = {
    "float": "DOUBLE",
    "bit": "UNSIGNED",
    "binary": "BINARY",
    **dict.fromkeys(("date", "datetime", "timestamp", "time", "json"), "CHAR"),
}


@lru_cache(maxsize=4096)
def _converts(structure: Structure) -> tuple[Convert, ...]:
    return tuple(_convert(column) for column in structure.columns)


def _convert(column: SourceColumn) -> Convert:
    kind = column.type.name
    if kind in GEOMETRIES:
        return wkt
    if kind in (*BLOBS, "binary", "varbinary"):
        return base64_text
    if (kind == "bigint" and column.type.unsigned) or (kind == "bit" and column.type.size == 64):
        return str
    return _CONVERTS.get(kind, _unchanged)


def _unchanged(value: Any) -> Any:
    return value


def _decimal(value: Decimal) -> str:
    return f"{value:f}"


def _date(text: str) -> str | Unrepresentable:
    """Check a date, with or without a time behind it."""
    date = date_text(*(int(part) for part in text[:10].split("-")))
    return text if isinstance(date, str) else date


def _timestamp(text: str) -> str | Unrepresentable:
    value = _date(text)
    return f"{value}+00:00" if isinstance(value, str) else value


_CONVERTS: dict[str, Convert] = {
    "decimal": _decimal,
    "date": _date,
    "datetime": _date,
    "timestamp": _timestamp,
    "time": interval_text,
}
