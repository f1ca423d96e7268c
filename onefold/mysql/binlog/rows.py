"""Row images: the rows of an event of the log, from its bytes."""

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
    """Rows that were read, and how many values of each column (by its name and the kind of loss) did not fit."""

    rows: tuple[Row, ...]
    losses: tuple[tuple[tuple[str, str], int], ...] = ()


@lru_cache(maxsize=4096)
def readers_of(structure: Structure) -> tuple[Reader, ...]:
    """Raises:
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
    """All rows from a place in the bytes of an event to their end, as they are read."""
    readers = readers_of(structure)
    rows = []
    while at < len(data):
        values, at = _row(readers, data, at)
        rows.append(values)
    return rows


def settled(structure: Structure, rows: Iterable[list[Any]]) -> DecodedRows:
    """What lands of rows whose values may be lossy."""
    losses: Counter[tuple[str, str]] = Counter()
    kept = []
    for values in rows:
        if Unrepresentable in map(type, values):
            values = [_without_loss(structure, place, value, losses) for place, value in enumerate(values)]
        kept.append(tuple(values))
    return DecodedRows(tuple(kept), tuple(losses.items()))


def _row(readers: tuple[Reader, ...], data: bytes, at: int) -> tuple[list[Any], int]:
    """A bit for each column that is NULL, then the values of the others."""
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


def _without_loss(structure: Structure, place: int, value: Any, losses: Counter[tuple[str, str]]) -> Any:
    if not isinstance(value, Unrepresentable):
        return value
    losses[structure.columns[place].name, value.kind] += 1
    return value.value
