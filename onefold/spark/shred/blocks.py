"""Blocks: the bytes of many rows of one table, which Spark's text writer puts into files as they are.

A row of Spark costs far more than the bytes of a row of a table. So the rows of a table are put together in Python, and
Spark handles a few blocks for each task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from onefold.events.shred.plan import PlannedTable
from onefold.spark.shred.form import CSV

TEXT_BLOCK = 1 << 20
"""The characters from which lines are a block."""


@dataclass(frozen=True)
class EventBlock:
    """A part of a file, without the end that Spark's writer adds to it.

    Attributes:
        table: the number of the table; `BAD_ROWS` for bad rows.
        number: counts the blocks of a table in a task.
        rows: how many rows are in it.
        data: the bytes.
    """

    table: int
    number: int
    rows: int
    data: bytes


class Blocks(Protocol):
    """Collects the rows of a task."""

    def add(self, table: int, rows: Sequence[Any]) -> Iterator[EventBlock]:
        """Take rows of a table, and yield blocks that are large enough."""

    def rest(self) -> Iterator[EventBlock]:
        """Yield what is left."""


@dataclass
class _Lines:
    texts: list[str] = field(default_factory=list)
    rows: int = 0
    size: int = 0
    blocks: int = 0


class TextBlocks:
    """Blocks of lines."""

    def __init__(self) -> None:
        self._tables: dict[int, _Lines] = {}

    def add(self, table: int, rows: Sequence[str]) -> Iterator[EventBlock]:
        """Take lines of a table, and yield blocks that are large enough."""
        lines = self._tables.setdefault(table, _Lines())
        text = CSV.end.join(rows)
        lines.texts.append(text)
        lines.rows += len(rows)
        lines.size += len(text)
        if lines.size >= TEXT_BLOCK:
            yield self._take(table, lines)

    def rest(self) -> Iterator[EventBlock]:
        """Yield what is left."""
        yield from (self._take(table, lines) for table, lines in self._tables.items() if lines.rows)

    def _take(self, table: int, lines: _Lines) -> EventBlock:
        block = EventBlock(table, lines.blocks, lines.rows, CSV.end.join(lines.texts).encode())
        self._tables[table] = _Lines(blocks=lines.blocks + 1)
        return block


def schemas_in(table: PlannedTable, rows: Sequence[Any]) -> set[str]:
    """Return the URIs of the schemas of the rows of a table: version is the fourth column.

    Args:
        table: the table; not that of the events.
        rows: its rows.
    """
    schema = table.uri.rpartition("/")[0]
    if isinstance(rows[0], str):
        # Vendor, name and format are the same in all rows. They are not quoted, and nor is the version.
        start = len(rows[0]) - len(rows[0].split("\t", 3)[3])
        versions = {row[start : row.index("\t", start)] for row in rows}
    else:
        versions = {row[3] for row in rows}
    return {f"{schema}/{version}" for version in versions}
