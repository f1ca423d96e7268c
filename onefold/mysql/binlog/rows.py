"""Row images: the rows of an event of the log, from its bytes.

An image has one bit for each column that is NULL (the lowest bit of the first byte is the first column), then the values of
the other columns without gaps. Source: `Rows_event` in libs/mysql/binlog/event/rows_event.h of
https://github.com/mysql/mysql-server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from onefold.core.errors import InvalidInput
from onefold.mysql.binlog.values import Reader, reader_of
from onefold.mysql.encodings import Unrepresentable
from onefold.mysql.table import Structure

Row = tuple[Any, ...]
"""A value for each column of the structure."""


@dataclass(frozen=True)
class DecodedRows:
    """Rows as they land, and the number of values that BigQuery cannot hold, by column name and kind of loss."""

    rows: tuple[Row, ...]
    losses: tuple[tuple[tuple[str, str], int], ...] = ()


@lru_cache(maxsize=4096)
def readers_of(structure: Structure) -> tuple[Reader, ...]:
    """Return a reader for each column.

    Raises:
        InvalidInput: names all columns that cannot be read.
    """
    readers, problems = [], []
    for column in structure.columns:
        try:
            readers.append(reader_of(column))
        except InvalidInput as error:
            problems.append(f"{structure.table}.{column.name}: {error}")
    if problems:
        raise InvalidInput(problems)
    return tuple(readers)


def read_rows(structure: Structure, data: bytes, at: int) -> list[list[Any]]:
    """Return all rows from an offset to the end of an event's body; values may be `Unrepresentable`.

    Args:
        structure: the table's structure when the event was written.
        data: the event's body.
        at: the offset of the first image.

    Raises:
        InvalidInput: names all columns that cannot be read.
    """
    readers = readers_of(structure)
    rows = []
    while at < len(data):
        values, at = _row(readers, data, at)
        rows.append(values)
    return rows


def replace_unrepresentable(structure: Structure, rows: Iterable[list[Any]]) -> DecodedRows:
    """Replace each `Unrepresentable` value by what lands in its place, and count the losses."""
    losses: Counter[tuple[str, str]] = Counter()
    landed = []
    for values in rows:
        if Unrepresentable in map(type, values):  # rare: one test for the whole row is cheaper than one for each value
            values = [_replacement(structure, column, value, losses) for column, value in enumerate(values)]
        landed.append(tuple(values))
    return DecodedRows(tuple(landed), tuple(losses.items()))


def _row(readers: tuple[Reader, ...], data: bytes, at: int) -> tuple[list[Any], int]:
    """Return one image, and the offset behind it."""
    start = at + (len(readers) + 7) // 8
    nulls = int.from_bytes(data[at:start], "little")
    at = start
    values: list[Any] = []
    for reader in readers:
        if nulls & 1:
            values.append(None)
        else:
            value, at = reader(data, at)
            values.append(value)
        nulls >>= 1
    return values, at


def _replacement(structure: Structure, column: int, value: Any, losses: Counter[tuple[str, str]]) -> Any:
    if not isinstance(value, Unrepresentable):
        return value
    losses[structure.columns[column].name, value.kind] += 1
    return value.value
