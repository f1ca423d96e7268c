"""Values as they land from a query: the same as from the log, for a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Any

from onefold.mysql.binlog.rows import DecodedRows, settled
from onefold.mysql.binlog.values import base64_text
from onefold.mysql.connection import quoted
from onefold.mysql.encodings import Unrepresentable, date_text, interval_text, wkt
from onefold.mysql.table import BLOBS, GEOMETRIES, SourceColumn, Structure

Convert = Callable[[Any], Any]


def select_list(structure: Structure) -> str:
    """The columns for a SELECT in a session of `server.connect`, in the structure's order."""
    return ", ".join(_expression(column) for column in structure.columns)


def read_selected(structure: Structure, rows: Iterable[tuple[Any, ...]]) -> DecodedRows:
    """The rows that such a query gives."""
    converts = _converts(structure)
    return settled(
        structure,
        ([None if value is None else convert(value) for convert, value in zip(converts, row, strict=True)] for row in rows),
    )


def _expression(column: SourceColumn) -> str:
    name, kind = quoted(column.name), column.type.name
    if kind in _CASTS:
        return f"CAST({name} AS {_CASTS[kind]})"
    return name


# FLOAT shows six digits of what it holds; dates that are none are errors to PyMySQL as anything but text. MariaDB's UUID
# and INET6 stand as text where the log has bytes.
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
    return _CONVERTS.get(kind, _same)


def _same(value: Any) -> Any:
    return value


def _decimal(value: Decimal) -> str:
    return f"{value:f}"


def _dated(text: str) -> str | Unrepresentable:
    """A date, or one with a time behind it."""
    date = date_text(*(int(part) for part in text[:10].split("-")))
    return text if isinstance(date, str) else date


def _timestamp(text: str) -> str | Unrepresentable:
    value = _dated(text)
    return f"{value}+00:00" if isinstance(value, str) else value


_CONVERTS: dict[str, Convert] = {
    "decimal": _decimal,
    "date": _dated,
    "datetime": _dated,
    "timestamp": _timestamp,
    "time": interval_text,
}
